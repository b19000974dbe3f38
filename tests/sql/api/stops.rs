//! Stopping a statement, and limits for statements.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{SOON, count, database, post};
use support::database::{Database, PASSWORD};
use support::postern::Postern;
use support::{assert_within, wait_until};

#[test]
fn cancel_stops_the_statement_on_the_server() {
    let db = database("api_cancel");
    let postern = Postern::on(db, &[]);
    let mut other = postern.client();
    let started = Instant::now();
    let waiting = std::thread::spawn(move || {
        post(
            &mut other,
            "/api/query",
            json!({"sql": "SELECT SUM(SLEEP(60)) AS cancel_me FROM api_cancel.t", "query_id": "q1"}),
        )
    });
    wait_until(SOON, "the statement runs", || db.running("cancel_me") == 1);
    let mut client = postern.client();
    let (status, body) = post(
        &mut client,
        "/api/query",
        json!({"sql": "SELECT 1", "query_id": "q1"}),
    );
    assert_eq!(status, 409, "{body}");
    assert_eq!(
        post(&mut client, "/api/cancel", json!({"query_id": "other"})).0,
        404
    );
    assert_eq!(
        post(&mut client, "/api/cancel", json!({"query_id": "q1"})).0,
        200
    );
    let (status, body) = waiting.join().unwrap();
    assert_eq!(status, 400);
    assert_eq!(body["error"], json!({"errno": 1317, "sqlstate": "70100"}));
    assert!(
        body["message"].as_str().unwrap().contains("cancelled"),
        "{body}"
    );
    assert_within(started, Duration::from_secs(10));
    // The server takes it off its list a moment after it has answered.
    wait_until(SOON, "the server has ended it", || {
        db.running("cancel_me") == 0
    });
    assert_eq!(
        post(&mut client, "/api/cancel", json!({"query_id": "q1"})).0,
        404
    );
}

/// The second connection of a cancel is refused, so the statement's own is cut, and the answer says so.
#[test]
fn a_cancel_at_the_limit_of_the_account_cuts_the_connection() {
    let db = database("api_cancel_limit");
    db.exec(&format!(
        "CREATE USER api_two@'%' IDENTIFIED BY '{PASSWORD}' WITH MAX_USER_CONNECTIONS 2; \
         GRANT SELECT ON api_cancel_limit.* TO api_two@'%'"
    ));
    let target = db.target();
    let args = [&target, "--db-user", "api_two", "--db-pass", PASSWORD];
    let postern = Postern::start(&args, &[]);
    let mut client = postern.client();
    assert_eq!(client.get("/api/databases").status(), 200);
    let mut other = postern.client();
    let sql = "SELECT SUM(SLEEP(60)) AS at_limit FROM api_cancel_limit.t";
    let body = json!({"sql": sql, "session": "a", "query_id": "q1"});
    let waiting = std::thread::spawn(move || post(&mut other, "/api/query", body));
    wait_until(SOON, "the statement runs", || db.running("at_limit") == 1);
    let asked = Instant::now();
    let (status, _) = post(&mut client, "/api/cancel", json!({"query_id": "q1"}));
    assert_eq!(status, 200);
    let (status, body) = waiting.join().unwrap();
    assert_within(asked, Duration::from_secs(20));
    assert_eq!(status, 502, "{body}");
    let message = body["message"].as_str().unwrap();
    assert!(message.contains("may still run"), "{message}");
}

#[test]
fn a_client_that_leaves_ends_its_statement() {
    let db = database("api_leave");
    let postern = Postern::on(db, &[]);
    // A silent statement, and one in the middle of its rows.
    let silent = json!({"sql": "SELECT SLEEP(60) AS leave_me"});
    let mut connection = support::http::Conn::open(postern.authority()).unwrap();
    let body = silent.to_string();
    let head = format!(
        "POST /api/query HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        postern.authority(),
        body.len()
    );
    connection.send_raw(head.as_bytes()).unwrap();
    wait_until(SOON, "the statement runs", || db.running("leave_me") == 1);
    drop(connection);
    wait_until(SOON, "the silent statement was stopped", || {
        db.running("leave_me") == 0
    });

    let rows = db.numbers(10_000);
    let sql = format!("SELECT REPEAT('x', 1000) AS leave_rows, a.seq FROM {rows} a, {rows} b");
    let stream = postern
        .client()
        .post_stream("/api/query", &json!({"sql": sql, "db": "api_leave"}));
    wait_until(SOON, "the rows flow", || db.running("leave_rows") == 1);
    stream.abandon();
    wait_until(SOON, "the flowing statement was stopped", || {
        db.running("leave_rows") == 0
    });
    assert!(
        postern.peak_rss_kib() < 40_000,
        "{} KiB",
        postern.peak_rss_kib()
    );
}

