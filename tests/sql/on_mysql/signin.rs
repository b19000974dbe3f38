//! `caching_sha2_password` for real, what other accounts are told, and MySQL's own certificates.

use std::sync::OnceLock;

use serde_json::json;

use crate::starts::{cell, let_in, start, start_with};
use support::database::{Database, Options};
use support::postern::Finished;
use support::{TIMEOUT, wait_until};

const CIPHER: &str = "SELECT VARIABLE_VALUE FROM performance_schema.session_status WHERE VARIABLE_NAME = 'Ssl_cipher'";

/// A server with accounts of every kind. It forgets whom it has let in only where a test says so.
fn db() -> &'static Database {
    static DB: OnceLock<Database> = OnceLock::new();
    DB.get_or_init(|| {
        let db = Database::start(Options::default());
        db.exec(
            "CREATE USER sha2@'%' IDENTIFIED WITH caching_sha2_password BY 'p\u{e4}ss \\\\ \"word'; \
             CREATE USER old@'%' IDENTIFIED WITH sha256_password BY 'secret'; \
             CREATE USER locked@'%' IDENTIFIED BY 'secret' ACCOUNT LOCK; \
             CREATE USER expired@'%' IDENTIFIED BY 'secret' PASSWORD EXPIRE; \
             CREATE USER blocked@'%' IDENTIFIED BY 'secret' FAILED_LOGIN_ATTEMPTS 1 PASSWORD_LOCK_TIME 1; \
             CREATE USER mustssl@'%' IDENTIFIED BY 'secret' REQUIRE SSL; \
             CREATE USER mustx509@'%' IDENTIFIED BY 'secret' REQUIRE X509",
        );
        db
    })
}

const PASSWORD: &str = "p\u{e4}ss \\ \"word";

/// The two lines on stderr of a start that must fail: what happened, and what to try.
#[track_caller]
fn told(outcome: Result<support::Postern, Finished>) -> (String, String) {
    let Err(ended) = outcome else {
        panic!("it was let in");
    };
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let mut lines = ended.stderr.lines().map(str::to_owned);
    let mut next = || lines.next().unwrap_or_default();
    (next(), next())
}

#[test]
fn the_first_sign_in_and_those_after_it_work_on_every_way() {
    let socket = db().socket().to_string_lossy().into_owned();
    let tcp = db().target();
    let ways: [(&str, &[&str], bool); 4] = [
        (&tcp, &["--tls", "require"], true),
        (&tcp, &["--tls", "prefer"], true),
        // The password goes under the server's RSA key.
        (&tcp, &["--tls", "off"], false),
        (&socket, &[], false),
    ];
    for (target, args, encrypted) in ways {
        // Now the server knows nobody, and asks for the whole password.
        db().exec("FLUSH PRIVILEGES");
        for round in ["first", "cached"] {
            let postern = let_in(start(target, "sha2", PASSWORD, args));
            assert_eq!(
                cell(&postern, "SELECT CURRENT_USER()"),
                "sha2@%",
                "{args:?}"
            );
            assert_eq!(
                !cell(&postern, CIPHER).is_empty(),
                encrypted,
                "{args:?} {round}"
            );
        }
        let (wrong, hint) = told(start(target, "sha2", "wrong", args));
        assert!(
            wrong.starts_with("plugin error: Access denied for user 'sha2'@'"),
            "{wrong}"
        );
        assert!(hint.contains("password"), "{hint}");
    }
}

/// The driver does not know the method, for which MySQL also asks where it has no account of the name.
#[test]
fn accounts_of_sha256_password_are_let_in_on_every_way() {
    let socket = db().socket().to_string_lossy().into_owned();
    let tcp = db().target();
    let ways: [(&str, &[&str], bool); 4] = [
        (&tcp, &["--tls", "require"], true),
        (&tcp, &["--readonly"], true),
        (&tcp, &["--tls", "off"], false),
        (&socket, &[], false),
    ];
    for (target, args, encrypted) in ways {
        let postern = let_in(start(target, "old", "secret", args));
        assert_eq!(cell(&postern, "SELECT CURRENT_USER()"), "old@%", "{args:?}");
        assert_eq!(!cell(&postern, CIPHER).is_empty(), encrypted, "{args:?}");
        // More than fits into what waits between the two ends, both ways.
        let long = format!("SELECT '{}' AS a", "x".repeat(1 << 20));
        assert_eq!(cell(&postern, &long).len(), 1 << 20);
        for user in ["old", "alice", "bob", "x2", "x3"] {
            let (error, _) = told(start(target, user, "wrong", args));
            let expected = format!("plugin error: Access denied for user '{user}'@'");
            assert!(error.starts_with(&expected), "{args:?} {error}");
        }
    }
}

