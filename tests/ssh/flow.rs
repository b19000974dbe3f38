//! Order of sending: windows, the queue for the output, urgent data next to bulk data.

use crate::fixture::{MIB, Pair, Told, pattern, pump, transfer};
use postern::tunnel::ssh::{ChannelId, Error};

#[test]
fn a_full_window_stops_the_sender_until_data_is_used() {
    let mut pair = Pair::ready();
    let (up, down) = pair.channel();
    pair.client.consumes = false;
    let data = pattern(4 * MIB);
    let mut sent = 0;
    loop {
        pump(&mut pair.server, down, &data, &mut sent);
        if !pair.step(usize::MAX) {
            break;
        }
    }
    assert_eq!(sent, 256 * 1024);
    pair.server.told();
    let got = pair.client.take_data(up).len();
    assert_eq!(got, sent);
    // A little is not worth a packet; half the window is.
    let now = pair.now;
    pair.client
        .session
        .borrow_mut()
        .consume(up, 1000, now)
        .unwrap();
    pair.run(usize::MAX);
    assert_eq!(pair.server.told(), []);
    pair.client
        .session
        .borrow_mut()
        .consume(up, got / 2, now)
        .unwrap();
    pair.run(usize::MAX);
    assert_eq!(pair.server.told(), [Told::Writable(down)]);
    pump(&mut pair.server, down, &data, &mut sent);
    assert!(sent > 256 * 1024);
}

#[test]
fn one_stalled_channel_does_not_stall_another() {
    let mut pair = Pair::ready();
    let (_, stalled) = pair.channel();
    let (live_up, live) = pair.channel();
    let data = pattern(2 * MIB);
    pair.client.consumes = false;
    let mut sent = [0, 0];
    let mut got = 0;
    while got < data.len() {
        pump(&mut pair.server, stalled, &data, &mut sent[0]);
        pump(&mut pair.server, live, &data, &mut sent[1]);
        pair.step(usize::MAX);
        let arrived = pair.client.take_data(live_up).len();
        got += arrived;
        let now = pair.now;
        pair.client
            .session
            .borrow_mut()
            .consume(live_up, arrived, now)
            .unwrap();
    }
    assert_eq!(sent[0], 256 * 1024);
}

#[test]
fn a_thousand_stalled_channels_stay_within_the_budget() {
    let mut pair = Pair::ready();
    pair.client.consumes = false;
    let data = pattern(256 * 1024);
    let mut held = 0;
    for _ in 0..1000 {
        let (up, down) = pair.channel();
        let mut sent = 0;
        loop {
            pump(&mut pair.server, down, &data[..], &mut sent);
            if !pair.step(usize::MAX) {
                break;
            }
        }
        held += pair.client.take_data(up).len();
        pair.server.told();
    }
    assert!(held <= 64 * MIB, "{held}");
    assert!(pair.client.session.borrow().window_bytes() <= 64 * MIB as u64);
    // One more still works, and slowly moves data.
    pair.client.consumes = true;
    transfer(&mut pair, 100_000, usize::MAX, |_, _| {});
}

#[test]
fn small_writes_overtake_bulk_data_and_keep_their_own_order() {
    let mut pair = Pair::ready();
    let (_, bulk) = pair.channel();
    let (keys_up, keys) = pair.channel();
    let data = pattern(MIB);
    let mut sent = 0;
    pump(&mut pair.server, bulk, &data, &mut sent);
    assert!((128 * 1024..MIB).contains(&sent), "{sent}");
    // Behind 192 KiB of bulk, a keystroke leaves with the first batch.
    pair.server.session.borrow_mut().write(keys, b"k").unwrap();
    let first = pair.server.send(1);
    assert!(first.len() < 200, "{}", first.len());
    pair.client.incoming.extend(first);
    pair.client.receive(usize::MAX, pair.now);
    assert_eq!(pair.client.told(), [Told::Data(keys_up, b"k".into())]);
    // Small and large in one channel stay in order.
    let (mixed_up, mixed) = pair.channel();
    let mut all = Vec::new();
    for round in 0..40_u8 {
        let size = if round % 3 == 0 { 30_000 } else { 10 };
        let piece = vec![round; size];
        let mut at = 0;
        while at < piece.len() {
            pump(&mut pair.server, mixed, &piece, &mut at);
            pair.step(usize::MAX);
        }
        all.extend(piece);
    }
    pair.run(usize::MAX);
    assert_eq!(pair.client.take_data(mixed_up), all);
}

