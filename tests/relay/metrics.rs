//! `/metrics` of the relay: read by the rules of Prometheus' text format, by its own tool, and by Prometheus.

use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use postern::tunnel::client::Tunnel;
use serde_json::{Value, json};
use support::gateway::{Client as Visitor, application, read_request};
use support::http::Client;
use support::kill_on_drop::KillOnDrop;
use support::prometheus::{Samples, parsed, program, promtool, same_lines, value};
use support::relay::{PASSWORD, Relay, body, with};
use support::{Home, TIMEOUT, free_port, wait_until};

const METRICS: &str = "--metrics-listen=127.0.0.1:0";

/// Address of a relay's metrics.
fn address(relay: &Relay) -> String {
    let url = relay.said("Metrics: ");
    let url = url.trim().strip_prefix("http://").expect("an address");
    url.strip_suffix("/metrics").expect("a path").to_owned()
}

fn text(relay: &Relay) -> String {
    let answer = Client::new(&address(relay)).get("/metrics");
    assert_eq!(answer.status(), 200);
    let kind = answer.header("content-type").unwrap();
    assert_eq!(kind, "text/plain; version=0.0.4; charset=utf-8");
    answer.text().to_owned()
}

fn figures(relay: &Relay) -> Samples {
    parsed(&text(relay))
}

/// A figure of the relay's own, with at most one label.
fn figure(of: &Samples, name: &str, labels: &[(&str, &str)]) -> f64 {
    let name = format!("postern_relay_{name}");
    value(of, &name, labels).unwrap_or_else(|| panic!("no {name} {labels:?}"))
}

#[track_caller]
fn wait_for(relay: &Relay, name: &str, labels: &[(&str, &str)], is: impl Fn(f64) -> bool) {
    wait_until(TIMEOUT, name, || is(figure(&figures(relay), name, labels)));
}

/// Answers each request with a few bytes, and keeps the connection.
fn answering() -> u16 {
    application(|mut stream| {
        let mut rest = Vec::new();
        while read_request(&mut stream, &mut rest).is_some() {
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
            if stream.write_all(answer).is_err() {
                return;
            }
        }
    })
}

/// Nobody listens there.
fn closed() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn share(relay: &Relay, app: &str, protocol: &str, port: u16, more: Value) -> Tunnel {
    let assigned = relay.assign(&with(body("one", app, protocol, port), more));
    let remote = assigned["app"]["resource"]["port"].clone();
    let tunnel = relay.tunnel(
        "one",
        PASSWORD,
        &[&format!("R:127.0.0.1:{remote}:127.0.0.1:{port}")],
    );
    assert!(tunnel.wait(TIMEOUT), "{:?}", tunnel.snapshot());
    tunnel
}

#[test]
fn what_passes_and_what_is_refused_is_counted_and_promtool_has_nothing_to_say() {
    let relay = Relay::start(&[METRICS]);
    promtool(&text(&relay));
    let before = figures(&relay);
    let port = answering();
    let _shop = share(&relay, "shop", "http", port, json!({}));
    let _hidden = share(&relay, "hidden", "http", port, json!({"invisible": true}));
    let allow = json!({"allow": ["192.0.2.0/24"]});
    let _others = share(&relay, "others", "http", port, allow);
    let _down = share(&relay, "down", "http", closed(), json!({}));
    relay.assign(&body("one", "away", "http", port));
    for _ in 0..3 {
        assert_eq!(relay.visit("shop", "/").status(), 200);
    }
    for (site, status, cause) in [
        ("hidden", 401, "code_asked"),
        ("others", 403, "not_allowed"),
        ("down", 502, "target_down"),
        ("away", 502, "tunnel_down"),
        ("nothing", 404, "unknown_site"),
    ] {
        assert_eq!(relay.visit(site, "/").status(), status, "{site}");
        wait_for(&relay, "refusals_total", &[("cause", cause)], |n| n == 1.0);
    }
    let wrong = relay.visit("hidden", "/.postern/auth?code=wrong");
    assert_eq!(wrong.status(), 401);
    wait_for(&relay, "refusals_total", &[("cause", "wrong_code")], |n| {
        n == 1.0
    });
    wait_for(&relay, "requests_total", &[("class", "4xx")], |n| n == 4.0);
    let of = figures(&relay);
    assert_eq!(figure(&of, "requests_total", &[("class", "2xx")]), 3.0);
    assert_eq!(figure(&of, "requests_total", &[("class", "5xx")]), 2.0);
    assert_eq!(figure(&of, "request_duration_seconds_count", &[]), 9.0);
    assert_eq!(figure(&of, "first_byte_seconds_count", &[]), 3.0);
    assert!(figure(&of, "received_bytes_total", &[]) > 0.0);
    assert!(figure(&of, "sent_bytes_total", &[]) > 0.0);
    assert_eq!(figure(&of, "tunnels", &[("state", "connected")]), 4.0);
    assert_eq!(figure(&of, "tunnel_logins_total", &[]), 4.0);
    assert_eq!(figure(&of, "connectors", &[("state", "connected")]), 1.0);
    assert_eq!(figure(&of, "sites", &[("state", "connected")]), 4.0);
    assert_eq!(figure(&of, "sites", &[("state", "away")]), 1.0);
    assert_eq!(figure(&of, "enrolments_total", &[]), 1.0);
    let calls = "quick_setup_calls_total";
    assert_eq!(figure(&of, calls, &[("outcome", "ok")]), 5.0);
    let saves = "state_save_duration_seconds_count";
    assert!(figure(&of, saves, &[]) > figure(&before, saves, &[]));
    assert!(figure(&of, "streams_total", &[]) >= 2.0);
    promtool(&text(&relay));
    is_the_same_in_json(&relay);
}

