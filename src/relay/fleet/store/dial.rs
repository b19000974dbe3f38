//! A connection to one server of the store.

use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, LocalInfileHandler, OptsBuilder, SslOpts};

use super::password::StorePassword;
use super::server_error::{ServerTrouble, is_unknown_variable};
use super::url::StoreUrl;
use crate::net::{authority, trust_store};
use crate::store::random;

/// Time for a TCP connection to one host.
const CONNECT: Duration = Duration::from_secs(2);
/// Longest silence of a server that was asked something.
const ANSWER: Duration = Duration::from_secs(3);
/// Seconds that a statement waits for a row that another transaction holds: those of the fleet are short.
const LOCK_WAIT: u32 = 2;
/// Kernel's probes of a silent server, in milliseconds.
const KEEP_ALIVE: u32 = 10_000;

/// Signs in at a host of the store, by its place in the list.
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
    // Reads before a decision see the whole cluster's state.
    match conn.query_drop("SET SESSION wsrep_sync_wait = 1") {
        Err(error) if !is_unknown_variable(&error) => return Err(error.into()),
        _ => {}
    }
    Ok(conn)
}

fn verified() -> SslOpts {
    SslOpts::default().with_root_cert_path(trust_store::file())
}

/// The driver keeps what came before the switch to TLS and takes it for what came inside, so that somebody on the way
/// could answer in the server's place. Nobody can have known in advance what is asked here.
fn check_fresh(conn: &mut Conn) -> Result<(), ServerTrouble> {
    let asked = random::token();
    let told: Option<String> = conn.query_first(format!("SELECT '{asked}'"))?;
    if told.as_ref() == Some(&asked) {
        return Ok(());
    }
    let why = "something on the network answered in its place before TLS began";
    Err(ServerTrouble::Denied(why.into()))
}
