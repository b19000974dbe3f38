//! An application as it is stored and as the API shows it, and the name of its site. A client's input becomes one by
//! [`AppInput`](super::app_input::AppInput).

use std::fmt;
use std::net::IpAddr;

use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::fields::{Effect, FIELDS, Field, Kind, Uses};
use super::protocol::Protocol;
use crate::api::App;
use crate::limits::APP_NAME;
use crate::net::authority::{authority, split};
use crate::relay::names;
use crate::store::expiry::{Clocks, Expiry};
use crate::store::{Ends, from_json, random};

pub use super::fields::AppConfig;

/// First words of generated site names. Two words and a number can be read out over a telephone.
const FIRST: [&str; 32] = [
    "amber", "bold", "brave", "bright", "calm", "clear", "clever", "cool", "coral", "early",
    "fair", "fresh", "gentle", "golden", "green", "happy", "jolly", "keen", "kind", "light",
    "lucky", "merry", "neat", "noble", "quick", "quiet", "silver", "smart", "sunny", "swift",
    "warm", "wise",
];
/// Second words of generated site names.
const SECOND: [&str; 32] = [
    "badger", "beaver", "cedar", "comet", "crane", "dolphin", "eagle", "falcon", "fern", "finch",
    "fox", "harbour", "hare", "heron", "lake", "lynx", "maple", "meadow", "otter", "owl", "panda",
    "pine", "raven", "river", "robin", "seal", "spruce", "swan", "tiger", "trout", "willow",
    "wren",
];
/// Count of numbers after the words, from 100 on.
const NUMBERS: u64 = 900;

impl AppConfig {
    /// Returns it for answers, without its connection and with a bool in place of each secret.
    pub(crate) fn shown(&self) -> App {
        from_json(&self.to_json()).expect("it has the members of an application")
    }

    /// [`AppConfig::shown`] as JSON, by the table of fields.
    pub fn to_json(&self) -> Value {
        let mut shown = json!({
            "id": self.id,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
            "last_connected_at": self.last_connected_at,
            "temporary": self.temporary,
        });
        let members = shown.as_object_mut().expect("it was made as an object");
        let open = FIELDS.iter().filter(|field| field.kind != Kind::Secret);
        members.extend(open.map(|field| (field.name.to_owned(), self.value(field))));
        for (name, secret) in self.secrets() {
            members.insert(format!("has_{name}"), secret.is_some().into());
        }
        shown
    }

    /// The fields that are secret.
    pub fn secrets(&self) -> [(&'static str, Option<&str>); 2] {
        [
            ("auth_pass", text(&self.auth_pass)),
            ("db_pass", text(&self.db_pass)),
        ]
    }

    /// True if a connection made from this one differs from one made from `other`.
    pub fn differs_in_force(&self, other: &Self) -> bool {
        let counts = |field: &&Field| {
            field.effect == Effect::NextConnect
                && (field.uses != Uses::Databases || self.protocol.is_database())
        };
        let mut counting = FIELDS.iter().filter(counts);
        self.called() != other.called()
            || self.connects_through() != other.connects_through()
            || counting.any(|field| self.differs(field, other))
    }

    /// Name at the server.
    pub fn called(&self) -> &str {
        self.display_name.as_ref().unwrap_or(&self.name)
    }

    /// Server that it names, or stays with.
    fn connects_through(&self) -> Option<&String> {
        self.server.as_ref().or(self.used_server.as_ref())
    }

    /// Returns this one with the settings of `saved` that apply to a running connection at once.
    pub fn with_terms_of(&self, saved: &Self) -> Self {
        let mut terms = self.clone();
        for field in FIELDS.iter().filter(|field| field.effect == Effect::AtOnce) {
            terms.take(field, saved);
        }
        (terms.code, terms.signed_out) = (saved.code.clone(), saved.signed_out);
        terms
    }

    /// True if the settings that apply at once are the same.
    pub fn has_same_terms(&self, other: &Self) -> bool {
        let mut terms = FIELDS.iter().filter(|field| field.effect == Effect::AtOnce);
        self.admits_as(other) && !terms.any(|field| self.differs(field, other))
    }

    /// True if the same visitors are admitted, and current ones stay.
    pub fn admits_as(&self, other: &Self) -> bool {
        let terms = |app: &Self| (app.allow.clone(), app.code.clone(), app.signed_out);
        terms(self) == terms(other)
    }

    /// True if its end was noted as passed, whatever the clock says now.
    pub(crate) fn is_noted_as_expired(&self) -> bool {
        self.expired.is_some() && self.expired == self.expires
    }

    /// End time; `None` without one.
    pub(crate) fn expiry(&self, ends: &Ends, now: Clocks) -> Option<Expiry> {
        Some(ends.at(&self.id, self.expires.as_ref()?, now))
    }

    /// True if it has expired, also if an earlier process saw its end.
    pub(crate) fn has_expired(&self, ends: &Ends) -> bool {
        let now = Clocks::now();
        let is_over = |expiry: Expiry| expiry.is_over(now);
        self.is_noted_as_expired() || self.expiry(ends, now).is_some_and(is_over)
    }

    /// `host:port`, with brackets around an IPv6 address.
    pub fn address(&self) -> String {
        authority(&self.ip, self.port)
    }

    /// Name of an application without a given one: its address, with a number if several share it.
    pub(super) fn default_name(&self, number: usize) -> String {
        let name = format!("{} {}", self.protocol.name(), self.address());
        let suffix = match number {
            1 => String::new(),
            number => format!(" ({number})"),
        };
        let room = APP_NAME - suffix.len();
        name.chars().take(room).collect::<String>() + &suffix
    }
}

fn text(secret: &Option<Zeroizing<String>>) -> Option<&str> {
    secret.as_deref().map(String::as_str)
}

/// True if this name is an address, the application's own or a former one.
pub(super) fn is_default_name(called: &str) -> bool {
    let Some((protocol, rest)) = called.split_once(' ') else {
        return false;
    };
    let address = rest.split_once(" (").map_or(rest, |(address, _)| address);
    Protocol::named(protocol).is_some() && split(address).is_some_and(|(_, port)| port.is_some())
}

/// Shows no secret.
impl fmt::Debug for AppConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AppConfig({})", self.to_json())
    }
}

