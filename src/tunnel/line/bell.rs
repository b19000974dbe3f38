//! Wakes a thread that waits by polling.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// A descriptor that is readable from [`Bell::ring`] to [`Bell::clear`].
pub(super) struct Bell(imp::Ends);

impl Bell {
    pub(super) fn new() -> io::Result<Self> {
        imp::Ends::new().map(Self)
    }

    pub(super) fn ring(&self) {
        // One that takes nothing more is readable as it is.
        let _ = self.0.ring();
    }

    /// False when it was not readable.
    pub(super) fn clear(&self) -> bool {
        matches!(self.0.clear(), Ok(1..))
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.readable()
    }
}

#[cfg(target_os = "linux")]
mod imp {
    use std::io;
    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

    use rustix::event::{EventfdFlags, eventfd};

    pub(super) struct Ends(OwnedFd);

    impl Ends {
        pub(super) fn new() -> io::Result<Self> {
            let flags = EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC;
            Ok(Self(eventfd(0, flags)?))
        }

        pub(super) fn ring(&self) -> io::Result<usize> {
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

    pub(super) struct Ends(UnixStream, UnixStream);

    impl Ends {
        pub(super) fn new() -> io::Result<Self> {
            let (one, other) = UnixStream::pair()?;
            one.set_nonblocking(true)?;
            other.set_nonblocking(true)?;
            Ok(Self(one, other))
        }

        pub(super) fn ring(&self) -> io::Result<usize> {
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
        let bell = Bell::new().unwrap();
        assert!(!bell.clear());
        bell.ring();
        bell.ring();
        assert!(bell.clear());
        assert!(!bell.clear());
    }
}
