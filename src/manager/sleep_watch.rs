//! Notices that the machine has slept: waits and pauses that began before are of no use after it.

use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};

use super::app_state::AppState;
use super::clocks::{Clocks, SLEPT};
use crate::tunnel::client::GONE_WITHIN;

/// Time between two looks at the clocks.
const LOOK: Duration = Duration::from_secs(1);
/// Bytes of the thread's stack.
const STACK: usize = 128 * 1024;

/// The thread that looks at the clocks; it ends with this.
pub(super) struct SleepWatch {
    _ends: Sender<()>,
}

impl SleepWatch {
    /// Begins to look.
    pub(super) fn start(core: &Arc<AppState>) -> io::Result<Self> {
        let (ends, ended) = crossbeam_channel::bounded(0);
        let core = Arc::downgrade(core);
        // One for all connections, so that a hundred that wait cost no more than one.
        std::thread::Builder::new()
            .name("sleep-watch".into())
            .stack_size(STACK)
            .spawn(move || watch(&core, &ended))?;
        Ok(Self { _ends: ends })
    }
}

fn watch(core: &Weak<AppState>, ended: &Receiver<()>) {
    let mut before = Clocks::now();
    while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        let now = Clocks::now();
        let slept = now.slept_since(&before);
        before = now;
        if slept >= SLEPT
            && let Some(core) = core.upgrade()
        {
            log::info!("the machine slept for {} s", slept.as_secs());
            woke(&core, slept);
        }
    }
}

/// Everything is tried at once, also what its server has given up meanwhile and that this side has not noticed.
fn woke(core: &AppState, slept: Duration) {
    core.tunnels.wake_all(slept >= GONE_WITHIN);
    core.connections.wake_all();
}
