//! `postern status`: the manager's state, its servers, and the active settings of each application.

use std::time::SystemTime;

use serde_json::{Value, json};

use super::app;
use crate::api::{App, ConnectionState, Server};
use crate::cli::args::command::Parsed;
use crate::cli::args::table::WIDE;
use crate::cli::clock::Zone;
use crate::cli::columns::{Columns, print_table};
use crate::cli::failure::{Failure, print, print_json, printable, quoted};
use crate::cli::manager_client::{Manager, not_running};
use crate::cli::serve::data_dir;
use crate::store::time::{in_words, parse_rfc3339};

/// Prints the status; fails if no manager runs.
pub(crate) fn show(parsed: &Parsed) -> Result<(), Failure> {
    let home = data_dir()?;
    let manager = Manager::open(&home)?;
    let apps = manager.apps()?;
    let servers = match manager.is_running() {
        true => manager.servers()?,
        false => Vec::new(),
    };
    let shown = json!({
        "running": manager.is_running(),
        "url": manager.url(),
        "pid": manager.is_running().then_some(manager.pid),
        "servers": servers,
        "applications": apps.iter().map(without_codes).collect::<Vec<_>>(),
    });
    if !parsed.wants_json() {
        print_status(&manager, &servers, &apps, parsed.has(&WIDE))?;
    }
    if !manager.is_running() {
        let hint = "run 'postern start', or 'postern service install' to run it always";
        return Err(not_running(&home).hint(hint).answer(shown));
    }
    match parsed.wants_json() {
        true => print_json(&shown),
        false => Ok(()),
    }
}

fn print_status(
    manager: &Manager,
    servers: &[Server],
    apps: &[App],
    is_wide: bool,
) -> Result<(), Failure> {
    if let Some(url) = manager.url() {
        let pid = manager.pid;
        print(&format!("Manager: {url} (process {pid})\n"))?;
        print(&servers.iter().map(server_line).collect::<String>())?;
    }
    let rows: Vec<[String; 5]> = apps.iter().map(row).collect();
    let columns = Columns {
        heading: ["NAME", "STATUS", "SHARED", "UNTIL", "AT"],
        first: &["NAME", "STATUS", "AT", "UNTIL", "SHARED"],
    };
    print_table(columns, &rows, app::NO_APPS, is_wide)?;
    print(&apps.iter().filter_map(remark).collect::<String>())
}

/// `Relay: https://relay.example (home): connected`, or the error and a hint.
fn server_line(server: &Server) -> String {
    let label = server.label.as_deref();
    let label = label.map_or(String::new(), |label| format!(" ({})", printable(label)));
    let error = server.error.as_deref();
    let error = error.map_or(String::new(), |error| format!(": {}", printable(error)));
    let hint = match &*server.hint {
        "" => String::new(),
        hint => format!("        {}\n", printable(hint)),
    };
    let main = server.main_tunnel.as_ref();
    let way = match main.and_then(|main| main.tunnel_way.as_deref()) {
        Some("url") => " through the web port",
        _ => "",
    };
    format!(
        "Relay: {}{label}: {}{way}{error}\n{hint}",
        printable(&server.url),
        printable(&server.status)
    )
}

/// Name, state, access, end time and address.
fn row(app: &App) -> [String; 5] {
    let [_, status, _, _, access, _, site, name] = app::row(app);
    [name, status, access, until(app), site]
}

/// Active end time, else the saved one.
fn until(app: &App) -> String {
    if app::is_expired(app) {
        return "expired".to_owned();
    }
    let expires = app.exposed_or_saved().expires;
    let Some(end) = expires.as_deref().and_then(parse_rfc3339) else {
        return "-".to_owned();
    };
    let now = SystemTime::now();
    match end.duration_since(now) {
        Ok(left) => format!(
            "{} ({} left)",
            Zone::local().shown(end, now),
            in_words(left)
        ),
        Err(_) => "expired".to_owned(),
    }
}

/// Describes a problem of an application, on its own line.
fn remark(app: &App) -> Option<String> {
    let connection = app.connection.as_ref()?;
    let name = printable(&app.name);
    let error = match (connection.failing(), &connection.site_name_wanted) {
        (Some(health), _) => printable(health.error.as_deref().unwrap_or_default()),
        _ if app.status() == ConnectionState::Failed => printable(&connection.error),
        (None, Some(wanted)) => format!(
            "the site name {} is taken, so it uses another one",
            quoted(wanted)
        ),
        (None, None) => return None,
    };
    Some(format!("{name}: {error}\n"))
}

/// Application as in the API, without links that contain codes: this output is pasted into reports.
fn without_codes(app: &App) -> Value {
    let mut shown = json!(app);
    let connection = shown.get_mut("connection").and_then(Value::as_object_mut);
    if let Some(connection) = connection {
        connection.remove("auth_url");
        connection.remove("local_url");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::ConnectResult;
    use crate::manager::app_input::AppInput;

    #[test]
    fn what_is_in_force_counts_and_codes_are_left_out() {
        let input = AppInput::parse(&json!({"protocol": "http"}), true).unwrap();
        let mut app = input.into_new().shown();
        let mut exposed = app.saved();
        exposed.expires = Some("2001-01-01T00:00:00Z".to_owned());
        app.connection = Some(ConnectResult {
            auth_url: "http://x/auth?code=secret".to_owned(),
            local_url: "http://y/auth?code=secret".to_owned(),
            exposed: Some(exposed),
            ..ConnectResult::default()
        });
        assert_eq!(until(&app), "expired");
        let shown = without_codes(&app).to_string();
        assert!(
            shown.contains("exposed") && !shown.contains("secret"),
            "{shown}"
        );
    }
}
