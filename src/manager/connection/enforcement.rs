//! Decides who enforces the owner's settings: the server, or this end of the tunnel. Pure.
//!
//! | asked for | a relay of ours | another server |
//! |---|---|---|
//! | a code of `http`, `https` | the relay, where it says so, else this end | this end, with the server's own code where it gave one |
//! | a code of a database | its web client | its web client, the same |
//! | networks | the relay, where it says so | nobody: no connection |
//! | an end | both | this end |
//! | a Host | this end | this end |

use zeroize::Zeroizing;

use super::error::ConnectError;
use crate::api::ErrorClass;
use crate::manager::apps::app::AppConfig;
use crate::manager::quick_setup::Setup;

/// Settings that this end enforces, by the server's answer.
pub(crate) struct Enforcement {
    /// Code that visitors need; none for a public application.
    pub(crate) code: Option<Zeroizing<String>>,
    /// True if this end asks for it.
    pub(crate) asks_here: bool,
    /// Link with the code, for the owner; empty if there is none. A secret.
    pub(crate) auth_url: String,
    /// Number of the sign-ins: those made under another number are invalid.
    pub(crate) generation: u64,
    /// True if visitors come through one of our relays, whose origins can be trusted.
    pub(crate) says_origins: bool,
}

impl Enforcement {
    /// Decides by a server's answer to a call for `app`; an error if nobody can enforce a setting.
    pub(crate) fn of(app: &AppConfig, setup: &Setup) -> Result<Self, ConnectError> {
        if app.allow.is_empty() || setup.has_in_force("allow") {
            Self::at_home(app, setup)
        } else {
            Err(not_enforced())
        }
    }

    /// Returns the part that this end enforces, whatever the server enforces.
    pub(super) fn at_home(app: &AppConfig, setup: &Setup) -> Result<Self, ConnectError> {
        let nothing = Self {
            code: None,
            asks_here: false,
            auth_url: String::new(),
            generation: app.signed_out,
            says_origins: setup.is_of_relay(),
        };
        if !app.invisible {
            return Ok(nothing);
        }
        let (code, auth_url) = code(app, setup).ok_or_else(|| {
            ConnectError::local("this application's code is missing: connect again")
        })?;
        Ok(Self {
            asks_here: app.protocol.is_database() || !setup.has_in_force("code"),
            auth_url: auth_url.unwrap_or_default(),
            code: Some(code),
            ..nothing
        })
    }
}

fn not_enforced() -> ConnectError {
    let why = "the relay cannot limit visitors to networks";
    ConnectError::new(ErrorClass::NotEnforced, why)
        .refused(true)
        .hint("connect it through a postern relay, or allow every network")
}

/// Returns the code, and the link that contains it.
fn code(app: &AppConfig, setup: &Setup) -> Option<(Zeroizing<String>, Option<String>)> {
    if setup.is_of_relay() {
        let code = app.code.clone()?;
        // Below the site's own address, whatever the answer names: no other server may learn the code.
        let url = setup.own_auth_url(&code);
        return Some((code, url));
    }
    let theirs = &setup.api_key.code;
    if !theirs.is_empty() {
        return Some((theirs.clone(), setup.auth_url()));
    }
    let code = app.code.clone()?;
    let url = setup.own_auth_url(&code);
    Some((code, url))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manager::apps::app_input::AppInput;
    use serde_json::{Value, json};

    fn app(changes: Value) -> AppConfig {
        let mut body = json!({"protocol": "http", "invisible": true});
        body.as_object_mut()
            .unwrap()
            .extend(changes.as_object().unwrap().clone());
        let mut app = AppInput::parse(&body, true).unwrap().into_new();
        app.code = Some("own".to_owned().into());
        app
    }

    /// Answer of one of our servers that enforces these.
    fn setup(in_force: Option<&[&str]>, code: &str) -> Setup {
        let mut answer = json!({
            "connector": {"external_ip": "a.example", "api_port": 1, "username": "u", "password": "p"},
            "app": {"app_id": "app", "site_url": "http://shop.a.example/", "resource": {"port": 2}},
            "api_key": {"nhp_server": "http://shop.a.example/.postern", "code": code},
        });
        if let Some(in_force) = in_force {
            answer["app"]["in_force"] = json!(in_force);
        }
        Setup::read(answer.to_string().as_bytes()).unwrap()
    }

    fn held(app: &AppConfig, setup: &Setup) -> (Option<String>, bool, String) {
        let held = Enforcement::of(app, setup).unwrap();
        let code = held.code.map(|code| code.to_string());
        (code, held.asks_here, held.auth_url)
    }

    #[test]
    fn a_code_is_asked_for_by_one_of_the_two_ends() {
        let own = "http://shop.a.example/.postern/auth?app_id=app&code=own".to_owned();
        let theirs = own.replace("=own", "=theirs");
        let by = |app: Value, in_force: Option<&[&str]>, code: &str| {
            held(&self::app(app), &setup(in_force, code))
        };
        let (http, db) = (json!({}), json!({"protocol": "mysql"}));
        let open = json!({"invisible": false});
        let none = (None, false, String::new());
        assert_eq!(by(open.clone(), Some(&["code"]), ""), none);
        assert_eq!(by(open, None, "theirs"), none);
        let ours = |asks_here| (Some("own".to_owned()), asks_here, own.clone());
        assert_eq!(by(http.clone(), Some(&["code"]), ""), ours(false));
        assert_eq!(by(http.clone(), Some(&[]), ""), ours(true));
        assert_eq!(by(db.clone(), Some(&[]), ""), ours(true));
        assert_eq!(by(http.clone(), None, ""), ours(true));
        let of_server = (Some("theirs".to_owned()), true, theirs);
        assert_eq!(by(http, None, "theirs"), of_server);
        assert_eq!(by(db, None, "theirs"), of_server);
    }

    #[test]
    fn what_nobody_sees_to_is_not_connected() {
        let app = app(json!({"allow": ["192.0.2.0/24"]}));
        for in_force in [None, Some(&["code"][..])] {
            let refused = Enforcement::of(&app, &setup(in_force, "")).err().unwrap();
            assert!(refused.is_refusal && !refused.hint.is_empty());
        }
        assert!(Enforcement::of(&app, &setup(Some(&["code", "allow"]), "")).is_ok());
    }
}
