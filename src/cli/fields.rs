//! Flags and addresses of the command line as the fields of an application, with errors that name flags and operands.

use std::net::Ipv6Addr;
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};
use zeroize::Zeroizing;

use super::args::app::EDIT;
use super::args::command::{ALLOW, Command, FOR, Flag, Parsed, UNTIL, VISIBLE, of_fields};
use super::args::values::{duration, whole_number};
use super::clock::Zone;
use super::failure::{Failure, quoted, warn};
use super::target;
use crate::manager::ServerUrl;
use crate::manager::app_input::{AppInput, Invalid};
use crate::manager::apps::fields::{Field, FieldFlag, Kind, Sets, Uses, field};
use crate::manager::protocol::Protocol;
use crate::net::authority;
use crate::sqlweb::Target;
use crate::store::time::{parse_rfc3339, rfc3339};

/// The fields of an application.
pub(super) type Fields = Map<String, Value>;

/// Addresses that every protocol accepts.
const ADDRESS_EXAMPLES: &str = "examples: 3000, db-host, 192.0.2.7:3000, [::1]:3000";
/// The longest `--for`. Default 366 days: a longer share needs no end time.
const LONGEST: Duration = crate::limits::LONGEST_SHARE;

/// Text of a field.
pub(super) fn text<'a>(fields: &'a Fields, name: &str) -> Option<&'a str> {
    fields.get(name)?.as_str()
}

/// The protocol of an application.
pub(super) fn protocol(fields: &Fields) -> Option<Protocol> {
    Protocol::named(text(fields, "protocol")?)
}

/// Refuses to open a public port through `server` unless the command line allows it: nobody asks the visitors of a port
/// for a code. A missing `server` is the relay on this machine.
pub(super) fn guard_port(
    command: &Command,
    parsed: &Parsed,
    fields: &Fields,
    server: Option<&ServerUrl>,
) -> Result<(), Failure> {
    let asks_for_a_code = protocol(fields).is_some_and(Protocol::is_visited_by_http);
    let is_allowed = parsed.has(&ALLOW) || parsed.has(&VISIBLE);
    if asks_for_a_code || is_allowed || server.is_none_or(ServerUrl::is_loopback) {
        return Ok(());
    }
    let message = "anybody could connect through that relay without a code";
    let hint = "limit access with --allow CIDR, or allow everybody with --visible";
    Err(command.usage(message).hint(hint))
}

/// Sets the fields that flags set. An empty list or time, and 0 streams, mean none.
pub(super) fn set_flags(
    fields: &mut Fields,
    command: &Command,
    parsed: &Parsed,
) -> Result<(), Failure> {
    if command.name != EDIT.name {
        nothing_is_empty(command, parsed)?;
    }
    for (field, of, flag) in given(parsed) {
        let value = match of.sets {
            Sets::Nothing => continue,
            // The flags of the end time are read together.
            Sets::Value if field.kind == Kind::Time => continue,
            Sets::Value => value(command, parsed, field, &flag)?,
            Sets::To(value) => Value::from(value),
        };
        if of.is_for_edit && fields.contains_key(field.name) {
            return Err(command.usage(format!("--{} contradicts another flag", of.long)));
        }
        fields.insert(field.name.to_owned(), value);
    }
    if parsed.value(&UNTIL).as_deref() == Some("") {
        fields.insert("expires".to_owned(), Value::Null);
    } else if let Some(end) = end(command, parsed)? {
        set_expiry(fields, end);
    }
    Ok(())
}

/// The flags of this line that belong to fields.
fn given(parsed: &Parsed) -> impl Iterator<Item = (&'static Field, &'static FieldFlag, Flag)> {
    of_fields().filter(|(.., flag)| parsed.has(flag))
}

/// The value of a flag for its field.
fn value(command: &Command, parsed: &Parsed, field: &Field, flag: &Flag) -> Result<Value, Failure> {
    let mut values = parsed.values(flag);
    if field.is_list() {
        values.retain(|value| !value.is_empty());
        return Ok(json!(values));
    }
    let text = values.pop().unwrap_or_default();
    let zero = match field.kind {
        Kind::Number(_) => None,
        Kind::Port => Some(0),
        _ => return Ok(text.into()),
    };
    let number = whole_number::<u32>(&text, &(0..=u32::MAX));
    let number = number.ok_or_else(|| command.refuse(flag, &text, "give a number"))?;
    Ok(json!(Some(number).filter(|number| *number > 0).or(zero)))
}

