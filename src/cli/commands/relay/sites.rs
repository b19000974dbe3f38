//! `postern relay release` and `transfer`: names of sites, by the running relay, or where none runs on its state.

use serde_json::{Value, json};

use super::connectors::SEE_NAMES;
use super::running::{ask, check, find, of_state, warn_offline};
use super::settings;
use super::state_dir::claim;
use crate::cli::args::command::Parsed;
use crate::cli::args::table::relay::FORCE;
use crate::cli::failure::{Failure, printable, quoted};
use crate::cli::output::print;
use crate::http::Method;
use crate::net::percent::encode;
use crate::relay;

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
    let running = find(&data)?;
    let (by, has_ended) = match &running {
        Some(running) => {
            let path = format!("/api/sites/{}", encode(site));
            let done = match to {
                Some(to) => {
                    let body = json!({"connector": to, "force": force});
                    ask(running, (Method::Put, &path), Some(&body), SEE_NAMES)?
                }
                None => {
                    let path = format!("{path}?force={force}");
                    ask(running, (Method::Delete, &path), None, SEE_NAMES)?
                }
            };
            let by = done.get("connector").and_then(Value::as_str);
            let has_ended = done.get("ended").and_then(Value::as_bool) == Some(true);
            (by.map(str::to_owned), has_ended)
        }
        None => {
            // So that none starts meanwhile and writes what it has read.
            let _instance = claim(&data)?;
            let taken = relay::take_name(&data, site, to).map_err(|error| of_state(&error))?;
            let refused = |why: relay::NotTaken| Failure::operation(why.to_string());
            (taken.map_err(|why| refused(why).hint(SEE_NAMES))?, false)
        }
    };
    let ended = if has_ended {
        " The site that had it was disconnected and returns under another name."
    } else {
        ""
    };
    let site = quoted(site);
    print(&match by {
        Some(by) => format!(
            "transferred {site} to {}: its next connect with this name gets it, within 30 days.{ended}\n",
            printable(&by)
        ),
        None => format!("released {site}: any connector can have it now.{ended}\n"),
    })?;
    if running.is_none() {
        warn_offline(&data);
    }
    Ok(())
}
