//! Threads with a name and a stack of their own size: `lib.rs` lists them.

use std::io;
use std::thread;

/// Starts a thread that nobody joins; `stack` is in bytes.
pub(crate) fn spawn(
    name: &str,
    stack: usize,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<()> {
    let thread = thread::Builder::new().name(name.to_owned());
    thread.stack_size(stack).spawn(work).map(drop)
}
