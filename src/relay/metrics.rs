//! The relay's figures: as Prometheus reads them, and the same as JSON for its page.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Map, Value, json};

use super::app_state::AppState;
use super::status::Overview;
use crate::http::metrics::{Durations, Exposition, MEDIA_TYPE, add_process};
use crate::http::{Method, Request, Response, Router};
use crate::store;
use crate::tunnel::server::Opener;

/// One figure, or several of a kind.
struct Metric {
    name: &'static str,
    help: &'static str,
    amount: Amount,
}

enum Amount {
    Gauge(u64),
    Counter(u64),
    /// The label, and the values that it has.
    Gauges(&'static str, Vec<(&'static str, u64)>),
    Counters(&'static str, Vec<(&'static str, u64)>),
    Took(Durations),
}

use Amount::{Counter, Counters, Gauge, Gauges, Took};

/// What the listener of the figures answers: `/metrics`, and nothing else.
pub(super) fn routes(app: &Arc<AppState>) -> Router {
    let app = Arc::clone(app);
    Router::new().on(Method::Get, "/metrics", move |request: Request| {
        request.respond(Response::new(200, MEDIA_TYPE, text(&app)));
    })
}

fn text(app: &AppState) -> String {
    let mut text = Exposition::default();
    for Metric { name, help, amount } in all(app, &Overview::of(&app.service)) {
        match amount {
            Gauge(value) => text.single(name, "gauge", help, value),
            Counter(value) => text.single(name, "counter", help, value),
            Gauges(label, values) => add(&mut text, (name, "gauge", help), label, &values),
            Counters(label, values) => add(&mut text, (name, "counter", help), label, &values),
            Took(durations) => {
                text.family(name, "histogram", help);
                text.histogram(name, &[], &durations);
            }
        }
    }
    add_process(&mut text, app.started);
    text.into_text()
}

fn add(
    text: &mut Exposition,
    (name, kind, help): (&str, &str, &str),
    label: &'static str,
    values: &[(&str, u64)],
) {
    text.family(name, kind, help);
    for (of, value) in values {
        text.sample(name, &[(label, of)], value);
    }
}

/// The same by name: a number, numbers by the value of their label, or of durations `count` and `seconds`.
pub(super) fn json(app: &AppState, overview: &Overview) -> Value {
    let mut told = Map::new();
    for metric in all(app, overview) {
        let value = match metric.amount {
            Gauge(value) | Counter(value) => value.into(),
            Gauges(_, values) | Counters(_, values) => {
                let mut members = Map::new();
                for (of, value) in values {
                    members.insert(of.to_owned(), value.into());
                }
                Value::Object(members)
            }
            Took(took) => json!({"count": took.count(), "seconds": took.seconds()}),
        };
        told.insert(metric.name.to_owned(), value);
    }
    Value::Object(told)
}

fn all(app: &AppState, overview: &Overview) -> Vec<Metric> {
    let mut all = of_requests(app);
    if let Some(opener) = app.service.opener.get() {
        all.extend(of_tunnels(opener));
    }
    all.extend(of_connectors(app, overview));
    all.extend(of_state(app));
    all.extend(of_fleet(app));
    all
}

fn metric(name: &'static str, help: &'static str, amount: Amount) -> Metric {
    Metric { name, help, amount }
}

fn of_requests(app: &AppState) -> Vec<Metric> {
    let of = &app.requests;
    vec![
        metric(
            "postern_relay_requests_total",
            "Requests for sites by the class of their status; none where the visitor was told nothing.",
            Counters("class", of.classes()),
        ),
        metric(
            "postern_relay_refusals_total",
            "Requests for sites that the relay answered itself, or that were not answered to their end, by cause.",
            Counters("cause", of.refusals()),
        ),
        metric(
            "postern_relay_first_byte_seconds",
            "From a request to the first byte of its application's answer at the visitor.",
            Took(of.first_byte.read()),
        ),
        metric(
            "postern_relay_request_duration_seconds",
            "From a request for a site to the end of its answer, connections that become WebSockets left out.",
            Took(of.whole.read()),
        ),
        metric(
            "postern_relay_connections",
            "Connections of visitors, callers and the operator that are open.",
            Gauge(read(&of.open)),
        ),
        metric(
            "postern_relay_connections_total",
            "Connections of visitors, callers and the operator that were taken.",
            Counter(read(&of.connections)),
        ),
        metric(
            "postern_relay_early_refusals_total",
            "Connections and requests that were refused before it was known whom they are for, by cause.",
            Counters("cause", of.early_refusals()),
        ),
    ]
}

