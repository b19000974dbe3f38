//! Debian's Caddy in front, with the file of `tests/deploy` and an authority of its own: certificates by themselves.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use postern::tunnel::client::Tunnel;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::json;
use support::front::Front;
use support::gateway::{Client, application, read_request};
use support::kill_on_drop::KillOnDrop;
use support::postern::{Home, binary};
use support::relay::{PASSWORD, Relay, body, with};
use support::{TIMEOUT, free_port, holds_within, wait_until};

type Visitor = Client<StreamOwned<ClientConnection, TcpStream>>;

/// A relay that is reached through Caddy alone.
struct Behind {
    relay: Relay,
    caddy: Front,
    port: u16,
    tls: Arc<ClientConfig>,
}

impl Behind {
    fn start() -> Behind {
        let port = free_port();
        let relay = Relay::start(&[
            "--domain=relay.test",
            &format!("--public-url=https://relay.test:{port}"),
            "--trust-proxy=127.0.0.1",
        ]);
        let caddy = Front::caddy_with_tls(relay.address, port);
        Behind::at(relay, caddy, port)
    }

    /// Without a domain.
    fn start_on_localhost() -> Behind {
        let port = free_port();
        let relay = Relay::start(&[
            &format!("--public-url=https://localhost:{port}"),
            "--trust-proxy=127.0.0.1",
        ]);
        let caddy = Front::caddy_of_localhost(relay.address, port);
        Behind::at(relay, caddy, port)
    }

    fn at(relay: Relay, caddy: Front, port: u16) -> Behind {
        let root = root_of(&caddy);
        assert!(caddy.address.ip().is_loopback());
        wait_until(TIMEOUT, "Caddy's authority, in its own directory", || {
            root.exists()
        });
        let mut roots = RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_file(root).unwrap())
            .unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Behind {
            relay,
            caddy,
            port,
            tls: Arc::new(tls),
        }
    }

    /// Somebody who has come to `name` by https, the certificate being checked; an error where there is none.
    fn visitor(&self, name: &str) -> Result<Visitor, String> {
        let socket = TcpStream::connect(self.caddy.address).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.set_read_timeout(Some(TIMEOUT)).unwrap();
        let server = ServerName::try_from(name.to_owned()).unwrap();
        let tls = ClientConnection::new(Arc::clone(&self.tls), server).unwrap();
        let mut stream = StreamOwned::new(tls, socket);
        while stream.conn.is_handshaking() {
            let done = stream.conn.complete_io(&mut stream.sock);
            done.map_err(|error| error.to_string())?;
        }
        Ok(Client::on(stream))
    }

    fn request(&self, method: &str, name: &str, path: &str, lines: &str) -> String {
        let host = format!("{name}:{}", self.port);
        format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n{lines}\r\n")
    }

    fn get(&self, name: &str, path: &str) -> Result<(u16, String), String> {
        let mut visitor = self.visitor(name)?;
        visitor.send(self.request("GET", name, path, "").as_bytes());
        let answer = visitor.answer(false).ok_or("no answer")?;
        Ok((answer.status, answer.text()))
    }

    /// Assigns a site of this name, whose application listens on `port`: what its tunnel names.
    fn assign(&self, name: &str, port: u16) -> String {
        let changes = json!({"site_name": name, "enroll_token": self.relay.enrol_token()});
        let assigned = self
            .relay
            .assign(&with(body("one", name, "http", port), changes));
        let number = &assigned["app"]["resource"]["port"];
        format!("R:127.0.0.1:{number}:127.0.0.1:{port}")
    }

    fn connect(&self, remote: &str) -> Tunnel {
        let tunnel = self.relay.tunnel("one", PASSWORD, &[remote]);
        assert!(tunnel.wait(TIMEOUT), "{:?}", tunnel.snapshot());
        tunnel
    }

    /// The names that Caddy has certificates for.
    fn certified(&self) -> Vec<String> {
        let dir = self.caddy.dir().join("caddy/certificates/local");
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        let mut names: Vec<_> = entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort_unstable();
        names
    }
}

/// The certificate of its authority.
fn root_of(caddy: &Front) -> PathBuf {
    caddy.dir().join("caddy/pki/authorities/local/root.crt")
}

