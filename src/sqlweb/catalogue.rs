//! Catalogue of the server: databases, tables, and the schema of one table.

use std::collections::HashMap;

use mysql::{Conn, Row, Value as Cell};
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

use super::conn::{readonly, rows};
use super::error::DbError;
use super::results::Warning;

/// Setting for current numbers. MySQL 8 otherwise reads rows and sizes from a table that is up to a day old, and writes
/// to it; other servers ignore the comment. A spare connection is reset before its next use.
const FRESH_FIGURES: &str =
    "SET NAMES utf8mb4 /*!80000 , SESSION information_schema_stats_expiry = 0 */";

/// Columns that [`table_in_detail`] reads.
const FACTS: &str = "TABLE_NAME, TABLE_TYPE, ENGINE, TABLE_ROWS, DATA_LENGTH, TABLE_COMMENT, INDEX_LENGTH, TABLE_COLLATION, \
                     AUTO_INCREMENT, ROW_FORMAT, CREATE_OPTIONS";

/// Note for the incomplete schema of a view.
const CALLS_WRITER: &str = "the view calls a stored function that would write. Describing the view runs it, so read-only mode shows only what is known without that";

/// Maximum number of listed warnings of one statement.
const MAX_WARNINGS: usize = 100;

/// A table, view or sequence.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "Table"))]
pub(crate) struct TableEntry {
    /// Bytes of rows and indexes together.
    bytes: Option<u64>,
    /// Its comment; of a broken view the server's error.
    comment: Option<String>,
    /// Bytes of the rows.
    data_bytes: Option<u64>,
    /// Its storage engine.
    engine: Option<String>,
    /// Bytes of the indexes.
    index_bytes: Option<u64>,
    /// Its kind.
    kind: TableKind,
    /// Its name.
    name: String,
    /// Number of rows, as the server estimates it.
    rows_estimate: Option<u64>,
}

/// Kind of a table.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum TableKind {
    Table,
    View,
    Sequence,
}

/// The entry of `/api/tables`, and facts that a list has no room for.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(crate) struct TableFacts {
    #[serde(flatten)]
    entry: TableEntry,
    /// The next number of its AUTO_INCREMENT column.
    auto_increment: Option<u64>,
    /// Its default collation.
    collation: Option<String>,
    /// Further options of its CREATE statement.
    options: Option<String>,
    /// Format of its rows.
    row_format: Option<String>,
}

/// Schema of a table, view or sequence.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "Schema"))]
pub(crate) struct TableSchema {
    /// In their order.
    columns: Vec<Column>,
    /// The statement that creates it; null if the account may not see it.
    create_statement: Option<String>,
    /// By name.
    foreign_keys: Vec<ForeignKey>,
    /// In the server's order.
    indexes: Vec<Index>,
    /// Reason for missing parts: a broken view, and in read-only mode one whose function would write.
    note: Option<String>,
    /// Null if the account may not see it.
    table: Option<TableFacts>,
}

/// A column of a table.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct Column {
    /// Collation of a text.
    collation: Option<String>,
    /// Its comment.
    comment: Option<String>,
    /// Its default, as the server shows it.
    default: Option<String>,
    /// Such as `auto_increment`.
    extra: Option<String>,
    /// The expression of a generated column.
    generated: Option<String>,
    /// `PRI`, `UNI`, `MUL` or empty.
    key: Option<String>,
    /// Its name.
    name: String,
    /// True if it may be NULL.
    nullable: bool,
    /// Its type, such as `int(11)`.
    r#type: String,
}

/// An index of a table.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct Index {
    /// Columns, with the indexed length, or expressions in parentheses; DESC if descending.
    columns: Vec<String>,
    /// Its comment.
    comment: Option<String>,
    /// Its name.
    name: String,
    /// Its type, such as `BTREE`.
    r#type: Option<String>,
    /// True if values are unique.
    unique: bool,
    /// False if the optimizer ignores it.
    visible: bool,
}

/// A foreign key of a table.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct ForeignKey {
    /// Its columns.
    columns: Vec<String>,
    /// Its name.
    name: String,
    /// Effect of a deletion of the other row, such as `CASCADE`.
    on_delete: Option<String>,
    /// Effect of a change of the other row's key.
    on_update: Option<String>,
    /// Columns of the other table, in the same order.
    ref_columns: Vec<String>,
    /// Database of the other table.
    ref_db: Option<String>,
    /// The other table.
    ref_table: Option<String>,
}

/// The names of the databases, as the server sorts them.
pub(crate) fn databases(conn: &mut Conn) -> Result<Vec<String>, DbError> {
    names(conn, "SHOW DATABASES")
}

/// The names of a database's tables, views and sequences.
pub(crate) fn tables(conn: &mut Conn, db: &str) -> Result<Vec<String>, DbError> {
    names(conn, &format!("SHOW TABLES FROM {}", identifier(db)))
}

