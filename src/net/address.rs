//! IP addresses: networks by address and prefix (RFC 4632 §3.1), and classes from public to loopback.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
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
        // With a prefix of 0 no bit can differ.
        differ.unwrap_or(0) == 0
    }
}

/// True if one of these networks holds the address.
pub(crate) fn is_within(address: IpAddr, networks: &[Cidr]) -> bool {
    networks.iter().any(|network| network.contains(address))
}

/// Class of an address; a later one is further inside the network. A server that names another one must not lead its
/// client further inside than its own class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AddressClass {
    /// Anywhere on the internet.
    Public,
    /// In a network of its own: private (RFC 1918), shared (RFC 6598), unique local (RFC 4193).
    Private,
    /// On this machine.
    Loopback,
}

impl AddressClass {
    /// Returns the class of a server's address. None for link-local, multicast, unspecified and reserved addresses, and
    /// for local-use translation (RFC 8215), whose layout only its network knows. An IPv4 address inside an IPv6 one
    /// counts as itself.
    pub fn of(address: IpAddr) -> Option<Self> {
        match address {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => of_v6(address),
        }
    }

    /// Its name, as it is stored.
    pub fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
            Self::Loopback => "loopback",
        }
    }

    /// The class with this name.
    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::Public, Self::Private, Self::Loopback];
        all.into_iter().find(|class| class.name() == name)
    }

    /// True if a server of this class may name that address.
    pub fn permits(self, address: IpAddr) -> bool {
        Self::of(address).is_some_and(|class| class <= self)
    }
}

impl fmt::Display for AddressClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// By the registry of special-purpose addresses (RFC 6890).
fn of_v4(address: Ipv4Addr) -> Option<AddressClass> {
    match address.octets() {
        // This network, link-local, multicast, reserved and broadcast.
        [0 | 224..=255, ..] | [169, 254, ..] => None,
        [127, ..] => Some(AddressClass::Loopback),
        [10, ..]
        | [172, 16..=31, ..]
        | [192, 168, ..]
        | [100, 64..=127, ..]
        // Protocol assignments, and tests of networks (RFC 2544): never on the internet.
        | [192, 0, 0, _]
        | [198, 18..=19, ..] => Some(AddressClass::Private),
        _ => Some(AddressClass::Public),
    }
}

fn of_v6(address: Ipv6Addr) -> Option<AddressClass> {
    if address.is_loopback() {
        return Some(AddressClass::Loopback);
    }
    if let Some(within) = within(address) {
        return of_v4(within);
    }
    match address.segments() {
        // Unspecified, local-use translation, link-local, multicast.
        [0x64, 0xff9b, 1, ..] => None,
        [0, 0, 0, 0, 0, 0, 0, 0] | [0xfe80..=0xfebf, ..] | [0xff00..=0xffff, ..] => None,
        // Unique local, and the site-local ones of before (RFC 3879).
        [0xfc00..=0xfdff | 0xfec0..=0xfeff, ..] => Some(AddressClass::Private),
        _ => Some(AddressClass::Public),
    }
}

/// The IPv4 address that an IPv6 one leads to: mapped, compatible (RFC 4291), translated (RFC 6052),
/// 6to4 (RFC 3056), Teredo (RFC 4380).
fn within(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let v4 = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => None,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => Some(v4(high, low)),
        [0x2001, 0, _, _, _, _, high, low] => Some(v4(!high, !low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::AddressClass::{Loopback, Private, Public};
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

    #[test]
    fn each_address_has_its_class() {
        for (text, class) in [
            ("8.8.8.8", Some(Public)),
            ("203.0.113.7", Some(Public)),
            ("172.15.255.255", Some(Public)),
            ("172.32.0.0", Some(Public)),
            ("100.63.255.255", Some(Public)),
            ("100.128.0.0", Some(Public)),
            ("192.0.1.0", Some(Public)),
            ("198.20.0.0", Some(Public)),
            ("223.255.255.255", Some(Public)),
            ("10.0.0.1", Some(Private)),
            ("172.16.0.0", Some(Private)),
            ("172.31.255.255", Some(Private)),
            ("192.168.255.255", Some(Private)),
            ("192.0.0.8", Some(Private)),
            ("100.64.0.0", Some(Private)),
            ("100.127.255.255", Some(Private)),
            ("198.19.255.255", Some(Private)),
            ("127.0.0.1", Some(Loopback)),
            ("127.255.255.255", Some(Loopback)),
            ("0.0.0.0", None),
            ("0.1.2.3", None),
            ("169.254.169.254", None),
            ("224.0.0.1", None),
            ("239.255.255.255", None),
            ("240.0.0.1", None),
            ("255.255.255.255", None),
            ("2001:db8::1", Some(Public)),
            ("2606:4700::1111", Some(Public)),
            ("fc00::1", Some(Private)),
            ("fdff::1", Some(Private)),
            ("fec0::1", Some(Private)),
            ("::1", Some(Loopback)),
            ("::", None),
            ("fe80::1", None),
            ("febf::1", None),
            ("ff02::1", None),
        ] {
            assert_eq!(AddressClass::of(text.parse().unwrap()), class, "{text}");
        }
    }

    #[test]
    fn an_ipv4_address_in_an_ipv6_one_is_what_it_is() {
        for (text, class) in [
            ("::ffff:8.8.8.8", Some(Public)),
            ("::ffff:10.0.0.1", Some(Private)),
            ("::ffff:127.0.0.1", Some(Loopback)),
            ("::ffff:0.0.0.0", None),
            ("::ffff:169.254.169.254", None),
            ("::ffff:0:127.0.0.1", Some(Loopback)),
            ("::127.0.0.1", Some(Loopback)),
            ("::2", None),
            ("64:ff9b::8.8.8.8", Some(Public)),
            ("64:ff9b::192.168.0.1", Some(Private)),
            ("64:ff9b::127.0.0.1", Some(Loopback)),
            ("64:ff9b::169.254.169.254", None),
            // Only its network knows the place of the IPv4 address in one of these.
            ("64:ff9b:1::8.8.8.8", None),
            ("64:ff9b:1::10.0.0.1", None),
            ("64:ff9b:1:7f00:0:100::", None),
            ("64:ff9b:1:ffff:3:4:127.0.0.1", None),
            ("64:ff9b:2::1", Some(Public)),
            ("2002:7f00:1::", Some(Loopback)),
            ("2002:a00:1::1", Some(Private)),
            ("2002:a9fe:a9fe::1", None),
            ("2002:808:808::1", Some(Public)),
            // 127.0.0.1, each bit turned over.
            ("2001:0:808:808::80ff:fffe", Some(Loopback)),
        ] {
            assert_eq!(AddressClass::of(text.parse().unwrap()), class, "{text}");
        }
    }

    #[test]
    fn nobody_leads_further_inside_than_it_is() {
        let rows = [
            (Public, "8.8.8.8", true),
            (Public, "10.0.0.1", false),
            (Public, "100.64.0.1", false),
            (Public, "fd00::1", false),
            (Public, "127.0.0.1", false),
            (Private, "8.8.8.8", true),
            (Private, "192.168.0.1", true),
            (Private, "::1", false),
            (Loopback, "127.0.0.1", true),
            (Loopback, "10.0.0.1", true),
            (Loopback, "169.254.169.254", false),
            (Loopback, "0.0.0.0", false),
            (Loopback, "ff02::1", false),
        ];
        for (class, address, permitted) in rows {
            let address: IpAddr = address.parse().unwrap();
            assert_eq!(class.permits(address), permitted, "{class} {address}");
            assert_eq!(AddressClass::named(class.name()), Some(class));
        }
    }
}
