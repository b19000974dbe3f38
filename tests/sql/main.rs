//! The web SQL client on a real MariaDB, on a scripted server, and its read-only gate.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "a panic is how a test reports"
)]

mod api;
mod cluster;
mod dump;
mod everyday;
mod fake_mysql;
mod foreign_dumps;
mod gate_differential;
mod gate_names;
mod gate_proofs;
mod gate_vectors;
mod invisible;
mod on_mysql;
mod readonly;
mod rogue_server;
mod shared_accounts;
mod signin;
mod signin_mysql;
mod silent_server;
mod starts;
mod suites;
mod values;
