//! A request as the application gets it: the head written afresh, line by line.

use super::forwarding_lines;
use super::host_header::{Naming, ServerKind};
use crate::gateway::cookies;
use crate::gateway::request_head::{end, head_of_local_visitor, is_ours};
use crate::http::h1::head::Head;
use crate::http::h1::hop_by_hop::{end_to_end, write_line};

/// Lines of a request that browsers send for a page, as far as answers depend on them.
const BROWSER: &str = concat!(
    "User-Agent: postern/",
    env!("CARGO_PKG_VERSION"),
    "\r\nAccept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n"
);
/// Lines of a head that is written here.
const MAX_LINES: usize = 32;

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
        } else if asked.scheme.is_some() && forwarding_lines::names_host(name) {
            continue;
        } else if let Some(scheme) = asked.scheme.filter(|_| is("forwarded")) {
            if let Some(value) = forwarding_lines::rewritten(value, asked.host, scheme) {
                write_line(&mut out, name, &value);
            }
        } else if let Some(value) = naming.to_target(name, value) {
            write_line(&mut out, name, &value);
        } else {
            write_line(&mut out, name, value);
        }
    }
    if let Some(scheme) = asked.scheme {
        forwarding_lines::write(asked.host, scheme, &mut out);
    }
    end(head, &mut out);
    out
}

/// The head of a `HEAD /` of a visitor on this machine, as the application gets it: a browser's lines, those that our
/// relay adds, and the changes made here.
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
        // Nothing is known that could be said.
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

    /// It has the relay's lines, and one name in all of them.
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
}
