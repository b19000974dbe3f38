//! Flags and addresses of the command line as the fields of an application, and what is wrong with them in the words of
//! the command line.

use std::time::SystemTime;

use serde_json::{Map, Value, json};

use super::args::app::{
    AUTH_PASS, AUTOCONNECT, DB_NAME, DB_USER, DISPLAY_NAME, EDIT, READONLY, READWRITE, TUNNEL_PORT,
    USERNAME,
};
use super::args::command::{Command, Flag, Parsed};
use super::args::flags::{
    ALLOW, AUDIT, GROUP, GUEST, HOST, INVISIBLE, MAX_STREAMS, NAME, RECORD_SQL, SERVER, SITE_NAME,
    UNTIL, VISIBLE,
};
use super::args::values::whole_number;
use super::endpoint::{self, Endpoint};
use super::expiry;
use super::failure::{Failure, quoted, warn};
use super::target;
use crate::manager::ServerUrl;
use crate::manager::app_input::{AppInput, Invalid};
use crate::manager::protocol::Protocol;
use crate::store::time::rfc3339;

/// The fields of one application.
pub(super) type Fields = Map<String, Value>;

/// Flags with a text, and the field that each becomes.
const TEXTS: [(&Flag, &str); 10] = [
    (&NAME, "name"),
    (&SERVER, "server"),
    (&SITE_NAME, "site_name"),
    (&DISPLAY_NAME, "display_name"),
    (&USERNAME, "username"),
    (&AUTH_PASS, "auth_pass"),
    (&DB_USER, "db_user"),
    (&DB_NAME, "db_name"),
    (&HOST, "host_header"),
    (&GROUP, "group"),
];
/// Switches, and the field and value that each sets.
const SWITCHES: [(&Flag, &str, bool); 7] = [
    (&INVISIBLE, "invisible", true),
    (&VISIBLE, "invisible", false),
    (&READONLY, "db_readonly", true),
    (&READWRITE, "db_readonly", false),
    (&AUTOCONNECT, "autoconnect", true),
    (&AUDIT, "audit", true),
    (&RECORD_SQL, "record_sql", true),
];
/// Repeatable flags, and the list that each becomes.
const LISTS: [(&Flag, &str); 2] = [(&ALLOW, "allow"), (&GUEST, "guest")];
/// Flags that protect, and what becomes of an application without them.
const EMPTY: [(&Flag, &str); 4] = [
    (&ALLOW, "to allow every network"),
    (&HOST, "to send the public address"),
    (&GUEST, "to let visitors read everything"),
    (&UNTIL, "for no end time"),
];
/// Flags with a number, and the field that each becomes.
const NUMBERS: [(&Flag, &str); 2] = [(&TUNNEL_PORT, "tunnel_port"), (&MAX_STREAMS, "max_streams")];
/// Names of fields on the command line, if their flags have other names.
const CALLED: [(&str, &str); 9] = [
    ("ip", "ADDRESS"),
    ("port", "PORT"),
    ("protocol", "PROTOCOL"),
    ("username", "--app-username"),
    ("auth_pass", "--app-pass"),
    ("host_header", "--host"),
    ("expires", "--until"),
    ("db_readonly", "--readonly"),
    ("body", "the application"),
];

/// Addresses that every protocol accepts.
const ADDRESS_EXAMPLES: &str = "examples: 3000, db-host, 192.0.2.7:3000, [::1]:3000";

/// Refuses to open a public port through `server` unless the command line allows it: nobody asks the visitors of a port for
/// a code. A missing `server` is the relay on this machine.
pub(super) fn guard_port(
    command: &Command,
    parsed: &Parsed,
    fields: &Fields,
    server: Option<&ServerUrl>,
) -> Result<(), Failure> {
    let named = fields.get("protocol").and_then(Value::as_str);
    let protocol = Protocol::named(named.unwrap_or_default());
    let asks_for_a_code = protocol.is_some_and(Protocol::is_visited_by_http);
    let is_allowed = parsed.has(&ALLOW) || parsed.has(&VISIBLE);
    if asks_for_a_code || is_allowed || server.is_none_or(ServerUrl::is_loopback) {
        return Ok(());
    }
    let message = "anybody could connect through that relay without a code";
    let hint = "limit access with --allow CIDR, or allow everybody with --visible";
    Err(command.usage(message).hint(hint))
}

/// The flags that are fields as they are. An empty list or time, and no stream at all, stand for none.
pub(super) fn set_flags(
    fields: &mut Fields,
    command: &Command,
    parsed: &Parsed,
) -> Result<(), Failure> {
    if command.name != EDIT.name {
        nothing_is_empty(command, parsed)?;
    }
    let texts = TEXTS
        .iter()
        .filter_map(|(flag, field)| Some(((*field).to_owned(), Value::from(parsed.value(flag)?))));
    fields.extend(texts);
    let switches = SWITCHES.iter().filter(|(flag, ..)| parsed.has(flag));
    fields.extend(switches.map(|(_, field, value)| ((*field).to_owned(), Value::from(*value))));
    for (flag, field) in LISTS.iter().filter(|(flag, _)| parsed.has(flag)) {
        let mut values = parsed.values(flag);
        values.retain(|value| !value.is_empty());
        fields.insert((*field).to_owned(), json!(values));
    }
    for (flag, field) in NUMBERS {
        if let Some(text) = parsed.value(flag) {
            let number = whole_number::<u32>(&text, &(0..=u32::MAX));
            let number = number.ok_or_else(|| command.refuse(flag, &text, "give a number"))?;
            let number = Some(number).filter(|number| *number > 0 || field == "tunnel_port");
            fields.insert(field.to_owned(), json!(number));
        }
    }
    if parsed.value(&UNTIL).as_deref() == Some("") {
        fields.insert("expires".to_owned(), Value::Null);
    } else if let Some(end) = expiry::read(command, parsed)? {
        set_expiry(fields, end);
    }
    Ok(())
}

