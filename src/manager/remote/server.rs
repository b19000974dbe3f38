//! A remote server as connections and the API see it: the mailbox for commands to its owner, and the owner's last
//! snapshot.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TryRecvError, select};

use super::connector::Connector;
use crate::api::{ConnectResult, ErrorClass, MainTunnel};
use crate::manager::connection::{ConnectError, Ended};
use crate::manager::quick_setup::Setup;
use crate::store::{self, Credentials};
use crate::sync::Mutex;
use crate::tunnel::client::{Snapshot, Status};
use crate::tunnel::group::TunnelGroup;

/// Time for the main tunnel to connect. 30 s by the specification.
const MAIN_WAIT: Duration = crate::limits::TUNNEL_WAIT;

/// A remote server in use: its owner's mailbox. The owner's thread ends when the last of these is dropped; it holds one
/// itself while it has work.
pub(crate) struct RemoteServer {
    pub(crate) origin: String,
    pub(super) commands: Sender<(Arc<RemoteServer>, Command)>,
    /// Closed when its owner has given everything back.
    pub(super) done: Receiver<()>,
    pub(super) snapshot: Mutex<Arc<ServerSnapshot>>,
}

/// State of a remote server, published by its owner after each change.
pub(crate) struct ServerSnapshot {
    /// None if no main tunnel is set up.
    pub(crate) main: Option<MainTunnelView>,
    /// Closed when the server knows this connector by another name or password.
    pub(crate) identity_changed: Receiver<()>,
}

impl RemoteServer {
    /// Sends a command; it is lost if the owner has ended with the program.
    pub(super) fn send(self: &Arc<Self>, command: Command) {
        // Sent with the mailbox, so that the owner does not end before it has carried it out.
        let _ = self.commands.send((Arc::clone(self), command));
    }

    /// True if the owner has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.done.try_recv() != Err(TryRecvError::Empty)
    }

    /// Waits until the owner has ended; false if it has not by `deadline`.
    pub(super) fn wait_for_end(&self, deadline: Instant) -> bool {
        self.done.recv_deadline(deadline) != Err(RecvTimeoutError::Timeout)
    }

    /// Last state published by its owner.
    pub(crate) fn snapshot(&self) -> Arc<ServerSnapshot> {
        Arc::clone(&self.snapshot.lock())
    }

    /// Puts another snapshot in its place.
    pub(super) fn publish(&self, snapshot: ServerSnapshot) {
        let before = std::mem::replace(&mut *self.snapshot.lock(), Arc::new(snapshot));
        // The last drop of a tunnel ends it, which must not happen under the lock.
        drop(before);
    }

    /// Ends the main tunnel because no application uses it. Does not wait.
    pub(crate) fn retire_main_tunnel(self: &Arc<Self>) {
        self.send(Command::RetireMainTunnel);
    }

    /// Begins a quick-setup call; its answer is awaited until `stopped` is closed.
    pub(crate) fn begin_call(
        self: &Arc<Self>,
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

    /// Asks the owner to set up the main tunnel, unless it is set up.
    pub(crate) fn set_up_main_tunnel(self: &Arc<Self>) -> MainTunnelWait {
        let (sender, progress) = crossbeam_channel::unbounded();
        let command = Command::SetUpMainTunnel { progress: sender };
        self.send(command);
        MainTunnelWait {
            progress,
            deadline: Instant::now() + MAIN_WAIT,
        }
    }

    /// Forgets the credentials and ends the main tunnel; false if there are none on disk.
    pub(crate) fn forget(self: &Arc<Self>) -> Result<Result<bool, store::Error>, Ended> {
        self.ask(&crossbeam_channel::never(), |reply| Command::Forget {
            reply,
        })
    }

    fn ask<T>(
        self: &Arc<Self>,
        stopped: &Receiver<()>,
        command: impl FnOnce(Sender<T>) -> Command,
    ) -> Result<T, Ended> {
        let (sender, reply) = crossbeam_channel::bounded(1);
        self.send(command(sender));
        awaited(&reply, stopped)?.ok_or_else(broken_off)
    }
}

/// A wait for a main tunnel.
pub(crate) struct MainTunnelWait {
    progress: Receiver<MainTunnelProgress>,
    deadline: Instant,
}

