//! A usable connection: the sign-in at one address (TLS, the account's method, the meaning of a refusal), and the facts
//! of the server that it reached.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mysql::consts::CapabilityFlags;
use mysql::prelude::Queryable;
use mysql::{Conn, DriverError, LocalInfileHandler, OptsBuilder, SslOpts};
use rustls::pki_types::ServerName;
use zeroize::Zeroizing;

use super::authority::tls_config;
use super::connector::Connector;
use super::db_conn::DbConn;
use super::driver::{rows, run_silently};
use super::identity::CLEAN;
use super::server_info::{ServerInfo, WriteState};
use super::socket_handle::SocketHandle;
use super::{authority, identity, readonly, server_info, sha256};
use crate::net::certificate;
use crate::sqlweb::error::{DbError, LOCAL_FILE, NOT_MYSQL, io_sentence, plain};
use crate::sqlweb::gate::CalledFunctions;
use crate::sqlweb::limits::MAX_CONNECTIONS;
use crate::sqlweb::options::{Target, TlsMode};
use crate::store::random;

/// Time for one TCP connect to one address.
const CONNECT_TIMEOUT: Duration = crate::limits::DB_CONNECT;

/// Longest silence of the server during sign-in. It is shorter than
/// [`HANDSHAKE_TIMEOUT`](super::connector::HANDSHAKE_TIMEOUT), so that the thread for a silent server ends and its
/// error differs from a slow one's. It is longer than a server waits for the name service to resolve its client.
const SIGN_IN_READ_TIMEOUT: Duration = Duration::from_secs(15);

/// Idle time before the kernel probes a silent server, in milliseconds.
const KEEPALIVE_MS: u32 = 30_000;

/// Time between two such probes, in seconds.
const PROBE_INTERVAL_S: u32 = 10;

/// Unanswered probes after which the server counts as dead: a minute after its last sign of life.
const PROBES: u32 = 3;

/// States of TLS on the server; 0 while it is unknown.
const OFFERED: u8 = 1;
const ABSENT: u8 = 2;

/// A path below a file, so that nothing can exist there.
const NO_KEY: &str = "/dev/null/no-unverified-server-key";

/// Number of connections to try, one after the other, until one can be used; each new server behind a balancer may cost
/// one.
const ACQUAINTANCES: usize = 8;

impl Connector {
    /// A new counted connection, set to UTF-8, with the facts of its server. Fails with [`DbError::Busy`] at the cap,
    /// and in read-only mode with [`DbError::Shared`] if a proxy spreads a session's statements.
    pub(crate) fn connect(self: &Arc<Self>) -> Result<DbConn, DbError> {
        self.connect_within(MAX_CONNECTIONS)
    }

    /// Connects like [`Self::connect`], with a cap of `most` connections.
    pub(super) fn connect_within(self: &Arc<Self>, most: usize) -> Result<DbConn, DbError> {
        for _ in 0..ACQUAINTANCES {
            let mut conn = self.counted(most)?;
            if self.options.readonly {
                identity::refuse_spreading(&mut conn)?;
            }
            if self.introduce(&mut conn)? {
                return Ok(conn);
            }
        }
        Err(self.unreachable("each connection reached another server"))
    }

    /// Gives the connection the facts of its server, which is asked if it is new. Returns false if the connection
    /// cannot be used after that.
    fn introduce(&self, conn: &mut DbConn) -> Result<bool, DbError> {
        let is_clean = if let Some(info) = self.servers.meet(&conn.server) {
            conn.info = Some(info);
            true
        } else {
            !self.ask_info(conn)?
        };
        // In read-only mode each statement does that.
        if is_clean && !self.options.readonly {
            self.make_clean(conn)?;
        }
        Ok(is_clean)
    }

    /// Asks the connection's server for its facts; returns true if that left the connection in another role.
    pub(super) fn ask_info(&self, conn: &mut DbConn) -> Result<bool, DbError> {
        let (info, in_a_role) = ServerInfo::ask(&mut conn.driver)?;
        log::debug!("connected to a server of version {}", info.version);
        conn.info = Some(self.servers.learn(conn.server.clone(), info));
        Ok(in_a_role)
    }