/// Lists tables with the facts that the sidebar shows.
pub(crate) fn tables_in_detail(conn: &mut Conn, db: &str) -> Result<Vec<TableEntry>, DbError> {
    let listed = rows(
        conn,
        &format!(
            "{FRESH_FIGURES}; SELECT {FACTS} FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} ORDER BY TABLE_NAME",
            literal(db)
        ),
    )?;
    if listed.is_empty() {
        // Fails with the server's own error if the database is unknown and not just empty.
        tables(conn, db)?;
    }
    Ok(listed.iter().map(table_in_detail).collect())
}

fn table_in_detail(row: &Row) -> TableEntry {
    let kind = match text(row, 1).unwrap_or_default().as_str() {
        "VIEW" | "SYSTEM VIEW" => TableKind::View,
        "SEQUENCE" => TableKind::Sequence,
        _ => TableKind::Table,
    };
    let (data_bytes, index_bytes) = (number(row, 4), number(row, 6));
    let sum = |(data, index): (u64, u64)| data.saturating_add(index);
    TableEntry {
        bytes: data_bytes.zip(index_bytes).map(sum),
        // A view's comment is the word VIEW, or an error text when it is broken.
        comment: text(row, 5).filter(|comment| kind != TableKind::View || comment != "VIEW"),
        data_bytes,
        engine: text(row, 2),
        index_bytes,
        kind,
        name: text(row, 0).unwrap_or_default(),
        rows_estimate: number(row, 3),
    }
}

/// Reads the facts of one table, without its columns; `None` if the account may not see it.
fn facts(conn: &mut Conn, db: &str, table: &str) -> Result<Option<TableFacts>, DbError> {
    let listed = rows(
        conn,
        &format!(
            "{FRESH_FIGURES}; SELECT {FACTS} FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}",
            literal(db),
            literal(table)
        ),
    )?;
    Ok(listed.first().map(|row| TableFacts {
        entry: table_in_detail(row),
        auto_increment: number(row, 8),
        collation: text(row, 7),
        options: text(row, 10),
        row_format: text(row, 9),
    }))
}

/// Facts, columns, indexes, foreign keys and the CREATE statement of a table, view or sequence. For a broken view, and
/// in a read-only session for a view that calls a writing function, only what the server knows without running it;
/// `note` says so.
pub(crate) fn schema(conn: &mut Conn, db: &str, table: &str) -> Result<TableSchema, DbError> {
    let (db_name, table_name) = (identifier(db), identifier(table));
    let mut note = None;
    let is_view = is_view(conn, db, table)?;
    let mut unless_it_writes = |told: Result<Vec<Row>, DbError>| match told {
        Err(error) if readonly::would_write(&error) => {
            note = Some(CALLS_WRITER.to_owned());
            Ok(Vec::new())
        }
        // The view is broken, for example because its tables or its definer were dropped.
        Err(DbError::Statement(error)) if is_view => {
            note = Some(error.message);
            Ok(Vec::new())
        }
        told => told,
    };
    let mut columns = unless_it_writes(rows(
        conn,
        &format!("SHOW FULL COLUMNS FROM {table_name} FROM {db_name}"),
    ))?;
    if columns.is_empty() && is_view {
        columns = unless_it_writes(known_columns(conn, db, table))?;
    }
    let indexes = unless_it_writes(rows(
        conn,
        &format!("SHOW INDEX FROM {table_name} FROM {db_name}"),
    ))?;
    // It needs a privilege of its own for views; without that the rest is still shown.
    let create = unless_it_writes(rows(
        conn,
        &format!("SHOW CREATE TABLE {db_name}.{table_name}"),
    ));
    let create = match create {
        Err(error) if !error.leaves_connection_usable() => return Err(error),
        other => other.unwrap_or_default(),
    };
    let create = match note {
        None => create.first().and_then(|row| text(row, 1)),
        Some(_) => {
            create_view(conn, db, table)?.or_else(|| create.first().and_then(|row| text(row, 1)))
        }
    };
    let generated = generated(conn, db, table, &columns)?;
    let column = |row: &Row| column(row, &generated);
    Ok(TableSchema {
        table: facts(conn, db, table)?,
        columns: columns.iter().map(column).collect(),
        indexes: grouped_indexes(&indexes),
        foreign_keys: foreign_keys(conn, db, table)?,
        create_statement: create,
        note,
    })
}

fn is_view(conn: &mut Conn, db: &str, table: &str) -> Result<bool, DbError> {
    let asked = format!(
        "SELECT 1 FROM information_schema.VIEWS WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}",
        literal(db),
        literal(table)
    );
    Ok(!rows(conn, &asked)?.is_empty())
}

