//! A shared read-write client never changes accounts or the server itself, whichever route is tried.

use serde_json::{Value, json};

use support::http::Client;
use support::{Database, Postern};

/// Statements that would create or change an account, or make another statement do it later.
const REFUSED: [&str; 30] = [
    "CREATE USER shared_evil IDENTIFIED BY 'x'",
    "/*!50000 CREATE USER shared_evil */",
    "CREATE /*!99999 TABLE */ USER shared_evil",
    "CREATE ROLE shared_evil",
    "ALTER USER shared_victim ACCOUNT LOCK",
    "DROP USER shared_victim",
    "RENAME USER shared_victim TO shared_evil",
    "GRANT ALL ON *.* TO shared_victim",
    "REVOKE ALL PRIVILEGES, GRANT OPTION FROM shared_victim",
    "SET PASSWORD FOR shared_victim = 'x'",
    "SET @a = 1, PASSWORD FOR shared_victim = PASSWORD('x')",
    "UPDATE mysql.user SET Host = 'nowhere' WHERE User = 'shared_victim'",
    "DELETE FROM `mysql`.`global_priv` WHERE User = 'shared_victim'",
    "INSERT INTO mysql.db (Host, Db, User) VALUES ('%', '%', 'shared_victim')",
    "CREATE VIEW shared_accounts.v AS SELECT * FROM mysql.global_priv",
    "CREATE PROCEDURE shared_accounts.p() DROP USER shared_victim",
    "CREATE PROCEDURE shared_accounts.p() BEGIN SELECT 1; GRANT ALL ON *.* TO shared_victim; END",
    "CREATE EVENT shared_accounts.e ON SCHEDULE EVERY 1 DAY DO ALTER USER shared_victim ACCOUNT LOCK",
    "PREPARE s FROM 'DROP USER shared_victim'",
    "EXECUTE IMMEDIATE 'DROP USER shared_victim'",
    "SET GLOBAL init_connect = 'GRANT ALL ON *.* TO shared_victim'",
    "CALL sys.execute_prepared_stmt('DROP USER shared_victim')",
    "CALL sys.`éxecute_prepared_stmt`('DROP USER shared_victim')",
    "FLUSH TABLES WITH READ LOCK",
    "CREATE TABLE shared_accounts.d (a INT) DATA DIRECTORY = '/tmp'",
    "SET GLOBAL max_connections = 200",
    "SET @@GLOBAL.max_connections = 200",
    "SELECT 1 INTO OUTFILE 'shared_evil'",
    "INSERT INTO shared_accounts.t (password) SELECT LOAD_FILE('/etc/passwd')",
    "SHUTDOWN",
];

fn visitor(postern: &Postern) -> Client {
    let path = postern.auth_url().unwrap().strip_prefix(postern.url());
    let mut client = postern.client();
    let entered = client.get(path.unwrap());
    client.set_cookie(&entered.cookie().unwrap());
    client
}

/// All accounts with their privileges, as the server has them.
fn accounts(db: &Database) -> Vec<String> {
    db.column("SELECT CONCAT_WS(' ', User, Host, Select_priv, Super_priv, authentication_string) FROM mysql.user ORDER BY User, Host")
}

#[track_caller]
fn refused(told: &(u16, Value), what: &str) {
    assert_eq!(told.0, 403, "{what}: {}", told.1);
    let message = told.1["message"].as_str().unwrap_or_default();
    assert!(
        message.contains("never changes accounts"),
        "{what}: {message}"
    );
}