#[test]
fn a_flood_of_small_writes_does_not_starve_bulk_data() {
    let mut pair = Pair::ready();
    let (bulk_up, bulk) = pair.channel();
    let (_, chatty) = pair.channel();
    let data = pattern(MIB);
    let (mut sent, mut got, mut batches) = (0, 0, 0);
    while got < 512 * 1024 {
        pump(&mut pair.server, bulk, &data, &mut sent);
        while pair
            .server
            .session
            .borrow_mut()
            .write(chatty, &[7; 1000])
            .unwrap()
            == 1000
        {}
        pair.step(usize::MAX);
        got += pair.client.take_data(bulk_up).len();
        batches += 1;
        assert!(batches < 100, "{got}");
    }
}

#[test]
fn many_greedy_channels_share_the_line_evenly() {
    let mut pair = Pair::ready();
    let channels: Vec<_> = (0..20).map(|_| pair.channel()).collect();
    let data = pattern(64 * 1024);
    let mut got = vec![0; channels.len()];
    // Every channel always wants to write; only those that are called try again.
    let mut ready: Vec<ChannelId> = channels.iter().map(|(_, down)| *down).collect();
    for _ in 0..2000 {
        for down in std::mem::take(&mut ready) {
            loop {
                let taken = pair.server.session.borrow_mut().write(down, &data).unwrap();
                if taken < data.len() {
                    break;
                }
            }
        }
        pair.step(usize::MAX);
        for told in pair.server.told() {
            if let Told::Writable(channel) = told {
                ready.push(channel);
            }
        }
        for (at, (up, _)) in channels.iter().enumerate() {
            got[at] += pair.client.take_data(*up).len();
        }
    }
    let (least, most) = (got.iter().min().unwrap(), got.iter().max().unwrap());
    assert!(*least > MIB && *most < 2 * least, "{got:?}");
}

#[test]
fn a_writer_that_waits_is_always_called_again() {
    // Channels that die while they wait or are called must not take the others' turn along.
    let mut pair = Pair::ready();
    let channels: Vec<_> = (0..30).map(|_| pair.channel()).collect();
    let data = pattern(200_000);
    for (at, (up, down)) in channels.iter().enumerate() {
        let _ = pair
            .server
            .session
            .borrow_mut()
            .write(*down, &data)
            .unwrap();
        if at % 3 == 0 {
            pair.client.session.borrow_mut().close(*up).unwrap();
        }
        if at % 5 == 0 {
            pair.server.session.borrow_mut().close(*down).unwrap();
        }
    }
    pair.run(usize::MAX);
    let told = pair.server.told();
    for (at, (_, down)) in channels.iter().enumerate() {
        if at % 3 == 0 || at % 5 == 0 {
            continue;
        }
        let mut session = pair.server.session.borrow_mut();
        let all = session.write(*down, b"x").unwrap() == 1;
        assert!(all || told.contains(&Told::Writable(*down)), "channel {at}");
    }
}

#[test]
fn a_ping_passes_a_full_line_within_one_batch_each_way() {
    let mut pair = Pair::ready();
    let (_, down) = pair.channel();
    let data = pattern(4 * MIB);
    let mut sent = 0;
    pump(&mut pair.server, down, &data, &mut sent);
    // The client's buffer has grown to its size by then.
    pair.run(usize::MAX);
    pump(&mut pair.server, down, &data, &mut sent);
    let now = pair.now;
    pair.client
        .session
        .borrow_mut()
        .request("ping", b"", now)
        .unwrap();
    pair.step(usize::MAX);
    let Some(Told::Request(Some(id), ..)) = pair.server.told().pop() else {
        panic!();
    };
    pump(&mut pair.server, down, &data, &mut sent);
    pair.server
        .session
        .borrow_mut()
        .reply(id, true, b"pong")
        .unwrap();
    pair.client.told();
    pair.step(usize::MAX);
    assert!(matches!(pair.client.told().last(), Some(Told::Reply(..))));
}

