//! `postern http …` through a running `postern start`, and `postern app` with what belongs to it.

use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use support::http::Client;
use support::manager::{Far, Manager, Target};
use support::quick_setup::Act;
use support::relay::{Relay, with};
use support::share::Sharing;
use support::{Home, TIMEOUT, free_port, keep_the_usual_port_away, wait_until};

#[test]
fn a_running_start_carries_it_and_tells_what_happens() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let port = far.assign();
    let args = [
        "http",
        &target.port().to_string(),
        "--name",
        "notes",
        "--json",
    ];
    let mut sharing = Sharing::start(manager.home(), &args);
    let shared = sharing.event("shared");
    assert_eq!(shared["link"], format!("http://127.0.0.1:{port}/"));
    let id = shared["id"].as_str().unwrap();
    let app = manager.client().get(&format!("/api/apps/{id}")).data();
    assert_eq!(
        (&app["name"], &app["temporary"]),
        (&json!("notes"), &json!(true))
    );
    let exported = manager.home().run(&["app", "export", "notes"]);
    assert_eq!((exported.code, exported.stdout.as_str()), (Some(1), ""));
    let said =
        "postern: 'notes' belongs to a running command: it is not saved, so it is not exported\n";
    assert!(exported.stderr.starts_with(said), "{exported:?}");
    assert_eq!(
        manager.home().run(&["app", "disconnect", "notes"]).code,
        Some(0)
    );
    assert_eq!(sharing.code(), Some(0), "{}", sharing.stderr());
    assert_eq!(sharing.event("ended")["reason"], "disconnected");
    wait_until(TIMEOUT, "its end", || {
        manager.client().get("/api/apps").data() == json!([])
    });
}

/// An extension made elsewhere is reported where the application is shared.
#[test]
fn another_end_is_told_where_it_is_shared() {
    let (manager, target) = (Manager::start(&[]), Target::start());
    let home = manager.home();
    let port = target.port().to_string();
    let args = ["http", &port, "--name", "shop", "--for", "1h"];
    let sharing = Sharing::start(home, &args);
    sharing.link();
    assert_eq!(
        home.run(&["app", "edit", "shop", "--for", "40s"]).code,
        Some(0)
    );
    let told = || {
        let said = sharing.stderr();
        let (_, until) = said.split_once("  now until ")?;
        Some(until.lines().next()?.matches(':').count())
    };
    wait_until(TIMEOUT, "the new end", || told().is_some());
    assert_eq!(told(), Some(2), "with seconds: {}", sharing.stderr());
    let edited = home.run(&["app", "edit", "shop", "--until", ""]);
    assert_eq!(edited.code, Some(0), "{edited:?}");
    wait_until(TIMEOUT, "no end", || {
        sharing.stderr().contains("  now without an end time\n")
    });
}

#[test]
fn what_the_page_removes_ends_the_command() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let args = ["http", &target.port().to_string()];
    far.assign();
    let mut sharing = Sharing::start(manager.home(), &args);
    sharing.link();
    assert_eq!(
        manager
            .home()
            .run(&["app", "remove", &format!("http {}", target.port())])
            .code,
        Some(0)
    );
    assert_eq!(sharing.code(), Some(0), "{}", sharing.stderr());
    assert!(
        sharing.stderr().contains("It was removed. Shared for "),
        "{}",
        sharing.stderr()
    );
}

/// By the relay within `start`, which ends with it, and by another server, which does not.
#[test]
fn a_share_outlives_the_start_that_carried_it_at_the_same_address() {
    keep_the_usual_port_away();
    let target = Target::start();
    let args = [
        "http",
        &target.port().to_string(),
        "--name",
        "notes",
        "--json",
    ];
    let relay = Relay::start(&[]);
    for server in [vec![], vec!["--server".to_owned(), relay.url()]] {
        let server: Vec<&str> = server.iter().map(String::as_str).collect();
        let mut manager = Manager::start(&server);
        let mut sharing = Sharing::start(manager.home(), &args);
        let link = sharing.event("shared")["link"].clone();
        manager.kill();
        wait_until(TIMEOUT, "it is carried on", || {
            sharing.events("shared").len() == 2
        });
        assert_eq!(sharing.events("shared")[1]["link"], link, "{server:?}");
        assert!(
            sharing
                .stderr()
                .contains("'postern start' has ended; this command")
        );
        let name = link.as_str().unwrap().trim_start_matches("http://");
        let name = name.trim_end_matches('/').to_owned();
        let (_, port) = name.rsplit_once(':').unwrap();
        let mut client = Client::new(&format!("127.0.0.1:{port}"));
        let visited = client.send("GET", "/", &[("Host", &name), ("Origin", "")], b"");
        assert_eq!(visited.text(), "hello from the target");
        sharing.signal(Signal::INT);
        assert_eq!(sharing.code(), Some(0), "{}", sharing.stderr());
        assert_eq!(sharing.event("ended")["reason"], "interrupted");
    }
}

