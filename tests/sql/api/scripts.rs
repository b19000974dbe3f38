//! `POST /api/script`.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::{SOON, count, database, post};
use support::database::Kind;
use support::http::Client;
use support::postern::Postern;
use support::wait_until;

/// Runs a script; status and lines of the answer.
fn script(
    client: &mut Client,
    query: &str,
    kind: &str,
    session: &str,
    text: &str,
) -> (u16, Vec<Value>) {
    let path = format!("/api/script?{query}");
    let headers = [("Content-Type", kind), ("Postern-Session", session)];
    let answer = client.send("POST", &path, &headers, text.as_bytes());
    let lines = answer.text().lines();
    let lines = lines.map(|line| serde_json::from_str(line).expect("a line is JSON"));
    (answer.status(), lines.collect())
}

const SQL: &str = "application/sql";

#[test]
fn each_statement_is_told_and_they_share_a_session() {
    let db = database("script_told");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let text = "USE script_told;\nSET @n = 7; INSERT INTO t (v) VALUES (@n), ('x');\nDELIMITER //\n\
        CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; END//\nDELIMITER ;\nCALL p(); INSERT INTO t VALUES (1, 'again'); SELECT 1";
    let (status, lines) = script(&mut client, "on_error=continue", SQL, "s1", text);
    assert_eq!(status, 200);
    assert_eq!(lines.len(), 8, "{lines:?}");
    assert_eq!(lines[2]["affected_rows"], 2);
    assert_eq!(
        (&lines[2]["line"], &lines[2]["offset"]),
        (&json!(2), &json!(29))
    );
    assert_eq!(lines[4]["rows"], 1);
    assert_eq!(lines[5]["error"]["errno"], 1062);
    assert_eq!(lines[7]["end"], true);
    assert_eq!(
        (&lines[7]["statements"], &lines[7]["failed"]),
        (&json!(7), &json!(1))
    );
    assert_eq!(
        count(db, "SELECT COUNT(*) FROM script_told.t WHERE v = '7'"),
        1
    );
    // The tab's next statement is in the same session.
    let (_, body) = post(
        &mut client,
        "/api/query",
        json!({"sql": "SELECT @n AS n", "session": "s1"}),
    );
    assert_eq!(body["data"]["rows"][0]["n"], 7);
    // Without a session the script has one of its own.
    let (_, lines) = script(
        &mut client,
        "",
        SQL,
        "",
        "SET @n = 8; SET @m = @n; INSERT INTO script_told.t (v) VALUES (@m)",
    );
    assert_eq!(lines.last().unwrap()["failed"], 0, "{lines:?}");
    assert_eq!(
        count(db, "SELECT COUNT(*) FROM script_told.t WHERE v = '8'"),
        1
    );
}

#[test]
fn it_stops_at_an_error_and_a_part_leaves_what_goes_on() {
    let db = database("script_stops");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let text = "SELECT 1; SELEC 2; SELECT 3";
    let (_, lines) = script(&mut client, "db=script_stops", SQL, "s", text);
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert_eq!(lines[2]["offset"], 18);
    let (_, lines) = script(&mut client, "part=1", SQL, "s", "SELECT 1; SELECT 'ä");
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(lines[1]["offset"], 9);
    let (_, lines) = script(
        &mut client,
        "",
        "application/x-ndjson",
        "s",
        "\"SELECT 1\"\n\"SELECT ';\\n'\"\n",
    );
    assert_eq!(lines[2]["statements"], 2, "{lines:?}");
    let (status, _) = script(&mut client, "", "text/plain", "s", "SELECT 1");
    assert_eq!(status, 415);
}

