//! Networks that let out web traffic alone: the tunnel goes to the URL of the relay's web server, through the proxies that
//! such networks have.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};
use support::front::Front;
use support::http::JSON;
use support::kill_on_drop::KillOnDrop;
use support::manager::{Far, Manager, PASSWORD, Target, visit};
use support::postern::binary;
use support::quick_setup::Act;
use support::relay::Relay;
use support::websocket::read_head;
use support::{Home, free_port, wait_until};

/// A name that only the proxies of these tests know.
const HOST: &str = "relay.invalid";
const PROXY_PASSWORD: &str = "proxy-secret";
const VARIABLES: [&str; 5] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
];

fn listening(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let serve = Arc::new(serve);
    // Ends with the process.
    thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let serve = Arc::clone(&serve);
            thread::spawn(move || serve(socket));
        }
    });
    port
}

/// Passes bytes both ways to a port of this machine.
fn join(near: TcpStream, port: u16) {
    let Ok(far) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else {
        return;
    };
    let pass = |from: &TcpStream, into: &TcpStream| {
        let (mut from, mut into) = (from.try_clone().unwrap(), into.try_clone().unwrap());
        thread::spawn(move || {
            let _ = std::io::copy(&mut from, &mut into);
            let _ = into.shutdown(Shutdown::Write);
        })
    };
    let up = pass(&near, &far);
    let _ = (pass(&far, &near).join(), near.shutdown(Shutdown::Both));
    let _ = up.join();
}

/// A web server with the relay behind it: all of it on one port.
struct Web {
    port: u16,
    /// Tunnels that came.
    tunnels: Arc<AtomicUsize>,
}

impl Web {
    /// URL for quick-setup.
    fn server(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The URL of its tunnels.
    fn url(&self) -> String {
        format!("ws://127.0.0.1:{}/.postern/tunnel", self.port)
    }

    fn before(far: &Far) -> Self {
        let tunnels = Arc::<AtomicUsize>::default();
        let (count, quick, tunnel) = (Arc::clone(&tunnels), far.quick.port(), far.tunnel_port());
        let port = listening(move |socket| {
            let mut start = [0; 32];
            let mut seen = 0;
            while seen < start.len() {
                seen = socket.peek(&mut start).unwrap_or(start.len());
            }
            if start.starts_with(b"GET /.postern/tunnel ") {
                count.fetch_add(1, Ordering::SeqCst);
                join(socket, tunnel);
            } else {
                join(socket, quick);
            }
        });
        Self { port, tunnels }
    }

    fn tunnels(&self) -> usize {
        self.tunnels.load(Ordering::SeqCst)
    }
}

/// A proxy: of HTTP, or SOCKS5.
struct Proxy {
    port: u16,
    /// Targets of the requests.
    asked: Arc<Mutex<Vec<String>>>,
}

/// Rules of a proxy.
#[derive(Clone, Copy)]
struct Rules {
    is_socks: bool,
    has_password: bool,
    /// Only this port may be reached.
    port: Option<u16>,
    /// Port to which every request leads, whatever its target.
    to: Option<u16>,
}

const HTTP: Rules = Rules {
    is_socks: false,
    has_password: false,
    port: None,
    to: None,
};
const SOCKS: Rules = Rules {
    is_socks: true,
    ..HTTP
};

impl Proxy {
    fn start(rules: Rules) -> Self {
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let seen = Arc::clone(&asked);
        let port = listening(move |mut socket| {
            let wanted = match rules.is_socks {
                true => socks(&mut socket, rules),
                false => http(&mut socket, rules),
            };
            let Some(wanted) = wanted else { return };
            let port = wanted.rsplit(':').next().unwrap().parse().unwrap();
            seen.lock().unwrap().push(wanted);
            let may = rules.port.is_none_or(|only| only == port);
            let answer: &[u8] = match (rules.is_socks, may) {
                (true, true) => b"\x05\0\0\x01\0\0\0\0\0\0",
                (true, false) => b"\x05\x02\0\x01\0\0\0\0\0\0",
                (false, true) => b"HTTP/1.1 200 Connected\r\n\r\n",
                (false, false) => b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
            };
            let _ = socket.write_all(answer);
            if may {
                join(socket, rules.to.unwrap_or(port));
            }
        });
        Self { port, asked }
    }

