//! Invites: tokens with which unknown connectors enrol, their limits, and the connectors that used them. Pure.
//!
//! ```text
//! good ── has let in as many as it may ──> used
//!  ├── its time comes ──> over
//!  └── one that it has let in is revoked ──> forbidden ── that one is allowed again ──> good
//! ```

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::secret::{self, SecretHash, identifier};
use crate::api::relay as api;
use crate::api::relay::{InviteUse, InvitedBy};
use crate::store::time::rfc3339;
use crate::sync::CopyOnWrite;

/// Number of invites that are kept, valid or not. Default 1,000: an operator reads the list.
const MAX_INVITES: usize = crate::limits::INVITES;
/// Connectors that are remembered of an invite; the oldest is forgotten first. Default 1,000.
const MAX_USERS: usize = 1000;
/// Connectors that an invite may be for. Default 2,500: as many as a relay takes.
const MAX_USES: u32 = crate::limits::INVITE_USES;
/// Longest validity of an invite. Default a year.
const LONGEST: Duration = crate::limits::INVITE_LONGEST;
/// Default validity of an invite. Default a week.
const USUAL_LIFE: Duration = crate::limits::INVITE_LIFE;
/// Characters of a label.
const MAX_LABEL: usize = 100;
/// Id of the token of an earlier version, which had none.
const EARLIER: &str = "common";

/// Terms of an invite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InviteTerms {
    /// Person or machine that it is for; may be empty.
    pub label: String,
    /// Number of connectors it lets in.
    pub uses: u32,
    /// Validity.
    pub life: Duration,
}

impl Default for InviteTerms {
    /// For one connector, within a week.
    fn default() -> Self {
        Self {
            label: String::new(),
            uses: 1,
            life: USUAL_LIFE,
        }
    }
}

impl InviteTerms {
    /// Returns the fault of the terms, the field first.
    pub fn check(&self) -> Result<(), String> {
        let is_long = self.label.chars().count() > MAX_LABEL;
        if is_long || self.label.chars().any(char::is_control) {
            return Err(format!(
                "label: give at most {MAX_LABEL} characters without control characters"
            ));
        }
        if !(1..=MAX_USES).contains(&self.uses) {
            return Err(format!("uses: give a whole number from 1 to {MAX_USES}"));
        }
        if self.life < Duration::from_secs(1) || self.life > LONGEST {
            return Err("for: give a time from 1s to 366d".to_owned());
        }
        Ok(())
    }
}

/// All invites, in the order in which they were made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Invites(CopyOnWrite<Vec<Invite>>);

/// An invite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Invite {
    /// Name that the operator uses for it.
    pub(super) id: String,
    #[serde(default)]
    pub(super) label: String,
    pub(super) token: SecretHash,
    /// Time of creation, RFC 3339, as all times here; empty if an earlier version made it.
    pub(super) made_at: String,
    /// End of validity; none if it is valid without end.
    #[serde(default)]
    pub(super) expires: Option<String>,
    /// Number of connectors it lets in; none for any number.
    #[serde(default)]
    uses: Option<u32>,
    #[serde(default)]
    used: u32,
    #[serde(default)]
    used_by: Vec<InviteUse>,
    #[serde(default)]
    pub(super) forbidden_at: Option<String>,
    /// True for the common token: the command line's, or one in its place. Only one is valid at a time, and a disabled
    /// one is kept, as the command line brings it again.
    #[serde(default)]
    pub(super) is_common: bool,
    /// True if the first start of the relay made it.
    #[serde(default)]
    pub(super) is_first: bool,
}

/// Reason that an invite is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InvalidInvite {
    Forbidden,
    Used,
    Over,
}

/// The limit of invites is reached, and all of them are valid.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooManyInvites;

