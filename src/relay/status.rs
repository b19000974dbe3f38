//! What the operator sees: connectors, their applications, and what passes.

use std::sync::atomic::{AtomicU64, Ordering};

use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde_json::{Value, json};

use super::invites::InvitedBy;
use super::setup::Service;
use super::state::{Application, Connector, RelayState, Site};
use crate::store::time::rfc3339;

/// One that was turned out.
#[derive(Debug, Serialize)]
pub(super) struct RevokedStatus {
    pub(super) name: String,
    /// RFC 3339, as the other; each is empty where it is known no more.
    pub(super) revoked_at: String,
    pub(super) enrolled_at: String,
    /// The name of its machine, as it said.
    pub(super) label: String,
    /// The invite that had let it in, where one did.
    pub(super) invite: Option<InvitedBy>,
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
            label: connector.map_or_else(String::new, |was| was.caller.label.clone()),
            invite: connector.and_then(|was| was.invite.clone()),
        }
    };
    state.revoked.iter().map(status).collect()
}

/// All connectors, by name. What has passed is counted since the relay started.
pub(super) fn connectors(service: &Service) -> Vec<Value> {
    let state = service.store.snapshot();
    let connectors = state.connectors.iter();
    connectors
        .map(|(name, connector)| connector_status(service, name, connector))
        .collect()
}

fn connector_status(service: &Service, name: &str, connector: &Connector) -> Value {
    let holds = |port: u16| service.is_connected(name, port);
    let applications = connector.applications.iter();
    let ports = applications.clone().map(|application| application.port);
    let visits = applications
        .clone()
        .map(|application| last_visit(service, application));
    let last_visit = visits.max().unwrap_or_default();
    let applications =
        applications.map(|application| application_status(service, name, application));
    let caller = &connector.caller;
    json!({
        "name": name,
        "connected": ports.chain([connector.api_port]).any(holds),
        "enrolled_at": connector.enrolled_at,
        "called_at": connector.called_at,
        "label": caller.label,
        "version": caller.version,
        "source": caller.source,
        "invite": connector.invite,
        "quota": {"sites": service.quota.sites, "mbps": service.quota.mbps},
        "last_visit": time_of(last_visit),
        "applications": applications.collect::<Vec<Value>>(),
    })
}

fn application_status(service: &Service, connector: &str, application: &Application) -> Value {
    let asks_for_code = |site: &Site| site.code.is_some() || site.checks_code;
    json!({
        "app_id": application.app_id,
        "name": application.display_name,
        "protocol": application.protocol,
        "target": application.target,
        "url": service.urls.application_url(application),
        "invisible": application.site.as_ref().is_some_and(asks_for_code),
        "connected": service.is_connected(connector, application.port),
        "called_at": application.called_at,
        "last_visit": time_of(last_visit(service, application)),
        "figures": figures(service, application),
    })
}

/// Seconds since 1970 of the last visit since the relay started; 0 without one.
fn last_visit(service: &Service, application: &Application) -> u64 {
    let port = service.sites.visits(application);
    let port = port.map(|port| port.last_visit.load(Ordering::Relaxed));
    let site = || service.sites.figures(application);
    let last = port.or_else(|| Some(site()?.last_visit.load(Ordering::Relaxed)));
    last.unwrap_or_default()
}

/// RFC 3339; none for 0.
fn time_of(seconds: u64) -> Option<String> {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    (seconds > 0).then(|| rfc3339(time))
}

/// Requests of a site, or connections of a public port.
fn figures(service: &Service, application: &Application) -> Option<Value> {
    let json = |counters: [&AtomicU64; 4]| {
        let [requests, bytes_in, bytes_out, visitors] =
            counters.map(|counter| counter.load(Ordering::Relaxed));
        json!({
            "requests": requests,
            "bytes_in": bytes_in,
            "bytes_out": bytes_out,
            "visitors": visitors,
        })
    };
    if let Some(port) = service.sites.visits(application) {
        return Some(json([
            &port.count,
            &port.bytes_in,
            &port.bytes_out,
            &port.now,
        ]));
    }
    let site = service.sites.figures(application)?;
    Some(json([
        &site.requests,
        &site.bytes_in,
        &site.bytes_out,
        &site.visitors,
    ]))
}
