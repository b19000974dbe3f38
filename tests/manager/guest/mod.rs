//! A guest's account: a shared database is limited by the database itself, for a time, and nothing stays behind.

mod columns;
mod kills;
mod more;
mod search;
mod secrets;
mod tap;

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use support::database::{Kind, Options, PASSWORD, Server, USER};
use support::http::Client;
use support::manager::{Far, Manager};
use support::{Database, Home, TIMEOUT, wait_until};

/// A server without TLS: what is sent can be seen between here and there.
fn server(args: &[&str]) -> Database {
    let plain = match Server::chosen().kind() {
        Kind::MySql => "--tls-version=",
        Kind::MariaDb => "--ssl=0",
    };
    let args = [&[plain], args].concat();
    Database::start(Options {
        args: args.into_iter().map(str::to_owned).collect(),
        ..Options::default()
    })
}

fn shared() -> &'static Database {
    static SHARED: OnceLock<Database> = OnceLock::new();
    SHARED.get_or_init(|| {
        let db = server(&[]);
        db.exec(SHOP);
        db
    })
}

const SHOP: &str = "CREATE DATABASE shop; \
    CREATE TABLE shop.customers (id INT PRIMARY KEY, name VARCHAR(20), card VARCHAR(20)); \
    INSERT INTO shop.customers VALUES (1, 'ann', 'card-1'); \
    CREATE TABLE shop.orders (id INT); INSERT INTO shop.orders VALUES (7); \
    CREATE TABLE shop.hidden (secret INT); \
    CREATE VIEW shop.cards AS SELECT card FROM shop.customers; \
    CREATE FUNCTION shop.f() RETURNS INT DETERMINISTIC RETURN 1; \
    CREATE DATABASE `sh_p`; CREATE TABLE `sh_p`.t (x INT); \
    CREATE DATABASE `shop.*`; CREATE TABLE `shop.*`.`a``b(c),d` (`x,y` INT, z INT); \
    INSERT INTO `shop.*`.`a``b(c),d` VALUES (3, 4)";

fn app(port: u16, user: &str, guest: &[&str]) -> Value {
    json!({"protocol": "mysql", "ip": "127.0.0.1", "port": port, "db_user": user, "db_pass": PASSWORD,
        "invisible": false, "guest": guest})
}

fn manager(far: &Far, home: &Arc<Home>) -> Manager {
    far.assign();
    far.manager_in(home)
}

/// Changes an application.
fn put(manager: &Manager, id: &str, body: &Value) {
    let json = [("Content-Type", "application/json")];
    let path = format!("/api/apps/{id}");
    let body = body.to_string();
    let answer = manager.client().send("PUT", &path, &json, body.as_bytes());
    assert_eq!(answer.status(), 200, "{}", answer.text());
}

/// The web client that a connected application's owner finds here.
fn client(result: &Value) -> Client {
    let url = result["local_url"].as_str().unwrap();
    Client::new(url.trim_start_matches("http://").trim_end_matches('/'))
}

/// The guests' accounts that there are.
fn accounts(db: &Database) -> Vec<String> {
    db.column("SELECT User FROM mysql.user WHERE LEFT(User, 8) = 'postern_'")
}

/// The databases of guests' views that there are.
fn view_databases(db: &Database) -> Vec<String> {
    db.column("SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE LEFT(SCHEMA_NAME, 8) = 'postern_' ORDER BY 1")
}

fn records(home: &Path) -> String {
    std::fs::read_to_string(home.join("guests.json")).unwrap_or_default()
}

fn refused(client: &mut Client, sql: &str) {
    let answer = client.query("", sql);
    assert!(answer["code"].as_u64().unwrap() >= 400, "{sql}: {answer}");
}

