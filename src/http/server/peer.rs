//! User of the process at the other end of a loopback connection (Linux).
//!
//! Asks the kernel about the one connection (`sock_diag`); if that is not possible, reads its list of all TCP sockets
//! with their owners (`proc_net`). Nothing is cached: ports are reused by others.

use std::io;
use std::net::SocketAddr;

use super::proc_net;
use super::proc_net::Owner;
use crate::http::h1::Refusal;

/// Refuses a connection of another user of this host. Connections from elsewhere have no
/// local user and pass.
pub fn check(client: SocketAddr, ours: SocketAddr) -> Result<(), Refusal> {
    if !is_of_this_host(client, ours) || !cfg!(target_os = "linux") {
        return Ok(());
    }
    let me = rustix::process::geteuid().as_raw();
    match owner_with_retry(client, ours) {
        Ok(Some(Owner::User(uid))) if uid == me || uid == 0 => Ok(()),
        Ok(Some(Owner::User(_))) => Err(Refusal::new(
            403,
            "you are another user of this machine: start with --allow-other-users to allow this",
        )),
        Ok(_) => Err(unknown("the user of this connection is unknown")),
        Err(_) => Err(unknown(
            "the kernel does not show the user of this connection, and /proc/net/tcp cannot be read",
        )),
    }
}

/// True if the client connects over loopback, or from an address of ours to the same address.
fn is_of_this_host(client: SocketAddr, ours: SocketAddr) -> bool {
    let client = client.ip().to_canonical();
    client.is_loopback() || client == ours.ip().to_canonical()
}

fn unknown(why: &str) -> Refusal {
    let advice = "start with --allow-other-users to skip this check";
    Refusal::new(403, format!("{why}: {advice}"))
}

/// Asks twice: the table is read while it changes, so an entry may be missed once.
fn owner_with_retry(client: SocketAddr, ours: SocketAddr) -> io::Result<Option<Owner>> {
    match owner(client, ours)? {
        Some(owner) => Ok(Some(owner)),
        None => owner(client, ours),
    }
}

/// Asks the kernel for the owner, else reads its table.
fn owner(client: SocketAddr, ours: SocketAddr) -> io::Result<Option<Owner>> {
    match asked(client, ours) {
        Some(owner) => Ok(Some(owner)),
        None => proc_net::owner(client, ours),
    }
}

#[cfg(target_os = "linux")]
fn asked(client: SocketAddr, ours: SocketAddr) -> Option<Owner> {
    super::sock_diag::owner(client, ours).ok().flatten()
}

#[cfg(not(target_os = "linux"))]
fn asked(_client: SocketAddr, _ours: SocketAddr) -> Option<Owner> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn connections_from_elsewhere_have_no_user() {
        assert_eq!(check(at("192.0.2.1:5"), at("192.0.2.2:80")), Ok(()));
        for (client, ours) in [
            ("127.0.0.1:1", "127.0.0.1:2"),
            ("192.0.2.1:1", "192.0.2.1:2"),
            ("[::ffff:192.0.2.1]:1", "192.0.2.1:2"),
        ] {
            let refusal = check(at(client), at(ours)).unwrap_err();
            assert_eq!(refusal.status, 403, "{client}");
        }
    }
}
