//! What the relay remembers: connectors, their applications, and who was turned out. Pure.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::secret::SecretHash;
use crate::net::Cidr;
use crate::store::time::rfc3339;

/// The form that is written; another one is not read.
pub(super) const VERSION: u32 = 1;
/// Connectors that may be enrolled. Default 1,000: as many connections as the tunnel server takes.
pub(super) const MAX_CONNECTORS: usize = 1000;
/// Applications of a connector. Default 100: as many as a manager holds.
pub(super) const MAX_APPLICATIONS: usize = 100;
/// Names that are remembered as turned out; the oldest is forgotten first.
const MAX_REVOKED: usize = 1000;
/// Enrol tokens that are remembered as forbidden; the oldest is forgotten first.
const MAX_FORBIDDEN: usize = 1000;
/// Names and ports that stay one connector's after it gave them up; the oldest is given away first.
/// Default 100: as many as it may have at once.
const MAX_RESERVED: usize = 100;
/// Time that what a connector gave up, or was turned out with, is given to nobody else. Default 30
/// days: browsers keep cookies of the name, and people the address.
const RESERVED_FOR: Duration = Duration::from_secs(30 * 24 * 3600);

/// What was given up before this is anybody's: RFC 3339.
pub(super) fn cutoff(now: SystemTime) -> String {
    let since = now.checked_sub(RESERVED_FOR);
    rfc3339(since.unwrap_or(SystemTime::UNIX_EPOCH))
}

/// All of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RelayState {
    pub(super) version: u32,
    /// What lets an unknown connector in; the token itself is nowhere.
    #[serde(default)]
    pub(super) enroll_token: Option<SecretHash>,
    #[serde(default)]
    pub(super) connectors: BTreeMap<String, Connector>,
    /// In the order in which they were turned out.
    #[serde(default)]
    pub(super) revoked: Vec<String>,
    /// What is known of them; of one that an earlier version turned out, nothing.
    #[serde(default)]
    pub(super) revocations: BTreeMap<String, Revocation>,
    /// Enrol tokens that let nobody in any more, in the order in which that was said.
    #[serde(default)]
    pub(super) forbidden_tokens: Vec<SecretHash>,
    /// Since when the enrol token holds; empty where an earlier version made it.
    #[serde(default)]
    pub(super) enroll_token_since: String,
    /// What connectors gave up not long ago, in that order.
    #[serde(default)]
    pub(super) reserved: Vec<Reservation>,
}

/// One that was turned out.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Revocation {
    pub(super) at: String,
    /// What it was, for as long as that is kept for it.
    #[serde(default)]
    pub(super) connector: Option<Connector>,
}

/// Why a revocation is not undone; all stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotAllowed {
    /// Nobody of that name was turned out.
    NotRevoked,
    /// There are as many connectors as the relay takes, and what it had is still kept for it.
    Full,
}

/// A site's name or a public port, kept for the connector that had it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Reservation {
    pub(super) connector: String,
    #[serde(default)]
    pub(super) site: Option<String>,
    #[serde(default)]
    pub(super) port: Option<u16>,
    pub(super) since: String,
}

/// One connector.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Connector {
    pub(super) password: SecretHash,
    /// The number that its main tunnel names; nothing listens there.
    pub(super) api_port: u16,
    /// RFC 3339, as all times here.
    pub(super) enrolled_at: String,
    /// The last quick-setup.
    pub(super) called_at: String,
    /// Who made it.
    #[serde(default)]
    pub(super) caller: Caller,
    #[serde(default)]
    pub(super) applications: Vec<Application>,
}

/// What a connector says of itself, and where it calls from. Each is empty where it is not known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Caller {
    /// The name of its machine.
    pub(super) label: String,
    /// The version of its program.
    pub(super) version: String,
    /// The address that the last call came from.
    pub(super) source: String,
}

/// One application of a connector, and what it was assigned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Application {
    /// What the connector knows it by.
    pub(super) key: String,
    /// What the relay's answers call it.
    pub(super) app_id: String,
    pub(super) display_name: String,
    pub(super) protocol: String,
    /// The address that the connector said it leads to.
    pub(super) target: String,
    /// The remote port. Of a site it is a number alone; else it is public.
    pub(super) port: u16,
    /// The site's name, where there is one.
    #[serde(default)]
    pub(super) site: Option<Site>,
    pub(super) called_at: String,
    /// When it ends by itself, RFC 3339.
    #[serde(default)]
    pub(super) expires: Option<String>,
    /// The networks that visitors may come from; empty lets everybody in.
    #[serde(default)]
    pub(super) allow: Vec<Cidr>,
    /// Another number than before ends all sign-ins and open streams.
    #[serde(default)]
    pub(super) generation: u64,
}

