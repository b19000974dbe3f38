//! Settings of a relay of a fleet.

use std::fmt;
use std::net::TcpListener;

use super::store::{StorePassword, StoreUrl};

/// Settings of a relay of a fleet.
pub struct Options {
    /// Where the state is.
    pub store: StoreUrl,
    /// Of the account there.
    pub password: StorePassword,
    /// Where the other relays of the fleet link themselves.
    pub peer_listener: TcpListener,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Options({})", self.store)
    }
}
