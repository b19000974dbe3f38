//! The real `postern relay`, and calls to it as connectors, visitors and its operator make them.

use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use postern::tunnel::client::{HostKeyCheck, Settings, Status, Tunnel};
use postern::tunnel::ws::Endpoint;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::http::{Client, Response};
use super::kill_on_drop::{KillOnDrop, Leashed};
use super::manager::environment;
use super::postern::{Finished, Home, binary, status_field};
use super::{TIMEOUT, holds_within};

/// A connector's password: as long as a generated one.
pub const PASSWORD: &str = "generated-password-of-43-characters-0123456";

/// A running `postern relay`, ended on drop (SIGTERM first).
pub struct Relay {
    process: Leashed,
    home: Arc<Home>,
    /// Address of the gateway.
    pub address: SocketAddr,
    /// Address for tunnels; port 0 if they use the gateway's.
    pub tunnel: SocketAddr,
}

impl Relay {
    /// On free ports of loopback, in a fresh directory.
    #[track_caller]
    pub fn start(args: &[&str]) -> Relay {
        let ports = ["--listen=127.0.0.1:0", "--tunnel-listen=127.0.0.1:0"];
        Relay::start_in(&Arc::new(Home::new()), &[&ports, args].concat())
    }

    /// With these arguments alone, in `home`.
    #[track_caller]
    pub fn start_in(home: &Arc<Home>, args: &[&str]) -> Relay {
        Relay::try_start_in(home, args)
            .unwrap_or_else(|failed| panic!("postern relay {args:?}: {failed:?}"))
    }

    /// Starts it, or returns the failure.
    pub fn try_start_in(home: &Arc<Home>, args: &[&str]) -> Result<Relay, Finished> {
        Relay::try_start_by(KillOnDrop::new(binary()), home, args)
    }

    /// Starts it through a program that runs it, or returns the failure.
    pub fn try_start_by(
        program: KillOnDrop,
        home: &Arc<Home>,
        args: &[&str],
    ) -> Result<Relay, Finished> {
        let args = [&["relay", "-v"], args].concat();
        Relay::try_start_as(program, home, &args)
    }

    /// Without a log of all that it does.
    #[track_caller]
    pub fn start_quietly(home: &Arc<Home>, args: &[&str]) -> Relay {
        let args = [&["relay"], args].concat();
        Relay::try_start_as(KillOnDrop::new(binary()), home, &args)
            .unwrap_or_else(|failed| panic!("postern relay {args:?}: {failed:?}"))
    }

    fn try_start_as(
        kill_on_drop: KillOnDrop,
        home: &Arc<Home>,
        args: &[&str],
    ) -> Result<Relay, Finished> {
        let mut kill_on_drop = kill_on_drop.args(args);
        kill_on_drop = kill_on_drop.lending(home.path());
        for (name, value) in environment(home.path()) {
            kill_on_drop = kill_on_drop.env(name, value);
        }
        let mut process = kill_on_drop.start();
        let mut ended = None;
        holds_within(TIMEOUT, || {
            ended = process.ended();
            ended.is_some() || process.stdout.line_after("Status page: ").is_some()
        });
        let line = |prefix: &str| process.stdout.line_after(prefix);
        match (ended, line("Listening on: "), line("Tunnel server: ")) {
            (None, Some(address), Some(tunnel)) => {
                let address = address.parse().unwrap();
                let tunnel = tunnel.replace("none", "0.0.0.0:0").parse().unwrap();
                let home = Arc::clone(home);
                Ok(Relay {
                    process,
                    home,
                    address,
                    tunnel,
                })
            }
            _ => {
                process.kill();
                process.drained();
                Err(Finished {
                    code: ended.and_then(|status| status.code()),
                    stdout: process.stdout.text(),
                    stderr: process.stderr.text(),
                })
            }
        }
    }

