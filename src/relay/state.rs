//! State of the relay: connectors, their applications, and revocations. Pure.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::counters::Kept;
use super::invites::Invites;
use super::secret::SecretHash;
use crate::api::relay::InvitedBy;
use crate::net::Cidr;
use crate::store::time::{parse_seconds, rfc3339, rfc3339_of};
use crate::sync::CopyOnWrite;

/// Connectors that may be enrolled. Default 2,500: with five applications each, as many connections as the tunnel
/// server takes.
pub(super) const MAX_CONNECTORS: usize = crate::limits::CONNECTORS;
/// Applications of a connector. Default 100: as many as a manager holds.
pub(super) const MAX_APPLICATIONS: usize = crate::limits::SITES_OF_ONE;
/// Names that are remembered as turned out; the oldest is forgotten first.
const MAX_REVOKED: usize = 1000;
/// Names and ports of a connector: those that it has, and those that stay its own after it gave them up, of which the
/// oldest is given away first. Default 100: as many as it may have at once.
const MAX_NAMES: usize = MAX_APPLICATIONS;
/// Time that what a connector gave up, or was turned out with, is given to nobody else. Default 30
/// days: browsers keep cookies of the name, and people the address.
const RESERVED_FOR: Duration = crate::limits::RESERVED_FOR;

/// Returns the time before which released names are free: RFC 3339.
pub(super) fn cutoff(now: SystemTime) -> String {
    let since = now.checked_sub(RESERVED_FOR);
    rfc3339(since.unwrap_or(SystemTime::UNIX_EPOCH))
}

/// All of it. Copies share what they have not changed.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RelayState {
    pub(super) connectors: CopyOnWrite<BTreeMap<String, CopyOnWrite<Connector>>>,
    /// In the order in which they were turned out.
    pub(super) revoked: CopyOnWrite<Vec<String>>,
    /// Facts about them.
    pub(super) revocations: CopyOnWrite<BTreeMap<String, Revocation>>,
    /// Names and ports that connectors released not long ago, by [`Reservation::key`].
    pub(super) reserved: CopyOnWrite<BTreeMap<String, Reservation>>,
    /// Invites for unknown connectors; the tokens themselves are nowhere.
    pub(super) invites: Invites,
    /// Enrolment tokens that let nobody in any more, from an earlier version; of later ones their invite says it.
    pub(super) forbidden_tokens: CopyOnWrite<Vec<SecretHash>>,
    /// Traffic of the applications, by their ids. Statistics: what passed after the last save is lost in a crash.
    pub(super) traffic: CopyOnWrite<BTreeMap<String, Kept>>,
}

/// A value that may be lost in a crash: a change of it alone is not saved.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Volatile<T>(pub(super) T);

impl<T> PartialEq for Volatile<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> Eq for Volatile<T> {}

/// Time of the last call, in seconds since 1970; 0 if it is not known. It may be lost in a crash, and is the same in all
/// copies of a state: that a known application calls again changes none.
#[derive(Debug, Clone, Default)]
pub(super) struct CalledAt(Arc<AtomicU64>);

impl CalledAt {
    /// Returns the time, from RFC 3339.
    pub(super) fn at(time: &str) -> Self {
        Self(Arc::new(parse_seconds(time).unwrap_or_default().into()))
    }

    /// Notes another one.
    pub(super) fn note(&self, other: &Self) {
        self.0.store(other.get(), Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl PartialEq for CalledAt {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for CalledAt {}

impl fmt::Display for CalledAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&rfc3339_of(self.get()).unwrap_or_default())
    }
}

impl Serialize for CalledAt {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CalledAt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|time| Self::at(&time))
    }
}

impl<T> std::ops::Deref for Volatile<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// A revoked connector.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Revocation {
    /// RFC 3339; empty if an earlier version turned it out.
    pub(super) at: String,
    /// The id of the invite that had let it in.
    #[serde(default)]
    pub(super) invite: Option<String>,
    /// The connector as it was, for as long as that is kept for it.
    #[serde(default)]
    pub(super) connector: Option<Connector>,
}

/// A connector that is back, or may come back.
#[derive(Debug)]
pub(super) struct Readmitted {
    /// The connector as it is again, if that was kept for it; else it must enrol again.
    pub(super) connector: Option<Connector>,
    /// True if the invite that had let it in lets others in again.
    pub(super) is_invite_good: bool,
}

/// Reason that a revocation is not undone; nothing changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotReadmitted {
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
    /// As of the application that had it.
    #[serde(default)]
    pub(super) connected_at: Option<String>,
    /// A higher number than those that were released before it.
    #[serde(default)]
    pub(super) serial: u64,
}

/// One connector.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Connector {
    pub(super) password: SecretHash,
    /// The number that its main tunnel names; nothing listens there.
    pub(super) api_port: u16,
    /// RFC 3339, as all times here.
    pub(super) enrolled_at: String,
    /// The last quick-setup.
    pub(super) called_at: CalledAt,
    /// Machine that created it.
    #[serde(default)]
    pub(super) caller: Volatile<CallerInfo>,
    /// Invite that it used; none if none was needed.
    #[serde(default)]
    pub(super) invite: Option<InvitedBy>,
    #[serde(default)]
    pub(super) applications: CopyOnWrite<Vec<Application>>,
}

