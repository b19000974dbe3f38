//! Environment of the soak: a relay, two managers with ten applications, a database, and fault proxies on every way
//! between them.
//!
//! ```text
//! visitors ──visits──> relay <──tunnels── managers ──applications──> application
//!                        ^────calls──────────┘  └─────database─────> MariaDB
//! ```

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::database::{Options, PASSWORD, USER};
use support::fault_proxy::Proxy;
use support::manager::Manager;
use support::relay::Relay;
use support::{Database, Home, free_port, holds_within};

use crate::application;
use crate::ledger::Ledger;
use crate::visitor::Places;

/// Time in which everything is connected again once nothing hinders it.
const RETURN: Duration = Duration::from_secs(120);
/// Addresses of the proxies before the relay: the same ports on other addresses of loopback.
const OF_MANAGERS: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const OF_VISITORS: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);

pub(crate) const MANAGERS: usize = 2;
/// Applications of each manager: their sites, or `tcp` for a public port.
const SITES: [[&str; 5]; MANAGERS] = [
    ["web", "slow", "hidden", "large", "tcp"],
    ["events", "frames", "database", "upload", "tcp"],
];

/// A process that is killed and started again.
type Killable<T> = Mutex<Option<T>>;

pub(crate) struct World {
    relay: Killable<Relay>,
    relay_home: Arc<Home>,
    relay_args: Vec<String>,
    managers: [Killable<Manager>; MANAGERS],
    manager_homes: [Arc<Home>; MANAGERS],
    manager_args: [String; 2],
    /// Identifiers of each manager's applications.
    ids: [Vec<String>; MANAGERS],
    database: Mutex<Database>,
    /// By the name of the way.
    pub(crate) ways: Vec<(&'static str, Proxy)>,
    pub(crate) places: Places,
    /// Output of processes that were killed.
    said: Mutex<String>,
}

/// Resources of a process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    pub(crate) rss_kib: u64,
    pub(crate) threads: u64,
    pub(crate) files: u64,
}

