//! Errors between a request and the database, with their messages, hints and statuses.

use std::fmt;

use mysql::MySqlError;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

use super::catch_panic::Panicked;
use super::held::HeldState;
use super::limits::{
    CONNECTIONS_OF_ONE, MAX_CONNECTIONS, MAX_PACKET, MAX_PACKET_SHARED, OF_ONE_READER,
    ROWS_IN_FLIGHT,
};
use crate::http::{self, Failed};
use crate::net::in_words;

/// A failed request.
pub(crate) type ApiError = Failed<Details<ServerError>>;

/// Further members of its answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(crate) struct Details<E> {
    /// Of an edit: changes that remain in effect: 0, or, if the engine cannot roll back, those before the one that
    /// failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) applied: Option<usize>,
    /// The cause, if the database or an edit tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<E>,
    /// For a failed statement: true if its session has an open transaction now. Absent if nothing was sent to the
    /// database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) in_transaction: Option<bool>,
    /// Part that refused: `gate`, which reads the statement, or `connection`, which is read-only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) layer: Option<&'static str>,
    /// Place in the statement that the gate refused, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) offset: Option<usize>,
    /// Refused part, such as `DELETE` or `function load_file`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) statement: Option<String>,
}

/// Error of the database server.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(crate) struct ServerError {
    /// Its number, such as 1062.
    pub(crate) errno: u16,
    /// Its SQLSTATE, five characters.
    pub(crate) sqlstate: String,
}

impl ApiError {
    /// Status 403 for a statement that this layer of the read-only mode refused before it was sent.
    pub(crate) fn refused(
        message: impl Into<String>,
        statement: impl Into<String>,
        layer: Option<&'static str>,
    ) -> Self {
        Self::forbidden(message).map(|members| Details {
            statement: Some(statement.into()),
            layer,
            ..members
        })
    }

    /// The number of the server's error.
    pub(crate) fn errno(&self) -> Option<u16> {
        self.extra.error.as_ref().map(|error| error.errno)
    }
}

impl From<http::ApiError> for ApiError {
    fn from(error: http::ApiError) -> Self {
        error.map(|_| Details::default())
    }
}

impl From<&DbError> for ApiError {
    fn from(error: &DbError) -> Self {
        let message = match error.hint() {
            Some(hint) => format!("{error}\n{hint}"),
            None => error.to_string(),
        };
        let mut told = Self::new(error.status(), message);
        if let DbError::ReadOnly(..) | DbError::Changed(_) | DbError::Shared(_) = error {
            told.extra.layer = Some("connection");
        }
        told.extra.error = match (error, error.server_error()) {
            (_, Some(server)) => Some(ServerError {
                errno: server.code,
                sqlstate: server.state.clone(),
            }),
            // The server's code for a killed statement.
            (DbError::Stopped(_), None) => Some(ServerError {
                errno: INTERRUPTED,
                sqlstate: "70100".into(),
            }),
            _ => None,
        };
        told
    }
}

impl From<DbError> for ApiError {
    fn from(error: DbError) -> Self {
        Self::from(&error)
    }
}

