//! Connections to the database: making, pooling, read-only mode, cancelling and giving up.

mod authority;
mod check_out;
mod connector;
pub(super) mod db_conn;
mod dial;
mod driver;
mod identity;
mod kill;
pub(super) mod readonly;
mod running;
mod server_info;
mod session_pool;
mod sha256;
mod socket_handle;
mod wire;

pub(super) use check_out::{CheckoutRequest, Lease};
pub(super) use connector::Connector;
pub(super) use db_conn::DbConn;
pub(super) use driver::{call_driver, each_row, rows, run_silently};
pub(super) use identity::CLEAN;
pub(super) use kill::SentStatement;
pub(super) use running::{MAX_ID, RunningEntry, RunningStatement, RunningStatements};
pub(super) use running::{StatementOwner, StopRequest};
pub(super) use running::{stop_in_background, stoppable, stopped_when_gone};
pub(super) use server_info::{ServerInfo, dialect_of, grants, masked};
pub(super) use session_pool::{SessionLeft, SessionPool};
pub(super) use wire::{Answer, ResultSet};
