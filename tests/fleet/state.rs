//! Promises of one relay are known to the others, and nothing is promised twice.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use postern::tunnel::client::{HostKeyCheck, Status, Tunnel};
use serde_json::{Value, json};
use support::database::{PASSWORD as STORE_PASSWORD, USER};
use support::fleet::{Fleet, Member, Store, TOKEN};
use support::galera::Cluster;
use support::kill_on_drop::KillOnDrop;
use support::relay::{PASSWORD, Relay, body, refusal, settings_at, with};
use support::{Home, TIMEOUT, wait_until};

/// A call that enrols where that is needed.
fn call(connector: &str, app: &str) -> Value {
    with(
        body(connector, app, "http", 9),
        json!({"enroll_token": TOKEN, "site_name": app}),
    )
}

fn port(answer: &Value) -> u64 {
    answer["app"]["resource"]["port"].as_u64().unwrap()
}

#[test]
fn what_is_assigned_at_one_relay_is_good_at_the_other_at_once() {
    let fleet = Fleet::start(2, &[]);
    let (one, other) = (fleet.relay(0), fleet.relay(1));
    let shop = one.assign(&call("c", "shop"));
    // A second application, where nobody has asked for anything yet.
    let till = other.assign(&call("c", "till"));
    assert_ne!(port(&shop), port(&till));
    for relay in [one, other] {
        for answer in [&shop, &till] {
            let remote = format!("R:0.0.0.0:{}:127.0.0.1:9", port(answer));
            let tunnel = relay.tunnel("c", PASSWORD, &[&remote]);
            assert!(tunnel.wait(TIMEOUT), "{:?}", tunnel.snapshot().error);
        }
    }
    let again = other.assign(&call("c", "shop"));
    assert_eq!(port(&again), port(&shop));
    assert_eq!(again["app"]["app_id"], shop["app"]["app_id"]);
    // Every relay names the same relays in the same order.
    let relays = |answer: &Value| {
        let connector = &answer["connector"];
        let first = (
            connector["tunnel_port"].clone(),
            connector["fingerprint"].clone(),
        );
        (first, connector["alternates"].clone())
    };
    let (first, alternates) = relays(&again);
    assert_eq!(
        relays(&one.assign(&call("c", "shop"))),
        (first.clone(), alternates.clone())
    );
    let second = &alternates.as_array().unwrap()[..];
    assert_eq!(second.len(), 1);
    assert_ne!(second[0]["tunnel_port"], first.0);
    assert_eq!(other.release("c", PASSWORD, "shop").status(), 200);
    assert_eq!(one.release("c", PASSWORD, "shop").status(), 404);
}

/// Each by a path of its own through the one port of the balancer.
#[test]
fn tunnels_by_the_url_reach_the_relay_that_is_named() {
    let url = "--tunnel-url=ws://localhost:{PORT}/.postern/tunnel/{AT}";
    let fleet = Fleet::start(2, &[url]);
    let _front = fleet.front();
    let answer = fleet.relay(0).assign(&call("c", "shop"));
    let remote = format!("R:0.0.0.0:{}:127.0.0.1:9", port(&answer));
    let connector = &answer["connector"];
    for at in [connector, &connector["alternates"][0]] {
        let url = at["tunnel_url"].as_str().unwrap();
        let mut settings = settings_at(url, "c", PASSWORD, &[&remote]);
        let fingerprint = at["fingerprint"].as_str().unwrap();
        settings.host_key = HostKeyCheck::Fingerprint(fingerprint.to_owned());
        let tunnel = Tunnel::start(settings).unwrap();
        assert!(tunnel.wait(TIMEOUT), "{url}: {:?}", tunnel.snapshot());
    }
    // The balancer's own path leads to any of them: a fleet names none.
    let fleet = Fleet::start(1, &[]);
    let connector = fleet.relay(0).assign(&call("c", "shop"))["connector"].clone();
    assert_eq!(connector["tunnel_url"], Value::Null);
}

