//! Walks over one statement token by token, and refuses what no statement may contain: executable comments,
//! placeholders, and too many columns, levels or sums for a server.

use super::dialect::Dialect;
use super::geometry::Geometry;
use super::lexer::{Lexer, Token, TokenKind};
use super::verdict::{CalledFunctions, Refusal};
use super::{calls, words};

/// Longest piece of a statement in an error, in characters: enough to find it.
const EXCERPT: usize = 40;

/// Maximum number of columns of one `SELECT`, and of other commas behind it: tables, groups, orders.
const MAX_COLUMNS: usize = 4_096;

/// Maximum number of nested levels.
const MAX_LEVELS: usize = 250;

/// Deepest expression, in operators.
const MAX_DEPTH: usize = 1_000;

/// Maximum number of expressions of one `ROLLUP`, and of sets of one `GROUPING SETS`.
const MAX_EXPRESSIONS: usize = 64;

/// Maximum number of expressions of one `CUBE`, each of which doubles the sums.
const MAX_CUBE: usize = 10;

pub(super) fn refusal(statement: &str, reason: &str, offset: usize) -> Refusal {
    Refusal {
        statement: statement.into(),
        reason: reason.into(),
        offset,
    }
}

/// Walk over one statement, which remembers the previous token.
pub(super) struct Walk<'a> {
    pub(super) lexer: Lexer<'a>,
    pub(super) dialect: &'a Dialect,
    pub(super) previous: Option<Token>,
    pub(super) depth: usize,
    nesting: Nesting,
    pub(super) geometry: Geometry,
    rollups: Rollups,
    select_lists: SelectLists,
    /// True if only options of `SELECT` are between that word and here.
    pub(super) select_options: bool,
    /// True if only names and commas are between `MATCH` and here.
    pub(super) match_list: bool,
    /// Number of parentheses around each call whose second argument must be a short path.
    pub(super) paths: Vec<usize>,
    /// Each `JSON_TABLE` whose parenthesis is open.
    pub(super) json_tables: Vec<JsonTable>,
    /// Each call whose number of arguments matters and whose parenthesis is open.
    pub(super) counted: Vec<CountedCall>,
    /// Place of the name behind `sys` and a dot.
    pub(super) in_sys: Option<usize>,
    pub(super) calls: CalledFunctions,
    /// See [`super::verdict::ReadOnlyStatement::rebuilt`].
    pub(super) rebuilt: Option<String>,
    pub(super) end: usize,
}

/// A call that is harmless only with a certain number of arguments.
pub(super) struct CountedCall {
    /// Place of its name.
    pub(super) start: usize,
    /// Number of parentheses around it.
    pub(super) depth: usize,
    /// Number of commas between its arguments so far.
    pub(super) commas: usize,
    /// Required number of commas.
    pub(super) wanted: usize,
    pub(super) refusal: fn(usize) -> Refusal,
}

/// A `JSON_TABLE (`, nested at most as [`Nesting`] allows.
pub(super) struct JsonTable {
    /// Place of the word.
    pub(super) start: usize,
    /// Number of parentheses around it.
    pub(super) depth: usize,
    /// True if its `COLUMNS` has come.
    pub(super) has_columns: bool,
}

impl<'a> Walk<'a> {
    pub(super) fn new(sql: &'a str, dialect: &'a Dialect) -> Self {
        Self {
            lexer: Lexer::new(sql, dialect),
            dialect,
            previous: None,
            depth: 0,
            nesting: Nesting::new(),
            geometry: Geometry::default(),
            rollups: Rollups::default(),
            select_lists: SelectLists::default(),
            select_options: false,
            match_list: false,
            paths: Vec::new(),
            json_tables: Vec::new(),
            counted: Vec::new(),
            in_sys: None,
            calls: CalledFunctions::default(),
            rebuilt: None,
            end: sql.len(),
        }
    }

