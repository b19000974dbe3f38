//! Frequency of a tunnel's attempts: never a storm, never hammering, and it does come back.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::fixture::proxy::Proxy;
use crate::fixture::staged::{Staged, Until};
use crate::fixture::{Target, WAIT, free_port, holds_within, serve, serve_at, settings_for, visit};
use postern::store::DataDir;
use postern::tunnel::client::{Class, HostKeyCheck, Status, Tunnel};
use postern::tunnel::known_servers::KnownServers;
use postern::tunnel::server::Users;
use support::assert_within;

/// Time that attempts are counted for.
const WATCHED: Duration = Duration::from_secs(3);

/// Takes connections at an address and closes them at once, until it is dropped; answers when they came.
struct Counting {
    times: Arc<Mutex<Vec<Instant>>>,
    stop: Arc<std::sync::atomic::AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Counting {
    fn start(address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        listener.set_nonblocking(true).unwrap();
        let (times, stop) = (
            Arc::<Mutex<Vec<Instant>>>::default(),
            Arc::<std::sync::atomic::AtomicBool>::default(),
        );
        let (of_thread, stopped) = (Arc::clone(&times), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::SeqCst) {
                match listener.accept() {
                    Ok(_) => of_thread.lock().unwrap().push(Instant::now()),
                    Err(_) => std::thread::sleep(Duration::from_millis(1)),
                }
            }
        });
        Self {
            times,
            stop,
            thread: Some(thread),
        }
    }

    fn finish(mut self) -> Vec<Instant> {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.take().unwrap().join().unwrap();
        std::mem::take(&mut self.times.lock().unwrap())
    }
}

#[test]
fn fifty_tunnels_come_back_without_a_storm() {
    let target = Target::echo();
    let server = serve(Users::default());
    let address = server.address();
    let ports: Vec<u16> = (0..50).map(|_| free_port()).collect();
    let tunnels: Vec<Tunnel> = ports
        .iter()
        .map(|port| Tunnel::start(settings_for(address, *port, target.port())).unwrap())
        .collect();
    assert!(tunnels.iter().all(|tunnel| tunnel.wait(WAIT)));
    server.stop();
    let counting = Counting::start(address);
    let began = Instant::now();
    holds_within(WAIT, "the time is over", || began.elapsed() >= WATCHED);
    let times = counting.finish();
    let second = |n: u64| {
        let (from, to) = (Duration::from_secs(n), Duration::from_secs(n + 1));
        let within = |at: &&Instant| (from..to).contains(&at.duration_since(began));
        times.iter().filter(within).count()
    };
    let attempts: Vec<usize> = (0..3).map(second).collect();
    println!("attempts of 50 tunnels in each second: {attempts:?}");
    // 75 to 100 ms, twice that, and so on: at most four in the first second, then ever fewer.
    assert!(attempts.iter().sum::<usize>() <= 50 * 6, "{attempts:?}");
    assert!(attempts.last().unwrap() <= &100, "{attempts:?}");
    // They have come apart: after the first second they are not in a few bursts.
    let late = times
        .iter()
        .filter(|at| **at > began + Duration::from_secs(1));
    let moments: BTreeSet<u128> = late
        .map(|at| at.duration_since(began).as_millis() / 20)
        .collect();
    assert!(moments.len() >= 15, "{moments:?}");
    let again = serve_at(address, Users::default());
    assert!(tunnels.iter().all(|tunnel| tunnel.wait(WAIT)));
    for port in &ports {
        let mut visitor = visit(*port);
        visitor.write_all(b"x").unwrap();
        visitor.read_exact(&mut [0]).unwrap();
    }
    drop((tunnels, again));
}

/// Scaled: a tenth and less of the true times.
#[test]
fn a_connection_that_drops_soon_does_not_reset_the_pauses() {
    let server = Staged::start(Until::Up(Duration::from_millis(100)));
    let mut settings = settings_for(server.address, free_port(), 9);
    settings.retries.proven_after = Duration::from_millis(700);
    settings.retries.first = Duration::from_millis(50);
    settings.max_retry_interval = Duration::from_millis(1600);
    let tunnel = Tunnel::start(settings).unwrap();
    holds_within(WAIT, "seven attempts", || server.taken() >= 7);
    let dropped = gaps(&server);
    println!("gaps between connections that dropped: {dropped:?}");
    // The pauses alone are 50, 100, ... 1600 ms, less up to a quarter.
    for (gap, pause) in dropped.iter().zip([50, 100, 200, 400, 800, 1600]) {
        assert!(
            *gap >= Duration::from_millis(pause * 3 / 4 + 100),
            "{dropped:?}"
        );
    }
    // A connection that lasts does reset them.
    *server.until.lock().unwrap() = Until::Up(Duration::from_millis(900));
    let taken = server.taken();
    holds_within(WAIT, "a short pause", || {
        let short = |gap: &Duration| *gap < Duration::from_millis(1900);
        gaps(&server).iter().skip(taken).any(short)
    });
    tunnel.stop();
}

fn gaps(server: &Staged) -> Vec<Duration> {
    let seen = server.seen.lock().unwrap();
    seen.taken
        .iter()
        .zip(seen.taken.iter().skip(1))
        .map(|(one, next)| next.duration_since(*one))
        .collect()
}