#[test]
fn who_is_turned_out_at_one_relay_is_out_at_all() {
    let fleet = Fleet::start(2, &[]);
    let (one, other) = (fleet.relay(0), fleet.relay(1));
    let shop = one.assign(&call("c", "shop"));
    let remote = format!("R:0.0.0.0:{}:127.0.0.1:9", port(&shop));
    let tunnel = other.tunnel("c", PASSWORD, &[&remote]);
    assert!(tunnel.wait(TIMEOUT));
    let revoked = one.operators("DELETE", "/api/connectors/c", b"");
    assert_eq!(revoked.data()["saved"], true);
    wait_until(TIMEOUT, "the end of its tunnel", || {
        tunnel.snapshot().status != Status::Connected
    });
    refusal(&tunnel);
    assert_eq!(other.call(&call("c", "shop")).status(), 403);
    assert_eq!(other.visit("shop", "/").status(), 410);
    let back = other.operators("DELETE", "/api/revoked/c", b"");
    assert_eq!(back.data()["restored"], true);
    let again = one.assign(&call("c", "shop"));
    assert_eq!(again["app"]["app_id"], shop["app"]["app_id"]);
    // An invite that one has made lets in at the other, once.
    let invite = one
        .operators("POST", "/api/invites", br#"{"uses": 1}"#)
        .data();
    let token = json!({"enroll_token": invite["token"]});
    other.assign(&with(call("by-invite", "first"), token.clone()));
    assert_eq!(
        one.call(&with(call("second", "other"), token)).status(),
        403
    );
}

/// H2: the operator of any relay releases and hands over names; every relay knows it at the next call.
#[test]
fn a_name_is_handed_over_for_all_relays_at_any_of_them() {
    let fleet = Fleet::start(2, &[]);
    let (one, other) = (fleet.relay(0), fleet.relay(1));
    let site = |relay: &Relay, connector: &str| {
        let wish = json!({"enroll_token": TOKEN, "site_name": "shop"});
        let answer = relay.assign(&with(body(connector, "app", "http", 9), wish));
        let url = answer["app"]["site_url"].as_str().unwrap().to_owned();
        let host = url.strip_prefix("http://").unwrap();
        host.split('.').next().unwrap().to_owned()
    };
    let names = |relays: [&Relay; 3]| {
        let each = relays.into_iter().zip(["a", "b", "c"]);
        each.map(|(relay, connector)| site(relay, connector))
            .collect::<Vec<_>>()
    };
    assert_eq!(names([one, other, one]), ["shop", "shop-2", "shop-3"]);
    let operator = |relay: &Relay, args: &[&str]| {
        let done = relay.home().run(&[&["relay"], args].concat());
        assert_eq!(done.code, Some(0), "{done:?}");
    };
    operator(other, &["transfer", "shop", "b"]);
    for relay in [one, other] {
        wait_until(TIMEOUT, "the name", || site(relay, "b") == "shop");
    }
    assert_eq!(names([other, one, other])[1..], ["shop", "shop-3"]);
    let former = site(one, "a");
    assert_ne!(former, "shop");
    assert_eq!(site(other, "a"), former);
    // A released name goes to the first who asks, at any relay.
    operator(one, &["release", "shop"]);
    wait_until(TIMEOUT, "that it is free", || {
        other.visit("shop", "/").status() != 502
    });
    let fresh = with(
        body("d", "app", "http", 9),
        json!({"enroll_token": TOKEN, "site_name": "shop"}),
    );
    let answer = other.assign(&fresh);
    let url = answer["app"]["site_url"].as_str().unwrap();
    assert!(url.starts_with("http://shop."), "{url}");
    assert_ne!(site(one, "b"), "shop");
}

/// Rounds of 8 connectors that race for one name at all relays; more of them, and on a cluster, with `make fleet`.
#[test]
fn no_name_and_no_number_is_given_twice() {
    let rounds = std::env::var("POSTERN_FLEET_ROUNDS").ok();
    let rounds: usize = rounds.map_or(50, |rounds| rounds.parse().unwrap());
    let (relays, store) = match rounds {
        ..=50 => (2, Store::single()),
        _ => (3, Store::Cluster(Cluster::start())),
    };
    let fleet = Fleet::on(store, relays, &[]);
    let given: Mutex<HashMap<String, String>> = Mutex::default();
    for round in 0..rounds {
        let wanted = format!("wanted{round}");
        let winners = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for connector in 0..8 {
                let relay = fleet.relay((connector + round) % relays);
                let (given, wanted, winners) = (&given, &wanted, &winners);
                scope.spawn(move || {
                    // A connector has a hundred applications at most.
                    let name = format!("c{connector}-{}", round / 50);
                    let app = format!("app{round}");
                    let wish = json!({"site_name": wanted});
                    // So many connectors do not come from one address in a minute.
                    let source = format!("127.2.{}.{}", round / 50, connector + 1);
                    let body = with(call(&name, &app), wish);
                    let answer = relay.call_from(&source, &body).data();
                    let url = answer["app"]["site_url"].as_str().unwrap().to_owned();
                    let has_won = url.contains(&format!("//{wanted}.localhost:"));
                    winners.fetch_add(usize::from(has_won), Ordering::SeqCst);
                    let whose = format!("{name} {app}");
                    for what in [url, format!("number {}", port(&answer))] {
                        let had = given.lock().unwrap().insert(what.clone(), whose.clone());
                        assert_eq!(had, None, "{what} is {whose}'s too");
                    }
                });
            }
        });
        assert_eq!(winners.into_inner(), 1, "{wanted}");
    }
    assert_eq!(given.lock().unwrap().len(), rounds * 8 * 2);
    // As the store has it too, and as each relay knows it.
    let count = |table: &str| {
        let query = format!("SELECT COUNT(*) FROM fleet.{table}");
        fleet.database().value(&query).parse::<usize>().unwrap()
    };
    let connectors = rounds.div_ceil(50) * 8;
    let of_connectors = "postern_rows WHERE kind = 'connector' AND body IS NOT NULL";
    assert_eq!(count(of_connectors), connectors);
    let stored = fleet
        .database()
        .column(&format!("SELECT body FROM fleet.{of_connectors}"));
    let sites = stored.iter().map(|body| body.matches("\"site\":{").count());
    assert_eq!(sites.sum::<usize>(), rounds * 8);
    for relay in fleet.running() {
        wait_until(TIMEOUT, "the last of the others", || {
            let status = relay.status();
            let of = |connector: &Value| connector["applications"].as_array().unwrap().len();
            let all = status["connectors"].as_array().unwrap().iter().map(of);
            all.sum::<usize>() == rounds * 8
        });
    }
}

