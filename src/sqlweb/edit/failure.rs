//! Failures of an edit, and their answers.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::http::Failed;
use crate::sqlweb::error::{ApiError, DbError, Details, ServerError, StopCause};
#[cfg(test)]
use crate::sqlweb::results::{JsonRow, JsonRowOrNull};

/// Seconds to wait for a row or a table that another transaction has locked.
pub(super) const LOCK_WAIT: u32 = 5;

/// `ER_LOCK_WAIT_TIMEOUT`.
const LOCK_WAIT_TIMEOUT: u16 = 1205;
/// `ER_LOCK_DEADLOCK`.
const DEADLOCK: u16 = 1213;

/// A failed edit.
pub(crate) type EditFailed = Failed<Details<EditError>>;

/// Cause of a failed edit.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(crate) struct EditError {
    /// Index of the change, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<usize>,
    /// Of `changed`: the columns that differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    columns: Option<Vec<String>>,
    /// Its kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<EditErrorKind>,
    /// Of `changed`: UNIX_TIMESTAMP() of its TIMESTAMP columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "JsonRow"))]
    moments: Option<Value>,
    /// Of `changed`: the current row; null if deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "JsonRowOrNull"))]
    row: Option<Value>,
    #[serde(flatten)]
    server: Option<ServerError>,
}

/// Kind of the cause of a failed edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
enum EditErrorKind {
    /// A change is invalid.
    Request,
    /// Its row is no longer as it was shown.
    Changed,
    /// Another transaction has locked its row.
    Locked,
    /// Two transactions waited for each other.
    Deadlock,
    /// It was cancelled, or ran too long.
    Stopped,
    /// The server refused it.
    Server,
    /// The connection was lost before the result arrived.
    Unknown,
}

impl EditError {
    /// Error for an invalid change of a request.
    pub(crate) fn of_request(change: usize) -> Self {
        Self {
            change: Some(change),
            kind: Some(EditErrorKind::Request),
            ..Self::default()
        }
    }
}

impl From<ApiError> for EditFailed {
    fn from(error: ApiError) -> Self {
        let of_server = |server| EditError {
            server: Some(server),
            ..EditError::default()
        };
        error.map(|members| Details {
            applied: members.applied,
            error: members.error.map(of_server),
            in_transaction: members.in_transaction,
            layer: members.layer,
            offset: members.offset,
            statement: members.statement,
        })
    }
}

/// Cause of a failure.
pub(super) enum FailureCause {
    /// An invalid request, with its status.
    Request(u16, String),
    /// The row differs from the shown one: the current row, or `None` if it was deleted, and the columns that differ.
    Changed(Option<(Value, Value)>, Vec<String>),
    /// The database refused, or cannot be reached.
    Db(DbError),
    /// The connection was lost while the changes became final.
    Unknown(DbError),
}

/// Failure, and the change that caused it.
pub(super) struct ChangeFailure {
    pub(super) trouble: Box<FailureCause>,
    /// Index of the change that failed, if one did, and its row in words.
    pub(super) at: Option<(usize, String)>,
    /// Changes that stay in effect.
    pub(super) applied: usize,
}

impl From<FailureCause> for ChangeFailure {
    fn from(trouble: FailureCause) -> Self {
        Self {
            trouble: Box::new(trouble),
            at: None,
            applied: 0,
        }
    }
}

impl From<DbError> for ChangeFailure {
    fn from(error: DbError) -> Self {
        FailureCause::Db(error).into()
    }
}

impl ChangeFailure {
    /// Failure of an invalid request.
    pub(super) fn request(what: impl Into<String>) -> Self {
        FailureCause::Request(400, what.into()).into()
    }

    /// The database's own error, if any.
    pub(super) fn db_error(&self) -> Option<&DbError> {
        match &*self.trouble {
            FailureCause::Db(error) | FailureCause::Unknown(error) => Some(error),
            FailureCause::Request(..) | FailureCause::Changed(..) => None,
        }
    }

