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
/// Revoked names that are remembered; the oldest is forgotten first.
const MAX_REVOKED: usize = 1000;
/// Names and ports of a connector: the ones that it has, and the ones that stay reserved for it, of which the oldest is
/// released first. Default 100: as many as it may have at once.
const MAX_NAMES: usize = MAX_APPLICATIONS;
/// Time that a released name or port, or that of a revoked connector, stays reserved. Default 30 days: browsers keep
/// cookies of the name, and people the address.
const RESERVED_FOR: Duration = crate::limits::RESERVED_FOR;

/// Returns the time before which released names are free: RFC 3339.
pub(super) fn cutoff(now: SystemTime) -> String {
    let since = now.checked_sub(RESERVED_FOR);
    rfc3339(since.unwrap_or(SystemTime::UNIX_EPOCH))
}

/// The whole state. Copies share unchanged parts.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RelayState {
    pub(super) connectors: CopyOnWrite<BTreeMap<String, CopyOnWrite<Connector>>>,
    /// Names in the order of their revocation.
    pub(super) revoked: CopyOnWrite<Vec<String>>,
    /// Facts about the revocations, by name.
    pub(super) revocations: CopyOnWrite<BTreeMap<String, Revocation>>,
    /// Names and ports that connectors released not long ago, by [`Reservation::key`].
    pub(super) reserved: CopyOnWrite<BTreeMap<String, Reservation>>,
    /// Invites for unknown connectors; the tokens themselves are not stored.
    pub(super) invites: Invites,
    /// Disabled enrolment tokens of an earlier version; later ones are disabled in their invites.
    pub(super) forbidden_tokens: CopyOnWrite<Vec<SecretHash>>,
    /// Traffic of the applications, by their ids. Statistics: a crash loses the changes after the last save.
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

impl<T> std::ops::Deref for Volatile<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// Time of the last call, in seconds since 1970; 0 if unknown. It may be lost in a crash, and is the same in all copies
/// of a state: a call of a known application changes none of them.
#[derive(Debug, Clone, Default)]
pub(super) struct CalledAt(Arc<AtomicU64>);

impl CalledAt {
    /// Reads the time from RFC 3339.
    pub(super) fn at(time: &str) -> Self {
        Self(Arc::new(parse_seconds(time).unwrap_or_default().into()))
    }

    /// Takes over another time.
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

/// A revoked connector.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Revocation {
    /// Time, RFC 3339; empty if an earlier version revoked it.
    pub(super) at: String,
    /// Id of the invite that it used.
    #[serde(default)]
    pub(super) invite: Option<String>,
    /// The connector as it was, as long as that is kept.
    #[serde(default)]
    pub(super) connector: Option<Connector>,
}

/// A connector that is back, or may come back.
#[derive(Debug)]
pub(super) struct Readmitted {
    /// The restored connector, if it was kept; else it must enrol again.
    pub(super) connector: Option<Connector>,
    /// True if the invite that it used is valid again.
    pub(super) is_invite_good: bool,
}

/// Reason that a revocation is not undone; nothing changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotReadmitted {
    /// No connector of that name was revoked.
    NotRevoked,
    /// The limit of connectors is reached, and this one would be restored.
    Full,
}

/// A site's name or a public port, reserved for its former connector.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Reservation {
    pub(super) connector: String,
    #[serde(default)]
    pub(super) site: Option<String>,
    #[serde(default)]
    pub(super) port: Option<u16>,
    pub(super) since: String,
    /// The former application's `connected_at`.
    #[serde(default)]
    pub(super) connected_at: Option<String>,
    /// Number that is higher than those of earlier reservations.
    #[serde(default)]
    pub(super) serial: u64,
}

/// A connector.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Connector {
    pub(super) password: SecretHash,
    /// Number that its main tunnel names; nothing listens there.
    pub(super) api_port: u16,
    /// RFC 3339, as all times here.
    pub(super) enrolled_at: String,
    /// Time of the last quick-setup.
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

/// Description that a connector gives of itself, and its address. Each is empty if unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct CallerInfo {
    /// The name of its machine.
    pub(super) label: String,
    /// The version of its program.
    pub(super) version: String,
    /// Address of the last call.
    pub(super) source: String,
}

/// An application of a connector, with its assignment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Application {
    /// Name of the application for its connector.
    pub(super) key: String,
    /// ID of the application in the relay's answers.
    pub(super) app_id: String,
    pub(super) display_name: String,
    pub(super) protocol: String,
    /// Address that it leads to, as its connector said.
    pub(super) target: String,
    /// Remote port: a mere number for a site, else a public port.
    pub(super) port: u16,
    /// The site, if it is one.
    #[serde(default)]
    pub(super) site: Option<Site>,
    pub(super) called_at: CalledAt,
    /// End time, RFC 3339.
    #[serde(default)]
    pub(super) expires: Option<String>,
    /// Networks that visitors may come from; empty allows everybody.
    #[serde(default)]
    pub(super) allow: Vec<Cidr>,
    /// Number that ends all sign-ins and open streams when it changes.
    #[serde(default)]
    pub(super) generation: u64,
    /// Time at which the site's tunnel last connected or disconnected, to a day; none for a public port.
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
    /// Time at which the name was taken from its former owner, RFC 3339: data in browsers may be older.
    #[serde(default)]
    pub(super) since: Option<String>,
    /// True if the application speaks TLS.
    pub(super) tls: bool,
    /// Base64 of the SHA-256 of the code, if visitors need one.
    #[serde(default)]
    pub(super) code: Option<String>,
    /// True if the application asks for a code itself.
    #[serde(default)]
    pub(super) checks_code: bool,
}

