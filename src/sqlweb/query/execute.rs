//! Executes one statement of a request: count, gate, connection, read-only session, run, warnings.

use std::sync::Arc;

use super::hiding::HidingSink;
use super::job::{Completed, Job, TextOrigin};
use super::job::{TimeZone, with_time_zone};
use super::noted::noted;
use super::raw;
use super::row_count::{self, CountingSink};
use super::statement::{self, RunContext};
use crate::http::CancelToken;
use crate::sqlweb::catalogue;
use crate::sqlweb::conn::{
    CheckoutRequest, DbConn, Lease, RunningEntry, ServerInfo, call_driver, db_conn, readonly, rows,
    stoppable, stopped_when_gone,
};
use crate::sqlweb::error::{ApiError, DbError};
use crate::sqlweb::gate::{self, Dialect, ReadOnlyStatement, StatementKind};
use crate::sqlweb::output::RowSink;
use crate::sqlweb::record_sql;
use crate::sqlweb::results::{Done, Warning};
use crate::sqlweb::service::Service;

/// Errors about data with another `SQLSTATE`: `ER_UNKNOWN_ERROR` (of XPath), `ER_TRUNCATED_WRONG_VALUE_FOR_FIELD`,
/// `ER_WRONG_VALUE_FOR_TYPE`, `ER_WRONG_VALUE`, `ER_ROW_DOES_NOT_MATCH_PARTITION`.
const OF_DATA: [u16; 5] = [1105, 1366, 1411, 1525, 1748];

/// Note for a stopped statement that succeeded; `SLEEP` and `BENCHMARK` return a value when they are killed.
const STOPPED_YET_ENDED: &str = "the statement was told to stop, but the server says that it ended; its result may be incomplete";

/// Note for a stopped procedure: `KILL QUERY` stops its current statement, and a server may continue with the next
/// (MySQL).
const STOPPED_IN_PARTS: &str = "the statement was told to stop; later statements of the procedure may have run, and its result may be incomplete";

/// Statements that run others.
const PROGRAMS: [&str; 3] = ["CALL", "EXECUTE", "BEGIN"];

/// Statements that write but keep the current database, also in stored programs, which cannot `USE`; and statements
/// that only prepare others.
const STAYING: [&str; 6] = [
    "INSERT",
    "UPDATE",
    "DELETE",
    "REPLACE",
    "PREPARE",
    "DEALLOCATE",
];

/// Further such statements, if the text has no word of [`MOVING`].
#[rustfmt::skip]
const MOSTLY_STAYING: [&str; 13] = [
    "ALTER", "BEGIN", "COMMIT", "CREATE", "DROP", "LOCK", "RELEASE", "ROLLBACK", "SAVEPOINT", "SET", "START",
    "TRUNCATE", "UNLOCK",
];

/// Words that run a text or another statement, or with which `DROP` may drop the current database.
const MOVING: [&str; 4] = ["EXECUTE", "STATEMENT", "DATABASE", "SCHEMA"];

/// Pairs of modes: true if `"` quotes names, and true if a backslash is an ordinary character.
const MODES: [(bool, bool); 4] = [(false, false), (false, true), (true, false), (true, true)];

/// `ER_PARSE_ERROR`: the text is not exactly one statement.
const PARSE_ERROR: u16 = 1064;

/// Classification of a text, before anything is sent.
struct Classified {
    /// Kind of statement, for the log.
    kind: String,
    /// Set if the gate passed the statement, which then only reads.
    passed: Option<ReadOnlyStatement>,
    /// Facts of the server for which it was classified.
    info: Arc<ServerInfo>,
    /// True if it may change the connection's current database.
    moves: bool,
}

impl Classified {
    /// The new database of a statement that only changes the database.
    fn enters(&self) -> Option<&str> {
        match &self.passed.as_ref()?.kind {
            StatementKind::Use(database) => Some(database),
            _ => None,
        }
    }
}

