//! The opening half: reads the identification, finds packets in the input, opens them in place, and sorts them.
//!
//! Channel data is dealt with here alone, without the session's lock: each channel's allowance
//! is copied when first needed, and again when it seems used up. All else goes to the session.

use std::collections::HashMap;
use std::io::Read;
use std::ops::{DerefMut, Range};
use std::time::Instant;

use zeroize::{Zeroize, Zeroizing};

use super::error::Error;
use super::event::Event;
use super::names::{ChannelId, Role, msg};
use super::packet::{LENGTH, OpeningKey, TAG};
use super::session::{Message, Session};
use super::wire::{Fields, wide};
use super::{config, packet};

/// Start of an identification. A chisel peer leaves the version out, so no more can be required.
const PREFIX: &[u8] = b"SSH-";
const UNKNOWN_CHANNEL: Error = Error::Protocol("a message names a channel that is not open");

/// Lock of the session for a caller of [`Reader::next`].
trait SessionLock {
    fn session(&mut self) -> impl DerefMut<Target = Session>;
}

impl<S: DerefMut<Target = Session>, F: FnMut() -> S> SessionLock for F {
    fn session(&mut self) -> impl DerefMut<Target = Session> {
        self()
    }
}

/// Opens input. Owned by the thread that reads the stream.
pub struct Reader {
    role: Role,
    input: Input,
    state: ReaderState,
    open: Option<OpeningKey>,
    /// Number of the next packet (RFC 4253 §6.4).
    sequence: u32,
    /// The next packet's length, once known.
    length: Option<usize>,
    /// Packets since the beginning, or since the first keys; counted until the login is done.
    early: u32,
    /// True if strict key exchange was agreed.
    strict: bool,
    /// True if the peer has sent KEXINIT, and not yet NEWKEYS.
    exchanging: bool,
    logged_in: bool,
    flows: HashMap<u32, ChannelFlow>,
    /// Bytes opened under the present keys; counted from zero again when they cause a key exchange.
    received: u64,
    /// Bytes opened under the present keys.
    under_keys: u64,
    rekey_bytes: u64,
    /// Holds a password, to be wiped.
    secret: Option<Range<usize>>,
    waiting: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReaderState {
    /// Lines so far, before the identification.
    Ident(usize),
    Packets,
    Failed,
}

/// The data of one channel, in bytes since its beginning.
#[derive(Default)]
struct ChannelFlow {
    received: u64,
    allowed: u64,
    ended: bool,
}

impl Reader {
    pub(super) fn new(role: Role, rekey_bytes: u64) -> Self {
        Self {
            role,
            input: Input::new(),
            state: ReaderState::Ident(0),
            open: None,
            sequence: 0,
            length: None,
            early: 0,
            strict: false,
            exchanging: false,
            logged_in: false,
            flows: HashMap::new(),
            received: 0,
            under_keys: 0,
            rekey_bytes,
            secret: None,
            waiting: false,
        }
    }

    /// Space for bytes from the stream; empty when [`Reader::next`] must first take some out.
    pub fn space(&mut self) -> &mut [u8] {
        self.wipe();
        self.input.space()
    }

    /// Notes the number of bytes that were put into [`Reader::space`].
    pub fn mark_filled(&mut self, bytes: usize) {
        self.input.mark_filled(bytes);
    }

    /// Copies bytes from the stream; returns the number that there was room for.
    pub fn feed(&mut self, mut bytes: &[u8]) -> usize {
        let count = bytes.read(self.space()).expect("a slice is read");
        self.mark_filled(count);
        count
    }

    /// Deals with the next packet, if it is there whole; none when more bytes are needed, or a
    /// verdict. `lock` is called where the session is concerned, which data is not.
    ///
    /// An error ends the connection; what the writer still has is to be written before closing.
    pub fn next<S: DerefMut<Target = Session>>(
        &mut self,
        now: Instant,
        mut lock: impl FnMut() -> S,
    ) -> Result<Option<Event<'_>>, Error> {
        self.wipe();
        if self.state == ReaderState::Failed {
            return Err(Error::Closed);
        }
        let step = self.step(now, &mut lock);
        if let Err(error) = &step {
            lock.session().fail(error);
        }
        step
    }
}