#[test]
fn the_time_limit_ends_a_statement() {
    let db = database("api_timeout");
    let postern = Postern::on(db, &["--query-timeout", "1"]);
    let (status, body) = post(
        &mut postern.client(),
        "/api/query",
        json!({"sql": format!("SELECT SUM(SLEEP(30)) AS limit_me FROM {}", db.numbers(5)), "db": "api_timeout"}),
    );
    assert_eq!(status, 504, "{body}");
    assert!(
        body["message"]
            .as_str()
            .unwrap()
            .contains("--query-timeout"),
        "{body}"
    );
    assert_eq!(db.running("limit_me"), 0);
}

#[test]
fn connections_are_capped_and_light_requests_answered_at_once() {
    let db = Database::start(support::database::Options::default());
    let postern = Postern::on(&db, &[]);
    let sleepers: Vec<_> = (0..32)
        .map(|i| {
            let mut client = postern.client();
            let sql = format!("SELECT SUM(SLEEP(60)) AS capped FROM {}", db.numbers(5));
            std::thread::spawn(move || {
                let body = json!({"sql": sql, "db": "mysql", "query_id": i.to_string()});
                post(&mut client, "/api/query", body).0
            })
        })
        .collect();
    wait_until(Duration::from_secs(20), "all run", || {
        db.running("capped") == 32
    });
    let mut client = postern.client();
    let (status, body) = post(&mut client, "/api/query", json!({"sql": "SELECT 1"}));
    assert_eq!(status, 429, "{body}");
    assert!(body["message"].as_str().unwrap().contains("32"), "{body}");
    let started = Instant::now();
    assert_eq!(client.get("/api/info").status(), 200);
    assert_within(started, Duration::from_millis(500));
    for i in 0..32 {
        assert_eq!(
            post(
                &mut client,
                "/api/cancel",
                json!({"query_id": i.to_string()})
            )
            .0,
            200
        );
    }
    for sleeper in sleepers {
        assert_eq!(sleeper.join().unwrap(), 400);
    }
    assert_eq!(
        post(&mut client, "/api/query", json!({"sql": "SELECT 1"})).0,
        200
    );
}

#[test]
fn a_clean_end_within_two_seconds() {
    let db = database("api_end");
    const STATEMENTS: usize = 32;
    let mut postern = Postern::on(db, &[]);
    for _ in 0..STATEMENTS {
        let mut client = postern.client();
        let _waiting = std::thread::spawn(move || {
            let _ = client.try_send(
                "POST",
                "/api/query",
                &[("Content-Type", "application/json")],
                br#"{"sql":"SELECT SLEEP(60) AS end_me"}"#,
            );
        });
    }
    wait_until(SOON, "the statements run", || {
        db.running("end_me") == STATEMENTS
    });
    let started = Instant::now();
    let status = postern.stop().expect("it ends by itself");
    assert_eq!(status.code(), Some(0));
    assert_within(started, Duration::from_secs(2));
    wait_until(SOON, "nothing is left on the server", || {
        db.running("end_me") == 0
    });
}

