//! `/metrics`: figures of this process for Prometheus, in its text format, version 0.0.4.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::http::{Request, Response};
use crate::manager::app_state::AppState;
use crate::manager::connection::{ConnectResult, ConnectionState};

const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// One figure of an application, and how it is read.
struct Metric {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    value: fn(&ConnectResult) -> Option<u64>,
}

const METRICS: [Metric; 7] = [
    Metric {
        name: "postern_application_connected",
        kind: "gauge",
        help: "Whether the application is connected.",
        value: |result| Some(u64::from(result.status == ConnectionState::Connected)),
    },
    Metric {
        name: "postern_application_failing",
        kind: "gauge",
        help: "Whether the application behind the connection does not answer.",
        value: |result| Some(u64::from(result.health.as_ref()?.error.is_some())),
    },
    Metric {
        name: "postern_application_received_bytes_total",
        kind: "counter",
        help: "Bytes from visitors through the present tunnel.",
        value: |result| Some(result.bytes_in),
    },
    Metric {
        name: "postern_application_sent_bytes_total",
        kind: "counter",
        help: "Bytes to visitors through the present tunnel.",
        value: |result| Some(result.bytes_out),
    },
    Metric {
        name: "postern_application_reconnects_total",
        kind: "counter",
        help: "How often the present tunnel was made again.",
        value: |result| Some(result.reconnects),
    },
    Metric {
        name: "postern_application_visitors",
        kind: "gauge",
        help: "Visitors who are there now.",
        value: |result| Some(result.visitors.as_ref()?.now),
    },
    Metric {
        name: "postern_application_requests_total",
        kind: "counter",
        help: "Requests, or streams, of visitors since the application was connected.",
        value: |result| Some(result.visitors.as_ref()?.requests),
    },
];

pub(super) fn show(core: &Arc<AppState>, request: Request) {
    request.respond(Response::new(200, MEDIA_TYPE, text(core)));
}

fn text(core: &AppState) -> String {
    let apps = core.apps.list().unwrap_or_default();
    let mut text = String::new();
    plain(
        &mut text,
        "postern_applications",
        "Applications, connected or not.",
        apps.len(),
    );
    let results: Vec<(&str, ConnectResult)> = apps
        .iter()
        .filter_map(|app| Some((app.name.as_str(), core.connections.result(&app.id)?)))
        .collect();
    for Metric {
        name,
        kind,
        help,
        value,
    } in METRICS
    {
        head(&mut text, name, kind, help);
        for (app, result) in &results {
            if let Some(value) = value(result) {
                push(
                    &mut text,
                    &format!("{name}{{application=\"{}\"}} {value}", escaped(app)),
                );
            }
        }
    }
    tunnels(core, &mut text);
    if let Some(bytes) = resident_bytes() {
        plain(
            &mut text,
            "process_resident_memory_bytes",
            "Memory in use.",
            bytes,
        );
    }
    text
}

fn tunnels(core: &AppState, text: &mut String) {
    const NAME: &str = "postern_main_tunnel_up";
    head(
        text,
        NAME,
        "gauge",
        "Whether the main tunnel of a server is connected.",
    );
    for server in core.servers.all() {
        let snapshot = server.snapshot();
        let Some(main) = snapshot.main.as_ref() else {
            continue;
        };
        let shown = main.to_json(server.origin());
        let is_up = shown
            .get("status")
            .is_some_and(|status| status == "connected");
        let server = escaped(server.origin());
        push(
            text,
            &format!("{NAME}{{server=\"{server}\"}} {}", u64::from(is_up)),
        );
    }
}

fn plain(text: &mut String, name: &str, help: &str, value: usize) {
    head(text, name, "gauge", help);
    push(text, &format!("{name} {value}"));
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    push(text, &format!("# HELP {name} {help}\n# TYPE {name} {kind}"));
}

fn push(text: &mut String, line: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{line}");
}

/// A label's value.
fn escaped(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    value.replace('\n', "\\n")
}

/// Where `/proc` tells.
fn resident_bytes() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: usize = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_its_label() {
        assert_eq!(escaped("a\"} 1\n\\"), "a\\\"} 1\\n\\\\");
    }
}
