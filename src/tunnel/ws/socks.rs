//! SOCKS version 5 (RFC 1928): a proxy that is asked by name, with a user name and a password where it has them
//! (RFC 1929).

use std::net::IpAddr;

use zeroize::Zeroizing;

use super::endpoint::Endpoint;
use super::error::DialError;
use super::handshake::{HandshakeError, HandshakeStream};
use super::proxy::{Proxy, ProxyAccount};

const VERSION: u8 = 5;
/// Methods of authentication.
const ANYBODY: u8 = 0;
const PASSWORD: u8 = 2;
const NONE_FITS: u8 = 0xff;

/// Has the proxy connect to `target`.
pub(super) fn connect(
    stream: &mut HandshakeStream<'_>,
    proxy: &Proxy,
    target: &Endpoint,
    explain: impl Fn(HandshakeError) -> DialError,
) -> Result<(), DialError> {
    let mut ask = |request: &[u8]| -> Result<[u8; 2], DialError> {
        let answer = stream.send(request).and_then(|()| stream.receive(2));
        let answer = answer.map_err(&explain)?;
        Ok(answer.try_into().expect("two were received"))
    };
    let account = proxy.account();
    let greeting: &[u8] = match account {
        Some(_) => &[VERSION, 2, ANYBODY, PASSWORD],
        None => &[VERSION, 1, ANYBODY],
    };
    let method = match ask(greeting) {
        Err(DialError::TimedOut { .. }) => {
            return Err(proxy.malformed("no answer in time"));
        }
        answer => answer?,
    };
    match (method, &account) {
        ([VERSION, ANYBODY], _) => {}
        ([VERSION, PASSWORD], Some(account)) => {
            let [_, status] = ask(&login(account))?;
            if status != 0 {
                return Err(proxy.wants_credentials());
            }
        }
        ([VERSION, PASSWORD | NONE_FITS], _) => return Err(proxy.wants_credentials()),
        ([VERSION, _], _) => return Err(proxy.malformed("a method that was not offered")),
        _ => return Err(proxy.malformed("another version of SOCKS, or none")),
    }
    match ask(&request(target))? {
        [VERSION, 0] => {}
        [VERSION, reply] => return Err(proxy.refused(meaning(reply))),
        _ => return Err(proxy.malformed("another version of SOCKS")),
    }
    // The address that it connects from, of no use here.
    let kind = stream.receive(2).map_err(&explain)?;
    let length = match kind.last() {
        Some(1) => 4,
        Some(4) => 16,
        Some(3) => stream
            .receive(1)
            .map_err(&explain)?
            .first()
            .copied()
            .map_or(0, usize::from),
        _ => return Err(proxy.malformed("an address of unknown kind")),
    };
    stream.receive(length + 2).map_err(&explain).map(drop)
}

fn login(account: &ProxyAccount) -> Zeroizing<Vec<u8>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(3 + 2 * 255));
    bytes.push(1);
    for part in [&account.user, &*account.password] {
        bytes.push(u8::try_from(part.len()).expect("checked when it was read"));
        bytes.extend_from_slice(part);
    }
    bytes
}

fn request(target: &Endpoint) -> Vec<u8> {
    let mut bytes = vec![VERSION, 1, 0];
    match target.host.parse() {
        Ok(IpAddr::V4(address)) => {
            bytes.push(1);
            bytes.extend(address.octets());
        }
        Ok(IpAddr::V6(address)) => {
            bytes.push(4);
            bytes.extend(address.octets());
        }
        Err(_) => {
            let length = u8::try_from(target.host.len()).expect("a host has 253 bytes at most");
            bytes.extend([3, length]);
            bytes.extend(target.host.bytes());
        }
    }
    bytes.extend(target.port.to_be_bytes());
    bytes
}

/// RFC 1928 section 6.
fn meaning(reply: u8) -> String {
    match reply {
        1 => "it failed".to_owned(),
        2 => "its rules do not allow it".to_owned(),
        3 => "no route to the network".to_owned(),
        4 => "it cannot reach the host".to_owned(),
        5 => "connection refused".to_owned(),
        6 => "too many hops".to_owned(),
        other => format!("SOCKS reply {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_left_to_the_proxy() {
        for (target, bytes) in [
            (
                "ws://relay.example:443",
                &b"\x05\x01\0\x03\x0drelay.example\x01\xbb"[..],
            ),
            ("ws://192.0.2.1:80", b"\x05\x01\0\x01\xc0\0\x02\x01\0\x50"),
            (
                "ws://[::1]:1",
                b"\x05\x01\0\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\x01",
            ),
        ] {
            assert_eq!(request(&target.parse().unwrap()), bytes, "{target}");
        }
    }

    #[test]
    fn the_password_is_sent_decoded() {
        let proxy = Proxy::parse("socks5h://a%40b:p%3aq@p:1").unwrap();
        let sent = login(&proxy.account().unwrap());
        assert_eq!(sent.as_slice(), b"\x01\x03a@b\x03p:q");
    }
}
