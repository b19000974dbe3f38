//! A connection as exchanges and handlers see it.

use std::io::{self, Read};
use std::sync::Arc;

use super::budget::ExchangeSlot;
use super::connection::{Connection, End, PIECE};
use super::connection_handler::{After, ClientConnection, Reset};
use super::connection_table::{ConnectionEntry, Phase};
use super::limits::Limits;
use crate::http::Response;
use crate::http::h1::body::Framing;
use crate::http::h1::head::Head;
use crate::http::proxy::{Client, ClientStream};
use crate::http::socket::was_reset;

impl Client for Connection<'_> {
    fn stream(&mut self) -> &mut dyn ClientStream {
        &mut self.socket
    }

    fn inbox(&mut self) -> &mut Vec<u8> {
        &mut self.inbox
    }

    fn receive(&mut self, most: usize) -> io::Result<usize> {
        // The received bytes are copied: they are mostly few, and room for the most costs more to get and to give back.
        if most <= PIECE {
            let mut room = [0; PIECE];
            let room = room.get_mut(..most).expect("it is long enough");
            let read = (&mut &*self.socket).read(room);
            let count = *read.as_ref().unwrap_or(&0);
            let came = room
                .get(..count)
                .expect("no more is read than there is room");
            self.inbox.extend_from_slice(came);
            return read;
        }
        let begin = self.inbox.len();
        if begin == 0 {
            // Its zeros come from the allocator, those of `resize` one by one.
            self.inbox = vec![0; most];
        } else {
            self.inbox.resize(begin + most, 0);
        }
        let room = self.inbox.get_mut(begin..).expect("it was made longer");
        let read = (&mut &*self.socket).read(room);
        let count = *read.as_ref().unwrap_or(&0);
        self.entry.note_body(count, self.state.limits.body_progress);
        self.inbox.truncate(begin + count);
        if self.inbox.is_empty() {
            self.inbox = Vec::new(); // an idle connection holds no memory
        }
        read
    }

    fn is_stopping(&self) -> bool {
        self.state.is_ending()
    }

    fn mark_busy(&self) {
        self.entry.enter(Phase::Busy);
    }

    fn mark_stalled(&self) {
        self.entry.enter(Phase::Stalled);
    }
}

impl ClientConnection for Connection<'_> {
    fn limits(&self) -> &Limits {
        &self.state.limits
    }

    fn capacity(&self) -> usize {
        self.state.capacity()
    }

    fn reserve(&self) -> Option<ExchangeSlot> {
        let slot = self.state.exchanges.enter_site();
        if slot.is_none() {
            self.state.table.give_up_idle();
        }
        slot
    }

    fn has_left(&self) -> bool {
        was_reset(self.socket)
    }

    fn resetter(&self) -> Option<Arc<dyn Reset>> {
        let entry: Arc<ConnectionEntry> = Arc::clone(self.entry);
        Some(entry)
    }

    fn body(&mut self, head: &Head) -> Result<Vec<u8>, After> {
        match self.read_body(head) {
            Ok((body, _)) => Ok(body),
            Err(End::Refused(refusal, _)) => {
                let response = Response::error(&refusal.into());
                Err(self.send(head, response, true))
            }
            Err(_) => Err(After::Drop),
        }
    }

    fn answer(&mut self, head: &Head, response: Response, body_is_read: bool) -> After {
        let unread = !body_is_read && head.framing != Framing::Length(0);
        let close = unread || !head.keep_alive || self.is_stopping();
        self.send(head, response, close)
    }
}
