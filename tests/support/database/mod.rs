//! Private database servers: the MariaDB that is installed, or whatever `POSTERN_TEST_SERVER` names.

mod server;
mod template;
mod zones;

pub use server::{Kind, Server};
pub use zones::{MOMENTS, ZONES};

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use tempfile::TempDir;

use super::kill_on_drop::{KillOnDrop, Leashed};
use super::{TIMEOUT, free_port, holds_within};

/// Name of the account that tests use over TCP; it may do everything.
pub const USER: &str = "app";
/// Its password.
pub const PASSWORD: &str = "secret";
/// An account of the same password that may only read.
pub const READER: &str = "reader";
/// An account of the same password that authenticates by MariaDB's ed25519 ([`Options::ed25519`]).
pub const ED25519_USER: &str = "ed";

/// Time in which a server must answer after its start.
const START_PATIENCE: Duration = Duration::from_secs(120);

/// Number of ports to try when somebody took the one we found free.
const PORT_ATTEMPTS: usize = 5;

/// Settings that make a throw-away server quick to start and small.
const THROW_AWAY: &[&str] = &[
    "--no-defaults",
    "--bind-address=127.0.0.1",
    "--character-set-server=utf8mb4",
    "--skip-name-resolve",
    "--innodb-buffer-pool-size=64M",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-doublewrite=0",
    "--innodb-fast-shutdown=2",
    "--key-buffer-size=1M",
    "--max-allowed-packet=64M",
];

/// Changed settings of a server that must survive a crash.
const LASTING: [&str; 2] = [
    "--innodb-flush-log-at-trx-commit=1",
    "--innodb-doublewrite=1",
];

/// Settings of a temporary server for MySQL alone, whose defaults are made for a machine of its own. An empty
/// `secure_file_priv` is MariaDB's default.
const THROW_AWAY_MYSQL: &[&str] = &["--mysqlx=OFF", "--skip-log-bin", "--secure-file-priv="];

/// Extra features of a server.
#[derive(Clone, Default)]
pub struct Options {
    /// Offers TLS with a certificate for `127.0.0.1` and `localhost`, signed by an authority of its own.
    pub tls: bool,
    /// Loads `auth_ed25519` and creates [`ED25519_USER`]; MariaDB has it, MySQL does not.
    pub ed25519: bool,
    /// Further arguments for the server.
    pub args: Vec<String>,
    /// SQL to run before anybody can connect, one statement a line.
    pub init: String,
    /// Another server than the chosen one.
    pub server: Option<Server>,
}

/// A running server, ended and removed on drop.
pub struct Database {
    server: Server,
    process: Leashed,
    dir: PathBuf,
    port: u16,
    /// Start options and the remaining directory, if the server can be started again.
    kept: Option<(Options, TempDir)>,
    /// The tables of [`Database::numbers`].
    numbers: Mutex<BTreeSet<u32>>,
}

impl Database {
    /// Starts a server of one's own.
    pub fn start(options: Options) -> Database {
        Database::start_as(&options, false)
    }

    /// Starts a server that keeps committed data after a crash: [`Database::restart`].
    pub fn start_lasting(mut options: Options) -> Database {
        options.args.splice(0..0, LASTING.map(str::to_owned));
        Database::start_as(&options, true)
    }

    fn start_as(options: &Options, is_lasting: bool) -> Database {
        let mut failure = String::new();
        for _ in 0..PORT_ATTEMPTS {
            match Database::attempt(options, is_lasting) {
                Ok(server) => return server,
                Err(log) => failure = log,
            }
            if !failure.contains("Address already in use") {
                break;
            }
        }
        panic!("the database server does not start:\n{failure}");
    }

