//! `postern app add`: flags become the fields of an application.

use std::net::Ipv6Addr;

use serde_json::{Map, Value};

use super::select::of_store;
use super::warning;
use crate::cli::args::command::{Flag, Parsed};
use crate::cli::args::table::app::{
    ADD, AUTH_PASS, AUTOCONNECT, DB_NAME, DB_PASS, DB_USER, DISPLAY_NAME, INVISIBLE, JSON, NAME,
    READONLY, READWRITE, SERVER, SITE_NAME, TUNNEL_PORT, USERNAME, VISIBLE,
};
use crate::cli::args::values::{PASSWORD_VARIABLE, environment, whole_number};
use crate::cli::failure::{Failure, printable, quoted, warn};
use crate::cli::manager_client::{Manager, text};
use crate::cli::output::print;
use crate::cli::serve::data_dir;
use crate::cli::target;
use crate::manager::app_input::AppInput;
use crate::manager::app_store::AppStore;
use crate::manager::protocol::Protocol;

/// Flags with a text, and the field that each becomes.
const TEXTS: [(&Flag, &str); 8] = [
    (&NAME, "name"),
    (&SERVER, "server"),
    (&SITE_NAME, "site_name"),
    (&DISPLAY_NAME, "display_name"),
    (&USERNAME, "username"),
    (&AUTH_PASS, "auth_pass"),
    (&DB_USER, "db_user"),
    (&DB_NAME, "db_name"),
];
/// Switches, and the field and value that each sets.
const SWITCHES: [(&Flag, &str, bool); 5] = [
    (&INVISIBLE, "invisible", true),
    (&VISIBLE, "invisible", false),
    (&READONLY, "db_readonly", true),
    (&READWRITE, "db_readonly", false),
    (&AUTOCONNECT, "autoconnect", true),
];

/// Flags that mean nothing for other protocols.
const OF_DATABASES: [&Flag; 5] = [&DB_USER, &DB_PASS, &DB_NAME, &READONLY, &READWRITE];

/// Adds an application and prints its ID.
pub(super) fn add(parsed: &Parsed) -> Result<(), Failure> {
    let body = body(parsed)?;
    // Whether a server without TLS may be used is for the start to say.
    let input = AppInput::parse(&body, true).map_err(|invalid| ADD.usage(invalid.to_string()))?;
    let home = data_dir()?;
    let added = match Manager::find(&home)? {
        Some(manager) => manager.call("POST", "/api/apps", Some(&body))?,
        None => AppStore::new(home).add(input).map_err(of_store)?.to_json(),
    };
    if let Some(warning) = warning::of(&added) {
        warn(&warning);
    }
    if parsed.has(&JSON) {
        return print(&format!("{added:#}\n"));
    }
    print(&format!("{}\n", text(&added, "/id")))
}

/// The application's JSON form; whether its values can be used is for the draft to say.
fn body(parsed: &Parsed) -> Result<Value, Failure> {
    let mut fields = Map::new();
    let Some(protocol) = Protocol::named(parsed.operand()) else {
        return Err(ADD.usage(format!(
            "unknown protocol {}: give one of {}",
            quoted(parsed.operand()),
            Protocol::ALL.map(Protocol::name).join(", ")
        )));
    };
    fields.insert("protocol".into(), protocol.name().into());
    if !protocol.is_database()
        && let Some(flag) = OF_DATABASES.iter().find(|flag| parsed.has(flag))
    {
        return Err(ADD.usage(format!(
            "--{} is for databases, not for {}",
            flag.long,
            protocol.name()
        )));
    }
    if let Some(address) = parsed.operands().get(1) {
        let (host, port) = address_of(address)?;
        fields.extend(host.map(|host| ("ip".to_owned(), Value::from(host))));
        fields.extend(port.map(|port| ("port".to_owned(), Value::from(port))));
    }
    set_flags(&mut fields, parsed);
    if let Some(port) = parsed.value(&TUNNEL_PORT) {
        fields.insert("tunnel_port".into(), number(&port)?.into());
    }
    let password = database_password(parsed, protocol);
    fields.extend(password.map(|password| ("db_pass".to_owned(), Value::from(password))));
    Ok(Value::Object(fields))
}