/// Description that a connector gives of itself, and where it calls from. Each is empty if unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct CallerInfo {
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
    /// Name of the application for its connector.
    pub(super) key: String,
    /// ID of the application in the relay's answers.
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
    pub(super) called_at: CalledAt,
    /// When it ends by itself, RFC 3339.
    #[serde(default)]
    pub(super) expires: Option<String>,
    /// The networks that visitors may come from; empty lets everybody in.
    #[serde(default)]
    pub(super) allow: Vec<Cidr>,
    /// Another number than before ends all sign-ins and open streams.
    #[serde(default)]
    pub(super) generation: u64,
    /// When the site's tunnel last came or went, to a day; of a public port nothing is noted.
    #[serde(default)]
    pub(super) connected_at: Option<String>,
}

/// Public site of an application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Site {
    pub(super) name: String,
    /// Preferred name, so that another one is recognized.
    #[serde(default)]
    pub(super) wish: Option<String>,
    /// When the name was taken from who had it before, RFC 3339: what browsers keep of that is older.
    #[serde(default)]
    pub(super) since: Option<String>,
    /// True if the application speaks TLS.
    pub(super) tls: bool,
    /// Base64 of the SHA-256 of the code, where visitors have to show one.
    #[serde(default)]
    pub(super) code: Option<String>,
    /// True if the application asks for a code itself.
    #[serde(default)]
    pub(super) checks_code: bool,
}

impl Connector {
    /// Returns what people call it: as it was invited, else as its machine is called; empty where nobody said.
    pub(super) fn label(&self) -> &str {
        let invited = self.invite.as_ref().map_or("", |invite| &invite.label);
        if invited.is_empty() {
            &self.caller.label
        } else {
            invited
        }
    }

    /// Returns its name and label for a line of the log.
    pub(super) fn called(&self, name: &str) -> String {
        match self.label() {
            "" => format!("'{name}'"),
            label => format!("'{name}' ({label})"),
        }
    }
}

