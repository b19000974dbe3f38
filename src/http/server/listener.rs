//! The listener, and the table of connections with its caps.

use crate::net::keep_alive;
use crate::net::poll::poll_until;
use crate::sync::{Condvar, Mutex};
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use super::budget::{Bodies, Exchanges, within_open_files};
use super::connection_handler::Gateway;
use super::limits::Limits;
use super::policy::HostPolicy;
use super::socket::would_block;
use super::{Backend, connection, source};

/// Bytes of stack of a connection's thread: its buffers are on the heap. Code that is not
/// optimised needs more.
const STACK: usize = if cfg!(debug_assertions) { 256 } else { 96 } * 1024;
/// The same where a gateway may seal and write for a tunnel there, or speak TLS.
const GATEWAY_STACK: usize = if cfg!(debug_assertions) { 768 } else { 256 } * 1024;
/// Pause after an accept or a thread that failed for want of files, memory or threads.
const BACK_OFF: Duration = Duration::from_millis(20);
/// Silence after which the kernel asks whether the client is still there.
const PROBE_AFTER: Duration = Duration::from_secs(30);
/// Time between such questions; after nine without an answer the client has gone.
const PROBE_EVERY: Duration = Duration::from_secs(5);
/// Time that connections have to end once they were shut down at the stop.
const SHUT_TIME: Duration = Duration::from_millis(300);

/// What a server needs.
pub(in crate::http) struct ListenerConfig {
    pub(in crate::http) listener: TcpListener,
    pub(in crate::http) hosts: HostPolicy,
    pub(in crate::http) check_other_users: bool,
    pub(in crate::http) limits: Limits,
    pub(in crate::http) backend: Arc<dyn Backend>,
    pub(in crate::http) gateway: Option<Arc<dyn Gateway>>,
}

/// A running listener.
pub(in crate::http) struct Listener {
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
    /// Closing it wakes the accept loop.
    wake: Option<UnixStream>,
}

impl Listener {
    /// Starts to accept connections.
    pub(in crate::http) fn start(front: ListenerConfig) -> io::Result<Listener> {
        let (wake, woken) = UnixStream::pair()?;
        front.listener.set_nonblocking(true)?;
        let port = front.listener.local_addr()?.port();
        let (connections, exchanges) = within_open_files(&front.limits);
        let shared = Arc::new(Shared {
            port,
            hosts: front.hosts,
            check_other_users: front.check_other_users,
            backend: front.backend,
            gateway: front.gateway,
            bodies: Bodies::default(),
            exchanges: Exchanges::new(exchanges),
            table: Table::new(connections, front.limits.per_source),
            stopping: AtomicBool::new(false),
            limits: front.limits,
        });
        let theirs = Arc::clone(&shared);
        let listener = front.listener;
        // Accepts for as long as the server stands; ends when `wake` is closed.
        let accepting = thread::Builder::new()
            .name("http-accept".into())
            .stack_size(STACK)
            .spawn(move || accept_loop(&theirs, &listener, &woken))?;
        Ok(Listener {
            shared,
            accepting: Some(accepting),
            wake: Some(wake),
        })
    }

    /// Accepts nothing more, lets answers under way end for a while and aborts the rest.
    pub(in crate::http) fn stop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        drop(self.wake.take());
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
        self.shared.table.stop(self.shared.limits.stop_time);
    }
}

/// What all connections of a server share.
pub(super) struct Shared {
    pub(super) port: u16,
    pub(super) hosts: HostPolicy,
    pub(super) check_other_users: bool,
    pub(super) limits: Limits,
    pub(super) backend: Arc<dyn Backend>,
    pub(super) gateway: Option<Arc<dyn Gateway>>,
    pub(super) bodies: Bodies,
    pub(super) exchanges: Exchanges,
    table: Table,
    stopping: AtomicBool,
}

impl Shared {
    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// How many requests can run at once.
    pub(super) fn capacity(&self) -> usize {
        self.table.max.min(self.exchanges.for_sites())
    }

    /// Ends the connection that has waited longest for a further request.
    pub(super) fn give_up_idle(&self) {
        self.table.give_up_idle();
    }

    fn is_proxy(&self, peer: IpAddr) -> bool {
        self.gateway.as_ref().is_some_and(|g| g.is_proxy(peer))
    }

    fn stack(&self) -> usize {
        match self.gateway {
            Some(_) => GATEWAY_STACK,
            None => STACK,
        }
    }
}

/// Ends only when it is woken: whatever fails, fails for one connection.
fn accept_loop(shared: &Arc<Shared>, listener: &TcpListener, woken: &UnixStream) {
    while !shared.is_stopping() {
        match listener.accept() {
            Ok((socket, peer)) => admit(shared, socket, peer),
            failed if would_block(&failed) => {
                let _ = poll_until([(listener, PollFlags::IN), (woken, PollFlags::IN)], None);
            }
            // The client left before we came to it: nobody else is to suffer for that.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => {
                log::warn!("http: cannot accept a connection: {error}");
                shared.table.evict();
                thread::sleep(BACK_OFF);
            }
        }
    }
}

