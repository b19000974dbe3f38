//! The two ways to a server: its port, and the URL of its web server.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::fixture::proxy::Proxy;
use crate::fixture::staged::{Staged, Until};
use crate::fixture::{
    Counts, Target, WAIT, black_hole, free_port, holds_within, serve, serve_with, settings_for,
    visit,
};
use postern::store::DataDir;
use postern::tunnel::client::{Class, HostKeyCheck, Settings, Status, Tunnel, Way};
use postern::tunnel::known_servers::KnownServers;
use postern::tunnel::server::Users;
use support::own_process::ran_apart;

/// Head start of the first way in these tests, but for one. Default 3 s.
const SHORT: Duration = Duration::from_millis(200);

fn settings(port: SocketAddr, url: SocketAddr) -> Settings {
    let mut settings = settings_for(port, free_port(), 9);
    settings.url = Some(format!("ws://{url}/.postern/tunnel").parse().unwrap());
    settings.timeouts.head_start = SHORT;
    settings.max_retry_interval = Duration::from_millis(200);
    settings
}

/// Answers every connection so, and then closes it; how many there were.
fn answering(answer: &'static [u8]) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let count = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&count);
    // Ends with the process.
    std::thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            counted.fetch_add(1, Ordering::SeqCst);
            let _ = socket.read(&mut [0; 4096]);
            let _ = socket.write_all(answer);
            let _ = socket.shutdown(Shutdown::Write);
        }
    });
    (address, count)
}

const PAGE: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n<html></html>";

fn refused() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], free_port()))
}

#[test]
fn a_port_that_leads_nowhere_leaves_the_url() {
    let server = serve(Users::default());
    let silent = Staged::start(Until::Upgrade);
    let (hole, _inside) = black_hole();
    let hole = hole.local_addr().unwrap();
    let ports = [
        ("refused", refused()),
        ("a page", answering(PAGE).0),
        ("no HTTP", answering(b"220 mail.example ESMTP\r\n").0),
        ("ended at once", answering(b"").0),
        ("silent after the upgrade", silent.address),
        ("silent", hole),
    ];
    for (port, address) in ports {
        let target = Target::echo();
        let public = free_port();
        let mut settings = settings(address, server.address());
        settings.remotes = settings_for(address, public, target.port()).remotes;
        let tunnel = Tunnel::start(settings).unwrap();
        assert!(tunnel.wait(WAIT), "{port}: {:?}", tunnel.snapshot().error);
        assert_eq!(tunnel.snapshot().way, Some(Way::Url), "{port}");
        let mut visitor = visit(public);
        visitor.write_all(b"x").unwrap();
        visitor.read_exact(&mut [0]).unwrap();
    }
}

#[test]
fn the_port_is_used_where_it_works_and_the_url_is_left_alone() {
    let server = serve(Users::default());
    let url = Staged::start(Until::Keys);
    let mut settings = settings(server.address(), url.address);
    settings.timeouts.head_start = Duration::from_secs(60);
    let tunnel = Tunnel::start(settings).unwrap();
    assert!(tunnel.wait(WAIT));
    assert_eq!(tunnel.snapshot().way, Some(Way::Port));
    assert_eq!(url.taken(), 0);
}

#[test]
fn the_true_head_start_is_three_seconds() {
    let server = serve(Users::default());
    let (hole, _inside) = black_hole();
    let mut settings = settings(hole.local_addr().unwrap(), server.address());
    settings.timeouts.head_start = postern::tunnel::client::Timeouts::default().head_start;
    let began = Instant::now();
    let tunnel = Tunnel::start(settings).unwrap();
    assert!(tunnel.wait(WAIT));
    assert!(began.elapsed() >= Duration::from_secs(3));
}

#[test]
fn both_reasons_are_told_where_neither_works() {
    let (page, _) = answering(PAGE);
    let port = refused();
    let tunnel = Tunnel::start(settings(port, page)).unwrap();
    holds_within(WAIT, "the failure", || tunnel.snapshot().error.is_some());
    let error = tunnel.snapshot().error.unwrap();
    assert_eq!(error.class, Class::Network);
    assert_eq!(
        error.message,
        format!(
            "cannot connect to {port}: connection refused; through ws://{page}/.postern/tunnel: not a tunnel server: \
             it answered 200 OK"
        )
    );
}

