//! `postern http 3000` and the commands of other protocols: share an application until Ctrl-C.
//!
//! A manager does the work: the running `postern start`, which gets a [temporary application](crate::store::Lease),
//! else
//! one in this process for this share only ([`alone`](super::sharing::alone)). The command uses its API
//! ([`session`](super::sharing::session)), and prints events one line at a time ([`progress`]).

use super::sharing::alone::InProcessManager;
use super::sharing::line::{given_token, name_by_target, server};
use super::sharing::progress::{self, ProgressPrinter};
use super::sharing::session::{Session, ShareOutcome};
use crate::cli::args::command::{Command, Parsed};
use crate::cli::args::root::COMMANDS;
use crate::cli::args::table::VERBOSE;
use crate::cli::commands::plugin::BuiltIns;
use crate::cli::failure::{Failure, say, warn};
use crate::cli::fields::{self, Fields};
use crate::cli::manager_client::Manager;
use crate::cli::serve::SignalWatch;
use crate::cli::{logging, serve};
use crate::manager::app_input::AppInput;
use crate::manager::protocol::Protocol;
use crate::manager::{ServerUrl, chosen_server};
use crate::store::DataDir;

/// The command that shares a protocol.
pub(crate) fn command(word: &str) -> Option<&'static Command> {
    COMMANDS.into_iter().find(|command| command.name == word)
}

/// Shares until a signal, or until the end time.
pub(crate) fn run(command: &'static Command, arguments: &[String]) -> Result<(), Failure> {
    command.run(arguments, |parsed| {
        share(command, parsed).map_err(progress::with_error_event)
    })
}

fn share(command: &Command, parsed: &Parsed) -> Result<(), Failure> {
    let (fields, input) = read(command, parsed)?;
    let mut request = Request {
        command,
        parsed,
        fields,
        input,
        progress: ProgressPrinter::new(parsed),
        server: server(command, parsed, false)?,
        relay_port: None,
    };
    logging::start_quietly(parsed.has(&VERBOSE));
    let watch = SignalWatch::start()?;
    let home = serve::data_dir()?;
    loop {
        let outcome = match Manager::find(&home)? {
            Some(manager) => request.through(manager, &home, &watch)?,
            None => request.alone(&home, &watch)?,
        };
        if outcome == ShareOutcome::Over {
            return Ok(());
        }
        request.continues();
        warn("'postern start' has ended; this command continues the share");
    }
}

/// Target of the share, and its server if one is given.
struct Request<'a> {
    command: &'a Command,
    parsed: &'a Parsed,
    fields: Fields,
    /// `fields`, checked.
    input: AppInput,
    progress: ProgressPrinter,
    server: Option<ServerUrl>,
    /// Port of the built-in relay of the 'postern start' that ran the share, and has ended.
    relay_port: Option<u16>,
}

impl Request<'_> {
    /// Shares through the running manager.
    fn through(
        &mut self,
        manager: Manager,
        home: &DataDir,
        watch: &SignalWatch,
    ) -> Result<ShareOutcome, Failure> {
        let (its_own, is_embedded) = manager.own_server()?;
        let server = self.server.as_ref().or(its_own.as_ref());
        self.guard(server)?;
        // Connections to this machine do not need these variables.
        if let Some(names) = server
            .filter(|server| !server.is_loopback())
            .and_then(|_| manager.missing_variables())
        {
            warn(&format!(
                "'postern start' (process {}) connects, with its own environment: it has no {names}",
                manager.pid
            ));
        }
        if let (Some(server), Some(token)) = (server, given_token(self.parsed)) {
            manager.enroll(server, token)?;
            say(&format!(
                "The running 'postern start' has saved the enrolment token of {server}; 'postern server remove \
                 {server}' deletes it.\n"
            ));
        }
        if let Some(server) = &self.server {
            let server = server.to_string();
            self.fields.insert("server".to_owned(), server.into());
        }
        let stopped = watch.running();
        let session = Session::begin(
            home,
            manager,
            self.fields.clone(),
            &self.input,
            &self.progress,
        )?;
        let outcome = session.run(&self.progress, &stopped, || Ok(()));
        // A successor uses the same server.
        if is_embedded {
            self.relay_port = its_own.as_ref().map(ServerUrl::port);
        } else {
            self.server = self.server.take().or(its_own);
        }
        outcome
    }

    /// Called when the manager has ended: the share is retried until its server is back, but not for a relay on this
    /// machine.
    fn continues(&mut self) {
        if self.server.is_some() {
            self.progress.is_continued = true;
            self.fields.insert("autoconnect".to_owned(), true.into());
        }
    }

    fn guard(&self, server: Option<&ServerUrl>) -> Result<(), Failure> {
        fields::guard_port(self.command, self.parsed, &self.fields, server)
    }

    /// Shares by a manager in this process.
    fn alone(&mut self, home: &DataDir, watch: &SignalWatch) -> Result<ShareOutcome, Failure> {
        let chosen = chosen_server(home, self.server.clone(), given_token(self.parsed));
        let chosen = chosen.map_err(|why| Failure::operation(format!("cannot share: {why}")))?;
        let server = chosen.as_ref().map(|chosen| &chosen.server);
        self.guard(server)?;
        let run_dir = serve::run_dir(Some(home), watch)?;
        let mut alone =
            InProcessManager::start(home, run_dir.path(), chosen, self.relay_port, &BuiltIns)?;
        let stopped = watch.running();
        // The manager has it as the server of all applications.
        self.fields.remove("server");
        let fields = self.fields.clone();
        let ended = alone.share(home, fields, &self.input, &self.progress, &stopped);
        serve::stop_in_time(move || alone.stop());
        ended
    }
}

/// Reads the target and the flags.
fn read(command: &Command, parsed: &Parsed) -> Result<(Fields, AppInput), Failure> {
    let named = Protocol::named(command.name).expect("each command is a protocol's");
    let mut fields = Fields::new();
    let mut protocol = named;
    if let Some(address) = parsed.operands().first() {
        let endpoint = fields::read_address(command, address)?;
        protocol = fields::agreed(command, named, endpoint.protocol)?;
        fields::set_address(&mut fields, endpoint);
    }
    fields.insert("protocol".to_owned(), protocol.name().into());
    fields::set_flags(&mut fields, command, parsed)?;
    name_by_target(&mut fields, protocol);
    let input = fields::checked(command, &fields)?;
    Ok((fields, input))
}
