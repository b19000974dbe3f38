//! The sites as the gateway looks them up: from memory, once a request; and the ports beside them. What is given for a
//! time is ended here.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::figures::{Kept, Passed};
use super::names;
use super::state::{Application, RelayState};
use crate::gateway::{Code, NotifyOwner, OpenStream, Site, SiteStats, Unreachable, through};
use crate::http::proxy::ByteStream;
use crate::net::{Cidr, is_within};
use crate::store::expiry::{Clocks, Expiry};
use crate::store::time::{parse_rfc3339, unix_seconds};
use crate::store::{DataDir, Ends};
use crate::sync::{CopyOnWrite, Lookout, Mutex, RwLock};
use crate::tunnel::server::{Opener, PortStats};

/// The sites by their names, and the terms of all applications.
#[derive(Default)]
pub(super) struct SiteTable {
    table: RwLock<SiteEntries>,
    /// Ends what is over.
    lookout: Lookout,
    /// End times that an earlier process has left.
    ends: Ends,
    /// Counters as they were kept last, and those of applications that have gone since: one may come again.
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
    /// The name of each application's site, by the application's id.
    names: HashMap<String, String>,
    /// Requests under way, by the connector's name; where there is none, nothing is kept.
    busy: HashMap<String, Weak<AtomicUsize>>,
    /// By the application's id.
    terms: HashMap<String, SiteTerms>,
}

/// Terms on which an application is shared.
#[derive(Debug)]
struct SiteTerms {
    connector: String,
    port: u16,
    /// Stored hash of the code of its site.
    code: Option<String>,
    allow: Vec<Cidr>,
    generation: u64,
    /// When it ends, as it is stored: another one is another end.
    expires: Option<String>,
    expiry: Option<Expiry>,
    /// Number of times that everything its visitors had was ended.
    epoch: u64,
    /// Counters of its public port; none for a site.
    visits: Option<Arc<PortStats>>,
    /// Since when that, or what its site has had, is counted, in seconds since 1970.
    since: u64,
    /// Its time was over, and what was open has been ended.
    has_ended: bool,
}

/// Site that visitors no longer have, unless it was a public port.
struct EndedSite(Option<Arc<Site>>);

fn end_visits(site: Option<&Arc<Site>>) {
    if let Some(site) = site {
        site.end_visits();
    }
}

impl SiteTable {
    /// Nothing is in it; what is left of each application's time is noted in `home`, and counters go on from `traffic`.
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

    /// Puts an application in, in the place of what it was; its figures go on. Where its terms are others, or were
    /// over, what its visitors have open ends.
    pub(super) fn put(
        self: &Arc<Self>,
        connector: &str,
        application: &Application,
        opener: &Opener,
    ) {
        let expires = application.expires.as_deref();
        let expiry = expires.map(|at| self.ends.expiry(&application.app_id, at, Clocks::now()));
        let mut terms = SiteTerms::new(connector, application);
        terms.expiry = expiry;
        let kept = self.traffic.lock().get(&application.app_id).copied();
        let kept = kept.map(Passed::from_kept);
        let open = self.open(connector, application.port, opener);
        let (port, holder, of_site) = (application.port, connector.to_owned(), opener.clone());
        let notify_owner: NotifyOwner = Box::new(move |data| of_site.notify(&holder, port, data));
        let mut table = self.table.write();
        let ended = table.put(terms, application, kept, open, notify_owner);
        drop(table);
        if let Some(EndedSite(site)) = ended {
            end_visits(site.as_ref());
            opener.cut_streams(connector, application.port);
        }
        if application.expires.is_some() {
            let (of_thread, opener) = (Arc::downgrade(self), opener.clone());
            self.lookout.begin("relay-expiry", move || {
                of_thread.upgrade()?.end_what_is_over(&opener)
            });
        }
    }

