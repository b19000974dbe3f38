//! Who is connected: a place for each client, whose it is, and who gives way when there is no room.

use crate::sync::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use crate::http::source as source_of;
use crate::tunnel::mux::Mux;
use crate::tunnel::ws::Cancel;

/// Connections in all. Default 1024; fewer where this process may not open so many files.
pub(super) const MAX_CONNECTIONS: usize = 1024;
/// Connections of one source: an IPv4 address or an IPv6 /64. Default 128: a household of connectors
/// behind one router.
const MAX_OF_ONE_SOURCE: usize = 128;

/// All clients.
#[derive(Clone)]
pub(super) struct Clients {
    most: usize,
    table: Arc<Mutex<Table>>,
}

#[derive(Default)]
struct Table {
    next: u64,
    /// In the order in which they came.
    all: BTreeMap<u64, Client>,
}

struct Client {
    source: IpAddr,
    stage: Stage,
}

enum Stage {
    /// It has not logged in. This signal ends it.
    Stranger(Cancel),
    /// It has, under this name.
    Known(String, Arc<Mux>),
}

/// A client's place; it is free when this is dropped.
pub(super) struct ClientPermit {
    clients: Clients,
    id: u64,
    given_up: Cancel,
}

impl Clients {
    /// At most `most`.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            table: Arc::default(),
        }
    }

    /// A place for a client that came from `address`; none where there are too many. A client that
    /// has not logged in gives way to a newer one: who only comes to be in the way keeps nobody out.
    pub(super) fn take(&self, address: IpAddr) -> Option<ClientPermit> {
        let source = source_of(address);
        let (place, stranger) = {
            let mut table = self.table();
            let is_crowded = !source.is_loopback() && table.count_of(source) >= MAX_OF_ONE_SOURCE;
            if is_crowded {
                return None;
            }
            let stranger = match table.all.len() >= self.most {
                true => Some(table.give_up_stranger()?),
                false => None,
            };
            (self.place(&mut table, source), stranger)
        };
        if let Some(stranger) = stranger {
            stranger.cancel();
        }
        Some(place)
    }

    fn place(&self, table: &mut Table, source: IpAddr) -> ClientPermit {
        let (id, given_up) = (table.next, Cancel::new());
        let stage = Stage::Stranger(given_up.clone());
        table.next += 1;
        table.all.insert(id, Client { source, stage });
        ClientPermit {
            clients: self.clone(),
            id,
            given_up,
        }
    }

    /// The connections of those who have logged in as `holder`.
    pub(super) fn lines(&self, holder: &str) -> Vec<Arc<Mux>> {
        let line = |client: &Client| match &client.stage {
            Stage::Known(name, line) if name == holder => Some(Arc::clone(line)),
            _ => None,
        };
        self.table().all.values().filter_map(line).collect()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock()
    }
}

impl Table {
    fn count_of(&self, source: IpAddr) -> usize {
        let all = self.all.values();
        all.filter(|client| client.source == source).count()
    }

    /// Takes out the oldest client that has not logged in: the signal that ends it.
    fn give_up_stranger(&mut self) -> Option<Cancel> {
        let mut all = self.all.iter();
        let (id, signal) = all.find_map(|(id, client)| match &client.stage {
            Stage::Stranger(signal) => Some((*id, signal.clone())),
            Stage::Known(..) => None,
        })?;
        self.all.remove(&id);
        Some(signal)
    }
}

impl ClientPermit {
    /// Given when the client has to make room.
    pub(super) fn given_up(&self) -> &Cancel {
        &self.given_up
    }

    /// The client has logged in as `holder`: it gives way to nobody any more.
    pub(super) fn admit(&self, holder: &str, line: &Arc<Mux>) {
        if let Some(client) = self.clients.table().all.get_mut(&self.id) {
            client.stage = Stage::Known(holder.to_owned(), Arc::clone(line));
        }
    }
}

impl Drop for ClientPermit {
    fn drop(&mut self) {
        let removed = self.clients.table().all.remove(&self.id);
        // Not under the lock: what it holds may be the last of a connection.
        drop(removed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(clients: &Clients, address: &str) -> Option<ClientPermit> {
        clients.take(address.parse().unwrap())
    }

    #[test]
    fn one_source_has_a_limit_and_an_ipv6_network_is_one() {
        let clients = Clients::new(MAX_CONNECTIONS);
        let full: Vec<ClientPermit> = (0..MAX_OF_ONE_SOURCE)
            .filter_map(|host| take(&clients, &format!("2001:db8::{host:x}")))
            .collect();
        assert_eq!(full.len(), MAX_OF_ONE_SOURCE);
        assert!(take(&clients, "2001:db8::ffff").is_none());
        assert!(take(&clients, "2001:db8:0:1::1").is_some());
        assert!(take(&clients, "192.0.2.1").is_some());
        drop(full);
        assert!(take(&clients, "2001:db8::ffff").is_some());
        assert!(clients.table().all.is_empty());
    }

    /// Eight addresses that connected and said nothing kept everybody else out.
    #[test]
    fn the_oldest_stranger_gives_way_and_nothing_is_kept_of_him() {
        let clients = Clients::new(3);
        let places = ["192.0.2.1", "192.0.2.2", "192.0.2.3"].map(|from| take(&clients, from));
        let given_up = || {
            let place =
                |place: &Option<ClientPermit>| place.as_ref().unwrap().given_up().is_cancelled();
            places.each_ref().map(place)
        };
        assert_eq!(given_up(), [false, false, false]);
        let late = take(&clients, "192.0.2.4");
        assert!(late.is_some());
        assert_eq!(given_up(), [true, false, false]);
        assert_eq!(clients.table().all.len(), 3);
        drop((places, late));
        assert!(clients.table().all.is_empty());
    }
}
