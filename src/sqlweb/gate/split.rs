//! Splits a text into statements, by the server's rules.
//!
//! A semicolon ends a statement unless it is inside a compound one: `CREATE PROCEDURE … BEGIN …; END`, `BEGIN NOT
//! ATOMIC …; END`, `IF … THEN …; END IF`. Each block has exactly one `END`, so the open blocks are a stack. `END`,
//! `BEGIN` and `DO` can also be names, so they count only where a block can end, begin or continue. In doubt a text is
//! not split: a server then refuses it whole, and no piece of it runs. `DELIMITER` is a word of client programs and
//! means nothing here.

use std::ops::Range;

use super::dialect::Dialect;
use super::lexer::{Lexer, Token, TokenKind};

/// The statements of a text, as byte ranges without their semicolons and without empty statements. It is lazy, so that
/// the check for a second one is cheap.
pub fn split<'a>(sql: &'a (impl AsRef<[u8]> + ?Sized), dialect: &Dialect) -> Statements<'a> {
    Statements {
        lexer: Lexer::of_script(sql, dialect),
    }
}

/// True if something follows a semicolon outside quotes and comments.
pub(crate) fn has_semicolon(sql: &str, dialect: &Dialect) -> bool {
    let mut tokens = Lexer::of_script(sql, dialect);
    tokens.any(|token| token.kind == TokenKind::Semicolon) && tokens.next().is_some()
}

/// Number of statements behind the beginning of an unended block: semicolons with something behind them. 0 if no block
/// is open at the end.
pub(crate) fn unended(sql: &(impl AsRef<[u8]> + ?Sized), dialect: &Dialect) -> usize {
    let mut tokens = Lexer::of_script(sql, dialect);
    let (mut compound, mut behind, mut ends) = (Compound::default(), 0, 0);
    while let Some(token) = tokens.next() {
        match token.kind {
            TokenKind::Semicolon => ends = 1,
            _ => behind += std::mem::take(&mut ends),
        }
        compound.take(token, &tokens);
    }
    if compound.is_open() { behind } else { 0 }
}

/// The iterator that [`split`] returns.
#[derive(Clone)]
pub struct Statements<'a> {
    lexer: Lexer<'a>,
}

impl Statements<'_> {
    /// The next statement, and true if a semicolon ends it, and not the text.
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

    /// Number of bytes read.
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

/// Stage of reading a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum SplitStage {
    /// Before its first word, or after a label.
    #[default]
    Start,
    /// Behind `CREATE` or `ALTER`, before the kind of object.
    Create,
    /// Behind `PROCEDURE`, `FUNCTION`, `TRIGGER` or `EVENT`, before the body.
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
    List,
    /// `IF` or `CASE` before its `THEN`.
    Condition,
    /// Statements that follow `THEN` and `ELSE`.
    Cases,
    /// `WHILE` or `FOR`, before its `DO`.
    Loop,
    /// `REPEAT`, before its `UNTIL`.
    Repeat,
    /// The condition of a `REPEAT`.
    Until,
    /// Declarations before a `BEGIN`, as in Oracle.
    Declare,
    /// A `CASE` that is a value, so that no statement follows its `THEN`.
    CaseValue,
}

/// Tracks the open blocks of one statement.
#[derive(Default)]
struct Compound {
    stage: SplitStage,
    blocks: Vec<Block>,
    parentheses: usize,
    /// True if a statement can start here.
    at_statement: bool,
    /// True if a value must follow, so that any word is a name.
    at_operand: bool,
    /// True if the last token ended a block.
    has_ended: bool,
    /// True in `DECLARE … HANDLER FOR`, before its statement.
    in_handler: bool,
    /// True in the head of a routine within a package.
    in_routine: bool,
    /// True in `<<label>>`.
    in_label: bool,
    /// True if the last token was a name at the beginning of a statement.
    may_label: bool,
    /// Kind of the created object.
    created: &'static str,
    /// The last token in upper case, if it was one of [`WORDS`].
    last: &'static str,
}

