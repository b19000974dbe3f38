//! Tests of the assignment of ports and names.

use super::super::secret::SecretHash;
use super::super::setup_request::tests::with;
use super::super::state::Connector;
use super::*;
use serde_json::{Value, json};

fn state() -> RelayState {
    let mut state = RelayState::default();
    for name in ["a", "b"] {
        let connector = Connector {
            password: SecretHash::of(&"x".repeat(40)),
            api_port: api_port(&state).unwrap(),
            enrolled_at: String::new(),
            called_at: Default::default(),
            caller: Default::default(),
            invite: None,
            applications: Vec::new().into(),
        };
        state.connectors.insert(name.into(), connector.into());
    }
    state
}

/// Assigns while somebody else listens on port 20000.
fn assigned(state: &mut RelayState, changes: Value) -> Result<Application, AllocError> {
    let request = with(changes).unwrap();
    let around = AllocationContext {
        public: 20_000..=20_002,
        free_port: match candidates(state, &request, 20_000..=20_002) {
            None => FreePort::NotNeeded,
            Some(ports) => ports
                .into_iter()
                .find(|port| *port != 20_000)
                .map_or(FreePort::NoneLeft, FreePort::Found),
        },
        is_own_name: &|name| name == "own",
        quota: None,
        now: "2026-01-01",
    };
    assign(state, &request, None, &around)
}

fn site(application: &Application) -> &str {
    &application.site.as_ref().unwrap().name
}

#[test]
fn an_application_keeps_its_port_and_name() {
    let mut state = state();
    let first = assigned(&mut state, json!({"connector_name": "a"})).unwrap();
    assert_eq!(site(&first), "my-shop");
    let changes =
        json!({"connector_name": "a", "display_name": "Other", "ip": "10.0.0.1", "port": 9});
    let again = assigned(&mut state, changes).unwrap();
    assert_eq!(
        (site(&again), again.port, &again.app_id),
        ("my-shop", first.port, &first.app_id)
    );
    assert_eq!(again.target, "10.0.0.1:9");
    assert_eq!(state.applications().count(), 1);
}

#[test]
fn a_wish_is_followed_once_and_the_name_stays() {
    let mut state = state();
    let mut wish = |connector: &str, app: &str, name: &str| {
        let call = json!({"connector_name": connector, "client_app_id": app, "site_name": name});
        site(&assigned(&mut state, call).unwrap()).to_owned()
    };
    assert_eq!(wish("a", "1", "shop"), "shop");
    assert_eq!(wish("b", "1", "shop"), "shop-2");
    assert_eq!(wish("a", "2", "shop"), "shop-3");
    assert_eq!(wish("a", "1", "store"), "store");
    assert_eq!(
        wish("b", "1", "shop"),
        "shop-2",
        "a name that got free moves nobody"
    );
    assert_eq!(wish("a", "3", "shop"), "shop");
    assert_eq!(wish("a", "4", "own"), "own-2");
    assert_eq!(wish("a", "1", ""), "store");
}

#[test]
fn a_reserved_word_is_given_to_nobody_and_left_to_who_has_it() {
    let mut state = state();
    let call = |name: &str| json!({"connector_name": "a", "client_app_id": "1", "site_name": name});
    assigned(&mut state, call("help")).unwrap();
    let refused = assigned(&mut state, call("support"));
    assert_eq!(refused.unwrap_err(), AllocError::ReservedName);
    // The name was given before the word was reserved.
    let connector = state.connectors.get_mut("a").unwrap();
    let had = connector.applications.first_mut().unwrap();
    let had = had.site.as_mut().unwrap();
    (had.name, had.wish) = ("support".into(), Some("support".into()));
    let kept = assigned(&mut state, call("support")).unwrap();
    assert_eq!(site(&kept), "support");
}

#[test]
fn other_protocols_get_public_ports_that_are_free() {
    let mut state = state();
    let mut ask = |app: &str, protocol: &str| {
        assigned(
            &mut state,
            json!({"connector_name": "a", "client_app_id": app, "protocol": protocol}),
        )
    };
    let first = ask("1", "ssh").unwrap().port;
    let ports = BTreeSet::from([first, ask("2", "tcp").unwrap().port]);
    assert_eq!(ports, BTreeSet::from([20_001, 20_002]));
    assert_eq!(ask("3", "vnc"), Err(AllocError::NoPort));
    assert_eq!(ask("1", "ssh").unwrap().port, first);
    let turned = ask("1", "https").unwrap();
    assert!(NUMBERS.contains(&turned.port) && turned.site.unwrap().tls);
    assert_eq!(ask("3", "vnc").unwrap().port, first, "given back");
}

