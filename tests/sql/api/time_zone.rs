//! `time_zone`: an offset that a statement runs with, whatever the session has.

use serde_json::{Value, json};

use super::post;
use support::database::{Database, Options};
use support::postern::Postern;

const ASK: &str = "SELECT @@session.time_zone AS zone, FROM_UNIXTIME(86400) AS epoch";

/// Time zone of a statement.
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

fn edit(postern: &Postern, change: Value) -> (u16, Value) {
    let body = json!({"db": "zones", "table": "t", "changes": [change]});
    post(&mut postern.client(), "/api/edit", body)
}

/// Stored values of the rows that look the same in Berlin.
fn pair(db: &Database) -> Vec<String> {
    db.column("SELECT CONCAT_WS(' ', UNIX_TIMESTAMP(at), note, UNIX_TIMESTAMP(seen)) FROM zones.t WHERE n >= 12 ORDER BY n")
}

#[test]
fn rows_of_the_hour_that_a_clock_shows_twice_are_told_apart_by_their_seconds() {
    const SHOWN: &str = "2026-10-25 02:30:00";
    const SECONDS: [u32; 2] = [1_792_888_200, 1_792_891_800];
    let db = Database::start(Options::default());
    db.load_zones();
    db.make_moments("zones");
    db.exec("SET GLOBAL time_zone = 'Europe/Berlin'");
    let postern = Postern::on(&db, &[]);
    let change = |seconds: u32, seen: u32, note: &str| {
        json!({"op": "update", "key": {"at": SHOWN}, "old": {"at": SHOWN, "seen": format!("{SHOWN}.000")},
            "moments": {"at": seconds, "seen": format!("{seen}.000")}, "new": {"note": note}})
    };
    for (n, seconds) in SECONDS.into_iter().enumerate() {
        let (status, answer) = edit(&postern, change(seconds, seconds, &format!("of {n}")));
        assert_eq!(status, 200, "{answer}");
        let data = &answer["data"];
        assert_eq!(data["rows"][0]["at"], SHOWN, "{answer}");
        assert_eq!(
            data["moments"],
            json!([{"at": seconds, "seen": format!("{seconds}.000")}])
        );
    }
    let stored = SECONDS.map(|s| format!("{s} of {} {s}.000", u8::from(s == SECONDS[1])));
    assert_eq!(pair(&db), stored);
    // Somebody moved it by the hour: the clock shows the same.
    db.exec(
        "SET time_zone = '+00:00'; UPDATE zones.t SET seen = '2026-10-25 00:30:00' WHERE n = 13",
    );
    let (status, answer) = edit(&postern, change(SECONDS[1], SECONDS[1], "mine"));
    assert_eq!(status, 409, "{answer}");
    let error = &answer["error"];
    assert_eq!(error["columns"], json!(["seen"]), "{answer}");
    assert_eq!(error["row"]["seen"], format!("{SHOWN}.000"), "{answer}");
    assert_eq!(error["moments"]["seen"], format!("{}.000", SECONDS[0]));
    // A row that is gone is not taken for the one that looks like it.
    let gone = json!({"op": "delete", "key": {"at": SHOWN}, "moments": {"at": SECONDS[1]}});
    assert_eq!(edit(&postern, gone.clone()).0, 200);
    let (status, answer) = edit(&postern, gone);
    assert_eq!(status, 409, "{answer}");
    assert_eq!(pair(&db), stored[..1]);
    for wrong in [
        json!({"note": 1}),
        json!({"at": "1 OR 1"}),
        json!({"at": "1.1.1"}),
        json!({"at": -1}),
        json!({"at": ""}),
    ] {
        let change = json!({"op": "delete", "key": {"at": SHOWN}, "moments": wrong});
        let (status, answer) = edit(&postern, change);
        assert_eq!(status, 400, "{answer}");
        assert!(answer["message"].as_str().unwrap().contains("'moments'"));
    }
}
