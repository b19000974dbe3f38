//! Makes connections to the database, within a time and up to a cap; counts those that were given up while the server
//! was at work; and remembers the servers behind the address.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use mysql::Conn;

use super::db_conn::{DbConn, READ_TIMEOUT};
use super::identity::IdentityQuery;
use super::server_info::{ServerInfo, WriteState};
use super::socket_handle::{SocketHandle, WeakSocketHandle};
use super::wire::LastStatus;
use crate::net::authority::resolve;
use crate::sqlweb::catch_panic::catch_panic;
use crate::sqlweb::error::DbError;
use crate::sqlweb::held::HeldState;
use crate::sqlweb::limits::{MAX_PACKET, MAX_PACKET_SHARED};
use crate::sqlweb::options::{Options, Target};
use crate::sync::{Mutex, Permit, Permits, Thread, spawn};

/// Time for TCP, TLS and sign-in together, on all addresses of the name.
pub(super) const HANDSHAKE_TIMEOUT: Duration = crate::limits::DB_SIGN_IN;

/// Time that a given-up connection counts if its server cannot be asked, since it was restarted or is unreachable.
const UNSEEN_TIMEOUT: Duration = Duration::from_secs(120);

/// Time that a given-up connection counts while the server lists it.
const LISTED_TIMEOUT: Duration = Duration::from_secs(3600);

/// Longest pause between two looks for a given-up connection.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Maximum number of remembered servers; each start of a server counts as one.
const MAX_SERVERS: usize = 64;

/// Makes connections and counts them.
pub(crate) struct Connector {
    pub(super) options: Arc<Options>,
    /// Largest packet, in bytes.
    pub(super) max_packet: usize,
    /// State of TLS on the server; see `dial.rs`.
    pub(super) offers_tls: AtomicU8,
    /// True if the account last signed in by `sha256_password`.
    pub(super) by_sha256: AtomicBool,
    in_use: Permits,
    /// User who signs in: a guest account is renamed when it is extended.
    user: Mutex<Arc<str>>,
    /// Gets a message when a connection could not be made or was lost.
    missed: (Sender<()>, Receiver<()>),
    /// Query for a server's identity.
    pub(super) question: IdentityQuery,
    /// Servers that connections have reached.
    pub(super) servers: KnownServers,
    /// Short connections of ours, each with the time by which it must have ended.
    pub(super) controls: Mutex<Vec<(Instant, WeakSocketHandle)>>,
    /// Connections that were given up while the server was at work.
    pub(super) abandoned: AbandonedConns,
}

impl Connector {
    /// A connector for the server and account in `options`.
    pub(crate) fn new(options: Arc<Options>) -> Self {
        let is_shared = options.readonly || options.invisible;
        Self {
            max_packet: if is_shared {
                *MAX_PACKET_SHARED
            } else {
                *MAX_PACKET
            },
            offers_tls: AtomicU8::default(),
            by_sha256: AtomicBool::new(false),
            in_use: Permits::default(),
            user: Mutex::new(options.user.as_str().into()),
            missed: crossbeam_channel::bounded(1),
            question: IdentityQuery::default(),
            servers: KnownServers::default(),
            controls: Mutex::default(),
            abandoned: AbandonedConns::default(),
            options,
        }
    }

    /// Returns the user who signs in.
    pub(crate) fn user(&self) -> Arc<str> {
        self.user.lock().clone()
    }

    /// Sets the user who signs in; existing connections can no longer be used.
    pub(crate) fn set_user(&self, user: &str) {
        *self.user.lock() = user.into();
    }

    /// Signals that a connection was refused or lost, so the database may be unreachable.
    pub(crate) fn miss(&self) {
        // One message is enough.
        let _ = self.missed.0.try_send(());
    }

    /// Returns a channel that gets a message, if it has room, when a connection could not be made or was lost.
    pub(crate) fn missed(&self) -> Receiver<()> {
        self.missed.1.clone()
    }

    /// A new counted connection that knows only its server's identity; fails at `most` connections.
    pub(super) fn counted(self: &Arc<Self>, most: usize) -> Result<DbConn, DbError> {
        let permit = self.in_use.take(most).ok_or(DbError::Busy)?;
        let conn = self.connect_with(Some(permit), HANDSHAKE_TIMEOUT);
        let mut conn = conn.inspect_err(|_| self.miss())?;
        conn.socket.set_read_timeout(Some(READ_TIMEOUT));
        self.question.ask(&mut conn)?;
        Ok(conn)
    }

    /// A connection outside the cap for a few short queries about another one.
    pub(super) fn control_connection(self: &Arc<Self>, time: Duration) -> Result<DbConn, DbError> {
        let mut conn = self.connect_with(None, time)?;
        conn.socket.set_read_timeout(Some(time));
        let until = Instant::now() + 2 * time;
        self.controls.lock().push((until, conn.socket.weak()));
        self.question.ask(&mut conn)?;
        Ok(conn)
    }

