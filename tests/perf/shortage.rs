//! Ends of a tunnel that are short of descriptors or threads: streams that are open live, visitors wait or are
//! turned away, and when there is room again all is as before.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::chown;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::tunnel_fixture::{Target, free_port, visit};
use support::kill_on_drop::{KillOnDrop, Leashed};
use support::postern::{binary, status_field};
use support::{Home, TIMEOUT, wait_until};

/// A user that nobody else is: threads are counted by user, and not at all for root.
fn nobody_else() -> u32 {
    static USED: AtomicU32 = AtomicU32::new(0);
    20_000 + std::process::id() % 4000 * 10 + USED.fetch_add(1, Ordering::Relaxed) % 10
}

/// The limit up to which the others may be raised again. Default 5000: it is never reached.
const MOST_THREADS: u32 = 5000;

/// Limit for a process.
#[derive(Clone, Copy)]
enum Limit {
    None,
    Descriptors(u32),
    Threads(u32),
}

/// A command under a limit.
struct Limited {
    process: Leashed,
    /// First words of a command that runs as the same user.
    as_user: Vec<String>,
    _home: Home,
}

impl Limited {
    fn start(limit: Limit, args: &[&str]) -> Self {
        let home = Home::new();
        let as_user = match limit {
            Limit::Threads(_) => as_user(&home),
            _ => Vec::new(),
        };
        let mut command = as_user.clone();
        match limit {
            Limit::None => {}
            Limit::Descriptors(count) => {
                command.extend(["prlimit".into(), format!("--nofile={count}")])
            }
            Limit::Threads(count) => {
                let count = count + threads_of_others();
                command.extend(["prlimit".into(), format!("--nproc={count}:{MOST_THREADS}")]);
            }
        }
        command.push(binary().to_string_lossy().into_owned());
        command.extend(args.iter().map(|&arg| arg.to_owned()));
        let (program, args) = command.split_first().unwrap();
        let process = KillOnDrop::new(program)
            .args(args)
            .lending(home.path())
            .env("POSTERN_HOME", home.path())
            .start();
        Self {
            process,
            as_user,
            _home: home,
        }
    }

    fn server(limit: Limit) -> (Self, SocketAddr) {
        let server = Self::start(limit, &["tunnel-server", "-v", "--listen", "127.0.0.1:0"]);
        wait_until(TIMEOUT, "the server listens", || {
            server.process.stdout.line_after("Listening on ").is_some()
        });
        let address = server.process.stdout.line_after("Listening on ").unwrap();
        (server, address.parse().unwrap())
    }

    fn client(limit: Limit, server: SocketAddr, port: u16, target: u16) -> Self {
        let (url, remote) = (
            format!("ws://{server}"),
            format!("R:127.0.0.1:{port}:127.0.0.1:{target}"),
        );
        let client = Self::start(limit, &["tunnel-client", "-v", &url, &remote]);
        wait_until(TIMEOUT, "the client is connected", || {
            client.process.stderr.text().contains("Connected (Latency ")
        });
        client
    }

    /// Changes how many threads its user may have.
    fn limit_threads_to(&self, count: u32) {
        let mut command = self.as_user.clone();
        let pid = self.process.pid().to_string();
        let limit = format!("--nproc={count}:{MOST_THREADS}");
        command.extend(["prlimit".to_owned(), "--pid".to_owned(), pid, limit]);
        let (program, args) = command.split_first().unwrap();
        let status = Command::new(program).args(args).status().unwrap();
        assert!(status.success());
    }

    fn descriptors(&self) -> usize {
        let listed = std::fs::read_dir(format!("/proc/{}/fd", self.process.pid()));
        listed.unwrap().count()
    }

    fn threads(&self) -> u64 {
        status_field(self.process.pid(), "Threads:")
    }

    fn said(&self) -> String {
        self.process.stderr.text()
    }
}

/// Runs what follows as a user with no other processes. Who is not root cannot: see [`threads_of_others`].
fn as_user(home: &Home) -> Vec<String> {
    if !rustix::process::geteuid().is_root() {
        return Vec::new();
    }
    let user = nobody_else();
    chown(home.path(), Some(user), Some(user)).unwrap();
    let id = |name| format!("--{name}={user}");
    // Keep root's right to read files, for the program in a private directory.
    let may = ["--inh-caps=+dac_override", "--ambient-caps=+dac_override"];
    [
        "setpriv".into(),
        id("reuid"),
        id("regid"),
        "--clear-groups".into(),
    ]
    .into_iter()
    .chain(may.map(str::to_owned))
    .collect()
}

/// Threads that count beside those of the process under test.
fn threads_of_others() -> u32 {
    if rustix::process::geteuid().is_root() {
        return 0;
    }
    let user = rustix::process::getuid().as_raw().to_string();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| std::fs::read_to_string(process.path().join("status")).ok())
        .filter(|status| field(status, "Uid:") == Some(&user))
        .filter_map(|status| field(&status, "Threads:")?.parse::<u32>().ok())
        .sum()
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()
}

