//! The real binary: one-off commands in a private per-user directory, and a running web client.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use super::database::{Database, PASSWORD, USER};
use super::http::Client;
use super::kill_on_drop::{KillOnDrop, Leashed, has_plain_words};
use super::{TIMEOUT, build_dir, holds_within};

/// Limit for a one-off command.
const COMMAND_PATIENCE: Duration = Duration::from_secs(60);

/// The binary under test; `POSTERN_BIN` puts another build (release, static) in its place.
pub fn binary() -> PathBuf {
    let chosen = std::env::var_os("POSTERN_BIN").filter(|p| !p.is_empty());
    chosen.map_or_else(|| build_dir().join("postern"), PathBuf::from)
}

/// Result of a finished command.
#[derive(Debug)]
pub struct Finished {
    /// Exit code; a death by signal counts as none.
    pub code: Option<i32>,
    /// All of standard output.
    pub stdout: String,
    /// All of standard error.
    pub stderr: String,
}

/// A private per-user directory (`POSTERN_HOME`), removed on drop.
pub struct Home {
    dir: TempDir,
}

impl Home {
    /// An empty one.
    pub fn new() -> Home {
        let made = tempfile::Builder::new().prefix("postern-home-").tempdir();
        Home {
            dir: made.expect("the temporary directory is writable"),
        }
    }

    /// One with the database plugin added.
    pub fn with_plugin() -> Home {
        let home = Home::new();
        let added = home.run(&["plugin", "add", "mysql"]);
        assert_eq!(added.code, Some(0), "plugin add mysql: {added:?}");
        home
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// A command that uses this directory, without input and away from the user's own environment.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command.args(args).stdin(Stdio::null());
        for (name, value) in self.environment() {
            command.env(name, value);
        }
        command
    }

    /// Runs a command to its end.
    #[track_caller]
    pub fn run(&self, args: &[&str]) -> Finished {
        self.run_with_input(args, "")
    }

    /// Runs a command to its end with `input` on standard input.
    #[track_caller]
    pub fn run_with_input(&self, args: &[&str], input: &str) -> Finished {
        finish(self.command(args), input, args)
    }

    /// Output of a command on a terminal of 80 columns.
    #[track_caller]
    pub fn on_a_terminal(&self, arguments: &[&str]) -> String {
        let line = format!(
            "stty cols 80; exec {} {}",
            binary().display(),
            arguments.join(" ")
        );
        let mut command = Command::new("script");
        command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
        command.envs(self.environment()).env("SHELL", "/bin/sh");
        let done = command
            .stdin(Stdio::null())
            .output()
            .expect("util-linux has 'script'");
        assert!(done.status.success(), "{done:?}");
        String::from_utf8(done.stdout).unwrap().replace('\r', "")
    }

    /// The lines of a table from the one that begins with `first`; each fits a terminal of 80 columns, and with
    /// `--wide` one does not.
    #[track_caller]
    pub fn table_on_a_terminal(&self, arguments: &[&str], first: &str) -> Vec<String> {
        let said = self.on_a_terminal(arguments);
        let lines: Vec<String> = said.lines().map(str::to_owned).collect();
        let at = lines.iter().position(|line| line.starts_with(first));
        let table = lines[at.unwrap_or_else(|| panic!("{said}"))..].to_vec();
        let fits = |line: &String| line.chars().count() <= 80;
        assert!(table.iter().all(fits), "{said}");
        let wide = self.on_a_terminal(&[arguments, &["--wide"]].concat());
        assert!(wide.lines().any(|line| line.chars().count() > 80), "{wide}");
        table
    }