#[test]
fn a_body_of_any_size_is_run_in_flat_memory_and_what_the_server_does_not_take_is_not_sent() {
    let db = database("script_large");
    db.exec("CREATE TABLE script_large.l (s LONGTEXT)");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let six = format!("INSERT INTO l VALUES ('{}');\n", "x".repeat(6 << 20));
    let (_, lines) = script(&mut client, "db=script_large", SQL, "s", &six);
    assert_eq!(lines[0]["code"], 200, "{}", lines[0]);
    let line = format!("INSERT INTO l VALUES ('{}');\n", "y".repeat(100 << 10));
    let before = postern.peak_rss_kib();
    let (_, lines) = script(&mut client, "db=script_large", SQL, "s", &line.repeat(300));
    assert_eq!(lines.last().unwrap()["statements"], 300);
    let more = postern.peak_rss_kib() - before;
    assert!(more < 12 << 10, "30 MB took {more} KiB");
    let most = count(db, "SELECT @@global.max_allowed_packet");
    let over = format!(
        "SELECT '{}'; SELECT 1",
        "z".repeat(usize::try_from(most).unwrap())
    );
    let (_, lines) = script(&mut client, "db=script_large", SQL, "s", &over);
    assert_eq!(lines[0]["code"], 413);
    assert!(
        lines[0]["message"]
            .as_str()
            .unwrap()
            .contains("max_allowed_packet")
    );
    let (_, body) = post(
        &mut client,
        "/api/query",
        json!({"sql": "SELECT 1 AS one", "session": "s"}),
    );
    assert_eq!(body["code"], 200);
}

#[test]
fn a_read_only_script_takes_statements_as_long_as_a_query_may_be() {
    let db = database("script_shared");
    let postern = Postern::on(db, &["--readonly"]);
    let mut client = postern.client();
    let fits = format!("\u{feff}SELECT 1;\nSELECT '{}';\n", "x".repeat(3 << 20));
    let (_, lines) = script(&mut client, "", SQL, "s", &fits);
    assert_eq!(lines[0]["offset"], 3, "{lines:?}");
    assert_eq!(
        (&lines[1]["code"], &lines[2]["failed"]),
        (&json!(200), &json!(0))
    );
    for over in [
        format!("SELECT 1;\nSELECT '{}'", "x".repeat(6 << 20)),
        format!("SELECT 1;\nSELECT '{}';\nSELECT 2", "x".repeat(5 << 20)),
    ] {
        let (_, lines) = script(&mut client, "", SQL, "s", &over);
        let end = lines.last().unwrap();
        assert_eq!((lines.len(), &end["code"]), (2, &json!(413)), "{lines:?}");
        assert_eq!((&end["statements"], &end["line"]), (&json!(1), &json!(2)));
        let told = end["message"].as_str().unwrap();
        assert!(
            told.contains("begins in line 2 is longer than 4 MiB"),
            "{told}"
        );
    }
    let columns = format!("SELECT 1{}", ",1".repeat(4_096));
    let (_, lines) = script(&mut client, "", SQL, "s", &columns);
    assert_eq!(lines[0]["code"], 403, "{lines:?}");
}

#[test]
fn cancel_ends_the_statement_under_way_and_the_script() {
    let db = database("script_cancel");
    let postern = Postern::on(db, &[]);
    let mut other = postern.client();
    let text = "SELECT 1; SELECT SLEEP(60) AS script_cancel_me; INSERT INTO script_cancel.t (v) VALUES ('after')";
    let running = std::thread::spawn(move || {
        script(&mut other, "query_id=q7&on_error=continue", SQL, "s", text)
    });
    wait_until(SOON, "it runs", || db.running("script_cancel_me") == 1);
    let mut client = postern.client();
    assert_eq!(
        post(&mut client, "/api/cancel", json!({"query_id": "q7"})).0,
        200
    );
    let (_, lines) = running.join().unwrap();
    assert_eq!(lines.last().unwrap()["cancelled"], true, "{lines:?}");
    assert_eq!(lines.last().unwrap()["statements"], 2);
    assert_eq!(
        count(db, "SELECT COUNT(*) FROM script_cancel.t WHERE v = 'after'"),
        0
    );
    assert_eq!(
        post(&mut client, "/api/cancel", json!({"query_id": "q7"})).0,
        404
    );
}

