//! Containment of the driver: a rogue server's packets can make it panic, which must end one request and nothing else.
//!
//! Known limit, mysql 28: for a result set the driver reserves 24 bytes for each column that the server announces. A
//! number that no address space holds (3.8e17 and more) panics and is contained, and one that memory may hold ends when
//! the columns do not come. Between the two, from about a thousand million columns on with 24 GB of memory, the
//! allocator fails, which ends the process: stable Rust cannot turn that into a panic. Such a server stops this program
//! and learns nothing by it. A list of columns that really comes and never ends is held in memory until the statement is
//! stopped or its client leaves.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use super::error::{DbError, NOT_MYSQL};

thread_local! {
    /// How many calls of [`contained`] the thread is in.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Runs `work`, turning a panic into [`DbError::Lost`]. What `work` borrowed mutably must be thrown away by the caller
/// after that error, which is what every caller does with a lost connection.
pub(crate) fn catch_panic<T>(work: impl FnOnce() -> Result<T, DbError>) -> Result<T, DbError> {
    quieten();
    DEPTH.set(DEPTH.get() + 1);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    DEPTH.set(DEPTH.get().saturating_sub(1));
    outcome.unwrap_or_else(|_| Err(DbError::Lost(NOT_MYSQL.into())))
}

/// A contained panic is a server's fault and already told as one: it is logged with its place, and not printed.
fn quieten() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if DEPTH.get() == 0 {
                return usual(panic);
            }
            match panic.location() {
                Some(place) => log::debug!("the driver gave up at {place}"),
                None => log::debug!("the driver gave up"),
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
            let inner = catch_panic(|| -> Result<(), DbError> { panic!("inner") });
            assert!(matches!(inner, Err(DbError::Lost(_))));
            Ok(DEPTH.get())
        });
        assert_eq!(outer.unwrap(), 1);
        assert_eq!(DEPTH.get(), 0);
    }
}