#[test]
fn no_route_of_a_shared_client_changes_accounts() {
    let db = Database::shared();
    db.exec(
        "DROP DATABASE IF EXISTS shared_accounts; CREATE DATABASE shared_accounts; \
         CREATE TABLE shared_accounts.t (id INT PRIMARY KEY, password TEXT, role TEXT); \
         INSERT INTO shared_accounts.t VALUES (1, '', ''); \
         DROP USER IF EXISTS shared_victim; CREATE USER shared_victim IDENTIFIED BY 'secret'",
    );
    let postern = Postern::on(db, &["--invisible"]);
    let mut client = visitor(&postern);
    let before = accounts(db);
    let post = |client: &mut Client, path: &str, body: Value| {
        let answer = client.post(path, &body);
        (answer.status(), answer.json())
    };
    for sql in REFUSED {
        let body = json!({"sql": sql, "db": "shared_accounts"});
        refused(&post(&mut client, "/api/query", body.clone()), sql);
        refused(
            &post(
                &mut client,
                "/api/query",
                json!({"sql": sql, "session": "s"}),
            ),
            sql,
        );
        let ticket = json!({"sql": sql, "db": "shared_accounts", "format": "csv"});
        let (status, told) = post(&mut client, "/api/export", ticket);
        if status == 200 {
            let url = told["data"]["url"].as_str().unwrap().to_owned();
            let answer = client.get(&url);
            assert!(!answer.text().is_empty());
        }
    }
    // A script, as SQL and a statement a line; with a delimiter the server itself would see several.
    let whole = REFUSED.join(";\n");
    let delimited = format!("DELIMITER $$\n{}$$\n", REFUSED.join("$$\n"));
    let several = "DELIMITER $$\nSELECT 1; DROP USER shared_victim$$\n".to_owned();
    let latin = b"INSERT INTO t VALUES (5, '\xe4', ''); DROP USER shared_victim;".to_vec();
    for text in [
        whole.into_bytes(),
        delimited.into_bytes(),
        several.into_bytes(),
        latin,
    ] {
        let lines = script(&mut client, "application/sql", &text);
        assert!(lines.contains("never changes accounts"), "{lines}");
    }
    let lines: String = REFUSED
        .iter()
        .map(|sql| format!("{}\n", json!(sql)))
        .collect();
    let told = script(&mut client, "application/x-ndjson", lines.as_bytes());
    assert_eq!(
        told.matches("never changes accounts").count(),
        REFUSED.len(),
        "{told}"
    );
    // The database itself, by the request, by USE and in the grid.
    let unqualified = "UPDATE user SET Host = 'nowhere' WHERE User = 'shared_victim'";
    refused(
        &post(
            &mut client,
            "/api/query",
            json!({"sql": unqualified, "db": "mysql"}),
        ),
        "db",
    );
    let session = |sql: &str| json!({"sql": sql, "session": "u"});
    assert_eq!(post(&mut client, "/api/query", session("USE mysql")).0, 200);
    refused(
        &post(&mut client, "/api/query", session(unqualified)),
        "USE",
    );
    refused(
        &post(&mut client, "/api/query", session("SET @a = 1")),
        "USE",
    );
    let change = json!({"db": "mysql", "table": "db", "changes": [{"op": "insert", "new": {"User": "shared_evil"}}]});
    let edited = post(&mut client, "/api/edit", change);
    refused(&edited, "edit");
    assert_eq!(accounts(db), before);
    assert_eq!(db.value("SELECT COUNT(*) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'shared_accounts'"), "0");

    // A byte that is a blank in latin1, and one in cp852.
    for (set, blank) in [("latin1", 0xa0), ("cp852", 0xff)] {
        let mut text = format!("SET NAMES {set};\nCREATE_USER shared_evil;").into_bytes();
        let at = text.iter().position(|b| *b == b'_').unwrap();
        text[at] = blank;
        let lines = script(&mut client, "application/sql", &text);
        assert!(lines.contains("never changes accounts"), "{lines}");
    }
    assert_eq!(accounts(db), before);
    // Hashes of passwords are not shown either.
    for sql in [
        "SELECT * FROM mysql.user",
        "SELECT authentication_string FROM `mysql`.`user`",
        "SHOW CREATE USER shared_victim",
    ] {
        refused(&post(&mut client, "/api/query", json!({"sql": sql})), sql);
    }
    refused(
        &post(
            &mut client,
            "/api/query",
            json!({"sql": "TABLE user", "db": "mysql"}),
        ),
        "TABLE",
    );
    refused(
        &post(
            &mut client,
            "/api/dump",
            json!({"db": "mysql", "review": true}),
        ),
        "dump",
    );
    let (_, told) = post(
        &mut client,
        "/api/query",
        json!({"sql": "SHOW GRANTS FOR shared_victim"}),
    );
    let told = told.to_string();
    assert!(
        told.contains("USAGE") && !told.replace("'***'", "").contains("'*"),
        "{told}"
    );

    // Everything else goes on, also with such names.
    for sql in [
        "UPDATE shared_accounts.t SET password = 'grant all', role = 'drop user' WHERE id = 1",
        "CREATE TABLE shared_accounts.user (role INT, password TEXT)",
        "ALTER TABLE shared_accounts.user DROP role",
        "SELECT Db FROM mysql.db LIMIT 1",
        "SHOW GRANTS",
    ] {
        let (status, told) = post(&mut client, "/api/query", json!({"sql": sql}));
        assert_eq!(status, 200, "{sql}: {told}");
    }
    let (_, info) = {
        let answer = client.get("/api/info");
        (answer.status(), answer.data())
    };
    assert_eq!(info["shared"], true);

    // An owner who shares with nobody may.
    let own = Postern::on(db, &[]);
    let (status, told) = post(
        &mut own.client(),
        "/api/query",
        json!({"sql": "ALTER USER shared_victim IDENTIFIED BY 'other'"}),
    );
    assert_eq!(status, 200, "{told}");
    assert_ne!(accounts(db), before);
}

fn script(client: &mut Client, form: &str, text: &[u8]) -> String {
    let headers = [("Content-Type", form), ("Postern-Session", "script")];
    let path = "/api/script?query_id=q1&db=shared_accounts&on_error=continue";
    client.send("POST", path, &headers, text).text().to_owned()
}