/// A failure on the database's side of a request.
#[derive(Debug)]
#[non_exhaustive]
pub(crate) enum DbError {
    /// No connection could be made: name, network, handshake. The text starts after `plugin error: `.
    Unreachable(String),
    /// The server refused the account.
    Denied(MySqlError),
    /// TLS as requested is not possible.
    Tls(String),
    /// The server requires a sign-in method that is not supported, or not safe.
    Auth(String),
    /// The connection ended during a statement, which is not repeated.
    Lost(String),
    /// Like `Lost`, if the statement may have taken effect or the session had state.
    LostWith {
        /// Cause.
        why: String,
        /// True if the statement may have taken effect.
        effect: bool,
        /// State that the session lost, if any.
        state: Option<HeldState>,
    },
    /// The connection of a session with state ended between two statements. Nothing was sent.
    SessionLost(HeldState),
    /// The server keeps sending after it was told to stop.
    Endless,
    /// The statement was stopped, but the server continued, so its connection was closed; true if the server was told.
    GivenUp(StopCause, bool),
    /// The server answered a statement with an error.
    Statement(MySqlError),
    /// Another statement of the session is still running.
    SessionBusy,
    /// All connections of this program are in use.
    Busy,
    /// All connections of one visitor are in use.
    VisitorBusy,
    /// The large rows in transit leave no room for another one. The statement was stopped, or read to its end.
    NoRoom,
    /// Like `NoRoom`, for a statement that may have written; it was read to its end.
    Unshown,
    /// The read-only mode refused a statement that the gate had passed; with the server's own error, if any.
    ReadOnly(String, Option<MySqlError>),
    /// The server has changed, or the account lost rights. Nothing was sent.
    Changed(String),
    /// The named proxy may spread a session's statements over servers, which would defeat the read-only mode. Nothing
    /// was sent.
    Shared(&'static str),
    /// The result has more columns than a prepared statement can count; the connection cannot be used any more.
    TooWide,
    /// The statement was stopped: by the person, by the time limit, or since its client left.
    Stopped(StopCause),
    /// The request was invalid in a way that only the session could detect.
    Request(String),
    /// The answer could not be written to the client.
    Client(std::io::Error),
}

/// Reason that a statement was stopped before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopCause {
    /// `POST /api/cancel`.
    Cancelled,
    /// The client closed its connection, or its tab.
    ClientLeft,
    /// `--query-timeout`.
    TimedOut,
    /// The program is ending.
    ShuttingDown,
}

impl StopCause {
    /// One sentence for the person.
    pub(crate) fn sentence(self) -> &'static str {
        match self {
            Self::Cancelled => "the statement was cancelled",
            Self::ClientLeft => "the statement was stopped because its client disconnected",
            Self::TimedOut => {
                "the statement was stopped: it exceeded the time limit (60 s on shared databases, else --query-timeout)"
            }
            Self::ShuttingDown => "the statement was stopped because postern is stopping",
        }
    }

    /// Cause of the stop of a statement that may not have stopped.
    fn reason(self) -> &'static str {
        match self {
            Self::Cancelled => "it was cancelled",
            Self::ClientLeft => "its client disconnected",
            Self::TimedOut => {
                "it exceeded the time limit: 60 s on shared databases, else --query-timeout"
            }
            Self::ShuttingDown => "postern is stopping",
        }
    }
}

/// `ER_QUERY_INTERRUPTED`.
pub(crate) const INTERRUPTED: u16 = 1317;

/// Errors for a wrong name or password, no right to the database, a missing password, and locked accounts (3118 and
/// 3955 of MySQL, 4151 of MariaDB).
const DENIALS: [u16; 6] = [1045, 1044, 1698, 3118, 3955, 4151];
/// "Invalid authorization specification" (SQL:2016 part 2, table 41).
const DENIED_STATE: &str = "28000";

