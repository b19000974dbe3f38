//! The command line from outside: messages, exit statuses, and prompts on a pipe.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use support::free_port;
use tempfile::TempDir;

/// Far more than any command takes, and an end for one that hangs.
const DEADLINE: Duration = Duration::from_secs(60);

struct Ended {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Ended {
    #[track_caller]
    fn is(&self, status: i32, stdout: &str, stderr: &str) {
        let found = (self.status, self.stdout.as_str(), self.stderr.as_str());
        assert_eq!(found, (Some(status), stdout, stderr));
    }
}

fn postern(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_postern"));
    command.env_clear().env("POSTERN_HOME", home);
    command
}

/// Runs to the end with `input` on stdin.
fn finish(mut command: Command, input: &str) -> Ended {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A child that reads nothing may be gone already.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    collect(child)
}

/// Reads to the end on a thread that ends with the child's stream.
fn follow(stream: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut text = String::new();
        if let Some(mut stream) = stream {
            stream.read_to_string(&mut text).unwrap();
        }
        text
    })
}

fn collect(mut child: Child) -> Ended {
    let stdout = follow(child.stdout.take());
    let stderr = follow(child.stderr.take());
    let deadline = Instant::now() + DEADLINE;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("hangs: {}", stderr.join().unwrap());
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    Ended {
        status,
        stdout: stdout.join().unwrap(),
        stderr: stderr.join().unwrap(),
    }
}

fn run_in(home: &Path, arguments: &[&str]) -> Ended {
    let mut command = postern(home);
    command.args(arguments);
    finish(command, "")
}

fn with_plugin() -> TempDir {
    let home = tempfile::tempdir().unwrap();
    assert_eq!(
        run_in(home.path(), &["plugin", "add", "mysql"]).status,
        Some(0)
    );
    home
}

#[test]
fn help_and_version_go_to_stdout() {
    let home = tempfile::tempdir().unwrap();
    for arguments in [
        &["--help"][..],
        &["-h"],
        &["help"],
        &["help", "mysql"],
        &["mysql", "--help"],
        &["mariadb", "-h"],
        &["mysql", "db", "--readonly", "--help"],
        &["plugin", "--help"],
        &["help", "plugin", "add"],
        &["plugin", "add", "--help"],
        &["plugin", "remove", "--help"],
        &["plugin", "list", "--help"],
    ] {
        let ended = run_in(home.path(), arguments);
        assert_eq!(
            (ended.status, ended.stderr.as_str()),
            (Some(0), ""),
            "{arguments:?}"
        );
        assert!(ended.stdout.contains("Usage: postern"), "{arguments:?}");
        assert!(
            ended.stdout.lines().all(|line| line.len() <= 80),
            "{}",
            ended.stdout
        );
    }
    for flag in ["--version", "-V"] {
        let version = format!("postern {}\n", env!("CARGO_PKG_VERSION"));
        run_in(home.path(), &[flag]).is(0, &version, "");
    }
    assert!(!home.path().join("run").exists(), "asking creates nothing");
}

#[test]
fn the_help_of_mysql_lists_every_flag() {
    let home = tempfile::tempdir().unwrap();
    let help = run_in(home.path(), &["mariadb", "--help"]).stdout;
    assert!(help.contains("Usage: postern mariadb [options] [target]"));
    for flag in [
        "--db-user, --username NAME",
        "--db-pass, --auth-pass PASSWORD",
        "--db-name NAME",
        "--readonly",
        "--invisible",
        "--listen HOST:PORT",
        "--no-open",
        "--allow-host HOST[:PORT]",
        "--tls MODE",
        "--query-timeout SECONDS",
        "--allow-other-users",
        "-v, --verbose",
        "-h, --help",
        "POSTERN_DB_PASS",
    ] {
        assert!(help.contains(flag), "{flag} in {help}");
    }
}

#[test]
fn without_arguments_usage_goes_to_stderr() {
    let home = tempfile::tempdir().unwrap();
    for arguments in [&[][..], &["plugin"]] {
        let ended = run_in(home.path(), arguments);
        assert_eq!((ended.status, ended.stdout.as_str()), (Some(2), ""));
        assert!(ended.stderr.contains("Usage: postern"));
    }
}

