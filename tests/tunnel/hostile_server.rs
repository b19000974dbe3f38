//! The client against servers that are not to be trusted, made of the state machine alone.

use std::cell::RefCell;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::fixture::{WAIT, free_port, holds_within, settings_for};
use crossbeam_channel::{Receiver, Sender};
use postern::tunnel::client::{Class, Tunnel};
use postern::tunnel::ssh::{self, Config, Event, KeyKind, ServerKey};
use postern::tunnel::ws::{AcceptOptions, Accepted, Cancel, accept};

/// The server's answer to the configuration, and the streams it then opens.
#[derive(Clone, Copy)]
struct Script {
    success: bool,
    text: &'static [u8],
    targets: &'static [&'static str],
}

/// Starts the server. The receiver gets the code of each refused stream, and 0 for an accepted one.
fn hostile(script: Script) -> (SocketAddr, Receiver<u32>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, receiver) = crossbeam_channel::unbounded();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let options = AcceptOptions::default();
            if let Ok(Accepted::WebSocket(from, to)) = accept(stream, &options, &Cancel::new()) {
                serve(script, from, &to, &sender);
            }
        }
    });
    (address, receiver)
}

fn serve(
    script: Script,
    mut from: postern::tunnel::ws::WsReader,
    to: &postern::tunnel::ws::WsWriter,
    told: &Sender<u32>,
) {
    let keys = Arc::from([ServerKey::generate(KeyKind::Ed25519).unwrap()]);
    let (session, mut reader, mut writer) = ssh::server(&Config::default(), keys).unwrap();
    let session = RefCell::new(session);
    loop {
        while writer.fill(|| session.borrow_mut()).unwrap() {
            let count = writer.output().len();
            if to.write(writer.output()).is_err() {
                return;
            }
            writer.advance(count);
        }
        let Ok(count @ 1..) = from.read(reader.space()) else {
            return;
        };
        reader.mark_filled(count);
        loop {
            match reader.next(Instant::now(), || session.borrow_mut()) {
                Ok(Some(Event::PasswordAuth { .. })) => {
                    session.borrow_mut().answer_auth(true).unwrap()
                }
                Ok(Some(Event::GlobalRequest {
                    id: Some(id),
                    name: "config",
                    ..
                })) => {
                    let mut session = session.borrow_mut();
                    session.reply(id, script.success, script.text).unwrap();
                    for target in script.targets {
                        session.open("chisel", target.as_bytes()).unwrap();
                    }
                }
                Ok(Some(Event::ChannelOpenConfirmation { .. })) => told.send(0).unwrap(),
                Ok(Some(Event::ChannelOpenFailure { code, .. })) => told.send(code).unwrap(),
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
}

#[test]
fn a_stream_to_an_undeclared_target_is_refused() {
    let (address, told) = hostile(Script {
        success: true,
        text: b"",
        targets: &[
            "127.0.0.1:22",
            "localhost:9",
            "127.0.0.1:9/udp",
            "127.0.0.1:99",
            "",
            "127.0.0.1:9",
        ],
    });
    let tunnel = Tunnel::start(settings_for(address, free_port(), 9)).unwrap();
    assert!(tunnel.wait(WAIT));
    let codes: Vec<u32> = (0..6).map(|_| told.recv_timeout(WAIT).unwrap()).collect();
    // Administratively prohibited (RFC 4254 §5.1), but for the one that was configured.
    assert_eq!(codes, [1, 1, 1, 1, 1, 0]);
}

#[test]
fn a_text_is_a_failure_also_under_success() {
    for (success, text, class) in [
        (
            true,
            &b"server: access to 'R:0.0.0.0:7000' denied"[..],
            Class::PermissionDenied,
        ),
        (
            false,
            b"server: access to 'R:0.0.0.0:7000' denied",
            Class::PermissionDenied,
        ),
        (
            false,
            b"Server cannot listen on R:0.0.0.0:7000",
            Class::PortHeld,
        ),
        (
            false,
            b"Reverse port forwaring not enabled on server",
            Class::Refused,
        ),
        (false, b"", Class::Refused),
    ] {
        let (address, _told) = hostile(Script {
            success,
            text,
            targets: &[],
        });
        let tunnel = Tunnel::start(settings_for(address, free_port(), 9)).unwrap();
        holds_within(WAIT, "the refusal", || tunnel.snapshot().error.is_some());
        let error = tunnel.snapshot().error.unwrap();
        assert_eq!(error.class, class, "{error}");
        assert!(!tunnel.wait(Duration::ZERO));
    }
}