    /// Ends it, and starts it again on the same ports and directory.
    #[track_caller]
    pub fn restart(self, args: &[&str]) -> Relay {
        let (listen, tunnel) = (self.address.to_string(), self.tunnel.to_string());
        let home = Arc::clone(&self.home);
        drop(self);
        let ports = ["--listen", &listen, "--tunnel-listen", &tunnel];
        Relay::start_in(&home, &[&ports, args].concat())
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The data directory.
    pub fn data(&self) -> std::path::PathBuf {
        self.home.path().join("relay")
    }

    /// The per-user directory.
    pub fn home(&self) -> &Arc<Home> {
        &self.home
    }

    /// Text after `prefix` on standard output.
    #[track_caller]
    pub fn said(&self, prefix: &str) -> String {
        let line = self.process.stdout.line_after(prefix);
        line.unwrap_or_else(|| panic!("no '{prefix}' in {}", self.stdout()))
    }

    /// The operator's token; a relay of a fleet prints a link that is good for a while, so there it is what it tells the
    /// other processes of its user.
    #[track_caller]
    pub fn operator_token(&self) -> String {
        let url = self.said("Status page: ");
        let code = url.split("code=").nth(1).unwrap().trim();
        if !code.contains('.') {
            return code.to_owned();
        }
        let told = std::fs::read(self.data().join("run/start.json")).unwrap();
        let told: Value = serde_json::from_slice(&told).unwrap();
        told["token"].as_str().unwrap().to_owned()
    }

    /// The token that was made at the first start, which lets one connector in.
    #[track_caller]
    pub fn first_token(&self) -> String {
        let line = self.said("Enrolment token: ");
        line.split(' ').next().unwrap().to_owned()
    }

    /// A token that lets in as many connectors as a test may have.
    #[track_caller]
    pub fn enrol_token(&self) -> String {
        let made = self.operators("POST", "/api/invites", br#"{"uses": 1000}"#);
        made.data()["token"].as_str().unwrap().to_owned()
    }

    /// A call of the operator's.
    #[track_caller]
    pub fn operators(&self, method: &str, path: &str, body: &[u8]) -> Response {
        let bearer = format!("Bearer {}", self.operator_token());
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
        ];
        self.client().send(method, path, &headers, body)
    }

    /// Standard output so far.
    pub fn stdout(&self) -> String {
        self.process.stdout.text()
    }

    /// Log of the relay.
    pub fn stderr(&self) -> String {
        self.process.stderr.text()
    }

    /// Connections that have a thread now.
    #[cfg(target_os = "linux")]
    pub fn connection_threads(&self) -> usize {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.pid())).unwrap();
        let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm"));
        let names = tasks.flatten().filter_map(|task| name(task).ok());
        names.filter(|name| name.trim_end() == "http-conn").count()
    }

    /// Process id.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Resident memory now.
    pub fn rss_kib(&self) -> u64 {
        status_field(self.pid(), "VmRSS:")
    }

    /// SIGTERM; its exit status, none when it had to be killed.
    pub fn stop(&mut self) -> Option<ExitStatus> {
        self.process.terminate()
    }

    /// Its end, which something else has begun; none when it had to be killed.
    pub fn wait_end(&mut self) -> Option<ExitStatus> {
        self.process.wait(TIMEOUT)
    }

    /// SIGKILL; its directory stays.
    pub fn kill(&mut self) {
        self.process.signal(rustix::process::Signal::KILL);
        self.process.wait(TIMEOUT);
    }

    /// A client under the relay's own name.
    pub fn client(&self) -> Client {
        Client::new(&self.address.to_string())
    }

    /// A quick-setup call.
    #[track_caller]
    pub fn call(&self, body: &Value) -> Response {
        self.client().post("/api/public/quick-setup", body)
    }

    /// A quick-setup call of another address, where the relay trusts this one.
    #[track_caller]
    pub fn call_from(&self, source: &str, body: &Value) -> Response {
        let headers = [
            ("Content-Type", "application/json"),
            ("X-Forwarded-For", source),
        ];
        let path = "/api/public/quick-setup";
        self.client()
            .send("POST", path, &headers, body.to_string().as_bytes())
    }

    /// Answer to a call that must succeed.
    #[track_caller]
    pub fn assign(&self, body: &Value) -> Value {
        self.call(body).data()
    }

    /// A connector gives an application back.
    #[track_caller]
    pub fn release(&self, name: &str, password: &str, app: &str) -> Response {
        let basic = format!("Basic {}", STANDARD.encode(format!("{name}:{password}")));
        let headers = [("Authorization", basic.as_str())];
        let path = format!("/api/public/applications/{app}");
        self.client().send("DELETE", &path, &headers, b"")
    }

    /// A request to a site.
    #[track_caller]
    pub fn visit(&self, site: &str, path: &str) -> Response {
        let host = format!("{site}.localhost:{}", self.address.port());
        let headers = [("Host", host.as_str()), ("Origin", "")];
        self.client().send("GET", path, &headers, b"")
    }

    /// Status for the operator.
    #[track_caller]
    pub fn status(&self) -> Value {
        self.operators("GET", "/api/status", b"").data()
    }

    /// Opens a tunnel as a chisel client with these credentials.
    pub fn tunnel(&self, user: &str, password: &str, remotes: &[&str]) -> Tunnel {
        Tunnel::start(self.tunnel_settings(user, password, remotes)).unwrap()
    }

    /// Settings of such a tunnel.
    pub fn tunnel_settings(&self, user: &str, password: &str, remotes: &[&str]) -> Settings {
        settings_at(&format!("ws://{}", self.tunnel), user, password, remotes)
    }
}

