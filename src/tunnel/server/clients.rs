//! The connected clients, each with its permit and its login; the eviction of one when there are too many; and the
//! counters of a server.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use crate::http::source as source_of;
use crate::sync::{Mutex, MutexGuard, part_of_memory};
use crate::tunnel::mux::Mux;
use crate::tunnel::ws::Cancel;

/// Connections in all. Default 16,384: 2,500 connectors, each with a main tunnel and those of five applications; fewer
/// where this process may not open so many files.
pub(super) const MAX_CONNECTIONS: usize = crate::limits::TUNNELS;
/// Connections that have not logged in. Default 1024, fewer in a small memory: anybody can open them, and each has a
/// thread.
static MAX_PENDING: LazyLock<usize> =
    LazyLock::new(|| part_of_memory(BYTES_PENDING, crate::limits::TUNNELS_PENDING));
/// Memory for each of these, with its thread. Default 128 KiB.
const BYTES_PENDING: u64 = 128 * 1024;
/// Connections of one source: an IPv4 address or an IPv6 /64. Default 128: a household of connectors
/// behind one router.
const MAX_OF_ONE_SOURCE: usize = crate::limits::TUNNELS_OF_SOURCE;
/// Connections with one login. Default 256: twice the number for 100 applications, as earlier ones may not have ended
/// yet when it comes back.
const MAX_OF_ONE_LOGIN: usize = crate::limits::TUNNELS_OF_LOGIN;

/// All clients.
#[derive(Clone)]
pub(super) struct Clients {
    most: usize,
    table: Arc<Mutex<ClientTable>>,
}

#[derive(Default)]
struct ClientTable {
    next: u64,
    /// In the order in which they came.
    all: BTreeMap<u64, ClientEntry>,
    /// Number of clients that have not logged in.
    pending: usize,
}

struct ClientEntry {
    source: IpAddr,
    login: ClientLogin,
}

enum ClientLogin {
    /// It has not logged in. This signal ends it.
    Pending(Cancel),
    /// It has, under this name.
    Done(String, Arc<Mux>),
}

/// A client's permit; dropping it gives it back.
pub(super) struct ClientPermit {
    clients: Clients,
    id: u64,
    evicted: Cancel,
}

impl Clients {
    /// A table with room for `most` clients.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            table: Arc::default(),
        }
    }

    /// A permit for a client that came from `address`; none if there are too many. A newer client evicts the oldest
    /// that has not logged in, one of its own source if that source is at its limit. So idle connections keep nobody
    /// out, not even a connector behind the same router.
    pub(super) fn take(&self, address: IpAddr) -> Option<ClientPermit> {
        let source = source_of(address);
        let (permit, evicted) = {
            let mut table = self.table();
            let is_crowded = !source.is_loopback() && table.count_of(source) >= MAX_OF_ONE_SOURCE;
            let is_full = table.all.len() >= self.most || table.pending >= *MAX_PENDING;
            let evicted = if is_crowded {
                Some(table.evict_pending(|client| client.source == source)?)
            } else if is_full {
                Some(table.evict_pending(|_| true)?)
            } else {
                None
            };
            (self.insert(&mut table, source), evicted)
        };
        if let Some(evicted) = evicted {
            evicted.cancel();
        }
        Some(permit)
    }

    fn insert(&self, table: &mut ClientTable, source: IpAddr) -> ClientPermit {
        let (id, evicted) = (table.next, Cancel::new());
        let login = ClientLogin::Pending(evicted.clone());
        table.next += 1;
        table.pending += 1;
        table.all.insert(id, ClientEntry { source, login });
        ClientPermit {
            clients: self.clone(),
            id,
            evicted,
        }
    }

    /// The connections that have logged in as `holder`.
    pub(super) fn connections(&self, holder: &str) -> Vec<Arc<Mux>> {
        let mux = |client: &ClientEntry| match &client.login {
            ClientLogin::Done(name, mux) if name == holder => Some(Arc::clone(mux)),
            _ => None,
        };
        self.table().all.values().filter_map(mux).collect()
    }

    /// Number of clients.
    pub(super) fn counts(&self) -> ClientCounts {
        let table = self.table();
        ClientCounts {
            tunnels: table.all.len() - table.pending,
            pending: table.pending,
        }
    }

    /// Limit for connections of one login: never so many that no other gets one.
    fn of_one_login(&self) -> usize {
        MAX_OF_ONE_LOGIN.min(self.most / 2)
    }

    fn table(&self) -> MutexGuard<'_, ClientTable> {
        self.table.lock()
    }
}

impl ClientTable {
    fn count_of(&self, source: IpAddr) -> usize {
        let all = self.all.values();
        all.filter(|client| client.source == source).count()
    }

    fn count_with(&self, holder: &str) -> usize {
        let logins = self.all.values().map(|client| &client.login);
        let is_its =
            |login: &&ClientLogin| matches!(login, ClientLogin::Done(name, _) if name == holder);
        logins.filter(is_its).count()
    }

    /// Takes out the oldest of these clients that has not logged in; returns the signal that ends it.
    fn evict_pending(&mut self, among: impl Fn(&ClientEntry) -> bool) -> Option<Cancel> {
        let mut all = self.all.iter().filter(|(_, client)| among(client));
        let (id, signal) = all.find_map(|(id, client)| match &client.login {
            ClientLogin::Pending(signal) => Some((*id, signal.clone())),
            ClientLogin::Done(..) => None,
        })?;
        // The permit of one that is gone takes nothing out.
        self.take_out(id);
        Some(signal)
    }

