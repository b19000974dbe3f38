//! `postern app list|add|connect|disconnect|trust|remove`: the manager's applications, for scripts.
//!
//! Where a `postern start` runs on the directory, it is asked; where none does, the stored list is read and changed.

mod client;
mod connecting;
mod listing;
mod opened;
mod trust;

use std::net::Ipv6Addr;

use serde_json::{Map, Value};

use super::command::{Command, Flag, Parsed};
use super::failure::{Failure, printable, quoted, warn};
use super::output::print;
use super::suggest::nearest;
use super::target;
use crate::manager::app_input::AppInput;
use crate::manager::app_store::{self, AppStore};
use crate::manager::protocol::Protocol;
use crate::store::DataDir;
use client::{Manager, text};

const GROUP: Command = Command {
    name: "app",
    operands: "list|add|connect|disconnect|trust|remove",
    operand_count: 0..=usize::MAX,
    about: "Lists and changes the applications of 'postern start', for scripts.",
    flags: &[],
    notes: "\
Commands:
  list                        show ID, STATUS, PROTOCOL, ADDRESS, ACCESS, HEALTH,
                              SITE, NAME
  add PROTOCOL [ADDRESS]      add an application
  connect ID                  connect it, and wait until it is connected
  disconnect ID               disconnect it
  trust ID                    accept the changed host key of its tunnel server
  remove ID                   disconnect and remove it
An application is meant by its ID, or by its name where only one has it.
Exit status: 0 done, 1 failed, 2 the command line is wrong, 3 not reached, 4 refused,
5 over a limit, 130 the waiting was interrupted.",
};
const JSON: Flag = Flag {
    long: "json",
    alias: "",
    value: "",
    repeatable: false,
    help: "print JSON",
};
const LIST: Command = Command {
    name: "app list",
    operands: "",
    operand_count: 0..=0,
    about: "Lists the applications, in columns that tabs separate.",
    flags: &[JSON],
    notes: "",
};
const CONNECT: Command = Command {
    name: "app connect",
    operands: "ID",
    operand_count: 1..=1,
    about: "Connects an application, waits until it is connected and prints its site's URL.",
    flags: &[JSON, NO_WAIT],
    notes: "",
};
const NO_WAIT: Flag = Flag {
    long: "no-wait",
    alias: "",
    value: "",
    repeatable: false,
    help: "do not wait",
};
const DISCONNECT: Command = Command {
    name: "app disconnect",
    about: "Disconnects an application.",
    flags: &[],
    ..CONNECT
};
const REMOVE: Command = Command {
    name: "app remove",
    about: "Disconnects an application and removes it.",
    flags: &[],
    ..CONNECT
};
const ADD: Command = Command {
    name: "app add",
    operands: "PROTOCOL [ADDRESS]",
    operand_count: 1..=2,
    about: "Adds an application and prints its ID.",
    flags: &[
        NAME,
        SERVER,
        TUNNEL_PORT,
        SITE_NAME,
        DISPLAY_NAME,
        INVISIBLE,
        VISIBLE,
        USERNAME,
        AUTH_PASS,
        DB_USER,
        DB_PASS,
        DB_NAME,
        READONLY,
        READWRITE,
        AUTOCONNECT,
        JSON,
    ],
    notes: "\
PROTOCOL is one of http, https, tcp, ssh, rdp, vnc, telnet, mysql, mariadb.
ADDRESS is PORT, HOST or HOST:PORT (default: the protocol's port of 127.0.0.1).",
};

/// A flag with a value that becomes a field.
const fn valued(long: &'static str, value: &'static str, help: &'static str) -> Flag {
    Flag {
        long,
        alias: "",
        value,
        repeatable: false,
        help,
    }
}

const NAME: Flag = valued("name", "NAME", "what it is called");
const SERVER: Flag = valued("server", "URL", "connect it through this server");
const TUNNEL_PORT: Flag = valued("tunnel-port", "PORT", "the tunnel server's port");
const SITE_NAME: Flag = valued("site-name", "NAME", "wished name of its site");
const DISPLAY_NAME: Flag = valued("display-name", "NAME", "what the server calls it");
const USERNAME: Flag = valued("app-username", "NAME", "a user name to keep with it");
const AUTH_PASS: Flag = valued(
    "app-pass",
    "PASSWORD",
    "its password; other users of this machine can see it in the list of processes",
);
const DB_USER: Flag = valued("db-user", "NAME", "database user (default root)");
const DB_PASS: Flag = valued(
    "db-pass",
    "PASSWORD",
    "its password; other users of this machine can see it in the list of processes: \
     POSTERN_DB_PASS is safer",
);
const DB_NAME: Flag = valued("db-name", "NAME", "database to begin with");
const INVISIBLE: Flag = valued(
    "invisible",
    "",
    "visitors need a code (default for databases)",
);
const VISIBLE: Flag = valued(
    "visible",
    "",
    "visitors need no code (default for all others)",
);
const READONLY: Flag = valued(
    "readonly",
    "",
    "refuse every statement that could write (default for databases)",
);
const READWRITE: Flag = valued("readwrite", "", "let statements write");
const AUTOCONNECT: Flag = valued(
    "autoconnect",
    "",
    "connect it whenever 'postern start' starts",
);

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

/// What a subcommand does.
type Action = fn(&Parsed) -> Result<(), Failure>;

/// Runs the subcommand that the first argument names.
pub(super) fn run(arguments: &[String]) -> Result<(), Failure> {
    let Some((word, rest)) = arguments.split_first() else {
        return Err(Failure::usage_text(&GROUP.help(GROUP.name)));
    };
    let (command, action): (&Command, Action) = match word.as_str() {
        "list" => (&LIST, list),
        "add" => (&ADD, add),
        "connect" => (&CONNECT, connect),
        "disconnect" => (&DISCONNECT, disconnect),
        "trust" => (&trust::TRUST, trust::trust),
        "remove" => (&REMOVE, remove),
        _ => return no_subcommand(arguments, word),
    };
    let parsed = command.parse(rest)?;
    if parsed.wants_help() {
        return print(&command.help(command.name));
    }
    action(&parsed)
}

fn no_subcommand(arguments: &[String], word: &str) -> Result<(), Failure> {
    if GROUP.parse(arguments)?.wants_help() {
        return print(&GROUP.help(GROUP.name));
    }
    let near = nearest(
        word,
        ["list", "add", "connect", "disconnect", "trust", "remove"],
    );
    let guess = near.map_or(String::new(), |near| format!("did you mean '{near}'? "));
    let message = format!("unknown command {}", quoted(&format!("app {word}")));
    Err(Failure::usage(message).hint(guess + &GROUP.see_help()))
}

fn list(parsed: &Parsed) -> Result<(), Failure> {
    let home = home()?;
    let apps = apps(&home, Manager::find(&home)?.as_ref())?;
    if parsed.has(&JSON) {
        return print(&format!("{:#}\n", Value::from(apps)));
    }
    print(&listing::table(&apps))
}

/// Every application as the API shows it; without a manager all are idle.
fn apps(home: &DataDir, manager: Option<&Manager>) -> Result<Vec<Value>, Failure> {
    if let Some(manager) = manager {
        let answer = manager.call("GET", "/api/apps", None)?;
        return Ok(answer.as_array().cloned().unwrap_or_default());
    }
    let stored = AppStore::new(home.clone()).list().map_err(of_store)?;
    let shown = stored.iter().map(|app| {
        let mut shown = app.to_json();
        if let Some(members) = shown.as_object_mut() {
            members.insert("conn_status".into(), "idle".into());
        }
        shown
    });
    Ok(shown.collect())
}

fn add(parsed: &Parsed) -> Result<(), Failure> {
    let body = body(parsed)?;
    // Whether a server without TLS may be used is for the start to say.
    let draft = AppInput::parse(&body, true).map_err(|invalid| usage(&ADD, invalid.to_string()))?;
    let home = home()?;
    let added = match Manager::find(&home)? {
        Some(manager) => manager.call("POST", "/api/apps", Some(&body))?,
        None => AppStore::new(home).add(draft).map_err(of_store)?.to_json(),
    };
    if let Some(opened) = opened::by(&added) {
        warn(&opened);
    }
    match parsed.has(&JSON) {
        true => print(&format!("{added:#}\n")),
        false => print(&format!("{}\n", text(&added, "/id"))),
    }
}

/// The application's JSON form; whether its values can be used is for the draft to say.
fn body(parsed: &Parsed) -> Result<Value, Failure> {
    let mut fields = Map::new();
    let mut operands = parsed.operands().iter();
    let protocol = operands.next().map(String::as_str).unwrap_or_default();
    let Some(protocol) = Protocol::named(protocol) else {
        return Err(usage(
            &ADD,
            format!(
                "unknown protocol {}: give one of {}",
                quoted(protocol),
                Protocol::ALL.map(Protocol::name).join(", ")
            ),
        ));
    };
    fields.insert("protocol".into(), protocol.name().into());
    if !protocol.is_database()
        && let Some(flag) = OF_DATABASES.iter().find(|flag| parsed.has(flag))
    {
        return Err(usage(
            &ADD,
            format!(
                "--{} is for databases, not for {}",
                flag.long,
                protocol.name()
            ),
        ));
    }
    if let Some(address) = operands.next() {
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
    let variable = || std::env::var(super::settings::PASSWORD_VARIABLE).ok();
    let variable = || variable().filter(|password| protocol.is_database() && !password.is_empty());
    parsed.value(&DB_PASS).or_else(variable)
}

/// `PORT`, `HOST`, `HOST:PORT`, `[V6]`, `[V6]:PORT`.
fn address_of(text: &str) -> Result<(Option<String>, Option<u16>), Failure> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok((None, Some(number(text)?)));
    }
    let wrong = |how: &str| {
        let text = quoted(&target::redacted(text));
        usage(&ADD, format!("{text} is not an address: {how}"))
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
    let (host, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    match rest.strip_prefix(':') {
        Some(port) => Ok((Some(host.to_owned()), Some(number(port)?))),
        None if rest.is_empty() => Ok((Some(host.to_owned()), None)),
        None => Err(wrong("give PORT, HOST or HOST:PORT")),
    }
}

fn number(text: &str) -> Result<u16, Failure> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(port) if is_number && port > 0 => Ok(port),
        _ => Err(usage(
            &ADD,
            format!(
                "{} is not a port: give a number from 1 to 65535",
                quoted(text)
            ),
        )),
    }
}

