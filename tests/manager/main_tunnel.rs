//! `postern start`: the main tunnel, one for each remote server, and the local API service behind it.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use postern::store::{CredentialStore, DataDir};
use serde_json::{Value, json};
use support::free_port;
use support::http::Client;
use support::manager::{Far, Manager, Target};
use support::quick_setup::Act;
use support::{Home, TIMEOUT, wait_until};

fn tunnels(manager: &Manager) -> Value {
    manager.client().get("/api/tunnel").data()
}

fn wait_up(manager: &Manager) -> Value {
    wait_until(TIMEOUT, "the main tunnel", || {
        tunnels(manager)[0]["status"] == "connected"
    });
    tunnels(manager)
}

/// The local API service as the remote server sees it.
fn through(api_port: u16, path: &str) -> Option<Value> {
    let mut client = Client::new(&format!("127.0.0.1:{api_port}"));
    let answer = client
        .try_send(
            "GET",
            path,
            &[("Host", "relay.example"), ("Origin", "")],
            b"",
        )
        .ok()?;
    Some(answer.json())
}

#[test]
fn two_simultaneous_first_connects_make_one() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let ids = [manager.add(&target.app()), manager.add(&target.app())];
    assert_eq!(tunnels(&manager), json!([]), "none without connector info");
    let answers = [free_port(), free_port()].map(|port| Act::json(200, &far.answer(port)));
    far.quick.script(answers);
    std::thread::scope(|scope| {
        for id in &ids {
            scope.spawn(|| manager.connect(id));
        }
    });
    for id in &ids {
        manager.wait_status(id, "connected");
    }
    assert_eq!(tunnels(&manager).as_array().unwrap().len(), 1);
    assert_eq!(
        manager.stderr().matches("main tunnel to").count(),
        1,
        "{}",
        manager.stderr()
    );
}

#[test]
fn the_local_api_is_behind_it_and_names_nothing() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let id = manager.add(&target.app());
    far.assign();
    manager.connected(&id);
    wait_until(TIMEOUT, "the API", || {
        through(far.api_port, "/health").is_some()
    });
    assert_eq!(
        through(far.api_port, "/health"),
        Some(json!({"status": "OK"}))
    );
    let version = through(far.api_port, "/version").unwrap();
    assert_eq!(version["data"]["version"], env!("CARGO_PKG_VERSION"));
    // Applications shared through another server do not appear here.
    let (other, elsewhere) = (Far::new(), Target::start());
    other.assign();
    let mut app = elsewhere.app();
    app["server"] = json!(other.quick.url());
    manager.connected(&manager.add(&app));
    let status = through(far.api_port, "/status").unwrap();
    assert_eq!(
        status["data"],
        json!({"connecting": 0, "connected": 1, "failed": 0})
    );
    for path in ["/", "/api/apps", "/api/version", "/status/x"] {
        assert_eq!(through(far.api_port, path).unwrap()["code"], 404, "{path}");
    }
    let mut client = Client::new(&format!("127.0.0.1:{}", far.api_port));
    assert_eq!(client.send("POST", "/status", &[], b"").status(), 405);
    let port = tunnels(&manager)[0]["local_port"].as_u64().unwrap();
    assert!((4000..=5000).contains(&port), "{port}");
}

