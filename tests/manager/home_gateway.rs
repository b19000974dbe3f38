//! `postern start` before applications that speak HTTP: by which name they are asked, what of their answers is written
//! afresh, who asks for the code, and what is known of who was here.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};
use support::manager::{CODE, Far, Manager};
use support::relay::Relay;
use support::{TIMEOUT, wait_until};

/// An application that answers each head as it is told to, and keeps all heads. It ends with the process.
struct App {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl App {
    fn start(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> App {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let (kept, answer) = (Arc::clone(&heads), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
                std::thread::spawn(move || serve(stream, &kept, |head| answer(head)));
            }
        });
        App { port, heads }
    }

    /// The heads of visitors' requests: those of `path`.
    fn heads_of(&self, path: &str) -> Vec<String> {
        let heads = self.heads.lock().unwrap();
        let is_of = |head: &&String| head.split(' ').nth(1) == Some(path);
        heads.iter().filter(is_of).cloned().collect()
    }
}

fn serve(
    mut stream: impl Read + Write,
    kept: &Mutex<Vec<String>>,
    answer: impl Fn(&str) -> String,
) {
    while let Some(head) = read_head(&mut stream) {
        let said = answer(&head);
        kept.lock().unwrap().push(head);
        if stream.write_all(said.as_bytes()).is_err() {
            return;
        }
    }
}

/// A head, byte by byte; none at the end.
fn read_head(stream: &mut impl Read) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if !stream.read(&mut byte).is_ok_and(|count| count == 1) {
            return None;
        }
        head.push(byte[0]);
    }
    String::from_utf8(head).ok()
}

fn ok(lines: &str) -> String {
    format!("HTTP/1.1 200 OK\r\n{lines}Content-Length: 2\r\n\r\nok")
}

fn host(head: &str) -> &str {
    let line = head.lines().find_map(|line| line.strip_prefix("Host: "));
    line.unwrap_or_default()
}

/// One request on a connection of its own, and all that is answered.
#[track_caller]
fn ask(address: impl std::net::ToSocketAddrs, request: &str) -> String {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(TIMEOUT)).unwrap();
    socket.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

/// A relay, a manager that uses it, and how a site is asked.
struct Way {
    relay: Relay,
    manager: Manager,
    domain: &'static str,
}

impl Way {
    fn new() -> Way {
        let relay = Relay::start(&[]);
        let manager = Manager::start(&["--server", &relay.url()]);
        Way {
            relay,
            manager,
            domain: "localhost",
        }
    }

    /// With sites that are not on loopback by their names.
    fn elsewhere() -> Way {
        let relay = Relay::start(&[
            "--domain",
            "relay.example",
            "--enroll-token",
            "a-token-for-tests",
        ]);
        let server = relay.url();
        let token = ["--enroll-token", "a-token-for-tests"];
        let manager = Manager::start(&["--server", &server, token[0], token[1]]);
        Way {
            relay,
            manager,
            domain: "relay.example",
        }
    }

    #[track_caller]
    fn connected(&self, app: &Value) -> (String, Value) {
        let id = self.manager.add(app);
        let result = self.manager.connected(&id);
        (id, result)
    }

    fn host(&self, site: &str) -> String {
        format!("{site}.{}:{}", self.domain, self.relay.address.port())
    }

    /// The answer to a GET.
    #[track_caller]
    fn get(&self, site: &str, path: &str, lines: &str) -> String {
        let host = self.host(site);
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{lines}\r\n");
        ask(self.relay.address, &request)
    }
}

#[track_caller]
fn requests(manager: &Manager, id: &str, after: u64) -> Value {
    let path = format!("/api/apps/{id}/requests?after={after}");
    manager.client().get(&path).data()
}

/// As Vite's does: 403 for each name that it was not told.
fn dev_server() -> App {
    App::start(|head| {
        let name = host(head).split(':').next().unwrap();
        if ["localhost", "127.0.0.1"].contains(&name) {
            return ok("");
        }
        let body = "Blocked request. This host is not allowed.";
        let length = body.len();
        // Nothing follows HEAD.
        let body = if head.starts_with("HEAD") { "" } else { body };
        format!("HTTP/1.1 403 Forbidden\r\nContent-Length: {length}\r\n\r\n{body}")
    })
}

