//! Access checks: Host, Origin and Sec-Fetch. Pure; the peer's user is [`super::peer`]'s matter.
//!
//! These checks keep web pages of other sites out, even by DNS rebinding: such a page can make the browser send almost
//! anything, but not our name in `Host` together with our origin in `Origin`.

use std::fmt;
use std::net::Ipv6Addr;
use std::sync::Arc;

use crate::http::h1::Refusal;
use crate::http::h1::head::Head;
use crate::net::authority;
use crate::sync::RwLock;

/// The names of this host that a server on loopback is reached under.
const LOOPBACK: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// Names that a server is served under. Clones share one list, which can change at run time.
#[derive(Debug, Clone)]
pub struct HostPolicy {
    any: bool,
    /// Advice for callers that use another name.
    hint: &'static str,
    allowed: Arc<RwLock<Vec<Name>>>,
    /// Names among them that visitors use with `https`.
    https: Arc<RwLock<Vec<Name>>>,
}

/// A host name that cannot be allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidHost(String);

impl fmt::Display for InvalidHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a host name or HOST:PORT: {:?}", self.0)
    }
}

impl std::error::Error for InvalidHost {}

/// `HOST` or `HOST:PORT`, the host in lower case, an IPv6 address in brackets.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Name {
    host: String,
    port: Option<u16>,
}

impl HostPolicy {
    /// Allows `127.0.0.1`, `localhost` and `[::1]` with the server's own port.
    pub fn loopback() -> HostPolicy {
        HostPolicy {
            any: false,
            hint: "use the address printed at start, or start with --allow-host",
            allowed: Arc::default(),
            https: Arc::default(),
        }
    }

    /// Sets the advice for callers that use another name, if it is not `--allow-host`.
    #[must_use]
    pub fn advising(self, hint: &'static str) -> HostPolicy {
        HostPolicy { hint, ..self }
    }

    /// Allows every name: for a service that is reached through foreign names by design, and that neither changes state
    /// nor names anything.
    pub fn any() -> HostPolicy {
        HostPolicy {
            any: true,
            ..HostPolicy::loopback()
        }
    }

    /// Allows `HOST` (any port) or `HOST:PORT` too.
    pub fn allow(&self, host: &str) -> Result<(), InvalidHost> {
        let name = Name::parse(host.as_bytes()).ok_or_else(|| InvalidHost(host.to_owned()))?;
        let mut allowed = self.allowed.write();
        if !allowed.contains(&name) {
            allowed.push(name);
        }
        Ok(())
    }

    /// Allows the name for visitors who use `https`: a proxy in front terminates TLS.
    pub fn allow_https(&self, host: &str) -> Result<(), InvalidHost> {
        self.allow(host)?;
        let name = Name::parse(host.as_bytes());
        let mut https = self.https.write();
        https.retain(|known| Some(known) != name.as_ref());
        https.extend(name);
        Ok(())
    }

    /// Removes a name that was allowed.
    pub fn disallow(&self, host: &str) {
        let name = Name::parse(host.as_bytes());
        for names in [&self.allowed, &self.https] {
            let mut names = names.write();
            names.retain(|known| Some(known) != name.as_ref());
        }
    }

    /// True if a `Host` is this machine's own name of a server on `port`, and not an allowed one.
    pub fn is_own(&self, host: &str, port: u16) -> bool {
        Name::parse(host.as_bytes()).is_some_and(|name| name.is_loopback(port))
    }

    /// True if a `Host` is a name that visitors use with `https`.
    pub fn is_https(&self, host: &str) -> bool {
        let https = self.https.read();
        let name = Name::parse(host.as_bytes());
        name.is_some_and(|name| https.iter().any(|known| known.is_served_as(&name)))
    }

    /// Checks a request for the decoded `path` on this server's `port`.
    pub fn check(&self, head: &Head, path: &str, port: u16) -> Result<(), Refusal> {
        if self.any {
            return Ok(());
        }
        self.check_host(head, port)?;
        self.check_origin(head, port)?;
        check_fetch(head, path)
    }

    fn check_host(&self, head: &Head, port: u16) -> Result<(), Refusal> {
        let host = head
            .headers
            .only("host")
            .map_err(|_| misdirected("more than one Host header"))?
            .ok_or_else(|| misdirected("no Host header"))?;
        let name = Name::parse(host).ok_or_else(|| misdirected("malformed Host header"))?;
        let same = |authority: &String| Name::parse(authority.as_bytes()).as_ref() == Some(&name);
        if !head.authority.as_ref().is_none_or(same) {
            return Err(Refusal::malformed("Host and request target differ"));
        }
        if name.is_loopback(port) || self.serves(&name) {
            return Ok(());
        }
        let message = format!("not served under this name: {}", self.hint);
        Err(Refusal::new(421, message))
    }

    fn serves(&self, name: &Name) -> bool {
        self.with_allowed(|known| known.is_served_as(name))
    }

    fn check_origin(&self, head: &Head, port: u16) -> Result<(), Refusal> {
        let foreign = || Refusal::new(403, "requests from other web sites are refused");
        let Some(origin) = head.headers.only("origin").map_err(|_| foreign())? else {
            return Ok(());
        };
        let (secure, name) = split_origin(origin).ok_or_else(foreign)?;
        let own = !secure && name.is_loopback(port);
        let is_ours =
            |known: &Name| known.is_origin(&name, secure) && (secure || !self.is_secure(known));
        if own || self.with_allowed(is_ours) {
            return Ok(());
        }
        Err(foreign())
    }

    /// True if visitors use a name that was allowed with `https` alone.
    fn is_secure(&self, known: &Name) -> bool {
        self.https.read().contains(known)
    }