impl Figures {
    fn of(pid: u32) -> Self {
        let files = std::fs::read_dir(format!("/proc/{pid}/fd")).expect("it runs");
        Self {
            rss_kib: support::postern::status_field(pid, "VmRSS:"),
            threads: support::postern::status_field(pid, "Threads:"),
            files: files.count() as u64,
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    /// Everything connected.
    pub(crate) fn start(ledger: &Arc<Ledger>) -> Self {
        let database = Database::start_lasting(Options::default());
        // Nothing in the table keeps a number from being there twice.
        database
            .exec("CREATE DATABASE soak; CREATE TABLE soak.ran (number BIGINT UNSIGNED NOT NULL)");
        let [gateway, tunnels] = [free_port(), free_port()];
        let relay_args = vec![
            format!("--listen=127.0.0.1:{gateway}"),
            format!("--tunnel-listen=127.0.0.1:{tunnels}"),
            format!("--external-ip={OF_MANAGERS}"),
        ];
        let at = |ip: Ipv4Addr, port: u16| SocketAddr::from((ip, port));
        let real = |port: u16| at(Ipv4Addr::LOCALHOST, port);
        let http = application::http(ledger);
        let raw = application::raw();
        let ways = vec![
            (
                "visits",
                Proxy::start_at(at(OF_VISITORS, gateway), real(gateway)),
            ),
            (
                "calls",
                Proxy::start_at(at(OF_MANAGERS, gateway), real(gateway)),
            ),
            (
                "tunnels",
                Proxy::start_at(at(OF_MANAGERS, tunnels), real(tunnels)),
            ),
            ("application", Proxy::start(real(http))),
            ("raw application", Proxy::start(real(raw))),
            ("database", Proxy::start(real(database.port()))),
        ];
        let home = |_| Arc::new(Home::with_plugin());
        let mut world = Self {
            relay: Mutex::default(),
            relay_home: Arc::new(Home::new()),
            relay_args,
            managers: Default::default(),
            manager_homes: [home(0), home(1)],
            manager_args: [
                "--server".to_owned(),
                format!("http://{OF_MANAGERS}:{gateway}"),
            ],
            ids: Default::default(),
            database: Mutex::new(database),
            places: Places {
                gateway: at(OF_VISITORS, gateway),
                port: gateway,
                open: Vec::new(),
                hidden: Default::default(),
                database: String::new(),
                tcp: Vec::new(),
            },
            ways,
            said: Mutex::default(),
        };
        world.start_relay();
        for number in 0..MANAGERS {
            world.start_manager(number);
            world.share(number);
        }
        world
    }

    fn way(&self, name: &str) -> &Proxy {
        let found = self.ways.iter().find(|(way, _)| *way == name);
        &found.expect("there is such a way").1
    }

    /// Adds a manager's applications, connects them, and notes where they are.
    fn share(&mut self, number: usize) {
        let port = |way: &str| self.way(way).address.port();
        let [http, raw, database] = ["application", "raw application", "database"].map(port);
        let manager = lock(&self.managers[number]).take().expect("it was started");
        for site in SITES[number] {
            let app = match site {
                "tcp" => json!({"protocol": "tcp", "port": raw}),
                "database" => {
                    json!({"protocol": "mysql", "ip": "127.0.0.1", "port": database, "db_user": USER,
                    "db_pass": PASSWORD, "db_readonly": false, "invisible": false, "site_name": site})
                }
                "hidden" => {
                    json!({"protocol": "http", "port": http, "invisible": true, "site_name": site})
                }
                _ => json!({"protocol": "http", "port": http, "site_name": site}),
            };
            let mut app = app;
            app["autoconnect"] = json!(true);
            app["display_name"] = json!(format!("{site} of {number}"));
            let id = manager.add(&app);
            let connected = manager.connected(&id);
            self.note(site, &connected);
            self.ids[number].push(id);
        }
        *lock(&self.managers[number]) = Some(manager);
    }

    fn note(&mut self, site: &str, connected: &Value) {
        let text = |name: &str| connected[name].as_str().unwrap_or_default().to_owned();
        match site {
            "tcp" => {
                let port = text("site_url").rsplit(':').next().map(str::to_owned);
                let port = port.and_then(|port| port.trim_end_matches('/').parse().ok());
                let port = port.unwrap_or_else(|| panic!("no port: {connected}"));
                self.places.tcp.push((Ipv4Addr::LOCALHOST, port).into());
            }
            "database" => self.places.database = site.to_owned(),
            "hidden" => {
                let url = text("auth_url");
                let path = url.splitn(4, '/').nth(3);
                let path = path.unwrap_or_else(|| panic!("no way in: {connected}"));
                self.places.hidden = (site.to_owned(), format!("/{path}"));
            }
            _ => self.places.open.push(site.to_owned()),
        }
    }

    fn start_relay(&self) {
        let args: Vec<&str> = self.relay_args.iter().map(String::as_str).collect();
        *lock(&self.relay) = Some(Relay::start_in(&self.relay_home, &args));
    }

    fn start_manager(&self, number: usize) {
        let args: Vec<&str> = self.manager_args.iter().map(String::as_str).collect();
        let manager = Manager::start_in(&self.manager_homes[number], &args);
        *lock(&self.managers[number]) = Some(manager);
    }

    /// Kills a process, waits, and starts it again.
    pub(crate) fn kill(&self, process: Process, down: Duration) {
        match process {
            Process::Relay => {
                let relay = lock(&self.relay).take();
                let mut relay = relay.expect("it runs");
                relay.kill();
                self.keep(&relay.stderr());
                drop(relay);
                std::thread::sleep(down);
                self.start_relay();
            }
            Process::Manager(number) => {
                let manager = lock(&self.managers[number]).take();
                let mut manager = manager.expect("it runs");
                manager.kill();
                self.keep(&manager.stderr());
                drop(manager);
                std::thread::sleep(down);
                self.start_manager(number);
            }
            Process::Database => {
                let mut database = lock(&self.database);
                database.crash();
                std::thread::sleep(down);
                database.restart();
            }
        }
    }

    fn keep(&self, said: &str) {
        lock(&self.said).push_str(said);
    }

    /// Takes all faults away.
    pub(crate) fn heal(&self) {
        for (_, proxy) in &self.ways {
            proxy.heal();
        }
    }

    /// Waits until every application is connected.
    pub(crate) fn all_connected(&self) {
        let began = Instant::now();
        let missing = || -> Vec<String> {
            let managers = self.managers.iter().zip(&self.ids);
            let of_manager = |(manager, ids): (&Killable<Manager>, &Vec<String>)| {
                let manager = lock(manager);
                let manager = manager.as_ref().expect("it runs");
                let status = |id: &String| manager.status(id);
                let statuses: Vec<Value> = ids.iter().map(status).collect();
                statuses
            };
            let statuses = managers.flat_map(of_manager);
            let missing = statuses.filter(|status| status["status"] != "connected");
            missing.map(|status| status.to_string()).collect()
        };
        if !holds_within(RETURN, || missing().is_empty()) {
            panic!(
                "not connected within {RETURN:?}: {:#?}\n{}",
                missing(),
                self.all_said()
            );
        }
        println!("everything is connected after {:.1?}", began.elapsed());
    }

    /// Resources of the product's processes, once they are stable or the time is over.
    pub(crate) fn settled(&self) -> Vec<(String, Figures)> {
        const STILL: u32 = 3;
        let deadline = Instant::now() + Duration::from_secs(45);
        let mut before = self.figures();
        let mut still = 0;
        while still < STILL && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1_000));
            let now = self.figures();
            let same = |(a, b): (&(String, Figures), &(String, Figures))| {
                (a.1.threads, a.1.files) == (b.1.threads, b.1.files)
            };
            still = if before.iter().zip(&now).all(same) {
                still + 1
            } else {
                0
            };
            before = now;
        }
        before
    }

    fn figures(&self) -> Vec<(String, Figures)> {
        let relay = lock(&self.relay).as_ref().map(Relay::pid);
        let mut figures = vec![("relay".to_owned(), Figures::of(relay.expect("it runs")))];
        for (number, manager) in self.managers.iter().enumerate() {
            let pid = lock(manager).as_ref().map(Manager::pid);
            figures.push((
                format!("manager {number}"),
                Figures::of(pid.expect("it runs")),
            ));
        }
        figures
    }

    /// All numbers in the table, with how often each is there.
    pub(crate) fn rows(&self) -> Vec<(u64, u64)> {
        let database = lock(&self.database);
        let rows =
            database.column("SELECT CONCAT(number, ' ', COUNT(*)) FROM soak.ran GROUP BY number");
        let read = |row: &String| {
            let (number, count) = row.split_once(' ')?;
            Some((number.parse().ok()?, count.parse().ok()?))
        };
        rows.iter().filter_map(read).collect()
    }

    /// Everything that relay and managers have logged, those included that were killed.
    pub(crate) fn all_said(&self) -> String {
        let mut all = lock(&self.said).clone();
        all.extend(lock(&self.relay).as_ref().map(Relay::stderr));
        for manager in &self.managers {
            all.extend(lock(manager).as_ref().map(Manager::stderr));
        }
        all
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Process {
    Relay,
    Manager(usize),
    Database,
}

/// Each of them.
pub(crate) const PROCESSES: [Process; 4] = [
    Process::Relay,
    Process::Manager(0),
    Process::Manager(1),
    Process::Database,
];

impl std::fmt::Display for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Relay => f.write_str("the relay"),
            Self::Manager(number) => write!(f, "manager {number}"),
            Self::Database => f.write_str("the database"),
        }
    }
}