/// Words that this module knows.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "AFTER", "ALTER", "ANALYZE", "AND", "AS", "ATOMIC", "BEFORE", "BEGIN", "BETWEEN", "BY", "CALL", "CASE", "CATALOG",
    "CHARACTER", "CLOSE", "COMMIT", "CREATE", "DATABASE", "DEALLOCATE", "DECLARE", "DELETE", "DIV", "DO", "DROP", "EACH", "ELSE",
    "ELSEIF", "END", "EVENT", "EXECUTE", "EXISTS", "FETCH", "FLUSH", "FOLLOWS", "FOR", "FROM", "FULLTEXT", "FUNCTION",
    "GET", "GRANT", "HANDLER", "IF", "IN", "INDEX", "INSERT", "INTO", "IS", "KILL", "LIBRARY", "LIKE", "LOAD", "LOCK", "LOGFILE",
    "LOOP", "MOD", "NOT", "ON", "OPEN", "OPTIMIZE", "OR", "PACKAGE", "PRECEDES", "PREPARE", "PROCEDURE", "RELEASE", "RENAME",
    "REPEAT", "REPLACE", "RESIGNAL", "RESOURCE", "RETURN", "RETURNS", "REVOKE", "ROLE", "ROLLBACK", "ROW", "SAVEPOINT", "SCHEMA",
    "SELECT", "SEQUENCE", "SERVER", "SET", "SHOW", "SIGNAL", "SPATIAL", "SQLSTATE", "START", "TABLE", "TABLESPACE",
    "TEMPORARY", "THEN", "TRIGGER", "TRUNCATE", "UNDO", "UNIQUE", "UNLOCK", "UNTIL", "UPDATE", "USE", "USER", "VALUE", "VALUES",
    "VIEW", "WHEN", "WHILE", "WITH", "WORK", "XA", "XOR",
];

/// Words behind which a value or a name must follow.
#[rustfmt::skip]
const BEFORE_OPERANDS: &[&str] = &[
    "AND", "AS", "BETWEEN", "BY", "CASE", "DIV", "DROP", "ELSEIF", "FROM", "IN", "INTO", "IS", "LIKE", "MOD", "NOT", "ON",
    "OR", "RETURN", "SELECT", "SET", "TABLE", "UNTIL", "UPDATE", "WHEN", "WHILE", "XOR",
];

/// Words that open a block.
const OPENERS: &[&str] = &["BEGIN", "IF", "CASE", "LOOP", "REPEAT", "WHILE", "FOR"];

/// Objects with a body, except packages.
const ROUTINES: &[&str] = &["FUNCTION", "PROCEDURE", "TRIGGER", "EVENT"];

/// Words in the head of a program behind which a name or a type follows.
const BEFORE_NAMES: &[&str] = &["EXISTS", "ON", "RETURNS", "FOLLOWS", "PRECEDES"];

/// Objects without a body.
#[rustfmt::skip]
const BODILESS: &[&str] = &[
    "CATALOG", "DATABASE", "FULLTEXT", "INDEX", "LIBRARY", "LOGFILE", "RESOURCE", "ROLE", "SCHEMA", "SEQUENCE", "SERVER",
    "SPATIAL", "TABLE", "TABLESPACE", "TEMPORARY", "UNDO", "UNIQUE", "USER", "VIEW",
];

