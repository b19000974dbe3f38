//! MySQL 8: `caching_sha2_password` in all its forms, and the read-only preparation with MySQL's variables.
//!
//! The other side is a scripted server (`fake_mysql`) that checks every proof and decrypts every password with code of
//! its own, also where no MySQL can be had; it does what a real one cannot be made to do.

use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::fake_mysql::packets::capability;
use crate::fake_mysql::{self, Command, Event, Fake, Method, Rsa, Script};
use crate::starts::{cell, let_in, refusal, start, start_fake};
use support::TIMEOUT;

fn mysql_8(method: Method) -> Script {
    Script {
        method,
        ..Script::default()
    }
}

#[test]
fn mysql_8_is_signed_in_to_by_every_way_that_needs_no_password_itself() {
    let methods = [
        Method::Native,
        Method::Sha2Fast,
        Method::NativeToSha2,
        Method::Sha2ToNative,
    ];
    for method in methods {
        for tls in [None, Some(fake_mysql::tls())] {
            let secured = tls.is_some();
            let fake = Fake::start(Script {
                tls,
                ..mysql_8(method)
            });
            let postern = let_in(start_fake(&fake, &[]));
            assert_eq!(cell(&postern, "SELECT 'x'"), "x", "{method:?}");
            assert_eq!(fake.events().contains(&Event::Secured(1)), secured);
            let wrong = start(&fake.target(), fake_mysql::USER, "wrong", &[]);
            let expected =
                "plugin error: Access denied for user 'app'@'fake' (using password: YES)";
            assert_eq!(refusal(wrong), expected, "{method:?}");
        }
    }
}

#[test]
fn inside_tls_the_password_itself_is_sent() {
    for method in [Method::Sha2Full, Method::NativeToSha2Full] {
        let fake = Fake::start(Script {
            tls: Some(fake_mysql::tls()),
            ..mysql_8(method)
        });
        let postern = let_in(start_fake(&fake, &["--tls", "require"]));
        assert_eq!(cell(&postern, "SELECT 'x'"), "x");
        let clear = [fake_mysql::PASSWORD.as_bytes(), &[0]].concat();
        assert!(fake.replies().contains(&clear));
    }
}

#[test]
fn on_loopback_the_password_is_sent_under_the_servers_key() {
    for method in [Method::Sha2Full, Method::NativeToSha2Full] {
        for mode in ["prefer", "off"] {
            let fake = Fake::start(Script {
                rsa: Some(Rsa::new()),
                ..mysql_8(method)
            });
            let postern = let_in(start_fake(&fake, &["--tls", mode]));
            assert_eq!(cell(&postern, "SELECT 'x'"), "x");
            assert!(!tells_the_password(&fake), "{method:?} {mode}");
        }
    }
}

fn tells_the_password(fake: &Fake) -> bool {
    let clear = fake_mysql::PASSWORD.as_bytes();
    let replies = fake.replies();
    let mut windows = replies.iter().flat_map(|reply| reply.windows(clear.len()));
    windows.any(|window| window == clear)
}

/// An address of this machine that is not a loopback one. Connecting a datagram socket sends nothing.
fn outer_address() -> Option<IpAddr> {
    let probe = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    probe.connect(("192.0.2.1", 9)).ok()?;
    let ip = probe.local_addr().ok()?.ip();
    (!ip.is_loopback() && !ip.is_unspecified()).then_some(ip)
}

/// On a machine without any other address than loopback the rule is proved by its unit test alone
/// (`a_key_from_the_wire_is_taken_where_nobody_is_on_the_way`).
#[test]
fn elsewhere_the_key_of_a_stranger_is_not_even_asked_for() {
    let Some(ip) = outer_address() else {
        eprintln!("this machine has no address but loopback");
        return;
    };
    let script = Script {
        ip,
        rsa: Some(Rsa::new()),
        ..mysql_8(Method::Sha2Full)
    };
    let fake = Fake::start(script.clone());
    let message = refusal(start_fake(&fake, &["--tls", "prefer"]));
    assert!(message.contains("an unverified key"), "{message}");
    // The driver says goodbye in clear; nothing else may have come.
    let replies = fake.replies();
    assert!(replies.iter().all(|reply| reply == &[1]), "{replies:?}");
    let fake = Fake::start(script);
    let postern = let_in(start_fake(&fake, &["--tls", "off"]));
    assert_eq!(cell(&postern, "SELECT 'x'"), "x");
}

