//! Offers and limits of one end of a connection.

use std::time::Duration;

use super::cipher::Cipher;
use super::hostkey::HostKeyAlgorithm;
use super::limits::{self, ChannelLimits};

/// Offers and limits of one end; `Config::default()` is what the program uses.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// Ciphers, the preferred first. Default: all, by what the machine is fast at.
    pub ciphers: Vec<Cipher>,
    /// Host key algorithms that a client takes, the preferred first. Default: all. Put the
    /// kind of a known key first, so that a server with several keys shows that one.
    pub host_keys: Vec<HostKeyAlgorithm>,
    /// Bytes sent or received under one set of keys before a re-key. Default 1 GiB.
    pub rekey_bytes: u64,
    /// Time under one set of keys before a re-key. Default 1 h; seen at the next
    /// [`Session::tick`](super::Session::tick).
    pub rekey_time: Duration,
    /// Limits of the channels.
    pub channels: ChannelLimits,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            ciphers: Cipher::preferred(),
            host_keys: HostKeyAlgorithm::ALL.to_vec(),
            rekey_bytes: limits::REKEY_BYTES,
            rekey_time: limits::REKEY_TIME,
            channels: ChannelLimits::default(),
        }
    }
}