/// The columns of a view as the server remembers them, in the order of `SHOW FULL COLUMNS`.
fn known_columns(conn: &mut Conn, db: &str, table: &str) -> Result<Vec<Row>, DbError> {
    let asked = format!(
        "SELECT COLUMN_NAME, COLUMN_TYPE, COLLATION_NAME, IS_NULLABLE, COLUMN_KEY, COLUMN_DEFAULT, EXTRA, PRIVILEGES, \
         COLUMN_COMMENT FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {} \
         ORDER BY ORDINAL_POSITION",
        literal(db),
        literal(table)
    );
    rows(conn, &asked)
}

/// The statement that creates a view, from its parts; `None` if the account may not see them.
pub(crate) fn create_view(
    conn: &mut Conn,
    db: &str,
    table: &str,
) -> Result<Option<String>, DbError> {
    let parts = rows(
        conn,
        &format!(
            "SELECT VIEW_DEFINITION, DEFINER, SECURITY_TYPE, CHECK_OPTION FROM information_schema.VIEWS \
             WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}",
            literal(db),
            literal(table)
        ),
    )?;
    let Some(row) = parts.first() else {
        return Ok(None);
    };
    let Some(definition) = text(row, 0).filter(|definition| !definition.is_empty()) else {
        return Ok(None);
    };
    let definer = text(row, 1).unwrap_or_default();
    let (user, host) = definer.rsplit_once('@').unwrap_or((&definer, "%"));
    let check = match text(row, 3).unwrap_or_default().as_str() {
        "" | "NONE" => String::new(),
        check => format!(" WITH {check} CHECK OPTION"),
    };
    Ok(Some(format!(
        "CREATE DEFINER={}@{} SQL SECURITY {} VIEW {}.{} AS {definition}{check}",
        identifier(user),
        identifier(host),
        text(row, 2).unwrap_or_default(),
        identifier(db),
        identifier(table)
    )))
}

/// The expressions of generated columns, by name.
fn generated(
    conn: &mut Conn,
    db: &str,
    table: &str,
    columns: &[Row],
) -> Result<HashMap<String, String>, DbError> {
    let is_generated = |row: &Row| {
        // `STORED GENERATED`, but `DEFAULT_GENERATED` is a default.
        text(row, 6).is_some_and(|extra| extra.contains(" GENERATED"))
    };
    if !columns.iter().any(is_generated) {
        return Ok(HashMap::new());
    }
    let listed = rows(
        conn,
        &format!(
            "SELECT COLUMN_NAME, GENERATION_EXPRESSION FROM information_schema.COLUMNS \
             WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {} AND GENERATION_EXPRESSION <> ''",
            literal(db),
            literal(table)
        ),
    )?;
    let pair = |row: &Row| Some((text(row, 0)?, unescaped(&text(row, 1)?)));
    Ok(listed.iter().filter_map(pair).collect())
}

/// Removes the backslashes that MySQL shows before each quote and backslash of an expression; MariaDB's has plain
/// quotes.
fn unescaped(expression: &str) -> String {
    let (mut plain, mut chars) = (String::new(), expression.chars());
    while let Some(c) = chars.next() {
        match c {
            '\'' => return expression.to_owned(),
            '\\' => plain.extend(chars.next()),
            c => plain.push(c),
        }
    }
    plain
}

/// Reads Field, Type, Collation, Null, Key, Default, Extra, Privileges, Comment.
fn column(row: &Row, generated: &HashMap<String, String>) -> Column {
    let name = text(row, 0).unwrap_or_default();
    Column {
        generated: generated.get(&name).cloned(),
        name,
        r#type: text(row, 1).unwrap_or_default(),
        collation: text(row, 2),
        nullable: text(row, 3).as_deref() == Some("YES"),
        key: text(row, 4),
        default: text(row, 5),
        extra: text(row, 6),
        comment: text(row, 8),
    }
}

/// Reads Table, Non_unique, Key_name, Seq_in_index, Column_name, Collation, Cardinality, Sub_part, Packed, Null,
/// Index_type, Comment, Index_comment; then MySQL 8 has Visible and Expression, which is set if Column_name is NULL,
/// and MariaDB 10.6 has Ignored.
fn grouped_indexes(parts: &[Row]) -> Vec<Index> {
    let mut indexes: Vec<Index> = Vec::new();
    for row in parts {
        let name = text(row, 2).unwrap_or_default();
        let part = index_part(row);
        match indexes.iter_mut().find(|known| known.name == name) {
            Some(index) => index.columns.push(part),
            None => indexes.push(Index {
                name,
                unique: text(row, 1).as_deref() == Some("0"),
                r#type: text(row, 10),
                columns: vec![part],
                visible: is_visible(row),
                comment: text(row, 12),
            }),
        }
    }
    indexes
}

