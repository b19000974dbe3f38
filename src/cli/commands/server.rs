//! `postern server list|add|remove|default|trust`: the relays that this user knows.
//!
//! If no `postern start` runs on the directory, its API answers in this process, on the sealed list.

use serde_json::json;

use super::app::trust::ask;
use super::sharing::line::given_token;
use crate::api::{Error, HostKey, Server, ServerUpdate};
use crate::cli::args::command::Parsed;
use crate::cli::args::operations::server::{
    ADD, DEFAULT, DEFAULT_FLAG, GROUP, LABEL, LIST, REMOVE, TRUST,
};
use crate::cli::columns::{Columns, print_list, shown};
use crate::cli::failure::{
    Failure, OVER_LIMIT, REFUSED, UNREACHABLE, print, print_json, printable, warn,
};
use crate::cli::manager_client::{Manager, is_same_server};
use crate::cli::serve::data_dir;
use crate::manager::ServerUrl;
use crate::manager::diagnosis::{
    ServerProblem, look_at_host_key, look_at_new_server, trust_host_key,
};
use crate::store::{CredentialStore, DataDir};
use crate::tunnel::client::HostKeyChange;

/// Operand in place of a URL for no default server.
const NONE: &str = "none";

/// Runs the subcommand that the first argument names.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    GROUP.run_subcommand(
        arguments,
        &[
            (&LIST, list),
            (&ADD, add),
            (&REMOVE, remove),
            (&DEFAULT, make_default),
            (&TRUST, trust),
        ],
    )
}

/// Completions for known servers: URLs, each with its label.
pub(crate) fn names() -> Vec<(String, String)> {
    let servers = open().and_then(|manager| Ok(manager.servers()?));
    let named = servers.unwrap_or_default().into_iter();
    named
        .map(|server| (server.url, server.label.unwrap_or_default()))
        .collect()
}

fn open() -> Result<Manager, Failure> {
    Manager::open(&data_dir()?)
}

fn list(parsed: &Parsed) -> Result<(), Failure> {
    let servers = open()?.servers()?;
    let rows: Vec<_> = servers.iter().map(row).collect();
    let columns = Columns::all(["DEFAULT", "URL", "STATUS", "APPS", "TOKEN", "LABEL"]);
    let hint = "No relays yet. 'postern server add URL' adds one.";
    print_list(parsed, &servers, columns, &rows, hint)?;
    if !parsed.wants_json() {
        let remarks = servers.iter().filter_map(remark);
        remarks.for_each(|text| warn(&text));
    }
    Ok(())
}

/// Returns an error that retrying does not fix, with its hint.
fn remark(server: &Server) -> Option<String> {
    let error = server.error.as_deref().unwrap_or_default();
    let [url, error, hint] = [&server.url, error, &server.hint].map(printable);
    (!hint.is_empty()).then(|| format!("{url}: {error}\n{hint}"))
}

fn row(server: &Server) -> [String; 6] {
    let mark = |holds: bool, word: &str| if holds { word } else { "-" }.to_owned();
    [
        mark(server.default, "default"),
        shown(&server.url),
        shown(&server.status),
        server.applications.len().to_string(),
        mark(server.has_enroll_token, "kept"),
        shown(server.label.as_deref().unwrap_or_default()),
    ]
}

fn add(parsed: &Parsed) -> Result<(), Failure> {
    let token = given_token(parsed);
    let (unreached, refusal) = look(parsed.operand(), token.as_deref())?;
    let update = ServerUpdate {
        url: parsed.operand().to_owned(),
        label: parsed.value(&LABEL).map(Some),
        enroll_token: token.map(Some),
        default: parsed.has(&DEFAULT_FLAG).then_some(true),
    };
    let server = open()?.put_server(&update).map_err(unsaved)?;
    let url = printable(&server.url);
    let after = match (server.default, &unreached) {
        (true, _) => "; 'postern start' uses it".to_owned(),
        (false, Some(_)) => String::new(),
        (false, None) => format!("; 'postern server default {url}' makes it the default"),
    };
    if !parsed.wants_json() {
        print(&format!("{url} is saved{after}\n"))?;
    }
    if let Some(why) = refusal.filter(|_| !server.has_enroll_token) {
        warn(&format!(
            "{url} would refuse this machine: {}\n\
             no enrolment token was given: ask its operator for one, then run 'postern server add {url} \
             --enroll-token TOKEN'",
            printable(&why)
        ));
    }
    match unreached {
        Some(failure) => Err(failure.answer(json!(server))),
        None if parsed.wants_json() => print_json(&server),
        None => Ok(()),
    }
}

