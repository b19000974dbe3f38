//! `postern app add`: adds an application from an address and flags.

use serde_json::Value;

use super::connect;
use super::connecting::Patience;
use super::listing::{called, enroll, named, unsaved};
use crate::api::App;
use crate::cli::args::app::{ADD, AND_CONNECT, DB_PASS, DISPLAY_NAME, READWRITE, REPLACE};
use crate::cli::args::command::{Command, GUEST, NAME, Parsed, SITE_NAME};
use crate::cli::args::values::{PASSWORD_VARIABLE, environment};
use crate::cli::failure::{Failure, print, print_json, quoted, warn};
use crate::cli::fields::{Fields, text};
use crate::cli::manager_client::Manager;
use crate::cli::serve::data_dir;
use crate::cli::{fields, link};
use crate::manager::ServerUrl;
use crate::manager::protocol::Protocol;

/// Adds an application and prints its ID.
pub(super) fn add(parsed: &Parsed) -> Result<(), Failure> {
    let fields = read(parsed)?;
    fields::checked(&ADD, &fields)?;
    let (home, connects) = (data_dir()?, parsed.has(&AND_CONNECT));
    let manager = match connects {
        true => Manager::running(&home)?,
        false => Manager::open(&home)?,
    };
    if connects {
        let named = text(&fields, "server").and_then(|url| ServerUrl::parse(url, true).ok());
        let server = named.map_or_else(
            || manager.own_server().map(|(own, _)| own),
            |named| Ok(Some(named)),
        )?;
        fields::guard_port(&ADD, parsed, &fields, server.as_ref())?;
    }
    enroll(&manager, &ADD, parsed, text(&fields, "server"))?;
    let before = match parsed.has(&REPLACE) {
        true => {
            let apps = manager.apps()?;
            let name = text(&fields, "name").unwrap_or_default();
            named(&apps, name)?.map(|app| app.id.clone())
        }
        false => None,
    };
    let added = match before {
        Some(id) => manager.replace(&id, &fields),
        None => manager.add(&fields),
    };
    let added = added.map_err(unsaved)?;
    print_warning(&added);
    if connects {
        return connect_it(&manager, &added, parsed);
    }
    warn_of_other_name(parsed, &added, link::unfit);
    print_added(parsed, &added)
}

fn print_added(parsed: &Parsed, added: &App) -> Result<(), Failure> {
    match parsed.wants_json() {
        true => print_json(added),
        false => print(&format!("{}\n", added.id)),
    }
}

/// Connects it; if that fails, it stays saved and a warning says so.
fn connect_it(manager: &Manager, added: &App, parsed: &Parsed) -> Result<(), Failure> {
    let one = std::slice::from_ref(added);
    let done = connect::connect_each(manager, one, parsed, Patience::default());
    if done.is_err() {
        // With --json the application is printed with the error.
        if !parsed.wants_json() {
            print_added(parsed, added)?;
        }
        let (name, kept) = (called(added), quoted(&added.name));
        warn(&format!(
            "saved as {kept}, not connected; fix it with 'postern app edit {name} …' or remove it with 'postern app \
             remove {name}'"
        ));
        return done;
    }
    let result = manager.status(&added.id)?;
    if result.site_name_wanted.is_none() {
        warn_of_other_name(parsed, added, |wish| link::renamed(wish, &result.site_url));
    }
    Ok(())
}

/// Warns if the site has, or would get, another name than the command line asks for.
fn warn_of_other_name(parsed: &Parsed, added: &App, notice: impl Fn(&str) -> Option<String>) {
    let has_site = added.protocol.is_visited_by_http();
    let names = [&SITE_NAME, &DISPLAY_NAME, &NAME];
    let wish = names.into_iter().find_map(|flag| parsed.value(flag));
    if let Some(line) = wish.filter(|_| has_site).and_then(|wish| notice(&wish)) {
        warn(line.trim_end());
    }
}

/// Reads the application's JSON form; its values are not checked yet.
fn read(parsed: &Parsed) -> Result<Fields, Failure> {
    let mut fields = Fields::new();
    let protocol = protocol(parsed, &mut fields)?;
    fields.insert("protocol".into(), protocol.name().into());
    fields::fit_protocol(&ADD, parsed, protocol)?;
    fields::set_flags(&mut fields, &ADD, parsed)?;
    guest_only_reads(&ADD, parsed, &fields)?;
    let may_read = protocol.is_database() && !fields.contains_key("db_pass");
    let variable = || environment(PASSWORD_VARIABLE).filter(|_| may_read);
    let password = parsed.value(&DB_PASS).or_else(variable);
    fields.extend(password.map(|password| ("db_pass".to_owned(), Value::from(password))));
    if parsed.has(&REPLACE) && !parsed.has(&NAME) {
        return Err(ADD.usage("--replace needs --name"));
    }
    Ok(fields)
}

