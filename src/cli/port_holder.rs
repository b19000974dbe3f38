//! Holder of a port, from `/proc`.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

use crate::http::server::{ListedSocket, listening};

/// By whom, behind "in use": ` by nginx (process 7)`; empty where nobody can tell.
pub(super) fn by_whom(port: u16) -> String {
    of_loopback(port).map_or(String::new(), |holder| format!(" by {holder}"))
}

/// The program that listens on this port of 127.0.0.1: `NAME (process ID)`, or the user whose it is.
///
/// None where nothing can be found out: the processes of other users are not ours to see.
pub(super) fn of_loopback(port: u16) -> Option<String> {
    let collides = |socket: &ListedSocket| {
        let ip = socket.address.ip();
        socket.address.port() == port && (ip == Ipv4Addr::LOCALHOST || ip.is_unspecified())
    };
    let holder = listening().into_iter().find(collides)?;
    let program = process(holder.inode);
    Some(program.unwrap_or_else(|| format!("a program of user {}", holder.user)))
}

fn process(inode: u64) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_listener_is_found() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let holder = of_loopback(port).unwrap();
        assert!(
            holder.ends_with(&format!("(process {})", std::process::id())),
            "{holder}"
        );
        drop(listener);
        assert_eq!(of_loopback(port), None);
    }
}
