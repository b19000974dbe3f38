//! Input of a client, converted to an application: every field is checked, and all wrong ones are named at once.

use std::time::SystemTime;

use serde_json::Value;

use super::app::{self, AppConfig};
use super::fields::{FIELDS, Field, Kind};
use super::reader;
pub use super::reader::Invalid;
use crate::store::time::rfc3339;
use crate::store::{from_json, random};

/// A checked application that has no identifier yet.
pub struct AppInput {
    app: AppConfig,
    /// Fields that keep the values of the application in whose place it is put.
    kept: Vec<&'static Field>,
    /// True if a name was given; otherwise the name comes from its address and may not be unique.
    pub(super) is_named: bool,
    /// True if it moves to the default server, whatever server it used before.
    moves: bool,
}

impl AppInput {
    /// Reads a body; `insecure` lets a remote server be reached without TLS.
    pub fn parse(body: &Value, insecure: bool) -> Result<Self, Invalid> {
        let Some(fields) = body.as_object() else {
            return Err(Invalid::of("body", "must be a JSON object"));
        };
        let mut values = reader::read(fields, insecure)?;
        values.insert("id".to_owned(), "".into());
        let app = from_json(&Value::Object(values));
        let mut app: AppConfig = app.expect("checked values are those of an application");
        let is_named = !app.name.is_empty();
        if !is_named {
            app.name = app.default_name(1);
        }
        let has_code = app.protocol.is_visited_by_http();
        let is_kept = |field: &&Field| match fields.get(field.name) {
            // Another protocol may have no code.
            None if field.name == "invisible" => has_code,
            None => field.kind != Kind::Protocol,
            Some(value) => field.kind == Kind::Secret && value.is_null(),
        };
        Ok(Self {
            app,
            kept: FIELDS.iter().filter(is_kept).collect(),
            is_named,
            moves: fields.get("server").is_some_and(Value::is_null),
        })
    }

    /// Keeps the server it was connected through if it names none.
    pub fn staying(self) -> Self {
        Self {
            moves: false,
            ..self
        }
    }

    /// A new application.
    pub fn into_new(self) -> AppConfig {
        let now = rfc3339(SystemTime::now());
        AppConfig {
            id: random::hex(&random::bytes::<8>()),
            site_words: Some(app::draw_site_words()),
            created_at: now.clone(),
            updated_at: now,
            ..self.app
        }
    }

    /// Identity among shared applications: equal for the same target and name.
    pub fn identity(&self) -> String {
        let app = &self.app;
        let server = app.server.as_deref().unwrap_or_default();
        format!(
            "{} {} {} {server}",
            app.protocol.name(),
            app.address(),
            app.name
        )
    }

    /// A new temporary application with this identifier. The words for its site's name depend on the identifier only.
    pub(crate) fn into_temporary(self, id: &str) -> AppConfig {
        AppConfig {
            id: id.to_owned(),
            site_words: Some(app::site_words_of(id)),
            temporary: true,
            ..self.into_new()
        }
    }

    /// True if `old`'s database password would go to another address than it was given for.
    pub fn sends_elsewhere(&self, old: &AppConfig) -> bool {
        let new = self.over(old);
        self.keeps("db_pass") && old.db_pass.is_some() && new.address() != old.address()
    }

    fn keeps(&self, name: &str) -> bool {
        self.kept.iter().any(|field| field.name == name)
    }

    /// Returns `old` with the fields of this input, except those that are kept.
    fn over(&self, old: &AppConfig) -> AppConfig {
        let mut app = old.clone();
        for field in FIELDS.iter().filter(|field| !self.keeps(field.name)) {
            app.take(field, &self.app);
        }
        if !self.is_named && !self.keeps("name") {
            app.name = app.default_name(1);
        }
        app
    }

