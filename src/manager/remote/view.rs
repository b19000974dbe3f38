//! Main tunnel as the API shows it.

use std::sync::Arc;

use crate::api::{ConnectResult, MainTunnel};
use crate::tunnel::client::{Snapshot, Status};
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
        let status = match snapshot.as_ref().map(|snapshot| snapshot.status) {
            Some(Status::Connected) => "connected",
            Some(Status::Connecting) => "connecting",
            None if self.error.is_none() => "connecting",
            _ => "failed",
        };
        let mut seen = ConnectResult {
            error: self.error.clone().unwrap_or_default(),
            ..ConnectResult::default()
        };
        if let Some(snapshot) = &snapshot {
            seen.add_tunnel(snapshot, true);
        }
        MainTunnel {
            server: origin.to_owned(),
            status: status.into(),
            error: seen.error,
            error_class: seen.error_class,
            host_key: seen.host_key,
            next_retry_ms: seen.next_retry_ms,
            local_port: self.local_port,
            latency_ms: seen.latency_ms,
            tunnel_way: seen.tunnel_way,
        }
    }
}
