//! The web client's API in OpenAPI: its routes, in the order of `routes`, and the types that the program reads or
//! writes piece by piece.
#![expect(
    dead_code,
    reason = "of types that are not made, the schema is what is used"
)]

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::generate::SchemaGenerator;
use schemars::{JsonSchema, Schema, json_schema};
use serde_json::{Value, json};

use super::query::{Cancelled, Closed, SessionState};
use super::routes::Info;
use super::script::{ScriptEnd, ScriptLine};
use super::search::SearchAnswer;
use crate::api::openapi::{Call, Description};
use crate::sqlweb::catalogue::{TableEntry, TableSchema};
use crate::sqlweb::dump::DumpReview;
use crate::sqlweb::edit::{EditError, EditHead, EditReview};
use crate::sqlweb::error::{Details, ServerError};
use crate::sqlweb::output::{AnswerEnd, Format};
use crate::sqlweb::query::Ticket;
use crate::sqlweb::results::{JsonCell, JsonRow, JsonRowOrNull};
use crate::sqlweb::search::Kind;

/// Statuses of failures that every statement may end with.
const OF_STATEMENTS: [u16; 11] = [400, 401, 403, 409, 413, 415, 429, 500, 502, 503, 504];

/// Meaning of each status of a failure.
#[rustfmt::skip]
const FAILURES: [(u16, &str); 12] = [
    (400, "A parameter is invalid (all invalid ones are named), or the statement failed (`error` has errno and SQLSTATE)"),
    (401, "Invisible mode: sign in at /auth first"),
    (403, "Refused by the read-only mode, by Host or Origin, or by the account's privileges"),
    (404, "No such database, table, statement or ticket"),
    (409, "The ID is in use, or the session is busy"),
    (413, "The body is larger than 4 MiB"),
    (415, "The body is not application/json"),
    (429, "A limit is reached; the message names it"),
    (500, "The statement may have written and finished, but its large rows did not fit"),
    (502, "The database cannot be reached, or the connection was lost; a statement is never repeated"),
    (503, "The large rows in transit leave no room for another one"),
    (504, "--query-timeout exceeded"),
];

/// Meaning of the statuses of a failed edit.
#[rustfmt::skip]
const EDIT_FAILURES: [(u16, &str); 7] = [
    (400, "The request is invalid, or the server refused it"),
    (403, "Read-only mode, or the account's privileges"),
    (404, "No such table"),
    (409, "The row has changed or is locked, or another edit of the visitor is running"),
    (413, "The body is too large, or a statement is larger than the server accepts at once"),
    (502, "No connection, or it was lost"),
    (504, "--query-timeout exceeded"),
];

#[test]
fn the_description_is_that_of_the_routes() {
    let mut of = Description::failing::<Error>(
        "postern SQL web client",
        "The local HTTP API of `postern mysql`. Every JSON answer is `{\"code\": N, …}` with `data` on success and \
         `message` on failure, N being the HTTP status. A failure after rows were sent is in the body's `code` under \
         status 200.",
        json!({}),
    )
    .closed();
    for (status, about) in FAILURES {
        of.means(status, about);
    }
    of_catalogue(&mut of);
    of_statements(&mut of);
    of_sessions(&mut of);
    of_files(&mut of);
    of.call("get", "/api/openapi.json", ("openapi", "This document"))
        .gives(200, "OpenAPI 3.1")
        .or::<BTreeMap<String, Value>>(200, "application/json")
        .fails(&[401, 403]);
    of.compare("src/sqlweb/api/openapi.json");
}

