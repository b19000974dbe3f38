//! A load of requests over kept connections, by one thread.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use support::process::processor_time;

/// Figures of a load.
pub(crate) struct Figures {
    /// Sorted.
    trips: Vec<Duration>,
    time: Duration,
    /// Processor time of this process.
    busy: Duration,
}

impl Figures {
    pub(crate) fn at(&self, share: f64) -> Duration {
        self.trips[((self.trips.len() - 1) as f64 * share) as usize]
    }

    pub(crate) fn count(&self) -> f64 {
        self.trips.len() as f64
    }

    pub(crate) fn rate(&self) -> f64 {
        self.count() / self.time.as_secs_f64()
    }

    pub(crate) fn show(&self, what: &str) {
        println!(
            "{what}: {:.0} requests/s, {:.0} µs of processor each, p50 {:?}, p99 {:?}, worst {:?}",
            self.rate(),
            self.busy.as_secs_f64() * 1e6 / self.count(),
            self.at(0.5),
            self.at(0.99),
            self.at(1.0)
        );
    }
}

/// Keeps one request under way on each of `count` connections; anything but a 200 ends it.
pub(crate) fn load(to: SocketAddr, request: &str, count: usize, time: Duration) -> Figures {
    let sockets = (0..count).map(|_| TcpStream::connect(to).unwrap());
    exchange(sockets.collect(), request.as_bytes(), time, |answer| {
        assert!(answer.starts_with(b"HTTP/1.1 200 "), "{answer:?}");
        answer.ends_with(b"hello, world\n")
    })
}

/// Keeps `message` under way on each connection: it is sent again when the answer to it `is_whole`.
pub(crate) fn exchange(
    mut sockets: Vec<TcpStream>,
    message: &[u8],
    time: Duration,
    is_whole: impl Fn(&[u8]) -> bool,
) -> Figures {
    let waiting = Waiting::new();
    let mut sent: Vec<Instant> = Vec::new();
    for (number, socket) in sockets.iter_mut().enumerate() {
        socket.set_nodelay(true).unwrap();
        waiting.add(&*socket, number);
        socket.write_all(message).unwrap();
        sent.push(Instant::now());
    }
    let own = std::process::id();
    let (began, busy) = (Instant::now(), processor_time(own));
    let mut trips = Vec::with_capacity(1 << 20);
    let mut parts: Vec<Vec<u8>> = vec![Vec::new(); sockets.len()];
    let mut buffer = [0; 4096];
    while began.elapsed() < time {
        let ready = waiting.readable();
        assert!(!ready.is_empty(), "nothing for 10 s");
        for at in ready {
            let read = sockets[at].read(&mut buffer).unwrap();
            assert!(read > 0, "an answer was cut: {:?}", parts[at]);
            // Most come at once.
            if !parts[at].is_empty() || !is_whole(&buffer[..read]) {
                parts[at].extend_from_slice(&buffer[..read]);
                if !is_whole(&parts[at]) {
                    continue;
                }
                parts[at].clear();
            }
            trips.push(sent[at].elapsed());
            sent[at] = Instant::now();
            sockets[at].write_all(message).unwrap();
        }
    }
    let time = began.elapsed();
    trips.sort();
    Figures {
        trips,
        time,
        busy: processor_time(own) - busy,
    }
}

/// Sockets that are waited for together, each by its number.
pub(crate) struct Waiting(OwnedFd);

impl Waiting {
    pub(crate) fn new() -> Waiting {
        Waiting(epoll::create(epoll::CreateFlags::CLOEXEC).unwrap())
    }

    pub(crate) fn add(&self, socket: impl AsFd, number: usize) {
        let number = epoll::EventData::new_u64(number as u64);
        epoll::add(&self.0, socket, number, epoll::EventFlags::IN).unwrap();
    }

    /// Numbers of the sockets with something to read; waits until there is one.
    pub(crate) fn readable(&self) -> Vec<usize> {
        let mut events = Vec::with_capacity(64);
        let limit = Timespec {
            tv_sec: 10,
            tv_nsec: 0,
        };
        epoll::wait(&self.0, spare_capacity(&mut events), Some(&limit)).unwrap();
        let numbers = events.iter().map(|event: &epoll::Event| event.data.u64());
        numbers.map(|number| number as usize).collect()
    }
}

/// Megabytes a second.
pub(crate) fn download(from: SocketAddr, request: &str, length: usize) -> f64 {
    let mut socket = TcpStream::connect(from).unwrap();
    let began = Instant::now();
    socket.write_all(request.as_bytes()).unwrap();
    let (mut received, mut buffer) = (0, vec![0; 1 << 17]);
    while received < length {
        let read = socket.read(&mut buffer).unwrap();
        assert!(read > 0, "cut after {received}");
        received += read;
    }
    received as f64 / began.elapsed().as_secs_f64() / 1e6
}
