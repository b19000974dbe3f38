//! Writes the file in its order, the rows as statements of bounded size; or reviews its contents.

use std::io;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use mysql::{Column, Row};
use rows::{Kind, PIECE};
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

use super::columns::{Columns, DumpFormat, latin1};
use super::inventory::{Inventory, made_by};
use super::one_statement::comment;
use super::programs::MODE;
use super::reader::{Reader, with_reader};
use crate::http::CancelToken;
use crate::plugin::Verdict;
use crate::sqlweb::catalogue::{identifier, text};
use crate::sqlweb::error::{ApiError, DbError};
use crate::sqlweb::output::{Flow, LazyStream, OutputBuffer, RowSink, sql};
use crate::sqlweb::query::{DumpJob, Job, note, verdict};
use crate::sqlweb::results::{Done, TextRow};
use crate::sqlweb::service::Service;

/// Last line of a complete dump.
const END: &str = "-- Dump completed\n";

/// Size in bytes from which the console refuses a statement by default.
const CONSOLE_PACKET: usize = 16 << 20;

/// First line, which makes MariaDB's console refuse its own commands in a text, such as those of the shell. For MySQL's
/// console it is a comment; MariaDB's from before May 2024 stop here, as at the same line of `mariadb-dump`.
const SANDBOX: &str = "/*M!999999\\- enable the sandbox mode */\n";

/// Saves the restoring session's settings and sets the needed ones.
const BEFORE: &str = "\
SET @postern_client = @@character_set_client, @postern_results = @@character_set_results, @postern_collation = @@collation_connection;
SET NAMES utf8mb4;
SET @postern_time_zone = @@time_zone, time_zone = '+00:00';
SET @postern_unique_checks = @@unique_checks, unique_checks = 0;
SET @postern_foreign_key_checks = @@foreign_key_checks, foreign_key_checks = 0;
SET @postern_sql_notes = @@sql_notes, sql_notes = 0;
/*M!100201 SET @postern_checks = @@check_constraint_checks, check_constraint_checks = 0 */;
";

/// Restores those settings.
const AFTER: &str = "\
/*M!100201 SET check_constraint_checks = @postern_checks */;
SET sql_mode = @postern_sql_mode, sql_notes = @postern_sql_notes;
SET foreign_key_checks = @postern_foreign_key_checks, unique_checks = @postern_unique_checks;
SET time_zone = @postern_time_zone;
SET character_set_client = @postern_client, character_set_results = @postern_results, collation_connection = @postern_collation;
";

/// Bytes after which the next statement begins: below the least limit of servers and their clients, which is 16 MiB
/// today and was 1 MiB.
const MAX_BYTES: usize = 1_000_000;

/// Contents of a dump.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(crate) struct DumpReview {
    events: usize,
    /// Parts that this account or this server does not provide, and differences from the original; the file begins with
    /// the same sentences.
    notes: Vec<String>,
    routines: usize,
    sequences: usize,
    tables: usize,
    triggers: usize,
    views: usize,
}

/// Counts the objects of a dump, and notes the missing ones.
pub(crate) fn review(
    service: &Arc<Service>,
    dump: &DumpJob,
    client: &CancelToken,
) -> Result<DumpReview, ApiError> {
    let look = |reader: &mut Reader<'_>| Inventory::read(reader);
    let found = with_reader(service, dump, client, look)?;
    let sequences = found
        .tables
        .iter()
        .filter(|table| table.is_sequence)
        .count();
    Ok(DumpReview {
        tables: found.tables.len() - sequences,
        sequences,
        views: found.views.len(),
        routines: found.routines.len(),
        triggers: found.triggers.len(),
        events: found.events.len(),
        notes: found.notes,
    })
}

