//! What answers requests.

use super::Request;

/// Answers requests. Called on a worker; moves slow work to a thread of its own.
pub trait Handler: Send + Sync + 'static {
    /// Answers `request`, here or later. One that is dropped unanswered becomes a 500.
    fn handle(&self, request: Request);
}

impl<F: Fn(Request) + Send + Sync + 'static> Handler for F {
    fn handle(&self, request: Request) {
        self(request);
    }
}