    fn with_allowed(&self, is: impl Fn(&Name) -> bool) -> bool {
        let allowed = self.allowed.read();
        allowed.iter().any(is)
    }
}

/// Checks `Sec-Fetch-*`: if a browser names the site that asks, it must be ours or the person. A link on another site
/// may lead to a page, as a whole document, never to `/api/`.
fn check_fetch(head: &Head, path: &str) -> Result<(), Refusal> {
    let foreign = Refusal::new(403, "requests from other web sites are refused");
    let Ok(site) = head.headers.only("sec-fetch-site") else {
        return Err(foreign);
    };
    let value = |name| head.headers.only(name).ok().flatten();
    let navigation = head.method == "GET"
        && value("sec-fetch-mode") == Some(b"navigate")
        && value("sec-fetch-dest") == Some(b"document")
        && path != "/api"
        && !path.starts_with("/api/");
    match site {
        None | Some(b"same-origin" | b"none") => Ok(()),
        Some(_) if navigation => Ok(()),
        Some(_) => Err(foreign),
    }
}

fn misdirected(message: &'static str) -> Refusal {
    Refusal::new(421, message)
}

/// `http://NAME` or `https://NAME`, nothing after it. True for the latter.
fn split_origin(origin: &[u8]) -> Option<(bool, Name)> {
    let (secure, name) = match origin.strip_prefix(b"http://") {
        Some(name) => (false, name),
        None => (true, origin.strip_prefix(b"https://")?),
    };
    Name::parse(name).map(|name| (secure, name))
}

impl Name {
    fn parse(text: &[u8]) -> Option<Name> {
        let text = std::str::from_utf8(text).ok()?.to_ascii_lowercase();
        let (host, port) = authority::split(&text)?;
        let port = match port {
            Some(digits) => Some(parse_port(digits)?),
            None => None,
        };
        is_host(host).then(|| Name {
            host: authority::bracketed(host).into_owned(),
            port,
        })
    }

    /// True if `sent`, from a `Host`, is this name.
    fn is_served_as(&self, sent: &Name) -> bool {
        let default = matches!(self.port, Some(80 | 443)) && sent.port.is_none();
        self.host == sent.host && (self.port.is_none() || self.port == sent.port || default)
    }

    /// True if a page of this origin is ours. A name without a port belongs to a proxy with a port of its own;
    /// otherwise the pages of its host on other ports are not ours, such as another tenant's port of a relay. TLS may
    /// be in front of port 80.
    fn is_origin(&self, origin: &Name, secure: bool) -> bool {
        let port = origin.port.unwrap_or(if secure { 443 } else { 80 });
        let is_before = secure && origin.port.is_none() && self.port == Some(80);
        self.host == origin.host && (self.port.is_none_or(|own| own == port) || is_before)
    }

    /// True if it is a loopback name of this port. A browser leaves out port 80.
    fn is_loopback(&self, port: u16) -> bool {
        LOOPBACK.contains(&self.host.as_str()) && self.port.unwrap_or(80) == port
    }
}

fn parse_port(digits: &str) -> Option<u16> {
    authority::port(digits).filter(|_| !digits.starts_with('0'))
}

fn is_host(host: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
    let is_name = !host.is_empty() && host.len() <= authority::MAX_HOST && host.bytes().all(plain);
    is_name || host.parse::<Ipv6Addr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The status for a request with these two headers to a server on port 8306.
    fn status(hosts: &HostPolicy, host: &str, origin: &str) -> u16 {
        let head = format!("POST /api/query HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\n\r\n");
        let head = Head::parse(head.as_bytes(), 100).unwrap();
        match hosts.check(&head, "/api/query", 8306) {
            Ok(()) => 200,
            Err(refusal) => refusal.status,
        }
    }

    #[test]
    fn another_service_of_an_allowed_host_is_another_site_unless_a_proxy_is_meant() {
        let direct = HostPolicy::loopback();
        direct.allow("192.0.2.1:8306").unwrap();
        let from = |origin| status(&direct, "192.0.2.1:8306", origin);
        assert_eq!(from("http://192.0.2.1:8306"), 200);
        for origin in [
            "http://192.0.2.1",
            "https://192.0.2.1",
            "http://192.0.2.1:8307",
        ] {
            assert_eq!(from(origin), 403, "{origin}");
        }
        let site = HostPolicy::loopback();
        site.allow_https("data.relay.example:443").unwrap();
        for (origin, expected) in [
            ("https://data.relay.example", 200),
            ("https://data.relay.example:443", 200),
            ("http://data.relay.example", 403),
            ("http://data.relay.example:443", 403),
            ("http://data.relay.example:20003", 403),
            ("https://data.relay.example:20003", 403),
            ("https://shop.relay.example", 403),
        ] {
            let status = status(&site, "data.relay.example", origin);
            assert_eq!(status, expected, "{origin}");
        }
        let of_tls = HostPolicy::loopback();
        of_tls.allow("db.example:443").unwrap();
        for (origin, expected) in [("https://db.example", 200), ("http://db.example", 403)] {
            assert_eq!(status(&of_tls, "db.example", origin), expected, "{origin}");
        }
        let of_port_80 = HostPolicy::loopback();
        of_port_80.allow("db.example:80").unwrap();
        for origin in ["https://db.example", "http://db.example"] {
            assert_eq!(status(&of_port_80, "db.example", origin), 200, "{origin}");
        }
        for origin in ["https://db.example:8443", "http://db.example:8080"] {
            assert_eq!(status(&of_port_80, "db.example", origin), 403, "{origin}");
        }
        let proxied = HostPolicy::loopback();
        proxied.allow("db.example").unwrap();
        for origin in ["https://db.example", "http://db.example:8080"] {
            assert_eq!(status(&proxied, "127.0.0.1:8306", origin), 200, "{origin}");
        }
    }
}
