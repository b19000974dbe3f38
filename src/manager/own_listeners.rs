//! What this process listens on itself: as the target of an application, it would let visitors in where only its user
//! may come.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

use super::app::AppConfig;
use super::connection::active::Fault;
use super::core::Core;
use super::web_client::site_host;

/// Refuses an application that leads to a listener of this process's own.
pub(super) fn check(core: &Core, app: &AppConfig) -> Result<(), Fault> {
    let own = of(core);
    // A name is asked for only where its port is in question.
    if own.iter().all(|(address, _)| address.port() != app.port) {
        return Ok(());
    }
    // What cannot be resolved here cannot be reached either.
    let targets = (app.ip.as_str(), app.port).to_socket_addrs();
    let targets: Vec<SocketAddr> = targets.into_iter().flatten().map(reached).collect();
    match own.iter().find(|(address, _)| targets.contains(address)) {
        None => Ok(()),
        Some((_, what)) => Err(Fault::new(
            "own-listener",
            format!(
                "{} is {what} of this 'postern start', which is not shared: name another address",
                app.address()
            ),
        )),
    }
}

/// All of them now, and what each is.
fn of(core: &Core) -> Vec<(SocketAddr, &'static str)> {
    let on_loopback = |port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let fixed = core.listeners.iter().copied();
    let servers = core.servers.all();
    let local_apis = servers.iter().filter_map(|server| server.main.local_port());
    let local_apis = local_apis.map(|port| (on_loopback(port), "the local API"));
    let web_clients = core.connections.local_urls();
    let web_clients = web_clients
        .iter()
        .filter_map(|url| site_host(url)?.parse::<SocketAddr>().ok());
    let web_clients = web_clients.map(|address| (address, "a database's web client"));
    fixed
        .chain(local_apis)
        .chain(web_clients)
        .map(|(address, what)| (reached(address), what))
        .collect()
}

/// The address that a connection to this one reaches: an unspecified one is this machine's.
fn reached(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip().to_canonical() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_spelling_of_this_machine_is_one_address() {
        for (spelled, address) in [
            ("0.0.0.0:1", "127.0.0.1:1"),
            ("[::ffff:0.0.0.0]:1", "127.0.0.1:1"),
            ("[::ffff:127.0.0.1]:1", "127.0.0.1:1"),
            ("[::]:1", "[::1]:1"),
            ("127.0.0.2:1", "127.0.0.2:1"),
        ] {
            let expected: SocketAddr = address.parse().unwrap();
            assert_eq!(reached(spelled.parse().unwrap()), expected, "{spelled}");
        }
    }
}
