//! Rules of a server's owner: the users, and the listening address of each remote.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::fixture::proxy::Proxy;
use crate::fixture::{Target, WAIT, free_port, holds_within, settings_for, visit};
use postern::tunnel::client::{Class, Status, Tunnel};
use postern::tunnel::remote::Remote;
use postern::tunnel::server::{Grant, LocalStream, OpenError, Policy, Server, Settings};
use postern::tunnel::ssh::{KeyKind, ServerKey};

/// Ports below 100 are held, 100 to 199 denied, the rest are listened on; 9999 is moved.
struct ByNumber {
    moved: SocketAddr,
}

impl Policy for ByNumber {
    fn login(&self, user: &str, password: &str, _: SocketAddr) -> Option<String> {
        (password == "right").then(|| format!("holder-{user}"))
    }

    fn grant(&self, _: &str, remote: &Remote) -> Grant {
        match remote.local_port {
            ..100 => Grant::Held,
            100..200 => Grant::Denied,
            9999 => Grant::ListenAt(self.moved),
            _ => Grant::Listen,
        }
    }
}

fn serve(moved: SocketAddr) -> Server {
    serve_with(moved, |_| {})
}

fn serve_with(moved: SocketAddr, change: impl FnOnce(&mut Settings)) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let key = ServerKey::generate(KeyKind::Ed25519).unwrap();
    let mut settings = Settings::new(listener, [key].into_iter().collect());
    settings.policy = Box::new(ByNumber { moved });
    change(&mut settings);
    Server::start(settings).unwrap()
}

fn client(to: SocketAddr, user: &str, port: u16, target: &Target) -> Tunnel {
    let mut settings = settings_for(to, port, target.port());
    settings.user = user.into();
    settings.password = String::from("right").into();
    Tunnel::start(settings).unwrap()
}

fn nowhere() -> SocketAddr {
    ([127, 0, 0, 1], 1).into()
}

