//! The tunnels of a process, each by its server and its kind.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::client::{LastWays, Settings, Snapshot};
use super::group::{Alternate, TunnelGroup};
use crate::sync::{Mutex, MutexGuard};

/// Names a tunnel.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TunnelKey {
    /// The server's origin.
    pub server: String,
    /// Kind of the tunnel.
    pub tunnel: TunnelKind,
}

/// A tunnel of one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TunnelKind {
    /// The main tunnel.
    Main,
    /// An application's, by its remote port.
    Port(u16),
}

/// All tunnels. Closed ones are removed.
#[derive(Default)]
pub struct Registry {
    tunnels: Mutex<BTreeMap<TunnelKey, Arc<TunnelGroup>>>,
    last_ways: Arc<LastWays>,
}

impl Registry {
    /// Starts a tunnel, and in a fleet one to another relay beside it. A tunnel that has the same key is stopped first.
    pub fn start(
        &self,
        key: TunnelKey,
        mut settings: Settings,
        others: Option<Vec<Alternate>>,
    ) -> io::Result<Arc<TunnelGroup>> {
        self.close(&key);
        settings.last_ways = Arc::clone(&self.last_ways);
        let tunnel = Arc::new(TunnelGroup::start(settings, others)?);
        let before = self.tunnels().insert(key, Arc::clone(&tunnel));
        if let Some(before) = before {
            before.stop();
        }
        Ok(tunnel)
    }

    /// The tunnel with this key.
    pub fn find(&self, key: &TunnelKey) -> Option<Arc<TunnelGroup>> {
        self.tunnels().get(key).cloned()
    }

    /// Waits for a tunnel's connected signal; false when none came, or there is no such tunnel.
    pub fn wait(&self, key: &TunnelKey, time: Duration) -> bool {
        self.find(key).is_some_and(|tunnel| tunnel.wait(time))
    }

    /// Every tunnel as it is now.
    pub fn list(&self) -> Vec<(TunnelKey, Snapshot)> {
        let tunnels = self.tunnels();
        tunnels
            .iter()
            .map(|(key, tunnel)| (key.clone(), tunnel.snapshot()))
            .collect()
    }

    /// Stops one; false when there is no such tunnel.
    pub fn close(&self, key: &TunnelKey) -> bool {
        let found = self.tunnels().remove(key);
        if let Some(tunnel) = &found {
            tunnel.stop();
        }
        found.is_some()
    }

    /// Makes all tunnels try at once that are not connected; with `renew`, connected ones connect again.
    pub fn wake_all(&self, renew: bool) {
        let tunnels: Vec<Arc<TunnelGroup>> = self.tunnels().values().cloned().collect();
        for tunnel in tunnels {
            match tunnel.is_connected() {
                true if renew => tunnel.renew(),
                true => {}
                false => tunnel.wake(),
            }
        }
    }

    /// True if the main tunnel of a server is connected.
    pub fn is_main_connected(&self, server: &str) -> bool {
        let main = self.main(server);
        main.is_some_and(|main| main.is_connected())
    }

    /// Makes the main tunnel of a server try at once if it is not connected: the server is back.
    pub fn wake_main(&self, server: &str) {
        if let Some(main) = self.main(server).filter(|main| !main.is_connected()) {
            main.wake();
        }
    }

    fn main(&self, server: &str) -> Option<Arc<TunnelGroup>> {
        self.find(&TunnelKey {
            server: server.to_owned(),
            tunnel: TunnelKind::Main,
        })
    }

    /// Tells all to stop, without waiting. Later errors of their servers are no failures.
    pub fn begin_close_all(&self) {
        for tunnel in self.tunnels().values() {
            tunnel.begin_stop();
        }
    }

    /// Stops all, at the same time.
    pub fn close_all(&self) {
        self.begin_close_all();
        let tunnels = std::mem::take(&mut *self.tunnels());
        for tunnel in tunnels.values() {
            tunnel.finish_stop();
        }
    }

