//! Names of sites that the operator takes from their owners, for everybody or for another connector.

use std::time::SystemTime;

use super::setup::Service;
use super::state::{Application, Connector, RelayState, Reservation};
use super::status::Overview;
use super::{allocator, names};
use crate::api::relay::NameTaken;
use crate::http::ApiError;
use crate::store::time::rfc3339;

/// Reason that a name is not handed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HandoverError {
    /// No site has the name, and it is reserved for nobody.
    Unknown,
    /// A tunnel serves it; with the label of its owner.
    InUse(String),
    /// No connector has that label or name.
    NoConnector,
    /// This many connectors have the label.
    Ambiguous(usize),
    /// The name is held by that connector already.
    Already,
}

/// True if a tunnel of the connector holds the port.
type IsHeld<'a> = dyn Fn(&str, u16) -> bool + 'a;

/// Result of a handover.
#[derive(Debug)]
pub(super) struct Handover {
    /// The connector that has the name now; none if anybody may take it.
    pub(super) by: Option<String>,
    /// Applications that ended, by connector: each asks again if it still wants one.
    ended: Vec<(String, Application)>,
}

/// Takes a site's name from its owner: for the connector of this label or name, else for everybody. `is_held` says if a
/// tunnel serves a port of a connector; such a name is only taken with `force`, and its application goes on under
/// another name.
pub(super) fn take(
    state: &mut RelayState,
    site: &str,
    to: Option<&str>,
    force: bool,
    is_held: &IsHeld<'_>,
    is_own_name: &dyn Fn(&str) -> bool,
) -> Result<Handover, HandoverError> {
    let by = to.map(|to| state.connector_called(to)).transpose()?;
    let now = rfc3339(SystemTime::now());
    let has = |of: &Application| of.site.as_ref().is_some_and(|of| of.name == site);
    let mut holders = state.applications().filter(|(_, of)| has(of));
    let holder = holders
        .next()
        .map(|(name, of)| (name.to_owned(), of.clone()));
    drop(holders);
    if by.is_some() && holder.as_ref().map(|(name, _)| name) == by.as_ref() {
        return Err(HandoverError::Already);
    }
    let is_used = holder
        .as_ref()
        .is_some_and(|(name, of)| is_held(name, of.port));
    if let Some((name, _)) = holder.as_ref().filter(|_| is_used && !force) {
        return Err(HandoverError::InUse(state.label_of(name)));
    }
    let is_kept = state.keeps_site_for_somebody(site);
    if holder.is_none() && !is_kept {
        return Err(HandoverError::Unknown);
    }
    state.free_site(site, &now);
    let mut ended = Vec::new();
    if let Some((connector, was)) = holder {
        if is_used {
            allocator::rename(state, &connector, &was, is_own_name);
        }
        ended.push((connector, was));
    }
    if let Some(by) = &by {
        ended.extend(state.give_site(site, by, &now));
    }
    Ok(Handover { by, ended })
}

impl RelayState {
    /// Returns the connector of this name, or of this label if it is unique.
    fn connector_called(&self, called: &str) -> Result<String, HandoverError> {
        if self.connectors.contains_key(called) {
            return Ok(called.to_owned());
        }
        let all = self.connectors.iter();
        let mut found = all.filter(|(name, connector)| connector.label_or(name) == called);
        match (found.next(), found.count()) {
            (None, _) => Err(HandoverError::NoConnector),
            (Some((name, _)), 0) => Ok(name.clone()),
            (_, more) => Err(HandoverError::Ambiguous(more + 1)),
        }
    }

    fn label_of(&self, name: &str) -> String {
        let connector = self.connectors.get(name);
        connector
            .map_or(name, |connector| connector.label_or(name))
            .to_owned()
    }

    /// True if a name that no site has is reserved for a connector.
    fn keeps_site_for_somebody(&self, site: &str) -> bool {
        let has = |of: &Application| of.site.as_ref().is_some_and(|of| of.name == site);
        let mut turned_out = self.turned_out();
        let mut kept = self.reserved.values().filter(|kept| !kept.is_of_nobody());
        turned_out.any(|(_, connector)| connector.applications.iter().any(has))
            || kept.any(|kept| kept.site.as_deref() == Some(site))
    }

