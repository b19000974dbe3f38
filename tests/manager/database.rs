//! `postern start`: database applications, whose web client comes and goes with the connection.

use std::sync::Arc;

use serde_json::{Value, json};
use support::database::{PASSWORD, USER};
use support::http::Client;
use support::manager::{CODE, Far, Manager, visit};
use support::{Database, Home, TIMEOUT, wait_until};

fn app(db: &Database) -> Value {
    let target = db.target();
    let (host, port) = target.rsplit_once(':').unwrap();
    json!({"protocol": "mysql", "ip": host, "port": port.parse::<u16>().unwrap(), "db_user": USER, "db_pass": PASSWORD})
}

fn manager(far: &Far) -> Manager {
    far.manager_in(&Arc::new(Home::with_plugin()))
}

/// A browser that comes by the remote port, under the site's name.
fn visitor(port: u16) -> Client {
    Client::new(&format!("127.0.0.1:{port}"))
}

fn signed_in(mut client: Client, path: &str) -> Client {
    let answer = client.get(path);
    assert_eq!(answer.status(), 303, "{}", answer.text());
    client.set_cookie(&answer.cookie().unwrap());
    client
}

#[test]
fn an_invisible_database_takes_exactly_the_code_of_the_answer() {
    let (far, db) = (Far::new(), Database::shared());
    let manager = manager(&far);
    let id = manager.add(&app(db));
    let port = far.assign();
    let result = manager.connected(&id);
    let body = far.quick.requests()[0].json();
    assert_eq!(
        (&body["protocol"], &body["ip"]),
        (&json!("http"), &json!("127.0.0.1"))
    );
    let local_url = result["local_url"].as_str().unwrap();
    assert!(
        local_url.starts_with(&format!("http://127.0.0.1:{}/", body["port"])),
        "{local_url}"
    );
    assert_eq!(body["invisible"], true, "the default of a database");

    wait_until(TIMEOUT, "the site", || {
        visitor(port).try_send("GET", "/", &[], b"").is_ok()
    });
    let mut stranger = visitor(port);
    assert_eq!(stranger.get("/api/info").status(), 401);
    for wrong in ["", "x", "visitors-code", "visitors-code/+%20"] {
        assert_ne!(
            stranger.get(&format!("/auth?code={wrong}")).status(),
            303,
            "{wrong}"
        );
    }
    let code = "visitors-code%2F%2B%20%25";
    let mut guest = signed_in(visitor(port), &format!("/auth?code={code}"));
    let info = guest.get("/api/info").data();
    assert_eq!(
        (&info["user"], &info["readonly"]),
        (&json!(USER), &json!(true))
    );
    assert_eq!(guest.query("", "CREATE DATABASE refused")["code"], 403);
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    let answer = visitor(port).send("POST", "/auth", &form, format!("code={code}").as_bytes());
    assert_eq!(answer.status(), 303, "the page's form takes it too");

    let authority = local_url.trim_start_matches("http://");
    let (authority, path) = authority.split_once('/').unwrap();
    let mut owner = signed_in(Client::new(authority), &format!("/{path}"));
    assert_eq!(
        owner.get("/api/info").status(),
        200,
        "the owner's own way in"
    );

    manager.disconnect(&id);
    wait_until(TIMEOUT, "its end", || {
        Client::new(authority)
            .try_send("GET", "/", &[], b"")
            .is_err()
    });
    let log = manager.stderr();
    for secret in [PASSWORD, CODE, code, "visitors-code"] {
        assert!(!log.contains(secret), "{secret}: {log}");
    }
    let own_code = path.rsplit_once('=').unwrap().1;
    assert!(!log.contains(own_code));
}

#[test]
fn the_sites_name_is_served_while_it_is_connected_and_no_other() {
    let (far, db) = (Far::new(), Database::shared());
    let manager = manager(&far);
    let mut app = app(db);
    app["invisible"] = json!(false);
    app["db_readonly"] = json!(false);
    let id = manager.add(&app);
    let port = support::free_port();
    let mut answer = far.answer(port);
    answer["app"]["site_url"] = json!("https://shop.relay.example/");
    far.quick
        .script([support::quick_setup::Act::json(200, &answer)]);
    let result = manager.connected(&id);
    assert_eq!(
        (&result["site_url"], &result["auth_url"]),
        (&json!("https://shop.relay.example/"), &json!(""))
    );
    let ask = |host: &str, origin: &str| {
        let headers = [("Host", host), ("Origin", origin)];
        visitor(port)
            .try_send("GET", "/api/info", &headers, b"")
            .map_or(0, |answer| answer.status())
    };
    wait_until(TIMEOUT, "the site", || ask("shop.relay.example", "") == 200);
    assert_eq!(ask("shop.relay.example", "https://shop.relay.example"), 200);
    assert_eq!(ask("shop.relay.example", "https://evil.example"), 403);
    assert_eq!(ask("evil.example", ""), 421);
    let local = result["local_url"]
        .as_str()
        .unwrap()
        .trim_start_matches("http://")
        .trim_end_matches('/')
        .to_owned();
    let info = Client::new(&local).get("/api/info").data();
    assert_eq!(info["mode"], "read-write");
}

