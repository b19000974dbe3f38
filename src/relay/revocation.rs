//! Connectors that are turned out, and allowed again.

use std::time::SystemTime;

use zeroize::Zeroizing;

use super::invites::Invite;
use super::secret::SecretHash;
use super::setup::Service;
use super::state::{Allowed, Connector, RelayState, cutoff};
use super::state_store::Saving;
use crate::http::ApiError;
use crate::store::random;
use crate::store::time::rfc3339;

/// What came of a revocation.
pub(super) struct RevokeOutcome {
    pub(super) turned_out: TurnedOut,
    /// Whether it outlasts the relay.
    pub(super) is_saved: bool,
}

/// A connector that was turned out.
pub(super) struct TurnedOut {
    /// What it was.
    connector: Connector,
    /// The invite that had let it in, which lets nobody in any more.
    pub(super) invite: Option<Invite>,
    /// Made in the place of the one token that all shared, where nothing else would let anybody in; a secret.
    pub(super) enroll_token: Option<Zeroizing<String>>,
}

/// What came of undoing a revocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllowedAgain {
    /// Whether the connector is back with what it had; else it is to enrol again.
    pub is_back: bool,
    /// Whether the invite that had let it in lets others in again.
    pub is_invite_good: bool,
}

impl From<&Allowed> for AllowedAgain {
    fn from(allowed: &Allowed) -> Self {
        Self {
            is_back: allowed.connector.is_some(),
            is_invite_good: allowed.is_invite_good,
        }
    }
}

impl Service {
    /// Turns a connector out: at once, whatever the disk says, and until it is allowed again. The invite
    /// that had let it in, whose token it knows, lets nobody in any more.
    pub(super) fn revoke(&self, name: &str) -> Result<RevokeOutcome, ApiError> {
        let mut writer = self.store.writer();
        let (turned_out, saved) = writer.update_saving(|state| {
            let missing = || ApiError::not_found("there is no connector of this name");
            let turned_out = turn_out(state, name).ok_or_else(missing)?;
            Ok::<_, ApiError>((turned_out, Saving::Should))
        })?;
        if let Some(opener) = self.opener.get() {
            opener.disconnect(name);
        }
        for application in &turned_out.connector.applications {
            self.forget(name, application);
        }
        match &saved {
            Ok(()) => log::info!("'{name}' is revoked"),
            Err(error) => log::error!(
                "'{name}' is revoked, and that is not saved: it lasts until the relay restarts: {error}"
            ),
        }
        Ok(RevokeOutcome {
            turned_out,
            is_saved: saved.is_ok(),
        })
    }

    /// Undoes a revocation.
    pub(super) fn allow(&self, name: &str) -> Result<AllowedAgain, ApiError> {
        let mut writer = self.store.writer();
        let allowed = writer.update(|state| {
            state.sweep(&cutoff(SystemTime::now()));
            state.allow(name).map_err(ApiError::from)
        })?;
        let back = allowed.connector.iter();
        let applications = back.flat_map(|connector| &connector.applications);
        if let Some(opener) = self.opener.get() {
            for application in applications {
                self.sites.put(name, application, opener);
            }
        }
        log::info!("'{name}' is allowed again");
        Ok(AllowedAgain::from(&allowed))
    }
}

/// Revokes a connector, and the invite that had let it in. `None` where there is no such connector.
pub(super) fn turn_out(state: &mut RelayState, name: &str) -> Option<TurnedOut> {
    let now = SystemTime::now();
    state.sweep(&cutoff(now));
    let now = rfc3339(now);
    let connector = state.revoke(name, &now)?;
    let invited_by = connector.invite.as_ref();
    let invite = invited_by.and_then(|invite| state.invites.forbid(&invite.id, &now).cloned());
    let was_shared = invite.as_ref().is_some_and(|invite| invite.is_common);
    let mut enroll_token = None;
    if was_shared && !state.invites.has_good(&now) {
        let token = Zeroizing::new(random::token());
        let invite = Invite::common(SecretHash::of(&token), &now);
        // There is room where none is good.
        enroll_token = state.invites.add(invite, &now).is_ok().then_some(token);
    }
    Some(TurnedOut {
        connector,
        invite,
        enroll_token,
    })
}
