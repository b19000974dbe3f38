//! Every cap and timeout of the WebSocket, in one place.

use std::time::Duration;

const KIB: usize = 1024;

/// Time to find the addresses of a host. Default 10 s: a resolver's own retry lies within.
pub const RESOLVE_TIMEOUT: Duration = crate::limits::RESOLVE_TIMEOUT;
/// Time for TCP connects to all addresses of a host together. Default 10 s.
pub const CONNECT_TIMEOUT: Duration = crate::limits::CONNECT_TIMEOUT;
/// Time for the proxy's answer, TLS and the upgrade together. Default 15 s.
pub const HANDSHAKE_TIMEOUT: Duration = crate::limits::HANDSHAKE_TIMEOUT;
/// Time a write may stand without one byte taken by the peer. Default 30 s. Unacknowledged
/// data ends the connection after the same time (RFC 5482), whoever writes.
pub const WRITE_STALL: Duration = crate::limits::TUNNEL_STALL;

/// Bytes of a frame's payload that are accepted. Default 64 MiB: peers send some 32 KiB.
pub const MAX_FRAME: u64 = 64 * 1024 * 1024;
/// Bytes of a head, request or answer. Default 16 KiB: a tunnel's are below 1 KiB.
pub const MAX_HEAD: usize = 16 * KIB;
/// Interim answers (status 1xx) accepted before the answer. Default 4: none is usual.
pub(super) const MAX_INTERIM: usize = 4;

/// Resolver threads of the process at once, those included that nobody waits for any more.
/// Default 16: a resolver that hangs must not collect threads.
pub(super) const MAX_RESOLVERS: usize = 16;
/// Bytes of a file of trusted certificates. Default 8 MiB: system bundles have 250 KiB.
pub(super) const MAX_CA_FILE: u64 = 8 * 1024 * 1024;

/// Bytes read beyond the caller's buffer: the next frame's header and what follows it.
/// Default 16 KiB, and not less than [`MAX_HEAD`]: many small frames come with one call.
pub(super) const AHEAD: usize = 16 * KIB;
/// Bytes of TLS records read with one call. Default 64 KiB: four of the largest records.
pub(super) const RECORDS: usize = 64 * KIB;
/// Bytes encrypted and written with one call. Default 64 KiB, as above; it is also how long
/// the reading half may have to wait for the TLS state.
pub(super) const ENCRYPT: usize = 64 * KIB;

/// Time without traffic after which the kernel probes the peer, and how often and many times.
/// Defaults 15 s, 5 s, 3: a peer that vanished is noticed after 30 s, within the tunnel's 40.
pub(super) const KEEPALIVE_IDLE: Duration = Duration::from_secs(15);
/// See [`KEEPALIVE_IDLE`].
pub(super) const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// See [`KEEPALIVE_IDLE`].
pub(super) const KEEPALIVE_COUNT: u32 = 3;
