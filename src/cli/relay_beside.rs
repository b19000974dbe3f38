//! The relay that another command of this user's embeds, and that ends with it: who goes through it keeps it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::relay::Whereabouts;
use crate::relay::embedded::{self, Embedded, NotEmbedded};
use crate::store::DataDir;

/// A relay that is a part of another command.
pub(crate) struct Beside {
    home: DataDir,
    run_dir: PathBuf,
    check_other_users: bool,
    /// Where it is, or was.
    pub(crate) address: SocketAddr,
    /// The process of that command.
    pid: u32,
}

/// Where the relay is.
pub(crate) enum Now {
    /// Another process begins or ends one.
    Unsaid,
    There(Whereabouts),
    Here(Box<Embedded>),
}

impl Beside {
    /// None where `relay` is a process of its own: that is its operator's to start again.
    pub(crate) fn of(
        relay: &Whereabouts,
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

    /// Where this is the relay, and another command's than before.
    pub(crate) fn is_another(&self, relay: &Whereabouts) -> bool {
        (relay.address, relay.pid) != (self.address, self.pid)
    }

    /// That one.
    pub(crate) fn followed_by(&self, relay: &Whereabouts) -> Option<Self> {
        Self::of(relay, &self.home, &self.run_dir, self.check_other_users)
    }

    /// Where the relay is now; where it was nowhere, it is here from now on, at its address where that is free.
    pub(crate) fn now(&self) -> Result<Now, String> {
        let there = embedded::find(&self.home).map_err(|error| error.to_string())?;
        if let Some(relay) = there {
            return Ok(Now::There(relay));
        }
        let gateway = self.address.port();
        match embedded::succeed(&self.home, &self.run_dir, self.check_other_users, gateway) {
            Ok(embedded) => Ok(Now::Here(Box::new(embedded))),
            Err(NotEmbedded::Beside(relay)) => Ok(relay.map_or(Now::Unsaid, Now::There)),
            Err(error) => Err(error.to_string()),
        }
    }
}