impl fmt::Display for DbError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(text) | Self::Tls(text) | Self::Auth(text) | Self::Request(text) => {
                f.write_str(text)
            }
            Self::Denied(error) | Self::Statement(error) => f.write_str(&error.message),
            Self::Lost(why) => write!(f, "{LOST}: {why}{NOT_REPEATED}"),
            Self::LostWith { why, effect, state } => {
                let with_it = state.map_or_else(String::new, |held| format!(", and with it {}", state_of(held)));
                let check = if *effect { CHECK_EFFECT } else { "" };
                write!(f, "{LOST}: {why}{with_it}{NOT_REPEATED}{check}")
            }
            Self::SessionLost(held) => write!(
                f,
                "{SESSION_LOST}, and with it {}; {BEGIN_ANEW}",
                state_of(*held)
            ),
            Self::Endless => write!(
                f,
                "{LOST}: the server kept sending after it was told to stop{NOT_REPEATED}"
            ),
            Self::GivenUp(cause, told) => {
                let reason = cause.reason();
                let how = if *told {
                    format!("did not stop when told to ({reason})")
                } else {
                    format!("could not be stopped ({reason})")
                };
                write!(
                    f,
                    "the statement {how}, so its connection was closed, with everything the session held; the server may still run the statement"
                )
            }
            Self::SessionBusy => f.write_str(
                "another statement of this session is still running; wait for it or cancel it",
            ),
            Self::Busy => write!(
                f,
                "no database connection is free for you ({} in total); close a query tab or wait for a statement to end",
                MAX_CONNECTIONS
            ),
            Self::VisitorBusy => write!(
                f,
                "you use {CONNECTIONS_OF_ONE} database connections, the limit for one visitor; close a query tab or wait for a statement to end"
            ),
            Self::ReadOnly(text, _) | Self::Changed(text) => write!(f, "read-only mode: {text}"),
            Self::NoRoom => write!(f, "{}; read them faster, or select fewer at once", no_room()),
            Self::Unshown => write!(
                f,
                "{}, so the rest of the result is not shown; the statement finished and was not repeated{CHECK_EFFECT}",
                no_room()
            ),
            Self::Shared(proxy) => write!(
                f,
                "read-only mode: {proxy} between postern and the server may spread one session over several connections, so it cannot be made read-only; nothing was sent (layer: connection)"
            ),
            Self::TooWide => f.write_str(
                "the result has more than 65,535 columns, the limit in read-only mode; select fewer",
            ),
            Self::Stopped(cause) => f.write_str(cause.sentence()),
            Self::Client(error) => write!(f, "cannot write to the client: {}", in_words(error)),
        }
    }
}

impl DbError {
    /// True if the server refused the account or its password, by number or SQLSTATE, since the text is in the server's
    /// language.
    pub(crate) fn is_denied(&self) -> bool {
        match self {
            Self::Denied(error) => DENIALS.contains(&error.code) || error.state == DENIED_STATE,
            _ => false,
        }
    }

    /// True if the server refused a connection since there are too many, of all accounts (`ER_CON_COUNT_ERROR`) or of
    /// this one.
    pub(crate) fn is_of_limit(&self) -> bool {
        self.is_of_account() || matches!(self, Self::Denied(error) if error.code == 1040)
    }

    /// True if the server refused a connection since this account, which is valid, has too many
    /// (`ER_TOO_MANY_USER_CONNECTIONS`, `ER_USER_LIMIT_REACHED`).
    pub(crate) fn is_of_account(&self) -> bool {
        matches!(self, Self::Denied(error) if matches!(error.code, 1203 | 1226))
    }

    /// True if the server refused to write since it is a replica, or read-only as a whole.
    /// `ER_OPTION_PREVENTS_STATEMENT` is also used for other options, whose names are not translated.
    pub(crate) fn is_of_replica(&self) -> bool {
        self.server_error().is_some_and(|error| match error.code {
            OPTION_PREVENTS => {
                error.message.contains("read-only") || error.message.contains("read_only")
            }
            code => code == READ_ONLY_MODE,
        })
    }

