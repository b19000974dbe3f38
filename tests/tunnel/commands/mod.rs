//! `postern tunnel-client` and `postern tunnel-server`, as their users run them.

mod in_the_middle;
mod network;
mod running;

use std::io::Read;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::fixture::{Target, free_port, visit};
use running::{PASSWORD, Running, client_ends, echoes, failed_with, server, server_at};
use support::{Home, assert_within};

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
    // Keep the keys.
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
    client.says("reconnected");
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
    client.says("the server's host key does not match");
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
    assert_within(began, Duration::from_secs(5));
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
    // The refusal names the address on which a remote would listen.
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("users.json");
    std::fs::write(&file, format!(r#"{{"me:{PASSWORD}": ["^$x"]}}"#)).unwrap();
    let strict = running::server(&["--authfile", file.to_str().unwrap(), "--auth", "other:x"]);
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
    for (args, named) in [
        (&["--port", "70000"][..], "70000"),
        (&["--listen", "127.0.0.1:0", "-p", "1"], "--listen"),
    ] {
        let finished = Home::new().run(&[&["tunnel-server"], args].concat());
        assert_eq!(finished.code, Some(2), "{finished:?}");
        assert!(finished.stderr.contains(named), "{finished:?}");
    }
    let finished = Home::new().run(&["tunnel-server", "--auth", "nobody"]);
    assert_eq!(finished.code, Some(2), "{finished:?}");
}

/// Arguments of a script for `chisel server` work unchanged.
#[test]
fn a_server_is_told_where_to_listen_as_chisel_is() {
    let auth = format!("me:{PASSWORD}");
    for host in ["127.0.0.1", "localhost"] {
        let args = ["tunnel-server", "--host", host, "-p", "0", "--reverse"];
        let server = Running::start(Home::new(), &[("AUTH", &auth)], &args);
        assert!(server.address().ip().is_loopback());
        server.ends_well(Signal::TERM);
    }
    let finished = Home::new().run(&["tunnel-server", "--host", "300.1.1.1", "--port", "0"]);
    failed_with(&finished, "300.1.1.1:0");
}

/// Anybody who reaches it could listen on any port of this machine.
#[test]
fn without_users_it_serves_loopback_alone_unless_that_is_said() {
    let finished = Home::new().run(&["tunnel-server", "--listen", "0.0.0.0:0"]);
    assert_eq!(finished.code, Some(2), "{finished:?}");
    assert!(finished.stderr.contains("--auth USER:PASS"), "{finished:?}");
    for more in [&["--anybody"][..], &["--auth", "me:long enough"]] {
        let args = [&["tunnel-server", "--listen", "0.0.0.0:0"], more].concat();
        let server = Running::start(Home::new(), &[], &args);
        assert!(server.address().ip().is_unspecified());
        server.ends_well(Signal::TERM);
    }
}

#[test]
fn a_port_in_use_is_named() {
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let busy = holder.local_addr().unwrap().to_string();
    let finished = Home::new().run(&["tunnel-server", "--listen", &busy]);
    failed_with(&finished, &busy);
    let used_by = format!("(process {})", std::process::id());
    assert!(finished.stderr.contains(&used_by), "{finished:?}");
    let server = server(&[]);
    let remote = format!("R:{busy}:localhost:1");
    let auth = format!("me:{PASSWORD}");
    let finished = client_ends(&Home::new(), server.address(), &auth, &[&remote]);
    failed_with(&finished, &format!("cannot listen on R:{busy}"));
    server.ends_well(Signal::TERM);
}
