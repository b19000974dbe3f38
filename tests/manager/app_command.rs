//! `postern app …`: with a running `postern start`, and without.

use std::sync::Arc;

use serde_json::{Value, json};
use support::Home;
use support::free_port;
use support::manager::{Far, Manager, Target};
use support::quick_setup::Act;
use support::relay::with;
use support::share::Sharing;

fn listed(home: &Home) -> Vec<Vec<String>> {
    let listed = home.run(&["app", "list"]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    let cells = |line: &str| line.split('\t').map(str::to_owned).collect();
    listed.stdout.lines().map(cells).collect()
}

/// Each command is the same call, to another process or in its own.
#[test]
fn answers_are_the_same_with_and_without_a_start() {
    let home = Arc::new(Home::new());
    let add = |line: &str| {
        let args: Vec<&str> = line.split(' ').collect();
        let done = home.run(&args);
        assert_eq!(done.code, Some(0), "{done:?}");
    };
    add("app add http 3000 --name shop --group g --allow 192.0.2.0/24 --for 2d");
    add("app add mysql db.example --name books --db-user me --db-pass p --readwrite");
    let shown = || {
        let lines = [
            "app list",
            "app list --json",
            "app show shop books",
            "app show shop --json",
        ];
        lines.map(|line| {
            let args: Vec<&str> = line.split(' ').collect();
            home.run(&args).stdout
        })
    };
    let refused = |args: &[&str]| {
        let done = home.run(args);
        (done.code, done.stderr)
    };
    let taken = ["app", "add", "http", "3001", "--name", "shop"];
    let missing = ["app", "remove", "nobody"];
    let (stopped, refusals) = (shown(), [refused(&taken), refused(&missing)]);
    assert!(
        refusals[0].1.ends_with("\nchoose another name\n"),
        "{refusals:?}"
    );
    let _manager = Manager::start_in(&home, &[]);
    assert_eq!(shown(), stopped);
    assert_eq!([refused(&taken), refused(&missing)], refusals);
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
            failed.stderr.contains("'postern start' is not running")
                && failed.stderr.contains("run 'postern start' first")
        );
    }
    assert_eq!(home.run(&["app", "remove", "nope"]).code, Some(1));
    assert_eq!(home.run(&["app", "remove", "books"]).code, Some(0));
    assert_eq!(listed(&home).len(), 1);
}

