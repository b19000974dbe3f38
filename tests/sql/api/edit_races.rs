//! Edits that meet other transactions, and such as are broken off.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use serde_json::{Value, json};

use super::edit::{edit, made};
use super::{SOON, post};
use support::database::{Database, PASSWORD, USER};
use support::postern::Postern;
use support::{assert_within, wait_until};

const TABLE: &str =
    "CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)";

fn set(id: u8, old: u8, new: u8) -> Value {
    json!({"op": "update", "key": {"id": id}, "old": {"v": old}, "new": {"v": new}})
}

/// The table as it is to everybody.
fn values(db: &Database, name: &str) -> Vec<String> {
    db.column(&format!("SELECT v FROM {name}.t ORDER BY id"))
}

/// Begins an edit on a thread of its own.
fn editing(postern: &Postern, body: Value) -> std::thread::JoinHandle<(u16, Value)> {
    let mut client = postern.client();
    std::thread::spawn(move || post(&mut client, "/api/edit", body))
}

#[test]
fn a_locked_row_is_named_after_some_seconds() {
    let db = made("edit_locked", TABLE);
    let postern = Postern::on(db, &[]);
    let mut other = db.conn();
    other.query_drop("BEGIN").unwrap();
    other
        .query_drop("UPDATE edit_locked.t SET v = 20 WHERE id = 2")
        .unwrap();
    let started = Instant::now();
    let (status, answer) = edit(
        &postern,
        "edit_locked",
        "t",
        json!([set(1, 1, 9), set(2, 2, 9)]),
    );
    assert_eq!(status, 409, "{answer}");
    let error = &answer["error"];
    assert_eq!(
        (&error["kind"], &error["change"], &error["errno"]),
        (&json!("locked"), &json!(1), &json!(1205))
    );
    let message = answer["message"].as_str().unwrap();
    assert!(
        message.contains("id = 2") && message.ends_with("nothing was written"),
        "{message}"
    );
    assert_within(started, Duration::from_secs(15));
    let waiting = editing(
        &postern,
        json!({"db": "edit_locked", "table": "t", "changes": [set(1, 1, 9), set(2, 2, 9)]}),
    );
    wait_until(SOON, "it waits", || {
        db.running("FROM `edit_locked`.`t` WHERE `id` = 2") == 1
    });
    other.query_drop("COMMIT").unwrap();
    let (status, answer) = waiting.join().unwrap();
    assert_eq!(
        (status, &answer["error"]["row"]),
        (409, &json!({"id": 2, "v": 20})),
        "{answer}"
    );
    assert_eq!(values(db, "edit_locked"), ["1", "20", "3"]);
}

#[test]
fn of_two_that_wait_for_each_other_one_ends_and_says_so() {
    let db = made("edit_deadlock", TABLE);
    // The server ends the one that has written less.
    db.exec("CREATE TABLE edit_deadlock.heavy AS SELECT 1 AS a UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5");
    let postern = Postern::on(db, &[]);
    let mut other = db.conn();
    other.query_drop("BEGIN").unwrap();
    other
        .query_drop("UPDATE edit_deadlock.heavy SET a = a + 1")
        .unwrap();
    other
        .query_drop("UPDATE edit_deadlock.t SET v = 20 WHERE id = 2")
        .unwrap();
    let waiting = editing(
        &postern,
        json!({"db": "edit_deadlock", "table": "t", "changes": [set(1, 1, 9), set(2, 2, 9)]}),
    );
    wait_until(SOON, "it waits", || {
        db.running("FROM `edit_deadlock`.`t` WHERE `id` = 2") == 1
    });
    other
        .query_drop("UPDATE edit_deadlock.t SET v = 10 WHERE id = 1")
        .unwrap();
    let (status, answer) = waiting.join().unwrap();
    assert_eq!(
        (status, &answer["error"]["kind"]),
        (409, &json!("deadlock")),
        "{answer}"
    );
    assert!(
        answer["message"]
            .as_str()
            .unwrap()
            .ends_with("nothing was written"),
        "{answer}"
    );
    other.query_drop("ROLLBACK").unwrap();
    assert_eq!(values(db, "edit_deadlock"), ["1", "2", "3"]);
}

