//! Wall clocks that are wrong, set forward and back while programs run: nothing is lost, given away or left open by that.

use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use serde_json::{Value, json};
use support::fake_clock::FakeClock;
use support::gateway::{application, read_request};
use support::manager::Manager;
use support::relay::{PASSWORD, Relay, body, refusal, with};
use support::{Home, TIMEOUT, wait_until};

const DAY: i64 = 24 * 3600;
/// Years forward and back, and the time that names are kept for.
const JUMPS: [i64; 5] = [40 * DAY, -40 * DAY, 8000 * DAY, -8000 * DAY, 0];
const PORTS: [&str; 2] = ["--listen=127.0.0.1:0", "--tunnel-listen=127.0.0.1:0"];

fn relay_by(clock: &FakeClock, home: &Arc<Home>) -> Relay {
    let started = Relay::try_start_by(clock.program(), home, &PORTS);
    started.unwrap_or_else(|failed| panic!("{failed:?}"))
}

fn answering(text: &'static str) -> u16 {
    application(move |mut stream: TcpStream| {
        let mut rest = Vec::new();
        while read_request(&mut stream, &mut rest).is_some() {
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{text}",
                text.len()
            );
            let _ = std::io::Write::write_all(&mut stream, answer.as_bytes());
        }
    })
}

fn named(connector: &str, app: &str, name: &str) -> Value {
    with(body(connector, app, "http", 9), json!({"site_name": name}))
}

fn url(relay: &Relay, body: &Value) -> String {
    let assigned = relay.assign(body);
    assigned["app"]["site_url"].as_str().unwrap().to_owned()
}

/// A day that the relay took for another one is no day that passed: who had a name still has it.
#[test]
fn a_name_that_is_kept_is_not_given_away_by_a_clock_that_jumps() {
    let (clock, home) = (FakeClock::new(), Arc::new(Home::new()));
    let relay = relay_by(&clock, &home);
    let kept = url(&relay, &named("one", "a", "shop"));
    assert_eq!(relay.release("one", PASSWORD, "a").status(), 200);
    for (number, ahead) in JUMPS.into_iter().enumerate() {
        clock.set(ahead);
        let other = format!("b{number}");
        let given = url(&relay, &named("two", &other, "shop"));
        assert!(!given.contains("/shop."), "{given}, at {ahead}");
    }
    drop(relay);
    let relay = relay_by(&clock, &home);
    assert_eq!(
        url(&relay, &named("one", "c", "shop")).split(':').nth(1),
        kept.split(':').nth(1)
    );
}

/// The cookie of a visitor, the tunnel of a connector and the link of an operator do not depend on that clock.
#[test]
fn a_relay_whose_clock_jumps_serves_on() {
    let (clock, home) = (FakeClock::new(), Arc::new(Home::new()));
    let relay = relay_by(&clock, &home);
    let port = answering("hello");
    let hidden = json!({"invisible": true, "site_name": "shop", "port": port});
    let body = with(named("one", "a", "shop"), hidden);
    let assigned = relay.assign(&body);
    let number = &assigned["app"]["resource"]["port"];
    let remote = format!("R:127.0.0.1:{number}:127.0.0.1:{port}");
    let tunnel = relay.tunnel("one", PASSWORD, &[&remote]);
    assert!(tunnel.wait(TIMEOUT));
    let code = assigned["api_key"]["code"].as_str().unwrap();
    let entered = relay.visit("shop", &format!("/.postern/auth?code={code}"));
    let cookie = entered.cookie().unwrap();
    let host = format!("shop.localhost:{}", relay.address.port());
    let visit = || {
        let headers = [("Host", host.as_str()), ("Origin", ""), ("Cookie", &cookie)];
        let answer = relay.client().send("GET", "/", &headers, b"");
        (answer.status(), answer.text().to_owned())
    };
    for ahead in JUMPS {
        clock.set(ahead);
        assert_eq!(visit(), (200, "hello".to_owned()), "at {ahead}");
        assert_eq!(relay.visit("shop", "/").status(), 401, "at {ahead}");
        relay.assign(&named("one", "other", "other"));
        assert_eq!(relay.status()["connectors"][0]["connected"], true);
    }
    assert_eq!(tunnel.snapshot().reconnects, 0);
}

/// Its connector may ask for the rest of the time; by itself it is there no more, so that nobody stays beyond the end.
#[test]
fn what_a_clock_has_ended_does_not_begin_again_when_that_is_set_back() {
    let (clock, home) = (FakeClock::new(), Arc::new(Home::new()));
    let relay = relay_by(&clock, &home);
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = target.local_addr().unwrap().port();
    let lent = with(body("one", "a", "tcp", port), json!({"expires_in": 3600}));
    let public = relay.assign(&lent)["app"]["resource"]["port"]
        .as_u64()
        .unwrap();
    let remote = format!("R:127.0.0.1:{public}:127.0.0.1:{port}");
    let connect = || relay.tunnel("one", PASSWORD, &[&remote]);
    let tunnel = connect();
    assert!(tunnel.wait(TIMEOUT));
    let public = u16::try_from(public).unwrap();
    let mut visitor = TcpStream::connect(("127.0.0.1", public)).unwrap();
    visitor.set_read_timeout(Some(TIMEOUT)).unwrap();
    let _inside = target.accept().unwrap();
    clock.set(2 * 3600);
    let read = visitor.read(&mut [0]);
    assert!(!matches!(read, Ok(1)) && !is_late(&read), "{read:?}");
    tunnel.stop();
    clock.set(0);
    let refused = refusal(&connect());
    assert!(refused.contains("denied"), "{refused}");
    relay.assign(&lent);
    assert!(connect().wait(TIMEOUT));
}

fn is_late(read: &std::io::Result<usize>) -> bool {
    let late = |error: &std::io::Error| error.kind() == std::io::ErrorKind::WouldBlock;
    read.as_ref().is_err_and(late)
}

/// It takes a leap for a sleep, and asks whether the relay is there still; that is all.
#[test]
fn a_connector_whose_clock_jumps_stays_or_comes_back() {
    let (clock, relay) = (FakeClock::new(), Relay::start(&[]));
    let home = Arc::new(Home::new());
    let server = ["--server", &relay.url()];
    let manager = Manager::try_start_by(clock.program(), "0", &home, &server);
    let manager = manager.unwrap_or_else(|failed| panic!("{failed:?}"));
    let port = answering("hello");
    let id = manager.add(&json!({"protocol": "http", "port": port, "name": "shop"}));
    manager.connected(&id);
    for ahead in JUMPS {
        clock.set(ahead);
        wait_until(TIMEOUT, "the site is served", || {
            relay.visit("shop", "/").text() == "hello"
        });
    }
    manager.connected(&id);
}
