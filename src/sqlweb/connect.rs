//! Connections to the database: addresses, TLS, sign-in rules, and the cap on how many there are.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::time::Duration;

use crossbeam_channel::RecvTimeoutError;
use mysql::{Conn, DriverError, LocalInfileHandler, OptsBuilder, SslOpts};
use zeroize::Zeroizing;

use super::contain::contained;
use super::error::{DbError, io_sentence};
use super::options::{Options, Target, TlsMode};

/// Database connections that may exist at once, without the short ones that only send `KILL QUERY`.
pub(crate) const MAX_CONNECTIONS: usize = 32;

/// Time for one TCP connect to one address.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Time for TCP, TLS and sign-in together: a server that accepts and then says nothing must not hold a request.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(20);

/// Largest packet taken from or sent to the server, in bytes; a row is held whole, so this bounds what one row may cost.
const MAX_PACKET: usize = 256 << 20;

/// Idle time before the kernel probes a silent server, in milliseconds.
const KEEPALIVE_MS: u32 = 30_000;

/// Stack of the thread that signs in: the driver with a TLS handshake needs about 60 KiB in a debug build.
const STACK: usize = 512 << 10;

/// Makes connections and counts them.
pub(crate) struct Connector {
    target: Target,
    user: String,
    password: Zeroizing<String>,
    database: Option<String>,
    tls: TlsMode,
    /// Whether the server was seen to offer TLS: `UNKNOWN`, `OFFERED` or `ABSENT`.
    offers_tls: AtomicU8,
    in_use: Arc<AtomicUsize>,
}

const UNKNOWN: u8 = 0;
const OFFERED: u8 = 1;
const ABSENT: u8 = 2;

/// One database connection with its place under the cap.
pub(crate) struct Link {
    /// The driver's connection.
    pub(crate) conn: Conn,
    /// Whether its current database may differ from the one it was made with, which only a new connection restores.
    pub(crate) moved: bool,
    _permit: Permit,
}

impl Link {
    /// The server's number of this connection, as `KILL QUERY` takes it.
    pub(crate) fn id(&self) -> u32 {
        self.conn.connection_id()
    }
}

