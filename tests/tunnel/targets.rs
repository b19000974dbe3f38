//! Targets that refuse, swallow or reset: the visitor sees an end, others nothing, and nothing is left.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::fixture::{
    Counts, Target, WAIT, black_hole, free_port, holds_within, serve, settings_for, visit,
};
use postern::tunnel::client::Tunnel;
use postern::tunnel::remote::Remote;
use postern::tunnel::server::Users;
use support::own_process::ran_apart;
use support::{allowed, assert_within};

/// Shortened: the time to connect to a target.
const CONNECT: Duration = Duration::from_secs(3);

fn echoes(visitor: &mut TcpStream) {
    visitor.write_all(b"still here").unwrap();
    let mut answer = [0; 10];
    visitor.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"still here");
}

fn no_streams(tunnel: &Tunnel, but: u64) {
    holds_within(WAIT, "the streams are gone", || {
        tunnel.snapshot().streams == but
    });
}

#[test]
fn a_target_that_swallows_ends_its_visit_in_time_and_no_other() {
    if ran_apart(a_target_that_swallows_ends_its_visit_in_time_and_no_other) {
        return;
    }
    let (server, live) = (serve(Users::default()), Target::echo());
    let (hole, _inside) = black_hole();
    let before = Counts::before(1);
    let (port, dead_port) = (free_port(), free_port());
    let mut settings = settings_for(server.address(), port, live.port());
    settings.timeouts.target = CONNECT;
    let dead: Remote = format!("R:127.0.0.1:{dead_port}:{}", hole.local_addr().unwrap())
        .parse()
        .unwrap();
    settings.remotes.push(dead);
    let tunnel = Tunnel::start(settings).unwrap();
    assert!(tunnel.wait(WAIT));
    let mut beside = visit(port);
    let began = Instant::now();
    let mut visitors: Vec<TcpStream> = (0..20).map(|_| visit(dead_port)).collect();
    // Their data does not delay the others.
    for visitor in &mut visitors {
        visitor.write_all(&[1; 10_000]).unwrap();
    }
    echoes(&mut beside);
    assert!(began.elapsed() < CONNECT, "{:?}", began.elapsed());
    // One leaves early: its connect is given up.
    drop(visitors.pop());
    for visitor in &mut visitors {
        assert_eq!(visitor.read(&mut [0]).unwrap_or(0), 0);
    }
    let took = began.elapsed();
    assert!(
        took >= CONNECT && took < CONNECT + allowed(Duration::from_secs(2)),
        "{took:?}"
    );
    drop(visitors);
    no_streams(&tunnel, 1);
    echoes(&mut beside);
    drop(beside);
    tunnel.stop();
    before.are_back();
}

/// Whom a visitor leaves in the lurch, nobody waits for: long before the connect would time out.
#[test]
fn a_visitor_that_leaves_ends_the_wait_for_its_target() {
    if ran_apart(a_visitor_that_leaves_ends_the_wait_for_its_target) {
        return;
    }
    let server = serve(Users::default());
    let (hole, _inside) = black_hole();
    let before = Counts::before(1);
    let port = free_port();
    let to = hole.local_addr().unwrap().port();
    let tunnel = Tunnel::start(settings_for(server.address(), port, to)).unwrap();
    assert!(tunnel.wait(WAIT));
    let visitor = visit(port);
    holds_within(WAIT, "the visit", || tunnel.snapshot().streams == 1);
    rustix::net::sockopt::set_socket_linger(&visitor, Some(Duration::ZERO)).unwrap();
    let began = Instant::now();
    drop(visitor);
    no_streams(&tunnel, 0);
    assert_within(began, Duration::from_secs(3));
    tunnel.stop();
    before.are_back();
}

