//! Every command of README and the documentation is run: what goes on begins and ends well, the rest ends with 0.

use std::sync::Arc;
use std::time::Duration;

use support::database::{Database, PASSWORD, USER};
use support::kill_on_drop::{KillOnDrop, Leashed};
use support::manager::Manager;
use support::postern::{Home, binary};
use support::relay::Relay;
use support::{TIMEOUT, free_port, holds_within};

use super::source;

const TOKEN: &str = "enrol-token-of-the-documentation-0123456789";

/// A place in which the commands of one page are run, in their order.
struct Page {
    name: String,
    home: Arc<Home>,
    relay: Relay,
    /// The names and numbers of the text, and what stands for them here.
    instead: Vec<(&'static str, String)>,
    running: Vec<(String, Leashed)>,
    manager: Option<Manager>,
}

/// A web site that answers everybody.
fn site() -> u16 {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    std::thread::spawn(move || {
        use std::io::{Read, Write};
        for stream in server.incoming() {
            let Ok(mut stream) = stream else { break };
            let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
        }
    });
    port
}

impl Page {
    fn new(name: &str) -> Page {
        let database = Database::shared();
        database.exec("CREATE DATABASE IF NOT EXISTS shop");
        database.exec("CREATE TABLE IF NOT EXISTS shop.customers (id INT PRIMARY KEY, name TEXT)");
        let relay = Relay::start(&[&format!("--enroll-token={TOKEN}")]);
        let home = Arc::new(Home::with_plugin());
        let tunnel = free_port().to_string();
        let web = site();
        let data = relay.data();
        let instead = vec![
            (
                "relay invite",
                format!("relay --data={} invite", data.display()),
            ),
            (
                "https://relay.example --enroll-token TOKEN",
                format!("{} --enroll-token {TOKEN}", relay.url()),
            ),
            (
                "--server https://localhost:8443 --enroll-token TOKEN",
                format!("--server {} --enroll-token {TOKEN}", relay.url()),
            ),
            (
                "--server https://relay.example",
                format!("--server {} --enroll-token {TOKEN}", relay.url()),
            ),
            (
                "server default https://relay.example",
                format!("server default {}", relay.url()),
            ),
            ("203.0.113.7", "127.0.0.1".to_owned()),
            ("0.0.0.0:62888", "127.0.0.1:0".to_owned()),
            ("127.0.0.1:62888", format!("127.0.0.1:{tunnel}")),
            ("R:9000:", format!("R:{}:", free_port())),
            ("127.0.0.1:3000", format!("127.0.0.1:{web}")),
            ("localhost:3000", format!("localhost:{web}")),
            ("http 3000", format!("http {web}")),
            ("db-host", database.target()),
            ("--db-user me", format!("--db-user {USER}")),
            (
                "applications.json",
                home.path().join("applications.json").display().to_string(),
            ),
            ("'", String::new()),
        ];
        Page {
            name: name.to_owned(),
            home,
            relay,
            instead,
            running: Vec::new(),
            manager: None,
        }
    }

    fn run(&mut self, line: &str) {
        let line = line.split(" # ").next().unwrap_or_default().trim();
        let Some(command) = line.strip_prefix("postern ") else {
            return other(&self.name, line);
        };
        // The database of this machine.
        let mut command = match command {
            "mysql" => "mysql db-host --db-user me".to_owned(),
            other => other.to_owned(),
        };
        for (text, here) in &self.instead {
            command = command.replace(text, here);
        }
        let (command, output) = redirected(&command);
        let words: Vec<&str> = command.split_whitespace().collect();
        match words[..] {
            ["start", ..] => self.start(&words),
            ["relay", first, ..] if first.starts_with("--") && !command.contains(" invite") => {
                self.begin(line, &words, &["--listen=127.0.0.1:0"])
            }
            ["tunnel-server" | "tunnel-client", ..] => self.begin(line, &words, &[]),
            [
                "http" | "https" | "tcp" | "ssh" | "rdp" | "vnc" | "telnet" | "mysql" | "mariadb",
                ..,
            ] => {
                self.begin(line, &words, &["--no-open"]);
            }
            ["logs", "-f", ..] => self.begin(line, &words, &[]),
            _ => self.finish(line, &words, output),
        }
    }

    /// A manager, of which there is one for a directory.
    fn start(&mut self, words: &[&str]) {
        if self.manager.is_none() {
            self.manager = Some(Manager::start_in(&self.home, &words[1..]));
        }
    }

    /// Begins what goes on; it has begun when it has printed an address.
    fn begin(&mut self, line: &str, words: &[&str], more: &[&str]) {
        let dir = self.home.path().join("relay-of-the-page");
        let mut args: Vec<String> = [words, more]
            .concat()
            .iter()
            .map(|word| (*word).to_owned())
            .collect();
        if words[0] == "relay" {
            let number = self.running.len();
            args.push(format!("--data={}-{number}", dir.display()));
            // Each of a page's has its own.
            if !line.contains("--tunnel-listen") {
                args.push("--tunnel-listen=127.0.0.1:0".to_owned());
            }
        }
        let mut command = KillOnDrop::new(binary()).args(&args);
        for (name, value) in self.home.environment() {
            command = command.env(name, value);
        }
        let process = command.env("POSTERN_DB_PASS", PASSWORD).start();
        let said = || process.stdout.text() + &process.stderr.text();
        // A web client that is shared has an address of its own before, and what goes to stderr may name the relay's.
        let has_begun = holds_within(TIMEOUT, || {
            if words.contains(&"--share") {
                return said().contains("Sharing ");
            }
            let has_address = process.stdout.text().contains("://");
            has_address
                || ["onnected", "istening"]
                    .iter()
                    .any(|sign| said().contains(sign))
        });
        assert!(has_begun, "{}: {line}: {}", self.name, said());
        self.running.push((line.to_owned(), process));
    }

    fn finish(&mut self, line: &str, words: &[&str], output: Option<&str>) {
        if words[0] == "app" && self.manager.is_none() {
            self.start(&["start"]);
        }
        let done = self.home.run(words);
        assert_eq!(done.code, Some(0), "{}: {line}: {done:?}", self.name);
        if let Some(file) = output {
            std::fs::write(file, done.stdout).unwrap();
        }
    }

    fn end(mut self) {
        for (line, mut process) in self.running.drain(..).rev() {
            let status = process.terminate();
            let said = process.stdout.text() + &process.stderr.text();
            assert!(
                status.is_some_and(|status| status.success()),
                "{}: {line}: {status:?} {said}",
                self.name
            );
        }
        drop(self.relay);
    }
}

/// The command without its redirection, and the file that it names.
fn redirected(command: &str) -> (&str, Option<&str>) {
    match command.split_once(" >") {
        Some((command, file)) => (command, Some(file.trim())),
        None => (command, None),
    }
}

/// A line that is no command of ours: a make target there must be; the rest is no command line.
fn other(page: &str, line: &str) {
    if let Some(target) = line.strip_prefix("make") {
        let target = target.split_whitespace().next().unwrap_or("all");
        let makefile = std::fs::read_to_string(source::root().join("Makefile")).unwrap();
        assert!(makefile.contains(&format!("\n{target}:")), "{page}: {line}");
    }
}

fn run_all(name: &str, lines: &[String]) {
    let mut page = Page::new(name);
    for line in lines {
        page.run(line);
    }
    page.end();
}

#[test]
fn the_commands_of_the_readme_run() {
    run_all("README", &source::readme_lines());
}

#[test]
fn the_commands_of_the_documentation_run() {
    for (name, html) in source::pages() {
        run_all(&name, &source::page_lines(&html));
    }
}
