//! What a client sends, made into an application: every field is checked, and all wrong ones are named at once.

use std::fmt;
use std::net::Ipv6Addr;
use std::time::SystemTime;

use ring::rand::{SecureRandom, SystemRandom};
use serde_json::{Map, Value};
use zeroize::Zeroizing;

use super::app::{AppConfig, address};
use super::protocol::Protocol;
use super::server_url::ServerUrl;
use crate::vault::time::rfc3339;

/// Characters of a name. Default 100: it stands on a card.
const NAME_CAP: usize = 100;
/// Characters of a user's or database's name. Default 255: the longest that a server takes.
const TEXT_CAP: usize = 255;
/// Characters of a password. Default 1024.
const SECRET_CAP: usize = 1024;
/// Characters of a host (RFC 1035 section 2.3.4).
const HOST_CAP: usize = 253;
/// Characters of a URL.
const URL_CAP: usize = 2048;
/// Where an application is that names no address.
const HERE: &str = "127.0.0.1";

/// Fields that only the server writes; a client may send back what it was shown.
const SERVERS_OWN: [&str; 8] = [
    "id",
    "has_auth_pass",
    "has_db_pass",
    "created_at",
    "updated_at",
    "last_connected_at",
    "conn_status",
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

/// A checked application that has no identifier yet.
pub struct Draft {
    app: AppConfig,
    auth_pass: Secret,
    db_pass: Secret,
}

/// What becomes of a secret.
enum Secret {
    /// It was left out.
    Keep,
    /// It was sent empty.
    Clear,
    /// It was sent.
    Set(Zeroizing<String>),
}

/// The system gives no random bytes.
#[derive(Debug)]
pub struct NoRandom;

/// Everything that is wrong, by field.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Invalid(Vec<(String, String)>);

impl Invalid {
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

impl Draft {
    /// Reads a body; `insecure` lets a remote server be reached without TLS.
    pub fn parse(body: &Value, insecure: bool) -> Result<Self, Invalid> {
        let Some(fields) = body.as_object() else {
            return Err(Invalid(vec![(
                "body".into(),
                "must be a JSON object".into(),
            )]));
        };
        let mut reader = Reader {
            fields,
            problems: Invalid::default(),
        };
        reader.refuse_unknown();
        let draft = reader.draft(insecure);
        match draft {
            Some(draft) if reader.problems.0.is_empty() => Ok(draft),
            _ => Err(reader.problems),
        }
    }

    /// A new application.
    pub fn into_new(self) -> Result<AppConfig, NoRandom> {
        let now = rfc3339(SystemTime::now());
        Ok(AppConfig {
            id: new_id()?,
            auth_pass: self.auth_pass.over(None),
            db_pass: self.db_pass.over(None),
            created_at: now.clone(),
            updated_at: now,
            ..self.app
        })
    }

    /// The application in place of `old`.
    pub fn replacing(self, old: &AppConfig) -> AppConfig {
        AppConfig {
            id: old.id.clone(),
            auth_pass: self.auth_pass.over(old.auth_pass.clone()),
            db_pass: self.db_pass.over(old.db_pass.clone()),
            created_at: old.created_at.clone(),
            updated_at: rfc3339(SystemTime::now()),
            last_connected_at: old.last_connected_at.clone(),
            ..self.app
        }
    }
}

impl Secret {
    fn over(self, old: Option<Zeroizing<String>>) -> Option<Zeroizing<String>> {
        match self {
            Self::Keep => old,
            Self::Clear => None,
            Self::Set(secret) => Some(secret),
        }
    }
}

fn new_id() -> Result<String, NoRandom> {
    let mut bytes = [0; 8];
    SystemRandom::new().fill(&mut bytes).map_err(|_| NoRandom)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Takes the fields one by one and notes what is wrong.
struct Reader<'a> {
    fields: &'a Map<String, Value>,
    problems: Invalid,
}

impl Reader<'_> {
    fn draft(&mut self, insecure: bool) -> Option<Draft> {
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
        };
        let (auth_pass, db_pass) = (self.secret("auth_pass"), self.secret("db_pass"));
        protocol.map(|_| Draft {
            app: named(app),
            auth_pass,
            db_pass,
        })
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
        let host = self.text("ip", HOST_CAP).unwrap_or_else(|| HERE.to_owned());
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
        let name = format!("{} {}", app.protocol.name(), address(&app.ip, app.port));
        app.name = name.chars().take(NAME_CAP).collect();
    }
    app
}