/// Runs `job`, passes its rows to `sink`, and notes it if statements are noted.
pub(crate) fn execute(
    service: &Arc<Service>,
    job: &Job,
    sink: &mut dyn RowSink,
    client: &CancelToken,
) -> Result<Completed, ApiError> {
    execute_as(service, job, sink, client, None)
}

/// Like [`execute`], under the id of a `script`, if any.
pub(crate) fn execute_as(
    service: &Arc<Service>,
    job: &Job,
    sink: &mut dyn RowSink,
    client: &CancelToken,
    script: Option<&RunningEntry<'_>>,
) -> Result<Completed, ApiError> {
    match &service.statements() {
        None => execute_unrecorded(service, job, sink, client, script),
        Some(statements) => noted(statements, job, sink, |sink| {
            execute_unrecorded(service, job, sink, client, script)
        }),
    }
}

fn execute_unrecorded(
    service: &Arc<Service>,
    job: &Job,
    sink: &mut dyn RowSink,
    client: &CancelToken,
    script: Option<&RunningEntry<'_>>,
) -> Result<Completed, ApiError> {
    let info = service.info();
    let mut classified = classify(service, &info, job);
    if let Err(refusal) = &classified
        && (job.raw.is_some() || !may_pass_elsewhere(&job.sql))
    {
        return Err(refusal.clone());
    }
    let own = match script {
        Some(_) => None,
        None => Some(enter(service, job)?),
    };
    let entry = script.or(own.as_ref()).expect("one of both is there");
    let _leaving = stopped_when_gone(client, &entry.running, &service.connector);
    let wanted = CheckoutRequest {
        owner: &job.owner,
        database: job.db.as_deref(),
        enters: classified.as_ref().ok().and_then(Classified::enters),
        running: &entry.running,
        uses: job.uses.as_ref(),
    };
    let mut lease = service.sessions.check_out(&wanted)?;
    // The server of the connection decides.
    let own = lease.conn().info();
    if !Arc::ptr_eq(&own, &info) {
        classified = classify(service, &own, job);
    }
    let classified = classified.and_then(|classified| {
        let database = (job.db.as_deref())
            .or_else(|| lease.database())
            .or(service.options.database.as_deref());
        check_accounts(service, job, &classified, database).map(|()| classified)
    });
    let classified = match classified {
        Ok(classified) => classified,
        Err(refusal) => {
            lease.give_back(&Ok::<(), DbError>(()), &entry.running);
            return Err(refusal);
        }
    };
    let before = classified.moves.then(|| lease.lose_track());
    let outcome = returned_to(service, job, &mut lease).and_then(|returned| {
        let answer = run_on(service, job, sink, entry, &classified, lease.conn())?;
        Ok([returned, answer].concat())
    });
    let outcome = outcome.map_err(|error| lease.explain(error));
    let outcome = match service.has_guest() {
        true => without_values(outcome),
        false => outcome,
    };
    if let (Some(before), Some(entered)) = (before, classified.enters()) {
        lease.keep_track(match outcome {
            Ok(_) => Some(entered.to_owned()),
            Err(_) => before,
        });
    }
    let in_transaction = leaves_transaction(service, job, &mut lease, outcome.as_ref().err());
    lease.give_back(&outcome, &entry.running);
    service.ask_whether_it_writes(classified.passed.is_some(), outcome.as_ref().err());
    log_end(&classified.kind, job.sql.len(), entry, &outcome);
    outcome
        .map(|warnings| Completed {
            warnings,
            in_transaction,
            was_stopped: entry.running.is_stopped(),
        })
        .map_err(|error| {
            let mut answer = ApiError::from(error);
            answer.extra.in_transaction = Some(in_transaction);
            answer
        })
}

