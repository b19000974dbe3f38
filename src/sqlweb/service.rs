//! Shared state of all requests of one web client, and the thread that ends statements and connections past their time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};

use super::auth::Auth;
use super::conn::{
    CheckoutRequest, Connector, RunningStatements, ServerInfo, SessionPool, StatementOwner,
    readonly, stop_in_background, stoppable, stopped_when_gone,
};
use super::error::{ApiError, DbError, StopCause};
use super::gate::CalledFunctions;
use super::guest::Guest;
use super::limits::REQUESTS_OF_ONE;
use super::options::Options;
use super::query::{RowBudget, Tickets};
use super::search::{Account, Search, Work};
use super::visitors::{Use, Visitors};
use crate::http::{CancelToken, Request, Response};
use crate::plugin::{GuestInForce, StatementLog};
use crate::sync::{Mutex, Permits, Thread, spawn};

/// Maximum number of requests that use the database, or wait for their session's turn; each has a thread.
const MAX_THREADS: usize = 96;

/// Pause between two checks of statements and connections.
const ROUND: Duration = Duration::from_secs(1);

/// One running web client.
pub(crate) struct Service {
    pub(crate) options: Arc<Options>,
    pub(crate) connector: Arc<Connector>,
    pub(crate) sessions: SessionPool,
    pub(crate) running: RunningStatements,
    pub(crate) rows: RowBudget,
    pub(crate) tickets: Tickets,
    pub(crate) search: Search,
    pub(crate) access: Option<Auth>,
    pub(crate) threads: Permits,
    /// Permits for scripts that are large or have no whole statement yet, on a shared web client.
    pub(crate) scripts: Permits,
    pub(crate) visitors: Visitors,
    /// Log of visitors and their statements.
    statements: Mutex<Option<Arc<StatementLog>>>,
    /// The temporary account for everything.
    guest: Option<Arc<Guest>>,
    /// True while a thread asks whether the server accepts writes.
    is_asking: AtomicBool,
}

impl Service {
    /// A service on which nothing runs.
    pub(crate) fn new(
        options: Arc<Options>,
        connector: Arc<Connector>,
        access: Option<Auth>,
        guest: Option<Arc<Guest>>,
        visitors: Visitors,
    ) -> Service {
        Service {
            statements: Mutex::new(options.statements.clone().inspect(|statements| {
                statements.set_read_only(options.readonly);
            })),
            sessions: SessionPool::new(connector.clone(), options.readonly),
            connector,
            options,
            running: RunningStatements::default(),
            rows: RowBudget::default(),
            tickets: Tickets::default(),
            search: Search::default(),
            access,
            guest,
            visitors,
            threads: Permits::default(),
            scripts: Permits::default(),
            is_asking: AtomicBool::new(false),
        }
    }

    /// Returns the facts of the server that was reached last.
    pub(crate) fn info(&self) -> Arc<ServerInfo> {
        self.connector.info()
    }

    /// Asks on a thread of its own whether the server accepts writes, if the end of a statement contradicts what is
    /// known of that.
    pub(crate) fn ask_whether_it_writes(
        self: &Arc<Self>,
        only_reads: bool,
        error: Option<&DbError>,
    ) {
        let is_replica = self.connector.write_state().is_replica();
        let contradicts = match error {
            None => is_replica && !only_reads,
            Some(error) => !is_replica && error.is_of_replica(),
        };
        if !contradicts || self.is_asking.swap(true, Ordering::SeqCst) {
            return;
        }
        let service = self.clone();
        let asking = move || {
            let client = CancelToken::default();
            // Taking a connection without a session asks its server.
            if let Err(error) = service.with_spare_conn(&client, None, |_| Ok(())) {
                log::debug!(
                    "unknown whether the server accepts writes: {}",
                    error.message
                );
            }
            service.is_asking.store(false, Ordering::SeqCst);
        };
        let spawned = spawn(Thread::Sql, asking);
        if let Err(error) = spawned {
            self.is_asking.store(false, Ordering::SeqCst);
            log::warn!("no thread to ask whether the server accepts writes: {error}");
        }
    }

