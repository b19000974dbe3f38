//! Limit for the depth of geometries that MariaDB computes.
//!
//! MariaDB 10.11 and 11.8 walk a geometry's bytes by recursion: 5,000 nested collections of 9 bytes each crash the
//! server with all its connections; 2,000 do not. The parsers of texts, such as `ST_GEOMFROMTEXT`, check their own
//! stack. So a statement that calls a spatial function may not build long byte strings that could reach it.

use super::functions::{self, SPATIAL};
use super::lexer::{Token, TokenKind};
use super::verdict::Refusal;
use super::words;

/// Longest literal next to a spatial function, in bytes: 910 collections.
const MAX_LITERAL: usize = 8 << 10;

/// Maximum number of calls that nest collections.
const MAX_COLLECTIONS: usize = 100;

/// Spatial functions of MariaDB that are not in [`SPATIAL`].
const OTHER_SPATIAL: &[&str] = &["CONTAINS", "OVERLAPS"];

/// Functions that put a collection around any geometry.
const COLLECTING: &[&str] = &["GEOMCOLLECTION", "GEOMETRYCOLLECTION", "ST_COLLECT"];

/// Words behind which a name may mean a column of the result.
const BEHIND: &[&str] = &["GROUP", "HAVING", "ORDER", "OVER", "PARTITION", "WINDOW"];

/// Words that begin a table whose values another part of the statement can use.
const SOURCES: &[&str] = &["JSON_TABLE", "SELECT", "TABLE", "VALUES"];

/// Functions, and words that may precede a parenthesis, that neither lengthen a text nor cut off its beginning.
#[rustfmt::skip]
pub(super) const BESIDE: &[&str] = &[
    "ABS", "ACOS", "ADDDATE", "ADDTIME", "AGAINST", "ANY", "ASIN", "ATAN", "ATAN2", "AVG", "BIT", "BIT_AND",
    "BIT_COUNT", "BIT_LENGTH", "BIT_OR", "BIT_XOR", "CAST", "CEIL", "CEILING", "CHARACTER_LENGTH", "CHAR_LENGTH",
    "COALESCE", "COLUMNS", "CONNECTION_ID", "COS", "COT", "COUNT", "CRC32", "CUME_DIST", "CURDATE", "CURRENT_DATE",
    "CURRENT_ROLE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "CURRENT_USER", "CURTIME", "DATABASE", "DATE", "DATEDIFF",
    "DATETIME", "DATE_ADD", "DATE_FORMAT", "DATE_SUB", "DAY", "DAYNAME", "DAYOFMONTH", "DAYOFWEEK", "DAYOFYEAR",
    "DEGREES", "DENSE_RANK", "ELT", "ESCAPE", "EXCEPT", "EXP", "EXTRACT", "FIELD", "FIND_IN_SET", "FIRST_VALUE",
    "FIXED", "FLOOR", "FORMAT", "FOUND_ROWS", "FROM_DAYS", "FROM_UNIXTIME", "GREATEST", "HOUR", "IF", "IFNULL",
    "INSTR", "INTERSECT", "INTERVAL", "ISNULL", "JSON_EXTRACT", "JSON_LENGTH", "JSON_TABLE", "JSON_UNQUOTE",
    "JSON_VALID", "JSON_VALUE", "LAG", "LAST_DAY", "LAST_VALUE", "LCASE", "LEAD", "LEAST", "LENGTH", "LENGTHB", "LN",
    "LOCALTIME", "LOCALTIMESTAMP", "LOCATE", "LOG", "LOG10", "LOG2", "LOWER", "MAKEDATE", "MAKETIME", "MATCH", "MAX",
    "MEDIAN", "MICROSECOND", "MIN", "MINUTE", "MOD", "MONTH", "MONTHNAME", "NOW", "NTH_VALUE", "NTILE", "NULLIF",
    "NVL", "NVL2", "OCTET_LENGTH", "OF", "OFFSET", "OVER", "PERCENT_RANK", "PI", "POSITION", "POW", "POWER",
    "QUARTER", "RADIANS", "RAND", "RANK", "ROLLUP", "ROUND", "ROW", "ROWNUM", "ROW_NUMBER", "SCHEMA", "SECOND",
    "SEC_TO_TIME", "SIGN", "SIGNED", "SIN", "SOME", "SQRT", "STD", "STDDEV", "STDDEV_POP", "STDDEV_SAMP", "STRCMP",
    "STR_TO_DATE", "SUBDATE", "SUBTIME", "SUM", "SYSDATE", "TAN", "TIME", "TIMEDIFF", "TIMESTAMP", "TIMESTAMPADD",
    "TIMESTAMPDIFF", "TIME_FORMAT", "TIME_TO_SEC", "TO_DAYS", "TO_SECONDS", "TRUNCATE", "UCASE", "UNIX_TIMESTAMP",
    "UPPER", "USER", "UTC_DATE", "UTC_TIME", "UTC_TIMESTAMP", "VALUE", "VARIANCE", "VAR_POP", "VAR_SAMP", "VERSION",
    "WEEK", "WEEKDAY", "WEEKOFYEAR", "YEAR", "YEARWEEK",
];

