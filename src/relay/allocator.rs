//! Which application has which port and which name. Pure: whether a public port is free is asked elsewhere, between
//! [`candidates`] and [`assign`].
//!
//! An application is known again by its key: it keeps port and name for as long as it is the same
//! kind of application and wishes for no other name.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::names;
use super::secret::identifier;
use super::setup_request::SetupRequest;
use super::state::{Application, MAX_APPLICATIONS, RelayState, Site};
use crate::store::random;
use crate::store::time::{parse_rfc3339, rfc3339};

/// Public ports. Default 20000 to 29999: below what systems give to outgoing connections.
pub(super) const PUBLIC_PORTS: RangeInclusive<u16> = 20_000..=29_999;
/// Numbers that tunnels name and nothing listens on. All differ, so that one connector's number means
/// nothing for another.
const NUMBERS: RangeInclusive<u16> = 30_000..=65_000;

/// By how much two calls for the same end may differ: each counts in whole seconds.
const ROUNDING: Duration = Duration::from_secs(1);

/// Why nothing is assigned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AllocError {
    /// The connector has as many applications as it may.
    TooMany,
    /// No port, number or name is left.
    Exhausted(&'static str),
    /// The state has changed since a free port was looked for: it is to be looked for again.
    Outdated,
}

/// What came of the search for a public port, by the state as it was then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FreePort {
    /// The application needs no other than it has.
    NotNeeded,
    /// Somebody listens on each of the candidates, or there are none.
    NoneLeft,
    /// Nobody listens there.
    Found(u16),
}

/// The world outside of the state.
pub(super) struct Surroundings<'a> {
    /// Public ports that may be assigned.
    pub(super) public: RangeInclusive<u16>,
    pub(super) free_port: FreePort,
    /// Names that would be the relay's own.
    pub(super) is_own_name: &'a dyn Fn(&str) -> bool,
    /// RFC 3339.
    pub(super) now: &'a str,
}

impl Surroundings<'_> {
    /// When the application ends by itself, RFC 3339. An end that is but rounded otherwise stays as it was: nothing has
    /// to be saved for it.
    fn expires(&self, request: &SetupRequest, before: Option<&Application>) -> Option<String> {
        let left = Duration::from_secs(request.expires_in?);
        let end = parse_rfc3339(self.now)? + left;
        let before = before.and_then(|before| before.expires.clone());
        let is_same = |before: &String| {
            let before = parse_rfc3339(before);
            before.is_some_and(|before| before <= end + ROUNDING && end <= before + ROUNDING)
        };
        Some(before.filter(is_same).unwrap_or_else(|| rfc3339(end)))
    }
}

/// A number for a connector's main tunnel.
pub(super) fn api_port(state: &RelayState) -> Option<u16> {
    let taken = taken(state, "");
    NUMBERS.into_iter().find(|number| !taken.contains(number))
}

/// What the application was assigned before.
pub(super) fn before<'a>(state: &'a RelayState, request: &SetupRequest) -> Option<&'a Application> {
    let connector = state.connectors.get(&request.connector_name)?;
    let (key, mut applications) = (request.key(), connector.applications.iter());
    applications.find(|known| known.key == key)
}

/// Assigns, or confirms what is assigned. The connector is in the state.
pub(super) fn assign(
    state: &mut RelayState,
    request: &SetupRequest,
    code: Option<String>,
    around: &Surroundings<'_>,
) -> Result<Application, AllocError> {
    let connector = request.connector_name.as_str();
    check_room(state, request)?;
    let before = before(state, request).cloned();
    let site = if request.is_web() {
        Some(site(state, request, before.as_ref(), code, around)?)
    } else {
        None
    };
    let port = match kept_port(request, before.as_ref(), &around.public) {
        Some(port) => port,
        None => new_port(state, request, around)?,
    };
    let assigned = Application {
        key: request.key(),
        app_id: before
            .as_ref()
            .map_or_else(identifier, |before| before.app_id.clone()),
        display_name: request.display_name.clone(),
        protocol: request.protocol.clone(),
        target: request.target(),
        port,
        site,
        called_at: around.now.to_owned(),
        expires: around.expires(request, before.as_ref()),
        allow: request.allow.clone(),
        generation: request.generation,
    };
    if let Some(before) = before.filter(|before| gave_up(before, &assigned)) {
        state.reserve(connector, &before, around.now);
    }
    state.use_again(connector, &assigned);
    let connector = state.connectors.get_mut(connector);
    let connector = connector.expect("who is assigned something is enrolled");
    connector
        .applications
        .retain(|known| known.key != assigned.key);
    connector.applications.push(assigned.clone());
    Ok(assigned)
}

