//! `postern doctor`: checks everything that sharing needs, one line each; here servers and applications. It changes
//! nothing.

use std::collections::BTreeMap;

use here::{Finding, Severity, StateFiles, clock_of};
use serde_json::Value;

use crate::cli::args::command::Parsed;
use crate::cli::args::operations::STRICT;
use crate::cli::args::values::{SERVER_VARIABLE, environment};
use crate::cli::failure::{Failure, print, print_json, printable};
use crate::cli::manager_client::Manager;
use crate::cli::serve::data_dir;
use crate::manager::ServerUrl;
use crate::manager::app::AppConfig;
use crate::manager::diagnosis::{
    ConnectionProblem, ConnectorStanding, NoAnswer, SetupEndpoint, look_at_application,
    look_at_server, look_at_standing, look_at_tunnel,
};
use crate::store::{Credentials, DataDir};
use crate::sync::{Thread, spawn_scoped};
use crate::tunnel::client::{HostKeyChange, Way};
use crate::tunnel::ws::NO_NAME;

mod here;

/// Applications that are checked at the same time: each may take 10 s.
const AT_ONCE: usize = 8;
/// Advice about a server that does not answer.
const FIREWALL: &str = "check that the relay runs and no firewall blocks it; if this network uses a proxy, set HTTPS_PROXY";

/// Runs all checks, and prints each result at once.
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
    for server in servers(&home, &files) {
        print_all(server_findings(&home, &server, &files))?;
    }
    print_all(applications(&files))?;
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

/// Servers of the list, of the environment, of applications, and those that a running manager uses, each once.
fn servers(home: &DataDir, files: &StateFiles) -> Vec<ServerUrl> {
    let listed = files.servers.all().map(|(_, server)| server.url.clone());
    let of_app = |app: &AppConfig| app.server.clone().or_else(|| app.used_server.clone());
    let named = files.apps.iter().filter_map(of_app);
    let all = listed
        .chain(environment(SERVER_VARIABLE))
        .chain(named)
        .chain(used_now(home));
    // The doctor also checks http servers.
    let all = all.filter_map(|url| ServerUrl::parse(&url, true).ok());
    let by_origin: BTreeMap<String, ServerUrl> =
        all.map(|url| (url.origin().to_owned(), url)).collect();
    by_origin.into_values().collect()
}

/// Servers that the running manager's applications use: its built-in relay is in no file.
fn used_now(home: &DataDir) -> Vec<String> {
    let manager = Manager::find(home).ok().flatten();
    let servers = manager.and_then(|manager| manager.servers().ok());
    let used = servers.unwrap_or_default().into_iter();
    let used = used.filter(|server| !server.applications.is_empty());
    used.map(|server| server.url).collect()
}

/// Checks a server step by step, until a step fails.
fn server_findings(home: &DataDir, server: &ServerUrl, files: &StateFiles) -> Vec<Finding> {
    let look = look_at_server(server);
    let mut findings = Vec::new();
    findings.extend(look.addresses.map(|found| match found {
        Ok(addresses) => {
            let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            Finding::good(
                "DNS",
                format!("{} is {}", server.host(), addresses.join(", ")),
            )
        }
        Err(error) => Finding::wrong("DNS", format!("{}: {error}", server.host()), NO_NAME),
    }));
    findings.extend(
        look.connection
            .map(|connected| connection(server, connected)),
    );
    if let Some(Ok(SetupEndpoint {
        clock: Some(there), ..
    })) = &look.quick_setup
    {
        findings.extend(clock_of(server.host(), *there));
    }
    findings.extend(look.quick_setup.map(|found| quick_setup(server, found)));
    if let Some(credentials) = files.credentials.get(server.origin()) {
        findings.extend(standing(server, credentials));
        findings.extend(tunnel(home, server, credentials));
    }
    findings
}

fn connection(server: &ServerUrl, connected: Result<(), ConnectionProblem>) -> Finding {
    match connected {
        Ok(()) if server.origin().starts_with("https") => {
            Finding::good("TLS", format!("{server}: its certificate is trusted"))
        }
        Ok(()) => Finding::good("connection", format!("{server} is reachable, without TLS")),
        Err(ConnectionProblem::Tls(problem)) => Finding::wrong(
            "TLS",
            format!("{server}: {}", problem.error),
            problem.advice.unwrap_or(FIREWALL),
        ),
        Err(ConnectionProblem::Network(problem)) => Finding::wrong(
            "connection",
            format!("{server}: {}", problem.error),
            problem.advice.unwrap_or(FIREWALL),
        ),
    }
}

fn quick_setup(server: &ServerUrl, found: Result<SetupEndpoint, NoAnswer>) -> Finding {
    const CHECK: &str = "quick-setup";
    const HINT: &str = "check the URL: give the relay's, not a site's";
    match found {
        Ok(look) if look.is_there => Finding::good(CHECK, format!("{server} accepts requests")),
        Ok(look) => Finding::wrong(CHECK, format!("{server} answers {}", look.status), HINT),
        Err(problem) => Finding::wrong(
            CHECK,
            format!("{server}: {}", problem.error),
            problem.advice.unwrap_or(HINT),
        ),
    }
}

