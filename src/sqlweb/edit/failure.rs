//! How an edit may fail, and how that is told.

use serde_json::{Value, json};

use crate::http::ApiError;
use crate::sqlweb::api::api_error;
use crate::sqlweb::error::{DbError, StopCause};

/// Seconds that is waited for a row or a table that another transaction has locked.
pub(super) const LOCK_WAIT: u32 = 5;

/// `ER_LOCK_WAIT_TIMEOUT`.
const LOCK_WAIT_TIMEOUT: u16 = 1205;
/// `ER_LOCK_DEADLOCK`.
const DEADLOCK: u16 = 1213;

/// Cause of a failure.
pub(super) enum Trouble {
    /// The request cannot be done, with its status.
    Request(u16, String),
    /// The row is another one than was shown: as it is now, or gone, and the columns that differ.
    Changed(Option<(Value, Value)>, Vec<String>),
    /// The database refused, or cannot be reached.
    Db(DbError),
    /// The connection was lost when what was written was to become final.
    Unknown(DbError),
}

/// Failure, and the change that caused it.
pub(super) struct Failure {
    pub(super) trouble: Box<Trouble>,
    /// Which change, where it is one, with its row in words.
    pub(super) at: Option<(usize, String)>,
    /// Changes that stay in effect.
    pub(super) applied: usize,
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Self {
        Self {
            trouble: Box::new(trouble),
            at: None,
            applied: 0,
        }
    }
}

impl From<DbError> for Failure {
    fn from(error: DbError) -> Self {
        Trouble::Db(error).into()
    }
}

impl Failure {
    /// A request that cannot be done.
    pub(super) fn request(what: impl Into<String>) -> Self {
        Trouble::Request(400, what.into()).into()
    }

    /// The database's own error, where it is one.
    pub(super) fn db_error(&self) -> Option<&DbError> {
        match &*self.trouble {
            Trouble::Db(error) | Trouble::Unknown(error) => Some(error),
            Trouble::Request(..) | Trouble::Changed(..) => None,
        }
    }

    /// How the connection was left.
    pub(super) fn of_connection(self) -> Result<(), DbError> {
        match *self.trouble {
            Trouble::Db(error) | Trouble::Unknown(error) => Err(error),
            Trouble::Request(..) | Trouble::Changed(..) => Ok(()),
        }
    }

    /// As the API tells it.
    pub(super) fn told(&self) -> ApiError {
        let row = self.at.as_ref().map_or("", |(_, row)| row.as_str());
        let (status, kind, what) = self.trouble.sentence(row);
        let mut told = match self.db_error() {
            Some(error) => api_error(error),
            None => ApiError::new(status, ""),
        };
        told.status = status;
        told.message = format!("{what}; {}", self.outcome());
        let server = told.extra.remove("error");
        let mut error = server.unwrap_or_else(|| json!({}));
        let members = error.as_object_mut().expect("it was made as an object");
        members.insert("kind".into(), json!(kind));
        if let Some((change, _)) = &self.at {
            members.insert("change".into(), json!(change));
        }
        if let Trouble::Changed(row, columns) = &*self.trouble {
            let (row, moments) = row.clone().unwrap_or_default();
            members.insert("row".into(), row);
            if !moments.is_null() {
                members.insert("moments".into(), moments);
            }
            members.insert("columns".into(), json!(columns));
        }
        told.with("error", error).with("applied", self.applied)
    }

    /// Tells what has become of the changes.
    fn outcome(&self) -> String {
        match (&*self.trouble, self.applied) {
            (Trouble::Unknown(_), _) => {
                "it is unknown whether it was written, and nothing is retried: check the rows"
                    .into()
            }
            (_, 0) => "nothing was written".into(),
            (_, n) => format!(
                "the changes before it are written ({n}), because the table's engine cannot roll back"
            ),
        }
    }
}

impl Trouble {
    /// Status, kind and what happened to `row`.
    fn sentence(&self, row: &str) -> (u16, &'static str, String) {
        match self {
            Self::Request(status, what) => (*status, "request", with_row(row, what)),
            Self::Changed(None, _) => (
                409,
                "changed",
                with_row(row, "the row was deleted, or has a new key"),
            ),
            Self::Changed(Some(_), columns) => {
                let what = format!("the row was changed meanwhile ({})", columns.join(", "));
                (409, "changed", with_row(row, &what))
            }
            Self::Db(error) => of_database(error, row),
            Self::Unknown(error) => (502, "unknown", in_words(error)),
        }
    }
}

fn with_row(row: &str, what: &str) -> String {
    if row.is_empty() {
        what.to_owned()
    } else {
        format!("{row}: {what}")
    }
}

/// Without what is said of a statement alone: whether it took effect is known here.
fn in_words(error: &DbError) -> String {
    match (error, error.hint()) {
        (DbError::Lost(why) | DbError::LostWith { why, .. }, _) => {
            format!("the database connection was lost: {why}")
        }
        (_, Some(hint)) => format!("{error} ({hint})"),
        (_, None) => error.to_string(),
    }
}

fn of_database(error: &DbError, row: &str) -> (u16, &'static str, String) {
    let what = in_words(error);
    match (error, error.server_error().map(|error| error.code)) {
        (_, Some(LOCK_WAIT_TIMEOUT)) => {
            let what = format!(
                "another transaction has kept it locked for {LOCK_WAIT} s: wait for it, or find it in the process \
                 list, and apply again"
            );
            (409, "locked", with_row(row, &what))
        }
        (_, Some(DEADLOCK)) => {
            let what =
                "deadlock with another transaction, so the server ended this one: apply again";
            (409, "deadlock", with_row(row, what))
        }
        (DbError::Stopped(StopCause::Cancelled), _) => {
            (400, "stopped", "the edit was cancelled".into())
        }
        (DbError::Stopped(_), _) => (error.status(), "stopped", what),
        // ER_BAD_DB_ERROR, ER_NO_SUCH_TABLE, ER_WRONG_DB_NAME, ER_WRONG_TABLE_NAME
        (_, Some(1049 | 1146 | 1102 | 1103)) => (404, "server", what),
        // ER_DBACCESS_DENIED_ERROR, ER_TABLEACCESS_DENIED_ERROR, ER_COLUMNACCESS_DENIED_ERROR
        (_, Some(1044 | 1142 | 1143)) => (403, "server", with_row(row, &what)),
        _ => (error.status(), "server", with_row(row, &what)),
    }
}
