//! Life of a share: a temporary application of a manager, from the first call to its removal.

use std::time::{Duration, Instant, SystemTime};

use crossbeam_channel::{Receiver, RecvTimeoutError, select};
use serde_json::json;

use super::progress::{Ending, ProgressPrinter, ShareLog};
use crate::api::ConnectionState::{Connected, Connecting, Disconnected, Failed, Idle};
use crate::api::{App, Error, Log};
use crate::cli::commands::app::connecting::{Patience, failed, wait_connected};
use crate::cli::commands::app::end;
use crate::cli::failure::Failure;
use crate::cli::fields::Fields;
use crate::cli::manager_client::Manager;
use crate::manager::app_input::AppInput;
use crate::store::{DataDir, Lease, random};

/// Pause between two looks at the application if the manager is another process, something is wrong, or much happens.
const POLL: Duration = Duration::from_secs(1);
/// Time to cut open connections at the end. Default 4 s: a tunnel says goodbye first, and a stream lingers for 2 s.
const CUT_TIME: Duration = Duration::from_secs(4);
/// Pause between two checks for that.
const CUT_POLL: Duration = Duration::from_millis(20);
/// Simultaneous shares of the same target. Default 100: the limit of connections.
const MAX_ALIKE: u32 = 100;

/// End of a share.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::cli::commands) enum ShareOutcome {
    /// The share is over, and the last line was printed.
    Over,
    /// The manager's process has ended; another one may continue.
    ManagerEnded,
}

/// A running share; its application is removed with the lease, however this process ends.
pub(in crate::cli::commands) struct Session {
    home: DataDir,
    manager: Manager,
    id: String,
    _lease: Lease,
}

impl Session {
    /// Adds the application and begins to connect it. `input` is the same as `fields`, checked.
    pub(in crate::cli::commands) fn begin(
        home: &DataDir,
        manager: Manager,
        mut fields: Fields,
        input: &AppInput,
        progress: &ProgressPrinter,
    ) -> Result<Self, Failure> {
        let (id, lease) = lease(home, &input.identity())?;
        fields.insert("lease".to_owned(), json!(id));
        manager.share(&fields)?;
        let session = Self {
            home: home.clone(),
            manager,
            id,
            _lease: lease,
        };
        match session.manager.connect(&session.id, progress.requires_name) {
            Ok(()) => Ok(session),
            Err(error) => {
                session.remove();
                Err(error.into())
            }
        }
    }

    /// Prints the link, then the progress, until a message on `stopped`, the end time, or a failure, also of `keep`,
    /// which is called every second to keep the relay running.
    pub(in crate::cli::commands) fn run(
        self,
        progress: &ProgressPrinter,
        stopped: &Receiver<()>,
        keep: impl FnMut() -> Result<(), Failure>,
    ) -> Result<ShareOutcome, Failure> {
        let ended = self.share(progress, stopped, keep);
        self.remove();
        ended
    }

    fn share(
        &self,
        progress: &ProgressPrinter,
        stopped: &Receiver<()>,
        mut keep: impl FnMut() -> Result<(), Failure>,
    ) -> Result<ShareOutcome, Failure> {
        let mut next = self.manager.next_change(&self.id);
        let patience = Patience::default().endless_if(progress.is_continued);
        let result = match wait_connected(&self.manager, &self.id, None, stopped, patience) {
            Err(_) if progress.is_continued && !self.is_running() => {
                return Ok(ShareOutcome::ManagerEnded);
            }
            waited => waited?,
        };
        let mut log = progress.print_shared(&self.app()?, &result)?;
        let (mut is_up, mut looked) = (true, Instant::now());
        loop {
            let is_stopped = wait(stopped, &mut next, is_up, looked);
            next = next.or_else(|| self.manager.next_change(&self.id));
            looked = Instant::now();
            let app = match self.app() {
                Ok(app) => app,
                Err(_) if is_stopped => return over(log, Ending::Interrupted),
                Err(Error::Refused { code: 404, .. }) => return over(log, Ending::Removed),
                // A busy machine, or one without its loopback interface for a moment, does not end the share.
                Err(error) if self.is_running() => {
                    log::info!("retrying: {}", Failure::from(error).message());
                    continue;
                }
                Err(_) => return Ok(ShareOutcome::ManagerEnded),
            };
            is_up = app.status() == Connected;
            // Also at the end, to count events since the last look.
            log.update(&app, |after| self.requests(after))?;
            match ending(&app, is_stopped) {
                Some(Ending::Failed) => {
                    log.print_end(Ending::Failed)?;
                    return Err(failed(&app.connection.unwrap_or_default(), None));
                }
                Some(Ending::Expired) => {
                    self.wait_for_cuts(&app);
                    if let Ok(app) = self.app() {
                        log.update(&app, |after| self.requests(after))?;
                    }
                    return over(log, Ending::Expired);
                }
                Some(Ending::Disconnected) => {
                    // A removal or a reconnect begins with a disconnect.
                    if let Some(change) = next.take() {
                        let _ = change.recv_timeout(POLL);
                    }
                    match self.app() {
                        Ok(app) if matches!(app.status(), Connecting | Connected) => {}
                        Err(Error::Refused { code: 404, .. }) => return over(log, Ending::Removed),
                        _ => return over(log, Ending::Disconnected),
                    }
                }
                Some(ending) => return over(log, ending),
                None => {}
            }
            if let Err(failure) = keep() {
                log.print_end(Ending::Failed)?;
                return Err(failure);
            }
        }
    }

