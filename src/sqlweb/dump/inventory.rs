//! Inventory of a dump, read before the first byte is written, with notes on everything that the account may not see.

use mysql::Row;

use super::columns::{ASKED, Columns};
use super::one_statement::{ReadingModes, fault, refused};
use super::programs::{DumpContext, MODE, Program, ordered};
use super::reader::Reader;
use crate::sqlweb::catalogue::{identifier, literal, text};
use crate::sqlweb::conn::masked;
use crate::sqlweb::error::DbError;
use crate::sqlweb::query::DumpJob;

/// Kinds of routines.
const ROUTINES: [&str; 4] = ["PROCEDURE", "FUNCTION", "PACKAGE", "PACKAGE BODY"];

/// Engines whose tables show rows that are stored elsewhere.
const ELSEWHERE: [&str; 5] = ["MRG_MYISAM", "MRG_MyISAM", "FEDERATED", "CONNECT", "SPIDER"];

/// Everything that goes into the file, and notes on what does not.
pub(super) struct Inventory {
    /// The server's time in UTC.
    pub(super) time: String,
    /// The database's character set and collation.
    pub(super) charset: String,
    pub(super) frame: DumpContext,
    pub(super) tables: Vec<DumpedTable>,
    /// Views in the order in which they can be created.
    pub(super) views: Vec<Program>,
    /// Broken views, whose texts are written as comments.
    pub(super) broken: Vec<Program>,
    /// Statements for temporary views in place of those that read each other.
    pub(super) placeholders: Vec<String>,
    pub(super) routines: Vec<Program>,
    pub(super) triggers: Vec<Program>,
    pub(super) events: Vec<Program>,
    /// Sentences on skipped objects, and on changes that a restore makes.
    pub(super) notes: Vec<String>,
}

/// A table or a sequence.
pub(super) struct DumpedTable {
    pub(super) name: String,
    pub(super) is_sequence: bool,
    /// Columns to read its rows by; `None` if the rows are left out.
    pub(super) columns: Option<Columns>,
}

/// A table or view as the catalogue lists it.
struct Listed {
    name: String,
    /// `BASE TABLE`, `VIEW`, `SEQUENCE`, `SYSTEM VERSIONED`.
    kind: String,
    engine: String,
    comment: String,
}

impl Listed {
    fn of(row: &Row) -> Self {
        let field = |i: usize| text(row, i).unwrap_or_default();
        Self {
            name: field(0),
            kind: field(1),
            engine: field(2),
            comment: field(3),
        }
    }
}

impl Inventory {
    /// Reads everything that is wanted, each object once.
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DbError> {
        let db = literal(reader.dump.db());
        let about = reader.ask(&format!(
            "SELECT UTC_TIMESTAMP(), DEFAULT_CHARACTER_SET_NAME, DEFAULT_COLLATION_NAME \
             FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = {db}"
        ))?;
        let field = |i: usize| {
            about
                .first()
                .and_then(|row| text(row, i))
                .unwrap_or_default()
        };
        let mut inventory = Self {
            time: field(0),
            charset: plain_name(field(1))?,
            frame: DumpContext {
                collation: plain_name(field(2))?,
                runs_texts: reader.is_mariadb((10, 6, 2)),
                drop: reader.dump.drop,
            },
            tables: Vec::new(),
            views: Vec::new(),
            broken: Vec::new(),
            placeholders: Vec::new(),
            routines: Vec::new(),
            triggers: Vec::new(),
            events: Vec::new(),
            notes: Vec::new(),
        };
        inventory.read_rights(reader)?;
        inventory.read_tables(reader, &db)?;
        inventory.order_views(reader, &db)?;
        inventory.read_programs(reader, &db)?;
        reader.release()?;
        Ok(inventory)
    }

    fn read_rights(&mut self, reader: &mut Reader<'_>) -> Result<(), DbError> {
        let grants = reader.try_ask("SHOW GRANTS")?.unwrap_or_default();
        let grants: Vec<String> = grants.iter().filter_map(|row| text(row, 0)).collect();
        let dump = reader.dump;
        let wanted = [true, dump.triggers, dump.events, dump.routines];
        for unseen in unseen(&grants, dump.db(), wanted) {
            let note = format!("This account may not see everything: {unseen}.");
            self.notes.push(note);
        }
        Ok(())
    }

