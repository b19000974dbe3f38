//! The per-user directory: private files that are written whole, one writer at a time.
//!
//! Readers take no lock: a file is replaced by a rename, so what they see is
//! the old content or the new one. Writers hold [`Locked`], which
//! [`Home::lock`] hands to one process at a time.

mod atomic;
mod error;
mod home;
mod lock;
mod run_dir;
pub mod time;

pub use atomic::write_atomic;
pub use error::Error;
pub use home::Home;
pub use lock::Locked;
pub use run_dir::RunDir;
