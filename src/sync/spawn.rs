//! Threads of the program, and [`Lookout`], a thread that waits for something to fall due. The table in `lib.rs` lists
//! all of them.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};
use std::time::Duration;

use super::Mutex;

/// Longest pause of a [`Lookout`] between two looks. Default 1 s: a machine that wakes finds at once what ended
/// meanwhile.
const LOOK: Duration = Duration::from_secs(1);
/// Shortest such pause. Default 10 ms: rounding does not make it look all the time.
const LEAST: Duration = Duration::from_millis(10);

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

/// One thread that waits for something to fall due. It exists only while there is something to wait for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lookout(Arc<Mutex<bool>>);

impl Lookout {
    /// Starts the thread, unless it runs already. `look` does the work that is due and returns the time until its next
    /// call; `None` ends the thread. Call this after the work was noted.
    pub(crate) fn begin(
        &self,
        thread: Thread,
        look: impl FnMut() -> Option<Duration> + Send + 'static,
    ) {
        let mut runs = self.0.lock();
        if *runs {
            return;
        }
        let of_thread = self.clone();
        match spawn(thread, move || of_thread.run(look)) {
            Ok(()) => *runs = true,
            Err(error) => log::error!("no thread for what is to end by itself: {error}"),
        }
    }

    fn run(&self, mut look: impl FnMut() -> Option<Duration>) {
        // A panic in one look is a fault of the program, but must not end all later looks.
        let mut look = || catch_unwind(AssertUnwindSafe(&mut look)).unwrap_or(Some(LOOK));
        loop {
            if let Some(left) = look() {
                std::thread::sleep(left.clamp(LEAST, LOOK));
                continue;
            }
            let mut runs = self.0.lock();
            // Work may have been noted since that look, by a caller that found the thread running.
            let Some(left) = look() else {
                *runs = false;
                return;
            };
            drop(runs);
            std::thread::sleep(left.clamp(LEAST, LOOK));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also where nothing is left when it begins: the next call begins a thread again.
    #[test]
    fn it_looks_until_there_is_nothing_and_begins_again() {
        let lookout = Lookout::default();
        let (tell, told) = crossbeam_channel::unbounded();
        for _ in 0..2 {
            let (tell, mut left) = (tell.clone(), 3);
            lookout.begin(Thread::Expiry, move || {
                left -= 1;
                let _ = tell.send(left);
                (left > 0).then_some(Duration::ZERO)
            });
            let looks: Vec<i32> = told.iter().take(4).collect();
            assert_eq!(looks, [2, 1, 0, -1]);
            while *lookout.0.lock() {
                std::thread::yield_now();
            }
        }
    }

    /// Also at the look that would have been the last.
    #[test]
    fn a_look_that_breaks_off_is_followed_by_another() {
        let lookout = Lookout::default();
        let (tell, told) = crossbeam_channel::unbounded();
        let mut looks = 0;
        lookout.begin(Thread::Expiry, move || {
            looks += 1;
            let _ = tell.send(looks);
            assert!(looks != 1 && looks != 3, "a fault");
            None
        });
        let looks: Vec<i32> = told.iter().collect();
        assert_eq!(looks, [1, 2, 3, 4, 5]);
        while *lookout.0.lock() {
            std::thread::yield_now();
        }
    }
}
