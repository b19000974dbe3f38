//! Invites as the operator makes them, looks at them and takes them back.

use std::time::SystemTime;

use zeroize::Zeroizing;

use super::invites::{Invite, InviteTerms, TooManyInvites};
use super::secret::SecretHash;
use super::setup::Service;
use super::state::{RelayState, cutoff};
use crate::api::relay as api;
use crate::http::ApiError;
use crate::store::random;
use crate::store::time::rfc3339;

/// A new invite and its token.
pub(super) struct CreatedInvite {
    /// A secret that is shown this once.
    pub(super) token: Zeroizing<String>,
    pub(super) invite: Invite,
}

impl CreatedInvite {
    /// Returns the operator's view of it from now on.
    pub(super) fn shown(&self) -> api::Invite {
        self.invite.shown(&self.invite.made_at)
    }
}

impl Service {
    /// Makes an invite on terms that have been checked.
    pub(super) fn invite(&self, terms: InviteTerms) -> Result<CreatedInvite, ApiError> {
        let made = self.store.update(|state| {
            make(state, terms.clone())
                .map_err(|TooManyInvites| ApiError::too_many("too many invites: cancel some first"))
        })?;
        log::info!("invite {} created", made.invite.id);
        Ok(made)
    }

    /// All of them.
    pub(super) fn invites(&self) -> Vec<api::Invite> {
        shown(&self.store.snapshot())
    }

    /// Lets nobody in any more by the invite of this id.
    pub(super) fn take_back(&self, id: &str) -> Result<(), ApiError> {
        self.store.update(|state| {
            let is_there = state.invites.take_back(id, &rfc3339(SystemTime::now()));
            let missing = || ApiError::not_found("there is no invite with this ID");
            is_there.then_some(()).ok_or_else(missing)
        })?;
        log::info!("invite {id} cancelled");
        Ok(())
    }
}

/// Adds an invite with a token of its own to the state.
pub(super) fn make(
    state: &mut RelayState,
    terms: InviteTerms,
) -> Result<CreatedInvite, TooManyInvites> {
    let now = SystemTime::now();
    state.sweep(&cutoff(now));
    let token = Zeroizing::new(random::token());
    let invite = Invite::new(SecretHash::of(&token), terms, now);
    state.invites.add(invite.clone(), &rfc3339(now))?;
    Ok(CreatedInvite { token, invite })
}

/// Adds the one that the first start of a relay makes by itself.
pub(super) fn make_first(state: &mut RelayState) -> Result<CreatedInvite, TooManyInvites> {
    let made = make(state, InviteTerms::default())?;
    state.invites.mark_first(&made.invite.id);
    Ok(made)
}

/// Returns the operator's view of the invites of a state.
pub(super) fn shown(state: &RelayState) -> Vec<api::Invite> {
    let now = rfc3339(SystemTime::now());
    let all = state.invites.iter();
    all.map(|invite| invite.shown(&now)).collect()
}
