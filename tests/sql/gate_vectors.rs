//! The shared vectors of the read-only gate and of statement splitting, and the
//! gate's behaviour on large and random texts.

use std::time::{Duration, Instant};
use std::{env, fs};

use postern::sqlweb::gate::{self, Dialect};
use serde::Deserialize;
use support::allowed;

const MARIADB: Dialect = Dialect::mariadb((10, 11, 0));

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Verdict {
    sql: String,
    ok: bool,
    statement: Option<String>,
    why: Option<String>,
    server: Option<String>,
    /// Statement that is sent instead; none otherwise.
    rebuilt: Option<String>,
    /// The database of `EXPLAIN FOR SCHEMA`; none otherwise.
    database: Option<String>,
    /// Functions that only a component supplies.
    #[serde(default)]
    supplied: Vec<String>,
    /// Functions of `sys`.
    #[serde(default)]
    sys: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Split {
    sql: String,
    statements: Vec<String>,
    /// Uses `DELIMITER`, which is no word of the server's; the script reader's own test has these too.
    #[serde(default)]
    delimiter: bool,
    /// Of `mariadb` or `mysql` alone.
    server: Option<String>,
    /// The session's `sql_mode`.
    #[serde(default)]
    modes: String,
    /// Leaves marks in a table, by which the consoles are compared.
    #[serde(default, rename = "marks")]
    _marks: bool,
    /// Has a compound statement, around which a console needs a delimiter.
    #[serde(default, rename = "compound")]
    _compound: bool,
}

fn read<T: serde::de::DeserializeOwned>(name: &str) -> Vec<T> {
    let path = format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn verdicts() {
    let vectors: Vec<Verdict> = read("gate.json");
    assert!(vectors.len() >= 250, "{} vectors", vectors.len());
    let wrong: Vec<String> = vectors.iter().filter_map(disagreement).collect();
    assert!(
        wrong.is_empty(),
        "{} vectors disagree:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

fn disagreement(vector: &Verdict) -> Option<String> {
    let server = vector.server.as_deref();
    let dialect = server.map_or(MARIADB, |text| Dialect::from_server_version(text).unwrap());
    let (passed, found) = match gate::check(&vector.sql, &dialect) {
        Ok(passed) if !same_parts(&passed, vector) => (true, format!("{passed:?}")),
        Ok(passed) => (true, passed.kind.name().to_owned()),
        Err(refusal) => (false, refusal.statement),
    };
    let named = match &vector.statement {
        Some(name) => *name == found,
        None => !found.starts_with("ReadOnlyStatement"),
    };
    let right = passed == vector.ok && named;
    (!right).then(|| {
        format!(
            "{:?}: {found:?} (expected {:?} {:?})",
            vector.sql, vector.statement, vector.why
        )
    })
}

/// True if the statement sent and the questions to the server are those of the vector.
fn same_parts(passed: &gate::ReadOnlyStatement, vector: &Verdict) -> bool {
    passed.rebuilt == vector.rebuilt
        && passed.calls.database == vector.database
        && passed.calls.supplied.iter().eq(&vector.supplied)
        && passed.calls.sys.iter().eq(&vector.sys)
}

#[test]
fn splits() {
    let vectors: Vec<Split> = read("split.json");
    assert!(vectors.len() >= 300, "{} vectors", vectors.len());
    for vector in vectors.iter().filter(|vector| !vector.delimiter) {
        let mut dialect = MARIADB;
        dialect.mariadb = vector.server.as_deref() != Some("mysql");
        dialect.ansi_quotes = vector.modes.contains("ANSI_QUOTES");
        dialect.no_backslash_escapes = vector.modes.contains("NO_BACKSLASH_ESCAPES");
        let sql = vector.sql.trim_start_matches('\u{feff}');
        let found: Vec<&str> = gate::split(sql, &dialect).map(|span| &sql[span]).collect();
        assert_eq!(found, vector.statements, "{:?}", vector.sql);
    }
}

/// Shapes that make a careless lexer recurse, look ahead without end or copy.
#[rustfmt::skip]
const SHAPES: &[&str] = &[
    "(", ")", "f(", "f(a,", "a,", "SELECT ", "WITH a AS (", "CASE ", "BEGIN ", "/*", "/**/", "a/* */(", "-- \n", "'",
    "''", "`", "\\", "'\\", "@", "@@a.", ".", "1.", "a.", "1e", "0x", ";", "SELECT 1;", "DESC a.", "EXPLAIN ",
    "NEXT VALUE ", "é", "\u{feff}", "/*!", "/*! */", "x'", "(SELECT ", "a AS (",
];

#[test]
fn large_texts_take_linear_time() {
    // Generous for a debug build on a busy machine; anything quadratic takes hours.
    let limit = Duration::from_secs(20);
    for shape in SHAPES {
        for prefix in ["", "SELECT ", "CREATE PROCEDURE p() BEGIN "] {
            let text = prefix.to_owned() + &shape.repeat(200_000 / shape.len());
            let start = Instant::now();
            let _ = gate::check(&text, &MARIADB);
            let _ = gate::split(&text, &MARIADB).count();
            assert!(start.elapsed() < allowed(limit), "{prefix}{shape} repeated");
        }
    }
    let deep = "(".repeat(10_000_000) + "SELECT 1";
    let refusal = gate::check(&deep, &MARIADB).unwrap_err();
    assert_eq!(refusal.statement, "nesting");
}

#[test]
fn random_texts_do_not_panic() {
    let seed = env::var("POSTERN_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let mut random = Random(seed.unwrap_or(0x9E37_79B9_7F4A_7C15));
    println!("POSTERN_SEED={}", random.0);
    let words: Vec<Verdict> = read("gate.json");
    for _ in 0..5_000 {
        let text = random.text(&words);
        for dialect in [MARIADB, Dialect::mysql((8, 0, 36))] {
            match gate::check(&text, &dialect) {
                Ok(_) => assert_eq!(gate::split(&text, &dialect).count(), 1, "{text:?}"),
                Err(refusal) => assert!(refusal.offset <= text.len(), "{text:?}"),
            }
            let mut end = 0;
            for span in gate::split(&text, &dialect) {
                assert!(
                    span.start >= end && text.get(span.clone()).is_some(),
                    "{text:?}"
                );
                end = span.end;
            }
        }
    }
}

/// xorshift64*: small, seeded, good enough to stir tokens.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % limit
    }

    /// Slices of vectors and single characters in a row.
    fn text(&mut self, vectors: &[Verdict]) -> String {
        let mut text = String::new();
        for _ in 0..=self.below(6) {
            let piece: Vec<char> = vectors[self.below(vectors.len())].sql.chars().collect();
            let start = self.below(piece.len() + 1);
            let end = start + self.below(piece.len() - start + 1);
            text.extend(&piece[start..end]);
            let odd = [
                '\'',
                '"',
                '`',
                '\\',
                '/',
                '*',
                '!',
                '\0',
                '(',
                ')',
                '@',
                '.',
                ';',
                'é',
                '\u{10FFFF}',
                '\n',
                '-',
                '#',
            ];
            text.push(odd[self.below(odd.len())]);
        }
        text
    }
}

#[path = "../fuzz/inputs/gate.rs"]
mod fuzz_input;

/// The fuzz target's promises, for the texts of all vectors in each dialect that it tries.
#[test]
fn the_inputs_of_the_fuzz_target_are_survived() {
    let verdicts = read::<Verdict>("gate.json").into_iter();
    let texts = verdicts.map(|vector| vector.sql);
    let splits = read::<Split>("split.json").into_iter();
    for sql in texts.chain(splits.map(|vector| vector.sql)) {
        for flags in 0..32 {
            fuzz_input::run(flags, &sql);
        }
    }
}
