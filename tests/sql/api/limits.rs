//! Limits for abandoned connections and for the memory of large rows.

use serde_json::json;

use super::{database, post};
use support::database::{Database, Kind};
use support::http::{Client, Conn};
use support::postern::Postern;
use support::{TIMEOUT, wait_until};

/// A file that the server opens and then waits for, deaf to `KILL`, until somebody writes to it.
struct Trap(std::path::PathBuf);

impl Trap {
    fn set(db: &Database, name: &str) -> Trap {
        let path = db.data_dir().join(name);
        let made = std::process::Command::new("mkfifo")
            .args(["-m", "644"])
            .arg(&path)
            .status();
        assert!(made.unwrap().success());
        Trap(path)
    }

    fn release(&self) {
        std::fs::write(&self.0, "x").unwrap();
    }
}

/// Threads of the program that are at work for a request.
fn at_work(postern: &Postern) -> usize {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", postern.pid())).unwrap();
    let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm"));
    tasks
        .filter_map(|task| name(task.ok()?).ok())
        .filter(|name| name.trim() == "sql")
        .count()
}

#[test]
fn a_statement_that_ignores_kill_keeps_its_place_under_the_cap() {
    let db = Database::start(support::database::Options::default());
    let trap = Trap::set(&db, "trap");
    let postern = Postern::on(&db, &[]);
    let mut client = postern.client();
    for session in 0..31 {
        let body = json!({"sql": "SET @held = 1", "session": session.to_string()});
        assert_eq!(post(&mut client, "/api/query", body).0, 200);
    }
    let sql = format!("SELECT LOAD_FILE('{}') AS deaf", trap.0.display());
    let body = json!({"sql": sql}).to_string();
    let mut leaving = Conn::open(postern.authority()).unwrap();
    let head = format!(
        "POST /api/query HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        postern.authority(),
        body.len()
    );
    leaving.send_raw(head.as_bytes()).unwrap();
    wait_until(TIMEOUT, "the statement runs", || db.running("AS deaf") == 1);
    drop(leaving);
    wait_until(TIMEOUT, "its request has ended", || at_work(&postern) == 0);
    let mut one_more = || post(&mut client, "/api/query", json!({"sql": "SELECT 1"}));
    let (status, body) = one_more();
    assert_eq!(db.running("AS deaf"), 1, "the server is still at it");
    assert_eq!(status, 429, "{body}");
    trap.release();
    wait_until(TIMEOUT, "the server has done", || {
        db.running("AS deaf") == 0
    });
    wait_until(TIMEOUT, "the place is free", || one_more().0 == 200);
}

#[test]
fn large_rows_share_one_budget() {
    let db = database("api_budget");
    db.exec("SET GLOBAL max_allowed_packet = 67108864");
    let postern = Postern::on(db, &["--invisible"]);
    let path = postern.auth_url().unwrap().strip_prefix(postern.url());
    let visitor = || {
        let mut client = postern.client();
        let entered = client.get(path.unwrap());
        client.set_cookie(&entered.cookie().unwrap());
        client
    };
    // Rows of 60 MiB: two of one visitor, and four of all, are in flight at once.
    let sql = "SELECT REPEAT('x', 62914560) AS a";
    let body = json!({"sql": sql, "db": "api_budget"});
    let refused = |client: &mut Client| {
        let (status, told) = post(client, "/api/query", body.clone());
        assert_eq!(status, 503, "{}", &told.to_string()[..200]);
        let message = told["message"].as_str().unwrap();
        assert!(message.contains("256 MiB"), "{message}");
    };
    let mut greedy = visitor();
    let mut unread: Vec<_> = (0..2)
        .map(|_| greedy.post_stream("/api/query", &body))
        .collect();
    refused(&mut greedy);
    let mut other = visitor();
    unread.extend((0..2).map(|_| other.post_stream("/api/query", &body)));
    refused(&mut visitor());
    let small = greedy.query_ok("api_budget", "SELECT 1 AS x");
    assert_eq!(small["rows"][0]["x"], 1);
    for stream in unread {
        stream.abandon();
    }
}

/// It is read to its end, whoever reads its rows.
#[test]
fn what_wrote_and_could_not_be_shown_is_to_be_checked() {
    let db = database("api_unshown");
    db.exec("SET GLOBAL max_allowed_packet = 67108864");
    let postern = Postern::on(db, &[]);
    let wide = "REPEAT('x', 62914560) AS a, REPEAT('y', 62914560) AS b";
    let body = json!({"sql": format!("SELECT {wide}"), "db": "api_unshown"});
    let unread = postern.client().post_stream("/api/query", &body);
    db.exec(&format!(
        "CREATE PROCEDURE api_unshown.p() BEGIN INSERT INTO t (v) VALUES ('written'); SELECT {wide}; END"
    ));
    let sql = match db.kind() {
        Kind::MariaDb => format!("INSERT INTO t (v) VALUES ('written') RETURNING {wide}"),
        Kind::MySql => "CALL p()".to_owned(),
    };
    let body = json!({"sql": sql, "db": "api_unshown"});
    let (status, told) = post(&mut postern.client(), "/api/query", body);
    assert_eq!(status, 500, "{}", &told.to_string()[..200]);
    let message = told["message"].as_str().unwrap();
    assert!(
        message.contains("check whether it took effect"),
        "{message}"
    );
    assert_eq!(db.value("SELECT COUNT(*) FROM api_unshown.t"), "4");
    unread.abandon();
}

#[test]
fn a_row_is_smaller_where_visitors_may_be_many() {
    let db = database("api_shared_row");
    db.exec("SET GLOBAL max_allowed_packet = 67108864");
    let postern = Postern::on(db, &["--readonly"]);
    let sql = "SELECT REPEAT('x', 41943040) AS a, REPEAT('y', 41943040) AS b";
    let (status, body) = post(&mut postern.client(), "/api/query", json!({"sql": sql}));
    assert_eq!(status, 502);
    let message = body["message"].as_str().unwrap();
    assert!(message.contains("64 MiB"), "{message}");
}
