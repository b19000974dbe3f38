//! Visitors who take nothing of what they are sent: what they have open ends with the terms that it was opened by.

use std::io::Write;
use std::net::TcpStream;

use postern::tunnel::client::Tunnel;
use serde_json::{Value, json};
use support::flood::{Flood, is_reset};
use support::relay::{PASSWORD, Relay, body, with};
use support::{TIMEOUT, wait_until};

fn tunnel(relay: &Relay, assigned: &Value, flood: &Flood) -> Tunnel {
    let port = &assigned["app"]["resource"]["port"];
    let remote = format!("R:127.0.0.1:{port}:127.0.0.1:{}", flood.port);
    let tunnel = relay.tunnel("one", PASSWORD, &[&remote]);
    assert!(tunnel.wait(TIMEOUT));
    tunnel
}

/// Sends a visitor's request, for a WebSocket with `lines`, and reads nothing.
fn asks(relay: &Relay, lines: &str) -> TcpStream {
    let mut visitor = TcpStream::connect(relay.address).unwrap();
    let host = format!("shop.localhost:{}", relay.address.port());
    write!(visitor, "GET /x HTTP/1.1\r\nHost: {host}\r\n{lines}\r\n").unwrap();
    visitor
}

const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

fn visitors(relay: &Relay) -> u64 {
    let status = relay.status();
    let figures = &status["connectors"][0]["applications"][0]["figures"];
    figures["visitors"].as_u64().unwrap()
}

#[test]
fn who_takes_nothing_of_a_site_is_reset_with_its_terms() {
    let (relay, flood) = (Relay::start(&[]), Flood::start());
    let call = |terms: Value| {
        let call = body("one", "shop", "http", 80);
        relay.assign(&with(call, terms))
    };
    let assigned = call(json!({}));
    let _tunnel = tunnel(&relay, &assigned, &flood);
    let everybody = json!(["127.0.0.0/8", "::1"]);
    for terms in [
        json!({"generation": 1}),
        json!({"generation": 1, "allow": everybody}),
        json!({"generation": 1, "allow": everybody, "expires_in": 1}),
    ] {
        let open = [asks(&relay, ""), asks(&relay, UPGRADE)];
        wait_until(TIMEOUT, "both", || flood.open() == 2);
        flood.wait_stalled();
        call(terms);
        open.iter().for_each(is_reset);
        wait_until(TIMEOUT, "their ends", || {
            flood.open() == 0 && visitors(&relay) == 0
        });
    }
}

#[test]
fn who_takes_nothing_of_a_public_port_is_reset_with_its_terms() {
    let (relay, flood) = (Relay::start(&[]), Flood::start());
    let call = |terms: Value| {
        let call = body("one", "ssh", "ssh", 22);
        relay.assign(&with(call, terms))
    };
    let assigned = call(json!({}));
    let port = &assigned["app"]["resource"]["port"];
    let _tunnel = tunnel(&relay, &assigned, &flood);
    for terms in [
        json!({"generation": 1}),
        json!({"generation": 1, "allow": ["127.0.0.1"]}),
        json!({"generation": 1, "allow": ["127.0.0.1"], "expires_in": 1}),
    ] {
        let mut visitor = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
        visitor.write_all(b"x\r\n\r\n").unwrap();
        wait_until(TIMEOUT, "the visitor", || flood.open() == 1);
        flood.wait_stalled();
        call(terms);
        is_reset(&visitor);
        wait_until(TIMEOUT, "its end", || flood.open() == 0);
    }
}