/// Writes the dump to `stream`. After a failure the file lacks the last line of a complete dump.
pub(crate) fn dump(
    service: &Arc<Service>,
    dump: &DumpJob,
    stream: &mut LazyStream,
    client: &CancelToken,
) -> Result<(), ApiError> {
    let began = (SystemTime::now(), Instant::now());
    let mut writer = Writer {
        out: OutputBuffer::new(stream),
        rows: 0,
        longest: 0,
    };
    let outcome = with_reader(service, dump, client, |reader| writer.all(reader));
    if let Some(statements) = service.statements() {
        let verdict = outcome.as_ref().err().map_or(Verdict::Ok, verdict);
        let Job { visitor, sql, .. } = &dump.job;
        note(&statements, visitor, sql, began, verdict, writer.rows);
    }
    outcome
}

struct Writer<'a> {
    out: OutputBuffer<'a>,
    rows: u64,
    /// Upper limit of the longest statement's bytes.
    longest: usize,
}

impl Writer<'_> {
    fn all(&mut self, reader: &mut Reader<'_>) -> Result<(), DbError> {
        let found = Inventory::read(reader)?;
        self.head(reader, &found)?;
        if reader.dump.structure {
            self.structure(reader, &found)?;
        }
        if reader.dump.data {
            self.data(reader, &found)?;
        }
        for routine in &found.routines {
            self.push(&routine.write(&found.frame))?;
        }
        for placeholder in &found.placeholders {
            self.push(placeholder)?;
        }
        let programs = found.views.iter().chain(&found.triggers);
        for program in programs.chain(&found.events) {
            self.push(&program.write(&found.frame))?;
        }
        for view in &found.broken {
            self.push(&view.as_comment())?;
        }
        self.tail()
    }

    fn push(&mut self, text: &str) -> Result<(), DbError> {
        self.out.push(text.as_bytes());
        self.out.flush_if_full().map_err(DbError::Client)
    }

    fn head(&mut self, reader: &Reader<'_>, found: &Inventory) -> Result<(), DbError> {
        let dump = reader.dump;
        let mut head = SANDBOX.to_owned();
        head += &comment(&format!(
            "Dump of {} from {} at {} UTC, by postern {}",
            identifier(dump.db()),
            reader.version(),
            found.time,
            env!("CARGO_PKG_VERSION")
        ));
        head += &comment(&format!(
            "The database is {} ({}). All rows are from one moment (REPEATABLE READ).",
            found.charset, found.frame.collation
        ));
        for note in &found.notes {
            head += &comment(note);
        }
        head.push('\n');
        if dump.create_database {
            head += &format!(
                "CREATE DATABASE IF NOT EXISTS {db} DEFAULT CHARACTER SET {} COLLATE {};\nUSE {db};\n",
                found.charset,
                found.frame.collation,
                db = identifier(dump.db())
            );
        }
        head += BEFORE;
        head += &format!("SET @postern_sql_mode = @@sql_mode, sql_mode = '{MODE}';\n\n");
        self.push(&head)
    }

    fn structure(&mut self, reader: &mut Reader<'_>, found: &Inventory) -> Result<(), DbError> {
        // A table's default may use a sequence.
        let (sequences, tables): (Vec<_>, Vec<_>) =
            found.tables.iter().partition(|table| table.is_sequence);
        let has_sequences = !sequences.is_empty();
        for table in sequences.into_iter().chain(tables) {
            let name = identifier(&table.name);
            let kind = if table.is_sequence {
                "SEQUENCE"
            } else {
                "TABLE"
            };
            let shown = reader.ask(&format!("SHOW CREATE {kind} {name}"))?;
            let create = shown.first().and_then(|row: &Row| text(row, 1));
            let mut create = create.ok_or_else(|| {
                DbError::Lost(format!("the server does not show how {name} was created"))
            })?;
            if has_sequences {
                // MariaDB names the database in such a default, which may be restored into another one.
                let asked = format!("nextval({}.", identifier(reader.dump.db()));
                create = create.replace(&asked, "nextval(");
            }
            made_by(&create, kind, &table.name)?;
            let mut made = comment(&format!("{} {name}", kind.to_lowercase()));
            if reader.dump.drop {
                made += &format!("DROP {kind} IF EXISTS {name};\n");
            }
            made += &format!("{create};\n\n");
            self.push(&made)?;
            reader.release()?;
        }
        Ok(())
    }

    fn data(&mut self, reader: &mut Reader<'_>, found: &Inventory) -> Result<(), DbError> {
        reader.as_stored()?;
        for table in &found.tables {
            let Some(columns) = &table.columns else {
                continue;
            };
            let name = identifier(&table.name);
            self.push(&comment(&format!("rows of {name}")))?;
            let mut sink = InsertSink::new(&mut self.out, &name, columns);
            reader.stream(&columns.selected, &table.name, &mut sink)?;
            self.rows += sink.rows;
            self.longest = self.longest.max(sink.longest);
            self.push("\n")?;
            reader.release()?;
        }
        Ok(())
    }

    fn tail(&mut self) -> Result<(), DbError> {
        if self.longest > CONSOLE_PACKET {
            self.push(&comment(&format!(
                "The longest statement may have {} bytes: to restore it, console and server need a larger max_allowed_packet",
                self.longest
            )))?;
        }
        self.push(AFTER)?;
        self.push(END)?;
        self.out.flush().map_err(DbError::Client)
    }
}

