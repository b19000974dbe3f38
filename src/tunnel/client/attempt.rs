//! One connection of a client, from dialling by one way or the other to its end.
//!
//! ```text
//! HostKey ─ known ─> Login ─ LoggedIn ─> Config ─ success ─> Up ─ streams
//! ```

use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::bounded;

use super::failure::{Class, Failure};
use super::settings::{HostKeyCheck, Settings, Way};
use super::state::TunnelState;
use crate::http::server::raise_open_files;
use crate::sync::{Permit, Permits, Thread, spawn_scoped};
use crate::tunnel::known_servers::KeyMatch;
use crate::tunnel::mux::{End, Handler, Mux, Options};
use crate::tunnel::remote::encode_config;
use crate::tunnel::ssh::{
    ChannelId, ChannelOpenFailure, Event, HostKey, HostKeyAlgorithm, RequestId,
};
use crate::tunnel::ws::{Cancel, DialError, DialOptions, Endpoint, WsReader, WsWriter};
use crate::tunnel::{ssh, ws};

/// Open files of streams to targets, over all tunnels of this process. Default 8192; fewer if this process may not open
/// so many files. The server decides how many streams it opens, and a process without open files left answers nobody.
const MOST: usize = crate::limits::STREAMS;
/// Open files that are left for the rest of the program. Default 128: pages, databases, the tunnels themselves.
const RESERVED: usize = 128;
/// Share of the other open files for streams, as a divisor. Default a half: pages and web clients have connections too.
const PART: usize = 2;
/// Streams that are always allowed. Default 16.
const LEAST: usize = 16;
/// Share of all streams for one tunnel, as a divisor. Default a half: visitors of other tunnels need room too.
const SHARE_OF_TUNNEL: usize = crate::limits::STREAMS_OF_TUNNEL;
/// Open files of a stream that is served in this process: its waker, and the connection to the application.
const FILES_SERVED: usize = 2;
/// Streams of one tunnel that are served in this process. Default 2048: only busy ones have a thread.
const MOST_SERVED: usize = crate::limits::STREAMS_OF_SITE;

/// Open files of all streams.
static OPEN: LazyLock<Permits> = LazyLock::new(Permits::default);
/// Limit for [`OPEN`], from the limit of open files.
static ROOM: OnceLock<usize> = OnceLock::new();

/// Start of the first line of an SSH server (RFC 4253 section 4.2).
pub(crate) const GREETING: &str = "SSH-";

/// Connects, and serves streams until the connection ends; returns the reason for the end.
pub(super) fn run(state: &TunnelState, settings: &Settings) -> Failure {
    match connect(state, settings) {
        Ok(end) | Err(end) => end,
    }
}

fn connect(state: &TunnelState, settings: &Settings) -> Result<Failure, Failure> {
    let (way, (from, to)) = dial(state, settings)?;
    let local = |error: ssh::Error| Failure::new(Class::Local, error.to_string());
    let (session, reader, writer) = ssh::client(&config(settings)).map_err(local)?;
    let mux = Mux::new(
        session,
        writer,
        to,
        Options {
            keepalive: settings.keepalive,
            ready_within: settings.timeouts.ready,
            answer_within: settings.timeouts.answer,
            target_within: settings.timeouts.target,
            target_missed: settings.target_missed.clone(),
            may_dial: settings.may_dial.clone(),
            traffic: Arc::clone(&state.traffic),
        },
    );
    state.set_connecting(&mux);
    let stopped = Arc::clone(&mux);
    let _watch = state.cancel.watch(move || stopped.stop());
    let mut client = ClientHandler {
        state,
        settings,
        way,
        phase: HandshakePhase::HostKey,
        has_warned: false,
        is_crowded: false,
        failure: None,
    };
    let end = mux.run(reader, from, &mut client);
    Ok(client.failure.take().unwrap_or_else(|| Failure::from(end)))
}

