//! A server and the thread that takes its clients.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::Receiver;

use super::clients::{ClientPermit, Clients, MAX_CONNECTIONS, ServerStats, count};
use super::opener::Opener;
use super::opener::ServerState;
use super::policy::Grant;
use super::policy::Settings;
use super::ports::{MAX_VISITORS, Ports};
use crate::http::h1::Refusal;
use crate::http::server::raise_open_files;
use crate::net::Acceptor;
use crate::sync::{LogLimiter, Mutex, Thread, spawn};
use crate::tunnel::mux::{ANSWER_WITHIN, End, FAREWELL, Handler, Mux, Options, Traffic};
use crate::tunnel::remote::{Remote, decode_config};
use crate::tunnel::ssh::{ChannelOpenFailure, Event, RequestId};
use crate::tunnel::ws::{Accepted, Cancel, UpgradeRequest};
use crate::tunnel::{ssh, ws};

/// Pause after an accept that failed, for lack of descriptors say. Default 100 ms.
const AFTER_ERROR: Duration = Duration::from_millis(100);
/// Time for the connections to end after they were cut. Default 600 ms.
const STOP_WAIT: Duration = Duration::from_millis(600);

/// A server at work. Dropping it stops it.
pub struct Server {
    state: Arc<ServerState>,
    address: SocketAddr,
    acceptor: Option<Acceptor>,
    done: Receiver<()>,
}

impl Server {
    /// Starts serving.
    pub fn start(settings: Settings) -> io::Result<Self> {
        let listener = settings.listener;
        let address = match &listener {
            Some(listener) => listener.local_addr()?,
            None => (Ipv4Addr::UNSPECIFIED, 0).into(),
        };
        let (working, done) = crossbeam_channel::bounded(0);
        let most = allowed(settings.reserved_files);
        let stats = Arc::<ServerStats>::default();
        let state = Arc::new(ServerState {
            keys: settings.keys,
            policy: settings.policy,
            keepalive: settings.keepalive,
            accept: settings.accept,
            timeouts: settings.timeouts,
            ssh: settings.ssh,
            traffic: Arc::default(),
            ports: Ports::new(most.visitors, Arc::clone(&stats)),
            stats,
            clients: Clients::new(most.clients),
            turned_away: LogLimiter::default(),
            working: Mutex::new(Some(working)),
            cancel: Cancel::new(),
            cut: Cancel::new(),
        });
        let of_thread = Arc::clone(&state);
        let accept = move |accepted: io::Result<(TcpStream, SocketAddr)>| {
            let taken = accepted.and_then(|(socket, peer)| take(&of_thread, socket, None, peer));
            taken.err().map(|error| {
                log::warn!("client refused: {error}");
                AFTER_ERROR
            })
        };
        let start = |listener| Acceptor::start(listener, Thread::TunnelAccept, accept);
        let acceptor = listener.map(start).transpose()?;
        Ok(Self {
            state,
            address,
            acceptor,
            done,
        })
    }

    /// Where it listens; port 0 if it does not.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its counters, over all clients.
    pub fn traffic(&self) -> &Traffic {
        &self.state.traffic
    }

    /// Opens streams to what is held for this process; works while the server does.
    pub fn opener(&self) -> Opener {
        Opener(Arc::clone(&self.state))
    }

    /// Takes clients from another listener, as long as the server does.
    pub fn intake(&self) -> Intake {
        Intake(Arc::clone(&self.state))
    }

    /// Takes no more clients; those that are there stay.
    pub fn stop_accepting(&mut self) {
        self.acceptor = None;
        *self.state.working.lock() = None;
    }

    /// Stops: no more clients, those that are there are told, ports are free when it returns.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.stop_accepting();
        self.state.cancel.cancel();
        // Every connection's thread holds the other end.
        let _ = self.done.recv_timeout(FAREWELL);
        self.state.cut.cancel();
        let _ = self.done.recv_timeout(STOP_WAIT);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// Takes clients whose requests another listener has read.
#[derive(Clone)]
pub struct Intake(Arc<ServerState>);

impl Intake {
    /// Serves a client on a thread of its own, from `peer` on as it is known to the other listener. What is over a limit
    /// is refused, and nothing was sent.
    pub fn take(
        &self,
        socket: TcpStream,
        peer: SocketAddr,
        request: UpgradeRequest,
    ) -> Result<(), Refusal> {
        let taken = take(&self.0, socket, Some(request), peer);
        let is_taken = taken.unwrap_or_else(|error| {
            log::warn!("client refused: {error}");
            false
        });
        let full = || Refusal::new(503, "no room for another tunnel: try again later");
        is_taken.then_some(()).ok_or_else(full)
    }
}

/// Serves a client on a thread of its own; false if it may not come now.
fn take(
    state: &Arc<ServerState>,
    socket: TcpStream,
    request: Option<UpgradeRequest>,
    peer: SocketAddr,
) -> io::Result<bool> {
    let Some(working) = state.working.lock().clone() else {
        return Ok(false);
    };
    let Some(permit) = state.clients.take(peer.ip()) else {
        count(&state.stats.turned_away);
        state.log_refused(format_args!("{peer}: refused: too many connections"));
        return Ok(false);
    };
    let state = Arc::clone(state);
    // A connection's reading thread; ends with the connection.
    spawn(Thread::TunnelClient, move || {
        run(&state, socket, request, peer, &permit);
        drop((permit, working));
    })?;
    Ok(true)
}

/// Open files of a client: its socket, and during the handshake what wakes it.
const CLIENT_FILES: usize = 3;
/// Open files of a visitor of a public port.
const VISITOR_FILES: usize = 1;
/// Open files of all public ports, three each. Default 4096.
const PORT_FILES: usize = 4096;
/// Clients, and visitors, that there is room for whatever the limit is.
const LEAST: usize = 16;

/// How many there may be at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Allowed {
    pub(super) clients: usize,
    pub(super) visitors: usize,
}

