//! Connections that were given up while the server was at work on them. Each counts under the cap until the server's
//! process list shows it no more: a statement that ignores `KILL` must not make room for the next one.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crate::sync::Mutex;
use crate::sync::Permit;

/// How long a connection counts whose server cannot be asked: it may have been restarted, or is out of reach.
const UNSEEN_TIMEOUT: Duration = Duration::from_secs(120);

/// How long one counts that is still listed.
const LISTED_TIMEOUT: Duration = Duration::from_secs(3600);

/// Longest pause between two looks.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// All connections that were given up and still count.
#[derive(Default)]
pub(crate) struct AbandonedConns {
    all: Mutex<Vec<AbandonedConn>>,
    /// True if a thread is looking.
    pub(super) looking: AtomicBool,
}

struct AbandonedConn {
    id: u64,
    server: Option<Arc<str>>,
    since: Instant,
    next: Instant,
    /// When it was last listed; at first, when it was given up.
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
    /// Adds one; the next round looks for it.
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

    /// The ids of those on `server`.
    pub(super) fn on(&self, server: Option<&Arc<str>>) -> Vec<u64> {
        let all = self.all.lock();
        let there = all
            .iter()
            .filter(|conn| server.is_some() && conn.server.as_ref() == server);
        there.map(|conn| conn.id).collect()
    }

    /// Notes that the connection is listed, or lets go of it.
    pub(super) fn note(&self, server: Option<&Arc<str>>, id: u64, is_listed: bool) {
        let is_it = |conn: &AbandonedConn| conn.id == id && conn.server.as_ref() == server;
        let mut all = self.all.lock();
        all.retain(|conn| is_listed || !is_it(conn));
        for conn in all.iter_mut().filter(|conn| is_it(conn)) {
            conn.seen = Instant::now();
        }
    }

    /// The longer one lasts, the less often it is looked for.
    pub(super) fn postpone(&self) {
        let now = Instant::now();
        for conn in self.all.lock().iter_mut().filter(|conn| conn.next <= now) {
            conn.next = now + LONGEST_PAUSE.min(conn.since.elapsed() / 10);
        }
    }
}
