//! Sign-in by a code: the code is exchanged for a cookie, wrong ones are counted by source.
//!
//! ```text
//! ?code=, form, link ── SignInFields ── Code::is ──┬── right: SignIn signs ── Set-Cookie
//!                                                  └── wrong: RateLimiter ── 401, or 429 with the time to wait
//! a later request ── its cookie ── SignIn::visitor
//! ```
//!
//! The web client, the sites of a relay and the relay's own pages sign in this way; each has its own cookie, page
//! and way to tell who asks. A cookie says what it opens and is signed ([`signed`]), so memory does not grow with
//! sign-ins. Nothing here knows sockets.

mod rate_limiter;
mod sign_in;
mod signed;

pub(crate) use rate_limiter::{RateLimiter, WhenFull};
pub use sign_in::Code;
pub(crate) use sign_in::{Lifetime, SignIn, SignInFields, SignInOutcome, same_site, sha256};
pub use signed::CookieKey;
#[cfg(test)]
pub(crate) use signed::tests::of_form_1;
pub(crate) use signed::{Scope, Visitor};
