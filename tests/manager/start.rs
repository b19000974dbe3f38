//! `postern start` as a program: its port, its directory, a second one, a crash, its end.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use support::manager::{Far, Manager, Target, environment};
use support::postern::binary;
use support::{Home, TIMEOUT, assert_within, wait_until};

#[test]
fn a_second_start_says_where_the_first_is() {
    let home = Arc::new(Home::new());
    let manager = Manager::start_in(&home, &[]);
    let begun = Instant::now();
    let second = home.run(&["start", "0", "--no-open"]);
    assert_eq!((second.code, second.stdout.as_str()), (Some(1), ""));
    assert!(
        second.stderr.contains("already running on"),
        "{}",
        second.stderr
    );
    assert!(
        second
            .stderr
            .contains(&format!("its page is at {}/", manager.url())),
        "{}",
        second.stderr
    );
    assert_within(begun, Duration::from_secs(2));
    drop(manager);
    Manager::start_in(&home, &[]);
}

#[test]
fn a_crash_leaves_nothing_in_the_way() {
    let (far, target) = (Far::new(), Target::start());
    let home = Arc::new(Home::new());
    let mut manager = far.manager_in(&home);
    let mut app = target.app();
    app["autoconnect"] = json!(true);
    let id = manager.add(&app);
    let port = far.assign();
    manager.connected(&id);
    manager.kill();
    drop(manager);
    assert!(
        home.path().join("run/start.json").exists(),
        "it had no time to tidy up"
    );
    let listed = home.run(&["app", "list"]);
    assert!(listed.stdout.contains("idle"), "{listed:?}");
    let manager = far.manager_in(&home);
    manager.wait_status(&id, "connected");
    wait_until(TIMEOUT, "a visit", || {
        support::manager::visit(port).is_some()
    });
    let left = fs::read_dir(home.path().join("run")).unwrap().count();
    assert_eq!(
        left, 4,
        "two locks, the address, and one directory for sockets"
    );
}

#[test]
fn what_is_stored_is_private_and_sealed() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    let mut app = target.app();
    app["auth_pass"] = json!("planted-app-password");
    let id = manager.add(&app);
    far.assign();
    manager.connected(&id);
    let home = manager.home().path();
    for name in [
        ".apps",
        ".credential",
        "known_servers.json",
        "run/start.json",
        "run/start.lock",
    ] {
        let mode = fs::metadata(home.join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    for name in [".apps", ".credential"] {
        let bytes = fs::read(home.join(name)).unwrap();
        assert!(bytes.starts_with(b"PSTN\x02"));
        for secret in ["planted", "assigned-password", "http"] {
            assert!(
                !bytes
                    .windows(secret.len())
                    .any(|part| part == secret.as_bytes()),
                "{name}: {secret}"
            );
        }
    }
}

#[test]
fn the_port_is_checked() {
    let home = Home::new();
    for junk in ["x", "65536", "-1", "1.5", "", "127.0.0.1:1"] {
        let failed = home.run(&["start", "--no-open", "--", junk]);
        assert_eq!(failed.code, Some(2), "{junk}: {failed:?}");
        assert!(failed.stderr.contains("is not a port"), "{failed:?}");
    }
    let held = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = held.local_addr().unwrap().port();
    let failed = home.run(&["start", "--no-open", &port.to_string()]);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    let holder = format!("(process {})", std::process::id());
    assert!(
        failed.stderr.contains("the port is in use by") && failed.stderr.contains(&holder),
        "{failed:?}"
    );
    assert!(
        failed
            .stderr
            .lines()
            .nth(1)
            .unwrap()
            .contains("postern start PORT"),
        "{failed:?}"
    );
    drop(held);
    assert!(
        Manager::try_start_in(&Arc::new(home), &[]).is_ok(),
        "a failed start leaves nothing in the way"
    );
}

#[test]
fn options_are_checked() {
    let home = Home::new();
    for (line, word) in [
        (&["--server", "http://relay.example"][..], "--insecure"),
        (&["--server", "relay.example:x"], "--server"),
        (
            &["--server", "https://user:planted@relay.example"],
            "USER:PASSWORD",
        ),
        (&["--nope"], "unknown option"),
        (&["--allow-host", "a b"], "--allow-host"),
    ] {
        let failed = home.run(&[&["start", "0", "--no-open"], line].concat());
        assert_eq!(failed.code, Some(2), "{failed:?}");
        assert!(
            failed.stderr.contains(word) && !failed.stderr.contains("planted"),
            "{failed:?}"
        );
    }
    let help = home.run(&["start", "--help"]);
    assert!(help.code == Some(0) && help.stdout.contains("--reset-credentials"));
}

#[test]
fn an_allowed_name_is_served() {
    let manager = Manager::start(&["--allow-host", "manage.example"]);
    let status = |host: &str| {
        let headers = [("Host", host), ("Origin", "")];
        let answer = manager.client().send("GET", "/api/apps", &headers, b"");
        answer.status()
    };
    assert_eq!(
        (status("manage.example"), status("other.example")),
        (200, 421)
    );
}

#[test]
fn only_loopback_is_listened_on() {
    let manager = Manager::start(&[]);
    let port = manager
        .authority()
        .rsplit(':')
        .next()
        .unwrap()
        .parse::<u16>()
        .unwrap();
    // This port of another address is free.
    TcpListener::bind(("127.0.0.2", port)).unwrap();
}

#[test]
fn both_signals_end_it_well_and_nothing_is_left() {
    use rustix::process::{Pid, Signal, kill_process};
    for signal in [Signal::TERM, Signal::INT] {
        let (far, target) = (Far::new(), Target::start());
        let home = Arc::new(Home::new());
        let manager = far.manager_in(&home);
        let id = manager.add(&target.app());
        let port = far.assign();
        manager.connected(&id);
        let pid = Pid::from_raw(i32::try_from(manager.pid()).unwrap()).unwrap();
        let begun = Instant::now();
        kill_process(pid, signal).unwrap();
        wait_until(TIMEOUT, "the end", || {
            !std::path::Path::new(&format!("/proc/{}", manager.pid())).exists()
        });
        assert_within(begun, Duration::from_secs(2));
        wait_until(TIMEOUT, "the end of the site", || {
            support::manager::visit(port).is_none()
        });
        let mut left: Vec<_> = fs::read_dir(home.path().join("run"))
            .unwrap()
            .flatten()
            .map(|e| e.file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["lock", "start.lock"]);
    }
}

#[test]
fn the_server_and_the_token_may_come_from_the_environment() {
    let (far, target) = (Far::new(), Target::start());
    far.assign();
    let home = Home::new();
    let mut child = std::process::Command::new(binary());
    child
        .args(["start", "0", "--no-open"])
        .envs(environment(home.path()));
    child
        .env("POSTERN_SERVER", far.quick.url())
        .env("POSTERN_ENROLL_TOKEN", "planted-token");
    child
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped());
    let mut child = child.spawn().unwrap();
    wait_until(TIMEOUT, "the start", || {
        home.run(&["app", "list"]).code == Some(0) && home.path().join("run/start.json").exists()
    });
    let port = target.port().to_string();
    let added = home.run(&["app", "add", "http", &port, "--name", "shop"]);
    assert_eq!(added.code, Some(0), "{added:?}");
    let elsewhere = Far::new();
    elsewhere.assign();
    home.run(&[
        "app",
        "add",
        "http",
        &port,
        "--name",
        "other",
        "--server",
        &elsewhere.quick.url(),
    ]);
    for name in ["shop", "other"] {
        let connected = home.run(&["app", "connect", name]);
        assert_eq!(connected.code, Some(0), "{connected:?}");
    }
    assert_eq!(
        far.quick.requests()[0].json()["enroll_token"],
        "planted-token"
    );
    assert!(
        elsewhere.quick.requests()[0]
            .json()
            .get("enroll_token")
            .is_none(),
        "it is for the one server"
    );
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let mut log = String::new();
    std::io::Read::read_to_string(child.stderr.as_mut().unwrap(), &mut log).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(!log.contains("planted"), "{log}");
}

