//! The relay: the remote side of tunnels, with the sites behind them.
//!
//! ```text
//!              ┌── own names ── api ── setup ──┬── setup_request, connector_auth, invites, allocator, names   (pure)
//! http ────────┤                 └── status    └── state_store ── state, state_rows ── row_log
//!              └── {site}.{domain} ── gateway ── sites ── tunnel server ── policy: who may what
//! Prometheus ──── metrics: what all of these count
//! ```
//!
//! [`start`] puts these together; [`embedded`] is the relay that a manager starts where no server is named, and
//! [`stored_status`], [`revoke`], [`allow`], [`invite`], [`invites()`], [`uninvite`] and [`recover`] work on the directory of one that need
//! not run. Nothing here knows the
//! manager.

pub mod embedded;
mod handover;

mod allocator;
mod api;
mod app_state;
mod call_stats;
mod connector_auth;
mod counters;
mod earlier;
pub mod fleet;
mod follow;
mod invites;
mod joined;
mod metrics;
pub(crate) mod names;
mod offline;
#[cfg(test)]
#[path = "openapi_tests.rs"]
mod openapi;
mod policy;
mod revocation;
mod row_log;
mod secret;
mod server;
mod setup;
mod setup_request;
mod sites;
mod state;
mod state_rows;
mod state_store;
mod status;
mod store_error;
mod urls;

pub use allocator::Quota;
pub use connector_auth::Enrolment;
pub use counters::EVERY as SAVE_COUNTERS_EVERY;
pub use handover::HandoverError;
pub use invites::InviteTerms;
pub use offline::{
    Recovered, allow, has_state, invite, invites, recover, revoke, stored_status, take_name,
    uninvite,
};
pub use server::{Options, RelayInstance, Running, StartError, start};
pub use state_store::set_aside_notice;
pub use store_error::{Error as StateError, StoreError, hint_of};
pub use urls::{InvalidUrl, PublicPorts, PublicUrl, TunnelUrl, check_domain};
