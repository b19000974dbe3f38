//! Receive windows (RFC 4254 §5.2) that follow what a channel can use, under one budget.
//!
//! A window is a promise to hold that many bytes. What was granted and not yet consumed is
//! charged to the budget of the connection, so that stalled channels cannot hold more than
//! that together. A first window is smaller the more of the budget is taken:
//! `initial × (left / budget)²`, which lets the first hundred channels start well and the
//! thousandth start at all. A busy channel's window then grows, at most twofold a round trip,
//! towards three times what the channel drains in one; an idle one's shrinks.
//!
//! Rates are measured over whole round trips: a sender that waits for its window comes in
//! bursts, and within one the connection seems to be endlessly fast, between two to stand still.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::config::ChannelLimits;
use super::wire::wide;
use crate::sync::part_of_memory;

/// Round trip assumed before any was measured. Default 100 ms: a long line.
const ASSUMED_ROUND_TRIP: Duration = Duration::from_millis(100);
/// The least round trip counted with. Default 1 ms: on short lines the threads' own delays
/// weigh more than the connection's.
const LEAST_ROUND_TRIP: Duration = Duration::from_millis(1);
/// The least round trip that small windows are measured with. Default 20 ms: on a busy machine
/// a thread waits that long for its turn, and a window drained meanwhile stands closed.
const BUSY_ROUND_TRIP: Duration = Duration::from_millis(20);
/// Bytes up to which a window counts as small. Default 1 MiB: of a single busy channel that is
/// 2 ms of what other channels' packets may have to wait behind.
const SMALL: u64 = 1024 * 1024;
/// Round trips that a window lasts at the measured rate. Default 3: one to hear of the grant,
/// one for a sender in bursts, which uses no more than the window less a grant in a round
/// trip, and one to grow into.
const TRIPS_AHEAD: u64 = 3;
/// Part of a window, as a divisor, after which consumed bytes are granted again. Default a quarter: a sender
/// at the window's end sends on with three quarters of it, and a grant costs some 40 bytes.
const GRANT_AFTER: u64 = 4;

/// Part of the memory for the windows of all connections of this process; beyond it each window is the least.
const PARTS: u64 = 8;

/// Bytes charged to the budgets of all connections.
static ALL_CHARGED: AtomicU64 = AtomicU64::new(0);

/// Budget that all windows of a connection share.
pub(super) struct WindowBudget {
    limits: ChannelLimits,
    charged: u64,
}

impl Drop for WindowBudget {
    fn drop(&mut self) {
        self.give_back(self.charged);
    }
}

impl WindowBudget {
    pub(super) fn new(limits: ChannelLimits) -> Self {
        Self { limits, charged: 0 }
    }

    pub(super) fn channels(&self) -> usize {
        self.limits.channels
    }

    pub(super) fn charged(&self) -> u64 {
        self.charged
    }

    fn own_left(&self) -> u64 {
        self.limits.budget.saturating_sub(self.charged)
    }

    fn left(&self) -> u64 {
        let of_all = wide(part_of_memory(PARTS, usize::MAX));
        let all_left = of_all.saturating_sub(ALL_CHARGED.load(Ordering::Relaxed));
        self.own_left().min(all_left)
    }

    fn charge(&mut self, bytes: u64) {
        self.charged += bytes;
        ALL_CHARGED.fetch_add(bytes, Ordering::Relaxed);
    }

    fn give_back(&mut self, bytes: u64) {
        let bytes = bytes.min(self.charged);
        self.charged -= bytes;
        ALL_CHARGED.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Returns the size that a channel should start with now, were there no least window.
    fn fair(&self) -> u64 {
        let budget = self.limits.budget.max(1);
        let part = self.limits.initial.saturating_mul(self.left()) / budget;
        part.saturating_mul(self.left()) / budget
    }

    /// Returns the growth allowed for a window of `size`. The last quarter is kept for first windows.
    fn growth(&self, size: u64) -> u64 {
        let beyond = self.left().saturating_sub(self.limits.budget / 4) / 2;
        let first = self.fair().saturating_sub(size);
        beyond.max(first).min(self.left())
    }
}

/// The receive window of one channel. Counts run from the channel's beginning.
#[derive(Debug)]
pub(super) struct Window {
    granted: u64,
    consumed: u64,
    size: u64,
    /// Time of the last measurement, and the bytes consumed by then.
    mark: Option<(Instant, u64)>,
    ended: bool,
}

impl Window {
    /// A first window, charged to the budget; none when too little of that is left.
    pub(super) fn open(budget: &mut WindowBudget) -> Option<Self> {
        let size = budget.fair().max(budget.limits.least);
        if size > budget.own_left() {
            return None;
        }
        budget.charge(size);
        Some(Self {
            granted: size,
            consumed: 0,
            size,
            mark: None,
            ended: false,
        })
    }

