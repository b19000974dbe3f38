//! Status for the operator: connectors, their applications, and traffic.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::counters::Passed;
use super::fleet::{FleetOverview, Held};
use super::setup::Service;
use super::state::{Application, Connector, RelayState, Site};
use super::urls::port_url;
use crate::api::relay as api;
use crate::api::relay::{Figures, Revoked};
use crate::store::time::rfc3339_of;
use crate::tunnel::server::Opener;

/// Lists revoked connectors, in the order of their revocation.
pub(super) fn revoked(state: &RelayState) -> Vec<Revoked> {
    let mut sites = sites_of_revoked(state);
    let status = |name: &String| {
        let known = state.revocations.get(name);
        let connector = known.and_then(|known| known.connector.as_ref());
        Revoked {
            name: name.clone(),
            revoked_at: known.map_or_else(String::new, |known| known.at.clone()),
            enrolled_at: connector.map_or_else(String::new, |was| was.enrolled_at.clone()),
            label: connector.map_or_else(String::new, |was| was.caller.label.clone()),
            invite: connector.and_then(|was| was.invite.clone()),
            sites: sites.remove(name.as_str()).unwrap_or_default(),
        }
    };
    state.revoked.iter().map(status).collect()
}

/// Returns the reserved names of each revoked connector: those of its sites, and those that it gave up before.
fn sites_of_revoked(state: &RelayState) -> BTreeMap<&str, Vec<String>> {
    let names = state.revoked.iter().map(String::as_str);
    let mut sites: BTreeMap<&str, BTreeSet<&str>> =
        names.map(|name| (name, BTreeSet::new())).collect();
    let reserved = state.reserved.values();
    let reserved =
        reserved.filter_map(|kept| Some((kept.connector.as_str(), kept.site.as_deref()?)));
    let had = state.turned_out().flat_map(|(name, connector)| {
        let applications = connector.applications.iter();
        applications.filter_map(move |of| Some((name, of.site.as_ref()?.name.as_str())))
    });
    for (name, site) in had.chain(reserved) {
        if let Some(sites) = sites.get_mut(name) {
            sites.insert(site);
        }
    }
    let owned = |sites: BTreeSet<&str>| sites.into_iter().map(str::to_owned).collect();
    sites
        .into_iter()
        .map(|(name, sites)| (name, owned(sites)))
        .collect()
}

/// Connected tunnels at one moment.
pub(super) struct Overview {
    state: Arc<RelayState>,
    /// The ports that tunnels hold, by connector.
    held: Held,
    /// All relays that have this state, if there are several.
    pub(super) fleet: Option<FleetOverview>,
    /// Number with a tunnel, and total.
    pub(super) connectors: (usize, usize),
    pub(super) sites: (usize, usize),
    pub(super) ports: (usize, usize),
}

impl Overview {
    /// Makes the overview of this relay.
    pub(super) fn of(service: &Service) -> Self {
        let opener = service.opener.get();
        Self::with(
            service,
            opener.map_or_else(Held::new, Opener::all_held),
            None,
        )
    }

    /// Makes the overview of all relays of its fleet, if it is in one.
    pub(super) fn of_all(service: &Service) -> Self {
        match service.links.get().map(|links| links.overview()) {
            Some(fleet) => Self::with(service, fleet.held(), Some(fleet)),
            None => Self::of(service),
        }
    }

    fn with(service: &Service, held: Held, fleet: Option<FleetOverview>) -> Self {
        let state = service.store.snapshot();
        let mut overview = Self {
            held,
            fleet,
            connectors: (0, state.connectors.len()),
            sites: (0, 0),
            ports: (0, 0),
            state: Arc::clone(&state),
        };
        for (name, connector) in &state.connectors {
            overview.count(name, connector);
        }
        overview
    }

    fn count(&mut self, name: &str, connector: &Connector) {
        let held = self.held.get(name).map_or(&[][..], Vec::as_slice);
        self.connectors.0 += usize::from(!held.is_empty());
        for application in &connector.applications {
            let counts = match application.site {
                Some(_) => &mut self.sites,
                None => &mut self.ports,
            };
            counts.0 += usize::from(held.contains(&application.port));
            counts.1 += 1;
        }
    }

