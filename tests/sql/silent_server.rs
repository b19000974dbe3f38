//! Messages that must reach the database server when nobody waits any more, and messages that must not, against a
//! scripted server.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::fake_mysql::{Command, Event, Fake, PASSWORD, Script, USER, Wire};
use serde_json::json;
use support::http::Conn;
use support::{Postern, TIMEOUT};

/// A statement that waits for a lock while it is prepared, as `SELECT` from a locked table does.
const LOCKED: &str = "SELECT 'locked'";

fn on(fake: &Fake, more: &[&str]) -> Postern {
    let target = fake.target();
    let mut args = vec![target.as_str(), "--db-user", USER, "--db-pass", PASSWORD];
    args.extend(more);
    Postern::start(&args, &[])
}

/// Waits for a lock that is never free: where the catalogue is looked at, and where a statement is prepared.
fn waits(wire: &mut Wire, command: &Command) -> io::Result<bool> {
    match command {
        Command::Query(sql) if sql == "SHOW DATABASES" => wire.wait_for_end().map(|()| true),
        Command::Prepare(sql) if sql == LOCKED => wire.wait_for_end().map(|()| true),
        _ => Ok(false),
    }
}

/// Sends `request`, leaves once the server has `command`, and expects a `KILL QUERY` for the connection it came over.
#[track_caller]
fn is_stopped_when_its_client_leaves(
    fake: &Fake,
    postern: &Postern,
    request: &str,
    command: &Command,
) {
    let mut client = Conn::open(postern.authority()).unwrap();
    client.send_raw(request.as_bytes()).unwrap();
    let is_it = |event: &Event| matches!(event, Event::Said(_, said) if said == command);
    assert!(fake.sees(TIMEOUT, is_it), "{command:?}");
    let connection = fake.events().iter().find_map(|event| match event {
        Event::Said(number, said) if said == command => Some(*number),
        _ => None,
    });
    drop(client);
    let kill = Command::Query(format!("KILL QUERY {}", connection.unwrap()));
    let is_killed = |event: &Event| matches!(event, Event::Said(_, said) if *said == kill);
    assert!(fake.sees(TIMEOUT, is_killed), "{:?}", fake.commands());
}

#[test]
fn a_look_at_the_catalogue_is_stopped_when_its_client_leaves() {
    let fake = Fake::start(Script::twisted(waits));
    let postern = on(&fake, &[]);
    let request = format!(
        "GET /api/databases HTTP/1.1\r\nHost: {}\r\n\r\n",
        postern.authority()
    );
    let command = Command::Query("SHOW DATABASES".into());
    is_stopped_when_its_client_leaves(&fake, &postern, &request, &command);
}

#[test]
fn a_statement_that_waits_while_it_is_prepared_is_stopped_when_its_client_leaves() {
    let fake = Fake::start(Script::twisted(waits));
    let postern = on(&fake, &["--readonly"]);
    let body = json!({"sql": LOCKED}).to_string();
    let request = format!(
        "POST /api/query HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        postern.authority(),
        body.len()
    );
    let command = Command::Prepare(LOCKED.into());
    is_stopped_when_its_client_leaves(&fake, &postern, &request, &command);
}

#[test]
fn what_comes_before_a_statement_is_stopped_when_its_client_leaves() {
    let armed = Arc::new(AtomicBool::new(false));
    let is_armed = armed.clone();
    let fake = Fake::start(Script::twisted(move |wire, command| match command {
        Command::Query(sql) if sql.contains(READ_ONLY) && is_armed.load(Ordering::SeqCst) => {
            wire.wait_for_end().map(|()| true)
        }
        _ => Ok(false),
    }));
    let postern = on(&fake, &["--readonly"]);
    fake.forget();
    armed.store(true, Ordering::SeqCst);
    let mut client = Conn::open(postern.authority()).unwrap();
    client
        .send_raw(query(&postern, "SELECT 'fine'").as_bytes())
        .unwrap();
    let is_set = |event: &Event| matches!(event, Event::Said(_, Command::Query(sql)) if sql.contains(READ_ONLY));
    assert!(fake.sees(TIMEOUT, is_set));
    drop(client);
    let is_killed = |event: &Event| matches!(event, Event::Said(_, Command::Query(sql)) if sql.starts_with("KILL QUERY "));
    assert!(fake.sees(TIMEOUT, is_killed), "{:?}", fake.commands());
}

/// Part of what makes a connection read-only.
const READ_ONLY: &str = "SET SESSION TRANSACTION READ ONLY";

fn query(postern: &Postern, sql: &str) -> String {
    let body = json!({"sql": sql, "session": "s", "limit": 1}).to_string();
    format!(
        "POST /api/query HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        postern.authority(),
        body.len()
    )
}

/// Rows for longer than a server that was told to stop may go on.
const SLOW: Duration = Duration::from_secs(32);

