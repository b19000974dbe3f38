//! What a relay of a fleet is started with.

use std::fmt;
use std::net::TcpListener;

use zeroize::Zeroizing;

use super::store::StoreUrl;

/// What a relay of a fleet is started with.
pub struct Options {
    /// Where the state is.
    pub store: StoreUrl,
    /// Of the account there; empty for one without.
    pub password: Zeroizing<String>,
    /// Where the other relays of the fleet link themselves.
    pub peer_listener: TcpListener,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Options({})", self.store)
    }
}