    /// The visitor of a request: the id of their sign-in in invisible mode, else empty.
    pub(crate) fn visitor(&self, request: &Request) -> String {
        let access = self.access.as_ref();
        let visitor = access.and_then(|access| access.visitor(request));
        visitor.map_or_else(String::new, |visitor| visitor.id)
    }

    /// Returns the log of visitors and their statements, if any.
    pub(crate) fn statements(&self) -> Option<Arc<StatementLog>> {
        self.statements.lock().clone()
    }

    /// Sets that log.
    pub(crate) fn note_in(&self, statements: Arc<StatementLog>) {
        statements.set_read_only(self.options.readonly);
        *self.statements.lock() = Some(statements);
    }

    /// Name for a log of a request's sender.
    pub(crate) fn label(&self, request: &Request) -> String {
        self.visitors.source(request).label(&self.visitor(request))
    }

    /// True if others than the owner may use it, or in read-only mode.
    pub(crate) fn is_shared(&self) -> bool {
        self.options.readonly || self.has_visitors()
    }

    /// True if others than the owner may send statements.
    pub(crate) fn has_visitors(&self) -> bool {
        self.options.is_shared || self.access.is_some()
    }

    /// Key for counting the sender of a request.
    pub(crate) fn counted(&self, request: &Request) -> String {
        let source = self.visitors.source(request);
        source.counted(&self.visitor(request))
    }

    /// Returns the counters of the sender of a request, if any.
    pub(crate) fn use_of(&self, request: &Request) -> Option<Use> {
        let source = self.visitors.source(request);
        self.visitors.use_of(&source, &self.visitor(request))
    }

    /// Does slow work for `request` on a thread of its own, so that the workers stay free.
    pub(crate) fn spawn(
        self: &Arc<Self>,
        request: Request,
        work: impl FnOnce(Request) + Send + 'static,
    ) {
        let uses = self.use_of(&request);
        let most = Use::most_of(uses.as_ref(), MAX_THREADS);
        let of_visitor = uses.map(|uses| uses.requests.take(REQUESTS_OF_ONE));
        if matches!(of_visitor, Some(None)) {
            let busy = ApiError::too_many(format!(
                "you already have {REQUESTS_OF_ONE} requests running; wait for one to end"
            ));
            return request.respond(Response::error(&busy));
        }
        let Some(permit) = self.threads.take(most) else {
            let busy = ApiError::too_many(format!(
                "{most} requests are already running; wait for one to end"
            ));
            return request.respond(Response::error(&busy));
        };
        spawn(Thread::Sql, move || {
            let _permits = (permit, of_visitor);
            work(request);
        })
        .unwrap_or_else(|error| log::warn!("no thread for a request: {error}"));
    }

    /// Runs `ask` on a connection without a session; it is stopped if `client` leaves.
    pub(crate) fn with_spare_conn<T>(
        &self,
        client: &CancelToken,
        uses: Option<&Use>,
        ask: impl FnOnce(&mut mysql::Conn) -> Result<T, DbError>,
    ) -> Result<T, ApiError> {
        let nobody = StatementOwner::default();
        // A wait for a lock in the database, as when a table is described, can be stopped like a statement.
        let entry = self.running.enter_unnamed(nobody.clone());
        let _leaving = stopped_when_gone(client, &entry.running, &self.connector);
        let wanted = CheckoutRequest {
            owner: &nobody,
            database: None,
            enters: None,
            running: &entry.running,
            uses,
        };
        let mut lease = self.sessions.check_out(&wanted)?;
        let outcome = stoppable(&entry.running, lease.conn(), |conn| {
            if self.options.readonly {
                // Describing a view runs its functions (MariaDB).
                self.connector
                    .make_read_only(conn, &CalledFunctions::default())?;
            }
            ask(&mut conn.driver)
        });
        let outcome = readonly::explain(outcome, "this request");
        lease.give_back(&outcome, &entry.running);
        Ok(outcome?)
    }

