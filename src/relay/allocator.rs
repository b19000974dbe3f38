//! Assigns ports and names to applications. Pure: a free public port is looked for elsewhere, between [`candidates`]
//! and [`assign`].
//!
//! An application is recognized by its key: it keeps its port and name as long as it is the same kind of application
//! and asks for no other name.

use std::collections::{BTreeSet, HashSet};
use std::ops::RangeInclusive;
use std::time::Duration;

use super::names;
use super::secret::identifier;
use super::setup_request::SetupRequest;
use super::state::{Application, CalledAt, Connector, MAX_APPLICATIONS, RelayState, Site};
use crate::store::random;
use crate::store::time::{parse_rfc3339, rfc3339};

/// Public ports where none were named. Default 20000 to 29999: below what systems give to outgoing connections.
pub(super) const PUBLIC_PORTS: RangeInclusive<u16> = 20_000..=29_999;
/// Numbers that tunnels name and nothing listens on. All differ, so that one connector's number means nothing for
/// another.
const NUMBERS: RangeInclusive<u16> = 30_000..=65_000;

/// Difference up to which two calls ask for the same end: each counts in whole seconds.
const ROUNDING: Duration = Duration::from_secs(1);

/// Limits for every connector; none is no limit of the operator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quota {
    /// Applications, beside the hundred that one has at most.
    pub sites: Option<usize>,
    /// Megabits (1,000,000 bits) a second that pass through its tunnels, both ways together.
    pub mbps: Option<u32>,
}

impl Quota {
    /// Bytes a second that pass through its tunnels.
    pub(super) fn bytes_per_second(self) -> Option<u64> {
        self.mbps.map(|mbps| u64::from(mbps) * 1_000_000 / 8)
    }
}

/// Reason that no port or name is assigned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AllocError {
    /// The connector has as many applications as one may.
    TooMany,
    /// It has as many as this relay's operator allows for one.
    OverQuota(usize),
    /// No port, number or name is left.
    Exhausted(&'static str),
    /// The preferred name is one that people would take for the operator's.
    ReservedName,
    /// The preferred name, which the application requires, is another site's.
    NameTaken(String),
    /// No public port is free.
    NoPort,
    /// The state has changed since a free port was looked for: look for one again.
    Outdated,
}

/// Result of the search for a public port, in the state at that time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FreePort {
    /// The application needs no other than it has.
    NotNeeded,
    /// Every candidate is in use, or there are none.
    NoneLeft,
    /// This port is free.
    Found(u16),
}

/// Facts from outside the state.
pub(super) struct AllocationContext<'a> {
    /// Public ports that may be assigned.
    pub(super) public: RangeInclusive<u16>,
    pub(super) free_port: FreePort,
    /// Names that would be the relay's own.
    pub(super) is_own_name: &'a dyn Fn(&str) -> bool,
    /// Applications that one connector may have by this relay's rules.
    pub(super) quota: Option<usize>,
    /// RFC 3339.
    pub(super) now: &'a str,
}

impl AllocationContext<'_> {
    /// Returns the end time of the application, RFC 3339. An end that only differs by rounding stays as it was: nothing
    /// has to be saved for it.
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

/// Returns a number for a connector's main tunnel.
pub(super) fn api_port(state: &RelayState) -> Option<u16> {
    let taken = taken(state, "");
    NUMBERS.into_iter().find(|number| !taken.contains(*number))
}

/// Returns the application's previous assignment.
pub(super) fn before<'a>(state: &'a RelayState, request: &SetupRequest) -> Option<&'a Application> {
    let connector = state.connectors.get(&request.connector_name)?;
    let (key, mut applications) = (request.key(), connector.applications.iter());
    applications.find(|known| known.key == key)
}

/// Assigns a port and a name, or confirms them. The connector is in the state.
pub(super) fn assign(
    state: &mut RelayState,
    request: &SetupRequest,
    code: Option<String>,
    around: &AllocationContext<'_>,
) -> Result<Application, AllocError> {
    let connector = request.connector_name.as_str();
    check_room(state, request, around.quota)?;
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
    let is_same = |before: &&Application| {
        let (was, is) = (before.site.as_ref(), site.as_ref());
        was.map(|was| &was.name) == is.map(|is| &is.name)
    };
    let same = before.as_ref().filter(is_same);
    let assigned = Application {
        key: request.key(),
        app_id: before
            .as_ref()
            .map_or_else(identifier, |before| before.app_id.clone()),
        display_name: request.display_name.clone(),
        protocol: request.protocol.clone(),
        target: request.target(),
        port,
        connected_at: same.and_then(|before| before.connected_at.clone()),
        site,
        called_at: CalledAt::at(around.now),
        expires: around.expires(request, before.as_ref()),
        allow: request.allow.clone(),
        generation: request.generation,
    };
    if let Some(before) = before.as_ref().filter(|before| **before == assigned) {
        before.called_at.note(&assigned.called_at);
        return Ok(assigned);
    }
    if let Some(before) = before.filter(|before| gave_up(before, &assigned)) {
        state.reserve(connector, &before, around.now);
    }
    state.use_again(connector, &assigned);
    let known = state.connectors.get_mut(connector);
    let known = known.expect("who is assigned something is enrolled");
    let mut applications = known.applications.iter_mut();
    match applications.find(|known| known.key == assigned.key) {
        Some(before) => *before = assigned.clone(),
        None => known.applications.push(assigned.clone()),
    }
    state.keep_names_within(connector);
    Ok(assigned)
}

