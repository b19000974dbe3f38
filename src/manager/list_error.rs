//! Error of a stored list: of applications or of servers.

use std::fmt;

use crate::store;

/// Reason that a stored list could not be read or changed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The per-user directory.
    Store(store::Error),
    /// The list is full: its limit, and the name of its entries.
    Full(usize, &'static str),
    /// Another application has this name.
    NameTaken(String),
    /// No application has this identifier.
    Unknown(String),
    /// A value that cannot be kept: the field, and why.
    Value(&'static str, &'static str),
    /// These applications name the server, or stay with it.
    InUse(Vec<String>),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => write!(f, "{error}"),
            Self::Full(most, listed) => write!(f, "limit of {most} {listed} reached"),
            Self::NameTaken(name) => write!(f, "another application is named '{name}'"),
            Self::Unknown(id) => write!(f, "there is no application {id:?}"),
            Self::Value(field, why) => write!(f, "{field} {why}"),
            Self::InUse(names) => write!(f, "in use by {}", names.join(", ")),
        }
    }
}

impl std::error::Error for Error {}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        Self::Store(error)
    }
}