    /// `socks5h://127.0.0.1:PORT`, with the account where there is one.
    fn url(&self, rules: Rules, password: &str) -> String {
        let scheme = if rules.is_socks { "socks5h" } else { "http" };
        let account = match rules.has_password {
            true => format!("me:{password}@"),
            false => String::new(),
        };
        format!("{scheme}://{account}127.0.0.1:{}", self.port)
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn http(socket: &mut TcpStream, rules: Rules) -> Option<String> {
    let head = read_head(socket);
    let account = BASE64.encode(format!("me:{PROXY_PASSWORD}"));
    let line = format!("\r\nproxy-authorization: basic {account}\r\n").to_ascii_lowercase();
    if rules.has_password && !head.to_ascii_lowercase().contains(&line) {
        let _ = socket.write_all(
            b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"p\"\r\n\
              Content-Length: 0\r\n\r\n",
        );
        return None;
    }
    Some(head.split(' ').nth(1)?.to_owned())
}

fn socks(socket: &mut TcpStream, rules: Rules) -> Option<String> {
    let mut read = |count: usize| {
        let mut bytes = vec![0; count];
        socket.read_exact(&mut bytes).ok().map(|()| bytes)
    };
    let count = read(2)?[1];
    let methods = read(count.into())?;
    let method = if rules.has_password { 2 } else { 0 };
    if !methods.contains(&method) {
        let _ = socket.write_all(&[5, 0xff]);
        return None;
    }
    let _ = socket.write_all(&[5, method]);
    let mut read = |count: usize| {
        let mut bytes = vec![0; count];
        socket.read_exact(&mut bytes).ok().map(|()| bytes)
    };
    if rules.has_password {
        let length = read(2)?[1];
        let user = read(length.into())?;
        let length = read(1)?[0];
        let password = read(length.into())?;
        let is_right = user == b"me" && password == PROXY_PASSWORD.as_bytes();
        let _ = socket.write_all(&[1, u8::from(!is_right)]);
        if !is_right {
            return None;
        }
    }
    let mut read = |count: usize| {
        let mut bytes = vec![0; count];
        socket.read_exact(&mut bytes).ok().map(|()| bytes)
    };
    let host = match read(4)?[3] {
        1 => Ipv4Addr::from(<[u8; 4]>::try_from(read(4)?).unwrap()).to_string(),
        3 => {
            let length = read(1)?[0];
            String::from_utf8(read(length.into())?).unwrap()
        }
        _ => return None,
    };
    let port = read(2)?;
    Some(format!("{host}:{}", u16::from_be_bytes([port[0], port[1]])))
}

/// `postern start` with these variables and no other of their kind.
fn manager_in(home: &Arc<Home>, variables: &[(&str, &str)], args: &[&str]) -> Manager {
    let mut program = KillOnDrop::new(binary());
    for name in VARIABLES {
        for name in [name.to_owned(), name.to_lowercase()] {
            program = program.env(name, "");
        }
    }
    for (name, value) in variables {
        program = program.env(name, value);
    }
    Manager::try_start_by(program, "0", home, args).unwrap()
}

fn manager(variables: &[(&str, &str)], args: &[&str]) -> Manager {
    manager_in(&Arc::new(Home::new()), variables, args)
}

/// Answers with an address and a port, and a URL; the port that is assigned.
fn assign(far: &Far, (ip, port): (&str, u16), url: &str) -> u16 {
    let public = free_port();
    let mut answer = far.answer(public);
    let connector = &mut answer["connector"];
    connector["external_ip"] = json!(ip);
    connector["tunnel_port"] = json!(port);
    connector["tunnel_url"] = json!(url);
    far.quick.script([Act::json(200, &answer)]);
    public
}

fn main_tunnel(manager: &Manager) -> Value {
    let tunnels = manager.client().get("/api/tunnel").data();
    tunnels[0].clone()
}

/// Nobody is at this port.
fn dead() -> u16 {
    free_port()
}

#[test]
fn through_proxies_the_tunnel_goes_to_the_url() {
    let mut with_password = [HTTP, SOCKS];
    for rules in &mut with_password {
        rules.has_password = true;
    }
    for rules in [HTTP, SOCKS].into_iter().chain(with_password) {
        let far = Far::new();
        let web = Web::before(&far);
        let proxy = Proxy::start(Rules {
            port: Some(web.port),
            ..rules
        });
        let (url, port) = (proxy.url(rules, PROXY_PASSWORD), web.port);
        let server = format!("http://{HOST}:{port}");
        let manager = manager(
            &[("HTTP_PROXY", &url)],
            &["--server", &server, "--insecure"],
        );
        let tunnel_url = format!("ws://{HOST}:{port}/.postern/tunnel");
        // A documentation address: nothing may leave this machine.
        let public = assign(&far, ("203.0.113.9", far.tunnel_port()), &tunnel_url);
        let id = manager.add(&Target::start().app());
        let connection = manager.connected(&id);
        assert_eq!(connection["tunnel_way"], "url", "{url}");
        assert_eq!(main_tunnel(&manager)["tunnel_way"], "url");
        assert_eq!(visit(public).as_deref(), Some("hello from the target"));
        let asked = proxy.asked();
        let of_port = format!("203.0.113.9:{}", far.tunnel_port());
        assert!(asked.contains(&format!("{HOST}:{port}")), "{asked:?}");
        assert!(
            asked.contains(&of_port),
            "the port is tried first: {asked:?}"
        );
        assert!(!manager.stderr().contains(PROXY_PASSWORD));
    }
}

/// The variables of the shell were ignored without a word.
#[test]
fn a_command_says_which_of_its_variables_the_manager_does_not_have() {
    let dead = format!("http://127.0.0.1:{}", dead());
    let server = ["--server", "http://relay.invalid", "--insecure"];
    let manager = manager(&[("http_proxy", &dead)], &server);
    let home = manager.home();
    let names = manager.client().get("/api/version").data()["network_variables"].clone();
    assert_eq!(names, json!(["HTTP_PROXY"]));
    let variables = |others: &'static [(&str, &str)]| {
        let none = VARIABLES.map(|name| (name, ""));
        none.into_iter().chain(others.iter().copied())
    };
    let with = variables(&[
        ("HTTP_PROXY", "http://p.test"),
        ("ALL_PROXY", "http://u:secret@p.test"),
        ("SSL_CERT_FILE", "/none.pem"),
    ]);
    let line = format!(
        "'postern start' (process {}) connects, with its own environment: it has no ALL_PROXY, SSL_CERT_FILE\n",
        manager.pid()
    );
    let sharing = |server: &[&str]| {
        let mut program = KillOnDrop::new(binary()).args(["http", "9"]).args(server);
        let own = support::manager::environment(home.path());
        for (name, value) in own.iter().map(|(name, value)| (*name, value.as_str())) {
            program = program.env(name, value);
        }
        for (name, value) in with.clone() {
            program = program.env(name, value);
        }
        program.start()
    };
    let mut shared = sharing(&[]);
    wait_until(support::TIMEOUT, "the warning", || {
        shared.stderr.text().contains(&line)
    });
    assert!(!shared.stderr.text().contains("secret"));
    shared.kill();
    // No proxy leads to this machine itself.
    let mut shared = sharing(&["--server", &dead]);
    wait_until(support::TIMEOUT, "the attempt", || {
        shared.stderr.text().contains("asking 127.0.0.1:")
    });
    assert!(!shared.stderr.text().contains("its own environment"));
    shared.kill();
    let doctor = |variables: &mut dyn Iterator<Item = (&'static str, &'static str)>| {
        let done = home.command(&["doctor"]).envs(variables).output().unwrap();
        String::from_utf8(done.stdout).unwrap()
    };
    let told = doctor(&mut with.clone());
    assert!(
        told.contains(" has no ALL_PROXY, SSL_CERT_FILE, set here"),
        "{told}"
    );
    let told = doctor(&mut variables(&[("HTTP_PROXY", "http://p.test")]));
    assert!(!told.contains(" has no "), "{told}");
}

#[test]
fn a_proxy_that_lets_all_ports_out_leaves_the_port() {
    for rules in [HTTP, SOCKS] {
        let far = Far::new();
        let web = Web::before(&far);
        let url = Proxy::start(rules).url(rules, "");
        let server = format!("http://{HOST}:{}", web.port);
        let manager = manager(&[("ALL_PROXY", &url)], &["--server", &server, "--insecure"]);
        let tunnel_url = format!("ws://{HOST}:{}/.postern/tunnel", web.port);
        assign(&far, ("203.0.113.9", far.tunnel_port()), &tunnel_url);
        let id = manager.add(&Target::start().app());
        assert_eq!(manager.connected(&id)["tunnel_way"], "port");
        assert_eq!(web.tunnels(), 0);
    }
}

#[test]
fn a_wrong_password_at_the_proxy_is_said_and_not_shown() {
    for mut rules in [HTTP, SOCKS] {
        rules.has_password = true;
        let far = Far::new();
        let web = Web::before(&far);
        let url = Proxy::start(rules).url(rules, "not-this-one");
        let server = format!("http://{HOST}:{}", web.port);
        let manager = manager(
            &[("HTTP_PROXY", &url)],
            &["--server", &server, "--insecure"],
        );
        assign(&far, ("203.0.113.9", far.tunnel_port()), "");
        let id = manager.add(&Target::start().app());
        manager.connect(&id);
        let failed = manager.wait_status(&id, "failed");
        let error = failed["error"].as_str().unwrap();
        let needs = "needs valid credentials: give them as ";
        assert!(error.contains("the proxy 127.0.0.1:"), "{error}");
        assert!(error.contains(needs), "{error}");
        assert_eq!(failed["error_class"], "proxy-credentials");
        assert!(!manager.stderr().contains("not-this-one"));
    }
}

/// The proxy stands in a network of its own: an address there says nothing of the server.
#[test]
fn an_address_that_the_server_may_not_name_leaves_the_url() {
    let far = Far::new();
    let web = Web::before(&far);
    let proxy = Proxy::start(HTTP);
    let (url, port) = (proxy.url(HTTP, ""), web.port);
    let server = format!("http://{HOST}:{port}");
    let manager = manager(
        &[("HTTP_PROXY", &url)],
        &["--server", &server, "--insecure"],
    );
    assign(
        &far,
        ("10.0.0.9", far.tunnel_port()),
        &format!("ws://{HOST}:{port}/.postern/tunnel"),
    );
    let id = manager.add(&Target::start().app());
    assert_eq!(manager.connected(&id)["tunnel_way"], "url");
    let asked = proxy.asked();
    assert!(asked.iter().all(|to| to.starts_with(HOST)), "{asked:?}");
}

#[test]
fn a_server_without_a_port_is_reached_by_its_url_and_every_place_says_so() {
    let far = Far::new();
    let web = Web::before(&far);
    let manager = manager(&[], &["--server", &web.server()]);
    let url = web.url();
    let public = assign(&far, ("127.0.0.1", 0), &url);
    let id = manager.add(&Target::start().app());
    assert_eq!(manager.connected(&id)["tunnel_way"], "url");
    assert_eq!(visit(public).as_deref(), Some("hello from the target"));
    let home = manager.home();
    let status = home.run(&["status"]).stdout;
    assert!(
        status.contains(": connected through the web port\n"),
        "{status}"
    );
    let status = home.run(&["status", "--json"]).stdout;
    let status: Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["servers"][0]["main_tunnel"]["tunnel_way"], "url");
    assert_eq!(status["applications"][0]["connection"]["tunnel_way"], "url");
    let doctor = home.run(&["doctor"]).stdout;
    assert!(
        doctor.contains(&format!("{url}: a tunnel server answers")),
        "{doctor}"
    );
    assert!(!doctor.contains("tunnel port"), "{doctor}");
}

#[test]
fn the_doctor_says_what_was_tried_on_each_way() {
    let far = Far::new();
    let web = Web::before(&far);
    let manager = manager(&[], &["--server", &web.server()]);
    let port = dead();
    let url = format!("ws://127.0.0.1:{}/.postern/tunnel", web.port);
    assign(&far, ("127.0.0.1", port), &url);
    let id = manager.add(&Target::start().app());
    manager.connected(&id);
    let doctor = manager.home().run(&["doctor"]).stdout;
    let refused =
        format!("127.0.0.1:{port}: cannot connect to 127.0.0.1:{port}: connection refused");
    assert!(doctor.contains(&refused), "{doctor}");
    assert!(
        doctor.contains("not needed: the other way works"),
        "{doctor}"
    );
    let mut far = far;
    far.close();
    wait_until(support::TIMEOUT, "the loss", || {
        main_tunnel(&manager)["status"] != "connected"
    });
    let doctor = manager.home().run(&["doctor"]).stdout;
    assert!(doctor.contains(&refused), "{doctor}");
    assert!(
        doctor.contains("ask the administrator of this network"),
        "{doctor}"
    );
}

#[test]
fn a_port_of_the_application_itself_rules_the_url_out() {
    let far = Far::new();
    let web = Web::before(&far);
    let manager = manager(&[], &["--server", &web.server()]);
    let url = web.url();
    assign(&far, ("127.0.0.1", far.tunnel_port()), &url);
    let port = dead();
    let mut app = Target::start().app();
    app["tunnel_port"] = json!(port);
    let id = manager.add(&app);
    manager.connect(&id);
    let refused = format!("cannot connect to 127.0.0.1:{port}: connection refused");
    // The main tunnel is there, by the URL; the application's own is not.
    manager.wait_for(&id, "the refusal", |status| {
        status["step_name"] == "app tunnel" && status["error"] == json!(refused)
    });
    assert_eq!(web.tunnels(), 1);
}

#[test]
fn one_tunnel_finds_the_way_for_all() {
    let far = Far::new();
    let web = Web::before(&far);
    let dialled = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&dialled);
    let silent = listening(move |mut socket| {
        count.fetch_add(1, Ordering::SeqCst);
        let _ = socket.read_to_end(&mut Vec::new());
    });
    let manager = manager(&[], &["--server", &web.server()]);
    let url = web.url();
    for _ in 0..2 {
        assign(&far, ("127.0.0.1", silent), &url);
        let id = manager.add(&Target::start().app());
        assert_eq!(manager.connected(&id)["tunnel_way"], "url");
    }
    assert_eq!(dialled.load(Ordering::SeqCst), 1, "by the main tunnel");
}

