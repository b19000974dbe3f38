//! Columns of a dumped table: the expressions that are selected, and the literals that their values become.

use mysql::Row;
use rows::Kind;

use crate::sqlweb::catalogue::{identifier, text};

/// Literal form of the values of one column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DumpFormat {
    /// Digits.
    Number,
    /// Digits of a DOUBLE, which must not become a DECIMAL, since that loses the sign of zero.
    Real,
    /// In quotes.
    Text,
    /// Bytes.
    Bytes,
    /// Text in latin1: in quotes, or by its bytes if it is long.
    Latin1,
    /// Text of another character set than the file's: in quotes if it is ASCII, else by its bytes.
    Foreign,
}

impl DumpFormat {
    /// Returns the kind of a value that is not NULL, and true if it is written as a number.
    pub(super) fn kind(self, bytes: &[u8]) -> (Kind, bool) {
        match self {
            Self::Number | Self::Real => (Kind::Integer, true),
            Self::Text if std::str::from_utf8(bytes).is_ok() => (Kind::Text, false),
            Self::Latin1 | Self::Foreign if bytes.is_ascii() => (Kind::Text, false),
            Self::Text | Self::Bytes | Self::Latin1 | Self::Foreign => (Kind::Hex, false),
        }
    }
}

/// Bytes 0x80 to 0x9f in the servers' latin1, which is Windows' (MariaDB and MySQL, "West European Character
/// Sets"); the five that Windows leaves free are control characters.
#[rustfmt::skip]
const LATIN1_80: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// Decodes a text in the servers' latin1.
pub(super) fn latin1(bytes: &[u8]) -> String {
    let read = |byte: &u8| match byte {
        0x80..=0x9f => LATIN1_80.get(usize::from(byte & 0x1f)).copied(),
        byte => Some(char::from(*byte)),
    };
    bytes.iter().filter_map(read).collect()
}

/// Dumped columns of a table.
#[derive(Default)]
pub(super) struct Columns {
    /// Expressions that are selected.
    pub(super) selected: String,
    /// Their names, for the `INSERT`.
    pub(super) names: String,
    /// Their literal forms.
    pub(super) ways: Vec<DumpFormat>,
    /// Names of columns for which the server shows a `?` that may replace another character.
    pub(super) doubtful: Vec<String>,
}

/// Columns of `information_schema.COLUMNS` that are read.
pub(super) const ASKED: &str = "COLUMN_NAME, DATA_TYPE, CHARACTER_SET_NAME, COLUMN_TYPE, GENERATION_EXPRESSION, COLUMN_DEFAULT";

impl Columns {
    /// The columns with stored values; generated ones are left out.
    pub(super) fn of(listed: &[Row]) -> Self {
        let mut columns = Self::default();
        for row in listed {
            let field = |i: usize| text(row, i).unwrap_or_default();
            let (name, data_type, declared) = (field(0), field(1), field(3));
            // A server keeps labels and defaults in its own character set, which lacks emoji.
            if text(row, 2).is_some() && (declared.contains('?') || field(5).contains('?')) {
                columns.doubtful.push(name.clone());
            }
            if !field(4).is_empty() {
                continue;
            }
            let quoted = identifier(&name);
            let (selected, way) = way(&quoted, &data_type, text(row, 2).as_deref(), &declared);
            columns.add(&selected, &quoted, way);
        }
        if columns.ways.is_empty() {
            columns.selected = "NULL".to_owned();
        }
        columns
    }

    fn add(&mut self, selected: &str, name: &str, way: DumpFormat) {
        if !self.ways.is_empty() {
            self.selected.push_str(", ");
            self.names.push_str(", ");
        }
        self.selected.push_str(selected);
        self.names.push_str(name);
        self.ways.push(way);
    }
}

fn way(name: &str, data_type: &str, charset: Option<&str>, declared: &str) -> (String, DumpFormat) {
    let as_it_is = |way| (name.to_owned(), way);
    match data_type {
        "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "decimal" => {
            as_it_is(DumpFormat::Number)
        }
        // The server shows six digits of a FLOAT; as a DOUBLE it shows all.
        "float" => (format!("{name} * 1e0"), DumpFormat::Real),
        "double" => as_it_is(DumpFormat::Real),
        // An invalid value looks like an empty member, and a character that cannot be shown like a `?`.
        "enum" | "set" if declared.contains("''") || declared.contains('?') => {
            (format!("CAST({name} AS UNSIGNED)"), DumpFormat::Number)
        }
        "bit" | "vector" => as_it_is(DumpFormat::Bytes),
        "json" => as_it_is(DumpFormat::Text),
        _ if is_geometry(data_type) => as_it_is(DumpFormat::Bytes),
        _ if data_type.ends_with("binary") || data_type.ends_with("blob") => {
            as_it_is(DumpFormat::Bytes)
        }
        _ => as_it_is(match charset {
            None | Some("utf8mb4" | "utf8mb3" | "utf8" | "ascii") => DumpFormat::Text,
            // Their bytes may look like ASCII and mean something else.
            Some("ucs2" | "utf16" | "utf16le" | "utf32" | "swe7") => DumpFormat::Bytes,
            Some("binary") => DumpFormat::Bytes,
            Some("latin1") => DumpFormat::Latin1,
            Some(_) => DumpFormat::Foreign,
        }),
    }
}

/// True for the types of spatial values (MariaDB and MySQL, "Spatial Data Types").
fn is_geometry(data_type: &str) -> bool {
    let simple = data_type.trim_start_matches("multi");
    matches!(
        simple,
        "geometry" | "point" | "linestring" | "polygon" | "geometrycollection" | "geomcollection"
    )
}
