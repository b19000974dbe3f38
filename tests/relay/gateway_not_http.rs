//! Sites that lead to something that speaks no HTTP: the visitor is told at once, and what it speaks.

use std::io::{Read, Write};

use support::gateway::{Relay, application};

/// Nothing here waits for the 300 s that an application has: the visitor's own patience is 20 s.
fn told(relay: &Relay, port: u16) -> String {
    let _shared = relay.share("shop", port);
    let answer = relay.get("shop", "/");
    assert_eq!(answer.status, 502);
    answer.text()
}

/// Some speak first, others when they are asked; all of them keep the connection.
#[test]
fn what_is_not_http_is_named_at_once() {
    let relay = Relay::start();
    for (first, named) in [
        (
            &b"SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n"[..],
            "it speaks SSH",
        ),
        (b"RFB 003.008\n", "it speaks VNC"),
        (b"\xff\xfd\x18\xff\xfd\x20", "it speaks Telnet"),
        (b"220 mail.example ESMTP\r\n", "it speaks SMTP or FTP"),
        (b"\x15\x03\x01\x00\x02\x02\x46", "it speaks TLS"),
        (b"HTPP/1.1 200 OK\r\n", "it is not HTTP"),
        (b"S", "it is not HTTP"),
    ] {
        for speaks_first in [true, false] {
            let port = application(move |mut stream| {
                if !speaks_first {
                    let _ = stream.read(&mut [0; 4096]);
                }
                let _ = stream.write_all(first);
                let _ = stream.read_to_end(&mut Vec::new());
            });
            let text = told(&relay, port);
            assert!(text.contains(named), "{named}: {text}");
        }
    }
}

/// A real database under a site's name.
#[test]
fn a_database_is_named_too() {
    let relay = Relay::start();
    let text = told(&relay, support::Database::shared().port());
    assert!(text.contains("it speaks MySQL&#39;s protocol"), "{text}");
}

/// An answer may come byte by byte, and after an empty line.
#[test]
fn a_slow_answer_is_one() {
    let relay = Relay::start();
    let port = application(|mut stream| {
        let _ = stream.read(&mut [0; 4096]);
        for byte in b"\r\nHTTP/1.1 103 E\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" {
            let _ = stream.write_all(&[*byte]);
            std::thread::yield_now();
        }
    });
    let _shared = relay.share("shop", port);
    let mut client = relay.connect();
    client.send(relay.request("GET", "shop", "/", "").as_bytes());
    assert_eq!(client.answer(false).unwrap().status, 103);
    assert_eq!(client.answer(false).unwrap().text(), "ok");
}
