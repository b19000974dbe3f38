//! The two commands, running.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::fixture::visit;
use support::kill_on_drop::{KillOnDrop, Leashed};
use support::postern::{Finished, binary};
use support::{Home, TIMEOUT, allowed, wait_until};

pub(crate) const PASSWORD: &str = "s3cret-Pass";
/// Time in which a command ends after a signal.
pub(crate) const END_WITHIN: Duration = Duration::from_secs(2);

/// A running command.
pub(crate) struct Running {
    pub(crate) process: Leashed,
    pub(crate) home: Home,
}

impl Running {
    pub(crate) fn start(home: Home, env: &[(&str, &str)], args: &[&str]) -> Self {
        let mut kill_on_drop = KillOnDrop::new(binary()).args(args).lending(home.path());
        let own = home.path().to_str().unwrap();
        for (name, value) in [("POSTERN_HOME", own), ("AUTH", "")].iter().chain(env) {
            kill_on_drop = kill_on_drop.env(name, value);
        }
        Self {
            process: kill_on_drop.start(),
            home,
        }
    }

    pub(crate) fn client(server: SocketAddr, args: &[&str]) -> Self {
        let url = format!("ws://{server}");
        let args: Vec<&str> = ["tunnel-client", "-v", &url]
            .into_iter()
            .chain(args.iter().copied())
            .collect();
        let auth = format!("me:{PASSWORD}");
        Self::start(Home::new(), &[("AUTH", &auth)], &args)
    }

    pub(crate) fn says(&self, what: &str) {
        wait_until(
            TIMEOUT,
            &format!("{what}: {}", self.process.stderr.text()),
            || self.process.stderr.text().contains(what),
        );
    }

    /// Ends it with a signal; it ends well, and in time.
    pub(crate) fn ends_well(mut self, signal: Signal) -> String {
        let began = Instant::now();
        self.process.signal(signal);
        let status = self.process.wait(TIMEOUT).unwrap();
        let took = began.elapsed();
        assert!(took < allowed(END_WITHIN), "{took:?}");
        self.process.drained();
        let said = self.process.stdout.text() + &self.process.stderr.text();
        assert_eq!(status.code(), Some(0), "{said}");
        assert!(!said.contains(PASSWORD), "{said}");
        said
    }

    pub(crate) fn address(&self) -> SocketAddr {
        wait_until(TIMEOUT, "the server listens", || {
            self.process.stdout.line_after("Listening on ").is_some()
        });
        let line = self.process.stdout.line_after("Listening on ").unwrap();
        line.parse().unwrap()
    }

    /// Its ECDSA key's, which clients prefer.
    pub(crate) fn fingerprint(&self) -> String {
        let line = self.process.stdout.line_after("Fingerprint: ").unwrap();
        line.split(' ').next().unwrap().to_owned()
    }
}

pub(crate) fn server(args: &[&str]) -> Running {
    server_at("127.0.0.1:0", args)
}

pub(crate) fn server_at(listen: &str, args: &[&str]) -> Running {
    let auth = format!("me:{PASSWORD}");
    let args: Vec<&str> = ["tunnel-server", "-v", "--listen", listen]
        .into_iter()
        .chain(args.iter().copied())
        .collect();
    Running::start(Home::new(), &[("AUTH", &auth)], &args)
}

/// Runs a client to its end.
pub(crate) fn client_ends(home: &Home, server: SocketAddr, auth: &str, args: &[&str]) -> Finished {
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

pub(crate) fn failed_with(finished: &Finished, what: &str) {
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(finished.stderr.contains(what), "{what}: {finished:?}");
    assert!(!finished.stderr.contains(PASSWORD), "{finished:?}");
}

pub(crate) fn echoes(port: u16) -> TcpStream {
    let mut visitor = visit(port);
    visitor.write_all(b"there and back").unwrap();
    let mut answer = [0; 14];
    visitor.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"there and back");
    visitor
}
