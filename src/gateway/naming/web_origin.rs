//! Origins of an application and its site, as links and header lines spell them. Text in, text out.

use crate::net::authority::{self, authority, bracketed};

/// The default ports of `http` and `https`.
const DEFAULT_PORTS: [(&str, u16); 2] = [("http", 80), ("https", 443)];

/// Scheme, host and port (RFC 6454), in one spelling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WebOrigin {
    pub(super) scheme: &'static str,
    pub(super) host: String,
    pub(super) port: u16,
}

impl WebOrigin {
    pub(super) fn new(scheme: &'static str, host: &str, port: u16) -> WebOrigin {
        let host = spelled(host);
        WebOrigin { scheme, host, port }
    }
}

/// A host as it is compared: all names and addresses of this machine's loopback are one.
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
pub(super) fn host_of(scheme: &str, host: &str, port: u16) -> String {
    if default_port(scheme) == Some(port) {
        bracketed(host).into_owned()
    } else {
        authority(host, port)
    }
}

pub(super) fn scheme_of(origin: &str) -> &'static str {
    if origin.starts_with("https:") {
        "https"
    } else {
        "http"
    }
}

/// The scheme in a link, in lower case, none where it has that of the page; and what follows `//`. None for a link that
/// names no host, or one that is neither.
pub(super) fn split_scheme(link: &[u8]) -> Option<(Option<&'static str>, &[u8])> {
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
pub(super) fn split_host(after: &[u8]) -> Option<(&str, &[u8])> {
    let is_end = |byte: &u8| matches!(byte, b'/' | b'?' | b'#' | b'\\');
    let end = after.iter().position(is_end).unwrap_or(after.len());
    let (named, rest) = after.split_at_checked(end)?;
    Some((std::str::from_utf8(named).ok()?, rest))
}

/// Splits the setting `host_header` into its scheme, if there is one, and the name.
pub(super) fn split_host_setting(name: &str) -> (Option<&'static str>, &str) {
    let named = DEFAULT_PORTS.iter().find_map(|(scheme, _)| {
        let name = name.strip_prefix(scheme)?.strip_prefix("://")?;
        Some((Some(*scheme), name))
    });
    named.unwrap_or((None, name))
}

/// `scheme://host[:port]` of a site's URL, as browsers write it.
pub(super) fn of_site(url: &str) -> Option<String> {
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
