//! `postern start`, from outside.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "a panic is how a test reports"
)]

mod api;
mod app_command;
mod connect;
mod database;
mod foreign_server;
mod guest;
mod health;
mod home_gateway;
mod hostile;
mod listeners;
mod main_tunnel;
mod many;
mod metrics;
mod quick_setup;
mod reset;
mod returning;
mod servers;
mod share_command;
mod small_box;
mod start;
mod stop;
mod streams;
mod terms;
mod versions;
mod visitors;
mod ways;
