//! `postern server list|add|remove|default`: the relays that this user knows.
//!
//! Where a `postern start` runs on the directory, it is asked; where none does, the sealed list is read and changed.

use serde_json::{Map, Value, json};
use zeroize::Zeroizing;

use super::app;
use super::app::trust::KeyChange;
use crate::cli::args::command::{Command, Parsed};
use crate::cli::args::operations::server::{
    ADD, DEFAULT, DEFAULT_FLAG, ENROLL_TOKEN, GROUP, LABEL, LIST, REMOVE, TRUST,
};
use crate::cli::args::table::JSON;
use crate::cli::args::values::{TOKEN_VARIABLE, environment};
use crate::cli::columns::print_table;
use crate::cli::failure::{Failure, OVER_LIMIT, REFUSED, UNREACHABLE, printable, quoted, warn};
use crate::cli::manager_client::{Manager, text};
use crate::cli::output::print;
use crate::cli::serve::data_dir;
use crate::manager::ServerUrl;
use crate::manager::app_store::AppStore;
use crate::manager::diagnosis::{
    ServerProblem, look_at_host_key, look_at_new_server, trust_host_key,
};
use crate::manager::server_store::{self, KnownServer, ServerChange, ServerStore};
use crate::net::percent::encode;
use crate::store::{CredentialStore, DataDir};
use crate::tunnel::client::HostKeyChange;

/// Stands for a server where there is to be no default.
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

/// The known servers' URLs, for a shell to complete, and their labels.
pub(crate) fn names() -> Vec<(String, String)> {
    let servers = data_dir()
        .and_then(|home| servers(&home))
        .unwrap_or_default();
    let named = servers
        .iter()
        .map(|server| (text(server, "/url"), text(server, "/label")));
    named
        .map(|(url, label)| (url.to_owned(), label.to_owned()))
        .collect()
}

fn list(parsed: &Parsed) -> Result<(), Failure> {
    let servers = servers(&data_dir()?)?;
    if parsed.has(&JSON) {
        return print(&format!("{:#}\n", Value::from(servers)));
    }
    let rows: Vec<[String; 6]> = servers.iter().map(row).collect();
    print_table(
        ["DEFAULT", "URL", "STATUS", "APPS", "TOKEN", "LABEL"],
        &rows,
        "No relays yet. 'postern server add URL' adds one.",
    )?;
    servers
        .iter()
        .filter_map(remark)
        .for_each(|text| warn(&text));
    Ok(())
}

/// Returns an error that retrying does not fix, with its hint.
fn remark(server: &Value) -> Option<String> {
    let hint = Some(text(server, "/hint")).filter(|hint| !hint.is_empty())?;
    let [url, error, hint] = [text(server, "/url"), text(server, "/error"), hint].map(printable);
    Some(format!("{url}: {error}\n{hint}"))
}

/// Every server as the API shows it; without a manager nothing is said of their state.
pub(crate) fn servers(home: &DataDir) -> Result<Vec<Value>, Failure> {
    if let Some(manager) = Manager::find(home)? {
        let answer = manager.call("GET", "/api/servers", None)?;
        return Ok(answer.as_array().cloned().unwrap_or_default());
    }
    let list = ServerStore::new(home.clone()).read()?;
    let apps = AppStore::new(home.clone()).list().unwrap_or_default();
    let shown = list.all().map(|(origin, server)| {
        let users = apps.iter().filter(|app| server_store::uses(app, origin));
        let users: Vec<&String> = users.map(|app| &app.name).collect();
        shown(server, list.is_default(origin), &json!(users))
    });
    Ok(shown.collect())
}

fn shown(server: &KnownServer, is_default: bool, applications: &Value) -> Value {
    json!({"url": server.url, "label": server.label, "default": is_default,
        "has_enroll_token": server.enroll_token.is_some(), "applications": applications})
}

