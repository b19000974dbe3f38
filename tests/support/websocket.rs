//! A WebSocket to a site whose application sends back what comes after the upgrade.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};

use super::TIMEOUT;
use super::relay::Relay;

/// Reads up to the end of a head; less if the stream ends.
pub fn read_head(stream: &mut TcpStream) -> String {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

/// One to the site `shop` that carries bytes.
#[track_caller]
pub fn websocket(relay: &Relay, cookie: &str) -> TcpStream {
    let host = format!("shop.localhost:{}", relay.address.port());
    websocket_at(relay.address, &host, cookie)
}

/// One to `host` at `address` that carries bytes, as a signed-in browser has it.
#[track_caller]
pub fn websocket_at(address: impl ToSocketAddrs, host: &str, cookie: &str) -> TcpStream {
    let mut visitor = TcpStream::connect(address).unwrap();
    visitor.set_read_timeout(Some(TIMEOUT)).unwrap();
    write!(
        visitor,
        "GET /ws HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nCookie: {cookie}\r\n\r\n",
    )
    .unwrap();
    let head = read_head(&mut visitor);
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    visitor.write_all(b"\x81\x04ping").unwrap();
    visitor.read_exact(&mut [0; 6]).unwrap();
    visitor
}

/// Waits for the end of what a visitor has open; answers what came before it.
#[track_caller]
pub fn ends(mut visitor: TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    let read = visitor.read_to_end(&mut rest);
    let is_late = |error: &std::io::Error| error.kind() == std::io::ErrorKind::WouldBlock;
    assert!(!read.as_ref().is_err_and(is_late), "it is open still");
    rest
}
