//! Signing in to the database, as a person would: every method, TLS in every mode, and whatever can stand at the other
//! end of an address.
//!
//! The real server here is the chosen one; `signin_mysql` scripts what a MySQL of one's own cannot be made to do.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::fake_mysql::{self, Command, Event, Fake, Method, Script, framed};
use crate::starts::{cell, let_in, refusal, start, start_fake, start_with};
use support::database::{ED25519_USER, Kind, Options, PASSWORD, Server, USER};
use support::postern::Finished;
use support::{Database, Home, Postern, TIMEOUT, assert_within};

fn cipher(postern: &Postern) -> String {
    cell(postern, "SHOW STATUS LIKE 'Ssl_cipher'")
}

/// A server with TLS, ed25519, and accounts of every kind.
fn db() -> &'static Database {
    static DB: OnceLock<Database> = OnceLock::new();
    DB.get_or_init(|| {
        // The certificate is for 127.0.0.1 and localhost only.
        let v6 = if has_ipv6() { ",::1" } else { "" };
        Database::start(Options {
            tls: true,
            ed25519: Server::chosen().kind() == Kind::MariaDb,
            init: "CREATE USER nopass@'%';\n\
                   CREATE USER mustssl@'%' IDENTIFIED BY 'secret' REQUIRE SSL;\n\
                   CREATE DATABASE shop;\n\
                   GRANT SELECT ON shop.* TO nopass@'%';\n"
                .to_owned(),
            args: vec![format!("--bind-address=127.0.0.1,127.0.0.2{v6}")],
            ..Options::default()
        })
    })
}

fn has_ipv6() -> bool {
    TcpListener::bind("[::1]:0").is_ok()
}

/// A server without TLS.
fn plain_db() -> &'static Database {
    static DB: OnceLock<Database> = OnceLock::new();
    DB.get_or_init(|| {
        Database::start(Options {
            args: vec![match Server::chosen().kind() {
                Kind::MariaDb => "--skip-ssl".to_owned(),
                Kind::MySql => "--tls-version=".to_owned(),
            }],
            ..Options::default()
        })
    })
}

// ---- accounts

#[test]
fn the_right_password_is_let_in() {
    let postern = let_in(start(&db().target(), USER, PASSWORD, &[]));
    assert_eq!(cell(&postern, "SELECT CURRENT_USER()"), "app@%");
}

#[test]
fn a_wrong_password_is_told_in_the_servers_own_words() {
    let expected = "plugin error: Access denied for user 'app'@'127.0.0.1' (using password: YES)";
    assert_eq!(refusal(start(&db().target(), USER, "wrong", &[])), expected);
    let expected = "plugin error: Access denied for user 'app'@'127.0.0.1' (using password: NO)";
    assert_eq!(refusal(start(&db().target(), USER, "", &[])), expected);
    // MySQL makes up the method of an account that it does not have.
    for nobody in ["ghost", "alice", "bob"] {
        let refused = refusal(start(&db().target(), nobody, "x", &[]));
        let expected = format!(
            "plugin error: Access denied for user '{nobody}'@'127.0.0.1' (using password: YES)"
        );
        assert_eq!(refused, expected);
    }
}

#[test]
fn an_account_without_a_password_is_let_in() {
    let postern = let_in(start(&db().target(), "nopass", "", &[]));
    assert_eq!(cell(&postern, "SELECT CURRENT_USER()"), "nopass@%");
}

#[test]
fn a_database_is_entered_and_an_unknown_one_is_told() {
    let postern = let_in(start(
        &db().target(),
        USER,
        PASSWORD,
        &["--db-name", "shop"],
    ));
    assert_eq!(cell(&postern, "SELECT DATABASE()"), "shop");
    let unknown = refusal(start(
        &db().target(),
        USER,
        PASSWORD,
        &["--db-name", "nowhere"],
    ));
    assert_eq!(unknown, "plugin error: Unknown database 'nowhere'");
}

// ---- addresses

#[test]
fn a_unix_socket_is_a_target() {
    let socket = db().socket();
    let postern = let_in(start(
        socket.to_str().unwrap(),
        "root",
        "",
        &["--tls", "require"],
    ));
    assert_eq!(cell(&postern, "SELECT CURRENT_USER()"), "root@localhost");
    let missing = refusal(start("/nowhere/at/all.sock", "root", "", &[]));
    assert_eq!(
        missing,
        "plugin error: cannot connect to /nowhere/at/all.sock: no such file or directory"
    );
}

