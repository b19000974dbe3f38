//! `postern mysql [target]`: opens the web SQL client.

use std::net::SocketAddr;

use super::failure::{Failure, printable, reported};
use super::output::print;
use super::settings::{COMMAND, NO_OPEN, Settings, VERBOSE};
use super::signals::Watch;
use super::{browser, ending, logging};
use crate::plugin::{Database, Plugin, Served};
use crate::sqlweb::{self, Options, Running, Target, TlsMode};
use crate::vault::{Home, RunDir};

/// The database user where an application names none.
const DEFAULT_USER: &str = "root";

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

    fn serve(&self, database: Database) -> Result<Box<dyn Served>, String> {
        let running = sqlweb::start(Options {
            target: Target::Tcp {
                host: database.host,
                port: database.port,
            },
            user: database.user.unwrap_or_else(|| DEFAULT_USER.to_owned()),
            password: database.password,
            database: database.name,
            readonly: database.readonly,
            invisible: database.invisible,
            listen: None,
            allow_hosts: Vec::new(),
            tls: TlsMode::default(),
            query_timeout: None,
            check_other_users: database.check_other_users,
            run_dir: database.run_dir,
        });
        match running {
            Ok(running) => Ok(Box::new(Client(running))),
            Err(error) => Err(reported(&error.to_string())),
        }
    }
}

/// A web client for an application.
struct Client(Running);

impl Served for Client {
    fn address(&self) -> SocketAddr {
        self.0.address()
    }

    fn url(&self) -> String {
        let url = self.0.auth_url.as_ref().unwrap_or(&self.0.url);
        url.clone()
    }

    fn set_code(&self, code: &str) {
        self.0.set_guest_code(code);
    }

    fn allow_host(&self, host: &str) -> Result<(), String> {
        let allowed = self.0.hosts().allow(host);
        allowed.map_err(|error| error.to_string())
    }

    fn stop(self: Box<Self>) {
        self.0.stop();
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
    ending::within_time(move || running.stop());
    printed
}

fn announcement(running: &Running, readonly: bool) -> String {
    let mode = if readonly { "read-only" } else { "read-write" };
    let auth = running.auth_url.as_deref();
    let auth = auth.map_or(String::new(), |url| format!("Auth URL: {url}\n"));
    format!("Web client: {}\nMode: {mode}\n{auth}", running.url)
}
