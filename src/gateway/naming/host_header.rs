//! Name and scheme for requests to an application, and the addresses that are its own. Text in, text out.
//!
//! An application compares what it hears of itself: Rails checks `X-Forwarded-Host` as it does `Host`, and `Origin`
//! against the scheme in `X-Forwarded-Proto`; Django checks `Origin` against `Host` and its own scheme; Express, Symfony
//! and Next believe `X-Forwarded-Host` first. So all of it says the same:
//!
//! | line                                 | `visitor`         | `target`          | NAME              |
//! |--------------------------------------|-------------------|-------------------|-------------------|
//! | `Host`                               | the site's        | its address       | NAME              |
//! | name in TLS                          | that of `Host`    | its host          | host of NAME      |
//! | `X-Forwarded-Host`, `Forwarded` host | the site's        | its address       | NAME              |
//! | `X-Forwarded-Proto`, `-` proto       | the site's        | its own scheme    | its own scheme    |
//! | `X-Forwarded-Port`                   | the site's        | port of `Host`    | port of `Host`    |
//! | `Origin` and `Referer` of the site      | as sent           | its address       | NAME              |
//! | `X-Forwarded-Server`, `-Ssl` etc.    | left out          | left out          | left out          |
//! | `X-Forwarded-For`, `X-Real-IP`       | visitor's address | visitor's address | visitor's address |
//!
//! Its own scheme is `https` if it speaks TLS. NAME may have a scheme in front (`https://wiki.example`), which then takes
//! the place of its own: for an application that speaks plain HTTP and redirects all requests to `https`.
//!
//! A relay of ours writes the first column itself, and its lines pass. Lines of another server may be a visitor's text:
//! with `visitor` they are written here too, with the name in `Host` and the scheme in `X-Forwarded-Proto`, or else in
//! the URL of the site. The visitor's address remains that server's word.

use crate::http::h1::head::Headers;
use crate::net::authority;
use crate::net::authority::{authority, bracketed};

/// Setting of an application that is asked by the visitors' name for it.
pub const VISITORS_HOST: &str = "visitor";
/// Setting of one that is asked by its own address.
pub const TARGETS_HOST: &str = "target";
/// The default ports of `http` and `https`.
const DEFAULT_PORTS: [(&str, u16); 2] = [("http", 80), ("https", 443)];

/// Server that visitors come through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerKind {
    /// A relay of ours: what it says of visitors is true, and it passes on no such line of theirs.
    Ours,
    Foreign,
}

/// Names for requests to an application, and the addresses of its two sides that stand for one another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Naming {
    /// The `Host` that it gets; none for the visitor's own.
    pub(super) host: Option<String>,
    /// Its name in TLS; none for the visitor's.
    pub(super) tls_name: Option<String>,
    /// Its own addresses: what links to these leads visitors nowhere.
    own: Vec<WebOrigin>,
    /// Its own address as it knows it.
    pub(super) origin: String,
    /// The site's.
    pub(in crate::gateway) site: String,
    pub(in crate::gateway) server: ServerKind,
}

/// Name and scheme that an application gets with one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::gateway) struct UpstreamHost<'a> {
    pub(in crate::gateway) host: &'a [u8],
    /// Scheme of forwarding lines that are written here; none where those that came pass.
    pub(in crate::gateway) scheme: Option<&'static str>,
}

impl Naming {
    /// Naming of an application at `target`, which speaks TLS or not, with the setting `host_header`, at a site
    /// with this URL; that may be empty where the server gave none.
    pub(crate) fn new(
        host_header: &str,
        target: (&str, u16),
        is_tls: bool,
        site_url: &str,
        server: ServerKind,
    ) -> Naming {
        let (ip, port) = target;
        let spoken = if is_tls { "https" } else { "http" };
        let target = host_of(spoken, ip, port);
        let (named_scheme, host_header) = split_host_setting(host_header);
        let scheme = named_scheme.unwrap_or(spoken);
        let (host, named) = match host_header {
            VISITORS_HOST => (None, None),
            TARGETS_HOST => (Some(target.clone()), Some((ip, Some(port)))),
            name => {
                let named = authority::split(name);
                let named = named.map(|(name, port)| (name, port.and_then(authority::port)));
                (Some(name.to_owned()), named)
            }
        };
        let site = of_site(site_url);
        let schemes = [Some(spoken), named_scheme, site.as_deref().map(scheme_of)];
        let mut own = Vec::new();
        // Behind a proxy that speaks `https` many applications name themselves so.
        for scheme in schemes.into_iter().flatten() {
            let named = named.iter().flat_map(|(name, named)| {
                let usual = named.or(default_port(scheme));
                [usual, Some(port)].map(|port| (*name, port))
            });
            for (name, port) in named.chain([(ip, Some(port))]) {
                own.extend(port.map(|port| WebOrigin::new(scheme, name, port)));
            }
        }
        Naming {
            origin: format!("{scheme}://{}", host.as_ref().unwrap_or(&target)),
            tls_name: named.map(|(name, _)| name.to_owned()),
            site: site.unwrap_or_default(),
            host,
            own,
            server,
        }
    }

