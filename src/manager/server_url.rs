//! The address of the server that answers quick-setup calls.

use std::fmt;
use std::net::IpAddr;

use crate::tunnel::ws::Endpoint;

/// Bytes of the URL: more is a mistake.
const MAX_URL: usize = 2048;

/// A checked `http://` or `https://` URL: no credentials, no query, `https` where it must be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServerUrl {
    origin: String,
    path: String,
    endpoint: Endpoint,
}

impl ServerUrl {
    /// Reads a URL. Plain `http` is only for this machine, or with `insecure` given.
    ///
    /// The error says what is wrong and what to give instead; it does not repeat credentials.
    pub fn parse(text: &str, insecure: bool) -> Result<Self, String> {
        let text = text.trim();
        if text.len() > MAX_URL {
            return Err("the server's URL is too long".to_owned());
        }
        let (scheme, authority, path) = parts(text)?;
        if authority.contains('@') {
            return Err("remove USER:PASSWORD@ from the server's URL".to_owned());
        }
        let host_and_port = format!("{scheme}://{}", normalised(authority));
        let endpoint = Endpoint::parse(&host_and_port)?;
        if scheme == "http" && !endpoint.is_loopback() && !insecure {
            return Err(format!(
                "http is accepted only for this machine (loopback), not for {host_and_port}: use https ('postern start --insecure' allows http)"
            ));
        }
        Ok(Self {
            origin: format!("{scheme}://{}", endpoint.authority()),
            path: checked_path(path)?,
            endpoint,
        })
    }

    /// `scheme://host:port`: lower case, and always with the port, so that a server has one origin.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// True if it can only be this machine.
    pub fn is_loopback(&self) -> bool {
        self.endpoint.is_loopback()
    }

    /// The host; no brackets.
    pub fn host(&self) -> &str {
        &self.endpoint.host
    }

    /// The port, also if the URL has none.
    pub(crate) fn port(&self) -> u16 {
        self.endpoint.port
    }

    /// The URL of an API path, which begins with `/`.
    pub(super) fn with(&self, path: &str) -> String {
        format!("{}{}{path}", self.origin, self.path)
    }

    /// Address as the tunnel's link sees it, for its choice of a proxy.
    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let implied = if self.endpoint.secure { ":443" } else { ":80" };
        let origin = self.origin.strip_suffix(implied).unwrap_or(&self.origin);
        write!(f, "{origin}{}", self.path)
    }
}

/// Scheme in lower case, authority, path.
fn parts(text: &str) -> Result<(&'static str, &str, &str), String> {
    let refused = || {
        let shown: String = text.split('@').next_back().unwrap_or_default().into();
        let shown = shown.escape_default();
        format!("'{shown}' is not a server URL: give https://HOST or https://HOST:PORT")
    };
    let (scheme, rest) = text.split_once("://").ok_or_else(refused)?;
    let scheme = match scheme.to_ascii_lowercase().as_str() {
        "http" => "http",
        "https" => "https",
        _ => return Err(refused()),
    };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    Ok((scheme, authority, path))
}

/// Lower case, one spelling of an IPv6 address, no dot at the end.
fn normalised(authority: &str) -> String {
    let lower = authority.to_ascii_lowercase();
    if let Some((host, port)) = lower
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
    {
        let host = host
            .parse::<IpAddr>()
            .map_or(host.to_owned(), |ip| ip.to_string());
        return format!("[{host}]{port}");
    }
    let (host, port) = lower.split_at(lower.find(':').unwrap_or(lower.len()));
    format!("{}{port}", host.strip_suffix('.').unwrap_or(host))
}

/// The base path without a slash at its end (RFC 3986 §3.3).
fn checked_path(path: &str) -> Result<String, String> {
    let legal = |b: u8| b.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@%/".contains(&b);
    if !path.bytes().all(legal) {
        return Err(format!(
            "'{}' is not a server path: give https://HOST/PATH without a query",
            path.escape_default()
        ));
    }
    Ok(path.trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_server_has_one_origin() {
        for (text, origin, shown) in [
            (
                "https://a.example",
                "https://a.example:443",
                "https://a.example",
            ),
            (
                "HTTPS://A.Example.:443/",
                "https://a.example:443",
                "https://a.example",
            ),
            (
                "https://a.example:8443/x/",
                "https://a.example:8443",
                "https://a.example:8443/x",
            ),
            (
                " http://localhost:8180 ",
                "http://localhost:8180",
                "http://localhost:8180",
            ),
            ("http://[0::1]:80", "http://[::1]:80", "http://[::1]"),
            (
                "http://127.0.0.2/",
                "http://127.0.0.2:80",
                "http://127.0.0.2",
            ),
        ] {
            let url = ServerUrl::parse(text, false).unwrap();
            assert_eq!((url.origin(), url.to_string().as_str()), (origin, shown));
            assert_eq!(ServerUrl::parse(&url.to_string(), false).unwrap(), url);
        }
        let url = ServerUrl::parse("https://a.example/base/", false).unwrap();
        assert_eq!(url.with("/api/x"), "https://a.example:443/base/api/x");
        assert_eq!(url.host(), "a.example");
    }

    #[test]
    fn http_needs_this_machine_or_consent() {
        for text in [
            "http://a.example",
            "http://10.0.0.1:80",
            "http://localhost.evil.example",
        ] {
            let error = ServerUrl::parse(text, false).unwrap_err();
            assert!(error.contains("--insecure"), "{error}");
            assert!(ServerUrl::parse(text, true).is_ok());
        }
    }

    #[test]
    fn what_is_no_server_is_refused_without_a_secret() {
        for text in [
            "",
            "a.example",
            "ftp://a",
            "https://",
            "https:///x",
            "https://a:0",
            "https://a:70000",
            "https://u:hush@a",
            "u:hush@a",
            "https://a/?q",
            "https://a#f",
            "https://a/\u{7}",
            "https://a b",
            "https://.",
            "javascript:alert(1)",
            "https://a/\"",
            "https://\u{e4}",
        ] {
            let error = ServerUrl::parse(text, true).unwrap_err();
            assert!(!error.contains("hush"), "{error}");
        }
        assert!(ServerUrl::parse(&format!("https://a/{}", "x".repeat(2048)), true).is_err());
    }
}