/// Refuses one application more than the connector may have.
pub(super) fn check_room(state: &RelayState, request: &SetupRequest) -> Result<(), AllocError> {
    let known = state.connectors.get(&request.connector_name);
    let count = known.map_or(0, |connector| connector.applications.len());
    if before(state, request).is_none() && count >= MAX_APPLICATIONS {
        return Err(AllocError::TooMany);
    }
    Ok(())
}

/// Whether it had a name or a public port that it has no more.
fn gave_up(before: &Application, now: &Application) -> bool {
    let name = |of: &Application| of.site.as_ref().map(|site| site.name.clone());
    name(before) != name(now) || (before.site.is_none() && before.port != now.port)
}

fn site(
    state: &RelayState,
    request: &SetupRequest,
    before: Option<&Application>,
    code: Option<String>,
    around: &Surroundings<'_>,
) -> Result<Site, AllocError> {
    let before = before.and_then(|before| before.site.as_ref());
    let same = |before: &&Site| request.site_name.is_none() || before.wish == request.site_name;
    let name = match before.filter(same) {
        Some(before) => before.name.clone(),
        None => name(state, request, around)?,
    };
    Ok(Site {
        name,
        wish: request.site_name.clone(),
        tls: request.protocol == "https",
        code,
        checks_code: request.invisible && request.checks_code,
    })
}

fn name(
    state: &RelayState,
    request: &SetupRequest,
    around: &Surroundings<'_>,
) -> Result<String, AllocError> {
    let fallback = format!("{}-{}", request.protocol, request.port);
    let wish = match &request.site_name {
        Some(wish) => wish.clone(),
        None => names::derived(&request.display_name, &fallback),
    };
    let ours = (request.connector_name.as_str(), request.key());
    let of_others = state
        .applications()
        .filter(|(connector, known)| (*connector, &known.key) != (ours.0, &ours.1));
    let turned_out = state.turned_out();
    let of_turned_out = turned_out.flat_map(|(_, connector)| &connector.applications);
    let kept = state
        .reserved
        .iter()
        .filter(|kept| kept.connector != ours.0);
    let held: BTreeSet<&str> = of_others
        .map(|(_, known)| known)
        .chain(of_turned_out)
        .filter_map(|known| known.site.as_ref())
        .map(|site| site.name.as_str())
        .chain(kept.filter_map(|kept| kept.site.as_deref()))
        .collect();
    let is_held = |name: &str| held.contains(name) || (around.is_own_name)(name);
    names::free(&wish, is_held).ok_or(AllocError::Exhausted("no name like this is left"))
}

/// Public ports to look for a free one among, in this order; `None` where the application needs no other than it has.
/// They are shuffled: who waits for the next to be given learns nothing. Those that it gave up come first.
pub(super) fn candidates(
    state: &RelayState,
    request: &SetupRequest,
    public: RangeInclusive<u16>,
) -> Option<Vec<u16>> {
    if request.is_web() || kept_port(request, before(state, request), &public).is_some() {
        return None;
    }
    let taken = taken(state, &request.connector_name);
    let mut left: Vec<u16> = public.filter(|port| !taken.contains(port)).collect();
    shuffle(&mut left);
    let reserved = state.reserved.iter();
    let its_own: BTreeSet<u16> = reserved
        .filter(|kept| kept.connector == request.connector_name)
        .filter_map(|kept| kept.port)
        .collect();
    left.sort_by_key(|port| !its_own.contains(port));
    Some(left)
}