    /// Name and scheme that the application gets with a request of these lines.
    pub(in crate::gateway) fn asked_by<'a>(&'a self, headers: &'a Headers) -> UpstreamHost<'a> {
        let sent = headers.all("host").next();
        // HTTP/1.0 knows no Host; HTTP/1.1, which is spoken from here on, asks for one.
        let sent = sent.unwrap_or(self.own_host().as_bytes());
        if let Some(host) = &self.host {
            let (host, scheme) = (host.as_bytes(), Some(self.asked_scheme()));
            return UpstreamHost { host, scheme };
        }
        if self.server == ServerKind::Ours {
            let scheme = None;
            return UpstreamHost { host: sent, scheme };
        }
        let first = |name: &'static str| {
            let value = headers.all(name).next()?;
            Some(value.split(|byte| *byte == b',').next()?.trim_ascii())
        };
        let site = self.site_host().map(str::as_bytes);
        // A server that asks by a name of its own says there whom the visitor asked.
        let is_site = |host: &&[u8]| site.is_some_and(|site| host.eq_ignore_ascii_case(site));
        let host = first("x-forwarded-host").filter(is_site).unwrap_or(sent);
        let scheme = match first("x-forwarded-proto") {
            Some(b"https") => Some("https"),
            Some(b"http") => Some("http"),
            _ => site.map(|_| self.asked_scheme()),
        };
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(byte);
        let scheme = scheme.filter(|_| host.iter().all(is_plain));
        UpstreamHost { host, scheme }
    }

    pub(super) fn site_host(&self) -> Option<&str> {
        self.site.split_once("://").map(|(_, host)| host)
    }

    /// The name that it gets in TLS.
    pub(crate) fn asked_tls_name(&self) -> Option<&str> {
        let host = || authority::split(self.asked_host()?).map(|(name, _)| name);
        self.tls_name.as_deref().or_else(host)
    }

    /// The name that it gets in TLS with a request of these lines, as a visitor may have sent it.
    pub(crate) fn tls_name_of<'a>(&'a self, headers: &'a Headers) -> &'a str {
        let host = || std::str::from_utf8(self.asked_by(headers).host).ok();
        let sent = || authority::split(host()?).map(|(name, _)| name);
        self.tls_name.as_deref().or_else(sent).unwrap_or_default()
    }

    /// The `Host` by which it knows itself.
    pub(super) fn own_host(&self) -> &str {
        self.origin.split_once("://").map_or("", |(_, host)| host)
    }

    /// The site's URL, as short as it is, and the server that visitors come through.
    pub(crate) fn at(&self) -> (&str, ServerKind) {
        (&self.site, self.server)
    }

    /// The `Host` that the application gets of a visitor; none where the site has no address.
    pub(crate) fn asked_host(&self) -> Option<&str> {
        self.host.as_deref().or(self.site_host())
    }

    /// The scheme that the application hears that visitors come by.
    pub(crate) fn asked_scheme(&self) -> &'static str {
        let is_visitors = self.is_visitors();
        scheme_of(if is_visitors {
            &self.site
        } else {
            &self.origin
        })
    }

    /// True if it is asked by the visitors' name for it, which it may not know.
    pub(crate) fn is_visitors(&self) -> bool {
        self.host.is_none() && !self.site.is_empty()
    }

    /// True if the application's answers are rewritten: it does not know the site's name.
    pub(super) fn rewrites(&self) -> bool {
        self.host.is_some() && !self.site.is_empty()
    }

    /// True if a redirect leads visitors to the application's own address, which they cannot reach, unrewritten.
    /// At a site on loopback all visitors are on this machine.
    pub(crate) fn is_trap(&self, link: &[u8]) -> bool {
        let host = self.site_host().and_then(|host| authority::split(host));
        let is_local = host.is_none_or(|(host, _)| authority::is_loopback(host));
        !self.rewrites() && !is_local && self.after_own_origin(link).is_some()
    }

    /// True if a redirect sends whoever asked for the first page to the same page by `https`, which the application does
    /// not see: visitors would be sent around without end.
    pub(crate) fn insists_on_https(&self, link: &[u8]) -> bool {
        let is_secure = split_scheme(link).is_some_and(|(scheme, _)| scheme == Some("https"));
        let is_first = |rest: &[u8]| matches!(rest, b"" | b"/");
        let hears_http = self.host.is_some() && self.asked_scheme() == "http";
        hears_http && is_secure && self.after_own_origin(link).is_some_and(is_first)
    }

    /// Returns the part of a link after the site's own origin in `http`, if the site has `https`.
    pub(super) fn after_plain_site<'l>(&self, link: &'l [u8]) -> Option<&'l [u8]> {
        let site = self.site.strip_prefix("https://")?;
        let (scheme, after) = split_scheme(link)?;
        let (named, rest) = split_host(after)?;
        let bare = [":80", ":443"]
            .into_iter()
            .find_map(|port| named.strip_suffix(port));
        let is_site = bare.unwrap_or(named).eq_ignore_ascii_case(site);
        (scheme == Some("http") && is_site).then_some(rest)
    }

    /// Returns the part of a link after an origin of the application.
    pub(super) fn after_own_origin<'l>(&self, link: &'l [u8]) -> Option<&'l [u8]> {
        let (scheme, after) = split_scheme(link)?;
        let (named, rest) = split_host(after)?;
        let (host, port) = authority::split(named)?;
        let port = match port {
            None | Some("") => None,
            Some(port) => Some(authority::port(port)?),
        };
        let leads_to = |own: &WebOrigin| {
            scheme.is_none_or(|scheme| scheme == own.scheme)
                && port.or(default_port(own.scheme)) == Some(own.port)
                && spelled(host) == own.host
        };
        self.own.iter().any(leads_to).then_some(rest)
    }
}

