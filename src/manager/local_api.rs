//! The local API service behind the main tunnel: counts, and that it is there.
//!
//! It is reached through the remote server, under any name: nothing on it changes state or names anything.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;

use serde_json::json;

use super::connection::Connections;
use super::remote::Environment;
use crate::http::{HostPolicy, Limits, Method, Response, Router, Server, ServerConfig};

/// Threads that answer. One: each answer takes microseconds.
const WORKERS: usize = 1;
/// Connections in all: a remote server asks now and then.
const CONNECTIONS: usize = 32;

/// Starts it on `listener`, for the server with this origin; it ends with what is answered.
pub(crate) fn start(
    environment: &Environment,
    origin: &str,
    listener: TcpListener,
) -> io::Result<Server> {
    let limits = Limits {
        connections: CONNECTIONS,
        ..Limits::default()
    };
    let config = ServerConfig {
        listener,
        hosts: HostPolicy::any(),
        check_other_users: environment.check_other_users,
        run_dir: environment.run_dir.clone(),
        workers: WORKERS,
        limits,
    };
    let connections = Arc::clone(&environment.connections);
    Server::start(config, Arc::new(routes(connections, origin.to_owned())))
}

fn routes(connections: Arc<Connections>, origin: String) -> Router {
    Router::new()
        .on(Method::Get, "/health", |request| {
            request.respond(Response::json(200, &json!({"status": "OK"})));
        })
        .on(Method::Get, "/version", |request| {
            request.respond(Response::ok(json!({"version": env!("CARGO_PKG_VERSION")})));
        })
        .on(Method::Get, "/status", move |request| {
            request.respond(Response::ok(connections.counts(&origin)));
        })
}
