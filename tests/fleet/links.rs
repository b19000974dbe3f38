//! One hop between relays: who may ask for it, and what it leads to.

use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine as _;
use serde_json::{Value, json};
use support::database::PASSWORD as STORE_PASSWORD;
use support::fleet::{Fleet, TOKEN};
use support::gateway::{application, read_request};
use support::load::allowed;
use support::relay::{PASSWORD, Relay, body, refusal, with};
use support::{TIMEOUT, wait_until};

/// Answers each request with its own head.
fn mirror() -> u16 {
    application(|mut stream: TcpStream| {
        use std::io::Write as _;
        let mut rest = Vec::new();
        while let Some(request) = read_request(&mut stream, &mut rest) {
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n",
                request.len()
            );
            let sent = stream.write_all(head.as_bytes());
            if sent.and_then(|()| stream.write_all(&request)).is_err() {
                return;
            }
        }
    })
}

fn assign(relay: &Relay, app: &str, changes: Value) -> Value {
    let enrol = json!({"enroll_token": TOKEN, "site_name": app});
    relay.assign(&with(with(body("c", app, "http", 9), enrol), changes))
}

fn remote(answer: &Value, target: u16) -> String {
    format!(
        "R:0.0.0.0:{}:127.0.0.1:{target}",
        answer["app"]["resource"]["port"]
    )
}

#[test]
fn any_relay_serves_a_site_whose_tunnel_is_at_another_one() {
    let fleet = Fleet::start(2, &[]);
    let (here, there) = (fleet.relay(0), fleet.relay(1));
    let site = assign(here, "shop", json!({}));
    assert_eq!(here.visit("shop", "/").status(), 502);
    let tunnel = there.tunnel("c", PASSWORD, &[&remote(&site, mirror())]);
    assert!(tunnel.wait(TIMEOUT));
    for _ in 0..3 {
        let answer = here.visit("shop", "/page?x=1");
        assert_eq!(answer.status(), 200, "{}", answer.text());
        assert!(answer.text().starts_with("GET /page?x=1 HTTP/1.1\r\n"));
        // As the relay has it that the visitor came to, and no other.
        assert_eq!(
            answer
                .text()
                .to_lowercase()
                .matches("\nx-forwarded-for:")
                .count(),
            1
        );
    }
    let large = vec![b'x'; 3 << 20];
    let host = format!("shop.localhost:{}", here.address.port());
    let headers = [("Host", host.as_str()), ("Origin", "")];
    let posted = here.client().send("POST", "/", &headers, &large);
    assert!(posted.body.ends_with(&large));
    assert_eq!(there.visit("shop", "/").status(), 200, "by its own tunnel");
    tunnel.stop();
    wait_until(TIMEOUT, "its end", || {
        here.visit("shop", "/").status() == 502
    });
    // And the other way round.
    let tunnel = here.tunnel("c", PASSWORD, &[&remote(&site, mirror())]);
    assert!(tunnel.wait(TIMEOUT));
    assert_eq!(there.visit("shop", "/").status(), 200);
}

/// The application takes each request and hangs up, so that nobody knows whether it was done.
#[test]
fn what_may_have_been_done_is_asked_for_once() {
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&asked);
    let target = application(move |mut stream: TcpStream| {
        let request = read_request(&mut stream, &mut Vec::new()).unwrap_or_default();
        let method = request.split(|byte| *byte == b' ').next().unwrap();
        let method = String::from_utf8_lossy(method).into_owned();
        seen.lock().unwrap().push(method);
    });
    let fleet = Fleet::start(2, &[]);
    let relay = fleet.relay(0);
    let site = assign(relay, "shop", json!({}));
    let tunnel = relay.tunnel("c", PASSWORD, &[&remote(&site, target)]);
    assert!(tunnel.wait(TIMEOUT));
    let host = format!("shop.localhost:{}", relay.address.port());
    let headers = [("Host", host.as_str()), ("Origin", "")];
    for (method, times) in [
        ("GET", 2),
        ("PUT", 1),
        ("DELETE", 1),
        ("OPTIONS", 1),
        ("POST", 1),
    ] {
        let answer = relay.client().send(method, "/", &headers, b"");
        assert_eq!(answer.status(), 502, "{method}");
        let asked = std::mem::take(&mut *asked.lock().unwrap());
        assert_eq!(asked, vec![method; times]);
    }
}

