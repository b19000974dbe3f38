//! The active connections: a guarded map with one entry per application, each with a thread of its own. Beside them are
//! the outages of servers, for the log, and the servers' tunnel addresses.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TryRecvError};

use super::error::{ConnectError, Ended};
use super::record::{ConnectionOwner, ConnectionRecord, RecordNumbers};
use super::state::{ConnectResult, ConnectionState, Event, HostKey};
use crate::api::{ErrorClass, Whose};
use crate::manager::apps::app::AppConfig;
use crate::manager::quick_setup::Setup;
use crate::store::time::in_words;
use crate::sync::{Changes, Mutex, MutexGuard};
use crate::tunnel::client::Pauses;
use crate::tunnel::registry::TunnelKey;
use crate::tunnel::ws::Endpoint;

/// Maximum number of connections, including those that wait for their next round: each holds a tunnel and some threads.
pub const MAX_ACTIVE: usize = crate::limits::CONNECTED;
/// Pause before the first question for a missed server's address, and after it. Default 10 s: most restarts are over by
/// then.
const FIRST_PAUSE: Duration = Duration::from_secs(10);
/// Longest pause between such questions. Default 60 s: one call a minute is little to a server.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// All connections of a process.
#[derive(Default)]
pub(crate) struct Connections {
    map: Mutex<ConnectionMap>,
    /// Tunnel addresses of the servers.
    pub(super) addresses: ServerAddresses,
}

#[derive(Default)]
struct ConnectionMap {
    active: HashMap<String, Arc<ConnectionRecord>>,
    /// Ended connections that still release what they hold, by application.
    ending: HashMap<String, Receiver<()>>,
    /// The last connections of expired applications, for their final counts.
    expired: HashMap<String, Arc<ConnectionRecord>>,
    /// Changes of applications that are, were or are to be connected.
    changes: HashMap<String, Arc<Changes>>,
    /// The last numbers of requests and statements of connections that were ended.
    numbers: HashMap<String, RecordNumbers>,
    /// Servers that are away.
    outages: Outages,
    /// Attempts that failed since the program started, by cause.
    failures: BTreeMap<&'static str, u64>,
    /// Applications that were connected since the program started.
    were_connected: HashSet<String>,
    is_closed: bool,
}

/// Parameters of a connection's thread.
pub(super) struct NewConnection {
    pub(super) record: ConnectionOwner,
    /// Closed when the application's earlier connection has given back what it held.
    pub(super) predecessor: Option<Receiver<()>>,
    /// Dropped when the thread has given back everything.
    pub(super) working: Sender<()>,
}

impl Connections {
    /// Begins a connection, unless there is one; returns its status. `spawn` starts its thread.
    pub(super) fn connect(
        &self,
        app: &AppConfig,
        spawn: impl FnOnce(NewConnection) -> io::Result<()>,
    ) -> Result<ConnectionState, ConnectError> {
        let mut map = self.map();
        if map.is_closed {
            return Err(ConnectError::local("the program is ending"));
        }
        let state = map
            .active
            .get(&app.id)
            .map_or(ConnectionState::Idle, |active| active.state());
        let Some(next) = state.on(Event::Connect) else {
            return Ok(state);
        };
        if map.count_others(&app.id) >= MAX_ACTIVE {
            *map.failures.entry(ErrorClass::Limit.code()).or_default() += 1;
            let full = format!("limit of {MAX_ACTIVE} connections reached; disconnect one first");
            return Err(ConnectError::new(ErrorClass::Limit, full));
        }
        map.begin(app, spawn).map_err(|error| {
            ConnectError::local(format!("no thread for the connection: {error}"))
        })?;
        Ok(next)
    }

    /// Ends an application's connection in any state; returns a channel that is closed when everything is given back.
    pub(crate) fn disconnect(&self, id: &str) -> Option<Receiver<()>> {
        let ended = self.map().end(id)?;
        Some(ended.done.clone())
    }

    /// Ends the connection of an expired application. Its final counts are kept until there is another connection.
    pub(crate) fn expire(&self, id: &str) {
        let mut map = self.map();
        if let Some(ended) = map.end(id) {
            map.expired.insert(id.to_owned(), ended);
        }
    }

    /// The result of an expired application.
    pub(crate) fn expired(&self, id: &str) -> ConnectResult {
        let last = self.map().expired.get(id).cloned();
        last.map_or_else(ConnectResult::expired, |last| last.expired())
    }

