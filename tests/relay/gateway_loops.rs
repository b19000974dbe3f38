//! Sites that lead back to a relay: one request is answered once, and does not become thousands.

use std::io::{Write, copy};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use postern::http::Limits;
use support::gateway::{Answer, Relay, application, read_request};

/// Leads every connection to `target`, and counts them.
fn leading_to(target: SocketAddr) -> (u16, Arc<AtomicUsize>) {
    let count: Arc<AtomicUsize> = Arc::default();
    let theirs = Arc::clone(&count);
    let port = application(move |mut stream| {
        theirs.fetch_add(1, Ordering::SeqCst);
        let Ok(mut onward) = TcpStream::connect(target) else {
            return;
        };
        let (mut from, mut to) = (onward.try_clone().unwrap(), stream.try_clone().unwrap());
        // Ends when either side does.
        std::thread::spawn(move || {
            let _ = copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Write);
        });
        let _ = copy(&mut stream, &mut onward);
        let _ = onward.shutdown(Shutdown::Write);
    });
    (port, count)
}

fn get(relay: &Relay, lines: &str) -> Answer {
    let mut client = relay.connect();
    client.send(relay.request("GET", "loop", "/x", lines).as_bytes());
    client.answer(false).unwrap()
}

#[test]
fn a_site_that_leads_to_its_own_relay_is_told_so_once() {
    let relay = Relay::start();
    let (port, passes) = leading_to(relay.addr);
    let shared = relay.share("loop", port);
    for (turn, lines) in [
        "",
        "Connection: Upgrade\r\nUpgrade: websocket\r\n",
        "Connection: CDN-Loop\r\n",
        "CDN-Loop: other\r\nCDN-Loop: a; b=c, d\r\n",
    ]
    .into_iter()
    .enumerate()
    {
        let answer = get(&relay, lines);
        assert_eq!(answer.status, 508, "{lines}");
        assert!(
            answer.text().contains("points back to this relay"),
            "{}",
            answer.text()
        );
        assert_eq!(passes.load(Ordering::SeqCst), turn + 1, "{lines}");
    }
    assert_eq!(shared.site.stats.requests.load(Ordering::SeqCst), 4);
}

/// Each of them knows its own name among those of others.
#[test]
fn two_relays_that_lead_to_each_other_end_it_too() {
    let (one, two) = (Relay::start(), Relay::start());
    let (to_two, first) = leading_to(two.addr);
    let (to_one, second) = leading_to(one.addr);
    let _shared = (one.share("loop", to_two), two.share("loop", to_one));
    // A Host that names the first one's port is another server's to the second one.
    assert_eq!(get(&one, "").status, 421);
    let mut client = one.connect();
    client.send(b"GET /x HTTP/1.1\r\nHost: loop.localhost\r\n\r\n");
    assert_eq!(client.answer(false).unwrap().status, 508);
    assert_eq!(
        (first.load(Ordering::SeqCst), second.load(Ordering::SeqCst)),
        (2, 1)
    );
}

#[test]
fn what_others_say_of_loops_passes_and_no_loop_is_none() {
    let relay = Relay::start_with(Limits::default(), |config| {
        config.loop_id = "postern-test".into();
    });
    let seen: Arc<Mutex<String>> = Arc::default();
    let theirs = Arc::clone(&seen);
    let port = application(move |mut stream| {
        while let Some(request) = read_request(&mut stream, &mut Vec::new()) {
            *theirs.lock().unwrap() = String::from_utf8(request).unwrap();
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        }
    });
    let _shared = relay.share("loop", port);
    for (lines, passed) in [
        ("", ""),
        ("CDN-Loop: a, b; v=1\r\n", "CDN-Loop: a, b; v=1\r\n"),
        ("Connection: CDN-Loop\r\nCDN-Loop: a\r\n", "CDN-Loop: a\r\n"),
        (
            "CDN-Loop: postern-tests, postern\r\n",
            "CDN-Loop: postern-tests, postern\r\n",
        ),
    ] {
        assert_eq!(get(&relay, lines).status, 200, "{lines}");
        let seen = seen.lock().unwrap().clone();
        let loops: String = seen
            .split_inclusive("\r\n")
            .filter(|line| line.starts_with("CDN-Loop"))
            .collect();
        assert_eq!(loops, format!("{passed}CDN-Loop: postern-test\r\n"));
    }
    for lines in [
        "CDN-Loop: postern-test\r\n",
        "CDN-Loop: a,b ,\tPostern-Test ; x=1\r\n",
        "CDN-Loop: a\r\ncdn-loop: postern-test\r\n",
        "Connection: cdn-loop\r\nCDN-Loop: postern-test\r\n",
    ] {
        assert_eq!(get(&relay, lines).status, 508, "{lines}");
    }
}