    /// Returns advice, if there is any.
    pub(crate) fn hint(&self) -> Option<&'static str> {
        let of_galera =
            |error: &MySqlError| error.code == UNKNOWN_COMMAND && error.message.contains("WSREP");
        match self.server_error() {
            Some(_) if self.is_of_replica() => Some(REPLICA_HINT),
            Some(error) if of_galera(error) => Some(GALERA_HINT),
            Some(error) if error.code == OFFLINE_MODE => Some(OFFLINE_HINT),
            _ => matches!(self, Self::Shared(_)).then_some(SHARED_HINT),
        }
    }

    /// HTTP status for this failure.
    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::Unreachable(_)
            | Self::Denied(_)
            | Self::Tls(_)
            | Self::Auth(_)
            | Self::Lost(_)
            | Self::LostWith { .. }
            | Self::SessionLost(_)
            | Self::Endless
            | Self::GivenUp(..) => 502,
            Self::Statement(_)
            | Self::TooWide
            | Self::Request(_)
            | Self::Stopped(StopCause::Cancelled | StopCause::ClientLeft) => 400,
            Self::ReadOnly(..) | Self::Changed(_) | Self::Shared(_) => 403,
            Self::SessionBusy => 409,
            Self::Busy | Self::VisitorBusy => 429,
            Self::NoRoom => 503,
            Self::Stopped(StopCause::TimedOut) => 504,
            Self::Stopped(StopCause::ShuttingDown) => 502,
            Self::Client(_) | Self::Unshown => 500,
        }
    }

    /// The server's own error, if any.
    pub(crate) fn server_error(&self) -> Option<&MySqlError> {
        match self {
            Self::Denied(error) | Self::Statement(error) => Some(error),
            Self::ReadOnly(_, error) => error.as_ref(),
            _ => None,
        }
    }

    /// True if the connection it happened on can serve another statement.
    pub(crate) fn leaves_connection_usable(&self) -> bool {
        match self {
            // An error of a person's statement that ended the connection is `Lost`.
            Self::Statement(_)
            | Self::ReadOnly(..)
            | Self::Stopped(_)
            | Self::Request(_)
            | Self::Client(_)
            | Self::NoRoom
            | Self::Unshown => true,
            _ => false,
        }
    }

    /// True if this program gave the connection up, so that the server may still be at work on it.
    pub(crate) fn leaves_server_at_work(&self) -> bool {
        matches!(self, Self::GivenUp(..) | Self::Endless)
    }

    /// Adds to a lost connection that the statement may have taken effect.
    pub(crate) fn with_effect(self) -> Self {
        self.lost_with(true, None)
    }

    /// Adds to a lost connection the state that the session lost.
    pub(crate) fn with_state(self, held: HeldState) -> Self {
        self.lost_with(false, Some(held))
    }

    fn lost_with(self, more_effect: bool, more_state: Option<HeldState>) -> Self {
        let (why, effect, state) = match self {
            Self::Lost(why) => (why, false, None),
            Self::LostWith { why, effect, state } => (why, effect, state),
            other => return other,
        };
        Self::LostWith {
            why,
            effect: effect || more_effect,
            state: state.or(more_state),
        }
    }
}

/// Describes the state that a session has lost, with its known parts.
fn state_of(held: HeldState) -> String {
    const ALL: &str = "the session's transaction, variables and temporary tables";
    match held.to_string() {
        known if known.is_empty() => ALL.into(),
        known => format!("{ALL} (it had: {known})"),
    }
}

fn no_room() -> String {
    format!(
        "the large rows in transit exceed {} MiB in total, or {} MiB for one reader",
        *ROWS_IN_FLIGHT >> 20,
        *OF_ONE_READER >> 20
    )
}

/// `ER_OPTION_PREVENTS_STATEMENT`.
const OPTION_PREVENTS: u16 = 1290;
/// `ER_READ_ONLY_MODE`.
const READ_ONLY_MODE: u16 = 1836;
/// `ER_UNKNOWN_COM_ERROR`, Galera's answer to everything while it cannot serve.
const UNKNOWN_COMMAND: u16 = 1047;
/// `ER_SERVER_OFFLINE_MODE` (MySQL).
const OFFLINE_MODE: u16 = 3032;

const REPLICA_HINT: &str = "this server is a read-only replica, or was made read-only: to write, connect to the primary server";

const GALERA_HINT: &str = "this node is outside its cluster's majority, or still joining it: try again in a moment, or connect to another node";

const OFFLINE_HINT: &str = "this server was taken offline for maintenance (offline_mode): try again later, or connect to another server";

const SHARED_HINT: &str = "connect to the server directly, or to a proxy port without multiplexing and read/write splitting";

const LOST: &str = "the database connection was lost";

const NOT_REPEATED: &str = "; the statement was not repeated";

const CHECK_EFFECT: &str = ", so check whether it took effect";

const SESSION_LOST: &str = "the session's database connection has ended since its last statement (it was lost, or idle for 10 minutes)";

const BEGIN_ANEW: &str =
    "nothing was run: the next statement gets a new connection, so start the transaction again";

/// Message about a server that does not speak the protocol.
pub(crate) const NOT_MYSQL: &str = "the server sent something that is not the MySQL protocol";