#[test]
fn a_target_that_resets_ends_its_visit_at_once() {
    if ran_apart(a_target_that_resets_ends_its_visit_at_once) {
        return;
    }
    let server = serve(Users::default());
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let before = Counts::before(1);
    let port = free_port();
    let to = target.local_addr().unwrap().port();
    let tunnel = Tunnel::start(settings_for(server.address(), port, to)).unwrap();
    assert!(tunnel.wait(WAIT));
    for _ in 0..20 {
        let mut visitor = visit(port);
        visitor.write_all(b"question").unwrap();
        let (mut inside, _) = target.accept().unwrap();
        inside.read_exact(&mut [0; 8]).unwrap();
        rustix::net::sockopt::set_socket_linger(&inside, Some(Duration::ZERO)).unwrap();
        drop(inside);
        let began = Instant::now();
        assert_eq!(visitor.read(&mut [0]).unwrap_or(0), 0);
        assert_within(began, Duration::from_secs(1));
    }
    no_streams(&tunnel, 0);
    tunnel.stop();
    before.are_back();
}

#[test]
fn targets_that_refuse_leave_nothing() {
    if ran_apart(targets_that_refuse_leave_nothing) {
        return;
    }
    let server = serve(Users::default());
    let before = Counts::before(1);
    let port = free_port();
    let tunnel = Tunnel::start(settings_for(server.address(), port, free_port())).unwrap();
    assert!(tunnel.wait(WAIT));
    for _ in 0..100 {
        assert_eq!(visit(port).read(&mut [0]).unwrap_or(0), 0);
    }
    no_streams(&tunnel, 0);
    tunnel.stop();
    before.are_back();
}

/// The main tunnel's end is on 127.0.0.1; whoever has its port on `::1` is somebody else.
#[test]
fn localhost_can_be_one_address() {
    if ran_apart(localhost_can_be_one_address) {
        return;
    }
    let server = serve(Users::default());
    let stranger = TcpListener::bind("[::1]:0").unwrap();
    stranger.set_nonblocking(true).unwrap();
    let to = stranger.local_addr().unwrap().port();
    let port = free_port();
    let mut settings = settings_for(server.address(), port, to);
    settings.remotes = vec![
        format!("R:127.0.0.1:{port}:localhost:{to}")
            .parse()
            .unwrap(),
    ];
    settings.localhost = Some("127.0.0.1".parse().unwrap());
    let tunnel = Tunnel::start(settings).unwrap();
    assert!(tunnel.wait(WAIT));
    for _ in 0..5 {
        assert_eq!(visit(port).read(&mut [0]).unwrap_or(0), 0);
    }
    let nobody = stranger.accept().unwrap_err();
    assert_eq!(nobody.kind(), std::io::ErrorKind::WouldBlock);
    tunnel.stop();
}

/// A target that may not be dialled is not, however it is spelled, and who watches its health is told.
#[test]
fn an_address_that_may_not_be_dialled_is_refused() {
    if ran_apart(an_address_that_may_not_be_dialled_is_refused) {
        return;
    }
    let server = serve(Users::default());
    let forbidden = TcpListener::bind("127.0.0.1:0").unwrap();
    forbidden.set_nonblocking(true).unwrap();
    let before = Counts::before(1);
    let to = forbidden.local_addr().unwrap().port();
    for host in ["127.0.0.1", "localhost"] {
        let port = free_port();
        let mut settings = settings_for(server.address(), port, to);
        settings.remotes = vec![format!("R:127.0.0.1:{port}:{host}:{to}").parse().unwrap()];
        settings.may_dial = Some(std::sync::Arc::new(move |address| address.port() != to));
        let (tell, missed) = crossbeam_channel::bounded(1);
        settings.target_missed = Some(tell);
        let tunnel = Tunnel::start(settings).unwrap();
        assert!(tunnel.wait(WAIT));
        for _ in 0..5 {
            assert_eq!(visit(port).read(&mut [0]).unwrap_or(0), 0);
        }
        missed.recv_timeout(WAIT).unwrap();
        no_streams(&tunnel, 0);
        tunnel.stop();
    }
    let nobody = forbidden.accept().unwrap_err();
    assert_eq!(nobody.kind(), std::io::ErrorKind::WouldBlock);
    before.are_back();
}
