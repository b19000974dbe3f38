//! The fields of a body, one by one.

use crate::net::authority::{MAX_HOST, authority, is_host};
use std::fmt;

use serde_json::{Map, Value};
use zeroize::Zeroizing;

use super::app::AppConfig;
use super::protocol::Protocol;
use crate::manager::server_url::ServerUrl;

/// Characters of a name: it stands on a card.
const NAME_CAP: usize = 100;
/// Characters of a user's or database's name: the longest that a server takes.
const TEXT_CAP: usize = 255;
/// Characters of a password.
const SECRET_CAP: usize = 1024;
/// Characters of a URL.
const URL_CAP: usize = 2048;
/// Where an application is that names no address.
const HERE: &str = "127.0.0.1";

/// Fields that only the server writes; a client may send back what it was shown.
const SERVERS_OWN: [&str; 10] = [
    "id",
    "has_auth_pass",
    "has_db_pass",
    "created_at",
    "updated_at",
    "last_connected_at",
    "temporary",
    "conn_status",
    "health",
    "connection",
];
const FIELDS: [&str; 16] = [
    "name",
    "protocol",
    "ip",
    "port",
    "server",
    "tunnel_port",
    "invisible",
    "site_name",
    "display_name",
    "username",
    "auth_pass",
    "db_user",
    "db_pass",
    "db_name",
    "db_readonly",
    "autoconnect",
];

/// Everything that is wrong, by field.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Invalid(Vec<(String, String)>);

impl Invalid {
    pub(super) fn of(name: &str, why: impl Into<String>) -> Self {
        Self(vec![(name.to_owned(), why.into())])
    }

    /// The fields and what is wrong with each.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, why)| (&**name, &**why))
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self
            .fields()
            .map(|(name, why)| format!("{name} {why}"))
            .collect();
        f.write_str(&lines.join("; "))
    }
}

impl std::error::Error for Invalid {}

/// What becomes of a secret.
pub(super) enum Secret {
    /// It was left out.
    Keep,
    /// It was sent empty.
    Clear,
    /// It was sent.
    Set(Zeroizing<String>),
}

impl Secret {
    /// In place of `old`.
    pub(super) fn over(self, old: Option<Zeroizing<String>>) -> Option<Zeroizing<String>> {
        match self {
            Self::Keep => old,
            Self::Clear => None,
            Self::Set(secret) => Some(secret),
        }
    }
}

/// Makes an application of the fields, without its secrets, which are `auth_pass` and `db_pass`; `insecure` lets a
/// remote server be reached without TLS.
pub(super) fn read(
    fields: &Map<String, Value>,
    insecure: bool,
) -> Result<(AppConfig, Secret, Secret), Invalid> {
    let mut reader = Reader {
        fields,
        problems: Invalid::default(),
    };
    reader.refuse_unknown();
    match reader.application(insecure) {
        Some(read) if reader.problems.0.is_empty() => Ok(read),
        _ => Err(reader.problems),
    }
}

/// Takes the fields one by one and notes what is wrong.
struct Reader<'a> {
    fields: &'a Map<String, Value>,
    problems: Invalid,
}

