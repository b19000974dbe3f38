//! A manager in this process for one share, as long as the command runs; with an embedded relay if no server is given.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::time::{Duration, Instant};

use crossbeam_channel::Receiver;

use super::progress::ProgressPrinter;
use super::session::{Session, ShareOutcome};
use crate::cli::failure::{Failure, UNREACHABLE, printable, warn};
use crate::cli::fields::Fields;
use crate::cli::manager_client::Manager;
use crate::cli::relay_standby::{RelayPlace, RelayStandby};
use crate::cli::serve;
use crate::manager::app_input::AppInput;
use crate::manager::{self, Applications, LocalRelay, Options, Running, ServerAccess, ServerUrl};
use crate::plugin::WebClients;
use crate::relay::embedded::{self, EmbeddedRelay, NotEmbedded};
use crate::store::DataDir;

/// Time for an ending process to close its sockets. Default 2 s: it takes milliseconds.
const FREE_TIME: Duration = Duration::from_secs(2);
/// Pause between two checks for that.
const FREE_POLL: Duration = Duration::from_millis(20);

/// Manager of one share in this process.
pub(in crate::cli::commands) struct InProcessManager {
    running: Running,
    embedded: Option<EmbeddedRelay>,
    standby: Option<RelayStandby>,
}

impl InProcessManager {
    /// Uses `server`; without one, a relay of this user on this machine. If none runs, it is started here, if possible
    /// at the port of the relay `before`.
    pub(in crate::cli::commands) fn start(
        home: &DataDir,
        run_dir: &Path,
        server: Option<ServerAccess>,
        before: Option<u16>,
        web_clients: &'static dyn WebClients,
    ) -> Result<Self, Failure> {
        let is_here = server.is_none();
        let (access, embedded, standby) = match server {
            Some(server) => (server, None, None),
            None => own_relay(home, run_dir, before)?,
        };
        if let Some((relay, taken)) = embedded
            .as_ref()
            .and_then(|it| Some((it, it.port_taken()?)))
        {
            let (holder, used) = (serve::by_whom(taken), relay.address().port());
            warn(&format!(
                "port {taken} is in use{holder}; using port {used} instead"
            ));
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
        let listener = listener.map_err(|error| cannot(&format!("cannot listen: {error}")))?;
        let options = Options {
            home: home.clone(),
            run_dir: run_dir.to_owned(),
            applications: Applications::Temporary,
            server: Some(access.server.clone()),
            // The relay may move to another process of this user, with another port.
            local_relay: LocalRelay {
                relay: is_here.then(|| access.clone()),
                ..LocalRelay::default()
            },
            own_listeners: embedded.iter().flat_map(EmbeddedRelay::listeners).collect(),
            enroll_token: access.enroll_token,
            insecure: false,
            allow_hosts: Vec::new(),
            check_other_users: true,
            web_clients,
            notices: Vec::new(),
        };
        let running =
            manager::start(options, listener).map_err(|error| cannot(&error.to_string()))?;
        Ok(Self {
            running,
            embedded,
            standby,
        })
    }

    /// Shares an application until a message on `stopped`, or until its end time. `input` is the same as `fields`,
    /// checked.
    pub(in crate::cli::commands) fn share(
        &mut self,
        home: &DataDir,
        fields: Fields,
        input: &AppInput,
        progress: &ProgressPrinter,
        stopped: &Receiver<()>,
    ) -> Result<ShareOutcome, Failure> {
        let manager = Manager::here(self.running.client());
        let session = Session::begin(home, manager, fields, input, progress)?;
        session.run(progress, stopped, || self.keep())
    }

    /// Embeds the relay here if the command that embedded it has ended: at the same address, so that its users find it
    /// again. Fails if that address is not available.
    fn keep(&mut self) -> Result<(), Failure> {
        let Some(standby) = &self.standby else {
            return Ok(());
        };
        let before = standby.address;
        let address = match standby
            .take_over_if_ended()
            .map_err(|error| gone(before, &error))?
        {
            RelayPlace::Changing => return Ok(()),
            RelayPlace::OtherProcess(relay) => relay.address,
            RelayPlace::ThisProcess(embedded) => {
                let address = embedded.address();
                self.embedded = Some(*embedded);
                address
            }
        };
        if address != before {
            return Err(gone(before, &format!("it is at {address} now")));
        }
        if self.embedded.is_some() {
            self.standby = None;
        }
        Ok(())
    }

    /// Stops it within 2 s.
    pub(in crate::cli::commands) fn stop(self) {
        self.running.stop();
        if let Some(embedded) = self.embedded {
            embedded.stop();
        }
    }
}

/// Failure after the relay has ended.
fn gone(address: SocketAddr, why: &str) -> Failure {
    let why = printable(why);
    Failure::operation(format!(
        "the relay at {address} ended with the command that ran it: {why}"
    ))
    .hint("run the command again")
    .exit_status(UNREACHABLE)
}

type LocalRelayParts = (ServerAccess, Option<EmbeddedRelay>, Option<RelayStandby>);

/// A running relay of this user, else one in this process.
fn own_relay(
    home: &DataDir,
    run_dir: &Path,
    before: Option<u16>,
) -> Result<LocalRelayParts, Failure> {
    let access = |url: &str, token| -> Result<ServerAccess, Failure> {
        let server = ServerUrl::parse(url, false).map_err(|why| cannot(&why))?;
        Ok(ServerAccess {
            server,
            enroll_token: Some(token),
        })
    };
    let begun = match before {
        Some(port) => {
            wait_until_free(port);
            embedded::succeed(home, run_dir, true, port)
        }
        None => embedded::start(home, run_dir, true),
    };
    match begun {
        Ok(embedded) => {
            let token = embedded.token.clone();
            Ok((access(&embedded.server(), token)?, Some(embedded), None))
        }
        Err(NotEmbedded::AlreadyRunning(Some(relay))) => {
            let standby = RelayStandby::of(&relay, home, run_dir, true);
            let url = format!("http://{}", relay.address);
            Ok((access(&url, relay.token)?, None, standby))
        }
        Err(NotEmbedded::Store(error)) => Err(cannot(&error.to_string()).hint(error.hint())),
        Err(error) => Err(cannot(&error.to_string()).hint("give a relay with --server URL")),
    }
}

/// Waits until a process that is ending has given the port back; another program may keep it.
fn wait_until_free(port: u16) {
    let until = Instant::now() + FREE_TIME;
    while TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_err() && Instant::now() < until {
        std::thread::sleep(FREE_POLL);
    }
}

fn cannot(why: &str) -> Failure {
    Failure::operation(format!("cannot share: {}", printable(why)))
}
