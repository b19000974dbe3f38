//! What there is to dump, looked at before the first byte is written.

use mysql::Row;

use super::columns::{ASKED, Columns};
use super::programs::{Frame, Program};
use super::reader::Reader;
use super::rights::unseen;
use super::views::ordered;
use crate::sqlweb::catalogue::{identifier, literal, text};
use crate::sqlweb::error::DbError;
use crate::sqlweb::query::DumpJob;

/// Everything that goes into the file, and what does not.
pub(super) struct Inventory {
    /// The time in UTC, as the server tells it.
    pub(super) time: String,
    /// The database's character set and collation.
    pub(super) charset: String,
    pub(super) frame: Frame,
    pub(super) tables: Vec<Table>,
    /// In the order in which they can be made.
    pub(super) views: Vec<Program>,
    /// What is made in the place of views that cannot be made before each other.
    pub(super) stand_ins: Vec<String>,
    pub(super) routines: Vec<Program>,
    pub(super) triggers: Vec<Program>,
    pub(super) events: Vec<Program>,
    /// Sentences on what is left out, or will be otherwise than it was.
    pub(super) notes: Vec<String>,
}

/// A table or a sequence.
pub(super) struct Table {
    pub(super) name: String,
    pub(super) is_sequence: bool,
    /// How its rows are read; none where they are left out.
    pub(super) columns: Option<Columns>,
}

/// Engines whose tables show rows that lie elsewhere.
const ELSEWHERE: [&str; 5] = ["MRG_MYISAM", "MRG_MyISAM", "FEDERATED", "CONNECT", "SPIDER"];

