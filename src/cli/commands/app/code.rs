//! `postern app code`, `app qr` and `app signout`: code and link for visitors, and their sign-out.

use std::time::{Duration, Instant};

use serde_json::json;

use super::listing::{called, selected};
use crate::api::App;
use crate::cli::args::app::NEW;
use crate::cli::args::command::{Parsed, QR};
use crate::cli::failure::{Failure, UNREACHABLE, print, print_json_line};
use crate::cli::link;
use crate::cli::manager_client::Manager;
use crate::cli::serve::data_dir;
use crate::http::Method;

/// Time for the server to apply a new code. Default 30 s: one call.
const RENEWAL_TIMEOUT: Duration = Duration::from_secs(30);
/// Status of a change that the server has not confirmed.
const NOT_IN_FORCE_YET: u64 = 202;
/// Pause between two checks for a new code.
const POLL: Duration = Duration::from_millis(100);

pub(super) fn code(parsed: &Parsed) -> Result<(), Failure> {
    each(parsed, |manager, app| {
        let shown = match parsed.has(&NEW) {
            true => &renewed(manager, app)?,
            false => app,
        };
        let link = link_of(shown);
        let Some(code) = code_of(link) else {
            // The new code was made all the same; the next link contains it.
            return match parsed.has(&NEW) && shown.invisible {
                true if !parsed.wants_json() => Ok(()),
                true => print_json_line(&json!({"id": app.id, "code": null, "auth_url": null})),
                false => Err(without_code(shown)),
            };
        };
        if parsed.wants_json() {
            return print_json_line(&json!({"id": app.id, "code": code, "auth_url": link}));
        }
        print(&format!("{code}\n{}\n", link.escape_default()))?;
        if parsed.has(&QR) {
            print(&link::qr(link)?)?;
        }
        Ok(())
    })
}

pub(super) fn qr(parsed: &Parsed) -> Result<(), Failure> {
    each(parsed, |manager, app| {
        let result = manager.status(&app.id)?;
        if result.site_url.is_empty() {
            return Err(not_connected(app));
        }
        let link = link::of(&result);
        let qr = link::qr(&link)?;
        match parsed.wants_json() {
            true => print_json_line(&json!({"id": app.id, "link": link, "qr": qr})),
            false => print(&format!("{qr}{link}\n")),
        }
    })
}

pub(super) fn sign_out(parsed: &Parsed) -> Result<(), Failure> {
    each(parsed, |manager, app| {
        let path = format!("/api/apps/{}/signout", app.id);
        let (status, shown) = manager.call_for_status(Method::Post, &path, None::<&()>)?;
        if status == NOT_IN_FORCE_YET {
            let message = format!(
                "the relay has not signed out the visitors of {} yet",
                called(app)
            );
            return Err(Failure::operation(message)
                .hint("postern repeats the request until the relay answers")
                .exit_status(UNREACHABLE)
                .answer(shown));
        }
        match parsed.wants_json() {
            true => print_json_line(&shown),
            false => Ok(()),
        }
    })
}

fn each(
    parsed: &Parsed,
    act: impl Fn(&Manager, &App) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let manager = Manager::running(&data_dir()?)?;
    let mut selected = selected(parsed, manager.apps()?)?.into_iter();
    selected.try_for_each(|app| act(&manager, &app))
}

/// Renews the code, and waits until it is active if the application is connected.
fn renewed(manager: &Manager, app: &App) -> Result<App, Failure> {
    let mut shown = manager.renew_code(&app.id)?;
    let link = link_of(app);
    let deadline = Instant::now() + RENEWAL_TIMEOUT;
    while !link.is_empty() && link_of(&shown) == link {
        if Instant::now() >= deadline {
            let name = called(app);
            let message = format!("the relay does not have the new code of {name} yet");
            return Err(Failure::operation(message)
                .hint(format!("check with 'postern app code {name}'"))
                .exit_status(UNREACHABLE));
        }
        std::thread::sleep(POLL);
        shown = manager.app(&app.id)?;
    }
    Ok(shown)
}

/// The link with the code; empty without one.
fn link_of(app: &App) -> &str {
    let connection = app.connection.as_ref();
    connection.map_or("", |connection| &connection.auth_url)
}

/// The code in a link.
fn code_of(link: &str) -> Option<&str> {
    let (_, rest) = link.split_once("code=")?;
    rest.split('&').next().filter(|code| !code.is_empty())
}

fn without_code(app: &App) -> Failure {
    let name = called(app);
    if !app.invisible {
        let message = format!("{name} needs no code: it is open to everybody");
        let hint = format!("run 'postern app edit {name} --invisible' to require a code");
        return Failure::operation(message).hint(hint);
    }
    if app.exposed().is_some() {
        let message = format!("{name} was connected before it had a code");
        let hint = format!("run 'postern app reconnect {name}'");
        return Failure::operation(message).hint(hint);
    }
    not_connected(app)
}

fn not_connected(app: &App) -> Failure {
    let name = called(app);
    Failure::operation(format!("{name} is not connected: it has no link yet"))
        .hint(format!("run 'postern app connect {name}'"))
}
