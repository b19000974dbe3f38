//! Handler for services on this machine that the page suggests to share: listening sockets of the user, except
//! postern's.

use std::collections::HashMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::answer::Answer;
use crate::http::server::{ListedSocket, listening};
use crate::http::{Request, Response};
use crate::manager::app_state::AppState;

/// Maximum number of listeners in an answer; the page shows the first of them.
const MAX_SHOWN: usize = 512;
/// Entries of `/proc` that are read.
const MAX_PROCESSES: usize = 8192;
/// Open files of all processes that are read: some 50 ms.
const MAX_FILES: usize = 50_000;

/// A TCP service on this machine.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Listener {
    /// Port of the service.
    port: u16,
    /// Address of the service.
    ip: IpAddr,
    /// Name of the process; empty if unknown.
    process: String,
}

pub(super) fn listeners(_: &Arc<AppState>, _: &Request) -> Answer {
    let user = rustix::process::geteuid().as_raw();
    let mut sockets = listening();
    sockets.retain(|socket| socket.user == user);
    let owners = if sockets.is_empty() {
        HashMap::new()
    } else {
        processes(user)
    };
    let ours = name_of(Path::new("/proc/self"));
    Ok(Response::ok(shown(&sockets, &owners, &ours)))
}

/// Listeners by port, without those of processes named `ours`.
fn shown(sockets: &[ListedSocket], owners: &HashMap<u64, String>, ours: &str) -> Vec<Listener> {
    let listeners = sockets.iter().map(|socket| Listener {
        port: socket.address.port(),
        ip: reached_at(socket.address.ip()),
        process: owners.get(&socket.inode).cloned().unwrap_or_default(),
    });
    let mut shown: Vec<Listener> = listeners
        .filter(|listener| listener.process != ours)
        .collect();
    // If a port has several listeners, the one that most programs reach is kept.
    shown.sort_by_key(|listener| (listener.port, listener.ip));
    shown.dedup_by_key(|listener| listener.port);
    shown.truncate(MAX_SHOWN);
    shown
}

fn reached_at(ip: IpAddr) -> IpAddr {
    match ip {
        // A listener on all IPv6 addresses usually accepts IPv4 too.
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::LOCALHOST) => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    }
}

/// Names of the user's processes by their open sockets.
fn processes(user: u32) -> HashMap<u64, String> {
    let mut owners = HashMap::new();
    let mut files = 0;
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    for entry in entries.take(MAX_PROCESSES) {
        let path = entry.path();
        let is_process = entry
            .file_name()
            .as_encoded_bytes()
            .iter()
            .all(u8::is_ascii_digit);
        if !is_process || !entry.metadata().is_ok_and(|data| data.uid() == user) {
            continue;
        }
        let mut sockets = sockets_of(&path, &mut files).peekable();
        if sockets.peek().is_none() {
            continue;
        }
        let name = name_of(&path);
        owners.extend(sockets.map(|inode| (inode, name.clone())));
        if files > MAX_FILES {
            break;
        }
    }
    owners
}

fn sockets_of<'a>(process: &Path, files: &'a mut usize) -> impl Iterator<Item = u64> + use<'a> {
    let open = fs::read_dir(process.join("fd")).into_iter().flatten();
    open.flatten().filter_map(|file| {
        *files += 1;
        let link = fs::read_link(file.path()).ok()?;
        let inode = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
        inode.parse().ok()
    })
}

/// Name of a process: at most 15 bytes, as the kernel stores it.
fn name_of(process: &Path) -> String {
    let name = fs::read(process.join("comm")).unwrap_or_default();
    String::from_utf8_lossy(&name).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn socket(address: &str, inode: u64) -> ListedSocket {
        let address = address.parse().unwrap();
        ListedSocket {
            address,
            peer: address,
            state: 10,
            user: 0,
            inode,
        }
    }

    #[test]
    fn a_port_is_shown_once_with_the_address_that_reaches_it() {
        let sockets = [
            socket("0.0.0.0:5432", 1),
            socket("[::]:5432", 2),
            socket("[::1]:3000", 3),
            socket("127.0.0.1:80", 4),
            socket("[::1]:80", 5),
            socket("192.0.2.7:81", 6),
            socket("127.0.0.1:7777", 7),
        ];
        let names = [(1, "postgres"), (3, "node"), (7, "ours")];
        let owners = names.map(|(inode, name)| (inode, name.to_owned())).into();
        let found: Vec<String> = shown(&sockets, &owners, "ours")
            .iter()
            .map(|found| format!("{} {} {}", found.port, found.ip, found.process))
            .collect();
        let expected = [
            "80 127.0.0.1 ",
            "81 192.0.2.7 ",
            "3000 ::1 node",
            "5432 127.0.0.1 postgres",
        ];
        assert_eq!(found, expected);
        let many: Vec<_> = (1..=600)
            .map(|port| socket(&format!("127.0.0.1:{port}"), 0))
            .collect();
        assert_eq!(shown(&many, &HashMap::new(), "ours").len(), MAX_SHOWN);
    }
}
