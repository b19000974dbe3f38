//! Visitors of a shared database: each has a share, and what they run is noted.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use support::database::{PASSWORD, USER};
use support::http::{Client, JSON};
use support::manager::{Far, Manager, Target};
use support::quick_setup::Act;
use support::relay::Relay;
use support::{Database, Home, TIMEOUT, wait_until};

fn app(changes: Value) -> Value {
    let port = Database::shared().port();
    let mut app = json!({"protocol": "mysql", "ip": "127.0.0.1", "port": port, "db_user": USER,
        "db_pass": PASSWORD, "invisible": false});
    app.as_object_mut()
        .unwrap()
        .extend(changes.as_object().unwrap().clone());
    app
}

/// A connected application, behind a relay of ours or another server; the port that visitors come by.
fn connected(far: &Far, is_ours: bool, changes: Value) -> (Manager, String, u16) {
    let manager = far.manager_in(&Arc::new(Home::with_plugin()));
    let id = manager.add(&app(changes));
    let port = support::free_port();
    let mut answer = far.answer(port);
    if is_ours {
        answer["app"]["in_force"] = json!(["code", "expires_in", "allow"]);
    }
    far.quick.script([Act::json(200, &answer)]);
    manager.connected(&id);
    wait_until(TIMEOUT, "the site", || {
        Client::new(&format!("127.0.0.1:{port}"))
            .try_send("GET", "/assets/none", &[], b"")
            .is_ok()
    });
    (manager, id, port)
}

fn send(port: u16, from: &str, path: &str, body: &Value) -> (u16, Value) {
    let headers = [
        ("Content-Type", "application/json"),
        ("X-Forwarded-For", from),
    ];
    let mut client = Client::new(&format!("127.0.0.1:{port}"));
    let answer = client.send("POST", path, &headers, body.to_string().as_bytes());
    (answer.status(), answer.json())
}

/// So many statements that take their time, from one address.
fn sleepers(port: u16, from: &'static str, count: usize) -> Vec<std::thread::JoinHandle<u16>> {
    let one = |number: usize| {
        let body = json!({"sql": "SELECT SLEEP(600) AS asleep_here", "query_id": format!("{from}-{number}")});
        std::thread::spawn(move || send(port, from, "/api/query", &body).0)
    };
    (0..count).map(one).collect()
}

fn asleep() -> usize {
    Database::shared().running("AS asleep_here")
}