    /// Leads to an application, through a tunnel here or elsewhere.
    fn open(&self, connector: &str, port: u16, opener: &Opener) -> OpenStream {
        let here = through(opener.clone(), connector, port);
        let Some(peers) = self.peers.clone() else {
            return here;
        };
        let (connector, opener) = (connector.to_owned(), opener.clone());
        Arc::new(move |wanted| match peers.get() {
            // That it is not here is no failure.
            Some(peers) if !opener.is_held(&connector, port) => peers(&connector, port),
            Some(peers) => match here(wanted) {
                Err(Unreachable::Tunnel) => peers(&connector, port),
                opened => opened,
            },
            None => here(wanted),
        })
    }

    /// Ends what is over; the time until something else is.
    fn end_what_is_over(&self, opener: &Opener) -> Option<Duration> {
        let now = Clocks::now();
        let over = self.table.write().take_over(now);
        for (connector, port, EndedSite(site)) in over {
            log::info!("'{connector}': the share at port {port} has expired");
            end_visits(site.as_ref());
            if site.is_some() {
                opener.cut_streams(&connector, port);
            } else {
                // The port is closed with it, and not given again.
                opener.cut(&connector, port);
            }
        }
        let waiting: Vec<(String, String, Expiry)> = self.table.read().waiting().collect();
        self.ends.note(&waiting, now);
        waiting.iter().map(|(_, _, expiry)| expiry.left(now)).min()
    }

    /// Takes an application out, and ends what visitors of its site have open.
    pub(super) fn remove(&self, application: &Application) {
        if let Some(passed) = self.passed(application) {
            let (app_id, kept) = (application.app_id.clone(), passed.to_kept());
            self.traffic.lock().insert(app_id, kept);
        }
        let mut table = self.table.write();
        let site = table.take_out(&application.app_id);
        table.terms.remove(&application.app_id);
        drop(table);
        end_visits(site.as_ref());
    }

    /// Counters to be kept for the next process: of applications that were visited, and of those that may come again.
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

    /// Returns the traffic of an application, as its public port or its site counts it.
    pub(super) fn passed(&self, application: &Application) -> Option<Passed> {
        let table = self.table.read();
        let terms = table.terms.get(&application.app_id)?;
        let counters = match &application.site {
            None => of_port(terms.visits.as_ref()?),
            Some(site) => of_site(&table.sites.get(&site.name)?.figures),
        };
        Some(Passed::of(counters, terms.since))
    }

    /// Visitors who are at public ports now.
    pub(super) fn port_visitors(&self) -> u64 {
        let table = self.table.read();
        let ports = table
            .terms
            .values()
            .filter_map(|terms| terms.visits.as_ref());
        ports.map(|port| port.now.load(Ordering::Relaxed)).sum()
    }

    /// Where the visitors of an application's public port count.
    pub(super) fn visits(&self, application: &Application) -> Option<Arc<PortStats>> {
        let table = self.table.read();
        table.terms.get(&application.app_id)?.visits.clone()
    }

