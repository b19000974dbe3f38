//! The relay's figures: as Prometheus reads them, and the same as JSON for its page.

use std::collections::BTreeMap;
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

/// Routes of the metrics listener: `/metrics`, and nothing else.
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
            Gauges(label, values) => add(&mut text, name, "gauge", help, label, &values),
            Counters(label, values) => add(&mut text, name, "counter", help, label, &values),
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
    name: &str,
    kind: &str,
    help: &str,
    label: &'static str,
    values: &[(&str, u64)],
) {
    text.family(name, kind, help);
    for (of, value) in values {
        text.sample(name, &[(label, of)], value);
    }
}

/// Returns the metrics by name: a number, numbers by the value of their label, or of durations `count` and `seconds`.
pub(super) fn json(app: &AppState, overview: &Overview) -> BTreeMap<String, Value> {
    let mut values = BTreeMap::new();
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
        values.insert(metric.name.to_owned(), value);
    }
    values
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
            "Requests to sites by status class; none: no response was sent.",
            Counters("class", of.classes()),
        ),
        metric(
            "postern_relay_refusals_total",
            "Requests to sites that the relay answered itself or that were cut short, by cause.",
            Counters("cause", of.refusals()),
        ),
        metric(
            "postern_relay_first_byte_seconds",
            "Time from a request to the first byte of the response to the visitor.",
            Took(of.first_byte.read()),
        ),
        metric(
            "postern_relay_request_duration_seconds",
            "Time from a request to the end of its response, without WebSocket connections.",
            Took(of.whole.read()),
        ),
        metric(
            "postern_relay_connections",
            "Open connections of visitors, callers and the operator.",
            Gauge(read(&of.open)),
        ),
        metric(
            "postern_relay_connections_total",
            "Accepted connections of visitors, callers and the operator.",
            Counter(read(&of.connections)),
        ),
        metric(
            "postern_relay_early_refusals_total",
            "Connections and requests refused before their destination was known, by cause.",
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
            "Tunnels by state; pending: not logged in yet.",
            Gauges("state", states),
        ),
        metric(
            "postern_relay_tunnel_logins_total",
            "Successful tunnel logins.",
            Counter(read(&stats.logins)),
        ),
        metric(
            "postern_relay_tunnel_reconnects_total",
            "Tunnels that reconnected after a lost connection.",
            Counter(read(&stats.reconnects)),
        ),
        metric(
            "postern_relay_tunnel_refusals_total",
            "Refused tunnels, by cause.",
            Counters("cause", turned_away),
        ),
        metric(
            "postern_relay_streams",
            "Open streams through tunnels.",
            Gauge(read(&traffic.streams)),
        ),
        metric(
            "postern_relay_streams_total",
            "Streams opened through tunnels.",
            Counter(read(&traffic.opened)),
        ),
        metric(
            "postern_relay_stream_refusals_total",
            "Failed streams, by cause; connector_full: the connector's own max_streams or memory.",
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
            "Visitor connections to public ports, including refused ones.",
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
            "Enrolled connectors, with and without a tunnel.",
            by_state(overview.connectors),
        ),
        metric(
            "postern_relay_sites",
            "Known sites, with and without a tunnel.",
            by_state(overview.sites),
        ),
        metric(
            "postern_relay_ports",
            "Assigned public ports, with and without a tunnel.",
            by_state(overview.ports),
        ),
        metric(
            "postern_relay_port_connections",
            "Open visitor connections to public ports.",
            Gauge(app.service.sites.port_visitors()),
        ),
        metric(
            "postern_relay_connectors_revoked",
            "Revoked connectors.",
            Gauge(wide(app.service.store.snapshot().revoked.len())),
        ),
        metric(
            "postern_relay_quick_setup_calls_total",
            "Quick-setup calls by outcome.",
            Counters("outcome", app.calls.by_outcome()),
        ),
        metric(
            "postern_relay_enrolments_total",
            "Newly enrolled connectors.",
            Counter(read(&app.service.enrolments)),
        ),
    ]
}

fn of_state(app: &AppState) -> Vec<Metric> {
    let saves = &app.service.store.saves;
    vec![
        metric(
            "postern_relay_state_save_duration_seconds",
            "Time to save the relay's state, including failed attempts.",
            Took(saves.took.read()),
        ),
        metric(
            "postern_relay_state_save_errors_total",
            "Failed attempts to save the relay's state.",
            Counter(read(&saves.errors)),
        ),
        metric(
            "postern_store_errors_total",
            "Failed uses of files in the data directory.",
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
            "Other relays of the fleet, linked and not linked.",
            Gauges(
                "state",
                vec![("linked", wide(linked)), ("away", wide(away))],
            ),
        ),
        metric(
            "postern_relay_hops",
            "Streams currently served for other relays.",
            Gauge(wide(links.served())),
        ),
        metric(
            "postern_relay_shared_store_up",
            "1 if the fleet's shared store is available, else 0.",
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
