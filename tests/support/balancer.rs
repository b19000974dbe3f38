//! Proxies in front of several servers: a balancer that forwards whole connections, and a proxy that spreads the
//! statements of one connection.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Leads connections to one of several servers, or to each in turn. It ends with the test's process.
pub struct Balancer {
    port: u16,
    leads_to: Arc<AtomicUsize>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

const IN_TURN: usize = usize::MAX;

impl Balancer {
    /// Before servers on these ports of 127.0.0.1; it leads to the first.
    pub fn before(servers: &[u16]) -> Balancer {
        let (listener, port) = listen();
        let leads_to = Arc::new(AtomicUsize::new(0));
        let open: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
        let (now, held, servers) = (leads_to.clone(), open.clone(), servers.to_vec());
        std::thread::spawn(move || {
            for (turn, client) in listener.incoming().flatten().enumerate() {
                let to = match now.load(Ordering::SeqCst) {
                    IN_TURN => turn % servers.len(),
                    fixed => fixed,
                };
                // A server that is down takes none; its client is let go of.
                let Ok(server) = TcpStream::connect(("127.0.0.1", servers[to])) else {
                    continue;
                };
                let end = client.try_clone().expect("a descriptor is left");
                held.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(end);
                join(client, server);
            }
        });
        Balancer {
            port,
            leads_to,
            open,
        }
    }

    /// `127.0.0.1:PORT`.
    pub fn target(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// New connections come to that server; those that are open stay.
    pub fn lead_to(&self, server: usize) {
        self.leads_to.store(server, Ordering::SeqCst);
    }

    /// New connections come to each server in turn.
    pub fn lead_in_turn(&self) {
        self.lead_to(IN_TURN);
    }

    /// The server that it led to is gone: new connections come to that one, and those that are open end.
    pub fn fail_over_to(&self, server: usize) {
        self.lead_to(server);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        for client in open.drain(..) {
            let _ = client.shutdown(Shutdown::Both);
        }
    }
}

fn listen() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    (listener, address.port())
}

/// Passes what either of two connections sends on to the other.
pub(super) fn join(a: TcpStream, b: TcpStream) {
    let (Ok(a_too), Ok(b_too)) = (a.try_clone(), b.try_clone()) else {
        return;
    };
    for (mut from, mut to) in [(a_too, b_too), (b, a)] {
        std::thread::spawn(move || {
            let _ = io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Both);
            let _ = from.shutdown(Shutdown::Both);
        });
    }
}

/// A command, as the protocol numbers it, with what follows: a text for most.
pub struct Command<'a> {
    /// `COM_QUERY` is 3, `COM_STMT_PREPARE` 22.
    pub number: u8,
    /// The statement.
    pub text: &'a str,
    /// Number of earlier commands on this connection.
    pub turn: usize,
}

