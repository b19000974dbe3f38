//! A thread that accepts connections.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::PollFlags;

use super::poll::{Interest, poll_until, poll_within};
use crate::sync::{Thread, spawn_joined};

/// How long nobody is accepted after something failed: without open files left `accept` would fail again at once, for ever.
pub(crate) type Pause = Option<Duration>;

/// A thread that accepts connections until this is dropped; the listener is closed when the drop returns.
#[derive(Debug)]
pub(crate) struct Acceptor {
    /// Closing it wakes the thread.
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Acceptor {
    /// Starts the thread, which gives each connection, or the error in its place, to
    /// `take`. A client that left before it was accepted is nobody's error.
    pub(crate) fn start(
        listener: TcpListener,
        thread: Thread,
        mut take: impl FnMut(io::Result<(TcpStream, SocketAddr)>) -> Pause + Send + 'static,
    ) -> io::Result<Self> {
        let (stop, stopped) = UnixStream::pair()?;
        listener.set_nonblocking(true)?;
        // Accepting waits; it ends when `stop` is closed.
        let accepting = move || accept_all(&listener, &stopped, &mut take);
        let thread = spawn_joined(thread, accepting)?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Accepts nobody more; the listener is closed when this returns.
    pub(crate) fn stop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A panic in `take` was reported when it happened.
            let _ = thread.join();
        }
    }
}

impl Drop for Acceptor {
    fn drop(&mut self) {
        self.stop();
    }
}

fn accept_all(
    listener: &TcpListener,
    stopped: &UnixStream,
    take: &mut impl FnMut(io::Result<(TcpStream, SocketAddr)>) -> Pause,
) {
    let mut pause = None;
    while !is_stopped(listener, stopped, pause.take()) {
        pause = match listener.accept() {
            Err(error) if is_nobody(error.kind()) => None,
            accepted => take(accepted),
        };
    }
}

fn is_nobody(error: io::ErrorKind) -> bool {
    matches!(
        error,
        io::ErrorKind::WouldBlock | io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted
    )
}

/// Waits for a connection, or out the pause.
fn is_stopped(listener: &TcpListener, stopped: &UnixStream, pause: Pause) -> bool {
    let stop: Interest<'_> = (stopped, PollFlags::IN);
    let ready = match pause {
        Some(pause) => poll_within([stop], pause).map(|[stop]| stop),
        None => poll_until([stop, (listener, PollFlags::IN)], None).map(|[stop, _]| stop),
    };
    // Where waiting itself fails, accepting tells.
    ready.is_ok_and(|stop| !stop.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossbeam_channel::unbounded;

    #[test]
    fn connections_come_until_it_is_dropped_and_then_the_port_is_free() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, accepted) = unbounded();
        let acceptor = Acceptor::start(listener, Thread::TunnelAccept, move |taken| {
            sender.send(taken.unwrap().1).unwrap();
            None
        })
        .unwrap();
        let client = TcpStream::connect(address).unwrap();
        assert_eq!(accepted.recv().unwrap(), client.local_addr().unwrap());
        drop(acceptor);
        assert!(TcpStream::connect(address).is_err());
    }
}