impl MainTunnelWait {
    /// Waits until it is ready. `connecting` is called with each tunnel that may become it.
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

    /// Waits until the attempt has begun or failed, or until `deadline`.
    pub(crate) fn until_begun(&self, deadline: Instant) {
        let _ = self.progress.recv_deadline(deadline);
    }
}

/// Waits for a reply of an owner, or for the stop signal; none if the owner has dropped the channel.
pub(crate) fn awaited<T>(reply: &Receiver<T>, stopped: &Receiver<()>) -> Result<Option<T>, Ended> {
    select! {
        recv(stopped) -> _ => Err(Ended::Stopped),
        recv(reply) -> reply => unless_stopped(reply.ok(), stopped),
    }
}

/// Returns the stop signal in place of a missing reply: at the program's end both channels may be closed.
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

/// Command to an owner. A reply that nobody waits for is dropped.
pub(super) enum Command {
    /// Begin a quick-setup call; `reload` reads the credentials from disk. Nobody waits for its answer once `stopped`
    /// is closed.
    BeginCall {
        reload: bool,
        stopped: Receiver<()>,
        reply: Sender<Result<BegunCall, store::Error>>,
    },
    /// Set the main tunnel up, unless it is ready or being set up, and report the progress.
    SetUpMainTunnel {
        progress: Sender<MainTunnelProgress>,
    },
    /// The main tunnel has connected, perhaps not for the first time.
    MainTunnelIsUp,
    /// Forget the credentials and end the main tunnel; false if none are on disk.
    Forget {
        reply: Sender<Result<bool, store::Error>>,
    },
    /// No application uses the server: end the main tunnel, unless somebody waits for it by now.
    RetireMainTunnel,
}

/// Parameters of a call.
pub(crate) struct BegunCall {
    pub(crate) credentials: Credentials,
    /// Takes its answer; closed if the credentials were forgotten meanwhile. Dropped when there is no answer.
    pub(crate) answer: Sender<CallAnswer>,
}

/// An answer that accepts the credentials.
pub(crate) struct CallAnswer {
    pub(crate) setup: Box<Setup>,
    /// The tunnel server's port that the application names.
    pub(crate) own_port: Option<u16>,
    /// Gets the saved connector info, or the error; closed if the answer came too late.
    pub(crate) saved: Sender<Result<Connector, String>>,
}

/// Progress of the main tunnel, for a connection that waits for it.
#[derive(Clone)]
pub(crate) enum MainTunnelProgress {
    /// Connecting; another tunnel may take its place.
    Connecting(Arc<TunnelGroup>),
    /// Ready: the last message.
    Ready,
    /// Cannot be set up, with the reason: the last message.
    Failed(String),
}

/// A main tunnel that was set up.
pub(crate) struct MainTunnelView {
    /// The port of the local API service.
    pub(super) local_port: Option<u16>,
    /// Reason that it could not be set up.
    pub(super) error: Option<String>,
    /// The tunnel.
    pub(crate) tunnel: Option<Arc<TunnelGroup>>,
}

impl MainTunnelView {
    /// Current snapshot of the tunnel.
    pub(crate) fn snapshot(&self) -> Option<Snapshot> {
        self.tunnel.as_ref().map(|tunnel| tunnel.snapshot())
    }

    /// Returns it as `/api/tunnel` shows the tunnel of the server with this origin.
    pub(crate) fn shown(&self, origin: &str) -> MainTunnel {
        let snapshot = self.snapshot();
        let status = match snapshot.as_ref().map(|snapshot| snapshot.status) {
            Some(Status::Connected) => "connected",
            Some(Status::Connecting) => "connecting",
            None if self.error.is_none() => "connecting",
            _ => "failed",
        };
        let mut seen = ConnectResult {
            error: self.error.clone().unwrap_or_default(),
            ..ConnectResult::default()
        };
        if let Some(snapshot) = &snapshot {
            seen.add_tunnel(snapshot, true);
        }
        MainTunnel {
            server: origin.to_owned(),
            status: status.into(),
            error: seen.error,
            error_class: seen.error_class,
            host_key: seen.host_key,
            next_retry_ms: seen.next_retry_ms,
            local_port: self.local_port,
            latency_ms: seen.latency_ms,
            tunnel_way: seen.tunnel_way,
        }
    }
}