/// The server shows another key, which is refused: its fingerprint, and the ConnectResult.
#[track_caller]
fn another_key(far: &mut Far, manager: &Manager, id: &str) -> (String, Value) {
    far.close();
    let offered = far.change_key();
    far.open();
    let seen = manager.wait_for(id, "the other key", |status| {
        status["error_class"] == "host-key-changed"
    });
    assert_eq!(seen["host_key"]["offered"], json!(offered));
    (offered, seen)
}

#[test]
fn another_host_key_by_the_url_is_refused_until_it_is_trusted() {
    let mut far = Far::new();
    let web = Web::before(&far);
    let manager = manager(&[], &["--server", &web.server()]);
    let url = web.url();
    assign(&far, ("127.0.0.1", 0), &url);
    let id = manager.add(&Target::start().app());
    manager.connected(&id);
    let (offered, seen) = another_key(&mut far, &manager, &id);
    let trust = json!({"server": seen["host_key"]["server"], "fingerprint": offered});
    let answer = manager
        .client()
        .send("POST", "/api/trust", &[JSON], trust.to_string().as_bytes());
    assert_eq!(answer.status(), 200, "{}", answer.text());
    manager.wait_status(&id, "connected");
}

#[test]
fn the_end_comes_at_once_while_both_ways_are_dialled() {
    let far = Far::new();
    let silent = listening(|mut socket| {
        let _ = socket.read_to_end(&mut Vec::new());
    });
    let asked = far.quick.url();
    let mut manager = manager(&[], &["--server", &asked]);
    let url = format!("ws://127.0.0.1:{silent}/.postern/tunnel");
    assign(&far, ("127.0.0.1", silent), &url);
    let id = manager.add(&Target::start().app());
    manager.connect(&id);
    wait_until(support::TIMEOUT, "both dials", || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", manager.pid())).unwrap();
        let mut names = tasks
            .flatten()
            .filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
        names.any(|name| name.trim() == "tunnel-dial")
    });
    let began = Instant::now();
    assert!(manager.stop().unwrap().success());
    assert!(began.elapsed() < Duration::from_secs(2));
}

