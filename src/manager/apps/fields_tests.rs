//! The stored form of an application, and the parts of other files that are made from the table of fields.

use super::super::app_input::AppInput;
use super::super::field::LeftOut;
use super::*;

const OPENAPI: &str = "src/manager/api/openapi.json";
const TYPES: &str = "html/types.d.ts";
const FORM: &str = "html/manage/core/appfields.js";

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
    AppInput::parse(body, true).unwrap().into_new().unwrap()
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

/// `POSTERN_BLESS=1` writes them.
#[test]
fn schemas_types_and_form_are_made_from_the_table() {
    let schemas = (r#"   "App": {"#, r#"   "ConnectResult": {"#);
    compare(OPENAPI, Some(schemas), &openapi());
    let interface = ("interface App {", "/** A main tunnel. */");
    compare(TYPES, Some(interface), &types());
    compare(FORM, None, &form());
}

/// Compares the part of a file between two lines, or all of it.
fn compare(file: &str, part: Option<(&str, &str)>, made: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let wanted = match part {
        Some((begin, end)) => {
            let (before, rest) = text.split_once(begin).expect("the part begins");
            let (_, after) = rest.split_once(end).expect("the part ends");
            format!("{before}{made}{end}{after}")
        }
        None => made.to_owned(),
    };
    if std::env::var_os("POSTERN_BLESS").is_some() {
        std::fs::write(path, wanted).expect("it is written");
    } else {
        assert!(text == wanted, "{file}: POSTERN_BLESS=1 writes\n{made}");
    }
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

/// The schemas `App` and `Draft`.
fn openapi() -> String {
    let kind = |field: &Field, is_optional: bool| {
        let of = match field.kind {
            Kind::Flag => "boolean",
            Kind::Port | Kind::Number(_) => "integer",
            _ if field.is_list() => "array",
            _ => "string",
        };
        let mut schema = match is_optional {
            true => format!(r#""type": ["{of}", "null"]"#),
            false => format!(r#""type": "{of}""#),
        };
        if field.is_list() {
            schema += r#", "items": {"type": "string"}"#;
        }
        if field.kind == Kind::Protocol {
            let names = Protocol::ALL.map(Protocol::name);
            schema += &format!(r#", "enum": ["{}"]"#, names.join("\", \""));
        }
        schema
    };
    let mut app = vec![r#""id": {"type": "string"}"#.to_owned()];
    let mut draft = Vec::new();
    for (field, about, none) in rows() {
        let name = field.name;
        if field.kind == Kind::Secret {
            app.push(format!(r#""has_{name}": {{"type": "boolean"}}"#));
        } else {
            let schema = kind(field, none.is_null());
            app.push(format!(
                r#""{name}": {{{schema}, "description": "{about}"}}"#
            ));
        }
        let left_out = match field.left_out {
            _ if field.kind == Kind::Secret => {
                "; if omitted, it is kept, and an empty text removes it"
            }
            LeftOut::Replaced => "",
            LeftOut::Kept => "; if omitted, it is kept, and null removes it",
            LeftOut::Stays => {
                ". Null is the default, whatever it was connected through; if omitted, it stays where it was"
            }
        };
        let about = match field.left_out {
            LeftOut::Stays => "Its own server",
            _ => &about,
        };
        let schema = kind(field, field.kind != Kind::Protocol);
        draft.push(format!(
            r#""{name}": {{{schema}, "description": "{about}{left_out}"}}"#
        ));
    }
    app.extend(
        [
            r#""created_at": {"type": "string"}"#,
            r#""updated_at": {"type": "string"}"#,
            r#""last_connected_at": {"type": ["string", "null"]}"#,
            r#""temporary": {"type": "boolean", "description": "True if it lasts only as long as the command that shares it"}"#,
        ]
        .map(str::to_owned),
    );
    let required = app
        .iter()
        .map(|member| member.split(':').next().unwrap_or_default());
    let required = required.collect::<Vec<_>>().join(", ");
    app.extend(
        [
            r#""conn_status": {"type": "string", "enum": ["idle", "connecting", "connected", "failed"]}"#,
            r##""health": {"$ref": "#/components/schemas/Health"}"##,
            r##""connection": {"$ref": "#/components/schemas/ConnectResult"}"##,
        ]
        .map(str::to_owned),
    );
    format!(
        r#"   "App": {{
    "type": "object",
    "additionalProperties": false,
    "required": [{required}],
    "properties": {{
     {}
    }}
   }},
   "Draft": {{
    "type": "object",
    "additionalProperties": true,
    "required": ["protocol"],
    "properties": {{
     {}
    }},
    "description": "Fields that only the server writes are ignored; other unknown ones are rejected."
   }},
"#,
        app.join(",\n     "),
        draft.join(",\n     ")
    )
}

/// The interface `App` of the page's types.
fn types() -> String {
    let mut members = String::new();
    for (field, _, none) in rows() {
        let of = match field.kind {
            Kind::Flag => "boolean",
            Kind::Port | Kind::Number(_) => "number",
            _ if field.is_list() => "string[]",
            _ => "string",
        };
        members += &match (field.kind, none.is_null()) {
            (Kind::Secret, _) => format!("  has_{}?: boolean;\n", field.name),
            (_, true) => format!("  {}?: {of} | null;\n", field.name),
            (_, false) => format!("  {}: {of};\n", field.name),
        };
    }
    format!(
        "interface App {{\n  id: string;\n{members}  last_connected_at?: string | null;\n  conn_status?: string;\n  \
         connection?: Connection;\n}}\n\n"
    )
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
        let kept = match field.left_out {
            LeftOut::Kept => format!(", kept: {}", none.to_string().replace('"', "'")),
            _ => String::new(),
        };
        format!(
            "  {}: {{ kind: '{kind}'{most}, uses: '{uses}'{kept} }},\n",
            field.name
        )
    };
    format!(
        "// The fields of an application. Made from their table, src/manager/apps/fields.rs: POSTERN_BLESS=1 writes it.\n\n\
         /**\n * `most` is a number of characters or a value, `kept` the default of a field that a request without it \
         keeps.\n * @type {{Record<string, {{kind: string, most?: number, uses: string, kept?: any}}>}}\n */\n\
         export const APP_FIELDS = {{\n{}}};\n",
        rows().map(row).collect::<String>()
    )
}
