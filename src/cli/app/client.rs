//! The way to a running manager: its own API, over loopback.

use std::net::SocketAddr;

use serde_json::Value;

use crate::cli::api_client::{self, Call};
use crate::cli::failure::{Failure, OVER_LIMIT, printable};
use crate::cli::start::Whereabouts;
use crate::store::{DataDir, Instance};

/// A running manager.
pub(super) struct Manager {
    address: SocketAddr,
}

impl Manager {
    /// The one that runs on the directory; none where there is none.
    pub(super) fn find(home: &DataDir) -> Result<Option<Self>, Failure> {
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
        let mut envelope = api_client::call(self.address, &call).map_err(|error| {
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
            Some(429) => {
                Err(Failure::operation(printable(text(&envelope, "/message")))
                    .exit_status(OVER_LIMIT))
            }
            Some(_) => Err(Failure::operation(printable(text(&envelope, "/message")))),
            None => Err(Failure::operation(format!(
                "what answers at {} is not the manager",
                self.address
            ))),
        }
    }
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
