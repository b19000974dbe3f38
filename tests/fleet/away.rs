//! Relays that are away for long, for connectors: other relays take their place. A store that is not what it was, for
//! relays: nothing is taken over from it.

use postern::tunnel::client::Status;
use serde_json::{Value, json};
use support::database::PASSWORD as STORE_PASSWORD;
use support::fleet::{Fleet, TOKEN};
use support::relay::{PASSWORD, Relay, body, refusal, with};
use support::share::Sharing;
use support::{Home, TIMEOUT, wait_until};

use super::visitors::{from, page};

/// A command that shares a page through the balancer, and its site's `Host`.
fn share(fleet: &Fleet, front: std::net::SocketAddr, home: &Home) -> (Sharing, String) {
    let (server, target) = (
        format!("http://localhost:{}", front.port()),
        format!("127.0.0.1:{}", page()),
    );
    let args = ["http", &target, "--server", &server, "--name", "shop"];
    let more = ["--visible", "--no-open", "--enroll-token", TOKEN];
    let sharing = Sharing::start(home, &[&args[..], &more].concat());
    let link = sharing.link();
    let host = link.strip_prefix("http://").unwrap().trim_end_matches('/');
    wait_until(TIMEOUT, "tunnels to two relays", || {
        holders(fleet).len() == 2
    });
    (sharing, host.to_owned())
}

/// The relays that hold the tunnel of the one site.
fn holders(fleet: &Fleet) -> Vec<usize> {
    let running = fleet.members.iter().enumerate();
    let running = running.filter_map(|(at, member)| Some((at, member.relay.as_ref()?)));
    let holds = |relay: &Relay| {
        let status = relay.status();
        let own = &status["relays"][0]["id"];
        let mut connectors = status["connectors"].as_array().unwrap().iter();
        connectors.any(|one| one["relays"].as_array().unwrap().contains(own))
    };
    let holders = running.filter(|(_, relay)| holds(relay));
    holders.map(|(at, _)| at).collect()
}

fn is_served(front: std::net::SocketAddr, host: &str) -> bool {
    use std::io::{Read as _, Write as _};
    let Ok(mut socket) = from([127, 1, 9, 9].into(), front) else {
        return false;
    };
    let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    let mut answer = Vec::new();
    socket.write_all(request.as_bytes()).is_ok()
        && socket.read_to_end(&mut answer).is_ok()
        && answer.starts_with(b"HTTP/1.1 200")
}

/// Each has its own host key, and a path of its own behind the one web server.
#[test]
fn where_no_port_gets_out_both_relays_are_reached_by_their_urls() {
    let url = "--tunnel-url=ws://localhost:{PORT}/.postern/tunnel/{AT}";
    // Ports where nobody is, and no ports.
    for ports in ["--external-ip=127.0.0.2", "--tunnel-listen=none"] {
        let fleet = Fleet::start(2, &[url, ports]);
        let front = fleet.front();
        let home = Home::new();
        let (_sharing, host) = share(&fleet, front.address, &home);
        assert!(is_served(front.address, &host), "{ports}");
    }
}

#[test]
fn where_both_relays_of_a_connector_are_gone_the_third_has_its_site_soon() {
    let mut fleet = Fleet::start(3, &[]);
    let front = fleet.front();
    let home = Home::new();
    let (_sharing, host) = share(&fleet, front.address, &home);
    assert!(is_served(front.address, &host));
    let gone = holders(&fleet);
    for at in &gone {
        fleet.members[*at].kill();
    }
    wait_until(TIMEOUT, "the site by the relay that is left", || {
        is_served(front.address, &host)
    });
    // The others are back, with nothing of it; one that goes again is missed by nobody.
    for at in &gone {
        fleet.members[*at].begin();
    }
    fleet.wait_linked();
    wait_until(TIMEOUT, "two relays again", || holders(&fleet).len() >= 2);
    assert!(is_served(front.address, &host));
}