#[test]
fn while_the_store_is_away_what_is_known_is_served_and_nothing_new_is_promised() {
    let mut fleet = Fleet::start(2, &[]);
    let shop = fleet.relay(0).assign(&call("c", "shop"));
    fleet.relay(1).assign(&call("c", "shop"));
    fleet.single().crash();
    let store = |relay: &Relay| relay.client().get("/health").json()["store"].clone();
    for at in [0, 1] {
        wait_until(TIMEOUT, "that is noticed", || {
            store(fleet.relay(at)) == "away"
        });
        assert_eq!(fleet.relay(at).client().get("/health").status(), 200);
        let new = fleet.relay(at).call(&call("c", "new"));
        assert_eq!(new.status(), 503, "{}", new.text());
        assert_eq!(new.header("retry-after"), Some("5"));
        let enrols = fleet.relay(at).call(&call("d", "new"));
        assert_eq!(enrols.status(), 503);
        let again = fleet.relay(at).assign(&call("c", "shop"));
        assert_eq!(again["app"]["resource"], shop["app"]["resource"]);
        let remote = format!("R:0.0.0.0:{}:127.0.0.1:9", port(&shop));
        let tunnel = fleet.relay(at).tunnel("c", PASSWORD, &[&remote]);
        assert!(tunnel.wait(TIMEOUT), "known connectors come");
    }
    let named = fleet
        .relay(0)
        .stderr()
        .matches("the store is unavailable")
        .count();
    assert!(named >= 1);
    fleet.single().restart();
    for at in [0, 1] {
        wait_until(TIMEOUT, "its return", || store(fleet.relay(at)) == "ok");
    }
    let new = fleet.relay(0).assign(&call("c", "new"));
    let there = fleet.relay(1).assign(&call("c", "new"));
    assert_eq!(there["app"]["app_id"], new["app"]["app_id"]);
    let stored = fleet
        .database()
        .value("SELECT body FROM fleet.postern_rows WHERE kind = 'connector'");
    assert_eq!(stored.matches("\"site\":{").count(), 2);
    // In one line each, however often it was asked.
    for relay in [fleet.relay(0), fleet.relay(1)] {
        assert_eq!(
            relay
                .stderr()
                .matches("the store is available again")
                .count(),
            1
        );
    }
}