/// Behind a proxy that shares its connections a connection id means nothing to the server, which cannot be told that
/// enough rows have come.
#[test]
fn what_a_server_that_cannot_be_told_still_sends_costs_the_session_nothing() {
    let fake = Fake::start(Script::twisted(|wire, command| match command {
        _ if command.asks_who() => {
            wire.further_ok()?;
            wire.rows(&["4b1d", "4711", "1700000000"].map(Some))?;
            Ok(true)
        }
        Command::Query(sql) if sql == "SELECT 'rows'" => {
            wire.head(&[b"x"])?;
            let began = Instant::now();
            while began.elapsed() < SLOW && !wire.stopping() {
                wire.row(&[Some(b"x")])?;
                std::thread::park_timeout(Duration::from_millis(20));
            }
            wire.eof()?;
            Ok(true)
        }
        _ => Ok(false),
    }));
    let postern = on(&fake, &[]);
    let body = json!({"sql": "SELECT 'rows'", "session": "s", "limit": 1});
    let answer = postern.client().post("/api/query", &body).json();
    assert_eq!(answer["code"], 200, "{answer}");
    assert_eq!(answer["data"]["truncated"], true, "{answer}");
    assert_eq!(answer["data"]["count"], 1, "{answer}");
    let said = |number, sql: &str| Event::Said(number, Command::Query(sql.into()));
    let ran_on = fake.events().iter().find_map(|event| match event {
        Event::Said(number, Command::Query(sql)) if sql == "SELECT 'rows'" => Some(*number),
        _ => None,
    });
    let next = json!({"sql": "SELECT 'next'", "session": "s"});
    assert_eq!(postern.client().post("/api/query", &next).status(), 200);
    assert!(
        fake.events()
            .contains(&said(ran_on.unwrap(), "SELECT 'next'"))
    );
}

/// The end of a short result has been sent before the cut, and nothing runs any more that could be seen.
#[test]
fn a_statement_that_is_over_when_enough_rows_have_come_is_looked_for_once() {
    let fake = Fake::start(Script::twisted(|wire, command| match command {
        Command::Query(sql) if sql == "SELECT 'rows'" => {
            wire.head(&[b"x"])?;
            for _ in 0..3 {
                wire.row(&[Some(b"x")])?;
            }
            wire.eof()?;
            Ok(true)
        }
        Command::Query(sql) if sql.contains(".PROCESSLIST WHERE ID = ") => {
            wire.head(&[b"COMMAND", b"IS_OURS"])?;
            wire.row(&[Some(b"Sleep"), Some(b"1")])?;
            wire.eof()?;
            Ok(true)
        }
        _ => Ok(false),
    }));
    let postern = on(&fake, &[]);
    let body = json!({"sql": "SELECT 'rows'", "session": "s", "limit": 1});
    let answer = postern.client().post("/api/query", &body).json();
    assert_eq!(answer["data"]["truncated"], true, "{answer}");
    let looks = fake.commands().into_iter().filter(
        |command| matches!(command, Command::Query(sql) if sql.contains(".PROCESSLIST WHERE ID = ")),
    );
    assert_eq!(looks.count(), 1, "{:?}", fake.commands());
}

/// Covers every end of a statement that nobody waited for.
#[test]
fn a_session_that_lost_something_unheard_is_told_at_its_next_statement() {
    let killed = Arc::new(AtomicBool::new(false));
    let fake = Fake::start(Script::twisted(move |wire, command| match command {
        Command::Query(sql) if sql == "SELECT 'waits'" => {
            while !wire.stopping() && !killed.load(Ordering::SeqCst) {
                std::thread::park_timeout(Duration::from_millis(5));
            }
            wire.error(1927, "70100", "Connection was killed")?;
            // The number alone ends nothing: a procedure may have set it.
            Err(io::ErrorKind::ConnectionAborted.into())
        }
        Command::Query(sql) if sql.starts_with("KILL QUERY ") => {
            killed.store(true, Ordering::SeqCst);
            Ok(false)
        }
        _ => Ok(false),
    }));
    let postern = on(&fake, &[]);
    let run = |sql: &str| {
        let body = json!({"sql": sql, "session": "s"});
        postern.client().post("/api/query", &body)
    };
    assert_eq!(run("SET @held = 1").status(), 200);
    let mut client = Conn::open(postern.authority()).unwrap();
    client
        .send_raw(query(&postern, "SELECT 'waits'").as_bytes())
        .unwrap();
    let waits = Command::Query("SELECT 'waits'".into());
    let waits = |event: &Event| matches!(event, Event::Said(_, said) if *said == waits);
    assert!(fake.sees(TIMEOUT, waits));
    drop(client);
    let told = run("SELECT 'next'").json();
    let message = told["message"].as_str().unwrap_or_default();
    assert!(message.contains("nothing was run"), "{told}");
    assert_eq!(run("SELECT 'next'").status(), 200);
}