/// Settings of the protocol that ask a server with several keys for the kind that is known.
fn config(settings: &Settings) -> ssh::Config {
    let mut config = settings.ssh.clone();
    if let HostKeyCheck::Pinned(known) | HostKeyCheck::Shown(known) = &settings.host_key
        && let Some(kind) = known.kind(&settings.endpoint.server())
    {
        let is_known = |algorithm: &HostKeyAlgorithm| {
            algorithm.name() == kind || (kind == "ssh-rsa" && algorithm.name().starts_with("rsa-"))
        };
        config
            .host_keys
            .sort_by_key(|algorithm| !is_known(algorithm));
    }
    config
}

/// Next step expected from the server.
enum HandshakePhase {
    HostKey,
    Login,
    Config(RequestId),
    Up,
}

struct ClientHandler<'a> {
    state: &'a TunnelState,
    settings: &'a Settings,
    way: Way,
    phase: HandshakePhase,
    /// True if a request for another target was logged: a server may repeat it without end.
    has_warned: bool,
    /// True if the last stream was refused for lack of room.
    is_crowded: bool,
    failure: Option<Failure>,
}

impl Handler for ClientHandler<'_> {
    fn event(&mut self, mux: &Arc<Mux>, event: Event<'_>) -> Result<(), End> {
        match event {
            Event::HostKey(key) => self.host_key(mux, &key),
            Event::AuthFailure => Err(self.fail(Failure::new(
                Class::WrongPassword,
                "the server refused the user name or password",
            ))),
            Event::AuthSuccess => self.on_login(mux),
            Event::RequestReply {
                id,
                success,
                data,
                round_trip,
            } => self.on_reply(mux, id, success, data, round_trip),
            // A chisel server asks for nothing but pings.
            Event::GlobalRequest { id: Some(id), .. } => mux.answer(id, false, b""),
            Event::ChannelOpen {
                channel,
                kind,
                extra,
            } => self.opened(mux, channel, kind, extra),
            _ => Ok(()),
        }
    }

    fn on_notice(&mut self, data: &[u8]) {
        if let Some(on_notice) = &self.settings.on_notice {
            on_notice(data);
        }
    }
}

impl ClientHandler<'_> {
    fn fail(&mut self, failure: Failure) -> End {
        self.failure = Some(failure);
        End::Handler
    }

    /// Checks the host key; no password is sent before.
    fn host_key(&mut self, mux: &Mux, key: &HostKey) -> Result<(), End> {
        if let Err(failure) = check(self.settings, self.way, key) {
            mux.session().disconnect(
                ssh::DisconnectReason::HostKeyNotVerifiable,
                "the host key is not the known one",
            );
            return Err(self.fail(failure));
        }
        self.phase = HandshakePhase::Login;
        let login = mux
            .session()
            .authenticate(&self.settings.user, &self.settings.password);
        login.map_err(|error| self.fail(Failure::new(Class::Local, error.to_string())))
    }

    fn on_login(&mut self, mux: &Mux) -> Result<(), End> {
        let config = encode_config(&self.settings.remotes);
        let id = mux
            .session()
            .request("config", &config, Instant::now())
            .map_err(End::Protocol)?;
        self.phase = HandshakePhase::Config(id);
        Ok(())
    }

    /// Handles the reply to the configuration. A text is a failure, also under success.
    fn on_reply(
        &mut self,
        mux: &Mux,
        id: RequestId,
        success: bool,
        data: &[u8],
        trip: Duration,
    ) -> Result<(), End> {
        if !matches!(self.phase, HandshakePhase::Config(config) if config == id) {
            return Ok(());
        }
        if !success || !data.is_empty() {
            mux.session().disconnect(
                ssh::DisconnectReason::ByApplication,
                "the remotes were refused",
            );
            return Err(self.fail(Failure::of_config(data)));
        }
        self.phase = HandshakePhase::Up;
        mux.note_round_trip(trip);
        mux.mark_ready();
        // An owner that is told of failures tells of the rest too.
        let level = match self.settings.on_failed {
            Some(_) => log::Level::Debug,
            None => log::Level::Info,
        };
        self.state.set_connected(trip, self.way, level);
        if self.settings.url.is_some() {
            let server = self.settings.endpoint.server();
            self.settings.last_ways.note(server, self.way);
        }
        if let Some(on_connected) = &self.settings.on_connected {
            on_connected();
        }
        Ok(())
    }

    /// Accepts a stream to a configured target only: the server is not trusted with the rest of the network.
    fn opened(
        &mut self,
        mux: &Arc<Mux>,
        channel: ChannelId,
        kind: &str,
        extra: &[u8],
    ) -> Result<(), End> {
        if kind != "chisel" {
            return mux.refuse(
                channel,
                ChannelOpenFailure::UnknownChannelType,
                "unknown channel type",
            );
        }
        let wanted = self
            .settings
            .remotes
            .iter()
            .find(|remote| remote.target().as_bytes() == extra);
        let Some(remote) = wanted.filter(|_| matches!(self.phase, HandshakePhase::Up)) else {
            if !std::mem::replace(&mut self.has_warned, true) {
                log::warn!("the server asked for a target that is not configured: refused");
            }
            self.state.traffic.count_refused(false);
            return mux.refuse(
                channel,
                ChannelOpenFailure::AdministrativelyProhibited,
                "not a target of this client",
            );
        };
        let open = self.state.traffic.streams.load(Ordering::Relaxed);
        let is_served = self.settings.serve.is_some();
        let Some(permit) = permit(open, self.settings.max_streams, is_served) else {
            if !std::mem::replace(&mut self.is_crowded, true) {
                log::warn!("{open} streams of this tunnel are open: no more are accepted");
            }
            self.state.traffic.count_refused(true);
            return mux.refuse(
                channel,
                ChannelOpenFailure::ResourceShortage,
                "too many streams",
            );
        };
        self.is_crowded = false;
        if let Some(serve) = &self.settings.serve {
            let served = mux.serve_here(channel, serve, vec![permit]);
            return served.map_err(End::Protocol);
        }
        let host = &remote.remote_host;
        let local = self.settings.localhost.map(|address| address.to_string());
        let host = local
            .filter(|_| host.eq_ignore_ascii_case("localhost"))
            .unwrap_or_else(|| host.clone());
        mux.serve_target(channel, &host, remote.remote_port, vec![permit])
            .map_err(End::Protocol)
    }
}

