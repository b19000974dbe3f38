//! The ports that a server holds, each for one client: those it listens on, and numbers for streams
//! that are opened in this process.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::permits::StreamPermits;
use crate::sync::{Mutex, MutexGuard};
use crate::tunnel::mux::{LocalStream, Mux, OpenError, PortStats};
use crate::tunnel::remote::Remote;

/// Bytes of a listening thread's stack. Default 64 KiB.
const LISTENER_STACK: usize = 64 * 1024;
/// Pause after an accept that failed, for lack of descriptors say. Default 100 ms.
const AFTER_ERROR: Duration = Duration::from_millis(100);
/// Time for the holder of a wanted port to prove that it lives, when its owner has come back
/// over a new connection. Default 1 s: a live one answers in a round trip.
const PROOF_WITHIN: Duration = Duration::from_secs(1);

/// All that a server holds.
pub(super) struct Ports {
    held: Mutex<BTreeMap<PortKey, HeldPort>>,
    permits: StreamPermits,
}

/// What can be held by one connection at a time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum PortKey {
    /// A port of this machine.
    Address(SocketAddr),
    /// A number that means something for one holder only.
    Number(String, u16),
}

struct HeldPort {
    owner: String,
    mux: Arc<Mux>,
    target: Arc<str>,
    _thread: Option<ListeningThread>,
}

impl Ports {
    /// Nothing is held; these are the permits for their streams.
    pub(super) fn new(permits: StreamPermits) -> Self {
        Self {
            held: Mutex::default(),
            permits,
        }
    }

    /// Listens where the remote says for `mux`.
    pub(super) fn bind(
        &self,
        remote: &Remote,
        owner: &str,
        stats: Arc<PortStats>,
        mux: &Arc<Mux>,
    ) -> io::Result<()> {
        let address = (remote.local_host.as_str(), remote.local_port)
            .to_socket_addrs()?
            .next()
            .ok_or(io::ErrorKind::AddrNotAvailable)?;
        self.bind_at(address, remote, (owner, stats), mux)
    }

    /// Listens on `address` for `mux`. A port that its owner's dead connection still holds is
    /// freed first.
    pub(super) fn bind_at(
        &self,
        address: SocketAddr,
        remote: &Remote,
        (owner, stats): (&str, Arc<PortStats>),
        mux: &Arc<Mux>,
    ) -> io::Result<()> {
        let key = PortKey::Address(address);
        self.evict_dead(&key, owner, mux);
        let listener = TcpListener::bind(address)?;
        let target: Arc<str> = remote.target().into();
        let thread = ListeningThread::start(PortListener {
            listener,
            mux: Arc::clone(mux),
            target: Arc::clone(&target),
            owner: owner.to_owned(),
            stats,
            permits: self.permits.clone(),
        })?;
        let held = HeldPort {
            owner: owner.to_owned(),
            mux: Arc::clone(mux),
            target,
            _thread: Some(thread),
        };
        self.held().insert(key, held);
        Ok(())
    }

    /// Holds the remote's port number for `mux` without listening anywhere.
    pub(super) fn hold(&self, remote: &Remote, owner: &str, mux: &Arc<Mux>) -> io::Result<()> {
        let key = PortKey::Number(owner.to_owned(), remote.local_port);
        self.evict_dead(&key, owner, mux);
        match self.held().entry(key) {
            Entry::Occupied(_) => Err(io::ErrorKind::AddrInUse.into()),
            Entry::Vacant(entry) => {
                entry.insert(HeldPort {
                    owner: owner.to_owned(),
                    mux: Arc::clone(mux),
                    target: remote.target().into(),
                    _thread: None,
                });
                Ok(())
            }
        }
    }

    /// Opens a stream to what `owner` holds this number for.
    pub(super) fn open(&self, owner: &str, port: u16) -> Result<LocalStream, OpenError> {
        let (mux, target) = self.find(owner, port).ok_or(OpenError::NotHeld)?;
        mux.open_stream(&target)
    }

    pub(super) fn find(&self, owner: &str, port: u16) -> Option<(Arc<Mux>, Arc<str>)> {
        let held = self.held();
        let found = held.get(&PortKey::Number(owner.to_owned(), port))?;
        Some((Arc::clone(&found.mux), Arc::clone(&found.target)))
    }

