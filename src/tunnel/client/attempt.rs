//! One connection of a client, from the dialling to its end.
//!
//! ```text
//! HostKey ─ known ─> Login ─ LoggedIn ─> Config ─ success ─> Up ─ streams
//! ```

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::failure::{Class, Failure};
use super::streams;
use super::{HostKeyCheck, Settings, Shared};
use crate::tunnel::known_servers::Known;
use crate::tunnel::mux::{End, Handler, Mux, Options};
use crate::tunnel::remote::encode_config;
use crate::tunnel::ssh::{self, ChannelId, Event, HostKey, HostKeyAlgorithm, Refusal, RequestId};
use crate::tunnel::ws;

/// Connects, and serves streams until the connection ends; answers why it did.
pub(super) fn run(shared: &Arc<Shared>, settings: &Settings) -> Failure {
    match connect(shared, settings) {
        Ok(end) | Err(end) => end,
    }
}

fn connect(shared: &Arc<Shared>, settings: &Settings) -> Result<Failure, Failure> {
    let (from, to) = ws::dial(&settings.endpoint, &settings.dial, &shared.cancel)?;
    let local = |error: ssh::Error| Failure::new(Class::Local, error.to_string());
    let (session, reader, writer) = ssh::client(&config(settings)).map_err(local)?;
    let line = Mux::new(
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
            traffic: Arc::clone(&shared.traffic),
        },
    );
    shared.state().line = Some(Arc::clone(&line));
    let stopped = Arc::clone(&line);
    let _watch = shared.cancel.watch(move || stopped.stop());
    let mut client = Client {
        shared,
        settings,
        stage: Stage::HostKey,
        has_warned: false,
        is_crowded: false,
        failure: None,
    };
    let end = line.run(reader, from, &mut client);
    Ok(client.failure.take().unwrap_or_else(|| Failure::from(end)))
}

/// A server with several keys is asked for the kind that is known.
fn config(settings: &Settings) -> ssh::Config {
    let mut config = settings.ssh.clone();
    if let HostKeyCheck::Pinned(known) = &settings.host_key
        && let Some(kind) = known.kind(&settings.endpoint.authority())
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

enum Stage {
    HostKey,
    Login,
    Config(RequestId),
    Up,
}

struct Client<'a> {
    shared: &'a Shared,
    settings: &'a Settings,
    stage: Stage,
    /// Of a target that was not offered: a server may ask without end.
    has_warned: bool,
    /// The last stream was one too many.
    is_crowded: bool,
    failure: Option<Failure>,
}

impl Handler for Client<'_> {
    fn event(&mut self, line: &Arc<Mux>, event: Event<'_>) -> Result<(), End> {
        match event {
            Event::HostKey(key) => self.host_key(line, &key),
            Event::LoginRefused => Err(self.fail(Failure::new(
                Class::WrongPassword,
                "the server refused the user name or password",
            ))),
            Event::LoggedIn => self.logged_in(line),
            Event::Reply {
                id,
                success,
                data,
                round_trip,
            } => self.replied(line, id, (success, data), round_trip),
            // A chisel server asks for nothing but pings.
            Event::Request { id: Some(id), .. } => line.answer(id, false, b""),
            Event::Open {
                channel,
                kind,
                extra,
            } => self.opened(line, channel, kind, extra),
            _ => Ok(()),
        }
    }
}

impl Client<'_> {
    fn fail(&mut self, failure: Failure) -> End {
        self.failure = Some(failure);
        End::Handler
    }

    /// No password leaves before this has gone well.
    fn host_key(&mut self, line: &Mux, key: &HostKey) -> Result<(), End> {
        if let Err(failure) = check(self.settings, key) {
            line.session().disconnect(
                ssh::Reason::HostKeyNotVerifiable,
                "the host key is not the known one",
            );
            return Err(self.fail(failure));
        }
        self.stage = Stage::Login;
        let login = line
            .session()
            .login(&self.settings.user, &self.settings.password);
        login.map_err(|error| self.fail(Failure::new(Class::Local, error.to_string())))
    }

    fn logged_in(&mut self, line: &Mux) -> Result<(), End> {
        let config = encode_config(&self.settings.remotes);
        let id = line
            .session()
            .request("config", &config, Instant::now())
            .map_err(End::Protocol)?;
        self.stage = Stage::Config(id);
        Ok(())
    }

    /// A text is a failure, also under success.
    fn replied(
        &mut self,
        line: &Mux,
        id: RequestId,
        (success, data): (bool, &[u8]),
        trip: Duration,
    ) -> Result<(), End> {
        if !matches!(self.stage, Stage::Config(config) if config == id) {
            return Ok(());
        }
        if !success || !data.is_empty() {
            line.session()
                .disconnect(ssh::Reason::ByApplication, "the remotes were refused");
            return Err(self.fail(Failure::of_config(data)));
        }
        self.stage = Stage::Up;
        line.timed(trip);
        line.ready();
        self.shared.connected(trip);
        if let Some(tell) = &self.settings.on_connected {
            tell();
        }
        Ok(())
    }

    /// The server is not trusted with the rest of the network: only what was configured is reached.
    fn opened(
        &mut self,
        line: &Arc<Mux>,
        channel: ChannelId,
        kind: &str,
        extra: &[u8],
    ) -> Result<(), End> {
        if kind != "chisel" {
            return line.refuse(channel, Refusal::UnknownType, "unknown channel type");
        }
        let wanted = self
            .settings
            .remotes
            .iter()
            .find(|remote| remote.target().as_bytes() == extra);
        let Some(remote) = wanted.filter(|_| matches!(self.stage, Stage::Up)) else {
            if !std::mem::replace(&mut self.has_warned, true) {
                log::warn!("the server asked for a target that was not offered: refused");
            }
            return line.refuse(channel, Refusal::Prohibited, "not a target of this client");
        };
        let open = self.shared.traffic.streams.load(Ordering::Relaxed);
        let Some(permit) = streams::permit(open) else {
            if !std::mem::replace(&mut self.is_crowded, true) {
                log::warn!("{open} streams of this tunnel are open: no further one is accepted");
            }
            return line.refuse(channel, Refusal::ResourceShortage, "too many streams");
        };
        self.is_crowded = false;
        let host = &remote.remote_host;
        let local = self.settings.localhost.map(|address| address.to_string());
        let host = local
            .filter(|_| host.eq_ignore_ascii_case("localhost"))
            .unwrap_or_else(|| host.clone());
        line.serve_target(channel, &host, remote.remote_port, permit)
            .map_err(End::Protocol)
    }
}

fn check(settings: &Settings, key: &HostKey) -> Result<(), Failure> {
    let seen = key.fingerprint();
    let changed = |known: &str, advice: &str| {
        let server = settings.endpoint.authority();
        Failure::of_host_key(server, known, seen.clone(), advice)
    };
    match &settings.host_key {
        HostKeyCheck::Any => Ok(()),
        HostKeyCheck::Fingerprint(known) if *known == seen => Ok(()),
        HostKeyCheck::Fingerprint(known) => Err(changed(known, "give its new fingerprint")),
        HostKeyCheck::Pinned(store) => match store.check(&settings.endpoint.authority(), key) {
            Ok(Known::Same | Known::New) => Ok(()),
            Ok(Known::Changed(known)) => Err(changed(&known, store.advice())),
            Err(error) => Err(Failure::new(Class::Local, error.to_string())),
        },
    }
}
