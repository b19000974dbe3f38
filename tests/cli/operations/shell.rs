//! Completion for shells.

use std::process::{Command, Stdio};

use support::Home;
use support::postern::binary;

/// The words that a shell is offered, with what stands beside them.
fn offered(home: &Home, words: &[&str]) -> Vec<(String, String)> {
    let said = home.run(&[&["__complete"], words].concat());
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{said:?}");
    let pair = |line: &str| {
        let (word, about) = line.split_once('\t').unwrap_or((line, ""));
        (word.to_owned(), about.to_owned())
    };
    said.stdout.lines().map(pair).collect()
}

#[test]
fn a_shell_is_offered_commands_values_and_names() {
    let home = Home::new();
    home.run(&["app", "add", "http", "1", "--name", "shop"]);
    let odd = home
        .run(&["app", "add", "http", "2", "--name", "the printer"])
        .stdout;
    home.run(&["server", "add", "https://127.0.0.1:1", "--label", "ours"]);
    let pair = |word: &str, about: &str| (word.to_owned(), about.to_owned());
    let apps = [pair("shop", "http"), pair(odd.trim(), "the printer")];
    assert_eq!(offered(&home, &["app", "connect", ""]), apps);
    assert_eq!(offered(&home, &["app", "connect", "sh"]), apps[..1]);
    assert_eq!(offered(&home, &["logs", "-f", ""]), apps);
    let servers = [pair("https://127.0.0.1:1", "ours")];
    assert_eq!(offered(&home, &["start", "--server", ""]), servers);
    let inline = offered(&home, &["start", "--server=https"]);
    assert_eq!(inline, [pair("--server=https://127.0.0.1:1", "ours")]);
    assert_eq!(offered(&home, &["man", ""]), [pair(":directory", "")]);
    assert!(offered(&home, &["docs", "rel"]).contains(&pair("relay", "A relay of your own")));
    let first: Vec<String> = offered(&home, &[""])
        .into_iter()
        .map(|(word, _)| word)
        .collect();
    for word in ["start", "mariadb", "app", "server", "doctor", "completions"] {
        assert!(first.contains(&word.to_owned()), "{first:?}");
    }
}

/// In a bash of its own, as it is sourced in ~/.bashrc.
#[test]
fn bash_completes() {
    let home = Home::new();
    home.run(&["app", "add", "http", "1", "--name", "shop"]);
    let script = r#"
        source <("$POSTERN" completions bash)
        try() { COMP_LINE=$1; COMP_POINT=${#1}; COMPREPLY=(); _postern 2>/dev/null; echo "${COMPREPLY[*]}"; }
        try "$POSTERN app conn"; try "$POSTERN app connect "; try "$POSTERN mysql --tls=verify"
        try "$POSTERN tunnel-server --authfile /etc/passw"
    "#;
    let output = Command::new("bash")
        .args(["--norc", "-c", script])
        .env("POSTERN", binary())
        .env("POSTERN_HOME", home.path())
        .output()
        .expect("bash is there");
    let said = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(
        lines[..3],
        ["connect", "shop", "verify-ca verify"],
        "{said}"
    );
    assert!(
        lines[3].split(' ').any(|file| file == "/etc/passwd"),
        "{said}"
    );
}

#[test]
fn each_shell_has_a_script_and_others_are_refused() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish"] {
        let said = home.run(&["completions", shell]);
        assert!(
            said.code == Some(0) && said.stdout.contains("__complete"),
            "{said:?}"
        );
        // An installed shell parses the script without an error.
        let Ok(mut child) = Command::new(shell)
            .arg("-n")
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
        else {
            continue;
        };
        use std::io::Write;
        child
            .stdin
            .take()
            .unwrap()
            .write_all(said.stdout.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{shell}: {output:?}"
        );
    }
    assert_eq!(home.run(&["completions", "tcsh"]).code, Some(2));
}
