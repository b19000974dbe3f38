//! A web client as the manager sees it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::SystemTime;

use crossbeam_channel::Receiver;

use crate::cli::failure::printable;
use crate::plugin::{GuestInForce, Served, SignIn};
use crate::sqlweb::WebClient;
use crate::tunnel::client::Serve;

impl Served for Arc<WebClient> {
    fn address(&self) -> SocketAddr {
        WebClient::address(self)
    }

    fn streams(&self) -> Serve {
        let server = WebClient::streams(self);
        Arc::new(move |stream| {
            let end = stream.ender();
            server.serve(stream, end);
        })
    }

    fn url(&self) -> String {
        self.auth_url.as_ref().unwrap_or(&self.url).clone()
    }

    fn set_code(&self, code: &str) {
        self.set_guest_code(code);
    }

    fn allow_host(&self, host: &str, is_https: bool) -> Result<(), String> {
        let hosts = self.hosts();
        let allowed = match is_https {
            true => hosts.allow_https(host),
            false => hosts.allow(host),
        };
        allowed.map_err(|error| error.to_string())
    }

    fn disallow_host(&self, host: &str) {
        self.hosts().disallow(host);
    }

    fn believe_origins(&self, is_ours: bool) {
        WebClient::believe_origins(self, is_ours);
    }

    fn set_end(&self, expires: SystemTime) {
        WebClient::set_end(self, expires);
    }

    fn guest(&self) -> Option<Arc<GuestInForce>> {
        WebClient::guest(self)
    }

    fn sign_in(&self) -> SignIn {
        let sign_in = WebClient::sign_in(self);
        Arc::new(move || sign_in().map_err(|error| printable(&error)))
    }

    fn missed(&self) -> Receiver<()> {
        WebClient::missed(self)
    }

    /// Unless somebody else has it too, who stops it.
    fn stop(self: Box<Self>) {
        if let Some(client) = Arc::into_inner(*self) {
            client.stop();
        }
    }
}
