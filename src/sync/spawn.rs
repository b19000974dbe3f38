//! Threads of the program: `lib.rs` says of each who starts it and when it ends.

use std::io;
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};

/// Declares the threads: name (at most 15 bytes, else the kernel cuts it) and KiB of stack; code that is not optimised
/// may need more. Only what is touched takes memory.
macro_rules! threads {
    ($($thread:ident $name:literal $kib:literal $(debug $debug_kib:literal)?;)*) => {
        /// A kind of thread.
        #[derive(Debug, Clone, Copy)]
        #[cfg_attr(not(target_os = "linux"), allow(dead_code))]
        pub(crate) enum Thread {
            $($thread,)*
        }

        impl Thread {
            #[cfg(test)]
            pub(crate) const ALL: &[Self] = &[$(Self::$thread,)*];

            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Self::$thread => $name,)*
                }
            }

            /// Bytes of its stack.
            fn stack(self) -> usize {
                let kib = match self {
                    $($(Self::$thread if cfg!(debug_assertions) => $debug_kib,)?)*
                    $(Self::$thread => $kib,)*
                };
                kib * 1024
            }
        }
    };
}

threads! {
    AppStreams "app-streams" 256 debug 768; // seals and writes for a tunnel
    Browser "browser" 64;
    Changes "changes" 128;
    ClientGone "client-gone" 512; // callbacks may talk to a database over TLS
    Connection "connection" 256; // the store and its cipher; calls and TLS have threads of their own
    DbConnect "db-connect" 512; // the driver with a TLS handshake: about 60 KiB in a debug build
    DbGuest "db-guest" 256;
    DbKill "db-kill" 256;
    DbReap "db-reap" 256; // the driver over TLS
    DbRelay "db-relay" 512; // TLS, and the library's arithmetic of large numbers
    Doctor "doctor" 2048;
    EmbeddedStop "embedded-stop" 2048;
    Expiry "expiry" 256; // what ends is told to others, and noted in a file
    FleetProbe "probe" 2048;
    FleetWatch "fleet-watch" 512 debug 2048;
    Health "health" 512; // TLS, and the resolver
    HttpAccept "http-accept" 96 debug 256;
    HttpAnswer "http-answer" 96;
    HttpConn "http-conn" 96 debug 256; // its buffers are on the heap
    HttpConnOfGateway "http-conn" 256 debug 768; // may seal and write for a tunnel, or speak TLS
    HttpParked "http-parked" 256 debug 768;
    HttpWorker "http-worker" 1024; // handlers
    Log "log" 256;
    Manage "manage" 256;
    QuickSetup "quick-setup" 512; // TLS
    RelayCall "relay-call" 256 debug 1024;
    RelayConnects "relay-connects" 256;
    RelayExpiry "relay-expiry" 256;
    RelayStop "relay-stop" 128;
    Release "release" 512; // TLS
    RemoteServer "remote-server" 256; // saves credentials
    Share "share" 256;
    Signals "signals" 64;
    Silence "silence" 2048;
    SleepWatch "sleep-watch" 128;
    Sql "sql" 256; // the driver's deepest call is a TLS read
    SqlWatch "sql-watch" 64;
    Stop "stop" 512;
    Tunnel "tunnel" 512; // TLS and the dialling
    TunnelAccept "tunnel-accept" 64;
    TunnelClient "tunnel-client" 256; // TLS and the handshake
    TunnelDial "tunnel-dial" 512;
    TunnelListen "tunnel-listen" 64;
    TunnelPoller "tunnel-poller" 128; // sealing and TLS, as it writes the WebSocket
    TunnelResolve "tunnel-resolve" 256; // the C library's resolver needs tens of KiB
    TunnelStream "tunnel-stream" 256; // the resolver's need; some 12 KiB are touched
    TunnelWriter "tunnel-writer" 128; // sealing and TLS
    WebClient "web-client" 512; // the driver's TLS
}

/// Starts a thread that nobody joins.
pub(crate) fn spawn(thread: Thread, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    spawn_joined(thread, work).map(drop)
}

/// Starts a thread that is joined.
#[expect(clippy::disallowed_methods, reason = "threads start here")]
pub(crate) fn spawn_joined<T: Send + 'static>(
    thread: Thread,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    builder(thread).spawn(work)
}

/// Starts a thread that ends before `scope` does.
#[expect(clippy::disallowed_methods, reason = "threads start here")]
pub(crate) fn spawn_scoped<'scope, T: Send + 'scope>(
    thread: Thread,
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    builder(thread).spawn_scoped(scope, work)
}

fn builder(thread: Thread) -> Builder {
    let named = Builder::new().name(thread.name().to_owned());
    named.stack_size(thread.stack())
}
