//! A request as the application gets it: the head written afresh, line by line.

use super::host_header::Naming;
use crate::http::h1::head::Head;
use crate::http::h1::hop_by_hop::{end_to_end, write_line};
use crate::relay::gateway::{cookies, end_head, is_ours};

/// The head for the application, under the name that it is asked by and without a cookie of ours. What a server in front
/// says of the visitor passes.
pub(super) fn head(head: &Head, naming: &Naming) -> Vec<u8> {
    let mut out = Vec::with_capacity(1024);
    for part in [&head.method, " ", &head.target, " HTTP/1.1\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
    let sent = head.headers.all("host").next();
    let host = naming.host.as_deref().map(str::as_bytes).or(sent);
    // HTTP/1.0 knows no Host; HTTP/1.1, which is spoken from here on, asks for one.
    write_line(
        &mut out,
        "Host",
        host.unwrap_or(naming.own_host().as_bytes()),
    );
    for (name, value) in end_to_end(&head.headers) {
        let is = |wanted: &str| name.eq_ignore_ascii_case(wanted);
        if is("host") || is_ours(name) {
            continue;
        } else if is("cookie") {
            if let Some(left) = cookies::without(value, &cookies::OURS) {
                write_line(&mut out, name, &left);
            }
        } else if let Some(value) = naming.to_target(name, value) {
            write_line(&mut out, name, &value);
        } else {
            write_line(&mut out, name, value);
        }
    }
    end_head(head, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_without_a_host_is_given_the_applications() {
        let sent = Head::parse(b"GET / HTTP/1.0\r\n\r\n", 100).unwrap();
        let naming = Naming::new("visitor", ("10.0.0.5", 3000), false, "");
        assert_eq!(
            head(&sent, &naming),
            b"GET / HTTP/1.1\r\nHost: 10.0.0.5:3000\r\n\r\n"
        );
    }

    #[test]
    fn the_application_is_asked_by_its_name_and_told_what_the_server_says() {
        let sent = "GET /a?b HTTP/1.1\r\nHost: shop.relay.example\r\nX-Forwarded-For: 192.0.2.1\r\n\
            Cookie: a=1; postern-visitor=x\r\nConnection: keep-alive, X-Mine\r\nX-Mine: 1\r\nX-Postern-Link: 7\r\n\
            Origin: http://shop.relay.example\r\nReferer: http://shop.relay.example/p?q\r\n\r\n";
        let sent = Head::parse(sent.as_bytes(), 100).unwrap();
        let written = |host_header: &str| {
            let target = ("10.0.0.5", 3000);
            let naming = Naming::new(host_header, target, false, "http://shop.relay.example/");
            String::from_utf8(head(&sent, &naming)).unwrap()
        };
        let expected = "GET /a?b HTTP/1.1\r\nHost: 10.0.0.5:3000\r\nX-Forwarded-For: 192.0.2.1\r\n\
            Cookie: a=1\r\nOrigin: http://10.0.0.5:3000\r\nReferer: http://10.0.0.5:3000/p?q\r\n\r\n";
        assert_eq!(written("target"), expected);
        let visitors = written("visitor");
        assert!(
            visitors.contains("Host: shop.relay.example\r\n"),
            "{visitors}"
        );
        assert!(
            visitors.contains("Origin: http://shop.relay.example\r\n"),
            "{visitors}"
        );
    }
}