fn column(client: &mut Client, sql: &str) -> Vec<String> {
    let data = client.query_ok("", sql);
    let rows = data["rows"].as_array().unwrap();
    let value = |row: &Value| match row.as_object().unwrap().values().next().unwrap() {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    rows.iter().map(value).collect()
}

#[test]
fn a_guest_sees_what_is_listed_and_is_gone_afterwards() {
    let (far, home, db) = (Far::new(), Arc::new(Home::with_plugin()), shared());
    let manager = manager(&far, &home);
    let listed = [
        "shop.orders",
        "shop.customers(id,NAME)",
        "shop.cards",
        "`shop.*`.`a``b(c),d`(`x,y`)",
        "sh_p.*",
    ];
    let mut body = app(db.port(), USER, &listed);
    // There is nothing that a guest could write but its own password.
    body["db_readonly"] = json!(false);
    let id = manager.add(&body);
    let result = manager.connected(&id);
    assert_eq!(result["exposed"]["db_readonly"], true);
    assert_eq!(result["exposed"]["guest_tables"], 4);
    assert_eq!(result["exposed"]["guest_views"], 1);
    let mut client = client(&result);
    let info = client.get("/api/info").data();
    let name = info["user"].as_str().unwrap().to_owned();
    assert!(name.starts_with("postern_") && name.len() <= 32, "{name}");
    assert_eq!(info["can_write"], false);

    assert_eq!(column(&mut client, "SELECT id FROM shop.orders"), ["7"]);
    assert_eq!(column(&mut client, "SELECT name FROM customers"), ["ann"]);
    assert_eq!(
        column(&mut client, "SELECT card FROM shop.cards"),
        ["card-1"]
    );
    assert_eq!(column(&mut client, "SELECT `x,y` FROM `a``b(c),d`"), ["3"]);
    for sql in [
        "SELECT card FROM customers",
        "SELECT name FROM shop.customers",
        "SELECT card FROM shop.customers",
        "SELECT * FROM shop.customers",
        "SELECT * FROM shop.hidden",
        "SELECT z FROM `a``b(c),d`",
        "SELECT z FROM `shop.*`.`a``b(c),d`",
        "SELECT shop.f()",
        "SELECT * FROM mysql.user",
        "SHOW CREATE VIEW shop.cards",
        "SHOW CREATE FUNCTION shop.f",
        "EXPLAIN SELECT * FROM shop.cards",
        "SHOW COLUMNS FROM shop.hidden",
        "SET PASSWORD = 'another'",
        "ALTER USER USER() IDENTIFIED BY 'another'",
    ] {
        refused(&mut client, sql);
    }
    let mut seen = column(&mut client, "SHOW DATABASES");
    seen.retain(|name| !["information_schema", "performance_schema"].contains(&name.as_str()));
    assert_eq!(seen, [name.as_str(), "sh_p", "shop"]);
    let columns = "SELECT CONCAT(TABLE_SCHEMA, '.', TABLE_NAME, '.', COLUMN_NAME) AS c FROM information_schema.COLUMNS \
        WHERE TABLE_SCHEMA NOT IN ('information_schema', 'performance_schema') ORDER BY 1";
    let seen = column(&mut client, columns);
    let mut seen: Vec<String> = seen
        .into_iter()
        .map(|seen| seen.replace(&name, "views"))
        .collect();
    seen.sort();
    assert_eq!(
        seen,
        [
            "sh_p.t.x",
            "shop.cards.card",
            "shop.orders.id",
            "views.a`b(c),d.x,y",
            "views.cards.card",
            "views.customers.id",
            "views.customers.name",
            "views.orders.id",
        ]
    );
    let views = "SELECT COALESCE(VIEW_DEFINITION, '') AS d FROM information_schema.VIEWS";
    assert!(column(&mut client, views).iter().all(String::is_empty));
    let routines =
        "SELECT ROUTINE_NAME AS r FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'shop'";
    assert!(column(&mut client, routines).is_empty());
    // The page's own look at a view that it may read goes well.
    let schema = client.get("/api/schema?db=shop&table=cards");
    assert_eq!(schema.status(), 200, "{}", schema.text());
    assert_eq!(schema.data()["create_statement"], Value::Null);

    assert!(records(home.path()).contains(&name));
    assert!(accounts(db).contains(&name) && view_databases(db).contains(&name));
    manager.disconnect(&id);
    wait_until(TIMEOUT, "its end", || {
        !accounts(db).contains(&name) && !view_databases(db).contains(&name)
    });
    wait_until(TIMEOUT, "its record's end", || {
        !records(home.path()).contains(&name)
    });
    let log = manager.stderr();
    assert!(
        !log.contains("IDENTIFIED") && !log.contains(PASSWORD),
        "{log}"
    );
}

#[test]
fn who_may_not_make_accounts_is_told_what_an_administrator_can_run() {
    let (far, home, db) = (Far::new(), Arc::new(Home::with_plugin()), shared());
    let manager = manager(&far, &home);
    db.exec(&format!(
        "CREATE USER poor@'%' IDENTIFIED BY '{PASSWORD}'; GRANT SELECT ON shop.* TO poor@'%'; \
         CREATE USER half@'%' IDENTIFIED BY '{PASSWORD}'; GRANT SELECT ON shop.* TO half@'%'; \
         GRANT CREATE USER ON *.* TO half@'%'"
    ));
    for user in ["poor", "half"] {
        let id = manager.add(&app(
            db.port(),
            user,
            &["shop.orders", "shop.customers(id)"],
        ));
        manager.connect(&id);
        let result = manager.wait_status(&id, "failed");
        let error = result["error"].as_str().unwrap();
        for part in [
            &format!("does not allow '{user}' to create one"),
            "CREATE USER 'guest'@'",
            "GRANT SELECT ON `shop`.`orders` TO 'guest'@",
            "VIEW `guest_views`.`customers` AS SELECT `id` FROM `shop`.`customers` USE INDEX (PRIMARY); ",
            "GRANT SELECT ON `guest_views`.`customers` TO 'guest'@",
        ] {
            assert!(error.contains(part), "{user}: {error}");
        }
        manager.disconnect(&id);
    }
    assert!(!records(home.path()).contains("postern_"));
    let log = manager.stderr();
    assert!(
        !log.contains("IDENTIFIED BY '") || log.contains("IDENTIFIED BY '…'"),
        "{log}"
    );
}

#[test]
fn what_is_not_there_or_the_servers_own_is_refused_in_words() {
    let (far, home, db) = (Far::new(), Arc::new(Home::with_plugin()), shared());
    let manager = manager(&far, &home);
    for (grant, word) in [
        ("shop.nothing", "'shop.nothing' does not exist"),
        ("nowhere.*", "'nowhere.*' does not exist"),
        ("shop.customers(id,wrong)", "'shop.customers(wrong)'"),
        ("sh%p.*", "does not exist"),
    ] {
        let id = manager.add(&app(db.port(), USER, &[grant]));
        manager.connect(&id);
        let result = manager.wait_status(&id, "failed");
        let error = result["error"].as_str().unwrap();
        assert!(error.contains(word), "{grant}: {error}");
        manager.disconnect(&id);
    }
    for wrong in ["mysql.user", "shop", "*.*"] {
        let answer = manager.client().post("/api/apps", &app(1, USER, &[wrong]));
        assert_eq!(answer.status(), 400, "{wrong}");
        assert!(
            answer.json()["fields"]["guest"].is_string(),
            "{}",
            answer.text()
        );
    }
}

#[test]
fn a_guests_time_ends() {
    let (far, home, db) = (Far::new(), Arc::new(Home::with_plugin()), shared());
    let manager = manager(&far, &home);
    let mut body = app(db.port(), USER, &["shop.orders"]);
    let soon = SystemTime::now() + Duration::from_secs(4);
    body["expires"] = json!(postern::store::time::rfc3339(soon));
    let id = manager.add(&body);
    let result = manager.connected(&id);
    let mut client = client(&result);
    let name = client.get("/api/info").data()["user"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(accounts(db).contains(&name));
    wait_until(TIMEOUT, "its end", || !accounts(db).contains(&name));
    // The connection may have ended with it.
    let answer = client.try_send("GET", "/api/databases", &[], b"");
    assert!(answer.is_err() || answer.is_ok_and(|answer| answer.status() == 403));
}

/// The list is of what is there; what a view shows is its definer's affair, and is said.
#[test]
fn a_database_is_its_tables_and_views_of_that_moment() {
    let (far, home, db) = (Far::new(), Arc::new(Home::with_plugin()), shared());
    db.exec(
        "CREATE DATABASE aside; CREATE TABLE aside.t (a INT); INSERT INTO aside.t VALUES (5); \
         CREATE DATABASE views; CREATE TABLE views.own (b INT); CREATE VIEW views.of_others AS SELECT a FROM aside.t; \
         CREATE FUNCTION views.f() RETURNS INT READS SQL DATA RETURN (SELECT a FROM aside.t)",
    );
    let manager = manager(&far, &home);
    let id = manager.add(&app(db.port(), USER, &["views.*"]));
    let connected = || {
        let result = manager.connected(&id);
        let exposed = &result["exposed"];
        let counts = (&exposed["guest_tables"], &exposed["guest_views"]);
        assert_eq!(counts.1, 1);
        (client(&result), counts.0.as_u64().unwrap())
    };
    let (mut client, tables) = connected();
    assert_eq!(tables, 1);
    assert_eq!(column(&mut client, "SELECT a FROM views.of_others"), ["5"]);
    refused(&mut client, "SELECT a FROM aside.t");
    refused(&mut client, "SELECT views.f()");
    db.exec("CREATE TABLE views.later (c INT)");
    refused(&mut client, "SELECT c FROM views.later");
    manager.disconnect(&id);
    let (mut client, tables) = connected();
    assert_eq!(tables, 2);
    assert!(column(&mut client, "SELECT c FROM views.later").is_empty());
}

#[test]
fn its_usual_end_is_shown_where_the_application_has_none() {
    let (far, home, db) = (Far::new(), Arc::new(Home::with_plugin()), shared());
    let manager = manager(&far, &home);
    let in_hours = |hours: u64| {
        let end = SystemTime::now() + Duration::from_secs(hours * 3600);
        postern::store::time::rfc3339(end)
    };
    let id = manager.add(&app(db.port(), USER, &["shop.orders"]));
    let result = manager.connected(&id);
    let end = result["exposed"]["expires"].as_str().unwrap().to_owned();
    assert!(end > in_hours(7) && end <= in_hours(8), "{end}");
    // An end later than the guest's is shown once the database has it.
    let mut body = app(db.port(), USER, &["shop.orders"]);
    body["expires"] = json!(in_hours(24));
    put(&manager, &id, &body);
    let expires = |result: &Value| result["exposed"]["expires"] == body["expires"];
    manager.wait_for(&id, "the later end", expires);
    body["expires"] = Value::Null;
    put(&manager, &id, &body);
    let is_usual =
        |result: &Value| result["exposed"]["expires"].as_str().unwrap() <= in_hours(8).as_str();
    manager.wait_for(&id, "the usual end again", is_usual);
}

#[test]
fn a_picker_is_given_names() {
    let (far, home, db) = (Far::new(), Arc::new(Home::with_plugin()), shared());
    let manager = manager(&far, &home);
    let id = manager.add(&app(db.port(), USER, &[]));
    let ask = |body: &Value| manager.client().post("/api/guest/objects", body);
    let databases = ask(&json!({"id": id})).data();
    let has = |name: &str| databases.as_array().unwrap().contains(&json!(name));
    assert!(has("shop") && has("shop.*") && !has("mysql") && !has("information_schema"));
    let tables = ask(&json!({"id": id, "database": "shop"})).data();
    assert_eq!(tables, json!(["cards", "customers", "hidden", "orders"]));
    let mut draft = app(db.port(), USER, &[]);
    draft["database"] = json!("shop");
    draft["table"] = json!("customers");
    assert_eq!(ask(&draft).data(), json!(["id", "name", "card"]));
    draft["db_pass"] = json!("wrong");
    let denied = ask(&draft);
    assert_eq!(denied.status(), 502, "{}", denied.text());
    for (body, status) in [
        (json!({"id": "0000000000000000"}), 404),
        (json!({"id": 1}), 400),
        (json!({"id": id, "database": 1}), 400),
        (json!({"protocol": "http"}), 400),
    ] {
        assert_eq!(ask(&body).status(), status, "{body}");
    }
}

/// True if the server is of this kind.
fn is(db: &Database, kind: Kind) -> bool {
    db.kind() == kind
}

#[test]
fn a_guest_whose_time_is_extended_works_on_and_its_name_says_so() {
    let (far, home, db) = (Far::new(), Arc::new(Home::with_plugin()), shared());
    let manager = manager(&far, &home);
    let ends_in = |seconds: u64| {
        let mut body = app(db.port(), USER, &["shop.orders", "shop.customers(id)"]);
        let end = SystemTime::now() + Duration::from_secs(seconds);
        body["expires"] = json!(postern::store::time::rfc3339(end));
        body
    };
    let id = manager.add(&ends_in(3600));
    let mut client = client(&manager.connected(&id));
    let select = "SELECT orders.id FROM orders JOIN customers";
    assert_eq!(column(&mut client, select), ["7"]);
    let name = |client: &mut Client| {
        let info = client.get("/api/info").data();
        info["user"].as_str().unwrap().to_owned()
    };
    let first = name(&mut client);
    put(&manager, &id, &ends_in(3 * 24 * 3600));
    wait_until(TIMEOUT, "another name", || name(&mut client) != first);
    let second = name(&mut client);
    assert!(second > first, "{second}: it says that it ends later");
    for _ in 0..3 {
        assert_eq!(column(&mut client, select), ["7"]);
    }
    let recorded = || {
        let records: Value = serde_json::from_str(&records(home.path())).unwrap();
        let names = records["accounts"].as_array().unwrap();
        names
            .iter()
            .map(|account| account["name"].clone())
            .collect::<Vec<_>>()
    };
    wait_until(TIMEOUT, "one record", || recorded() == [json!(second)]);
    assert!(!accounts(db).contains(&first) && accounts(db).contains(&second));
    // Its views are where they were.
    assert!(view_databases(db).contains(&first));
    put(&manager, &id, &ends_in(2));
    wait_until(TIMEOUT, "its end", || {
        !accounts(db).contains(&second) && !view_databases(db).contains(&first)
    });
}