/// The flags that are fields as they are.
fn set_flags(fields: &mut Map<String, Value>, parsed: &Parsed) {
    let texts = TEXTS
        .iter()
        .filter_map(|(flag, field)| Some(((*field).to_owned(), Value::from(parsed.value(flag)?))));
    fields.extend(texts);
    let switches = SWITCHES.iter().filter(|(flag, ..)| parsed.has(flag));
    fields.extend(switches.map(|(_, field, value)| ((*field).to_owned(), Value::from(*value))));
}

/// By flag, else by the variable; an empty variable counts as unset.
fn database_password(parsed: &Parsed, protocol: Protocol) -> Option<String> {
    let variable = || environment(PASSWORD_VARIABLE).filter(|_| protocol.is_database());
    parsed.value(&DB_PASS).or_else(variable)
}

/// `PORT`, `HOST`, `HOST:PORT`, `[V6]`, `[V6]:PORT`.
fn address_of(text: &str) -> Result<(Option<String>, Option<u16>), Failure> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok((None, Some(number(text)?)));
    }
    let wrong = |how: &str| {
        let text = quoted(&target::redacted(text));
        ADD.usage(format!("{text} is not an address: {how}"))
    };
    if let Some((scheme, _)) = text.split_once("://") {
        let scheme = printable(scheme);
        return Err(wrong(&format!("give HOST:PORT, without {scheme}://")));
    }
    if text.parse::<Ipv6Addr>().is_ok() {
        return Err(wrong(&format!("an IPv6 address needs brackets: [{text}]")));
    }
    let end = match text.strip_prefix('[') {
        Some(rest) => rest.find(']').map_or(text.len(), |end| end + 2),
        None => text.find(':').unwrap_or(text.len()),
    };
    let (host, rest) = text.split_at(end);
    match rest.strip_prefix(':') {
        Some(port) => Ok((Some(host.to_owned()), Some(number(port)?))),
        None if rest.is_empty() => Ok((Some(host.to_owned()), None)),
        None => Err(wrong("give PORT, HOST or HOST:PORT")),
    }
}

fn number(text: &str) -> Result<u16, Failure> {
    whole_number(text, &(1..=u16::MAX)).ok_or_else(|| {
        let text = quoted(text);
        ADD.usage(format!(
            "{text} is not a port: give a number from 1 to 65535"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(line: &[&str]) -> Result<Value, Failure> {
        let words: Vec<String> = line.iter().map(|&word| word.to_owned()).collect();
        body(&ADD.parse(&words)?)
    }

    #[test]
    fn flags_become_fields() {
        let line = [
            "mysql",
            "db:3307",
            "--name",
            "n",
            "--readwrite",
            "--visible",
            "--db-pass",
            "p",
            "--tunnel-port",
            "9",
            "--autoconnect",
        ];
        let expected = json!({"protocol": "mysql", "ip": "db", "port": 3307, "name": "n", "db_readonly": false,
            "invisible": false, "db_pass": "p", "tunnel_port": 9, "autoconnect": true});
        assert_eq!(read(&line).unwrap(), expected);
    }

    #[test]
    fn addresses_are_read() {
        for (text, host, port) in [
            ("8080", None, Some(8080)),
            ("db", Some("db"), None),
            ("db:1", Some("db"), Some(1)),
            ("[::1]", Some("[::1]"), None),
            ("[::1]:5", Some("[::1]"), Some(5)),
        ] {
            assert_eq!(
                address_of(text).unwrap(),
                (host.map(str::to_owned), port),
                "{text}"
            );
        }
        for text in ["0", "70000", "db:", "db:x", "[::1]x", "db:+1"] {
            assert_eq!(address_of(text).unwrap_err().parts().0, 2, "{text}");
        }
        assert_eq!(read(&["gopher"]).unwrap_err().parts().0, 2);
    }
}