    /// Makes the session of `conn` read-only for a statement that `calls` these names. If the server of the connection
    /// has changed, its facts are asked again for the next statement.
    pub(crate) fn make_read_only(
        &self,
        conn: &mut DbConn,
        calls: &CalledFunctions,
    ) -> Result<(), DbError> {
        let was = conn.info();
        match readonly::make_read_only(conn, calls) {
            Ok(write_state) => {
                self.note_write_state(write_state);
                Ok(())
            }
            Err(error) => {
                if let DbError::Changed(_) = error {
                    self.ask_info(conn)?;
                    let now = conn.info();
                    log::warn!("the server is now {}; it was {}", now.version, was.version);
                }
                Err(error)
            }
        }
    }

    /// Returns the facts of the server that was reached last.
    pub(crate) fn info(&self) -> Arc<ServerInfo> {
        let last = self.servers.last();
        last.expect("a web client starts once it has met a server")
    }

    /// Returns whether the server that was asked last accepts writes.
    pub(crate) fn write_state(&self) -> WriteState {
        self.servers.write_state()
    }

    /// Notes a server's answer to that; see [`write_state`](Self::write_state).
    pub(crate) fn note_write_state(&self, write_state: Option<WriteState>) {
        self.servers.note(write_state);
    }

    /// Sets the connection to UTF-8 and, in the same round trip, asks whether its server accepts writes.
    pub(super) fn make_clean(&self, conn: &mut DbConn) -> Result<(), DbError> {
        let question = conn.info.as_ref().and_then(|info| info.write_state);
        let text =
            question.map_or_else(|| CLEAN.into(), |asked| format!("{CLEAN}; SELECT {asked}"));
        conn.take_several(true)?;
        match rows(&mut conn.driver, &text) {
            // MySQL Router refuses two statements at once while it shares connections.
            Err(error) if error.leaves_connection_usable() => {
                run_silently(&mut conn.driver, CLEAN)?;
                self.note_write_state(None);
            }
            answer => self.note_write_state(server_info::in_column(answer?.first(), 0)),
        }
        Ok(())
    }
}

impl Connector {
    /// Signs in at one address, or at the socket; returns true beside the connection if the driver has TLS.
    pub(super) fn dial(&self, address: Option<SocketAddr>) -> Result<(Conn, bool), DbError> {
        let known = self.offers_tls.load(Ordering::SeqCst);
        let with_tls = address.is_some()
            && match self.options.tls {
                TlsMode::Off => false,
                TlsMode::Prefer => known != ABSENT,
                TlsMode::Require | TlsMode::VerifyCa | TlsMode::Verify => true,
            };
        if with_tls && self.verifies() {
            authority::check_trust_store(self.options.tls)?;
        }
        let may_send_password = self.key_rule(address, with_tls).is_none();
        if may_send_password && self.by_sha256.load(Ordering::SeqCst) {
            match self.dial_by_sha256(address, with_tls) {
                // The account may have another method by now.
                Err(DbError::Auth(_)) => {}
                outcome => return Ok((outcome?, false)),
            }
        }
        let signed_in = match self.options.tls {
            TlsMode::VerifyCa if with_tls => {
                authority::without_public(|| self.open(self.opts(address, with_tls))).ok_or_else(
                    || DbError::Tls("--tls verify-ca is not possible in this process".into()),
                )?
            }
            _ => self.open(self.opts(address, with_tls)),
        };
        match signed_in {
            Ok(conn) if with_tls => {
                self.offers_tls.store(OFFERED, Ordering::SeqCst);
                Ok((self.fresh(conn)?, true))
            }
            Ok(conn) => Ok((conn, false)),
            Err(mysql::Error::DriverError(DriverError::TlsNotSupported)) => {
                self.without_tls(address, known)
            }
            Err(mysql::Error::DriverError(DriverError::UnknownAuthPlugin(name)))
                if may_send_password && name == sha256::METHOD =>
            {
                Ok((self.dial_by_sha256(address, with_tls)?, false))
            }
            Err(error) => Err(self.refused(error, address)),
        }
    }

