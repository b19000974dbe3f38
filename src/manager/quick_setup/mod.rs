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
//! `answer` checks all that a server sends before anybody sees it; `redact` makes what is shown of it.

mod answer;
mod body;
mod call;
mod enrolment;
mod failure;
mod reached;
mod redact;
mod release;
mod resolve;
mod retry_after;
mod run;

pub use answer::{Alternate, ApiKey, App, Connector, Resource, Setup};
pub use body::Body;
pub(crate) use call::look;
pub(crate) use enrolment::would_enrol;
pub use failure::Failure;
pub(crate) use failure::{OTHER_NAME, REVOKED, REVOKED_HERE};
pub use release::Standing;
pub(crate) use release::{release, release_name, standing};
pub use run::{ATTEMPTS, Caller, PreparedCall, Wait, run};