/// Message about a server that asks for a file of this machine (LOCAL INFILE).
pub(crate) const LOCAL_FILE: &str = "the server asked for a local file, which postern never sends";

/// The driver panics at packets that no correct server sends.
impl From<Panicked> for DbError {
    fn from(_: Panicked) -> Self {
        Self::Lost(NOT_MYSQL.into())
    }
}

/// Converts an error of the driver from a connection in use.
impl From<mysql::Error> for DbError {
    fn from(error: mysql::Error) -> Self {
        match plain(error) {
            mysql::Error::MySqlError(error) => Self::Statement(error),
            mysql::Error::IoError(error) => Self::Lost(io_sentence(&error)),
            mysql::Error::DriverError(error) => Self::Lost(error.to_string()),
            mysql::Error::CodecError(error) => Self::Lost(packet_sentence(&error.to_string())),
            other => Self::Lost(other.to_string()),
        }
    }
}

/// Explains the error of a packet by its text, since the driver's type for it is private.
fn packet_sentence(driver_says: &str) -> String {
    if driver_says.contains("larger than max_allowed_packet") {
        return too_large();
    }
    format!("{NOT_MYSQL} ({driver_says})")
}

/// Message about a row that exceeds the limit.
pub(crate) fn too_large() -> String {
    let (most, shared) = (*MAX_PACKET, *MAX_PACKET_SHARED);
    format!(
        "a row exceeds the size limit ({} MiB, {} MiB in read-only and invisible mode); select less of it",
        most >> 20,
        shared >> 20
    )
}

/// Unwraps I/O errors, also those of TLS, from the driver's errors of the packet layer.
pub(crate) fn plain(error: mysql::Error) -> mysql::Error {
    use std::error::Error as _;
    let mysql::Error::CodecError(codec) = &error else {
        return error;
    };
    match codec
        .source()
        .and_then(|e| e.downcast_ref::<std::io::Error>())
    {
        None => error,
        Some(io) => {
            let copy = match io.raw_os_error() {
                Some(code) => std::io::Error::from_raw_os_error(code),
                None => std::io::Error::new(io.kind(), io.to_string()),
            };
            mysql::Error::IoError(copy)
        }
    }
}

/// True for errors that a server may send before it ends the connection (MariaDB and MySQL error codes 1053 shutdown,
/// 1080 forced close, 1152 to 1161 communication, 1184 new aborted connection, 1317 and 1927 killed, 3032 offline, 3169
/// killed, 4031 idle for too long). The number proves nothing: `SIGNAL` sets any, and servers use some of them for
/// other errors.
pub(crate) fn may_end_connection(code: u16) -> bool {
    matches!(
        code,
        1053 | 1080 | 1152..=1161 | 1184 | INTERRUPTED | 1927 | 3032 | 3169 | 4031
    )
}

/// Describes an I/O error, without the system's number.
pub(crate) fn io_sentence(error: &std::io::Error) -> String {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::ConnectionRefused => "connection refused".into(),
        ErrorKind::TimedOut => "connection timed out".into(),
        // The read timeout of a socket.
        ErrorKind::WouldBlock => "the server did not answer in time".into(),
        ErrorKind::NotFound => "no such file or directory".into(),
        ErrorKind::PermissionDenied => "permission denied".into(),
        ErrorKind::HostUnreachable => "no route to host".into(),
        ErrorKind::NetworkUnreachable => "network is unreachable".into(),
        ErrorKind::ConnectionReset => "connection reset by the server".into(),
        // The driver's text for a packet that is too short.
        ErrorKind::UnexpectedEof if error.to_string().starts_with("can't parse") => {
            NOT_MYSQL.into()
        }
        ErrorKind::InvalidData => format!("{NOT_MYSQL} ({error})"),
        ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof | ErrorKind::ConnectionAborted => {
            "the server closed the connection".into()
        }
        // The driver's text for an end of the stream within a packet.
        _ if error.to_string() == "bytes remaining on stream" => {
            "the server closed the connection within a packet".into()
        }
        _ => in_words(error),
    }
}
