//! Channels, requests and re-keys between two ends that are logged in.

use std::time::Duration;

use crate::fixture::{MIB, Numbers, Pair, Told, assert_clean, pattern, pump, transfer};
use postern::tunnel::ssh::{ChannelOpenFailure, Cipher, Config, DisconnectReason, Error, KeyKind};

#[test]
fn data_arrives_whole_both_ways_in_pieces_of_any_size() {
    for (size, piece) in [(1, 1), (5000, 1), (100_000, 999), (3 * MIB, 70_000)] {
        let mut pair = Pair::ready();
        transfer(&mut pair, size, piece, |_, _| {});
        assert_clean(&pair);
    }
}

#[test]
fn each_cipher_carries_data_across_rekeys_of_either_side_and_of_both() {
    for cipher in Cipher::preferred() {
        for who in 1..=3 {
            let mut config = Config::default();
            config.ciphers = vec![cipher];
            let mut pair = Pair::new(&config, &Config::default(), KeyKind::EcdsaP256);
            pair.log_in(usize::MAX);
            let mut rekeyed = 0;
            transfer(&mut pair, 2 * MIB, 30_000, |pair, step| {
                if step % 7 == 0 && who & 1 != 0 {
                    pair.client.session.borrow_mut().rekey().unwrap();
                }
                if step % 7 == 0 && who & 2 != 0 {
                    pair.server.session.borrow_mut().rekey().unwrap();
                }
                rekeyed += pair
                    .client
                    .told()
                    .iter()
                    .filter(|t| **t == Told::Rekeyed)
                    .count();
            });
            assert!(rekeyed > 3, "{cipher:?} {who}: {rekeyed}");
        }
    }
}

#[test]
fn keys_are_changed_after_so_many_bytes_in_either_direction() {
    for (client, server) in [(100_000, u64::MAX), (u64::MAX, 100_000), (100_000, 100_000)] {
        let mut configs = [Config::default(), Config::default()];
        configs[0].rekey_bytes = client;
        configs[1].rekey_bytes = server;
        let mut pair = Pair::new(&configs[0], &configs[1], KeyKind::Ed25519);
        pair.log_in(usize::MAX);
        let mut rekeyed = 0;
        transfer(&mut pair, 2 * MIB, 50_000, |pair, _| {
            rekeyed += pair
                .server
                .told()
                .iter()
                .filter(|t| **t == Told::Rekeyed)
                .count();
        });
        assert!(rekeyed >= 5, "{rekeyed}");
    }
}

#[test]
fn keys_are_changed_after_an_hour() {
    let mut pair = Pair::ready();
    pair.now += Duration::from_secs(3599);
    pair.client
        .session
        .borrow_mut()
        .tick(pair.now - Duration::from_secs(1))
        .unwrap();
    assert!(!pair.client.session.borrow().has_output());
    pair.now += Duration::from_secs(2);
    pair.client.session.borrow_mut().tick(pair.now).unwrap();
    pair.run(usize::MAX);
    assert_eq!(pair.client.told(), [Told::Rekeyed]);
    assert_eq!(pair.server.told(), [Told::Rekeyed]);
}

#[test]
fn random_cuts_and_random_calls_lose_nothing() {
    for seed in 0..6 {
        let mut numbers = Numbers(seed);
        let mut pair = Pair::ready();
        let pieces: Vec<usize> = (0..64).map(|_| 1 + numbers.below(20_000)).collect();
        let size = 300_000 + numbers.below(300_000);
        let mut at = 0;
        transfer(&mut pair, size, 40_000, |pair, _| {
            at = (at + 1) % pieces.len();
            let now = pair.now;
            pair.client.receive(pieces[at], now);
            pair.server.receive(pieces[(at * 7) % pieces.len()], now);
            if pieces[at].is_multiple_of(9) {
                pair.client.session.borrow_mut().rekey().unwrap();
            }
            if pieces[at].is_multiple_of(5) {
                pair.server.session.borrow_mut().rekey().unwrap();
            }
        });
        assert_clean(&pair);
    }
}

