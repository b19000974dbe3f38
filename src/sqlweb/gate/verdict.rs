//! Verdict of the gate on a statement.

use std::collections::BTreeSet;
use std::fmt;

use crate::sqlweb::catch_panic::Panicked;

/// A statement that only reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOnlyStatement {
    /// Kind of the statement.
    pub kind: StatementKind,
    /// Functions that it calls.
    pub calls: CalledFunctions,
    /// For a statement without a free part, which servers cannot prepare: its text, made anew from what was read.
    pub rebuilt: Option<String>,
}

/// The functions that a statement calls, each once. Layer 3 asks the server about each of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CalledFunctions {
    /// In upper case: built-in functions by the lists here, and keywords before a parenthesis that a server could take
    /// for a function's name. Somebody may have made a function of such a name.
    pub built_in: BTreeSet<&'static str>,
    /// In upper case: functions that are there only while a component of the server supplies them.
    pub supplied: BTreeSet<&'static str>,
    /// In lower case: functions of the `sys` schema, which are harmless as long as nobody has replaced them.
    pub sys: BTreeSet<&'static str>,
    /// The database that names are looked up in, where it is not the current one (`EXPLAIN FOR SCHEMA`).
    pub database: Option<String>,
}

impl CalledFunctions {
    /// True if it calls nothing that the server must be asked about.
    pub fn is_empty(&self) -> bool {
        self.built_in.is_empty() && self.supplied.is_empty() && self.sys.is_empty()
    }

    /// Every unqualified name.
    pub fn unqualified(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.built_in.iter().chain(&self.supplied).copied()
    }
}

/// The kinds of statement that can pass.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StatementKind {
    /// `SELECT …`, also in parentheses and with `UNION`.
    Select,
    /// `WITH … SELECT`, `WITH … VALUES`, `WITH … TABLE`.
    With,
    /// `VALUES (…)`.
    Values,
    /// `TABLE t`.
    Table,
    /// `SHOW …`.
    Show,
    /// `DESCRIBE t` or `EXPLAIN t`.
    Describe,
    /// `EXPLAIN SELECT …`.
    Explain,
    /// `EXPLAIN FOR CONNECTION n`, `SHOW EXPLAIN FOR n`, `SHOW ANALYZE FOR n`: the plan of a running statement, with the
    /// values that it compares. No server checks privileges on its tables.
    PlanOfOther,
    /// `EXPLAIN ANALYZE SELECT …` (MySQL), `ANALYZE SELECT …` (MariaDB): it runs the query.
    Analyze,
    /// `USE db`, with the database's name, unquoted.
    Use(String),
    /// `HELP 'topic'`.
    Help,
}

impl StatementKind {
    /// The word the statement starts with.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Select => "SELECT",
            Self::With => "WITH",
            Self::Values => "VALUES",
            Self::Table => "TABLE",
            Self::Show => "SHOW",
            Self::Describe => "DESCRIBE",
            Self::Explain | Self::PlanOfOther => "EXPLAIN",
            Self::Analyze => "ANALYZE",
            Self::Use(_) => "USE",
            Self::Help => "HELP",
        }
    }
}

/// Reason that a statement was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Refused part: `DELETE`, `SELECT … INTO`, `function load_file`.
    pub statement: String,
    /// Why, and where there is something, what to try.
    pub reason: String,
    /// Byte offset into the text.
    pub offset: usize,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.statement, self.reason)
    }
}

impl std::error::Error for Refusal {}

/// The gate met what it takes for impossible, so it does not know what the statement does.
impl From<Panicked> for Refusal {
    fn from(_: Panicked) -> Self {
        Self {
            statement: "statement".into(),
            reason: "the gate failed to check it, so its effect is unknown; please report this"
                .into(),
            offset: 0,
        }
    }
}
