//! Servers that sign in and then misbehave. Whatever they send, the answer is a clear error, the next request is
//! served, no file is given away, and no thread or descriptor stays behind.

mod cases;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::fake_mysql::{
    self, Command, Event, Fake, Method, PASSWORD, Rsa, Script, USER, Wire, column, framed, row,
};
use cases::{CANARY, CASES, ask_for_canary, play};
use serde_json::Value;
use support::http::{Client, Conn, JSON};
use support::{Home, Postern, TIMEOUT, allowed, assert_within, wait_until};

fn on(fake: &Fake, more: &[&str]) -> Postern {
    let target = fake.target();
    let mut args = vec![target.as_str(), "--db-user", USER, "--db-pass", PASSWORD];
    args.extend(more);
    Postern::start(&args, &[])
}

/// The client's helper names a database; none is meant here.
fn ask(postern: &Postern, sql: &str) -> Value {
    let body = serde_json::json!({"sql": sql});
    postern.client().post("/api/query", &body).json()
}

/// Threads and descriptors come back to what they were before.
struct Baseline {
    threads: u64,
    fds: usize,
}

impl Baseline {
    fn of(postern: &Postern) -> Baseline {
        Baseline {
            threads: postern.threads(),
            fds: postern.fds(),
        }
    }

    #[track_caller]
    fn regained(&self, postern: &Postern) {
        wait_until(TIMEOUT, "threads and descriptors are let go", || {
            postern.threads() <= self.threads && postern.fds() <= self.fds
        });
    }
}

