//! `postern tunnel-client` and `postern tunnel-server`, as their users run them.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod support;
mod tunnel_support;

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use support::leash::{Leash, Leashed};
use support::postern::{Finished, binary};
use support::{Home, PATIENCE, wait_until};
use tunnel_support::proxy::Proxy;
use tunnel_support::{Target, free_port, visit};

const PASSWORD: &str = "s3cret-Pass";
/// Time in which a command ends after a signal.
const END_WITHIN: Duration = Duration::from_secs(2);

/// A running command.
struct Running {
    process: Leashed,
    home: Home,
}

impl Running {
    fn start(home: Home, env: &[(&str, &str)], args: &[&str]) -> Self {
        let mut leash = Leash::new(binary()).args(args).lending(home.path());
        let own = home.path().to_str().unwrap();
        for (name, value) in [("POSTERN_HOME", own), ("AUTH", "")].iter().chain(env) {
            leash = leash.env(name, value);
        }
        Self {
            process: leash.start(),
            home,
        }
    }

    fn client(server: SocketAddr, args: &[&str]) -> Self {
        let url = format!("ws://{server}");
        let args: Vec<&str> = ["tunnel-client", "-v", &url]
            .into_iter()
            .chain(args.iter().copied())
            .collect();
        let auth = format!("me:{PASSWORD}");
        Self::start(Home::new(), &[("AUTH", &auth)], &args)
    }

    fn says(&self, what: &str) {
        wait_until(
            PATIENCE,
            &format!("{what}: {}", self.process.stderr.text()),
            || self.process.stderr.text().contains(what),
        );
    }

    /// Ends it with a signal; it ends well, and in time.
    fn ends_well(mut self, signal: Signal) -> String {
        let began = Instant::now();
        self.process.signal(signal);
        let status = self.process.wait(PATIENCE).unwrap();
        let took = began.elapsed();
        assert!(took < END_WITHIN, "{took:?}");
        self.process.drained();
        let said = self.process.stdout.text() + &self.process.stderr.text();
        assert_eq!(status.code(), Some(0), "{said}");
        assert!(!said.contains(PASSWORD), "{said}");
        said
    }

    fn address(&self) -> SocketAddr {
        wait_until(PATIENCE, "the server listens", || {
            self.process.stdout.line_after("Listening on ").is_some()
        });
        let line = self.process.stdout.line_after("Listening on ").unwrap();
        line.parse().unwrap()
    }

    /// Its ECDSA key's, which clients prefer.
    fn fingerprint(&self) -> String {
        let line = self.process.stdout.line_after("Fingerprint: ").unwrap();
        line.split(' ').next().unwrap().to_owned()
    }
}

fn server(args: &[&str]) -> Running {
    server_at("127.0.0.1:0", args)
}

fn server_at(listen: &str, args: &[&str]) -> Running {
    let auth = format!("me:{PASSWORD}");
    let args: Vec<&str> = ["tunnel-server", "-v", "--listen", listen]
        .into_iter()
        .chain(args.iter().copied())
        .collect();
    Running::start(Home::new(), &[("AUTH", &auth)], &args)
}

/// Runs a client to its end.
fn client_ends(home: &Home, server: SocketAddr, auth: &str, args: &[&str]) -> Finished {
    let url = format!("ws://{server}");
    let mut all = vec![
        "tunnel-client",
        "-v",
        &url,
        "--auth",
        auth,
        "--max-retry-count",
        "0",
    ];
    all.extend(args);
    home.run(&all)
}

fn failed_with(finished: &Finished, what: &str) {
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(finished.stderr.contains(what), "{what}: {finished:?}");
    assert!(!finished.stderr.contains(PASSWORD), "{finished:?}");
}

fn echoes(port: u16) -> TcpStream {
    let mut visitor = visit(port);
    visitor.write_all(b"there and back").unwrap();
    let mut answer = [0; 14];
    visitor.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"there and back");
    visitor
}

