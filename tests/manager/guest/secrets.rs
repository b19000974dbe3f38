//! Passwords stay where they belong: a guest's is in no log of the database server, and an application's goes to its own
//! address alone.

use std::net::TcpListener;
use std::sync::Arc;

use serde_json::json;

use support::database::{Kind, USER};
use support::manager::Far;
use support::{Database, Home, TIMEOUT, free_port, wait_until};

use super::{SHOP, accounts, app, client, column, is, manager, server};

/// Pattern of every guest password; nothing else here matches it.
const PASSWORD: &str = "[a-z]{20}-[0-9]{6}[.][a-z]{20}";

fn logged(db: &Database, like: &str) -> Vec<String> {
    db.column(&format!(
        "SELECT CONVERT(argument USING utf8mb4) FROM mysql.general_log WHERE CONVERT(argument USING utf8mb4) REGEXP '{like}'"
    ))
}

fn works_as_a_guest(db: &Database) {
    let (home, far) = (Arc::new(Home::with_plugin()), Far::new());
    let manager = manager(&far, &home);
    let id = manager.add(&app(db.port(), USER, &["shop.orders"]));
    let mut client = client(&manager.connected(&id));
    assert_eq!(column(&mut client, "SELECT id FROM shop.orders"), ["7"]);
    manager.disconnect(&id);
    wait_until(TIMEOUT, "its end", || accounts(db).is_empty());
}

#[test]
fn the_general_log_has_no_password_of_a_guest() {
    let db = server(&[]);
    db.exec(SHOP);
    logs(&db);
    works_as_a_guest(&db);
    let made = logged(&db, "^CREATE USER .?postern_");
    assert_eq!(made.len(), 1, "{made:?}");
    assert_eq!(logged(&db, PASSWORD), [""; 0], "{made:?}");
}

fn logs(db: &Database) {
    db.exec("SET GLOBAL log_output = 'TABLE'; SET GLOBAL general_log = ON");
}

/// Such a MariaDB takes no hash: it could not see what is behind it.
#[test]
fn a_server_that_checks_passwords_is_given_one() {
    let db = server(&[]);
    if is(&db, Kind::MySql) {
        return;
    }
    db.exec(SHOP);
    db.exec("INSTALL SONAME 'simple_password_check'");
    logs(&db);
    works_as_a_guest(&db);
    assert_eq!(logged(&db, PASSWORD).len(), 1);
}

#[test]
fn a_look_elsewhere_takes_no_stored_password_along() {
    let (home, far) = (Arc::new(Home::with_plugin()), Far::new());
    let manager = manager(&far, &home);
    let rogue = TcpListener::bind("127.0.0.1:0").unwrap();
    rogue.set_nonblocking(true).unwrap();
    let port = rogue.local_addr().unwrap().port();
    let id = manager.add(&app(free_port(), USER, &[]));
    let mut elsewhere = app(port, USER, &[]);
    let unset = elsewhere.as_object_mut().unwrap();
    unset.remove("db_pass");
    unset.insert("id".into(), json!(id));
    let asked = manager.client().post("/api/guest/objects", &elsewhere);
    assert_eq!(asked.status(), 400, "{}", asked.text());
    let why = asked.json()["fields"]["db_pass"].clone();
    assert!(why.as_str().unwrap().contains("enter it again"), "{why}");
    let nobody = rogue.accept().map(drop).unwrap_err();
    assert_eq!(nobody.kind(), std::io::ErrorKind::WouldBlock);
    // A request with a password of its own may ask there.
    elsewhere["db_pass"] = json!("given");
    let asked = std::thread::scope(|scope| {
        let asked = scope.spawn(|| {
            let mut client = manager.client();
            client.post("/api/guest/objects", &elsewhere).status()
        });
        wait_until(TIMEOUT, "the question", || rogue.accept().is_ok());
        asked.join().unwrap()
    });
    assert_eq!(asked, 502);
}