fn of_catalogue(of: &mut Description) {
    of.call(
        "get",
        "/api/info",
        ("info", "The server, the account and the mode"),
    )
    .answers::<Info>(200, "The server that the client is connected to")
    .fails(&[401, 403]);
    of.call("get", "/api/databases", ("databases", "The databases"))
        .answers::<Vec<String>>(200, "Names as the server sorts them")
        .fails(&[401, 403, 429, 502]);
    of.call(
        "get",
        "/api/tables",
        ("tables", "The tables, views and sequences of a database"),
    )
    .needs("db", "The database")
    .query::<Flag>("detail", "`1` for objects instead of names")
    .answers::<Tables>(200, "Names, or objects with `detail=1`")
    .fails(&[400, 401, 403, 404, 429, 502]);
    of.call(
        "get",
        "/api/schema",
        ("schema", "Columns, indexes and foreign keys of a table"),
    )
    .needs("db", "The database")
    .needs("table", "The table")
    .answers::<TableSchema>(200, "The schema")
    .fails(&[400, 401, 403, 404, 429, 502]);
    of.call(
        "get",
        "/api/search",
        (
            "search",
            "Searches names and comments of everything that the account sees, best matches first",
        ),
    )
    .about(
        "Names and comments are read at the first search and kept. All words of `q` must match, in any case: the name or \
         comment, or, beside such a word, the names of table and database.",
    )
    .query::<String>("q", "Words; without them everything matches")
    .query::<Kind>("kind", "Only this kind")
    .query::<String>("db", "Only this database")
    .query::<String>("near", "Database whose matches come first among equally good ones")
    .query::<u16>("limit", "Number of matches listed, 1 to 500; 50 unless given")
    .query::<Flag>("refresh", "`1` to read names and comments again first; for visitors every 30 s at most")
    .answers::<SearchAnswer<'static>>(200, "The best matches")
    .fails(&[400, 401, 403, 404, 429, 502, 503, 504]);
}

fn of_statements(of: &mut Description) {
    of.call(
        "post",
        "/api/query",
        ("query", "Runs one statement; the answer is streamed"),
    )
    .takes::<QueryRequest>()
    .answers_bare::<QueryAnswer>(
        200,
        "The result; a late failure has its own `code`, `message` and `error` after `data`",
    )
    .fails(&OF_STATEMENTS);
    of.call("post", "/api/script", ("runScript",
        "Runs the statements of a body of any size one after another, and reports how each ended while they run"))
        .query::<String>("db", "Initial database; from the first statement on, the script's own database applies")
        .query::<String>("query_id", "ID to cancel the whole script")
        .query::<String>("delimiter", "Initial statement delimiter; DELIMITER lines change it")
        .query::<OnError>("on_error", "`continue` if statements after a failed one still run")
        .query::<Flag>("part",
            "1: more follows in another request, so an unfinished last statement is not run; the line at the end says \
             where it begins")
        .header::<String>("Postern-Session", "The session; without one the script has its own")
        .takes_as::<String>("application/sql")
        .takes_as::<Statements>("application/x-ndjson")
        .gives(200, "One JSON object per line: one for each statement, and one at the end")
        .or::<ScriptAnswer>(200, "application/x-ndjson")
        .fails(&OF_STATEMENTS);
    let mut edit = of.call("post", "/api/edit", ("edit",
        "Writes changed, new and deleted rows of one table in one transaction, if each row is still as it was shown"))
        .about("After a failure nothing was written, or no more than `applied` says.")
        .takes::<EditRequest>()
        .answers::<EditAnswer>(200,
            "With `review` the statements, none of which ran; else the written rows, which are committed")
        .fails(&[401, 415, 429, 503]);
    for (status, about) in EDIT_FAILURES {
        edit = edit.answers_bare::<EditFailure>(status, about);
    }
}

fn of_sessions(of: &mut Description) {
    of.call(
        "post",
        "/api/cancel",
        ("cancel", "Stops a running statement on the server"),
    )
    .takes::<CancelRequest>()
    .answers::<Cancelled>(200, "The server has been or is being told")
    .fails(&[400, 401, 403, 404, 415]);
    of.call("post", "/api/session/close", ("closeSession",
        "Ends a session: its statement is stopped, its connection closed, its transaction rolled back"))
        .takes::<CloseRequest>()
        .answers::<Closed>(200, "Ended, or unknown")
        .fails(&[400, 401, 403, 415]);
    of.call(
        "post",
        "/api/session/resume",
        (
            "resumeSession",
            "Asks what is left of a session whose page was reloaded, and keeps it",
        ),
    )
    .takes::<ResumeRequest>()
    .answers::<SessionState>(200, "State of the session")
    .fails(&[400, 401, 403, 415]);
}

