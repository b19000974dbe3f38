//! Names and comments in memory, and which of them match a search best.

use std::collections::{BinaryHeap, HashMap, HashSet};

#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

/// Most entries, and bytes of all of them.
const MAX_ENTRIES: usize = crate::limits::SEARCH_ENTRIES;
const MAX_BYTES: usize = crate::limits::SEARCH_SIZE;
/// Longest name, type or comment that is kept, in bytes; an ENUM's type may have 64 KiB.
const LONGEST: usize = 1024;

/// Databases of the server itself, which come after others.
const OF_SERVER: [&str; 4] = ["information_schema", "mysql", "performance_schema", "sys"];

/// Kind of a match, in the order in which equally good ones are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "MatchKind"))]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Database,
    Table,
    View,
    Column,
    Routine,
    Trigger,
    Event,
}

impl Kind {
    /// Names of all, as a request has them.
    pub(crate) const NAMES: [(&str, Self); 7] = [
        ("database", Self::Database),
        ("table", Self::Table),
        ("view", Self::View),
        ("column", Self::Column),
        ("routine", Self::Routine),
        ("trigger", Self::Trigger),
        ("event", Self::Event),
    ];
}

/// A search.
pub(crate) struct Query<'a> {
    pub(crate) text: &'a str,
    pub(crate) kind: Option<Kind>,
    pub(crate) db: Option<&'a str>,
    /// Database whose matches come first among equally good ones.
    pub(crate) near: Option<&'a str>,
    pub(crate) limit: usize,
}

/// Something that matches.
#[derive(Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(crate) struct Match<'a> {
    /// Its kind.
    kind: Kind,
    /// Its database.
    db: &'a str,
    /// The table of a column or trigger, else null.
    table: Option<&'a str>,
    /// Its name.
    name: &'a str,
    /// Type of a column; `BASE TABLE`, `VIEW` or `SEQUENCE`; `PROCEDURE` or `FUNCTION`; moment of a trigger or event.
    r#type: Option<&'a str>,
    /// Its comment, of which the first 1024 bytes count.
    comment: Option<&'a str>,
}

/// Result of a search.
pub(crate) struct Found<'a> {
    /// The best, best first.
    pub(crate) matches: Vec<Match<'a>>,
    /// Number of all.
    pub(crate) total: usize,
}

/// A piece of the arena: a text, and behind it the text in lower case where that is another one.
#[derive(Clone, Copy, Default)]
struct Text {
    start: u32,
    len: u16,
    /// Length in lower case; 0 if the text is in lower case.
    folded: u16,
}

#[derive(Clone, Copy)]
struct Entry {
    kind: Kind,
    /// Numbers of the entries of its database and its table; its own where it has none.
    db: u32,
    table: u32,
    name: Text,
    r#type: Text,
    comment: Text,
}

/// All entries. What is added after a database belongs to it.
#[derive(Default)]
pub(crate) struct Index {
    arena: String,
    entries: Vec<Entry>,
    types: HashMap<String, Text>,
    /// Number of the last database.
    db: u32,
    is_full: bool,
}

/// Number of entries and length of the arena at a moment.
#[derive(Clone, Copy)]
pub(super) struct Mark(usize, usize);

impl Index {
    /// Adds something; `table` is the number of a column's or trigger's table. Returns its number, or nothing if there is no
    /// more room.
    pub(super) fn add(&mut self, kind: Kind, table: Option<u32>, texts: [&str; 3]) -> Option<u32> {
        let [name, type_name, comment] = texts;
        let longest = 2 * (name.len() + type_name.len() + comment.len()).min(3 * LONGEST);
        let bytes = self.entries.len() * size_of::<Entry>() + self.arena.len() + longest;
        let number = u32::try_from(self.entries.len()).ok()?;
        if self.entries.len() >= MAX_ENTRIES || bytes > MAX_BYTES {
            self.is_full = true;
            return None;
        }
        if kind == Kind::Database {
            self.db = number;
        }
        let entry = Entry {
            kind,
            db: self.db,
            table: table.unwrap_or(number),
            name: self.text(name)?,
            r#type: self.type_name(type_name)?,
            comment: self.text(comment)?,
        };
        self.entries.push(entry);
        Some(number)
    }

