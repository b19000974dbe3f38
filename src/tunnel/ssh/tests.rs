//! Messages that a broken or hostile peer may send under good keys. (Good peers: `tests/ssh`.)

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Instant;

use super::wire::Put;
use super::*;

/// One end and what it has told, in words.
struct End {
    session: RefCell<Session>,
    reader: Reader,
    writer: Writer,
    events: Vec<String>,
    error: Option<Error>,
}

impl End {
    fn new((session, reader, writer): (Session, Reader, Writer)) -> Self {
        Self {
            session: RefCell::new(session),
            reader,
            writer,
            events: Vec::new(),
            error: None,
        }
    }

    fn send_to(&mut self, other: &mut End) -> bool {
        let mut moved = false;
        while self.writer.fill(|| self.session.borrow_mut()).unwrap() {
            let output = self.writer.output().to_vec();
            self.writer.advance(output.len());
            other.receive(&output);
            moved = true;
        }
        moved
    }

    fn receive(&mut self, mut bytes: &[u8]) {
        let now = Instant::now();
        while self.error.is_none() {
            let fed = self.reader.feed(bytes);
            bytes = &bytes[fed..];
            match self.reader.next(now, || self.session.borrow_mut()) {
                Ok(Some(Event::Handled)) => {}
                Ok(Some(event)) => self.events.push(format!("{event:?}")),
                Ok(None) if bytes.is_empty() => break,
                Ok(None) => {}
                Err(error) => self.error = Some(error),
            }
        }
    }
}

fn run(client: &mut End, server: &mut End) {
    while client.send_to(server) | server.send_to(client) {}
}

/// Both ends, logged in, with one channel (number 0 on both) opened by the server.
fn ready() -> (End, End) {
    logged_in(fresh())
}

fn logged_in((mut client, mut server): (End, End)) -> (End, End) {
    run(&mut client, &mut server);
    client
        .session
        .borrow_mut()
        .authenticate("me", "secret")
        .unwrap();
    run(&mut client, &mut server);
    server.session.borrow_mut().answer_auth(true).unwrap();
    run(&mut client, &mut server);
    let down = server.session.borrow_mut().open("chisel", b"x:1").unwrap();
    run(&mut client, &mut server);
    client.session.borrow_mut().accept(down).unwrap();
    run(&mut client, &mut server);
    client.events.clear();
    server.events.clear();
    (client, server)
}

fn fresh() -> (End, End) {
    let keys: Arc<[ServerKey]> = Arc::from([ServerKey::generate(KeyKind::Ed25519).unwrap()]);
    let config = Config::default();
    let client = End::new(super::client(&config).unwrap());
    (client, End::new(server(&config, keys).unwrap()))
}

/// The client's windows are so small that every few bytes are granted anew.
fn with_small_windows() -> (End, End) {
    let mut config = Config::default();
    config.channels.initial = 64;
    config.channels.least = 64;
    config.channels.most = 64;
    let (_, server) = fresh();
    logged_in((End::new(super::client(&config).unwrap()), server))
}

/// A message of a number and its fields.
fn message(kind: u8, fields: &[&[u8]]) -> Vec<u8> {
    let mut message = vec![kind];
    fields.iter().for_each(|field| message.put(field));
    message
}

/// Serves messages under the client's keys.
fn served(messages: &[Vec<u8>]) -> (End, End) {
    let (mut client, mut server) = ready();
    for message in messages {
        client.session.borrow_mut().inject(message);
    }
    run(&mut client, &mut server);
    (client, server)
}

fn refusal(messages: &[Vec<u8>]) -> Option<Error> {
    served(messages).1.error
}

const NO_CHANNEL: [u8; 4] = [0, 0, 0, 99];
const CHANNEL: [u8; 4] = [0; 4];
const ONE: [u8; 4] = [0, 0, 0, 1];

#[test]
fn messages_that_mean_nothing_here_are_passed_over() {
    let (client, server) = served(&[
        message(2, &[&[0, 0, 0, 1, 7]]),
        message(4, &[&[1, 0, 0, 0, 0, 0, 0, 0, 0]]),
        message(3, &[&[0, 0, 0, 9]]),
        message(7, &[&[0, 0, 0, 0]]),
        message(99, &[&CHANNEL]),
        message(50, &[b"after success"]),
    ]);
    assert_eq!((client.error, server.error), (None, None));
    assert!(server.events.is_empty() && client.events.is_empty());
}

#[test]
fn unknown_messages_are_answered_by_their_number() {
    let (mut client, mut server) = ready();
    let before = client.writer.sequence();
    client.session.borrow_mut().inject(&[192, 1, 2, 3]);
    client.send_to(&mut server);
    let mut batch = output::Batch::default();
    let mut woken = Vec::new();
    server
        .session
        .borrow_mut()
        .take(&mut batch, &mut woken)
        .unwrap();
    let payload = &batch.bytes[5..10];
    assert_eq!(payload, message(3, &[&before.to_be_bytes()]));
}

