//! One share: a temporary application of a manager, from the first call to its removal.

use std::time::{Duration, SystemTime};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use serde_json::{Value, json};

use super::teller::{Ending, Teller};
use crate::cli::commands::app::connecting::{Patience, failed, wait_connected};
use crate::cli::failure::Failure;
use crate::cli::fields::Fields;
use crate::cli::manager_client::{Manager, text};
use crate::manager::app_input::AppInput;
use crate::store::time::parse_rfc3339;
use crate::store::{DataDir, Lease, random};

/// Pause between two looks at what happens.
const POLL: Duration = Duration::from_secs(1);
/// Shares of the same target at the same time. Default 100: as many as can be connected.
const MAX_ALIKE: u32 = 100;

/// A share at work; its application goes with the lease, however this process ends.
pub(in crate::cli::commands) struct Session {
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
    ) -> Result<Self, Failure> {
        let (id, lease) = lease(home, &input.identity())?;
        fields.insert("lease".to_owned(), json!(id));
        manager.call("POST", "/api/shares", Some(&Value::Object(fields)))?;
        let session = Self {
            manager,
            id,
            _lease: lease,
        };
        match session.call("POST", "connect") {
            Ok(_) => Ok(session),
            Err(failure) => {
                session.remove();
                Err(failure)
            }
        }
    }

    /// Tells where it is shared, then what happens, until a message on `stopped`, until its time is over, or until it
    /// cannot go on.
    pub(in crate::cli::commands) fn run(
        self,
        teller: &Teller,
        stopped: &Receiver<()>,
    ) -> Result<(), Failure> {
        let ended = self.share(teller, stopped);
        self.remove();
        ended
    }

    fn share(&self, teller: &Teller, stopped: &Receiver<()>) -> Result<(), Failure> {
        let result = match wait_connected(
            &self.manager,
            &self.id,
            &self.id,
            stopped,
            Patience::default(),
        ) {
            Ok(result) => result,
            // Nothing was shared yet.
            Err(failure) if failure.is_interruption() => return Ok(()),
            Err(failure) => return Err(failure),
        };
        let mut log = teller.begin(&self.app()?, &result)?;
        loop {
            match stopped.recv_timeout(POLL) {
                Err(RecvTimeoutError::Timeout) => {}
                _ => {
                    // What came since the last look counts too.
                    if let Ok(app) = self.app() {
                        log.look(&app, |after| self.requests(after))?;
                    }
                    return log.end(Ending::Interrupted);
                }
            }
            let app = match self.app() {
                Ok(app) => app,
                Err(failure) => return self.gone(failure, log),
            };
            if is_over(&app) {
                return log.end(Ending::Expired);
            }
            log.look(&app, |after| self.requests(after))?;
            let connection = app.get("connection").unwrap_or(&Value::Null);
            match text(&app, "/conn_status") {
                "idle" | "disconnected" => return log.end(Ending::Disconnected),
                // What is tried again by itself says when.
                "failed" if connection.get("next_retry_ms").is_none_or(Value::is_null) => {
                    log.end(Ending::Failed)?;
                    return Err(failed(connection, &self.id));
                }
                _ => {}
            }
        }
    }

    /// It was removed, or its manager has ended.
    fn gone(&self, failure: Failure, log: super::teller::Log<'_>) -> Result<(), Failure> {
        if failure.is_of_missing() {
            return log.end(Ending::Removed);
        }
        log.end(Ending::Failed)?;
        Err(
            Failure::operation("the 'postern start' that it went through has ended")
                .hint("run the same again: it is shared from here then"),
        )
    }

    fn app(&self) -> Result<Value, Failure> {
        let path = format!("/api/apps/{}", self.id);
        self.manager.call("GET", &path, None)
    }

    /// Requests of visitors after the one with this number. Of what is no web site there are none.
    fn requests(&self, after: u64) -> Value {
        let path = format!("/api/apps/{}/requests?after={after}", self.id);
        self.manager.call("GET", &path, None).unwrap_or_default()
    }

    fn call(&self, method: &str, what: &str) -> Result<Value, Failure> {
        let path = format!("/api/{what}/{}", self.id);
        self.manager.call(method, &path, None)
    }

    fn remove(&self) {
        // Where that fails it goes with the lease.
        let _ = self.call("DELETE", "apps");
    }
}

/// Whether its time is over, by the clock on the wall.
fn is_over(app: &Value) -> bool {
    let end = parse_rfc3339(text(app, "/expires"));
    end.is_some_and(|end| end <= SystemTime::now())
}

/// The identifier, and the right to it: the same for the same target, so that it gets the same address again.
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
    let message = format!("that is shared {MAX_ALIKE} times already");
    Err(Failure::operation(message).exit_status(crate::cli::failure::OVER_LIMIT))
}
