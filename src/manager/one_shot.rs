//! One application that is shared for as long as a command runs, and is in no list.
//!
//! The connect sequence without the main tunnel, which belongs to `postern start`: both may run at once, with the same
//! credentials.

use std::net::SocketAddr;
use std::time::Duration;

use crossbeam_channel::{Receiver, never, select};
use zeroize::Zeroizing;

use super::quick_setup::{self, Body, Caller, Failure, PreparedCall, Setup, Wait};
use super::remote::{Connector, ServerCredentials};
use super::server_url::ServerUrl;
use super::web_client::site_host;
use crate::store::{CredentialStore, Credentials, DataDir, random};
use crate::tunnel::client::{Status, Tunnel};
use crate::tunnel::known_servers::KnownServers;
use crate::tunnel::remote::Remote;

/// Where a relay is told to listen for the application's tunnel.
const REMOTE_HOST: &str = "127.0.0.1";
/// Time for the tunnel to be connected. 30 s by the specification.
const TUNNEL_WAIT: Duration = Duration::from_secs(30);
/// Time at the end for the relay to take back what it assigned: the program has 2 s to end.
const RELEASE_WAIT: Duration = Duration::from_millis(500);

/// What is shared, and through whom.
pub struct Options {
    /// The per-user directory, for credentials and host keys.
    pub home: DataDir,
    /// The remote server.
    pub server: ServerUrl,
    /// What lets an unknown connector enroll there.
    pub enroll_token: Option<Zeroizing<String>>,
    /// What is exposed: it speaks HTTP and asks for codes itself.
    pub target: SocketAddr,
    /// What it is called; the same name gets the same address again.
    pub name: String,
    /// Whether visitors need the code.
    pub invisible: bool,
}

/// What is being shared; it ends with this.
pub struct ActiveShare {
    /// Where visitors find it.
    pub site_url: String,
    /// In invisible mode, the link that carries the code. It is a secret.
    pub auth_url: Option<String>,
    /// The code that the application is to ask for; a secret.
    pub code: Zeroizing<String>,
    tunnel: Tunnel,
    site: SharedSite,
}

/// Why nothing is shared.
#[derive(Debug)]
pub enum NotShared {
    /// The stop signal came first.
    Stopped,
    /// Something went wrong.
    Failed {
        /// What happened.
        reason: String,
        /// What to try; empty where there is nothing to say.
        hint: &'static str,
    },
}

impl From<String> for NotShared {
    fn from(reason: String) -> Self {
        Self::Failed { reason, hint: "" }
    }
}

/// Begins to share, and returns when the tunnel is up. A message on `stop` ends the wait.
pub fn share(options: Options, stop: &Receiver<()>) -> Result<ActiveShare, NotShared> {
    let site = SharedSite::new(options);
    let mut calls = ShareCalls {
        site: &site,
        saved: None,
    };
    let setup = quick_setup::run(&site.options.server, &mut calls, stop, &never());
    let setup = setup.map_err(|failure| match failure {
        Failure::Stopped => {
            // The call that was under way may have been heard.
            site.give_back();
            NotShared::Stopped
        }
        failure => NotShared::Failed {
            reason: failure.to_string(),
            hint: failure.hint(),
        },
    })?;
    let tunnel = calls
        .saved()
        .and_then(|connector| tunnel(&site, &connector, &setup));
    let tunnel = tunnel.map_err(NotShared::from);
    let connected = tunnel.and_then(|tunnel| wait(&tunnel, stop).map(|()| tunnel));
    let tunnel = connected.inspect_err(|_| site.give_back())?;
    Ok(ActiveShare {
        auth_url: setup.auth_url().filter(|_| site.options.invisible),
        site_url: setup.app.site_url,
        code: setup.api_key.code,
        tunnel,
        site,
    })
}

impl ActiveShare {
    /// The `HOST:PORT` that visitors' requests carry.
    pub fn host(&self) -> Option<String> {
        site_host(&self.site_url)
    }

    /// Whether they come by `https`.
    pub fn is_https(&self) -> bool {
        self.site_url.starts_with("https:")
    }

    /// Ends it, and gives back what a relay assigned: within 1.5 s.
    pub fn stop(self) {
        self.tunnel.stop();
        self.site.give_back();
    }
}

