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
    /// Rebuilt text of a statement that servers cannot prepare; see [`super::unprepared`].
    pub rebuilt: Option<String>,
}

/// The functions that a statement calls, each once. Layer 3 asks the server about each of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CalledFunctions {
    /// Built-in functions of the lists here, and keywords before a parenthesis that a server could take for a
    /// function's name, in upper case. A user may have created a function of such a name.
    pub built_in: BTreeSet<&'static str>,
    /// Functions that only a component of the server supplies, in upper case.
    pub supplied: BTreeSet<&'static str>,
    /// Functions of the `sys` schema, in lower case; they are harmless unless somebody has replaced them.
    pub sys: BTreeSet<&'static str>,
    /// Database in which names are looked up, if it is not the current one (`EXPLAIN FOR SCHEMA`).
    pub database: Option<String>,
}

impl CalledFunctions {
    /// True if there is no function that the server must be asked about.
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
    /// `EXPLAIN FOR CONNECTION n`, `SHOW EXPLAIN FOR n`, `SHOW ANALYZE FOR n`: the plan of a running statement, with
    /// the values that it compares. No server checks privileges on its tables.
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
    /// Reason, and advice if there is any.
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

/// Refuses a statement at which the gate panicked, since its effect is unknown.
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