/// First words of simple statements, which are a body by themselves.
#[rustfmt::skip]
const BODIES: &[&str] = &[
    "ALTER", "ANALYZE", "CALL", "CLOSE", "COMMIT", "CREATE", "DEALLOCATE", "DELETE", "DO", "DROP", "EXECUTE", "FETCH", "FLUSH",
    "GET", "GRANT", "HANDLER", "INSERT", "KILL", "LOAD", "LOCK", "OPEN", "OPTIMIZE", "PREPARE", "RELEASE", "RENAME", "REPLACE",
    "RESIGNAL", "RETURN", "REVOKE", "ROLLBACK", "SAVEPOINT", "SELECT", "SET", "SHOW", "SIGNAL", "START", "TABLE", "TRUNCATE",
    "UNLOCK", "UPDATE", "USE", "VALUES", "WITH", "XA",
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
    /// True if a semicolon is part of the statement. Without `THEN` or `DO` no block has begun.
    fn is_open(&self) -> bool {
        !matches!(self.blocks[..], [] | [Block::Condition | Block::Loop])
    }

    fn take(&mut self, token: Token, lexer: &Lexer<'_>) {
        if matches!(
            token.kind,
            TokenKind::ExecutableOpen | TokenKind::ExecutableClose
        ) || self.stage == SplitStage::Plain
        {
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
            SplitStage::Head => self.head(token, word, lexer),
            SplitStage::Body => self.body(token, word, lexer),
            SplitStage::Plain => {}
        }
        self.last = word;
        self.at_operand = BEFORE_OPERANDS.contains(&word)
            || matches!(word, "THEN" | "ELSE") && self.blocks.last() == Some(&Block::CaseValue)
            || matches!(
                token.kind,
                TokenKind::Comma | TokenKind::Operator | TokenKind::Open | TokenKind::Dot
            );
    }

    fn start(&mut self, token: Token, word: &'static str, lexer: &Lexer<'_>) {
        let next = lexer.peek();
        let in_label = |token: Token| {
            token.kind == TokenKind::Colon
                || token.kind == TokenKind::Operator && "<>".contains(lexer.text(token))
        };
        if in_label(token) || next.is_some_and(in_label) {
            return;
        }
        match word {
            "CREATE" | "ALTER" => self.stage = SplitStage::Create,
            // A transaction.
            "BEGIN" if next.is_none_or(|next| ends_begin(next, lexer)) => {
                self.stage = SplitStage::Plain;
            }
            "DECLARE" => {
                self.stage = SplitStage::Body;
                self.blocks.push(Block::Declare);
            }
            _ if OPENERS.contains(&word) => self.open_body(word),
            _ => self.stage = SplitStage::Plain,
        }
    }

    fn create(&mut self, word: &'static str) {
        match word {
            "PACKAGE" => {
                self.stage = SplitStage::Body;
                self.blocks.push(Block::Declare);
            }
            _ if ROUTINES.contains(&word) => {
                self.stage = SplitStage::Head;
                self.created = word;
            }
            _ if BODILESS.contains(&word) => self.stage = SplitStage::Plain,
            _ => {}
        }
    }

    /// Reads the head of a program. The body of an event follows `DO`, that of a trigger `EACH ROW`. A routine has its
    /// parameters in parentheses and then only known words, so the first other one starts the body.
    fn head(&mut self, token: Token, word: &'static str, lexer: &Lexer<'_>) {
        if self.parentheses > 0 || token.kind != TokenKind::Word {
            return;
        }
        match (word, self.created) {
            ("IF", _) if ROUTINES.contains(&self.last) => {}
            _ if ROUTINES.contains(&self.last) || BEFORE_NAMES.contains(&self.last) => {}
            ("DO", "EVENT") => self.created = "",
            ("ROW", "TRIGGER") if self.last == "EACH" => self.created = "",
            (_, "EVENT" | "TRIGGER") => {}
            ("SET", _) if self.last == "CHARACTER" => {}
            ("AS" | "IS", "FUNCTION" | "PROCEDURE" | "RETURN") if may_declare(lexer) => {
                self.stage = SplitStage::Body;
                self.declare();
            }
            ("RETURN", "FUNCTION") => self.created = "RETURN",
            (_, "RETURN") => {}
            _ if OPENERS.contains(&word) => self.open_body(word),
            _ if BODIES.contains(&word) => self.stage = SplitStage::Plain,
            _ => {}
        }
    }

    fn declare(&mut self) {
        self.blocks.push(Block::Declare);
        self.at_statement = true;
    }

    fn open_body(&mut self, word: &str) {
        self.stage = SplitStage::Body;
        self.open(word);
    }

    fn open(&mut self, word: &str) {
        let block = match word {
            "IF" | "CASE" => Block::Condition,
            "WHILE" | "FOR" => Block::Loop,
            "REPEAT" => Block::Repeat,
            _ => Block::List,
        };
        match self.blocks.last_mut() {
            // It belongs to the declarations.
            Some(last @ Block::Declare) if word == "BEGIN" => *last = block,
            _ => self.blocks.push(block),
        }
        // In the other blocks a condition or a name comes first.
        self.at_statement = matches!(block, Block::List | Block::Repeat);
    }

    fn body(&mut self, token: Token, word: &'static str, lexer: &Lexer<'_>) {
        let starts = std::mem::replace(&mut self.at_statement, false);
        let ended = std::mem::replace(&mut self.has_ended, false);
        let is_name = matches!(
            token.kind,
            TokenKind::Word | TokenKind::Quoted | TokenKind::Name
        );
        let labels = std::mem::replace(&mut self.may_label, starts && is_name);
        match token.kind {
            TokenKind::Semicolon => self.statement_ends(),
            TokenKind::Colon => self.at_statement = labels,
            TokenKind::Operator if starts && "<>".contains(lexer.text(token)) => {
                self.in_label = lexer.text(token) == "<";
                self.at_statement = true;
            }
            _ if starts && self.in_label => self.at_statement = true,
            _ if self.in_handler => self.condition(token, word, lexer),
            TokenKind::Word if !(ended && OPENERS.contains(&word)) => {
                self.word(word, starts, lexer)
            }
            _ => {}
        }
    }

    fn statement_ends(&mut self) {
        while self
            .blocks
            .pop_if(|block| *block == Block::CaseValue)
            .is_some()
        {}
        self.at_statement = true;
        self.in_handler = false;
        self.in_routine = false;
        self.parentheses = 0;
    }

    /// Reads a condition of a handler, whose statement starts behind the last one.
    fn condition(&mut self, token: Token, word: &str, lexer: &Lexer<'_>) {
        let goes_on = token.kind == TokenKind::Comma
            || matches!(word, "SQLSTATE" | "NOT")
            || word == "VALUE" && self.last == "SQLSTATE"
            || (lexer.peek()).is_some_and(|next| next.kind == TokenKind::Comma);
        self.in_handler = goes_on;
        self.at_statement = !goes_on;
    }

    fn word(&mut self, word: &'static str, starts: bool, lexer: &Lexer<'_>) {
        match word {
            "END" | "BEGIN" | "DO" | "UNTIL" | "AS" | "IS" if self.is_name(word, starts, lexer) => {
            }
            "END" if starts || self.ends_value() => {
                self.blocks.pop();
                self.has_ended = true;
            }
            "NOT" if self.last == "BEGIN" => self.at_statement = starts,
            "ATOMIC" if self.last == "NOT" => self.at_statement = starts,
            "CASE" if !starts => self.blocks.push(Block::CaseValue),
            "BEGIN" | "AS" | "IS" if self.in_routine && self.parentheses == 0 => {
                self.in_routine = false;
                self.declare();
                if word == "BEGIN" {
                    self.open(word);
                }
            }
            _ if starts && OPENERS.contains(&word) => self.open(word),
            "THEN" | "ELSE" => {
                self.goes_on(Block::Condition, Block::Cases);
                self.at_statement = self.blocks.last() != Some(&Block::CaseValue);
            }
            "DO" | "LOOP" if self.parentheses == 0 => self.goes_on(Block::Loop, Block::List),
            "UNTIL" if starts => self.goes_on(Block::Repeat, Block::Until),
            "FOR" if self.last == "HANDLER" => self.in_handler = true,
            "PROCEDURE" | "FUNCTION" if self.blocks.last() == Some(&Block::Declare) => {
                self.in_routine = true;
            }
            _ => {}
        }
    }

    /// True if such a word is a name here, since a value must follow, or since the next token makes it an assignment or
    /// a label.
    fn is_name(&self, word: &str, starts: bool, lexer: &Lexer<'_>) -> bool {
        let sets = lexer.peek().is_some_and(|next| match next.kind {
            TokenKind::Colon => true,
            TokenKind::Operator => word != "UNTIL" || [":=", "="].contains(&lexer.text(next)),
            _ => false,
        });
        self.at_operand || starts && sets
    }

    /// True if an `END` in the middle of a statement ends a block here.
    fn ends_value(&self) -> bool {
        matches!(self.blocks.last(), Some(Block::CaseValue | Block::Until))
    }

    fn goes_on(&mut self, from: Block, to: Block) {
        if let Some(last) = self.blocks.last_mut().filter(|last| **last == from) {
            *last = to;
            self.at_statement = to == Block::List;
        }
    }
}

/// True if `next` makes the `BEGIN` before it the begin of a transaction.
fn ends_begin(next: Token, lexer: &Lexer<'_>) -> bool {
    matches!(next.kind, TokenKind::Semicolon | TokenKind::ExecutableClose)
        || known(next, lexer) == "WORK"
        // SQLite's and SQL Server's form; servers refuse it, and no block begins so.
        || lexer.text(next).eq_ignore_ascii_case("TRANSACTION")
}

/// True if declarations may follow the `AS` or `IS` that was taken, and not a value or a text.
fn may_declare(lexer: &Lexer<'_>) -> bool {
    const VALUES: [&str; 6] = ["NULL", "NOT", "TRUE", "FALSE", "UNKNOWN", "DISTINCT"];
    lexer.peek().is_some_and(|next| match next.kind {
        TokenKind::Word => !VALUES
            .iter()
            .any(|value| value.eq_ignore_ascii_case(lexer.text(next))),
        kind => matches!(
            kind,
            TokenKind::Quoted | TokenKind::Name | TokenKind::Operator
        ),
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