    /// The connection of an application, or the last one if it has expired.
    pub(crate) fn find_last(&self, id: &str) -> Option<Arc<ConnectionRecord>> {
        let map = self.map();
        map.active.get(id).or_else(|| map.expired.get(id)).cloned()
    }

    /// The connection of an application.
    pub(crate) fn find(&self, id: &str) -> Option<Arc<ConnectionRecord>> {
        self.map().active.get(id).cloned()
    }

    /// Result of an application's connection, failed ones included; none if it is being ended. With `saved` it is
    /// compared with the saved settings.
    pub(crate) fn result(&self, id: &str, saved: Option<&AppConfig>) -> Option<ConnectResult> {
        let result = self.find(id)?.result(saved);
        Some(result).filter(|result| result.status != ConnectionState::Disconnected)
    }

    /// Number of connections of each status through the server with this origin. The server sees these counts, so they
    /// contain no others.
    pub(crate) fn counts(&self, origin: &str) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::from([("connecting", 0), ("connected", 0), ("failed", 0)]);
        for state in self.through(origin).into_values() {
            if let Some(count) = counts.get_mut(state.name()) {
                *count += 1;
            }
        }
        counts
    }

    /// Host keys that tunnels of connections report as changed.
    pub(crate) fn changed_host_keys(&self) -> Vec<HostKey> {
        let all = self.all();
        all.iter()
            .filter_map(|active| active.result(None).host_key)
            .collect()
    }

    /// States of the connections through the server with this origin, failed ones included, by application.
    pub(crate) fn through(&self, origin: &str) -> BTreeMap<String, ConnectionState> {
        let map = self.map();
        let there = map
            .active
            .iter()
            .filter(|(_, active)| active.is_through(origin));
        there
            .map(|(id, active)| (id.clone(), active.state()))
            .collect()
    }

    /// Retries connections that wait for another host key of this tunnel server to be trusted.
    pub(crate) fn retry_with_trusted_key(&self, server: &str) {
        for active in self.all() {
            active.retry_with_trusted_key(server);
        }
    }

    /// Notes that the server with this origin is away or refuses; logs it once until it is back, with the number of
    /// applications that go through it. True if it was logged now.
    pub(crate) fn note_server_away(&self, origin: &str, class: ErrorClass, why: &str) -> bool {
        let mut map = self.map();
        let is_news = !map.is_closed && map.outages.begin(origin, class, Instant::now());
        let through = is_news.then(|| map.in_words_through(origin));
        // The reader of the log may be slow.
        drop(map);
        if let Some(through) = through {
            log::warn!("{origin}: {why}; {through}");
        }
        is_news
    }

    /// Refusal from the server with this origin if it revoked the connector.
    pub(crate) fn revocation(&self, origin: &str) -> Option<ConnectResult> {
        let mut results = self.all_through(origin).map(|active| active.result(None));
        results.find(|result| result.class() == ErrorClass::Revoked.code())
    }

    /// Notes that one tunnel to the server with this origin is up, so that the others can be.
    pub(crate) fn note_server_answers(&self, origin: &str) {
        self.addresses.end_search(origin);
        self.all_through(origin)
            .for_each(|active| active.retry_unless_refused());
    }

    /// Ends all pauses, after the machine has slept.
    pub(crate) fn wake_all(&self) {
        for active in self.all() {
            active.retry_unless_refused();
        }
    }

    /// Retries connections through the server with this origin: its main tunnel is up.
    pub(crate) fn retry_for_returned_server(&self, origin: &str) {
        let mut map = self.map();
        let away = map.outages.end(origin, Instant::now());
        let news = away.map(|away| (in_words(away), map.in_words_through(origin)));
        drop(map);
        if let Some((away, through)) = news {
            log::warn!("{origin}: reconnected after {away}; {through}");
        }
        for active in self.all_through(origin) {
            active.retry_for_returned_server();
        }
    }

    /// Called when an application was changed.
    pub(crate) fn notify_application_changed(&self, id: &str) {
        if let Some(active) = self.find(id) {
            active.notify_application_changed();
            active.changes_shown.note();
        }
    }

    /// The changes of an application, and of its connection.
    pub(crate) fn changes(&self, id: &str) -> Arc<Changes> {
        let mut map = self.map();
        Arc::clone(map.changes.entry(id.to_owned()).or_default())
    }

    /// Applies a change and waits until it holds for visitors. False if the server has not confirmed it.
    pub(crate) fn follow_change(&self, app: &AppConfig, deadline: Instant) -> bool {
        let active = self.find(&app.id);
        active.is_none_or(|active| active.follows_change(app, deadline))
    }

    /// Called when the saved server with this origin, or the default server, was changed.
    pub(crate) fn notify_server_changed(&self, origin: &str) {
        for active in self.all() {
            // A connection that found no server has an empty origin.
            if active.is_through(origin) || active.is_through("") {
                active.notify_application_changed();
            }
        }
    }

    /// Notes that an application is connected.
    pub(crate) fn note_connected(&self, id: &str) {
        self.map().were_connected.insert(id.to_owned());
    }

    /// Counts a failed attempt to connect by its cause.
    pub(super) fn note_failure(&self, cause: ErrorClass) {
        *self.map().failures.entry(cause.code()).or_default() += 1;
    }

    /// Attempts that failed since the program started, by cause.
    pub(crate) fn failures(&self) -> BTreeMap<&'static str, u64> {
        self.map().failures.clone()
    }

    /// True if it was connected since the program started.
    pub(crate) fn was_connected(&self, id: &str) -> bool {
        self.map().were_connected.contains(id)
    }

    /// Forgets an application that was removed.
    pub(crate) fn forget(&self, id: &str) {
        let mut map = self.map();
        map.were_connected.remove(id);
        map.expired.remove(id);
        map.numbers.remove(id);
        if let Some(changes) = map.changes.remove(id) {
            changes.note();
        }
    }

    /// Ends all connections and lets none begin. Does not wait.
    pub(crate) fn begin_close(&self) {
        let ids: Vec<String> = {
            let mut map = self.map();
            map.is_closed = true;
            map.active.keys().cloned().collect()
        };
        for id in ids {
            self.disconnect(&id);
        }
    }

    /// Waits until all ended connections have given back what they held; false if that took too long.
    pub(crate) fn finish_close(&self, deadline: Instant) -> bool {
        let ending: Vec<Receiver<()>> = self.map().ending.values().cloned().collect();
        ending
            .iter()
            .all(|done| !matches!(done.recv_deadline(deadline), Err(RecvTimeoutError::Timeout)))
    }

    fn all_through(&self, origin: &str) -> impl Iterator<Item = Arc<ConnectionRecord>> {
        let all = self.all().into_iter();
        all.filter(move |active| active.is_through(origin))
    }

    fn all(&self) -> Vec<Arc<ConnectionRecord>> {
        self.map().active.values().cloned().collect()
    }

    fn map(&self) -> MutexGuard<'_, ConnectionMap> {
        self.map.lock()
    }
}

