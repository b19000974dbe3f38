//! How the user of a stream in this process is told that there is something to read.

use std::sync::Arc;
use std::task;

use crate::net::Waker;

/// Reader or writer that waits for a stream.
pub(super) enum WakeUp {
    /// A thread that polls this descriptor.
    Poll(Arc<Waker>),
    /// A task that carries many streams, and keeps a list of those that are ready.
    Task(task::Waker),
}

impl WakeUp {
    pub(super) fn wake(self) {
        match self {
            Self::Poll(waker) => waker.wake(),
            Self::Task(waker) => waker.wake(),
        }
    }
}
