//! Write state of a server: a replica does not. That may change at any time, without any connection ending.

use mysql::{Conn, Row};

use super::driver::rows;
use crate::sqlweb::error::DbError;
use crate::sqlweb::gate::Dialect;

/// Server's own variables; `None` where it has no such variable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WriteState {
    /// `@@read_only`: only accounts with a privilege of their own may write.
    pub(crate) read_only: Option<bool>,
    /// `@@super_read_only` (MySQL): nobody may.
    pub(crate) super_read_only: Option<bool>,
    /// `@@innodb_read_only`: nobody can, such as on a reader of a cloud's cluster.
    pub(crate) innodb_read_only: Option<bool>,
}

impl WriteState {
    /// True if the server refuses to write for the usual account.
    pub(crate) fn is_replica(self) -> bool {
        [self.read_only, self.super_read_only, self.innodb_read_only].contains(&Some(true))
    }

    /// Reads the answer to a [`question`].
    pub(super) fn read(answer: &str) -> Self {
        let mut values = answer.split('/').map(|value| match value {
            "" => None,
            "0" | "OFF" => Some(false),
            // Newer servers have more values than ON.
            _ => Some(true),
        });
        let mut next = || values.next().flatten();
        Self {
            read_only: next(),
            super_read_only: next(),
            innodb_read_only: next(),
        }
    }
}

/// Questions that return the three values in one text, as far as servers have them.
const QUESTIONS: [&str; 3] = [
    "CONCAT(@@global.read_only, '/', @@global.super_read_only, '/', @@global.innodb_read_only)",
    "CONCAT(@@global.read_only, '//', @@global.innodb_read_only)",
    "CONCAT(@@global.read_only, '//')",
];

/// The expression that this server answers, to be put into a `SELECT`.
pub(super) fn question(
    conn: &mut Conn,
    dialect: &Dialect,
) -> Result<Option<&'static str>, DbError> {
    let skipped = usize::from(dialect.mariadb);
    for question in QUESTIONS.into_iter().skip(skipped) {
        match rows(conn, &format!("SELECT {question}")) {
            Err(error) if error.leaves_connection_usable() => {}
            answer => return answer.map(|_| Some(question)),
        }
    }
    Ok(None)
}

/// The answer in that column of a row.
pub(super) fn in_column(row: Option<&Row>, column: usize) -> Option<WriteState> {
    let answer = row?.get_opt::<String, _>(column)?.ok()?;
    Some(WriteState::read(&answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_servers_say_is_read() {
        let read = WriteState::read;
        assert!(!read("0/0/0").is_replica());
        assert!(!read("0//0").is_replica() && !read("OFF//").is_replica());
        assert!(read("1/0/0").is_replica() && read("0/0/1").is_replica());
        assert!(read("NO_LOCK//0").is_replica());
        let mariadb = read("1//0");
        assert_eq!(
            (
                mariadb.read_only,
                mariadb.super_read_only,
                mariadb.innodb_read_only
            ),
            (Some(true), None, Some(false))
        );
    }
}
