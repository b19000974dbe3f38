//! State that the threads of a server share.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::Sender;

use super::clients::Clients;
use super::policy::Policy;
use super::ports::Ports;
use super::settings::Timeouts;
use super::stats::ServerStats;
use crate::sync::{LogLimiter, Mutex};
use crate::tunnel::mux::Traffic;
use crate::tunnel::ssh::{self, ServerKey};
use crate::tunnel::ws::{AcceptOptions, Cancel};

/// A server's settings, and all that its clients have.
pub(super) struct ServerState {
    pub(super) keys: Arc<[ServerKey]>,
    pub(super) policy: Box<dyn Policy>,
    pub(super) keepalive: Option<Duration>,
    pub(super) accept: AcceptOptions,
    pub(super) timeouts: Timeouts,
    pub(super) ssh: ssh::Config,
    pub(super) traffic: Arc<Traffic>,
    pub(super) stats: Arc<ServerStats>,
    pub(super) ports: Ports,
    pub(super) clients: Clients,
    pub(super) turned_away: LogLimiter,
    /// Held by each connection's thread until it ends; none if no more clients are taken.
    pub(super) working: Mutex<Option<Sender<()>>>,
    /// Ends connections with DISCONNECT.
    pub(super) cancel: Cancel,
    /// Ends at once those that have not ended.
    pub(super) cut: Cancel,
}

impl ServerState {
    /// Logs a refusal, with a limit: refused clients can come any number of times, and must not fill the disk.
    pub(super) fn log_refused(&self, line: fmt::Arguments<'_>) {
        let others = "refused clients";
        self.turned_away.info(module_path!(), others, line);
    }
}
