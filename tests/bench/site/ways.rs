//! The ways to an application: ours, and those of others.

use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use support::postern::binary;
use support::process::Process;
use support::{TIMEOUT, free_port, wait_until};

/// A way to the application.
pub(crate) struct Way {
    pub(crate) name: &'static str,
    pub(crate) at: SocketAddr,
    pub(crate) host: String,
    /// Process ids of both ends: those at the visitors, and that at the application.
    pub(crate) ends: Vec<u32>,
    /// Processes that end with it.
    processes: Vec<Process>,
}

impl Way {
    /// One whose processes are others'.
    pub(crate) fn new(name: &'static str, at: SocketAddr, host: &str, ends: Vec<u32>) -> Way {
        Way {
            name,
            at,
            host: host.trim_end_matches('/').to_owned(),
            ends,
            processes: Vec::new(),
        }
    }

    /// One whose ends are these processes.
    fn of(name: &'static str, at: SocketAddr, host: &str, processes: Vec<Process>) -> Way {
        let ends = processes.iter().map(Process::pid).collect();
        Way {
            processes,
            ..Way::new(name, at, host, ends)
        }
    }

    /// A request without a body.
    pub(crate) fn get(&self, path: &str) -> String {
        self.head("GET", path) + "\r\n"
    }

    /// A head that goes on.
    pub(crate) fn head(&self, method: &str, path: &str) -> String {
        format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n", self.host)
    }
}

/// Starts all ways to `application`, the site first; their files are in `dir`.
pub(crate) fn all(dir: &Path, application: SocketAddr) -> Vec<Way> {
    std::fs::create_dir(dir).unwrap();
    let server = free();
    let url = format!("http://{server}");
    let own = tunnel(dir, application, ("our tunnel", server, &url));
    let mut all = vec![site(dir, application), own];
    if let Some(chisel) = std::env::var_os("POSTERN_CHISEL").map(PathBuf::from) {
        let started = |name| {
            let server = free();
            let url = format!("http://{server}");
            of_chisel(dir, application, &chisel, (name, server, &url))
        };
        all.push(started("chisel"));
        let mut behind = started("nginx and chisel");
        let front = free();
        let nginx = nginx(dir, "front", &in_front(front, behind.at));
        behind.at = front;
        behind.ends.insert(0, nginx.pid());
        behind.processes.push(nginx);
        all.push(behind);
    }
    for way in &all {
        wait_until(TIMEOUT, way.name, || TcpStream::connect(way.at).is_ok());
    }
    all
}

/// Starts the ways to `application` whose tunnels come in by the URL of one nginx, that of the site first.
pub(crate) fn by_url(dir: &Path, application: SocketAddr) -> Vec<Way> {
    std::fs::create_dir(dir).unwrap();
    let [front, relay, server, chisel_server] = [free(), free(), free(), free()];
    let servers = passing_tunnels(front, [relay, server, chisel_server]);
    let nginx = nginx(dir, "url", &servers);
    wait_until(TIMEOUT, "nginx", || TcpStream::connect(front).is_ok());
    let url = format!(
        "--tunnel-url=ws://localhost:{}/.postern/tunnel",
        front.port()
    );
    let options = ["--tunnel-listen=none", &url];
    let mut site = site_of(dir, application, relay, &options, "site by the URL");
    site.processes.push(nginx);
    let url = format!("http://{front}/tunnel");
    let own = ("our tunnel by the URL", server, &*url);
    let mut all = vec![site, tunnel(dir, application, own)];
    if let Some(chisel) = std::env::var_os("POSTERN_CHISEL").map(PathBuf::from) {
        let url = format!("http://{front}/chisel");
        let name = "chisel by the URL";
        all.push(of_chisel(
            dir,
            application,
            &chisel,
            (name, chisel_server, &url),
        ));
    }
    for way in &all {
        wait_until(TIMEOUT, way.name, || TcpStream::connect(way.at).is_ok());
    }
    all
}

/// Passes WebSockets on, as `tests/deploy/nginx.conf` does.
fn passing_tunnels(front: SocketAddr, to: [SocketAddr; 3]) -> String {
    let location = |path: &str, to: SocketAddr| {
        format!(
            "location {path} {{ proxy_pass http://{to}; proxy_http_version 1.1; proxy_set_header Host $http_host; \
             proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; proxy_buffering off; \
             proxy_read_timeout 1h; proxy_send_timeout 1h; }}"
        )
    };
    let places = ["/", "/tunnel", "/chisel"].iter().zip(to);
    let locations: String = places.map(|(path, to)| location(path, to)).collect();
    format!("server {{ listen {front}; {locations} }}")
}

/// `postern relay`, and where it listens.
pub(crate) fn relay(dir: &Path) -> (Process, SocketAddr) {
    relay_at(dir, free(), &["--tunnel-listen=127.0.0.1:0"])
}

