//! Outcomes of a statement: from the server itself, and through the web client; and how the two differ.

use mysql::consts::ColumnType as T;
use mysql::prelude::Queryable;
use mysql::{Column, Conn, MySqlError, Value as Cell};
use serde_json::{Number, Value, json};

/// Character set number of `binary`.
const BINARY: u16 = 63;

/// `ER_NATIVE_FCT_NAME_COLLISION`: said only when a connection meets such a stored function for the first time.
const NATIVE_NAME: u16 = 1585;

/// Most warnings that the web client asks for.
const MOST_WARNINGS: usize = 100;

/// The server's own answer.
pub(crate) enum Direct {
    /// It has run.
    Done(Told),
    /// It has failed.
    Failed(MySqlError),
}

/// The answer to a statement that has run.
#[derive(Default)]
pub(crate) struct Told {
    sets: Vec<Rows>,
    /// Level, number and text of each; none where they were not asked for.
    warnings: Option<Vec<Warning>>,
    affected_rows: u64,
    last_insert_id: u64,
}

/// Names of columns, and rows. Cells are as the API writes them, but numbers and texts alike as text.
type Rows = (Vec<String>, Vec<Vec<Option<String>>>);

type Warning = (String, u16, String);

/// Runs a statement on a clean session in the database `db`.
pub(super) fn direct(conn: &mut Conn, db: &str, sql: &str) -> Direct {
    conn.reset().expect("the server resets connections");
    for clean in ["SET NAMES utf8mb4".to_owned(), format!("USE {db}")] {
        conn.query_drop(clean).expect("nothing stands against it");
    }
    ask(conn, sql, true).unwrap_or_else(|e| panic!("{sql}: {e}"))
}

/// Runs a statement in the session as it is, and lists its warnings unless they `may` not be asked for. An error of the
/// connection is passed on.
pub(crate) fn ask(conn: &mut Conn, sql: &str, may: bool) -> mysql::Result<Direct> {
    let sets = match sets(conn, sql) {
        Err(mysql::Error::MySqlError(error)) => return Ok(Direct::Failed(error)),
        sets => sets?,
    };
    let mut told = Told {
        sets,
        affected_rows: conn.affected_rows(),
        last_insert_id: conn.last_insert_id(),
        warnings: (conn.warnings() == 0).then(Vec::new),
    };
    if may && told.warnings.is_none() {
        let listed: Vec<(Vec<u8>, u16, Vec<u8>)> = conn.query("SHOW WARNINGS")?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let listed = listed
            .into_iter()
            .map(|(level, code, message)| (text(level), code, text(message)));
        told.warnings = Some(listed.filter(|(_, code, _)| *code != NATIVE_NAME).collect());
    }
    Ok(Direct::Done(told))
}

fn sets(conn: &mut Conn, sql: &str) -> mysql::Result<Vec<Rows>> {
    let (mut result, mut sets) = (conn.query_iter(sql)?, Vec::new());
    while let Some(set) = result.iter() {
        let columns: Vec<Column> = set.columns().as_ref().to_vec();
        let mut rows = Vec::new();
        for row in set {
            let cells = row?.unwrap().into_iter().zip(&columns);
            rows.push(cells.map(|(cell, column)| text(cell, column)).collect());
        }
        if !columns.is_empty() {
            let names = columns.iter().map(|c| c.name_str().into_owned());
            sets.push((names.collect(), rows));
        }
    }
    Ok(sets)
}

