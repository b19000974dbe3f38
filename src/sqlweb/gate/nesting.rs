//! How deep the server's parser and resolver go for a statement.
//!
//! MariaDB 10.11 and 11.8 end with a stack overflow, with all connections, at 4,500 nested rows and at 3,600 operators in
//! a row in `ORDER BY`; most else they refuse between 300 and 1,000. MySQL 9.7 refuses all of it.
//!
//! A level is what stands in one pair of parentheses, or between `CASE` and `END`. `a + b + c` is as deep as it has
//! operators, `(a + b) + c` as deep as the deepest operand and the operators after it. Lists, and what `AND` and `OR`
//! join, are flat to the servers.

use super::lexer::{Token, TokenKind};
use super::words;

/// Most levels within each other.
const MAX_LEVELS: usize = 250;

/// Deepest expression, in operators.
const MAX_DEPTH: usize = 1_000;

/// The levels that are open.
pub(super) struct Nesting {
    levels: Vec<Level>,
    level: Level,
}

#[derive(Default)]
struct Level {
    is_case: bool,
    /// A `BETWEEN` whose `AND` has not come.
    between: bool,
    /// Depth of the operand of `AND` or `OR` that is being read.
    depth: usize,
    /// Operators that bind less than `AND` or `OR`.
    loose: usize,
    /// The deepest expression before.
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
    pub(super) fn new() -> Self {
        Self {
            levels: Vec::new(),
            level: Level::default(),
        }
    }

    /// Takes one token; false when it is too deep.
    pub(super) fn take(&mut self, token: Token, text: &str) -> bool {
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

    /// The level becomes an operand of the one around it.
    fn close(&mut self) {
        self.level.end_expression();
        let inner = self.level.deepest;
        // One parenthesis too many closes the statement's own level; servers refuse such a text.
        self.level = self.levels.pop().unwrap_or_default();
        self.level.depth = self.level.depth.max(inner + 1);
    }
}
