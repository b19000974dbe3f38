//! Client of our APIs: of a running program by HTTP over loopback, or of the same handlers in this process.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::Receiver;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use zeroize::Zeroizing;

use super::application::{App, Log, ServerUpdate, Version};
use super::connection::{
    ChangeCount, ConnectResult, ConnectionState, HostKey, MainTunnel, Server, Trust,
};
use crate::http::{ApiError, Handler, Method, Request, Response};
use crate::net::percent::encode;
use crate::store::{from_json, to_json};
use crate::sync::{Thread, spawn};

/// Time for the other process to accept a connection. Default 2 s: it is on this machine.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Time for an answer. Default 15 s: a change waits up to 10 s for another writer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(15);
/// Bytes of an answer. Default 64 MiB: enough for a relay with the maximum number of connectors.
const ANSWER_CAP: u64 = 64 * 1024 * 1024;

/// Client of one program.
#[derive(Clone)]
pub(crate) struct Client {
    program: Program,
    /// The value of `Authorization`.
    authorization: Option<Zeroizing<String>>,
}

#[derive(Clone)]
enum Program {
    /// A running program, by its API's address.
    At(SocketAddr),
    /// A program in this process.
    Here(Arc<dyn Service>),
}

/// A program's API in this process.
pub(crate) trait Service: Handler {
    /// Returns a channel that is closed when the answer of [`Client::app`] for an application changes next.
    fn next_change(&self, id: &str) -> Receiver<()>;
}

/// Reason that a call has no `data`.
#[derive(Debug)]
pub(crate) enum Error {
    /// No answer from this address.
    Silent(SocketAddr, io::Error),
    /// Another program than ours answers at this address.
    Foreign(SocketAddr),
    /// The program refuses, or has failed.
    Refused {
        /// The status.
        code: u64,
        message: String,
        hint: Option<String>,
    },
}

/// The envelope of our APIs' answers.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Envelope {
    /// Status; none if the answer has no envelope.
    code: Option<u64>,
    message: Option<String>,
    /// Hint, if the message contains none.
    hint: Option<String>,
    data: Value,
}

impl Client {
    /// Client of a program that runs at this address.
    pub(crate) fn at(address: SocketAddr) -> Self {
        Self {
            program: Program::At(address),
            authorization: None,
        }
    }

    /// Client of a program in this process.
    pub(crate) fn here(service: Arc<dyn Service>) -> Self {
        Self {
            program: Program::Here(service),
            authorization: None,
        }
    }

    /// Sends this token with each call.
    #[must_use]
    pub(crate) fn with_token(self, token: &str) -> Self {
        let authorization = Some(Zeroizing::new(format!("Bearer {token}")));
        Self {
            authorization,
            ..self
        }
    }

    /// The `data` at a path.
    pub(crate) fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        self.call(Method::Get, path, None::<&()>)
    }

    /// The `data` of the answer to a call.
    pub(crate) fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<T, Error> {
        let (_, data) = self.call_for_status(method, path, body)?;
        typed(data)
    }

    /// The status and the `data` of the answer to a call.
    pub(crate) fn call_for_status(
        &self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<(u64, Value), Error> {
        let body = body.and_then(|body| to_json(body).ok());
        let body = body.unwrap_or_default();
        match &self.program {
            Program::At(address) => {
                let authorization = self.authorization.as_ref().map(|value| value.as_str());
                call(*address, method, path, authorization, &body)
                    .map_err(|error| Error::Silent(*address, error))
                    .and_then(|answer| Envelope::read(&answer).data(Some(*address)))
            }
            Program::Here(service) => {
                let answer = ask(service.as_ref(), method, path, body)?;
                // The channel is closed if a handler breaks off.
                answer
                    .recv()
                    .map_err(|_| broken_off())
                    .and_then(|response| Envelope::read(response.body()).data(None))
            }
        }
    }
}

fn ask(
    service: &dyn Service,
    method: Method,
    path: &str,
    body: Zeroizing<Vec<u8>>,
) -> Result<Receiver<Response>, Error> {
    let (request, answer) = Request::local(method, path, body).map_err(refused)?;
    service.handle(request);
    Ok(answer)
}

fn refused(error: ApiError) -> Error {
    Error::Refused {
        code: error.status.into(),
        message: error.message,
        hint: None,
    }
}

fn broken_off() -> Error {
    refused(ApiError::internal("the call broke off"))
}

fn typed<T: DeserializeOwned>(data: Value) -> Result<T, Error> {
    from_json(&data).map_err(|error| {
        refused(ApiError::internal(format!(
            "the answer is of another version of postern: {error}"
        )))
    })
}

impl Envelope {
    fn read(body: &[u8]) -> Self {
        serde_json::from_slice(body).unwrap_or_default()
    }

    /// The status and the `data`; `from` is the address of another process.
    fn data(self, from: Option<SocketAddr>) -> Result<(u64, Value), Error> {
        match (self.code, from) {
            (Some(code @ 200..=299), _) => Ok((code, self.data)),
            (Some(code), _) => Err(Error::Refused {
                code,
                message: self.message.unwrap_or_default(),
                hint: self.hint,
            }),
            (None, Some(address)) => Err(Error::Foreign(address)),
            (None, None) => Err(broken_off()),
        }
    }
}

/// The calls of the management API.
impl Client {
    /// Every application.
    pub(crate) fn apps(&self) -> Result<Vec<App>, Error> {
        self.get("/api/apps")
    }

    /// One application.
    pub(crate) fn app(&self, id: &str) -> Result<App, Error> {
        self.get(&format!("/api/apps/{id}"))
    }