#[test]
fn read_only_mode_refuses_each_statement_that_writes() {
    let db = database("script_readonly");
    let postern = Postern::on(db, &["--readonly"]);
    let mut client = postern.client();
    let text = "SELECT 1; DELETE FROM t; SET @x = 1; SELECT COUNT(*) FROM t; /*! DELETE FROM t */; CALL p()";
    let (status, lines) = script(
        &mut client,
        "db=script_readonly&on_error=continue",
        SQL,
        "s",
        text,
    );
    assert_eq!(status, 200);
    let codes: Vec<_> = lines.iter().map(|line| line["code"].as_u64()).collect();
    assert_eq!(
        codes,
        [
            Some(200),
            Some(403),
            Some(403),
            Some(200),
            Some(403),
            Some(403),
            None
        ],
        "{lines:?}"
    );
    assert_eq!(lines[1]["offset"], 10, "where the statement begins");
    // Once a refusal put the refused word in place of the number.
    assert_eq!(lines[1]["statement"], 2);
    assert_eq!(count(db, "SELECT COUNT(*) FROM script_readonly.t"), 3);
    let (_, lines) = script(&mut client, "", SQL, "s", "SELECT 1; SELECT 2, f_add(1, 2)");
    assert_eq!(
        (&lines[1]["offset"], &lines[1]["place"]),
        (&json!(10), &json!(10)),
        "{lines:?}"
    );
}

#[test]
fn a_session_outlives_its_page_for_a_moment_and_is_found_again() {
    let db = database("script_session");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let query = |client: &mut Client, sql: &str| {
        post(client, "/api/query", json!({"sql": sql, "session": "s9"})).1
    };
    query(&mut client, "SET @kept = 5");
    let id = query(&mut client, "SELECT CONNECTION_ID() AS id")["data"]["rows"][0]["id"].clone();
    post(
        &mut client,
        "/api/session/close",
        json!({"session": "s9", "leaving": true}),
    );
    let (_, body) = post(&mut client, "/api/session/resume", json!({"session": "s9"}));
    assert_eq!(body["data"], json!({"open": true, "lost": false}));
    post(
        &mut client,
        "/api/session/close",
        json!({"session": "s9", "leaving": true}),
    );
    wait_until(SOON, "the session has ended", || {
        count(
            db,
            &format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id}"),
        ) == 0
    });
    let (_, body) = post(&mut client, "/api/session/resume", json!({"session": "s9"}));
    assert_eq!(body["data"], json!({"open": false, "lost": true}));
    let (_, body) = post(&mut client, "/api/session/resume", json!({"session": "s9"}));
    assert_eq!(body["data"], json!({"open": false, "lost": false}));
}

/// The following statements belonged to the lost session and its transaction.
#[test]
fn a_script_ends_where_its_connection_is_lost() {
    let db = database("script_lost");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let text = "BEGIN; INSERT INTO t (v) VALUES ('undone'); KILL CONNECTION_ID(); INSERT INTO t (v) VALUES ('after')";
    let query = "db=script_lost&on_error=continue";
    let (_, lines) = script(&mut client, query, SQL, "s", text);
    assert_eq!(lines[1]["in_transaction"], true, "{lines:?}");
    let end = lines.last().unwrap();
    assert_eq!(
        (&end["statements"], &end["failed"]),
        (&json!(3), &json!(1)),
        "{lines:?}"
    );
    assert_eq!(
        count(
            db,
            "SELECT COUNT(*) FROM script_lost.t WHERE v IN ('undone', 'after')"
        ),
        0
    );
}