#[test]
fn at_the_start_it_is_set_up_from_what_was_saved_at_the_same_port() {
    let (far, target) = (Far::new(), Target::start());
    let home = Arc::new(Home::new());
    let manager = far.manager_in(&home);
    let id = manager.add(&target.app());
    far.assign();
    // A port further up: the first ones come and go with other tests.
    let first_ones: Vec<_> = (4000..4200)
        .map(|port| TcpListener::bind(("127.0.0.1", port)))
        .collect();
    manager.connected(&id);
    let port = tunnels(&manager)[0]["local_port"].clone();
    let chosen = usize::try_from(port.as_u64().unwrap()).unwrap();
    // A port that another program held may be free by now.
    let was_held = first_ones.get(chosen - 4000).is_some_and(Result::is_ok);
    assert!(!was_held, "the first free one: {port}");
    drop(first_ones);
    drop(manager);
    let manager = far.manager_in(&home);
    let shown = wait_up(&manager);
    // Another test can have come before it at that port.
    let is_taken = || TcpListener::bind(("127.0.0.1", u16::try_from(chosen).unwrap())).is_err();
    assert!(
        shown[0]["local_port"] == port || is_taken(),
        "{shown} {port}"
    );
    assert_eq!(shown[0]["server"], far.quick.url());
    let calls = far.quick.requests().len();
    assert_eq!(calls, 1, "no call is needed for it");
    drop(manager);
    let taken = u16::try_from(port.as_u64().unwrap()).unwrap();
    // Another test can have had it for a while.
    let mut held = None;
    wait_until(TIMEOUT, "the port that was given back", || {
        held = TcpListener::bind(("127.0.0.1", taken)).ok();
        held.is_some()
    });
    let manager = far.manager_in(&home);
    assert_ne!(wait_up(&manager)[0]["local_port"], port);
}

/// An earlier version did not keep how far inside the network the server was; its URL says that it is here.
#[test]
fn at_the_start_it_is_set_up_from_what_an_earlier_version_saved() {
    let (far, target) = (Far::new(), Target::start());
    let home = Arc::new(Home::new());
    let manager = far.manager_in(&home);
    let id = manager.add(&target.app());
    far.assign();
    manager.connected(&id);
    drop(manager);
    let store = CredentialStore::new(DataDir::at(home.path()));
    let known = store.with_connector_info().unwrap();
    let changed = store.change(&known[0].0, |saved| saved.server_class.take());
    assert_eq!(changed.unwrap().as_deref(), Some("loopback"));
    let manager = far.manager_in(&home);
    wait_up(&manager);
    assert_eq!(far.quick.requests().len(), 1, "no call is needed for it");
}

#[test]
fn at_the_start_the_page_does_not_wait_for_it() {
    let (mut far, target) = (Far::new(), Target::start());
    let home = Arc::new(Home::new());
    let manager = far.manager_in(&home);
    let id = manager.add(&target.app());
    let port = far.assign();
    manager.connected(&id);
    drop(manager);
    far.close();
    let manager = far.manager_in(&home);
    wait_until(TIMEOUT, "the failure", || {
        tunnels(&manager)[0]["error"] != ""
    });
    let shown = tunnels(&manager);
    assert_eq!(shown[0]["status"], "connecting", "{shown}");
    manager.connect(&id);
    manager.wait_for(&id, "at step 3", |result| {
        result["step"] == 3 && result["error"] != ""
    });
    far.open();
    manager.post(&format!("/api/retry/{id}"));
    manager.wait_status(&id, "connected");
    assert!(support::manager::visit(port).is_some());
}

