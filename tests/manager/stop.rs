//! `postern start`: disconnecting and deleting wherever a connection is, and what is left behind: nothing.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::free_port;
use support::manager::{Far, Manager, Target, USER, visit};
use support::quick_setup::Act;
use support::{Home, TIMEOUT, allowed, assert_within, wait_until};

/// Time limit for disconnecting, at every place of the sequence.
const AT_ONCE: Duration = Duration::from_secs(1);

/// A place in the sequence where a connection can be made to stay.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    WebClient,
    Call,
    Pause,
    MainTunnel,
    AppTunnel,
    Connected,
    Failed,
}

use Place::*;

const PLACES: [Place; 7] = [
    WebClient, Call, Pause, MainTunnel, AppTunnel, Connected, Failed,
];

/// A manager with an application whose connection has come to `place`.
struct Stuck {
    far: Far,
    _target: Target,
    manager: Manager,
    id: String,
    threads: u64,
    _held: TcpListener,
}

impl Stuck {
    fn at(place: Place) -> Stuck {
        let (mut far, target) = (Far::new(), Target::start());
        let home = Arc::new(Home::with_plugin());
        let manager = far.manager_in(&home);
        let held = TcpListener::bind("127.0.0.1:0").unwrap();
        let held_port = held.local_addr().unwrap().port();
        let mut app = target.app();
        let port = far.assign();
        match place {
            // It takes the connection, and says nothing.
            WebClient => app = json!({"protocol": "mysql", "port": held_port}),
            Call => far.quick.script([Act::Hold]),
            Pause => far.quick.script([Act::json(429, &json!({}))]),
            MainTunnel => far.close(),
            AppTunnel => far.quick.script([Act::json(200, &far.answer(held_port))]),
            Failed => far.quick.script([Act::json(400, &json!({}))]),
            Connected => {}
        }
        let id = manager.add(&app);
        manager.client().get("/api/apps");
        let threads = manager.threads();
        manager.connect(&id);
        manager.wait_for(&id, &format!("at {place:?}"), |result| is_at(place, result));
        if place == Connected {
            wait_until(TIMEOUT, "a visit", || visit(port).is_some());
        }
        Stuck {
            far,
            _target: target,
            manager,
            id,
            threads,
            _held: held,
        }
    }

    /// Checks that the connection has gone with everything that it held.
    #[track_caller]
    fn is_gone(&self, place: Place, begun: Instant) {
        // A call cannot be interrupted: its thread is left to its own end, and the server's owner takes its answer. The
        // main tunnel stays, or goes on trying.
        let may_stay = match place {
            Call => 2,
            // With the contained thread that the driver is on.
            WebClient => 2,
            // The server's owner, the tunnel's two, and seven of the local API service.
            MainTunnel | AppTunnel | Connected => 10,
            Pause | Failed => 0,
        };
        wait_until(TIMEOUT, "the threads", || {
            self.manager.threads() <= self.threads + may_stay
        });
        let took = begun.elapsed();
        assert!(took < allowed(AT_ONCE), "{place:?}: {took:?}");
    }
}

fn is_at(place: Place, result: &Value) -> bool {
    let is = |status: &str, step: u64| result["status"] == status && result["step"] == step;
    match place {
        WebClient => is("connecting", 1) && result["step_name"] == "web client",
        Call => is("connecting", 1),
        Pause => is("connecting", 1) && result["next_retry_ms"].is_u64(),
        MainTunnel => is("connecting", 3) && result["error"] != "",
        AppTunnel => is("connecting", 5) && result["error"] != "",
        Connected => result["status"] == "connected",
        Failed => result["status"] == "failed",
    }
}

