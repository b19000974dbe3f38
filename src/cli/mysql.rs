//! `postern mysql [target]`: opens the web SQL client.

use std::time::Duration;

use super::failure::{Failure, printable, reported};
use super::output::print;
use super::settings::{COMMAND, NO_OPEN, Settings, VERBOSE};
use super::signals::Watch;
use super::{browser, logging};
use crate::plugin::Plugin;
use crate::sqlweb::{self, Options, Running};
use crate::vault::{Home, RunDir};

/// How long ending may take before the process ends regardless: two seconds
/// are promised, and the rest is for leaving the process.
const STOP_WAIT: Duration = Duration::from_millis(1800);
/// The stack of the thread that ends the web client, in bytes.
const STOP_STACK: usize = 512 * 1024;

/// The built-in plugin for MySQL-protocol databases.
pub(super) struct MySql;

impl Plugin for MySql {
    type Failure = Failure;

    fn name(&self) -> &'static str {
        "mysql"
    }

    fn protocols(&self) -> &'static [&'static str] {
        &["mysql", "mariadb"]
    }

    fn help(&self, protocol: &str, arguments: &[String]) -> Option<String> {
        let parsed = COMMAND.parse(arguments).ok()?;
        parsed.wants_help().then(|| COMMAND.help(protocol))
    }

    fn run(&self, _protocol: &str, arguments: &[String]) -> Result<(), Failure> {
        let parsed = COMMAND.parse(arguments)?;
        let settings = Settings::read(&parsed)?;
        logging::start(parsed.has(&VERBOSE));
        let watch = Watch::start()
            .map_err(|error| Failure::operation(format!("cannot watch for signals: {error}")))?;
        let opens = !parsed.has(&NO_OPEN);
        let mut options = settings.ask()?;
        print(&connecting(&options))?;
        // After the questions, where most of the signals that end a start come.
        let run_dir = RunDir::create(Home::locate().ok().as_ref())
            .map_err(|error| Failure::operation(error.to_string()).hint(error.hint()))?;
        watch.removes(run_dir.path());
        options.run_dir = run_dir.path().to_owned();
        let (readonly, running) = (options.readonly, sqlweb::start(options));
        let running = running.map_err(|error| {
            let failure = Failure::verbatim(reported(&error.to_string()));
            match error.hint() {
                Some(hint) => failure.hint(hint),
                None => failure,
            }
        })?;
        serve(running, readonly, opens, &watch)
    }
}

fn connecting(options: &Options) -> String {
    let target = options.target.to_string();
    let user = match options.user.as_str() {
        "" => "the anonymous user".to_owned(),
        user => printable(user),
    };
    let database = options.database.as_deref().map(printable);
    let database = database.map_or(String::new(), |name| format!(", database {name}"));
    format!("Connecting to {} as {user}{database}\n", printable(&target))
}

/// Says where the client is, and ends it at the first signal.
fn serve(running: Running, readonly: bool, opens: bool, watch: &Watch) -> Result<(), Failure> {
    // Before the first line: who reads it may send the signal at once.
    let stopped = watch.running();
    let printed = print(&announcement(&running, readonly));
    if printed.is_ok() {
        if opens {
            browser::open(&running.url);
        }
        // An error means that nobody can send any more; ending is right then too.
        let _ = stopped.recv();
    }
    stop(running);
    printed
}

fn announcement(running: &Running, readonly: bool) -> String {
    let mode = if readonly { "read-only" } else { "read-write" };
    let auth = running.auth_url.as_deref();
    let auth = auth.map_or(String::new(), |url| format!("Auth URL: {url}\n"));
    format!("Web client: {}\nMode: {mode}\n{auth}", running.url)
}

fn stop(running: Running) {
    let (sender, done) = crossbeam_channel::bounded(1);
    // A thread so that the wait has an end; it ends with its work or the process.
    let stopping = std::thread::Builder::new()
        .name("stop".into())
        .stack_size(STOP_STACK)
        .spawn(move || {
            running.stop();
            // The other side may have given up.
            let _ = sender.send(());
        });
    if stopping.is_err() || done.recv_timeout(STOP_WAIT).is_err() {
        log::warn!("not everything ended within {STOP_WAIT:?}");
    }
}
