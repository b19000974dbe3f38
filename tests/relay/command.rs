//! `postern relay` as a command: its flags, its directory, its end.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::http::Client;
use support::manager::{Manager, Target};
use support::relay::{ROWS, Relay, body, with};
use support::{Home, TIMEOUT, assert_within, wait_until};

const PORTS: [&str; 2] = ["--listen=127.0.0.1:0", "--tunnel-listen=127.0.0.1:0"];

#[test]
fn it_says_where_it_is_and_ends_with_a_signal() {
    let mut relay = Relay::start(&[]);
    let port = relay.address.port();
    assert_eq!(relay.said("Relay: "), format!("http://localhost:{port}/"));
    assert_eq!(
        relay.said("Sites: "),
        format!("http://NAME.localhost:{port}/")
    );
    assert_eq!(relay.said("Fingerprint: ").len(), 44);
    assert!(
        !relay.stdout().contains("Enrolment token"),
        "a private relay needs none"
    );
    let begun = Instant::now();
    assert_eq!(relay.stop().and_then(|status| status.code()), Some(0));
    assert_within(begun, Duration::from_secs(2));
}

#[test]
fn wrong_flags_are_exit_status_2_and_start_nothing() {
    let home = Home::new();
    for (line, named) in [
        (&["--listen", "x"][..], "--listen 'x'"),
        (&["--listen", "0.0.0.0:0"], "--external-ip"),
        (&["--tunnel-listen", "[::]:1"], "--external-ip"),
        (&["--domain", "a_b"], "--domain 'a_b'"),
        (&["--public-url", "relay"], "--public-url 'relay'"),
        (&["--trust-proxy", "x"], "--trust-proxy 'x'"),
        (&["--enroll-token", "short"], "--enroll-token"),
        (&["revoke"], "NAME"),
        (&["allow"], "NAME"),
        (&["--external-ip", "foo"], "--external-ip 'foo'"),
        (
            &["--listen", "0.0.0.0:0", "--external-ip", "203.0.113.7"],
            "with --domain",
        ),
        (
            &["--domain", "a.example", "--public-url", "https://b.example"],
            "the domains differ",
        ),
        (&["--port-listen", "0.0.0.0"], "--port-listen '0.0.0.0'"),
        (&["--port-listen", "127.0.0.1"], "--shared-host-ports"),
        (&["stop"], "'relay stop'"),
        (&["list", "x"], "'x'"),
    ] {
        let ended = home.run(&[&["relay"], line].concat());
        assert_eq!(ended.code, Some(2), "{line:?}: {ended:?}");
        assert!(ended.stderr.contains(named), "{line:?}: {ended:?}");
    }
    assert!(!home.path().join("relay").exists());
    let help = home.run(&["relay", "--help"]);
    assert!(
        help.code == Some(0) && help.stdout.contains("--trust-proxy"),
        "{help:?}"
    );
}

#[test]
fn a_busy_port_is_named_with_its_flag() {
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = holder.local_addr().unwrap().to_string();
    for (flag, other) in [
        ("--listen", "--tunnel-listen"),
        ("--tunnel-listen", "--listen"),
    ] {
        let home = Arc::new(Home::new());
        let failed = Relay::try_start_in(&home, &[flag, &address, other, "127.0.0.1:0"]);
        let failed = failed.err().expect("the port is held");
        assert_eq!(failed.code, Some(1));
        assert!(
            failed.stderr.contains(&address) && failed.stderr.contains(flag),
            "{failed:?}"
        );
    }
}

#[test]
fn the_directory_is_private_and_one_relays_at_a_time() {
    let relay = Relay::start(&[]);
    relay.assign(&body("one", "shop", "http", 1));
    for entry in fs::read_dir(relay.data()).unwrap().flatten() {
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        let expected = if entry.path().is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode, expected, "{:?}", entry.path());
    }
    let second = Relay::try_start_in(relay.home(), &PORTS)
        .err()
        .expect("it is in use");
    assert_eq!(second.code, Some(1));
    assert!(second.stderr.contains("another relay uses"), "{second:?}");
    assert!(second.stderr.contains("--data"), "{second:?}");
}