/// A file may say what it is written in; what is typed is UTF-8.
#[test]
fn a_character_set_of_a_tab_spoils_no_text() {
    let db = database("script_names");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let mut run = |sql: &str| {
        let body = json!({"sql": sql, "db": "script_names", "session": "s"});
        post(&mut client, "/api/query", body)
    };
    for sql in [
        "SET NAMES latin1",
        "SET character_set_results = NULL",
        "/*!40101 SET NAMES utf8 COLLATE utf8_bin */",
    ] {
        let (status, body) = run(sql);
        assert_eq!(status, 200, "{body}");
        let said = body["data"]["warnings"].to_string();
        assert!(said.contains("stay utf8mb4"), "{sql}: {body}");
        let (_, body) = run("SELECT 'žluť 🐴' AS a, LENGTH('ž') AS n");
        let row = &body["data"]["rows"][0];
        assert_eq!((&row["a"], &row["n"]), (&json!("žluť 🐴"), &json!(2)));
    }
    let (_, body) = run("SET NAMES utf8mb4 COLLATE utf8mb4_bin");
    assert_eq!(body["data"]["warnings"], json!([]), "{body}");
    let (_, body) = run("SELECT @@collation_connection AS c");
    assert_eq!(body["data"]["rows"][0]["c"], "utf8mb4_bin");
}

#[test]
fn one_statement_is_one_to_the_server_and_several_run_nothing() {
    let db = database("script_one");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    for text in [
        "SELECT 1; DELETE FROM script_one.t",
        "/*M!999999\\- x */ SELECT 1; DELETE FROM script_one.t",
        "SELECT 1 AS $a; DELETE FROM script_one.t",
        "SELECT 'a\\'; DELETE FROM script_one.t; SELECT 1 -- '",
        "/*!40101 SET @a = 1; */ DELETE FROM script_one.t",
        "SELECT 1 /*! ; DELETE FROM script_one.t */",
        "DO 1; DELETE FROM script_one.t;",
    ] {
        for session in ["", "one"] {
            // Twice, since a connection that has none of a session is made as new in between.
            for _ in 0..2 {
                let asked = json!({"sql": text, "session": session});
                let (status, body) = post(&mut client, "/api/query", asked);
                // The one with a backslash is one statement.
                assert!(status == 400 || text.contains("a\\'"), "{text}: {body}");
                assert_eq!(count(db, "SELECT COUNT(*) FROM script_one.t"), 3, "{text}");
            }
        }
    }
    let asked = json!({"sql": "SET sql_mode = 'NO_BACKSLASH_ESCAPES'", "session": "one"});
    post(&mut client, "/api/query", asked);
    let asked = json!({"sql": "SELECT 'a\\'; DELETE FROM script_one.t", "session": "one"});
    let (status, body) = post(&mut client, "/api/query", asked);
    assert_eq!(status, 400, "{body}");
    assert!(
        body["message"]
            .as_str()
            .unwrap()
            .contains("contains 2 statements"),
        "{body}"
    );
    assert_eq!(
        (&body["error"]["errno"], &body["error"]["sqlstate"]),
        (&json!(1064), &json!("42000")),
        "{body}"
    );
    assert_eq!(count(db, "SELECT COUNT(*) FROM script_one.t"), 3);
    // The server counts the statements within a piece that a delimiter marks.
    let text = "DELIMITER //\nINSERT INTO t (v) VALUES ('a'); INSERT INTO t (v) VALUES ('b')//\nDELIMITER ;\n\
        INSERT INTO t (v) VALUES ('c;d')";
    let (_, lines) = script(&mut client, "db=script_one", SQL, "two", text);
    assert_eq!(lines.last().unwrap()["failed"], 0, "{lines:?}");
    assert_eq!(count(db, "SELECT COUNT(*) FROM script_one.t"), 6);
}

