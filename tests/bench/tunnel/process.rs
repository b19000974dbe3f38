//! A child process: its end, its memory, its time.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Ends with its owner.
pub(crate) struct Process(Child);

impl Process {
    pub(crate) fn start(command: &mut Command) -> Self {
        let quiet = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Self(
            quiet
                .spawn()
                .unwrap_or_else(|error| panic!("{quiet:?}: {error}")),
        )
    }

    /// Resident bytes.
    pub(crate) fn resident(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmRSS:"))
            .unwrap();
        let kib: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        kib * 1024.0
    }

    /// Processor time, user and system; Linux counts it in hundredths of a second.
    pub(crate) fn cpu(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap();
        let after_name = stat.rsplit_once(')').unwrap().1;
        let ticks = after_name.split_whitespace().skip(11).take(2);
        Duration::from_millis(
            10 * ticks
                .map(|ticks| ticks.parse::<u64>().unwrap())
                .sum::<u64>(),
        )
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