    /// Releases the name for everybody.
    pub(super) fn free_site(&mut self, site: &str, now: &str) {
        let has = |of: &Application| of.site.as_ref().is_some_and(|of| of.name == site);
        let holds = |connector: &Connector| connector.applications.iter().any(has);
        let known = self.connectors.iter();
        let names: Vec<String> = known
            .filter(|(_, connector)| holds(connector))
            .map(|(name, _)| name.clone())
            .collect();
        for name in names {
            if let Some(connector) = self.connectors.get_mut(&name) {
                connector.applications.retain(|of| !has(of));
            }
        }
        let turned_out = self.turned_out().filter(|(_, connector)| holds(connector));
        let names: Vec<String> = turned_out.map(|(name, _)| name.to_owned()).collect();
        for name in names {
            let revocation = self.revocations.get_mut(&name);
            if let Some(connector) = revocation.and_then(|of| of.connector.as_mut()) {
                connector.applications.retain(|of| !has(of));
            }
        }
        self.reserved
            .retain(|kept| kept.site.as_deref() != Some(site));
        self.keep(Reservation::of_nobody(site, now));
    }

    /// Reserves the name for a connector. Its applications that prefer this name give up the ones that they got;
    /// returns those applications.
    fn give_site(&mut self, site: &str, to: &str, now: &str) -> Vec<(String, Application)> {
        self.keep(Reservation {
            connector: to.to_owned(),
            ..Reservation::of_nobody(site, now)
        });
        let wishes = |of: &Application| {
            let has = of.site.as_ref();
            has.is_some_and(|has| match &has.wish {
                Some(wish) => wish == site,
                None => names::derived(&of.display_name, "") == site,
            })
        };
        let connector = self.connectors.get(to);
        let wishing = connector
            .iter()
            .flat_map(|connector| connector.applications.iter());
        let wishing: Vec<Application> = wishing.filter(|of| wishes(of)).cloned().collect();
        for of in &wishing {
            self.release(to, &of.key, now);
        }
        self.keep_names_within(to);
        wishing.into_iter().map(|of| (to.to_owned(), of)).collect()
    }
}

impl Service {
    /// Takes a site's name from its owner; with `force` even if a tunnel serves it.
    pub(super) fn take_name(
        &self,
        site: &str,
        to: Option<&str>,
        force: bool,
    ) -> Result<NameTaken, ApiError> {
        let overview = Overview::of_all(self);
        let is_held = |connector: &str, port: u16| overview.is_held(connector, port);
        let taken = self.store.update(|state| {
            state.sweep(&self.cutoff());
            let is_own_name = |name: &str| self.urls.is_own_name(name);
            let taken = take(state, site, to, force, &is_held, &is_own_name);
            taken.map_err(|why| refused(&why))
        })?;
        match &taken.by {
            Some(by) => log::info!("the name '{site}' is now reserved for '{by}'"),
            None => log::info!("the name '{site}' is released"),
        }
        Ok(NameTaken {
            site: site.to_owned(),
            ended: is_in_use(&taken, &overview),
            connector: taken.by,
        })
    }
}

fn is_in_use(taken: &Handover, overview: &Overview) -> bool {
    let mut ended = taken.ended.iter();
    ended.any(|(connector, of)| overview.is_held(connector, of.port))
}

fn refused(why: &HandoverError) -> ApiError {
    match why {
        HandoverError::Unknown | HandoverError::NoConnector => ApiError::not_found(why.to_string()),
        _ => ApiError::new(409, why.to_string()),
    }
}

impl std::fmt::Display for HandoverError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown => f.write_str("this name is neither in use nor reserved"),
            Self::InUse(label) => {
                write!(f, "the name is in use by {label}: add --force to take it")
            }
            Self::NoConnector => f.write_str(
                "no connector has this label or name yet; it is known after its first connect",
            ),
            Self::Ambiguous(count) => {
                write!(
                    f,
                    "{count} connectors have this label: give the connector's name"
                )
            }
            Self::Already => f.write_str("this connector already has the name"),
        }
    }
}
