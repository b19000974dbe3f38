//! By which name an application is asked, and which addresses are its own. Text in, text out.

use crate::manager::apps::sharing::{TARGETS_HOST, VISITORS_HOST};
use crate::net::authority::{self, authority, bracketed};

/// The default ports of `http` and `https`.
const DEFAULT_PORTS: [(&str, u16); 2] = [("http", 80), ("https", 443)];

/// By which name an application is asked, and the addresses that stand for one another at its two sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Naming {
    /// The `Host` that it gets; none for the visitor's own.
    pub(super) host: Option<String>,
    /// Its name in TLS; none for the visitor's.
    pub(super) tls_name: Option<String>,
    /// Its own addresses: what links to these leads visitors nowhere.
    own: Vec<Origin>,
    /// Its own address as it knows it.
    origin: String,
    /// The site's.
    site: String,
}

/// Scheme, host and port (RFC 6454), in one spelling.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Origin {
    scheme: &'static str,
    host: String,
    port: u16,
}

impl Naming {
    /// That of an application at `ip` and `port`, which speaks TLS or not, with the setting `host_header`, at a site
    /// with this URL; that may be empty where the server gave none.
    pub(crate) fn new(
        host_header: &str,
        (ip, port): (&str, u16),
        is_tls: bool,
        site_url: &str,
    ) -> Naming {
        let scheme = if is_tls { "https" } else { "http" };
        let target = host_of(scheme, ip, port);
        let (host, named) = match host_header {
            VISITORS_HOST => (None, None),
            TARGETS_HOST => (Some(target.clone()), Some((ip, Some(port)))),
            name => {
                let named = authority::split(name);
                let named = named.map(|(name, port)| (name, port.and_then(authority::port)));
                (Some(name.to_owned()), named)
            }
        };
        let site = site_origin(site_url);
        let schemes = [Some(scheme), site.as_deref().map(scheme_of)];
        let mut own = Vec::new();
        // Behind a proxy that speaks `https` many applications name themselves so.
        for scheme in schemes.into_iter().flatten() {
            let named = named.iter().flat_map(|(name, named)| {
                let usual = named.or(default_port(scheme));
                [usual, Some(port)].map(|port| (*name, port))
            });
            for (name, port) in named.chain([(ip, Some(port))]) {
                own.extend(port.map(|port| Origin::new(scheme, name, port)));
            }
        }
        Naming {
            origin: format!("{scheme}://{}", host.as_ref().unwrap_or(&target)),
            tls_name: named.map(|(name, _)| name.to_owned()),
            site: site.unwrap_or_default(),
            host,
            own,
        }
    }

    /// The `Host` that the application gets of a visitor; none where the site has no address.
    pub(crate) fn asked_host(&self) -> Option<&str> {
        self.host.as_deref().or(self.site_host())
    }

    fn site_host(&self) -> Option<&str> {
        self.site.split_once("://").map(|(_, host)| host)
    }

    /// The name that it gets in TLS.
    pub(crate) fn asked_tls_name(&self) -> Option<&str> {
        let host = || authority::split(self.asked_host()?).map(|(name, _)| name);
        self.tls_name.as_deref().or_else(host)
    }

    /// The `Host` by which it knows itself.
    pub(super) fn own_host(&self) -> &str {
        self.origin.split_once("://").map_or("", |(_, host)| host)
    }

    /// Whether it is asked by the visitors' name for it, which it may not know.
    pub(crate) fn is_visitors(&self) -> bool {
        self.host.is_none() && !self.site.is_empty()
    }

    /// Whether what the application says is written afresh: it does not know the site's name.
    pub(super) fn rewrites(&self) -> bool {
        self.host.is_some() && !self.site.is_empty()
    }

    /// Whether a redirect leads visitors to the application's own address, where they are not, and is not written afresh.
    /// At a site on loopback all visitors are on this machine.
    pub(crate) fn is_trap(&self, link: &[u8]) -> bool {
        let host = self.site_host().and_then(|host| authority::split(host));
        let is_local = host.is_none_or(|(host, _)| authority::is_loopback(host));
        !self.rewrites() && !is_local && self.after_own_origin(link).is_some()
    }

    /// The value of a header line of an answer as the visitor gets it; none where it stays as it is.
    pub(super) fn to_visitor(&self, name: &str, value: &[u8]) -> Option<Vec<u8>> {
        let is = |wanted: &str| name.eq_ignore_ascii_case(wanted);
        if !self.rewrites() {
            None
        } else if is("location") || is("content-location") {
            self.to_site(value)
        } else if is("refresh") {
            self.refresh(value)
        } else if is("link") {
            self.links(value)
        } else {
            None
        }
    }

