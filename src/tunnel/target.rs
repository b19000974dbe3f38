//! Connecting to the target of a stream.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::net::authority::resolve as net_resolve;
use crate::net::poll::poll_within;
use rustix::event::PollFlags;

use super::ws::socket::{begin_to_connect, connected};

/// Time to connect to a target, all its addresses together. Default 10 s.
pub(super) const CONNECT_WITHIN: Duration = crate::limits::CONNECT_WITHIN;
/// Interval at which a connect checks that it is still wanted. Default 250 ms.
const LOOK: Duration = Duration::from_millis(250);
/// Addresses of one name that are tried. Default 4: `localhost` has two.
const MAX_ADDRESSES: usize = 4;

/// True if an address may be connected to. Asked at each connect, as a name may lead elsewhere each time.
pub(crate) type MayDial = Arc<dyn Fn(SocketAddr) -> bool + Send + Sync>;

/// Opens a connection to the first address that takes it and may be dialled, unless `unwanted` becomes true. The socket
/// is in non-blocking mode; a name without an address is [`io::ErrorKind::NotFound`], see also [`is_forbidden`].
pub(crate) fn connect(
    host: &str,
    port: u16,
    within: Duration,
    may_dial: Option<&MayDial>,
    unwanted: impl Fn() -> bool,
) -> io::Result<TcpStream> {
    let deadline = Instant::now() + within;
    connect_to(
        &resolve(host, port, may_dial)?,
        deadline,
        may_dial,
        unwanted,
    )
}

/// The addresses of a name that may be dialled, at least one.
pub(super) fn resolve(
    host: &str,
    port: u16,
    may_dial: Option<&MayDial>,
) -> io::Result<Vec<SocketAddr>> {
    let mut addresses = net_resolve(host, port)?;
    addresses.truncate(MAX_ADDRESSES);
    permitted(addresses, may_dial)
}

fn permitted(
    mut addresses: Vec<SocketAddr>,
    may_dial: Option<&MayDial>,
) -> io::Result<Vec<SocketAddr>> {
    addresses.retain(|address| may(may_dial, *address));
    if addresses.is_empty() {
        return Err(forbidden());
    }
    Ok(addresses)
}

fn may(may_dial: Option<&MayDial>, address: SocketAddr) -> bool {
    may_dial.is_none_or(|may_dial| may_dial(address))
}

fn forbidden() -> io::Error {
    io::Error::new(
        io::ErrorKind::PermissionDenied,
        "it leads to postern itself",
    )
}

/// True if that is the refusal of an address that may not be dialled; the system's own refusals have a number.
pub(crate) fn is_forbidden(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}

/// Returns the connection, unless its peer may not be dialled: one of ours may have begun to listen since the check.
pub(super) fn still_permitted(
    socket: TcpStream,
    may_dial: Option<&MayDial>,
) -> io::Result<TcpStream> {
    // A socket that is closed already leads nowhere.
    if socket.peer_addr().is_ok_and(|peer| !may(may_dial, peer)) {
        return Err(forbidden());
    }
    Ok(socket)
}

/// Connects to the first of the addresses that takes it.
pub(super) fn connect_to(
    addresses: &[SocketAddr],
    deadline: Instant,
    may_dial: Option<&MayDial>,
    unwanted: impl Fn() -> bool,
) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for (index, address) in addresses.iter().enumerate() {
        let others = u32::try_from(addresses.len() - index).unwrap_or(1);
        let share = deadline.saturating_duration_since(Instant::now()) / others;
        match Begun::to(*address, may_dial).finish(Instant::now() + share, &unwanted) {
            Ok(socket) => return Ok(socket),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// A connection to an address, begun without waiting.
pub(super) enum Begun {
    /// Connected or refused: usually the address is of this machine.
    Ended(io::Result<TcpStream>),
    /// To be finished with [`Begun::finish`].
    Waiting(TcpStream),
}

impl Begun {
    /// Begins to connect to `host` if that is an address; none if it is a name.
    pub(super) fn new(host: &str, port: u16, may_dial: Option<&MayDial>) -> Option<Self> {
        let address = host.parse::<IpAddr>().ok()?;
        Some(Self::to((address, port).into(), may_dial))
    }

    fn to(address: SocketAddr, may_dial: Option<&MayDial>) -> Self {
        if !may(may_dial, address) {
            return Self::Ended(Err(forbidden()));
        }
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
                    "no longer needed",
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
    let [ready] = poll_within([(socket, PollFlags::OUT)], within)?;
    Ok(!ready.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_reached_at_once_and_a_name_is_not_tried() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let Some(Begun::Ended(Ok(socket))) = Begun::new("127.0.0.1", port, None) else {
            panic!("it is not there at once");
        };
        assert_eq!(listener.accept().unwrap().1, socket.local_addr().unwrap());
        assert!(Begun::new("localhost", port, None).is_none());
        drop((listener, socket));
        let refused = connect("127.0.0.1", port, CONNECT_WITHIN, None, || false);
        let refused = refused.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }

    /// Targets of a name are checked each time, and again at the dial.
    #[test]
    fn an_address_that_may_not_be_dialled_is_left_out() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let own = listener.local_addr().unwrap();
        let other: SocketAddr = "127.0.0.2:1".parse().unwrap();
        let may_dial: MayDial = Arc::new(move |address| address != own);
        let may_dial = Some(&may_dial);
        let found = |addresses: &[SocketAddr]| permitted(addresses.to_vec(), may_dial);
        assert_eq!(found(&[own, other]).unwrap(), [other]);
        assert!(is_forbidden(&found(&[own]).unwrap_err()));
        // It has become one of ours since the look.
        let late = connect_to(&[own], Instant::now() + CONNECT_WITHIN, may_dial, || false);
        assert!(is_forbidden(&late.unwrap_err()));
        for host in ["127.0.0.1", "localhost"] {
            let refused = connect(host, own.port(), CONNECT_WITHIN, may_dial, || false);
            let refused = refused.unwrap_err();
            let is_reset = refused.kind() == io::ErrorKind::ConnectionRefused;
            assert!(is_forbidden(&refused) || (host == "localhost" && is_reset));
        }
        assert!(listener.accept().is_err(), "nobody came");
        // And where it has since the dial.
        let socket = TcpStream::connect(own).unwrap();
        assert!(is_forbidden(
            &still_permitted(socket, may_dial).unwrap_err()
        ));
    }
}