    /// Returns the application that replaces `old`.
    pub fn replacing(self, old: &AppConfig) -> AppConfig {
        let mut app = self.over(old);
        let server = app.server.take();
        // Answers show the server that it stays with, and a client may send that back.
        let server = server.filter(|server| Some(server) != old.used_server.as_ref());
        let moves = self.moves || (server.is_some() && server != old.server);
        AppConfig {
            server,
            used_server: old.used_server.clone().filter(|_| !moves),
            updated_at: rfc3339(SystemTime::now()),
            ..app
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn app(body: &Value) -> AppConfig {
        AppInput::parse(body, false).unwrap().into_new()
    }

    fn wrong(body: &Value) -> Vec<String> {
        let invalid = AppInput::parse(body, false).err().expect("it is refused");
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
        for name in ["ab", "abc", "a-b", "0-9", &"a".repeat(63)] {
            app(&json!({"protocol": "http", "site_name": name}));
        }
        for name in ["a", "-abc", "abc-", "a--b", "Abc", "a.b", &"a".repeat(64)] {
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
        let put = |body| AppInput::parse(&body, false).unwrap().replacing(&old);
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
        for (body, is_elsewhere) in [
            (json!({"protocol": "mysql", "ip": "127.0.0.2"}), true),
            (json!({"protocol": "mariadb", "port": 3307}), true),
            (
                json!({"protocol": "mysql", "port": 3307, "db_pass": "new"}),
                false,
            ),
            (json!({"protocol": "mysql", "db_user": "other"}), false),
        ] {
            let input = AppInput::parse(&body, false).unwrap();
            assert_eq!(input.sends_elsewhere(&old), is_elsewhere, "{body}");
        }
    }

    #[test]
    fn an_application_stays_with_its_server_until_it_is_moved() {
        let mut old = app(&json!({"protocol": "http"}));
        old.used_server = Some("https://a.example".into());
        let put = |server: Option<Value>, stays: bool| {
            let mut body = json!({"protocol": "http"});
            if let Some(server) = server {
                body["server"] = server;
            }
            let input = AppInput::parse(&body, false).unwrap();
            let input = if stays { input.staying() } else { input };
            let app = input.replacing(&old);
            (app.server, app.used_server)
        };
        let (a, b) = (old.used_server.clone(), Some("https://b.example".into()));
        assert_eq!(put(None, false), (None, a.clone()));
        assert_eq!(
            put(Some(json!("https://a.example/")), false),
            (None, a.clone())
        );
        assert_eq!(put(Some(json!(null)), true), (None, a));
        assert_eq!(put(Some(json!(null)), false), (None, None));
        assert_eq!(put(Some(json!("https://b.example")), false), (b, None));
    }

    #[test]
    fn an_unknown_name_is_fit_for_the_answer() {
        let name = format!("\u{1b}[31m{}", "x".repeat(1000));
        let invalid = AppInput::parse(&json!({"protocol": "http", &*name: 1}), false)
            .err()
            .unwrap();
        let text = invalid.to_string();
        assert!(text.len() < 100 && !text.contains('\u{1b}'), "{text:?}");
    }

    /// The fields of one application in the place of another.
    fn replaced(before: &Value, after: &Value) -> Value {
        let old = app(before);
        let new = AppInput::parse(after, false).unwrap().replacing(&old);
        FIELDS
            .iter()
            .map(|field| (field.name, new.value(field)))
            .collect()
    }

    #[test]
    fn what_is_left_out_is_kept_and_null_clears() {
        let full = json!({"protocol": "mysql", "name": "shop", "ip": "10.0.0.7", "port": 3307, "db_user": "u",
            "autoconnect": true, "db_readonly": false, "invisible": false, "server": "https://a.example", "host_header": "https://shop.test:8080", "allow": ["127.0.0.0/8", "::1"],
            "expires": "2030-01-31T18:00:00+01:00", "group": "g", "max_streams": 3, "audit": true,
            "record_sql": true, "guest": ["shop.*"]});
        let kept = replaced(&full, &json!({"protocol": "mysql"}));
        assert_eq!(kept, replaced(&full, &full));
        assert_eq!(
            (&kept["port"], &kept["server"]),
            (&json!(3307), &json!("https://a.example"))
        );
        assert_eq!(kept["expires"], "2030-01-31T17:00:00Z");
        assert_eq!(kept["allow"], json!(["127.0.0.0/8", "::1"]));
        assert_eq!(
            (&kept["host_header"], &kept["max_streams"]),
            (&json!("https://shop.test:8080"), &json!(3))
        );
        let mut nulls = full.clone();
        for field in FIELDS.iter().filter(|field| field.kind != Kind::Protocol) {
            nulls[field.name] = Value::Null;
        }
        let none = json!({"protocol": "mysql"});
        assert_eq!(replaced(&full, &nulls), replaced(&none, &none));
    }

    #[test]
    fn a_private_site_is_made_public_only_by_who_says_so() {
        let private = json!({"protocol": "http", "invisible": true});
        let of = |after: Value| replaced(&private, &after)["invisible"].clone();
        assert_eq!(of(json!({"protocol": "https", "note": "x"})), true);
        assert_eq!(of(json!({"protocol": "http", "invisible": false})), false);
        assert_eq!(of(json!({"protocol": "ssh"})), false, "it has no code");
    }

    #[test]
    fn wrong_ones_are_named() {
        for (name, value) in [
            ("host_header", json!("a b")),
            ("host_header", json!("shop:0")),
            ("host_header", json!("ftp://shop")),
            ("host_header", json!("https://shop/")),
            ("allow", json!(["10.0.0.0/33"])),
            ("allow", json!("127.0.0.1")),
            ("allow", json!([1])),
            ("expires", json!("tomorrow")),
            ("expires", json!("2030-02-30T00:00:00Z")),
            ("max_streams", json!(0)),
            ("max_streams", json!(1.5)),
            ("audit", json!("yes")),
            ("guest", json!([""])),
            ("group", json!("a\u{7}")),
        ] {
            let mut body = json!({"protocol": "http"});
            body[name] = value;
            let invalid = AppInput::parse(&body, false).err().expect("it is refused");
            assert!(invalid.fields().all(|(wrong, _)| wrong == name), "{body}");
        }
    }
}
