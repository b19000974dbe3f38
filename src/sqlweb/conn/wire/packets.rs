//! Packets of the MySQL protocol, looked at where they lie in the buffer (MySQL protocol documentation, "MySQL Packets").

use std::io;

use crate::sqlweb::error::{DbError, NOT_MYSQL, io_sentence, too_large};

/// Bytes of a packet's header: its length in three, the lowest first, and its number in the answer.
const HEADER: usize = 4;

/// A packet of this length goes on in the next.
const FULL: usize = 0xff_ffff;

/// Bytes that the buffer has room for, at least, when more is read.
const ROOM: usize = 64 << 10;

/// A buffer that a large packet has made larger than this becomes small again after it.
const LARGE: usize = 4 * ROOM;

/// Where the bytes come from.
pub(crate) trait PacketSource {
    /// Appends what there is, as far as `buffer` has room for it, and waits where there is nothing; 0 is the end.
    fn receive(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize>;
}

/// The packets of one answer.
pub(super) struct PacketReader<S> {
    source: S,
    buffer: Vec<u8>,
    /// Where in the buffer the present packet's payload begins,
    at: usize,
    /// and how long it is.
    length: usize,
    /// The number that the next packet must have.
    number: u8,
    /// The longest payload that is taken, in bytes.
    most: usize,
}

impl<S: PacketSource> PacketReader<S> {
    /// The answer to a command that was just sent. The longest payload that is taken has `most` bytes.
    pub(super) fn new(source: S, most: usize) -> Self {
        Self {
            source,
            buffer: Vec::with_capacity(2 * ROOM),
            at: 0,
            length: 0,
            // The command had number 0.
            number: 1,
            most,
        }
    }

    /// Reads the next packet. No more memory is taken than twice what has come.
    pub(super) fn advance(&mut self) -> Result<(), DbError> {
        self.at += self.length;
        self.length = 0;
        // Never while much of what has come is still to be read: each packet of it would be moved again and again.
        if self.buffer.capacity() > LARGE && self.buffer.len() - self.at <= ROOM {
            self.shrink();
        }
        let mut whole = self.first_part()?;
        while !whole {
            whole = self.further_part()?;
        }
        Ok(())
    }

    /// The payload of the packet that was read last.
    pub(super) fn payload(&self) -> &[u8] {
        let payload = self.buffer.get(self.at..self.at + self.length);
        payload.expect("the packet lies in the buffer")
    }

    /// The longest payload that is taken, in bytes.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// The source, where more has come than the packet that was read last.
    pub(super) fn overrun(self) -> Option<S> {
        (self.buffer.len() > self.at + self.length).then_some(self.source)
    }

    /// Bytes that the buffer has room for.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.buffer.capacity()
    }

    /// False where the packet goes on.
    fn first_part(&mut self) -> Result<bool, DbError> {
        let more = self.header()?;
        self.have(HEADER + more)?;
        self.at += HEADER;
        self.length = more;
        Ok(more < FULL)
    }

    /// Joins a further part to what there is of the packet.
    fn further_part(&mut self) -> Result<bool, DbError> {
        let more = self.header()?;
        let end = self.at + self.length;
        self.buffer.drain(end..end + HEADER);
        self.have(self.length + more)?;
        self.length += more;
        Ok(more < FULL)
    }

    /// The length of what follows the header after the present part.
    fn header(&mut self) -> Result<usize, DbError> {
        self.have(self.length + HEADER)?;
        let at = self.at + self.length;
        let header = self.buffer.get(at..).and_then(<[u8]>::first_chunk);
        let [low, middle, high, number]: [u8; HEADER] = *header.expect("so much was read");
        if number != self.number {
            return Err(no_protocol("packets out of sync"));
        }
        self.number = number.wrapping_add(1);
        let more = usize::from(low) | usize::from(middle) << 8 | usize::from(high) << 16;
        if self.length + more > self.most {
            return Err(DbError::Lost(too_large()));
        }
        Ok(more)
    }

    /// Reads until the buffer holds `bytes` from the packet's beginning on.
    fn have(&mut self, bytes: usize) -> Result<(), DbError> {
        if self.buffer.len() - self.at >= bytes {
            return Ok(());
        }
        self.buffer.drain(..self.at);
        self.at = 0;
        while self.buffer.len() < bytes {
            self.buffer.reserve(ROOM);
            match self.source.receive(&mut self.buffer) {
                Ok(0) => return Err(self.closed()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(DbError::Lost(io_sentence(&error))),
            }
        }
        Ok(())
    }

    fn shrink(&mut self) {
        self.buffer.drain(..self.at);
        self.at = 0;
        self.buffer.shrink_to(2 * ROOM);
    }

    fn closed(&self) -> DbError {
        let within = if self.buffer.is_empty() {
            ""
        } else {
            " within a packet"
        };
        DbError::Lost(format!("the server closed the connection{within}"))
    }
}

/// Error for an answer that makes no sense, in these words.
pub(super) fn no_protocol(what: &str) -> DbError {
    DbError::Lost(format!("{NOT_MYSQL} ({what})"))
}