/// Each member of `app show --json` is in the answer of another command; some may have changed since.
#[track_caller]
fn has_what_show_prints(home: &Home, answer: &Value) {
    let name = answer["name"].as_str().unwrap();
    let shown = home.run(&["app", "show", name, "--json"]);
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    for (member, value) in shown.as_object().unwrap() {
        assert!(answer.get(member).is_some(), "{member}: {answer}");
        if !["connection", "health", "last_connected_at"].contains(&member.as_str()) {
            assert_eq!(&answer[member], value, "{member}");
        }
    }
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
    assert!(wrong.stderr.contains("PORT is required") && wrong.stderr.contains("--help"));
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
    has_what_show_prints(home, &result);
    let qr = home.run(&["app", "qr", "shop", "--json"]);
    let qr: Value = serde_json::from_str(&qr.stdout).unwrap();
    assert_eq!(
        (&qr["id"], &qr["link"]),
        (&json!(id), &json!(format!("http://127.0.0.1:{port}/")))
    );
    assert_eq!(home.run(&["app", "disconnect", "shop"]).code, Some(0));
    assert_eq!(manager.status(&id)["status"], "idle");
    for args in [
        &["app", "connect", "shop"][..],
        &["app", "connect", "shop", "--json"],
    ] {
        far.quick
            .script([Act::json(400, &json!({"message": "no room"}))]);
        let failed = home.run(args);
        assert_eq!(failed.code, Some(1), "{failed:?}");
        assert!(failed.stderr.contains("no room"), "{failed:?}");
        if let Ok(shown) = serde_json::from_str::<Value>(&failed.stdout) {
            assert_eq!(
                (&shown["id"], &shown["status"]),
                (&json!(id), &json!("failed"))
            );
            assert!(shown["message"].as_str().unwrap().contains("no room"));
            has_what_show_prints(home, &shown);
        }
    }
    assert_eq!(home.run(&["app", "remove", "shop"]).code, Some(0));
    let target = target.port().to_string();
    let line = [
        "app",
        "add",
        "http",
        &target,
        "--name",
        "more",
        "--connect",
        "--json",
    ];
    let port = far.assign();
    let added = home.run(&line);
    assert_eq!(added.code, Some(0), "{added:?}");
    let added: Value = serde_json::from_str(&added.stdout).unwrap();
    assert_eq!(added["site_url"], format!("http://127.0.0.1:{port}/"));
    has_what_show_prints(home, &added);
    assert_eq!(home.run(&["app", "remove", "more"]).code, Some(0));
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
        (&["app", "add", "http", "0"], 2, "a port is a number"),
        (&["app", "add", "tcp"], 2, "PORT is required"),
        (&["app", "add", "ssh", "--invisible"], 2, "invisible"),
        (
            &["app", "add", "ssh", "http://127.0.0.1:80/"],
            2,
            "that address is for http, not for ssh\n",
        ),
        (
            &["app", "add", "http", "::1"],
            2,
            "an IPv6 address needs brackets: [::1]\n",
        ),
        (
            &["app", "add", "http", "22", "--readonly"],
            2,
            "--readonly is for databases, not for http\n",
        ),
        (
            &["app", "add", "ssh", "--db-user", "x"],
            2,
            "--db-user is for databases, not for ssh\n",
        ),
        (&["app", "connect"], 2, "ID"),
        (
            &["app", "connect", "a", "b"],
            1,
            "there is no application 'a'",
        ),
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
    let failed = manager.home().run(&["app", "add", "http", "--name", "db"]);
    assert!(
        failed.code == Some(1) && failed.stderr.contains("another application is named 'db'"),
        "{failed:?}"
    );
    for word in ["list", "add", "connect", "disconnect", "trust", "remove"] {
        let help = manager.home().run(&["app", word, "--help"]);
        assert!(
            help.code == Some(0) && help.stdout.contains("Usage: postern app"),
            "{help:?}"
        );
    }
}

/// A server's message is printed in full, and the hint is the second line.
#[test]
fn no_error_is_cut_and_the_hint_is_the_second_line() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    manager.add(&json!({"protocol": "http", "name": "printer", "port": target.port()}));
    let said = format!(
        "unknown connector: this relay enrols new ones with an enrolment token only; add --enroll-token TOKEN{}",
        ", which its operator has".repeat(40)
    );
    far.quick
        .script([Act::json(403, &json!({"message": said}))]);
    let failed = manager.home().run(&["app", "connect", "printer"]);
    let expected = format!(
        "postern: the relay answered 403: {said}\n\
         give an enrolment token of the relay (on the page, or 'postern server add URL --enroll-token T'), or ask its operator\n"
    );
    assert_eq!((failed.code, failed.stderr), (Some(4), expected));
    far.quick
        .script([Act::json(400, &json!({"message": "no\u{1b}[2Jroom\nhere"}))]);
    let failed = manager.home().run(&["app", "connect", "printer"]);
    assert_eq!(
        failed.stderr,
        "postern: the relay answered 400: no [2Jroom here\n\
         check the application and the relay's URL, or ask the relay's operator\n"
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
            "read the database without a code (--visible)",
        ),
        (&["--readwrite"], "change and delete data (--readwrite)"),
        (
            &["--visible", "--readwrite"],
            "read, change and delete data without a code (--visible and --readwrite)",
        ),
    ] {
        let added = home.run(&[&["app", "add", "mysql"], flags].concat());
        assert_eq!((added.code, added.stdout.len()), (Some(0), 17), "{added:?}");
        assert!(added.stderr.contains(words), "{added:?}");
        assert_eq!(added.stderr.lines().count(), usize::from(!words.is_empty()));
    }
    let added = home.run(&["app", "add", "http", "80", "--visible"]);
    assert_eq!(added.stderr, "", "a web site is visible anyway");
    let added = home.run(&["app", "add", "http", "473o1", "--name", "x"]);
    let expected = "postern: '473o1' is read as a host name: a port has only digits\n\
        postern: the site gets another name: 'x' is not a valid site name (2 to 63 of a-z, 0-9 and hyphens)\n";
    assert_eq!(added.stderr, expected, "{added:?}");
    let added = home.run(&["app", "add", "tcp", "80", "--name", "y"]);
    assert_eq!(added.stderr, "", "a port has no name");
    let line = ["app", "add", "http", "80", "--name", "z", "--display-name"];
    let added = home.run(&[&line[..], &["Zoo"]].concat());
    assert_eq!(added.stderr, "", "the site is called after that");
}

