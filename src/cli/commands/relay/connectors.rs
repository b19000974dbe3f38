//! `postern relay list`, `revoke` and `allow`: by the running relay, or where none runs on its state.

use serde_json::Value;
use zeroize::Zeroizing;

use super::state_dir::{claim, of_store};
use crate::cli::api_client::{self, Answer, Call};
use crate::cli::failure::{Failure, printable, quoted};
use crate::cli::output::print;
use crate::relay::{self, Whereabouts};
use crate::store::{DataDir, Instance};

const HEADING: &str = "NAME\tSTATUS\tENROLLED\tURL\tTARGET\n";

const SEE_NAMES: &str = "'postern relay list' shows their names";

/// Prints a line an application, and one for each connector without any.
pub(super) fn list(data: &DataDir) -> Result<(), Failure> {
    let mut lines = HEADING.to_owned();
    match find(data)? {
        Some(running) => {
            let status = ask(&running, "GET", "/api/status")?;
            for connector in items(&status, "connectors") {
                lines.push_str(&lines_of_running(connector));
            }
            for revoked in items(&status, "revoked") {
                let enrolled = text(revoked, "enrolled_at");
                lines.push_str(&line_of_revoked(&text(revoked, "name"), &enrolled));
            }
        }
        None => {
            for connector in relay::enrolled(data).map_err(|error| of_state(&error))? {
                lines.push_str(&lines_of_stored(&connector));
            }
        }
    }
    print(&lines)
}

/// Turns a connector out, and prints the enrol token that holds from then on.
pub(super) fn revoke(data: &DataDir, name: &str) -> Result<(), Failure> {
    let (enroll_token, is_saved) = match find(data)? {
        Some(running) => {
            let path = format!("/api/connectors/{}", encoded(name));
            let done = ask(&running, "DELETE", &path)?;
            let token = done.get("enroll_token").and_then(Value::as_str);
            let token = token.map(|token| Zeroizing::new(token.to_owned()));
            let is_saved = done.get("saved").and_then(Value::as_bool) != Some(false);
            (token, is_saved)
        }
        None => {
            // So that none starts meanwhile and writes what it has read.
            let _instance = claim(data)?;
            let done = relay::revoke(data, name).map_err(|error| of_state(&error))?;
            let done = done.ok_or_else(|| unknown("there is no connector", name))?;
            (done.enroll_token, true)
        }
    };
    let name = printable(name);
    let token = match &enroll_token {
        Some(token) => format!(
            "The enrol token that it knows lets nobody in any more. Connectors that are enrolled need none.\n\
             Enrol token: {} (for new ones; shown this once: keep it)\n",
            **token
        ),
        None => {
            "This relay asks for no enrol token: whoever reaches it can enrol under another name. \
                 --enroll-token makes it ask.\n"
                .to_owned()
        }
    };
    print(&format!(
        "revoked {name}: it is out, until 'postern relay allow {name}'; its names and ports stay its own for 30 days.\n{token}"
    ))?;
    if !is_saved {
        return Err(not_saved(&name));
    }
    Ok(())
}

fn not_saved(name: &str) -> Failure {
    Failure::operation(format!(
        "{name} is revoked, but that is not saved: it lasts until the relay restarts"
    ))
    .hint("the relay's log says why; once that is mended, it is saved with the relay's next change, such as a connector's call")
}

/// Undoes that.
pub(super) fn allow(data: &DataDir, name: &str) -> Result<(), Failure> {
    let is_back = match find(data)? {
        Some(running) => {
            let path = format!("/api/revoked/{}", encoded(name));
            let done = ask(&running, "DELETE", &path)?;
            done.get("restored").and_then(Value::as_bool) == Some(true)
        }
        None => {
            let _instance = claim(data)?;
            let back = relay::allow(data, name).map_err(|error| of_state(&error))?;
            back.ok_or_else(|| unknown("no revoked connector is called", name))?
        }
    };
    let name = printable(name);
    let how = if is_back {
        "it is enrolled as before, with its names and ports"
    } else {
        "it may enrol again, with the enrol token"
    };
    print(&format!("allowed {name}: {how}\n"))
}