#[test]
fn what_one_gave_up_or_was_turned_out_with_is_nobody_elses() {
    let mut state = state();
    let ask = |state: &mut RelayState, connector: &str, app: &str, protocol: &str| {
        let call = json!({"connector_name": connector, "client_app_id": app,
            "protocol": protocol, "site_name": "shop"});
        assigned(state, call).unwrap()
    };
    let (shop, ssh) = (
        ask(&mut state, "a", "1", "http"),
        ask(&mut state, "a", "2", "ssh"),
    );
    state.release("a", "1", "2026-01-01").unwrap();
    state.release("a", "2", "2026-01-01").unwrap();
    assert_eq!(site(&ask(&mut state, "b", "1", "http")), "shop-2");
    let other = ask(&mut state, "b", "2", "ssh");
    assert_ne!(other.port, ssh.port);
    let again = ask(&mut state, "a", "3", "http");
    assert_eq!(site(&again), site(&shop), "its own");
    assert_eq!(ask(&mut state, "a", "4", "ssh").port, ssh.port);
    state.revoke("a", "2026-01-01").unwrap();
    assert_eq!(site(&ask(&mut state, "b", "3", "http")), "shop-3");
    state.sweep("2026-01-02");
    assert_eq!(site(&ask(&mut state, "b", "4", "http")), "shop");
    assert_eq!(
        ask(&mut state, "b", "5", "ssh").port,
        ssh.port,
        "the last that is left"
    );
}

/// A name is shared and released again and again.
#[test]
fn what_is_used_again_is_kept_no_more_and_drives_out_nothing() {
    let mut state = state();
    let mut ask = |connector: &str, app: &str, protocol: &str, name: &str, release: bool| {
        let call = json!({"connector_name": connector, "client_app_id": app,
            "protocol": protocol, "site_name": name});
        let given = assigned(&mut state, call).unwrap();
        if release {
            state.release(connector, app, "2026-01-01").unwrap();
        }
        (given, state.reserved.len())
    };
    ask("a", "1", "http", "shop", true);
    let (ssh, _) = ask("a", "2", "ssh", "", true);
    for _ in 0..101 {
        ask("a", "3", "http", "store", true);
    }
    assert_eq!(ask("a", "4", "http", "store", false).1, 2);
    assert_eq!(site(&ask("b", "1", "http", "shop", false).0), "shop-2");
    let (again, kept) = ask("a", "5", "ssh", "", false);
    assert_eq!((again.port, kept), (ssh.port, 1));
}

#[test]
fn public_ports_are_drawn() {
    let request = with(json!({"connector_name": "a", "protocol": "tcp"})).unwrap();
    let mut drawn = candidates(&state(), &request, PUBLIC_PORTS).unwrap();
    assert!(!drawn.is_sorted() && drawn != candidates(&state(), &request, PUBLIC_PORTS).unwrap());
    drawn.sort_unstable();
    assert!(drawn.into_iter().eq(PUBLIC_PORTS), "each of them once");
}

#[test]
fn a_port_that_was_taken_meanwhile_is_looked_for_again() {
    let mut state = state();
    let ask = |state: &mut RelayState, app: &str, free_port| {
        let call = json!({"connector_name": "a", "client_app_id": app, "protocol": "tcp"});
        let around = AllocationContext {
            public: PUBLIC_PORTS,
            free_port,
            is_own_name: &|_| false,
            quota: None,
            now: "",
        };
        assign(state, &with(call).unwrap(), None, &around).map(|given| given.port)
    };
    let found = FreePort::Found(20_007);
    assert_eq!(ask(&mut state, "1", found), Ok(20_007));
    assert_eq!(ask(&mut state, "2", found), Err(AllocError::Outdated));
    assert_eq!(
        ask(&mut state, "1", FreePort::NoneLeft),
        Ok(20_007),
        "its own"
    );
    let before = FreePort::NotNeeded;
    assert_eq!(ask(&mut state, "1", before), Ok(20_007));
    state.release("a", "1", "").unwrap();
    assert_eq!(ask(&mut state, "1", before), Err(AllocError::Outdated));
}

