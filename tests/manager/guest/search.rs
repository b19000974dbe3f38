//! A guest's search finds what its account was lent, and nothing else.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};
use support::database::USER;
use support::http::Client;
use support::manager::Far;
use support::{Home, TIMEOUT, wait_until};

use super::{accounts, app, client, manager, put, server};

const SHOP: &str = "CREATE DATABASE shop; \
    CREATE TABLE shop.customers (id INT PRIMARY KEY, name VARCHAR(20), kiwi_card VARCHAR(20) COMMENT 'kiwi') \
        COMMENT = 'kiwi people'; \
    CREATE TABLE shop.kiwi_orders (id INT, kiwi_total INT); CREATE TABLE shop.kiwi_hidden (kiwi INT) COMMENT = 'kiwi'; \
    CREATE VIEW shop.kiwi_view AS SELECT kiwi_card FROM shop.customers; \
    CREATE FUNCTION shop.kiwi_function() RETURNS INT DETERMINISTIC COMMENT 'kiwi' RETURN 1; \
    CREATE TRIGGER shop.kiwi_trigger BEFORE INSERT ON shop.kiwi_orders FOR EACH ROW SET NEW.id = 1; \
    CREATE EVENT shop.kiwi_event ON SCHEDULE EVERY 1 DAY DISABLE DO SELECT 1; \
    CREATE DATABASE kiwi_other; CREATE TABLE kiwi_other.kiwi (kiwi INT)";

/// Each match as its kind, database, table and name, with `views` for the guest's own database.
fn found(client: &mut Client, query: &str, name: &str) -> Vec<String> {
    let data = client.get(&format!("/api/search?{query}")).data();
    let one = |found: &Value| {
        let text = |key: &str| found[key].as_str().unwrap_or("-").replace(name, "views");
        let [kind, db, table, name] = ["kind", "db", "table", "name"].map(text);
        format!("{kind} {db}.{table}.{name}")
    };
    let mut all: Vec<String> = data["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(one)
        .collect();
    all.sort();
    all
}

fn name_of(client: &mut Client) -> String {
    let info = client.get("/api/info").data();
    info["user"].as_str().unwrap().to_owned()
}

#[test]
fn a_guest_finds_what_it_was_lent_and_nothing_after_that_was_revoked() {
    let (far, home, db) = (Far::new(), Arc::new(Home::with_plugin()), server(&[]));
    db.exec(SHOP);
    let manager = manager(&far, &home);
    let listed = [
        "shop.kiwi_orders",
        "shop.customers(id,name)",
        "shop.kiwi_view",
    ];
    let ends_in = |seconds: u64| {
        let mut body = app(db.port(), USER, &listed);
        let end = SystemTime::now() + Duration::from_secs(seconds);
        body["expires"] = json!(postern::store::time::rfc3339(end));
        body
    };
    let id = manager.add(&ends_in(3600));
    let mut client = client(&manager.connected(&id));
    let name = name_of(&mut client);
    let lent = [
        "column shop.kiwi_orders.kiwi_total",
        "column shop.kiwi_view.kiwi_card",
        "column views.kiwi_orders.kiwi_total",
        "column views.kiwi_view.kiwi_card",
        "table shop.-.kiwi_orders",
        "view shop.-.kiwi_view",
        "view views.-.kiwi_orders",
        "view views.-.kiwi_view",
    ];
    assert_eq!(found(&mut client, "q=kiwi&limit=500", &name), lent);
    // Of a table that is lent in part, only the view.
    assert_eq!(
        found(&mut client, "q=customers&limit=500", &name),
        ["view views.-.customers"]
    );
    for kind in ["routine", "trigger", "event"] {
        let query = format!("q=kiwi&kind={kind}");
        assert!(found(&mut client, &query, &name).is_empty(), "{kind}");
    }
    let missing = client.get("/api/search?q=kiwi").data()["missing"].clone();
    let told = missing.to_string();
    assert!(!told.contains("hidden") && !told.contains("card"), "{told}");

    let account = db.value(&format!(
        "SELECT CONCAT(QUOTE(User), '@', QUOTE(Host)) FROM mysql.user WHERE User = '{name}'"
    ));
    db.exec(&format!("REVOKE SELECT ON shop.kiwi_orders FROM {account}"));
    let began = Instant::now();
    let is_found = |client: &mut Client| {
        let all = found(client, "q=kiwi_orders&db=shop&refresh=1&limit=500", &name);
        all.contains(&"table shop.-.kiwi_orders".to_owned())
    };
    // A visitor cannot have the server read its catalogue all the time.
    assert!(is_found(&mut client) || began.elapsed() > Duration::from_secs(20));
    wait_until(TIMEOUT, "it is not found any more", || {
        !is_found(&mut client)
    });

    // Under another name of the account nothing of the old one's is kept.
    put(&manager, &id, &ends_in(3 * 24 * 3600));
    wait_until(TIMEOUT, "another name", || name_of(&mut client) != name);
    assert!(!accounts(&db).contains(&name));
    assert!(!is_found(&mut client));
    let views = found(&mut client, "q=kiwi_view&db=shop", &name);
    assert!(
        views.contains(&"view shop.-.kiwi_view".to_owned()),
        "{views:?}"
    );
}
