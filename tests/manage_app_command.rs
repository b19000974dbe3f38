//! `postern app …`: with a running `postern start`, and without.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a panic is how a test reports"
)]

mod support;

use serde_json::{Value, json};
use support::Home;
use support::manager::{Far, Manager, Target};
use support::quick_setup::Act;

fn listed(home: &Home) -> Vec<Vec<String>> {
    let listed = home.run(&["app", "list"]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    let cells = |line: &str| line.split('\t').map(str::to_owned).collect();
    listed.stdout.lines().map(cells).collect()
}

#[test]
fn without_a_start_the_stored_list_is_used() {
    let home = Home::new();
    assert_eq!(
        listed(&home),
        [[
            "ID", "STATUS", "PROTOCOL", "ADDRESS", "ACCESS", "HEALTH", "SITE", "NAME"
        ]]
    );
    let added = home.run(&[
        "app",
        "add",
        "mysql",
        "db.example:3307",
        "--name",
        "books",
        "--db-pass",
        "planted",
    ]);
    assert_eq!((added.code, added.stderr.as_str()), (Some(0), ""));
    let id = added.stdout.trim().to_owned();
    assert_eq!(id.len(), 16);
    assert_eq!(
        listed(&home)[1],
        [
            id.as_str(),
            "idle",
            "mysql",
            "db.example:3307",
            "will be invisible, read-only",
            "-",
            "-",
            "books"
        ]
    );
    let json = home.run(&["app", "list", "--json"]);
    let apps: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(
        (&apps[0]["id"], &apps[0]["has_db_pass"]),
        (&json!(id), &json!(true))
    );
    assert!(!json.stdout.contains("planted"));
    for word in ["connect", "disconnect"] {
        let failed = home.run(&["app", word, &id]);
        assert_eq!(failed.code, Some(1));
        assert!(
            failed.stderr.contains("no 'postern start' runs")
                && failed.stderr.contains("run 'postern start' first")
        );
    }
    assert_eq!(home.run(&["app", "remove", "nope"]).code, Some(1));
    assert_eq!(home.run(&["app", "remove", "books"]).code, Some(0));
    assert_eq!(listed(&home).len(), 1);
}

#[test]
fn a_running_start_is_asked() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let home = manager.home();
    let port = far.assign();
    let added = home.run(&[
        "app",
        "add",
        "http",
        &target.port().to_string(),
        "--name",
        "shop",
        "--json",
    ]);
    let id = serde_json::from_str::<Value>(&added.stdout).unwrap()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(manager.status(&id)["status"], "idle");
    let wrong = home.run(&["app", "add", "tcp"]);
    assert_eq!(wrong.code, Some(2), "as without a running start: {wrong:?}");
    assert!(wrong.stderr.contains("port is required") && wrong.stderr.contains("--help"));
    let connected = home.run(&["app", "connect", "shop"]);
    assert_eq!(
        (connected.code, connected.stderr.as_str()),
        (Some(0), ""),
        "{connected:?}"
    );
    assert_eq!(connected.stdout, format!("http://127.0.0.1:{port}/\n"));
    assert_eq!(listed(home)[1][1], "connected");
    let again = home.run(&["app", "connect", &id, "--json"]);
    let result: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(result["status"], "connected");
    assert_eq!(home.run(&["app", "disconnect", "shop"]).code, Some(0));
    assert_eq!(manager.status(&id)["status"], "idle");
    far.quick
        .script([Act::json(400, &json!({"message": "no room"}))]);
    let failed = home.run(&["app", "connect", "shop"]);
    assert_eq!(failed.code, Some(1));
    assert!(failed.stderr.contains("no room"), "{failed:?}");
    assert_eq!(home.run(&["app", "remove", "shop"]).code, Some(0));
    assert_eq!(manager.client().get("/api/apps").data(), json!([]));
}

