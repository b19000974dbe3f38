//! `postern relay list`, `revoke`, `allow`, `release`, `transfer`, `recover` and `status-url`.

use serde::Serialize;
use zeroize::Zeroizing;

use super::operator::OperatorClient;
use super::state_dir::{claim, of_state};
use crate::api::relay::{Application, Connector, DisabledInvite, Figures, InvitedBy, Status};
use crate::cli::args::command::Parsed;
use crate::cli::args::table::relay::FORCE;
use crate::cli::columns::{Columns, print_list, shown};
use crate::cli::commands::sharing::counts::size;
use crate::cli::failure::{Failure, print, printable, quoted, say};
use crate::relay;

/// Columns of the list; the operator knows people by the label.
const COLUMNS: Columns<13> = Columns {
    heading: [
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
    ],
    first: &["LABEL", "STATUS", "TARGET", "URL", "NAME"],
};

/// Prints one line per application, and one for each connector without applications.
pub(super) fn list(parsed: &Parsed) -> Result<(), Failure> {
    let operator = OperatorClient::of(parsed)?;
    let status = operator.status()?;
    let urls = site_urls(&status);
    let connectors = listed(status, operator.is_running());
    let rows: Vec<_> = connectors.iter().flat_map(|of| rows(of, &urls)).collect();
    let hint = "No connectors yet. 'postern start --server URL' on another machine enrols one.";
    print_list(parsed, &connectors, COLUMNS, &rows, hint)
}

/// A connector, enrolled or revoked, as `--json` prints it. Its `label` is that of its invite, else its machine's.
#[derive(Serialize)]
struct ConnectorEntry {
    #[serde(flatten)]
    connector: Connector,
    /// Name of its machine.
    machine: String,
    /// `connected`, `away` or `revoked`; none if enrolled at a relay that does not run.
    status: Option<&'static str>,
    /// Applications, in place of the connector's.
    applications: Vec<ApplicationEntry>,
    /// Names of sites that are reserved for a revoked connector.
    #[serde(skip_serializing_if = "Option::is_none")]
    sites: Option<Vec<String>>,
}

#[derive(Serialize)]
struct ApplicationEntry {
    #[serde(flatten)]
    application: Application,
    status: Option<&'static str>,
}

/// Connectors and then revoked ones.
fn listed(status: Status, is_running: bool) -> Vec<ConnectorEntry> {
    let state = |is_connected: bool| {
        let state = if is_connected { "connected" } else { "away" };
        is_running.then_some(state)
    };
    let enrolled = status.connectors.into_iter().map(|mut connector| {
        let applications = std::mem::take(&mut connector.applications).into_iter();
        let applications = applications.map(|application| ApplicationEntry {
            status: state(application.connected),
            application,
        });
        ConnectorEntry {
            applications: applications.collect(),
            status: state(connector.connected),
            sites: None,
            ..ConnectorEntry::of(connector)
        }
    });
    let revoked = status.revoked.into_iter().map(|revoked| ConnectorEntry {
        status: Some("revoked"),
        sites: Some(revoked.sites),
        ..ConnectorEntry::of(Connector {
            name: revoked.name,
            enrolled_at: revoked.enrolled_at,
            label: revoked.label,
            invite: revoked.invite,
            ..Connector::default()
        })
    });
    enrolled.chain(revoked).collect()
}

impl ConnectorEntry {
    fn of(mut connector: Connector) -> Self {
        let machine = connector.label.clone();
        let invite = connector.invite.iter();
        let mut labels = invite.map(|invite| &invite.label);
        if let Some(label) = labels.find(|label| !label.is_empty()) {
            connector.label.clone_from(label);
        }
        Self {
            connector,
            machine,
            status: None,
            applications: Vec::new(),
            sites: None,
        }
    }

    fn is_revoked(&self) -> bool {
        self.status == Some("revoked")
    }
}

