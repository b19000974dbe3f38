//! `postern start` is killed at every step of a guest's account: the next start leaves nothing behind.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use support::database::USER;
use support::manager::Far;
use support::{Home, TIMEOUT, wait_until};

use super::tap::{StopAt, Tap};
use super::{SHOP, accounts, app, client, manager, put, records, server, view_databases};

/// Of one table only some columns.
const LENT: [&str; 2] = ["shop.orders", "shop.customers(id,name)"];

#[test]
fn a_kill_at_any_step_leaves_nothing_for_longer_than_the_next_start() {
    let db = server(&[]);
    db.exec(SHOP);
    let tap = Tap::before(db.port());
    let home = Arc::new(Home::with_plugin());
    let far = Far::new();
    let at = |text, after| StopAt {
        text,
        after,
        cuts: false,
    };
    let (before, after) = (|text| at(text, false), |text| at(text, true));
    let mut id: Option<String> = None;
    // Steps at which it stops, at the beginning or at the end; none: while it serves.
    for (beginning, ending) in [
        (Some(before("CREATE USER")), None),
        (Some(after("CREATE USER")), None),
        (Some(before("CREATE DATABASE")), None),
        (Some(after("CREATE DATABASE")), None),
        (Some(before("CREATE ALGORITHM")), None),
        (Some(after("CREATE ALGORITHM")), None),
        (Some(before("GRANT SELECT")), None),
        (Some(after("GRANT SELECT")), None),
        (Some(after("SELECT CURRENT_USER()")), None),
        (None, None),
        (None, Some(before("ACCOUNT LOCK"))),
        (None, Some(after("ACCOUNT LOCK"))),
        (None, Some(before("DROP USER"))),
        (None, Some(after("DROP USER"))),
        (None, Some(before("DROP DATABASE"))),
        (None, Some(after("DROP DATABASE"))),
    ] {
        let step = beginning.or(ending).map_or("serving", |at| at.text);
        let mut manager = manager(&far, &home);
        let id = id.get_or_insert_with(|| manager.add(&app(tap.port, USER, &LENT)));
        wait_until(TIMEOUT, "the sweep of the last start", || {
            !records(home.path()).contains("postern_")
        });
        assert_eq!(accounts(&db), [""; 0], "before {step}");
        assert_eq!(view_databases(&db), [""; 0], "before {step}");
        tap.stop_at(beginning);
        manager.connect(id);
        if beginning.is_none() {
            manager.wait_status(id, "connected");
            assert_eq!(accounts(&db).len(), 1);
            tap.stop_at(ending);
            if ending.is_some() {
                manager.disconnect(id);
            }
        }
        if beginning.or(ending).is_some() {
            wait_until(TIMEOUT, step, || tap.was_hit());
        }
        assert!(
            records(home.path()).contains("postern_"),
            "{step}: no record"
        );
        manager.kill();
        tap.stop_at(None);
    }
    let manager = manager(&far, &home);
    wait_until(TIMEOUT, "the last sweep", || {
        !records(home.path()).contains("postern_")
    });
    assert_eq!(accounts(&db), [""; 0]);
    assert_eq!(view_databases(&db), [""; 0]);
    drop(manager);
}

