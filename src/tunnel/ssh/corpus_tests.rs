//! The corpus of the fuzz target, fed to the same function: found once, never again.

#![allow(clippy::indexing_slicing, clippy::as_conversions)]

#[path = "../../../tests/fuzz/inputs/ssh.rs"]
mod input;

use std::path::Path;

/// Changed inputs that are fed. `POSTERN_FUZZ_ROUNDS` sets another number.
const ROUNDS: u64 = 1000;

fn corpus() -> Vec<Vec<u8>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus/ssh");
    let mut paths: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    // Same order everywhere: the changes below are the same then, too.
    paths.sort();
    let read = |path| std::fs::read(path).unwrap();
    paths.into_iter().map(read).collect()
}

#[test]
fn every_input_of_the_corpus_is_survived() {
    let mut fed = 0;
    for bytes in corpus() {
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

#[test]
fn changed_inputs_of_the_corpus_are_survived() {
    let corpus = corpus();
    let rounds = std::env::var("POSTERN_FUZZ_ROUNDS").ok();
    let rounds = rounds.and_then(|rounds| rounds.parse().ok());
    for seed in 0..rounds.unwrap_or(ROUNDS) {
        let bytes = changed(&corpus, &mut Numbers(seed));
        let outcome = std::panic::catch_unwind(|| input::run(&bytes));
        assert!(outcome.is_ok(), "seed {seed}: {bytes:?}");
    }
}

/// One input with a few bytes changed, cut out, doubled, or taken from another.
fn changed(corpus: &[Vec<u8>], numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = corpus[numbers.below(corpus.len())].clone();
    for _ in 0..=numbers.below(6) {
        let at = numbers.below(bytes.len() + 1);
        let end = at + numbers.below((bytes.len() - at).min(64) + 1);
        match numbers.below(6) {
            0 => drop(bytes.drain(at..end)),
            1 => {
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
            2 => {
                let other = &corpus[numbers.below(corpus.len())];
                let from = numbers.below(other.len() + 1);
                let piece = other[from..].iter().take(64).copied();
                bytes.splice(at..end, piece);
            }
            3 if at < bytes.len() => bytes[at] ^= 1 << numbers.below(8),
            4 if at < bytes.len() => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][numbers.below(5)],
            _ if at < bytes.len() => bytes[at] = numbers.below(256) as u8,
            _ => bytes.push(0),
        }
    }
    bytes
}

/// Reproducible numbers from a seed (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }
}
