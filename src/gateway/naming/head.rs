//! Head of a request as a connector's application gets it: written afresh, line by line.

use super::host_header::{Naming, ServerKind, default_port};
use crate::gateway::cookies;
use crate::gateway::request_head::{end, head_of_local_visitor, is, is_ours};
use crate::http::h1::head::Head;
use crate::http::h1::hop_by_hop::{end_to_end, write_line};
use crate::net::authority;

/// Lines of a request that browsers send for a page, as far as answers depend on them.
const BROWSER: &str = concat!(
    "User-Agent: postern/",
    env!("CARGO_PKG_VERSION"),
    "\r\nAccept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n"
);
/// Lines of a head that is written here.
const MAX_LINES: usize = 32;
/// Lines that applications would believe instead of those written here: Rack takes `X-Forwarded-Ssl` first, plugins of
/// WordPress `Cf-Visitor`. None with a visitor's address or a path is among them.
const NAMES: [&str; 21] = [
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-forwarded-port",
    "x-forwarded-server",
    "x-forwarded-ssl",
    "x-forwarded-scheme",
    "x-forwarded-protocol",
    "x-forwarded-https",
    "x-scheme",
    "x-url-scheme",
    "x-client-scheme",
    "x-proto",
    "x-https",
    "front-end-https",
    "x-arr-ssl",
    "cf-visitor",
    "cloudfront-forwarded-proto",
    "x-host",
    "x-original-host",
    "x-http-host-override",
    "forwarded-host",
];