    /// Signs in, and sets the new password, if any: a server may accept nothing else before that.
    fn open(&self, opts: OptsBuilder) -> mysql::Result<Conn> {
        let Some(new) = &self.options.new_password else {
            return Conn::new(opts);
        };
        let may_be_expired = CapabilityFlags::CLIENT_CAN_HANDLE_EXPIRED_PASSWORDS;
        let mut conn = Conn::new(opts.additional_capabilities(may_be_expired))?;
        let mut new = Zeroizing::new(new.replace('\'', "''"));
        if !conn.no_backslash_escape() {
            new = Zeroizing::new(new.replace('\\', "\\\\"));
        }
        let of_mysql = Zeroizing::new(format!("ALTER USER USER() IDENTIFIED BY '{}'", *new));
        match conn.query_drop(of_mysql.as_str()) {
            // ER_PARSE_ERROR and ER_MUST_CHANGE_PASSWORD: MariaDB takes only the other form.
            Err(mysql::Error::MySqlError(error)) if [1064, 1820].contains(&error.code) => {
                let of_mariadb = Zeroizing::new(format!("SET PASSWORD = PASSWORD('{}')", *new));
                conn.query_drop(of_mariadb.as_str())?;
            }
            outcome => outcome?,
        }
        Ok(conn)
    }

    /// Signs in through a thread of ours, at which TLS ends; the thread ends with the connection.
    fn dial_by_sha256(&self, address: Option<SocketAddr>, with_tls: bool) -> Result<Conn, DbError> {
        let server = self.sha256_server(address, with_tls)?;
        let timeouts = sha256::Timeouts {
            connect: CONNECT_TIMEOUT,
            read: SIGN_IN_READ_TIMEOUT,
            silence: Duration::from_millis(KEEPALIVE_MS.into()),
            probe: Duration::from_secs(PROBE_INTERVAL_S.into()),
        };
        let password = self.options.password.clone();
        let proxy = sha256::SignInProxy::start(&self.options.run_dir, server, password, timeouts);
        let not_started =
            |error| self.unreachable(&format!("cannot set up {}: {error}", sha256::METHOD));
        let proxy = proxy.map_err(not_started)?;
        let opts = self
            .opts(None, true)
            .ssl_opts(None::<SslOpts>)
            .socket(Some(proxy.path().to_string_lossy()));
        let outcome = self.open(opts);
        self.by_sha256.store(outcome.is_ok(), Ordering::SeqCst);
        if outcome.is_ok() && with_tls {
            self.offers_tls.store(OFFERED, Ordering::SeqCst);
        }
        outcome.map_err(|error| match (plain(error), proxy.failure()) {
            (mysql::Error::MySqlError(error), _) => DbError::Denied(error),
            (_, Some(error)) if error.kind() == sha256::ANOTHER_METHOD => self.another_method(),
            (_, Some(error)) => self.io_refused(&error, true),
            (error, _) => self.refused(error, address),
        })
    }

    fn sha256_server(
        &self,
        address: Option<SocketAddr>,
        with_tls: bool,
    ) -> Result<sha256::SignInServer, DbError> {
        let (address, host) = match (&self.options.target, address) {
            (Target::Tcp { .. }, Some(address)) if !with_tls => {
                return Ok(sha256::SignInServer::Tcp(address));
            }
            (Target::Tcp { host, .. }, Some(address)) => (address, host),
            (Target::Unix(path), _) => return Ok(sha256::SignInServer::Unix(path.clone())),
            _ => return Err(self.unreachable("the name has no address")),
        };
        let name = ServerName::try_from(self.dialled_name(host, address.ip()));
        let name = name.map_err(|error| DbError::Tls(error.to_string()))?;
        let config = tls_config(self.options.tls)?;
        Ok(sha256::SignInServer::Tls(address, config, name))
    }

    /// Checks that answers come through TLS, by a query that nobody can predict. The driver keeps bytes from before the
    /// switch to TLS and reads them as part of it, so that a man in the middle could answer in the server's place.
    fn fresh(&self, mut conn: Conn) -> Result<Conn, DbError> {
        let asked = random::token();
        let answer = rows(&mut conn, &format!("SELECT '{asked}'"))?;
        let told = answer.first().and_then(|row| row.get_opt::<String, _>(0));
        if told.is_some_and(|told| told.is_ok_and(|told| told == asked)) {
            return Ok(conn);
        }
        Err(DbError::Tls(format!(
            "something on the network answered in place of {} before TLS began",
            self.options.target
        )))
    }

    /// Falls back with `prefer` if the server does not offer TLS, but never on a server that once did.
    fn without_tls(&self, address: Option<SocketAddr>, known: u8) -> Result<(Conn, bool), DbError> {
        if self.options.tls != TlsMode::Prefer {
            return Err(DbError::Tls(format!(
                "{} does not offer TLS, which --tls requires",
                self.options.target
            )));
        }
        if known == OFFERED {
            return Err(DbError::Tls(format!(
                "{} offered TLS before and no longer does; restart postern to accept that",
                self.options.target
            )));
        }
        self.offers_tls.store(ABSENT, Ordering::SeqCst);
        self.dial(address)
    }

