//! Health checks of the exposed target: before it counts as connected, after a failed visit, and while it fails. A
//! target that answers is not checked.
//!
//! ```text
//! unknown ── answer ──> ok <── every 30 s, or on a wish ──> failing
//!                        └── a visit found nobody ──> asked again
//! ```

use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, at, bounded, never, select};

use super::probe::{HealthResult, HealthState, Probe};
use super::record::ConnectionOwner;
use crate::sync::{Thread, spawn};

/// The longest that the first question delays `connected`.
const FIRST_WITHIN: Duration = Duration::from_secs(1);
/// The pause between two questions while it fails.
const FAILING_PAUSE: Duration = crate::limits::PROBE_PAUSE;
/// The least pause between two questions, however many visits fail.
const LEAST_PAUSE: Duration = Duration::from_secs(1);

/// Health checks of one application while it is connected, one at a time. Each runs on a thread that ends with the
/// answer.
pub(super) struct HealthWatch {
    probe: Probe,
    /// The application's name in the log.
    name: String,
    /// Gets a message when a visit found no application.
    missed: Receiver<()>,
    /// The question under way.
    answer: Option<Receiver<HealthResult>>,
    asked: Instant,
    /// True if a visit found no application while the question was under way, whose answer may be older.
    is_doubtful: bool,
    /// Time of the next question.
    due: Option<Instant>,
}

/// Reason that watching has ended.
pub(super) enum WatchEnd {
    /// The stop signal was given.
    Stopped,
    /// The tunnel has ended.
    TunnelEnded,
    /// The application was changed, or what the server did not hear of is to be told again.
    Changed,
    /// The given time has come, or the tunnel's server is missed.
    Due,
}

impl HealthWatch {
    /// Asks at once, unless the application `is_known` to answer. `missed` gets a message when a visit found no
    /// application.
    pub(super) fn begin(name: &str, probe: Probe, missed: Receiver<()>, is_known: bool) -> Self {
        let mut watch = Self {
            probe,
            name: name.to_owned(),
            missed,
            answer: None,
            asked: Instant::now(),
            is_doubtful: false,
            due: None,
        };
        if is_known {
            let (answer, answered) = bounded(1);
            // There is room for it.
            let _ = answer.send(Ok(()));
            watch.answer = Some(answered);
        } else {
            watch.ask();
        }
        watch
    }

    /// Waits for the first answer, but for no longer than [`FIRST_WITHIN`] since the question; false where the stop
    /// signal came first.
    pub(super) fn wait_first(&mut self, record: &ConnectionOwner) -> bool {
        let left = (self.asked + FIRST_WITHIN).saturating_duration_since(Instant::now());
        let answer = self.answer.clone().unwrap_or_else(never);
        select! {
            recv(record.stopped) -> _ => return false,
            recv(answer) -> answer => self.apply_answer(record, answer.ok()),
            default(left) => {}
        }
        true
    }

    /// Watches until the connection is to end or there is something else to do: at `pending` at the latest, or at
    /// `due`, or when the tunnel's server is missed.
    pub(super) fn run(
        &mut self,
        record: &ConnectionOwner,
        ended: &Receiver<()>,
        pending: Option<Instant>,
        due: Option<Instant>,
        misses: &Receiver<()>,
    ) -> WatchEnd {
        let at = |moment: Option<Instant>| moment.map_or_else(never, at);
        let (pending, due) = (at(pending), at(due));
        loop {
            let answer = self.answer.clone().unwrap_or_else(never);
            let question = at(self.due);
            select! {
                recv(record.stopped) -> _ => return WatchEnd::Stopped,
                recv(ended) -> _ => return WatchEnd::TunnelEnded,
                recv(record.changes()) -> _ => return WatchEnd::Changed,
                recv(pending) -> _ => return WatchEnd::Changed,
                recv(due) -> _ => return WatchEnd::Due,
                recv(misses) -> _ => return WatchEnd::Due,
                recv(answer) -> answer => self.apply_answer(record, answer.ok()),
                recv(question) -> _ => self.ask(),
                recv(record.retries()) -> _ => {
                    self.hasten(record, HealthState::Failing);
                    if record.status().pause.is_some() {
                        return WatchEnd::Changed;
                    }
                }
                recv(self.missed) -> missed => match missed {
                    Ok(()) => {
                        self.is_doubtful = self.answer.is_some();
                        self.hasten(record, HealthState::Ok);
                    }
                    Err(_) => self.missed = never(),
                },
            }
        }
    }

    /// Asks soon, if the health is `in_state` or unknown.
    fn hasten(&mut self, record: &ConnectionOwner, in_state: HealthState) {
        let state = record.status().health.state;
        if self.answer.is_none() && (state == in_state || state == HealthState::Unknown) {
            self.due = Some(self.asked + LEAST_PAUSE);
        }
    }

    fn ask(&mut self) {
        (self.asked, self.due) = (Instant::now(), None);
        let (sender, answer): (Sender<HealthResult>, _) = bounded(1);
        let probe = self.probe.clone();
        // Runs on a thread of its own, because name resolution cannot be interrupted; it ends with the answer.
        let spawned = spawn(Thread::Health, move || {
            // Nobody may want it any more.
            let _ = sender.send(probe.ask());
        });
        match spawned {
            Ok(()) => self.answer = Some(answer),
            Err(error) => {
                log::warn!("no thread to ask an application: {error}");
                self.due = Some(self.asked + FAILING_PAUSE);
            }
        }
    }

    /// Applies an answer. There is none if the thread broke off; then it is asked again.
    fn apply_answer(&mut self, record: &ConnectionOwner, answer: Option<HealthResult>) {
        self.answer = None;
        let Some(answer) = answer else {
            log::warn!("application '{}': health check interrupted", self.name);
            self.due = Some(self.asked + FAILING_PAUSE);
            return;
        };
        let is_doubtful = std::mem::take(&mut self.is_doubtful);
        self.due = match answer {
            Err(_) => Some(self.asked + FAILING_PAUSE),
            Ok(()) => is_doubtful.then(|| self.asked + LEAST_PAUSE),
        };
        let error = answer.as_ref().err().cloned();
        let has_failed = record.status().health.state == HealthState::Failing;
        if record.change().health.take(answer) {
            match error {
                Some(failing) => log::warn!("application '{}': {}", self.name, failing.error),
                None if has_failed => log::info!("application '{}': answers again", self.name),
                None => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::manager::apps::app_input::AppInput;

    /// Nobody else would ask one that fails: no visit that finds nobody does.
    #[test]
    fn a_question_that_breaks_off_is_asked_again() {
        let app = AppInput::parse(&serde_json::json!({"protocol": "http"}), true);
        let app = app.unwrap().into_new();
        let record = ConnectionOwner::begin(Default::default(), &app, bounded(0).1, Arc::default());
        record
            .change()
            .health
            .take(Err("it failed before".to_owned().into()));
        let breaks_off = Probe::Database(Arc::new(|| panic!("as a fault of the driver would")));
        let mut watch = HealthWatch::begin("x", breaks_off, never(), false);
        let answer = watch.answer.clone().unwrap().recv();
        assert!(answer.is_err() && watch.due.is_none());
        watch.apply_answer(&record, answer.ok());
        assert_eq!(watch.due, Some(watch.asked + FAILING_PAUSE));
    }
}
