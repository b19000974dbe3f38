//! Networks by address and prefix (RFC 4632 §3.1).

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A network, as in `10.0.0.0/8`; an address alone is a network of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cidr {
    address: IpAddr,
    prefix: u32,
}

/// A text that is no network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidCidr(String);

impl fmt::Display for InvalidCidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "not an address or a network such as 10.0.0.0/8: {:?}",
            self.0
        )
    }
}

impl std::error::Error for InvalidCidr {}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

impl Serialize for Cidr {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Cidr {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(D::Error::custom)
    }
}

impl FromStr for Cidr {
    type Err = InvalidCidr;

    fn from_str(text: &str) -> Result<Cidr, InvalidCidr> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let read = || {
            let address: IpAddr = address.parse().ok()?;
            let bits = if address.is_ipv4() { 32 } else { 128 };
            let prefix = match prefix {
                Some(prefix) => prefix.parse().ok().filter(|prefix| *prefix <= bits)?,
                None => bits,
            };
            Some(Cidr { address, prefix })
        };
        read().ok_or_else(|| InvalidCidr(text.to_owned()))
    }
}

impl Cidr {
    /// True if an address is in this network. An IPv4 address mapped into IPv6 is one of IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        let differ = match (self.address, address.to_canonical()) {
            (IpAddr::V4(ours), IpAddr::V4(other)) => {
                (ours.to_bits() ^ other.to_bits()).checked_shr(32 - self.prefix)
            }
            (IpAddr::V6(ours), IpAddr::V6(other)) => {
                let differ = ours.to_bits() ^ other.to_bits();
                let differ = differ.checked_shr(128 - self.prefix);
                differ.map(|differ| u32::from(differ != 0))
            }
            _ => return false,
        };
        // A prefix of nothing leaves nothing to differ.
        differ.unwrap_or(0) == 0
    }
}

/// True if one of these networks holds the address.
pub(crate) fn is_within(address: IpAddr, networks: &[Cidr]) -> bool {
    networks.iter().any(|network| network.contains(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_hold_their_addresses() {
        let holds = |network: &str, address: &str| {
            let network: Cidr = network.parse().unwrap();
            network.contains(address.parse().unwrap())
        };
        assert!(holds("10.0.0.0/8", "10.255.0.1") && !holds("10.0.0.0/8", "11.0.0.1"));
        assert!(holds("10.1.2.3", "10.1.2.3") && !holds("10.1.2.3", "10.1.2.2"));
        assert!(holds("10.0.0.0/8", "::ffff:10.0.0.1"));
        assert!(holds("0.0.0.0/0", "1.2.3.4") && !holds("0.0.0.0/0", "::1"));
        assert!(holds("2001:db8::/32", "2001:db8:1::1") && !holds("2001:db8::/32", "2001:db9::1"));
        assert!(holds("::/0", "2001:db8::1") && holds("::1", "::1"));
        for bad in ["", "10.0.0.0/33", "10.0.0/8", "::/129", "10.0.0.0/", "host"] {
            assert!(bad.parse::<Cidr>().is_err(), "{bad}");
        }
        let kept = serde_json::to_string(&"2001:db8::/32".parse::<Cidr>().unwrap()).unwrap();
        assert_eq!(kept, "\"2001:db8::/32\"");
        assert!(serde_json::from_str::<Cidr>(&kept).is_ok());
    }
}