impl ConnectionMap {
    /// Ends an application's connection in any state.
    fn end(&mut self, id: &str) -> Option<Arc<ConnectionRecord>> {
        let active = self.active.remove(id)?;
        active.stop();
        self.numbers.insert(id.to_owned(), active.numbers());
        let server = active.server();
        // The return of a server is not logged if no connection goes through it any more.
        if !self.active.values().any(|other| other.is_through(&server)) {
            self.outages.end(&server, Instant::now());
        }
        self.ending.insert(id.to_owned(), active.done.clone());
        Some(active)
    }

    /// Text with the number of applications that are, or are to be, connected through a server.
    fn in_words_through(&self, origin: &str) -> String {
        let through =
            |active: &&Arc<ConnectionRecord>| active.is_through(origin) && active.has_place();
        match self.active.values().filter(through).count() {
            1 => "affects 1 application".to_owned(),
            count => format!("affects {count} applications"),
        }
    }

    /// Number of other applications that count toward the limit.
    fn count_others(&self, id: &str) -> usize {
        let others = self.active.iter().filter(|(other, _)| *other != id);
        others.filter(|(_, active)| active.has_place()).count()
    }

    fn begin(
        &mut self,
        app: &AppConfig,
        spawn: impl FnOnce(NewConnection) -> io::Result<()>,
    ) -> io::Result<()> {
        self.ending
            .retain(|_, done| done.try_recv() == Err(TryRecvError::Empty));
        let replaced = self.active.get(&app.id).map(|failed| {
            // The failed connection may be waiting for its next round.
            failed.stop();
            (failed.done.clone(), failed.numbers())
        });
        let ended = self.numbers.get(&app.id).copied();
        let (replaced, numbers) = replaced.unzip();
        let numbers = numbers.or(ended).unwrap_or_default();
        let predecessor = replaced.or_else(|| self.ending.get(&app.id).cloned());
        let (working, done) = crossbeam_channel::bounded(0);
        let changes = Arc::clone(self.changes.entry(app.id.clone()).or_default());
        let owner = ConnectionOwner::begin(numbers, app, done, changes);
        let record = owner.shared();
        spawn(NewConnection {
            record: owner,
            predecessor,
            working,
        })?;
        self.expired.remove(&app.id);
        self.active.insert(app.id.clone(), record);
        Ok(())
    }
}

