//! Global requests (RFC 4254 §4), each answered in its turn.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::error::Error;
use super::event::Event;
use super::ids::RequestId;
use super::limits;
use super::names::msg;
use super::output::Output;
use super::wire::{Fields, Put};

/// The requests of both sides that await their answer.
#[derive(Default)]
pub(super) struct GlobalRequests {
    ours: VecDeque<(RequestId, Instant)>,
    /// Theirs, with the answer where it waits for an earlier one.
    theirs: VecDeque<(RequestId, Option<Vec<u8>>)>,
    next: u64,
    /// The last ones. Their least is closest to the network's own: the others have waited
    /// behind data.
    round_trips: [Option<Duration>; 8],
    answers: usize,
}

impl GlobalRequests {
    /// This side asks.
    pub(super) fn request(
        &mut self,
        name: &str,
        data: &[u8],
        now: Instant,
        out: &mut Output,
    ) -> Result<RequestId, Error> {
        if data.len() > limits::MAX_EXTRA || name.len() > limits::MAX_NAME {
            return Err(Error::Misuse("the request is too long"));
        }
        if self.ours.len() >= limits::MAX_REQUESTS {
            return Err(Error::Exhausted("requests without an answer"));
        }
        let mut head = vec![msg::GLOBAL_REQUEST];
        head.put_string(name.as_bytes());
        head.put_bool(true);
        out.urgent(&[&head, data]);
        let id = self.id();
        self.ours.push_back((id, now));
        Ok(id)
    }

    /// Requests of this side that await their answer.
    pub(super) fn unanswered(&self) -> usize {
        self.ours.len()
    }

    /// This side answers; the answer waits for those to earlier requests.
    pub(super) fn reply(
        &mut self,
        id: RequestId,
        success: bool,
        data: &[u8],
        out: &mut Output,
    ) -> Result<(), Error> {
        if data.len() > limits::MAX_EXTRA {
            return Err(Error::Misuse("the reply is too long"));
        }
        let slot = self.theirs.iter_mut().find(|(of, _)| *of == id);
        let Some((_, answer @ None)) = slot else {
            return Err(Error::Misuse("no such request awaits a reply"));
        };
        let kind = if success {
            msg::REQUEST_SUCCESS
        } else {
            msg::REQUEST_FAILURE
        };
        *answer = Some([&[kind], data].concat());
        while let Some((_, Some(message))) = self.theirs.front() {
            out.urgent(&[message]);
            self.theirs.pop_front();
        }
        Ok(())
    }

    /// The least round trip among the last answers; absent before the first.
    pub(super) fn round_trip(&self) -> Option<Duration> {
        self.round_trips.iter().flatten().min().copied()
    }

    fn id(&mut self) -> RequestId {
        self.next += 1;
        RequestId(self.next)
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
        Ok(Event::GlobalRequest { id, name, data })
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
        let next = self.answers % self.round_trips.len();
        *self.round_trips.get_mut(next).expect("below its length") = Some(round_trip);
        self.answers = next + 1;
        Ok(Event::RequestReply {
            id,
            success,
            data,
            round_trip,
        })
    }
}
