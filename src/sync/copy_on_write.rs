//! A value that is copied when it is changed, and not when it is cloned.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Clones share the value until one of them is changed.
#[derive(Debug, Default, Eq)]
pub(crate) struct CopyOnWrite<T>(Arc<T>);

impl<T> CopyOnWrite<T> {
    /// True if neither was changed since one was cloned from the other.
    pub(crate) fn is_shared_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<T: Clone> CopyOnWrite<Vec<T>> {
    /// Keeps the elements for which `keeps` is true; where it is for all, nothing is copied.
    pub(crate) fn retain(&mut self, keeps: impl FnMut(&T) -> bool) {
        let kept: Vec<bool> = self.iter().map(keeps).collect();
        if kept.contains(&false) {
            let mut kept = kept.into_iter();
            Arc::make_mut(&mut self.0).retain(|_| kept.next().unwrap_or(true));
        }
    }
}

impl<V: Clone> CopyOnWrite<BTreeMap<String, V>> {
    /// Keeps the entries for which `keeps` is true; where it is for all, nothing is copied.
    pub(crate) fn retain(&mut self, mut keeps: impl FnMut(&V) -> bool) {
        let gone = self.iter().filter(|(_, value)| !keeps(value));
        let gone: Vec<String> = gone.map(|(key, _)| key.clone()).collect();
        for key in &gone {
            self.remove(key);
        }
    }
}

impl<T> Clone for CopyOnWrite<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> From<T> for CopyOnWrite<T> {
    fn from(value: T) -> Self {
        Self(Arc::new(value))
    }
}

impl<T> Deref for CopyOnWrite<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for CopyOnWrite<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

impl<T: PartialEq> PartialEq for CopyOnWrite<T> {
    fn eq(&self, other: &Self) -> bool {
        self.is_shared_with(other) || self.0 == other.0
    }
}

impl<'a, T> IntoIterator for &'a CopyOnWrite<T>
where
    &'a T: IntoIterator,
{
    type Item = <&'a T as IntoIterator>::Item;
    type IntoIter = <&'a T as IntoIterator>::IntoIter;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<T: Serialize> Serialize for CopyOnWrite<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for CopyOnWrite<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_one_is_not_seen_by_the_other() {
        let one = CopyOnWrite::from(vec![1]);
        let mut other = one.clone();
        assert!(other.is_shared_with(&one) && other.len() == 1);
        other.push(2);
        assert!(!other.is_shared_with(&one) && other != one);
        assert_eq!((&**one, &**other), (&[1][..], &[1, 2][..]));
        let mut third = other.clone();
        third.retain(|_| true);
        assert!(third.is_shared_with(&other));
        third.retain(|element| *element == 2);
        assert_eq!((&**third, &**other), (&[2][..], &[1, 2][..]));
    }
}
