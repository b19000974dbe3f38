//! Cost of a fleet compared with a single relay, measured in turns on this machine. Quick-setup runs with the state in
//! files, in one MariaDB and in a Galera cluster of three. A request goes through the relay that has the tunnel, and
//! through another one. The results are medians. The units for the documentation's growth estimates follow: statements,
//! and memory of a site and a connector. `POSTERN_BIN` measures another build than cargo's.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "a measuring program: a panic is how it reports"
)]

use std::net::TcpStream;
use std::time::{Duration, Instant};

use postern::tunnel::client::Tunnel;
use serde_json::{Value, json};
use support::TIMEOUT;
use support::fleet::{Fleet, Store, TOKEN};
use support::galera::Cluster;
use support::gateway::{application, read_request};
use support::http::Client;
use support::relay::{PASSWORD, Relay, body, with};

/// Calls of each kind.
const CALLS: usize = 201;
/// Requests of each kind.
const REQUESTS: usize = 2001;
/// Applications of one connector: it may have a hundred.
const EACH: usize = 50;

fn main() {
    let alone = Relay::start(&["--trust-proxy", "127.0.0.1", "--enroll-token", TOKEN]);
    let single = Fleet::start(2, &[]);
    let cluster = Fleet::on(Store::Cluster(Cluster::start()), 3, &[]);
    let relays = [
        ("files", &alone),
        ("one MariaDB", single.relay(0)),
        ("Galera, three nodes", cluster.relay(0)),
    ];
    quick_setup(&relays, "a new application", |number| number);
    quick_setup(&relays, "a known one", |_| 0);
    let tunnels = [
        share(&alone, &alone),
        share(single.relay(0), single.relay(1)),
    ];
    requests(&[
        ("a single relay", &alone),
        ("a fleet, the relay that has the tunnel", single.relay(1)),
        ("a fleet, one hop", single.relay(0)),
    ]);
    drop(tunnels);
    units(&Fleet::start(3, &[]));
}

/// Connectors and sites of each that the units are measured with.
const UNITS: (usize, usize) = (600, 5);
/// Time in which an idle fleet's statements are counted.
const IDLE: Duration = Duration::from_secs(20);

