//! Roles, partial revokes, and what the page says of an account's rights.

use serde_json::Value;

use crate::on_mysql::database;
use crate::starts::{let_in, start};
use support::Database;

#[test]
fn rights_that_come_by_roles_alone_are_there_and_counted() {
    let db = database(
        "my_roles",
        "CREATE TABLE t (id INT); INSERT INTO t VALUES (7); \
         CREATE ROLE my_reader, my_writer, my_nested; \
         GRANT SELECT, SHOW VIEW ON my_roles.* TO my_reader; GRANT INSERT ON my_roles.* TO my_writer; \
         GRANT my_writer TO my_nested",
    );
    // By default role, by a role that is not one, by a role within a role.
    for (user, role, is_default, can_write) in [
        ("my_r1", "my_reader", true, false),
        ("my_r2", "my_reader", false, false),
        ("my_r3", "my_nested", false, true),
        ("my_r4", "my_writer", true, true),
    ] {
        db.exec(&format!(
            "CREATE USER {user} IDENTIFIED BY 'secret'; GRANT {role} TO {user}"
        ));
        if is_default {
            db.exec(&format!("SET DEFAULT ROLE {role} TO {user}"));
        }
        let postern = let_in(start(&db.target(), user, "secret", &["--readonly"]));
        let mut client = postern.client();
        assert_eq!(
            client.get("/api/info").data()["can_write"],
            can_write,
            "{user}"
        );
        // The look at the roles leaves the session as the server makes it.
        let role_now = client.query_ok("", "SELECT CURRENT_ROLE() AS r");
        let expected = if is_default {
            format!("`{role}`@`%`")
        } else {
            "NONE".into()
        };
        assert_eq!(role_now["rows"][0]["r"], expected, "{user}");
        if is_default && role == "my_reader" {
            let rows = client.query_ok("my_roles", "SELECT id FROM t");
            assert_eq!(rows["rows"][0]["id"], 7);
        }
    }
}

fn can_write(db: &Database, user: &str) -> Value {
    let postern = let_in(start(&db.target(), user, "secret", &["--readonly"]));
    let mut info = postern.client().get("/api/info").data();
    info["can_write"].take()
}

#[test]
fn what_only_shows_does_not_count_as_writing() {
    let db = database("my_rights", "SET GLOBAL partial_revokes = ON");
    let grants = [
        ("GRANT SELECT, SHOW_ROUTINE ON *.* TO", false),
        (
            "GRANT SELECT, SHOW VIEW, PROCESS, SHOW DATABASES, REPLICATION CLIENT ON *.* TO",
            false,
        ),
        (
            "GRANT SELECT, SENSITIVE_VARIABLES_OBSERVER ON *.* TO",
            false,
        ),
        ("GRANT SELECT, EXECUTE ON my_rights.* TO", true),
        ("GRANT SELECT, SYSTEM_VARIABLES_ADMIN ON *.* TO", true),
        ("GRANT SELECT, INSERT ON *.* TO", true),
    ];
    for (n, (grant, expected)) in grants.iter().enumerate() {
        let user = format!("my_a{n}");
        db.exec(&format!(
            "CREATE USER {user} IDENTIFIED BY 'secret'; {grant} {user}"
        ));
        assert_eq!(can_write(db, &user), *expected, "{grant}");
    }
    // A right revoked for one part still exists in the others.
    db.exec("REVOKE SELECT ON mysql.* FROM my_a0; REVOKE INSERT ON my_rights.* FROM my_a5");
    assert_eq!(can_write(db, "my_a0"), false);
    assert_eq!(can_write(db, "my_a5"), true);
}