impl Reader {
    fn step(
        &mut self,
        now: Instant,
        lock: &mut impl SessionLock,
    ) -> Result<Option<Event<'_>>, Error> {
        // Restored when this step has gone well.
        let state = std::mem::replace(&mut self.state, ReaderState::Failed);
        if let ReaderState::Ident(lines) = state {
            let found = self.ident(lines, lock)?;
            return Ok(found.then_some(Event::Handled));
        }
        if self.waiting && lock.session().awaits_answer() {
            self.state = state;
            return Ok(None);
        }
        self.waiting = false;
        match self.packet()? {
            Some(payload) => self.sort(payload, now, lock).map(Some),
            None => {
                self.state = state;
                Ok(None)
            }
        }
    }

    /// Reads a line up to the identification (RFC 4253 §4.2); false if it is incomplete.
    fn ident(&mut self, lines: usize, lock: &mut impl SessionLock) -> Result<bool, Error> {
        let (state, length) = match line(self.input.pending(), self.role)? {
            Line::Partial => (ReaderState::Ident(lines), 0),
            Line::Preface(_) if lines >= config::MAX_PREFACE_LINES => {
                return Err(Error::NotSsh);
            }
            Line::Preface(length) => (ReaderState::Ident(lines + 1), length),
            Line::Ident(text, length) => {
                lock.session().kex.set_peer_ident(text);
                (ReaderState::Packets, length)
            }
        };
        self.state = state;
        self.input.skip(length);
        Ok(length > 0)
    }

    /// Opens the next packet (RFC 4253 §6); returns the range of its payload.
    fn packet(&mut self) -> Result<Option<Range<usize>>, Error> {
        let Some(length) = self.length()? else {
            return Ok(None);
        };
        let tag = if self.open.is_some() { TAG } else { 0 };
        let Some((packet, start)) = self.input.front(LENGTH + length + tag) else {
            return Ok(None);
        };
        if let Some(open) = &mut self.open {
            open.open(self.sequence, packet)?;
        }
        let payload = packet::payload(packet, length)?;
        let size = packet.len();
        self.input.skip(size);
        self.length = None;
        self.received += wide(size);
        self.under_keys += wide(size);
        Ok(Some(start + payload.start..start + payload.end))
    }

    /// `packet_length`, checked before anything is waited for (RFC 4253 §6.1).
    fn length(&mut self) -> Result<Option<usize>, Error> {
        if self.length.is_some() {
            return Ok(self.length);
        }
        let Some(bytes) = self.input.pending().first_chunk::<LENGTH>() else {
            return Ok(None);
        };
        let (length, counted, block) = match &self.open {
            Some(open) => (open.length(self.sequence, *bytes), 0, open.block()),
            None => (u32::from_be_bytes(*bytes), LENGTH, 8),
        };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let aligned = length.saturating_add(counted).is_multiple_of(block);
        if !aligned || !(8..=config::MAX_PACKET).contains(&length) {
            // Under keys this is what damage looks like, too.
            return Err(match self.open {
                Some(_) => Error::Corrupt,
                None => Error::Protocol("a packet's length is not allowed"),
            });
        }
        self.length = Some(length);
        Ok(self.length)
    }

    fn sort(
        &mut self,
        payload: Range<usize>,
        now: Instant,
        lock: &mut impl SessionLock,
    ) -> Result<Event<'_>, Error> {
        let sequence = self.sequence;
        self.sequence = sequence.wrapping_add(1);
        let kind = self.input.at(payload.clone()).first();
        let kind = *kind.expect("an empty payload was refused");
        self.admit(kind)?;
        self.rekey_when_due(lock)?;
        let event = match kind {
            msg::CHANNEL_DATA => {
                let (channel, data) = self.data(payload, 0, lock)?;
                self.state = ReaderState::Packets;
                let data = self.input.at(data);
                return Ok(Event::Data { channel, data });
            }
            msg::CHANNEL_EXTENDED_DATA => self.extended(payload, now, lock)?,
            msg::CHANNEL_EOF | msg::CHANNEL_CLOSE => self.ended(kind, payload, lock)?,
            msg::NEWKEYS => self.new_keys(payload, now, lock)?,
            _ => return self.other(kind, payload, sequence, now, lock),
        };
        self.state = ReaderState::Packets;
        Ok(event)
    }

    /// Checks if a message of this kind may come at this time.
    fn admit(&mut self, kind: u8) -> Result<(), Error> {
        let generic = (msg::DISCONNECT..=msg::DEBUG).contains(&kind);
        let exchange = matches!(kind, msg::KEXINIT | msg::NEWKEYS) || (30..=49).contains(&kind);
        let first = self.open.is_none();
        // Strict key exchange (OpenSSH PROTOCOL §1.10): nothing else, not even IGNORE.
        if first && self.strict && !exchange && kind != msg::DISCONNECT {
            return Err(Error::Protocol("a stray packet came during key exchange"));
        }
        // RFC 4253 §7.1.
        if (first || self.exchanging) && !exchange && !generic {
            return Err(Error::Protocol("a packet came that key exchange forbids"));
        }
        if self.logged_in {
            return Ok(());
        }
        self.early += 1;
        let cap = if first {
            config::MAX_PACKETS_BEFORE_KEYS
        } else {
            config::MAX_PACKETS_BEFORE_LOGIN
        };
        if self.early > cap {
            return Err(Error::Protocol("too many packets came before login"));
        }
        Ok(())
    }

    fn rekey_when_due(&mut self, lock: &mut impl SessionLock) -> Result<(), Error> {
        if self.received >= self.rekey_bytes && self.open.is_some() && !self.exchanging {
            self.received = 0;
            lock.session().rekey_if_alive()?;
        }
        Ok(())
    }

    /// Range of a message's data, its last field; counts it (RFC 4254 §5.2).
    fn data(
        &mut self,
        payload: Range<usize>,
        between: usize,
        lock: &mut impl SessionLock,
    ) -> Result<(ChannelId, Range<usize>), Error> {
        let mut fields = Fields::after_kind(self.input.at(payload.clone()));
        let id = fields.uint32()?;
        fields.bytes(between)?;
        let size = fields.string()?.len();
        fields.end()?;
        if size > config::MAX_DATA {
            return Err(Error::Protocol("a packet has more data than was allowed"));
        }
        let flow = self.flows.entry(id).or_default();
        flow.received += wide(size);
        if flow.allowed == 0 || flow.received > flow.allowed {
            flow.allowed = lock
                .session()
                .channels
                .receivable(id)
                .ok_or(UNKNOWN_CHANNEL)?;
        }
        if flow.ended || flow.received > flow.allowed {
            return Err(Error::Protocol(
                "data came beyond the window or after its end",
            ));
        }
        Ok((ChannelId(id), payload.end - size..payload.end))
    }

    /// Data of another kind (RFC 4254 §5.2): nobody wants it.
    fn extended(
        &mut self,
        payload: Range<usize>,
        now: Instant,
        lock: &mut impl SessionLock,
    ) -> Result<Event<'static>, Error> {
        let (channel, data) = self.data(payload, 4, lock)?;
        match lock.session().consume(channel, data.len(), now) {
            Err(Error::Flooded) => Err(Error::Flooded),
            // A channel closed here meanwhile needs no more window.
            _ => Ok(Event::Handled),
        }
    }

    /// EOF or CLOSE (RFC 4254 §5.3).
    fn ended(
        &mut self,
        kind: u8,
        payload: Range<usize>,
        lock: &mut impl SessionLock,
    ) -> Result<Event<'static>, Error> {
        let mut fields = Fields::after_kind(self.input.at(payload));
        let id = fields.uint32()?;
        fields.end()?;
        let mut session = lock.session();
        if kind == msg::CHANNEL_CLOSE {
            let flow = self.flows.remove(&id).unwrap_or_default();
            return session.peer_close(id, flow.received);
        }
        if session.channels.receivable(id).is_none() {
            return session.channels.peer_eof(id, 0);
        }
        let flow = self.flows.entry(id).or_default();
        if std::mem::replace(&mut flow.ended, true) {
            return Ok(Event::Handled);
        }
        session.channels.peer_eof(id, flow.received)
    }

    fn new_keys(
        &mut self,
        payload: Range<usize>,
        now: Instant,
        lock: &mut impl SessionLock,
    ) -> Result<Event<'static>, Error> {
        let received = std::mem::take(&mut self.under_keys);
        let keys = (lock.session()).new_keys(self.input.at(payload), received, now)?;
        self.open = Some(keys.open);
        self.exchanging = false;
        self.received = 0;
        if keys.restart {
            self.sequence = 0;
        }
        if keys.again {
            return Ok(Event::Rekeyed);
        }
        self.early = 0;
        Ok(Event::Handled)
    }

    fn other(
        &mut self,
        kind: u8,
        payload: Range<usize>,
        sequence: u32,
        now: Instant,
        lock: &mut impl SessionLock,
    ) -> Result<Event<'_>, Error> {
        if kind == msg::USERAUTH_REQUEST {
            self.secret = Some(payload.clone());
        }
        let payload = self.input.at(payload);
        let mut session = lock.session();
        let event = session.handle(Message {
            payload,
            sequence,
            now,
        })?;
        if kind == msg::KEXINIT {
            self.exchanging = true;
            self.strict = session.kex.is_strict();
            // OpenSSH PROTOCOL §1.10: KEXINIT must have been the very first packet.
            if self.strict && self.open.is_none() && sequence != 0 {
                return Err(Error::Protocol("a stray packet came before key exchange"));
            }
        }
        self.logged_in = session.auth.is_done();
        self.waiting = session.awaits_answer();
        self.state = ReaderState::Packets;
        Ok(event)
    }

    #[cfg(test)]
    pub(super) fn input(&self) -> &[u8] {
        self.input.all()
    }

    /// Wipes a password from the buffer.
    fn wipe(&mut self) {
        if let Some(secret) = self.secret.take() {
            self.input.at_mut(secret).zeroize();
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.wipe();
    }
}

