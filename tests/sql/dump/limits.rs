//! One moment, memory, and ends before the end.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{dump, restore, whole};
use support::database::Database;
use support::postern::Postern;
use support::wait_until;

/// A database whose first table, by name, has `rows` rows of a kilobyte.
fn large(name: &str, rows: u32) -> &'static Database {
    let db = Database::shared();
    let numbers = db.numbers(rows);
    db.exec(&format!(
        "DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name}; \
         CREATE TABLE {name}.a_large (id INT PRIMARY KEY, v VARCHAR(1100)); \
         CREATE TABLE {name}.b (id INT PRIMARY KEY AUTO_INCREMENT, n INT); CREATE TABLE {name}.c LIKE {name}.b; \
         INSERT INTO {name}.b VALUES (1, 100); INSERT INTO {name}.c VALUES (1, 100)"
    ));
    let from = if numbers.contains('.') {
        numbers
    } else {
        format!("{name}.{numbers}")
    };
    db.exec(&format!(
        "INSERT INTO {name}.a_large SELECT seq, REPEAT('it''s x', 160) FROM {from}"
    ));
    db
}

#[test]
fn a_dump_is_of_one_moment_whatever_others_write() {
    let db = large("dump_moment", 20_000);
    let postern = Postern::on(db, &[]);
    let stream = postern
        .client()
        .post_stream("/api/dump", &whole("dump_moment"));
    assert_eq!(stream.head.status, 200);
    // The first table is under way, and its megabytes wait for their reader.
    for _ in 0..20 {
        db.exec(
            "USE dump_moment; BEGIN; UPDATE b SET n = n - 1 WHERE id = 1; UPDATE c SET n = n + 1 WHERE id = 1; \
             INSERT INTO b (n) VALUES (0); INSERT INTO c (n) VALUES (0); DELETE FROM a_large WHERE id > 19000; COMMIT",
        );
    }
    let (answer, _) = stream.finish().unwrap();
    assert!(answer.body.ends_with(b"\n-- Dump completed\n"));
    restore(db, &answer.body, "dump_moment_again", "");
    let counted = db.value(
        "SELECT CONCAT((SELECT COUNT(*) FROM dump_moment_again.a_large), ' ', (SELECT CONCAT(n, ' ', (SELECT COUNT(*) FROM dump_moment_again.b)) \
         FROM dump_moment_again.b WHERE id = 1), ' ', (SELECT n FROM dump_moment_again.c WHERE id = 1))",
    );
    assert_eq!(counted, "20000 100 1 100");
}

#[test]
fn a_dump_that_fails_never_looks_whole() {
    let db = large("dump_fails", 20_000);
    let postern = Postern::on(db, &[]);
    let stream = postern
        .client()
        .post_stream("/api/dump", &whole("dump_fails"));
    assert_eq!(stream.head.status, 200);
    db.exec("DROP TABLE dump_fails.c");
    let error = stream
        .finish()
        .err()
        .expect("the transfer must not end cleanly");
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{error}");
    // Before its first byte it fails as any request does.
    let answer = postern.client().post(
        "/api/dump",
        &json!({"db": "dump_fails", "tables": ["b", "c"]}),
    );
    assert_eq!(answer.status(), 400, "{}", answer.text());
    assert!(answer.text().contains("'c'"), "{}", answer.text());
}

#[test]
fn a_dump_ends_on_the_server_when_it_is_cancelled_or_nobody_takes_it() {
    let db = large("dump_ends", 20_000);
    let postern = Postern::on(db, &[]);
    let streaming = || db.running("`a_large`") > 0;
    // Three seconds are plenty; other tests share the cores, so the best of some attempts counts.
    let soon = |begin: &dyn Fn()| {
        (0..4).any(|_| {
            begin();
            let since = Instant::now();
            wait_until(Duration::from_secs(20), "the dump has ended", || {
                !streaming()
            });
            since.elapsed() < Duration::from_secs(3)
        })
    };
    let under_way = || wait_until(Duration::from_secs(10), "the dump is under way", streaming);
    assert!(soon(&|| {
        let stream = postern
            .client()
            .post_stream("/api/dump", &whole("dump_ends"));
        under_way();
        stream.abandon();
    }));
    let asked = json!({"db": "dump_ends", "query_id": "d"});
    assert!(soon(&|| {
        let stream = postern.client().post_stream("/api/dump", &asked);
        under_way();
        let cancelled = postern
            .client()
            .post("/api/cancel", &json!({"query_id": "d"}));
        assert_eq!(cancelled.status(), 200);
        assert!(stream.finish().is_err(), "a cancelled dump is not whole");
    }));
}

#[test]
fn a_large_dump_takes_little_memory() {
    let db = large("dump_memory", 100_000);
    let postern = Postern::on(db, &[]);
    let small = json!({"db": "dump_memory", "tables": ["b"]});
    dump(&mut postern.client(), &small);
    let before = postern.peak_rss_kib();
    let began = Instant::now();
    let file = dump(&mut postern.client(), &whole("dump_memory"));
    let (after, took) = (postern.peak_rss_kib(), began.elapsed());
    assert!(file.len() > 95_000_000, "{}", file.len());
    println!(
        "{} MB in {took:.1?}, {} KiB more",
        file.len() / 1_000_000,
        after - before
    );
    assert!(after - before < 8 << 10, "{before} KiB, then {after} KiB");
    // Statements stay below what a server of today takes.
    let longest = file
        .split(|b| *b == b';')
        .map(<[u8]>::len)
        .max()
        .unwrap_or_default();
    assert!((400_000..1_100_000).contains(&longest), "{longest}");
}