/// The relay is away too when `start` is killed: it is tried until that is back, as without a start.
#[test]
fn a_share_outlives_the_start_that_carried_it_while_its_server_is_away() {
    let (mut far, target) = (Far::new(), Target::start());
    let mut manager = far.manager();
    let args = ["http", &target.port().to_string(), "--json"];
    far.assign();
    let mut sharing = Sharing::start(manager.home(), &args);
    sharing.event("shared");
    far.close();
    let asked = far.quick.requests().len();
    far.quick.script([Act::json(502, &json!({}))]);
    manager.kill();
    sharing.wait_said("reconnecting: the relay answered 502");
    far.quick.wait_for(asked + 2);
    far.open();
    far.assign();
    wait_until(TIMEOUT, "it is carried on", || {
        sharing.events("shared").len() == 2
    });
    sharing.signal(Signal::INT);
    assert_eq!(sharing.code(), Some(0), "{}", sharing.stderr());
}

#[test]
fn a_start_that_does_not_answer_for_a_while_ends_no_share() {
    let (manager, target) = (Manager::start(&[]), Target::start());
    let args = ["http", &target.port().to_string(), "-v"];
    let mut sharing = Sharing::start(manager.home(), &args);
    sharing.link();
    let pid = Pid::from_raw(manager.pid().try_into().unwrap()).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    sharing.wait_said("retrying: ");
    kill_process(pid, Signal::CONT).unwrap();
    let remove = format!("http {}", target.port());
    let removed = manager.home().run(&["app", "remove", &remove]);
    assert_eq!(removed.code, Some(0), "{}", removed.stderr);
    assert_eq!(sharing.code(), Some(0), "{}", sharing.stderr());
    assert!(sharing.stderr().contains("It was removed. Shared for "));
}

#[test]
fn refusals_are_exit_status_4_and_nothing_is_left() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    far.quick
        .script([Act::json(403, &json!({"message": "not you"}))]);
    let mut sharing = Sharing::start(manager.home(), &["http", &target.port().to_string()]);
    assert_eq!(sharing.code(), Some(4), "{}", sharing.stderr());
    assert!(sharing.stderr().contains("not you"), "{}", sharing.stderr());
    assert_eq!(manager.client().get("/api/apps").data(), json!([]));
}

/// Nobody asks visitors of a port for a code.
#[test]
fn a_port_through_a_server_that_others_reach_asks_who_may_come() {
    let manager = Manager::start(&[]);
    let home = manager.home();
    let add = ["app", "add", "ssh", "box", "--connect"];
    for line in [&["ssh", "box"][..], &["tcp", "5432"], &["rdp"], &add] {
        let line = [line, &["--server", "https://relay.example"]].concat();
        let refused = home.run(&line);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(
            refused.stderr.contains("--allow CIDR") && refused.stderr.contains("--visible"),
            "{refused:?}"
        );
    }
    assert_eq!(manager.client().get("/api/apps").data(), json!([]));
}

