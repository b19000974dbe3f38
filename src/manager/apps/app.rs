//! An application, as it is stored and as the API shows it. What a client sends becomes one by
//! [`AppInput`](super::app_input::AppInput).

use crate::api::App;
use crate::net::authority::authority;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::protocol::Protocol;
use super::sharing::Sharing;

/// One application of the user.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppConfig {
    /// 16 hexadecimal digits, made here.
    pub id: String,
    /// Name given by the user.
    pub name: String,
    /// Protocol.
    pub protocol: Protocol,
    /// Its address or host name; an IPv6 address has no brackets.
    pub ip: String,
    /// Its port, never 0.
    pub port: u16,
    /// The remote server's URL, where it is not the one of all.
    #[serde(default)]
    pub server: Option<String>,
    /// Where it names no server: the URL of the one that it was connected through last, with which it stays.
    #[serde(default)]
    pub used_server: Option<String>,
    /// The tunnel server's port, where it is not what the remote server says.
    #[serde(default)]
    pub tunnel_port: Option<u16>,
    /// True if visitors need the authorization code.
    #[serde(default)]
    pub invisible: bool,
    /// The wished first label of the site's name.
    #[serde(default)]
    pub site_name: Option<String>,
    /// Name at the remote server.
    #[serde(default)]
    pub display_name: Option<String>,
    /// A user name of the application, for the user's own notes.
    #[serde(default)]
    pub username: Option<String>,
    /// Its password.
    #[serde(default)]
    pub auth_pass: Option<Zeroizing<String>>,
    /// The database user.
    #[serde(default)]
    pub db_user: Option<String>,
    /// The database user's password.
    #[serde(default)]
    pub db_pass: Option<Zeroizing<String>>,
    /// The database to begin with.
    #[serde(default)]
    pub db_name: Option<String>,
    /// True if the web client refuses every statement that could write.
    #[serde(default = "yes")]
    pub db_readonly: bool,
    /// True if it is connected when the program starts.
    #[serde(default)]
    pub autoconnect: bool,
    /// For whom, for how long and how it is shared.
    #[serde(flatten)]
    pub sharing: Sharing,
    /// The code of an invisible one, made at its first need; stable until it is renewed.
    #[serde(default)]
    pub code: Option<Zeroizing<String>>,
    /// The end that has come, of those that it was given: it is over until it is given another.
    #[serde(default)]
    pub lapsed: Option<String>,
    /// Site name used if its name is not usable; chosen when it was added.
    #[serde(default)]
    pub site_words: Option<String>,
    /// How often everybody was signed out: another number ends all sign-ins and open streams.
    #[serde(default)]
    pub signed_out: u64,
    /// RFC 3339, in UTC, as the two that follow.
    #[serde(default)]
    pub created_at: String,
    /// When it was last changed by the user.
    #[serde(default)]
    pub updated_at: String,
    /// When it was last connected.
    #[serde(default)]
    pub last_connected_at: Option<String>,
    /// True if it lasts as long as the command that shares it; it is never stored.
    #[serde(skip)]
    pub temporary: bool,
    /// True if its site must have the wished name: said with a connect, and never stored.
    #[serde(skip)]
    pub site_name_required: bool,
}

fn yes() -> bool {
    true
}

impl AppConfig {
    /// As answers show it, without its connection: a bool stands for each secret.
    pub(crate) fn shown(&self) -> App {
        let own = self.clone();
        let sharing = own.sharing;
        App {
            id: own.id,
            name: own.name,
            protocol: own.protocol,
            ip: own.ip,
            port: own.port,
            server: own.server,
            tunnel_port: own.tunnel_port,
            invisible: own.invisible,
            site_name: own.site_name,
            display_name: own.display_name,
            username: own.username,
            has_auth_pass: own.auth_pass.is_some(),
            db_user: own.db_user,
            has_db_pass: own.db_pass.is_some(),
            db_name: own.db_name,
            db_readonly: own.db_readonly,
            autoconnect: own.autoconnect,
            host_header: sharing.host_header,
            allow: sharing.allow,
            expires: sharing.expires,
            path: sharing.path,
            group: sharing.group,
            max_streams: sharing.max_streams,
            audit: sharing.audit,
            record_sql: sharing.record_sql,
            guest: sharing.guest,
            created_at: own.created_at,
            updated_at: own.updated_at,
            last_connected_at: own.last_connected_at,
            temporary: own.temporary,
            conn_status: None,
            health: None,
            connection: None,
        }
    }

    /// [`AppConfig::shown`] as JSON.
    pub fn to_json(&self) -> Value {
        json!(self.shown())
    }

    /// True if a connection made from this one differs from one made from `other`.
    pub fn differs_in_force(&self, other: &Self) -> bool {
        self.in_force() != other.in_force()
    }

