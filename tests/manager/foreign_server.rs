//! `postern start` at a chisel server that is not ours, which forwards ports and does nothing more: what it does not
//! know of (codes, an end, another name) is done at home. It is Python's asyncssh, set up by `tests/setup.sh`, or the
//! chisel that `POSTERN_CHISEL` names.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use postern::store::time::rfc3339;
use serde_json::{Value, json};
use support::gateway::application;
use support::http::{Client, JSON};
use support::kill_on_drop::{KillOnDrop, Leashed};
use support::manager::{Far, Manager, PASSWORD as TUNNEL_PASSWORD, USER as TUNNEL_USER};
use support::quick_setup::Act;
use support::relay::with;
use support::websocket::{ends, read_head, websocket_at};
use support::{Database, Home, TIMEOUT, free_port, wait_until};

struct Foreign {
    far: Far,
    tunnel_port: u16,
    process: Leashed,
}

impl Foreign {
    fn start() -> Foreign {
        let mut far = Far::new();
        far.close();
        let tunnel_port = free_port();
        let process = match std::env::var_os("POSTERN_CHISEL") {
            Some(chisel) => KillOnDrop::new(chisel)
                .args(["server", "--reverse", "--host", "127.0.0.1", "--port"])
                .args([tunnel_port.to_string()])
                .args(["--auth", &format!("{TUNNEL_USER}:{TUNNEL_PASSWORD}")]),
            None => asyncssh()
                .args([tunnel_port.to_string()])
                .args([TUNNEL_USER, TUNNEL_PASSWORD]),
        };
        let foreign = Foreign {
            far,
            tunnel_port,
            process: process.start(),
        };
        wait_until(TIMEOUT, "the tunnel server", || {
            TcpStream::connect(("127.0.0.1", tunnel_port)).is_ok()
        });
        foreign
    }

    /// Every call is answered with one port, which is answered here, and the code for visitors.
    fn assign(&self, code: &str) -> u16 {
        let port = free_port();
        let mut answer = self.far.answer(port);
        answer["connector"]["tunnel_port"] = json!(self.tunnel_port);
        answer["api_key"]["code"] = json!(code);
        self.far.quick.script([Act::json(200, &answer)]);
        port
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the tunnel server said:\n{}", self.process.stderr.text());
        }
    }
}

fn asyncssh() -> KillOnDrop {
    let (python, script) = support::peers::script("forwards.py");
    KillOnDrop::new(python).args([script])
}

/// Ends an application soon, and waits until it has.
fn ends_soon(manager: &Manager, id: &str, app: &Value) {
    let soon = rfc3339(SystemTime::now() + Duration::from_secs(2));
    let body = with(app.clone(), json!({"expires": soon})).to_string();
    let path = format!("/api/apps/{id}");
    let answer = manager
        .client()
        .send("PUT", &path, &[JSON], body.as_bytes());
    assert_eq!(answer.status(), 200, "{}", answer.text());
    manager.wait_for(id, "its end", |status| status["error_class"] == "expired");
}

fn is_closed(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_err()
}

#[test]
fn bytes_of_any_protocol_pass_both_ways_until_the_end_that_was_set() {
    let foreign = Foreign::start();
    let manager = foreign.far.manager();
    let echo = application(|mut stream| {
        let mut writer = stream.try_clone().unwrap();
        let _ = std::io::copy(&mut stream, &mut writer);
    });
    let app = json!({"protocol": "tcp", "port": echo});
    let id = manager.add(&app);
    let port = foreign.assign("");
    manager.connected(&id);
    wait_until(TIMEOUT, "the port", || !is_closed(port));
    let mut visitor = TcpStream::connect(("127.0.0.1", port)).unwrap();
    visitor.set_read_timeout(Some(TIMEOUT)).unwrap();
    let data: Vec<u8> = (0..1_000_003_u32)
        .map(|n| n.to_le_bytes()[n as usize % 3])
        .collect();
    let mut writer = visitor.try_clone().unwrap();
    let sent = data.clone();
    let sender = std::thread::spawn(move || writer.write_all(&sent).unwrap());
    let mut back = vec![0; data.len()];
    visitor.read_exact(&mut back).unwrap();
    assert!(back == data, "other bytes came back");
    sender.join().unwrap();

    ends_soon(&manager, &id, &app);
    assert_eq!(ends(visitor), b"");
    wait_until(TIMEOUT, "the port's end", || is_closed(port));
}