#[test]
fn of_many_edits_of_one_value_exactly_one_is_written() {
    let db = made("edit_once", TABLE);
    let posterns: Vec<Postern> = (0..4).map(|_| Postern::on(db, &[])).collect();
    for round in 1..6_u8 {
        let body = json!({"db": "edit_once", "table": "t", "changes": [set(1, round, round + 1), set(3, round + 2, round + 3)]});
        let all: Vec<_> = posterns
            .iter()
            .map(|postern| editing(postern, body.clone()))
            .collect();
        let statuses: Vec<u16> = all.into_iter().map(|one| one.join().unwrap().0).collect();
        assert_eq!(
            statuses.iter().filter(|status| **status == 200).count(),
            1,
            "{statuses:?}"
        );
        assert!(
            statuses.iter().all(|status| [200, 409].contains(status)),
            "{statuses:?}"
        );
    }
    assert_eq!(values(db, "edit_once"), ["6", "2", "8"]);
}

#[test]
fn an_edit_that_is_cancelled_or_left_writes_nothing() {
    let db = made("edit_left", TABLE);
    // A trigger that takes its time, at the second row.
    db.exec("CREATE TRIGGER edit_left.slow BEFORE UPDATE ON edit_left.t FOR EACH ROW SET NEW.v = IF(NEW.id = 2, NEW.v + SLEEP(30), NEW.v)");
    let postern = Postern::on(db, &[]);
    let body = json!({"db": "edit_left", "table": "t", "query_id": "edit", "changes": [set(1, 1, 9), set(2, 2, 9)]});
    let runs = || db.running("UPDATE `edit_left`");
    let waiting = editing(&postern, body.clone());
    wait_until(SOON, "it runs", || runs() == 1);
    let (status, answer) = edit(&postern, "edit_left", "t", json!([set(3, 3, 9)]));
    assert_eq!(status, 409, "{answer}");
    assert!(
        answer["message"]
            .as_str()
            .unwrap()
            .contains("another edit of yours"),
        "{answer}"
    );
    let review =
        json!({"db": "edit_left", "table": "t", "review": true, "changes": [set(3, 3, 9)]});
    assert_eq!(post(&mut postern.client(), "/api/edit", review).0, 200);
    let cancelled = post(
        &mut postern.client(),
        "/api/cancel",
        json!({"query_id": "edit"}),
    );
    assert_eq!(cancelled.0, 200);
    let (status, answer) = waiting.join().unwrap();
    assert_eq!(
        (status, &answer["error"]["kind"]),
        (400, &json!("stopped")),
        "{answer}"
    );
    assert!(
        answer["message"]
            .as_str()
            .unwrap()
            .ends_with("nothing was written"),
        "{answer}"
    );
    assert_eq!(values(db, "edit_left"), ["1", "2", "3"]);

    let mut connection = support::http::Conn::open(postern.authority()).unwrap();
    let text = body.to_string();
    let head = format!(
        "POST /api/edit HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{text}",
        postern.authority(),
        text.len()
    );
    connection.send_raw(head.as_bytes()).unwrap();
    wait_until(SOON, "it runs", || runs() == 1);
    drop(connection);
    wait_until(SOON, "it was stopped", || runs() == 0);
    db.exec("DROP TRIGGER edit_left.slow");
    assert_eq!(values(db, "edit_left"), ["1", "2", "3"]);
    wait_until(SOON, "the next is let in", || {
        edit(&postern, "edit_left", "t", json!([set(3, 3, 9)])).0 == 200
    });
    assert_eq!(values(db, "edit_left"), ["1", "2", "9"]);
}

#[test]
fn an_edit_is_ended_at_the_time_limit() {
    let db = made("edit_late", TABLE);
    db.exec("CREATE TRIGGER edit_late.slow BEFORE UPDATE ON edit_late.t FOR EACH ROW SET NEW.v = NEW.v + SLEEP(30)");
    let postern = Postern::on(db, &["--query-timeout", "1s"]);
    let (status, answer) = edit(&postern, "edit_late", "t", json!([set(1, 1, 9)]));
    assert_eq!(
        (status, &answer["error"]["kind"]),
        (504, &json!("stopped")),
        "{answer}"
    );
    assert_eq!(values(db, "edit_late"), ["1", "2", "3"]);
}

