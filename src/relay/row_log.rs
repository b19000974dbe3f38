//! `relay.rows`: the rows of a single relay's state, in a file to which each change is appended.
//!
//! ```text
//! CRC  NUMBER  LEFT  KIND  KEY  VALUE      separated by tabs; KEY and VALUE are JSON, no VALUE removes the row
//! ```
//!
//! CRC is the CRC-32 (IEEE 802.3) of the rest of the line, in hexadecimal digits. NUMBER is that of the change, one
//! more than the one before; LEFT is the number of its lines that follow, so that a change counts as a whole. The first
//! change has all rows, and begins with the form; when the appended lines are longer than that, all rows are written to
//! a new file that replaces the old one. A change without its end was never answered, and is dropped. The sums and
//! numbers show any other damage.
//!
//! Beside it, `relay.json` says that there is such a file: versions 0.1.0 read their state there, and refuse one of a
//! later form, instead of forgetting the revocations.

use crc32fast::hash;

use super::earlier::{self, CAP, MARK};
use super::state::RelayState;
use super::state_rows::{self, Kind, Row, Rows};
use super::store_error::Error;
use crate::store::{self, DataDir, Locked};

/// The log.
pub(super) const ROWS: &str = "relay.rows";
/// Form of the state: 1 and 2 were one JSON document.
pub(super) const FORM: u32 = 3;
/// Content of the mark. No earlier version takes it for a state, whichever of its bytes is damaged.
const MARKER: &str = "{\"version\":3,\"rows\":\"relay.rows\"}\n";
/// Bytes that may be appended before everything is written anew. Default 64 KiB.
const SLACK: u64 = 64 * 1024;
/// Kind of the first line.
const FIRST: &str = "form";

/// The log, as far as it is known.
pub(super) struct RowLog {
    home: DataDir,
    /// Number of the last change.
    number: u64,
    /// Bytes of the first change.
    whole: u64,
    /// Bytes of all changes; none if unknown, or if the file does not end as it should.
    length: Option<u64>,
    /// Bytes after these, of a change without its end.
    pub(super) torn: u64,
    /// The file after the last write: its number in the file system, and its bytes.
    left: Option<(u64, u64)>,
    /// True if the mark is there.
    is_marked: bool,
}

/// Content of a directory.
pub(super) enum StoredState {
    Nothing,
    /// The state of an earlier version, which is not written as rows yet, and its document.
    Earlier(RelayState, Vec<u8>),
    Log(RelayState, RowLog),
    Damaged(Damaged),
}

/// A directory with a file that is damaged.
pub(super) struct Damaged {
    pub(super) file: &'static str,
    /// The part that can be read.
    pub(super) state: RelayState,
    /// The other parts, in a few words each; none if only the mark is damaged.
    pub(super) lost: Vec<String>,
}

/// Reads the directory, and changes nothing.
pub(super) fn look(home: &DataDir) -> Result<StoredState, Error> {
    for name in [MARK, ROWS] {
        home.refuse_foreign(name)?;
    }
    // In this order: a state that is moved from the one to the other meanwhile is in both.
    let mark = home.read(MARK, CAP)?;
    let rows = home.read(ROWS, CAP)?;
    let form = mark
        .as_deref()
        .and_then(form)
        .max(rows.as_deref().and_then(form_of));
    if let Some(form) = form.filter(|form| *form > FORM) {
        return Err(Error::Newer(form));
    }
    let is_earlier = |mark: &[u8]| self::form(mark).is_some_and(|form| form < FORM);
    let Some(rows) = rows else {
        return match mark {
            None => Ok(
                earlier::remains(home)?.map_or(StoredState::Nothing, |state| {
                    StoredState::Earlier(state, Vec::new())
                }),
            ),
            Some(mark) if mark == MARKER.as_bytes() => Ok(StoredState::Damaged(Damaged {
                file: ROWS,
                state: RelayState::default(),
                lost: vec!["it is missing".to_owned()],
            })),
            Some(mark) => Ok(StoredState::Earlier(earlier::read(home, &mark)?, mark)),
        };
    };
    let (state, lost, mut log) = read(home, &rows);
    log.is_marked = mark.is_some();
    let file = match mark {
        // A damaged one is none of these.
        Some(mark) if is_earlier(&mark) => match earlier::read(home, &mark) {
            Err(Error::Earlier(..)) => MARK,
            state => return Ok(StoredState::Earlier(state?, mark)),
        },
        Some(mark) if mark != MARKER.as_bytes() => MARK,
        _ if lost.is_empty() => return Ok(StoredState::Log(state, log)),
        _ => ROWS,
    };
    Ok(StoredState::Damaged(Damaged { file, state, lost }))
}

