//! `postern relay`: what it holds. Printed with `--nocapture`; `POSTERN_BIN` measures another build. The bounds are the
//! promised figures for a released build, three times that for others, whose code takes more pages.

use postern::tunnel::client::Tunnel;
use serde_json::json;
use support::TIMEOUT;
use support::manager::Target;
use support::relay::{PASSWORD, Relay, body, with};

const CONNECTORS: usize = 50;
/// KiB promised without a connector, and with all of them.
const IDLE: u64 = 6 * 1024;
const BUSY: u64 = 40 * 1024;

/// As a manager connects: a main tunnel and one for the application.
fn connect(relay: &Relay, token: &str, name: &str, target: &Target) -> [Tunnel; 2] {
    let wanted = with(
        body(name, "shop", "http", target.port()),
        json!({"enroll_token": token, "site_name": format!("site-of-{name}")}),
    );
    // A proxy's visitors are counted one by one: fifty calls from one address would be a flood.
    let from = format!("192.0.2.{}", name.trim_start_matches('c'));
    let headers = [
        ("Content-Type", "application/json"),
        ("X-Forwarded-For", from.as_str()),
    ];
    let mut client = relay.client();
    let answer = client.send(
        "POST",
        "/api/public/quick-setup",
        &headers,
        wanted.to_string().as_bytes(),
    );
    let assigned = answer.data();
    let main = format!(
        "R:0.0.0.0:{}:localhost:4000",
        assigned["connector"]["api_port"]
    );
    let site = format!(
        "R:127.0.0.1:{}:127.0.0.1:{}",
        assigned["app"]["resource"]["port"],
        target.port()
    );
    [main, site].map(|remote| relay.tunnel(name, PASSWORD, &[&remote]))
}

#[test]
fn what_it_holds() {
    let released = std::env::var_os("POSTERN_BIN").is_some();
    // Nine tenths of a debug build's are pages of its file, 17 MB: there the rest is what counts.
    let (field, slack) = if released {
        ("VmRSS:", 1)
    } else {
        ("RssAnon:", 3)
    };
    let resident = |relay: &Relay| support::postern::status_field(relay.pid(), field);
    let target = Target::start();
    let relay = Relay::start(&["--public-url=https://localhost", "--trust-proxy=127.0.0.1"]);
    let idle = resident(&relay);
    println!("resident without a connector: {idle} KiB (promised {IDLE})");
    assert!(idle <= IDLE * slack, "{idle} KiB");

    let token = relay.enrol_token();
    let tunnels: Vec<[Tunnel; 2]> = (0..CONNECTORS)
        .map(|number| connect(&relay, &token, &format!("c{number}"), &target))
        .collect();
    for tunnel in tunnels.iter().flatten() {
        assert!(tunnel.wait(TIMEOUT), "{:?}", tunnel.snapshot());
    }
    let connected = resident(&relay);
    for number in 0..CONNECTORS {
        let answer = relay.visit(&format!("site-of-c{number}"), "/");
        assert_eq!(answer.status(), 200, "{number}: {}", answer.text());
    }
    let used = resident(&relay);
    println!(
        "resident with {CONNECTORS} connectors: {connected} KiB, each site visited once: {used} KiB (promised {BUSY})"
    );
    assert!(used <= BUSY * slack, "{used} KiB");
}
