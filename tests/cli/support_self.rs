//! The test support itself: what the other tests take for granted.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{OptsBuilder, SslOpts};

use support::database::{ED25519_USER, Options, PASSWORD, USER};
use support::own_process::again;
use support::{Database, Home, Postern, TIMEOUT, http, wait_until};

fn tcp(db: &Database, user: &str) -> OptsBuilder {
    OptsBuilder::new()
        .ip_or_hostname(Some("127.0.0.1"))
        .tcp_port(db.port())
        .prefer_socket(false)
        .user(Some(user))
        .pass(Some(PASSWORD))
}

#[test]
fn a_server_answers_over_socket_and_tcp() {
    let db = Database::shared();
    db.exec("CREATE DATABASE self_a; CREATE TABLE self_a.t (a INT); INSERT INTO self_a.t VALUES (1), (2)");
    assert_eq!(db.column("SELECT a FROM self_a.t ORDER BY a"), ["1", "2"]);
    let mut conn = mysql::Conn::new(tcp(db, USER)).unwrap();
    let user: Option<String> = conn.query_first("SELECT CURRENT_USER()").unwrap();
    assert_eq!(user.as_deref(), Some("app@%"));
}

#[test]
fn a_server_offers_tls_and_ed25519() {
    let db = Database::start(Options {
        tls: true,
        ed25519: true,
        ..Options::default()
    });
    let trust = SslOpts::default().with_root_cert_path(Some(db.ca()));
    let opts = tcp(&db, ED25519_USER).ssl_opts(trust);
    let mut conn = mysql::Conn::new(opts).unwrap();
    let cipher: Option<(String, String)> =
        conn.query_first("SHOW STATUS LIKE 'Ssl_cipher'").unwrap();
    assert!(cipher.unwrap().1.contains("TLS"));
}

#[test]
fn a_server_and_its_directory_are_gone_after_drop_and_after_a_crash() {
    let mut db = Database::start(Options::default());
    let dir = db.data_dir();
    assert!(dir.is_dir());
    db.crash();
    assert!(!dir.exists());
    let db = Database::start(Options::default());
    let (dir, pid) = (db.data_dir(), db.pid());
    drop(db);
    assert!(!dir.exists());
    assert!(!running(pid));
}

#[test]
fn a_leashed_program_ends_with_a_killed_owner() {
    // The owner of the pipe is a process of its own here, and it is killed hard.
    let mut owner = again(owner_for_the_leash_test)
        .env("LEASH_OWNER", "1")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = std::io::BufReader::new(owner.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("leashed ") {
        line.clear();
        assert!(std::io::BufRead::read_line(&mut out, &mut line).unwrap() > 0);
    }
    let pid = line.trim().rsplit(' ').next().unwrap().parse().unwrap();
    assert!(running(pid));
    owner.kill().unwrap();
    owner.wait().unwrap();
    wait_until(TIMEOUT, "the leashed program ends", || !running(pid));
}

/// The other half of the test above; nothing to do when the test runner calls it.
#[test]
fn owner_for_the_leash_test() {
    if std::env::var_os("LEASH_OWNER").is_none() {
        return;
    }
    let leashed = support::kill_on_drop::KillOnDrop::new("sleep")
        .args(["600"])
        .start();
    println!("leashed {}", leashed.pid());
    let _ = std::io::stdout().flush();
    std::thread::park();
}

fn running(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')')
        .next()
        .is_some_and(|s| !s.is_empty() && !s.starts_with(" Z"))
}

/// A server that sends these bytes to whoever connects, then closes.
fn canned(bytes: &'static [u8]) -> http::Client {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = http::Client::new(&listener.local_addr().unwrap().to_string());
    std::thread::spawn(move || {
        let (mut peer, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            peer.read_exact(&mut byte).unwrap();
            request.push(byte[0]);
        }
        peer.write_all(bytes).unwrap();
    });
    client
}

#[test]
fn the_client_reads_lengths_chunks_and_closes() {
    for (bytes, expected) in [
        (&b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"[..], "hello"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", "hello"),
        (b"HTTP/1.1 200 OK\r\n\r\nhello", "hello"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", ""),
    ] {
        assert_eq!(canned(bytes).get("/").text(), expected);
    }
}

#[test]
fn the_client_detects_what_is_cut_off_or_malformed() {
    for bytes in [
        &b""[..],
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n0\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"ICY 200 OK\r\n\r\n",
    ] {
        let outcome = canned(bytes).try_send("GET", "/", &[], b"");
        assert!(outcome.is_err(), "{:?}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn a_wait_ends_with_its_condition_or_its_patience() {
    wait_until(TIMEOUT, "true", || true);
    assert!(!support::holds_within(Duration::from_millis(30), || false));
}

#[test]
fn a_client_that_does_not_start_shows_what_it_said() {
    let failed = Postern::try_start(Home::new(), &["127.0.0.1:1"], &[])
        .err()
        .unwrap();
    assert_eq!(failed.code, Some(1));
    assert!(
        failed.stderr.contains("unsupported protocol 'mysql'"),
        "{failed:?}"
    );
}

#[test]
fn a_running_client_is_seen_from_outside_and_ends_when_asked() {
    let mut postern = Postern::on(Database::shared(), &[]);
    assert_eq!(
        postern.url(),
        format!("http://127.0.0.1:{}", postern.port())
    );
    assert_eq!(postern.client().get("/api/info").status(), 200);
    assert!(postern.rss_kib() > 0 && postern.peak_rss_kib() >= postern.rss_kib());
    assert!(postern.threads() > 0 && postern.fds() > 0 && postern.alive());
    let home = postern.home().path().to_owned();
    assert_eq!(postern.stop().and_then(|status| status.code()), Some(0));
    assert!(home.is_dir(), "what it left can be looked at");
    drop(postern);
    assert!(!home.exists());
}
