//! Reads the fields of a body by their kinds, and collects errors.

use std::fmt;

use serde_json::{Map, Value, json};

use super::field::{Field, Kind};
use super::fields::{self, FIELDS};
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

/// Takes the fields one by one and notes what is wrong.
pub(super) struct Reader<'a> {
    fields: &'a Map<String, Value>,
    /// True if a remote server may be reached without TLS.
    insecure: bool,
    problems: Invalid,
}

impl<'a> Reader<'a> {
    pub(super) fn new(fields: &'a Map<String, Value>, insecure: bool) -> Self {
        Self {
            fields,
            insecure,
            problems: Invalid::default(),
        }
    }

    /// The values as an application stores them, without those that have their default.
    pub(super) fn read(mut self) -> Result<Map<String, Value>, Invalid> {
        self.refuse_unknown();
        let mut values = Map::new();
        for field in FIELDS {
            if let Some(value) = self.checked(field) {
                values.insert(field.name.to_owned(), value);
            }
        }
        self.set_defaults(&mut values);
        match self.problems.0.is_empty() {
            true => Ok(values),
            false => Err(self.problems),
        }
    }

    fn refuse_unknown(&mut self) {
        let is_known = |name: &str| fields::field(name).is_some() || fields::is_own(name);
        for name in self.fields.keys().filter(|name| !is_known(name)) {
            let name: String = name.chars().filter(|c| !c.is_control()).take(40).collect();
            self.wrong(&name, "is not a known field");
        }
    }

    /// Defaults that depend on the protocol, and members that an application must have.
    fn set_defaults(&mut self, values: &mut Map<String, Value>) {
        values.entry("name").or_insert_with(|| json!(""));
        values.entry("ip").or_insert_with(|| json!(HERE));
        let named = values.get("protocol").and_then(Value::as_str);
        let Some(protocol) = named.and_then(Protocol::named) else {
            let known = Protocol::ALL.map(Protocol::name).join(", ");
            return self.wrong("protocol", format!("must be one of {known}"));
        };
        match protocol.default_port() {
            Some(port) => _ = values.entry("port").or_insert_with(|| json!(port)),
            None if self.value("port").is_none() => self.wrong("port", "is required for tcp"),
            None => {}
        }
        let invisible = values.entry("invisible");
        let invisible = invisible.or_insert_with(|| json!(protocol.is_database()));
        if *invisible == json!(true) && !protocol.is_visited_by_http() {
            let why = "needs http, https, mysql or mariadb to ask for a code";
            self.wrong("invisible", why);
        }
    }

    /// The value of a field; none if it is left out, empty or wrong.
    fn checked(&mut self, field: &Field) -> Option<Value> {
        let name = field.name;
        let value = match field.kind {
            // An unknown name is an error in any case.
            Kind::Protocol => self.value(name)?.as_str()?.to_owned().into(),
            Kind::Host => self.host(name)?.into(),
            Kind::Port => self.number(name, u16::MAX.into())?.into(),
            Kind::Text(cap) => self.text(name, cap)?.into(),
            Kind::Paragraph(cap) => self.paragraph(name, cap)?.into(),
            Kind::Flag => self.flag(name)?.into(),
            Kind::Server => self.server(name)?.into(),
            Kind::SiteName => self.site_name(name)?.into(),
            Kind::Secret => self.secret(name)?.into(),
            Kind::HostHeader => self.host_header(name)?.into(),
            Kind::Networks => self.list(name, network)?.into(),
            Kind::Time => self.time(name)?.into(),
            Kind::Path => self.path(name)?.into(),
            Kind::Number(most) => self.number(name, most)?.into(),
            Kind::Grants => self.list(name, grant)?.into(),
        };
        Some(value)
    }

    fn wrong(&mut self, name: &str, why: impl Into<String>) {
        self.problems.0.push((name.to_owned(), why.into()));
    }