#[test]
fn a_directory_that_cannot_be_used_is_another_one_to_be_named() {
    let home = Home::new();
    let (file, shared) = (home.path().join("file"), home.path().join("shared"));
    fs::write(&file, "").unwrap();
    fs::create_dir(&shared).unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o777)).unwrap();
    for dir in [&file, &shared] {
        let data = format!("--data={}", dir.display());
        let failed = home.run(&["relay", &data, PORTS[0], PORTS[1]]);
        assert_eq!(failed.code, Some(1), "{failed:?}");
        assert!(failed.stderr.contains("with --data"), "{failed:?}");
        assert!(!failed.stderr.contains("POSTERN_HOME"), "{failed:?}");
    }
}

/// Also one that asks for no token, which may be the same relay without its flags.
#[test]
fn a_damaged_state_is_left_as_it_is_and_what_can_be_read_of_it_is_recovered() {
    let relay = Relay::start(&[]);
    for name in ["one", "two", "three"] {
        relay.assign(&body(name, name, "http", 1));
    }
    let fingerprint = relay.said("Fingerprint: ");
    let home = relay.home().clone();
    assert_eq!(home.run(&["relay", "revoke", "three"]).code, Some(0));
    let (data, book) = (relay.data(), relay.data().join(ROWS));
    drop(relay);
    let good = fs::read_to_string(&book).unwrap();
    let damaged = good.replacen("\t\"one\"\t", "\t\"ond\"\t", 1);
    let line = good
        .lines()
        .zip(damaged.lines())
        .position(|(good, damaged)| good != damaged);
    fs::write(&book, &damaged).unwrap();
    let failed = Relay::try_start_in(&home, &PORTS)
        .err()
        .expect("it is damaged");
    assert!(
        failed.code == Some(1) && failed.stderr.contains("'postern relay recover'"),
        "{failed:?}"
    );
    assert_eq!(
        fs::read_to_string(&book).unwrap(),
        damaged,
        "nothing is changed"
    );
    let recovered = home.run(&["relay", "recover"]);
    for part in [
        "kept: connectors: 1, revoked: 1, invites: 0\n",
        &*format!("lost: line {} of relay.rows\n", line.unwrap() + 1),
        "damaged file: ",
    ] {
        assert!(recovered.stdout.contains(part), "{recovered:?}");
    }
    let names = fs::read_dir(data).unwrap().flatten();
    let names = names.map(|entry| entry.path());
    let aside: Vec<_> = names
        .filter(|path| path.to_string_lossy().contains(".unreadable-"))
        .collect();
    assert_eq!(aside.len(), 1, "{aside:?}");
    assert_eq!(fs::read_to_string(&aside[0]).unwrap(), damaged);
    let relay = Relay::start_in(&home, &PORTS);
    assert_eq!(
        relay.said("Fingerprint: "),
        fingerprint,
        "the keys are another matter"
    );
    relay.assign(&body("one", "one", "http", 1));
    relay.assign(&body("two", "two", "http", 1));
    assert_eq!(relay.call(&body("three", "three", "http", 1)).status(), 403);
}

/// Requires a token, so that revoking means something.
#[test]
fn a_relay_whose_state_is_damaged_lets_nobody_in_until_its_operator_says_so() {
    let given = "chosen-by-the-operator";
    let args = ["--enroll-token", given];
    let relay = Relay::start(&args);
    let with_token = |name: &str| {
        with(
            body(name, "shop", "http", 1),
            json!({"enroll_token": given}),
        )
    };
    relay.assign(&with_token("one"));
    let home = relay.home().clone();
    let revoked = home.run(&["relay", "revoke", "one"]);
    assert_eq!(revoked.code, Some(0), "{revoked:?}");
    assert_eq!(relay.call(&with_token("two")).status(), 403);
    let state = relay.data().join(ROWS);
    drop(relay);
    let damaged = "00000000\t1\t9\tform";
    fs::write(&state, damaged).unwrap();
    let start = [&PORTS[..], &args].concat();
    let says_it = |failed: &support::postern::Finished| {
        let said = &failed.stderr;
        let is_said = [
            state.to_str().unwrap(),
            "damaged",
            "backup",
            "'postern relay recover'",
        ];
        assert!(
            failed.code == Some(1) && is_said.iter().all(|part| said.contains(part)),
            "{failed:?}"
        );
    };
    for _ in 0..2 {
        says_it(
            &Relay::try_start_in(&home, &start)
                .err()
                .expect("it is damaged"),
        );
    }
    for command in [
        &["list"][..],
        &["invite"],
        &["revoke", "one"],
        &["allow", "one"],
    ] {
        says_it(&home.run(&[&["relay"], command].concat()));
    }
    assert_eq!(
        fs::read_to_string(&state).unwrap(),
        damaged,
        "nothing is changed"
    );
    let recovered = home.run(&["relay", "recover"]);
    assert!(
        recovered.code == Some(0) && recovered.stdout.contains(".unreadable-"),
        "{recovered:?}"
    );
    assert_eq!(
        home.run(&["relay", "recover"]).stdout,
        "nothing is damaged\n"
    );
    let relay = Relay::start_in(&home, &start);
    let told = relay.status()["notices"].to_string();
    assert!(
        told.contains("relay.rows.unreadable-") && told.contains("revoked"),
        "{told}"
    );
    let refused = home.run(&["relay", "recover"]);
    assert!(
        refused.code == Some(1) && refused.stderr.contains("a relay is running"),
        "{refused:?}"
    );
}