#[test]
fn a_loopback_target_stays_on_tcp() {
    // The driver would quietly go over to the socket that the server names.
    let postern = let_in(start(&db().target(), USER, PASSWORD, &["--tls", "off"]));
    let host = cell(
        &postern,
        "SELECT host FROM information_schema.processlist WHERE id = CONNECTION_ID()",
    );
    assert!(host.starts_with("127.0.0.1:"), "{host}");
}

#[test]
fn ipv6_and_localhost_are_targets() {
    if has_ipv6() {
        let target = format!("[::1]:{}", db().port());
        let_in(start(&target, USER, PASSWORD, &[]));
    }
    // With ::1 first in the list of addresses nobody answers there: this server has 127.0.0.1 only.
    let target = format!("localhost:{}", plain_db().port());
    let_in(start(&target, USER, PASSWORD, &[]));
}

#[test]
fn a_closed_port_is_told() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = free.local_addr().unwrap().to_string();
    drop(free);
    let refused = refusal(start(&target, USER, PASSWORD, &[]));
    let expected = format!("plugin error: cannot connect to {target}: connection refused");
    assert_eq!(refused, expected);
}

#[test]
fn an_unknown_name_is_told() {
    let unknown = refusal(start("no.such.host.invalid:3306", USER, PASSWORD, &[]));
    assert_eq!(
        unknown,
        "plugin error: cannot connect to no.such.host.invalid:3306: the host name was not found"
    );
}

#[test]
fn a_server_that_never_speaks_is_given_up() {
    let fake = Fake::start(Script::raw(|stream, _| stream.read(&mut [0]).map(drop)));
    let started = Instant::now();
    let Finished { code, stderr, .. } = one_off(&fake.target(), &[]);
    assert_eq!(code, Some(1), "{stderr}");
    let expected = "the server did not answer for 15 s during sign-in";
    assert!(stderr.contains(expected), "{stderr}");
    let early = "no answer yet; is a MySQL-protocol server listening there?";
    assert_eq!(stderr.matches(early).count(), 1, "{stderr}");
    assert_within(started, Duration::from_secs(20));
}

/// The command to its end, with the fake's account.
fn one_off(target: &str, more: &[&str]) -> Finished {
    let mut args = vec!["mysql", target, "--no-open", "--listen", "127.0.0.1:0"];
    args.extend([
        "--db-user",
        fake_mysql::USER,
        "--db-pass",
        fake_mysql::PASSWORD,
    ]);
    args.extend(more);
    Home::with_plugin().run(&args)
}

#[test]
fn a_server_that_is_no_mysql_is_told() {
    let openings: [&[u8]; 9] = [
        b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n",
        b"220 mail.example ESMTP\r\n",
        b"",
        // An empty packet, a protocol 9, a greeting cut short, one without a version number, one that ends at once.
        &[0, 0, 0, 0],
        &[5, 0, 0, 0, 9, b'3', b'.', b'2', 0],
        &[9, 0, 0, 0, 10, b'8', b'.', b'0', b'.', b'3', b'6', 0, 1],
        &[9, 0, 0, 0, 10, b'w', b'o', b'r', b'd', b's', b'!', 0, 1],
        &[1, 0, 0, 0, 10],
    ];
    for opening in openings {
        let fake = Fake::start(Script::raw(move |stream, _| stream.write_all(opening)));
        let message = refusal(start(&fake.target(), "u", "p", &[]));
        let expected = format!("plugin error: cannot connect to {}: ", fake.target());
        assert!(message.starts_with(&expected), "{opening:?}: {message}");
        assert!(!message.contains("Error {"), "{opening:?}: {message}");
    }
}

#[test]
fn a_server_with_an_error_for_a_greeting_is_quoted() {
    let full = b"\xff\x10\x04Too many connections";
    let fake = Fake::start(Script::raw(|stream, _| stream.write_all(&framed(0, full))));
    let message = refusal(start(&fake.target(), "u", "p", &[]));
    assert_eq!(message, "plugin error: Too many connections");
}

// ---- TLS