#[test]
fn one_that_refuses_the_sites_name_is_told_apart_and_answers_to_its_own() {
    let (way, app) = (Way::new(), dev_server());
    let (id, _) = way.connected(&json!({"protocol": "http", "port": app.port, "name": "vite"}));
    let health = way.manager.wait_for(&id, "the hint", |result| {
        result["health"]["state"] == "failing"
    })["health"]
        .clone();
    let error = format!(
        "127.0.0.1:{} answers 403 to visitors, who ask for {}, and 200 to its own name",
        app.port,
        way.host("vite")
    );
    assert_eq!(health["error"], error);
    assert!(
        health["hint"].as_str().unwrap().contains("--host target"),
        "{health}"
    );
    assert!(way.get("vite", "/", "").starts_with("HTTP/1.1 403"));
    let told = way.manager.home().run(&["app", "connect", "vite"]);
    assert!(
        told.stderr.contains(&error) && told.stderr.contains("\nset its Host"),
        "{told:?}"
    );

    way.manager.disconnect(&id);
    let (id, _) = way.connected(
        &json!({"protocol": "http", "port": app.port, "name": "mended", "host_header": "target"}),
    );
    assert!(way.get("mended", "/", "").ends_with("\r\n\r\nok"));
    way.manager
        .wait_for(&id, "health", |result| result["health"]["state"] == "ok");
    assert_eq!(
        host(&app.heads_of("/").pop().unwrap()),
        format!("127.0.0.1:{}", app.port)
    );
}

/// As a program behind a proxy does that was told its own name alone, Grafana's or Django's, say.
#[test]
fn under_another_name_links_lead_to_the_site_and_back() {
    let way = Way::new();
    let app = App::start(|head| {
        let host = host(head);
        match head.split(' ').nth(1).unwrap() {
            "/login" => format!(
                "HTTP/1.1 302 Found\r\nLocation: http://{host}/home?next=http://{host}/\r\n\
                 Set-Cookie: session=1; Domain=intranet.example; Path=/; HttpOnly\r\n\
                 Refresh: 5; url=http://{host}/r\r\nContent-Location: http://{host}/c\r\n\
                 Link: <http://{host}/s.css>; rel=preload, <https://cdn.example/x>\r\n\
                 Content-Length: 0\r\n\r\n"
            ),
            "/away" => "HTTP/1.1 302 Found\r\nLocation: https://elsewhere.example/\r\n\
                 Content-Length: 0\r\n\r\n"
                .to_owned(),
            _ => ok(""),
        }
    });
    way.connected(&json!({
        "protocol": "http", "port": app.port, "name": "wiki", "host_header": "intranet.example:8080",
    }));
    let site = format!("http://{}", way.host("wiki"));
    let lines = format!("Origin: {site}\r\nReferer: {site}/form?x\r\n");
    let answer = way.get("wiki", "/login", &lines);
    for line in [
        format!("Location: {site}/home?next=http://intranet.example:8080/"),
        "Set-Cookie: session=1; Path=/; HttpOnly".to_owned(),
        format!("Refresh: 5; url={site}/r"),
        format!("Content-Location: {site}/c"),
        format!("Link: <{site}/s.css>; rel=preload, <https://cdn.example/x>"),
    ] {
        assert!(
            answer.contains(&format!("\r\n{line}\r\n")),
            "{line}: {answer}"
        );
    }
    let head = app.heads_of("/login").pop().unwrap();
    for line in [
        "Host: intranet.example:8080",
        "Origin: http://intranet.example:8080",
        "Referer: http://intranet.example:8080/form?x",
    ] {
        assert!(head.contains(&format!("\r\n{line}\r\n")), "{line}: {head}");
    }
    assert!(head.contains(&format!("\r\nX-Forwarded-Host: {}\r\n", way.host("wiki"))));
    assert!(
        way.get("wiki", "/away", "")
            .contains("\r\nLocation: https://elsewhere.example/\r\n")
    );
    way.get("wiki", "/other", "Origin: http://evil.example\r\n");
    let head = app.heads_of("/other").pop().unwrap();
    assert!(
        head.contains("\r\nOrigin: http://evil.example\r\n"),
        "{head}"
    );
}

