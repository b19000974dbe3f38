//! Remote servers and their main tunnels.

use serde::{Deserialize, Serialize};

use super::connection::{HostKey, Word};

/// A remote server that the user knows or an application uses.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) label: Option<String>,
    pub(crate) default: bool,
    /// True if the command line of `postern start` gives it.
    pub(crate) named: bool,
    /// True if it is in the list.
    pub(crate) known: bool,
    pub(crate) on_this_machine: bool,
    pub(crate) has_enroll_token: bool,
    pub(crate) status: String,
    pub(crate) main_tunnel: Option<MainTunnel>,
    /// The fingerprint of the host key that its tunnel server is known by.
    pub(crate) host_key: Option<String>,
    /// Names of the applications that use it.
    pub(crate) applications: Vec<String>,
    pub(crate) error: Option<String>,
    /// Hint for errors that retrying does not fix; else empty.
    pub(crate) hint: Word,
}

/// A main tunnel that was set up.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct MainTunnel {
    /// The remote server's origin.
    pub(crate) server: String,
    pub(crate) status: Word,
    pub(crate) error: String,
    pub(crate) error_class: Option<Word>,
    pub(crate) host_key: Option<HostKey>,
    pub(crate) next_retry_ms: Option<u64>,
    /// The port of the local API service.
    pub(crate) local_port: Option<u16>,
    pub(crate) latency_ms: Option<f64>,
    /// `port` or `url`.
    pub(crate) tunnel_way: Option<Word>,
}
