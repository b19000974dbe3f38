//! Origin of a request, as applications are told it (RFC 7239 and its forerunners), and the site that its Host names.
//!
//! Headers from outside are believed only from proxies that were named, and of their lists only
//! what proxies wrote: an address that a visitor put in front is left out.

use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::net::{IpAddr, SocketAddr};

use crate::http::h1::head::Headers;
use crate::net::{Cidr, authority, is_within};

/// Header in which a proxy adds the address that a request came from.
pub(crate) const FORWARDED_FOR: &str = "x-forwarded-for";
/// Addresses of a chain that are passed on. Default 16: more proxies than anybody has in a row.
const MAX_CHAIN: usize = 16;
/// Bytes of a host name (RFC 1035 §2.3.4), and of a port behind it.
const MAX_HOST: usize = 253 + 6;

/// True if a header line of this name tells that a proxy has passed the request on.
pub(crate) fn is_proxied(name: &str) -> bool {
    const PREFIX: &str = "x-forwarded-";
    let is = |wanted: &str| name.eq_ignore_ascii_case(wanted);
    let begin = name.get(..PREFIX.len());
    begin.is_some_and(|begin| begin.eq_ignore_ascii_case(PREFIX))
        || ["via", "forwarded", "x-real-ip"].into_iter().any(is)
}

/// Returns a number that distinguishes the visitors of one address: a proxy may send the requests of several on one
/// connection, and an application that signs in connections, as with NTLM, would confuse them. It is a digest of the
/// lines that identify a visitor, with a secret key; 0 if no line names a proxy, as the connection then belongs to one
/// visitor.
pub(super) fn identity(headers: &Headers, is_proxy: bool, key: &RandomState) -> u64 {
    if !is_proxy && !headers.iter().any(|(name, _)| is_proxied(name)) {
        return 0;
    }
    let mut digest = key.build_hasher();
    for name in [
        "cookie",
        "authorization",
        "forwarded",
        "x-real-ip",
        FORWARDED_FOR,
    ] {
        for value in headers.all(name) {
            (name, value).hash(&mut digest);
        }
    }
    digest.finish()
}

/// Origin of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ForwardedOrigin {
    /// The visitor, then the proxies on the way here; never empty.
    chain: Vec<IpAddr>,
    secure: bool,
    host: String,
    port: u16,
}

/// Values that apply if no header says otherwise.
pub(crate) struct ForwardDefaults<'a> {
    pub(crate) trusted: &'a [Cidr],
    pub(crate) secure: bool,
    /// The port that visitors use.
    pub(crate) port: u16,
}

impl ForwardedOrigin {
    /// Reads what `peer` may say about it. Many proxies pass `X-Forwarded-Host` and `-Port` on as
    /// visitors send them, and applications make links of them: so neither is believed where it
    /// names anything but the site that `host` names, and the port that visitors use.
    pub(crate) fn read(
        headers: &Headers,
        peer: IpAddr,
        host: &str,
        defaults: &ForwardDefaults<'_>,
    ) -> ForwardedOrigin {
        let believed = is_within(peer, defaults.trusted);
        let only = |name| {
            let named = believed.then(|| headers.only(name).ok().flatten());
            std::str::from_utf8(named??).ok()
        };
        let secure = match only("x-forwarded-proto") {
            Some("https") => true,
            Some("http") => false,
            _ => defaults.secure,
        };
        let is_ours = |outer: &Host| {
            let routed = Host::parse(host.as_bytes()).map(|routed| routed.name);
            routed.as_ref() == Some(&outer.name)
                && outer.port.is_none_or(|port| port == defaults.port)
        };
        let outer = only("x-forwarded-host")
            .filter(|host| Host::parse(host.as_bytes()).as_ref().is_some_and(is_ours));
        let host = outer.unwrap_or(host).to_owned();
        let of_host = Host::port_of(&host);
        let port = only("x-forwarded-port").and_then(|port| port.parse().ok());
        let port = port.filter(|port| *port == defaults.port);
        let usual = match (secure == defaults.secure, secure) {
            (true, _) => defaults.port,
            (false, true) => 443,
            (false, false) => 80,
        };
        ForwardedOrigin {
            chain: chain(headers.all(FORWARDED_FOR), peer, defaults.trusted),
            secure,
            port: port.or(of_host).unwrap_or(usual),
            host,
        }
    }

    /// Origin of a visitor of whom only this is known.
    pub(super) fn of(source: IpAddr, secure: bool) -> ForwardedOrigin {
        ForwardedOrigin {
            chain: vec![source],
            secure,
            host: String::new(),
            port: 0,
        }
    }

    /// True if the visitor comes by `https`, as far as anybody trusted said it.
    pub(super) fn is_secure(&self) -> bool {
        self.secure
    }

