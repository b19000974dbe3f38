//! Two tunnels to relays of one fleet that act as one, which is connected as long as either is. If one relay is away
//! for long, another takes its place.

use std::io;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

pub use super::client::Alternate;
use super::client::{Failure, OnFailed, Settings, Snapshot, Status, Stopper, Tunnel};
use crate::sync::Mutex;

/// Time after which a relay that is away is replaced, while the other is connected. Default 60 s: a restart is over by
/// then, and a relay that is back has its tunnels at once.
const AWAITED: Duration = Duration::from_secs(60);
/// Time after which a relay is replaced while none is connected, and visitors find nobody. Default 5 s.
const AWAITED_ALONE: Duration = Duration::from_secs(5);

/// The longest pause before a relay of a fleet is tried again. Default 5 s: half of that of a tunnel alone.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// A tunnel, or two of which one is enough. Dropping it stops both.
pub struct TunnelGroup {
    tunnels: Mutex<Tunnels>,
    fleet: Option<FleetView>,
}

/// Tunnels at work: one alone, or in a fleet one for each [`TunnelSlot`].
struct Tunnels {
    first: Arc<Tunnel>,
    second: Option<Arc<Tunnel>>,
    is_stopping: bool,
}

/// View of a fleet's tunnels for their owner; their threads keep it up.
struct FleetView {
    joint: Weak<GroupShared>,
    ended: Receiver<()>,
    /// Settings of a tunnel to another relay.
    pattern: Settings,
}

/// State that two tunnels' threads share.
struct GroupShared {
    state: Mutex<GroupState>,
    on_connected: Option<Box<dyn Fn() + Send + Sync>>,
    on_failed: Option<OnFailed>,
    /// Dropped with the last of them.
    _working: Sender<()>,
}

struct GroupState {
    first: TunnelSlot,
    second: TunnelSlot,
    /// Dropped when one is connected where none was, which closes the channel.
    signal: Option<Sender<()>>,
    connected: Receiver<()>,
    since: Option<SystemTime>,
    /// Number of times that a tunnel was up while none was before.
    connections: u64,
}

/// Place for one of the two tunnels.
struct TunnelSlot {
    /// Its server's address; empty if there is none yet.
    server: String,
    /// Number of its tunnel: reports of earlier ones are ignored.
    number: u64,
    /// Time at which it was lost, or made; none while it is connected.
    away: Option<Instant>,
    /// True if its failure was logged.
    is_logged: bool,
    stopper: Option<Stopper>,
    has_ended: bool,
}

/// One tunnel's side, as long as its thread runs.
struct TunnelSide {
    joint: Arc<GroupShared>,
    is_second: bool,
    number: u64,
}

impl TunnelGroup {
    /// Starts a tunnel, and in a fleet another one to the first of the other relays, if there are any. Does not wait
    /// for a connection.
    pub fn start(mut settings: Settings, others: Option<Vec<Alternate>>) -> io::Result<Self> {
        let alone = |tunnel| Tunnels {
            first: Arc::new(tunnel),
            second: None,
            is_stopping: false,
        };
        let Some(others) = others else {
            return Ok(Self {
                tunnels: Mutex::new(alone(Tunnel::start(settings)?)),
                fleet: None,
            });
        };
        // The other tunnel is alone until this one is back.
        settings.max_retry_interval = settings.max_retry_interval.min(LONGEST_PAUSE);
        let pattern = settings.beside(Alternate {
            endpoint: settings.endpoint.clone(),
            url: settings.url.clone(),
            host_key: settings.host_key.clone(),
        });
        let now = Instant::now();
        let (joint, ended) = GroupShared::of(&mut settings, now);
        let mut tunnels = alone(TunnelSide::start(&joint, settings, false, now)?);
        if let Some(other) = others.into_iter().next() {
            let settings = pattern.beside(other);
            tunnels.second = Some(Arc::new(TunnelSide::start(&joint, settings, true, now)?));
        }
        Ok(Self {
            tunnels: Mutex::new(tunnels),
            fleet: Some(FleetView {
                joint: Arc::downgrade(&joint),
                ended,
                pattern,
            }),
        })
    }