/// Sends back what each request was.
fn mirror() -> u16 {
    application(|mut stream| {
        let mut rest = Vec::new();
        while let Some(request) = read_request(&mut stream, &mut rest) {
            let length = request.len();
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n"
            );
            let _ = stream.write_all(&request);
        }
    })
}

#[test]
fn a_new_site_opens_by_https_without_a_wildcard() {
    let behind = Behind::start();
    let (status, text) = behind.get("relay.test", "/health").unwrap();
    assert!(status == 200 && text.contains("OK"), "{text}");
    for number in 1..=3 {
        let name = format!("shop-{number}.relay.test");
        let remote = behind.assign(&format!("shop-{number}"), mirror());
        assert!(behind.get(&name, "/").is_err(), "it was never connected");
        let began = Instant::now();
        let _tunnel = behind.connect(&remote);
        let mut last = None;
        let is_open = holds_within(TIMEOUT, || {
            last = Some(behind.get(&name, "/"));
            matches!(last, Some(Ok((200, _))))
        });
        println!(
            "a new site opened by https {:?} after its connect began",
            began.elapsed()
        );
        assert!(is_open, "{last:?}");
    }
    let names = [
        "relay.test",
        "shop-1.relay.test",
        "shop-2.relay.test",
        "shop-3.relay.test",
    ];
    assert_eq!(behind.certified(), names);
}

/// As the documentation has it: with the token that the relay has printed, and the authority named in the environment.
#[test]
fn without_a_domain_a_site_below_localhost_opens_by_https() {
    let behind = Behind::start_on_localhost();
    let (home, target) = (Home::new(), mirror());
    let server = format!("https://localhost:{}", behind.port);
    let mut share = KillOnDrop::new(binary()).args(["http", &target.to_string(), "--no-open"]);
    share = share.args([
        "--server",
        &server,
        "--enroll-token",
        &behind.relay.first_token(),
    ]);
    for (name, value) in home.environment() {
        share = share.env(name, value);
    }
    let share = share.env("SSL_CERT_FILE", root_of(&behind.caddy)).start();
    let link = format!("https://http-{target}.localhost:{}/", behind.port);
    wait_until(TIMEOUT, "the site's link", || {
        share.stdout.text().contains(&link)
    });
    let name = format!("http-{target}.localhost");
    assert_eq!(behind.get(&name, "/").unwrap().0, 200);
    assert!(behind.get("other.localhost", "/").is_err());
    assert_eq!(behind.certified(), [name, "localhost".to_owned()]);
}

#[test]
fn names_that_do_not_exist_get_no_certificate() {
    let behind = Behind::start();
    let _tunnel = behind.connect(&behind.assign("shop", mirror()));
    assert_eq!(behind.get("shop.relay.test", "/").unwrap().0, 200);
    for name in [
        "other.relay.test",
        "a.shop.relay.test",
        "www.relay.test",
        "evil.test",
        "shop.relay.test.evil.test",
        "localhost",
    ] {
        let error = behind.get(name, "/").unwrap_err();
        assert!(
            error.contains("alert") || error.contains("eof"),
            "{name}: {error}"
        );
    }
    assert_eq!(behind.certified(), ["shop.relay.test"]);
    // A request through Caddy counts as a visitor's, because Caddy names the visitor.
    let asked = behind.get(
        "relay.test",
        "/api/public/tls-allowed?domain=shop.relay.test",
    );
    assert_eq!(asked.unwrap().0, 403);
}

