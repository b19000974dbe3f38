//! The stored form of an application, and the parts of other files that are made from the table of fields.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::super::app_input::AppInput;
use super::*;
use crate::api::openapi::compare;
use crate::api::{App, ConnectResult, Health};

/// An application as 0.1.0 stores it.
const STORED: &str = r#"{"id": "00112233445566aa", "name": "shop", "protocol": "mysql", "ip": "10.0.0.7", "port": 3307,
    "server": "https://relay.example", "used_server": "https://old.example", "tunnel_port": 9, "invisible": true,
    "site_name": "shop", "display_name": "Shop", "username": "u", "auth_pass": "a", "db_user": "reader", "db_pass": "p",
    "db_name": "shop", "db_readonly": false, "autoconnect": true, "host_header": "target", "allow": ["192.0.2.0/24"],
    "expires": "2030-01-31T18:00:00Z", "path": "/x", "group": "g", "max_streams": 7, "audit": true, "record_sql": true,
    "guest": ["shop.*"], "code": "c", "lapsed": "2030-01-31T18:00:00Z", "site_words": "amber-owl-100", "signed_out": 2,
    "created_at": "2026-11-01T10:00:00Z", "updated_at": "2026-11-02T10:00:00Z",
    "last_connected_at": "2026-11-03T10:00:00Z"}"#;
/// The least that a list of any version has.
const LEAST: &str =
    r#"{"id": "00112233445566aa", "name": "n", "protocol": "http", "ip": "127.0.0.1", "port": 80}"#;

fn app(body: &Value) -> AppConfig {
    AppInput::parse(body, true).unwrap().into_new()
}

fn stored(text: &str) -> (Value, AppConfig) {
    let value: Value = serde_json::from_str(text).unwrap();
    (value.clone(), serde_json::from_value(value).unwrap())
}

#[test]
fn a_list_of_0_1_0_reads_back_identically() {
    let (before, read) = stored(STORED);
    let (_, least) = stored(LEAST);
    let (after, least) = (json!(read), json!(least));
    for (name, value) in after.as_object().unwrap() {
        // A field that came later has its default.
        let expected = before.get(name).unwrap_or(&least[name]);
        assert_eq!(value, expected, "{name}");
    }
    for name in before.as_object().unwrap().keys() {
        assert!(after.get(name).is_some(), "{name} is lost");
    }
    let fresh = app(&json!({"protocol": "http", "name": "n"}));
    for field in FIELDS {
        assert_eq!(least[field.name], fresh.value(field), "{}", field.name);
    }
    for missing in ["id", "name", "protocol", "ip", "port"] {
        let mut value: Value = serde_json::from_str(LEAST).unwrap();
        value.as_object_mut().unwrap().remove(missing);
        assert!(serde_json::from_value::<AppConfig>(value).is_err());
    }
}

#[test]
fn each_field_is_read_into_its_member() {
    let (before, read) = stored(STORED);
    for field in FIELDS {
        let mut body = json!({"protocol": "mysql"});
        body[field.name] = match field.kind {
            Kind::Paragraph(_) => json!("one\ntwo"),
            _ => before[field.name].clone(),
        };
        let set = app(&body);
        assert_eq!(set.value(field), body[field.name], "{}", field.name);
        let mut copy = app(&json!({"protocol": "http", "port": 1, "name": "n", "ip": "::1"}));
        copy.take(field, &set);
        assert!(!copy.differs(field, &set), "{}", field.name);
    }
    let secrets = FIELDS.iter().filter(|field| field.kind == Kind::Secret);
    let names: Vec<&str> = secrets.map(|field| field.name).collect();
    assert_eq!(names, read.secrets().map(|(name, _)| name));
}

#[test]
fn the_form_is_made_from_the_table() {
    compare("html/manage/core/appfields.js", &form());
}

/// Each field with its description, and the value of one that is not given.
fn rows() -> impl Iterator<Item = (&'static Field, String, Value)> {
    let least = app(&json!({"protocol": "http"}));
    let rows = FIELDS.iter().zip(ABOUT);
    rows.map(move |(field, about)| {
        let about = about.trim().replace("  ", " ");
        (field, about, least.value(field))
    })
}

