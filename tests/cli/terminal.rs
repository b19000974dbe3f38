//! The prompts on a terminal, which `script` of util-linux provides.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use support::database::Database;
use support::free_port;
use tempfile::TempDir;

const DEADLINE: Duration = Duration::from_secs(60);

/// A shell line on a terminal of its own.
struct Terminal {
    child: Child,
    keys: Option<ChildStdin>,
    screen: Arc<Mutex<String>>,
    home: TempDir,
}

impl Terminal {
    /// Runs `line`, in which `$POSTERN` is the program; its plugin is added.
    fn run(line: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let program = env!("CARGO_BIN_EXE_postern");
        let add = Command::new(program)
            .args(["plugin", "add", "mysql"])
            .env("POSTERN_HOME", home.path())
            .output()
            .unwrap();
        assert!(add.status.success());
        let mut child = Command::new("script")
            .args([
                "--quiet",
                "--return",
                "--command",
                &format!("tty; {line}"),
                "/dev/null",
            ])
            .env("POSTERN_HOME", home.path())
            .env("POSTERN", program)
            .env("SHELL", "/bin/sh")
            .env_remove("POSTERN_DB_PASS")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("util-linux has 'script'");
        let screen = Arc::new(Mutex::new(String::new()));
        follow(child.stdout.take().unwrap(), Arc::clone(&screen));
        let keys = child.stdin.take();
        Self {
            child,
            keys,
            screen,
            home,
        }
    }

    fn screen(&self) -> String {
        self.screen.lock().unwrap().replace('\r', "")
    }

    #[track_caller]
    fn expect(&self, text: &str) {
        wait_until(text, || self.screen().contains(text), || self.screen());
    }

    fn press(&mut self, keys: &str) {
        let pipe = self.keys.as_mut().unwrap();
        pipe.write_all(keys.as_bytes()).unwrap();
        pipe.flush().unwrap();
    }

    /// Waits until what is typed is shown, or is not.
    #[track_caller]
    fn expect_echo(&self, on: bool) {
        self.expect("\n");
        let screen = self.screen();
        let tty = screen.lines().next().unwrap().to_owned();
        let echoes = || {
            let settings = Command::new("stty")
                .args(["-a", "-F", &tty])
                .output()
                .unwrap();
            let settings = String::from_utf8(settings.stdout).unwrap();
            settings.split_whitespace().any(|word| word == "echo")
        };
        wait_until("echo", || echoes() == on, || self.screen());
    }

    fn status(&mut self) -> Option<i32> {
        let mut status = None;
        let ended = || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        };
        wait_until("the end", ended, String::new);
        status.unwrap().code()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.keys = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
        assert!(self.home.path().exists());
    }
}

/// Ends with the stream.
fn follow(mut stream: impl Read + Send + 'static, screen: Arc<Mutex<String>>) {
    std::thread::spawn(move || {
        let mut block = [0; 1024];
        while let Ok(count @ 1..) = stream.read(&mut block) {
            screen
                .lock()
                .unwrap()
                .push_str(&String::from_utf8_lossy(&block[..count]));
        }
    });
}