/// A machine without a screen: everything that the page says about a changed host key, and the decision.
#[test]
fn a_changed_host_key_is_told_and_can_be_trusted() {
    let (mut far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let home = manager.home();
    far.assign();
    let mut app = target.app();
    app["name"] = json!("shop");
    let id = manager.add(&app);
    app["name"] = json!("the printer");
    app["autoconnect"] = json!(true);
    let spaced = manager.add(&app);
    assert_eq!(home.run(&["app", "connect", "shop"]).code, Some(0));
    let nothing = home.run(&["app", "trust", "shop"]);
    assert_eq!(nothing.code, Some(1), "{nothing:?}");
    assert!(nothing.stderr.contains("has not changed"), "{nothing:?}");
    let known = far.fingerprint();
    far.close();
    let offered = far.change_key();
    far.open();
    // A share that was connected, and a new one: neither waits silently.
    far.assign();
    for name in ["shop", "the printer"] {
        let refused = home.run(&["app", "connect", name]);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(4), ""));
        let named = if name == "shop" { name } else { &spaced };
        for part in [
            "the relay's host key (saved for 127.0.0.1:",
            "has changed",
            &known,
            &offered,
            &format!(
                "\ncheck the new key with the relay's operator, then run 'postern app trust {named}'\n"
            ),
        ] {
            assert!(refused.stderr.contains(part), "{part}: {refused:?}");
        }
    }
    let trust = |args: &[&str]| home.run(&[&["app", "trust", "shop"], args].concat());
    let unasked = trust(&[]);
    assert_eq!(unasked.code, Some(2), "{unasked:?}");
    assert!(
        unasked.stdout.contains(&known) && unasked.stdout.contains(&offered),
        "{unasked:?}"
    );
    assert_eq!(trust(&["--yes", &known]).code, Some(4));
    let host_key = |answer: &str| {
        let answer: Value = serde_json::from_str(answer).unwrap();
        [&answer["host_key"]["known"], &answer["host_key"]["offered"]].map(Value::clone)
    };
    let both = [json!(known), json!(offered)];
    let refused = trust(&["--yes", &known, "--json"]);
    assert_eq!(
        (refused.code, host_key(&refused.stdout)),
        (Some(4), both.clone())
    );
    assert_eq!(manager.status(&id)["status"], "connecting");
    let trusted = trust(&["--yes", &offered, "--json"]);
    assert_eq!(trusted.code, Some(0), "{trusted:?}");
    assert_eq!(host_key(&trusted.stdout), both);
    for name in ["shop", "the printer"] {
        let connected = home.run(&["app", "connect", name]);
        assert_eq!(connected.code, Some(0), "{connected:?}");
    }
    let log = manager.stderr();
    assert!(log.contains("'postern app trust'"), "{log}");
    assert!(!log.contains("known_servers.json"), "{log}");
}

/// A share started by one command disappears with its failure. Its server can still be trusted, with `postern start`
/// running and without.
#[test]
fn a_share_names_the_command_that_accepts_a_changed_host_key() {
    for with_start in [false, true] {
        let (mut far, target) = (Far::new(), Target::start());
        let home = Arc::new(Home::new());
        let _manager = with_start.then(|| far.manager_in(&home));
        let (port, url) = (target.port().to_string(), far.quick.url());
        let share = || Sharing::start(&home, &["http", &port, "--server", &url]);
        far.assign();
        let trust = |args: &[&str]| home.run(&[&["server", "trust", &url], args].concat());
        assert_eq!(trust(&[]).code, Some(1), "nothing is known yet");
        share().link();
        assert_eq!(trust(&[]).code, Some(1), "it is the known one");
        let known = far.fingerprint();
        far.close();
        assert_eq!(trust(&[]).code, Some(3), "it is not reached");
        let offered = far.change_key();
        far.open();
        far.assign();
        let mut refused = share();
        assert_eq!(refused.code(), Some(4));
        let told = format!("then run 'postern server trust {url}");
        assert!(refused.stderr().contains(&told), "{}", refused.stderr());
        let unasked = trust(&[]);
        assert_eq!(unasked.code, Some(2), "{unasked:?}");
        let table = unasked.stdout;
        assert!(
            table.contains(&known) && table.contains(&offered),
            "{table}"
        );
        assert_eq!(trust(&["--yes", &known]).code, Some(4));
        let trusted = trust(&["--yes", &offered]);
        assert_eq!(trusted.code, Some(0), "{trusted:?}");
        far.assign();
        share().link();
    }
}

