//! The web client of a database application; it lives as long as the connection.

use crate::api::ErrorClass;
use crate::sync::{Mutex, Permits, Thread, spawn};
use std::sync::{Arc, LazyLock};

use crossbeam_channel::{Sender, select};
use zeroize::Zeroizing;

use super::app_state::AppState;
use super::apps::app::AppConfig;
use super::connection::{ConnectError, ConnectionRecord, Ended, Enforcement, MAX_ACTIVE};
use super::own_listeners::RegisteredListener;
use crate::plugin::{Bind, Database, Grant, Guest, NotServed, Served, guests_end};
use crate::tunnel::ws::Endpoint;

/// Maximum number of simultaneous starts: twice the connections, because an abandoned start lasts until the database
/// answers or a timeout.
const MAX_STARTS: usize = 2 * MAX_ACTIVE;

/// Starts under way.
static STARTS: LazyLock<Permits> = LazyLock::new(Permits::default);

/// A running web client, stopped when this is dropped.
pub(crate) struct WebClient {
    served: Option<Box<dyn Served>>,
    /// Code for visitors, and the number of the sign-ins.
    admitted: Option<(Zeroizing<String>, u64)>,
    /// Name of the site that it is served under; true if visitors use `https`.
    host: Option<(String, bool)>,
    /// Dropped last, when nobody listens any more.
    _registered: Option<RegisteredListener>,
}

type StartOutcome = Option<Result<(Box<dyn Served>, Option<RegisteredListener>), NotServed>>;

impl WebClient {
    /// Starts it, or gives up at the stop signal.
    pub(crate) fn start(
        core: &AppState,
        app: &AppConfig,
        record: &ConnectionRecord,
    ) -> Result<Self, Ended> {
        let protocol = app.protocol.name();
        let added = core
            .plugins
            .serves(protocol)
            .map_err(|error| ConnectError::new(ErrorClass::Plugin, error.to_string()))?;
        let outcome = match added {
            true => started(core, app, record)?,
            false => None,
        };
        let outcome = outcome.ok_or_else(|| {
            let unsupported = format!("unsupported protocol '{protocol}'");
            ConnectError::new(ErrorClass::Plugin, unsupported)
        })?;
        let (served, registered) = outcome.map_err(|error| {
            ConnectError::new(ErrorClass::Plugin, error.message).refused(error.is_denied)
        })?;
        Ok(Self {
            served: Some(served),
            admitted: None,
            host: None,
            _registered: registered,
        })
    }

    /// The running service.
    pub(crate) fn served(&self) -> &dyn Served {
        let served = self.served.as_deref();
        served.expect("it is taken by the drop alone")
    }

    /// Changes the end of the guest's account, which is that of the application.
    pub(crate) fn set_end(&self, expires: Option<&str>) {
        self.served().set_end(guests_end(expires));
    }

    /// Admits visitors under the site's name, in invisible mode with its code. Earlier names, codes and sign-ins become
    /// invalid.
    pub(crate) fn admit(&mut self, enforcement: &Enforcement, site_url: &str) {
        let code = enforcement.code.as_ref();
        let admitted = code.map(|code| (code.clone(), enforcement.generation));
        let served = self.served();
        if let Some(code) = code.filter(|_| self.admitted != admitted) {
            served.set_code(code);
        }
        served.believe_origins(enforcement.says_origins);
        let host = site_host(site_url).map(|host| (host, site_url.starts_with("https:")));
        if host != self.host {
            if let Some((before, _)) = &self.host {
                served.disallow_host(before);
            }
            let allowed = host
                .as_ref()
                .map(|(host, https)| served.allow_host(host, *https));
            if let Some(Err(error)) = allowed {
                log::warn!("the web client is not served under the site's name: {error}");
            }
        }
        (self.host, self.admitted) = (host, admitted);
    }
}

impl Drop for WebClient {
    fn drop(&mut self) {
        if let Some(served) = self.served.take() {
            served.stop();
        }
    }
}

