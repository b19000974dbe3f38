//! The built-in functions that are known to be harmless, with the servers that have them; and the refused ones.
//!
//! The versions matter: on a server without the built-in function its name can be a user's stored function, as `NVL`,
//! `TO_CHAR` or `FORMAT_BYTES` often are. In doubt a version here must be too late, not too early.

use super::dialect::Dialect;
use super::words;

/// Digests that MySQL 9.6 moved from the server into its component `component_classic_hashing`.
const SUPPLIED: &[&str] = &["MD5", "SHA", "SHA1"];

/// First MySQL that has them in a component.
const COMPONENT: (u16, u16, u16) = (9, 6, 0);

/// Status of a name before a parenthesis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FunctionStatus {
    /// Harmless, even with a space before the parenthesis; with the name in upper case.
    Harmless(&'static str),
    /// Harmless if the parenthesis follows directly; with the name in upper case.
    HarmlessWhenAdjacent(&'static str),
    /// Harmless if a component of the server supplies it; with the name in upper case.
    Supplied(&'static str),
    /// Harmless elsewhere, but not built into this server.
    NotOnThisServer,
    /// Built in and refused, for this reason.
    Refused(&'static str),
    /// Not known to be built in.
    Unknown,
}

/// Returns the status of `name` on a server of that dialect.
pub(super) fn status_of(name: &str, dialect: &Dialect) -> FunctionStatus {
    let mut elsewhere = false;
    for group in groups() {
        let Some(name) = words::find(group.names, name) else {
            continue;
        };
        match (group.on(dialect), group.adjacent) {
            (true, true) => return FunctionStatus::HarmlessWhenAdjacent(name),
            (true, false) => return FunctionStatus::Harmless(name),
            (false, _) => elsewhere = true,
        }
    }
    let refused = REFUSED
        .iter()
        .find(|(refused, _)| refused.eq_ignore_ascii_case(name));
    if let Some(name) = words::find(SUPPLIED, name).filter(|_| supplies(dialect)) {
        return FunctionStatus::Supplied(name);
    }
    // MySQL has no sequences, and refuses DEFAULT() of a column whose default is an expression.
    if !dialect.mariadb && name.eq_ignore_ascii_case("DEFAULT") {
        return FunctionStatus::Harmless("DEFAULT");
    }
    match refused {
        Some((_, reason)) => FunctionStatus::Refused(reason),
        None if elsewhere => FunctionStatus::NotOnThisServer,
        None => FunctionStatus::Unknown,
    }
}

fn supplies(dialect: &Dialect) -> bool {
    !dialect.mariadb && dialect.version >= COMPONENT
}

/// All groups of harmless functions.
pub(super) fn groups() -> impl Iterator<Item = &'static Group> {
    GROUPS.iter().chain(SPATIAL)
}

/// Names of the harmless functions of that server.
pub(super) fn passed(dialect: &Dialect) -> Vec<&'static str> {
    let on = groups().filter(|group| group.on(dialect));
    on.flat_map(|group| group.names.iter().copied()).collect()
}

/// First version of a server that has the names of a group; `None` if none has them.
type Since = Option<(u16, u16, u16)>;

/// Names that came with the same versions.
pub(super) struct Group {
    mariadb: Since,
    mysql: Since,
    /// First MySQL without them, where a stored function can have the name.
    until: Since,
    /// True for keywords that need the parenthesis directly behind them; with a space between, the server looks for a
    /// stored function of that name.
    adjacent: bool,
    /// The names, sorted, in upper case.
    pub(super) names: &'static [&'static str],
}

impl Group {
    /// True if a server of that dialect has the names.
    pub(super) fn on(&self, dialect: &Dialect) -> bool {
        let (since, until) = if dialect.mariadb {
            (self.mariadb, None)
        } else {
            (self.mysql, self.until)
        };
        since.is_some_and(|since| dialect.version >= since)
            && until.is_none_or(|until| dialect.version < until)
    }
}

const LOCKS: &str = "it touches locks that other connections see";
const SEQUENCES: &str = "it reads or moves a sequence";
const ENDLESS: &str = "it can be made to compute for hours, and the server cannot interrupt it";
const WAITS: &str = "it waits for replication";
const LATE: &str = "servers still in use treat this name as a stored function";
const CHANGES: &str = "it changes how the server works";
const LOADED: &str = "it comes from a component or a library, so its code is unknown";

