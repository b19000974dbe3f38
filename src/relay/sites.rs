//! The sites as the gateway looks them up, from memory, once a request, and the public ports beside them. Shares with
//! an end time are ended here. A site whose tunnel is at another relay of a fleet is opened there (`peers`).

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::counters::{Kept, Passed};
use super::names;
use super::state::{Application, RelayState};
use crate::gateway::{Code, NotifyOwner, OpenStream, Site, Unreachable, through};
use crate::http::proxy::ByteStream;
use crate::net::{Cidr, is_within};
use crate::store::expiry::{Clocks, Expiry};
use crate::store::time::{parse_seconds, unix_seconds};
use crate::store::{DataDir, Ends};
use crate::sync::{CopyOnWrite, KeyedPermits, Mutex, RwLock, Thread};
use crate::tunnel::server::{Opener, VisitStats};

/// The sites by their names, and the terms of all applications.
#[derive(Default)]
pub(super) struct SiteTable {
    table: RwLock<SiteEntries>,
    /// End times of applications.
    ends: Ends,
    /// Counters as they were saved last, and those of former applications: one may come again.
    traffic: Mutex<SavedTraffic>,
    /// Opens streams through tunnels at other relays; none without a fleet.
    peers: Option<Arc<OnceLock<PeerOpener>>>,
}

/// [`RelayState::traffic`].
pub(super) type SavedTraffic = CopyOnWrite<BTreeMap<String, Kept>>;

/// Opens a stream to what a connector holds at another relay.
pub(super) type PeerOpener =
    Box<dyn Fn(&str, u16) -> Result<Box<dyn ByteStream>, Unreachable> + Send + Sync>;

#[derive(Debug, Default)]
struct SiteEntries {
    /// True if other relays know the same sites.
    is_of_fleet: bool,
    sites: HashMap<String, Arc<Site>>,
    /// Name of each application's site, by the application's id.
    names: HashMap<String, String>,
    /// Requests under way, by the connector's name.
    busy: KeyedPermits<String>,
    /// Terms by the application's id.
    terms: HashMap<String, SiteTerms>,
}

/// Terms on which an application is shared.
#[derive(Debug)]
struct SiteTerms {
    connector: String,
    port: u16,
    /// Stored hash of its site's code.
    code: Option<String>,
    allow: Vec<Cidr>,
    generation: u64,
    /// End time. An application that has ended does not begin again if the clock is set back: its connector has to ask.
    expiry: Option<Expiry>,
    /// Number of times that all visits were ended.
    epoch: u64,
    /// Counters of its public port; none for a site.
    visits: Option<Arc<VisitStats>>,
    /// Start of counting for its port or its site, in seconds since 1970.
    since: u64,
}

/// A share whose visits must end; with its site, or none for a public port.
struct EndedSite(Option<Arc<Site>>);

impl SiteTable {
    /// Makes an empty table; the time that is left to each application is noted in `home`, and counters go on from
    /// `traffic`.
    pub(super) fn new(home: &DataDir, traffic: SavedTraffic, has_others: bool) -> Self {
        let sites = Self {
            peers: has_others.then(Arc::default),
            ends: Ends::open(home),
            traffic: Mutex::new(traffic),
            ..Self::default()
        };
        sites.table.write().is_of_fleet = has_others;
        sites
    }

    /// Sets the way to tunnels at other relays.
    pub(super) fn set_peers(&self, open: PeerOpener) {
        if let Some(peers) = &self.peers {
            // A second one would be of a second fleet.
            let _ = peers.set(open);
        }
    }

    /// Adds or replaces an application; its counters go on. If its terms have changed, or had expired, its open visits
    /// end.
    pub(super) fn put(
        self: &Arc<Self>,
        connector: &str,
        application: &Application,
        opener: &Opener,
    ) {
        let terms = SiteTerms::new(connector, application);
        let kept = self.traffic.lock().get(&application.app_id).copied();
        let kept = kept.map(Passed::from_kept);
        let open = self.open(connector, application.port, opener);
        let (port, holder, of_site) = (application.port, connector.to_owned(), opener.clone());
        let notify_owner: NotifyOwner = Box::new(move |data| of_site.notify(&holder, port, data));
        let mut table = self.table.write();
        let ended = table.put(terms, application, &self.ends, kept, open, notify_owner);
        drop(table);
        if let Some(EndedSite(site)) = ended {
            end_visits(site.as_ref());
            opener.cut_streams(connector, application.port);
        }
        if application.expires.is_some() {
            let (of_thread, opener) = (Arc::downgrade(self), opener.clone());
            self.ends.lookout.begin(Thread::RelayExpiry, move || {
                of_thread.upgrade()?.end_expired(&opener)
            });
        }
    }

