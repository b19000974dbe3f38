//! Upstream of the server: tiny_http on a private Unix socket, its workers, and the table of running requests.

use std::collections::HashMap;
use std::fs::{DirBuilder, Permissions};
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::h1::body::Framing;
use super::h1::head::Head;
use super::h1::hop_by_hop::is_hop_by_hop;
use super::server::{Backend, PendingResponse, UpstreamConnection};
use super::{CancelToken, Handler, Request};
use crate::sync::{Mutex, Thread, spawn};

/// Header with the number of the request in this process's table. Only the server writes it.
const ID_HEADER: &str = "x-postern-request";
/// Header names that only the server may use.
const OWN_PREFIX: &str = "x-postern-";

/// Pause between two attempts to make a listener: the missing files or threads must first be given back.
const BACK_OFF: Duration = Duration::from_millis(20);
/// Time in which the threads of a lost listener still deliver requests that they had begun to read.
const LATE_REQUESTS: Duration = Duration::from_millis(200);

static NEXT_SOCKET: AtomicU64 = AtomicU64::new(0);

/// tiny_http with its socket, its workers and their requests.
pub(super) struct Workers {
    run_dir: PathBuf,
    count: usize,
    handler: Arc<dyn Handler>,
    /// `None` once stopped.
    current: Mutex<Option<Arc<TinyServer>>>,
    pending: Arc<PendingRequests>,
    stopping: AtomicBool,
    ended: Receiver<()>,
}

/// A tiny_http server on one socket file.
struct TinyServer {
    server: tiny_http::Server,
    socket: PathBuf,
}

/// Running requests, by id.
#[derive(Default)]
struct PendingRequests {
    next: AtomicU64,
    by_id: Mutex<HashMap<u64, Arc<PendingRequest>>>,
}

/// Data of a request that tiny_http cannot carry.
struct PendingRequest {
    peer: SocketAddr,
    client: CancelToken,
    is_streamed: bool,
    taken: AtomicBool,
}

impl Workers {
    /// Opens the socket in `run_dir` and starts `count` workers.
    pub(super) fn start(
        run_dir: &Path,
        count: usize,
        handler: &Arc<dyn Handler>,
    ) -> io::Result<Arc<Workers>> {
        prepare_dir(run_dir)?;
        let count = count.max(1);
        let (ending, ended) = bounded(count);
        let workers = Arc::new(Workers {
            run_dir: run_dir.to_owned(),
            count,
            handler: handler.clone(),
            current: Mutex::new(Some(Arc::new(TinyServer::open(run_dir)?))),
            pending: Arc::default(),
            stopping: AtomicBool::new(false),
            ended,
        });
        for _ in 0..count {
            if let Err(error) = workers.spawn(&ending) {
                workers.stop(Duration::ZERO); // those that were spawned
                return Err(error);
            }
        }
        Ok(workers)
    }

    fn spawn(self: &Arc<Self>, ending: &Sender<()>) -> io::Result<()> {
        let (workers, ending) = (self.clone(), ending.clone());
        // Answers requests until the server stops.
        spawn(Thread::HttpWorker, move || {
            workers.work(workers.handler.as_ref());
            let _ = ending.send(());
        })
        .map(drop)
    }

    /// Ends the workers that are not inside a handler, and removes the socket. Returns
    /// after at most `time`.
    pub(super) fn stop(&self, time: Duration) {
        self.stopping.store(true, Ordering::SeqCst);
        let Some(current) = self.current.lock().take() else {
            return;
        };
        let until = Instant::now() + time;
        for _ in 0..self.count {
            current.server.unblock();
        }
        for _ in 0..self.count {
            if self.ended.recv_deadline(until).is_err() {
                log::warn!("http: a handler is still running at shutdown");
                break;
            }
        }
        let socket = current.socket.clone();
        drop(current); // tiny_http ends its accept thread by connecting to the socket
        let _ = fs::remove_file(socket);
    }

    fn work(&self, handler: &dyn Handler) {
        while let Some(current) = self.current() {
            match current.server.recv() {
                Ok(request) => self.dispatch(request, handler),
                Err(_) if self.is_stopping() => {}
                Err(_) => self.leave(&current, handler),
            }
        }
    }

