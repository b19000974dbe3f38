//! Address of an application on the command line: a port, a host, or a pasted URL.

use std::net::Ipv6Addr;

use zeroize::Zeroizing;

use super::target;
use crate::manager::protocol::Protocol;
use crate::net::authority;
use crate::sqlweb::Target;

/// Given parts; the protocol has defaults for the others.
#[derive(Default)]
pub(super) struct Endpoint {
    /// Protocol in the URL.
    pub(super) protocol: Option<Protocol>,
    pub(super) host: Option<String>,
    pub(super) port: Option<u16>,
    /// Path in a web site's URL, `/admin?x=1`; none for `/`.
    pub(super) path: Option<String>,
    /// User in a database's URL.
    pub(super) user: Option<String>,
    pub(super) password: Option<Zeroizing<String>>,
    pub(super) database: Option<String>,
}

/// Reads `PORT`, `HOST`, `HOST:PORT`, `[V6]`, `[V6]:PORT` or a whole URL. The error says what is wrong and what to
/// give; it never holds a password.
pub(super) fn parse(text: &str) -> Result<Endpoint, String> {
    if let Some((scheme, rest)) = text.split_once("://") {
        return url(text, scheme, rest);
    }
    // It may be copied from a browser's address line without the scheme.
    let place = text.split(['/', '?', '#']).next().unwrap_or_default();
    if text.starts_with('/') {
        return Err("it is a file: give PORT, HOST or HOST:PORT".to_owned());
    }
    if let Some((user, host)) = place.rsplit_once('@') {
        let user = user.split(':').next().unwrap_or_default();
        return Err(format!(
            "visitors give their own name: remove {user}@ before {host}"
        ));
    }
    Ok(Endpoint {
        path: path(text),
        ..host_and_port(place)?
    })
}

/// True if a host may be a mistyped port: digits first, and no dot, as in `473o1`.
pub(super) fn is_like_a_port(host: &str) -> bool {
    let is_plain = host.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_plain && host.starts_with(|first: char| first.is_ascii_digit())
}

