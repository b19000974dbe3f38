//! One edit: looks up the table, plans the changes, and shows or writes them.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use mysql::Conn;
use rows::Kind;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::failure::{ChangeFailure, EditFailed, FailureCause, LOCK_WAIT};
use super::one_row::{OneRow, is_same, is_same_float, shortest_float};
use super::plan::{Change, MAX_CELL, Op, Planned, SelectedColumns, plan};
use super::table::{ColumnFormat, EditableTable, TableLookup, look_up};
use crate::http::{CancelToken, Response};
use crate::plugin::Verdict;
use crate::sqlweb::catalogue::text;
use crate::sqlweb::conn::{
    CheckoutRequest, DbConn, RunningEntry, StatementOwner, rows, run_silently, stoppable,
    stopped_when_gone,
};
use crate::sqlweb::error::{ApiError, DbError};
use crate::sqlweb::gate;
use crate::sqlweb::output::duration;
use crate::sqlweb::query::{RunContext, TimeZone, no_accounts, note, run, verdict};
use crate::sqlweb::service::Service;
use crate::sqlweb::visitors::Use;

/// Maximum bytes of JSON for the rows in the answer.
const MAX_ROWS: usize = 8 << 20;

/// `ER_DBACCESS_DENIED_ERROR`, `ER_TABLEACCESS_DENIED_ERROR`, `ER_SPECIFIC_ACCESS_DENIED_ERROR`.
const DENIED: [u16; 3] = [1044, 1142, 1227];

/// Modes that change the meaning of literals.
const CHANGING: [&str; 2] = ["NO_BACKSLASH_ESCAPES", "EMPTY_STRING_IS_NULL"];

/// Modes in which no value is cut to fit, and a 0 is stored as a 0.
const STRICT: [&str; 3] = [
    "STRICT_ALL_TABLES",
    "STRICT_TRANS_TABLES",
    "NO_AUTO_VALUE_ON_ZERO",
];

/// The edit of a request.
pub(crate) struct EditJob {
    pub(crate) db: String,
    pub(crate) table: String,
    pub(crate) changes: Vec<Change>,
    pub(crate) time_zone: Option<TimeZone>,
    /// Id to cancel it.
    pub(crate) query_id: Option<String>,
    /// True if the statements are only shown.
    pub(crate) is_review: bool,
    /// The visitor's id, or empty.
    pub(crate) id: String,
    /// Visitor for the counters.
    pub(crate) counted: String,
    /// The visitor's name in a log.
    pub(crate) visitor: String,
    /// Reader of the rows, for the budget.
    pub(crate) reader: String,
    /// Counters of the visitor, if any.
    pub(crate) uses: Option<Use>,
}

/// The statements of an edit, none of which ran.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(crate) struct EditReview {
    /// Advice before applying, in one sentence.
    note: Option<String>,
    /// One per change, as it would be sent; of literals over 4 KiB only the beginning and the size are shown.
    statements: Vec<String>,
    /// False if the table's engine cannot roll back: changes are then applied one by one, up to the first that fails.
    transaction: bool,
}

/// The members of the answer to an edit before its rows.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(crate) struct EditHead {
    /// Number of changes applied: all.
    applied: usize,
    /// Time since the request, such as `1.234ms`.
    duration: String,
    /// Advice, in one sentence.
    note: Option<String>,
    /// False if the table's engine cannot roll back.
    transaction: bool,
}

