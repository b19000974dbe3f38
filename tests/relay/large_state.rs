//! A relay with much to remember, to which changes are appended: what was answered outlasts a kill.

use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use support::relay::{ROWS, Relay, body, enlarge};
use support::{TIMEOUT, wait_until};

/// Number of simultaneous callers.
const CALLERS: usize = 4;

/// The name of the site that was assigned.
fn site(answer: &Value) -> String {
    answer["app"]["site_url"].as_str().unwrap().to_owned()
}

/// Changes in the log.
fn changes(data: &std::path::Path) -> usize {
    let log = fs::read_to_string(data.join(ROWS)).unwrap();
    let ends = log
        .lines()
        .filter(|line| line.split('\t').nth(2) == Some("0"));
    ends.count()
}

#[test]
fn what_was_answered_outlasts_kills() {
    let relay = Relay::start(&[]);
    for caller in 0..CALLERS {
        relay.assign(&body(&format!("caller-{caller}"), "first", "http", 1));
    }
    let (home, ports) = (relay.home().clone(), [relay.address, relay.tunnel]);
    let ports = [
        format!("--listen={}", ports[0]),
        format!("--tunnel-listen={}", ports[1]),
    ];
    let args = [&*ports[0], &*ports[1]];
    let data = relay.data();
    drop(relay);
    enlarge(&data, 120, 3);
    let length = || fs::metadata(data.join("relay.json")).unwrap().len();
    assert!(length() > 128 * 1024, "{}", length());
    let answered: Mutex<Vec<(Value, String)>> = Mutex::default();
    let mut appended = 0;
    // More of them with `make nightly`.
    let kills = std::env::var("POSTERN_KILLS").ok();
    let kills: usize = kills.map_or(6, |kills| kills.parse().unwrap());
    for round in 0..kills {
        let mut relay = Relay::start_in(&home, &args);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for caller in 0..CALLERS {
                let (answered, is_over, relay) = (&answered, &is_over, &relay);
                let mut client = relay.client();
                scope.spawn(move || {
                    for number in 0.. {
                        let app = format!("a{}-{}", round % 6, number % 15);
                        // Another port each time is another assignment.
                        let body = body(&format!("caller-{caller}"), &app, "http", 1 + number);
                        let text = body.to_string();
                        let json = [("Content-Type", "application/json")];
                        let path = "/api/public/quick-setup";
                        let answer = client.try_send("POST", path, &json, text.as_bytes());
                        match answer {
                            Ok(answer) if answer.status() == 200 => {
                                answered.lock().unwrap().push((body, site(&answer.data())));
                            }
                            Ok(answer) => panic!("{}", answer.text()),
                            Err(_) if is_over.load(Ordering::SeqCst) => return,
                            Err(error) => panic!("{error}"),
                        }
                    }
                });
            }
            let before = answered.lock().unwrap().len();
            wait_until(TIMEOUT, "some answers", || {
                answered.lock().unwrap().len() >= before + 10 + 7 * (round % 10)
            });
            is_over.store(true, Ordering::SeqCst);
            let pid = Pid::from_raw(relay.pid().cast_signed()).unwrap();
            kill_process(pid, Signal::KILL).unwrap();
        });
        relay.kill();
        appended += changes(&data) - 1;
    }
    assert!(appended > 0, "no change was appended");
    let relay = Relay::start_in(&home, &args);
    let log = relay.stderr();
    assert!(!log.contains("unreadable"), "{log}");
    let answered = answered.into_inner().unwrap();
    for (body, site) in &answered {
        let again = self::site(&relay.assign(body));
        assert_eq!(&again, site, "{body}");
    }
    assert_eq!(
        relay.visit("s7-1", "/").status(),
        502,
        "known, not connected"
    );
    println!("{} answers, {appended} changes", answered.len());
    drop(relay);
    assert_eq!(changes(&data), 1, "all in one at the end");
}
