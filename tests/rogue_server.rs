//! Servers that sign in and then misbehave. Whatever they send, the answer is a clear error, the next request is
//! served, no file is given away, and no thread or descriptor stays behind.
#![allow(
    clippy::as_conversions,
    clippy::indexing_slicing,
    reason = "test code: a panic is how a test reports"
)]

#[path = "support/fake_mysql.rs"]
mod fake_mysql;
mod support;

use std::io;
use std::time::{Duration, Instant};

use fake_mysql::{Command, Event, Fake, PASSWORD, Script, USER, Wire, column, framed, row};
use serde_json::Value;
use support::{Home, PATIENCE, Postern, wait_until};

/// What a rogue server sends in answer to `SELECT 'name'`, and what the client of the API is told.
struct Case {
    name: &'static str,
    send: fn(&mut Wire) -> io::Result<()>,
    /// A part of the message.
    told: &'static str,
}

/// The reader's words where the driver panicked or refused to read on.
const LOST: &str = "the database connection was lost: ";

const CASES: &[Case] = &[
    Case {
        name: "an empty packet",
        send: |wire| wire.send(&[]),
        told: LOST,
    },
    Case {
        name: "a connection that ends",
        send: |_| Err(io::ErrorKind::ConnectionAborted.into()),
        told: "the server closed the connection",
    },
    Case {
        name: "half a header",
        send: |wire| wire.raw(&[5, 0]).and(gone()),
        told: LOST,
    },
    Case {
        name: "half a packet",
        send: |wire| {
            wire.raw(&framed(1, b"longer than what follows")[..9])
                .and(gone())
        },
        told: LOST,
    },
    Case {
        name: "a wrong sequence number",
        send: |wire| {
            wire.set_seq(77);
            wire.ok()
        },
        told: LOST,
    },
    Case {
        name: "a sequence number that repeats",
        send: |wire| {
            wire.send(&[1])?;
            wire.set_seq(1);
            wire.send(&column(b"a", 0xfd))
        },
        told: LOST,
    },
    Case {
        name: "no columns",
        send: |wire| {
            wire.send(&[0xfe, 0, 0, 0, 0, 0, 0, 0, 0])
                .and_then(|()| wire.eof())
        },
        told: "",
    },
    Case {
        name: "2^60 columns",
        send: |wire| wire.send(&[0xfe, 0, 0, 0, 0, 0, 0, 0, 0x10]),
        told: LOST,
    },
    Case {
        name: "all the columns there are",
        send: |wire| wire.send(&[0xfe, 255, 255, 255, 255, 255, 255, 255, 255]),
        told: LOST,
    },
    Case {
        name: "half a column count",
        send: |wire| wire.send(&[0xfe, 0, 0]),
        told: LOST,
    },
    Case {
        name: "an empty column",
        send: |wire| wire.send(&[1]).and_then(|()| wire.send(&[])),
        told: LOST,
    },
    Case {
        name: "half a column",
        send: |wire| {
            wire.send(&[1])
                .and_then(|()| wire.send(&column(b"a", 0xfd)[..12]))
        },
        told: LOST,
    },
    Case {
        name: "a column of an unknown type",
        send: |wire| {
            wire.send(&[1])?;
            wire.send(&column(b"a", 0xdd))?;
            wire.eof()?;
            wire.row(&[Some(b"1")])?;
            wire.eof()
        },
        told: LOST,
    },
    Case {
        name: "an error in place of a column",
        send: |wire| {
            wire.send(&[2])?;
            wire.send(&column(b"a", 0xfd))?;
            wire.error(1105, "HY000", "out of columns")
        },
        told: "out of columns",
    },
    Case {
        name: "a row with too few columns",
        send: |wire| {
            wire.head(&[b"a", b"b"])?;
            wire.row(&[Some(b"1")])?;
            wire.eof()
        },
        told: LOST,
    },
    Case {
        name: "an empty row",
        send: |wire| {
            wire.head(&[b"a"])?;
            wire.send(&[])?;
            wire.eof()
        },
        told: LOST,
    },
    Case {
        name: "a value longer than its packet",
        send: |wire| {
            wire.head(&[b"a"])?;
            wire.send(&[0xfd, 255, 255, 255, b'x'])?;
            wire.eof()
        },
        told: LOST,
    },
    Case {
        name: "a value of 2^64 bytes",
        send: |wire| {
            wire.head(&[b"a"])?;
            wire.send(&[&[0xfe], &[255; 8][..], b"and more"].concat())?;
            wire.eof()
        },
        told: LOST,
    },
    Case {
        name: "an error amid the rows",
        send: |wire| {
            wire.head(&[b"a"])?;
            wire.row(&[Some(b"1")])?;
            wire.error(1105, "HY000", "out of rows")
        },
        told: "out of rows",
    },
    Case {
        name: "an error without a text",
        send: |wire| wire.send(&[0xff]),
        told: LOST,
    },
    Case {
        name: "an error that is no UTF-8",
        send: |wire| wire.send(b"\xff\x51\x04#HY000\xc3\x28 \xff\xfe"),
        told: "\u{fffd}",
    },
    Case {
        name: "an error with a wrong state",
        send: |wire| wire.send(b"\xff\x51\x04#\xff\xfe\xfd\xfc\xfbodd"),
        told: "odd",
    },
    Case {
        name: "rows that end in mid-air",
        send: |wire| {
            wire.head(&[b"a"])?;
            wire.row(&[Some(b"1")])?;
            wire.raw(&framed(wire.seq(), &row(&[Some(b"22222222")]))[..7])
                .and(gone())
        },
        told: LOST,
    },
    Case {
        name: "half an OK",
        send: |wire| wire.send(&[0, 0xfe, 1]),
        told: LOST,
    },
    Case {
        name: "a further result that never was",
        send: |wire| {
            wire.send(&[0, 0, 0, 10, 0, 0, 0])?;
            wire.send(&[])
        },
        told: LOST,
    },
    Case {
        name: "a local file",
        send: ask_for_canary,
        told: "local file",
    },
];