#[test]
fn a_relay_of_ours_needs_no_port_behind_each_web_server() {
    for before in [Front::nginx_told, Front::caddy, Front::haproxy] {
        let relay_at = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
        let front = before(relay_at);
        let server = format!("http://localhost:{}", front.address.port());
        let listen = format!("--listen={relay_at}");
        let public = format!("--public-url={server}");
        let relay = Relay::start_in(
            &Arc::new(Home::new()),
            &[&listen, &public, "--tunnel-listen=none"],
        );
        let token = relay.enrol_token();
        let manager = manager(&[], &["--server", &server, "--enroll-token", &token]);
        let mut app = Target::start().app();
        app["site_name"] = json!("shop");
        let id = manager.add(&app);
        let connection = manager.connected(&id);
        assert_eq!(connection["tunnel_way"], "url", "{connection}");
        assert_eq!(main_tunnel(&manager)["tunnel_way"], "url");
        assert_eq!(relay.visit("shop", "/").text(), "hello from the target");
    }
}

/// A server that opens or closes its port is no other server: its key is known.
#[test]
fn a_relay_that_closes_its_port_is_known_by_its_url_and_again_by_the_port() {
    let home = Arc::new(Home::new());
    let relay = Relay::start(&[]);
    let (listen, token) = (format!("--listen={}", relay.address), relay.enrol_token());
    let start = |manager_home| {
        let args = ["--server", &relay_url(&listen), "--enroll-token", &token];
        manager_in(manager_home, &[], &args)
    };
    let shared = |way: &str| {
        let manager = start(&home);
        let id = manager.add(&Target::start().app());
        assert_eq!(manager.connected(&id)["tunnel_way"], way);
        let known = home.path().join("known_servers.json");
        std::fs::read_to_string(known).unwrap()
    };
    let data = Arc::clone(relay.home());
    let tunnel = format!("--tunnel-listen={}", relay.tunnel);
    let by_port = shared("port");
    drop(relay);
    let relay = Relay::start_in(&data, &[&listen, "--tunnel-listen=none"]);
    let fingerprint = relay.status()["fingerprint"].as_str().unwrap().to_owned();
    assert_eq!(by_port.matches(&fingerprint).count(), 1, "{by_port}");
    let by_url = shared("url");
    assert_eq!(by_url.matches(&fingerprint).count(), 2, "{by_url}");
    drop(relay);
    let relay = Relay::start_in(&data, &[&listen, &tunnel]);
    shared("port");
    drop(relay);
}

