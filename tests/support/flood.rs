//! An application that sends without end, and a visitor who takes nothing of it.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::websocket::read_head;
use super::{TIMEOUT, wait_until};

/// Time without a byte taken after which all buffers on the way are full; one that was busy is only less full.
const QUIET: Duration = Duration::from_millis(300);

/// Sends without end to whoever asks, after the head of an answer, of an upgrade where that was asked for.
pub struct Flood {
    /// Its port.
    pub port: u16,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    written: AtomicU64,
    open: AtomicU64,
}

impl Flood {
    /// Its threads end with the process.
    pub fn start() -> Flood {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let counts = Arc::<Counts>::default();
        let shared = Arc::clone(&counts);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let counts = Arc::clone(&shared);
                std::thread::spawn(move || serve(stream, &counts));
            }
        });
        Flood { port, counts }
    }

    /// Connections that it sends to.
    pub fn open(&self) -> u64 {
        self.counts.open.load(Ordering::SeqCst)
    }

    /// Waits until nobody takes any more of what it sends.
    #[track_caller]
    pub fn wait_stalled(&self) {
        let mut last = 0;
        wait_until(TIMEOUT, "full buffers", || {
            std::thread::sleep(QUIET);
            let written = self.counts.written.load(Ordering::SeqCst);
            std::mem::replace(&mut last, written) == written && written > 0
        });
    }
}

fn serve(mut stream: TcpStream, counts: &Counts) {
    let head = read_head(&mut stream);
    if head.is_empty() || head.starts_with("HEAD ") {
        // A probe that asks whether the application is up.
        let _ =
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        return;
    }
    counts.open.fetch_add(1, Ordering::SeqCst);
    let answer: &[u8] = if head.contains("Upgrade") {
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    } else {
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"
    };
    let mut written = stream.write(answer);
    while let Ok(count) = written {
        counts.written.fetch_add(count as u64, Ordering::SeqCst);
        written = stream.write(&[0; 16 * 1024]);
    }
    counts.open.fetch_sub(1, Ordering::SeqCst);
}

/// Waits until a connection of which nothing was read is reset.
#[track_caller]
pub fn is_reset(visitor: &TcpStream) {
    wait_until(TIMEOUT, "the reset", || {
        visitor.take_error().unwrap().is_some()
    });
}
