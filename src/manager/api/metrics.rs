//! `/metrics`: metrics of this process for Prometheus.

use std::sync::Arc;

use crate::http::metrics::Values::{self, By, Took};
use crate::http::metrics::{
    Counts, Exposition, MEDIA_TYPE, Metric, Page, add_process, counter, gauge, histogram, wide,
};
use crate::http::{Request, Response};
use crate::manager::app_state::AppState;
use crate::manager::apps::app::AppConfig;
use crate::manager::connection::{ConnectResult, ConnectionState, ConnectionStats};
use crate::store;
use crate::tunnel::client::Snapshot;

/// A connection and what is counted of it.
struct Connection {
    result: ConnectResult,
    stats: ConnectionStats,
}

const APPLICATIONS: [Metric<Vec<AppConfig>>; 1] = [gauge(
    "postern_applications",
    "Applications, connected or not.",
    |apps| wide(apps.len()).into(),
)];

/// Metrics of connected applications.
const CONNECTIONS: [Metric<Connection>; 15] = [
    gauge(
        "postern_application_connected",
        "1 if the application is connected.",
        |of| u64::from(of.result.status == ConnectionState::Connected).into(),
    ),
    gauge(
        "postern_application_failing",
        "1 if the connected application does not answer.",
        |of| {
            let health = of.result.health.as_ref();
            health.map(|it| u64::from(it.error.is_some())).into()
        },
    ),
    counter(
        "postern_application_received_bytes_total",
        "Bytes from visitors through the current tunnel.",
        |of| of.result.bytes_in.into(),
    ),
    counter(
        "postern_application_sent_bytes_total",
        "Bytes to visitors through the current tunnel.",
        |of| of.result.bytes_out.into(),
    ),
    counter(
        "postern_application_reconnects_total",
        "Reconnects of the current tunnel.",
        |of| of.result.reconnects.into(),
    ),
    gauge(
        "postern_application_streams",
        "Open streams of the current tunnel.",
        |of| of.stats.tunnel.as_ref().map(|it| it.streams).into(),
    ),
    counter(
        "postern_application_streams_total",
        "Streams opened by the current tunnel.",
        |of| of.stats.tunnel.as_ref().map(|it| it.opened).into(),
    ),
    gauge("postern_application_visitors", "Current visitors.", |of| {
        of.result.visitors.as_ref().map(|it| it.now).into()
    }),
    counter(
        "postern_application_requests_total",
        "Requests, or streams, of visitors since the application was connected.",
        |of| of.result.visitors.as_ref().map(|it| it.requests).into(),
    ),
    gauge(
        "postern_application_latency_seconds",
        "Last round-trip time of the tunnel.",
        |of| of.result.latency_ms.map(seconds).into(),
    ),
    counter(
        "postern_application_answers_total",
        "Requests by status class; for databases, statements by result.",
        |of| {
            let answers = of.stats.answers.as_ref();
            answers.map(|it| By("class", it.0.clone())).into()
        },
    ),
    histogram(
        "postern_application_answer_duration_seconds",
        "Duration of these requests.",
        |of| of.stats.answers.as_ref().map(|it| Took(it.1)).into(),
    ),
    histogram(
        "postern_application_first_byte_seconds",
        "Time from a request to the first byte of its answer.",
        |of| {
            let requests = of.stats.requests.as_ref();
            requests.map(|it| Took(it.first_byte.read())).into()
        },
    ),
    counter(
        "postern_application_refusals_total",
        "Requests refused here or answered incompletely, by cause.",
        |of| {
            let requests = of.stats.requests.as_ref();
            requests.map(|it| by_cause(it.refusals())).into()
        },
    ),
    counter(
        "postern_application_stream_refusals_total",
        "Failed streams, by cause: max_streams (or no room), or target (no answer there).",
        |of| {
            let tunnel = of.stats.tunnel.as_ref();
            let refused = tunnel.map(|it| it.refused);
            let by = |(full, target)| by_cause(vec![("max_streams", full), ("target", target)]);
            refused.map(by).into()
        },
    ),
];

/// Metrics of main tunnels, of which one may have no tunnel.
const MAIN_TUNNELS: [Metric<Option<Snapshot>>; 3] = [
    gauge(
        "postern_main_tunnel_up",
        "1 if the main tunnel of a server is connected.",
        |of| {
            let is_up = of.as_ref().is_some_and(Snapshot::is_connected);
            u64::from(is_up).into()
        },
    ),
    counter(
        "postern_main_tunnel_reconnects_total",
        "Reconnects of the main tunnel.",
        |of| of.as_ref().map_or(0, |of| of.reconnects).into(),
    ),
    gauge(
        "postern_main_tunnel_latency_seconds",
        "Last round-trip time of the main tunnel.",
        |of| {
            let latency = of.as_ref().and_then(|of| of.latency);
            latency
                .map(|latency| Values::Real(latency.as_secs_f64()))
                .into()
        },
    ),
];

const FAILURES: [Metric<AppState>; 2] = [
    counter(
        "postern_connect_failures_total",
        "Failed attempts to connect an application, by cause.",
        |core| {
            let failures = core.connections.failures();
            By("cause", failures.into_iter().collect())
        },
    ),
    counter(
        "postern_store_errors_total",
        "Failures to use a file of the per-user directory.",
        |_| store::errors().into(),
    ),
];

/// Causes that never occurred are left out: each would be a line an application.
fn by_cause(mut counts: Counts) -> Values {
    counts.retain(|(_, count)| *count > 0);
    By("cause", counts)
}

fn seconds(ms: f64) -> Values {
    Values::Real(ms / 1000.0)
}

pub(super) fn show(core: &Arc<AppState>, request: Request) {
    request.respond(Response::new(200, MEDIA_TYPE, text(core)));
}

fn text(core: &AppState) -> String {
    let mut text = Exposition::default();
    let apps = core.apps.list().unwrap_or_default();
    text.add(&APPLICATIONS, &apps);
    let connections: Vec<_> = apps
        .iter()
        .filter_map(|app| {
            let stats = core.connections.find(&app.id)?.stats();
            let result = core.connections.result(&app.id, None)?;
            let labels = [("application", &*app.name), ("id", &*app.id)];
            Some((labels, Connection { result, stats }))
        })
        .collect();
    text.add_each(&CONNECTIONS, &connections);
    let servers = core.servers.all();
    let main_tunnels: Vec<_> = servers
        .iter()
        .filter_map(|server| {
            let snapshot = server.snapshot().main.as_ref()?.snapshot();
            Some(([("server", &*server.origin)], snapshot))
        })
        .collect();
    text.add_each(&MAIN_TUNNELS, &main_tunnels);
    text.add(&FAILURES, core);
    add_process(&mut text, core.since);
    text.into_text()
}