#[test]
fn the_two_commands_forward_and_end_well_with_streams_open() {
    for (to_client, to_server) in [(Signal::INT, Signal::TERM), (Signal::TERM, Signal::INT)] {
        let (server, target, flood) = (server(&[]), Target::echo(), Target::flood());
        let (port, flooded) = (free_port(), free_port());
        let client = Running::client(
            server.address(),
            &[
                &format!("R:127.0.0.1:{port}:127.0.0.1:{}", target.port()),
                &format!("R:127.0.0.1:{flooded}:127.0.0.1:{}", flood.port()),
            ],
        );
        client.says("Connected (Latency ");
        let line = client.process.stderr.text();
        let latency = line.split("Connected (Latency ").nth(1).unwrap();
        let number = latency.split("ms)").next().unwrap();
        let (whole, parts) = number.split_once('.').unwrap();
        assert!(whole.parse::<u32>().is_ok() && parts.len() == 2, "{number}");
        let _open = echoes(port);
        let mut stalled = visit(flooded);
        stalled.read_exact(&mut [0; 1000]).unwrap();
        for process in [&client.process, &server.process] {
            let command_line = std::fs::read(format!("/proc/{}/cmdline", process.pid())).unwrap();
            assert!(!String::from_utf8_lossy(&command_line).contains(PASSWORD));
        }
        client.ends_well(to_client);
        server.ends_well(to_server);
    }
}

#[test]
fn the_server_ends_well_while_a_client_is_there_and_the_client_comes_back() {
    let (first, target, port) = (server(&[]), Target::echo(), free_port());
    let address = first.address();
    let remote = format!("R:127.0.0.1:{port}:127.0.0.1:{}", target.port());
    let client = Running::client(address, &[&remote, "--max-retry-interval", "200ms"]);
    client.says("Connected (Latency ");
    let _open = echoes(port);
    let home = Home::new();
    // The same keys again.
    for name in ["tunnel-server.ecdsa", "tunnel-server.ed25519"] {
        std::fs::create_dir_all(home.path()).unwrap();
        std::fs::copy(first.home.path().join(name), home.path().join(name)).unwrap();
    }
    let said = first.ends_well(Signal::TERM);
    assert!(said.contains("Listening on"), "{said}");
    client.says("next attempt in");
    let auth = format!("me:{PASSWORD}");
    let listen = address.to_string();
    let args = ["tunnel-server", "--listen", &listen];
    let again = Running::start(home, &[("AUTH", &auth)], &args);
    again.address();
    client.says("connected again");
    echoes(port);
    client.ends_well(Signal::TERM);
    again.ends_well(Signal::TERM);
}

#[test]
fn a_client_that_is_not_connected_ends_well_too() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let hanging = Running::client(silent.local_addr().unwrap(), &["R:1:localhost:1"]);
    let (_held, _) = silent.accept().unwrap();
    hanging.ends_well(Signal::INT);
    let closed: SocketAddr = ([127, 0, 0, 1], free_port()).into();
    let waiting = Running::client(closed, &["R:1:localhost:1"]);
    waiting.says("next attempt in");
    waiting.ends_well(Signal::TERM);
}

#[test]
fn a_wrong_password_is_named_and_shown_nowhere() {
    let server = server(&[]);
    for auth in [
        format!("me:{PASSWORD}x"),
        format!("you:{PASSWORD}"),
        "me:".into(),
    ] {
        let finished = client_ends(&Home::new(), server.address(), &auth, &["R:1:localhost:1"]);
        failed_with(&finished, "refused the user name or password");
    }
    server.ends_well(Signal::TERM);
}

#[test]
fn a_file_of_users_says_who_may_listen_where() {
    let dir = tempfile::tempdir().unwrap();
    let (target, port, other) = (Target::echo(), free_port(), free_port());
    let file = dir.path().join("users.json");
    let content = format!(
        r#"{{"me:{PASSWORD}": ["^R:127\\.0\\.0\\.1:{port}$"], "all:{PASSWORD}": [""], "no:{PASSWORD}": []}}"#
    );
    std::fs::write(&file, content).unwrap();
    let server = server(&["--authfile", file.to_str().unwrap(), "--auth", "root:toor"]);
    let address = server.address();
    let to = target.port();
    let denied = |user: &str, remote: &str, named: &str| {
        let auth = format!("{user}:{PASSWORD}");
        let finished = client_ends(&Home::new(), address, &auth, &[remote]);
        failed_with(&finished, &format!("server: access to '{named}' denied"));
    };
    denied(
        "me",
        &format!("R:{port}:localhost:{to}"),
        &format!("R:0.0.0.0:{port}"),
    );
    denied(
        "me",
        &format!("R:127.0.0.1:{other}:localhost:{to}"),
        &format!("R:127.0.0.1:{other}"),
    );
    denied(
        "no",
        &format!("R:127.0.0.1:{port}:localhost:{to}"),
        &format!("R:127.0.0.1:{port}"),
    );
    let remote = format!("R:127.0.0.1:{port}:127.0.0.1:{to}");
    let client = Running::client(address, &[&remote]);
    client.says("Connected (Latency ");
    echoes(port);
    let more = format!("R:127.0.0.1:{other}:127.0.0.1:{to}");
    let url = format!("ws://{address}");
    let root = Running::start(
        Home::new(),
        &[],
        &["tunnel-client", &url, &more, "--auth", "root:toor"],
    );
    root.says("Connected (Latency ");
    echoes(other);
    for process in [client, root, server] {
        process.ends_well(Signal::TERM);
    }
}