/// The web client and whoever works with it here stay; visitors come by the new name alone.
#[test]
fn a_server_that_was_set_up_anew_gives_the_web_client_another_name() {
    let (mut far, db) = (Far::new(), Database::shared());
    let manager = manager(&far);
    let mut app = app(db);
    app["invisible"] = json!(false);
    let id = manager.add(&app);
    let answer = |far: &Far, port: u16, site: &str, password: &str| {
        let mut answer = far.answer(port);
        answer["app"]["site_url"] = json!(format!("https://{site}/"));
        answer["connector"]["password"] = json!(password);
        support::quick_setup::Act::json(200, &answer)
    };
    let first = answer(
        &far,
        support::free_port(),
        "old.example",
        support::manager::PASSWORD,
    );
    far.quick.script([first]);
    let before = manager.connected(&id);
    far.close();
    let port = support::free_port();
    let second = answer(&far, port, "new.example", "renewed");
    far.quick.script([second]);
    far.open_for("renewed");
    let after = manager.wait_for(&id, "under its new name", |result| {
        result["status"] == "connected" && result["site_url"] == "https://new.example/"
    });
    assert_eq!(after["local_url"], before["local_url"]);
    let ask = |host: &str| {
        let headers = [("Host", host), ("Origin", "")];
        visitor(port)
            .try_send("GET", "/api/info", &headers, b"")
            .map_or(0, |answer| answer.status())
    };
    wait_until(TIMEOUT, "the site", || ask("new.example") == 200);
    assert_eq!(ask("old.example"), 421);
}

#[test]
fn without_the_plugin_the_protocol_is_unsupported() {
    let far = Far::new();
    let manager = far.manager();
    far.assign();
    for protocol in ["mysql", "mariadb"] {
        let id = manager.add(&json!({"protocol": protocol}));
        manager.connect(&id);
        let result = manager.wait_status(&id, "failed");
        assert_eq!(
            result["error"],
            format!("unsupported protocol '{protocol}'")
        );
        assert_eq!(result["error_class"], "plugin");
    }
    assert!(far.quick.requests().is_empty(), "nothing is asked for it");
    let added = manager.home().run(&["plugin", "add", "mysql"]);
    assert_eq!(added.code, Some(0));
    assert_eq!(
        manager.client().get("/api/plugins").data()[0]["name"],
        "mysql"
    );
}

#[test]
fn a_database_that_cannot_be_had_fails_in_the_specifications_words() {
    let (far, db) = (Far::new(), Database::shared());
    let manager = manager(&far);
    let port = support::free_port();
    let id = manager.add(&json!({"protocol": "mariadb", "port": port}));
    manager.connect(&id);
    let error = manager.wait_status(&id, "failed")["error"].clone();
    assert_eq!(
        error,
        format!("plugin error: cannot connect to 127.0.0.1:{port}: connection refused")
    );
    let mut app = app(db);
    app["db_pass"] = json!("planted-wrong-password");
    let id = manager.add(&app);
    manager.connect(&id);
    let error = manager.wait_status(&id, "failed")["error"].to_string();
    assert!(
        error.contains("plugin error:") && error.contains("Access denied for user"),
        "{error}"
    );
    assert!(!error.contains("planted") && !manager.stderr().contains("planted"));
    assert!(far.quick.requests().is_empty());
}