/// Everything up to the end, or so many bytes.
fn read(stream: &mut LocalStream, most: usize) -> io::Result<Vec<u8>> {
    let (mut all, until) = (Vec::new(), Instant::now() + WAIT);
    let mut piece = vec![0; 1 << 16];
    while all.len() < most && Instant::now() < until {
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => all.extend_from_slice(&piece[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::yield_now(),
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

#[test]
fn what_is_held_is_reached_from_this_process_alone() {
    let (server, echo) = (serve(nowhere()), Target::echo());
    let tunnel = client(server.address(), "a", 80, &echo);
    assert!(tunnel.wait(WAIT), "{:?}", tunnel.snapshot());
    let opener = server.opener();
    assert!(opener.is_held("holder-a", 80));
    assert!(std::net::TcpStream::connect(("127.0.0.1", 80)).is_err());
    for (holder, port) in [("holder-a", 81), ("a", 80), ("holder-b", 80)] {
        assert_eq!(opener.open(holder, port).unwrap_err(), OpenError::NotHeld);
    }
    let mut stream = opener.open("holder-a", 80).unwrap();
    assert_eq!(stream.write(b"hello").unwrap(), 5);
    assert_eq!(read(&mut stream, 5).unwrap(), b"hello");
    stream.end_write();
    assert_eq!(read(&mut stream, 1).unwrap(), b"");
    drop(stream);
    holds_within(WAIT, "the stream is gone", || {
        tunnel.snapshot().streams == 0
    });
}

/// One login held every place for connections, and nobody else came back.
#[test]
fn one_login_leaves_others_their_places() {
    let echo = Target::echo();
    // So few files are left that there is room for 16.
    let server = serve_with(nowhere(), |settings| settings.reserved_files = 1 << 40);
    let own: Vec<_> = (0..8)
        .map(|port| client(server.address(), "a", port + 1, &echo))
        .collect();
    for tunnel in &own {
        assert!(tunnel.wait(WAIT), "{:?}", tunnel.snapshot());
    }
    let more: Vec<_> = (0..12)
        .map(|port| client(server.address(), "a", port + 20, &echo))
        .collect();
    holds_within(WAIT, "the others are refused", || {
        more.iter().all(|tunnel| {
            let error = tunnel.snapshot().error;
            error.is_some_and(|error| error.to_string().contains("too many connections"))
        })
    });
    let other = client(server.address(), "b", 1, &echo);
    assert!(other.wait(WAIT), "{:?}", other.snapshot());
    let opener = server.opener();
    assert!(opener.stats().turned_away.load(Ordering::Relaxed) >= 12);
    assert_eq!(opener.stats().logins.load(Ordering::Relaxed), 9);
    let stands = |tunnel: &Tunnel| tunnel.snapshot().status == Status::Connected;
    assert!(own.iter().all(stands));
}

#[test]
fn writing_stops_at_the_window_and_goes_on_by_polling() {
    let (server, sink) = (serve(nowhere()), Target::sink());
    let tunnel = client(server.address(), "a", 80, &sink);
    assert!(tunnel.wait(WAIT));
    let mut stream = server.opener().open("holder-a", 80).unwrap();
    let (mut sent, mut waited) = (0, 0);
    let piece = vec![7; 1 << 16];
    while sent < 64 << 20 {
        match stream.write(&piece) {
            Ok(count) => sent += count,
            Err(error) => {
                assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
                waited += 1;
                let mut fds = [rustix::event::PollFd::from_borrowed_fd(
                    stream.writable(),
                    rustix::event::PollFlags::IN,
                )];
                let limit = rustix::event::Timespec {
                    tv_sec: 20,
                    tv_nsec: 0,
                };
                let ready = rustix::event::poll(&mut fds, Some(&limit)).unwrap();
                assert_eq!(ready, 1, "nobody woke the writer");
            }
        }
    }
    println!("waited {waited} times");
    let all = u64::try_from(sent).unwrap();
    holds_within(WAIT, "all has arrived", || {
        tunnel.snapshot().received >= all
    });
}

#[test]
fn a_tunnel_that_ends_is_no_end_of_the_bytes() {
    let (server, echo) = (serve(nowhere()), Target::echo());
    let tunnel = client(server.address(), "a", 80, &echo);
    assert!(tunnel.wait(WAIT));
    let opener = server.opener();
    let mut stream = opener.open("holder-a", 80).unwrap();
    stream.write(b"x").unwrap();
    assert_eq!(read(&mut stream, 1).unwrap(), b"x");
    opener.disconnect("holder-a");
    let end = read(&mut stream, 1).unwrap_err();
    assert_eq!(end.kind(), io::ErrorKind::ConnectionAborted);
    // The client comes back by itself.
    holds_within(WAIT, "it is held again", || {
        tunnel.snapshot().reconnects > 0 && opener.is_held("holder-a", 80)
    });
    tunnel.stop();
    holds_within(WAIT, "it is free", || !opener.is_held("holder-a", 80));
}

#[test]
fn what_a_living_connection_holds_is_not_taken_and_a_dead_ones_is() {
    let (server, echo) = (serve(nowhere()), Target::echo());
    let proxy = Proxy::start(server.address());
    let first = client(proxy.address, "a", 80, &echo);
    assert!(first.wait(WAIT));
    let second = client(server.address(), "a", 80, &echo);
    holds_within(WAIT, "the second is refused", || {
        second.snapshot().error.is_some()
    });
    let other = client(server.address(), "b", 80, &echo);
    assert!(other.wait(WAIT), "its own numbers");
    proxy.faults.up_lost.store(true, Ordering::SeqCst);
    proxy.faults.down_lost.store(true, Ordering::SeqCst);
    second.retry_now();
    assert!(second.wait(WAIT), "{:?}", second.snapshot());
    let mut stream = server.opener().open("holder-a", 80).unwrap();
    stream.write(b"x").unwrap();
    assert_eq!(read(&mut stream, 1).unwrap(), b"x");
}

#[test]
fn denied_and_moved_remotes() {
    let moved = free_port();
    let server = serve(([127, 0, 0, 1], moved).into());
    let echo = Target::echo();
    let denied = client(server.address(), "a", 150, &echo);
    holds_within(WAIT, "the denial", || {
        let snapshot = denied.snapshot();
        snapshot
            .error
            .is_some_and(|error| error.class == Class::PermissionDenied)
    });
    assert_ne!(denied.snapshot().status, Status::Connected);
    let tunnel = client(server.address(), "a", 9999, &echo);
    assert!(tunnel.wait(WAIT), "{:?}", tunnel.snapshot());
    io::Write::write_all(&mut visit(moved), b"x").unwrap();
    assert!(std::net::TcpStream::connect(("127.0.0.1", 9999)).is_err());
}
