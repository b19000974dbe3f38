//! `postern relay invite`, `invites` and `uninvite`.

use serde::Serialize;
use zeroize::Zeroizing;

use super::operator::OperatorClient;
use crate::api::relay::Invite;
use crate::cli::args::command::Parsed;
use crate::cli::args::table::relay::{FOR, INVITE, LABEL, USES};
use crate::cli::args::values::{duration, whole_number};
use crate::cli::clock::Zone;
use crate::cli::columns::{Columns, print_list, shown};
use crate::cli::failure::{Failure, print, print_json, printable, warn};
use crate::relay::InviteTerms;

/// Columns of the list.
const COLUMNS: Columns<7> = Columns {
    heading: ["ID", "STATUS", "USED", "MADE", "ENDS", "LABEL", "BY"],
    first: &["LABEL", "ID", "STATUS", "USED", "ENDS", "BY"],
};

/// Makes an invite, and prints its token.
pub(super) fn invite(parsed: &Parsed) -> Result<(), Failure> {
    let terms = terms(parsed)?;
    let operator = OperatorClient::of(parsed)?;
    let made = operator.invite(terms)?;
    made.notices.iter().for_each(|notice| warn(notice));
    if !operator.is_running() {
        let dir = operator.data.dir().display();
        warn(&format!(
            "no relay is running on {dir}; the token works once 'postern relay' runs"
        ));
    }
    if parsed.wants_json() {
        #[derive(Serialize)]
        struct InviteMade<'a> {
            token: &'a str,
            invite: &'a Invite,
        }
        return print_json(&InviteMade {
            token: &made.token,
            invite: &made.invite,
        });
    }
    let count = match made.invite.uses {
        Some(1) | None => "valid for one connector".to_owned(),
        Some(uses) => format!("valid for {uses} connectors"),
    };
    let url = match &*made.url {
        "" => "URL".to_owned(),
        url => printable(url),
    };
    let text = Zeroizing::new(format!(
        "Enrolment token: {} ({count}, until {}; not shown again)\n\
         On that machine: postern server add {url} --enroll-token TOKEN\n\
         To cancel it: postern relay uninvite {}\n",
        *made.token,
        Zone::local().shown_text(&shown(made.invite.expires.as_deref().unwrap_or_default())),
        shown(&made.invite.id),
    ));
    print(&text)
}

/// Reads the flags.
fn terms(parsed: &Parsed) -> Result<InviteTerms, Failure> {
    let default = InviteTerms::default();
    let uses = |text: &str| whole_number(text, &(0..=u32::MAX)).ok_or("give a whole number");
    let life = |text: &str| duration(text).ok_or("give a time such as 12h or 30d");
    let terms = InviteTerms {
        label: parsed.value(&LABEL).unwrap_or_default(),
        uses: INVITE.read(parsed, &USES, uses)?.unwrap_or(default.uses),
        life: INVITE.read(parsed, &FOR, life)?.unwrap_or(default.life),
    };
    let checked = terms.check();
    checked.map_err(|why| INVITE.usage(format!("--{why}")))?;
    Ok(terms)
}

/// Prints one line per invite.
pub(super) fn list(parsed: &Parsed) -> Result<(), Failure> {
    let invites = OperatorClient::of(parsed)?.invites()?;
    let rows: Vec<_> = invites.iter().map(row).collect();
    let hint = "No invites. 'postern relay invite' creates one.";
    print_list(parsed, &invites, COLUMNS, &rows, hint)
}

fn row(invite: &Invite) -> [String; 7] {
    let used = match invite.uses {
        Some(uses) => format!("{}/{uses}", invite.used),
        None => invite.used.to_string(),
    };
    let by = invite.used_by.iter().map(|by| by.connector.as_str());
    let by: Vec<&str> = by.collect();
    [
        shown(&invite.id),
        shown(&invite.status),
        used,
        shown(&invite.made_at),
        shown(invite.expires.as_deref().unwrap_or_default()),
        label(invite),
        shown(&by.join(",")),
    ]
}

/// Returns its label, or else its origin.
fn label(invite: &Invite) -> String {
    match &*invite.label {
        "" if invite.common => "(common: --enroll-token or its replacement)".to_owned(),
        "" if invite.first => "(from the first start)".to_owned(),
        label => shown(label),
    }
}

/// Cancels an invite.
pub(super) fn uninvite(parsed: &Parsed) -> Result<(), Failure> {
    let operator = OperatorClient::of(parsed)?;
    operator.uninvite(parsed.operand())?;
    let id = printable(parsed.operand());
    print(&format!(
        "cancelled {id}: members who already used it stay until 'postern relay revoke'\n"
    ))?;
    operator.warn_offline();
    Ok(())
}
