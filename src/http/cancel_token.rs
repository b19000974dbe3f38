//! Tells a handler that its client has gone.

use crate::sync::{Mutex, Thread, spawn};
use std::collections::HashMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ThreadId};

type Callback = Box<dyn FnOnce() + Send>;

/// Tells if the client of one request is still connected. Clones tell of the same client.
///
/// A client that shuts down its sending side counts as gone: over TCP that cannot be told
/// from a closed connection.
#[derive(Clone, Default)]
pub struct CancelToken {
    state: Arc<TokenState>,
}

#[derive(Default)]
struct TokenState {
    gone: AtomicBool,
    callbacks: Mutex<Callbacks>,
}

#[derive(Default)]
struct Callbacks {
    next: u64,
    waiting: HashMap<u64, Arc<CallbackSlot>>,
}

/// A callback. `callback` stays locked while it runs, so that a guard can wait for it.
struct CallbackSlot {
    callback: Mutex<Option<Callback>>,
    runner: Mutex<Option<ThreadId>>,
}

impl CancelToken {
    /// Makes a token for a connected client.
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    /// True if the client has gone (or the server is being stopped).
    pub fn is_gone(&self) -> bool {
        self.state.gone.load(Ordering::SeqCst)
    }

    /// Runs `f` once when the client goes, on a thread of its own, or here and now if it has gone already. Dropping the
    /// guard deregisters `f`, or waits for its end if it is running: after that `f` does not run any more.
    pub fn on_gone(&self, f: impl FnOnce() + Send + 'static) -> DisconnectGuard {
        let mut callbacks = self.state.callbacks.lock();
        if self.is_gone() {
            drop(callbacks);
            f();
            return DisconnectGuard { registration: None };
        }
        let slot = Arc::new(CallbackSlot {
            callback: Mutex::new(Some(Box::new(f))),
            runner: Mutex::new(None),
        });
        let id = callbacks.next;
        callbacks.next += 1;
        callbacks.waiting.insert(id, Arc::clone(&slot));
        DisconnectGuard {
            registration: Some((self.clone(), id, slot)),
        }
    }

    /// Marks the client as gone and runs what is registered. Later calls do nothing.
    pub(crate) fn fire(&self) {
        let waiting = {
            let mut callbacks = self.state.callbacks.lock();
            self.state.gone.store(true, Ordering::SeqCst);
            std::mem::take(&mut callbacks.waiting)
        };
        if waiting.is_empty() {
            return;
        }
        run_elsewhere(waiting.into_values().collect());
    }

    /// Forgets the callbacks: the request has ended in the ordinary way.
    pub(crate) fn disarm(&self) {
        let forgotten = std::mem::take(&mut self.state.callbacks.lock().waiting);
        drop(forgotten); // with the lock released: a callback's drop may take others
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken")
            .field("gone", &self.is_gone())
            .finish()
    }
}

/// Keeps a callback of [`CancelToken::on_gone`] registered.
#[must_use = "dropping the guard deregisters the callback"]
pub struct DisconnectGuard {
    registration: Option<(CancelToken, u64, Arc<CallbackSlot>)>,
}

impl fmt::Debug for DisconnectGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DisconnectGuard")
    }
}

impl Drop for DisconnectGuard {
    fn drop(&mut self) {
        let Some((token, id, slot)) = self.registration.take() else {
            return;
        };
        let _ = token.state.callbacks.lock().waiting.remove(&id);
        slot.cancel();
    }
}

impl CallbackSlot {
    fn run(&self) {
        let mut callback = self.callback.lock();
        *self.runner.lock() = Some(thread::current().id());
        if let Some(f) = callback.take()
            && catch_unwind(AssertUnwindSafe(f)).is_err()
        {
            log::error!("http: the callback for a lost client panicked");
        }
        *self.runner.lock() = None;
    }

    /// Drops the callback; waits while it runs, unless on this very thread.
    fn cancel(&self) {
        if *self.runner.lock() == Some(thread::current().id()) {
            return;
        }
        let callback = self.callback.lock().take();
        drop(callback);
    }
}

/// Runs callbacks on a thread that ends with them: the thread that notices a leaving client has a small stack. If no
/// thread can be started, they run here.
fn run_elsewhere(slots: Vec<Arc<CallbackSlot>>) {
    let slots = Arc::new(slots);
    let theirs = Arc::clone(&slots);
    let spawned = spawn(Thread::ClientGone, move || {
        theirs.iter().for_each(|slot| slot.run())
    });
    if spawned.is_err() {
        slots.iter().for_each(|slot| slot.run());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::time::Duration;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(10);

    #[test]
    fn callbacks_run_once_or_at_once_or_not_at_all() {
        let watch = CancelToken::new();
        let (told, heard) = channel();
        let (early, dropped, late) = (told.clone(), told.clone(), told);
        let kept = watch.on_gone(move || early.send("early").unwrap());
        drop(watch.on_gone(move || dropped.send("dropped").unwrap()));
        assert!(!watch.is_gone());
        watch.fire();
        watch.fire();
        assert_eq!(heard.recv_timeout(TIMEOUT), Ok("early"));
        drop(watch.on_gone(move || late.send("late").unwrap()));
        assert_eq!(heard.recv_timeout(TIMEOUT), Ok("late"));
        drop(kept);
        assert_eq!(
            heard.recv_timeout(TIMEOUT),
            Err(RecvTimeoutError::Disconnected)
        );
    }

    #[test]
    fn dropping_a_guard_waits_for_a_callback_that_runs() {
        let watch = CancelToken::new();
        let (begun, has_begun) = channel();
        let (release, released) = channel::<()>();
        let ended = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&ended);
        let guard = watch.on_gone(move || {
            begun.send(()).unwrap();
            released.recv_timeout(TIMEOUT).unwrap();
            end.store(true, Ordering::SeqCst);
        });
        watch.fire();
        has_begun.recv_timeout(TIMEOUT).unwrap();
        let dropping = thread::spawn(move || drop(guard));
        release.send(()).unwrap();
        dropping.join().unwrap();
        assert!(ended.load(Ordering::SeqCst));
    }

    #[test]
    fn a_request_that_ended_forgets_its_callbacks() {
        let watch = CancelToken::new();
        let (told, heard) = channel::<()>();
        let guard = watch.on_gone(move || told.send(()).unwrap());
        watch.disarm();
        watch.fire();
        drop(guard);
        assert_eq!(
            heard.recv_timeout(TIMEOUT),
            Err(RecvTimeoutError::Disconnected)
        );
    }
}
