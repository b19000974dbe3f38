//! Offers and limits of one end of a connection.

use std::time::Duration;

use super::hostkey::HostKeyAlgorithm;
use super::packet::Cipher;
use super::wire::wide;
use crate::sync::part_of_memory;

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
            rekey_bytes: REKEY_BYTES,
            rekey_time: REKEY_TIME,
            channels: ChannelLimits::default(),
        }
    }
}

const KIB: usize = 1024;
const KIB_64: u64 = 1024;
const MIB_64: u64 = 1024 * KIB_64;

/// Bytes of `packet_length` accepted: RFC 4253 §6.1 obliges to 35000 for a whole packet;
/// the peer is told of [`MAX_DATA`], so nothing it may send is larger.
pub(super) const MAX_PACKET: usize = 35_000;
/// Bytes of an identification line with its end (RFC 4253 §4.2).
pub(super) const MAX_IDENT: usize = 255;
/// Lines a server may send before its identification. Default 32: none does in practice.
pub(super) const MAX_PREFACE_LINES: usize = 32;
/// Packets accepted before the first NEWKEYS. Default 16: three are needed, the rest is for
/// `IGNORE` and `DEBUG` of a peer without strict key exchange.
pub(super) const MAX_PACKETS_BEFORE_KEYS: u32 = 16;
/// Packets accepted between the first NEWKEYS and the end of authentication. Default 256: a
/// login takes ten; bounds what a peer without a login can make this side compute.
pub(super) const MAX_PACKETS_BEFORE_LOGIN: u32 = 256;
/// Attempts to log in before the server disconnects. Default 6, as OpenSSH has it.
pub(super) const MAX_LOGIN_TRIES: u32 = 6;
/// Bytes of user name or password. Default 1 KiB each: longer than any in use.
pub(super) const MAX_CREDENTIAL: usize = KIB;

/// Bytes of data in one packet, sent and accepted (`maximum packet size` of RFC 4254 §5.1).
/// Default 32 KiB: a keystroke beside a download waits for no more.
pub(super) const MAX_DATA: usize = 32 * KIB;
/// Bytes of a channel's type-specific data or of a global request. Default 32 KiB: what a
/// packet carries with room to spare; a list of a few hundred remotes.
pub(super) const MAX_EXTRA: usize = 32 * KIB;
/// Bytes of a name (channel type, request). Default 64, as RFC 4251 §6 has it.
pub(super) const MAX_NAME: usize = 64;
/// Bytes of a reason's text that is sent. Default 1 KiB.
pub(super) const MAX_TEXT: usize = KIB;

/// Bytes of bulk data that wait, framed, for the writer. Default 256 KiB: keeps a 10 GBit/s
/// line busy for 200 µs, and a thread that refills it awake seldom.
pub(super) const BULK_QUEUE: usize = 256 * KIB;
/// Bytes of the above for one channel. Default 192 KiB: leaves room for a second one.
pub(super) const BULK_QUEUE_OF_ONE: usize = 192 * KIB;
/// Bytes of one batch that is sealed and written. Default 64 KiB: two full packets; urgent
/// packets wait for at most this much.
pub(super) const BATCH: usize = 64 * KIB;
/// Bytes of a write that counts as interactive and overtakes bulk data. Default 1 KiB.
pub(super) const INTERACTIVE: usize = KIB;
/// Bytes of interactive data that may wait, framed, all channels. Default 64 KiB; more is bulk.
pub(super) const INTERACTIVE_QUEUE: usize = 64 * KIB;
/// Bytes of one urgent batch after which a bulk batch has its turn. Default 16 KiB, so that
/// a flood of small writes cannot starve bulk data.
pub(super) const URGENT_SHARE: usize = 16 * KIB;
/// Bytes of answers that may wait for a peer that reads nothing. Default 2 MiB: more than
/// every channel's window adjustment, close and refusal together; beyond it the peer asks
/// without reading.
pub(super) const URGENT_QUEUE: usize = 2 * KIB * KIB;

/// Global requests of either side that await their answer. Default 64: two are usual.
pub(super) const MAX_REQUESTS: usize = 64;

/// Bytes of the reader's input buffer. Default 256 KiB: seven of the largest packets, so
/// that one read from the socket feeds several.
pub(super) const INPUT: usize = 256 * KIB;

/// Bytes sent or received under one set of keys before this side starts a re-key. Default
/// 1 GiB (RFC 4253 §9), far below the limits of the ciphers (RFC 4344 §3).
pub(super) const REKEY_BYTES: u64 = 1024 * MIB_64;
/// Time under one set of keys before this side starts a re-key. Default 1 h (RFC 4253 §9).
pub(super) const REKEY_TIME: Duration = Duration::from_secs(3600);

/// Bytes sent and received between two key exchanges that make the second no idle one. Default 64 KiB.
pub(super) const REKEY_WORTH: u64 = 64 * KIB_64;
/// Time between idle key exchanges that a peer may keep up. Default 20 ms: each costs a fraction of a millisecond.
pub(super) const REKEY_PAUSE: Duration = crate::limits::REKEY_PAUSE;
/// Time that they may be ahead of that pace. Default 10 s: 500 exchanges in a row.
pub(super) const REKEY_AHEAD: Duration = crate::limits::REKEY_AHEAD;

/// Limits of the channels; `ChannelLimits::default()` is what the program uses.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ChannelLimits {
    /// Channels in all, opening and closing ones included. Default 4096: each holds at
    /// least [`ChannelLimits::least`] of the budget while there is any.
    pub channels: usize,
    /// Bytes of all receive windows and of received data that nobody has consumed. Default
    /// 64 MiB, less in a small memory: what stalled targets can make this process hold.
    pub budget: u64,
    /// Bytes of a channel's first window while the budget is untouched. Default 256 KiB.
    pub initial: u64,
    /// Bytes of the smallest window. Default 4 KiB: below it a channel is refused.
    pub least: u64,
    /// Bytes of the largest window. Default 16 MiB: 1.3 GBit/s at 100 ms.
    pub most: u64,
}

impl Default for ChannelLimits {
    fn default() -> Self {
        Self {
            channels: 4096,
            budget: wide(part_of_memory(16, 64 * 1024 * KIB)),
            initial: 256 * KIB_64,
            least: 4 * KIB_64,
            most: 16 * MIB_64,
        }
    }
}