/// What visitors with a browser see of an application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Site {
    pub(super) name: String,
    /// What was wished for, so that another wish is known as one.
    #[serde(default)]
    pub(super) wish: Option<String>,
    /// Whether the application speaks TLS.
    pub(super) tls: bool,
    /// Base64 of the SHA-256 of the code, where visitors have to show one.
    #[serde(default)]
    pub(super) code: Option<String>,
    /// Whether the application asks for a code itself.
    #[serde(default)]
    pub(super) checks_code: bool,
}

impl Default for RelayState {
    fn default() -> Self {
        Self {
            version: VERSION,
            enroll_token: None,
            connectors: BTreeMap::new(),
            revoked: Vec::new(),
            revocations: BTreeMap::new(),
            forbidden_tokens: Vec::new(),
            enroll_token_since: String::new(),
            reserved: Vec::new(),
        }
    }
}

impl RelayState {
    /// Every application with its connector's name.
    pub(super) fn applications(&self) -> impl Iterator<Item = (&str, &Application)> {
        self.connectors.iter().flat_map(|(name, connector)| {
            let applications = connector.applications.iter();
            applications.map(move |application| (name.as_str(), application))
        })
    }

    /// Turns a connector out until it is allowed again; what it was, `None` where there is none of
    /// that name.
    pub(super) fn revoke(&mut self, name: &str, now: &str) -> Option<Connector> {
        let connector = self.connectors.remove(name)?;
        let revocation = Revocation {
            at: now.to_owned(),
            connector: Some(connector.clone()),
        };
        self.revocations.insert(name.to_owned(), revocation);
        self.revoked.push(name.to_owned());
        let over = self.revoked.len().saturating_sub(MAX_REVOKED);
        for forgotten in self.revoked.drain(..over) {
            self.revocations.remove(&forgotten);
        }
        Some(connector)
    }

    /// Puts another enrol token in the place of the present one, which lets nobody in any more.
    pub(super) fn renew_token(&mut self, token: SecretHash, now: &str) {
        self.forbidden_tokens.extend(self.enroll_token.take());
        let over = self.forbidden_tokens.len().saturating_sub(MAX_FORBIDDEN);
        self.forbidden_tokens.drain(..over);
        self.set_token(token, now);
    }

    /// The enrol token from now on.
    pub(super) fn set_token(&mut self, token: SecretHash, now: &str) {
        self.enroll_token = Some(token);
        now.clone_into(&mut self.enroll_token_since);
    }

    /// Undoes a revocation. The connector is back where what it had is still kept for it, else it may
    /// enrol again.
    pub(super) fn allow(&mut self, name: &str) -> Result<Option<Connector>, NotAllowed> {
        let at = self.revoked.iter().position(|revoked| revoked == name);
        let at = at.ok_or(NotAllowed::NotRevoked)?;
        let kept = self.revocations.get(name);
        let is_kept = kept.is_some_and(|revocation| revocation.connector.is_some());
        if is_kept && self.connectors.len() >= MAX_CONNECTORS {
            return Err(NotAllowed::Full);
        }
        self.revoked.remove(at);
        let revocation = self.revocations.remove(name);
        let connector = revocation.and_then(|revocation| revocation.connector);
        if let Some(connector) = &connector {
            self.connectors.insert(name.to_owned(), connector.clone());
        }
        Ok(connector)
    }

    /// Gives away what was kept since before `cutoff`, RFC 3339.
    pub(super) fn sweep(&mut self, cutoff: &str) {
        self.reserved.retain(|kept| kept.since.as_str() >= cutoff);
        let revocations = self.revocations.values_mut();
        for revocation in revocations.filter(|revocation| revocation.at.as_str() < cutoff) {
            revocation.connector = None;
        }
    }

    /// Keeps for a connector what an application of it had and has no more.
    pub(super) fn reserve(&mut self, connector: &str, given_up: &Application, now: &str) {
        let site = given_up.site.as_ref().map(|site| site.name.clone());
        // The number of a site means nothing to anybody.
        let port = site.is_none().then_some(given_up.port);
        // One that comes and goes takes the place of none that went.
        self.reserved
            .retain(|kept| !kept.is_of(connector, site.as_deref(), port));
        let is_its_own = |kept: &&Reservation| kept.connector == connector;
        if self.reserved.iter().filter(is_its_own).count() >= MAX_RESERVED
            && let Some(at) = self.reserved.iter().position(|kept| is_its_own(&kept))
        {
            self.reserved.remove(at);
        }
        self.reserved.push(Reservation {
            connector: connector.to_owned(),
            site,
            port,
            since: now.to_owned(),
        });
    }