    /// The visitor's own address, as far as anybody trusted said it.
    pub(super) fn source(&self) -> IpAddr {
        first(&self.chain)
    }

    /// The visitor, then the proxies on the way here.
    pub(super) fn chain(&self) -> &[IpAddr] {
        &self.chain
    }

    /// Header lines for the application, put together without the formatter: each request has them.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let proto = if self.secure { "https" } else { "http" };
        let (host, mut buffer) = (&*self.host, itoa::Buffer::new());
        let port = buffer.format(u64::from(self.port));
        write_all(out, &["X-Real-IP: "]);
        write_address(out, self.source(), ["", ""]);
        write_all(out, &["\r\nX-Forwarded-For: "]);
        for (at, address) in self.chain.iter().enumerate() {
            write_all(out, &[between(at)]);
            write_address(out, *address, ["", ""]);
        }
        write_all(out, &["\r\nX-Forwarded-Proto: ", proto]);
        write_all(out, &["\r\nX-Forwarded-Host: ", host]);
        write_all(out, &["\r\nX-Forwarded-Port: ", port, "\r\nForwarded: "]);
        for (at, address) in self.chain.iter().enumerate() {
            write_all(out, &[between(at), "for="]);
            write_address(out, *address, ["\"[", "]\""]);
            // Host and protocol are those that the visitor used: they belong to the first node.
            if at == 0 {
                write_all(out, &[";host=\"", host, "\";proto=", proto]);
            }
        }
        write_all(out, &["\r\n"]);
    }
}

fn write_all(out: &mut Vec<u8>, parts: &[&str]) {
    for part in parts {
        out.extend_from_slice(part.as_bytes());
    }
}

/// Writes an address; an IPv6 address goes between the brackets that are given.
fn write_address(out: &mut Vec<u8>, address: IpAddr, [open, close]: [&str; 2]) {
    match address {
        IpAddr::V4(address) => {
            let mut buffer = itoa::Buffer::new();
            for (before, octet) in ["", ".", ".", "."].into_iter().zip(address.octets()) {
                write_all(out, &[before, buffer.format(u64::from(octet))]);
            }
        }
        IpAddr::V6(address) => write_all(out, &[open, &address.to_string(), close]),
    }
}

fn between(at: usize) -> &'static str {
    if at == 0 { "" } else { ", " }
}

/// Returns the source: the peer, or the address that a trusted proxy names in the values of `X-Forwarded-For`, in their
/// order. Only their end counts, which trusted proxies wrote.
pub(crate) fn source<'a>(
    values: impl Iterator<Item = &'a [u8]>,
    peer: IpAddr,
    trusted: &[Cidr],
) -> IpAddr {
    first(&chain(values, peer, trusted))
}

/// Returns the first address; a chain is never empty.
fn first(chain: &[IpAddr]) -> IpAddr {
    chain.first().copied().unwrap_or(IpAddr::from([0, 0, 0, 0]))
}

/// Returns the addresses from the peer backwards, as long as each is a trusted proxy that names the one before.
fn chain<'a>(
    values: impl Iterator<Item = &'a [u8]>,
    peer: IpAddr,
    trusted: &[Cidr],
) -> Vec<IpAddr> {
    let named: Vec<&[u8]> = values
        .flat_map(|value| value.split(|b| *b == b','))
        .collect();
    let mut named = named.into_iter().rev().map(address);
    let mut chain = vec![peer];
    while chain.len() < MAX_CHAIN
        && chain.last().is_some_and(|last| is_within(*last, trusted))
        && let Some(Some(before)) = named.next()
    {
        chain.push(before);
    }
    chain.reverse();
    chain
}

