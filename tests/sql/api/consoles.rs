//! A script ends as it does in the server's own console: the shared vectors leave marks, programs and tables.

use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use super::database;
use support::Database;
use support::database::{Kind, PASSWORD, Server, USER};
use support::http::Client;
use support::postern::Postern;

/// Everything that a script may leave in the database.
const LEFT: &str = "SELECT CONCAT_WS(' ', n, 'mark') FROM console.m UNION ALL SELECT CONCAT_WS(' ', begin, end) FROM console.w \
    UNION ALL SELECT CONCAT_WS(' ', ROUTINE_NAME, ROUTINE_DEFINITION) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'console' \
    UNION ALL SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = 'console' \
    UNION ALL SELECT EVENT_NAME FROM information_schema.EVENTS WHERE EVENT_SCHEMA = 'console' \
    UNION ALL SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'console'";

fn renew(db: &Database) {
    for sql in [
        "DROP DATABASE IF EXISTS console",
        "CREATE DATABASE console",
        "CREATE TABLE console.m (n INT)",
        "CREATE TABLE console.w (begin INT, end INT)",
        "INSERT INTO console.w VALUES (1, 1)",
    ] {
        db.exec(sql);
    }
}

fn left(db: &Database) -> Vec<String> {
    let mut left = db.column(LEFT);
    left.sort();
    left
}

/// Gives a text to the console, which goes on after errors.
fn in_console(db: &Database, text: &str, modes: &str) {
    let program = match db.kind() {
        Kind::MariaDb => "mariadb",
        Kind::MySql => "mysql",
    };
    let mut console = Server::chosen().tool(program);
    console
        .args([
            "--no-defaults",
            "--force",
            "--default-character-set=utf8mb4",
        ])
        .arg(format!("--socket={}", db.socket().display()))
        .arg(format!("--user={USER}"))
        .env("MYSQL_PWD", PASSWORD);
    if db.kind() == Kind::MySql {
        console.args(["--commands", "--skip-comments"]); // off and on there, on and off in MariaDB's
    }
    if !modes.is_empty() {
        console.arg(format!("--init-command=SET sql_mode = '{modes}'"));
    }
    let mut console = console
        .arg("console")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the server's console");
    let mut input = console.stdin.take().unwrap();
    input.write_all(text.as_bytes()).unwrap();
    drop(input);
    console.wait().unwrap();
}

fn in_script(client: &mut Client, text: &str, modes: &str, session: &str) {
    // The mode is the session's own before the script is begun.
    let mode = format!("SET sql_mode = '{modes}'");
    for text in [mode.as_str(), text]
        .iter()
        .skip(usize::from(modes.is_empty()))
    {
        let path = "/api/script?on_error=continue&db=console";
        let headers = [
            ("Content-Type", "application/sql"),
            ("Postern-Session", session),
        ];
        let answer = client.send("POST", path, &headers, text.as_bytes());
        assert_eq!(answer.status(), 200, "{text}");
    }
    super::post(
        client,
        "/api/session/close",
        serde_json::json!({"session": session}),
    );
}

#[test]
fn scripts_end_as_in_the_servers_own_console() {
    let db = database("console_of_scripts");
    let kind = match db.kind() {
        Kind::MariaDb => "mariadb",
        Kind::MySql => "mysql",
    };
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let vectors: Vec<Value> = serde_json::from_str(include_str!("../../data/split.json")).unwrap();
    let concerns = |vector: &&Value| {
        vector["marks"] == true
            && vector["server"]
                .as_str()
                .is_none_or(|server| server == kind)
    };
    let mut wrong = Vec::new();
    for (number, vector) in vectors.iter().filter(concerns).enumerate() {
        let sql = vector["sql"].as_str().unwrap();
        let modes = vector["modes"].as_str().unwrap_or_default();
        // A console keeps a compound statement together only with a delimiter.
        let delimited = || {
            let statements = vector["statements"].as_array().unwrap().iter();
            let each = statements.map(|one| format!("{}\n//\n", one.as_str().unwrap()));
            format!("DELIMITER //\n{}", each.collect::<String>())
        };
        let text = if vector["compound"] == true {
            delimited()
        } else {
            sql.to_owned()
        };
        renew(db);
        in_console(db, &text, modes);
        let wanted = left(db);
        renew(db);
        in_script(&mut client, sql, modes, &format!("s{number}"));
        let found = left(db);
        if found != wanted {
            wrong.push(format!(
                "{sql:?} {modes}: {found:?}, and in the console {wanted:?}"
            ));
        }
    }
    db.exec("DROP DATABASE console");
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
