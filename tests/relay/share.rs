//! `postern mysql --share`: others reach the web client, read-only and with a code unless told otherwise.

use std::io::Read;
use std::net::TcpStream;
use std::sync::Arc;

use serde_json::json;
use support::database::{PASSWORD, USER};
use support::http::Client;
use support::manager::{Manager, Target};
use support::relay::Relay;
use support::share::Sharing;
use support::{Database, Home, Postern, TIMEOUT, wait_until};

/// The link, alone on standard output, and the address of its site.
#[track_caller]
fn shared(postern: &Postern) -> (String, String) {
    let link = || postern.stdout().strip_suffix('\n').map(str::to_owned);
    wait_until(TIMEOUT, "a link", || link().is_some());
    let link = link().unwrap();
    assert!(!link.contains('\n'), "{link}");
    let host = link.strip_prefix("http://").unwrap().split('/').next();
    let site = format!("http://{}/", host.unwrap());
    (link, site)
}

/// `PATH` of the site at `url`, at the relay's address.
fn visit(url: &str, path: &str, cookie: &str) -> support::http::Response {
    let host = url.strip_prefix("http://").unwrap().trim_end_matches('/');
    let port = host.rsplit(':').next().unwrap();
    let headers = [("Host", host), ("Origin", ""), ("Cookie", cookie)];
    Client::new(&format!("127.0.0.1:{port}")).send("GET", path, &headers, b"")
}