/// A line of the input.
#[derive(Debug, PartialEq, Eq)]
enum Line<'a> {
    /// Not complete yet.
    Partial,
    /// Text before the identification, this long with its end.
    Preface(usize),
    /// The identification without its end, and its length with it.
    Ident(&'a [u8], usize),
}

/// Looks at the first line. Only a server may send others before its identification.
fn line(input: &[u8], role: Role) -> Result<Line<'_>, Error> {
    let head = input.get(..config::MAX_IDENT).unwrap_or(input);
    let Some(end) = head.iter().position(|byte| *byte == b'\n') else {
        let is_other = role == Role::Server && !could_be_ident(head);
        if is_other || head.len() == config::MAX_IDENT {
            return Err(Error::NotSsh);
        }
        return Ok(Line::Partial);
    };
    let text = head.get(..end).expect("a position in it");
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    if text.starts_with(PREFIX) {
        return Ok(Line::Ident(text, end + 1));
    }
    match role {
        Role::Client => Ok(Line::Preface(end + 1)),
        Role::Server => Err(Error::NotSsh),
    }
}

fn could_be_ident(head: &[u8]) -> bool {
    head.iter().zip(PREFIX).all(|(have, want)| have == want)
}

/// A buffer that is compacted when its end is near, and grows while reads fill it: a peer that has not logged in holds
/// little.
struct Input {
    bytes: Zeroizing<Vec<u8>>,
    start: usize,
    end: usize,
    /// True if the last read has filled it.
    was_filled: bool,
}