fn relay_url(listen: &str) -> String {
    listen.replace("--listen=", "http://")
}

fn openssl(dir: &Path, arguments: &str) {
    let mut command = Command::new("openssl");
    let arguments = arguments.split_whitespace();
    let output = command.args(arguments).current_dir(dir).output();
    let output = output.expect("openssl is installed; run tests/setup.sh");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

/// An authority, and a certificate of it for the relay's name with its key.
fn certificates(dir: &Path) {
    let new = "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    openssl(
        dir,
        &format!("{new} -x509 -days 2 -subj /CN=inspection -keyout ca.key -out ca.pem"),
    );
    openssl(
        dir,
        &format!("{new} -subj /CN={HOST} -keyout key.pem -out request.pem"),
    );
    std::fs::write(dir.join("names"), format!("subjectAltName=DNS:{HOST}\n")).unwrap();
    openssl(
        dir,
        "x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out cert.pem",
    );
    let [certificate, key] = ["cert.pem", "key.pem"].map(|name| std::fs::read(dir.join(name)));
    std::fs::write(
        dir.join("both.pem"),
        [certificate.unwrap(), key.unwrap()].concat(),
    )
    .unwrap();
}

#[test]
fn a_proxy_that_inspects_tls_needs_its_authority_and_cannot_change_the_host_key() {
    let mut far = Far::new();
    let web = Web::before(&far);
    let dir = tempfile::tempdir().unwrap();
    certificates(dir.path());
    let inspecting = Front::haproxy_with_tls(&dir.path().join("both.pem"), web.port);
    let rules = Rules {
        port: Some(443),
        to: Some(inspecting.address.port()),
        ..HTTP
    };
    let proxy = Proxy::start(rules).url(rules, "");
    let authority = dir.path().join("ca.pem");
    let server = format!("https://{HOST}");
    assign(
        &far,
        ("203.0.113.9", far.tunnel_port()),
        &format!("wss://{HOST}/.postern/tunnel"),
    );
    let variables = [
        ("ALL_PROXY", proxy.as_str()),
        ("SSL_CERT_FILE", authority.to_str().unwrap()),
    ];
    {
        let manager = manager(&variables[..1], &["--server", &server]);
        let id = manager.add(&Target::start().app());
        manager.connect(&id);
        let failed = manager.wait_status(&id, "failed");
        let error = failed["error"].as_str().unwrap();
        assert!(error.contains("no trusted authority signed it"), "{error}");
    }
    let manager = manager(&variables, &["--server", &server]);
    let id = manager.add(&Target::start().app());
    assert_eq!(manager.connected(&id)["tunnel_way"], "url");
    // A proxy that inspects TLS could also answer in the relay's place.
    another_key(&mut far, &manager, &id);
    assert!(!manager.stderr().contains(PASSWORD));
}

