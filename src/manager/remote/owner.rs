//! The thread that has all state of one remote server.

use std::sync::Arc;

use crossbeam_channel::{Receiver, RecvError, Select, Sender, TryRecvError};

use super::command::{BegunCall, CallAnswer, Command, MainTunnelProgress};
use super::connector::Connector;
use super::credentials::ServerCredentials;
use super::environment::Environment;
use super::main_tunnel::{ConnectorInfo, MainTunnel};
use super::snapshot::ServerSnapshot;
use super::table::{Mailbox, OwnerTable, OwnersEnd};
use crate::store;

/// The owner of one server's state; [`Owner::run`] is its thread.
pub(super) struct Owner {
    mailbox: Arc<Mailbox>,
    table: Arc<OwnerTable>,
    environment: Arc<Environment>,
    commands: Receiver<Command>,
    closed: Receiver<()>,
    credentials: ServerCredentials,
    /// Quick-setup calls under way, in the order they began.
    calls: Vec<UnansweredCall>,
    main: MainTunnel,
    /// Who waits for the main tunnel.
    waiting: Vec<Sender<MainTunnelProgress>>,
    /// Dropped when the server knows this connector by another name or password.
    identity: Sender<()>,
    /// Dropped last: the thread has ended.
    _working: Sender<()>,
}

/// A quick-setup call under way.
struct UnansweredCall {
    /// Closed when it ends without an answer.
    answer: Receiver<CallAnswer>,
    /// Closed when nobody waits for the answer any more.
    stopped: Receiver<()>,
    /// Whether the answer of a call that began later was saved.
    is_overtaken: bool,
}

/// What an owner waits for.
enum OwnerEvent {
    Command(Command),
    /// The call at this place is over.
    Called(usize, Result<CallAnswer, RecvError>),
    /// The program ends.
    Closed,
}

impl Owner {
    pub(super) fn new(
        end: OwnersEnd,
        table: Arc<OwnerTable>,
        environment: Arc<Environment>,
    ) -> Self {
        let origin = &end.mailbox.origin;
        let commands = end.mailbox.commands.clone();
        Self {
            credentials: ServerCredentials::new(environment.credentials.clone(), origin),
            main: MainTunnel::new(origin, Arc::clone(&environment), commands),
            mailbox: end.mailbox,
            table,
            environment,
            commands: end.commands,
            closed: end.closed,
            calls: Vec::new(),
            waiting: Vec::new(),
            identity: end.identity,
            _working: end.working,
        }
    }

    /// Until nobody needs it, or the program ends.
    pub(super) fn run(mut self) {
        loop {
            match self.next_event() {
                OwnerEvent::Closed => return,
                OwnerEvent::Command(command) => self.obey(command),
                OwnerEvent::Called(index, answer) => self.call_is_over(index, answer),
            }
            let is_idle = self.calls.is_empty() && self.main.is_absent();
            if is_idle && self.table.remove_unused(&self.mailbox) {
                return;
            }
        }
    }

    fn next_event(&self) -> OwnerEvent {
        // Before what is queued: there may be much of it.
        if self.closed.try_recv() != Err(TryRecvError::Empty) {
            return OwnerEvent::Closed;
        }
        let mut select = Select::new();
        let of_closed = select.recv(&self.closed);
        let of_commands = select.recv(&self.commands);
        for call in &self.calls {
            select.recv(&call.answer);
        }
        let ready = select.select();
        match ready.index() {
            index if index == of_closed => {
                let _ = ready.recv(&self.closed);
                OwnerEvent::Closed
            }
            index if index == of_commands => {
                let command = ready.recv(&self.commands);
                OwnerEvent::Command(command.expect("the mailbox, which this has, holds a sender"))
            }
            index => {
                let index = index - of_commands - 1;
                let call = self.calls.get(index).expect("each call was added once");
                OwnerEvent::Called(index, ready.recv(&call.answer))
            }
        }
    }

