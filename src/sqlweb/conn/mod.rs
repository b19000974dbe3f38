//! Connections to the database: how they are made, pooled, made read-only, cancelled and given up.

pub(super) mod abandoned;
pub(super) mod cancel;
pub(super) mod connector;
pub(super) mod db_conn;
pub(super) mod driver;
pub(super) mod identity;
pub(super) mod kill;
pub(super) mod owner;
pub(super) mod readonly;
pub(super) mod reaper;
pub(super) mod running;
pub(super) mod running_table;
pub(super) mod server_info;
pub(super) mod session_pool;
pub(super) mod socket_handle;
pub(super) mod status;
pub(super) mod stored_functions;
