//! A tunnel, both ends in one process: a server that lets one user in, and a client that forwards a port of the server to
//! a local application. `cargo run --example tunnel -- 3000`, then open the address that it prints. A chisel client or
//! server works at either end.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use postern::tunnel::client::{self, HostKeyCheck, Tunnel};
use postern::tunnel::server::{self, Server, Users};
use postern::tunnel::ssh::{KeyKind, ServerKey};
use postern::tunnel::ws::Endpoint;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let application = std::env::args().nth(1).ok_or("usage: tunnel PORT")?;

    // The server: a host key, a user, and where it listens for clients.
    let keys: Arc<[ServerKey]> = [ServerKey::generate(KeyKind::Ed25519)?].into();
    let mut users = Users::default();
    users.add("ann:secret")?;
    let mut settings = server::Settings::new(TcpListener::bind("127.0.0.1:0")?, Arc::clone(&keys));
    settings.policy = Box::new(users);
    let server = Server::start(settings)?;

    // The client: the server's address and key, and what is forwarded. It connects again whenever it has to.
    let endpoint = Endpoint::parse(&format!("ws://{}", server.address()))?;
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let remote = format!("R:127.0.0.1:{port}:127.0.0.1:{application}").parse()?;
    let mut settings = client::Settings::new(endpoint, vec![remote]);
    (settings.user, settings.password) = ("ann".into(), String::from("secret").into());
    let key = keys.first().expect("it was made above");
    settings.host_key = HostKeyCheck::Fingerprint(key.public().fingerprint());
    let tunnel = Tunnel::start(settings)?;
    if !tunnel.wait(Duration::from_secs(10)) {
        return Err(format!("not connected: {:?}", tunnel.snapshot()).into());
    }
    println!("http://127.0.0.1:{port} leads to port {application}; Ctrl-C ends it");
    loop {
        std::thread::park();
    }
}
