//! A real nginx as the application, with hosts that it tells apart by `Host` or by the name in TLS, each with a
//! certificate of its own that it has signed itself; behind one of them a program that keeps to its own name.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use support::kill_on_drop::{KillOnDrop, Leashed};
use support::{TIMEOUT, free_port, wait_until};
use tempfile::TempDir;

use super::{Way, host, read_head, read_until};

const NAMES: [&str; 2] = ["shop.example", "wiki.example"];

struct Nginx {
    process: Leashed,
    http: u16,
    https: u16,
    backend: u16,
}

impl Nginx {
    fn start() -> Nginx {
        let dir = tempfile::tempdir().unwrap();
        let (http, https, backend) = (free_port(), free_port(), backend());
        let file = dir.path().join("nginx.conf");
        std::fs::write(&file, configuration(dir.path(), http, https, backend)).unwrap();
        let path = format!("{}:/usr/sbin", std::env::var("PATH").unwrap());
        let process = nginx(dir, &file, &path);
        let nginx = Nginx {
            process,
            http,
            https,
            backend,
        };
        let listens = |port| TcpStream::connect(("127.0.0.1", port)).is_ok();
        wait_until(TIMEOUT, "nginx", || listens(http) && listens(https));
        nginx
    }

    fn app(&self, protocol: &str, name: &str, host_header: &str) -> Value {
        let port = if protocol == "https" {
            self.https
        } else {
            self.http
        };
        json!({"protocol": protocol, "ip": "localhost", "port": port, "name": name, "host_header": host_header})
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("nginx said:\n{}", self.process.stderr.text());
        }
    }
}

fn nginx(dir: TempDir, file: &Path, path: &str) -> Leashed {
    let prefix = dir.path().to_owned();
    KillOnDrop::new("nginx")
        .env("PATH", path)
        .args(["-e", "stderr", "-p"])
        .args([&prefix])
        .args(["-c"])
        .args([file])
        .owning(dir)
        .start()
}

/// Configuration of nginx. An unknown name gets 403, or no connection with TLS.
fn configuration(dir: &Path, http: u16, https: u16, backend: u16) -> String {
    let mut text =
        "daemon off; master_process off; pid nginx.pid; events {} http { access_log off;\n\
         map $http_upgrade $connection_upgrade { default upgrade; '' ''; }\n"
            .to_owned();
    for temporary in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
        text += &format!("{temporary}_temp_path {temporary};\n");
    }
    text += &format!(
        "server {{ listen 127.0.0.1:{http} default_server; return 403; }}\n\
         server {{ listen 127.0.0.1:{https} ssl default_server; ssl_reject_handshake on; }}\n\
         server {{ listen 127.0.0.1:{http}; server_name localhost; \
         location / {{ return 200 'its own name $http_host\\n'; }} }}\n"
    );
    for name in NAMES {
        certify(dir, name);
        std::fs::create_dir_all(dir.join(name).join("docs")).unwrap();
        text += &format!(
            "server {{ listen 127.0.0.1:{http}; listen 127.0.0.1:{https} ssl; server_name {name};\n\
             ssl_certificate {0}/{name}.pem; ssl_certificate_key {0}/{name}.key; root {0}/{name};\n\
             location = / {{ return 200 '$server_name as $http_host $ssl_server_name\\n'; }}\n\
             location /docs {{ }}\n\
             location = /login {{\n\
             add_header Set-Cookie 'sessionid=1; Domain={name}; Path=/; HttpOnly' always;\n\
             return 302 $scheme://$http_host/home?next=/docs; }}\n\
             location /live {{ proxy_pass http://127.0.0.1:{backend}; proxy_http_version 1.1;\n\
             proxy_set_header Host $http_host; proxy_set_header X-Scheme $scheme; proxy_buffering off;\n\
             proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_upgrade; }} }}\n",
            dir.display()
        );
    }
    text + "}\n"
}

fn certify(dir: &Path, name: &str) {
    let made = Command::new("openssl")
        .current_dir(dir)
        .args(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2".split(' '),
        )
        .args([
            "-subj",
            &format!("/CN={name}"),
            "-keyout",
            &format!("{name}.key"),
        ])
        .args(["-out", &format!("{name}.pem")])
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
}

/// A program that refuses, as Grafana and Django do, whoever comes from a page of another origin than its own; it echoes
/// what follows an upgrade, and tells other requests two events, the second when anything more was sent on another
/// connection. It ends with the process.
fn backend() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (go, gone) = crossbeam_channel::unbounded::<()>();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let (go, gone) = (go.clone(), gone.clone());
            std::thread::spawn(move || live(&mut stream, &go, &gone));
        }
    });
    port
}

fn live(
    stream: &mut TcpStream,
    go: &crossbeam_channel::Sender<()>,
    gone: &crossbeam_channel::Receiver<()>,
) -> Option<()> {
    let head = read_head(stream)?;
    let line = |name: &str| head.lines().find_map(|line| line.strip_prefix(name));
    let own = format!("{}://{}", line("X-Scheme: ").unwrap_or("http"), host(&head));
    if head.starts_with("GO") {
        go.send(()).ok()
    } else if line("Origin: ") != Some(&own) {
        let no = "HTTP/1.1 403 Forbidden\r\nContent-Length: 18\r\n\r\norigin not allowed";
        stream.write_all(no.as_bytes()).ok()
    } else if line("Upgrade: ").is_some() {
        let yes =
            "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n";
        stream.write_all(yes.as_bytes()).ok()?;
        let mut writer = stream.try_clone().ok()?;
        std::io::copy(stream, &mut writer).ok().map(drop)
    } else {
        let begin =
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
        stream.write_all(begin.as_bytes()).ok()?;
        stream.write_all(b"data: one\n\n").ok()?;
        gone.recv().ok()?;
        stream.write_all(b"data: two\n\n").ok()
    }
}

