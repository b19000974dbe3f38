//! Answers: the head, the body whole or streamed, and the JSON envelope.

use std::io::Write;
use std::{fmt, io};

use serde::Serialize;

use super::{ApiError, CancelToken, Failed};

/// Value of `Strict-Transport-Security` (RFC 6797): for a year, this host name alone, on every port.
pub(crate) const HSTS: &str = "max-age=31536000";

/// Status and headers of an answer.
#[derive(Debug, Clone)]
pub struct ResponseHead {
    status: u16,
    headers: Vec<(String, String)>,
}

impl ResponseHead {
    /// Makes a head with the lines that every answer has: no sniffing of its type, and no use of it by other origins.
    pub fn new(status: u16) -> ResponseHead {
        ResponseHead {
            status,
            headers: Vec::new(),
        }
        .header("X-Content-Type-Options", "nosniff")
        .header("Cross-Origin-Resource-Policy", "same-origin")
    }

    /// Adds a header. Control characters in the value become spaces, as a line break could start another header.
    /// Framing headers are the server's and are ignored here.
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
    /// Makes an answer with any body and type.
    pub fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Response {
        Response {
            head: ResponseHead::new(status).header("Content-Type", content_type),
            body: body.into(),
        }
    }

    /// Makes an answer without a body.
    pub fn empty(status: u16) -> Response {
        Response {
            head: ResponseHead::new(status),
            body: Vec::new(),
        }
    }

    /// Makes an answer with `body` as it is, without the envelope.
    pub fn json(status: u16, body: &impl Serialize) -> Response {
        match serde_json::to_vec(body) {
            Ok(bytes) => {
                Response::new(status, "application/json", bytes).header("Cache-Control", "no-store")
            }
            Err(error) => Response::error(&ApiError::internal(format!(
                "cannot encode the answer: {error}"
            ))),
        }
    }

    /// 200 with `{"code": 200, "data": …}`.
    pub fn ok(data: impl Serialize) -> Response {
        Response::data(200, data)
    }

    /// The status with `{"code": N, "data": …}`.
    pub fn data(code: u16, data: impl Serialize) -> Response {
        #[derive(Serialize)]
        struct Envelope<T> {
            code: u16,
            data: T,
        }
        Response::json(code, &Envelope { code, data })
    }

    /// The error's status with `{"code": N, "message": …}` and its further members.
    pub fn error<M: Serialize>(error: &Failed<M>) -> Response {
        Response::json(error.status, &error.members())
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

    /// Sets another status.
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

impl<M: Serialize> From<Failed<M>> for Response {
    fn from(error: Failed<M>) -> Response {
        Response::error(&error)
    }
}

/// The body of a streaming answer. Each write becomes a chunk, so writes should be large
/// (about 64 KiB). Dropping it without [`Stream::finish`] aborts: the client sees a broken
/// transfer, never a clean end.
pub struct Stream {
    out: Box<dyn Write + Send>,
    client: CancelToken,
    /// The answer to a HEAD request has no body.
    mute: bool,
}

impl Stream {
    pub(super) fn begin(
        mut out: Box<dyn Write + Send>,
        head: &[u8],
        mute: bool,
        client: CancelToken,
    ) -> io::Result<Stream> {
        out.write_all(head)?;
        out.write_all(b"Transfer-Encoding: chunked\r\n\r\n")?;
        out.flush()?;
        Ok(Stream { out, client, mute })
    }

    /// Token of the request that is answered.
    pub fn client(&self) -> &CancelToken {
        &self.client
    }

    /// Ends the answer cleanly.
    pub fn finish(mut self) -> io::Result<()> {
        if !self.mute {
            self.out.write_all(b"0\r\n\r\n")?;
        }
        self.out.flush()
    }

    /// Writes a chunk. tiny_http's writer holds small writes back, so the size line and the end of the chunk before go
    /// out together.
    fn chunk(&mut self, data: &[u8]) -> io::Result<()> {
        write!(self.out, "{:x}\r\n", data.len())?;
        self.out.write_all(data)?;
        self.out.write_all(b"\r\n")
    }
}

impl Write for Stream {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        // An empty chunk would be the end of the answer.
        if !data.is_empty() && !self.mute {
            self.chunk(data)?;
        }
        Ok(data.len())
    }

    /// Sends the written bytes to the client at once.
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}

/// The phrases of RFC 9110 section 15, RFC 6585 and RFC 5842; none for a status that has none there.
pub(super) fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        203 => "Non-Authoritative Information",
        204 => "No Content",
        205 => "Reset Content",
        206 => "Partial Content",
        300 => "Multiple Choices",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        407 => "Proxy Authentication Required",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        411 => "Length Required",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        416 => "Range Not Satisfiable",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        422 => "Unprocessable Content",
        426 => "Upgrade Required",
        428 => "Precondition Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        508 => "Loop Detected",
        511 => "Network Authentication Required",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_that_is_sent_has_its_phrase() {
        let sent = [
            200, 303, 304, 308, 400, 401, 403, 404, 405, 408, 409, 410, 413, 414, 415, 421, 422,
            429, 431, 500, 501, 502, 503, 504, 505, 508,
        ];
        for status in sent {
            assert!(!reason(status).is_empty(), "{status}");
        }
        let head = ResponseHead::new(410).serialise();
        assert!(head.starts_with(b"HTTP/1.1 410 Gone\r\n"));
        let head = ResponseHead::new(299).serialise();
        assert!(head.starts_with(b"HTTP/1.1 299 \r\n"), "no phrase is one");
    }
}