#[test]
fn a_relay_that_does_not_answer_is_left_out_after_a_second() {
    let mut fleet = Fleet::start(3, &[]);
    let site = assign(fleet.relay(0), "shop", json!({}));
    let target = mirror();
    let remote = remote(&site, target);
    let tunnels: Vec<_> = [1, 2]
        .map(|at| fleet.relay(at).tunnel("c", PASSWORD, &[&remote]))
        .into();
    assert!(tunnels.iter().all(|tunnel| tunnel.wait(TIMEOUT)));
    assert_eq!(fleet.relay(0).visit("shop", "/").status(), 200);
    for stopped in [1, 2] {
        let pid = rustix::process::Pid::from_raw(fleet.relay(stopped).pid() as i32).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
        let visit = || {
            let began = Instant::now();
            assert_eq!(fleet.relay(0).visit("shop", "/").status(), 200);
            began.elapsed()
        };
        // A stream waits for 30 s otherwise.
        assert!(visit() < allowed(Duration::from_secs(5)));
        let known = [visit(), visit(), visit()].into_iter().min();
        assert!(known < Some(Duration::from_secs(1)), "it is known");
        rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
        fleet.wait_linked();
        wait_until(TIMEOUT, "its tunnel", || {
            tunnels.iter().all(|tunnel| tunnel.wait(TIMEOUT))
        });
    }
    fleet.members[1].kill();
    assert_eq!(fleet.relay(0).visit("shop", "/").status(), 200);
}

#[test]
fn nobody_but_a_relay_of_the_fleet_links_itself() {
    let fleet = Fleet::start(2, &[]);
    let peers = fleet.relay(0).said("Other relays: ");
    let ids = fleet
        .database()
        .column("SELECT id FROM fleet.postern_relays");
    assert_eq!(ids.len(), 2);
    let refuses = |user: &str, password: &str| {
        let mut settings = fleet
            .relay(0)
            .tunnel_settings(user, password, &["R:1:localhost:1"]);
        settings.endpoint = format!("ws://{peers}").parse().unwrap();
        let tunnel = postern::tunnel::client::Tunnel::start(settings).unwrap();
        let refused = refusal(&tunnel);
        assert!(
            refused.contains("refused the user name or password"),
            "{refused}"
        );
    };
    for user in ids.iter().map(String::as_str).chain(["c", ""]) {
        for password in ["", PASSWORD, STORE_PASSWORD, TOKEN] {
            refuses(user, password);
        }
    }
    // Someone who can read the store knows the secret, but has no relay's key.
    let secret = fleet
        .database()
        .value("SELECT HEX(secret) FROM fleet.postern_fleet");
    let secret: Vec<u8> = (0..32)
        .map(|at| u8::from_str_radix(&secret[2 * at..2 * at + 2], 16).unwrap())
        .collect();
    let own = fleet.relay(0).status()["relays"][0]["id"].clone();
    let own = own.as_str().unwrap();
    let other = ids.iter().find(|id| *id != own).unwrap();
    let said = format!("postern link\n{other}\n{own}");
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &secret);
    let tag = ring::hmac::sign(&key, said.as_bytes());
    let tag = base64::engine::general_purpose::STANDARD.encode(tag);
    for password in [tag.clone(), format!("{tag} "), format!("{tag} AAAA.AAAA")] {
        refuses(other, &password);
    }
    // Nor does a relay's name open anything where connectors come in.
    let tunnel = fleet
        .relay(0)
        .tunnel(&ids[0], PASSWORD, &["R:1:localhost:1"]);
    refusal(&tunnel);
}

#[test]
fn a_sign_in_at_one_relay_holds_at_all_until_everybody_is_signed_out() {
    let fleet = Fleet::start(2, &[]);
    let (here, there) = (fleet.relay(0), fleet.relay(1));
    let hidden = |generation: u64| json!({"invisible": true, "generation": generation});
    let site = assign(here, "hidden", hidden(0));
    let tunnel = there.tunnel("c", PASSWORD, &[&remote(&site, mirror())]);
    assert!(tunnel.wait(TIMEOUT));
    let (code, app_id) = (&site["api_key"]["code"], &site["api_key"]["app_id"]);
    let auth = format!(
        "/.postern/auth?app_id={}&code={}",
        app_id.as_str().unwrap(),
        code.as_str().unwrap()
    );
    let entered = here.visit("hidden", &auth);
    assert_eq!(entered.status(), 303, "{}", entered.text());
    let cookie = entered.cookie().unwrap();
    let visit = |relay: &Relay, cookie: &str| {
        let host = format!("hidden.localhost:{}", relay.address.port());
        let headers = [("Host", host.as_str()), ("Origin", ""), ("Cookie", cookie)];
        relay.client().send("GET", "/", &headers, b"").status()
    };
    for relay in [here, there] {
        assert_eq!((visit(relay, &cookie), visit(relay, "")), (200, 401));
    }
    let mut forged = cookie.clone().into_bytes();
    let last = forged.len() - 2;
    forged[last] = if forged[last] == b'A' { b'B' } else { b'A' };
    assert_eq!(visit(there, std::str::from_utf8(&forged).unwrap()), 401);
    // The code of a call that says none is another one each time: who has the old one is out.
    assign(there, "hidden", hidden(1));
    wait_until(TIMEOUT, "the end of it", || {
        visit(here, &cookie) == 401 && visit(there, &cookie) == 401
    });
}
