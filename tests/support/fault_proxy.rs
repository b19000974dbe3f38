//! A TCP proxy that does to a connection what networks do.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

/// Chunks on their way in one direction: 64 KiB each, so 64 MiB.
const ON_THE_WAY: usize = 1024;

/// Faults of every connection, from now on.
#[derive(Default)]
pub struct Faults {
    /// Data from the client is lost.
    pub up_lost: AtomicBool,
    /// Data from the server is lost.
    pub down_lost: AtomicBool,
    /// Bytes forwarded at a time; 0 for all.
    pub piece: AtomicUsize,
    /// Bytes a second, in each direction of a connection; 0 for no limit.
    pub rate: AtomicUsize,
    /// Time on the way, in each direction.
    pub delay: Mutex<Duration>,
    /// Closes new connections at once.
    pub refuses: AtomicBool,
    /// Bytes that came from clients so far.
    pub up_bytes: AtomicUsize,
    /// Connections taken so far.
    pub taken: AtomicUsize,
    links: Mutex<BTreeMap<u64, Arc<Link>>>,
    next: AtomicU64,
}

/// One connection, from a client and on to the server.
struct Link {
    near: TcpStream,
    far: TcpStream,
    /// Nothing passes any more, and neither end is told of the other's.
    has_vanished: AtomicBool,
    /// The next chunk of the server's is spoilt.
    is_spoilt: AtomicBool,
    /// Directions that still carry.
    open: AtomicUsize,
}

/// The proxy; its threads end with their connections, and that which accepts with the process.
pub struct Proxy {
    /// Address to connect to.
    pub address: SocketAddr,
    /// Its faults.
    pub faults: Arc<Faults>,
}

/// One direction of a connection.
struct Direction {
    lost: fn(&Faults) -> &AtomicBool,
    is_up: bool,
}

impl Proxy {
    /// Stands in front of `to`.
    pub fn start(to: SocketAddr) -> Self {
        Self::start_at(([127, 0, 0, 1], 0).into(), to)
    }

    /// Listens at an address.
    pub fn start_at(at: SocketAddr, to: SocketAddr) -> Self {
        let listener = TcpListener::bind(at).unwrap_or_else(|e| panic!("cannot bind {at}: {e}"));
        let address = listener.local_addr().expect("it is bound");
        let faults: Arc<Faults> = Arc::default();
        let shared = Arc::clone(&faults);
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                shared.taken.fetch_add(1, Ordering::SeqCst);
                if shared.refuses.load(Ordering::SeqCst) {
                    continue;
                }
                if let Ok(far) = TcpStream::connect(to) {
                    join(&shared, near, far);
                }
            }
        });
        Self { address, faults }
    }

    /// Cuts every connection with a reset.
    pub fn reset_all(&self) {
        for link in std::mem::take(&mut *self.faults.links()).into_values() {
            for socket in [&link.near, &link.far] {
                let _ = rustix::net::sockopt::set_socket_linger(socket, Some(Duration::ZERO));
            }
            link.shut();
        }
    }

    /// Ends every connection as if both ends had closed it.
    pub fn cut_all(&self) {
        for link in std::mem::take(&mut *self.faults.links()).into_values() {
            link.shut();
        }
    }

    /// Every connection is there no more, and neither end learns of it: as where a way through the network is gone.
    pub fn vanish_all(&self) {
        for link in self.faults.links().values() {
            link.has_vanished.store(true, Ordering::SeqCst);
        }
    }

    /// Of the next that the server sends on each connection a byte is another.
    pub fn spoil_all(&self) {
        for link in self.faults.links().values() {
            link.is_spoilt.store(true, Ordering::SeqCst);
        }
    }

    /// New connections, and what passes, are as without it; connections that have vanished end.
    pub fn heal(&self) {
        let faults = &self.faults;
        for flag in [&faults.up_lost, &faults.down_lost, &faults.refuses] {
            flag.store(false, Ordering::SeqCst);
        }
        for number in [&faults.piece, &faults.rate] {
            number.store(0, Ordering::SeqCst);
        }
        *lock(&faults.delay) = Duration::ZERO;
        let mut links = faults.links();
        links.retain(|_, link| {
            let has_vanished = link.has_vanished.load(Ordering::SeqCst);
            if has_vanished {
                link.shut();
            }
            !has_vanished
        });
    }

    /// Connections that are open.
    pub fn open(&self) -> usize {
        self.faults.links().len()
    }
}

