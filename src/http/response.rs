//! Answers: the head, the body, and the JSON envelope.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::ApiError;

/// What `Strict-Transport-Security` says (RFC 6797): for a year, this host name alone, on every port.
pub(crate) const HSTS: &str = "max-age=31536000";

/// Status and headers of an answer.
#[derive(Debug, Clone)]
pub struct ResponseHead {
    status: u16,
    headers: Vec<(String, String)>,
}

impl ResponseHead {
    /// A head that carries what every answer carries: no sniffing of its type, and no use
    /// of it by other origins.
    pub fn new(status: u16) -> ResponseHead {
        ResponseHead {
            status,
            headers: Vec::new(),
        }
        .header("X-Content-Type-Options", "nosniff")
        .header("Cross-Origin-Resource-Policy", "same-origin")
    }

    /// Adds a header. Control characters in the value (a line break could start another
    /// header) become spaces. Framing headers are the server's and are ignored here.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl AsRef<str>) -> ResponseHead {
        let framing = ["content-length", "transfer-encoding", "connection"];
        if framing.iter().any(|own| own.eq_ignore_ascii_case(name)) {
            return self;
        }
        let value = value
            .as_ref()
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        self.headers.push((name.to_owned(), value));
        self
    }

    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The status line and headers, without framing headers and without the empty line.
    pub(super) fn serialise(&self) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        for (name, value) in &self.headers {
            head.push_str(name);
            head.push_str(": ");
            head.push_str(value);
            head.push_str("\r\n");
        }
        head.into_bytes()
    }
}

/// A whole answer.
#[derive(Debug, Clone)]
pub struct Response {
    head: ResponseHead,
    body: Vec<u8>,
}

impl Response {
    /// Any body with any type.
    pub fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Response {
        Response {
            head: ResponseHead::new(status).header("Content-Type", content_type),
            body: body.into(),
        }
    }

    /// A head alone: the answer has no body.
    pub fn empty(status: u16) -> Response {
        Response {
            head: ResponseHead::new(status),
            body: Vec::new(),
        }
    }

    /// `body` as it stands, without the envelope.
    pub fn json(status: u16, body: &impl Serialize) -> Response {
        match serde_json::to_vec(body) {
            Ok(bytes) => {
                Response::new(status, "application/json", bytes).header("Cache-Control", "no-store")
            }
            Err(error) => Response::error(&ApiError::internal(format!(
                "cannot encode answer: {error}"
            ))),
        }
    }

    /// 200 with `{"code": 200, "data": …}`.
    pub fn ok(data: impl Serialize) -> Response {
        #[derive(Serialize)]
        struct Envelope<T> {
            code: u16,
            data: T,
        }
        Response::json(200, &Envelope { code: 200, data })
    }

    /// The error's status with `{"code": N, "message": …}` and its further members.
    pub fn error(error: &ApiError) -> Response {
        let mut envelope: Map<String, Value> = error.extra.clone();
        envelope.insert("code".into(), json!(error.status));
        envelope.insert("message".into(), json!(error.message));
        Response::json(error.status, &envelope)
    }

    /// Plain text.
    pub fn text(status: u16, text: impl Into<String>) -> Response {
        Response::new(status, "text/plain; charset=utf-8", text.into())
    }

    /// Sends the client elsewhere, `status` being 303, 307 or 308.
    pub fn redirect(status: u16, location: &str) -> Response {
        Response::empty(status)
            .header("Location", location)
            .header("Cache-Control", "no-store")
    }

    /// Adds a header, as [`ResponseHead::header`] does.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl AsRef<str>) -> Response {
        self.head = self.head.header(name, value);
        self
    }

    /// The same answer under another status.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Response {
        self.head.status = status;
        self
    }

    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.head.status
    }

    /// The body.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Head and body, as they go to the server.
    pub(super) fn into_parts(self) -> (ResponseHead, Vec<u8>) {
        (self.head, self.body)
    }
}

impl From<ApiError> for Response {
    fn from(error: ApiError) -> Response {
        Response::error(&error)
    }
}

/// The phrases of RFC 9110 section 15 that this program uses.
pub(super) fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "Unknown",
    }
}