fn gone() -> io::Result<()> {
    Err(io::ErrorKind::ConnectionAborted.into())
}

/// What no server may ever see.
const CANARY: &str = "the canary must not leave this machine";

fn canary() -> &'static std::path::Path {
    static PATH: std::sync::OnceLock<std::path::PathBuf> = std::sync::OnceLock::new();
    PATH.get_or_init(|| {
        let path = support::target_dir("rogue").join("canary.txt");
        std::fs::write(&path, CANARY).unwrap();
        path
    })
}

/// LOCAL INFILE request: the server names a file of the client's.
fn ask_for_canary(wire: &mut Wire) -> io::Result<()> {
    wire.send(&[&[0xfb], canary().to_str().unwrap().as_bytes()].concat())?;
    wire.wait_for_end()
}

/// Answers `SELECT 'name'` as the case of that name does.
fn play(wire: &mut Wire, command: &Command) -> io::Result<bool> {
    let Command::Query(sql) = command else {
        return Ok(false);
    };
    let name = sql.trim_start_matches("SELECT '").trim_end_matches('\'');
    match CASES.iter().find(|case| case.name == name) {
        Some(case) => (case.send)(wire).map(|()| true),
        None => Ok(false),
    }
}

fn on(fake: &Fake, more: &[&str]) -> Postern {
    let target = fake.target();
    let mut args = vec![target.as_str(), "--db-user", USER, "--db-pass", PASSWORD];
    args.extend(more);
    Postern::start(&args, &[])
}

fn assert_fine(postern: &Postern) {
    let data = postern.client().query_ok("", "SELECT 'fine'");
    assert_eq!(data["rows"][0]["c1"], "fine");
}

/// The `db` of the client's helper is a string; none is meant here.
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
        wait_until(PATIENCE, "threads and descriptors are let go", || {
            postern.threads() <= self.threads && postern.fds() <= self.fds
        });
    }
}

fn every_case_is_survived(more: &[&str]) {
    let fake = Fake::start(Script::twisted(play));
    let mut postern = on(&fake, more);
    assert_eq!(ask(&postern, "SELECT 'fine'")["code"], 200);
    let before = Baseline::of(&postern);
    for case in CASES {
        let answer = ask(&postern, &format!("SELECT '{}'", case.name));
        let message = answer["message"].as_str().unwrap_or_default();
        println!("{}: {} {message}", case.name, answer["code"]);
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
    let leaked = fake
        .replies()
        .iter()
        .any(|reply| contains(reply, CANARY.as_bytes()));
    assert!(!leaked, "a file was given to the server");
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn every_case_is_survived_in_read_write_mode() {
    every_case_is_survived(&[]);
}

#[test]
fn every_case_is_survived_in_read_only_mode() {
    every_case_is_survived(&["--readonly"]);
}
