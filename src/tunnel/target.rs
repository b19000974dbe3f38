//! Connecting to what a stream leads to.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with, sockopt};

/// Time to connect to a target, all its addresses together. Default 10 s.
pub(super) const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// Time after which a connect looks whether anybody still wants it. Default 250 ms.
const LOOK: Duration = Duration::from_millis(250);
/// Addresses of one name that are tried. Default 4: `localhost` has two.
const MAX_ADDRESSES: usize = 4;

/// Opens a connection to the first address that takes it, unless `unwanted` becomes true.
pub(super) fn connect(
    host: &str,
    port: u16,
    within: Duration,
    unwanted: impl Fn() -> bool,
) -> io::Result<TcpStream> {
    let deadline = Instant::now() + within;
    let addresses = ordered(host, (host, port).to_socket_addrs()?);
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for (index, address) in addresses.iter().enumerate() {
        let others = u32::try_from(addresses.len() - index).unwrap_or(1);
        let share = deadline.saturating_duration_since(Instant::now()) / others;
        match connect_to(*address, Instant::now() + share, &unwanted) {
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
    /// It is there: the address is of this machine, as a rule.
    Connected(TcpStream),
    /// To be finished with [`Begun::finish`].
    Waiting(TcpStream),
}

impl Begun {
    /// Begins to connect to `host` where that is an address; none where it is a name, or where
    /// the system refuses at once.
    pub(super) fn new(host: &str, port: u16) -> Option<Self> {
        begin((host.parse::<IpAddr>().ok()?, port).into()).ok()
    }

    /// Waits for the connection.
    pub(super) fn finish(
        self,
        within: Duration,
        unwanted: impl Fn() -> bool,
    ) -> io::Result<TcpStream> {
        match self {
            Self::Connected(socket) => Ok(socket),
            Self::Waiting(socket) => finish(socket, Instant::now() + within, &unwanted),
        }
    }
}

fn connect_to(
    to: SocketAddr,
    deadline: Instant,
    unwanted: &impl Fn() -> bool,
) -> io::Result<TcpStream> {
    match begin(to)? {
        Begun::Connected(socket) => Ok(socket),
        Begun::Waiting(socket) => finish(socket, deadline, unwanted),
    }
}

fn begin(to: SocketAddr) -> io::Result<Begun> {
    let family = match to {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = TcpStream::from(socket_with(family, SocketType::STREAM, flags, None)?);
    match rustix::net::connect(&socket, &to) {
        Ok(()) => return Ok(Begun::Connected(socket)),
        Err(Errno::INPROGRESS | Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    // On loopback the answer is there by now.
    if !is_writable(&socket, Duration::ZERO)? {
        return Ok(Begun::Waiting(socket));
    }
    made(socket).map(Begun::Connected)
}

fn finish(
    socket: TcpStream,
    deadline: Instant,
    unwanted: &impl Fn() -> bool,
) -> io::Result<TcpStream> {
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
    made(socket)
}

fn made(socket: TcpStream) -> io::Result<TcpStream> {
    sockopt::socket_error(&socket)??;
    // Where nobody listens on a port of this machine, TCP's simultaneous open (RFC 9293 §3.5) can
    // connect a socket to itself.
    match socket.local_addr()? == socket.peer_addr()? {
        true => Err(Errno::CONNREFUSED.into()),
        false => Ok(socket),
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
        let begun = Begun::new("127.0.0.1", port).unwrap();
        let socket = begun.finish(CONNECT_WITHIN, || false).unwrap();
        assert_eq!(listener.accept().unwrap().1, socket.local_addr().unwrap());
        assert!(Begun::new("localhost", port).is_none());
        drop((listener, socket));
        let refused = connect("127.0.0.1", port, CONNECT_WITHIN, || false).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }

    /// A socket that is connected to itself would echo a visitor's bytes to him.
    #[test]
    fn a_socket_is_not_connected_to_itself() {
        let socket = socket_with(
            AddressFamily::INET,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        );
        let socket = socket.unwrap();
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        rustix::net::bind(&socket, &any).unwrap();
        let socket = TcpStream::from(socket);
        rustix::net::connect(&socket, &socket.local_addr().unwrap()).unwrap();
        assert_eq!(
            made(socket).unwrap_err().kind(),
            io::ErrorKind::ConnectionRefused
        );
    }
}
