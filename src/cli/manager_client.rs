//! The manager that a command uses: the running `postern start`, else its API in this process, on the same state.

use std::io;
use std::net::SocketAddr;
use std::ops::Deref;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::failure::{Failure, OVER_LIMIT, UNREACHABLE, printable};
use super::logging;
use crate::api::{Client, Error, ServerUpdate};
use crate::manager::{self, ServerUrl};
use crate::store::{DataDir, Instance};
use crate::tunnel::ws::network_variables;

/// Address and process that a running manager announces to other commands.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ManagerInstance {
    /// The page's address, `http://127.0.0.1:8181/`.
    pub(crate) url: String,
    /// Process ID.
    pub(crate) pid: u32,
}

/// A manager: its API, address and process.
pub(crate) struct Manager {
    client: Client,
    /// Address of its page; none if it is in this process.
    address: Option<SocketAddr>,
    /// Process ID.
    pub(crate) pid: u32,
}

impl Manager {
    /// Finds the manager that runs on the directory, if there is one.
    pub(crate) fn find(home: &DataDir) -> Result<Option<Self>, Failure> {
        let Some(said) = Instance::find(home)? else {
            return Ok(None);
        };
        let said = serde_json::from_slice::<ManagerInstance>(&said).ok();
        let found = said.and_then(|said| Some((address(&said.url)?, said.pid)));
        let Some((address, pid)) = found else {
            return Err(Failure::operation(format!(
                "run/start.json in {} is damaged",
                home.dir().display()
            ))
            .hint("stop 'postern start' and start it again"));
        };
        Ok(Some(Self {
            client: Client::at(address),
            address: Some(address),
            pid,
        }))
    }

    /// Returns the running manager, else its API on the stored state.
    pub(crate) fn open(home: &DataDir) -> Result<Self, Failure> {
        // Shows errors of its files.
        logging::start_quietly(false);
        let running = Self::find(home)?;
        Ok(running.unwrap_or_else(|| Self::here(manager::open(home))))
    }

    /// Returns the running manager; fails if none runs, because only it can connect applications.
    pub(crate) fn running(home: &DataDir) -> Result<Self, Failure> {
        Self::find(home)?.ok_or_else(|| not_running(home).hint("run 'postern start' first"))
    }

    /// A manager in this process.
    pub(crate) fn here(client: Client) -> Self {
        Self {
            client,
            address: None,
            pid: std::process::id(),
        }
    }

    /// True if it is another process.
    pub(crate) fn is_running(&self) -> bool {
        self.address.is_some()
    }

    /// Saves the enrolment token of a server.
    pub(crate) fn enroll(
        &self,
        server: &ServerUrl,
        token: Zeroizing<String>,
    ) -> Result<(), Failure> {
        self.put_server(&ServerUpdate {
            url: server.to_string(),
            enroll_token: Some(Some(token)),
            ..ServerUpdate::default()
        })?;
        Ok(())
    }

    /// Server for applications that name none; true if it is the manager's built-in relay.
    pub(crate) fn own_server(&self) -> Result<(Option<ServerUrl>, bool), Failure> {
        let version = self.version()?;
        let server = version.server.as_deref();
        let server = server.and_then(|url| ServerUrl::parse(url, true).ok());
        Ok((server, version.embedded))
    }

    /// Names of network variables that are set for this command but not for the manager; none if there are none, or if
    /// the manager is too old to tell.
    pub(crate) fn missing_variables(&self) -> Option<String> {
        let its_own = self.version().ok()?.network_variables?;
        let missing: Vec<String> = network_variables()
            .into_iter()
            .filter(|name| !its_own.contains(name))
            .collect();
        (!missing.is_empty()).then(|| missing.join(", "))
    }

    /// URL of its page; none if it is in this process.
    pub(crate) fn url(&self) -> Option<String> {
        Some(format!("http://{}/", self.address?))
    }
}

/// Failure if no manager runs on the directory.
pub(crate) fn not_running(home: &DataDir) -> Failure {
    let dir = home.dir().display();
    Failure::operation(format!("'postern start' is not running on {dir}")).code(503)
}

impl Deref for Manager {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let (code, message, hint) = match error {
            Error::Silent(address, why) => {
                let message = format!("the manager at {address} does not answer: {why}");
                return Self::operation(message)
                    .exit_status(UNREACHABLE)
                    .hint(match why.kind() {
                        io::ErrorKind::NetworkUnreachable => {
                            "start the network of this machine ('ip link set lo up')"
                        }
                        _ => "stop 'postern start' and start it again",
                    });
            }
            Error::Foreign(address) => {
                return Self::operation(format!("the program at {address} is not the manager"));
            }
            Error::Refused {
                code,
                message,
                hint,
            } => (code, message, hint),
        };
        let failure = Self::operation(printable(&message));
        let failure = failure.hint_if(hint.map(|hint| printable(&hint)));
        let failure = failure.code(u16::try_from(code).unwrap_or(500));
        match code {
            429 => failure.exit_status(OVER_LIMIT),
            _ => failure,
        }
    }
}

/// True if two URLs are of the same server.
pub(crate) fn is_same_server(one: &str, other: &str) -> bool {
    let url = |text| ServerUrl::parse(text, true).ok();
    one == other
        || url(one).is_some_and(|one| url(other).is_some_and(|url| url.origin() == one.origin()))
}

fn address(url: &str) -> Option<SocketAddr> {
    url.strip_prefix("http://")?
        .trim_end_matches('/')
        .parse()
        .ok()
}