fn is_spatial(name: &str) -> bool {
    let mut groups = SPATIAL.iter();
    groups.any(|group| words::contains(group.names, name)) || words::contains(OTHER_SPATIAL, name)
}

/// True if the function could make a long text, or extract the inside of one.
fn builds(name: &str) -> bool {
    let harmless = words::contains(BESIDE, name) || words::contains(words::RESERVED, name);
    !harmless && functions::groups().any(|group| words::contains(group.names, name))
}

/// A spatial call, or a query within one, whose parenthesis is open.
struct Call {
    /// Number of parentheses around it.
    depth: usize,
    /// True if it reads a text, by a parser that checks the depth.
    reads_text: bool,
}

/// Observations of a statement.
#[derive(Default)]
pub(super) struct Geometry {
    open: Vec<Call>,
    is_spatial: bool,
    /// True after a spatial call in which a name may mean a column of the result.
    is_behind: bool,
    behind: bool,
    sources: usize,
    recursive: bool,
    collections: usize,
    /// Bytes of adjacent literals, which are one text.
    literal: usize,
    after_as: bool,
    /// End of the last `|`; two of them may join texts.
    pipe_end: Option<usize>,
    /// First function that builds a text inside and outside of spatial calls, first too long literal and first
    /// assignment; none of them inside a call that reads a text.
    inside: Option<Found>,
    outside: Option<Found>,
    long: Option<usize>,
    assigned: Option<usize>,
}

type Found = (String, usize);

impl Geometry {
    /// Takes one token, which has `depth` parentheses around it; `opens` if a parenthesis follows.
    pub(super) fn take(&mut self, token: Token, text: &str, depth: usize, opens: bool) {
        let reads_text = self.open.last().is_some_and(|call| call.reads_text);
        let is_literal = matches!(token.kind, TokenKind::Text | TokenKind::Number);
        self.literal = if is_literal { self.literal } else { 0 };
        match token.kind {
            TokenKind::Close => while self.open.pop_if(|call| call.depth >= depth).is_some() {},
            TokenKind::Word => self.word(token, &text.to_ascii_uppercase(), depth, opens),
            TokenKind::Operator if text == ":=" => {
                self.assigned = self.assigned.or(Some(token.start))
            }
            TokenKind::Operator if text == "|" => {
                if self.pipe_end == Some(token.start) {
                    self.build("||", token.start);
                }
                self.pipe_end = Some(token.end);
            }
            TokenKind::Text | TokenKind::Number => {
                self.literal += text.len();
                if self.literal > MAX_LITERAL && !reads_text {
                    self.long = self.long.or(Some(token.start));
                }
            }
            _ => {}
        }
        self.after_as = token.kind == TokenKind::Word && text.eq_ignore_ascii_case("AS");
    }