/// Built-in functions that are known and refused.
pub(super) const REFUSED: &[(&str, &str)] = &[
    ("ASYMMETRIC_DECRYPT", LOADED),
    ("ASYMMETRIC_DERIVE", LOADED),
    ("ASYMMETRIC_ENCRYPT", LOADED),
    ("ASYMMETRIC_SIGN", LOADED),
    ("ASYMMETRIC_VERIFY", LOADED),
    ("ASYNCHRONOUS_CONNECTION_FAILOVER_ADD_MANAGED", CHANGES),
    ("ASYNCHRONOUS_CONNECTION_FAILOVER_ADD_SOURCE", CHANGES),
    ("ASYNCHRONOUS_CONNECTION_FAILOVER_DELETE_MANAGED", CHANGES),
    ("ASYNCHRONOUS_CONNECTION_FAILOVER_DELETE_SOURCE", CHANGES),
    ("ASYNCHRONOUS_CONNECTION_FAILOVER_RESET", CHANGES),
    ("CREATE_ASYMMETRIC_PRIV_KEY", LOADED),
    ("CREATE_ASYMMETRIC_PUB_KEY", LOADED),
    ("CREATE_DH_PARAMETERS", LOADED),
    ("CREATE_DIGEST", LOADED),
    (
        "DEFAULT",
        "it runs the column's default expression, which may move a sequence",
    ),
    ("DISTANCE", LATE),
    ("ENCRYPT", ENDLESS),
    ("GET_LOCK", LOCKS),
    ("GROUP_REPLICATION_DISABLE_MEMBER_ACTION", CHANGES),
    ("GROUP_REPLICATION_ENABLE_MEMBER_ACTION", CHANGES),
    ("GROUP_REPLICATION_RESET_MEMBER_ACTIONS", CHANGES),
    ("GROUP_REPLICATION_SET_AS_PRIMARY", CHANGES),
    ("GROUP_REPLICATION_SET_COMMUNICATION_PROTOCOL", CHANGES),
    ("GROUP_REPLICATION_SET_WRITE_CONCURRENCY", CHANGES),
    ("GROUP_REPLICATION_SWITCH_TO_MULTI_PRIMARY_MODE", CHANGES),
    ("GROUP_REPLICATION_SWITCH_TO_SINGLE_PRIMARY_MODE", CHANGES),
    ("INNODB_REDO_LOG_ARCHIVE_FLUSH", CHANGES),
    ("INNODB_REDO_LOG_ARCHIVE_START", CHANGES),
    ("INNODB_REDO_LOG_ARCHIVE_STOP", CHANGES),
    ("INNODB_REDO_LOG_CONSUMER_ADVANCE", CHANGES),
    ("INNODB_REDO_LOG_CONSUMER_REGISTER", CHANGES),
    ("INNODB_REDO_LOG_CONSUMER_UNREGISTER", CHANGES),
    ("INNODB_REDO_LOG_SHARP_CHECKPOINT", CHANGES),
    ("INNODB_SET_OPEN_FILES_LIMIT", CHANGES),
    ("IS_FREE_LOCK", LOCKS),
    ("IS_USED_LOCK", LOCKS),
    ("JSON_SCHEMA_VALID", ENDLESS),
    ("JSON_SCHEMA_VALIDATION_REPORT", ENDLESS),
    ("KDF", ENDLESS),
    ("LASTVAL", SEQUENCES),
    ("LOAD_FILE", "it reads files of the server's host"),
    ("MASTER_GTID_WAIT", WAITS),
    ("MASTER_POS_WAIT", WAITS),
    ("MONTHS_BETWEEN", LATE),
    ("NEXTVAL", SEQUENCES),
    ("OLD_VALUE", LATE),
    ("RELEASE_ALL_LOCKS", LOCKS),
    ("RELEASE_LOCK", LOCKS),
    ("SETVAL", SEQUENCES),
    ("SOURCE_POS_WAIT", WAITS),
    ("SPIDER_BG_DIRECT_SQL", CHANGES),
    ("SPIDER_COPY_TABLES", CHANGES),
    ("SPIDER_DIRECT_SQL", CHANGES),
    ("SPIDER_FLUSH_TABLE_MON_CACHE", CHANGES),
    ("TO_DATE", LATE),
    ("TO_NUMBER", LATE),
    ("TRUNC", LATE),
    ("VECTOR_DISTANCE", LATE),
    ("WAIT_FOR_EXECUTED_GTID_SET", WAITS),
    ("WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS", WAITS),
    ("WSREP_SYNC_WAIT_UPTO_GTID", WAITS),
];

