//! The address of a tunnel server.

use std::fmt;
use std::net::IpAddr;

use crate::net::authority::{self, InvalidHost};

/// A parsed `ws://` or `wss://` URL.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// TLS (`wss`).
    pub secure: bool,
    /// A host name or an IP address; no brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Path and query, beginning with `/`.
    pub path: String,
}

impl Endpoint {
    /// Reads a URL: `ws`, `wss`, or `http`, `https` for the same, or no scheme, which is `ws`.
    ///
    /// The error says what is wrong with it.
    pub fn parse(url: &str) -> Result<Self, String> {
        let (scheme, rest) = url.split_once("://").unwrap_or(("ws", url));
        let secure = match scheme.to_ascii_lowercase().as_str() {
            "ws" | "http" => false,
            "wss" | "https" => true,
            _ => {
                return Err(format!(
                    "unknown scheme '{scheme}': give ws://HOST:PORT or wss://HOST:PORT"
                ));
            }
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if authority.contains('@') {
            return Err("the server's URL must not contain credentials: use --auth".to_owned());
        }
        let (host, port) = split_port(authority)?;
        Ok(Self {
            secure,
            host: checked_host(host)?,
            port: port.unwrap_or(if secure { 443 } else { 80 }),
            path: checked_path(path)?,
        })
    }

    /// `host:port`, brackets where needed.
    pub fn authority(&self) -> String {
        authority::authority(&self.host, self.port)
    }

    /// Name of the server, by which its host key is known: `host:port`, and the path if there is one, as several relays of
    /// a fleet may be behind one web server.
    pub fn server(&self) -> String {
        match self.path.as_str() {
            "/" => self.authority(),
            path => format!("{}{path}", self.authority()),
        }
    }

    /// The host as an HTTP `Host` header has it: without the port that the scheme implies.
    pub(super) fn host_header(&self) -> String {
        let implied = if self.secure { 443 } else { 80 };
        if self.port == implied {
            authority::bracketed(&self.host).into_owned()
        } else {
            self.authority()
        }
    }

    /// True if it can only be this machine.
    pub fn is_loopback(&self) -> bool {
        authority::is_loopback(&self.host)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.secure { "wss" } else { "ws" };
        write!(f, "{scheme}://{}", self.authority())?;
        match self.path.as_str() {
            "/" => Ok(()),
            path => f.write_str(path),
        }
    }
}

impl std::str::FromStr for Endpoint {
    type Err = String;

    fn from_str(url: &str) -> Result<Self, String> {
        Self::parse(url)
    }
}

/// Splits `host`, `host:port`, `[v6]`, `[v6]:port`.
pub(super) fn split_port(authority: &str) -> Result<(&str, Option<u16>), String> {
    let malformed = || format!("malformed address '{authority}': give HOST:PORT or [IPV6]:PORT");
    let (host, digits) = authority::split(authority).ok_or_else(malformed)?;
    Ok((host, digits.map(port).transpose()?))
}

/// 1 to 65535, digits only.
pub(crate) fn port(digits: &str) -> Result<u16, String> {
    authority::port(digits).ok_or_else(|| format!("'{digits}' is not a port: give 1 to 65535"))
}

pub(super) fn checked_host(host: &str) -> Result<String, String> {
    if host.parse::<IpAddr>().is_ok() {
        return Ok(host.to_owned());
    }
    match authority::check_characters(host) {
        Ok(()) => Ok(host.to_owned()),
        Err(InvalidHost::Empty) => Err("the host is missing".to_owned()),
        Err(InvalidHost::TooLong) => Err("the host name is too long".to_owned()),
        Err(InvalidHost::Label | InvalidHost::Number) => {
            Err(format!("'{}' is not a host name", host.escape_default()))
        }
    }
}

/// A fragment never goes over the wire (RFC 6455 §3).
fn checked_path(path: &str) -> Result<String, String> {
    if !path.bytes().all(|b| b.is_ascii_graphic() && b != b'#') {
        return Err(format!(
            "'{}' is not a path of a tunnel server",
            path.escape_default()
        ));
    }
    let slash = if path.starts_with('/') { "" } else { "/" };
    Ok(format!("{slash}{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read() {
        let table = [
            ("ws://example.org", "ws://example.org:80"),
            ("wss://example.org", "wss://example.org:443"),
            ("http://10.0.0.1:62888", "ws://10.0.0.1:62888"),
            ("HTTPS://a-b.c_d", "wss://a-b.c_d:443"),
            ("example.org:8080", "ws://example.org:8080"),
            ("127.0.0.1", "ws://127.0.0.1:80"),
            ("ws://[::1]", "ws://[::1]:80"),
            (
                "wss://[2001:db8::1]:7/x?y=%20z",
                "wss://[2001:db8::1]:7/x?y=%20z",
            ),
            ("ws://h?q", "ws://h:80/?q"),
            ("ws://h/", "ws://h:80"),
        ];
        for (url, shown) in table {
            assert_eq!(Endpoint::parse(url).unwrap().to_string(), shown, "{url}");
        }
    }

    #[test]
    fn what_is_no_url_is_refused() {
        for url in [
            "",
            "ws://",
            "ws:///x",
            "ftp://h",
            "ws://h:",
            "ws://h:0",
            "ws://h:65536",
            "ws://h:+1",
            "ws://h:1:2",
            "::1",
            "ws://[::1",
            "ws://[::1]x",
            "ws://[h]:1",
            "ws://u:p@h",
            "ws://h/a b",
            "ws://h/#f",
            "ws://h\r\n",
            "ws://ä",
        ] {
            assert!(Endpoint::parse(url).is_err(), "{url}");
        }
        assert!(Endpoint::parse(&format!("ws://{}", "a".repeat(254))).is_err());
    }

    #[test]
    fn the_host_header_leaves_out_what_is_implied() {
        let host = |url| Endpoint::parse(url).unwrap().host_header();
        assert_eq!(host("ws://h"), "h");
        assert_eq!(host("ws://h:443"), "h:443");
        assert_eq!(host("wss://[::1]:443"), "[::1]");
    }
}