#[test]
fn what_is_no_name_is_unknown_and_no_path() {
    let mut relay = Relay::start(&[]);
    let home = relay.home().clone();
    let is_unknown = || {
        for name in ["", "..", "../x", "a/b", "a\\b"] {
            for (command, see) in [
                ("uninvite", "invites"),
                ("revoke", "list"),
                ("allow", "list"),
            ] {
                let failed = home.run(&["relay", command, name]);
                let see = format!("\n'postern relay {see}' shows");
                assert!(
                    failed.code == Some(1)
                        && failed.stderr.contains(&format!("'{name}'"))
                        && failed.stderr.contains(&see),
                    "{failed:?}"
                );
            }
        }
    };
    is_unknown();
    relay.stop();
    is_unknown();
}

#[test]
fn connectors_are_listed_and_revoked_without_a_running_relay() {
    let mut relay = Relay::start(&[]);
    relay.assign(&body("one", "shop", "http", 1));
    relay.stop();
    let home = relay.home().clone();
    let listed = home.run(&["relay", "list"]);
    assert!(
        listed
            .stdout
            .starts_with("LABEL\tNAME\tSTATUS\tENROLLED\tURL\tTARGET\tMACHINE\t")
            && listed.stdout.contains("\n-\tone\t"),
        "{listed:?}"
    );
    assert!(listed.stdout.contains("shop\t127.0.0.1:1\t"), "{listed:?}");
    let unknown = home.run(&["relay", "revoke", "two"]);
    assert!(
        unknown.code == Some(1) && unknown.stderr.contains("'two'"),
        "{unknown:?}"
    );
    assert_eq!(home.run(&["relay", "revoke", "one"]).code, Some(0));
    let listed = home.run(&["relay", "list"]).stdout;
    assert!(
        listed.contains("\n-\tone\trevoked\t") && listed.ends_with("\t-\t-\n"),
        "{listed}"
    );
    assert!(listed.contains("\tshop\t-\t"), "it is reserved: {listed}");
    let none = home.path().join("none");
    let dir = none.to_str().unwrap();
    for line in [
        &["list"][..],
        &["status-url"],
        &["revoke", "one"],
        &["allow", "one"],
    ] {
        let empty = home.run(&[&["relay"], line, &["--data", dir]].concat());
        let expected = format!("postern: no relay state in {dir}\n");
        assert_eq!(empty.code, Some(1), "{empty:?}");
        assert!(empty.stderr.starts_with(&expected), "{empty:?}");
        assert!(!none.exists(), "{line:?}");
    }
}

/// Another relay, on another directory, goes on as before.
#[test]
fn a_change_without_a_running_relay_says_when_it_takes_effect() {
    let mut relay = Relay::start(&[]);
    let home = relay.home().clone();
    let warning = format!(
        "postern: no relay is running on {}: the change takes effect at its next start (give --data for another relay)\n",
        relay.data().display()
    );
    for is_running in [true, false] {
        let name = format!("one-{is_running}");
        if is_running {
            relay.assign(&body("one-true", "wiki", "http", 1));
            relay.assign(&body("one-false", "shop", "http", 1));
        } else {
            relay.stop();
        }
        let invite = home.run(&["relay", "invite", "--json"]).stdout;
        let invite: Value = serde_json::from_str(&invite).unwrap();
        let id = invite["invite"]["id"].as_str().unwrap();
        let site = if is_running { "wiki" } else { "shop" };
        for line in [
            &["uninvite", id][..],
            &["revoke", &name],
            &["allow", &name],
            &["release", site],
        ] {
            let done = home.run(&[&["relay"], line].concat());
            let expected = if is_running { "" } else { &warning };
            assert_eq!((done.code, &*done.stderr), (Some(0), expected), "{line:?}");
        }
    }
}