#[track_caller]
fn wait_until(what: &str, mut holds: impl FnMut() -> bool, shown: impl Fn() -> String) {
    let deadline = Instant::now() + DEADLINE;
    while !holds() {
        assert!(
            Instant::now() < deadline,
            "waited in vain for {what:?}: {}",
            shown()
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn mysql(more: &str) -> (Terminal, u16) {
    let port = free_port();
    let terminal = Terminal::run(&format!("$POSTERN mysql {port} --no-open {more}"));
    (terminal, port)
}

#[test]
fn three_prompts_and_a_hidden_password() {
    let (mut terminal, port) = mysql("");
    terminal.expect("Username [root]: ");
    terminal.press("bob\n");
    terminal.expect("Password: ");
    terminal.expect_echo(false);
    terminal.press("hunter2\n");
    terminal.expect("Database (optional): ");
    terminal.expect_echo(true);
    terminal.press("shop\n");
    terminal.expect(&format!(
        "Connecting to 127.0.0.1:{port} as bob, database shop\n"
    ));
    terminal.expect(&format!(
        "plugin error: cannot connect to 127.0.0.1:{port}: connection refused\n"
    ));
    assert_eq!(terminal.status(), Some(1));
    assert!(
        !terminal.screen().contains("hunter2"),
        "{}",
        terminal.screen()
    );
}

#[test]
fn enter_and_ctrl_d_take_the_defaults() {
    let (mut terminal, port) = mysql("");
    terminal.expect("Username [root]: ");
    terminal.press("\u{4}");
    terminal.expect("Password: ");
    terminal.expect_echo(false);
    terminal.press("\u{4}");
    terminal.expect("Database (optional): ");
    terminal.press("\n");
    terminal.expect(&format!("Connecting to 127.0.0.1:{port} as root\n"));
    assert_eq!(terminal.status(), Some(1));
}

#[test]
fn with_a_user_only_the_password_is_asked_for() {
    let (mut terminal, port) = mysql("--db-user eve");
    terminal.expect("Password: ");
    terminal.expect_echo(false);
    terminal.press("x\n");
    terminal.expect(&format!("Connecting to 127.0.0.1:{port} as eve\n"));
    assert_eq!(terminal.status(), Some(1));
    assert!(!terminal.screen().contains("Username"));
    assert!(!terminal.screen().contains("Database"));
}

#[test]
fn with_a_password_nothing_is_asked_for() {
    let (mut terminal, port) = mysql("--db-user eve --db-pass=");
    terminal.expect(&format!("Connecting to 127.0.0.1:{port} as eve\n"));
    assert_eq!(terminal.status(), Some(1));
    assert!(!terminal.screen().contains("Password"));
}

#[test]
fn questions_go_to_stderr() {
    let (mut terminal, _) = mysql("> /dev/null");
    terminal.expect("Username [root]: ");
    terminal.press("\u{3}");
    assert_ne!(terminal.status(), Some(0));
}

#[test]
fn ctrl_c_at_the_password_ends_the_program_and_restores_the_echo() {
    let mut terminal = Terminal::run("$POSTERN mysql --db-user u; echo status $?; read wait");
    terminal.expect("Password: ");
    terminal.expect_echo(false);
    terminal.press("\u{3}");
    terminal.expect("status 130\n");
    terminal.expect_echo(true);
    terminal.press("\n");
    assert_eq!(terminal.status(), Some(0));
}

#[test]
fn a_signal_at_the_password_restores_the_echo() {
    let line =
        "$POSTERN mysql --db-user u & echo pid $!; fg > /dev/null; echo status $?; read wait";
    let mut terminal = Terminal::run(&format!("set -m; {line}"));
    terminal.expect("Password: ");
    terminal.expect_echo(false);
    let screen = terminal.screen();
    let pid = screen
        .lines()
        .find_map(|line| line.strip_prefix("pid "))
        .unwrap()
        .to_owned();
    let sent = Command::new("kill").args(["-TERM", &pid]).status().unwrap();
    assert!(sent.success());
    terminal.expect("status 143\n");
    terminal.expect_echo(true);
    terminal.press("\n");
    assert_eq!(terminal.status(), Some(0));
}

/// An export with secrets is sealed, and opens only with the same passphrase.
#[test]
fn passwords_are_exported_under_a_passphrase() {
    let mut terminal = Terminal::run(
        "$POSTERN app add mysql db --name b --db-pass hunter2 && $POSTERN app export --with-secrets > $POSTERN_HOME/x; \
         grep -c hunter2 $POSTERN_HOME/x; $POSTERN app remove b; $POSTERN app import $POSTERN_HOME/x; \
         $POSTERN app import $POSTERN_HOME/x; $POSTERN app show b --json | grep has_db_pass",
    );
    terminal.expect("Passphrase for the secrets: ");
    terminal.expect_echo(false);
    terminal.press("open sesame\n");
    terminal.expect("Repeat: ");
    terminal.expect_echo(false);
    terminal.press("open sesame\n");
    terminal.expect("\n0\n");
    terminal.expect("Passphrase of the file: ");
    terminal.expect_echo(false);
    terminal.press("open sesam\n");
    terminal.expect("wrong passphrase");
    let asked = || {
        terminal
            .screen()
            .matches("Passphrase of the file: ")
            .count()
            == 2
    };
    wait_until("the second question", asked, || terminal.screen());
    terminal.expect_echo(false);
    terminal.press("open sesame\n");
    terminal.expect("\"has_db_pass\": true");
    assert!(
        !terminal.screen().contains("sesame"),
        "{}",
        terminal.screen()
    );
    assert_eq!(terminal.status(), Some(0));
}

/// An expired password is replaced by a new one at the start, and is the account's from then on.
#[test]
fn an_expired_password_is_replaced_on_the_terminal() {
    let db = Database::shared();
    db.exec("DROP USER IF EXISTS worn@'%'; CREATE USER worn@'%' IDENTIFIED BY 'old'; ALTER USER worn@'%' PASSWORD EXPIRE");
    let line = format!(
        "exec $POSTERN mysql {} --db-user worn --no-open --listen 127.0.0.1:0",
        db.target()
    );
    let start = |password: &str| {
        let mut terminal = Terminal::run(&line);
        terminal.expect("Password: ");
        terminal.expect_echo(false);
        terminal.press(&format!("{password}\n"));
        terminal
    };
    let answer = |again: &str| {
        let mut terminal = start("old");
        terminal.expect("the password of worn has expired");
        terminal.expect("New password: ");
        terminal.press("n'e\\w1\n");
        terminal.expect("Repeat: ");
        terminal.press(&format!("{again}\n"));
        terminal
    };
    answer("other").expect("the two entries differ");
    let mut terminal = answer("n'e\\w1");
    terminal.expect("Web client: ");
    assert!(!terminal.screen().contains("w1"), "{}", terminal.screen());
    terminal.press("\u{3}");
    terminal.status();
    start("n'e\\w1").expect("Web client: ");
    start("old").expect("Access denied");
}

/// Quiet, and in plain words: nothing of what goes on inside.
#[test]
fn what_shares_by_one_word_is_quiet() {
    let port = free_port();
    let mut terminal = Terminal::run(&format!("exec $POSTERN http {port}"));
    terminal.expect("Ctrl-C stops it.\n");
    terminal.expect(&format!("127.0.0.1:{port} refuses connections\n"));
    terminal.press("\u{3}");
    terminal.expect("Shared for ");
    let screen = terminal.screen();
    for word in ["WARN", "postern::", "quick-setup", "application "] {
        assert!(!screen.contains(word), "{word}: {screen}");
    }
    let lines: Vec<&str> = screen.lines().collect();
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("http://") && line.ends_with('/')),
        "{screen}"
    );
    assert_eq!(terminal.status(), Some(0));
}