#[test]
fn channel_requests_fail_politely() {
    let mut request = message(98, &[&CHANNEL]);
    request.put_string(b"shell");
    let quiet = [request.as_slice(), &[0]].concat();
    let asking = [request.as_slice(), &[1]].concat();
    let (client, server) = served(&[quiet, asking]);
    assert_eq!((client.error, server.error), (None, None));
}

#[test]
fn rules_of_channels_are_enforced() {
    let long = message(94, &[&CHANNEL, &[0, 0, 128, 1], &[0; 32 * 1024 + 1]]);
    for (name, messages) in [
        (
            "data for nobody",
            vec![message(94, &[&NO_CHANNEL, &ONE, b"x"])],
        ),
        ("adjust for nobody", vec![message(93, &[&NO_CHANNEL, &ONE])]),
        ("eof for nobody", vec![message(96, &[&NO_CHANNEL])]),
        ("close for nobody", vec![message(97, &[&NO_CHANNEL])]),
        (
            "confirmed for nobody",
            vec![message(91, &[&NO_CHANNEL, &ONE, &ONE, &ONE])],
        ),
        (
            "confirmed twice",
            vec![message(91, &[&CHANNEL, &ONE, &ONE, &ONE])],
        ),
        (
            "refused when open",
            vec![message(92, &[&CHANNEL, &ONE, &[0; 8]])],
        ),
        (
            "window overflow",
            vec![message(93, &[&CHANNEL, &[0xff; 4]])],
        ),
        ("too long", vec![long]),
        (
            "data after eof",
            vec![
                message(96, &[&CHANNEL]),
                message(94, &[&CHANNEL, &ONE, b"x"]),
            ],
        ),
        (
            "data after close",
            vec![
                message(97, &[&CHANNEL]),
                message(94, &[&CHANNEL, &ONE, b"x"]),
            ],
        ),
        ("bytes after its end", vec![message(96, &[&CHANNEL, b"x"])]),
        ("reply to nothing", vec![message(81, &[])]),
        (
            "length beyond",
            vec![message(94, &[&CHANNEL, &[0xff; 4], b"x"])],
        ),
        ("newkeys from nowhere", vec![message(21, &[])]),
        (
            "share from nowhere",
            vec![message(30, &[&[0, 0, 0, 32], &[9; 32]])],
        ),
    ] {
        assert!(
            matches!(refusal(&messages), Some(Error::Protocol(_))),
            "{name}"
        );
    }
}

#[test]
fn a_peer_may_go_on_about_a_channel_that_it_has_closed() {
    let close = message(97, &[&CHANNEL]);
    let late = [
        message(93, &[&CHANNEL, &ONE]),
        message(96, &[&CHANNEL]),
        close.clone(),
    ];
    let (client, server) = served(&[&[close][..], &late].concat());
    assert_eq!((client.error, server.error), (None, None));
    assert_eq!(server.events, ["Closed(channel 0)"]);
}

#[test]
fn more_than_the_window_is_refused() {
    let (mut client, mut server) = ready();
    for _ in 0..8 {
        let full = message(94, &[&CHANNEL, &[0, 0, 128, 0], &[1; 32 * 1024]]);
        client.session.borrow_mut().inject(&full);
    }
    run(&mut client, &mut server);
    assert_eq!(server.error, None);
    client
        .session
        .borrow_mut()
        .inject(&message(94, &[&CHANNEL, &ONE, b"x"]));
    run(&mut client, &mut server);
    assert!(matches!(server.error, Some(Error::Protocol(_))));
}

#[test]
fn other_kinds_of_data_are_dropped_and_granted_again() {
    let mut messages = Vec::new();
    for _ in 0..20 {
        messages.push(message(
            95,
            &[&CHANNEL, &ONE, &[0, 0, 64, 0], &[1; 16 * 1024]],
        ));
    }
    let (mut client, mut server) = ready();
    for message in messages {
        client.session.borrow_mut().inject(&message);
        run(&mut client, &mut server);
    }
    assert_eq!((client.error, server.error), (None, None));
    assert!(server.events.is_empty());
}

#[test]
fn nobody_may_ask_without_reading() {
    let (mut client, mut server) = ready();
    let mut open = vec![90];
    open.put_string(&[b'k'; 60]);
    open.put(&[0, 0, 0, 5, 0, 0, 0, 9, 0, 0, 0, 9]);
    for _ in 0..60_000 {
        client.session.borrow_mut().inject(&open);
        client.send_to(&mut server);
        if server.error.is_some() {
            break;
        }
    }
    assert_eq!(server.error, Some(Error::Flooded));
    assert!(server.session.borrow().channels() <= 4097);
}