    /// Bytes that the peer may send in all.
    pub(super) fn granted(&self) -> u64 {
        self.granted
    }

    /// The bytes that the peer is told of when the channel opens.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Notes that `count` received bytes have been used; returns the bytes to grant now, if any.
    pub(super) fn consume(
        &mut self,
        count: u64,
        now: Instant,
        round_trip: Option<Duration>,
        budget: &mut WindowBudget,
    ) -> Option<u32> {
        let count = count.min(self.granted - self.consumed);
        self.consumed += count;
        budget.give_back(count);
        let (since, consumed_then) = *self.mark.get_or_insert((now, self.consumed - count));
        if self.ended {
            return None;
        }
        let trip = round_trip
            .unwrap_or(ASSUMED_ROUND_TRIP)
            .max(LEAST_ROUND_TRIP);
        let elapsed = now.saturating_duration_since(since);
        if elapsed >= trip {
            let wanted = wanted(self.consumed - consumed_then, elapsed, trip);
            self.size = self.resize(wanted, budget);
            self.mark = Some((now, self.consumed));
        }
        let open = self.granted - self.consumed;
        if open > self.size - self.size / GRANT_AFTER {
            return None;
        }
        self.grant(open, budget)
    }

    fn resize(&self, wanted: u64, budget: &WindowBudget) -> u64 {
        let limits = &budget.limits;
        if wanted > self.size {
            let step = (wanted - self.size).min(self.size);
            let grown = self.size + step.min(budget.growth(self.size));
            grown.min(limits.most.max(self.size))
        } else {
            let floor = limits.initial.min(self.size);
            (self.size - self.size / 4).max(wanted).max(floor)
        }
    }

    fn grant(&mut self, open: u64, budget: &mut WindowBudget) -> Option<u32> {
        let least = budget.limits.least.min(budget.own_left());
        let more = self.size.saturating_sub(open).min(budget.left().max(least));
        self.granted += more;
        budget.charge(more);
        u32::try_from(more).ok().filter(|more| *more > 0)
    }

    /// Notes that the peer sends no more: only the bytes that it has sent stay charged.
    pub(super) fn end(&mut self, received: u64, budget: &mut WindowBudget) {
        self.ended = true;
        let unused = self.granted.saturating_sub(received.max(self.consumed));
        self.granted -= unused;
        budget.give_back(unused);
    }

