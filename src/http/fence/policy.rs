//! Who may ask: Host, Origin and Sec-Fetch.

use std::fmt;

/// The names a server is served under. Clones share one list, changeable at run time.
#[derive(Debug, Clone, Default)]
pub struct HostPolicy {}

/// A host name that cannot be allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidHost(String);

impl fmt::Display for InvalidHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a host name or HOST:PORT: {:?}", self.0)
    }
}

impl std::error::Error for InvalidHost {}

impl HostPolicy {
    /// `127.0.0.1`, `localhost` and `[::1]` with the server's own port.
    pub fn loopback() -> HostPolicy {
        HostPolicy {}
    }

    /// Also serve `HOST` (any port) or `HOST:PORT`.
    pub fn allow(&self, _host: &str) -> Result<(), InvalidHost> {
        Ok(())
    }

    /// No longer serve it.
    pub fn disallow(&self, _host: &str) {}
}