#[test]
fn nobody_is_served_before_the_login() {
    for kind in [80, 90, 94, 97, 98] {
        let (mut client, mut server) = fresh();
        run(&mut client, &mut server);
        client
            .session
            .borrow_mut()
            .inject(&message(kind, &[&[0; 40]]));
        run(&mut client, &mut server);
        assert!(matches!(server.error, Some(Error::Protocol(_))), "{kind}");
    }
}

#[test]
fn a_pipelined_second_attempt_waits_for_the_first_verdict() {
    let (mut client, mut server) = fresh();
    run(&mut client, &mut server);
    client
        .session
        .borrow_mut()
        .authenticate("me", "first")
        .unwrap();
    client.send_to(&mut server);
    let mut second = vec![50];
    for text in ["me", "ssh-connection", "password"] {
        second.put_string(text.as_bytes());
    }
    second.put_bool(false);
    second.put_string(b"second");
    server.send_to(&mut client);
    client.session.borrow_mut().inject(&second);
    run(&mut client, &mut server);
    assert_eq!(server.events, ["PasswordAuth(***)"]);
    server.session.borrow_mut().answer_auth(false).unwrap();
    server.receive(&[]);
    assert_eq!(server.events.len(), 2);
    server.session.borrow_mut().answer_auth(true).unwrap();
    assert!(server.session.borrow().is_open());
}

#[test]
fn a_stranger_is_not_listened_to_for_ever() {
    let (mut client, mut server) = fresh();
    run(&mut client, &mut server);
    for _ in 0..300 {
        client.session.borrow_mut().inject(&message(2, &[&[0; 4]]));
    }
    run(&mut client, &mut server);
    assert!(matches!(server.error, Some(Error::Protocol(_))));
}

#[test]
fn passwords_do_not_stay_in_the_input() {
    let (mut client, mut server) = fresh();
    run(&mut client, &mut server);
    client
        .session
        .borrow_mut()
        .authenticate("me", "correct horse")
        .unwrap();
    run(&mut client, &mut server);
    server.session.borrow_mut().answer_auth(true).unwrap();
    server.receive(&[]);
    let whole = server.reader.input().windows(13);
    assert_eq!(whole.filter(|bytes| *bytes == b"correct horse").count(), 0);
}

/// A small generator (splitmix64).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[test]
fn no_message_under_good_keys_makes_either_end_panic() {
    for seed in 0..300_u64 {
        let (mut client, mut server) = ready();
        let mut state = seed;
        for _ in 0..40 {
            let kind = next(&mut state).to_be_bytes()[0] % 104;
            let size = next(&mut state) % 48;
            let mut body = vec![kind];
            for _ in 0..size {
                // Mostly small numbers, so that lengths and channels are often good.
                let byte = next(&mut state).to_be_bytes();
                body.push(if byte[1] < 200 { byte[0] % 2 } else { byte[0] });
            }
            let end = if seed % 2 == 0 { &client } else { &server };
            end.session.borrow_mut().inject(&body);
            run(&mut client, &mut server);
        }
        if let (Some(error), None) = (&server.error, &client.error) {
            assert!(
                !matches!(error, Error::Corrupt | Error::Misuse(_)),
                "{error}"
            );
        }
    }
}

#[test]
fn no_bytes_make_either_end_panic() {
    let (mut client, mut server) = fresh();
    let mut honest = Vec::new();
    for end in [&mut client, &mut server] {
        while end.writer.fill(|| end.session.borrow_mut()).unwrap() {
            honest.extend_from_slice(end.writer.output());
            let count = end.writer.output().len();
            end.writer.advance(count);
        }
    }
    for seed in 0..2000_u64 {
        let (mut client, mut server) = fresh();
        let mut state = seed;
        let mut bytes = honest.clone();
        for _ in 0..1 + seed % 8 {
            let at = usize::try_from(next(&mut state)).unwrap() % bytes.len();
            bytes[at] = next(&mut state).to_be_bytes()[0];
        }
        let cut = usize::try_from(next(&mut state)).unwrap() % bytes.len();
        client.receive(&bytes[if seed % 2 == 0 { 0 } else { cut }..]);
        server.receive(&bytes[..cut]);
    }
}

/// The grants filled the memory of a peer that was sent data by one that does not read.
#[test]
fn who_sends_without_reading_its_grants_is_ended() {
    let (mut client, mut server) = with_small_windows();
    let data = message(94, &[&CHANNEL, &[0, 0, 0, 32], &[7; 32]]);
    let mut flooded = None;
    let mut sent = 0;
    while flooded.is_none() {
        server.session.borrow_mut().inject(&data);
        server.send_to(&mut client);
        assert_eq!(client.error, None);
        let used = client
            .session
            .borrow_mut()
            .consume(ChannelId(0), 32, Instant::now());
        flooded = used.err();
        sent += 1;
        assert!(sent < 200_000, "a queue without end");
    }
    assert_eq!(flooded, Some(Error::Flooded));
    assert!(sent > 10_000, "{sent}");
}
