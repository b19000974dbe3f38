//! Relays with one state in a database, and HAProxy in front of them.

use std::net::SocketAddr;
use std::sync::Arc;

use super::database::{Database, Options, PASSWORD, USER};
use super::front::Front;
use super::kill_on_drop::KillOnDrop;
use super::postern::{Finished, Home, binary};
use super::relay::Relay;
use super::{TIMEOUT, wait_until};

/// What lets connectors in.
pub const TOKEN: &str = "enrol-token-of-the-fleet";

/// One relay of a fleet.
pub struct Member {
    /// The relay, while it runs.
    pub relay: Option<Relay>,
    home: Arc<Home>,
    args: Vec<String>,
}

/// Relays on one database.
pub struct Fleet {
    /// The database.
    pub database: Database,
    /// The relays.
    pub members: Vec<Member>,
    /// Where a balancer is to listen, whose port visitors use.
    pub port: u16,
}

impl Fleet {
    /// So many relays, each with the links to the others, and `args`.
    #[track_caller]
    pub fn start(relays: usize, args: &[&str]) -> Fleet {
        let database = Database::start_lasting(Options::default());
        database.exec("CREATE DATABASE fleet");
        let port = super::free_port();
        let public = format!("http://localhost:{port}");
        let member = |_| Member::start(&database, &[&["--public-url", &public], args].concat());
        let members: Vec<Member> = (0..relays).map(member).collect();
        let fleet = Fleet {
            database,
            members,
            port,
        };
        fleet.wait_linked();
        fleet
    }

    /// The address of the store.
    pub fn store(&self) -> String {
        store(&self.database)
    }

    /// One of them.
    #[track_caller]
    pub fn relay(&self, at: usize) -> &Relay {
        self.members[at].relay.as_ref().expect("it runs")
    }

    /// Waits until each is linked to all others that run.
    #[track_caller]
    pub fn wait_linked(&self) {
        let running = || self.members.iter().filter_map(|one| one.relay.as_ref());
        wait_until(TIMEOUT, "links", || {
            running().all(|relay| relay.client().get("/health").status() == 200)
        });
    }

    /// HAProxy in front of them all.
    #[track_caller]
    pub fn front(&self) -> Front {
        let relays: Vec<SocketAddr> = self.members.iter().map(Member::address).collect();
        Front::haproxy_of_fleet(&relays, self.port)
    }
}

impl Member {
    /// Another one of the same store.
    #[track_caller]
    pub fn start(database: &Database, args: &[&str]) -> Member {
        let mut all: Vec<String> = ["listen", "tunnel-listen", "peer-listen"]
            .iter()
            .map(|flag| format!("--{flag}=127.0.0.1:{}", super::free_port()))
            .collect();
        all.extend(["--store".to_owned(), store(database)]);
        let common = ["--trust-proxy", "127.0.0.1", "--enroll-token", TOKEN];
        all.extend(common.iter().chain(args).map(|arg| (*arg).to_owned()));
        // What ends with a test has nobody to wait for.
        if !args.contains(&"--drain") {
            all.extend(["--drain".to_owned(), "0".to_owned()]);
        }
        let mut member = Member {
            relay: None,
            home: Arc::new(Home::new()),
            args: all,
        };
        member.begin();
        member
    }

    /// Starts it, again perhaps, where it was.
    #[track_caller]
    pub fn begin(&mut self) {
        let started = self.try_begin(PASSWORD);
        self.relay = Some(started.unwrap_or_else(|failed| panic!("{:?}: {failed:?}", self.args)));
    }

    /// The same with this password of the database's account, for tests of the failure.
    pub fn try_begin(&self, password: &str) -> Result<Relay, Finished> {
        let program = KillOnDrop::new(binary()).env("POSTERN_STORE_PASS", password);
        let args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        Relay::try_start_by(program, &self.home, &args)
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        if let Some(mut relay) = self.relay.take() {
            relay.kill();
        }
    }

    /// Its data directory.
    pub fn data(&self) -> String {
        self.home
            .path()
            .join("relay")
            .to_string_lossy()
            .into_owned()
    }

    /// Where visitors and the balancer come in, whether it runs or not.
    pub fn address(&self) -> SocketAddr {
        let listen = self.args[0].split_once('=').expect("it is --listen=…").1;
        listen.parse().expect("an address")
    }
}

fn store(database: &Database) -> String {
    format!("mysql://{USER}@{}/fleet", database.target())
}