/// It would lead a visitor to the visitor's own machine.
#[test]
fn a_redirect_to_the_applications_own_address_is_told() {
    let way = Way::elsewhere();
    let app = App::start(|head| match head.split(' ').nth(1).unwrap() {
        "/redir" => {
            "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:PORT/x\r\nContent-Length: 0\r\n\r\n"
                .replace(
                    "PORT",
                    head.split("port=")
                        .nth(1)
                        .unwrap()
                        .split('\r')
                        .next()
                        .unwrap(),
                )
        }
        _ => ok(""),
    });
    let (id, result) =
        way.connected(&json!({"protocol": "http", "port": app.port, "name": "redir"}));
    assert_eq!(result["health"]["state"], "ok", "{result}");
    let answer = way.get("redir", "/redir", &format!("X-Mine: port={}\r\n", app.port));
    let own = format!("\r\nLocation: http://127.0.0.1:{}/x\r\n", app.port);
    assert!(
        answer.contains(&own),
        "it is asked by the visitors' name: {answer}"
    );
    let result = way.manager.wait_for(&id, "the hint", |result| {
        result["health"]["state"] == "failing"
    });
    let error = result["health"]["error"].as_str().unwrap();
    assert!(
        error.ends_with("sends visitors on to its own address, where they are not"),
        "{error}"
    );
}

/// The certificate of the name that is asked for, and which names were.
#[derive(Debug)]
struct ByName {
    key: Arc<CertifiedKey>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl ResolvesServerCert for ByName {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let name = hello.server_name().unwrap_or_default().to_owned();
        self.asked.lock().unwrap().push(name.clone());
        (name == "intranet.example").then(|| Arc::clone(&self.key))
    }
}

/// What was seen, in order.
type Seen = Arc<Mutex<Vec<String>>>;

/// A virtual host that is picked by its name in TLS, self-signed; the port, and the names that were asked for.
fn virtual_host() -> (u16, Seen, Seen) {
    let dir = tempfile::tempdir().unwrap();
    let made = std::process::Command::new("openssl")
        .current_dir(dir.path())
        .args("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes".split(' '))
        .args("-days 2 -subj /CN=intranet.example -keyout k.pem -out c.pem".split(' '))
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let chain = CertificateDer::pem_file_iter(dir.path().join("c.pem")).unwrap();
    let chain = chain.collect::<Result<Vec<_>, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_file(dir.path().join("k.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = CertifiedKey::from_der(chain, key, &provider).unwrap();
    let (asked, heads) = <(Seen, Seen)>::default();
    let resolver = ByName {
        key: Arc::new(key),
        asked: Arc::clone(&asked),
    };
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(resolver));
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let kept = Arc::clone(&heads);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (config, kept) = (Arc::clone(&config), Arc::clone(&kept));
            std::thread::spawn(move || {
                let tls = ServerConnection::new(config).unwrap();
                serve(StreamOwned::new(tls, stream), &kept, |_| ok(""));
            });
        }
    });
    (port, asked, heads)
}

