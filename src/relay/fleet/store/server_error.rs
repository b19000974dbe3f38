//! Meaning of a database server's error for the caller. Pure.

use std::io;

use crate::net::in_words;
use crate::sqlweb::catch_panic::Panicked;
use mysql::{DriverError, Error, MySqlError};

/// Meaning of an error for the caller.
#[derive(Debug)]
pub(super) enum ServerTrouble {
    /// Another transaction was first; the same query may be repeated here.
    Again(String),
    /// A unique key is another's.
    Taken,
    /// This server does not serve now, or is not reached; another one may.
    Unready(String),
    /// The account has no permission, here or on other servers.
    Denied(String),
}

/// Deadlock, or a certification that another node's transaction won; lock wait timeout; record changed since it was read
/// (MariaDB).
const AGAIN: [u16; 3] = [1213, 1205, 1020];
/// Duplicate key.
const TAKEN: u16 = 1062;
/// No rights (database, sign-in, statement, table, column, privilege), no such database, sign-in refused without a
/// password, host not allowed.
const DENIED: [u16; 9] = [1044, 1045, 1142, 1143, 1227, 1049, 1698, 1130, 1370];
/// Unknown variable.
const UNKNOWN_VARIABLE: u16 = 1193;
/// No such table.
const NO_TABLE: u16 = 1146;

impl From<Error> for ServerTrouble {
    /// Unknown codes are treated like those of a server that is not ready (1047), read-only (1290, 1792, 1836), full
    /// (1040, 1203), stopping (1053), or that has ended the statement (1317, 1927, 1180): another server may do it.
    fn from(error: Error) -> Self {
        match error {
            Error::MySqlError(error) if AGAIN.contains(&error.code) => Self::Again(text(&error)),
            Error::MySqlError(error) if error.code == TAKEN => Self::Taken,
            Error::MySqlError(error) if DENIED.contains(&error.code) => Self::Denied(text(&error)),
            Error::MySqlError(error) => Self::Unready(text(&error)),
            Error::DriverError(
                error @ (DriverError::UnknownAuthPlugin(_)
                | DriverError::OldMysqlPasswordDisabled
                | DriverError::CleartextPluginDisabled
                | DriverError::TlsNotSupported),
            ) => Self::Denied(in_words(error)),
            // Without the driver's own types around the message.
            Error::DriverError(error) => Self::Unready(error.to_string()),
            Error::IoError(error) => of_transport(&error),
            error => match transport(&error) {
                Some(error) => of_transport(error),
                None => Self::Unready(error.to_string()),
            },
        }
    }
}

/// The driver panics at a value that it does not expect. Its connection is thrown away.
impl From<Panicked> for ServerTrouble {
    fn from(_: Panicked) -> Self {
        Self::Unready("unexpected answer".into())
    }
}

/// Returns the transport error that the driver has wrapped.
fn transport(error: &Error) -> Option<&io::Error> {
    use std::error::Error as _;
    let Error::CodecError(codec) = error else {
        return None;
    };
    codec.source()?.downcast_ref()
}

/// rustls returns its errors with the kind "invalid data".
fn of_transport(error: &io::Error) -> ServerTrouble {
    match error.kind() {
        io::ErrorKind::InvalidData => ServerTrouble::Denied(format!("TLS: {error}")),
        io::ErrorKind::WouldBlock => ServerTrouble::Unready("no answer in time".into()),
        _ => ServerTrouble::Unready(error.to_string()),
    }
}

fn text(error: &MySqlError) -> String {
    format!("{} ({})", error.message.trim(), error.code)
}

fn has_code(error: &Error, code: u16) -> bool {
    matches!(error, Error::MySqlError(error) if error.code == code)
}

/// True if a server does not know a variable: it is no node of a Galera cluster.
pub(super) fn is_unknown_variable(error: &Error) -> bool {
    has_code(error, UNKNOWN_VARIABLE)
}

/// True if the tables do not exist.
pub(super) fn is_no_table(error: &Error) -> bool {
    has_code(error, NO_TABLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: u16) -> ServerTrouble {
        let (state, message) = ("HY000".to_owned(), "m".to_owned());
        Error::MySqlError(MySqlError {
            state,
            message,
            code,
        })
        .into()
    }

    #[test]
    fn each_kind_has_its_codes_and_what_is_not_known_is_tried_elsewhere() {
        for code in [1213, 1205, 1020] {
            assert!(matches!(of(code), ServerTrouble::Again(_)), "{code}");
        }
        assert!(matches!(of(1062), ServerTrouble::Taken));
        for code in [1045, 1044, 1142, 1049] {
            assert!(matches!(of(code), ServerTrouble::Denied(_)), "{code}");
        }
        for code in [
            1047, 1290, 1836, 1792, 1040, 1203, 1053, 1317, 1927, 1180, 9999,
        ] {
            assert!(matches!(of(code), ServerTrouble::Unready(_)), "{code}");
        }
        let of_kind = |kind: io::ErrorKind| ServerTrouble::from(Error::from(io::Error::from(kind)));
        let lost = of_kind(io::ErrorKind::ConnectionReset);
        assert!(matches!(lost, ServerTrouble::Unready(_)));
        let refused = of_kind(io::ErrorKind::InvalidData);
        assert!(matches!(refused, ServerTrouble::Denied(why) if why.starts_with("TLS: ")));
    }
}
