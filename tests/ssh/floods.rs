//! Floods of requests after the login, between two ends: what costs is cut, what is answered waits for the peer.

use std::time::Duration;

use crate::fixture::{Pair, Told, assert_clean};
use postern::tunnel::ssh::Error;

fn rekey(pair: &mut Pair) -> bool {
    let started = pair.client.session.borrow_mut().rekey();
    pair.run(usize::MAX);
    started.is_ok() && pair.server.failure().is_none()
}

/// Each exchange costs this end as much as a login, and is asked for by a few bytes.
#[test]
fn keys_that_are_changed_over_and_over_for_nothing_end_the_connection() {
    let mut pair = Pair::ready();
    let exchanges = (0..2000).take_while(|_| rekey(&mut pair)).count();
    assert!((400..600).contains(&exchanges), "{exchanges}");
    let why = Error::Protocol("the keys are changed over and over");
    assert_eq!(pair.server.failure(), Some(&why));
    let told = pair.client.failure();
    assert!(
        matches!(told, Some(Error::Disconnected { code: 2, .. })),
        "{told:?}"
    );
}

/// Such as a peer with a short limit does.
#[test]
fn keys_may_be_changed_often_where_that_costs_little_or_data_flows() {
    let mut pair = Pair::ready();
    for _ in 0..700 {
        pair.now += Duration::from_millis(20);
        assert!(rekey(&mut pair));
    }
    let (up, down) = pair.channel();
    let data = vec![7; 70_000];
    for _ in 0..700 {
        let mut at = 0;
        while at < data.len() {
            crate::fixture::pump(&mut pair.client, up, &data, &mut at);
            pair.run(usize::MAX);
        }
        assert_eq!(pair.server.take_data(down).len(), data.len());
        assert!(rekey(&mut pair));
        pair.server.told.retain(|told| *told != Told::Rekeyed);
        pair.client.told();
    }
    for (end, channel) in [(&pair.client, up), (&pair.server, down)] {
        end.session.borrow_mut().close(channel).unwrap();
    }
    pair.run(usize::MAX);
    assert_clean(&pair);
}