/// The head for the application, under the name that it is asked by and without a cookie of ours. The visitor's address
/// passes as a server in front says it.
pub(in crate::gateway) fn head(head: &Head, naming: &Naming) -> Vec<u8> {
    let mut out = Vec::with_capacity(1024);
    for part in [&head.method, " ", &head.target, " HTTP/1.1\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
    let asked = naming.asked_by(&head.headers);
    write_line(&mut out, "Host", asked.host);
    for (name, value) in end_to_end(&head.headers) {
        let is = |wanted: &str| name.eq_ignore_ascii_case(wanted);
        if is("host") || is_ours(name) {
            continue;
        } else if is("cookie") {
            if let Some(left) = cookies::without(value, &cookies::OURS) {
                write_line(&mut out, name, &left);
            }
        } else if asked.scheme.is_some() && names_host(name) {
            continue;
        } else if let Some(scheme) = asked.scheme.filter(|_| is("forwarded")) {
            if let Some(value) = rewritten_forwarded(value, asked.host, scheme) {
                write_line(&mut out, name, &value);
            }
        } else if let Some(value) = naming.to_target(name, value) {
            write_line(&mut out, name, &value);
        } else {
            write_line(&mut out, name, value);
        }
    }
    if let Some(scheme) = asked.scheme {
        write_forwarding_lines(asked.host, scheme, &mut out);
    }
    end(head, &mut out);
    out
}

/// Returns the head of a `HEAD /` of a visitor on this machine, as the application gets it: a browser's lines, the
/// lines that our relay adds, and the changes made here.
pub(crate) fn head_of_visitor(naming: &Naming) -> Vec<u8> {
    let host = naming.site_host().unwrap_or(naming.own_host());
    let sent = format!("HEAD / HTTP/1.1\r\nHost: {host}\r\n{BROWSER}\r\n");
    let mut sent = parsed(sent.as_bytes());
    if naming.server == ServerKind::Ours && naming.site_host().is_some() {
        let is_secure = naming.site.starts_with("https:");
        sent = parsed(&head_of_local_visitor(&sent, host, is_secure));
    }
    head(&sent, naming)
}

fn parsed(head: &[u8]) -> Head {
    Head::parse(head, MAX_LINES).expect("it is written here, around a host that was checked")
}

/// True if a line of this name says by which name, port or scheme the visitor came.
fn names_host(name: &str) -> bool {
    NAMES.iter().any(|wanted| is(name, wanted))
}

/// Adds the lines that name host and scheme, in a relay's order.
fn write_forwarding_lines(host: &[u8], scheme: &str, out: &mut Vec<u8>) {
    write_line(out, "X-Forwarded-Proto", scheme.as_bytes());
    write_line(out, "X-Forwarded-Host", host);
    let named = std::str::from_utf8(host).ok().and_then(authority::split);
    let port = named.and_then(|(_, port)| authority::port(port?));
    if let Some(port) = port.or(default_port(scheme)) {
        write_line(out, "X-Forwarded-Port", port.to_string().as_bytes());
    }
}

/// A `Forwarded` line (RFC 7239) with this host and scheme wherever it has others; none where a quote does not end.
fn rewritten_forwarded(value: &[u8], host: &[u8], scheme: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(value.len() + host.len());
    for (at, element) in split(value, b',')?.into_iter().enumerate() {
        out.extend_from_slice(if at == 0 { b"" } else { b", " });
        for (at, pair) in split(element, b';')?.into_iter().enumerate() {
            out.extend_from_slice(if at == 0 { b"" } else { b";" });
            let name = pair.split(|byte| *byte == b'=').next().unwrap_or_default();
            if name.eq_ignore_ascii_case(b"host") {
                out.extend_from_slice(&[b"host=\"", host, b"\""].concat());
            } else if name.eq_ignore_ascii_case(b"proto") {
                out.extend_from_slice(&[b"proto=", scheme.as_bytes()].concat());
            } else {
                out.extend_from_slice(pair);
            }
        }
    }
    Some(out)
}

/// The parts between separators outside quotes; none where a quote does not end.
fn split(value: &[u8], separator: u8) -> Option<Vec<&[u8]>> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let parts = value.split(|byte| {
        is_quoted ^= *byte == b'"' && !is_escaped;
        is_escaped = is_quoted && !is_escaped && *byte == b'\\';
        *byte == separator && !is_quoted
    });
    let parts = parts.map(<[u8]>::trim_ascii).collect();
    (!is_quoted).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_without_a_host_is_given_the_applications() {
        let sent = Head::parse(b"GET / HTTP/1.0\r\n\r\n", 100).unwrap();
        let naming = Naming::new("visitor", ("10.0.0.5", 3000), false, "", ServerKind::Ours);
        assert_eq!(
            head(&sent, &naming),
            b"GET / HTTP/1.1\r\nHost: 10.0.0.5:3000\r\n\r\n"
        );
    }

    /// Request of a visitor's browser to `https://shop.relay.example`, with the lines that a server in front adds.
    fn sent(server: ServerKind) -> Head {
        let browser = "POST /a?b HTTP/1.1\r\nHost: shop.relay.example\r\nCookie: a=1; postern-visitor=x\r\n\
            Connection: keep-alive, X-Mine\r\nX-Mine: 1\r\nX-Postern-Link: 7\r\nAccept: */*\r\n\
            Origin: https://shop.relay.example\r\nReferer: https://shop.relay.example/p?q\r\n";
        let added = match server {
            ServerKind::Ours => {
                "X-Real-IP: 192.0.2.1\r\nX-Forwarded-For: 192.0.2.1, 127.0.0.1\r\nX-Forwarded-Proto: https\r\n\
                 X-Forwarded-Host: shop.relay.example\r\nX-Forwarded-Port: 443\r\n\
                 Forwarded: for=192.0.2.1;host=\"shop.relay.example\";proto=https, for=127.0.0.1\r\n"
            }
            // Half of it is the visitor's own text.
            ServerKind::Foreign => {
                "X-Real-IP: 192.0.2.1\r\nX-Forwarded-For: 192.0.2.1, 127.0.0.1\r\nX_Forwarded_Proto: gopher\r\n\
                 X-Forwarded-Host: evil.example\r\nX-Forwarded-Port: 1337\r\nX-Forwarded-Server: evil.example\r\n\
                 X-Forwarded-Ssl: off\r\nX-Scheme: http\r\nFront-End-Https: off\r\nX-Original-Host: evil.example\r\n\
                 Forwarded: for=192.0.2.1;Host=\"evil.example\";by=\"a;b,c\";PROTO=gopher, for=127.0.0.1\r\n"
            }
        };
        Head::parse(format!("{browser}{added}\r\n").as_bytes(), 100).unwrap()
    }

    /// The table of [`super::super::host_header`]: mode and TLS, then name, port and scheme in all lines, and the name in
    /// TLS.
    #[test]
    fn the_application_hears_one_name_and_scheme_in_every_line() {
        let target = ("10.0.0.5", 3000);
        let site = "shop.relay.example";
        for (mode, is_tls, name, port, scheme, tls_name) in [
            ("visitor", false, site, "443", "https", None),
            ("visitor", true, site, "443", "https", None),
            (
                "target",
                false,
                "10.0.0.5:3000",
                "3000",
                "http",
                Some("10.0.0.5"),
            ),
            (
                "target",
                true,
                "10.0.0.5:3000",
                "3000",
                "https",
                Some("10.0.0.5"),
            ),
            (
                "wiki.lan",
                false,
                "wiki.lan",
                "80",
                "http",
                Some("wiki.lan"),
            ),
            (
                "wiki.lan",
                true,
                "wiki.lan",
                "443",
                "https",
                Some("wiki.lan"),
            ),
            (
                "wiki.lan:8080",
                false,
                "wiki.lan:8080",
                "8080",
                "http",
                Some("wiki.lan"),
            ),
            (
                "https://wiki.lan",
                false,
                "wiki.lan",
                "443",
                "https",
                Some("wiki.lan"),
            ),
            (
                "http://wiki.lan",
                true,
                "wiki.lan",
                "80",
                "http",
                Some("wiki.lan"),
            ),
        ] {
            for server in [ServerKind::Ours, ServerKind::Foreign] {
                let url = format!("https://{site}/");
                let naming = Naming::new(mode, target, is_tls, &url, server);
                let written = String::from_utf8(head(&sent(server), &naming)).unwrap();
                let mut lines: Vec<&str> = written.trim_end().split("\r\n").skip(1).collect();
                lines.sort_unstable();
                let by = match server {
                    ServerKind::Ours => "",
                    ServerKind::Foreign => ";by=\"a;b,c\"",
                };
                let forwarded = match server {
                    ServerKind::Ours => format!(
                        "Forwarded: for=192.0.2.1;host=\"{name}\";proto={scheme}, for=127.0.0.1"
                    ),
                    ServerKind::Foreign => {
                        format!(
                            "Forwarded: for=192.0.2.1;host=\"{name}\"{by};proto={scheme}, for=127.0.0.1"
                        )
                    }
                };
                let mut expected = [
                    "Accept: */*".to_owned(),
                    "Cookie: a=1".to_owned(),
                    forwarded,
                    format!("Host: {name}"),
                    format!("Origin: {scheme}://{name}"),
                    format!("Referer: {scheme}://{name}/p?q"),
                    "X-Forwarded-For: 192.0.2.1, 127.0.0.1".to_owned(),
                    format!("X-Forwarded-Host: {name}"),
                    format!("X-Forwarded-Port: {port}"),
                    format!("X-Forwarded-Proto: {scheme}"),
                    "X-Real-IP: 192.0.2.1".to_owned(),
                ];
                expected.sort_unstable();
                assert_eq!(lines, expected, "{mode} {is_tls} {server:?}");
                assert_eq!(naming.tls_name.as_deref(), tls_name, "{mode}");
                assert_eq!(naming.asked_tls_name(), Some(tls_name.unwrap_or(site)));
            }
        }
    }

    #[test]
    fn a_foreign_server_is_heard_about_the_scheme_and_a_site_that_it_renamed() {
        let written = |lines: &str, url: &str| {
            let text = format!("GET / HTTP/1.1\r\n{lines}\r\n");
            let sent = Head::parse(text.as_bytes(), 100).unwrap();
            let naming = Naming::new(
                "visitor",
                ("10.0.0.5", 3000),
                false,
                url,
                ServerKind::Foreign,
            );
            let head = String::from_utf8(head(&sent, &naming)).unwrap();
            head.split("\r\n").skip(1).collect::<Vec<_>>().join("|")
        };
        let url = "https://shop.example/";
        let shop = |proto: &str, port: &str| {
            format!(
                "Host: shop.example|X-Forwarded-Proto: {proto}|X-Forwarded-Host: shop.example|X-Forwarded-Port: {port}||"
            )
        };
        assert_eq!(written("Host: shop.example\r\n", url), shop("https", "443"));
        let proto = "Host: shop.example\r\nX-Forwarded-Proto: http, https\r\n";
        assert_eq!(written(proto, url), shop("http", "80"));
        assert_eq!(
            written("Host: shop.example\r\nX-Forwarded-Proto: wss\r\n", url),
            shop("https", "443")
        );
        let renamed = "Host: 127.0.0.1:9001\r\nX-Forwarded-Host: shop.example\r\n";
        assert_eq!(written(renamed, url), shop("https", "443"));
        // The scheme is unknown here.
        assert_eq!(
            written("Host: shop.example\r\n", ""),
            "Host: shop.example||"
        );
        let odd = "Host: shop.example\"\r\nX-Forwarded-Proto: http\r\n";
        assert_eq!(
            written(odd, url),
            "Host: shop.example\"|X-Forwarded-Proto: http||"
        );
    }

    /// The request has the relay's lines, with one name in all of them.
    #[test]
    fn the_question_about_health_is_a_visitors() {
        let asked = |mode: &str, server: ServerKind| {
            let site_url = "https://shop.relay.example/";
            let naming = Naming::new(mode, ("10.0.0.5", 3000), false, site_url, server);
            String::from_utf8(head_of_visitor(&naming)).unwrap()
        };
        for (mode, name, scheme, port) in [
            ("visitor", "shop.relay.example", "https", 443),
            ("target", "10.0.0.5:3000", "http", 3000),
            ("wiki.lan", "wiki.lan", "http", 80),
        ] {
            for server in [ServerKind::Ours, ServerKind::Foreign] {
                let head = asked(mode, server);
                assert!(
                    head.starts_with(&format!(
                        "HEAD / HTTP/1.1\r\nHost: {name}\r\nUser-Agent: postern/"
                    )),
                    "{head}"
                );
                for line in [
                    format!("X-Forwarded-Host: {name}"),
                    format!("X-Forwarded-Proto: {scheme}"),
                    format!("X-Forwarded-Port: {port}"),
                ] {
                    assert_eq!(
                        head.matches(&format!("\r\n{line}\r\n")).count(),
                        1,
                        "{line}: {head}"
                    );
                }
                assert_eq!(
                    head.contains("\r\nX-Real-IP: 127.0.0.1\r\n"),
                    server == ServerKind::Ours,
                    "{head}"
                );
                assert!(!head.contains("Connection"), "{head}");
            }
        }
    }

    #[test]
    fn a_forwarded_line_has_the_name_wherever_it_names_one() {
        let rewritten = |value: &str| {
            let value = rewritten_forwarded(value.as_bytes(), b"a:1", "http");
            value.map(|value| String::from_utf8(value).unwrap())
        };
        for (value, expected) in [
            ("for=1.1.1.1", Some("for=1.1.1.1")),
            (
                "Host=x;for=\"[::1]:5\"",
                Some("host=\"a:1\";for=\"[::1]:5\""),
            ),
            (
                "for=a ; proto=https,host=y",
                Some("for=a;proto=http, host=\"a:1\""),
            ),
            ("for=\"a\\\";host=b\"", Some("for=\"a\\\";host=b\"")),
            ("for=\"a;host=b", None),
            ("", Some("")),
        ] {
            assert_eq!(rewritten(value).as_deref(), expected, "{value}");
        }
    }
}