    /// True if a tunnel of the connector holds this port.
    pub(super) fn is_held(&self, connector: &str, port: u16) -> bool {
        self.ports_of(connector).contains(&port)
    }

    fn ports_of(&self, connector: &str) -> &[u16] {
        self.held.get(connector).map_or(&[], Vec::as_slice)
    }
}

/// Filter and order of a page of connectors.
pub(super) struct PageRequest<'a> {
    /// Text in their names, or in the applications; empty for all.
    pub(super) search: &'a str,
    pub(super) order: Order,
    /// Number of connectors to skip.
    pub(super) offset: usize,
    /// Lines after which the page ends: one for each connector and each application.
    pub(super) lines: usize,
}

/// The order of connectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// By the connector's name.
    Id,
    /// By label.
    Name,
    /// Latest call first.
    Called,
    /// Latest visit first.
    Visit,
    /// Most bytes first.
    Traffic,
}

/// Page of connectors.
pub(super) struct ConnectorPage {
    pub(super) connectors: Vec<api::Connector>,
    /// Number of connectors on all pages.
    pub(super) matching: usize,
    /// Offset of the next page, if there is one.
    pub(super) next: Option<usize>,
}

/// A connector with the sum of its applications' traffic.
struct ConnectorRow<'a> {
    name: &'a str,
    connector: &'a Connector,
    passed: Passed,
    /// Label in lower case, if it is sorted by that.
    label: String,
}

impl<'a> ConnectorRow<'a> {
    fn new(service: &Service, name: &'a str, connector: &'a Connector) -> Self {
        let applications = connector.applications.iter();
        let passed = applications.filter_map(|of| service.sites.passed(of));
        Self {
            name,
            connector,
            passed: passed.fold(Passed::default(), Passed::with),
            label: String::new(),
        }
    }

    /// Returns its label, else its name.
    fn label(&self) -> String {
        self.connector.label_or(self.name).to_lowercase()
    }
}

/// Returns a page of the connectors.
pub(super) fn page(
    service: &Service,
    overview: &Overview,
    wanted: &PageRequest<'_>,
) -> ConnectorPage {
    let all = overview.state.connectors.iter();
    let found = all.filter(|(name, connector)| is_found(name, connector, wanted.search));
    let rows = found.map(|(name, connector)| ConnectorRow::new(service, name, connector));
    let mut rows: Vec<ConnectorRow<'_>> = rows.collect();
    sort(&mut rows, wanted.order);
    let mut lines = 0;
    let shown = rows.iter().skip(wanted.offset).take_while(|row| {
        let has_room = lines < wanted.lines;
        lines += 1 + row.connector.applications.len();
        has_room
    });
    let connectors = shown.map(|row| connector_status(service, overview, row));
    let connectors: Vec<api::Connector> = connectors.collect();
    let next = wanted.offset.saturating_add(connectors.len());
    ConnectorPage {
        connectors,
        matching: rows.len(),
        next: (next < rows.len()).then_some(next),
    }
}

