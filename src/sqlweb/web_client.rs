//! Starts and stops a web client, with advice for a failed start.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use crossbeam_channel::{Receiver, Sender};

use super::api::Routes;
use super::auth::Auth;
use super::conn::{Connector, readonly};
use super::error::DbError;
use super::gate::CalledFunctions;
use super::guest::Guest;
use super::options::Options;
use super::service::Service;
use super::visitors::Visitors;
use super::{guest, service};
use crate::http::server::StreamServer;
use crate::http::{HostPolicy, Limits, Server, ServerConfig};
use crate::net::in_words;
use crate::plugin::{GuestInForce, StatementLog};
use crate::sync::{Thread, spawn_joined};

/// Default port of the web client; if it is taken, the next free one up to [`LAST_PORT`] is used.
pub const FIRST_PORT: u16 = 8306;

/// See [`FIRST_PORT`].
pub const LAST_PORT: u16 = 8405;

/// Number of threads for light requests; requests that use the database have threads of their own.
const WORKERS: usize = 2;

/// Time for stopped statements to end after the HTTP side has ended. Together with the time of the HTTP side it is
/// below 2 s.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(800);

/// Time at the end for dropping a guest's account; after that the next start does it.
const GUEST_TIMEOUT: Duration = Duration::from_millis(600);

/// Longest wait for a sign-in beyond the cap of connections.
const TIME_TO_SIGN_IN: Duration = Duration::from_secs(20);

/// ER_MUST_CHANGE_PASSWORD, and ER_MUST_CHANGE_PASSWORD_LOGIN at sign-in.
const EXPIRED: [u16; 2] = [1820, 1862];

/// A web client that is being served.
pub struct WebClient {
    /// Address for a browser.
    pub url: String,
    /// In invisible mode, the link with the authorization code, which is secret.
    pub auth_url: Option<String>,
    address: SocketAddr,
    hosts: HostPolicy,
    server: Option<Server>,
    service: Arc<Service>,
    watcher: Option<(Sender<()>, JoinHandle<()>)>,
}

/// Reason that the web client could not start. `Display` is the message for the person.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// The database is unreachable, or refused the account.
    Database {
        /// Message.
        message: String,
        /// Advice.
        hint: Option<&'static str>,
        /// True if the account was refused.
        is_denied: bool,
        /// True if the account needs a new password first.
        is_expired: bool,
    },
    /// The temporary account cannot be created.
    Guest {
        /// Message.
        message: String,
        /// Advice.
        hint: String,
    },
    /// The address to listen on is not available.
    Listen(String),
    /// The system refused a thread or a socket.
    System(String),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database { message, .. } | Self::Guest { message, .. } => {
                write!(f, "plugin error: {message}")
            }
            Self::Listen(message) | Self::System(message) => write!(f, "plugin error: {message}"),
        }
    }
}

impl std::error::Error for StartError {}

impl StartError {
    /// Returns advice, if there is any.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Database { hint, .. } => *hint,
            Self::Guest { hint, .. } => Some(hint),
            Self::Listen(_) => Some("name another address with --listen HOST:PORT"),
            Self::System(_) => None,
        }
    }

    /// True if the account needs a new password first; see [`Options::new_password`].
    pub fn is_expired(&self) -> bool {
        matches!(
            self,
            Self::Database {
                is_expired: true,
                ..
            }
        )
    }

    /// True if the database refused the account or its password.
    pub fn is_denied(&self) -> bool {
        matches!(
            self,
            Self::Database {
                is_denied: true,
                ..
            }
        )
    }
}

impl From<DbError> for StartError {
    fn from(error: DbError) -> Self {
        let hint = error.hint().or_else(|| hint(&error));
        Self::Database {
            message: error.to_string(),
            hint,
            is_denied: error.is_denied(),
            is_expired: error
                .server_error()
                .is_some_and(|error| EXPIRED.contains(&error.code)),
        }
    }
}

impl From<guest::GuestFailure> for StartError {
    fn from(failure: guest::GuestFailure) -> Self {
        match failure {
            guest::GuestFailure::Db(error) => error.into(),
            guest::GuestFailure::No(no) => Self::Guest {
                message: no.to_string(),
                hint: no.hint,
            },
        }
    }
}

