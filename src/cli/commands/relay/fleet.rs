//! `postern relay fleet`: the relays that share one state.

use super::operator::OperatorClient;
use crate::api::relay::Peer;
use crate::cli::args::command::Parsed;
use crate::cli::columns::{Columns, print_list, shown};
use crate::cli::failure::{Failure, say};

/// Columns of the list.
const COLUMNS: Columns<6> = Columns {
    heading: [
        "RELAY",
        "STATE",
        "CONNECTORS",
        "TUNNELS AT",
        "LINKED AT",
        "VERSION",
    ],
    first: &["RELAY", "STATE", "CONNECTORS", "TUNNELS AT", "VERSION"],
};

/// Prints one line per relay.
pub(super) fn list(parsed: &Parsed) -> Result<(), Failure> {
    let operator = OperatorClient::of(parsed)?;
    operator.must_run("start it, or give another relay's directory with --data")?;
    let status = operator.status()?;
    let relays = status.relays.ok_or_else(|| {
        Failure::operation("this relay is not part of a fleet")
            .hint("start relays with --store to share their state")
    })?;
    let rows: Vec<_> = relays.iter().map(row).collect();
    print_list(parsed, &relays, COLUMNS, &rows, "")?;
    if status.store.as_deref() == Some("away") && !parsed.wants_json() {
        say(
            "The store is unreachable: existing connections continue, nothing new is accepted until it is back.\n",
        );
    }
    Ok(())
}

fn row(relay: &Peer) -> [String; 6] {
    let connected = relay.connected.map(|count| count.to_string());
    let at = match relay.tunnel_port {
        0 => shown(relay.tunnel_url.as_deref().unwrap_or_default()),
        port => format!("{}:{port}", shown(&relay.external_ip)),
    };
    [
        shown(&relay.id),
        shown(&relay.state),
        shown(&connected.unwrap_or_default()),
        at,
        shown(&relay.peer),
        shown(&relay.version),
    ]
}
