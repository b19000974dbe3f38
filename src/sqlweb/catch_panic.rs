//! Contains panics: of the driver, since a rogue server's packets can make it panic, which must end only one request;
//! and of the gate, which must then refuse the statement.
//!
//! Known limit, mysql 28: for a result set that the driver reads (statements of ours, and a person's over TLS) it
//! reserves 24 bytes for each column that the server announces. A number beyond the address space (3.8e17 and more)
//! panics and is contained; a number that fits in memory fails when the columns do not arrive. In between, from about a
//! thousand million columns on with 24 GB of memory, the allocator fails, which ends the process: stable Rust cannot
//! turn that into a panic. Such a server stops this program and learns nothing by it. An endless list of columns is
//! held in memory until the statement is stopped or its client leaves.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    /// Number of calls of [`catch_panic`] that the thread is in.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Some work panicked.
#[derive(Debug)]
pub(crate) struct Panicked;

/// Runs `work`, turning a panic into an error. After that error the caller must discard everything that `work` borrowed
/// mutably, as every caller does with a lost connection.
pub(crate) fn catch_panic<T, E: From<Panicked>>(
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    quieten();
    DEPTH.set(DEPTH.get() + 1);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    DEPTH.set(DEPTH.get() - 1);
    outcome.unwrap_or_else(|_| Err(Panicked.into()))
}

/// Makes contained panics be logged with their place and not printed.
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
