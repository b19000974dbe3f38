//! Global requests (RFC 4254 §4), each answered in its turn.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::Session;
use crate::tunnel::ssh::error::Error;
use crate::tunnel::ssh::event::{Event, RequestId};
use crate::tunnel::ssh::limits;
use crate::tunnel::ssh::names::msg;
use crate::tunnel::ssh::wire::{Fields, Put};

/// GlobalRequests of both sides that await their answer.
#[derive(Default)]
pub(super) struct GlobalRequests {
    ours: VecDeque<(RequestId, Instant)>,
    /// Theirs, with the answer where it waits for an earlier one.
    theirs: VecDeque<(RequestId, Option<Vec<u8>>)>,
    next: u64,
    trips: RoundTrips,
}

impl Session {
    /// Sends a global request that wants a reply: [`Event::Reply`].
    pub fn request(&mut self, name: &str, data: &[u8], now: Instant) -> Result<RequestId, Error> {
        self.check_open()?;
        if data.len() > limits::MAX_EXTRA || name.len() > limits::MAX_NAME {
            return Err(Error::Misuse("the request is too long"));
        }
        if self.requests.ours.len() >= limits::MAX_REQUESTS {
            return Err(Error::Exhausted("requests without an answer"));
        }
        let mut head = vec![msg::GLOBAL_REQUEST];
        head.put_string(name.as_bytes());
        head.put_bool(true);
        self.out.urgent(&[&head, data]);
        let id = self.requests.id();
        self.requests.ours.push_back((id, now));
        Ok(id)
    }

    /// Answers [`Event::Request`]. Answers may come in any order; they are sent in the order
    /// of the requests.
    pub fn reply(&mut self, id: RequestId, success: bool, data: &[u8]) -> Result<(), Error> {
        self.check_open()?;
        if data.len() > limits::MAX_EXTRA {
            return Err(Error::Misuse("the reply is too long"));
        }
        let slot = self.requests.theirs.iter_mut().find(|(of, _)| *of == id);
        let Some((_, answer @ None)) = slot else {
            return Err(Error::Misuse("no such request awaits a reply"));
        };
        let mut message = vec![match success {
            true => msg::REQUEST_SUCCESS,
            false => msg::REQUEST_FAILURE,
        }];
        message.put(data);
        *answer = Some(message);
        while let Some((_, Some(message))) = self.requests.theirs.front() {
            self.out.urgent(&[message]);
            self.requests.theirs.pop_front();
        }
        Ok(())
    }

    /// The least round trip among the last answers; absent before the first.
    pub fn round_trip(&self) -> Option<Duration> {
        self.requests.trips.least()
    }
}

impl GlobalRequests {
    fn id(&mut self) -> RequestId {
        self.next += 1;
        RequestId(self.next)
    }

    pub(super) fn round_trip(&self) -> Option<Duration> {
        self.trips.least()
    }

    /// The peer asks.
    pub(super) fn asked<'a>(&mut self, mut fields: Fields<'a>) -> Result<Event<'a>, Error> {
        let name = fields.name(limits::MAX_NAME)?;
        let wants_reply = fields.boolean()?;
        if wants_reply && self.theirs.len() >= limits::MAX_REQUESTS {
            return Err(Error::Flooded);
        }
        let id = wants_reply.then(|| self.id());
        self.theirs.extend(id.map(|id| (id, None)));
        let data = fields.rest();
        Ok(Event::Request { id, name, data })
    }

    /// The peer answers. RFC 4254 §4: in the order of the requests.
    pub(super) fn answered<'a>(
        &mut self,
        success: bool,
        data: &'a [u8],
        now: Instant,
    ) -> Result<Event<'a>, Error> {
        let (id, since) = self
            .ours
            .pop_front()
            .ok_or(Error::Protocol("a reply came without a request"))?;
        let round_trip = now.saturating_duration_since(since);
        self.trips.add(round_trip);
        Ok(Event::Reply {
            id,
            success,
            data,
            round_trip,
        })
    }
}

/// The last round trips. Their least is closest to the network's own: the others have waited
/// behind data.
#[derive(Default)]
struct RoundTrips {
    last: [Option<Duration>; 8],
    at: usize,
}

impl RoundTrips {
    fn add(&mut self, trip: Duration) {
        if let Some(slot) = self.last.get_mut(self.at) {
            *slot = Some(trip);
        }
        self.at = (self.at + 1) % self.last.len();
    }

    fn least(&self) -> Option<Duration> {
        self.last.iter().flatten().min().copied()
    }
}
