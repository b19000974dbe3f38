//! How connections and the API reach a remote server's owner.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, TryRecvError, select};

use super::command::{BegunCall, Command, MainTunnelProgress};
use super::environment::Environment;
use super::mailbox::{Mailbox, ServerSnapshot};
use super::owner::Owner;
use crate::api::ErrorClass;
use crate::manager::connection::{ConnectError, Ended};
use crate::store;
use crate::sync::Mutex;
use crate::tunnel::group::TunnelGroup;

/// Bytes of an owner's stack: it saves credentials; only what is touched takes memory.
const STACK: usize = 256 * 1024;

/// Time for the main tunnel to connect. 30 s by the specification.
const MAIN_WAIT: Duration = crate::limits::TUNNEL_WAIT;

/// The remote servers that this process has to do with.
pub(crate) struct Servers {
    environment: Arc<Environment>,
    owners: Mutex<Owners>,
}

struct Owners {
    /// The mailboxes by origin; one that is gone has no owner any more.
    by_origin: BTreeMap<String, Weak<Mailbox>>,
    /// Dropped to end them all; none where no other may begin.
    closing: Option<Sender<()>>,
    closed: Receiver<()>,
}

/// One remote server, in use: its owner lives at least as long as this.
pub(crate) struct RemoteServer(Arc<Mailbox>);

impl Servers {
    pub(crate) fn new(environment: Environment) -> Self {
        let (closing, closed) = crossbeam_channel::bounded(0);
        Self {
            environment: Arc::new(environment),
            owners: Mutex::new(Owners {
                by_origin: BTreeMap::new(),
                closing: Some(closing),
                closed,
            }),
        }
    }

    /// The server with this origin. Begins its owner's thread where there is none.
    pub(crate) fn of(&self, origin: &str) -> Result<RemoteServer, Ended> {
        let mut owners = self.owners.lock();
        let mailbox = owners.by_origin.get(origin).and_then(Weak::upgrade);
        // One that broke off has ended, whoever holds its mailbox.
        if let Some(mailbox) = mailbox.filter(|mailbox| !mailbox.has_ended()) {
            return Ok(RemoteServer(mailbox));
        }
        if owners.closing.is_none() {
            return Err(Ended::Stopped);
        }
        let environment = Arc::clone(&self.environment);
        let (owner, mailbox) = Owner::new(origin, environment, owners.closed.clone());
        // The owner's own thread: it ends when nobody needs it, or with the program (`begin_close`).
        let spawned = std::thread::Builder::new()
            .name("remote-server".into())
            .stack_size(STACK)
            .spawn(move || owner.run());
        spawned.map_err(|error| {
            ConnectError::local(format!("no thread for the remote server: {error}"))
        })?;
        owners
            .by_origin
            .retain(|_, mailbox| mailbox.strong_count() > 0);
        let entry = Arc::downgrade(&mailbox);
        owners.by_origin.insert(origin.to_owned(), entry);
        Ok(RemoteServer(mailbox))
    }

    /// All that have an owner, by origin.
    pub(crate) fn all(&self) -> Vec<RemoteServer> {
        let owners = self.owners.lock();
        let mailboxes = owners.by_origin.values().filter_map(Weak::upgrade);
        mailboxes.map(RemoteServer).collect()
    }

    /// Tells all owners to end, and lets none begin. Does not wait.
    pub(crate) fn begin_close(&self) {
        self.owners.lock().closing = None;
    }

    /// Waits until they have ended; false where that took longer than until `deadline`.
    pub(crate) fn finish_close(&self, deadline: Instant) -> bool {
        let all = self.all();
        all.iter().all(|owner| owner.0.wait_for_end(deadline))
    }
}

impl RemoteServer {
    /// Its origin.
    pub(crate) fn origin(&self) -> &str {
        &self.0.origin
    }

    /// Last state published by its owner.
    pub(crate) fn snapshot(&self) -> Arc<ServerSnapshot> {
        self.0.snapshot()
    }