    fn read_tables(&mut self, reader: &mut Reader<'_>, db: &str) -> Result<(), DbError> {
        let safe = reader
            .ask("SELECT ENGINE FROM information_schema.ENGINES WHERE TRANSACTIONS = 'YES'")?;
        let safe: Vec<String> = safe.iter().filter_map(|row| text(row, 0)).collect();
        // MariaDB reports a broken view if more than its name is selected.
        let listed = reader.ask(&format!(
            "SELECT TABLE_NAME, TABLE_TYPE, ENGINE, TABLE_COMMENT, CREATE_TIME FROM information_schema.TABLES \
             WHERE TABLE_SCHEMA = {db} AND TABLE_TYPE <> 'TEMPORARY' ORDER BY TABLE_NAME"
        ))?;
        let mut outside = Vec::new();
        for listed in chosen(&listed, reader.dump)? {
            if listed.kind.contains("VIEW") {
                self.read_view(reader, &listed)?;
                continue;
            }
            if !safe.contains(&listed.engine) && !listed.engine.is_empty() {
                outside.push(format!("{} ({})", identifier(&listed.name), listed.engine));
            }
            self.read_table(reader, db, listed)?;
        }
        if !outside.is_empty() && reader.dump.data {
            self.note(format!(
                "not from the same moment as the rest, because their engines have no snapshots: {}.",
                outside.join(", ")
            ));
        }
        Ok(())
    }

    fn read_table(
        &mut self,
        reader: &mut Reader<'_>,
        db: &str,
        listed: Listed,
    ) -> Result<(), DbError> {
        let quoted = identifier(&listed.name);
        if reader.dump.structure {
            match reader.try_ask(&format!("SHOW CREATE TABLE {quoted}"))? {
                Ok(shown) => {
                    let create = shown.first().and_then(|row| text(row, 1));
                    made_by(&create.unwrap_or_default(), "TABLE", &listed.name)?;
                }
                Err(why) => {
                    self.note(format!("table {quoted} is skipped: {why}."));
                    return Ok(());
                }
            }
        }
        let columns = Columns::of(&reader.ask(&format!(
            "SELECT {ASKED} FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = {db} AND TABLE_NAME = {} ORDER BY ORDINAL_POSITION",
            literal(&listed.name)
        ))?);
        if !columns.doubtful.is_empty() && reader.dump.structure {
            self.note(format!(
                "table {quoted}, column {}: a ? in its default or labels may replace a character outside the \
                 server's character set, such as an emoji; compare them.",
                columns.doubtful.join(", ")
            ));
        }
        let is_read = reader.dump.data && self.can_read(reader, &listed, &columns)?;
        self.tables.push(DumpedTable {
            name: listed.name,
            is_sequence: listed.kind == "SEQUENCE",
            columns: is_read.then_some(columns),
        });
        Ok(())
    }

    /// True if the rows of a table can be read; else a note says why not.
    fn can_read(
        &mut self,
        reader: &mut Reader<'_>,
        listed: &Listed,
        columns: &Columns,
    ) -> Result<bool, DbError> {
        let quoted = identifier(&listed.name);
        if ELSEWHERE.contains(&listed.engine.as_str()) {
            let engine = &listed.engine;
            self.note(format!(
                "the rows of table {quoted} are skipped: they are stored elsewhere ({engine})."
            ));
            return Ok(false);
        }
        let read = format!("SELECT {} FROM {quoted} LIMIT 0", columns.selected);
        if let Err(why) = reader.try_ask(&read)? {
            self.note(format!("the rows of table {quoted} are skipped: {why}."));
            return Ok(false);
        }
        if listed.kind == "SYSTEM VERSIONED" {
            self.note(format!(
                "table {quoted}: only its current rows are included, not their history."
            ));
        }
        Ok(true)
    }

    /// Reads a view, whose comment is the word VIEW, or the error of a broken one.
    fn read_view(&mut self, reader: &mut Reader<'_>, listed: &Listed) -> Result<(), DbError> {
        if !reader.dump.structure {
            return Ok(());
        }
        let Listed { name, comment, .. } = listed;
        let is_broken = comment != "VIEW" && !comment.is_empty() && !reader.only_writes(name)?;
        let view = self.program(reader, "VIEW", name)?;
        if !is_broken {
            self.views.extend(view);
            return Ok(());
        }
        let text = if view.is_some() {
            "; its text is in the file as a comment"
        } else {
            ""
        };
        self.note(format!(
            "view {} is skipped because it does not work{text}: {comment}.",
            identifier(name)
        ));
        self.broken.extend(view);
        Ok(())
    }

    fn order_views(&mut self, reader: &mut Reader<'_>, db: &str) -> Result<(), DbError> {
        self.views = ordered(std::mem::take(&mut self.views));
        for view in self.views.iter().filter(|view| view.needs_placeholder) {
            let listed = reader.ask(&format!(
                "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = {db} AND TABLE_NAME = {} ORDER BY ORDINAL_POSITION",
                literal(&view.name)
            ))?;
            let column = |row: &Row| Some(format!("NULL AS {}", identifier(&text(row, 0)?)));
            let columns: Vec<String> = listed.iter().filter_map(column).collect();
            let name = identifier(&view.name);
            self.placeholders.push(format!(
                "CREATE OR REPLACE VIEW {name} AS SELECT {};\n",
                columns.join(", ")
            ));
        }
        Ok(())
    }