impl Invites {
    /// In the order in which they were made.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Invite> {
        self.0.iter()
    }

    /// Returns the invite of this token. Takes long if a person chose the token.
    pub(super) fn of_token(&self, token: &str) -> Option<&Invite> {
        let is_slow = secret::is_slow(token);
        let mut alike = self
            .0
            .iter()
            .filter(|invite| invite.token.is_slow() == is_slow);
        alike.find(|invite| invite.token.is(token))
    }

    /// True if a comparison with a token may take long.
    pub(super) fn is_slow(&self) -> bool {
        self.0.iter().any(|invite| invite.token.is_slow())
    }

    /// True if one of them is valid.
    pub(super) fn has_good(&self, now: &str) -> bool {
        self.0.iter().any(|invite| invite.check(now).is_ok())
    }

    /// Number of kept invites, valid or not.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there never was one, or all are forgotten.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds an invite; an invalid one makes room for it.
    pub(super) fn add(&mut self, invite: Invite, now: &str) -> Result<(), TooManyInvites> {
        if self.0.len() >= MAX_INVITES {
            let done = |invite: &Invite| invite.check(now).is_err();
            // The command line's go last: they would come back with it.
            let found = self.0.iter().position(|it| done(it) && !it.is_common);
            let found = found.or_else(|| self.0.iter().position(done));
            self.0.remove(found.ok_or(TooManyInvites)?);
        }
        self.0.push(invite);
        Ok(())
    }

    /// Enrols `connector` with the invite of this id.
    pub(super) fn use_by(
        &mut self,
        id: &str,
        connector: &str,
        now: &str,
    ) -> Result<InvitedBy, InvalidInvite> {
        // It was cancelled meanwhile.
        let invite = self.find_mut(id).ok_or(InvalidInvite::Forbidden)?;
        invite.check(now)?;
        invite.used = invite.used.saturating_add(1);
        if invite.used_by.len() >= MAX_USERS {
            invite.used_by.remove(0);
        }
        invite.used_by.push(InviteUse {
            connector: connector.to_owned(),
            at: now.to_owned(),
        });
        Ok(InvitedBy {
            id: invite.id.clone(),
            label: invite.label.clone(),
        })
    }

    /// Disables an invite, and returns it.
    pub(super) fn forbid(&mut self, id: &str, now: &str) -> Option<&Invite> {
        let invite = self.find_mut(id)?;
        invite.forbidden_at.get_or_insert_with(|| now.to_owned());
        Some(invite)
    }

    /// Undoes that, except for the common token: another one may be in its place.
    pub(super) fn permit(&mut self, id: &str) -> bool {
        let invite = self.find_mut(id).filter(|invite| !invite.is_common);
        invite.is_some_and(|invite| invite.forbidden_at.take().is_some())
    }

    /// Cancels an invite: it is forgotten, unless the command line could bring it again. False if there is none.
    pub(super) fn take_back(&mut self, id: &str, now: &str) -> bool {
        let Some(at) = self.0.iter().position(|invite| invite.id == id) else {
            return false;
        };
        let is_common = self.0.get(at).is_some_and(|invite| invite.is_common);
        if is_common {
            self.forbid(id, now);
        } else {
            self.0.remove(at);
        }
        true
    }

    /// True if this is the common token, and the only one.
    pub(super) fn is_shared(&self, id: &str) -> bool {
        let mut good = self
            .0
            .iter()
            .filter(|invite| invite.is_common && invite.forbidden_at.is_none());
        good.next().is_some_and(|invite| invite.id == id) && good.next().is_none()
    }

    /// Makes this invite the common token, for any number and without end, instead of the others.
    pub(super) fn share(&mut self, id: &str) {
        self.0
            .retain(|invite| invite.id == id || !invite.is_common || invite.forbidden_at.is_some());
        if let Some(invite) = self.find_mut(id) {
            (invite.is_common, invite.uses, invite.expires) = (true, None, None);
        }
    }

    /// Marks the invite that the first start has made.
    pub(super) fn mark_first(&mut self, id: &str) {
        if let Some(invite) = self.find_mut(id) {
            invite.is_first = true;
        }
    }

    /// Forgets those whose end was before `cutoff`.
    pub(super) fn sweep(&mut self, cutoff: &str) {
        self.0.retain(|invite| {
            let expires = invite.expires.as_deref();
            expires.is_none_or(|expires| expires >= cutoff)
        });
    }

    /// True if neither was changed since one was cloned from the other.
    pub(super) fn is_shared_with(&self, other: &Self) -> bool {
        self.0.is_shared_with(&other.0)
    }

    /// Replaces the invite of this id, or removes it if `invite` is none.
    pub(super) fn put(&mut self, id: &str, invite: Option<Invite>) {
        let Some(invite) = invite else {
            return self.0.retain(|known| known.id != id);
        };
        if let Some(known) = self.find_mut(id) {
            *known = invite;
        } else {
            let at = self
                .0
                .partition_point(|known| known.made_at <= invite.made_at);
            self.0.insert(at, invite);
        }
    }

    fn find_mut(&mut self, id: &str) -> Option<&mut Invite> {
        self.0.iter_mut().find(|invite| invite.id == id)
    }
}

impl Invite {
    /// Makes an invite on these terms, for the token of that digest.
    pub(super) fn new(token: SecretHash, terms: InviteTerms, now: SystemTime) -> Self {
        Self {
            label: terms.label,
            expires: Some(rfc3339(now + terms.life.min(LONGEST))),
            uses: Some(terms.uses),
            is_common: false,
            ..Self::common(token, &rfc3339(now))
        }
    }

    /// Makes the common token: for any number, without end.
    pub(super) fn common(token: SecretHash, now: &str) -> Self {
        let mut id = identifier();
        id.truncate(8);
        Self {
            id,
            label: String::new(),
            token,
            made_at: now.to_owned(),
            expires: None,
            uses: None,
            used: 0,
            used_by: Vec::new(),
            forbidden_at: None,
            is_common: true,
            is_first: false,
        }
    }

    /// Makes the invite of a token of an earlier version.
    pub(super) fn earlier(token: SecretHash, since: &str) -> Self {
        Self {
            id: EARLIER.to_owned(),
            ..Self::common(token, since)
        }
    }

