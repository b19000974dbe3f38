//! The real `postern start`, and what stands on the other side of its tunnels: a tunnel server in this process and the
//! scripted quick-setup server. Test files that use it need `mod support;` alone.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, Instant};

use postern::tunnel::server::{self, Server, Users};
use postern::tunnel::ssh::{KeyKind, ServerKey};
use serde_json::{Value, json};

use super::http::{Client, Response};
use super::kill_on_drop::{KillOnDrop, Leashed};
use super::postern::{Finished, Home, binary, status_field};
use super::quick_setup::{Act, QuickSetup};
use super::{TIMEOUT, free_port, holds_within};

/// The user that [`Far`] assigns.
pub const USER: &str = "assigned-user";
/// The password that [`Far`] assigns: no log or answer may hold it.
pub const PASSWORD: &str = "assigned-password";
/// The authorization code that [`Far`] assigns.
pub const CODE: &str = "visitors-code/+ %";

/// A running `postern start`, ended on drop (SIGTERM first).
pub struct Manager {
    process: Leashed,
    home: Arc<Home>,
    url: String,
}

impl Manager {
    /// `postern start 0 -v ARGS` in a fresh per-user directory.
    #[track_caller]
    pub fn start(args: &[&str]) -> Manager {
        Manager::start_in(&Arc::new(Home::new()), args)
    }

    /// Starts it in `home`.
    #[track_caller]
    pub fn start_in(home: &Arc<Home>, args: &[&str]) -> Manager {
        Manager::try_start_in(home, args)
            .unwrap_or_else(|failed| panic!("postern start {args:?}: {failed:?}"))
    }

    /// Starts it, or returns the failure.
    pub fn try_start_in(home: &Arc<Home>, args: &[&str]) -> Result<Manager, Finished> {
        Manager::try_start_at("0", home, args)
    }

    /// Starts it at a port, or returns the failure.
    pub fn try_start_at(port: &str, home: &Arc<Home>, args: &[&str]) -> Result<Manager, Finished> {
        Manager::try_start_by(KillOnDrop::new(binary()), port, home, args)
    }

    /// Starts it with a limit for open files.
    #[track_caller]
    pub fn start_within(files: usize, args: &[&str]) -> Manager {
        let kill_on_drop = KillOnDrop::new("prlimit")
            .args([format!("--nofile={files}:{files}")])
            .args([binary()]);
        let started = Manager::try_start_by(kill_on_drop, "0", &Arc::new(Home::new()), args);
        started.unwrap_or_else(|failed| panic!("postern start {args:?}: {failed:?}"))
    }