#[test]
fn an_https_virtual_host_is_picked_by_its_name() {
    let (way, (port, asked, heads)) = (Way::new(), virtual_host());
    let app = |name: &str, host_header: &str| json!({"protocol": "https", "port": port, "name": name, "host_header": host_header});
    let (_, result) = way.connected(&app("named", "intranet.example"));
    assert_eq!(result["health"]["state"], "ok", "{result}");
    assert!(way.get("named", "/a", "").ends_with("\r\n\r\nok"));
    assert!(
        asked
            .lock()
            .unwrap()
            .iter()
            .all(|name| name == "intranet.example")
    );
    let head = heads.lock().unwrap().pop().unwrap();
    assert_eq!(host(&head), "intranet.example");
    // The relay is told of HTTP alone: TLS is done at this end.
    let told = way.relay.status()["connectors"][0]["applications"][0]["protocol"].clone();
    assert_eq!(told, "http");
    let (_, result) = way.connected(&app("unnamed", "visitor"));
    let error = format!("127.0.0.1:{port} refuses TLS under the name unnamed.localhost");
    assert_eq!(
        (
            &result["health"]["error"],
            &result["health"]["hint"].is_string()
        ),
        (&json!(error), &true)
    );
    let page = way.get("unnamed", "/", "");
    assert!(
        page.starts_with("HTTP/1.1 502") && page.contains("It refuses TLS under the name"),
        "{page}"
    );
    assert!(
        asked
            .lock()
            .unwrap()
            .contains(&"unnamed.localhost".to_owned())
    );
}

