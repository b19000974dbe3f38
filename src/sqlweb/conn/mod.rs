//! Connections to the database: how they are made, pooled, made read-only, cancelled and given up.

mod abandoned;
mod authority;
mod cancel;
mod connector;
mod db_conn;
mod driver;
mod identity;
mod introduce;
mod kill;
mod known_servers;
mod owner;
mod proxy;
pub(super) mod readonly;
mod reaper;
mod running;
mod running_table;
mod server_info;
mod session_pool;
mod sha256;
mod socket_handle;
pub(super) mod status;
mod stored_functions;
mod tls_config;
mod wire;
mod write_state;

pub(super) use cancel::{stop_in_background, stoppable, stopped_when_gone};
pub(super) use connector::Connector;
pub(super) use db_conn::DbConn;
pub(super) use driver::{call_driver, rows};
pub(super) use kill::SentStatement;
pub(super) use owner::Owner;
pub(super) use running::{RunningStatement, StopRequest};
pub(super) use running_table::{Entry, MAX_ID, RunningStatements};
pub(super) use server_info::ServerInfo;
pub(super) use session_pool::{CheckoutError, CheckoutRequest, Lease, SessionPool};
pub(super) use wire::{Answer, Set};
