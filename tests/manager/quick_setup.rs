//! The real quick-setup call: the specification's times, TLS, proxies.
//!
//! Tests that depend on the environment run this test binary again, as a child.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};
use postern::api::relay::SetupCall;
use postern::manager::ServerUrl;
use postern::manager::quick_setup::{Caller, Failure, PreparedCall, Setup, Wait, run};
use postern::store::{CredentialStore, Credentials, DataDir, to_json};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use support::own_process::again;
use support::quick_setup::{Act, QuickSetup, good};
use support::{allowed, assert_within};
use zeroize::Zeroizing;

/// The URL that a child is to call.
const CHILD: &str = "POSTERN_TEST_QUICK_SETUP";
/// Extra time for a pause on a busy machine.
const SLACK: Duration = Duration::from_millis(500);

/// A connector with a store of its own, as the manager has one.
struct Connector {
    store: CredentialStore,
    origin: String,
    _dir: tempfile::TempDir,
}

impl Connector {
    fn new(url: &ServerUrl) -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self {
            store: CredentialStore::new(DataDir::at(dir.path())),
            origin: url.origin().to_owned(),
            _dir: dir,
        }
    }
}

fn body(credentials: &Credentials) -> Zeroizing<Vec<u8>> {
    let body = SetupCall {
        protocol: "http".into(),
        ip: "127.0.0.1".into(),
        port: 3000,
        connector_name: credentials.connector_name.clone(),
        password: credentials.password.clone(),
        client_app_id: "0011223344556677".into(),
        display_name: "Shop".into(),
        reset: !credentials.accepted,
        ..SetupCall::default()
    };
    to_json(&body).unwrap()
}

impl Caller for Connector {
    fn prepare(&mut self, _reload: bool) -> Result<PreparedCall, Failure> {
        let credentials = self.store.load(&self.origin);
        let credentials = credentials.map_err(|error| Failure::Local(error.to_string()))?;
        let (store, origin) = (self.store.clone(), self.origin.clone());
        let accepted = move |setup: &Setup| {
            let connector = &setup.connector;
            let change = |credentials: &mut Credentials| {
                credentials.connector_name = connector.username.clone();
                credentials.password = connector.password.clone();
                credentials.accepted = true;
            };
            store.change(&origin, change).unwrap();
        };
        Ok(PreparedCall {
            body: body(&credentials),
            accepted: Box::new(accepted),
        })
    }

    fn waiting(&mut self, _: Option<Wait>) {}
}

struct Signals {
    stop: Sender<()>,
    stopped: Receiver<()>,
    _retry: Sender<()>,
    retried: Receiver<()>,
}

fn signals() -> Signals {
    let ((stop, stopped), (retry, retried)) = (bounded(1), bounded(1));
    Signals {
        stop,
        stopped,
        _retry: retry,
        retried,
    }
}

fn called(url: &str) -> Result<Setup, Failure> {
    let url = ServerUrl::parse(url, true).unwrap();
    let (mut connector, signals) = (Connector::new(&url), signals());
    run(&url, &mut connector, &signals.stopped, &signals.retried)
}

fn fine() -> Act {
    Act::json(200, &good(62888, 20001))
}

/// The seconds between the requests of a call that meets `script`.
fn pauses(script: Vec<Act>) -> Vec<f64> {
    let server = QuickSetup::start(script);
    called(&server.url()).unwrap();
    let requests = server.requests();
    let pairs = requests.windows(2);
    pairs
        .map(|pair| (pair[1].at - pair[0].at).as_secs_f64())
        .collect()
}

/// Ten seconds, the rows side by side.
#[test]
fn the_pauses_are_those_of_the_specification() {
    let busy = || Act::text(429, "");
    let asking = |value: &str| busy().header(&format!("Retry-After: {value}"));
    let rows = [
        (
            vec![Act::Close, Act::Cut, Act::Close, Act::Close, fine()],
            vec![1.0, 2.0, 3.0, 4.0],
        ),
        (vec![busy(), busy(), fine()], vec![3.0, 6.0]),
        (vec![asking("5"), asking("1"), fine()], vec![5.0, 6.0]),
        (
            vec![Act::text(401, ""), Act::Close, busy(), fine()],
            vec![0.0, 2.0, 9.0 - 0.0],
        ),
    ];
    thread::scope(|scope| {
        let rows: Vec<_> = rows
            .into_iter()
            .map(|(script, expected)| (scope.spawn(|| pauses(script)), expected))
            .collect();
        for (row, expected) in rows {
            let pauses = row.join().unwrap();
            assert_eq!(pauses.len(), expected.len());
            let fits = |(pause, due): (&f64, &f64)| {
                (*due..due + allowed(SLACK).as_secs_f64()).contains(pause)
            };
            assert!(
                pauses.iter().zip(&expected).all(fits),
                "{pauses:?} instead of {expected:?}"
            );
        }
    });
}