impl Reader<'_> {
    fn application(&mut self, insecure: bool) -> Option<(AppConfig, Secret, Secret)> {
        let protocol = self.protocol();
        let ip = self.host();
        let port = self.port("port");
        let is_database = protocol.is_some_and(Protocol::is_database);
        let invisible = self.flag("invisible", is_database);
        let app = AppConfig {
            id: String::new(),
            name: self.text("name", NAME_CAP).unwrap_or_default(),
            protocol: protocol.unwrap_or(Protocol::Tcp),
            ip,
            port: self.port_or_default(protocol, port),
            server: self.server(insecure),
            tunnel_port: self.port("tunnel_port"),
            invisible: self.invisible(protocol, invisible),
            site_name: self.site_name(),
            display_name: self.text("display_name", NAME_CAP),
            username: self.text("username", TEXT_CAP),
            auth_pass: None,
            db_user: self.text("db_user", TEXT_CAP),
            db_pass: None,
            db_name: self.text("db_name", TEXT_CAP),
            db_readonly: self.flag("db_readonly", true),
            autoconnect: self.flag("autoconnect", false),
            created_at: String::new(),
            updated_at: String::new(),
            last_connected_at: None,
            temporary: false,
        };
        let (auth_pass, db_pass) = (self.secret("auth_pass"), self.secret("db_pass"));
        protocol.map(|_| (named(app), auth_pass, db_pass))
    }

    fn refuse_unknown(&mut self) {
        let known = |name: &str| FIELDS.contains(&name) || SERVERS_OWN.contains(&name);
        let unknown: Vec<String> = self
            .fields
            .keys()
            .filter(|name| !known(name))
            .cloned()
            .collect();
        for name in unknown {
            let name: String = name.chars().filter(|c| !c.is_control()).take(40).collect();
            self.wrong(&name, "is not a known field");
        }
    }

    fn wrong(&mut self, name: &str, why: impl Into<String>) {
        self.problems.0.push((name.to_owned(), why.into()));
    }

    /// A field that is there; null stands for one that is not.
    fn value(&self, name: &str) -> Option<&Value> {
        self.fields.get(name).filter(|value| !value.is_null())
    }

    /// A text that is neither empty nor long nor holds control characters.
    fn text(&mut self, name: &str, cap: usize) -> Option<String> {
        let value = self.value(name)?;
        let Some(text) = value.as_str() else {
            self.wrong(name, "must be a text");
            return None;
        };
        let text = text.trim().to_owned();
        if text.chars().count() > cap {
            self.wrong(name, format!("must have at most {cap} characters"));
        } else if text.chars().any(char::is_control) {
            self.wrong(name, "must not hold control characters");
        } else {
            return Some(text).filter(|text| !text.is_empty());
        }
        None
    }

    fn flag(&mut self, name: &str, default: bool) -> bool {
        match self.value(name).map(Value::as_bool) {
            Some(Some(flag)) => flag,
            Some(None) => {
                self.wrong(name, "must be true or false");
                default
            }
            None => default,
        }
    }

    fn port(&mut self, name: &str) -> Option<u16> {
        let value = self.value(name)?;
        let port = value.as_u64().and_then(|port| u16::try_from(port).ok());
        if port.is_none_or(|port| port == 0) {
            self.wrong(name, "must be a whole number from 1 to 65535");
            return None;
        }
        port
    }

    fn protocol(&mut self) -> Option<Protocol> {
        let found = match self.value("protocol") {
            Some(value) => value.as_str().and_then(Protocol::named),
            None => None,
        };
        if found.is_none() {
            let known: Vec<&str> = Protocol::ALL.into_iter().map(Protocol::name).collect();
            self.wrong("protocol", format!("must be one of {}", known.join(", ")));
        }
        found
    }

    fn port_or_default(&mut self, protocol: Option<Protocol>, port: Option<u16>) -> u16 {
        let port = port.or_else(|| protocol?.default_port());
        if port.is_none() && protocol.is_some() && self.value("port").is_none() {
            self.wrong("port", "is required for tcp");
        }
        port.unwrap_or_default()
    }

    fn host(&mut self) -> String {
        let host = self.text("ip", MAX_HOST).unwrap_or_else(|| HERE.to_owned());
        let bare = host
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        let host = bare.unwrap_or(&host).to_owned();
        if !is_host(&host) {
            self.wrong("ip", "must be an IP address or a host name");
        }
        host
    }

    fn server(&mut self, insecure: bool) -> Option<String> {
        let text = self.text("server", URL_CAP)?;
        match ServerUrl::parse(&text, insecure) {
            Ok(server) => Some(server.to_string()),
            Err(why) => {
                self.wrong("server", format!("cannot be used: {why}"));
                None
            }
        }
    }

    fn invisible(&mut self, protocol: Option<Protocol>, wanted: bool) -> bool {
        if wanted && protocol.is_some_and(|protocol| !protocol.is_visited_by_http()) {
            self.wrong("invisible", "is for http, https, mysql and mariadb only: other visitors cannot be asked for a code");
        }
        wanted
    }

    fn site_name(&mut self) -> Option<String> {
        let name = self.text("site_name", TEXT_CAP)?;
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_label = (3..=63).contains(&name.len())
            && name.bytes().all(plain)
            && !name.starts_with('-')
            && !name.ends_with('-')
            && !name.contains("--");
        if !is_label {
            self.wrong(
                "site_name",
                "must have 3 to 63 of a-z, 0-9 and -, without - at an end and without --",
            );
        }
        Some(name)
    }

    /// As it is: spaces may belong to a password.
    fn secret(&mut self, name: &str) -> Secret {
        let Some(value) = self.value(name) else {
            return Secret::Keep;
        };
        match value.as_str() {
            Some("") => Secret::Clear,
            Some(text) if text.chars().count() > SECRET_CAP => {
                self.wrong(name, format!("must have at most {SECRET_CAP} characters"));
                Secret::Keep
            }
            // No protocol sends one, and C programs would cut it off there.
            Some(text) if text.contains('\0') => {
                self.wrong(name, "must not hold a NUL character");
                Secret::Keep
            }
            Some(text) => Secret::Set(Zeroizing::new(text.to_owned())),
            None => {
                self.wrong(name, "must be a text");
                Secret::Keep
            }
        }
    }
}

fn named(mut app: AppConfig) -> AppConfig {
    if app.name.is_empty() {
        let name = format!("{} {}", app.protocol.name(), authority(&app.ip, app.port));
        app.name = name.chars().take(NAME_CAP).collect();
    }
    app
}
