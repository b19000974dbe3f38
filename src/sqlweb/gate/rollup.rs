//! How many sums `GROUP BY … WITH ROLLUP` asks for. Servers compute for minutes over some hundred expressions, and cannot
//! be interrupted in it.

use super::lexer::{Token, TokenKind};

/// Most expressions of one `ROLLUP`.
const MAX_EXPRESSIONS: usize = 64;

/// A `GROUP BY` whose list may go on.
struct Group {
    /// Parentheses around its list.
    depth: usize,
    commas: usize,
    /// `GROUP BY ROLLUP (`
    rolls_up: bool,
}

/// The lists that are open, at most one a level.
#[derive(Default)]
pub(super) struct Rollups(Vec<Group>);

impl Rollups {
    /// Takes one token, which has `depth` parentheses around it; `opens` where a parenthesis follows. False when there
    /// are too many expressions.
    pub(super) fn take(&mut self, token: Token, text: &str, depth: usize, opens: bool) -> bool {
        let is = |word: &str| token.kind == TokenKind::Word && text.eq_ignore_ascii_case(word);
        if is("GROUP") {
            self.0.pop_if(|group| group.depth == depth);
            self.0.push(Group {
                depth,
                commas: 0,
                rolls_up: false,
            });
        }
        while token.kind == TokenKind::Close && self.0.pop_if(|group| group.depth > depth).is_some()
        {
        }
        let Some(group) = self.0.last_mut().filter(|group| group.depth == depth) else {
            return true;
        };
        group.commas += usize::from(token.kind == TokenKind::Comma);
        let rolls_up = is("ROLLUP") || group.rolls_up;
        if is("ROLLUP") && opens {
            *group = Group {
                depth: depth + 1,
                commas: 0,
                rolls_up: true,
            };
        }
        !rolls_up || group.commas < MAX_EXPRESSIONS
    }
}