/// Checks whether the server accepts this connector; none if it cannot be asked.
fn standing(server: &ServerUrl, credentials: &Credentials) -> Option<Finding> {
    const CHECK: &str = "credentials";
    let name = &credentials.connector_name;
    Some(match look_at_standing(server, credentials)? {
        ConnectorStanding::Known => Finding::good(CHECK, format!("{server} knows {name}")),
        ConnectorStanding::Refused => Finding::wrong(
            CHECK,
            format!("{server} refuses {name}"),
            "it was removed there, or its password changed: 'postern start --reset-credentials' creates a new \
             identity, with new addresses",
        ),
        ConnectorStanding::Revoked => Finding::wrong(
            CHECK,
            format!("{name} is revoked at {server}"),
            format!("ask its operator to run 'postern relay allow {name}'; it then reconnects"),
        ),
    })
}

fn tunnel(home: &DataDir, server: &ServerUrl, credentials: &Credentials) -> Vec<Finding> {
    let Some(look) = look_at_tunnel(home, server, credentials) else {
        return vec![Finding::note(
            "tunnel port",
            format!("{server} has assigned none yet"),
            "the first connect assigns one",
        )];
    };
    let address = look.address;
    let (has_way, is_one) = (
        look.ways.iter().any(|way| way.answer.is_ok()),
        look.ways.len() == 1,
    );
    let ways = look.ways.into_iter().map(|look| {
        let check = match look.way {
            Way::Url => "tunnel URL",
            _ => "tunnel port",
        };
        let at = look.address;
        match look.answer {
            Ok(()) => Finding::good(check, format!("{at}: a tunnel server answers")),
            Err(problem) if has_way => Finding::note(
                check,
                format!("{at}: {}", problem.error),
                "not needed: the other way works",
            ),
            Err(problem) => {
                let hint = match (look.way, problem.advice) {
                    (_, Some(advice)) => advice.to_owned(),
                    (Way::Url, _) => format!(
                        "ask the administrator of this network to allow WebSockets to {}, or the relay's operator \
                         whether its web server passes WebSockets",
                        server.host()
                    ),
                    _ if is_one => {
                        "check that this port is open there; it differs from the URL's port".to_owned()
                    }
                    _ => format!("ask the administrator of this network to open {at} (TCP)"),
                };
                Finding::wrong(check, format!("{at}: {}", problem.error), hint)
            }
        }
    });
    let key = look.host_key.map(|key| host_key(server, &address, key));
    ways.chain(key).collect()
}

/// Compares the key that a tunnel server shows now with the known one.
fn host_key(server: &ServerUrl, address: &str, key: Result<HostKeyChange, String>) -> Finding {
    const CHECK: &str = "host key";
    let key = match key {
        Ok(key) => key,
        Err(error) => {
            return Finding::wrong(
                CHECK,
                format!("{address}: {error}"),
                "check that this is the relay's tunnel port",
            );
        }
    };
    let (known, offered) = (key.known, printable(&key.offered));
    match known.as_str() {
        "" => Finding::note(
            CHECK,
            format!("{address}: {offered} is not known yet"),
            "the first key seen is saved",
        ),
        known if known == offered => {
            Finding::good(CHECK, format!("{address}: {offered} is the known one"))
        }
        known => Finding::wrong(
            CHECK,
            format!("{address}: does not match: known {known}, now {offered}"),
            format!(
                "compare the new one with the operator's; 'postern server trust {server}' accepts it"
            ),
        ),
    }
}

/// Checks the targets of all applications, some at a time; the results are in order.
fn applications(files: &StateFiles) -> Vec<Finding> {
    let finding = |app: &AppConfig| match look_at_application(app) {
        Ok(()) => Finding::good(
            "application",
            format!("{}: {} answers", app.name, app.address()),
        ),
        Err(error) => Finding::wrong(
            "application",
            format!("{}: {error}", app.name),
            "start it, or correct its address (see 'postern app list')",
        ),
    };
    let some = files.apps.chunks(AT_ONCE).flat_map(|some| {
        // The threads end with the last answer, which this waits for.
        std::thread::scope(|scope| {
            let asking = some.iter().map(|app| {
                let thread = spawn_scoped(Thread::Doctor, scope, move || finding(app));
                (app, thread)
            });
            let asking: Vec<_> = asking.collect();
            let answers = asking.into_iter().filter_map(|(app, thread)| match thread {
                Ok(thread) => thread.join().ok(),
                Err(_) => Some(finding(app)),
            });
            answers.collect::<Vec<_>>()
        })
    });
    some.collect()
}
