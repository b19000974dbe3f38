//! Tests of names and ports that are kept: for whom, and how long.

use super::super::invites::Invite;
use super::*;

fn application(key: &str, port: u16, site: Option<&str>) -> Application {
    let site = site.map(|name| Site {
        name: name.to_owned(),
        wish: None,
        since: None,
        tls: false,
        code: None,
        checks_code: false,
    });
    Application {
        key: key.to_owned(),
        app_id: key.to_owned(),
        display_name: String::new(),
        protocol: "http".to_owned(),
        target: String::new(),
        port,
        site,
        called_at: CalledAt::default(),
        expires: None,
        allow: Vec::new(),
        generation: 0,
        connected_at: None,
    }
}

pub(in crate::relay) fn connector() -> Connector {
    Connector {
        password: SecretHash::of(&"p".repeat(43)),
        api_port: 30_000,
        enrolled_at: String::new(),
        called_at: CalledAt::default(),
        caller: Volatile::default(),
        invite: None,
        applications: vec![application("1", 20_000, None)].into(),
    }
}

fn state() -> RelayState {
    let mut state = RelayState::default();
    state.connectors.insert("one".into(), connector().into());
    state
}

#[test]
fn who_is_allowed_again_has_what_was_kept_and_after_that_nothing() {
    let mut state = state();
    assert!(state.revoke("one", "2026-01-01T00:00:00Z").is_some());
    assert!(state.is_revoked("one") && state.revoke("one", "").is_none());
    state.sweep("2026-01-01T00:00:00Z");
    let back = state.allow("one").unwrap().connector.unwrap();
    assert_eq!(back.applications.len(), 1);
    assert!(!state.is_revoked("one") && state.connectors.contains_key("one"));
    state.revoke("one", "2026-01-01T00:00:00Z");
    state.sweep("2026-01-31T00:00:00Z");
    assert_eq!(state.turned_out().count(), 0);
    assert!(state.is_revoked("one"), "that lasts");
    assert!(state.allow("one").unwrap().connector.is_none());
    assert_eq!(state.allow("one").err(), Some(NotReadmitted::NotRevoked));
}

#[test]
fn what_is_kept_for_one_is_not_thrown_away_for_want_of_room() {
    let mut state = state();
    let connector = state.connectors["one"].clone();
    state.revoke("one", "2026-01-01T00:00:00Z").unwrap();
    for number in 0..MAX_CONNECTORS {
        let other = connector.clone();
        state.connectors.insert(number.to_string(), other);
    }
    assert_eq!(state.allow("one").err(), Some(NotReadmitted::Full));
    assert!(state.is_revoked("one"));
    state.revoke("7", "2026-01-01T00:00:00Z").unwrap();
    let back = state.allow("one").unwrap().connector.unwrap();
    assert_eq!(back.applications, connector.applications);
}

/// Reservations, the oldest first.
fn by_age(state: &RelayState) -> Vec<&Reservation> {
    let mut kept: Vec<_> = state.reserved.values().collect();
    kept.sort_by_key(|kept| kept.serial);
    kept
}

#[test]
fn one_that_comes_and_goes_takes_the_place_of_no_other() {
    let mut state = state();
    state.reserve("one", &application("x", 1, Some("old")), "2026-01-01");
    for _ in 0..2 * MAX_NAMES {
        state.reserve("one", &application("y", 2, Some("shop")), "2026-01-02");
        state.reserve("one", &application("z", 3, None), "2026-01-03");
    }
    let kept = |state: &RelayState| -> Vec<Option<String>> {
        let kept = by_age(state).into_iter();
        kept.map(|kept| kept.site.clone()).collect()
    };
    let (old, shop) = (Some("old".to_owned()), Some("shop".to_owned()));
    assert_eq!(kept(&state), [old.clone(), shop, None]);
    assert_eq!(by_age(&state).last().unwrap().port, Some(3));
    state.use_again("one", &application("a", 9, Some("shop")));
    state.use_again("two", &application("a", 3, None));
    assert_eq!(
        kept(&state),
        [old.clone(), None],
        "another's is not its own"
    );
    state.use_again("one", &application("a", 3, None));
    assert_eq!(kept(&state), [old]);
}

#[test]
fn what_is_kept_for_a_connector_is_bounded_and_ends() {
    let mut state = state();
    for number in 0..u16::try_from(MAX_NAMES).unwrap() + 5 {
        state.reserve("one", &application("x", number, None), "2026-01-02");
    }
    state.reserve("two", &application("y", 1, Some("shop")), "2026-01-01");
    // One name of these is in use.
    assert_eq!(state.reserved.len(), MAX_NAMES);
    let kept = by_age(&state);
    assert_eq!(kept[0].port, Some(6), "the oldest went");
    let last = kept.last().unwrap();
    assert_eq!((last.site.as_deref(), last.port), (Some("shop"), None));
    state.sweep("2026-01-02");
    assert_eq!(state.reserved.len(), MAX_NAMES - 1);
    assert!(state.release("one", "1", "2026-01-03").is_some());
    let kept = by_age(&state);
    let ports = [kept.first(), kept.last()].map(|kept| kept.unwrap().port);
    assert_eq!(
        ports,
        [Some(6), Some(20_000)],
        "it has one less and keeps one more"
    );
}

/// Two connectors used one invite: the second still knows its token.
#[test]
fn an_invite_is_good_again_when_nobody_that_it_let_in_is_out() {
    let mut state = state();
    let now = "2026-01-01T00:00:00Z";
    let mut invite = Invite::common(SecretHash::of(&"t".repeat(40)), now);
    invite.is_common = false;
    let id = invite.id.clone();
    state.invites.add(invite, now).unwrap();
    let mut connector = state.connectors["one"].clone();
    for name in ["one", "two"] {
        connector.invite = Some(state.invites.use_by(&id, name, now).unwrap());
        state.connectors.insert(name.into(), connector.clone());
    }
    for name in ["one", "two"] {
        assert!(state.revoke(name, now).is_some());
        state.invites.forbid(&id, now);
    }
    let is_good = |state: &mut RelayState, name| state.allow(name).unwrap().is_invite_good;
    assert!(!is_good(&mut state, "one"));
    assert!(is_good(&mut state, "two"));
    assert!(state.invites.has_good(now));
}