/// Connects to the database and serves the web client.
pub fn start(options: Options) -> Result<WebClient, StartError> {
    start_with(options, &|address| TcpListener::bind(address))
}

/// Starts the web client, listening by `bind`.
pub(crate) fn start_with(options: Options, bind: Binding<'_>) -> Result<WebClient, StartError> {
    let options = Arc::new(renewed(options)?);
    let connector = Arc::new(Connector::new(options.clone()));
    meet_server(&connector, options.readonly)?;
    let (options, connector, guest) = as_guest(options, connector)?;
    let started = serve(options, connector, guest.clone(), bind);
    if let (Err(_), Some(guest)) = (&started, guest) {
        guest.end();
    }
    started
}

/// Sets the new password on the server, if any.
fn renewed(options: Options) -> Result<Options, StartError> {
    let Some(password) = options.new_password.clone() else {
        return Ok(options);
    };
    Arc::new(Connector::new(Arc::new(options.clone()))).connect()?;
    Ok(Options {
        password,
        new_password: None,
        ..options
    })
}

/// Names of the databases that can be shared, of the tables of one, or of the columns of a table.
pub(crate) fn objects(options: Options, within: &[String]) -> Result<Vec<String>, StartError> {
    let connector = Arc::new(Connector::new(Arc::new(options)));
    let mut conn = connector.connect()?;
    Ok(guest::objects(&mut conn.driver, within)?)
}

/// Drops guests' accounts that were left on the database server.
pub(crate) fn sweep(options: Options) {
    let options = Arc::new(options);
    if let Some(home) = &options.home {
        guest::sweep_left(&Arc::new(Connector::new(options.clone())), &options, home);
    }
}

type Account = (Arc<Options>, Arc<Connector>, Option<Arc<Guest>>);

/// Returns the options for all work, with a temporary account if one is wanted. Sweeps accounts that earlier ones have
/// left.
fn as_guest(options: Arc<Options>, connector: Arc<Connector>) -> Result<Account, StartError> {
    let Some(home) = &options.home else {
        return match options.guest {
            None => Ok((options, connector, None)),
            Some(_) => Err(StartError::System(
                "a temporary account needs a per-user directory for its record".into(),
            )),
        };
    };
    let Some(wanted) = &options.guest else {
        guest::sweep_left(&connector, &options, home);
        return Ok((options, connector, None));
    };
    let (guest, of_guest) = guest::begin(&connector, &options, wanted, home)?;
    let options = Arc::new(of_guest);
    let connector = Arc::new(Connector::new(options.clone()));
    let guest = Arc::new(guest);
    meet_server(&connector, options.readonly).inspect_err(|_| guest.end())?;
    Ok((options, connector, Some(guest)))
}

fn serve(
    options: Arc<Options>,
    connector: Arc<Connector>,
    guest: Option<Arc<Guest>>,
    bind: Binding<'_>,
) -> Result<WebClient, StartError> {
    let listener = listen(options.listen, bind)?;
    let addr = listener.local_addr().map_err(system)?;
    let hosts = host_policy(&options, addr)?;
    let access = options
        .invisible
        .then(|| Auth::new(addr.port(), hosts.clone()));
    let config = ServerConfig {
        listener,
        hosts: hosts.clone(),
        check_other_users: options.check_other_users,
        run_dir: options.run_dir.clone(),
        workers: WORKERS,
        limits: Limits::default(),
    };
    let visitors = Visitors::new(addr.port(), hosts.clone(), options.is_shared);
    let service = Arc::new(Service::new(options, connector, access, guest, visitors));
    let server = Server::start(config, Arc::new(Routes::new(&service))).map_err(system)?;
    let watcher = watcher(&service)?;
    let url = format!("http://{}/", shown(addr));
    let code = service.access.as_ref().map(Auth::code);
    Ok(WebClient {
        auth_url: code.map(|code| format!("{url}auth?code={code}")),
        url,
        address: addr,
        hosts,
        server: Some(server),
        service,
        watcher: Some(watcher),
    })
}

