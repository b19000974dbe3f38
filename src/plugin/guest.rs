//! A temporary account on a database server: as it is wanted, and as it is.

use std::time::{Duration, SystemTime};

use super::grant::Grant;
use crate::store::expiry::{Clocks, Expiry};
use crate::sync::Mutex;

/// How long a guest's account lives where nothing is said.
pub const GUESTS_LIFE: Duration = Duration::from_secs(8 * 3600);

/// A temporary account that may read what is listed and nothing else.
#[derive(Clone, Debug)]
pub struct Guest {
    /// What it may read; never empty.
    pub grants: Vec<Grant>,
    /// When it ends.
    pub expires: SystemTime,
}

/// Such an account that has been made.
#[derive(Debug)]
pub struct GuestInForce {
    /// How many tables it was let read.
    pub tables: usize,
    /// How many views. One shows what its definer may read, whatever else was listed.
    pub views: usize,
    expiry: Mutex<Expiry>,
}

impl GuestInForce {
    /// One that may read so many tables and views, until `expires`.
    pub fn new((tables, views): (usize, usize), expires: SystemTime) -> Self {
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

    /// Whether its time is over.
    pub fn is_over(&self) -> bool {
        self.expiry.lock().is_over(Clocks::now())
    }

    /// It ends then and not when it was to.
    pub fn ends_at(&self, expires: SystemTime) {
        *self.expiry.lock() = Expiry::at(expires, Clocks::now());
    }
}