#[test]
fn a_killed_statement_that_the_server_calls_a_success_is_told_apart() {
    let db = database("api_killed");
    let postern = Postern::on(db, &[]);
    let mut other = postern.client();
    let waiting = std::thread::spawn(move || {
        let sql = "SELECT BENCHMARK(2000000000, SHA2('kill_bench', 256)) AS b";
        post(
            &mut other,
            "/api/query",
            json!({"sql": sql, "query_id": "b"}),
        )
    });
    wait_until(SOON, "the statement runs", || db.running("kill_bench") == 1);
    let mut client = postern.client();
    assert_eq!(
        post(&mut client, "/api/cancel", json!({"query_id": "b"})).0,
        200
    );
    let (status, body) = waiting.join().unwrap();
    let noted = body["data"]["warnings"]
        .to_string()
        .contains("told to stop");
    assert!(status == 400 || noted, "{body}");
}

/// A server that does not obey: the procedure runs as an account that ours must not kill. It sleeps for a minute at most.
fn disobedient(name: &str, more: &[&str]) -> (&'static Database, Postern) {
    let db = database(name);
    db.exec(&format!(
        "CREATE USER {name}@'%' IDENTIFIED BY 'ordinary'; GRANT ALL ON {name}.* TO {name}@'%'; \
         CREATE PROCEDURE {name}.p() BEGIN DECLARE i INT DEFAULT 0; \
         WHILE i < 600 DO DO SLEEP(0.1); SET i = i + 1; END WHILE; END"
    ));
    let target = db.target();
    let mut args = vec![target.as_str(), "--db-user", name, "--db-pass", "ordinary"];
    args.extend(more);
    (db, Postern::start(&args, &[]))
}

/// Ends what the tests of this have left running.
fn end_all_of(db: &Database, name: &str) {
    let open = format!("SELECT ID FROM information_schema.PROCESSLIST WHERE DB = '{name}'");
    for id in db.column(&open) {
        db.exec(&format!("KILL {id}"));
    }
}

#[test]
fn a_session_cut_after_a_cancel_that_nobody_waited_for_tells_its_next_statement() {
    let name = "api_disobeyed";
    let (db, postern) = disobedient(name, &[]);
    let mut client = postern.client();
    let in_session = |sql: &str| json!({"sql": sql, "db": name, "session": "tab"});
    let mut run = |sql: &str| post(&mut client, "/api/query", in_session(sql));
    assert_eq!(run("BEGIN").0, 200);
    assert_eq!(run("UPDATE t SET v = 'mine'").0, 200);
    let body =
        json!({"sql": "CALL p()", "db": name, "session": "tab", "query_id": "q"}).to_string();
    let mut connection = support::http::Conn::open(postern.authority()).unwrap();
    let head = format!(
        "POST /api/query HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        postern.authority(),
        body.len()
    );
    connection.send_raw(head.as_bytes()).unwrap();
    let runs = format!(
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = '{name}' AND INFO LIKE '%SLEEP(0.1)%'"
    );
    wait_until(SOON, "the procedure runs", || count(db, &runs) == 1);
    let (status, _) = post(
        &mut postern.client(),
        "/api/cancel",
        json!({"query_id": "q"}),
    );
    assert_eq!(status, 200);
    drop(connection);
    let (status, told) = run("UPDATE t SET v = 'alone'");
    assert_eq!(status, 502, "{told}");
    let message = told["message"].as_str().unwrap();
    assert!(message.contains("nothing was run"), "{message}");
    assert!(message.contains("transaction"), "{message}");
    assert_eq!(run("SELECT 1").0, 200, "it is told once");
    assert_eq!(
        count(
            db,
            &format!("SELECT COUNT(*) FROM {name}.t WHERE v = 'alone'")
        ),
        0
    );
    end_all_of(db, name);
}

#[test]
fn a_server_that_does_not_obey_is_not_said_to_have_stopped() {
    let name = "api_goes_on";
    let (db, postern) = disobedient(name, &["--query-timeout", "1"]);
    let body = json!({"sql": "CALL p()", "db": name, "session": "tab"});
    let (status, told): (u16, Value) = post(&mut postern.client(), "/api/query", body);
    assert_eq!(status, 502, "{told}");
    let message = told["message"].as_str().unwrap();
    for part in [
        "could not be stopped",
        "--query-timeout",
        "was closed",
        "may still run",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert!(!message.contains("was stopped"), "{message}");
    end_all_of(db, name);
}
