//! Where the statements of a text end, as the server sees them.
//!
//! A semicolon ends a statement unless it stands inside a compound one:
//! `CREATE PROCEDURE … BEGIN …; END`, `BEGIN NOT ATOMIC …; END`, `IF … THEN …;
//! END IF`. Each block has exactly one `END`, so the open blocks are a stack.
//! `DELIMITER` is a word of client programs and means nothing here.

use std::ops::Range;

use super::dialect::Dialect;
use super::lexer::{Lexer, Token, TokenKind};

/// The statements of a text, as byte ranges without the semicolon that ends
/// them. Empty statements do not count. Lazy, so that asking for the second
/// one is enough to know that there is more than one.
pub fn split<'a>(sql: &'a str, dialect: &Dialect) -> Statements<'a> {
    Statements {
        lexer: Lexer::new(sql, dialect),
    }
}

/// The iterator that [`split`] returns.
#[derive(Clone)]
pub struct Statements<'a> {
    lexer: Lexer<'a>,
}

impl Statements<'_> {
    /// The next statement and whether it is known to be whole: a semicolon ends it, and not the text.
    pub(super) fn next_ended(&mut self) -> Option<(Range<usize>, bool)> {
        let first = self
            .lexer
            .find(|token| token.kind != TokenKind::Semicolon)?;
        let mut compound = Compound::default();
        compound.take(first, &self.lexer);
        let mut end = first.end;
        while let Some(token) = self.lexer.next() {
            if token.kind == TokenKind::Semicolon && !compound.is_open() {
                return Some((first.start..end, true));
            }
            compound.take(token, &self.lexer);
            end = token.end;
        }
        Some((first.start..end, false))
    }

    /// Bytes of the text that were read.
    pub(super) fn taken(&self) -> usize {
        self.lexer.taken()
    }
}

impl Iterator for Statements<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        self.next_ended().map(|(span, _)| span)
    }
}

/// How far a statement is understood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum SplitStage {
    /// Its first word, or the label before it.
    #[default]
    Start,
    /// Behind `CREATE` or `ALTER`: what is created?
    Create,
    /// Behind `PROCEDURE`, `FUNCTION`, `TRIGGER`, `EVENT`: where does the body start?
    Head,
    /// In a body or block.
    Body,
    /// No block can follow.
    Plain,
}

/// A block that waits for its `END`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    /// A list of statements.
    Statements,
    /// A `CASE` that is a value: what follows its `THEN` is no statement.
    CaseValue,
}

/// Follows one statement and knows which blocks are open.
#[derive(Default)]
struct Compound {
    stage: SplitStage,
    blocks: Vec<Block>,
    parentheses: usize,
    /// A statement can start here.
    at_statement: bool,
    /// The last word, upper case, when the last token was one of those that matter.
    last: &'static str,
}

/// The words that matter here.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "AFTER", "ALTER", "BEFORE", "BEGIN", "CALL", "CASE", "CHARACTER", "CREATE", "DATABASE", "DELETE", "DO", "EACH",
    "ELSE", "END", "EVENT", "EXISTS", "FOR", "FULLTEXT", "FUNCTION", "IF", "INDEX", "INSERT", "LOOP", "NOT", "OR",
    "PACKAGE", "PROCEDURE", "REPEAT", "REPLACE", "RETURN", "ROLE", "SCHEMA", "SELECT", "SEQUENCE", "SERVER", "SET",
    "SIGNAL", "SPATIAL", "TABLE", "TEMPORARY", "THEN", "TRIGGER", "UNIQUE", "UPDATE", "USER", "VIEW", "WHILE",
    "WITH",
];