/// Draws a site name: two words and three digits.
pub(super) fn draw_site_words() -> String {
    site_words(random::bytes())
}

/// Derives a site name from a text, which it does not reveal.
pub(super) fn site_words_of(text: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, format!("site {text}").as_bytes());
    let bytes = digest.as_ref().first_chunk();
    site_words(*bytes.expect("a SHA-256 digest has 32 bytes"))
}

fn site_words([first, second, number @ ..]: [u8; 10]) -> String {
    let number = u64::from_be_bytes(number) % NUMBERS + 100;
    let word = |words: [&'static str; 32], drawn: u8| {
        let at = usize::from(drawn) % words.len();
        words.get(at).copied().expect("it is below their count")
    };
    format!("{}-{}-{number}", word(FIRST, first), word(SECOND, second))
}

/// Returns the site name to ask the server for; without one, the server makes a name from the application's.
pub fn site_wish(app: &AppConfig) -> Option<String> {
    if app.site_name.is_some() {
        return app.site_name.clone();
    }
    // An application from an earlier version has no words and keeps its name.
    let words = app.site_words.as_ref()?;
    let called = app.called();
    let label = names::label(called);
    if is_default_name(called) || label.is_empty() {
        return Some(words.clone());
    }
    let is_fine = names::check(&label).is_ok();
    let longer = (!is_fine).then(|| format!("{label}-{words}"))?;
    // A reserved word stays invalid with a suffix.
    Some(names::check(&longer).map_or_else(|_| words.clone(), |()| longer))
}

/// Returns the preferred site name if the site at this address has another one.
pub fn another_name(app: &AppConfig, site_url: &str) -> Option<String> {
    let called = app.called();
    let chosen = || Some(names::label(called)).filter(|_| !is_default_name(called));
    let fine = || chosen().filter(|label| names::check(label).is_ok());
    let wanted = app.site_name.clone().or_else(fine)?;
    let rest = site_url
        .strip_prefix("https://")
        .or(site_url.strip_prefix("http://"))?;
    let host = rest.split(['/', ':']).next()?;
    let (name, _) = host.split_once('.')?;
    (name != wanted && host.parse::<IpAddr>().is_err()).then_some(wanted)
}

#[cfg(test)]
mod tests {
    use super::super::app_input::AppInput;
    use super::*;
    use crate::store::time::rfc3339;
    use serde_json::{Value, json};
    use std::time::{Duration, SystemTime};

