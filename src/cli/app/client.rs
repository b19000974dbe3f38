//! The way to a running manager: its own API, over loopback.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::cli::failure::{Failure, printable};
use crate::cli::local_call::{self, Call};
use crate::cli::start::Whereabouts;
use crate::vault::{Home, Instance};

/// Time for an application to be connected. Default 180 s: five calls of 30 s, and the waits for two tunnels, seldom
/// all.
const CONNECTED_WAIT: Duration = Duration::from_secs(180);
/// Pause between two looks at the status.
const POLL: Duration = Duration::from_millis(100);

/// A running manager.
pub(super) struct Manager {
    address: SocketAddr,
}

impl Manager {
    /// The one that runs on the directory; none where there is none.
    pub(super) fn find(home: &Home) -> Result<Option<Self>, Failure> {
        let said = Instance::find(home);
        let said =
            said.map_err(|error| Failure::operation(error.to_string()).hint(error.hint()))?;
        let Some(said) = said else {
            return Ok(None);
        };
        let address = serde_json::from_slice::<Whereabouts>(&said)
            .ok()
            .and_then(|said| address(&said.url));
        match address {
            Some(address) => Ok(Some(Self { address })),
            None => Err(Failure::operation(format!(
                "run/start.json in {} is damaged",
                home.dir().display()
            ))
            .hint("end 'postern start' and start it again")),
        }
    }

    /// The `data` of the answer to one call.
    pub(super) fn call(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, Failure> {
        let call = Call {
            method,
            path,
            authorization: None,
            body,
        };
        let mut envelope = local_call::call(self.address, &call).map_err(|error| {
            Failure::operation(format!(
                "the manager at {} does not answer: {error}",
                self.address
            ))
            .hint("end 'postern start' and start it again")
        })?;
        match envelope.get("code").and_then(Value::as_u64) {
            Some(200..=299) => Ok(envelope
                .get_mut("data")
                .map(Value::take)
                .unwrap_or_default()),
            Some(_) => Err(Failure::operation(printable(text(&envelope, "/message")))),
            None => Err(Failure::operation(format!(
                "what answers at {} is not the manager",
                self.address
            ))),
        }
    }

    /// Waits for the end of the connecting, and fails with its error.
    pub(super) fn wait_connected(&self, id: &str) -> Result<Value, Failure> {
        let deadline = Instant::now() + CONNECTED_WAIT;
        loop {
            let result = self.call("GET", &format!("/api/status/{id}"), None)?;
            let error = printable(text(&result, "/error"));
            match text(&result, "/status") {
                "connected" => return Ok(result),
                "connecting" if Instant::now() < deadline => std::thread::sleep(POLL),
                "connecting" => {
                    return Err(Failure::operation("it is still connecting").hint(error));
                }
                "failed" => return Err(not_connected(&result, error)),
                _ => return Err(Failure::operation("it was disconnected meanwhile")),
            }
        }
    }
}

fn not_connected(result: &Value, error: String) -> Failure {
    let hint = match text(result, "/error_class") {
        _ if !text(result, "/hint").is_empty() => text(result, "/hint"),
        "plugin" if error.starts_with("unsupported protocol") => {
            "run 'postern plugin add mysql' first"
        }
        "plugin" => "check the database's address, user and password in the application",
        _ => return Failure::operation(error),
    };
    Failure::operation(error).hint(printable(hint))
}

/// The text at a place in an answer; empty where there is none.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_default()
}

fn address(url: &str) -> Option<SocketAddr> {
    url.strip_prefix("http://")?
        .trim_end_matches('/')
        .parse()
        .ok()
}