#[test]
fn a_wrong_password_is_tried_once_in_three_seconds() {
    let mut users = Users::default();
    users.add("me:right").unwrap();
    let server = serve(users);
    let proxy = Proxy::start(server.address());
    let mut settings = settings_for(proxy.address, free_port(), 9);
    settings.user = "me".into();
    settings.password = "wrong-and-secret".to_owned().into();
    let tunnel = Tunnel::start(settings).unwrap();
    let began = Instant::now();
    holds_within(WAIT, "the time is over", || began.elapsed() >= WATCHED);
    assert_eq!(proxy.faults.taken.load(Ordering::SeqCst), 1);
    let snapshot = tunnel.snapshot();
    let error = snapshot.error.unwrap();
    assert_eq!(error.class, Class::WrongPassword);
    assert!(!error.message.contains("secret"), "{error}");
    let next = snapshot.next_retry.unwrap();
    assert!(next >= began + Duration::from_secs(10));
    // A stop ends that pause too.
    let began = Instant::now();
    tunnel.stop();
    assert_within(began, Duration::from_secs(1));
}

/// Its owner can ask for another login; before it was up once, a refusal may pass.
#[test]
fn a_tunnel_that_was_up_ends_when_it_is_turned_away_where_its_owner_wishes_that() {
    let users = |password: &str| {
        let mut users = Users::default();
        users.add(&format!("me:{password}")).unwrap();
        users
    };
    let server = serve(users("first"));
    let address = server.address();
    let start = |password: &str| {
        let mut settings = settings_for(address, free_port(), 9);
        settings.user = "me".into();
        settings.password = password.to_owned().into();
        settings.retries.end_when_disowned = true;
        Tunnel::start(settings).unwrap()
    };
    let [tunnel, never_up] = ["first", "second"].map(start);
    assert!(tunnel.wait(WAIT));
    server.stop();
    let _server = serve_at(address, users("second"));
    holds_within(WAIT, "the end", || {
        tunnel.snapshot().status == Status::Failed
    });
    assert!(tunnel.ended().recv_timeout(WAIT).is_err());
    let snapshot = tunnel.snapshot();
    assert_eq!(snapshot.error.unwrap().class, Class::WrongPassword);
    assert_eq!(snapshot.next_retry, None);
    never_up.retry_now();
    assert!(never_up.wait(WAIT), "{:?}", never_up.snapshot());
}

#[test]
fn a_password_never_goes_to_a_server_whose_key_has_changed() {
    let dir = tempfile::tempdir().unwrap();
    let known = Arc::new(KnownServers::new(DataDir::at(dir.path().join("home"))));
    let server = Staged::start(Until::Keys);
    let with = |check: HostKeyCheck| {
        let mut settings = settings_for(server.address, free_port(), 9);
        settings.user = "me".into();
        settings.password = "for-the-true-one".to_owned().into();
        settings.host_key = check;
        Tunnel::start(settings).unwrap()
    };
    known
        .trust(&server.address.to_string(), "another-fingerprint")
        .unwrap();
    for check in [
        HostKeyCheck::Pinned(Arc::clone(&known)),
        HostKeyCheck::Fingerprint("another-fingerprint".into()),
    ] {
        let before = server.seen.lock().unwrap().ends.len();
        let tunnel = with(check);
        holds_within(WAIT, "the refusal", || {
            tunnel.snapshot().next_retry.is_some()
        });
        let error = tunnel.snapshot().error.unwrap();
        assert_eq!(error.class, Class::HostKeyChanged, "{error}");
        assert!(error.message.contains("another-fingerprint"), "{error}");
        assert!(error.message.contains(&server.fingerprint), "{error}");
        holds_within(WAIT, "the server's view", || {
            server.seen.lock().unwrap().ends.len() > before
        });
        let seen = server.seen.lock().unwrap();
        assert!(seen.passwords.is_empty(), "{seen:?}");
        // The client said that it left, and why; the log-in was not begun.
        assert!(seen.ends.last().unwrap().contains("host key"), "{seen:?}");
    }
    // With an accepted key the server does receive the password, so the test can see one.
    let tunnel = with(HostKeyCheck::Fingerprint(server.fingerprint.clone()));
    holds_within(WAIT, "the password", || {
        server.seen.lock().unwrap().passwords == ["for-the-true-one"]
    });
    drop(tunnel);
}

#[test]
fn a_port_that_somebody_else_holds_is_named_and_taken_when_free() {
    let (server, target) = (serve(Users::default()), Target::echo());
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = holder.local_addr().unwrap().port();
    let mut settings = settings_for(server.address(), port, target.port());
    settings.max_retry_interval = Duration::from_millis(300);
    let tunnel = Tunnel::start(settings).unwrap();
    holds_within(WAIT, "the refusal", || tunnel.snapshot().error.is_some());
    let error = tunnel.snapshot().error.unwrap();
    assert_eq!(error.class, Class::PortHeld, "{error}");
    assert!(
        error.message.contains(&format!("127.0.0.1:{port}")),
        "{error}"
    );
    assert_eq!(tunnel.snapshot().status, Status::Connecting);
    drop(holder);
    assert!(tunnel.wait(WAIT), "{:?}", tunnel.snapshot());
}