/// Scheme, host and port (RFC 6454), in one spelling.
#[derive(Debug, Clone, PartialEq, Eq)]
struct WebOrigin {
    scheme: &'static str,
    host: String,
    port: u16,
}

impl WebOrigin {
    fn new(scheme: &'static str, host: &str, port: u16) -> WebOrigin {
        let host = spelled(host);
        WebOrigin { scheme, host, port }
    }
}

/// Returns a host for comparison: all names and addresses of this machine's loopback are one.
pub(super) fn spelled(host: &str) -> String {
    if authority::is_loopback(host) {
        return "localhost".to_owned();
    }
    let name = host.strip_suffix('.').unwrap_or(host);
    name.to_ascii_lowercase()
}

pub(super) fn default_port(scheme: &str) -> Option<u16> {
    let mut known = DEFAULT_PORTS.iter();
    known
        .find(|(known, _)| *known == scheme)
        .map(|(_, port)| *port)
}

/// `Host` header of an address: without the port if it is the scheme's default (RFC 9110 section 7.2).
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

/// Splits a link into its scheme, in lower case, and the part after `//`. The scheme is none if the link has that of
/// the page; the result is none for a link that names no host or is neither.
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

/// The host with its port in what follows `//` in a link, and the rest.
fn split_host(after: &[u8]) -> Option<(&str, &[u8])> {
    let is_end = |byte: &u8| matches!(byte, b'/' | b'?' | b'#' | b'\\');
    let end = after.iter().position(is_end).unwrap_or(after.len());
    let (named, rest) = after.split_at_checked(end)?;
    Some((std::str::from_utf8(named).ok()?, rest))
}

/// Splits the setting `host_header` into its scheme, if there is one, and the name.
fn split_host_setting(name: &str) -> (Option<&'static str>, &str) {
    let named = DEFAULT_PORTS.iter().find_map(|(scheme, _)| {
        let name = name.strip_prefix(scheme)?.strip_prefix("://")?;
        Some((Some(*scheme), name))
    });
    named.unwrap_or((None, name))
}

/// `scheme://host[:port]` of a site's URL, as browsers write it.
fn of_site(url: &str) -> Option<String> {
    let (scheme, after) = split_scheme(url.as_bytes())?;
    let scheme = scheme?;
    let (named, _) = split_host(after)?;
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
                "https://a.example",
                ("10.0.0.5", 3000),
                false,
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
            let site = "https://shop.relay.example/";
            let naming = Naming::new(setting, target, is_tls, site, ServerKind::Ours);
            let found = (naming.host.as_deref(), naming.tls_name.as_deref());
            assert_eq!(found, (host, name), "{setting} {target:?}");
        }
    }

    #[test]
    fn one_that_insists_on_https_is_told_from_one_that_redirects() {
        let asked = |mode: &str, is_tls: bool, link: &str| {
            let site = "https://shop.relay.example/";
            let naming = Naming::new(mode, ("10.0.0.5", 3000), is_tls, site, ServerKind::Ours);
            naming.insists_on_https(link.as_bytes())
        };
        assert!(asked("target", false, "https://10.0.0.5:3000/"));
        assert!(asked("wiki.lan", false, "https://wiki.lan/"));
        for (mode, is_tls, link) in [
            ("target", false, "https://10.0.0.5:3000/login"),
            ("target", false, "http://10.0.0.5:3000/"),
            ("target", true, "https://10.0.0.5:3000/"),
            ("https://wiki.lan", false, "https://wiki.lan/"),
            ("visitor", false, "https://shop.relay.example/"),
            ("target", false, "/"),
        ] {
            assert!(!asked(mode, is_tls, link), "{mode} {link}");
        }
    }
}
