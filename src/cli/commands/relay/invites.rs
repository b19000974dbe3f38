//! `postern relay invite`, `invites` and `uninvite`.

use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::running::{Relay, check, items, member, text};
use crate::cli::args::command::{Command, Parsed};
use crate::cli::args::table::relay::{FOR, INVITE, LABEL, USES};
use crate::cli::args::table::{JSON, WIDE};
use crate::cli::args::values::{duration, whole_number};
use crate::cli::clock::Zone;
use crate::cli::columns::print_fitting;
use crate::cli::failure::{Failure, printable, warn};
use crate::cli::output::print;
use crate::http::Method;
use crate::net::percent::encode;
use crate::relay::InviteTerms;
use crate::store::DataDir;

const HEADING: [&str; 7] = ["ID", "STATUS", "USED", "MADE", "ENDS", "LABEL", "BY"];
/// Columns that an operator reads first.
const FIRST: [&str; 6] = ["LABEL", "ID", "STATUS", "USED", "ENDS", "BY"];
const SEE_IDS: &str = "'postern relay invites' shows their ids";

/// Makes an invite, and prints its token.
pub(super) fn invite(data: &DataDir, parsed: &Parsed) -> Result<(), Failure> {
    let terms = terms(parsed)?;
    let relay = Relay::open(data)?;
    let body =
        json!({"label": terms.label, "uses": terms.uses, "expires_in": terms.life.as_secs()});
    let made = relay.ask((Method::Post, "/api/invites"), Some(&body), SEE_IDS)?;
    let token = made.get("token").and_then(Value::as_str);
    let token = Zeroizing::new(token.unwrap_or_default().to_owned());
    let (invite, url) = (member(&made, "invite"), text(&made, "url"));
    for notice in items(&made, "notices").filter_map(Value::as_str) {
        warn(notice);
    }
    if !relay.is_running() {
        let dir = data.dir().display();
        warn(&format!(
            "no relay is running on {dir}; the token works once 'postern relay' runs"
        ));
    }
    if parsed.has(&JSON) {
        let shown = json!({"token": *token, "invite": invite});
        return print(&Zeroizing::new(format!("{shown:#}\n")));
    }
    let count = match member(&invite, "uses").as_u64() {
        Some(1) | None => "valid for one connector".to_owned(),
        Some(uses) => format!("valid for {uses} connectors"),
    };
    let text = Zeroizing::new(format!(
        "Enrolment token: {} ({count}, until {}; not shown again)\n\
         On that machine: postern server add {url} --enroll-token TOKEN\n\
         To cancel it: postern relay uninvite {}\n",
        *token,
        Zone::local().shown_text(&text(&invite, "expires")),
        text(&invite, "id"),
    ));
    print(&text)
}

/// Reads the flags.
fn terms(parsed: &Parsed) -> Result<InviteTerms, Failure> {
    let command: &Command = &INVITE;
    let mut terms = InviteTerms {
        label: parsed.value(&LABEL).unwrap_or_default(),
        ..InviteTerms::default()
    };
    if let Some(text) = parsed.value(&USES) {
        let uses = whole_number(&text, &(0..=u32::MAX));
        terms.uses = uses.ok_or_else(|| command.refuse(&USES, &text, "give a whole number"))?;
    }
    if let Some(text) = parsed.value(&FOR) {
        let life = duration(&text);
        let reason = "give a time such as 12h or 30d";
        terms.life = life.ok_or_else(|| command.refuse(&FOR, &text, reason))?;
    }
    terms
        .check()
        .map_err(|why| command.usage(format!("--{why}")))?;
    Ok(terms)
}

/// Prints a line an invite.
pub(super) fn list(data: &DataDir, parsed: &Parsed) -> Result<(), Failure> {
    let answer = Relay::look(data)?.ask((Method::Get, "/api/invites"), None, SEE_IDS)?;
    let invites: Vec<Value> = items(&answer, "invites").cloned().collect();
    if parsed.has(&JSON) {
        return print(&format!("{:#}\n", Value::from(invites)));
    }
    let rows: Vec<_> = invites.iter().map(row).collect();
    let hint = "No invites. 'postern relay invite' creates one.";
    print_fitting(HEADING, &FIRST, &rows, (hint, parsed.has(&WIDE)))
}

fn row(invite: &Value) -> [String; 7] {
    let used = member(invite, "used").as_u64().unwrap_or_default();
    let used = match member(invite, "uses").as_u64() {
        Some(uses) => format!("{used}/{uses}"),
        None => used.to_string(),
    };
    let by: Vec<String> = items(invite, "used_by")
        .map(|by| text(by, "connector"))
        .collect();
    let by = if by.is_empty() {
        "-".to_owned()
    } else {
        by.join(",")
    };
    let [id, status, made, ends] =
        ["id", "status", "made_at", "expires"].map(|member| text(invite, member));
    [id, status, used, made, ends, label(invite), by]
}

/// Returns its label, or else its origin.
fn label(invite: &Value) -> String {
    let is = |kind: &str| member(invite, kind).as_bool() == Some(true);
    match text(invite, "label") {
        label if label != "-" => label,
        _ if is("common") => "(common: --enroll-token or its replacement)".to_owned(),
        _ if is("first") => "(from the first start)".to_owned(),
        none => none,
    }
}

/// Takes one back.
pub(super) fn uninvite(data: &DataDir, id: &str) -> Result<(), Failure> {
    check("there is no invite", id, SEE_IDS)?;
    let relay = Relay::open(data)?;
    let path = format!("/api/invites/{}", encode(id));
    relay.ask((Method::Delete, &path), None, SEE_IDS)?;
    let id = printable(id);
    print(&format!(
        "cancelled {id}: members who already used it stay until 'postern relay revoke'\n"
    ))?;
    relay.warn_if_stopped();
    Ok(())
}
