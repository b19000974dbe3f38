//! How connections and the API reach a remote server's owner.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, TryRecvError, select};

use super::command::{BegunCall, Command, MainTunnelProgress};
use super::environment::Environment;
use super::owner::Owner;
use super::snapshot::ServerSnapshot;
use super::table::{Mailbox, OwnerTable};
use crate::manager::connection::{ConnectError, Ended};
use crate::store;
use crate::tunnel::client::Tunnel;

/// Bytes of an owner's stack. Default 256 KiB: it saves credentials; only what is touched takes memory.
const STACK: usize = 256 * 1024;

/// Time for the main tunnel to connect. 30 s by the specification.
const MAIN_WAIT: Duration = Duration::from_secs(30);

/// The remote servers that this process has to do with.
pub(crate) struct Servers {
    environment: Arc<Environment>,
    table: Arc<OwnerTable>,
}

/// One remote server, in use: its owner lives at least as long as this.
pub(crate) struct RemoteServer {
    mailbox: Arc<Mailbox>,
    table: Arc<OwnerTable>,
}

impl Servers {
    pub(crate) fn new(environment: Environment) -> Self {
        Self {
            environment: Arc::new(environment),
            table: Arc::default(),
        }
    }

    /// The server with this origin. Begins its owner's thread where there is none.
    pub(crate) fn of(&self, origin: &str) -> Result<RemoteServer, Ended> {
        let (table, environment) = (Arc::clone(&self.table), Arc::clone(&self.environment));
        // The owner's own thread: it ends when nobody needs it, or with the program (`close`).
        let entered = self.table.enter(origin, |end| {
            let thread = std::thread::Builder::new()
                .name("remote-server".into())
                .stack_size(STACK);
            let spawned = thread.spawn(move || Owner::new(end, table, environment).run());
            spawned.map(drop)
        });
        let entered = entered.map_err(|error| {
            ConnectError::local(format!("no thread for the remote server: {error}"))
        })?;
        Ok(RemoteServer {
            mailbox: entered.ok_or(Ended::Stopped)?,
            table: Arc::clone(&self.table),
        })
    }

    /// What is published of each, with its origin.
    pub(crate) fn snapshots(&self) -> Vec<(String, Arc<ServerSnapshot>)> {
        let all = self.table.all();
        all.iter()
            .map(|mailbox| (mailbox.origin.clone(), mailbox.snapshot()))
            .collect()
    }

    /// Ends the main tunnel of a server that no application uses. Does not wait.
    pub(crate) fn retire(&self, origin: &str) {
        for mailbox in self.table.all() {
            if mailbox.origin == origin {
                // One that has ended has no main tunnel.
                let _ = mailbox.commands.send(Command::RetireMainTunnel);
            }
        }
    }

    /// Ends all owners; false where that took longer than until `deadline`.
    pub(crate) fn close(&self, deadline: Instant) -> bool {
        let all = self.table.all();
        self.table.begin_close();
        OwnerTable::await_end(&all, deadline)
    }
}

impl RemoteServer {
    /// Its origin.
    pub(crate) fn origin(&self) -> &str {
        &self.mailbox.origin
    }

    /// Closed when the server knows this connector by another name or password than now.
    pub(crate) fn identity_changed(&self) -> Receiver<()> {
        self.mailbox.snapshot().identity_changed.clone()
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
        let _ = self.mailbox.commands.send(command);
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
        let _ = self.mailbox.commands.send(command(sender));
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
        connecting: impl Fn(Arc<Tunnel>),
    ) -> Result<(), Ended> {
        loop {
            let progress = select! {
                recv(stopped) -> _ => return Err(Ended::Stopped),
                recv(self.progress) -> progress => unless_stopped(progress.ok(), stopped)?,
                default(self.deadline.saturating_duration_since(Instant::now())) => {
                    let late = ConnectError::new("timeout", "Main tunnel connect timeout");
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

impl Drop for RemoteServer {
    fn drop(&mut self) {
        self.table.leave(&self.mailbox);
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
