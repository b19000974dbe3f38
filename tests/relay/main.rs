//! `postern relay`, from outside, and its gateway with real tunnels behind it.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "a panic is how a test reports"
)]

mod by_url;
mod caddy;
mod certificates;
mod clock;
mod command;
mod full_disk;
mod gateway_conformance;
mod gateway_door;
mod gateway_kept;
mod gateway_loops;
mod gateway_not_http;
mod gateway_pooled;
mod gateway_streams;
mod gateway_tls;
mod invites;
mod large_state;
mod metrics;
mod one_word;
mod places;
mod pooling_proxies;
mod quotas;
mod setup;
mod share;
mod sites;
mod slow_bodies;
mod slow_readers;
mod status;
mod strangers;
mod team;
mod terms;