/// Chooses the server for a command.
type Route = Arc<dyn Fn(&Command<'_>) -> usize + Send + Sync>;

/// Spreads the commands of each connection over two servers, as proxies do that split or multiplex. The account needs an
/// empty password, since one sign-in serves for both; TLS is not offered. It ends with the test's process.
pub struct Spreader {
    port: u16,
}

impl Spreader {
    /// Before two servers on these ports of 127.0.0.1.
    pub fn before(
        servers: [u16; 2],
        route: impl Fn(&Command<'_>) -> usize + Send + Sync + 'static,
    ) -> Spreader {
        let (listener, port) = listen();
        let route: Route = Arc::new(route);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let route = route.clone();
                // A client that goes away is how most connections end.
                std::thread::spawn(move || spread(client, servers, &route).ok());
            }
        });
        Spreader { port }
    }

    /// `127.0.0.1:PORT`.
    pub fn target(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

/// Capability flags that would make the proxy's work harder (protocol documentation, "Capabilities Flags").
const SSL: u32 = 1 << 11;
const COMPRESS: u32 = 1 << 5;
const DEPRECATE_EOF: u32 = 1 << 24;

fn spread(mut client: TcpStream, servers: [u16; 2], route: &Route) -> io::Result<()> {
    let mut backs = [
        TcpStream::connect(("127.0.0.1", servers[0]))?,
        TcpStream::connect(("127.0.0.1", servers[1]))?,
    ];
    let mut greeting = receive(&mut backs[0])?;
    receive(&mut backs[1])?;
    without_what_is_hard(&mut greeting);
    send(&mut client, &greeting)?;
    let hello = receive(&mut client)?;
    for back in &mut backs {
        send(back, &hello)?;
    }
    let answers = [receive(&mut backs[0])?, receive(&mut backs[1])?];
    send(&mut client, &answers[0])?;
    if answers.iter().any(|answer| answer.get(4) != Some(&0)) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    for turn in 0.. {
        let command = receive(&mut client)?;
        let Some((&number, text)) = command[4..].split_first() else {
            return Ok(());
        };
        let text = &String::from_utf8_lossy(text);
        let back = &mut backs[route(&Command { number, text, turn })];
        send(back, &command)?;
        match number {
            1 => return Ok(()),
            // COM_STMT_CLOSE has no answer.
            0x19 => {}
            3 => while pass_result(back, &mut client)? {},
            0x16 => pass_prepared(back, &mut client)?,
            _ => pass(back, &mut client).map(drop)?,
        }
    }
    Ok(())
}

/// The lower two bytes of the flags stand behind the version, the id of the connection and eight bytes of salt; the upper
/// two five bytes further.
fn without_what_is_hard(greeting: &mut [u8]) {
    let version = greeting[5..].iter().position(|byte| *byte == 0);
    let flags = 5 + version.expect("the version ends") + 1 + 4 + 8 + 1;
    let masked = !(SSL | COMPRESS | DEPRECATE_EOF);
    for (at, mask) in [0, 1, 5, 6].into_iter().zip(masked.to_le_bytes()) {
        greeting[flags + at] &= mask;
    }
}

/// One packet with its head.
fn receive(from: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut packet = vec![0; 4];
    from.read_exact(&mut packet)?;
    let length = u32::from_le_bytes([packet[0], packet[1], packet[2], 0]);
    packet.resize(4 + length as usize, 0);
    from.read_exact(&mut packet[4..])?;
    Ok(packet)
}

fn send(to: &mut TcpStream, packet: &[u8]) -> io::Result<()> {
    to.write_all(packet)
}

fn pass(from: &mut TcpStream, to: &mut TcpStream) -> io::Result<Vec<u8>> {
    let packet = receive(from)?;
    send(to, &packet)?;
    Ok(packet[4..].to_vec())
}

/// The status flags of an EOF packet, where it is one.
fn eof_status(packet: &[u8]) -> Option<u8> {
    (packet.first() == Some(&0xfe) && packet.len() < 9).then(|| packet[3])
}

/// Passes one result on; true where another follows (`SERVER_MORE_RESULTS_EXISTS`).
fn pass_result(from: &mut TcpStream, to: &mut TcpStream) -> io::Result<bool> {
    let head = pass(from, to)?;
    match head[0] {
        0xff => return Ok(false),
        0 => {
            // Two numbers of one byte: nothing that tests do here changes more than 250 rows.
            return Ok(head[3] & 8 != 0);
        }
        _ => {}
    }
    while eof_status(&pass(from, to)?).is_none() {}
    loop {
        let row = pass(from, to)?;
        match eof_status(&row) {
            Some(status) => return Ok(status & 8 != 0),
            None if row[0] == 0xff => return Ok(false),
            None => {}
        }
    }
}

/// The answer to COM_STMT_PREPARE: a head, and the parameters and columns that it counts.
fn pass_prepared(from: &mut TcpStream, to: &mut TcpStream) -> io::Result<()> {
    let head = pass(from, to)?;
    if head[0] == 0xff {
        return Ok(());
    }
    for count in [&head[7..9], &head[5..7]] {
        if count != [0, 0] {
            while eof_status(&pass(from, to)?).is_none() {}
        }
    }
    Ok(())
}
