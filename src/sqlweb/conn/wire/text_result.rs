//! Parses the packets of the answer to COM_QUERY in place (MySQL protocol documentation, "MySQL Packets", "COM_QUERY
//! Response", "Text Resultset", "Column Definition", "OK_Packet", "EOF_Packet", "ERR_Packet").
//!
//! The driver has negotiated protocol 4.1, several results, no CLIENT_DEPRECATE_EOF and no CLIENT_SESSION_TRACK; with
//! MariaDB one byte after the number of columns (MARIADB_CLIENT_CACHE_METADATA).

use std::io;

use mysql::consts::{ColumnFlags, ColumnType, StatusFlags};
use mysql::{Column, MySqlError};
use rows::{Span, find_cells, number};

use crate::sqlweb::error::{DbError, LOCAL_FILE, NOT_MYSQL, io_sentence, too_large};
use crate::sqlweb::results::{Done, TextRow, info_line};

/// First bytes of packets that are neither a number of columns nor a row.
const OK: u8 = 0;
const LOCAL_INFILE: u8 = 0xfb;
const EOF: u8 = 0xfe;
const ERR: u8 = 0xff;

/// Longest EOF packet, in bytes; a longer one is a row whose first cell begins like it.
const LONGEST_EOF: usize = 8;

/// Maximum number of announced columns, more than any server can send.
const MAX_COLUMNS: u64 = 0xff_ffff;

/// Approximate bytes of a column without its names, here and in the head of the answer.
const COLUMN: usize = 512;

const TOO_WIDE: &str = "the result has too many columns; select fewer";

/// Bytes of a packet's header: three for its length, the lowest first, and one for its number in the answer.
const HEADER: usize = 4;

/// Length of a packet that continues in the next.
const FULL: usize = 0xff_ffff;

/// Least free room of the buffer for a read, in bytes.
const ROOM: usize = 64 << 10;

/// Size in bytes from which the buffer is made small again after a large packet.
const LARGE: usize = 4 * ROOM;

/// State of the session and the statement in an OK or EOF packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SessionStatus {
    /// The status flags.
    pub(crate) flags: StatusFlags,
    /// Number of the server's warnings.
    pub(crate) warnings: u16,
}

/// One result of a statement.
pub(crate) enum ResultSet<'a> {
    /// Rows of these columns follow.
    Rows(&'a [Column]),
    /// A result without rows.
    Done(Done),
}

/// Position of the next packet in the answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PacketPosition {
    BeforeSet,
    InRows,
    Ended,
}

/// The answer to one statement, read on demand.
pub(crate) struct TextResult<S> {
    packets: PacketReader<S>,
    position: PacketPosition,
    columns: Vec<Column>,
    spans: Vec<Span>,
    status: Option<SessionStatus>,
}

impl<S: PacketSource> TextResult<S> {
    /// The next answer in `packets`.
    pub(super) fn new(packets: PacketReader<S>) -> Self {
        Self {
            packets,
            position: PacketPosition::BeforeSet,
            columns: Vec::new(),
            spans: Vec::new(),
            status: None,
        }
    }

    /// Returns the state in the last packet, if it was an OK or EOF packet.
    pub(super) fn status(&self) -> Option<SessionStatus> {
        self.status
    }

    /// The source, if it has sent more than the answer.
    pub(super) fn overrun(self) -> Option<S> {
        self.packets.overrun()
    }