#[test]
fn a_script_is_split_in_the_mode_that_its_session_has_at_that_statement() {
    let db = database("script_mode");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let text = "/*!40101 SET @OLD_SQL_MODE = @@SQL_MODE, SQL_MODE = 'NO_BACKSLASH_ESCAPES' */;\n\
        INSERT INTO t (v) VALUES ('a\\'); INSERT INTO t (v) VALUES ('b');\nSET SESSION sql_mode = 'ANSI_QUOTES';\n\
        INSERT INTO t (\"v\") VALUES ('c\\';'); SELECT 1 AS \"a\\\"; INSERT INTO t (v) VALUES ('d');\n\
        SET sql_mode = @OLD_SQL_MODE;\nINSERT INTO t (v) VALUES (\"e\\\";\");\nSET @m = 'SET sql_mode = ''ANSI_QUOTES''';\n\
        PREPARE s FROM @m; EXECUTE s; SELECT 1 AS \"a\\\"; INSERT INTO t (v) VALUES ('f')";
    let (_, lines) = script(
        &mut client,
        "db=script_mode&on_error=continue",
        SQL,
        "m",
        text,
    );
    assert_eq!(lines.last().unwrap()["failed"], 0, "{lines:?}");
    assert_eq!(count(db, "SELECT COUNT(*) FROM script_mode.t"), 9);
    // The next script begins in the mode that this one has left.
    let text = "SELECT 1 AS \"a\\\"; INSERT INTO t (v) VALUES ('g')";
    let (_, lines) = script(&mut client, "db=script_mode", SQL, "m", text);
    assert_eq!(lines.last().unwrap()["statements"], 2, "{lines:?}");
}

#[test]
fn nothing_behind_an_odd_text_is_left_out_and_what_did_not_run_is_counted() {
    let db = database("script_odd");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let text = "SELECT ?; SHOW TABLES\\G; prepare ? from x; source x; SELECT @; DELIMITER\nINSERT INTO t (v) VALUES ('a')";
    let (_, lines) = script(
        &mut client,
        "db=script_odd&on_error=continue",
        SQL,
        "s",
        text,
    );
    let end = lines.last().unwrap();
    assert_eq!(
        (&end["statements"], &end["not_run"]),
        (&json!(7), &json!(0)),
        "{lines:?}"
    );
    assert_eq!(count(db, "SELECT COUNT(*) FROM script_odd.t"), 4);
    let (_, lines) = script(&mut client, "db=script_odd", SQL, "s", text);
    let end = lines.last().unwrap();
    assert_eq!(
        (&end["statements"], &end["not_run"]),
        (&json!(1), &json!(6)),
        "{lines:?}"
    );
    // No piece of a program that is cut short runs, which is said.
    let text = "CREATE PROCEDURE p() BEGIN IF 1 THEN SELECT 1; DELETE FROM t; END; DELETE FROM t";
    let (_, lines) = script(
        &mut client,
        "db=script_odd&on_error=continue",
        SQL,
        "s",
        text,
    );
    let [failed, end] = &lines[..] else {
        panic!("{lines:?}");
    };
    assert_eq!((&end["failed"], &end["not_run"]), (&json!(1), &json!(3)));
    let message = failed["message"].as_str().unwrap();
    assert!(message.contains("has no END, so 3 more"), "{message}");
    assert!(!message.contains("as a script"), "{message}");
    assert_eq!(count(db, "SELECT COUNT(*) FROM script_odd.t"), 4);
}