/// Refuses an empty value, for example of an unset variable, that would protect less than intended.
fn nothing_is_empty(command: &Command, parsed: &Parsed) -> Result<(), Failure> {
    let empty = given(parsed).find(|(field, of, flag)| {
        let protects = !field.omitted.is_empty() && of.sets == Sets::Value;
        protects && parsed.values(flag).iter().any(String::is_empty)
    });
    match empty {
        Some((field, of, _)) => {
            let (name, omitted) = (of.long, field.omitted);
            Err(command.usage(format!("--{name} is empty: omit it {omitted}")))
        }
        None => Ok(()),
    }
}

/// Refuses the flags of databases for other protocols.
pub(super) fn fit_protocol(
    command: &Command,
    parsed: &Parsed,
    protocol: Protocol,
) -> Result<(), Failure> {
    let mut given = given(parsed);
    match given.find(|(field, ..)| field.uses == Uses::Databases) {
        Some((_, of, _)) if !protocol.is_database() => Err(command.usage(format!(
            "--{} is for databases, not for {}",
            of.long,
            protocol.name()
        ))),
        _ => Ok(()),
    }
}

/// Sets the end time.
pub(super) fn set_expiry(fields: &mut Fields, end: SystemTime) {
    fields.insert("expires".to_owned(), rfc3339(end).into());
}

/// Reads an address; the error is about the command's line.
pub(super) fn read_address(command: &Command, text: &str) -> Result<Endpoint, Failure> {
    let read = parse(text).map_err(|why| {
        let text = quoted(&target::redacted(text));
        let hint = format!("{ADDRESS_EXAMPLES}; see 'postern {} --help'", command.name);
        let failure = Failure::usage(format!("{text} is not an address: {why}"));
        failure.hint(hint)
    })?;
    let host = read.host.as_deref().filter(|host| is_like_a_port(host));
    if let Some(host) = host.filter(|_| read.port.is_none()) {
        let host = quoted(host);
        warn(&format!(
            "{host} is read as a host name: a port has only digits"
        ));
    }
    Ok(read)
}

/// Sets the parts of an address. Its path is the page that links open; the whole site is shared.
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

/// The protocol by a command and a pasted URL; for a web site the URL decides.
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
        // TCP accepts any port.
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

fn called(name: &str) -> String {
    match field(name) {
        Some(field) => field.on_the_command_line(),
        None if name == "body" => "the application".to_owned(),
        None => format!("--{}", name.replace('_', "-")),
    }
}

/// End time by `--for` or `--until`; none without them.
fn end(command: &Command, parsed: &Parsed) -> Result<Option<SystemTime>, Failure> {
    let now = SystemTime::now();
    let after = command.read(parsed, &FOR, |text| {
        span(text).ok_or("give a time such as 30s, 90m, 1h30m, 8h or 2d, of at most 366 days")
    })?;
    let until = command.read(parsed, &UNTIL, |text| {
        let end = match of_day(text) {
            Some(of_day) => Some(Zone::local().next(now, of_day)),
            None => parse_rfc3339(text),
        };
        match end {
            Some(end) if end > now => Ok(end),
            Some(_) => Err(
                "this time is in the past; give a later one such as 18:00 or 2030-01-31T18:00:00Z",
            ),
            None => Err("give a time such as 18:00 or 2030-01-31T18:00:00Z"),
        }
    })?;
    Ok(after.map(|span| now + span).or(until))
}

/// A time above 0 with a unit, because a number alone could also mean hours.
fn span(text: &str) -> Option<Duration> {
    duration(text).filter(|span| !span.is_zero() && *span <= LONGEST)
}

/// `18:00`, as seconds since midnight.
fn of_day(text: &str) -> Option<i64> {
    let (hour, minute) = text.split_once(':')?;
    let number = |text: &str, below: i64| {
        let is_number = matches!(text.len(), 1 | 2) && text.bytes().all(|b| b.is_ascii_digit());
        text.parse()
            .ok()
            .filter(|number: &i64| is_number && *number < below)
    };
    let minute = number(minute, 60).filter(|_| minute.len() == 2)?;
    Some(number(hour, 24)? * 3600 + minute * 60)
}