#[test]
fn a_relay_that_is_gone_for_a_minute_gives_its_place_to_another() {
    let mut fleet = Fleet::start(3, &[]);
    let front = fleet.front();
    let home = Home::new();
    let (_sharing, host) = share(&fleet, front.address, &home);
    let (gone, stays) = (holders(&fleet)[0], holders(&fleet)[1]);
    fleet.members[gone].kill();
    let other = 3 - gone - stays;
    wait_until(2 * TIMEOUT, "the third holds it", || {
        holders(&fleet).contains(&other)
    });
    // One after another, as machines are replaced: nobody is without a relay.
    fleet.members[stays].kill();
    wait_until(TIMEOUT, "the site by the third", || {
        is_served(front.address, &host)
    });
}

fn call(app: &str) -> Value {
    let changes = json!({"enroll_token": TOKEN, "site_name": app});
    with(body("c", app, "http", 9), changes)
}

/// True if a relay knows a site that has no tunnel.
fn knows(relay: &Relay, site: &str) -> bool {
    relay.visit(site, "/").status() == 502
}

#[test]
fn a_store_that_was_emptied_or_is_another_ones_takes_nothing_from_the_relays() {
    let mut fleet = Fleet::start(2, &[]);
    fleet.relay(0).assign(&call("shop"));
    wait_until(TIMEOUT, "it is known", || knows(fleet.relay(1), "shop"));
    fleet.database().exec("DROP DATABASE fleet");
    for at in [0, 1] {
        fleet.wait_store(at, "away");
    }
    fleet.database().exec("CREATE DATABASE fleet");
    // A relay that begins there begins anew: that is no state of those that run.
    fleet.members[1].kill();
    fleet.members[1].begin();
    fleet.wait_store(1, "ok");
    assert_eq!(fleet.relay(1).visit("shop", "/").status(), 404);
    fleet.relay(1).assign(&call("other"));
    for _ in 0..5 {
        let refused = fleet.relay(0).call(&call("new"));
        assert_eq!(refused.status(), 503, "{}", refused.text());
        assert!(knows(fleet.relay(0), "shop"), "it is not forgotten");
    }
    fleet.wait_store(0, "away");
    let said = fleet.relay(0).stderr();
    assert!(said.contains("another fleet's state"), "{said}");
    assert!(!said.contains(STORE_PASSWORD));
}

#[test]
fn a_store_that_was_put_back_from_a_backup_holds_and_that_is_said() {
    let fleet = Fleet::start(2, &[]);
    fleet.relay(0).assign(&call("shop"));
    let tables = ["fleet", "rows", "commits"];
    let database = fleet.database();
    for table in tables {
        let copy =
            format!("CREATE TABLE fleet.kept_{table} AS SELECT * FROM fleet.postern_{table}");
        database.exec(&copy);
    }
    let till = fleet.relay(0).assign(&call("till"));
    wait_until(TIMEOUT, "it is known", || knows(fleet.relay(1), "till"));
    let remote = format!("R:0.0.0.0:{}:127.0.0.1:9", till["app"]["resource"]["port"]);
    let tunnels = [0, 1].map(|at| fleet.relay(at).tunnel("c", PASSWORD, &[&remote]));
    assert!(tunnels.iter().all(|tunnel| tunnel.wait(TIMEOUT)));
    let put_back = tables.map(|table| {
        let (to, of) = (
            format!("fleet.postern_{table}"),
            format!("fleet.kept_{table}"),
        );
        format!("DELETE FROM {to}; INSERT INTO {to} SELECT * FROM {of};")
    });
    database.exec(&format!("START TRANSACTION; {} COMMIT", put_back.concat()));
    for relay in [fleet.relay(0), fleet.relay(1)] {
        wait_until(TIMEOUT, "it is forgotten", || !knows(relay, "till"));
        assert!(knows(relay, "shop"));
        assert!(relay.stderr().contains("perhaps from a backup"));
    }
    // Its connector learns that too, or would show for ever that it is connected.
    for tunnel in &tunnels {
        wait_until(TIMEOUT, "the end of its tunnel", || {
            tunnel.snapshot().status != Status::Connected
        });
        refusal(tunnel);
    }
    fleet.relay(1).assign(&call("till"));
    wait_until(TIMEOUT, "it is known again", || {
        knows(fleet.relay(0), "till")
    });
}