#[test]
fn wrong_command_lines_are_status_2() {
    let home = with_plugin();
    let see = "see 'postern --help'";
    let mysql = "see 'postern mysql --help'";
    for (arguments, what, hint) in [
        (
            &["mysq"][..],
            "unknown command 'mysq'",
            "did you mean 'mysql'? see 'postern --help'",
        ),
        (&["postgres"], "unknown command 'postgres'", see),
        (&[""], "unknown command ''", see),
        (
            &["--versoin"],
            "unknown option '--versoin'",
            "did you mean '--version'? see 'postern --help'",
        ),
        (&["-x"], "unknown option '-x'", see),
        (
            &["plugin", "lst"],
            "unknown command 'plugin lst'",
            "did you mean 'list'? see 'postern plugin --help'",
        ),
        (
            &["plugin", "add"],
            "'postern plugin add' needs NAME",
            "see 'postern plugin add --help'",
        ),
        (
            &["plugin", "add", "a", "b"],
            "unexpected argument 'b'",
            "see 'postern plugin add --help'",
        ),
        (
            &["plugin", "list", "x"],
            "unexpected argument 'x'",
            "see 'postern plugin list --help'",
        ),
        (
            &["plugin", "add", "--forse", "x"],
            "unknown option '--forse'",
            "see 'postern plugin add --help'",
        ),
        (
            &["mysql", "--readonyl"],
            "unknown option '--readonyl'",
            "did you mean '--readonly'? see 'postern mysql --help'",
        ),
        (
            &["mysql", "-u"],
            "unknown option '-u'",
            "use '--db-user'; see 'postern mysql --help'",
        ),
        (
            &["mysql", "-phunter2"],
            "unknown option '-p'",
            "use '--db-pass'; see 'postern mysql --help'",
        ),
        (
            &["mysql", "--port", "1"],
            "unknown option '--port'",
            "give host and port as HOST:PORT; see 'postern mysql --help'",
        ),
        (
            &["mysql", "--db-user"],
            "option '--db-user' needs a value",
            mysql,
        ),
        (
            &["mysql", "--readonly=1"],
            "option '--readonly' takes no value",
            mysql,
        ),
        (
            &["mysql", "--tls", "a", "--tls", "b"],
            "option '--tls' is given twice",
            mysql,
        ),
        (
            &["mysql", "--db-pass=a", "--auth-pass=b"],
            "option '--db-pass' is given twice: '--auth-pass' is the same",
            mysql,
        ),
        (&["mysql", "a", "b"], "unexpected argument 'b'", mysql),
        (&["mysql", "--visible"], "--visible needs --share", mysql),
        (
            &["mysql", "--tls", "on"],
            "--tls 'on': give off, prefer, require, verify-ca or verify",
            mysql,
        ),
        (
            &["mysql", "--share", "--guest", "shop.*", "--readwrite"],
            "--guest creates a read-only account: remove --readwrite",
            mysql,
        ),
        (
            &["mysql", "--query-timeout", "0"],
            "--query-timeout '0': give whole seconds from 1 to 31536000, or a time such as 5m",
            mysql,
        ),
        (
            &["mysql", "--listen", "8306"],
            "--listen '8306': give ADDRESS:PORT, such as 127.0.0.1:8306 or [::1]:8306",
            mysql,
        ),
        (
            &["mysql", "--listen", "0.0.0.0:8306"],
            "--listen 0.0.0.0:8306 lets other machines reach the database without a code",
            "add --invisible, or listen on 127.0.0.1",
        ),
    ] {
        run_in(home.path(), arguments).is(2, "", &format!("postern: {what}\n{hint}\n"));
    }
}

