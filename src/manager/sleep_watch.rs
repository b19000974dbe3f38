//! Notices that the machine has slept, and then ends waits and pauses that began before.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::app_state::AppState;
use crate::store::expiry::Clocks;
use crate::sync::{Lookout, Thread};
use crate::tunnel::client::GONE_WITHIN;

/// The least sleep that counts: corrections of a clock are smaller, and a superfluous retry does no harm.
const SLEPT: Duration = Duration::from_secs(10);

/// Watches the clocks while the manager runs.
pub(super) fn start(core: &Arc<AppState>) {
    let (core, mut before) = (Arc::downgrade(core), ClockReading::now());
    // One thread for all connections.
    Lookout::default().begin(Thread::SleepWatch, move || {
        let core = core.upgrade()?;
        let now = ClockReading::now();
        let slept = now.slept_since(&before);
        before = now;
        if slept >= SLEPT {
            log::info!("the machine slept for {} s", slept.as_secs());
            woke(&core, slept);
        }
        Some(Duration::MAX)
    });
}

/// Reading of a clock that stands still while the machine sleeps, and of those that go on.
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
            // The wall clock may also have been set.
            let passed = self.always.wall.duration_since(before.always.wall);
            passed.unwrap_or_default()
        };
        always.saturating_sub(self.awake.saturating_duration_since(before.awake))
    }
}

/// Retries everything at once, also tunnels that the server has given up without this side noticing.
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
