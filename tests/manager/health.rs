//! `postern start`: what is in force, whatever was saved since, and whether the application behind a tunnel answers.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};
use support::database::{Options, PASSWORD, USER};
use support::free_port;
use support::http::Client;
use support::manager::{Far, Manager, Target, visit};
use support::{Database, Home, TIMEOUT, wait_until};

/// Waits until the application of a connection is as it should be, and answers its health.
#[track_caller]
fn wait_health(manager: &Manager, id: &str, state: &str) -> Value {
    let is = |result: &Value| result["health"]["state"] == state;
    manager.wait_for(id, state, is)["health"].clone()
}

/// Saves an application, and answers it.
#[track_caller]
fn put(manager: &Manager, id: &str, app: &Value) -> Value {
    let (path, form) = (
        format!("/api/apps/{id}"),
        [("Content-Type", "application/json")],
    );
    let body = app.to_string();
    let answer = manager.client().send("PUT", &path, &form, body.as_bytes());
    assert_eq!(answer.status(), 200, "{}", answer.text());
    answer.data()
}

/// An application that says something to whoever comes, at a port of its own or at that one, and counts.
fn speaker(port: u16, said: &'static str) -> (u16, Arc<AtomicUsize>) {
    let mut listener = None;
    wait_until(TIMEOUT, "the port", || {
        listener = TcpListener::bind(("127.0.0.1", port)).ok();
        listener.is_some()
    });
    let listener = listener.unwrap();
    let port = listener.local_addr().unwrap().port();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            counted.fetch_add(1, Ordering::SeqCst);
            std::thread::spawn(move || {
                let _ = stream.write_all(said.as_bytes());
                let _ = stream.read(&mut [0; 1024]);
            });
        }
    });
    (port, count)
}

const HTTP: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";

#[test]
fn what_is_saved_while_it_is_connected_is_not_in_force() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let mut app = target.app();
    app["name"] = json!("files");
    let id = manager.add(&app);
    let idle = manager.client().get("/api/apps").data();
    assert!(idle[0].get("connection").is_none() && idle[0].get("health").is_none());
    far.assign();
    let result = manager.connected(&id);
    let made = format!("127.0.0.1:{}", target.port());
    let exposed = json!({"target": made, "protocol": "http", "invisible": false, "db_readonly": null,
            "host_header": "visitor", "path": null, "allow": [], "expires": null, "guest": [], "guest_tables": null, "guest_views": null});
    assert_eq!(
        (&result["exposed"], &result["pending_changes"]),
        (&exposed, &json!(false))
    );

    app["invisible"] = json!(true);
    app["port"] = json!(9001);
    let saved = put(&manager, &id, &app);
    assert_eq!(
        (&saved["port"], &saved["connection"]["exposed"]["target"]),
        (&json!(9001), &json!(made))
    );
    let shown = manager.client().get("/api/apps").data();
    let connection = &shown[0]["connection"];
    assert_eq!(
        (&connection["exposed"], &connection["pending_changes"]),
        (&exposed, &json!(true))
    );
    assert_eq!(manager.status(&id)["pending_changes"], true);
    let again = manager.home().run(&["app", "connect", "files"]);
    let hint = "run 'postern app reconnect files'";
    assert_eq!(
        (again.code, again.stderr),
        (
            Some(0),
            format!("postern: saved changes are not active yet\n{hint}\n")
        )
    );
    let listed = manager.home().run(&["app", "list"]).stdout;
    let line = listed.lines().nth(1).unwrap();
    assert!(
        line.contains(&format!(
            "\t{made}\tpublic; saved changes are not active yet\t"
        )),
        "{line}"
    );
    // Settings that only concern the user change nothing.
    app["invisible"] = json!(false);
    app["port"] = json!(target.port());
    app["username"] = json!("me");
    app["autoconnect"] = json!(true);
    put(&manager, &id, &app);
    assert_eq!(manager.status(&id)["pending_changes"], false);

    app["invisible"] = json!(true);
    put(&manager, &id, &app);
    manager.disconnect(&id);
    let result = manager.connected(&id);
    assert_eq!(
        (&result["exposed"]["invisible"], &result["pending_changes"]),
        (&json!(true), &json!(false))
    );
}