#[test]
fn a_running_relay_knows_no_such_name_and_says_where_names_are() {
    let relay = Relay::start(&[]);
    relay.assign(&body("one", "shop", "http", 1));
    for line in [["relay", "revoke", "nobody"], ["relay", "allow", "one"]] {
        let failed = relay.home().run(&line);
        assert_eq!(failed.code, Some(1), "{failed:?}");
        let hint = failed.stderr.lines().nth(1);
        assert_eq!(hint, Some("'postern relay list' shows their names"));
    }
    let help = relay.home().run(&["--help"]).stdout;
    assert!(help.contains("\n  relay list|status-url|"), "{help}");
    let help = relay.home().run(&["relay", "--help"]).stdout;
    assert!(help.contains("\nCommands:\n  list "), "{help}");
    assert!(help.contains("\n  revoke NAME "), "{help}");
    // A subcommand's help is its own.
    let help = relay.home().run(&["relay", "list", "--help"]).stdout;
    assert!(
        help.contains("--data DIR") && !help.contains("--listen"),
        "{help}"
    );
    let data = relay.data().to_string_lossy().into_owned();
    let before = relay
        .home()
        .run(&["relay", "--data", &data, "list", "--json"]);
    let before: serde_json::Value = serde_json::from_str(&before.stdout).unwrap();
    assert_eq!(before[0]["applications"][0]["status"], "away", "{before}");
}

/// L16: a fresh link is had without looking for what was printed, another one each time.
#[test]
fn the_operators_page_is_found_whatever_was_printed() {
    let relay = Relay::start(&[]);
    let url = |home: &Home| {
        let printed = home.run(&["relay", "status-url"]);
        assert_eq!(printed.code, Some(0), "{printed:?}");
        printed.stdout.trim_end().to_owned()
    };
    let printed = url(relay.home());
    assert_ne!(printed, relay.said("Status page: "));
    assert_ne!(printed, url(relay.home()));
    let path = |url: &str| {
        url.split_once("/auth")
            .map(|(_, rest)| format!("/auth{rest}"))
            .unwrap()
    };
    assert_eq!(relay.client().get(&path(&printed)).status(), 303);
    let opened = relay.client().get(&path(&printed));
    assert_eq!(opened.status(), 401, "it is opened once");
    assert!(opened.text().contains("postern relay status-url"));
    let home = relay.home().clone();
    let mut relay = relay.restart(&[]);
    assert_ne!(url(&home), printed, "it is new at each start");
    let old = relay.client().get(&path(&printed));
    assert_eq!(old.status(), 401);
    assert!(
        old.text().contains("postern relay status-url"),
        "{}",
        old.text()
    );
    relay.stop();
    let none = home.run(&["relay", "status-url"]);
    assert!(
        none.code == Some(1) && none.stderr.contains("no relay is running on"),
        "{none:?}"
    );
    // The relay within 'start' has one too.
    let home = Arc::new(Home::new());
    let _manager = Manager::start_in(&home, &[]);
    let printed = url(&home);
    let (host, _) = printed
        .strip_prefix("http://")
        .unwrap()
        .split_once('/')
        .unwrap();
    let address = host.replace("localhost", "127.0.0.1");
    let answer = Client::new(&address).send(
        "GET",
        &path(&printed),
        &[("Host", host), ("Origin", "")],
        b"",
    );
    assert_eq!(answer.status(), 303, "{printed}");
}

