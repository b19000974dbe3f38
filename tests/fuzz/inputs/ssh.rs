//! Input of any kind, at either end: no panic. The first byte chooses between raw bytes and
//! messages under good keys, and between client and server; messages are cut by a length byte.
//!
//! Shared by the fuzz target and by the test that feeds the corpus (`src/tunnel/ssh/corpus_tests.rs`).

use std::cell::RefCell;
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use postern::tunnel::ssh::{self, Config, Event, KeyKind, Reader, ServerKey, Session, Writer};

static KEYS: LazyLock<Arc<[ServerKey]>> =
    LazyLock::new(|| Arc::from([ServerKey::generate(KeyKind::Ed25519).expect("randomness")]));

struct End {
    session: RefCell<Session>,
    reader: Reader,
    writer: Writer,
    now: Instant,
    failed: bool,
}

impl End {
    fn new((session, reader, writer): (Session, Reader, Writer)) -> Self {
        Self {
            session: RefCell::new(session),
            reader,
            writer,
            now: Instant::now(),
            failed: false,
        }
    }

    /// Takes bytes and does what an obliging caller would.
    fn receive(&mut self, mut bytes: &[u8]) {
        while !self.failed {
            let fed = self.reader.feed(bytes);
            bytes = &bytes[fed..];
            let lock = || self.session.borrow_mut();
            match self.reader.next(self.now, lock) {
                Ok(Some(event)) => answer(&self.session, event, self.now),
                Ok(None) if bytes.is_empty() => return,
                Ok(None) => {}
                Err(_) => self.failed = true,
            }
        }
    }

    fn send_to(&mut self, other: &mut End) -> bool {
        let mut moved = false;
        while let Ok(true) = self.writer.fill(|| self.session.borrow_mut()) {
            let output = self.writer.output();
            other.receive(output);
            let count = output.len();
            self.writer.advance(count);
            moved = true;
        }
        moved
    }
}

fn answer(session: &RefCell<Session>, event: Event<'_>, now: Instant) {
    let mut session = session.borrow_mut();
    let _ = match event {
        Event::HostKey(_) => session.authenticate("me", "secret"),
        Event::PasswordAuth { password, .. } => session.answer_auth(password == "secret"),
        Event::ChannelOpen { channel, .. } => session.accept(channel),
        Event::Data { channel, data } => {
            let _ = session.write(channel, data);
            session.consume(channel, data.len(), now)
        }
        Event::Eof { channel } => session.eof(channel),
        Event::Closed { channel } => session.close(channel),
        Event::GlobalRequest { id: Some(id), .. } => session.reply(id, false, b"no"),
        _ => Ok(()),
    };
}

/// Feeds one input.
pub(crate) fn run(input: &[u8]) {
    let Some((choice, input)) = input.split_first() else {
        return;
    };
    let config = Config::default();
    let mut client = End::new(ssh::client(&config).expect("a client"));
    let mut server = End::new(ssh::server(&config, KEYS.clone()).expect("a server"));
    if choice & 1 == 0 {
        let end = if choice & 2 == 0 {
            &mut client
        } else {
            &mut server
        };
        let pieces = 1 + usize::from(choice >> 2);
        input.chunks(pieces).for_each(|piece| end.receive(piece));
        return;
    }
    while client.send_to(&mut server) | server.send_to(&mut client) {}
    assert!(client.session.borrow().is_open() && server.session.borrow().is_open());
    let mut rest = input;
    while let Some((length, after)) = rest.split_first() {
        let (message, after) = after.split_at(usize::from(*length).min(after.len()));
        let from = if choice & 2 == 0 { &client } else { &server };
        if !message.is_empty() {
            from.session.borrow_mut().inject(message);
        }
        while client.send_to(&mut server) | server.send_to(&mut client) {}
        rest = after;
    }
}