#[test]
fn nothing_is_shown_as_exposed_before_it_is() {
    let (mut far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let mut app = target.app();
    let id = manager.add(&app);
    far.quick.script([support::quick_setup::Act::Hold]);
    manager.connect(&id);
    app["port"] = json!(9001);
    put(&manager, &id, &app);
    let result = manager.status(&id);
    assert_eq!(
        (
            &result["status"],
            &result["exposed"],
            &result["pending_changes"]
        ),
        (&json!("connecting"), &json!(null), &json!(true))
    );
    assert_eq!(result["health"], json!(null));
    let listed = manager.home().run(&["app", "list"]).stdout;
    assert!(
        listed.contains("\twill be public at the next connect\t"),
        "{listed}"
    );
    // An exposed application whose tunnel is lost is exposed again when the tunnel is back.
    manager.disconnect(&id);
    far.assign();
    app["port"] = json!(target.port());
    put(&manager, &id, &app);
    manager.connected(&id);
    far.close();
    let lost = manager.wait_status(&id, "connecting");
    assert_eq!(lost["exposed"]["invisible"], false, "{lost}");
    let listed = manager.home().run(&["app", "list"]).stdout;
    assert!(listed.contains("\tpublic\t"), "{listed}");
}

/// A badge "Read-Only" over a client that writes would be the worse of the two lies.
#[test]
fn a_database_shows_the_mode_of_its_running_client() {
    let (far, db) = (Far::new(), Database::shared());
    let manager = far.manager_in(&Arc::new(Home::with_plugin()));
    for runs_read_only in [false, true] {
        let mut app = json!({"protocol": "mysql", "port": db.port(), "db_user": USER, "db_pass": PASSWORD,
            "invisible": false, "db_readonly": runs_read_only});
        let id = manager.add(&app);
        let port = far.assign();
        manager.connected(&id);
        app["db_readonly"] = json!(!runs_read_only);
        put(&manager, &id, &app);
        let result = manager.status(&id);
        assert_eq!(result["exposed"]["db_readonly"], runs_read_only);
        assert_eq!(result["exposed"]["target"], db.target());
        assert_eq!(result["pending_changes"], true);
        assert_eq!(result["health"]["state"], "ok", "the client has signed in");
        let mut visitor = Client::new(&format!("127.0.0.1:{port}"));
        assert_eq!(visitor.get("/api/info").data()["readonly"], runs_read_only);
        let words = if runs_read_only {
            "read-only"
        } else {
            "read-write"
        };
        let listed = manager.home().run(&["app", "list"]).stdout;
        assert!(
            listed.contains(&format!("\tpublic, {words}; saved changes")),
            "{listed}"
        );
        manager.disconnect(&id);
        manager
            .client()
            .send("DELETE", &format!("/api/apps/{id}"), &[], b"");
    }
}

#[test]
fn a_dead_application_is_connected_and_said_to_be_dead() {
    let far = Far::new();
    let manager = far.manager();
    let dead = free_port();
    let id = manager.add(&json!({"protocol": "http", "name": "dead", "port": dead}));
    let port = far.assign();
    let connected = manager.home().run(&["app", "connect", "dead"]);
    assert_eq!(connected.code, Some(0), "{connected:?}");
    assert_eq!(connected.stdout, format!("http://127.0.0.1:{port}/\n"));
    let error = format!("127.0.0.1:{dead} refuses connections");
    assert_eq!(
        connected.stderr,
        format!("postern: connected, but {error}\n")
    );
    let shown = manager.client().get("/api/apps").data()[0].clone();
    assert_eq!(
        (
            &shown["conn_status"],
            &shown["health"]["state"],
            &shown["health"]["error"]
        ),
        (&json!("connected"), &json!("failing"), &json!(error))
    );
    assert!(shown["health"]["since"].is_string());
    assert_eq!(shown["connection"]["health"], shown["health"]);
    let listed = manager.home().run(&["app", "list"]).stdout;
    assert!(
        listed.contains(&format!("\tfailing: {error}\t")),
        "{listed}"
    );

    // It is asked at once when somebody wishes so.
    let (_, _) = speaker(dead, HTTP);
    manager.post(&format!("/api/retry/{id}"));
    assert_eq!(wait_health(&manager, &id, "ok")["error"], json!(null));
    let again = manager.home().run(&["app", "connect", "dead"]);
    assert_eq!((again.code, again.stderr.as_str()), (Some(0), ""));
}

/// The rows `after a failed visit` and `every 30 s while it fails`, in real time.
#[test]
fn an_application_that_dies_is_seen_by_the_next_visit_and_seen_again_by_itself() {
    let far = Far::new();
    let manager = far.manager();
    let first = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = first.local_addr().unwrap().port();
    let id = manager.add(&json!({"protocol": "ssh", "port": target}));
    let port = far.assign();
    manager.connected(&id);
    wait_health(&manager, &id, "ok");
    drop(first);
    assert_eq!(visit(port), None);
    let health = wait_health(&manager, &id, "failing");
    assert_eq!(
        health["error"],
        format!("127.0.0.1:{target} refuses connections")
    );
    let (_, count) = speaker(target, "SSH-2.0-x\r\n");
    let ok = manager.wait_for_within(Duration::from_secs(60), &id, "ok again", |result| {
        result["health"]["state"] == "ok"
    });
    assert_eq!(ok["status"], "connected");
    // It is counted when it is accepted, which may be after the system has answered for it.
    wait_until(TIMEOUT, "the question", || count.load(Ordering::SeqCst) > 0);
    assert_eq!(
        count.load(Ordering::SeqCst),
        1,
        "one that answers is left alone"
    );
}

#[test]
fn what_speaks_something_else_is_named() {
    let far = Far::new();
    let manager = far.manager();
    let (ssh, _) = speaker(0, "SSH-2.0-OpenSSH_9.2\r\n");
    let id = manager.add(&json!({"protocol": "http", "port": ssh}));
    far.assign();
    manager.connected(&id);
    let error = format!("127.0.0.1:{ssh} does not speak HTTP: it said “SSH-2.0-OpenSSH_9.2”");
    assert_eq!(wait_health(&manager, &id, "failing")["error"], error);
}

/// An application that accepts connections but sends nothing delays the connect by a second; checks go on meanwhile.
#[test]
fn a_silent_application_is_unknown_and_then_failing() {
    let far = Far::new();
    let manager = far.manager();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let id = manager.add(&json!({"protocol": "http", "port": port}));
    far.assign();
    let result = manager.connected(&id);
    assert_eq!(
        result["health"],
        json!({"state": "unknown", "error": null, "hint": null, "since": null})
    );
    let health = wait_health(&manager, &id, "failing");
    assert_eq!(
        health["error"],
        format!("127.0.0.1:{port} does not answer within 10 s")
    );
}

/// By the visit that it dies under, and where nobody asks anything, by the connections that end with it; whoever visitors
/// work as.
#[test]
fn a_database_that_dies_is_seen_at_once() {
    for (guest, is_asked) in [(json!([]), true), (json!(["shop.orders"]), false)] {
        let far = Far::new();
        let manager = far.manager_in(&Arc::new(Home::with_plugin()));
        let mut db = Database::start(Options::default());
        db.exec("CREATE DATABASE shop; CREATE TABLE shop.orders (id INT)");
        let id = manager.add(
            &json!({"protocol": "mysql", "port": db.port(), "db_user": USER,
            "db_pass": PASSWORD, "invisible": false, "guest": guest}),
        );
        let port = far.assign();
        assert_eq!(manager.connected(&id)["health"]["state"], "ok");
        let ask = move |sql: &str| {
            let mut visitor = Client::new(&format!("127.0.0.1:{port}"));
            let body = json!({"sql": sql, "session": "s"});
            visitor.post("/api/query", &body).status()
        };
        assert_eq!(ask("SELECT COUNT(*) FROM shop.orders"), 200);
        if is_asked {
            let asked = std::thread::spawn(move || ask("SELECT SLEEP(600)"));
            let running = "SELECT 1 FROM information_schema.PROCESSLIST WHERE INFO LIKE '%SLEEP(600)%' \
                AND ID <> CONNECTION_ID()";
            wait_until(TIMEOUT, "the statement", || !db.column(running).is_empty());
            db.crash();
            assert_eq!(asked.join().unwrap(), 502);
        } else {
            db.crash();
        }
        let health = wait_health(&manager, &id, "failing");
        let error = health["error"].as_str().unwrap();
        assert!(
            error.contains(&db.target()) && error.contains("refused"),
            "{error}"
        );
    }
}

/// An address that takes no connection and refuses none.
fn black_hole() -> (Vec<std::net::TcpStream>, TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let address = listener.local_addr().unwrap();
    let waiting = |_| {
        let time = Duration::from_millis(500);
        std::net::TcpStream::connect_timeout(&address, time).ok()
    };
    let waiting = (0..16).map_while(waiting).collect();
    (waiting, listener, address.port())
}

#[test]
fn one_that_takes_no_connection_is_unknown_and_then_failing() {
    let far = Far::new();
    let manager = far.manager();
    let (_waiting, _listener, port) = black_hole();
    let id = manager.add(&json!({"protocol": "tcp", "port": port}));
    far.assign();
    assert_eq!(manager.connected(&id)["health"]["state"], "unknown");
    let health = wait_health(&manager, &id, "failing");
    let error = format!("127.0.0.1:{port} does not answer within 10 s");
    assert_eq!(health["error"], error);
    // Disconnecting does not wait for a question that is under way.
    manager.post(&format!("/api/retry/{id}"));
    manager.disconnect(&id);
    assert_eq!(manager.status(&id)["status"], "idle");
}

/// A TLS server that answers every request, at a port of its own; its certificate is nobody's.
fn secured() -> u16 {
    let dir = tempfile::tempdir().unwrap();
    let made = std::process::Command::new("openssl")
        .current_dir(dir.path())
        .args("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes".split(' '))
        .args("-days 2 -subj /CN=intranet -keyout k.pem -out c.pem".split(' '))
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let chain = CertificateDer::pem_file_iter(dir.path().join("c.pem")).unwrap();
    let chain = chain.collect::<Result<_, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_file(dir.path().join("k.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let tls = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = StreamOwned::new(tls, stream);
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(HTTP.as_bytes());
        }
    });
    port
}

#[test]
fn an_https_application_is_asked_inside_tls() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let secured = secured();
    let plain = format!("127.0.0.1:{} does not speak TLS", target.port());
    for (port, error) in [(secured, json!(null)), (target.port(), json!(plain))] {
        let id = manager.add(&json!({"protocol": "https", "port": port}));
        far.assign();
        manager.connected(&id);
        let state = if error.is_null() { "ok" } else { "failing" };
        assert_eq!(wait_health(&manager, &id, state)["error"], error);
        // The JSON shown can be sent back as it is.
        let shown = manager.client().get(&format!("/api/apps/{id}")).data();
        assert!(shown["health"].is_object());
        put(&manager, &id, &shown);
        assert_eq!(manager.status(&id)["pending_changes"], false);
        manager.disconnect(&id);
    }
}
