//! Reads the fields of a body by their kinds, and collects errors.

use std::fmt;

use serde_json::{Map, Value, json};

use super::fields::{self, FIELDS, Kind};
use super::protocol::Protocol;
use crate::gateway::{TARGETS_HOST, VISITORS_HOST};
use crate::manager::server_url::ServerUrl;
use crate::net::Cidr;
use crate::net::authority::{MAX_HOST, is_host, port, split};
use crate::plugin::Grant;
use crate::relay::names;
use crate::store::time::{parse_rfc3339, rfc3339};

/// Characters of a password.
const SECRET_CAP: usize = 1024;
/// Characters of a site's name; a longer one is no name in any case.
const SITE_NAME_CAP: usize = 255;
/// Characters of a URL.
const URL_CAP: usize = crate::limits::APP_URL;
/// Characters of a path.
const PATH_CAP: usize = 1000;
/// Bytes of a host name with a port.
const HOST_CAP: usize = 260;
/// Entries of a list.
const MAX_ENTRIES: usize = crate::limits::NETWORKS;
/// Characters of a grant: a table with some twenty columns.
const GRANT_CAP: usize = 2000;
/// Address of an application that names none.
const HERE: &str = "127.0.0.1";

/// Everything that is wrong, by field.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Invalid(Vec<(String, String)>);

impl Invalid {
    pub(crate) fn of(name: &str, why: impl Into<String>) -> Self {
        Self(vec![(name.to_owned(), why.into())])
    }