/// The port from before where it is still of the right kind.
fn kept_port(
    request: &SetupRequest,
    before: Option<&Application>,
    public: &RangeInclusive<u16>,
) -> Option<u16> {
    let is_same = |before: &&Application| match (request.is_web(), before.site.is_some()) {
        (true, had_site) => had_site,
        (false, had_site) => !had_site && public.contains(&before.port),
    };
    before.filter(is_same).map(|before| before.port)
}

fn new_port(
    state: &RelayState,
    request: &SetupRequest,
    around: &Surroundings<'_>,
) -> Result<u16, AllocError> {
    let taken = taken(state, &request.connector_name);
    if request.is_web() {
        let number = NUMBERS.into_iter().find(|number| !taken.contains(number));
        return number.ok_or(AllocError::Exhausted("no number is left"));
    }
    match around.free_port {
        FreePort::Found(port) if around.public.contains(&port) && !taken.contains(&port) => {
            Ok(port)
        }
        FreePort::NoneLeft => Err(AllocError::Exhausted("no public port is left")),
        FreePort::Found(_) | FreePort::NotNeeded => Err(AllocError::Outdated),
    }
}

/// Fisher and Yates's.
fn shuffle(ports: &mut [u16]) {
    for last in (1..ports.len()).rev() {
        ports.swap(last, below(last + 1));
    }
}

/// A random number below `count`, which is not 0: all but equally likely.
fn below(count: usize) -> usize {
    let drawn = u64::from_be_bytes(random::bytes());
    let count = u64::try_from(count).expect("a count has at most 64 bits");
    usize::try_from(drawn % count).expect("it is below a count")
}

/// Ports and numbers that are not `connector`'s to have.
fn taken(state: &RelayState, connector: &str) -> BTreeSet<u16> {
    let known = state.connectors.values();
    let known = known.chain(state.turned_out().map(|(_, turned_out)| turned_out));
    let numbers = known.flat_map(|known| {
        let ports = known
            .applications
            .iter()
            .map(|application| application.port);
        ports.chain([known.api_port])
    });
    let kept = state
        .reserved
        .iter()
        .filter(|kept| kept.connector != connector);
    numbers.chain(kept.filter_map(|kept| kept.port)).collect()
}

#[cfg(test)]
mod tests {
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
                called_at: String::new(),
                caller: Default::default(),
                applications: Vec::new(),
            };
            state.connectors.insert(name.into(), connector);
        }
        state
    }

    /// What is assigned where somebody else listens on port 20000.
    fn assigned(state: &mut RelayState, changes: Value) -> Result<Application, AllocError> {
        let request = with(changes).unwrap();
        let around = Surroundings {
            public: 20_000..=20_002,
            free_port: match candidates(state, &request, 20_000..=20_002) {
                None => FreePort::NotNeeded,
                Some(ports) => ports
                    .into_iter()
                    .find(|port| *port != 20_000)
                    .map_or(FreePort::NoneLeft, FreePort::Found),
            },
            is_own_name: &|name| name == "own",
            now: "",
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
            let call =
                json!({"connector_name": connector, "client_app_id": app, "site_name": name});
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
        assert_eq!(
            ask("3", "vnc"),
            Err(AllocError::Exhausted("no public port is left"))
        );
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

    /// One name that is shared and given back again and again.
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
        assert!(
            !drawn.is_sorted() && drawn != candidates(&state(), &request, PUBLIC_PORTS).unwrap()
        );
        drawn.sort_unstable();
        assert!(drawn.into_iter().eq(PUBLIC_PORTS), "each of them once");
    }

    #[test]
    fn a_port_that_was_taken_meanwhile_is_looked_for_again() {
        let mut state = state();
        let ask = |state: &mut RelayState, app: &str, free_port| {
            let call = json!({"connector_name": "a", "client_app_id": app, "protocol": "tcp"});
            let around = Surroundings {
                public: PUBLIC_PORTS,
                free_port,
                is_own_name: &|_| false,
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
}