    fn word(&mut self, token: Token, word: &str, depth: usize, opens: bool) {
        self.behind |= words::contains(BEHIND, word);
        self.recursive |= word == "RECURSIVE";
        if words::contains(SOURCES, word) {
            self.sources += 1;
            if !self.open.is_empty() {
                self.call(depth.saturating_sub(1), false);
            }
        }
        // A type follows AS.
        if !opens || self.after_as {
            return;
        }
        if is_spatial(word) {
            self.is_spatial = true;
            self.is_behind |= self.behind;
            self.collections += usize::from(words::contains(COLLECTING, word));
            self.call(depth, word.ends_with("FROMTEXT"));
        } else if builds(word) {
            self.build(word, token.start);
        }
    }

    fn call(&mut self, depth: usize, reads_text: bool) {
        self.open.push(Call { depth, reads_text });
    }

    /// Takes a call that could make a long text, or extract the inside of one.
    pub(super) fn build(&mut self, name: &str, at: usize) {
        let place = match self.open.last() {
            Some(call) if call.reads_text => return,
            Some(_) => &mut self.inside,
            None => &mut self.outside,
        };
        if place.is_none() {
            *place = Some((name.to_ascii_lowercase(), at));
        }
    }

    /// Returns the fault of the whole statement.
    pub(super) fn fault(self) -> Option<Refusal> {
        if !self.is_spatial {
            return None;
        }
        let flows = self.sources > 1 || self.is_behind;
        let built = self.inside.or(self.outside.filter(|_| flows));
        let too_many = self.collections > MAX_COLLECTIONS || self.recursive && self.collections > 0;
        let fault = |reason: &str, offset| Refusal {
            statement: "geometry".into(),
            reason: reason.into(),
            offset,
        };
        if let Some((name, offset)) = built {
            let reason = format!(
                "{name} next to a spatial function could build a geometry so deep that a MariaDB server crashes; \
                 build the text inside ST_GeomFromText, or in a separate statement"
            );
            return Some(fault(&reason, offset));
        }
        if let Some(offset) = self.assigned {
            return Some(fault(ASSIGNED, offset));
        }
        if let Some(offset) = self.long {
            return Some(fault(LONG, offset));
        }
        too_many.then(|| fault(COLLECTIONS, 0))
    }
}

const ASSIGNED: &str =
    "a variable next to a spatial function could crash a MariaDB server; write the value itself";
const LONG: &str = "a literal of more than 8 KiB could be a geometry so deep that a MariaDB server crashes; write it as text in ST_GeomFromText";
const COLLECTIONS: &str = "so many nested collections could crash a MariaDB server; write them as text in ST_GeomFromText";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_long_literal_stands_beside_a_spatial_function() {
        let mariadb = super::super::Dialect::mariadb((10, 11, 0));
        let passes = |sql: &str| super::super::check(sql, &mariadb).is_ok();
        let (long, half) = ("01".repeat(4_200), "01".repeat(2_100));
        for literal in [
            format!("X'{long}'"),
            format!("0x{long}"),
            format!("'{long}'"),
            format!("'{half}' /* one */ '{half}'"),
        ] {
            assert!(!passes(&format!("SELECT ST_AREA({literal})")));
            assert!(!passes(&format!("SELECT ST_AREA(g), {literal} FROM t")));
            assert!(passes(&format!("SELECT ST_GeomFromText({literal})")));
            assert!(passes(&format!("SELECT {literal}")));
        }
        assert!(passes(&format!("SELECT ST_AREA(X'{half}'), X'{half}'")));
    }

    #[test]
    fn lists_are_sorted() {
        for list in [OTHER_SPATIAL, COLLECTING, BEHIND, SOURCES, BESIDE] {
            assert!(list.is_sorted(), "{list:?}");
        }
        let known = |name: &&str| functions::groups().any(|group| group.names.contains(name));
        assert!(BESIDE.iter().all(known), "a name is misspelt");
    }
}