    /// Frees what a connection held.
    pub(super) fn release(&self, mux: &Arc<Mux>) {
        // Under the lock until the listeners are closed: a port that is not held can be bound.
        // Their threads do not take it.
        self.held().retain(|_, held| !Arc::ptr_eq(&held.mux, mux));
    }

    /// Whether `owner` holds this port, as a number or listening.
    pub(super) fn is_held(&self, owner: &str, port: u16) -> bool {
        let held = self.held();
        held.iter()
            .any(|(key, held)| held.is_of(owner) && key.port() == port)
    }

    /// Takes this port from `owner`.
    pub(super) fn free(&self, owner: &str, port: u16) {
        self.held()
            .retain(|key, held| !held.is_of(owner) || key.port() != port);
    }

    fn evict_dead(&self, key: &PortKey, owner: &str, newcomer: &Arc<Mux>) {
        let holder = match self.held().get(key) {
            Some(held) if held.owner == owner && !Arc::ptr_eq(&held.mux, newcomer) => {
                Arc::clone(&held.mux)
            }
            _ => return,
        };
        if !holder.probe(PROOF_WITHIN) {
            log::info!("{key} is taken from a connection that is dead");
            holder.stop();
            holder.cut();
            self.release(&holder);
        }
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<PortKey, HeldPort>> {
        self.held.lock()
    }
}

impl HeldPort {
    fn is_of(&self, owner: &str) -> bool {
        self.owner == owner
    }
}

impl PortKey {
    fn port(&self) -> u16 {
        match self {
            Self::Address(address) => address.port(),
            Self::Number(_, port) => *port,
        }
    }
}

impl fmt::Display for PortKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Number(owner, number) => write!(f, "{owner:?}'s number {number}"),
        }
    }
}

/// A listening thread; dropping it closes the port before it returns.
struct ListeningThread {
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

/// What a listening thread works with.
struct PortListener {
    listener: TcpListener,
    mux: Arc<Mux>,
    target: Arc<str>,
    owner: String,
    stats: Arc<PortStats>,
    permits: StreamPermits,
}

impl ListeningThread {
    fn start(listener: PortListener) -> io::Result<Self> {
        let (stop, stopped) = UnixStream::pair()?;
        listener.listener.set_nonblocking(true)?;
        // A thread because accepting waits; ends when `stop` is dropped.
        let thread = std::thread::Builder::new()
            .name("tunnel-listen".into())
            .stack_size(LISTENER_STACK)
            .spawn(move || listener.accept_all(&stopped))?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for ListeningThread {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // It has nothing to say.
            let _ = thread.join();
        }
    }
}

impl PortListener {
    fn accept_all(&self, stopped: &UnixStream) {
        let mut pause = None;
        while wait(&self.listener, stopped, pause.take()) {
            match self.listener.accept() {
                Ok((visitor, peer)) => self.serve(visitor, peer.ip()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => {
                    log::debug!("accepting a visitor failed: {error}");
                    pause = Some(AFTER_ERROR);
                }
            }
        }
    }

    fn serve(&self, visitor: TcpStream, address: IpAddr) {
        match self.permits.take(&self.owner, address) {
            Some(permit) => self
                .mux
                .serve_visitor(visitor, &self.target, &self.stats, permit),
            None => log::debug!("a visitor from {address} is turned away: too many visitors"),
        }
    }
}

/// Waits for a visitor, or out the pause; false when it is over.
fn wait(listener: &TcpListener, stopped: &UnixStream, pause: Option<Duration>) -> bool {
    let mut both = [
        PollFd::new(stopped, PollFlags::IN),
        PollFd::new(listener, PollFlags::IN),
    ];
    let (fds, time) = match pause.and_then(|pause| Timespec::try_from(pause).ok()) {
        Some(time) => (both.split_at_mut(1).0, Some(time)),
        None => (both.as_mut_slice(), None),
    };
    // An interrupted wait is followed by an accept that finds nobody.
    let _ = poll(fds, time.as_ref());
    let [stop, _] = &both;
    stop.revents().is_empty()
}
