//! First lines of `postern start`.

use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};

use crate::cli::failure::printable;
use crate::cli::output::print;
use crate::manager::Running;

/// Time in which is said whether the server is reached. Default 30 s: a main tunnel has as long.
const REACHED_WITHIN: Duration = Duration::from_secs(30);
/// Pause between two looks.
const LOOK: Duration = Duration::from_millis(200);

/// The page's address, and unless `is_quiet` what else a person wants to know. `sites` is where those of the relay in
/// this process are.
pub(super) fn of(running: &Running, sites: Option<&str>, is_quiet: bool) -> String {
    let page = format!("Management page: http://{}/\n", running.address());
    if is_quiet {
        return page;
    }
    let relay = match (sites, running.server()) {
        (Some(sites), _) => {
            format!("Relay: built in, for this machine only\nSites: {sites}\n")
        }
        (None, Some((server, None))) => {
            format!("Relay: {server}, contacted at the first connect\n")
        }
        (None, Some((server, _))) => format!("Relay: {server}\n"),
        (None, None) => "Relay: none; 'postern server add URL --default' sets one\n".to_owned(),
    };
    let (all, connected) = running.applications();
    let applications = match connected {
        0 => format!("Applications: {all}\n"),
        some => format!("Applications: {all}, of which {some} are connected\n"),
    };
    format!("{page}{relay}{applications}Ctrl-C stops it.\n")
}

/// Prints once whether the server is reachable. True if the signal came meanwhile.
pub(super) fn print_reachability(running: &Running, stopped: &Receiver<()>) -> bool {
    let until = Instant::now() + REACHED_WITHIN;
    while Instant::now() < until {
        let line = match running.server() {
            Some((server, Some(main))) if main.status == "connected" => {
                format!("Relay: {server} is reachable\n")
            }
            Some((server, Some(main))) if !main.error.is_empty() => {
                format!(
                    "Relay: {server} is unreachable, retrying: {}\n",
                    printable(&main.error)
                )
            }
            Some(_) => String::new(),
            None => return false,
        };
        if !line.is_empty() {
            // A closed standard output is no failure here.
            let _ = print(&line);
            return false;
        }
        match stopped.recv_timeout(LOOK) {
            Err(RecvTimeoutError::Timeout) => {}
            // An error means that nobody can send any more; ending is right then too.
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return true,
        }
    }
    false
}