#[test]
fn tls_is_used_as_asked_for() {
    let target = db().target();
    let off = let_in(start(&target, USER, PASSWORD, &["--tls", "off"]));
    assert_eq!(cipher(&off), "");
    for mode in ["prefer", "require"] {
        let on = let_in(start(&target, USER, PASSWORD, &["--tls", mode]));
        assert!(
            cipher(&on).contains("TLS") || cipher(&on).contains("GCM"),
            "{}",
            cipher(&on)
        );
    }
    let by_default = let_in(start(&target, USER, PASSWORD, &[]));
    assert_ne!(cipher(&by_default), "");
}

/// The thread that sends the kill has a small stack, and signs in with TLS like any other.
#[test]
fn a_statement_is_cancelled_over_tls() {
    let postern = let_in(start(&db().target(), USER, PASSWORD, &["--tls", "require"]));
    let mut client = postern.client();
    let asked = std::thread::spawn(move || {
        let body = serde_json::json!({"sql": "SELECT SLEEP(60), 'over tls'", "query_id": "q"});
        client.post("/api/query", &body).json()
    });
    support::wait_until(TIMEOUT, "the statement runs", || {
        db().running("'over tls'") > 0
    });
    let started = Instant::now();
    let cancel = serde_json::json!({"query_id": "q"});
    assert_eq!(postern.client().post("/api/cancel", &cancel).status(), 200);
    asked.join().unwrap();
    assert_within(started, Duration::from_secs(5));
    support::wait_until(TIMEOUT, "it has ended", || db().running("'over tls'") == 0);
}

#[test]
fn an_account_that_requires_tls_is_refused_without() {
    let target = db().target();
    let_in(start(&target, "mustssl", PASSWORD, &[]));
    let refused = refusal(start(&target, "mustssl", PASSWORD, &["--tls", "off"]));
    let expected = "plugin error: Access denied for user 'mustssl'@'127.0.0.1'";
    assert!(refused.starts_with(expected), "{refused}");
}

#[test]
fn a_certificate_is_verified() {
    let ca = db().ca();
    let trusted = [("SSL_CERT_FILE", ca.to_str().unwrap())];
    let verify = ["--tls", "verify"];
    for host in ["127.0.0.1", "localhost"] {
        let target = format!("{host}:{}", db().port());
        let postern = let_in(start_with(&target, USER, PASSWORD, &verify, &trusted));
        assert_ne!(cipher(&postern), "");
    }
    let target = db().target();
    let unknown = refusal(start(&target, USER, PASSWORD, &verify));
    let expected = format!("plugin error: TLS with {target} failed: ");
    assert!(unknown.starts_with(&expected), "{unknown}");
    assert!(unknown.contains("UnknownIssuer"), "{unknown}");
}

#[test]
fn a_certificate_for_another_name_is_refused() {
    let ca = db().ca();
    let trusted = [("SSL_CERT_FILE", ca.to_str().unwrap())];
    let target = format!("127.0.0.2:{}", db().port());
    let wrong = refusal(start_with(
        &target,
        USER,
        PASSWORD,
        &["--tls", "verify"],
        &trusted,
    ));
    assert!(wrong.contains("not valid for name"), "{wrong}");
    // Without verification it is taken.
    let_in(start(&target, USER, PASSWORD, &["--tls", "require"]));
}

#[test]
fn an_authority_of_ones_own_vouches_without_the_name() {
    let ca = db().ca();
    let trusted = [("SSL_CERT_FILE", ca.to_str().unwrap())];
    let mode = ["--tls", "verify-ca"];
    let target = format!("127.0.0.2:{}", db().port());
    let postern = let_in(start_with(&target, USER, PASSWORD, &mode, &trusted));
    assert_ne!(cipher(&postern), "");
    // The server's certificate is no authority, and where none is named nobody is trusted.
    let other = db().ca().with_file_name("server.pem");
    let trusted = [("SSL_CERT_FILE", other.to_str().unwrap())];
    let refused = refusal(start_with(&target, USER, PASSWORD, &mode, &trusted));
    assert!(refused.contains("TLS with"), "{refused}");
    let unnamed = refusal(start_with(
        &target,
        USER,
        PASSWORD,
        &mode,
        &[("SSL_CERT_FILE", "")],
    ));
    assert!(unnamed.contains("SSL_CERT_FILE"), "{unnamed}");
}