    /// Connects for work on the server's accounts, each answer within `time`.
    pub(crate) fn administer(self: &Arc<Self>, time: Duration) -> Result<DbConn, DbError> {
        let mut conn = self.connect_with(None, time)?;
        conn.socket.set_read_timeout(Some(time));
        self.question.ask(&mut conn)?;
        Ok(conn)
    }

    /// Shuts down control connections that are too old, since the answer to a short query may be endless.
    pub(crate) fn end_overdue_controls(&self) {
        let now = Instant::now();
        self.controls
            .lock()
            .retain(|(until, socket)| match socket.get() {
                Some(socket) if *until < now => {
                    socket.shut_down();
                    false
                }
                socket => socket.is_some(),
            });
    }

    /// Gives up a connection on which the server may be at work; it counts until that has ended.
    pub(crate) fn give_up(&self, conn: DbConn) {
        conn.socket.shut_down();
        drop((conn.driver, conn.socket));
        let permits = [conn.permit, conn.of_visitor];
        self.abandoned.add(conn.id, conn.server, permits);
    }

    /// True if there are counted connections.
    pub(crate) fn is_in_use(&self) -> bool {
        self.in_use.out() > 0
    }

    /// Connects on a thread of its own, since the driver's handshake cannot be given a deadline; a thread that is
    /// left behind keeps its permit until it ends, so that there are never more than the cap.
    fn connect_with(
        self: &Arc<Self>,
        permit: Option<Permit>,
        timeout: Duration,
    ) -> Result<DbConn, DbError> {
        let (sender, receiver) = crossbeam_channel::bounded(1);
        let (this, user) = (self.clone(), self.user());
        let signing_in = move || {
            let signed_in = catch_panic(|| this.sign_in()).map_err(|error| match error {
                DbError::Lost(why) => this.unreachable(&why),
                DbError::Statement(error) => DbError::Denied(error),
                other => other,
            });
            let made = signed_in
                .and_then(|(driver, has_tls)| this.with_socket(driver, has_tls, user, permit));
            let _ = sender.send(made);
        };
        spawn(Thread::DbConnect, signing_in)
            .map_err(|error| self.unreachable(&format!("no thread: {error}")))?;
        match receiver.recv_timeout(timeout) {
            Ok(made) => made,
            Err(RecvTimeoutError::Timeout) => Err(self.unreachable(&format!(
                "the handshake did not finish within {} s",
                timeout.as_secs()
            ))),
            Err(RecvTimeoutError::Disconnected) => Err(self.unreachable("the handshake failed")),
        }
    }

    /// Adds the handle on its socket, without which a connection could not be ended; fails if a supported handle is
    /// missing.
    fn with_socket(
        &self,
        driver: Conn,
        has_tls: bool,
        user: Arc<str>,
        permit: Option<Permit>,
    ) -> Result<DbConn, DbError> {
        let socket = SocketHandle::of(&driver);
        if SocketHandle::is_supported() && !socket.is_some() {
            return Err(self.unreachable("no more files can be opened"));
        }
        Ok(DbConn {
            socket,
            user,
            id: driver.connection_id().into(),
            driver,
            moved: false,
            server: None,
            name: None,
            is_shared: false,
            info: None,
            is_dated: false,
            has_state: false,
            charset_unsure: false,
            database_unsure: false,
            row_count: None,
            held: HeldState::default(),
            max_packet: self.max_packet,
            has_tls,
            status: LastStatus::default(),
            takes_several: Some(true),
            permit,
            of_visitor: None,
        })
    }

    /// Signs in; returns true beside the connection if the driver has TLS.
    fn sign_in(&self) -> Result<(Conn, bool), DbError> {
        let Target::Tcp { host, port } = &self.options.target else {
            return self.dial(None);
        };
        let addresses = self.resolve(host, *port)?;
        first_reached(addresses, |address| self.dial(Some(address)))
            .unwrap_or_else(|| Err(self.unreachable("the name has no address")))
    }

    /// Resolves the name, since the driver would give up at the first address that refuses.
    fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, DbError> {
        resolve(host, port).map_err(|_| self.unreachable("the host name was not found"))
    }

    pub(super) fn unreachable(&self, why: &str) -> DbError {
        DbError::Unreachable(format!("cannot connect to {}: {why}", self.options.target))
    }
}

/// Dials one address after the other until one is reached, and returns its outcome, or the last failure.
fn first_reached<T>(
    addresses: Vec<SocketAddr>,
    dial: impl Fn(SocketAddr) -> Result<T, DbError>,
) -> Option<Result<T, DbError>> {
    let mut last = None;
    for address in addresses {
        let outcome = dial(address);
        let reached = !matches!(outcome, Err(DbError::Unreachable(_)));
        last = Some(outcome);
        if reached {
            break;
        }
    }
    last
}

/// Connections that were given up while the server was at work on them. Each counts under the cap until the server's
/// process list no longer shows it, so that a statement that ignores `KILL` makes no room for the next one.
#[derive(Default)]
pub(crate) struct AbandonedConns {
    all: Mutex<Vec<AbandonedConn>>,
    /// True while a thread reads the process list.
    pub(super) looking: AtomicBool,
}

