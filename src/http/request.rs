//! A whole checked request, with its body.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::{fmt, io};

use crossbeam_channel::{Receiver, Sender};
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use zeroize::Zeroizing;

use super::h1::head::Target;
use super::{ApiError, CancelToken, Response, ResponseHead, Stream};
use crate::sync::{Mutex, Thread, spawn};

/// Bytes of an answer that the Unix socket takes without waiting for the client.
const LIGHT: usize = 128 * 1024;

/// A request method.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)] // the names are the methods
pub enum Method {
    Get,
    Head,
    Post,
    Put,
    Delete,
    Options,
    Other(String),
}

impl Method {
    /// Returns its name in a request.
    pub fn as_str(&self) -> &str {
        match self {
            Method::Get => "GET",
            Method::Head => "HEAD",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Delete => "DELETE",
            Method::Options => "OPTIONS",
            Method::Other(name) => name,
        }
    }
}

impl From<&str> for Method {
    fn from(name: &str) -> Method {
        match name {
            "GET" => Method::Get,
            "HEAD" => Method::Head,
            "POST" => Method::Post,
            "PUT" => Method::Put,
            "DELETE" => Method::Delete,
            "OPTIONS" => Method::Options,
            other => Method::Other(other.to_owned()),
        }
    }
}

/// One request that has passed the server, with its body. Dropped unanswered, it answers
/// itself with 500.
pub struct Request {
    method: Method,
    path: String,
    query: Vec<(String, String)>,
    headers: Vec<(String, String)>,
    params: Vec<(String, String)>,
    /// May hold a secret.
    body: Zeroizing<Vec<u8>>,
    /// Body that is not read yet.
    stream: Option<Box<dyn Read + Send>>,
    peer: IpAddr,
    client: CancelToken,
    /// Destination that the answer takes.
    out: Option<ResponseTarget>,
    /// `Set-Cookie` of the answer.
    cookie: Option<String>,
}

/// Destination of the answer.
enum ResponseTarget {
    /// A client's connection.
    Client(Box<dyn Write + Send>),
    /// A caller in this process.
    Caller(Sender<Response>),
}

impl Request {
    /// Makes a request of this process, without a connection; its answer comes from the channel. `target` has the form
    /// of a request line's, and `body` is JSON.
    pub(crate) fn local(
        method: Method,
        target: &str,
        body: Zeroizing<Vec<u8>>,
    ) -> Result<(Request, Receiver<Response>), ApiError> {
        let target = Target::parse(target)?;
        let (sender, answer) = crossbeam_channel::bounded(1);
        let request = Request {
            method,
            path: target.path,
            query: target.query,
            headers: vec![("Content-Type".to_owned(), "application/json".to_owned())],
            params: Vec::new(),
            body,
            stream: None,
            peer: Ipv4Addr::LOCALHOST.into(),
            client: CancelToken::default(),
            out: Some(ResponseTarget::Caller(sender)),
            cookie: None,
        };
        Ok((request, answer))
    }

    /// Takes over a request of tiny_http, the body included.
    pub(super) fn read(
        mut from: tiny_http::Request,
        peer: IpAddr,
        client: CancelToken,
    ) -> io::Result<Request> {
        let length = from.body_length().unwrap_or(0);
        let mut body = Zeroizing::new(Vec::new());
        from.as_reader().read_to_end(&mut body)?;
        if body.len() != length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut request = Request::of(&from, peer, client)?;
        request.body = body;
        request.out = Some(ResponseTarget::Client(from.into_writer()));
        Ok(request)
    }

    /// Reads a request but not its body, which is read while it is answered. tiny_http gives both ways away only
    /// together, as for an upgrade; the interim answer that it then writes goes no further than the server.
    pub(super) fn read_streamed(
        from: tiny_http::Request,
        peer: IpAddr,
        client: CancelToken,
    ) -> io::Result<Request> {
        let mut request = Request::of(&from, peer, client)?;
        let interim = tiny_http::Response::empty(100);
        let both = BothWays(Arc::new(Mutex::new(from.upgrade("stream", interim))));
        request.out = Some(ResponseTarget::Client(Box::new(both.clone())));
        let length = request.header("content-length");
        request.stream = Some(match length.and_then(|length| length.parse().ok()) {
            Some(length) => Box::new(DeclaredBody(both.take(length))),
            None => Box::new(both),
        });
        Ok(request)
    }

    /// Reads a head.
    fn of(from: &tiny_http::Request, peer: IpAddr, client: CancelToken) -> io::Result<Request> {
        let target = Target::parse(from.url()).map_err(io::Error::other)?;
        let header = |h: &tiny_http::Header| (h.field.to_string(), h.value.to_string());
        Ok(Request {
            method: Method::from(from.method().as_str()),
            path: target.path,
            query: target.query,
            headers: from.headers().iter().map(header).collect(),
            params: Vec::new(),
            body: Zeroizing::default(),
            stream: None,
            peer,
            client,
            out: None,
            cookie: None,
        })
    }

    /// The method.
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// The path, percent-decoded, without the query.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The first value of a query parameter, decoded.
    pub fn query(&self, name: &str) -> Option<&str> {
        first(&self.query, |key| key == name)
    }

    /// Returns the decoded value of a query parameter that was given exactly once.
    pub fn only_query(&self, name: &str) -> Option<&str> {
        let mut values = self.query.iter().filter(|(key, _)| key == name);
        let (_, value) = values.next()?;
        values.next().is_none().then_some(value)
    }

