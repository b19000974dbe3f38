//! `postern start` is killed at every step of a guest's account: the next start leaves nothing behind.

use std::sync::Arc;

use serde_json::Value;
use support::database::USER;
use support::manager::Far;
use support::{Home, TIMEOUT, wait_until};

use super::tap::{StopAt, Tap};
use super::{SHOP, accounts, app, manager, records, server};

#[test]
fn a_kill_at_any_step_leaves_nothing_for_longer_than_the_next_start() {
    let db = server(&[]);
    db.exec(SHOP);
    let tap = Tap::before(db.port());
    let home = Arc::new(Home::with_plugin());
    let far = Far::new();
    let before = |text| StopAt { text, after: false };
    let after = |text| StopAt { text, after: true };
    let mut id: Option<String> = None;
    // Where it stops while it begins, and while it ends; none: while it serves.
    for (beginning, ending) in [
        (Some(before("CREATE USER")), None),
        (Some(after("CREATE USER")), None),
        (Some(before("GRANT SELECT")), None),
        (Some(after("GRANT SELECT")), None),
        (Some(after("SELECT CURRENT_USER()")), None),
        (None, None),
        (None, Some(before("ACCOUNT LOCK"))),
        (None, Some(after("ACCOUNT LOCK"))),
        (None, Some(before("DROP USER"))),
        (None, Some(after("DROP USER"))),
    ] {
        let step = beginning.or(ending).map_or("serving", |at| at.text);
        let mut manager = manager(&far, &home);
        let id = id.get_or_insert_with(|| manager.add(&app(tap.port, USER, &["shop.*"])));
        wait_until(TIMEOUT, "the sweep of the last start", || {
            !records(home.path()).contains("postern_")
        });
        assert_eq!(accounts(&db), [""; 0], "before {step}");
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
    drop(manager);
}

/// Another machine's accounts have no record here: those that have ended and only read go by their names.
#[test]
fn accounts_that_have_ended_go_by_their_names() {
    let db = server(&[]);
    db.exec(SHOP);
    db.exec(
        "CREATE USER postern_1500000000_abcdefghjkmnp@'%'; GRANT SELECT ON shop.orders TO postern_1500000000_abcdefghjkmnp@'%'; \
         CREATE USER postern_1500000000_writesomethin@'%'; GRANT UPDATE ON shop.orders TO postern_1500000000_writesomethin@'%'; \
         CREATE USER postern_9500000000_abcdefghjkmnp@'%'; CREATE USER postern_app@'%'",
    );
    let (home, far) = (Arc::new(Home::with_plugin()), Far::new());
    let manager = manager(&far, &home);
    let id = manager.add(&app(db.port(), USER, &["shop.*"]));
    let result: Value = manager.connected(&id);
    assert!(result["site_url"].is_string());
    manager.disconnect(&id);
    wait_until(TIMEOUT, "the guest's own end", || accounts(&db).len() == 3);
    let mut left = accounts(&db);
    left.sort();
    assert_eq!(
        left,
        [
            "postern_1500000000_writesomethin",
            "postern_9500000000_abcdefghjkmnp",
            "postern_app"
        ]
    );
}