fn unknown(what: &str, name: &str) -> Failure {
    Failure::operation(format!("{what} {}", quoted(name))).hint(SEE_NAMES)
}

fn no_state(data: &DataDir) -> Failure {
    Failure::operation(format!("no relay's state in {}", data.dir().display()))
        .hint("name the directory of the relay with --data")
}

/// The relay that runs on the directory, which has a relay's state.
fn find(data: &DataDir) -> Result<Option<Whereabouts>, Failure> {
    let said = Instance::find(data).map_err(|error| of_store(&error))?;
    let Some(said) = said else {
        return if relay::has_state(data) {
            Ok(None)
        } else {
            Err(no_state(data))
        };
    };
    Whereabouts::read(&said).map(Some).ok_or_else(|| {
        Failure::operation(format!(
            "run/start.json in {} is damaged",
            data.dir().display()
        ))
        .hint("end the relay and start it again")
    })
}

fn ask(running: &Whereabouts, method: &str, path: &str) -> Result<Value, Failure> {
    let authorization = Zeroizing::new(format!("Bearer {}", *running.token));
    let call = Call {
        method,
        path,
        authorization: Some(&authorization),
        body: None,
    };
    let Answer {
        code,
        message,
        data,
    } = api_client::call(running.address, &call).map_err(|error| {
        Failure::operation(format!(
            "the relay at {} does not answer: {error}",
            running.address
        ))
        .hint("end it and start it again")
    })?;
    if code == Some(200) {
        return Ok(data);
    }
    let message = message.unwrap_or_else(|| "the relay gives no answer".to_owned());
    let hint = (code == Some(404)).then_some(SEE_NAMES);
    Err(Failure::operation(printable(&message)).hint_if(hint))
}

fn lines_of_running(connector: &Value) -> String {
    let first = |of: &Value| {
        let status = match of.get("connected").and_then(Value::as_bool) {
            Some(true) => "connected",
            _ => "away",
        };
        let (name, enrolled) = (text(connector, "name"), text(connector, "enrolled_at"));
        format!("{name}\t{status}\t{enrolled}")
    };
    let line = |of: &Value| {
        format!(
            "{}\t{}\t{}\n",
            first(of),
            text(of, "url"),
            text(of, "target")
        )
    };
    let lines: String = items(connector, "applications").map(line).collect();
    if lines.is_empty() {
        return format!("{}\t-\t-\n", first(connector));
    }
    lines
}

fn items<'a>(of: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    of.get(name).and_then(Value::as_array).into_iter().flatten()
}

fn text(of: &Value, name: &str) -> String {
    printable(of.get(name).and_then(Value::as_str).unwrap_or_default())
}

fn line_of_revoked(name: &str, enrolled: &str) -> String {
    let enrolled = if enrolled.is_empty() { "-" } else { enrolled };
    format!("{name}\trevoked\t{enrolled}\t-\t-\n")
}

fn lines_of_stored(connector: &relay::Enrolled) -> String {
    if connector.is_revoked {
        let (name, enrolled) = (&connector.name, &connector.enrolled_at);
        return line_of_revoked(&printable(name), &printable(enrolled));
    }
    let first = format!(
        "{}\t-\t{}",
        printable(&connector.name),
        printable(&connector.enrolled_at)
    );
    let lines: String = connector
        .applications
        .iter()
        .map(|(name, target)| format!("{first}\t{}\t{}\n", printable(name), printable(target)))
        .collect();
    if lines.is_empty() {
        return format!("{first}\t-\t-\n");
    }
    lines
}

/// All but the unreserved characters (RFC 3986 §2.3) as `%XX`.
fn encoded(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    text.bytes()
        .map(|byte| {
            if plain(byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

fn of_state(error: &relay::StateError) -> Failure {
    Failure::operation(error.to_string()).hint(error.hint())
}
