//! The kernel's lists of TCP sockets, `/proc/net/tcp` and `tcp6`: they tell the owner of one, for kernels that
//! `sock_diag` cannot ask (gVisor has no such protocol, and OpenWrt and other small kernels leave `inet_diag` out; the
//! web client would admit nobody there), and the sockets that listen.

use std::fs::File;
use std::io;
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, SocketAddr};

/// Bytes read from the list at once.
const PIECE: usize = 8 * 1024;
/// Lines of a list that are looked at for listeners; Linux lists those first.
const MAX_LISTED: usize = 4096;
/// `TCP_LISTEN` (net/tcp_states.h).
const LISTENS: u8 = 10;

/// A line of a list; mapped addresses are IPv4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListedSocket {
    /// Its own end.
    pub(crate) address: SocketAddr,
    pub(crate) peer: SocketAddr,
    pub(crate) state: u8,
    /// Number of its user.
    pub(crate) user: u32,
    /// Names it in the lists of files that processes have open.
    pub(crate) inode: u64,
}

/// Returns the owner of the socket whose own end is `client` and whose peer is `ours`; `None` if it is not listed.
///
/// A socket of the IPv6 family may carry IPv4: it is then listed in the other table, with
/// mapped addresses.
pub(super) fn owner(client: SocketAddr, ours: SocketAddr) -> io::Result<Option<Owner>> {
    if client.ip().to_canonical().is_ipv4() {
        let found = find(open("/proc/net/tcp")?, client, ours)?;
        if found.is_some() {
            return Ok(found);
        }
    }
    match open("/proc/net/tcp6") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None), // no IPv6 here
        table => find(table?, client, ours),
    }
}

/// The TCP sockets that listen; none where the kernel has no such list.
pub(crate) fn listening() -> Vec<ListedSocket> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(open);
    tables
        .into_iter()
        .flatten()
        .flat_map(listening_in)
        .collect()
}

fn open(table: &str) -> io::Result<BufReader<File>> {
    Ok(BufReader::with_capacity(PIECE, File::open(table)?))
}

fn find(table: impl BufRead, client: SocketAddr, ours: SocketAddr) -> io::Result<Option<Owner>> {
    let canonical = |end: SocketAddr| SocketAddr::new(end.ip().to_canonical(), end.port());
    let (client, ours) = (canonical(client), canonical(ours));
    for line in sockets(table) {
        let Some(socket) = line? else { continue };
        if (socket.address, socket.peer) == (client, ours) {
            return Ok(Some(Owner::of(socket.state, socket.user, socket.inode)));
        }
    }
    Ok(None)
}

fn listening_in(table: impl BufRead) -> impl Iterator<Item = ListedSocket> {
    let lines = sockets(table).map_while(Result::ok).take(MAX_LISTED);
    lines.flatten().filter(|socket| socket.state == LISTENS)
}

/// Returns the socket of each line; none for the first, which names the columns.
fn sockets(mut table: impl BufRead) -> impl Iterator<Item = io::Result<Option<ListedSocket>>> {
    let mut line = String::new();
    std::iter::from_fn(move || {
        line.clear();
        match table.read_line(&mut line) {
            Ok(0) => None,
            read => Some(read.map(|_| socket(&line))),
        }
    })
}

/// `sl: local remote state tx:rx tr:when retransmits uid timeout inode …`
fn socket(line: &str) -> Option<ListedSocket> {
    let mut fields = line.split_once(": ")?.1.split_ascii_whitespace();
    Some(ListedSocket {
        address: address(fields.next()?)?,
        peer: address(fields.next()?)?,
        state: u8::from_str_radix(fields.next()?, 16).ok()?,
        user: fields.nth(3)?.parse().ok()?,
        inode: fields.nth(1)?.parse().ok()?,
    })
}

/// Reads an address: 32-bit words in the machine's own byte order.
fn address(text: &str) -> Option<SocketAddr> {
    let (words, port) = text.split_once(':')?;
    let word = |at: usize| {
        let word = u32::from_str_radix(words.get(at..at + 8)?, 16).ok()?;
        Some(word.to_ne_bytes())
    };
    let ip: IpAddr = match words.len() {
        8 => word(0)?.into(),
        32 => {
            let octets = [word(0)?, word(8)?, word(16)?, word(24)?].concat();
            <[u8; 16]>::try_from(octets).ok()?.into()
        }
        _ => return None,
    };
    let port = u16::from_str_radix(port, 16).ok()?;
    Some(SocketAddr::new(ip.to_canonical(), port))
}