/// Writes the rows of one table.
struct InsertSink<'a, 'b> {
    out: &'a mut OutputBuffer<'b>,
    head: String,
    ways: &'a [DumpFormat],
    /// Upper limit of the current statement's bytes.
    bytes: usize,
    /// Number of rows written.
    rows: u64,
    /// Upper limit of the longest row's bytes.
    longest: usize,
}

impl<'a, 'b> InsertSink<'a, 'b> {
    /// Writes to `out` rows for the `columns` of `table`, a quoted name.
    fn new(out: &'a mut OutputBuffer<'b>, table: &str, columns: &'a Columns) -> Self {
        Self {
            out,
            head: format!("INSERT INTO {table} ({}) VALUES\n(", columns.names),
            ways: &columns.ways,
            bytes: 0,
            rows: 0,
            longest: 0,
        }
    }

    fn cell(&mut self, way: DumpFormat, cell: Option<&[u8]>) -> io::Result<()> {
        let Some(bytes) = cell else {
            self.out.push(b"NULL");
            return Ok(());
        };
        if way == DumpFormat::Latin1 && !bytes.is_ascii() && bytes.len() <= PIECE {
            let text = latin1(bytes);
            return sql(self.out, Kind::Text, false, Some(text.as_bytes()));
        }
        let (kind, is_number) = way.kind(bytes);
        sql(self.out, kind, is_number, cell)?;
        if way == DumpFormat::Real && is_negative_zero(bytes) {
            self.out.push(b"e0");
        }
        Ok(())
    }
}

/// True for `-0` and `-0.00`, which a server reads as an integer or a decimal, which have no negative zero.
fn is_negative_zero(digits: &[u8]) -> bool {
    digits.starts_with(b"-") && digits.iter().all(|b| matches!(b, b'-' | b'0' | b'.'))
}

impl RowSink for InsertSink<'_, '_> {
    fn begin(&mut self, _: &[Column]) -> io::Result<()> {
        Ok(())
    }

    fn row(&mut self, row: TextRow<'_>) -> io::Result<Flow> {
        // A byte becomes at most two digits or an escape.
        let size = 2 * row.size() + 6 * self.ways.len();
        if self.bytes > 0 && self.bytes + size > MAX_BYTES {
            self.out.push(b";\n");
            self.bytes = 0;
        }
        if self.bytes == 0 {
            self.out.push(self.head.as_bytes());
        } else {
            self.out.push(b",\n(");
        }
        for (i, way) in self.ways.iter().enumerate() {
            if i > 0 {
                self.out.push(b",");
            }
            self.cell(*way, row.cell(i))?;
        }
        self.out.push(b")");
        self.bytes += size + 1;
        self.rows += 1;
        self.longest = self.longest.max(size);
        self.out.flush_if_due()?;
        Ok(Flow::Continue)
    }

    fn end(&mut self, _truncated: bool) -> io::Result<()> {
        if self.bytes > 0 {
            self.out.push(b";\n");
        }
        Ok(())
    }

    fn done(&mut self, _done: Done) {}
}
