//! Silence, at every stage of a tunnel and in each direction: it ends in the stated time, with the stated
//! status, and leaves neither threads nor descriptors. The times are shortened; what they are by default is
//! tested beside their constants.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::fixture::proxy::{Faults, Proxy};
use crate::fixture::staged::{Staged, Until};
use crate::fixture::{
    Counts, Target, WAIT, free_port, holds_within, serve, serve_with, settings_for, visit,
};
use postern::tunnel::client::{Class, Settings, Status, Tunnel};
use postern::tunnel::server::{self, Server, Users};
use postern::tunnel::ssh::{self, Config, Event};
use postern::tunnel::ws::{Cancel, DialOptions, WsReader, WsWriter, dial};
use support::allowed;
use support::own_process::ran_apart;

/// Shortened: the time to be ready.
const READY: Duration = Duration::from_millis(800);
/// Shortened: the pause of the keep-alive, and the time for its answer.
const KEEPALIVE: Duration = Duration::from_millis(300);
const ANSWER: Duration = Duration::from_millis(700);
/// Extra time for a busy machine.
const SLACK: Duration = Duration::from_secs(2);

fn short(mut settings: Settings) -> Settings {
    settings.timeouts.ready = READY;
    settings.timeouts.answer = ANSWER;
    settings.keepalive = Some(KEEPALIVE);
    settings.dial.timeouts.handshake = READY;
    settings
}

/// The first failure of a tunnel that was started at `began`, and how long it took.
fn first_failure(tunnel: &Tunnel, began: Instant) -> (Class, String, Duration) {
    holds_within(WAIT, "a failure", || tunnel.snapshot().next_retry.is_some());
    let snapshot = tunnel.snapshot();
    assert_eq!(snapshot.status, Status::Connecting);
    let error = snapshot.error.unwrap();
    (error.class, error.message, began.elapsed())
}

fn stops_at_once(tunnel: Tunnel) {
    let began = Instant::now();
    tunnel.stop();
    let took = began.elapsed();
    assert!(took < allowed(Duration::from_secs(1)), "{took:?}");
    assert_eq!(tunnel.snapshot().status, Status::Stopped);
}

#[test]
fn a_server_that_falls_silent_is_given_up_at_every_stage() {
    if ran_apart(a_server_that_falls_silent_is_given_up_at_every_stage) {
        return;
    }
    for until in [
        Until::Upgrade,
        Until::Identification,
        Until::Keys,
        Until::Login,
    ] {
        let server = Staged::start(until);
        let before = Counts::before(0);
        let began = Instant::now();
        let tunnel = Tunnel::start(short(settings_for(server.address, free_port(), 9))).unwrap();
        let (class, message, took) = first_failure(&tunnel, began);
        assert_eq!(class, Class::Network, "{until:?}: {message}");
        assert!(
            message.contains("did not finish the handshake within"),
            "{until:?}: {message}"
        );
        assert!(
            took >= READY && took < READY + allowed(SLACK),
            "{until:?}: {took:?}"
        );
        stops_at_once(tunnel);
        before.are_back();
    }
}

#[test]
fn a_server_that_never_answers_the_upgrade_is_given_up() {
    if ran_apart(a_server_that_never_answers_the_upgrade_is_given_up) {
        return;
    }
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let before = Counts::before(0);
    let settings = short(settings_for(silent.local_addr().unwrap(), free_port(), 9));
    let began = Instant::now();
    let tunnel = Tunnel::start(settings).unwrap();
    let (class, message, took) = first_failure(&tunnel, began);
    assert_eq!(class, Class::Network, "{message}");
    assert!(
        took >= READY && took < READY + allowed(SLACK),
        "{took:?}: {message}"
    );
    stops_at_once(tunnel);
    before.are_back();
}

#[test]
fn a_server_that_cannot_be_reached_is_given_up() {
    if ran_apart(a_server_that_cannot_be_reached_is_given_up) {
        return;
    }
    let (full, _inside) = crate::fixture::black_hole();
    let before = Counts::before(0);
    let mut settings = settings_for(full.local_addr().unwrap(), free_port(), 9);
    settings.dial.timeouts.connect = READY;
    let began = Instant::now();
    let tunnel = Tunnel::start(settings).unwrap();
    let (class, message, took) = first_failure(&tunnel, began);
    assert_eq!(class, Class::Network, "{message}");
    assert!(
        took >= READY && took < READY + allowed(SLACK),
        "{took:?}: {message}"
    );
    stops_at_once(tunnel);
    before.are_back();
}

/// Cuts off the way up, the way down, or both.
fn lose(faults: &Faults, up: bool, down: bool) {
    faults.up_lost.store(up, Ordering::SeqCst);
    faults.down_lost.store(down, Ordering::SeqCst);
}

/// A server whose own keep-alive is as quick as `keepalive`.
fn serve_asking(keepalive: Duration) -> Server {
    serve_with(|settings| settings.keepalive = Some(keepalive))
}