    /// A field that is there; null stands for one that is not.
    fn value(&self, name: &str) -> Option<&'a Value> {
        self.fields.get(name).filter(|value| !value.is_null())
    }

    fn string(&mut self, name: &str) -> Option<&'a str> {
        let text = self.value(name)?.as_str();
        if text.is_none() {
            self.wrong(name, "must be a string");
        }
        text
    }

    /// A text that is neither empty nor long nor holds control characters.
    fn text(&mut self, name: &str, cap: usize) -> Option<String> {
        let text = self.string(name)?.trim();
        self.fit(name, text.to_owned(), cap, char::is_control)
    }

    /// A text of several lines.
    fn paragraph(&mut self, name: &str, cap: usize) -> Option<String> {
        let text = self.string(name)?.trim().replace("\r\n", "\n");
        let is_wrong = |c: char| c.is_control() && c != '\n' && c != '\t';
        self.fit(name, text, cap, is_wrong)
    }

    fn fit(
        &mut self,
        name: &str,
        text: String,
        cap: usize,
        is_wrong: fn(char) -> bool,
    ) -> Option<String> {
        if text.chars().count() > cap {
            self.wrong(name, format!("must have at most {cap} characters"));
        } else if text.chars().any(is_wrong) {
            self.wrong(name, "must not contain control characters");
        } else {
            return Some(text).filter(|text| !text.is_empty());
        }
        None
    }

    fn flag(&mut self, name: &str) -> Option<bool> {
        let flag = self.value(name)?.as_bool();
        if flag.is_none() {
            self.wrong(name, "must be true or false");
        }
        flag
    }

    fn number(&mut self, name: &str, most: u32) -> Option<u32> {
        let number = self.value(name)?.as_u64();
        let number = number.and_then(|number| u32::try_from(number).ok());
        let fitting = number.filter(|number| (1..=most).contains(number));
        if fitting.is_none() {
            self.wrong(name, format!("must be a whole number from 1 to {most}"));
        }
        fitting
    }

    /// As it is: spaces may belong to a password.
    fn secret(&mut self, name: &str) -> Option<String> {
        let text = self.string(name)?;
        if text.chars().count() > SECRET_CAP {
            self.wrong(name, format!("must have at most {SECRET_CAP} characters"));
        } else if text.contains('\0') {
            // No protocol sends one, and C programs would cut it off there.
            self.wrong(name, "must not contain a NUL character");
        } else {
            return Some(text.to_owned()).filter(|text| !text.is_empty());
        }
        None
    }

    fn host(&mut self, name: &str) -> Option<String> {
        let host = self.text(name, MAX_HOST)?;
        let bare = host
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        let host = bare.unwrap_or(&host).to_owned();
        if !is_host(&host) {
            self.wrong(name, "must be an IP address or a host name");
        }
        Some(host)
    }

    fn server(&mut self, name: &str) -> Option<String> {
        let text = self.text(name, URL_CAP)?;
        match ServerUrl::parse(&text, self.insecure) {
            Ok(server) => Some(server.to_string()),
            Err(why) => {
                self.wrong(name, format!("cannot be used: {why}"));
                None
            }
        }
    }

    fn site_name(&mut self, name: &str) -> Option<String> {
        let site_name = self.text(name, SITE_NAME_CAP)?;
        if names::is_reserved(&site_name) {
            let why = "is reserved, like www, admin, mail and others: choose another";
            self.wrong(name, why);
        } else if names::check_form(&site_name).is_err() {
            self.wrong(
                name,
                "must be 2 to 63 of a-z, 0-9 and -, without - at either end and without --",
            );
        }
        Some(site_name)
    }

    fn host_header(&mut self, name: &str) -> Option<String> {
        let host = self.text(name, HOST_CAP)?;
        let is_name = || {
            let schemes = ["https://", "http://"];
            let bare = schemes.iter().find_map(|scheme| host.strip_prefix(scheme));
            split(bare.unwrap_or(&host)).is_some_and(|(name, digits)| {
                is_host(name) && digits.is_none_or(|digits| port(digits).is_some())
            })
        };
        if host != VISITORS_HOST && host != TARGETS_HOST && !is_name() {
            self.wrong(
                name,
                "must be 'visitor', 'target', or a host name with optional scheme and port",
            );
        }
        Some(host)
    }

    fn time(&mut self, name: &str) -> Option<String> {
        let text = self.text(name, HOST_CAP)?;
        let time = parse_rfc3339(&text);
        if time.is_none() {
            self.wrong(name, "must be a time such as 2030-01-31T18:00:00Z");
        }
        time.map(rfc3339)
    }

    /// As it stands in a request, so that a link is made of it as it is.
    fn path(&mut self, name: &str) -> Option<String> {
        let path = self.text(name, PATH_CAP)?;
        let is_path = path.starts_with('/') && !path.starts_with("//");
        if !is_path || !path.bytes().all(|byte| byte.is_ascii_graphic()) {
            self.wrong(
                name,
                "must begin with one / and contain only ASCII without spaces",
            );
        }
        Some(path)
    }

    /// A list of texts, each as `read` makes it.
    fn list(
        &mut self,
        name: &str,
        read: fn(&str) -> Result<String, String>,
    ) -> Option<Vec<String>> {
        let Some(entries) = self.value(name)?.as_array() else {
            self.wrong(name, "must be a list of strings");
            return None;
        };
        if entries.len() > MAX_ENTRIES {
            self.wrong(name, format!("must have at most {MAX_ENTRIES} entries"));
            return None;
        }
        let entry = |entry: &Value| match entry.as_str() {
            Some(text) => read(text.trim()),
            None => Err("must be a list of strings".to_owned()),
        };
        match entries.iter().map(entry).collect() {
            Ok(list) => Some(list),
            Err(why) => {
                self.wrong(name, why);
                None
            }
        }
    }
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
