//! State behind the relay's own names and its metrics.

use std::sync::Arc;
use std::time::SystemTime;

use super::call_stats::CallStats;
use super::drain::Drain;
use super::operator::Operator;
use super::setup::Service;
use crate::gateway::RequestStats;
use crate::http::Request;
use crate::net::{Cidr, is_within};
use crate::store::DataDir;

/// State that the routes work with.
pub(super) struct AppState {
    pub(super) service: Arc<Service>,
    pub(super) operator: Operator,
    /// Whose `X-Forwarded-For` is believed.
    pub(super) trust_proxy: Vec<Cidr>,
    /// The data directory.
    pub(super) data: DataDir,
    /// Since when the relay runs.
    pub(super) started: SystemTime,
    /// Counters of the gateway.
    pub(super) requests: Arc<RequestStats>,
    /// Set when the relay is stopping.
    pub(super) drain: Drain,
    /// Quick-setup calls.
    pub(super) calls: CallStats,
}

impl AppState {
    /// True if a request comes by `https`; in doubt it does.
    pub(super) fn is_secure(&self, request: &Request) -> bool {
        let is_trusted = is_within(request.peer(), &self.trust_proxy);
        let told = request.header("x-forwarded-proto") == Some("https");
        self.service.urls.is_secure || (told && is_trusted)
    }
}