fn of_files(of: &mut Description) {
    of.call("post", "/api/dump", ("dump",
        "Streams a database or some of its tables as SQL for the server's own client, or tells what that would contain, or \
         returns a ticket for one download"))
        .takes::<DumpRequest>()
        .answers::<DumpAnswer>(200,
            "The file, which is complete if its last line is `-- Dump completed`; a failure after the first bytes breaks \
             the transfer off. With `ticket: true` the ticket, which `/api/export/{ticket}` redeems; with `review: true` \
             the contents of the dump")
        .or::<String>(200, "application/sql")
        .fails(&OF_STATEMENTS);
    let export = of.call(
        "post",
        "/api/export",
        (
            "export",
            "Streams a whole result as a file, or returns a ticket for one download",
        ),
    );
    let export = export.takes::<ExportRequest>().answers::<Ticket>(200,
        "The file, or with `ticket: true` the ticket. A failure after the first bytes breaks the transfer off");
    file(export).fails(&OF_STATEMENTS);
    let download = of.call(
        "get",
        "/api/export/{ticket}",
        ("download", "Redeems a ticket, once, within 60 s"),
    );
    let download = download
        .needs("ticket", "From the answer of `/api/export` or `/api/dump`")
        .gives(200, "The file");
    file(download).fails(&[400, 401, 403, 404, 429, 500, 502, 503, 504]);
}

