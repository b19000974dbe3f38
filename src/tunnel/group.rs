//! Tunnels to two relays of one fleet for the same thing, as one: it is connected as long as one of them is.

use std::io;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, SystemTime};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use super::client::{Failure, HostKeyCheck, OnFailed, Settings, Snapshot, Status, Stopper, Tunnel};
use super::ws::Endpoint;
use crate::sync::Mutex;

/// Another relay that the same is held at.
pub struct Alternate {
    /// Where it is.
    pub endpoint: Endpoint,
    /// Which host key it must have.
    pub host_key: HostKeyCheck,
}

/// A tunnel, or two of which one is enough. Dropping it stops both.
pub struct TunnelGroup {
    first: Tunnel,
    second: Option<Tunnel>,
    joint: Option<JointView>,
}

/// What the owner of two sees of them; their threads keep it up.
struct JointView {
    joint: Weak<Joint>,
    ended: Receiver<()>,
}

/// What two tunnels' threads share.
struct Joint {
    state: Mutex<JointState>,
    /// Set once both are started.
    stoppers: OnceLock<(Stopper, Stopper)>,
    on_connected: Option<Box<dyn Fn() + Send + Sync>>,
    on_failed: Option<OnFailed>,
    /// Dropped with the last of them.
    _working: Sender<()>,
}

struct JointState {
    first: Part,
    second: Part,
    /// Dropped when one is connected where none was, which closes the channel.
    signal: Option<Sender<()>>,
    connected: Receiver<()>,
    since: Option<SystemTime>,
    /// How often one was where none was.
    connections: u64,
}

/// One of them.
struct Part {
    /// Its server's address.
    server: String,
    is_up: bool,
    /// Whether it was said that this one is not reached.
    is_told: bool,
}

/// One tunnel's side, as long as its thread runs.
struct Side {
    joint: Arc<Joint>,
    is_second: bool,
}

impl TunnelGroup {
    /// Starts a tunnel, and another one beside it where there is a relay for that; does not wait for a connection.
    pub fn start(mut settings: Settings, alternate: Option<Alternate>) -> io::Result<Self> {
        let Some(alternate) = alternate else {
            return Ok(Self {
                first: Tunnel::start(settings)?,
                second: None,
                joint: None,
            });
        };
        let servers = (
            settings.endpoint.authority(),
            alternate.endpoint.authority(),
        );
        let mut second = settings.beside(alternate.endpoint, alternate.host_key);
        let (joint, ended) = Joint::of(&mut settings, servers);
        Side::begin(&joint, &mut settings, false);
        Side::begin(&joint, &mut second, true);
        let first = Tunnel::start(settings)?;
        let second = Tunnel::start(second)?;
        // Who has ended by now has told nobody; nothing is connected that soon.
        let _ = joint.stoppers.set((first.stopper(), second.stopper()));
        Ok(Self {
            first,
            second: Some(second),
            joint: Some(JointView {
                joint: Arc::downgrade(&joint),
                ended,
            }),
        })
    }

    /// A channel that is closed when it is connected; closed already when it is.
    pub fn connected(&self) -> Receiver<()> {
        let Some(view) = &self.joint else {
            return self.first.connected();
        };
        match view.joint.upgrade() {
            Some(joint) => joint.state.lock().connected.clone(),
            None => view.ended.clone(),
        }
    }

    /// Waits for the connected signal; false when none came.
    pub fn wait(&self, time: Duration) -> bool {
        let signalled = self.connected().recv_timeout(time) == Err(RecvTimeoutError::Disconnected);
        signalled && self.snapshot().status == Status::Connected
    }

    /// How it is: bytes and streams are those of both.
    pub fn snapshot(&self) -> Snapshot {
        let first = self.first.snapshot();
        let (Some(second), Some(view)) = (&self.second, &self.joint) else {
            return first;
        };
        let second = second.snapshot();
        let joint = view.joint.upgrade();
        let (since, connections) = joint.map_or((None, 1), |joint| {
            let state = joint.state.lock();
            (state.since, state.connections)
        });
        let merged = first.beside(second);
        Snapshot {
            since: since.filter(|_| merged.status == Status::Connected),
            reconnects: connections.saturating_sub(1),
            ..merged
        }
    }

    /// Each of its relays and whether it is connected there, where there are two.
    pub fn relays(&self) -> Vec<(String, Status)> {
        let joint = self.joint.as_ref().and_then(|view| view.joint.upgrade());
        let (Some(joint), Some(second)) = (joint, &self.second) else {
            return Vec::new();
        };
        let state = joint.state.lock();
        vec![
            (state.first.server.clone(), self.first.snapshot().status),
            (state.second.server.clone(), second.snapshot().status),
        ]
    }

    /// Ends the present pauses before another attempt.
    pub fn retry_now(&self) {
        self.each(Tunnel::retry_now);
    }

