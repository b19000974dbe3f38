//! `postern status`: whether the manager runs, its servers, and what is in force of each application.

use std::time::SystemTime;

use serde_json::{Value, json};

use super::app;
use crate::cli::args::command::Parsed;
use crate::cli::args::operations::STATUS;
use crate::cli::args::table::{JSON, WIDE};
use crate::cli::clock::Zone;
use crate::cli::columns::print_fitting;
use crate::cli::failure::{Failure, printable, quoted};
use crate::cli::manager_client::{Manager, text};
use crate::cli::output::print;
use crate::cli::serve::data_dir;
use crate::store::time::{in_words, parse_rfc3339};

/// Members of a connection that hold codes: what is shown here is pasted into reports.
const SECRETS: [&str; 2] = ["auth_url", "local_url"];

/// Shows it; fails where no manager runs.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    STATUS.run(arguments, show)
}

fn show(parsed: &Parsed) -> Result<(), Failure> {
    let home = data_dir()?;
    let manager = Manager::find(&home)?;
    let mut apps = app::apps(&home, manager.as_ref())?;
    apps.iter_mut().for_each(without_codes);
    let servers = match &manager {
        Some(manager) => list(&manager.call("GET", "/api/servers", None)?),
        None => Vec::new(),
    };
    if parsed.has(&JSON) {
        let shown = json!({
            "running": manager.is_some(),
            "url": manager.as_ref().map(Manager::url),
            "pid": manager.as_ref().map(|manager| manager.pid),
            "servers": servers,
            "applications": apps,
        });
        print(&format!("{shown:#}\n"))?;
    } else {
        tell(manager.as_ref(), &servers, &apps, parsed.has(&WIDE))?;
    }
    match manager {
        Some(_) => Ok(()),
        None => Err(Failure::operation(format!(
            "'postern start' is not running on {}",
            home.dir().display()
        ))
        .hint("run 'postern start', or 'postern service install' to run it always")),
    }
}

fn tell(
    manager: Option<&Manager>,
    servers: &[Value],
    apps: &[Value],
    is_wide: bool,
) -> Result<(), Failure> {
    if let Some(manager) = manager {
        let (url, pid) = (manager.url(), manager.pid);
        print(&format!("Manager: {url} (process {pid})\n"))?;
        print(&servers.iter().map(server_line).collect::<String>())?;
    }
    let rows: Vec<[String; 5]> = apps.iter().map(row).collect();
    print_fitting(
        ["NAME", "STATUS", "SHARED", "UNTIL", "AT"],
        &["NAME", "STATUS", "AT", "UNTIL", "SHARED"],
        &rows,
        (app::NO_APPS, is_wide),
    )?;
    print(&apps.iter().filter_map(remark).collect::<String>())
}

/// `Server: https://relay.example (home): connected`; why where it is not, and what to do.
fn server_line(server: &Value) -> String {
    let label = match text(server, "/label") {
        "" => String::new(),
        label => format!(" ({})", printable(label)),
    };
    let error = match text(server, "/error") {
        "" => String::new(),
        error => format!(": {}", printable(error)),
    };
    let hint = match text(server, "/hint") {
        "" => String::new(),
        hint => format!("        {}\n", printable(hint)),
    };
    let (url, status) = (text(server, "/url"), text(server, "/status"));
    let way = match text(server, "/main_tunnel/tunnel_way") {
        "url" => " through the web port",
        _ => "",
    };
    format!(
        "Relay: {}{label}: {}{way}{error}\n{hint}",
        printable(url),
        printable(status)
    )
}

/// Name, state, to whom, until when, and where.
fn row(app: &Value) -> [String; 5] {
    let [_, status, _, _, access, _, site, name] = app::row(app);
    [name, status, access, until(app), site]
}

/// When what is in force ends; of what is not connected, when it would.
fn until(app: &Value) -> String {
    if app::is_expired(app) {
        return "expired".to_owned();
    }
    let exposed = app
        .pointer("/connection/exposed")
        .filter(|exposed| exposed.is_object());
    let expires = text(exposed.unwrap_or(app), "/expires");
    let Some(end) = parse_rfc3339(expires) else {
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
fn remark(app: &Value) -> Option<String> {
    let name = printable(text(app, "/name"));
    let error = match text(app, "/connection/health/state") {
        "failing" => printable(text(app, "/connection/health/error")),
        _ if text(app, "/conn_status") == "failed" => printable(text(app, "/connection/error")),
        _ => match text(app, "/connection/site_name_wanted") {
            "" => return None,
            wanted => format!(
                "the site name {} is taken, so it uses another one",
                quoted(wanted)
            ),
        },
    };
    Some(format!("{name}: {error}\n"))
}

fn without_codes(app: &mut Value) {
    let connection = app.get_mut("connection").and_then(Value::as_object_mut);
    if let Some(connection) = connection {
        for secret in SECRETS {
            connection.remove(secret);
        }
    }
}

fn list(data: &Value) -> Vec<Value> {
    data.as_array().cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_force_counts_and_codes_are_left_out() {
        let mut app = json!({"name": "a", "expires": null, "conn_status": "connected", "connection": {
            "auth_url": "http://x/auth?code=secret", "local_url": "http://y/auth?code=secret",
            "exposed": {"expires": "2001-01-01T00:00:00Z"}}});
        assert_eq!(until(&app), "expired");
        without_codes(&mut app);
        assert!(!app.to_string().contains("secret"), "{app}");
    }
}