/// It answers with the head of the request, or echoes after an upgrade.
fn mirror() -> u16 {
    application(|mut stream| {
        let head = read_head(&mut stream);
        if head.contains("\r\nUpgrade: websocket\r\n") {
            let yes = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\
                Upgrade: websocket\r\n\r\n";
            stream.write_all(yes.as_bytes()).unwrap();
            let mut writer = stream.try_clone().unwrap();
            let _ = std::io::copy(&mut stream, &mut writer);
        } else {
            let begin = "HTTP/1.1 200 OK\r\nConnection: close\r\n";
            let _ = write!(stream, "{begin}Content-Length: {}\r\n\r\n", head.len());
            let _ = stream.write_all(head.as_bytes());
        }
    })
}

#[test]
fn codes_names_and_the_end_of_a_site_are_seen_to_at_home() {
    let foreign = Foreign::start();
    let manager = foreign.far.manager();
    let app = json!({
        "protocol": "http", "port": mirror(), "invisible": true, "host_header": "intranet.example",
    });
    let id = manager.add(&app);
    let port = foreign.assign("");
    let connection = manager.connected(&id);
    wait_until(TIMEOUT, "the site", || !is_closed(port));
    let site = format!("127.0.0.1:{port}");
    let get = |path: &str, cookie: &str| {
        let headers = [("Cookie", cookie)];
        let answer = Client::new(&site).try_send("GET", path, &headers, b"");
        answer.unwrap()
    };
    assert_eq!(get("/", "").status(), 401);
    let link = connection["auth_url"].as_str().unwrap();
    let entered = get(link.strip_prefix(&format!("http://{site}")).unwrap(), "");
    assert_eq!(entered.status(), 303, "{}", entered.text());
    let cookie = entered.cookie().unwrap();
    let page = get("/", &cookie);
    assert!(
        page.text().contains("\r\nHost: intranet.example\r\n"),
        "{}",
        page.text()
    );
    assert!(!page.text().contains(&cookie));

    let open = websocket_at(("127.0.0.1", port), &format!("127.0.0.1:{port}"), &cookie);
    manager.post(&format!("/api/apps/{id}/signout")).data();
    assert_eq!(ends(open), b"");
    assert_eq!(get("/", &cookie).status(), 401);
    let entered = get(link.strip_prefix(&format!("http://{site}")).unwrap(), "");
    let open = websocket_at(
        ("127.0.0.1", port),
        &format!("127.0.0.1:{port}"),
        &entered.cookie().unwrap(),
    );
    ends_soon(&manager, &id, &app);
    assert_eq!(ends(open), b"");
    wait_until(TIMEOUT, "the site's end", || is_closed(port));
}

#[test]
fn a_database_takes_the_code_that_the_server_gave_until_its_end() {
    let (foreign, db) = (Foreign::start(), Database::shared());
    let manager = foreign.far.manager_in(&Arc::new(Home::with_plugin()));
    let target = db.target();
    let (host, port) = target.rsplit_once(':').unwrap();
    let app = json!({
        "protocol": "mysql", "ip": host, "port": port.parse::<u16>().unwrap(),
        "db_user": support::database::USER, "db_pass": support::database::PASSWORD,
    });
    let id = manager.add(&app);
    let port = foreign.assign("the-servers-code");
    manager.connected(&id);
    wait_until(TIMEOUT, "the site", || !is_closed(port));
    let mut visitor = Client::new(&format!("127.0.0.1:{port}"));
    assert_eq!(visitor.get("/api/info").status(), 401);
    assert_ne!(visitor.get("/auth?code=another").status(), 303);
    let entered = visitor.get("/auth?code=the-servers-code");
    assert_eq!(entered.status(), 303, "{}", entered.text());
    visitor.set_cookie(&entered.cookie().unwrap());
    assert_eq!(visitor.get("/api/info").data()["readonly"], true);
    let answer = visitor.query_ok("", "SELECT 6 * 7");
    assert!(answer.to_string().contains("42"), "{answer}");
    assert_eq!(visitor.query("", "CREATE DATABASE refused")["code"], 403);

    ends_soon(&manager, &id, &app);
    wait_until(TIMEOUT, "the site's end", || is_closed(port));
}
