//! State of a session as each answer has it: the status flags of its OK and EOF packets.

use std::fmt::{self, Write};

use mysql::Conn;
use mysql::consts::StatusFlags;

use super::db_conn::DbConn;
use super::driver::{call_driver, run_silently};
use super::wire::LastStatus;

/// Longest list of flags that is read, in bytes; all sixteen by name are 500.
const MAX_FLAGS: usize = 1024;

/// Maximum number of questions where the driver has forgotten: a late `KILL QUERY` may hit the first question.
const QUESTIONS: usize = 2;

/// True if `conn` is in a transaction (`SERVER_STATUS_IN_TRANS`), also one that `autocommit=0` began. An ERR packet has no
/// flags, so after one the server is asked, by a statement that leaves its warnings as they are. False where the
/// connection is lost, and the transaction with it.
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

/// The flag in the last packet; `None` where it had no flags. The driver (mysql 28) keeps the flags and shows them in its
/// debugging text alone, so they are read there while it is written: of the text, which has the password too, nothing else
/// is kept.
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

/// How the flags begin; they end with a closing bracket. The last packet has its own before those of the connection.
const FLAGS: &[u8] = b" status_flags: StatusFlags(";

/// Finds the last flags in a text that is written to it.
#[derive(Default)]
struct Seeker {
    /// How much of [`FLAGS`] has just been seen.
    seen: usize,
    flags: String,
}

impl Seeker {
    fn take(&mut self, c: char) {
        let Some(wanted) = FLAGS.get(self.seen) else {
            return self.keep(c);
        };
        // No two beginnings of it overlap but by the first character.
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
