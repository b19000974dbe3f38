//! Two ends of a connection and the pipes between them, in memory.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use postern::tunnel::ssh::{
    self, ChannelId, Config, Error, Event, KeyKind, Reader, RequestId, ServerKey, Session, Writer,
};

/// 1 MiB.
pub(crate) const MIB: usize = 1024 * 1024;

/// Events of an end, as owned values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Told {
    HostKey(String),
    LoginRefused,
    Password(String, String),
    LoggedIn,
    Rekeyed,
    Request(Option<RequestId>, String, Vec<u8>),
    Reply(RequestId, bool, Vec<u8>),
    Open(ChannelId, String, Vec<u8>),
    Opened(ChannelId),
    OpenRefused(ChannelId, u32),
    Data(ChannelId, Vec<u8>),
    Eof(ChannelId),
    Closed(ChannelId),
    Writable(ChannelId),
    Failed(Error),
}

/// One end: its three objects, what was told, and the bytes on their way to it.
pub(crate) struct End {
    pub(crate) session: RefCell<Session>,
    pub(crate) reader: Reader,
    pub(crate) writer: Writer,
    pub(crate) told: Vec<Told>,
    pub(crate) incoming: VecDeque<u8>,
    /// All bytes that came out of it.
    pub(crate) sent: u64,
    /// Data is reported as used at once.
    pub(crate) consumes: bool,
    failed: bool,
}

impl End {
    pub(crate) fn new((session, reader, writer): (Session, Reader, Writer)) -> Self {
        Self {
            session: RefCell::new(session),
            reader,
            writer,
            told: Vec::new(),
            incoming: VecDeque::new(),
            sent: 0,
            consumes: true,
            failed: false,
        }
    }

    /// Gives the reader at most `most` bytes, and notes what it tells; whether anything moved.
    pub(crate) fn receive(&mut self, most: usize, now: Instant) -> bool {
        let count = self.incoming.len().min(most);
        let bytes: Vec<u8> = self.incoming.iter().take(count).copied().collect();
        let fed = if self.failed {
            count
        } else {
            self.reader.feed(&bytes)
        };
        self.incoming.drain(..fed);
        let mut moved = fed > 0;
        while !self.failed {
            let told = match self.reader.next(now, || self.session.borrow_mut()) {
                Ok(None) => break,
                Ok(Some(event)) => note(event),
                Err(error) => {
                    self.failed = true;
                    Some(Told::Failed(error))
                }
            };
            moved = true;
            if let (Some(Told::Data(channel, data)), true) = (&told, self.consumes) {
                let _ = self.session.borrow_mut().consume(*channel, data.len(), now);
            }
            self.told.extend(told);
        }
        moved
    }

    /// Everything that it wants to send, at most `batches` batches of it.
    pub(crate) fn send(&mut self, batches: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        for _ in 0..batches {
            if !self.writer.fill(|| self.session.borrow_mut()).unwrap() {
                break;
            }
            let output = self.writer.output();
            let count = output.len();
            bytes.extend_from_slice(output);
            self.writer.advance(count);
        }
        self.told.extend(self.writer.woken().map(Told::Writable));
        self.sent += bytes.len() as u64;
        bytes
    }

    /// Takes what was told.
    pub(crate) fn told(&mut self) -> Vec<Told> {
        std::mem::take(&mut self.told)
    }

    /// The failure that ended it, if one did.
    pub(crate) fn failure(&self) -> Option<&Error> {
        self.told.iter().find_map(|told| match told {
            Told::Failed(error) => Some(error),
            _ => None,
        })
    }

    /// The data told for a channel, joined; taken out.
    pub(crate) fn take_data(&mut self, of: ChannelId) -> Vec<u8> {
        let mut all = Vec::new();
        self.told.retain(|told| match told {
            Told::Data(channel, data) if *channel == of => {
                all.extend_from_slice(data);
                false
            }
            _ => true,
        });
        all
    }
}

fn note(event: Event<'_>) -> Option<Told> {
    Some(match event {
        Event::HostKey(key) => Told::HostKey(key.fingerprint()),
        Event::AuthFailure => Told::LoginRefused,
        Event::PasswordAuth { user, password } => Told::Password(user.into(), password.into()),
        Event::AuthSuccess => Told::LoggedIn,
        Event::Rekeyed => Told::Rekeyed,
        Event::GlobalRequest { id, name, data } => Told::Request(id, name.into(), data.into()),
        Event::RequestReply {
            id, success, data, ..
        } => Told::Reply(id, success, data.into()),
        Event::ChannelOpen {
            channel,
            kind,
            extra,
        } => Told::Open(channel, kind.into(), extra.into()),
        Event::ChannelOpenConfirmation { channel } => Told::Opened(channel),
        Event::ChannelOpenFailure { channel, code, .. } => Told::OpenRefused(channel, code),
        Event::Data { channel, data } => Told::Data(channel, data.into()),
        Event::Eof { channel } => Told::Eof(channel),
        Event::Closed { channel } => Told::Closed(channel),
        Event::Writable { channel } => Told::Writable(channel),
        _ => return None,
    })
}

