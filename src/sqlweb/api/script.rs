//! `POST /api/script`: runs the statements of a body of any size one after another in a session, and reports each
//! result.

use std::io::{self, ErrorKind, Read, Write};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mysql::Column;
use mysql::prelude::Queryable;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, json};

use super::params::Fields;
use super::query;
use super::script_body::{ScriptProgress, SharedBody, script_of};
use crate::http::{CancelToken, Request, Response, ResponseHead};
use crate::net::in_words;
use crate::sqlweb::conn::RunningEntry;
use crate::sqlweb::error::{ApiError, ServerError};
use crate::sqlweb::gate::{
    ConsoleCommand, MAX_DELIMITER, Script, ScriptForm, ScriptStatement, unended,
};
use crate::sqlweb::limits::{FAILURES_SHARED, MAX_PACKET, MAX_STATEMENT_SHARED};
use crate::sqlweb::output::{Flow, LazyStream, RowSink, duration};
use crate::sqlweb::query::{Job, TextOrigin, dialect_now, enter, execute_as};
use crate::sqlweb::record_sql;
use crate::sqlweb::results::{Done, TextRow, Warning};
use crate::sqlweb::service::Service;

/// Bytes and time that results are held back before they are sent: most statements cost less than sending.
const FULL: usize = 16 << 10;
const PROMPT: Duration = Duration::from_millis(50);

/// Size in bytes from which a statement is compared with the server's `max_allowed_packet`. Default 1 MiB, the smallest
/// value of that in practice.
const LARGE: usize = 1 << 20;

/// The variable that decides the meaning of quotes and backslashes, and the longest text that is searched for it, in
/// bytes.
const MODE: &[u8] = b"sql_mode";
const LONGEST_SETTING: usize = 64 << 10;

/// Header with a script's session, which is secret, so it is not in the address.
const SESSION: &str = "postern-session";

/// Number in the next session of a script that names none; no request can name such a session.
static NEXT_SESSION: AtomicU64 = AtomicU64::new(0);

/// Status of a statement that had no connection or lost it.
const CONNECTION_LOST: u16 = 502;

/// Result of a statement of a script, as a line of the answer.
#[derive(Default, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct ScriptLine {
    /// Rows that it changed, if it succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    affected_rows: Option<u64>,
    /// 200, or the status of its failure.
    code: u16,
    /// Time it took, such as `1.234ms`.
    duration: String,
    /// The server's error, if it failed so.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ServerError>,
    /// True if the session has an open transaction now.
    #[serde(skip_serializing_if = "Option::is_none")]
    in_transaction: Option<bool>,
    /// The server's sentence, such as `Rows matched: 3  Changed: 2  Warnings: 0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    info: Option<Box<str>>,
    /// Its first word, such as `INSERT`, or `OTHER`.
    kind: &'static str,
    /// The first generated key, or 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_insert_id: Option<u64>,
    /// Part that refused it: `gate`, which reads the statement, or `connection`, which is read-only.
    #[serde(skip_serializing_if = "Option::is_none")]
    layer: Option<&'static str>,
    /// Line in which it begins, from 1.
    line: u64,
    /// Cause of its failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// Its start, in bytes of the script.
    offset: u64,
    /// Place of the failure, in bytes of the statement, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<usize>,
    /// Rows of its result, which are only counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<u64>,
    /// Its number, from 1.
    statement: u64,
    /// The server's warnings, and notes of this program.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<Warning>,
}

/// The line at the end of the answer to a script.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct ScriptEnd<'a> {
    /// True if it was cancelled.
    cancelled: bool,
    /// If the rest of the script could not be read: 413 for a statement that is too long, in read-only mode and for
    /// visitors over 4 MiB, for those 408 if none ended for two minutes, and 429 if too many scripts are being read
    /// that are large or whose first statement has not arrived, or if 500 statements of it have failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<u16>,
    /// The delimiter of statements at that point.
    delimiter: &'a str,
    /// Always true.
    #[cfg_attr(test, schemars(extend("const" = true)))]
    end: bool,
    /// Statements that failed.
    failed: u64,
    /// Line in which the part starts that was not run, from 1.
    line: u64,
    /// Cause, if the rest could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// Statements in that part; null if they were not counted: for visitors, and after a cancel.
    not_run: Option<u64>,
    /// Start of the part that was not run, in bytes of the script.
    offset: u64,
    /// A sentence for `stopped`.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Statements that ran.
    statements: u64,
    /// Reason if it ended before the end of the script.
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<Stopped>,
}

