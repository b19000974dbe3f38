//! The catalogue in memory, and the thread that reads it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::load::{Account, Catalogue, ended, load};
use crate::http::CancelToken;
use crate::sqlweb::catch_panic::catch_panic;
use crate::sqlweb::error::{ApiError, DbError};
use crate::sync::{Condvar, Mutex, Thread, spawn};

/// Time after the last search for which the catalogue is kept.
const IDLE: Duration = crate::limits::SEARCH_IDLE;
/// Age from which visitors wait for a new one: what was revoked is not found any longer.
const VISITOR_AGE: Duration = crate::limits::SEARCH_AGE;
/// Age below which a visitor's `refresh` changes nothing: reading is work for the server.
const VISITOR_REFRESH: Duration = Duration::from_secs(30);
/// Age from which it is read again while searches go on with the old one.
const STALE: Duration = Duration::from_secs(300);
/// Pause between two looks whether a client that waits has left.
const LOOK: Duration = Duration::from_millis(100);

/// The catalogue of the account, and the one thread that reads it.
#[derive(Clone, Default)]
pub(crate) struct Search(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    catalogue: Option<Arc<Catalogue>>,
    /// Failure of the last load.
    failure: Option<ApiError>,
    /// Number of the last load that is wanted; the thread runs while fewer have ended.
    wanted: u64,
    begun: u64,
    ended: u64,
    used: Option<Instant>,
    is_stopped: bool,
}

/// Request for the catalogue.
pub(crate) struct Wanted<'a> {
    pub(crate) client: &'a CancelToken,
    /// True if the sender is not the owner.
    pub(crate) is_visitor: bool,
    /// True if it must be read after this.
    pub(crate) refresh: bool,
}

impl Search {
    /// Returns the catalogue, which is read first where there is none or it must be read again. All who wait share one load,
    /// and one who leaves does not stop it.
    pub(crate) fn catalogue(
        &self,
        account: &Arc<impl Account>,
        wanted: &Wanted<'_>,
    ) -> Result<Arc<Catalogue>, ApiError> {
        let (user, server) = (account.user(), account.server());
        let mut state = self.0.state.lock();
        state.used = Some(Instant::now());
        let known = state.catalogue.as_ref();
        let age = known.map(|known| known.since.elapsed());
        let is_of_account = known.is_some_and(|known| known.user == user);
        let must = match age {
            Some(age) if is_of_account && wanted.is_visitor => {
                age > VISITOR_AGE || wanted.refresh && age > VISITOR_REFRESH
            }
            Some(_) if is_of_account => wanted.refresh,
            _ => true,
        };
        let is_stale = age.is_some_and(|age| {
            age > STALE
                || age > VISITOR_REFRESH
                    && !known.is_some_and(|known| Arc::ptr_eq(&known.server, &server))
        });
        if !must && !is_stale {
            return state.catalogue.clone().ok_or_else(ended);
        }
        // A load that runs may have read that part already.
        let target = if must && (wanted.refresh || known.is_some()) {
            state.begun + 1
        } else {
            state.ended + 1
        };
        self.begin(account, &mut state, target)?;
        while must && state.ended < target && !state.is_stopped {
            state = self.0.changed.wait_timeout(state, LOOK);
            if wanted.client.is_gone() {
                return Err(ended());
            }
        }
        state.used = Some(Instant::now());
        match &state.failure {
            Some(failure) if must => Err(failure.clone()),
            _ => state.catalogue.clone().ok_or_else(ended),
        }
    }

    /// Has the catalogue read so often.
    fn begin(
        &self,
        account: &Arc<impl Account>,
        state: &mut State,
        target: u64,
    ) -> Result<(), ApiError> {
        let is_running = state.wanted > state.ended;
        if state.is_stopped {
            return Err(ended());
        }
        if !is_running {
            let (search, account) = (self.clone(), account.clone());
            spawn(Thread::Sql, move || search.run(&*account)).map_err(|error| {
                ApiError::new(503, format!("no thread to read the catalogue: {error}"))
            })?;
        }
        state.wanted = state.wanted.max(target);
        Ok(())
    }

    /// Reads the catalogue as often as is wanted.
    fn run(&self, account: &impl Account) {
        loop {
            {
                let mut state = self.0.state.lock();
                if state.is_stopped || state.ended >= state.wanted {
                    state.wanted = state.ended;
                    return;
                }
                state.begun += 1;
            }
            let loaded = catch_panic(|| Ok::<_, DbError>(load(account)));
            let loaded = loaded.unwrap_or_else(|error| Err(error.into()));
            let mut state = self.0.state.lock();
            state.ended = state.begun;
            match loaded {
                Ok(catalogue) => {
                    state.catalogue = Some(Arc::new(catalogue));
                    state.failure = None;
                }
                Err(error) => state.failure = Some(error),
            }
            drop(state);
            self.0.changed.notify_all();
        }
    }

    /// Forgets the catalogue after some time without a search.
    pub(crate) fn expire(&self, is_over: bool) {
        let mut state = self.0.state.lock();
        if is_over || state.used.is_some_and(|used| used.elapsed() > IDLE) {
            state.catalogue = None;
            state.used = None;
        }
    }

    /// Ends a load between two databases; there is none from then on.
    pub(crate) fn stop(&self) {
        self.0.state.lock().is_stopped = true;
        self.0.changed.notify_all();
    }

    /// True if the web client is being stopped.
    pub(crate) fn is_stopped(&self) -> bool {
        self.0.state.lock().is_stopped
    }
}