#[test]
fn half_a_channel_can_be_closed() {
    let mut pair = Pair::ready();
    let (up, down) = pair.channel();
    pair.server
        .session
        .borrow_mut()
        .write(down, b"ask")
        .unwrap();
    pair.server.session.borrow_mut().eof(down).unwrap();
    pair.run(usize::MAX);
    assert_eq!(
        pair.client.told(),
        [Told::Data(up, b"ask".into()), Told::Eof(up)]
    );
    let late = pair.server.session.borrow_mut().write(down, b"more");
    assert_eq!(late, Err(Error::NoChannel(down)));
    pair.client
        .session
        .borrow_mut()
        .write(up, b"answer")
        .unwrap();
    pair.client.session.borrow_mut().close(up).unwrap();
    pair.run(usize::MAX);
    assert_eq!(
        pair.server.told(),
        [Told::Data(down, b"answer".into()), Told::Closed(down)]
    );
    assert!(pair.server.session.borrow_mut().write(down, b"x").is_err());
    pair.server.session.borrow_mut().close(down).unwrap();
    pair.run(usize::MAX);
    assert_eq!((pair.client.told(), pair.server.told()), (vec![], vec![]));
    assert_clean(&pair);
}

#[test]
fn what_was_written_before_close_arrives_before_it() {
    let mut pair = Pair::ready();
    let (up, down) = pair.channel();
    let data = pattern(150_000);
    let mut sent = 0;
    pump(&mut pair.server, down, &data, &mut sent);
    assert_eq!(sent, data.len());
    pair.server
        .session
        .borrow_mut()
        .write(down, b"tail")
        .unwrap();
    pair.server.session.borrow_mut().eof(down).unwrap();
    pair.server.session.borrow_mut().close(down).unwrap();
    pair.run(usize::MAX);
    assert_eq!(pair.client.take_data(up), [data, b"tail".to_vec()].concat());
    assert_eq!(pair.client.told(), [Told::Eof(up), Told::Closed(up)]);
}

#[test]
fn both_sides_may_close_at_once() {
    let mut pair = Pair::ready();
    let (up, down) = pair.channel();
    pair.client.session.borrow_mut().close(up).unwrap();
    pair.server.session.borrow_mut().close(down).unwrap();
    pair.run(usize::MAX);
    assert_eq!((pair.client.told(), pair.server.told()), (vec![], vec![]));
    assert_clean(&pair);
}

#[test]
fn a_refused_channel_leaves_nothing_behind() {
    let mut pair = Pair::ready();
    let down = pair
        .server
        .session
        .borrow_mut()
        .open("chisel", b"10.0.0.1:22")
        .unwrap();
    pair.run(usize::MAX);
    let Some(Told::Open(up, ..)) = pair.client.told().pop() else {
        panic!();
    };
    let refused = ChannelOpenFailure::AdministrativelyProhibited;
    pair.client
        .session
        .borrow_mut()
        .refuse(up, refused, "not a declared target")
        .unwrap();
    pair.run(usize::MAX);
    assert_eq!(pair.server.told(), [Told::OpenRefused(down, 1)]);
    assert_clean(&pair);
}

#[test]
fn a_channel_closed_while_it_opens_is_closed_once_it_is_open() {
    let mut pair = Pair::ready();
    let down = pair
        .server
        .session
        .borrow_mut()
        .open("chisel", b"x:1")
        .unwrap();
    pair.server.session.borrow_mut().close(down).unwrap();
    pair.run(usize::MAX);
    let Some(Told::Open(up, ..)) = pair.client.told().pop() else {
        panic!();
    };
    pair.client.session.borrow_mut().accept(up).unwrap();
    pair.run(usize::MAX);
    assert_eq!(pair.client.told(), [Told::Closed(up)]);
    assert_eq!(pair.server.told(), []);
    pair.client.session.borrow_mut().close(up).unwrap();
    assert_clean(&pair);
}

#[test]
fn received_data_counts_until_its_channel_is_closed_here() {
    let mut pair = Pair::ready();
    let (up, down) = pair.channel();
    pair.client.consumes = false;
    pair.server
        .session
        .borrow_mut()
        .write(down, &pattern(10_000))
        .unwrap();
    pair.server.session.borrow_mut().close(down).unwrap();
    pair.run(usize::MAX);
    assert_eq!(pair.client.session.borrow().window_bytes(), 10_000);
    let now = pair.now;
    pair.client
        .session
        .borrow_mut()
        .consume(up, 4000, now)
        .unwrap();
    assert_eq!(pair.client.session.borrow().window_bytes(), 6000);
    pair.client.session.borrow_mut().close(up).unwrap();
    assert_clean(&pair);
}