impl Input {
    /// Free bytes at the end below which the buffer is compacted. Default 64 KiB: a read
    /// that large is worth a system call.
    const LEAST_SPACE: usize = 64 * 1024;
    /// Bytes that it begins with. Default 8 KiB: more than a handshake sends at once.
    const FIRST: usize = 8 * 1024;
    /// Factor by which it grows.
    const GROWTH: usize = 4;

    fn new() -> Self {
        Self {
            bytes: Zeroizing::new(vec![0; Self::FIRST]),
            start: 0,
            end: 0,
            was_filled: false,
        }
    }

    fn space(&mut self) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.bytes.len() - self.end < Self::LEAST_SPACE && self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if std::mem::take(&mut self.was_filled) && self.bytes.len() < config::INPUT {
            let size = config::INPUT.min(Self::GROWTH * self.bytes.len());
            let mut grown = Zeroizing::new(vec![0; size]);
            let (kept, _) = grown.split_at_mut(self.end);
            kept.copy_from_slice(self.at(0..self.end));
            self.bytes = grown;
        }
        self.bytes
            .get_mut(self.end..)
            .expect("the end lies in the buffer")
    }

    fn mark_filled(&mut self, bytes: usize) {
        self.end = (self.end + bytes).min(self.bytes.len());
        self.was_filled = self.end == self.bytes.len();
    }

    /// The waiting bytes.
    fn pending(&self) -> &[u8] {
        self.at(self.start..self.end)
    }

    /// The first `count` waiting bytes, and their position; none when there are fewer.
    fn front(&mut self, count: usize) -> Option<(&mut [u8], usize)> {
        let start = self.start;
        let bytes = self.at_mut(start..self.end).get_mut(..count)?;
        Some((bytes, start))
    }

    /// Removes the first `count` bytes; they stay in the buffer until [`Input::space`].
    fn skip(&mut self, count: usize) {
        self.start = (self.start + count).min(self.end);
    }

    fn at(&self, range: Range<usize>) -> &[u8] {
        self.bytes.get(range).expect("a range of the buffer")
    }

    fn at_mut(&mut self, range: Range<usize>) -> &mut [u8] {
        self.bytes.get_mut(range).expect("a range of the buffer")
    }

    #[cfg(test)]
    fn all(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_kept_as_sent_without_its_end() {
        for (input, text) in [
            ("SSH-chisel-v3-server\r\nrest", "SSH-chisel-v3-server"),
            ("SSH-2.0-x comment \n", "SSH-2.0-x comment "),
            ("SSH-2.0-x\r\r\n", "SSH-2.0-x\r"),
        ] {
            let found = line(input.as_bytes(), Role::Client).unwrap();
            let end = input.find('\n').unwrap() + 1;
            assert_eq!(found, Line::Ident(text.as_bytes(), end));
        }
    }

    #[test]
    fn a_client_skips_lines_and_a_server_does_not() {
        assert_eq!(line(b"hello\r\nSSH-", Role::Client), Ok(Line::Preface(7)));
        assert_eq!(line(b"hello\r\nSSH-", Role::Server), Err(Error::NotSsh));
        assert_eq!(line(b"G", Role::Server), Err(Error::NotSsh));
        assert_eq!(line(b"SS", Role::Server), Ok(Line::Partial));
    }

    #[test]
    fn a_line_has_at_most_255_bytes() {
        let longest = [b"SSH-".as_slice(), &[b'x'; 249], b"\r\n"].concat();
        assert!(matches!(
            line(&longest, Role::Server),
            Ok(Line::Ident(_, 255))
        ));
        let longer = [b"SSH-".as_slice(), &[b'x'; 250], b"\r\n"].concat();
        assert_eq!(line(&longer, Role::Server), Err(Error::NotSsh));
        assert_eq!(line(&longer[..254], Role::Client), Ok(Line::Partial));
    }
}
