//! The thread that has all state of one remote server.

use std::sync::Arc;

use crossbeam_channel::{Receiver, Select, Sender, TryRecvError, never};

use super::connector::{Connector, ServerCredentials};
use super::environment::Environment;
use super::main_tunnel::MainTunnel;
use super::server::{
    BegunCall, CallAnswer, Command, MainTunnelProgress, RemoteServer, ServerSnapshot,
};
use crate::manager::connection::ConnectError;
use crate::manager::quick_setup::{Alternate, Setup};
use crate::net::authority::authority;
use crate::store;
use crate::sync::Mutex;
use crate::tunnel::known_servers::KnownServers;
use crate::tunnel::ws::Endpoint;

/// Name under which the key of a server's fleet is pinned: no address looks like it.
const FLEET: &str = "fleet";

/// Error for an answer without a list of enforced settings, if earlier ones had one: a code in it would replace the
/// application's own.
const NO_RELAY_ANY_MORE: &str = "the server was a postern relay and no longer answers as one: ask its operator, or \
    reset its identity";

/// Error for a main tunnel without saved connector info.
const INCOMPLETE: &str = "the connector data is incomplete: connect again";

/// The owner of one server's state; [`ServerOwner::run`] is its thread.
pub(super) struct ServerOwner {
    environment: Arc<Environment>,
    origin: String,
    commands: Receiver<(Arc<RemoteServer>, Command)>,
    /// Closed when the program ends.
    closed: Receiver<()>,
    credentials: ServerCredentials,
    /// Further relays in the last answer; none if it named no fleet.
    others: Option<Vec<Alternate>>,
    /// Quick-setup calls under way, in the order they began.
    calls: Vec<UnansweredCall>,
    main: MainTunnel,
    /// Callers that wait for the main tunnel.
    waiting: Vec<Sender<MainTunnelProgress>>,
    /// Dropped when the server knows this connector by another name or password.
    identity: (Sender<()>, Receiver<()>),
    /// Kept while there is something to own, to keep `commands` open. Dropped last, because the wait for the owner's
    /// end finds the owner by it.
    mailbox: Option<Arc<RemoteServer>>,
    /// Dropped when the owner has given everything back.
    working: Option<Sender<()>>,
}

/// A quick-setup call under way.
struct UnansweredCall {
    /// Closed when it ends without an answer.
    answer: Receiver<CallAnswer>,
    /// Closed when nobody waits for the answer any more.
    stopped: Receiver<()>,
    /// True if the answer of a later call was saved.
    is_overtaken: bool,
}

/// Events of an owner.
enum OwnerEvent {
    Command(Arc<RemoteServer>, Command),
    /// The call with this index has ended, perhaps with an answer.
    CallEnded(usize, Option<CallAnswer>),
}

impl ServerOwner {
    /// Returns an owner for the server with this origin, and its mailbox. It ends when `closed` is closed.
    pub(super) fn new(
        origin: &str,
        environment: Arc<Environment>,
        closed: Receiver<()>,
    ) -> (Self, Arc<RemoteServer>) {
        let (sender, commands) = crossbeam_channel::unbounded();
        let (working, done) = crossbeam_channel::bounded(0);
        let identity = crossbeam_channel::bounded(0);
        let first = ServerSnapshot {
            main: None,
            identity_changed: identity.1.clone(),
        };
        let mailbox = Arc::new(RemoteServer {
            origin: origin.to_owned(),
            commands: sender,
            done,
            snapshot: Mutex::new(Arc::new(first)),
        });
        let owner = Self {
            origin: origin.to_owned(),
            commands,
            mailbox: None,
            closed,
            credentials: ServerCredentials::new(environment.credentials.clone(), origin),
            others: None,
            calls: Vec::new(),
            main: MainTunnel::new(&mailbox, Arc::clone(&environment)),
            waiting: Vec::new(),
            identity,
            environment,
            working: Some(working),
        };
        (owner, mailbox)
    }

    /// Works until nobody needs it, or the program ends.
    pub(super) fn run(mut self) {
        while let Some(event) = self.next_event() {
            match event {
                OwnerEvent::Command(mailbox, command) => {
                    self.mailbox = Some(mailbox);
                    self.execute(command);
                }
                OwnerEvent::CallEnded(index, answer) => self.finish_call(index, answer),
            }
            if self.calls.is_empty() && self.main.is_absent() {
                self.mailbox = None;
            }
        }
        self.end();
    }

    /// Gives everything back. A call may still be answered before the process ends; the answer is saved, although
    /// nobody waits for it.
    fn end(mut self) {
        (self.closed, self.commands) = (never(), never());
        self.waiting.clear();
        self.main.end_service();
        self.working = None;
        while !self.calls.is_empty()
            && let Some(OwnerEvent::CallEnded(index, answer)) = self.next_event()
        {
            self.finish_call(index, answer);
        }
    }

