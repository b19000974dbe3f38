//! `postern doctor`: looks at all that sharing needs, a line each. It changes nothing.

mod finding;
mod here;
mod network;

use serde_json::Value;

use crate::cli::args::command::Parsed;
use crate::cli::args::operations::STRICT;
use crate::cli::failure::Failure;
use crate::cli::output::{print, print_json};
use crate::cli::serve::data_dir;
use finding::{Finding, Severity};

/// Looks, and says what it finds as it finds it.
pub(crate) fn examine(parsed: &Parsed) -> Result<(), Failure> {
    let home = data_dir()?;
    let is_json = parsed.wants_json();
    let mut all = Vec::new();
    let mut print_all = |findings: Vec<Finding>| {
        if !is_json {
            print(&findings.iter().map(Finding::lines).collect::<String>())?;
        }
        all.extend(findings);
        Ok::<(), Failure>(())
    };
    print_all(here::directory(&home))?;
    let files = here::StateFiles::look(&home);
    print_all(here::files(&home, &files))?;
    print_all(vec![here::manager(&home)])?;
    print_all(here::ports(&home))?;
    print_all(vec![here::clock(), here::plugin(&home, &files)])?;
    for server in network::servers(&home, &files) {
        print_all(network::server(&home, &server, &files))?;
    }
    print_all(network::applications(&files))?;
    let shown: Vec<Value> = all.iter().map(Finding::to_json).collect();
    let wrong = all
        .iter()
        .filter(|finding| finding.state == Severity::Wrong);
    match wrong.count() {
        count @ 1.. if parsed.has(&STRICT) => {
            let failure = Failure::operation(format!("{count} of {} checks failed", all.len()));
            Err(failure.answer(shown.into()))
        }
        _ if is_json => print_json(&shown),
        _ => Ok(()),
    }
}
