//! `postern relay release` and `transfer`: names of sites.

use super::operator::Operator;
use super::settings;
use crate::cli::args::command::Parsed;
use crate::cli::args::table::relay::FORCE;
use crate::cli::failure::{Failure, printable, quoted};
use crate::cli::output::print;

/// Releases a site's name, or transfers it to the connector of the second operand.
pub(super) fn take_name(parsed: &Parsed) -> Result<(), Failure> {
    let data = settings::operators_data(parsed)?;
    let [site, to @ ..] = parsed.operands() else {
        return Ok(());
    };
    let operator = Operator::of(&data)?;
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
