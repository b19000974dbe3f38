//! Valid and invalid answers.

use std::io;

use super::*;

/// Bytes that come in pieces, and then the end.
struct Pieces<'a> {
    bytes: &'a [u8],
    piece: usize,
}

impl PacketSource for Pieces<'_> {
    fn receive(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        let room = buffer.capacity() - buffer.len();
        assert!(room > 0, "there is always room for more");
        let (now, later) = self
            .bytes
            .split_at(self.bytes.len().min(room).min(self.piece));
        buffer.extend_from_slice(now);
        self.bytes = later;
        Ok(now.len())
    }
}

const MOST: usize = 1 << 25;

/// Packets of an answer, numbered.
#[derive(Default)]
struct Script {
    bytes: Vec<u8>,
    packets: u8,
}

impl Script {
    fn packet(mut self, payload: &[u8]) -> Script {
        let mut whole = !payload.len().is_multiple_of(0xff_ffff);
        for part in payload.chunks(0xff_ffff).chain((!whole).then_some(&[][..])) {
            self.packets = self.packets.wrapping_add(1);
            let length = u32::try_from(part.len()).unwrap().to_le_bytes();
            self.bytes.extend_from_slice(&length[..3]);
            self.bytes.push(self.packets);
            self.bytes.extend_from_slice(part);
            whole = true;
        }
        assert!(whole);
        self
    }

    fn column(self, name: &str, kind: u8) -> Script {
        let mut packet = b"\x03def\x02db\x01t\x01t".to_vec();
        for name in [name, "org"] {
            packet.push(u8::try_from(name.len()).unwrap());
            packet.extend_from_slice(name.as_bytes());
        }
        packet.extend_from_slice(&[12, 45, 0, 0x80, 1, 0, 0, kind, 0x20, 0, 0, 0, 0]);
        self.packet(&packet)
    }

    /// Two columns, announced as by MariaDB.
    fn head(self) -> Script {
        self.packet(&[2, 1])
            .column("a", 8)
            .column("b", 0xfd)
            .packet(&[0xfe, 0, 0, 2, 0])
    }

    fn end(self, flags: u8) -> Script {
        self.packet(&[0xfe, 3, 0, flags, 0])
    }
}

/// Describes everything in an answer.
fn read(bytes: &[u8], piece: usize) -> String {
    let mut said = String::new();
    let mut result = TextResult::new(PacketReader::new(Pieces { bytes, piece }, MOST));
    let ended = (|| {
        loop {
            match result.next_set()? {
                None => return Ok(()),
                Some(ResultSet::Done(done)) => said += &format!("{done:?} "),
                Some(ResultSet::Rows(columns)) => {
                    for column in columns {
                        said += &format!("{} {:?}, ", column.name_str(), column.column_type());
                    }
                }
            }
            let count = result.columns.len();
            while let Some(row) = result.next_row()? {
                for i in 0..count {
                    match row.cell(i) {
                        Some(cell) if cell.len() > 99 => said += &format!("{} bytes ", cell.len()),
                        Some(cell) => said += &format!("{:?} ", String::from_utf8_lossy(cell)),
                        None => said += "NULL ",
                    }
                }
            }
        }
    })();
    if let Err(error) = ended {
        let error: DbError = error;
        said += &format!("failed: {error}");
    } else {
        let status = result.status().unwrap();
        said += &format!("{} warnings {:#x}", status.warnings, status.flags.bits());
    }
    assert!(
        result.next_set().is_ok_and(|set| set.is_none())
            && result.next_row().is_ok_and(|row| row.is_none())
    );
    said
}

fn two_results() -> Script {
    Script::default()
        .head()
        .packet(b"\x0142\x05text")
        .packet(b"\x0242\x04text")
}

#[test]
fn an_answer_reads_the_same_however_it_is_split() {
    let script = Script::default()
        .head()
        .packet(b"\x0242\x04text")
        .packet(b"\xfb\x00")
        .end(8)
        .packet(&[0, 0xfc, 0x39, 0x30, 7, 9, 0, 1, 0])
        .head()
        .end(0x22);
    let columns = "a MYSQL_TYPE_LONGLONG, b MYSQL_TYPE_VAR_STRING, ";
    let done = "Done { affected_rows: 12345, last_insert_id: 7, info: None } ";
    let expected = format!("{columns}\"42\" \"text\" NULL \"\" {done}{columns}3 warnings 0x22");
    for piece in 1..script.bytes.len() {
        assert_eq!(read(&script.bytes, piece), expected);
    }
    // A result without an end is an error wherever it stops.
    for end in 0..script.bytes.len() {
        let status = read(&script.bytes[..end], 1000);
        assert!(
            status.contains(
                "failed: the database connection was lost: the server closed the connection"
            ),
            "{status}"
        );
    }
}