/// User of the peer, as far as the kernel tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// A process of this user holds the socket.
    User(u32),
    /// No process holds it any more (the kernel then lists user 0, which says nothing), or it is not connected yet:
    /// then it is a later socket of the same port, and not the one that was accepted.
    Orphan,
}

impl Owner {
    /// Reads the owner from the kernel's facts about a socket.
    pub(super) fn of(state: u8, uid: u32, inode: u64) -> Owner {
        /// `TCP_SYN_SENT` (net/tcp_states.h).
        const CONNECTING: u8 = 2;
        if inode == 0 || state == CONNECTING {
            Owner::Orphan
        } else {
            Owner::User(uid)
        }
    }
}

#[cfg(test)]
#[cfg(target_endian = "little")]
mod tests {
    use super::*;

    const TABLE: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:2072 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 100 1 0 100 0 0 10 0
   1: 0100007F:2072 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 101 1 0 20 4 30 10 -1
   2: 0100007F:9C40 0100007F:2072 01 00000000:00000000 00:00000000 00000000  1000        0 102 1 0 20 4 30 10 -1
   3: 0100007F:9C41 0100007F:2072 06 00000000:00000000 03:00001000 00000000     0        0 0 3 0
   4: 0100007F:9C44 0100007F:2072 02 00000001:00000000 01:00000064 00000000  1000        0 106 2
  10: 0100007F:9C42 0100007F:2072 01 00000000:00000000 00:00000000 00000000     0        0 103 1
";
    const TABLE6: &str = "\
   0: 00000000000000000000000001000000:9C40 00000000000000000000000001000000:2072 01 00000000:00000000 00:00000000 00000000    33        0 104 1
   1: 0000000000000000FFFF00000100007F:9C43 0000000000000000FFFF00000100007F:2072 01 00000000:00000000 00:00000000 00000000    34        0 105 1
";

    fn at(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    fn look(table: &str, client: &str, ours: &str) -> Option<Owner> {
        find(table.as_bytes(), at(client), at(ours)).unwrap()
    }

    #[test]
    fn the_owner_is_read_from_the_clients_line() {
        let ours = "127.0.0.1:8306";
        assert_eq!(
            look(TABLE, "127.0.0.1:40000", ours),
            Some(Owner::User(1000))
        );
        assert_eq!(look(TABLE, "127.0.0.1:40002", ours), Some(Owner::User(0)));
        assert_eq!(look(TABLE, "127.0.0.1:40001", ours), Some(Owner::Orphan));
        assert_eq!(
            look(TABLE, "127.0.0.1:40004", ours),
            Some(Owner::Orphan),
            "a socket that is still connecting was not accepted"
        );
        assert_eq!(look(TABLE, "127.0.0.1:40009", ours), None);
        assert_eq!(look(TABLE, "127.0.0.1:40000", "127.0.0.1:1"), None);
        assert_eq!(look("", "127.0.0.1:40000", ours), None);
        assert_eq!(
            look(
                "   1: 0100007F:9C40 0100007F:2072 01",
                "127.0.0.1:40000",
                ours
            ),
            None
        );
    }

    #[test]
    fn listeners_are_found_with_their_addresses_and_users() {
        let found = |table: &str| -> Vec<String> {
            let shown = |of: ListedSocket| format!("{} {} {}", of.address, of.user, of.inode);
            listening_in(table.as_bytes()).map(shown).collect()
        };
        assert_eq!(found(TABLE), ["127.0.0.1:8306 0 100"]);
        assert!(found(TABLE6).is_empty());
        let table6 = "   0: 00000000000000000000000001000000:0BB8 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     7        0 9 1\n   1: zz:1 0:0 0A\n";
        assert_eq!(found(table6), ["[::1]:3000 7 9"]);
    }

    #[test]
    fn the_other_table_holds_ipv6_and_mapped_addresses() {
        assert_eq!(
            look(TABLE6, "[::1]:40000", "[::1]:8306"),
            Some(Owner::User(33))
        );
        let mapped = look(TABLE6, "[::ffff:127.0.0.1]:40003", "127.0.0.1:8306");
        assert_eq!(mapped, Some(Owner::User(34)));
    }
}
