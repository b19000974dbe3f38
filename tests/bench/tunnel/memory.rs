//! Resident memory of both ends, idle and under load.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use support::process::Process;
use tempfile::TempDir;

use crate::load::visit;
use crate::peers::{Kind, Running, Setup, wait_until};
use crate::targets::{PIECE, Targets};

/// Streams at once.
const MANY: usize = 1_000;
/// Time in which nothing more is taken: everything between visitor and target is full.
const STILL: Duration = Duration::from_secs(2);
/// Time after which a tunnel that still takes bytes is left alone.
const ENOUGH: Duration = Duration::from_secs(60);
/// Time for a process to have settled after it has started.
const SETTLED: Duration = Duration::from_millis(500);

/// Rows and bytes.
pub(crate) fn measure(kind: Kind, targets: &Targets) -> Vec<(String, f64)> {
    let (server_base, client_base) = bases(kind, targets);
    let mut rows = vec![
        ("client without a connection".to_owned(), client_base),
        ("server without a client".to_owned(), server_base),
    ];
    let mut note = |state: &str, running: &Running| {
        let client: f64 = running.clients.iter().map(Process::resident).sum();
        let server = running.server.as_ref().unwrap().resident();
        rows.push((format!("client, {state}"), client));
        rows.push((format!("server, {state}"), server));
    };
    let running = Running::start(kind, targets, None);
    note("idle", &running);
    let idle: Vec<_> = (0..MANY).map(|_| greeted(running.echo)).collect();
    note(&format!("{MANY} idle streams"), &running);
    drop((idle, running));
    let running = Running::start(kind, targets, None);
    match stall(running.stalled) {
        Ok(_stuck) => note(&format!("{MANY} stalled streams"), &running),
        Err(reason) => eprintln!("bench: no figure for stalled streams: {reason}"),
    }
    rows
}

/// Of a server that has no client, and of clients that reach a server which says nothing.
fn bases(kind: Kind, targets: &Targets) -> (f64, f64) {
    let home = TempDir::new().unwrap();
    let to = [targets.echo, targets.flood, targets.sink, targets.stalled];
    let mut setup = Setup::new(kind, home.path().into(), to);
    let server = Process::start(&mut setup.server());
    wait_until(|| TcpStream::connect(setup.server).is_ok());
    std::thread::sleep(SETTLED);
    let of_server = server.resident();
    drop(server);
    let silent = match kind {
        Kind::Bore => TcpListener::bind(setup.server).unwrap(),
        _ => TcpListener::bind("127.0.0.1:0").unwrap(),
    };
    setup.server = silent.local_addr().unwrap();
    let clients: Vec<_> = setup.clients().iter_mut().map(Process::start).collect();
    std::thread::sleep(SETTLED);
    (of_server, clients.iter().map(Process::resident).sum())
}

/// A visitor whose stream has carried a byte both ways.
fn greeted(port: u16) -> TcpStream {
    let mut visitor = visit(port);
    visitor.write_all(b"x").unwrap();
    visitor.read_exact(&mut [0]).unwrap();
    visitor
}

/// Visitors who have sent as much as anybody takes; fails where a tunnel takes without end, or
/// turns visitors away.
fn stall(port: u16) -> Result<Vec<TcpStream>, String> {
    let visitors: Vec<_> = (0..MANY).map(|_| visit(port)).collect();
    for visitor in &visitors {
        visitor.set_nonblocking(true).unwrap();
    }
    let piece = vec![1; PIECE];
    let mut moved = Instant::now();
    let until = Instant::now() + ENOUGH;
    while moved.elapsed() < STILL {
        let mut any = false;
        for mut visitor in &visitors {
            match visitor.write(&piece) {
                Ok(count) => any |= count > 0,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(format!("a visitor is cut: {error}")),
            }
        }
        if Instant::now() >= until {
            return Err(format!("more is taken after {ENOUGH:?}"));
        }
        match any {
            true => moved = Instant::now(),
            false => std::thread::sleep(Duration::from_millis(20)),
        }
    }
    Ok(visitors)
}
