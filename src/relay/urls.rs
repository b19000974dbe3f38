//! Addresses of the relay: its public URL, the URLs of sites, tunnels and public ports. Pure.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::str::FromStr;

use super::allocator::PUBLIC_PORTS;
use super::state::{Application, Site};
use crate::http::h1::head::Target;
use crate::net::authority;

/// Path of tunnels on the visitors' listener.
pub(super) const TUNNEL_PATH: &str = "/.postern/tunnel";

/// Public URL: the scheme and port of every site's address, and the host of the relay itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl {
    is_secure: bool,
    host: String,
    port: u16,
}

impl PublicUrl {
    /// True for `https`.
    pub fn is_secure(&self) -> bool {
        self.is_secure
    }

    /// The host, lower case.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// True if it can be that of a relay whose sites are below `domain`: the same name, one below the other, or both in
    /// one domain.
    pub fn goes_with(&self, domain: &str) -> bool {
        let (host, domain) = (self.host.as_str(), domain.to_ascii_lowercase());
        let is_below = |name: &str, of: &str| {
            let rest = name.strip_suffix(of);
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        let parent = |name: &str| {
            let (_, parent) = name.split_once('.')?;
            parent.contains('.').then(|| parent.to_owned())
        };
        let share =
            parent(host).is_some_and(|parent_of_host| parent(&domain) == Some(parent_of_host));
        is_below(host, &domain) || is_below(&domain, host) || share
    }
}

/// URL of the tunnels that use the visitors' listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TunnelUrl {
    at: PublicUrl,
    path: String,
}

impl TunnelUrl {
    /// The host, lower case.
    pub fn host(&self) -> &str {
        &self.at.host
    }

    /// Returns `HOST:PORT`, even if the port is the default one.
    pub(super) fn authority(&self) -> String {
        format!("{}:{}", self.at.host, self.at.port)
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }
}

impl FromStr for TunnelUrl {
    type Err = InvalidUrl;

    /// Reads `ws://HOST[:PORT][/PATH]` or `wss://HOST[:PORT][/PATH]`; the default path is [`TUNNEL_PATH`].
    fn from_str(text: &str) -> Result<Self, InvalidUrl> {
        const FORM: InvalidUrl =
            InvalidUrl("give wss://HOST/PATH or wss://HOST:PORT/PATH (ws is possible too)");
        const PATH: InvalidUrl = InvalidUrl("the path is not valid, or a query follows it");
        let (scheme, rest) = text.split_once("://").ok_or(FORM)?;
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "wss" => "https",
            "ws" => "http",
            _ => return Err(FORM),
        };
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let path = if path.len() > 1 { path } else { TUNNEL_PATH };
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"/-._~".contains(&b);
        let decoded = Target::parse(path).map_err(|_| PATH)?;
        if !path.bytes().all(is_plain) || decoded.path != path {
            return Err(PATH);
        }
        Ok(Self {
            at: format!("{scheme}://{host}").parse()?,
            path: path.to_owned(),
        })
    }
}

impl fmt::Display for TunnelUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, usual) = match self.at.is_secure {
            true => ("wss", 443),
            false => ("ws", 80),
        };
        write!(f, "{scheme}://{}", self.at.host)?;
        if self.at.port != usual {
            write!(f, ":{}", self.at.port)?;
        }
        f.write_str(&self.path)
    }
}

/// Fault of a text that is no such URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidUrl(&'static str);

impl fmt::Display for InvalidUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for InvalidUrl {}

impl FromStr for PublicUrl {
    type Err = InvalidUrl;

    /// Reads `http://HOST[:PORT]` or `https://HOST[:PORT]`, with or without a slash at the end.
    fn from_str(text: &str) -> Result<Self, InvalidUrl> {
        const FORM: InvalidUrl =
            InvalidUrl("give https://HOST or https://HOST:PORT (http is possible too)");
        let (scheme, rest) = text.split_once("://").ok_or(FORM)?;
        let is_secure = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return Err(FORM),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (host, port) = match rest.split_once(':') {
            Some((host, port)) => (
                host,
                authority::port(port).ok_or(InvalidUrl("a port is a number from 1 to 65535"))?,
            ),
            None => (rest, if is_secure { 443 } else { 80 }),
        };
        check_domain(host)?;
        Ok(Self {
            is_secure,
            host: host.to_ascii_lowercase(),
            port,
        })
    }
}

/// Checks the domain of sites: labels of letters, digits and hyphens, at most 180 bytes (RFC 1035 §2.3.4 leaves 253 for
/// all, and a site's name has 63).
pub fn check_domain(text: &str) -> Result<(), InvalidUrl> {
    let label = |label| authority::is_label(label, "-");
    if text.len() <= 180 && text.split('.').all(label) && text.parse::<IpAddr>().is_err() {
        return Ok(());
    }
    Err(InvalidUrl("not a valid host name"))
}

