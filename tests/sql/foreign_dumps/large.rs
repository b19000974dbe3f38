//! A large dump: in memory that does not grow with it, with progress, at the console's speed.

use std::time::Instant;

use serde_json::Value;
use support::database::Database;
use support::postern::Postern;
use support::{is_whole, rounds};

use super::{AS_IT_IS, console, empty, in_pieces, tool, whole};

/// A way to restore, by name.
type Way<'a> = (&'a str, &'a dyn Fn(&Postern) -> Vec<Value>);

/// Memory that a restore may take beside what an idle process has, in KiB: one statement several times.
const MOST_KIB: u64 = 24 << 10;

#[test]
fn a_large_dump_is_restored_in_constant_memory_with_progress() {
    const NAME: &str = "foreign_large";
    let db = Database::shared();
    empty(db, NAME);
    let rows = u32::try_from(rounds(6_000, 150_000)).unwrap();
    let numbers = db.numbers(rows);
    db.exec(&format!(
        "USE {NAME}; CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(900), b VARBINARY(700), at DATETIME, KEY (at)); \
         INSERT INTO t SELECT seq, REPEAT(CONCAT(seq, ' it''s; '), 55), UNHEX(REPEAT(SHA2(seq, 512), 10)), \
         '2024-01-01' + INTERVAL seq MINUTE FROM {numbers}"
    ));
    let file = tool(db, "mysqldump").arg(NAME).output().unwrap().stdout;
    let sums = || {
        db.value(&format!(
            "SELECT CONCAT_WS(' ', COUNT(*), SUM(CRC32(v)), SUM(CRC32(b)), SUM(TO_SECONDS(at))) FROM {NAME}.t"
        ))
    };
    let before = sums();
    empty(db, NAME);
    let start = Instant::now();
    assert_eq!(console(db, NAME, &file, AS_IT_IS), []);
    let by_console = start.elapsed();
    assert_eq!(sums(), before);
    let ways: [Way<'_>; 2] = [
        ("one request", &|postern| whole(postern, NAME, &file)),
        ("pieces", &|postern| {
            in_pieces(postern, NAME, &file, 1 << 20)
        }),
    ];
    for (way, run) in ways {
        empty(db, NAME);
        let postern = Postern::on(db, &[]);
        let idle = postern.peak_rss_kib();
        let start = Instant::now();
        let told = run(&postern);
        let took = start.elapsed();
        let more = postern.peak_rss_kib() - idle;
        let ratio = took.as_secs_f64() / by_console.as_secs_f64();
        eprintln!(
            "{} MB by {way}: {took:.2?}, {ratio:.2} times the console's {by_console:.2?}, {more} KiB more",
            file.len() >> 20
        );
        assert_eq!(told.last().unwrap()["failed"], 0, "{way}");
        assert_eq!(sums(), before, "{way}");
        assert!(more < MOST_KIB, "{way} took {more} KiB");
        let lines = told.iter().map(|one| one["line"].as_u64().unwrap());
        assert!(lines.is_sorted(), "{way}: progress goes forward");
        assert!(told.len() > file.len() >> 20, "{way}: progress is told");
        assert!(!is_whole() || ratio < 3.0, "{way}: {ratio} times as long");
    }
}
