//! Remote ports in use: if a server gives one port to two applications, neither replaces the other.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};

use super::error::{ConnectError, Ended};
use crate::api::ErrorClass;
use crate::sync::Mutex;
use crate::tunnel::registry::TunnelKey;

/// Time for another application's connection to leave a remote port: closing a tunnel takes one at most.
const PORT_WAIT: Duration = Duration::from_secs(2);
/// Pause between two checks of a port.
const PORT_POLL: Duration = Duration::from_millis(20);

/// All reserved ports.
#[derive(Clone, Default)]
pub(crate) struct PortReservations(Arc<Mutex<HashSet<TunnelKey>>>);

/// A remote port of one connection; left when this is dropped.
pub(super) struct PortReservation {
    ports: PortReservations,
    key: TunnelKey,
}

impl PortReservations {
    /// Reserves a port, waiting for one that is just being left.
    pub(super) fn reserve(
        &self,
        key: &TunnelKey,
        stopped: &Receiver<()>,
    ) -> Result<PortReservation, Ended> {
        let deadline = Instant::now() + PORT_WAIT;
        while !self.0.lock().insert(key.clone()) {
            if stopped.recv_timeout(PORT_POLL) != Err(RecvTimeoutError::Timeout) {
                return Err(Ended::Stopped);
            }
            if Instant::now() >= deadline {
                let taken = "the relay assigned a port that another application uses";
                return Err(ConnectError::new(ErrorClass::QuickSetup, taken).into());
            }
        }
        Ok(PortReservation {
            ports: self.clone(),
            key: key.clone(),
        })
    }
}

impl Drop for PortReservation {
    fn drop(&mut self) {
        self.ports.0.lock().remove(&self.key);
    }
}
