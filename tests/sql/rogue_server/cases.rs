//! Answers of a hostile server, case by case, and the file that it asks for.

use std::io;

use crate::fake_mysql::{Command, Wire, column, framed, row};

/// Answer of a rogue server to `SELECT 'name'`, and the resulting message of the API.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) send: fn(&mut Wire) -> io::Result<()>,
    /// A part of the message.
    pub(super) told: &'static str,
}

/// The reader's words where the driver panicked or refused to read on.
const LOST: &str = "the database connection was lost: ";

pub(super) const CASES: &[Case] = &[
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
        name: "10 million columns that never come",
        send: |wire| {
            wire.send(&[0xfe, 0x80, 0x96, 0x98, 0, 0, 0, 0, 0])
                .and_then(|()| gone())
        },
        told: LOST,
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
        name: "a whole answer and a last word",
        send: |wire| {
            wire.rows(&[Some("whole")])?;
            wire.error(1927, "70100", "Connection was killed")
        },
        told: "",
    },
    Case {
        name: "a whole answer and half a packet",
        send: |wire| {
            wire.rows(&[Some("whole")])?;
            wire.raw(&[9, 0]).and(gone())
        },
        told: "",
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

/// Content that no server may ever see.
pub(super) const CANARY: &str = "the canary must not leave this machine";

fn canary() -> &'static std::path::Path {
    static PATH: std::sync::OnceLock<std::path::PathBuf> = std::sync::OnceLock::new();
    PATH.get_or_init(|| {
        let path = support::target_dir("rogue").join("canary.txt");
        std::fs::write(&path, CANARY).unwrap();
        path
    })
}

/// LOCAL INFILE request: the server names a file of the client's.
pub(super) fn ask_for_canary(wire: &mut Wire) -> io::Result<()> {
    wire.send(&[&[0xfb], canary().to_str().unwrap().as_bytes()].concat())?;
    wire.wait_for_end()
}

/// Answers `SELECT 'name'` as the case of that name does.
pub(super) fn play(wire: &mut Wire, command: &Command) -> io::Result<bool> {
    let Command::Query(sql) = command else {
        return Ok(false);
    };
    let name = sql.trim_start_matches("SELECT '").trim_end_matches('\'');
    match CASES.iter().find(|case| case.name == name) {
        Some(case) => (case.send)(wire).map(|()| true),
        None => Ok(false),
    }
}