/// A counted place under [`MAX_CONNECTIONS`]; free again when dropped.
struct Permit(Option<Arc<AtomicUsize>>);

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(count) = &self.0 {
            count.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

impl Connector {
    /// A connector for the server and account that `options` name.
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            target: options.target.clone(),
            user: options.user.clone(),
            password: options.password.clone(),
            database: options.database.clone(),
            tls: options.tls,
            offers_tls: AtomicU8::new(UNKNOWN),
            in_use: Arc::new(AtomicUsize::new(0)),
        }
    }

    /// A new counted connection. Fails with [`DbError::Busy`] at the cap.
    pub(crate) fn connect(self: &Arc<Self>) -> Result<Link, DbError> {
        let permit = self.permit()?;
        self.connect_with(permit)
    }

    /// Stops what the connection `id` is running, over a connection of its own outside the cap.
    pub(crate) fn kill_query(self: &Arc<Self>, id: u32) -> Result<(), DbError> {
        let mut link = self.connect_with(Permit(None))?;
        super::statement::run_silently(&mut link.conn, &format!("KILL QUERY {id}"))
    }

    fn permit(&self) -> Result<Permit, DbError> {
        self.in_use
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| {
                (n < MAX_CONNECTIONS).then_some(n + 1)
            })
            .map_err(|_| DbError::Busy)?;
        Ok(Permit(Some(self.in_use.clone())))
    }

    /// Connects on a thread of its own, since the driver's handshake cannot be given a deadline; a thread that is
    /// left behind keeps its permit until the server lets it go, so that there are never more than the cap.
    fn connect_with(self: &Arc<Self>, permit: Permit) -> Result<Link, DbError> {
        let (sender, receiver) = crossbeam_channel::bounded(1);
        let this = self.clone();
        let signing_in = move || {
            let made = contained(|| this.sign_in()).map(|conn| Link {
                conn,
                moved: false,
                _permit: permit,
            });
            let _ = sender.send(made);
        };
        std::thread::Builder::new()
            .name("db-connect".into())
            .stack_size(STACK)
            .spawn(signing_in)
            .map_err(|error| self.unreachable(&format!("no thread: {error}")))?;
        match receiver.recv_timeout(HANDSHAKE_TIMEOUT) {
            Ok(made) => made,
            Err(RecvTimeoutError::Timeout) => Err(self.unreachable(&format!(
                "no complete handshake within {} s",
                HANDSHAKE_TIMEOUT.as_secs()
            ))),
            Err(RecvTimeoutError::Disconnected) => Err(self.unreachable("the handshake failed")),
        }
    }

    fn sign_in(&self) -> Result<Conn, DbError> {
        let Target::Tcp { host, port } = &self.target else {
            return self.dial(None);
        };
        let mut last = None;
        for address in self.resolve(host, *port)? {
            match self.dial(Some(address)) {
                Err(DbError::Unreachable(why)) => last = Some(DbError::Unreachable(why)),
                other => return other,
            }
        }
        Err(last.unwrap_or_else(|| self.unreachable("the name has no address")))
    }

    /// Resolved here since the driver gives up at the first address that refuses.
    fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, DbError> {
        // Known without a resolver, which an empty root does not have (RFC 6761 section 6.3).
        if host.eq_ignore_ascii_case("localhost") {
            let loopback = [
                IpAddr::V4(Ipv4Addr::LOCALHOST),
                IpAddr::V6(Ipv6Addr::LOCALHOST),
            ];
            return Ok(loopback.map(|ip| SocketAddr::new(ip, port)).into());
        }
        let addresses = (host, port)
            .to_socket_addrs()
            .map_err(|_| self.unreachable(&format!("the host name '{host}' was not found")))?;
        Ok(addresses.collect())
    }

    fn dial(&self, address: Option<SocketAddr>) -> Result<Conn, DbError> {
        let known = self.offers_tls.load(Ordering::SeqCst);
        let with_tls = address.is_some()
            && match self.tls {
                TlsMode::Off => false,
                TlsMode::Prefer => known != ABSENT,
                TlsMode::Require | TlsMode::Verify => true,
            };
        match Conn::new(self.opts(address, with_tls)) {
            Ok(conn) => {
                if with_tls {
                    self.offers_tls.store(OFFERED, Ordering::SeqCst);
                }
                Ok(conn)
            }
            Err(mysql::Error::DriverError(DriverError::TlsNotSupported)) => {
                self.without_tls(address, known)
            }
            Err(error) => Err(self.refused(error, address)),
        }
    }

    /// `prefer` falls back when the server does not offer TLS, but never on a server that once did.
    fn without_tls(&self, address: Option<SocketAddr>, known: u8) -> Result<Conn, DbError> {
        if self.tls != TlsMode::Prefer {
            return Err(DbError::Tls(format!(
                "{} does not offer TLS, which --tls asks for",
                self.target
            )));
        }
        if known == OFFERED {
            return Err(DbError::Tls(format!(
                "{} offered TLS before and no longer does; restart postern to accept that",
                self.target
            )));
        }
        self.offers_tls.store(ABSENT, Ordering::SeqCst);
        self.dial(address)
    }

    fn opts(&self, address: Option<SocketAddr>, with_tls: bool) -> OptsBuilder {
        let refuse_files = LocalInfileHandler::new(|_, _| {
            Err(std::io::Error::new(
                std::io::ErrorKind::PermissionDenied,
                "the server asked for a local file, which is never given",
            ))
        });
        let builder = OptsBuilder::new()
            .user(Some(&self.user))
            .pass(Some(self.password.as_str()))
            .db_name(self.database.as_deref())
            .prefer_socket(false)
            .tcp_connect_timeout(Some(CONNECT_TIMEOUT))
            .tcp_keepalive_time_ms(Some(KEEPALIVE_MS))
            .max_allowed_packet(Some(MAX_PACKET))
            .stmt_cache_size(Some(0))
            .local_infile_handler(Some(refuse_files))
            .connect_attrs(Some(std::collections::HashMap::from([(
                "program_name",
                "postern",
            )])))
            .server_key_path(self.key_rule(address, with_tls));
        let builder = match (&self.target, address) {
            (Target::Unix(path), _) => builder.socket(Some(path.to_string_lossy())),
            (Target::Tcp { host, port }, Some(address)) => builder
                .ip_or_hostname(Some(self.dialled_name(host, address.ip())))
                .tcp_port(*port),
            (Target::Tcp { host, port }, None) => {
                builder.ip_or_hostname(Some(host.clone())).tcp_port(*port)
            }
        };
        builder.ssl_opts(with_tls.then(|| self.ssl_opts()))
    }

    /// A verified certificate is for the name; everything else takes the address that was resolved.
    fn dialled_name(&self, host: &str, ip: IpAddr) -> String {
        if self.tls == TlsMode::Verify {
            host.to_owned()
        } else {
            ip.to_string()
        }
    }

    fn ssl_opts(&self) -> SslOpts {
        let verify = self.tls == TlsMode::Verify;
        SslOpts::default()
            .with_danger_accept_invalid_certs(!verify)
            .with_danger_skip_domain_validation(!verify)
            .with_root_cert_path(trust_store().filter(|_| verify))
    }

    /// The full exchange of `caching_sha2_password` without TLS would encrypt the password with a key that anybody on
    /// the way can replace. Naming a key file that cannot exist makes the driver stop before it sends anything.
    fn key_rule(&self, address: Option<SocketAddr>, with_tls: bool) -> Option<PathBuf> {
        let local = address.is_none_or(|a| a.ip().is_loopback());
        (!with_tls && !local && self.tls != TlsMode::Off).then(|| PathBuf::from(NO_KEY))
    }

    fn refused(&self, error: mysql::Error, address: Option<SocketAddr>) -> DbError {
        match error {
            mysql::Error::MySqlError(error) => DbError::Denied(error),
            mysql::Error::DriverError(DriverError::CouldNotConnect(Some((_, _, kind)))) => {
                self.unreachable(&io_sentence(&kind.into()))
            }
            mysql::Error::DriverError(DriverError::ConnectTimeout) => {
                self.unreachable("connection timed out")
            }
            mysql::Error::DriverError(DriverError::UnknownAuthPlugin(name)) => {
                DbError::Auth(format!(
                    "{} asks for the sign-in method '{name}', which is not supported",
                    self.target
                ))
            }
            mysql::Error::DriverError(
                error @ (DriverError::OldMysqlPasswordDisabled
                | DriverError::CleartextPluginDisabled),
            ) => DbError::Auth(format!(
                "{} asks for an unsafe sign-in method: {error}",
                self.target
            )),
            mysql::Error::TlsError(error) => {
                DbError::Tls(format!("TLS with {} failed: {error}", self.target))
            }
            mysql::Error::IoError(error) if self.key_was_refused(&error, address) => {
                DbError::Auth(format!(
                    "{} wants the password encrypted with a key that nobody vouches for, since the connection has no TLS; turn TLS on at the server, or accept it with --tls off",
                    self.target
                ))
            }
            mysql::Error::IoError(error) => self.io_refused(&error),
            other => self.unreachable(&other.to_string()),
        }
    }

    fn key_was_refused(&self, error: &std::io::Error, address: Option<SocketAddr>) -> bool {
        matches!(
            error.kind(),
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
        ) && self.key_rule(address, false).is_some()
    }

    /// rustls hands its errors through as input/output errors of the kind "invalid data".
    fn io_refused(&self, error: &std::io::Error) -> DbError {
        if error.kind() == std::io::ErrorKind::InvalidData && self.tls != TlsMode::Off {
            return DbError::Tls(format!("TLS with {} failed: {error}", self.target));
        }
        self.unreachable(&io_sentence(error))
    }

    fn unreachable(&self, why: &str) -> DbError {
        DbError::Unreachable(format!("cannot connect to {}: {why}", self.target))
    }
}

/// A path under a file, so that nothing can ever be there.
const NO_KEY: &str = "/dev/null/no-unverified-server-key";

/// The certificates that `--tls verify` trusts beside the built-in public ones: `SSL_CERT_FILE`, else the system's bundle.
fn trust_store() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("SSL_CERT_FILE").filter(|value| !value.is_empty()) {
        return Some(named.into());
    }
    [
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/cert.pem",
        "/etc/ssl/ca-bundle.pem",
    ]
    .iter()
    .map(PathBuf::from)
    .find(|path| path.is_file())
}