/// Without TLS the answers are read here, and inside it by the driver.
fn every_case_is_survived(more: &[&str], tls: Option<Arc<rustls::ServerConfig>>) {
    let fake = Fake::start(Script {
        tls,
        ..Script::twisted(play)
    });
    let mut postern = on(&fake, more);
    assert_eq!(ask(&postern, "SELECT 'fine'")["code"], 200);
    let before = Baseline::of(&postern);
    for case in CASES {
        let answer = ask(&postern, &format!("SELECT '{}'", case.name));
        let message = answer["message"].as_str().unwrap_or_default();
        assert!(message.contains(case.told), "{}: {answer}", case.name);
        assert!(
            case.told.is_empty() || answer["code"] != 200,
            "{}: {answer}",
            case.name
        );
        assert!(postern.alive(), "{}: {}", case.name, postern.stderr());
        let next = ask(&postern, "SELECT 'fine'");
        assert_eq!(next["code"], 200, "after {}: {next}", case.name);
    }
    before.regained(&postern);
    assert!(
        !was_given_the_canary(&fake),
        "a file was given to the server"
    );
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn every_case_is_survived_in_read_write_mode() {
    every_case_is_survived(&[], None);
}

#[test]
fn every_case_is_survived_in_read_write_mode_over_tls() {
    every_case_is_survived(&[], Some(fake_mysql::tls()));
}

#[test]
fn every_case_is_survived_in_read_only_mode() {
    every_case_is_survived(&["--readonly"], None);
}

#[test]
fn every_case_is_survived_in_read_only_mode_over_tls() {
    every_case_is_survived(&["--readonly"], Some(fake_mysql::tls()));
}

/// A question of the program's own is answered with more than any memory holds.
#[test]
fn an_answer_without_end_to_a_question_of_ours_is_given_up() {
    let fake = Fake::start(Script::twisted(|wire, command| match command {
        Command::Query(sql) if sql == "SHOW DATABASES" => {
            wire.head(&[b"a"])?;
            let name = vec![b'x'; 1 << 20];
            loop {
                wire.row(&[Some(&name)])?;
            }
        }
        _ => Ok(false),
    }));
    let postern = on(&fake, &[]);
    let told = postern.client().get("/api/databases").json();
    assert_eq!(told["code"], 502, "{told}");
    let message = told["message"].as_str().unwrap();
    assert!(message.contains("has no end"), "{message}");
    assert_eq!(ask(&postern, "SELECT 'fine'")["code"], 200);
}

/// Bytes that belong to no answer would be taken for the next one.
#[test]
fn a_connection_that_says_more_than_its_answer_is_not_used_again() {
    let fake = Fake::start(Script::twisted(|wire, command| match command {
        Command::Query(sql) if sql == "SELECT 'more'" => {
            // In one write, so that they come together.
            let parts = [&[1][..], &column(b"a", 0xfd), END, &row(&[Some(b"1")]), END];
            let packets = (1..).zip(parts).map(|(seq, part)| framed(seq, part));
            let answer: Vec<u8> = packets.flatten().chain([9, 0]).collect();
            wire.raw(&answer).map(|()| true)
        }
        _ => Ok(false),
    }));
    let postern = on(&fake, &[]);
    let answer = ask(&postern, "SELECT 'more'");
    assert_eq!(answer["data"]["rows"][0]["a"], "1", "{answer}");
    let ended = Event::Ended(connection_of(&fake, "SELECT 'more'"));
    assert!(fake.sees(TIMEOUT, |event| *event == ended));
    assert_eq!(ask(&postern, "SELECT 'fine'")["code"], 200);
}

/// EOF packet.
const END: &[u8] = &[0xfe, 0, 0, 2, 0];

/// Nothing came of a statement that nothing was said of.
#[test]
fn a_statement_that_was_not_answered_is_no_success() {
    for tls in [None, Some(fake_mysql::tls())] {
        let alone = Arc::new(AtomicBool::new(false));
        let fake = Fake::start(Script {
            tls,
            first_alone: Some(alone.clone()),
            ..Script::default()
        });
        let postern = on(&fake, &["--readonly"]);
        assert_eq!(ask(&postern, "SELECT 'fine'")["code"], 200);
        alone.store(true, Ordering::SeqCst);
        let told = ask(&postern, "SELECT 'fine'");
        assert_eq!(told["code"], 502, "{told}");
        alone.store(false, Ordering::SeqCst);
        assert_eq!(ask(&postern, "SELECT 'fine'")["code"], 200);
    }
}

// ---- servers that never come to an end

/// A query that never ends by itself, by its text.
fn never_ending(wire: &mut Wire, command: &Command) -> io::Result<bool> {
    let Command::Query(sql) = command else {
        return Ok(false);
    };
    match sql.as_str() {
        "SELECT 'rows'" => {
            wire.head(&[b"a"])?;
            loop {
                wire.row(&[Some(&[b'x'; 200])])?;
            }
        }
        "SELECT 'columns'" => {
            wire.send(&[0xfd, 255, 255, 255])?;
            loop {
                wire.send(&column(b"a", 0xfd))?;
            }
        }
        "SELECT 'nothing'" => wire.wait_for_end().map(|()| true),
        "SELECT 'half a row'" => {
            wire.head(&[b"a"])?;
            wire.row(&[Some(b"1")])?;
            wire.raw(&framed(wire.seq(), &row(&[Some(b"22222222")]))[..7])?;
            wire.wait_for_end().map(|()| true)
        }
        _ => Ok(false),
    }
}

/// Time for which a statement may live after its client has left: 2 s, and what a busy machine adds.
const GIVEN_UP: Duration = Duration::from_secs(3);

fn said(event: &Event, sql: &str) -> bool {
    matches!(event, Event::Said(_, Command::Query(query)) if query == sql)
}

/// The connection that a query came over.
fn connection_of(fake: &Fake, sql: &str) -> u32 {
    let found = fake.events().into_iter().find_map(|event| match event {
        Event::Said(number, Command::Query(query)) if query == sql => Some(number),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("{sql} was never sent"))
}

/// Asks, leaves once the server has the statement, and expects that the connection to the server is closed soon.
#[track_caller]
fn ask_and_leave(fake: &Fake, postern: &Postern, body: &Value) {
    let sql = body["sql"].as_str().unwrap();
    let request = body.to_string();
    let mut client = Conn::open(postern.authority()).unwrap();
    let head = format!(
        "POST /api/query HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        postern.authority(),
        request.len()
    );
    client
        .send_raw(&[head, request].concat().into_bytes())
        .unwrap();
    assert!(fake.sees(TIMEOUT, |event| said(event, sql)), "{sql}");
    let connection = connection_of(fake, sql);
    drop(client);
    let left = Instant::now();
    let ended = fake.sees(TIMEOUT, |event| *event == Event::Ended(connection));
    assert!(
        ended && left.elapsed() < allowed(GIVEN_UP),
        "{sql}: {:?}",
        left.elapsed()
    );
}

#[test]
fn a_statement_that_never_ends_is_given_up_when_its_client_leaves() {
    let modes = [(&[][..], None), (&["--readonly"], Some(fake_mysql::tls()))];
    for (mode, tls) in modes {
        let fake = Fake::start(Script {
            tls,
            ..Script::twisted(never_ending)
        });
        let mut postern = on(&fake, mode);
        assert_eq!(ask(&postern, "SELECT 'fine'")["code"], 200);
        let before = Baseline::of(&postern);
        for sql in ["rows", "columns", "nothing", "half a row"] {
            fake.forget();
            let sql = format!("SELECT '{sql}'");
            ask_and_leave(&fake, &postern, &serde_json::json!({"sql": sql}));
            assert_eq!(ask(&postern, "SELECT 'fine'")["code"], 200, "after {sql}");
        }
        fake.forget();
        // The answer is whole after five rows; what follows is declined in vain.
        let body = serde_json::json!({"sql": "SELECT 'rows'", "limit": 5});
        ask_and_leave(&fake, &postern, &body);
        before.regained(&postern);
        assert!(postern.alive());
    }
}

/// By way of a thread of the program's own, which ends with each connection.
#[test]
fn no_way_for_sha256_password_stays_behind() {
    let fake = Fake::start(Script {
        method: Method::Sha256Until(u32::MAX),
        rsa: Some(Rsa::new()),
        ..Script::twisted(never_ending)
    });
    let mut postern = on(&fake, &[]);
    assert_eq!(ask(&postern, "SELECT 'fine'")["code"], 200);
    let before = Baseline::of(&postern);
    for sql in ["rows", "nothing", "half a row"] {
        fake.forget();
        let sql = format!("SELECT '{sql}'");
        ask_and_leave(&fake, &postern, &serde_json::json!({"sql": sql}));
        assert_eq!(ask(&postern, "SELECT 'fine'")["code"], 200, "after {sql}");
    }
    before.regained(&postern);
    assert!(postern.alive());
}

/// Sends rows for ever, at a pace that fills no memory.
fn dribble(wire: &mut Wire) -> io::Result<bool> {
    wire.head(&[b"a"])?;
    loop {
        wire.row(&[Some(b"x")])?;
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Questions around a statement do not end either: before it, while it is prepared, and after it.
#[test]
fn a_connection_is_given_up_whatever_is_asked_on_it() {
    fn silent(wire: &mut Wire) -> io::Result<bool> {
        wire.wait_for_end().map(|()| true)
    }
    type Stuck = (
        fn(&Command) -> bool,
        fn(&mut Wire) -> io::Result<bool>,
        &'static [&'static str],
    );
    let cases: [Stuck; 5] = [
        (|c| *c == Command::Reset, silent, &["--readonly"]),
        (|c| *c == Command::InitDb("stuck".into()), silent, &[]),
        (
            |c| matches!(c, Command::Query(q) if q.starts_with("SET NAMES utf8mb4, sql_mode")),
            dribble,
            &["--readonly"],
        ),
        (
            |c| *c == Command::Prepare("SELECT 'stuck'".into()),
            dribble,
            &["--readonly"],
        ),
        (
            |c| matches!(c, Command::Query(q) if q.starts_with("SHOW WARNINGS")),
            dribble,
            &[],
        ),
    ];
    std::thread::scope(|scope| {
        for (is_it, stick, mode) in cases {
            scope.spawn(move || {
                let armed = Arc::new(AtomicBool::new(false));
                let when = armed.clone();
                let fake = Fake::start(Script::twisted(move |wire, command| match command {
                    command if when.load(Ordering::SeqCst) && is_it(command) => stick(wire),
                    Command::Query(sql) if sql == "SELECT 'stuck'" && mode.is_empty() => {
                        // One warning.
                        wire.send(&[0, 0, 0, 2, 0, 1, 0]).map(|()| true)
                    }
                    _ => Ok(false),
                }));
                let mut postern = on(&fake, mode);
                assert_eq!(ask(&postern, "SELECT 'fine'")["code"], 200);
                let before = Baseline::of(&postern);
                fake.forget();
                armed.store(true, Ordering::SeqCst);
                let request = serde_json::json!({"sql": "SELECT 'stuck'", "db": "stuck"}).to_string();
                let mut client = Conn::open(postern.authority()).unwrap();
                let head = format!(
                    "POST /api/query HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                    postern.authority(),
                    request.len()
                );
                client.send_raw(&[head, request].concat().into_bytes()).unwrap();
                let is_stuck = |event: &Event| matches!(event, Event::Said(_, c) if is_it(c));
                assert!(fake.sees(TIMEOUT, is_stuck), "{:?}", fake.commands());
                let number = fake.events().iter().find_map(|event| match event {
                    Event::Said(number, c) if is_it(c) => Some(*number),
                    _ => None,
                });
                drop(client);
                let ended = Event::Ended(number.unwrap());
                assert!(fake.sees(TIMEOUT, |event| *event == ended), "{:?}", fake.commands());
                armed.store(false, Ordering::SeqCst);
                assert_eq!(ask(&postern, "SELECT 'fine'")["code"], 200);
                before.regained(&postern);
                assert!(postern.alive());
            });
        }
    });
}

/// A transaction must not be taken for alive because nobody was there to hear of its end.
#[test]
fn a_session_whose_connection_was_given_up_is_told_of_it() {
    let fake = Fake::start(Script::twisted(never_ending));
    let postern = on(&fake, &[]);
    let in_session = |sql: &str| serde_json::json!({"sql": sql, "session": "s"});
    let query = |sql: &str| {
        let answer = postern.client().post("/api/query", &in_session(sql));
        answer.json()
    };
    assert_eq!(query("START TRANSACTION")["code"], 200);
    ask_and_leave(&fake, &postern, &in_session("SELECT 'nothing'"));
    let told = query("COMMIT");
    assert_eq!(told["code"], 502, "{told}");
    let message = told["message"].as_str().unwrap();
    assert!(message.contains("transaction, variables"), "{message}");
    assert!(!fake.commands().contains(&Command::Query("COMMIT".into())));
    assert_eq!(query("SELECT 'fine'")["code"], 200);
}

#[test]
fn a_cancelled_statement_ends_though_the_server_does_not_obey() {
    let fake = Fake::start(Script::twisted(never_ending));
    let postern = on(&fake, &[]);
    let authority = postern.authority().to_owned();
    let asked = std::thread::spawn(move || {
        let body = serde_json::json!({"sql": "SELECT 'nothing'", "query_id": "q"});
        Client::new(&authority).post("/api/query", &body).json()
    });
    assert!(fake.sees(TIMEOUT, |event| said(event, "SELECT 'nothing'")));
    let cancel = serde_json::json!({"query_id": "q"});
    assert_eq!(postern.client().post("/api/cancel", &cancel).status(), 200);
    let answer = asked.join().unwrap();
    assert_eq!(answer["code"], 502, "{answer}");
    let message = answer["message"].as_str().unwrap();
    assert!(
        message.contains("did not stop when told to (it was cancelled)"),
        "{message}"
    );
    assert_eq!(ask(&postern, "SELECT 'fine'")["code"], 200);
}

#[test]
fn the_program_ends_while_a_server_is_stuck() {
    let fake = Fake::start(Script::twisted(never_ending));
    let mut postern = on(&fake, &[]);
    let mut client = postern.client();
    let asked = std::thread::spawn(move || {
        let body = serde_json::json!({"sql": "SELECT 'nothing'"}).to_string();
        let _ = client.try_send("POST", "/api/query", &[JSON], body.as_bytes());
    });
    assert!(fake.sees(TIMEOUT, |event| said(event, "SELECT 'nothing'")));
    let asked_at = Instant::now();
    let status = postern.stop().expect("it ends when it is asked to");
    assert!(status.success(), "{status}");
    assert_within(asked_at, GIVEN_UP);
    asked.join().unwrap();
}

/// Answers usually on the first connections and then accepts without a word, so that no `KILL QUERY` gets through.
#[test]
fn a_stuck_server_that_takes_no_more_connections_is_given_up() {
    let silent = Arc::new(AtomicBool::new(false));
    let when = silent.clone();
    let fake = Fake::start(Script {
        mute: Some(silent),
        ..Script::twisted(never_ending)
    });
    let mut postern = on(&fake, &[]);
    assert_eq!(ask(&postern, "SELECT 'fine'")["code"], 200);
    let before = Baseline::of(&postern);
    when.store(true, Ordering::SeqCst);
    ask_and_leave(
        &fake,
        &postern,
        &serde_json::json!({"sql": "SELECT 'half a row'"}),
    );
    when.store(false, Ordering::SeqCst);
    assert_eq!(ask(&postern, "SELECT 'fine'")["code"], 200);
    before.regained(&postern);
    assert!(postern.alive());
}

// ---- while the program starts

/// Error message of `postern mysql` on a server with this script.
fn failed_start(script: Script, more: &[&str]) -> (String, Fake) {
    let fake = Fake::start(script);
    let target = fake.target();
    let mut args = vec!["mysql", "--no-open", "--listen", "127.0.0.1:0", &target];
    args.extend(["--db-user", USER, "--db-pass", PASSWORD]);
    args.extend(more);
    let ended = Home::with_plugin().run(&args);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let message = ended.stderr.lines().next().unwrap_or_default().to_owned();
    assert!(message.starts_with("plugin error: "), "{message}");
    (message, fake)
}

#[test]
fn a_server_that_misbehaves_at_the_start_ends_the_program() {
    for (question, more) in [
        ("SELECT VERSION()", &[][..]),
        ("SELECT VERSION()", &["--readonly"]),
        ("SET NAMES", &["--readonly"]),
    ] {
        for case in CASES {
            if case.told.is_empty() || case.name == "an error amid the rows" {
                continue;
            }
            let send = case.send;
            let script = Script::twisted(move |wire, command| match command {
                Command::Query(sql) if sql.starts_with(question) => send(wire).map(|()| true),
                _ => Ok(false),
            });
            let (message, fake) = failed_start(script, more);
            assert!(message.contains(case.told), "{}: {message}", case.name);
            assert!(
                !was_given_the_canary(&fake),
                "a file was given to the server"
            );
        }
    }
}

#[test]
fn a_local_file_is_refused_in_answer_to_any_question() {
    let questions = [
        "SELECT VERSION()",
        "SHOW GRANTS",
        "SET NAMES utf8mb4, sql_mode",
    ];
    for question in questions {
        let script = Script::twisted(move |wire, command| match command {
            Command::Query(sql) if sql.starts_with(question) => ask_for_canary(wire).map(|()| true),
            _ => Ok(false),
        });
        let (message, fake) = failed_start(script, &["--readonly"]);
        assert!(message.contains("local file"), "{question}: {message}");
        assert!(!was_given_the_canary(&fake), "{question}");
    }
}

fn was_given_the_canary(fake: &Fake) -> bool {
    fake.replies()
        .iter()
        .any(|reply| contains(reply, CANARY.as_bytes()))
}