#[test]
fn a_method_that_is_unsafe_or_unknown_is_refused_before_anything_is_told() {
    for plugin in [
        "mysql_clear_password",
        "mysql_old_password",
        "dialog",
        "authentication_oci_client",
        "",
    ] {
        let fake = Fake::start(mysql_8(Method::Switch(plugin)));
        let message = refusal(start_fake(&fake, &[]));
        assert!(message.contains("sign-in method"), "{plugin}: {message}");
        assert!(!tells_the_password(&fake), "{plugin}");
    }
}

/// Invalid packets for the middle of a sign-in.
const NONSENSE: &[&[&[u8]]] = &[
    &[b""],
    &[&[1]],
    &[&[1, 9]],
    &[&[0xff]],
    &[&[0xfe]],
    &[b"\xfecaching_sha2_password"],
    // No nonce, and then the whole password is wanted.
    &[b"\xfecaching_sha2_password\0", &[1, 4], b"\x01no key"],
    &[b"\xfecaching_sha2_password\0short\0", &[1, 4], b""],
    &[
        b"\xfecaching_sha2_password\0ABCDEFGHIJKLMNOPQRST\0",
        &[1, 4],
        b"\x01-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
    ],
    &[b"\xfeclient_ed25519\0\0", b""],
    &[b"\xfesha256_password\0short\0", b"\x01no key"],
    &[b"\xfesha256_password\0\0", b"\x01"],
    &[b"\xfesha256_password\0ABCDEFGHIJKLMNOPQRST\0", b""],
    &[
        b"\xfesha256_password\0ABCDEFGHIJKLMNOPQRST\0",
        b"\xfesha256_password\0ABCDEFGHIJKLMNOPQRST\0",
    ],
    &[
        b"\xfemysql_native_password\0",
        b"\xfemysql_native_password\0again\0",
    ],
    &[b"\xfb/etc/passwd"],
];

#[test]
fn nonsense_in_the_sign_in_ends_it() {
    for packets in NONSENSE {
        for tls in [None, Some(fake_mysql::tls())] {
            let fake = Fake::start(Script {
                tls,
                ..mysql_8(Method::Says(packets))
            });
            let message = refusal(start_fake(&fake, &[]));
            assert!(message.contains(&fake.target()), "{packets:?}: {message}");
            assert!(
                !message.contains("did not answer"),
                "{packets:?}: {message}"
            );
            assert!(!message.contains("Error {"), "{packets:?}: {message}");
        }
    }
}

/// By way of the door the driver takes the connection for one on this machine, on which it tells the password itself.
#[test]
fn who_asks_for_another_method_in_the_end_is_not_told_the_password() {
    const SHA256: &[u8] = b"\xfesha256_password\0ABCDEFGHIJKLMNOPQRST\0";
    const SHA2: &[u8] = b"\xfecaching_sha2_password\0ABCDEFGHIJKLMNOPQRST\0";
    let fake = Fake::start(mysql_8(Method::Says(&[SHA256, SHA2, &[1, 4], &[1, 4]])));
    let message = refusal(start_fake(&fake, &["--tls", "off"]));
    assert!(!tells_the_password(&fake), "{message}");
    assert!(message.contains("another sign-in method"), "{message}");
}

#[test]
fn an_account_whose_method_changes_is_signed_in_to_by_the_new_one() {
    // The first connection is asked for it, and the second is signed in.
    let fake = Fake::start(Script {
        rsa: Some(Rsa::new()),
        ..mysql_8(Method::Sha256Until(2))
    });
    let postern = let_in(start_fake(&fake, &["--tls", "off"]));
    for session in ["a", "b", "c"] {
        let body = serde_json::json!({"sql": "SELECT 'x'", "session": session});
        let told = postern.client().post("/api/query", &body).json();
        assert_eq!(told["code"], 200, "{told}");
    }
    assert!(!tells_the_password(&fake));
}

// ---- the read-only preparation