    /// Makes the function that opens streams to an application, through a tunnel here or at another relay.
    fn open(&self, connector: &str, port: u16, opener: &Opener) -> OpenStream {
        let here = through(opener.clone(), connector, port);
        let Some(peers) = self.peers.clone() else {
            return here;
        };
        let (connector, opener) = (connector.to_owned(), opener.clone());
        Arc::new(move |wanted| match peers.get() {
            // A tunnel that is not here is no failure.
            Some(peers) if !opener.is_held(&connector, port) => peers(&connector, port),
            Some(peers) => match here(wanted) {
                Err(Unreachable::Tunnel) => peers(&connector, port),
                opened => opened,
            },
            None => here(wanted),
        })
    }

    /// Ends what has expired; returns the time until something else does.
    fn end_expired(&self, opener: &Opener) -> Option<Duration> {
        let now = Clocks::now();
        let (expired, next) = self.ends.take_expired(now);
        for (app_id, _) in expired {
            let Some((connector, port, EndedSite(site))) = self.table.write().end(&app_id, now)
            else {
                continue;
            };
            log::info!("'{connector}': the share at port {port} has expired");
            end_visits(site.as_ref());
            if site.is_some() {
                opener.cut_streams(&connector, port);
            } else {
                // The port is closed with it, and not assigned again.
                opener.cut(&connector, port);
            }
        }
        next
    }

    /// Removes an application, and ends the open visits of its site.
    pub(super) fn remove(&self, application: &Application) {
        if let Some(passed) = self.passed(application) {
            let (app_id, kept) = (application.app_id.clone(), passed.to_kept());
            self.traffic.lock().insert(app_id, kept);
        }
        let mut table = self.table.write();
        let site = table.take_out(&application.app_id);
        table.terms.remove(&application.app_id);
        self.ends.forget(&application.app_id);
        drop(table);
        end_visits(site.as_ref());
    }

    /// Returns the counters to save for the next process: of applications that were visited, and of those that may come
    /// again.
    pub(super) fn traffic(&self, state: &RelayState) -> SavedTraffic {
        let in_use = state
            .applications()
            .filter_map(|(_, of)| Some((of.app_id.clone(), self.passed(of)?)));
        let visited = in_use.filter(|(_, passed)| passed.last_visit > 0);
        let visited = visited.map(|(app_id, passed)| (app_id, passed.to_kept()));
        let may_come = state.turned_out();
        let may_come = may_come.flat_map(|(_, was)| was.applications.iter());
        let mut kept = self.traffic.lock();
        let may_come = may_come.filter_map(|of| kept.get_key_value(&of.app_id));
        let may_come = may_come.map(|(app_id, kept)| (app_id.clone(), *kept));
        let all: BTreeMap<String, Kept> = may_come.chain(visited).collect();
        if **kept != all {
            *kept = all.into();
        }
        kept.clone()
    }

    /// True if an application's time is over.
    pub(super) fn is_over(&self, application: &Application) -> bool {
        let table = self.table.read();
        let terms = table.terms.get(&application.app_id);
        terms.is_some_and(|terms| terms.is_over(Clocks::now()))
    }

    /// True if a visitor may come to an application's public port from this address.
    pub(super) fn may_visit(&self, app_id: &str, address: IpAddr) -> bool {
        let table = self.table.read();
        table.terms.get(app_id).is_some_and(|terms| {
            let is_allowed = terms.allow.is_empty() || is_within(address, &terms.allow);
            is_allowed && !terms.is_over(Clocks::now())
        })
    }

    /// Returns the traffic of an application, counted at its public port or its site.
    pub(super) fn passed(&self, application: &Application) -> Option<Passed> {
        let table = self.table.read();
        let terms = table.terms.get(&application.app_id)?;
        let stats = match &application.site {
            None => terms.visits.as_ref()?,
            Some(site) => &table.sites.get(&site.name)?.stats,
        };
        Some(Passed::of(stats, terms.since))
    }

    /// Number of visitors who are at public ports now.
    pub(super) fn port_visitors(&self) -> u64 {
        let table = self.table.read();
        let ports = table
            .terms
            .values()
            .filter_map(|terms| terms.visits.as_ref());
        ports
            .map(|port| port.visitors.load(Ordering::Relaxed))
            .sum()
    }

    /// Counters of the visitors of an application's public port.
    pub(super) fn visits(&self, application: &Application) -> Option<Arc<VisitStats>> {
        let table = self.table.read();
        table.terms.get(&application.app_id)?.visits.clone()
    }

    /// Returns the site of this name, in lower case.
    pub(super) fn find(&self, site: &str) -> Option<Arc<Site>> {
        self.table.read().sites.get(site).cloned()
    }
}