fn connect(parsed: &Parsed) -> Result<(), Failure> {
    let (manager, id) = running(parsed)?;
    manager.call("POST", &format!("/api/connect/{id}"), None)?;
    let result = match parsed.has(&NO_WAIT) {
        true => manager.call("GET", &format!("/api/status/{id}"), None)?,
        false => connecting::wait_connected(&manager, &id, &typed(parsed, &id))?,
    };
    if result.get("pending_changes") == Some(&Value::Bool(true)) {
        let name = typed(parsed, &id);
        warn(&format!(
            "saved changes are not in force\n'postern app disconnect {name}', then 'postern app connect {name}'"
        ));
    }
    if text(&result, "/health/state") == "failing" {
        let error = printable(text(&result, "/health/error"));
        warn(&format!("connected, but {error}"));
    }
    if parsed.has(&JSON) {
        return print(&format!("{result:#}\n"));
    }
    let urls = ["/site_url", "/auth_url"].map(|pointer| text(&result, pointer));
    let lines: Vec<String> = urls
        .into_iter()
        .filter(|url| !url.is_empty())
        .map(|url| format!("{}\n", url.escape_default()))
        .collect();
    print(&lines.concat())
}

fn disconnect(parsed: &Parsed) -> Result<(), Failure> {
    let (manager, id) = running(parsed)?;
    manager
        .call("POST", &format!("/api/disconnect/{id}"), None)
        .map(drop)
}