/// Given parts; the protocol has defaults for the others.
#[derive(Default)]
pub(super) struct Endpoint {
    /// Protocol in the URL.
    pub(super) protocol: Option<Protocol>,
    pub(super) host: Option<String>,
    pub(super) port: Option<u16>,
    /// Path in a web site's URL, `/admin?x=1`; none for `/`.
    pub(super) path: Option<String>,
    /// User in a database's URL.
    pub(super) user: Option<String>,
    pub(super) password: Option<Zeroizing<String>>,
    pub(super) database: Option<String>,
}

/// Reads `PORT`, `HOST`, `HOST:PORT`, `[V6]`, `[V6]:PORT` or a whole URL. The error says what is wrong and what to
/// give; it never holds a password.
pub(super) fn parse(text: &str) -> Result<Endpoint, String> {
    if let Some((scheme, rest)) = text.split_once("://") {
        return url(text, scheme, rest);
    }
    // It may be copied from a browser's address line without the scheme.
    let place = text.split(['/', '?', '#']).next().unwrap_or_default();
    if text.starts_with('/') {
        return Err("it is a file: give PORT, HOST or HOST:PORT".to_owned());
    }
    if let Some((user, host)) = place.rsplit_once('@') {
        let user = user.split(':').next().unwrap_or_default();
        return Err(format!(
            "visitors give their own name: remove {user}@ before {host}"
        ));
    }
    Ok(Endpoint {
        path: path(text),
        ..host_and_port(place)?
    })
}

/// True if a host may be a mistyped port: digits first, and no dot, as in `473o1`.
pub(super) fn is_like_a_port(host: &str) -> bool {
    let is_plain = host.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_plain && host.starts_with(|first: char| first.is_ascii_digit())
}