impl SiteEntries {
    /// Puts a site in its place; returns the former one if its visitors' connections must end.
    fn put(
        &mut self,
        mut terms: SiteTerms,
        application: &Application,
        expiries: &Ends,
        kept: Option<Passed>,
        open: OpenStream,
        notify_owner: NotifyOwner,
    ) -> Option<EndedSite> {
        let before = self.take_out(&application.app_id);
        let was = self.terms.remove(&application.app_id);
        let ends = was.as_ref().is_some_and(|was| was.ends_with(&terms));
        terms.expiry = note_end(expiries, application, was.as_ref());
        if let (Some(kept), Some(visits)) = (kept, &terms.visits) {
            go_on(visits, kept);
        }
        terms.since = kept.map_or_else(unix_seconds, |kept| kept.since);
        if let Some(was) = was {
            terms.since = was.since;
            terms.epoch = was.epoch + u64::from(ends);
            terms.visits = terms.visits.map(|new| was.visits.unwrap_or(new));
        }
        if let Some(site) = &application.site {
            let connector = &*terms.connector;
            let mut made = Site::new(&*site.name, &*application.app_id, open);
            (made.tls, made.notify_owner) = (site.tls, notify_owner);
            let called = &application.display_name;
            made.title = names::is_recognizable_in(&site.name, called).then(|| called.clone());
            made.code = site.code.as_deref().map(code);
            made.allow.clone_from(&terms.allow);
            (made.expiry, made.generation) = (terms.expiry, application.generation);
            made.epoch = if self.is_of_fleet {
                application.generation
            } else {
                terms.epoch
            };
            made.renamed_at = site.since.as_deref().and_then(parse_seconds);
            made.busy = self.busy.of(connector.to_owned());
            if let Some(before) = &before {
                made.stats = Arc::clone(&before.stats);
                if !ends {
                    made.open_visits = Arc::clone(&before.open_visits);
                    made.is_replaced = Arc::clone(&before.is_replaced);
                }
            } else if let Some(kept) = kept {
                go_on(&made.stats, kept);
            }
            self.put_in(made);
        }
        self.terms.insert(application.app_id.clone(), terms);
        ends.then_some(EndedSite(before))
    }

    /// Ends an application that has expired; returns its connector and port, or `None` if it was extended meanwhile.
    fn end(&mut self, app_id: &str, now: Clocks) -> Option<(String, u16, EndedSite)> {
        let terms = self.terms.get_mut(app_id)?;
        let expiry = terms.expiry.as_mut().filter(|expiry| expiry.is_over(now))?;
        *expiry = Expiry::at(SystemTime::UNIX_EPOCH, now);
        let name = self.names.get(app_id);
        let site = name.and_then(|name| self.sites.get(name)).cloned();
        Some((terms.connector.clone(), terms.port, EndedSite(site)))
    }

    fn put_in(&mut self, site: Site) {
        self.names.insert(site.app_id.clone(), site.name.clone());
        self.sites.insert(site.name.clone(), Arc::new(site));
    }

    fn take_out(&mut self, app_id: &str) -> Option<Arc<Site>> {
        let name = self.names.remove(app_id)?;
        let is_its_own = self.sites.get(&name)?.app_id == app_id;
        is_its_own.then(|| self.sites.remove(&name)).flatten()
    }
}

impl SiteTerms {
    fn new(connector: &str, application: &Application) -> Self {
        let site = application.site.as_ref();
        Self {
            connector: connector.to_owned(),
            port: application.port,
            code: site.and_then(|site| site.code.clone()),
            allow: application.allow.clone(),
            generation: application.generation,
            expiry: None,
            epoch: 0,
            visits: site.is_none().then(Arc::default),
            since: 0,
        }
    }

    /// True if it has ended.
    fn is_over(&self, now: Clocks) -> bool {
        self.expiry.is_some_and(|expiry| expiry.is_over(now))
    }

    /// True if visits under these terms end when `new` ones replace them.
    fn ends_with(&self, new: &Self) -> bool {
        let held = |terms: &Self| (terms.code.clone(), terms.allow.clone(), terms.generation);
        held(self) != held(new) || self.is_over(Clocks::now())
    }
}

/// Notes the end time of an application. An end that has passed counts again when its connector asks for it again.
fn note_end(ends: &Ends, application: &Application, was: Option<&SiteTerms>) -> Option<Expiry> {
    let (id, now) = (&application.app_id, Clocks::now());
    if application.expires.is_none() || was.is_some_and(|was| was.is_over(now)) {
        ends.forget(id);
    }
    let expires = application.expires.as_deref()?;
    Some(ends.note(id, expires, false, now))
}

/// Continues counters from saved values.
fn go_on(stats: &VisitStats, kept: Passed) {
    stats.requests.store(kept.requests, Ordering::Relaxed);
    stats.bytes_in.store(kept.bytes_in, Ordering::Relaxed);
    stats.bytes_out.store(kept.bytes_out, Ordering::Relaxed);
    stats.last_visit.store(kept.last_visit, Ordering::Relaxed);
}

/// Returns the code of a stored digest. A digest that cannot be read admits nobody.
fn code(kept: &str) -> Code {
    let digest = STANDARD.decode(kept).ok();
    let digest = digest.and_then(|digest| <[u8; 32]>::try_from(digest).ok());
    Code::of_digest(digest.unwrap_or_default())
}

fn end_visits(site: Option<&Arc<Site>>) {
    if let Some(site) = site {
        site.end_visits();
    }
}
