//! Who counts as one client.

use std::net::{IpAddr, Ipv6Addr};

/// Who counts as one where connections or attempts are counted by source: an IPv4 address,
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
