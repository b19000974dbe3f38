//! An export is the same again on the server that it came from.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{prepare, query, web};
use support::Database;
use support::database::Kind;

/// Declarations with literals for a row of extremes and a row of the least.
const COLUMNS: &[(&str, &str, &str)] = &[
    ("TINYINT", "-128", "0"),
    ("BIGINT", "-9223372036854775808", "9223372036854775807"),
    ("BIGINT UNSIGNED", "18446744073709551615", "0"),
    ("INT(8) ZEROFILL", "42", "0"),
    (
        "DECIMAL(65,30)",
        "12345678901234567890123456789012345.12345678901234567890",
        "0",
    ),
    ("DECIMAL(6,2) ZEROFILL", "1.5", "0"),
    ("DOUBLE", "-1.7976931348623157e308", "5e-324"),
    ("FLOAT", "1.5", "0"),
    ("BIT(1)", "b'1'", "b'0'"),
    ("BIT(64)", "~0", "0"),
    ("YEAR", "2155", "0"),
    ("DATE", "'9999-12-31'", "'0000-00-00'"),
    ("TIME(6)", "'-838:59:59'", "'00:00:00.000001'"),
    (
        "DATETIME(6)",
        "'9999-12-31 23:59:59.999999'",
        "'2024-00-00'",
    ),
    (
        "TIMESTAMP(3) NULL",
        "'2038-01-19 03:14:07.999'",
        "'1970-01-01 00:00:01'",
    ),
    ("CHAR(20)", "'a\\'b\"c\\\\d'", "''"),
    ("TEXT", "'two\\nlines,\\r\\n\\t\\0 and \\Z'", "'NULL'"),
    ("TEXT", "'\u{1f600} \u{65e5}\u{672c} \u{e9}'", "'\\\\N'"),
    ("VARCHAR(20) CHARACTER SET latin1", "'\u{e9}\u{20ac}'", "''"),
    ("VARCHAR(20) CHARACTER SET utf16", "'\u{1f600}'", "''"),
    ("VARCHAR(20) CHARACTER SET sjis", "'\u{ff71}\u{8868}'", "''"),
    ("BINARY(4)", "X'00ff'", "''"),
    ("VARBINARY(9)", "X'0001ff27'", "''"),
    ("LONGBLOB", "X'5c0d0a22'", "X'00'"),
    ("ENUM('a','b''c','\u{fc}')", "'b\\'c'", "'\u{fc}'"),
    ("SET('x','y','z')", "'x,z'", "''"),
    ("JSON", "'{\"a\": [1, \"\u{fc}\\\\n\"]}'", "'null'"),
    (
        "GEOMETRY",
        "ST_GeomFromText('LINESTRING(0 0,1 1)')",
        "ST_GeomFromText('POINT(1 1)')",
    ),
];

const OF_MYSQL: &[(&str, &str, &str)] = &[
    (
        "VECTOR(3)",
        "TO_VECTOR('[1,2.5,-3e-8]')",
        "TO_VECTOR('[0,0,0]')",
    ),
    (
        "POINT SRID 4326",
        "ST_GeomFromText('POINT(1 2)', 4326)",
        "ST_GeomFromText('POINT(0 0)', 4326)",
    ),
];

const OF_MARIADB: &[(&str, &str, &str)] = &[
    (
        "UUID",
        "'123e4567-e89b-12d3-a456-426655440000'",
        "'00000000-0000-0000-0000-000000000000'",
    ),
    ("INET4", "'255.255.255.255'", "'0.0.0.0'"),
    ("INET6", "'2001:db8::1'", "'::'"),
];

/// MariaDB has it since 11.7.
const OF_MARIADB_11: &[(&str, &str, &str)] = &[(
    "VECTOR(3)",
    "VEC_FromText('[1,2.5,-3e-8]')",
    "VEC_FromText('[0,0,0]')",
)];