#[test]
fn a_file_of_users_that_cannot_be_used_is_named() {
    let dir = tempfile::tempdir().unwrap();
    for content in ["", "[]", "{}", r#"{"s3cret-Pass": []}"#] {
        let file = dir.path().join("users.json");
        std::fs::write(&file, content).unwrap();
        let path = file.to_str().unwrap();
        let finished = Home::new().run(&["tunnel-server", "--authfile", path]);
        failed_with(&finished, path);
    }
    let finished = Home::new().run(&["tunnel-server", "--authfile", "/does/not/exist"]);
    failed_with(&finished, "/does/not/exist");
}

#[test]
fn a_fingerprint_is_held_to() {
    let (server, target, port) = (server(&[]), Target::echo(), free_port());
    let address = server.address();
    let right = server.fingerprint();
    let remote = format!("R:127.0.0.1:{port}:127.0.0.1:{}", target.port());
    let client = Running::client(address, &[&remote, "--fingerprint", &right]);
    client.says("Connected (Latency ");
    echoes(port);
    client.ends_well(Signal::TERM);
    let wrong = "A".repeat(43) + "=";
    let home = Home::new();
    let auth = format!("me:{PASSWORD}");
    let args = [remote.as_str(), "--fingerprint", &wrong];
    let finished = client_ends(&home, address, &auth, &args);
    failed_with(&finished, &wrong);
    failed_with(&finished, &right);
    assert!(!home.path().join("known_servers.json").exists());
    let said = server.ends_well(Signal::TERM);
    assert!(!said.contains("login refused"), "{said}");
}

#[test]
fn a_key_is_pinned_at_first_sight_and_another_is_refused() {
    let (first, target, port) = (server(&[]), Target::echo(), free_port());
    let (address, old) = (first.address(), first.fingerprint());
    let remote = format!("R:127.0.0.1:{port}:127.0.0.1:{}", target.port());
    let client = Running::client(address, &[&remote]);
    client.says("Connected (Latency ");
    let home = client.home.path().to_owned();
    let pins = std::fs::read_to_string(home.join("known_servers.json")).unwrap();
    assert!(
        pins.contains(&address.to_string()) && pins.contains(&old),
        "{pins}"
    );
    first.ends_well(Signal::TERM);
    // Another server, and so other keys, at the same address.
    let second = server_at(&address.to_string(), &[]);
    second.address();
    let new = second.fingerprint();
    client.says("the server's host key is not the known one");
    client.says(&old);
    client.says(&new);
    client.says("known_servers.json");
    let after = std::fs::read_to_string(home.join("known_servers.json")).unwrap();
    assert_eq!(pins, after);
    client.ends_well(Signal::TERM);
    let said = second.ends_well(Signal::TERM);
    assert!(!said.contains("login refused"), "{said}");
}

#[test]
fn attempts_are_counted_and_their_pauses_bounded() {
    let (listener, taken) = (
        TcpListener::bind("127.0.0.1:0").unwrap(),
        Arc::new(Mutex::new(0)),
    );
    let address = listener.local_addr().unwrap();
    let counted = Arc::clone(&taken);
    std::thread::spawn(move || {
        for _ in listener.incoming() {
            *counted.lock().unwrap() += 1;
        }
    });
    let url = format!("ws://{address}");
    let began = Instant::now();
    let args = ["--max-retry-count", "5", "--max-retry-interval", "100ms"];
    let mut all = vec!["tunnel-client", &url, "R:1:localhost:1"];
    all.extend(args);
    let finished = Home::new().run(&all);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert_eq!(*taken.lock().unwrap(), 6, "{finished:?}");
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
    assert!(finished.stderr.contains("giving up"), "{finished:?}");
}

