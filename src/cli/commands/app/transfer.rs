//! `postern app export` and `app import`: applications as JSON, to keep or to take to another machine.
//!
//! ```json
//! {"format": "postern applications", "version": 1, "applications": [{"name": "shop", "protocol": "http", …}],
//!  "sealed": {…}}
//! ```
//!
//! `sealed` is there with secrets alone: a list as long as the other, of objects with the fields that are secret,
//! sealed as [`sealing`] has it.

use std::collections::HashMap;
use std::io::{IsTerminal, Read};

use serde_json::{Map, Value, json};
use zeroize::Zeroizing;

use super::super::mysql::prompt::{asked, new_secret};
use super::sealing;
use super::select::{called, named, selected, unsaved};
use super::warning;
use crate::api::{App, Server};
use crate::cli::args::app::{EXPORT, IMPORT, KEEP_AUTOCONNECT, WITH_SECRETS};
use crate::cli::args::command::Parsed;
use crate::cli::args::values::PASSWORD_VARIABLE;
use crate::cli::failure::{Failure, printable, quoted, warn};
use crate::cli::fields::{self, Fields};
use crate::cli::manager_client::{Manager, is_same_server};
use crate::cli::output::{print, print_json_line};
use crate::cli::serve::data_dir;
use crate::manager::app::AppConfig;
use crate::manager::app_store::{AppStore, Error};
use crate::manager::apps::field::Kind;
use crate::manager::apps::fields::{field, is_own};
use crate::manager::site_wish;

/// Format name in such a file.
const FORMAT: &str = "postern applications";
/// Its version: a newer one is refused.
const VERSION: u64 = 1;
/// Bytes of a file. Default 4 MiB: as many as the stored list has.
const FILE_CAP: u64 = crate::limits::APP_FILE;

pub(super) fn export(parsed: &Parsed) -> Result<(), Failure> {
    let unread = |error| match error {
        Error::Store(error) => Failure::from(error),
        other => Failure::operation(other.to_string()),
    };
    let home = data_dir()?;
    let mut apps = AppStore::new(home.clone()).list().map_err(unread)?;
    if !parsed.operands().is_empty() {
        let wanted = selected(parsed, Manager::open(&home)?.apps()?)?;
        if let Some(share) = wanted.iter().find(|app| app.temporary) {
            let message = "belongs to a running command: it is not saved, so it is not exported";
            let failure = Failure::operation(format!("{} {message}", quoted(&share.name)));
            return Err(failure.hint("'postern app add' saves an application"));
        }
        apps.retain(|app| wanted.iter().any(|one| one.id == app.id));
    }
    let fields: Vec<Value> = apps.iter().map(without_secrets).collect();
    let mut document = json!({"format": FORMAT, "version": VERSION, "applications": fields});
    if parsed.has(&WITH_SECRETS) {
        if !std::io::stderr().is_terminal() {
            return Err(EXPORT.usage("--with-secrets needs a terminal to ask for the passphrase"));
        }
        let passphrase = new_secret("Passphrase for the secrets: ")?;
        let secrets = apps.iter().map(|app| app.secrets().into_iter().collect());
        let secrets: Vec<HashMap<_, _>> = secrets.collect();
        let content = Zeroizing::new(json!(secrets).to_string().into_bytes());
        if let Some(document) = document.as_object_mut() {
            document.insert("sealed".to_owned(), sealing::seal(&passphrase, content));
        }
    }
    print(&format!("{document:#}\n"))
}

fn without_secrets(app: &AppConfig) -> Value {
    let mut shown = app.to_json();
    if let Some(fields) = shown.as_object_mut() {
        let server = app.server.as_ref().or(app.used_server.as_ref());
        fields.insert("server".to_owned(), json!(server));
        // The words of a site without a name of its own are chosen anew elsewhere.
        fields.insert("site_name".to_owned(), json!(site_wish(app)));
        fields.retain(|name, value| {
            let is_nothing = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
            !is_nothing && !is_own(name)
        });
    }
    shown
}

pub(super) fn import(parsed: &Parsed) -> Result<(), Failure> {
    let document = read(parsed.operand())?;
    let apps = document.get("applications").and_then(Value::as_array);
    let apps = apps.ok_or_else(|| no_such_file("it has no applications"))?;
    let secrets = secrets(&document, apps.len())?;
    let manager = Manager::open(&data_dir()?)?;
    let (servers, default) = (manager.servers()?, manager.version()?.server);
    let default = default.unwrap_or_else(|| "the relay on this machine".to_owned());
    let keeps = parsed.has(&KEEP_AUTOCONNECT);
    let mut wrong = 0;
    for (number, app) in apps.iter().enumerate() {
        let name = app
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or("(unnamed)");
        match added(&manager, app, secrets.get(number), keeps) {
            Ok(Some(added)) => {
                if parsed.wants_json() {
                    print_json_line(&added)?;
                } else {
                    print(&format!("{}\t{}\n", added.id, printable(name)))?;
                }
                let would = would_do(&added, is_armed(app) && !keeps, &servers, &default);
                warn(&format!("{}: {would}", quoted(name)));
                let warning = warning::of_imported(&added);
                for what in lacking(&added).into_iter().chain(warning) {
                    warn(&format!("{}: {what}", quoted(name)));
                }
            }
            Ok(None) => warn(&format!("{} already exists: skipped", quoted(name))),
            Err(why) => {
                wrong += 1;
                warn(&format!("{}: skipped: {why}", quoted(name)));
            }
        }
    }
    match wrong {
        0 => Ok(()),
        _ => Err(Failure::operation(format!(
            "{wrong} of {} applications were skipped",
            apps.len()
        ))),
    }
}