fn meet_server(connector: &Arc<Connector>, readonly: bool) -> Result<(), DbError> {
    let mut conn = connector.connect()?;
    if readonly {
        // Fails at the start, not at the first statement, if this server cannot be made read-only.
        readonly::make_read_only(&mut conn, &CalledFunctions::default())
            .map(|writes| connector.note_write_state(writes))?;
    }
    Ok(())
}

impl WebClient {
    /// Address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Names that it is served under, which can be changed while it runs.
    pub fn hosts(&self) -> &HostPolicy {
        &self.hosts
    }

    /// Returns a check that the database still accepts the account: it signs in once more and disconnects, even at the
    /// cap of connections, which may be dead.
    pub fn sign_in(&self) -> impl Fn() -> Result<(), String> + Send + Sync + use<> {
        let service = Arc::clone(&self.service);
        move || {
            let connector = &service.connector;
            let signed_in = match connector.connect() {
                Err(DbError::Busy) => connector.administer(TIME_TO_SIGN_IN),
                signed_in => signed_in,
            };
            match signed_in {
                _ if service.is_over() => Err("the guest account has expired".into()),
                // The account is valid; this client uses all connections that it may have.
                Err(error) if error.is_of_account() && connector.is_in_use() => Ok(()),
                signed_in => signed_in.map(drop).map_err(|error| error.to_string()),
            }
        }
    }

    /// Returns a channel that gets a message, if it has room, when the database has refused this client.
    pub fn missed(&self) -> Receiver<()> {
        self.service.connector.missed()
    }

    /// Returns the server for visitors without a socket, while the client runs.
    pub fn streams(&self) -> StreamServer {
        let server = self.server.as_ref();
        server.expect("it is taken by the stop alone").streams()
    }

    /// Sets the log of visitors and their statements.
    pub fn note_in(&self, statements: Arc<StatementLog>) {
        self.service.note_in(statements);
    }

    /// Sets whether requests under other names than this machine's come from a relay of ours, which tells their true
    /// origin.
    pub fn believe_origins(&self, is_ours: bool) {
        self.service.visitors.believe(is_ours);
    }

    /// Changes the end of the guest's account, if any.
    pub fn set_end(&self, expires: SystemTime) {
        self.service.set_end(expires);
    }

    /// Returns the guest's account, if any.
    pub fn guest(&self) -> Option<Arc<GuestInForce>> {
        self.service.guest_in_force()
    }

    /// Sets the guests' code in invisible mode, in place of an earlier one; the code of [`auth_url`](Self::auth_url)
    /// stays valid.
    pub fn set_guest_code(&self, code: &str) {
        if let Some(access) = &self.service.access {
            access.set_guest_code(code);
        }
    }

    /// Stops accepting requests and ends running ones; returns when that is done, within 2 s.
    pub fn stop(mut self) {
        // Begun at the same time, since everything has to end within 2 s.
        let guest = self.service.begin_end_of_guest();
        self.service.shut_down();
        if let Some(server) = self.server.take() {
            server.stop();
        }
        self.service.running.wait_until_empty(SHUTDOWN_TIMEOUT);
        if let Some((stop, thread)) = self.watcher.take() {
            drop(stop);
            let _ = thread.join();
        }
        self.service.sessions.close_all();
        if let Some(guest) = guest {
            // Waits until it is dropped, or the time is over.
            let _ = guest.recv_timeout(GUEST_TIMEOUT);
        }
    }
}

type Binding<'a> = &'a dyn Fn(SocketAddr) -> std::io::Result<TcpListener>;

fn listen(named: Option<SocketAddr>, bind: Binding<'_>) -> Result<TcpListener, StartError> {
    if let Some(addr) = named {
        return bind(addr)
            .map_err(|error| StartError::Listen(format!("cannot listen on {addr}: {error}")));
    }
    let free = |port| bind((Ipv4Addr::LOCALHOST, port).into()).ok();
    (FIRST_PORT..=LAST_PORT).find_map(free).ok_or_else(|| {
        StartError::Listen(format!(
            "all ports from {FIRST_PORT} to {LAST_PORT} on 127.0.0.1 are in use"
        ))
    })
}

