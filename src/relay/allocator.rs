//! Which application has which port and which name. Pure, but for the question whether a port is free.
//!
//! An application is known again by its key: it keeps port and name for as long as it is the same
//! kind of application and wishes for no other name.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::names;
use super::secret::identifier;
use super::setup_request::SetupRequest;
use super::state::{Application, MAX_APPLICATIONS, RelayState, Site};
use crate::store::random;

/// Public ports. Default 20000 to 29999: below what systems give to outgoing connections.
pub(super) const PUBLIC_PORTS: RangeInclusive<u16> = 20_000..=29_999;
/// Numbers that tunnels name and nothing listens on. All differ, so that one connector's number means
/// nothing for another.
const NUMBERS: RangeInclusive<u16> = 30_000..=65_000;

/// Why nothing is assigned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refused {
    /// The connector has as many applications as it may.
    TooMany,
    /// No port, number or name is left.
    Exhausted(&'static str),
}

/// The world outside of the state.
pub(super) struct Outside<'a> {
    /// Public ports that may be assigned.
    pub(super) public: RangeInclusive<u16>,
    /// Whether nobody listens on this port.
    pub(super) is_free: Box<dyn Fn(u16) -> bool + 'a>,
    /// Names that would be the relay's own.
    pub(super) is_own_name: Box<dyn Fn(&str) -> bool + 'a>,
    /// RFC 3339.
    pub(super) now: &'a str,
}

/// A number for a connector's main tunnel.
pub(super) fn api_port(book: &RelayState) -> Option<u16> {
    let taken = taken(book, "");
    NUMBERS.into_iter().find(|number| !taken.contains(number))
}

/// What the application was assigned before.
pub(super) fn before<'a>(book: &'a RelayState, wanted: &SetupRequest) -> Option<&'a Application> {
    let connector = book.connectors.get(&wanted.connector_name)?;
    let (key, mut applications) = (wanted.key(), connector.applications.iter());
    applications.find(|known| known.key == key)
}

/// Assigns, or confirms what is assigned. The connector is in the state.
pub(super) fn assign(
    book: &mut RelayState,
    wanted: &SetupRequest,
    code: Option<String>,
    outside: &Outside<'_>,
) -> Result<Application, Refused> {
    let connector = wanted.connector_name.as_str();
    let known = book.connectors.get(connector);
    let count = known.map_or(0, |connector| connector.applications.len());
    let before = before(book, wanted).cloned();
    if before.is_none() && count >= MAX_APPLICATIONS {
        return Err(Refused::TooMany);
    }
    let site = match wanted.is_web() {
        true => Some(site(book, wanted, before.as_ref(), code, outside)?),
        false => None,
    };
    let port = port(book, connector, site.is_some(), before.as_ref(), outside)?;
    let assigned = Application {
        key: wanted.key(),
        app_id: match &before {
            Some(before) => before.app_id.clone(),
            None => identifier(),
        },
        display_name: wanted.display_name.clone(),
        protocol: wanted.protocol.clone(),
        target: wanted.target(),
        port,
        site,
        called_at: outside.now.to_owned(),
    };
    if let Some(before) = before.filter(|before| gave_up(before, &assigned)) {
        book.reserve(connector, &before, outside.now);
    }
    book.use_again(connector, &assigned);
    if let Some(connector) = book.connectors.get_mut(connector) {
        connector
            .applications
            .retain(|known| known.key != assigned.key);
        connector.applications.push(assigned.clone());
    }
    Ok(assigned)
}

/// Whether it had a name or a public port that it has no more.
fn gave_up(before: &Application, now: &Application) -> bool {
    let name = |of: &Application| of.site.as_ref().map(|site| site.name.clone());
    name(before) != name(now) || (before.site.is_none() && before.port != now.port)
}

fn site(
    book: &RelayState,
    wanted: &SetupRequest,
    before: Option<&Application>,
    code: Option<String>,
    outside: &Outside<'_>,
) -> Result<Site, Refused> {
    let before = before.and_then(|before| before.site.as_ref());
    let same = |before: &&Site| wanted.site_name.is_none() || before.wish == wanted.site_name;
    let name = match before.filter(same) {
        Some(before) => before.name.clone(),
        None => name(book, wanted, outside)?,
    };
    Ok(Site {
        name,
        wish: wanted.site_name.clone(),
        tls: wanted.protocol == "https",
        code,
        checks_code: wanted.invisible && wanted.checks_code,
    })
}

