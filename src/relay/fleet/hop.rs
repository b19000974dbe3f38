//! Protocol of one stream from relay to relay: the request, and its answer.
//!
//! ```text
//! asks      {"connector":"NAME","port":30001}\n
//! answers   none\n                 no tunnel of that connector is here
//!           held\n                 there is, at once; and when its other end has confirmed the stream, or not:
//!              └── ok\n            and then the application's bytes, both ways
//!              └── refused\n
//!
//! or, for the operator of that relay:
//!
//! asks      {"held":true}\n
//! answers   {"NAME":[30001,…],…}     what connectors hold here, and then the end
//!
//! or, where a connector was turned out, as the other relay may not reach the store:
//!
//! asks      {"revoked":"NAME"}\n
//! answers   ok\n                   it is out here too
//! ```
//!
//! The first word comes from memory, so that a dead relay is distinguished from a slow connector.
//!
//! A request is answered from the relay's own tunnels only: a hop never hops.

use std::io::{self, Read, Write};
use std::os::fd::BorrowedFd;
use std::task::Waker;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use serde::{Deserialize, Serialize};

use super::member::Held;
use crate::http::h1::answer::AnswerHead;
use crate::http::proxy::{ByteStream, Rules, Upgraded, UpgradedTimeouts};
use crate::net::poll::poll_within;
use crate::tunnel::server::{LocalStream, OpenError, Opener};

/// Time for a stream and the first word of an answer. Default 1 s each: the other relay has it in memory.
pub(super) const ANSWER: Duration = Duration::from_secs(1);
/// Time for the second word. Default 35 s: a little more than a connector has to confirm a stream.
const CONFIRMED: Duration = Duration::from_secs(35);
/// Time for a request.
const ASKED: Duration = Duration::from_secs(5);
/// Bytes of a request, at most: a connector's name, escaped.
const CAP: usize = 8 * 1024;
/// Bytes of the list of held ports, at most: more than 16,384 tunnels with names of 255 bytes.
const MAX_HELD: usize = 16 << 20;
const HELD: &[u8] = b"held\n";
const OK: &[u8] = b"ok\n";
const NONE: &[u8] = b"none\n";
const REFUSED: &[u8] = b"refused\n";
const FULL: &[u8] = b"full\n";
/// Bytes of a word of an answer, at most.
const MAX_WORD: usize = 16;
/// Time after which a stream ends that is silent or takes nothing: the asking relay has closer limits, of 24 h at most.
const SILENCE: Duration = Duration::from_secs(25 * 3600);

/// Request of another relay.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum HopRequest {
    Stream {
        connector: String,
        port: u16,
    },
    /// Always true.
    Held {
        held: bool,
    },
    Revoked {
        revoked: String,
    },
}

/// Reason that there is no stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HopError {
    /// The other relay has no tunnel of that connector.
    NotThere,
    /// It has a tunnel, whose other end refuses the stream.
    Refused,
    /// It has a tunnel, whose other end has reached its limit of streams.
    Full,
    /// It does not answer in time.
    Silent,
    /// The link to it was lost, or it does not answer as a relay does.
    Lost,
}

/// Asks on an open stream, and waits for the answer; its first word has this much time.
pub(super) fn ask(
    stream: &mut LocalStream,
    connector: &str,
    port: u16,
    within: Duration,
) -> Result<(), HopError> {
    let until = Instant::now() + within;
    let connector = connector.to_owned();
    say(stream, &HopRequest::Stream { connector, port }, until)?;
    match &*word(stream, until)? {
        HELD => {}
        NONE => return Err(HopError::NotThere),
        _ => return Err(HopError::Lost),
    }
    match word(stream, Instant::now() + CONFIRMED).as_deref() {
        Ok(OK) => Ok(()),
        Ok(NONE) => Err(HopError::NotThere),
        // A connector that does not confirm a stream does not do so by another way.
        Ok(REFUSED) | Err(HopError::Silent) => Err(HopError::Refused),
        Ok(FULL) => Err(HopError::Full),
        _ => Err(HopError::Lost),
    }
}