/// Raises the limit as far as is needed and may be. `reserved` files are the rest of the program's.
pub(super) fn allowed(reserved: usize) -> Allowed {
    let (clients, visitors) = (MAX_CONNECTIONS * CLIENT_FILES, MAX_VISITORS * VISITOR_FILES);
    let wanted = reserved + clients + visitors + PORT_FILES;
    within(raise_open_files(wanted).saturating_sub(reserved))
}

/// At most a third of what there is for visitors, and a third for ports; the rest is for clients.
fn within(files: usize) -> Allowed {
    let share = files / 3;
    let (visitors, ports) = (
        share.min(MAX_VISITORS * VISITOR_FILES),
        share.min(PORT_FILES),
    );
    let clients = (files - visitors - ports) / CLIENT_FILES;
    Allowed {
        clients: clients.clamp(LEAST, MAX_CONNECTIONS),
        visitors: (visitors / VISITOR_FILES).max(LEAST),
    }
}

// One client of the server, from its first byte to its end.
//
// ```text
// Login ─ admitted ─> Config ─ allowed and bound ─> Up ─ visitors
// ```

/// Pause after a refused password; at most six come in a connection. Default 1 s.
const AFTER_REFUSAL: Duration = Duration::from_secs(1);
/// Message for a client whose login has too many connections.
const CROWDED: &str = "server: too many connections with this login";

/// Serves one connection until it ends; `request` is the one that another listener has read from it.
pub(super) fn run(
    state: &Arc<ServerState>,
    socket: TcpStream,
    request: Option<UpgradeRequest>,
    peer: SocketAddr,
    permit: &ClientPermit,
) {
    let evicted = permit.evicted();
    let accepted = {
        let signal = evicted.clone();
        let _stop = state.cancel.watch(move || signal.cancel());
        match &request {
            Some(request) => ws::accept_request(socket, request, &state.accept, evicted),
            None => ws::accept(socket, &state.accept, evicted),
        }
    };
    match accepted {
        Ok(Accepted::WebSocket(from, to)) => serve(state, peer, permit, from, to),
        Ok(Accepted::Answered(status)) => log::debug!("{peer}: answered with {status}"),
        Err(error) => log::debug!("{peer}: {error}"),
    }
}

fn serve(
    state: &Arc<ServerState>,
    peer: SocketAddr,
    permit: &ClientPermit,
    from: ws::WsReader,
    to: ws::WsWriter,
) {
    let (session, reader, writer) = match ssh::server(&state.ssh, Arc::clone(&state.keys)) {
        Ok(ends) => ends,
        Err(error) => return log::warn!("{peer}: {error}"),
    };
    let mux = Mux::new(
        session,
        writer,
        to,
        Options {
            keepalive: state.keepalive,
            ready_within: state.timeouts.login,
            answer_within: ANSWER_WITHIN,
            // A server connects to no targets.
            target_within: Duration::ZERO,
            target_missed: None,
            may_dial: None,
            traffic: Arc::clone(&state.traffic),
        },
    );
    let stopped = Arc::clone(&mux);
    let _watch = state.cancel.watch(move || stopped.stop());
    let cut = Arc::clone(&mux);
    let _cut = state.cut.watch(move || cut.cut());
    let evicted = Arc::clone(&mux);
    let _evicted = permit.evicted().watch(move || evicted.cut());
    let mut client = ServerHandler {
        state,
        peer,
        permit,
        phase: HandshakePhase::Login,
    };
    let end = mux.run(reader, from, &mut client);
    for (holder, port) in state.ports.release(&mux) {
        state.policy.on_left(&holder, port);
    }
    log::debug!("{peer}: ended: {end:?}");
}

