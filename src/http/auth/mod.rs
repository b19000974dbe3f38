//! Sign-in by a code: the code is exchanged for a cookie, wrong ones are counted by source.
//!
//! ```text
//! ?code=, form, link ── SignInFields ── Code::is ──┬── right: SignIn admits ── Set-Cookie
//!                                                  └── wrong: RateLimiter ── 401, or 429 with the time to wait
//! a later request ── its cookie ── SignIn::knows
//! ```
//!
//! The web client, the sites of a relay and the relay's own pages sign in this way; each has its own cookie, page
//! and way to tell who asks. Nothing here knows sockets, and the time comes from the caller.

mod code;
mod rate_limiter;
mod sign_in;
mod sign_in_fields;

pub use code::Code;
pub(crate) use code::sha256;
pub(crate) use rate_limiter::{RateLimiter, WhenFull};
pub(crate) use sign_in::{Lifetime, Outcome, Realm, SIGNED_IN_FOR, SignIn};
pub(crate) use sign_in_fields::{SignInFields, same_site};