/// Unlike a kill, a lost connection leaves nothing even now.
#[test]
fn a_connection_that_is_lost_at_any_step_leaves_nothing() {
    let db = server(&[]);
    db.exec(SHOP);
    let tap = Tap::before(db.port());
    let (home, far) = (Arc::new(Home::with_plugin()), Far::new());
    let manager = manager(&far, &home);
    let body = |seconds: u64| {
        let mut body = app(tap.port, USER, &LENT);
        let end = SystemTime::now() + Duration::from_secs(seconds);
        body["expires"] = json!(postern::store::time::rfc3339(end));
        body
    };
    for (text, after) in [
        ("CREATE USER", false),
        ("CREATE USER", true),
        ("CREATE DATABASE", false),
        ("CREATE DATABASE", true),
        ("CREATE ALGORITHM", false),
        ("CREATE ALGORITHM", true),
        ("GRANT SELECT", false),
        ("GRANT SELECT", true),
        ("RENAME USER", false),
        ("RENAME USER", true),
        ("PASSWORD EXPIRE INTERVAL 3 DAY", true),
        ("ACCOUNT LOCK", false),
        ("ACCOUNT LOCK", true),
        ("DROP USER", false),
        ("DROP USER", true),
        ("DROP DATABASE", false),
        ("DROP DATABASE", true),
    ] {
        let cut = || {
            tap.stop_at(Some(StopAt {
                text,
                after,
                cuts: true,
            }));
        };
        let (is_of_making, is_of_end) = (
            text.starts_with("CREATE") || text.starts_with("GRANT"),
            text.starts_with("ACCOUNT") || text.starts_with("DROP"),
        );
        let id = manager.add(&body(3600));
        if is_of_making {
            cut();
            manager.connect(&id);
            wait_until(TIMEOUT, text, || tap.was_hit());
        } else {
            let result = manager.connected(&id);
            if is_of_end {
                cut();
            } else {
                let first = accounts(&db);
                cut();
                put(&manager, &id, &body(2 * 24 * 3600 + 3600));
                wait_until(TIMEOUT, text, || tap.was_hit());
                // It is called so or so, and works on where that is known.
                let is_renamed = text != "RENAME USER" || after;
                wait_until(TIMEOUT, "its name", || {
                    (accounts(&db) != first) == is_renamed
                });
                let select = "SELECT id FROM shop.orders";
                wait_until(TIMEOUT, "it works", || {
                    client(&result).query("", select)["code"] == 200
                });
            }
        }
        manager.disconnect(&id);
        wait_until(TIMEOUT, "its end", || {
            accounts(&db).is_empty() && view_databases(&db).is_empty()
        });
        let removed = manager
            .client()
            .send("DELETE", &format!("/api/apps/{id}"), &[], b"");
        assert_eq!(removed.status(), 200);
    }
    // Accounts that may exist are looked for once more.
    let id = manager.add(&body(3600));
    manager.connected(&id);
    manager.disconnect(&id);
    wait_until(TIMEOUT, "no record", || {
        !records(home.path()).contains("postern_")
    });
}

/// A server without the account may be another one than the server that has it.
#[test]
fn another_server_at_the_same_address_does_not_stand_for_the_one_that_has_the_account() {
    let (db, other) = (server(&[]), server(&[]));
    db.exec(SHOP);
    other.exec(SHOP);
    let tap = Tap::before(db.port());
    let (home, far) = (Arc::new(Home::with_plugin()), Far::new());
    let mut first = manager(&far, &home);
    let id = first.add(&app(tap.port, USER, &["shop.orders"]));
    first.connected(&id);
    let left = accounts(&db);
    first.kill();
    tap.server.store(other.port(), Ordering::SeqCst);
    let mut second = manager(&far, &home);
    second.connected(&id);
    let made = accounts(&other);
    assert_eq!((accounts(&db), made.len()), (left.clone(), 1));
    second.disconnect(&id);
    wait_until(TIMEOUT, "the second's end", || accounts(&other).is_empty());
    wait_until(TIMEOUT, "the end of its record", || {
        !records(home.path()).contains(&made[0])
    });
    assert!(records(home.path()).contains(&left[0]));
    second.kill();
    tap.server.store(db.port(), Ordering::SeqCst);
    let third = manager(&far, &home);
    wait_until(TIMEOUT, "the sweep", || accounts(&db).is_empty());
    wait_until(TIMEOUT, "no record", || {
        !records(home.path()).contains("postern_")
    });
    drop(third);
}