/// True if it connects by itself.
fn is_armed(app: &Value) -> bool {
    app.get("autoconnect").and_then(Value::as_bool) == Some(true)
}

/// Describes autoconnect and server of an added application; `was_armed` if the file has autoconnect. `default` is the
/// server of those that name none.
fn would_do(added: &App, was_armed: bool, servers: &[Server], default: &str) -> String {
    let by_itself = match (added.autoconnect, was_armed) {
        (true, _) => "yes",
        (false, true) => "no (yes in the file; --keep-autoconnect keeps that)",
        (false, false) => "no",
    };
    let is_known = |url| {
        let mut known = servers.iter().filter(|server| server.known);
        known.any(|server| is_same_server(&server.url, url))
    };
    let (server, unknown) = match added.server.as_deref() {
        None => (default, ""),
        Some(url) if is_known(url) => (url, ""),
        Some(url) => (url, ", not in your list of relays"),
    };
    format!(
        "autoconnect: {by_itself}; server: {}{unknown}",
        printable(server)
    )
}

/// Lists what an added application lacks.
fn lacking(added: &App) -> Vec<String> {
    let password = (added.protocol.is_database() && !added.has_db_pass).then(|| {
        let name = called(added);
        format!("has no password: run 'postern app edit {name}' with {PASSWORD_VARIABLE} set")
    });
    let code = added
        .invisible
        .then(|| "it has a new code: old links no longer work".to_owned());
    password.into_iter().chain(code).collect()
}

/// The application that was added; none where there is one of that name. It connects by itself where the file says so
/// and that is kept.
fn added(
    manager: &Manager,
    app: &Value,
    secrets: Option<&Value>,
    keeps_autoconnect: bool,
) -> Result<Option<App>, String> {
    let mut fields: Fields = app.as_object().cloned().ok_or("not an application")?;
    if is_armed(app) && !keeps_autoconnect {
        fields.insert("autoconnect".to_owned(), Value::Bool(false));
    }
    if let Some(name) = fields.get("name").and_then(Value::as_str) {
        let apps = manager.apps().unwrap_or_default();
        if !matches!(named(&apps, name), Ok(None)) {
            return Ok(None);
        }
    }
    let secrets = secrets.and_then(Value::as_object).into_iter().flatten();
    let is_secret = |name| field(name).is_some_and(|field| field.kind == Kind::Secret);
    let known = secrets.filter(|(name, value)| is_secret(name) && value.is_string());
    fields.extend(known.map(|(name, value)| (name.clone(), value.clone())));
    fields::checked(&IMPORT, &fields).map_err(|failure| failure.message())?;
    let added = manager.add(&fields).map_err(unsaved);
    added.map(Some).map_err(|failure| failure.message())
}

fn read(file: &str) -> Result<Value, Failure> {
    let mut bytes = Vec::new();
    let mut read = |from: &mut dyn Read| from.take(FILE_CAP + 1).read_to_end(&mut bytes);
    let read = match file {
        "-" => read(&mut std::io::stdin()),
        path => std::fs::File::open(path).and_then(|mut file| read(&mut file)),
    };
    read.map_err(|error| Failure::operation(format!("cannot read {}: {error}", quoted(file))))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > FILE_CAP) {
        return Err(no_such_file("it is larger than 4 MiB"));
    }
    let document: Map<String, Value> = serde_json::from_slice(&bytes)
        .map_err(|error| no_such_file(&format!("it is not a JSON object: {error}")))?;
    if document.get("format").and_then(Value::as_str) != Some(FORMAT) {
        return Err(no_such_file("its format is different"));
    }
    match document.get("version").and_then(Value::as_u64) {
        Some(VERSION) => Ok(Value::Object(document)),
        Some(version) if version > VERSION => Err(Failure::operation(format!(
            "the file has version {version}, this postern reads version {VERSION}"
        ))
        .hint("use a newer postern")),
        _ => Err(no_such_file("it has no version")),
    }
}

fn no_such_file(why: &str) -> Failure {
    Failure::operation(format!("not a file from 'postern app export': {why}"))
}

/// Returns the sealed secrets of the file, one per application.
fn secrets(document: &Value, count: usize) -> Result<Vec<Value>, Failure> {
    let Some(sealed) = document.get("sealed") else {
        return Ok(Vec::new());
    };
    if !std::io::stderr().is_terminal() {
        warn("passwords in the file are skipped: no terminal to ask for the passphrase");
        return Ok(Vec::new());
    }
    let passphrase = asked("Passphrase of the file: ")?;
    let content = sealing::open(&passphrase, sealed).map_err(Failure::operation)?;
    let secrets: Vec<Value> = serde_json::from_slice(&content).unwrap_or_default();
    if secrets.len() == count {
        return Ok(secrets);
    }
    Err(no_such_file(
        "its numbers of secrets and applications differ",
    ))
}