    /// State of the connection after the failure.
    pub(super) fn of_connection(self) -> Result<(), DbError> {
        match *self.trouble {
            FailureCause::Db(error) | FailureCause::Unknown(error) => Err(error),
            FailureCause::Request(..) | FailureCause::Changed(..) => Ok(()),
        }
    }

    /// The answer of the API.
    pub(super) fn to_answer(&self) -> EditFailed {
        let row = self.at.as_ref().map_or("", |(_, row)| row.as_str());
        let (status, kind, what) = self.trouble.sentence(row);
        let mut answer = match self.db_error() {
            Some(error) => ApiError::from(error).into(),
            None => EditFailed::new(status, ""),
        };
        answer.status = status;
        answer.message = format!("{what}; {}", self.outcome());
        answer.extra.applied = Some(self.applied);
        let error = answer.extra.error.get_or_insert_default();
        error.kind = Some(kind);
        error.change = self.at.as_ref().map(|(change, _)| *change);
        if let FailureCause::Changed(row, columns) = &*self.trouble {
            let (row, moments) = row.clone().unwrap_or_default();
            error.row = Some(row);
            error.moments = Some(moments).filter(|moments| !moments.is_null());
            error.columns = Some(columns.clone());
        }
        answer
    }

    /// Describes the fate of the changes.
    fn outcome(&self) -> String {
        match (&*self.trouble, self.applied) {
            (FailureCause::Unknown(_), _) => {
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

impl FailureCause {
    /// Status, kind, and a sentence about `row`.
    fn sentence(&self, row: &str) -> (u16, EditErrorKind, String) {
        match self {
            Self::Request(status, what) => (*status, EditErrorKind::Request, with_row(row, what)),
            Self::Changed(None, _) => (
                409,
                EditErrorKind::Changed,
                with_row(row, "the row was deleted, or has a new key"),
            ),
            Self::Changed(Some(_), columns) => {
                let what = format!("the row was changed meanwhile ({})", columns.join(", "));
                (409, EditErrorKind::Changed, with_row(row, &what))
            }
            Self::Db(error) => of_database(error, row),
            Self::Unknown(error) => (502, EditErrorKind::Unknown, in_words(error)),
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

/// Describes an error without the advice to check the statement's effect, which is known here.
fn in_words(error: &DbError) -> String {
    match (error, error.hint()) {
        (DbError::Lost(why) | DbError::LostWith { why, .. }, _) => {
            format!("the database connection was lost: {why}")
        }
        (_, Some(hint)) => format!("{error} ({hint})"),
        (_, None) => error.to_string(),
    }
}

fn of_database(error: &DbError, row: &str) -> (u16, EditErrorKind, String) {
    let what = in_words(error);
    match (error, error.server_error().map(|error| error.code)) {
        (_, Some(LOCK_WAIT_TIMEOUT)) => {
            let what = format!(
                "another transaction has kept it locked for {LOCK_WAIT} s: wait for it, or find it in the process \
                 list, and apply again"
            );
            (409, EditErrorKind::Locked, with_row(row, &what))
        }
        (_, Some(DEADLOCK)) => {
            let what =
                "deadlock with another transaction, so the server ended this one: apply again";
            (409, EditErrorKind::Deadlock, with_row(row, what))
        }
        (DbError::Stopped(StopCause::Cancelled), _) => {
            (400, EditErrorKind::Stopped, "the edit was cancelled".into())
        }
        (DbError::Stopped(_), _) => (error.status(), EditErrorKind::Stopped, what),
        // ER_BAD_DB_ERROR, ER_NO_SUCH_TABLE, ER_WRONG_DB_NAME, ER_WRONG_TABLE_NAME
        (_, Some(1049 | 1146 | 1102 | 1103)) => (404, EditErrorKind::Server, what),
        // ER_DBACCESS_DENIED_ERROR, ER_TABLEACCESS_DENIED_ERROR, ER_COLUMNACCESS_DENIED_ERROR
        (_, Some(1044 | 1142 | 1143)) => (403, EditErrorKind::Server, with_row(row, &what)),
        _ => (error.status(), EditErrorKind::Server, with_row(row, &what)),
    }
}
