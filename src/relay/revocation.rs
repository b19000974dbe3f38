//! Connectors that are turned out, and allowed again.

use std::time::SystemTime;

use zeroize::Zeroizing;

use super::secret::SecretHash;
use super::setup::Service;
use super::state::{Connector, RelayState};
use super::state_store::Saving;
use crate::http::ApiError;
use crate::store::random;
use crate::store::time::rfc3339;

/// What came of a revocation.
pub(super) struct RevokeOutcome {
    /// The enrol token that holds from now on, where one is needed; a secret.
    pub(super) enroll_token: Option<Zeroizing<String>>,
    /// Whether it outlasts the relay.
    pub(super) is_saved: bool,
}

impl Service {
    /// Turns a connector out: at once, whatever the disk says, and until it is allowed again. The enrol
    /// token, which it knows, lets nobody in any more; the one in its place, where one is needed, is to
    /// be shown.
    pub(super) fn revoke(&self, name: &str) -> Result<RevokeOutcome, ApiError> {
        let mut writer = self.store.writer();
        let ((connector, enroll_token), saved) = writer.update_saving(|state| {
            let missing = || ApiError::not_found("there is no connector of this name");
            let revoked = turn_out(state, name, &self.cutoff()).ok_or_else(missing)?;
            Ok::<_, ApiError>((revoked, Saving::Should))
        })?;
        if let Some(opener) = self.opener.get() {
            opener.disconnect(name);
        }
        for application in &connector.applications {
            self.forget(name, application);
        }
        match &saved {
            Ok(()) => log::info!("'{name}' is revoked"),
            Err(error) => log::error!(
                "'{name}' is revoked, and that is not saved: it lasts until the relay restarts: {error}"
            ),
        }
        Ok(RevokeOutcome {
            enroll_token,
            is_saved: saved.is_ok(),
        })
    }

    /// Undoes a revocation. True when the connector is back with what it had, false when it is to
    /// enrol again.
    pub(super) fn allow(&self, name: &str) -> Result<bool, ApiError> {
        let mut writer = self.store.writer();
        let back = writer.update(|state| {
            state.sweep(&self.cutoff());
            state.allow(name).map_err(ApiError::from)
        })?;
        let applications = back.iter().flat_map(|connector| &connector.applications);
        if let Some(opener) = self.opener.get() {
            for application in applications {
                self.sites.put(name, application, opener);
            }
        }
        log::info!("'{name}' is allowed again");
        Ok(back.is_some())
    }
}

/// Revokes a connector, and the enrol token with it where there is one: what the connector was, and
/// the token that holds now. What was given up before `cutoff` is anybody's. `None` where there is no such connector.
pub(super) fn turn_out(
    state: &mut RelayState,
    name: &str,
    cutoff: &str,
) -> Option<(Connector, Option<Zeroizing<String>>)> {
    let now = SystemTime::now();
    state.sweep(cutoff);
    let connector = state.revoke(name, &rfc3339(now))?;
    if state.enroll_token.is_none() {
        return Some((connector, None));
    }
    let token = Zeroizing::new(random::token());
    state.renew_token(SecretHash::of(&token), &rfc3339(now));
    Some((connector, Some(token)))
}