/// Checks a new server. Returns the failure if it is not reached, and the reason if it would refuse this machine
/// without a token; fails if it refuses the token.
fn look(typed: &str, token: Option<&String>) -> Result<(Option<Failure>, Option<String>), Failure> {
    let url = ServerUrl::parse(typed, true).map_err(|why| ADD.usage(why))?;
    let credentials = CredentialStore::new(data_dir()?).load(url.origin())?;
    let given = token.map_or("", String::as_str);
    let (why, status) = match look_at_new_server(&url, Some((&credentials, given))) {
        Ok(()) => return Ok((None, None)),
        Err(ServerProblem::Refused(why)) if token.is_none() => return Ok((None, Some(why))),
        Err(ServerProblem::OverLimit(_)) if token.is_none() => return Ok((None, None)),
        Err(ServerProblem::Unreachable(none)) => {
            let message = format!("no relay answered at {url}: {}", printable(&none.error));
            let hint = none.advice.unwrap_or(
                "check the host and port of the URL, and that the relay runs; then run 'postern doctor'",
            );
            let status = if none.is_refusal {
                REFUSED
            } else {
                UNREACHABLE
            };
            let failure = Failure::operation(message).hint(hint).exit_status(status);
            return Ok((Some(failure), None));
        }
        Err(ServerProblem::Refused(why)) => (why, REFUSED),
        Err(ServerProblem::OverLimit(why)) => (why, OVER_LIMIT),
    };
    let message = format!("{url} refuses this machine: {}", printable(&why));
    Err(Failure::operation(message)
        .hint("nothing was saved; ask its operator for an enrolment token")
        .exit_status(status))
}

fn make_default(parsed: &Parsed) -> Result<(), Failure> {
    let (manager, typed) = (open()?, parsed.operand());
    let known = manager.servers()?;
    let mut kept = known.iter().filter(|server| server.known);
    let (server, place) = match typed {
        NONE => (
            kept.find(|server| server.default),
            "the built-in relay".to_owned(),
        ),
        _ => {
            let url = ServerUrl::parse(typed, true).map_err(|why| DEFAULT.usage(why))?;
            let there = kept.find(|server| is_same_server(&server.url, typed));
            (Some(there.ok_or_else(|| unknown(&url))?), url.to_string())
        }
    };
    if let Some(server) = server {
        let update = ServerUpdate {
            url: server.url.clone(),
            default: Some(typed != NONE),
            ..ServerUpdate::default()
        };
        manager.put_server(&update).map_err(unsaved)?;
    }
    let is_default = |server: &Server| server.default || server.named;
    if typed == NONE && manager.is_running() && !manager.servers()?.iter().any(is_default) {
        warn("the running 'postern start' has no built-in relay: restart it");
    }
    print(&format!(
        "'postern start' uses {place} unless --server is given\n\
         applications connected through another server of the list stay there; those on the built-in relay move at \
         their next connect\n"
    ))
}

fn unknown(url: &ServerUrl) -> Failure {
    Failure::operation(format!("{url} is not in the list"))
        .hint(format!("add it first: postern server add {url}"))
}

fn remove(parsed: &Parsed) -> Result<(), Failure> {
    let url = ServerUrl::parse(parsed.operand(), true).map_err(|why| REMOVE.usage(why))?;
    let removed = open()?.remove_server(&url.to_string());
    let removed = removed.map_err(unsaved)?;
    match parsed.wants_json() {
        true => print_json(&removed),
        false => print(&format!("{url} is removed\n")),
    }
}

/// Adds a hint if a server was not saved or removed.
fn unsaved(error: Error) -> Failure {
    let hint = match &error {
        Error::Refused { code: 404, .. } => Some("see 'postern server list'"),
        Error::Refused { code: 409, .. } => Some("move them to another server, or remove them"),
        Error::Refused { code: 429, .. } => Some("remove an unused one"),
        _ => None,
    };
    Failure::from(error).hint_if(hint)
}

/// Trusts a key, with or without a running manager: the known keys are only on disk.
fn trust(parsed: &Parsed) -> Result<(), Failure> {
    let home = data_dir()?;
    let url = ServerUrl::parse(parsed.operand(), true).map_err(|why| TRUST.usage(why))?;
    let change = changed_key(&home, &url)?;
    let shown = HostKey::from(change.clone());
    ask(&shown, parsed)?;
    if let Some(manager) = Manager::find(&home)? {
        // The manager refuses a key that it has not seen itself.
        let _ = manager.trust(&shown);
    }
    trust_host_key(&home, &change).map_err(Failure::operation)?;
    match parsed.wants_json() {
        true => print_json(&json!({"host_key": shown})),
        false => print("The new key is trusted.\n"),
    }
}

/// The key of its tunnel server, if it differs from the known one.
fn changed_key(home: &DataDir, url: &ServerUrl) -> Result<HostKeyChange, Failure> {
    let credentials = CredentialStore::new(home.clone()).look()?;
    let look = credentials
        .get(url.origin())
        .and_then(|credentials| look_at_host_key(home, url, credentials));
    let none = |why: String| {
        Failure::operation(why).hint("applications connected through it report a changed key")
    };
    match look {
        None => Err(none(format!("no host key of {url} is known yet"))),
        Some(Err(why)) => {
            let message = format!("{url} offers no host key: {}", printable(&why));
            Err(Failure::operation(message).exit_status(UNREACHABLE))
        }
        Some(Ok(change)) if change.known.is_empty() || change.known == change.offered => {
            Err(none(format!("the host key of {url} has not changed")))
        }
        Some(Ok(change)) => Ok(change),
    }
}
