//! Between postern and a database: everything passes, until a text is seen on its way to the server. Then nothing does any
//! more, or that connection is lost.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, Mutex};

/// At which text it stops, and whether the server gets that yet.
#[derive(Clone, Copy)]
pub(super) struct StopAt {
    pub(super) text: &'static str,
    pub(super) after: bool,
    /// True if that connection is closed, once: later ones pass.
    pub(super) cuts: bool,
}

/// The tap; it ends with the test's process.
pub(super) struct Tap {
    pub(super) port: u16,
    /// The server's port.
    pub(super) server: Arc<AtomicU16>,
    stop_at: Arc<Mutex<Option<StopAt>>>,
    was_hit: Arc<AtomicBool>,
}

impl Tap {
    pub(super) fn before(server: u16) -> Tap {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let tap = Tap {
            port: listener.local_addr().unwrap().port(),
            server: Arc::new(server.into()),
            stop_at: Arc::default(),
            was_hit: Arc::default(),
        };
        let (stop_at, was_hit) = (Arc::clone(&tap.stop_at), Arc::clone(&tap.was_hit));
        let server = Arc::clone(&tap.server);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = server.load(Ordering::SeqCst);
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else {
                    continue;
                };
                join(client, server, &stop_at, &was_hit);
            }
        });
        tap
    }

    /// Nothing more passes on a connection once this is seen there; `None` lets all pass.
    pub(super) fn stop_at(&self, stop_at: Option<StopAt>) {
        self.was_hit.store(false, Ordering::SeqCst);
        *self.stop_at.lock().unwrap() = stop_at;
    }

    /// True if the text was seen. If the text passes, it was also answered.
    pub(super) fn was_hit(&self) -> bool {
        self.was_hit.load(Ordering::SeqCst)
    }
}

fn join(
    client: TcpStream,
    server: TcpStream,
    stop_at: &Arc<Mutex<Option<StopAt>>>,
    was_hit: &Arc<AtomicBool>,
) {
    let is_stopped = Arc::new(AtomicBool::new(false));
    let is_cut = Arc::new(AtomicBool::new(false));
    let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let (stop_at, hit, stopped) = (stop_at.clone(), was_hit.clone(), is_stopped.clone());
    let cut = is_cut.clone();
    std::thread::spawn(move || {
        copy(&mut from, |bytes| {
            let mut stop_at = stop_at.lock().unwrap();
            if let Some(wanted) = stop_at.filter(|wanted| has(bytes, wanted.text)) {
                stopped.store(true, Ordering::SeqCst);
                if wanted.cuts {
                    *stop_at = None;
                    cut.store(true, Ordering::SeqCst);
                }
                if wanted.after {
                    return to.write_all(bytes).is_ok();
                }
                hit.store(true, Ordering::SeqCst);
                return !wanted.cuts;
            }
            drop(stop_at);
            stopped.load(Ordering::SeqCst) || to.write_all(bytes).is_ok()
        });
        let _ = to.shutdown(Shutdown::Both);
    });
    let (mut from, mut to, hit) = (server, client, was_hit.clone());
    std::thread::spawn(move || {
        copy(&mut from, |bytes| {
            if is_stopped.load(Ordering::SeqCst) {
                hit.store(true, Ordering::SeqCst);
                return !is_cut.load(Ordering::SeqCst);
            }
            to.write_all(bytes).is_ok()
        });
        let _ = to.shutdown(Shutdown::Both);
    });
}

fn copy(from: &mut TcpStream, mut each: impl FnMut(&[u8]) -> bool) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(n) = from.read(&mut buffer) {
        if n == 0 || !each(&buffer[..n]) {
            return;
        }
    }
}

fn has(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|w| w == text.as_bytes())
}
