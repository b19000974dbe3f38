//! Attempts of a quick-setup call, and the pauses between them.

use crate::sync::{Permits, Thread, spawn};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, TryRecvError, bounded, never, select};
use zeroize::Zeroizing;

use super::answer::{self, Setup};
use super::call::{PATH, Reply, post};
use super::failure::{Failure, SentSecrets};
use crate::manager::ServerUrl;

/// Maximum number of attempts.
pub const ATTEMPTS: u32 = crate::limits::SETUP_ATTEMPTS;

/// Maximum number of calls at once, including those that nobody waits for any more: three times the connections.
const MAX_CALLS: usize = 300;

/// The longest pause after a 503, even if it asks for more. Default 10 s: the next attempt tells.
const MAX_BUSY: Duration = Duration::from_secs(10);

/// Current calls.
static CALLS: LazyLock<Permits> = LazyLock::new(Permits::default);

/// Times of the calls.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    /// All of one call, from the name's resolution to the last byte of the answer.
    pub(super) call: Duration,
    /// Unit of the pauses.
    pub(super) second: Duration,
}

/// Times of the specification.
const PACE: Pace = Pace {
    call: crate::limits::SETUP_CALL,
    second: Duration::from_secs(1),
};

/// A pause before another attempt.
#[derive(Clone, Debug)]
pub struct Wait {
    /// The attempt that failed, from 1.
    pub attempt: u32,
    /// Time of the next attempt.
    pub until: Instant,
    /// Reason that it is needed.
    pub reason: String,
}

/// Caller whose application is set up.
pub trait Caller {
    /// Prepares the next call; the credentials are read anew from where they are stored when `reload` is given.
    fn prepare(&mut self, reload: bool) -> Result<PreparedCall, Failure>;
    /// Called when a pause begins, and with `None` when it ends.
    fn waiting(&mut self, wait: Option<Wait>);
}

/// A call that is to be made.
pub struct PreparedCall {
    /// Body to send: the JSON of a [`SetupCall`](crate::api::relay::SetupCall).
    pub body: Zeroizing<Vec<u8>>,
    /// Called when the server has accepted the credentials, even if nobody waits any more: on the thread of the call,
    /// before [`run`] returns. A late one may come after that of a newer run.
    pub accepted: Box<dyn FnOnce(&Setup) + Send>,
}

/// Asks `server`, at most [`ATTEMPTS`] times.
///
/// Each call runs on a thread of its own, as it cannot be interrupted. `stop` (a message, or its other end dropped)
/// ends the wait at once, and the call's thread ends within 30 s by itself. A message on `retry` ends a pause.
pub fn run(
    server: &ServerUrl,
    caller: &mut dyn Caller,
    stop: &Receiver<()>,
    retry: &Receiver<()>,
) -> Result<Setup, Failure> {
    run_at(PACE, server, caller, stop, retry)
}

pub(super) fn run_at(
    pace: Pace,
    server: &ServerUrl,
    caller: &mut dyn Caller,
    stop: &Receiver<()>,
    retry: &Receiver<()>,
) -> Result<Setup, Failure> {
    let mut reload = false;
    for attempt in 1..=ATTEMPTS {
        let outcome = ask(pace, server, caller, stop, std::mem::take(&mut reload))?;
        match next(pace, attempt, outcome) {
            Next::Answer(result) => return result.map(|setup| *setup),
            Next::Reload => reload = true,
            Next::Pause(pause, reason) => {
                // A message from before the pause does not end it.
                while retry.try_recv().is_ok() {}
                let until = Instant::now() + pause;
                log::debug!("quick-setup attempt {attempt}: {reason}; retrying in {pause:?}");
                caller.waiting(Some(Wait {
                    attempt,
                    until,
                    reason,
                }));
                let waited = rest(until, stop, retry);
                caller.waiting(None);
                waited?;
            }
        }
    }
    // The last attempt has answered above.
    Err(Failure::Stopped)
}

/// Next action after an attempt.
enum Next {
    Answer(Result<Box<Setup>, Failure>),
    /// The next attempt at once, with the credentials loaded again.
    Reload,
    /// The next attempt after this pause; and the reason.
    Pause(Duration, String),
}

