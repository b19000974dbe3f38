//! Waiting for sockets: poll(2), tried again when a signal interrupts it.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

/// A descriptor and what is waited for.
pub(crate) type Interest<'a> = (&'a dyn AsFd, PollFlags);

/// Waits until something is ready or `deadline` has passed (`None`: for ever). What is ready comes in the order of
/// `interests`; nothing is where the time ran out.
pub(crate) fn poll_until<const N: usize>(
    interests: [Interest<'_>; N],
    deadline: Option<Instant>,
) -> io::Result<[PollFlags; N]> {
    let mut fds = interests.map(|(fd, flags)| PollFd::from_borrowed_fd(fd.as_fd(), flags));
    loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        match rustix::event::poll(&mut fds, left.map(timespec).as_ref()) {
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(_) => return Ok(fds.map(|fd| fd.revents())),
        }
    }
}

/// Like [`poll_until`], for `within` from now.
pub(crate) fn poll_within<const N: usize>(
    interests: [Interest<'_>; N],
    within: Duration,
) -> io::Result<[PollFlags; N]> {
    poll_until(interests, Instant::now().checked_add(within))
}

/// Rounded up to a millisecond, so that a wait never ends just before its time.
pub(crate) fn timespec(left: Duration) -> Timespec {
    let left = left.saturating_add(Duration::from_millis(1));
    Timespec {
        tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: left.subsec_nanos().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    #[test]
    fn what_is_ready_is_told_apart_and_time_ends_a_wait() {
        let (mut one, other) = UnixStream::pair().unwrap();
        let (_quiet, silent) = UnixStream::pair().unwrap();
        let both: [Interest<'_>; 2] = [(&silent, PollFlags::IN), (&other, PollFlags::IN)];
        let none = poll_within(both, Duration::from_millis(1)).unwrap();
        assert!(none.iter().all(|flags| flags.is_empty()));
        one.write_all(b"x").unwrap();
        let [first, second] = poll_until(both, None).unwrap();
        assert!(first.is_empty() && second.contains(PollFlags::IN));
    }
}
