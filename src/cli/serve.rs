//! Common parts of the commands that serve: directories, listening, the holder of a port, signals and the end.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use crossbeam_channel::{Receiver, Sender};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use super::failure::{Failure, print};
use crate::http::server::{ListedSocket, listening};
use crate::store::{DataDir, RunDir};
use crate::sync::{Mutex, Thread, spawn};

/// Time for the end before the process exits anyway: two seconds are promised, and the rest is for the exit.
const STOP_TIMEOUT: Duration = Duration::from_millis(1800);

/// The per-user directory.
pub(super) fn data_dir() -> Result<DataDir, Failure> {
    Ok(DataDir::locate()?)
}

/// A directory for sockets; a signal during the start removes it.
pub(super) fn run_dir(home: Option<&DataDir>, watch: &SignalWatch) -> Result<RunDir, Failure> {
    let run_dir = RunDir::create(home)?;
    watch.removes(run_dir.path());
    Ok(run_dir)
}

/// Listens; `hint` returns the hint for an error of that kind.
pub(super) fn listen(
    address: SocketAddr,
    hint: impl FnOnce(io::ErrorKind) -> Option<String>,
) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).map_err(|error| {
        let why = if error.kind() == io::ErrorKind::AddrInUse {
            format!("the port is in use{}", by_whom(address.port()))
        } else {
            error.to_string()
        };
        Failure::operation(format!("cannot listen on {address}: {why}")).hint_if(hint(error.kind()))
    })
}

/// Prints the announcement, and waits for the first signal.
pub(super) fn until_signal(announcement: &str, stopped: &Receiver<()>) -> Result<(), Failure> {
    print(announcement)?;
    // An error means that nobody can send any more: then it ends too.
    let _ = stopped.recv();
    Ok(())
}

/// Runs `stop` and waits for it, as long as there is time.
pub(super) fn stop_in_time(stop: impl FnOnce() + Send + 'static) {
    let (sender, done) = crossbeam_channel::bounded(1);
    // A thread so that the wait has an end; it ends with its work or the process.
    let stopping = spawn(Thread::Stop, move || {
        stop();
        // The other side may have given up.
        let _ = sender.send(());
    });
    if stopping.is_err() || done.recv_timeout(STOP_TIMEOUT).is_err() {
        log::warn!("some work did not stop within {STOP_TIMEOUT:?}");
    }
}

/// Text after "in use": ` by nginx (process 7)`; empty if unknown.
pub(super) fn by_whom(port: u16) -> String {
    port_holder(port).map_or(String::new(), |holder| format!(" by {holder}"))
}

/// The program that listens on this port of 127.0.0.1: `NAME (process ID)`, or its user.
///
/// None if nothing is known: processes of other users may be hidden.
pub(super) fn port_holder(port: u16) -> Option<String> {
    let collides = |socket: &ListedSocket| {
        let ip = socket.address.ip();
        socket.address.port() == port && (ip == Ipv4Addr::LOCALHOST || ip.is_unspecified())
    };
    let holder = listening().into_iter().find(collides)?;
    let program = process_with_socket(holder.inode);
    Some(program.unwrap_or_else(|| format!("a program of user {}", holder.user)))
}

fn process_with_socket(inode: u64) -> Option<String> {
    let wanted = format!("socket:[{inode}]");
    fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let holds = fs::read_dir(entry.path().join("fd"))
            .ok()?
            .flatten()
            .any(|fd| fs::read_link(fd.path()).is_ok_and(|target| target == Path::new(&wanted)));
        let name = fs::read_to_string(entry.path().join("comm")).ok()?;
        let name: String = name.chars().filter(|c| !c.is_control()).collect();
        holds.then(|| format!("{name} (process {pid})"))
    })
}

/// Handles SIGINT, SIGTERM and SIGHUP (the terminal is closed) during a command.
///
/// ```text
/// starting ──running()──▶ running ──signal──▶ stopping ──signal──▶ exit 1
///    └──signal: the terminal is restored, and the process dies of the signal
/// ```
///
/// The password prompt turns the terminal's echo off, so a signal that ends the process must turn it on again.
pub(crate) struct SignalWatch {
    phase: Arc<Mutex<Phase>>,
}

enum Phase {
    Starting {
        /// The terminal's settings before any prompt.
        terminal: Option<Termios>,
        /// Directory to remove.
        run_dir: Option<PathBuf>,
    },
    Running(Sender<()>),
    Stopping,
}

impl SignalWatch {
    /// Begins with the phase `starting`.
    pub(crate) fn start() -> Result<Self, Failure> {
        Self::spawn()
            .map_err(|error| Failure::operation(format!("cannot watch for signals: {error}")))
    }

    fn spawn() -> io::Result<Self> {
        let phase = Arc::new(Mutex::new(Phase::Starting {
            terminal: tcgetattr(io::stdin()).ok(),
            run_dir: None,
        }));
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        // If it is ignored, for example by nohup, the program is to outlive the terminal.
        if !is_ignored(SIGHUP) {
            signals.add_signal(SIGHUP)?;
        }
        let shared = Arc::clone(&phase);
        // A thread, because a signal handler may do almost nothing; it ends with the process.
        spawn(Thread::Signals, move || {
            for signal in signals.forever() {
                on_signal(signal, &mut shared.lock());
            }
        })?;
        Ok(Self { phase })
    }

    /// Lets a signal during the start remove this directory, because its owner will not be dropped.
    pub(crate) fn removes(&self, dir: &Path) {
        let mut phase = self.phase.lock();
        if let Phase::Starting { run_dir, .. } = &mut *phase {
            *run_dir = Some(dir.to_owned());
        }
    }

    /// Begins the phase `running`: the first signal is received from the returned channel.
    pub(crate) fn running(&self) -> Receiver<()> {
        let (sender, receiver) = crossbeam_channel::bounded(1);
        let mut phase = self.phase.lock();
        *phase = Phase::Running(sender);
        receiver
    }
}

fn on_signal(signal: i32, phase: &mut Phase) {
    match phase {
        Phase::Starting { terminal, run_dir } => {
            // Errors are ignored: nothing more can be done.
            if let Some(settings) = terminal {
                let _ = tcsetattr(io::stdin(), OptionalActions::Now, settings);
            }
            if let Some(dir) = run_dir {
                let _ = std::fs::remove_dir_all(dir);
            }
            die_of(signal)
        }
        Phase::Running(sender) => {
            // The room for one is free: this arm runs once.
            let _ = sender.try_send(());
            *phase = Phase::Stopping;
        }
        Phase::Stopping => std::process::exit(1),
    }
}

/// Ends the process by SIGINT, so that a shell sees the interruption.
pub(crate) fn die_of_interrupt() -> ! {
    die_of(SIGINT)
}

fn die_of(signal: i32) -> ! {
    // Returns only if the signal cannot be raised.
    let _ = emulate_default_handler(signal);
    std::process::exit(1)
}

/// True if the program was started with this signal ignored; false if unknown.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut lines = status.lines();
    let ignored = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_listener_is_found() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let holder = port_holder(port).unwrap();
        assert!(
            holder.ends_with(&format!("(process {})", std::process::id())),
            "{holder}"
        );
        drop(listener);
        assert_eq!(port_holder(port), None);
    }
}
