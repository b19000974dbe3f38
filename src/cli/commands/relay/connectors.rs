//! `postern relay list`, `revoke` and `allow`: by the running relay, or where none runs on its state.

use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::state_dir::{claim, of_store};
use crate::cli::api_client::{self, Answer, Call};
use crate::cli::columns::print_table;
use crate::cli::commands::sharing::figures::size;
use crate::cli::failure::{Failure, printable, quoted};
use crate::cli::output::print;
use crate::net::percent::encode;
use crate::relay::{self, Whereabouts};
use crate::store::{DataDir, Instance};

const HEADING: [&str; 10] = [
    "NAME",
    "STATUS",
    "ENROLLED",
    "URL",
    "TARGET",
    "LABEL",
    "SOURCE",
    "VERSION",
    "LAST VISIT",
    "TRAFFIC",
];

const SEE_NAMES: &str = "'postern relay list' shows their names";

/// Prints a line an application, and one for each connector without any.
pub(super) fn list(data: &DataDir, as_json: bool) -> Result<(), Failure> {
    let connectors = match find(data)? {
        Some(running) => of_running(&ask(&running, "GET", "/api/status")?),
        None => relay::enrolled(data)
            .map_err(|error| of_state(&error))?
            .iter()
            .map(of_stored)
            .collect(),
    };
    if as_json {
        return print(&format!("{:#}\n", Value::from(connectors)));
    }
    let rows: Vec<_> = connectors.iter().flat_map(rows).collect();
    print_table(
        HEADING,
        &rows,
        "No connectors are enrolled. 'postern start --server URL' elsewhere enrols one.",
    )
}

/// Prints where the operator signs in to the status page of the relay that runs: also of the one that is embedded in
/// `postern start`. The code in it is new each time.
pub(super) fn status_url(data: &DataDir) -> Result<(), Failure> {
    match find(data)? {
        Some(running) => {
            let made = ask(&running, "POST", "/api/links")?;
            print(&format!("{}\n", text(&made, "url")))
        }
        None => Err(
            Failure::operation(format!("no relay runs on {}", data.dir().display()))
                .hint("start it: 'postern relay', or 'postern start' without a server"),
        ),
    }
}

/// Turns a connector out, and prints the enrol token that holds from then on.
pub(super) fn revoke(data: &DataDir, name: &str) -> Result<(), Failure> {
    let (enroll_token, is_saved) = match find(data)? {
        Some(running) => {
            let path = format!("/api/connectors/{}", encode(name));
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
            let path = format!("/api/revoked/{}", encode(name));
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
        ..
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

/// The connectors in the status of a running relay, the revoked ones too: `name`, `status`, `enrolled_at` and
/// `applications`, each with `url`, `target` and `status`.
fn of_running(status: &Value) -> Vec<Value> {
    let connectors = items(status, "connectors").map(|connector| {
        let applications = items(connector, "applications").map(with_state);
        let applications: Vec<Value> = applications.collect();
        let mut shown = with_state(connector);
        if let Some(members) = shown.as_object_mut() {
            members.insert("applications".into(), applications.into());
        }
        shown
    });
    let revoked = items(status, "revoked").map(|revoked| {
        json!({"name": revoked["name"], "status": "revoked", "enrolled_at": revoked["enrolled_at"],
            "label": revoked["label"], "applications": []})
    });
    connectors.chain(revoked).collect()
}

fn with_state(of: &Value) -> Value {
    let status = match of.get("connected").and_then(Value::as_bool) {
        Some(true) => "connected",
        _ => "away",
    };
    let mut shown = of.clone();
    if let Some(members) = shown.as_object_mut() {
        members.insert("status".into(), status.into());
    }
    shown
}

/// The same of a relay that does not run.
fn of_stored(connector: &relay::Enrolled) -> Value {
    let status = connector.is_revoked.then_some("revoked");
    let applications = connector.applications.iter();
    let applications: Vec<Value> = applications
        .map(|(url, target)| json!({"url": url, "target": target, "status": status}))
        .collect();
    json!({"name": connector.name, "status": status, "enrolled_at": connector.enrolled_at,
        "label": connector.label, "source": connector.source, "version": connector.version,
        "applications": applications})
}

fn items<'a>(of: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    of.get(name).and_then(Value::as_array).into_iter().flatten()
}

/// The text of a member, `-` where there is none.
fn text(of: &Value, name: &str) -> String {
    match of.get(name).and_then(Value::as_str) {
        None | Some("") => "-".to_owned(),
        Some(text) => printable(text),
    }
}

/// What has passed through an application since the relay started.
fn traffic(of: &Value) -> String {
    let bytes = |name: &str| of.pointer(&format!("/figures/{name}"))?.as_u64();
    match (bytes("bytes_in"), bytes("bytes_out")) {
        (Some(read), Some(written)) => size(read.saturating_add(written)),
        _ => "-".to_owned(),
    }
}

fn rows(connector: &Value) -> Vec<[String; 10]> {
    let row = |of: &Value| {
        let own = |member: &str| text(connector, member);
        let [status, url, target] = ["status", "url", "target"].map(|member| text(of, member));
        let [label, source, version] = ["label", "source", "version"].map(own);
        let visit = text(of, "last_visit");
        [
            own("name"),
            status,
            own("enrolled_at"),
            url,
            target,
            label,
            source,
            version,
            visit,
            traffic(of),
        ]
    };
    let rows: Vec<_> = items(connector, "applications").map(row).collect();
    if rows.is_empty() {
        return vec![row(connector)];
    }
    rows
}

fn of_state(error: &relay::StateError) -> Failure {
    Failure::operation(error.to_string()).hint(error.hint())
}