#[test]
fn credentials_are_new_once_and_then_those_that_were_assigned() {
    let server = QuickSetup::start([fine()]);
    let url = ServerUrl::parse(&server.url(), false).unwrap();
    let (mut connector, signals) = (Connector::new(&url), signals());
    for _ in 0..2 {
        run(&url, &mut connector, &signals.stopped, &signals.retried).unwrap();
    }
    let requests = server.requests();
    let [first, second] = [requests[0].json(), requests[1].json()];
    assert!(
        first["connector_name"]
            .as_str()
            .unwrap()
            .starts_with("postern_")
    );
    assert_eq!(
        (&first["reset"], &second["reset"]),
        (&true.into(), &false.into())
    );
    assert_eq!(second["connector_name"], "assigned-user");
    assert_eq!(second["password"], "assigned-password");
}

/// A hundred megabytes neither fill the memory nor keep the thread.
#[test]
fn a_huge_answer_is_left_at_the_cap() {
    let server = QuickSetup::start([Act::Huge(100 * 1024 * 1024)]);
    let begun = Instant::now();
    let result = called(&server.url());
    assert!(result.unwrap_err().to_string().contains("larger than"));
    assert_within(begun, Duration::from_secs(10));
}

#[test]
fn a_closed_stop_channel_ends_a_call_that_hangs() {
    let server = QuickSetup::start([Act::Hold]);
    let url = ServerUrl::parse(&server.url(), false).unwrap();
    let (mut connector, signals) = (Connector::new(&url), signals());
    thread::scope(|scope| {
        let running = scope.spawn(|| run(&url, &mut connector, &signals.stopped, &signals.retried));
        server.wait_for(1);
        let begun = Instant::now();
        signals.stop.send(()).unwrap();
        assert_eq!(running.join().unwrap(), Err(Failure::Stopped));
        assert_within(begun, Duration::from_millis(500));
    });
}

/// The child: one call, and its outcome as a line.
#[test]
fn child_calls() {
    let Ok(url) = std::env::var(CHILD) else {
        return;
    };
    match called(&url) {
        Ok(setup) => println!("\nsite {}", setup.app.site_url),
        Err(failure) => println!("\nfailed: {failure}"),
    }
}