/// Does `job` and returns the answer; everything is rolled back if `client` leaves.
pub(crate) fn edit(
    service: &Arc<Service>,
    mut job: EditJob,
    client: &CancelToken,
) -> Result<Response, EditFailed> {
    let started = Instant::now();
    if service.has_visitors() && job.db.eq_ignore_ascii_case(gate::OF_ACCOUNTS) {
        return Err(no_accounts("a change of rows in the database mysql", "UPDATE").into());
    }
    let entry = enter(service, &job)?;
    let _leaving = stopped_when_gone(client, &entry.running, &service.connector);
    let nobody = StatementOwner::default();
    let wanted = CheckoutRequest {
        owner: &nobody,
        database: None,
        enters: None,
        running: &entry.running,
        uses: job.uses.as_ref(),
    };
    let mut lease = service
        .sessions
        .check_out(&wanted)
        .map_err(ApiError::from)?;
    let changes = std::mem::take(&mut job.changes);
    let count = changes.len();
    let conn = lease.conn();
    // It is reset before its next use.
    conn.has_state = true;
    let mut editor = Editor {
        service,
        job: &job,
        entry: &entry,
        conn,
        started,
    };
    let outcome = editor.all(changes);
    let (result, left) = match outcome {
        Ok(answer) => (Ok(answer), Ok(())),
        Err(failure) => (Err(failure.to_answer()), failure.of_connection()),
    };
    service.ask_whether_it_writes(job.is_review, left.as_ref().err());
    let status = result.as_ref().map_or_else(|error| error.status, |_| 200);
    let age = entry.running.age();
    log::debug!("an edit of {count} changes: {status} after {age:.3?}");
    lease.give_back(&left, &entry.running);
    result
}

/// Enters the edit among the running statements; a visitor may have one at a time.
fn enter<'a>(service: &'a Arc<Service>, job: &EditJob) -> Result<RunningEntry<'a>, ApiError> {
    // A session that no request can name.
    let owner = StatementOwner {
        visitor: job.id.clone(),
        session: if job.is_review {
            "\0review".into()
        } else {
            format!("\0edit {}", job.counted)
        },
    };
    let entry = match &job.query_id {
        None => service.running.enter_unnamed(owner.clone()),
        Some(id) => service.running.enter(owner.clone(), id).ok_or_else(|| {
            ApiError::conflict(format!(
                "query_id '{id}' is in use by a running statement; choose another"
            ))
        })?,
    };
    let mine = service.running.filter(|other, _| *other == owner);
    if mine.len() > 1 && !job.is_review {
        return Err(ApiError::conflict(
            "another edit of yours is being applied; wait for it, or cancel it",
        ));
    }
    Ok(entry)
}

struct Editor<'a> {
    service: &'a Arc<Service>,
    job: &'a EditJob,
    entry: &'a RunningEntry<'a>,
    conn: &'a mut DbConn,
    started: Instant,
}

