//! Resolver and connector for the HTTP library: local names are resolved here, and the address that accepted a call's
//! connection is recorded.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use ureq::Error;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::time::Duration;
use ureq::unversioned::transport::{
    ConnectionDetails, Connector, NextTimeout, TcpConnector, Transport,
};

use crate::net::authority;
use crate::sync::Mutex;
use crate::tunnel::ws::Endpoint;

/// Address that accepted the connection, once there is one.
pub(super) type ReachedAddress = Arc<Mutex<Option<IpAddr>>>;

/// Connects as the library does, one address after the other, and records the one that accepted.
#[derive(Debug, Default)]
pub(super) struct RecordingConnector {
    tcp: TcpConnector,
    pub(super) reached: ReachedAddress,
}

impl<In: Transport> Connector<In> for RecordingConnector {
    type Out = <TcpConnector as Connector<In>>::Out;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<Self::Out>, Error> {
        if chained.is_some() {
            // A connection that a proxy has opened.
            return self.tcp.connect(details, chained);
        }
        let begun = std::time::Instant::now();
        let mut last = None;
        for (index, address) in details.addrs.iter().enumerate() {
            let left = details.timeout.after.saturating_sub(begun.elapsed());
            let others = u32::try_from(details.addrs.len() - index).unwrap_or(1);
            let after = Duration::from(left / others);
            let mut one = alone(
                details,
                NextTimeout {
                    after,
                    ..details.timeout
                },
            );
            one.addrs.push(*address);
            match Connector::<In>::connect(&self.tcp, &one, None) {
                Ok(connected) => {
                    *self.reached.lock() = Some(address.ip());
                    return Ok(connected);
                }
                Err(error @ (Error::Io(_) | Error::Timeout(_))) => last = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(last.unwrap_or(Error::HostNotFound))
    }
}

/// Copy of the connection details, without an address.
fn alone<'a>(details: &ConnectionDetails<'a>, timeout: NextTimeout) -> ConnectionDetails<'a> {
    ConnectionDetails {
        uri: details.uri,
        addrs: details.resolver.empty(),
        config: details.config,
        request_level: details.request_level,
        resolver: details.resolver,
        now: ureq::unversioned::transport::time::Instant::now(),
        timeout,
        current_time: Arc::clone(&details.current_time),
        run_connector: Arc::clone(&details.run_connector),
        register_shutdown: Arc::clone(&details.register_shutdown),
    }
}

/// Asks the system, except for addresses and names of this machine (RFC 6761 §6.3): these may be reached without TLS,
/// so they must not depend on a name server.
#[derive(Debug, Default)]
pub(super) struct Resolve(DefaultResolver);

impl Resolver for Resolve {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let known = known(uri);
        if known.is_empty() {
            return self.0.resolve(uri, config, timeout).map_err(not_found);
        }
        let mut addresses = self.empty();
        for address in known {
            addresses.push(address);
        }
        Ok(addresses)
    }
}

/// Replaces the system's message, which does not help a user.
fn not_found(error: Error) -> Error {
    match error {
        Error::Io(error) => {
            log::debug!("the server's name: {error}");
            Error::HostNotFound
        }
        other => other,
    }
}

fn known(uri: &Uri) -> Vec<SocketAddr> {
    // Both schemes imply the same ports as those of a link.
    let Ok(endpoint) = Endpoint::parse(&uri.to_string()) else {
        return Vec::new();
    };
    authority::known(&endpoint.host, endpoint.port).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_and_addresses_need_no_name_server() {
        for (uri, addresses) in [
            ("http://localhost:81/x", &["127.0.0.1:81", "[::1]:81"][..]),
            ("http://relay.localhost", &["127.0.0.1:80", "[::1]:80"]),
            ("https://[2001:db8::1]/x", &["[2001:db8::1]:443"]),
            ("https://10.0.0.1:8443", &["10.0.0.1:8443"]),
            ("https://localhost.example", &[]),
        ] {
            let expected: Vec<SocketAddr> = addresses.iter().map(|a| a.parse().unwrap()).collect();
            assert_eq!(known(&uri.parse().unwrap()), expected, "{uri}");
        }
    }
}