/// Measures the statements that an idle fleet of three sends to the store, and those of a change. Also measures the
/// memory of a relay for a known site, and for a connector with a tunnel and its sites.
fn units(fleet: &Fleet) {
    let (connectors, sites) = UNITS;
    let count = |what: &str| {
        let status = format!(
            "SELECT variable_value FROM information_schema.global_status WHERE variable_name = '{what}'"
        );
        fleet.database().value(&status).parse::<u64>().unwrap()
    };
    let all = || ["Questions", "Com_insert"].map(count);
    let (began, before) = (Instant::now(), all());
    std::thread::sleep(IDLE);
    let (seconds, after) = (began.elapsed().as_secs_f64(), all());
    let a_relay = |at: usize| (after[at] - before[at]) as f64 / seconds / 3.0;
    println!(
        "the store, idle, a relay: {:.1} statements a second, of which {:.2} write",
        a_relay(0),
        a_relay(1)
    );
    let [holder, other] = [0, 1].map(|at| fleet.relay(at));
    let known = [holder, other].map(Relay::rss_kib);
    let (began, before) = (Instant::now(), count("Questions"));
    let answers: Vec<Vec<Value>> = (0..connectors)
        .map(|number| {
            let name = format!("u{number}");
            let new = |site: usize| {
                let app = format!("u{number}-{site}");
                let changes = json!({"enroll_token": TOKEN, "site_name": app});
                let source = format!("127.3.{}.{}", number / 200, number % 200 + 1);
                holder
                    .call_from(&source, &with(body(&name, &app, "http", 9), changes))
                    .data()
            };
            (0..sites).map(new).collect()
        })
        .collect();
    let idle = a_relay(0) * 3.0 * began.elapsed().as_secs_f64();
    let changes = (connectors * sites) as f64;
    println!(
        "the store, a new site: {:.1} statements, those of three relays that follow among them; {:.0} changes a second, one caller",
        ((count("Questions") - before) as f64 - idle) / changes,
        changes / began.elapsed().as_secs_f64()
    );
    support::wait_until(TIMEOUT, "the last of them", || {
        other
            .visit(&format!("u{}-{}", connectors - 1, sites - 1), "/")
            .status()
            == 502
    });
    let after = [holder, other].map(Relay::rss_kib);
    for (which, at) in [("that assigned it", 0), ("that follows", 1)] {
        println!(
            "a site that is known, {connectors} connectors with {sites} each: {:.2} KiB at the relay {which}",
            after[at].saturating_sub(known[at]) as f64 / changes
        );
    }
    let known = holder.rss_kib();
    let tunnels: Vec<Tunnel> = answers
        .iter()
        .enumerate()
        .map(|(number, sites)| {
            let remote =
                |site: &Value| format!("R:0.0.0.0:{}:127.0.0.1:9", site["app"]["resource"]["port"]);
            let remotes: Vec<String> = sites.iter().map(remote).collect();
            let remotes: Vec<&str> = remotes.iter().map(String::as_str).collect();
            holder.tunnel(&format!("u{number}"), PASSWORD, &remotes)
        })
        .collect();
    assert!(tunnels.iter().all(|tunnel| tunnel.wait(TIMEOUT)));
    println!(
        "a connector with one tunnel for {sites} sites: {:.0} KiB",
        holder.rss_kib().saturating_sub(known) as f64 / connectors as f64
    );
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn call(number: usize) -> Value {
    let (connector, app) = (format!("c{}", number / EACH), format!("app{number}"));
    with(
        body(&connector, &app, "http", 9),
        json!({"enroll_token": TOKEN, "site_name": app}),
    )
}

fn quick_setup(relays: &[(&str, &Relay)], what: &str, which: impl Fn(usize) -> usize) {
    let mut clients: Vec<Client> = relays.iter().map(|(_, relay)| relay.client()).collect();
    let mut times = vec![Vec::new(); relays.len()];
    for number in 0..CALLS {
        for (client, times) in clients.iter_mut().zip(&mut times) {
            let began = Instant::now();
            let answer = client.post("/api/public/quick-setup", &call(which(number)));
            times.push(began.elapsed());
            assert_eq!(answer.status(), 200, "{}", answer.text());
        }
    }
    for ((store, _), times) in relays.iter().zip(times) {
        println!(
            "quick-setup of {what}, state in {store}: {:.2?}",
            median(times)
        );
    }
}

/// A site `shop`, known by one relay and with its tunnel at another one.
fn share(known: &Relay, held: &Relay) -> Tunnel {
    let target = application(|mut stream: TcpStream| {
        let mut rest = Vec::new();
        let answer = [
            b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n".to_vec(),
            vec![b'x'; 1000],
        ]
        .concat();
        while read_request(&mut stream, &mut rest).is_some() {
            if std::io::Write::write_all(&mut stream, &answer).is_err() {
                return;
            }
        }
    });
    let changes = json!({"enroll_token": TOKEN, "site_name": "shop"});
    let site = known.assign(&with(body("shopkeeper", "shop", "http", 9), changes));
    let port = &site["app"]["resource"]["port"];
    let remote = format!("R:0.0.0.0:{port}:127.0.0.1:{target}");
    let tunnel = held.tunnel("shopkeeper", PASSWORD, &[&remote]);
    assert!(tunnel.wait(TIMEOUT));
    tunnel
}

/// On one connection each, from a visitor whom the balancer names.
fn requests(relays: &[(&str, &Relay)]) {
    let mut clients: Vec<Client> = relays.iter().map(|(_, relay)| relay.client()).collect();
    let mut times = vec![Vec::new(); relays.len()];
    for round in 0..REQUESTS {
        // Each comes after each of the others: what a request finds awake is the same for all.
        for turn in 0..relays.len() {
            let at = (round * 2 + turn * (1 + round % 2)) % relays.len();
            let client = &mut clients[at];
            let host = format!("shop.localhost:{}", relays[at].1.address.port());
            let headers = [
                ("Host", host.as_str()),
                ("Origin", ""),
                ("X-Forwarded-For", "192.0.2.7"),
            ];
            let began = Instant::now();
            let answer = client.send("GET", "/", &headers, b"");
            times[at].push(began.elapsed());
            assert_eq!((answer.status(), answer.body.len()), (200, 1000));
        }
    }
    let first = median(times[0].clone());
    for ((what, _), times) in relays.iter().zip(times) {
        let took = median(times);
        let ratio = took.as_secs_f64() / first.as_secs_f64();
        println!("a request of 1,000 bytes, {what}: {took:.0?}, {ratio:.2} of the first");
    }
}
