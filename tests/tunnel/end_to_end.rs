//! The client and the server of tunnels, against each other: streams, both ways, to their ends.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::fixture::{
    Numbers, Target, WAIT, client_settings, free_port, holds_within, serve, visit,
};
use postern::tunnel::client::{Class, HostKeyCheck, Status, Tunnel};
use postern::tunnel::server::Users;
use support::assert_within;

#[test]
fn bytes_pass_both_ways_at_once_unchanged() {
    let (server, target, port) = (serve(Users::default()), Target::echo(), free_port());
    let tunnel = Tunnel::start(client_settings(&server, port, target.port())).unwrap();
    assert!(tunnel.wait(WAIT), "{:?}", tunnel.snapshot());
    let volume = std::env::var("POSTERN_TUNNEL_MIB")
        .ok()
        .and_then(|mib| mib.parse().ok())
        .unwrap_or(if cfg!(debug_assertions) {
            32
        } else {
            1024_usize
        })
        << 20;
    let began = Instant::now();
    let visitor = visit(port);
    let mut sending = visitor.try_clone().unwrap();
    let sender = std::thread::spawn(move || {
        let (mut numbers, mut left) = (Numbers(7), volume);
        let mut buffer = vec![0; 65536];
        while left > 0 {
            let piece = numbers.fill(&mut buffer, left);
            sending.write_all(piece).unwrap();
            left -= piece.len();
        }
        sending.shutdown(Shutdown::Write).unwrap();
    });
    let (mut numbers, mut left) = (Numbers(7), volume);
    let (mut expected, mut got) = (vec![0; 65536], vec![0; 65536]);
    let mut receiving = visitor;
    while left > 0 {
        let piece = numbers.fill(&mut expected, left);
        receiving.read_exact(&mut got[..piece.len()]).unwrap();
        assert!(
            piece == &got[..piece.len()],
            "changed with {left} bytes left"
        );
        left -= piece.len();
    }
    assert_eq!(
        receiving.read(&mut got).unwrap(),
        0,
        "the echo's end of file"
    );
    sender.join().unwrap();
    println!("{} MiB both ways in {:?}", volume >> 20, began.elapsed());
    holds_within(WAIT, "the stream is gone", || {
        tunnel.snapshot().streams == 0
    });
    let snapshot = tunnel.snapshot();
    assert_eq!(
        (snapshot.sent, snapshot.received),
        (volume as u64, volume as u64)
    );
    assert!(snapshot.latency.is_some());
}

#[test]
fn half_closing_works_in_each_direction() {
    let (server, port) = (serve(Users::default()), free_port());
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let tunnel = Tunnel::start(client_settings(
        &server,
        port,
        target.local_addr().unwrap().port(),
    ))
    .unwrap();
    assert!(tunnel.wait(WAIT));
    // The visitor ends first, and still gets an answer.
    let mut visitor = visit(port);
    let (mut inside, _) = target.accept().unwrap();
    visitor.write_all(b"question").unwrap();
    visitor.shutdown(Shutdown::Write).unwrap();
    let mut question = String::new();
    inside.read_to_string(&mut question).unwrap();
    inside.write_all(b"answer").unwrap();
    drop(inside);
    let mut answer = String::new();
    visitor.read_to_string(&mut answer).unwrap();
    assert_eq!((question.as_str(), answer.as_str()), ("question", "answer"));
    // The target ends first, and still gets more.
    let mut visitor = visit(port);
    visitor.write_all(b".").unwrap();
    let (mut inside, _) = target.accept().unwrap();
    inside.shutdown(Shutdown::Write).unwrap();
    assert_eq!(visitor.read(&mut [0]).unwrap(), 0);
    visitor.write_all(b"more").unwrap();
    visitor.shutdown(Shutdown::Write).unwrap();
    let mut more = String::new();
    inside.read_to_string(&mut more).unwrap();
    assert_eq!(more, ".more");
    holds_within(WAIT, "the streams are gone", || {
        tunnel.snapshot().streams == 0
    });
}

#[test]
fn ten_megabytes_then_an_immediate_close_lose_nothing() {
    let (server, port) = (serve(Users::default()), free_port());
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let tunnel = Tunnel::start(client_settings(
        &server,
        port,
        target.local_addr().unwrap().port(),
    ))
    .unwrap();
    assert!(tunnel.wait(WAIT));
    let mut visitor = visit(port);
    let (mut inside, _) = target.accept().unwrap();
    let sender = std::thread::spawn(move || inside.write_all(&vec![7; 10_000_000]).unwrap());
    let mut got = Vec::new();
    visitor.read_to_end(&mut got).unwrap();
    sender.join().unwrap();
    assert_eq!(got.len(), 10_000_000);
    drop(tunnel);
    drop(server);
}

#[test]
fn what_a_visitor_sends_before_it_closes_arrives() {
    let (server, port) = (serve(Users::default()), free_port());
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = target.local_addr().unwrap().port();
    let tunnel = Tunnel::start(client_settings(&server, port, to)).unwrap();
    assert!(tunnel.wait(WAIT));
    let mut visitor = visit(port);
    let (mut inside, _) = target.accept().unwrap();
    let sender = std::thread::spawn(move || visitor.write_all(&vec![7; 10_000_000]).unwrap());
    let mut got = Vec::new();
    inside.read_to_end(&mut got).unwrap();
    sender.join().unwrap();
    assert_eq!(got.len(), 10_000_000);
    drop(inside);
    holds_within(WAIT, "the stream is gone", || {
        tunnel.snapshot().streams == 0
    });
}

