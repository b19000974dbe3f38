//! The two ends of a new connection, each of three objects.

use std::sync::Arc;

use super::config::Config;
use super::error::Error;
use super::hostkey::ServerKey;
use super::reader::Reader;
use super::role::Role;
use super::session::Session;
use super::writer::Writer;

/// The client's end of a new connection. Its first output waits already.
pub fn client(config: &Config) -> Result<(Session, Reader, Writer), Error> {
    ends(Role::Client, config, Arc::from([]))
}

/// The server's end of a new connection. `keys` holds one host key of each kind.
pub fn server(config: &Config, keys: Arc<[ServerKey]>) -> Result<(Session, Reader, Writer), Error> {
    ends(Role::Server, config, keys)
}

fn ends(
    role: Role,
    config: &Config,
    keys: Arc<[ServerKey]>,
) -> Result<(Session, Reader, Writer), Error> {
    let session = Session::new(role, config, keys)?;
    let reader = Reader::new(role, config.rekey_bytes);
    Ok((session, reader, Writer::new()))
}