#[test]
fn credentials_can_be_begun_afresh() {
    let (far, target) = (Far::new(), Target::start());
    let home = Arc::new(Home::new());
    let manager = far.manager_in(&home);
    let id = manager.add(&target.app());
    far.assign();
    manager.connected(&id);
    drop(manager);
    let args = far.args();
    let manager = Manager::start_in(&home, &[&args[0], &args[1], "--reset-credentials"]);
    manager.connected(&id);
    let requests = far.quick.requests();
    let name = |index: usize| requests[index].json()["connector_name"].to_string();
    assert!(
        name(1).contains("postern_") && name(0) != name(1),
        "{} {}",
        name(0),
        name(1)
    );
    assert_eq!(requests[1].json()["reset"], true);
    let kept = fs::read_dir(home.path()).unwrap().flatten();
    assert!(
        kept.map(|e| e.file_name())
            .any(|name| name.to_string_lossy().starts_with(".credential.reset-"))
    );
}

#[test]
fn a_list_from_another_machine_is_kept_aside_and_told() {
    let home = Arc::new(Home::new());
    drop(Manager::start_in(&home, &[]));
    fs::write(home.path().join(".apps"), "PSTN\u{1}of another machine").unwrap();
    let manager = Manager::start_in(&home, &[]);
    assert_eq!(manager.client().get("/api/apps").data(), json!([]));
    let version = manager.client().get("/api/version").data();
    let notices = version["notices"].to_string();
    assert!(notices.contains("unreadable"), "{notices}");
    assert!(manager.stderr().contains("unreadable"));
    manager.add(&json!({"protocol": "http"}));
}

/// An empty list would pass for a file without servers.
#[test]
fn pins_that_cannot_be_read_are_kept_aside_and_told() {
    let (far, target) = (Far::new(), Target::start());
    let manager = far.manager();
    fs::write(manager.home().path().join("known_servers.json"), "[]").unwrap();
    let id = manager.add(&target.app());
    far.assign();
    manager.connected(&id);
    let version = manager.client().get("/api/version").data();
    let notices = version["notices"].to_string();
    let aside = "known_servers.json.unreadable-";
    assert!(notices.contains(aside), "{notices}");
    assert!(manager.stderr().contains(aside), "{}", manager.stderr());
}

/// Pages of the manual are found under the names that links have in the sources and on the page itself.
#[test]
fn the_manual_is_linked_and_leads_back() {
    let manager = Manager::start(&[]);
    let get = |path: &str| {
        let answer = manager.client().get(path);
        assert_eq!(answer.status(), 200, "{path}");
        answer.text().to_owned()
    };
    assert!(get("/").contains("href=\"/docs\""));
    assert_eq!(get("/docs/share.html"), get("/docs/share"));
    assert!(get("/docs/share").contains("href=\"/\""));
    assert_eq!(manager.client().get("/docs/nothing.html").status(), 404);
}