impl Editor<'_> {
    fn all(&mut self, changes: Vec<Change>) -> Result<Response, ChangeFailure> {
        let job = self.job;
        let look = |conn: &mut DbConn| look_up(&mut conn.driver, &job.db, &job.table);
        let table = match stoppable(&self.entry.running, self.conn, look)? {
            TableLookup::EditableTable(table) => table,
            TableLookup::Unfit(why) => return Err(ChangeFailure::request(why)),
        };
        let planned = all_planned(&table, changes)?;
        let note = (!table.rolls_back).then(|| cannot_roll_back(&table));
        if job.is_review {
            let statement = |planned: &Planned| planned.statement(&table, true);
            return Ok(Response::ok(EditReview {
                note,
                statements: planned.iter().map(statement).collect(),
                transaction: table.rolls_back,
            }));
        }
        let written = self.write_all(&table, &planned)?;
        Ok(written.answer(&EditHead {
            applied: written.changes,
            duration: duration(self.started),
            note,
            transaction: table.rolls_back,
        }))
    }

    /// Writes all changes; after a failure none of them, if the table's engine can roll back.
    fn write_all(
        &mut self,
        table: &EditableTable,
        planned: &[Planned],
    ) -> Result<WrittenChanges, ChangeFailure> {
        let zone = self.job.time_zone.as_ref();
        let prepare = |conn: &mut DbConn| prepare(&mut conn.driver, zone);
        let max_packet = stoppable(&self.entry.running, self.conn, prepare)?;
        let mut written = WrittenChanges::default();
        let outcome = self.write(table, max_packet, planned, &mut written);
        outcome.map_err(|failure| {
            if table.rolls_back && !matches!(*failure.trouble, FailureCause::Unknown(_)) {
                self.roll_back();
            }
            let applied = if table.rolls_back { 0 } else { written.changes };
            ChangeFailure { applied, ..failure }
        })?;
        Ok(written)
    }

    fn write(
        &mut self,
        table: &EditableTable,
        max_packet: usize,
        planned: &[Planned],
        written: &mut WrittenChanges,
    ) -> Result<(), ChangeFailure> {
        if table.rolls_back {
            self.send("START TRANSACTION", true)?;
        } else {
            self.lock(table)?;
        }
        for (i, planned) in planned.iter().enumerate() {
            self.one(table, max_packet, planned, written)
                .map_err(|failure| ChangeFailure {
                    at: Some((i, planned.row_in_words(table))),
                    ..failure
                })?;
            written.changes += 1;
        }
        if table.rolls_back {
            self.commit()?;
        }
        Ok(())
    }

    fn one(
        &mut self,
        table: &EditableTable,
        max_packet: usize,
        planned: &Planned,
        written: &mut WrittenChanges,
    ) -> Result<(), ChangeFailure> {
        if planned.op != Op::Insert {
            self.compare(table, planned)?;
        }
        let answer = self.write_one(table, max_packet, planned)?;
        let row = match planned.after(table, answer.done.last_insert_id) {
            _ if planned.op == Op::Delete => (b"null".to_vec(), b"null".to_vec()),
            Some(reading) if written.has_room() => {
                self.read(table, &reading)?.unwrap_or_else(unknown_row)
            }
            _ => unknown_row(),
        };
        written.push(&row);
        Ok(())
    }

    fn write_one(
        &mut self,
        table: &EditableTable,
        max_packet: usize,
        planned: &Planned,
    ) -> Result<OneRow, ChangeFailure> {
        let sql = planned.statement(table, false);
        if sql.len() >= max_packet {
            return Err(FailureCause::Request(413, too_large(sql.len(), max_packet)).into());
        }
        let shown = planned.statement(table, true);
        let answer = self.send_noted(&sql, &shown).map_err(|error| {
            if table.rolls_back || error.leaves_connection_usable() {
                FailureCause::Db(error)
            } else {
                FailureCause::Unknown(error)
            }
        })?;
        match answer.found() {
            1 => Ok(answer),
            n => Err(ChangeFailure::request(format!(
                "the server wrote {n} rows instead of one"
            ))),
        }
    }

    /// Locks the row and compares it with the values that were shown.
    fn compare(&mut self, table: &EditableTable, planned: &Planned) -> Result<(), ChangeFailure> {
        let answer = self.send(&planned.comparison(table), true)?;
        if answer.count != 1 {
            return Err(FailureCause::Changed(None, Vec::new()).into());
        }
        let keys = planned.keys();
        let mut columns = Vec::new();
        let compared = planned.shown.iter().chain(&planned.moments);
        for (i, ((at, shown), (kind, cell))) in compared.zip(answer.cells()).enumerate() {
            let is_float = table.column(*at).form == ColumnFormat::Rounded;
            if is_same(kind, cell, shown) || (is_float && is_same_float(cell, shown)) {
                continue;
            }
            // The key is only equal by the server's collation, so this is another row.
            if i < keys {
                return Err(FailureCause::Changed(None, Vec::new()).into());
            }
            let name = &table.column(*at).name;
            if !columns.contains(name) {
                columns.push(name.clone());
            }
        }
        if columns.is_empty() {
            return Ok(());
        }
        let row = self.read(table, &planned.before(table))?;
        let parsed = |bytes: &[u8]| serde_json::from_slice(bytes).unwrap_or_default();
        // A client that sent no moments gets none.
        let row = row.map(|(row, moments)| match planned.moments.as_slice() {
            [] => (parsed(&row), Value::Null),
            _ => (parsed(&row), parsed(&moments)),
        });
        Err(FailureCause::Changed(row, columns).into())
    }

    /// The row as JSON, and the seconds since 1970 of its TIMESTAMP columns; `None` if it does not exist.
    fn read(
        &mut self,
        table: &EditableTable,
        reading: &SelectedColumns,
    ) -> Result<Option<RowJson>, ChangeFailure> {
        let answer = self.send(&reading.sql, true)?;
        if answer.count != 1 {
            return Ok(None);
        }
        let mut cells = answer.cells();
        let row = object(table, &reading.columns, cells.by_ref());
        let moments = object(table, &reading.moments, cells);
        Ok(Some((row, moments)))
    }

    fn commit(&mut self) -> Result<(), ChangeFailure> {
        if self.entry.running.is_stopped() {
            // Fails with the cause of the stop, and sends nothing.
            self.send("COMMIT", false)?;
        }
        match self.send_noted("COMMIT", "COMMIT") {
            Ok(_) => Ok(()),
            Err(error @ DbError::Statement(_)) if error.leaves_connection_usable() => {
                Err(FailureCause::Db(error).into())
            }
            Err(error) => Err(FailureCause::Unknown(error).into()),
        }
    }

    /// Rolls back. If this fails, the connection is reset or closed, at which the server rolls back.
    fn roll_back(&mut self) {
        let since = (SystemTime::now(), Instant::now());
        // A stop of the edit does not apply to this.
        let outcome = run_silently(&mut self.conn.driver, "ROLLBACK");
        if let Err(error) = &outcome {
            log::debug!("a ROLLBACK was not answered: {error}");
        }
        self.note("ROLLBACK", since, outcome.as_ref().err());
    }

    /// Locks the table, so that nobody writes between the comparison and the write of a row; an account that may not
    /// lock continues without.
    fn lock(&mut self, table: &EditableTable) -> Result<(), ChangeFailure> {
        match self.send(&format!("LOCK TABLES {} WRITE", table.name), true) {
            Err(DbError::Statement(error)) if DENIED.contains(&error.code) => Ok(()),
            outcome => Ok(outcome.map(drop)?),
        }
    }

    /// Sends a statement that writes, and notes it in the `shown` form.
    fn send_noted(&mut self, sql: &str, shown: &str) -> Result<OneRow, DbError> {
        let since = (SystemTime::now(), Instant::now());
        let outcome = self.send(sql, false);
        self.note(shown, since, outcome.as_ref().err());
        outcome
    }

    fn note(&self, shown: &str, since: (SystemTime, Instant), error: Option<&DbError>) {
        if let Some(statements) = self.service.statements() {
            let verdict = error.map_or(Verdict::Ok, |error| verdict(&error.into()));
            note(&statements, &self.job.visitor, shown, since, verdict, 0);
        }
    }

    fn send(&mut self, sql: &str, only_reads: bool) -> Result<OneRow, DbError> {
        let context = RunContext {
            guard: None,
            database: None,
            connector: &self.service.connector,
            running: &self.entry.running,
            harmless: only_reads,
            rows: &self.service.rows,
            reader: &self.job.reader,
        };
        let mut answer = OneRow::default();
        run(self.conn, sql, &mut answer, &context)?;
        Ok(answer)
    }
}

