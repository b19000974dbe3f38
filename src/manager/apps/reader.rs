//! Reads one field of a body, and collects errors.

use std::fmt;

use serde_json::{Map, Value};
use zeroize::Zeroizing;

/// Characters of a password.
const SECRET_CAP: usize = 1024;

/// Everything that is wrong, by field.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Invalid(Vec<(String, String)>);

impl Invalid {
    pub(crate) fn of(name: &str, why: impl Into<String>) -> Self {
        Self(vec![(name.to_owned(), why.into())])
    }

    /// The fields and what is wrong with each.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, why)| (&**name, &**why))
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self
            .fields()
            .map(|(name, why)| format!("{name} {why}"))
            .collect();
        f.write_str(&lines.join("; "))
    }
}

impl std::error::Error for Invalid {}

/// Change of a secret.
pub(super) enum Secret {
    /// It was left out.
    Keep,
    /// It was sent empty.
    Clear,
    /// It was sent.
    Set(Zeroizing<String>),
}

impl Secret {
    /// In place of `old`.
    pub(super) fn over(self, old: Option<Zeroizing<String>>) -> Option<Zeroizing<String>> {
        match self {
            Self::Keep => old,
            Self::Clear => None,
            Self::Set(secret) => Some(secret),
        }
    }
}

/// Takes the fields one by one and notes what is wrong.
pub(super) struct Reader<'a> {
    pub(super) fields: &'a Map<String, Value>,
    problems: Invalid,
}

impl<'a> Reader<'a> {
    pub(super) fn new(fields: &'a Map<String, Value>) -> Self {
        Self {
            fields,
            problems: Invalid::default(),
        }
    }

    /// Returns the result, unless there were errors.
    pub(super) fn outcome<T>(self, read: Option<T>) -> Result<T, Invalid> {
        match read {
            Some(read) if self.problems.0.is_empty() => Ok(read),
            _ => Err(self.problems),
        }
    }

    pub(super) fn wrong(&mut self, name: &str, why: impl Into<String>) {
        self.problems.0.push((name.to_owned(), why.into()));
    }

    /// A field that is there; null stands for one that is not.
    pub(super) fn value(&self, name: &str) -> Option<&Value> {
        self.fields.get(name).filter(|value| !value.is_null())
    }

    /// A text that is neither empty nor long nor holds control characters.
    pub(super) fn text(&mut self, name: &str, cap: usize) -> Option<String> {
        let value = self.value(name)?;
        let Some(text) = value.as_str() else {
            self.wrong(name, "must be a string");
            return None;
        };
        let text = text.trim().to_owned();
        if text.chars().count() > cap {
            self.wrong(name, format!("must have at most {cap} characters"));
        } else if text.chars().any(char::is_control) {
            self.wrong(name, "must not contain control characters");
        } else {
            return Some(text).filter(|text| !text.is_empty());
        }
        None
    }

    pub(super) fn flag(&mut self, name: &str, default: bool) -> bool {
        match self.value(name).map(Value::as_bool) {
            Some(Some(flag)) => flag,
            Some(None) => {
                self.wrong(name, "must be true or false");
                default
            }
            None => default,
        }
    }

    pub(super) fn port(&mut self, name: &str) -> Option<u16> {
        let value = self.value(name)?;
        let port = value.as_u64().and_then(|port| u16::try_from(port).ok());
        if port.is_none_or(|port| port == 0) {
            self.wrong(name, "must be a whole number from 1 to 65535");
            return None;
        }
        port
    }

    /// As it is: spaces may belong to a password.
    pub(super) fn secret(&mut self, name: &str) -> Secret {
        let Some(value) = self.value(name) else {
            return Secret::Keep;
        };
        match value.as_str() {
            Some("") => Secret::Clear,
            Some(text) if text.chars().count() > SECRET_CAP => {
                self.wrong(name, format!("must have at most {SECRET_CAP} characters"));
                Secret::Keep
            }
            // No protocol sends one, and C programs would cut it off there.
            Some(text) if text.contains('\0') => {
                self.wrong(name, "must not contain a NUL character");
                Secret::Keep
            }
            Some(text) => Secret::Set(Zeroizing::new(text.to_owned())),
            None => {
                self.wrong(name, "must be a string");
                Secret::Keep
            }
        }
    }
}