/// Forwards to the server, and cuts the connection when a client says `word`: before it is passed on, or behind it.
fn cutting(target: String, word: &'static str, passes_it: bool, cuts: Arc<AtomicUsize>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let server = TcpStream::connect(&target).unwrap();
            let (mut from_server, mut to_client) =
                (server.try_clone().unwrap(), client.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut from_server, &mut to_client));
            let (mut client, mut server, cuts) = (client, server, cuts.clone());
            std::thread::spawn(move || {
                let mut buffer = [0; 64 << 10];
                while let Ok(n @ 1..) = client.read(&mut buffer) {
                    let is_it = buffer[..n]
                        .windows(word.len())
                        .any(|part| part == word.as_bytes());
                    if is_it {
                        cuts.fetch_add(1, Ordering::SeqCst);
                        // Nothing comes back.
                        let _ = client.shutdown(Shutdown::Both);
                    }
                    if !is_it || passes_it {
                        let _ = server.write_all(&buffer[..n]);
                    }
                    if is_it {
                        break;
                    }
                }
                std::thread::sleep(Duration::from_millis(500));
                let _ = server.shutdown(Shutdown::Both);
            });
        }
    });
    address
}

fn through(proxy: &str) -> Postern {
    Postern::start(
        &[
            proxy,
            "--db-user",
            USER,
            "--db-pass",
            PASSWORD,
            "--tls",
            "off",
        ],
        &[],
    )
}

#[test]
fn a_connection_lost_at_the_commit_leaves_the_outcome_open() {
    let db = made("edit_commit", TABLE);
    for passes_it in [false, true] {
        let cuts = Arc::new(AtomicUsize::new(0));
        let postern = through(&cutting(db.target(), "COMMIT", passes_it, cuts.clone()));
        let (status, answer) = edit(&postern, "edit_commit", "t", json!([set(1, 1, 9)]));
        assert_eq!(
            (status, &answer["error"]["kind"]),
            (502, &json!("unknown")),
            "{answer}"
        );
        assert!(
            answer["message"].as_str().unwrap().contains("unknown"),
            "{answer}"
        );
        let after = if passes_it { "9" } else { "1" };
        // Waits for the transaction's end.
        let now = db.value("SELECT v FROM edit_commit.t WHERE id = 1 FOR UPDATE");
        assert_eq!(now, after);
        assert_eq!(cuts.load(Ordering::SeqCst), 1, "nothing is said twice");
    }
}

#[test]
fn a_connection_lost_before_the_commit_has_written_nothing() {
    let db = made("edit_lost", TABLE);
    let cuts = Arc::new(AtomicUsize::new(0));
    let postern = through(&cutting(
        db.target(),
        "UPDATE `edit_lost`",
        true,
        cuts.clone(),
    ));
    let (status, answer) = edit(&postern, "edit_lost", "t", json!([set(1, 1, 9)]));
    assert_eq!(
        (status, &answer["error"]["kind"]),
        (502, &json!("server")),
        "{answer}"
    );
    assert!(
        answer["message"]
            .as_str()
            .unwrap()
            .ends_with("nothing was written"),
        "{answer}"
    );
    assert_eq!(
        db.value("SELECT v FROM edit_lost.t WHERE id = 1 FOR UPDATE"),
        "1"
    );
    assert_eq!(values(db, "edit_lost"), ["1", "2", "3"]);
    db.exec("ALTER TABLE edit_lost.t ENGINE = MyISAM");
    let (status, answer) = edit(&postern, "edit_lost", "t", json!([set(1, 1, 9)]));
    assert_eq!(
        (status, &answer["error"]["kind"]),
        (502, &json!("unknown")),
        "{answer}"
    );
    assert_eq!(cuts.load(Ordering::SeqCst), 2);
}
