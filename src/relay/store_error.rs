//! Why a store that several relays share does not do what is asked of it.

use std::fmt;

use crate::sqlweb::catch_panic::Panicked;

/// Why the shared store does not do what is asked of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// None of its servers is reached, or takes what is written, for now.
    Away(String),
    /// The account may not do what is needed, or its password is wrong.
    Denied(String),
    /// Its tables have a form of a later version, with this number.
    Newer(u32),
    /// Its tables have a form of an earlier version, with this number.
    Older(u32),
    /// Its content was not written by a relay.
    Damaged(String),
    /// It has a state already, which is not to be lost.
    NotEmpty(String),
    /// There is no relay's state at that place.
    Absent(String),
    /// Another relay runs with the id of this one; where it is.
    Twin(String),
}

impl StoreError {
    /// Returns advice.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Away(_) => "check that one of the hosts of --store is up and accepts writes",
            Self::Denied(_) => {
                "check user, database and password (POSTERN_STORE_PASS or POSTERN_STORE_PASS_FILE). The account \
                 needs SELECT, INSERT, UPDATE, DELETE and CREATE on that database. If TLS fails, name the \
                 certificate's authority in SSL_CERT_FILE"
            }
            Self::Newer(_) => "run the version that wrote it on all relays of the fleet",
            Self::Older(_) => "start a relay of this version with it: that upgrades it",
            Self::Damaged(_) => {
                "restore the tables postern_* from a backup, or name another database with --store"
            }
            Self::NotEmpty(_) => "name another one, or remove that one first",
            Self::Absent(_) => {
                "name a relay's directory, or the store of a fleet that has run before"
            }
            Self::Twin(_) => {
                "one of their directories is a copy: remove fleet.id from it and restart that relay"
            }
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Away(why) => write!(f, "the store is unavailable: {why}"),
            Self::Denied(why) => write!(f, "the store denies access: {why}"),
            Self::Newer(form) => write!(f, "the store is from a newer version (format {form})"),
            Self::Older(form) => write!(f, "the store is from an older version (format {form})"),
            Self::Damaged(what) => write!(f, "the store is damaged: {what}"),
            Self::NotEmpty(what) | Self::Absent(what) => f.write_str(what),
            Self::Twin(at) => {
                write!(
                    f,
                    "another running relay of the fleet has the same ID, at {at}"
                )
            }
        }
    }
}

impl std::error::Error for StoreError {}

impl From<Panicked> for StoreError {
    fn from(_: Panicked) -> Self {
        Self::Away("the query failed: this is a fault of the program".into())
    }
}
