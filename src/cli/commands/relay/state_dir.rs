//! The directory of a relay's state: one relay at a time, and what goes wrong with its files.

use crate::cli::failure::Failure;
use crate::relay::{self, Whereabouts};
use crate::store::{ClaimError, DataDir, Instance};

/// One relay at a time on a directory.
pub(super) fn claim(data: &DataDir) -> Result<Instance, Failure> {
    Instance::claim(data).map_err(|claimed| match claimed {
        ClaimError::Failed(error) => of_store(&error),
        ClaimError::Held(said) => {
            let dir = data.dir().display();
            let held = match said.as_deref().and_then(Whereabouts::read) {
                Some(first) => format!(
                    "another relay uses {dir}: process {}, at {}",
                    first.pid, first.url
                ),
                None => format!("another relay uses {dir}"),
            };
            Failure::operation(held).hint("stop it, or give another directory with --data")
        }
    })
}

/// A file of the relay cannot be read or written.
pub(super) fn of_store(error: &crate::store::Error) -> Failure {
    Failure::operation(error.to_string()).hint(relay::hint_of(error))
}
