//! `postern start` whose tunnel server opens more streams than this machine has room for.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use support::flood::Flood;
use support::gateway::{Client as Visitor, application, read_request};
use support::http::Client;
use support::manager::{Far, Manager, Target, visit};
use support::quick_setup::Act;
use support::relay::Relay;
use support::{TIMEOUT, wait_until};

/// Open files that `postern start` may have.
const FILES: usize = 256;
/// Visitors who come and stay.
const VISITORS: usize = 300;

/// Takes connections and says nothing, until it is let go.
struct Patient {
    port: u16,
    held: Arc<Mutex<Vec<TcpStream>>>,
    taken: Arc<AtomicUsize>,
}

impl Patient {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (held, taken) = (Arc::new(Mutex::new(Vec::new())), Arc::default());
        let (of_thread, counted) = (Arc::clone(&held), Arc::clone(&taken));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                of_thread.lock().unwrap().push(stream);
                AtomicUsize::fetch_add(&counted, 1, Ordering::SeqCst);
            }
        });
        Self { port, held, taken }
    }
}

#[test]
fn visitors_who_stay_take_neither_the_page_nor_anothers_place() {
    let (far, patient, target) = (Far::new(), Patient::start(), Target::start());
    let args = far.args();
    let manager = Manager::start_within(FILES, &[&args[0], &args[1]]);
    let crowded = manager.add(&json!({"protocol": "http", "port": patient.port}));
    let other = manager.add(&target.app());
    let crowded_port = far.assign();
    manager.connected(&crowded);
    let other_port = far.assign();
    manager.connected(&other);
    wait_until(TIMEOUT, "a visit", || visit(other_port).is_some());
    let visitors: Vec<TcpStream> = (0..VISITORS)
        .map(|_| TcpStream::connect(("127.0.0.1", crowded_port)).unwrap())
        .collect();
    wait_until(TIMEOUT, "the refusal", || {
        manager.stderr().contains("no more are accepted")
    });
    let taken = patient.taken.load(Ordering::SeqCst);
    assert!(taken > 0 && taken < FILES / 2, "{taken}");
    for _ in 0..20 {
        assert_eq!(manager.client().get("/api/apps").status(), 200);
    }
    assert!(
        visit(other_port).is_some(),
        "another tunnel has its own share"
    );
    drop(visitors);
    patient.held.lock().unwrap().clear();
    let begun = patient.taken.load(Ordering::SeqCst);
    wait_until(TIMEOUT, "a further visitor", || {
        drop(TcpStream::connect(("127.0.0.1", crowded_port)));
        patient.taken.load(Ordering::SeqCst) > begun
    });
}

/// As many as its owner said.
#[test]
fn an_application_has_as_many_streams_as_was_said() {
    let (far, patient) = (Far::new(), Patient::start());
    let manager = far.manager();
    let app = json!({"protocol": "tcp", "port": patient.port, "max_streams": 2});
    let id = manager.add(&app);
    let port = far.assign();
    manager.connected(&id);
    // The check of the application has come, and its connection is closed.
    wait_until(TIMEOUT, "the question", || {
        patient.taken.load(Ordering::SeqCst) > 0
    });
    patient.held.lock().unwrap().clear();
    let asked = patient.taken.load(Ordering::SeqCst);
    let visitors: Vec<TcpStream> = (0..2)
        .map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap())
        .collect();
    wait_until(TIMEOUT, "two visitors", || {
        patient.taken.load(Ordering::SeqCst) == asked + 2
    });
    let mut third = TcpStream::connect(("127.0.0.1", port)).unwrap();
    third.set_read_timeout(Some(TIMEOUT)).unwrap();
    let end = std::io::Read::read(&mut third, &mut [0]);
    assert!(matches!(end, Ok(0)), "it is turned away: {end:?}");
    assert_eq!(patient.taken.load(Ordering::SeqCst), asked + 2);
    drop(visitors);
    patient.held.lock().unwrap().clear();
    wait_until(TIMEOUT, "another visitor", || {
        drop(TcpStream::connect(("127.0.0.1", port)));
        patient.taken.load(Ordering::SeqCst) > asked + 2
    });
}