#[test]
fn a_target_that_refuses_ends_the_visit_at_once() {
    let (server, port) = (serve(Users::default()), free_port());
    let tunnel = Tunnel::start(client_settings(&server, port, free_port())).unwrap();
    assert!(tunnel.wait(WAIT));
    let mut visitor = visit(port);
    let began = Instant::now();
    assert_eq!(visitor.read(&mut [0]).unwrap_or(0), 0);
    assert_within(began, Duration::from_secs(1));
    holds_within(WAIT, "the stream is gone", || {
        tunnel.snapshot().streams == 0
    });
}

#[test]
fn a_stalled_visitor_holds_up_no_other() {
    let (server, target, port) = (serve(Users::default()), Target::flood(), free_port());
    let tunnel = Tunnel::start(client_settings(&server, port, target.port())).unwrap();
    assert!(tunnel.wait(WAIT));
    // Floods, and nobody reads.
    let stalled: Vec<TcpStream> = (0..4).map(|_| visit(port)).collect();
    holds_within(WAIT, "the flood has begun", || {
        tunnel.snapshot().sent > 1 << 20
    });
    let mut live = visit(port);
    let mut got = vec![0; 4 << 20];
    live.read_exact(&mut got).unwrap();
    drop((stalled, live));
    holds_within(WAIT, "the streams are gone", || {
        tunnel.snapshot().streams == 0
    });
}

#[test]
fn two_thousand_instant_closes_leave_nothing_behind() {
    let (server, target, port) = (serve(Users::default()), Target::echo(), free_port());
    let tunnel = Tunnel::start(client_settings(&server, port, target.port())).unwrap();
    assert!(tunnel.wait(WAIT));
    for _ in 0..2000 {
        drop(visit(port));
    }
    holds_within(WAIT, "the streams are gone", || {
        tunnel.snapshot().streams == 0
            && server
                .traffic()
                .streams
                .load(std::sync::atomic::Ordering::Relaxed)
                == 0
    });
    let mut visitor = visit(port);
    visitor.write_all(b"x").unwrap();
    visitor.read_exact(&mut [0]).unwrap();
}

#[test]
fn wrong_passwords_are_told_apart_and_not_hammered() {
    let mut users = Users::default();
    users.add("me:right").unwrap();
    let (server, port) = (serve(users), free_port());
    let mut settings = client_settings(&server, port, 9);
    settings.user = "me".into();
    settings.password = "wrong".to_owned().into();
    let tunnel = Tunnel::start(settings).unwrap();
    holds_within(WAIT, "a refusal", || tunnel.snapshot().next_retry.is_some());
    let snapshot = tunnel.snapshot();
    assert_eq!(snapshot.error.unwrap().class, Class::WrongPassword);
    assert!(snapshot.next_retry.unwrap() > Instant::now() + Duration::from_secs(5));
    let began = Instant::now();
    tunnel.stop();
    assert_within(began, Duration::from_secs(1));
    assert_eq!(tunnel.snapshot().status, Status::Stopped);
}

#[test]
fn another_host_key_is_refused_with_both_fingerprints() {
    let server = serve(Users::default());
    let mut settings = client_settings(&server, free_port(), 9);
    settings.host_key = HostKeyCheck::Fingerprint("known".into());
    let tunnel = Tunnel::start(settings).unwrap();
    holds_within(WAIT, "a refusal", || tunnel.snapshot().next_retry.is_some());
    let error = tunnel.snapshot().error.unwrap();
    assert_eq!(error.class, Class::HostKeyChanged);
    assert!(
        error.message.contains("known known") && error.message.contains("now "),
        "{error}"
    );
}

#[test]
fn permissions_hold_and_a_held_port_is_named() {
    let mut users = Users::default();
    let (allowed, other) = (free_port(), free_port());
    users
        .read_json(format!(r#"{{"me:x": ["^R:127.0.0.1:{allowed}$"], "you:y": [""]}}"#).as_bytes())
        .unwrap();
    let (server, target) = (serve(users), Target::echo());
    let as_user = |user: &str, password: &str, port| {
        let mut settings = client_settings(&server, port, target.port());
        settings.user = user.into();
        settings.password = password.to_owned().into();
        Tunnel::start(settings).unwrap()
    };
    let denied = as_user("me", "x", other);
    holds_within(WAIT, "a denial", || denied.snapshot().error.is_some());
    assert_eq!(
        denied.snapshot().error.unwrap().class,
        Class::PermissionDenied
    );
    let mine = as_user("me", "x", allowed);
    assert!(mine.wait(WAIT));
    let yours = as_user("you", "y", allowed);
    holds_within(WAIT, "a refusal", || yours.snapshot().error.is_some());
    assert_eq!(yours.snapshot().error.unwrap().class, Class::PortHeld);
    // The second client gets the port as soon as the first one leaves.
    mine.stop();
    yours.retry_now();
    assert!(yours.wait(WAIT));
}

#[test]
fn a_server_that_returns_is_found_again() {
    let (target, port) = (Target::echo(), free_port());
    let server = serve(Users::default());
    let settings = client_settings(&server, port, target.port());
    let address = server.address();
    let tunnel = Tunnel::start(settings).unwrap();
    assert!(tunnel.wait(WAIT));
    server.stop();
    holds_within(WAIT, "the drop is seen", || {
        tunnel.snapshot().status == Status::Connecting
    });
    assert_eq!(
        tunnel.snapshot().latency,
        None,
        "it was another connection's"
    );
    assert!(
        TcpListener::bind(("127.0.0.1", port)).is_ok(),
        "the port is free"
    );
    let _again = crate::fixture::serve_at(address, Users::default());
    assert!(tunnel.wait(WAIT));
    let mut visitor = visit(port);
    visitor.write_all(b"x").unwrap();
    visitor.read_exact(&mut [0]).unwrap();
    assert_eq!(tunnel.snapshot().reconnects, 1);
}