/// A client and a server.
pub(crate) struct Pair {
    pub(crate) client: End,
    pub(crate) server: End,
    pub(crate) now: Instant,
}

impl Pair {
    pub(crate) fn new(client: &Config, server: &Config, key: KeyKind) -> Self {
        let keys: Arc<[ServerKey]> = Arc::from([ServerKey::generate(key).unwrap()]);
        Self {
            client: End::new(ssh::client(client).unwrap()),
            server: End::new(ssh::server(server, keys).unwrap()),
            now: Instant::now(),
        }
    }

    /// Moves bytes both ways, in pieces of at most `piece`, until nothing moves.
    pub(crate) fn run(&mut self, piece: usize) {
        while self.step(piece) {}
    }

    /// One batch each way; whether anything moved.
    pub(crate) fn step(&mut self, piece: usize) -> bool {
        self.now += Duration::from_micros(50);
        let up = self.client.send(1);
        let down = self.server.send(1);
        let mut moved = !up.is_empty() || !down.is_empty();
        self.server.incoming.extend(up);
        self.client.incoming.extend(down);
        moved |= self.server.receive(piece, self.now);
        moved |= self.client.receive(piece, self.now);
        moved
    }

    /// Key exchange and login, in pieces of at most `piece`.
    pub(crate) fn log_in(&mut self, piece: usize) {
        self.run(piece);
        let Some(Told::HostKey(_)) = self.client.told().pop() else {
            panic!("no host key: {:?}", self.server.told);
        };
        self.client
            .session
            .borrow_mut()
            .authenticate("me", "secret")
            .unwrap();
        self.run(piece);
        assert_eq!(
            self.server.told(),
            [Told::Password("me".into(), "secret".into())]
        );
        self.server.session.borrow_mut().answer_auth(true).unwrap();
        self.run(piece);
        assert_eq!(self.client.told(), [Told::LoggedIn]);
    }

    /// A pair with default configurations that is logged in.
    pub(crate) fn ready() -> Self {
        let config = Config::default();
        let mut pair = Self::new(&config, &config, KeyKind::Ed25519);
        pair.log_in(usize::MAX);
        pair
    }

    /// A channel opened by the server and accepted by the client: their numbers for it.
    pub(crate) fn channel(&mut self) -> (ChannelId, ChannelId) {
        let down = self
            .server
            .session
            .borrow_mut()
            .open("chisel", b"localhost:80")
            .unwrap();
        self.run(usize::MAX);
        let is_open = |told: &Told| matches!(told, Told::Open(..));
        let at = self.client.told.iter().position(is_open).unwrap();
        let Told::Open(up, kind, extra) = self.client.told.remove(at) else {
            unreachable!();
        };
        assert_eq!(
            (kind.as_str(), extra.as_slice()),
            ("chisel", b"localhost:80".as_slice())
        );
        self.client.session.borrow_mut().accept(up).unwrap();
        self.run(usize::MAX);
        self.server.told.retain(|told| *told != Told::Opened(down));
        (up, down)
    }
}

/// Writes what is admitted of `data` from `at` on.
pub(crate) fn pump(end: &mut End, channel: ChannelId, data: &[u8], at: &mut usize) {
    *at += end
        .session
        .borrow_mut()
        .write(channel, &data[*at..])
        .unwrap();
}

/// Sends data both ways at once, running `beside` at every step; checks that all arrives.
pub(crate) fn transfer(
    pair: &mut Pair,
    size: usize,
    piece: usize,
    mut beside: impl FnMut(&mut Pair, usize),
) {
    let (up, down) = pair.channel();
    let data = pattern(size);
    let (mut sent_up, mut sent_down) = (0, 0);
    let (mut got_up, mut got_down) = (Vec::new(), Vec::new());
    let mut steps = 0;
    while got_up.len() < size || got_down.len() < size {
        if sent_up < size {
            pump(&mut pair.client, up, &data, &mut sent_up);
        }
        if sent_down < size {
            pump(&mut pair.server, down, &data, &mut sent_down);
        }
        let moved = pair.step(piece);
        assert!(
            moved,
            "stuck at {} and {} of {size}",
            got_up.len(),
            got_down.len()
        );
        got_up.extend(pair.server.take_data(down));
        got_down.extend(pair.client.take_data(up));
        assert_eq!((pair.client.failure(), pair.server.failure()), (None, None));
        beside(pair, steps);
        steps += 1;
    }
    assert!(got_up == data && got_down == data);
    for (end, channel) in [(&pair.client, up), (&pair.server, down)] {
        end.session.borrow_mut().close(channel).unwrap();
    }
    pair.run(usize::MAX);
    pair.client.told();
    pair.server.told();
}

/// Both ends have forgotten every channel.
pub(crate) fn assert_clean(pair: &Pair) {
    for end in [&pair.client, &pair.server] {
        let session = end.session.borrow();
        assert_eq!((session.channels(), session.window_bytes()), (0, 0));
    }
}

/// Bytes that differ from place to place.
pub(crate) fn pattern(count: usize) -> Vec<u8> {
    (0..count as u64)
        .map(|at| (at.wrapping_mul(0x9e37_79b9) >> 13) as u8)
        .collect()
}

/// A small generator of the same numbers each time (splitmix64).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}
