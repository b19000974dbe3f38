//! What all visitors' connections of a gateway use.

use std::sync::Arc;

use super::access_log::AccessLog;
use super::auth::SiteAuth;
use super::config::GatewayConfig;
use super::pages::Pages;
use super::permits::Permits;
use super::site::Sites;
use crate::tunnel::ws::Tls;

/// What all visitors' connections of a gateway use.
pub(super) struct GatewayState {
    pub(super) config: GatewayConfig,
    pub(super) sites: Arc<dyn Sites>,
    pub(super) auth: SiteAuth,
    pub(super) pages: Pages,
    pub(super) permits: Permits,
    pub(super) log: AccessLog,
    pub(super) tls: Tls,
}
