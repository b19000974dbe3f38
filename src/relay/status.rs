//! What the operator sees: connectors, their applications, and what passes.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use super::setup::Service;
use super::state::{Application, Connector, RelayState};

/// One connector.
#[derive(Debug, Serialize)]
pub(super) struct ConnectorStatus {
    name: String,
    /// Whether it holds anything now.
    connected: bool,
    enrolled_at: String,
    called_at: String,
    applications: Vec<ApplicationStatus>,
}

/// One that was turned out.
#[derive(Debug, Serialize)]
pub(super) struct RevokedStatus {
    pub(super) name: String,
    /// RFC 3339, as the other; each is empty where it is known no more.
    pub(super) revoked_at: String,
    pub(super) enrolled_at: String,
}

/// Who was turned out, in that order.
pub(super) fn revoked(state: &RelayState) -> Vec<RevokedStatus> {
    let status = |name: &String| {
        let known = state.revocations.get(name);
        let connector = known.and_then(|known| known.connector.as_ref());
        RevokedStatus {
            name: name.clone(),
            revoked_at: known.map_or_else(String::new, |known| known.at.clone()),
            enrolled_at: connector.map_or_else(String::new, |was| was.enrolled_at.clone()),
        }
    };
    state.revoked.iter().map(status).collect()
}

/// One application. Stats are counted since the relay started.
#[derive(Debug, Serialize)]
struct ApplicationStatus {
    app_id: String,
    name: String,
    protocol: String,
    target: String,
    url: String,
    invisible: bool,
    connected: bool,
    called_at: String,
    figures: Option<FigureStatus>,
}

#[derive(Debug, Serialize)]
struct FigureStatus {
    /// Of a public port: connections.
    requests: u64,
    bytes_in: u64,
    bytes_out: u64,
    visitors: u64,
}

/// All connectors, by name.
pub(super) fn connectors(service: &Service) -> Vec<ConnectorStatus> {
    let state = service.store.snapshot();
    let status = |(name, connector): (&String, &Connector)| {
        connector_status(service, name.clone(), connector)
    };
    state.connectors.iter().map(status).collect()
}

fn connector_status(service: &Service, name: String, connector: &Connector) -> ConnectorStatus {
    let applications: Vec<ApplicationStatus> = connector
        .applications
        .iter()
        .map(|application| application_status(service, &name, application))
        .collect();
    let holds = applications.iter().any(|application| application.connected);
    ConnectorStatus {
        connected: holds || service.is_connected(&name, connector.api_port),
        name,
        enrolled_at: connector.enrolled_at.clone(),
        called_at: connector.called_at.clone(),
        applications,
    }
}

fn application_status(
    service: &Service,
    connector: &str,
    application: &Application,
) -> ApplicationStatus {
    ApplicationStatus {
        app_id: application.app_id.clone(),
        name: application.display_name.clone(),
        protocol: application.protocol.clone(),
        target: application.target.clone(),
        url: service.urls.application_url(application),
        invisible: application
            .site
            .as_ref()
            .is_some_and(|site| site.code.is_some() || site.checks_code),
        connected: service.is_connected(connector, application.port),
        called_at: application.called_at.clone(),
        figures: figures(service, application),
    }
}

fn figures(service: &Service, application: &Application) -> Option<FigureStatus> {
    let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    if let Some(visits) = service.sites.visits(application) {
        return Some(FigureStatus {
            requests: read(&visits.count),
            bytes_in: read(&visits.bytes_in),
            bytes_out: read(&visits.bytes_out),
            visitors: read(&visits.now),
        });
    }
    let figures = service.sites.figures(application)?;
    Some(FigureStatus {
        requests: read(&figures.requests),
        bytes_in: read(&figures.bytes_in),
        bytes_out: read(&figures.bytes_out),
        visitors: read(&figures.visitors),
    })
}