/// Reads the protocol, and the address into `fields`: one URL may contain both.
fn protocol(parsed: &Parsed, fields: &mut Fields) -> Result<Protocol, Failure> {
    let first = parsed.operand();
    let unknown = || {
        let known = Protocol::ALL.map(Protocol::name).join(", ");
        let message = format!("unknown protocol {}: give one of {known}", quoted(first));
        ADD.usage(message)
    };
    let (named, address) = match parsed.operands() {
        [url] if url.contains("://") => (None, Some(url)),
        [name, rest @ ..] => (
            Some(Protocol::named(name).ok_or_else(unknown)?),
            rest.first(),
        ),
        [] => return Err(unknown()),
    };
    let Some(address) = address else {
        return named.ok_or_else(unknown);
    };
    let endpoint = fields::read_address(&ADD, address)?;
    let pasted = endpoint.protocol;
    fields::set_address(fields, endpoint);
    match named.or(pasted) {
        Some(protocol) => fields::agreed(&ADD, protocol, pasted),
        None => Err(unknown()),
    }
}

/// Refuses write access for a guest account, if a flag of this line asks for either.
pub(super) fn guest_only_reads(
    command: &Command,
    parsed: &Parsed,
    fields: &Fields,
) -> Result<(), Failure> {
    let guest = fields.get("guest").and_then(Value::as_array);
    let has_guest = guest.is_some_and(|grants| !grants.is_empty());
    let writes = fields.get("db_readonly") == Some(&Value::Bool(false));
    let what = match has_guest && writes {
        true if parsed.has(&READWRITE) => "remove --readwrite",
        true if parsed.has(&GUEST) => "add --readonly",
        _ => return Ok(()),
    };
    Err(command.usage(format!("--guest creates a read-only account: {what}")))
}

/// Warns if a database was added with flags that reduce its protection.
pub(super) fn print_warning(app: &App) {
    if let Some((what, given)) = less_protection(app) {
        warn(&format!("once connected, {what} ({given})"));
    }
}

/// Returns a warning if an imported database has reduced protection.
pub(super) fn of_imported(app: &App) -> Option<String> {
    let (what, _) = less_protection(app)?;
    Some(format!("once connected, {what}"))
}

/// Describes what visitors can do, and the flags that allow it.
fn less_protection(app: &App) -> Option<(&'static str, &'static str)> {
    match (app.invisible, app.db_readonly) {
        _ if !app.protocol.is_database() => None,
        (true, true) => None,
        (true, false) => Some((
            "anyone with the code can change and delete data",
            "--readwrite",
        )),
        (false, true) => Some((
            "anyone who knows the address can read the database without a code",
            "--visible",
        )),
        (false, false) => Some((
            "anyone who knows the address can read, change and delete data without a code",
            "--visible and --readwrite",
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn body(line: &[&str]) -> Result<Value, Failure> {
        let words: Vec<String> = line.iter().map(|&word| word.to_owned()).collect();
        Ok(Value::Object(read(&ADD.parse(&words)?)?))
    }

    #[test]
    fn flags_become_fields() {
        let line = [
            "mysql",
            "db:3307",
            "--name",
            "n",
            "--visible",
            "--db-pass",
            "p",
            "--tunnel-port",
            "9",
            "--autoconnect",
            "--allow",
            "10.0.0.0/8",
            "--allow",
            "::1",
            "--until",
            "2130-01-31T18:00:00+01:00",
            "--guest",
            "shop.*",
            "--host",
            "target",
            "--group",
            "g",
            "--max-streams",
            "7",
            "--audit",
        ];
        let expected = json!({"protocol": "mysql", "ip": "db", "port": 3307, "name": "n",
            "invisible": false, "db_pass": "p", "tunnel_port": 9, "autoconnect": true,
            "allow": ["10.0.0.0/8", "::1"], "expires": "2130-01-31T17:00:00Z", "guest": ["shop.*"],
            "host_header": "target", "group": "g", "max_streams": 7, "audit": true});
        assert_eq!(body(&line).unwrap(), expected);
    }

    #[test]
    fn a_whole_url_is_protocol_and_address() {
        for (line, protocol, ip, port) in [
            (
                &["http", "http://127.0.0.1:3000/"][..],
                "http",
                "127.0.0.1",
                3000,
            ),
            (&["http", "https://nas:8443"], "https", "nas", 8443),
            (&["https://nas:8443/x"], "https", "nas", 8443),
            (&["tcp", "http://127.0.0.1:3000/"], "tcp", "127.0.0.1", 3000),
            (
                &["mariadb", "mysql://u:p@db:3307/shop"],
                "mariadb",
                "db",
                3307,
            ),
        ] {
            let body = body(line).unwrap();
            assert_eq!(
                (&body["protocol"], &body["ip"], &body["port"]),
                (&json!(protocol), &json!(ip), &json!(port)),
                "{line:?}"
            );
        }
        let body_of = body(&["mysql://u:p@db/shop"]).unwrap();
        assert_eq!(
            (
                &body_of["db_user"],
                &body_of["db_pass"],
                &body_of["db_name"]
            ),
            (&json!("u"), &json!("p"), &json!("shop"))
        );
        for line in [
            &["ssh", "http://x/"][..],
            &["gopher"],
            &["gopher://x"],
            &["http", "::1"],
        ] {
            assert_eq!(body(line).unwrap_err().parts().0, 2, "{line:?}");
        }
    }
}