/// Address of public ports. Cookies do not know ports: a public port on an address that sites' names lead to is one
/// more server under every site's name, and its connector controls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublicPorts {
    /// The tunnel server's address.
    Shared,
    /// An address of its own, which no site's name leads to.
    At(IpAddr),
    /// None: applications that need a public port are refused.
    Refused,
}

/// Addresses of a relay.
#[derive(Debug, Clone)]
pub(super) struct PublicUrls {
    /// Sites are labels before it; lower case.
    pub(super) domain: String,
    pub(super) is_secure: bool,
    /// Host name, or address, of the relay itself.
    pub(super) host: String,
    /// Port that visitors use.
    pub(super) port: u16,
    /// Port that the gateway listens on.
    pub(super) listen_port: u16,
    /// Address that connectors dial.
    pub(super) external_ip: String,
    /// Address of the tunnel server; port 0 if it does not listen.
    pub(super) tunnel: SocketAddr,
    /// URL that connectors may dial instead; none if the relay has none.
    pub(super) tunnel_url: Option<TunnelUrl>,
    /// Address of public ports.
    pub(super) ports: PublicPorts,
    /// Range of public ports.
    pub(super) port_range: RangeInclusive<u16>,
    /// Fingerprint of the host key that clients prefer.
    pub(super) fingerprint: String,
}

impl PublicUrls {
    /// Makes the addresses. By default visitors use the domain, on the port that the gateway listens on.
    pub(super) fn new(domain: &str, listen: SocketAddr, public: Option<PublicUrl>) -> Self {
        let domain = domain.to_ascii_lowercase();
        let public = public.unwrap_or_else(|| PublicUrl {
            is_secure: false,
            host: domain.clone(),
            port: listen.port(),
        });
        Self {
            domain,
            is_secure: public.is_secure,
            host: public.host,
            port: public.port,
            listen_port: listen.port(),
            external_ip: String::new(),
            tunnel: listen,
            tunnel_url: None,
            ports: PublicPorts::Shared,
            port_range: PUBLIC_PORTS,
            fingerprint: String::new(),
        }
    }

    /// Returns the relay's own address, with a slash at its end.
    pub(super) fn url(&self) -> String {
        self.url_of(&self.host)
    }

    /// Returns a notice for the operator of a relay that does not listen for tunnels.
    pub(super) fn port_notice(&self) -> Option<String> {
        let by_url = self.tunnel_url.as_ref()?;
        let notice = format!(
            "--tunnel-listen is none: tunnels use {by_url}. Connectors that do not know tunnel URLs (older builds) cannot connect; update them first"
        );
        (self.tunnel.port() == 0).then_some(notice)
    }

    /// Returns the URL of tunnels below the relay's own address.
    pub(super) fn own_tunnel_url(&self) -> TunnelUrl {
        TunnelUrl {
            at: PublicUrl {
                is_secure: self.is_secure,
                host: self.host.clone(),
                port: self.port,
            },
            path: TUNNEL_PATH.to_owned(),
        }
    }

    /// Returns the address of a site, with a slash at its end.
    pub(super) fn site_url(&self, name: &str) -> String {
        self.url_of(&format!("{name}.{}", self.domain))
    }

    /// Returns the beginning of the link with a site's code, with `/auth` added to it.
    pub(super) fn sign_in_url(&self, name: &str) -> String {
        format!("{}.postern", self.site_url(name))
    }

    /// Returns the address of an application.
    pub(super) fn application_url(&self, application: &Application) -> String {
        match &application.site {
            Some(Site { name, .. }) => self.site_url(name),
            None => port_url(&self.ports_host(), application.port),
        }
    }

    /// Host of public ports.
    pub(super) fn ports_host(&self) -> String {
        match self.ports {
            PublicPorts::At(ip) => ip.to_string(),
            PublicPorts::Shared | PublicPorts::Refused => self.external_ip.clone(),
        }
    }

    /// IP address of public ports; `None` if there are none.
    pub(super) fn ports_ip(&self) -> Option<IpAddr> {
        match self.ports {
            PublicPorts::Shared => Some(self.tunnel.ip()),
            PublicPorts::At(ip) => Some(ip),
            PublicPorts::Refused => None,
        }
    }

    /// Host names of the relay itself: lower case, no ports.
    pub(super) fn own_names(&self) -> [String; 2] {
        [self.host.clone(), self.external_ip.to_ascii_lowercase()]
    }

