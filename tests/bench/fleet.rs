//! What a fleet costs beside a single relay, by turns on this machine: quick-setup with the state in files, in one MariaDB
//! and in a Galera cluster of three; a request by the relay that has the tunnel, and by way of another one. Medians.
//! `POSTERN_BIN` measures another build than cargo's.
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
    for _ in 0..REQUESTS {
        for (at, client) in clients.iter_mut().enumerate() {
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
