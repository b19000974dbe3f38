//! The owner of one TCP socket from the kernel's list in `/proc/net/tcp` and `tcp6`, for kernels that `sock_diag` cannot
//! ask: gVisor has no such protocol, and OpenWrt and other small kernels leave `inet_diag` out. The web client would let
//! nobody in there.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::net::{IpAddr, SocketAddr};

use super::socket_owner::Owner;

/// Bytes read from the list at once.
const PIECE: usize = 8 * 1024;
/// Lines of a list that are looked at for listeners; Linux lists those first.
const MAX_LISTED: usize = 4096;

/// The owner of the socket whose own end is `client` and whose peer is `ours`; `None` where it is not listed.
///
/// A socket of the IPv6 family may carry IPv4: it is then listed in the other table, with
/// mapped addresses.
pub(super) fn owner(client: SocketAddr, ours: SocketAddr) -> io::Result<Option<Owner>> {
    if client.ip().to_canonical().is_ipv4() {
        let found = lookup("/proc/net/tcp", &key(client, ours, false))?;
        if found.is_some() {
            return Ok(found);
        }
    }
    match lookup("/proc/net/tcp6", &key(client, ours, true)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None), // no IPv6 here
        found => found,
    }
}

fn lookup(table: &str, key: &str) -> io::Result<Option<Owner>> {
    find(BufReader::with_capacity(PIECE, File::open(table)?), key)
}

/// The owner of the first line whose local and remote address are `key`.
fn find(mut table: impl BufRead, key: &str) -> io::Result<Option<Owner>> {
    let mut line = String::new();
    while table.read_line(&mut line)? > 0 {
        if let Some(owner) = parse_line(&line, key) {
            return Ok(Some(owner));
        }
        line.clear();
    }
    Ok(None)
}

/// `sl: local remote state tx:rx tr:when retransmits uid timeout inode …`
fn parse_line(line: &str, key: &str) -> Option<Owner> {
    let rest = line.split_once(": ")?.1.trim_start().strip_prefix(key)?;
    let mut fields = rest.split_ascii_whitespace();
    let state = u8::from_str_radix(fields.next()?, 16).ok()?;
    let uid = fields.nth(3)?.parse().ok()?;
    let inode = fields.nth(1)?.parse().ok()?;
    Some(Owner::of(state, uid, inode))
}

/// A socket that listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListeningSocket {
    /// Where; mapped addresses are IPv4.
    pub(crate) address: SocketAddr,
    /// Number of its user.
    pub(crate) user: u32,
    /// Names it in the lists of files that processes have open.
    pub(crate) inode: u64,
}

/// The TCP sockets that listen; none where the kernel has no such list.
pub(crate) fn listening() -> Vec<ListeningSocket> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    let tables = tables.iter().filter_map(|table| File::open(table).ok());
    tables
        .flat_map(|table| listening_in(BufReader::with_capacity(PIECE, table)))
        .collect()
}

fn listening_in(table: impl BufRead) -> Vec<ListeningSocket> {
    let lines = table.lines().map_while(Result::ok).take(MAX_LISTED);
    lines.filter_map(|line| listening_line(&line)).collect()
}

fn listening_line(line: &str) -> Option<ListeningSocket> {
    /// `TCP_LISTEN` (net/tcp_states.h).
    const LISTENS: &str = "0A";
    let mut fields = line.split_once(": ")?.1.split_ascii_whitespace();
    let address = address(fields.next()?)?;
    let is_listening = fields.nth(1)? == LISTENS;
    let user = fields.nth(3)?.parse().ok()?;
    let inode = fields.nth(1)?.parse().ok()?;
    is_listening.then_some(ListeningSocket {
        address,
        user,
        inode,
    })
}

/// The reverse of [`end`].
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

/// The client's end and ours as the table writes them, the client's first, with a space
/// after each.
fn key(client: SocketAddr, ours: SocketAddr, v6: bool) -> String {
    format!("{} {} ", end(client, v6), end(ours, v6))
}

/// Addresses stand there as 32-bit words in the machine's own byte order.
fn end(address: SocketAddr, v6: bool) -> String {
    let octets = match (address.ip().to_canonical(), v6) {
        (IpAddr::V4(ip), false) => ip.octets().to_vec(),
        (IpAddr::V4(ip), true) => ip.to_ipv6_mapped().octets().to_vec(),
        (IpAddr::V6(ip), _) => ip.octets().to_vec(),
    };
    let words = octets.chunks_exact(4).map(|word| {
        let word = word.try_into().expect("a word has four bytes");
        format!("{:08X}", u32::from_ne_bytes(word))
    });
    format!("{}:{:04X}", words.collect::<String>(), address.port())
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

    fn look(table: &str, client: &str, ours: &str, v6: bool) -> Option<Owner> {
        find(table.as_bytes(), &key(at(client), at(ours), v6)).unwrap()
    }

    #[test]
    fn the_owner_is_read_from_the_clients_line() {
        let ours = "127.0.0.1:8306";
        assert_eq!(
            look(TABLE, "127.0.0.1:40000", ours, false),
            Some(Owner::User(1000))
        );
        assert_eq!(
            look(TABLE, "127.0.0.1:40002", ours, false),
            Some(Owner::User(0))
        );
        assert_eq!(
            look(TABLE, "127.0.0.1:40001", ours, false),
            Some(Owner::Orphan)
        );
        assert_eq!(
            look(TABLE, "127.0.0.1:40004", ours, false),
            Some(Owner::Orphan),
            "a socket that is still connecting was not accepted"
        );
        assert_eq!(look(TABLE, "127.0.0.1:40009", ours, false), None);
        assert_eq!(look(TABLE, "127.0.0.1:40000", "127.0.0.1:1", false), None);
        assert_eq!(look("", "127.0.0.1:40000", ours, false), None);
        assert_eq!(
            look(
                "   1: 0100007F:9C40 0100007F:2072 01",
                "127.0.0.1:40000",
                ours,
                false
            ),
            None
        );
    }

    #[test]
    fn listeners_are_found_with_their_addresses_and_users() {
        let found = |table: &str| -> Vec<String> {
            let found = listening_in(table.as_bytes());
            let shown = |of: &ListeningSocket| format!("{} {} {}", of.address, of.user, of.inode);
            found.iter().map(shown).collect()
        };
        assert_eq!(found(TABLE), ["127.0.0.1:8306 0 100"]);
        assert!(found(TABLE6).is_empty());
        let table6 = "   0: 00000000000000000000000001000000:0BB8 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     7        0 9 1\n   1: zz:1 0:0 0A\n";
        assert_eq!(found(table6), ["[::1]:3000 7 9"]);
    }

    #[test]
    fn the_other_table_holds_ipv6_and_mapped_addresses() {
        assert_eq!(
            look(TABLE6, "[::1]:40000", "[::1]:8306", true),
            Some(Owner::User(33))
        );
        let mapped = look(TABLE6, "[::ffff:127.0.0.1]:40003", "127.0.0.1:8306", true);
        assert_eq!(mapped, Some(Owner::User(34)));
    }
}