/// The program's own preparation before each statement, command by command.
#[test]
fn mysql_8_is_made_read_only_before_each_statement() {
    let fake = Fake::start(mysql_8(Method::Sha2Fast));
    let postern = let_in(start_fake(&fake, &["--readonly"]));
    for round in 1..=2 {
        fake.forget();
        let sql = format!("SELECT '{round}'");
        assert_eq!(cell(&postern, &sql), round.to_string());
        let commands = fake.commands();
        let from = commands.iter().position(|c| *c == Command::Reset).unwrap();
        let [reset, set, prepare, close, run, after, names] = &commands[from..] else {
            panic!("{commands:?}");
        };
        assert_eq!((reset, after), (&Command::Reset, &Command::Reset));
        assert_eq!(*names, Command::Query("SET NAMES utf8mb4".into()));
        let Command::Query(set) = set else {
            panic!("{set:?}");
        };
        let read_only = set.find("SET SESSION TRANSACTION READ ONLY").unwrap();
        let begin = set.find("; START TRANSACTION READ ONLY;").unwrap();
        let read_back = set.find("@@session.transaction_read_only").unwrap();
        assert!(
            read_only < begin && begin < read_back && !set.contains("tx_read_only"),
            "{set}"
        );
        assert_eq!(*prepare, Command::Prepare(sql.clone()));
        assert_eq!(*close, Command::Close);
        assert_eq!(*run, Command::Query(sql));
    }
}

#[test]
fn nothing_runs_unless_the_session_is_read_only() {
    // Answers of the server for: read-only, sql_mode, character set, connection ID (its own if empty), autocommit.
    let answers: [[&str; 5]; 7] = [
        ["0", "STRICT_TRANS_TABLES", "utf8mb4", "", "1"],
        ["1", "STRICT_TRANS_TABLES,ANSI_QUOTES", "utf8mb4", "", "1"],
        ["1", "STRICT_TRANS_TABLES", "gbk", "", "1"],
        ["1", "STRICT_TRANS_TABLES", "utf8mb4", "4294967295", "1"],
        ["1", "STRICT_TRANS_TABLES", "utf8mb4", "", "0"],
        ["", "", "", "", ""],
        ["yes", "STRICT_TRANS_TABLES", "utf8mb4", "", "1"],
    ];
    for answer in answers {
        // Honest at the start, so that the program runs.
        let honest = Arc::new(AtomicBool::new(true));
        let now = honest.clone();
        let fake = Fake::start(Script::twisted(move |wire, command| {
            let asked = matches!(command, Command::Query(sql) if sql.contains("READ ONLY"));
            if !asked || now.load(Ordering::SeqCst) {
                return Ok(false);
            }
            let own = wire.number().to_string();
            let id = if answer[3].is_empty() {
                &own
            } else {
                answer[3]
            };
            wire.further_ok()?;
            wire.further_ok()?;
            let (autocommit, version) = (answer[4], "8.0.36");
            let told = [
                answer[0], answer[1], answer[2], id, autocommit, version, "mysql", "4b1d", "0/0/0",
            ];
            wire.rows(&told.map(Some))?;
            Ok(true)
        }));
        let postern = let_in(start_fake(&fake, &["--readonly"]));
        honest.store(false, Ordering::SeqCst);
        fake.forget();
        let body = serde_json::json!({"sql": "SELECT 'must not run'"});
        let told = postern.client().post("/api/query", &body).json();
        assert_eq!(told["code"], 403, "{answer:?}: {told}");
        let message = told["message"].as_str().unwrap();
        assert!(message.starts_with("read-only mode: "), "{message}");
        let ran = fake.commands().iter().any(|command| match command {
            Command::Query(sql) | Command::Prepare(sql) => sql.contains("must not run"),
            _ => false,
        });
        assert!(!ran, "{answer:?}: {:?}", fake.commands());
    }
}

#[test]
fn a_server_that_cannot_be_made_read_only_is_told_at_the_start() {
    let fake = Fake::start(Script::twisted(|wire, command| match command {
        Command::Query(sql) if sql.contains("READ ONLY") => wire
            .error(1193, "HY000", "Unknown system variable")
            .map(|()| true),
        _ => Ok(false),
    }));
    let message = refusal(start_fake(&fake, &["--readonly"]));
    assert!(message.contains("Unknown system variable"), "{message}");
}

#[test]
fn the_greeting_of_the_fake_is_what_it_says() {
    // Guards the fake itself: without local files announced the other tests would prove less.
    assert_ne!(capability::MYSQL_8 & capability::LOCAL_FILES, 0);
    let fake = Fake::start(Script::default());
    let postern = let_in(start_fake(&fake, &[]));
    let info = postern.client().get("/api/info").data();
    assert_eq!(info["version"], "8.0.36");
    assert_eq!(info["user"], fake_mysql::USER);
    assert!(fake.sees(TIMEOUT, |event| matches!(event, Event::Ended(_))));
}