#[test]
fn a_black_hole_in_either_direction_is_noticed_and_got_over() {
    if ran_apart(a_black_hole_in_either_direction_is_noticed_and_got_over) {
        return;
    }
    let (target, server) = (Target::echo(), serve_asking(KEEPALIVE / 2));
    let proxy = Proxy::start(server.address());
    for (up, down) in [(true, false), (false, true), (true, true)] {
        let before = Counts::before(1);
        let port = free_port();
        let tunnel =
            Tunnel::start(short(settings_for(proxy.address, port, target.port()))).unwrap();
        assert!(tunnel.wait(WAIT), "{:?}", tunnel.snapshot());
        let mut visitor = visit(port);
        echoes(&mut visitor);
        lose(&proxy.faults, up, down);
        let began = Instant::now();
        holds_within(WAIT, "the silence is noticed", || {
            tunnel.snapshot().status == Status::Connecting
        });
        let took = began.elapsed();
        assert!(
            took < KEEPALIVE + ANSWER + allowed(SLACK),
            "up {up}, down {down}: {took:?}"
        );
        let error = tunnel.snapshot().error.unwrap();
        assert_eq!(error.class, Class::Network, "{error}");
        assert!(error.message.contains("not answered"), "{error}");
        lose(&proxy.faults, false, false);
        assert!(tunnel.wait(WAIT), "{:?}", tunnel.snapshot());
        // The server may yet believe in the old connection, but the port leads to the new one.
        echoes(&mut visit(port));
        proxy.reset_all();
        assert_eq!(visitor.read(&mut [0]).unwrap_or(0), 0, "the old visit ends");
        drop(visitor);
        stops_at_once(tunnel);
        before.are_back();
    }
}

fn echoes(visitor: &mut TcpStream) {
    visitor.write_all(b"still here").unwrap();
    let mut answer = [0; 10];
    visitor.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"still here");
}

#[test]
fn a_slow_line_full_of_data_is_no_silence() {
    if ran_apart(a_slow_line_full_of_data_is_no_silence) {
        return;
    }
    let (server, port) = (serve(Users::default()), free_port());
    let target = Target::flood();
    let proxy = Proxy::start(server.address());
    let before = Counts::before(1);
    let mut settings = short(settings_for(proxy.address, port, target.port()));
    // The answer stands behind what is on its way: seconds of data at this rate. A busy machine may stand still for one.
    settings.timeouts.answer = Duration::from_millis(1500);
    let tunnel = Tunnel::start(settings).unwrap();
    assert!(tunnel.wait(WAIT));
    proxy.faults.rate.store(1 << 20, Ordering::SeqCst);
    let mut visitor = visit(port);
    let mut got = vec![0; 64 << 10];
    let (began, mut total) = (Instant::now(), 0);
    while began.elapsed() < Duration::from_secs(5) {
        total += visitor.read(&mut got).unwrap();
    }
    let snapshot = tunnel.snapshot();
    assert_eq!(
        (snapshot.status, snapshot.reconnects),
        (Status::Connected, 0)
    );
    assert!(
        (256 << 10..8 << 20).contains(&total),
        "{total} bytes in 5 s"
    );
    drop(visitor);
    proxy.faults.rate.store(0, Ordering::SeqCst);
    stops_at_once(tunnel);
    proxy.reset_all();
    before.are_back();
}

/// Last action of a client before it falls silent. The client is the state machine alone.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Does {
    Nothing,
    Identifies,
    ExchangesKeys,
    LogsIn,
}

#[test]
fn a_client_that_falls_silent_is_given_up_at_every_stage() {
    if ran_apart(a_client_that_falls_silent_is_given_up_at_every_stage) {
        return;
    }
    let server = serve_with(|settings: &mut server::Settings| {
        settings.timeouts.login = READY;
        settings.timeouts.config = READY;
    });
    for does in [
        Does::Nothing,
        Does::Identifies,
        Does::ExchangesKeys,
        Does::LogsIn,
    ] {
        let before = Counts::before(1);
        let endpoint = format!("ws://{}", server.address()).parse().unwrap();
        let (mut from, to) = dial(&endpoint, &DialOptions::default(), &Cancel::new()).unwrap();
        let began = Instant::now();
        if does != Does::Nothing {
            act(does, &mut from, &to);
        }
        let mut rest = [0; 4096];
        while let Ok(1..) = from.read(&mut rest) {}
        let took = began.elapsed();
        assert!(
            took >= READY / 2 && took < READY + allowed(SLACK),
            "{does:?}: {took:?}"
        );
        drop((from, to));
        before.are_back();
    }
}

fn act(does: Does, from: &mut WsReader, to: &WsWriter) {
    if does == Does::Identifies {
        return to
            .write(&mut b"SSH-chisel-v3-client\r\n".to_owned())
            .unwrap();
    }
    let (session, mut reader, mut writer) = ssh::client(&Config::default()).unwrap();
    let session = std::cell::RefCell::new(session);
    loop {
        while writer.fill(|| session.borrow_mut()).unwrap() {
            let count = writer.output().len();
            to.write(writer.output()).unwrap();
            writer.advance(count);
        }
        let count = from.read(reader.space()).unwrap();
        reader.mark_filled(count);
        loop {
            match reader
                .next(Instant::now(), || session.borrow_mut())
                .unwrap()
            {
                Some(Event::HostKey(_)) if does == Does::ExchangesKeys => return,
                Some(Event::HostKey(_)) => session.borrow_mut().authenticate("", "").unwrap(),
                Some(Event::AuthSuccess) => return,
                Some(_) => {}
                None => break,
            }
        }
    }
}