/// Fails if the connector may not have one more application; the ones that it has stay.
pub(super) fn check_room(
    state: &RelayState,
    request: &SetupRequest,
    quota: Option<usize>,
) -> Result<(), AllocError> {
    let known = state.connectors.get(&request.connector_name);
    let count = known.map_or(0, |connector| connector.applications.len());
    if before(state, request).is_some() {
        return Ok(());
    }
    match quota {
        Some(quota) if count >= quota => Err(AllocError::OverQuota(quota)),
        _ if count >= MAX_APPLICATIONS => Err(AllocError::TooMany),
        _ => Ok(()),
    }
}

/// True if it had a name or a public port that it no longer has.
fn gave_up(before: &Application, now: &Application) -> bool {
    let name = |of: &Application| of.site.as_ref().map(|site| site.name.clone());
    name(before) != name(now) || (before.site.is_none() && before.port != now.port)
}

fn site(
    state: &RelayState,
    request: &SetupRequest,
    before: Option<&Application>,
    code: Option<String>,
    around: &AllocationContext<'_>,
) -> Result<Site, AllocError> {
    let before = before.and_then(|before| before.site.as_ref());
    let required = request
        .site_name
        .as_ref()
        .filter(|_| request.site_name_required);
    // A new preferred name that is taken gives up nothing.
    let stays = |before: &&Site| match required {
        Some(required) => before.name == *required,
        None => {
            request.site_name.is_none()
                || before.wish == request.site_name
                || is_taken(state, request, around.is_own_name)
        }
    };
    let (name, since) = match before.filter(stays) {
        Some(before) => (before.name.clone(), before.since.clone()),
        None => {
            let name = name(state, request, around)?;
            let since = taken_since(state, &name);
            (name, since)
        }
    };
    Ok(Site {
        name,
        wish: request.site_name.clone(),
        since,
        tls: request.protocol == "https",
        code,
        checks_code: request.invisible && request.checks_code,
    })
}

/// Returns the preferred name: the one in the call, or one made of the application's title.
pub(super) fn wish(request: &SetupRequest) -> String {
    let fallback = format!("{}-{}", request.protocol, request.port);
    match &request.site_name {
        Some(wish) => wish.clone(),
        None => names::derived(&request.display_name, &fallback),
    }
}

/// True if the wished name is another site's, or reserved for another connector.
pub(super) fn is_taken(
    state: &RelayState,
    request: &SetupRequest,
    is_own_name: &dyn Fn(&str) -> bool,
) -> bool {
    let (wish, key) = (wish(request), request.key());
    let mut held = held(state, (&request.connector_name, &key));
    held.any(|held| held == wish) || is_own_name(&wish)
}

fn name(
    state: &RelayState,
    request: &SetupRequest,
    around: &AllocationContext<'_>,
) -> Result<String, AllocError> {
    let wish = wish(request);
    let key = request.key();
    let ours = (request.connector_name.as_str(), key.as_str());
    let is_its_own = |name: &str| {
        let mut kept = state.reserved.values();
        kept.any(|kept| kept.connector == ours.0 && kept.site.as_deref() == Some(name))
    };
    if names::is_word(&wish) && !is_its_own(&wish) {
        return Err(AllocError::ReservedName);
    }
    if !is_taken(state, request, around.is_own_name) {
        return Ok(wish);
    }
    if request.site_name_required {
        return Err(AllocError::NameTaken(wish));
    }
    let held: HashSet<&str> = held(state, ours).collect();
    let is_held = |name: &str| held.contains(name) || (around.is_own_name)(name);
    names::free(&wish, is_held).ok_or(AllocError::Exhausted("no similar name is free"))
}

/// Returns the names that an application, given by its connector and key, cannot have.
fn held<'a>(state: &'a RelayState, ours: (&'a str, &'a str)) -> impl Iterator<Item = &'a str> {
    let of_others = state
        .applications()
        .filter(move |(connector, known)| (*connector, known.key.as_str()) != ours);
    let turned_out = state.turned_out();
    let of_turned_out = turned_out.flat_map(|(_, connector)| &connector.applications);
    let kept = state
        .reserved
        .values()
        .filter(move |kept| kept.connector != ours.0 && !kept.is_of_nobody());
    of_others
        .map(|(_, known)| known)
        .chain(of_turned_out)
        .filter_map(|known| known.site.as_ref())
        .map(|site| site.name.as_str())
        .chain(kept.filter_map(|kept| kept.site.as_deref()))
}

