//! State of a session in each answer: the status flags of its OK and EOF packets.

use std::fmt::{self, Write};

use mysql::Conn;
use mysql::consts::StatusFlags;

use super::db_conn::DbConn;
use super::driver::{call_driver, run_silently};
use super::wire::LastStatus;

/// Longest list of flags that is read, in bytes; the names of all sixteen have 500.
const MAX_FLAGS: usize = 1024;

/// Maximum number of queries for the flags, since a late `KILL QUERY` may hit the first one.
const QUESTIONS: usize = 2;

/// True if `conn` is in a transaction (`SERVER_STATUS_IN_TRANS`), also one that `autocommit=0` began. An ERR packet has
/// no flags, so after one the server is asked, by a statement that keeps its warnings. False if the connection is lost,
/// and the transaction with it.
pub(crate) fn in_transaction(conn: &mut DbConn) -> bool {
    for _ in 0..QUESTIONS {
        let status = match conn.status {
            LastStatus::Here(status) => {
                Some(status.flags.contains(StatusFlags::SERVER_STATUS_IN_TRANS))
            }
            LastStatus::ByDriver => last_flag(&conn.driver),
            LastStatus::Nothing => None,
        };
        if let Some(flag) = status {
            return flag;
        }
        conn.status = LastStatus::ByDriver;
        if let Err(error) = run_silently(&mut conn.driver, "SHOW WARNINGS LIMIT 0") {
            log::debug!("cannot read the state of a session: {error}");
        }
    }
    last_flag(&conn.driver).unwrap_or(false)
}

/// The flag in the last packet; `None` if that had no flags. The driver (mysql 28) shows the flags only in its
/// debugging text, so they are read while that is written. The text also has the password, so nothing else of it is
/// kept.
fn last_flag(conn: &Conn) -> Option<bool> {
    call_driver(|| {
        let mut seeker = Seeker::default();
        // The seeker takes everything, so this does not fail.
        let _ = write!(seeker, "{conn:?}");
        Ok(seeker.flags)
    })
    .ok()
    .filter(|flags| flags.contains("SERVER_"))
    .map(|flags| flags.split(" | ").any(|f| f == "SERVER_STATUS_IN_TRANS"))
}

/// Text before the flags, which end with a closing bracket. The last packet's flags come before those of the
/// connection.
const FLAGS: &[u8] = b" status_flags: StatusFlags(";

/// Finds the last flags in a text that is written to it.
#[derive(Default)]
struct Seeker {
    /// Number of characters of [`FLAGS`] that have just been seen.
    seen: usize,
    flags: String,
}

impl Seeker {
    fn take(&mut self, c: char) {
        let Some(wanted) = FLAGS.get(self.seen) else {
            return self.keep(c);
        };
        // Two occurrences of FLAGS can only overlap in the first character.
        self.seen = match c {
            _ if c == char::from(*wanted) => self.seen + 1,
            ' ' => 1,
            _ => 0,
        };
        if self.seen == FLAGS.len() {
            self.flags.clear();
        }
    }

    fn keep(&mut self, c: char) {
        if c == ')' || self.flags.len() >= MAX_FLAGS {
            self.seen = 0;
        } else {
            self.flags.push(c);
        }
    }
}

impl Write for Seeker {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().for_each(|c| self.take(c));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_flags_are_found_however_the_text_comes() {
        let text = "Conn { ok: Ok { n: 0, status_flags: StatusFlags(A | B), w: 0 }, pass: \"  status_flags: \", \
            status_flags: StatusFlags(SERVER_STATUS_IN_TRANS | C), x: Y(1) }";
        for size in [1, 3, text.len()] {
            let mut seeker = Seeker::default();
            for part in text.as_bytes().chunks(size) {
                seeker
                    .write_str(std::str::from_utf8(part).unwrap())
                    .unwrap();
            }
            assert_eq!(seeker.flags, "SERVER_STATUS_IN_TRANS | C");
        }
        let mut seeker = Seeker::default();
        write!(seeker, "nothing of the kind").unwrap();
        assert_eq!(seeker.flags, "");
    }
}