/// An answer alone makes no fleet of a relay that is known: its new keys are vouched for by a known one, or not used.
#[test]
fn who_answers_in_a_relays_place_adds_no_key_of_its_own() {
    let (mut far, other) = (Far::new(), Far::new());
    let manager = far.manager();
    let answer = |far: &Far, fields: &Value| {
        let mut answer = far.answer(free_port());
        answer["app"]["in_force"] = json!(["code", "expires_in", "allow"]);
        answer["connector"]["fingerprint"] = json!(far.fingerprint());
        for (name, field) in fields.as_object().unwrap() {
            answer["connector"][name] = field.clone();
        }
        Act::json(200, &answer)
    };
    far.quick.script([answer(&far, &json!({}))]);
    let id = manager.add(&Target::start().app());
    manager.connected(&id);
    let known = far.fingerprint();
    manager.disconnect(&id);
    far.close();
    let stranger = json!({"external_ip": "127.0.0.1", "tunnel_port": other.tunnel_port(),
        "fingerprint": other.fingerprint()});
    let proofless =
        json!({"key": other.fingerprint(), "relays": [other.fingerprint()], "proofs": ["", "a.b"]});
    for fields in [
        json!({"alternates": []}),
        json!({"alternates": [], "fleet": proofless}),
        json!({"alternates": [stranger], "fleet": proofless}),
    ] {
        far.quick.script([answer(&other, &fields)]);
        manager.connect(&id);
        let seen = manager.wait_for(&id, "the other key", |status| {
            status["error_class"] == "host-key-changed"
        });
        assert_eq!(seen["host_key"]["known"], json!(known), "{fields}");
        manager.disconnect(&id);
    }
    // A known relay names a stranger: that one is left out.
    far.open();
    far.quick
        .script([answer(&far, &json!({"alternates": [stranger]}))]);
    manager.connected(&id);
    assert!(manager.stderr().contains("no known key vouches for"));
    let pins = std::fs::read_to_string(manager.home().path().join("known_servers.json")).unwrap();
    assert!(!pins.contains(&other.fingerprint()), "{pins}");
}