fn known(token: Token, lexer: &Lexer<'_>) -> &'static str {
    if token.kind != TokenKind::Word {
        return "";
    }
    let text = lexer.text(token);
    let found = WORDS.iter().find(|word| word.eq_ignore_ascii_case(text));
    found.copied().unwrap_or("")
}

impl Compound {
    fn is_open(&self) -> bool {
        !self.blocks.is_empty()
    }

    fn take(&mut self, token: Token, lexer: &Lexer<'_>) {
        if matches!(
            token.kind,
            TokenKind::ExecutableOpen | TokenKind::ExecutableClose
        ) {
            return;
        }
        match token.kind {
            TokenKind::Open => self.parentheses += 1,
            TokenKind::Close => self.parentheses = self.parentheses.saturating_sub(1),
            _ => {}
        }
        let word = known(token, lexer);
        match self.stage {
            SplitStage::Start => self.start(token, word, lexer),
            SplitStage::Create => self.create(word),
            SplitStage::Head => self.head(word, lexer),
            SplitStage::Body => self.body(token, word, lexer),
            SplitStage::Plain => {}
        }
        self.last = word;
    }

    fn start(&mut self, token: Token, word: &str, lexer: &Lexer<'_>) {
        let next = lexer.peek();
        if token.kind == TokenKind::Colon || next.is_some_and(|next| next.kind == TokenKind::Colon)
        {
            return;
        }
        match word {
            "CREATE" | "ALTER" => self.stage = SplitStage::Create,
            "BEGIN" if next.map(|next| known(next, lexer)) != Some("NOT") => {
                self.stage = SplitStage::Plain
            }
            "BEGIN" | "IF" | "CASE" | "LOOP" | "REPEAT" | "WHILE" | "FOR" => self.open_body(word),
            _ => self.stage = SplitStage::Plain,
        }
    }

    fn create(&mut self, word: &str) {
        match word {
            "FUNCTION" | "PROCEDURE" | "TRIGGER" | "EVENT" => self.stage = SplitStage::Head,
            "PACKAGE" => self.open_body(word),
            "DATABASE" | "FULLTEXT" | "INDEX" | "ROLE" | "SCHEMA" | "SEQUENCE" | "SERVER" => {
                self.stage = SplitStage::Plain
            }
            "SPATIAL" | "TABLE" | "TEMPORARY" | "UNIQUE" | "USER" | "VIEW" => {
                self.stage = SplitStage::Plain
            }
            _ => {}
        }
    }

    /// Parameters stand in parentheses; everything else up to the body is a
    /// known set of words, so that the first other one starts the body.
    fn head(&mut self, word: &str, lexer: &Lexer<'_>) {
        if self.parentheses > 0 {
            return;
        }
        match word {
            "IF" if matches!(self.last, "FUNCTION" | "PROCEDURE" | "TRIGGER" | "EVENT") => {}
            "FOR" if lexer.peek().map(|next| known(next, lexer)) == Some("EACH") => {}
            "SET" if self.last == "CHARACTER" => {}
            "INSERT" | "UPDATE" | "DELETE" if matches!(self.last, "BEFORE" | "AFTER" | "OR") => {}
            "BEGIN" | "IF" | "CASE" | "LOOP" | "REPEAT" | "WHILE" | "FOR" => self.open_body(word),
            "CALL" | "DELETE" | "INSERT" | "REPLACE" | "RETURN" => self.stage = SplitStage::Body,
            "SELECT" | "SET" | "SIGNAL" | "UPDATE" | "WITH" => self.stage = SplitStage::Body,
            _ => {}
        }
    }

    fn open_body(&mut self, word: &str) {
        self.stage = SplitStage::Body;
        self.open(word);
    }

    fn open(&mut self, word: &str) {
        self.blocks.push(Block::Statements);
        // A condition or a name comes first in the others.
        self.at_statement = matches!(word, "BEGIN" | "LOOP" | "REPEAT");
    }

    fn body(&mut self, token: Token, word: &str, lexer: &Lexer<'_>) {
        let starts = std::mem::replace(&mut self.at_statement, false);
        if matches!(token.kind, TokenKind::Semicolon | TokenKind::Colon) {
            self.at_statement = true;
            return;
        }
        if self.last == "END" && is_block(word) {
            return;
        }
        match word {
            "END" => drop(self.blocks.pop()),
            "BEGIN" if starts || is_handler_body(lexer.peek()) => self.open(word),
            "CASE" if !starts => self.blocks.push(Block::CaseValue),
            "IF" | "CASE" | "LOOP" | "REPEAT" | "WHILE" | "FOR" if starts => self.open(word),
            "THEN" | "ELSE" => self.at_statement = self.blocks.last() == Some(&Block::Statements),
            // As a statement of its own `DO` evaluates expressions.
            "DO" => self.at_statement = !starts,
            _ => {}
        }
    }
}

fn is_block(word: &str) -> bool {
    matches!(word, "IF" | "CASE" | "LOOP" | "REPEAT" | "WHILE" | "FOR")
}

/// Behind `HANDLER FOR SQLEXCEPTION` a block opens that no list of statements
/// announces; a column called `begin` is told from it by what follows.
fn is_handler_body(next: Option<Token>) -> bool {
    next.is_none_or(|token| {
        !matches!(
            token.kind,
            TokenKind::Comma | TokenKind::Operator | TokenKind::Close | TokenKind::Dot
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(sql: &str) -> Vec<&str> {
        split(sql, &Dialect::mariadb((10, 11, 0)))
            .map(|span| &sql[span])
            .collect()
    }

    #[test]
    fn semicolons_end_statements() {
        assert_eq!(
            parts("SELECT 1; SELECT ';' ;; -- x;\n; SELECT `;`"),
            ["SELECT 1", "SELECT ';'", "SELECT `;`"]
        );
        assert_eq!(parts(" ; ; /* ; */ -- ;"), Vec::<&str>::new());
        assert_eq!(parts("SELECT 'a; SELECT 2"), ["SELECT 'a; SELECT 2"]);
        assert_eq!(
            parts("/*!40101 SET NAMES utf8 */; SELECT 1"),
            ["/*!40101 SET NAMES utf8 */", "SELECT 1"]
        );
    }

    #[test]
    fn it_is_lazy() {
        let sql = "SELECT 1;".repeat(1_000_000);
        assert!(split(&sql, &Dialect::mariadb((10, 11, 0))).nth(1).is_some());
    }
}
