//! The commands, each in a file or a directory.

pub(super) mod app;
pub(super) mod completions;
pub(super) mod docs;
pub(super) mod doctor;
pub(super) mod logs;
pub(super) mod man;
pub(super) mod mysql;
pub(super) mod plugin;
pub(super) mod relay;
pub(super) mod server;
pub(super) mod service;
pub(super) mod share;
mod sharing;
pub(super) mod start;
pub(super) mod status;
pub(super) mod tunnel_client;
pub(super) mod tunnel_server;
pub(super) mod version;