    #[test]
    fn no_secret_is_shown_or_debugged() {
        let body = json!({"protocol": "mysql", "auth_pass": "hunter2", "db_pass": "hunter2"});
        let app = AppInput::parse(&body, true).unwrap().into_new();
        let shown = app.to_json().to_string();
        assert!(!shown.contains("hunter2") && !format!("{app:?}").contains("hunter2"));
        assert!(shown.contains("\"has_db_pass\":true") && shown.contains("\"has_auth_pass\":true"));
    }

    #[test]
    fn an_answer_has_every_field_of_the_table() {
        let body = json!({"protocol": "mysql", "note": "n", "db_pass": "p"});
        let app = AppInput::parse(&body, true).unwrap().into_new();
        assert_eq!(json!(app.shown()), app.to_json());
    }

    #[test]
    fn what_a_connection_is_made_of_is_told_from_notes() {
        let app = |body: Value| AppInput::parse(&body, true).unwrap().into_new();
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

    /// The clock of a later process does not matter.
    #[test]
    fn what_has_expired_stays_over_until_it_is_prolonged() {
        let (ends, hour) = (Ends::default(), Duration::from_secs(3600));
        let end = |after| rfc3339(SystemTime::now() + after);
        let body = json!({"protocol": "http", "expires": end(hour)});
        let mut app = AppInput::parse(&body, true).unwrap().into_new();
        assert!(!app.has_expired(&ends));
        app.expired.clone_from(&app.expires);
        assert!(app.has_expired(&ends));
        app.expires = Some(end(2 * hour));
        assert!(!app.has_expired(&ends));
        app.expires = None;
        assert!(!app.has_expired(&ends) && app.expiry(&ends, Clocks::now()).is_none());
    }

    #[test]
    fn what_is_stored_reads_back() {
        let body = json!({"protocol": "mysql", "db_pass": "s", "site_name": "a-b", "ip": "::1"});
        let app = AppInput::parse(&body, true).unwrap().into_new();
        let stored = serde_json::to_vec(&app).unwrap();
        assert_eq!(serde_json::from_slice::<AppConfig>(&stored).unwrap(), app);
        assert_eq!(app.address(), "[::1]:3306");
    }

    fn app(body: Value) -> AppConfig {
        AppInput::parse(&body, true).unwrap().into_new()
    }

    #[test]
    fn what_is_drawn_is_a_name_and_another_one_each_time() {
        let drawn: std::collections::BTreeSet<String> =
            (0..50).map(|_| draw_site_words()).collect();
        assert!(drawn.len() > 45);
        for name in drawn {
            assert_eq!(names::check(&name), Ok(()), "{name}");
        }
    }

    #[test]
    fn a_share_has_the_same_words_at_each_run() {
        let words = |id| {
            let body = json!({"protocol": "http", "ip": "127.0.0.1", "port": 80, "name": "a"});
            let app = AppInput::parse(&body, true).unwrap().into_temporary(id);
            app.site_words
        };
        assert_eq!(words("0123"), words("0123"));
        assert_ne!(words("0123"), words("0124"));
        assert_eq!(names::check(&words("0123").unwrap()), Ok(()));
    }

    #[test]
    fn no_site_is_called_by_its_address_and_every_wish_is_a_name() {
        for (changes, expected) in [
            (json!({}), Some("W")),
            (json!({"name": "My shop"}), None),
            (json!({"name": "a"}), Some("a-W")),
            (json!({"name": "admin"}), Some("W")),
            (json!({"name": "api"}), Some("api-W")),
            (json!({"name": "日本"}), Some("W")),
            (json!({"display_name": "http 10.1.2.3:3000"}), Some("W")),
            (json!({"name": "https [::1]:443 (2)"}), Some("W")),
            (json!({"name": "http status"}), None),
            (json!({"name": "a", "display_name": "Shop"}), None),
            (json!({"name": "a", "site_name": "shop"}), Some("shop")),
        ] {
            let mut body = json!({"protocol": "http", "ip": "10.1.2.3", "port": 3000});
            body.as_object_mut()
                .unwrap()
                .extend(changes.as_object().unwrap().clone());
            let app = app(body);
            let words = app.site_words.clone().unwrap();
            let wish = site_wish(&app);
            assert!(wish.as_ref().is_none_or(|wish| names::check(wish).is_ok()));
            let wish = wish.map(|wish| wish.replace(&words, "W"));
            assert_eq!(wish.as_deref(), expected, "{changes}");
            let before = AppConfig {
                site_words: None,
                ..app
            };
            assert_eq!(site_wish(&before), before.site_name, "it keeps what it has");
        }
    }
}