    /// Settings that a connection uses: the rest is for the user, or for another protocol.
    fn in_force(&self) -> Self {
        let called = self.display_name.as_ref().unwrap_or(&self.name).clone();
        let mut kept = Self {
            name: String::new(),
            display_name: Some(called),
            username: None,
            auth_pass: None,
            autoconnect: false,
            server: self.server.clone().or_else(|| self.used_server.clone()),
            used_server: None,
            sharing: self.sharing.in_force(),
            code: None,
            lapsed: None,
            site_words: None,
            site_name_required: false,
            signed_out: 0,
            created_at: String::new(),
            updated_at: String::new(),
            last_connected_at: None,
            ..self.clone()
        };
        if !self.protocol.is_database() {
            (kept.db_user, kept.db_pass, kept.db_name) = (None, None, None);
            kept.db_readonly = true;
            kept.sharing.guest.clear();
        }
        kept
    }

    /// This one, with what of `saved` holds for a running connection at once.
    pub fn with_terms_of(&self, saved: &Self) -> Self {
        let mut terms = self.clone();
        terms.sharing.expires.clone_from(&saved.sharing.expires);
        terms.sharing.allow.clone_from(&saved.sharing.allow);
        (terms.code, terms.signed_out) = (saved.code.clone(), saved.signed_out);
        terms
    }

    /// True if the settings that apply at once are the same.
    pub fn has_terms_of(&self, other: &Self) -> bool {
        self.admits_as(other) && self.sharing.expires == other.sharing.expires
    }

    /// True if the same visitors are admitted, and current ones stay.
    pub fn admits_as(&self, other: &Self) -> bool {
        let terms = |app: &Self| (app.sharing.allow.clone(), app.code.clone(), app.signed_out);
        terms(self) == terms(other)
    }

    /// True if it has expired.
    pub fn has_lapsed(&self) -> bool {
        self.lapsed.is_some() && self.lapsed == self.sharing.expires
    }

    /// `host:port`, with brackets around an IPv6 address.
    pub fn address(&self) -> String {
        authority(&self.ip, self.port)
    }
}

/// Shows no secret.
impl fmt::Debug for AppConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AppConfig({})", self.to_json())
    }
}

#[cfg(test)]
mod tests {
    use super::super::app_input::AppInput;
    use super::*;

    #[test]
    fn no_secret_is_shown_or_debugged() {
        let body = json!({"protocol": "mysql", "auth_pass": "hunter2", "db_pass": "hunter2"});
        let app = AppInput::parse(&body, true).unwrap().into_new().unwrap();
        let shown = app.to_json().to_string();
        assert!(!shown.contains("hunter2") && !format!("{app:?}").contains("hunter2"));
        assert!(shown.contains("\"has_db_pass\":true") && shown.contains("\"has_auth_pass\":true"));
    }

    #[test]
    fn what_a_connection_is_made_of_is_told_from_notes() {
        let app = |body: Value| AppInput::parse(&body, true).unwrap().into_new().unwrap();
        let of = |protocol: &str, name: &str, value: Value| {
            let mut body = json!({"protocol": protocol, "port": 1, "name": "n"});
            body[name] = value;
            app(body)
        };
        for (protocol, name, value, differs) in [
            ("mysql", "ip", json!("10.0.0.1"), true),
            ("mysql", "db_readonly", json!(false), true),
            ("mysql", "db_pass", json!("p"), true),
            ("http", "invisible", json!(true), true),
            ("http", "server", json!("http://127.0.0.1:1"), true),
            ("http", "site_name", json!("shop"), true),
            ("http", "name", json!("other"), true),
            ("http", "db_readonly", json!(false), false),
            ("ssh", "username", json!("u"), false),
            ("ssh", "auth_pass", json!("p"), false),
            ("ssh", "autoconnect", json!(true), false),
            ("http", "host_header", json!("target"), true),
            ("mysql", "guest", json!(["shop.*"]), true),
            ("http", "guest", json!(["shop.*"]), false),
            ("http", "expires", json!("2030-01-01T00:00:00Z"), false),
            ("http", "allow", json!(["127.0.0.0/8"]), false),
            ("http", "group", json!("g"), false),
        ] {
            let before = of(protocol, "name", json!("n"));
            let mut after = of(protocol, name, value);
            after.id.clone_from(&before.id);
            assert_eq!(
                after.differs_in_force(&before),
                differs,
                "{protocol} {name}"
            );
        }
    }

    #[test]
    fn what_is_stored_reads_back() {
        let body = json!({"protocol": "mysql", "db_pass": "s", "site_name": "a-b", "ip": "::1"});
        let app = AppInput::parse(&body, true).unwrap().into_new().unwrap();
        let stored = serde_json::to_vec(&app).unwrap();
        assert_eq!(serde_json::from_slice::<AppConfig>(&stored).unwrap(), app);
        assert_eq!(app.address(), "[::1]:3306");
    }
}