    fn tunnels(&self) -> MutexGuard<'_, BTreeMap<TunnelKey, Arc<TunnelGroup>>> {
        self.tunnels.lock()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::thread;
    use std::time::Instant;

    use super::*;
    use crate::tunnel::client::Status;
    use crate::tunnel::server::{self, Server};
    use crate::tunnel::ssh::{KeyKind, ServerKey};

    const WAIT: Duration = Duration::from_secs(30);

    fn server() -> Server {
        let keys = [ServerKey::generate(KeyKind::Ed25519).unwrap()].into();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Server::start(server::Settings::new(listener, keys)).unwrap()
    }

    fn free_port() -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    }

    fn settings(server: SocketAddr, port: u16, target: u16) -> Settings {
        let remote = format!("R:127.0.0.1:{port}:127.0.0.1:{target}");
        let endpoint = format!("ws://{server}").parse().unwrap();
        Settings::new(endpoint, vec![remote.parse().unwrap()])
    }

    fn key(tunnel: TunnelKind) -> TunnelKey {
        TunnelKey {
            server: "https://a".to_owned(),
            tunnel,
        }
    }

    /// Takes connections and never says a word.
    fn silent() -> TcpListener {
        TcpListener::bind("127.0.0.1:0").unwrap()
    }

    #[test]
    fn a_second_tunnel_with_a_key_takes_the_place_of_the_first() {
        let (server, registry) = (server(), Registry::default());
        let port = free_port();
        let start = || {
            let settings = settings(server.address(), port, 9);
            registry
                .start(key(TunnelKind::Main), settings, None)
                .unwrap()
        };
        let first = start();
        assert!(registry.wait(&key(TunnelKind::Main), WAIT));
        let second = start();
        assert_eq!(first.snapshot().status, Status::Stopped);
        // The port is the same: the first one has freed it.
        assert!(registry.wait(&key(TunnelKind::Main), WAIT));
        assert!(Arc::ptr_eq(
            &registry.find(&key(TunnelKind::Main)).unwrap(),
            &second
        ));
        assert_eq!(registry.list().len(), 1);
        registry.close_all();
        assert_eq!(second.snapshot().status, Status::Stopped);
    }

    #[test]
    fn keys_differ_by_server_and_by_port() {
        let (silent, registry) = (silent(), Registry::default());
        let mut keys = vec![
            key(TunnelKind::Main),
            key(TunnelKind::Port(1)),
            key(TunnelKind::Port(2)),
            TunnelKey {
                server: "https://b".to_owned(),
                tunnel: TunnelKind::Main,
            },
        ];
        for key in &keys {
            let settings = settings(silent.local_addr().unwrap(), free_port(), 9);
            registry.start(key.clone(), settings, None).unwrap();
        }
        assert!(registry.close(&keys.remove(1)));
        assert!(!registry.close(&key(TunnelKind::Port(1))));
        let left: Vec<TunnelKey> = registry.list().into_iter().map(|(key, _)| key).collect();
        assert_eq!(left, keys);
        registry.close_all();
        assert!(registry.list().is_empty());
    }

    #[test]
    fn waiting_ends_with_the_time_the_signal_or_the_tunnel() {
        let (silent, registry) = (silent(), Registry::default());
        let waits = |time| {
            let began = Instant::now();
            (
                registry.wait(&key(TunnelKind::Main), time),
                began.elapsed() >= time,
            )
        };
        assert_eq!(waits(WAIT), (false, false), "there is none");
        let settings = settings(silent.local_addr().unwrap(), free_port(), 9);
        registry
            .start(key(TunnelKind::Main), settings, None)
            .unwrap();
        assert_eq!(waits(Duration::from_millis(100)), (false, true));
        thread::scope(|scope| {
            let waiting = scope.spawn(|| waits(WAIT));
            registry.close(&key(TunnelKind::Main));
            assert_eq!(waiting.join().unwrap(), (false, false), "it is closed");
        });
    }

    #[test]
    fn all_are_stopped_at_the_same_time() {
        let (silent, server, registry) = (silent(), server(), Registry::default());
        let addresses = [silent.local_addr().unwrap(), server.address()];
        let started: Vec<Arc<TunnelGroup>> = (1..=20)
            .zip(addresses.iter().cycle())
            .map(|(port, address)| {
                let settings = settings(*address, free_port(), 9);
                registry
                    .start(key(TunnelKind::Port(port)), settings, None)
                    .unwrap()
            })
            .collect();
        assert!(registry.wait(&key(TunnelKind::Port(2)), WAIT));
        let began = Instant::now();
        registry.close_all();
        // One may take a second.
        assert!(began.elapsed() < Duration::from_secs(2));
        assert!(registry.list().is_empty());
        let stopped = |tunnel: &Arc<TunnelGroup>| tunnel.snapshot().status == Status::Stopped;
        assert!(started.iter().all(stopped));
    }

    #[test]
    fn starting_and_closing_at_the_same_time_forgets_none() {
        let (silent, registry) = (silent(), Registry::default());
        let address = silent.local_addr().unwrap();
        let started: Vec<Arc<TunnelGroup>> = thread::scope(|scope| {
            let starting: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        let start = |port| {
                            let settings = settings(address, free_port(), 9);
                            registry
                                .start(key(TunnelKind::Port(port)), settings, None)
                                .unwrap()
                        };
                        (0..20).map(|round| start(round % 3)).collect::<Vec<_>>()
                    })
                })
                .collect();
            for port in [0, 1, 2] {
                registry.close(&key(TunnelKind::Port(port)));
                registry.close_all();
            }
            starting
                .into_iter()
                .flat_map(|thread| thread.join().unwrap())
                .collect()
        });
        let held: Vec<Arc<TunnelGroup>> = [0, 1, 2]
            .iter()
            .filter_map(|port| registry.find(&key(TunnelKind::Port(*port))))
            .collect();
        // A tunnel that is not in the registry has been stopped.
        for tunnel in &started {
            let is_held = held.iter().any(|other| Arc::ptr_eq(tunnel, other));
            assert!(is_held || tunnel.snapshot().status == Status::Stopped);
        }
        registry.close_all();
        assert!(
            started
                .iter()
                .all(|tunnel| tunnel.snapshot().status == Status::Stopped)
        );
    }

    #[test]
    fn the_list_counts_what_passes() {
        let (server, registry) = (server(), Registry::default());
        let target = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, to) = (free_port(), target.local_addr().unwrap().port());
        let settings = settings(server.address(), port, to);
        registry
            .start(key(TunnelKind::Port(port)), settings, None)
            .unwrap();
        assert!(registry.wait(&key(TunnelKind::Port(port)), WAIT));
        let mut visitor = TcpStream::connect(("127.0.0.1", port)).unwrap();
        visitor.write_all(b"question").unwrap();
        let (mut inside, _) = target.accept().unwrap();
        inside.read_exact(&mut [0; 8]).unwrap();
        inside.write_all(b"an answer").unwrap();
        visitor.read_exact(&mut [0; 9]).unwrap();
        let now = || registry.list().remove(0).1;
        let becomes = |streams| {
            let until = Instant::now() + WAIT;
            let counts = |seen: Snapshot| (seen.received, seen.sent, seen.streams);
            while counts(now()) != (8, 9, streams) {
                assert!(Instant::now() < until, "{:?}", now());
                thread::sleep(Duration::from_millis(1));
            }
        };
        becomes(1);
        let seen = now();
        assert_eq!((seen.status, seen.reconnects), (Status::Connected, 0));
        assert!(seen.latency.is_some() && seen.since.is_some() && seen.error.is_none());
        drop((visitor, inside));
        becomes(0);
    }
}