#[test]
fn channels_have_a_cap_on_either_side() {
    let mut config = Config::default();
    config.channels.channels = 3;
    let mut pair = Pair::new(&config, &Config::default(), KeyKind::Ed25519);
    pair.log_in(usize::MAX);
    for _ in 0..3 {
        pair.channel();
    }
    let fourth = pair
        .server
        .session
        .borrow_mut()
        .open("chisel", b"x:1")
        .unwrap();
    pair.run(usize::MAX);
    assert_eq!(pair.server.told(), [Told::OpenRefused(fourth, 4)]);
    let own = pair.client.session.borrow_mut().open("chisel", b"x:1");
    assert_eq!(own, Err(Error::Exhausted("channels")));
}

#[test]
fn requests_are_answered_in_their_order() {
    let mut pair = Pair::ready();
    let now = pair.now;
    let ids: Vec<_> = (0..3)
        .map(|_| {
            pair.client
                .session
                .borrow_mut()
                .request("ping", b"x", now)
                .unwrap()
        })
        .collect();
    pair.run(usize::MAX);
    let asked: Vec<_> = pair
        .server
        .told()
        .into_iter()
        .map(|told| match told {
            Told::Request(Some(id), name, data) if name == "ping" && data == b"x" => id,
            other => panic!("{other:?}"),
        })
        .collect();
    pair.now += Duration::from_millis(30);
    let reply = |pair: &Pair, at: usize, success| {
        let mut session = pair.server.session.borrow_mut();
        session.reply(asked[at], success, &[at as u8]).unwrap();
    };
    reply(&pair, 2, true);
    reply(&pair, 1, false);
    pair.run(usize::MAX);
    assert_eq!(pair.client.told(), []);
    reply(&pair, 0, true);
    assert!(
        pair.server
            .session
            .borrow_mut()
            .reply(asked[0], true, b"")
            .is_err()
    );
    pair.run(usize::MAX);
    assert_eq!(
        pair.client.told(),
        [
            Told::Reply(ids[0], true, vec![0]),
            Told::Reply(ids[1], false, vec![1]),
            Told::Reply(ids[2], true, vec![2]),
        ]
    );
    let trip = pair.client.session.borrow().round_trip().unwrap();
    assert!(trip >= Duration::from_millis(30) && trip < Duration::from_millis(40));
}

#[test]
fn pending_requests_have_a_cap() {
    let pair = Pair::ready();
    let now = pair.now;
    for _ in 0..64 {
        pair.client
            .session
            .borrow_mut()
            .request("ping", b"", now)
            .unwrap();
    }
    let more = pair.client.session.borrow_mut().request("ping", b"", now);
    assert!(matches!(more, Err(Error::Exhausted(_))));
}

#[test]
fn the_end_is_told_and_nothing_works_after_it() {
    let mut pair = Pair::ready();
    let (up, _) = pair.channel();
    pair.client
        .session
        .borrow_mut()
        .disconnect(DisconnectReason::ByApplication, "bye\u{1b}[2J");
    pair.run(usize::MAX);
    let Some(Error::Disconnected { code: 11, text }) = pair.server.failure() else {
        panic!("{:?}", pair.server.told);
    };
    assert_eq!(text, "bye [2J");
    let mut session = pair.client.session.borrow_mut();
    assert_eq!(session.write(up, b"x"), Err(Error::Closed));
    assert_eq!(session.open("chisel", b"x"), Err(Error::Closed));
    assert_eq!(session.rekey(), Err(Error::Closed));
    assert!(!session.has_output());
}

#[test]
fn a_changed_bit_under_any_cipher_ends_the_connection() {
    for cipher in Cipher::preferred() {
        let mut config = Config::default();
        config.ciphers = vec![cipher];
        for at in [0, 3, 4, 20, 60, 100] {
            let mut pair = Pair::new(&config, &config, KeyKind::Ed25519);
            pair.log_in(usize::MAX);
            let (_, down) = pair.channel();
            pair.server
                .session
                .borrow_mut()
                .write(down, &[1; 100])
                .unwrap();
            let mut bytes = pair.server.send(1);
            bytes[at] ^= 0x10;
            bytes.extend([0; 40_000]);
            pair.client.incoming.extend(bytes);
            pair.client.receive(usize::MAX, pair.now);
            assert_eq!(
                pair.client.failure(),
                Some(&Error::Corrupt),
                "{cipher:?} {at}"
            );
            assert!(!pair.client.told.iter().any(|t| matches!(t, Told::Data(..))));
        }
    }
}
