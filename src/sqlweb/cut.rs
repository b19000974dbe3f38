//! Connections that were given up while the server was at work on them. Each counts under the cap until the server's
//! process list shows it no more: a statement that ignores `KILL` must not make room for the next one.

use crate::sync::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::connect::{Connector, DbConn};
use super::error::DbError;
use super::kill::{KILL_TIMEOUT, field, is_ours, listed};
use super::statement::run_silently;
use crate::sync::Permit;

/// How long a connection counts whose server cannot be asked: it may have been restarted, or is out of reach.
const UNSEEN: Duration = Duration::from_secs(120);

/// How long one counts that is still listed.
const LISTED: Duration = Duration::from_secs(3600);

/// Longest pause between two looks.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Stack of the thread that looks: the driver over TLS.
const STACK: usize = 256 << 10;

/// All of them.
#[derive(Default)]
pub(crate) struct Cuts {
    all: Mutex<Vec<Cut>>,
    /// Whether a thread is looking.
    looking: AtomicBool,
}

struct Cut {
    id: u64,
    server: Option<Arc<str>>,
    since: Instant,
    next: Instant,
    /// When it was last listed; at first, when it was cut.
    seen: Instant,
    _permit: Option<Permit>,
}

impl Cut {
    fn is_over(&self) -> bool {
        let over = self.since.elapsed() > LISTED || self.seen.elapsed() > UNSEEN;
        if over {
            let id = self.id;
            log::warn!(
                "connection {id} was cut and may still be at work on its server, but counts no more"
            );
        }
        over
    }
}

impl Cuts {
    /// Adds one; the next round looks for it.
    pub(super) fn add(&self, id: u64, server: Option<Arc<str>>, permit: Option<Permit>) {
        let now = Instant::now();
        self.all.lock().push(Cut {
            id,
            server,
            since: now,
            next: now,
            seen: now,
            _permit: permit,
        });
    }

    /// Whether a look is due.
    fn due(&self) -> bool {
        let now = Instant::now();
        let mut all = self.all.lock();
        all.retain(|cut| !cut.is_over());
        all.iter()
            .any(|cut| cut.server.is_some() && cut.next <= now)
    }

    /// The ids of those on `server`.
    fn on(&self, server: Option<&Arc<str>>) -> Vec<u64> {
        let all = self.all.lock();
        let there = all
            .iter()
            .filter(|cut| server.is_some() && cut.server.as_ref() == server);
        there.map(|cut| cut.id).collect()
    }

    /// Notes that the connection is listed, or lets go of it.
    fn note(&self, server: Option<&Arc<str>>, id: u64, is_listed: bool) {
        let is_it = |cut: &Cut| cut.id == id && cut.server.as_ref() == server;
        let mut all = self.all.lock();
        all.retain(|cut| is_listed || !is_it(cut));
        for cut in all.iter_mut().filter(|cut| is_it(cut)) {
            cut.seen = Instant::now();
        }
    }

    /// The longer it lasts, the seldomer it is looked for.
    fn postpone(&self) {
        let now = Instant::now();
        for cut in self.all.lock().iter_mut().filter(|cut| cut.next <= now) {
            cut.next = now + LONGEST_PAUSE.min(cut.since.elapsed() / 10);
        }
    }
}

impl Connector {
    /// Looks, on a thread of its own, for what was cut; one look at a time.
    pub(crate) fn look_for_cut(self: &Arc<Self>) {
        if !self.cut.due() || self.cut.looking.swap(true, Ordering::SeqCst) {
            return;
        }
        let looking = Looking(self.clone());
        let spawned = std::thread::Builder::new()
            .name("db-cut".into())
            .stack_size(STACK)
            .spawn(move || {
                if let Err(error) = look(&looking.0) {
                    log::debug!("the process list could not be read: {error}");
                }
                looking.0.cut.postpone();
            });
        if let Err(error) = spawned {
            log::warn!("no thread to look for connections that were cut: {error}");
        }
    }
}

struct Looking(Arc<Connector>);

impl Drop for Looking {
    fn drop(&mut self) {
        self.0.cut.looking.store(false, Ordering::SeqCst);
    }
}

fn look(connector: &Arc<Connector>) -> Result<(), DbError> {
    let mut second = connector.second(KILL_TIMEOUT)?;
    let server = second.server.clone();
    for id in connector.cut.on(server.as_ref()) {
        let is_listed = is_listed(&mut second, id)?;
        connector.cut.note(server.as_ref(), id, is_listed);
    }
    Ok(())
}

/// Whether the server is still at work on the connection, which nobody has any more: it is told to end it, where the id
/// cannot have become somebody else's at a restart.
fn is_listed(second: &mut DbConn, id: u64) -> Result<bool, DbError> {
    let listed = listed(second, id)?;
    let Some(row) = listed.first() else {
        return Ok(false);
    };
    if second.is_dated && is_ours(row) && field(row, "COMMAND").as_deref() != Some("Killed") {
        match run_silently(&mut second.conn, &format!("KILL {id}")) {
            Err(error) if !error.leaves_connection_usable() => return Err(error),
            Err(error) => log::debug!("connection {id}, which was cut, is not ended: {error}"),
            Ok(()) => {}
        }
    }
    Ok(true)
}
