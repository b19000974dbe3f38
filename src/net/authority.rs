//! `host:port` (RFC 3986 §3.2), host names (RFC 1123 §2.1), ports, and the addresses of hosts.

use std::borrow::Cow;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

/// Bytes of a host name (RFC 1035 §2.3.4).
pub(crate) const MAX_HOST: usize = 253;

/// Addresses of one name that are tried. Default 8: a name with more is a load balancer's, whose next ones are no
/// better.
const MAX_ADDRESSES: usize = 8;

/// A host as a URL has it: brackets around an IPv6 address.
pub(crate) fn bracketed(host: &str) -> Cow<'_, str> {
    if host.contains(':') && !host.starts_with('[') {
        Cow::Owned(format!("[{host}]"))
    } else {
        Cow::Borrowed(host)
    }
}

/// `host:port`, with brackets around an IPv6 address.
pub(crate) fn authority(host: &str, port: u16) -> String {
    format!("{}:{port}", bracketed(host))
}

/// Splits `host`, `host:port`, `[v6]` and `[v6]:port`; the host comes without brackets, the port as it stands there.
/// `None` where brackets hold no IPv6 address or are not closed, or an IPv6 address has none.
pub(crate) fn split(authority: &str) -> Option<(&str, Option<&str>)> {
    if let Some(rest) = authority.strip_prefix('[') {
        let (host, after) = rest.split_once(']')?;
        host.parse::<Ipv6Addr>().ok()?;
        return match after {
            "" => Some((host, None)),
            _ => Some((host, Some(after.strip_prefix(':')?))),
        };
    }
    match authority.split_once(':') {
        None => Some((authority, None)),
        Some((_, port)) if port.contains(':') => None,
        Some((host, port)) => Some((host, Some(port))),
    }
}

/// A port that can be connected to: 1 to 65535, digits only.
pub(crate) fn port(digits: &str) -> Option<u16> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|port| plain && *port > 0)
}

/// Reason that a text is not a valid host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InvalidHost {
    /// The text is empty.
    Empty,
    /// More than [`MAX_HOST`] bytes.
    TooLong,
    /// A character other than letters, digits, `-` and `_` between single dots, or a label that begins or ends with
    /// `-`.
    Label,
    /// The name ends in a number but is not an IPv4 address: resolvers read `127.1` in different ways.
    Number,
}

/// Checks that resolvers accept a name or IPv4 address: labels of ASCII letters, digits, `-` and `_`; a dot may end it.
pub(crate) fn check_host(host: &str) -> Result<(), InvalidHost> {
    if host.is_empty() {
        return Err(InvalidHost::Empty);
    }
    if host.len() > MAX_HOST {
        return Err(InvalidHost::TooLong);
    }
    let name = host.strip_suffix('.').unwrap_or(host);
    if !name.split('.').all(|label| is_label(label, "-_")) {
        return Err(InvalidHost::Label);
    }
    let last = name.rsplit('.').next().unwrap_or(name);
    if last.bytes().all(|byte| byte.is_ascii_digit()) && host.parse::<Ipv4Addr>().is_err() {
        return Err(InvalidHost::Number);
    }
    Ok(())
}

/// An address of either family, no brackets, or a name of labels; also one that ends in a number, which resolvers read
/// in their own way.
pub(crate) fn is_host(host: &str) -> bool {
    host.parse::<IpAddr>().is_ok() || matches!(check_host(host), Ok(()) | Err(InvalidHost::Number))
}

/// Checks only the length and the characters of a name, before a resolver is asked about it.
pub(crate) fn check_characters(host: &str) -> Result<(), InvalidHost> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    match host.len() {
        0 => Err(InvalidHost::Empty),
        1..=MAX_HOST if host.bytes().all(legal) => Ok(()),
        1..=MAX_HOST => Err(InvalidHost::Label),
        _ => Err(InvalidHost::TooLong),
    }
}

/// One label of a name: 1 to 63 ASCII letters, digits and the characters of `also`, no `-` at an end.
pub(crate) fn is_label(label: &str, also: &str) -> bool {
    (1..=63).contains(&label.len())
        && label
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || also.as_bytes().contains(&byte))
        && !label.starts_with('-')
        && !label.ends_with('-')
}

/// True for `localhost`, names that end in `.localhost` (RFC 6761 §6.3), and loopback addresses.
pub(crate) fn is_loopback(host: &str) -> bool {
    let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    match host.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => name == "localhost" || name.ends_with(".localhost"),
    }
}

/// Returns the addresses of a host, at least one. Takes as long as the system's resolver does. A name without an
/// address is [`io::ErrorKind::NotFound`].
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

/// Resolves without the system's resolver, which an empty root does not have: addresses, and names of this machine
/// (RFC 6761 §6.3). 127.0.0.1 comes first: most services listen only there, and the same port on `::1` may belong to
/// another program.
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
    fn brackets_stand_around_ipv6_addresses_alone() {
        assert_eq!(authority("a.example", 80), "a.example:80");
        assert_eq!(authority("::1", 80), "[::1]:80");
        assert_eq!(authority("[::1]", 80), "[::1]:80");
    }

    #[test]
    fn an_authority_is_split_or_malformed() {
        let cases = [
            ("a", Some(("a", None))),
            ("a:1", Some(("a", Some("1")))),
            ("a:", Some(("a", Some("")))),
            ("[::1]", Some(("::1", None))),
            ("[::1]:1", Some(("::1", Some("1")))),
            ("::1", None),
            ("[a]:1", None),
            ("[::1", None),
            ("[::1]1", None),
        ];
        for (text, parts) in cases {
            assert_eq!(split(text), parts, "{text}");
        }
    }

    #[test]
    fn a_port_has_digits_and_is_not_zero() {
        assert_eq!(port("1"), Some(1));
        assert_eq!(port("65535"), Some(65535));
        for text in ["", "0", "65536", "+1", "-1", " 1", "1a", "\u{0661}"] {
            assert_eq!(port(text), None, "{text}");
        }
    }

    #[test]
    fn hosts_are_told_from_what_resolvers_disagree_about() {
        for host in ["a", "A-1.b_c.", "1.2.3.4", "x.example", &"a".repeat(63)] {
            assert_eq!(check_host(host), Ok(()), "{host}");
        }
        assert_eq!(check_host(""), Err(InvalidHost::Empty));
        assert_eq!(check_host(&"a.".repeat(127)), Err(InvalidHost::TooLong));
        for host in [".", "a..b", "-a", "a-", "a b", "ä", "a:1", &"a".repeat(64)] {
            assert_eq!(check_host(host), Err(InvalidHost::Label), "{host}");
        }
        for host in ["1", "127.1", "a.1", "256.1.1.1"] {
            assert_eq!(check_host(host), Err(InvalidHost::Number), "{host}");
        }
        assert!(is_host("::1") && is_host("127.1") && !is_host("[::1]") && !is_host("a..b"));
        assert!(check_characters("a..b").is_ok() && check_characters("a b").is_err());
    }

    #[test]
    fn loopback_has_names_and_addresses() {
        for host in [
            "localhost",
            "A.LocalHost.",
            "127.9.9.9",
            "::1",
            "::ffff:127.0.0.1",
        ] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["localhost.example", "10.0.0.1", "::2", ""] {
            assert!(!is_loopback(host), "{host}");
        }
    }

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
