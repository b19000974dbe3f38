//! Main tunnel as the API shows it.

use std::sync::Arc;

use crate::api::ErrorClass;
use crate::api::{MainTunnel, Word};
use crate::manager::connection::{HostKey, latency_ms, millis_until};
use crate::tunnel::client::{Snapshot, Status, Way};
use crate::tunnel::group::TunnelGroup;

/// A main tunnel that was set up.
pub(crate) struct MainTunnelView {
    /// The port of the local API service.
    pub(super) local_port: Option<u16>,
    /// Why it could not be set up.
    pub(super) error: Option<String>,
    /// Its tunnel.
    pub(crate) tunnel: Option<Arc<TunnelGroup>>,
}

impl MainTunnelView {
    /// Its tunnel as it is now.
    pub(crate) fn snapshot(&self) -> Option<Snapshot> {
        self.tunnel.as_ref().map(|tunnel| tunnel.snapshot())
    }

    /// As `/api/tunnel` shows that of the server with this origin.
    pub(crate) fn shown(&self, origin: &str) -> MainTunnel {
        let snapshot = self.snapshot();
        let snapshot = snapshot.as_ref();
        let status = match snapshot.map(|snapshot| snapshot.status) {
            Some(Status::Connected) => "connected",
            Some(Status::Connecting) => "connecting",
            None if self.error.is_none() => "connecting",
            _ => "failed",
        };
        let failure = snapshot
            .filter(|_| status != "connected")
            .and_then(|snapshot| snapshot.error.as_ref());
        let error = failure.map(|failure| failure.message.clone());
        let key = failure.and_then(|failure| failure.host_key.clone());
        let way = snapshot.and_then(|snapshot| snapshot.way);
        MainTunnel {
            server: origin.to_owned(),
            status: status.into(),
            error: error.or_else(|| self.error.clone()).unwrap_or_default(),
            error_class: failure.map(|failure| ErrorClass::from(failure.class).code().into()),
            host_key: key.map(HostKey::from),
            next_retry_ms: snapshot
                .and_then(|snapshot| snapshot.next_retry)
                .map(millis_until),
            local_port: self.local_port,
            latency_ms: snapshot.and_then(latency_ms),
            tunnel_way: way.map(Way::name).map(Word::from),
        }
    }
}