    fn opts(&self, address: Option<SocketAddr>, with_tls: bool) -> OptsBuilder {
        let refuse_files = LocalInfileHandler::new(|_, _| Err(std::io::Error::other(LOCAL_FILE)));
        let builder = OptsBuilder::new()
            .user(Some(self.user().as_ref()))
            .pass(Some(self.options.password.as_str()))
            .db_name(self.options.database.as_deref())
            .prefer_socket(false)
            .tcp_connect_timeout(Some(CONNECT_TIMEOUT))
            .tcp_keepalive_time_ms(Some(KEEPALIVE_MS))
            // Without a handle on the socket it could not be removed again.
            .read_timeout(SocketHandle::is_supported().then_some(SIGN_IN_READ_TIMEOUT))
            .max_allowed_packet(Some(self.max_packet))
            .stmt_cache_size(Some(0))
            .local_infile_handler(Some(refuse_files))
            .connect_attrs(Some(std::collections::HashMap::from([(
                "program_name",
                "postern",
            )])))
            .server_key_path(self.key_rule(address, with_tls));
        let builder = match (&self.options.target, address) {
            (Target::Unix(path), _) => builder.socket(Some(path.to_string_lossy())),
            (Target::Tcp { host, port }, Some(address)) => builder
                .ip_or_hostname(Some(self.dialled_name(host, address.ip())))
                .bind_address(self.family(address))
                .tcp_port(*port),
            (Target::Tcp { host, port }, None) => {
                builder.ip_or_hostname(Some(host.clone())).tcp_port(*port)
            }
        };
        probed(builder).ssl_opts(with_tls.then(|| self.ssl_opts()))
    }

    /// The name if it is verified with the certificate, else the resolved address.
    fn dialled_name(&self, host: &str, ip: IpAddr) -> String {
        if self.options.tls == TlsMode::Verify {
            host.to_owned()
        } else {
            ip.to_string()
        }
    }

