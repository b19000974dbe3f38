//! Connecting to what a stream leads to.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::link::socket::{begin_to_connect, connected};

/// Time to connect to a target, all its addresses together. Default 10 s.
pub(super) const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// Time after which a connect looks whether anybody still wants it. Default 250 ms.
const LOOK: Duration = Duration::from_millis(250);
/// Addresses of one name that are tried. Default 4: `localhost` has two.
const MAX_ADDRESSES: usize = 4;

/// Opens a connection to the first address that takes it, unless `unwanted` becomes true. The socket is in non-blocking
/// mode; a name without an address is [`io::ErrorKind::NotFound`].
pub(crate) fn connect(
    host: &str,
    port: u16,
    within: Duration,
    unwanted: impl Fn() -> bool,
) -> io::Result<TcpStream> {
    let deadline = Instant::now() + within;
    let found = (host, port).to_socket_addrs();
    let found = found.map_err(|error| io::Error::new(io::ErrorKind::NotFound, error))?;
    let addresses = ordered(host, found);
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for (index, address) in addresses.iter().enumerate() {
        let others = u32::try_from(addresses.len() - index).unwrap_or(1);
        let share = deadline.saturating_duration_since(Instant::now()) / others;
        match Begun::to(*address).finish(Instant::now() + share, &unwanted) {
            Ok(socket) => return Ok(socket),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// `localhost` is 127.0.0.1 first: the main tunnel's end listens there, and whoever has the same port on `::1`, which
/// resolvers put in front, is somebody else.
fn ordered(host: &str, found: impl Iterator<Item = SocketAddr>) -> Vec<SocketAddr> {
    let mut addresses: Vec<SocketAddr> = found.take(MAX_ADDRESSES).collect();
    if host.eq_ignore_ascii_case("localhost") {
        addresses.sort_by_key(SocketAddr::is_ipv6);
    }
    addresses
}

/// A connection to an address, begun without waiting.
pub(super) enum Begun {
    /// It is there, or was refused: the address is of this machine, as a rule.
    Ended(io::Result<TcpStream>),
    /// To be finished with [`Begun::finish`].
    Waiting(TcpStream),
}

impl Begun {
    /// Begins to connect to `host` where that is an address; none where it is a name.
    pub(super) fn new(host: &str, port: u16) -> Option<Self> {
        let address = host.parse::<IpAddr>().ok()?;
        Some(Self::to((address, port).into()))
    }

    fn to(address: SocketAddr) -> Self {
        // On loopback the answer is there at once.
        let begun = begin_to_connect(address)
            .and_then(|socket| Ok((is_writable(&socket, Duration::ZERO)?, socket)));
        match begun {
            Ok((false, socket)) => Self::Waiting(socket),
            Ok((true, socket)) => Self::Ended(connected(socket)),
            Err(error) => Self::Ended(Err(error)),
        }
    }

    /// Waits for the connection, unless `unwanted` becomes true.
    pub(super) fn finish(
        self,
        deadline: Instant,
        unwanted: impl Fn() -> bool,
    ) -> io::Result<TcpStream> {
        let socket = match self {
            Self::Ended(outcome) => return outcome,
            Self::Waiting(socket) => socket,
        };
        while !is_writable(&socket, LOOK)? {
            if unwanted() {
                return Err(io::Error::new(
                    io::ErrorKind::Interrupted,
                    "nobody wants it any more",
                ));
            }
            if Instant::now() >= deadline {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        connected(socket)
    }
}

fn is_writable(socket: &TcpStream, within: Duration) -> io::Result<bool> {
    let mut fds = [PollFd::new(socket, PollFlags::OUT)];
    let look = Timespec::try_from(within).map_err(|_| io::ErrorKind::InvalidInput)?;
    match poll(&mut fds, Some(&look)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn localhost_is_the_address_of_the_main_tunnels_end() {
        let found: [SocketAddr; 2] = ["[::1]:80", "127.0.0.1:80"].map(|text| text.parse().unwrap());
        assert_eq!(
            ordered("localhost", found.into_iter()),
            [found[1], found[0]]
        );
        assert_eq!(ordered("a.example", found.into_iter()), found);
    }

    #[test]
    fn an_address_is_reached_at_once_and_a_name_is_not_tried() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let Some(Begun::Ended(Ok(socket))) = Begun::new("127.0.0.1", port) else {
            panic!("it is not there at once");
        };
        assert_eq!(listener.accept().unwrap().1, socket.local_addr().unwrap());
        assert!(Begun::new("localhost", port).is_none());
        drop((listener, socket));
        let refused = connect("127.0.0.1", port, CONNECT_WITHIN, || false).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }
}