fn columns() -> Vec<(&'static str, &'static str, &'static str)> {
    let db = Database::shared();
    let more: &[&[_]] = match (db.kind(), db.version()) {
        (Kind::MySql, _) => &[OF_MYSQL],
        (Kind::MariaDb, (11.., ..)) => &[OF_MARIADB, OF_MARIADB_11],
        (Kind::MariaDb, _) => &[OF_MARIADB],
    };
    let all = more.iter().flat_map(|list| list.iter());
    COLUMNS.iter().chain(all).copied().collect()
}

/// A table of all types with two rows of values and one of NULL, and empty ones of the same shape.
fn make_tables(name: &str, copies: &[&str]) -> usize {
    let columns = columns();
    let declared = |(n, (kind, ..)): (usize, &(&str, &str, &str))| format!("c{n} {kind}");
    let declared: Vec<String> = columns.iter().enumerate().map(declared).collect();
    let row = |id: u8, pick: fn(&(&'static str, &'static str, &'static str)) -> &'static str| {
        let literals: Vec<&str> = columns.iter().map(pick).collect();
        format!("INSERT INTO {name} VALUES ({id}, {})", literals.join(", "))
    };
    let mut all = vec![
        format!(
            "CREATE TABLE {name} (id INT PRIMARY KEY, {})",
            declared.join(", ")
        ),
        row(1, |c| c.1),
        row(2, |c| c.2),
        row(3, |_| "NULL"),
    ];
    all.extend(
        copies
            .iter()
            .map(|copy| format!("CREATE TABLE {copy} LIKE {name}")),
    );
    prepare(&all);
    columns.len()
}

#[track_caller]
fn assert_same(name: &str, copy: &str, columns: usize) {
    for n in 0..columns {
        let sql = format!(
            "SELECT COUNT(*) FROM vals.{name} AS a JOIN vals.{copy} AS b USING (id) WHERE HEX(a.c{n}) <=> HEX(b.c{n}) AND a.c{n} <=> b.c{n}"
        );
        let (kind, ..) = self::columns()[n];
        assert_eq!(Database::shared().value(&sql), "3", "{kind} in {copy}");
    }
}

/// The statements that the page copies and saves, made by the page's own module.
fn as_insert(data: &Value, table: &str) -> String {
    let module = concat!(env!("CARGO_MANIFEST_DIR"), "/html/sql/core/format.js");
    let script = format!(
        "import {{ writeTable }} from '{module}'; \
         const {{ columns, types, rows }} = JSON.parse(require('node:fs').readFileSync(0, 'utf8')); \
         const lines = rows.map((row) => columns.map((name) => row[name])); \
         process.stdout.write((await writeTable('insert', {{ columns, types, rows: lines, name: '{table}' }})).join(''));"
    )
    .replace("require('node:fs')", "process.getBuiltinModule('node:fs')");
    let mut node = Command::new("node")
        .args(["--input-type=module", "--eval", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Node.js; run tests/setup.sh");
    let mut input = node.stdin.take().unwrap();
    input.write_all(data.to_string().as_bytes()).unwrap();
    drop(input);
    let done = node.wait_with_output().unwrap();
    assert!(done.status.success());
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn rows_written_as_insert_are_the_same_rows_again() {
    let columns = make_tables("trip_a", &["trip_b"]);
    let data = query("SELECT * FROM trip_a ORDER BY id");
    let sql = as_insert(&data, "trip_b");
    prepare(&[sql.trim_end().trim_end_matches(';').to_owned()]);
    assert_same("trip_a", "trip_b", columns);
}

#[test]
fn a_csv_is_the_same_rows_again() {
    let columns = make_tables("trip_c", &["trip_d"]);
    let types = query("SELECT * FROM trip_c")["types"].clone();
    let ask = json!({"sql": "SELECT * FROM trip_c ORDER BY id", "db": "vals", "null": "NULL", "header": false});
    let csv = web().client().post("/api/export", &ask).text().to_owned();
    let file = tempfile::Builder::new().suffix(".csv").tempfile().unwrap();
    std::fs::write(file.path(), csv).unwrap();
    // Bytes are hexadecimal digits in the file.
    let is_bytes = |n: usize| {
        let name = types[n + 1].as_str().unwrap();
        ["BIT", "BINARY", "BLOB", "GEOMETRY", "VECTOR"]
            .iter()
            .any(|part| name.contains(part))
    };
    let targets = (0..columns).map(|n| format!("@v{n}"));
    let sets = (0..columns).map(|n| match (types[n + 1].as_str(), is_bytes(n)) {
        (Some("BIT"), _) => format!("c{n} = CAST(CONV(SUBSTR(@v{n}, 3), 16, 10) AS UNSIGNED)"),
        (_, true) => format!("c{n} = UNHEX(SUBSTR(@v{n}, 3))"),
        _ => format!("c{n} = @v{n}"),
    });
    prepare(&[format!(
        "LOAD DATA INFILE '{}' INTO TABLE trip_d CHARACTER SET utf8mb4 FIELDS TERMINATED BY ',' \
         OPTIONALLY ENCLOSED BY '\"' ESCAPED BY '' LINES TERMINATED BY '\\r\\n' (id, {}) SET {}",
        file.path().display(),
        targets.collect::<Vec<_>>().join(", "),
        sets.collect::<Vec<_>>().join(", ")
    )]);
    assert_same("trip_c", "trip_d", columns);
}

#[test]
fn a_file_of_inserts_is_the_same_rows_again() {
    let columns = make_tables("trip_e", &["trip_f"]);
    let ask = json!({"sql": "SELECT * FROM trip_e ORDER BY id", "db": "vals", "format": "insert", "table": "trip_f", "time_zone": "+05:30"});
    let sql = web().client().post("/api/export", &ask).text().to_owned();
    assert!(sql.contains("SET @postern_time_zone = @@time_zone, time_zone = '+05:30';"));
    // As a console of a session that takes nothing on trust.
    Database::shared().exec(&format!(
        "USE vals; SET sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES,STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE'; {sql}"
    ));
    assert_same("trip_e", "trip_f", columns);
}

#[test]
fn a_number_zero_is_no_wish_for_a_new_one() {
    prepare(&[
        "CREATE TABLE zero_a (id INT PRIMARY KEY AUTO_INCREMENT, v INT, twice INT AS (v * 2), `da``te` DATE)".to_owned(),
        "SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO'".to_owned(),
        "INSERT INTO zero_a (id, v, `da``te`) VALUES (0, 1, '0000-00-00'), (5, 2, NULL)".to_owned(),
        "CREATE TABLE zero_b LIKE zero_a".to_owned(),
    ]);
    let ask = json!({"sql": "SELECT * FROM zero_a", "db": "vals", "format": "insert", "leave_out": ["twice"], "name": "zero.größe"});
    let file = web().client().post("/api/export", &ask);
    assert_eq!(file.header("content-type"), Some("application/sql"));
    assert_eq!(
        file.header("content-disposition"),
        Some("attachment; filename=\"zero.gr__e.sql\"; filename*=UTF-8''zero.gr%C3%B6%C3%9Fe.sql")
    );
    let sql = file.text();
    assert!(
        sql.contains("INSERT INTO `zero_a` (`id`, `v`, `da``te`) VALUES\n(0, 1, '0000-00-00'),\n(5, 2, NULL);\n"),
        "{sql}"
    );
    Database::shared().exec(&format!(
        "USE vals; SET sql_mode = 'TRADITIONAL'; {}",
        sql.replace("INTO `zero_a`", "INTO `zero_b`")
    ));
    let rows = Database::shared()
        .value("SELECT GROUP_CONCAT(id, ':', twice ORDER BY id) FROM vals.zero_b");
    assert_eq!(rows, "0:2,5:4");
}
