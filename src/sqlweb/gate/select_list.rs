//! How many columns a `SELECT` names. Servers take 4,096 at most, and say so when they have built up all that they were
//! given, in some hundred bytes of memory each.

use super::lexer::{Token, TokenKind};

/// Most columns of one `SELECT`, and of what else is in commas behind it: tables, groups, orders.
const MAX_COLUMNS: usize = 4_096;

/// The `SELECT`s that are open, at most one a level.
#[derive(Default)]
pub(super) struct SelectLists {
    lists: Vec<SelectList>,
    /// True if a name follows, whatever the word.
    after_dot: bool,
}

struct SelectList {
    /// Parentheses around it.
    depth: usize,
    commas: usize,
}

impl SelectLists {
    /// Takes one token, which has `depth` parentheses around it; false when there are too many columns.
    pub(super) fn take(&mut self, token: Token, text: &str, depth: usize) -> bool {
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