/// Reason why a script ended before its end.
#[derive(Clone, Copy, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
enum Stopped {
    /// Its connection was lost.
    Lost,
    /// It was cancelled.
    Cancelled,
    /// A statement failed.
    Failed,
    /// The command `exit`.
    Exit,
    /// The rest could not be read.
    Unreadable,
}

/// Options of the request beside the script.
struct ScriptOptions {
    form: ScriptForm,
    delimiter: String,
    /// Goes on after a statement that failed.
    goes_on: bool,
    /// More of the script follows in another request.
    is_part: bool,
}

/// Reads the request's head and runs its body on a thread of its own.
pub(crate) fn script(service: &Arc<Service>, request: Request) {
    match read(service, &request) {
        Ok((job, options)) => {
            let shared = service.clone();
            service.spawn(request, move |request| {
                answer(&shared, request, job, &options)
            });
        }
        Err(error) => request.respond(Response::error(&error)),
    }
}

fn read(service: &Service, request: &Request) -> Result<(Job, ScriptOptions), ApiError> {
    let form = form_of(request)?;
    let mut members = Map::new();
    for name in ["db", "query_id", "delimiter", "on_error", "part"] {
        if let Some(value) = request.query(name) {
            members.insert(name.to_owned(), json!(value));
        }
    }
    if let Some(session) = request.header(SESSION) {
        members.insert("session".to_owned(), json!(session));
    }
    let mut fields = Fields::from_members(members);
    let mut job = query::job_of(service, request, &mut fields, String::new());
    job.origin = match form {
        ScriptForm::Sql => TextOrigin::File,
        ScriptForm::Lines => TextOrigin::Script,
    };
    let delimiter = fields.short("delimiter", MAX_DELIMITER);
    let mut word = |name: &str, words: [&str; 2]| {
        let value = fields.optional(name);
        if value
            .as_ref()
            .is_some_and(|value| !words.contains(&value.as_str()))
        {
            fields.refuse(&format!(
                "'{name}' must be '{}' or '{}'",
                words[0], words[1]
            ));
        }
        value.is_some_and(|value| value == words[1])
    };
    let options = ScriptOptions {
        form,
        delimiter: delimiter.unwrap_or_else(|| ";".to_owned()),
        goes_on: word("on_error", ["stop", "continue"]),
        is_part: word("part", ["0", "1"]),
    };
    fields.done()?;
    Ok((job, options))
}

fn form_of(request: &Request) -> Result<ScriptForm, ApiError> {
    let declared = request.header("content-type").unwrap_or_default();
    match declared.split(';').next().unwrap_or_default().trim() {
        "application/sql" => Ok(ScriptForm::Sql),
        "application/x-ndjson" => Ok(ScriptForm::Lines),
        _ => Err(ApiError::unsupported_media(
            "the body must be sent with 'Content-Type: application/sql', or 'application/x-ndjson' with one JSON string per line",
        )),
    }
}

fn answer(service: &Arc<Service>, request: Request, mut job: Job, options: &ScriptOptions) {
    if !job.owner.session.is_empty() {
        return run(service, request, job, options);
    }
    let number = NEXT_SESSION.fetch_add(1, Ordering::Relaxed);
    job.owner.session = format!("\0script {number}");
    let owner = job.owner.clone();
    run(service, request, job, options);
    service.sessions.close(&owner);
}

