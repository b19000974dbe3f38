//! The owner of one TCP socket by a `sock_diag` request (Linux, sock_diag(7)): exact, of constant cost however many
//! connections the host has, and without `/proc`, which may be missing.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, recv, send, socket_with,
};

use super::proc_net::Owner;

/// `SOCK_DIAG_BY_FAMILY` (linux/sock_diag.h).
const BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST` (linux/netlink.h).
const REQUEST: u16 = 1;
/// Limit for the kernel's answer, which comes at once.
const TIMEOUT: Duration = Duration::from_secs(1);
/// `struct nlmsghdr`.
const HEADER: usize = 16;
/// `struct inet_diag_sockid`.
const SOCKET_ID: usize = 48;
/// Offset of `idiag_state` in an answer: after the header and the family.
const STATE: usize = HEADER + 1;
/// Offset of `idiag_uid` and `idiag_inode` in an answer: after the header, four bytes, the socket id and three words.
const UID: usize = HEADER + 4 + SOCKET_ID + 12;

/// Returns the owner of the socket whose own end is `client` and whose peer is `ours`; `None` if the kernel knows none
/// or does not answer such questions.
pub(super) fn owner(client: SocketAddr, ours: SocketAddr) -> io::Result<Option<Owner>> {
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    )?;
    set_socket_timeout(&socket, Timeout::Recv, Some(TIMEOUT))?;
    connect(&socket, &SocketAddrNetlink::new(0, 0))?;
    let id = socket_id(client, ours);
    send(&socket, &request(client, &id), SendFlags::empty())?;
    let mut answer = [0u8; 512];
    let (_, length) = recv(&socket, answer.as_mut_slice(), RecvFlags::empty())?;
    Ok(read(
        answer
            .get(..length)
            .expect("no more came than there is room for"),
        &id,
    ))
}

/// Ports and addresses in network byte order, any interface, no cookie.
fn socket_id(client: SocketAddr, ours: SocketAddr) -> [u8; SOCKET_ID] {
    let mut id = [0u8; SOCKET_ID];
    let mut put = |at: usize, bytes: &[u8]| {
        let field = id.get_mut(at..at + bytes.len());
        field.expect("a field of the id").copy_from_slice(bytes);
    };
    put(0, &client.port().to_be_bytes());
    put(2, &ours.port().to_be_bytes());
    put(4, &octets(client.ip()));
    put(20, &octets(ours.ip()));
    put(40, &[0xff; 8]);
    id
}

fn octets(ip: IpAddr) -> Vec<u8> {
    match ip.to_canonical() {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    }
}

/// `struct nlmsghdr` and `struct inet_diag_req_v2`, for TCP in any state.
fn request(client: SocketAddr, id: &[u8; SOCKET_ID]) -> Vec<u8> {
    const LENGTH: u32 = 72;
    const TCP: u8 = 6;
    let family = if client.ip().to_canonical().is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let family = u8::try_from(family.as_raw()).expect("families are small numbers");
    let mut bytes = Vec::with_capacity(72);
    bytes.extend_from_slice(&LENGTH.to_ne_bytes());
    bytes.extend_from_slice(&BY_FAMILY.to_ne_bytes());
    bytes.extend_from_slice(&REQUEST.to_ne_bytes());
    bytes.extend_from_slice(&[0; 8]);
    bytes.extend_from_slice(&[family, TCP, 0, 0]);
    bytes.extend_from_slice(&u32::MAX.to_ne_bytes());
    bytes.extend_from_slice(id);
    bytes
}

/// Reads an answer; an error, or an answer about another socket (a listener on the same port), tells nothing.
fn read(answer: &[u8], id: &[u8; SOCKET_ID]) -> Option<Owner> {
    let kind = answer.get(4..6)?;
    // The ports suffice: the kernel has compared the addresses too, and returns mapped ones in another form.
    let about = answer.get(HEADER + 4..)?;
    if kind != BY_FAMILY.to_ne_bytes() || about.get(..4)? != id.get(..4)? {
        return None;
    }
    let word = |at: usize| Some(u32::from_ne_bytes(answer.get(at..at + 4)?.try_into().ok()?));
    let (state, uid, inode) = (*answer.get(STATE)?, word(UID)?, word(UID + 4)?);
    Some(Owner::of(state, uid, inode.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    fn pair(at: &str) -> Option<(TcpStream, SocketAddr, SocketAddr)> {
        let listener = TcpListener::bind(at).ok()?;
        let client = TcpStream::connect(listener.local_addr().ok()?).ok()?;
        let (own, peer) = (client.local_addr().ok()?, client.peer_addr().ok()?);
        Some((client, own, peer))
    }

    /// The kernel's own answer is compared with the process's own user. Where the kernel cannot be asked (a sandbox),
    /// `/proc` is what remains, which has tests of its own.
    #[test]
    fn our_own_connection_is_ours() {
        let me = rustix::process::geteuid().as_raw();
        for at in ["127.0.0.1:0", "[::1]:0"] {
            let Some((client, own, peer)) = pair(at) else {
                continue;
            };
            if let Ok(Some(found)) = owner(own, peer) {
                assert_eq!(found, Owner::User(me), "{at}");
            }
            drop(client);
        }
    }

    #[test]
    fn an_answer_about_another_socket_tells_nothing() {
        let id = socket_id(
            "127.0.0.1:5".parse().unwrap(),
            "127.0.0.1:6".parse().unwrap(),
        );
        let mut answer = vec![0u8; 88];
        answer[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
        answer[20..68].copy_from_slice(&id);
        answer[UID..UID + 4].copy_from_slice(&7u32.to_ne_bytes());
        answer[UID + 4..UID + 8].copy_from_slice(&9u32.to_ne_bytes());
        answer[STATE] = 1;
        assert_eq!(read(&answer, &id), Some(Owner::User(7)));
        answer[STATE] = 2;
        assert_eq!(read(&answer, &id), Some(Owner::Orphan));
        answer[UID + 4..UID + 8].fill(0);
        assert_eq!(read(&answer, &id), Some(Owner::Orphan));
        answer[22] = 1;
        assert_eq!(read(&answer, &id), None);
        assert_eq!(read(&answer[..60], &id), None);
        answer[4] = 2;
        assert_eq!(read(&answer, &id), None);
    }
}
