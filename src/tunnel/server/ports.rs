//! What a server holds for its clients, and whose it is: ports, and names for streams that are
//! opened in this process.

use crate::net::Acceptor;
use crate::net::resolve::resolve;
use crate::sync::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use super::visitors::Visitors;
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
    held: Mutex<BTreeMap<Spot, Held>>,
    visitors: Visitors,
}

/// What can be held by one connection at a time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Spot {
    /// A port of this machine.
    Address(SocketAddr),
    /// A number that means something for one holder only.
    Number(String, u16),
}

struct Held {
    owner: String,
    line: Arc<Mux>,
    target: Arc<str>,
    _listening: Option<Acceptor>,
}

impl Ports {
    /// Nothing is held; these are the seats for visitors.
    pub(super) fn new(visitors: Visitors) -> Self {
        Self {
            held: Mutex::default(),
            visitors,
        }
    }

    /// Listens where the remote says for `line`.
    pub(super) fn bind(
        &self,
        remote: &Remote,
        owner: &str,
        visits: Arc<PortStats>,
        line: &Arc<Mux>,
    ) -> io::Result<()> {
        let addresses = resolve(&remote.local_host, remote.local_port)?;
        let address = *addresses.first().expect("a resolved host has an address");
        self.bind_at(address, remote, (owner, visits), line)
    }

    /// Listens on `address` for `line`. A port that its owner's dead connection still holds is
    /// freed first.
    pub(super) fn bind_at(
        &self,
        address: SocketAddr,
        remote: &Remote,
        (owner, visits): (&str, Arc<PortStats>),
        line: &Arc<Mux>,
    ) -> io::Result<()> {
        let spot = Spot::Address(address);
        self.evict_dead(&spot, owner, line);
        let listener = TcpListener::bind(address)?;
        let target: Arc<str> = remote.target().into();
        let door = Door {
            line: Arc::clone(line),
            target: Arc::clone(&target),
            owner: owner.to_owned(),
            visits,
            visitors: self.visitors.clone(),
        };
        let listening = door.open(listener)?;
        let held = Held {
            owner: owner.to_owned(),
            line: Arc::clone(line),
            target,
            _listening: Some(listening),
        };
        self.held().insert(spot, held);
        Ok(())
    }

    /// Holds the remote's port number for `line` without listening anywhere.
    pub(super) fn hold(&self, remote: &Remote, owner: &str, line: &Arc<Mux>) -> io::Result<()> {
        let spot = Spot::Number(owner.to_owned(), remote.local_port);
        self.evict_dead(&spot, owner, line);
        match self.held().entry(spot) {
            Entry::Occupied(_) => Err(io::ErrorKind::AddrInUse.into()),
            Entry::Vacant(place) => {
                place.insert(Held {
                    owner: owner.to_owned(),
                    line: Arc::clone(line),
                    target: remote.target().into(),
                    _listening: None,
                });
                Ok(())
            }
        }
    }

    /// Opens a stream to what `owner` holds this number for.
    pub(super) fn open(&self, owner: &str, port: u16) -> Result<LocalStream, OpenError> {
        let (line, target) = self.find(owner, port).ok_or(OpenError::NotHeld)?;
        line.open_stream(&target)
    }

    pub(super) fn find(&self, owner: &str, port: u16) -> Option<(Arc<Mux>, Arc<str>)> {
        let held = self.held();
        let found = held.get(&Spot::Number(owner.to_owned(), port))?;
        Some((Arc::clone(&found.line), Arc::clone(&found.target)))
    }

    /// Frees what a connection held.
    pub(super) fn release(&self, line: &Arc<Mux>) {
        // Under the lock until the listeners are closed: who finds a port free here can bind it.
        // Their threads do not take it.
        self.held().retain(|_, held| !Arc::ptr_eq(&held.line, line));
    }

    /// Whether `owner` holds this port, as a number or listening.
    pub(super) fn is_held(&self, owner: &str, port: u16) -> bool {
        let held = self.held();
        held.iter()
            .any(|(spot, held)| held.is_of(owner) && spot.port() == port)
    }

    /// Takes this port from `owner`.
    pub(super) fn free(&self, owner: &str, port: u16) {
        self.held()
            .retain(|spot, held| !held.is_of(owner) || spot.port() != port);
    }

    fn evict_dead(&self, spot: &Spot, owner: &str, newcomer: &Arc<Mux>) {
        let holder = match self.held().get(spot) {
            Some(held) if held.owner == owner && !Arc::ptr_eq(&held.line, newcomer) => {
                Arc::clone(&held.line)
            }
            _ => return,
        };
        if !holder.probe(PROOF_WITHIN) {
            log::info!("{spot} is taken from a connection that is dead");
            holder.stop();
            holder.cut();
            self.release(&holder);
        }
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<Spot, Held>> {
        self.held.lock()
    }
}

impl Held {
    fn is_of(&self, owner: &str) -> bool {
        self.owner == owner
    }
}

impl Spot {
    fn port(&self) -> u16 {
        match self {
            Self::Address(address) => address.port(),
            Self::Number(_, port) => *port,
        }
    }
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Number(owner, number) => write!(f, "{owner:?}'s number {number}"),
        }
    }
}

/// What a listening thread works with.
struct Door {
    line: Arc<Mux>,
    target: Arc<str>,
    owner: String,
    visits: Arc<PortStats>,
    visitors: Visitors,
}

impl Door {
    /// Accepts until the answer is dropped, which closes the port.
    fn open(self, listener: TcpListener) -> io::Result<Acceptor> {
        let thread = ("tunnel-listen", LISTENER_STACK);
        Acceptor::start(listener, thread, move |accepted| match accepted {
            Ok((visitor, peer)) => {
                self.let_in(visitor, peer.ip());
                None
            }
            Err(error) => {
                log::debug!("accepting a visitor failed: {error}");
                Some(AFTER_ERROR)
            }
        })
    }

    fn let_in(&self, visitor: TcpStream, address: IpAddr) {
        match self.visitors.seat(&self.owner, address) {
            Some(seat) => self
                .line
                .serve_visitor(visitor, &self.target, &self.visits, seat),
            None => log::debug!("a visitor from {address} is turned away: too many visitors"),
        }
    }
}
