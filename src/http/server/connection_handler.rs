//! Where a gateway takes over: requests that are not this server's own.
//!
//! The server accepts, limits and parses; a [`Gateway`] says of each head whether it is for one of
//! its sites, and then serves it itself, on the connection's own thread. So there is one parser and
//! one table of connections for both.

use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::task::Waker;

use super::limits::ExchangeSlot;
use super::limits::Limits;
use crate::http::Response;
use crate::http::h1::Refusal;
use crate::http::h1::head::Head;
use crate::http::proxy::{Client, Outcome};
use crate::net::reset_when_closed;

/// Serves sites beside a server's own pages.
pub trait Gateway: Send + Sync + 'static {
    /// A visitor has connected. What is kept for one visitor's connection lives in the answer.
    fn visit(&self, peer: SocketAddr) -> Box<dyn ConnectionHandler>;

    /// True if connections from here are those of many visitors, and not to be counted by source.
    fn is_proxy(&self, peer: IpAddr) -> bool;

    /// Counts a connection, or a request before its site is known, that was refused with this status.
    fn count_refused(&self, _status: u16) {}

    /// True if a request for this path of the server's own names is to become a tunnel, and ends HTTP on its connection.
    fn is_tunnel(&self, _target: &str) -> bool {
        false
    }

    /// Takes a connection over on which such a request has come; an error is still to be answered.
    fn take_tunnel(&self, _: &Head, _: TcpStream, _peer: SocketAddr) -> Result<(), Refusal> {
        Err(Refusal::new(404, "nothing is here"))
    }

    /// True if visitors are to come by `https` alone, which every answer then says.
    fn is_https(&self) -> bool;
}

/// Serves one visitor's connection.
///
/// Between requests it may be *parked*: then it has no thread of its own, and one thread that waits for
/// nothing carries it with many others. That one calls [`begin`](Self::begin) and
/// [`go_on`](Self::go_on), and leaves what is not soon over to a new thread, which calls
/// [`unpark`](Self::unpark) first.
pub trait ConnectionHandler: Send {
    /// True if this request is for a site. If not, it is the server's own.
    fn claims(&mut self, head: &Head) -> bool;

    /// Address of the visitor whose request this is; `None` where many stand behind one.
    fn source(&self, _head: &Head) -> Option<IpAddr> {
        None
    }

    /// Serves a request that was claimed. Its body, if any, has not been read.
    fn serve(&mut self, head: &Head, visitor: &mut dyn ClientConnection) -> After;

    /// True if its next request can perhaps be served without a thread; it is parked then, and wakes
    /// `waker` when its upstream has something to tell.
    fn park(&mut self, _waker: &Waker) -> bool {
        false
    }

    /// It has a thread again.
    fn unpark(&mut self) {}

    /// Begins with a request that was claimed, without waiting. Gives the head back where that takes a
    /// thread: it is as if it had not been asked.
    fn begin(&mut self, head: Head, _visitor: &mut dyn ClientConnection) -> Result<Progress, Head> {
        Err(head)
    }

    /// Goes on with what was begun, without waiting: the upstream has something to tell.
    fn go_on(&mut self, _visitor: &mut dyn ClientConnection) -> Progress {
        Progress::Idle
    }

    /// Ends what was begun, on a thread.
    fn finish(&mut self, _visitor: &mut dyn ClientConnection) -> After {
        After::Keep
    }

    /// The upstream has something to tell although nothing was asked.
    fn check_upstream(&mut self) {}

    /// Sends what a step has left to be sent.
    fn flush(&mut self) {}
}

/// How far a step without waiting has led.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Nothing was under way.
    Idle,
    /// The upstream is waited for.
    Waits,
    /// The answer is sent.
    Done(After),
    /// [`ConnectionHandler::finish`] is to be called.
    NeedsThread,
}

/// How a connection goes on after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// It waits for a further request.
    Keep,
    /// The last answer is sent; the client may still be sending.
    Close,
    /// The answer broke off, and only a reset shows it.
    Reset,
    /// There is nobody, or nothing, to say anything to.
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

    /// Ends it, and lets the other side have what was sent, where there is a difference.
    fn shut(&self) {
        self.reset();
    }
}

impl Reset for TcpStream {
    /// Its thread is woken, and closes it.
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

    /// Room for a stream and its descriptors; `None` when there are too many. Then the connection
    /// that has been idle for longest gives way, with the stream that it may have kept.
    fn reserve(&self) -> Option<ExchangeSlot>;

    /// True if nobody waits for an answer any more, as far as that is known without waiting.
    fn has_left(&self) -> bool;

    /// Ends the connection from elsewhere; `None` where whatever carries it does.
    fn resetter(&self) -> Option<Arc<dyn Reset>>;

    /// Reads a small body, a form say. One of more than `most` bytes, or too slow, has been answered.
    fn body(&mut self, head: &Head, most: usize) -> Result<Vec<u8>, After>;

    /// Sends an answer of our own to a request whose body has been read, or not.
    fn answer(&mut self, head: &Head, response: Response, body_is_read: bool) -> After;
}
