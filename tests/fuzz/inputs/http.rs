//! Input of any kind: no panic, and one verdict however it is split.
//!
//! Shared by the fuzz target and by the test that feeds the vectors (`tests/http/vectors.rs`).

use postern::http::Limits;
use postern::http::h1::body::Body;
use postern::http::h1::head::Target;
use postern::http::h1::head::{Head, HeadScan};

/// The verdict, and what a body makes of the bytes after the head.
fn read(input: &[u8], split: usize) -> Option<(Head, usize)> {
    let limits = Limits::default();
    let mut scan = HeadScan::default();
    let mut end = 0;
    while end < input.len() {
        end = (end + split).min(input.len());
        if let Some(range) = scan.scan(&input[..end], limits.head).ok()? {
            let next = range.end;
            let head = Head::parse(&input[range], limits.headers).ok()?;
            let _ = Target::parse(&head.target);
            let taken = follow(Body::new(head.framing), &input[next..], split);
            return Some((head, taken));
        }
    }
    None
}

fn follow(mut body: Body, input: &[u8], split: usize) -> usize {
    let mut at = 0;
    while at < input.len() && !body.is_done() {
        let piece = &input[at..(at + split).min(input.len())];
        match body.step(piece) {
            Ok(step) if step.consumed > 0 => at += step.consumed,
            _ => return usize::MAX,
        }
    }
    at
}

/// Reads a head and its body, whole and in pieces.
pub(super) fn run(input: &[u8]) {
    let whole = read(input, input.len().max(1));
    for split in [1, 3, 64] {
        assert_eq!(read(input, split), whole);
    }
}