fn admit(shared: &Arc<Shared>, socket: TcpStream, peer: SocketAddr) {
    if prepare(&socket).is_err() {
        return;
    }
    let is_counted = !shared.is_proxy(peer.ip());
    let entry = match shared.table.admit(socket, peer, is_counted) {
        Ok(entry) => entry,
        Err(socket) => return connection::turn_away(shared, &socket),
    };
    let theirs = Arc::clone(shared);
    let served = Arc::clone(&entry);
    // Serves one connection; ends with it, or when its socket is shut down from outside.
    let spawned = thread::Builder::new()
        .name("http-conn".into())
        .stack_size(shared.stack())
        .spawn(move || {
            let _leave = Leave(&theirs.table, &served);
            connection::serve(&theirs, &served);
        });
    if let Err(error) = spawned {
        log::warn!("http: no thread for a connection: {error}");
        shared.table.remove(entry.id);
        shared.table.evict();
        thread::sleep(BACK_OFF);
    }
}

/// Keep-alive probes find clients that vanished without a word while a handler is silent.
fn prepare(socket: &TcpStream) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    socket.set_nodelay(true)?;
    keep_alive(socket, PROBE_AFTER, PROBE_EVERY, None)
}

/// Takes a connection out of the table, also when its thread panics.
struct Leave<'a>(&'a Table, &'a Entry);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.0.remove(self.1.id);
    }
}

/// Where a connection is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its head is awaited or incomplete.
    Head,
    /// It waits for a further request.
    Idle,
    /// Its body is read.
    Body,
    /// It does not take its answer.
    Stalled,
    /// Its request is under way.
    Busy,
    /// Its last answer is sent.
    Closing,
}

/// One connection.
pub(super) struct Entry {
    id: u64,
    pub(super) socket: TcpStream,
    pub(super) peer: SocketAddr,
    state: Mutex<(Phase, Instant)>,
}

impl Entry {
    pub(super) fn enter(&self, phase: Phase) {
        *self.state.lock() = (phase, Instant::now());
    }

    fn phase(&self) -> Phase {
        self.state.lock().0
    }

    /// The order in which connections are given up; `None` for one that is at work. A body
    /// may come slowly for long, and whoever sends it need not have signed in.
    fn rank(&self) -> Option<(u8, Instant)> {
        let (phase, since) = *self.state.lock();
        match phase {
            Phase::Head => Some((0, since)),
            Phase::Closing => Some((1, since)),
            Phase::Idle => Some((2, since)),
            Phase::Body => Some((3, since)),
            Phase::Stalled => Some((4, since)),
            Phase::Busy => None,
        }
    }