/// Servers that are away, by origin. An outage is logged once when it begins and once when it ends, however many
/// applications are connected through the server.
#[derive(Default)]
pub(super) struct Outages(HashMap<String, Outage>);

struct Outage {
    since: Instant,
    /// Kinds of failure that were logged; a new kind is logged too.
    logged: Vec<Option<ErrorClass>>,
}

impl Outages {
    /// Notes that a server is unreachable or refuses; true if that is to be logged.
    pub(super) fn begin(&mut self, origin: &str, class: ErrorClass, now: Instant) -> bool {
        let outage = self.0.entry(origin.to_owned()).or_insert_with(|| Outage {
            since: now,
            logged: Vec::new(),
        });
        let kind = kind(class);
        // A server that becomes unreachable is still in the same outage, whatever it answered before.
        let is_news =
            outage.logged.is_empty() || (kind.is_some() && !outage.logged.contains(&kind));
        if is_news {
            outage.logged.push(kind);
        }
        is_news
    }

    /// Notes that a server is back; returns the time it was away, if an outage was noted.
    pub(super) fn end(&mut self, origin: &str, now: Instant) -> Option<Duration> {
        let outage = self.0.remove(origin)?;
        Some(now.saturating_duration_since(outage.since))
    }
}

/// Kind of a failure by the user's possible action; none for every failure to reach a server.
fn kind(class: ErrorClass) -> Option<ErrorClass> {
    use ErrorClass::{PortHeld, Refused};
    let is_away = class.row().whose == Whose::Away || matches!(class, Refused | PortHeld);
    Some(class).filter(|_| !is_away)
}

/// True if a failure is the server's, and so concerns all its applications.
pub(super) fn is_of_server(class: ErrorClass) -> bool {
    let whose = class.row().whose;
    matches!(whose, Whose::Away | Whose::Server) || class == ErrorClass::Forbidden
}

/// Tunnel addresses from the servers' last answers, by origin. A server that is missed at its address may have moved,
/// so one of the applications connected through it asks again, for all of them.
#[derive(Default)]
pub(super) struct ServerAddresses(Mutex<HashMap<String, AddressEntry>>);

/// Host, port and URL.
type TunnelAddress = (String, Option<u16>, Option<Endpoint>);

struct AddressEntry {
    /// Address in the server's last answer.
    named: TunnelAddress,
    pauses: Pauses,
    /// Earliest time of the next question; none while the server is not missed.
    ask: Option<Instant>,
}

impl ServerAddresses {
    /// Notes an answer of the server.
    pub(super) fn note(&self, origin: &str, setup: &Setup) {
        let mut places = self.0.lock();
        let place = places
            .entry(origin.to_owned())
            .or_insert_with(|| AddressEntry {
                named: Default::default(),
                pauses: Pauses::new(FIRST_PAUSE, LONGEST_PAUSE),
                ask: None,
            });
        place.named = named_by(setup);
    }

    /// True if a later answer than this one named another address.
    pub(super) fn is_elsewhere(&self, origin: &str, setup: &Setup) -> bool {
        let places = self.0.lock();
        let place = places.get(origin);
        place.is_some_and(|place| place.named != named_by(setup))
    }

    /// True for one of the connections that miss the server, once after each pause; the pauses differ at random.
    pub(super) fn begin_ask_if_due(&self, origin: &str, now: Instant) -> bool {
        let mut places = self.0.lock();
        let Some(place) = places.get_mut(origin) else {
            return false;
        };
        let is_due = place.ask.is_some_and(|at| at <= now);
        if is_due || place.ask.is_none() {
            place.ask = Some(now + place.pauses.next());
        }
        is_due
    }

    /// Called when the server is no longer missed.
    pub(super) fn end_search(&self, origin: &str) {
        if let Some(place) = self.0.lock().get_mut(origin) {
            place.pauses.reset();
            place.ask = None;
        }
    }
}

fn named_by(setup: &Setup) -> TunnelAddress {
    let named = setup.connector.clone();
    (named.external_ip, named.tunnel_port, named.tunnel_url)
}