    /// Advances to the next result, after the previous one was read to its end; `None` after the last.
    pub(super) fn next_set(&mut self) -> Result<Option<ResultSet<'_>>, DbError> {
        if self.position != PacketPosition::BeforeSet {
            return Ok(None);
        }
        self.advance()?;
        let packet = self.packets.payload();
        match packet.first() {
            Some(&OK) => {
                let (done, status) = ok(packet).ok_or_else(cut_short)?;
                self.ended(status);
                Ok(Some(ResultSet::Done(done)))
            }
            Some(&LOCAL_INFILE) => Err(DbError::Lost(LOCAL_FILE.into())),
            _ => {
                let columns = column_count(packet).ok_or_else(|| no_protocol("no columns"))?;
                self.read_columns(columns)?;
                self.position = PacketPosition::InRows;
                Ok(Some(ResultSet::Rows(&self.columns)))
            }
        }
    }

    /// Reads the columns; no room is reserved, since the announced number may never come.
    fn read_columns(&mut self, count: u64) -> Result<(), DbError> {
        self.columns.clear();
        let mut room = self.packets.most();
        for _ in 0..count {
            self.advance()?;
            let takes = COLUMN + self.packets.payload().len();
            let left = room.checked_sub(takes);
            room = left.ok_or_else(|| DbError::Lost(TOO_WIDE.into()))?;
            let column = column(self.packets.payload()).ok_or_else(|| no_protocol("a column"))?;
            self.columns.push(column);
        }
        self.advance()?;
        eof(self.packets.payload()).ok_or_else(|| no_protocol("no end of the columns"))?;
        Ok(())
    }

    /// The next row of the set; `None` at its end.
    pub(super) fn next_row(&mut self) -> Result<Option<TextRow<'_>>, DbError> {
        if self.position != PacketPosition::InRows {
            return Ok(None);
        }
        self.advance()?;
        if let Some(status) = eof(self.packets.payload()) {
            self.ended(status);
            return Ok(None);
        }
        let packet = self.packets.payload();
        if !find_cells(packet, self.columns.len(), &mut self.spans) {
            return Err(no_protocol("a row"));
        }
        self.position = PacketPosition::InRows;
        Ok(Some(TextRow::Packet(packet, &self.spans)))
    }

    /// Reads a packet; an ERR packet becomes an error and ends the answer. Nothing is read after an invalid packet, so
    /// the position is `Ended` until the caller has checked it.
    fn advance(&mut self) -> Result<(), DbError> {
        self.status = None;
        self.position = PacketPosition::Ended;
        self.packets.advance()?;
        let packet = self.packets.payload();
        match packet.first() {
            Some(&ERR) => Err(server_error(packet).map_or_else(cut_short, DbError::Statement)),
            Some(_) => Ok(()),
            None => Err(no_protocol("an empty packet")),
        }
    }

    fn ended(&mut self, status: SessionStatus) {
        let has_more = status
            .flags
            .contains(StatusFlags::SERVER_MORE_RESULTS_EXISTS);
        self.position = if has_more {
            PacketPosition::BeforeSet
        } else {
            PacketPosition::Ended
        };
        self.status = Some(status);
    }
}

fn cut_short() -> DbError {
    no_protocol("a packet is cut short")
}

/// Takes the first `N` bytes off the packet.
fn take<'a, const N: usize>(packet: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (taken, rest) = packet.split_first_chunk()?;
    *packet = rest;
    Some(taken)
}

fn u16_of(packet: &mut &[u8]) -> Option<u16> {
    take(packet).map(|bytes| u16::from_le_bytes(*bytes))
}

/// Takes a length-encoded text off the packet.
fn text<'a>(packet: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(number(packet)?).ok()?;
    let (text, rest) = packet.split_at_checked(length)?;
    *packet = rest;
    Some(text)
}

fn ok(mut packet: &[u8]) -> Option<(Done, SessionStatus)> {
    take::<1>(&mut packet)?;
    let mut done = Done {
        affected_rows: number(&mut packet)?,
        last_insert_id: number(&mut packet)?,
        info: None,
    };
    let flags = u16_of(&mut packet)?;
    let status = status(flags, u16_of(&mut packet)?);
    done.info = info_line(packet);
    Some((done, status))
}

fn status(flags: u16, warnings: u16) -> SessionStatus {
    let flags = StatusFlags::from_bits_truncate(flags);
    SessionStatus { flags, warnings }
}

/// Returns the state in an EOF packet, which ends columns or rows; `None` for another packet.
fn eof(packet: &[u8]) -> Option<SessionStatus> {
    match packet {
        &[EOF, w0, w1, f0, f1, ..] if packet.len() <= LONGEST_EOF => {
            let (flags, warnings) = ([f0, f1], [w0, w1]);
            Some(status(
                u16::from_le_bytes(flags),
                u16::from_le_bytes(warnings),
            ))
        }
        _ => None,
    }
}