#[test]
fn it_is_read_only_and_asks_for_a_code() {
    let relay = Relay::start(&[]);
    let mut postern = Postern::on(Database::shared(), &["--share", "--server", &relay.url()]);
    let (auth, site) = shared(&postern);
    let said = postern.stderr();
    assert!(
        said.contains("\nLocal auth URL: ") && said.contains("\nSharing "),
        "{said}"
    );
    assert_eq!(visit(&site, "/api/info", "").status(), 401);
    assert_eq!(visit(&site, "/auth?code=wrong", "").status(), 401);
    wait_until(TIMEOUT, "the refusal", || {
        postern
            .stderr()
            .contains("127.0.0.1 was refused: a wrong code")
    });
    let entered = visit(
        &site,
        auth.strip_prefix(site.trim_end_matches('/')).unwrap(),
        "",
    );
    assert_eq!(entered.status(), 303, "{}", entered.text());
    let info = visit(&site, "/api/info", &entered.cookie().unwrap()).data();
    assert_eq!(
        (&info["readonly"], &info["invisible"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(postern.stop().and_then(|status| status.code()), Some(0));
    wait_until(TIMEOUT, "the site's end", || {
        visit(&site, "/", "").status() == 410
    });
}

/// A share that never came up used to keep its assignment.
#[test]
fn what_is_given_up_before_it_is_up_is_given_back() {
    // Nobody takes tunnels where connectors are sent, by either way.
    let nobody = "--tunnel-url=ws://localhost:9/tunnel";
    let relay = Relay::start(&["--external-ip", "127.0.0.2", nobody]);
    let (home, db) = (Home::with_plugin(), Database::shared().target());
    let account = ["--no-open", "--db-user", USER, "--db-pass", PASSWORD];
    let server = relay.url();
    let share = [
        "mysql",
        &db,
        "--listen=127.0.0.1:0",
        "--share",
        "--server",
        &server,
    ];
    let mut postern = Sharing::start(&home, &[&share[..], &account].concat());
    let applications = || {
        let status = relay.status();
        let applications = status["connectors"][0]["applications"].as_array();
        applications.map_or(0, Vec::len)
    };
    wait_until(TIMEOUT, "the assignment", || applications() == 1);
    assert_eq!(postern.stop().and_then(|status| status.code()), Some(130));
    wait_until(TIMEOUT, "its end", || applications() == 0);
}

#[test]
fn what_is_opened_is_said_plainly() {
    let relay = Relay::start(&[]);
    let flags = [
        "--share",
        "--readwrite",
        "--visible",
        "--server",
        &relay.url(),
    ];
    let postern = Postern::on(Database::shared(), &flags);
    let (_, site) = shared(&postern);
    assert_eq!(visit(&site, "/api/info", "").data()["readonly"], false);
    assert!(!postern.stdout().contains("/auth?"));
    for flag in ["--readwrite", "--visible"] {
        assert!(postern.stderr().contains(flag), "{}", postern.stderr());
    }
}

#[test]
fn without_a_server_it_is_shared_on_this_machine() {
    let postern = Postern::on(Database::shared(), &["--share", "--visible"]);
    let (_, site) = shared(&postern);
    assert_eq!(visit(&site, "/api/info", "").data()["readonly"], true);
}

#[test]
fn flags_that_do_not_go_together_are_exit_status_2() {
    let home = Home::with_plugin();
    for flags in [
        &["--readwrite"][..],
        &["--visible"],
        &["--server", "http://127.0.0.1:1"],
        &["--share", "--readonly", "--readwrite"],
        &["--share", "--invisible", "--visible"],
        &["--share", "--server", "ftp://x"],
        &["--share", "--server", "http://relay.example"],
    ] {
        let ended = home.run(&[&["mysql"], flags].concat());
        assert_eq!(ended.code, Some(2), "{flags:?}: {ended:?}");
    }
}

#[test]
fn it_takes_the_flags_of_every_share() {
    let relay = Relay::start(&[]);
    let flags = [
        "--share",
        "--server",
        &relay.url(),
        "--name",
        "Book store",
        "--for",
        "4s",
        "--visible",
    ];
    let mut postern = Postern::on(Database::shared(), &flags);
    let (_, site) = shared(&postern);
    assert!(site.starts_with("http://book-store.localhost:"), "{site}");
    for _ in 0..3 {
        assert_eq!(visit(&site, "/api/info", "").status(), 200);
    }
    let ended = postern.wait(TIMEOUT).and_then(|status| status.code());
    assert_eq!(ended, Some(0), "its time is over: {}", postern.stderr());
    let said = postern.stderr();
    assert!(said.contains("Time is up. Shared for "), "{said}");
    assert!(said.contains(": 1 visitor, "), "{said}");
    assert_eq!(visit(&site, "/", "").status(), 410);
}

/// Somebody who is asked why a link does not work sees it, whoever's relay it is.
#[test]
fn who_is_refused_is_seen_by_the_sharer() {
    let (home, target, relay) = (Home::new(), Target::start(), Relay::start(&[]));
    let port = target.port().to_string();
    let (url, token) = (relay.url(), relay.enrol_token());
    let remote = ["--server", &url, "--enroll-token", &token];
    for server in [&[][..], &remote] {
        let share =
            |flags: &[&str]| Sharing::start(&home, &[&["http", &port], flags, server].concat());
        let limited = share(&["--allow", "192.0.2.0/24"]);
        assert_eq!(visit(&limited.link(), "/", "").status(), 403);
        limited.wait_said("127.0.0.1 was refused: not from an allowed network");
        drop(limited);
        let coded = share(&["--invisible"]);
        let link = coded.link();
        let (host, _) = link.split_once("/.postern").unwrap();
        for _ in 0..6 {
            visit(host, "/.postern/auth?code=wrong", "");
        }
        coded.wait_said("127.0.0.1 was refused: a wrong code");
        coded.wait_said("127.0.0.1 was refused: too many wrong codes");
        let said = coded.stderr();
        let lines = said.matches("was refused: a wrong code").count();
        assert!(lines <= 5, "each is told once: {said}");
    }
    // The page and `postern logs` show them among the requests.
    let token = relay.enrol_token();
    let remote = ["--server", &url, "--enroll-token", &token];
    let manager = Manager::start_in(&Arc::new(Home::new()), &remote);
    let mut app = target.app();
    (app["protocol"], app["invisible"]) = (json!("http"), json!(true));
    let id = manager.add(&app);
    let site = manager.connected(&id)["site_url"].clone();
    let site = site.as_str().unwrap().trim_end_matches('/').to_owned();
    // Five wrong codes from here were enough.
    assert_eq!(visit(&site, "/.postern/auth?code=wrong", "").status(), 429);
    let path = format!("/api/apps/{id}/requests");
    wait_until(TIMEOUT, "the refused visit", || {
        let requests = manager.client().get(&path);
        let requests = requests.text();
        requests.contains("\"path\":\"/.postern/auth\"") && requests.contains("\"status\":429")
    });
}

/// So it is with a public port, of which the visitor is told nothing.
#[test]
fn who_is_refused_at_a_public_port_is_seen_by_the_sharer() {
    let (home, target, relay) = (Home::new(), Target::start(), Relay::start(&[]));
    let (url, token, port) = (relay.url(), relay.enrol_token(), target.port().to_string());
    let flags = ["tcp", &port, "--visible", "--allow", "192.0.2.0/24"];
    let server = ["--server", &url, "--enroll-token", &token];
    let sharing = Sharing::start(&home, &[&flags[..], &server].concat());
    let link = sharing.link();
    let (_, public) = link.rsplit_once(':').unwrap();
    let mut visitor =
        TcpStream::connect(format!("127.0.0.1:{}", public.trim_end_matches('/'))).unwrap();
    let _ = visitor.read(&mut [0]);
    sharing.wait_said("127.0.0.1 was refused: not from an allowed network");
}

/// Visitors and the relay's operator learn no path of this machine.
#[test]
fn the_path_of_a_socket_is_no_part_of_a_name() {
    let relay = Relay::start(&[]);
    let socket = Database::shared().socket();
    let socket = socket.to_str().unwrap();
    let flags = ["--db-user=root", "--share", "--visible", "--server"];
    let postern = Postern::start(&[&[socket], &flags[..], &[&relay.url()]].concat(), &[]);
    let (_, site) = shared(&postern);
    assert!(site.starts_with("http://mysql.localhost:"), "{site}");
    let status = relay.status().to_string();
    assert!(
        !status.contains(socket.rsplit('/').nth(1).unwrap()),
        "{status}"
    );
}

/// A lent database is limited by the database itself, for as long as it is lent.
#[test]
fn a_guest_reads_what_is_listed_and_is_gone_at_the_end() {
    let (relay, db) = (Relay::start(&[]), Database::shared());
    db.exec("CREATE DATABASE lent; CREATE TABLE lent.seen (a INT); CREATE DATABASE kept; CREATE TABLE kept.t (a INT)");
    let flags = [
        "--share",
        "--server",
        &relay.url(),
        "--visible",
        "--guest",
        "lent.*",
    ];
    let mut postern = Postern::on(db, &flags);
    let (_, site) = shared(&postern);
    let guests = || db.column("SELECT user FROM mysql.user WHERE user LIKE 'postern\\_%'");
    assert_eq!(guests().len(), 1);
    let databases = visit(&site, "/api/databases", "");
    let databases = databases.text();
    assert!(
        databases.contains("lent") && !databases.contains("kept"),
        "{databases}"
    );
    assert!(
        postern.stderr().contains("Sharing ") && postern.stderr().contains(" until "),
        "{}",
        postern.stderr()
    );
    assert_eq!(postern.stop().and_then(|status| status.code()), Some(0));
    assert_eq!(guests(), [] as [String; 0]);
}
