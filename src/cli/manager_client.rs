//! The way to a running manager: its own API, over loopback.

use std::io;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::api_client::{self, Answer, Call};
use super::failure::{Failure, OVER_LIMIT, printable};
use crate::manager::ServerUrl;
use crate::store::{DataDir, Instance};
use crate::tunnel::ws::network_variables;

/// Address that a running manager tells other commands.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Whereabouts {
    /// The page's address, `http://127.0.0.1:8181/`.
    pub(crate) url: String,
    /// Its process.
    pub(crate) pid: u32,
}

/// A running manager.
pub(crate) struct Manager {
    address: SocketAddr,
    /// Its process.
    pub(crate) pid: u32,
}

impl Manager {
    /// The one that runs on the directory; none where there is none.
    pub(crate) fn find(home: &DataDir) -> Result<Option<Self>, Failure> {
        let Some(said) = Instance::find(home)? else {
            return Ok(None);
        };
        let said = serde_json::from_slice::<Whereabouts>(&said).ok();
        let found = said.and_then(|said| Some((address(&said.url)?, said.pid)));
        match found {
            Some((address, pid)) => Ok(Some(Self { address, pid })),
            None => Err(Failure::operation(format!(
                "run/start.json in {} is damaged",
                home.dir().display()
            ))
            .hint("stop 'postern start' and start it again")),
        }
    }

    /// The one of this process, which listens there.
    pub(crate) fn at(address: SocketAddr) -> Self {
        Self {
            address,
            pid: std::process::id(),
        }
    }

    /// Keeps the enrolment token of a server.
    pub(crate) fn enroll(&self, server: &str, token: &str) -> Result<(), Failure> {
        let body = serde_json::json!({"url": server, "enroll_token": token});
        self.call("POST", "/api/servers", Some(&body)).map(drop)
    }

    /// The server that it uses where an application names none, and whether that is the relay within it.
    pub(crate) fn own_server(&self) -> Result<(Option<ServerUrl>, bool), Failure> {
        let version = self.call("GET", "/api/version", None)?;
        let server = ServerUrl::parse(text(&version, "/server"), true).ok();
        let is_embedded = version.pointer("/embedded").and_then(Value::as_bool);
        Ok((server, is_embedded.unwrap_or_default()))
    }

    /// Names of the network variables that are set for this command and not for the manager; none if there are none. An
    /// older manager does not name its own.
    pub(crate) fn missing_variables(&self) -> Option<String> {
        let version = self.call("GET", "/api/version", None).ok()?;
        let its_own = version.pointer("/network_variables")?.as_array()?;
        let is_missing = |name: &String| !its_own.iter().any(|own| own == name.as_str());
        let missing: Vec<String> = network_variables().into_iter().filter(is_missing).collect();
        (!missing.is_empty()).then(|| missing.join(", "))
    }

    /// The address of its page.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// The `data` of the answer to one call.
    pub(crate) fn call(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, Failure> {
        self.call_for_status(method, path, body)
            .map(|(_, data)| data)
    }

    /// The status and the `data` of the answer to one call.
    pub(crate) fn call_for_status(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(u64, Value), Failure> {
        let call = Call {
            method,
            path,
            authorization: None,
            body,
        };
        let Answer {
            code,
            message,
            hint,
            data,
        } = api_client::call(self.address, &call).map_err(|error| {
            let hint = match error.kind() {
                io::ErrorKind::NetworkUnreachable => {
                    "start the network of this machine ('ip link set lo up')"
                }
                _ => "stop 'postern start' and start it again",
            };
            Failure::operation(format!(
                "the manager at {} does not answer: {error}",
                self.address
            ))
            .hint(hint)
        })?;
        let message = printable(&message.unwrap_or_default());
        match code {
            Some(code @ 200..=299) => Ok((code, data)),
            Some(404) => Err(Failure::operation(message).of_missing()),
            Some(429) => Err(Failure::operation(message).exit_status(OVER_LIMIT)),
            Some(_) => {
                let hint = hint.map(|hint| printable(&hint));
                Err(Failure::operation(message).hint_if(hint))
            }
            None => Err(Failure::operation(format!(
                "the program at {} is not the manager",
                self.address
            ))),
        }
    }
}

/// The text at a place in an answer; empty where there is none.
pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_default()
}

fn address(url: &str) -> Option<SocketAddr> {
    url.strip_prefix("http://")?
        .trim_end_matches('/')
        .parse()
        .ok()
}
