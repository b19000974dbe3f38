//! The per-user directory: private files that are written whole, one writer at a time.
//!
//! Readers take no lock: a file is replaced by a rename, so what they see is
//! the old content or the new one. Writers hold [`Locked`], which
//! [`DataDir::lock`] hands to one process at a time.
//!
//! A document is a [`JsonFile`]; what is secret is sealed in it, tied to the machine and the user by their
//! [`Fingerprint`], and to a random [`key_file()`] that lies apart.

mod audit;
mod credentials;
mod data_dir;
mod error;
mod escape;
pub mod expiry;
mod fingerprint;
mod json_file;
mod key_file;
mod lock;
pub(crate) mod random;
mod run_dir;
pub mod time;

pub use audit::{AuditFiles, AuditSets};
pub use credentials::{CredentialStore, Credentials};
pub use data_dir::DataDir;
pub use error::{Error, errors};
pub use escape::{escaped, is_hidden};
pub use expiry::Ends;
pub use fingerprint::{Fingerprint, machine_name};
pub(crate) use json_file::from_json;
pub use json_file::to_json;
pub use json_file::{JsonFile, UNREADABLE, files_set_aside};
pub use key_file::key_file;
pub use lock::Locked;
pub use lock::{write_atomic, write_atomic_for_all};
pub use run_dir::RunDir;
pub use run_dir::{ClaimError, Instance};
pub use run_dir::{Lease, LeaseWatch};
