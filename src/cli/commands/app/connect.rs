//! `postern app connect`, `app reconnect` and `app disconnect`.

use std::ops::RangeInclusive;

use serde_json::{Value, json};

use super::connecting::{Patience, wait_connected};
use super::listing::{called, extending, selected};
use crate::api::ConnectionState::{Disconnected, Idle};
use crate::api::{App, ConnectResult};
use crate::cli::args::app::{ALL, CONNECT, NO_WAIT, RECONNECT, TIMEOUT};
use crate::cli::args::command::{Command, Parsed, QR, SITE_NAME};
use crate::cli::args::table::QUIET;
use crate::cli::args::values::whole_seconds;
use crate::cli::failure::{Failure, print, print_json, print_json_line, printable, warn};
use crate::cli::link;
use crate::cli::manager_client::Manager;
use crate::cli::serve::{SignalWatch, data_dir};
use crate::manager::EXTEND;

/// Range of `--timeout`, in seconds: up to a day.
const SECONDS: RangeInclusive<u64> = 1..=86_400;

pub(super) fn connect(parsed: &Parsed) -> Result<(), Failure> {
    let patience = patience(&CONNECT, parsed)?;
    let manager = Manager::running(&data_dir()?)?;
    let selected = selected(parsed, manager.apps()?)?;
    connect_each(&manager, &selected, parsed, patience)
}

/// Disconnects open applications first, so that the saved settings apply.
pub(super) fn reconnect(parsed: &Parsed) -> Result<(), Failure> {
    let patience = patience(&RECONNECT, parsed)?;
    let manager = Manager::running(&data_dir()?)?;
    let mut apps = manager.apps()?;
    if parsed.has(&ALL) {
        // Applications that nobody connected stay closed.
        apps.retain(|app| !matches!(app.status(), Idle | Disconnected));
    }
    let selected = selected(parsed, apps)?;
    for app in &selected {
        manager.disconnect(&app.id)?;
    }
    connect_each(&manager, &selected, parsed, patience)
}

fn patience(command: &Command, parsed: &Parsed) -> Result<Patience, Failure> {
    let mut patience = Patience::default();
    let timeout = command.read(parsed, &TIMEOUT, |text| {
        whole_seconds(text, &SECONDS)
            .ok_or("give whole seconds from 1 to 86400, or a time such as 5m")
    })?;
    patience.timeout = timeout.unwrap_or(patience.timeout);
    patience.prints_progress &= !parsed.has(&QUIET);
    Ok(patience)
}

/// Connects applications at the same time and prints their results one after the other. Returns the last failure;
/// others are printed before it.
pub(super) fn connect_each(
    manager: &Manager,
    selected: &[App],
    parsed: &Parsed,
    patience: Patience,
) -> Result<(), Failure> {
    let interrupted = match parsed.has(&NO_WAIT) {
        true => None,
        false => Some(SignalWatch::start()?.running()),
    };
    let mut failures = Vec::new();
    let mut begun = Vec::new();
    for app in selected {
        let connecting = manager.connect(&app.id, parsed.has(&SITE_NAME));
        match connecting.map_err(Failure::from) {
            Ok(()) => begun.push(app),
            Err(failure) if failure.hints(EXTEND) => {
                failures.push((app, failure.hint(extending(called(app)))));
            }
            Err(failure) => failures.push((app, failure)),
        }
    }
    let names = selected.len() > 1;
    let failed = |app: &App, failure: Failure| {
        let shown = || manager.app(&app.id).ok().map(|app| shown(&app));
        let answer = parsed.wants_json().then(shown).flatten();
        let failure = answer.into_iter().fold(failure, Failure::answer);
        match names {
            true => failure.about(&app.name),
            false => failure,
        }
    };
    for app in begun {
        let result = match &interrupted {
            Some(interrupted) => {
                wait_connected(manager, &app.id, Some(called(app)), interrupted, patience)
            }
            None => manager.status(&app.id).map_err(Failure::from),
        };
        let printed =
            result.and_then(|result| print_connected(manager, app, result, parsed, names));
        if let Err(failure) = printed {
            if failure.is_interruption() {
                return Err(failed(app, failure));
            }
            failures.push((app, failure));
        }
    }
    let last = failures.pop();
    for (app, failure) in failures {
        let failure = failed(app, failure).in_json(parsed.wants_json());
        failure.report();
    }
    match last {
        Some((app, failure)) => Err(failed(app, failure)),
        None => Ok(()),
    }
}

/// An application as `app show` prints it, with further members from its connection.
fn shown(app: &App) -> Value {
    let mut shown = json!(app);
    let result = json!(app.connection.as_ref());
    if let (Some(members), Value::Object(result)) = (shown.as_object_mut(), result) {
        for (name, value) in result {
            members.entry(name).or_insert(value);
        }
    }
    shown
}

fn print_connected(
    manager: &Manager,
    app: &App,
    result: ConnectResult,
    parsed: &Parsed,
    names: bool,
) -> Result<(), Failure> {
    let (name, label) = (called(app), printable(&app.name));
    if result.pending_changes {
        warn(&format!(
            "saved changes are not active yet\nrun 'postern app reconnect {name}'"
        ));
    }
    let wanted = result.site_name_wanted.as_deref();
    let named = |after: &str| match names {
        true => format!("{label}{after}"),
        false => String::new(),
    };
    if let Some(line) = wanted.and_then(|wanted| link::renamed(wanted, &result.site_url)) {
        warn(&(named(": ") + line.trim_end()));
    }
    if let Some(health) = result.failing() {
        let error = printable(health.error.as_deref().unwrap_or_default());
        let hint = health.hint.as_ref();
        let hint = hint.map_or(String::new(), |hint| format!("\n{}", printable(hint)));
        warn(&format!("{}connected, but {error}{hint}", named(" is ")));
    }
    if parsed.wants_json() {
        let app = App {
            connection: Some(result),
            ..manager.app(&app.id)?
        };
        return match names {
            true => print_json_line(&shown(&app)),
            false => print_json(&shown(&app)),
        };
    }
    let prefix = named("\t");
    let lines: Vec<String> = [&result.site_url, &result.auth_url]
        .into_iter()
        .filter(|url| !url.is_empty())
        .map(|url| format!("{prefix}{}\n", url.escape_default()))
        .collect();
    print(&lines.concat())?;
    if parsed.has(&QR) {
        print(&link::qr(&link::of(&result))?)?;
    }
    Ok(())
}

pub(super) fn disconnect(parsed: &Parsed) -> Result<(), Failure> {
    let manager = Manager::running(&data_dir()?)?;
    for app in selected(parsed, manager.apps()?)? {
        let status = manager.disconnect(&app.id)?;
        if parsed.wants_json() {
            print_json_line(&json!({"id": app.id, "status": status}))?;
        }
    }
    Ok(())
}