fn relay_at(dir: &Path, listen: SocketAddr, options: &[&str]) -> (Process, SocketAddr) {
    let mut command = Command::new(binary());
    command.args(["relay", "--listen", &listen.to_string()]);
    let relay = start(dir, "relay", command.args(options));
    let at = said(&relay, "Listening on: ").parse().unwrap();
    (relay, at)
}

/// `postern relay` and `postern http`.
fn site(dir: &Path, application: SocketAddr) -> Way {
    let options = ["--tunnel-listen=127.0.0.1:0"];
    site_of(dir, application, free(), &options, "site")
}

fn site_of(
    dir: &Path,
    application: SocketAddr,
    listen: SocketAddr,
    options: &[&str],
    name: &'static str,
) -> Way {
    let (relay, at) = relay_at(dir, listen, options);
    let mut command = Command::new(binary());
    command.args(["http", &application.to_string(), "--visible", "--no-open"]);
    command.args(["--name", "bench", "--server", &format!("http://{at}")]);
    let share = start(dir, "share", &mut command);
    let link = said(&share, "http://");
    Way::of(name, at, &link, vec![relay, share])
}

/// `postern tunnel-server` and `postern tunnel-client`.
fn tunnel(dir: &Path, application: SocketAddr, named: Named<'_>) -> Way {
    let mut far = Command::new(binary());
    far.args(["tunnel-server", "--reverse", "--listen"]);
    far.arg(named.1.to_string());
    let mut near = Command::new(binary());
    near.arg("tunnel-client");
    pair(dir, named, application, [far, near])
}

fn of_chisel(dir: &Path, application: SocketAddr, chisel: &Path, tunnel: Named<'_>) -> Way {
    let server = tunnel.1;
    let mut far = Command::new(chisel);
    far.args(["server", "--reverse", "--host", "127.0.0.1", "--port"]);
    far.arg(server.port().to_string());
    let mut near = Command::new(chisel);
    near.arg("client");
    pair(dir, tunnel, application, [far, near])
}

/// Name of a tunnel, where its server listens, and the URL that its client dials.
type Named<'a> = (&'static str, SocketAddr, &'a str);

/// A tunnel server, and a client that forwards a port to `application`.
fn pair(
    dir: &Path,
    (name, server, url): Named<'_>,
    application: SocketAddr,
    [mut far, mut near]: [Command; 2],
) -> Way {
    let far = start(dir, &format!("{name} server"), &mut far);
    wait_until(TIMEOUT, name, || TcpStream::connect(server).is_ok());
    let at = free();
    near.arg(url);
    near.arg(format!("R:{at}:{application}"));
    let near = start(dir, &format!("{name} client"), &mut near);
    Way::of(name, at, &at.to_string(), vec![far, near])
}

/// Passes everything on as it comes, over kept connections.
fn in_front(front: SocketAddr, tunnel: SocketAddr) -> String {
    format!(
        "upstream tunnel {{ server {tunnel}; keepalive 64; }} server {{ listen {front}; client_max_body_size 0; \
         location / {{ proxy_pass http://tunnel; proxy_http_version 1.1; proxy_set_header Connection \"\"; \
         proxy_buffering off; proxy_request_buffering off; }} \
         location /messages {{ proxy_pass http://tunnel; proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; \
         proxy_set_header Connection upgrade; }} }}"
    )
}

pub(crate) fn nginx(dir: &Path, name: &str, servers: &str) -> Process {
    let own = dir.join(format!("nginx-{name}"));
    std::fs::create_dir(&own).unwrap();
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {}/{kind};", own.display()));
    let file = format!(
        "daemon off; worker_processes 1; pid {}/pid; error_log stderr; events {{ worker_connections 4096; }} http {{ access_log \
         off; sendfile on; keepalive_requests 1000000000; {} {servers} }}",
        own.display(),
        temporary.join(" ")
    );
    let path = own.join("nginx.conf");
    std::fs::write(&path, file).unwrap();
    let mut command = Command::new("nginx");
    command.arg("-p").arg(&own).arg("-c").arg(path);
    // One process: its worker would outlive it.
    command.args(["-g", "master_process off;"]);
    start(dir, &format!("nginx {name}"), &mut command)
}

fn start(dir: &Path, name: &str, command: &mut Command) -> Process {
    command.env("POSTERN_HOME", dir.join(name));
    Process::start_in(dir, name, command.env("DISPLAY", ""))
}

/// Text after `prefix` in the output of one, once it is there.
fn said(process: &Process, prefix: &str) -> String {
    wait_until(TIMEOUT, prefix, || process.line_after(prefix).is_some());
    process.line_after(prefix).unwrap()
}

pub(crate) fn free() -> SocketAddr {
    ([127, 0, 0, 1], free_port()).into()
}