/// Connections that failed with the old key are retried automatically when the new key is trusted.
#[test]
fn trust_wakes_what_waits_for_it() {
    let (mut far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let mut app = target.app();
    app["autoconnect"] = json!(true);
    let id = manager.add(&app);
    far.assign();
    manager.connected(&id);
    manager.disconnect(&id);
    far.close();
    let offered = far.change_key();
    far.open();
    manager.connect(&id);
    let failed = manager.wait_status(&id, "failed");
    assert_eq!(failed["error_class"], "host-key-changed", "{failed}");
    assert!(failed["next_retry_ms"].is_u64(), "{failed}");
    let refused = manager.home().run(&["app", "trust", &id]);
    assert!(refused.stdout.contains(&offered), "{refused:?}");
    let args = ["app", "trust", &id, "--yes", &offered];
    assert_eq!(manager.home().run(&args).code, Some(0));
    manager.wait_status(&id, "connected");
}

#[test]
fn the_exit_status_says_whether_trying_again_can_help() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let id = manager.add(&target.app());
    let message = json!({"message": "so it is"});
    for (status, code) in [(403, 4), (401, 4), (500, 1)] {
        far.quick.script([Act::json(status, &message)]);
        let failed = manager.home().run(&["app", "connect", &id]);
        assert_eq!(failed.code, Some(code), "{failed:?}");
        assert!(failed.stderr.contains("so it is"), "{failed:?}");
    }
    let mut app = target.app();
    app["server"] = json!(format!("http://127.0.0.1:{}", free_port()));
    app["autoconnect"] = json!(true);
    let unreachable = manager.add(&app);
    let failed = manager.home().run(&["app", "connect", &unreachable]);
    assert_eq!(failed.code, Some(3), "{failed:?}");
    let hint = failed.stderr.lines().nth(1).unwrap_or_default();
    assert!(hint.starts_with("next attempt in "), "{failed:?}");
    // The one that waits for its next round has a place too.
    for _ in 1..postern::manager::MAX_ACTIVE {
        far.quick.script([Act::Hold]);
        manager.connect(&manager.add(&target.app()));
    }
    let failed = manager.home().run(&["app", "connect", &id]);
    assert_eq!(failed.code, Some(5), "{failed:?}");
}

/// Ctrl-C ends the command, not the connection, and says so.
#[test]
fn an_interrupted_connect_goes_on() {
    use rustix::process::{Pid, Signal, kill_process};
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let id = manager.add(&target.app());
    far.quick.script([Act::Hold]);
    let mut command = std::process::Command::new(support::postern::binary());
    command.args(["app", "connect", &id]);
    command.envs(support::manager::environment(manager.home().path()));
    command.stderr(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    far.quick.wait_for(1);
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(130), "{said}");
    let expected = format!(
        "postern: interrupted; {id} is still connecting\n'postern app disconnect {id}' stops it\n"
    );
    assert_eq!(said, expected, "and no progress without a terminal");
    assert_eq!(manager.status(&id)["status"], "connecting");
}

/// A manager with `target` connected as `shop`.
fn shop(far: &Far, target: &Target) -> Manager {
    let manager = far.manager();
    far.assign();
    manager.connected(&manager.add(&with(target.app(), json!({"name": "shop"}))));
    manager
}