    /// The site of this name, in lower case.
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
        kept: Option<Passed>,
        open: OpenStream,
        notify_owner: NotifyOwner,
    ) -> Option<EndedSite> {
        let before = self.take_out(&application.app_id);
        let was = self.terms.remove(&application.app_id);
        let ends = was.as_ref().is_some_and(|was| was.ends_with(&terms));
        if let (Some(kept), Some(visits)) = (kept, &terms.visits) {
            go_on(of_port(visits), kept);
        }
        terms.since = kept.map_or_else(unix_seconds, |kept| kept.since);
        if let Some(was) = was {
            terms.since = was.since;
            if was.expires == terms.expires && !was.is_over(Clocks::now()) {
                // An end that was seen stays where it is.
                terms.expiry = was.expiry;
            }
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
            made.renamed_at = site.since.as_deref().and_then(seconds_of);
            made.busy = self.busy(connector);
            if let Some(before) = &before {
                made.figures = Arc::clone(&before.figures);
                if !ends {
                    made.open_visits = Arc::clone(&before.open_visits);
                    made.is_replaced = Arc::clone(&before.is_replaced);
                }
            } else if let Some(kept) = kept {
                go_on(of_site(&made.figures), kept);
            }
            self.put_in(made);
        }
        self.terms.insert(application.app_id.clone(), terms);
        ends.then_some(EndedSite(before))
    }

    /// The applications that end by themselves and have not: id, end as it is stored, end.
    fn waiting(&self) -> impl Iterator<Item = (String, String, Expiry)> {
        let terms = self.terms.iter().filter(|(_, terms)| !terms.has_ended);
        terms.filter_map(|(id, terms)| Some((id.clone(), terms.expires.clone()?, terms.expiry?)))
    }

    /// Connector and port of those whose time is over now; each is told once.
    fn take_over(&mut self, now: Clocks) -> Vec<(String, u16, EndedSite)> {
        let terms = self.terms.iter_mut();
        let over = terms.filter(|(_, terms)| !terms.has_ended && terms.is_over(now));
        over.map(|(app_id, terms)| {
            terms.has_ended = true;
            let name = self.names.get(app_id);
            let site = name.and_then(|name| self.sites.get(name)).cloned();
            (terms.connector.clone(), terms.port, EndedSite(site))
        })
        .collect()
    }

    fn put_in(&mut self, site: Site) {
        self.names.insert(site.app_id.clone(), site.name.clone());
        self.sites.insert(site.name.clone(), Arc::new(site));
    }

    fn busy(&mut self, connector: &str) -> Arc<AtomicUsize> {
        if let Some(busy) = self.busy.get(connector).and_then(Weak::upgrade) {
            return busy;
        }
        self.busy.retain(|_, busy| busy.strong_count() > 0);
        let busy = Arc::default();
        self.busy
            .insert(connector.to_owned(), Arc::downgrade(&busy));
        busy
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
            expires: application.expires.clone(),
            expiry: None,
            epoch: 0,
            visits: site.is_none().then(Arc::default),
            since: 0,
            has_ended: false,
        }
    }

    /// True if it has ended. It does not begin again if the clock is set back: its connector has to ask.
    fn is_over(&self, now: Clocks) -> bool {
        self.has_ended || self.expiry.is_some_and(|expiry| expiry.is_over(now))
    }

    /// True if what visitors had by these terms ends where `new` ones take their place.
    fn ends_with(&self, new: &Self) -> bool {
        let held = |terms: &Self| (terms.code.clone(), terms.allow.clone(), terms.generation);
        held(self) != held(new) || self.is_over(Clocks::now())
    }
}

/// In the order that [`Passed::of`] takes.
fn of_port(stats: &PortStats) -> [&AtomicU64; 5] {
    let (count, now) = (&stats.count, &stats.now);
    [
        count,
        &stats.bytes_in,
        &stats.bytes_out,
        now,
        &stats.last_visit,
    ]
}

/// Counters of a site.
fn of_site(stats: &SiteStats) -> [&AtomicU64; 5] {
    let (requests, visitors) = (&stats.requests, &stats.visitors);
    [
        requests,
        &stats.bytes_in,
        &stats.bytes_out,
        visitors,
        &stats.last_visit,
    ]
}

/// Counts on from what was counted before.
fn go_on([requests, bytes_in, bytes_out, _, last_visit]: [&AtomicU64; 5], kept: Passed) {
    requests.store(kept.requests, Ordering::Relaxed);
    bytes_in.store(kept.bytes_in, Ordering::Relaxed);
    bytes_out.store(kept.bytes_out, Ordering::Relaxed);
    last_visit.store(kept.last_visit, Ordering::Relaxed);
}

/// Seconds since 1970 of a time.
fn seconds_of(time: &str) -> Option<u64> {
    let since = parse_rfc3339(time)?.duration_since(SystemTime::UNIX_EPOCH);
    Some(since.ok()?.as_secs())
}

/// The code whose digest is kept. One that cannot be read admits nobody.
fn code(kept: &str) -> Code {
    let digest = STANDARD.decode(kept).ok();
    let digest = digest.and_then(|digest| <[u8; 32]>::try_from(digest).ok());
    Code::of_digest(digest.unwrap_or_default())
}