    /// The server that the tests of one binary share; ended with the test process.
    pub fn shared() -> &'static Database {
        static SHARED: OnceLock<Database> = OnceLock::new();
        SHARED.get_or_init(|| Database::start(Options::default()))
    }

    fn attempt(options: &Options, is_lasting: bool) -> Result<Database, String> {
        let chosen = options.server.as_ref();
        let server = chosen.unwrap_or_else(|| Server::chosen()).clone();
        let guard = private_dir();
        let dir = guard.path().to_owned();
        template::copy_to(&dir.join("data"), &server);
        let port = free_port();
        let program = program(&server, options, &dir, port);
        let (process, kept) = if is_lasting {
            let process = program.lending(&dir).start();
            (process, Some((options.clone(), guard)))
        } else {
            (program.owning(guard).start(), None)
        };
        let mut server = Database {
            server,
            process,
            dir,
            port,
            kept,
            numbers: Mutex::default(),
        };
        if server.answers_in_time() {
            return Ok(server);
        }
        server.process.kill();
        server.process.drained();
        Err(server.log())
    }

    fn answers_in_time(&mut self) -> bool {
        let mut ended = false;
        let ready = holds_within(START_PATIENCE, || {
            ended = self.process.ended().is_some();
            ended || self.try_conn().is_ok()
        });
        ready && !ended
    }

    /// Starts it again after a [`Database::crash`], at the same port, with what it has on disk.
    pub fn restart(&mut self) {
        let (options, _) = self.kept.as_ref().expect("Database::start_lasting");
        let program = program(&self.server, options, &self.dir, self.port);
        self.process = program.lending(&self.dir).start();
        assert!(self.answers_in_time(), "it is down: {}", self.log());
    }

    /// Maker of the server.
    pub fn kind(&self) -> Kind {
        self.server.kind()
    }

    /// Its version: major, minor and patch.
    pub fn version(&self) -> (u16, u16, u16) {
        self.server.version()
    }

    /// TCP port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// `127.0.0.1:PORT`, the target to give to `postern mysql`.
    pub fn target(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The Unix socket; `root` needs no password there.
    pub fn socket(&self) -> PathBuf {
        self.dir.join("s")
    }

    /// The certificate of the authority that signed the server's ([`Options::tls`]).
    pub fn ca(&self) -> PathBuf {
        self.dir.join("ca.pem")
    }

    /// The server's data directory.
    pub fn data_dir(&self) -> PathBuf {
        self.dir.join("data")
    }

    /// Process id of the server.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Log of the server.
    pub fn log(&self) -> String {
        self.process.stderr.text()
    }

    /// A connection as `root`, apart from the program under test.
    pub fn conn(&self) -> Conn {
        self.try_conn()
            .unwrap_or_else(|e| panic!("the database does not answer: {e}\n{}", self.log()))
    }

    fn try_conn(&self) -> mysql::Result<Conn> {
        let socket = self.socket().to_string_lossy().into_owned();
        let opts = OptsBuilder::new().socket(Some(socket)).user(Some("root"));
        Conn::new(opts)
    }

    /// Runs statements separated by semicolons.
    #[track_caller]
    pub fn exec(&self, sql: &str) {
        let mut conn = self.conn();
        let outcome = conn.query_iter(sql).and_then(|mut results| {
            // Each further result set may carry an error of its own.
            while let Some(set) = results.iter() {
                set.collect::<mysql::Result<Vec<_>>>()?;
            }
            Ok(())
        });
        outcome.unwrap_or_else(|e| panic!("{e}\nin: {sql:.400}"));
    }

    /// First column of every row, as text.
    #[track_caller]
    pub fn column(&self, sql: &str) -> Vec<String> {
        let rows: Vec<Option<String>> = self
            .conn()
            .query(sql)
            .unwrap_or_else(|e| panic!("{e}\nin: {sql:.400}"));
        rows.into_iter()
            .map(|v| v.unwrap_or_else(|| "NULL".to_owned()))
            .collect()
    }

    /// First column of the first row, as text.
    #[track_caller]
    pub fn value(&self, sql: &str) -> String {
        let first = self.column(sql).into_iter().next();
        first.unwrap_or_else(|| panic!("no row: {sql:.400}"))
    }

    /// A table for a `FROM` whose column `seq` counts from 1 to `last`, at most a million, in that order: MariaDB's
    /// sequence engine, or a table on a server without one.
    pub fn numbers(&self, last: u32) -> String {
        let name = format!("seq_1_to_{last}");
        if self.kind() == Kind::MariaDb {
            return name;
        }
        let mut made = self.numbers.lock().unwrap();
        if made.insert(last) {
            self.exec(&format!(
                "CREATE DATABASE IF NOT EXISTS numbers; CREATE TABLE numbers.{name} (seq BIGINT PRIMARY KEY); \
                 INSERT INTO numbers.{name} WITH digit AS (SELECT 0 AS d {}) \
                 SELECT 1 + a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d + 100000 * g.d AS n \
                 FROM digit a, digit b, digit c, digit e, digit f, digit g HAVING n <= {last} ORDER BY n",
                (1..10).map(|d| format!("UNION ALL SELECT {d} ")).collect::<String>()
            ));
        }
        format!("numbers.{name}")
    }

    /// Number of running statements whose text contains `part`.
    pub fn running(&self, part: &str) -> usize {
        let list = self.column(&format!(
            "SELECT info FROM {} WHERE info IS NOT NULL AND id <> CONNECTION_ID()",
            self.process_list()
        ));
        list.iter().filter(|sql| sql.contains(part)).count()
    }

    /// The table of connections. MySQL's older one cannot show every character.
    pub fn process_list(&self) -> &'static str {
        match self.kind() {
            Kind::MySql => "performance_schema.processlist",
            Kind::MariaDb => "information_schema.processlist",
        }
    }

    /// Ends the server at once, as a crash would.
    pub fn crash(&mut self) {
        // Its watchdog stays, and leaves the directory of one that lasts where it is.
        self.process.signal(rustix::process::Signal::KILL);
        self.process.wait(TIMEOUT);
    }
}

