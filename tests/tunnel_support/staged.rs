//! A server that goes as far as it is told, and then says nothing more.

use std::cell::RefCell;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use postern::tunnel::ssh::{self, Config, Event, KeyKind, ServerKey};
use postern::tunnel::ws::{AcceptOptions, Accepted, Cancel, WsReader, WsWriter, accept};

/// The last thing that it does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Until {
    /// The answer 101.
    Upgrade,
    /// Its identification.
    Identification,
    /// The keys: a password is heard and not answered.
    Keys,
    /// The login: a configuration is heard and not answered.
    Login,
    /// All of it; then the connection is closed, after this time.
    Up(Duration),
}

/// Ends that are kept. Default 100: thousands of them would look like a leak.
const ENDS: usize = 100;

/// What it saw.
#[derive(Default, Debug)]
pub(crate) struct Seen {
    /// When connections came.
    pub(crate) taken: Vec<Instant>,
    /// Passwords that came.
    pub(crate) passwords: Vec<String>,
    /// What ended the connections, from this end's view.
    pub(crate) ends: Vec<String>,
}

/// The server; its threads end with its connections.
pub(crate) struct Staged {
    pub(crate) address: SocketAddr,
    pub(crate) until: Arc<Mutex<Until>>,
    pub(crate) seen: Arc<Mutex<Seen>>,
    /// Its host key's fingerprint.
    pub(crate) fingerprint: String,
}

impl Staged {
    pub(crate) fn start(until: Until) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let key = ServerKey::generate(KeyKind::Ed25519).unwrap();
        let staged = Self {
            address: listener.local_addr().unwrap(),
            until: Arc::new(Mutex::new(until)),
            seen: Arc::default(),
            fingerprint: key.public().fingerprint(),
        };
        let keys: Arc<[ServerKey]> = Arc::from([key]);
        let (until, seen) = (Arc::clone(&staged.until), Arc::clone(&staged.seen));
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                seen.lock().unwrap().taken.push(Instant::now());
                let (until, seen, keys) = (*until.lock().unwrap(), seen.clone(), keys.clone());
                std::thread::spawn(move || serve(until, socket, keys, &seen));
            }
        });
        staged
    }

    pub(crate) fn taken(&self) -> usize {
        self.seen.lock().unwrap().taken.len()
    }
}

fn serve(until: Until, socket: TcpStream, keys: Arc<[ServerKey]>, seen: &Mutex<Seen>) {
    let accepted = accept(socket, &AcceptOptions::default(), &Cancel::new());
    let Ok(Accepted::Link(mut from, to)) = accepted else {
        return;
    };
    match until {
        Until::Upgrade => {}
        Until::Identification => drop(to.write(&mut b"SSH-chisel-v3-server\r\n".to_owned())),
        _ => {
            let end = converse(until, &mut from, &to, keys, seen);
            let ends = &mut seen.lock().unwrap().ends;
            if ends.len() < ENDS {
                ends.push(end);
            }
        }
    }
    let mut rest = [0; 4096];
    while let Ok(1..) = from.read(&mut rest) {}
}

/// Goes on until there is nothing more to say; answers why.
fn converse(
    until: Until,
    from: &mut WsReader,
    to: &WsWriter,
    keys: Arc<[ServerKey]>,
    seen: &Mutex<Seen>,
) -> String {
    let (session, mut reader, mut writer) = ssh::server(&Config::default(), keys).unwrap();
    let session = RefCell::new(session);
    let mut close_after = None;
    loop {
        while writer.fill(|| session.borrow_mut()).unwrap() {
            let count = writer.output().len();
            if to.write(writer.output()).is_err() {
                return "the link broke".into();
            }
            writer.advance(count);
        }
        if let Some(life) = close_after {
            std::thread::sleep(life);
            to.shutdown();
            return "closed".into();
        }
        match from.read(reader.space()) {
            Ok(count @ 1..) => reader.filled(count),
            other => return format!("the link ended: {other:?}"),
        }
        loop {
            match reader.next(Instant::now(), || session.borrow_mut()) {
                Ok(Some(Event::Password { password, .. })) => {
                    seen.lock().unwrap().passwords.push(password.into());
                    if until == Until::Keys {
                        return "silent".into();
                    }
                    session.borrow_mut().verdict(true).unwrap();
                }
                Ok(Some(Event::Request {
                    id: Some(id),
                    name: "config",
                    ..
                })) => match until {
                    Until::Up(life) => {
                        session.borrow_mut().reply(id, true, b"").unwrap();
                        close_after = Some(life);
                    }
                    _ => return "silent".into(),
                },
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) => return error.to_string(),
            }
        }
    }
}