fn name(
    book: &RelayState,
    wanted: &SetupRequest,
    outside: &Outside<'_>,
) -> Result<String, Refused> {
    let fallback = format!("{}-{}", wanted.protocol, wanted.port);
    let wish = match &wanted.site_name {
        Some(wish) => wish.clone(),
        None => names::derived(&wanted.display_name, &fallback),
    };
    let ours = (wanted.connector_name.as_str(), wanted.key());
    let of_others = book
        .applications()
        .filter(|(connector, known)| (*connector, &known.key) != (ours.0, &ours.1));
    let turned_out = book.turned_out();
    let of_turned_out = turned_out.flat_map(|(_, connector)| &connector.applications);
    let kept = book.reserved.iter().filter(|kept| kept.connector != ours.0);
    let held: BTreeSet<&str> = of_others
        .map(|(_, known)| known)
        .chain(of_turned_out)
        .filter_map(|known| known.site.as_ref())
        .map(|site| site.name.as_str())
        .chain(kept.filter_map(|kept| kept.site.as_deref()))
        .collect();
    let is_held = |name: &str| held.contains(name) || (outside.is_own_name)(name);
    names::free(&wish, is_held).ok_or(Refused::Exhausted("no name like this is left"))
}

/// The port from before where it is still of the right kind. A public one is drawn: who waits for the
/// next to be given learns nothing.
fn port(
    book: &RelayState,
    connector: &str,
    is_site: bool,
    before: Option<&Application>,
    outside: &Outside<'_>,
) -> Result<u16, Refused> {
    let same = |before: &&Application| match (is_site, before.site.is_some()) {
        (true, true) => true,
        (false, false) => outside.public.contains(&before.port),
        _ => false,
    };
    if let Some(before) = before.filter(same) {
        return Ok(before.port);
    }
    let taken = taken(book, connector);
    if is_site {
        let number = NUMBERS.into_iter().find(|number| !taken.contains(number));
        return number.ok_or(Refused::Exhausted("no number is left"));
    }
    let is_left = |port: &u16| outside.public.contains(port) && !taken.contains(port);
    let its_own = book
        .reserved
        .iter()
        .filter(|kept| kept.connector == connector);
    let mut its_own = its_own.filter_map(|kept| kept.port).filter(is_left);
    if let Some(port) = its_own.find(|port| (outside.is_free)(*port)) {
        return Ok(port);
    }
    let mut left: Vec<u16> = outside.public.clone().filter(is_left).collect();
    while !left.is_empty() {
        let port = left.swap_remove(below(left.len()));
        if (outside.is_free)(port) {
            return Ok(port);
        }
    }
    Err(Refused::Exhausted("no public port is left"))
}

/// A random number below `count`, which is not 0: all but equally likely.
fn below(count: usize) -> usize {
    let drawn = u64::from_be_bytes(random::bytes());
    let count = u64::try_from(count).expect("a count has at most 64 bits");
    usize::try_from(drawn % count).expect("it is below a count")
}

