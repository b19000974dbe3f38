//! `postern mysql [target]`, which opens the web SQL client, and the built-in plugin, which serves it for applications.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use settings::{SHARED_QUERY_TIMEOUT, Settings};
use share::ShareRequest;

use crate::cli::args::command::Parsed;
use crate::cli::args::table::mysql::{COMMAND, NO_OPEN, VERBOSE};
use crate::cli::commands::sharing::progress;
use crate::cli::failure::{Failure, print, printable, say, warn};
use crate::cli::serve::SignalWatch;
use crate::cli::{browser, logging, serve};
use crate::plugin::{Database, GuestInForce, NotServed, Plugin, Served, SignIn, tables_and_views};
use crate::sqlweb::{self, Options, StartError, Target, TlsMode, WebClient};
use crate::store::DataDir;
use crate::sync::{Thread, spawn};
use crate::tunnel::client::Serve;

pub(in crate::cli::commands) mod prompt;
mod settings;
mod share;

/// Time before a warning that nothing answers. Default 3 s; a server that does a DNS lookup first rarely takes longer.
const SILENCE: Duration = Duration::from_secs(3);

/// The built-in plugin for MySQL-protocol databases.
pub(crate) struct MySql;

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
        COMMAND.run(arguments, |parsed| {
            open(parsed).map_err(progress::with_error_event)
        })
    }

    fn serve(&self, database: Database) -> Result<Box<dyn Served>, NotServed> {
        let bind = database.bind.clone();
        match sqlweb::start_with(options(database), &*bind) {
            Ok(running) => Ok(Box::new(Arc::new(running))),
            Err(error) => Err(NotServed {
                message: printable(&described(&error)),
                is_denied: error.is_denied(),
            }),
        }
    }

    fn objects(&self, database: Database, within: &[String]) -> Result<Vec<String>, String> {
        let found = sqlweb::objects(options(database), within);
        found.map_err(|error| printable(&described(&error)))
    }

    fn sweep(&self, database: Database) {
        sqlweb::sweep(options(database));
    }
}

/// Opens a web client, and shares it with `--share`.
fn open(parsed: &Parsed) -> Result<(), Failure> {
    let mut settings = Settings::read(parsed)?;
    logging::start(parsed.has(&VERBOSE));
    let watch = SignalWatch::start()?;
    let opens = !parsed.has(&NO_OPEN);
    let mut share = settings.share.take();
    let mut options = settings.ask()?;
    options.guest = share.as_mut().and_then(|share| share.guest.take());
    match share {
        // Standard output is for the link to send.
        Some(_) => say(&connecting(&options)),
        None => print(&connecting(&options))?,
    }
    // After the questions, during which most interruptions come.
    options.home = DataDir::locate().ok();
    let run_dir = serve::run_dir(options.home.as_ref(), &watch)?;
    options.run_dir = run_dir.path().to_owned();
    let share = share.map(|request| request.of(&options.target));
    let readonly = options.readonly || options.guest.is_some();
    let answered = warn_if_silent();
    let again = options.clone();
    let running = sqlweb::start(options);
    drop(answered);
    let running = match running {
        Err(error) if error.is_expired() && prompt::can_ask() => {
            warn(&format!("the password of {} has expired", user_of(&again)));
            let new_password = prompt::new_secret("New password: ")?;
            sqlweb::start(Options {
                new_password: Some(new_password),
                ..again
            })
        }
        outcome => outcome,
    };
    let running = running
        .map_err(|error| Failure::verbatim(printable(&error.to_string())).hint_if(error.hint()))?;
    run_client(running, readonly, share, opens, &watch, run_dir.path())
}

/// Options of a web client for an application's database.
fn options(database: Database) -> Options {
    Options {
        target: Target::Tcp {
            host: database.host,
            port: database.port,
        },
        user: database
            .user
            .unwrap_or_else(|| prompt::DEFAULT_USER.to_owned()),
        password: database.password,
        new_password: None,
        database: database.name,
        readonly: database.readonly,
        invisible: database.invisible,
        listen: None,
        allow_hosts: Vec::new(),
        tls: TlsMode::default(),
        is_shared: true,
        statements: Some(database.statements),
        query_timeout: Some(SHARED_QUERY_TIMEOUT),
        guest: database.guest,
        home: Some(database.home),
        check_other_users: database.check_other_users,
        run_dir: database.run_dir,
    }
}

/// The error, with a hint if it is about a guest account.
fn described(error: &StartError) -> String {
    match error {
        StartError::Guest { hint, .. } => format!("{error}; {hint}"),
        _ => error.to_string(),
    }
}