    fn shut(&self) {
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

/// All connections of a server.
struct Table {
    max: usize,
    per_source: usize,
    inner: Mutex<Inner>,
    changed: Condvar,
}

#[derive(Default)]
struct Inner {
    next: u64,
    entries: HashMap<u64, Arc<Entry>>,
}

impl Table {
    fn new(max: usize, per_source: usize) -> Table {
        Table {
            max,
            per_source,
            inner: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Gives the socket back over a cap. At the cap of all, the oldest connection that does
    /// no work is given up for the new one.
    fn admit(
        &self,
        socket: TcpStream,
        peer: SocketAddr,
        is_counted: bool,
    ) -> Result<Arc<Entry>, TcpStream> {
        let mut inner = self.inner.lock();
        let crowded = is_counted && inner.is_crowded(peer.ip(), self.per_source);
        if crowded || (inner.entries.len() >= self.max && !inner.evict()) {
            return Err(socket);
        }
        inner.next += 1;
        let entry = Arc::new(Entry {
            id: inner.next,
            socket,
            peer,
            state: Mutex::new((Phase::Head, Instant::now())),
        });
        inner.entries.insert(entry.id, Arc::clone(&entry));
        Ok(entry)
    }

    fn evict(&self) {
        self.inner.lock().evict();
    }

    fn give_up_idle(&self) {
        self.inner.lock().evict_of(|phase| phase == Phase::Idle);
    }

    fn remove(&self, id: u64) {
        drop(self.inner.lock().entries.remove(&id));
        self.changed.notify_all();
    }

    fn stop(&self, time: Duration) {
        self.each(|entry| {
            if entry.rank().is_some() {
                entry.shut();
            }
        });
        self.wait_empty(time);
        self.each(Entry::shut);
        self.wait_empty(SHUT_TIME);
    }

    fn each(&self, f: impl Fn(&Entry)) {
        self.inner.lock().entries.values().for_each(|e| f(e));
    }

    fn wait_empty(&self, time: Duration) {
        let inner = self.inner.lock();
        let waited = self
            .changed
            .wait_timeout_while(inner, time, |inner| !inner.entries.is_empty());
        drop(waited);
    }
}

impl Inner {
    /// Gives up one connection; its thread notices and ends.
    fn evict(&mut self) -> bool {
        self.evict_of(|_| true)
    }

    fn evict_of(&mut self, may: impl Fn(Phase) -> bool) -> bool {
        let ranked = self
            .entries
            .values()
            .filter(|entry| may(entry.phase()))
            .filter_map(|e| Some((e.rank()?, e.id)));
        let Some((_, id)) = ranked.min() else {
            return false;
        };
        if let Some(entry) = self.entries.remove(&id) {
            entry.shut();
        }
        true
    }

    fn is_crowded(&self, peer: IpAddr, max: usize) -> bool {
        let one = source(peer);
        let same = |entry: &&Arc<Entry>| source(entry.peer.ip()) == one;
        !one.is_loopback() && self.entries.values().filter(same).count() >= max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn socket() -> TcpStream {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        TcpStream::connect(listener.local_addr().unwrap()).unwrap()
    }

    fn admit(table: &Table, peer: &str) -> Option<Arc<Entry>> {
        table.admit(socket(), peer.parse().unwrap(), true).ok()
    }

    fn holds(table: &Table, entry: &Entry) -> bool {
        table.inner.lock().entries.contains_key(&entry.id)
    }

    #[test]
    fn a_source_has_its_share_and_loopback_has_all() {
        let table = Table::new(6, 2);
        let first = admit(&table, "192.0.2.1:1").unwrap();
        assert!(admit(&table, "192.0.2.1:2").is_some());
        assert!(admit(&table, "192.0.2.1:3").is_none());
        assert!(admit(&table, "192.0.2.2:1").is_some());
        for port in 1..=3 {
            assert!(admit(&table, &format!("127.0.0.1:{port}")).is_some());
        }
        assert!(admit(&table, "192.0.2.1:4").is_none());
        assert!(
            holds(&table, &first),
            "a source over its share costs nobody else"
        );
        table.remove(first.id);
        assert!(admit(&table, "192.0.2.1:5").is_some());
    }

    #[test]
    fn at_the_cap_the_oldest_incomplete_head_goes_and_work_stays() {
        let table = Table::new(4, 4);
        let entries: Vec<_> = (1..=4)
            .map(|port| admit(&table, &format!("127.0.0.1:{port}")).unwrap())
            .collect();
        entries[0].enter(Phase::Busy);
        entries[1].enter(Phase::Idle);
        let left = || entries.iter().map(|e| holds(&table, e)).collect::<Vec<_>>();
        let mut late = Vec::new();
        for wanted in [[true, true, false, true], [true, true, false, false]] {
            late.push(admit(&table, "127.0.0.1:9").unwrap());
            assert_eq!(left(), wanted);
        }
        late.iter().for_each(|entry| entry.enter(Phase::Busy));
        late.push(admit(&table, "127.0.0.1:9").unwrap());
        assert_eq!(left(), [true, false, false, false]);
        late.iter().for_each(|entry| entry.enter(Phase::Busy));
        assert!(admit(&table, "127.0.0.1:9").is_none());
    }

    #[test]
    fn a_body_that_is_read_gives_way_last() {
        let table = Table::new(3, 3);
        let entries: Vec<_> = [Phase::Busy, Phase::Body, Phase::Idle]
            .into_iter()
            .map(|phase| {
                let entry = admit(&table, "127.0.0.1:1").unwrap();
                entry.enter(phase);
                entry
            })
            .collect();
        let left = || entries.iter().map(|e| holds(&table, e)).collect::<Vec<_>>();
        for wanted in [[true, true, false], [true, false, false]] {
            admit(&table, "127.0.0.1:9").unwrap().enter(Phase::Busy);
            assert_eq!(left(), wanted);
        }
    }

    /// One household or host has a /64 of IPv6 for itself.
    #[test]
    fn addresses_of_one_ipv6_network_are_one_source() {
        let table = Table::new(9, 2);
        assert!(admit(&table, "[2001:db8::1]:1").is_some());
        assert!(admit(&table, "[2001:db8::2]:1").is_some());
        assert!(admit(&table, "[2001:db8::ffff:3]:1").is_none());
        assert!(admit(&table, "[2001:db8:0:1::1]:1").is_some());
        assert!(admit(&table, "[::ffff:192.0.2.1]:1").is_some());
        assert!(admit(&table, "192.0.2.1:2").is_some());
        assert!(admit(&table, "192.0.2.1:3").is_none());
    }
}