    /// A channel that is closed when it is connected; closed already when it is.
    pub fn connected(&self) -> Receiver<()> {
        let Some(fleet) = &self.fleet else {
            return self.first().connected();
        };
        match fleet.joint.upgrade() {
            Some(joint) => joint.state.lock().connected.clone(),
            None => fleet.ended.clone(),
        }
    }

    /// Waits for the connected signal; false when none came.
    pub fn wait(&self, time: Duration) -> bool {
        let signalled = self.connected().recv_timeout(time) == Err(RecvTimeoutError::Disconnected);
        signalled && self.is_connected()
    }

    /// True if it is connected, by one of its relays at least.
    pub fn is_connected(&self) -> bool {
        self.snapshot().is_connected()
    }

    /// Returns its state: bytes and streams are those of both.
    pub fn snapshot(&self) -> Snapshot {
        let (first, second) = self.both();
        let first = first.snapshot();
        let Some(fleet) = &self.fleet else {
            return first;
        };
        let joint = fleet.joint.upgrade();
        let (since, connections) = joint.map_or((None, 1), |joint| {
            let state = joint.state.lock();
            (state.since, state.connections)
        });
        let merged = match second {
            Some(second) => first.beside(second.snapshot()),
            None => first,
        };
        Snapshot {
            since: since.filter(|_| merged.is_connected()),
            reconnects: connections.saturating_sub(1),
            ..merged
        }
    }

    /// Returns its two relays with the status of each tunnel; empty unless there are two.
    pub fn relays(&self) -> Vec<(String, Status)> {
        let joint = self.fleet.as_ref().and_then(|fleet| fleet.joint.upgrade());
        let (first, second) = self.both();
        let (Some(joint), Some(second)) = (joint, second) else {
            return Vec::new();
        };
        let state = joint.state.lock();
        vec![
            (state.first.server.clone(), first.snapshot().status),
            (state.second.server.clone(), second.snapshot().status),
        ]
    }

    /// Addresses of the relays of its fleet that it is connected to.
    pub fn connected_at(&self) -> Vec<String> {
        let joint = self.fleet.as_ref().and_then(|fleet| fleet.joint.upgrade());
        let of = |joint: Arc<GroupShared>| {
            let state = joint.state.lock();
            let up = [&state.first, &state.second].into_iter();
            up.filter(|part| part.is_up())
                .map(|part| part.server.clone())
                .collect()
        };
        joint.map(of).unwrap_or_default()
    }

    /// True if there may be other relays to hold it at.
    pub fn is_of_fleet(&self) -> bool {
        self.fleet.is_some()
    }

    /// True if one of its relays has been away for so long that another one is to take its place.
    pub fn wants_relay(&self) -> bool {
        let joint = self.fleet.as_ref().and_then(|fleet| fleet.joint.upgrade());
        joint.is_some_and(|joint| joint.state.lock().to_replace(Instant::now()).is_some())
    }

    /// Offers other relays, the best first: a slot whose relay has been away for too long gets the first one that is
    /// not in use. Connected tunnels stay. Takes a second a slot at most; returns the number of new tunnels.
    pub fn hold_at(&self, places: Vec<Alternate>) -> io::Result<usize> {
        self.hold_as_of(Instant::now(), places)
    }

    fn hold_as_of(&self, now: Instant, places: Vec<Alternate>) -> io::Result<usize> {
        let joint = self.fleet.as_ref().and_then(|fleet| fleet.joint.upgrade());
        let (Some(joint), Some(fleet)) = (joint, &self.fleet) else {
            return Ok(0);
        };
        let mut taken = 0;
        for place in places {
            let server = place.endpoint.server();
            let state = joint.state.lock();
            let wanted = state.to_replace(now);
            let wanted = wanted.filter(|_| !state.is_at(&server));
            let has_second = !state.second.server.is_empty();
            drop(state);
            let wanted = wanted.filter(|_| !self.tunnels.lock().is_stopping);
            if let Some(is_second) = wanted {
                let why = match has_second {
                    true => " because another one is away",
                    false => "",
                };
                log::info!("also connecting to relay {server}{why}");
                let settings = fleet.pattern.beside(place);
                self.replace(
                    is_second,
                    TunnelSide::start(&joint, settings, is_second, now)?,
                );
                taken += 1;
            }
        }
        Ok(taken)
    }

