//! Who is let in. Pure.
//!
//! ```text
//! unknown ── token right, or none needed ──> enrolled ── revoked ──> turned out, the token with it
//!    └── token wrong or missing: refused     │  └── wrong password: refused        │
//!                                            └─────────────── allowed ─────────────┘
//! ```

use super::secret::SecretHash;
use super::setup_request::SetupRequest;
use super::state::{MAX_CONNECTORS, RelayState};

/// Whether an unknown connector needs the enrol token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enrolment {
    /// Whoever reaches the relay may enrol: it is on loopback, for its own user.
    Open,
    /// The token is needed.
    WithToken,
}

/// What is to be done about a call before anything is assigned.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum AuthCheck {
    /// Its password is to be compared with this.
    Known(SecretHash),
    /// Its token is to be compared with this, and it is to be enrolled.
    NewWithToken(SecretHash),
    /// It is to be enrolled.
    New,
}

/// Why somebody is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AuthError {
    WrongPassword,
    Revoked,
    NoToken,
    WrongToken,
    Full,
}

impl AuthError {
    /// The HTTP status. 401 makes connectors read their credentials again, which helps nobody
    /// but one with a wrong password.
    pub(super) fn status(self) -> u16 {
        match self {
            Self::WrongPassword => 401,
            Self::Revoked | Self::NoToken | Self::WrongToken => 403,
            Self::Full => 429,
        }
    }

    /// What happened, and what to try.
    pub(super) fn message(self) -> &'static str {
        match self {
            Self::WrongPassword => "the password of this connector is wrong",
            Self::Revoked => {
                "this connector was revoked by the operator of the relay; ask there to be let in again"
            }
            Self::NoToken => {
                "this relay does not know the connector and enrols new ones with its enrol token only: \
                 give it with --enroll-token"
            }
            Self::WrongToken => {
                "the enrol token is wrong, or holds no more since somebody was revoked: the operator of the relay has the \
                 right one"
            }
            Self::Full => {
                "the relay has as many connectors as it takes (1000): its operator can revoke some"
            }
        }
    }
}

/// What is to be checked of a call. The costly comparisons are made before the state is changed.
pub(super) fn check_for(
    state: &RelayState,
    request: &SetupRequest,
    rule: Enrolment,
) -> Result<AuthCheck, AuthError> {
    let name = request.connector_name.as_str();
    if let Some(connector) = state.connectors.get(name) {
        return Ok(AuthCheck::Known(connector.password.clone()));
    }
    if state.is_revoked(name) {
        return Err(AuthError::Revoked);
    }
    if state.connectors.len() >= MAX_CONNECTORS {
        return Err(AuthError::Full);
    }
    match (rule, &state.enroll_token, &request.enroll_token) {
        (Enrolment::Open, ..) => Ok(AuthCheck::New),
        (Enrolment::WithToken, _, None) => Err(AuthError::NoToken),
        (Enrolment::WithToken, None, Some(_)) => Err(AuthError::WrongToken),
        (Enrolment::WithToken, Some(kept), Some(_)) => Ok(AuthCheck::NewWithToken(kept.clone())),
    }
}

/// Makes those comparisons. True when the connector is to be enrolled.
pub(super) fn verify(check: &AuthCheck, request: &SetupRequest) -> Result<bool, AuthError> {
    match check {
        AuthCheck::New => Ok(true),
        AuthCheck::Known(password) if password.is(&request.password) => Ok(false),
        AuthCheck::Known(_) => Err(AuthError::WrongPassword),
        AuthCheck::NewWithToken(kept) => match &request.enroll_token {
            Some(token) if kept.is(token) => Ok(true),
            _ => Err(AuthError::WrongToken),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::super::setup_request::tests::with;
    use super::super::state::Connector;
    use super::*;
    use serde_json::json;

    fn connector(password: &str) -> Connector {
        Connector {
            password: SecretHash::of(password),
            api_port: 30_000,
            enrolled_at: String::new(),
            called_at: String::new(),
            caller: Default::default(),
            applications: Vec::new(),
        }
    }

    #[test]
    fn each_way_in_and_each_way_out() {
        let token = "t".repeat(40);
        let mut state = RelayState {
            enroll_token: Some(SecretHash::of(&token)),
            ..RelayState::default()
        };
        state
            .connectors
            .insert("known".into(), connector(&"p".repeat(43)));
        state.connectors.insert("out".into(), connector("whatever"));
        assert!(state.revoke("out", "").is_some() && state.revoke("out", "").is_none());
        let verdict = |changes, rule| {
            let request = with(changes).unwrap();
            check_for(&state, &request, rule).and_then(|check| verify(&check, &request))
        };
        for (changes, rule, expected) in [
            (json!({}), Enrolment::Open, Ok(true)),
            (json!({}), Enrolment::WithToken, Err(AuthError::NoToken)),
            (
                json!({"enroll_token": "x"}),
                Enrolment::WithToken,
                Err(AuthError::WrongToken),
            ),
            (
                json!({"enroll_token": token}),
                Enrolment::WithToken,
                Ok(true),
            ),
            (json!({"enroll_token": "x"}), Enrolment::Open, Ok(true)),
            (
                json!({"connector_name": "known"}),
                Enrolment::WithToken,
                Ok(false),
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
            state.connectors.insert(number.to_string(), one.clone());
        }
        let full = check_for(&state, &with(json!({})).unwrap(), Enrolment::Open);
        assert_eq!(full, Err(AuthError::Full));
        let known = check_for(
            &state,
            &with(json!({"connector_name": "7"})).unwrap(),
            Enrolment::Open,
        );
        assert!(matches!(known, Ok(AuthCheck::Known(_))));
    }
}