fn check(settings: &Settings, way: Way, key: &HostKey) -> Result<(), Failure> {
    let seen = key.fingerprint();
    let changed = |known: &str, advice: &str| {
        let server = settings.endpoint.server();
        let url = settings.url.as_ref().filter(|_| way == Way::Url);
        let at = url.map_or(String::new(), |url| format!(" at {url}"));
        Failure::of_host_key(server, &at, known, seen.clone(), advice)
    };
    match &settings.host_key {
        HostKeyCheck::Any => Ok(()),
        HostKeyCheck::Fingerprint(known) if *known == seen => Ok(()),
        HostKeyCheck::Fingerprint(known) => Err(changed(known, "give its new fingerprint")),
        HostKeyCheck::Shown(store) => {
            let known = store.fingerprint(&settings.endpoint.server());
            Err(changed(&known.unwrap_or_default(), store.advice()))
        }
        HostKeyCheck::Pinned(store) => match store.check(&settings.endpoint.server(), key) {
            Ok(KeyMatch::Same | KeyMatch::New) => Ok(()),
            Ok(KeyMatch::Changed(known)) => Err(changed(&known, store.advice())),
            Err(error) => Err(Failure::new(Class::Local, error.to_string())),
        },
    }
}

/// Takes room for one more stream of a tunnel that has `of_tunnel` and may have `wanted` at most, if that is given.
/// None if the tunnel or the process has too many. A stream that `is_served` in this process uses two open files.
fn permit(of_tunnel: u64, wanted: Option<u64>, is_served: bool) -> Option<Permit> {
    let room = *ROOM.get_or_init(|| within(raise_open_files(RESERVED + MOST * PART)));
    let share = room / SHARE_OF_TUNNEL;
    let (files, most) = if is_served {
        (FILES_SERVED, (share / FILES_SERVED).min(MOST_SERVED))
    } else {
        (1, share)
    };
    let most = u64::try_from(most).ok()?.min(wanted.unwrap_or(u64::MAX));
    let has_room = of_tunnel < most;
    has_room.then(|| OPEN.take_several(files, room)).flatten()
}

/// Number of streams for a limit of `files` open files.
fn within(files: usize) -> usize {
    (files.saturating_sub(RESERVED) / PART).clamp(LEAST, MOST)
}

