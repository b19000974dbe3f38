//! Deadlines: keep-alive, the set-up, sockets that linger.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::end::End;
use super::stream::Stream;
use crate::tunnel::ssh::RequestId;

/// Time for a keep-alive's answer, in which nothing at all comes, 15 s: with the pause of 25 s a
/// peer that vanished is noticed within 40 s. Data counts as an answer: on a slow line it comes
/// before it.
pub(in crate::tunnel) const ANSWER_WITHIN: Duration = Duration::from_secs(15);
/// Time for a visitor to close its end after the target has closed, 2 s; what it sends meanwhile
/// is dropped, as closing at once would take back what it has not read yet.
const LINGER: Duration = Duration::from_secs(2);
/// The longest sleep, 5 s: that soon after a suspend the peer is asked for a sign of life.
const LONGEST_SLEEP: Duration = Duration::from_secs(5);
/// Difference between both clocks that means a suspend or a set clock, 2 s.
const CLOCK_JUMP: Duration = Duration::from_secs(2);

pub(super) struct Timers {
    /// True if the writer thread has work.
    pub(super) is_writer_woken: bool,
    /// True if a thread waits to hear from the peer.
    pub(super) is_probed: bool,
    keepalive: Option<Duration>,
    answer_within: Duration,
    ready_by: Option<(Instant, Duration)>,
    ping_at: Option<Instant>,
    /// The ping without an answer, and the time at which it was sent.
    asked: Option<(RequestId, Instant)>,
    heard: Instant,
    /// Time of the last comparison of both clocks.
    compared: (Instant, SystemTime),
    lingering: Vec<(Instant, Arc<Stream>)>,
    /// Time of the next look at all streams.
    sweep_at: Instant,
}

/// Work that is due now.
pub(super) struct Due {
    pub(super) ping: bool,
    pub(super) tick: bool,
    /// All streams are to be looked at.
    pub(super) sweep: bool,
    pub(super) lingered: Vec<Arc<Stream>>,
}

impl Timers {
    pub(super) fn new(
        keepalive: Option<Duration>,
        answer_within: Duration,
        ready_within: Duration,
        now: Instant,
    ) -> Self {
        Self {
            is_writer_woken: false,
            is_probed: false,
            keepalive,
            answer_within,
            ready_by: Some((now + ready_within, ready_within)),
            ping_at: None,
            asked: None,
            heard: now,
            compared: (now, SystemTime::now()),
            lingering: Vec::new(),
            sweep_at: now + LONGEST_SLEEP,
        }
    }

    pub(super) fn mark_ready(&mut self, now: Instant) {
        self.ready_by = None;
        // The first at once: windows grow by the round trip, which the server has not measured yet.
        self.ping_at = self.keepalive.map(|_| now);
    }

    pub(super) fn allow(&mut self, now: Instant, time: Duration) {
        self.ready_by = Some((now + time, time));
    }

    pub(super) fn hear(&mut self, now: Instant) {
        self.heard = now;
    }

    pub(super) fn heard(&self) -> Instant {
        self.heard
    }

    pub(super) fn ping_now(&mut self, now: Instant) {
        self.ping_at = Some(now);
    }

    pub(super) fn note_ping(&mut self, id: RequestId, now: Instant) {
        self.asked = Some((id, now));
    }

    /// True if this is the answer to the ping.
    pub(super) fn take_answer(&mut self, id: RequestId) -> bool {
        let is_ours = self.asked.is_some_and(|(asked, _)| asked == id);
        if is_ours {
            self.asked = None;
        }
        is_ours
    }

    pub(super) fn linger(&mut self, stream: Arc<Stream>, now: Instant) {
        self.lingering.push((now + LINGER, stream));
    }

    pub(super) fn take_lingering(&mut self) -> impl Iterator<Item = Arc<Stream>> + use<> {
        let all = std::mem::take(&mut self.lingering);
        all.into_iter().map(|(_, stream)| stream)
    }

    pub(super) fn due(&mut self, now: Instant) -> Result<Due, End> {
        if let Some((_, limit)) = self.ready_by.filter(|(by, _)| *by <= now) {
            return Err(End::NotReady(limit));
        }
        if self.answer_by().is_some_and(|by| by <= now) {
            return Err(End::Silent(self.answer_within));
        }
        if self.detect_jump(now) && self.ready_by.is_none() {
            self.ping_at = Some(now);
        }
        let ping = self.asked.is_none() && self.ping_at.is_some_and(|at| at <= now);
        if ping {
            self.ping_at = self.keepalive.map(|pause| now + pause);
        }
        let sweep = self.sweep_at <= now;
        if sweep {
            self.sweep_at = now + LONGEST_SLEEP;
        }
        let over = |(at, _): &mut (Instant, Arc<Stream>)| *at <= now;
        let lingered = self
            .lingering
            .extract_if(.., over)
            .map(|(_, stream)| stream)
            .collect();
        Ok(Due {
            ping,
            tick: self.ready_by.is_none(),
            sweep,
            lingered,
        })
    }

    /// Returns the time at which there is something to do or to check.
    pub(super) fn next(&self) -> Instant {
        let ping = self.ping_at.filter(|_| self.asked.is_none());
        let ready = self.ready_by.map(|(by, _)| by);
        let linger = self.lingering.first().map(|(at, _)| *at);
        let longest = self.compared.0 + LONGEST_SLEEP;
        [ping, ready, linger, self.answer_by()]
            .into_iter()
            .flatten()
            .fold(longest, Instant::min)
    }

    fn answer_by(&self) -> Option<Instant> {
        let (_, since) = self.asked?;
        Some(since.max(self.heard) + self.answer_within)
    }

    fn detect_jump(&mut self, now: Instant) -> bool {
        let wall = SystemTime::now();
        let (last, last_wall) = std::mem::replace(&mut self.compared, (now, wall));
        let passed = now.saturating_duration_since(last);
        match wall.duration_since(last_wall) {
            Ok(wall_passed) => wall_passed.abs_diff(passed) > CLOCK_JUMP,
            Err(back) => back.duration() + passed > CLOCK_JUMP,
        }
    }
}
