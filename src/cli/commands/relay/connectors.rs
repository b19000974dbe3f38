//! `postern relay list`, `revoke` and `allow`.

use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::running::{Relay, check, find, items, member, of_state, text};
use super::state_dir::claim;
use crate::cli::args::command::Parsed;
use crate::cli::args::table::{JSON, WIDE};
use crate::cli::columns::print_fitting;
use crate::cli::commands::sharing::figures::size;
use crate::cli::failure::{Failure, printable, quoted};
use crate::cli::output::print;
use crate::http::Method;
use crate::net::percent::encode;
use crate::relay;
use crate::store::DataDir;

/// The label comes first: it is what the operator knows people by.
const HEADING: [&str; 13] = [
    "LABEL",
    "NAME",
    "STATUS",
    "ENROLLED",
    "URL",
    "TARGET",
    "MACHINE",
    "SOURCE",
    "VERSION",
    "INVITE",
    "QUOTA",
    "LAST VISIT",
    "TRAFFIC",
];

pub(super) const SEE_NAMES: &str = "'postern relay list' shows their names";

/// Columns that an operator reads first.
const FIRST: [&str; 5] = ["LABEL", "STATUS", "TARGET", "URL", "NAME"];

/// Prints a line an application, and one for each connector without any.
pub(super) fn list(data: &DataDir, parsed: &Parsed) -> Result<(), Failure> {
    let (connectors, urls) = connectors(&Relay::look(data)?)?;
    if parsed.has(&JSON) {
        return print(&format!("{:#}\n", Value::from(connectors)));
    }
    let rows: Vec<_> = connectors.iter().flat_map(|of| rows(of, &urls)).collect();
    let hint = "No connectors yet. 'postern start --server URL' on another machine enrols one.";
    print_fitting(HEADING, &FIRST, &rows, (hint, parsed.has(&WIDE)))
}

/// Connectors and revoked ones, each with the `label` that the operator knows it by, and that of its `machine`; and the
/// form of the sites' URLs.
fn connectors(relay: &Relay) -> Result<(Vec<Value>, SiteUrls), Failure> {
    let status = relay.ask((Method::Get, "/api/status"), None, SEE_NAMES)?;
    let (connectors, urls) = (of_status(&status), SiteUrls::of(&status));
    let labelled = connectors.iter().map(|connector| {
        let of = with_member(connector, "machine", member(connector, "label"));
        with_member(&of, "label", label(connector))
    });
    Ok((labelled.collect(), urls))
}

/// The text before and after the name in the URL of a site. A relay that does not run has none: its state does not
/// contain them.
#[derive(Default)]
struct SiteUrls {
    before: String,
    after: String,
}

impl SiteUrls {
    /// Reads them from the relay's status.
    fn of(status: &Value) -> Self {
        if status.get("url").is_none() {
            return Self::default();
        }
        let (url, domain) = (text(status, "url"), text(status, "domain"));
        let (scheme, host) = url.split_once("://").unwrap_or(("http", &url));
        let port = host.trim_end_matches('/').rsplit_once(':');
        let port = port.map_or_else(String::new, |(_, port)| format!(":{port}"));
        Self {
            before: format!("{scheme}://"),
            after: format!(".{domain}{port}/"),
        }
    }

    fn url(&self, name: &str) -> String {
        format!("{}{name}{}", self.before, self.after)
    }
}

/// Finds the connector of this name, or else of this label where only one has it; `is_revoked` says among which. What
/// is not found stays as it is, for the relay to say so.
fn named(relay: &Relay, called: &str, is_revoked: bool) -> Result<String, Failure> {
    let (connectors, _) = connectors(relay)?;
    let is_one = |of: &&Value| (of["status"] == "revoked") == is_revoked;
    let names = |member: &str| -> Vec<&str> {
        let found = connectors.iter().filter(is_one);
        let found = found.filter(|of| of[member] == called);
        found.filter_map(|of| of["name"].as_str()).collect()
    };
    match (names("name").first(), names("label").as_slice()) {
        (Some(name), _) | (None, [name]) => Ok((*name).to_owned()),
        (None, []) => Ok(called.to_owned()),
        (None, several) => Err(Failure::operation(format!(
            "{} connectors have the label {}",
            several.len(),
            quoted(called)
        ))
        .hint(format!(
            "use one of the names: {}",
            printable(&several.join(", "))
        ))),
    }
}