/// Returns the path, fit for a URL. The link opens it; the whole site is shared.
fn path(after_scheme: &str) -> Option<String> {
    let (_, path) = after_scheme.split_at(after_scheme.find(['/', '?', '#'])?);
    let path = path.trim_start_matches('/');
    let fit = |byte: u8| match byte {
        b'!'..=b'~' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    (!path.is_empty()).then(|| format!("/{}", path.bytes().map(fit).collect::<String>()))
}

fn url(text: &str, scheme: &str, rest: &str) -> Result<Endpoint, String> {
    let scheme = scheme.to_ascii_lowercase();
    let Some(protocol) = Protocol::named(&scheme) else {
        let known = Protocol::ALL.map(Protocol::name).join(", ");
        return Err(format!("{scheme}:// is none of {known}"));
    };
    if protocol.is_database() {
        return database(text, protocol);
    }
    let place = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if rest.contains('@') && place.contains('@') {
        return Err(
            "it contains a user name or password, which nobody would receive: remove them"
                .to_owned(),
        );
    }
    Ok(Endpoint {
        protocol: Some(protocol),
        path: path(rest).filter(|_| protocol.is_visited_by_http()),
        ..host_and_port(place)?
    })
}

fn database(text: &str, protocol: Protocol) -> Result<Endpoint, String> {
    let address = target::read(text).map_err(str::to_owned)?;
    let Target::Tcp { host, port } = address.target else {
        return Err("give HOST:PORT".to_owned());
    };
    Ok(Endpoint {
        protocol: Some(protocol),
        host: Some(host),
        port: Some(port),
        user: address.user,
        password: address.password,
        database: address.database,
        path: None,
    })
}

fn host_and_port(text: &str) -> Result<Endpoint, String> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(Endpoint {
            port: Some(target::port(text)?),
            ..Endpoint::default()
        });
    }
    if text.parse::<Ipv6Addr>().is_ok() {
        return Err(format!("an IPv6 address needs brackets: [{text}]"));
    }
    let parts = authority::split(text).filter(|(host, _)| !host.is_empty());
    let (host, digits) = parts.ok_or("give PORT, HOST or HOST:PORT")?;
    if !authority::is_host(host) {
        return Err("a host name has letters, digits, '-' and '_' between single dots".to_owned());
    }
    Ok(Endpoint {
        host: Some(authority::bracketed(host).into_owned()),
        port: digits.map(target::port).transpose()?,
        ..Endpoint::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_urls_are_read() {
        for (text, protocol, host, port) in [
            ("8080", None, None, Some(8080)),
            ("db", None, Some("db"), None),
            ("db:1", None, Some("db"), Some(1)),
            ("[::1]", None, Some("[::1]"), None),
            ("[::1]:5", None, Some("[::1]"), Some(5)),
            ("localhost:3000/", None, Some("localhost"), Some(3000)),
            (
                "http://127.0.0.1:3000/",
                Some("http"),
                Some("127.0.0.1"),
                Some(3000),
            ),
            (
                "HTTP://localhost:3000",
                Some("http"),
                Some("localhost"),
                Some(3000),
            ),
            (
                "https://nas.local/x?y@z#w",
                Some("https"),
                Some("nas.local"),
                None,
            ),
            (
                "http://[::1]:3000/",
                Some("http"),
                Some("[::1]"),
                Some(3000),
            ),
            ("ssh://box:2222", Some("ssh"), Some("box"), Some(2222)),
            (
                "tcp://127.0.0.1:5432",
                Some("tcp"),
                Some("127.0.0.1"),
                Some(5432),
            ),
            ("http://3000/", Some("http"), None, Some(3000)),
        ] {
            let read = parse(text).unwrap_or_else(|why| panic!("{text}: {why}"));
            let found = (
                read.protocol.map(Protocol::name),
                read.host.as_deref(),
                read.port,
            );
            assert_eq!(found, (protocol, host, port), "{text}");
        }
        for (text, path) in [
            ("http://h:1", None),
            ("http://h:1/", None),
            ("http://h:1/admin", Some("/admin")),
            ("https://h/a b/ä?x=1#top", Some("/a%20b/%C3%A4?x=1#top")),
            ("http://h//evil.example/", Some("/evil.example/")),
            ("h:1?x", Some("/?x")),
            ("localhost:3000/admin/", Some("/admin/")),
            ("ssh://h/x", None),
        ] {
            let read = parse(text).unwrap_or_else(|why| panic!("{text}: {why}"));
            assert_eq!(read.path.as_deref(), path, "{text}");
        }
        let read = parse("mysql://u:p%40@db:3307/shop").unwrap();
        assert_eq!((read.host.as_deref(), read.port), (Some("db"), Some(3307)));
        assert_eq!(read.password.unwrap().as_str(), "p@");
        assert_eq!(
            (read.user.as_deref(), read.database.as_deref()),
            (Some("u"), Some("shop"))
        );
    }

    #[test]
    fn a_mistyped_port_is_none() {
        let is = |text: &str| is_like_a_port(&parse(text).unwrap().host.unwrap_or_default());
        for (text, expected) in [
            ("473o1", true),
            ("8o80/x", true),
            ("8080", false),
            ("db1", false),
            ("3com.example", false),
            ("1-box", false),
        ] {
            assert_eq!(is(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_none_says_what_to_give_and_no_password() {
        for (text, word) in [
            ("", "give PORT"),
            ("0", "1 to 65535"),
            ("70000", "1 to 65535"),
            ("db:", "1 to 65535"),
            ("db:x", "1 to 65535"),
            ("[::1]x", "give PORT"),
            (":80", "give PORT"),
            ("::1", "brackets: [::1]"),
            ("/run/x.sock", "give PORT"),
            ("gopher://x", "none of http, https"),
            ("http://", "give PORT"),
            ("http://u:secret@h:1/", "remove them"),
            ("me:secret@h", "remove me@"),
            ("mysql://u:secret@h:x", "port"),
        ] {
            let why = parse(text)
                .err()
                .unwrap_or_else(|| panic!("{text} is taken"));
            assert!(
                why.contains(word) && !why.contains("secret"),
                "{text}: {why}"
            );
        }
    }
}