    /// Notes that no received bytes are held any more.
    pub(super) fn release(&mut self, budget: &mut WindowBudget) {
        let held = self.granted - self.consumed;
        self.consumed = self.granted;
        budget.give_back(held);
    }
}

/// The bytes of [`TRIPS_AHEAD`] round trips at the measured rate.
fn wanted(drained: u64, elapsed: Duration, trip: Duration) -> u64 {
    let ahead = |trip: Duration| {
        let bytes = u128::from(drained) * u128::from(TRIPS_AHEAD) * trip.as_micros();
        u64::try_from(bytes / elapsed.as_micros().max(1)).unwrap_or(u64::MAX)
    };
    ahead(trip).max(ahead(trip.max(BUSY_ROUND_TRIP)).min(SMALL))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1024 * 1024;

    fn budget() -> WindowBudget {
        WindowBudget::new(ChannelLimits::default())
    }

    /// A sender that fills the window, over a line of this round trip and rate.
    fn run(window: &mut Window, budget: &mut WindowBudget, trip: Duration, rate: u64, rounds: u32) {
        let mut now = Instant::now();
        for _ in 0..rounds {
            let open = window.granted - window.consumed;
            let line = rate * u64::try_from(trip.as_millis()).unwrap() / 1000;
            let piece = (open.min(line) / 16).max(1);
            for _ in 0..16 {
                now += trip / 16;
                window.consume(piece, now, Some(trip), budget);
            }
        }
    }

    #[test]
    fn a_long_fast_line_gets_a_wide_window() {
        let mut budget = budget();
        let mut window = Window::open(&mut budget).unwrap();
        assert_eq!(window.size(), 256 * 1024);
        run(
            &mut window,
            &mut budget,
            Duration::from_millis(100),
            80 * MIB,
            20,
        );
        assert!(window.size() >= 12 * MIB, "{}", window.size());
        assert!(window.size() <= 16 * MIB);
    }

    /// Packets over a line that delivers `rate` bytes a second, `trip` after the grant that
    /// allowed them: time in microseconds, and what came then. Answers the bytes of the last second.
    fn last_second(trip: u64, rate: u64, packet: u64, seconds: u64) -> u64 {
        let (mut budget, began) = (budget(), Instant::now());
        let mut window = Window::open(&mut budget).unwrap();
        let mut grants = std::collections::VecDeque::from([(0, window.granted())]);
        let (mut now, mut sent, mut counted) = (0, 0, 0);
        while now < seconds * 1_000_000 {
            let (allowed_at, most) = *grants.front().unwrap();
            if sent == most {
                grants.pop_front();
                continue;
            }
            let size = packet.min(most - sent);
            now = (now + size * 1_000_000 / rate).max(allowed_at + trip);
            sent += size;
            counted += if now >= (seconds - 1) * 1_000_000 {
                size
            } else {
                0
            };
            let at = began + Duration::from_micros(now);
            let trip = Duration::from_micros(trip);
            if window.consume(size, at, Some(trip), &mut budget).is_some() {
                grants.push_back((now, window.granted()));
            }
        }
        counted
    }

    /// A sender that waits for each grant sent a burst a round trip, of just so much that the
    /// rate seemed to need no wider window: 5 MB/s for ever on some lines.
    #[test]
    fn a_long_line_is_filled_within_two_seconds_however_the_bursts_fall() {
        for trip in [20_000, 50_000, 100_000, 150_000] {
            for packet in [1_024, 8_192, 24_571, 32_768] {
                for rate in [20_000_000, 60_000_000, 90_000_000] {
                    let moved = last_second(trip, rate, packet, 3);
                    assert!(
                        moved >= rate * 9 / 10,
                        "{trip} µs, packets of {packet}: {moved} of {rate}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_slow_line_keeps_the_first_window() {
        let mut budget = budget();
        let mut window = Window::open(&mut budget).unwrap();
        run(&mut window, &mut budget, Duration::from_millis(50), MIB, 50);
        assert!(window.size() <= 512 * 1024, "{}", window.size());
    }

    #[test]
    fn a_wide_window_shrinks_when_its_channel_slows_down() {
        let mut budget = budget();
        let mut window = Window::open(&mut budget).unwrap();
        run(
            &mut window,
            &mut budget,
            Duration::from_millis(100),
            80 * MIB,
            20,
        );
        run(
            &mut window,
            &mut budget,
            Duration::from_millis(100),
            MIB,
            2000,
        );
        assert!(window.size() < MIB, "{}", window.size());
    }

    #[test]
    fn stalled_channels_never_exceed_the_budget_and_a_thousand_fit() {
        let mut budget = budget();
        let mut open = 0;
        while Window::open(&mut budget).is_some() {
            open += 1;
            assert!(budget.charged <= 64 * MIB);
        }
        assert!(open > 3000, "{open}");
    }

    #[test]
    fn four_greedy_channels_leave_room_to_start_more() {
        let mut budget = budget();
        let mut windows: Vec<_> = (0..8).map(|_| Window::open(&mut budget).unwrap()).collect();
        for window in &mut windows {
            run(
                window,
                &mut budget,
                Duration::from_millis(100),
                200 * MIB,
                30,
            );
        }
        assert!(
            budget.charged <= 48 * MIB + 16 * 256 * 1024,
            "{}",
            budget.charged
        );
        assert!(Window::open(&mut budget).is_some_and(|window| window.size() >= 8 * 1024));
    }

    #[test]
    fn everything_charged_is_given_back() {
        let mut budget = budget();
        let mut window = Window::open(&mut budget).unwrap();
        run(
            &mut window,
            &mut budget,
            Duration::from_millis(10),
            500 * MIB,
            7,
        );
        assert_eq!(budget.charged, window.granted - window.consumed);
        window.end(window.consumed + 5, &mut budget);
        assert_eq!(budget.charged, 5);
        window.release(&mut budget);
        assert_eq!(budget.charged, 0);
        // Too much is no harm.
        window.consume(9, Instant::now(), None, &mut budget);
        assert_eq!(budget.charged, 0);
    }
}
