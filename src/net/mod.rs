//! Names, addresses and sockets, for all rooms.
//!
//! [`percent`], [`Cidr`] and [`AddressClass`] are pure; so is [`authority`], but for [`authority::resolve`], which asks
//! the system's resolver. [`poll`] waits for sockets, with [`Waker`] and [`Acceptor`]. [`certificate`] serves TLS
//! clients.

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

/// Makes the kernel discard unsent bytes when the socket is closed, and reset the connection (`SO_LINGER` of zero,
/// socket(7)).
pub(crate) fn reset_when_closed(socket: &TcpStream) {
    // A connection that has ended needs no reset.
    let _ = sockopt::set_socket_linger(socket, Some(Duration::ZERO));
}
