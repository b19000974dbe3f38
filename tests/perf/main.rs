//! Measurements, and tests that need the machine for themselves: times, memory, rates, limits of users. `tests/run.sh`
//! runs it after the others, one test at a time.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "a panic is how a test reports"
)]

#[allow(dead_code, reason = "a part of it is used here")]
#[path = "../http/fixture.rs"]
mod http_fixture;
#[allow(dead_code, reason = "a part of it is used here")]
#[path = "../ssh/fixture.rs"]
mod ssh_fixture;
#[allow(dead_code, reason = "a part of it is used here")]
#[path = "../tunnel/fixture/mod.rs"]
mod tunnel_fixture;
#[allow(dead_code, reason = "a part of it is used here")]
#[path = "../tunnel/ws_fixture.rs"]
mod ws_fixture;

mod gateway_memory;
mod http_speed;
mod http_timing;
mod long_line;
mod manager_figures;
mod relay_figures;
mod shortage;
mod ssh_speed;
mod ws_speed;
