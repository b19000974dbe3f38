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
    /// Where it stands: file and line.
    pub(super) place: String,
    /// What it is about.
    pub(super) kind: String,
    /// The statement, without the semicolon.
    pub(super) sql: String,
    /// Whether its rows differ from one run to the next.
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
    /// Whether it is for a server of that version.
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
