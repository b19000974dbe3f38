//! The ports that a server holds for its clients, and whose they are.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::tunnel::line::Line;
use crate::tunnel::remote::Remote;

/// Bytes of a listening thread's stack. Default 64 KiB.
const LISTENER_STACK: usize = 64 * 1024;
/// Pause after an accept that failed, for lack of descriptors say. Default 100 ms.
const AFTER_ERROR: Duration = Duration::from_millis(100);
/// Time for the holder of a wanted port to prove that it lives, when its owner has come back
/// over a new connection. Default 1 s: a live one answers in a round trip.
const PROOF_WITHIN: Duration = Duration::from_secs(1);

/// All ports of a server.
#[derive(Default)]
pub(super) struct Ports(Mutex<BTreeMap<SocketAddr, Held>>);

struct Held {
    owner: String,
    line: Arc<Line>,
    _listening: Listening,
}

impl Ports {
    /// Listens on the remote's address for `line`. A port that its owner's dead connection
    /// still holds is freed first.
    pub(super) fn bind(&self, remote: &Remote, owner: &str, line: &Arc<Line>) -> io::Result<()> {
        let address = (remote.local_host.as_str(), remote.local_port)
            .to_socket_addrs()?
            .next()
            .ok_or(io::ErrorKind::AddrNotAvailable)?;
        self.evict_dead(address, owner, line);
        let listener = TcpListener::bind(address)?;
        let listening = Listening::start(listener, Arc::clone(line), remote.target())?;
        let held = Held {
            owner: owner.to_owned(),
            line: Arc::clone(line),
            _listening: listening,
        };
        self.held().insert(address, held);
        Ok(())
    }

    /// Frees what a connection held.
    pub(super) fn release(&self, line: &Arc<Line>) {
        // Under the lock until the listeners are closed: who finds a port free here can bind it.
        // Their threads take no lock.
        self.held().retain(|_, held| !Arc::ptr_eq(&held.line, line));
    }

    fn evict_dead(&self, address: SocketAddr, owner: &str, newcomer: &Arc<Line>) {
        let holder = match self.held().get(&address) {
            Some(held) if held.owner == owner && !Arc::ptr_eq(&held.line, newcomer) => {
                Arc::clone(&held.line)
            }
            _ => return,
        };
        if !holder.probe(PROOF_WITHIN) {
            log::info!("{address} is taken from a connection that is dead");
            holder.stop();
            holder.cut();
            self.release(&holder);
        }
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<SocketAddr, Held>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A listening thread; dropping it closes the port before it returns.
struct Listening {
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Listening {
    fn start(listener: TcpListener, line: Arc<Line>, target: String) -> io::Result<Self> {
        let (stop, stopped) = UnixStream::pair()?;
        listener.set_nonblocking(true)?;
        let target: Arc<str> = target.into();
        // A thread because accepting waits; ends when `stop` is dropped.
        let thread = std::thread::Builder::new()
            .name("tunnel-listen".into())
            .stack_size(LISTENER_STACK)
            .spawn(move || accept_all(&listener, &stopped, &line, &target))?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // It has nothing to say.
            let _ = thread.join();
        }
    }
}

fn accept_all(listener: &TcpListener, stopped: &UnixStream, line: &Arc<Line>, target: &Arc<str>) {
    let mut pause = None;
    while wait(listener, stopped, pause.take()) {
        match listener.accept() {
            Ok((visitor, _)) => {
                if let Err(error) = line.serve_visitor(visitor, target) {
                    log::warn!("a visitor is turned away: no thread: {error}");
                    pause = Some(AFTER_ERROR);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => {
                log::debug!("accepting a visitor failed: {error}");
                pause = Some(AFTER_ERROR);
            }
        }
    }
}

/// Waits for a visitor, or out the pause; false when it is over.
fn wait(listener: &TcpListener, stopped: &UnixStream, pause: Option<Duration>) -> bool {
    let mut both = [
        PollFd::new(stopped, PollFlags::IN),
        PollFd::new(listener, PollFlags::IN),
    ];
    let (fds, time) = match pause.and_then(|pause| Timespec::try_from(pause).ok()) {
        Some(time) => (both.split_at_mut(1).0, Some(time)),
        None => (both.as_mut_slice(), None),
    };
    // An interrupted wait is followed by an accept that finds nobody.
    let _ = poll(fds, time.as_ref());
    let [stop, _] = &both;
    stop.revents().is_empty()
}
