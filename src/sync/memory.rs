//! The memory that this process may use: limits that are large elsewhere are a part of it.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use rustix::process::{Resource, getrlimit};

/// Bytes assumed if the system does not tell. Default 32 MiB: a Linux without `/proc` is a small one.
const UNKNOWN: u64 = 32 << 20;

static MEMORY: LazyLock<u64> = LazyLock::new(|| {
    let address_space = getrlimit(Resource::As).current.unwrap_or(u64::MAX);
    let of_system = if cfg!(target_os = "linux") {
        of_system(Path::new("/"))
    } else {
        u64::MAX
    };
    of_system.min(address_space)
});

/// `most`, or the bytes of memory divided by `parts` if that is less.
pub(crate) fn part_of_memory(parts: u64, most: usize) -> usize {
    usize::try_from(*MEMORY / parts).map_or(most, |part| part.min(most))
}

/// Memory of the machine with the root directory `root`, or the least limit of this process's cgroups.
fn of_system(root: &Path) -> u64 {
    let read = |name: &str| fs::read_to_string(root.join(name)).unwrap_or_default();
    let machine = read("proc/meminfo").lines().find_map(|line| {
        let kib: u64 = line
            .strip_prefix("MemTotal:")?
            .split_whitespace()
            .next()?
            .parse()
            .ok()?;
        kib.checked_mul(1024)
    });
    let groups = read("proc/self/cgroup");
    let limits = groups.lines().filter_map(|line| group_limit(root, line));
    limits.chain(machine).min().unwrap_or(UNKNOWN)
}

/// The least limit of a cgroup and those above it, by a line of `/proc/self/cgroup` (`NUMBER:CONTROLLERS:PATH`).
fn group_limit(root: &Path, line: &str) -> Option<u64> {
    let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
    let (base, file) = match controllers {
        "" => ("sys/fs/cgroup", "memory.max"),
        _ if controllers.split(',').any(|name| name == "memory") => {
            ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
        }
        _ => return None,
    };
    let limit = |group: &Path| {
        let text = fs::read_to_string(root.join(base).join(group).join(file)).ok()?;
        text.trim().parse().ok()
    };
    let groups = Path::new(path.trim_start_matches('/')).ancestors();
    groups.filter_map(limit).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_limit_counts() {
        const V1: &str = "4:cpu,memory:/a/b\n1:cpu:/a\n0::/\n";
        let meminfo = ("proc/meminfo", "MemTotal:  65536 kB\nMemFree: 1 kB\n");
        for (files, expected) in [
            (vec![], UNKNOWN),
            (vec![meminfo], 64 << 20),
            (vec![meminfo, ("proc/self/cgroup", "0::/a/b\n")], 64 << 20),
            (
                vec![
                    ("proc/self/cgroup", "0::/a/b\n"),
                    ("sys/fs/cgroup/a/memory.max", "1000\n"),
                    ("sys/fs/cgroup/a/b/memory.max", "max\n"),
                    meminfo,
                ],
                1000,
            ),
            (
                // In a container the path of the host's is not there.
                vec![
                    ("proc/self/cgroup", V1),
                    ("sys/fs/cgroup/memory/memory.limit_in_bytes", "2000\n"),
                    ("sys/fs/cgroup/memory.max", "1\n"),
                ],
                1,
            ),
        ] {
            let root = tempfile::tempdir().unwrap();
            for (name, text) in &files {
                let path = root.path().join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            assert_eq!(of_system(root.path()), expected, "{files:?}");
        }
    }
}
