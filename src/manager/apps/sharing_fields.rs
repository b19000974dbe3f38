//! The fields of a body that say how an application is shared.

use std::time::SystemTime;

use serde_json::Value;

use super::reader::Reader;
use super::sharing::{Given, SharingInput};
use crate::gateway::{TARGETS_HOST, VISITORS_HOST};
use crate::net::Cidr;
use crate::net::authority::{is_host, port, split};
use crate::plugin::Grant;
use crate::store::time::{parse_rfc3339, rfc3339};

/// Their names.
pub(super) const SHARING_FIELDS: [&str; 9] = [
    "host_header",
    "allow",
    "expires",
    "path",
    "group",
    "max_streams",
    "audit",
    "record_sql",
    "guest",
];

/// Characters of a group's name: it is a heading.
const GROUP_CAP: usize = 60;
/// Characters of a path.
const PATH_CAP: usize = 1000;
/// Bytes of a host name with a port.
const HOST_CAP: usize = 260;
/// Entries of a list.
const MAX_ENTRIES: usize = crate::limits::NETWORKS;
/// Characters of a grant: a table with some twenty columns.
const GRANT_CAP: usize = 2000;
/// Streams at once, the most that may be asked for.
const MAX_STREAMS: u64 = crate::limits::MAX_STREAMS;

impl Reader<'_> {
    pub(super) fn sharing(&mut self) -> SharingInput {
        SharingInput {
            host_header: self.given("host_header", Self::host_header),
            allow: self.given("allow", |reader| reader.list("allow", network)),
            expires: self.given("expires", Self::expires),
            path: self.given("path", Self::path),
            group: self.given("group", |reader| reader.text("group", GROUP_CAP)),
            max_streams: self.given("max_streams", Self::max_streams),
            audit: self.given("audit", |reader| Some(reader.flag("audit", false))),
            record_sql: self.given("record_sql", |reader| {
                Some(reader.flag("record_sql", false))
            }),
            guest: self.given("guest", |reader| reader.list("guest", grant)),
        }
    }

    /// An empty value clears, as null does.
    fn given<T>(&mut self, name: &str, read: impl FnOnce(&mut Self) -> Option<T>) -> Given<T> {
        match self.fields.get(name) {
            None => Given::Keep,
            Some(Value::Null) => Given::Clear,
            Some(_) => read(self).map_or(Given::Clear, Given::Set),
        }
    }

    /// As it stands in a request, so that a link is made of it as it is.
    fn path(&mut self) -> Option<String> {
        let path = self.text("path", PATH_CAP)?;
        let is_path = path.starts_with('/') && !path.starts_with("//");
        if !is_path || !path.bytes().all(|byte| byte.is_ascii_graphic()) {
            self.wrong(
                "path",
                "must begin with one / and contain only ASCII without spaces",
            );
        }
        Some(path)
    }

    fn host_header(&mut self) -> Option<String> {
        let host = self.text("host_header", HOST_CAP)?;
        let is_name = || {
            let schemes = ["https://", "http://"];
            let bare = schemes.iter().find_map(|scheme| host.strip_prefix(scheme));
            split(bare.unwrap_or(&host)).is_some_and(|(name, digits)| {
                is_host(name) && digits.is_none_or(|digits| port(digits).is_some())
            })
        };
        if host != VISITORS_HOST && host != TARGETS_HOST && !is_name() {
            self.wrong(
                "host_header",
                "must be 'visitor', 'target', or a host name with optional scheme and port",
            );
        }
        Some(host)
    }

    fn expires(&mut self) -> Option<String> {
        let text = self.text("expires", HOST_CAP)?;
        let time: Option<SystemTime> = parse_rfc3339(&text);
        if time.is_none() {
            self.wrong("expires", "must be a time such as 2030-01-31T18:00:00Z");
        }
        time.map(rfc3339)
    }

    fn max_streams(&mut self) -> Option<u32> {
        let number = self.value("max_streams")?.as_u64();
        let streams = number.filter(|streams| (1..=MAX_STREAMS).contains(streams));
        if streams.is_none() {
            let why = format!("must be a whole number from 1 to {MAX_STREAMS}");
            self.wrong("max_streams", why);
        }
        u32::try_from(streams?).ok()
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

#[cfg(test)]
mod tests {
    use super::super::app_input::AppInput;
    use serde_json::{Value, json};

    fn sharing(before: &Value, after: &Value) -> Value {
        let parse = |body: &Value| AppInput::parse(body, false).unwrap();
        let old = parse(before).into_new().unwrap();
        json!(parse(after).replacing(&old).sharing)
    }

    #[test]
    fn what_is_left_out_is_kept_and_null_clears() {
        let full = json!({"protocol": "mysql", "host_header": "https://shop.test:8080", "allow": ["127.0.0.0/8", "::1"],
            "expires": "2030-01-31T18:00:00+01:00", "group": "g", "max_streams": 3, "audit": true,
            "record_sql": true, "guest": ["shop.*"]});
        let kept = sharing(&full, &json!({"protocol": "mysql"}));
        assert_eq!(kept["expires"], "2030-01-31T17:00:00Z");
        assert_eq!(kept["allow"], json!(["127.0.0.0/8", "::1"]));
        assert_eq!(
            (&kept["host_header"], &kept["max_streams"]),
            (&json!("https://shop.test:8080"), &json!(3))
        );
        let mut nulls = full.clone();
        for name in super::SHARING_FIELDS {
            nulls[name] = Value::Null;
        }
        let none = json!({"protocol": "mysql"});
        assert_eq!(sharing(&full, &nulls), sharing(&none, &none));
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