/// Settings of a tunnel to this address.
pub fn settings_at(at: &str, user: &str, password: &str, remotes: &[&str]) -> Settings {
    let endpoint = Endpoint::parse(at).unwrap();
    let remotes = remotes
        .iter()
        .map(|remote| remote.parse().unwrap())
        .collect();
    let mut settings = Settings::new(endpoint, remotes);
    settings.user = user.to_owned();
    settings.password = Zeroizing::new(password.to_owned());
    settings.host_key = HostKeyCheck::Any;
    settings.max_retry_interval = Duration::from_millis(200);
    settings
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.process.terminate();
        if std::thread::panicking() {
            eprintln!("postern relay said:\n{}{}", self.stdout(), self.stderr());
        }
    }
}

/// A relay that knows so many connectors with so many sites each, none of whom is there: `postern_0000` on
/// `machine-0000` shares `site-0-0` and so on.
#[track_caller]
pub fn crowded((connectors, applications): (usize, usize)) -> Relay {
    let ports = ["--listen=127.0.0.1:0", "--tunnel-listen=127.0.0.1:0"];
    let home = Arc::new(Home::new());
    let mut relay = Relay::start_in(&home, &ports);
    relay.assign(&body("one", "shop", "http", 1));
    relay.stop();
    let data = relay.data();
    drop(relay);
    let mut state = state(&data);
    let one = state["connectors"]["one"].clone();
    let all = (0..connectors).map(|n| (format!("postern_{n:04}"), copied(&one, n, applications)));
    state["connectors"] = Value::Object(all.collect());
    put_state(&data, &state);
    Relay::start_in(&home, &ports)
}

fn copied(one: &Value, n: usize, applications: usize) -> Value {
    let mut connector = one.clone();
    connector["caller"]["label"] = json!(format!("machine-{n:04}"));
    connector["api_port"] = json!(1 + n);
    let application = |at: usize| {
        let mut application = one["applications"][0].clone();
        application["app_id"] = json!(format!("app-{n}-{at}"));
        application["key"] = json!(format!("key-{at}"));
        application["port"] = json!(10_000 + at);
        application["site"]["name"] = json!(format!("site-{n}-{at}"));
        application
    };
    connector["applications"] = (0..applications).map(application).collect();
    connector
}

/// A quick-setup call's body for a local application.
pub fn body(connector: &str, app: &str, protocol: &str, port: u16) -> Value {
    json!({"protocol": protocol, "ip": "127.0.0.1", "port": port, "connector_name": connector,
        "password": PASSWORD, "client_app_id": app, "display_name": app, "site_name": "",
        "invisible": false, "visable": "", "reset": true})
}

