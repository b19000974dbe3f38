//! `/metrics`: figures of this process for Prometheus.

use std::sync::Arc;

use crate::http::metrics::{Exposition, MEDIA_TYPE, add_process};
use crate::http::{Request, Response};
use crate::manager::app_state::AppState;
use crate::manager::connection::{ConnectResult, ConnectionState, Figures};
use crate::store;

/// A connection and what is counted of it.
struct Connection<'a> {
    id: &'a str,
    name: &'a str,
    result: ConnectResult,
    figures: Figures,
}

/// One figure of a connection, and how it is read.
struct Metric {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    value: fn(&Connection<'_>) -> Option<u64>,
}

const METRICS: [Metric; 9] = [
    Metric {
        name: "postern_application_connected",
        kind: "gauge",
        help: "1 if the application is connected.",
        value: |of| Some(u64::from(of.result.status == ConnectionState::Connected)),
    },
    Metric {
        name: "postern_application_failing",
        kind: "gauge",
        help: "1 if the connected application does not answer.",
        value: |of| Some(u64::from(of.result.health.as_ref()?.error.is_some())),
    },
    Metric {
        name: "postern_application_received_bytes_total",
        kind: "counter",
        help: "Bytes from visitors through the current tunnel.",
        value: |of| Some(of.result.bytes_in),
    },
    Metric {
        name: "postern_application_sent_bytes_total",
        kind: "counter",
        help: "Bytes to visitors through the current tunnel.",
        value: |of| Some(of.result.bytes_out),
    },
    Metric {
        name: "postern_application_reconnects_total",
        kind: "counter",
        help: "Reconnects of the current tunnel.",
        value: |of| Some(of.result.reconnects),
    },
    Metric {
        name: "postern_application_streams",
        kind: "gauge",
        help: "Open streams of the current tunnel.",
        value: |of| Some(of.figures.tunnel.as_ref()?.streams),
    },
    Metric {
        name: "postern_application_streams_total",
        kind: "counter",
        help: "Streams opened by the current tunnel.",
        value: |of| Some(of.figures.tunnel.as_ref()?.opened),
    },
    Metric {
        name: "postern_application_visitors",
        kind: "gauge",
        help: "Current visitors.",
        value: |of| Some(of.result.visitors.as_ref()?.now),
    },
    Metric {
        name: "postern_application_requests_total",
        kind: "counter",
        help: "Requests, or streams, of visitors since the application was connected.",
        value: |of| Some(of.result.visitors.as_ref()?.requests),
    },
];

pub(super) fn show(core: &Arc<AppState>, request: Request) {
    request.respond(Response::new(200, MEDIA_TYPE, text(core)));
}

fn text(core: &AppState) -> String {
    let mut text = Exposition::default();
    let apps = core.apps.list().unwrap_or_default();
    let help = "Applications, connected or not.";
    text.single("postern_applications", "gauge", help, apps.len());
    let connection = |app| {
        let app: &crate::manager::apps::app::AppConfig = app;
        let record = core.connections.find(&app.id)?;
        Some(Connection {
            id: &app.id,
            name: &app.name,
            result: core.connections.result(&app.id)?,
            figures: record.figures(),
        })
    };
    let connections: Vec<_> = apps.iter().filter_map(connection).collect();
    of_connections(&mut text, &connections);
    answers(&mut text, &connections);
    first_bytes(&mut text, &connections);
    refusals(&mut text, &connections);
    main_tunnels(core, &mut text);
    const FAILURES: &str = "postern_connect_failures_total";
    text.family(
        FAILURES,
        "counter",
        "Failed attempts to connect an application, by cause.",
    );
    for (cause, count) in core.connections.failures() {
        text.sample(FAILURES, &[("cause", cause)], count);
    }
    let help = "Failures to use a file of the per-user directory.";
    text.single(
        "postern_store_errors_total",
        "counter",
        help,
        store::errors(),
    );
    add_process(&mut text, core.since);
    text.into_text()
}

fn of_connections(text: &mut Exposition, connections: &[Connection<'_>]) {
    for metric in METRICS {
        text.family(metric.name, metric.kind, metric.help);
        for of in connections {
            if let Some(value) = (metric.value)(of) {
                text.sample(
                    metric.name,
                    &[("application", of.name), ("id", of.id)],
                    value,
                );
            }
        }
    }
    const LATENCY: &str = "postern_application_latency_seconds";
    text.family(LATENCY, "gauge", "Last round-trip time of the tunnel.");
    for of in connections {
        if let Some(ms) = of.result.latency_ms {
            text.sample(
                LATENCY,
                &[("application", of.name), ("id", of.id)],
                ms / 1000.0,
            );
        }
    }
}

/// Requests of visitors by what came of them, and how long they took.
fn answers(text: &mut Exposition, connections: &[Connection<'_>]) {
    const ANSWERS: &str = "postern_application_answers_total";
    const TOOK: &str = "postern_application_answer_duration_seconds";
    let help = "Requests by status class; for databases, statements by result.";
    text.family(ANSWERS, "counter", help);
    for of in connections {
        for (class, count) in of.figures.answers.iter().flat_map(|(classes, _)| classes) {
            let labels = [("application", of.name), ("id", of.id), ("class", class)];
            text.sample(ANSWERS, &labels, count);
        }
    }
    text.family(TOOK, "histogram", "Duration of these requests.");
    for of in connections {
        if let Some((_, took)) = &of.figures.answers {
            text.histogram(TOOK, &[("application", of.name), ("id", of.id)], took);
        }
    }
}

fn first_bytes(text: &mut Exposition, connections: &[Connection<'_>]) {
    const TOOK: &str = "postern_application_first_byte_seconds";
    let help = "Time from a request to the first byte of its answer.";
    text.family(TOOK, "histogram", help);
    for of in connections {
        if let Some(requests) = &of.figures.requests {
            let labels = [("application", of.name), ("id", of.id)];
            text.histogram(TOOK, &labels, &requests.first_byte.read());
        }
    }
}

/// Failures by cause. Causes that never occurred are left out: each would be a line an application.
fn refusals(text: &mut Exposition, connections: &[Connection<'_>]) {
    const REQUESTS: &str = "postern_application_refusals_total";
    const STREAMS: &str = "postern_application_stream_refusals_total";
    let of_tunnel = |of: &Connection<'_>| {
        let (full, target) = of.figures.tunnel.as_ref().map_or((0, 0), |of| of.refused);
        vec![("max_streams", full), ("target", target)]
    };
    let of_requests = |of: &Connection<'_>| {
        let requests = of.figures.requests.as_ref();
        requests.map_or_else(Vec::new, |requests| requests.refusals())
    };
    type Causes<'a> = &'a dyn Fn(&Connection<'_>) -> Vec<(&'static str, u64)>;
    let families: [(&str, &str, Causes<'_>); 2] = [
        (
            REQUESTS,
            "Requests refused here or answered incompletely, by cause.",
            &of_requests,
        ),
        (
            STREAMS,
            "Failed streams, by cause: max_streams (or no room), or target (no answer there).",
            &of_tunnel,
        ),
    ];
    for (name, help, causes) in families {
        text.family(name, "counter", help);
        for of in connections {
            for (cause, count) in causes(of).into_iter().filter(|(_, count)| *count > 0) {
                let labels = [("application", of.name), ("id", of.id), ("cause", cause)];
                text.sample(name, &labels, count);
            }
        }
    }
}

fn main_tunnels(core: &AppState, text: &mut Exposition) {
    let tunnels: Vec<_> = core
        .servers
        .all()
        .iter()
        .filter_map(|server| {
            let figures = server.snapshot().main.as_ref()?.figures();
            Some((server.origin().to_owned(), figures))
        })
        .collect();
    const UP: &str = "postern_main_tunnel_up";
    text.family(
        UP,
        "gauge",
        "1 if the main tunnel of a server is connected.",
    );
    for (server, of) in &tunnels {
        text.sample(UP, &[("server", server)], u8::from(of.is_up));
    }
    const RECONNECTS: &str = "postern_main_tunnel_reconnects_total";
    text.family(RECONNECTS, "counter", "Reconnects of the main tunnel.");
    for (server, of) in &tunnels {
        text.sample(RECONNECTS, &[("server", server)], of.reconnects);
    }
    const LATENCY: &str = "postern_main_tunnel_latency_seconds";
    text.family(LATENCY, "gauge", "Last round-trip time of the main tunnel.");
    for (server, of) in &tunnels {
        if let Some(ms) = of.latency_ms {
            text.sample(LATENCY, &[("server", server)], ms / 1000.0);
        }
    }
}