#[test]
fn a_turn_that_is_not_used_goes_to_the_next() {
    let mut pair = Pair::ready();
    let channels: Vec<_> = (0..12).map(|_| pair.channel()).collect();
    let data = pattern(64 * 1024);
    for (_, down) in &channels {
        let _ = pair
            .server
            .session
            .borrow_mut()
            .write(*down, &data)
            .unwrap();
    }
    let mut waiting = channels.len() - 3;
    // Each channel whose turn it is has nothing to send after all.
    while pair.step(usize::MAX) || pair.server.session.borrow().has_output() {
        for told in pair.server.told() {
            if let Told::Writable(channel) = told {
                assert_eq!(pair.server.session.borrow_mut().write(channel, b""), Ok(0));
                waiting -= 1;
            }
        }
    }
    assert_eq!(waiting, 0);
}

/// The bytes that frames add count too, or a slow reader looks like one that never reads.
#[test]
fn single_bytes_that_wait_are_bounded_with_their_frames() {
    let mut pair = Pair::ready();
    let (_, down) = pair.channel();
    let mut taken = 0;
    while pair.server.session.borrow_mut().write(down, b"k").unwrap() == 1 {
        taken += 1;
    }
    let bytes = pair.server.send(usize::MAX).len();
    assert!(taken > 1000 && bytes < 300 * 1024, "{taken}, {bytes}");
}

#[test]
fn the_window_tells_what_may_be_written_and_when_again() {
    let mut pair = Pair::ready();
    let (up, down) = pair.channel();
    pair.client.consumes = false;
    let window = |pair: &Pair| pair.server.session.borrow_mut().window(down);
    let all = window(&pair).unwrap();
    assert_eq!(all, 256 * 1024);
    let (data, mut sent) = (pattern(all), 0);
    while sent < all {
        pump(&mut pair.server, down, &data, &mut sent);
        assert_eq!(window(&pair), Ok(all - sent));
        pair.step(usize::MAX);
    }
    pair.run(usize::MAX);
    pair.server.told();
    // Nothing was cut short: it is the question that makes it be told.
    let now = pair.now;
    pair.client
        .session
        .borrow_mut()
        .consume(up, all, now)
        .unwrap();
    pair.run(usize::MAX);
    assert_eq!(pair.server.told(), [Told::Writable(down)]);
    assert_eq!(window(&pair), Ok(all));
    pair.client.session.borrow_mut().close(up).unwrap();
    pair.run(usize::MAX);
    assert_eq!(window(&pair), Err(Error::NoChannel(down)));
}

#[test]
fn who_has_no_more_to_write_keeps_no_place_in_the_line() {
    let mut pair = Pair::ready();
    let channels: Vec<_> = (0..40).map(|_| pair.channel()).collect();
    let data = pattern(64 * 1024);
    let write = |pair: &Pair, channel, data: &[u8]| {
        pair.server
            .session
            .borrow_mut()
            .write(channel, data)
            .unwrap()
    };
    let waiting: Vec<ChannelId> = channels
        .iter()
        .filter(|(_, down)| write(&pair, *down, &data) == 0)
        .map(|(_, down)| *down)
        .collect();
    assert!(waiting.len() > 30, "{}", waiting.len());
    // As many as are called before the output is empty.
    let (content, wanting) = waiting.split_at(waiting.len() - 4);
    for channel in content {
        assert_eq!(write(&pair, *channel, b"x"), 1);
    }
    pair.run(usize::MAX);
    let told = pair.server.told();
    for channel in content {
        assert!(!told.contains(&Told::Writable(*channel)), "{channel}");
    }
    for channel in wanting {
        assert!(told.contains(&Told::Writable(*channel)), "{channel}");
    }
}