fn say(stream: &mut LocalStream, asked: &HopRequest, until: Instant) -> Result<(), HopError> {
    let mut line = serde_json::to_vec(asked).expect("texts and numbers have JSON for them");
    line.push(b'\n');
    send(stream, &line, until)
}

fn send(stream: &mut dyn ByteStream, mut left: &[u8], until: Instant) -> Result<(), HopError> {
    while !left.is_empty() {
        match stream.write(left) {
            Ok(taken) => left = left.get(taken..).expect("no more is taken than there is"),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                wait(stream.wanted(false, true), until)?;
            }
            Err(_) => return Err(HopError::Lost),
        }
    }
    stream.flush().map_err(|_| HopError::Lost)
}

/// Asks which ports connectors hold at another relay.
pub(super) fn ask_held(stream: &mut LocalStream, within: Duration) -> Result<Held, HopError> {
    let until = Instant::now() + within;
    say(stream, &HopRequest::Held { held: true }, until)?;
    let (mut list, mut piece) = (Vec::new(), vec![0; 16 * 1024]);
    loop {
        match LocalStream::read(stream, &mut piece) {
            Ok(0) => break,
            Ok(read) if list.len() + read <= MAX_HELD => list.extend(piece.iter().take(read)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                wait(stream.wanted(true, false), until)?;
            }
            _ => return Err(HopError::Lost),
        }
    }
    serde_json::from_slice(&list).map_err(|_| HopError::Lost)
}

/// Reads one word of an answer.
fn word(stream: &mut LocalStream, until: Instant) -> Result<Vec<u8>, HopError> {
    line(stream, MAX_WORD, until)
}

/// Reads a line of so many bytes at most, with its end.
fn line(stream: &mut dyn ByteStream, most: usize, until: Instant) -> Result<Vec<u8>, HopError> {
    let mut line = Vec::new();
    // A byte at a time: the next bytes are the application's.
    while !line.ends_with(b"\n") {
        let mut byte = [0];
        match stream.read(&mut byte) {
            Ok(1..) if line.len() < most => line.extend(byte),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                wait(stream.wanted(true, false), until)?;
            }
            _ => return Err(HopError::Lost),
        }
    }
    Ok(line)
}

