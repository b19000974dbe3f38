//! `/metrics`: figures of this process for Prometheus.

use std::fmt::Display;
use std::sync::Arc;

use crate::http::metrics::{Durations, Exposition, Labels, MEDIA_TYPE, add_process};
use crate::http::{Request, Response};
use crate::manager::app_state::AppState;
use crate::manager::connection::{ConnectResult, ConnectionState, Figures};
use crate::store;
use crate::tunnel::client::Snapshot;

/// A connection and what is counted of it.
struct Connection {
    result: ConnectResult,
    figures: Figures,
}

/// A family of figures of several things, and how those of one are told.
struct Family<T> {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    tell: fn(&T, &mut Samples<'_>),
}

/// The samples of one thing in one family.
struct Samples<'a> {
    text: &'a mut Exposition,
    name: &'static str,
    labels: Labels<'a>,
}

/// Families of applications.
const APPLICATIONS: [Family<Connection>; 15] = [
    Family {
        name: "postern_application_connected",
        kind: "gauge",
        help: "1 if the application is connected.",
        tell: |of, to| to.value([u8::from(of.result.status == ConnectionState::Connected)]),
    },
    Family {
        name: "postern_application_failing",
        kind: "gauge",
        help: "1 if the connected application does not answer.",
        tell: |of, to| {
            to.value(
                of.result
                    .health
                    .iter()
                    .map(|it| u8::from(it.error.is_some())),
            )
        },
    },
    Family {
        name: "postern_application_received_bytes_total",
        kind: "counter",
        help: "Bytes from visitors through the current tunnel.",
        tell: |of, to| to.value([of.result.bytes_in]),
    },
    Family {
        name: "postern_application_sent_bytes_total",
        kind: "counter",
        help: "Bytes to visitors through the current tunnel.",
        tell: |of, to| to.value([of.result.bytes_out]),
    },
    Family {
        name: "postern_application_reconnects_total",
        kind: "counter",
        help: "Reconnects of the current tunnel.",
        tell: |of, to| to.value([of.result.reconnects]),
    },
    Family {
        name: "postern_application_streams",
        kind: "gauge",
        help: "Open streams of the current tunnel.",
        tell: |of, to| to.value(of.figures.tunnel.iter().map(|it| it.streams)),
    },
    Family {
        name: "postern_application_streams_total",
        kind: "counter",
        help: "Streams opened by the current tunnel.",
        tell: |of, to| to.value(of.figures.tunnel.iter().map(|it| it.opened)),
    },
    Family {
        name: "postern_application_visitors",
        kind: "gauge",
        help: "Current visitors.",
        tell: |of, to| to.value(of.result.visitors.iter().map(|it| it.now)),
    },
    Family {
        name: "postern_application_requests_total",
        kind: "counter",
        help: "Requests, or streams, of visitors since the application was connected.",
        tell: |of, to| to.value(of.result.visitors.iter().map(|it| it.requests)),
    },
    Family {
        name: "postern_application_latency_seconds",
        kind: "gauge",
        help: "Last round-trip time of the tunnel.",
        tell: |of, to| to.value(of.result.latency_ms.map(seconds)),
    },
    Family {
        name: "postern_application_answers_total",
        kind: "counter",
        help: "Requests by status class; for databases, statements by result.",
        tell: |of, to| {
            to.by(
                "class",
                of.figures.answers.iter().flat_map(|it| it.0.clone()),
            )
        },
    },
    Family {
        name: "postern_application_answer_duration_seconds",
        kind: "histogram",
        help: "Duration of these requests.",
        tell: |of, to| to.durations(of.figures.answers.iter().map(|it| it.1)),
    },
    Family {
        name: "postern_application_first_byte_seconds",
        kind: "histogram",
        help: "Time from a request to the first byte of its answer.",
        tell: |of, to| to.durations(of.figures.requests.iter().map(|it| it.first_byte.read())),
    },
    Family {
        name: "postern_application_refusals_total",
        kind: "counter",
        help: "Requests refused here or answered incompletely, by cause.",
        tell: |of, to| to.by_cause(of.figures.requests.iter().flat_map(|it| it.refusals())),
    },
    Family {
        name: "postern_application_stream_refusals_total",
        kind: "counter",
        help: "Failed streams, by cause: max_streams (or no room), or target (no answer there).",
        tell: |of, to| {
            let (full, target) = of.figures.tunnel.as_ref().map_or((0, 0), |it| it.refused);
            to.by_cause([("max_streams", full), ("target", target)]);
        },
    },
];