/// Harmless functions and keywords that are not spatial.
#[rustfmt::skip]
const GROUPS: &[Group] = &[
    // Functions on every server.
    Group { mariadb: Some((0, 0, 0)), mysql: Some((0, 0, 0)), until: None, adjacent: false, names: &[
        "ABS", "ACOS", "ADDTIME", "AES_DECRYPT", "AES_ENCRYPT", "ASCII", "ASIN", "ATAN", "ATAN2",
        "AVG", "BENCHMARK", "BIN", "BIT_COUNT", "BIT_LENGTH", "CEIL", "CEILING", "CHAR",
        "CHARACTER_LENGTH", "CHARSET", "CHAR_LENGTH", "COALESCE", "COERCIBILITY", "COLLATION",
        "COMPRESS", "CONCAT", "CONCAT_WS", "CONNECTION_ID", "CONV", "CONVERT", "CONVERT_TZ", "COS",
        "COT", "CRC32", "CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "CURRENT_USER",
        "DATABASE", "DATE", "DATEDIFF", "DATE_FORMAT", "DAY", "DAYNAME", "DAYOFMONTH", "DAYOFWEEK",
        "DAYOFYEAR", "DEGREES", "ELT", "EXP", "EXPORT_SET", "FIELD", "FIND_IN_SET",
        "FLOOR", "FORMAT", "FOUND_ROWS", "FROM_DAYS", "FROM_UNIXTIME", "GET_FORMAT", "GREATEST",
        "HEX", "HOUR", "IF", "IFNULL", "INET_ATON", "INET_NTOA", "INSERT", "INSTR", "INTERVAL",
        "ISNULL", "LAST_DAY", "LAST_INSERT_ID", "LCASE", "LEAST", "LEFT", "LENGTH", "LN",
        "LOCALTIME", "LOCALTIMESTAMP", "LOCATE", "LOG", "LOG10", "LOG2", "LOWER", "LPAD", "LTRIM",
        "MAKEDATE", "MAKETIME", "MAKE_SET", "MATCH", "MICROSECOND", "MINUTE", "MOD",
        "MONTH", "MONTHNAME", "NAME_CONST", "NULLIF", "OCT", "OCTET_LENGTH", "ORD", "PERIOD_ADD",
        "PERIOD_DIFF", "PI", "POW", "POWER", "QUARTER", "QUOTE", "RADIANS", "RAND", "REPEAT",
        "REPLACE", "REVERSE", "RIGHT", "ROUND", "ROW_COUNT", "RPAD", "RTRIM", "SCHEMA", "SECOND",
        "SEC_TO_TIME", "SHA2", "SIGN", "SIN", "SLEEP", "SOUNDEX", "SPACE", "SQRT",
        "STRCMP", "STR_TO_DATE", "SUBSTRING_INDEX", "SUBTIME", "TAN", "TIME", "TIMEDIFF",
        "TIMESTAMP", "TIMESTAMPADD", "TIMESTAMPDIFF", "TIME_FORMAT", "TIME_TO_SEC", "TO_DAYS",
        "TO_SECONDS", "TRUNCATE", "UCASE", "UNCOMPRESS", "UNCOMPRESSED_LENGTH", "UNHEX",
        "UNIX_TIMESTAMP", "UPPER", "USER", "UTC_DATE", "UTC_TIME", "UTC_TIMESTAMP",
        "UUID", "UUID_SHORT", "VALUES", "VERSION", "WEEK", "WEEKDAY", "WEEKOFYEAR",
        "WEIGHT_STRING", "YEAR", "YEARWEEK",
    ] },
    // XPath; see `XPATH` in the module of calls.
    Group { mariadb: Some((0, 0, 0)), mysql: Some((0, 0, 0)), until: None, adjacent: false, names: &[
        "EXTRACTVALUE", "UPDATEXML",
    ] },
    // Digests that MySQL moved from the server into a component; see `SUPPLIED`.
    Group { mariadb: Some((0, 0, 0)), mysql: Some((0, 0, 0)), until: Some(COMPONENT), adjacent: false, names: &[
        "MD5", "SHA", "SHA1",
    ] },
    // Functions that are keywords only directly before the parenthesis.
    Group { mariadb: Some((0, 0, 0)), mysql: Some((0, 0, 0)), until: None, adjacent: true, names: &[
        "ADDDATE", "BIT_AND", "BIT_OR", "BIT_XOR", "CAST", "COUNT", "CURDATE", "CURTIME",
        "DATE_ADD", "DATE_SUB", "EXTRACT", "GROUP_CONCAT", "MAX", "MID", "MIN", "NOW", "POSITION",
        "SESSION_USER", "STD", "STDDEV", "STDDEV_POP", "STDDEV_SAMP", "SUBDATE", "SUBSTR",
        "SUBSTRING", "SUM", "SYSDATE", "SYSTEM_USER", "TRIM", "VARIANCE", "VAR_POP", "VAR_SAMP",
    ] },
    // Keywords that may precede a parenthesis and are not functions.
    Group { mariadb: Some((0, 0, 0)), mysql: Some((0, 0, 0)), until: None, adjacent: false, names: &[
        "AGAINST", "ALL", "AND", "ANY", "AS", "BETWEEN", "BIGINT", "BINARY", "BIT", "BLOB", "BOTH",
        "BY", "CASE", "CHARACTER", "COLUMNS", "DATETIME", "DEC", "DECIMAL", "DISTINCT",
        "DISTINCTROW", "DIV", "DOUBLE", "ELSE", "ESCAPE", "EXISTS", "FIXED", "FLOAT", "FOR",
        "FROM", "GROUP", "HAVING", "HIGH_PRIORITY", "IN", "INDEX", "INT", "INTEGER", "JOIN", "KEY",
        "LEADING", "LIKE", "LIMIT", "MEDIUMINT", "NCHAR", "NOT", "NUMERIC", "NVARCHAR", "OFFSET",
        "ON", "OR", "PARTITION", "REAL", "REGEXP", "RLIKE", "ROLLUP", "ROW", "SELECT", "SIGNED",
        "SMALLINT", "SOME", "SQL_BIG_RESULT", "SQL_BUFFER_RESULT", "SQL_CALC_FOUND_ROWS",
        "SQL_NO_CACHE", "SQL_SMALL_RESULT", "STRAIGHT_JOIN", "TEXT", "THEN", "TINYINT", "TRAILING",
        "UNION", "UNSIGNED", "USING", "VARBINARY", "VARCHAR", "WHEN", "WHERE", "XOR",
    ] },
    // Set operators and the window keyword, which became keywords late.
    Group { mariadb: Some((10, 2, 0)), mysql: Some((8, 0, 2)), until: None, adjacent: false, names: &[
        "OVER",
    ] },
    Group { mariadb: Some((10, 3, 0)), mysql: Some((8, 0, 3)), until: None, adjacent: false, names: &[
        "EXCEPT",
    ] },
    Group { mariadb: Some((10, 3, 0)), mysql: Some((8, 0, 31)), until: None, adjacent: false, names: &[
        "INTERSECT",
    ] },
    // `MEMBER OF (`, `AS OF (`.
    Group { mariadb: Some((10, 3, 4)), mysql: Some((8, 0, 1)), until: None, adjacent: false, names: &[
        "OF",
    ] },
    Group { mariadb: None, mysql: Some((8, 0, 14)), until: None, adjacent: false, names: &[
        "LATERAL",
    ] },
    // `GROUP BY CUBE (`, `GROUPING SETS (`, `TABLESAMPLE BERNOULLI (`, `QUALIFY (`.
    Group { mariadb: None, mysql: Some((9, 7, 0)), until: None, adjacent: false, names: &[
        "BERNOULLI", "CUBE", "QUALIFY", "SETS", "SYSTEM",
    ] },
    // `SELECT UNIQUE (`, `CAST(… AS INTERVAL DAY_SECOND (3))`, reserved words.
    Group { mariadb: Some((10, 11, 0)), mysql: None, until: None, adjacent: false, names: &[
        "DAY_SECOND", "UNIQUE",
    ] },
    // Addresses and base 64.
    Group { mariadb: Some((10, 0, 12)), mysql: Some((5, 6, 3)), until: None, adjacent: false, names: &[
        "FROM_BASE64", "INET6_ATON", "INET6_NTOA", "IS_IPV4", "IS_IPV4_COMPAT", "IS_IPV4_MAPPED",
        "IS_IPV6", "TO_BASE64",
    ] },
    // Window functions.
    Group { mariadb: Some((10, 2, 2)), mysql: Some((8, 0, 2)), until: None, adjacent: true, names: &[
        "CUME_DIST", "DENSE_RANK", "FIRST_VALUE", "LAG", "LEAD", "NTH_VALUE", "NTILE",
        "PERCENT_RANK", "RANK",
    ] },
    Group { mariadb: Some((10, 2, 2)), mysql: Some((8, 0, 2)), until: None, adjacent: false, names: &[
        "LAST_VALUE", "ROW_NUMBER",
    ] },
    // JSON.
    Group { mariadb: Some((10, 2, 7)), mysql: Some((5, 7, 8)), until: None, adjacent: false, names: &[
        "JSON_ARRAY", "JSON_ARRAY_APPEND", "JSON_ARRAY_INSERT", "JSON_CONTAINS",
        "JSON_CONTAINS_PATH", "JSON_DEPTH", "JSON_EXTRACT", "JSON_INSERT", "JSON_KEYS",
        "JSON_LENGTH", "JSON_OBJECT", "JSON_QUOTE", "JSON_REMOVE", "JSON_REPLACE",
        "JSON_SEARCH", "JSON_SET", "JSON_TYPE", "JSON_UNQUOTE", "JSON_VALID",
    ] },
    Group { mariadb: Some((10, 4, 5)), mysql: Some((5, 7, 22)), until: None, adjacent: false, names: &[
        "JSON_MERGE_PATCH", "JSON_MERGE_PRESERVE",
    ] },
    Group { mariadb: Some((10, 10, 3)), mysql: Some((5, 7, 22)), until: None, adjacent: false, names: &[
        "JSON_PRETTY",
    ] },
    Group { mariadb: Some((10, 5, 0)), mysql: Some((5, 7, 22)), until: None, adjacent: true, names: &[
        "JSON_ARRAYAGG", "JSON_OBJECTAGG",
    ] },
    Group { mariadb: Some((10, 6, 0)), mysql: Some((8, 0, 4)), until: None, adjacent: false, names: &[
        "JSON_TABLE",
    ] },
    Group { mariadb: Some((10, 2, 7)), mysql: Some((8, 0, 21)), until: None, adjacent: false, names: &[
        "JSON_VALUE",
    ] },
    Group { mariadb: Some((10, 9, 1)), mysql: Some((8, 0, 17)), until: None, adjacent: false, names: &[
        "JSON_OVERLAPS",
    ] },
    Group { mariadb: None, mysql: Some((8, 0, 13)), until: None, adjacent: false, names: &[
        "JSON_STORAGE_FREE", "JSON_STORAGE_SIZE",
    ] },
    Group { mariadb: Some((10, 2, 7)), mysql: None, until: None, adjacent: false, names: &[
        "JSON_COMPACT", "JSON_DETAILED", "JSON_EXISTS", "JSON_LOOSE", "JSON_QUERY",
    ] },
    // Deprecated by MySQL since 8.0.
    Group { mariadb: Some((10, 2, 7)), mysql: Some((5, 7, 8)), until: Some((10, 0, 0)), adjacent: false, names: &[
        "JSON_MERGE",
    ] },
    Group { mariadb: Some((10, 7, 1)), mysql: None, until: None, adjacent: false, names: &[
        "JSON_EQUALS", "JSON_NORMALIZE", "NATURAL_SORT_KEY", "SFORMAT",
    ] },
    Group { mariadb: Some((11, 2, 1)), mysql: None, until: None, adjacent: false, names: &[
        "JSON_ARRAY_INTERSECT", "JSON_KEY_VALUE", "JSON_OBJECT_FILTER_KEYS",
        "JSON_OBJECT_TO_ARRAY",
    ] },
    // Regular expressions.
    Group { mariadb: Some((10, 0, 5)), mysql: Some((8, 0, 4)), until: None, adjacent: false, names: &[
        "REGEXP_INSTR", "REGEXP_REPLACE", "REGEXP_SUBSTR",
    ] },
    Group { mariadb: None, mysql: Some((8, 0, 4)), until: None, adjacent: false, names: &[
        "REGEXP_LIKE",
    ] },
    // Others that both servers have, since different versions.
    Group { mariadb: Some((10, 0, 5)), mysql: Some((8, 0, 0)), until: None, adjacent: false, names: &[
        "CURRENT_ROLE",
    ] },
    Group { mariadb: Some((10, 10, 1)), mysql: Some((5, 6, 17)), until: None, adjacent: false, names: &[
        "RANDOM_BYTES",
    ] },
    Group { mariadb: Some((11, 0, 2)), mysql: Some((8, 0, 16)), until: None, adjacent: false, names: &[
        "FORMAT_PICO_TIME",
    ] },
    Group { mariadb: Some((11, 8, 1)), mysql: Some((8, 0, 16)), until: None, adjacent: false, names: &[
        "FORMAT_BYTES",
    ] },
    // MariaDB alone.
    Group { mariadb: Some((0, 0, 0)), mysql: None, until: None, adjacent: false, names: &[
        "BINLOG_GTID_POS", "COLUMN_ADD", "COLUMN_CHECK", "COLUMN_CREATE", "COLUMN_DELETE",
        "COLUMN_EXISTS", "COLUMN_GET", "COLUMN_JSON", "COLUMN_LIST", "CONTAINS", "DECODE",
        "DECODE_HISTOGRAM", "DES_DECRYPT", "DES_ENCRYPT", "ENCODE", "OLD_PASSWORD", "OVERLAPS",
        "PASSWORD",
    ] },
    Group { mariadb: Some((10, 3, 3)), mysql: None, until: None, adjacent: false, names: &[
        "CHR", "LENGTHB", "NVL", "NVL2", "VALUE",
    ] },
    Group { mariadb: Some((10, 3, 3)), mysql: None, until: None, adjacent: true, names: &[
        "MEDIAN", "PERCENTILE_CONT", "PERCENTILE_DISC", "TRIM_ORACLE",
    ] },
    Group { mariadb: Some((10, 3, 3)), mysql: None, until: None, adjacent: false, names: &[
        "CONCAT_OPERATOR_ORACLE", "DECODE_ORACLE", "LPAD_ORACLE", "LTRIM_ORACLE", "REPLACE_ORACLE",
        "RPAD_ORACLE", "RTRIM_ORACLE", "SUBSTR_ORACLE",
    ] },
    Group { mariadb: Some((10, 4, 2)), mysql: None, until: None, adjacent: false, names: &[
        "WSREP_LAST_SEEN_GTID", "WSREP_LAST_WRITTEN_GTID",
    ] },
    Group { mariadb: Some((10, 6, 1)), mysql: None, until: None, adjacent: false, names: &[
        "ADD_MONTHS", "ROWNUM", "SYS_GUID", "TO_CHAR",
    ] },
    Group { mariadb: Some((10, 8, 1)), mysql: None, until: None, adjacent: false, names: &[
        "CRC32C",
    ] },
    Group { mariadb: Some((11, 7, 1)), mysql: None, until: None, adjacent: false, names: &[
        "UUID_V4", "UUID_V7", "VEC_DISTANCE_COSINE", "VEC_DISTANCE_EUCLIDEAN", "VEC_FROMTEXT",
        "VEC_TOTEXT",
    ] },
    Group { mariadb: Some((11, 8, 1)), mysql: None, until: None, adjacent: false, names: &[
        "VEC_DISTANCE",
    ] },
    // MySQL alone.
    Group { mariadb: None, mysql: Some((5, 6, 6)), until: None, adjacent: false, names: &[
        "GTID_SUBSET", "GTID_SUBTRACT", "VALIDATE_PASSWORD_STRENGTH",
    ] },
    Group { mariadb: None, mysql: Some((5, 7, 5)), until: None, adjacent: false, names: &[
        "ANY_VALUE",
    ] },
    Group { mariadb: None, mysql: Some((8, 0, 0)), until: None, adjacent: false, names: &[
        "BIN_TO_UUID", "IS_UUID", "ROLES_GRAPHML", "UUID_TO_BIN",
    ] },
    Group { mariadb: None, mysql: Some((8, 0, 1)), until: None, adjacent: false, names: &[
        "GROUPING",
    ] },
    Group { mariadb: None, mysql: Some((8, 0, 4)), until: None, adjacent: false, names: &[
        "ICU_VERSION", "STATEMENT_DIGEST", "STATEMENT_DIGEST_TEXT",
    ] },
    Group { mariadb: None, mysql: Some((8, 0, 16)), until: None, adjacent: false, names: &[
        "PS_CURRENT_THREAD_ID", "PS_THREAD_ID",
    ] },
    Group { mariadb: None, mysql: Some((9, 0, 0)), until: None, adjacent: false, names: &[
        "FROM_VECTOR", "STRING_TO_VECTOR", "TO_VECTOR", "VECTOR_DIM", "VECTOR_TO_STRING",
    ] },
    Group { mariadb: None, mysql: Some((9, 7, 0)), until: None, adjacent: false, names: &[
        "ETAG",
    ] },
];

