//! The relay's metrics: as text for Prometheus, and as JSON for its status page.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Map, Value, json};

use super::app_state::AppState;
use super::fleet::{Links, Looks};
use super::status::Overview;
use crate::gateway::RequestStats;
use crate::http::metrics::Values::{self, By, Took};
use crate::http::metrics::{
    Exposition, Family, MEDIA_TYPE, Metric, Page, add_process, counter, gauge, histogram, wide,
};
use crate::http::{Method, Request, Response, Router};
use crate::store;
use crate::tunnel::server::Opener;

const REQUESTS: [Metric<RequestStats>; 7] = [
    counter(
        "postern_relay_requests_total",
        "Requests to sites by status class; none: no response was sent.",
        |of| By("class", of.classes()),
    ),
    counter(
        "postern_relay_refusals_total",
        "Requests to sites that the relay answered itself or that were cut short, by cause.",
        |of| By("cause", of.refusals()),
    ),
    histogram(
        "postern_relay_first_byte_seconds",
        "Time from a request to the first byte of the response to the visitor.",
        |of| Took(of.first_byte.read()),
    ),
    histogram(
        "postern_relay_request_duration_seconds",
        "Time from a request to the end of its response, without WebSocket connections.",
        |of| Took(of.whole.read()),
    ),
    gauge(
        "postern_relay_connections",
        "Open connections of visitors, callers and the operator.",
        |of| (&of.open).into(),
    ),
    counter(
        "postern_relay_connections_total",
        "Accepted connections of visitors, callers and the operator.",
        |of| (&of.connections).into(),
    ),
    counter(
        "postern_relay_early_refusals_total",
        "Connections and requests refused before their destination was known, by cause.",
        |of| By("cause", of.early_refusals()),
    ),
];

const TUNNELS: [Metric<Opener>; 10] = [
    gauge(
        "postern_relay_tunnels",
        "Tunnels by state; pending: not logged in yet.",
        |of| {
            let now = of.client_counts();
            by_state(("connected", now.tunnels), ("pending", now.pending))
        },
    ),
    counter(
        "postern_relay_tunnel_logins_total",
        "Successful tunnel logins.",
        |of| (&of.stats().logins).into(),
    ),
    counter(
        "postern_relay_tunnel_reconnects_total",
        "Tunnels that reconnected after a lost connection.",
        |of| (&of.stats().reconnects).into(),
    ),
    counter(
        "postern_relay_tunnel_refusals_total",
        "Refused tunnels, by cause.",
        |of| {
            let stats = of.stats();
            by_cause(&[
                ("login", &stats.logins_refused),
                ("too_many", &stats.turned_away),
            ])
        },
    ),
    gauge(
        "postern_relay_streams",
        "Open streams through tunnels.",
        |of| (&of.traffic().streams).into(),
    ),
    counter(
        "postern_relay_streams_total",
        "Streams opened through tunnels.",
        |of| (&of.traffic().opened).into(),
    ),
    counter(
        "postern_relay_stream_refusals_total",
        "Failed streams, by cause; connector_full: the connector's own max_streams or memory.",
        |of| {
            let (stats, traffic) = (of.stats(), of.traffic());
            by_cause(&[
                ("connector_full", &traffic.refused_full),
                ("connector_refused", &traffic.refused_target),
                ("no_tunnel", &stats.no_tunnel),
                ("not_allowed", &stats.not_allowed),
                ("too_many", &stats.too_many),
                ("tunnel_broken", &stats.broken_tunnel),
            ])
        },
    ),
    counter(
        "postern_relay_received_bytes_total",
        "Bytes from visitors to applications.",
        |of| (&of.traffic().sent).into(),
    ),
    counter(
        "postern_relay_sent_bytes_total",
        "Bytes from applications to visitors.",
        |of| (&of.traffic().received).into(),
    ),
    counter(
        "postern_relay_port_connections_total",
        "Visitor connections to public ports, including refused ones.",
        |of| (&of.stats().visitors).into(),
    ),
];

const ASSIGNED: [Metric<Overview>; 3] = [
    gauge(
        "postern_relay_connectors",
        "Enrolled connectors, with and without a tunnel.",
        |of| connected(of.connectors),
    ),
    gauge(
        "postern_relay_sites",
        "Known sites, with and without a tunnel.",
        |of| connected(of.sites),
    ),
    gauge(
        "postern_relay_ports",
        "Assigned public ports, with and without a tunnel.",
        |of| connected(of.ports),
    ),
];