/// The form of the flags, and what holds before and after the reconnect that they need.
#[test]
fn a_change_that_needs_a_reconnect_says_what_holds_until_then() {
    let (far, target) = (Far::new(), Target::start());
    let manager = shop(&far, &target);
    let home = manager.home();
    let other = manager.add(&json!({"protocol": "http", "name": "other"}));
    let at_once = home.run(&["app", "edit", "shop", "--group", "work", "--for", "2h"]);
    assert_eq!((at_once.code, at_once.stderr.as_str()), (Some(0), ""));
    let edited = home.run(&["app", "edit", "shop", "--invisible", "--host", "target"]);
    let expected = "postern: shop keeps its old settings until it reconnects: access public; host default\n\
                    run 'postern app reconnect shop'\n";
    assert_eq!((edited.code, edited.stderr.as_str()), (Some(0), expected));
    assert_eq!(
        home.run(&["app", "edit", "shop", "--visible"]).code,
        Some(0)
    );
    let connected = home.run(&["app", "connect", "shop"]);
    assert!(
        connected
            .stderr
            .contains("run 'postern app reconnect shop'\n"),
        "{connected:?}"
    );
    let port = far.assign();
    let again = home.run(&["app", "reconnect", "--all"]);
    assert_eq!(
        (again.code, again.stdout, again.stderr.as_str()),
        (Some(0), format!("http://127.0.0.1:{port}/\n"), "")
    );
    let shown = manager.client().get("/api/apps").data();
    let connection = &shown[0]["connection"];
    assert_eq!(
        (
            &connection["exposed"]["host_header"],
            &connection["pending_changes"]
        ),
        (&json!("target"), &json!(false)),
        "{shown}"
    );
    assert_eq!(manager.status(&other)["status"], "idle", "it was not open");
    assert_eq!(home.run(&["app", "reconnect"]).code, Some(2));
    let renamed = home.run(&["app", "edit", "shop", "--invisible", "--name", "store"]);
    let hint = "\nrun 'postern app reconnect store'\n";
    assert!(renamed.stderr.ends_with(hint), "{renamed:?}");
}

#[test]
fn the_sheet_shows_what_is_in_force_and_what_a_reconnect_changes() {
    let (far, target) = (Far::new(), Target::start());
    let manager = shop(&far, &target);
    let home = manager.home();
    let edited = home.run(&[
        "app",
        "edit",
        "shop",
        "--host",
        "target",
        "--address",
        "127.0.0.1:1",
    ]);
    assert_eq!(edited.code, Some(0), "{edited:?}");
    let sheet = home.run(&["app", "show", "shop"]).stdout;
    for line in [
        &format!("target        http 127.0.0.1:{}\n", target.port()),
        "\nafter reconnecting: target http 127.0.0.1:1\n",
        "\nafter reconnecting: host target\n",
    ] {
        assert!(sheet.contains(line), "{line}: {sheet}");
    }
    assert!(!sheet.contains("\nhost "), "{sheet}");
    assert_eq!(sheet.matches("after reconnecting").count(), 2, "{sheet}");
}

/// A variable that is not set opens nothing; what is there can be cleared.
#[test]
fn an_empty_value_protects_nothing_unsaid() {
    let home = Home::new();
    for line in [
        &["app", "add", "http", "80", "--allow", ""][..],
        &[
            "app",
            "add",
            "http",
            "80",
            "--allow",
            "10.0.0.0/8",
            "--allow",
            "",
        ],
        &["app", "add", "http", "80", "--host", ""],
        &["app", "add", "mysql", "--guest", ""],
        &["http", "80", "--allow", ""],
        &["http", "80", "--host", ""],
        &["tcp", "80", "--until", ""],
    ] {
        let failed = home.run(line);
        assert_eq!(failed.code, Some(2), "{line:?}: {failed:?}");
        assert!(failed.stderr.contains(" is empty: omit it "), "{failed:?}");
    }
    let added = home.run(&[
        "app",
        "add",
        "http",
        "80",
        "--name",
        "a",
        "--allow",
        "10.0.0.0/8",
    ]);
    assert_eq!(added.code, Some(0), "{added:?}");
    assert_eq!(listed(&home)[1][4], "will be public from 10.0.0.0/8");
    assert_eq!(home.run(&["app", "edit", "a", "--allow", ""]).code, Some(0));
    assert_eq!(listed(&home)[1][4], "will be public");
}