/// Next step expected from the client.
enum HandshakePhase {
    Login,
    /// The name that what the client gets is held under; none where nothing more is held under it.
    Config(Option<String>),
    Up,
}

struct ServerHandler<'a> {
    state: &'a ServerState,
    peer: SocketAddr,
    permit: &'a ClientPermit,
    phase: HandshakePhase,
}

impl Handler for ServerHandler<'_> {
    fn event(&mut self, mux: &Arc<Mux>, event: Event<'_>) -> Result<(), End> {
        match event {
            Event::PasswordAuth { user, password } => self.login(mux, user, password),
            Event::GlobalRequest {
                id,
                name: "config",
                data,
            } => self.config(mux, id, data),
            Event::GlobalRequest { id: Some(id), .. } => mux.answer(id, false, b""),
            // Forward streams are not served.
            Event::ChannelOpen { channel, .. } => mux.refuse(
                channel,
                ChannelOpenFailure::AdministrativelyProhibited,
                "this server opens the streams",
            ),
            _ => Ok(()),
        }
    }
}

impl ServerHandler<'_> {
    fn login(&mut self, mux: &Arc<Mux>, user: &str, password: &str) -> Result<(), End> {
        let holder = self.state.policy.login(user, password, self.peer);
        let admitted = holder.is_some();
        let stats = &self.state.stats;
        if let Some(holder) = holder {
            let has_room = self.permit.admit(&holder, mux);
            count(if has_room {
                &stats.logins
            } else {
                &stats.turned_away
            });
            if let Some(rate) = self.state.policy.rate(&holder) {
                mux.limit(rate);
            }
            self.phase = HandshakePhase::Config(Some(holder).filter(|_| has_room));
            mux.allow(self.state.timeouts.config);
        } else {
            count(&stats.logins_refused);
            let peer = self.peer;
            self.state
                .log_refused(format_args!("{peer}: login refused"));
            mux.pause(AFTER_REFUSAL);
        }
        mux.session().answer_auth(admitted).map_err(End::Protocol)
    }

    fn config(&mut self, mux: &Arc<Mux>, id: Option<RequestId>, data: &[u8]) -> Result<(), End> {
        let HandshakePhase::Config(holder) = &self.phase else {
            return match id {
                Some(id) => mux.answer(id, false, b"already configured"),
                None => Ok(()),
            };
        };
        let outcome = match holder {
            Some(holder) => self.listen(mux, holder, data),
            None => Err(CROWDED.to_owned()),
        };
        match (&outcome, id) {
            (Ok(()), Some(id)) => mux.answer(id, true, b"")?,
            (Err(text), Some(id)) => mux.answer(id, false, text.as_bytes())?,
            (_, None) => {}
        }
        match outcome {
            Ok(()) => {
                self.phase = HandshakePhase::Up;
                mux.mark_ready();
            }
            // The client is the one to leave; it has until the deadline.
            Err(text) => {
                let peer = self.peer;
                self.state.log_refused(format_args!("{peer}: {text}"));
                self.state.ports.release(mux);
            }
        }
        Ok(())
    }

    /// All or none.
    fn listen(&self, mux: &Arc<Mux>, holder: &str, data: &[u8]) -> Result<(), String> {
        let policy = self.state.policy.as_ref();
        let remotes = decode_config(data).map_err(|error| error.to_string())?;
        let grants: Vec<Grant> = remotes.iter().map(|r| policy.grant(holder, r)).collect();
        if let Some(denied) = grants.iter().position(|grant| *grant == Grant::Denied)
            && let Some(remote) = remotes.get(denied)
        {
            let denied = remote.permission();
            return Err(format!("server: access to '{denied}' denied"));
        }
        for (remote, grant) in remotes.iter().zip(grants) {
            self.take(mux, holder, remote, grant).map_err(|error| {
                log::debug!("{}: {}: {error}", self.peer, remote.local());
                format!("Server cannot listen on {}", remote.permission())
            })?;
        }
        Ok(())
    }

    fn take(&self, mux: &Arc<Mux>, holder: &str, remote: &Remote, grant: Grant) -> io::Result<()> {
        let ports = &self.state.ports;
        let access = || self.state.policy.port_access(holder, remote);
        match grant {
            Grant::Denied => Err(io::ErrorKind::PermissionDenied.into()),
            Grant::Listen => ports.bind(remote, holder, access(), mux),
            Grant::ListenAt(address) => ports.bind_at(address, remote, holder, access(), mux),
            Grant::Held => ports.hold(remote, holder, mux),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_low_limit_leaves_room_for_the_rest() {
        let allowed = |clients, visitors| Allowed { clients, visitors };
        // Files that the unit's limit leaves.
        assert_eq!(within(60_000), allowed(16_384, 4096));
        assert_eq!(within(20_000), allowed(3936, 4096));
        assert_eq!(within(1500), allowed(166, 500));
        assert_eq!(within(0), allowed(16, 16));
    }
}
