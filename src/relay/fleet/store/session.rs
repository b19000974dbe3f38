//! Connection to the store, at one of its servers at a time.

use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, LocalInfileHandler, OptsBuilder, SslOpts};

use super::schema;
use super::schema::{ServerTrouble, is_unknown_variable};
use super::url::{StorePassword, StoreUrl};
use crate::http::auth::sha256;
use crate::net::{authority, certificate};
use crate::relay::store_error::StoreError;
use crate::sqlweb::catch_panic::catch_panic;
use crate::store::random;
use crate::store::random::hex;

/// Time for a query, with all servers and repetitions: a caller waits that long. Default 4 s.
const WITHIN: Duration = Duration::from_secs(4);
/// Pause before a query is repeated at the same server. Default 5 ms: transactions are as short.
const PAUSE: Duration = Duration::from_millis(5);
/// Pause after each server was tried. Default 100 ms: a cluster elects a primary within some of them.
const ROUND: Duration = Duration::from_millis(100);
/// Time for a TCP connection to one host.
const CONNECT: Duration = Duration::from_secs(2);
/// Longest silence of a server during a query.
const ANSWER: Duration = Duration::from_secs(3);
/// Seconds that a statement waits for a row of another transaction: those of the fleet are short.
const LOCK_WAIT: u32 = 2;
/// Time between the kernel's probes of a silent server, in milliseconds.
const KEEP_ALIVE: u32 = 10_000;

/// Connection to the store, at one of its servers at a time.
pub(in crate::relay::fleet) struct Session {
    url: StoreUrl,
    password: StorePassword,
    conn: Option<Conn>,
    /// Servers that were dialled or given up so far.
    turn: usize,
    /// Value of `turn` when the server in use was last logged.
    logged: usize,
    /// True if missing tables are created.
    makes: bool,
    /// SHA-256 of the secret of the fleet whose state is read, hexadecimal; none before it is known.
    pub(super) fleet: Option<String>,
}

impl Session {
    /// Makes a session; the first query dials.
    pub(in crate::relay::fleet) fn new(url: StoreUrl, password: StorePassword) -> Self {
        Self {
            url,
            password,
            conn: None,
            turn: 0,
            logged: 0,
            makes: false,
            fleet: None,
        }
    }

    /// Makes a session that creates missing tables.
    pub(in crate::relay::fleet) fn making(url: StoreUrl, password: StorePassword) -> Self {
        Self {
            makes: true,
            ..Self::new(url, password)
        }
    }

    /// Restricts the session to the state of this fleet: tables that were emptied, or belong to another one, count as
    /// missing and are not created.
    pub(in crate::relay::fleet) fn settle_on(&mut self, secret: &[u8; 32]) {
        self.makes = false;
        self.fleet = Some(hex(&sha256(&[secret])));
    }

    /// Runs a query until it has an answer, at one server after the other, or the time is over. It may run more than
    /// once.
    pub(super) fn ask<T>(
        &mut self,
        mut ask: impl FnMut(&mut Conn) -> Result<T, ServerTrouble>,
    ) -> Result<T, StoreError> {
        let until = Instant::now() + WITHIN;
        loop {
            let answer = catch_panic(|| match self.connection()? {
                Ok(conn) => ask(conn).map(Ok),
                Err(error) => Ok(Err(error)),
            });
            match answer {
                Ok(answer) => {
                    self.say_where();
                    return answer;
                }
                Err(trouble) => self.meet(trouble, until)?,
            }
        }
    }

