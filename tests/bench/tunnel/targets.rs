//! Targets of the tunnels.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Bytes of a stack: what serves here calls nothing deep.
const STACK: usize = 64 * 1024;
/// Threads that wait for further connections.
const KEPT: usize = 16;
/// Bytes read or written at a time.
pub(crate) const PIECE: usize = 128 * 1024;

pub(crate) struct Targets {
    pub(crate) echo: SocketAddr,
    /// Sends without end.
    pub(crate) flood: SocketAddr,
    /// Reads and drops.
    pub(crate) sink: SocketAddr,
    /// Takes connections and reads nothing.
    pub(crate) stalled: SocketAddr,
    /// Bytes that the sink has read.
    pub(crate) taken: Arc<AtomicU64>,
}

impl Targets {
    pub(crate) fn start() -> Self {
        let taken: Arc<AtomicU64> = Arc::default();
        let counter = Arc::clone(&taken);
        Self {
            echo: each(echo),
            flood: each(flood),
            sink: each(move |stream| sink(stream, &counter)),
            stalled: each(|stream| {
                // Until the other end has gone, which shows without reading.
                let mut fds = [rustix::event::PollFd::new(
                    &stream,
                    rustix::event::PollFlags::RDHUP,
                )];
                let _ = rustix::event::poll(&mut fds, None);
            }),
            taken,
        }
    }
}

fn each(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let target = Arc::new(Target {
        listener: TcpListener::bind("127.0.0.1:0").unwrap(),
        waiting: AtomicUsize::new(0),
        serve: Box::new(serve),
    });
    target.hire();
    target.listener.local_addr().unwrap()
}

/// A listener whose threads wait for connections themselves: to make one for each, or to hand the
/// connection over, would be a good part of what a short connection costs.
struct Target {
    listener: TcpListener,
    waiting: AtomicUsize,
    serve: Box<dyn Fn(TcpStream) + Send + Sync>,
}

impl Target {
    /// One more thread; the first ones live until the program ends.
    fn hire(self: &Arc<Self>) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let own = Arc::clone(self);
        let builder = std::thread::Builder::new().stack_size(STACK);
        builder.spawn(move || own.work()).unwrap();
    }

    fn work(self: Arc<Self>) {
        loop {
            let accepted = self.listener.accept();
            if self.waiting.fetch_sub(1, Ordering::SeqCst) == 1 {
                self.hire();
            }
            if let Ok((stream, _)) = accepted {
                stream.set_nodelay(true).unwrap();
                (self.serve)(stream);
            }
            if self.waiting.fetch_add(1, Ordering::SeqCst) >= KEPT {
                self.waiting.fetch_sub(1, Ordering::SeqCst);
                return;
            }
        }
    }
}

fn echo(mut stream: TcpStream) {
    let mut buffer = [0; 1024];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        if stream.write_all(&buffer[..count]).is_err() {
            return;
        }
    }
    let _ = stream.shutdown(Shutdown::Write);
}

fn flood(mut stream: TcpStream) {
    let piece = vec![1; PIECE];
    while stream.write_all(&piece).is_ok() {}
}

fn sink(mut stream: TcpStream, taken: &AtomicU64) {
    let mut buffer = vec![0; PIECE];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        taken.fetch_add(count as u64, Ordering::Relaxed);
    }
}
