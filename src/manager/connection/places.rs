//! Tunnel addresses from the servers' last answers. A server that is missed there is asked again, as it may have moved;
//! one application asks for all that go through it.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::manager::quick_setup::Setup;
use crate::sync::Mutex;
use crate::tunnel::client::Pauses;
use crate::tunnel::ws::Endpoint;

/// The pause before the first question, and after it. Default 10 s: most restarts are over by then.
const FIRST_PAUSE: Duration = Duration::from_secs(10);
/// The longest pause. Default 60 s: one call a minute is little to a server.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Tunnel addresses of servers, by origin.
#[derive(Default)]
pub(super) struct ServerAddresses(Mutex<HashMap<String, AddressEntry>>);

/// Host, port and URL.
type TunnelAddress = (String, Option<u16>, Option<Endpoint>);

struct AddressEntry {
    /// As its last answer named it.
    named: TunnelAddress,
    pauses: Pauses,
    /// No question before this; none while it is not missed.
    ask: Option<Instant>,
}

impl ServerAddresses {
    /// Notes an answer of the server.
    pub(super) fn note(&self, origin: &str, setup: &Setup) {
        let mut places = self.0.lock();
        let place = places
            .entry(origin.to_owned())
            .or_insert_with(|| AddressEntry {
                named: Default::default(),
                pauses: Pauses::new(FIRST_PAUSE, LONGEST_PAUSE),
                ask: None,
            });
        place.named = named_by(setup);
    }

    /// True if a later answer than this one named another place.
    pub(super) fn is_elsewhere(&self, origin: &str, setup: &Setup) -> bool {
        let places = self.0.lock();
        let place = places.get(origin);
        place.is_some_and(|place| place.named != named_by(setup))
    }

    /// True for one of those that miss the server, after each pause; the pauses differ at random.
    pub(super) fn begin_ask_if_due(&self, origin: &str, now: Instant) -> bool {
        let mut places = self.0.lock();
        let Some(place) = places.get_mut(origin) else {
            return false;
        };
        let is_due = place.ask.is_some_and(|at| at <= now);
        if is_due || place.ask.is_none() {
            place.ask = Some(now + place.pauses.next());
        }
        is_due
    }

    /// Called when the server is not missed any more.
    pub(super) fn end_search(&self, origin: &str) {
        if let Some(place) = self.0.lock().get_mut(origin) {
            place.pauses.reset();
            place.ask = None;
        }
    }
}

fn named_by(setup: &Setup) -> TunnelAddress {
    let named = setup.connector.clone();
    (named.external_ip, named.tunnel_port, named.tunnel_url)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manager::remote::tests::setup;

    #[test]
    fn one_asks_for_all_after_each_pause_and_the_others_learn_of_the_answer() {
        let (places, begun) = (ServerAddresses::default(), Instant::now());
        let (before, mut after) = (setup("user"), setup("user"));
        after.connector.external_ip = "127.0.0.2".into();
        assert!(!places.begin_ask_if_due("a", begun), "it never answered");
        places.note("a", &before);
        let asked = (0..240).filter(|second| {
            let now = begun + Duration::from_secs(*second);
            // Two applications miss it each second.
            let asks = [(); 2].map(|()| places.begin_ask_if_due("a", now));
            assert_ne!(asks, [true, true]);
            asks[0] && *second > 0
        });
        let asked = asked.collect::<Vec<_>>();
        assert!((8..=11).contains(&asked[0]), "{asked:?}");
        assert!((5..=7).contains(&asked.len()), "{asked:?}");
        assert!(!places.is_elsewhere("a", &before) && !places.is_elsewhere("b", &before));
        places.note("a", &after);
        assert!(places.is_elsewhere("a", &before) && !places.is_elsewhere("a", &after));
        places.end_search("a");
        assert!(!places.begin_ask_if_due("a", begun + Duration::from_secs(500)));
    }
}
