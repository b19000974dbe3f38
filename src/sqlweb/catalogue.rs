//! Catalogue of the server: databases, tables, and the schema of one table.

use std::collections::HashMap;

use mysql::{Conn, Row, Value as Cell};
use serde_json::{Value, json};

use super::conn::{readonly, rows};
use super::error::DbError;

/// The names of the databases, as the server sorts them.
pub(crate) fn databases(conn: &mut Conn) -> Result<Value, DbError> {
    names(conn, "SHOW DATABASES")
}

/// The names of a database's tables, views and sequences.
pub(crate) fn tables(conn: &mut Conn, db: &str) -> Result<Value, DbError> {
    names(conn, &format!("SHOW TABLES FROM {}", identifier(db)))
}

/// Lists tables with what the sidebar shows beside each name.
pub(crate) fn tables_in_detail(conn: &mut Conn, db: &str) -> Result<Value, DbError> {
    let listed = rows(
        conn,
        &format!(
            "{FRESH_FIGURES}; SELECT {FACTS} FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} ORDER BY TABLE_NAME",
            literal(db)
        ),
    )?;
    if listed.is_empty() {
        // Tells an empty database from an unknown one by the server's own error.
        tables(conn, db)?;
    }
    let all: Vec<Value> = listed.iter().map(table_in_detail).collect();
    Ok(Value::Array(all))
}

/// MySQL 8 tells rows and sizes from a table of its own that is up to a day old, and writes to it; other servers see
/// nothing in the comment. A spare connection is reset before its next use.
const FRESH_FIGURES: &str =
    "SET NAMES utf8mb4 /*!80000 , SESSION information_schema_stats_expiry = 0 */";

/// Columns that [`table_in_detail`] reads.
const FACTS: &str = "TABLE_NAME, TABLE_TYPE, ENGINE, TABLE_ROWS, DATA_LENGTH, TABLE_COMMENT, INDEX_LENGTH, TABLE_COLLATION, \
                     AUTO_INCREMENT, ROW_FORMAT, CREATE_OPTIONS";

fn table_in_detail(row: &Row) -> Value {
    let kind = match text(row, 1).unwrap_or_default().as_str() {
        "VIEW" | "SYSTEM VIEW" => "view",
        "SEQUENCE" => "sequence",
        _ => "table",
    };
    let view = kind == "view";
    json!({
        "name": text(row, 0),
        "kind": kind,
        "engine": text(row, 2),
        "rows_estimate": number(row, 3),
        "bytes": number(row, 4).zip(number(row, 6)).map(|(data, index)| data.saturating_add(index)),
        "data_bytes": number(row, 4),
        "index_bytes": number(row, 6),
        // A view's comment is the word VIEW, or an error text when it is broken.
        "comment": text(row, 5).filter(|comment| !(view && comment == "VIEW")),
    })
}

/// Reads the facts of one table beside its columns, also those that a list has no room for. Null where the account may
/// not see it.
fn facts(conn: &mut Conn, db: &str, table: &str) -> Result<Value, DbError> {
    let listed = rows(
        conn,
        &format!(
            "{FRESH_FIGURES}; SELECT {FACTS} FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}",
            literal(db),
            literal(table)
        ),
    )?;
    let Some(row) = listed.first() else {
        return Ok(Value::Null);
    };
    let mut told = table_in_detail(row);
    if let Value::Object(members) = &mut told {
        members.extend([
            ("collation".to_owned(), json!(text(row, 7))),
            ("auto_increment".to_owned(), json!(number(row, 8))),
            ("row_format".to_owned(), json!(text(row, 9))),
            ("options".to_owned(), json!(text(row, 10))),
        ]);
    }
    Ok(told)
}