    /// True if something was left out.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    pub(super) fn mark(&self) -> Mark {
        Mark(self.entries.len(), self.arena.len())
    }

    /// Removes what was added after `mark`.
    pub(super) fn go_back(&mut self, mark: Mark) {
        let Mark(entries, bytes) = mark;
        self.entries.truncate(entries);
        self.arena.truncate(bytes);
        self.types
            .retain(|_, text| usize::try_from(text.start).is_ok_and(|start| start < bytes));
    }

    /// Returns the views among `tables` (of the last database) whose columns are not known.
    pub(super) fn views_without_columns(&self, tables: impl Iterator<Item = u32>) -> HashSet<u32> {
        let is_view = |number: &u32| self.entry(*number).is_some_and(|e| e.kind == Kind::View);
        let mut views: HashSet<u32> = tables.filter(is_view).collect();
        let of_db = usize::try_from(self.db).unwrap_or_default();
        for entry in self.entries.iter().skip(of_db) {
            if entry.kind == Kind::Column {
                views.remove(&entry.table);
            }
        }
        views
    }

    /// Called when nothing more is added.
    pub(super) fn finish(&mut self) {
        self.types = HashMap::new();
        self.arena.shrink_to_fit();
        self.entries.shrink_to_fit();
    }

    fn text(&mut self, text: &str) -> Option<Text> {
        let text = first_bytes(text, LONGEST);
        let start = u32::try_from(self.arena.len()).ok()?;
        let len = u16::try_from(text.len()).ok()?;
        self.arena.push_str(text);
        let folded = text.to_lowercase();
        if folded == text {
            return Some(Text {
                start,
                len,
                folded: 0,
            });
        }
        self.arena.push_str(&folded);
        let folded = u16::try_from(folded.len()).ok()?;
        Some(Text { start, len, folded })
    }

    /// Few types are the same for most columns.
    fn type_name(&mut self, name: &str) -> Option<Text> {
        if let Some(known) = self.types.get(name) {
            return Some(*known);
        }
        let text = self.text(name)?;
        self.types.insert(name.to_owned(), text);
        Some(text)
    }

    fn at(&self, start: usize, len: u16) -> &str {
        let end = start + usize::from(len);
        self.arena.get(start..end).unwrap_or_default()
    }

    fn shown(&self, text: Text) -> &str {
        self.at(start_of(text), text.len)
    }

    fn folded(&self, text: Text) -> &str {
        match text.folded {
            0 => self.shown(text),
            len => self.at(start_of(text) + usize::from(text.len), len),
        }
    }

    fn entry(&self, number: u32) -> Option<&Entry> {
        self.entries.get(usize::try_from(number).ok()?)
    }

    /// The number of the database of that name, in the case that it has.
    pub(crate) fn database(&self, name: &str) -> Option<u32> {
        let is_it = |entry: &&Entry| entry.kind == Kind::Database && self.shown(entry.name) == name;
        self.entries.iter().find(is_it).map(|entry| entry.db)
    }

    /// Returns the best matches, and how many there are.
    pub(crate) fn find(&self, query: &Query<'_>) -> Found<'_> {
        let folded = query.text.to_lowercase();
        let words: Vec<&str> = folded.split(separates).filter(|w| !w.is_empty()).collect();
        let db = query.db.map(|db| self.database(db));
        let mut best = BinaryHeap::with_capacity(query.limit + 1);
        let near = query.near.and_then(|db| self.database(db));
        let (mut total, mut of_db, mut distance) = (0, None, OTHER);
        for (number, entry) in self.entries.iter().enumerate() {
            if of_db != Some(entry.db) {
                of_db = Some(entry.db);
                distance = self.distance(entry.db, near);
            }
            let is_asked_for = query.kind.is_none_or(|kind| kind == entry.kind)
                && db.is_none_or(|db| db == Some(entry.db));
            if !is_asked_for {
                continue;
            }
            let Some(score) = self.score(entry, &words) else {
                continue;
            };
            total += 1;
            best.push((score, entry.kind, distance, entry.name.len, number));
            if best.len() > query.limit {
                best.pop();
            }
        }
        let best = best.into_sorted_vec();
        let entries = best.iter().filter_map(|best| self.entries.get(best.4));
        Found {
            matches: entries.map(|entry| self.matched(entry)).collect(),
            total,
        }
    }

    fn distance(&self, db: u32, near: Option<u32>) -> u8 {
        let name = self.entry(db).map(|entry| self.shown(entry.name));
        match name {
            _ if near == Some(db) => NEAR,
            Some(name) if is_of_server(name) => OF_SERVER_ITSELF,
            _ => OTHER,
        }
    }

    /// Sum of how well each word matches, less being better; none unless all do. A word may also be part of the table's or
    /// the database's name, but one at least must be the entry's own.
    fn score(&self, entry: &Entry, words: &[&str]) -> Option<u16> {
        let (mut sum, mut is_own) = (0, words.is_empty());
        for word in words {
            let own = self.of_name(entry.name, word);
            let own = own.or_else(|| {
                self.folded(entry.comment)
                    .contains(word)
                    .then_some(IN_COMMENT)
            });
            is_own |= own.is_some();
            let around = || {
                let of = |number| self.of_name(self.entry(number)?.name, word);
                let (table, db) = (of(entry.table), of(entry.db));
                [table, db].into_iter().flatten().min().map(|n| n + 1)
            };
            let best = match own {
                Some(EXACT) => own,
                own if words.len() > 1 => [own, around()].into_iter().flatten().min(),
                own => own,
            };
            sum += best?;
        }
        is_own.then_some(sum)
    }

    /// Quality of the match of a word in a name, if there is one.
    fn of_name(&self, name: Text, word: &str) -> Option<u16> {
        let folded = self.folded(name);
        let first = folded.find(word)?;
        if first == 0 {
            return Some(if folded.len() == word.len() {
                EXACT
            } else {
                AT_START
            });
        }
        let shown = self.shown(name);
        let begins_word = |(at, _): (usize, &str)| {
            let before = folded.get(..at).and_then(|text| text.chars().next_back());
            before.is_some_and(|c| !c.is_alphanumeric())
                || shown.len() == folded.len() && is_hump(shown.as_bytes(), at)
        };
        let is_word = folded.match_indices(word).any(begins_word);
        Some(if is_word { AT_WORD } else { WITHIN })
    }

    fn matched(&self, entry: &Entry) -> Match<'_> {
        let optional = |text: Text| Some(self.shown(text)).filter(|text| !text.is_empty());
        let name_of = |number| self.entry(number).map(|entry| self.shown(entry.name));
        let has_table = matches!(entry.kind, Kind::Column | Kind::Trigger);
        Match {
            kind: entry.kind,
            db: name_of(entry.db).unwrap_or_default(),
            table: name_of(entry.table).filter(|_| has_table),
            name: self.shown(entry.name),
            r#type: optional(entry.r#type),
            comment: optional(entry.comment),
        }
    }
}

