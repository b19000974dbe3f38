//! The quick-setup call: what a server assigns to one application.
//!
//! ```text
//! run ── attempt 1..5 ──▶ call (a thread of its own) ──▶ answer ──▶ Setup
//!          ▲                │ 401: reload the credentials
//!          │                │ 429: attempt * 3 s, or what Retry-After says
//!          └──── pause ◀────┤ end of stream, timeout, refused: attempt s
//!                           └ anything else: Failure
//! ```
//!
//! `answer` checks everything that a server sends before it is used; `failure` removes secrets from texts that are
//! shown.

mod answer;
mod call;
mod failure;
mod relay_calls;
mod run;
mod transport;

pub use answer::{Alternate, ApiKey, App, Connector, Resource, Setup};
pub(crate) use call::look;
pub use call::{NoAnswer, SetupEndpoint};
pub use failure::Failure;
pub(crate) use failure::{OTHER_NAME, REVOKED, REVOKED_HERE};
pub use relay_calls::ConnectorStanding;
pub(crate) use relay_calls::{release, release_name, standing, would_enrol};
pub use run::{ATTEMPTS, Caller, PreparedCall, Wait, run};