    fn obey(&mut self, command: Command) {
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
            Command::MainTunnelIsUp => self.main_tunnel_is_up(),
            Command::Forget { reply } => {
                let was_known = self.forget();
                let _ = reply.send(was_known);
            }
            Command::RetireMainTunnel => self.retire_main_tunnel(),
            Command::Unused => {}
        }
    }

    fn begin_call(
        &mut self,
        reload: bool,
        stopped: Receiver<()>,
    ) -> Result<BegunCall, store::Error> {
        let credentials = self.credentials.get(reload)?;
        // Without room: an answer is either taken here, or its call learns that nobody takes it.
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

    fn call_is_over(&mut self, index: usize, answer: Result<CallAnswer, RecvError>) {
        let call = self.calls.remove(index);
        let Ok(answer) = answer else {
            return;
        };
        let is_awaited = call.stopped.try_recv() == Err(TryRecvError::Empty);
        if call.is_overtaken && !is_awaited {
            log::debug!(
                "an answer from {} came too late to be saved",
                self.mailbox.origin
            );
            return;
        }
        let saved = self.accept(&answer, index, is_awaited);
        if let Err(error) = &saved {
            log::warn!("{error}");
        }
        // Nobody may wait for it.
        let _ = answer.saved.send(saved);
    }

    /// Step 2 of the connect sequence. `index` is that of the calls that began after this one.
    fn accept(
        &mut self,
        answer: &CallAnswer,
        index: usize,
        is_awaited: bool,
    ) -> Result<Connector, String> {
        let accepted = self.credentials.accept(&answer.setup, answer.own_port);
        let accepted = accepted.map_err(|error| format!("cannot save the credentials: {error}"))?;
        for earlier in self.calls.iter_mut().take(index) {
            earlier.is_overtaken = true;
        }
        if accepted.is_new_identity {
            self.identity_has_changed();
        }
        log::debug!("the credentials from {} are saved", self.mailbox.origin);
        if is_awaited {
            self.pin(
                &accepted.connector,
                answer.setup.connector.fingerprint.as_deref(),
            )?;
        }
        Ok(accepted.connector)
    }

    /// A fingerprint that came with the answer is pinned, unless one is already.
    fn pin(&self, connector: &Connector, fingerprint: Option<&str>) -> Result<(), String> {
        let (Some(fingerprint), Ok(endpoint)) = (fingerprint, connector.endpoint()) else {
            return Ok(());
        };
        let known = self.environment.known.told_by(&self.mailbox.origin);
        let pinned = known.pin_first(&endpoint.authority(), fingerprint);
        pinned.map_err(|error| error.to_string())
    }

    /// Sets the main tunnel up with what is known now, unless that is done, and tells those who wait.
    fn set_up_main_tunnel(&mut self) {
        match self.connector_info() {
            Ok(info) => {
                self.main.set_up(info, &mut self.credentials);
                self.main_tunnel_has_changed();
            }
            Err(error) => self.tell_waiting(&MainTunnelProgress::Failed(error)),
        }
    }

    fn connector_info(&mut self) -> Result<ConnectorInfo, String> {
        let credentials = self.credentials.get(false);
        let credentials = credentials.map_err(|error| error.to_string())?;
        let connector = Connector::of(&self.mailbox.origin, &credentials);
        match (connector, credentials.api_port) {
            (Some(connector), Some(api_port)) => Ok(ConnectorInfo {
                connector,
                api_port,
            }),
            _ => Err("the connector info is not complete: connect again".into()),
        }
    }

    fn main_tunnel_is_up(&mut self) {
        let origin = &self.mailbox.origin;
        self.environment.connections.server_is_back(origin);
        if !self.main.is_up(&mut self.credentials) {
            return;
        }
        if self.waiting.is_empty() {
            self.main_tunnel_has_changed();
        } else {
            // Another answer may have come: they wait for one that is made with that.
            self.set_up_main_tunnel();
        }
    }

    fn main_tunnel_has_changed(&mut self) {
        self.publish();
        if let Some(progress) = self.main.progress() {
            self.tell_waiting(&progress);
        }
    }

    /// Those who are gone, or have heard the last of it, wait no more.
    fn tell_waiting(&mut self, progress: &MainTunnelProgress) {
        let is_last = !matches!(progress, MainTunnelProgress::Connecting(_));
        self.waiting
            .retain(|waiting| waiting.send(progress.clone()).is_ok() && !is_last);
    }

    fn forget(&mut self) -> Result<bool, store::Error> {
        // Their answers are for what is forgotten.
        self.calls.clear();
        let was_known = self.credentials.forget()?;
        self.identity_has_changed();
        self.end_main_tunnel();
        Ok(was_known)
    }

    fn retire_main_tunnel(&mut self) {
        if !self.main.is_absent() && self.table.is_unused(&self.mailbox) {
            let origin = &self.mailbox.origin;
            log::info!("main tunnel to {origin}: no application uses it");
            self.end_main_tunnel();
        }
    }

    fn end_main_tunnel(&mut self) {
        self.main.retire();
        self.publish();
        let gone = "the connector info is not complete: connect again";
        self.tell_waiting(&MainTunnelProgress::Failed(gone.into()));
    }

    fn identity_has_changed(&mut self) {
        let (identity, changed) = crossbeam_channel::bounded(0);
        let before = std::mem::replace(&mut self.identity, identity);
        self.publish_with(changed);
        // Who waits for the change finds the new snapshot.
        drop(before);
    }

    fn publish(&self) {
        let identity_changed = self.mailbox.snapshot().identity_changed.clone();
        self.publish_with(identity_changed);
    }

    fn publish_with(&self, identity_changed: Receiver<()>) {
        self.mailbox.publish(ServerSnapshot {
            main: self.main.view(),
            identity_changed,
        });
    }
}

/// Also where a command panicked: who comes next gets another owner.
impl Drop for Owner {
    fn drop(&mut self) {
        self.table.remove(&self.mailbox);
    }
}