/// Ports and numbers that are not `connector`'s to have.
fn taken(book: &RelayState, connector: &str) -> BTreeSet<u16> {
    let known = book.connectors.values();
    let known = known.chain(book.turned_out().map(|(_, turned_out)| turned_out));
    let numbers = known.flat_map(|known| {
        let ports = known
            .applications
            .iter()
            .map(|application| application.port);
        ports.chain([known.api_port])
    });
    let kept = book
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

    fn book() -> RelayState {
        let mut book = RelayState::default();
        for name in ["a", "b"] {
            let connector = Connector {
                password: SecretHash::of(&"x".repeat(40)),
                api_port: api_port(&book).unwrap(),
                enrolled_at: String::new(),
                called_at: String::new(),
                applications: Vec::new(),
            };
            book.connectors.insert(name.into(), connector);
        }
        book
    }

    fn assigned(book: &mut RelayState, changes: Value) -> Result<Application, Refused> {
        let outside = Outside {
            public: 20_000..=20_002,
            is_free: Box::new(|port| port != 20_000),
            is_own_name: Box::new(|name| name == "own"),
            now: "",
        };
        assign(book, &with(changes).unwrap(), None, &outside)
    }

    fn site(application: &Application) -> &str {
        &application.site.as_ref().unwrap().name
    }

    #[test]
    fn an_application_keeps_its_port_and_name() {
        let mut book = book();
        let first = assigned(&mut book, json!({"connector_name": "a"})).unwrap();
        assert_eq!(site(&first), "my-shop");
        let changes =
            json!({"connector_name": "a", "display_name": "Other", "ip": "10.0.0.1", "port": 9});
        let again = assigned(&mut book, changes).unwrap();
        assert_eq!(
            (site(&again), again.port, &again.app_id),
            ("my-shop", first.port, &first.app_id)
        );
        assert_eq!(again.target, "10.0.0.1:9");
        assert_eq!(book.applications().count(), 1);
    }

    #[test]
    fn a_wish_is_followed_once_and_the_name_stays() {
        let mut book = book();
        let mut wish = |connector: &str, app: &str, name: &str| {
            let call =
                json!({"connector_name": connector, "client_app_id": app, "site_name": name});
            site(&assigned(&mut book, call).unwrap()).to_owned()
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
        let mut book = book();
        let mut ask = |app: &str, protocol: &str| {
            assigned(
                &mut book,
                json!({"connector_name": "a", "client_app_id": app, "protocol": protocol}),
            )
        };
        let first = ask("1", "ssh").unwrap().port;
        let ports = BTreeSet::from([first, ask("2", "tcp").unwrap().port]);
        assert_eq!(ports, BTreeSet::from([20_001, 20_002]));
        assert_eq!(
            ask("3", "vnc"),
            Err(Refused::Exhausted("no public port is left"))
        );
        assert_eq!(ask("1", "ssh").unwrap().port, first);
        let turned = ask("1", "https").unwrap();
        assert!(NUMBERS.contains(&turned.port) && turned.site.unwrap().tls);
        assert_eq!(ask("3", "vnc").unwrap().port, first, "given back");
    }

    #[test]
    fn what_one_gave_up_or_was_turned_out_with_is_nobody_elses() {
        let mut book = book();
        let ask = |book: &mut RelayState, connector: &str, app: &str, protocol: &str| {
            let call = json!({"connector_name": connector, "client_app_id": app,
                "protocol": protocol, "site_name": "shop"});
            assigned(book, call).unwrap()
        };
        let (shop, ssh) = (
            ask(&mut book, "a", "1", "http"),
            ask(&mut book, "a", "2", "ssh"),
        );
        book.release("a", "1", "2026-01-01").unwrap();
        book.release("a", "2", "2026-01-01").unwrap();
        assert_eq!(site(&ask(&mut book, "b", "1", "http")), "shop-2");
        let other = ask(&mut book, "b", "2", "ssh");
        assert_ne!(other.port, ssh.port);
        let again = ask(&mut book, "a", "3", "http");
        assert_eq!(site(&again), site(&shop), "its own");
        assert_eq!(ask(&mut book, "a", "4", "ssh").port, ssh.port);
        book.revoke("a", "2026-01-01").unwrap();
        assert_eq!(site(&ask(&mut book, "b", "3", "http")), "shop-3");
        book.sweep("2026-01-02");
        assert_eq!(site(&ask(&mut book, "b", "4", "http")), "shop");
        assert_eq!(
            ask(&mut book, "b", "5", "ssh").port,
            ssh.port,
            "the last that is left"
        );
    }

    /// One name that is shared and given back again and again.
    #[test]
    fn what_is_used_again_is_kept_no_more_and_drives_out_nothing() {
        let mut book = book();
        let mut ask = |connector: &str, app: &str, protocol: &str, name: &str, release: bool| {
            let call = json!({"connector_name": connector, "client_app_id": app,
                "protocol": protocol, "site_name": name});
            let given = assigned(&mut book, call).unwrap();
            if release {
                book.release(connector, app, "2026-01-01").unwrap();
            }
            (given, book.reserved.len())
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
        let mut book = book();
        let outside = Outside {
            public: PUBLIC_PORTS,
            is_free: Box::new(|_| true),
            is_own_name: Box::new(|_| false),
            now: "",
        };
        let mut ask = |app: usize| {
            let call =
                json!({"connector_name": "a", "client_app_id": app.to_string(), "protocol": "tcp"});
            assign(&mut book, &with(call).unwrap(), None, &outside)
                .unwrap()
                .port
        };
        let drawn: Vec<u16> = (0..20).map(&mut ask).collect();
        assert!(drawn.windows(2).any(|pair| pair[0] > pair[1]), "{drawn:?}");
        assert!(drawn.iter().all(|port| PUBLIC_PORTS.contains(port)));
    }

    #[test]
    fn numbers_differ_over_all_connectors_and_applications_are_bounded() {
        let mut book = book();
        let mut ports: BTreeSet<u16> = book
            .connectors
            .values()
            .map(|known| known.api_port)
            .collect();
        for number in 0..MAX_APPLICATIONS {
            let call = json!({"connector_name": "a", "client_app_id": number.to_string()});
            ports.insert(assigned(&mut book, call).unwrap().port);
        }
        assert_eq!(ports.len(), MAX_APPLICATIONS + 2);
        let one_more = json!({"connector_name": "a", "client_app_id": "more"});
        assert_eq!(assigned(&mut book, one_more), Err(Refused::TooMany));
        assert!(book.release("a", "0", "").is_some() && book.release("a", "0", "").is_none());
        assert!(
            assigned(
                &mut book,
                json!({"connector_name": "a", "client_app_id": "more"})
            )
            .is_ok()
        );
    }
}
