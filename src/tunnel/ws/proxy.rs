//! Proxies: the choice of one, and the request for a tunnel to an HTTP proxy (RFC 9110 §9.3.6).

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use zeroize::Zeroizing;

use super::endpoint::{Endpoint, checked_host, split_port};
use super::error::DialError;
use super::upgrade::printable;
use crate::http::h1::answer::AnswerHead;
use crate::net::authority::authority;
use crate::net::{Cidr, percent};

/// Choice of a proxy.
#[derive(Debug, Clone, Default)]
pub enum ProxyChoice {
    /// `HTTPS_PROXY` for `wss`, `HTTP_PROXY` for `ws`, else `ALL_PROXY`, unless `NO_PROXY` names
    /// the server; never for this machine itself.
    #[default]
    Environment,
    /// None.
    Direct,
    /// This one, always.
    Fixed(Proxy),
}

/// The variables that choose a proxy.
pub const PROXY_VARIABLES: [&str; 8] = [
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "https_proxy",
    "http_proxy",
    "all_proxy",
    "no_proxy",
];

/// Names of the variables for connections to relays that are set, in capitals.
pub fn network_variables() -> BTreeSet<String> {
    let names = PROXY_VARIABLES.into_iter().chain(["SSL_CERT_FILE"]);
    let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    names.filter(is_set).map(str::to_ascii_uppercase).collect()
}

/// A proxy that is asked to connect, by name: it resolves the names of servers. `Debug` and [`Proxy::authority`] leave
/// the credentials out.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    kind: ProxyKind,
    host: String,
    port: u16,
    /// The value of `Proxy-Authorization`.
    credentials: Option<Zeroizing<String>>,
}

/// Protocol of a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProxyKind {
    Http,
    Socks5,
}

impl ProxyKind {
    fn of(scheme: &str) -> Option<Self> {
        match scheme.to_ascii_lowercase().as_str() {
            "http" => Some(Self::Http),
            "socks5" | "socks5h" => Some(Self::Socks5),
            _ => None,
        }
    }

    fn scheme(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Socks5 => "socks5h",
        }
    }
}

impl Proxy {
    /// Reads `http://USER:PASS@HOST:PORT`; scheme, credentials and port (80) may be absent. The scheme may be `socks5h`
    /// too, with port 1080, and `socks5`, which means the same: this machine may know no names of the world outside.
    ///
    /// The error says what is wrong and never shows the text, which may hold a password.
    pub fn parse(url: &str) -> Result<Self, String> {
        let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
        let kind = ProxyKind::of(scheme).ok_or_else(|| {
            let scheme = scheme.escape_default();
            format!(
                "proxy scheme '{scheme}' is not supported: give http://HOST:PORT or socks5h://HOST:PORT"
            )
        })?;
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (account, authority) = match rest.rsplit_once('@') {
            Some((account, authority)) => (Some(account), authority),
            None => (None, rest),
        };
        let malformed =
            |_| "the proxy's address is malformed: give http://USER:PASS@HOST:PORT".to_owned();
        let (host, port) = split_port(authority).map_err(malformed)?;
        let proxy = Self {
            kind,
            host: checked_host(host).map_err(malformed)?,
            port: port.unwrap_or(match kind {
                ProxyKind::Http => 80,
                ProxyKind::Socks5 => 1080,
            }),
            credentials: account.map(basic).transpose()?,
        };
        match proxy.account().filter(|_| kind == ProxyKind::Socks5) {
            Some(account) if !account.is_fit_for_socks() => {
                Err("user name and password of a SOCKS proxy have 1 to 255 bytes each".to_owned())
            }
            _ => Ok(proxy),
        }
    }

    /// Its protocol.
    pub(crate) fn kind(&self) -> ProxyKind {
        self.kind
    }

    /// `host:port`.
    pub fn authority(&self) -> String {
        authority(&self.host, self.port)
    }

    /// Its host; no brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// User name and password.
    pub(crate) fn account(&self) -> Option<ProxyAccount> {
        let encoded = self.credentials.as_deref()?.strip_prefix("Basic ")?;
        let account = Zeroizing::new(BASE64.decode(encoded).ok()?);
        let colon = account.iter().position(|byte| *byte == b':')?;
        let (user, password) = account.split_at(colon);
        Some(ProxyAccount {
            user: user.to_vec(),
            password: Zeroizing::new(password.get(1..)?.to_vec()),
        })
    }