/// Every figure of the text, without those of the process, is in the status, and none is there besides.
fn is_the_same_in_json(relay: &Relay) {
    let status = relay.status();
    let told = status["metrics"].as_object().unwrap();
    let of = figures(relay);
    let mut names: Vec<&str> = of.keys().map(|(name, _)| name.as_str()).collect();
    names.retain(|name| !name.starts_with("process_") && *name != "postern_build_info");
    for name in &mut names {
        for suffix in ["_bucket", "_sum", "_count"] {
            *name = name.strip_suffix(suffix).unwrap_or(name);
        }
    }
    names.dedup();
    let known: Vec<&str> = told.keys().map(String::as_str).collect();
    let mut missing = names.clone();
    missing.retain(|name| !known.contains(name));
    assert_eq!(missing, Vec::<&str>::new());
    assert!(known.iter().all(|name| names.contains(name)), "{known:?}");
    let refused = &told["postern_relay_refusals_total"];
    assert_eq!(refused["unknown_site"], 1);
    let took = &told["postern_relay_first_byte_seconds"];
    assert!(took["count"] == 3 && took["seconds"].as_f64().unwrap() > 0.0);
}

/// Answers by the path, and keeps the connection where it can.
fn obliging() -> u16 {
    application(|mut stream| {
        let mut rest = Vec::new();
        while let Some(request) = read_request(&mut stream, &mut rest) {
            let text = String::from_utf8_lossy(&request).into_owned();
            let path = text.split(' ').nth(1).unwrap_or_default();
            let pieces: &[&[u8]] = match path {
                "/ends" => return,
                "/half" => &[b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok"],
                "/parts" | "/late" => &[b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no", b"k"],
                _ => &[b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"],
            };
            for (at, piece) in pieces.iter().enumerate() {
                // The long one is more than a request is waited for without a thread.
                std::thread::sleep(Duration::from_millis(match path {
                    "/parts" if at > 0 => 20,
                    "/late" if at > 0 => 400,
                    "/slow" => 400,
                    _ => 0,
                }));
                let _ = stream.write_all(piece);
            }
            if path == "/half" {
                return;
            }
        }
    })
}

/// Covers requests with a thread, without one, and those that get one later.
#[test]
fn each_request_of_a_kept_connection_counts_once() {
    let relay = Relay::start(&[METRICS]);
    let _shop = share(&relay, "shop", "http", obliging(), json!({}));
    let mut visitor = Visitor::connect(relay.address);
    let mut ask = |path: &str| {
        // Two requests by one stream, and no thread waits for the next.
        #[cfg(target_os = "linux")]
        if path != "/first" && path != "/second" {
            wait_until(TIMEOUT, "no connection has a thread", || {
                relay.connection_threads() == 0
            });
        }
        let head = format!("GET {path} HTTP/1.1\r\nHost: shop.localhost\r\n\r\n");
        visitor.send(head.as_bytes());
        visitor.answer(false).expect("an answer").status
    };
    let whole = ["/first", "/second", "/quick", "/parts", "/late", "/slow"];
    for (count, path) in (1..).map(f64::from).zip(whole) {
        assert_eq!(ask(path), 200, "{path}");
        has_answered(&relay, (count, 0.0), count);
    }
    wait_for(&relay, "connections", &[], |n| n == 1.0);
    assert_eq!(ask("/ends"), 502);
    has_answered(&relay, (6.0, 1.0), 6.0);
    for path in ["/first", "/second", "/half"] {
        assert_eq!(ask(path), 200, "{path}");
    }
    has_answered(&relay, (9.0, 1.0), 9.0);
    let of = figures(&relay);
    for cause in ["broken_off", "target_down"] {
        let refused = figure(&of, "refusals_total", &[("cause", cause)]);
        assert_eq!(refused, 1.0, "{cause}");
    }
    wait_for(&relay, "connections", &[], |n| n == 0.0);
}

/// Requests that were answered with 2xx and 5xx, and those that the application began to answer.
#[track_caller]
fn has_answered(relay: &Relay, (done, failed): (f64, f64), begun: f64) {
    wait_for(relay, "request_duration_seconds_count", &[], |n| {
        n >= done + failed
    });
    let of = figures(relay);
    let class = |class| figure(&of, "requests_total", &[("class", class)]);
    let counts = [
        class("2xx"),
        class("5xx"),
        figure(&of, "request_duration_seconds_count", &[]),
        figure(&of, "first_byte_seconds_count", &[]),
    ];
    assert_eq!(counts, [done, failed, done + failed, begun]);
}

/// Neither to the figures of a site nor to those of all visitors' requests and bytes.
#[test]
fn what_the_operator_asks_is_no_visit() {
    let relay = Relay::start(&[METRICS]);
    let _shop = share(&relay, "shop", "http", obliging(), json!({}));
    assert_eq!(relay.visit("shop", "/quick").status(), 200);
    let told = || {
        let of = figures(&relay);
        let names = ["received_bytes_total", "sent_bytes_total", "streams_total"];
        let classes = ["none", "2xx", "3xx", "4xx", "5xx"];
        let requests = classes.map(|class| figure(&of, "requests_total", &[("class", class)]));
        let shop = relay.status()["connectors"][0]["applications"][0].clone();
        (names.map(|name| figure(&of, name, &[])), requests, shop)
    };
    wait_until(TIMEOUT, "the visit's end", || {
        let (_, [_, done, ..], shop) = told();
        done == 1.0 && shop["figures"]["visitors"] == 0
    });
    let before = told();
    for command in [
        &["list"][..],
        &["list", "--json"],
        &["status-url"],
        &["invites"],
    ] {
        let done = relay.home().run(&[&["relay"], command].concat());
        assert_eq!(done.code, Some(0), "{done:?}");
    }
    for path in ["/", "/api/status", "/assets/@/gateway/status.js", "/health"] {
        relay.operators("GET", path, b"");
    }
    assert_eq!(told(), before);
}

/// Requests that never reach a site: a foreign host name, and bytes that are not HTTP.
#[test]
fn what_is_refused_before_it_is_anybodys_is_counted_too() {
    let relay = Relay::start(&[METRICS]);
    let foreign = [("Host", "evil.example"), ("Origin", "")];
    let answer = relay.client().send("GET", "/", &foreign, b"");
    assert_eq!(answer.status(), 421);
    let mut socket = std::net::TcpStream::connect(relay.address).unwrap();
    socket.write_all(b"GET\r\n\r\n").unwrap();
    for cause in ["misdirected", "malformed"] {
        wait_for(&relay, "early_refusals_total", &[("cause", cause)], |n| {
            n == 1.0
        });
    }
    let of = figures(&relay);
    assert_eq!(figure(&of, "requests_total", &[("class", "4xx")]), 0.0);
    assert_eq!(figure(&of, "connections_total", &[]), 2.0);
}

#[test]
fn calls_count_by_their_outcome_and_logins_that_are_refused() {
    let relay = Relay::start(&[METRICS, "--enroll-token", "chosen-by-the-operator"]);
    assert_eq!(relay.call(&body("one", "shop", "http", 1)).status(), 403);
    assert_eq!(relay.call(&json!({})).status(), 400);
    let token = json!({"enroll_token": "chosen-by-the-operator"});
    relay.assign(&with(body("one", "shop", "http", 1), token));
    let of = figures(&relay);
    let calls = "quick_setup_calls_total";
    for (outcome, count) in [
        ("refused", 1.0),
        ("invalid", 1.0),
        ("ok", 1.0),
        ("busy", 0.0),
    ] {
        assert_eq!(
            figure(&of, calls, &[("outcome", outcome)]),
            count,
            "{outcome}"
        );
    }
    let _tunnel = relay.tunnel("one", "not-its-password", &["R:127.0.0.1:1:127.0.0.1:1"]);
    wait_for(
        &relay,
        "tunnel_refusals_total",
        &[("cause", "login")],
        |n| n >= 1.0,
    );
}

#[test]
fn a_tunnel_that_comes_back_is_a_reconnect_and_a_full_connector_is_told_apart() {
    let relay = Relay::start(&[METRICS]);
    let first = share(&relay, "shop", "http", answering(), json!({}));
    let reconnects = "tunnel_reconnects_total";
    assert_eq!(figure(&figures(&relay), reconnects, &[]), 0.0);
    drop(first);
    wait_for(&relay, "tunnels", &[("state", "connected")], |n| n == 0.0);
    assert_eq!(relay.visit("shop", "/").status(), 502);
    wait_for(
        &relay,
        "stream_refusals_total",
        &[("cause", "no_tunnel")],
        |n| n == 1.0,
    );
    let assigned = relay.assign(&body("one", "shop", "http", answering()));
    let port = &assigned["app"]["resource"]["port"];
    let remote = format!("R:127.0.0.1:{port}:127.0.0.1:{}", answering());
    let mut settings = relay.tunnel_settings("one", PASSWORD, &[&remote]);
    settings.max_streams = Some(0);
    let full = Tunnel::start(settings).unwrap();
    assert!(full.wait(TIMEOUT), "{:?}", full.snapshot());
    wait_for(&relay, reconnects, &[], |n| n == 1.0);
    assert_eq!(relay.visit("shop", "/").status(), 503);
    wait_for(
        &relay,
        "stream_refusals_total",
        &[("cause", "connector_full")],
        |n| n == 1.0,
    );
    assert_eq!(full.snapshot().refused, (1, 0));
}

#[test]
fn visitors_of_public_ports_count_and_those_who_may_not_come() {
    let relay = Relay::start(&[METRICS]);
    let assigned = relay.assign(&body("one", "shell", "tcp", answering()));
    let port = &assigned["app"]["resource"]["port"];
    let _tunnel = relay.tunnel(
        "one",
        PASSWORD,
        &[&format!("R:127.0.0.1:{port}:127.0.0.1:{}", answering())],
    );
    let public = format!("127.0.0.1:{port}");
    wait_for(&relay, "ports", &[("state", "connected")], |n| n == 1.0);
    let visitor = std::net::TcpStream::connect(&public).unwrap();
    wait_for(&relay, "port_connections", &[], |n| n == 1.0);
    drop(visitor);
    wait_for(&relay, "port_connections", &[], |n| n == 0.0);
    let allow = json!({"allow": ["192.0.2.0/24"]});
    relay.assign(&with(body("one", "shell", "tcp", 1), allow));
    let _stranger = std::net::TcpStream::connect(&public).unwrap();
    wait_for(
        &relay,
        "stream_refusals_total",
        &[("cause", "not_allowed")],
        |n| n == 1.0,
    );
    assert_eq!(figure(&figures(&relay), "port_connections_total", &[]), 2.0);
}

#[test]
fn the_page_of_the_relay_keeps_its_lines() {
    let text = text(&Relay::start(&[METRICS]));
    same_lines(&text.replace(env!("CARGO_PKG_VERSION"), "VERSION"), "relay");
}

#[test]
fn the_figures_have_an_address_of_their_own_and_are_nowhere_else() {
    let relay = Relay::start(&[METRICS]);
    let at = address(&relay);
    assert_ne!(at, relay.address.to_string());
    assert!(at.parse::<SocketAddr>().unwrap().ip().is_loopback());
    assert_eq!(relay.client().get("/metrics").status(), 404);
    let mut there = Client::new(&at);
    for path in ["/", "/api/status", "/api/public/quick-setup", "/health"] {
        assert_eq!(there.get(path).status(), 404, "{path}");
    }
    // A web page that has its own name lead to loopback.
    let foreign = [("Host", "evil.example"), ("Origin", "")];
    assert_eq!(there.send("GET", "/metrics", &foreign, b"").status(), 421);
    let secrets = [relay.operator_token(), PASSWORD.to_owned()];
    let text = text(&relay);
    assert!(secrets.iter().all(|secret| !text.contains(secret.as_str())));
}

#[test]
fn a_port_that_visitors_or_tunnels_use_is_refused_for_the_figures() {
    let home = Arc::new(Home::new());
    for flag in ["--listen", "--tunnel-listen"] {
        let port = format!("127.0.0.1:{}", free_port());
        let failed = Relay::try_start_in(&home, &[flag, &port, "--metrics-listen", &port]);
        let failed = failed.err().expect("a usage error");
        assert_eq!(failed.code, Some(2), "{failed:?}");
        assert!(failed.stderr.contains("--metrics-listen"), "{failed:?}");
    }
}

#[test]
fn a_unit_file_says_where_the_figures_are() {
    let printed = Home::new().run(&[
        "relay",
        "--print-systemd-unit",
        "--metrics-listen=[::1]:8182",
    ]);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    assert!(
        printed.stdout.contains("--metrics-listen=[::1]:8182"),
        "{printed:?}"
    );
}

/// A state that cannot be saved: a directory lies where its file was.
#[test]
fn saves_that_fail_are_counted() {
    let relay = Relay::start(&[METRICS]);
    relay.assign(&body("one", "shop", "http", 1));
    std::fs::remove_file(relay.data().join("relay.rows")).unwrap();
    std::fs::create_dir_all(relay.data().join("relay.rows/full")).unwrap();
    assert_eq!(relay.call(&body("two", "shop", "http", 1)).status(), 500);
    let of = figures(&relay);
    assert!(figure(&of, "state_save_errors_total", &[]) >= 1.0);
    let calls = "quick_setup_calls_total";
    assert_eq!(figure(&of, calls, &[("outcome", "failed")]), 1.0);
    assert_eq!(figure(&of, "enrolments_total", &[]), 1.0);
}

/// The lines of the documentation, with this relay's address.
fn scrape_config(target: &str) -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/html/docs/reference.html");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, rest) = page.split_once("scrape_configs:").expect("a scrape_config");
    let (config, _) = rest.split_once("</code>").unwrap();
    assert_eq!(config.lines().count(), 4, "{config}");
    let config = config.replace("127.0.0.1:8182", target);
    assert!(config.contains(target), "{config}");
    format!("global:\n  scrape_interval: 1s\nscrape_configs:{config}\n")
}

#[test]
fn prometheus_itself_reads_the_figures_with_the_documented_configuration() {
    let relay = Relay::start(&[METRICS]);
    relay.assign(&body("one", "shop", "http", 1));
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("prometheus.yml");
    std::fs::write(&file, scrape_config(&address(&relay))).unwrap();
    let at = format!("127.0.0.1:{}", free_port());
    let prometheus = KillOnDrop::new(program("prometheus"))
        .args([
            format!("--config.file={}", file.display()),
            format!("--storage.tsdb.path={}", dir.path().join("data").display()),
            format!("--web.listen-address={at}"),
        ])
        .owning(dir)
        .start();
    let sample = |query: &str| -> Option<String> {
        let path = format!("/api/v1/query?query={query}");
        let answer = Client::new(&at).try_send("GET", &path, &[], b"").ok()?;
        let found = serde_json::from_str::<Value>(answer.text()).ok()?;
        let value = found.pointer("/data/result/0/value/1")?.as_str()?;
        Some(value.to_owned())
    };
    for (query, expected) in [
        ("up", "1"),
        ("sum(postern_relay_sites)", "1"),
        (
            "postern_relay_quick_setup_calls_total%7Boutcome=%22ok%22%7D",
            "1",
        ),
    ] {
        let mut last = None;
        let is_there = support::holds_within(TIMEOUT, || {
            last = sample(query);
            last.as_deref() == Some(expected)
        });
        let said = prometheus.stderr.text();
        assert!(is_there, "{query} is {last:?}, not {expected}: {said}");
    }
}

/// The names in the first column of a table of the documentation.
fn documented(table: &str) -> Vec<String> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/html/docs/reference.html");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, table) = page.split_once(&format!("id=\"{table}\"")).unwrap();
    let (table, _) = table.split_once("</table>").unwrap();
    let mut documented: Vec<String> = Vec::new();
    for row in table.split("<tr>").skip(2) {
        let (_, cell) = row.split_once("<td>").unwrap();
        let (cell, _) = cell.split_once("</td>").unwrap();
        let names = cell.split("<code>").skip(1);
        documented.extend(names.map(|name| name.split("</code>").next().unwrap().to_owned()));
    }
    documented.sort();
    documented
}

