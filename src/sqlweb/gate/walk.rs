//! One statement, walked over token by token: what no statement may hold is refused here.

use super::calls;
use super::dialect::Dialect;
use super::geometry::Geometry;
use super::lexer::{Lexer, Token, TokenKind};
use super::nesting::Nesting;
use super::rollup::Rollups;
use super::select_list::SelectLists;
use super::verdict::{CalledFunctions, Refusal};

/// Longest piece of a statement that an error names, in characters: enough to find it again.
const EXCERPT: usize = 40;

pub(super) fn refusal(statement: &str, reason: &str, offset: usize) -> Refusal {
    Refusal {
        statement: statement.into(),
        reason: reason.into(),
        offset,
    }
}

/// Walks over one statement with one token behind it.
pub(super) struct Walk<'a> {
    pub(super) lexer: Lexer<'a>,
    pub(super) dialect: &'a Dialect,
    pub(super) previous: Option<Token>,
    pub(super) depth: usize,
    nesting: Nesting,
    pub(super) geometry: Geometry,
    rollups: Rollups,
    select_lists: SelectLists,
    /// True if only options of `SELECT` stand between that word and here.
    pub(super) select_options: bool,
    /// True if only names and commas stand between `MATCH` and here.
    pub(super) match_list: bool,
    /// Parentheses around each call whose second argument must be a short path.
    pub(super) paths: Vec<usize>,
    /// Each `JSON_TABLE` whose parenthesis is open.
    pub(super) json_tables: Vec<JsonTable>,
    /// Each call whose number of arguments matters and whose parenthesis is open.
    pub(super) counted: Vec<CountedCall>,
    /// Where the name of a function of `sys` stands, behind that word and a dot.
    pub(super) in_sys: Option<usize>,
    pub(super) calls: CalledFunctions,
    /// See [`super::verdict::ReadOnlyStatement::rebuilt`].
    pub(super) rebuilt: Option<String>,
    pub(super) end: usize,
}

/// A call that is harmless with so many arguments only.
pub(super) struct CountedCall {
    /// Where the name stands.
    pub(super) start: usize,
    /// Parentheses around it.
    pub(super) depth: usize,
    /// Commas that have come between its arguments.
    pub(super) commas: usize,
    /// Commas that there must be.
    pub(super) wanted: usize,
    pub(super) refusal: fn(usize) -> Refusal,
}

/// A `JSON_TABLE (`, as many within each other as [`Nesting`] allows.
pub(super) struct JsonTable {
    /// Where the word stands.
    pub(super) start: usize,
    /// Parentheses around it.
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

    /// Takes the next token; refuses what no statement may hold.
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

    /// Counts arguments; behind the first comma of a call that takes a path, that must follow.
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

    /// A call whose end has not come is not known to be harmless.
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

    /// Takes the next token when it is that word.
    pub(super) fn take(&mut self, word: &str) -> Result<bool, Refusal> {
        let found = self.is(self.lexer.peek(), word);
        if found {
            self.previous = self.next()?;
        }
        Ok(found)
    }

    /// The statement is complete: a semicolon may follow, and nothing behind it.
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

    /// Nothing but semicolons may follow the one that ends the statement.
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