#[test]
fn where_the_server_asks_for_no_code_this_end_does() {
    let (far, app) = (
        Far::new(),
        App::start(|_| ok("Cache-Control: public, max-age=9\r\n")),
    );
    let manager = far.manager();
    let id = manager.add(&json!({"protocol": "http", "port": app.port, "invisible": true}));
    let port = far.assign();
    manager.connected(&id);
    let get = |path: &str, lines: &str| {
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n{lines}\r\n"
        );
        ask(("127.0.0.1", port), &request)
    };
    wait_until(TIMEOUT, "the site", || {
        TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    let page = get("/deep?q=marked-query", "");
    assert!(
        page.starts_with("HTTP/1.1 401") && page.contains("name=\"code\""),
        "{page}"
    );
    assert!(get("/.postern/auth?code=wrong", "").starts_with("HTTP/1.1 401"));
    let code = "visitors-code%2F%2B%20%25";
    let entered = get(&format!("/auth?app_id=remote-{port}&code={code}"), "");
    assert!(entered.starts_with("HTTP/1.1 303"), "{entered}");
    let cookie = entered.split("Set-Cookie: ").nth(1).unwrap();
    let cookie = cookie.split(';').next().unwrap();
    assert!(app.heads_of("/in").is_empty());
    let inside = get("/in?q=marked-query", &format!("Cookie: a=1; {cookie}\r\n"));
    assert!(inside.ends_with("\r\n\r\nok"), "{inside}");
    assert!(
        inside.contains("\r\nCache-Control: private, max-age=9\r\n"),
        "{inside}"
    );
    let head = app.heads_of("/in?q=marked-query").pop().unwrap();
    assert!(head.contains("\r\nCookie: a=1\r\n"), "{head}");
    assert!(get("/x", "Cookie: postern-visitor=00\r\n").starts_with("HTTP/1.1 401"));
    // What a visitor says of its address does not give it more tries.
    let tries: Vec<String> = (0..9)
        .map(|n| {
            get(
                "/.postern/auth?code=no",
                &format!("X-Forwarded-For: 192.0.2.{n}\r\n"),
            )
        })
        .collect();
    assert!(
        tries.last().unwrap().starts_with("HTTP/1.1 429"),
        "{tries:?}"
    );
    let again = get(&format!("/.postern/auth?code={code}"), "");
    assert!(
        again.starts_with("HTTP/1.1 303"),
        "a right one passes: {again}"
    );
    let answer = manager.post(&format!("/api/apps/{id}/signout"));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let is_out = || get("/in", &format!("Cookie: {cookie}\r\n")).starts_with("HTTP/1.1 401");
    wait_until(TIMEOUT, "the end of the sign-in", is_out);
    let log = requests(&manager, &id, 0).to_string();
    let value = cookie.split('=').nth(1).unwrap();
    for secret in [
        "marked-query",
        value,
        CODE,
        "visitors-code",
        ".postern",
        "192.0.2",
    ] {
        assert!(!log.contains(secret), "{secret}: {log}");
        assert!(
            !manager.stderr().contains(secret) || secret == ".postern",
            "{secret}"
        );
    }
}

#[test]
fn who_was_here_is_known_and_nothing_more() {
    let (way, app) = (
        Way::new(),
        App::start(|_| ok("Set-Cookie: marked-answer=1\r\n")),
    );
    let (id, result) = way.connected(&json!({"protocol": "http", "port": app.port, "name": "log"}));
    let nobody =
        json!({"counts": "visitors", "now": 0, "total": 0, "last_at": null, "requests": 0});
    assert_eq!(
        result["visitors"], nobody,
        "what asks for its health is no visitor"
    );
    let secrets = "Cookie: marked-cookie=1\r\nAuthorization: Basic marked-basic\r\n\
         Referer: http://marked-referer/\r\n";
    way.get("log", "/a/b?code=marked-query", secrets);
    way.get("log", "/.postern/marked-own", "");
    let long = format!("/{}", "x".repeat(9000));
    way.get("log", &long, "");
    wait_until(TIMEOUT, "the requests", || {
        requests(&way.manager, &id, 0)["last"] == 2
    });
    let log = requests(&way.manager, &id, 0);
    let first = &log["requests"][0];
    assert_eq!(
        (
            &first["n"],
            &first["method"],
            &first["path"],
            &first["status"],
            &first["source"]
        ),
        (
            &json!(1),
            &json!("GET"),
            &json!("/a/b"),
            &json!(200),
            &json!("127.0.0.1")
        )
    );
    assert!(first["bytes"].as_u64().unwrap() > 30 && first["ms"].is_u64());
    assert!(!log.to_string().contains("marked"), "{log}");
    assert!(log["requests"][1]["path"].as_str().unwrap().len() < 300);
    assert_eq!(
        requests(&way.manager, &id, 1)["requests"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let bad = way
        .manager
        .client()
        .get(&format!("/api/apps/{id}/requests?after=x"));
    assert_eq!(bad.status(), 400);
    let visitors = way.manager.status(&id)["visitors"].clone();
    assert_eq!(visitors["requests"], 2);
    assert!(visitors["last_at"].is_string());

    let mut open = TcpStream::connect(way.relay.address).unwrap();
    write!(open, "GET / HTTP/1.1\r\nHost: {}\r\n\r\n", way.host("log")).unwrap();
    way.manager
        .wait_for(&id, "a visitor", |result| result["visitors"]["now"] == 1);
    // A browser has several connections.
    let more = [(); 5].map(|()| TcpStream::connect(way.relay.address).unwrap());
    for mut one in &more {
        write!(
            one,
            "GET /more HTTP/1.1\r\nHost: {}\r\n\r\n",
            way.host("log")
        )
        .unwrap();
    }
    wait_until(TIMEOUT, "their requests", || {
        requests(&way.manager, &id, 0)["last"] == 8
    });
    let visitors = way.manager.status(&id)["visitors"].clone();
    let counted = (&visitors["counts"], &visitors["now"], &visitors["total"]);
    assert_eq!(counted, (&json!("visitors"), &json!(1), &json!(1)));
    drop((open, more));
    way.manager
        .wait_for(&id, "nobody", |result| result["visitors"]["now"] == 0);
    assert!(!way.manager.stderr().contains("marked"));
    way.manager.disconnect(&id);
    assert_eq!(
        requests(&way.manager, &id, 0),
        json!({"last": 0, "requests": []})
    );
    assert_eq!(
        way.manager
            .client()
            .get("/api/apps/0000000000000000/requests")
            .status(),
        404
    );
}

/// What is open when the time is over is cut, and stays in the log with what was sent of it.
#[test]
fn what_was_cut_at_the_end_is_in_the_log() {
    let way = Way::new();
    let app = App::start(|_| "HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\na beginning".into());
    let end = SystemTime::now() + Duration::from_secs(4);
    let body = json!({"protocol": "http", "port": app.port, "name": "cut",
        "expires": postern::store::time::rfc3339(end)});
    let (id, _) = way.connected(&body);
    let mut visitor = TcpStream::connect(way.relay.address).unwrap();
    write!(
        visitor,
        "GET /cut HTTP/1.1\r\nHost: {}\r\n\r\n",
        way.host("cut")
    )
    .unwrap();
    visitor.set_read_timeout(Some(TIMEOUT)).unwrap();
    let got = read_until(&mut visitor, "a beginning");
    assert!(got.ends_with("a beginning"), "{got}");
    let result = way.manager.wait_for(&id, "over", |result| {
        result["error_class"] == "expired" && result["visitors"]["now"] == 0
    });
    let counted = (
        &result["visitors"]["total"],
        &result["visitors"]["requests"],
    );
    assert_eq!(counted, (&json!(1), &json!(1)));
    assert!(result["bytes_out"].as_u64() > Some(50), "{result}");
    let log = requests(&way.manager, &id, 0);
    assert_eq!(log["requests"][0]["path"], "/cut");
    assert!(log["requests"][0]["bytes"].as_u64() > Some(50), "{log}");
}

#[test]
fn of_what_speaks_no_http_connections_are_counted() {
    let (far, app) = (Far::new(), App::start(|_| ok("")));
    let manager = far.manager();
    let id = manager.add(&json!({"protocol": "tcp", "port": app.port}));
    let port = far.assign();
    let result = manager.connected(&id);
    let none =
        json!({"counts": "connections", "now": 0, "total": 0, "last_at": null, "requests": 0});
    assert_eq!(result["visitors"], none);
    wait_until(TIMEOUT, "the port", || {
        TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    let open = TcpStream::connect(("127.0.0.1", port)).unwrap();
    manager.wait_for(&id, "a visitor", |result| {
        result["visitors"]["now"].as_u64() >= Some(1) && result["visitors"]["last_at"].is_string()
    });
    drop(open);
    manager.wait_for(&id, "nobody", |result| result["visitors"]["now"] == 0);
    assert_eq!(requests(&manager, &id, 0)["last"], 0);
}

/// Events come one by one, heads alone, interim answers and uploads as they are sent.
#[test]
fn what_is_no_plain_page_passes() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (go, gone) = crossbeam_channel::bounded::<()>(0);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let gone = gone.clone();
            std::thread::spawn(move || stream_events(&mut stream, &gone));
        }
    });
    let way = Way::new();
    way.connected(&json!({"protocol": "http", "port": port, "name": "events"}));
    let host = way.host("events");
    let mut socket = TcpStream::connect(way.relay.address).unwrap();
    socket.set_read_timeout(Some(TIMEOUT)).unwrap();
    write!(socket, "GET /events HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    let head = read_head(&mut socket).unwrap();
    assert!(head.contains("Transfer-Encoding: chunked"), "{head}");
    for word in ["one", "two"] {
        go.send(()).unwrap();
        assert!(read_until(&mut socket, word).contains(word));
    }
    drop(socket);

    let answer = ask(
        way.relay.address,
        &format!("HEAD / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"),
    );
    assert!(
        answer.contains("Content-Length: 7\r\n") && answer.ends_with("\r\n\r\n"),
        "{answer}"
    );

    let mut socket = TcpStream::connect(way.relay.address).unwrap();
    socket.set_read_timeout(Some(TIMEOUT)).unwrap();
    write!(
        socket,
        "POST /up HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
    )
    .unwrap();
    let interim = read_head(&mut socket).unwrap();
    assert!(interim.starts_with("HTTP/1.1 100"), "{interim}");
    socket
        .write_all(b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
        .unwrap();
    let answer = read_until(&mut socket, "abcde");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

fn stream_events(stream: &mut TcpStream, go: &crossbeam_channel::Receiver<()>) {
    let Some(head) = read_head(stream) else {
        return;
    };
    if head.starts_with("GET /events") {
        let begin = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
        stream.write_all(begin.as_bytes()).unwrap();
        for word in ["one", "two"] {
            go.recv().unwrap();
            stream
                .write_all(format!("3\r\n{word}\r\n").as_bytes())
                .unwrap();
        }
        let _ = stream.read(&mut [0; 64]);
    } else if head.starts_with("HEAD") {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n");
        let _ = stream.read(&mut [0; 64]);
    } else {
        assert!(head.contains("Expect: 100-continue"), "{head}");
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").unwrap();
        let body = read_until(stream, "0\r\n\r\n");
        let body: String = body.split("\r\n").skip(1).step_by(2).collect();
        let _ = write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let _ = stream.read(&mut [0; 64]);
    }
}

#[track_caller]
fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut read = Vec::new();
    while !read.ends_with(end.as_bytes()) {
        let mut piece = [0];
        assert_eq!(
            stream.read(&mut piece).unwrap(),
            1,
            "{}",
            String::from_utf8_lossy(&read)
        );
        read.push(piece[0]);
        if String::from_utf8_lossy(&read).contains(end) {
            break;
        }
    }
    String::from_utf8(read).unwrap()
}

#[test]
fn what_is_not_there_or_speaks_something_else_is_named() {
    let way = Way::new();
    let free = support::free_port();
    way.connected(&json!({"protocol": "http", "port": free, "name": "nobody"}));
    let answer = way.get("nobody", "/", "");
    assert!(answer.starts_with("HTTP/1.1 502"), "{answer}");
    assert!(
        answer.contains("It refused the connection, or closed it without an answer."),
        "{answer}"
    );
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let _ = stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n");
                let _ = stream.read(&mut [0; 64]);
            });
        }
    });
    way.connected(&json!({"protocol": "http", "port": port, "name": "ssh"}));
    let json = way.get("ssh", "/", "Accept: application/json\r\n");
    assert!(
        json.starts_with("HTTP/1.1 502") && json.contains("share it as ssh"),
        "{json}"
    );
    assert_eq!(json.matches("Cache-Control:").count(), 1, "{json}");
}

