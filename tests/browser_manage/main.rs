//! The management page as a person meets it: the real page in Chromium, served by the real `postern start`, with a
//! scripted quick-setup server and a tunnel server behind it.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "a panic is how a test reports"
)]

#[path = "../support/mod.rs"]
mod support;

mod afresh;
mod board;
mod flow;
mod force;
mod forms;
mod hostile;
mod keyboard;
mod looks;
mod outage;
