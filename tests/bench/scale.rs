//! One relay with 2,000 connectors and 10,000 sites on this machine: `make bench-scale`, or with other numbers
//! `cargo bench --locked --profile release --bench scale -- CONNECTORS SITES`. `POSTERN_BIN` measures another build.
//!
//! The relay is the real program; it may open as many files as `ulimit -Hn` says. The connectors are light: one tunnel
//! each in this process, with the main tunnel's remote and those of all its sites, where `postern start` has a tunnel for
//! each. They lead to one application here.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "a measuring program: a panic is how it reports"
)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use postern::tunnel::client::{HostKeyCheck, Settings, Tunnel};
use serde_json::{Value, json};
use support::Home;
use support::http::{Client, Conn, JSON};
use support::manager::Target;
use support::relay::{PASSWORD, Relay, body, enlarge, with};

/// Calls and requests that a figure is of.
const RUNS: usize = 300;
/// Callers at once.
const AT_ONCE: usize = 16;
/// Time in which all tunnels are up.
const CONNECTED: Duration = Duration::from_secs(600);
/// Tunnels that connect at once.
const DIALS: usize = 64;

fn main() {
    let mut numbers = std::env::args().filter_map(|argument| argument.parse().ok());
    let connectors: usize = numbers.next().unwrap_or(2_000);
    let sites: usize = numbers.next().unwrap_or(5);
    let target = Target::start();
    let home = Arc::new(Home::new());
    let relay = start(&home);
    let empty = relay.rss_kib();
    let token = relay.enrol_token();
    relay.assign(&with(
        call("first", "first", &target),
        json!({"enroll_token": token}),
    ));
    println!("resident, empty: {empty} KiB");
    quick_setup("with one connector", &relay, &target, "first");
    let data = relay.data();
    let fresh = restart(relay, &home);
    drop(fresh);
    enlarge(&data, connectors, sites);

    let count = connectors * sites;
    let begun = Instant::now();
    let relay = start(&home);
    let file = std::fs::metadata(data.join("relay.rows")).unwrap().len();
    println!(
        "{connectors} connectors, {count} sites: state of {} KiB",
        file / 1024
    );
    println!("start: {:.0?}", begun.elapsed());
    let known = relay.rss_kib();
    println!(
        "resident, none connected: {known} KiB, {:.2} KiB a site",
        per(known - empty, count)
    );
    quick_setup("none connected", &relay, &target, "c7");

    let begun = Instant::now();
    let tunnels = connect(&relay, connectors, sites, &target);
    println!("all connected after {:.1?}", begun.elapsed());
    let connected = relay.rss_kib();
    println!(
        "resident, connected: {connected} KiB, {:.1} KiB a connector with {sites} sites; {} threads, {} descriptors",
        per(connected.saturating_sub(known), connectors),
        support::postern::status_field(relay.pid(), "Threads:"),
        std::fs::read_dir(format!("/proc/{}/fd", relay.pid()))
            .unwrap()
            .count(),
    );
    requests("one site", &relay, || "s7-0".to_owned());
    let mut next = 0;
    requests("another site each", &relay, || {
        next += 7;
        format!("s{}-{}", next % connectors, next % sites)
    });
    quick_setup("all connected", &relay, &target, "c8");
    storm(&relay, connectors.min(500), sites, &target);
    let begun = Instant::now();
    let listed = home.run(&["relay", "list"]);
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    println!(
        "relay list: {:.0?}, {} lines",
        begun.elapsed(),
        listed.stdout.lines().count()
    );
    println!("resident at the end: {} KiB", relay.rss_kib());
    drop(tunnels);
}

fn start(home: &Arc<Home>) -> Relay {
    let args = [
        "--listen=127.0.0.1:0",
        "--tunnel-listen=127.0.0.1:0",
        "--public-url=https://localhost",
        "--trust-proxy=127.0.0.1",
        "--shared-host-ports",
    ];
    Relay::start_quietly(home, &args)
}

/// So that what was not worth a write is on disk.
fn restart(relay: Relay, home: &Arc<Home>) -> Relay {
    drop(relay);
    start(home)
}

fn call(connector: &str, app: &str, target: &Target) -> Value {
    body(connector, app, "http", target.port())
}

fn per(kib: u64, count: usize) -> f64 {
    kib as f64 / count as f64
}

/// Light connectors, each with one tunnel.
fn connect(relay: &Relay, connectors: usize, sites: usize, target: &Target) -> Vec<Tunnel> {
    let state = support::relay::state(&relay.data());
    let mut tunnels = Vec::new();
    let deadline = Instant::now() + CONNECTED;
    let wait = |tunnel: &Tunnel| {
        let left = deadline.saturating_duration_since(Instant::now());
        assert!(tunnel.wait(left), "{:?}", tunnel.snapshot());
    };
    for number in 0..connectors {
        let name = format!("c{number}");
        let known = &state["connectors"][&name];
        let main = format!("R:0.0.0.0:{}:localhost:4000", known["api_port"]);
        let site = |site: usize| {
            let port = &known["applications"][site]["port"];
            format!("R:127.0.0.1:{port}:127.0.0.1:{}", target.port())
        };
        let remotes: Vec<String> = [main].into_iter().chain((0..sites).map(site)).collect();
        tunnels.push(tunnel(relay.tunnel, &name, &remotes));
        if let Some(before) = number.checked_sub(DIALS) {
            wait(&tunnels[before]);
        }
    }
    tunnels.iter().for_each(wait);
    tunnels
}