/// A server that is not ours passes on what visitors send as it is.
#[test]
fn odd_requests_are_refused_and_reach_nobody() {
    let (far, app) = (Far::new(), App::start(|_| ok("")));
    let manager = far.manager();
    let id = manager.add(&json!({"protocol": "http", "port": app.port}));
    let port = far.assign();
    manager.connected(&id);
    wait_until(TIMEOUT, "the site", || {
        TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    let long = format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(70_000));
    for (request, status) in [
        ("GET / HTTP/1.1\nHost: a\n\n", 400),
        ("\x16\x03\x01\x02\x00\x01\r\n\r\n", 400),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        ("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", 405),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            400,
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
            400,
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n",
            400,
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            400,
        ),
        ("GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400),
        (&long, 414),
    ] {
        let answer = ask(("127.0.0.1", port), request);
        let shown = request.get(..60).unwrap_or(request);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{shown:?}: {answer}"
        );
    }
    let seen = app.heads.lock().unwrap().len();
    for begin in [
        "",
        "G",
        "GET / HTTP/1.1\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx",
    ] {
        let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
        socket.write_all(begin.as_bytes()).unwrap();
    }
    let old = ask(("127.0.0.1", port), "GET /old HTTP/1.0\r\n\r\n");
    assert!(old.ends_with("\r\n\r\nok"), "{old}");
    let head = app.heads_of("/old").pop().unwrap();
    assert_eq!(host(&head), format!("127.0.0.1:{}", app.port));
    let heads = app.heads.lock().unwrap();
    let odd = |head: &&String| !head.starts_with("HEAD / ") && !head.starts_with("GET /old ");
    let odd: Vec<_> = heads.iter().filter(odd).collect();
    assert!(
        odd.iter().all(|head| head.starts_with("POST / ")),
        "{odd:?} of {seen}"
    );
    assert!(
        !manager.stderr().contains("panicked"),
        "{}",
        manager.stderr()
    );
}