    /// True if the time of the temporary account is over.
    pub(crate) fn is_over(&self) -> bool {
        self.guest.as_ref().is_some_and(|guest| guest.is_over())
    }

    /// True if statements run with a temporary account, which must not see more than was listed.
    pub(crate) fn has_guest(&self) -> bool {
        self.guest.is_some()
    }

    /// Returns the temporary account, if any.
    pub(crate) fn guest_in_force(&self) -> Option<Arc<GuestInForce>> {
        self.guest.as_ref().map(|guest| guest.in_force())
    }

    /// Changes the end of the temporary account, without waiting; if the database fails, the end is unchanged.
    pub(crate) fn set_end(self: &Arc<Self>, expires: SystemTime) {
        let Some(guest) = self.guest.clone() else {
            return;
        };
        let service = self.clone();
        let changing = move || {
            if let Some(name) = guest.set_end(expires) {
                service.connector.set_user(&name);
            }
        };
        spawn(Thread::DbGuest, changing).unwrap_or_else(|error| {
            log::warn!("no thread to change the guest account's end time: {error}")
        });
    }

    /// Begins to drop the temporary account, if any; the channel closes when that is done.
    pub(crate) fn begin_end_of_guest(&self) -> Option<Receiver<()>> {
        let guest = self.guest.clone()?;
        let (done, is_done) = crossbeam_channel::bounded(0);
        let spawned = spawn(Thread::DbGuest, move || {
            let _done: Sender<()> = done;
            guest.end();
        });
        match spawned {
            Ok(_) => Some(is_done),
            Err(error) => {
                log::warn!("no thread to drop the guest account: {error}");
                None
            }
        }
    }

    /// Ends all statements and connections.
    pub(crate) fn shut_down(self: &Arc<Self>) {
        self.search.stop();
        for running in self.running.filter(|_, _| true) {
            stop_in_background(running, StopCause::ShuttingDown, self.connector.clone());
        }
        self.sessions.close_all();
    }

    /// Ends everything past its time.
    fn round(self: &Arc<Self>) {
        if self.guest.as_ref().is_some_and(|guest| guest.is_due()) {
            self.shut_down();
            drop(self.begin_end_of_guest());
            self.connector.miss();
        }
        if let Some(limit) = self.options.query_timeout {
            for running in self.running.filter(|_, running| running.age() > limit) {
                stop_in_background(running, StopCause::TimedOut, self.connector.clone());
            }
        }
        for running in self.running.filter(|_, _| true) {
            if let Some(cause) = running.goes_on() {
                stop_in_background(running, cause, self.connector.clone());
            }
        }
        for running in self.running.filter(|_, running| running.is_overdue()) {
            running.shut_down_if_overdue();
        }
        self.connector.end_overdue_controls();
        self.connector.reap_abandoned();
        self.sessions.expire();
        self.tickets.expire();
        self.search.expire(self.is_over());
    }
}

impl Account for Service {
    fn user(&self) -> Arc<str> {
        self.connector.user()
    }

    fn server(&self) -> Arc<ServerInfo> {
        self.info()
    }

    fn on_connection(&self, work: &mut Work<'_>) -> Result<(), ApiError> {
        self.with_spare_conn(&CancelToken::default(), None, |conn| work(conn))
    }

    fn is_ended(&self) -> bool {
        self.is_over() || self.search.is_stopped()
    }
}

/// Checks `service` once a second until `stop` is closed.
pub(crate) fn watch(service: &Arc<Service>, stop: &Receiver<()>) {
    while let Err(RecvTimeoutError::Timeout) = stop.recv_timeout(ROUND) {
        service.round();
    }
}
