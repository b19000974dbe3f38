use super::*;
use crate::http::Limits;

const KEY_TEXT: &str = "dGhlIHNhbXBsZSBub25jZQ==";
/// The example of RFC 6455 §1.3.
const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
const GOOD: &str = "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n";

#[test]
fn the_example_of_the_rfc_comes_out() {
    assert_eq!(derive_accept_key(KEY_TEXT.as_bytes()), ACCEPT);
    let key = generate_key();
    assert_eq!(super::key(key.as_bytes()), Some(key));
}

fn judged(head: &str) -> Result<UpgradeAnswer, String> {
    let head = format!("{head}\r\n");
    check_answer(head.as_bytes(), KEY_TEXT).map_err(|error| error.to_string())
}

#[test]
fn good_answers_upgrade() {
    let variants = [
        GOOD.to_owned(),
        format!("{GOOD}Sec-WebSocket-Protocol: chisel-v3\r\n"),
        format!("{GOOD}Server: x\r\nDate: y\r\n"),
        GOOD.replace("websocket", "WebSocket"),
        GOOD.replace("n: Upgrade", "n: keep-alive, upgrade"),
        GOOD.replace("Upgrade: ", "upgrade:"),
        GOOD.replace("101 X", "101 "),
    ];
    for head in variants {
        assert_eq!(judged(&head), Ok(UpgradeAnswer::Upgraded), "{head}");
    }
    for head in [
        "HTTP/1.1 100 Continue\r\n",
        "HTTP/1.1 103 Early Hints\r\nLink: x\r\n",
    ] {
        assert_eq!(judged(head), Ok(UpgradeAnswer::Interim), "{head}");
    }
}

#[test]
fn bad_upgrades_say_why() {
    let table = [
        (GOOD.replace("HTTP/1.1", "HTTP/1.0"), "HTTP version"),
        (GOOD.replace("websocket", "h2c"), "something else"),
        (GOOD.replace("Upgrade: websocket\r\n", ""), "something else"),
        (format!("{GOOD}Upgrade: h2c\r\n"), "something else"),
        (GOOD.replace("n: Upgrade", "n: close"), "Connection"),
        (GOOD.replace("Connection: Upgrade\r\n", ""), "Connection"),
        (GOOD.replace("s3p", "S3p"), "Sec-WebSocket-Accept"),
        (
            GOOD.replace("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", ""),
            "Sec-WebSocket-Accept",
        ),
        (
            format!("{GOOD}Sec-WebSocket-Accept: {ACCEPT}\r\n"),
            "Sec-WebSocket-Accept",
        ),
        (
            format!("{GOOD}Sec-WebSocket-Extensions: permessage-deflate\r\n"),
            "extension",
        ),
        (
            format!("{GOOD}Sec-WebSocket-Protocol: chisel-v2\r\n"),
            "subprotocol",
        ),
        (
            format!("{GOOD}Sec-WebSocket-Protocol: Chisel-v3\r\n"),
            "subprotocol",
        ),
        (
            format!(
                "{GOOD}Sec-WebSocket-Protocol: chisel-v3\r\nSec-WebSocket-Protocol: chisel-v3\r\n"
            ),
            "subprotocol",
        ),
        ("SSH-2.0-OpenSSH_9.2\r\n".to_owned(), "not HTTP"),
        ("HTTP/2 101 X\r\n".to_owned(), "not HTTP"),
        ("HTTP/1.1 1o1 X\r\n".to_owned(), "not HTTP"),
        (format!("{GOOD}no colon\r\n"), "not HTTP"),
    ];
    for (head, reason) in table {
        let error = judged(&head).unwrap_err();
        assert!(error.contains(reason), "{head}: {error}");
    }
}

#[test]
fn other_answers_name_their_status() {
    for status in [
        200, 204, 301, 302, 400, 401, 403, 404, 407, 426, 429, 500, 502, 503, 504,
    ] {
        let head = format!("HTTP/1.1 {status} Some Reason\r\nLocation: https://e\r\n\r\n");
        match check_answer(head.as_bytes(), KEY_TEXT) {
            Err(DialError::NotATunnelServer {
                status: found,
                reason,
                location,
            }) => {
                assert_eq!((found, reason.as_str()), (status, "Some Reason"));
                assert_eq!(location.as_deref(), Some("https://e"));
            }
            other => panic!("{status}: {other:?}"),
        }
    }
    let error = judged("HTTP/1.1 502 Bad Gateway\r\n").unwrap_err();
    assert_eq!(error, "not a tunnel server: it answered 502 Bad Gateway");
}

fn decided(head: &str) -> UpgradeReply {
    reply_to(&Head::parse(head.as_bytes(), Limits::default().headers).unwrap())
}

fn status(head: &str) -> u16 {
    match decided(head) {
        UpgradeReply::Upgrade(_) => 101,
        UpgradeReply::Answer(status, text) => {
            let line = format!("HTTP/1.1 {status} ");
            assert!(
                text.starts_with(&line) && text.contains("Connection: close\r\n"),
                "{text}"
            );
            status
        }
    }
}

const ASKED: &str = "GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\
    Sec-WebSocket-Protocol: chisel-v3\r\n\r\n";