/// Prints where the operator signs in to the status page of the relay that runs: also of the one that is embedded in
/// `postern start`. The code in it is new each time.
pub(super) fn status_url(data: &DataDir) -> Result<(), Failure> {
    let relay = Relay::look(data)?;
    if !relay.is_running() {
        let message = format!("no relay is running on {}", data.dir().display());
        let hint = "run 'postern relay', or 'postern start' without --server";
        return Err(Failure::operation(message).hint(hint));
    }
    let made = relay.ask((Method::Post, "/api/links"), None, SEE_NAMES)?;
    print(&format!("{}\n", text(&made, "url")))
}

/// Turns a connector out, and says what becomes of the invite that it came by.
pub(super) fn revoke(data: &DataDir, name: &str) -> Result<(), Failure> {
    let relay = Relay::open(data)?;
    let name = &*named(&relay, name, false)?;
    check("there is no connector", name, SEE_NAMES)?;
    let path = format!("/api/connectors/{}", encode(name));
    let done = relay.ask((Method::Delete, &path), None, SEE_NAMES)?;
    let enroll_token = done.get("enroll_token").and_then(Value::as_str);
    let enroll_token = enroll_token.map(|token| Zeroizing::new(token.to_owned()));
    let is_saved = done.get("saved").and_then(Value::as_bool) != Some(false);
    let untold = items(&done, "untold").filter_map(Value::as_str);
    let untold: Vec<String> = untold.map(printable).collect();
    let invite = member(&done, "invite");
    let name = printable(name);
    print(&format!(
        "{name} is revoked until 'postern relay allow {name}'; its names and ports stay reserved for 30 days.\n{}",
        *what_it_came_by(&invite, enroll_token.as_ref())
    ))?;
    relay.warn_if_stopped();
    if !untold.is_empty() {
        eprintln!(
            "These relays of the fleet do not know it yet and will read it from the store: {}",
            untold.join(", ")
        );
    }
    if !is_saved {
        return Err(not_saved(&name));
    }
    Ok(())
}

/// Describes the effect on the invite, with the new token, which is a secret.
fn what_it_came_by(invite: &Value, renewed: Option<&Zeroizing<String>>) -> Zeroizing<String> {
    let is_common = invite.get("common").and_then(Value::as_bool) == Some(true);
    let text = match (is_common, renewed) {
        _ if invite.is_null() => "It enrolled without a token. If this relay requires none, anyone can enrol under \
            another name; --enroll-token requires one.\n"
            .to_owned(),
        (_, Some(token)) => format!(
            "The enrolment token it used is disabled, also as this relay's --enroll-token. Enrolled connectors need \
             none.\n\
             Enrolment token: {} (for new connectors; not shown again)\n",
            **token
        ),
        (true, None) => "The enrolment token it used is disabled, also as this relay's --enroll-token; invites still \
            work.\n"
            .to_owned(),
        (false, None) => format!(
            "The invite it used ({}) is disabled; other invites still work.\n",
            invite_name(invite)
        ),
    };
    Zeroizing::new(text)
}

/// Returns the id of an invite, with its label if it has one.
fn invite_name(invite: &Value) -> String {
    match (text(invite, "id"), text(invite, "label")) {
        (id, label) if label == "-" => id,
        (id, label) => format!("{id} {label}"),
    }
}

fn not_saved(name: &str) -> Failure {
    Failure::operation(format!(
        "{name} is revoked, but only until the relay restarts: it could not be saved"
    ))
    .hint("see the relay's log; once that is fixed, the relay's next change (such as a connector's call) saves it")
}

/// Accepts what is lost of a damaged state, so that the relay starts again.
pub(super) fn recover(data: &DataDir) -> Result<(), Failure> {
    if find(data)?.is_some() {
        return Err(
            Failure::operation("a relay is running on it, so its state is readable")
                .hint("'postern relay list' shows who is enrolled and revoked"),
        );
    }
    let _instance = claim(data)?;
    let recovered = relay::recover(data).map_err(|error| of_state(&error))?;
    if recovered.aside.is_empty() {
        return print("nothing is damaged\n");
    }
    let [connectors, revoked, invites] = recovered.kept;
    let mut text =
        format!("kept: connectors: {connectors}, revoked: {revoked}, invites: {invites}\n");
    for lost in &recovered.lost {
        text.push_str(&format!("lost: {}\n", printable(lost)));
    }
    for path in &recovered.aside {
        text.push_str(&format!("damaged file: {}\n", path.display()));
    }
    text.push_str(
        "The relay can start again. If revocations are lost, a disabled --enroll-token works again: check 'postern \
         relay list', revoke again, and set another token. Lost connectors enrol again.\n",
    );
    print(&text)
}