/// Time for another application's connection to leave a remote port: closing a tunnel takes one at most.
const PORT_WAIT: Duration = Duration::from_secs(2);
/// Pause between two checks of a port.
const PORT_POLL: Duration = Duration::from_millis(20);

/// All reserved ports.
#[derive(Clone, Default)]
pub(crate) struct PortReservations(Arc<Mutex<HashSet<TunnelKey>>>);

/// A remote port of one connection; left when this is dropped.
pub(super) struct PortReservation {
    ports: PortReservations,
    key: TunnelKey,
}

impl PortReservations {
    /// Reserves a port, waiting for one that is just being left.
    pub(super) fn reserve(
        &self,
        key: &TunnelKey,
        stopped: &Receiver<()>,
    ) -> Result<PortReservation, Ended> {
        let deadline = Instant::now() + PORT_WAIT;
        while !self.0.lock().insert(key.clone()) {
            if stopped.recv_timeout(PORT_POLL) != Err(RecvTimeoutError::Timeout) {
                return Err(Ended::Stopped);
            }
            if Instant::now() >= deadline {
                let taken = "the relay assigned a port that another application uses";
                return Err(ConnectError::new(ErrorClass::QuickSetup, taken).into());
            }
        }
        Ok(PortReservation {
            ports: self.clone(),
            key: key.clone(),
        })
    }
}

impl Drop for PortReservation {
    fn drop(&mut self) {
        self.ports.0.lock().remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manager::apps::app_input::AppInput;
    use crate::manager::remote::tests::setup;

    /// Between the stop signal and the end of the record, the answer is that of a moment later.
    #[test]
    fn an_application_is_never_shown_as_disconnected() {
        let connections = Connections::default();
        let app = AppInput::parse(&serde_json::json!({"protocol": "http"}), true);
        let app = app.unwrap().into_new();
        let active = ConnectionOwner::begin(
            RecordNumbers::default(),
            &app,
            crossbeam_channel::bounded(0).1,
            Arc::default(),
        )
        .shared();
        let of_map = Arc::clone(&active);
        connections.map().active.insert("id".into(), of_map);
        assert_eq!(
            connections.result("id", None).map(|shown| shown.status),
            Some(ConnectionState::Connecting)
        );
        active.stop();
        assert!(connections.result("id", None).is_none());
    }

    #[test]
    fn an_outage_is_told_once_and_a_refusal_within_it_once_more() {
        let (mut outages, now) = (Outages::default(), Instant::now());
        assert!(outages.begin("a", ErrorClass::Network, now));
        assert!(
            !outages.begin("a", ErrorClass::Network, now)
                && !outages.begin("a", ErrorClass::Dns, now)
        );
        assert!(outages.begin("b", ErrorClass::Dns, now));
        assert!(outages.begin("a", ErrorClass::HostKeyChanged, now));
        assert!(!outages.begin("a", ErrorClass::HostKeyChanged, now));
        let later = now + Duration::from_secs(125);
        assert!(!outages.begin("a", ErrorClass::Network, later));
        assert_eq!(outages.end("a", later), Some(Duration::from_secs(125)));
        assert!(outages.end("a", later).is_none());
        assert!(outages.begin("a", ErrorClass::Network, later));
    }

    #[test]
    fn one_asks_for_all_after_each_pause_and_the_others_learn_of_the_answer() {
        let (places, begun) = (ServerAddresses::default(), Instant::now());
        let (before, mut after) = (setup("user"), setup("user"));
        after.connector.external_ip = "127.0.0.2".into();
        assert!(!places.begin_ask_if_due("a", begun), "it never answered");
        places.note("a", &before);
        let asked = (0..240).filter(|second| {
            let now = begun + Duration::from_secs(*second);
            // Two applications miss it each second.
            let asks = [(); 2].map(|()| places.begin_ask_if_due("a", now));
            assert_ne!(asks, [true, true]);
            asks[0] && *second > 0
        });
        let asked = asked.collect::<Vec<_>>();
        assert!((8..=11).contains(&asked[0]), "{asked:?}");
        assert!((5..=7).contains(&asked.len()), "{asked:?}");
        assert!(!places.is_elsewhere("a", &before) && !places.is_elsewhere("b", &before));
        places.note("a", &after);
        assert!(places.is_elsewhere("a", &before) && !places.is_elsewhere("a", &after));
        places.end_search("a");
        assert!(!places.begin_ask_if_due("a", begun + Duration::from_secs(500)));
    }
}
