//! `postern http 3000` and the like: something is shared until Ctrl-C.
//!
//! The work is a manager's: the running `postern start` where there is one, which gets a [temporary
//! application](crate::store::Lease), else one in this process that knows of nothing else ([`alone`](super::sharing::alone)). Either is spoken to
//! by its API ([`session`](super::sharing::session)), and what happens is told a line at a time ([`teller`](super::sharing::teller)).

use serde_json::Value;

use super::sharing::alone::Alone;
use super::sharing::line::{given_token, name_by_target, server};
use super::sharing::session::Session;
use super::sharing::teller::Teller;
use crate::cli::args::command::{Command, Parsed};
use crate::cli::args::flags::{ALLOW, VISIBLE};
use crate::cli::args::share::COMMANDS;
use crate::cli::args::table::VERBOSE;
use crate::cli::failure::Failure;
use crate::cli::fields::{self, Fields};
use crate::cli::manager_client::{Manager, text};
use crate::cli::plugins::BuiltIns;
use crate::cli::signals::SignalWatch;
use crate::cli::{logging, serve};
use crate::manager::app_input::AppInput;
use crate::manager::protocol::Protocol;
use crate::manager::{ServerUrl, chosen_server};

/// The command of a protocol that is shared by one word.
pub(crate) fn command(word: &str) -> Option<&'static Command> {
    COMMANDS.into_iter().find(|command| command.name == word)
}

/// Shares until a signal, or until the time is over.
pub(crate) fn run(command: &'static Command, arguments: &[String]) -> Result<(), Failure> {
    command.run(arguments, |parsed| share(command, parsed))
}

fn share(command: &Command, parsed: &Parsed) -> Result<(), Failure> {
    let (mut fields, input) = read(command, parsed)?;
    let server = server(command, parsed)?;
    logging::start(parsed.has(&VERBOSE));
    let watch = SignalWatch::start()?;
    let home = serve::data_dir()?;
    let teller = Teller::new(parsed);
    let protocol = text_of(&fields, "protocol");
    let asks_for_a_code = Protocol::named(protocol).is_some_and(Protocol::is_visited_by_http);
    let guard = |is_loopback: bool| match is_loopback || asks_for_a_code {
        true => Ok(()),
        false => guarded(command, parsed),
    };
    if let Some(manager) = Manager::find(&home)? {
        guard(match &server {
            Some(server) => server.is_loopback(),
            None => is_local(&manager)?,
        })?;
        if let Some(server) = &server {
            fields.insert("server".to_owned(), server.to_string().into());
            if let Some(token) = given_token(parsed) {
                manager.enroll(&server.to_string(), &token)?;
            }
        }
        let stopped = watch.running();
        let session = Session::begin(&home, manager, fields, &input)?;
        return session.run(&teller, &stopped);
    }
    let token = given_token(parsed).map(Into::into);
    let chosen = chosen_server(&home, server, token);
    let chosen = chosen.map_err(|why| Failure::operation(format!("cannot share: {why}")))?;
    guard(
        chosen
            .as_ref()
            .is_none_or(|chosen| chosen.server.is_loopback()),
    )?;
    let run_dir = serve::run_dir(Some(&home), &watch)?;
    let alone = Alone::start(&home, run_dir.path(), chosen, &BuiltIns)?;
    let stopped = watch.running();
    // Named once already: it is the server of all.
    fields.remove("server");
    let ended = Session::begin(&home, alone.manager(), fields, &input)
        .and_then(|session| session.run(&teller, &stopped));
    serve::stop_in_time(move || alone.stop());
    ended
}

/// What the command line says is shared.
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

fn text_of<'a>(fields: &'a Fields, name: &str) -> &'a str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Whether only this machine is reached through the server that the manager uses.
fn is_local(manager: &Manager) -> Result<bool, Failure> {
    let version = manager.call("GET", "/api/version", None)?;
    let server = ServerUrl::parse(text(&version, "/server"), true);
    Ok(server.map_or(true, |server| server.is_loopback()))
}

/// Nobody asks visitors of such a port for a code.
fn guarded(command: &Command, parsed: &Parsed) -> Result<(), Failure> {
    if parsed.has(&ALLOW) || parsed.has(&VISIBLE) {
        return Ok(());
    }
    Err(command.usage("through that server anybody could connect, without a code").hint(
        "say with --allow CIDR from where visitors come, or with --visible that everybody may connect",
    ))
}
