//! SIGINT, SIGTERM and SIGHUP (the terminal is closed) over the life of one command.
//!
//! ```text
//! starting ──running()──▶ running ──signal──▶ stopping ──signal──▶ exit 1
//!    └──signal: the terminal is restored, and the process dies of the signal
//! ```
//! The password prompt turns the terminal's echo off, so a signal that ends
//! the process there must turn it on again.

use crate::sync::{Mutex, Thread, spawn};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use super::failure::Failure;

/// The watch over the signals.
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
        // Whoever has it ignored, as nohup, wants the program to outlive the terminal.
        if !is_ignored(SIGHUP) {
            signals.add_signal(SIGHUP)?;
        }
        let shared = Arc::clone(&phase);
        // A thread because a handler may do almost nothing itself; it ends with the process.
        spawn(Thread::Signals, move || {
            for signal in signals.forever() {
                on_signal(signal, &mut shared.lock());
            }
        })?;
        Ok(Self { phase })
    }

    /// A signal during the start removes this directory too, as its owner will not be dropped.
    pub(crate) fn removes(&self, dir: &Path) {
        let mut phase = self.phase.lock();
        if let Phase::Starting { run_dir, .. } = &mut *phase {
            *run_dir = Some(dir.to_owned());
        }
    }

    /// From here on the first signal is received from the channel.
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
            // Nothing is left to be done about a terminal or a directory that refuses.
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

/// Ends the process the way an interrupted one ends, so that a shell sees it.
pub(crate) fn die_of_interrupt() -> ! {
    die_of(SIGINT)
}

fn die_of(signal: i32) -> ! {
    // Returns only where the signal cannot be raised.
    let _ = emulate_default_handler(signal);
    std::process::exit(1)
}

/// True if the program was started with this signal ignored; false where the system does not tell.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut lines = status.lines();
    let ignored = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
