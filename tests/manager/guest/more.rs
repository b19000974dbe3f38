//! Servers that give every account more than it is granted: such a guest is refused, and dropped.

use std::sync::Arc;

use support::Home;
use support::database::{Kind, PASSWORD, USER};
use support::manager::Far;

use super::{SHOP, accounts, app, is, manager, records, server};

#[test]
fn what_a_server_gives_to_every_account_is_found() {
    let db = server(&["--skip-name-resolve"]);
    db.exec(SHOP);
    let mysql = [
        (
            "CREATE ROLE everybody; GRANT SELECT ON shop.hidden TO everybody; SET GLOBAL mandatory_roles = 'everybody'",
            "hidden",
            "SET GLOBAL mandatory_roles = ''; DROP ROLE everybody",
        ),
        (
            "CREATE ROLE executor; GRANT EXECUTE ON shop.* TO executor; SET GLOBAL mandatory_roles = 'executor'",
            "EXECUTE",
            "SET GLOBAL mandatory_roles = ''; DROP ROLE executor",
        ),
    ];
    let mariadb = [
        (
            "GRANT SELECT ON shop.hidden TO PUBLIC",
            "hidden",
            "REVOKE SELECT ON shop.hidden FROM PUBLIC",
        ),
        (
            "GRANT EXECUTE ON FUNCTION shop.f TO PUBLIC",
            "EXECUTE",
            "SAID",
        ),
        (
            "GRANT SELECT ON nowhere_yet.* TO PUBLIC",
            "nowhere_yet",
            "SAID",
        ),
        // As `mariadb-install-db` leaves it.
        (
            "GRANT ALL ON test.* TO PUBLIC; GRANT ALL ON `test\\_%`.* TO PUBLIC",
            "ON `test`.* TO PUBLIC",
            "SAID",
        ),
    ];
    let anonymous = [(
        "INSERT INTO mysql.db (Host, Db, User, Select_priv, Create_priv) VALUES ('%', 'test', '', 'Y', 'Y'); FLUSH PRIVILEGES",
        "the database test is open to every account",
        "SAID",
    )];
    let of_kind: &[_] = if is(&db, Kind::MySql) {
        &mysql
    } else {
        &mariadb
    };
    let (home, far) = (Arc::new(Home::with_plugin()), Far::new());
    let manager = manager(&far, &home);
    let id = manager.add(&app(db.port(), USER, &["shop.orders"]));
    for (given, word, taken) in of_kind.iter().chain(&anonymous) {
        db.exec(given);
        manager.connect(&id);
        let result = manager.wait_status(&id, "failed");
        let error = result["error"].as_str().unwrap();
        assert!(
            error.contains(word) && error.contains("more than you listed"),
            "{given}: {error}"
        );
        assert_eq!(accounts(&db), [""; 0], "{given}");
        assert!(!records(home.path()).contains("postern_"));
        manager.disconnect(&id);
        // The statements of the hint are all that is needed.
        let said = error.split_once("; have an administrator run: ");
        assert_eq!(said.is_some(), *taken == "SAID", "{error}");
        assert!(said.is_none() || !error.contains("list it"), "{error}");
        db.exec(said.map_or(*taken, |(_, statements)| statements));
    }
    manager.connected(&id);
    manager.disconnect(&id);
}

/// The anonymous user of this very host is another account than the guest's.
#[test]
fn an_anonymous_account_is_not_taken_for_the_guest() {
    let db = server(&["--skip-name-resolve"]);
    db.exec(SHOP);
    db.exec(&format!("CREATE USER {USER}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; GRANT ALL ON *.* TO {USER}@'127.0.0.1' WITH GRANT OPTION"));
    db.exec("CREATE USER ''@'127.0.0.1'; GRANT SELECT ON shop.* TO ''@'127.0.0.1'");
    let (home, far) = (Arc::new(Home::with_plugin()), Far::new());
    let manager = manager(&far, &home);
    let id = manager.add(&app(db.port(), USER, &["shop.orders"]));
    manager.connect(&id);
    // The anonymous account's rights on a database are everybody's.
    let result = manager.wait_status(&id, "failed");
    let error = result["error"].as_str().unwrap();
    assert!(
        error.contains("the database shop is open to every account"),
        "{error}"
    );
    assert_eq!(accounts(&db), [""; 0]);
}
