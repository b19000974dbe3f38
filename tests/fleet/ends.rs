//! A relay that ends, in a fleet or alone: what runs is served to its end.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;
use support::gateway::{application, read_request};
use support::relay::{PASSWORD, Relay, body, with};
use support::{TIMEOUT, wait_until};

/// Answers each request when it may.
fn slow(may: crossbeam_channel::Receiver<()>, came: crossbeam_channel::Sender<()>) -> u16 {
    application(move |mut stream: TcpStream| {
        let mut rest = Vec::new();
        while let Some(request) = read_request(&mut stream, &mut rest) {
            if request.starts_with(b"GET /slow ") {
                let _ = came.send(());
                let _ = may.recv_timeout(TIMEOUT);
            }
            let sent = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody");
            if sent.is_err() {
                return;
            }
        }
    })
}

fn get(relay: &Relay, path: &str) -> TcpStream {
    let mut socket = TcpStream::connect(relay.address).unwrap();
    socket.set_read_timeout(Some(TIMEOUT)).unwrap();
    let host = format!("shop.localhost:{}", relay.address.port());
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    socket.write_all(request.as_bytes()).unwrap();
    socket
}

fn answer(mut socket: TcpStream) -> String {
    let mut text = String::new();
    // An end of any kind is one.
    let _ = socket.read_to_string(&mut text);
    text
}

#[test]
fn what_runs_is_served_to_its_end_and_who_comes_meanwhile_is_too() {
    let mut relay = Relay::start(&["--drain", "60"]);
    let (let_go, may) = crossbeam_channel::bounded(1);
    let (tell, came) = crossbeam_channel::bounded(1);
    let site = relay.assign(&with(
        body("c", "shop", "http", 9),
        json!({"site_name": "shop"}),
    ));
    let remote = format!(
        "R:0.0.0.0:{}:127.0.0.1:{}",
        site["app"]["resource"]["port"],
        slow(may, tell)
    );
    let tunnel = relay.tunnel("c", PASSWORD, &[&remote]);
    assert!(tunnel.wait(TIMEOUT));
    let running = get(&relay, "/slow");
    came.recv_timeout(TIMEOUT).unwrap();
    let pid = rustix::process::Pid::from_raw(relay.pid() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    wait_until(TIMEOUT, "that it says so", || {
        relay.client().get("/health").status() == 503
    });
    let refused = relay.call(&body("c", "new", "http", 9));
    assert_eq!(
        (refused.status(), refused.header("retry-after")),
        (503, Some("5"))
    );
    let other = answer(get(&relay, "/other"));
    assert!(
        other.starts_with("HTTP/1.1 200 ") && other.ends_with("body"),
        "{other}"
    );
    assert!(
        other.to_lowercase().contains("\r\nconnection: close\r\n"),
        "{other}"
    );
    assert!(!relay.stderr().contains("all requests have finished"));
    let_go.send(()).unwrap();
    let text = answer(running);
    assert!(
        text.starts_with("HTTP/1.1 200 ") && text.ends_with("body"),
        "{text}"
    );
    assert_eq!(relay.wait_end().and_then(|status| status.code()), Some(0));
    assert!(
        relay.stderr().contains("all requests have finished"),
        "{}",
        relay.stderr()
    );
}

#[test]
fn what_does_not_end_is_cut_off_at_the_bound() {
    let mut relay = Relay::start(&["--drain", "1"]);
    let (_let_go, may) = crossbeam_channel::bounded(1);
    let (tell, came) = crossbeam_channel::bounded(1);
    let site = relay.assign(&with(
        body("c", "shop", "http", 9),
        json!({"site_name": "shop"}),
    ));
    let remote = format!(
        "R:0.0.0.0:{}:127.0.0.1:{}",
        site["app"]["resource"]["port"],
        slow(may, tell)
    );
    let tunnel = relay.tunnel("c", PASSWORD, &[&remote]);
    assert!(tunnel.wait(TIMEOUT));
    let running = get(&relay, "/slow");
    came.recv_timeout(TIMEOUT).unwrap();
    let began = std::time::Instant::now();
    assert_eq!(relay.stop().and_then(|status| status.code()), Some(0));
    assert!(began.elapsed() >= Duration::from_secs(1));
    assert!(
        relay
            .stderr()
            .contains("requests and connections cut off: 1")
    );
    assert!(!answer(running).contains(" 200 "));
}

#[test]
fn a_visitor_of_a_public_port_has_his_time_too() {
    let mut relay = Relay::start(&["--drain", "60"]);
    let site = relay.assign(&body("c", "shell", "tcp", 9));
    let target = application(|mut stream: TcpStream| {
        let mut piece = [0; 16];
        while let Ok(read @ 1..) = stream.read(&mut piece) {
            if stream.write_all(&piece[..read]).is_err() {
                return;
            }
        }
    });
    let port = site["app"]["resource"]["port"].as_u64().unwrap() as u16;
    let remote = format!("R:0.0.0.0:{port}:127.0.0.1:{target}");
    let tunnel = relay.tunnel("c", PASSWORD, &[&remote]);
    assert!(tunnel.wait(TIMEOUT));
    let mut visitor = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let mut echo = || {
        let mut piece = [0; 4];
        visitor.write_all(b"echo").unwrap();
        visitor.read_exact(&mut piece).unwrap();
    };
    echo();
    let pid = rustix::process::Pid::from_raw(relay.pid() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    wait_until(TIMEOUT, "that it says so", || {
        relay.stderr().contains("it waits up to ")
    });
    // Longer than others need to notice that it goes.
    let until = std::time::Instant::now() + Duration::from_secs(4);
    while std::time::Instant::now() < until {
        echo();
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(!relay.stderr().contains("all requests have finished"));
    drop(visitor);
    assert_eq!(relay.wait_end().and_then(|status| status.code()), Some(0));
    assert!(relay.stderr().contains("all requests have finished"));
}

/// As when a terminal is closed that it was started in.
#[test]
fn a_hangup_is_as_gentle_an_end() {
    let mut relay = Relay::start(&["--drain", "4"]);
    let pid = rustix::process::Pid::from_raw(relay.pid() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::HUP).unwrap();
    assert_eq!(relay.wait_end().and_then(|status| status.code()), Some(0));
    assert!(relay.stderr().contains("all requests have finished"));
}