    /// Puts a tunnel in a slot and stops the earlier one.
    fn replace(&self, is_second: bool, tunnel: Tunnel) {
        let tunnel = Some(Arc::new(tunnel));
        let mut tunnels = self.tunnels.lock();
        // A tunnel that comes too late ends here, as it is dropped.
        let before = match tunnel.filter(|_| !tunnels.is_stopping) {
            Some(tunnel) if is_second => tunnels.second.replace(tunnel),
            Some(tunnel) => Some(std::mem::replace(&mut tunnels.first, tunnel)),
            None => None,
        };
        drop(tunnels);
        if let Some(before) = before {
            before.stop();
        }
    }

    /// Ends the present pauses before another attempt.
    pub fn retry_now(&self) {
        self.each(Tunnel::retry_now);
    }

    /// Makes tunnels that are not connected try at once, as the server is back.
    pub fn wake(&self) {
        self.each(|tunnel| {
            if !tunnel.snapshot().is_connected() {
                tunnel.wake();
            }
        });
    }

    /// Ends the connections and tries again at once: the servers have given them up already.
    pub fn renew(&self) {
        self.each(Tunnel::renew);
    }

    /// Ends the streams that are open now; the connections stay.
    pub fn cut_streams(&self) {
        self.each(Tunnel::cut_streams);
    }

    /// A channel that is closed when it has ended.
    pub fn ended(&self) -> Receiver<()> {
        match &self.fleet {
            Some(fleet) => fleet.ended.clone(),
            None => self.first().ended(),
        }
    }

    /// Stops both tunnels in any state.
    pub fn stop(&self) {
        self.begin_stop();
        self.finish_stop();
    }

    /// The first half of [`TunnelGroup::stop`], which does not wait.
    pub(in crate::tunnel) fn begin_stop(&self) {
        self.tunnels.lock().is_stopping = true;
        self.each(Tunnel::begin_stop);
    }

    /// The second half, which waits.
    pub(in crate::tunnel) fn finish_stop(&self) {
        self.each(Tunnel::finish_stop);
    }

    fn each(&self, done: impl Fn(&Tunnel)) {
        let (first, second) = self.both();
        done(&first);
        second.iter().for_each(|second| done(second));
    }

    fn first(&self) -> Arc<Tunnel> {
        self.both().0
    }

    fn both(&self) -> (Arc<Tunnel>, Option<Arc<Tunnel>>) {
        let tunnels = self.tunnels.lock();
        (Arc::clone(&tunnels.first), tunnels.second.clone())
    }
}

impl GroupShared {
    /// Takes the owner's callbacks out of `settings`.
    fn of(settings: &mut Settings, now: Instant) -> (Arc<Self>, Receiver<()>) {
        let (working, ended) = bounded(0);
        let (signal, connected) = bounded(0);
        let joint = Self {
            state: Mutex::new(GroupState {
                first: TunnelSlot::empty(now),
                second: TunnelSlot::empty(now),
                signal: Some(signal),
                connected,
                since: None,
                connections: 0,
            }),
            on_connected: settings.on_connected.take(),
            on_failed: settings.on_failed.take(),
            _working: working,
        };
        (Arc::new(joint), ended)
    }
}

impl TunnelSlot {
    fn empty(now: Instant) -> Self {
        Self {
            server: String::new(),
            number: 0,
            away: Some(now),
            is_logged: false,
            stopper: None,
            has_ended: false,
        }
    }

    fn is_up(&self) -> bool {
        self.away.is_none()
    }

    fn is_away_for(&self, time: Duration, now: Instant) -> bool {
        let away = self.away.map(|since| now.saturating_duration_since(since));
        away.is_some_and(|away| away >= time)
    }
}

impl GroupState {
    /// One of them, and the other.
    fn parts(&mut self, is_second: bool) -> (&mut TunnelSlot, &TunnelSlot) {
        if is_second {
            (&mut self.second, &self.first)
        } else {
            (&mut self.first, &self.second)
        }
    }

    /// Returns the slot that is to get another relay: true for the second.
    fn to_replace(&self, now: Instant) -> Option<bool> {
        let is_one_up = self.first.is_up() || self.second.is_up();
        let time = if is_one_up { AWAITED } else { AWAITED_ALONE };
        let mut parts = [(true, &self.second), (false, &self.first)].into_iter();
        let found = parts.find(|(_, part)| part.is_away_for(time, now));
        found.map(|(is_second, _)| is_second)
    }