struct AbandonedConn {
    id: u64,
    server: Option<Arc<str>>,
    since: Instant,
    next: Instant,
    /// Time when it was last listed; initially when it was given up.
    seen: Instant,
    _permits: [Option<Permit>; 2],
}

impl AbandonedConn {
    fn is_over(&self) -> bool {
        let over = self.since.elapsed() > LISTED_TIMEOUT || self.seen.elapsed() > UNSEEN_TIMEOUT;
        if over {
            let id = self.id;
            log::warn!(
                "abandoned connection {id} may still be running on its server, but is no longer counted"
            );
        }
        over
    }
}

impl AbandonedConns {
    /// Adds a connection, which the next round looks for.
    pub(super) fn add(&self, id: u64, server: Option<Arc<str>>, permits: [Option<Permit>; 2]) {
        let now = Instant::now();
        self.all.lock().push(AbandonedConn {
            id,
            server,
            since: now,
            next: now,
            seen: now,
            _permits: permits,
        });
    }

    /// True if a look is due.
    pub(super) fn due(&self) -> bool {
        let now = Instant::now();
        let mut all = self.all.lock();
        all.retain(|conn| !conn.is_over());
        all.iter()
            .any(|conn| conn.server.is_some() && conn.next <= now)
    }

    /// Ids of the connections on `server`.
    pub(super) fn on(&self, server: Option<&Arc<str>>) -> Vec<u64> {
        let all = self.all.lock();
        let there = all
            .iter()
            .filter(|conn| server.is_some() && conn.server.as_ref() == server);
        there.map(|conn| conn.id).collect()
    }

    /// Notes that a connection is listed, or removes it.
    pub(super) fn note(&self, server: Option<&Arc<str>>, id: u64, is_listed: bool) {
        let is_it = |conn: &AbandonedConn| conn.id == id && conn.server.as_ref() == server;
        let mut all = self.all.lock();
        all.retain(|conn| is_listed || !is_it(conn));
        for conn in all.iter_mut().filter(|conn| is_it(conn)) {
            conn.seen = Instant::now();
        }
    }

    /// Sets the next look for each connection: the longer it lasts, the later.
    pub(super) fn postpone(&self) {
        let now = Instant::now();
        for conn in self.all.lock().iter_mut().filter(|conn| conn.next <= now) {
            conn.next = now + LONGEST_PAUSE.min(conn.since.elapsed() / 10);
        }
    }
}

/// Facts of the servers behind the address, by identity; all without a known identity count as one. A balancer may lead
/// each connection to another server, a failover all of them.
#[derive(Default)]
pub(crate) struct KnownServers(Mutex<KnownIdentity>);

#[derive(Default)]
struct KnownIdentity {
    all: HashMap<Identity, Arc<ServerInfo>>,
    /// The server that a connection reached last.
    last: Option<Arc<ServerInfo>>,
    write_state: WriteState,
}

type Identity = Option<Arc<str>>;

impl KnownServers {
    /// Returns the facts of a known server, which becomes the last one.
    pub(super) fn meet(&self, server: &Identity) -> Option<Arc<ServerInfo>> {
        let mut known = self.0.lock();
        let info = known.all.get(server).cloned()?;
        known.last = Some(info.clone());
        Some(info)
    }

    /// Notes the facts of a server, which becomes the last one.
    pub(super) fn learn(&self, server: Identity, info: ServerInfo) -> Arc<ServerInfo> {
        let info = Arc::new(info);
        let mut known = self.0.lock();
        if known.all.len() >= MAX_SERVERS {
            known.all.clear();
        }
        known.all.insert(server, info.clone());
        known.last = Some(info.clone());
        info
    }

    /// Returns the server that was reached last.
    pub(super) fn last(&self) -> Option<Arc<ServerInfo>> {
        self.0.lock().last.clone()
    }

    /// Notes whether the last server accepts writes.
    pub(super) fn note(&self, write_state: Option<WriteState>) {
        self.0.lock().write_state = write_state.unwrap_or_default();
    }

    /// Returns the last noted state.
    pub(super) fn write_state(&self) -> WriteState {
        self.0.lock().write_state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_address_is_dialled_when_one_is_not_reached() {
        let addresses: Vec<SocketAddr> = ["[::1]:1", "127.0.0.1:2", "127.0.0.1:3"]
            .iter()
            .map(|text| text.parse().unwrap())
            .collect();
        let not_reached = || DbError::Unreachable("refused".into());
        let second = first_reached(addresses.clone(), |address| match address.port() {
            1 => Err(not_reached()),
            port => Ok(port),
        });
        assert_eq!(second.unwrap().unwrap(), 2);
        // An account that is refused is refused; the next address gets no password.
        let denied = first_reached(addresses.clone(), |address| match address.port() {
            1 => Err::<u16, _>(DbError::Auth("no".into())),
            _ => Err(not_reached()),
        });
        assert!(matches!(denied, Some(Err(DbError::Auth(_)))));
        let none = first_reached(addresses, |_| Err::<u16, _>(not_reached()));
        assert!(matches!(none, Some(Err(DbError::Unreachable(_)))));
    }
}