/// By the record though the server is called by another name now, and by name whoever made the account: also where nobody
/// connects.
#[test]
fn a_start_alone_drops_what_was_left() {
    let db = server(&[]);
    db.exec(SHOP);
    let (home, far) = (Arc::new(Home::with_plugin()), Far::new());
    let mut first = manager(&far, &home);
    let id = first.add(&app(db.port(), USER, &["shop.orders"]));
    first.connected(&id);
    assert_eq!(accounts(&db).len(), 1);
    let mut elsewhere = app(db.port(), USER, &[]);
    elsewhere["ip"] = json!("localhost");
    put(&first, &id, &elsewhere);
    first.kill();
    let mut second = manager(&far, &home);
    wait_until(TIMEOUT, "the sweep by record", || accounts(&db).is_empty());
    put(&second, &id, &app(db.port(), USER, &["shop.orders"]));
    second.kill();
    db.exec("CREATE USER postern_1500000000_abcdefghjkmnp@localhost; GRANT SELECT ON shop.orders TO postern_1500000000_abcdefghjkmnp@localhost");
    let third = manager(&far, &home);
    wait_until(TIMEOUT, "the sweep by name", || accounts(&db).is_empty());
    drop(third);
}

/// Another machine's accounts have no record here: those that have ended and only read go by their names.
#[test]
fn accounts_that_have_ended_go_by_their_names() {
    let db = server(&[]);
    db.exec(SHOP);
    db.exec(
        "CREATE USER postern_1500000000_abcdefghjkmnp@localhost; GRANT SELECT ON shop.orders TO postern_1500000000_abcdefghjkmnp@localhost; \
         CREATE USER postern_1500000000_wrtesamethnng@localhost; GRANT UPDATE ON shop.orders TO postern_1500000000_wrtesamethnng@localhost; \
         CREATE USER postern_1500000000_readsevrythng@localhost; GRANT SELECT ON *.* TO postern_1500000000_readsevrythng@localhost; \
         CREATE USER postern_1500000000_gvesttaxthers@localhost; \
         GRANT SELECT ON shop.orders TO postern_1500000000_gvesttaxthers@localhost WITH GRANT OPTION; \
         CREATE USER postern_1500000000_abcdefghjkmnp@'%'; CREATE USER postern_1500000000_abcdefghjkmnp@'a\\\\b'; \
         CREATE USER postern_9500000000_abcdefghjkmnp@localhost; CREATE USER postern_app@localhost",
    );
    // So do databases of views, where nothing else is in them and nobody may read them.
    db.exec(
        "CREATE DATABASE postern_1500000000_nythngbtvewss; CREATE VIEW postern_1500000000_nythngbtvewss.v AS SELECT 1; \
         CREATE DATABASE postern_1500000000_hasatabrenxxz; CREATE TABLE postern_1500000000_hasatabrenxxz.t (a INT); \
         CREATE DATABASE postern_1500000000_sreadbysmebdy; CREATE VIEW postern_1500000000_sreadbysmebdy.v AS SELECT 1; \
         CREATE USER reader@localhost; GRANT SELECT ON postern_1500000000_sreadbysmebdy.v TO reader@localhost; \
         CREATE DATABASE postern_9500000000_nythngbtvewss; CREATE DATABASE postern_data",
    );
    let (home, far) = (Arc::new(Home::with_plugin()), Far::new());
    let manager = manager(&far, &home);
    let id = manager.add(&app(db.port(), USER, &["shop.*"]));
    let result: Value = manager.connected(&id);
    assert!(result["site_url"].is_string());
    manager.disconnect(&id);
    wait_until(TIMEOUT, "the guest's own end", || accounts(&db).len() == 7);
    let mut left = accounts(&db);
    left.sort();
    assert_eq!(
        left,
        [
            "postern_1500000000_abcdefghjkmnp",
            "postern_1500000000_abcdefghjkmnp",
            "postern_1500000000_gvesttaxthers",
            "postern_1500000000_readsevrythng",
            "postern_1500000000_wrtesamethnng",
            "postern_9500000000_abcdefghjkmnp",
            "postern_app"
        ]
    );
    assert_eq!(
        view_databases(&db),
        [
            "postern_1500000000_hasatabrenxxz",
            "postern_1500000000_sreadbysmebdy",
            "postern_9500000000_nythngbtvewss",
            "postern_data"
        ]
    );
}