fn row(server: &Value) -> [String; 6] {
    let is = |name: &str| server.get(name).and_then(Value::as_bool) == Some(true);
    let mark = |holds: bool, word: &str| if holds { word } else { "-" }.to_owned();
    let shown = |pointer: &str| match text(server, pointer) {
        "" => "-".to_owned(),
        text => printable(text),
    };
    let applications = server.get("applications").and_then(Value::as_array);
    let count = applications.map_or(0, Vec::len);
    [
        mark(is("default"), "default"),
        shown("/url"),
        shown("/status"),
        count.to_string(),
        mark(is("has_enroll_token"), "kept"),
        shown("/label"),
    ]
}

fn add(parsed: &Parsed) -> Result<(), Failure> {
    let token = parsed
        .value(&ENROLL_TOKEN)
        .or_else(|| environment(TOKEN_VARIABLE));
    let token = token.map(Zeroizing::new);
    let unreached = look(parsed.operand(), token.as_deref())?;
    let change = Change {
        label: parsed.value(&LABEL),
        token,
        is_default: parsed.has(&DEFAULT_FLAG).then_some(true),
    };
    let server = change_server(&ADD, parsed.operand(), change)?;
    let url = printable(text(&server, "/url"));
    let is_default = server.get("default").and_then(Value::as_bool) == Some(true);
    print(&match (parsed.has(&JSON), is_default, &unreached) {
        (true, ..) => format!("{server:#}\n"),
        (_, true, _) => format!("{url} is saved; 'postern start' uses it\n"),
        (_, _, Some(_)) => format!("{url} is saved\n"),
        _ => {
            format!("{url} is saved; 'postern server default {url}' makes it the default\n")
        }
    })?;
    match unreached {
        Some(failure) => Err(failure),
        None => Ok(()),
    }
}

