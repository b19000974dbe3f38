//! Errors of the per-user directory.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fmt, io};

use crate::net::in_words;

/// Number of failures, without searches for a missing file.
static ERRORS: AtomicU64 = AtomicU64::new(0);

/// A failure of the per-user directory or a file in it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// No variable and no account entry tells the place of the directory.
    NoHome,
    /// A system call on `path` failed.
    Io {
        /// Action, as a verb: `create`, `read`, `write`, `lock`.
        action: &'static str,
        /// Directory or file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A file or directory belongs to another user or can be changed by one, or is of the wrong kind.
    NotPrivate {
        /// Directory or file.
        path: PathBuf,
        /// Reason.
        reason: &'static str,
    },
    /// Another user may know or change the key of the sealed files.
    ForeignKey {
        /// The key's file.
        path: PathBuf,
        /// Reason.
        reason: &'static str,
    },
    /// The file is larger than anything written here.
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The cap, in bytes.
        cap: u64,
    },
    /// The content of the file is invalid.
    Damaged {
        /// The file.
        path: PathBuf,
        /// Reason.
        reason: String,
    },
    /// A newer version of the program has written the file.
    Newer {
        /// The file.
        path: PathBuf,
        /// The version of its format.
        version: u8,
    },
    /// Another process has held the lock for longer than a write takes.
    Busy {
        /// The lock file.
        path: PathBuf,
    },
}

impl Error {
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| {
            count_error();
            Self::Io {
                action,
                path: path.to_owned(),
                source,
            }
        }
    }

    /// Hint for the user.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoHome => "set HOME, or POSTERN_HOME to a directory of yours",
            Self::Io { .. } => {
                "check its owner, permissions and free space, or set POSTERN_HOME to another directory"
            }
            Self::NotPrivate { .. } => {
                "fix that, or set POSTERN_HOME to a directory that only you can write to"
            }
            Self::ForeignKey { .. } => {
                "run postern as its owner, or make it yours ('chown') and its directory writable only by you ('chmod go-w')"
            }
            Self::TooLarge { .. } | Self::Damaged { .. } => "move the file away",
            Self::Newer { .. } => "use that newer version, or move the file away",
            Self::Busy { .. } => "stop the other postern process, or try again",
        }
    }
}

/// Counts an error for [`errors`].
pub(super) fn count_error() {
    ERRORS.fetch_add(1, Ordering::Relaxed);
}

/// Number of failures to use a file of the per-user directory since the process began.
pub fn errors() -> u64 {
    ERRORS.load(Ordering::Relaxed)
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHome => write!(f, "cannot find your home directory"),
            Self::Io {
                action,
                path,
                source,
            } => write!(
                f,
                "cannot {action} {}: {}",
                path.display(),
                in_words(source)
            ),
            Self::NotPrivate { path, reason } => {
                write!(f, "will not use {}: {reason}", path.display())
            }
            Self::ForeignKey { path, reason } => {
                write!(f, "will not use the key {}: {reason}", path.display())
            }
            Self::TooLarge { path, cap } => {
                write!(f, "{} is larger than {cap} bytes", path.display())
            }
            Self::Damaged { path, reason } => {
                write!(f, "{} is damaged: {reason}", path.display())
            }
            Self::Newer { path, version } => {
                let path = path.display();
                write!(
                    f,
                    "{path} was written by a newer version of postern (format {version})"
                )
            }
            Self::Busy { path } => {
                write!(f, "another process holds {}", path.display())
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