#[test]
fn a_row_of_several_packets_is_joined() {
    // The first of them fills a packet exactly.
    for length in [0xff_ffff - 5, 0xff_ffff - 4, 0xff_ffff, 0x100_0100] {
        let mut row = vec![0xfb, 0xfd];
        row.extend_from_slice(&u32::try_from(length).unwrap().to_le_bytes()[..3]);
        if length > 0xff_ffff {
            row.splice(
                1..,
                [0xfe]
                    .into_iter()
                    .chain(u64::try_from(length).unwrap().to_le_bytes()),
            );
        }
        row.resize(row.len() + length, b'x');
        let script = Script::default()
            .head()
            .packet(&row)
            .packet(b"\x011\x012")
            .end(2);
        let status = read(&script.bytes, 100_000);
        assert!(
            status.ends_with(&format!("NULL {length} bytes \"1\" \"2\" 3 warnings 0x2")),
            "{status}"
        );
    }
}

#[test]
fn no_memory_is_taken_for_what_is_only_announced() {
    let bytes = [
        Script::default().head().bytes,
        b"\xff\xff\xff\x05\xfexyz".to_vec(),
    ]
    .concat();
    let mut result = TextResult::new(PacketReader::new(
        Pieces {
            bytes: &bytes,
            piece: 9,
        },
        MOST,
    ));
    assert!(result.next_set().is_ok());
    assert!(result.next_row().is_err());
    assert!(result.packets.capacity() < 1 << 20);
}

#[test]
fn a_large_row_is_forgotten_after_it() {
    let mut row = vec![0xfb, 0xfd, 0, 0, 0x40];
    row.resize(row.len() + (4 << 20), b'x');
    let script = Script::default()
        .head()
        .packet(&row)
        .packet(b"\x011\x012")
        .end(2);
    let pieces = Pieces {
        bytes: &script.bytes,
        piece: 1 << 20,
    };
    let mut result = TextResult::new(PacketReader::new(pieces, MOST));
    assert!(result.next_set().is_ok());
    assert!(result.next_row().unwrap().unwrap().size() > 4 << 20);
    assert!(result.next_row().unwrap().unwrap().size() < 10);
    assert!(result.packets.capacity() < 1 << 20);
}

/// Bytes that came with the large row are read in place.
#[test]
fn small_rows_after_a_large_one_are_not_moved_again_and_again() {
    let mut row = vec![0xfb, 0xfd, 0, 0, 0x40];
    row.resize(row.len() + (4 << 20), b'x');
    let rows = 50_000;
    let script = (0..rows).fold(Script::default().head().packet(&row), |script, _| {
        script.packet(b"\x011\x012")
    });
    let bytes = script.end(2).bytes;
    let pieces = Pieces {
        bytes: &bytes,
        piece: bytes.len(),
    };
    let mut result = TextResult::new(PacketReader::new(pieces, MOST));
    assert!(result.next_set().is_ok() && result.next_row().is_ok());
    let (mut capacity, mut changes) = (result.packets.capacity(), 0);
    for _ in 0..rows {
        assert!(result.next_row().unwrap().is_some());
        changes += usize::from(result.packets.capacity() != capacity);
        capacity = result.packets.capacity();
    }
    assert!(changes < 10 && capacity < 1 << 20, "{changes} {capacity}");
}

#[test]
fn columns_without_end_have_one() {
    let script = Script::default().packet(&[0xfd, 0xff, 0xff, 0xff]);
    let columns = (0..70_000).fold(script, |script, _| script.column("a", 8));
    let status = read(&columns.bytes, 1 << 20);
    assert!(status.contains("too many columns"), "{status}");
}

#[test]
fn more_than_the_answer_is_seen() {
    for (more, expected) in [(&b""[..], false), (b"\x01", true)] {
        let answer = Script::default().head().packet(b"\x011\x012").end(2).bytes;
        let pieces = Pieces {
            bytes: &[&answer, more].concat(),
            piece: 1 << 20,
        };
        let mut result = TextResult::new(PacketReader::new(pieces, MOST));
        assert!(result.next_set().is_ok());
        while result.next_row().unwrap().is_some() {}
        assert_eq!(result.overrun().is_some(), expected);
    }
}