/// The URLs of sites, by name. A relay that does not run has none: its state does not contain them.
fn site_urls(status: &Status) -> impl Fn(&str) -> String + use<> {
    let (scheme, host) = status.url.split_once("://").unwrap_or_default();
    let port = host.trim_end_matches('/').rsplit_once(':');
    let port = port.map_or_else(String::new, |(_, port)| format!(":{port}"));
    let (before, after) = match scheme {
        "" => Default::default(),
        _ => (format!("{scheme}://"), format!(".{}{port}/", status.domain)),
    };
    move |name| format!("{before}{name}{after}")
}

/// Finds the connector with this name, or else with this label if it is unique; `is_revoked` selects revoked ones. An
/// unknown name is returned unchanged, and the relay refuses it.
fn named(operator: &OperatorClient, called: &str, is_revoked: bool) -> Result<String, Failure> {
    let all = listed(operator.status()?, operator.is_running());
    let all = || all.iter().filter(|of| of.is_revoked() == is_revoked);
    if all().any(|of| of.connector.name == called) {
        return Ok(called.to_owned());
    }
    let labelled = all().filter(|of| of.connector.label == called);
    let names: Vec<&str> = labelled.map(|of| of.connector.name.as_str()).collect();
    match names.as_slice() {
        [] => Ok(called.to_owned()),
        [name] => Ok((*name).to_owned()),
        several => Err(Failure::operation(format!(
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

/// Prints a sign-in link for the status page of the running relay, also of the relay in `postern start`. Its code is
/// new each time.
pub(super) fn status_url(parsed: &Parsed) -> Result<(), Failure> {
    let link = OperatorClient::of(parsed)?.link()?;
    print(&format!("{}\n", printable(&link.url)))
}

/// Revokes a connector, and prints the effect on the invite that it used.
pub(super) fn revoke(parsed: &Parsed) -> Result<(), Failure> {
    let operator = OperatorClient::of(parsed)?;
    let done = operator.revoke(&named(&operator, parsed.operand(), false)?)?;
    let name = printable(&done.revoked);
    print(&format!(
        "{name} is revoked until 'postern relay allow {name}'; its names and ports stay reserved for 30 days.\n{}",
        *effect_on_invite(done.invite.as_ref(), done.enroll_token.as_ref())
    ))?;
    operator.warn_offline();
    if !done.untold.is_empty() {
        say(&format!(
            "These relays of the fleet do not know it yet and will read it from the store: {}\n",
            printable(&done.untold.join(", "))
        ));
    }
    if done.saved {
        return Ok(());
    }
    let message =
        format!("{name} is revoked, but only until the relay restarts: it could not be saved");
    let hint = "see the relay's log; once that is fixed, the relay's next change (such as a connector's call) saves it";
    Err(Failure::operation(message).hint(hint))
}

/// Describes the effect on the invite, with the new token, which is a secret.
fn effect_on_invite(
    invite: Option<&DisabledInvite>,
    renewed: Option<&Zeroizing<String>>,
) -> Zeroizing<String> {
    let text = match (invite, renewed) {
        (None, _) => "It enrolled without a token. If this relay requires none, anyone can enrol under another name; \
            --enroll-token requires one.\n"
            .to_owned(),
        (_, Some(token)) => format!(
            "The enrolment token it used is disabled, also as this relay's --enroll-token. Enrolled connectors need \
             none.\n\
             Enrolment token: {} (for new connectors; not shown again)\n",
            **token
        ),
        (Some(invite), None) if invite.common => "The enrolment token it used is disabled, also as this relay's \
            --enroll-token; invites still work.\n"
            .to_owned(),
        (Some(DisabledInvite { id, label, .. }), None) => format!(
            "The invite it used ({}) is disabled; other invites still work.\n",
            invite_name(id, label)
        ),
    };
    Zeroizing::new(text)
}

/// Returns the id of an invite, with its label if it has one.
fn invite_name(id: &str, label: &str) -> String {
    shown(format!("{id} {label}").trim())
}

/// Repairs a damaged state, accepting losses, so that the relay starts again.
pub(super) fn recover(parsed: &Parsed) -> Result<(), Failure> {
    let operator = OperatorClient::of(parsed)?;
    if operator.is_running() {
        return Err(
            Failure::operation("a relay is running on it, so its state is readable")
                .hint("'postern relay list' shows who is enrolled and revoked"),
        );
    }
    let _instance = claim(&operator.data)?;
    let recovered = relay::recover(&operator.data).map_err(of_state)?;
    if recovered.aside.is_empty() && recovered.lost.is_empty() {
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

/// Allows a revoked connector again.
pub(super) fn allow(parsed: &Parsed) -> Result<(), Failure> {
    let operator = OperatorClient::of(parsed)?;
    let done = operator.allow(&named(&operator, parsed.operand(), true)?)?;
    let name = printable(&done.allowed);
    let how = if done.restored {
        "it is enrolled again, with the names and ports still reserved for it"
    } else {
        "it may enrol again, with an enrolment token"
    };
    let invite = if done.invite_good {
        "; the invite it used works again (see 'postern relay invites')"
    } else {
        ""
    };
    print(&format!("allowed {name}: {how}{invite}\n"))?;
    operator.warn_offline();
    Ok(())
}

/// Releases a site's name, or transfers it to the connector of the second operand.
pub(super) fn take_name(parsed: &Parsed) -> Result<(), Failure> {
    let [site, to @ ..] = parsed.operands() else {
        return Ok(());
    };
    let operator = OperatorClient::of(parsed)?;
    let to = to.first().map(String::as_str);
    let taken = operator.take_name(site, to, parsed.has(&FORCE))?;
    let ended = if taken.ended {
        " The site that had it was disconnected and returns under another name."
    } else {
        ""
    };
    let site = quoted(site);
    print(&match taken.connector {
        Some(by) => format!(
            "transferred {site} to {}: its next connect with this name gets it, within 30 days.{ended}\n",
            printable(&by)
        ),
        None => format!("released {site}: any connector can have it now.{ended}\n"),
    })?;
    operator.warn_offline();
    Ok(())
}

/// Returns the traffic of an application since counting began.
fn traffic(figures: Option<&Figures>) -> String {
    figures.map_or_else(
        || "-".to_owned(),
        |of| size(of.bytes_in.saturating_add(of.bytes_out)),
    )
}

/// Describes its quota and the used part.
fn quota(of: &ConnectorEntry) -> String {
    let count = of.applications.len();
    let sites = of.connector.quota.sites;
    let sites = sites.map(|most| format!("{count} of {most} applications"));
    let rate = of.connector.quota.mbps;
    let rate = rate.map(|mbps| format!("{mbps} Mbit/s"));
    match (sites, rate) {
        (Some(sites), Some(rate)) => format!("{sites}, {rate}"),
        (sites, rate) => sites.or(rate).unwrap_or_else(|| "-".to_owned()),
    }
}

/// A row for each application, or for each reserved site of a revoked connector.
fn rows(of: &ConnectorEntry, urls: impl Fn(&str) -> String) -> Vec<[String; 13]> {
    let own = &of.connector;
    let invite = own.invite.as_ref();
    let invite = invite.map_or_else(String::new, |InvitedBy { id, label }| {
        invite_name(id, label)
    });
    let quota = quota(of);
    let row = |status: Option<&str>, application: &Application| {
        [
            shown(&own.label),
            shown(&own.name),
            shown(status.unwrap_or_default()),
            shown(&own.enrolled_at),
            shown(&application.url),
            shown(&application.target),
            shown(&of.machine),
            shown(&own.source),
            shown(&own.version),
            shown(&invite),
            quota.clone(),
            shown(application.last_visit.as_deref().unwrap_or_default()),
            traffic(application.figures.as_ref()),
        ]
    };
    let applications = of.applications.iter();
    let applications = applications.map(|of| row(of.status, &of.application));
    let reserved = of.sites.iter().flatten().map(|site| {
        let reserved = Application {
            url: urls(site),
            ..Application::default()
        };
        row(of.status, &reserved)
    });
    let mut rows: Vec<_> = applications.chain(reserved).collect();
    if rows.is_empty() {
        let is_counted = of.status.is_some() && !of.is_revoked();
        let nothing = Application {
            last_visit: own.last_visit.clone(),
            figures: is_counted.then(|| own.figures.clone()),
            ..Application::default()
        };
        rows.push(row(of.status, &nothing));
    }
    rows
}