    /// Has those try at once that are not connected, as the server is back.
    pub fn wake(&self) {
        self.each(|tunnel| {
            if tunnel.snapshot().status != Status::Connected {
                tunnel.wake();
            }
        });
    }

    /// Ends the connections, so that each is tried at once: the servers have given them up already.
    pub fn renew(&self) {
        self.each(Tunnel::renew);
    }

    /// Ends the streams that are open now; the connections stay.
    pub fn cut_streams(&self) {
        self.each(Tunnel::cut_streams);
    }

    /// A channel that is closed when it has ended.
    pub fn ended(&self) -> Receiver<()> {
        match &self.joint {
            Some(view) => view.ended.clone(),
            None => self.first.ended(),
        }
    }

    /// Ends it, wherever it is.
    pub fn stop(&self) {
        self.begin_stop();
        self.finish_stop();
    }

    /// The first half of [`TunnelGroup::stop`], which does not wait.
    pub(in crate::tunnel) fn begin_stop(&self) {
        self.each(Tunnel::begin_stop);
    }

    /// The second half, which waits.
    pub(in crate::tunnel) fn finish_stop(&self) {
        self.each(Tunnel::finish_stop);
    }

    fn each(&self, done: impl Fn(&Tunnel)) {
        done(&self.first);
        self.second.iter().for_each(done);
    }
}

impl Joint {
    /// Takes over what the owner wants to be told.
    fn of(settings: &mut Settings, servers: (String, String)) -> (Arc<Self>, Receiver<()>) {
        let (working, ended) = bounded(0);
        let (signal, connected) = bounded(0);
        let part = |server| Part {
            server,
            is_up: false,
            is_told: false,
        };
        let joint = Self {
            state: Mutex::new(JointState {
                first: part(servers.0),
                second: part(servers.1),
                signal: Some(signal),
                connected,
                since: None,
                connections: 0,
            }),
            stoppers: OnceLock::new(),
            on_connected: settings.on_connected.take(),
            on_failed: settings.on_failed.take(),
            _working: working,
        };
        (Arc::new(joint), ended)
    }
}

impl JointState {
    /// One of them, and the other.
    fn parts(&mut self, is_second: bool) -> (&mut Part, &Part) {
        if is_second {
            (&mut self.second, &self.first)
        } else {
            (&mut self.first, &self.second)
        }
    }

    /// One is up; whether none was.
    fn up(&mut self, is_second: bool) -> bool {
        let (part, _) = self.parts(is_second);
        part.is_up = true;
        if std::mem::take(&mut part.is_told) {
            log::info!("the relay {} is reached again", part.server);
        }
        let is_first = self.signal.take().is_some();
        if is_first {
            self.since = Some(SystemTime::now());
            self.connections += 1;
        }
        is_first
    }

    /// One is not up; whether the other is.
    fn down(&mut self, is_second: bool) -> bool {
        let (part, other) = self.parts(is_second);
        let (was_up, is_other_up) = (std::mem::take(&mut part.is_up), other.is_up);
        if was_up && !is_other_up {
            let (signal, connected) = bounded(0);
            (self.signal, self.connected) = (Some(signal), connected);
            self.since = None;
        }
        is_other_up
    }

    /// Said once, where the other one is up.
    fn tell(&mut self, is_second: bool, failure: &Failure) {
        let (part, _) = self.parts(is_second);
        if !std::mem::replace(&mut part.is_told, true) {
            log::warn!(
                "the relay {} is not reached, the other one goes on: {failure}",
                part.server
            );
        }
    }
}

impl Side {
    /// Has a tunnel tell what becomes of it, until its thread ends.
    fn begin(joint: &Arc<Joint>, settings: &mut Settings, is_second: bool) {
        let side = Self {
            joint: Arc::clone(joint),
            is_second,
        };
        settings.on_connected = Some(Box::new(move || side.connected()));
        let joint = Arc::clone(joint);
        settings.on_failed = Some(Box::new(move |failure, was_connected| {
            let mut state = joint.state.lock();
            if state.down(is_second) {
                return state.tell(is_second, failure);
            }
            drop(state);
            if let Some(on_failed) = &joint.on_failed {
                on_failed(failure, was_connected);
            }
        }));
    }

    fn connected(&self) {
        let is_first = self.joint.state.lock().up(self.is_second);
        if let Some(on_connected) = self.joint.on_connected.as_ref().filter(|_| is_first) {
            on_connected();
        }
    }
}

impl Drop for Side {
    /// Its thread ends. Where the other one is not connected either, that has no more to wait for: what ends one by
    /// itself, that its server knows it no more, is so at all relays.
    fn drop(&mut self) {
        if self.joint.state.lock().down(self.is_second) {
            return;
        }
        if let Some((first, second)) = self.joint.stoppers.get() {
            if self.is_second { first } else { second }.begin_stop();
        }
    }
}

#[cfg(test)]
#[path = "group_tests.rs"]
mod tests;
