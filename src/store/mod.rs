//! The per-user directory: private files that are written whole, by one writer at a time.
//!
//! Readers take no lock: a file is replaced by a rename, so they see the old content or the new one. Writers hold
//! [`Locked`], which [`DataDir::lock`] gives to one process at a time.
//!
//! A document is a [`JsonFile`]. Secret ones are sealed: tied to machine and user by their [`Fingerprint`], and to a
//! random key in another place ([`key_file()`]).

mod audit;
mod credentials;
mod data_dir;
mod error;
mod escape;
pub mod expiry;
mod fingerprint;
mod json_file;
mod lock;
pub(crate) mod random;
mod run_dir;
mod seal;
pub mod time;

pub use audit::{AuditFiles, AuditSets};
pub use credentials::{CredentialStore, Credentials};
pub use data_dir::DataDir;
pub use error::{Error, errors};
pub use escape::{escaped, is_hidden};
pub use expiry::Ends;
pub use fingerprint::{Fingerprint, machine_name};
pub(crate) use json_file::from_json;
pub use json_file::{JsonFile, UNREADABLE, files_set_aside, to_json};
pub use lock::{Locked, write_atomic, write_atomic_for_all};
pub use run_dir::{ClaimError, Instance, Lease, LeaseWatch, RunDir};
pub use seal::key_file;
