//! The order in which views are made: each after those that it reads.

use super::programs::Program;
use crate::sqlweb::catalogue::identifier;

/// Puts `views` into an order in which each comes after those that its text names. Where texts name each other, something
/// must stand in for those views before.
pub(super) fn ordered(views: Vec<Program>) -> Vec<Program> {
    let named = named_by_each(&views);
    let mut waiting: Vec<(usize, Program, Vec<usize>)> = views
        .into_iter()
        .zip(named)
        .enumerate()
        .map(|(i, (view, named))| (i, view, named))
        .collect();
    let mut done = Vec::with_capacity(waiting.len());
    while !waiting.is_empty() {
        let Some(ready) = waiting.iter().position(|(_, _, named)| named.is_empty()) else {
            for (_, view, named) in &mut waiting {
                view.set_local_relay = true;
                named.clear();
            }
            continue;
        };
        let (made, view, _) = waiting.remove(ready);
        for (_, _, named) in &mut waiting {
            named.retain(|i| *i != made);
        }
        done.push(view);
    }
    done
}

/// Which of the others each names, by number.
fn named_by_each(views: &[Program]) -> Vec<Vec<usize>> {
    let names = views
        .iter()
        .map(|view| identifier(&view.name).to_lowercase());
    let names: Vec<String> = names.collect();
    let named_by = |(own, view): (usize, &Program)| {
        let text = view.create.to_lowercase();
        let is_named = |(i, name): &(usize, &String)| *i != own && reads(&text, name);
        let named = names.iter().enumerate().filter(is_named);
        named.map(|(i, _)| i).collect()
    };
    views.iter().enumerate().map(named_by).collect()
}

/// True if the text of a view, as the server writes it, has `quoted` where a table may stand: in backquotes, and not as a
/// part of a column's name or behind `AS`. Both in small letters.
fn reads(text: &str, quoted: &str) -> bool {
    text.match_indices(quoted).any(|(at, found)| {
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
        let create = "create view `v` as select `a`.`b` as `c` from (`d` `e` join `x`.`f` on(1 = 1)) where `g`";
        for name in ["`d`", "`f`", "`v`"] {
            assert!(reads(create, name), "{name}");
        }
        for name in ["`a`", "`c`", "`e`", "`q`"] {
            assert!(!reads(create, name), "{name}");
        }
    }

    #[test]
    fn views_come_after_those_that_they_read() {
        let view = |name: &str, reads: &str| {
            let create = format!("CREATE VIEW `{name}` AS select 1 from {reads}");
            Program::view(name, create)
        };
        let order = ordered(vec![
            view("a", "`B` join `z`"),
            view("b", "`z`"),
            view("x", "`y`"),
            view("y", "`x`"),
            view("z", "`t`"),
        ]);
        let told: Vec<_> = order
            .iter()
            .map(|view| (view.name.as_str(), view.set_local_relay))
            .collect();
        let expected = [
            ("z", false),
            ("b", false),
            ("a", false),
            ("x", true),
            ("y", true),
        ];
        assert_eq!(told, expected);
    }
}
