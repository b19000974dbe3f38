//! The relay: the remote side of tunnels, with the sites behind them.
//!
//! ```text
//!              ┌── own names ── api ──┬── setup ──┬── setup_request, connector_auth, invites, allocator, names  (pure)
//! http ────────┤                      │           └── state_store ── state, state_rows ── row_log, or fleet
//!              │                      └── operator, status, revocation, handover, certificates
//!              └── {site}.{domain} ── gateway ── sites ── tunnel server ── policy
//! Prometheus ──── metrics: the counters of all of these
//! ```
//!
//! [`start`] puts these together; [`embedded`] is the relay that a manager starts if no server is named.
//! [`stored_status`], [`revoke`], [`allow`], [`invite`], [`invites()`], [`uninvite`], [`take_name`] and [`recover`] work on
//! the directory of a relay that need not run. Nothing here knows the manager.
//!
//! - A revoked connector's calls are refused in `connector_auth`, and the login of its tunnels in `policy`; `follow` ends
//!   its open tunnels.
//! - A site whose tunnel is at another relay of a fleet: `sites` asks `fleet::links`, which opens a `fleet::hop` to each
//!   relay until one has the tunnel.
//! - Changes of other relays: `joined` starts `fleet::watch`, which has `state_store` read them; `follow` applies them.
//! - The state of versions 0.1.0 is read in `earlier`.

pub mod embedded;

mod allocator;
mod api;
mod app_state;
mod call_stats;
mod certificates;
mod connector_auth;
mod counters;
mod earlier;
pub mod fleet;
mod follow;
mod handover;
mod invites;
mod joined;
mod metrics;
pub(crate) mod names;
mod offline;
#[cfg(test)]
#[path = "openapi_tests.rs"]
mod openapi;
mod operator;
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
