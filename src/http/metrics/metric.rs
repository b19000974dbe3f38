//! A page of metrics is made of tables, whose rows are these.

use std::sync::atomic::{AtomicU64, Ordering};

use super::histogram::Durations;

/// A row: a metric, and how its values are read from `T`.
pub(crate) struct Metric<T> {
    pub(super) family: Family,
    pub(super) read: Read<T>,
}

type Read<T> = fn(&T) -> Values;
type Text = &'static str;

/// Name, type and help of a metric; the help is one line.
#[derive(Clone, Copy)]
pub(crate) struct Family {
    pub(crate) name: Text,
    pub(super) kind: Text,
    pub(super) help: Text,
}

/// Values of a metric of one thing.
pub(crate) enum Values {
    /// It has none.
    None,
    Whole(u64),
    Real(f64),
    /// One for each value of this label.
    By(Text, Counts),
    Took(Durations),
}

/// Counts by kind.
pub(crate) type Counts = Vec<(Text, u64)>;

/// A page that metrics are written on.
pub(crate) trait Page {
    /// Adds one metric.
    fn put(&mut self, family: Family, values: Values);

    /// Adds the metrics of `thing`; those without a value are left out.
    fn add<T>(&mut self, metrics: &[Metric<T>], thing: &T) {
        for metric in metrics {
            match (metric.read)(thing) {
                Values::None => {}
                values => self.put(metric.family, values),
            }
        }
    }
}

/// A value that rises and falls.
pub(crate) const fn gauge<T>(name: Text, help: Text, read: Read<T>) -> Metric<T> {
    metric(name, "gauge", help, read)
}

/// A value that only rises.
pub(crate) const fn counter<T>(name: Text, help: Text, read: Read<T>) -> Metric<T> {
    metric(name, "counter", help, read)
}

/// Durations.
pub(crate) const fn histogram<T>(name: Text, help: Text, read: Read<T>) -> Metric<T> {
    metric(name, "histogram", help, read)
}

const fn metric<T>(name: Text, kind: Text, help: Text, read: Read<T>) -> Metric<T> {
    let family = Family { name, kind, help };
    Metric { family, read }
}

impl From<u64> for Values {
    fn from(value: u64) -> Self {
        Self::Whole(value)
    }
}

impl From<&AtomicU64> for Values {
    fn from(counter: &AtomicU64) -> Self {
        Self::Whole(counter.load(Ordering::Relaxed))
    }
}

impl<V: Into<Values>> From<Option<V>> for Values {
    fn from(value: Option<V>) -> Self {
        value.map_or(Self::None, V::into)
    }
}

pub(crate) fn wide(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