    /// True if a `Host` is one of visitors who come to the relay itself by `https`, which a server in front terminates.
    pub(super) fn is_https_visitors(&self, host: &str) -> bool {
        let Some((name, port)) = authority::split(host) else {
            return false;
        };
        let is_public_port = port.is_none_or(|port| authority::port(port) == Some(self.port));
        let own = [&self.domain, &self.host];
        let is_own = own.iter().any(|own| own.eq_ignore_ascii_case(name));
        self.is_secure && is_public_port && is_own
    }

    /// True if a site of this name would be the relay itself.
    pub(super) fn is_own_name(&self, name: &str) -> bool {
        let site = format!("{name}.{}", self.domain);
        self.own_names().contains(&site)
    }

    fn url_of(&self, host: &str) -> String {
        let (scheme, usual) = if self.is_secure {
            ("https", 443)
        } else {
            ("http", 80)
        };
        if self.port == usual {
            format!("{scheme}://{host}/")
        } else {
            format!("{scheme}://{host}:{}/", self.port)
        }
    }
}

/// The address of a public port.
pub(super) fn port_url(host: &str, port: u16) -> String {
    format!("tcp://{}", authority::authority(host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_url_goes_with_the_domain_or_does_not() {
        for (domain, url, goes) in [
            ("relay.example", "https://relay.example", true),
            ("relay.example", "https://www.relay.example:8443", true),
            ("apps.relay.example", "https://relay.example", true),
            ("Apps.example.org", "https://relay.example.org", true),
            ("localhost", "http://localhost", true),
            ("a.example", "https://b.example", false),
            ("a", "https://b", false),
            ("relay.example", "https://otherrelay.example", false),
        ] {
            let url: PublicUrl = url.parse().unwrap();
            assert_eq!(url.goes_with(domain), goes, "{domain} {url:?}");
        }
    }

    #[test]
    fn a_tunnel_url_keeps_its_path_and_has_no_other_form() {
        for (text, shown) in [
            ("wss://Relay.example", "wss://relay.example/.postern/tunnel"),
            (
                "wss://relay.example:443/",
                "wss://relay.example/.postern/tunnel",
            ),
            ("WS://relay.example:8080/t/1", "ws://relay.example:8080/t/1"),
        ] {
            assert_eq!(text.parse::<TunnelUrl>().unwrap().to_string(), shown);
        }
        for text in [
            "",
            "relay.example",
            "https://relay.example/",
            "wss://",
            "wss:///a",
            "wss://u@a/b",
            "wss://a/b?c",
            "wss://a/b#c",
            "wss://a//b",
            "wss://a/../b",
            "wss://a/%41",
            "wss://a/b c",
            "wss://a:0/b",
            "wss://192.0.2.1/b",
            "wss://[::1]/b",
        ] {
            assert!(text.parse::<TunnelUrl>().is_err(), "{text}");
        }
    }

    #[test]
    fn addresses_carry_what_the_public_url_says() {
        let listen: SocketAddr = "127.0.0.1:8180".parse().unwrap();
        let plain = PublicUrls::new("LocalHost", listen, None);
        assert_eq!(plain.url(), "http://localhost:8180/");
        assert_eq!(plain.site_url("shop"), "http://shop.localhost:8180/");
        let tunnels = plain.own_tunnel_url().to_string();
        assert_eq!(tunnels, "ws://localhost:8180/.postern/tunnel");
        for (public, url, site) in [
            (
                "https://my-relay.example",
                "https://my-relay.example/",
                "https://shop.relay.example/",
            ),
            (
                "https://relay.example",
                "https://relay.example/",
                "https://shop.relay.example/",
            ),
            (
                "https://Admin.relay.example:8443/",
                "https://admin.relay.example:8443/",
                "https://shop.relay.example:8443/",
            ),
            (
                "http://relay.example",
                "http://relay.example/",
                "http://shop.relay.example/",
            ),
        ] {
            let urls = PublicUrls::new("relay.example", listen, Some(public.parse().unwrap()));
            assert_eq!(
                (urls.url().as_str(), urls.site_url("shop").as_str()),
                (url, site)
            );
        }
        assert_eq!(
            plain.sign_in_url("shop"),
            "http://shop.localhost:8180/.postern"
        );
        let mut urls = PublicUrls::new(
            "relay.example",
            listen,
            "https://admin.relay.example".parse().ok(),
        );
        urls.external_ip = "Tunnels.relay.example".to_owned();
        for (name, is_own) in [("admin", true), ("tunnels", true), ("shop", false)] {
            assert_eq!(urls.is_own_name(name), is_own, "{name}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "relay.example",
            "ftp://x",
            "https://",
            "https://a b",
            "https://a/b",
            "https://a:0",
            "https://a:x",
            "https://u@a",
            "https://a?b",
            "https://-a",
            "https://a..b",
            "https://1.2.3.4",
        ] {
            assert!(text.parse::<PublicUrl>().is_err(), "{text}");
        }
    }
}