type Ends = (WsReader, WsWriter);

/// Opens a WebSocket to the server's port for tunnels, or to the URL of its web server, for networks that allow only
/// that. Begins with the way that worked last.
///
/// ```text
/// first way ──────── failed, or 3 s without `SSH-` ──> second way beside it
///     └─ its `SSH-` line: this one is used, the other dial ends
/// ```
///
/// The other way is not tried after the `SSH-` line: a server must not be able to choose it by refusing a password or
/// showing another key.
fn dial(state: &TunnelState, settings: &Settings) -> Result<(Way, Ends), Failure> {
    let alone = |way, to| {
        let dialled = ws::dial(to, &settings.dial, &state.cancel);
        Ok((way, dialled.map_err(Failure::from)?))
    };
    let port = &settings.endpoint;
    match &settings.url {
        None => alone(Way::Port, port),
        Some(url) if url == port => alone(Way::Url, url),
        Some(url) => match settings.last_ways.of(&port.server()) {
            Some(Way::Url) => race(state, settings, [(Way::Url, url), (Way::Port, port)], true),
            last => {
                let ways = [(Way::Port, port), (Way::Url, url)];
                race(state, settings, ways, last.is_some())
            }
        },
    }
}

/// Dials the first way, and then the second beside it. Both dials are over afterwards.
fn race(
    state: &TunnelState,
    settings: &Settings,
    [first, second]: [(Way, &Endpoint); 2],
    has_worked: bool,
) -> Result<(Way, Ends), Failure> {
    let head_start = settings.timeouts.head_start;
    let options = DialOptions {
        greeting: Some(GREETING),
        ..settings.dial.clone()
    };
    let mut of_second = options.clone();
    if has_worked {
        // The next attempt begins with the one that worked: this one may lead nowhere, and must not hold that up.
        let times = &mut of_second.timeouts;
        for time in [&mut times.resolve, &mut times.connect, &mut times.handshake] {
            *time = head_start.min(*time);
        }
    }
    let cancels = [(); 2].map(|()| Cancel::new());
    let both = cancels.clone();
    let stopped = move || both.iter().for_each(Cancel::cancel);
    let _watch = state.cancel.watch(stopped);
    let [cancel_first, cancel_second] = &cancels;
    let (is_running, is_over) = bounded::<()>(0);
    let dialled = thread::scope(|scope| {
        let beside = || {
            // Waits for the head start, or for the end of the first dial.
            let _ = is_over.recv_timeout(head_start);
            let dialled = ws::dial(second.1, &of_second, cancel_second);
            dialled.inspect(|_| cancel_first.cancel())
        };
        let beside =
            spawn_scoped(Thread::TunnelDial, scope, beside).map_err(DialError::Resources)?;
        let dialled = ws::dial(first.1, &options, cancel_first);
        if dialled.is_ok() {
            cancel_second.cancel();
        }
        drop(is_running);
        let beside = beside.join().expect("a dial returns its error");
        Ok::<_, DialError>([(first.0, dialled), (second.0, beside)])
    });
    match dialled? {
        [(way, Ok(ends)), _] | [_, (way, Ok(ends))] => Ok((way, ends)),
        [(Way::Port, Err(of_port)), (_, Err(of_url))] => Err(of_both(of_port, of_url, second.1)),
        [(_, Err(of_url)), (_, Err(of_port))] => Err(of_both(of_port, of_url, first.1)),
    }
}

/// Joins the failures of both ways. The class is that of the port, unless its address was not dialled.
fn of_both(of_port: DialError, of_url: DialError, url: &Endpoint) -> Failure {
    let [of_port, of_url] = [of_port, of_url].map(Failure::from);
    let class = match of_port.class {
        Class::AddressRefused => of_url.class,
        class => class,
    };
    Failure::new(class, format!("{of_port}; through {url}: {of_url}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_low_limit_leaves_room_for_the_rest() {
        assert_eq!(within(RESERVED + 2 * MOST), MOST);
        assert_eq!(within(100_000), MOST);
        assert_eq!(within(1024), 448);
        assert_eq!(within(256), 64);
        assert_eq!(within(0), LEAST);
    }
}