#[test]
fn a_state_is_copied_to_a_store_and_back_and_lost_nowhere() {
    let alone = Relay::start(&["--enroll-token", TOKEN]);
    let shop = alone.assign(&call("c", "shop"));
    let home = alone.home().clone();
    let data = alone.data();
    let fleet = Fleet::start(1, &[]);
    fleet.database().exec("CREATE DATABASE another");
    let to = fleet.url().replace("/fleet", "/another");
    let copy = |from: &str, to: &str| {
        let args = ["relay", "copy-store", from, to];
        let mut command = home.command(&args);
        let ended = command
            .env("POSTERN_STORE_PASS", STORE_PASSWORD)
            .output()
            .unwrap();
        let text = String::from_utf8([ended.stdout, ended.stderr].concat()).unwrap();
        (ended.status.code(), text)
    };
    let data = data.to_str().unwrap();
    let (code, text) = copy(data, &to);
    assert_eq!(code, Some(1), "a relay runs on it: {text}");
    drop(alone);
    let (code, text) = copy(data, &to);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("connectors: 1"), "{text}");
    for place in [&to, &fleet.url()] {
        let (code, text) = copy(data, place);
        let is_there = text.contains("already a relay state in");
        assert!(code == Some(1) && is_there, "{text}");
    }
    let elsewhere = Home::new();
    let back = elsewhere.path().join("relay");
    let back = back.to_str().unwrap();
    assert_eq!(copy(&to, back).0, Some(0));
    assert_eq!(copy(&to, back).0, Some(1), "it is there");
    let again = Relay::start_in(
        &std::sync::Arc::new(elsewhere),
        &[
            "--listen=127.0.0.1:0",
            "--tunnel-listen=127.0.0.1:0",
            "--enroll-token",
            TOKEN,
        ],
    );
    let there = again.assign(&call("c", "shop"));
    assert_eq!(there["app"]["app_id"], shop["app"]["app_id"]);
    assert_eq!(there["app"]["resource"], shop["app"]["resource"]);
}

#[test]
fn what_is_wrong_with_a_store_is_said_at_the_start() {
    let mut fleet = Fleet::start(1, &[]);
    fleet.members[0].kill();
    let failed = |member: &Member, password: &str| {
        let failed = member.try_begin(password).map(drop).unwrap_err();
        assert_eq!(failed.code, Some(1));
        failed.stderr
    };
    let said = failed(&fleet.members[0], "wrong");
    assert!(
        said.contains("the store denies access") && said.contains("POSTERN_STORE_PASS"),
        "{said}"
    );
    assert!(!said.contains("wrong"), "{said}");
    fleet
        .database()
        .exec("UPDATE fleet.postern_fleet SET form = 99");
    let said = failed(&fleet.members[0], STORE_PASSWORD);
    assert!(said.contains("a newer version (format 99)"), "{said}");
    fleet
        .database()
        .exec("UPDATE fleet.postern_fleet SET form = 2");
    fleet.single().crash();
    let said = failed(&fleet.members[0], STORE_PASSWORD);
    assert!(said.contains("the store is unavailable"), "{said}");
    // Without the store the directory is of no use: nothing is begun anew there.
    let (data, home) = (fleet.members[0].data(), Home::new());
    for args in [
        &[
            "relay",
            "--data",
            &data,
            "--listen=127.0.0.1:0",
            "--tunnel-listen=127.0.0.1:0",
        ][..],
        &["relay", "list", "--data", &data],
    ] {
        let said = home.run(args);
        assert_eq!(said.code, Some(1));
        assert!(
            said.stderr.contains("belongs to a fleet"),
            "{}",
            said.stderr
        );
    }
}

