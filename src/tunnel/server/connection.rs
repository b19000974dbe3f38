//! One client of the server, from its first byte to its end.
//!
//! ```text
//! Login ─ admitted ─> Config ─ allowed and bound ─> Up ─ visitors
//! ```

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use super::clients::{ClientPermit, count};
use super::settings::Grant;
use super::state::ServerState;
use crate::tunnel::mux::{ANSWER_WITHIN, End, Handler, Mux, Options};
use crate::tunnel::remote::{Remote, decode_config};
use crate::tunnel::ssh::{self, ChannelOpenFailure, Event, RequestId};
use crate::tunnel::ws::{self, Accepted, UpgradeRequest};

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
    /// Name under which its remotes are held; none if this login has too many connections.
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

    /// Takes all remotes of the client, or none.
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
