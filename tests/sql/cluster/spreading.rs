//! Proxies that spread the statements of one session over servers: read-only mode does not go on behind them, and where
//! one is not recognised nothing is written all the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use support::balancer::{Command, Spreader};
use support::database::Database;
use support::postern::{Home, Postern};

use super::{ask, cell, message, rows_on, two_servers};
use crate::fake_mysql::{self, Fake, Script};

/// An account without a password, which a proxy can sign in with twice.
const OPEN: &str = "open";

fn servers() -> [Database; 2] {
    let servers = two_servers();
    for db in &servers {
        db.exec(&format!(
            "CREATE USER {OPEN}@'%'; GRANT ALL ON *.* TO {OPEN}@'%'"
        ));
        db.exec(
            "CREATE FUNCTION shop.writes() RETURNS INT DETERMINISTIC MODIFIES SQL DATA \
             BEGIN INSERT INTO shop.t SELECT COUNT(*) FROM shop.t AS before_it; RETURN 1; END",
        );
        db.exec("CREATE VIEW shop.v AS SELECT shop.writes() AS x");
    }
    servers
}

fn spreader(
    servers: &[Database; 2],
    route: impl Fn(&Command<'_>) -> usize + Send + Sync + 'static,
) -> Spreader {
    Spreader::before([servers[0].port(), servers[1].port()], route)
}

fn arguments(target: &str) -> [&str; 7] {
    [target, "--db-user", OPEN, "--db-pass", "", "--tls", "off"]
}

/// Error with which a read-only web client does not start there.
fn refusal(arguments: &[&str]) -> String {
    let start = ["mysql", "--no-open", "--listen", "127.0.0.1:0"];
    let ended = Home::with_plugin().run(&[&start, arguments, &["--readonly"]].concat());
    assert_eq!(ended.code, Some(1), "{ended:?}");
    ended.stderr
}

#[track_caller]
fn is_refused_as(told: &str, proxy: &str) {
    let mut lines = told.lines();
    let first = lines.next().unwrap();
    assert!(first.contains(&format!("{proxy} between")), "{told}");
    assert!(first.contains("cannot be made read-only"), "{told}");
    assert!(
        lines
            .next()
            .unwrap()
            .contains("connect to the server directly"),
        "{told}"
    );
}

#[test]
fn a_proxy_that_spreads_statements_is_refused_in_read_only_mode() {
    let servers = servers();
    let in_turn = spreader(&servers, |command| command.turn % 2);
    let reads_apart = spreader(&servers, |command| {
        usize::from(
            command
                .text
                .get(..6)
                .is_some_and(|word| word.eq_ignore_ascii_case("select")),
        )
    });
    for proxy in [in_turn, reads_apart] {
        let target = proxy.target();
        is_refused_as(&refusal(&arguments(&target)), "a proxy");
        // A statement without side effects works there too.
        let postern = Postern::start(&arguments(&target), &[]);
        assert_eq!(cell(&mut postern.client(), "SELECT 1"), "1");
    }
}

/// Honest until the program has found nothing wrong with it; then it leads what people ask to the other server.
#[test]
fn nothing_writes_behind_a_proxy_that_is_not_recognised() {
    let servers = servers();
    let spreads = Arc::new(AtomicBool::new(false));
    let now = spreads.clone();
    let proxy = spreader(&servers, move |command| {
        let is_asked = command.number == 3 && command.text.contains("shop.v");
        usize::from(is_asked && now.load(Ordering::SeqCst))
    });
    let target = proxy.target();
    let postern = Postern::start(&[&arguments(&target)[..], &["--readonly"]].concat(), &[]);
    let mut client = postern.client();
    for spread in [false, true] {
        spreads.store(spread, Ordering::SeqCst);
        let (status, body) = ask(&mut client, "SELECT x FROM shop.v");
        assert_eq!(status, 403, "{body}");
        assert!(message(&body).contains("would write"), "{body}");
    }
    assert_eq!([&servers[0], &servers[1]].map(rows_on), ["0", "0"]);
    // Without read-only mode it writes, which proves that the test can see it.
    let postern = Postern::start(&arguments(&target), &[]);
    assert_eq!(ask(&mut postern.client(), "SELECT x FROM shop.v").0, 200);
    assert_eq!([&servers[0], &servers[1]].map(rows_on), ["0", "1"]);
}

/// It begins to spread while the program runs.
#[test]
fn a_proxy_that_begins_to_spread_is_noticed_by_the_next_statement() {
    let servers = servers();
    let spreads = Arc::new(AtomicBool::new(false));
    let now = spreads.clone();
    let proxy = spreader(&servers, move |_| usize::from(now.load(Ordering::SeqCst)));
    let target = proxy.target();
    let postern = Postern::start(&[&arguments(&target)[..], &["--readonly"]].concat(), &[]);
    let mut client = postern.client();
    assert_eq!(cell(&mut client, "SELECT @@server_id"), "1");
    spreads.store(true, Ordering::SeqCst);
    let (status, body) = ask(&mut client, "SELECT @@server_id");
    assert_eq!(
        (status, body["layer"].as_str()),
        (403, Some("connection")),
        "{body}"
    );
    is_refused_as(message(&body), "a proxy");
}

fn scripted(answers: &'static [(&'static str, &'static str)]) -> Fake {
    Fake::start(Script::twisted(move |wire, command| {
        let fake_mysql::Command::Query(sql) = command else {
            return Ok(false);
        };
        // Its connections to the server have numbers of their own.
        if command.asks_who() {
            wire.further_ok()?;
            wire.rows(&["4b1d", "4711", "1700000000"].map(Some))?;
            return Ok(true);
        }
        match answers.iter().find(|(asked, _)| asked == sql) {
            Some((_, answer)) => wire.rows(&[Some(*answer)]).map(|()| true),
            None => Ok(false),
        }
    }))
}

#[test]
fn known_proxies_are_called_by_their_names() {
    let proxysql: &[_] = &[("select @@version_comment limit 1", "(ProxySQL)")];
    let maxscale: &[_] = &[("SELECT @@maxscale_version", "24.02.1")];
    for (answers, name) in [
        (proxysql, "ProxySQL"),
        (maxscale, "MaxScale"),
        (&[], "a proxy"),
    ] {
        let fake = scripted(answers);
        let target = fake.target();
        let account = [
            "--db-user",
            fake_mysql::USER,
            "--db-pass",
            fake_mysql::PASSWORD,
        ];
        is_refused_as(&refusal(&[&[target.as_str()], &account[..]].concat()), name);
    }
}
