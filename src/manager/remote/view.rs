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
    pub(super) tunnel: Option<Arc<TunnelGroup>>,
}

/// Counters of a main tunnel.
pub(crate) struct MainTunnelFigures {
    pub(crate) is_up: bool,
    /// Connections after the first.
    pub(crate) reconnects: u64,
    /// The last round trip.
    pub(crate) latency_ms: Option<f64>,
}

impl MainTunnelView {
    /// As `/api/tunnel` shows that of the server with this origin.
    pub(crate) fn shown(&self, origin: &str) -> MainTunnel {
        let snapshot = self.tunnel.as_ref().map(|tunnel| tunnel.snapshot());
        self.described(origin, snapshot.as_ref())
    }

    /// Its counters.
    pub(crate) fn figures(&self) -> MainTunnelFigures {
        let snapshot = self.tunnel.as_ref().map(|tunnel| tunnel.snapshot());
        let snapshot = snapshot.as_ref();
        MainTunnelFigures {
            is_up: snapshot.is_some_and(|snapshot| snapshot.status == Status::Connected),
            reconnects: snapshot.map_or(0, |snapshot| snapshot.reconnects),
            latency_ms: snapshot.and_then(latency_ms),
        }
    }

    /// The host key change that it reports.
    pub(crate) fn changed_host_key(&self) -> Option<HostKey> {
        let snapshot = self.tunnel.as_ref()?.snapshot();
        snapshot.error?.host_key.map(HostKey::from)
    }

    /// Ends its present pause.
    pub(crate) fn retry(&self) {
        if let Some(tunnel) = &self.tunnel {
            tunnel.retry_now();
        }
    }

    fn described(&self, origin: &str, snapshot: Option<&Snapshot>) -> MainTunnel {
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
