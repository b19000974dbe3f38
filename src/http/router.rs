//! Routes from method and path to a handler.

use super::{ApiError, Method, Request, Response};

type Action = Box<dyn Fn(Request) + Send + Sync>;
type Params = Vec<(String, String)>;

/// Routes requests: 404 for an unknown path, 405 with `Allow` for a known one with another method, HEAD as GET. Of
/// several matching patterns, the one that was added first counts.
#[derive(Default)]
pub struct Router {
    routes: Vec<Route>,
}

struct Route {
    method: Method,
    pattern: String,
    action: Action,
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
        self.routes.push(Route {
            method,
            pattern: pattern.to_owned(),
            action: Box::new(action),
        });
        self
    }

    fn matching<'a>(&'a self, path: &str) -> Vec<(&'a Route, Params)> {
        let matched = |route: &'a Route| Some((route, matches(&route.pattern, path)?));
        self.routes.iter().filter_map(matched).collect()
    }
}

impl Handler for Router {
    fn handle(&self, mut request: Request) {
        let matching = self.matching(request.path());
        if matching.is_empty() {
            let message = format!("there is nothing at {}", request.path());
            return request.respond(ApiError::not_found(message).into());
        }
        let allow = allow(&matching);
        let wanted = served_as(request.method());
        match matching
            .into_iter()
            .find(|(route, _)| route.method == *wanted)
        {
            Some((route, params)) => {
                request.set_params(params);
                (route.action)(request);
            }
            None => refuse(request, &allow),
        }
    }
}

/// HEAD is GET whose body the server leaves out.
fn served_as(method: &Method) -> &Method {
    match method {
        Method::Head => &Method::Get,
        other => other,
    }
}

fn allow(matching: &[(&Route, Params)]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for (route, _) in matching {
        names.push(route.method.as_str());
        if route.method == Method::Get {
            names.push("HEAD");
        }
    }
    names.dedup();
    names.join(", ")
}

fn refuse(request: Request, allow: &str) {
    let message = format!("{} allows only {allow}", request.path());
    let response = Response::error(&ApiError::new(405, message)).header("Allow", allow);
    request.respond(response);
}

/// Returns the parameters if `path` matches.
fn matches(pattern: &str, path: &str) -> Option<Params> {
    let mut params = Params::new();
    let mut segments = path.split('/');
    for part in pattern.split('/') {
        if part == "*" {
            return segments.next().map(|_| params);
        }
        let segment = segments.next()?;
        match part.strip_prefix('{').and_then(|p| p.strip_suffix('}')) {
            Some(_) if segment.is_empty() => return None,
            Some(name) => params.push((name.to_owned(), segment.to_owned())),
            None if part != segment => return None,
            None => {}
        }
    }
    segments.next().is_none().then_some(params)
}

/// Answers requests. Called on a worker; moves slow work to a thread of its own.
pub trait Handler: Send + Sync + 'static {
    /// Answers `request`, here or later. A request that is dropped unanswered becomes a 500.
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

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_match_segments() {
        assert!(matches("/", "/").unwrap().is_empty());
        assert!(matches("/api/info", "/api/info").is_some());
        assert!(matches("/api/info", "/api/info/").is_none());
        assert!(matches("/api/info", "/api").is_none());
        let params = matches("/api/export/{ticket}", "/api/export/a b").unwrap();
        assert_eq!(params, [("ticket".to_owned(), "a b".to_owned())]);
        assert!(matches("/api/export/{ticket}", "/api/export/").is_none());
        assert!(matches("/api/export/{ticket}", "/api/export/a/b").is_none());
        assert!(matches("/assets/*", "/assets/x/y.js").is_some());
        assert!(matches("/assets/*", "/assets").is_none());
    }
}
