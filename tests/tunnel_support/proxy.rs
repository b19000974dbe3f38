//! A TCP proxy that does to a connection what networks do.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

/// Chunks on their way in one direction: 64 KiB each, so 64 MiB.
const ON_THE_WAY: usize = 1024;

/// What is done to every connection, from now on.
#[derive(Default)]
pub(crate) struct Faults {
    /// What the client sends is lost.
    pub(crate) up_lost: AtomicBool,
    /// What the server sends is lost.
    pub(crate) down_lost: AtomicBool,
    /// Bytes forwarded at a time; 0 for all.
    pub(crate) piece: AtomicUsize,
    /// Bytes a second, in each direction of a connection; 0 for no limit.
    pub(crate) rate: AtomicUsize,
    /// Time on the way, in each direction.
    pub(crate) delay: Mutex<Duration>,
    /// Bytes that came from clients so far.
    pub(crate) up_bytes: AtomicUsize,
    /// Connections taken so far.
    pub(crate) taken: AtomicUsize,
    sockets: Mutex<Vec<(TcpStream, TcpStream)>>,
}

/// The proxy; its threads end with their connections.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    pub(crate) faults: Arc<Faults>,
}

impl Proxy {
    /// Stands in front of `to`.
    pub(crate) fn start(to: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let faults: Arc<Faults> = Arc::default();
        let shared = Arc::clone(&faults);
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                shared.taken.fetch_add(1, Ordering::SeqCst);
                if let Ok(far) = TcpStream::connect(to) {
                    join(&shared, near, far);
                }
            }
        });
        Self { address, faults }
    }

    /// Cuts every connection with a reset.
    pub(crate) fn reset_all(&self) {
        for (near, far) in self.faults.sockets.lock().unwrap().drain(..) {
            for socket in [near, far] {
                let _ = rustix::net::sockopt::set_socket_linger(&socket, Some(Duration::ZERO));
                let _ = socket.shutdown(Shutdown::Both);
            }
        }
    }
}

fn join(faults: &Arc<Faults>, near: TcpStream, far: TcpStream) {
    let _ = (near.set_nodelay(true), far.set_nodelay(true));
    let ends = (near.try_clone().unwrap(), far.try_clone().unwrap());
    faults.sockets.lock().unwrap().push(ends);
    carry(
        faults,
        near.try_clone().unwrap(),
        far.try_clone().unwrap(),
        |faults| &faults.up_lost,
        |faults, count| {
            faults.up_bytes.fetch_add(count, Ordering::SeqCst);
        },
    );
    carry(faults, far, near, |faults| &faults.down_lost, |_, _| ());
}

fn carry(
    faults: &Arc<Faults>,
    mut from: TcpStream,
    mut to: TcpStream,
    lost: fn(&Faults) -> &AtomicBool,
    count: fn(&Faults, usize),
) {
    let (sender, receiver) = mpsc::sync_channel::<(Instant, Vec<u8>)>(ON_THE_WAY);
    let (reading, writing) = (Arc::clone(faults), Arc::clone(faults));
    std::thread::spawn(move || {
        let mut buffer = vec![0; 65536];
        while let Ok(bytes @ 1..) = from.read(&mut buffer) {
            count(&reading, bytes);
            let due = Instant::now() + *reading.delay.lock().unwrap();
            if !lost(&reading).load(Ordering::SeqCst)
                && sender.send((due, buffer[..bytes].to_vec())).is_err()
            {
                return;
            }
        }
    });
    std::thread::spawn(move || {
        for (due, bytes) in receiver {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let piece = match writing.piece.load(Ordering::SeqCst) {
                0 => bytes.len(),
                piece => piece,
            };
            for piece in bytes.chunks(piece) {
                if to.write_all(piece).is_err() {
                    return;
                }
            }
            if let Some(nanos) = (bytes.len() as u64 * 1_000_000_000)
                .checked_div(writing.rate.load(Ordering::SeqCst) as u64)
            {
                std::thread::sleep(Duration::from_nanos(nanos));
            }
        }
        // A connection that was lost tells nobody that it has ended.
        if !lost(&writing).load(Ordering::SeqCst) {
            let _ = to.shutdown(Shutdown::Write);
        }
    });
}
