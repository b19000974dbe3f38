//! A manager in this process that knows of what it is given alone, for as long as the command runs; with a relay in this
//! process too where no server is named.

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

use crate::cli::failure::{Failure, printable};
use crate::cli::manager_client::Manager;
use crate::manager::{self, Applications, Options, Running, ServerAccess, ServerUrl, StandIn};
use crate::plugin::WebClients;
use crate::relay::embedded::{self, Embedded, NotEmbedded};
use crate::store::DataDir;

pub(in crate::cli::commands) struct Alone {
    running: Running,
    embedded: Option<Embedded>,
}

impl Alone {
    /// Goes through `server`; where there is none, through a relay of this user's on this machine, which begins with this
    /// where none runs.
    pub(in crate::cli::commands) fn start(
        home: &DataDir,
        run_dir: &Path,
        server: Option<ServerAccess>,
        web_clients: &'static dyn WebClients,
    ) -> Result<Self, Failure> {
        let (access, embedded) = match server {
            Some(server) => (server, None),
            None => own_relay(home, run_dir)?,
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
        let listener = listener.map_err(|error| cannot(&format!("cannot listen: {error}")))?;
        let running = manager::start(Options {
            home: home.clone(),
            listener,
            run_dir: run_dir.to_owned(),
            applications: Applications::Temporary,
            server: Some(access.server),
            stand_in: StandIn::default(),
            own_listeners: embedded.iter().flat_map(Embedded::listeners).collect(),
            enroll_token: access.enroll_token,
            insecure: false,
            allow_hosts: Vec::new(),
            check_other_users: true,
            web_clients,
            notices: Vec::new(),
        });
        let running = running.map_err(|error| cannot(&error.to_string()))?;
        Ok(Self { running, embedded })
    }

    /// The way to it.
    pub(in crate::cli::commands) fn manager(&self) -> Manager {
        Manager::at(self.running.address())
    }

    /// Ends it: within 2 s.
    pub(in crate::cli::commands) fn stop(self) {
        self.running.stop();
        if let Some(embedded) = self.embedded {
            embedded.stop();
        }
    }
}

/// A relay of this user's that runs already, else one within this process.
fn own_relay(home: &DataDir, run_dir: &Path) -> Result<(ServerAccess, Option<Embedded>), Failure> {
    let access = |url: &str, token| -> Result<ServerAccess, Failure> {
        let server = ServerUrl::parse(url, false).map_err(|why| cannot(&why))?;
        Ok(ServerAccess {
            server,
            enroll_token: Some(token),
        })
    };
    match embedded::start(home, run_dir, true) {
        Ok(embedded) => {
            let token = embedded.token.clone();
            Ok((access(&embedded.server(), token)?, Some(embedded)))
        }
        Err(NotEmbedded::Beside(Some(relay))) => Ok((
            access(&format!("http://{}", relay.address), relay.token)?,
            None,
        )),
        Err(error) => Err(cannot(&error.to_string()).hint("name a server with --server URL")),
    }
}

fn cannot(why: &str) -> Failure {
    Failure::operation(format!("cannot share: {}", printable(why)))
}
