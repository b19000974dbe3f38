//! For whom, for how long and how an application is shared: the settings that a PUT keeps when they are left out.

use serde::{Deserialize, Serialize};

use crate::gateway::VISITORS_HOST;

/// How an application is shared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sharing {
    /// The `Host` that the application gets, and for TLS its name: `visitor`, `target`, or a name with an optional
    /// port, and a scheme where the application is to hear another than it speaks.
    pub host_header: String,
    /// The networks that visitors may come from (RFC 4632); empty lets everybody in.
    pub allow: Vec<String>,
    /// When it ends by itself, RFC 3339 in UTC.
    pub expires: Option<String>,
    /// The path of a web site that its links open; none for its first page.
    pub path: Option<String>,
    /// The heading that it stands under.
    pub group: Option<String>,
    /// Visitors' streams at once; without it the tunnel's own cap.
    pub max_streams: Option<u32>,
    /// True if requests and statements are kept in files.
    pub audit: bool,
    /// True if the statement log holds texts.
    pub record_sql: bool,
    /// Grants of a guest account of the database; empty for none.
    pub guest: Vec<String>,
}

impl Default for Sharing {
    fn default() -> Self {
        Self {
            host_header: VISITORS_HOST.to_owned(),
            allow: Vec::new(),
            expires: None,
            path: None,
            group: None,
            max_streams: None,
            audit: false,
            record_sql: false,
            guest: Vec::new(),
        }
    }
}

impl Sharing {
    /// Settings that a connection uses, without those that apply at once and those only the user sees.
    pub(super) fn in_force(&self) -> Self {
        Self {
            allow: Vec::new(),
            expires: None,
            group: None,
            ..self.clone()
        }
    }
}

/// Change of a setting.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Given<T> {
    /// It was left out.
    #[default]
    Keep,
    /// It was sent as null.
    Clear,
    /// It was sent.
    Set(T),
}

impl<T> Given<T> {
    fn over(self, old: T, cleared: T) -> T {
        match self {
            Self::Keep => old,
            Self::Clear => cleared,
            Self::Set(value) => value,
        }
    }
}

/// The settings of one body.
#[derive(Debug, Default)]
pub(super) struct SharingInput {
    pub(super) host_header: Given<String>,
    pub(super) allow: Given<Vec<String>>,
    pub(super) expires: Given<String>,
    pub(super) path: Given<String>,
    pub(super) group: Given<String>,
    pub(super) max_streams: Given<u32>,
    pub(super) audit: Given<bool>,
    pub(super) record_sql: Given<bool>,
    pub(super) guest: Given<Vec<String>>,
}

impl SharingInput {
    /// In place of `old`.
    pub(super) fn over(self, old: Sharing) -> Sharing {
        let none = Sharing::default();
        let some = |given: Given<String>, old: Option<String>| match given {
            Given::Keep => old,
            Given::Clear => None,
            Given::Set(value) => Some(value),
        };
        Sharing {
            host_header: self.host_header.over(old.host_header, none.host_header),
            allow: self.allow.over(old.allow, none.allow),
            expires: some(self.expires, old.expires),
            path: some(self.path, old.path),
            group: some(self.group, old.group),
            max_streams: match self.max_streams {
                Given::Keep => old.max_streams,
                Given::Clear => None,
                Given::Set(streams) => Some(streams),
            },
            audit: self.audit.over(old.audit, none.audit),
            record_sql: self.record_sql.over(old.record_sql, none.record_sql),
            guest: self.guest.over(old.guest, none.guest),
        }
    }
}
