//! The database plugin: a web SQL client over a local HTTP API.
//!
//! ```text
//! web_client ── api: routes ── query: execute ── gate             (layer 2 of the read-only mode)
//!                 │               ├──── conn: session_pool ── connector   (one connection a session, 32 in all)
//!                 │               ├──── conn: readonly                (layer 3)
//!                 │               └──── query: statement ── output    (rows as they come)
//!                 ├── edit: table ── plan ── apply        (rows compared and written in one transaction)
//!                 ├── dump: inventory ── writer
//!                 ├── search        (names and comments of everything, in memory)
//!                 └── catalogue, auth
//! ```
//!
//! For a guest, `guest` creates a temporary account with the owner's connector, and everything above works with a
//! connector for that account. `visitors` identifies the senders of requests and limits each one's use.
//!
//! Nothing here knows of tunnels.

pub mod gate;

mod api;
mod auth;
mod catalogue;
pub(crate) mod catch_panic;
mod conn;
mod dump;
mod edit;
mod error;
mod guest;
mod held;
mod limits;
mod options;
mod output;
mod query;
mod record_sql;
mod results;
mod search;
mod service;
mod visitors;
mod web_client;

pub use options::{Options, Target, TlsMode};
pub use web_client::{FIRST_PORT, LAST_PORT, StartError, WebClient, start};
pub(crate) use web_client::{objects, start_with, sweep};
