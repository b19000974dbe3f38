//! A connection as exchanges and handlers see it.

use std::io;
use std::sync::Arc;

use super::budget::ExchangeSlot;
use super::connection::Connection;
use super::connection_handler::{After, ClientConnection, Reset};
use super::connection_table::Phase;
use super::limits::Limits;
use super::requests::{ConnectionEnd, PIECE};
use crate::http::Response;
use crate::http::h1::body::Framing;
use crate::http::h1::head::Head;
use crate::http::proxy::{Client, ClientStream};

impl<S: ClientStream> Client for Connection<'_, S> {
    fn stream(&mut self) -> &mut dyn ClientStream {
        &mut self.requests.stream
    }

    fn inbox(&mut self) -> &mut Vec<u8> {
        &mut self.requests.inbox
    }

    fn receive(&mut self, most: usize) -> io::Result<usize> {
        let read = self.requests.receive(most)?;
        if most > PIECE {
            self.entry.note_body(read, self.state.limits.body_progress);
        }
        Ok(read)
    }

    fn is_stopping(&self) -> bool {
        self.state.is_ending()
    }

    fn mark_busy(&self) {
        self.entry.set_phase(Phase::Busy);
    }

    fn mark_stalled(&self) {
        self.entry.set_phase(Phase::Stalled);
    }
}

impl<S: ClientStream> ClientConnection for Connection<'_, S> {
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
        self.requests.stream.has_left()
    }

    fn resetter(&self) -> Option<Arc<dyn Reset>> {
        Some(self.entry.resetter())
    }

    fn body(&mut self, head: &Head, most: usize) -> Result<Vec<u8>, After> {
        match self.read_body(head, most) {
            Ok((body, _)) => Ok(body),
            Err(ConnectionEnd::Refused(refusal, _)) => {
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