/// The other way would be dialled within a moment.
#[test]
fn a_wrong_password_leads_to_no_other_way() {
    let mut users = Users::default();
    users.add("me:right").unwrap();
    let (server, url) = (serve(users), Staged::start(Until::Keys));
    let mut settings = settings(server.address(), url.address);
    (settings.user, settings.password) = ("me".into(), "wrong".to_owned().into());
    settings.retries.refused = Duration::from_millis(50);
    settings.timeouts.head_start = Duration::from_secs(60);
    refused_again_and_again(settings, Class::WrongPassword);
    assert_eq!(url.taken(), 0);
}

#[test]
fn another_host_key_leads_to_no_other_way() {
    let dir = tempfile::tempdir().unwrap();
    let known = Arc::new(KnownServers::new(DataDir::at(dir.path().join("home"))));
    let (server, url) = (serve(Users::default()), Staged::start(Until::Keys));
    known
        .trust(&server.address().to_string(), "another-fingerprint")
        .unwrap();
    let mut settings = settings(server.address(), url.address);
    settings.host_key = HostKeyCheck::Pinned(known);
    settings.retries.refused = Duration::from_millis(50);
    settings.timeouts.head_start = Duration::from_secs(60);
    refused_again_and_again(settings, Class::HostKeyChanged);
    assert_eq!(url.taken(), 0);
}

fn refused_again_and_again(mut settings: Settings, class: Class) {
    let times = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&times);
    settings.on_failed = Some(Box::new(move |failure, _| {
        assert_eq!(failure.class, class, "{failure}");
        count.fetch_add(1, Ordering::SeqCst);
    }));
    let _tunnel = Tunnel::start(settings).unwrap();
    holds_within(WAIT, "three refusals", || times.load(Ordering::SeqCst) >= 3);
}

#[test]
fn by_the_url_the_key_must_be_the_one_that_is_pinned_for_the_server() {
    let dir = tempfile::tempdir().unwrap();
    let known = Arc::new(KnownServers::new(DataDir::at(dir.path().join("home"))));
    let (server, port) = (serve(Users::default()), refused());
    let with = || {
        let mut settings = settings(port, server.address());
        settings.host_key = HostKeyCheck::Pinned(Arc::clone(&known));
        Tunnel::start(settings).unwrap()
    };
    assert!(with().wait(WAIT));
    let pinned = known.fingerprint(&port.to_string());
    assert!(pinned.is_some(), "it is pinned under the server's address");
    known.trust(&port.to_string(), "another").unwrap();
    let tunnel = with();
    holds_within(WAIT, "the refusal", || tunnel.snapshot().error.is_some());
    let error = tunnel.snapshot().error.unwrap();
    assert_eq!(error.class, Class::HostKeyChanged, "{error}");
    assert_eq!(error.host_key.unwrap().server, port.to_string());
}

#[test]
fn the_next_connection_begins_with_the_way_that_worked() {
    let server = serve(Users::default());
    let proxy = Proxy::start(server.address());
    let (page, asked) = answering(PAGE);
    let tunnel = Tunnel::start(settings(page, proxy.address)).unwrap();
    assert!(tunnel.wait(WAIT));
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    for round in 1..=3 {
        proxy.reset_all();
        holds_within(WAIT, "another connection", || {
            let snapshot = tunnel.snapshot();
            snapshot.reconnects >= round && snapshot.status == Status::Connected
        });
    }
    assert_eq!(tunnel.snapshot().way, Some(Way::Url));
    assert_eq!(
        asked.load(Ordering::SeqCst),
        1,
        "the port was not tried again"
    );
}

#[test]
fn a_way_that_worked_and_is_gone_leaves_the_other_one() {
    let server = serve(Users::default());
    let url = Proxy::start(server.address());
    let port = refused();
    let tunnel = Tunnel::start(settings(port, url.address)).unwrap();
    assert!(tunnel.wait(WAIT));
    let by_port = Proxy::start_at(port, server.address());
    url.faults.refuses.store(true, Ordering::SeqCst);
    url.reset_all();
    holds_within(WAIT, "the port", || {
        tunnel.snapshot().way == Some(Way::Port)
    });
    drop(by_port);
}