#[test]
fn the_list_tells_who_a_connector_is_and_what_passes() {
    let (relay, target) = (Relay::start(&[]), Target::start());
    let manager = Manager::start_in(&Arc::new(Home::new()), &["--server", &relay.url()]);
    let id = manager.add(&target.app());
    let site = manager.connected(&id)["site_url"]
        .as_str()
        .unwrap()
        .to_owned();
    let status = || relay.status()["connectors"][0].clone();
    let before = status();
    let machine = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    assert_eq!(before["label"], machine.trim(), "{before}");
    assert_eq!(before["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(
        (&before["source"], &before["last_visit"]),
        (&"127.0.0.1".into(), &serde_json::Value::Null)
    );
    let name = site
        .trim_start_matches("http://")
        .split('.')
        .next()
        .unwrap();
    assert_eq!(relay.visit(name, "/").status(), 200);
    let after = status();
    assert!(
        after["last_visit"]
            .as_str()
            .is_some_and(|time| time.ends_with('Z')),
        "{after}"
    );
    let listed = relay.home().run(&["relay", "list"]).stdout;
    let row: Vec<&str> = listed.lines().nth(1).unwrap().split('\t').collect();
    let is = |column: usize, text: &str| assert_eq!(row[column], text, "{listed}");
    is(0, machine.trim());
    is(6, machine.trim());
    is(7, "127.0.0.1");
    is(8, env!("CARGO_PKG_VERSION"));
    is(9, "-");
    is(10, "-");
    assert!(
        row[11].ends_with('Z') && row[12].ends_with(" B"),
        "{listed}"
    );
    // A connector's own label is limited, and cannot add a line to a table.
    let mut call = body("odd", "odd", "http", 1);
    call["label"] = "a\nb".into();
    assert_eq!(relay.call(&call).status(), 400);
}

#[test]
fn what_has_passed_and_the_last_visit_outlast_a_restart() {
    let (relay, target) = (Relay::start(&[]), Target::start());
    let manager = Manager::start_in(&Arc::new(Home::new()), &["--server", &relay.url()]);
    let mut app = target.app();
    app["name"] = "shop".into();
    let id = manager.add(&app);
    manager.connected(&id);
    assert_eq!(relay.visit("shop", "/").status(), 200);
    // Disconnect first, so that no more traffic passes.
    manager.disconnect(&id);
    drop(manager);
    let of_shop = |relay: &Relay| relay.status()["connectors"][0]["applications"][0].clone();
    wait_until(TIMEOUT, "the last of the visit", || {
        of_shop(&relay)["figures"]["visitors"] == 0
    });
    let before = of_shop(&relay);
    assert_eq!(before["figures"]["requests"], 1);
    assert!(
        before["figures"]["bytes_out"].as_u64() > Some(0),
        "{before}"
    );
    let mut relay = relay.restart(&[]);
    let after = of_shop(&relay);
    assert_eq!(after["figures"], before["figures"]);
    assert_eq!(after["last_visit"], before["last_visit"]);
    // Without its tunnel the visit is answered by the relay, and is one all the same.
    assert_eq!(relay.visit("shop", "/").status(), 502);
    assert_eq!(of_shop(&relay)["figures"]["requests"], 2);
    relay.stop();
    let listed = relay.home().run(&["relay", "list", "--json"]).stdout;
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let kept = &listed[0]["applications"][0];
    assert_eq!(kept["figures"]["requests"], 2, "{listed}");
    assert_eq!(kept["figures"]["since"], before["figures"]["since"]);
    assert!(kept["last_visit"].as_str() >= before["last_visit"].as_str());
}

#[test]
fn the_operator_signs_in_with_the_token_and_nobody_else_learns_anything() {
    let relay = Relay::start(&[]);
    relay.assign(&body("known-connector", "shop", "http", 1));
    let mut stranger = relay.client();
    for (method, path) in [
        ("GET", "/"),
        ("GET", "/api/status"),
        ("GET", "/auth"),
        ("DELETE", "/api/connectors/known-connector"),
        ("DELETE", "/api/connectors/nobody"),
    ] {
        let answer = stranger.send(method, path, &[], b"");
        assert!(
            !answer.text().contains("known-connector"),
            "{method} {path}"
        );
        assert!(
            matches!(answer.status(), 200 | 303 | 401),
            "{method} {path}: {}",
            answer.status()
        );
    }
    let token = relay.operator_token();
    assert_eq!(stranger.get("/auth?code=wrong").status(), 401);
    let entered = stranger.get(&format!("/auth?code={token}"));
    assert_eq!(entered.status(), 303);
    assert!(
        entered
            .header("set-cookie")
            .unwrap()
            .contains("; HttpOnly; SameSite=Lax")
    );
    // A page of a site can put a cookie of this name in front.
    let pair = entered.cookie().unwrap();
    let name = pair.split('=').next().unwrap();
    let tossed = [("Cookie", format!("{name}=x; {pair}"))];
    let tossed = tossed
        .each_ref()
        .map(|(name, value)| (*name, value.as_str()));
    assert_eq!(
        stranger.send("GET", "/api/status", &tossed, b"").status(),
        200
    );
    let mut operator = relay.client();
    operator.set_cookie(&pair);
    assert!(operator.get("/").text().contains("<title>Relay"));
    let status = operator.get("/api/status").data();
    assert_eq!(status["connectors"][0]["name"], "known-connector");
    let elsewhere = [("Origin", "http://evil.example")];
    let forged = operator.send("DELETE", "/api/connectors/known-connector", &elsewhere, b"");
    assert_eq!(forged.status(), 403);
    let revoked = operator.send("DELETE", "/api/connectors/known-connector", &[], b"");
    assert_eq!(
        revoked.data(),
        json!({"revoked": "known-connector", "invite": null, "enroll_token": null, "saved": true, "untold": []})
    );
    for _ in 0..4 {
        stranger.get("/auth?code=wrong");
    }
    assert_eq!(stranger.get("/auth?code=wrong").status(), 429);
    assert_eq!(
        stranger.get(&format!("/auth?code={token}")).status(),
        303,
        "a right one passes"
    );
    assert!(!relay.stderr().contains(&token));
}

/// A server in front that terminates TLS is a proxy. If it is not named, the relay takes all visitors for one.
#[test]
fn a_proxy_in_front_that_was_not_named_is_warned_of() {
    const PUBLIC: &str = "--public-url=https://localhost";
    let warned = |args: &[&str]| {
        let mut relay = Relay::start(args);
        relay.stop();
        relay.stderr().matches("--trust-proxy is missing").count()
    };
    assert_eq!(warned(&[PUBLIC]), 1);
    assert_eq!(warned(&[PUBLIC, "--trust-proxy=127.0.0.1"]), 0);
    assert_eq!(warned(&["--public-url=http://localhost"]), 0);
}

#[test]
fn by_https_the_operators_cookie_is_for_this_server_alone() {
    let relay = Relay::start(&["--public-url=https://localhost"]);
    let token = relay.operator_token();
    let entered = relay.client().get(&format!("/auth?code={token}"));
    let whole = entered.header("set-cookie").unwrap();
    assert!(
        whole.starts_with("__Host-postern-relay-443=") && whole.ends_with("; Secure"),
        "{whole}"
    );
    assert_eq!(
        entered.header("strict-transport-security"),
        Some("max-age=31536000")
    );
    let pair = entered.cookie().unwrap();
    let status = |cookie: &str| {
        let headers = [("Cookie", cookie)];
        relay
            .client()
            .send("GET", "/api/status", &headers, b"")
            .status()
    };
    assert_eq!(status(&pair), 200);
    let plain = pair.trim_start_matches("__Host-");
    assert_eq!(status(plain), 401, "anybody can set that one");
}

/// As far as systemd is here to say: the file is one that it takes.
#[test]
fn the_unit_file_is_hardened_and_sound() {
    let home = Home::new();
    for (line, name) in [
        (
            &[
                "relay",
                "--print-systemd-unit",
                "--domain",
                "relay.example",
                "--listen",
                "0.0.0.0:80",
                "--external-ip",
                "192.0.2.1",
                "--enroll-token",
                "never-in-a-unit-file",
            ][..],
            "postern-relay.service",
        ),
        (
            &[
                "start",
                "--print-systemd-unit",
                "--server",
                "https://relay.example",
            ],
            "postern.service",
        ),
    ] {
        let printed = home.run(line);
        assert_eq!(printed.code, Some(0), "{printed:?}");
        let unit = &printed.stdout;
        for needed in [
            "NoNewPrivileges=yes",
            "MemoryMax=",
            "SystemCallFilter=",
            "Restart=on-failure",
            "relay.example",
        ] {
            assert!(unit.contains(needed), "{needed} in {unit}");
        }
        assert!(!unit.contains("never-in-a-unit-file"));
        let path = home.path().join(name);
        fs::write(&path, unit).unwrap();
        let verify = std::process::Command::new("systemd-analyze")
            .arg("verify")
            .arg(&path)
            .output();
        if let Ok(verdict) = verify {
            let said = String::from_utf8_lossy(&verdict.stderr);
            assert!(!said.contains(name), "{said}");
        }
    }
}

/// A program that reads the log needs no pattern for it.
#[test]
fn a_request_in_the_log_has_fields_where_that_is_json() {
    let relay = Relay::start(&["--log-format", "json"]);
    let host = relay.url().replace("http://127.0.0.1", "nosuch.localhost");
    let headers = [("Host", host.as_str())];
    let answer = relay.client().send("GET", "/a?secret=1", &headers, b"");
    let line = || {
        let lines = relay.stderr();
        let mut lines = lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        lines.find(|line: &serde_json::Value| line["target"] == "postern::access")
    };
    wait_until(TIMEOUT, "the request's line", || line().is_some());
    let line = line().unwrap();
    for (name, expected) in [
        ("source", json!("127.0.0.1")),
        ("site", json!("nosuch")),
        ("method", json!("GET")),
        ("path", json!("/a")),
        ("status", json!(answer.status())),
    ] {
        assert_eq!(line[name], expected, "{line}");
    }
    assert!(line["bytes"].is_u64() && line["ms"].is_number() && line["message"].is_string());
}

#[test]
fn tables_have_a_line_a_row_on_a_terminal_of_80_columns() {
    let relay = Relay::start(&[]);
    let home = Arc::new(Home::new());
    let manager = Manager::start_in(&home, &["--server", &relay.url()]);
    let target = Target::start();
    let names = ["the wiki of the whole department", "shop"];
    for name in names {
        let app = with(
            target.app(),
            json!({"name": name, "expires": "2130-01-31T18:00:00Z"}),
        );
        manager.connected(&manager.add(&app));
    }
    manager.add(&json!({"protocol": "http", "port": 1, "name": "idle"}));
    for (home, arguments, first, rows) in [
        (&home, &["app", "list"][..], "NAME ", 3),
        (&home, &["status"], "NAME ", 3),
        (relay.home(), &["relay", "list"], "LABEL ", 2),
    ] {
        let table = home.table_on_a_terminal(arguments, first);
        assert!(table.len() > rows, "{table:?}");
        let has_site = |line: &String| line.contains("http://shop.localhost:");
        assert!(table.iter().any(has_site), "{table:?}");
    }
}

/// Shows each target whole, or at least its port.
#[test]
fn addresses_in_tables_keep_their_ports_on_a_terminal_of_80_columns() {
    let relay = Relay::start(&[]);
    let home = Arc::new(Home::new());
    let manager = Manager::start_in(&home, &["--server", &relay.url()]);
    let target = Target::start();
    let at = format!(":{}", target.port());
    // The longer one leaves no room for the whole address behind it.
    let names = [("tcp", "db"), ("http", "wiki-of-a-team")];
    for (protocol, name) in names {
        let app = with(target.app(), json!({"protocol": protocol, "name": name}));
        manager.connected(&manager.add(&app));
    }
    let shows = |table: Vec<String>| {
        let rows = table.iter().filter(|line| line.contains(&at));
        assert_eq!(rows.count(), names.len(), "{at}: {table:?}");
    };
    shows(home.table_on_a_terminal(&["app", "list"], "NAME "));
    let table = relay
        .home()
        .table_on_a_terminal(&["relay", "list"], "LABEL ");
    assert!(table[0].contains(" TARGET "), "{table:?}");
    shows(table);
}

#[test]
fn invites_fit_a_terminal_of_80_columns() {
    let relay = Relay::start(&["--enroll-token", "chosen-by-the-operator"]);
    let home = relay.home();
    let label = "the new laptop of the whole department";
    let invite = ["relay", "invite", "--json", "--label", label];
    let made: Value = serde_json::from_str(&home.run(&invite).stdout).unwrap();
    let id = made["invite"]["id"].as_str().unwrap();
    let table = home.table_on_a_terminal(&["relay", "invites"], "LABEL ");
    let has = |line: &&String| line.starts_with("the new laptop") && line.contains(id);
    assert!(table.iter().any(|line| has(&line)), "{id}: {table:?}");
}