fn all_planned(table: &EditableTable, changes: Vec<Change>) -> Result<Vec<Planned>, ChangeFailure> {
    let one = |(i, change)| {
        plan(table, change).map_err(|what| ChangeFailure {
            at: Some((i, String::new())),
            ..ChangeFailure::request(what)
        })
    };
    changes.into_iter().enumerate().map(one).collect()
}

fn cannot_roll_back(table: &EditableTable) -> String {
    format!(
        "{} cannot roll back: changes are applied one by one, and if one fails, the earlier ones remain",
        if table.engine.is_empty() {
            "the table's engine"
        } else {
            table.engine.as_str()
        }
    )
}

fn too_large(bytes: usize, most: usize) -> String {
    format!(
        "its statement is {} KiB long, but the server accepts {} KiB: raise max_allowed_packet on the server, or write a \
         smaller value",
        bytes >> 10,
        most >> 10
    )
}

/// A row as JSON, and the seconds since 1970 of its TIMESTAMP columns.
type RowJson = (Vec<u8>, Vec<u8>);

/// Empty row, for one that was written and could not be read again.
fn unknown_row() -> RowJson {
    (b"{}".to_vec(), b"{}".to_vec())
}

/// JSON object of cells by column name, without too long ones.
fn object<'a>(
    table: &EditableTable,
    columns: &[usize],
    cells: impl Iterator<Item = (Kind, Option<&'a [u8]>)>,
) -> Vec<u8> {
    let mut out = vec![b'{'];
    for (at, (kind, cell)) in columns.iter().zip(cells) {
        if cell.is_some_and(|cell| cell.len() > MAX_CELL) {
            continue;
        }
        if out.len() > 1 {
            out.push(b',');
        }
        let column = table.column(*at);
        let is_float = column.form == ColumnFormat::Rounded;
        let float = is_float.then(|| shortest_float(cell)).flatten();
        out.extend_from_slice(json!(column.name).to_string().as_bytes());
        out.push(b':');
        rows::push_json(&mut out, kind, float.as_deref().or(cell));
    }
    out.push(b'}');
    out
}