fn tunnel(to: SocketAddr, user: &str, remotes: &[String]) -> Tunnel {
    let endpoint = format!("ws://{to}").parse().unwrap();
    let remotes = remotes.iter().map(|remote| remote.parse().unwrap());
    let mut settings = Settings::new(endpoint, remotes.collect());
    settings.user = user.to_owned();
    settings.password = PASSWORD.to_owned().into();
    settings.host_key = HostKeyCheck::Any;
    Tunnel::start(settings).unwrap()
}

/// Calls for what is known, which changes nothing, and for what is new, one after the other and many at once.
fn quick_setup(when: &str, relay: &Relay, target: &Target, connector: &str) {
    let known = |_: usize| call(connector, "bench", target);
    ask(&mut relay.client(), &known(0));
    show(
        &format!("quick-setup of a known site, {when}"),
        calls(relay, 1, RUNS, known),
    );
    // Another name of the application is another assignment, and no new site.
    let changed =
        |number: usize| with(known(0), json!({"display_name": format!("bench {number}")}));
    show(
        &format!("quick-setup that changes, {when}"),
        calls(relay, 1, RUNS, changed),
    );
    let of = |number: usize| {
        let name = format!("c{}", number % 100);
        with(
            call(&name, "bench", target),
            json!({"display_name": number.to_string()}),
        )
    };
    if connector != "first" {
        let app = when.replace(' ', "-");
        let new = |number: usize| call(&format!("c{}", 100 + number), &app, target);
        show(
            &format!("quick-setup of a new site, {when}"),
            calls(relay, 1, RUNS.min(80), new),
        );
        show(
            &format!("the same that changes, {AT_ONCE} at once"),
            calls(relay, AT_ONCE, RUNS, of),
        );
    }
}

/// All come back at once, as after a restart of the relay.
fn storm(relay: &Relay, connectors: usize, sites: usize, target: &Target) {
    // The first time is for what the state has of another target.
    for turn in ["", " again"] {
        let begun = Instant::now();
        let of = |number: usize| {
            let (connector, site) = (number / sites, number % sites);
            call(&format!("c{connector}"), &format!("k{site}"), target)
        };
        let all = calls(relay, AT_ONCE, connectors * sites, of);
        println!(
            "{} calls of {connectors} connectors{turn}: {:.1?}",
            all.len(),
            begun.elapsed()
        );
        show("each", all);
    }
}

/// Duration of each call.
fn calls(
    relay: &Relay,
    at_once: usize,
    count: usize,
    body: impl Fn(usize) -> Value + Sync,
) -> Vec<Duration> {
    let body = &body;
    std::thread::scope(|scope| {
        let callers = (0..at_once).map(|caller| {
            scope.spawn(move || {
                let mut client = relay.client();
                let numbers = (caller..count).step_by(at_once);
                let took = numbers.map(|number| {
                    let begun = Instant::now();
                    ask(&mut client, &body(number));
                    begun.elapsed()
                });
                took.collect::<Vec<_>>()
            })
        });
        let callers: Vec<_> = callers.collect();
        let all = callers
            .into_iter()
            .flat_map(|caller| caller.join().unwrap());
        all.collect()
    })
}

fn ask(client: &mut Client, body: &Value) {
    let path = "/api/public/quick-setup";
    let answer = client.send("POST", path, &[JSON], body.to_string().as_bytes());
    assert_eq!(answer.status(), 200, "{}", answer.text());
}

/// Requests one after the other, each on a connection of its own.
fn requests(what: &str, relay: &Relay, mut site: impl FnMut() -> String) {
    let trips = (0..RUNS).map(|_| {
        let request = format!("GET / HTTP/1.1\r\nHost: {}.localhost\r\n\r\n", site());
        let begun = Instant::now();
        let mut conn = Conn::open(&relay.address.to_string()).unwrap();
        conn.send_raw(request.as_bytes()).unwrap();
        let (answer, _) = conn.receive("GET").unwrap();
        assert_eq!(answer.status(), 200, "{}", answer.text());
        begun.elapsed()
    });
    let trips = trips.collect();
    show(&format!("request through the gateway, {what}"), trips);
}

fn show(what: &str, mut took: Vec<Duration>) {
    took.sort();
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize];
    println!(
        "{what}: median {:.2?}, p99 {:.2?}, worst {:.2?} of {}",
        at(0.5),
        at(0.99),
        at(1.0),
        took.len()
    );
}
