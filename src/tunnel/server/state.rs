//! State of a server, and the handle with which this process opens streams to its clients.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::Sender;

use super::clients::{ClientCounts, Clients, ServerStats};
use super::ports::Ports;
use super::settings::{Policy, Timeouts};
use crate::sync::{LogLimiter, Mutex};
use crate::tunnel::mux::{LocalStream, Mux, OpenError, Traffic};
use crate::tunnel::ssh::{self, ServerKey};
use crate::tunnel::ws::{AcceptOptions, Cancel};

/// Settings and state of a server, shared by its threads.
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

/// Opens streams to remotes that clients hold without a port ([`Grant::Held`](super::Grant::Held)).
#[derive(Clone)]
pub struct Opener(pub(super) Arc<ServerState>);

impl Opener {
    /// Opens a stream to the target of `holder`'s remote with this port. Waits until the client
    /// confirms it, at most 30 s; whether the target takes it shows only on the stream.
    pub fn open(&self, holder: &str, port: u16) -> Result<LocalStream, OpenError> {
        self.open_within(holder, port, Duration::MAX)
    }

    /// Opens a stream that the client has so long to confirm, 30 s at most.
    pub fn open_within(
        &self,
        holder: &str,
        port: u16,
        within: Duration,
    ) -> Result<LocalStream, OpenError> {
        self.0.ports.open(holder, port, within)
    }

    /// True if `holder` holds this port now, for this process or listening on it.
    pub fn is_held(&self, holder: &str, port: u16) -> bool {
        self.0.ports.is_held(holder, port)
    }

    /// The ports that are held now, by who holds them.
    pub fn all_held(&self) -> HashMap<String, Vec<u16>> {
        self.0.ports.all_held()
    }

    /// Number of clients.
    pub fn client_counts(&self) -> ClientCounts {
        self.0.clients.counts()
    }

    /// Returns the counters.
    pub fn stats(&self) -> &ServerStats {
        &self.0.stats
    }

    /// Returns the traffic of all clients.
    pub fn traffic(&self) -> &Traffic {
        &self.0.traffic
    }

    /// Takes this port from `holder`; a listener on it is closed when this returns.
    pub fn free(&self, holder: &str, port: u16) {
        self.0.ports.free(holder, port);
    }

    /// Ends all streams of the connection over which `holder` holds this port, also those of its other remotes.
    pub fn cut_streams(&self, holder: &str, port: u16) {
        if let Some(mux) = self.0.ports.holder(holder, port) {
            mux.cut_streams();
        }
    }

    /// Asks the client that holds this port for a sign of life; true if one came in time, none if nobody holds the
    /// port.
    pub fn probe(&self, holder: &str, port: u16, within: Duration) -> Option<bool> {
        let mux = self.0.ports.holder(holder, port)?;
        Some(mux.probe(within))
    }

    /// Sends a notice to the client that holds this port, which only a postern understands; false if it is not sent.
    pub(crate) fn notify(&self, holder: &str, port: u16, data: &[u8]) -> bool {
        let mux = self.0.ports.holder(holder, port);
        mux.is_some_and(|mux| mux.notify(data))
    }

    /// Ends the connection that `holder` holds this port over: its client has to ask for it again.
    pub fn cut(&self, holder: &str, port: u16) {
        if let Some(mux) = self.0.ports.holder(holder, port) {
            turn_out(&mux);
        }
    }

    /// Ends the connections of `holder`: with DISCONNECT, and at once.
    pub fn disconnect(&self, holder: &str) {
        for mux in self.0.clients.connections(holder) {
            turn_out(&mux);
        }
    }
}

/// Ends a connection with its streams, also those whose visitors take no bytes.
fn turn_out(mux: &Arc<Mux>) {
    mux.stop();
    mux.cut_streams();
    mux.cut();
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Opener")
    }
}
