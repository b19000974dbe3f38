//! A temporary account on a database server: as it is wanted, and as it is.

use std::time::SystemTime;

use super::grant::Grant;
use crate::limits::GUEST_LIFE;
use crate::store::expiry::{Clocks, Expiry};
use crate::store::time::parse_rfc3339;
use crate::sync::Mutex;

/// When a guest's account ends: with what is shared, which ends at `expires` (RFC 3339), or after the usual time.
pub fn guests_end(expires: Option<&str>) -> SystemTime {
    let end = expires.and_then(parse_rfc3339);
    end.unwrap_or_else(|| SystemTime::now() + GUEST_LIFE)
}

/// A temporary account that may read what is listed and nothing else.
#[derive(Clone, Debug)]
pub struct Guest {
    /// Grants; never empty.
    pub grants: Vec<Grant>,
    /// When it ends.
    pub expires: SystemTime,
}

/// Such an account that has been made.
#[derive(Debug)]
pub struct GuestInForce {
    /// Number of tables it may read.
    pub tables: u64,
    /// Number of views it may read. A view shows what its definer may read, whatever else was listed.
    pub views: u64,
    expiry: Mutex<Expiry>,
}

impl GuestInForce {
    /// An account that may read so many tables and views, until `expires`.
    pub fn new(tables: u64, views: u64, expires: SystemTime) -> Self {
        Self {
            tables,
            views,
            expiry: Mutex::new(Expiry::at(expires, Clocks::now())),
        }
    }

    /// When it ends.
    pub fn expires(&self) -> SystemTime {
        self.expiry.lock().wall()
    }

    /// True if its time is over.
    pub fn is_over(&self) -> bool {
        self.expiry.lock().is_over(Clocks::now())
    }

    /// Sets its end.
    pub fn set_end(&self, expires: SystemTime) {
        *self.expiry.lock() = Expiry::at(expires, Clocks::now());
    }
}

/// `2 tables, 1 view; a view shows what its definer may read`.
pub fn tables_and_views(tables: u64, views: u64) -> String {
    let count = |number, word| match number {
        1 => format!("1 {word}"),
        _ => format!("{number} {word}s"),
    };
    let tables = count(tables, "table");
    match views {
        0 => tables,
        _ => format!(
            "{tables}, {}; a view shows what its definer may read",
            count(views, "view")
        ),
    }
}