/// Warns after a while that nothing answers, unless the returned value is dropped before. Does nothing if no thread can
/// be started.
fn warn_if_silent() -> Sender<()> {
    let (answered, silence) = crossbeam_channel::bounded::<()>(0);
    let warn = move || {
        if silence.recv_timeout(SILENCE) == Err(RecvTimeoutError::Timeout) {
            warn("no answer yet; is a MySQL-protocol server listening there?");
        }
    };
    let _ = spawn(Thread::Silence, warn);
    answered
}

fn user_of(options: &Options) -> String {
    match options.user.as_str() {
        "" => "the anonymous user".to_owned(),
        user => printable(user),
    }
}

fn connecting(options: &Options) -> String {
    let target = options.target.to_string();
    let user = user_of(options);
    let database = options.database.as_deref().map(printable);
    let database = database.map_or(String::new(), |name| format!(", database {name}"));
    let no_tls = matches!(options.target, Target::Unix(_)) && options.tls != TlsMode::default();
    let note = if no_tls {
        "Note: --tls does not apply to a Unix socket\n"
    } else {
        ""
    };
    format!(
        "Connecting to {} as {user}{database}\n{note}",
        printable(&target)
    )
}

/// Prints the address of the client, and ends it at the first signal.
fn run_client(
    running: WebClient,
    readonly: bool,
    share: Option<ShareRequest>,
    opens: bool,
    watch: &SignalWatch,
    run_dir: &Path,
) -> Result<(), Failure> {
    // Before the first line is printed: its reader may send the signal at once.
    let stopped = watch.running();
    let running = Arc::new(running);
    let mut alone = None;
    let text = announcement(&running, readonly, share.is_some());
    let printed = match share {
        Some(_) => Ok(()),
        None => print(&text),
    };
    let ended = printed.and_then(|()| {
        if opens {
            browser::open(&running.url);
        }
        let Some(mut share) = share else {
            // An error means that nobody can send any more: then it ends too.
            let _ = stopped.recv();
            return Ok(());
        };
        let home = serve::data_dir()?;
        share.warn();
        share.progress.local = Some(text);
        share.run(&home, &running, run_dir, &stopped, &mut alone)
    });
    serve::stop_in_time(move || {
        if let Some(alone) = alone {
            alone.stop();
        }
        Served::stop(Box::new(running));
    });
    ended
}

/// Text about the running client. The link is called local if there is another one.
fn announcement(running: &WebClient, readonly: bool, is_shared: bool) -> String {
    let mode = if readonly { "read-only" } else { "read-write" };
    let auth = running.auth_url.as_deref();
    let name = if is_shared {
        "Local auth URL"
    } else {
        "Auth URL"
    };
    let auth = auth.map_or(String::new(), |url| format!("{name}: {url}\n"));
    let guest = running.guest().map_or(String::new(), |guest| {
        let reads = tables_and_views(guest.tables, guest.views);
        format!("Guest account: {reads}\n")
    });
    format!("Web client: {}\nMode: {mode}\n{guest}{auth}", running.url)
}

impl Served for Arc<WebClient> {
    fn address(&self) -> SocketAddr {
        WebClient::address(self)
    }

    fn streams(&self) -> Serve {
        let server = WebClient::streams(self);
        Arc::new(move |stream| {
            let end = stream.ender();
            server.serve(stream, end);
        })
    }

    fn url(&self) -> String {
        self.auth_url.as_ref().unwrap_or(&self.url).clone()
    }

    fn set_code(&self, code: &str) {
        self.set_guest_code(code);
    }

    fn allow_host(&self, host: &str, is_https: bool) -> Result<(), String> {
        let hosts = self.hosts();
        let allowed = match is_https {
            true => hosts.allow_https(host),
            false => hosts.allow(host),
        };
        allowed.map_err(|error| error.to_string())
    }

    fn disallow_host(&self, host: &str) {
        self.hosts().disallow(host);
    }

    fn believe_origins(&self, is_ours: bool) {
        WebClient::believe_origins(self, is_ours);
    }

    fn set_end(&self, expires: SystemTime) {
        WebClient::set_end(self, expires);
    }

    fn guest(&self) -> Option<Arc<GuestInForce>> {
        WebClient::guest(self)
    }

    fn sign_in(&self) -> SignIn {
        let sign_in = WebClient::sign_in(self);
        Arc::new(move || sign_in().map_err(|error| printable(&error)))
    }

    fn missed(&self) -> Receiver<()> {
        WebClient::missed(self)
    }

    /// Stops it, unless another holder will.
    fn stop(self: Box<Self>) {
        if let Some(client) = Arc::into_inner(*self) {
            client.stop();
        }
    }
}