fn remove(parsed: &Parsed) -> Result<(), Failure> {
    let home = home()?;
    let manager = Manager::find(&home)?;
    let id = meant(parsed, &apps(&home, manager.as_ref())?)?;
    match manager {
        Some(manager) => manager
            .call("DELETE", &format!("/api/apps/{id}"), None)
            .map(drop),
        None => AppStore::new(home).remove(&id).map(drop).map_err(of_store),
    }
}

/// The manager, without which nothing can be connected, and the application that is meant.
fn running(parsed: &Parsed) -> Result<(Manager, String), Failure> {
    let home = home()?;
    let Some(manager) = Manager::find(&home)? else {
        let message = format!("no 'postern start' runs on {}", home.dir().display());
        return Err(
            Failure::operation(message).hint("run 'postern start' first: it keeps the connections")
        );
    };
    let id = meant(parsed, &apps(&home, Some(&manager))?)?;
    Ok((manager, id))
}

/// What the user calls the application, where a shell takes that as one word; else its identifier.
fn typed(parsed: &Parsed, id: &str) -> String {
    let typed = parsed.operands().first().map_or("", String::as_str);
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    match !typed.is_empty() && !typed.starts_with('-') && typed.bytes().all(is_plain) {
        true => typed.to_owned(),
        false => id.to_owned(),
    }
}

/// By identifier, or by a name that only one has.
fn meant(parsed: &Parsed, apps: &[Value]) -> Result<String, Failure> {
    let typed = parsed.operands().first().map_or("", String::as_str);
    let with = |member: &str| -> Vec<&Value> {
        apps.iter()
            .filter(|app| text(app, member) == typed)
            .collect()
    };
    let by_id = with("/id");
    let found = if by_id.is_empty() {
        with("/name")
    } else {
        by_id
    };
    match found.as_slice() {
        [app] => Ok(text(app, "/id").to_owned()),
        [] => Err(
            Failure::operation(format!("there is no application {}", quoted(typed)))
                .hint("'postern app list' shows what is there"),
        ),
        _ => Err(Failure::operation(format!(
            "{} applications are called {}",
            found.len(),
            quoted(typed)
        ))
        .hint("give the ID: 'postern app list' shows it")),
    }
}

fn home() -> Result<DataDir, Failure> {
    DataDir::locate().map_err(|error| Failure::operation(error.to_string()).hint(error.hint()))
}

fn of_store(error: app_store::Error) -> Failure {
    let failure = Failure::operation(error.to_string());
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn usage(command: &Command, message: String) -> Failure {
    Failure::usage(message).hint(command.see_help())
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
