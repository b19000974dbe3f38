//! Server that a test runs on: the installed MariaDB, or one that `tests/servers.sh` has unpacked.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::run;

/// Names the server that a test program runs on, such as `mysql-9.7`; the installed MariaDB where it is unset.
const CHOICE: &str = "POSTERN_TEST_SERVER";

/// Maker of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Oracle's MySQL.
    MySql,
    /// MariaDB.
    MariaDb,
}

/// A server program that can be started.
#[derive(Clone, Debug)]
pub struct Server {
    kind: Kind,
    /// As the program says it, `9.7.4-2`.
    full_version: String,
    /// Directory with the unpacked server and its own libraries; none for the system's.
    unpacked: Option<PathBuf>,
}

impl Server {
    /// The server that `POSTERN_TEST_SERVER` names, or else the installed MariaDB.
    pub fn chosen() -> &'static Server {
        static CHOSEN: OnceLock<Server> = OnceLock::new();
        CHOSEN.get_or_init(|| match std::env::var(CHOICE) {
            Ok(name) if !name.is_empty() => Server::named(&name),
            _ => Server::installed(),
        })
    }

    /// The server of that name, `mysql-9.7`.
    #[track_caller]
    pub fn named(name: &str) -> Server {
        let dir = unpacked().join(name);
        if dir.join("run").is_file() {
            return Server::at(dir);
        }
        let installed = Server::installed();
        assert!(
            installed.name() == name,
            "{CHOICE}: there is no {name}, but {} and {:?}; tests/servers.sh fetches more",
            installed.name(),
            Server::fetched()
        );
        installed
    }

    /// Names of the servers that `tests/servers.sh` has unpacked, sorted.
    pub fn fetched() -> Vec<String> {
        let entries = std::fs::read_dir(unpacked())
            .into_iter()
            .flatten()
            .flatten();
        let dirs = entries.filter(|e| e.path().join("run").is_file());
        let mut names: Vec<String> = dirs
            .map(|e| e.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// Maker of the server.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Major, minor and patch.
    pub fn version(&self) -> (u16, u16, u16) {
        let numbers = self.full_version.split(['.', '-']);
        let mut numbers = numbers.map(|n| n.parse().expect("a version begins with three numbers"));
        let mut next = || numbers.next().expect("a version begins with three numbers");
        (next(), next(), next())
    }

    /// Kind and version, `mysql-9.7`.
    pub fn name(&self) -> String {
        let (major, minor, _) = self.version();
        let kind = match self.kind {
            Kind::MySql => "mysql",
            Kind::MariaDb => "mariadb",
        };
        format!("{kind}-{major}.{minor}")
    }

    /// The command that runs a program of the server's, its client for one, with the libraries it needs.
    pub fn tool(&self, program: &str) -> Command {
        let mut words = self.command_line(program).into_iter();
        let mut command = Command::new(words.next().expect("a program has a name"));
        command.args(words).env("PATH", tool_path());
        command
    }

    /// The MariaDB that is installed.
    pub fn installed() -> Server {
        static INSTALLED: OnceLock<Server> = OnceLock::new();
        INSTALLED
            .get_or_init(|| Server::asked(Kind::MariaDb, None))
            .clone()
    }

    fn at(dir: PathBuf) -> Server {
        let is_mysql =
            dir.join("usr/sbin/mysqld").is_file() && !dir.join("usr/sbin/mariadbd").exists();
        let kind = if is_mysql { Kind::MySql } else { Kind::MariaDb };
        Server::asked(kind, Some(dir))
    }

    /// Asks the program for its version.
    fn asked(kind: Kind, unpacked: Option<PathBuf>) -> Server {
        let mut server = Server {
            kind,
            full_version: String::new(),
            unpacked,
        };
        let said = run(server
            .tool(server.daemon())
            .args(["--no-defaults", "--version"]));
        let version = said.split_whitespace().skip_while(|w| *w != "Ver").nth(1);
        version
            .expect("the program says its version")
            .clone_into(&mut server.full_version);
        server
    }

    /// Directory of an unpacked server; none for the system's.
    pub fn root(&self) -> Option<&Path> {
        self.unpacked.as_deref()
    }

    /// The server program.
    pub(super) fn daemon(&self) -> &'static str {
        match self.kind {
            Kind::MySql => "mysqld",
            Kind::MariaDb => "mariadbd",
        }
    }

    /// Command and first arguments that run a program of this server.
    pub fn command_line(&self, program: &str) -> Vec<OsString> {
        let runner = self
            .unpacked
            .as_ref()
            .map(|dir| dir.join("run").into_os_string());
        runner.into_iter().chain([program.into()]).collect()
    }

    /// The unpacked directory's part of the arguments: where an unpacked server finds its own files.
    pub(super) fn place_arguments(&self) -> Vec<String> {
        let Some(dir) = &self.unpacked else {
            return Vec::new();
        };
        let share = self.share().expect("unpacked");
        let (dir, share) = (dir.display(), share.display());
        vec![
            format!("--basedir={dir}/usr"),
            format!("--plugin-dir={dir}/usr/lib/mysql/plugin"),
            format!("--lc-messages-dir={share}"),
            format!("--character-sets-dir={share}/charsets"),
        ]
    }

    /// Directory in which an unpacked server has its messages and the SQL of its system tables.
    pub(super) fn share(&self) -> Option<PathBuf> {
        let share = self.unpacked.as_ref()?.join("usr/share");
        Some(match self.kind {
            Kind::MySql => share.join("mysql"),
            Kind::MariaDb => share.join("mariadb"),
        })
    }

    /// Kind and the whole version.
    pub(super) fn full_name(&self) -> String {
        format!("{}-{}", self.daemon(), self.full_version)
    }
}

/// Directory into which `tests/servers.sh` unpacks servers.
fn unpacked() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    let root = root.expect("this is tests/support of the project");
    root.join("target/servers")
}

/// Debian keeps the server in `/usr/sbin`, which is not in everybody's `PATH`.
pub(super) fn tool_path() -> OsString {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    path.push(":/usr/sbin:/usr/local/sbin");
    path
}