impl Connector {
    /// Returns its label: that of its invite, else the name of its machine; empty if unknown.
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

    /// Returns its label, else its name.
    pub(super) fn label_or<'a>(&'a self, name: &'a str) -> &'a str {
        match self.label() {
            "" => name,
            label => label,
        }
    }

    /// Returns the application of this id.
    pub(super) fn find(&self, app_id: &str) -> Option<&Application> {
        self.applications
            .iter()
            .find(|known| known.app_id == app_id)
    }

    /// Returns the application with this port.
    pub(super) fn at_port(&self, port: u16) -> Option<&Application> {
        self.applications.iter().find(|known| known.port == port)
    }

    /// True if its tunnels may name this port.
    pub(super) fn has_port(&self, port: u16) -> bool {
        self.api_port == port || self.at_port(port).is_some()
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

    /// Revokes a connector until it is allowed again; returns it, `None` if there is none of that name.
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

    /// Undoes a revocation. The connector is restored if it is still kept, else it may enrol again. Its invite is valid
    /// again, unless another connector that used it is still revoked.
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

    /// Releases everything that was kept since before `cutoff`, RFC 3339.
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

    /// Reserves for a connector the name or port that its application gave up.
    pub(super) fn reserve(&mut self, connector: &str, given_up: &Application, now: &str) {
        let site = given_up.site.as_ref().map(|site| site.name.clone());
        // The number of a site means nothing to others.
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

    /// Releases the oldest reservations of a connector if it has, with its applications, more names than it may.
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

    /// Adds a reservation.
    pub(super) fn keep(&mut self, mut kept: Reservation) {
        let last = self.reserved.values().map(|kept| kept.serial).max();
        kept.serial = last.unwrap_or_default() + 1;
        self.reserved.insert(kept.key(), kept);
    }

    /// Removes the reservations of a name or port that an application of the connector uses.
    pub(super) fn use_again(&mut self, connector: &str, used: &Application) {
        let site = used.site.as_ref().map(|site| site.name.as_str());
        let port = site.is_none().then_some(used.port);
        let is_of_nobody = |kept: &Reservation| kept.is_of_nobody() && kept.site.as_deref() == site;
        self.reserved
            .retain(|kept| !kept.is_of(connector, site, port) && !is_of_nobody(kept));
    }

    /// Revoked connectors that are still kept.
    pub(super) fn turned_out(&self) -> impl Iterator<Item = (&str, &Connector)> {
        let kept = self.revocations.iter();
        kept.filter_map(|(name, revocation)| Some((name.as_str(), revocation.connector.as_ref()?)))
    }

    /// True if the name of a site that nobody shares is reserved.
    pub(super) fn keeps_site(&self, name: &str) -> bool {
        let turned_out = self.turned_out();
        let of_turned_out = turned_out.flat_map(|(_, connector)| &connector.applications);
        let mut names = of_turned_out.filter_map(|known| Some(&known.site.as_ref()?.name));
        let mut reserved = self.reserved.values().filter_map(|kept| kept.site.as_ref());
        names.any(|kept| kept == name) || reserved.any(|kept| kept == name)
    }

    /// True if people would confuse a new connector with another one, known or revoked: their names differ in the case
    /// of letters, or in dots at their ends.
    pub(super) fn has_look_alike(&self, name: &str) -> bool {
        fn bare(name: &str) -> &str {
            name.trim_end_matches('.')
        }
        let mut others = self.connectors.keys().chain(&self.revoked);
        others.any(|other| other != name && bare(other).eq_ignore_ascii_case(bare(name)))
    }

    /// True if a connector is revoked.
    pub(super) fn is_revoked(&self, name: &str) -> bool {
        self.revoked.iter().any(|revoked| revoked == name)
    }

    /// Releases an application and returns it, if there was one. Its name stays reserved for its connector.
    pub(super) fn release(&mut self, connector: &str, key: &str, now: &str) -> Option<Application> {
        let applications = &mut self.connectors.get_mut(connector)?.applications;
        let at = applications.iter().position(|known| known.key == key)?;
        let released = applications.remove(at);
        self.reserve(connector, &released, now);
        Some(released)
    }
}

impl Reservation {
    /// Makes the reservation of a name that was taken from its owner and that anybody may have.
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

    /// Returns its key: one for a connector and a name or port.
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
    /// True if `again` differs only in the time of the call and the value of the code, so that the state on disk admits
    /// and refuses the same visitors.
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

#[cfg(test)]
#[path = "state_tests.rs"]
pub(super) mod tests;
