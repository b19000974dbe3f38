//! One client of the server, from its first byte to its end.
//!
//! ```text
//! Login ─ admitted ─> Config ─ allowed and bound ─> Up ─ visitors
//! ```

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use super::clients::ClientPermit;
use super::{Grant, Shared};
use crate::tunnel::mux::{ANSWER_WITHIN, End, Handler, Mux, Options};
use crate::tunnel::remote::{Remote, decode_config};
use crate::tunnel::ssh::{self, Event, Refusal, RequestId};
use crate::tunnel::ws::{self, Accepted};

/// Pause after a refused password; at most six come in a connection. Default 1 s.
const AFTER_REFUSAL: Duration = Duration::from_secs(1);

/// Serves one connection until it ends.
pub(super) fn run(shared: &Arc<Shared>, socket: TcpStream, peer: SocketAddr, place: &ClientPermit) {
    let given_up = place.given_up();
    let accepted = {
        let signal = given_up.clone();
        let _stop = shared.cancel.watch(move || signal.cancel());
        ws::accept(socket, &shared.accept, given_up)
    };
    match accepted {
        Ok(Accepted::Link(from, to)) => serve(shared, peer, place, (from, to)),
        Ok(Accepted::Answered(status)) => log::debug!("{peer}: answered with {status}"),
        Err(error) => log::debug!("{peer}: {error}"),
    }
}

fn serve(
    shared: &Arc<Shared>,
    peer: SocketAddr,
    place: &ClientPermit,
    (from, to): (ws::WsReader, ws::WsWriter),
) {
    let (session, reader, writer) = match ssh::server(&shared.ssh, Arc::clone(&shared.keys)) {
        Ok(ends) => ends,
        Err(error) => return log::warn!("{peer}: {error}"),
    };
    let line = Mux::new(
        session,
        writer,
        to,
        Options {
            keepalive: shared.keepalive,
            ready_within: shared.timeouts.login,
            answer_within: ANSWER_WITHIN,
            // A server connects to no targets.
            target_within: Duration::ZERO,
            target_missed: None,
            may_dial: None,
            traffic: Arc::clone(&shared.traffic),
        },
    );
    let stopped = Arc::clone(&line);
    let _watch = shared.cancel.watch(move || stopped.stop());
    let cut = Arc::clone(&line);
    let _cut = shared.cut.watch(move || cut.cut());
    let given_up = Arc::clone(&line);
    let _given_up = place.given_up().watch(move || given_up.cut());
    let mut client = Client {
        shared,
        peer,
        place,
        stage: Stage::Login,
    };
    let end = line.run(reader, from, &mut client);
    shared.ports.release(&line);
    log::debug!("{peer}: ended: {end:?}");
}

enum Stage {
    Login,
    /// The name that what the client gets is held under.
    Config(String),
    Up,
}

struct Client<'a> {
    shared: &'a Shared,
    peer: SocketAddr,
    place: &'a ClientPermit,
    stage: Stage,
}

impl Handler for Client<'_> {
    fn event(&mut self, line: &Arc<Mux>, event: Event<'_>) -> Result<(), End> {
        match event {
            Event::Password { user, password } => self.login(line, user, password),
            Event::Request {
                id,
                name: "config",
                data,
            } => self.config(line, id, data),
            Event::Request { id: Some(id), .. } => line.answer(id, false, b""),
            // Forward streams are not served.
            Event::Open { channel, .. } => line.refuse(
                channel,
                Refusal::Prohibited,
                "this server opens the streams",
            ),
            _ => Ok(()),
        }
    }
}

impl Client<'_> {
    fn login(&mut self, line: &Arc<Mux>, user: &str, password: &str) -> Result<(), End> {
        let holder = self.shared.policy.login(user, password, self.peer);
        let admitted = holder.is_some();
        if let Some(holder) = holder {
            self.place.admit(&holder, line);
            self.stage = Stage::Config(holder);
            line.allow(self.shared.timeouts.config);
        } else {
            log::info!("{}: login refused", self.peer);
            line.pause(AFTER_REFUSAL);
        }
        line.session().verdict(admitted).map_err(End::Protocol)
    }

    fn config(&mut self, line: &Arc<Mux>, id: Option<RequestId>, data: &[u8]) -> Result<(), End> {
        let Stage::Config(holder) = &self.stage else {
            return match id {
                Some(id) => line.answer(id, false, b"already configured"),
                None => Ok(()),
            };
        };
        let outcome = self.listen(line, holder, data);
        match (&outcome, id) {
            (Ok(()), Some(id)) => line.answer(id, true, b"")?,
            (Err(text), Some(id)) => line.answer(id, false, text.as_bytes())?,
            (_, None) => {}
        }
        match outcome {
            Ok(()) => {
                self.stage = Stage::Up;
                line.ready();
            }
            // The client is the one to leave; it has until the deadline.
            Err(text) => {
                log::info!("{}: {text}", self.peer);
                self.shared.ports.release(line);
            }
        }
        Ok(())
    }

    /// All or none.
    fn listen(&self, line: &Arc<Mux>, holder: &str, data: &[u8]) -> Result<(), String> {
        let policy = self.shared.policy.as_ref();
        let remotes = decode_config(data).map_err(|error| error.to_string())?;
        let grants: Vec<Grant> = remotes.iter().map(|r| policy.grant(holder, r)).collect();
        if let Some(denied) = grants.iter().position(|grant| *grant == Grant::Denied)
            && let Some(remote) = remotes.get(denied)
        {
            let denied = remote.permission();
            return Err(format!("server: access to '{denied}' denied"));
        }
        for (remote, grant) in remotes.iter().zip(grants) {
            self.take(line, holder, remote, grant).map_err(|error| {
                log::debug!("{}: {}: {error}", self.peer, remote.local());
                format!("Server cannot listen on {}", remote.permission())
            })?;
        }
        Ok(())
    }

    fn take(&self, line: &Arc<Mux>, holder: &str, remote: &Remote, grant: Grant) -> io::Result<()> {
        let ports = &self.shared.ports;
        let visits = || self.shared.policy.visits(holder, remote);
        match grant {
            Grant::Denied => Err(io::ErrorKind::PermissionDenied.into()),
            Grant::Listen => ports.bind(remote, holder, visits(), line),
            Grant::ListenAt(address) => ports.bind_at(address, remote, (holder, visits()), line),
            Grant::Held => ports.hold(remote, holder, line),
        }
    }
}
