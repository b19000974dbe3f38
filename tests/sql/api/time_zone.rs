//! `time_zone`: an offset that a statement runs with, whatever the session has.

use serde_json::{Value, json};

use super::post;
use support::database::Database;
use support::postern::Postern;

const ASK: &str = "SELECT @@session.time_zone AS zone, FROM_UNIXTIME(86400) AS epoch";

/// What a statement says of its time zone.
fn asked(postern: &Postern, session: &str, zone: Value) -> Value {
    let body = json!({"sql": ASK, "session": session, "time_zone": zone});
    let (status, answer) = post(&mut postern.client(), "/api/query", body);
    assert_eq!(status, 200, "{answer}");
    answer["data"]["rows"][0].clone()
}

fn test_mode(arguments: &[&str]) {
    let db = Database::shared();
    let postern = Postern::on(db, arguments);
    let own = asked(&postern, "tab", Value::Null);
    for session in ["", "tab"] {
        for (zone, epoch) in [
            ("+02:00", "1970-01-02 02:00:00"),
            ("-09:30", "1970-01-01 14:30:00"),
        ] {
            let there = asked(&postern, session, json!(zone));
            assert_eq!(there, json!({"zone": zone, "epoch": epoch}));
        }
        assert_eq!(asked(&postern, session, Value::Null), own, "given back");
    }
    let failing =
        json!({"sql": "SELECT * FROM mysql.nowhere", "session": "tab", "time_zone": "+05:00"});
    let answer = post(&mut postern.client(), "/api/query", failing);
    assert_eq!(answer.1["error"]["errno"], 1146);
    assert_eq!(asked(&postern, "tab", Value::Null), own);
    for bad in [
        json!("Europe/Berlin"),
        json!("+2:00"),
        json!("+14:01"),
        json!("+02:00', @x = '1"),
        json!(2),
    ] {
        let body = json!({"sql": ASK, "time_zone": bad});
        let (status, answer) = post(&mut postern.client(), "/api/query", body);
        assert_eq!(status, 400, "{answer}");
        assert!(answer["message"].as_str().unwrap().contains("'time_zone'"));
    }
}

#[test]
fn a_statement_runs_with_the_offset_it_asks_for_and_the_session_keeps_its_own() {
    test_mode(&[]);
    let postern = Postern::on(Database::shared(), &[]);
    let set = json!({"sql": "SET time_zone = '+01:00'", "session": "mine"});
    assert_eq!(post(&mut postern.client(), "/api/query", set).0, 200);
    assert_eq!(asked(&postern, "mine", json!("+07:00"))["zone"], "+07:00");
    assert_eq!(asked(&postern, "mine", Value::Null)["zone"], "+01:00");
}

#[test]
fn a_read_only_statement_runs_with_the_offset_it_asks_for() {
    test_mode(&["--readonly"]);
}