    /// Ends the main tunnel, as no application uses it. Does not wait.
    pub(crate) fn retire_main_tunnel(&self) {
        self.0.send(Command::RetireMainTunnel);
    }

    /// Begins a quick-setup call; its answer is awaited until `stopped` is closed.
    pub(crate) fn begin_call(
        &self,
        reload: bool,
        stopped: &Receiver<()>,
    ) -> Result<BegunCall, Ended> {
        let begun = self.ask(stopped, |reply| Command::BeginCall {
            reload,
            stopped: stopped.clone(),
            reply,
        })?;
        Ok(begun.map_err(|error| ConnectError::local(error.to_string()))?)
    }

    /// Has the main tunnel set up, where it is not.
    pub(crate) fn set_up_main_tunnel(&self) -> MainTunnelWait {
        let (sender, progress) = crossbeam_channel::unbounded();
        let command = Command::SetUpMainTunnel { progress: sender };
        self.0.send(command);
        MainTunnelWait {
            progress,
            deadline: Instant::now() + MAIN_WAIT,
        }
    }

    /// Forgets the credentials and ends the main tunnel; false where there are none on disk.
    pub(crate) fn forget(&self) -> Result<Result<bool, store::Error>, Ended> {
        self.ask(&crossbeam_channel::never(), |reply| Command::Forget {
            reply,
        })
    }

    fn ask<T>(
        &self,
        stopped: &Receiver<()>,
        command: impl FnOnce(Sender<T>) -> Command,
    ) -> Result<T, Ended> {
        let (sender, reply) = crossbeam_channel::bounded(1);
        self.0.send(command(sender));
        awaited(&reply, stopped)?.ok_or_else(broken_off)
    }
}

/// A wait for a main tunnel.
pub(crate) struct MainTunnelWait {
    progress: Receiver<MainTunnelProgress>,
    deadline: Instant,
}

impl MainTunnelWait {
    /// Until it is ready. `connecting` is called with each tunnel that may become it.
    pub(crate) fn until_ready(
        self,
        stopped: &Receiver<()>,
        connecting: impl Fn(Arc<TunnelGroup>),
    ) -> Result<(), Ended> {
        loop {
            let progress = select! {
                recv(stopped) -> _ => return Err(Ended::Stopped),
                recv(self.progress) -> progress => unless_stopped(progress.ok(), stopped)?,
                default(self.deadline.saturating_duration_since(Instant::now())) => {
                    let late = ConnectError::new(ErrorClass::Timeout, "Main tunnel connect timeout");
                    return Err(late.of_tunnel().into());
                }
            };
            match progress.ok_or_else(broken_off)? {
                MainTunnelProgress::Ready => return Ok(()),
                MainTunnelProgress::Connecting(tunnel) => connecting(tunnel),
                MainTunnelProgress::Failed(error) => {
                    return Err(ConnectError::local(error).into());
                }
            }
        }
    }

    /// Until it is known whether it can be tried, or `deadline`.
    pub(crate) fn until_begun(&self, deadline: Instant) {
        let _ = self.progress.recv_deadline(deadline);
    }
}

/// Waits for what an owner sends, or for the stop signal; none where the owner has dropped the channel.
pub(crate) fn awaited<T>(reply: &Receiver<T>, stopped: &Receiver<()>) -> Result<Option<T>, Ended> {
    select! {
        recv(stopped) -> _ => Err(Ended::Stopped),
        recv(reply) -> reply => unless_stopped(reply.ok(), stopped),
    }
}

/// At the program's end both channels may be closed.
fn unless_stopped<T>(reply: Option<T>, stopped: &Receiver<()>) -> Result<Option<T>, Ended> {
    if reply.is_none() && stopped.try_recv() != Err(TryRecvError::Empty) {
        return Err(Ended::Stopped);
    }
    Ok(reply)
}

fn broken_off() -> Ended {
    let fault = "the work for the remote server broke off: this is a fault of the program";
    ConnectError::local(fault).into()
}