/// A call to `url` by a process with these variables and no other of their kind.
fn child(url: &str, variables: &[(&str, &str)]) -> String {
    let mut command = again(child_calls);
    command.env(CHILD, url);
    for name in [
        "SSL_CERT_FILE",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
    ] {
        command.env_remove(name).env_remove(name.to_lowercase());
    }
    let output = command
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Accepts connections until it is dropped, each on a thread.
struct Listener {
    port: u16,
}

impl Listener {
    /// `serve` has the first `connections`.
    fn start(connections: usize, serve: impl Fn(TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        // Ends with the last connection; a test makes them all.
        thread::spawn(move || {
            for socket in listener.incoming().take(connections).flatten() {
                serve(socket);
            }
        });
        Self { port }
    }
}

fn head(socket: &mut impl Read) -> String {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && socket.read(&mut byte).unwrap_or(0) == 1 {
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

fn openssl(dir: &Path, arguments: &str) {
    let mut command = Command::new("openssl");
    let output = command
        .args(arguments.split_whitespace())
        .current_dir(dir)
        .output();
    let output = output.expect("openssl is installed; run tests/setup.sh");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// An authority, and a certificate of it for `localhost`, in `dir`.
fn certificates(dir: &Path) -> Arc<ServerConfig> {
    let new = "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    openssl(
        dir,
        &format!("{new} -x509 -days 2 -subj /CN=authority -keyout ca.key -out ca.pem"),
    );
    openssl(
        dir,
        &format!("{new} -subj /CN=localhost -keyout key.pem -out request.pem"),
    );
    std::fs::write(dir.join("names"), "subjectAltName=DNS:localhost\n").unwrap();
    openssl(
        dir,
        "x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \
         -extfile names -out cert.pem",
    );
    let certificate = CertificateDer::from_pem_file(dir.join("cert.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(dir.join("key.pem")).unwrap();
    let config = ServerConfig::builder().with_no_client_auth();
    Arc::new(config.with_single_cert(vec![certificate], key).unwrap())
}

#[test]
fn https_needs_an_authority_that_is_trusted() {
    let dir = tempfile::tempdir().unwrap();
    let config = certificates(dir.path());
    let body = good(62888, 20001).to_string();
    // Two calls, and whoever comes by.
    let secure = Listener::start(9, move |socket| {
        let connection = ServerConnection::new(config.clone()).unwrap();
        let mut stream = StreamOwned::new(connection, socket);
        if head(&mut stream).is_empty() {
            return;
        }
        let length = body.len();
        let _ = write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.conn.send_close_notify();
        let _ = stream.flush();
    });
    let url = format!("https://localhost:{}", secure.port);
    let authority = dir.path().join("ca.pem");
    let trusted = child(&url, &[("SSL_CERT_FILE", authority.to_str().unwrap())]);
    assert!(
        trusted.contains("site http://127.0.0.1:20001/"),
        "{trusted}"
    );
    let stranger = child(&url, &[]);
    assert!(
        stranger.contains("failed: the relay did not give an address: the certificate of localhost is not trusted: \
             no trusted authority signed it"),
        "{stranger}"
    );
    let missing = child(&url, &[("SSL_CERT_FILE", "/nowhere/ca.pem")]);
    assert!(
        missing.contains("failed: cannot read /nowhere/ca.pem"),
        "{missing}"
    );
}

/// Errors that the library does not explain get messages of our own.
#[test]
fn an_authoritys_own_certificate_and_a_server_without_tls_are_told_in_words() {
    let dir = tempfile::tempdir().unwrap();
    certificates(dir.path());
    let authority = dir.path().join("ca.pem");
    let certificate = CertificateDer::from_pem_file(&authority).unwrap();
    let key = PrivateKeyDer::from_pem_file(dir.path().join("ca.key")).unwrap();
    let config = ServerConfig::builder().with_no_client_auth();
    let config = Arc::new(config.with_single_cert(vec![certificate], key).unwrap());
    let secure = Listener::start(1, move |socket| {
        let connection = ServerConnection::new(config.clone()).unwrap();
        let _ = head(&mut StreamOwned::new(connection, socket));
    });
    let trusted = [("SSL_CERT_FILE", authority.to_str().unwrap())];
    let said = child(&format!("https://localhost:{}", secure.port), &trusted);
    assert!(
        said.contains("it is an authority's certificate, not a server's")
            && !said.contains("Other("),
        "{said}"
    );
    let plain = Listener::start(1, |mut socket| {
        let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        let _ = std::io::copy(&mut socket, &mut std::io::sink());
    });
    let said = child(&format!("https://localhost:{}", plain.port), &[]);
    assert!(
        said.contains("localhost does not speak TLS on this port"),
        "{said}"
    );
}

/// A proxy that leads each CONNECT to `target` and notes its head.
fn proxy(connections: usize, target: u16) -> (Listener, Arc<Mutex<Vec<String>>>) {
    let heads = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&heads);
    let proxy = Listener::start(connections, move |mut client| {
        seen.lock().unwrap().push(head(&mut client));
        let mut server = TcpStream::connect((Ipv4Addr::LOCALHOST, target)).unwrap();
        client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        let (mut from, mut to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        // Ends with the answer, after which the server closes.
        let back = thread::spawn(move || {
            let _ = std::io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Both);
        });
        let _ = std::io::copy(&mut client, &mut server);
        let _ = back.join();
    });
    (proxy, heads)
}

#[test]
fn the_proxy_of_the_environment_is_used_but_not_for_this_machine() {
    let mut public = good(62888, 20001);
    public["connector"]["external_ip"] = "203.0.113.7".into();
    let server = QuickSetup::start([Act::json(200, &public), fine()]);
    let (proxy, heads) = proxy(2, server.port());
    let address = format!("http://me:p%40ss@127.0.0.1:{}", proxy.port);
    let variables = [("HTTP_PROXY", address.as_str())];
    let through = child("http://quick.invalid:8080/base", &variables);
    assert!(
        through.contains("site http://127.0.0.1:20001/"),
        "{through}"
    );
    let connect = heads.lock().unwrap()[0].to_lowercase();
    assert!(
        connect.starts_with("connect quick.invalid:8080 http/1.1\r\n"),
        "{connect}"
    );
    // `me:p@ss`
    assert!(
        connect.contains("authorization: basic bwu6cebzcw=="),
        "{connect}"
    );
    let request = &server.requests()[0].head;
    assert!(
        request.starts_with("POST /base/api/public/quick-setup HTTP/1.1\r\n"),
        "{request}"
    );
    assert!(
        !request.to_lowercase().contains("authorization"),
        "{request}"
    );

    let direct = child(&server.url(), &variables);
    assert!(direct.contains("site "), "{direct}");
    assert_eq!(
        (heads.lock().unwrap().len(), server.requests().len()),
        (1, 2)
    );

    let except = [variables[0], ("NO_PROXY", "quick.invalid")];
    let excepted = child("http://quick.invalid:8080", &except);
    assert!(excepted.contains("failed: "), "{excepted}");
    let wrong = child(
        "https://quick.invalid",
        &[("ALL_PROXY", "socks4://me:hush@p")],
    );
    assert!(
        wrong.contains("failed: ") && wrong.contains("ALL_PROXY"),
        "{wrong}"
    );
    assert!(!wrong.contains("hush"), "{wrong}");

    // Nobody here knows the address of the server behind a proxy.
    let inside = child("http://quick.invalid:8080/base", &variables);
    assert!(
        inside.contains("127.0.0.1 is not a valid tunnel address for a server at a public address"),
        "{inside}"
    );
}
