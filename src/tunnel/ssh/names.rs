//! The protocol's numbers and names, each with its source, and the types that name channels, requests and ends.

use std::fmt;

/// Message numbers (RFC 4250 §4.1.2; 7: RFC 8308 §2.3; 30, 31: RFC 8731 §3 by RFC 5656 §7.1).
pub(super) mod msg {
    pub(in super::super) const DISCONNECT: u8 = 1;
    pub(in super::super) const IGNORE: u8 = 2;
    pub(in super::super) const UNIMPLEMENTED: u8 = 3;
    pub(in super::super) const DEBUG: u8 = 4;
    pub(in super::super) const SERVICE_REQUEST: u8 = 5;
    pub(in super::super) const SERVICE_ACCEPT: u8 = 6;
    pub(in super::super) const EXT_INFO: u8 = 7;
    pub(in super::super) const KEXINIT: u8 = 20;
    pub(in super::super) const NEWKEYS: u8 = 21;
    pub(in super::super) const ECDH_INIT: u8 = 30;
    pub(in super::super) const ECDH_REPLY: u8 = 31;
    pub(in super::super) const USERAUTH_REQUEST: u8 = 50;
    pub(in super::super) const USERAUTH_FAILURE: u8 = 51;
    pub(in super::super) const USERAUTH_SUCCESS: u8 = 52;
    pub(in super::super) const USERAUTH_BANNER: u8 = 53;
    pub(in super::super) const USERAUTH_PASSWD_CHANGEREQ: u8 = 60;
    pub(in super::super) const GLOBAL_REQUEST: u8 = 80;
    pub(in super::super) const REQUEST_SUCCESS: u8 = 81;
    pub(in super::super) const REQUEST_FAILURE: u8 = 82;
    pub(in super::super) const CHANNEL_OPEN: u8 = 90;
    pub(in super::super) const CHANNEL_OPEN_CONFIRMATION: u8 = 91;
    pub(in super::super) const CHANNEL_OPEN_FAILURE: u8 = 92;
    pub(in super::super) const CHANNEL_WINDOW_ADJUST: u8 = 93;
    pub(in super::super) const CHANNEL_DATA: u8 = 94;
    pub(in super::super) const CHANNEL_EXTENDED_DATA: u8 = 95;
    pub(in super::super) const CHANNEL_EOF: u8 = 96;
    pub(in super::super) const CHANNEL_CLOSE: u8 = 97;
    pub(in super::super) const CHANNEL_REQUEST: u8 = 98;
    pub(in super::super) const CHANNEL_SUCCESS: u8 = 99;
    pub(in super::super) const CHANNEL_FAILURE: u8 = 100;
}

/// Identification strings (RFC 4253 §4.2) as a chisel-v3 peer sends them.
pub(super) const CLIENT_IDENT: &str = "SSH-chisel-v3-client";
/// See [`CLIENT_IDENT`].
pub(super) const SERVER_IDENT: &str = "SSH-chisel-v3-server";

/// RFC 8731 §4.
pub(super) const KEX: [&str; 2] = ["curve25519-sha256", "curve25519-sha256@libssh.org"];
/// Strict key exchange (OpenSSH PROTOCOL §1.10), offered by a client.
pub(super) const STRICT_CLIENT: &str = "kex-strict-c-v00@openssh.com";
/// Strict key exchange, offered by a server.
pub(super) const STRICT_SERVER: &str = "kex-strict-s-v00@openssh.com";

/// OpenSSH PROTOCOL §1.6, the packet format of RFC 5647.
pub(super) const AES128_GCM: &str = "aes128-gcm@openssh.com";
/// See [`AES128_GCM`].
pub(super) const AES256_GCM: &str = "aes256-gcm@openssh.com";
/// OpenSSH PROTOCOL.chacha20poly1305.
pub(super) const CHACHA20_POLY1305: &str = "chacha20-poly1305@openssh.com";

/// RFC 6668 §2. Every cipher above brings its own tag, so none of these is ever used; peers
/// that compare the lists all the same (RFC 4253 §7.1) want to find something common.
pub(super) const MACS: [&str; 2] = ["hmac-sha2-256", "hmac-sha2-512"];
/// RFC 4253 §6.2.
pub(super) const NO_COMPRESSION: &str = "none";

/// RFC 5656 §6.2.
pub(super) const ECDSA_P256: &str = "ecdsa-sha2-nistp256";
/// The curve's own name (RFC 5656 §10.1).
pub(super) const NISTP256: &str = "nistp256";
/// RFC 8709 §4.
pub(super) const ED25519: &str = "ssh-ed25519";
/// The key format of both RSA algorithms (RFC 8332 §3).
pub(super) const RSA_KEY: &str = "ssh-rsa";
/// RFC 8332 §3.
pub(super) const RSA_SHA256: &str = "rsa-sha2-256";
/// RFC 8332 §3.
pub(super) const RSA_SHA512: &str = "rsa-sha2-512";

/// RFC 4252 §4.
pub(super) const USERAUTH_SERVICE: &str = "ssh-userauth";
/// RFC 4254 §1.
pub(super) const CONNECTION_SERVICE: &str = "ssh-connection";
/// RFC 4252 §8.
pub(super) const PASSWORD: &str = "password";
/// RFC 4252 §5.2.
pub(super) const NONE: &str = "none";

/// A channel, by this side's number. Numbers are not used again within 2^32 channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChannelId(pub(super) u32);

impl fmt::Display for ChannelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "channel {}", self.0)
    }
}

/// A global request that awaits its reply, the peer's or this side's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(pub(super) u64);

/// One end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Client,
    Server,
}

impl Role {
    /// The other end.
    pub(super) fn peer(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }

    /// The identification that this end sends (RFC 4253 §4.2).
    pub(super) fn ident(self) -> &'static str {
        match self {
            Self::Client => CLIENT_IDENT,
            Self::Server => SERVER_IDENT,
        }
    }

    /// The name with which this end offers strict key exchange.
    pub(super) fn strict_kex(self) -> &'static str {
        match self {
            Self::Client => STRICT_CLIENT,
            Self::Server => STRICT_SERVER,
        }
    }
}