/// Returns the path, fit for a URL. The link opens it; the whole site is shared.
fn path(after_scheme: &str) -> Option<String> {
    let (_, path) = after_scheme.split_at(after_scheme.find(['/', '?', '#'])?);
    let path = path.trim_start_matches('/');
    let fit = |byte: u8| match byte {
        b'!'..=b'~' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    (!path.is_empty()).then(|| format!("/{}", path.bytes().map(fit).collect::<String>()))
}

fn url(text: &str, scheme: &str, rest: &str) -> Result<Endpoint, String> {
    let scheme = scheme.to_ascii_lowercase();
    let Some(protocol) = Protocol::named(&scheme) else {
        let known = Protocol::ALL.map(Protocol::name).join(", ");
        return Err(format!("{scheme}:// is none of {known}"));
    };
    if protocol.is_database() {
        return database(text, protocol);
    }
    let place = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if rest.contains('@') && place.contains('@') {
        return Err(
            "it contains a user name or password, which nobody would receive: remove them"
                .to_owned(),
        );
    }
    Ok(Endpoint {
        protocol: Some(protocol),
        path: path(rest).filter(|_| protocol.is_visited_by_http()),
        ..host_and_port(place)?
    })
}

fn database(text: &str, protocol: Protocol) -> Result<Endpoint, String> {
    let address = target::read(text).map_err(str::to_owned)?;
    let Target::Tcp { host, port } = address.target else {
        return Err("give HOST:PORT".to_owned());
    };
    Ok(Endpoint {
        protocol: Some(protocol),
        host: Some(host),
        port: Some(port),
        user: address.user,
        password: address.password,
        database: address.database,
        path: None,
    })
}

fn host_and_port(text: &str) -> Result<Endpoint, String> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(Endpoint {
            port: Some(target::port(text)?),
            ..Endpoint::default()
        });
    }
    if text.parse::<Ipv6Addr>().is_ok() {
        return Err(format!("an IPv6 address needs brackets: [{text}]"));
    }
    let parts = authority::split(text).filter(|(host, _)| !host.is_empty());
    let (host, digits) = parts.ok_or("give PORT, HOST or HOST:PORT")?;
    if !authority::is_host(host) {
        return Err("a host name has letters, digits, '-' and '_' between single dots".to_owned());
    }
    Ok(Endpoint {
        host: Some(authority::bracketed(host).into_owned()),
        port: digits.map(target::port).transpose()?,
        ..Endpoint::default()
    })
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

    #[test]
    fn spans_and_times_of_day_are_read() {
        for (text, seconds) in [
            ("30s", 30),
            ("90m", 5400),
            ("8h", 28_800),
            ("2d", 172_800),
            ("1h30m", 5400),
            ("2d12h", 216_000),
            ("366d", 31_622_400),
        ] {
            assert_eq!(span(text), Some(Duration::from_secs(seconds)), "{text}");
        }
        for text in [
            "",
            "8",
            "h",
            "0s",
            "8H",
            "1.5h",
            "-1h",
            "1h30",
            "365d24h1s",
            "367d",
            "99999999999999999999d",
            "8 h",
        ] {
            assert_eq!(span(text), None, "{text}");
        }
        assert_eq!(of_day("18:00"), Some(64_800));
        assert_eq!((of_day("0:05"), of_day("23:59")), (Some(300), Some(86_340)));
        for text in [
            "", "24:00", "18:60", "18", "18:0", "18:00:00", "+1:00", "018:00", ":00",
        ] {
            assert_eq!(of_day(text), None, "{text}");
        }
    }

    #[test]
    fn addresses_and_urls_are_read() {
        for (text, protocol, host, port) in [
            ("8080", None, None, Some(8080)),
            ("db", None, Some("db"), None),
            ("db:1", None, Some("db"), Some(1)),
            ("[::1]", None, Some("[::1]"), None),
            ("[::1]:5", None, Some("[::1]"), Some(5)),
            ("localhost:3000/", None, Some("localhost"), Some(3000)),
            (
                "http://127.0.0.1:3000/",
                Some("http"),
                Some("127.0.0.1"),
                Some(3000),
            ),
            (
                "HTTP://localhost:3000",
                Some("http"),
                Some("localhost"),
                Some(3000),
            ),
            (
                "https://nas.local/x?y@z#w",
                Some("https"),
                Some("nas.local"),
                None,
            ),
            (
                "http://[::1]:3000/",
                Some("http"),
                Some("[::1]"),
                Some(3000),
            ),
            ("ssh://box:2222", Some("ssh"), Some("box"), Some(2222)),
            (
                "tcp://127.0.0.1:5432",
                Some("tcp"),
                Some("127.0.0.1"),
                Some(5432),
            ),
            ("http://3000/", Some("http"), None, Some(3000)),
        ] {
            let read = parse(text).unwrap_or_else(|why| panic!("{text}: {why}"));
            let found = (
                read.protocol.map(Protocol::name),
                read.host.as_deref(),
                read.port,
            );
            assert_eq!(found, (protocol, host, port), "{text}");
        }
        for (text, path) in [
            ("http://h:1", None),
            ("http://h:1/", None),
            ("http://h:1/admin", Some("/admin")),
            ("https://h/a b/ä?x=1#top", Some("/a%20b/%C3%A4?x=1#top")),
            ("http://h//evil.example/", Some("/evil.example/")),
            ("h:1?x", Some("/?x")),
            ("localhost:3000/admin/", Some("/admin/")),
            ("ssh://h/x", None),
        ] {
            let read = parse(text).unwrap_or_else(|why| panic!("{text}: {why}"));
            assert_eq!(read.path.as_deref(), path, "{text}");
        }
        let read = parse("mysql://u:p%40@db:3307/shop").unwrap();
        assert_eq!((read.host.as_deref(), read.port), (Some("db"), Some(3307)));
        assert_eq!(read.password.unwrap().as_str(), "p@");
        assert_eq!(
            (read.user.as_deref(), read.database.as_deref()),
            (Some("u"), Some("shop"))
        );
    }

    #[test]
    fn a_mistyped_port_is_none() {
        let is = |text: &str| is_like_a_port(&parse(text).unwrap().host.unwrap_or_default());
        for (text, expected) in [
            ("473o1", true),
            ("8o80/x", true),
            ("8080", false),
            ("db1", false),
            ("3com.example", false),
            ("1-box", false),
        ] {
            assert_eq!(is(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_none_says_what_to_give_and_no_password() {
        for (text, word) in [
            ("", "give PORT"),
            ("0", "1 to 65535"),
            ("70000", "1 to 65535"),
            ("db:", "1 to 65535"),
            ("db:x", "1 to 65535"),
            ("[::1]x", "give PORT"),
            (":80", "give PORT"),
            ("::1", "brackets: [::1]"),
            ("/run/x.sock", "give PORT"),
            ("gopher://x", "none of http, https"),
            ("http://", "give PORT"),
            ("http://u:secret@h:1/", "remove them"),
            ("me:secret@h", "remove me@"),
            ("mysql://u:secret@h:x", "port"),
        ] {
            let why = parse(text)
                .err()
                .unwrap_or_else(|| panic!("{text} is taken"));
            assert!(
                why.contains(word) && !why.contains("secret"),
                "{text}: {why}"
            );
        }
    }
}
