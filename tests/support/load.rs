//! Promised times on a machine that has other things to do.

use std::time::{Duration, Instant};

/// A promise is kept when it takes no more than so many times as long: what breaks one takes far longer.
const SLACK: f64 = 3.0;

/// Factor by which things may take longer here and now: [`SLACK`], and more by as much as there are more programs
/// than processors.
pub fn slowdown() -> f64 {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let waiting: f64 = load
        .split(' ')
        .next()
        .and_then(|last_minute| last_minute.parse().ok())
        .unwrap_or(0.0);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    SLACK + waiting / cores as f64
}

/// Time that may pass here and now for what is promised within `promised`.
pub fn allowed(promised: Duration) -> Duration {
    promised.mul_f64(slowdown())
}

/// Checks that the time since `began` is within the promised time, scaled by the load of the machine.
#[track_caller]
pub fn assert_within(began: Instant, promised: Duration) {
    let (took, allowed) = (began.elapsed(), allowed(promised));
    assert!(
        took < allowed,
        "took {took:?}, promised {promised:?}, allowed {allowed:?}"
    );
}
