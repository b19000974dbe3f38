//! Changes of the operator to who may connect: revoking and allowing connectors, creating and cancelling invites.

use std::time::SystemTime;

use zeroize::Zeroizing;

use super::invites::{Invite, InviteTerms, TooManyInvites};
use super::secret::SecretHash;
use super::setup::{LOOK, Service};
use super::state::{Connector, Readmitted, RelayState, cutoff};
use super::state_store::Saving;
use crate::api::relay as api;
use crate::api::relay::{Allowed, DisabledInvite, Revocation};
use crate::http::ApiError;
use crate::store::random;
use crate::store::time::rfc3339;

/// A connector that was revoked.
pub(super) struct RevokedConnector {
    /// The connector as it was.
    connector: Connector,
    /// True if the invite that it used, which is disabled now, is the common token.
    is_common: bool,
    /// New token in place of the common one, if no other invite is valid; a secret.
    pub(super) enroll_token: Option<Zeroizing<String>>,
}

impl RevokedConnector {
    /// Returns the result for the operator.
    pub(super) fn into_answer(self, name: &str) -> Revocation {
        let is_common = self.is_common;
        Revocation {
            revoked: name.to_owned(),
            invite: self.connector.invite.map(|invite| DisabledInvite {
                id: invite.id,
                label: invite.label,
                common: is_common,
            }),
            enroll_token: self.enroll_token,
            saved: true,
            untold: Vec::new(),
        }
    }
}

/// Describes a revocation that was undone.
pub(super) fn allowed(name: &str, allowed: &Readmitted) -> Allowed {
    Allowed {
        allowed: name.to_owned(),
        restored: allowed.connector.is_some(),
        invite_good: allowed.is_invite_good,
    }
}

impl Service {
    /// Revokes a connector: at once, even if it cannot be saved, and until it is allowed again. The invite that it
    /// used, whose token it knows, is disabled.
    pub(super) fn revoke(&self, name: &str) -> Result<Revocation, ApiError> {
        let (turned_out, saved) = self.store.update_saving(|state| {
            let why = match state.revoked.iter().any(|revoked| revoked == name) {
                true => "this connector is revoked already",
                false => "there is no connector with this name",
            };
            let missing = || ApiError::not_found(why);
            let turned_out = turn_out(state, name, &self.cutoff()).ok_or_else(missing)?;
            Ok::<_, ApiError>((turned_out, self.store.at_once()))
        })?;
        let called = turned_out.connector.called(name);
        match &saved {
            Ok(()) => log::info!("{called} is revoked"),
            Err(error) => log::error!(
                "{called} is revoked, but not saved; that ends when the relay restarts: {error}"
            ),
        }
        let links = self.links.get().filter(|_| saved.is_ok());
        Ok(Revocation {
            saved: saved.is_ok(),
            untold: links.map_or_else(Vec::new, |links| links.send_revocation(name)),
            ..turned_out.into_answer(name)
        })
    }

    /// Called when another relay has revoked a connector. If the store already says so, nothing is left to do; if it is
    /// not reached, the revocation holds in memory until it is.
    pub(super) fn apply_revocation(&self, name: &str) {
        let knows = || !self.store.snapshot().connectors.contains_key(name);
        if self.look_now(LOOK) && knows() {
            return;
        }
        let revoked = self.store.update_saving(|state| {
            let now = rfc3339(SystemTime::now());
            let connector = state.revoke(name, &now);
            let invite = connector.as_ref().and_then(|was| was.invite.as_ref());
            invite.and_then(|invite| state.invites.forbid(&invite.id, &now));
            Ok::<_, ApiError>((connector, Saving::AtOnce))
        });
        if let Ok((Some(connector), _)) = revoked {
            let called = connector.called(name);
            log::info!("{called} was revoked at another relay; the store cannot be reached here");
        }
    }

    /// Undoes a revocation.
    pub(super) fn allow(&self, name: &str) -> Result<Allowed, ApiError> {
        let allowed = self.store.update(|state| {
            state.sweep(&self.cutoff());
            state.allow(name).map_err(ApiError::from)
        })?;
        let called = self.store.snapshot().called(name);
        log::info!("{called} is allowed again");
        Ok(self::allowed(name, &allowed))
    }
}

/// Revokes a connector, and disables the invite that it used. Names released before `cutoff` become free. `None` if
/// there is no such connector.
pub(super) fn turn_out(
    state: &mut RelayState,
    name: &str,
    cutoff: &str,
) -> Option<RevokedConnector> {
    let now = SystemTime::now();
    state.sweep(cutoff);
    let now = rfc3339(now);
    let connector = state.revoke(name, &now)?;
    let invited_by = connector.invite.as_ref();
    // An invite that was cancelled or forgotten is invalid anyway.
    let invite = invited_by.and_then(|invite| state.invites.forbid(&invite.id, &now));
    let is_common = invite.is_some_and(|invite| invite.is_common);
    let mut enroll_token = None;
    if is_common && !state.invites.has_good(&now) {
        let token = Zeroizing::new(random::token());
        let invite = Invite::common(SecretHash::of(&token), &now);
        // There is room if none is valid.
        enroll_token = state.invites.add(invite, &now).is_ok().then_some(token);
    }
    Some(RevokedConnector {
        connector,
        is_common,
        enroll_token,
    })
}

/// A new invite and its token.
pub(super) struct CreatedInvite {
    /// Token of the invite; a secret that is shown only now.
    pub(super) token: Zeroizing<String>,
    pub(super) invite: Invite,
}

impl CreatedInvite {
    /// Returns the operator's view of it.
    pub(super) fn shown(&self) -> api::Invite {
        self.invite.shown(&self.invite.made_at)
    }
}

impl Service {
    /// Creates an invite on terms that have been checked.
    pub(super) fn invite(&self, terms: InviteTerms) -> Result<CreatedInvite, ApiError> {
        let made = self.store.update(|state| {
            create_invite(state, terms.clone())
                .map_err(|TooManyInvites| ApiError::too_many("too many invites: cancel some first"))
        })?;
        log::info!("invite {} created", made.invite.id);
        Ok(made)
    }

    /// Returns the operator's view of all invites.
    pub(super) fn invites(&self) -> Vec<api::Invite> {
        shown_invites(&self.store.snapshot())
    }

    /// Cancels the invite of this id.
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

/// Adds an invite with a new token to the state.
pub(super) fn create_invite(
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

/// Adds the invite of a relay's first start.
pub(super) fn create_first_invite(state: &mut RelayState) -> Result<CreatedInvite, TooManyInvites> {
    let made = create_invite(state, InviteTerms::default())?;
    state.invites.mark_first(&made.invite.id);
    Ok(made)
}

/// Returns the operator's view of the invites of a state.
pub(super) fn shown_invites(state: &RelayState) -> Vec<api::Invite> {
    let now = rfc3339(SystemTime::now());
    let all = state.invites.iter();
    all.map(|invite| invite.shown(&now)).collect()
}
