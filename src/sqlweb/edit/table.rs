//! The edited table, as the server's catalogue describes it.

use mysql::{Conn, Row};

use crate::sqlweb::catalogue::{identifier, literal, text};
use crate::sqlweb::conn::rows;
use crate::sqlweb::error::DbError;

/// Literal form of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnFormat {
    /// Digits.
    Number,
    /// A number that the server shows rounded (FLOAT).
    Rounded,
    /// `0x…` for a number (BIT).
    Bits,
    /// `0x…`.
    Binary,
    /// `0x…` for a member's name (ENUM and SET of binary characters).
    BinaryName,
    /// In quotes, as local time, which repeats one hour in autumn (TIMESTAMP).
    Timestamp,
    /// Anything else, in quotes.
    Text,
}

/// A column.
pub(super) struct TableColumn {
    pub(super) name: String,
    pub(super) form: ColumnFormat,
    /// True if its cells may be longer than an answer shows.
    pub(super) is_long: bool,
    pub(super) is_generated: bool,
    /// True if `SELECT *` leaves it out.
    pub(super) is_invisible: bool,
    pub(super) is_auto_increment: bool,
    /// True if the account may read it.
    pub(super) is_readable: bool,
}

/// A table whose rows have a key.
pub(super) struct EditableTable {
    /// Database and table, quoted for SQL.
    pub(super) name: String,
    /// Name for a sentence.
    pub(super) shown: String,
    pub(super) engine: String,
    /// True if its engine can roll back.
    pub(super) rolls_back: bool,
    pub(super) columns: Vec<TableColumn>,
    /// Positions of the columns of each PRIMARY or UNIQUE NOT NULL key.
    pub(super) keys: Vec<Vec<usize>>,
}

/// Result of a look at the catalogue.
pub(super) enum TableLookup {
    EditableTable(EditableTable),
    /// Its rows cannot be edited; the text has the reason and advice.
    Unfit(String),
}

/// Looks up `table` of `db`; for an unknown one the error is the server's.
pub(super) fn look_up(conn: &mut Conn, db: &str, table: &str) -> Result<TableLookup, DbError> {
    let (db_name, table_name) = (identifier(db), identifier(table));
    let columns = rows(
        conn,
        &format!("SHOW FULL COLUMNS FROM {table_name} FROM {db_name}"),
    )?;
    let listed = rows(
        conn,
        &format!(
            "SELECT TABLE_NAME, TABLE_TYPE, ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}",
            literal(db),
            literal(table)
        ),
    )?;
    // Names may compare without case there, so that two may be listed.
    let is_exact = |row: &&Row| text(row, 0).as_deref() == Some(table);
    let listed = listed.iter().find(is_exact).or(listed.first());
    let cell = |i| listed.and_then(|row| text(row, i)).unwrap_or_default();
    let (kind, engine) = (cell(1), cell(2));
    let shown = format!("{db}.{table}");
    if let Some(unfit) = unfit(&shown, &kind) {
        return Ok(TableLookup::Unfit(unfit));
    }
    let indexes = rows(
        conn,
        &format!("SHOW INDEX FROM {table_name} FROM {db_name}"),
    )?;
    let columns: Vec<TableColumn> = columns.iter().map(column).collect();
    let mut keys = keys(&columns, &indexes);
    if kind == "SYSTEM VERSIONED" {
        keys.extend(without_row_end(&columns, &keys));
    }
    if keys.is_empty() {
        return Ok(TableLookup::Unfit(without_key(&shown)));
    }
    Ok(TableLookup::EditableTable(EditableTable {
        name: format!("{db_name}.{table_name}"),
        shown,
        rolls_back: rolls_back(conn, &engine)?,
        engine,
        columns,
        keys,
    }))
}

fn unfit(shown: &str, kind: &str) -> Option<String> {
    match kind {
        "VIEW" | "SYSTEM VIEW" => Some(format!(
            "{shown} is a view: edit the tables it reads, or write with a statement"
        )),
        "SEQUENCE" => Some(format!(
            "{shown} is a sequence: set it with ALTER SEQUENCE or SETVAL()"
        )),
        _ => None,
    }
}

fn without_key(shown: &str) -> String {
    format!(
        "{shown} has neither a PRIMARY KEY nor a UNIQUE key of NOT NULL columns, so its rows cannot be identified: \
         add one (ALTER TABLE … ADD COLUMN id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY), or write with a \
         statement"
    )
}