fn run(service: &Arc<Service>, mut request: Request, job: Job, options: &ScriptOptions) {
    let client = request.client().clone();
    let Some(body) = request.take_stream() else {
        return; // answers itself
    };
    let entry = match enter(service, &job) {
        Ok(entry) => entry,
        Err(error) => return request.respond(Response::error(&error)),
    };
    let head = ResponseHead::new(200)
        .header("Content-Type", "application/x-ndjson")
        .header("Cache-Control", "no-store");
    let out = LazyStream::new(request, head);
    let mut run = ScriptRun {
        service,
        client: &client,
        entry: &entry,
        job,
        out,
        lines: Vec::new(),
        sent_at: Instant::now(),
        number: 0,
        failed: 0,
        swallowed: 0,
        is_over: false,
        exited_in: None,
        last_failed: (0, String::new()),
        packet: None,
        progress: ScriptProgress::new(),
        has_met_mode: false,
    };
    entry.running.mark_one_of_many(true);
    let ended = if service.is_shared() {
        let body = SharedBody {
            body,
            progress: Rc::clone(&run.progress),
            scripts: &service.scripts,
            uses: run.job.uses.clone(),
        };
        run.all(body, options, MAX_STATEMENT_SHARED)
    } else {
        run.all(script_of(body), options, *MAX_PACKET)
    };
    entry.running.mark_one_of_many(false);
    entry.running.end();
    let sent = ended.and_then(|()| run.send());
    let out = run.out;
    // Before the answer ends, since its reader may then use the id again.
    drop(entry);
    match sent {
        Ok(()) => out.finish(),
        Err(error) => log::debug!("a script was interrupted: {error}"),
    }
}

/// A script that is being run.
struct ScriptRun<'a> {
    service: &'a Arc<Service>,
    client: &'a CancelToken,
    entry: &'a RunningEntry<'a>,
    /// The job, with the text of the current statement.
    job: Job,
    out: LazyStream,
    /// Lines to send.
    lines: Vec<u8>,
    sent_at: Instant,
    /// Number of the current statement, from 1.
    number: u64,
    failed: u64,
    /// Number of statements that the server refused together with an unended block before them.
    swallowed: u64,
    /// True if the connection was lost, and the session with it, so that nothing more is run.
    is_over: bool,
    /// Line of the `exit` command that ended the script.
    exited_in: Option<u64>,
    /// Line and message of the statement that failed last.
    last_failed: (u64, String),
    /// The server's `max_allowed_packet`, once it has been asked.
    packet: Option<usize>,
    progress: Rc<ScriptProgress>,
    /// True once a statement has named the `sql_mode`.
    has_met_mode: bool,
}

