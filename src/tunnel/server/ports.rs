//! The ports that a server holds, each for one client: those it listens on, and numbers for streams
//! that are opened in this process.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use super::clients::{ServerStats, count};
use super::settings::PortAccess;
use crate::http::source as source_of;
use crate::net::Acceptor;
use crate::net::authority::resolve;
use crate::sync::{KeyedPermits, Mutex, MutexGuard, Permit, Permits, Thread};
use crate::tunnel::mux::{LocalStream, Mux, OpenError};
use crate::tunnel::remote::Remote;

/// Pause after an accept that failed, for lack of descriptors say. Default 100 ms.
const AFTER_ERROR: Duration = Duration::from_millis(100);
/// Time for the holder of a wanted port to prove that it lives, when its owner has come back
/// over a new connection. Default 1 s: a live one answers in a round trip.
const PROOF_WITHIN: Duration = Duration::from_secs(1);
/// Ports that are remembered as lost, to count who comes back. Default 65,536, some 6 MiB; then all are forgotten.
const MOST_LOST: usize = 65_536;
/// Visitors of all public ports: anybody may connect there, and stay. Default 4096, a descriptor each, and a thread
/// while one has much to send; fewer where this process may not open so many files.
pub(super) const MAX_VISITORS: usize = crate::limits::PORT_VISITORS;
/// Share of these for the ports of one holder, as a divisor. Default a half: others have ports too.
const SHARE_OF_HOLDER: usize = crate::limits::PORTS_OF_ONE;
/// Share of these for one source (an IPv4 address, an IPv6 /64), as a divisor; loopback is exempt. Default a quarter: a
/// proxy has many visitors.
const SHARE_OF_SOURCE: usize = crate::limits::PORTS_OF_SOURCE;

/// The ports that a server holds.
pub(super) struct Ports {
    held: Mutex<BTreeMap<PortKey, HeldPort>>,
    /// Ports that were lost with a connection, by owner. Locked after `held`, or alone.
    lost: Mutex<HashSet<(String, u16)>>,
    permits: Arc<VisitorPermits>,
    stats: Arc<ServerStats>,
}

/// Port that one connection can hold at a time.
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
    _acceptor: Option<Acceptor>,
}

impl Ports {
    /// Holds nothing yet. `most_visitors` may come at once; they count in `stats`.
    pub(super) fn new(most_visitors: usize, stats: Arc<ServerStats>) -> Self {
        Self {
            held: Mutex::default(),
            lost: Mutex::default(),
            permits: Arc::new(VisitorPermits::new(most_visitors)),
            stats,
        }
    }

    /// Listens on the remote's address for `mux`.
    pub(super) fn bind(
        &self,
        remote: &Remote,
        owner: &str,
        access: PortAccess,
        mux: &Arc<Mux>,
    ) -> io::Result<()> {
        let addresses = resolve(&remote.local_host, remote.local_port)?;
        let address = *addresses.first().expect("a resolved host has an address");
        self.bind_at(address, remote, owner, access, mux)
    }

    /// Listens on `address` for `mux`. A port that its owner's dead connection still holds is
    /// freed first.
    pub(super) fn bind_at(
        &self,
        address: SocketAddr,
        remote: &Remote,
        owner: &str,
        access: PortAccess,
        mux: &Arc<Mux>,
    ) -> io::Result<()> {
        let key = PortKey::Address(address);
        self.evict_dead(&key, owner, mux);
        let listener = TcpListener::bind(address)?;
        let target: Arc<str> = remote.target().into();
        let visitors = PortListener {
            mux: Arc::clone(mux),
            target: Arc::clone(&target),
            access,
            permits: Arc::clone(&self.permits),
            of_owner: self.permits.of_holders.of(owner.to_owned()),
            stats: Arc::clone(&self.stats),
        };
        let acceptor = visitors.start(listener)?;
        let held = HeldPort {
            owner: owner.to_owned(),
            mux: Arc::clone(mux),
            target,
            _acceptor: Some(acceptor),
        };
        self.held().insert(key, held);
        self.count_held(owner, address.port());
        Ok(())
    }