/// An IP address, or a name of letters, digits, `-`, `_` and `.`.
fn is_host(host: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(plain)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    host.parse::<Ipv6Addr>().is_ok()
        || host
            .strip_suffix('.')
            .unwrap_or(host)
            .split('.')
            .all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn app(body: &Value) -> AppConfig {
        Draft::parse(body, false).unwrap().into_new().unwrap()
    }

    fn wrong(body: &Value) -> Vec<String> {
        let invalid = Draft::parse(body, false).err().expect("it is refused");
        invalid.fields().map(|(name, _)| name.to_owned()).collect()
    }

    #[test]
    fn defaults_follow_the_protocol() {
        for (protocol, port, invisible) in [
            ("http", 80, false),
            ("https", 443, false),
            ("ssh", 22, false),
            ("rdp", 3389, false),
            ("vnc", 5900, false),
            ("telnet", 23, false),
            ("mysql", 3306, true),
            ("mariadb", 3306, true),
        ] {
            let app = app(&json!({"protocol": protocol}));
            assert_eq!((app.port, app.invisible), (port, invisible), "{protocol}");
            assert_eq!(app.name, format!("{protocol} 127.0.0.1:{port}"));
            assert!(app.db_readonly && !app.autoconnect);
            assert_eq!(app.id.len(), 16);
            assert!(app.id.bytes().all(|b| b.is_ascii_hexdigit()));
        }
        assert_eq!(wrong(&json!({"protocol": "tcp"})), ["port"]);
        assert_eq!(app(&json!({"protocol": "tcp", "port": 1})).port, 1);
    }

    #[test]
    fn all_wrong_fields_are_named_at_once() {
        let body = json!({"protocol": "gopher", "port": 70000, "ip": "a b", "site_name": "-x",
            "tunnel_port": 0, "db_readonly": "yes", "name": 7, "db_user": "a\u{7}", "colour": "red",
            "auth_pass": 1, "server": "ftp://x", "id": "ignored", "has_db_pass": true});
        let mut names = wrong(&body);
        names.sort();
        let expected = [
            "auth_pass",
            "colour",
            "db_readonly",
            "db_user",
            "ip",
            "name",
            "port",
            "protocol",
            "server",
            "site_name",
            "tunnel_port",
        ];
        assert_eq!(names, expected);
        for body in [json!([]), json!(null), json!("x"), json!(1)] {
            assert_eq!(wrong(&body), ["body"]);
        }
    }

    #[test]
    fn invisible_is_for_browsers() {
        for protocol in ["tcp", "ssh", "rdp", "vnc", "telnet"] {
            let body = json!({"protocol": protocol, "port": 1, "invisible": true});
            assert_eq!(wrong(&body), ["invisible"], "{protocol}");
        }
        assert!(app(&json!({"protocol": "https", "invisible": true})).invisible);
        assert!(!app(&json!({"protocol": "mysql", "invisible": false})).invisible);
    }

    #[test]
    fn hosts_and_site_names() {
        for host in ["10.0.0.1", "::1", "[::1]", "db", "db.example.", "a_b-c.d"] {
            app(&json!({"protocol": "http", "ip": host}));
        }
        for host in [
            "http://a", "a/b", "a:1", "-a", "a-", "a..b", "[::1", "%00", "a\u{e4}",
        ] {
            assert_eq!(
                wrong(&json!({"protocol": "http", "ip": host})),
                ["ip"],
                "{host}"
            );
        }
        for name in ["abc", "a-b", "0-9", &"a".repeat(63)] {
            app(&json!({"protocol": "http", "site_name": name}));
        }
        for name in ["ab", "-abc", "abc-", "a--b", "Abc", "a.b", &"a".repeat(64)] {
            assert_eq!(
                wrong(&json!({"protocol": "http", "site_name": name})),
                ["site_name"],
                "{name}"
            );
        }
    }

    #[test]
    fn a_secret_is_kept_cleared_or_set() {
        let old = app(&json!({"protocol": "mysql", "db_pass": "old", "auth_pass": "old"}));
        let put = |body| Draft::parse(&body, false).unwrap().replacing(&old);
        let secret = |app: &AppConfig| app.db_pass.as_ref().map(|s| s.to_string());
        let kept = put(json!({"protocol": "mysql", "name": "new"}));
        assert_eq!(
            (secret(&kept).as_deref(), kept.name.as_str()),
            (Some("old"), "new")
        );
        assert_eq!((&kept.id, &kept.created_at), (&old.id, &old.created_at));
        assert_eq!(
            secret(&put(json!({"protocol": "mysql", "db_pass": null}))).as_deref(),
            Some("old")
        );
        assert_eq!(
            secret(&put(json!({"protocol": "mysql", "db_pass": ""}))),
            None
        );
        assert_eq!(
            secret(&put(json!({"protocol": "mysql", "db_pass": " x "}))).as_deref(),
            Some(" x ")
        );
        let none = put(json!({"protocol": "mysql"}));
        assert_eq!(none.db_user, None, "what is no secret is replaced");
    }

    #[test]
    fn an_unknown_name_is_fit_for_the_answer() {
        let name = format!("\u{1b}[31m{}", "x".repeat(1000));
        let invalid = Draft::parse(&json!({"protocol": "http", &*name: 1}), false)
            .err()
            .unwrap();
        let text = invalid.to_string();
        assert!(text.len() < 100 && !text.contains('\u{1b}'), "{text:?}");
    }
}