#[test]
fn a_malformed_target_is_named_without_its_password() {
    let home = with_plugin();
    for (target, shown) in [
        ("70000", "70000"),
        ("0", "0"),
        ("db:", "db:"),
        ("::1", "::1"),
        ("[::1]:x", "[::1]:x"),
        ("mysql://u:hunter2@db:x/shop", "mysql://u:***@db:x/shop"),
        ("mysql://u:hunter/2@db", "mysql://u:***@db"),
        ("mysql://u:%hunter2@db", "mysql://u:***@db"),
        ("http://u:hunter2@db", "http://u:***@db"),
        ("\u{1b}[31mdb", "\\u{1b}[31mdb"),
    ] {
        let ended = run_in(home.path(), &["mysql", target]);
        assert_eq!(
            (ended.status, ended.stdout.as_str()),
            (Some(2), ""),
            "{target:?}"
        );
        let first = format!("postern: target '{shown}' is malformed: ");
        assert!(ended.stderr.starts_with(&first), "{}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 2);
        assert!(!ended.stderr.contains("hunter"), "{}", ended.stderr);
    }
}

#[test]
fn an_argument_that_is_no_text_is_not_repeated() {
    let home = with_plugin();
    let mut command = postern(home.path());
    command
        .arg("mysql")
        .arg(OsStr::from_bytes(b"--db-pass=hunter2\xff"));
    finish(command, "").is(
        2,
        "",
        "postern: argument 2 is not UTF-8\nsee 'postern --help'\n",
    );
    let mut command = postern(home.path());
    command
        .args(["mysql", "--db-user=u"])
        .env("POSTERN_DB_PASS", OsStr::from_bytes(b"hunter2\xff"));
    finish(command, "").is(1, "", "postern: POSTERN_DB_PASS is not UTF-8\n");
}

#[test]
fn plugins_are_added_listed_and_removed() {
    let home = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| run_in(home.path(), arguments);
    let empty = "No plugins are added. Run 'postern plugin add mysql' to add one.\n";
    run(&["plugin", "list"]).is(0, empty, "");
    let added = format!(
        "Added plugin mysql v{} (protocols mysql, mariadb)\n",
        env!("CARGO_PKG_VERSION")
    );
    run(&["plugin", "add", "mysql"]).is(0, &added, "");

    let list = run(&["plugin", "list"]).stdout;
    let lines: Vec<Vec<&str>> = list
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(lines[0], ["NAME", "VERSION", "PROTOCOLS", "INSTALLED"]);
    assert_eq!(
        lines[1][..3],
        [
            "mysql",
            concat!("v", env!("CARGO_PKG_VERSION")),
            "mysql,mariadb"
        ]
    );
    let time = lines[1][3].as_bytes();
    assert!(
        time.len() == 20 && time[10] == b'T' && time[19] == b'Z',
        "{list}"
    );
    assert_eq!(list.lines().count(), 2);

    // Scripts under `set -e` add it each time.
    let again = "Plugin mysql is already added\n";
    run(&["plugin", "add", "mysql"]).is(0, again, "");
    run(&["plugin", "add", "mariadb"]).is(0, again, "");
    let listed: serde_json::Value =
        serde_json::from_str(&run(&["plugin", "list", "--json"]).stdout).unwrap();
    assert_eq!(listed[0]["name"], "mysql", "{listed}");
    let unknown = "postern: unknown plugin 'pg'\navailable: mysql (protocols mysql, mariadb)\n";
    run(&["plugin", "add", "pg"]).is(1, "", unknown);
    run(&["plugin", "remove", "pg"]).is(1, "", unknown);
    let removed = format!("Removed plugin mysql v{}\n", env!("CARGO_PKG_VERSION"));
    run(&["plugin", "remove", "mysql"]).is(0, &removed, "");
    let absent = "postern: plugin 'mysql' is not added\nsee 'postern plugin list'\n";
    run(&["plugin", "remove", "mysql"]).is(1, "", absent);
    run(&["plugin", "remove", "mariadb"]).is(1, "", absent);
    run(&["plugin", "list"]).is(0, empty, "");
    run(&["plugin", "add", "mariadb"]).is(0, &added, "");
    run(&["plugin", "remove", "mariadb"]).is(0, &removed, "");
}

#[test]
fn a_protocol_needs_its_plugin() {
    let home = tempfile::tempdir().unwrap();
    for name in ["mysql", "mariadb"] {
        let message =
            format!("unsupported protocol '{name}'\nrun 'postern plugin add mysql' first\n");
        run_in(home.path(), &[name]).is(1, "", &message);
        run_in(home.path(), &[name, "db:3306", "--db-user", "u"]).is(1, "", &message);
    }
}

#[test]
fn an_unreachable_database_is_the_specified_line_and_what_to_try() {
    let home = with_plugin();
    let port = free_port();
    for name in ["mysql", "mariadb"] {
        run_in(
            home.path(),
            &[name, &port.to_string(), "--db-user", "u", "--no-open"],
        )
        .is(
            1,
            &format!("Connecting to 127.0.0.1:{port} as u\n"),
            &format!(
                "plugin error: cannot connect to 127.0.0.1:{port}: connection refused\n\
                 check that the database server runs and that host and port are right\n"
            ),
        );
    }
    let left = fs::read_dir(home.path().join("run")).unwrap().count();
    assert_eq!(left, 1, "only the lock is left");
}

#[test]
fn piped_lines_answer_the_prompts() {
    let home = with_plugin();
    let port = free_port();
    let target = port.to_string();
    for (arguments, variable, input, connecting) in [
        (&[][..], "", "bob\nhunter2\nshop\n", "as bob, database shop"),
        (
            &[],
            "",
            "bob\r\nhunter2\r\nshop\r\n",
            "as bob, database shop",
        ),
        (&[], "", "", "as root"),
        (&[], "", "\n\n\n", "as root"),
        (&[], "", "bob", "as bob"),
        (&[], "", "bob\n\nshop", "as bob, database shop"),
        (&[], "hunter2", "bob\nshop\n", "as bob, database shop"),
        (&["--db-user", "eve"], "", "bob\nx\nshop\n", "as eve"),
        (
            &["--db-name", "shop"],
            "",
            "bob\nx\nother\n",
            "as root, database shop",
        ),
        (&["--db-pass", "hunter2"], "", "bob\n", "as root"),
        (&["--db-name="], "", "bob\n", "as root"),
        (&["--db-user="], "", "", "as the anonymous user"),
        (&["--db-user", "a\nb"], "", "", "as a\\u{a}b"),
    ] {
        let mut command = postern(home.path());
        command
            .args(["mysql", &target, "--no-open"])
            .args(arguments);
        command.env("POSTERN_DB_PASS", variable);
        let ended = finish(command, input);
        assert_eq!(
            ended.stdout,
            format!("Connecting to 127.0.0.1:{port} {connecting}\n"),
            "{arguments:?} {input:?}"
        );
        assert_eq!(ended.status, Some(1));
        assert!(!ended.stderr.contains("hunter2"));
    }
}

#[test]
fn a_url_says_all_at_once() {
    let home = with_plugin();
    let port = free_port();
    let url = format!("mariadb://b%40b:hunter2@127.0.0.1:{port}/my%20shop");
    let ended = run_in(home.path(), &["mysql", &url, "--no-open", "-v"]);
    let connecting = format!("Connecting to 127.0.0.1:{port} as b@b, database my shop\n");
    assert_eq!((ended.status, ended.stdout), (Some(1), connecting));
    assert!(!ended.stderr.contains("hunter2"));
}

#[test]
fn input_that_is_no_answer_is_refused() {
    let home = with_plugin();
    let long = "x".repeat(100_000);
    let ended = run_with(home.path(), &["mysql", "1"], long.as_bytes());
    assert_eq!(ended.status, Some(1));
    assert!(
        ended.stderr.contains("a line is longer than 4096 bytes"),
        "{}",
        ended.stderr
    );
    let ended = run_with(home.path(), &["mysql", "1"], b"\xff\n");
    assert!(
        ended.stderr.contains("a line is not UTF-8"),
        "{}",
        ended.stderr
    );
}

fn run_with(home: &Path, arguments: &[&str], input: &[u8]) -> Ended {
    let mut command = postern(home);
    command.args(arguments);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(input);
    collect(child)
}

/// A pipe that stays open and empty ends in the defaults, not in a wait without end.
#[test]
fn a_silent_pipe_does_not_block() {
    let home = with_plugin();
    let mut command = postern(home.path());
    let port = free_port();
    command.args(["mysql", &port.to_string()]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let _kept_open = child.stdin.take();
    let ended = collect(child);
    assert_eq!(
        ended.stdout,
        format!("Connecting to 127.0.0.1:{port} as root\n")
    );
    assert!(
        ended
            .stderr
            .contains("no answer on standard input within 10s"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_closed_pipe_is_success() {
    let home = with_plugin();
    for arguments in [
        &["--help"][..],
        &["--version"],
        &["plugin", "list"],
        &["mysql", "--help"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = postern(home.path());
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(writer)
            .stderr(Stdio::piped());
        let ended = collect(command.spawn().unwrap());
        assert_eq!(
            (ended.status, ended.stderr.as_str()),
            (Some(0), ""),
            "{arguments:?}"
        );
    }
}

#[test]
fn a_full_disk_under_stdout_is_reported() {
    let home = tempfile::tempdir().unwrap();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = postern(home.path());
    command
        .arg("--help")
        .stdin(Stdio::null())
        .stdout(full)
        .stderr(Stdio::piped());
    let ended = collect(command.spawn().unwrap());
    assert_eq!(ended.status, Some(1));
    assert!(
        ended
            .stderr
            .starts_with("postern: cannot write to standard output: ")
    );
}

#[test]
fn a_closed_stderr_is_no_panic() {
    let home = tempfile::tempdir().unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = postern(home.path());
    command
        .arg("nonsense")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(writer);
    assert_eq!(collect(command.spawn().unwrap()).status, Some(2));
}