    /// Keeps no more what an application of the connector has: it is held by that.
    pub(super) fn use_again(&mut self, connector: &str, used: &Application) {
        let site = used.site.as_ref().map(|site| site.name.as_str());
        let port = site.is_none().then_some(used.port);
        self.reserved
            .retain(|kept| !kept.is_of(connector, site, port));
    }

    /// Connectors that were turned out and for whom all is still kept.
    pub(super) fn turned_out(&self) -> impl Iterator<Item = (&str, &Connector)> {
        let kept = self.revocations.iter();
        kept.filter_map(|(name, revocation)| Some((name.as_str(), revocation.connector.as_ref()?)))
    }

    /// Whether the name of a site that nobody shares is kept for who had it.
    pub(super) fn keeps_site(&self, name: &str) -> bool {
        let turned_out = self.turned_out();
        let of_turned_out = turned_out.flat_map(|(_, connector)| &connector.applications);
        let mut names = of_turned_out.filter_map(|known| Some(&known.site.as_ref()?.name));
        let mut reserved = self.reserved.iter().filter_map(|kept| kept.site.as_ref());
        names.any(|kept| kept == name) || reserved.any(|kept| kept == name)
    }

    /// Whether a connector was turned out.
    pub(super) fn is_revoked(&self, name: &str) -> bool {
        self.revoked.iter().any(|revoked| revoked == name)
    }

    /// Forgets an application; what it was, where there was one. That stays its connector's.
    pub(super) fn release(&mut self, connector: &str, key: &str, now: &str) -> Option<Application> {
        let applications = &mut self.connectors.get_mut(connector)?.applications;
        let at = applications.iter().position(|known| known.key == key)?;
        let released = applications.remove(at);
        self.reserve(connector, &released, now);
        Some(released)
    }
}

impl Reservation {
    fn is_of(&self, connector: &str, site: Option<&str>, port: Option<u16>) -> bool {
        self.connector == connector && self.site.as_deref() == site && self.port == port
    }
}

impl Application {
    /// Whether `again` differs in nothing but the time of the call and the value of the code, so that
    /// nobody is let in or kept out by what is on disk where only this has changed.
    pub(super) fn is_confirmed_by(&self, again: &Application) -> bool {
        let lasting = |application: &Application| {
            let mut application = application.clone();
            application.called_at.clear();
            if let Some(code) = application
                .site
                .as_mut()
                .and_then(|site| site.code.as_mut())
            {
                code.clear();
            }
            application
        };
        lasting(self) == lasting(again)
    }
}

impl Connector {
    /// Whether `again` differs in nothing but the times of calls, and those are of one minute: whoever calls without end
    /// has nothing written.
    pub(super) fn is_repeated_by(&self, again: &Connector) -> bool {
        const MINUTE: usize = "2026-01-01T00:00".len();
        let minute = |time: &String| time.get(..MINUTE).unwrap_or_default().to_owned();
        let lasting = |connector: &Connector| {
            let mut applications = connector.applications.clone();
            for application in &mut applications {
                application.called_at = minute(&application.called_at);
            }
            // One that is confirmed goes to the end.
            applications.sort_by(|one, other| one.key.cmp(&other.key));
            let called_at = minute(&connector.called_at);
            (called_at, connector.caller.clone(), applications)
        };
        lasting(self) == lasting(again)
    }

