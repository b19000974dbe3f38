//! `postern relay release` and `transfer`: names of sites.

use serde_json::{Value, json};

use super::connectors::SEE_NAMES;
use super::running::{Relay, check};
use super::settings;
use crate::cli::args::command::Parsed;
use crate::cli::args::table::relay::FORCE;
use crate::cli::failure::{Failure, printable, quoted};
use crate::cli::output::print;
use crate::http::Method;
use crate::net::percent::encode;

/// Releases a site's name, or hands it over to the connector of the second operand.
pub(super) fn take_name(parsed: &Parsed) -> Result<(), Failure> {
    let data = settings::data(parsed)?;
    let (site, to) = match parsed.operands() {
        [site, to, ..] => (site, Some(to.as_str())),
        [site] => (site, None),
        [] => return Ok(()),
    };
    check("no site has the name", site, SEE_NAMES)?;
    let force = parsed.has(&FORCE);
    let relay = Relay::open(&data)?;
    let path = format!("/api/sites/{}", encode(site));
    let done = match to {
        Some(to) => {
            let body = json!({"connector": to, "force": force});
            relay.ask((Method::Put, &path), Some(&body), SEE_NAMES)?
        }
        None => {
            let path = format!("{path}?force={force}");
            relay.ask((Method::Delete, &path), None, SEE_NAMES)?
        }
    };
    let by = done.get("connector").and_then(Value::as_str);
    let has_ended = done.get("ended").and_then(Value::as_bool) == Some(true);
    let ended = if has_ended {
        " The site that had it was disconnected and returns under another name."
    } else {
        ""
    };
    let site = quoted(site);
    print(&match by {
        Some(by) => format!(
            "transferred {site} to {}: its next connect with this name gets it, within 30 days.{ended}\n",
            printable(by)
        ),
        None => format!("released {site}: any connector can have it now.{ended}\n"),
    })?;
    relay.warn_if_stopped();
    Ok(())
}
