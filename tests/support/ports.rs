//! Ports that are free, and stay so.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustix::net::{
    AddressFamily, SocketFlags, SocketType, bind, getsockname, socket_with, sockopt,
};

use super::TIMEOUT;

/// Sockets that hold ports. They are bound and do not listen: nobody is given such a port by chance, and a server,
/// which may reuse an address, still gets it when it asks for it by number.
static HELD: Mutex<Vec<OwnedFd>> = Mutex::new(Vec::new());

/// A port on which nothing listens, and which nobody on this machine is given as long as this process lives.
pub fn free_port() -> u16 {
    let family = AddressFamily::INET;
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None);
    let socket = socket.expect("a descriptor is left");
    sockopt::set_socket_reuseaddr(&socket, true).expect("an option of every socket");
    bind(&socket, &SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))).expect("a port is free");
    let name = getsockname(&socket).expect("it is bound");
    let name = SocketAddr::try_from(name).expect("it is an address of IPv4");
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    held.push(socket);
    name.port()
}

/// Descriptors that this process spends on it.
pub fn held() -> usize {
    HELD.lock().unwrap_or_else(PoisonError::into_inner).len()
}

/// Takes the port that a relay within a command has where it can, so that those of these tests are at ports of their own:
/// at the usual one another test's relay could come before one is back.
pub fn keep_the_usual_port_away() {
    static KEPT: OnceLock<Option<TcpListener>> = OnceLock::new();
    KEPT.get_or_init(|| {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            match TcpListener::bind("127.0.0.1:8180") {
                Ok(listener) => return Some(listener),
                // Somebody's who keeps it: it is away too.
                Err(_) if Instant::now() > deadline => return None,
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    });
}
