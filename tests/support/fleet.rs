//! Relays with one state in a database, and HAProxy in front of them. Each relay reaches the database by ways of its own,
//! which can be cut.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::database::{Database, Options, PASSWORD, USER};
use super::fault_proxy::Proxy;
use super::front::Front;
use super::galera::Cluster;
use super::kill_on_drop::KillOnDrop;
use super::postern::{Finished, Home, binary};
use super::relay::Relay;
use super::{TIMEOUT, free_port, wait_until};

/// Enrolment token of the fleet.
pub const TOKEN: &str = "enrol-token-of-the-fleet";

/// Store of the state.
pub enum Store {
    /// One server.
    Single(Box<Database>),
    /// Three nodes.
    Cluster(Cluster),
}

/// One relay of a fleet.
pub struct Member {
    /// The relay, while it runs.
    pub relay: Option<Relay>,
    /// The executable.
    pub program: PathBuf,
    home: Arc<Home>,
    args: Vec<String>,
    /// To each of the database's servers.
    ways: Vec<Proxy>,
}

/// Relays on one store.
pub struct Fleet {
    /// The store.
    pub store: Store,
    /// The relays.
    pub members: Vec<Member>,
    /// Port for a balancer, which visitors use.
    pub port: u16,
}

impl Store {
    /// One MariaDB.
    #[track_caller]
    pub fn single() -> Store {
        Store::Single(Box::new(Database::start_lasting(Options::default())))
    }

    /// Its servers.
    pub fn servers(&self) -> &[Database] {
        match self {
            Store::Single(database) => std::slice::from_ref(database),
            Store::Cluster(cluster) => &cluster.nodes,
        }
    }
}

impl Fleet {
    /// So many relays on one MariaDB, with `args`.
    #[track_caller]
    pub fn start(relays: usize, args: &[&str]) -> Fleet {
        Fleet::on(Store::single(), relays, args)
    }

    /// Starts relays on a store that is there. In `args`, `{PORT}` is the port that visitors use, and `{AT}` the relay's number.
    #[track_caller]
    pub fn on(store: Store, relays: usize, args: &[&str]) -> Fleet {
        Fleet::of(&binary(), store, relays, args)
    }

    /// Starts those of another version.
    #[track_caller]
    pub fn of(program: &Path, store: Store, relays: usize, args: &[&str]) -> Fleet {
        store.servers()[0].exec("CREATE DATABASE IF NOT EXISTS fleet");
        let port = free_port();
        let public = format!("http://localhost:{port}");
        let args = [&["--public-url", &public], args].concat();
        let start = |at: usize| {
            let of_relay = |arg: &&str| {
                arg.replace("{PORT}", &port.to_string())
                    .replace("{AT}", &at.to_string())
            };
            let args: Vec<String> = args.iter().map(of_relay).collect();
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            Member::start(program, store.servers(), &args)
        };
        let members: Vec<Member> = (0..relays).map(start).collect();
        let fleet = Fleet {
            store,
            members,
            port,
        };
        fleet.wait_linked();
        fleet
    }

    /// The first server of the store, past all ways.
    pub fn database(&self) -> &Database {
        &self.store.servers()[0]
    }

    /// The only server of the store, which can be crashed and started again.
    #[track_caller]
    pub fn single(&mut self) -> &mut Database {
        match &mut self.store {
            Store::Single(database) => database,
            Store::Cluster(_) => panic!("it is a cluster"),
        }
    }

    /// The store's address, past all ways.
    pub fn url(&self) -> String {
        format!("mysql://{USER}@{}/fleet", self.database().target())
    }

    /// One of them.
    #[track_caller]
    pub fn relay(&self, at: usize) -> &Relay {
        self.members[at].relay.as_ref().expect("it runs")
    }

    /// Relays that run.
    pub fn running(&self) -> impl Iterator<Item = &Relay> {
        self.members.iter().filter_map(|one| one.relay.as_ref())
    }

    /// Waits until each is linked to all others that run.
    #[track_caller]
    pub fn wait_linked(&self) {
        wait_until(TIMEOUT, "links", || {
            self.running()
                .all(|relay| relay.client().get("/health").status() == 200)
        });
    }

    /// Waits until a relay says that of its store: `ok` or `away`.
    #[track_caller]
    pub fn wait_store(&self, at: usize, state: &str) {
        wait_until(TIMEOUT, "what it says of the store", || {
            self.relay(at).client().get("/health").json()["store"] == state
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
    #[track_caller]
    fn start(program: &Path, servers: &[Database], args: &[&str]) -> Member {
        let ways = servers.iter().map(|server| {
            let target = server.target().parse().expect("it is an address");
            Proxy::start(target)
        });
        let ways: Vec<Proxy> = ways.collect();
        let hosts: Vec<String> = ways.iter().map(|way| way.address.to_string()).collect();
        let mut all: Vec<String> = ["listen", "tunnel-listen", "peer-listen"]
            .iter()
            .filter(|flag| !args.iter().any(|arg| arg.starts_with(&format!("--{flag}"))))
            .map(|flag| format!("--{flag}=127.0.0.1:{}", free_port()))
            .collect();
        all.push(format!("--store=mysql://{USER}@{}/fleet", hosts.join(",")));
        let common = ["--trust-proxy", "127.0.0.1", "--enroll-token", TOKEN];
        all.extend(common.iter().chain(args).map(|arg| (*arg).to_owned()));
        // At the end of a test there is nobody to wait for.
        if !args.contains(&"--drain") {
            all.extend(["--drain".to_owned(), "0".to_owned()]);
        }
        let mut member = Member {
            relay: None,
            program: program.to_owned(),
            home: Arc::new(Home::new()),
            args: all,
            ways,
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

    /// Starts it with this password of the database's account, for tests of the failure.
    pub fn try_begin(&self, password: &str) -> Result<Relay, Finished> {
        let program = KillOnDrop::new(&self.program).env("POSTERN_STORE_PASS", password);
        let args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        Relay::try_start_by(program, &self.home, &args)
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        if let Some(mut relay) = self.relay.take() {
            relay.kill();
        }
    }

    /// It reaches no server of the store from here on.
    pub fn cut_off(&self) {
        for way in &self.ways {
            way.faults.refuses.store(true, Ordering::SeqCst);
            way.cut_all();
        }
    }

    /// It does again.
    pub fn heal(&self) {
        for way in &self.ways {
            way.faults.refuses.store(false, Ordering::SeqCst);
        }
    }

    /// Its data directory.
    pub fn data(&self) -> String {
        let data = self.home.path().join("relay");
        data.to_string_lossy().into_owned()
    }

    /// Address for visitors and the balancer, whether the relay runs or not.
    pub fn address(&self) -> SocketAddr {
        let listen = self.args[0].split_once('=').expect("it is --listen=…").1;
        listen.parse().expect("an address")
    }
}