impl ScriptRun<'_> {
    /// Runs all statements, each of at most `most` bytes; fails if the client has left.
    fn all(&mut self, body: impl Read, options: &ScriptOptions, most: usize) -> io::Result<()> {
        let dialect = self.service.info().dialect.clone();
        let mut script = Script::new(body, options.form, dialect, &options.delimiter, most);
        let mut trouble = None;
        self.follow(&mut script, options);
        while trouble.is_none()
            && !self.is_over
            && self.exited_in.is_none()
            && !self.entry.running.is_stopped()
            && (self.failed == 0 || options.goes_on)
        {
            match script.next(options.is_part) {
                Ok(Some(statement)) => {
                    self.progress.mark_statement_read();
                    self.one(statement)?;
                    if self.check_mode_changed() {
                        self.follow(&mut script, options);
                    }
                    self.progress.restart_timeout();
                    trouble = self.is_hopeless().then(too_many_failures);
                }
                Ok(None) => break,
                Err(error) => {
                    trouble = Some(error);
                    break;
                }
            }
        }
        let (offset, line) = script.rest();
        let delimiter = &script.delimiter().to_owned();
        let is_counted =
            trouble.is_none() && !self.entry.running.is_stopped() && !self.service.is_shared();
        let not_run = is_counted.then(|| left(&mut script, options) + self.swallowed);
        let (stopped, reason) = self.stopped(trouble.as_ref(), options).unzip();
        self.write_line(&ScriptEnd {
            cancelled: self.entry.running.is_stopped(),
            code: trouble.as_ref().map(status),
            delimiter,
            end: true,
            failed: self.failed,
            line,
            message: trouble.map(|error| error.to_string()),
            not_run,
            offset,
            reason,
            statements: self.number,
            stopped,
        })
    }

    /// Adapts the splitting of statements to the session's current `sql_mode`.
    fn follow<R: Read>(&self, script: &mut Script<R>, options: &ScriptOptions) {
        if options.form == ScriptForm::Lines || self.service.options.readonly {
            return;
        }
        // An error is left to the next statement, which will meet it too.
        if let Ok(dialect) = dialect_now(self.service, &self.job, self.entry) {
            script.follow(dialect);
        }
    }

    /// True if the last statement may have changed the session's `sql_mode`. A prepared statement that changes it had
    /// that word in an earlier statement.
    fn check_mode_changed(&mut self) -> bool {
        let sql = self.job.sql.as_bytes();
        let names = sql.len() <= LONGEST_SETTING
            && (sql.windows(MODE.len())).any(|part| part.eq_ignore_ascii_case(MODE));
        self.has_met_mode |= names;
        names || self.has_met_mode && matches!(record_sql::kind(&self.job.sql), "EXECUTE" | "CALL")
    }

    /// Writes the result of a console command to `line`.
    fn command(
        &mut self,
        statement: &ScriptStatement,
        command: ConsoleCommand,
        line: &mut ScriptLine,
    ) {
        let text = String::from_utf8_lossy(&statement.sql);
        let word = text.split_whitespace().next().unwrap_or_default();
        match command {
            ConsoleCommand::Skipped(says) => {
                let warning = Warning::ours("Warning", format!("{word}: {says}"));
                line.warnings = vec![warning];
            }
            ConsoleCommand::Failed(says) => {
                self.failed += 1;
                self.last_failed = (statement.line, says.to_owned());
                line.code = 400;
                line.message = Some(says.to_owned());
            }
            ConsoleCommand::Exit => self.exited_in = Some(statement.line),
        }
    }

    /// Reason that the script stopped before its end, as a word and as a sentence.
    fn stopped(
        &self,
        trouble: Option<&io::Error>,
        options: &ScriptOptions,
    ) -> Option<(Stopped, String)> {
        let (line, message) = &self.last_failed;
        if let Some(line) = self.exited_in {
            let reason = format!("ended by 'exit' in line {line}, as in the console");
            return Some((Stopped::Exit, reason));
        }
        let at = format!("statement {} in line {line}", self.number);
        if self.is_over {
            let reason = format!("stopped at {at}, which ended the connection: {message}");
            return Some((Stopped::Lost, reason));
        }
        if let Some(cause) = self.entry.running.stopped_by() {
            return Some((Stopped::Cancelled, format!("stopped: {}", cause.sentence())));
        }
        if self.failed > 0 && !options.goes_on {
            return Some((
                Stopped::Failed,
                format!("stopped at {at}, which failed: {message}"),
            ));
        }
        trouble.map(|error| (Stopped::Unreadable, format!("stopped: {}", in_words(error))))
    }

    fn one(&mut self, statement: ScriptStatement) -> io::Result<()> {
        self.number += 1;
        let began = Instant::now();
        let mut line = ScriptLine {
            code: 200,
            kind: "OTHER",
            line: statement.line,
            offset: statement.offset,
            statement: self.number,
            ..ScriptLine::default()
        };
        match statement.command {
            Some(command) => self.command(&statement, command, &mut line),
            None => self.execute(statement, &mut line),
        }
        line.duration = duration(began);
        self.write_line(&line)
    }

    fn execute(&mut self, statement: ScriptStatement, line: &mut ScriptLine) {
        self.job.is_delimited = statement.is_delimited;
        let mut sink = RowCounter::default();
        self.job.set_statement(statement.sql);
        let outcome = self.fits().and_then(|()| {
            execute_as(
                self.service,
                &self.job,
                &mut sink,
                self.client,
                Some(self.entry),
            )
        });
        line.kind = record_sql::kind(&self.job.sql);
        match outcome {
            Ok(completed) => {
                // From now on the script itself chooses the session's database.
                self.job.db = None;
                line.affected_rows = Some(sink.done.affected_rows);
                line.last_insert_id = Some(sink.done.last_insert_id);
                line.in_transaction = Some(completed.in_transaction);
                line.info = sink.done.info;
                line.rows = sink.rows;
                line.warnings = completed.warnings;
            }
            Err(mut error) => {
                self.explain_unended(&mut error);
                self.failed += 1;
                self.is_over = error.status == CONNECTION_LOST;
                self.last_failed = (statement.line, error.message.clone());
                line.code = error.status;
                line.message = Some(error.message);
                line.error = error.extra.error;
                line.in_transaction = error.extra.in_transaction;
                line.layer = error.extra.layer;
                line.place = error.extra.offset;
            }
        }
    }

    /// Adds to the error the number of statements behind an unended block: the server runs none of a text it cannot
    /// parse.
    fn explain_unended(&mut self, error: &mut ApiError) {
        // ER_PARSE_ERROR
        if error.errno() != Some(1064) || self.job.is_delimited {
            return;
        }
        let behind = unended(&self.job.sql, &self.service.info().dialect);
        if behind > 0 {
            self.swallowed += u64::try_from(behind).unwrap_or(u64::MAX);
            error.message += &format!(
                "; the block that begins here has no END, so {behind} more statements were sent with it, and none ran"
            );
        }
    }

    /// True if too many statements of a script on a shared web client have failed.
    fn is_hopeless(&self) -> bool {
        self.failed >= FAILURES_SHARED && self.service.is_shared()
    }

    /// Checks that the server accepts a statement of that size. It would close the connection at a larger one, which
    /// would lose the transaction.
    fn fits(&mut self) -> Result<(), ApiError> {
        let size = self.job.size();
        if size < LARGE {
            return Ok(());
        }
        let most = match self.packet {
            Some(most) => most,
            None => self.ask_packet()?,
        };
        self.packet = Some(most);
        if size < most {
            return Ok(());
        }
        Err(ApiError::new(
            413,
            format!(
                "the statement is {:.1} MiB long, but the server accepts {:.1} MiB (max_allowed_packet); it was not \
                 sent: raise max_allowed_packet on the server, or split the statement (mysqldump: --net-buffer-length)",
                mib(size),
                mib(most)
            ),
        ))
    }

    fn ask_packet(&self) -> Result<usize, ApiError> {
        let uses = self.job.uses.as_ref();
        let ask = |conn: &mut mysql::Conn| {
            let most: Option<u64> = conn.query_first("SELECT @@max_allowed_packet")?;
            Ok(most.and_then(|most| usize::try_from(most).ok()))
        };
        let most = self.service.with_spare_conn(self.client, uses, ask)?;
        Ok(most.unwrap_or(usize::MAX))
    }

    fn write_line(&mut self, line: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.lines, line)?;
        self.lines.push(b'\n');
        if self.lines.len() >= FULL || self.sent_at.elapsed() >= PROMPT || self.number == 1 {
            self.send()?;
        }
        Ok(())
    }

    fn send(&mut self) -> io::Result<()> {
        self.out.write_all(&self.lines)?;
        self.out.flush()?;
        self.lines.clear();
        self.sent_at = Instant::now();
        Ok(())
    }
}

