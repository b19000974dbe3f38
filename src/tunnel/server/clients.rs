//! Who is connected: a place for each client, whose it is, and who gives way when there is no room.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::http::source as source_of;
use crate::tunnel::line::Line;

/// Connections in all. Default 1024.
const MAX_CONNECTIONS: usize = 1024;
/// Connections of one source: an IPv4 address or an IPv6 /64. Default 128: a household of connectors
/// behind one router.
const MAX_OF_ONE_SOURCE: usize = 128;

/// All clients.
#[derive(Clone, Default)]
pub(super) struct Clients(Arc<Mutex<Table>>);

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
    /// It has not logged in. Shutting this socket ends it.
    Stranger(TcpStream),
    /// It has, under this name.
    Known(String, Arc<Line>),
}

/// A client's place; it is free when this is dropped.
pub(super) struct Place {
    clients: Clients,
    id: u64,
}

impl Clients {
    /// A place for a client that came from `address`; none where there are too many. A client that
    /// has not logged in gives way to a newer one: who only comes to be in the way keeps nobody out.
    pub(super) fn take(&self, address: IpAddr, socket: &TcpStream) -> io::Result<Option<Place>> {
        let source = source_of(address);
        let stage = Stage::Stranger(socket.try_clone()?);
        let mut table = self.table();
        let is_crowded = !source.is_loopback() && table.count_of(source) >= MAX_OF_ONE_SOURCE;
        if is_crowded || (table.all.len() >= MAX_CONNECTIONS && !table.give_up_stranger()) {
            return Ok(None);
        }
        let id = table.next;
        table.next += 1;
        table.all.insert(id, Client { source, stage });
        Ok(Some(Place {
            clients: self.clone(),
            id,
        }))
    }

    /// The connections of those who have logged in as `holder`.
    pub(super) fn lines(&self, holder: &str) -> Vec<Arc<Line>> {
        let line = |client: &Client| match &client.stage {
            Stage::Known(name, line) if name == holder => Some(Arc::clone(line)),
            _ => None,
        };
        self.table().all.values().filter_map(line).collect()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn count_of(&self, source: IpAddr) -> usize {
        let all = self.all.values();
        all.filter(|client| client.source == source).count()
    }

    /// Ends the oldest client that has not logged in; false where there is none.
    fn give_up_stranger(&mut self) -> bool {
        let mut all = self.all.iter();
        let id = all.find_map(|(id, client)| match &client.stage {
            Stage::Stranger(socket) => {
                // One that is gone already is as good.
                let _ = socket.shutdown(Shutdown::Both);
                Some(*id)
            }
            Stage::Known(..) => None,
        });
        id.is_some_and(|id| self.all.remove(&id).is_some())
    }
}

impl Place {
    /// The client has logged in as `holder`: it gives way to nobody any more.
    pub(super) fn admit(&self, holder: &str, line: &Arc<Line>) {
        if let Some(client) = self.clients.table().all.get_mut(&self.id) {
            client.stage = Stage::Known(holder.to_owned(), Arc::clone(line));
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let removed = self.clients.table().all.remove(&self.id);
        // Not under the lock: what it holds may be the last of a connection.
        drop(removed);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;

    /// A connected pair: ours, and the client's.
    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (listener.accept().unwrap().0, client)
    }

    fn take(clients: &Clients, address: &str, socket: &TcpStream) -> Option<Place> {
        clients.take(address.parse().unwrap(), socket).unwrap()
    }

    #[test]
    fn one_source_has_a_limit_and_an_ipv6_network_is_one() {
        let (clients, (socket, _client)) = (Clients::default(), pair());
        let take = |address: &str| take(&clients, address, &socket);
        let full: Vec<Place> = (0..MAX_OF_ONE_SOURCE)
            .filter_map(|host| take(&format!("2001:db8::{host:x}")))
            .collect();
        assert_eq!(full.len(), MAX_OF_ONE_SOURCE);
        assert!(take("2001:db8::ffff").is_none());
        assert!(take("2001:db8:0:1::1").is_some());
        assert!(take("192.0.2.1").is_some());
        drop(full);
        assert!(take("2001:db8::ffff").is_some());
        assert!(clients.table().all.is_empty());
    }

    /// Eight addresses that connected and said nothing kept everybody else out.
    #[test]
    fn the_oldest_stranger_gives_way_and_nothing_is_kept_of_him() {
        let (clients, (socket, _client)) = (Clients::default(), pair());
        let (oldest, mut his_end) = pair();
        let first = take(&clients, "192.0.2.1", &oldest).unwrap();
        let full: Vec<Place> = (1..MAX_CONNECTIONS)
            .filter_map(|_| take(&clients, "127.0.0.1", &socket))
            .collect();
        assert_eq!(full.len(), MAX_CONNECTIONS - 1);
        let late = take(&clients, "192.0.2.2", &socket);
        assert!(late.is_some());
        assert_eq!(his_end.read(&mut [0]).unwrap(), 0, "he is told at once");
        assert_eq!(clients.table().all.len(), MAX_CONNECTIONS);
        drop((first, full, late));
        assert!(clients.table().all.is_empty());
    }
}