impl Faults {
    fn links(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Link>>> {
        lock(&self.links)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Link {
    fn shut(&self) {
        for socket in [&self.near, &self.far] {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// True if data in this direction is discarded.
    fn loses(&self, faults: &Faults, lost: fn(&Faults) -> &AtomicBool) -> bool {
        lost(faults).load(Ordering::SeqCst) || self.has_vanished.load(Ordering::SeqCst)
    }
}

fn join(faults: &Arc<Faults>, near: TcpStream, far: TcpStream) {
    let _ = (near.set_nodelay(true), far.set_nodelay(true));
    let clone = |socket: &TcpStream| socket.try_clone().expect("a descriptor is left");
    let link = Arc::new(Link {
        near: clone(&near),
        far: clone(&far),
        has_vanished: AtomicBool::new(false),
        is_spoilt: AtomicBool::new(false),
        open: AtomicUsize::new(2),
    });
    let id = faults.next.fetch_add(1, Ordering::SeqCst);
    faults.links().insert(id, Arc::clone(&link));
    let up = Direction {
        lost: |faults| &faults.up_lost,
        is_up: true,
    };
    let down = Direction {
        lost: |faults| &faults.down_lost,
        is_up: false,
    };
    carry((faults, id, &link), clone(&near), clone(&far), up);
    carry((faults, id, &link), far, near, down);
}

fn carry(
    (faults, id, link): (&Arc<Faults>, u64, &Arc<Link>),
    mut from: TcpStream,
    mut to: TcpStream,
    direction: Direction,
) {
    let (sender, receiver) = mpsc::sync_channel::<(Instant, Vec<u8>)>(ON_THE_WAY);
    let (reading, writing) = (Arc::clone(faults), Arc::clone(faults));
    let (of_reader, of_writer) = (Arc::clone(link), Arc::clone(link));
    let Direction { lost, is_up } = direction;
    std::thread::spawn(move || {
        let mut buffer = vec![0; 65536];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            if is_up {
                reading.up_bytes.fetch_add(count, Ordering::SeqCst);
            } else if of_reader.is_spoilt.swap(false, Ordering::SeqCst) {
                buffer[count / 2] ^= 0x55;
            }
            let due = Instant::now() + *lock(&reading.delay);
            if !of_reader.loses(&reading, lost)
                && sender.send((due, buffer[..count].to_vec())).is_err()
            {
                return;
            }
        }
    });
    std::thread::spawn(move || {
        let is_whole = pass_on(&writing, receiver, &mut to);
        // A connection that was lost tells nobody that it has ended.
        if !of_writer.loses(&writing, lost) {
            let how = if is_whole {
                Shutdown::Write
            } else {
                Shutdown::Both
            };
            let _ = to.shutdown(how);
        }
        if of_writer.open.fetch_sub(1, Ordering::SeqCst) == 1 {
            writing.links().remove(&id);
        }
    });
}

/// Forwards all chunks; false if that failed.
fn pass_on(
    faults: &Faults,
    chunks: mpsc::Receiver<(Instant, Vec<u8>)>,
    to: &mut TcpStream,
) -> bool {
    for (due, bytes) in chunks {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let piece = match faults.piece.load(Ordering::SeqCst) {
            0 => bytes.len(),
            piece => piece,
        };
        for piece in bytes.chunks(piece) {
            if to.write_all(piece).is_err() {
                return false;
            }
        }
        let rate = faults.rate.load(Ordering::SeqCst) as u64;
        if let Some(nanos) = (bytes.len() as u64 * 1_000_000_000).checked_div(rate) {
            std::thread::sleep(Duration::from_nanos(nanos));
        }
    }
    true
}