/// Sorts with one comparison for all orders: each sort of its own is some kilobytes of the program.
fn sort(rows: &mut [ConnectorRow<'_>], order: Order) {
    let labels: Vec<String> = match order {
        Order::Name => rows.iter().map(ConnectorRow::label).collect(),
        _ => Vec::new(),
    };
    for (row, label) in rows.iter_mut().zip(labels) {
        row.label = label;
    }
    rows.sort_by(|a, b| match order {
        Order::Id => Ordering::Equal,
        Order::Name => a.label.cmp(&b.label),
        Order::Called => b
            .connector
            .called_at
            .get()
            .cmp(&a.connector.called_at.get()),
        Order::Visit => b.passed.last_visit.cmp(&a.passed.last_visit),
        Order::Traffic => b.passed.bytes().cmp(&a.passed.bytes()),
    });
}

/// True if a connector, or one of its applications, contains this text in a name or an address.
fn is_found(name: &str, connector: &Connector, search: &str) -> bool {
    let caller = &connector.caller;
    let of_application = |of: &Application| {
        let site = of.site.as_ref().map_or("", |site| &site.name);
        let texts = [site, &of.display_name, &of.protocol, &of.target];
        texts.into_iter().any(|text| has(text, search))
    };
    let invite = connector.invite.iter();
    let invite = invite.flat_map(|invite| [invite.label.as_str(), &invite.id]);
    let own = [name, &caller.label, &caller.version, &caller.source];
    own.into_iter().chain(invite).any(|text| has(text, search))
        || connector.applications.iter().any(of_application)
}

fn has(text: &str, search: &str) -> bool {
    let (text, search) = (text.as_bytes(), search.as_bytes());
    let mut parts = text.windows(search.len().max(1));
    search.is_empty() || parts.any(|part| part.eq_ignore_ascii_case(search))
}

fn connector_status(
    service: &Service,
    overview: &Overview,
    row: &ConnectorRow<'_>,
) -> api::Connector {
    let connector = row.connector;
    let held = overview.ports_of(row.name);
    let applications = connector.applications.iter();
    let applications = applications.map(|of| {
        let fleet = overview.fleet.as_ref();
        let host = fleet.and_then(|fleet| fleet.ports_host(row.name, of.port));
        let url = match (&of.site, host) {
            (None, Some(host)) => port_url(host, of.port),
            _ => service.urls.application_url(of),
        };
        application_status(service, held, of, &url)
    });
    let fleet = overview.fleet.as_ref();
    let relays = fleet.map(|fleet| fleet.relays_of(row.name).into_iter().map(str::to_owned));
    api::Connector {
        connected: !held.is_empty(),
        relays: relays.map(Iterator::collect),
        quota: api::Quota {
            sites: service.quota.sites,
            mbps: service.quota.mbps,
        },
        figures: figures(row.passed),
        last_visit: rfc3339_of(row.passed.last_visit),
        applications: applications.collect(),
        ..stored(row.name, connector)
    }
}

/// Returns the part that the state has of a connector.
pub(super) fn stored(name: &str, connector: &Connector) -> api::Connector {
    let caller = &connector.caller;
    api::Connector {
        name: name.to_owned(),
        enrolled_at: connector.enrolled_at.clone(),
        called_at: connector.called_at.to_string(),
        label: caller.label.clone(),
        version: caller.version.clone(),
        source: caller.source.clone(),
        invite: connector.invite.clone(),
        ..api::Connector::default()
    }
}

fn application_status(
    service: &Service,
    held: &[u16],
    application: &Application,
    url: &str,
) -> api::Application {
    api::Application {
        url: url.to_owned(),
        connected: held.contains(&application.port),
        ..stored_application(application, service.sites.passed(application))
    }
}

/// Returns the part that the state and the counters have of an application.
pub(super) fn stored_application(
    application: &Application,
    passed: Option<Passed>,
) -> api::Application {
    let asks_for_code = |site: &Site| site.code.is_some() || site.checks_code;
    api::Application {
        app_id: application.app_id.clone(),
        name: application.display_name.clone(),
        protocol: application.protocol.clone(),
        target: application.target.clone(),
        invisible: application.site.as_ref().is_some_and(asks_for_code),
        called_at: application.called_at.to_string(),
        last_visit: passed.and_then(|passed| rfc3339_of(passed.last_visit)),
        figures: passed.map(figures),
        ..api::Application::default()
    }
}

fn figures(passed: Passed) -> Figures {
    Figures {
        requests: passed.requests,
        bytes_in: passed.bytes_in,
        bytes_out: passed.bytes_out,
        visitors: passed.visitors,
        since: rfc3339_of(passed.since),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_finds_parts_in_any_case_and_nothing_finds_all() {
        for (text, search, is_found) in [
            ("Shop-Kiosk", "kiosk", true),
            ("Shop-Kiosk", "KIOSK", true),
            ("Shop-Kiosk", "", true),
            ("", "", true),
            ("", "a", false),
            ("kios", "kiosk", false),
        ] {
            assert_eq!(has(text, search), is_found, "{search} in {text}");
        }
    }
}