/// Hides values from a guest account: servers quote them in warnings and errors, even those of columns behind a view
/// that the account may not read.
fn without_values(outcome: Result<Vec<Warning>, DbError>) -> Result<Vec<Warning>, DbError> {
    match outcome {
        Ok(mut warnings) => {
            // Warnings without a number are our own.
            for theirs in warnings.iter_mut().filter(|one| one.code.is_some()) {
                let message = theirs.message.as_deref().unwrap_or_default();
                theirs.message = Some(unquoted(message));
            }
            Ok(warnings)
        }
        Err(DbError::Statement(mut error)) => {
            if error.state.starts_with("22") || OF_DATA.contains(&error.code) {
                error.message = unquoted(&error.message);
            }
            Err(DbError::Statement(error))
        }
        error => error,
    }
}

/// The message without its quoted parts.
fn unquoted(message: &str) -> String {
    match (message.find(['\'', '"']), message.rfind(['\'', '"'])) {
        (Some(first), Some(last)) if first < last => {
            let (before, rest) = message.split_at(first);
            format!(
                "{before}'…'{}",
                rest.get(last - first + 1..).unwrap_or_default()
            )
        }
        _ => message.to_owned(),
    }
}

/// The current dialect of the session of `job`, whose `sql_mode` any statement may have changed.
pub(crate) fn dialect_now(
    service: &Arc<Service>,
    job: &Job,
    entry: &RunningEntry<'_>,
) -> Result<Dialect, ApiError> {
    let wanted = CheckoutRequest {
        owner: &job.owner,
        database: None,
        enters: None,
        running: &entry.running,
        uses: job.uses.as_ref(),
    };
    let mut lease = service.sessions.check_out(&wanted)?;
    let dialect = lease.conn().info().dialect.clone();
    let asked = rows(&mut lease.conn().driver, "SELECT @@sql_mode");
    lease.give_back(&asked, &entry.running);
    let modes = asked?;
    let modes = modes.first().and_then(|row| row.get_opt::<String, _>(0));
    let modes = modes.and_then(Result::ok).unwrap_or_default();
    let has = |mode| modes.split(',').any(|one| one == mode);
    Ok(of_modes(
        &dialect,
        has("ANSI_QUOTES"),
        has("NO_BACKSLASH_ESCAPES"),
    ))
}

/// Restores or asks what an earlier statement may have changed unnoticed: the character sets and the current database.
/// Does nothing if the job's statement reads a result of the previous one, which that would change.
fn returned_to(
    service: &Service,
    job: &Job,
    lease: &mut Lease<'_>,
) -> Result<Vec<Warning>, DbError> {
    let conn = lease.conn();
    let is_due = conn.charset_unsure && !service.options.readonly;
    if !is_due || job.is_of_file() || raw::reads_last(&job.sql) {
        return Ok(Vec::new());
    }
    let notes = raw::return_to(conn)?;
    let answer = rows(&mut conn.driver, "SELECT DATABASE()")?;
    conn.database_unsure = false;
    lease.keep_track(answer.first().and_then(|row| catalogue::text(row, 0)));
    Ok(notes)
}

/// True if the job's session is in a transaction now. Without a session, and in read-only mode, the connection is reset
/// before its next use.
fn leaves_transaction(
    service: &Service,
    job: &Job,
    lease: &mut Lease<'_>,
    error: Option<&DbError>,
) -> bool {
    let lasts = !service.options.readonly && !job.owner.session.is_empty();
    let lives = error.is_none_or(DbError::leaves_connection_usable);
    if !lasts || !lives {
        return false;
    }
    let conn = lease.conn();
    let in_transaction = db_conn::in_transaction(conn);
    conn.has_state |= in_transaction;
    conn.held.transaction = in_transaction;
    in_transaction
}

/// Logs kind and size, but never the text, which may be secret.
fn log_end<T>(kind: &str, bytes: usize, entry: &RunningEntry<'_>, outcome: &Result<T, DbError>) {
    let status = outcome.as_ref().map_or_else(DbError::status, |_| 200);
    let age = entry.running.age();
    log::debug!("{kind} of {bytes} bytes: {status} after {age:.3?}");
}

