//! The map in `lib.rs` is true: its threads are those that are started, and its files exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::sync::Thread;

fn map() -> impl Iterator<Item = &'static str> {
    let lines = include_str!("lib.rs").lines();
    lines.filter_map(|line| line.strip_prefix("//!"))
}

#[test]
fn the_table_of_threads_has_those_that_are_started() {
    let section = map().skip_while(|line| !line.ends_with("# Threads"));
    let section = section.take_while(|line| !line.ends_with("# Order of locks"));
    let cells = section.filter_map(|line| line.split('|').nth(1));
    let described: BTreeSet<&str> = cells
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect();
    let started: BTreeSet<&str> = Thread::ALL.iter().map(|thread| thread.name()).collect();
    assert_eq!(described, started);
    // The kernel cuts a longer name.
    assert!(started.iter().all(|name| name.len() <= 15), "{started:?}");
}

/// `room/file`, `file` in any room, or a path in the repository.
#[test]
fn files_of_the_map_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let rooms = fs::read_dir(root.join("src")).unwrap();
    let mut from = vec![root.to_owned(), root.join("src")];
    from.extend(rooms.map(|room| room.unwrap().path()));
    let is_there = |path: &str| {
        let file = format!("{path}.rs");
        let mut from = from.iter();
        from.any(|dir| dir.join(path).exists() || dir.join(&file).exists())
    };
    let is_part = |part: &str| part.starts_with(|first: char| first.is_ascii_lowercase());
    let is_word = |c: char| c.is_alphanumeric() || "_/.{}:-".contains(c);
    let mut paths = Vec::new();
    for word in map().flat_map(|line| line.split(|c| !is_word(c))) {
        let path = word.trim_matches(['.', ':']).replace("::", "/");
        if path.contains('/') && path.split('/').all(is_part) {
            paths.push(path);
        }
    }
    assert!(paths.len() > 30, "{paths:?}");
    paths.retain(|path| !is_there(path));
    assert!(paths.is_empty(), "{paths:?}");
}