    /// A header by its name in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        first(&self.headers, |key| key.eq_ignore_ascii_case(name))
    }

    /// The names of all headers, as they were sent.
    pub fn header_names(&self) -> impl Iterator<Item = &str> {
        self.headers.iter().map(|(name, _)| name.as_str())
    }

    /// Every value of a header, in order; names compare without case.
    pub fn header_values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.headers
            .iter()
            .filter(move |(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// Every cookie of this name: a page of another site below the same domain can put one of its
    /// own in front.
    pub fn cookies<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.header_values("cookie")
            .flat_map(|value| value.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .filter(move |(key, _)| *key == name)
            .map(|(_, value)| value)
    }

    /// Returns the value of `{name}` in the route's pattern.
    pub fn param(&self, name: &str) -> Option<&str> {
        first(&self.params, |key| key == name)
    }

    /// The body, at most [`Limits::body`](super::Limits::body) bytes.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The body of a request whose handler [streams](super::Handler::streams) it; once.
    pub fn take_stream(&mut self) -> Option<impl Read + Send + use<>> {
        self.stream.take()
    }

    /// Returns the body as JSON: 415 if it is not declared as such, 400 with its fault.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, ApiError> {
        self.must_be_json()?;
        serde_json::from_slice(&self.body).map_err(|error| {
            let what = match error.classify() {
                Category::Data => "wrong body",
                _ => "malformed JSON",
            };
            ApiError::bad_request(format!("{what}: {error}"))
        })
    }

    /// Fails with 415 if the body is not declared as JSON.
    pub fn must_be_json(&self) -> Result<(), ApiError> {
        let declared = self.header("content-type").unwrap_or_default();
        let essence = declared.split(';').next().unwrap_or_default().trim();
        if !essence.eq_ignore_ascii_case("application/json") {
            return Err(ApiError::unsupported_media(
                "the body must be sent with 'Content-Type: application/json'",
            ));
        }
        Ok(())
    }

    /// The TCP peer.
    pub fn peer(&self) -> IpAddr {
        self.peer
    }

    /// The Host header as sent.
    pub fn host(&self) -> &str {
        self.header("host").unwrap_or_default()
    }

    /// Token that tells if the client is still connected.
    pub fn client(&self) -> &CancelToken {
        &self.client
    }

    /// Sets the `Set-Cookie` of the answer, whatever it is.
    pub fn set_cookie(&mut self, cookie: Option<String>) {
        self.cookie = cookie;
    }

    /// Sends a whole answer. A client that has gone is no error.
    pub fn respond(mut self, response: Response) {
        self.send(response);
    }

    /// Begins a streaming answer; its head is sent at once.
    pub fn stream(mut self, head: ResponseHead) -> io::Result<Stream> {
        let Some(ResponseTarget::Client(out)) = self.out.take() else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let mute = self.method == Method::Head;
        let head = self.with_cookie(head);
        Stream::begin(out, &head.serialise(), mute, self.client.clone())
    }

    pub(super) fn set_params(&mut self, params: Vec<(String, String)>) {
        self.params = params;
    }

    fn with_cookie(&mut self, head: ResponseHead) -> ResponseHead {
        match self.cookie.take() {
            Some(cookie) => head.header("Set-Cookie", cookie),
            None => head,
        }
    }

    fn send(&mut self, response: Response) {
        let mut out = match self.out.take() {
            Some(ResponseTarget::Client(out)) => out,
            Some(ResponseTarget::Caller(caller)) => {
                // The caller may have stopped waiting.
                let _ = caller.send(response);
                return;
            }
            None => return,
        };
        let (head, body) = response.into_parts();
        let head = self.with_cookie(head);
        let mut bytes = head.serialise();
        // RFC 9110 section 8.6: no length where there cannot be a body.
        if !matches!(head.status(), 204 | 304) {
            bytes.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        if self.method != Method::Head {
            bytes.extend_from_slice(&body);
        }
        let heavy = bytes.len() > LIGHT;
        let mut write = move || {
            if let Err(error) = out.write_all(&bytes).and_then(|()| out.flush()) {
                log::debug!("http: cannot send an answer: {error}");
            }
        };
        if heavy {
            write_elsewhere(write);
        } else {
            write();
        }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if self.out.is_some() {
            log::error!("http: {} was not answered", self.path);
            self.send(Response::error(&ApiError::internal(
                "the request was not answered: this is a fault of the program",
            )));
        }
    }
}

/// Both ways of a request whose body is streamed. One thread uses them in turn.
#[derive(Clone)]
struct BothWays(Arc<Mutex<Box<dyn tiny_http::ReadWrite + Send>>>);

impl Read for BothWays {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.lock().read(into)
    }
}

impl Write for BothWays {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.lock().flush()
    }
}

/// A body of a declared length. An earlier end is an error.
struct DeclaredBody(io::Take<BothWays>);

impl Read for DeclaredBody {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(into)?;
        if read == 0 && !into.is_empty() && self.0.limit() > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(read)
    }
}

/// Writes on a thread of its own: a client that reads slowly must not hold a worker. The thread ends with the answer;
/// if no thread can be started, the answer breaks off and its client is told so.
fn write_elsewhere(write: impl FnOnce() + Send + 'static) {
    spawn(Thread::HttpAnswer, write)
        .unwrap_or_else(|error| log::warn!("http: no thread for a large answer: {error}"));
}

/// Names method and path only: headers and bodies may hold secrets.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Request({} {})", self.method.as_str(), self.path)
    }
}

fn first(pairs: &[(String, String)], is: impl Fn(&str) -> bool) -> Option<&str> {
    pairs
        .iter()
        .find(|(key, _)| is(key))
        .map(|(_, value)| value.as_str())
}