/// A slow port that answers in the end takes nothing away.
#[test]
fn a_tunnel_that_works_is_not_dropped_for_the_other_way() {
    let (server, slow) = (
        serve(Users::default()),
        TcpListener::bind("127.0.0.1:0").unwrap(),
    );
    let mut settings = settings(slow.local_addr().unwrap(), server.address());
    settings.timeouts.head_start = Duration::from_millis(20);
    let tunnel = Tunnel::start(settings).unwrap();
    let (mut dialled, _) = slow.accept().unwrap();
    assert!(tunnel.wait(WAIT));
    // Its dial has ended: what comes now finds nobody.
    dialled.set_read_timeout(Some(WAIT)).unwrap();
    let mut rest = Vec::new();
    let _ = dialled.read_to_end(&mut rest);
    let snapshot = tunnel.snapshot();
    assert_eq!(
        (snapshot.status, snapshot.reconnects),
        (Status::Connected, 0)
    );
}

#[test]
fn a_stop_ends_both_dials_and_leaves_no_thread() {
    if ran_apart(a_stop_ends_both_dials_and_leaves_no_thread) {
        return;
    }
    let (hole, _inside) = black_hole();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let (hole, silent_at) = (hole.local_addr().unwrap(), silent.local_addr().unwrap());
    let before = Counts::now();
    for [port, url] in [[hole, silent_at], [silent_at, hole]] {
        let mut settings = settings(port, url);
        settings.timeouts.head_start = Duration::from_millis(1);
        let tunnel = Tunnel::start(settings).unwrap();
        let (dialled, _): (TcpStream, _) = silent.accept().unwrap();
        let began = Instant::now();
        tunnel.stop();
        assert!(began.elapsed() < Duration::from_secs(1));
        drop((tunnel, dialled));
        before.are_back();
    }
    // Before the second dial has begun.
    let mut waiting = settings(silent_at, hole);
    waiting.timeouts.head_start = Duration::from_secs(60);
    let tunnel = Tunnel::start(waiting).unwrap();
    let dialled = silent.accept().unwrap();
    tunnel.stop();
    drop((tunnel, dialled));
    before.are_back();
}

/// Passes bytes on until none has passed for `idle`, as many a proxy does.
fn cutting_idle(to: SocketAddr, idle: Duration) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let far = TcpStream::connect(to).unwrap();
            let last = Arc::new(std::sync::Mutex::new(Instant::now()));
            for (mut from, mut into) in [
                (near.try_clone().unwrap(), far.try_clone().unwrap()),
                (far, near),
            ] {
                let last = Arc::clone(&last);
                from.set_read_timeout(Some(idle / 10)).unwrap();
                std::thread::spawn(move || {
                    let mut bytes = [0; 4096];
                    while last.lock().unwrap().elapsed() < idle {
                        match from.read(&mut bytes) {
                            Ok(0) => break,
                            Ok(count) => {
                                *last.lock().unwrap() = Instant::now();
                                if into.write_all(&bytes[..count]).is_err() {
                                    break;
                                }
                            }
                            Err(_) => {}
                        }
                    }
                    let _ = into.shutdown(Shutdown::Both);
                    let _ = from.shutdown(Shutdown::Both);
                });
            }
        }
    });
    address
}

/// Scaled; in the long form the true times: a minute, and a keep-alive each 25 s.
#[test]
fn a_proxy_that_cuts_idle_connections_is_kept_busy() {
    let second = Duration::from_millis(support::rounds(50, 1000).try_into().unwrap());
    let server = serve_with(|settings| settings.keepalive = None);
    let proxy = cutting_idle(server.address(), second * 60);
    let with = |keepalive| {
        let mut settings = settings(refused(), proxy);
        settings.keepalive = keepalive;
        let tunnel = Tunnel::start(settings).unwrap();
        assert!(tunnel.wait(WAIT));
        tunnel
    };
    let (kept, cut) = (with(Some(second * 25)), with(None));
    holds_within(second * 200, "the other one is cut", || {
        cut.snapshot().reconnects >= 2
    });
    let snapshot = kept.snapshot();
    assert_eq!(
        (snapshot.status, snapshot.reconnects),
        (Status::Connected, 0)
    );
}