    fn take_out(&mut self, id: u64) -> Option<ClientEntry> {
        let client = self.all.remove(&id)?;
        self.pending -= usize::from(matches!(client.login, ClientLogin::Pending(_)));
        Some(client)
    }
}

impl ClientPermit {
    /// Signal that the client is evicted.
    pub(super) fn evicted(&self) -> &Cancel {
        &self.evicted
    }

    /// The client has logged in as `holder`: it is not evicted any more. False where that login has as many
    /// connections as it may.
    pub(super) fn admit(&self, holder: &str, mux: &Arc<Mux>) -> bool {
        let mut table = self.clients.table();
        if table.count_with(holder) >= self.clients.of_one_login() {
            return false;
        }
        if let Some(client) = table.all.get_mut(&self.id) {
            let done = ClientLogin::Done(holder.to_owned(), Arc::clone(mux));
            let before = std::mem::replace(&mut client.login, done);
            table.pending -= usize::from(matches!(before, ClientLogin::Pending(_)));
        }
        true
    }
}

impl Drop for ClientPermit {
    fn drop(&mut self) {
        let removed = self.clients.table().take_out(self.id);
        // Not under the lock: it may hold the last reference to a connection.
        drop(removed);
    }
}

/// Counters since the server started.
#[derive(Debug, Default)]
pub struct ServerStats {
    /// Connections that were turned away, as there were too many, or too many with one login.
    pub turned_away: AtomicU64,
    /// Logins, one a connection.
    pub logins: AtomicU64,
    /// Logins that were refused.
    pub logins_refused: AtomicU64,
    /// Requests of clients for what they had before, and lost with their connection.
    pub reconnects: AtomicU64,
    /// Visitors that came to public ports.
    pub visitors: AtomicU64,
    /// Visitors from an address that may not come.
    pub not_allowed: AtomicU64,
    /// Visitors for whom there was no room.
    pub too_many: AtomicU64,
    /// Streams for which no tunnel was connected.
    pub no_tunnel: AtomicU64,
    /// Streams whose tunnel ended, or took no more.
    pub broken_tunnel: AtomicU64,
}

/// Clients of a server, as they are now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientCounts {
    /// Connections that have logged in.
    pub tunnels: usize,
    /// Connections that have not.
    pub pending: usize,
}

/// Adds one to a counter.
pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(clients: &Clients, address: &str) -> Option<ClientPermit> {
        clients.take(address.parse().unwrap())
    }

    /// An office shares one address: 128 connections that said nothing kept all its connectors out.
    #[test]
    fn one_source_has_a_limit_and_its_oldest_gives_way_for_it() {
        let clients = Clients::new(MAX_CONNECTIONS);
        let other = take(&clients, "192.0.2.1").unwrap();
        let crowd: Vec<ClientPermit> = (0..MAX_OF_ONE_SOURCE + 3)
            .filter_map(|host| take(&clients, &format!("2001:db8::{host:x}")))
            .collect();
        assert_eq!(crowd.len(), MAX_OF_ONE_SOURCE + 3);
        let evicted: Vec<bool> = crowd
            .iter()
            .map(|permit| permit.evicted().is_cancelled())
            .collect();
        assert!(evicted[..3].iter().all(|is| *is) && !evicted[3..].contains(&true));
        assert!(!other.evicted().is_cancelled());
        let beside = take(&clients, "2001:db8:0:1::1").unwrap();
        assert_eq!(clients.table().all.len(), MAX_OF_ONE_SOURCE + 2);
        assert!(!crowd[3].evicted().is_cancelled());
        drop((crowd, other, beside));
        let table = clients.table();
        assert!(table.all.is_empty() && table.pending == 0);
    }

    /// Eight addresses that connected and said nothing kept everybody else out.
    #[test]
    fn the_oldest_without_a_login_is_evicted_and_nothing_is_kept_of_it() {
        let clients = Clients::new(3);
        let permits = ["192.0.2.1", "192.0.2.2", "192.0.2.3"].map(|from| take(&clients, from));
        let are_evicted = || {
            let is_evicted =
                |permit: &Option<ClientPermit>| permit.as_ref().unwrap().evicted().is_cancelled();
            permits.each_ref().map(is_evicted)
        };
        assert_eq!(are_evicted(), [false, false, false]);
        let late = take(&clients, "192.0.2.4");
        assert!(late.is_some());
        assert_eq!(are_evicted(), [true, false, false]);
        assert_eq!(clients.table().all.len(), 3);
        drop((permits, late));
        let table = clients.table();
        assert!(table.all.is_empty() && table.pending == 0);
    }

    /// There is room for many connectors, and strangers do not get a thread for each place.
    #[test]
    fn those_without_a_login_are_fewer() {
        let clients = Clients::new(MAX_CONNECTIONS);
        let all: Vec<_> = (0..*MAX_PENDING + 3)
            .map(|_| take(&clients, "127.0.0.1").unwrap())
            .collect();
        let evicted = |permit: &&ClientPermit| permit.evicted().is_cancelled();
        assert_eq!(all.iter().filter(evicted).count(), 3);
        assert_eq!(clients.table().all.len(), *MAX_PENDING);
    }
}
