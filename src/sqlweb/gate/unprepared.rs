//! Statements that servers cannot prepare (errno 1295): `HELP`, `SHOW WARNINGS` and similar ones, `EXPLAIN FOR
//! CONNECTION`, `SELECT @@warning_count`.
//!
//! Preparing refuses a second statement in the same text. None of these statements has a free part, so the text to send
//! is rebuilt here, from keywords, numbers, and one topic without special characters.

use super::lexer::{Token, TokenKind};
use super::verdict::{Refusal, StatementKind};
use super::walk::{Walk, refusal};
use super::words::unquoted;

/// Formats of `EXPLAIN FORMAT=` before `FOR CONNECTION`.
const FORMATS: &[&str] = &["JSON", "TRADITIONAL", "TREE"];

/// Variables about the previous statement.
const COUNTS: &[&str] = &[
    "@@error_count",
    "@@local.error_count",
    "@@local.warning_count",
    "@@session.error_count",
    "@@session.warning_count",
    "@@warning_count",
];

impl Walk<'_> {
    /// Rebuilds a `SELECT` of only one of [`COUNTS`].
    pub(super) fn count_variable(&mut self) {
        let mut ahead = self.lexer.clone();
        let Some(variable) = ahead.next() else { return };
        let text = self.lexer.text(variable);
        let is_count = COUNTS.iter().any(|count| count.eq_ignore_ascii_case(text));
        let ends = ahead.all(|token| token.kind == TokenKind::Semicolon);
        if is_count && ends && self.depth == 0 {
            self.rebuilt = Some(format!("SELECT {text}"));
        }
    }

    /// Checks the topic behind `HELP`.
    pub(super) fn help(&mut self) -> Result<StatementKind, Refusal> {
        let token = self.next()?;
        let Some(topic) = token.and_then(|token| self.topic(token)) else {
            let offset = token.map_or(self.end, |token| token.start);
            let reason =
                "give one topic in quotes, without quotes or \\ in it; HELP 'contents' lists them";
            return Err(refusal("HELP", reason, offset));
        };
        self.complete()?;
        self.rebuilt = Some(format!("HELP '{topic}'"));
        Ok(StatementKind::Help)
    }

    fn topic(&self, token: Token) -> Option<String> {
        let text = self.lexer.text(token);
        let topic = match token.kind {
            TokenKind::Word | TokenKind::Quoted => unquoted(text),
            TokenKind::Text => {
                let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
                text.strip_prefix(quote)?.strip_suffix(quote)?.to_owned()
            }
            _ => return None,
        };
        let is_special = |c: char| c.is_control() || "'\"`\\".contains(c);
        (!topic.contains(is_special)).then_some(topic)
    }

    /// Checks the rest of `EXPLAIN … FOR CONNECTION`: the plan of a statement on another connection, which is not
    /// affected.
    pub(super) fn explain_connection(
        &mut self,
        format: Option<Token>,
    ) -> Result<StatementKind, Refusal> {
        let format = self.format(format)?;
        let id = self.connection("EXPLAIN FOR CONNECTION")?;
        self.rebuilt = Some(format!("EXPLAIN {format}FOR CONNECTION {id}"));
        Ok(StatementKind::PlanOfOther)
    }

    /// Checks the rest of `SHOW ANALYZE` (MariaDB): such a plan with the counts so far.
    pub(super) fn show_analysis(&mut self) -> Result<StatementKind, Refusal> {
        let mut format = None;
        while self.explain_option(&mut format)? {}
        let format = self.format(format)?;
        if !self.take("FOR")? {
            let reason = "only FOR and a connection's number may follow";
            return Err(refusal("SHOW ANALYZE", reason, self.end));
        }
        let id = self.connection("SHOW ANALYZE")?;
        self.rebuilt = Some(format!("SHOW ANALYZE {format}FOR {id}"));
        Ok(StatementKind::PlanOfOther)
    }

    /// `FORMAT=name ` with a known name, or an empty text.
    fn format(&self, format: Option<Token>) -> Result<String, Refusal> {
        let Some(token) = format else {
            return Ok(String::new());
        };
        let name = self.lexer.text(token).trim_matches(['\'', '"']);
        let mut known = FORMATS.iter();
        let name = known.find(|known| known.eq_ignore_ascii_case(name));
        let reason = "plans of other connections need FORMAT=JSON, TREE or TRADITIONAL";
        name.map(|name| format!("FORMAT={name} "))
            .ok_or_else(|| refusal("EXPLAIN FORMAT", reason, token.start))
    }

    /// Takes the number of a connection, at the end.
    fn connection(&mut self, statement: &str) -> Result<u64, Refusal> {
        let token = self.next()?;
        let Some(id) = token.and_then(|token| self.number(token)) else {
            let offset = token.map_or(self.end, |token| token.start);
            let reason = "write the connection's number from SHOW PROCESSLIST";
            return Err(refusal(statement, reason, offset));
        };
        self.complete()?;
        Ok(id)
    }

    /// Checks the rest of `SHOW WARNINGS` or `SHOW ERRORS`. Each statement has a new session, so there are none.
    pub(super) fn diagnostics(&mut self, what: &str) -> Result<StatementKind, Refusal> {
        if self.take("LIMIT")? {
            self.limit(what)?;
        }
        self.complete()?;
        self.rebuilt = Some(format!("SHOW {what} LIMIT 0"));
        Ok(StatementKind::Show)
    }

    /// Takes `n`, `n, n` or `n OFFSET n`.
    fn limit(&mut self, what: &str) -> Result<(), Refusal> {
        loop {
            let token = self.next()?;
            if token.and_then(|token| self.number(token)).is_none() {
                let offset = token.map_or(self.end, |token| token.start);
                let reason = "only numbers may follow LIMIT";
                return Err(refusal(&format!("SHOW {what}"), reason, offset));
            }
            let comma = self.lexer.peek();
            if comma.is_some_and(|token| token.kind == TokenKind::Comma) {
                self.next()?;
            } else if !self.take("OFFSET")? {
                return Ok(());
            }
        }
    }

    /// Checks `(*) WARNINGS` or `(*) ERRORS` behind `SHOW COUNT`.
    pub(super) fn count_of_diagnostics(&mut self) -> Result<StatementKind, Refusal> {
        let mut is_next = |text: &str| -> Result<bool, Refusal> {
            let token = self.next()?;
            Ok(token.is_some_and(|token| self.lexer.text(token).eq_ignore_ascii_case(text)))
        };
        let is_count = is_next("(")? && is_next("*")? && is_next(")")?;
        let what = match self.next()? {
            token if is_count && self.is(token, "WARNINGS") => "WARNINGS",
            token if is_count && self.is(token, "ERRORS") => "ERRORS",
            token => {
                let offset = token.map_or(self.end, |token| token.start);
                let reason = "write SHOW COUNT(*) WARNINGS or SHOW COUNT(*) ERRORS";
                return Err(refusal("SHOW COUNT", reason, offset));
            }
        };
        self.complete()?;
        self.rebuilt = Some(format!("SHOW COUNT(*) {what}"));
        Ok(StatementKind::Show)
    }

    fn number(&self, token: Token) -> Option<u64> {
        let text = self.lexer.text(token);
        let is_plain = token.kind == TokenKind::Number && text.bytes().all(|b| b.is_ascii_digit());
        text.parse().ok().filter(|_| is_plain)
    }
}