/// A column with its indexed length, or an expression, and `DESC` if it descends.
fn index_part(row: &Row) -> String {
    // The length of a spatial index is the server's own.
    let length = number(row, 7).filter(|_| text(row, 10).as_deref() != Some("SPATIAL"));
    let part = match (text(row, 4), length) {
        (Some(column), None) => column,
        (Some(column), Some(length)) => format!("{column}({length})"),
        (None, _) => match unescaped(&text(row, 14).unwrap_or_default()) {
            expression if expression.starts_with('(') => expression,
            expression => format!("({expression})"),
        },
    };
    match text(row, 5).as_deref() {
        Some("D") => part + " DESC",
        _ => part,
    }
}

/// True if the optimizer uses the index: MySQL has the column Visible, MariaDB Ignored.
fn is_visible(row: &Row) -> bool {
    let named = |name: &str| {
        let at = row
            .columns_ref()
            .iter()
            .position(|c| c.name_str() == name)?;
        text(row, at)
    };
    named("Visible").as_deref() != Some("NO") && named("Ignored").as_deref() != Some("YES")
}

/// Reads foreign keys by two queries with constants, so that the server opens only this table.
fn foreign_keys(conn: &mut Conn, db: &str, table: &str) -> Result<Vec<ForeignKey>, DbError> {
    let (db_text, table_text) = (literal(db), literal(table));
    let parts = rows(
        conn,
        &format!(
            "SELECT CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME \
             FROM information_schema.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA = {db_text} AND TABLE_NAME = {table_text} \
             AND REFERENCED_TABLE_NAME IS NOT NULL ORDER BY CONSTRAINT_NAME, ORDINAL_POSITION"
        ),
    )?;
    if parts.is_empty() {
        return Ok(Vec::new());
    }
    let rules = rows(
        conn,
        &format!(
            "SELECT CONSTRAINT_NAME, UPDATE_RULE, DELETE_RULE FROM information_schema.REFERENTIAL_CONSTRAINTS \
             WHERE CONSTRAINT_SCHEMA = {db_text} AND TABLE_NAME = {table_text}"
        ),
    )?;
    let mut names: Vec<String> = parts.iter().filter_map(|row| text(row, 0)).collect();
    names.dedup();
    let one = |name| foreign_key(name, &parts, &rules);
    Ok(names.into_iter().map(one).collect())
}

fn foreign_key(name: String, parts: &[Row], rules: &[Row]) -> ForeignKey {
    let is_named = |row: &&Row| text(row, 0).as_deref() == Some(&name);
    let own: Vec<&Row> = parts.iter().filter(is_named).collect();
    let rule = rules.iter().find(is_named);
    let all = |i: usize| {
        own.iter()
            .filter_map(|row| text(row, i))
            .collect::<Vec<_>>()
    };
    ForeignKey {
        columns: all(1),
        ref_db: own.first().and_then(|row| text(row, 2)),
        ref_table: own.first().and_then(|row| text(row, 3)),
        ref_columns: all(4),
        on_update: rule.and_then(|row| text(row, 1)),
        on_delete: rule.and_then(|row| text(row, 2)),
        name,
    }
}

/// The warnings of the previous statement, which has `count`; a note says so if they are not all.
pub(crate) fn warnings(conn: &mut Conn, count: u16) -> Result<Vec<Warning>, DbError> {
    let listed = rows(conn, &format!("SHOW WARNINGS LIMIT {MAX_WARNINGS}"))?;
    let one = |row: &Row| Warning {
        level: text(row, 0),
        code: number(row, 1),
        message: text(row, 2),
    };
    let mut told: Vec<Warning> = listed.iter().map(one).collect();
    let (all, shown) = (usize::from(count), told.len());
    if all > shown && (shown > 0 || all > MAX_WARNINGS) {
        let more = if count == u16::MAX { " or more" } else { "" };
        let message = format!(
            "the statement has {all}{more} warnings; {shown} are listed (the server keeps max_error_count, this list \
             shows {MAX_WARNINGS})"
        );
        told.push(Warning::ours("Note", message));
    }
    Ok(told)
}

fn names(conn: &mut Conn, sql: &str) -> Result<Vec<String>, DbError> {
    let listed = rows(conn, sql)?;
    Ok(listed.iter().filter_map(|row| text(row, 0)).collect())
}

/// Quotes a name for SQL: in backquotes, with those inside doubled.
pub(crate) fn identifier(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Writes a text for SQL by its bytes, which is independent of the session's mode.
pub(crate) fn literal(value: &str) -> String {
    let digits: String = value.bytes().map(|b| format!("{b:02X}")).collect();
    format!("_utf8mb4 X'{digits}'")
}

pub(crate) fn text(row: &Row, i: usize) -> Option<String> {
    match row.as_ref(i) {
        Some(Cell::Bytes(bytes)) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    }
}

fn number(row: &Row, i: usize) -> Option<u64> {
    text(row, i)?.parse().ok()
}
