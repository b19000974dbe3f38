//! Host names for which a web server in front may get a certificate, and the connection times of sites, on which that
//! depends.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::setup::Service;
use super::state::{Application, RelayState, cutoff};
use super::state_store::Error;
use crate::store::time::rfc3339;
use crate::sync::Thread;

/// Age at which a connection time is noted again. Default 1 day, of the 30 that count: so the state is rarely saved.
const NOTED_FOR: Duration = Duration::from_secs(24 * 3600);
/// Time in which notes gather, so that many connectors that connect at once are one save. Default 1 s.
const GATHERED_FOR: Duration = Duration::from_secs(1);

/// True if a web server in front may get a certificate for a host name: the domain, a name of the relay, or a site that
/// is connected or was within 30 days. Case does not matter, nor does a dot at the end.
pub(super) fn may_have_certificate(service: &Service, domain: &str) -> bool {
    let name = domain.strip_suffix('.').unwrap_or(domain);
    let (name, urls) = (name.to_ascii_lowercase(), &service.urls);
    if name.parse::<IpAddr>().is_ok() {
        return false;
    }
    if name == urls.domain || urls.own_names().contains(&name) {
        return true;
    }
    let label = name.strip_suffix(&urls.domain);
    let label = label.and_then(|rest| rest.strip_suffix('.'));
    label.is_some_and(|site| leads_somewhere(service, site))
}

fn leads_somewhere(service: &Service, site: &str) -> bool {
    let (state, now) = (service.store.snapshot(), SystemTime::now());
    let mut known = state.applications();
    let holder = known.find(|(_, known)| is_site(known, site));
    was_connected(&state, site, &cutoff(now), &rfc3339(now))
        || holder.is_some_and(|(connector, known)| service.is_connected(connector, known.port))
}

/// True if a site of this name, of its owner or the last one, is known to have been connected between two times, RFC
/// 3339.
fn was_connected(state: &RelayState, site: &str, since: &str, now: &str) -> bool {
    let turned_out = state.turned_out();
    let of_turned_out = turned_out.flat_map(|(_, connector)| connector.applications.iter());
    let known = state.applications().map(|(_, known)| known);
    let had = known
        .chain(of_turned_out)
        .filter(|known| is_site(known, site));
    let kept = state.reserved.values();
    let kept = kept.filter(|kept| kept.site.as_deref() == Some(site));
    had.map(|known| &known.connected_at)
        .chain(kept.map(|kept| &kept.connected_at))
        .any(|at| is_between(at.as_deref(), since, now))
}

fn is_site(application: &Application, name: &str) -> bool {
    let site = application.site.as_ref();
    site.is_some_and(|site| site.name == name)
}

/// True if a time is between two others. A time in the future was noted while the clock was wrong.
fn is_between(at: Option<&str>, since: &str, now: &str) -> bool {
    at.is_some_and(|at| since <= at && at <= now)
}

/// Called when a connector's tunnel for this site has connected or disconnected. Does not block.
pub(super) fn note_connection(service: &Arc<Service>, connector: &str, port: u16) {
    let now = SystemTime::now();
    let since = now.checked_sub(NOTED_FOR).unwrap_or(now);
    let state = service.store.snapshot();
    let known = state.connectors.get(connector);
    let known = known.and_then(|known| known.at_port(port));
    let is_due = known.is_some_and(|known| {
        let noted = known.connected_at.as_deref();
        known.site.is_some() && !is_between(noted, &rfc3339(since), &rfc3339(now))
    });
    if !is_due {
        return;
    }
    let of_thread = Arc::downgrade(service);
    let connects = &service.connects;
    let pending = (connector.to_owned(), port);
    connects.pending.lock().insert(pending);
    let note = move || save_pending(&*of_thread.upgrade()?);
    connects.lookout.begin(Thread::RelayConnects, note);
}

/// Saves the pending notes in the state; none if there are none.
fn save_pending(service: &Service) -> Option<Duration> {
    let pending = std::mem::take(&mut *service.connects.pending.lock());
    if pending.is_empty() {
        return None;
    }
    let now = rfc3339(SystemTime::now());
    let kept = service.store.update_saving(|state| {
        for (connector, port) in &pending {
            set_connected(state, connector, *port, &now);
        }
        Ok::<_, Error>(((), service.store.at_once()))
    });
    if let Err(error) | Ok(((), Err(error))) = kept {
        log::debug!("connection times of sites are not saved: {error}"); // the store has said it once
    }
    Some(GATHERED_FOR)
}

fn set_connected(state: &mut RelayState, connector: &str, port: u16, now: &str) {
    let known = state.connectors.get_mut(connector);
    let mut known = known
        .into_iter()
        .flat_map(|known| known.applications.iter_mut());
    if let Some(site) = known.find(|known| known.port == port) {
        site.connected_at = Some(now.to_owned());
    }
}