/// The retry table of the specification.
fn next(pace: Pace, attempt: u32, outcome: SetupOutcome) -> Next {
    let last = attempt == ATTEMPTS;
    let failed = |failure| Next::Answer(Err(failure));
    match outcome {
        SetupOutcome::Done(setup) => Next::Answer(Ok(setup)),
        SetupOutcome::Unauthorized(said) if last => failed(Failure::Unauthorized { said }),
        SetupOutcome::Unauthorized(_) => Next::Reload,
        SetupOutcome::TooMany(_) if last => failed(Failure::TooManyRequests { attempts: attempt }),
        SetupOutcome::TooMany(asked) => {
            let pause = asked.unwrap_or_default().max(pace.second * attempt * 3);
            Next::Pause(pause, "the relay limits calls (429)".to_owned())
        }
        SetupOutcome::Busy(_, said) if last => failed(Failure::Status { status: 503, said }),
        SetupOutcome::Busy(asked, said) => {
            let pause = asked.unwrap_or_default().min(MAX_BUSY);
            Next::Pause(pause.max(pace.second * attempt), format!("503: {said}"))
        }
        SetupOutcome::Passing(reason) if last => failed(Failure::Unreachable {
            reason,
            attempts: attempt,
        }),
        SetupOutcome::Passing(reason) => Next::Pause(pace.second * attempt, reason),
        SetupOutcome::Failed(failure) => failed(failure),
    }
}

/// Outcome of an attempt, by the rows of the retry table.
enum SetupOutcome {
    Done(Box<Setup>),
    /// 401, and the message.
    Unauthorized(String),
    /// 429, and the wait that was asked for.
    TooMany(Option<Duration>),
    /// 503 with the time to wait, and the message.
    Busy(Option<Duration>, String),
    /// The end of the stream, a timeout, a refused connection.
    Passing(String),
    /// Anything else.
    Failed(Failure),
}

/// Makes one call and waits for its end or for `stop`.
fn ask(
    pace: Pace,
    server: &ServerUrl,
    caller: &mut dyn Caller,
    stop: &Receiver<()>,
    reload: bool,
) -> Result<SetupOutcome, Failure> {
    // A call that is no longer wanted is not made.
    if stop.try_recv() != Err(TryRecvError::Empty) {
        return Err(Failure::Stopped);
    }
    let answered = start(pace, server.clone(), caller.prepare(reload)?)?;
    select! {
        recv(stop) -> _ => Err(Failure::Stopped),
        recv(answered) -> outcome => {
            outcome.map_err(|_| Failure::Local("the call to the relay was interrupted".to_owned()))
        }
    }
}

/// Starts the call's thread, which ends with the call, within its timeout.
fn start(
    pace: Pace,
    server: ServerUrl,
    prepared: PreparedCall,
) -> Result<Receiver<SetupOutcome>, Failure> {
    let too_many = || format!("{MAX_CALLS} calls to relays still wait for an answer");
    let permit = CALLS
        .take(MAX_CALLS)
        .ok_or_else(|| Failure::Local(too_many()))?;
    let PreparedCall { body, accepted } = prepared;
    let (answer, answered) = bounded(1);
    let spawned = spawn(Thread::QuickSetup, move || {
        let _permit = permit;
        let outcome = judged(&server, post(&server, PATH, &body, pace.call), &body);
        if let SetupOutcome::Done(setup) = &outcome {
            accepted(setup);
        }
        // Nobody may be waiting any more.
        let _ = answer.send(outcome);
    });
    spawned.map_err(|error| Failure::Local(format!("cannot start a thread: {error}")))?;
    Ok(answered)
}

fn judged(server: &ServerUrl, result: Result<Reply, Failure>, sent: &[u8]) -> SetupOutcome {
    let reply = match result {
        Ok(reply) => reply,
        Err(Failure::Unreachable { reason, .. }) => return SetupOutcome::Passing(reason),
        Err(failure) => return SetupOutcome::Failed(failure),
    };
    let secrets = SentSecrets::of(sent);
    let said = || secrets.said(&reply.body);
    match reply.status {
        200..=299 => match answer::read_from(server, reply.server_class, &reply.body) {
            Ok(setup) => SetupOutcome::Done(Box::new(setup)),
            Err(refusal) => SetupOutcome::Failed(Failure::of(refusal, &reply.body, &secrets)),
        },
        401 => SetupOutcome::Unauthorized(said()),
        429 => SetupOutcome::TooMany(reply.retry_after),
        503 if reply.retry_after.is_some() => SetupOutcome::Busy(reply.retry_after, said()),
        status => SetupOutcome::Failed(Failure::Status {
            status,
            said: said(),
        }),
    }
}

/// Sleeps until then, or until a message on `retry`.
fn rest(until: Instant, stop: &Receiver<()>, retry: &Receiver<()>) -> Result<(), Failure> {
    let closed = never();
    let mut retry = retry;
    loop {
        select! {
            recv(stop) -> _ => return Err(Failure::Stopped),
            recv(retry) -> message => match message {
                Ok(()) => return Ok(()),
                Err(_) => retry = &closed,
            },
            default(until.saturating_duration_since(Instant::now())) => return Ok(()),
        }
    }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