/// Reads an address; some proxies add the port.
fn address(text: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let bare = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    let address = bare.unwrap_or(text).parse().ok();
    let with_port = || text.parse().ok().map(|address: SocketAddr| address.ip());
    address.or_else(with_port).map(|ip| ip.to_canonical())
}

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

    /// Returns the site's name, which stands before the domain. `None` for the relay's own names, the domain itself,
    /// and other domains.
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
    use crate::http::h1::head::Head;

    fn origin(lines: &str, peer: &str) -> (String, String) {
        let head = format!("GET / HTTP/1.1\r\nHost: a.example:81\r\n{lines}\r\n");
        let head = Head::parse(head.as_bytes(), 100).unwrap();
        let trusted = ["10.0.0.0/8".parse().unwrap()];
        let defaults = ForwardDefaults {
            trusted: &trusted,
            secure: false,
            port: 80,
        };
        let origin = ForwardedOrigin::read(
            &head.headers,
            peer.parse().unwrap(),
            "a.example:81",
            &defaults,
        );
        let mut out = Vec::new();
        origin.write(&mut out);
        (
            origin.source().to_string(),
            String::from_utf8(out).unwrap().replace("\r\n", "|"),
        )
    }

    #[test]
    fn strangers_are_not_believed() {
        let lines = "X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: x\r\n\
                     X-Forwarded-Port: 9\r\n";
        let (source, out) = origin(lines, "192.0.2.1");
        assert_eq!(source, "192.0.2.1");
        assert_eq!(
            out,
            "X-Real-IP: 192.0.2.1|X-Forwarded-For: 192.0.2.1|X-Forwarded-Proto: http|X-Forwarded-Host: a.example:81|\
             X-Forwarded-Port: 81|Forwarded: for=192.0.2.1;host=\"a.example:81\";proto=http|"
        );
    }

    #[test]
    fn a_trusted_proxy_is_believed_but_not_what_its_visitor_wrote() {
        let lines = "X-Forwarded-For: 6.6.6.6, 2001:db8::7\r\nX-Forwarded-For: 10.0.0.2:80\r\n\
                     X-Forwarded-Proto: https\r\nX-Forwarded-Host: A.example\r\n";
        let (source, out) = origin(lines, "10.0.0.1");
        assert_eq!(source, "2001:db8::7");
        assert_eq!(
            out,
            "X-Real-IP: 2001:db8::7|X-Forwarded-For: 2001:db8::7, 10.0.0.2, 10.0.0.1|X-Forwarded-Proto: https|\
             X-Forwarded-Host: A.example|X-Forwarded-Port: 443|Forwarded: for=\"[2001:db8::7]\";\
             host=\"A.example\";proto=https, for=10.0.0.2, for=10.0.0.1|"
        );
        assert_eq!(
            origin("X-Forwarded-For: junk\r\n", "10.0.0.1").0,
            "10.0.0.1"
        );
    }

    #[test]
    fn a_source_is_read_in_every_form_that_proxies_write() {
        let trusted: Vec<Cidr> = ["127.0.0.1", "10.0.0.0/8"]
            .map(|text| text.parse().unwrap())
            .into();
        for (peer, values, expected) in [
            ("192.0.2.1", &["198.51.100.7"][..], "192.0.2.1"),
            ("127.0.0.1", &[], "127.0.0.1"),
            ("127.0.0.1", &[""], "127.0.0.1"),
            ("127.0.0.1", &["198.51.100.7"], "198.51.100.7"),
            ("127.0.0.1", &["1.1.1.1, 198.51.100.7"], "198.51.100.7"),
            ("127.0.0.1", &["198.51.100.7, 10.1.1.1"], "198.51.100.7"),
            ("127.0.0.1", &["198.51.100.7, junk"], "127.0.0.1"),
            ("127.0.0.1", &["198.51.100.7:4711"], "198.51.100.7"),
            ("127.0.0.1", &["[2001:db8::7]"], "2001:db8::7"),
            ("127.0.0.1", &["[2001:db8::7]:4711"], "2001:db8::7"),
            ("127.0.0.1", &["1.1.1.1", "198.51.100.7"], "198.51.100.7"),
            ("127.0.0.1", &["198.51.100.7", "10.1.1.1"], "198.51.100.7"),
            ("127.0.0.1", &["::ffff:198.51.100.7"], "198.51.100.7"),
        ] {
            let bytes = values.iter().map(|value| value.as_bytes());
            let found = source(bytes, peer.parse().unwrap(), &trusted);
            assert_eq!(found, expected.parse::<IpAddr>().unwrap(), "{values:?}");
        }
    }

    #[test]
    fn no_proxy_names_another_host_or_port() {
        let named = |lines: &str| {
            let (_, out) = origin(lines, "10.0.0.1");
            let value = |name: &str| {
                let rest = out.split_once(name).unwrap().1;
                rest.split('|').next().unwrap().to_owned()
            };
            (value("X-Forwarded-Host: "), value("X-Forwarded-Port: "))
        };
        let ours = ("a.example:81".to_owned(), "81".to_owned());
        for lines in [
            "X-Forwarded-Host: evil.example\r\n",
            "X-Forwarded-Host: a.example:1337\r\n",
            "X-Forwarded-Host: a.example.evil.example\r\nX-Forwarded-Port: 1337\r\n",
            "X-Forwarded-Host: a.example, evil.example\r\n",
            "X-Forwarded-Host: a.example\r\nX-Forwarded-Host: a.example\r\n",
            "X-Forwarded-Port: 443\r\n",
            "X-Forwarded-Port: x\r\n",
        ] {
            assert_eq!(named(lines), ours, "{lines}");
        }
        let outer = named("X-Forwarded-Host: a.example:80\r\nX-Forwarded-Port: 80\r\n");
        assert_eq!(outer, ("a.example:80".to_owned(), "80".to_owned()));
    }

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
