//! Notices that the machine has slept: waits and pauses that began before are of no use after it.

use std::io;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};

use super::app_state::AppState;
use crate::store::expiry::Clocks;
use crate::sync::spawn;
use crate::tunnel::client::GONE_WITHIN;

/// Time between two looks at the clocks.
const LOOK: Duration = Duration::from_secs(1);
/// The least sleep that counts: corrections of a clock are smaller, and a try too many does no harm.
const SLEPT: Duration = Duration::from_secs(10);
/// Bytes of the thread's stack.
const STACK: usize = 128 * 1024;

/// Starts the thread that looks at the clocks; it ends when the sender is dropped.
pub(super) fn start(core: &Arc<AppState>) -> io::Result<Sender<()>> {
    let (ends, ended) = crossbeam_channel::bounded(0);
    let core = Arc::downgrade(core);
    // One for all connections, so that a hundred that wait cost no more than one.
    spawn("sleep-watch", STACK, move || watch(&core, &ended))?;
    Ok(ends)
}

fn watch(core: &Weak<AppState>, ended: &Receiver<()>) {
    let mut before = ClockReading::now();
    while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        let now = ClockReading::now();
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

/// One look at a clock that stands still while the machine sleeps, and at those that go on.
struct ClockReading {
    awake: Instant,
    always: Clocks,
}

impl ClockReading {
    fn now() -> Self {
        Self {
            awake: Instant::now(),
            always: Clocks::now(),
        }
    }

    fn slept_since(&self, before: &Self) -> Duration {
        let always = if cfg!(target_os = "linux") {
            (self.always.monotonic).saturating_sub(before.always.monotonic)
        } else {
            // The wall clock, which may be set.
            let passed = self.always.wall.duration_since(before.always.wall);
            passed.unwrap_or_default()
        };
        always.saturating_sub(self.awake.saturating_duration_since(before.awake))
    }
}

/// Everything is tried at once, also what its server has given up meanwhile and that this side has not noticed.
fn woke(core: &AppState, slept: Duration) {
    core.tunnels.wake_all(slept >= GONE_WITHIN);
    core.connections.wake_all();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clocks_of_a_machine_that_slept_are_read_so() {
        let now = ClockReading::now();
        let later = |awake, always| {
            let passed = Duration::from_secs(always);
            ClockReading {
                awake: now.awake + Duration::from_secs(awake),
                always: Clocks {
                    wall: now.always.wall + passed,
                    monotonic: now.always.monotonic + passed,
                },
            }
        };
        assert_eq!(later(2, 902).slept_since(&now), Duration::from_secs(900));
        assert_eq!(later(1, 3601).slept_since(&now), Duration::from_secs(3600));
        assert!(later(60, 61).slept_since(&now) < SLEPT);
        assert_eq!(later(2, 2).slept_since(&now), Duration::ZERO);
        assert_eq!(later(60, 0).slept_since(&now), Duration::ZERO);
        assert!(ClockReading::now().slept_since(&now) < SLEPT, "it is awake");
    }
}