/// The media types of an export.
fn file(call: Call<'_>) -> Call<'_> {
    call.or::<String>(200, "text/csv")
        .or::<String>(200, "application/x-ndjson")
        .or::<Vec<BTreeMap<String, Value>>>(200, "application/json")
        .or::<String>(200, "application/sql")
}

/// A failed call.
#[derive(JsonSchema)]
struct Error {
    /// The HTTP status.
    code: u16,
    /// The cause, and if possible what to try.
    message: String,
    #[serde(flatten)]
    details: Details<ServerError>,
}

/// A failed edit.
#[derive(JsonSchema)]
struct EditFailure {
    /// The HTTP status.
    code: u16,
    /// The cause, and what has become of the changes.
    message: String,
    #[serde(flatten)]
    details: Details<EditError>,
}

/// A switch of a query.
#[derive(JsonSchema)]
#[schemars(inline)]
enum Flag {
    #[serde(rename = "0")]
    No,
    #[serde(rename = "1")]
    Yes,
}

#[derive(JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
enum OnError {
    Stop,
    Continue,
}

#[derive(JsonSchema)]
#[schemars(inline)]
#[serde(untagged)]
enum Tables {
    Names(Vec<String>),
    InDetail(Vec<TableEntry>),
}

/// Rows of a statement.
#[derive(JsonSchema)]
struct ResultSet {
    /// Column names in result order; a repeated name gets a suffix (`id`, `id_2`).
    columns: Vec<String>,
    /// Database type of each column, for example `BIGINT UNSIGNED`.
    types: Vec<String>,
    /// One object per row, keyed by column name.
    rows: Vec<JsonRow>,
    /// Number of rows returned.
    count: u64,
    /// True if `limit` cut the result.
    truncated: bool,
}

/// Result of a statement.
#[derive(JsonSchema)]
struct QueryData {
    #[serde(flatten)]
    first: ResultSet,
    /// All result sets, if a statement returned several.
    #[serde(skip_serializing_if = "Option::is_none")]
    results: Option<Vec<ResultSet>>,
    #[serde(flatten)]
    end: AnswerEnd<'static>,
}

/// The streamed answer to a statement; after a late failure the members of an `Error` follow `data`.
#[derive(JsonSchema)]
struct QueryAnswer {
    /// The result.
    data: QueryData,
    /// 200, or the status of a late failure.
    code: u16,
    /// Cause of a late failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(flatten)]
    details: Details<ServerError>,
}

/// A line of the answer to a script.
#[derive(JsonSchema)]
#[serde(untagged)]
enum OutcomeLine {
    Statement(ScriptLine),
    End(ScriptEnd<'static>),
}

/// The lines of the answer to a script.
struct ScriptAnswer;

impl JsonSchema for ScriptAnswer {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ScriptAnswer".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let lines = generator.subschema_for::<Vec<OutcomeLine>>();
        json_schema!({"type": "string", "contentMediaType": "application/x-ndjson", "contentSchema": lines})
    }
}

/// One JSON string per line, each a statement.
#[derive(JsonSchema)]
#[schemars(inline)]
struct Statements(String);

/// One of both.
#[derive(JsonSchema)]
#[schemars(inline)]
#[serde(untagged)]
enum EditAnswer {
    Review(EditReview),
    Applied(EditApplied),
}

/// An edit that is committed.
#[derive(JsonSchema)]
struct EditApplied {
    #[serde(flatten)]
    head: EditHead,
    /// One per change: the row as read again before the commit, null if it was deleted. Cells over 64 KiB are omitted;
    /// a row without cells was written but could not be found again, or did not fit in 8 MiB.
    rows: Vec<JsonRowOrNull>,
    /// UNIX_TIMESTAMP() of the TIMESTAMP columns of each of these rows.
    moments: Vec<JsonRowOrNull>,
}

#[derive(JsonSchema)]
#[schemars(inline)]
#[serde(untagged)]
enum DumpAnswer {
    Ticket(Ticket),
    Review(DumpReview),
}

/// A statement.
#[derive(JsonSchema)]
struct QueryRequest {
    /// Exactly one statement; the server itself refuses several, and none of them runs.
    sql: String,
    /// The database to run in.
    db: Option<String>,
    /// An offset from UTC for the session's time_zone, for this statement only, -13:59 to +14:00 (MariaDB: -12:59 to
    /// +13:00).
    #[schemars(regex(pattern = "^[+-][01][0-9]:[0-5][0-9]$"))]
    time_zone: Option<String>,
    /// Chosen by the client, for cancelling; 409 if in use.
    #[schemars(length(max = 128))]
    query_id: Option<String>,
    /// Statements with the same session run on one connection; it ends after 10 idle minutes.
    #[schemars(length(max = 128))]
    session: Option<String>,
    /// Maximum number of rows sent.
    limit: Option<u64>,
}

/// The statement to stop.
#[derive(JsonSchema)]
struct CancelRequest {
    /// Its ID.
    query_id: String,
}

/// The session to close.
#[derive(JsonSchema)]
struct CloseRequest {
    /// Its ID.
    session: String,
    /// The page may only be reloading: the session ends after 15 seconds, unless it is used or resumed until then.
    #[serde(default)]
    leaving: bool,
}

/// The session of a page that was reloaded.
#[derive(JsonSchema)]
struct ResumeRequest {
    /// Its ID.
    session: String,
}

/// Tables or a database to dump.
#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
struct DumpRequest {
    /// The database.
    db: String,
    /// Tables, views and sequences; the whole database if empty.
    #[serde(default)]
    tables: Vec<String>,
    /// The statements that create tables, sequences and views.
    #[serde(default = "yes")]
    structure: bool,
    /// Their rows, all from one moment if their engines have transactions.
    #[serde(default = "yes")]
    data: bool,
    /// The triggers of those tables.
    #[serde(default = "yes")]
    triggers: bool,
    /// Procedures, functions and packages; by default with a whole database.
    routines: Option<bool>,
    /// Events; by default with a whole database.
    events: Option<bool>,
    /// Drop existing objects first.
    #[serde(default = "yes")]
    drop: bool,
    /// Keep the definers of views and programs; else the restoring user becomes the definer.
    #[serde(default = "yes")]
    definers: bool,
    /// Create the database and use it.
    #[serde(default)]
    create_database: bool,
    /// ID to cancel it.
    #[schemars(length(max = 128))]
    query_id: Option<String>,
    /// Answer a ticket instead of the file.
    #[serde(default)]
    ticket: bool,
    /// Answer the contents instead of the file.
    #[serde(default)]
    review: bool,
}

fn yes() -> bool {
    true
}

/// A statement whose rows become a file.
#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
struct ExportRequest {
    /// Exactly one statement.
    sql: String,
    /// The database to run in.
    db: Option<String>,
    /// An offset from UTC for the session's time_zone, for this statement only, -13:59 to +14:00 (MariaDB: -12:59 to
    /// +13:00).
    #[schemars(regex(pattern = "^[+-][01][0-9]:[0-5][0-9]$"))]
    time_zone: Option<String>,
    /// The session to run in.
    #[schemars(length(max = 128))]
    session: Option<String>,
    /// ID to cancel it.
    #[schemars(length(max = 128))]
    query_id: Option<String>,
    /// In JSON, integers beyond 2^53 - 1 and decimals are strings, so that no digit is lost, and JSON columns are
    /// nested. An `insert` file sets its own character set and mode and restores the mode; with `time_zone` it sets
    /// that too.
    #[schemars(extend("default" = "csv"))]
    format: Option<Format>,
    /// Name of the file, without the ending; by default from `db` and `table`.
    name: Option<String>,
    /// Table for INSERT statements; by default the one that all columns belong to.
    table: Option<String>,
    /// Columns to omit from INSERT statements, such as generated ones.
    #[serde(default)]
    leave_out: Vec<String>,
    /// Text columns, such as MariaDB's JSON, whose valid JSON is nested in a JSON export.
    #[serde(default)]
    nested: Vec<String>,
    /// Begin a CSV with the names of its columns.
    #[serde(default = "yes")]
    header: bool,
    /// Begin a CSV with a byte-order mark.
    #[serde(default)]
    bom: bool,
    /// Text for NULL in a CSV; without the delimiter, quotes and line ends.
    #[serde(default)]
    null: String,
    /// Delimiter of a CSV.
    #[serde(default)]
    #[schemars(extend("enum" = [",", ";", "tab"], "default" = ","))]
    delimiter: String,
    /// Decimal sign of DECIMAL, FLOAT and DOUBLE columns in a CSV; must differ from the delimiter.
    #[serde(default)]
    #[schemars(extend("enum" = [".", ","], "default" = "."))]
    decimal: String,
    /// Answer a ticket instead of the file.
    #[serde(default)]
    ticket: bool,
}

/// A value as in a Cell, the column's default, or the bytes of a file.
///
/// A number that JSON cannot hold exactly is a string; BIT and binary columns use `0x…`.
#[derive(JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
enum NewCell {
    Cell(JsonCell),
    Default {
        #[schemars(extend("const" = true))]
        default: bool,
    },
    File {
        /// With padding; for a text column UTF-8.
        base64: String,
    },
}

/// Values to write, by column name.
#[derive(JsonSchema)]
struct NewRow(BTreeMap<String, NewCell>);

/// A change of one row.
#[derive(JsonSchema)]
#[serde(tag = "op", rename_all = "lowercase", deny_unknown_fields)]
enum EditChange {
    Update {
        /// Every column of one PRIMARY or UNIQUE NOT NULL key, as it was shown.
        key: JsonRow,
        /// The row as it was shown; omitted columns are not compared.
        old: Option<JsonRow>,
        /// UNIX_TIMESTAMP() of TIMESTAMP columns when the row was read; distinguishes the two autumn hours with the
        /// same clock time.
        moments: Option<JsonRow>,
        /// The new values; may change the key.
        new: NewRow,
    },
    Delete {
        /// As for an update.
        key: JsonRow,
        /// As for an update.
        old: Option<JsonRow>,
        /// As for an update.
        moments: Option<JsonRow>,
    },
    Insert {
        /// May be empty; omitted columns get their defaults.
        new: NewRow,
    },
}

/// Changes of rows of one table, at most 32 MiB.
#[derive(JsonSchema)]
struct EditRequest {
    /// The database.
    db: String,
    /// The table.
    table: String,
    /// 1 to 5,000, applied in this order.
    #[schemars(length(min = 1, max = 5000))]
    changes: Vec<EditChange>,
    /// An offset from UTC for reading and writing TIMESTAMP, as for a query.
    #[schemars(regex(pattern = "^[+-][01][0-9]:[0-5][0-9]$"))]
    time_zone: Option<String>,
    /// ID to cancel it.
    #[schemars(length(max = 128))]
    query_id: Option<String>,
    /// Returns the statements and runs none of them.
    #[serde(default)]
    review: bool,
}