    /// Checks if it can be used now.
    pub(super) fn check(&self, now: &str) -> Result<(), InvalidInvite> {
        if self.forbidden_at.is_some() {
            return Err(InvalidInvite::Forbidden);
        }
        if self.uses.is_some_and(|uses| self.used >= uses) {
            return Err(InvalidInvite::Used);
        }
        match &self.expires {
            Some(expires) if expires.as_str() <= now => Err(InvalidInvite::Over),
            _ => Ok(()),
        }
    }

    /// Returns the operator's view of it, without the token.
    pub(super) fn shown(&self, now: &str) -> api::Invite {
        let status = match self.check(now) {
            Ok(()) => "good",
            Err(InvalidInvite::Forbidden) => "forbidden",
            Err(InvalidInvite::Used) => "used",
            Err(InvalidInvite::Over) => "over",
        };
        api::Invite {
            id: self.id.clone(),
            label: self.label.clone(),
            status: status.to_owned(),
            uses: self.uses,
            used: self.used,
            made_at: self.made_at.clone(),
            expires: self.expires.clone(),
            common: self.is_common,
            first: self.is_first,
            used_by: self.used_by.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-11-23T00:00:00Z";

    fn with(invite: Invite) -> Invites {
        let mut invites = Invites::default();
        invites.add(invite, NOW).unwrap();
        invites
    }

    fn invite(token: &str, uses: u32) -> Invite {
        let terms = InviteTerms {
            uses,
            ..InviteTerms::default()
        };
        let now = crate::store::time::parse_rfc3339(NOW).unwrap();
        Invite::new(SecretHash::of(token), terms, now)
    }

    #[test]
    fn an_invite_lets_in_as_many_as_it_says_and_until_its_end() {
        let token = "t".repeat(40);
        let mut invites = with(invite(&token, 2));
        let id = invites.of_token(&token).unwrap().id.clone();
        assert!(invites.of_token(&"u".repeat(40)).is_none());
        let late = "2026-11-30T00:00:00Z";
        assert_eq!(
            invites.use_by(&id, "late", late).err(),
            Some(InvalidInvite::Over),
            "a week later"
        );
        for name in ["one", "two"] {
            assert_eq!(invites.use_by(&id, name, NOW).unwrap().id, id);
        }
        assert_eq!(invites.use_by(&id, "three", NOW), Err(InvalidInvite::Used));
        let shown = invites.find_mut(&id).unwrap().shown(NOW);
        assert_eq!((&*shown.status, shown.used), ("used", 2));
        let last = &shown.used_by[1];
        assert_eq!((&*last.connector, &*last.at), ("two", NOW));
        assert!(!serde_json::to_string(&invites).unwrap().contains(&token));
        invites.sweep(late);
        assert!(!invites.is_empty());
        invites.sweep("2026-12-30T00:00:00Z");
        assert!(invites.is_empty());
    }

    #[test]
    fn what_is_forbidden_is_permitted_again_but_for_the_token_that_all_share() {
        let mut invites = with(invite(&"t".repeat(40), 5));
        let common = Invite::common(SecretHash::of(&"c".repeat(40)), NOW);
        invites.add(common, NOW).unwrap();
        let ids: Vec<String> = invites.iter().map(|invite| invite.id.clone()).collect();
        for id in &ids {
            assert!(invites.forbid(id, NOW).is_some());
            assert_eq!(invites.use_by(id, "x", NOW), Err(InvalidInvite::Forbidden));
        }
        assert!(!invites.has_good(NOW));
        assert!(invites.permit(&ids[0]) && !invites.permit(&ids[1]));
        assert!(invites.has_good(NOW));
        for id in &ids {
            assert!(invites.take_back(id, NOW));
        }
        assert!(!invites.take_back(&ids[0], NOW));
        let left: Vec<_> = invites.iter().map(|invite| invite.is_common).collect();
        assert_eq!(left, [true], "it would come back with the command line");
    }

    #[test]
    fn only_what_is_good_no_more_makes_room() {
        let mut invites = Invites::default();
        let one = invite(&"t".repeat(40), 1);
        for number in 0..MAX_INVITES {
            let id = number.to_string();
            invites.add(Invite { id, ..one.clone() }, NOW).unwrap();
        }
        assert_eq!(invites.add(one.clone(), NOW), Err(TooManyInvites));
        invites.use_by("7", "x", NOW).unwrap();
        assert_eq!(invites.add(one, NOW), Ok(()));
        assert!(invites.find_mut("7").is_none() && invites.find_mut("8").is_some());
    }

    #[test]
    fn terms_are_bounded() {
        let usual = InviteTerms::default;
        assert_eq!(usual().check(), Ok(()));
        for wrong in [
            InviteTerms {
                label: "a\nb".into(),
                ..usual()
            },
            InviteTerms {
                label: "ä".repeat(101),
                ..usual()
            },
            InviteTerms { uses: 0, ..usual() },
            InviteTerms {
                uses: MAX_USES + 1,
                ..usual()
            },
            InviteTerms {
                life: Duration::ZERO,
                ..usual()
            },
            InviteTerms {
                life: LONGEST + Duration::from_secs(1),
                ..usual()
            },
        ] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
    }
}