/// Returns the time at which a name was taken from its former owner, if known.
fn taken_since(state: &RelayState, name: &str) -> Option<String> {
    let mut kept = state.reserved.values().filter(|kept| kept.is_of_nobody());
    let taken = kept.find(|kept| kept.site.as_deref() == Some(name))?;
    Some(taken.since.clone())
}

/// Gives the application that had a site's name another name and number, so that its connector asks again; if none
/// is free, it stays removed.
pub(super) fn rename(
    state: &mut RelayState,
    connector: &str,
    was: &Application,
    is_own_name: &dyn Fn(&str) -> bool,
) {
    let mut renamed = was.clone();
    let Some(site) = &mut renamed.site else {
        return;
    };
    let held: HashSet<&str> = held(state, (connector, "")).collect();
    let taken = taken(state, "");
    let is_held = |name: &str| name == site.name || held.contains(name) || is_own_name(name);
    let is_free = |number: &u16| *number != was.port && !taken.contains(*number);
    let number = NUMBERS.into_iter().find(is_free);
    let (Some(name), Some(number)) = (names::free(&site.name, is_held), number) else {
        return;
    };
    (site.name, renamed.port, renamed.connected_at) = (name, number, None);
    site.since = None;
    if let Some(known) = state.connectors.get_mut(connector) {
        known.applications.push(renamed);
    }
}

/// Returns the public ports to search for a free one, in this order; `None` if the application needs no other. They are
/// shuffled, so that nobody can guess the next one. The ports that the connector gave up come first.
pub(super) fn candidates(
    state: &RelayState,
    request: &SetupRequest,
    public: RangeInclusive<u16>,
) -> Option<Vec<u16>> {
    if request.is_web() || kept_port(request, before(state, request), &public).is_some() {
        return None;
    }
    let taken = taken(state, &request.connector_name);
    let mut left: Vec<u16> = public.filter(|port| !taken.contains(*port)).collect();
    shuffle(&mut left);
    let reserved = state.reserved.values();
    let its_own: BTreeSet<u16> = reserved
        .filter(|kept| kept.connector == request.connector_name)
        .filter_map(|kept| kept.port)
        .collect();
    left.sort_by_key(|port| !its_own.contains(port));
    Some(left)
}

/// Returns the former port if it is still of the right kind.
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
    around: &AllocationContext<'_>,
) -> Result<u16, AllocError> {
    let taken = taken(state, &request.connector_name);
    if request.is_web() {
        let number = NUMBERS.into_iter().find(|number| !taken.contains(*number));
        return number.ok_or(AllocError::Exhausted("no number is free"));
    }
    match around.free_port {
        FreePort::Found(port) if around.public.contains(&port) && !taken.contains(port) => Ok(port),
        FreePort::NoneLeft => Err(AllocError::NoPort),
        FreePort::Found(_) | FreePort::NotNeeded => Err(AllocError::Outdated),
    }
}

/// Shuffles (Fisher-Yates).
fn shuffle(ports: &mut [u16]) {
    for last in (1..ports.len()).rev() {
        ports.swap(last, below(last + 1));
    }
}

/// Returns a random number below `count`, which is not 0: almost equally likely.
fn below(count: usize) -> usize {
    let drawn = u64::from_be_bytes(random::bytes());
    let count = u64::try_from(count).expect("a count has at most 64 bits");
    usize::try_from(drawn % count).expect("it is below a count")
}

/// Set of ports.
struct Ports(Vec<bool>);

impl Ports {
    fn contains(&self, port: u16) -> bool {
        self.0.get(usize::from(port)).is_some_and(|is_in| *is_in)
    }
}

/// Returns the ports and numbers that `connector` cannot have.
fn taken(state: &RelayState, connector: &str) -> Ports {
    let known = state.connectors.values().map(|known| &**known);
    let known = known.chain(state.turned_out().map(|(_, turned_out)| turned_out));
    let numbers = known.flat_map(|known: &Connector| {
        let applications = known.applications.iter();
        applications
            .map(|application| application.port)
            .chain([known.api_port])
    });
    let kept = state.reserved.values();
    let kept = kept.filter(|kept| kept.connector != connector);
    let mut ports = Ports(vec![false; usize::from(u16::MAX) + 1]);
    for port in numbers.chain(kept.filter_map(|kept| kept.port)) {
        if let Some(is_in) = ports.0.get_mut(usize::from(port)) {
            *is_in = true;
        }
    }
    ports
}

#[cfg(test)]
#[path = "allocator_tests.rs"]
mod tests;