/// Facts, columns, indexes, foreign keys and the CREATE statement of a table, view or sequence. Of a view that calls a function
/// which would write, a read-only session gets what can be had without running it, and of one that is broken there are the
/// statement and the columns that the server remembers; `note` says so.
pub(crate) fn schema(conn: &mut Conn, db: &str, table: &str) -> Result<Value, DbError> {
    let (db_name, table_name) = (identifier(db), identifier(table));
    let mut note = None;
    let is_view = is_view(conn, db, table)?;
    let mut unless_it_writes = |told: Result<Vec<Row>, DbError>| match told {
        Err(error) if readonly::would_write(&error) => {
            note = Some(CALLS_WRITER.to_owned());
            Ok(Vec::new())
        }
        // Broken in one of many ways: what it reads is gone, or whoever made it.
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
    // Needs a privilege of its own for views, without which the rest is still worth showing.
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
    Ok(json!({
        "table": facts(conn, db, table)?,
        "columns": columns.iter().map(column).collect::<Vec<_>>(),
        "indexes": grouped_indexes(&indexes),
        "foreign_keys": foreign_keys(conn, db, table)?,
        "create_statement": create,
        "note": note,
    }))
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

/// Why the schema of a view is not whole.
const CALLS_WRITER: &str = "the view calls a stored function that would write. Describing the view runs it, so read-only mode shows only what is known without that";

/// The statement that makes a view, from its parts; none where the account may not see them.
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

/// MySQL shows an expression with a backslash before each quote and backslash; one of MariaDB has quotes without.
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

/// Field, Type, Collation, Null, Key, Default, Extra, Privileges, Comment.
fn column(row: &Row, generated: &HashMap<String, String>) -> Value {
    json!({
        "name": text(row, 0),
        "type": text(row, 1),
        "collation": text(row, 2),
        "nullable": text(row, 3).as_deref() == Some("YES"),
        "key": text(row, 4),
        "default": text(row, 5),
        "extra": text(row, 6),
        "generated": text(row, 0).and_then(|name| generated.get(&name)),
        "comment": text(row, 8),
    })
}

/// Table, Non_unique, Key_name, Seq_in_index, Column_name, Collation, Cardinality, Sub_part, Packed, Null, Index_type,
/// Comment, Index_comment; then MySQL 8 has Visible and Expression, which stands where Column_name is NULL, and MariaDB
/// 10.6 Ignored.
fn grouped_indexes(parts: &[Row]) -> Vec<Value> {
    let mut indexes: Vec<(String, &Row, Vec<String>)> = Vec::new();
    for row in parts {
        let name = text(row, 2).unwrap_or_default();
        let part = index_part(row);
        match indexes.iter_mut().find(|(known, ..)| *known == name) {
            Some((.., columns)) => columns.push(part),
            None => indexes.push((name, row, vec![part])),
        }
    }
    let one = |(name, first, columns): &(String, &Row, Vec<String>)| {
        json!({
            "name": name,
            "unique": text(first, 1).as_deref() == Some("0"),
            "type": text(first, 10),
            "columns": columns,
            "visible": is_visible(first),
            "comment": text(first, 12),
        })
    };
    indexes.iter().map(one).collect()
}

/// A column with the length that is indexed, or an expression, and `DESC` where it descends.
fn index_part(row: &Row) -> String {
    // A spatial one has a length that nobody gave.
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

/// True if the optimizer uses the index: MySQL says whether it does, MariaDB whether it does not.
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

/// Two look-ups with constants, each of which the server answers by opening this one table.
fn foreign_keys(conn: &mut Conn, db: &str, table: &str) -> Result<Vec<Value>, DbError> {
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
    let one = |name: &String| foreign_key(name, &parts, &rules);
    Ok(names.iter().map(one).collect())
}

fn foreign_key(name: &str, parts: &[Row], rules: &[Row]) -> Value {
    let is_named = |row: &&Row| text(row, 0).as_deref() == Some(name);
    let own: Vec<&Row> = parts.iter().filter(is_named).collect();
    let rule = rules.iter().find(is_named);
    let all = |i: usize| {
        own.iter()
            .filter_map(|row| text(row, i))
            .collect::<Vec<_>>()
    };
    json!({
        "name": name,
        "columns": all(1),
        "ref_db": own.first().and_then(|row| text(row, 2)),
        "ref_table": own.first().and_then(|row| text(row, 3)),
        "ref_columns": all(4),
        "on_update": rule.and_then(|row| text(row, 1)),
        "on_delete": rule.and_then(|row| text(row, 2)),
    })
}

/// The warnings of the statement before, of which there are `count`: `level`, `code`, `message`; where they are not all, a
/// note says so.
pub(crate) fn warnings(conn: &mut Conn, count: u16) -> Result<Vec<Value>, DbError> {
    let listed = rows(conn, &format!("SHOW WARNINGS LIMIT {MAX_WARNINGS}"))?;
    let one =
        |row: &Row| json!({"level": text(row, 0), "code": number(row, 1), "message": text(row, 2)});
    let mut told: Vec<Value> = listed.iter().map(one).collect();
    let (all, shown) = (usize::from(count), told.len());
    if all > shown && (shown > 0 || all > MAX_WARNINGS) {
        let more = if count == u16::MAX { " or more" } else { "" };
        let message = format!(
            "the statement has {all}{more} warnings; {shown} are listed (the server keeps max_error_count, this list \
             shows {MAX_WARNINGS})"
        );
        told.push(json!({"level": "Note", "code": null, "message": message}));
    }
    Ok(told)
}

/// Warnings of one statement that are listed.
const MAX_WARNINGS: usize = 100;

fn names(conn: &mut Conn, sql: &str) -> Result<Value, DbError> {
    let listed = rows(conn, sql)?;
    Ok(listed.iter().filter_map(|row| text(row, 0)).collect())
}

/// A name as SQL has it: in backquotes, with those inside doubled.
pub(crate) fn identifier(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A text as SQL has it whatever the session's mode says of quotes and backslashes: by its bytes.
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