const CALLS_AND_STATE: [Metric<AppState>; 7] = [
    gauge(
        "postern_relay_port_connections",
        "Open visitor connections to public ports.",
        |app| app.service.sites.port_visitors().into(),
    ),
    gauge(
        "postern_relay_connectors_revoked",
        "Revoked connectors.",
        |app| wide(app.service.store.snapshot().revoked.len()).into(),
    ),
    counter(
        "postern_relay_quick_setup_calls_total",
        "Quick-setup calls by outcome.",
        |app| By("outcome", app.calls.by_outcome()),
    ),
    counter(
        "postern_relay_enrolments_total",
        "Newly enrolled connectors.",
        |app| (&app.service.enrolments).into(),
    ),
    histogram(
        "postern_relay_state_save_duration_seconds",
        "Time to save the relay's state, including failed attempts.",
        |app| Took(app.service.store.saves.took.read()),
    ),
    counter(
        "postern_relay_state_save_errors_total",
        "Failed attempts to save the relay's state.",
        |app| (&app.service.store.saves.errors).into(),
    ),
    counter(
        "postern_store_errors_total",
        "Failed uses of files in the data directory.",
        |_| store::errors().into(),
    ),
];

const PEERS: [Metric<Links>; 2] = [
    gauge(
        "postern_relay_peers",
        "Other relays of the fleet, linked and not linked.",
        |links| {
            let (linked, away) = links.counts();
            by_state(("linked", linked), ("away", away))
        },
    ),
    gauge(
        "postern_relay_hops",
        "Streams currently served for other relays.",
        |links| wide(links.served()).into(),
    ),
];

const SHARED_STORE: [Metric<Looks>; 1] = [gauge(
    "postern_relay_shared_store_up",
    "1 if the fleet's shared store is available, else 0.",
    |looks| u64::from(looks.is_there()).into(),
)];

/// Routes of the metrics listener: `/metrics`, and nothing else.
pub(super) fn routes(app: &Arc<AppState>) -> Router {
    let app = Arc::clone(app);
    Router::new().on(Method::Get, "/metrics", move |request: Request| {
        request.respond(Response::new(200, MEDIA_TYPE, text(&app)));
    })
}

fn text(app: &AppState) -> String {
    let mut text = Exposition::default();
    add_all(&mut text, app, &Overview::of(&app.service));
    add_process(&mut text, app.started);
    text.into_text()
}

/// Returns the metrics by name: a number, numbers by the value of their label, or `count` and `seconds` of durations.
pub(super) fn json(app: &AppState, overview: &Overview) -> BTreeMap<String, Value> {
    let mut members = Members::default();
    add_all(&mut members, app, overview);
    members.0
}

#[derive(Default)]
struct Members(BTreeMap<String, Value>);

impl Page for Members {
    fn put(&mut self, family: Family, values: Values) {
        let value = match values {
            Values::None => Value::Null,
            Values::Whole(value) => value.into(),
            Values::Real(value) => value.into(),
            By(_, counts) => {
                let counts = counts.into_iter();
                let members: Map<_, _> = counts
                    .map(|(of, value)| (of.to_owned(), value.into()))
                    .collect();
                Value::Object(members)
            }
            Took(took) => json!({"count": took.count(), "seconds": took.seconds()}),
        };
        self.0.insert(family.name.to_owned(), value);
    }
}

fn add_all(page: &mut impl Page, app: &AppState, overview: &Overview) {
    page.add(&REQUESTS, &*app.requests);
    if let Some(opener) = app.service.opener.get() {
        page.add(&TUNNELS, opener);
    }
    page.add(&ASSIGNED, overview);
    page.add(&CALLS_AND_STATE, app);
    // A single relay has none of these.
    if let (Some(links), Some(looks)) = (app.service.links.get(), &app.service.looks) {
        page.add(&PEERS, &**links);
        page.add(&SHARED_STORE, looks);
    }
}

fn connected((connected, all): (usize, usize)) -> Values {
    let away = all.saturating_sub(connected);
    by_state(("connected", connected), ("away", away))
}

fn by_state(one: (&'static str, usize), other: (&'static str, usize)) -> Values {
    let counts = [one, other].map(|(state, count)| (state, wide(count)));
    By("state", counts.to_vec())
}

fn by_cause(counters: &[(&'static str, &AtomicU64)]) -> Values {
    let read = |(cause, count): &(_, &AtomicU64)| (*cause, count.load(Ordering::Relaxed));
    By("cause", counters.iter().map(read).collect())
}