fn run_on(
    service: &Arc<Service>,
    job: &Job,
    sink: &mut dyn RowSink,
    entry: &RunningEntry<'_>,
    classified: &Classified,
    conn: &mut DbConn,
) -> Result<Vec<Warning>, DbError> {
    let mut hiding = HidingSink::of(sink);
    let sink: &mut dyn RowSink = match service.has_visitors() {
        true => &mut hiding,
        false => hiding.sink,
    };
    // A rebuilt text cannot write, and its answer may have no rows, as for EXPLAIN of an idle connection.
    let is_guarded =
        |passed: &ReadOnlyStatement| service.options.readonly && passed.rebuilt.is_none();
    let is_guarded = classified.passed.as_ref().is_some_and(is_guarded);
    let zone = job.time_zone.as_ref();
    let guard = || readonly::guard(&classified.info, &zone.map_or_else(String::new, and_sets));
    let context = RunContext {
        guard: is_guarded.then(guard),
        database: job.db.as_deref(),
        connector: &service.connector,
        running: &entry.running,
        harmless: classified.passed.is_some(),
        rows: &service.rows,
        reader: &job.reader,
    };
    match &classified.passed {
        Some(passed) if service.options.readonly => {
            let sql = alone(&job.sql, &classified.info.dialect);
            read_only(service, job, sql, sink, &context, passed, conn)
        }
        _ => {
            // Asked first, since an error has no status.
            let dialect = dialect_of(conn);
            only_one(conn, job)?;
            let several = PROGRAMS.contains(&classified.kind.as_str());
            conn.database_unsure |= several;
            conn.moved |= classified.moves || several;
            if classified.passed.is_none() {
                conn.has_state = true;
                conn.held.note(record_sql::kind(&job.sql), &job.sql);
            }
            let warnings = with_time_zone(conn, zone, |conn| {
                run(job, &job.sql, sink, &context, conn, several)
            });
            let warnings = warnings.map_err(|error| explain_several(&dialect, job, error));
            let may_leave = raw::may_leave(&classified.kind, &job.sql);
            // A file's own character set stays to its end.
            conn.charset_unsure |=
                job.is_of_file() && may_leave || raw::may_leave_unseen(&classified.kind);
            if job.is_of_file() || !may_leave {
                return warnings;
            }
            warnings.and_then(|warnings| raw::stay(conn, warnings))
        }
    }
}

/// The offset as a further assignment of a `SET`.
fn and_sets(zone: &TimeZone) -> String {
    format!(", {}", zone.assignment())
}

/// The text up to the semicolon of its only statement: MySQL treats a comment behind it as an empty statement.
fn alone<'a>(sql: &'a str, dialect: &Dialect) -> &'a str {
    let end = gate::split(sql, dialect).next().map(|span| span.end);
    match end.and_then(|end| sql.split_at_checked(end)) {
        Some((statement, rest)) if rest.contains(';') => statement,
        _ => sql,
    }
}

/// Runs a statement that the gate passed in the third layer of the read-only mode.
fn read_only(
    service: &Service,
    job: &Job,
    sql: &str,
    sink: &mut dyn RowSink,
    context: &RunContext<'_>,
    passed: &ReadOnlyStatement,
    conn: &mut DbConn,
) -> Result<Vec<Warning>, DbError> {
    // Preparing already runs constant functions and waits for locked tables, so the server may refuse here, too, and a
    // stop must reach it.
    let is_ready = |conn: &mut DbConn| {
        service.connector.make_read_only(conn, &passed.calls)?;
        if passed.rebuilt.is_some() || matches!(passed.kind, StatementKind::Use(_)) {
            return Ok(());
        }
        conn.with_read_timeout(None, |conn| readonly::prepare(&mut conn.driver, sql))
    };
    let sent = passed.rebuilt.as_deref().unwrap_or(sql);
    let outcome = stoppable(context.running, conn, is_ready).and_then(|()| match &passed.kind {
        StatementKind::Use(db) => change_database(conn, db, sink),
        _ => run(job, sent, sink, context, conn, false),
    });
    readonly::explain(readonly::not_too_wide(outcome, sql), passed.kind.name())
}