/// Returns the form in the first line of a log.
fn form_of(rows: &[u8]) -> Option<u32> {
    let first = Line::read(rows.split(|byte| *byte == b'\n').next()?)?;
    let value = first.value.filter(|_| first.kind == FIRST)?;
    serde_json::from_slice(value).ok()
}

/// Returns the form in the mark; none if it cannot be read.
fn form(mark: &[u8]) -> Option<u32> {
    #[derive(serde::Deserialize)]
    struct Form {
        version: u32,
    }
    let form: Form = serde_json::from_slice(mark).ok()?;
    Some(form.version)
}

/// A line of the log.
struct Line<'a> {
    number: u64,
    left: u64,
    kind: &'a str,
    key: String,
    value: Option<&'a [u8]>,
}

impl<'a> Line<'a> {
    /// Reads a line; none if the sum or the form is wrong.
    fn read(line: &'a [u8]) -> Option<Self> {
        let (sum, content) = line.split_at_checked(8)?;
        let content = content.strip_prefix(b"\t")?;
        if self::sum(content).as_bytes() != sum {
            return None;
        }
        let mut parts = std::str::from_utf8(content).ok()?.splitn(5, '\t');
        Some(Self {
            number: parts.next()?.parse().ok()?,
            left: parts.next()?.parse().ok()?,
            kind: parts.next()?,
            key: serde_json::from_slice(parts.next()?.as_bytes()).ok()?,
            value: parts
                .next()
                .filter(|value| !value.is_empty())
                .map(str::as_bytes),
        })
    }

    fn write(&self, lines: &mut Vec<u8>) {
        let key = serde_json::to_string(&self.key).expect("a text has JSON");
        let value = String::from_utf8_lossy(self.value.unwrap_or_default());
        let content = format!(
            "{}\t{}\t{}\t{key}\t{value}",
            self.number, self.left, self.kind
        );
        lines.extend(format!("{}\t{content}\n", sum(content.as_bytes())).bytes());
    }
}

fn sum(content: &[u8]) -> String {
    format!("{:08x}", hash(content))
}

fn lines(number: u64, rows: &[Row], lines: &mut Vec<u8>) {
    for (row, left) in rows.iter().zip((0..wide(rows.len())).rev()) {
        let line = Line {
            number,
            left,
            kind: row.kind.name(),
            key: row.key.clone(),
            value: row.value.as_deref().map(str::as_bytes),
        };
        line.write(lines);
    }
}

