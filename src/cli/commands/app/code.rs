//! `postern app code`, `app qr` and `app signout`: what lets visitors in, and how that ends.

use std::time::{Duration, Instant};

use serde_json::json;

use super::select::{Selected, selected};
use crate::api::App;
use crate::cli::args::app::NEW;
use crate::cli::args::command::Parsed;
use crate::cli::args::flags::QR;
use crate::cli::failure::{Failure, UNREACHABLE};
use crate::cli::link;
use crate::cli::manager_client::Manager;
use crate::cli::output::{print, print_json_line};
use crate::cli::serve::data_dir;
use crate::http::Method;

/// Time for the server to take a new code. Default 30 s: one call.
const RENEWAL_TIMEOUT: Duration = Duration::from_secs(30);
/// Status of a change that the server has not heard of.
const NOT_IN_FORCE_YET: u64 = 202;
/// Pause between two looks at that.
const POLL: Duration = Duration::from_millis(100);

pub(super) fn code(parsed: &Parsed) -> Result<(), Failure> {
    each(parsed, |manager, app| {
        let before = manager.app(&app.id)?;
        let shown = match parsed.has(&NEW) {
            true => renewed(manager, app, before)?,
            false => before,
        };
        let link = link_of(&shown);
        let Some(code) = code_of(link) else {
            // A new code is made all the same, and is in the next link.
            if parsed.has(&NEW) && shown.invisible {
                return match parsed.wants_json() {
                    true => print_json_line(&json!({"id": app.id, "code": null, "auth_url": null})),
                    false => Ok(()),
                };
            }
            return Err(without_code(app, &shown));
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
                app.name
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
    act: impl Fn(&Manager, &Selected) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let manager = Manager::running(&data_dir()?)?;
    let selected = selected(parsed, &manager.apps()?)?;
    selected.iter().try_for_each(|app| act(&manager, app))
}

/// The application with another code, once that is in force where it is connected.
fn renewed(manager: &Manager, app: &Selected, before: App) -> Result<App, Failure> {
    let mut shown = manager.renew_code(&app.id)?;
    let link = link_of(&before);
    let deadline = Instant::now() + RENEWAL_TIMEOUT;
    while !link.is_empty() && link_of(&shown) == link {
        if Instant::now() >= deadline {
            let message = format!("the relay does not have the new code of {} yet", app.name);
            return Err(Failure::operation(message)
                .hint(format!("check with 'postern app code {}'", app.name))
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

fn without_code(app: &Selected, shown: &App) -> Failure {
    if !shown.invisible {
        let message = format!("{} needs no code: it is open to everybody", app.name);
        let hint = format!(
            "run 'postern app edit {} --invisible' to require a code",
            app.name
        );
        return Failure::operation(message).hint(hint);
    }
    if shown.exposed().is_some() {
        let message = format!("{} was connected before it had a code", app.name);
        let hint = format!("run 'postern app reconnect {}'", app.name);
        return Failure::operation(message).hint(hint);
    }
    not_connected(app)
}

fn not_connected(app: &Selected) -> Failure {
    Failure::operation(format!("{} is not connected: it has no link yet", app.name))
        .hint(format!("run 'postern app connect {}'", app.name))
}