/// Undoes that.
pub(super) fn allow(data: &DataDir, name: &str) -> Result<(), Failure> {
    let relay = Relay::open(data)?;
    let name = &*named(&relay, name, true)?;
    check("no revoked connector is called", name, SEE_NAMES)?;
    let path = format!("/api/revoked/{}", encode(name));
    let done = relay.ask((Method::Delete, &path), None, SEE_NAMES)?;
    let is = |member: &str| done.get(member).and_then(Value::as_bool) == Some(true);
    let name = printable(name);
    let how = if is("restored") {
        "it is enrolled again, with the names and ports still reserved for it"
    } else {
        "it may enrol again, with an enrolment token"
    };
    let invite = if is("invite_good") {
        "; the invite it used works again (see 'postern relay invites')"
    } else {
        ""
    };
    print(&format!("allowed {name}: {how}{invite}\n"))?;
    relay.warn_if_stopped();
    Ok(())
}

/// The connectors in the status of a relay, the revoked ones too: `name`, `status`, `enrolled_at` and
/// `applications`, each with `url`, `target` and `status`.
fn of_status(status: &Value) -> Vec<Value> {
    let connectors = items(status, "connectors").map(|connector| {
        let applications = items(connector, "applications").map(with_state);
        let applications: Vec<Value> = applications.collect();
        with_member(&with_state(connector), "applications", applications.into())
    });
    let revoked = items(status, "revoked").map(|revoked| {
        json!({"name": revoked["name"], "status": "revoked", "enrolled_at": revoked["enrolled_at"],
            "label": revoked["label"], "invite": revoked["invite"], "applications": [],
            "sites": member(revoked, "sites")})
    });
    connectors.chain(revoked).collect()
}

fn with_state(of: &Value) -> Value {
    // None at a relay that does not run.
    let status = of.get("connected").and_then(Value::as_bool);
    let status = status.map(|is_connected| if is_connected { "connected" } else { "away" });
    with_member(of, "status", json!(status))
}

fn with_member(of: &Value, name: &str, value: Value) -> Value {
    let mut shown = of.clone();
    if let Some(members) = shown.as_object_mut() {
        members.insert(name.into(), value);
    }
    shown
}

/// Returns the traffic of an application since counting began.
fn traffic(of: &Value) -> String {
    let bytes = |name: &str| of.pointer(&format!("/figures/{name}"))?.as_u64();
    match (bytes("bytes_in"), bytes("bytes_out")) {
        (Some(read), Some(written)) => size(read.saturating_add(written)),
        _ => "-".to_owned(),
    }
}

/// Returns the label of its invite, or else the name of its machine.
fn label(connector: &Value) -> Value {
    match connector.pointer("/invite/label").and_then(Value::as_str) {
        None | Some("") => member(connector, "label"),
        Some(label) => label.into(),
    }
}

/// Describes its quota and the used part.
fn quota(connector: &Value) -> String {
    let of = |name: &str| connector.pointer(&format!("/quota/{name}"))?.as_u64();
    let count = items(connector, "applications").count();
    let sites = of("sites").map(|most| format!("{count} of {most} applications"));
    let rate = of("mbps").map(|mbps| format!("{mbps} Mbit/s"));
    match (sites, rate) {
        (Some(sites), Some(rate)) => format!("{sites}, {rate}"),
        (sites, rate) => sites.or(rate).unwrap_or_else(|| "-".to_owned()),
    }
}

/// A row for each application, or for each reserved site of a revoked connector.
fn rows(connector: &Value, urls: &SiteUrls) -> Vec<[String; 13]> {
    let invite = connector
        .get("invite")
        .map_or_else(|| "-".to_owned(), invite_name);
    let quota = quota(connector);
    let row = |of: &Value| {
        let own = |member: &str| text(connector, member);
        let [status, url, target] = ["status", "url", "target"].map(|member| text(of, member));
        let [machine, source, version] = ["machine", "source", "version"].map(own);
        let visit = text(of, "last_visit");
        [
            own("label"),
            own("name"),
            status,
            own("enrolled_at"),
            url,
            target,
            machine,
            source,
            version,
            invite.clone(),
            quota.clone(),
            visit,
            traffic(of),
        ]
    };
    let reserved = items(connector, "sites").filter_map(Value::as_str);
    let status = member(connector, "status");
    let reserved: Vec<Value> = reserved
        .map(|site| json!({"status": status, "url": urls.url(site)}))
        .collect();
    let applications = items(connector, "applications").chain(&reserved);
    let rows: Vec<_> = applications.map(row).collect();
    if rows.is_empty() {
        return vec![row(connector)];
    }
    rows
}