#[test]
fn applications_are_told_of_visitors_what_is_so() {
    let behind = Behind::start();
    let _tunnel = behind.connect(&behind.assign("shop", mirror()));
    let name = "shop.relay.test";
    let claims = "X-Forwarded-For: 192.0.2.9\r\nX-Forwarded-Host: evil.example\r\nX-Forwarded-Port: 1337\r\n\
        X-Forwarded-Proto: gopher\r\nForwarded: for=192.0.2.9;host=evil.example\r\nX-Real-IP: 192.0.2.9\r\n";
    let mut visitor = behind.visitor(name).unwrap();
    visitor.send(behind.request("GET", name, "/", claims).as_bytes());
    let answer = visitor.answer(false).unwrap();
    let (seen, port) = (answer.text(), behind.port);
    for line in [
        format!("Host: {name}:{port}"),
        "X-Forwarded-For: 127.0.0.1, 127.0.0.1".to_owned(),
        "X-Forwarded-Proto: https".to_owned(),
        format!("X-Forwarded-Host: {name}:{port}"),
        format!("X-Forwarded-Port: {port}"),
    ] {
        assert!(
            seen.contains(&format!("\r\n{line}\r\n")),
            "no '{line}': {seen}"
        );
    }
    for claim in ["192.0.2.9", "evil.example", "1337", "gopher"] {
        assert!(!seen.contains(claim), "{claim} is believed: {seen}");
    }
    let lasting = answer.header("strict-transport-security");
    assert!(lasting.is_some_and(|value| value.starts_with("max-age=")));
}

#[test]
fn large_bodies_pass_both_ways_unchanged() {
    let behind = Behind::start();
    let _tunnel = behind.connect(&behind.assign("shop", mirror()));
    let name = "shop.relay.test";
    let chunked = "Transfer-Encoding: chunked\r\n".to_owned();
    // The application reads chunks slowly.
    for (size, framing) in [
        (20_000_000, "Content-Length: 20000000\r\n".to_owned()),
        (200_000, chunked),
    ] {
        let body: Vec<u8> = (0..size).map(|at: usize| (at * 31 % 251) as u8).collect();
        let mut visitor = behind.visitor(name).unwrap();
        visitor.send(behind.request("POST", name, "/", &framing).as_bytes());
        if framing.starts_with('C') {
            visitor.send(&body);
        } else {
            for piece in body.chunks(10_000) {
                visitor.send(format!("{:x}\r\n", piece.len()).as_bytes());
                visitor.send(piece);
                visitor.send(b"\r\n");
            }
            visitor.send(b"0\r\n\r\n");
        }
        let answer = visitor.answer(false).unwrap();
        assert_eq!(answer.status, 200);
        assert!(answer.whole && answer.body.len() > size);
        if framing.starts_with('C') {
            assert!(answer.body.ends_with(&body), "other bytes came back");
        }
    }
}

/// An application that upgrades, and one whose events come when the visitor has seen those before.
#[test]
fn websockets_and_event_streams_pass_as_they_come() {
    let behind = Behind::start();
    let (go_on, next) = crossbeam_channel::unbounded::<()>();
    let port = application(move |mut stream| {
        let Some(request) = read_request(&mut stream, &mut Vec::new()) else {
            return;
        };
        let request = String::from_utf8_lossy(&request).into_owned();
        if request.starts_with("GET /events") {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
            let _ = stream.write_all(head.as_bytes());
            for number in 0..5 {
                let event = format!("data: {number}\n\n");
                let _ = stream.write_all(event.as_bytes());
                let _ = next.recv_timeout(TIMEOUT);
            }
            return;
        }
        let upgrade = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
            Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
        let _ = stream.write_all(upgrade.as_bytes());
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            if stream.write_all(&buffer[..count]).is_err() {
                return;
            }
        }
    });
    let _tunnel = behind.connect(&behind.assign("shop", port));
    let name = "shop.relay.test";
    let mut visitor = behind.visitor(name).unwrap();
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    visitor.send(behind.request("GET", name, "/ws", upgrade).as_bytes());
    assert_eq!(visitor.answer(false).unwrap().status, 101);
    for text in ["ping", "pong"] {
        let frame = [&[0x81, 4], text.as_bytes()].concat();
        visitor.send(&frame);
        let mut echoed = [0; 6];
        visitor.socket.read_exact(&mut echoed).unwrap();
        assert_eq!(echoed[..], frame[..]);
    }
    let mut visitor = behind.visitor(name).unwrap();
    visitor.send(behind.request("GET", name, "/events", "").as_bytes());
    let mut seen = String::new();
    for number in 0..5 {
        let event = format!("data: {number}\n\n");
        while !seen.contains(&event) {
            let mut piece = [0; 4096];
            let count = visitor.socket.read(&mut piece).unwrap();
            assert!(count > 0, "it ended after {seen}");
            seen += &String::from_utf8_lossy(&piece[..count]);
        }
        go_on.send(()).unwrap();
    }
}
