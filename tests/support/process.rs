//! The processor time and the memory of processes, and processes that measuring programs start.
//!
//! A [`Process`] writes to files, so that what it logs costs the measuring program nothing. What must also end when its
//! owner is killed runs by [`super::kill_on_drop`].

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::postern::status_field;

/// User and system time of a process so far (proc(5), `stat`), in steps of 10 ms.
pub fn processor_time(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("the process runs");
    let (_, fields) = stat.rsplit_once(')').expect("a name in brackets");
    let ticks = fields.split_whitespace().skip(11).take(2);
    let ticks = ticks.map(|ticks| ticks.parse::<u64>().expect("a number"));
    Duration::from_millis(10 * ticks.sum::<u64>())
}

/// A process, ended with its owner.
pub struct Process {
    child: Child,
    stdout: Option<PathBuf>,
}

impl Process {
    /// Starts one whose output is dropped.
    pub fn start(command: &mut Command) -> Process {
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Process::spawn(command, None)
    }

    /// Starts one whose output goes to `NAME.out` and `NAME.log` in `dir`.
    pub fn start_in(dir: &Path, name: &str, command: &mut Command) -> Process {
        let path = |end: &str| dir.join(format!("{name}.{end}"));
        let file = |end: &str| File::create(path(end)).expect("a directory of ours");
        command.stdout(file("out")).stderr(file("log"));
        Process::spawn(command, Some(path("out")))
    }

    fn spawn(command: &mut Command, stdout: Option<PathBuf>) -> Process {
        let child = command.stdin(Stdio::null()).spawn();
        let child = child.unwrap_or_else(|error| panic!("{command:?}: {error}"));
        Process { child, stdout }
    }

    /// The rest of the first complete line of its output that starts with `prefix`.
    pub fn line_after(&self, prefix: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.stdout.as_ref()?).ok()?;
        let mut lines = text.split_inclusive('\n');
        let is_whole = |line: &&str| line.ends_with('\n');
        let rest = lines.find_map(|line| Some(line).filter(is_whole)?.strip_prefix(prefix))?;
        Some(rest.trim().to_owned())
    }

    /// Process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Resident bytes.
    pub fn resident(&self) -> f64 {
        let kib = u32::try_from(status_field(self.pid(), "VmRSS:"));
        f64::from(kib.expect("below 4 TiB")) * 1024.0
    }

    /// Processor time so far.
    pub fn cpu(&self) -> Duration {
        processor_time(self.pid())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