/// The code of this application is asked for here: no server knows what visitors have open.
#[test]
fn who_takes_nothing_is_ended_when_everybody_is_signed_out() {
    let (far, flood) = (Far::new(), Flood::start());
    let manager = far.manager();
    let port = support::free_port();
    let mut answer = far.answer(port);
    answer["api_key"] = json!({"nhp_server": "", "code": ""});
    far.quick.script([Act::json(200, &answer)]);
    let id = manager.add(&json!({"protocol": "http", "port": flood.port, "invisible": true}));
    let connection = manager.connected(&id);
    let site = format!("http://127.0.0.1:{port}");
    let path = connection["auth_url"].as_str().unwrap();
    let path = path.strip_prefix(&site).unwrap().to_owned();
    for change in ["signout", "code"] {
        let mut cookie = None;
        wait_until(TIMEOUT, "a sign-in", || {
            let mut client = Client::new(&format!("127.0.0.1:{port}"));
            let entered = client.try_send("GET", &path, &[], b"");
            cookie = entered.ok().and_then(|entered| entered.cookie());
            cookie.is_some()
        });
        let mut visitor = TcpStream::connect(("127.0.0.1", port)).unwrap();
        write!(
            visitor,
            "GET /x HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: {}\r\n\r\n",
            cookie.unwrap()
        )
        .unwrap();
        wait_until(TIMEOUT, "the visitor", || flood.open() == 1);
        flood.wait_stalled();
        manager.post(&format!("/api/apps/{id}/{change}")).data();
        wait_until(Duration::from_secs(30), "the visitor's end", || {
            flood.open() == 0
        });
    }
}

#[test]
fn visitors_who_ask_nothing_have_no_thread() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let id = manager.add(&target.app());
    let port = far.assign();
    manager.connected(&id);
    wait_until(TIMEOUT, "a visit", || visit(port).is_some());
    let (threads, files) = (manager.threads(), manager.fds());
    let visitors: Vec<TcpStream> = (0..VISITORS)
        .map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap())
        .collect();
    wait_until(TIMEOUT, "all are there, without threads", || {
        manager.fds() >= files + VISITORS / 2 && manager.threads() < threads + 20
    });
    assert!(visit(port).is_some());
    drop(visitors);
    wait_until(TIMEOUT, "all have gone", || manager.fds() < files + 20);
}

/// Connections that visitors keep.
const KEPT: usize = 2000;

#[cfg(target_os = "linux")]
#[test]
fn two_thousand_kept_connections_have_no_thread_at_either_end() {
    let relay = Relay::start(&["--connections", "2300"]);
    let port = application(|mut stream| {
        let mut rest = Vec::new();
        while read_request(&mut stream, &mut rest).is_some() {
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood";
            if stream.write_all(answer).is_err() {
                return;
            }
        }
    });
    let manager = Manager::start(&["--server", &relay.url()]);
    let id =
        manager.add(&json!({"protocol": "http", "port": port, "name": "shop", "invisible": false}));
    let site = manager.connected(&id)["site_url"].clone();
    let host = site.as_str().unwrap().trim_start_matches("http://");
    let host = host.trim_end_matches('/');
    let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let mut visitors = Vec::new();
    // One connector's sites have half of the places for requests that run, and a new visitor is to ask within 10 s.
    for _ in 0..KEPT / 200 {
        let mut some: Vec<_> = (0..200).map(|_| Visitor::connect(relay.address)).collect();
        for _ in 0..3 {
            some.iter_mut()
                .for_each(|visitor| visitor.send(request.as_bytes()));
            for visitor in &mut some {
                assert_eq!(visitor.answer(false).unwrap().text(), "good");
            }
        }
        visitors.extend(some);
    }
    wait_until(TIMEOUT, "no connection has a thread", || {
        relay.connection_threads() == 0 && manager.threads() < 40
    });
    println!(
        "{KEPT} kept: relay {} KiB, connector {} KiB and {} threads",
        relay.rss_kib(),
        manager.rss_kib(),
        manager.threads()
    );
}