    fn read_programs(&mut self, reader: &mut Reader<'_>, db: &str) -> Result<(), DbError> {
        let dump = reader.dump;
        if dump.routines {
            let listed = reader.ask(&format!(
                "SELECT ROUTINE_TYPE, ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = {db} ORDER BY ROUTINE_TYPE, ROUTINE_NAME"
            ))?;
            for (kind, name) in listed.iter().filter_map(two) {
                if !ROUTINES.contains(&kind.as_str()) {
                    return Err(refused(&identifier(&name), "its kind is unknown"));
                }
                let routine = self.program(reader, &kind, &name)?;
                self.routines.extend(routine);
            }
        }
        if dump.triggers {
            self.read_triggers(reader, db)?;
        }
        if dump.events {
            let listed = reader.ask(&format!(
                "SELECT EVENT_SCHEMA, EVENT_NAME FROM information_schema.EVENTS WHERE EVENT_SCHEMA = {db} ORDER BY EVENT_NAME"
            ))?;
            for (_, name) in listed.iter().filter_map(two) {
                let event = self.program(reader, "EVENT", &name)?;
                self.events.extend(event);
            }
        }
        Ok(())
    }

    /// Reads triggers in the order in which they fire.
    fn read_triggers(&mut self, reader: &mut Reader<'_>, db: &str) -> Result<(), DbError> {
        let listed = reader.ask(&format!(
            "SELECT EVENT_OBJECT_TABLE, TRIGGER_NAME FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = {db} \
             ORDER BY EVENT_OBJECT_TABLE, ACTION_TIMING, EVENT_MANIPULATION, ACTION_ORDER"
        ))?;
        for (table, name) in listed.iter().filter_map(two) {
            let is_wanted = self.tables.iter().any(|known| known.name == table);
            // A trigger for several events is listed once for each.
            let is_known = self.triggers.iter().any(|known| known.name == name);
            if !is_wanted || is_known {
                continue;
            }
            let mut trigger = self.program(reader, "TRIGGER", &name)?;
            if let Some(trigger) = &mut trigger {
                trigger.without_database(reader.dump.db());
            }
            self.triggers.extend(trigger);
        }
        Ok(())
    }

    fn program(
        &mut self,
        reader: &mut Reader<'_>,
        kind: &str,
        name: &str,
    ) -> Result<Option<Program>, DbError> {
        let title = format!("{} {}", kind.to_lowercase(), identifier(name));
        let shown = reader.try_ask(&format!("SHOW CREATE {kind} {}", identifier(name)))?;
        let shown = match shown {
            // Describing a view opens the tables that its functions write to.
            Err(why) if kind == "VIEW" => reader.view_in_parts(name)?.ok_or(why),
            shown => shown,
        };
        let shown = match shown {
            Ok(shown) => shown,
            Err(why) => {
                self.note(format!("{title} is skipped: {why}."));
                return Ok(None);
            }
        };
        let Some(mut program) = shown.first().and_then(|row| Program::of(kind, name, row)) else {
            self.note(format!(
                "{title} is skipped: this account may not see its text."
            ));
            return Ok(None);
        };
        if let Some(why) = program.fault(&self.frame) {
            return Err(refused(&title, why));
        }
        if !reader.dump.definers {
            program.without_definer();
        }
        if let Some(loss) = program.losses(&self.frame) {
            self.note(format!("{title} {loss}."));
        }
        Ok(Some(program))
    }

    fn note(&mut self, sentence: String) {
        let mut chars = sentence.chars();
        let first = chars.next().map(|c| c.to_ascii_uppercase());
        self.notes.push(
            first
                .into_iter()
                .chain(chars)
                .collect::<String>()
                .replace("..", "."),
        );
    }
}

/// Fails unless `create` is one statement that creates a `kind`.
pub(super) fn made_by(create: &str, kind: &str, name: &str) -> Result<(), DbError> {
    let why = fault(create, kind, ReadingModes::of_mode(MODE));
    let title = format!("{} {}", kind.to_lowercase(), identifier(name));
    why.map_or(Ok(()), |why| Err(refused(&title, why)))
}

/// Checks that the name of a character set or collation needs no quotes in a statement.
fn plain_name(name: String) -> Result<String, DbError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.bytes().all(is_plain) {
        return Ok(name);
    }
    Err(DbError::Request(format!(
        "the server reports {name:?} as the database's character set, which is not a name"
    )))
}

fn two(row: &Row) -> Option<(String, String)> {
    Some((text(row, 0)?, text(row, 1)?))
}