/// Runs `sql`, or the bytes of `job` in its place; `several` if it can run other statements.
fn run(
    job: &Job,
    sql: &str,
    sink: &mut dyn RowSink,
    context: &RunContext<'_>,
    conn: &mut DbConn,
    several: bool,
) -> Result<Vec<Warning>, DbError> {
    let count = conn.row_count.take();
    let has_escapes = !conn.has_no_backslash_escapes();
    let fill_in = |count| row_count::filled_in(sql, record_sql::kind(sql), count, has_escapes);
    let filled_in = count.and_then(fill_in);
    let sink = &mut CountingSink {
        sink,
        affected: None,
    };
    let ended = match &job.raw {
        Some(bytes) => raw::run(conn, sql, bytes, sink, context)?,
        None => statement::run(conn, filled_in.as_deref().unwrap_or(sql), sink, context)?,
    };
    if ended.warnings > 0 {
        conn.row_count = sink.affected;
    }
    let mut warnings = match ended.warnings {
        0 => Vec::new(),
        count => catalogue::warnings(&mut conn.driver, count)?,
    };
    if ended.stopped.is_some() {
        let message = if several {
            STOPPED_IN_PARTS
        } else {
            STOPPED_YET_ENDED
        };
        warnings.push(Warning::ours("Note", message));
    }
    Ok(warnings)
}

/// Runs `USE` by the protocol's command, since not every server can prepare the statement.
fn change_database(
    conn: &mut DbConn,
    db: &str,
    sink: &mut dyn RowSink,
) -> Result<Vec<Warning>, DbError> {
    conn.moved = true;
    call_driver(|| conn.driver.select_db(db))?;
    sink.done(Done::default());
    Ok(Vec::new())
}

/// Enters `job` among the running statements.
pub(crate) fn enter<'a>(
    service: &'a Arc<Service>,
    job: &Job,
) -> Result<RunningEntry<'a>, ApiError> {
    let owner = job.owner.clone();
    let Some(id) = &job.query_id else {
        return Ok(service.running.enter_unnamed(owner));
    };
    service.running.enter(owner, id).ok_or_else(|| {
        ApiError::conflict(format!(
            "query_id '{id}' is in use by a running statement; choose another"
        ))
    })
}

fn classify(service: &Service, info: &Arc<ServerInfo>, job: &Job) -> Result<Classified, ApiError> {
    let info = info.clone();
    let sql = job.sql.as_str();
    if job.raw.is_some() {
        return classify_bytes(service, info, sql);
    }
    let dialect = info.dialect.clone();
    if gate::split(sql, &dialect).next().is_none() {
        return Err(ApiError::bad_request(
            "'sql' contains no statement; send one statement per request",
        ));
    }
    if service.options.readonly {
        let statements = gate::split(sql, &dialect).count();
        if statements > 1 {
            return Err(ApiError::bad_request(several(job, statements)));
        }
    }
    if service.has_visitors() && lifts_time_limit(sql) {
        return Err(no_time_limit());
    }
    // MySQL shows the files of all tables in it to everybody.
    if service.has_guest() && sql.to_ascii_lowercase().contains("tablespaces_extensions") {
        return Err(ApiError::refused(
            "INFORMATION_SCHEMA.TABLESPACES_EXTENSIONS was refused: it would show a guest account names of tables that it \
             may not read",
            "SELECT",
            None,
        ));
    }
    match gate::check(sql, &dialect) {
        Ok(passed) if service.has_guest() && passed.kind == StatementKind::PlanOfOther => {
            Err(no_plan())
        }
        Ok(passed) => Ok(Classified {
            kind: passed.kind.name().to_owned(),
            moves: matches!(passed.kind, StatementKind::Use(_)),
            passed: Some(passed),
            info,
        }),
        Err(refusal) if service.options.readonly => Err(blocked(&refusal)),
        Err(refusal) if refusal.statement == "LOAD" && asks_for_a_file(sql) => Err(no_file()),
        Err(refusal) => Ok(Classified {
            moves: !stays(&refusal.statement, sql)
                && !PROGRAMS.contains(&refusal.statement.as_str()),
            kind: refusal.statement,
            passed: None,
            info,
        }),
    }
}