    /// Adds an application.
    pub(crate) fn add(&self, fields: &Map<String, Value>) -> Result<App, Error> {
        self.call(Method::Post, "/api/apps", Some(fields))
    }

    /// Puts an application in the place of another.
    pub(crate) fn replace(&self, id: &str, fields: &Map<String, Value>) -> Result<App, Error> {
        self.call(Method::Put, &format!("/api/apps/{id}"), Some(fields))
    }

    /// Removes an application; with `release` its server releases the name of its site.
    pub(crate) fn remove(&self, id: &str, release: bool) -> Result<App, Error> {
        let query = if release { "?release=true" } else { "" };
        let path = format!("/api/apps/{id}{query}");
        self.call(Method::Delete, &path, None::<&()>)
    }

    /// Adds an application that is removed when its lease ends; the lease has its identifier.
    pub(crate) fn share(&self, fields: &Map<String, Value>) -> Result<App, Error> {
        self.call(Method::Post, "/api/shares", Some(fields))
    }

    /// Begins to connect an application; `required` if its site must have the preferred name.
    pub(crate) fn connect(&self, id: &str, required: bool) -> Result<(), Error> {
        let query = if required { "?site_name=required" } else { "" };
        self.post(&format!("/api/connect/{id}{query}"))
            .map(|_: Value| ())
    }

    /// Ends the connection of an application.
    pub(crate) fn disconnect(&self, id: &str) -> Result<ConnectionState, Error> {
        #[derive(Deserialize)]
        struct Disconnected {
            status: ConnectionState,
        }
        let answer: Disconnected = self.post(&format!("/api/disconnect/{id}"))?;
        Ok(answer.status)
    }

    /// Returns a channel that is closed at the next change of an application after this call; for another process
    /// perhaps also at an earlier one. None if that process does not tell.
    pub(crate) fn next_change(&self, id: &str) -> Option<Receiver<()>> {
        if let Program::Here(service) = &self.program {
            return Some(service.next_change(id));
        }
        let path = format!("/api/apps/{id}/changes");
        let before: ChangeCount = self.get(&path).ok()?;
        let (tell, next) = crossbeam_channel::bounded(0);
        let client = self.clone();
        let waits = move || {
            let path = format!("{path}?after={}", before.changes);
            // The waiter looks at the application, however this ends.
            let _: Result<ChangeCount, Error> = client.get(&path);
            drop(tell);
        };
        spawn(Thread::Changes, waits).ok()?;
        Some(next)
    }

    /// The connection of an application.
    pub(crate) fn status(&self, id: &str) -> Result<ConnectResult, Error> {
        self.get(&format!("/api/status/{id}"))
    }

    /// `requests` or `statements` of an application's visitors after number `after`.
    pub(crate) fn log(&self, id: &str, of: &str, after: u64) -> Result<Log, Error> {
        self.get(&format!("/api/apps/{id}/{of}?after={after}"))
    }

    /// Makes another code for an application.
    pub(crate) fn renew_code(&self, id: &str) -> Result<App, Error> {
        self.post(&format!("/api/apps/{id}/code"))
    }

    /// Every server.
    pub(crate) fn servers(&self) -> Result<Vec<Server>, Error> {
        self.get("/api/servers")
    }

    /// Adds or changes a server.
    pub(crate) fn put_server(&self, update: &ServerUpdate) -> Result<Server, Error> {
        self.call(Method::Post, "/api/servers", Some(update))
    }

    /// Removes a server.
    pub(crate) fn remove_server(&self, url: &str) -> Result<Server, Error> {
        let path = format!("/api/servers?url={}", encode(url));
        self.call(Method::Delete, &path, None::<&()>)
    }

    /// Trusts the host key that a tunnel has refused.
    pub(crate) fn trust(&self, key: &HostKey) -> Result<(), Error> {
        let trust = Trust {
            server: key.server.clone(),
            fingerprint: key.offered.clone(),
        };
        self.call(Method::Post, "/api/trust", Some(&trust))
            .map(|_: Value| ())
    }

    /// The main tunnels.
    pub(crate) fn tunnels(&self) -> Result<Vec<MainTunnel>, Error> {
        self.get("/api/tunnel")
    }

    /// The program.
    pub(crate) fn version(&self) -> Result<Version, Error> {
        self.get("/api/version")
    }

    fn post<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        self.call(Method::Post, path, None::<&()>)
    }
}

/// Makes the call and returns the answer's body; `body` is JSON or empty.
fn call(
    address: SocketAddr,
    method: Method,
    path: &str,
    authorization: Option<&str>,
    body: &[u8],
) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT)?;
    stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    stream.set_write_timeout(Some(ANSWER_TIMEOUT))?;
    let authorization = authorization.map(|value| format!("Authorization: {value}\r\n"));
    let head = format!(
        "{} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         {}Content-Length: {}\r\n\r\n",
        method.as_str(),
        authorization.unwrap_or_default(),
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    let mut answer = Vec::new();
    let read = stream.take(ANSWER_CAP).read_to_end(&mut answer);
    read.map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => {
            let text = format!("no answer within {} s", ANSWER_TIMEOUT.as_secs());
            io::Error::new(io::ErrorKind::TimedOut, text)
        }
        _ => error,
    })?;
    Ok(body_of(&answer).to_vec())
}

/// Body after the head; such answers of our servers are never chunked.
fn body_of(answer: &[u8]) -> &[u8] {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    end.and_then(|end| answer.get(end + 4..))
        .unwrap_or_default()
}