    /// Takes the next token; refuses one that no statement may contain.
    pub(super) fn next(&mut self) -> Result<Option<Token>, Refusal> {
        let Some(token) = self.lexer.next() else {
            return Ok(None);
        };
        match token.kind {
            TokenKind::Bad(fault) => {
                return Err(refusal(fault.statement(), fault.reason(), token.start));
            }
            TokenKind::ExecutableOpen => return Err(executable(token.start)),
            TokenKind::Colon => return Err(placeholder(token.start)),
            TokenKind::Open => self.depth += 1,
            TokenKind::Close => self.close()?,
            TokenKind::Comma => self.comma(token)?,
            _ => {}
        }
        let opens = token.kind == TokenKind::Word
            && (self.lexer.peek()).is_some_and(|next| next.kind == TokenKind::Open);
        let text = self.lexer.text(token);
        if !self.rollups.take(token, text, self.depth, opens) {
            let reason = "more than 64 expressions take hours, and the server cannot interrupt it; group by fewer";
            return Err(refusal("ROLLUP", reason, token.start));
        }
        if !self.select_lists.take(token, text, self.depth) {
            let reason =
                "a server accepts 4,096 at most, and needs much memory to refuse more; name fewer";
            return Err(refusal("columns", reason, token.start));
        }
        if self.dialect.mariadb {
            self.geometry.take(token, text, self.depth, opens);
        }
        if !self.nesting.take(token, text) {
            let reason =
                "an expression this deep can crash the server; use fewer parentheses or operators";
            return Err(refusal("nesting", reason, token.start));
        }
        Ok(Some(token))
    }

    fn close(&mut self) -> Result<(), Refusal> {
        self.depth = self.depth.saturating_sub(1);
        self.paths.pop_if(|depth| *depth >= self.depth);
        let counted = self.counted.pop_if(|call| call.depth >= self.depth);
        if let Some(call) = counted.filter(|call| call.commas != call.wanted) {
            return Err((call.refusal)(call.start));
        }
        match self.json_tables.pop_if(|table| table.depth >= self.depth) {
            Some(table) if !table.has_columns => Err(no_json_table(&table)),
            _ => Ok(()),
        }
    }

    /// Counts arguments; checks the path behind the first comma of a call that needs one.
    fn comma(&mut self, comma: Token) -> Result<(), Refusal> {
        if let Some(call) = self.counted.last_mut() {
            call.commas += usize::from(call.depth + 1 == self.depth);
        }
        let is_path = self
            .paths
            .pop_if(|depth| *depth + 1 == self.depth)
            .is_some();
        if is_path && !calls::is_short_path(&self.lexer) {
            let reason = "a crafted path crashes a MariaDB server; write it as one text, at most 1,000 bytes long";
            return Err(refusal("XPath", reason, comma.end));
        }
        Ok(())
    }

    /// Refuses an unended call that is harmless only with certain arguments.
    pub(super) fn nothing_left_open(&self) -> Result<(), Refusal> {
        if let Some(call) = self.counted.first() {
            return Err((call.refusal)(call.start));
        }
        let bare = self.json_tables.iter().find(|table| !table.has_columns);
        bare.map_or(Ok(()), |table| Err(no_json_table(table)))
    }

    pub(super) fn is(&self, token: Option<Token>, word: &str) -> bool {
        token.is_some_and(|t| {
            t.kind == TokenKind::Word && self.lexer.text(t).eq_ignore_ascii_case(word)
        })
    }

    pub(super) fn is_any(&self, token: Option<Token>, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(token, word))
    }

    /// Takes the next token if it is that word.
    pub(super) fn take(&mut self, word: &str) -> Result<bool, Refusal> {
        let found = self.is(self.lexer.peek(), word);
        if found {
            self.previous = self.next()?;
        }
        Ok(found)
    }

    /// Checks that the statement is complete: only semicolons may follow.
    pub(super) fn complete(&mut self) -> Result<(), Refusal> {
        match self.next()? {
            Some(token) if token.kind != TokenKind::Semicolon => {
                let what = excerpt(self.lexer.text(token));
                Err(refusal(
                    &what,
                    "the statement should have ended before this",
                    token.start,
                ))
            }
            _ => self.nothing_more(),
        }
    }

    /// Checks that only semicolons follow the one that ended the statement.
    pub(super) fn nothing_more(&mut self) -> Result<(), Refusal> {
        while let Some(token) = self.next()? {
            if token.kind != TokenKind::Semicolon {
                let reason = "one statement at a time; send them one by one";
                return Err(refusal("several statements", reason, token.start));
            }
        }
        Ok(())
    }
}

fn no_json_table(table: &JsonTable) -> Refusal {
    let reason = "without COLUMNS it may be a stored function, which may write";
    refusal("function json_table", reason, table.start)
}

fn executable(offset: usize) -> Refusal {
    let reason = "the server's version decides whether it runs; write it out or remove it";
    refusal("executable comment", reason, offset)
}

