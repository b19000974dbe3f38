//! One whole checked request.

use std::io;
use std::net::IpAddr;

use serde::de::DeserializeOwned;

use super::{ApiError, ClientWatch, Response, ResponseHead, Stream};

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

/// One request that has passed the fence, with its body.
#[derive(Debug)]
pub struct Request {
    method: Method,
    path: String,
    query: Vec<(String, String)>,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    peer: IpAddr,
    client: ClientWatch,
}

impl Request {
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

    /// A header by its name in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        first(&self.headers, |key| key.eq_ignore_ascii_case(name))
    }

    /// A cookie.
    pub fn cookie(&self, name: &str) -> Option<&str> {
        self.header("cookie")?
            .split(';')
            .filter_map(|pair| pair.trim().split_once('='))
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value)
    }

    /// What a `{name}` in the route's pattern stands for.
    pub fn param(&self, _name: &str) -> Option<&str> {
        None
    }

    /// The body, at most [`Limits::body`](super::Limits::body) bytes.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The body as JSON: 415 when it is not declared as such, 400 naming what is wrong.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, ApiError> {
        serde_json::from_slice(&self.body).map_err(|e| ApiError::bad_request(e.to_string()))
    }

    /// The TCP peer.
    pub fn peer(&self) -> IpAddr {
        self.peer
    }

    /// The Host header as sent.
    pub fn host(&self) -> &str {
        self.header("host").unwrap_or_default()
    }

    /// Tells whether the client is still there.
    pub fn client(&self) -> &ClientWatch {
        &self.client
    }

    /// Sends a whole answer.
    pub fn respond(self, _response: Response) {}

    /// Begins a streaming answer.
    pub fn stream(self, _head: ResponseHead) -> io::Result<Stream> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

fn first(pairs: &[(String, String)], is: impl Fn(&str) -> bool) -> Option<&str> {
    pairs
        .iter()
        .find(|(key, _)| is(key))
        .map(|(_, v)| v.as_str())
}
