//! Settings of a server.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use super::policy::Policy;
use super::users::Users;
use crate::tunnel::client::KEEPALIVE;
use crate::tunnel::ssh::{self, ServerKey};
use crate::tunnel::ws::AcceptOptions;

/// Open files of the rest of the program. Default 128: logs, the standard streams, what it reads.
const RESERVED_FILES: usize = 128;
/// Time from the WebSocket to a login. Default 30 s.
pub const LOGIN_WITHIN: Duration = crate::limits::LOGIN_WITHIN;
/// Time from the login to the configuration. Default 10 s, as a chisel server has it.
pub const CONFIG_WITHIN: Duration = crate::limits::CONFIG_WITHIN;

/// Settings of a server.
#[non_exhaustive]
pub struct Settings {
    /// Where clients come in; none if only other listeners take them.
    pub listener: Option<TcpListener>,
    /// The host keys, one of each kind at most.
    pub keys: Arc<[ServerKey]>,
    /// Policy: who may log in, and to what.
    pub policy: Box<dyn Policy>,
    /// The pause between keep-alive requests; none for no keep-alive.
    pub keepalive: Option<Duration>,
    /// How connections are taken.
    pub accept: AcceptOptions,
    /// How long a client may take.
    pub timeouts: Timeouts,
    /// Offers and limits of the protocol.
    pub ssh: ssh::Config,
    /// Open files that the rest of the program may need: caps on clients and visitors leave them.
    pub reserved_files: usize,
}

/// How long a client may take to be ready.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Timeouts {
    /// From the WebSocket to a login. Default [`LOGIN_WITHIN`].
    pub login: Duration,
    /// From the login to the configuration. Default [`CONFIG_WITHIN`].
    pub config: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            login: LOGIN_WITHIN,
            config: CONFIG_WITHIN,
        }
    }
}

impl Settings {
    /// A server for everybody.
    pub fn new(listener: impl Into<Option<TcpListener>>, keys: Arc<[ServerKey]>) -> Self {
        Self {
            listener: listener.into(),
            keys,
            policy: Box::new(Users::default()),
            keepalive: Some(KEEPALIVE),
            accept: AcceptOptions::default(),
            timeouts: Timeouts::default(),
            ssh: ssh::Config::default(),
            reserved_files: RESERVED_FILES,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_thirty_seconds_to_log_in_and_ten_to_configure() {
        let timeouts = Timeouts::default();
        assert_eq!(timeouts.login, Duration::from_secs(30));
        assert_eq!(timeouts.config, Duration::from_secs(10));
    }
}