/// Parses an ERR packet; before a sign-in it has no SQLSTATE.
fn server_error(packet: &[u8]) -> Option<MySqlError> {
    let mut rest = packet.get(1..)?;
    let code = u16_of(&mut rest)?;
    let mut state = b"HY000";
    if let Some(after) = rest.strip_prefix(b"#") {
        rest = after;
        state = take(&mut rest)?;
    }
    let status = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some(MySqlError {
        state: status(state),
        message: status(rest),
        code,
    })
}

/// Parses the number of columns, at least one. MariaDB's further byte is 1 if they follow, as always for a text.
fn column_count(mut packet: &[u8]) -> Option<u64> {
    let count = number(&mut packet)?;
    let may_be = (1..=MAX_COLUMNS).contains(&count) && matches!(packet, [] | [1]);
    may_be.then_some(count)
}

fn column(mut packet: &[u8]) -> Option<Column> {
    let packet = &mut packet;
    // The catalogue, the schema, and the table's name in the statement.
    for _ in 0..3 {
        text(packet)?;
    }
    let org_table = text(packet)?;
    let (name, org_name) = (text(packet)?, text(packet)?);
    // The length of the rest.
    take::<1>(packet)?;
    let character_set = u16_of(packet)?;
    let length = u32::from_le_bytes(*take(packet)?);
    let [kind] = *take(packet)?;
    let kind = ColumnType::try_from(kind).ok()?;
    let flags = ColumnFlags::from_bits_truncate(u16_of(packet)?);
    Some(
        Column::new(kind)
            .with_org_table(org_table)
            .with_name(name)
            .with_org_name(org_name)
            .with_character_set(character_set)
            .with_column_length(length)
            .with_flags(flags),
    )
}

/// Source of the bytes.
pub(crate) trait PacketSource {
    /// Appends received bytes up to the capacity of `buffer`, and waits if there are none; 0 is the end.
    fn receive(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize>;
}

/// The packets of one answer.
pub(super) struct PacketReader<S> {
    source: S,
    buffer: Vec<u8>,
    /// Start of the current packet's payload in the buffer.
    at: usize,
    /// Length of that payload.
    length: usize,
    /// The number that the next packet must have.
    number: u8,
    /// Longest accepted payload, in bytes.
    most: usize,
}

impl<S: PacketSource> PacketReader<S> {
    /// The answer to a command that was just sent, with payloads of at most `most` bytes.
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

    /// Reads the next packet. Memory is at most twice the received bytes.
    pub(super) fn advance(&mut self) -> Result<(), DbError> {
        self.at += self.length;
        self.length = 0;
        // Not while many received bytes are still unread, since their packets would be moved again and again.
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

    /// Longest accepted payload, in bytes.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// The source, if more bytes have come than the packet that was read last.
    pub(super) fn overrun(self) -> Option<S> {
        (self.buffer.len() > self.at + self.length).then_some(self.source)
    }

    /// Capacity of the buffer, in bytes.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.buffer.capacity()
    }

    /// Reads the first part of a packet; returns false if the packet continues.
    fn first_part(&mut self) -> Result<bool, DbError> {
        let more = self.header()?;
        self.have(HEADER + more)?;
        self.at += HEADER;
        self.length = more;
        Ok(more < FULL)
    }

    /// Appends a further part to the packet; returns false if the packet continues.
    fn further_part(&mut self) -> Result<bool, DbError> {
        let more = self.header()?;
        let end = self.at + self.length;
        self.buffer.drain(end..end + HEADER);
        self.have(self.length + more)?;
        self.length += more;
        Ok(more < FULL)
    }

    /// Reads the header behind the current part and returns the length of its part.
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

    /// Reads until the buffer has `bytes` bytes from the packet's beginning on.
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

/// Error for an invalid answer; `what` names the cause.
pub(super) fn no_protocol(what: &str) -> DbError {
    DbError::Lost(format!("{NOT_MYSQL} ({what})"))
}

#[cfg(test)]
#[path = "text_result_tests.rs"]
mod tests;