/// The schema of a field.
fn schema(field: &Field, about: &str, is_optional: bool, generator: &mut SchemaGenerator) -> Value {
    let of = match field.kind {
        Kind::Flag => "boolean",
        Kind::Port | Kind::Number(_) => "integer",
        _ if field.is_list() => "array",
        _ => "string",
    };
    let mut schema = match field.kind {
        Kind::Protocol => generator.subschema_for::<Protocol>().to_value(),
        _ if is_optional => json!({"type": [of, "null"]}),
        _ => json!({"type": of}),
    };
    if field.is_list() {
        schema["items"] = json!({"type": "string"});
    }
    schema["description"] = about.into();
    schema
}

impl JsonSchema for App {
    fn schema_name() -> Cow<'static, str> {
        "App".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let text = |about: &str| json!({"type": "string", "description": about});
        let flag = |about: &str| json!({"type": "boolean", "description": about});
        let mut members = json!({
            "id": text("16 hexadecimal digits"),
            "created_at": text("RFC 3339"),
            "updated_at": text("Last change by the user, RFC 3339"),
            "last_connected_at": {"type": ["string", "null"], "description": "RFC 3339"},
            "temporary": flag("True if it lasts only as long as the command that shares it"),
        });
        for (field, about, none) in rows() {
            let name = field.name;
            if field.kind == Kind::Secret {
                members[format!("has_{name}")] = flag("True if this secret is saved");
            } else {
                members[name] = schema(field, &about, none.is_null(), generator);
            }
        }
        let members_of_all = members.as_object().unwrap();
        let required = Value::from_iter(members_of_all.keys().cloned());
        members["conn_status"] = text("State of its connection; absent if it was just added");
        members["conn_status"]["enum"] = json!(["idle", "connecting", "connected", "failed"]);
        members["health"] = generator.subschema_for::<Health>().to_value();
        members["connection"] = generator.subschema_for::<ConnectResult>().to_value();
        json_schema!({
            "type": "object",
            "description": "An application.",
            "required": required,
            "properties": members,
        })
    }
}

/// An application as a client sends it.
pub(in crate::manager) struct Draft;

impl JsonSchema for Draft {
    fn schema_name() -> Cow<'static, str> {
        "Draft".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut members = json!({});
        for (field, about, _) in rows() {
            let about = match field.kind {
                Kind::Secret => about + "; an empty text removes it",
                Kind::Server => {
                    "Its own server. Null is the default, whatever it was connected through"
                        .to_owned()
                }
                _ => about,
            };
            members[field.name] = schema(field, &about, true, generator);
        }
        json_schema!({
            "type": "object",
            "description": "An application to add or change. A change keeps what is omitted; null sets the default. Fields that only the server writes are ignored; other \
                            unknown ones are rejected.",
            "additionalProperties": true,
            "required": ["protocol"],
            "properties": members,
        })
    }
}

/// The limits and defaults of the form.
fn form() -> String {
    let row = |(field, _, none): (&Field, String, Value)| {
        let (kind, most) = match field.kind {
            Kind::Text(cap) => ("text", Some(cap)),
            Kind::Paragraph(cap) => ("paragraph", Some(cap)),
            Kind::Number(most) => ("number", usize::try_from(most).ok()),
            Kind::Protocol => ("protocol", None),
            Kind::Host => ("host", None),
            Kind::Port => ("port", None),
            Kind::Flag => ("flag", None),
            Kind::Server => ("server", None),
            Kind::SiteName => ("siteName", None),
            Kind::Secret => ("secret", None),
            Kind::HostHeader => ("hostHeader", None),
            Kind::Networks => ("networks", None),
            Kind::Time => ("time", None),
            Kind::Path => ("path", None),
            Kind::Grants => ("grants", None),
        };
        let uses = match field.uses {
            Uses::All => "all",
            Uses::Databases => "databases",
            Uses::Sites => "sites",
            Uses::Browsers => "browsers",
            Uses::Logins => "logins",
        };
        let most = most.map_or_else(String::new, |most| format!(", most: {most}"));
        let kept = match field.if_changed {
            true => format!(", kept: {}", none.to_string().replace('"', "'")),
            false => String::new(),
        };
        format!(
            "  {}: {{ kind: '{kind}'{most}, uses: '{uses}'{kept} }},\n",
            field.name
        )
    };
    format!(
        "// The fields of an application. Made from their table, src/manager/apps/fields.rs: make bless writes it.\n\n\
         /**\n * `most` is a number of characters or a value, `kept` the default of a field that a request without it \
         keeps.\n * @type {{Record<string, {{kind: string, most?: number, uses: string, kept?: any}}>}}\n */\n\
         export const APP_FIELDS = {{\n{}}};\n",
        rows().map(row).collect::<String>()
    )
}