fn echoes(visitor: &mut TcpStream) -> bool {
    let mut answer = [0; 4];
    visitor.write_all(b"echo").is_ok()
        && visitor.read_exact(&mut answer).is_ok()
        && answer == *b"echo"
}

/// Sends as much as goes now, and reads nothing of what comes back: a quiet stream would need no thread.
fn flood(visitor: &mut TcpStream) {
    visitor.set_nonblocking(true).unwrap();
    // A rejected visitor learns it now or later.
    while visitor.write(&[0; 16 * 1024]).is_ok_and(|count| count > 0) {}
}

/// More visitors than there is room for, while one is there; then room again.
fn survives(limited: &Limited, port: u16, is_short: impl Fn(&str) -> bool) {
    wait_until(TIMEOUT, "a visitor gets through", || {
        echoes(&mut visit(port))
    });
    let mut live = visit(port);
    assert!(echoes(&mut live));
    let (descriptors, threads) = (limited.descriptors(), limited.threads());
    let mut crowd: Vec<TcpStream> = (0..60).map(|_| visit(port)).collect();
    wait_until(
        TIMEOUT,
        &format!("it is short of it: {}", limited.said()),
        || {
            crowd.iter_mut().for_each(flood);
            is_short(&limited.said())
        },
    );
    for _ in 0..20 {
        assert!(
            echoes(&mut live),
            "the stream that was there lives: {}",
            limited.said()
        );
    }
    drop(crowd);
    wait_until(TIMEOUT, "there is room again", || {
        limited.descriptors() <= descriptors && limited.threads() <= threads
    });
    assert!(echoes(&mut live), "{}", limited.said());
    for _ in 0..10 {
        let mut visitor = visit(port);
        visitor
            .set_read_timeout(Some(Duration::from_secs(5)))
            .unwrap();
        assert!(echoes(&mut visitor), "{}", limited.said());
    }
    assert!(!limited.said().contains("panicked"), "{}", limited.said());
}

#[test]
fn a_server_short_of_descriptors_survives() {
    let (target, port) = (Target::echo(), free_port());
    let (server, address) = Limited::server(Limit::Descriptors(40));
    let _client = Limited::client(Limit::None, address, port, target.port());
    // It knows how many it may have, and turns visitors away before it is short.
    survives(&server, port, |said| said.contains("too many visitors"));
    assert!(!server.said().contains("Too many open files"));
}

#[test]
fn a_client_short_of_descriptors_survives() {
    let (target, port) = (Target::echo(), free_port());
    let (_server, address) = Limited::server(Limit::None);
    let client = Limited::client(Limit::Descriptors(40), address, port, target.port());
    // It knows how many streams it may have, and refuses more before it is short.
    survives(&client, port, |said| said.contains("no more are accepted"));
    assert!(!client.said().contains("Too many open files"));
}

#[test]
fn a_server_short_of_threads_survives() {
    let (target, port) = (Target::echo(), free_port());
    let (server, address) = Limited::server(Limit::Threads(25));
    let _client = Limited::client(Limit::None, address, port, target.port());
    survives(&server, port, |said| said.contains("no thread"));
}

#[test]
fn a_client_short_of_threads_survives() {
    let (target, port) = (Target::echo(), free_port());
    let (_server, address) = Limited::server(Limit::None);
    let client = Limited::client(Limit::Threads(25), address, port, target.port());
    survives(&client, port, |said| said.contains("no thread"));
}

/// Connecting needs a thread, too: it is tried until there is one.
#[test]
fn a_client_that_gets_no_thread_says_so_and_tries_again() {
    let address: SocketAddr = ([127, 0, 0, 1], free_port()).into();
    let url = format!("ws://{address}");
    let remote = format!("R:127.0.0.1:{}:localhost:1", free_port());
    let args = [
        "tunnel-client",
        &url,
        &remote,
        "--max-retry-interval",
        "300ms",
    ];
    let mut client = Limited::start(Limit::Threads(25), &args);
    let says = |client: &Limited, what: &str| {
        wait_until(TIMEOUT, &format!("{what}: {}", client.said()), || {
            client.said().contains(what)
        });
    };
    says(&client, "next attempt in");
    client.limit_threads_to(1);
    let listen = address.to_string();
    let _server = Limited::start(Limit::None, &["tunnel-server", "--listen", &listen]);
    says(&client, "short of resources");
    assert!(client.process.ended().is_none());
    client.limit_threads_to(1000);
    says(&client, "Connected (Latency ");
    assert!(!client.said().contains("panicked"), "{}", client.said());
}

#[test]
fn a_share_that_gets_no_thread_says_what_to_raise() {
    for count in [6, 12, 18] {
        let mut share = Limited::start(Limit::Threads(count), &["http", "9"]);
        let ended = share.process.wait(TIMEOUT).and_then(|status| status.code());
        share.process.drained();
        let said = share.said();
        assert_eq!(ended, Some(1), "{count}: {said}");
        assert!(
            said.contains("raise the limit of threads"),
            "{count}: {said}"
        );
        assert!(!said.contains("fault of the program"), "{count}: {said}");
    }
}