#[test]
fn what_makes_no_sense_is_told() {
    let column = b"\x03def\x02db\x01t\x01t\x01a\x01a\x0c\x2d\x00";
    let cases: [(&str, Script); 13] = [
        ("a row", Script::default().head().packet(b"\x011")),
        ("a row", Script::default().head().packet(b"\x011\x012\x013")),
        ("a row", Script::default().head().packet(b"\x011\x09short")),
        (
            "a row",
            Script::default()
                .head()
                .packet(&[[0xfe].as_slice(), &[255; 20]].concat()),
        ),
        (
            "no end of the columns",
            Script::default()
                .packet(&[1])
                .column("a", 8)
                .packet(b"\x011"),
        ),
        ("a column", Script::default().packet(&[1]).packet(column)),
        ("a column", Script::default().packet(&[1]).column("a", 0xdd)),
        (
            "no columns",
            Script::default().packet(&[0xfe, 0, 0, 0, 0, 0, 0, 0, 0]),
        ),
        (
            "no columns",
            Script::default().packet(&[0xfe, 0, 0, 0, 1, 0, 0, 0, 0]),
        ),
        ("no columns", Script::default().packet(&[2, 0])),
        (
            "a packet is cut short",
            Script::default().packet(&[0, 0, 0, 2]),
        ),
        ("a packet is cut short", Script::default().packet(&[0xff])),
        ("an empty packet", Script::default().head().packet(&[])),
    ];
    for (expected, script) in cases {
        let status = read(&script.bytes, 1000);
        assert!(
            status.ends_with(&format!(
                "MySQL protocol ({expected}); the statement was not repeated"
            )),
            "{status}"
        );
    }
    let mut script = two_results();
    script.packets = 77;
    let status = read(&script.end(0).bytes, 1000);
    assert!(
        status.contains("(a row)") || status.contains("out of sync"),
        "{status}"
    );
    let status = read(&Script::default().packet(b"\xfb/etc/passwd").bytes, 1000);
    assert!(status.contains("asked for a local file"), "{status}");
    let most = u32::try_from(MOST).unwrap();
    let large = (0..=most >> 24).fold(Script::default().head(), |script, _| script);
    let mut bytes = large.bytes;
    for number in 5..=7 {
        bytes.extend_from_slice(&[0xff, 0xff, 0xff, number]);
        bytes.resize(bytes.len() + 0xff_ffff, 1);
    }
    assert!(read(&bytes, 1 << 20).contains("a row exceeds the size limit"));
}

#[test]
fn a_server_error_ends_the_answer() {
    let error = b"\xff\x28\x04#42000you have an error";
    let status = read(&Script::default().packet(error).bytes, 1000);
    assert_eq!(status, "failed: you have an error");
    let status = read(
        &Script::default()
            .head()
            .packet(b"\x011\x012")
            .packet(b"\xff\x28\x04odd")
            .bytes,
        1000,
    );
    assert!(status.ends_with("\"1\" \"2\" failed: odd"), "{status}");
    let parsed = server_error(error).unwrap();
    assert_eq!((parsed.code, parsed.state.as_str()), (1064, "42000"));
    assert_eq!(server_error(b"\xff\x28\x04odd").unwrap().state, "HY000");
    assert!(server_error(b"\xff\x28").is_none() && server_error(b"\xff\x28\x04#420").is_none());
}

/// A valid answer with bytes replaced, dropped and doubled gives an end or an error, and never a panic.
#[test]
fn smoke_of_broken_answers() {
    let good = two_results().end(8).packet(&[0, 1, 1, 2, 0, 0, 0]).bytes;
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed >> 33).unwrap() % below
    };
    for _ in 0..20_000 {
        let mut bytes = good.clone();
        for _ in 0..=random(3) {
            let at = random(bytes.len());
            match random(3) {
                0 => bytes[at] = [0, 1, 0xfb, 0xfc, 0xfd, 0xfe, 0xff, 8][random(8)],
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, bytes[at]),
            }
        }
        let status = read(&bytes, 1 + random(40));
        assert!(
            status.contains("warnings") || status.contains("failed"),
            "{status}"
        );
    }
}