fn text(cell: Cell, column: &Column) -> Option<String> {
    match cell {
        Cell::NULL => None,
        Cell::Bytes(bytes) if is_binary(column) => {
            let digits = bytes.iter().map(|byte| format!("{byte:02X}"));
            Some(format!("0x{}", digits.collect::<String>()))
        }
        Cell::Bytes(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        other => panic!("the text protocol has no {other:?}"),
    }
}

fn is_binary(column: &Column) -> bool {
    match column.column_type() {
        T::MYSQL_TYPE_BIT | T::MYSQL_TYPE_GEOMETRY | T::MYSQL_TYPE_VECTOR => true,
        T::MYSQL_TYPE_VARCHAR
        | T::MYSQL_TYPE_VAR_STRING
        | T::MYSQL_TYPE_STRING
        | T::MYSQL_TYPE_TINY_BLOB
        | T::MYSQL_TYPE_MEDIUM_BLOB
        | T::MYSQL_TYPE_LONG_BLOB
        | T::MYSQL_TYPE_BLOB => column.character_set() == BINARY,
        _ => false,
    }
}

/// Returns how the web client's `answer` differs from the server's own, if it does. Of a `volatile` one only columns and
/// the error's number are compared.
pub(crate) fn difference(direct: &Direct, answer: &Value, volatile: bool) -> Option<String> {
    let told = match direct {
        Direct::Failed(error) => return of_error(error, answer, volatile),
        Direct::Done(told) => told,
    };
    if answer["code"] != 200 {
        return Some(format!("runs directly, here {answer:.600}"));
    }
    let data = &answer["data"];
    let sets = match &data["results"] {
        Value::Array(sets) => sets.iter().collect(),
        _ if data["columns"] == json!([]) => Vec::new(),
        _ => vec![data],
    };
    if sets.len() != told.sets.len() {
        return Some(format!("{} results, here {}", told.sets.len(), sets.len()));
    }
    let mut pairs = told.sets.iter().zip(sets);
    let found = pairs.find_map(|(own, here)| of_set(own, here, volatile));
    found.or_else(|| of_end(told, data).filter(|_| !volatile))
}

fn of_error(error: &MySqlError, answer: &Value, volatile: bool) -> Option<String> {
    let here = &answer["error"];
    let message = answer["message"].as_str().unwrap_or_default();
    let is_same = here["errno"] == error.code
        && (volatile || here["sqlstate"] == error.state && message.contains(&error.message));
    (!is_same).then(|| format!("directly {error}, here {answer:.400}"))
}

/// Returns how the figures of the end differ, or the warnings.
fn of_end(told: &Told, data: &Value) -> Option<String> {
    let here = [&data["affected_rows"], &data["last_insert_id"]];
    if here != [told.affected_rows, told.last_insert_id] {
        let (affected, id) = (told.affected_rows, told.last_insert_id);
        return Some(format!(
            "affected rows {affected}, last id {id}, here {here:?}"
        ));
    }
    let own = told.warnings.as_ref()?;
    let own = own.iter().take(MOST_WARNINGS);
    let own: Vec<Value> = own
        .map(|(level, code, message)| json!({"level": level, "code": code, "message": message}))
        .collect();
    // Remarks of the web client itself have no number.
    let is_servers = |w: &&Value| !w["code"].is_null() && w["code"] != NATIVE_NAME;
    let here: Vec<&Value> = list(&data["warnings"]).filter(is_servers).collect();
    (here != own.iter().collect::<Vec<_>>()).then(|| format!("warnings {own:?}, here {here:?}"))
}

fn of_set((columns, rows): &Rows, data: &Value, volatile: bool) -> Option<String> {
    let names: Vec<&str> = strings(&data["columns"]);
    if !same_names(columns, &names) {
        return Some(format!("columns {columns:?}, here {names:?}"));
    }
    if data["types"].as_array().map(Vec::len) != Some(names.len()) {
        return Some(format!("types {} for columns {names:?}", data["types"]));
    }
    let found = data["rows"].as_array().expect("rows are a list");
    if data["count"] != found.len() {
        return Some(format!("count {} of {} rows", data["count"], found.len()));
    }
    if volatile {
        return None;
    }
    if found.len() != rows.len() {
        return Some(format!("{} rows, here {}", rows.len(), found.len()));
    }
    let types = strings(&data["types"]);
    let all = rows.iter().zip(found).enumerate();
    let mut cells = all.flat_map(|(number, (row, here))| {
        let pairs = names.iter().zip(&types).zip(row);
        pairs.map(move |((name, kind), cell)| (number, name, kind, cell, &here[*name]))
    });
    let (number, name, _, cell, here) = cells.find(|(_, _, kind, cell, here)| {
        let is_double = ["FLOAT", "DOUBLE"].contains(kind);
        !same_cell(cell.as_deref(), here, is_double)
    })?;
    Some(format!("row {number}, {name}: {cell:?}, here {here:.300}"))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn strings(names: &Value) -> Vec<&str> {
    let texts = list(names).map(|name| name.as_str().expect("names are texts"));
    texts.collect()
}

/// A name that stood before has a number behind it.
fn same_names(columns: &[String], names: &[&str]) -> bool {
    let same = |(i, name): (usize, &&str)| {
        let numbered = name.strip_prefix(columns[i].as_str());
        columns[i] == **name || numbered.is_some_and(|number| number.starts_with('_'))
    };
    columns.len() == names.len() && names.iter().enumerate().all(same)
}

fn same_cell(direct: Option<&str>, here: &Value, is_double: bool) -> bool {
    match (direct, here) {
        (None, Value::Null) => true,
        (Some(text), Value::String(here)) => text == here,
        (Some(text), Value::Number(here)) => same_number(text, here, is_double),
        _ => false,
    }
}

/// An integer is a number only where every reader keeps it exactly. Of a double the reader here, not the writer, may be
/// off by the last digit.
fn same_number(text: &str, here: &Number, is_double: bool) -> bool {
    if let (Ok(exact), Some(here)) = (text.parse::<i64>(), here.as_i64()) {
        return exact == here && (is_double || exact.unsigned_abs() < 1 << 53);
    }
    let (Ok(exact), Some(here)) = (text.parse::<f64>(), here.as_f64()) else {
        return false;
    };
    (exact - here).abs() <= exact.abs() * 2.0 * f64::EPSILON
}