fn of_tunnels(opener: &Opener) -> Vec<Metric> {
    let (now, stats, traffic) = (opener.figures(), opener.stats(), opener.traffic());
    let states = vec![
        ("connected", wide(now.tunnels)),
        ("pending", wide(now.pending)),
    ];
    let turned_away = vec![
        ("login", read(&stats.logins_refused)),
        ("too_many", read(&stats.turned_away)),
    ];
    let refused = vec![
        ("connector_full", read(&traffic.refused_full)),
        ("connector_refused", read(&traffic.refused_target)),
        ("no_tunnel", read(&stats.no_tunnel)),
        ("not_allowed", read(&stats.not_allowed)),
        ("too_many", read(&stats.too_many)),
        ("tunnel_broken", read(&stats.broken_tunnel)),
    ];
    vec![
        metric(
            "postern_relay_tunnels",
            "Tunnels: connected, and such as have not logged in.",
            Gauges("state", states),
        ),
        metric(
            "postern_relay_tunnel_logins_total",
            "Tunnels that have logged in.",
            Counter(read(&stats.logins)),
        ),
        metric(
            "postern_relay_tunnel_reconnects_total",
            "Tunnels that came back for what they had lost with their connection.",
            Counter(read(&stats.reconnects)),
        ),
        metric(
            "postern_relay_tunnel_refusals_total",
            "Tunnels that were not let in, by cause.",
            Counters("cause", turned_away),
        ),
        metric(
            "postern_relay_streams",
            "Streams through tunnels that are open.",
            Gauge(read(&traffic.streams)),
        ),
        metric(
            "postern_relay_streams_total",
            "Streams through tunnels that were opened.",
            Counter(read(&traffic.opened)),
        ),
        metric(
            "postern_relay_stream_refusals_total",
            "Streams that came to nothing, by cause; connector_full is a connector's own max_streams or room.",
            Counters("cause", refused),
        ),
        metric(
            "postern_relay_received_bytes_total",
            "Bytes from visitors to applications.",
            Counter(read(&traffic.sent)),
        ),
        metric(
            "postern_relay_sent_bytes_total",
            "Bytes from applications to visitors.",
            Counter(read(&traffic.received)),
        ),
        metric(
            "postern_relay_port_connections_total",
            "Visitors' connections to public ports, those that were turned away among them.",
            Counter(read(&stats.visitors)),
        ),
    ]
}

fn of_connectors(app: &AppState, overview: &Overview) -> Vec<Metric> {
    let by_state = |(connected, all): (usize, usize)| {
        let away = wide(all.saturating_sub(connected));
        Gauges(
            "state",
            vec![("connected", wide(connected)), ("away", away)],
        )
    };
    vec![
        metric(
            "postern_relay_connectors",
            "Connectors that are enrolled, with a tunnel and without.",
            by_state(overview.connectors),
        ),
        metric(
            "postern_relay_sites",
            "Sites that are known, with a tunnel and without.",
            by_state(overview.sites),
        ),
        metric(
            "postern_relay_ports",
            "Public ports that are assigned, with a tunnel and without.",
            by_state(overview.ports),
        ),
        metric(
            "postern_relay_port_connections",
            "Visitors' connections to public ports that are open.",
            Gauge(app.service.sites.port_visitors()),
        ),
        metric(
            "postern_relay_connectors_revoked",
            "Connectors that are turned out.",
            Gauge(wide(app.service.store.snapshot().revoked.len())),
        ),
        metric(
            "postern_relay_quick_setup_calls_total",
            "Quick-setup calls by what came of them.",
            Counters("outcome", app.calls.by_outcome()),
        ),
        metric(
            "postern_relay_enrolments_total",
            "Connectors that were let in for the first time.",
            Counter(read(&app.service.enrolments)),
        ),
    ]
}

fn of_state(app: &AppState) -> Vec<Metric> {
    let saves = &app.service.store.saves;
    vec![
        metric(
            "postern_relay_state_save_duration_seconds",
            "How long it took to save the relay's state, also in vain.",
            Took(saves.took.read()),
        ),
        metric(
            "postern_relay_state_save_errors_total",
            "Times that the relay's state could not be saved.",
            Counter(read(&saves.errors)),
        ),
        metric(
            "postern_store_errors_total",
            "Times that a file of the data directory could not be used.",
            Counter(store::errors()),
        ),
    ]
}

/// Nothing of a relay alone.
fn of_fleet(app: &AppState) -> Vec<Metric> {
    let (Some(links), Some(looks)) = (app.service.links.get(), &app.service.looks) else {
        return Vec::new();
    };
    let (linked, away) = links.counts();
    vec![
        metric(
            "postern_relay_peers",
            "Other relays of the fleet, with a link and without.",
            Gauges(
                "state",
                vec![("linked", wide(linked)), ("away", wide(away))],
            ),
        ),
        metric(
            "postern_relay_hops",
            "Streams that are served for other relays now.",
            Gauge(wide(links.served())),
        ),
        metric(
            "postern_relay_shared_store_up",
            "Whether the store that the fleet shares is there: 1 or 0.",
            Gauge(u64::from(looks.is_there())),
        ),
    ]
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

fn wide(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