    /// Environment of every command.
    pub fn environment(&self) -> [(&'static str, String); 4] {
        [
            ("POSTERN_HOME", self.path().to_string_lossy().into_owned()),
            // No browser may open, and no password of the developer's may slip in.
            ("DISPLAY", String::new()),
            ("WAYLAND_DISPLAY", String::new()),
            ("POSTERN_DB_PASS", String::new()),
        ]
    }
}

#[track_caller]
fn finish(mut command: Command, input: &str, args: &[&str]) -> Finished {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary under test exists");
    // A command that does not read its input is no failure of the test's.
    let _ = child
        .stdin
        .take()
        .expect("piped")
        .write_all(input.as_bytes());
    let pid = rustix::process::Pid::from_child(&child);
    let (done, waited) = crossbeam_channel::bounded::<()>(1);
    let guard = std::thread::spawn(move || {
        let late = waited.recv_timeout(COMMAND_PATIENCE).is_err();
        if late {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        late
    });
    let output = child.wait_with_output().expect("our child");
    let _ = done.send(());
    assert!(
        !guard.join().expect("does not panic"),
        "postern {args:?} did not end within {COMMAND_PATIENCE:?}: {output:?}"
    );
    let [stdout, stderr] =
        [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
    has_plain_words(&stderr);
    Finished {
        code: output.status.code(),
        stdout,
        stderr,
    }
}

/// A running `postern mysql`, ended on drop (SIGTERM first, so that its own clean end is exercised).
pub struct Postern {
    process: Leashed,
    home: Home,
    url: String,
    auth_url: Option<String>,
}

impl Postern {
    /// `postern mysql ARGS` in a fresh per-user directory, listening on a free port, without a browser.
    #[track_caller]
    pub fn start(args: &[&str], env: &[(&str, &str)]) -> Postern {
        Postern::try_start(Home::with_plugin(), args, env)
            .unwrap_or_else(|failed| panic!("postern mysql {args:?} does not start: {failed:?}"))
    }

    /// On `db` as the account that may do everything, with `more` arguments.
    #[track_caller]
    pub fn on(db: &Database, more: &[&str]) -> Postern {
        let target = db.target();
        let mut args = vec![target.as_str(), "--db-user", USER, "--db-pass", PASSWORD];
        args.extend(more);
        Postern::start(&args, &[])
    }

    /// As [`Postern::start`], in `home`, for tests of the failure.
    pub fn try_start(home: Home, args: &[&str], env: &[(&str, &str)]) -> Result<Postern, Finished> {
        let mut kill_on_drop = KillOnDrop::new(binary())
            .args(["mysql", "--no-open", "--listen", "127.0.0.1:0"])
            .args(args);
        kill_on_drop = kill_on_drop.lending(home.path());
        for (name, value) in home.environment() {
            kill_on_drop = kill_on_drop.env(name, value);
        }
        for (name, value) in env {
            kill_on_drop = kill_on_drop.env(name, value);
        }
        let mut process = kill_on_drop.start();
        let mut ended = None;
        let invisible = args.contains(&"--invisible");
        holds_within(TIMEOUT, || {
            ended = process.ended();
            ended.is_some() || addresses(&process, invisible).is_some()
        });
        match addresses(&process, invisible) {
            Some((url, auth_url)) if ended.is_none() => Ok(Postern {
                process,
                home,
                url,
                auth_url,
            }),
            _ => Err(failure(&mut process, ended)),
        }
    }

    /// `http://127.0.0.1:PORT`, without a trailing slash.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// `HOST:PORT` as it stands in a Host header.
    pub fn authority(&self) -> &str {
        self.url.trim_start_matches("http://")
    }

    /// The port of the HTTP service.
    pub fn port(&self) -> u16 {
        let port = self.url.rsplit(':').next().and_then(|p| p.parse().ok());
        port.unwrap_or_else(|| panic!("no port in {}", self.url))
    }

    /// The printed address with the authorization code, in invisible mode.
    pub fn auth_url(&self) -> Option<&str> {
        self.auth_url.as_deref()
    }

    /// The per-user directory it runs in.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// An HTTP client on a connection of its own.
    pub fn client(&self) -> Client {
        Client::new(self.authority())
    }

    /// Process id.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Standard output so far.
    pub fn stdout(&self) -> String {
        self.process.stdout.text()
    }

    /// Standard error so far.
    pub fn stderr(&self) -> String {
        self.process.stderr.text()
    }

    /// Resident memory now, in KiB.
    pub fn rss_kib(&self) -> u64 {
        status_field(self.pid(), "VmRSS:")
    }

    /// Largest resident memory so far, in KiB.
    pub fn peak_rss_kib(&self) -> u64 {
        status_field(self.pid(), "VmHWM:")
    }

    /// Number of threads now.
    pub fn threads(&self) -> u64 {
        status_field(self.pid(), "Threads:")
    }

    /// Number of open file descriptors now.
    pub fn fds(&self) -> usize {
        let listed = std::fs::read_dir(format!("/proc/{}/fd", self.pid()));
        listed.expect("the process is ours and runs").count()
    }

    /// True if it still runs.
    pub fn alive(&mut self) -> bool {
        self.process.ended().is_none()
    }

    /// Sends SIGTERM and answers the exit status, none when it had to be killed.
    pub fn stop(&mut self) -> Option<ExitStatus> {
        self.process.terminate()
    }

    /// Sends a signal.
    pub fn signal(&mut self, signal: rustix::process::Signal) {
        self.process.signal(signal);
    }

    /// Waits for it to end by itself.
    pub fn wait(&mut self, patience: Duration) -> Option<ExitStatus> {
        self.process.wait(patience)
    }
}

impl Drop for Postern {
    fn drop(&mut self) {
        self.process.terminate();
        if std::thread::panicking() {
            eprintln!("postern said:\n{}{}", self.stdout(), self.stderr());
        }
    }
}

/// The addresses it printed, once it printed all that are due.
fn addresses(process: &Leashed, invisible: bool) -> Option<(String, Option<String>)> {
    let said = process.stdout.line_after("Web client: ");
    // Shared, it prints only its link on standard output.
    let url = said.or_else(|| process.stderr.line_after("Web client: "))?;
    let auth_url = process.stdout.line_after("Auth URL: ");
    if invisible && auth_url.is_none() {
        return None;
    }
    Some((url.trim_end_matches('/').to_owned(), auth_url))
}

fn failure(process: &mut Leashed, ended: Option<ExitStatus>) -> Finished {
    process.kill();
    process.drained();
    Finished {
        code: ended.and_then(|status| status.code()),
        stdout: process.stdout.text(),
        stderr: process.stderr.text(),
    }
}

/// A number from `/proc/PID/status`.
pub fn status_field(pid: u32, field: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix(field));
    line.and_then(|l| l.split_whitespace().next()?.parse().ok())
        .unwrap_or_else(|| panic!("no {field} of process {pid}: has it ended?"))
}
