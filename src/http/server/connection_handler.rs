//! Interface of the server to a gateway, which takes requests that are not the server's own.
//!
//! The server accepts, limits and parses; a [`Gateway`] says of each head whether it is for one of
//! its sites, and then serves it itself, on the connection's own thread. So there is one parser and
//! one table of connections for both.

use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::task::Waker;

use super::limits::{ExchangeSlot, Limits};
use crate::http::Response;
use crate::http::h1::Refusal;
use crate::http::h1::head::Head;
use crate::http::proxy::{Client, Outcome};
use crate::net::reset_when_closed;

/// Serves sites beside a server's own pages.
pub trait Gateway: Send + Sync + 'static {
    /// Called when a visitor connects. The result holds the state of this visitor's connection.
    fn visit(&self, peer: SocketAddr) -> Box<dyn ConnectionHandler>;

    /// True if connections from here are those of many visitors, and are not counted by source.
    fn is_proxy(&self, peer: IpAddr) -> bool;

    /// Counts a connection, or a request before its site is known, that was refused with this status.
    fn count_refused(&self, _status: u16) {}

    /// True if a request for this path of the server's own names becomes a tunnel, and ends HTTP on its connection.
    fn is_tunnel(&self, _target: &str) -> bool {
        false
    }

    /// Takes over a connection with such a request; an error is still to be answered.
    fn take_tunnel(&self, _: &Head, _: TcpStream, _peer: SocketAddr) -> Result<(), Refusal> {
        Err(Refusal::new(404, "nothing is here"))
    }

    /// True if visitors have to come by `https` alone, which every answer then says.
    fn is_https(&self) -> bool;
}

/// Serves one visitor's connection.
///
/// Between requests it may be *parked*: then it has no thread of its own, and one thread that waits for nothing carries
/// it with many others. That thread calls [`begin`](Self::begin) and [`go_on`](Self::go_on), and leaves longer work to
/// a new thread, which calls [`unpark`](Self::unpark) first.
pub trait ConnectionHandler: Send {
    /// True if this request is for a site, and not for the server itself.
    fn claims(&mut self, head: &Head) -> bool;

    /// Returns the address of the request's visitor; `None` if many share one address.
    fn source(&self, _head: &Head) -> Option<IpAddr> {
        None
    }

    /// Serves a request that was claimed. Its body, if any, has not been read.
    fn serve(&mut self, head: &Head, visitor: &mut dyn ClientConnection) -> After;

    /// True if its next request can perhaps be served without a thread; it is parked then, and wakes `waker` when its
    /// upstream has bytes.
    fn park(&mut self, _waker: &Waker) -> bool {
        false
    }

    /// Called when it has a thread again.
    fn unpark(&mut self) {}

    /// Begins with a request that was claimed, without waiting. Gives the head back if it takes a thread, as if it had
    /// not been asked.
    fn begin(&mut self, head: Head, _visitor: &mut dyn ClientConnection) -> Result<Progress, Head> {
        Err(head)
    }

    /// Goes on with the request that was begun, without waiting, when the upstream has bytes.
    fn go_on(&mut self, _visitor: &mut dyn ClientConnection) -> Progress {
        Progress::Idle
    }

    /// Ends the request that was begun, on a thread.
    fn finish(&mut self, _visitor: &mut dyn ClientConnection) -> After {
        After::Keep
    }

    /// Called when the upstream has bytes although nothing was asked.
    fn check_upstream(&mut self) {}

    /// Sends the bytes that a step has left.
    fn flush(&mut self) {}
}

/// Progress of a step without waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// No request was running.
    Idle,
    /// The answer of the upstream is awaited.
    Waits,
    /// The answer is sent.
    Done(After),
    /// [`ConnectionHandler::finish`] is to be called.
    NeedsThread,
}

/// Next state of a connection after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// Keep it for a further request.
    Keep,
    /// Close it: the last answer is sent, and the client may still be sending.
    Close,
    /// Reset it: the answer broke off, and only a reset shows it.
    Reset,
    /// Drop it: no message can be sent.
    Drop,
}

impl From<&Outcome> for After {
    fn from(outcome: &Outcome) -> After {
        match outcome {
            Outcome::Done {
                keeps_client: true, ..
            } => After::Keep,
            Outcome::Done { .. } => After::Close,
            Outcome::BrokenOff { shows: false } => After::Reset,
            _ => After::Drop,
        }
    }
}

/// Resource that can be ended from elsewhere.
pub trait Reset: Send + Sync {
    /// Ends it at once: what the other side has not taken is thrown away.
    fn reset(&self);

    /// Ends it, but lets the other side have the bytes that were sent, if there is a difference.
    fn shut(&self) {
        self.reset();
    }
}

impl Reset for TcpStream {
    /// Wakes its thread, which closes it.
    fn reset(&self) {
        reset_when_closed(self);
        self.shut();
    }

    fn shut(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }
}

/// The visitor's side of a connection.
pub trait ClientConnection: Client {
    /// The caps and timeouts that hold for the connection.
    fn limits(&self) -> &Limits;

    /// Number of requests that can run at once, those of the server's own names among them.
    fn capacity(&self) -> usize;

    /// Reserves room for a stream and its descriptors; `None` if there are too many. Then the connection that has been
    /// idle for longest gives way, with the stream that it may have kept.
    fn reserve(&self) -> Option<ExchangeSlot>;

    /// True if nobody waits for an answer any more, as far as is known without waiting.
    fn has_left(&self) -> bool;

    /// Returns a handle that ends the connection from elsewhere; `None` if its carrier does that.
    fn resetter(&self) -> Option<Arc<dyn Reset>>;

    /// Reads a small body, such as a form. A body of more than `most` bytes, or one that is too slow, has been
    /// answered.
    fn body(&mut self, head: &Head, most: usize) -> Result<Vec<u8>, After>;

    /// Sends an answer of our own; `body_is_read` says if the request's body has been read.
    fn answer(&mut self, head: &Head, response: Response, body_is_read: bool) -> After;
}