    /// Goes on to the listener that replaces a dead one, after serving the requests that the dead one had begun to
    /// read.
    fn leave(&self, dead: &Arc<TinyServer>, handler: &dyn Handler) {
        while !self.replace(dead) && !self.is_stopping() {
            thread::sleep(BACK_OFF);
        }
        let until = Instant::now() + LATE_REQUESTS;
        let mut left = LATE_REQUESTS;
        while !left.is_zero() {
            if let Ok(Some(request)) = dead.server.recv_timeout(left) {
                self.dispatch(request, handler);
            }
            left = until.saturating_duration_since(Instant::now());
        }
    }

    /// Serves a request. A worker outlives a panic; the request has answered 500 by being dropped.
    fn dispatch(&self, request: tiny_http::Request, handler: &dyn Handler) {
        let Some(pending) = self.find(&request) else {
            return; // its client has gone, or it did not come through the server
        };
        pending.taken.store(true, Ordering::SeqCst);
        let (peer, client) = (pending.peer.ip(), pending.client.clone());
        let read = if pending.is_streamed {
            Request::read_streamed
        } else {
            Request::read
        };
        let handle = || match read(request, peer, client) {
            Ok(request) => handler.handle(request),
            Err(error) => log::warn!("http: cannot read a request: {error}"),
        };
        if catch_unwind(AssertUnwindSafe(handle)).is_err() {
            log::error!("http: a handler panicked");
        }
    }

    fn find(&self, request: &tiny_http::Request) -> Option<Arc<PendingRequest>> {
        let id = request
            .headers()
            .iter()
            .find(|header| header.field.equiv(ID_HEADER))
            .and_then(|header| header.value.as_str().parse().ok())?;
        self.pending.by_id.lock().get(&id).cloned()
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    fn current(&self) -> Option<Arc<TinyServer>> {
        self.current.lock().clone()
    }

    fn connect(&self) -> io::Result<UnixStream> {
        let stopped = || io::Error::from(io::ErrorKind::NotConnected);
        let current = self.current().ok_or_else(stopped)?;
        match UnixStream::connect(&current.socket) {
            Err(error) if is_dead(&error) => {}
            connected => return connected,
        }
        self.replace(&current);
        let replaced = self.current().ok_or_else(stopped)?;
        UnixStream::connect(&replaced.socket)
    }

    /// Replaces a dead listener. tiny_http's accept thread ends at its first error or panic, and its listener with it;
    /// workers that wait at the old one are woken. False if there is no listener and none can be made now.
    fn replace(&self, dead: &Arc<TinyServer>) -> bool {
        let mut current = self.current.lock();
        let is_current = current.as_ref().is_some_and(|now| Arc::ptr_eq(now, dead));
        if !is_current || UnixStream::connect(&dead.socket).is_ok() {
            return true;
        }
        match TinyServer::open(&self.run_dir) {
            Ok(server) => {
                log::warn!("http: the lost listener of the workers was recreated");
                *current = Some(Arc::new(server));
            }
            Err(error) => {
                log::error!("http: cannot create the listener of the workers: {error}");
                return false;
            }
        }
        drop(current);
        for _ in 0..self.count {
            dead.server.unblock();
        }
        true
    }
}

fn is_dead(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound
    )
}

impl TinyServer {
    fn open(run_dir: &Path) -> io::Result<TinyServer> {
        let number = NEXT_SOCKET.fetch_add(1, Ordering::Relaxed);
        let socket = run_dir.join(format!("http-{}-{number}.sock", std::process::id()));
        let _ = fs::remove_file(&socket); // of a dead process with our number
        let listener = UnixListener::bind(&socket).map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", socket.display()))
        })?;
        fs::set_permissions(&socket, Permissions::from_mode(0o600))?;
        // tiny_http panics if there is no thread.
        let start = || tiny_http::Server::from_listener(listener, None);
        let started =
            catch_unwind(AssertUnwindSafe(start)).map_err(|_| rustix::io::Errno::AGAIN)?;
        let server = started.map_err(io::Error::other)?;
        Ok(TinyServer { server, socket })
    }
}

