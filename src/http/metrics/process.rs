//! Metrics of this process, by the names that Prometheus has for them. What the system does not tell is left out.

use std::time::{Duration, SystemTime};

use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

use super::metric::{Metric, Page, Values, counter, gauge, wide};

/// This process.
struct Process {
    /// `/proc/self/status`.
    status: String,
    since: SystemTime,
}

const PROCESS: [Metric<Process>; 8] = [
    gauge("postern_build_info", "Version; always 1.", |_| {
        Values::By("version", vec![(env!("CARGO_PKG_VERSION"), 1)])
    }),
    gauge("process_resident_memory_bytes", "Memory in use.", |of| {
        of.field("VmRSS:").map(|kib| kib * 1024).into()
    }),
    gauge(
        "process_virtual_memory_bytes",
        "Address space in use.",
        |of| of.field("VmSize:").map(|kib| kib * 1024).into(),
    ),
    gauge("process_threads", "Threads.", |of| {
        of.field("Threads:").into()
    }),
    gauge("process_open_fds", "Open files and sockets.", |_| {
        let entries = std::fs::read_dir("/proc/self/fd").ok();
        entries.map(|entries| wide(entries.count())).into()
    }),
    gauge(
        "process_max_fds",
        "Maximum number of open files and sockets.",
        |_| getrlimit(Resource::Nofile).current.into(),
    ),
    gauge(
        "process_start_time_seconds",
        "Start time in seconds since 1970.",
        |of| {
            let since = of.since.duration_since(SystemTime::UNIX_EPOCH).ok();
            since.map(|since| since.as_secs()).into()
        },
    ),
    counter("process_cpu_seconds_total", "CPU time used.", |_| {
        let used = Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).ok();
        used.map(|used| Values::Real(used.as_secs_f64())).into()
    }),
];

impl Process {
    fn field(&self, name: &str) -> Option<u64> {
        let mut lines = self.status.lines();
        let line = lines.find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    }
}

/// Adds the version, and them; the process began to serve at `since`.
pub(crate) fn add_process(page: &mut impl Page, since: SystemTime) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    page.add(&PROCESS, &Process { status, since });
}
