//! `postern start`: local applications, shared through a server's tunnels.

pub mod quick_setup;
mod server_url;

pub use server_url::ServerUrl;