    /// The application that was assigned this port.
    pub(super) fn at_port(&self, port: u16) -> Option<&Application> {
        self.applications.iter().find(|known| known.port == port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn application(key: &str, port: u16, site: Option<&str>) -> Application {
        let site = site.map(|name| Site {
            name: name.to_owned(),
            wish: None,
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
            called_at: String::new(),
            expires: None,
            allow: Vec::new(),
            generation: 0,
        }
    }

    fn state() -> RelayState {
        let mut state = RelayState::default();
        let connector = Connector {
            password: SecretHash::of(&"p".repeat(43)),
            api_port: 30_000,
            enrolled_at: String::new(),
            called_at: String::new(),
            caller: Caller::default(),
            applications: vec![application("1", 20_000, None)],
        };
        state.connectors.insert("one".into(), connector);
        state
    }

    #[test]
    fn who_is_allowed_again_has_what_was_kept_and_after_that_nothing() {
        let mut state = state();
        assert!(state.revoke("one", "2026-01-01T00:00:00Z").is_some());
        assert!(state.is_revoked("one") && state.revoke("one", "").is_none());
        state.sweep("2026-01-01T00:00:00Z");
        let back = state.allow("one").unwrap().unwrap();
        assert_eq!(back.applications.len(), 1);
        assert!(!state.is_revoked("one") && state.connectors.contains_key("one"));
        state.revoke("one", "2026-01-01T00:00:00Z");
        state.sweep("2026-01-31T00:00:00Z");
        assert_eq!(state.turned_out().count(), 0);
        assert!(state.is_revoked("one"), "that lasts");
        assert!(state.allow("one").unwrap().is_none());
        assert_eq!(state.allow("one").err(), Some(NotAllowed::NotRevoked));
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
        assert_eq!(state.allow("one").err(), Some(NotAllowed::Full));
        assert!(state.is_revoked("one"));
        state.revoke("7", "2026-01-01T00:00:00Z").unwrap();
        let back = state.allow("one").unwrap().unwrap();
        assert_eq!(back.applications, connector.applications);
    }

    #[test]
    fn one_that_comes_and_goes_takes_the_place_of_no_other() {
        let mut state = state();
        state.reserve("one", &application("x", 1, Some("old")), "2026-01-01");
        for _ in 0..2 * MAX_RESERVED {
            state.reserve("one", &application("y", 2, Some("shop")), "2026-01-02");
            state.reserve("one", &application("z", 3, None), "2026-01-03");
        }
        let kept = |state: &RelayState| -> Vec<Option<String>> {
            state
                .reserved
                .iter()
                .map(|kept| kept.site.clone())
                .collect()
        };
        let (old, shop) = (Some("old".to_owned()), Some("shop".to_owned()));
        assert_eq!(kept(&state), [old.clone(), shop, None]);
        assert_eq!(state.reserved.last().unwrap().port, Some(3));
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
    fn a_call_is_repeated_within_its_minute_where_nothing_else_changes() {
        let connector = |at: &str, change: fn(&mut Connector)| {
            let mut connector = state().connectors["one"].clone();
            connector.called_at = at.to_owned();
            for application in &mut connector.applications {
                application.called_at = at.to_owned();
            }
            change(&mut connector);
            connector
        };
        let first = connector("2026-01-01T00:00:01Z", |_| {});
        let is_repeated = |at, change| first.is_repeated_by(&connector(at, change));
        assert!(is_repeated("2026-01-01T00:00:59Z", |_| {}));
        assert!(!is_repeated("2026-01-01T00:01:00Z", |_| {}));
        let changes: [fn(&mut Connector); 3] = [
            |connector| connector.caller.source = "192.0.2.1".into(),
            |connector| connector.applications[0].generation = 1,
            |connector| connector.applications.clear(),
        ];
        for change in changes {
            assert!(!is_repeated("2026-01-01T00:00:01Z", change));
        }
    }

    #[test]
    fn a_renewed_token_is_remembered_as_forbidden() {
        let (first, second) = ("1".repeat(40), "2".repeat(40));
        let mut state = RelayState::default();
        state.set_token(SecretHash::of(&first), "then");
        state.renew_token(SecretHash::of(&second), "now");
        assert!(state.forbidden_tokens.iter().any(|kept| kept.is(&first)));
        assert!(state.enroll_token.as_ref().unwrap().is(&second));
        assert_eq!(state.enroll_token_since, "now");
    }

    #[test]
    fn what_is_kept_for_a_connector_is_bounded_and_ends() {
        let mut state = state();
        for number in 0..u16::try_from(MAX_RESERVED).unwrap() + 5 {
            state.reserve("one", &application("x", number, None), "2026-01-02");
        }
        state.reserve("two", &application("y", 1, Some("shop")), "2026-01-01");
        assert_eq!(state.reserved.len(), MAX_RESERVED + 1);
        assert_eq!(
            state.reserved.first().unwrap().port,
            Some(5),
            "the oldest went"
        );
        let last = state.reserved.last().unwrap();
        assert_eq!((last.site.as_deref(), last.port), (Some("shop"), None));
        state.sweep("2026-01-02");
        assert_eq!(state.reserved.len(), MAX_RESERVED);
    }

    #[test]
    fn a_book_of_an_earlier_version_is_read() {
        let earlier = r#"{"version":1,"connectors":{},"revoked":["old"]}"#;
        let mut state: RelayState = serde_json::from_str(earlier).unwrap();
        assert!(state.is_revoked("old"));
        assert!(state.allow("old").unwrap().is_none());
    }
}