#[test]
fn it_is_asked_by_the_name_that_was_set() {
    let (way, nginx) = (Way::new(), Nginx::start());
    let (id, _) = way.connected(&nginx.app("http", "unnamed", "visitor"));
    assert!(way.get("unnamed", "/", "").starts_with("HTTP/1.1 403"));
    let health = way.manager.wait_for(&id, "the hint", |result| {
        result["health"]["state"] == "failing"
    })["health"]
        .clone();
    assert!(
        health["hint"].as_str().unwrap().contains("--host target"),
        "{health}"
    );

    let (_, result) = way.connected(&nginx.app("http", "own", "target"));
    assert_eq!(result["health"]["state"], "ok", "{result}");
    let own = format!("its own name localhost:{}\n", nginx.http);
    assert!(way.get("own", "/", "").ends_with(&own));
    for (site, name) in ["shop", "wiki"].into_iter().zip(NAMES) {
        let (_, result) = way.connected(&nginx.app("http", site, name));
        assert_eq!(result["health"]["state"], "ok", "{result}");
        let page = way.get(site, "/", "");
        assert!(page.ends_with(&format!("{name} as {name} \n")), "{page}");
    }
}

#[test]
fn two_tls_hosts_on_one_port_are_told_apart_by_the_name_in_tls() {
    let (way, nginx) = (Way::new(), Nginx::start());
    for (site, name) in ["shop", "wiki"].into_iter().zip(NAMES) {
        let (_, result) = way.connected(&nginx.app("https", site, name));
        assert_eq!(result["health"]["state"], "ok", "{result}");
        let page = way.get(site, "/", "");
        assert!(
            page.ends_with(&format!("{name} as {name} {name}\n")),
            "{page}"
        );
    }
    for (site, host_header) in [("unnamed", "visitor"), ("own", "target")] {
        let (_, result) = way.connected(&nginx.app("https", site, host_header));
        assert_eq!(result["health"]["state"], "failing", "{result}");
        let page = way.get(site, "/", "");
        assert!(page.starts_with("HTTP/1.1 502"), "{page}");
    }
}

/// nginx names the host and its port in both redirects; one names the port of the host's own scheme, one what it was asked.
#[test]
fn its_redirects_and_cookies_are_the_sites() {
    let (way, nginx) = (Way::new(), Nginx::start());
    for protocol in ["http", "https"] {
        way.connected(&nginx.app(protocol, protocol, NAMES[0]));
        let site = format!("http://{}", way.host(protocol));
        let answer = way.get(protocol, "/docs", "");
        let location = format!("\r\nLocation: {site}/docs/\r\n");
        assert!(
            answer.starts_with("HTTP/1.1 301") && answer.contains(&location),
            "{answer}"
        );
        let answer = way.get(protocol, "/login", "");
        let location = format!("\r\nLocation: {site}/home?next=/docs\r\n");
        let cookie = "\r\nSet-Cookie: sessionid=1; Path=/; HttpOnly\r\n";
        assert!(
            answer.contains(&location) && answer.contains(cookie),
            "{answer}"
        );
    }
}

#[test]
fn what_is_live_behind_it_goes_on() {
    let (way, nginx) = (Way::new(), Nginx::start());
    for protocol in ["http", "https"] {
        way.connected(&nginx.app(protocol, protocol, NAMES[1]));
        let stranger = way.get(protocol, "/live", "Origin: http://evil.example\r\n");
        assert!(stranger.ends_with("origin not allowed"), "{stranger}");
        websocket(&way, protocol);
        events(&way, protocol, nginx.backend);
    }
}

/// As a page of the site asks.
fn open(way: &Way, site: &str, lines: &str) -> TcpStream {
    let mut socket = TcpStream::connect(way.relay.address).unwrap();
    socket.set_read_timeout(Some(TIMEOUT)).unwrap();
    let host = way.host(site);
    let request =
        format!("GET /live HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n{lines}\r\n");
    socket.write_all(request.as_bytes()).unwrap();
    socket
}

fn websocket(way: &Way, site: &str) {
    let mut socket = open(
        way,
        site,
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
    );
    let head = read_head(&mut socket).unwrap();
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    for frame in [b"\x81\x04ping", b"\x81\x04pong"] {
        socket.write_all(frame).unwrap();
        let mut back = [0; 6];
        socket.read_exact(&mut back).unwrap();
        assert_eq!(&back, frame);
    }
}

fn events(way: &Way, site: &str, backend: u16) {
    let mut socket = open(way, site, "Accept: text/event-stream\r\n");
    let head = read_until(&mut socket, "data: one\n\n");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let mut go = TcpStream::connect(("127.0.0.1", backend)).unwrap();
    go.write_all(b"GO\r\n\r\n").unwrap();
    read_until(&mut socket, "data: two\n\n");
}