/// Spatial functions.
#[rustfmt::skip]
pub(super) const SPATIAL: &[Group] = &[
    // Functions on every server.
    Group { mariadb: Some((0, 0, 0)), mysql: Some((0, 0, 0)), until: None, adjacent: false, names: &[
        "GEOMETRYCOLLECTION", "LINESTRING", "MBRCONTAINS", "MBRDISJOINT", "MBRINTERSECTS",
        "MBROVERLAPS", "MBRTOUCHES", "MBRWITHIN", "MULTILINESTRING", "MULTIPOINT", "MULTIPOLYGON",
        "POINT", "POLYGON", "ST_AREA", "ST_ASBINARY", "ST_ASTEXT", "ST_ASWKB", "ST_ASWKT",
        "ST_BUFFER", "ST_CENTROID", "ST_CONTAINS", "ST_CONVEXHULL", "ST_CROSSES", "ST_DIFFERENCE",
        "ST_DIMENSION", "ST_DISJOINT", "ST_DISTANCE", "ST_ENDPOINT", "ST_ENVELOPE", "ST_EQUALS",
        "ST_EXTERIORRING", "ST_GEOMCOLLFROMTEXT", "ST_GEOMCOLLFROMWKB",
        "ST_GEOMETRYCOLLECTIONFROMTEXT", "ST_GEOMETRYCOLLECTIONFROMWKB", "ST_GEOMETRYFROMTEXT",
        "ST_GEOMETRYFROMWKB", "ST_GEOMETRYN", "ST_GEOMETRYTYPE", "ST_GEOMFROMTEXT",
        "ST_GEOMFROMWKB", "ST_INTERIORRINGN", "ST_INTERSECTION", "ST_INTERSECTS", "ST_ISCLOSED",
        "ST_ISEMPTY", "ST_ISSIMPLE", "ST_LENGTH", "ST_LINEFROMTEXT", "ST_LINEFROMWKB",
        "ST_LINESTRINGFROMTEXT", "ST_LINESTRINGFROMWKB", "ST_NUMGEOMETRIES", "ST_NUMINTERIORRINGS",
        "ST_NUMPOINTS", "ST_OVERLAPS", "ST_POINTFROMTEXT", "ST_POINTFROMWKB", "ST_POINTN",
        "ST_POLYFROMTEXT", "ST_POLYFROMWKB", "ST_POLYGONFROMTEXT", "ST_POLYGONFROMWKB", "ST_SRID",
        "ST_STARTPOINT", "ST_SYMDIFFERENCE", "ST_TOUCHES", "ST_UNION", "ST_WITHIN", "ST_X", "ST_Y",
    ] },
    Group { mariadb: Some((10, 2, 4)), mysql: Some((5, 7, 5)), until: None, adjacent: false, names: &[
        "ST_ASGEOJSON", "ST_GEOMFROMGEOJSON",
    ] },
    Group { mariadb: Some((10, 6, 0)), mysql: Some((5, 7, 6)), until: None, adjacent: false, names: &[
        "ST_DISTANCE_SPHERE",
    ] },
    // Old names, which MySQL 8 dropped.
    Group { mariadb: Some((0, 0, 0)), mysql: None, until: None, adjacent: false, names: &[
        "AREA", "ASBINARY", "ASTEXT", "ASWKB", "ASWKT", "BOUNDARY", "BUFFER", "CENTROID",
        "CONVEXHULL", "CROSSES", "DIMENSION", "DISJOINT", "ENDPOINT", "ENVELOPE", "EQUALS",
        "EXTERIORRING", "GEOMCOLLFROMTEXT", "GEOMCOLLFROMWKB", "GEOMETRYCOLLECTIONFROMTEXT",
        "GEOMETRYCOLLECTIONFROMWKB", "GEOMETRYFROMTEXT", "GEOMETRYFROMWKB", "GEOMETRYN",
        "GEOMETRYTYPE", "GEOMFROMTEXT", "GEOMFROMWKB", "GLENGTH", "INTERIORRINGN", "INTERSECTS",
        "ISCLOSED", "ISEMPTY", "ISRING", "ISSIMPLE", "LINEFROMTEXT", "LINEFROMWKB",
        "LINESTRINGFROMTEXT", "LINESTRINGFROMWKB", "MBREQUAL", "MLINEFROMTEXT", "MLINEFROMWKB",
        "MPOINTFROMTEXT", "MPOINTFROMWKB", "MPOLYFROMTEXT", "MPOLYFROMWKB",
        "MULTILINESTRINGFROMTEXT", "MULTILINESTRINGFROMWKB", "MULTIPOINTFROMTEXT",
        "MULTIPOINTFROMWKB", "MULTIPOLYGONFROMTEXT", "MULTIPOLYGONFROMWKB", "NUMGEOMETRIES",
        "NUMINTERIORRINGS", "NUMPOINTS", "POINTFROMTEXT", "POINTFROMWKB", "POINTN",
        "POINTONSURFACE", "POLYFROMTEXT", "POLYFROMWKB", "POLYGONFROMTEXT", "POLYGONFROMWKB",
        "SRID", "STARTPOINT", "ST_BOUNDARY", "ST_ISRING", "ST_POINTONSURFACE", "ST_RELATE",
        "TOUCHES", "WITHIN", "X", "Y",
    ] },
    Group { mariadb: Some((0, 0, 0)), mysql: Some((5, 7, 6)), until: None, adjacent: false, names: &[
        "ST_MLINEFROMTEXT", "ST_MLINEFROMWKB", "ST_MPOINTFROMTEXT", "ST_MPOINTFROMWKB",
        "ST_MPOLYFROMTEXT", "ST_MPOLYFROMWKB", "ST_MULTILINESTRINGFROMTEXT",
        "ST_MULTILINESTRINGFROMWKB", "ST_MULTIPOINTFROMTEXT", "ST_MULTIPOINTFROMWKB",
        "ST_MULTIPOLYGONFROMTEXT", "ST_MULTIPOLYGONFROMWKB",
    ] },
    // MySQL alone.
    Group { mariadb: None, mysql: Some((5, 7, 6)), until: None, adjacent: false, names: &[
        "MBRCOVEREDBY", "MBRCOVERS", "ST_BUFFER_STRATEGY", "ST_MAKEENVELOPE",
    ] },
    Group { mariadb: Some((10, 11, 0)), mysql: Some((5, 7, 6)), until: None, adjacent: false, names: &[
        "MBREQUALS",
    ] },
    Group { mariadb: None, mysql: Some((8, 0, 11)), until: None, adjacent: false, names: &[
        "GEOMCOLLECTION", "ST_GEOMCOLLFROMTXT", "ST_NUMINTERIORRING",
    ] },
    // Geohashes and validity, late on MariaDB.
    Group { mariadb: Some((12, 1, 0)), mysql: Some((5, 7, 6)), until: None, adjacent: false, names: &[
        "ST_GEOHASH", "ST_ISVALID", "ST_LATFROMGEOHASH", "ST_LONGFROMGEOHASH",
        "ST_POINTFROMGEOHASH", "ST_SIMPLIFY", "ST_VALIDATE",
    ] },
    Group { mariadb: None, mysql: Some((8, 0, 13)), until: None, adjacent: false, names: &[
        "ST_LATITUDE", "ST_LONGITUDE", "ST_SWAPXY", "ST_TRANSFORM",
    ] },
    Group { mariadb: None, mysql: Some((8, 0, 23)), until: None, adjacent: false, names: &[
        "ST_FRECHETDISTANCE", "ST_HAUSDORFFDISTANCE",
    ] },
    Group { mariadb: None, mysql: Some((8, 0, 24)), until: None, adjacent: false, names: &[
        "ST_LINEINTERPOLATEPOINT", "ST_LINEINTERPOLATEPOINTS", "ST_POINTATDISTANCE",
    ] },
    Group { mariadb: Some((12, 1, 0)), mysql: Some((8, 0, 24)), until: None, adjacent: true, names: &[
        "ST_COLLECT",
    ] },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_and_disjoint() {
        let mut seen = std::collections::HashSet::new();
        for group in groups() {
            assert!(group.names.is_sorted(), "{:?}", group.names);
            for name in group.names {
                assert!(seen.insert(*name), "{name} stands twice");
                assert_eq!(*name, name.to_ascii_uppercase());
            }
        }
        assert!(REFUSED.iter().all(|(name, _)| !seen.contains(name)));
    }

    #[test]
    fn versions_decide() {
        let (maria, mysql) = (Dialect::mariadb((10, 11, 0)), Dialect::mysql((8, 0, 36)));
        assert_eq!(status_of("nvl", &maria), FunctionStatus::Harmless("NVL"));
        assert_eq!(status_of("nvl", &mysql), FunctionStatus::NotOnThisServer);
        assert_eq!(
            status_of("format_bytes", &maria),
            FunctionStatus::NotOnThisServer
        );
        assert_eq!(
            status_of("Count", &mysql),
            FunctionStatus::HarmlessWhenAdjacent("COUNT")
        );
        assert_eq!(status_of("md5", &mysql), FunctionStatus::Harmless("MD5"));
        for version in [(9, 6, 0), (9, 7, 4), (10, 0, 0)] {
            let status_of = status_of("md5", &Dialect::mysql(version));
            assert_eq!(status_of, FunctionStatus::Supplied("MD5"));
        }
        assert_eq!(status_of("pay_all", &mysql), FunctionStatus::Unknown);
        assert!(matches!(
            status_of("nextval", &maria),
            FunctionStatus::Refused(_)
        ));
    }
}