/// A server that says who it is but not since when may have been started anew, and the id may be a stranger's.
#[test]
fn a_connection_that_was_cut_is_ended_only_where_its_id_is_certain() {
    for start in [Some("1700000000"), None] {
        let fake = Fake::start(Script::twisted(move |wire, command| match command {
            _ if command.asks_who() => {
                wire.further_ok()?;
                let id = wire.number().to_string();
                wire.rows(&[Some("4b1d"), Some(&id), start])?;
                Ok(true)
            }
            // Deaf, and still there when its connection is not.
            Command::Query(sql) if sql == "SELECT 'deaf'" => {
                while !wire.stopping() {
                    std::thread::park_timeout(Duration::from_millis(20));
                }
                Ok(true)
            }
            _ => Ok(false),
        }));
        let postern = on(&fake, &[]);
        let mut client = Conn::open(postern.authority()).unwrap();
        client
            .send_raw(query(&postern, "SELECT 'deaf'").as_bytes())
            .unwrap();
        let is_deaf = |event: &Event| matches!(event, Event::Said(_, Command::Query(sql)) if sql == "SELECT 'deaf'");
        assert!(fake.sees(TIMEOUT, is_deaf));
        drop(client);
        let is_end = |sql: &str| sql.starts_with("KILL ") && !sql.starts_with("KILL QUERY");
        if start.is_some() {
            let ends =
                |event: &Event| matches!(event, Event::Said(_, Command::Query(sql)) if is_end(sql));
            assert!(fake.sees(TIMEOUT, ends));
            continue;
        }
        // Only what was cut is looked for and then left alone.
        let left_alone = || {
            let commands = fake.commands().into_iter().rev();
            let since = commands
                .take_while(|c| !matches!(c, Command::Query(sql) if sql.starts_with("KILL ")));
            since
                .filter(
                    |c| matches!(c, Command::Query(sql) if sql.contains("PROCESSLIST WHERE ID")),
                )
                .count()
                >= 3
        };
        support::wait_until(TIMEOUT, "it is looked for", left_alone);
        let ended = |c: &Command| matches!(c, Command::Query(sql) if is_end(sql));
        assert!(!fake.commands().iter().any(ended), "{:?}", fake.commands());
    }
}

#[test]
fn a_head_request_neither_uses_a_ticket_up_nor_runs_its_statement() {
    let fake = Fake::start(Script::default());
    let postern = on(&fake, &[]);
    let mut client = postern.client();
    let export = json!({"sql": "SELECT 'exported'", "ticket": true});
    let ticket = client.post("/api/export", &export).data()["ticket"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = format!("/api/export/{ticket}");
    let head = client.send("HEAD", &path, &[], b"");
    assert_eq!((head.status(), head.header("allow")), (405, Some("GET")));
    let statement = Command::Query("SELECT 'exported'".into());
    assert!(!fake.commands().contains(&statement));
    assert_eq!(client.get(&path).status(), 200);
    assert!(fake.commands().contains(&statement));
}

#[test]
fn closing_no_session_stops_nothing() {
    let fake = Fake::start(Script::default());
    let postern = on(&fake, &[]);
    let mut client = postern.client();
    let answer = client.post("/api/session/close", &json!({"session": ""}));
    assert_eq!(answer.status(), 400);
    let message = answer.json()["message"].to_string();
    assert!(message.contains("'session' must not be empty"), "{message}");
}

/// MySQL ends the statement of a procedure that a kill hits, goes on with the next and calls the whole a success.
#[test]
fn a_procedure_that_ends_well_though_it_was_told_to_stop_may_have_gone_on() {
    for more in [&[][..], &["--query-timeout", "1"]] {
        let killed = Arc::new(AtomicBool::new(false));
        let fake = Fake::start(Script::twisted(move |wire, command| match command {
            Command::Query(sql) if sql.starts_with("KILL QUERY") => {
                killed.store(true, Ordering::SeqCst);
                Ok(false)
            }
            Command::Query(sql) if sql == "CALL p()" => {
                support::wait_until(TIMEOUT, "it is killed", || killed.load(Ordering::SeqCst));
                wire.ok().map(|()| true)
            }
            _ => Ok(false),
        }));
        let postern = on(&fake, more);
        let mut asking = postern.client();
        let asked = std::thread::spawn(move || {
            let call = json!({"sql": "CALL p()", "query_id": "q"});
            asking.post("/api/query", &call).json()
        });
        let call = Command::Query("CALL p()".into());
        assert!(fake.sees(
            TIMEOUT,
            |event| matches!(event, Event::Said(_, said) if *said == call)
        ));
        if more.is_empty() {
            let cancel = json!({"query_id": "q"});
            assert_eq!(postern.client().post("/api/cancel", &cancel).status(), 200);
        }
        let answer = asked.join().unwrap();
        let warnings = answer["data"]["warnings"].to_string();
        let expected = "told to stop; later statements of the procedure may have run";
        assert!(warnings.contains(expected), "{answer}");
    }
}