#[test]
fn our_own_request_is_accepted_and_its_answer_too() {
    let headers = [Header::parse("X-A: b c").unwrap()];
    let target = Endpoint::parse("ws://[::1]:8080/a?b").unwrap();
    let bytes = request(&target, &headers, KEY_TEXT);
    let head = Head::parse(&bytes, Limits::default().headers).unwrap();
    assert_eq!(head.target, "/a?b");
    assert_eq!(
        head.headers.only("host"),
        Ok(Some(b"[::1]:8080".as_slice()))
    );
    assert_eq!(head.headers.only("x-a"), Ok(Some(b"b c".as_slice())));
    let UpgradeReply::Upgrade(answer) = reply_to(&head) else {
        panic!("{head:?}");
    };
    assert!(
        !answer.contains("Sec-WebSocket-Protocol"),
        "a chisel server does not echo it"
    );
    assert_eq!(
        check_answer(answer.as_bytes(), KEY_TEXT).unwrap(),
        UpgradeAnswer::Upgraded
    );
}

#[test]
fn requests_are_decided() {
    assert_eq!(status(ASKED), 101);
    let changed = |from: &str, to: &str| ASKED.replacen(from, to, 1);
    let table = [
        (changed("GET / ", "GET /under/a/path?x "), 101),
        (changed(": websocket", ": WebSocket"), 101),
        (changed("n: Upgrade", "n: keep-alive, Upgrade"), 101),
        (changed("GET ", "POST "), 404),
        (changed("chisel-v3", "chisel-v2"), 404),
        (changed("chisel-v3", "chisel-v3, x"), 404),
        (changed("chisel-v3", "CHISEL-V3"), 404),
        (changed("Sec-WebSocket-Protocol: chisel-v3\r\n", ""), 404),
        (changed("Upgrade: websocket\r\n", ""), 404),
        (changed(": websocket", ": h2c"), 404),
        (changed(": 13", ": 8"), 426),
        (changed("Sec-WebSocket-Version: 13\r\n", ""), 426),
        (changed("HTTP/1.1", "HTTP/1.0"), 400),
        (changed("n: Upgrade", "n: close"), 400),
        (changed("Host: h\r\n", ""), 400),
        (changed("dGhl", "dGh"), 400),
        (changed("dGhlIHNhbXBsZSBub25jZQ==", "AAAA"), 400),
        (
            changed("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", ""),
            400,
        ),
        (changed("Host: h", "Host: h\r\nContent-Length: 5"), 400),
        ("GET /health HTTP/1.1\r\nHost: h\r\n\r\n".to_owned(), 200),
        ("GET /health?x HTTP/1.0\r\n\r\n".to_owned(), 200),
        ("HEAD /version HTTP/1.1\r\nHost: h\r\n\r\n".to_owned(), 200),
        ("GET / HTTP/1.1\r\nHost: h\r\n\r\n".to_owned(), 404),
        ("POST /health HTTP/1.1\r\nHost: h\r\n\r\n".to_owned(), 404),
        ("GET /healthy HTTP/1.1\r\nHost: h\r\n\r\n".to_owned(), 404),
    ];
    for (head, expected) in table {
        assert_eq!(status(&head), expected, "{head}");
    }
}

#[test]
fn health_and_version_have_their_texts() {
    let body = |head: &str| match decided(head) {
        UpgradeReply::Answer(200, text) => text.split_once("\r\n\r\n").unwrap().1.to_owned(),
        other => panic!("{other:?}"),
    };
    assert_eq!(body("GET /health HTTP/1.1\r\nHost: h\r\n\r\n"), "OK\n");
    assert_eq!(
        body("GET /version HTTP/1.1\r\nHost: h\r\n\r\n"),
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(body("HEAD /health HTTP/1.1\r\nHost: h\r\n\r\n"), "");
}

#[test]
fn headers_of_the_caller_are_checked_and_not_shown() {
    let header = Header::parse("Authorization:  Bearer secret ").unwrap();
    assert_eq!(format!("{header:?}"), "Authorization: ***");
    for line in [
        "",
        "x",
        ": y",
        "a b: c",
        "a:b\r\nc: d",
        "a: \u{e4}",
        "a: \0",
        "Upgrade: x",
        "connection: x",
        "Sec-WebSocket-Key: x",
        "SEC-WEBSOCKET-PROTOCOL: x",
        "Content-Length: 1",
        "Transfer-Encoding: chunked",
        "Expect: 100-continue",
    ] {
        assert!(Header::parse(line).is_err(), "{line:?}");
    }
    let error = Header::parse("X-Token: secret\r\n\r\nGET").unwrap_err();
    assert!(!error.contains("secret"), "{error}");
}

#[test]
fn a_host_of_the_caller_takes_the_place_of_ours() {
    let target = Endpoint::parse("wss://1.2.3.4").unwrap();
    let text = |headers: &[Header]| {
        String::from_utf8(request(&target, headers, KEY_TEXT).to_vec()).unwrap()
    };
    assert!(text(&[]).contains("\r\nHost: 1.2.3.4\r\n"));
    let other = text(&[Header::parse("host: other").unwrap()]);
    assert!(other.contains("\r\nhost: other\r\n") && !other.contains("1.2.3.4"));
}