/// Commands of the servers' consoles: each is a line, done where it can be, told where it has no use, and a failure where
/// what follows would miss it.
#[test]
fn commands_of_the_consoles_in_a_script() {
    let db = database("`script-console`");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let mut run = |query: &str, text: &str| {
        let (_, mut lines) = script(&mut client, query, SQL, "s", text);
        let end = lines.pop().expect("the line at the end");
        (lines, end)
    };
    let text = "use script-console\ntee out.txt\npager less\nINSERT INTO t (v) VALUES ('a')\\G\n\\W\nwarnings\ncharset latin1\n\\! touch x; \
        INSERT INTO t (v) VALUES (@@character_set_client)\\g\n\\u script-console\n\\d //\nINSERT INTO t (v) VALUES ('b')//\n\\C utf8mb4\n";
    let (lines, end) = run("on_error=stop", text);
    assert_eq!(
        (&end["failed"], &end["not_run"]),
        (&json!(0), &json!(0)),
        "{lines:?}"
    );
    let told = |word: &str| {
        let told = lines.iter().filter(|line| {
            line["warnings"][0]["message"]
                .as_str()
                .is_some_and(|text| text.starts_with(word))
        });
        told.count()
    };
    for word in ["tee: ", "pager: ", "\\W: ", "warnings: ", "\\!: "] {
        assert_eq!(told(word), 1, "{word} {lines:?}");
    }
    let new = "SELECT COUNT(*) FROM `script-console`.t WHERE v IN ('a', 'b', 'latin1')";
    assert_eq!(count(db, new), 3);
    // The other file is missing in what follows.
    for text in [
        "source other.sql\nDELETE FROM t;",
        "\\. other.sql\nDELETE FROM t;",
        "connect other\nDELETE FROM t",
    ] {
        let (lines, end) = run("db=script-console", text);
        assert_eq!(
            (&end["stopped"], &end["not_run"]),
            (&json!("failed"), &json!(1)),
            "{lines:?}"
        );
    }
    assert_eq!(count(db, new), 3);
    for text in [
        "SELECT 1;\nexit\nDELETE FROM t;",
        "SELECT 1;\n\\q\nDELETE FROM t",
        "SELECT 1; quit; DELETE FROM t",
    ] {
        let (lines, end) = run("db=script-console&on_error=continue", text);
        assert_eq!(
            (&end["stopped"], &end["not_run"]),
            (&json!("exit"), &json!(1)),
            "{lines:?}"
        );
        assert_eq!(end["failed"], 0);
    }
    assert_eq!(count(db, new), 3);
    // Names of columns, labels and topics of the server's own help are no commands.
    let text = "SELECT\nstatus, `use`\nFROM (SELECT 1 AS status, 2 AS `use`) x;\nHELP 'select';\nUSE\n`script-console`;";
    let (lines, end) = run("db=script-console", text);
    assert_eq!(
        (&end["statements"], &end["failed"]),
        (&json!(3), &json!(0)),
        "{lines:?}"
    );
}

#[test]
fn who_is_shared_with_does_not_lift_the_time_limit() {
    let db = database("script_hint");
    let asked = |client: &mut Client| {
        let sql = "SELECT /*+ MAX_EXECUTION_TIME(0) */ 1";
        post(client, "/api/query", json!({"sql": sql})).0
    };
    for owners in [&[][..], &["--readonly"]] {
        assert_eq!(asked(&mut Postern::on(db, owners).client()), 200);
    }
    let shared = Postern::on(db, &["--invisible"]);
    let path = shared.auth_url().unwrap().strip_prefix(shared.url());
    let mut visitor = shared.client();
    let signed_in = visitor.get(path.unwrap());
    visitor.set_cookie(&signed_in.cookie().unwrap());
    assert_eq!(asked(&mut visitor), 403);
}

/// Errors that servers say before they end a connection; a statement may signal any of them.
const LAST_WORDS: [u16; 11] = [
    1053, 1080, 1152, 1153, 1158, 1161, 1184, 1317, 1927, 3032, 4031,
];

#[test]
fn an_error_ends_no_session_by_its_number() {
    let db = database("script_signals");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let mut text = "SET @kept = 7; BEGIN; INSERT INTO t (v) VALUES ('open');\n".to_owned();
    for number in LAST_WORDS {
        text += &format!(
            "SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = {number}, MESSAGE_TEXT = 'mine';\n"
        );
    }
    text += "INSERT INTO t (v) VALUES (@kept); COMMIT";
    let query = "db=script_signals&on_error=continue";
    let (_, lines) = script(&mut client, query, SQL, "s", &text);
    for (line, number) in lines.iter().skip(3).zip(LAST_WORDS) {
        assert_eq!(
            (&line["code"], &line["error"]["errno"]),
            (&json!(400), &json!(number))
        );
        assert_eq!(line["in_transaction"], true, "{line}");
    }
    let end = lines.last().unwrap();
    assert_eq!(
        (&end["statements"], &end["stopped"]),
        (&json!(16), &Value::Null)
    );
    assert_eq!(
        count(
            db,
            "SELECT COUNT(*) FROM script_signals.t WHERE v IN ('7', 'open')"
        ),
        2
    );
    let one = json!({"sql": "SIGNAL SQLSTATE '08S01' SET MYSQL_ERRNO = 1053", "session": "s"});
    assert_eq!(post(&mut client, "/api/query", one).0, 400);
    let asked = json!({"sql": "SELECT @kept AS n", "session": "s"});
    assert_eq!(
        post(&mut client, "/api/query", asked).1["data"]["rows"][0]["n"],
        7
    );
}

