//! Figures of this process, by the names that Prometheus has for them. What the system does not tell is left out.

use std::time::{Duration, SystemTime};

use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

use super::exposition::Exposition;
use crate::store::time::since_epoch;

/// Adds the version, and them; the process began to serve at `since`.
pub(crate) fn add_process(text: &mut Exposition, since: SystemTime) {
    text.family("postern_build_info", "gauge", "Version; always 1.");
    let version = env!("CARGO_PKG_VERSION");
    text.sample("postern_build_info", &[("version", version)], 1);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let kib = |name| field(name).map(|kib| kib * 1024);
    let gauges = [
        (
            "process_resident_memory_bytes",
            "Memory in use.",
            kib("VmRSS:"),
        ),
        (
            "process_virtual_memory_bytes",
            "Address space in use.",
            kib("VmSize:"),
        ),
        ("process_threads", "Threads.", field("Threads:")),
        ("process_open_fds", "Open files and sockets.", open_files()),
        (
            "process_max_fds",
            "Maximum number of open files and sockets.",
            getrlimit(Resource::Nofile).current,
        ),
        (
            "process_start_time_seconds",
            "Start time in seconds since 1970.",
            Some(since_epoch(since).as_secs()),
        ),
    ];
    for (name, help, value) in gauges {
        if let Some(value) = value {
            text.single(name, "gauge", help, value);
        }
    }
    let used = clock_gettime(ClockId::ProcessCPUTime);
    if let Ok(used) = Duration::try_from(used) {
        text.single(
            "process_cpu_seconds_total",
            "counter",
            "CPU time used.",
            used.as_secs_f64(),
        );
    }
}

fn open_files() -> Option<u64> {
    let entries = std::fs::read_dir("/proc/self/fd").ok()?;
    u64::try_from(entries.count()).ok()
}