/// Makes the directory. It keeps others away from the socket, so it must be ours alone.
fn prepare_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let is = fs::metadata(dir)?;
    let ours = is.uid() == rustix::process::geteuid().as_raw();
    if ours && is.mode() & 0o077 == 0 {
        return Ok(());
    }
    let message = format!(
        "{} is open to other users: run 'chmod 700' on it",
        dir.display()
    );
    Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
}

impl Backend for Workers {
    fn streams(&self, method: &str, path: &str) -> bool {
        self.handler.streams(method, path)
    }

    fn open(
        &self,
        head: &Head,
        body: Option<&[u8]>,
        peer: SocketAddr,
        client: &CancelToken,
    ) -> io::Result<UpstreamConnection> {
        let id = self.pending.next.fetch_add(1, Ordering::Relaxed);
        let request = Arc::new(PendingRequest {
            peer,
            client: client.clone(),
            is_streamed: body.is_none(),
            taken: AtomicBool::new(false),
        });
        self.pending.by_id.lock().insert(id, Arc::clone(&request));
        let pending = Box::new(PendingEntry {
            id,
            request,
            all: Arc::clone(&self.pending),
        });
        let socket = self.connect()?;
        socket.set_nonblocking(true)?;
        Ok(UpstreamConnection {
            socket,
            request: serialise(head, body, id),
            pending,
        })
    }
}

/// Entry of a request in the table; removed when dropped.
struct PendingEntry {
    id: u64,
    request: Arc<PendingRequest>,
    all: Arc<PendingRequests>,
}

impl PendingResponse for PendingEntry {
    fn is_taken(&self) -> bool {
        self.request.taken.load(Ordering::SeqCst)
    }
}

impl Drop for PendingEntry {
    fn drop(&mut self) {
        self.all.by_id.lock().remove(&self.id);
    }
}

/// Returns the request in tiny_http's form: one request, one connection, plain ASCII, with framing and our own headers
/// written afresh.
fn serialise(head: &Head, body: Option<&[u8]>, id: u64) -> Vec<u8> {
    let mut out = format!("{} {} HTTP/1.1\r\n", head.method, head.target);
    for (name, value) in head.headers.iter().filter(|(name, _)| passes(name)) {
        if let Some(value) = plain(name, value) {
            out.push_str(&format!("{name}: {value}\r\n"));
        }
    }
    out.push_str(&format!("{ID_HEADER}: {id}\r\n"));
    let mut connection = "close";
    match (body, head.framing) {
        (Some(body), _) => out.push_str(&format!("content-length: {}\r\n", body.len())),
        (None, Framing::Length(length)) => {
            out.push_str(&format!("content-length: {length}\r\n"));
            // Otherwise tiny_http would read the unread rest into one buffer of that length, and on a 32-bit machine take
            // one above 4 GiB for none.
            connection = "upgrade";
        }
        // A request without a length has no body (RFC 9112 section 6.3).
        (None, Framing::UntilClose) => out.push_str("content-length: 0\r\n"),
        (None, Framing::Chunked) => out.push_str("transfer-encoding: chunked\r\n"),
    }
    out.push_str(&format!("connection: {connection}\r\n\r\n"));
    let mut out = out.into_bytes();
    out.extend_from_slice(body.unwrap_or_default());
    out
}

fn passes(name: &str) -> bool {
    let is_own = name.to_ascii_lowercase().starts_with(OWN_PREFIX);
    !is_hop_by_hop(name) && !name.eq_ignore_ascii_case("expect") && !is_own
}

/// Returns the value in plain ASCII; tiny_http drops a connection at any other byte. Cookies are shared by all programs
/// on a host, so a cookie of another program may hold such bytes: it is left out, like any other header with them.
fn plain(name: &str, value: &[u8]) -> Option<String> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
    if !name.eq_ignore_ascii_case("cookie") {
        return text(value).filter(|value| value.is_ascii());
    }
    let kept: Vec<String> = value
        .split(|&byte| byte == b';')
        .filter_map(|pair| text(pair.trim_ascii()))
        .filter(|pair| pair.is_ascii())
        .collect();
    Some(kept.join("; "))
}