/// Refuses an empty value, as of a variable that is not set, that would protect less than what was meant.
fn nothing_is_empty(command: &Command, parsed: &Parsed) -> Result<(), Failure> {
    let empty = EMPTY
        .iter()
        .find(|(flag, _)| parsed.values(flag).iter().any(String::is_empty));
    match empty {
        Some((flag, without)) => {
            Err(command.usage(format!("--{} is empty: omit it {without}", flag.long)))
        }
        None => Ok(()),
    }
}

/// When it ends.
pub(super) fn set_expiry(fields: &mut Fields, end: SystemTime) {
    fields.insert("expires".to_owned(), rfc3339(end).into());
}

/// Reads an address; the error is about the command's line.
pub(super) fn read_address(command: &Command, text: &str) -> Result<Endpoint, Failure> {
    let read = endpoint::parse(text).map_err(|why| {
        let text = quoted(&target::redacted(text));
        let hint = format!("{ADDRESS_EXAMPLES}; see 'postern {} --help'", command.name);
        let failure = Failure::usage(format!("{text} is not an address: {why}"));
        failure.hint(hint)
    })?;
    let host = read
        .host
        .as_deref()
        .filter(|host| endpoint::is_like_a_port(host));
    if let Some(host) = host.filter(|_| read.port.is_none()) {
        let host = quoted(host);
        warn(&format!(
            "{host} is read as a host name: a port has only digits"
        ));
    }
    Ok(read)
}

/// Parts of an address. Its path is the page that links open: all of the site is shared.
pub(super) fn set_address(fields: &mut Fields, endpoint: Endpoint) {
    let texts = [
        ("ip", endpoint.host),
        ("db_user", endpoint.user),
        ("db_name", endpoint.database),
        (
            "db_pass",
            endpoint.password.map(|secret| secret.to_string()),
        ),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            fields.insert(name.to_owned(), text.into());
        }
    }
    // A whole URL without a path opens the first page.
    if endpoint.protocol.is_some() {
        fields.insert("path".to_owned(), json!(endpoint.path));
    }
    if let Some(port) = endpoint.port {
        fields.insert("port".to_owned(), port.into());
    }
}

/// The protocol that a command and a pasted URL name together: of a web site the URL knows better.
pub(super) fn agreed(
    command: &Command,
    named: Protocol,
    pasted: Option<Protocol>,
) -> Result<Protocol, Failure> {
    let is_web = |protocol| matches!(protocol, Protocol::Http | Protocol::Https);
    match pasted {
        None => Ok(named),
        Some(pasted) if pasted == named || (is_web(named) && is_web(pasted)) => Ok(pasted),
        Some(pasted) if named.is_database() && pasted.is_database() => Ok(named),
        // Any port is one of TCP.
        Some(_) if named == Protocol::Tcp => Ok(named),
        Some(pasted) => Err(command.usage(format!(
            "that address is for {}, not for {}",
            pasted.name(),
            named.name()
        ))),
    }
}

/// Checks the fields as the manager does.
pub(super) fn checked(command: &Command, fields: &Fields) -> Result<AppInput, Failure> {
    // The start decides whether a server without TLS may be used.
    let input = AppInput::parse(&Value::Object(fields.clone()), true);
    input.map_err(|invalid| command.usage(in_words(&invalid)))
}

/// Describes errors with the names of flags and operands.
fn in_words(invalid: &Invalid) -> String {
    let wrong = invalid
        .fields()
        .map(|(name, why)| format!("{} {why}", called(name)));
    wrong.collect::<Vec<_>>().join("; ")
}

fn called(field: &str) -> String {
    let known = CALLED.iter().find(|(name, _)| *name == field);
    known.map_or_else(
        || format!("--{}", field.replace('_', "-")),
        |(_, words)| (*words).to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_said_by_the_flags_names() {
        let fields = json!({"protocol": "http", "ip": "a b", "site_name": "-x", "host_header": "a b", "username": 7});
        let Value::Object(fields) = fields else {
            unreachable!("it is an object")
        };
        let failure = checked(&super::super::args::app::ADD, &fields);
        let (status, said, _) = failure
            .err()
            .map(|failure| {
                let (status, said, hint) = failure.parts();
                (status, said.to_owned(), hint.is_some())
            })
            .unwrap();
        assert_eq!(status, 2);
        for words in [
            "ADDRESS must be",
            "--site-name must",
            "--host must",
            "--app-username must",
        ] {
            assert!(said.contains(words), "{said}");
        }
    }
}