/// Refuses statements about accounts and the server for visitors of a shared web client. Reading stays allowed, but for
/// what proves an account.
fn check_accounts(
    service: &Service,
    job: &Job,
    classified: &Classified,
    database: Option<&str>,
) -> Result<(), ApiError> {
    if !service.has_visitors() {
        return Ok(());
    }
    let dialect = &classified.info.dialect;
    if classified.passed.is_some() {
        let found = gate::shows_secrets(&job.sql, dialect, database);
        return found.map_or(Ok(()), |found| Err(no_accounts(found, &classified.kind)));
    }
    let sql = job.raw.as_deref().unwrap_or(job.sql.as_bytes());
    let found = gate::about_accounts(sql, dialect).or_else(|| {
        let is_there = |database: &str| database.eq_ignore_ascii_case(gate::OF_ACCOUNTS);
        (database.is_some_and(is_there)).then_some("a statement in the database mysql")
    });
    found.map_or(Ok(()), |found| Err(no_accounts(found, &classified.kind)))
}

/// Refusal of a statement about accounts or the server.
pub(crate) fn no_accounts(found: &str, kind: &str) -> ApiError {
    let what = format!(
        "{found} was refused: a shared database never changes accounts or shows their passwords, and never changes the \
         server's own database mysql, its settings or its files (layer: server gate); run it without sharing"
    );
    ApiError::refused(what, kind, Some("gate"))
}

/// True if a hint in the text may set another time limit.
fn lifts_time_limit(sql: &str) -> bool {
    let hints = sql.split("/*+").skip(1);
    hints
        .filter_map(|hint| hint.split("*/").next())
        .any(|hint| hint.to_ascii_uppercase().contains("MAX_EXECUTION_TIME"))
}

fn no_time_limit() -> ApiError {
    ApiError::refused(
        "the hint MAX_EXECUTION_TIME was refused: it would lift the time limit of the shared database; remove it",
        "optimizer hint",
        None,
    )
}

fn no_plan() -> ApiError {
    ApiError::refused(
        "the plan of a running statement was refused: it would show a guest account values that it may not read; use \
         EXPLAIN with the statement itself",
        "EXPLAIN",
        None,
    )
}

/// Classifies a statement that is not UTF-8. The gate cannot check it, so it is refused in read-only mode, and may do
/// anything otherwise.
fn classify_bytes(
    service: &Service,
    info: Arc<ServerInfo>,
    shown: &str,
) -> Result<Classified, ApiError> {
    let kind = record_sql::kind(shown);
    if service.options.readonly {
        let what = "a statement that is not UTF-8 was refused because it cannot be checked (layer: server gate)";
        let what = format!("read-only mode: {what}");
        return Err(ApiError::refused(what, kind, Some("gate")));
    }
    if kind == "LOAD" && asks_for_a_file(shown) {
        return Err(no_file());
    }
    Ok(Classified {
        moves: !stays(kind, shown) && !PROGRAMS.contains(&kind),
        kind: kind.to_owned(),
        passed: None,
        info,
    })
}

/// True if the server would ask for a local file. It never gets one, and refusing then would cost the session.
fn asks_for_a_file(sql: &str) -> bool {
    let mut words = sql.split_ascii_whitespace().skip(2);
    let is = |word: &str, other: &str| word.eq_ignore_ascii_case(other);
    let next = words.find(|word| !is(word, "LOW_PRIORITY") && !is(word, "CONCURRENT"));
    next.is_some_and(|word| is(word, "LOCAL"))
}

fn no_file() -> ApiError {
    ApiError::bad_request(
        "LOAD … LOCAL was not sent: it needs a local file, which postern never sends; load it with the server's own \
         client, or with LOAD DATA INFILE from a file on the server",
    )
}

