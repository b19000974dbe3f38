//! The corpus: statements in SQL files, each with the marks that stand before it.
//!
//! | line | means |
//! |---|---|
//! | `-- kind: WORDS` | what the statements from here on are about |
//! | `-- since 11.7` | the next statement is for servers of that version and later |
//! | `-- until 11.0` | the next statement is for servers before that version |
//! | `-- volatile` | its rows differ from one run to the next; columns are compared |
//! | `-- fails 1305` | it fails, with that error number, however it is sent |
//! | `-- refused: WORDS` | read-only mode refuses it, with these words in the reason |
//! | any other `-- ` | a remark |
//!
//! A statement ends with a semicolon at the end of a line.

/// One statement with its marks.
#[derive(Clone, Debug, Default)]
pub(super) struct Entry {
    /// File and line.
    pub(super) place: String,
    /// Topic.
    pub(super) kind: String,
    /// The statement, without the semicolon.
    pub(super) sql: String,
    /// True if its rows differ from one run to the next.
    pub(super) volatile: bool,
    /// The error number that it fails with.
    pub(super) fails: Option<u16>,
    /// Words of the reason for which read-only mode refuses it.
    pub(super) refused: Option<String>,
    since: Option<Version>,
    until: Option<Version>,
}

/// Major and minor.
type Version = (u16, u16);

impl Entry {
    /// True if it is for a server of that version.
    pub(super) fn is_for(&self, version: Version) -> bool {
        self.since.is_none_or(|since| version >= since)
            && self.until.is_none_or(|until| version < until)
    }

    fn mark(&mut self, remark: &str) {
        let (word, rest) = remark.split_once(' ').unwrap_or((remark, ""));
        match word {
            "since" => self.since = Some(version_of(rest)),
            "until" => self.until = Some(version_of(rest)),
            "volatile" => self.volatile = true,
            "fails" => self.fails = Some(rest.parse().expect("an error number follows `fails`")),
            "refused:" => self.refused = Some(rest.to_owned()),
            _ => {}
        }
    }
}

fn version_of(text: &str) -> Version {
    let (major, minor) = text.split_once('.').expect("a version has a point");
    let number = |part: &str| part.parse().unwrap_or_else(|e| panic!("{text}: {e}"));
    (number(major), number(minor))
}

/// The statements of the file `name` with the text `text`.
pub(super) fn parse(name: &str, text: &str) -> Vec<Entry> {
    let (mut entries, mut kind) = (Vec::new(), String::new());
    let mut next = Entry::default();
    for (number, line) in (1..).zip(text.lines()) {
        let inside = !next.sql.is_empty();
        match line.strip_prefix("-- ") {
            Some(remark) if !inside => match remark.strip_prefix("kind: ") {
                Some(words) => kind = words.to_owned(),
                None => next.mark(remark),
            },
            _ if line.trim().is_empty() && !inside => {}
            _ => {
                if inside {
                    next.sql.push('\n');
                } else {
                    next.place = format!("{name}:{number}");
                    next.kind.clone_from(&kind);
                }
                next.sql.push_str(line);
                if next.sql.ends_with(';') {
                    next.sql.pop();
                    entries.push(std::mem::take(&mut next));
                }
            }
        }
    }
    assert!(
        next.sql.is_empty(),
        "{name}: the last statement has no end: {}",
        next.sql
    );
    entries
}

/// Long and deep statements, as programs make them.
pub(super) fn generated() -> Vec<Entry> {
    let list = |count: u32, separator: &str, part: &dyn Fn(u32) -> String| {
        let parts: Vec<String> = (1..=count).map(part).collect();
        parts.join(separator)
    };
    let nested = |depth: usize, before: &str, inner: &str, after: &str| {
        format!("{}{inner}{}", before.repeat(depth), after.repeat(depth))
    };
    let texts = [
        format!(
            "SELECT id FROM customers WHERE id IN ({}) ORDER BY id",
            list(2000, ", ", &|n| n.to_string())
        ),
        format!(
            "SELECT id FROM orders WHERE (customer_id, id) IN ({}) ORDER BY id",
            list(1000, ",", &|n| format!("({n},{n})"))
        ),
        format!(
            "SELECT id FROM customers WHERE {} ORDER BY id",
            list(1000, " OR ", &|n| format!("`customers`.`id` = {n}"))
        ),
        format!(
            "SELECT id FROM customers WHERE {} ORDER BY id",
            list(1000, " AND ", &|n| format!("id <> {}", n + 3))
        ),
        format!(
            "SELECT CASE id {} END FROM customers ORDER BY id",
            list(500, " ", &|n| format!("WHEN {n} THEN 'number {n}'"))
        ),
        format!("SELECT {}", list(1000, ", ", &|n| format!("{n} AS c{n}"))),
        format!("SELECT {}", list(500, " + ", &|n| n.to_string())),
        list(300, " UNION ALL ", &|n| {
            format!("SELECT {n} AS n, 'x' AS t")
        }),
        format!(
            "WITH {} SELECT a FROM x60",
            list(60, ", ", &|n| format!("x{n} AS (SELECT {n} AS a)"))
        ),
        format!(
            "SELECT c1.id FROM customers c1 {} ORDER BY 1",
            list(29, " ", &|n| format!(
                "JOIN customers c{0} ON c{0}.id = c{n}.id",
                n + 1
            ))
        ),
        format!(
            "SELECT 1 WHERE {}",
            nested(100, "(1 = 1 AND ", "1 = 1", ")")
        ),
        format!(
            "SELECT {}",
            nested(100, "REPLACE(", "'text'", ", 'a', 'b')")
        ),
        format!("SELECT {}", nested(50, "IF(1 = 0, 'a', ", "'b'", ")")),
        format!(
            "SELECT * FROM {}",
            nested(20, "(SELECT * FROM ", "(SELECT 1 AS a) AS t", ") AS t")
        ),
        format!(
            "SELECT LENGTH('{}'), LENGTH(\"{}\")",
            "long; ".repeat(100_000),
            "''`".repeat(10_000)
        ),
        format!("SELECT {} 1", "/* a remark */ ".repeat(1000)),
        format!(
            "SELECT JSON_LENGTH('[{}]')",
            list(20_000, ",", &|n| n.to_string())
        ),
        format!(
            "SELECT '{}' AS wide FROM categories ORDER BY id",
            "é😀".repeat(30_000)
        ),
    ];
    let entry = |(number, sql): (u32, String)| Entry {
        place: format!("generated {number}"),
        kind: "long and deep ones".to_owned(),
        sql,
        ..Entry::default()
    };
    (1..).zip(texts).map(entry).collect()
}
