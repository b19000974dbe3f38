//! Panics contained: the driver's, since a rogue server's packets can make it panic, which must end one request and
//! nothing else; and the gate's, which must refuse a statement and not pass it.
//!
//! Known limit, mysql 28: for a result set that the driver reads (statements of ours, and a person's over TLS) it reserves 24 bytes for each column that the server announces. A
//! number that no address space holds (3.8e17 and more) panics and is contained, and one that memory may hold ends when
//! the columns do not come. Between the two, from about a thousand million columns on with 24 GB of memory, the
//! allocator fails, which ends the process: stable Rust cannot turn that into a panic. Such a server stops this program
//! and learns nothing by it. A list of columns that really comes and never ends is held in memory until the statement is
//! stopped or its client leaves.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    /// How many calls of [`catch_panic`] the thread is in.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Some work panicked.
#[derive(Debug)]
pub(crate) struct Panicked;

/// Runs `work`, turning a panic into an error. What `work` borrowed mutably must be thrown away by the caller after
/// that error, which is what every caller does with a lost connection.
pub(crate) fn catch_panic<T, E: From<Panicked>>(
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    quieten();
    DEPTH.set(DEPTH.get() + 1);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    DEPTH.set(DEPTH.get() - 1);
    outcome.unwrap_or_else(|_| Err(Panicked.into()))
}

/// A contained panic is told as the error it becomes: it is logged with its place, and not printed.
fn quieten() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if DEPTH.get() == 0 {
                return usual(panic);
            }
            match panic.location() {
                Some(place) => log::debug!("a panic was contained, at {place}"),
                None => log::debug!("a panic was contained"),
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_the_call_alone() {
        let outer = catch_panic(|| {
            let inner = catch_panic(|| -> Result<(), Panicked> { panic!("inner") });
            assert!(inner.is_err());
            Ok::<_, Panicked>(DEPTH.get())
        });
        assert_eq!(outer.unwrap(), 1);
        assert_eq!(DEPTH.get(), 0);
    }
}