#[test]
fn a_wrong_line_is_refused() {
    let manager = Manager::start(&[]);
    for (line, code, word) in [
        (&["app"][..], 2, "Usage"),
        (&["app", "lst"], 2, "did you mean 'list'"),
        (&["app", "add"], 2, "PROTOCOL"),
        (&["app", "add", "gopher"], 2, "give one of http, https, tcp"),
        (&["app", "add", "http", "0"], 2, "not a port"),
        (&["app", "add", "tcp"], 2, "port is required"),
        (&["app", "add", "ssh", "--invisible"], 2, "invisible"),
        (&["app", "connect"], 2, "ID"),
        (&["app", "connect", "a", "b"], 2, "unexpected argument"),
        (&["app", "connect", "a"], 1, "there is no application"),
    ] {
        let failed = manager.home().run(line);
        assert_eq!(failed.code, Some(code), "{line:?}: {failed:?}");
        assert!(failed.stderr.contains(word), "{line:?}: {failed:?}");
    }
    manager.add(&json!({"protocol": "mysql", "name": "db"}));
    let failed = manager.home().run(&["app", "connect", "db"]);
    assert_eq!(
        failed.stderr,
        "postern: unsupported protocol 'mysql'\nrun 'postern plugin add mysql' first\n"
    );
    manager.add(&json!({"protocol": "http", "name": "two"}));
    manager.add(&json!({"protocol": "http", "name": "two"}));
    let failed = manager.home().run(&["app", "remove", "two"]);
    assert!(
        failed.code == Some(1) && failed.stderr.contains("2 applications are called"),
        "{failed:?}"
    );
    for word in ["list", "add", "connect", "disconnect", "remove"] {
        let help = manager.home().run(&["app", word, "--help"]);
        assert!(
            help.code == Some(0) && help.stdout.contains("Usage: postern app"),
            "{help:?}"
        );
    }
}

/// What a server says is printed whole, and what to try stands in the second line.
#[test]
fn no_error_is_cut_and_the_hint_is_the_second_line() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    manager.add(&json!({"protocol": "http", "name": "printer", "port": target.port()}));
    let said = format!(
        "this relay does not know the connector and enrols new ones with its enrol token only: give it with \
         --enroll-token{}",
        ", which its operator has".repeat(40)
    );
    far.quick
        .script([Act::json(403, &json!({"message": said}))]);
    let failed = manager.home().run(&["app", "connect", "printer"]);
    let expected = format!(
        "postern: the server answered 403: {said}\n\
         give the server's enrol token (--enroll-token, POSTERN_ENROLL_TOKEN), or ask who runs it\n"
    );
    assert_eq!((failed.code, failed.stderr), (Some(1), expected));
    far.quick
        .script([Act::json(400, &json!({"message": "no\u{1b}[2Jroom\nhere"}))]);
    let failed = manager.home().run(&["app", "connect", "printer"]);
    assert_eq!(
        failed.stderr,
        "postern: the server answered 400: no [2Jroom here\n\
         check the application and the server's URL, or ask who runs the server\n"
    );
}

#[test]
fn flags_that_contradict_each_other_are_refused() {
    let home = Home::with_plugin();
    for line in [
        &["app", "add", "http", "80", "--visible", "--invisible"][..],
        &["app", "add", "mysql", "--invisible", "--visible"],
        &["app", "add", "mysql", "--readonly", "--readwrite"],
        &["mysql", "--readonly", "--readwrite"],
        &["mysql", "--share", "--visible", "--invisible"],
    ] {
        let failed = home.run(line);
        assert_eq!(failed.code, Some(2), "{line:?}: {failed:?}");
        assert!(
            failed.stderr.contains("contradict each other\n"),
            "{failed:?}"
        );
    }
    assert_eq!(listed(&home).len(), 1, "nothing was added");
}

#[test]
fn what_less_protection_opens_is_said_in_one_line() {
    let home = Home::new();
    for (flags, words) in [
        (&["--readonly", "--invisible"][..], ""),
        (
            &["--visible"],
            "read the database without a code: --visible is given",
        ),
        (
            &["--readwrite"],
            "change and delete data: --readwrite is given",
        ),
        (
            &["--visible", "--readwrite"],
            "read, change and delete data without a code: --visible and --readwrite are given",
        ),
    ] {
        let added = home.run(&[&["app", "add", "mysql"], flags].concat());
        assert_eq!((added.code, added.stdout.len()), (Some(0), 17), "{added:?}");
        assert!(added.stderr.contains(words), "{added:?}");
        assert_eq!(added.stderr.lines().count(), usize::from(!words.is_empty()));
    }
    let added = home.run(&["app", "add", "http", "80", "--visible"]);
    assert_eq!(added.stderr, "", "a web site is visible anyway");
}
