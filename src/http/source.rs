//! Sources that count as one client.

use std::net::{IpAddr, Ipv6Addr};

/// Returns the source for counting connections or attempts: an IPv4 address,
/// or an IPv6 /64, of which one host may use every address.
pub fn source(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(ip) if !ip.is_loopback() => {
            let network = ip.to_bits() >> 64 << 64;
            Ipv6Addr::from_bits(network).into()
        }
        other => other,
    }
}