/// Each figure has its line in the documentation, and none is there that does not exist.
#[test]
fn the_documented_figures_are_those_that_there_are() {
    let relay = Relay::start(&[METRICS]);
    let text = text(&relay);
    let mut real: Vec<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "))
        .map(|line| line.split(' ').next().unwrap().to_owned())
        .filter(|name| name.starts_with("postern_relay_"))
        .map(|name| name.replacen("postern_relay_", "", 1))
        .collect();
    // A relay alone has none of these; tests/fleet has.
    real.extend(["hops", "peers", "shared_store_up"].map(str::to_owned));
    real.sort();
    assert_eq!(documented("relay-metrics"), real);
}

/// The values of `label` of a figure of the relay's.
fn values(of: &Samples, name: &str, label: &str) -> Vec<String> {
    let name = format!("postern_relay_{name}");
    let samples = of.keys().filter(|(sample, _)| *sample == name);
    let labels = samples.flat_map(|(_, labels)| labels.iter());
    let mut values: Vec<String> = labels
        .filter(|(key, _)| *key == label)
        .map(|(_, value)| value.clone())
        .collect();
    values.sort();
    values
}

#[test]
fn each_outcome_of_quick_setup_is_explained_and_no_other() {
    let relay = Relay::start(&[METRICS]);
    let real = values(&figures(&relay), "quick_setup_calls_total", "outcome");
    assert_eq!(documented("quick-setup-outcomes"), real);
}

