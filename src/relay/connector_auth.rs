//! Admission of connectors: a call of a revoked connector is refused here ([`admit`]). Pure.
//!
//! ```text
//! unknown ── invite good, or none needed ──> enrolled ── revoked ──> turned out, the invite with it
//!    └── no token, or none that is good      │  └── wrong password: refused        │
//!                                            └─────────────── allowed ─────────────┘
//! ```

use super::invites::InvalidInvite;
use super::setup_request::SetupRequest;
use super::state::{MAX_CONNECTORS, RelayState};

/// Requirement of an enrolment token for unknown connectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enrolment {
    /// Anyone who reaches the relay may enrol: it is on loopback, for its own user.
    Open,
    /// They need a token.
    WithToken,
}

/// Reason to accept a call, after its proof.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Admission {
    /// The connector is known, by its password.
    Known,
    /// It enrols with the invite of this id.
    Invited(String),
    /// It enrols without an invite.
    Open,
}

/// Reason that a connector is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AuthError {
    WrongPassword,
    Revoked,
    NoToken,
    WrongToken,
    InvalidInvite(InvalidInvite),
    LookAlike,
    Full,
}

impl AuthError {
    /// Returns the HTTP status. 401 makes connectors read their credentials again, which only helps after a wrong
    /// password.
    pub(super) fn status(self) -> u16 {
        match self {
            Self::WrongPassword => 401,
            Self::Revoked
            | Self::NoToken
            | Self::WrongToken
            | Self::InvalidInvite(_)
            | Self::LookAlike => 403,
            Self::Full => 429,
        }
    }

    /// Returns the message: what happened, and what to try.
    pub(super) fn message(self) -> &'static str {
        match self {
            Self::WrongPassword => "the password of this connector is wrong",
            Self::Revoked => {
                "this connector was revoked by the relay's operator; ask the operator to allow it again"
            }
            Self::NoToken => {
                "unknown connector: this relay enrols new ones with an enrolment token only; add --enroll-token \
                 TOKEN"
            }
            Self::WrongToken => {
                "the enrolment token is wrong or was cancelled: ask the relay's operator for a new one ('postern \
                 relay invite')"
            }
            Self::InvalidInvite(InvalidInvite::Used) => {
                "this enrolment token has already been used: ask the relay's operator for another one"
            }
            Self::InvalidInvite(InvalidInvite::Over) => {
                "this enrolment token has expired: ask the relay's operator for another one"
            }
            Self::InvalidInvite(InvalidInvite::Forbidden) => {
                "this enrolment token is disabled, because it was cancelled or somebody was revoked: ask the relay's \
                 operator for another one"
            }
            Self::LookAlike => {
                "another connector has the same name but for upper and lower case or a dot at the end: choose \
                 another name"
            }
            Self::Full => {
                "the relay has reached its limit of 2500 connectors: its operator can revoke some"
            }
        }
    }
}

impl From<InvalidInvite> for AuthError {
    fn from(reason: InvalidInvite) -> Self {
        Self::InvalidInvite(reason)
    }
}

/// Decides if a call is accepted at `now` (RFC 3339), and for which reason. Takes long if a person chose a password or
/// a token, so no lock may be held; the result about an invite is checked again when the state is changed.
pub(super) fn admit(
    state: &RelayState,
    request: &SetupRequest,
    rule: Enrolment,
    now: &str,
) -> Result<Admission, AuthError> {
    let name = request.connector_name.as_str();
    if let Some(connector) = state.connectors.get(name) {
        let is_right = connector.password.is(&request.password);
        return is_right
            .then_some(Admission::Known)
            .ok_or(AuthError::WrongPassword);
    }
    if state.is_revoked(name) {
        return Err(AuthError::Revoked);
    }
    if state.connectors.len() >= MAX_CONNECTORS {
        return Err(AuthError::Full);
    }
    let admission = match rule {
        // A token that is not needed still tells whose connector it is.
        Enrolment::Open => invited(state, request, now).map_or(Admission::Open, Admission::Invited),
        Enrolment::WithToken => Admission::Invited(invited(state, request, now)?),
    };
    // Strangers do not learn which connectors exist.
    if state.has_look_alike(name) {
        return Err(AuthError::LookAlike);
    }
    Ok(admission)
}

/// Returns the id of the invite whose token a call has.
fn invited(state: &RelayState, request: &SetupRequest, now: &str) -> Result<String, AuthError> {
    let token = request.enroll_token.as_ref().ok_or(AuthError::NoToken)?;
    let invite = state.invites.of_token(token).ok_or(AuthError::WrongToken)?;
    invite.check(now)?;
    Ok(invite.id.clone())
}