/// The server's program, for a directory and a port.
fn program(server: &Server, options: &Options, dir: &Path, port: u16) -> KillOnDrop {
    let mut command_line = server.command_line(server.daemon()).into_iter();
    KillOnDrop::new(command_line.next().expect("a program has a name"))
        .env("PATH", server::tool_path())
        .args(command_line)
        .args(THROW_AWAY)
        .args(kind_arguments(server.kind()))
        .args(server.place_arguments())
        .args(as_root())
        .args(dir_arguments(dir, port))
        .args(feature_arguments(options, dir))
        .args(&options.args)
}

fn kind_arguments(kind: Kind) -> Vec<&'static str> {
    let own = match kind {
        Kind::MySql => THROW_AWAY_MYSQL,
        Kind::MariaDb => &[],
    };
    own.iter()
        .copied()
        .chain([template::log_size(kind)])
        .collect()
}

/// A starting server removes the temporary tables of every server it shares a temporary directory with.
fn dir_arguments(dir: &Path, port: u16) -> [String; 6] {
    let dir = dir.display();
    [
        format!("--datadir={dir}/data"),
        format!("--socket={dir}/s"),
        format!("--pid-file={dir}/pid"),
        format!("--init-file={dir}/init.sql"),
        format!("--port={port}"),
        format!("--tmpdir={dir}"),
    ]
}

fn feature_arguments(options: &Options, dir: &Path) -> Vec<String> {
    let mut args = Vec::new();
    let mut init = format!(
        "CREATE USER IF NOT EXISTS {USER}@'%' IDENTIFIED BY '{PASSWORD}';\n\
         GRANT ALL ON *.* TO {USER}@'%' WITH GRANT OPTION;\n\
         CREATE USER IF NOT EXISTS {READER}@'%' IDENTIFIED BY '{PASSWORD}';\n\
         GRANT SELECT, SHOW VIEW ON *.* TO {READER}@'%';\n"
    );
    if options.tls {
        certify(dir);
        for (option, file) in [("ca", "ca"), ("cert", "server"), ("key", "server.key")] {
            args.push(format!("--ssl-{option}={}/{file}.pem", dir.display()));
        }
    }
    if options.ed25519 {
        args.push("--plugin-load-add=auth_ed25519".to_owned());
        init += &format!(
            "CREATE USER {ED25519_USER}@'%' IDENTIFIED VIA ed25519 USING PASSWORD('{PASSWORD}');\n\
             GRANT ALL ON *.* TO {ED25519_USER}@'%';\n"
        );
    }
    init += &options.init;
    std::fs::write(dir.join("init.sql"), init).expect("the directory is ours");
    args
}

/// Makes an authority and a server certificate with the `openssl` command.
fn certify(dir: &Path) {
    let new_key = "req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    for step in [
        format!("{new_key} -x509 -days 2 -subj /CN=Test-Authority -keyout ca.key.pem -out ca.pem"),
        format!("{new_key} -subj /CN=localhost -keyout server.key.pem -out server.csr"),
        "x509 -req -days 2 -in server.csr -CA ca.pem -CAkey ca.key.pem -CAcreateserial \
         -extfile san.cnf -out server.pem"
            .to_owned(),
    ] {
        let names = "subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:FALSE\n";
        std::fs::write(dir.join("san.cnf"), names).expect("the directory is ours");
        run(Command::new("openssl")
            .args(step.split_whitespace())
            .current_dir(dir));
    }
}

/// A server refuses to run as root unless told so.
fn as_root() -> Option<&'static str> {
    rustix::process::geteuid()
        .is_root()
        .then_some("--user=root")
}

/// A short path: that of a Unix socket may have 107 bytes only.
fn private_dir() -> TempDir {
    let made = tempfile::Builder::new().prefix("postern-db-").tempdir();
    made.expect("the temporary directory is writable")
}

/// Runs a set-up command to its end and answers what it printed.
#[track_caller]
fn run(command: &mut Command) -> String {
    let done = command
        .output()
        .unwrap_or_else(|e| panic!("{command:?}: {e}; run tests/setup.sh"));
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        done.status.success(),
        "{command:?} failed:\n{}{}",
        text(&done.stdout),
        text(&done.stderr)
    );
    text(&done.stdout)
}
