//! The order in which views are made: each after those that it reads.

use super::programs::Program;
use crate::sqlweb::catalogue::identifier;

/// Puts `views` into an order in which each comes after those that its text names. Where texts name each other, something
/// must stand in for those views before.
pub(super) fn ordered(mut views: Vec<Program>) -> Vec<Program> {
    let mut done = Vec::with_capacity(views.len());
    while !views.is_empty() {
        let waits = |view: &Program| {
            let others = views.iter().filter(|other| other.name != view.name);
            let mut missing = others.filter(|other| !other.has_stand_in);
            missing.any(|other| reads(&view.create, &other.name))
        };
        match views.iter().position(|view| !waits(view)) {
            Some(ready) => done.push(views.remove(ready)),
            None => views.iter_mut().for_each(|view| view.has_stand_in = true),
        }
    }
    done
}

/// Whether the text of a view, as the server writes it, has `name` where a table may stand: in backquotes, and not as a
/// part of a column's name or behind `AS`.
fn reads(create: &str, name: &str) -> bool {
    let (text, quoted) = (create.to_lowercase(), identifier(name).to_lowercase());
    text.match_indices(&quoted).any(|(at, found)| {
        let (before, behind) = (text.split_at(at).0, text.split_at(at + found.len()).1);
        let is_alias = before.ends_with(" as ") || before.ends_with("` ");
        !is_alias && !behind.starts_with(['.', '`']) && !before.ends_with('`')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_reads_what_stands_as_a_table() {
        let create = "CREATE VIEW `v` AS select `a`.`b` AS `c` from (`d` `e` join `x`.`f` on(1 = 1)) where `g`";
        for name in ["d", "f", "F"] {
            assert!(reads(create, name), "{name}");
        }
        for name in ["a", "c", "e", "q"] {
            assert!(!reads(create, name), "{name}");
        }
    }
}