#[test]
fn each_relay_shows_its_operator_the_whole_fleet() {
    let mut fleet = Fleet::start(3, &[]);
    let (one, other) = (fleet.relay(0), fleet.relay(1));
    let shop = one.assign(&call("c", "shop"));
    let remote = format!("R:0.0.0.0:{}:127.0.0.1:9", port(&shop));
    let tunnel = other.tunnel("c", PASSWORD, &[&remote]);
    assert!(tunnel.wait(TIMEOUT));
    let status = one.status();
    let relays = status["relays"].as_array().unwrap();
    let states: Vec<&str> = relays
        .iter()
        .map(|one| one["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["this one", "linked", "linked"]);
    let id = &other.status()["relays"][0]["id"];
    let of = |status: &Value, id: &Value, what: &str| {
        let mut relays = status["relays"].as_array().unwrap().iter();
        relays.find(|one| one["id"] == *id).unwrap()[what].clone()
    };
    assert_eq!(of(&status, id, "connected"), 1);
    assert_eq!(
        of(&status, id, "tunnel_port"),
        other.status()["tunnel_port"]
    );
    assert_eq!(of(&status, id, "version"), env!("CARGO_PKG_VERSION"));
    let connector = &status["connectors"][0];
    assert_eq!(connector["connected"], true, "at the other one");
    assert_eq!(connector["relays"], json!([id]));
    assert_eq!(connector["applications"][0]["connected"], true);
    assert_eq!(
        (&status["connected"], &status["store"]),
        (&json!(1), &json!("ok"))
    );
    // Its own figures are its own.
    assert_eq!(
        status["metrics"]["postern_relay_connectors"]["connected"],
        0
    );
    assert_eq!(status["metrics"]["postern_relay_peers"]["linked"], 2);
    assert_eq!(status["metrics"]["postern_relay_shared_store_up"], 1);
    assert_eq!(status["metrics"]["postern_relay_hops"], 0);
    let id = id.clone();
    fleet.members[1].kill();
    wait_until(TIMEOUT, "its end", || {
        of(&fleet.relay(0).status(), &id, "state") == "away"
    });
    let status = fleet.relay(0).status();
    assert_eq!(of(&status, &id, "connected"), Value::Null);
    assert_eq!(status["connectors"][0]["connected"], false);
    let data = fleet.members[0].data();
    let said = Home::new().run(&["relay", "fleet", "--data", &data]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    for words in ["this one", "linked", "away"] {
        assert!(said.stdout.contains(words), "{}", said.stdout);
    }
    let table = ["relay", "fleet", "--data", &data];
    let table = Home::new().table_on_a_terminal(&table, "RELAY ");
    assert!(table[0].contains("TUNNELS AT"), "{table:?}");
    let alone = Relay::start(&[]);
    let said = Home::new().run(&["relay", "fleet", "--data", alone.data().to_str().unwrap()]);
    assert_eq!(said.code, Some(1));
    assert!(
        said.stderr.contains("not part of a fleet"),
        "{}",
        said.stderr
    );
}

#[test]
fn a_relay_that_may_not_write_or_is_there_twice_does_not_start() {
    let mut fleet = Fleet::start(2, &[]);
    let database = fleet.database();
    database.exec(&format!(
        "CREATE USER onlyreads@'%' IDENTIFIED BY '{STORE_PASSWORD}'; GRANT SELECT ON fleet.* TO onlyreads@'%'"
    ));
    let url = fleet.url();
    let reading = url.replace(&format!("//{USER}@"), "//onlyreads@");
    assert_ne!(url, reading);
    let begin = |home: &std::sync::Arc<Home>, url: &str| {
        let program = KillOnDrop::new(support::postern::binary());
        let program = program.env("POSTERN_STORE_PASS", STORE_PASSWORD);
        let ports = ["listen", "tunnel-listen", "peer-listen"];
        let ports = ports.map(|flag| format!("--{flag}=127.0.0.1:0"));
        let args: Vec<&str> = ports.iter().map(String::as_str).collect();
        let more = ["--drain=0", "--enroll-token", TOKEN, "--store", url];
        Relay::try_start_by(program, home, &[&args[..], &more].concat())
    };
    let failed = begin(&std::sync::Arc::new(Home::new()), &reading).map(drop);
    let said = failed.unwrap_err().stderr;
    assert!(said.contains("the store denies access"), "{said}");
    // A copy of a directory, while its relay runs.
    let copy = std::sync::Arc::new(Home::new());
    let data = copy.path().join("relay");
    std::fs::create_dir(&data).unwrap();
    std::fs::set_permissions(&data, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let id = std::path::Path::new(&fleet.members[0].data()).join("fleet.id");
    std::fs::copy(id, data.join("fleet.id")).unwrap();
    let said = begin(&copy, &url).map(drop).unwrap_err().stderr;
    let peers = fleet.relay(0).said("Other relays: ");
    assert!(
        said.contains("has the same ID") && said.contains(peers.trim()),
        "{said}"
    );
    assert!(said.contains("remove fleet.id"), "{said}");
    assert_eq!(fleet.relay(0).client().get("/health").status(), 200);
    // A relay that has ended in any way frees its place.
    fleet.members[0].kill();
    let moved = begin(&copy, &url).map_err(|failed| failed.stderr);
    assert_eq!(moved.unwrap().client().get("/health").json()["store"], "ok");
}

#[test]
fn the_password_of_the_store_may_be_another_one_while_relays_run() {
    let fleet = Fleet::start(1, &[]);
    let database = fleet.database();
    database
        .exec("CREATE USER rotated@'%' IDENTIFIED BY 'first'; GRANT ALL ON fleet.* TO rotated@'%'");
    let home = std::sync::Arc::new(Home::new());
    let path = home.path().join("store-password");
    std::fs::write(&path, "first\n").unwrap();
    let url = fleet.url().replace(&format!("//{USER}@"), "//rotated@");
    let program = KillOnDrop::new(support::postern::binary());
    let program = program.env("POSTERN_STORE_PASS_FILE", path.to_str().unwrap());
    let ports = ["listen", "tunnel-listen", "peer-listen"];
    let ports = ports.map(|flag| format!("--{flag}=127.0.0.1:0"));
    let args: Vec<&str> = ports.iter().map(String::as_str).collect();
    let more = ["--drain=0", "--enroll-token", TOKEN, "--store", &url];
    let relay = Relay::try_start_by(program, &home, &[&args[..], &more].concat()).unwrap();
    let end_all = || {
        let ids =
            database.column("SELECT id FROM information_schema.processlist WHERE user = 'rotated'");
        for id in ids {
            database.exec(&format!("KILL {id}"));
        }
    };
    let store = || relay.client().get("/health").json()["store"].clone();
    database.exec("ALTER USER rotated@'%' IDENTIFIED BY 'second'");
    end_all();
    wait_until(TIMEOUT, "that it is refused", || store() == "away");
    std::fs::write(&path, "second\n").unwrap();
    wait_until(TIMEOUT, "that the new one is read", || store() == "ok");
    relay.assign(&call("c", "shop"));
    assert!(!relay.stderr().contains("second") && !relay.stderr().contains("first"));
}

/// A relay that does not reach the store lets in whom it knows, but for those of whom another relay says that they are out.
#[test]
fn who_is_turned_out_is_out_too_where_the_store_is_not_reached() {
    let fleet = Fleet::start(2, &[]);
    let (one, cut) = (fleet.relay(0), fleet.relay(1));
    let shop = cut.assign(&call("c", "shop"));
    let stays = cut.assign(&call("d", "stays"));
    let remote = |answer: &Value| format!("R:0.0.0.0:{}:127.0.0.1:9", port(answer));
    let tunnel = cut.tunnel("c", PASSWORD, &[&remote(&shop)]);
    let other = cut.tunnel("d", PASSWORD, &[&remote(&stays)]);
    assert!(tunnel.wait(TIMEOUT) && other.wait(TIMEOUT));
    fleet.members[1].cut_off();
    fleet.wait_store(1, "away");
    wait_until(TIMEOUT, "it knows of the connector", || {
        one.visit("shop", "/").status() != 404
    });
    let revoked = one.operators("DELETE", "/api/connectors/c", b"").data();
    assert_eq!(
        (&revoked["saved"], &revoked["untold"]),
        (&json!(true), &json!([]))
    );
    wait_until(TIMEOUT, "the end of its tunnel", || {
        tunnel.snapshot().status != Status::Connected
    });
    refusal(&tunnel);
    let again = cut.tunnel("c", PASSWORD, &[&remote(&shop)]);
    refusal(&again);
    assert_eq!(cut.call(&call("c", "shop")).status(), 403);
    let by_its_invite = cut.call(&call("new", "new"));
    assert_eq!(by_its_invite.status(), 403, "{}", by_its_invite.text());
    assert_ne!(cut.visit("shop", "/").status(), 502, "its site is nobody's");
    // Nobody else is.
    assert_eq!(other.snapshot().status, Status::Connected);
    assert_eq!(cut.call(&call("d", "stays")).status(), 200);
    fleet.members[1].heal();
    fleet.wait_store(1, "ok");
    assert_eq!(cut.call(&call("c", "shop")).status(), 403);
    let back = cut.operators("DELETE", "/api/revoked/c", b"");
    assert_eq!(back.data()["restored"], true);
    one.assign(&call("c", "shop"));
    // An unreachable relay cannot be told, and the answer says so.
    fleet.members[1].cut_off();
    let pid = rustix::process::Pid::from_raw(cut.pid() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    let revoked = one.operators("DELETE", "/api/connectors/c", b"").data();
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    assert_eq!(revoked["saved"], true);
    assert_eq!(revoked["untold"].as_array().unwrap().len(), 1);
}

/// A name stays reserved for its former owner for 30 days. After that, a repeated call of a known application must not
/// free it at one relay, because the other relays would not learn of it.
#[test]
fn what_is_given_away_in_the_end_is_free_at_all_relays() {
    let fleet = Fleet::start(2, &[]);
    let (one, other) = (fleet.relay(0), fleet.relay(1));
    one.assign(&call("c", "shop"));
    one.assign(&call("gone", "wanted"));
    other.assign(&call("c", "shop"));
    one.operators("DELETE", "/api/connectors/gone", b"");
    let database = fleet.database();
    let invite = one.operators("POST", "/api/invites", br#"{"uses": 10}"#);
    let token = json!({"enroll_token": invite.data()["token"]});
    // All of it was long ago, as the store has it.
    let number: u64 = database
        .value("SELECT number FROM fleet.postern_fleet")
        .parse()
        .unwrap();
    let rows = "SELECT CONCAT(HEX(kind), ' ', HEX(name), ' ', body) FROM fleet.postern_rows \
        WHERE kind <> 'connector' AND body IS NOT NULL";
    let mut changes = format!(
        "START TRANSACTION; UPDATE fleet.postern_fleet SET number = {0}; \
         INSERT INTO fleet.postern_commits (number, id) VALUES ({0}, 'aged');",
        number + 1
    );
    for row in database.column(rows) {
        let parts: Vec<&str> = row.splitn(3, ' ').collect();
        let mut body = parts[2].to_owned();
        for key in ["\"at\":\"", "\"since\":\""] {
            let parts: Vec<&str> = body.split(key).collect();
            let later = parts.iter().skip(1);
            let old = later.map(|part| format!("{key}2001{}", &part[4..]));
            body = std::iter::once(parts[0].to_owned()).chain(old).collect();
        }
        let body: String = body.bytes().map(|byte| format!("{byte:02x}")).collect();
        changes += &format!(
            "UPDATE fleet.postern_rows SET number = {}, body = x'{body}' WHERE kind = x'{}' AND name = x'{}';",
            number + 1,
            parts[0],
            parts[1]
        );
    }
    database.exec(&format!("{changes} COMMIT"));
    for relay in [one, other] {
        wait_until(TIMEOUT, "that it is long ago", || {
            let invites = relay.operators("GET", "/api/invites", b"");
            invites.text().contains("\"at\":\"2001-")
        });
        assert_eq!(relay.call(&call("c", "shop")).status(), 200);
    }
    // Each relay has heard a call that changes nothing; now somebody takes what is free.
    for (relay, name) in [(one, "new-one"), (other, "new-other")] {
        let wish = json!({"site_name": format!("of-{name}")});
        let new = with(with(call(name, "fresh"), wish), token.clone());
        let answer = relay.call(&new);
        assert_eq!(answer.status(), 200, "{}", answer.text());
    }
    let taken = one.call(&with(
        call("new-one", "second"),
        json!({"site_name": "wanted"}),
    ));
    assert!(
        taken.text().contains("//wanted.localhost"),
        "{}",
        taken.text()
    );
}

/// The driver panics over what it does not expect: that ends no thread of ours.
#[test]
fn a_row_that_is_none_makes_the_store_away_until_it_is_gone() {
    let fleet = Fleet::start(2, &[]);
    fleet.relay(0).assign(&call("c", "shop"));
    fleet
        .database()
        .exec("INSERT INTO fleet.postern_relays (id, beat, body) VALUES (0xff, 1, '{}')");
    for at in [0, 1] {
        fleet.wait_store(at, "away");
    }
    assert_eq!(fleet.relay(1).call(&call("c", "shop")).status(), 200);
    fleet
        .database()
        .exec("DELETE FROM fleet.postern_relays WHERE id = 0xff");
    for at in [0, 1] {
        fleet.wait_store(at, "ok");
    }
    fleet.relay(1).assign(&call("c", "till"));
}

/// As the page about fleets says, where the secret may be known to somebody.
#[test]
fn the_secret_of_a_fleet_may_be_another_one_after_all_have_ended() {
    let mut fleet = Fleet::start(2, &[]);
    let shop = fleet.relay(0).assign(&call("c", "shop"));
    fleet.members.iter_mut().for_each(Member::kill);
    fleet
        .database()
        .exec("UPDATE fleet.postern_fleet SET secret = RANDOM_BYTES(32)");
    fleet.members.iter_mut().for_each(Member::begin);
    fleet.wait_linked();
    wait_until(TIMEOUT, "links with the new one", || {
        fleet.relay(0).status()["metrics"]["postern_relay_peers"]["linked"] == 1
    });
    let again = fleet.relay(1).assign(&call("c", "shop"));
    assert_eq!(again["app"]["app_id"], shop["app"]["app_id"]);
}

/// By the first relay of this version, once, with all that is in it.
#[test]
fn a_store_of_an_earlier_version_is_moved_and_nothing_is_lost() {
    let store = Store::single();
    let database = &store.servers()[0];
    database.exec("CREATE DATABASE fleet");
    let tables = include_str!("../data/fleet-form-1.sql");
    database.exec(&format!("USE fleet; {tables}"));
    let before = database.value("SELECT body FROM fleet.postern_rest WHERE id = 1");
    let home = Home::new();
    let from = format!("mysql://{USER}@{}/fleet", database.target());
    let mut command = home.command(&["relay", "copy-store", &from, "copy"]);
    let refused = command
        .env("POSTERN_STORE_PASS", STORE_PASSWORD)
        .output()
        .unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success(), "{said}");
    assert!(said.contains("an older version (format 1)"), "{said}");
    let fleet = Fleet::on(store, 2, &[]);
    let database = fleet.database();
    assert_eq!(database.value("SELECT form FROM fleet.postern_fleet"), "2");
    assert_eq!(
        database.value("SELECT CONCAT(lowest, highest) FROM fleet.postern_forms"),
        "22"
    );
    assert_eq!(
        database.value("SELECT number FROM fleet.postern_fleet"),
        "9",
        "once"
    );
    assert_eq!(
        database.value("SELECT body FROM fleet.postern_rest WHERE id = 2"),
        before
    );
    for relay in fleet.running() {
        let status = relay.status();
        let names = |list: &str| {
            let list = status[list].as_array().unwrap().iter();
            list.map(|one| one["name"].as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(names("connectors"), ["ann", "bob"]);
        assert_eq!(names("revoked"), ["eve"]);
        let invites = relay.operators("GET", "/api/invites", b"").data();
        assert!(invites.to_string().contains("for the team"), "{invites}");
        assert_eq!(relay.call(&call("eve", "blog")).status(), 403);
        let rival = with(call("bob", "till"), json!({"site_name": "till"}));
        let url = relay.assign(&rival)["app"]["site_url"].to_string();
        assert!(!url.contains("//till."), "it is kept for ann: {url}");
    }
}