/// Changes written so far.
#[derive(Default)]
struct WrittenChanges {
    changes: usize,
    /// The rows as JSON, separated by commas.
    rows: Vec<u8>,
    /// The seconds since 1970 of each row's TIMESTAMP columns.
    moments: Vec<u8>,
}

impl WrittenChanges {
    fn has_room(&self) -> bool {
        self.rows.len() < MAX_ROWS
    }

    fn push(&mut self, (row, moments): &RowJson) {
        for (list, one) in [(&mut self.rows, row), (&mut self.moments, moments)] {
            if !list.is_empty() {
                list.push(b',');
            }
            list.extend_from_slice(one);
        }
    }

    /// The whole answer.
    fn answer(&self, head: &EditHead) -> Response {
        let head = json!(head).to_string();
        let members = head.strip_suffix('}').expect("it was made as an object");
        let mut body = format!("{{\"code\":200,\"data\":{members},\"rows\":[").into_bytes();
        body.extend_from_slice(&self.rows);
        body.extend_from_slice(b"],\"moments\":[");
        body.extend_from_slice(&self.moments);
        body.extend_from_slice(b"]}}");
        Response::new(200, "application/json", body).header("Cache-Control", "no-store")
    }
}

/// Sets the session's modes for the literals of this program, strict checks, the offset `zone` and a short wait for
/// locks. Returns the size in bytes from which the server refuses a statement.
fn prepare(conn: &mut Conn, zone: Option<&TimeZone>) -> Result<usize, DbError> {
    let told = rows(conn, "SELECT @@session.sql_mode, @@max_allowed_packet")?;
    let cell = |i| {
        told.first()
            .and_then(|row| text(row, i))
            .unwrap_or_default()
    };
    let zone = zone.map_or_else(String::new, |zone| format!(", {}", zone.assignment()));
    run_silently(conn, &format!("SET sql_mode = '{}'{zone}", mode(&cell(0))))?;
    let patience =
        format!("SET innodb_lock_wait_timeout = {LOCK_WAIT}, lock_wait_timeout = {LOCK_WAIT}");
    match run_silently(conn, &patience) {
        // Servers other than MySQL and MariaDB may not know these variables.
        Err(error) if !error.leaves_connection_usable() => return Err(error),
        _ => {}
    }
    Ok(cell(1).parse().unwrap_or(usize::MAX))
}

fn mode(own: &str) -> String {
    let is_name = |name: &&str| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    let own = own.split(',').filter(is_name);
    let kept = own.filter(|name| !CHANGING.contains(name) && !STRICT.contains(name));
    kept.chain(STRICT).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::mode;

    #[test]
    fn modes_that_change_literals_go_and_others_stay() {
        let strict = "STRICT_ALL_TABLES,STRICT_TRANS_TABLES,NO_AUTO_VALUE_ON_ZERO";
        assert_eq!(mode(""), strict);
        assert_eq!(
            mode("ANSI_QUOTES,NO_BACKSLASH_ESCAPES,STRICT_TRANS_TABLES,EMPTY_STRING_IS_NULL"),
            format!("ANSI_QUOTES,{strict}")
        );
    }
}
