use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::*;
use crate::tunnel::remote::Remote;
use crate::tunnel::server::{self, Grant, Policy, Server};
use crate::tunnel::ssh::{KeyKind, ServerKey};

const WAIT: Duration = Duration::from_secs(30);
const PORT: u16 = 30_001;

/// Everybody holds numbers.
struct Numbers;

impl Policy for Numbers {
    fn login(&self, user: &str, _: &str, _: SocketAddr) -> Option<String> {
        Some(user.to_owned())
    }

    fn grant(&self, _: &str, _: &Remote) -> Grant {
        Grant::Held
    }
}

fn server_at(listener: TcpListener) -> Server {
    let keys = [ServerKey::generate(KeyKind::Ed25519).unwrap()].into();
    let mut settings = server::Settings::new(listener, keys);
    settings.policy = Box::new(Numbers);
    Server::start(settings).unwrap()
}

fn server() -> Server {
    server_at(TcpListener::bind("127.0.0.1:0").unwrap())
}

fn endpoint(address: SocketAddr) -> Endpoint {
    format!("ws://{address}").parse().unwrap()
}

/// What two servers hold, with how often the owner was told that it is connected, and that it is not.
struct Held {
    group: TunnelGroup,
    connected: Arc<AtomicUsize>,
    failed: Arc<AtomicUsize>,
}

fn start(first: SocketAddr, second: Option<(SocketAddr, HostKeyCheck)>) -> Held {
    let remote = format!("R:0.0.0.0:{PORT}:127.0.0.1:9");
    let mut settings = Settings::new(endpoint(first), vec![remote.parse().unwrap()]);
    settings.max_retry_interval = Duration::from_millis(100);
    let (connected, failed) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let counts = (Arc::clone(&connected), Arc::clone(&failed));
    settings.on_connected = Some(Box::new(move || {
        counts.0.fetch_add(1, Ordering::SeqCst);
    }));
    settings.on_failed = Some(Box::new(move |_, _| {
        counts.1.fetch_add(1, Ordering::SeqCst);
    }));
    let alternate = second.map(|(address, host_key)| Alternate {
        endpoint: endpoint(address),
        host_key,
    });
    Held {
        group: TunnelGroup::start(settings, alternate).unwrap(),
        connected,
        failed,
    }
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + WAIT;
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn is_up(held: &Held) -> bool {
    held.group.snapshot().status == Status::Connected
}

fn at_both(held: &Held) -> bool {
    let relays = held.group.relays();
    relays.len() == 2 && relays.iter().all(|(_, at)| *at == Status::Connected)
}

#[test]
fn one_that_is_lost_is_no_loss_and_both_that_are_lost_are_one() {
    let (first, second) = (server(), server());
    let places = [first.address(), second.address()];
    let held = start(places[0], Some((places[1], HostKeyCheck::Any)));
    assert!(held.group.wait(WAIT));
    until("both are connected", || at_both(&held));
    for server in [&first, &second] {
        until("each holds it", || server.opener().is_held("", PORT));
    }
    assert_eq!(held.connected.load(Ordering::SeqCst), 1);
    let since = held.group.snapshot().since;
    first.stop();
    until("the first is lost", || !at_both(&held));
    assert!(is_up(&held) && held.group.wait(Duration::ZERO));
    assert_eq!(held.group.snapshot().since, since, "nothing has happened");
    assert_eq!(held.failed.load(Ordering::SeqCst), 0);
    second.stop();
    until("both are lost", || !is_up(&held));
    until("that is told", || held.failed.load(Ordering::SeqCst) > 0);
    assert!(!held.group.wait(Duration::ZERO));
    let back = server_at(TcpListener::bind(places[1]).unwrap());
    assert!(held.group.wait(WAIT));
    until("that is told", || {
        held.connected.load(Ordering::SeqCst) == 2
    });
    let seen = held.group.snapshot();
    assert_eq!((seen.status, seen.reconnects), (Status::Connected, 1));
    assert!(
        held.group
            .ended()
            .try_recv()
            .is_err_and(|why| why.is_empty())
    );
    held.group.stop();
    let ended = held.group.ended().recv_timeout(WAIT);
    assert_eq!(ended, Err(RecvTimeoutError::Disconnected));
    assert_eq!(held.group.snapshot().status, Status::Stopped);
    assert!(!held.group.wait(WAIT), "there is nothing to wait for");
    back.stop();
}

#[test]
fn another_key_refuses_that_relay_alone() {
    let (first, second) = (server(), server());
    let wrong = HostKeyCheck::Fingerprint("AAAA".repeat(11));
    let held = start(first.address(), Some((second.address(), wrong)));
    assert!(held.group.wait(WAIT));
    until("the first holds it", || first.opener().is_held("", PORT));
    let refused = || {
        let second = held.group.second.as_ref().unwrap().snapshot();
        second.error.is_some_and(|error| error.host_key.is_some())
    };
    until("the second shows another key", refused);
    assert!(is_up(&held) && !at_both(&held));
    assert!(!second.opener().is_held("", PORT));
}

#[test]
fn alone_it_is_the_tunnel_itself() {
    let server = server();
    let held = start(server.address(), None);
    assert!(held.group.wait(WAIT));
    assert!(held.group.relays().is_empty() && held.group.joint.is_none());
    until("the owner is told", || {
        held.connected.load(Ordering::SeqCst) == 1
    });
    server.stop();
    until("the owner is told", || {
        held.failed.load(Ordering::SeqCst) > 0
    });
}