impl RelayState {
    /// Returns a connector's name and label for a line of the log.
    pub(super) fn called(&self, name: &str) -> String {
        let connector = self.connectors.get(name);
        connector.map_or_else(|| format!("'{name}'"), |of| of.called(name))
    }

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
        let connector = Connector::clone(&*self.connectors.remove(name)?);
        let revocation = Revocation {
            at: now.to_owned(),
            invite: connector.invite.as_ref().map(|invite| invite.id.clone()),
            connector: Some(connector.clone()),
        };
        self.revocations.insert(name.to_owned(), revocation);
        self.revoked.push(name.to_owned());
        let over = self.revoked.len().saturating_sub(MAX_REVOKED);
        let forgotten: Vec<String> = self.revoked.drain(..over).collect();
        for forgotten in &forgotten {
            self.revocations.remove(forgotten);
        }
        Some(connector)
    }

    /// Undoes a revocation. The connector is back where what it had is still kept for it, else it may
    /// enrol again. Its invite lets in again what it may, unless another one that it let in is still out.
    pub(super) fn allow(&mut self, name: &str) -> Result<Readmitted, NotReadmitted> {
        let at = self.revoked.iter().position(|revoked| revoked == name);
        let at = at.ok_or(NotReadmitted::NotRevoked)?;
        let kept = self.revocations.get(name);
        let is_kept = kept.is_some_and(|revocation| revocation.connector.is_some());
        if is_kept && self.connectors.len() >= MAX_CONNECTORS {
            return Err(NotReadmitted::Full);
        }
        self.revoked.remove(at);
        let revocation = self.revocations.remove(name);
        let (invite, connector) =
            revocation.map_or((None, None), |was| (was.invite, was.connector));
        if let Some(connector) = &connector {
            self.connectors
                .insert(name.to_owned(), connector.clone().into());
        }
        let mut others = self.revocations.values();
        let invite = invite.filter(|invite| others.all(|of| of.invite.as_ref() != Some(invite)));
        let is_invite_good = invite.is_some_and(|invite| self.invites.permit(&invite));
        Ok(Readmitted {
            connector,
            is_invite_good,
        })
    }

    /// Gives away what was kept since before `cutoff`, RFC 3339.
    pub(super) fn sweep(&mut self, cutoff: &str) {
        self.reserved.retain(|kept| kept.since.as_str() >= cutoff);
        self.invites.sweep(cutoff);
        let is_over = |of: &Revocation| of.connector.is_some() && of.at.as_str() < cutoff;
        if self.revocations.values().any(is_over) {
            let revocations = self.revocations.values_mut();
            for revocation in revocations.filter(|revocation| is_over(revocation)) {
                revocation.connector = None;
            }
        }
    }

    /// Keeps for a connector what an application of it had and has no more.
    pub(super) fn reserve(&mut self, connector: &str, given_up: &Application, now: &str) {
        let site = given_up.site.as_ref().map(|site| site.name.clone());
        // The number of a site means nothing to anybody.
        let port = site.is_none().then_some(given_up.port);
        self.keep(Reservation {
            connector: connector.to_owned(),
            site,
            port,
            since: now.to_owned(),
            connected_at: given_up.connected_at.clone(),
            serial: 0,
        });
        self.keep_names_within(connector);
    }

    /// Gives away the oldest of what a connector gave up where that is, with what it has, more than it may.
    pub(super) fn keep_names_within(&mut self, connector: &str) {
        let known = self.connectors.get(connector);
        let had = known.map_or(0, |known| known.applications.len());
        let kept = self.reserved.values();
        let mut kept: Vec<_> = kept.filter(|kept| kept.connector == connector).collect();
        kept.sort_by_key(|kept| kept.serial);
        let over = (had + kept.len()).saturating_sub(MAX_NAMES);
        let over: Vec<String> = kept.into_iter().take(over).map(Reservation::key).collect();
        for key in &over {
            self.reserved.remove(key);
        }
    }

    /// Keeps it for its connector.
    pub(super) fn keep(&mut self, mut kept: Reservation) {
        let last = self.reserved.values().map(|kept| kept.serial).max();
        kept.serial = last.unwrap_or_default() + 1;
        self.reserved.insert(kept.key(), kept);
    }

    /// Keeps no more what an application of the connector has: it is held by that.
    pub(super) fn use_again(&mut self, connector: &str, used: &Application) {
        let site = used.site.as_ref().map(|site| site.name.as_str());
        let port = site.is_none().then_some(used.port);
        let is_of_nobody = |kept: &Reservation| kept.is_of_nobody() && kept.site.as_deref() == site;
        self.reserved
            .retain(|kept| !kept.is_of(connector, site, port) && !is_of_nobody(kept));
    }

    /// Connectors that were turned out and for whom all is still kept.
    pub(super) fn turned_out(&self) -> impl Iterator<Item = (&str, &Connector)> {
        let kept = self.revocations.iter();
        kept.filter_map(|(name, revocation)| Some((name.as_str(), revocation.connector.as_ref()?)))
    }

    /// True if the name of a site that nobody shares is kept for who had it.
    pub(super) fn keeps_site(&self, name: &str) -> bool {
        let turned_out = self.turned_out();
        let of_turned_out = turned_out.flat_map(|(_, connector)| &connector.applications);
        let mut names = of_turned_out.filter_map(|known| Some(&known.site.as_ref()?.name));
        let mut reserved = self.reserved.values().filter_map(|kept| kept.site.as_ref());
        names.any(|kept| kept == name) || reserved.any(|kept| kept == name)
    }

    /// True if people would take a new connector for another one, known or turned out: their names differ in the case of
    /// letters, or in dots at their ends.
    pub(super) fn has_look_alike(&self, name: &str) -> bool {
        fn bare(name: &str) -> &str {
            name.trim_end_matches('.')
        }
        let mut others = self.connectors.keys().chain(&self.revoked);
        others.any(|other| other != name && bare(other).eq_ignore_ascii_case(bare(name)))
    }

    /// True if a connector was turned out.
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
    /// Of a name that anybody may have, but that was taken from somebody.
    pub(super) fn of_nobody(site: &str, now: &str) -> Self {
        Self {
            connector: String::new(),
            site: Some(site.to_owned()),
            port: None,
            since: now.to_owned(),
            connected_at: None,
            serial: 0,
        }
    }

    pub(super) fn is_of_nobody(&self) -> bool {
        self.connector.is_empty()
    }

    /// Returns its name among all: there is one for a connector and what it had.
    fn key(&self) -> String {
        match &self.site {
            Some(site) => format!("{} {site}", self.connector),
            None => format!("{} {}", self.connector, self.port.unwrap_or_default()),
        }
    }

    fn is_of(&self, connector: &str, site: Option<&str>, port: Option<u16>) -> bool {
        self.connector == connector && self.site.as_deref() == site && self.port == port
    }
}

impl Application {
    /// True if `again` differs in nothing but the time of the call and the value of the code, so that
    /// nobody is let in or kept out by what is on disk where only this has changed.
    pub(super) fn is_confirmed_by(&self, again: &Application) -> bool {
        let lasting = |application: &Application| {
            let mut application = application.clone();
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
    /// Returns its label, else its name.
    pub(super) fn label_or<'a>(&'a self, name: &'a str) -> &'a str {
        match self.label() {
            "" => name,
            label => label,
        }
    }

    /// The application of this id.
    pub(super) fn find(&self, app_id: &str) -> Option<&Application> {
        self.applications
            .iter()
            .find(|known| known.app_id == app_id)
    }

    /// The application that was assigned this port.
    pub(super) fn at_port(&self, port: u16) -> Option<&Application> {
        self.applications.iter().find(|known| known.port == port)
    }

    /// True if a tunnel of it may name this port.
    pub(super) fn has_port(&self, port: u16) -> bool {
        self.api_port == port || self.at_port(port).is_some()
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
pub(super) mod tests;
