//! One application that is shared for as long as a command runs, and is in no list.
//!
//! The connect sequence without the main tunnel, which belongs to `postern start`: both may run at once, with the same
//! credentials.

use crate::sync::Mutex;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, never, select};
use zeroize::Zeroizing;

use super::ServerUrl;
use super::quick_setup::{self, Body, Caller, Setup, Wait};
use super::servers::{Answered, Connector, RemoteServer, Servers};
use super::web_client::site_host;
use crate::store::{CredentialStore, Credentials, DataDir};
use crate::tunnel::client::{Status, Tunnel};
use crate::tunnel::known_servers::KnownServers;
use crate::tunnel::remote::Remote;

/// Where a relay is told to listen for the application's tunnel.
const REMOTE_HOST: &str = "127.0.0.1";
/// Time for the tunnel to be connected. 30 s by the specification.
const TUNNEL_WAIT: Duration = Duration::from_secs(30);
/// Time at the end for the relay to take back what it assigned. Default 500 ms: the program has 2 s to end.
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
pub struct Shared {
    /// Where visitors find it.
    pub site_url: String,
    /// In invisible mode, the link that carries the code. It is a secret.
    pub auth_url: Option<String>,
    /// The code that the application is to ask for; a secret.
    pub code: Zeroizing<String>,
    tunnel: Tunnel,
    call: Arc<Call>,
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
pub fn share(options: Options, stop: &Receiver<()>) -> Result<Shared, NotShared> {
    let known = KnownServers::new(options.home.clone());
    let call = Arc::new(Call::new(options));
    let setup = quick_setup::run(&call.options.server, call.clone(), stop, &never());
    let setup = setup.map_err(|failure| match failure {
        quick_setup::Failure::Stopped => {
            // The call that was under way may have been heard.
            call.give_back();
            NotShared::Stopped
        }
        failure => NotShared::Failed {
            reason: failure.to_string(),
            hint: failure.hint(),
        },
    })?;
    let known = call.remote.known(&known);
    let tunnel = tunnel(&call, known, &setup).map_err(NotShared::from);
    let connected = tunnel.and_then(|tunnel| wait(&tunnel, stop).map(|()| tunnel));
    let tunnel = connected.inspect_err(|_| call.give_back())?;
    Ok(Shared {
        auth_url: setup.auth_url().filter(|_| call.options.invisible),
        site_url: setup.app.site_url,
        code: setup.api_key.code,
        tunnel,
        call,
    })
}

impl Shared {
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
        self.call.give_back();
    }
}

fn tunnel(call: &Call, known: KnownServers, setup: &Setup) -> Result<Tunnel, String> {
    let connector = call.saved()?;
    let endpoint = connector.endpoint().map_err(|fault| fault.error)?;
    if let Some(fingerprint) = &setup.connector.fingerprint {
        let pinned = known.pin_first(&endpoint.authority(), fingerprint);
        pinned.map_err(|error| error.to_string())?;
    }
    let forward = Remote {
        local_host: REMOTE_HOST.to_owned(),
        local_port: setup.app.resource.port,
        remote_host: call.options.target.ip().to_string(),
        remote_port: call.options.target.port(),
    };
    let settings = connector.settings(known, forward);
    let settings = settings.map_err(|fault| fault.error)?;
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

/// The quick-setup calls.
struct Call {
    options: Options,
    id: String,
    store: CredentialStore,
    remote: Arc<RemoteServer>,
    saved: Mutex<Option<Result<Connector, String>>>,
}

impl Call {
    fn new(options: Options) -> Self {
        Self {
            id: id(&options.name),
            store: CredentialStore::new(options.home.clone()),
            remote: Servers::default().of(options.server.origin()),
            saved: Mutex::new(None),
            options,
        }
    }

    /// The relay takes back what it assigned.
    fn give_back(&self) {
        if let Ok(credentials) = self.credentials(false) {
            let (server, id) = (self.options.server.clone(), self.id.clone());
            let done = quick_setup::release(server, credentials, id);
            // A relay that does not answer keeps an application that nobody serves.
            let _ = done.recv_timeout(RELEASE_WAIT);
        }
    }

    fn saved(&self) -> Result<Connector, String> {
        let saved = self.saved.lock().take();
        saved.unwrap_or_else(|| Err("the answer's credentials were not saved".to_owned()))
    }
}

impl Caller for Call {
    fn credentials(&self, reload: bool) -> Result<Credentials, String> {
        let credentials = self.remote.credentials(&self.store, reload);
        credentials.map_err(|error| error.to_string())
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
        };
        body.to_json()
    }

    fn waiting(&self, wait: Option<Wait>) {
        if let Some(wait) = wait {
            log::warn!("{}: trying again", wait.reason);
        }
    }

    fn accepted(&self, setup: &Setup) {
        // The only caller of its kind: no answer is later than another's.
        let answered = Answered {
            call: self.remote.next_call(),
            is_awaited: true,
        };
        let saved = self.remote.accept(&self.store, setup, None, answered);
        let saved = saved.map_err(|error| format!("cannot save the credentials: {error}"));
        *self.saved.lock() = saved.transpose();
    }
}

/// 16 hexadecimal digits, like an application's, and the same for the same name.
fn id(name: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, format!("share {name}").as_bytes());
    digest
        .as_ref()
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