    /// Returns the next event; none at the end.
    fn next_event(&self) -> Option<OwnerEvent> {
        // Checked before the queue, which may be long.
        if self.closed.try_recv() != Err(TryRecvError::Empty) {
            return None;
        }
        let mut select = Select::new();
        let of_closed = select.recv(&self.closed);
        let of_commands = select.recv(&self.commands);
        for call in &self.calls {
            select.recv(&call.answer);
        }
        let ready = select.select();
        match ready.index() {
            index if index == of_closed => ready.recv(&self.closed).ok().and(None),
            index if index == of_commands => {
                let (mailbox, command) = ready.recv(&self.commands).ok()?;
                Some(OwnerEvent::Command(mailbox, command))
            }
            index => {
                let index = index - of_commands - 1;
                let call = self.calls.get(index).expect("each call was added once");
                Some(OwnerEvent::CallEnded(index, ready.recv(&call.answer).ok()))
            }
        }
    }

    fn execute(&mut self, command: Command) {
        match command {
            Command::BeginCall {
                reload,
                stopped,
                reply,
            } => {
                let begun = self.begin_call(reload, stopped);
                let _ = reply.send(begun);
            }
            Command::SetUpMainTunnel { progress } => {
                self.waiting.push(progress);
                self.set_up_main_tunnel();
            }
            Command::MainTunnelIsUp => self.handle_main_tunnel_up(),
            Command::Forget { reply } => {
                let was_known = self.forget();
                let _ = reply.send(was_known);
            }
            Command::RetireMainTunnel => self.retire_main_tunnel(),
        }
    }

    fn begin_call(
        &mut self,
        reload: bool,
        stopped: Receiver<()>,
    ) -> Result<BegunCall, store::Error> {
        let credentials = self.credentials.get(reload)?;
        // A channel without room: an answer is either taken here, or its call learns that nobody takes it.
        let (sender, answer) = crossbeam_channel::bounded(0);
        self.calls.push(UnansweredCall {
            answer,
            stopped,
            is_overtaken: false,
        });
        Ok(BegunCall {
            credentials,
            answer: sender,
        })
    }

    fn finish_call(&mut self, index: usize, answer: Option<CallAnswer>) {
        let call = self.calls.remove(index);
        let Some(answer) = answer else {
            return;
        };
        let is_awaited = call.stopped.try_recv() == Err(TryRecvError::Empty);
        if call.is_overtaken && !is_awaited {
            log::debug!("an answer from {} came too late to be saved", self.origin);
            return;
        }
        let saved = self.accept(&answer, index, is_awaited);
        if let Err(error) = &saved {
            log::warn!("{error}");
        }
        // Nobody may wait for it.
        let _ = answer.saved.send(saved);
    }

    /// Step 2 of the connect sequence. The calls before `index` began before this one.
    fn accept(
        &mut self,
        answer: &CallAnswer,
        index: usize,
        is_awaited: bool,
    ) -> Result<Connector, String> {
        let known = self.credentials.get(false).ok();
        if known.as_ref().is_some_and(|known| known.is_relay) && !answer.setup.is_of_relay() {
            return Err(NO_RELAY_ANY_MORE.to_owned());
        }
        let before = known.and_then(|known| Connector::of(&self.origin, &known));
        let mut setup = answer.setup.clone();
        let keys = self.keys_of(&setup)?;
        if let (Some(keys), Some(others)) = (&keys, &mut setup.connector.alternates) {
            others.retain(|other| keys.contains(&other.fingerprint));
        }
        let accepted = self.credentials.accept(&setup, answer.own_port);
        let accepted = accepted.map_err(|error| format!("cannot save the credentials: {error}"))?;
        for earlier in self.calls.iter_mut().take(index) {
            earlier.is_overtaken = true;
        }
        if accepted.is_new_identity {
            self.announce_new_identity();
        }
        log::debug!("the credentials from {} are saved", self.origin);
        if is_awaited {
            let given = &setup.connector;
            // The server names the tunnel server; its key was fixed when it was first seen. A relay that joins a fleet
            // has a key of its own, which a known key must vouch for. A server of another maker may have tunnel servers
            // with several keys.
            let named = given.fingerprint.as_ref();
            let is_known =
                (keys.as_ref()).is_some_and(|keys| named.is_some_and(|it| keys.contains(it)));
            let before = before.filter(|_| setup.is_of_relay() && !is_known);
            let pinned = before.and_then(|before| self.pinned(&before));
            let fingerprint = match &keys {
                // Another key is refused by the tunnel, unless the user trusts it.
                Some(keys) if !is_known => pinned.or(keys.first().cloned()),
                _ => pinned.or(given.fingerprint.clone()),
            };
            self.pin(accepted.connector.endpoint(), fingerprint.as_deref())?;
            for other in given.alternates.iter().flatten() {
                self.pin(other.endpoint(), Some(&other.fingerprint))?;
            }
            if let (Some(keys), Some(fleet)) = (&keys, &given.fleet)
                && keys.contains(&fleet.key)
            {
                let pinned = self.known().pin_first(FLEET, &fleet.key);
                pinned.map_err(|error| error.to_string())?;
            }
        }
        self.others.clone_from(&accepted.connector.others);
        Ok(accepted.connector)
    }

