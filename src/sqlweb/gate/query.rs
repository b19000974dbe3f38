//! Checks queries, and the rest of `SHOW`, word by word.

use super::calls::{self, Called, JSON_TABLE, Preceding};
use super::lexer::{Token, TokenKind};
use super::verdict::{Refusal, StatementKind};
use super::walk::{CountedCall, JsonTable, Walk, excerpt, refusal};
use super::words::{self, DENIED, SELECT_OPTIONS, unquoted};

impl Walk<'_> {
    /// Scans the rest of a query, or of `SHOW`, word by word.
    pub(super) fn query(&mut self, kind: StatementKind) -> Result<StatementKind, Refusal> {
        while let Some(token) = self.next()? {
            if token.kind == TokenKind::Semicolon {
                self.nothing_more()?;
                break;
            }
            self.part(token, kind.name())?;
            self.pass(token);
        }
        Ok(kind)
    }

    /// Makes `token` the previous one.
    pub(super) fn pass(&mut self, token: Token) {
        let is_option = token.kind == TokenKind::Word
            && words::contains(SELECT_OPTIONS, self.lexer.text(token));
        self.select_options = self.is(Some(token), "SELECT") || self.select_options && is_option;
        let is_listed = matches!(
            token.kind,
            TokenKind::Word
                | TokenKind::Name
                | TokenKind::Quoted
                | TokenKind::Dot
                | TokenKind::Comma
        );
        self.match_list = self.is(Some(token), "MATCH") || self.match_list && is_listed;
        self.previous = Some(token);
    }

    /// Scans `WITH`: a query must follow the common table expressions, since MySQL also accepts `WITH … DELETE`.
    pub(super) fn with(&mut self, kind: StatementKind) -> Result<StatementKind, Refusal> {
        let outer = self.depth;
        while let Some(token) = self.next()? {
            if token.kind == TokenKind::Semicolon {
                break;
            }
            self.part(token, kind.name())?;
            let here = self.depth == outer;
            if here && self.is_any(Some(token), &["SELECT", "VALUES", "TABLE"]) {
                return self.query_after(token, kind);
            }
            if token.kind == TokenKind::Open && self.depth == outer + 1 && self.main_query_opens() {
                return self.query_after(token, kind);
            }
            self.pass(token);
        }
        Err(refusal(
            "WITH",
            "no SELECT follows the common table expressions",
            self.end,
        ))
    }

    fn query_after(&mut self, token: Token, kind: StatementKind) -> Result<StatementKind, Refusal> {
        self.pass(token);
        self.query(kind)
    }

    /// True at `) (`, where a main query in parentheses begins.
    fn main_query_opens(&self) -> bool {
        self.previous
            .is_some_and(|token| token.kind == TokenKind::Close)
    }

    /// Checks one token of a query.
    pub(super) fn part(&mut self, token: Token, statement: &str) -> Result<(), Refusal> {
        if token.kind == TokenKind::Word {
            self.keyword(token, statement)?;
        }
        if !matches!(
            token.kind,
            TokenKind::Word | TokenKind::Name | TokenKind::Quoted
        ) {
            return Ok(());
        }
        self.table(token)?;
        self.sys(token);
        let before = Preceding {
            token: self.previous,
            select_options: self.select_options,
            match_list: self.match_list,
            in_sys: self.in_sys == Some(token.start),
        };
        match calls::check(&self.lexer, token, before, self.dialect)? {
            Some(Called::BuiltIn(name)) => self.call(token, name),
            Some(Called::Supplied(name)) => drop(self.calls.supplied.insert(name)),
            Some(Called::Sys(function)) => {
                self.calls.sys.insert(function.name);
                self.count(
                    token,
                    function.parameters.saturating_sub(1),
                    calls::sys_arguments,
                );
                if self.dialect.mariadb {
                    self.geometry.build(function.name, token.start);
                }
            }
            None => {}
        }
        Ok(())
    }

    /// Notes the name behind `sys` and a dot. A longer name is a function of a user's package (MariaDB). With
    /// case-sensitive names of databases, only the lower-case one is the server's own.
    fn sys(&mut self, token: Token) {
        let is_qualified = self.previous.is_some_and(|p| p.kind == TokenKind::Dot);
        if is_qualified || unquoted(self.lexer.text(token)) != "sys" {
            return;
        }
        let mut ahead = self.lexer.clone();
        if ahead.next().is_some_and(|dot| dot.kind == TokenKind::Dot) {
            self.in_sys = ahead.next().map(|name| name.start);
        }
    }

    fn count(&mut self, token: Token, wanted: usize, refusal: fn(usize) -> Refusal) {
        self.counted.push(CountedCall {
            start: token.start,
            depth: self.depth,
            commas: 0,
            wanted,
            refusal,
        });
    }

    /// Checks a name that may be a table's.
    fn table(&self, token: Token) -> Result<(), Refusal> {
        let name = unquoted(self.lexer.text(token));
        if words::resets(&name) {
            return Err(refusal(
                &format!("table {}", excerpt(&name).to_ascii_lowercase()),
                "reading it resets counters of the whole server; read the one without RESET in its name",
                token.start,
            ));
        }
        Ok(())
    }

    fn call(&mut self, token: Token, name: &'static str) {
        if name == JSON_TABLE {
            self.json_tables.push(JsonTable {
                start: token.start,
                depth: self.depth,
                has_columns: false,
            });
        }
        if self.dialect.mariadb && calls::XPATH.contains(&name) {
            self.paths.push(self.depth);
        }
        if self.dialect.mariadb && name == calls::POINT {
            self.count(token, 1, calls::point_arguments);
        }
        if name == "COLUMNS" {
            let inner = self.json_tables.last_mut();
            if let Some(table) = inner.filter(|table| table.depth + 1 == self.depth) {
                table.has_columns = true;
            }
        }
        self.calls.built_in.insert(name);
    }

    fn keyword(&self, token: Token, statement: &str) -> Result<(), Refusal> {
        let word = self.lexer.text(token);
        let refuse = |what: &str, reason: &str| {
            Err(refusal(
                &format!("{statement} … {what}"),
                reason,
                token.start,
            ))
        };
        if words::contains(DENIED, word) && !self.is_function(token) {
            let what = self.denied_name(word);
            return refuse(&what, denied_reason(&what));
        }
        if self.is(Some(token), "SHARE") && self.is(self.previous, "FOR") {
            return refuse("FOR SHARE", "it locks rows; remove it");
        }
        if self.is(Some(token), "SET") && !self.is_any(self.previous, &["CHARACTER", "CHAR"]) {
            return refuse(
                "SET",
                "a query may not set anything; write the value itself",
            );
        }
        if self.is(Some(token), "VALUE") && self.is_any(self.previous, &["NEXT", "PREVIOUS"]) {
            return self.sequence_value(statement, token);
        }
        Ok(())
    }

    /// True for `INSERT(` and `REPLACE(`, which are string functions.
    fn is_function(&self, token: Token) -> bool {
        self.is_any(Some(token), &["INSERT", "REPLACE"])
            && self
                .lexer
                .peek()
                .is_some_and(|next| next.kind == TokenKind::Open)
    }

    fn denied_name(&self, word: &str) -> String {
        let word = word.to_ascii_uppercase();
        match word.as_str() {
            "UPDATE" if self.is(self.previous, "FOR") => "FOR UPDATE".into(),
            "LOCK" if self.is(self.lexer.peek(), "IN") => "LOCK IN SHARE MODE".into(),
            _ => word,
        }
    }

    /// Refuses `NEXT VALUE FOR s`; a column `next` with the alias `value` passes.
    fn sequence_value(&self, statement: &str, token: Token) -> Result<(), Refusal> {
        if !self.is(self.lexer.peek(), "FOR") {
            return Ok(());
        }
        let which = self
            .previous
            .map_or("NEXT", |previous| self.lexer.text(previous));
        let what = format!("{statement} … {} VALUE FOR", which.to_ascii_uppercase());
        Err(refusal(
            &what,
            "it reads or moves a sequence; SELECT * FROM the sequence shows its state",
            token.start,
        ))
    }
}

fn denied_reason(what: &str) -> &'static str {
    match what {
        "INTO" => "it writes to a file or a variable; a column of that name needs backquotes",
        "FOR UPDATE" | "LOCK" | "LOCK IN SHARE MODE" => "it locks rows; remove it",
        "PROCEDURE" => "it runs a procedure over the result; remove it",
        _ => "this word is not allowed in a query; a column of that name needs backquotes",
    }
}