#[test]
fn disconnecting_works_at_once_wherever_the_connection_is() {
    std::thread::scope(|scope| {
        for place in PLACES {
            scope.spawn(move || {
                let mut stuck = Stuck::at(place);
                let begun = Instant::now();
                stuck.manager.disconnect(&stuck.id);
                assert_eq!(
                    stuck.manager.status(&stuck.id)["status"],
                    "idle",
                    "{place:?}"
                );
                assert_within(begun, AT_ONCE);
                stuck.is_gone(place, begun);
                // The application can be connected again afterwards.
                if place == MainTunnel {
                    stuck.far.open();
                }
                if place != WebClient {
                    let port = stuck.far.assign();
                    stuck.manager.connected(&stuck.id);
                    wait_until(TIMEOUT, "a visit", || visit(port).is_some());
                }
            });
        }
    });
}

#[test]
fn deleting_works_wherever_the_connection_is() {
    std::thread::scope(|scope| {
        for place in PLACES {
            scope.spawn(move || {
                let stuck = Stuck::at(place);
                let begun = Instant::now();
                let path = format!("/api/apps/{}", stuck.id);
                let answer = stuck.manager.client().send("DELETE", &path, &[], b"");
                assert_eq!(answer.data()["id"], stuck.id);
                stuck.is_gone(place, begun);
                for path in [path, format!("/api/status/{}", stuck.id)] {
                    assert_eq!(stuck.manager.client().get(&path).status(), 404, "{place:?}");
                }
                let answer = stuck.manager.post(&format!("/api/connect/{}", stuck.id));
                assert_eq!(answer.status(), 404);
            });
        }
    });
}

#[test]
fn the_program_ends_within_two_seconds_wherever_a_connection_is() {
    std::thread::scope(|scope| {
        for place in PLACES {
            scope.spawn(move || {
                let mut stuck = Stuck::at(place);
                let begun = Instant::now();
                let status = stuck.manager.stop();
                assert!(
                    status.is_some_and(|status| status.success()),
                    "{place:?}: {status:?}"
                );
                assert_within(begun, Duration::from_millis(2200));
            });
        }
    });
}

#[test]
fn an_answer_that_comes_after_the_disconnect_is_saved_all_the_same() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let id = manager.add(&target.app());
    let late = Act::json(200, &far.answer(free_port())).after(Duration::from_millis(700));
    far.quick
        .script([late, Act::json(200, &far.answer(free_port()))]);
    manager.connect(&id);
    far.quick.wait_for(1);
    manager.disconnect(&id);
    wait_until(TIMEOUT, "the late answer", || {
        manager.stderr().contains("are saved")
    });
    assert_eq!(manager.status(&id)["status"], "idle");
    manager.connected(&id);
    assert_eq!(far.quick.requests()[1].json()["connector_name"], USER);
}

#[test]
fn reconnecting_at_once_does_not_lose_the_new_tunnel_to_the_end_of_the_old() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let id = manager.add(&target.app());
    let port = far.assign();
    for round in 0..10 {
        manager.connected(&id);
        wait_until(TIMEOUT, "a visit", || visit(port).is_some());
        manager.disconnect(&id);
        assert_eq!(far.quick.requests().len(), round + 1);
    }
    manager.connected(&id);
    wait_until(TIMEOUT, "a visit", || visit(port).is_some());
    assert_eq!(manager.status(&id)["reconnects"], 0);
}

/// The embedded relay goes with the program; that is no outage to warn of.
#[test]
fn an_end_with_connections_is_quiet() {
    let (mut manager, target) = (Manager::start(&[]), Target::start());
    let id = manager.add(&target.app());
    manager.connected(&id);
    assert!(manager.stop().unwrap().success());
    let log = manager.stderr();
    assert!(log.contains("INFO"), "it is a log: {log}");
    // Another program may have the usual port of sites.
    let told: Vec<&str> = log
        .lines()
        .filter(|line| !line.contains("Port 8180 is in use"))
        .collect();
    let is_bad = |line: &&str| line.contains("WARN") || line.contains("ERROR");
    assert!(!told.iter().any(is_bad), "{log}");
}