/// Families of main tunnels, of which one may have no tunnel.
const MAIN_TUNNELS: [Family<Option<Snapshot>>; 3] = [
    Family {
        name: "postern_main_tunnel_up",
        kind: "gauge",
        help: "1 if the main tunnel of a server is connected.",
        tell: |of, to| to.value([u8::from(of.iter().any(Snapshot::is_connected))]),
    },
    Family {
        name: "postern_main_tunnel_reconnects_total",
        kind: "counter",
        help: "Reconnects of the main tunnel.",
        tell: |of, to| to.value([of.as_ref().map_or(0, |of| of.reconnects)]),
    },
    Family {
        name: "postern_main_tunnel_latency_seconds",
        kind: "gauge",
        help: "Last round-trip time of the main tunnel.",
        tell: |of, to| to.value(of.iter().filter_map(|of| Some(of.latency?.as_secs_f64()))),
    },
];

impl Samples<'_> {
    fn value(&mut self, value: impl IntoIterator<Item = impl Display>) {
        for value in value {
            self.text.sample(self.name, self.labels, value);
        }
    }

    /// A count for each value of another label.
    fn by(&mut self, label: &'static str, counts: impl IntoIterator<Item = (&'static str, u64)>) {
        for (kind, count) in counts {
            let labels = [self.labels, &[(label, kind)]].concat();
            self.text.sample(self.name, &labels, count);
        }
    }

    /// Causes that never occurred are left out: each would be a line an application.
    fn by_cause(&mut self, counts: impl IntoIterator<Item = (&'static str, u64)>) {
        self.by("cause", counts.into_iter().filter(|(_, count)| *count > 0));
    }

    fn durations(&mut self, took: impl IntoIterator<Item = Durations>) {
        for took in took {
            self.text.histogram(self.name, self.labels, &took);
        }
    }
}

fn seconds(ms: f64) -> f64 {
    ms / 1000.0
}

pub(super) fn show(core: &Arc<AppState>, request: Request) {
    request.respond(Response::new(200, MEDIA_TYPE, text(core)));
}

fn text(core: &AppState) -> String {
    let mut text = Exposition::default();
    let apps = core.apps.list().unwrap_or_default();
    let help = "Applications, connected or not.";
    text.single("postern_applications", "gauge", help, apps.len());
    let connections: Vec<_> = apps
        .iter()
        .filter_map(|app| {
            let figures = core.connections.find(&app.id)?.figures();
            let result = core.connections.result(&app.id, None)?;
            let labels = vec![("application", &*app.name), ("id", &*app.id)];
            Some((labels, Connection { result, figures }))
        })
        .collect();
    tell(&mut text, &APPLICATIONS, &connections);
    let servers = core.servers.all();
    let main_tunnels: Vec<_> = servers
        .iter()
        .filter_map(|server| {
            let snapshot = server.snapshot().main.as_ref()?.snapshot();
            Some((vec![("server", &*server.origin)], snapshot))
        })
        .collect();
    tell(&mut text, &MAIN_TUNNELS, &main_tunnels);
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

/// All families of these things, each with its labels.
fn tell<T>(
    text: &mut Exposition,
    families: &[Family<T>],
    things: &[(Vec<(&'static str, &str)>, T)],
) {
    for Family {
        name,
        kind,
        help,
        tell,
    } in families
    {
        text.family(name, kind, help);
        for (labels, thing) in things {
            tell(thing, &mut Samples { text, name, labels });
        }
    }
}