    /// Holds the remote's port number for `mux` without listening anywhere.
    pub(super) fn hold(&self, remote: &Remote, owner: &str, mux: &Arc<Mux>) -> io::Result<()> {
        let key = PortKey::Number(owner.to_owned(), remote.local_port);
        self.evict_dead(&key, owner, mux);
        match self.held().entry(key) {
            Entry::Occupied(_) => return Err(io::ErrorKind::AddrInUse.into()),
            Entry::Vacant(entry) => {
                entry.insert(HeldPort {
                    owner: owner.to_owned(),
                    mux: Arc::clone(mux),
                    target: remote.target().into(),
                    _acceptor: None,
                });
            }
        }
        self.count_held(owner, remote.local_port);
        Ok(())
    }

    fn count_held(&self, owner: &str, port: u16) {
        if self.lost.lock().remove(&(owner.to_owned(), port)) {
            count(&self.stats.reconnects);
        }
    }

    /// Opens a stream to the target for which `owner` holds this number.
    pub(super) fn open(
        &self,
        owner: &str,
        port: u16,
        within: Duration,
    ) -> Result<LocalStream, OpenError> {
        let stream = match self.find(owner, port) {
            Some((mux, target)) => mux.open_stream(&target, within),
            None => Err(OpenError::NotHeld),
        };
        match &stream {
            Err(OpenError::NotHeld) => count(&self.stats.no_tunnel),
            Err(OpenError::Tunnel) => count(&self.stats.broken_tunnel),
            // Refusals of the other end are counted where its answer is read.
            Err(OpenError::Refused | OpenError::Full) | Ok(_) => {}
        }
        stream
    }

    pub(super) fn find(&self, owner: &str, port: u16) -> Option<(Arc<Mux>, Arc<str>)> {
        let held = self.held();
        let found = held.get(&PortKey::Number(owner.to_owned(), port))?;
        Some((Arc::clone(&found.mux), Arc::clone(&found.target)))
    }

    /// Frees the ports of a connection; returns each with its owner.
    pub(super) fn release(&self, mux: &Arc<Mux>) -> Vec<(String, u16)> {
        // Under the lock until the listeners are closed: a port that is not held can be bound.
        // Their threads do not take it.
        let mut held = self.held();
        let of_mux = held.extract_if(.., |_, held| Arc::ptr_eq(&held.mux, mux));
        let freed = of_mux.map(|(key, held)| {
            self.note_lost(&held.owner, key.port());
            (held.owner, key.port())
        });
        freed.collect()
    }

    fn note_lost(&self, owner: &str, port: u16) {
        let mut lost = self.lost.lock();
        if lost.len() >= MOST_LOST {
            lost.clear();
        }
        lost.insert((owner.to_owned(), port));
    }

    /// The ports that are held now, by who holds them.
    pub(super) fn all_held(&self) -> HashMap<String, Vec<u16>> {
        let mut all = HashMap::<String, Vec<u16>>::new();
        for (key, held) in self.held().iter() {
            match all.get_mut(&held.owner) {
                Some(ports) => ports.push(key.port()),
                None => {
                    all.insert(held.owner.clone(), vec![key.port()]);
                }
            }
        }
        all
    }

    /// True if `owner` holds this port, as a number or listening.
    pub(super) fn is_held(&self, owner: &str, port: u16) -> bool {
        let held = self.held();
        let number = PortKey::Number(owner.to_owned(), port);
        // Addresses come before all numbers, of which there may be thousands.
        let mut addresses = held.range(..PortKey::Number(String::new(), 0));
        held.contains_key(&number)
            || addresses.any(|(key, held)| held.is_of(owner) && key.port() == port)
    }