/// Why a new server is not reached, where it is not; fails where it would not let this machine in.
fn look(typed: &str, token: Option<&String>) -> Result<Option<Failure>, Failure> {
    let url = ServerUrl::parse(typed, true).map_err(|why| ADD.usage(why))?;
    let credentials = match token {
        Some(_) => Some(CredentialStore::new(data_dir()?).load(url.origin())?),
        None => None,
    };
    let enrolling = credentials.as_ref().zip(token.map(String::as_str));
    let (why, status) = match look_at_new_server(&url, enrolling) {
        Ok(()) => return Ok(None),
        Err(ServerProblem::Unreachable {
            why,
            advice,
            is_refusal,
        }) => {
            let message = format!("no relay answered at {url}: {}", printable(&why));
            let hint = advice.unwrap_or(
                "check the host and port of the URL, and that the relay runs; then run 'postern doctor'",
            );
            let status = if is_refusal { REFUSED } else { UNREACHABLE };
            let failure = Failure::operation(message).hint(hint).exit_status(status);
            return Ok(Some(failure));
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
    let (home, typed) = (data_dir()?, parsed.operand());
    let known = servers(&home)?;
    // Without a manager all of them are kept ones.
    let mut kept = known.iter().filter(|server| !says(server, "known", false));
    let (server, place) = match typed {
        NONE => (
            kept.find(|server| says(server, "default", true)),
            "the built-in relay".to_owned(),
        ),
        _ => {
            let url = ServerUrl::parse(typed, true).map_err(|why| DEFAULT.usage(why))?;
            let there = kept.find(|server| {
                let known = ServerUrl::parse(text(server, "/url"), true);
                known.is_ok_and(|known| known.origin() == url.origin())
            });
            (Some(there.ok_or_else(|| unknown(&url))?), url.to_string())
        }
    };
    if let Some(server) = server {
        let change = Change {
            is_default: Some(typed != NONE),
            ..Change::default()
        };
        change_server(&DEFAULT, text(server, "/url"), change)?;
    }
    if typed == NONE && Manager::find(&home)?.is_some() && !has_default(&servers(&home)?) {
        warn("the running 'postern start' has no built-in relay: restart it");
    }
    print(&format!(
        "'postern start' uses {place} unless --server is given\n\
         applications connected through another server of the list stay there; those on the built-in relay move at \
         their next connect\n"
    ))
}

fn says(server: &Value, name: &str, what: bool) -> bool {
    server.get(name) == Some(&Value::Bool(what))
}

/// True if a running manager has a default server: given, from the list, or built in.
fn has_default(servers: &[Value]) -> bool {
    let is = |server| says(server, "default", true) || says(server, "named", true);
    servers.iter().any(is)
}

fn unknown(url: &ServerUrl) -> Failure {
    Failure::operation(format!("{url} is not in the list"))
        .hint(format!("add it first: postern server add {url}"))
}

/// Changes of a saved server; none keeps a value.
#[derive(Default)]
struct Change {
    label: Option<String>,
    token: Option<Zeroizing<String>>,
    is_default: Option<bool>,
}

/// Makes the change, and answers the server.
fn change_server(command: &Command, typed: &str, change: Change) -> Result<Value, Failure> {
    let home = data_dir()?;
    // The start decides whether it may be reached without TLS.
    let url = ServerUrl::parse(typed, true).map_err(|why| command.usage(why))?;
    let is_default = change.is_default;
    if let Some(manager) = Manager::find(&home)? {
        let mut body = Map::new();
        body.insert("url".to_owned(), url.to_string().into());
        let texts = [
            ("label", change.label),
            ("enroll_token", change.token.map(|token| token.to_string())),
        ];
        let given = texts
            .into_iter()
            .filter_map(|(name, text)| Some((name.to_owned(), text?.into())));
        body.extend(given);
        body.extend(is_default.map(|value| ("default".to_owned(), value.into())));
        return manager.call("POST", "/api/servers", Some(&Value::Object(body)));
    }
    let change = ServerChange {
        label: change.label.map(Some),
        enroll_token: change.token.map(Some),
        default: is_default,
    };
    let store = ServerStore::new(home);
    let (server, _) = store.put(&url, change).map_err(of_store)?;
    let is_default = store.read()?.is_default(url.origin());
    Ok(shown(&server, is_default, &json!([])))
}

fn remove(parsed: &Parsed) -> Result<(), Failure> {
    let home = data_dir()?;
    let typed = parsed.operand();
    let url = ServerUrl::parse(typed, true).map_err(|why| REMOVE.usage(why))?;
    match Manager::find(&home)? {
        Some(manager) => {
            let path = format!("/api/servers?url={}", encode(&url.to_string()));
            manager.call("DELETE", &path, None)?;
        }
        None => {
            let apps = AppStore::new(home.clone()).list();
            let apps = apps.map_err(app::of_store)?;
            let store = ServerStore::new(home);
            if !store.remove(url.origin(), &apps).map_err(of_store)? {
                let message = format!("{} is not in the list", quoted(typed));
                return Err(Failure::operation(message).hint("see 'postern server list'"));
            }
        }
    }
    print(&format!("{url} is removed\n"))
}

/// Trusts a key, with or without a running start: the list of known keys is on disk only.
fn trust(parsed: &Parsed) -> Result<(), Failure> {
    let home = data_dir()?;
    let url = ServerUrl::parse(parsed.operand(), true).map_err(|why| TRUST.usage(why))?;
    let change = changed_key(&home, &url)?;
    let shown = KeyChange::found(&change);
    shown.ask(parsed)?;
    if let Some(manager) = Manager::find(&home)? {
        // It refuses what it has not seen itself.
        let _ = shown.trust(&manager);
    }
    trust_host_key(&home, &change).map_err(Failure::operation)?;
    print("The new key is trusted.\n")
}

/// The key that its tunnel server shows, where that is not the known one.
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

fn of_store(error: server_store::Error) -> Failure {
    let failure = Failure::operation(error.to_string()).hint_if(error.hint());
    match error {
        server_store::Error::Full => failure.exit_status(OVER_LIMIT),
        _ => failure,
    }
}
