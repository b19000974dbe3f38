//! The corpus of the fuzz target, fed to the same function: found once, never again.

#![allow(clippy::indexing_slicing, clippy::as_conversions)]

#[path = "../../../tests/fuzz/inputs/ssh.rs"]
mod input;

use std::path::Path;

#[test]
fn every_input_of_the_corpus_is_survived() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus/ssh");
    let mut fed = 0;
    for file in std::fs::read_dir(corpus).unwrap() {
        let path = file.unwrap().path();
        println!("{}", path.display());
        let bytes = std::fs::read(&path).unwrap();
        input::run(&bytes);
        // Cut short, and in other pieces, it must be survived as well.
        input::run(&bytes[..bytes.len() / 2]);
        let mut other = bytes.clone();
        if let Some(choice) = other.first_mut() {
            *choice ^= 0b0000_0110;
        }
        input::run(&other);
        fed += 1;
    }
    assert!(fed >= 20, "{fed} files");
}
