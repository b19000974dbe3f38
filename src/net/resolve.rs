//! The addresses of a host.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

use super::authority::is_loopback;

/// Addresses of one name that are tried. Default 8: a name with more is a load balancer's, whose next ones are no better.
const MAX_ADDRESSES: usize = 8;

/// All addresses of a host, at least one; it may take as long as the system's resolver does. A name without any is
/// [`io::ErrorKind::NotFound`].
pub(crate) fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    if let Some(known) = known(host, port) {
        return Ok(known);
    }
    let found = (host, port).to_socket_addrs();
    let found = found.map_err(|error| io::Error::new(io::ErrorKind::NotFound, error))?;
    let addresses: Vec<SocketAddr> = found.take(MAX_ADDRESSES).collect();
    if addresses.is_empty() {
        let error = "the name has no address";
        return Err(io::Error::new(io::ErrorKind::NotFound, error));
    }
    Ok(addresses)
}

/// Resolves without a resolver, which an empty root does not have: addresses, and the names that
/// stand for this machine (RFC 6761 §6.3). 127.0.0.1 comes first: most services listen there alone, and whoever has the
/// same port on `::1` is somebody else.
pub(crate) fn known(host: &str, port: u16) -> Option<Vec<SocketAddr>> {
    let addresses = match host.parse::<IpAddr>() {
        Ok(address) => vec![address],
        Err(_) if is_loopback(host) => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
        Err(_) => return None,
    };
    let with_port = |address| SocketAddr::new(address, port);
    Some(addresses.into_iter().map(with_port).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_this_machine_are_known_without_a_resolver() {
        let addresses =
            |host| known(host, 7).map(|all| all.iter().map(|a| a.to_string()).collect());
        let both: Vec<String> = vec!["127.0.0.1:7".into(), "[::1]:7".into()];
        assert_eq!(addresses("localhost"), Some(both.clone()));
        assert_eq!(addresses("x.LOCALHOST."), Some(both));
        assert_eq!(
            addresses("127.0.0.2"),
            Some(vec!["127.0.0.2:7".to_string()])
        );
        assert_eq!(addresses("a.example"), None);
    }
}
