//! Errors of reading and storing the state: in a directory, or in a store that several relays share.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::sqlweb::catch_panic::Panicked;
use crate::store;

/// Error of the shared store.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// None of its servers is reached, or accepts writes, for now.
    Away(String),
    /// The account has no permission, or its password is wrong.
    Denied(String),
    /// Its tables have a later form, with this number.
    Newer(u32),
    /// Its tables have an earlier form, with this number.
    Older(u32),
    /// Its content was not written by a relay.
    Damaged(String),
    /// It already has a state, which must not be lost.
    NotEmpty(String),
    /// There is no relay's state at that place.
    Absent(String),
    /// Another relay runs with the id of this one; with its address.
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

/// Error of the data directory, or of the shared store.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read, written or locked.
    Store(Arc<store::Error>),
    /// Error of the shared store.
    Shared(StoreError),
    /// Another relay has changed the state that a change was based on: make it again.
    Outdated,
    /// The state was written by a later version of this program, with this number.
    Newer(u32),
    /// A file of the state is damaged, with the place, if known.
    Unreadable(PathBuf, String),
    /// A file of an earlier version's state is damaged; the state is moved as a whole or not at all.
    Earlier(PathBuf, String),
    /// The directory is of a relay of a fleet, whose state is in a store.
    OfFleet(PathBuf),
    /// The directory has a state, and the store that is named has none.
    NotCopied(PathBuf),
    /// A value cannot be stored.
    Form(String),
    /// The limit of connectors is reached.
    Full,
    /// The limit of invites is reached, and all of them are valid.
    Invites,
}

impl Error {
    /// Returns advice.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Store(error) => hint_of(error),
            Self::Newer(_) => {
                "run the version that wrote it, or name another directory with --data"
            }
            Self::Unreadable(..) => {
                "restore it from a backup, or run 'postern relay recover' with the same --data, which keeps what can \
                 be read and lists what is lost"
            }
            Self::Earlier(..) => {
                "restore it from a backup, or run 'postern relay recover' of that version, which keeps what can be read"
            }
            Self::Shared(error) => error.hint(),
            Self::Outdated => "try again",
            Self::OfFleet(_) => {
                "start the relay with --store and ask while it runs, or name another directory with --data"
            }
            Self::NotCopied(_) => {
                "copy it with 'postern relay copy-store DIRECTORY STORE', or name another directory with --data"
            }
            Self::Form(_) => "name another directory with --data",
            Self::Full => "make room with 'postern relay revoke NAME'",
            Self::Invites => "make room with 'postern relay uninvite ID'",
        }
    }
}

/// Returns advice about the data directory, which `--data` names.
pub fn hint_of(error: &store::Error) -> &'static str {
    match error {
        store::Error::Io { .. } => {
            "check its owner, permissions and free space, or name another directory with --data"
        }
        store::Error::NotPrivate { .. } => {
            "fix that, or name with --data a directory that only you can write to"
        }
        error => error.hint(),
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::Newer(version) => {
                write!(f, "relay.json is from a newer version (format {version})")
            }
            Self::Unreadable(path, place) => {
                let place = if place.is_empty() {
                    String::new()
                } else {
                    format!(" ({place})")
                };
                write!(
                    f,
                    "{} is damaged{place}. It lists enrolled and revoked connectors, so the relay does not start. \
                     Nothing was changed",
                    path.display()
                )
            }
            Self::Earlier(path, place) => write!(
                f,
                "{} of an earlier version is damaged ({place}), so its state is not moved. Nothing was changed",
                path.display()
            ),
            Self::Shared(error) => error.fmt(f),
            Self::Outdated => f.write_str("other relays changed it at the same time"),
            Self::OfFleet(dir) => write!(
                f,
                "{} belongs to a fleet: its state is in the fleet's store",
                dir.display()
            ),
            Self::NotCopied(dir) => write!(
                f,
                "{} contains a relay's state, but the store has none",
                dir.display()
            ),
            Self::Form(text) => f.write_str(text),
            Self::Full => f.write_str("the relay has reached its limit of 2500 connectors"),
            Self::Invites => f.write_str("the limit of 1000 invites is reached"),
        }
    }
}

impl std::error::Error for Error {}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        Self::Store(Arc::new(error))
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Shared(error)
    }
}