/// True if `sql`, which the gate refused as `statement`, keeps the session's database.
fn stays(statement: &str, sql: &str) -> bool {
    let mostly = || MOSTLY_STAYING.contains(&statement) || statement.starts_with("function ");
    STAYING.contains(&statement)
        || mostly() && {
            let text = sql.to_ascii_uppercase();
            !MOVING.iter().any(|word| text.contains(word))
        }
}

fn several(job: &Job, statements: usize) -> String {
    match job.origin {
        TextOrigin::Request => format!(
            "'sql' contains {statements} statements; send one per request, or all of them as a script"
        ),
        TextOrigin::Script | TextOrigin::File => {
            format!("this was read as one statement and may be {statements}")
        }
    }
}

/// Makes the server refuse a second statement in the text, unless a script allows several: our lexer may differ from
/// the server's.
fn only_one(conn: &mut DbConn, job: &Job) -> Result<(), DbError> {
    let text = job.sql.trim_end_matches([';', ' ', '\t', '\r', '\n']);
    if !text.contains(';') || conn.take_several(job.is_delimited)? || job.is_delimited {
        return Ok(());
    }
    // If the server could not be told, preparing the text refuses a second statement.
    let dialect = conn.info().dialect.clone();
    if !MODES.iter().any(|(ansi_quotes, no_backslash_escapes)| {
        gate::has_semicolon(
            text,
            &of_modes(&dialect, *ansi_quotes, *no_backslash_escapes),
        )
    }) {
        return Ok(());
    }
    match readonly::prepare(&mut conn.driver, &job.sql) {
        Err(DbError::Statement(error)) if error.code == PARSE_ERROR => Err(explain_several(
            &dialect_of(conn),
            job,
            DbError::Statement(error),
        )),
        Err(error) if !error.leaves_connection_usable() => Err(error),
        _ => Ok(()),
    }
}

fn of_modes(dialect: &Dialect, ansi_quotes: bool, no_backslash_escapes: bool) -> Dialect {
    Dialect {
        ansi_quotes,
        no_backslash_escapes,
        ..dialect.clone()
    }
}

/// The dialect of the session's last status.
fn dialect_of(conn: &DbConn) -> Dialect {
    of_modes(&conn.info().dialect, false, conn.has_no_backslash_escapes())
}

/// Explains a parse error of several statements that were sent as one; none of them ran.
fn explain_several(dialect: &Dialect, job: &Job, error: DbError) -> DbError {
    match error {
        DbError::Statement(mut error) if error.code == PARSE_ERROR && !job.is_delimited => {
            let other = of_modes(dialect, false, !dialect.no_backslash_escapes);
            let count = |dialect| gate::split(&job.sql, dialect).count();
            // A server may report a mode one answer late.
            let statements = count(dialect).max(count(&other));
            if statements > 1 {
                error.message = format!("{}: {}", several(job, statements), error.message);
            }
            DbError::Statement(error)
        }
        error => error,
    }
}

/// True if some server could accept a text that was refused for the last one: behind a balancer, or after a failover,
/// the statement may reach another.
fn may_pass_elsewhere(sql: &str) -> bool {
    const KINDS: [Dialect; 5] = [
        Dialect::mariadb((10, 6, 0)),
        Dialect::mariadb((12, 3, 0)),
        Dialect::mysql((5, 7, 0)),
        Dialect::mysql((8, 0, 0)),
        Dialect::mysql((9, 7, 0)),
    ];
    KINDS.iter().any(|kind| gate::check(sql, kind).is_ok())
}

fn blocked(refusal: &gate::Refusal) -> ApiError {
    let what = format!(
        "read-only mode: {} was refused: {} (layer: server gate)",
        refusal.statement, refusal.reason
    );
    let mut answer = ApiError::refused(what, &refusal.statement, Some("gate"));
    answer.extra.offset = Some(refusal.offset);
    answer
}
