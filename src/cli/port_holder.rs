//! Holder of a port, from `/proc`.

use std::fs;
use std::path::Path;

/// The state of a listening socket in `/proc/net/tcp` (`TCP_LISTEN`).
const LISTENING: &str = "0A";
/// Addresses that a listener on loopback collides with, as `/proc/net/tcp` writes them: 127.0.0.1 and any.
const ADDRESSES: [&str; 2] = ["0100007F", "00000000"];

/// By whom, behind "in use": ` by nginx (process 7)`; empty where nobody can tell.
pub(super) fn by_whom(port: u16) -> String {
    of_loopback(port).map_or(String::new(), |holder| format!(" by {holder}"))
}

/// The program that listens on this port of 127.0.0.1: `NAME (process ID)`, or the user whose it is.
///
/// None where nothing can be found out: the processes of other users are not ours to see.
pub(super) fn of_loopback(port: u16) -> Option<String> {
    let sockets = fs::read_to_string("/proc/net/tcp").ok()?;
    let (user, inode) = sockets.lines().find_map(|line| listener(line, port))?;
    Some(process(&inode).unwrap_or_else(|| format!("a program of user {user}")))
}

/// The user and the inode in a line of the table, where it is this port's listener.
///
/// `sl local_address rem_address st tx:rx tr:tm retrnsmt uid timeout inode …`
fn listener(line: &str, port: u16) -> Option<(String, String)> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [_, local, _, state, _, _, _, user, _, inode, ..] = fields.as_slice() else {
        return None;
    };
    let (address, hex_port) = local.split_once(':')?;
    let is_port = u16::from_str_radix(hex_port, 16) == Ok(port);
    let is_it = *state == LISTENING && is_port && ADDRESSES.contains(&address);
    is_it.then(|| ((*user).to_owned(), (*inode).to_owned()))
}

fn process(inode: &str) -> Option<String> {
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