fn rolls_back(conn: &mut Conn, engine: &str) -> Result<bool, DbError> {
    let told = rows(
        conn,
        &format!(
            "SELECT TRANSACTIONS FROM information_schema.ENGINES WHERE ENGINE = {}",
            literal(engine)
        ),
    )?;
    let told = told.first().and_then(|row| text(row, 0));
    Ok(told.as_deref() == Some("YES"))
}

/// Reads Field, Type, Collation, Null, Key, Default, Extra, Privileges.
fn column(row: &Row) -> TableColumn {
    let (kind, extra) = (
        text(row, 1).unwrap_or_default().to_ascii_lowercase(),
        text(row, 6).unwrap_or_default().to_ascii_uppercase(),
    );
    let word = kind.split(|c: char| !c.is_ascii_alphanumeric()).next();
    let word = word.unwrap_or_default();
    // Other text types have other names if they are binary.
    let has_bytes = matches!(word, "enum" | "set") && text(row, 2).is_none_or(|c| c == "binary");
    TableColumn {
        name: text(row, 0).unwrap_or_default(),
        form: if has_bytes {
            ColumnFormat::BinaryName
        } else {
            form(word)
        },
        is_long: matches!(
            word,
            "mediumtext" | "longtext" | "mediumblob" | "longblob" | "json"
        ),
        // `DEFAULT_GENERATED` is a default.
        is_generated: extra.contains(" GENERATED"),
        is_invisible: extra.contains("INVISIBLE"),
        is_auto_increment: extra.contains("AUTO_INCREMENT"),
        is_readable: text(row, 7).is_none_or(|rights| rights.contains("select")),
    }
}

fn form(word: &str) -> ColumnFormat {
    match word {
        "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "decimal" | "double" => {
            ColumnFormat::Number
        }
        "float" => ColumnFormat::Rounded,
        "bit" => ColumnFormat::Bits,
        "timestamp" => ColumnFormat::Timestamp,
        "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" | "vector"
        | "geometry" | "point" | "linestring" | "polygon" | "multipoint" | "multilinestring"
        | "multipolygon" | "geometrycollection" | "geomcollection" => ColumnFormat::Binary,
        _ => ColumnFormat::Text,
    }
}

/// Reads Table, Non_unique, Key_name, Seq_in_index, Column_name, Collation, Cardinality, Sub_part, Packed, Null. A
/// unique index of an expression, or of a part of a column, is not a key.
fn keys(columns: &[TableColumn], indexes: &[Row]) -> Vec<Vec<usize>> {
    let mut found: Vec<(String, Option<Vec<usize>>)> = Vec::new();
    for row in indexes {
        if text(row, 1).as_deref() != Some("0") {
            continue;
        }
        let name = text(row, 2).unwrap_or_default();
        let at = text(row, 4).and_then(|name| columns.iter().position(|c| c.name == name));
        let is_whole = text(row, 7).is_none() && text(row, 9).as_deref() != Some("YES");
        let at = at.filter(|_| is_whole);
        match found.iter_mut().find(|(known, _)| *known == name) {
            Some((_, parts)) => {
                *parts = parts.take().zip(at).map(|(mut parts, at)| {
                    parts.push(at);
                    parts
                });
            }
            None => found.push((name, at.map(|at| vec![at]))),
        }
    }
    found.into_iter().filter_map(|(_, parts)| parts).collect()
}

/// Keys without the end time of rows, which MariaDB adds to the keys of a table with history; all current rows share
/// it.
fn without_row_end(columns: &[TableColumn], keys: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let is_given = |at: &usize| columns.get(*at).is_some_and(|column| !column.is_generated);
    let shorter = |key: &Vec<usize>| key.iter().copied().filter(is_given).collect();
    let all = keys.iter().map(shorter);
    all.filter(|key: &Vec<usize>| !key.is_empty() && !keys.contains(key))
        .collect()
}

impl TableColumn {
    /// True if its values are bytes and neither text nor numbers.
    pub(super) fn is_binary(&self) -> bool {
        matches!(self.form, ColumnFormat::Binary | ColumnFormat::BinaryName)
    }
}

impl EditableTable {
    /// Position of a column; servers compare its name without case.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        let exact = self.columns.iter().position(|c| c.name == name);
        exact.or_else(|| {
            let lower = name.to_lowercase();
            let same = |c: &TableColumn| c.name.to_lowercase() == lower;
            self.columns.iter().position(same)
        })
    }

    /// The column at a position from [`EditableTable::place`].
    pub(super) fn column(&self, at: usize) -> &TableColumn {
        let column = self.columns.get(at);
        column.expect("places are of this table's columns")
    }
}
