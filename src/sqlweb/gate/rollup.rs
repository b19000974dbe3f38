//! Number of sums that `GROUP BY … WITH ROLLUP` and its kin ask for. Servers compute for minutes over some hundred
//! expressions, and cannot be interrupted in it.

use super::lexer::{Token, TokenKind};

/// Most expressions of one `ROLLUP`, and sets of one `GROUPING SETS`.
const MAX_EXPRESSIONS: usize = 64;

/// Most expressions of one `CUBE`, which doubles the sums with each.
const MAX_CUBE: usize = 10;

/// A `GROUP BY` whose list may go on.
struct OpenGroupBy {
    /// Parentheses around its list.
    depth: usize,
    commas: usize,
    /// Most expressions: behind `GROUP BY ROLLUP (`, `CUBE (`, `GROUPING SETS (`.
    most: usize,
}

/// The lists that are open, at most one a level.
#[derive(Default)]
pub(super) struct Rollups(Vec<OpenGroupBy>);

impl Rollups {
    /// Takes one token, which has `depth` parentheses around it; `opens` where a parenthesis follows. False when there
    /// are too many expressions.
    pub(super) fn take(&mut self, token: Token, text: &str, depth: usize, opens: bool) -> bool {
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