/// The row `not ready | no signal within 30 s`, in real time; and that the next connect sets it up.
#[test]
fn one_that_does_not_come_up_in_30_s_fails_the_connect_and_is_tried_again() {
    let (mut far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let id = manager.add(&target.app());
    far.assign();
    far.close();
    let begun = Instant::now();
    manager.connect(&id);
    let result = manager.wait_status(&id, "failed");
    let waited = begun.elapsed().as_secs_f32();
    assert!((29.0..33.0).contains(&waited), "{waited}");
    assert_eq!(result["error"], "Main tunnel connect timeout");
    assert_eq!(result["error_class"], "network");
    far.open();
    manager.connected(&id);
}

#[test]
fn other_connector_info_replaces_it() {
    let (far, other, target) = (Far::new(), Far::new(), Target::start());
    let manager = far.manager();
    let ids = [manager.add(&target.app()), manager.add(&target.app())];
    far.assign();
    manager.connected(&ids[0]);
    wait_until(TIMEOUT, "the API", || {
        through(far.api_port, "/health").is_some()
    });
    let port = tunnels(&manager)[0]["local_port"].clone();
    far.quick
        .script([Act::json(200, &other.answer(free_port()))]);
    manager.connected(&ids[1]);
    wait_until(TIMEOUT, "the new one", || {
        through(other.api_port, "/health").is_some()
    });
    wait_until(TIMEOUT, "the end of the old one", || {
        through(far.api_port, "/health").is_none()
    });
    let shown = tunnels(&manager);
    assert_eq!(shown.as_array().unwrap().len(), 1, "{shown}");
    assert_eq!(shown[0]["local_port"], port);
    assert_eq!(
        manager.status(&ids[0])["status"],
        "connected",
        "its tunnel is another one"
    );
}

#[test]
fn each_server_has_its_own_credentials_and_main_tunnel() {
    let (far, other, target) = (Far::new(), Far::new(), Target::start());
    let manager = far.manager();
    let id = manager.add(&target.app());
    let mut app = target.app();
    app["server"] = json!(other.quick.url());
    let elsewhere = manager.add(&app);
    far.assign();
    other.assign();
    manager.connected(&id);
    manager.connected(&elsewhere);
    let shown = tunnels(&manager);
    let ports: Vec<&Value> = shown
        .as_array()
        .unwrap()
        .iter()
        .map(|tunnel| &tunnel["local_port"])
        .collect();
    assert_eq!(ports.len(), 2);
    assert_ne!(ports[0], ports[1]);
    let first = |far: &Far| far.quick.requests()[0].json();
    assert_ne!(
        first(&far)["connector_name"],
        first(&other)["connector_name"]
    );
    assert_ne!(first(&far)["password"], first(&other)["password"]);
}

/// It is everybody's: one application's mistake would be all the others' too.
#[test]
fn a_port_that_one_application_names_does_not_lead_it_astray() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let good = manager.add(&target.app());
    far.assign();
    manager.connected(&good);
    let mut app = target.app();
    app["tunnel_port"] = json!(free_port());
    let astray = manager.add(&app);
    far.assign();
    manager.connect(&astray);
    manager.wait_for(&astray, "at its own tunnel", |result| {
        result["step"] == 5 && result["error_class"] == "network"
    });
    assert_eq!(tunnels(&manager)[0]["status"], "connected");
    manager.disconnect(&good);
    far.assign();
    manager.connected(&good);
    assert_eq!(manager.status(&astray)["status"], "connecting");
}

#[test]
fn it_comes_back_after_a_drop() {
    let (mut far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let id = manager.add(&target.app());
    far.assign();
    manager.connected(&id);
    far.close();
    wait_until(TIMEOUT, "the loss", || {
        tunnels(&manager)[0]["status"] == "connecting"
    });
    far.open();
    wait_up(&manager);
    wait_until(Duration::from_secs(30), "the API", || {
        through(far.api_port, "/health").is_some()
    });
}

/// True if a thread owns the state of a remote server. A thread that it started and that has no name of its own counts
/// too.
fn has_owner(manager: &Manager) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", manager.pid())).unwrap();
    // A thread may end between the two looks.
    let mut names = tasks
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    names.any(|name| name.trim_end() == "remote-server")
}

#[test]
fn a_server_has_a_thread_only_while_it_is_used() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let id = manager.add(&target.app());
    assert!(!has_owner(&manager));
    far.quick.script([Act::json(400, &json!({}))]);
    manager.connect(&id);
    manager.wait_status(&id, "failed");
    wait_until(TIMEOUT, "the end of its thread", || !has_owner(&manager));
    far.assign();
    manager.connected(&id);
    assert!(has_owner(&manager));
    manager.disconnect(&id);
    assert_eq!(tunnels(&manager)[0]["status"], "connected", "it stays");
    assert!(has_owner(&manager));
    let body = json!({"server": far.quick.url(), "disconnect": true});
    assert_eq!(manager.client().post("/api/reset", &body).status(), 200);
    wait_until(TIMEOUT, "the end of its thread", || !has_owner(&manager));
    far.assign();
    manager.connected(&id);
}