#[test]
fn a_guest_only_reads_and_is_of_a_database() {
    let home = Home::new();
    let guest = ["--guest", "shop.orders"];
    let refused = |line: &[&str], words: &str| {
        let failed = home.run(line);
        assert_eq!(failed.code, Some(2), "{line:?}: {failed:?}");
        assert!(failed.stderr.contains(words), "{failed:?}");
    };
    let only_reads = "--guest creates a read-only account: remove --readwrite";
    let add = |more: &[&'static str]| [&["app", "add"], more, &guest].concat();
    refused(&add(&["mysql", "--readwrite"]), only_reads);
    refused(
        &add(&["http", "80"]),
        "--guest is for databases, not for http",
    );
    assert_eq!(home.run(&add(&["mysql", "--name", "db"])).code, Some(0));
    assert_eq!(
        listed(&home)[1][4],
        "will be invisible, read-only, guest reads shop.orders"
    );
    refused(&["app", "edit", "db", "--readwrite"], only_reads);
    let added = home.run(&["app", "add", "http", "80", "--name", "web"]);
    assert_eq!(added.code, Some(0), "{added:?}");
    let edit = [&["app", "edit", "web"][..], &guest].concat();
    refused(&edit, "--guest is for databases, not for http");
    // The list without a start is what `status` shows too.
    let status = home.run(&["status"]);
    assert!(
        status.stdout.contains("read-only, guest reads shop.orders"),
        "{status:?}"
    );
}

/// Of a port it is known how many came, and when the last.
#[test]
fn the_log_says_since_when_nobody_was_there() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let home = manager.home();
    let port = far.assign();
    let app = json!({"protocol": "tcp", "name": "port", "ip": "127.0.0.1", "port": target.port()});
    let id = manager.add(&app);
    let closed = home.run(&["logs", "port"]).stdout;
    assert!(closed.starts_with("port: not connected"), "{closed}");
    let since = manager.connected(&id)["since"].as_str().unwrap().to_owned();
    let nobody = home.run(&["logs", "port"]).stdout;
    assert_eq!(
        nobody,
        format!("port: no visitors since it was connected ({since})\n")
    );
    support::manager::visit(port);
    manager.wait_for(&id, "visited", |result| result["visitors"]["requests"] == 1);
    let one = home.run(&["logs", "port"]).stdout;
    let begins = format!("port: 1 visitor since it was connected ({since}), the last at 2");
    assert!(one.starts_with(&begins), "{one}");
}

/// A mark that turns the direction of writing, in a name, is no control character of C0.
#[test]
fn no_output_holds_what_disguises_text() {
    let home = Home::new();
    let name = "books\u{202e}gpj\u{2066}";
    let added = home.run(&["app", "add", "http", "3000", "--name", name]);
    assert_eq!(added.code, Some(0), "{added:?}");
    for args in [
        &["app", "list", "--json"][..],
        &["app", "list"],
        &["app", "show", name],
        &["app", "show", name, "--json"],
        &["app", "export"],
        &["app", "show", "no\u{202e}ne"],
    ] {
        let ran = home.run(args);
        let output = ran.stdout.clone() + &ran.stderr;
        assert!(!output.contains(['\u{202e}', '\u{2066}']), "{ran:?}");
        assert!(output.contains("202e"), "{ran:?}");
    }
    let listed = home.run(&["app", "list", "--json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed[0]["name"], name);
}

/// A path of a pasted URL is where links open the site, for as long as it is saved.
#[test]
fn the_path_of_a_url_is_kept() {
    let (manager, target) = (Manager::start(&[]), Target::start());
    let home = manager.home();
    let place = format!("http://127.0.0.1:{}", target.port());
    let link = || {
        let sheet = home.run(&["app", "show", "wiki"]).stdout;
        let line = sheet.lines().find(|line| line.starts_with("link"));
        line.unwrap().to_owned()
    };
    let url = format!("{place}/admin?x=1");
    let added = home.run(&["app", "add", &url, "--name", "wiki", "--connect"]);
    assert_eq!((added.code, added.stderr.as_str()), (Some(0), ""));
    assert!(link().ends_with("/admin?x=1"), "{}", link());
    let edited = home.run(&["app", "edit", "wiki", "--address", &format!("{place}/")]);
    assert_eq!(edited.code, Some(0), "{edited:?}");
    assert_eq!(home.run(&["app", "reconnect", "wiki"]).code, Some(0));
    assert!(
        link().ends_with('/') && !link().contains("admin"),
        "{}",
        link()
    );
}