/// Changes some fields of a body.
pub fn with(mut body: Value, changes: Value) -> Value {
    let changes = changes.as_object().unwrap().clone();
    body.as_object_mut().unwrap().extend(changes);
    body
}

/// Adds `connectors` named `c0`, `c1`, … to the state of a relay that does not run, each with `sites` that are called
/// `s0-0`, `s0-1`, …, all of the form of the first that it knows, and with its password.
#[track_caller]
pub fn enlarge(data: &Path, connectors: usize, sites: usize) {
    let mut state = state(data);
    let known = state["connectors"].as_object_mut().expect("an object");
    let form = known.values().next().expect("it knows a connector").clone();
    // Nothing listens on these numbers: they need to differ, and are given from below.
    let mut numbers = (30_000..=65_000_u16).rev();
    for connector in 0..connectors {
        let mut one = form.clone();
        one["api_port"] = json!(numbers.next());
        let application = |site: usize| {
            let mut application = form["applications"][0].clone();
            application["key"] = json!(format!("k{site}"));
            application["app_id"] = json!(format!("{connector:012x}{site:04x}"));
            application["port"] = json!(numbers.next());
            application["site"]["name"] = json!(format!("s{connector}-{site}"));
            application
        };
        let applications: Vec<Value> = (0..sites).map(application).collect();
        one["applications"] = applications.into();
        known.insert(format!("c{connector}"), one);
    }
    put_state(data, &state);
}

/// The log of the state.
pub const ROWS: &str = "relay.rows";

/// The state of a relay as one document, in the form of versions before the log.
#[track_caller]
pub fn state(data: &Path) -> Value {
    let text = std::fs::read_to_string(data.join(ROWS)).expect("a relay has run there");
    let mut state =
        json!({"connectors": {}, "revoked": [], "revocations": {}, "reserved": {}, "invites": {}});
    for line in text.lines() {
        let parts: Vec<&str> = line.split('\t').collect();
        let [_, _, _, kind, key, value] = parts[..] else {
            continue;
        };
        let key: String = serde_json::from_str(key).expect("a key");
        let value: Option<Value> = serde_json::from_str(value).ok();
        if kind == "forbidden" {
            state["forbidden_tokens"] = value.unwrap_or_else(|| json!([]));
            continue;
        }
        if kind == "revoked" {
            let names = state["revoked"].as_array_mut().expect("a list");
            names.retain(|name| *name != key);
            names.extend(value.is_some().then(|| json!(key)));
        }
        let map = match kind {
            "connector" => "connectors",
            "revoked" => "revocations",
            "reserved" => "reserved",
            "invite" => "invites",
            _ => continue,
        };
        let map = state[map].as_object_mut().expect("an object");
        map.remove(&key);
        map.extend(value.map(|value| (key, value)));
    }
    for list in ["reserved", "invites"] {
        let values = state[list]
            .as_object()
            .expect("an object")
            .values()
            .cloned();
        state[list] = values.collect();
    }
    state
}

/// Puts a state in its place, as a version before the log has left it: the next start moves it.
#[track_caller]
pub fn put_state(data: &Path, state: &Value) {
    let version = state.get("version").cloned().unwrap_or_else(|| json!(2));
    let document = with(state.clone(), json!({"version": version}));
    // A directory without a state has nothing to remove.
    let _ = std::fs::remove_file(data.join(ROWS));
    std::fs::write(data.join("relay.json"), document.to_string()).expect("the directory is ours");
}

/// Waits until the tunnel has an error, and answers its text.
#[track_caller]
pub fn refusal(tunnel: &Tunnel) -> String {
    let mut text = None;
    holds_within(TIMEOUT, || {
        let now = tunnel.snapshot();
        assert_ne!(now.status, Status::Connected, "it was let in");
        text = now.error.map(|error| error.to_string());
        text.is_some()
    });
    text.expect("an error")
}

/// Every text below a directory, for searches after secrets.
pub fn texts_below(dir: &Path) -> String {
    let mut all = String::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => all.push_str(&texts_below(&path)),
            false => all.push_str(&String::from_utf8_lossy(
                &std::fs::read(path).unwrap_or_default(),
            )),
        }
    }
    all
}
