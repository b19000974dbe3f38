//! Which site a request is for, by its Host.

use crate::net::authority;

/// Bytes of a host name (RFC 1035 §2.3.4), and of a port behind it.
const MAX_HOST: usize = 253 + 6;

/// A host without its port: lower case, without the trailing dot of a complete name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Host {
    pub(super) name: String,
    pub(super) port: Option<u16>,
}

impl Host {
    /// Reads `NAME` or `NAME:PORT`. Addresses in brackets name no site and are not read.
    pub(super) fn parse(text: &[u8]) -> Option<Host> {
        let text = std::str::from_utf8(text).ok()?;
        let (name, port) = match text.split_once(':') {
            Some((name, port)) => (name, Some(authority::port(port)?)),
            None => (text, None),
        };
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
        let sound = !name.is_empty() && text.len() <= MAX_HOST && name.bytes().all(plain);
        sound.then_some(Host { name, port })
    }

    /// The port of a text that [`Host::parse`] reads, if one is there.
    pub(super) fn port_of(text: &str) -> Option<u16> {
        authority::port(text.split_once(':')?.1)
    }

    /// The site's name: what stands before the domain. `None` for the relay's own names, the
    /// domain itself, and other domains.
    pub(super) fn site<'a>(&'a self, domain: &str, own_names: &[String]) -> Option<&'a str> {
        if own_names.contains(&self.name) {
            return None;
        }
        let site = self.name.strip_suffix(domain)?.strip_suffix('.')?;
        (!site.is_empty()).then_some(site)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(host: &str) -> Option<String> {
        let own = ["admin.relay.example".to_owned()];
        let host = Host::parse(host.as_bytes())?;
        host.site("relay.example", &own).map(str::to_owned)
    }

    #[test]
    fn a_site_is_what_stands_before_the_domain() {
        for host in [
            "shop.relay.example",
            "SHOP.Relay.Example",
            "shop.relay.example.",
            "shop.relay.example:8180",
            "shop.relay.example.:80",
        ] {
            assert_eq!(site(host).as_deref(), Some("shop"), "{host}");
        }
        assert_eq!(site("a.b.relay.example").as_deref(), Some("a.b"));
    }

    #[test]
    fn own_names_and_strangers_are_no_sites() {
        for host in [
            "relay.example",
            "admin.relay.example",
            "ADMIN.relay.example:1",
            ".relay.example",
            "shoprelay.example",
            "127.0.0.1:8180",
            "[::1]",
            "shop.relay.example:",
            "shop.relay.example:0",
            "shop.relay.example:+80",
            "shop.relay.example:65536",
            "shop.relay.example:80:80",
            "sh op.relay.example",
            "shop.relay.example..",
            "a@shop.relay.example/",
            "",
        ] {
            assert_eq!(site(host), None, "{host}");
        }
    }
}