    /// The connection that `owner` holds this port over, as a number or listening.
    pub(super) fn holder(&self, owner: &str, port: u16) -> Option<Arc<Mux>> {
        let held = self.held();
        let mut all = held.iter();
        let found = all.find(|(key, held)| held.is_of(owner) && key.port() == port)?;
        Some(Arc::clone(&found.1.mux))
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
            log::info!("took over {key} from a dead connection");
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

/// State of a listening thread.
struct PortListener {
    mux: Arc<Mux>,
    target: Arc<str>,
    access: PortAccess,
    permits: Arc<VisitorPermits>,
    /// Permits of all ports of its holder.
    of_owner: Permits,
    stats: Arc<ServerStats>,
}

impl PortListener {
    /// Accepts until the answer is dropped, which closes the port.
    fn start(self, listener: TcpListener) -> io::Result<Acceptor> {
        Acceptor::start(
            listener,
            Thread::TunnelListen,
            move |accepted| match accepted {
                Ok((visitor, peer)) => {
                    self.serve(visitor, peer.ip());
                    None
                }
                Err(error) => {
                    log::debug!("cannot accept a visitor: {error}");
                    Some(AFTER_ERROR)
                }
            },
        )
    }

    fn serve(&self, visitor: TcpStream, address: IpAddr) {
        count(&self.stats.visitors);
        if !(self.access.may_come)(address) {
            count(&self.stats.not_allowed);
            let refusal = (self.access.refusal)(address);
            if !refusal.is_empty() {
                self.mux.notify(&refusal);
            }
            return log::debug!("visitor from {address} refused: not allowed here");
        }
        match self.permits.take(&self.of_owner, address) {
            Some(permits) => {
                self.mux
                    .serve_visitor(visitor, &self.target, &self.access.stats, permits)
            }
            None => {
                count(&self.stats.too_many);
                log::debug!("visitor from {address} refused: too many visitors");
            }
        }
    }
}

/// Permits for visitors' streams: for all, those of a holder's ports, and those of a source.
struct VisitorPermits {
    most: usize,
    all: Permits,
    of_holders: KeyedPermits<String>,
    of_sources: KeyedPermits<IpAddr>,
}

impl VisitorPermits {
    fn new(most: usize) -> Self {
        Self {
            most,
            all: Permits::default(),
            of_holders: KeyedPermits::default(),
            of_sources: KeyedPermits::default(),
        }
    }

    /// Takes the permits of a visitor from `address` at a port of a holder; none if there are too many.
    fn take(&self, of_holder: &Permits, address: IpAddr) -> Option<Vec<Permit>> {
        let source = source_of(address);
        let most_of_source = if source.is_loopback() {
            usize::MAX
        } else {
            self.most / SHARE_OF_SOURCE
        };
        Some(vec![
            self.of_sources.of(source).take(most_of_source)?,
            of_holder.take(self.most / SHARE_OF_HOLDER)?,
            self.all.take(self.most)?,
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Idle visitors of one port took all descriptors of the process: its sites were gone too.
    #[test]
    fn neither_a_holder_nor_a_source_takes_every_permit() {
        let permits = VisitorPermits::new(16);
        let of = |holder: &str| permits.of_holders.of(holder.to_owned());
        let take = |holder: &str, address: &str, count: usize| -> Vec<_> {
            let address = address.parse().unwrap();
            let taken = (0..count).filter_map(|_| permits.take(&of(holder), address));
            taken.collect()
        };
        let one_source = take("a", "192.0.2.1", 16);
        assert_eq!(one_source.len(), 4);
        let one_holder = take("a", "127.0.0.1", 16);
        assert_eq!(one_holder.len(), 4, "half of all with the four before");
        assert_eq!(take("b", "192.0.2.1", 1).len(), 0);
        let others = take("b", "127.0.0.1", 16);
        assert_eq!(others.len(), 8);
        assert_eq!(take("c", "192.0.2.2", 1).len(), 0, "all are taken");
        drop((one_source, one_holder, others));
        let of_source = |address: &str| permits.of_sources.of(address.parse().unwrap());
        let left = [&permits.all, &of("a"), &of("b"), &of("c")].map(Permits::out);
        let of_sources = ["192.0.2.1", "192.0.2.2", "127.0.0.1"].map(|one| of_source(one).out());
        assert_eq!((left, of_sources), ([0; 4], [0; 3]));
    }
}