/// The wanted tables; fails if one does not exist.
fn chosen(listed: &[Row], dump: &DumpJob) -> Result<Vec<Listed>, DbError> {
    let mut listed: Vec<Listed> = listed.iter().map(Listed::of).collect();
    if dump.tables.is_empty() {
        return Ok(listed);
    }
    if let Some(name) = dump
        .tables
        .iter()
        .find(|name| !listed.iter().any(|one| one.name == **name))
    {
        return Err(DbError::Request(format!(
            "this account sees no table, view or sequence '{name}' in '{}'; load the list again",
            dump.db()
        )));
    }
    listed.retain(|one| dump.tables.contains(&one.name));
    Ok(listed)
}

/// Alternatives of needed privileges, and the note for an account without any of them.
const NEEDED: [(&[&str], &str); 4] = [
    (
        &["SELECT"],
        "tables and columns without privileges are not included",
    ),
    (&["TRIGGER"], "triggers need the TRIGGER privilege"),
    (&["EVENT"], "events need the EVENT privilege"),
    (
        &[
            "EXECUTE",
            "SHOW CREATE ROUTINE",
            "SHOW_ROUTINE",
            "ALTER ROUTINE",
        ],
        "routines without privileges are not included",
    ),
];

/// Sentences on objects that an account with these `grants` (lines of `SHOW GRANTS`) may not see.
pub(super) fn unseen(grants: &[String], db: &str, wanted: [bool; 4]) -> Vec<&'static str> {
    let has = |privileges: &[&str]| {
        let allows = |grant: &&String| allows(grant, db, privileges);
        // An account that may read everything may read the table of routines.
        let reads_all = |grant: &&String| {
            privileges.contains(&"EXECUTE")
                && grant.contains(" ON *.* ")
                && self::allows(grant, db, &["SELECT"])
        };
        grants
            .iter()
            .any(|grant| allows(&grant) || reads_all(&grant))
    };
    NEEDED
        .iter()
        .zip(wanted)
        .filter(|((privileges, _), wanted)| *wanted && !has(privileges))
        .map(|((_, unseen), _)| *unseen)
        .collect()
}

/// True if a line grants one of `privileges`, or all, on the whole database.
fn allows(grant: &str, db: &str, privileges: &[&str]) -> bool {
    let bare = masked(grant);
    let Some((given, scope)) = bare.find(" ON ").and_then(|at| grant.split_at_checked(at)) else {
        return false;
    };
    let Some(given) = given.strip_prefix("GRANT ") else {
        return false;
    };
    let listed = |one: &str| {
        let one = one.trim();
        one == "ALL PRIVILEGES" || privileges.contains(&one)
    };
    let scope = scope.strip_prefix(" ON ").unwrap_or_default();
    given.split(',').any(listed) && covers(scope, db)
}

/// True if ``*.*`` or a pattern such as `` `shop\_%`.* `` matches the database.
fn covers(scope: &str, db: &str) -> bool {
    if scope.starts_with("*.*") {
        return true;
    }
    let pattern = scope.strip_prefix('`').and_then(|rest| {
        let end = rest.find("`.* ")?;
        Some(rest.get(..end)?.replace("``", "`"))
    });
    pattern.is_some_and(|pattern| like(pattern.as_bytes(), db.as_bytes()))
}

/// Matches a text like `LIKE`, byte by byte.
fn like(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern, text) {
        ([b'%', rest @ ..], _) => (0..=text.len()).any(|n| like(rest, text.split_at(n).1)),
        ([b'\\', c, rest @ ..], [t, text @ ..]) => c == t && like(rest, text),
        ([b'_', rest @ ..], [_, text @ ..]) => like(rest, text),
        ([c, rest @ ..], [t, text @ ..]) => c == t && like(rest, text),
        (pattern, text) => pattern.is_empty() && text.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grants_do_not_show_is_named() {
        let all = [true; 4];
        let count = |grant: &str| unseen(&[grant.to_owned()], "my_shop", all).len();
        assert_eq!(count("GRANT ALL PRIVILEGES ON *.* TO `a`@`%`"), 0);
        assert_eq!(count("GRANT SELECT, TRIGGER ON *.* TO `a`@`%`"), 1);
        assert_eq!(count(r"GRANT ALL PRIVILEGES ON `my\_shop`.* TO `a`@`%`"), 0);
        assert_eq!(count(r"GRANT ALL PRIVILEGES ON `my%`.* TO `a`@`%`"), 0);
        assert_eq!(count(r"GRANT ALL PRIVILEGES ON `my\_sho`.* TO `a`@`%`"), 4);
        assert_eq!(count("GRANT SELECT (`x`) ON `my_shop`.`t` TO `a`@`%`"), 4);
        assert_eq!(
            count("GRANT SELECT, SHOW VIEW ON `my_shop`.* TO `a`@`%`"),
            3
        );
        assert_eq!(count("REVOKE SELECT ON `my_shop`.* FROM `a`@`%`"), 4);
        assert!(unseen(&[], "x", [false; 4]).is_empty());
    }
}