    /// Through what runs the program.
    pub fn try_start_by(
        kill_on_drop: KillOnDrop,
        port: &str,
        home: &Arc<Home>,
        args: &[&str],
    ) -> Result<Manager, Finished> {
        let mut kill_on_drop = kill_on_drop
            .args(["start", port, "--no-open", "-v"])
            .args(args);
        kill_on_drop = kill_on_drop.lending(home.path());
        for (name, value) in environment(home.path()) {
            kill_on_drop = kill_on_drop.env(name, value);
        }
        let mut process = kill_on_drop.start();
        let mut ended = None;
        let mut url = None;
        holds_within(TIMEOUT, || {
            ended = process.ended();
            url = process.stdout.line_after("Management page: ");
            ended.is_some() || url.is_some()
        });
        match url {
            Some(url) if ended.is_none() => {
                let url = url.trim_end_matches('/').to_owned();
                Ok(Manager {
                    process,
                    home: Arc::clone(home),
                    url,
                })
            }
            _ => {
                process.kill();
                process.drained();
                let code = ended.and_then(|status| status.code());
                let (stdout, stderr) = (process.stdout.text(), process.stderr.text());
                Err(Finished {
                    code,
                    stdout,
                    stderr,
                })
            }
        }
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// `HOST:PORT`.
    pub fn authority(&self) -> &str {
        self.url.trim_start_matches("http://")
    }

    /// A client on a connection of its own.
    pub fn client(&self) -> Client {
        Client::new(self.authority())
    }

    /// The per-user directory.
    pub fn home(&self) -> &Arc<Home> {
        &self.home
    }

    /// Process id.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Log of the manager.
    pub fn stderr(&self) -> String {
        self.process.stderr.text()
    }

    /// Threads now.
    pub fn threads(&self) -> u64 {
        status_field(self.pid(), "Threads:")
    }

    /// Resident memory now, in KiB.
    pub fn rss_kib(&self) -> u64 {
        status_field(self.pid(), "VmRSS:")
    }

    /// Descriptors now.
    pub fn fds(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.pid()))
            .unwrap()
            .count()
    }

    /// SIGTERM; its exit status, none when it had to be killed.
    pub fn stop(&mut self) -> Option<ExitStatus> {
        self.process.terminate()
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.process.signal(rustix::process::Signal::KILL);
        self.process.wait(TIMEOUT);
    }

    /// Adds an application and answers its identifier.
    #[track_caller]
    pub fn add(&self, body: &Value) -> String {
        let answer = self.client().post("/api/apps", body);
        assert_eq!(answer.status(), 201, "{}", answer.text());
        answer.json()["data"]["id"].as_str().unwrap().to_owned()
    }

    /// POST without a body.
    #[track_caller]
    pub fn post(&self, path: &str) -> Response {
        self.client().send("POST", path, &[], b"")
    }

    /// Begins to connect.
    #[track_caller]
    pub fn connect(&self, id: &str) {
        let answer = self.post(&format!("/api/connect/{id}"));
        assert_eq!(answer.status(), 200, "{}", answer.text());
    }

    /// Disconnects.
    #[track_caller]
    pub fn disconnect(&self, id: &str) {
        let answer = self.post(&format!("/api/disconnect/{id}"));
        assert_eq!(answer.data()["status"], "disconnected");
    }

    /// The ConnectResult now.
    #[track_caller]
    pub fn status(&self, id: &str) -> Value {
        self.client().get(&format!("/api/status/{id}")).data()
    }

    /// Waits for a status and answers the ConnectResult with it.
    #[track_caller]
    pub fn wait_status(&self, id: &str, status: &str) -> Value {
        self.wait_for(id, status, |result| result["status"] == status)
    }

    /// Waits for a ConnectResult of which `is` holds.
    #[track_caller]
    pub fn wait_for(&self, id: &str, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        self.wait_for_within(TIMEOUT + Duration::from_secs(10), id, what, is)
    }

    /// Waits longer for a ConnectResult of which `is` holds.
    #[track_caller]
    pub fn wait_for_within(
        &self,
        time: Duration,
        id: &str,
        what: &str,
        is: impl Fn(&Value) -> bool,
    ) -> Value {
        let mut client = self.client();
        let deadline = Instant::now() + time;
        loop {
            let result = client.get(&format!("/api/status/{id}")).data();
            if is(&result) {
                return result;
            }
            assert!(
                Instant::now() < deadline,
                "not {what}: {result}\n{}",
                self.stderr()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Connects an application and waits until it is connected.
    #[track_caller]
    pub fn connected(&self, id: &str) -> Value {
        self.connect(id);
        self.wait_status(id, "connected")
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        self.process.terminate();
        if std::thread::panicking() {
            eprintln!("postern start said:\n{}", self.stderr());
        }
    }
}

/// Variables for a command in the per-user directory `home`.
pub fn environment(home: &Path) -> [(&'static str, String); 6] {
    let home = home.to_string_lossy().into_owned();
    let [display, wayland, password, server, token] = [
        "DISPLAY",
        "WAYLAND_DISPLAY",
        "POSTERN_DB_PASS",
        "POSTERN_SERVER",
        "POSTERN_ENROLL_TOKEN",
    ]
    .map(|name| (name, String::new()));
    [
        ("POSTERN_HOME", home),
        display,
        wayland,
        password,
        server,
        token,
    ]
}

/// The far side: a quick-setup server and a tunnel server.
pub struct Far {
    /// The scripted quick-setup server.
    pub quick: QuickSetup,
    tunnel: Option<Server>,
    keys: Arc<[ServerKey]>,
    tunnel_port: u16,
    /// The remote port of the main tunnel.
    pub api_port: u16,
}

impl Far {
    /// With a tunnel server that knows [`USER`]; quick-setup answers nothing good yet.
    pub fn new() -> Far {
        let keys: Arc<[ServerKey]> = [ServerKey::generate(KeyKind::EcdsaP256).unwrap()].into();
        let mut far = Far {
            quick: QuickSetup::start([Act::text(500, "no script")]),
            tunnel: None,
            keys,
            tunnel_port: 0,
            api_port: free_port(),
        };
        far.open();
        far
    }

    /// Starts the tunnel server, at the port of before where there was one.
    pub fn open(&mut self) {
        self.open_for(PASSWORD);
    }

    /// Starts the tunnel server with another password of [`USER`]'s.
    pub fn open_for(&mut self, password: &str) {
        let mut listener = None;
        // The port of a server that has just ended may take a moment to be free.
        holds_within(TIMEOUT, || {
            listener = TcpListener::bind(("127.0.0.1", self.tunnel_port)).ok();
            listener.is_some()
        });
        let mut settings = server::Settings::new(listener.unwrap(), Arc::clone(&self.keys));
        settings.policy = Box::new(users(password));
        let server = Server::start(settings).unwrap();
        self.tunnel_port = server.address().port();
        self.tunnel = Some(server);
    }

    /// Another host key from the next [`Far::open`] on; answers its fingerprint.
    pub fn change_key(&mut self) -> String {
        self.keys = [ServerKey::generate(KeyKind::EcdsaP256).unwrap()].into();
        self.fingerprint()
    }

    /// The host keys, for [`Far::set_keys`].
    pub fn keys(&self) -> Arc<[ServerKey]> {
        Arc::clone(&self.keys)
    }

    /// These host keys from the next [`Far::open`] on.
    pub fn set_keys(&mut self, keys: Arc<[ServerKey]>) {
        self.keys = keys;
    }

    /// The host key's fingerprint.
    pub fn fingerprint(&self) -> String {
        self.keys[0].public().fingerprint()
    }

    /// Ends the tunnel server.
    pub fn close(&mut self) {
        if let Some(server) = self.tunnel.take() {
            server.stop();
        }
    }

    /// Port of the tunnel server.
    pub fn tunnel_port(&self) -> u16 {
        self.tunnel_port
    }

    /// Quick-setup's answer for an application that gets `port`.
    pub fn answer(&self, port: u16) -> Value {
        json!({
            "connector": {
                "external_ip": "127.0.0.1", "api_port": self.api_port, "username": USER,
                "password": PASSWORD, "tunnel_port": self.tunnel_port,
            },
            "app": {
                "app_id": format!("remote-{port}"), "site_url": format!("http://127.0.0.1:{port}/"),
                "resource": {"ip": "127.0.0.1", "port": port},
            },
            "api_key": {"nhp_server": "auth.example", "code": CODE, "app_id": format!("remote-{port}")},
        })
    }

    /// Answers every call with a good answer for one port, which is answered here.
    pub fn assign(&self) -> u16 {
        let port = free_port();
        self.quick.script([Act::json(200, &self.answer(port))]);
        port
    }

    /// `--server URL`.
    pub fn args(&self) -> [String; 2] {
        ["--server".to_owned(), self.quick.url()]
    }

    /// A manager that uses this far side.
    #[track_caller]
    pub fn manager(&self) -> Manager {
        self.manager_in(&Arc::new(Home::new()))
    }

    /// A manager in `home` that uses this far side.
    #[track_caller]
    pub fn manager_in(&self, home: &Arc<Home>) -> Manager {
        let args = self.args();
        Manager::start_in(home, &[&args[0], &args[1]])
    }
}

fn users(password: &str) -> Users {
    let mut users = Users::default();
    users.add(&format!("{USER}:{password}")).unwrap();
    users
}

/// An application: an HTTP server that says `hello from the target` to everything.
pub struct Target {
    port: u16,
}

impl Target {
    /// On a free port; its threads end with their connections, the listener with the process.
    pub fn start() -> Target {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || greet(stream));
            }
        });
        Target { port }
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The application's JSON.
    pub fn app(&self) -> Value {
        json!({"protocol": "http", "port": self.port})
    }
}

fn greet(mut stream: TcpStream) {
    let mut buffer = [0; 4096];
    let _ = stream.read(&mut buffer);
    let body = "hello from the target";
    let _ = write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
}

/// Visits a site through its remote port; the body, none where the visit fails.
pub fn visit(port: u16) -> Option<String> {
    let mut client = Client::new(&format!("127.0.0.1:{port}"));
    let answer = client.try_send("GET", "/", &[], b"").ok()?;
    Some(answer.text().to_owned())
}