#[test]
fn a_script_says_why_it_stopped_and_what_was_lost() {
    let db = database("script_reason");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let text = "SET @a = 1; CREATE TEMPORARY TABLE x (a INT); BEGIN; INSERT INTO t (v) VALUES ('gone');\n\
        KILL CONNECTION_ID();\nINSERT INTO t (v) VALUES ('never')";
    let query = "db=script_reason&on_error=continue";
    let (_, lines) = script(&mut client, query, SQL, "s", text);
    let (last, end) = (&lines[4], lines.last().unwrap());
    assert_eq!((lines.len(), &last["code"]), (6, &json!(502)), "{lines:?}");
    let told = last["message"].as_str().unwrap();
    assert!(
        told.contains("(it had: an open transaction, temporary tables, variables)"),
        "{told}"
    );
    assert_eq!(end["stopped"], "lost");
    let reason = end["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("stopped at statement 5 in line 2, which ended the connection"),
        "{reason}"
    );
    assert_eq!(
        count(
            db,
            "SELECT COUNT(*) FROM script_reason.t WHERE v IN ('gone', 'never')"
        ),
        0
    );
    let (_, lines) = script(&mut client, "", SQL, "s2", "SELECT 1;\nSELEC 2; SELECT 3");
    assert_eq!(lines[2]["stopped"], "failed");
    let reason = lines[2]["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("stopped at statement 2 in line 2, which failed: "),
        "{reason}"
    );
}

/// MySQL prepares no program, so that one goes over TLS as text: bytes that are none are refused, and not altered.
#[test]
fn a_program_with_bytes_that_are_no_text_is_whole_or_refused() {
    let db = database("script_program");
    let names = "SELECT CONCAT(ROUTINE_NAME, HEX(ROUTINE_DEFINITION)) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'script_program'";
    for tls in ["off", "prefer"] {
        let postern = Postern::on(db, &["--tls", tls]);
        let mut client = postern.client();
        let mut outcomes = Vec::new();
        for charset in ["latin1", "binary", "utf8mb4"] {
            let head = format!(
                "DROP PROCEDURE IF EXISTS p;\nSET NAMES {charset};\nCREATE PROCEDURE p() SELECT '"
            );
            let text = [head.as_bytes(), b"\xe9\xff';\n"].concat();
            let headers = [("Content-Type", SQL), ("Postern-Session", charset)];
            let path = "/api/script?db=script_program";
            let answer = client.send("POST", path, &headers, &text).text().to_owned();
            let is_refused = answer.contains("run this file with --tls off");
            assert_eq!(
                is_refused,
                db.column(names).is_empty(),
                "{charset}: {answer}"
            );
            outcomes.push(is_refused);
        }
        let over_tls = tls == "prefer" && db.kind() == Kind::MySql;
        assert_eq!(outcomes, [false, over_tls, over_tls], "{tls}");
    }
}