fn wait(wanted: [(BorrowedFd<'_>, PollFlags); 2], until: Instant) -> Result<(), HopError> {
    let left = until.saturating_duration_since(Instant::now());
    let one = wanted.iter().find(|(_, flags)| !flags.is_empty());
    let (fd, flags) = one.ok_or(HopError::Lost)?;
    match poll_within([(fd, *flags)], left) {
        Ok([found]) if found.is_empty() => Err(HopError::Silent),
        Ok(_) => Ok(()),
        Err(_) => Err(HopError::Lost),
    }
}

/// Tells another relay that a connector is revoked; true if it has confirmed.
pub(super) fn send_revocation(stream: &mut LocalStream, name: &str, within: Duration) -> bool {
    let (until, revoked) = (Instant::now() + within, name.to_owned());
    say(stream, &HopRequest::Revoked { revoked }, until).is_ok()
        && word(stream, until).is_ok_and(|word| word == OK)
}

/// Answers a request of another relay, until its stream ends. `revoked` is called for a revoked connector before the
/// answer.
pub(super) fn serve(mut relay: LocalStream, opener: &Opener, revoked: &dyn Fn(&str)) {
    let Some(asked) = read_asked(&mut relay) else {
        return log::debug!("unknown request from another relay");
    };
    let mut answer = |bytes: &[u8]| send(&mut relay, bytes, Instant::now() + ASKED);
    let (connector, port) = match asked {
        HopRequest::Stream { connector, port } => (connector, port),
        HopRequest::Held { .. } => {
            let held = serde_json::to_vec(&opener.all_held());
            // A relay that does not hear it asks again.
            let _ = answer(&held.expect("texts and numbers have JSON for them"));
            return;
        }
        HopRequest::Revoked { revoked: name } => {
            revoked(&name);
            // A relay that does not hear it asks another.
            let _ = answer(OK);
            return;
        }
    };
    let is_held = opener.is_held(&connector, port);
    if answer(if is_held { HELD } else { NONE }).is_err() || !is_held {
        return;
    }
    let opened = opener.open(&connector, port);
    let told = answer(match &opened {
        Ok(_) => OK,
        Err(OpenError::Refused) => REFUSED,
        Err(OpenError::Full) => FULL,
        // The tunnel has gone just now.
        Err(_) => NONE,
    });
    if told.is_err() {
        return;
    }
    let Ok(mut stream) = opened else { return };
    Upgraded {
        client: &mut relay,
        upstream: &mut stream,
        rules: &Bytes,
        timeouts: UpgradedTimeouts {
            silence: SILENCE,
            half_closed: SILENCE,
            client_stall: SILENCE,
            upstream_stall: SILENCE,
        },
    }
    .run(Vec::new(), Vec::new());
}

fn read_asked(relay: &mut dyn ByteStream) -> Option<HopRequest> {
    let line = line(relay, CAP, Instant::now() + ASKED).ok()?;
    serde_json::from_slice(&line).ok()
}

/// A stream through another relay. Each request has its own, so that the other relay knows how many run.
pub(super) struct HopStream(pub(super) LocalStream);

impl Read for HopStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        LocalStream::read(&mut self.0, buffer)
    }
}

impl Write for HopStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LocalStream::write(&mut self.0, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        LocalStream::flush(&mut self.0);
        Ok(())
    }
}

impl ByteStream for HopStream {
    fn end_write(&mut self) {
        LocalStream::end_write(&mut self.0);
    }

    fn defer(&mut self, waker: Option<Waker>) -> bool {
        LocalStream::defer(&mut self.0, waker)
    }

    fn may_be_kept(&self) -> bool {
        false
    }

    fn wanted(&self, read: bool, write: bool) -> [(BorrowedFd<'_>, PollFlags); 2] {
        ByteStream::wanted(&self.0, read, write)
    }
}

/// Rules of bytes that nobody reads.
struct Bytes;

impl Rules for Bytes {
    fn write_lines(&self, _: &AnswerHead, _: &mut Vec<u8>) {}

    fn answer_time(&self) -> Option<Duration> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    fn asked(bytes: &[u8]) -> Option<HopRequest> {
        let (mut one, mut other) = UnixStream::pair().unwrap();
        one.set_nonblocking(true).unwrap();
        other.write_all(bytes).unwrap();
        drop(other);
        read_asked(&mut one)
    }

    #[test]
    fn what_is_asked_for_is_one_line_and_nothing_else() {
        let found = asked(b"{\"connector\":\"one\",\"port\":30001}\nGET /").unwrap();
        let connector = "one".to_owned();
        let expected = HopRequest::Stream {
            connector,
            port: 30001,
        };
        assert_eq!(found, expected);
        let held = asked(b"{\"held\":true}\n").unwrap();
        assert_eq!(held, HopRequest::Held { held: true });
        for bytes in [
            &b""[..],
            b"\n",
            b"{\"connector\":\"one\",\"port\":30001}",
            b"{\"connector\":\"one\"}\n",
            b"{\"held\":true,\"port\":1}\n",
            b"{}\n",
            b"{\"connector\":\"one\",\"port\":70000}\n",
            b"{\"connector\":\"one\",\"port\":1,\"relay\":\"x\"}\n",
        ] {
            assert_eq!(asked(bytes), None, "{}", String::from_utf8_lossy(bytes));
        }
        assert_eq!(asked(&[b' '; CAP]), None);
    }
}