    /// Waits until the open connections of visitors are cut at the end, so that they are counted.
    fn wait_for_cuts(&self, app: &App) {
        // A database's visitors count as present for a minute after their last request.
        let has_streams = !app.protocol.is_database();
        let until = Instant::now() + CUT_TIME;
        let goes_on = |app: &App| {
            let visitors = app.connection.as_ref().and_then(|it| it.visitors.as_ref());
            let is_active = matches!(app.status(), Connected | Connecting);
            is_active || has_streams && visitors.is_some_and(|visitors| visitors.now > 0)
        };
        while Instant::now() < until && self.app().is_ok_and(|app| goes_on(&app)) {
            std::thread::sleep(CUT_POLL);
        }
    }

    /// True while the process of the manager lives, or if that is unknown.
    fn is_running(&self) -> bool {
        let pid = self.manager.pid;
        pid == std::process::id()
            || Manager::find(&self.home).map_or(true, |found| found.is_some_and(|it| it.pid == pid))
    }

    fn app(&self) -> Result<App, Error> {
        self.manager.app(&self.id)
    }

    /// Requests of visitors after the one with this number; empty except for web sites.
    fn requests(&self, after: u64) -> Log {
        let requests = self.manager.log(&self.id, "requests", after);
        requests.unwrap_or_default()
    }

    fn remove(&self) {
        // If that fails, the end of the lease removes it.
        let _ = self.manager.remove(&self.id, false);
    }
}

/// Waits for a message on `stopped`, then returns true. Else waits for `next` if the share is up, and until the pause
/// after the last look is over.
fn wait(
    stopped: &Receiver<()>,
    next: &mut Option<Receiver<()>>,
    is_up: bool,
    looked: Instant,
) -> bool {
    if is_up && let Some(change) = next.take() {
        select! {
            recv(stopped) -> _ => return true,
            recv(change) -> _ => {}
        }
    }
    let left = POLL.saturating_sub(looked.elapsed());
    stopped.recv_timeout(left) != Err(RecvTimeoutError::Timeout)
}

fn over(log: ShareLog<'_>, ending: Ending) -> Result<ShareOutcome, Failure> {
    log.print_end(ending).map(|()| ShareOutcome::Over)
}

/// Reason of the end, if it ends now.
fn ending(app: &App, is_stopped: bool) -> Option<Ending> {
    let connection = app.connection.as_ref();
    let is_retried = connection.is_some_and(|connection| connection.next_retry_ms.is_some());
    match app.status() {
        _ if is_stopped => Some(Ending::Interrupted),
        // Compared with the wall clock.
        _ if end(app).is_some_and(|end| end <= SystemTime::now()) => Some(Ending::Expired),
        Idle | Disconnected => Some(Ending::Disconnected),
        // An automatic retry has a time.
        Failed if !is_retried => Some(Ending::Failed),
        _ => None,
    }
}

/// Takes an identifier and its lease: the same for the same target, so that it gets the same address again.
fn lease(home: &DataDir, identity: &str) -> Result<(String, Lease), Failure> {
    for number in 0..MAX_ALIKE {
        let text = format!("share {identity} {number}");
        let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
        let (first, _) = digest.as_ref().split_at(8);
        let id = random::hex(first);
        if let Some(lease) = Lease::take(home, &id)? {
            return Ok((id, lease));
        }
    }
    let message = format!("this target is already shared {MAX_ALIKE} times");
    Err(Failure::operation(message).exit_status(crate::cli::failure::OVER_LIMIT))
}