/// Order of databases.
const NEAR: u8 = 0;
const OTHER: u8 = 1;
const OF_SERVER_ITSELF: u8 = 2;

/// Quality of the match of a word.
const EXACT: u16 = 0;
const AT_START: u16 = 1;
const AT_WORD: u16 = 2;
const WITHIN: u16 = 3;
const IN_COMMENT: u16 = 5;

/// True if the database is the server's own.
pub(super) fn is_of_server(db: &str) -> bool {
    OF_SERVER.iter().any(|name| name.eq_ignore_ascii_case(db))
}

/// Names may be written as SQL has them: `db`.`table`.
fn separates(c: char) -> bool {
    c.is_whitespace() || c == '.' || c == '`'
}

/// True where a word begins in the middle of a name like `orderItem`.
fn is_hump(name: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| name.get(before));
    before.is_some_and(u8::is_ascii_lowercase) && name.get(at).is_some_and(u8::is_ascii_uppercase)
}

fn start_of(text: Text) -> usize {
    usize::try_from(text.start).unwrap_or(usize::MAX)
}

/// As many whole characters as fit.
fn first_bytes(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shop() -> Index {
        let mut index = Index::default();
        let add = |index: &mut Index, kind, table, name, comment| {
            index.add(kind, table, [name, "", comment]).unwrap()
        };
        add(&mut index, Kind::Database, None, "mysql", "");
        add(&mut index, Kind::Table, None, "user", "");
        add(&mut index, Kind::Database, None, "shop", "");
        let orders = add(&mut index, Kind::Table, None, "orders", "bought by a user");
        add(&mut index, Kind::Column, Some(orders), "id", "");
        add(&mut index, Kind::Column, Some(orders), "user_id", "");
        add(&mut index, Kind::Column, Some(orders), "superuser", "");
        let users = add(&mut index, Kind::Table, None, "Users", "");
        add(&mut index, Kind::Column, Some(users), "id", "");
        add(&mut index, Kind::Column, Some(users), "lastUser", "");
        add(&mut index, Kind::View, None, "user", "");
        add(&mut index, Kind::Routine, None, "ÄNDERE", "");
        index
    }

    fn names(index: &Index, text: &str, limit: usize) -> Vec<String> {
        let query = Query {
            text,
            kind: None,
            db: None,
            near: None,
            limit,
        };
        let found = index.find(&query);
        let name = |found: &Match<'_>| {
            let table = found
                .table
                .map_or(String::new(), |table| format!("{table}."));
            format!("{}.{table}{}", found.db, found.name)
        };
        found.matches.iter().map(name).collect()
    }

    #[test]
    fn the_best_come_first() {
        let index = shop();
        let best = [
            "mysql.user",            // exact; a table comes before a view
            "shop.user",             // exact
            "shop.Users",            // at the start; a table comes before a column
            "shop.orders.user_id",   // at the start
            "shop.Users.lastUser",   // at the start of a word
            "shop.orders.superuser", // within
            "shop.orders",           // in the comment
        ];
        assert_eq!(names(&index, "USER", 50), best);
        for limit in 1..best.len() {
            assert_eq!(names(&index, "user", limit), best[..limit], "{limit}");
        }
        assert_eq!(names(&index, "ändere", 50), ["shop.ÄNDERE"]);
        assert_eq!(names(&index, "nothing", 50), [""; 0]);
        assert_eq!(names(&index, " ", 50).len(), 12);
    }

    #[test]
    fn all_words_must_match_and_one_the_name_itself() {
        let index = shop();
        assert_eq!(
            names(&index, "orders id", 50),
            ["shop.orders.id", "shop.orders.user_id"]
        );
        assert_eq!(names(&index, "`shop`.`users`", 50), ["shop.Users"]);
        assert_eq!(names(&index, "shop.orders.id", 1), ["shop.orders.id"]);
        assert_eq!(names(&index, "orders nothing", 50), [""; 0]);
        assert_eq!(names(&index, "shop mysql", 50), [""; 0]);
    }

    #[test]
    fn a_search_may_be_within_a_database_and_a_kind() {
        let index = shop();
        let count = |kind, db| {
            let query = Query {
                text: "user",
                kind,
                db,
                near: None,
                limit: 1,
            };
            let found = index.find(&query);
            (found.total, found.matches.len())
        };
        assert_eq!(count(None, None), (7, 1));
        assert_eq!(count(Some(Kind::Table), None), (3, 1));
        assert_eq!(count(Some(Kind::Table), Some("mysql")), (1, 1));
        assert_eq!(count(None, Some("Shop")), (0, 0));
    }

    #[test]
    fn a_near_database_comes_first_among_equals() {
        let index = shop();
        let first = |near| {
            let query = Query {
                text: "user",
                kind: None,
                db: None,
                near,
                limit: 3,
            };
            let found = index.find(&query);
            found
                .matches
                .iter()
                .map(|found| format!("{}.{}", found.db, found.name))
                .collect::<Vec<_>>()
        };
        // A table comes before a view all the same.
        let best = ["mysql.user", "shop.user", "shop.Users"];
        assert_eq!(first(Some("shop")), best);
        assert_eq!(first(Some("nowhere")), best);
        let mut index = Index::default();
        for db in ["mysql", "a", "b"] {
            index.add(Kind::Database, None, [db, "", ""]).unwrap();
            index.add(Kind::Table, None, ["t", "", ""]).unwrap();
        }
        let first = |near| {
            let query = Query {
                text: "t",
                kind: None,
                db: None,
                near,
                limit: 1,
            };
            index.find(&query).matches[0].db.to_owned()
        };
        assert_eq!([first(None), first(Some("b"))], ["a", "b"]);
        assert_eq!(first(Some("mysql")), "mysql");
    }

    #[test]
    fn what_has_no_room_is_not_added() {
        let mut index = Index::default();
        let long = "é".repeat(LONGEST);
        index.add(Kind::Database, None, ["db", "", ""]).unwrap();
        let mark = index.mark();
        let mut count = 0;
        while index.add(Kind::Table, None, ["t", "x", &long]).is_some() {
            count += 1;
        }
        assert!(
            index.is_full() && count > MAX_BYTES / 4 / LONGEST,
            "{count}"
        );
        assert!(index.arena.len() <= MAX_BYTES);
        index.go_back(mark);
        index.add(Kind::Table, None, ["again", "x", ""]).unwrap();
        assert_eq!(names(&index, "again", 5), ["db.again"]);
        let found = index.find(&Query {
            text: "again",
            kind: None,
            db: None,
            near: None,
            limit: 1,
        });
        assert_eq!(found.matches[0].r#type, Some("x"));
    }
}