#[test]
fn a_statement_of_such_an_account_is_cancelled_and_its_connection_ends() {
    let mut postern = let_in(start(&db().target(), "old", "secret", &[]));
    let sql = "SELECT SLEEP(600) /* of old */";
    let running = {
        let mut client = postern.client();
        std::thread::spawn(move || {
            let body = json!({"sql": sql, "query_id": "q"});
            client.post("/api/query", &body).json()
        })
    };
    wait_until(TIMEOUT, "it runs", || db().running("/* of old */") == 1);
    let stop = json!({"query_id": "q"});
    assert_eq!(postern.client().post("/api/cancel", &stop).status(), 200);
    // A killed SLEEP is a success to the server.
    let told = running.join().unwrap();
    assert_eq!(told["data"]["warnings"][0]["level"], "Note", "{told}");
    postern.stop();
    let left = "SELECT COUNT(*) FROM performance_schema.processlist WHERE USER = 'old'";
    wait_until(TIMEOUT, "no connection is left", || db().value(left) == "0");
}

#[test]
fn an_account_that_is_not_let_in_is_told_why_and_what_to_do() {
    let target = db().target();
    let blocked = || start(&target, "blocked", "wrong", &[]);
    assert!(blocked().is_err());
    for (user, said, advice) in [
        ("locked", "Account is locked", "ACCOUNT UNLOCK"),
        (
            "blocked",
            "Account is blocked for 1 day(s)",
            "ACCOUNT UNLOCK",
        ),
        ("expired", "Your password has expired", "to set a new one"),
        ("mustx509", "Access denied", "a client certificate"),
    ] {
        let (error, hint) = told(start(&target, user, "secret", &[]));
        assert!(error.contains(said), "{user}: {error}");
        assert!(hint.contains(advice), "{user}: {hint}");
    }
    let (error, hint) = told(start(&target, "mustssl", "secret", &["--tls", "off"]));
    assert!(error.contains("Access denied"), "{error}");
    assert!(hint.contains("to TLS"), "{hint}");
    let_in(start(&target, "mustssl", "secret", &[]));
    let (error, hint) = told(start(&target, "sha2", PASSWORD, &["--db-name", "nowhere"]));
    assert!(error.contains("nowhere"), "{error}");
    assert!(hint.contains("--db-name"), "{hint}");
}

#[test]
fn a_server_that_takes_no_plain_text_says_so() {
    let db = Database::start(Options {
        args: vec!["--require-secure-transport=ON".into()],
        ..Options::default()
    });
    let (error, hint) = told(start(
        &db.target(),
        support::database::USER,
        support::database::PASSWORD,
        &["--tls", "off"],
    ));
    assert!(error.contains("insecure transport"), "{error}");
    assert!(hint.contains("--tls off"), "{hint}");
}

/// The server made them itself at its first start: an authority, and a certificate without any name.
#[test]
fn the_certificates_that_mysql_makes_are_verified_by_their_authority_alone() {
    let target = db().target();
    let ca = db().data_dir().join("ca.pem");
    let authority = [("SSL_CERT_FILE", ca.to_str().unwrap())];
    let with = |mode: &'static str, env: &[(&str, &str)]| {
        start_with(&target, "sha2", PASSWORD, &["--tls", mode], env)
    };
    for host in ["127.0.0.1", "localhost"] {
        let target = format!("{host}:{}", db().port());
        let mode = ["--tls", "verify-ca"];
        let postern = let_in(start_with(&target, "sha2", PASSWORD, &mode, &authority));
        assert_ne!(cell(&postern, CIPHER), "");
    }
    let (error, hint) = told(with("verify", &authority));
    assert!(error.contains("not valid for any names"), "{error}");
    assert!(hint.contains("--tls verify-ca"), "{hint}");
    let (error, hint) = told(with("verify", &[]));
    assert!(error.contains("UnknownIssuer"), "{error}");
    assert!(hint.contains("SSL_CERT_FILE"), "{hint}");
    // Another authority, and none.
    let other = Database::start(Options {
        tls: true,
        ..Options::default()
    });
    let other_ca = other.ca();
    let (error, _) = told(with(
        "verify-ca",
        &[("SSL_CERT_FILE", other_ca.to_str().unwrap())],
    ));
    assert!(error.contains("invalid peer certificate"), "{error}");
    let (error, hint) = told(with("verify-ca", &[("SSL_CERT_FILE", "")]));
    assert!(
        error.contains("needs the authority's certificate in SSL_CERT_FILE"),
        "{error}"
    );
    assert!(hint.contains("ca.pem"), "{hint}");
    let (error, _) = told(with("verify-ca", &[("SSL_CERT_FILE", "/nowhere/ca.pem")]));
    assert!(error.contains("/nowhere/ca.pem cannot be read"), "{error}");
}