    /// The request for a tunnel to `target`.
    pub(super) fn request(&self, target: &Endpoint) -> Zeroizing<Vec<u8>> {
        let to = target.authority();
        let mut text = Zeroizing::new(format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n"));
        if let Some(credentials) = &self.credentials {
            text.reserve(credentials.len() + 64);
            text.push_str("Proxy-Authorization: ");
            text.push_str(credentials);
            text.push_str("\r\n");
        }
        text.push_str("\r\n");
        Zeroizing::new(text.as_bytes().to_vec())
    }

    /// Checks its answer: any 2xx opens the tunnel.
    pub(super) fn check_answer(&self, head: &[u8]) -> Result<(), DialError> {
        let answer =
            AnswerHead::parse(head, false).map_err(|refusal| self.malformed(&refusal.message))?;
        match answer.status {
            200..=299 => Ok(()),
            status => Err(self.refused_with(status, &printable(answer.reason.as_bytes()))),
        }
    }

    /// The error for its status: 401 means the proxy's credentials too, as the server has not answered yet.
    pub(crate) fn refused_with(&self, status: u16, reason: &str) -> DialError {
        match status {
            401 | 407 => self.wants_credentials(),
            _ => self.refused(format!("{status} {reason}")),
        }
    }

    pub(crate) fn wants_credentials(&self) -> DialError {
        DialError::ProxyCredentials {
            scheme: self.kind.scheme(),
            proxy: self.authority(),
        }
    }

    pub(super) fn refused(&self, reason: String) -> DialError {
        DialError::ProxyRefused {
            proxy: self.authority(),
            reason,
        }
    }

    pub(crate) fn malformed(&self, reason: &str) -> DialError {
        DialError::ProxyMalformed {
            protocol: match self.kind {
                ProxyKind::Http => "an HTTP",
                ProxyKind::Socks5 => "a SOCKS5",
            },
            proxy: self.authority(),
            reason: reason.to_owned(),
        }
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let account = if self.credentials.is_some() {
            "***@"
        } else {
            ""
        };
        let scheme = self.kind.scheme();
        write!(f, "Proxy({scheme}://{account}{})", self.authority())
    }
}

/// User name and password at a proxy; it has no `Debug`.
pub(crate) struct ProxyAccount {
    pub(crate) user: Vec<u8>,
    pub(crate) password: Zeroizing<Vec<u8>>,
}

impl ProxyAccount {
    /// RFC 1929 section 2.
    fn is_fit_for_socks(&self) -> bool {
        [self.user.len(), self.password.len()]
            .iter()
            .all(|length| (1..=255).contains(length))
    }
}

/// `Basic` credentials (RFC 7617) of a URL's user and password.
fn basic(account: &str) -> Result<Zeroizing<String>, String> {
    let (user, password) = account.split_once(':').unwrap_or((account, ""));
    let mut plain = Zeroizing::new(percent_decoded(user)?.to_vec());
    // RFC 7617 §2: a colon would move the border.
    if plain.contains(&b':') {
        return Err("the proxy's user name contains a colon".to_owned());
    }
    plain.push(b':');
    plain.extend_from_slice(&percent_decoded(password)?);
    let encoded = Zeroizing::new(BASE64.encode(plain.as_slice()));
    Ok(Zeroizing::new(format!("Basic {}", encoded.as_str())))
}

fn percent_decoded(text: &str) -> Result<Zeroizing<Vec<u8>>, String> {
    let stray = "the proxy's credentials have a stray '%': write it as %25";
    percent::decode(text).ok_or_else(|| stray.to_owned())
}

/// The proxy for `target`, if any.
pub(super) fn choose(choice: &ProxyChoice, target: &Endpoint) -> Result<Option<Proxy>, DialError> {
    match choice {
        ProxyChoice::Direct => Ok(None),
        ProxyChoice::Fixed(proxy) => Ok(Some(proxy.clone())),
        ProxyChoice::Environment => environment_proxy(target),
    }
}

/// The proxy that the environment names for `target`; none for this machine.
pub fn environment_proxy(target: &Endpoint) -> Result<Option<Proxy>, DialError> {
    from_environment(target, |name| std::env::var(name).ok())
}

fn from_environment(
    target: &Endpoint,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<Proxy>, DialError> {
    let first = |names: &[&'static str]| {
        let set =
            |name: &&'static str| variable(name).filter(|v| !v.is_empty()).map(|v| (*name, v));
        names.iter().find_map(set)
    };
    let excepted =
        || first(&["no_proxy", "NO_PROXY"]).is_some_and(|(_, list)| excepts(&list, target));
    if target.is_loopback() || excepted() {
        return Ok(None);
    }
    let names = if target.secure {
        ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
    } else if variable("REQUEST_METHOD").is_some() {
        // Under CGI the capitals are what a visitor's `Proxy:` header says (CVE-2016-5385).
        ["http_proxy"; 4]
    } else {
        ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]
    };
    let Some((name, url)) = first(&names) else {
        return Ok(None);
    };
    let proxy = Proxy::parse(&url);
    proxy
        .map(Some)
        .map_err(|reason| DialError::Settings(format!("{name}: {reason}")))
}

/// True if a `NO_PROXY` list names the target. Its entries, divided by commas or spaces:
///
/// | entry | names |
/// |---|---|
/// | `*` | everything |
/// | `example.org` | that host and all below it |
/// | `.example.org`, `*.example.org` | all below it |
/// | `10.1.2.3`, `[2001:db8::1]` | that address |
/// | `10.0.0.0/8`, `2001:db8::/32` | that network |
/// | any of the above but the network and `:PORT` | only with that port |
fn excepts(list: &str, target: &Endpoint) -> bool {
    let entries = list
        .split([',', ' ', '\t'])
        .filter(|entry| !entry.is_empty());
    let host = target
        .host
        .strip_suffix('.')
        .unwrap_or(&target.host)
        .to_ascii_lowercase();
    entries
        .map(str::to_ascii_lowercase)
        .any(|entry| names(&entry, &host, target.port))
}

fn names(entry: &str, host: &str, port: u16) -> bool {
    let address = host
        .parse::<IpAddr>()
        .ok()
        .map(|address| address.to_canonical());
    if entry.contains('/') {
        let network = entry.parse::<Cidr>();
        return address.is_some_and(|address| network.is_ok_and(|within| within.contains(address)));
    }
    let (name, wanted) = match entry.parse::<IpAddr>() {
        Ok(_) => (entry, None),
        Err(_) => match split_port(entry) {
            Ok(parts) => parts,
            Err(_) => return false,
        },
    };
    if wanted.is_some_and(|wanted| wanted != port) {
        return false;
    }
    match (name.parse::<IpAddr>(), address) {
        (Ok(named), Some(address)) => named.to_canonical() == address,
        (Ok(_), None) => false,
        (Err(_), _) if name == "*" => true,
        (Err(_), Some(_)) => false,
        (Err(_), None) => is_name(name, host),
    }
}

fn is_name(name: &str, host: &str) -> bool {
    let below = |name: &str| {
        host.strip_suffix(name)
            .is_some_and(|start| start.ends_with('.') && start.len() > 1)
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    match name.strip_prefix("*.").or_else(|| name.strip_prefix('.')) {
        Some(parent) => !parent.is_empty() && below(parent),
        None => !name.is_empty() && (host == name || below(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(url: &str) -> Endpoint {
        Endpoint::parse(url).unwrap()
    }

    fn from(variables: &[(&str, &str)], url: &str) -> Result<Option<String>, String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let proxy = from_environment(&endpoint(url), variable);
        proxy
            .map(|proxy| proxy.map(|proxy| proxy.authority()))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn proxies_are_read() {
        for (url, shown) in [
            ("http://p:3128", "Proxy(http://p:3128)"),
            ("p", "Proxy(http://p:80)"),
            ("HTTP://[::1]:8/", "Proxy(http://[::1]:8)"),
            ("http://u:secret@p:1", "Proxy(http://***@p:1)"),
            ("socks5h://p", "Proxy(socks5h://p:1080)"),
            ("SOCKS5://u:secret@p:9", "Proxy(socks5h://***@p:9)"),
        ] {
            assert_eq!(format!("{:?}", Proxy::parse(url).unwrap()), shown);
        }
        for url in [
            "",
            "https://p",
            "socks4://p:1080",
            "socks5h://u@p",
            "socks5h://:secret@p",
            "http://p:0",
            "http://a b",
            "http://u:%zz@p",
            "http://a%3ab:c@p",
        ] {
            let error = Proxy::parse(url).unwrap_err();
            assert!(!error.contains("zz"), "{error}");
        }
    }

    #[test]
    fn credentials_are_sent_decoded_and_never_shown() {
        // RFC 7617 §2 has this example; the password is percent-encoded here.
        let proxy = Proxy::parse("http://Aladdin:open%20sesame@p:1").unwrap();
        let request = proxy.request(&endpoint("ws://[::1]:8080/x"));
        let expected = "CONNECT [::1]:8080 HTTP/1.1\r\nHost: [::1]:8080\r\n\
            Proxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n\r\n";
        assert_eq!(String::from_utf8_lossy(&request), expected);
        let at = Proxy::parse("http://u:p@ss@p:1").unwrap();
        assert!(String::from_utf8_lossy(&at.request(&endpoint("ws://h"))).contains("dTpwQHNz"));
        assert_eq!((at.host(), at.port()), ("p", 1));
    }

    #[test]
    fn the_answer_of_a_proxy_is_checked() {
        let proxy = Proxy::parse("p:1").unwrap();
        let text = |head: &str| {
            proxy
                .check_answer(head.as_bytes())
                .map_err(|error| error.to_string())
        };
        assert_eq!(text("HTTP/1.0 200 Connection established\r\n\r\n"), Ok(()));
        assert_eq!(text("HTTP/1.1 204 X\r\n\r\n"), Ok(()));
        assert!(
            text("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
                .unwrap_err()
                .contains("credentials")
        );
        assert!(
            text("HTTP/1.1 403 Forbidden\r\n\r\n")
                .unwrap_err()
                .contains("403 Forbidden")
        );
        assert!(
            text("HTTP/1.1 301 Moved\r\n\r\n")
                .unwrap_err()
                .contains("refused")
        );
        assert!(
            text("SSH-2.0-x\r\n\r\n")
                .unwrap_err()
                .contains("does not answer like an HTTP proxy")
        );
    }

    #[test]
    fn the_environment_names_the_proxy() {
        let all = [
            ("HTTPS_PROXY", "s:1"),
            ("HTTP_PROXY", "h:2"),
            ("ALL_PROXY", "a:3"),
        ];
        assert_eq!(from(&all, "wss://x"), Ok(Some("s:1".to_owned())));
        assert_eq!(from(&all, "ws://x"), Ok(Some("h:2".to_owned())));
        assert_eq!(from(&all[2..], "ws://x"), Ok(Some("a:3".to_owned())));
        assert_eq!(from(&all[2..], "wss://x"), Ok(Some("a:3".to_owned())));
        assert_eq!(from(&all[..1], "ws://x"), Ok(None));
        assert_eq!(
            from(&[("http_proxy", "l:1"), ("HTTP_PROXY", "u:2")], "ws://x"),
            Ok(Some("l:1".to_owned()))
        );
        assert_eq!(
            from(&[("http_proxy", ""), ("HTTP_PROXY", "u:2")], "ws://x"),
            Ok(Some("u:2".to_owned()))
        );
        assert_eq!(
            from(
                &[("HTTP_PROXY", "u:2"), ("REQUEST_METHOD", "GET")],
                "ws://x"
            ),
            Ok(None)
        );
        assert_eq!(from(&[], "ws://x"), Ok(None));
        for loopback in ["ws://localhost:1", "wss://127.0.0.2", "ws://[::1]"] {
            assert_eq!(from(&all, loopback), Ok(None), "{loopback}");
        }
        let error = from(&[("HTTPS_PROXY", "socks4://u:pw@p")], "wss://x").unwrap_err();
        assert!(
            error.starts_with("HTTPS_PROXY: ") && !error.contains("pw"),
            "{error}"
        );
    }

    #[test]
    fn exceptions_are_as_wide_as_they_say() {
        let table = [
            ("*", "a.example:1", true),
            ("example.org", "example.org:1", true),
            ("Example.ORG", "a.EXAMPLE.org:1", true),
            ("example.org", "badexample.org:1", false),
            ("example.org.", "example.org:1", true),
            (".example.org", "a.example.org:1", true),
            (".example.org", "example.org:1", false),
            ("*.example.org", "a.b.example.org:1", true),
            ("*.example.org", "example.org:1", false),
            ("example.org:8080", "example.org:8080", true),
            ("example.org:8080", "example.org:80", false),
            ("x, y ,example.org", "example.org:1", true),
            ("x y", "y:1", true),
            ("", "y:1", false),
            (",.,:", "y:1", false),
            ("10.1.2.3", "10.1.2.3:1", true),
            ("10.1.2.3:1", "10.1.2.3:2", false),
            ("2.3", "10.1.2.3:1", false),
            ("10.0.0.0/8", "10.255.0.1:1", true),
            ("10.0.0.0/8", "11.0.0.1:1", false),
            ("10.1.2.3/32", "10.1.2.3:1", true),
            ("10.1.2.3/32", "10.1.2.2:1", false),
            ("0.0.0.0/0", "8.8.8.8:1", true),
            ("10.0.0.0/33", "10.0.0.0:1", false),
            ("10.0.0.0/8", "ten.example:1", false),
            ("[2001:db8::1]", "[2001:db8::1]:1", true),
            ("2001:db8::1", "[2001:db8::1]:1", true),
            ("[2001:db8::1]:7", "[2001:db8::1]:8", false),
            ("2001:db8::/32", "[2001:db8:9::1]:1", true),
            ("2001:db8::/32", "[2001:db9::1]:1", false),
            ("::/0", "[2001:db9::1]:1", true),
        ];
        for (list, target, expected) in table {
            let target = endpoint(&format!("ws://{target}"));
            assert_eq!(excepts(list, &target), expected, "{list} {target}");
        }
    }
}