    /// Fingerprints that relays of a fleet may have: known ones, and those that a known key vouches for; at the first
    /// contact, all in the answer. None without a fleet.
    fn keys_of(&self, setup: &Setup) -> Result<Option<Vec<String>>, String> {
        let given = &setup.connector;
        let Some(others) = given.alternates.as_ref().filter(|_| setup.is_of_relay()) else {
            return Ok(None);
        };
        let known = self.known().fingerprints();
        let mut keys = known.map_err(|error| error.to_string())?;
        let is_first = keys.is_empty();
        if is_first {
            keys.extend(given.fingerprint.clone());
            keys.extend(others.iter().map(|other| other.fingerprint.clone()));
        }
        if let Some(fleet) = &given.fleet
            && (is_first || fleet.is_vouched(&keys))
        {
            keys.push(fleet.key.clone());
            keys.extend(fleet.relays.iter().cloned());
        }
        let strangers = others.iter().filter(|it| !keys.contains(&it.fingerprint));
        for other in strangers {
            let at = authority(&other.external_ip, other.tunnel_port);
            log::warn!("relay {at} is not used: no known key vouches for its host key");
        }
        Ok(Some(keys))
    }

    /// Fingerprint that is pinned for this connector's tunnel server.
    fn pinned(&self, connector: &Connector) -> Option<String> {
        let endpoint = connector.endpoint().ok()?;
        self.known().fingerprint(&endpoint.server())
    }

    /// Host keys of the tunnel servers that this server names.
    fn known(&self) -> KnownServers {
        self.environment.known.named_by(&self.origin)
    }

    /// Pins a fingerprint of an answer, unless one is pinned already.
    fn pin(
        &self,
        endpoint: Result<Endpoint, ConnectError>,
        fingerprint: Option<&str>,
    ) -> Result<(), String> {
        let (Some(fingerprint), Ok(endpoint)) = (fingerprint, endpoint) else {
            return Ok(());
        };
        let pinned = self.known().pin_first(&endpoint.server(), fingerprint);
        pinned.map_err(|error| error.to_string())
    }

    /// Sets the main tunnel up with the current credentials, unless that is done, and notifies waiters.
    fn set_up_main_tunnel(&mut self) {
        match self.connector() {
            Ok(info) => {
                self.main.set_up(info, &mut self.credentials);
                self.publish_main_tunnel();
            }
            Err(error) => self.notify_waiting(&MainTunnelProgress::Failed(error)),
        }
    }

    fn connector(&mut self) -> Result<Connector, String> {
        let credentials = self.credentials.get(false);
        let credentials = credentials.map_err(|error| error.to_string())?;
        let connector = Connector::of(&self.origin, &credentials);
        Ok(Connector {
            others: self.others.clone(),
            ..connector.ok_or(INCOMPLETE)?
        })
    }

    fn handle_main_tunnel_up(&mut self) {
        let origin = &self.origin;
        self.environment
            .connections
            .retry_for_returned_server(origin);
        if !self.main.note_connected(&mut self.credentials) {
            return;
        }
        let is_ready = matches!(self.main.progress(), Some(MainTunnelProgress::Ready));
        if is_ready && !self.waiting.is_empty() {
            // Another answer may have come; then they wait for a tunnel that is made with it.
            self.set_up_main_tunnel();
        } else {
            self.publish_main_tunnel();
        }
    }

    fn publish_main_tunnel(&mut self) {
        self.publish();
        if let Some(progress) = self.main.progress() {
            self.notify_waiting(&progress);
        }
    }

    /// Sends the progress to waiters; removes those that have gone, or got the last message.
    fn notify_waiting(&mut self, progress: &MainTunnelProgress) {
        let is_last = !matches!(progress, MainTunnelProgress::Connecting(_));
        self.waiting
            .retain(|waiting| waiting.send(progress.clone()).is_ok() && !is_last);
    }

    fn forget(&mut self) -> Result<bool, store::Error> {
        // Their answers are for the forgotten credentials.
        self.calls.clear();
        let was_known = self.credentials.forget()?;
        self.announce_new_identity();
        self.end_main_tunnel();
        Ok(was_known)
    }

    fn retire_main_tunnel(&mut self) {
        // Sending to a waiter shows whether it has gone.
        self.publish_main_tunnel();
        if !self.main.is_absent() && self.waiting.is_empty() {
            let origin = &self.origin;
            log::info!("main tunnel to {origin}: no application uses it");
            self.end_main_tunnel();
        }
    }

    fn end_main_tunnel(&mut self) {
        self.main.retire();
        self.publish();
        self.notify_waiting(&MainTunnelProgress::Failed(INCOMPLETE.into()));
    }

    fn announce_new_identity(&mut self) {
        let before = std::mem::replace(&mut self.identity, crossbeam_channel::bounded(0));
        self.publish();
        // Waiters for the change find the new snapshot.
        drop(before);
    }

    fn publish(&self) {
        let mailbox = self.mailbox.as_ref();
        let mailbox = mailbox.expect("an event has something to own, or came with the mailbox");
        mailbox.publish(ServerSnapshot {
            main: self.main.view(),
            identity_changed: self.identity.1.clone(),
        });
    }
}

#[cfg(test)]
#[path = "owner_tests.rs"]
mod tests;