/// The operator's page has words for each reason for which something is refused.
#[test]
fn the_operators_page_has_words_for_each_cause() {
    let relay = Relay::start(&[METRICS]);
    let of = figures(&relay);
    let words = concat!(env!("CARGO_MANIFEST_DIR"), "/html/gateway/totals.js");
    let words = std::fs::read_to_string(words).unwrap();
    for (name, label) in [
        ("refusals_total", "cause"),
        ("stream_refusals_total", "cause"),
        ("tunnel_refusals_total", "cause"),
        ("early_refusals_total", "cause"),
        ("quick_setup_calls_total", "outcome"),
    ] {
        let (_, known) = words
            .split_once(&format!("'postern_relay_{name}', {{"))
            .unwrap();
        let (known, _) = known.split_once('}').unwrap();
        let causes = values(&of, name, label);
        assert!(causes.len() > 1, "{name}: {causes:?}");
        for cause in causes.iter().filter(|cause| *cause != "ok") {
            let is_known = known
                .split([' ', '\n', ','])
                .any(|word| word == format!("{cause}:"));
            assert!(is_known, "{name}: {cause}");
        }
    }
}

/// A lack of room and a refused caller are counted apart.
#[test]
fn calls_over_a_quota_or_without_a_port_have_outcomes_of_their_own() {
    let port = free_port();
    let ports = format!("--ports={port}-{port}");
    let relay = Relay::start(&[METRICS, "--quota-sites=2", &ports]);
    relay.assign(&body("one", "a", "tcp", 1));
    let no_port = relay.call(&body("one", "b", "tcp", 1));
    assert_eq!(
        (no_port.status(), &no_port.json()["reason"]),
        (403, &json!("no_port"))
    );
    relay.assign(&body("one", "b", "http", 1));
    let quota = relay.call(&body("one", "c", "http", 1));
    assert_eq!(
        (quota.status(), &quota.json()["reason"]),
        (403, &json!("quota"))
    );
    let wrong = with(
        body("one", "a", "http", 1),
        json!({"password": "x".repeat(43)}),
    );
    assert_eq!(relay.call(&wrong).status(), 401);
    let of = figures(&relay);
    for (outcome, count) in [
        ("ok", 2.0),
        ("quota", 1.0),
        ("no_port", 1.0),
        ("refused", 1.0),
        ("full", 0.0),
    ] {
        let counted = figure(&of, "quick_setup_calls_total", &[("outcome", outcome)]);
        assert_eq!(counted, count, "{outcome}");
    }
    let told = &relay.status()["metrics"]["postern_relay_quick_setup_calls_total"];
    assert_eq!((&told["quota"], &told["no_port"]), (&json!(1), &json!(1)));
}
