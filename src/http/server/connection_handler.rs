//! Where a gateway takes over: requests that are not this server's own.
//!
//! The server accepts, limits and parses; a [`Gateway`] says of each head whether it is for one of
//! its sites, and then moves the bodies itself, on the connection's own thread. So there is one
//! parser and one table of connections for both.

use std::net::{IpAddr, SocketAddr, TcpStream};

use super::budget::ExchangeSlot;
use super::connection::{Connection, End, response_bytes};
use super::limits::Limits;
use super::listener::Phase;
use crate::http::Response;
use crate::http::h1::body::Framing;
use crate::http::h1::head::Head;

/// Serves sites beside a server's own pages.
pub trait Gateway: Send + Sync + 'static {
    /// A visitor has connected. What is kept for one visitor's connection lives in the answer.
    fn visit(&self, peer: SocketAddr) -> Box<dyn ConnectionHandler + '_>;

    /// Whether connections from here are those of many visitors, and not to be counted by source.
    fn is_proxy(&self, peer: IpAddr) -> bool;

    /// Whether visitors are to come by `https` alone, which every answer then says.
    fn is_https(&self) -> bool;
}

/// One visitor's connection.
pub trait ConnectionHandler {
    /// Whether this request is for a site. If not, it is the server's own.
    fn claims(&mut self, head: &Head) -> bool;

    /// Serves a request that was claimed. Its body, if any, has not been read.
    fn serve(&mut self, head: &Head, visitor: &mut ClientConnection<'_, '_>) -> After;
}

/// How a connection goes on after a request of a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// It waits for a further request.
    Keep,
    /// The last answer is sent; the visitor may still be sending.
    Close,
    /// The answer broke off, and only a reset shows it.
    Reset,
    /// There is nobody, or nothing, to say anything to.
    Drop,
}

/// The visitor's side of a connection.
pub struct ClientConnection<'c, 'a>(pub(super) &'c mut Connection<'a>);

impl<'a> ClientConnection<'_, 'a> {
    /// The connection; non-blocking.
    pub fn socket(&self) -> &'a TcpStream {
        self.0.socket
    }

    /// What has arrived and is not yet used. What belongs to the request is to be taken out.
    pub fn inbox(&mut self) -> &mut Vec<u8> {
        &mut self.0.inbox
    }

    /// The caps and timeouts that hold for the connection.
    pub fn limits(&self) -> &'a Limits {
        &self.0.shared.limits
    }

    /// Whether this is the last request that is served.
    pub fn is_stopping(&self) -> bool {
        self.0.shared.is_stopping()
    }

    /// The request is whole and at work: the connection is not given up for another.
    pub fn is_busy(&self) {
        self.0.entry.enter(Phase::Busy);
    }

    /// The visitor does not take what it is sent: it is given up when there is no room for others.
    pub fn is_stalled(&self) {
        self.0.entry.enter(Phase::Stalled);
    }

    /// How many requests can run at once, those of the server's own names among them.
    pub fn capacity(&self) -> usize {
        self.0.shared.capacity()
    }

    /// Room for a stream and its descriptors; `None` when there are too many. Then the connection
    /// that has been idle for longest gives way, with the stream that it may have kept.
    pub fn reserve(&self) -> Option<ExchangeSlot> {
        let shared = self.0.shared;
        let slot = shared.exchanges.enter_site();
        if slot.is_none() {
            shared.give_up_idle();
        }
        slot
    }

    /// Reads a small body, a form say. What is over [`Limits::body`] or too slow has been answered.
    pub fn body(&mut self, head: &Head) -> Result<Vec<u8>, After> {
        match self.0.read_body(head) {
            Ok((body, _)) => Ok(body),
            Err(End::Refused(refusal, _)) => {
                let response = Response::error(&refusal.into());
                Err(self.send(head, response, true))
            }
            Err(_) => Err(After::Drop),
        }
    }

    /// Sends an answer of our own to a request whose body has been read, or not.
    pub fn answer(&mut self, head: &Head, response: Response, body_is_read: bool) -> After {
        let unread = !body_is_read && head.framing != Framing::Length(0);
        let close = unread || !head.keep_alive || self.is_stopping();
        self.send(head, response, close)
    }

    fn send(&mut self, head: &Head, response: Response, close: bool) -> After {
        let response = self.0.shared.stamped(response);
        let bytes = response_bytes(response, head.method == "HEAD", close);
        match self.0.write_all(&bytes) {
            Err(_) => After::Drop,
            Ok(()) if close => After::Close,
            Ok(()) => After::Keep,
        }
    }
}

impl From<After> for Result<(), End> {
    fn from(after: After) -> Result<(), End> {
        match after {
            After::Keep => Ok(()),
            After::Close => Err(End::Finished),
            After::Reset => Err(End::Reset),
            After::Drop => Err(End::Silent),
        }
    }
}
