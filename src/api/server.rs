//! Remote servers and their main tunnels.

use serde::{Deserialize, Serialize};

#[cfg(test)]
use super::connection::error_classes;
use super::connection::{HostKey, Word};

/// A remote server of the user, or one that applications use.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub(crate) struct Server {
    /// Its URL.
    pub(crate) url: String,
    /// Name for the user.
    pub(crate) label: Option<String>,
    /// True if plain `postern start` uses it.
    pub(crate) default: bool,
    /// True if the command line sets it for all applications without a server of their own.
    pub(crate) named: bool,
    /// True if it is in the user's list; others are only in use.
    pub(crate) known: bool,
    /// True if it is the built-in relay, used if no server is given.
    pub(crate) on_this_machine: bool,
    /// True if an enrolment token is stored.
    pub(crate) has_enroll_token: bool,
    /// Status of its main tunnel; before there is one, of its applications. `refused`: it rejects this connector's
    /// credentials; `revoked`: its operator has revoked the connector.
    #[cfg_attr(test, schemars(extend("enum" = ["idle", "connecting", "connected", "failed", "refused", "revoked"])))]
    pub(crate) status: String,
    /// Its main tunnel; null before there is one.
    pub(crate) main_tunnel: Option<MainTunnel>,
    /// Fingerprint of its tunnel server.
    pub(crate) host_key: Option<String>,
    /// Names of the applications that use it, now or at the next connect.
    pub(crate) applications: Vec<String>,
    /// Cause of a failure.
    pub(crate) error: Option<String>,
    /// Hint: what to do if it is refused or revoked; else empty.
    pub(crate) hint: Word,
}

/// A changed host key that is trusted.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Trust {
    /// The tunnel server, `host:port`.
    pub(crate) server: String,
    /// Fingerprint of the offered key.
    pub(crate) fingerprint: String,
}

/// Main tunnel to a remote server.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub(crate) struct MainTunnel {
    /// The remote server's origin.
    pub(crate) server: String,
    /// Its state.
    #[cfg_attr(test, schemars(extend("enum" = ["connecting", "connected", "failed"])))]
    pub(crate) status: Word,
    /// Cause of a failure; empty without one.
    pub(crate) error: String,
    /// Class of that.
    #[cfg_attr(test, schemars(extend("enum" = error_classes())))]
    pub(crate) error_class: Option<Word>,
    /// The refused host key, if it has changed.
    pub(crate) host_key: Option<HostKey>,
    /// Milliseconds until the next try.
    pub(crate) next_retry_ms: Option<u64>,
    /// Port of the local API service.
    pub(crate) local_port: Option<u16>,
    /// Round trip in milliseconds; null while it is not connected.
    pub(crate) latency_ms: Option<f64>,
    /// How the tunnel reaches the relay: its tunnel port, or the URL of its web server. Null while it is not connected.
    #[cfg_attr(test, schemars(extend("enum" = ["port", "url", null])))]
    pub(crate) tunnel_way: Option<Word>,
}