#[test]
fn every_form_of_a_reverse_tcp_remote_is_understood() {
    let (server, target) = (server(&[]), Target::echo());
    let to = target.port();
    let ports: Vec<u16> = (0..6).map(|_| free_port()).collect();
    let remotes = [
        format!("R:{}:{to}", ports[0]),
        format!("R:{}:localhost:{to}", ports[1]),
        format!("R:127.0.0.1:{}:localhost:{to}", ports[2]),
        format!("R:localhost:{}:127.0.0.1:{to}", ports[3]),
        format!("R:0.0.0.0:{}:127.0.0.1:{to}/tcp", ports[4]),
        // The first host from the back is the remote's.
        format!("R:127.0.0.1:{}:{to}", ports[5]),
    ];
    let remotes: Vec<&str> = remotes.iter().map(String::as_str).collect();
    let client = Running::client(server.address(), &remotes);
    client.says("Connected (Latency ");
    for port in ports {
        echoes(port);
    }
    client.ends_well(Signal::TERM);
    // Where a form listens is read from the refusal.
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("users.json");
    std::fs::write(&file, format!(r#"{{"me:{PASSWORD}": ["^$x"]}}"#)).unwrap();
    let strict = self::server(&["--authfile", file.to_str().unwrap(), "--auth", "other:x"]);
    for (remote, named) in [
        ("R:7001", "R:0.0.0.0:7001"),
        ("R:7001:80", "R:0.0.0.0:7001"),
        ("R:example.com:7001", "R:0.0.0.0:7001"),
        ("R:7001:example.com:80", "R:0.0.0.0:7001"),
        ("R:1.2.3.4:7001:example.com:80", "R:1.2.3.4:7001"),
        ("R:[::1]:7001:[::2]:80", "R:[::1]:7001"),
    ] {
        let auth = format!("me:{PASSWORD}");
        let finished = client_ends(&Home::new(), strict.address(), &auth, &[remote]);
        failed_with(&finished, &format!("access to '{named}' denied"));
    }
    strict.ends_well(Signal::TERM);
    server.ends_well(Signal::TERM);
}

#[test]
fn a_wrong_command_line_is_named_and_ends_with_2() {
    for (args, named) in [
        (&["ws://h"][..], "URL REMOTE"),
        (&["ws://h", "R:"], "R:"),
        (&["ws://h", "R:x"], "R:x"),
        (&["ws://h", "R:1:2:3"], "R:1:2:3"),
        (&["ws://h", "R:0:h:80"], "R:0:h:80"),
        (&["ws://h", "R:1:h:65536"], "R:1:h:65536"),
        (&["ws://h", "R:1:h:2:3"], "R:1:h:2:3"),
        (&["ws://h", "R:1:h:53/udp"], "R:1:h:53/udp"),
        (&["ws://h", "R:socks"], "R:socks"),
        (&["ws://h", "3000:h:80"], "3000:h:80"),
        (&["ws://h", "R:1:h:2", "--keepalive", "soon"], "soon"),
        (&["ws://h", "R:1:h:2", "--max-retry-count", "some"], "some"),
        (&["ws://h", "R:1:h:2", "--max-retry-interval", "x"], "x"),
        (&["ws://h", "R:1:h:2", "--header", "nothing"], "header"),
        (&["ws://h", "R:1:h:2", "--proxy", "ftp://x"], "ftp"),
        (&["gopher://h", "R:1:h:2"], "gopher"),
        (&["ws://h", "R:1:h:2", "--hostname", "x"], "--hostname"),
    ] {
        let all: Vec<&str> = ["tunnel-client"].iter().chain(args).copied().collect();
        let finished = Home::new().run(&all);
        assert_eq!(finished.code, Some(2), "{args:?}: {finished:?}");
        assert!(finished.stderr.contains(named), "{args:?}: {finished:?}");
        assert_eq!(finished.stdout, "");
    }
    let finished = Home::new().run(&["tunnel-server", "operand"]);
    assert_eq!(finished.code, Some(2), "{finished:?}");
    let finished = Home::new().run(&["tunnel-server", "--auth", "nobody"]);
    assert_eq!(finished.code, Some(2), "{finished:?}");
}

#[test]
fn a_port_in_use_is_named() {
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let busy = holder.local_addr().unwrap().to_string();
    let finished = Home::new().run(&["tunnel-server", "--listen", &busy]);
    failed_with(&finished, &busy);
    let server = server(&[]);
    let remote = format!("R:{busy}:localhost:1");
    let auth = format!("me:{PASSWORD}");
    let finished = client_ends(&Home::new(), server.address(), &auth, &[&remote]);
    failed_with(&finished, &format!("cannot listen on R:{busy}"));
    server.ends_well(Signal::TERM);
}

/// The head of the first request that comes, on a connection that stays open.
fn head_of(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

#[test]
fn headers_are_sent_along() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let headers = [
        "--header",
        "X-Token: abc def",
        "--header",
        "Host: other.example",
    ];
    let args: Vec<&str> = ["R:1:localhost:1"].into_iter().chain(headers).collect();
    let client = Running::client(address, &args);
    let head = head_of(&mut listener.accept().unwrap().0).to_lowercase();
    assert!(head.contains("\r\nx-token: abc def\r\n"), "{head}");
    assert!(head.contains("\r\nhost: other.example\r\n"), "{head}");
    assert_eq!(head.matches("\r\nhost:").count(), 1, "{head}");
    assert!(
        head.contains("\r\nsec-websocket-protocol: chisel-v3\r\n"),
        "{head}"
    );
    client.ends_well(Signal::TERM);
}

/// A proxy that lets `me:s3cret-Pass` through, for CONNECT only.
fn connect_proxy() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut near in listener.incoming().flatten() {
            let head = head_of(&mut near);
            let to = head
                .strip_prefix("CONNECT ")
                .and_then(|rest| rest.split(' ').next());
            // The base64 of the credentials above.
            if !head.contains("Proxy-Authorization: Basic bWU6czNjcmV0LVBhc3M=\r\n") {
                let refusal =
                    b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n";
                near.write_all(refusal).unwrap();
                continue;
            }
            let far = TcpStream::connect(to.unwrap()).unwrap();
            near.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
                .unwrap();
            for (mut from, mut to) in [
                (near.try_clone().unwrap(), far.try_clone().unwrap()),
                (far, near),
            ] {
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Both);
                });
            }
        }
    });
    address
}

