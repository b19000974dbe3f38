use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::*;
use crate::tunnel::client::HostKeyCheck;
use crate::tunnel::remote::Remote;
use crate::tunnel::server::{self, Grant, Policy, Server};
use crate::tunnel::ssh::{KeyKind, ServerKey};
use crate::tunnel::ws::Endpoint;

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

/// State of two servers, with how often the owner was told that it is connected, and that it is not.
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
    let others = second.map(|(address, host_key)| {
        let endpoint = endpoint(address);
        vec![Alternate {
            endpoint,
            url: None,
            host_key,
        }]
    });
    Held {
        group: TunnelGroup::start(settings, others).unwrap(),
        connected,
        failed,
    }
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
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
    until("that is told", || {
        held.connected.load(Ordering::SeqCst) == 1
    });
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
        let second = held.group.both().1.unwrap().snapshot();
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
    assert!(held.group.relays().is_empty() && !held.group.is_of_fleet());
    until("the owner is told", || {
        held.connected.load(Ordering::SeqCst) == 1
    });
    server.stop();
    until("the owner is told", || {
        held.failed.load(Ordering::SeqCst) > 0
    });
}

fn at(servers: &[&Server]) -> Vec<Alternate> {
    let at = |server: &&Server| Alternate {
        url: None,
        endpoint: endpoint(server.address()),
        host_key: HostKeyCheck::Any,
    };
    servers.iter().map(at).collect()
}

fn later(seconds: u64) -> Instant {
    Instant::now() + Duration::from_secs(seconds)
}

fn wants(held: &Held, now: Instant) -> Option<bool> {
    let joint = held.group.fleet.as_ref().unwrap().joint.upgrade().unwrap();
    joint.state.lock().to_replace(now)
}

#[test]
fn a_relay_that_is_away_for_a_minute_gives_its_place_to_another_one() {
    let (first, second, third) = (server(), server(), server());
    let held = start(first.address(), Some((second.address(), HostKeyCheck::Any)));
    until("both are connected", || at_both(&held));
    assert_eq!(wants(&held, later(1000)), None, "both are there");
    assert_eq!(held.group.hold_at(at(&[&third])).unwrap(), 0);
    let gone = first.address();
    first.stop();
    until("the first is lost", || !at_both(&held));
    assert_eq!(wants(&held, later(58)), None);
    until("that is noted", || wants(&held, later(61)) == Some(false));
    assert!(!held.group.wants_relay());
    // It is at the second already, and knows of no other one.
    let hold = |places| held.group.hold_as_of(later(61), places).unwrap();
    assert_eq!(hold(at(&[&second])), 0);
    assert_eq!(hold(at(&[&second, &third])), 1);
    until("both are connected", || at_both(&held));
    let back = server_at(TcpListener::bind(gone).unwrap());
    let expected = [third.address(), second.address()].map(|address| address.to_string());
    let relays = held.group.relays();
    let servers: Vec<String> = relays.into_iter().map(|(server, _)| server).collect();
    assert_eq!(servers, expected);
    for server in [&second, &third] {
        until("each holds it", || server.opener().is_held("", PORT));
    }
    second.stop();
    until("the second is lost", || !at_both(&held));
    assert!(is_up(&held), "the new one is enough");
    assert!(!back.opener().is_held("", PORT));
    let told = [&held.connected, &held.failed].map(|count| count.load(Ordering::SeqCst));
    assert_eq!(told, [1, 0], "nothing has happened");
    held.group.stop();
    assert_eq!(held.group.snapshot().status, Status::Stopped);
    assert_eq!(hold(at(&[&back])), 0, "it has ended");
}

#[test]
fn where_both_are_away_others_are_taken_soon_and_it_has_not_ended() {
    let (first, second, third, fourth) = (server(), server(), server(), server());
    let held = start(first.address(), Some((second.address(), HostKeyCheck::Any)));
    until("both are connected", || at_both(&held));
    first.stop();
    second.stop();
    until("both are lost", || !is_up(&held));
    assert_eq!(wants(&held, later(3)), None);
    let mut taken = 0;
    // The loss of each is noted in its own time. Once another one is up, the second is replaced only after a minute.
    until("others are taken for both", || {
        let when = later(if taken == 0 { 6 } else { 66 });
        let more = held.group.hold_as_of(when, at(&[&third, &fourth]));
        taken += more.unwrap();
        taken == 2
    });
    assert!(held.group.wait(WAIT));
    until("both are connected", || at_both(&held));
    for server in [&third, &fourth] {
        until("each holds it", || server.opener().is_held("", PORT));
    }
    let ended = held.group.ended().try_recv();
    assert!(ended.is_err_and(|why| why.is_empty()));
}

#[test]
fn one_that_began_alone_gains_another_and_no_more_once_it_is_stopped() {
    let (first, second) = (server(), server());
    let begin = || {
        let remote = format!("R:0.0.0.0:{PORT}:127.0.0.1:9");
        let settings = Settings::new(endpoint(first.address()), vec![remote.parse().unwrap()]);
        TunnelGroup::start(settings, Some(Vec::new())).unwrap()
    };
    let group = begin();
    assert!(group.wait(WAIT) && group.is_of_fleet() && group.relays().is_empty());
    assert_eq!(group.connected_at(), [first.address().to_string()]);
    assert_eq!(group.hold_as_of(later(61), at(&[&first])).unwrap(), 0);
    assert_eq!(group.hold_as_of(later(61), at(&[&second])).unwrap(), 1);
    until("each holds it", || second.opener().is_held("", PORT));
    group.stop();
    let group = begin();
    assert!(group.wait(WAIT));
    group.begin_stop();
    let _ = group.hold_as_of(later(61), at(&[&second]));
    group.finish_stop();
    until("nothing is left", || !second.opener().is_held("", PORT));
}