fn tunnel(site: &SharedSite, connector: &Connector, setup: &Setup) -> Result<Tunnel, String> {
    let options = &site.options;
    let known = KnownServers::new(options.home.clone()).told_by(options.server.origin());
    let endpoint = connector.endpoint().map_err(|error| error.error)?;
    if let Some(fingerprint) = &setup.connector.fingerprint {
        let pinned = known.pin_first(&endpoint.authority(), fingerprint);
        pinned.map_err(|error| error.to_string())?;
    }
    let forward = Remote {
        local_host: REMOTE_HOST.to_owned(),
        local_port: setup.app.resource.port,
        remote_host: options.target.ip().to_string(),
        remote_port: options.target.port(),
    };
    let settings = connector.settings(known, forward);
    let settings = settings.map_err(|error| error.error)?;
    Tunnel::start(settings).map_err(|error| format!("cannot start the tunnel: {error}"))
}

fn wait(tunnel: &Tunnel, stop: &Receiver<()>) -> Result<(), NotShared> {
    select! {
        recv(stop) -> _ => Err(NotShared::Stopped),
        recv(tunnel.connected()) -> _ => match tunnel.snapshot().status {
            Status::Failed | Status::Stopped => Err(why(tunnel)),
            // One that was lost again at once goes on trying.
            _ => Ok(()),
        },
        default(TUNNEL_WAIT) => Err(why(tunnel)),
    }
}

fn why(tunnel: &Tunnel) -> NotShared {
    let error = tunnel.snapshot().error;
    let error = error.map_or(String::new(), |error| format!(": {error}"));
    format!("App tunnel connect timeout{error}").into()
}

/// Its quick-setup calls.
struct ShareCalls<'a> {
    site: &'a SharedSite,
    /// What was saved of the present call's answer.
    saved: Option<Receiver<Result<Connector, String>>>,
}

impl ShareCalls<'_> {
    fn saved(&self) -> Result<Connector, String> {
        let saved = self.saved.as_ref().and_then(|saved| saved.try_recv().ok());
        saved.unwrap_or_else(|| Err("the answer's credentials were not saved".to_owned()))
    }
}

impl Caller for ShareCalls<'_> {
    fn prepare(&mut self, _reload: bool) -> Result<PreparedCall, Failure> {
        // Read from disk each time: 'postern start' may have changed them.
        let mut credentials = self.site.credentials();
        let known = credentials.get(true);
        let known = known.map_err(|error| Failure::Local(error.to_string()))?;
        let (saving, saved) = crossbeam_channel::bounded(1);
        self.saved = Some(saved);
        let accepted = move |setup: &Setup| {
            let accepted = credentials.accept(setup, None);
            let accepted = accepted.map(|accepted| accepted.connector);
            // There is room for it.
            let _ = saving
                .send(accepted.map_err(|error| format!("cannot save the credentials: {error}")));
        };
        Ok(PreparedCall {
            body: self.site.body(&known),
            accepted: Box::new(accepted),
        })
    }

    fn waiting(&mut self, wait: Option<Wait>) {
        if let Some(wait) = wait {
            log::warn!("{}: trying again", wait.reason);
        }
    }
}

/// What is shared, and what gives it back.
struct SharedSite {
    options: Options,
    id: String,
    store: CredentialStore,
}

impl SharedSite {
    fn new(options: Options) -> Self {
        Self {
            id: id(&options.name),
            store: CredentialStore::new(options.home.clone()),
            options,
        }
    }

    fn credentials(&self) -> ServerCredentials {
        ServerCredentials::new(self.store.clone(), self.options.server.origin())
    }

    /// The relay takes back what it assigned.
    fn give_back(&self) {
        if let Ok(credentials) = self.credentials().get(true) {
            let (server, id) = (self.options.server.clone(), self.id.clone());
            let done = quick_setup::release(server, credentials, id);
            // A relay that does not answer keeps an application that nobody serves.
            let _ = done.recv_timeout(RELEASE_WAIT);
        }
    }

    fn body(&self, credentials: &Credentials) -> Zeroizing<Vec<u8>> {
        let options = &self.options;
        let body = Body {
            protocol: "http",
            ip: &options.target.ip().to_string(),
            port: options.target.port(),
            connector_name: &credentials.connector_name,
            password: &credentials.password,
            client_app_id: &self.id,
            enroll_token: options.enroll_token.as_deref().map(String::as_str),
            display_name: &options.name,
            site_name: "",
            invisible: options.invisible,
            checks_code: options.invisible,
            visable: "",
            reset: !credentials.accepted,
            ..Body::default()
        };
        body.to_json()
    }
}

/// 16 hexadecimal digits, like an application's, and the same for the same name.
fn id(name: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, format!("share {name}").as_bytes());
    let (first, _) = digest.as_ref().split_at(8);
    random::hex(first)
}
