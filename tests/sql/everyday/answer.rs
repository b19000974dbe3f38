//! What came of a statement: from the server itself, and through the web client; and whether the two are the same.

use mysql::consts::ColumnType as T;
use mysql::prelude::Queryable;
use mysql::{Column, Conn, Value as Cell};
use serde_json::{Number, Value};

/// Character set number of `binary`.
const BINARY: u16 = 63;

/// `ER_NATIVE_FCT_NAME_COLLISION`: said only when a connection meets such a stored function for the first time.
const NATIVE_NAME: u16 = 1585;

/// What the server itself answered.
pub(super) enum Direct {
    /// A result, and the codes of the warnings; without a result there are no columns.
    Rows(Rows, Vec<u16>),
    /// The error's number and text.
    Failed(u16, String),
}

/// Runs it on a clean session in the database `db`. Cells are as the API writes them, but numbers and texts alike as text.
pub(super) fn direct(conn: &mut Conn, db: &str, sql: &str) -> Direct {
    conn.reset().expect("the server resets connections");
    for clean in ["SET NAMES utf8mb4".to_owned(), format!("USE {db}")] {
        conn.query_drop(clean).expect("nothing stands against it");
    }
    match rows(conn, sql) {
        Ok(rows) => {
            let warnings =
                conn.query_map("SHOW WARNINGS", |(_, code, _): (String, u16, String)| code);
            let mut warnings = warnings.expect("the server lists warnings");
            warnings.retain(|code| *code != NATIVE_NAME);
            Direct::Rows(rows, warnings)
        }
        Err(mysql::Error::MySqlError(error)) => Direct::Failed(error.code, error.message),
        Err(error) => panic!("{sql}: {error}"),
    }
}

type Rows = (Vec<String>, Vec<Vec<Option<String>>>);

fn rows(conn: &mut Conn, sql: &str) -> mysql::Result<Rows> {
    let mut result = conn.query_iter(sql)?;
    let Some(set) = result.iter() else {
        return Ok((Vec::new(), Vec::new()));
    };
    let columns: Vec<Column> = set.columns().as_ref().to_vec();
    let mut rows = Vec::new();
    for row in set {
        let cells = row?.unwrap().into_iter().zip(&columns);
        rows.push(cells.map(|(cell, column)| text(cell, column)).collect());
    }
    let names = columns.iter().map(|c| c.name_str().into_owned()).collect();
    Ok((names, rows))
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

/// How the web client's `answer` differs from the server's own, if it does.
pub(super) fn difference(direct: &Direct, answer: &Value, volatile: bool) -> Option<String> {
    let ((columns, rows), warnings) = match direct {
        Direct::Failed(errno, _) if answer["error"]["errno"] == *errno => return None,
        Direct::Failed(errno, message) => {
            return Some(format!(
                "directly error {errno} ({message}), here {answer:.300}"
            ));
        }
        Direct::Rows(rows, warnings) => (rows, warnings),
    };
    if answer["code"] != 200 {
        return Some(format!("runs directly, here {answer:.600}"));
    }
    let data = &answer["data"];
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
    let told = list(&data["warnings"]).map(|warning| &warning["code"]);
    let told: Vec<&Value> = told.filter(|code| **code != NATIVE_NAME).collect();
    if told != warnings.iter().collect::<Vec<_>>() {
        return Some(format!("warnings {warnings:?}, here {}", data["warnings"]));
    }
    if found.len() != rows.len() {
        return Some(format!("{} rows, here {}", rows.len(), found.len()));
    }
    let all = rows.iter().zip(found).enumerate();
    let mut cells = all.flat_map(|(number, (row, here))| {
        let pairs = names.iter().zip(row);
        pairs.map(move |(name, cell)| (number, name, cell, &here[*name]))
    });
    let (number, name, cell, here) =
        cells.find(|(_, _, cell, here)| !same_cell(cell.as_deref(), here))?;
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

fn same_cell(direct: Option<&str>, here: &Value) -> bool {
    match (direct, here) {
        (None, Value::Null) => true,
        (Some(text), Value::String(here)) => text == here,
        (Some(text), Value::Number(here)) => same_number(text, here),
        _ => false,
    }
}

/// An integer is a number only where every reader keeps it exactly. Of a double the reader here, not the writer, may be
/// off by the last digit.
fn same_number(text: &str, here: &Number) -> bool {
    if let (Ok(exact), Some(here)) = (text.parse::<i64>(), here.as_i64()) {
        return exact == here && exact.unsigned_abs() < 1 << 53;
    }
    let (Ok(exact), Some(here)) = (text.parse::<f64>(), here.as_f64()) else {
        return false;
    };
    (exact - here).abs() <= exact.abs() * 2.0 * f64::EPSILON
}