#[test]
fn numbers_differ_over_all_connectors_and_applications_are_bounded() {
    let mut state = state();
    let mut ports: BTreeSet<u16> = state
        .connectors
        .values()
        .map(|known| known.api_port)
        .collect();
    for number in 0..MAX_APPLICATIONS {
        let call = json!({"connector_name": "a", "client_app_id": number.to_string()});
        ports.insert(assigned(&mut state, call).unwrap().port);
    }
    assert_eq!(ports.len(), MAX_APPLICATIONS + 2);
    let one_more = json!({"connector_name": "a", "client_app_id": "more"});
    assert_eq!(assigned(&mut state, one_more), Err(AllocError::TooMany));
    assert!(state.release("a", "0", "").is_some() && state.release("a", "0", "").is_none());
    assert!(
        assigned(
            &mut state,
            json!({"connector_name": "a", "client_app_id": "more"})
        )
        .is_ok()
    );
}

/// A connector that takes name after name keeps a hundred from the others, not all of them.
#[test]
fn names_that_one_has_and_that_are_kept_for_it_are_a_hundred_together() {
    let mut state = state();
    let mut ask = |connector: &str, app: usize, name: &str| {
        let call = json!({"connector_name": connector, "client_app_id": app.to_string(),
            "site_name": name});
        let given = assigned(&mut state, call).unwrap();
        (site(&given).to_owned(), state.reserved.len())
    };
    // An application takes one name after the other, beside nine others.
    for app in 1..10 {
        ask("a", app, &format!("other-{app}"));
    }
    for number in 0..150 {
        assert!(ask("a", 0, &format!("name-{number}")).1 <= 90);
    }
    assert_eq!(ask("a", 0, "name-150").1, 90);
    assert_eq!(
        ask("b", 0, "name-100").0,
        "name-100-2",
        "it is kept for the other"
    );
    assert_eq!(ask("b", 1, "name-7").0, "name-7", "the oldest went");
}

#[test]
fn the_operators_quota_is_for_one_more_and_not_for_those_that_are_there() {
    let mut state = state();
    let mut ask = |app: &str, quota| {
        let request = with(json!({"connector_name": "a", "client_app_id": app})).unwrap();
        let around = AllocationContext {
            public: PUBLIC_PORTS,
            free_port: FreePort::NotNeeded,
            is_own_name: &|_| false,
            quota,
            now: "",
        };
        assign(&mut state, &request, None, &around).map(drop)
    };
    assert!(["1", "2", "3"].iter().all(|app| ask(app, Some(3)).is_ok()));
    assert_eq!(ask("4", Some(2)), Err(AllocError::OverQuota(2)));
    assert_eq!(ask("3", Some(2)), Ok(()));
    assert_eq!(ask("4", None), Ok(()));
}

/// Ends in whole seconds need not agree to the second, and nothing is saved for that.
#[test]
fn an_end_that_is_but_rounded_otherwise_stays() {
    let mut state = state();
    let mut end = |now: &str, expires_in: Value| {
        let call = with(json!({"connector_name": "a", "expires_in": expires_in})).unwrap();
        let around = AllocationContext {
            public: PUBLIC_PORTS,
            free_port: FreePort::NotNeeded,
            is_own_name: &|_| false,
            quota: None,
            now,
        };
        assign(&mut state, &call, None, &around).unwrap().expires
    };
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(end("2026-01-01T00:00:00Z", Value::Null), None);
    let first = text("2026-01-01T01:00:00Z");
    assert_eq!(end("2026-01-01T00:00:00Z", json!(3600)), first);
    assert_eq!(end("2026-01-01T00:30:00Z", json!(1801)), first);
    assert_eq!(end("2026-01-01T00:30:00Z", json!(1799)), first);
    let later = text("2026-01-01T01:00:02Z");
    assert_eq!(end("2026-01-01T00:30:00Z", json!(1802)), later);
    assert_eq!(end("2026-01-01T00:30:00Z", Value::Null), None);
}