    /// Address to bind to if the driver resolves the name itself. It then keeps to that family, and tries the next
    /// address after one that refuses.
    fn family(&self, address: SocketAddr) -> Option<SocketAddr> {
        let any = match address {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        (self.options.tls == TlsMode::Verify).then_some(SocketAddr::new(any, 0))
    }

    fn ssl_opts(&self) -> SslOpts {
        let verifies = self.verifies();
        SslOpts::default()
            .with_danger_accept_invalid_certs(!verifies)
            .with_danger_skip_domain_validation(self.options.tls != TlsMode::Verify)
            .with_root_cert_path(certificate::trusted_file().filter(|_| verifies))
    }

    fn verifies(&self) -> bool {
        matches!(self.options.tls, TlsMode::VerifyCa | TlsMode::Verify)
    }

    /// Path of a key file that cannot exist, which makes the driver stop before it sends a password; `None` if it may
    /// be sent. Without TLS, `caching_sha2_password` would encrypt it with a key that a man in the middle can replace.
    fn key_rule(&self, address: Option<SocketAddr>, with_tls: bool) -> Option<PathBuf> {
        let allowed = with_tls || takes_any_key(self.options.tls, address.map(|a| a.ip()));
        (!allowed).then(|| PathBuf::from(NO_KEY))
    }

    fn refused(&self, error: mysql::Error, address: Option<SocketAddr>) -> DbError {
        // Transport errors are wrapped, the driver's own parse errors are not.
        let of_transport = matches!(error, mysql::Error::CodecError(_));
        match plain(error) {
            mysql::Error::MySqlError(error) => DbError::Denied(error),
            mysql::Error::DriverError(DriverError::CouldNotConnect(Some((_, _, kind)))) => {
                self.unreachable(&dial_sentence(kind))
            }
            mysql::Error::DriverError(DriverError::ConnectTimeout) => {
                self.unreachable("connection timed out")
            }
            mysql::Error::DriverError(DriverError::UnknownAuthPlugin(name))
                if name == sha256::METHOD =>
            {
                self.no_trusted_key()
            }
            mysql::Error::DriverError(DriverError::UnknownAuthPlugin(name)) => {
                DbError::Auth(format!(
                    "{} asks for the sign-in method '{name}', which is not supported",
                    self.options.target
                ))
            }
            mysql::Error::DriverError(
                error @ (DriverError::OldMysqlPasswordDisabled
                | DriverError::CleartextPluginDisabled),
            ) => DbError::Auth(format!(
                "{} asks for an unsafe sign-in method: {error}",
                self.options.target
            )),
            mysql::Error::TlsError(error) => {
                DbError::Tls(format!("TLS with {} failed: {error}", self.options.target))
            }
            mysql::Error::IoError(error) if self.key_was_refused(&error, address) => {
                self.no_trusted_key()
            }
            mysql::Error::IoError(error) => self.io_refused(&error, of_transport),
            mysql::Error::CodecError(_) => self.unreachable(NOT_MYSQL),
            mysql::Error::DriverError(error) => self.unreachable(&error.to_string()),
            other => self.unreachable(&other.to_string()),
        }
    }

    fn no_trusted_key(&self) -> DbError {
        DbError::Auth(format!(
            "{} wants the password encrypted with an unverified key because there is no TLS; turn on TLS at the server, or accept this with --tls off",
            self.options.target
        ))
    }

    fn another_method(&self) -> DbError {
        DbError::Auth(format!(
            "{} asks for {} and then for another sign-in method, which needs TLS; turn on TLS at the server",
            self.options.target,
            sha256::METHOD
        ))
    }

    fn key_was_refused(&self, error: &std::io::Error, address: Option<SocketAddr>) -> bool {
        matches!(
            error.kind(),
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
        ) && self.key_rule(address, false).is_some()
    }

    /// Explains an I/O error; rustls passes its errors as I/O errors of the kind "invalid data".
    fn io_refused(&self, error: &std::io::Error, of_transport: bool) -> DbError {
        if error.kind() == std::io::ErrorKind::WouldBlock {
            return self.unreachable(&format!(
                "the server did not answer for {} s during sign-in",
                SIGN_IN_READ_TIMEOUT.as_secs()
            ));
        }
        let is_invalid = error.kind() == std::io::ErrorKind::InvalidData;
        if is_invalid && of_transport && self.options.tls != TlsMode::Off {
            return DbError::Tls(format!("TLS with {} failed: {error}", self.options.target));
        }
        self.unreachable(&io_sentence(error))
    }
}

/// Explains the kind of a dial error, which is all that the driver keeps. If the driver dialled a name itself (see
/// [`Connector::family`]), its last try may be in the wrong family, and the kind has no name.
fn dial_sentence(kind: std::io::ErrorKind) -> String {
    match io_sentence(&kind.into()) {
        unnamed if unnamed.starts_with("uncategorized") => {
            "none of its addresses accepts the connection".into()
        }
        named => named,
    }
}

/// True if a key from the server may encrypt the password: on this machine, or with `--tls off`. No address means a
/// Unix socket.
fn takes_any_key(tls: TlsMode, address: Option<IpAddr>) -> bool {
    tls == TlsMode::Off || address.is_none_or(|ip| ip.to_canonical().is_loopback())
}

/// Adds the kernel's probes of a silent server.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn probed(builder: OptsBuilder) -> OptsBuilder {
    builder
        .tcp_keepalive_probe_interval_secs(Some(PROBE_INTERVAL_S))
        .tcp_keepalive_probe_count(Some(PROBES))
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn probed(builder: OptsBuilder) -> OptsBuilder {
    builder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_from_the_wire_is_taken_where_nobody_is_on_the_way() {
        let ip = |text: &str| Some(text.parse().unwrap());
        let modes = [
            TlsMode::Prefer,
            TlsMode::Require,
            TlsMode::VerifyCa,
            TlsMode::Verify,
        ];
        for tls in modes {
            assert!(takes_any_key(tls, None));
            assert!(takes_any_key(tls, ip("127.0.0.1")));
            assert!(takes_any_key(tls, ip("127.8.9.10")));
            assert!(takes_any_key(tls, ip("::1")));
            assert!(takes_any_key(tls, ip("::ffff:127.0.0.1")));
            assert!(!takes_any_key(tls, ip("10.0.0.1")));
            assert!(!takes_any_key(tls, ip("0.0.0.0")));
            assert!(!takes_any_key(tls, ip("fe80::1")));
            assert!(!takes_any_key(tls, ip("::ffff:10.0.0.1")));
        }
        assert!(takes_any_key(TlsMode::Off, ip("10.0.0.1")));
    }
}