/// Starts the web client on a thread of its own, because the driver cannot be interrupted. The thread ends with the
/// attempt, and stops the web client if nobody waits for it any more.
fn started(
    core: &AppState,
    app: &AppConfig,
    record: &ConnectionRecord,
) -> Result<StartOutcome, Ended> {
    let permit = STARTS.take(MAX_STARTS).ok_or_else(|| {
        let busy = "too many web clients wait for their databases; try again in half a minute";
        ConnectError::new(ErrorClass::Plugin, busy)
    })?;
    let (sender, outcome): (Sender<StartOutcome>, _) = crossbeam_channel::bounded(0);
    let bound = Arc::new(Mutex::new(None));
    let (clients, protocol) = (core.web_clients, app.protocol.name());
    let database = Database {
        statements: Arc::clone(&record.statements),
        ..database(core, app, guest(app)?, bind(core, &bound))
    };
    let spawned = spawn(Thread::WebClient, move || {
        let outcome = clients.serve(protocol, database).map(|outcome| {
            let registered = bound.lock().take();
            outcome.map(|served| (served, registered))
        });
        drop(permit);
        if let Err(unwanted) = sender.send(outcome)
            && let Some(Ok((served, _registered))) = unwanted.into_inner()
        {
            served.stop();
        }
    });
    spawned
        .map_err(|error| ConnectError::local(format!("no thread for the web client: {error}")))?;
    select! {
        recv(record.stopped) -> _ => Err(Ended::Stopped),
        recv(outcome) -> outcome => match outcome {
            Ok(outcome) => Ok(outcome),
            Err(_) => Err(ConnectError::new(ErrorClass::Plugin, "plugin error: the web client stopped while it started").into()),
        }
    }
}

/// Listener of the web client, registered as our own before it is used.
fn bind(core: &AppState, bound: &Arc<Mutex<Option<RegisteredListener>>>) -> Bind {
    let (listeners, bound) = (core.listeners.clone(), Arc::clone(bound));
    Arc::new(move |address| {
        let (listener, registered) = listeners.bind(address, "a database's web client")?;
        *bound.lock() = Some(registered);
        Ok(listener)
    })
}

/// No listener, for questions to a database.
fn no_bind() -> Bind {
    Arc::new(|_| Err(std::io::ErrorKind::Unsupported.into()))
}

fn database(core: &AppState, app: &AppConfig, guest: Option<Guest>, bind: Bind) -> Database {
    Database {
        host: app.ip.clone(),
        port: app.port,
        user: app.db_user.clone(),
        password: app
            .db_pass
            .clone()
            .unwrap_or_else(|| Zeroizing::new(String::new())),
        name: app.db_name.clone(),
        readonly: app.db_readonly,
        invisible: app.invisible,
        check_other_users: core.check_other_users,
        run_dir: core.run_dir.clone(),
        guest,
        statements: Arc::default(),
        home: core.home.clone(),
        bind,
    }
}

/// Temporary account for visitors; none if the application has no grants.
fn guest(app: &AppConfig) -> Result<Option<Guest>, ConnectError> {
    let grants: Result<Vec<Grant>, _> = app.guest.iter().map(|text| Grant::parse(text)).collect();
    let grants =
        grants.map_err(|wrong| ConnectError::new(ErrorClass::Plugin, format!("guest: {wrong}")))?;
    let expires = guests_end(app.expires.as_deref());
    Ok((!grants.is_empty()).then_some(Guest { grants, expires }))
}

/// Objects that a guest of the application's database could read: databases, tables of one, columns of a table.
pub(super) fn objects(
    core: &AppState,
    app: &AppConfig,
    within: &[String],
) -> Result<Vec<String>, String> {
    let protocol = app.protocol.name();
    let asked = core
        .web_clients
        .objects(protocol, database(core, app, None, no_bind()), within);
    asked.unwrap_or_else(|| Err(format!("unsupported protocol '{protocol}'")))
}

/// Drops guest accounts left by a killed process, on the databases of all applications; if an application has a guest,
/// also expired accounts of others.
pub(super) fn sweep(core: &Arc<AppState>, apps: &[AppConfig]) {
    let of_databases: Vec<AppConfig> = apps
        .iter()
        .filter(|app| app.protocol.is_database())
        .cloned()
        .collect();
    if of_databases.is_empty() {
        return;
    }
    let core = Arc::clone(core);
    spawn(Thread::WebClient, move || {
        for app in of_databases {
            let protocol = app.protocol.name();
            let guest = guest(&app).unwrap_or_default();
            core.web_clients
                .sweep(protocol, database(&core, &app, guest, no_bind()));
        }
    })
    .unwrap_or_else(|error| log::warn!("no thread to look for leftover guest accounts: {error}"));
}

/// `HOST:PORT` of a site's URL, with the scheme's default port if it names none.
pub(super) fn site_host(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let site = Endpoint::parse(&format!("{scheme}://{authority}")).ok()?;
    matches!(scheme, "http" | "https").then(|| site.authority())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sites_host_has_a_port() {
        for (url, host) in [
            ("http://a.example/", Some("a.example:80")),
            ("https://a.example", Some("a.example:443")),
            ("http://127.0.0.1:9000/x?y", Some("127.0.0.1:9000")),
            ("http://[::1]", Some("[::1]:80")),
            ("http://[::1]:9", Some("[::1]:9")),
            ("tcp://a:1", None),
            ("", None),
        ] {
            assert_eq!(site_host(url).as_deref(), host, "{url}");
        }
    }
}