fn app(home: &Home, name: &str) -> Value {
    let shown = home.run(&["app", "show", name, "--json"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    serde_json::from_str(&shown.stdout).unwrap()
}

#[test]
fn edit_changes_what_is_named_and_nothing_else() {
    let home = Home::new();
    let added = home.run(&[
        "app",
        "add",
        "mysql",
        "mysql://bob:hunter2@db:3307/shop",
        "--name",
        "books",
        "--allow",
        "10.0.0.0/8",
        "--for",
        "2h",
        "--group",
        "work",
        "--audit",
    ]);
    assert_eq!(added.code, Some(0), "{added:?}");
    let before = app(&home, "books");
    let edited = home.run(&[
        "app",
        "edit",
        "books",
        "--address",
        "3308",
        "--until",
        "",
        "--allow",
        "",
        "--no-audit",
        "--readwrite",
    ]);
    assert_eq!(edited.code, Some(0), "{edited:?}");
    assert!(edited.stderr.contains("(--readwrite)"), "{edited:?}");
    let after = app(&home, "books");
    assert_eq!(
        (
            &after["ip"],
            &after["port"],
            &after["expires"],
            &after["allow"]
        ),
        (&json!("127.0.0.1"), &json!(3308), &json!(null), &json!([]))
    );
    assert_eq!(
        (&after["audit"], &after["db_readonly"]),
        (&json!(false), &json!(false))
    );
    for kept in [
        "id",
        "name",
        "group",
        "db_user",
        "db_name",
        "invisible",
        "has_db_pass",
        "created_at",
    ] {
        assert_eq!(before[kept], after[kept], "{kept}");
    }
    let replaced = home.run(&["app", "add", "http", "8080", "--name", "books", "--replace"]);
    assert_eq!(replaced.stdout.trim(), before["id"].as_str().unwrap());
    let shown = home.run(&["app", "show", "books"]);
    assert!(
        shown.stdout.contains("target        http 127.0.0.1:8080\n"),
        "{shown:?}"
    );
}

#[test]
fn export_has_no_secret_and_import_says_what_it_leaves_out() {
    let (from, to) = (Home::new(), Home::new());
    for line in [
        &[
            "app",
            "add",
            "mysql",
            "db:3307",
            "--name",
            "books",
            "--db-pass",
            "hunter2",
            "--guest",
            "shop.*",
        ][..],
        &[
            "app", "add", "http", "3000", "--name", "web", "--host", "target",
        ],
    ] {
        assert_eq!(from.run(line).code, Some(0));
    }
    let exported = from.run(&["app", "export"]);
    assert!(!exported.stdout.contains("hunter2"), "{exported:?}");
    let one: Value = serde_json::from_str(&from.run(&["app", "export", "web"]).stdout).unwrap();
    assert_eq!(one["applications"].as_array().map(Vec::len), Some(1));
    assert_eq!(
        to.run(&["app", "add", "ssh", "--name", "web"]).code,
        Some(0)
    );
    let imported = to.run_with_input(&["app", "import", "-"], &exported.stdout);
    assert_eq!(imported.code, Some(0), "{imported:?}");
    assert!(imported.stdout.ends_with("\tbooks\n"), "{imported:?}");
    assert_eq!(
        imported.stderr,
        "postern: 'books': autoconnect: no; server: the relay on this machine\n\
         postern: 'books': has no password: run 'postern app edit books' with POSTERN_DB_PASS set\n\
         postern: 'books': it has a new code: old links no longer work\n\
         postern: 'web' already exists: skipped\n"
    );
    let books = app(&to, "books");
    assert_eq!(
        (
            &books["ip"],
            &books["port"],
            &books["guest"],
            &books["has_db_pass"]
        ),
        (
            &json!("db"),
            &json!(3307),
            &json!(["shop.*"]),
            &json!(false)
        )
    );
    let edit = |args: &[&str]| {
        let mut edit = to.command(&[&["app", "edit", "books"], args].concat());
        edit.env("POSTERN_DB_PASS", "hunter3").output().unwrap()
    };
    assert!(edit(&["--display-name", "Books"]).status.success());
    assert_eq!(app(&to, "books")["has_db_pass"], false, "it was not asked");
    assert!(edit(&[]).status.success());
    assert_eq!(app(&to, "books")["has_db_pass"], true);
    for (text, words) in [
        ("[]", "is not a JSON object"),
        ("{}", "its format is different"),
        (
            r#"{"format": "postern applications", "version": 2}"#,
            "use a newer postern",
        ),
        (
            r#"{"format": "postern applications", "version": 1}"#,
            "it has no applications",
        ),
        (
            r#"{"format": "postern applications", "version": 1, "applications": [{"protocol": "http", "colour": 1}]}"#,
            "--colour is not a known field",
        ),
    ] {
        let refused = to.run_with_input(&["app", "import", "-"], text);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stderr.contains(words), "{text}: {refused:?}");
    }
}

/// A file from elsewhere connects nothing by itself, and says where it would lead.
#[test]
fn an_import_names_the_server_and_is_not_armed_unasked() {
    let (from, to) = (Home::new(), Home::new());
    for (name, server) in [("a", "http://127.0.0.1:7"), ("b", "http://127.0.0.1:8")] {
        let line = ["app", "add", "http", "3000", "--autoconnect", "--name"];
        let line = [&line[..], &[name, "--server", server]].concat();
        assert_eq!(from.run(&line).code, Some(0));
    }
    let known = to.run(&["server", "add", "http://127.0.0.1:8"]);
    assert_eq!(known.code, Some(3), "saved, but unreachable: {known:?}");
    let exported = from.run(&["app", "export"]).stdout;
    for (more, armed) in [(&[][..], false), (&["--keep-autoconnect"], true)] {
        let imported = to.run_with_input(&[&["app", "import", "-"], more].concat(), &exported);
        assert_eq!(imported.code, Some(0), "{imported:?}");
        let by_itself = match armed {
            true => "yes",
            false => "no (yes in the file; --keep-autoconnect keeps that)",
        };
        let said = format!(
            "postern: 'a': autoconnect: {by_itself}; server: http://127.0.0.1:7, not in your list of relays\n\
             postern: 'b': autoconnect: {by_itself}; server: http://127.0.0.1:8\n"
        );
        assert_eq!(imported.stderr, said);
        for (name, server) in [("a", "http://127.0.0.1:7"), ("b", "http://127.0.0.1:8")] {
            let app = app(&to, name);
            assert_eq!(
                (&app["autoconnect"], &app["server"]),
                (&json!(armed), &json!(server))
            );
            assert_eq!(to.run(&["app", "remove", name]).code, Some(0));
        }
    }
}

#[test]
fn an_import_warns_of_what_visitors_could_do() {
    let (from, to) = (Home::new(), Home::new());
    for more in [
        &["writable", "--readwrite"][..],
        &["seen", "--visible"],
        &["safe"],
    ] {
        let line = [&["app", "add", "mysql", "--name"], more].concat();
        assert_eq!(from.run(&line).code, Some(0));
    }
    let exported = from.run(&["app", "export"]).stdout;
    let imported = to.run_with_input(&["app", "import", "-"], &exported);
    assert_eq!(imported.code, Some(0), "{imported:?}");
    for said in [
        "'writable': once connected, anyone with the code can change and delete data\n",
        "'seen': once connected, anyone who knows the address can read the database without a code\n",
    ] {
        assert!(imported.stderr.contains(said), "{said}: {imported:?}");
    }
    assert_eq!(imported.stderr.matches("once connected").count(), 2);
}

/// With which server an application stayed goes along, also where it names none.
#[test]
fn the_server_that_an_application_stays_with_is_exported() {
    let (far, target) = (Far::new(), Target::start());
    let home = Arc::new(Home::new());
    let known = home.run(&["server", "add", &far.quick.url(), "--default"]);
    assert_eq!(known.code, Some(0), "{known:?}");
    let manager = Manager::start_in(&home, &[]);
    let id = manager.add(&target.app());
    far.assign();
    manager.connected(&id);
    // It is noted once the application is connected.
    wait_until(TIMEOUT, "its server is exported", || {
        let exported = home.run(&["app", "export"]).stdout;
        let exported: Value = serde_json::from_str(&exported).unwrap();
        exported["applications"][0]["server"] == far.quick.url()
    });
}

/// An application shared for a limited time does not become unlimited elsewhere.
#[test]
fn an_end_goes_along_with_an_export_also_one_that_has_passed() {
    let (from, target) = (Manager::start(&[]), Target::start());
    let to = Manager::start(&[]);
    let ends = json!({"lent": "2130-01-31T17:00:00Z", "over": "2020-01-01T00:00:00Z"});
    for name in ["lent", "over"] {
        from.add(&with(
            target.app(),
            json!({"name": name, "expires": ends[name]}),
        ));
    }
    let exported = from.home().run(&["app", "export"]);
    let imported = to
        .home()
        .run_with_input(&["app", "import", "-"], &exported.stdout);
    assert_eq!(imported.code, Some(0), "{imported:?}");
    for name in ["lent", "over"] {
        assert_eq!(app(to.home(), name)["expires"], ends[name]);
    }
    let refused = to.home().run(&["app", "connect", "over"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("has expired\n"), "{refused:?}");
}

#[test]
fn all_and_several_are_connected_and_disconnected() {
    let (manager, target) = (Manager::start(&[]), Target::start());
    let home = manager.home();
    let names = ["one", "two", "three"];
    for name in names {
        let port = target.port().to_string();
        assert_eq!(
            home.run(&["app", "add", "http", &port, "--name", name])
                .code,
            Some(0)
        );
    }
    let connected = home.run(&["app", "connect", "--all"]);
    assert_eq!(connected.code, Some(0), "{connected:?}");
    for name in names {
        assert!(
            connected
                .stdout
                .contains(&format!("{name}\thttp://{name}.localhost:")),
            "{connected:?}"
        );
    }
    let ended = home.run(&["app", "disconnect", "one", "two", "--json"]);
    assert_eq!(
        (ended.code, ended.stdout.lines().count()),
        (Some(0), 2),
        "{ended:?}"
    );
    assert_eq!(home.run(&["app", "disconnect", "--all"]).code, Some(0));
    let removed = home.run(&["app", "remove", "one", "two", "--json"]);
    assert_eq!(removed.stdout.lines().count(), 2, "{removed:?}");
    assert_eq!(
        manager
            .client()
            .get("/api/apps")
            .data()
            .as_array()
            .map(Vec::len),
        Some(1)
    );
}

#[test]
fn add_connects_and_the_code_is_renewed() {
    let target = Target::start();
    let manager = Manager::start(&[]);
    let home = manager.home();
    let port = target.port().to_string();
    let added = home.run(&[
        "app",
        "add",
        "http",
        &port,
        "--name",
        "notes",
        "--invisible",
        "--connect",
    ]);
    assert_eq!(added.code, Some(0), "{added:?}");
    let code = |args: &[&str]| {
        let said = home.run(&[&["app", "code", "notes"], args].concat());
        assert_eq!(said.code, Some(0), "{said:?}");
        said.stdout.lines().next().unwrap().to_owned()
    };
    let first = code(&[]);
    assert!(added.stdout.contains(&first), "{added:?}");
    let second = code(&["--new"]);
    assert!(first != second && code(&[]) == second);
    assert_eq!(home.run(&["app", "signout", "notes"]).code, Some(0));
    let qr = home.run(&["app", "qr", "notes"]);
    assert!(
        qr.stdout.contains('█') && qr.stdout.contains(&second),
        "{qr:?}"
    );
    assert_eq!(
        home.run(&["app", "edit", "notes", "--visible"]).code,
        Some(0)
    );
    assert_eq!(code(&[]), second, "what is in force");
    assert_eq!(home.run(&["app", "disconnect", "notes"]).code, Some(0));
    let none = home.run(&["app", "code", "notes"]);
    assert_eq!(none.code, Some(1), "{none:?}");
}

#[test]
fn a_port_that_is_another_programs_is_told() {
    // A failure to bind means that another program already has the port.
    let _held = std::net::TcpListener::bind("127.0.0.1:8180");
    let (home, target) = (Home::new(), Target::start());
    let sharing = Sharing::start(&home, &["http", &target.port().to_string()]);
    sharing.wait_said("port 8180 is in use");
}

/// H3: an older relay does not know that the name is required, and gives another one: it gets that back.
#[test]
fn a_required_name_is_had_or_nothing_also_at_an_older_relay() {
    let (home, far, target) = (Home::new(), Far::new(), Target::start());
    let mut answer = far.answer(free_port());
    answer["app"]["in_force"] = json!([]);
    answer["app"]["site_url"] = json!("http://wiki-2.localhost:80/");
    far.quick.script([Act::json(200, &answer)]);
    let (port, url) = (target.port().to_string(), far.quick.url());
    let args = ["http", &port, "--site-name", "wiki", "--server", &url];
    let refused = home.run(&args);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    let said = &refused.stderr;
    assert!(said.contains("the name 'wiki' is already taken"), "{said}");
    assert!(said.contains("choose another --site-name"), "{said}");
    let requests = far.quick.requests();
    assert_eq!(requests[0].json()["site_name_required"], true);
    let is_release = |head: &str| head.starts_with("DELETE /api/public/applications/");
    assert!(requests.iter().any(|request| is_release(&request.head)));
}

#[test]
fn a_name_of_two_letters_is_told_to_be_too_short_for_an_older_relay() {
    let (home, far, target) = (Home::new(), Far::new(), Target::start());
    let refusal = json!({"code": 400, "message": "site_name: 3 to 63 of a-z, 0-9 and hyphens"});
    far.quick.script([Act::json(400, &refusal)]);
    let (port, url) = (target.port().to_string(), far.quick.url());
    let refused = home.run(&["http", &port, "--site-name", "qa", "--server", &url]);
    assert_ne!(refused.code, Some(0), "{refused:?}");
    let said = &refused.stderr;
    assert!(
        said.contains("this relay is older: it takes site names of 3 to 63"),
        "{said}"
    );
}
