//! Takes over the relay that another command of this user embeds when that command ends.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::relay::RelayInstance;
use crate::relay::embedded::{self, EmbeddedRelay, NotEmbedded};
use crate::store::DataDir;

/// Standby for a relay in another command.
pub(crate) struct RelayStandby {
    home: DataDir,
    run_dir: PathBuf,
    check_other_users: bool,
    /// Address of the relay.
    pub(crate) address: SocketAddr,
    /// Process of that command.
    pid: u32,
}

/// Process that runs the relay.
pub(crate) enum RelayPlace {
    /// Another process is starting or stopping it.
    Changing,
    OtherProcess(RelayInstance),
    ThisProcess(Box<EmbeddedRelay>),
}

impl RelayStandby {
    /// Returns a standby; none if `relay` is a process of its own, which its operator restarts.
    pub(crate) fn of(
        relay: &RelayInstance,
        home: &DataDir,
        run_dir: &Path,
        check_other_users: bool,
    ) -> Option<Self> {
        relay.embedded.then(|| Self {
            home: home.clone(),
            run_dir: run_dir.to_owned(),
            check_other_users,
            address: relay.address,
            pid: relay.pid,
        })
    }

    /// True if `relay` belongs to another command than before.
    pub(crate) fn is_different(&self, relay: &RelayInstance) -> bool {
        (relay.address, relay.pid) != (self.address, self.pid)
    }

    /// A standby for `relay` instead.
    pub(crate) fn moved_to(&self, relay: &RelayInstance) -> Option<Self> {
        Self::of(relay, &self.home, &self.run_dir, self.check_other_users)
    }

    /// Starts the relay in this process if it has ended, at its address if that is free. Returns its place.
    pub(crate) fn take_over_if_ended(&self) -> Result<RelayPlace, String> {
        let there = embedded::find(&self.home).map_err(|error| error.to_string())?;
        if let Some(relay) = there {
            return Ok(RelayPlace::OtherProcess(relay));
        }
        let gateway = self.address.port();
        match embedded::succeed(&self.home, &self.run_dir, self.check_other_users, gateway) {
            Ok(embedded) => Ok(RelayPlace::ThisProcess(Box::new(embedded))),
            Err(NotEmbedded::AlreadyRunning(relay)) => {
                Ok(relay.map_or(RelayPlace::Changing, RelayPlace::OtherProcess))
            }
            Err(error) => Err(error.to_string()),
        }
    }
}
