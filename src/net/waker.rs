//! Wakes a thread that waits by polling.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// A descriptor that is readable from [`Waker::wake`] to [`Waker::clear`].
pub(crate) struct Waker(imp::WakerEnds);

impl Waker {
    /// A pair that is not readable.
    pub(crate) fn new() -> io::Result<Self> {
        imp::WakerEnds::new().map(Self)
    }

    /// Makes it readable.
    pub(crate) fn wake(&self) {
        // One that takes nothing more is readable as it is.
        let _ = self.0.wake();
    }

    /// False when it was not readable.
    pub(crate) fn clear(&self) -> bool {
        matches!(self.0.clear(), Ok(1..))
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.readable()
    }
}

#[cfg(target_os = "linux")]
mod imp {
    use std::io;
    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

    use rustix::event::{EventfdFlags, eventfd};

    pub(super) struct WakerEnds(OwnedFd);

    impl WakerEnds {
        pub(super) fn new() -> io::Result<Self> {
            let flags = EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC;
            Ok(Self(eventfd(0, flags)?))
        }

        pub(super) fn wake(&self) -> io::Result<usize> {
            Ok(rustix::io::write(&self.0, &1u64.to_ne_bytes())?)
        }

        pub(super) fn clear(&self) -> io::Result<usize> {
            Ok(rustix::io::read(&self.0, &mut [0u8; 8])?)
        }

        pub(super) fn readable(&self) -> BorrowedFd<'_> {
            self.0.as_fd()
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use std::io::{self, Read, Write};
    use std::os::fd::{AsFd, BorrowedFd};
    use std::os::unix::net::UnixStream;

    pub(super) struct WakerEnds(UnixStream, UnixStream);

    impl WakerEnds {
        pub(super) fn new() -> io::Result<Self> {
            let (one, other) = UnixStream::pair()?;
            one.set_nonblocking(true)?;
            other.set_nonblocking(true)?;
            Ok(Self(one, other))
        }

        pub(super) fn wake(&self) -> io::Result<usize> {
            (&self.1).write(&[1])
        }

        pub(super) fn clear(&self) -> io::Result<usize> {
            (&self.0).read(&mut [0; 64])
        }

        pub(super) fn readable(&self) -> BorrowedFd<'_> {
            self.0.as_fd()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_rings_is_cleared_at_once() {
        let waker = Waker::new().unwrap();
        assert!(!waker.clear());
        waker.wake();
        waker.wake();
        assert!(waker.clear());
        assert!(!waker.clear());
    }
}