    /// Prepares the next try; an error if there is none.
    fn meet(&mut self, trouble: ServerTrouble, until: Instant) -> Result<(), StoreError> {
        let why = match trouble {
            ServerTrouble::Denied(why) => {
                self.conn = None;
                return Err(StoreError::Denied(format!("{}: {why}", self.place())));
            }
            ServerTrouble::Again(why) => {
                std::thread::sleep(PAUSE);
                why
            }
            ServerTrouble::Taken => "a key is taken".to_owned(),
            ServerTrouble::Unready(why) => {
                let why = format!("{}: {why}", self.place());
                self.conn = None;
                self.turn += 1;
                if self.turn.is_multiple_of(self.url.hosts.len()) {
                    std::thread::sleep(ROUND);
                }
                why
            }
        };
        if Instant::now() >= until {
            return Err(StoreError::Away(why));
        }
        Ok(())
    }

    /// Returns the connection; the tables are checked on a new one.
    fn connection(&mut self) -> Result<Result<&mut Conn, StoreError>, ServerTrouble> {
        Ok(Ok(match &mut self.conn {
            Some(conn) => conn,
            none => {
                let mut conn = dial(&self.url, &self.password, self.url.host(self.turn))?;
                if let Err(error) = schema::ensure(&mut conn, self.makes)? {
                    return match &self.fleet {
                        // The state existed before: another server may still have it.
                        Some(_) => Err(ServerTrouble::Unready(error.to_string())),
                        None => Ok(Err(error)),
                    };
                }
                none.insert(conn)
            }
        }))
    }

    /// Logs the server if it is another one than before.
    fn say_where(&mut self) {
        let servers = self.url.hosts.len();
        if self.logged % servers != self.turn % servers {
            log::info!("using the store at {}", self.place());
        }
        self.logged = self.turn;
    }

    /// Returns the address of the current server.
    fn place(&self) -> String {
        let (host, port) = self.url.host(self.turn);
        authority::authority(host, *port)
    }
}

/// Connects to one host of the store and signs in.
pub(super) fn dial(
    url: &StoreUrl,
    password: &StorePassword,
    (host, port): &(String, u16),
) -> Result<Conn, ServerTrouble> {
    let password = password.read();
    let password = password
        .map_err(|error| ServerTrouble::Denied(format!("cannot read its password: {error}")))?;
    let is_private = authority::is_loopback(host);
    let refuse_files = LocalInfileHandler::new(|_, _| Err(std::io::Error::other("refused")));
    let builder = OptsBuilder::new()
        .user(Some(&url.user))
        .pass(Some(password.as_str()))
        .db_name(Some(&url.database))
        .ip_or_hostname(Some(host))
        .tcp_port(*port)
        .prefer_socket(false)
        .tcp_connect_timeout(Some(CONNECT))
        .tcp_keepalive_time_ms(Some(KEEP_ALIVE))
        .read_timeout(Some(ANSWER))
        .write_timeout(Some(ANSWER))
        .local_infile_handler(Some(refuse_files))
        .ssl_opts((!is_private).then(verified));
    let mut conn = Conn::new(builder)?;
    if !is_private {
        check_fresh(&mut conn)?;
    }
    conn.query_drop(format!(
        "SET SESSION innodb_lock_wait_timeout = {LOCK_WAIT}, autocommit = 1, \
         sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'"
    ))?;
    // Reads before a decision must see the whole cluster's state.
    match conn.query_drop("SET SESSION wsrep_sync_wait = 1") {
        Err(error) if !is_unknown_variable(&error) => return Err(error.into()),
        _ => {}
    }
    Ok(conn)
}

fn verified() -> SslOpts {
    SslOpts::default().with_root_cert_path(certificate::trusted_file())
}

/// Checks that nobody on the way answers in the server's place: the driver keeps bytes from before the switch to TLS
/// and takes them for bytes inside. Nobody can have known this query in advance.
fn check_fresh(conn: &mut Conn) -> Result<(), ServerTrouble> {
    let asked = random::token();
    let told: Option<String> = conn.query_first(format!("SELECT '{asked}'"))?;
    if told.as_ref() == Some(&asked) {
        return Ok(());
    }
    let why = "something on the network answered in its place before TLS began";
    Err(ServerTrouble::Denied(why.into()))
}