    /// True if a tunnel to this server is connected, or tries.
    fn is_at(&self, server: &str) -> bool {
        let mut parts = [&self.first, &self.second].into_iter();
        parts.any(|part| part.server == server && !part.has_ended)
    }

    /// Puts another tunnel in a slot; returns its number.
    fn begin(&mut self, is_second: bool, now: Instant, server: String) -> u64 {
        let (part, _) = self.parts(is_second);
        *part = TunnelSlot {
            server,
            number: part.number + 1,
            ..TunnelSlot::empty(now)
        };
        part.number
    }

    /// Notes that one is up; true if none was.
    fn mark_up(&mut self, is_second: bool) -> bool {
        let (part, _) = self.parts(is_second);
        part.away = None;
        if std::mem::take(&mut part.is_logged) {
            log::info!("reconnected to relay {}", part.server);
        }
        let is_first = self.signal.take().is_some();
        if is_first {
            self.since = Some(SystemTime::now());
            self.connections += 1;
        }
        is_first
    }

    /// Notes that one is not up; true if the other is.
    fn mark_down(&mut self, is_second: bool) -> bool {
        let (part, other) = self.parts(is_second);
        let (was_up, is_other_up) = (part.is_up(), other.is_up());
        part.away.get_or_insert_with(Instant::now);
        if was_up && !is_other_up {
            let (signal, connected) = bounded(0);
            (self.signal, self.connected) = (Some(signal), connected);
            self.since = None;
        }
        is_other_up
    }

    /// Logs a failure once, while the other one is up.
    fn log_failure(&mut self, is_second: bool, failure: &Failure) {
        let (part, _) = self.parts(is_second);
        if !std::mem::replace(&mut part.is_logged, true) {
            log::warn!(
                "cannot reach relay {}, the other one still works: {failure}",
                part.server
            );
        }
    }
}

impl TunnelSide {
    /// Starts a tunnel in one of the slots, which reports its state until its thread ends.
    fn start(
        joint: &Arc<GroupShared>,
        mut settings: Settings,
        is_second: bool,
        now: Instant,
    ) -> io::Result<Tunnel> {
        let server = settings.endpoint.server();
        let number = joint.state.lock().begin(is_second, now, server);
        let side = |joint: &Arc<GroupShared>| Self {
            joint: Arc::clone(joint),
            is_second,
            number,
        };
        let of_up = side(joint);
        settings.on_connected = Some(Box::new(move || of_up.on_connected()));
        let of_down = Arc::clone(joint);
        settings.on_failed = Some(Box::new(move |failure, was_connected| {
            let mut state = of_down.state.lock();
            if state.parts(is_second).0.number != number {
                return;
            }
            if state.mark_down(is_second) {
                return state.log_failure(is_second, failure);
            }
            drop(state);
            if let Some(on_failed) = &of_down.on_failed {
                on_failed(failure, was_connected);
            }
        }));
        let tunnel = Tunnel::start(settings)?;
        joint.state.lock().parts(is_second).0.stopper = Some(tunnel.stopper());
        Ok(tunnel)
    }

    fn on_connected(&self) {
        let mut state = self.joint.state.lock();
        if state.parts(self.is_second).0.number != self.number {
            return;
        }
        let is_first = state.mark_up(self.is_second);
        drop(state);
        if let Some(on_connected) = self.joint.on_connected.as_ref().filter(|_| is_first) {
            on_connected();
        }
    }
}

impl Drop for TunnelSide {
    /// Notes that the tunnel's thread has ended. Stops the other tunnel if that is not connected either: a tunnel ends
    /// by itself when its server no longer knows it, and then no relay of the fleet does.
    fn drop(&mut self) {
        let mut state = self.joint.state.lock();
        let (part, _) = state.parts(self.is_second);
        if part.number != self.number {
            return;
        }
        part.has_ended = true;
        if state.mark_down(self.is_second) {
            return;
        }
        let other = state.parts(!self.is_second).0.stopper.take();
        drop(state);
        if let Some(other) = other {
            other.begin_stop();
        }
    }
}

#[cfg(test)]
#[path = "group_tests.rs"]
mod tests;