impl Inventory {
    /// Looks at all that is wanted, each once.
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
            charset: field(1),
            frame: Frame {
                collation: field(2),
                runs_texts: reader.is_mariadb((10, 6, 2)),
                drop: reader.dump.drop,
            },
            tables: Vec::new(),
            views: Vec::new(),
            stand_ins: Vec::new(),
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
            let note = format!("This account may not see everything that may be there: {unseen}.");
            self.notes.push(note);
        }
        Ok(())
    }

    fn read_tables(&mut self, reader: &mut Reader<'_>, db: &str) -> Result<(), DbError> {
        let safe = reader
            .ask("SELECT ENGINE FROM information_schema.ENGINES WHERE TRANSACTIONS = 'YES'")?;
        let safe: Vec<String> = safe.iter().filter_map(|row| text(row, 0)).collect();
        // MariaDB says what is wrong with a view where it is asked for more than the name.
        let listed = reader.ask(&format!(
            "SELECT TABLE_NAME, TABLE_TYPE, ENGINE, TABLE_COMMENT, CREATE_TIME FROM information_schema.TABLES \
             WHERE TABLE_SCHEMA = {db} AND TABLE_TYPE <> 'TEMPORARY' ORDER BY TABLE_NAME"
        ))?;
        let chosen = chosen(&listed, reader.dump)?;
        let mut outside = Vec::new();
        for row in chosen {
            let field = |i: usize| text(row, i).unwrap_or_default();
            let (name, kind, engine) = (field(0), field(1), field(2));
            if kind.contains("VIEW") {
                self.read_view(reader, &name, &field(3))?;
                continue;
            }
            if kind == "SYSTEM VERSIONED" {
                self.note(format!(
                    "table {}: its rows are kept as they are now, their history is left out.",
                    identifier(&name)
                ));
            }
            if !safe.contains(&engine) && !engine.is_empty() {
                outside.push(format!("{} ({engine})", identifier(&name)));
            }
            self.read_table(reader, db, name, &kind, &engine)?;
        }
        if !outside.is_empty() && reader.dump.data {
            self.note(format!(
                "outside the snapshot, since their engines have none: {}.",
                outside.join(", ")
            ));
        }
        Ok(())
    }

    fn read_table(
        &mut self,
        reader: &mut Reader<'_>,
        db: &str,
        name: String,
        kind: &str,
        engine: &str,
    ) -> Result<(), DbError> {
        let quoted = identifier(&name);
        if reader.dump.structure
            && let Err(why) = reader.try_ask(&format!("SHOW CREATE TABLE {quoted}"))?
        {
            self.note(format!("table {quoted} is left out: {why}."));
            return Ok(());
        }
        let mut columns = Columns::of(&reader.ask(&format!(
            "SELECT {ASKED} FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = {db} AND TABLE_NAME = {} ORDER BY ORDINAL_POSITION",
            literal(&name)
        ))?);
        if !columns.doubtful.is_empty() {
            self.note(format!(
                "table {quoted}, column {}: the server shows a ? in its default or labels, which may stand for a character \
                 outside its own character set, such as an emoji; compare them.",
                std::mem::take(&mut columns.doubtful).join(", ")
            ));
        }
        let mut kept = None;
        if reader.dump.data {
            if ELSEWHERE.contains(&engine) {
                self.note(format!(
                    "the rows of table {quoted} are left out: they lie elsewhere ({engine})."
                ));
            } else if let Err(why) = reader.try_ask(&format!(
                "SELECT {} FROM {quoted} LIMIT 0",
                columns.selected
            ))? {
                self.note(format!("the rows of table {quoted} are left out: {why}."));
            } else {
                kept = Some(columns);
            }
        }
        self.tables.push(Table {
            name,
            is_sequence: kind == "SEQUENCE",
            columns: kept,
        });
        Ok(())
    }

    /// A view's comment is the word VIEW, or says what is wrong with it.
    fn read_view(
        &mut self,
        reader: &mut Reader<'_>,
        name: &str,
        comment: &str,
    ) -> Result<(), DbError> {
        if !reader.dump.structure {
            return Ok(());
        }
        if comment != "VIEW" && !comment.is_empty() {
            self.note(format!(
                "view {} is left out, since it does not work: {comment}.",
                identifier(name)
            ));
            return Ok(());
        }
        let view = self.program(reader, "VIEW", name)?;
        self.views.extend(view);
        Ok(())
    }

    fn order_views(&mut self, reader: &mut Reader<'_>, db: &str) -> Result<(), DbError> {
        self.views = ordered(std::mem::take(&mut self.views));
        for view in self.views.iter().filter(|view| view.has_stand_in) {
            let listed = reader.ask(&format!(
                "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = {db} AND TABLE_NAME = {} ORDER BY ORDINAL_POSITION",
                literal(&view.name)
            ))?;
            let column = |row: &Row| Some(format!("NULL AS {}", identifier(&text(row, 0)?)));
            let columns: Vec<String> = listed.iter().filter_map(column).collect();
            let name = identifier(&view.name);
            self.stand_ins.push(format!(
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
                let routine = self.program(reader, &kind, &name)?;
                self.routines.extend(routine);
            }
        }
        if dump.triggers {
            let listed = reader.ask(&format!(
                "SELECT EVENT_OBJECT_TABLE, TRIGGER_NAME FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = {db} \
                 ORDER BY EVENT_OBJECT_TABLE, ACTION_TIMING, EVENT_MANIPULATION, ACTION_ORDER"
            ))?;
            let mut last = String::new();
            for (table, name) in listed.iter().filter_map(two) {
                // One of several events is listed once for each.
                if !self.tables.iter().any(|known| known.name == table) || name == last {
                    continue;
                }
                let mut trigger = self.program(reader, "TRIGGER", &name)?;
                if let Some(trigger) = &mut trigger {
                    trigger.without_database(dump.db());
                }
                self.triggers.extend(trigger);
                last = name;
            }
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

    fn program(
        &mut self,
        reader: &mut Reader<'_>,
        kind: &str,
        name: &str,
    ) -> Result<Option<Program>, DbError> {
        let title = format!("{} {}", kind.to_lowercase(), identifier(name));
        let shown = reader.try_ask(&format!("SHOW CREATE {kind} {}", identifier(name)))?;
        let shown = match shown {
            Ok(shown) => shown,
            Err(why) => {
                self.note(format!("{title} is left out: {why}."));
                return Ok(None);
            }
        };
        let Some(mut program) = shown.first().and_then(|row| Program::of(kind, name, row)) else {
            self.note(format!(
                "{title} is left out: this account may not see its text."
            ));
            return Ok(None);
        };
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

fn two(row: &Row) -> Option<(String, String)> {
    Some((text(row, 0)?, text(row, 1)?))
}

/// The tables that are wanted; fails where one is not there.
fn chosen<'a>(listed: &'a [Row], dump: &DumpJob) -> Result<Vec<&'a Row>, DbError> {
    if dump.tables.is_empty() {
        return Ok(listed.iter().collect());
    }
    let find = |name: &String| {
        let found = listed
            .iter()
            .find(|row| text(row, 0).as_ref() == Some(name));
        found.ok_or_else(|| {
            DbError::Request(format!(
                "there is no table, view or sequence '{name}' in '{}' that this account may see; load the list again",
                dump.db()
            ))
        })
    };
    dump.tables.iter().map(find).collect()
}
