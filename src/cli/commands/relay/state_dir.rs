//! The directory of a relay's state: its place, the lock for one relay at a time, and failures of its files.

use std::path::Path;

use crate::cli::args::command::Parsed;
use crate::cli::args::table::relay::{COMMAND, DATA};
use crate::cli::failure::Failure;
use crate::relay::{self, RelayInstance, has_state};
use crate::store::{ClaimError, DataDir, Instance};

/// The state of the service in the Debian package.
const PACKAGED: &str = "/var/lib/postern-relay";
/// The directory within the per-user one.
pub(super) const DATA_DIR: &str = "relay";

/// The data directory.
pub(super) fn data(parsed: &Parsed) -> Result<DataDir, Failure> {
    let dir = match parsed.value(&DATA) {
        Some(dir) if dir.is_empty() => return Err(COMMAND.usage("--data: give a directory")),
        Some(dir) => {
            std::path::absolute(&dir).map_err(|error| COMMAND.refuse(&DATA, &dir, error))?
        }
        None => {
            let home = DataDir::locate().map_err(|error| of_store(&error))?;
            home.dir().join(DATA_DIR)
        }
    };
    Ok(DataDir::at(dir))
}

/// The directory of an operator's command: without `--data` also that of the packaged service. Root works on it as its
/// owner, so that the relay can read the written files.
pub(super) fn operators_data(parsed: &Parsed) -> Result<DataDir, Failure> {
    let (own, packaged) = (data(parsed)?, DataDir::at(PACKAGED));
    let is_packaged = !parsed.has(&DATA) && !has_state(&own) && has_state(&packaged);
    let data = if is_packaged { packaged } else { own };
    become_owner(data.dir()).map_err(|error| {
        let dir = data.dir().display();
        Failure::operation(format!("cannot work as the owner of {dir}: {error}"))
            .hint("run the command as that user")
    })?;
    Ok(data)
}

/// Changes the user of this thread, and of threads that it starts, from root to the owner of the directory. Links are
/// not followed: systemd makes one for a DynamicUser, and sets the owner of the files behind it itself.
#[cfg(target_os = "linux")]
fn become_owner(dir: &Path) -> std::io::Result<()> {
    use rustix::process::{Gid, Uid, geteuid};
    use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
    use std::os::unix::fs::MetadataExt;

    let Ok(found) = std::fs::symlink_metadata(dir) else {
        return Ok(());
    };
    if !geteuid().is_root() || found.uid() == 0 {
        return Ok(());
    }
    let (user, group) = (Uid::from_raw(found.uid()), Gid::from_raw(found.gid()));
    set_thread_groups(&[group])?;
    set_thread_res_gid(group, group, group)?;
    set_thread_res_uid(user, user, user)?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn become_owner(_: &Path) -> std::io::Result<()> {
    Ok(())
}

/// Claims the directory: only one relay at a time may use it.
pub(super) fn claim(data: &DataDir) -> Result<Instance, Failure> {
    Instance::claim(data).map_err(|claimed| match claimed {
        ClaimError::Failed(error) => of_store(&error),
        ClaimError::Held(said) => {
            let dir = data.dir().display();
            let held = match said.as_deref().and_then(RelayInstance::read) {
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

/// Failure to read or write a file of the relay.
pub(super) fn of_store(error: &crate::store::Error) -> Failure {
    Failure::operation(error.to_string()).hint(relay::hint_of(error))
}

/// Failure to read or change the stored state of a relay.
pub(super) fn of_state(error: relay::StateError) -> Failure {
    Failure::operation(error.to_string()).hint(error.hint())
}
