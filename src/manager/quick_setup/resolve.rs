//! The addresses of a server's host.

use std::net::SocketAddr;

use crate::net::resolve;

use ureq::Error;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

use crate::tunnel::ws::Endpoint;

/// Asks the system, but for addresses and the names that stand for this machine (RFC 6761 §6.3):
/// what may go there in the clear must not depend on what a name server says.
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

/// The system's words for it are no help to a user.
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
    resolve::known(&endpoint.host, endpoint.port).unwrap_or_default()
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
