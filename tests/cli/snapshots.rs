//! The words of the command line as they are: every `--help`, and what wrong command lines are told.
//!
//! `make bless` writes those of now; the change then shows in the diff. A new
//! case for the errors is a line of its own in `tests/data/errors.txt`, as in `$ postern start x`.

use std::path::{Path, PathBuf};

use support::Home;
use support::kept::compare;

/// Every command that has a help of its own, with the other names of one; the first is the program's.
const COMMANDS: [&str; 63] = [
    "",
    "http",
    "https",
    "tcp",
    "ssh",
    "rdp",
    "vnc",
    "telnet",
    "mysql",
    "mariadb",
    "start",
    "app",
    "app list",
    "app add",
    "app edit",
    "app show",
    "app connect",
    "app reconnect",
    "app disconnect",
    "app code",
    "app qr",
    "app signout",
    "app trust",
    "app export",
    "app import",
    "app remove",
    "relay",
    "relay list",
    "relay status-url",
    "relay invite",
    "relay invites",
    "relay uninvite",
    "relay recover",
    "relay fleet",
    "relay copy-store",
    "relay revoke",
    "relay allow",
    "relay release",
    "relay transfer",
    "plugin",
    "plugin add",
    "plugin remove",
    "plugin list",
    "tunnel-client",
    "tunnel-server",
    "status",
    "logs",
    "doctor",
    "server",
    "server list",
    "server add",
    "server remove",
    "server default",
    "server trust",
    "service",
    "service install",
    "service remove",
    "service status",
    "docs",
    "completions",
    "man",
    "version",
    "help",
];
/// Number of aliases among these commands.
const OTHER_NAMES: usize = 1;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

#[test]
fn every_help_is_what_it_was() {
    let home = Home::new();
    for command in COMMANDS {
        let mut args: Vec<&str> = command.split_whitespace().collect();
        args.push("--help");
        let said = home.run(&args);
        assert_eq!(
            (said.code, said.stderr.as_str()),
            (Some(0), ""),
            "{command}"
        );
        let name = match command {
            "" => "postern".to_owned(),
            _ => command.replace(' ', "-"),
        };
        compare(&data(&format!("help/{name}.txt")), &said.stdout);
    }
    let kept = std::fs::read_dir(data("help")).unwrap().count();
    assert_eq!(kept, COMMANDS.len(), "files in tests/data/help");
    // The table of commands has no other list that a test can read.
    let pages = home.run(&["man"]).stdout;
    let pages = pages
        .lines()
        .filter(|line| line.starts_with(".TH "))
        .count();
    assert_eq!(
        pages + OTHER_NAMES,
        COMMANDS.len(),
        "a command is in no list above"
    );
}

/// Each case is a command line after `$`, what it says on stderr, and its exit status if it is not 2.
#[test]
fn every_error_says_what_it_said() {
    let home = Home::with_plugin();
    let kept = std::fs::read_to_string(data("errors.txt")).unwrap();
    let mut now = String::new();
    for line in kept.lines().filter(|line| line.starts_with("$ postern")) {
        let args = words(line.trim_start_matches("$ postern"));
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let said = home.run(&args);
        assert!(matches!(said.code, Some(1 | 2)), "{line}: {said:?}");
        let shown = said.stderr.replace(&*home.path().to_string_lossy(), "HOME");
        // This warning depends on what else runs on this machine.
        let is_of_here = |line: &&str| !line.contains("WARN  Port 8180 is in use");
        let shown: String = shown.split_inclusive('\n').filter(is_of_here).collect();
        now += &format!("{line}\n{shown}");
        if said.code != Some(2) {
            now += &format!("(status {})\n", said.code.unwrap());
        }
        now.push('\n');
    }
    compare(&data("errors.txt"), &now);
}

/// As a shell splits a line in which nothing is quoted but by '.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut quoted) = (vec![None::<String>], false);
    for c in line.chars() {
        let word = words.last_mut().unwrap();
        match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' if !quoted => words.push(None),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.into_iter().flatten().collect()
}