#[test]
fn a_proxy_is_gone_through_with_its_credentials() {
    let (server, proxy, target, port) = (server(&[]), connect_proxy(), Target::echo(), free_port());
    let remote = format!("R:127.0.0.1:{port}:127.0.0.1:{}", target.port());
    let url = format!("http://me:{PASSWORD}@{proxy}");
    let client = Running::client(server.address(), &[&remote, "--proxy", &url]);
    client.says("Connected (Latency ");
    echoes(port);
    client.ends_well(Signal::TERM);
    let wrong = format!("http://me:{PASSWORD}x@{proxy}");
    let auth = format!("me:{PASSWORD}");
    let finished = client_ends(
        &Home::new(),
        server.address(),
        &auth,
        &[&remote, "--proxy", &wrong],
    );
    failed_with(&finished, "proxy");
    server.ends_well(Signal::TERM);
}

#[test]
fn the_keep_alive_is_as_often_as_it_is_told() {
    let server = server(&["--keepalive", "0s"]);
    let proxy = Proxy::start(server.address());
    let sent = || proxy.faults.up_bytes.load(Ordering::SeqCst);
    let port = free_port();
    let remote = format!("R:127.0.0.1:{port}:localhost:1");
    let often = Running::client(proxy.address, &[&remote, "--keepalive", "50ms"]);
    often.says("Connected (Latency ");
    let mut last = sent();
    for _ in 0..5 {
        wait_until(PATIENCE, "another keep-alive", || sent() > last);
        last = sent();
    }
    often.ends_well(Signal::TERM);
    let never = Running::client(proxy.address, &[&remote, "--keepalive", "0s"]);
    never.says("Connected (Latency ");
    let (mut last, mut since) = (sent(), Instant::now());
    wait_until(PATIENCE, "silence for a second", || {
        if sent() != last {
            (last, since) = (sent(), Instant::now());
        }
        since.elapsed() > Duration::from_secs(1)
    });
    never.ends_well(Signal::TERM);
    server.ends_well(Signal::TERM);
}
