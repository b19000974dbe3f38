//! The answer to one statement, which this program reads from the socket, or the driver if there is TLS.

use std::io;
use std::mem::ManuallyDrop;
use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Column, Conn, QueryResult, Row, Text};

use super::text_result::{PacketReader, PacketSource, ResultSet, SessionStatus, TextResult};
use crate::sqlweb::conn::driver::has_set;
use crate::sqlweb::conn::socket_handle::SocketHandle;
use crate::sqlweb::error::{DbError, NOT_MYSQL, io_sentence};
use crate::sqlweb::results::{Done, TextRow, info_line};

/// COM_QUERY, the command of a statement's text.
const COM_QUERY: u8 = 3;

/// COM_SET_OPTION with MYSQL_OPTION_MULTI_STATEMENTS_ON, or _OFF.
const COM_SET_OPTION: u8 = 27;

/// First byte of an ERR packet.
const ERR: u8 = 0xff;

/// Longest text of a statement that fits into one packet, in bytes: one byte less than a packet that continues in the
/// next, and one less for the command.
pub(crate) const LONGEST_TEXT: usize = 0xff_fffe - 1;

/// Read timeout after an invalid answer of the server.
const NONSENSE_TIMEOUT: Duration = Duration::from_millis(500);

/// Last session status from the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LastStatus {
    /// The driver has read it.
    #[default]
    ByDriver,
    /// It was read without the driver.
    Here(SessionStatus),
    /// The last packet was an error, which has no status.
    Nothing,
}

/// The answer to one statement.
pub(crate) enum Answer<'c> {
    /// Read from the socket.
    Direct(TextResult<&'c SocketHandle>, &'c mut LastStatus),
    /// Read by the driver.
    Driver(DriverResult<'c>),
}

/// Result as the driver reads it.
pub(crate) struct DriverResult<'c> {
    /// Kept from its own destructor, which would read on while a panic unwinds, or from a server that sends without
    /// end. Only the list of its columns leaks then.
    result: ManuallyDrop<QueryResult<'c, 'c, 'c, Text>>,
    /// Columns of the set that began last.
    columns: Vec<Column>,
    /// The row that was read last.
    row: Option<Row>,
    /// Number of remaining statements of ours before a statement that returns rows, and the socket.
    guards: Option<(usize, &'c SocketHandle)>,
}

impl PacketSource for &SocketHandle {
    fn receive(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        SocketHandle::receive(self, buffer)
    }
}

impl<'c> Answer<'c> {
    /// Sends a text of at most [`LONGEST_TEXT`] bytes without the driver, which must be idle. Packets of the answer may
    /// have at most `most` bytes.
    pub(crate) fn direct(
        socket: &'c SocketHandle,
        sql: &[u8],
        most: usize,
        status: &'c mut LastStatus,
    ) -> Result<Self, DbError> {
        *status = LastStatus::Nothing;
        let length = u32::try_from(sql.len() + 1).expect("the text goes into one packet");
        let mut command = Vec::with_capacity(5 + sql.len());
        command.extend_from_slice(&length.to_le_bytes());
        command.push(COM_QUERY);
        command.extend_from_slice(sql);
        socket
            .send(&command)
            .map_err(|error| DbError::Lost(io_sentence(&error)))?;
        let packets = PacketReader::new(socket, most);
        Ok(Self::Direct(TextResult::new(packets), status))
    }

    /// Tells the server whether to accept several statements in one text; returns false if it does not support that.
    pub(crate) fn set_several(
        socket: &'c SocketHandle,
        several: bool,
        most: usize,
    ) -> Result<bool, DbError> {
        let command = [3, 0, 0, 0, COM_SET_OPTION, u8::from(!several), 0];
        socket
            .send(&command)
            .map_err(|error| DbError::Lost(io_sentence(&error)))?;
        let mut packets = PacketReader::new(socket, most);
        packets.advance()?;
        Ok(packets.payload().first() != Some(&ERR))
    }

    /// Sends `sql` by the driver, which uses `socket`; after `guards` statements, if any, follows one that returns
    /// rows.
    pub(crate) fn by_driver(
        driver: &'c mut Conn,
        sql: &str,
        guards: usize,
        socket: &'c SocketHandle,
    ) -> Result<Self, DbError> {
        Ok(Self::Driver(DriverResult {
            result: ManuallyDrop::new(driver.query_iter(sql)?),
            columns: Vec::new(),
            row: None,
            guards: (guards > 0).then_some((guards, socket)),
        }))
    }

    /// Advances to the next result, after the previous one was read to its end; `None` after the last.
    pub(crate) fn next_set(&mut self) -> Result<Option<ResultSet<'_>>, DbError> {
        match self {
            Self::Direct(result, _) => result.next_set(),
            Self::Driver(answer) => answer.next_set(),
        }
    }

    /// The next row of the result; `None` at its end, and after an error.
    pub(crate) fn next_row(&mut self) -> Result<Option<TextRow<'_>>, DbError> {
        match self {
            Self::Direct(result, _) => result.next_row(),
            Self::Driver(answer) => {
                answer.row = answer.result.next().transpose()?;
                Ok(answer.row.as_ref().map(TextRow::Driver))
            }
        }
    }

    /// Ends an answer that was read to its end.
    pub(crate) fn end(self) {
        match self {
            Self::Direct(result, last) => {
                *last = result
                    .status()
                    .map_or(LastStatus::Nothing, LastStatus::Here);
                // The driver's next read would be undefined.
                if let Some(socket) = result.overrun() {
                    log::debug!("a server sent more than its answer, so its connection is closed");
                    socket.shut_down();
                }
            }
            Self::Driver(answer) => drop(ManuallyDrop::into_inner(answer.result)),
        }
    }
}

impl DriverResult<'_> {
    fn next_set(&mut self) -> Result<Option<ResultSet<'_>>, DbError> {
        if !has_set(&mut self.result) {
            return Ok(None);
        }
        self.columns = self.result.columns().as_ref().to_vec();
        if !self.columns.is_empty() {
            // A later answer without columns is for a comment behind the last semicolon.
            self.guards = None;
            return Ok(Some(ResultSet::Rows(&self.columns)));
        }
        match &mut self.guards {
            Some((0, socket)) => {
                socket.set_read_timeout(Some(NONSENSE_TIMEOUT));
                return Err(self.without_columns());
            }
            Some((left, _)) => *left -= 1,
            None => {}
        }
        let done = Done {
            affected_rows: self.result.affected_rows(),
            last_insert_id: self.result.last_insert_id().unwrap_or(0),
            info: info_line(self.result.info_ref()),
        };
        // An error has no columns either.
        self.result.next().transpose()?;
        Ok(Some(ResultSet::Done(done)))
    }

    /// Reason that a statement that returns rows has none. After an invalid answer the driver still expects another
    /// result, as the previous answers announced.
    fn without_columns(&mut self) -> DbError {
        match self.result.next() {
            Some(Err(error)) => error.into(),
            Some(Ok(_)) | None => DbError::Lost(NOT_MYSQL.into()),
        }
    }
}
