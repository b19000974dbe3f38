//! Handlers of requests.

use super::Request;

/// Answers requests. Called on a worker; moves slow work to a thread of its own.
pub trait Handler: Send + Sync + 'static {
    /// Answers `request`, here or later. One that is dropped unanswered becomes a 500.
    fn handle(&self, request: Request);

    /// True if the body of such a request comes as a stream ([`Request::take_stream`]) and may have any size.
    fn streams(&self, _method: &str, _path: &str) -> bool {
        false
    }
}

impl<F: Fn(Request) + Send + Sync + 'static> Handler for F {
    fn handle(&self, request: Request) {
        self(request);
    }
}