/// Policy for loopback names, those of `--allow-host`, and the address itself if it is not a loopback one.
fn host_policy(options: &Options, addr: SocketAddr) -> Result<HostPolicy, StartError> {
    let hosts = HostPolicy::loopback();
    let own = (!addr.ip().is_loopback() && !addr.ip().is_unspecified()).then(|| addr.to_string());
    for host in options.allow_hosts.iter().chain(&own) {
        hosts
            .allow(host)
            .map_err(|error| StartError::Listen(format!("--allow-host: {error}")))?;
    }
    Ok(hosts)
}

/// Address for a browser on this machine, which reaches a wildcard as loopback.
fn shown(addr: SocketAddr) -> SocketAddr {
    match addr {
        SocketAddr::V4(a) if a.ip().is_unspecified() => (Ipv4Addr::LOCALHOST, a.port()).into(),
        SocketAddr::V6(a) if a.ip().is_unspecified() => {
            (std::net::Ipv6Addr::LOCALHOST, a.port()).into()
        }
        other => other,
    }
}

/// Starts the thread that ends statements and connections past their time, until its sender is dropped.
fn watcher(service: &Arc<Service>) -> Result<(Sender<()>, JoinHandle<()>), StartError> {
    let (stop, stopped) = crossbeam_channel::bounded(0);
    let watched = service.clone();
    let thread = spawn_joined(Thread::SqlWatch, move || service::watch(&watched, &stopped))
        .map_err(system)?;
    Ok((stop, thread))
}

fn system(error: std::io::Error) -> StartError {
    StartError::System(in_words(error))
}

/// Returns advice after `error`, if there is any.
fn hint(error: &DbError) -> Option<&'static str> {
    match error {
        DbError::Unreachable(_) => {
            Some("check that the database server runs and that host and port are right")
        }
        DbError::Denied(error) => Some(of_denial(error.code)),
        DbError::Statement(error) if EXPIRED.contains(&error.code) => Some(of_denial(error.code)),
        DbError::Tls(message) => Some(of_tls(message)),
        DbError::Auth(message) if message.contains("sign-in method") => Some(
            "have an administrator give the account another method, such as MySQL's caching_sha2_password",
        ),
        _ => None,
    }
}

/// Advice by the server's error number (MySQL and MariaDB, "Server error message reference").
fn of_denial(code: u16) -> &'static str {
    match code {
        // ER_DBACCESS_DENIED_ERROR, ER_BAD_DB_ERROR
        1044 | 1049 => "name another database with --db-name, or none",
        // ER_CON_COUNT_ERROR, ER_TOO_MANY_USER_CONNECTIONS, ER_USER_LIMIT_REACHED
        1040 | 1203 | 1226 => "close other connections to the server, or try again later",
        // ER_HOST_IS_BLOCKED
        1129 => {
            "have an administrator run FLUSH HOSTS, or TRUNCATE TABLE performance_schema.host_cache"
        }
        // ER_HOST_NOT_PRIVILEGED
        1130 => "have an administrator create an account for this machine's address",
        code if EXPIRED.contains(&code) => {
            "the password has expired; run 'postern mysql' with this account in a terminal to set a new one"
        }
        // ER_ACCOUNT_HAS_BEEN_LOCKED of both, ER_USER_ACCESS_DENIED_FOR_USER_ACCOUNT_BLOCKED_BY_PASSWORD_LOCK
        3118 | 3955 | 4151 => "have an administrator unlock it: ALTER USER ... ACCOUNT UNLOCK",
        // ER_SECURE_TRANSPORT_REQUIRED
        3159 => "remove --tls off: the server accepts only TLS and Unix sockets",
        _ => {
            "check the user name, the password and the database name; the account may also be limited to certain hosts, to TLS or to a client certificate"
        }
    }
}

fn of_tls(message: &str) -> &'static str {
    if message.contains("not valid for") {
        return "the certificate is for another name, or for none (as MySQL's own are): set SSL_CERT_FILE to the authority's certificate (ca.pem in the server's data directory) and use --tls verify-ca";
    }
    if message.contains("UnknownIssuer") || message.contains("SSL_CERT_FILE") {
        return "set SSL_CERT_FILE to the certificate of the server's authority; for MySQL that is ca.pem in its data directory";
    }
    "--tls off|prefer|require|verify-ca|verify sets how TLS is used"
}