/// Sharing a web client again as a port would share it without its code.
#[test]
fn the_web_client_of_one_application_is_no_target_of_another() {
    let (far, db) = (Far::new(), Database::shared());
    let manager = manager(&far);
    let id = manager.add(&app(db));
    far.assign();
    let shown = manager.connected(&id);
    let local_url = shown["local_url"].as_str().unwrap();
    let authority = local_url.split('/').nth(2).unwrap();
    let port: u16 = authority.rsplit(':').next().unwrap().parse().unwrap();
    let again = manager.add(&json!({"protocol": "tcp", "ip": "localhost", "port": port}));
    manager.connect(&again);
    let failed = manager.wait_status(&again, "failed");
    let error = failed["error"].as_str().unwrap();
    assert!(error.contains("a database's web client"), "{error}");
}

/// Its number says that it is a refusal, in whatever language its text is.
#[test]
fn a_refusal_in_another_language_is_one_too() {
    let far = Far::new();
    let db = Database::start(support::database::Options {
        args: vec!["--lc-messages=de_DE".into()],
        ..Default::default()
    });
    let manager = manager(&far);
    let mut wrong = app(&db);
    wrong["db_pass"] = json!("wrong");
    wrong["autoconnect"] = json!(true);
    let id = manager.add(&wrong);
    manager.connect(&id);
    let failed = manager.wait_status(&id, "failed");
    let error = failed["error"].as_str().unwrap();
    assert!(error.contains("keine Zugriffsberechtigung"), "{error}");
    assert_eq!(failed["next_retry_ms"], json!(null));
}

/// The look at the connect is not enough: nobody listened there then.
#[test]
fn a_web_client_that_starts_later_is_no_target_of_an_earlier_connection() {
    let (far, db) = (Far::new(), Database::shared());
    let manager = manager(&far);
    let database = manager.add(&app(db));
    let port_now = || -> u16 {
        let shown = manager.connected(&database);
        let authority = shown["local_url"].as_str().unwrap().split('/').nth(2);
        authority
            .unwrap()
            .rsplit(':')
            .next()
            .unwrap()
            .parse()
            .unwrap()
    };
    far.assign();
    let mut web_client = port_now();
    // Somebody else may take the port meanwhile: then it is tried with the next.
    let (id, site, own_site) = (0..10)
        .find_map(|_| {
            manager.disconnect(&database);
            let id =
                manager.add(&json!({"protocol": "tcp", "ip": "127.0.0.1", "port": web_client}));
            let site = far.assign();
            // The web client may be ending yet.
            manager.connect(&id);
            manager.wait_for(&id, "connected", |result| {
                if result["error_class"] == "own-listener" {
                    manager.connect(&id);
                }
                result["status"] == "connected"
            });
            let own_site = far.assign();
            let before = std::mem::replace(&mut web_client, port_now());
            (before == web_client).then_some((id, site, own_site))
        })
        .expect("the port is had again");
    assert!(visit(own_site).is_some(), "its own tunnel leads there");
    assert_eq!(visit(site), None);
    let shown = manager.wait_for(&id, "failing", |result| {
        let error = result["health"]["error"].as_str().unwrap_or_default();
        manager.post(&format!("/api/retry/{id}"));
        error.contains("is postern itself")
    });
    assert_eq!(shown["health"]["state"], "failing");
    assert_eq!(visit(site), None);
}

/// Some databases lock an account that is tried too often.
#[test]
fn a_password_that_the_database_refuses_is_not_tried_again() {
    let (far, db) = (Far::new(), Database::shared());
    let manager = manager(&far);
    let mut wrong = app(db);
    wrong["db_pass"] = json!("wrong");
    wrong["autoconnect"] = json!(true);
    let id = manager.add(&wrong);
    manager.connect(&id);
    let failed = manager.wait_status(&id, "failed");
    assert!(failed["error"].as_str().unwrap().contains("Access denied"));
    assert_eq!(failed["next_retry_ms"], json!(null));
    let home = manager.home();
    let address = format!("{}:{}", wrong["ip"].as_str().unwrap(), wrong["port"]);
    let line = [
        "app",
        "add",
        "mysql",
        &address,
        "--db-user",
        USER,
        "--name",
        "x",
        "--connect",
    ];
    let mut add = home.command(&line);
    let done = add.env("POSTERN_DB_PASS", "wrong").output().unwrap();
    let [said, id] = [done.stderr, done.stdout].map(|text| String::from_utf8(text).unwrap());
    assert_eq!(manager.status(id.trim())["status"], "failed", "{id}");
    for words in [
        "saved as 'x', not connected; fix it with 'postern app edit x …' or remove it with 'postern app remove x'\n",
        "change them with 'postern app edit x --db-user U' and the password in POSTERN_DB_PASS\n",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}