fn placeholder(offset: usize) -> Refusal {
    let reason = "placeholders are not supported here, and labels start compound statements";
    refusal("placeholder", reason, offset)
}

pub(super) fn excerpt(text: &str) -> String {
    let mut shown: String = text.chars().take(EXCERPT).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

/// Columns of the open `SELECT`s, at most one per level. Servers accept at most 4,096, but refuse more only after
/// building them all, with some hundred bytes of memory each.
#[derive(Default)]
struct SelectLists {
    lists: Vec<SelectList>,
    /// True behind a dot, where any word is a name.
    after_dot: bool,
}

struct SelectList {
    /// Number of parentheses around it.
    depth: usize,
    commas: usize,
}

impl SelectLists {
    /// Takes one token, which has `depth` parentheses around it; returns false if there are too many columns.
    fn take(&mut self, token: Token, text: &str, depth: usize) -> bool {
        let after_dot = std::mem::replace(&mut self.after_dot, token.kind == TokenKind::Dot);
        match token.kind {
            TokenKind::Close => while self.lists.pop_if(|list| list.depth > depth).is_some() {},
            TokenKind::Word if after_dot => {}
            TokenKind::Word if text.eq_ignore_ascii_case("SELECT") => {
                self.lists.pop_if(|list| list.depth == depth);
                self.lists.push(SelectList { depth, commas: 0 });
            }
            // Rows may follow.
            TokenKind::Word if text.eq_ignore_ascii_case("UNION") => {
                self.lists.pop_if(|list| list.depth == depth);
            }
            TokenKind::Comma => {
                if let Some(list) = self.lists.last_mut().filter(|list| list.depth == depth) {
                    list.commas += 1;
                    return list.commas < MAX_COLUMNS;
                }
            }
            _ => {}
        }
        true
    }
}

/// Depth of the open levels for the server's parser and resolver.
///
/// MariaDB 10.11 and 11.8 crash with a stack overflow, with all connections, at 4,500 nested rows and at 3,600
/// operators in a row in `ORDER BY`; other things they mostly refuse between 300 and 1,000. MySQL 9.7 refuses all of
/// it.
///
/// A level is one pair of parentheses, or `CASE` and `END`. The depth of `a + b + c` is its number of operators, that
/// of `(a + b) + c` is that of the deepest operand plus the operators after it. Lists, and operands of `AND` and `OR`,
/// are flat for the servers.
struct Nesting {
    levels: Vec<Level>,
    level: Level,
}

#[derive(Default)]
struct Level {
    is_case: bool,
    /// True after a `BETWEEN` whose `AND` has not come.
    between: bool,
    /// Depth of the current operand of `AND` or `OR`.
    depth: usize,
    /// Number of operators that bind less than `AND` or `OR`.
    loose: usize,
    /// Depth of the deepest expression so far.
    deepest: usize,
}

impl Level {
    fn end_operand(&mut self) {
        self.deepest = self.deepest.max(self.depth);
        self.depth = 0;
    }

    fn end_expression(&mut self) {
        self.depth += self.loose;
        self.end_operand();
        self.loose = 0;
        self.between = false;
    }
}

impl Nesting {
    fn new() -> Self {
        Self {
            levels: Vec::new(),
            level: Level::default(),
        }
    }

    /// Takes one token; returns false if it is too deep.
    fn take(&mut self, token: Token, text: &str) -> bool {
        match token.kind {
            TokenKind::Open => self.open(false),
            TokenKind::Close => {
                while self.level.is_case {
                    self.close();
                }
                self.close();
            }
            TokenKind::Comma => self.level.end_expression(),
            TokenKind::Operator if text == ":=" => self.level.loose += 1,
            TokenKind::Operator => self.level.depth += 1,
            TokenKind::Word => self.word(&text.to_ascii_uppercase()),
            _ => {}
        }
        self.levels.len() <= MAX_LEVELS && self.level.depth + self.level.loose <= MAX_DEPTH
    }

    fn word(&mut self, word: &str) {
        match word {
            "CASE" => self.open(true),
            "END" if self.level.is_case => self.close(),
            "WHEN" | "THEN" | "ELSE" if self.level.is_case => self.level.end_expression(),
            "AND" if self.level.between => self.level.between = false,
            "AND" | "OR" => self.level.end_operand(),
            "XOR" => self.level.loose += 1,
            "BETWEEN" => {
                self.level.between = true;
                self.level.depth += 1;
            }
            _ if words::contains(words::OPERATORS, word) => self.level.depth += 1,
            _ if words::contains(words::CLAUSES, word) => self.level.end_expression(),
            _ => {}
        }
    }

    fn open(&mut self, is_case: bool) {
        let level = Level {
            is_case,
            ..Level::default()
        };
        self.levels.push(std::mem::replace(&mut self.level, level));
    }

    /// Closes the level, which becomes an operand of the one around it.
    fn close(&mut self) {
        self.level.end_expression();
        let inner = self.level.deepest;
        // One parenthesis too many closes the statement's own level; servers refuse such a text.
        self.level = self.levels.pop().unwrap_or_default();
        self.level.depth = self.level.depth.max(inner + 1);
    }
}

/// A `GROUP BY` whose list may continue.
struct OpenGroupBy {
    /// Number of parentheses around its list.
    depth: usize,
    commas: usize,
    /// Maximum number of expressions, behind `GROUP BY ROLLUP (`, `CUBE (` or `GROUPING SETS (`.
    most: usize,
}

/// Lists of the open `GROUP BY`s, at most one per level. For `WITH ROLLUP` and similar ones servers compute sums over
/// some hundred expressions for minutes, and cannot be interrupted.
#[derive(Default)]
struct Rollups(Vec<OpenGroupBy>);

impl Rollups {
    /// Takes one token, which has `depth` parentheses around it; `opens` if a parenthesis follows. Returns false if
    /// there are too many expressions.
    fn take(&mut self, token: Token, text: &str, depth: usize, opens: bool) -> bool {
        let is = |word: &str| token.kind == TokenKind::Word && text.eq_ignore_ascii_case(word);
        if is("GROUP") {
            self.0.pop_if(|group| group.depth == depth);
            self.0.push(OpenGroupBy {
                depth,
                commas: 0,
                most: usize::MAX,
            });
        }
        while token.kind == TokenKind::Close && self.0.pop_if(|group| group.depth > depth).is_some()
        {
        }
        let Some(group) = self.0.last_mut().filter(|group| group.depth == depth) else {
            return true;
        };
        group.commas += usize::from(token.kind == TokenKind::Comma);
        let is_list = opens && (is("ROLLUP") || is("CUBE") || is("SETS"));
        let most = if is("ROLLUP") {
            MAX_EXPRESSIONS
        } else {
            group.most
        };
        let fits = group.commas < most;
        if is_list {
            *group = OpenGroupBy {
                depth: depth + 1,
                commas: 0,
                most: if is("CUBE") {
                    MAX_CUBE
                } else {
                    MAX_EXPRESSIONS
                },
            };
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::MAX_COLUMNS;
    use crate::sqlweb::gate::{Dialect, check};

    #[test]
    fn no_more_columns_pass_than_a_server_takes_and_other_lists_may_be_longer() {
        let (fit, over) = (",1".repeat(MAX_COLUMNS - 1), ",1".repeat(MAX_COLUMNS));
        for dialect in [Dialect::mariadb((10, 11, 0)), Dialect::mysql((9, 7, 4))] {
            for (sql, passes) in [
                (format!("SELECT 1{fit}"), true),
                (format!("SELECT 1{over}"), false),
                (format!("SELECT 1{fit} UNION ALL SELECT 1{fit}"), true),
                (format!("SELECT 1{fit} UNION ALL SELECT 1{over}"), false),
                (format!("SELECT * FROM (SELECT 1{over}) t"), false),
                (format!("SELECT (SELECT 1){fit}"), true),
                (format!("SELECT (SELECT 1){over}"), false),
                (format!("WITH t AS (SELECT 1) SELECT 1{over}"), false),
                (format!("EXPLAIN SELECT 1{over}"), false),
                (format!("SELECT 1{fit}, t.select, 1"), false),
                (format!("SELECT 1{fit}, t.union, 1"), false),
                (format!("SELECT 1 FROM t WHERE a IN (1{over})"), true),
            ] {
                let refusal = check(&sql, &dialect).err();
                let told = refusal.map(|refusal| refusal.statement);
                let beginning = sql.split_at(30).0;
                assert_eq!(
                    told.as_deref(),
                    (!passes).then_some("columns"),
                    "{beginning}"
                );
            }
        }
    }
}