/// Reads a log: the state of its lines, the lost parts in a few words each, and the log to go on with.
fn read(home: &DataDir, bytes: &[u8]) -> (RelayState, Vec<String>, RowLog) {
    let (mut state, mut lost) = (RelayState::default(), Vec::new());
    let mut log = RowLog::new(home.clone());
    // Lines of the last change that are missing, and the ones that are there.
    let (mut left, mut pending) = (0, Vec::<(usize, Line<'_>)>::new());
    let (mut at, mut length, mut is_ended, mut is_unsure) = (0, 0, true, false);
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let place = index + 1;
        at += wide(line.len());
        is_ended = line.ends_with(b"\n");
        // The last line may be whole except for its end.
        let found = line.split_last().and_then(|(_, line)| Line::read(line));
        let Some(line) = found.or_else(|| Line::read(line)) else {
            if is_ended {
                lost.push(format!("line {place} of {ROWS}"));
            }
            is_unsure = true;
            continue;
        };
        let is_next = match (index, left) {
            (0, _) => line.kind == FIRST && line.value == Some(FORM.to_string().as_bytes()),
            (_, 0) => line.number == log.number + 1,
            (_, left) => line.number == log.number && line.left + 1 == left,
        };
        let is_past = !is_next && !is_unsure && left == 0 && line.number == log.number;
        if is_past || line.number < log.number {
            lost.push(format!("line {place} of {ROWS}, which is out of order"));
            continue;
        }
        if !is_next && !is_unsure {
            lost.push(format!("lines before line {place} of {ROWS}"));
        }
        is_unsure = false;
        (log.number, left) = (line.number, line.left);
        pending.push((place, line));
        if left == 0 {
            put(&mut state, pending.drain(..), &mut lost);
            log.whole = if log.whole == 0 { at } else { log.whole };
            length = at;
        }
    }
    if length == 0 && lost.is_empty() {
        lost.push(format!("the end of {ROWS}"));
    }
    if !lost.is_empty() {
        put(&mut state, pending.drain(..), &mut lost);
        // A connector whose revocation is partly lost counts as revoked.
        for name in &state.revoked.clone() {
            state.connectors.remove(name);
        }
    } else if let Some((_, line)) = pending.first() {
        log.number = line.number - 1;
    }
    log.length = is_ended.then_some(length);
    log.torn = wide(bytes.len()) - length;
    log.left = identity(home).filter(|(_, found)| *found == wide(bytes.len()));
    (state, lost, log)
}

/// Puts lines into a state; a line that does not fit is lost.
fn put<'a>(
    state: &mut RelayState,
    lines: impl Iterator<Item = (usize, Line<'a>)>,
    lost: &mut Vec<String>,
) {
    for (place, line) in lines.filter(|(_, line)| line.kind != FIRST) {
        let kind = Kind::named(line.kind);
        let put = kind.map(|kind| state_rows::put(state, kind, &line.key, line.value));
        if !matches!(put, Some(Ok(()))) {
            lost.push(format!("line {place} of {ROWS}"));
        }
    }
}

impl RowLog {
    /// Makes the log of a directory that has none, or whose damaged one was set aside. The first rows create the file.
    pub(super) fn new(home: DataDir) -> Self {
        Self {
            home,
            number: 0,
            whole: 0,
            length: None,
            torn: 0,
            left: None,
            is_marked: false,
        }
    }

    /// Writes the mark, if it is missing.
    pub(super) fn mark(&mut self, locked: &Locked) -> Result<(), store::Error> {
        if !self.is_marked {
            locked.write(MARK, MARKER.as_bytes())?;
            self.is_marked = true;
        }
        Ok(())
    }

    /// Writes all rows into a new file.
    pub(super) fn write_all(
        &mut self,
        locked: &Locked,
        state: &RelayState,
    ) -> Result<(), store::Error> {
        let rows = state_rows::all(state);
        let number = self.number + 1;
        let (mut content, form) = (Vec::new(), FORM.to_string());
        let form = Line {
            number,
            left: wide(rows.len()),
            kind: FIRST,
            key: String::new(),
            value: Some(form.as_bytes()),
        };
        form.write(&mut content);
        lines(number, &rows, &mut content);
        locked.write(ROWS, &content)?;
        self.mark(locked)?;
        self.number = number;
        self.whole = wide(content.len());
        self.length = Some(self.whole);
        self.left = identity(&self.home);
        Ok(())
    }
}

impl Rows for RowLog {
    fn apply(&mut self, rows: &[Row], state: &RelayState) -> Result<(), Error> {
        let locked = self.home.lock()?;
        // A file that somebody has changed, removed or replaced is written anew: all rows are in memory.
        let is_as_left = self.left.is_some() && self.left == identity(&self.home);
        let is_short = |length: &u64| *length <= self.whole + self.whole.max(SLACK);
        let length = self
            .length
            .take()
            .filter(|length| is_as_left && is_short(length));
        let Some(length) = length else {
            return Ok(self.write_all(&locked, state)?);
        };
        let mut content = Vec::new();
        lines(self.number + 1, rows, &mut content);
        locked.append(ROWS, length, &content)?;
        self.number += 1;
        self.length = Some(length + wide(content.len()));
        self.left = identity(&self.home);
        Ok(())
    }

    fn number(&self) -> u64 {
        self.number
    }

    fn end(&mut self, state: &RelayState) -> Result<(), Error> {
        let locked = self.home.lock()?;
        Ok(self.write_all(&locked, state)?)
    }
}

/// Returns the log's number in the file system, and its bytes; none if it is missing, or others can write it.
fn identity(home: &DataDir) -> Option<(u64, u64)> {
    home.refuse_foreign(ROWS).ok()?;
    let found = std::fs::symlink_metadata(home.dir().join(ROWS)).ok()?;
    #[cfg(unix)]
    let number = std::os::unix::fs::MetadataExt::ino(&found);
    #[cfg(not(unix))]
    let number = 0;
    found.is_file().then_some((number, found.len()))
}

fn wide(length: usize) -> u64 {
    u64::try_from(length).expect("a length has at most 64 bits")
}

#[cfg(test)]
#[path = "row_log_tests.rs"]
mod tests;