    fn add(&mut self, name: &str, why: impl Into<String>) {
        self.0.push((name.to_owned(), why.into()));
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

/// Returns the values of a body's fields as an application stores them, without those that have their default.
/// `insecure` lets a remote server be reached without TLS.
pub(super) fn read(
    fields: &Map<String, Value>,
    insecure: bool,
) -> Result<Map<String, Value>, Invalid> {
    let mut problems = Invalid::default();
    let is_known = |name: &str| fields::field(name).is_some() || fields::is_own(name);
    for name in fields.keys().filter(|name| !is_known(name)) {
        let name: String = name.chars().filter(|c| !c.is_control()).take(40).collect();
        problems.add(&name, "is not a known field");
    }
    let mut values = Map::new();
    for field in FIELDS {
        // Null stands for a field that is not there.
        let given = fields.get(field.name).filter(|value| !value.is_null());
        match given.map_or(Ok(Value::Null), |given| {
            checked(field.kind, given, insecure)
        }) {
            Ok(Value::Null) => {}
            Ok(value) => _ = values.insert(field.name.to_owned(), value),
            Err(why) => problems.add(field.name, why),
        }
    }
    set_defaults(fields, &mut values, &mut problems);
    match problems.0.is_empty() {
        true => Ok(values),
        false => Err(problems),
    }
}

/// Defaults that depend on the protocol, and members that an application must have.
fn set_defaults(
    fields: &Map<String, Value>,
    values: &mut Map<String, Value>,
    problems: &mut Invalid,
) {
    values.entry("name").or_insert_with(|| json!(""));
    values.entry("ip").or_insert_with(|| json!(HERE));
    let named = values.get("protocol").and_then(Value::as_str);
    let Some(protocol) = named.and_then(Protocol::named) else {
        let known = Protocol::ALL.map(Protocol::name).join(", ");
        return problems.add("protocol", format!("must be one of {known}"));
    };
    match protocol.default_port() {
        Some(port) => _ = values.entry("port").or_insert_with(|| json!(port)),
        None if fields.get("port").is_none_or(Value::is_null) => {
            problems.add("port", "is required for tcp");
        }
        None => {}
    }
    let invisible = values.entry("invisible");
    let invisible = invisible.or_insert_with(|| json!(protocol.is_database()));
    if *invisible == json!(true) && !protocol.is_visited_by_http() {
        let why = "needs http, https, mysql or mariadb to ask for a code";
        problems.add("invisible", why);
    }
}

/// The value of a field of this kind; null if it is empty.
fn checked(kind: Kind, given: &Value, insecure: bool) -> Result<Value, String> {
    match kind {
        // An unknown name is an error in any case.
        Kind::Protocol => Ok(given.as_str().into()),
        Kind::Flag if given.is_boolean() => Ok(given.clone()),
        Kind::Flag => Err("must be true or false".to_owned()),
        Kind::Port => number(given, u16::MAX.into()),
        Kind::Number(most) => number(given, most),
        Kind::Networks => list(given, network),
        Kind::Grants => list(given, grant),
        _ => {
            let given = given.as_str().ok_or("must be a string")?;
            let text = fit(kind, given)?;
            match text.is_empty() {
                true => Ok(Value::Null),
                false => meaning(kind, text, insecure).map(Value::String),
            }
        }
    }
}

fn number(given: &Value, most: u32) -> Result<Value, String> {
    let is_fitting = |number: u64| (1..=most.into()).contains(&number);
    if given.as_u64().is_some_and(is_fitting) {
        Ok(given.clone())
    } else {
        Err(format!("must be a whole number from 1 to {most}"))
    }
}

/// The text as it is kept: neither too long nor with control characters.
fn fit(kind: Kind, given: &str) -> Result<String, String> {
    let cap = match kind {
        Kind::Text(cap) | Kind::Paragraph(cap) => cap,
        Kind::Host => MAX_HOST,
        Kind::Server => URL_CAP,
        Kind::SiteName => SITE_NAME_CAP,
        Kind::Secret => SECRET_CAP,
        Kind::Path => PATH_CAP,
        _ => HOST_CAP,
    };
    let text = match kind {
        // Spaces may belong to a password.
        Kind::Secret => given.to_owned(),
        Kind::Paragraph(_) => given.trim().replace("\r\n", "\n"),
        _ => given.trim().to_owned(),
    };
    let is_wrong = |c: char| match kind {
        // No protocol sends one, and C programs would cut it off there.
        Kind::Secret => c == '\0',
        Kind::Paragraph(_) => c.is_control() && c != '\n' && c != '\t',
        _ => c.is_control(),
    };
    if text.chars().count() > cap {
        Err(format!("must have at most {cap} characters"))
    } else if !text.chars().any(is_wrong) {
        Ok(text)
    } else if kind == Kind::Secret {
        Err("must not contain a NUL character".to_owned())
    } else {
        Err("must not contain control characters".to_owned())
    }
}

/// Reads a text that is not empty by its kind.
fn meaning(kind: Kind, text: String, insecure: bool) -> Result<String, String> {
    let is_path = || text.starts_with('/') && !text.starts_with("//");
    let why = match kind {
        Kind::Host => {
            let bare = text
                .strip_prefix('[')
                .and_then(|rest| rest.strip_suffix(']'));
            let host = bare.unwrap_or(&text);
            if is_host(host) {
                return Ok(host.to_owned());
            }
            "must be an IP address or a host name"
        }
        Kind::Server => {
            let server = ServerUrl::parse(&text, insecure);
            let server = server.map_err(|why| format!("cannot be used: {why}"))?;
            return Ok(server.to_string());
        }
        Kind::Time => match parse_rfc3339(&text) {
            Some(time) => return Ok(rfc3339(time)),
            None => "must be a time such as 2030-01-31T18:00:00Z",
        },
        Kind::SiteName if names::is_reserved(&text) => {
            "is reserved, like www, admin, mail and others: choose another"
        }
        Kind::SiteName if names::check_form(&text).is_err() => {
            "must be 2 to 63 of a-z, 0-9 and -, without - at either end and without --"
        }
        Kind::HostHeader if !is_host_header(&text) => {
            "must be 'visitor', 'target', or a host name with optional scheme and port"
        }
        // In the form of a request line, so that links contain it unchanged.
        Kind::Path if !is_path() || !text.bytes().all(|byte| byte.is_ascii_graphic()) => {
            "must begin with one / and contain only ASCII without spaces"
        }
        _ => return Ok(text),
    };
    Err(why.to_owned())
}

fn is_host_header(text: &str) -> bool {
    let schemes = ["https://", "http://"];
    let bare = schemes.iter().find_map(|scheme| text.strip_prefix(scheme));
    let is_name = split(bare.unwrap_or(text)).is_some_and(|(name, digits)| {
        is_host(name) && digits.is_none_or(|digits| port(digits).is_some())
    });
    text == VISITORS_HOST || text == TARGETS_HOST || is_name
}

/// A list of texts, each as `read` makes it.
fn list(given: &Value, read: fn(&str) -> Result<String, String>) -> Result<Value, String> {
    const TEXTS: &str = "must be a list of strings";
    let entries = given.as_array().ok_or(TEXTS)?;
    if entries.len() > MAX_ENTRIES {
        return Err(format!("must have at most {MAX_ENTRIES} entries"));
    }
    let entries = entries.iter().map(|entry| {
        let text = entry.as_str().ok_or(TEXTS)?;
        read(text.trim()).map(Value::String)
    });
    entries.collect()
}

fn network(text: &str) -> Result<String, String> {
    let shown: String = text.chars().filter(|c| !c.is_control()).take(60).collect();
    match text.parse::<Cidr>() {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err(format!(
            "must contain addresses or networks such as 192.0.2.0/24, not '{shown}'"
        )),
    }
}

fn grant(text: &str) -> Result<String, String> {
    if text.chars().count() > GRANT_CAP || text.chars().any(char::is_control) {
        return Err(format!(
            "must contain grants of at most {GRANT_CAP} characters, without control characters"
        ));
    }
    let grant = Grant::parse(text).map_err(|wrong| wrong.to_string())?;
    Ok(grant.to_string())
}
