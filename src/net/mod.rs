//! Names, addresses and sockets: what every room needs of the network, once.
//!
//! [`authority`], [`cidr`], [`percent`] and [`AddressClass`] are pure. [`resolve`] asks the system's resolver, [`poll`] and
//! [`Acceptor`] wait for sockets.

mod address;
pub(crate) mod authority;
pub(crate) mod certificate;
pub(crate) mod percent;
pub(crate) mod poll;
mod words;

pub(crate) use address::is_within;
pub use address::{AddressClass, Cidr, InvalidCidr};
pub(crate) use poll::{Acceptor, Pause, Waker};
pub(crate) use words::{in_words, push_words};

use std::io;
use std::net::TcpStream;
use std::time::Duration;

use rustix::net::sockopt;

/// Has the kernel ask whether a silent peer is still there: first after `idle`, then every `interval`; after
/// `probes` of them, or the system's own number (nine on Linux), without an answer the connection ends (tcp(7)).
pub(crate) fn keep_alive(
    socket: &TcpStream,
    idle: Duration,
    interval: Duration,
    probes: Option<u32>,
) -> io::Result<()> {
    if let Some(probes) = probes {
        sockopt::set_tcp_keepcnt(socket, probes)?;
    }
    sockopt::set_socket_keepalive(socket, true)?;
    sockopt::set_tcp_keepidle(socket, idle)?;
    Ok(sockopt::set_tcp_keepintvl(socket, interval)?)
}

/// Has the kernel throw away what is not sent when the socket is closed, and reset the connection (`SO_LINGER` of zero,
/// socket(7)).
pub(crate) fn reset_when_closed(socket: &TcpStream) {
    // One that is gone already is as good.
    let _ = sockopt::set_socket_linger(socket, Some(Duration::ZERO));
}
