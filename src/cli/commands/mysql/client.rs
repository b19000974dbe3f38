//! A web client as the manager sees it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::SystemTime;

use crossbeam_channel::Receiver;

use crate::cli::failure::printable;
use crate::http::InvalidHost;
use crate::plugin::{GuestInForce, Served, SignIn};
use crate::sqlweb::WebClient;
use crate::tunnel::client::Serve;

/// A web client for an application.
pub(super) struct Client(pub(super) Arc<WebClient>);

impl Served for Client {
    fn address(&self) -> SocketAddr {
        self.0.address()
    }

    fn streams(&self) -> Serve {
        let server = self.0.streams();
        Arc::new(move |stream| {
            let end = stream.ender();
            server.serve(stream, end);
        })
    }

    fn url(&self) -> String {
        let url = self.0.auth_url.as_ref().unwrap_or(&self.0.url);
        url.clone()
    }

    fn set_code(&self, code: &str) {
        self.0.set_guest_code(code);
    }

    fn allow_host(&self, host: &str, is_https: bool) -> Result<(), String> {
        let allowed = allow(&self.0, host, is_https);
        allowed.map_err(|error| error.to_string())
    }

    fn disallow_host(&self, host: &str) {
        self.0.hosts().disallow(host);
    }

    fn believe_origins(&self, is_ours: bool) {
        self.0.believe_origins(is_ours);
    }

    fn ends_at(&self, expires: SystemTime) {
        self.0.ends_at(expires);
    }

    fn guest(&self) -> Option<Arc<GuestInForce>> {
        self.0.guest()
    }

    fn sign_in(&self) -> SignIn {
        let sign_in = self.0.sign_in();
        Arc::new(move || sign_in().map_err(|error| printable(&error)))
    }

    fn missed(&self) -> Receiver<()> {
        self.0.missed()
    }

    /// Unless somebody else has it too, who stops it.
    fn stop(self: Box<Self>) {
        if let Some(client) = Arc::into_inner(self.0) {
            client.stop();
        }
    }
}

fn allow(running: &WebClient, host: &str, is_https: bool) -> Result<(), InvalidHost> {
    if is_https {
        running.hosts().allow_https(host)
    } else {
        running.hosts().allow(host)
    }
}