    /// The value of a header line of a request as the application gets it; none where it stays as it is.
    pub(super) fn to_target(&self, name: &str, value: &[u8]) -> Option<Vec<u8>> {
        let is = |wanted: &str| name.eq_ignore_ascii_case(wanted);
        if !self.rewrites() || !(is("origin") || is("referer")) {
            return None;
        }
        let begins = value.get(..self.site.len())?;
        let rest = value.get(self.site.len()..)?;
        let is_origin = begins.eq_ignore_ascii_case(self.site.as_bytes());
        let ends = rest.is_empty() || (is("referer") && matches!(rest, [b'/' | b'?' | b'#', ..]));
        (is_origin && ends).then(|| [self.origin.as_bytes(), rest].concat())
    }

    /// A link to the application as one to the site.
    fn to_site(&self, link: &[u8]) -> Option<Vec<u8>> {
        let rest = self.after_own_origin(link)?;
        Some([self.site.as_bytes(), rest].concat())
    }

    /// What follows an origin of the application's own in a link.
    fn after_own_origin<'l>(&self, link: &'l [u8]) -> Option<&'l [u8]> {
        let (scheme, after) = split_scheme(link)?;
        let is_end = |byte: &u8| matches!(byte, b'/' | b'?' | b'#' | b'\\');
        let end = after.iter().position(is_end).unwrap_or(after.len());
        let (named, rest) = after.split_at_checked(end)?;
        let (host, port) = authority::split(std::str::from_utf8(named).ok()?)?;
        let port = match port {
            None | Some("") => None,
            Some(port) => Some(authority::port(port)?),
        };
        let leads_to = |own: &Origin| {
            scheme.is_none_or(|scheme| scheme == own.scheme)
                && port.or(default_port(own.scheme)) == Some(own.port)
                && spelled(host) == own.host
        };
        self.own.iter().any(leads_to).then_some(rest)
    }

    /// `SECONDS; url=LINK`, the link in quotes or not.
    fn refresh(&self, value: &[u8]) -> Option<Vec<u8>> {
        let at = value
            .windows(3)
            .position(|w| w.eq_ignore_ascii_case(b"url"))?;
        let skip = |from: usize| {
            let rest = value.get(from..).unwrap_or_default();
            from + rest.len() - rest.trim_ascii_start().len()
        };
        let equals = skip(at + 3);
        let start = skip((value.get(equals) == Some(&b'=')).then_some(equals + 1)?);
        let quote = value.get(start).filter(|byte| matches!(byte, b'"' | b'\''));
        let start = start + usize::from(quote.is_some());
        let rest = value.get(start..)?;
        let end = rest.iter().position(|byte| Some(byte) == quote);
        let link = rest.get(..end.unwrap_or(rest.len()))?;
        let after = rest.get(link.len()..)?;
        Some([value.get(..start)?, &self.to_site(link)?, after].concat())
    }

    /// `<LINK>; rel=…, <LINK>…` (RFC 8288): what stands in quotes is no link.
    fn links(&self, value: &[u8]) -> Option<Vec<u8>> {
        let (mut out, mut rest, mut changed) = (Vec::new(), value, false);
        let mut is_quoted = false;
        while let Some((byte, after)) = rest.split_first() {
            is_quoted ^= *byte == b'"';
            out.push(*byte);
            rest = after;
            if *byte == b'<' && !is_quoted {
                // One that does not end is none, and nothing follows it.
                let end = after.iter().position(|byte| *byte == b'>')?;
                let (link, after) = after.split_at_checked(end)?;
                let site = self.to_site(link);
                changed |= site.is_some();
                out.extend_from_slice(site.as_deref().unwrap_or(link));
                rest = after;
            }
        }
        changed.then_some(out)
    }
}

impl Origin {
    fn new(scheme: &'static str, host: &str, port: u16) -> Origin {
        let host = spelled(host);
        Origin { scheme, host, port }
    }
}

/// A host as it is compared: all names and addresses of this machine's loopback are one.
fn spelled(host: &str) -> String {
    if authority::is_loopback(host) {
        return "localhost".to_owned();
    }
    let name = host.strip_suffix('.').unwrap_or(host);
    name.to_ascii_lowercase()
}

fn default_port(scheme: &str) -> Option<u16> {
    let mut known = DEFAULT_PORTS.iter();
    known
        .find(|(known, _)| *known == scheme)
        .map(|(_, port)| *port)
}