#[test]
fn a_visitor_has_a_share_of_the_connections_and_others_theirs() {
    let far = Far::new();
    let (manager, id, port) = connected(&far, true, json!({}));
    let held = sleepers(port, "192.0.2.1", 8);
    wait_until(TIMEOUT, "eight run", || asleep() == 8);
    let select = json!({"sql": "SELECT 1 AS one"});
    let (status, answer) = send(port, "192.0.2.1", "/api/query", &select);
    assert_eq!(status, 429, "{answer}");
    let message = answer["message"].as_str().unwrap();
    assert!(
        message.contains("you use 8 database connections"),
        "{message}"
    );
    for other in ["192.0.2.2", "2001:db8::1"] {
        assert_eq!(send(port, other, "/api/query", &select).0, 200, "{other}");
    }
    // A connection of the first one is free again once its statement ends.
    let cancel = json!({"query_id": "192.0.2.1-3"});
    assert_eq!(send(port, "192.0.2.9", "/api/cancel", &cancel).0, 200);
    wait_until(TIMEOUT, "one has ended", || asleep() == 7);
    wait_until(TIMEOUT, "its place", || {
        send(port, "192.0.2.1", "/api/query", &select).0 == 200
    });
    manager.disconnect(&id);
    let ended: Vec<u16> = held
        .into_iter()
        .map(|one| one.join().unwrap_or(0))
        .collect();
    assert!(!ended.contains(&429));

    // Of another server's visitors nothing is known: all of them together, and whoever is here by themselves.
    let far = Far::new();
    let (manager, id, port) = connected(&far, false, json!({}));
    let held = sleepers(port, "192.0.2.1", 8);
    wait_until(TIMEOUT, "eight run", || asleep() == 8);
    assert_eq!(send(port, "192.0.2.2", "/api/query", &select).0, 429);
    let here = manager.status(&id)["local_url"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut here = Client::new(here.trim_start_matches("http://").trim_end_matches('/'));
    assert_eq!(here.query("", "SELECT 1")["code"], 200);
    manager.disconnect(&id);
    for one in held {
        let _ = one.join();
    }
}

#[test]
fn wrong_codes_are_counted_by_visitor_where_a_relay_of_ours_says_who_they_are() {
    let far = Far::new();
    let invisible = json!({"invisible": true});
    let (manager, id, port) = connected(&far, true, invisible.clone());
    let wrong = |port, from: &str| send(port, from, "/auth", &json!({"code": "wrong"})).0;
    for _ in 0..5 {
        assert_eq!(wrong(port, "192.0.2.1"), 401);
    }
    assert_eq!(wrong(port, "192.0.2.1"), 429);
    assert_eq!(wrong(port, "192.0.2.2"), 401, "somebody else");
    manager.disconnect(&id);
    let far = Far::new();
    let (_manager, _, port) = connected(&far, false, invisible);
    for n in 1..=5 {
        assert_eq!(wrong(port, &format!("192.0.2.{n}")), 401);
    }
    assert_eq!(
        wrong(port, "192.0.2.6"),
        429,
        "what another server passes on is not believed"
    );
}

#[test]
fn statements_are_noted_without_what_is_secret() {
    const MARKED: &str = "marked-secret";
    let far = Far::new();
    let (manager, id, port) = connected(
        &far,
        true,
        json!({"record_sql": true, "db_readonly": false}),
    );
    let run = |sql: &str| send(port, "192.0.2.7", "/api/query", &json!({"sql": sql})).0;
    assert_eq!(run("SELECT 1 AS n UNION SELECT 2"), 200);
    assert_eq!(run("SELECT nothing FROM nowhere.nobody"), 400);
    assert_eq!(run("marked-secret typed in the wrong place"), 400);
    run(&format!(
        "CREATE USER marked_user IDENTIFIED BY '{MARKED}' PASSWORD EXPIRE BY MISTAKE"
    ));
    let asleep = sleepers(port, "192.0.2.8", 1);
    wait_until(TIMEOUT, "it runs", || {
        Database::shared().running("AS asleep_here") >= 1
    });
    wait_until(TIMEOUT, "it is cancelled", || {
        send(
            port,
            "192.0.2.8",
            "/api/cancel",
            &json!({"query_id": "192.0.2.8-0"}),
        );
        asleep.iter().all(|one| one.is_finished())
    });
    let log = |after: u64| {
        let path = format!("/api/apps/{id}/statements?after={after}");
        manager.client().get(&path).data()
    };
    wait_until(TIMEOUT, "five", || log(0)["last"] == 5);
    let all = log(0);
    let of = |n: usize| &all["statements"][n];
    let said = |n: usize| {
        (
            of(n)["kind"].as_str().unwrap(),
            of(n)["verdict"].as_str().unwrap(),
        )
    };
    assert_eq!(said(0), ("SELECT", "ok"));
    assert_eq!(
        (&of(0)["rows"], &of(0)["visitor"]),
        (&json!(2), &json!("192.0.2.7"))
    );
    assert_eq!(of(0)["sql"], "SELECT 1 AS n UNION SELECT 2");
    assert_eq!(said(1), ("SELECT", "failed"));
    assert_eq!(said(2), ("OTHER", "failed"));
    assert_eq!(said(3).0, "CREATE");
    let created = of(3)["sql"].as_str().unwrap();
    assert!(
        created.starts_with("CREATE USER") && !created.contains(MARKED),
        "{created}"
    );
    assert_eq!(said(4), ("SELECT", "cancelled"));
    assert_eq!(log(4)["statements"].as_array().unwrap().len(), 1);
    assert_eq!(
        manager
            .client()
            .get(&format!("/api/apps/{id}/statements?after=x"))
            .status(),
        400
    );
    assert_eq!(
        manager.client().get("/api/apps/none/statements").status(),
        404
    );
    assert!(!manager.stderr().contains(MARKED), "the log of the program");
}

#[test]
fn rows_that_a_visitor_edits_are_noted_statement_by_statement() {
    let far = Far::new();
    let (manager, id, port) = connected(
        &far,
        true,
        json!({"record_sql": true, "db_readonly": false}),
    );
    Database::shared().exec(
        "CREATE DATABASE noted_edit; CREATE TABLE noted_edit.t (id INT PRIMARY KEY, password VARCHAR(20)); \
         INSERT INTO noted_edit.t VALUES (1, 'marked-old')",
    );
    let set = |old: &str, new: &str| json!({"op": "update", "key": {"id": 1}, "old": {"password": old}, "new": {"password": new}});
    let run = |changes: Value, review: bool| {
        let body = json!({"db": "noted_edit", "table": "t", "changes": changes, "review": review});
        send(port, "192.0.2.7", "/api/edit", &body).0
    };
    let insert = json!({"op": "insert", "new": {"id": 2}});
    assert_eq!(run(json!([insert]), true), 200);
    assert_eq!(
        run(json!([insert, set("marked-old", "marked-new")]), false),
        200
    );
    assert_eq!(run(json!([insert]), false), 400);
    assert_eq!(run(json!([set("marked-old", "x")]), false), 409);
    let answer = manager.client().get(&format!("/api/apps/{id}/statements"));
    assert!(!answer.text().contains("marked-"), "{}", answer.text());
    let all = answer.data();
    let said = |one: &Value| {
        format!(
            "{} {}",
            one["kind"].as_str().unwrap(),
            one["verdict"].as_str().unwrap()
        )
    };
    let all = all["statements"].as_array().unwrap();
    assert_eq!(
        all.iter().map(said).collect::<Vec<_>>(),
        [
            "INSERT ok",
            "UPDATE ok",
            "COMMIT ok",
            "INSERT failed",
            "ROLLBACK ok",
            "ROLLBACK ok"
        ]
    );
    assert_eq!(
        all[0]["sql"],
        "INSERT INTO `noted_edit`.`t` (`id`) VALUES (2)"
    );
    assert_eq!(all[1]["visitor"], "192.0.2.7");
}

#[test]
fn without_record_sql_no_text_is_kept_and_a_refusal_is_one() {
    let far = Far::new();
    let (manager, id, port) = connected(&far, true, json!({}));
    let select = json!({"sql": "DROP DATABASE marked_name"});
    assert_eq!(send(port, "192.0.2.7", "/api/query", &select).0, 403);
    let edit = json!({"db": "a", "table": "t", "changes": [{"op": "insert", "new": {}}]});
    assert_eq!(send(port, "192.0.2.7", "/api/edit", &edit).0, 403);
    let answer = manager.client().get(&format!("/api/apps/{id}/statements"));
    assert!(!answer.text().contains("marked_name"));
    let said = &answer.data()["statements"][1];
    assert_eq!(
        (&said["kind"], &said["verdict"]),
        (&json!("UPDATE"), &json!("refused"))
    );
    let record = &answer.data()["statements"][0];
    assert_eq!(
        (&record["kind"], &record["verdict"], &record["sql"]),
        (&json!("DROP"), &json!("refused"), &Value::Null)
    );
    let visitors = &manager.status(&id)["visitors"];
    assert_eq!(
        (&visitors["now"], &visitors["total"], &visitors["requests"]),
        (&json!(1), &json!(1), &json!(2))
    );
    assert!(visitors["last_at"].is_string());
    manager.disconnect(&id);
}

/// Directory of an application's audit files.
fn audit_of(manager: &Manager, id: &str) -> PathBuf {
    manager.home().path().join("audit").join(id)
}

/// The lines of the newest one.
fn audited(manager: &Manager, id: &str) -> Vec<Value> {
    let file = audit_of(manager, id).join("audit.jsonl");
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn audit_files_hold_what_was_done_and_no_secret() {
    const MARKED: &str = "marked-secret";
    let far = Far::new();
    let changes = json!({"audit": true, "record_sql": true, "db_readonly": false, "invisible": true, "name": "shop db"});
    let (manager, id, port) = connected(&far, true, changes);
    let auth_url = manager.status(&id)["auth_url"].as_str().unwrap().to_owned();
    let code = auth_url.rsplit_once("code=").unwrap().1.to_owned();
    let mut visitor = Client::new(&format!("127.0.0.1:{port}"));
    let signed_in = visitor.get(&format!("/.postern/auth?code={code}&{MARKED}=1"));
    let cookie = signed_in.cookie().unwrap();
    visitor.set_cookie(&cookie);
    let select = json!({"sql": format!("SET PASSWORD FOR nobody_at_all = '{MARKED}'")});
    visitor.post("/api/query", &select);
    wait_until(TIMEOUT, "a line", || audited(&manager, &id).len() == 1);
    let line = &audited(&manager, &id)[0];
    assert_eq!(
        (
            &line["what"],
            &line["application"],
            &line["name"],
            &line["kind"]
        ),
        (
            &json!("statement"),
            &json!(id),
            &json!("shop db"),
            &json!("SET")
        )
    );
    let file = std::fs::read_to_string(audit_of(&manager, &id).join("audit.jsonl")).unwrap();
    let value = cookie.split_once('=').unwrap().1;
    for secret in [MARKED, &code, value, PASSWORD] {
        assert!(!file.contains(secret), "{secret}: {file}");
    }
    manager.disconnect(&id);
}

#[test]
fn requests_are_audited_without_queries_and_cookies_and_a_full_disk_stops_nothing() {
    const MARKED: &str = "marked-secret";
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let mut app = target.app();
    app["audit"] = json!(true);
    let id = manager.add(&app);
    let port = far.assign();
    manager.connected(&id);
    let get = |path: &str| {
        let headers = [
            ("Cookie", "a=marked-secret"),
            ("Authorization", "Basic marked-secret"),
        ];
        Client::new(&format!("127.0.0.1:{port}")).try_send("GET", path, &headers, b"")
    };
    wait_until(TIMEOUT, "the site", || get("/up").is_ok());
    assert!(get("/some/path?q=marked-secret").is_ok());
    wait_until(TIMEOUT, "its line", || {
        audited(&manager, &id)
            .iter()
            .any(|line| line["path"] == "/some/path")
    });
    assert!(
        audited(&manager, &id)
            .iter()
            .all(|line| line["what"] == "request")
    );
    let directory = manager.home().path().join("audit");
    let text = std::fs::read_to_string(audit_of(&manager, &id).join("audit.jsonl")).unwrap();
    assert!(!text.contains(MARKED), "{text}");
    manager.disconnect(&id);

    // Removing an application leaves its files, and the output says so.
    let other = manager.add(&app);
    let left = audit_of(&manager, &other);
    std::fs::create_dir(&left).unwrap();
    let removed = manager.home().run(&["app", "remove", &other]);
    let said = removed.stderr;
    assert!(said.contains(left.to_str().unwrap()), "{said}");
    assert!(left.exists());

    // A start that cannot write there says so once and goes on.
    let home = manager.home().clone();
    drop(manager);
    std::fs::remove_dir_all(&directory).unwrap();
    std::fs::write(&directory, "in the way").unwrap();
    let manager = far.manager_in(&home);
    manager.connected(&id);
    wait_until(TIMEOUT, "the site", || get("/a").is_ok());
    assert!(get("/b").is_ok());
    let notices = || manager.client().get("/api/version").data()["notices"].to_string();
    wait_until(TIMEOUT, "a notice", || {
        notices().contains("audit records are missing")
    });
    assert_eq!(
        manager
            .stderr()
            .matches("audit records are missing")
            .count(),
        1
    );
}

/// Changes made while the relay is not reachable apply when it is back.
#[test]
fn an_audit_that_is_turned_off_and_a_code_that_is_renewed_without_the_relay_hold_with_it() {
    let (relay_home, target) = (Arc::new(Home::new()), Target::start());
    let ports = ["--listen=127.0.0.1:0", "--tunnel-listen=127.0.0.1:0"];
    let relay = Relay::start_in(&relay_home, &ports);
    let (listen, tunnel) = (relay.address.to_string(), relay.tunnel.to_string());
    let host = format!("shop.localhost:{}", relay.address.port());
    let get = |path: &str, cookie: &str| {
        let headers = [("Host", host.as_str()), ("Origin", ""), ("Cookie", cookie)];
        Client::new(&listen).send("GET", path, &headers, b"")
    };
    let auth_path = |connection: &Value| {
        let url = connection["auth_url"].as_str().unwrap();
        url[url.find("/.postern/").unwrap()..].to_owned()
    };
    let manager = Manager::start(&["--server", &relay.url()]);
    let mut app = target.app();
    app["name"] = json!("shop");
    app["invisible"] = json!(true);
    app["audit"] = json!(true);
    let id = manager.add(&app);
    let before = manager.connected(&id);
    let cookie = get(&auth_path(&before), "").cookie().unwrap();
    assert_eq!(get("/before", &cookie).status(), 200);
    wait_until(TIMEOUT, "its line", || {
        audited(&manager, &id)
            .iter()
            .any(|line| line["path"] == "/before")
    });

    drop(relay);
    app["audit"] = json!(false);
    let path = format!("/api/apps/{id}");
    let mut client = manager.client();
    let put = client.send("PUT", &path, &[JSON], app.to_string().as_bytes());
    assert_eq!(put.status(), 200, "{}", put.text());
    manager.post(&format!("{path}/code")).data();
    let ports = ["--listen", &listen, "--tunnel-listen", &tunnel];
    let _relay = Relay::start_in(&relay_home, &ports);
    let after = manager.wait_for(&id, "what was changed", |status| {
        status["status"] == "connected"
            && status["auth_url"] != before["auth_url"]
            && status["pending_changes"] == false
    });
    wait_until(TIMEOUT, "the tunnel, and the end of the old code", || {
        get(&auth_path(&before), "").status() == 401
    });
    assert_eq!(get("/old", &cookie).status(), 401);
    let cookie = get(&auth_path(&after), "").cookie().unwrap();
    let lines = audited(&manager, &id).len();
    wait_until(TIMEOUT, "the application", || {
        get("/after", &cookie).status() == 200
    });
    wait_until(TIMEOUT, "its record in memory", || {
        let requests = client.get(&format!("{path}/requests")).data();
        requests.to_string().contains("/after")
    });
    let audited = audited(&manager, &id);
    assert_eq!(audited.len(), lines, "{audited:?}");
    assert!(audited.iter().all(|line| line["path"] != "/after"));
}

/// A script of so much junk leaves the lines of others where they are.
#[test]
fn a_script_of_junk_is_a_line_and_ends_and_a_visitors_lines_a_minute_are_limited() {
    let far = Far::new();
    let (manager, id, port) = connected(&far, true, json!({"audit": true}));
    let select = json!({"sql": "SELECT 1 AS one"});
    assert_eq!(send(port, "192.0.2.1", "/api/query", &select).0, 200);
    let script = |from: &str, sql: &str| {
        let headers = [
            ("Content-Type", "application/sql"),
            ("X-Forwarded-For", from),
        ];
        let mut client = Client::new(&format!("127.0.0.1:{port}"));
        let path = "/api/script?on_error=continue";
        let answer = client.send("POST", path, &headers, sql.as_bytes());
        answer.text().to_owned()
    };
    let answer = script("192.0.2.2", &"junk;".repeat(100_000));
    assert!(answer.len() < 300_000, "{}", answer.len());
    let end: Value = serde_json::from_str(answer.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&end["code"], &end["statements"], &end["failed"]),
        (&json!(429), &json!(500), &json!(500))
    );
    assert_eq!(end["offset"], 500 * 5, "where it can go on");
    let why = end["message"].as_str().unwrap();
    assert!(why.contains("500 statements failed"), "{why}");
    let log = || {
        let answer = manager.client().get(&format!("/api/apps/{id}/statements"));
        answer.data()["statements"].as_array().unwrap().clone()
    };
    let verdicts = |log: &[Value]| -> Vec<String> {
        let verdicts = log.iter().map(|line| line["verdict"].as_str().unwrap());
        verdicts.map(str::to_owned).collect()
    };
    assert_eq!(verdicts(&log()), ["ok", "refused"]);
    // Refusals of the server are limited by the minute, whatever the visitor calls themselves.
    script(
        "192.0.2.2",
        &"SELECT nothing FROM nowhere.nobody;".repeat(400),
    );
    let lines = log();
    assert_eq!(lines.len(), 1 + 120, "{lines:?}");
    assert_eq!(lines[0]["visitor"], "192.0.2.1");
    manager.disconnect(&id);
    let audit = || {
        let mut lines = audited(&manager, &id);
        lines.retain(|line| line["what"] == "statement");
        lines
    };
    wait_until(TIMEOUT, "the count", || audit().len() == 1 + 120 + 1);
    let last = audit().pop().unwrap();
    assert_eq!(
        (&last["more"], &last["visitor"]),
        (&json!(499 + 281), &json!("192.0.2.2"))
    );
}

/// Bodies that do not come hold few places, none of which is the owner's.
#[test]
fn slow_scripts_keep_nobody_out() {
    use std::io::{Read, Write};
    let far = Far::new();
    let (manager, id, port) = connected(&far, true, json!({}));
    let asked = || manager.stderr().matches("POST /api/script").count();
    let mut held = Vec::new();
    for number in 0..25 {
        let mut slow = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        let head = format!(
            "POST /api/script HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n\
             X-Forwarded-For: 192.0.2.{}\r\nContent-Type: application/sql\r\nContent-Length: 60000\r\n\r\nSELECT 1",
            1 + number / 5
        );
        slow.write_all(head.as_bytes()).unwrap();
        held.push(slow);
        wait_until(TIMEOUT, "it is asked for", || asked() == number + 1);
    }
    // Beyond the fourth each one's are refused.
    let is_answered = |slow: &mut std::net::TcpStream| {
        slow.set_nonblocking(true).unwrap();
        slow.read(&mut [0; 16]).is_ok_and(|read| read > 0)
    };
    wait_until(TIMEOUT, "all but some are refused", || {
        held.retain_mut(|slow| !is_answered(slow));
        held.len() <= 14
    });
    assert_eq!(held.len(), 14, "the owner's places are left");
    let select = json!({"sql": "SELECT 1 AS one"});
    assert_eq!(send(port, "192.0.2.9", "/api/query", &select).0, 200);
    let here = manager.status(&id)["local_url"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut here = Client::new(here.trim_start_matches("http://").trim_end_matches('/'));
    let sql = [("Content-Type", "application/sql")];
    let script = here.send("POST", "/api/script", &sql, b"SELECT 1");
    assert!(
        script.text().contains("\"end\":true") && !script.text().contains("429"),
        "{}",
        script.text()
    );
    manager.disconnect(&id);
}

/// Statements that do not end hold no place of the owner's either.
#[test]
fn the_owner_has_connections_that_visitors_do_not_get() {
    let far = Far::new();
    let (manager, id, port) = connected(&far, true, json!({}));
    let mut held = Vec::new();
    for from in ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"] {
        held.extend(sleepers(port, from, 8));
    }
    wait_until(TIMEOUT, "all that visitors get", || asleep() == 28);
    let here = manager.status(&id)["local_url"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut here = Client::new(here.trim_start_matches("http://").trim_end_matches('/'));
    assert_eq!(here.query("", "SELECT 1")["code"], 200);
    manager.disconnect(&id);
    for one in held {
        let _ = one.join();
    }
}
