//! Private MariaDB servers.
//!
//! The data directory is initialised once per server version into `target/tmp/` and copied for each server, which
//! takes the start from seconds to a fraction of one.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use tempfile::TempDir;

use super::kill_on_drop::{KillOnDrop, Leashed};
use super::{exclusive, free_port, holds_within, target_dir};

/// Name of the account that tests use over TCP; it may do everything.
pub const USER: &str = "app";
/// Its password.
pub const PASSWORD: &str = "secret";
/// An account of the same password that may only read.
pub const READER: &str = "reader";
/// An account of the same password that authenticates by MariaDB's ed25519 ([`Options::ed25519`]).
pub const ED25519_USER: &str = "ed";

/// How long a server may take to answer after its start.
const START_PATIENCE: Duration = Duration::from_secs(120);

/// How often another port is tried when somebody took the one we found free.
const PORT_ATTEMPTS: usize = 5;

/// Settings that make a throw-away server quick to start and small.
const THROW_AWAY: &[&str] = &[
    "--no-defaults",
    "--bind-address=127.0.0.1",
    "--character-set-server=utf8mb4",
    "--skip-name-resolve",
    "--innodb-log-file-size=48M",
    "--innodb-buffer-pool-size=64M",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-doublewrite=0",
    "--innodb-fast-shutdown=2",
    "--key-buffer-size=1M",
    "--max-allowed-packet=64M",
];

/// What a server should offer beyond the usual.
#[derive(Clone, Default)]
pub struct Options {
    /// Offers TLS with a certificate for `127.0.0.1` and `localhost`, signed by an authority of its own.
    pub tls: bool,
    /// Loads `auth_ed25519` and creates [`ED25519_USER`].
    pub ed25519: bool,
    /// Further arguments for `mariadbd`.
    pub args: Vec<String>,
    /// SQL to run before anybody can connect, one statement a line.
    pub init: String,
}

/// A running server, ended and removed on drop.
pub struct MariaDb {
    process: Leashed,
    dir: PathBuf,
    port: u16,
}

impl MariaDb {
    /// Starts a server of one's own.
    pub fn start(options: Options) -> MariaDb {
        let mut failure = String::new();
        for _ in 0..PORT_ATTEMPTS {
            match MariaDb::attempt(&options) {
                Ok(server) => return server,
                Err(log) => failure = log,
            }
            if !failure.contains("Address already in use") {
                break;
            }
        }
        panic!("mariadbd does not start:\n{failure}");
    }

    /// The server that the tests of one binary share; ended with the test process.
    pub fn shared() -> &'static MariaDb {
        static SHARED: OnceLock<MariaDb> = OnceLock::new();
        SHARED.get_or_init(|| MariaDb::start(Options::default()))
    }

    fn attempt(options: &Options) -> Result<MariaDb, String> {
        let guard = private_dir();
        let dir = guard.path().to_owned();
        copy_tree(&template(), &dir.join("data"));
        let port = free_port();
        let process = KillOnDrop::new("mariadbd")
            .env("PATH", tool_path())
            .args(THROW_AWAY)
            .args(as_root())
            .args(dir_arguments(&dir, port))
            .args(feature_arguments(options, &dir))
            .args(&options.args)
            .owning(guard)
            .start();
        let mut server = MariaDb { process, dir, port };
        let mut ended = false;
        let ready = holds_within(START_PATIENCE, || {
            ended = server.process.ended().is_some();
            ended || server.try_conn().is_ok()
        });
        if ready && !ended {
            return Ok(server);
        }
        server.process.kill();
        server.process.drained();
        Err(server.log())
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

    /// What the server logged.
    pub fn log(&self) -> String {
        self.process.stderr.text()
    }

    /// A connection as `root`, apart from the program under test.
    pub fn conn(&self) -> Conn {
        self.try_conn()
            .unwrap_or_else(|e| panic!("mariadbd does not answer: {e}\n{}", self.log()))
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

    /// How many statements whose text contains `part` are running now.
    pub fn running(&self, part: &str) -> usize {
        let list = self.column(
            "SELECT info FROM information_schema.processlist \
             WHERE info IS NOT NULL AND id <> CONNECTION_ID()",
        );
        list.iter().filter(|sql| sql.contains(part)).count()
    }

    /// Ends the server at once, as a crash would.
    pub fn crash(&mut self) {
        self.process.kill();
    }
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

/// The initialised data directory of this server version, made on first use.
fn template() -> PathBuf {
    static TEMPLATE: OnceLock<PathBuf> = OnceLock::new();
    TEMPLATE.get_or_init(make_template).clone()
}

fn make_template() -> PathBuf {
    let _lock = exclusive("mariadb-template");
    let version = run(tool("mariadbd").args(["--no-defaults", "--version"]));
    let version: String = version
        .split_whitespace()
        .find(|w| w.starts_with(|c: char| c.is_ascii_digit()))
        .expect("mariadbd --version names one")
        .to_owned();
    let templates = target_dir("mariadb");
    let finished = templates.join(format!("template-{version}"));
    if finished.is_dir() {
        return finished;
    }
    // An interrupted run must not leave half a template under the final name.
    let unfinished = templates.join(format!("unfinished-{version}"));
    let _ = std::fs::remove_dir_all(&unfinished);
    let temporary = private_dir();
    run(tool("mariadb-install-db")
        .env("TMPDIR", temporary.path())
        .args([
            "--no-defaults",
            "--skip-test-db",
            "--auth-root-authentication-method=normal",
        ])
        .args(["--innodb-log-file-size=48M"])
        .args(as_root())
        .arg(format!("--datadir={}", unfinished.display())));
    std::fs::rename(&unfinished, &finished).expect("same file system");
    finished
}

/// `mariadbd` refuses to run as root unless told so.
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

fn copy_tree(from: &Path, to: &Path) {
    run(Command::new("cp")
        .args(["-R", "--reflink=auto", "--sparse=always"])
        .args([from, to]));
}

/// Debian keeps the server in `/usr/sbin`, which is not in everybody's `PATH`.
fn tool_path() -> OsString {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    path.push(":/usr/sbin:/usr/local/sbin");
    path
}

fn tool(name: &str) -> Command {
    let mut command = Command::new(name);
    command.env("PATH", tool_path());
    command
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