#[cfg(test)]
mod tests {
    use super::super::invites::Invite;
    use super::super::secret::SecretHash;
    use super::super::setup_request::tests::with;
    use super::super::state::Connector;
    use super::*;
    use serde_json::json;

    fn connector(password: &str) -> Connector {
        Connector {
            password: SecretHash::of(password),
            api_port: 30_000,
            enrolled_at: String::new(),
            called_at: Default::default(),
            caller: Default::default(),
            invite: None,
            applications: Vec::new().into(),
        }
    }

    #[test]
    fn each_way_in_and_each_way_out() {
        let token = "t".repeat(40);
        let mut state = RelayState::default();
        let invite = Invite::common(SecretHash::of(&token), "");
        let by_invite = Admission::Invited(invite.id.clone());
        state.invites.add(invite, "").unwrap();
        let ended = "e".repeat(40);
        let mut invite = Invite::common(SecretHash::of(&ended), "");
        invite.forbidden_at = Some("then".into());
        state.invites.add(invite, "").unwrap();
        state
            .connectors
            .insert("known".into(), connector(&"p".repeat(43)).into());
        state
            .connectors
            .insert("out".into(), connector("whatever").into());
        assert!(state.revoke("out", "").is_some() && state.revoke("out", "").is_none());
        let verdict = |changes, rule| {
            let request = with(changes).unwrap();
            admit(&state, &request, rule, "now")
        };
        for (changes, rule, expected) in [
            (json!({}), Enrolment::Open, Ok(Admission::Open)),
            (json!({}), Enrolment::WithToken, Err(AuthError::NoToken)),
            (
                json!({"enroll_token": "x"}),
                Enrolment::WithToken,
                Err(AuthError::WrongToken),
            ),
            (
                json!({"enroll_token": token}),
                Enrolment::WithToken,
                Ok(by_invite.clone()),
            ),
            (
                json!({"enroll_token": ended}),
                Enrolment::WithToken,
                Err(AuthError::InvalidInvite(InvalidInvite::Forbidden)),
            ),
            (
                json!({"enroll_token": token}),
                Enrolment::Open,
                Ok(by_invite.clone()),
            ),
            (
                json!({"enroll_token": "x"}),
                Enrolment::Open,
                Ok(Admission::Open),
            ),
            (
                json!({"connector_name": "known"}),
                Enrolment::WithToken,
                Ok(Admission::Known),
            ),
            (
                json!({"connector_name": "known", "password": "q".repeat(43)}),
                Enrolment::WithToken,
                Err(AuthError::WrongPassword),
            ),
            (
                json!({"connector_name": "known", "password": "q".repeat(43), "enroll_token": token}),
                Enrolment::WithToken,
                Err(AuthError::WrongPassword),
            ),
            (
                json!({"connector_name": "Known."}),
                Enrolment::WithToken,
                Err(AuthError::NoToken),
            ),
            (
                json!({"connector_name": "Known.", "enroll_token": token}),
                Enrolment::WithToken,
                Err(AuthError::LookAlike),
            ),
            (
                json!({"connector_name": "oUT"}),
                Enrolment::Open,
                Err(AuthError::LookAlike),
            ),
            (
                json!({"connector_name": "knowns"}),
                Enrolment::Open,
                Ok(Admission::Open),
            ),
            (
                json!({"connector_name": "out"}),
                Enrolment::Open,
                Err(AuthError::Revoked),
            ),
            (
                json!({"connector_name": "out", "enroll_token": token}),
                Enrolment::WithToken,
                Err(AuthError::Revoked),
            ),
        ] {
            assert_eq!(verdict(changes.clone(), rule), expected, "{changes}");
        }
    }

    #[test]
    fn connectors_are_bounded() {
        let mut state = RelayState::default();
        let one = connector(&"p".repeat(43));
        for number in 0..MAX_CONNECTORS {
            state
                .connectors
                .insert(number.to_string(), one.clone().into());
        }
        let full = admit(&state, &with(json!({})).unwrap(), Enrolment::Open, "");
        assert_eq!(full, Err(AuthError::Full));
        let known = admit(
            &state,
            &with(json!({"connector_name": "7"})).unwrap(),
            Enrolment::Open,
            "",
        );
        assert_eq!(known, Ok(Admission::Known));
    }
}