#[test]
fn a_script_is_bytes_and_its_session_says_what_they_mean() {
    let db = database("script_bytes");
    db.exec(
        "CREATE TABLE script_bytes.b (id INT PRIMARY KEY, b BLOB, l VARCHAR(20) CHARACTER SET latin1, u VARCHAR(20) CHARACTER SET utf8mb4); \
         CREATE TABLE script_bytes.g (g GEOMETRY)",
    );
    let all: Vec<u8> = (0..=255).collect();
    let mut quoted = Vec::new();
    for byte in &all {
        if matches!(byte, b'\'' | b'\\') {
            quoted.push(b'\\');
        }
        quoted.push(*byte);
    }
    let script = [
        &b"SET NAMES utf8mb4;\nINSERT INTO b (id, b) VALUES (1, _binary '"[..],
        &quoted,
        b"');\nSET NAMES latin1;\nINSERT INTO b (id, l, u) VALUES (2, '\xe9\x80\xff', '\xe9\x80\xff'), (3, '\xc3\xa9', '\xc3\xa9');\n\
        CREATE TABLE c (a INT COMMENT 'Gr\xf6\xdfe');\n\
        DELIMITER ;;\nCREATE PROCEDURE p() BEGIN SELECT 'Stra\xdfe' AS s; END ;;\nCREATE PROCEDURE q() BEGIN SELECT 1; END ;;\nDELIMITER ;\n\
        SET NAMES utf8mb4;\nINSERT INTO b (id, u) VALUES (4, '\xc3\xa9');\n",
    ]
    .concat();
    for args in [&[][..], &["--tls", "off"]] {
        db.exec("USE script_bytes; DELETE FROM b; DROP TABLE IF EXISTS c; DROP PROCEDURE IF EXISTS p; DROP PROCEDURE IF EXISTS q");
        let postern = Postern::on(db, args);
        let mut client = postern.client();
        let headers = [("Content-Type", SQL), ("Postern-Session", "s")];
        let answer = client.send(
            "POST",
            "/api/script?db=script_bytes&on_error=continue",
            &headers,
            &script,
        );
        let text = answer.text();
        assert!(text.contains("\"failed\":0"), "{args:?}: {text}");
        assert_eq!(
            db.value("SELECT HEX(b) FROM script_bytes.b WHERE id = 1"),
            all.iter().map(|b| format!("{b:02X}")).collect::<String>()
        );
        let hex = |id: u8, column: &str| {
            db.value(&format!(
                "SELECT HEX({column}) FROM script_bytes.b WHERE id = {id}"
            ))
        };
        assert_eq!(
            (hex(2, "l"), hex(2, "u")),
            ("E980FF".into(), "C3A9E282ACC3BF".into())
        );
        assert_eq!(
            (hex(3, "l"), hex(3, "u")),
            ("C3A9".into(), "C383C2A9".into())
        );
        assert_eq!(hex(4, "u"), "C3A9");
        let body = json!({"sql": "CALL p()", "db": "script_bytes", "session": "s"});
        assert_eq!(
            post(&mut client, "/api/query", body).1["data"]["rows"][0]["s"],
            "Straße"
        );
        let comment = db.value("SELECT HEX(COLUMN_COMMENT) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'script_bytes' AND TABLE_NAME = 'c'");
        assert!(
            comment.ends_with("C39F65") || comment.ends_with("DF65"),
            "{comment}"
        );
    }
    let shared = Postern::on(db, &["--readonly"]);
    let answer = shared.client().send(
        "POST",
        "/api/script",
        &[("Content-Type", SQL)],
        b"SELECT '\xff'",
    );
    assert!(
        answer.text().contains("is not UTF-8 was refused"),
        "{}",
        answer.text()
    );
}

/// A body costs no memory before it is read, of any declared length.
#[test]
fn a_script_that_stops_early_leaves_a_length_of_any_size_unread() {
    let db = database("script_length");
    let mut postern = Postern::on(db, &["--readonly"]);
    let authority = postern.authority().to_owned();
    for path in ["/api/script", "/api/script?on_error=stop", "/api/edit"] {
        let mut client = TcpStream::connect(&authority).unwrap();
        client.set_read_timeout(Some(SOON)).unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {authority}\r\nOrigin: http://{authority}\r\nContent-Type: {SQL}\r\n\
             Content-Length: 1000000000000000\r\n\r\nSELECT nonsense;\nSELECT 1;\n"
        );
        client.write_all(head.as_bytes()).unwrap();
        // It matters little if all of that is taken.
        let _ = client.write_all("-- more\n".repeat(1_000_000).as_bytes());
        let mut begin = [0; 9];
        client.read_exact(&mut begin).unwrap();
        assert_eq!(&begin, b"HTTP/1.1 ", "{path}");
        drop(client);
        let (status, _) = script(&mut postern.client(), "", SQL, "s1", "SELECT 1");
        assert_eq!(status, 200, "{path}");
        assert!(postern.alive(), "{path}: {}", postern.stderr());
    }
}