fn too_many_failures() -> io::Error {
    let why = format!(
        "{FAILURES_SHARED} statements failed, the limit for a script on a shared database; the rest was not run: \
         correct it, and continue from there"
    );
    io::Error::new(ErrorKind::ResourceBusy, why)
}

/// Number of statements behind the one that the script stopped at.
fn left<R: Read>(script: &mut Script<R>, options: &ScriptOptions) -> u64 {
    let next = || script.next(options.is_part).ok().flatten();
    std::iter::from_fn(next).map(|_| 1).sum()
}

/// Status of a script that cannot be read further.
fn status(error: &io::Error) -> u16 {
    match error.kind() {
        ErrorKind::FileTooLarge => 413,
        ErrorKind::TimedOut => 408,
        ErrorKind::ResourceBusy => 429,
        _ => 400,
    }
}

fn mib(bytes: usize) -> f64 {
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    let hundredths = bytes.saturating_mul(100) >> 20;
    f64::from(u32::try_from(hundredths).unwrap_or(u32::MAX)) / 100.0
}

/// Counts rows and discards them.
#[derive(Default)]
struct RowCounter {
    rows: Option<u64>,
    done: Done,
}

impl RowSink for RowCounter {
    fn begin(&mut self, _: &[Column]) -> io::Result<()> {
        self.rows = Some(0);
        Ok(())
    }

    fn row(&mut self, _: TextRow<'_>) -> io::Result<Flow> {
        self.rows = self.rows.map(|rows| rows + 1);
        Ok(Flow::Continue)
    }

    fn end(&mut self, _: bool) -> io::Result<()> {
        Ok(())
    }

    fn done(&mut self, done: Done) {
        self.done = done;
    }
}