#[test]
fn a_trust_store_that_cannot_be_read_is_told() {
    let outcome = start_with(
        &db().target(),
        USER,
        PASSWORD,
        &["--tls", "verify"],
        &[("SSL_CERT_FILE", "/nowhere/ca.pem")],
    );
    let message = refusal(outcome);
    assert!(message.contains("/nowhere/ca.pem"), "{message}");
}

#[test]
fn an_unverified_server_never_gets_the_password() {
    let fake = Fake::start(Script {
        method: Method::Sha2Full,
        tls: Some(fake_mysql::tls()),
        ..Script::default()
    });
    let message = refusal(start(
        &fake.target(),
        fake_mysql::USER,
        fake_mysql::PASSWORD,
        &["--tls", "verify"],
    ));
    assert!(message.contains("TLS with"), "{message}");
    let proofs = fake
        .events()
        .into_iter()
        .filter(|e| matches!(e, Event::Proof(..) | Event::Reply(..)));
    assert_eq!(proofs.count(), 0);
}

#[test]
fn a_server_without_tls_is_refused_where_tls_is_asked_for() {
    for mode in ["require", "verify"] {
        let target = plain_db().target();
        let message = refusal(start(&target, USER, PASSWORD, &["--tls", mode]));
        let expected = format!("plugin error: {target} does not offer TLS, which --tls requires");
        assert_eq!(message, expected);
    }
    let postern = let_in(start(
        &plain_db().target(),
        USER,
        PASSWORD,
        &["--tls", "prefer"],
    ));
    assert_eq!(cipher(&postern), "");
}

#[test]
fn prefer_keeps_to_a_server_that_offered_tls() {
    let fake = Fake::start(Script {
        tls: Some(fake_mysql::tls()),
        tls_until: 1,
        ..Script::default()
    });
    let postern = let_in(start_fake(&fake, &[]));
    let body = serde_json::json!({"sql": "SELECT 'x'"});
    let answer = postern.client().post("/api/query", &body).json();
    assert_eq!(answer["code"], 502, "{answer}");
    let message = answer["message"].as_str().unwrap();
    assert!(
        message.contains("offered TLS before and no longer does"),
        "{message}"
    );
    let proofs = fake
        .events()
        .into_iter()
        .filter(|e| matches!(e, Event::Proof(2, _)));
    assert_eq!(proofs.count(), 0, "it signed in without TLS");
}

#[test]
fn what_came_before_tls_does_not_count_as_the_servers_answer() {
    // Somebody on the way adds an OK to the greeting: the driver takes it for the answer to the sign-in.
    let fake = Fake::start(Script {
        tls: Some(fake_mysql::tls()),
        injected: framed(3, &[0, 0, 0, 2, 0, 0, 0]),
        ..Script::default()
    });
    let message = refusal(start_fake(&fake, &[]));
    assert!(!message.contains("Error {"), "{message}");
    let facts = Command::Query("SHOW GRANTS".to_owned());
    assert!(!fake.commands().contains(&facts), "{:?}", fake.commands());
    // And a whole answer to the first question after it.
    let mut injected = framed(3, &[0, 0, 0, 2, 0, 0, 0]);
    injected.extend(framed(1, &[1]));
    injected.extend(framed(2, &fake_mysql::column(b"a", 0xfd)));
    injected.extend(framed(3, &[0xfe, 0, 0, 2, 0]));
    injected.extend(framed(4, &fake_mysql::row(&[Some(b"guessed")])));
    injected.extend(framed(5, &[0xfe, 0, 0, 2, 0]));
    let fake = Fake::start(Script {
        tls: Some(fake_mysql::tls()),
        injected,
        ..Script::default()
    });
    let message = refusal(start_fake(&fake, &[]));
    assert!(message.contains("before TLS began"), "{message}");
}

mod on_mariadb {
    use super::*;

    #[test]
    fn ed25519_accounts_are_let_in() {
        for tls in ["off", "prefer"] {
            let postern = let_in(start(
                &db().target(),
                ED25519_USER,
                PASSWORD,
                &["--tls", tls],
            ));
            assert_eq!(cell(&postern, "SELECT CURRENT_USER()"), "ed@%");
            let wrong = refusal(start(
                &db().target(),
                ED25519_USER,
                "wrong",
                &["--tls", tls],
            ));
            let expected = "plugin error: Access denied for user 'ed'@'127.0.0.1'";
            assert!(wrong.starts_with(expected), "{wrong}");
        }
    }
}