/// What `Host` says of an address: without the port where that is the scheme's own (RFC 9110 section 7.2).
fn host_of(scheme: &str, host: &str, port: u16) -> String {
    if default_port(scheme) == Some(port) {
        bracketed(host).into_owned()
    } else {
        authority(host, port)
    }
}

fn scheme_of(origin: &str) -> &'static str {
    if origin.starts_with("https:") {
        "https"
    } else {
        "http"
    }
}

/// The scheme in a link, in lower case, none where it has that of the page; and what follows `//`. None for a link that
/// names no host, or one that is neither.
fn split_scheme(link: &[u8]) -> Option<(Option<&'static str>, &[u8])> {
    if let Some(after) = link.strip_prefix(b"//") {
        return Some((None, after));
    }
    DEFAULT_PORTS.iter().find_map(|(scheme, _)| {
        let begin = link.get(..scheme.len())?;
        let after = link.get(scheme.len()..)?.strip_prefix(b"://")?;
        let is_it = begin.eq_ignore_ascii_case(scheme.as_bytes());
        is_it.then_some((Some(*scheme), after))
    })
}

/// `scheme://host[:port]` of a site's URL, as browsers write it.
fn site_origin(url: &str) -> Option<String> {
    let (scheme, after) = split_scheme(url.as_bytes())?;
    let scheme = scheme?;
    let named = std::str::from_utf8(after)
        .ok()?
        .split(['/', '?', '#'])
        .next()?;
    let (host, port) = authority::split(named)?;
    let port = match port {
        Some(port) => authority::port(port)?,
        None => default_port(scheme)?,
    };
    let host = host.to_ascii_lowercase();
    Some(format!("{scheme}://{}", host_of(scheme, &host, port)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: &str = "https://shop.relay.example/";

    fn naming(host_header: &str, target: (&str, u16), is_tls: bool) -> Naming {
        Naming::new(host_header, target, is_tls, SITE)
    }

    fn location(naming: &Naming, link: &str) -> String {
        let value = naming.to_visitor("Location", link.as_bytes());
        value.map_or(link.to_owned(), |value| String::from_utf8(value).unwrap())
    }

    #[test]
    fn the_name_that_an_application_is_asked_by() {
        for (setting, target, is_tls, host, name) in [
            ("visitor", ("10.0.0.5", 80), false, None, None),
            (
                "target",
                ("10.0.0.5", 80),
                false,
                Some("10.0.0.5"),
                Some("10.0.0.5"),
            ),
            (
                "target",
                ("in.example", 443),
                true,
                Some("in.example"),
                Some("in.example"),
            ),
            (
                "target",
                ("::1", 8443),
                true,
                Some("[::1]:8443"),
                Some("::1"),
            ),
            (
                "a.example",
                ("10.0.0.5", 3000),
                true,
                Some("a.example"),
                Some("a.example"),
            ),
            (
                "a.example:8",
                ("10.0.0.5", 3000),
                true,
                Some("a.example:8"),
                Some("a.example"),
            ),
        ] {
            let naming = naming(setting, target, is_tls);
            let found = (naming.host.as_deref(), naming.tls_name.as_deref());
            assert_eq!(found, (host, name), "{setting} {target:?}");
        }
    }

    #[test]
    fn links_to_the_application_lead_to_the_site() {
        let target = naming("target", ("10.0.0.5", 3000), false);
        let site = "https://shop.relay.example";
        for (link, expected) in [
            ("http://10.0.0.5:3000/a?b#c", format!("{site}/a?b#c")),
            ("HTTP://10.0.0.5:3000", site.to_owned()),
            ("http://10.0.0.5:3000?x", format!("{site}?x")),
            ("//10.0.0.5:3000/a", format!("{site}/a")),
            // As an application says that heard X-Forwarded-Proto.
            ("https://10.0.0.5:3000/a", format!("{site}/a")),
        ] {
            assert_eq!(location(&target, link), expected, "{link}");
        }
        for link in [
            "/a",
            "a",
            "http://10.0.0.5/a",
            "http://10.0.0.5:3001/a",
            "http://10.0.0.50:3000/a",
            "http://10.0.0.5:3000.evil.example/a",
            "http://10.0.0.5:3000@evil.example/",
            "http://u@10.0.0.5:3000/",
            "ftp://10.0.0.5:3000/",
            "http:/10.0.0.5:3000/",
            "https://login.example/?next=http://10.0.0.5:3000/",
            "",
        ] {
            assert_eq!(location(&target, link), link);
        }
        let named = naming("In.Example", ("10.0.0.5", 8443), true);
        for link in [
            "https://in.example/a",
            "https://IN.example.:443/a",
            "https://in.example:8443/a",
            "https://10.0.0.5:8443/a",
        ] {
            assert_eq!(location(&named, link), format!("{site}/a"), "{link}");
        }
        assert_eq!(
            location(&named, "http://in.example/a"),
            "http://in.example/a"
        );
        let local = naming("target", ("127.0.0.1", 3000), false);
        for link in ["http://localhost:3000/a", "http://[::1]:3000/a"] {
            assert_eq!(location(&local, link), format!("{site}/a"), "{link}");
        }
    }

    #[test]
    fn where_the_visitors_name_is_kept_nothing_is_written_afresh() {
        let naming = naming("visitor", ("127.0.0.1", 9001), false);
        let own = "http://127.0.0.1:9001/headers";
        assert_eq!(location(&naming, own), own);
        assert!(naming.is_trap(own.as_bytes()) && !naming.is_trap(b"/headers"));
        let local = Naming::new(
            "visitor",
            ("127.0.0.1", 9001),
            false,
            "http://a.localhost:80/",
        );
        assert!(
            !local.is_trap(own.as_bytes()),
            "its visitors are on this machine"
        );
        assert_eq!(
            naming.to_target("Origin", b"https://shop.relay.example"),
            None
        );
    }

    #[test]
    fn other_lines_that_hold_links() {
        let naming = naming("target", ("10.0.0.5", 3000), false);
        let to_visitor = |name: &str, value: &str| {
            let written = naming.to_visitor(name, value.as_bytes());
            written.map(|value| String::from_utf8(value).unwrap())
        };
        for (name, value, expected) in [
            (
                "Content-Location",
                "http://10.0.0.5:3000/a",
                Some("https://shop.relay.example/a"),
            ),
            (
                "Refresh",
                "5; url=http://10.0.0.5:3000/a",
                Some("5; url=https://shop.relay.example/a"),
            ),
            (
                "refresh",
                "0;URL = 'http://10.0.0.5:3000/a'",
                Some("0;URL = 'https://shop.relay.example/a'"),
            ),
            ("Refresh", "5", None),
            ("Refresh", "5; url=/a", None),
            ("Refresh", "5; url", None),
            (
                "Link",
                "<http://10.0.0.5:3000/s.css>; rel=preload, </x>; title=\"<http://10.0.0.5:3000/>\"",
                Some(
                    "<https://shop.relay.example/s.css>; rel=preload, </x>; title=\"<http://10.0.0.5:3000/>\"",
                ),
            ),
            ("Link", "<https://other.example/>; rel=next", None),
            ("Link", "<http://10.0.0.5:3000/", None),
            ("X-Else", "http://10.0.0.5:3000/a", None),
        ] {
            assert_eq!(
                to_visitor(name, value).as_deref(),
                expected,
                "{name}: {value}"
            );
        }
    }

    #[test]
    fn only_the_sites_own_origin_becomes_the_applications() {
        let naming = naming("target", ("10.0.0.5", 3000), false);
        let to_target = |name: &str, value: &str| {
            let written = naming.to_target(name, value.as_bytes());
            written.map(|value| String::from_utf8(value).unwrap())
        };
        for (name, value, expected) in [
            (
                "Origin",
                "https://shop.relay.example",
                Some("http://10.0.0.5:3000"),
            ),
            ("Origin", "http://shop.relay.example", None),
            ("Origin", "https://shop.relay.example:8443", None),
            ("Origin", "https://shop.relay.example/", None),
            ("Origin", "https://shop.relay.example.evil.example", None),
            ("Origin", "null", None),
            (
                "Referer",
                "https://shop.relay.example/a?b",
                Some("http://10.0.0.5:3000/a?b"),
            ),
            ("Referer", "https://shop.relay.example.evil.example/", None),
            (
                "Referer",
                "https://evil.example/https://shop.relay.example/",
                None,
            ),
            ("X-Origin", "https://shop.relay.example", None),
        ] {
            assert_eq!(
                to_target(name, value).as_deref(),
                expected,
                "{name}: {value}"
            );
        }
    }

    #[test]
    fn a_site_without_an_address_leaves_all_as_it_is() {
        let naming = Naming::new("target", ("10.0.0.5", 3000), false, "");
        assert_eq!(
            location(&naming, "http://10.0.0.5:3000/"),
            "http://10.0.0.5:3000/"
        );
        assert_eq!(naming.host.as_deref(), Some("10.0.0.5:3000"));
    }
}
