//! A server that goes away between two statements, and another that takes over.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;
use support::balancer::Balancer;
use support::database::Database;
use support::kill_on_drop::{KillOnDrop, Leashed};
use support::{TIMEOUT, free_port, holds_within, wait_until};

use super::{ask, cell, message, rows_on, two_servers, web_client};

#[test]
fn a_failover_is_a_lost_connection_that_says_so_and_nothing_runs_twice() {
    let servers = two_servers();
    let balancer = Balancer::before(&[servers[0].port(), servers[1].port()]);
    let postern = web_client(&balancer.target(), &[]);
    let mut client = postern.client();
    assert_eq!(cell(&mut client, "SELECT @@server_id"), "1");
    for sql in ["BEGIN", "INSERT INTO shop.t VALUES (1)", "SET @mine = 7"] {
        assert_eq!(ask(&mut client, sql).0, 200, "{sql}");
    }
    balancer.fail_over_to(1);
    let (status, body) = ask(&mut client, "INSERT INTO shop.t VALUES (2)");
    assert_eq!(status, 502, "{body}");
    let told = message(&body);
    assert!(
        told.contains("transaction, variables and temporary tables"),
        "{told}"
    );
    assert!(told.contains("nothing was run"), "{told}");
    assert_eq!(
        (rows_on(&servers[0]), rows_on(&servers[1])),
        ("0".into(), "0".into())
    );
    // It was told; what comes next knows that it begins anew.
    assert_eq!(cell(&mut client, "SELECT @@server_id"), "2");
    assert_eq!(cell(&mut client, "SELECT @mine"), "null");
    assert_eq!(ask(&mut client, "INSERT INTO shop.t VALUES (2)").0, 200);
    assert_eq!(
        (rows_on(&servers[0]), rows_on(&servers[1])),
        ("0".into(), "1".into())
    );
}

#[test]
fn a_session_with_nothing_at_stake_goes_on_unseen() {
    let servers = two_servers();
    let balancer = Balancer::before(&[servers[0].port(), servers[1].port()]);
    for mode in [&[][..], &["--readonly"]] {
        balancer.lead_to(0);
        let postern = web_client(&balancer.target(), mode);
        let mut client = postern.client();
        assert_eq!(cell(&mut client, "SELECT @@server_id"), "1");
        balancer.fail_over_to(1);
        assert_eq!(cell(&mut client, "SELECT @@server_id"), "2");
    }
}

#[test]
fn a_statement_under_way_at_a_failover_is_lost_and_not_repeated() {
    let servers = two_servers();
    let balancer = Balancer::before(&[servers[0].port(), servers[1].port()]);
    let postern = web_client(&balancer.target(), &[]);
    let mut client = postern.client();
    let slow = "INSERT INTO shop.t SELECT SLEEP(40)";
    let asked = std::thread::spawn(move || ask(&mut client, slow));
    wait_until(TIMEOUT, "it runs", || servers[0].running("SLEEP(40)") == 1);
    balancer.fail_over_to(1);
    let (status, body) = asked.join().unwrap();
    assert_eq!(status, 502, "{body}");
    assert!(
        message(&body).contains("not repeated, so check whether it took effect"),
        "{body}"
    );
    assert_eq!(servers[1].running("SLEEP(40)"), 0);
    assert_eq!(rows_on(&servers[1]), "0");
}

/// HAProxy before servers that it looks after.
struct HaProxy {
    port: u16,
    _process: Leashed,
    _dir: tempfile::TempDir,
    control: std::path::PathBuf,
}

impl HaProxy {
    fn before(servers: &[Database]) -> HaProxy {
        let dir = tempfile::Builder::new()
            .prefix("postern-ha-")
            .tempdir()
            .unwrap();
        let (port, control) = (free_port(), dir.path().join("c"));
        let mut config = format!(
            "global\n  stats socket {} level admin\n\
             defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 1h\n  timeout server 1h\n\
             listen db\n  bind 127.0.0.1:{port}\n  balance roundrobin\n  option mysql-check\n",
            control.display()
        );
        for (number, db) in servers.iter().enumerate() {
            config += &format!(
                "  server s{number} 127.0.0.1:{} check inter 200ms fall 3 rise 1 on-marked-down shutdown-sessions\n",
                db.port()
            );
        }
        let file = dir.path().join("haproxy.cfg");
        std::fs::write(&file, config).unwrap();
        let process = KillOnDrop::new("haproxy")
            .env(
                "PATH",
                format!("{}:/usr/sbin", std::env::var("PATH").unwrap()),
            )
            .args(["-db", "-f"])
            .args([file])
            .start();
        let proxy = HaProxy {
            port,
            _process: process,
            _dir: dir,
            control,
        };
        let both = || proxy.said("show stat").matches(",L7OK,").count() == servers.len();
        assert!(holds_within(TIMEOUT, both), "{}", proxy.said("show stat"));
        proxy
    }

    fn target(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Answer of the proxy to a command.
    fn said(&self, command: &str) -> String {
        let mut answer = String::new();
        if let Ok(mut socket) = UnixStream::connect(&self.control) {
            let asked = writeln!(socket, "{command}");
            let _ = asked.and_then(|()| socket.read_to_string(&mut answer));
        }
        answer
    }
}

/// A server that hangs keeps its connections; HAProxy notices and ends them.
#[test]
fn haproxy_ends_the_sessions_of_a_server_that_hangs_and_they_are_told() {
    let servers = two_servers();
    let proxy = HaProxy::before(&servers);
    let postern = web_client(&proxy.target(), &[]);
    let mut client = postern.client();
    let first: usize = cell(&mut client, "SELECT @@server_id").parse().unwrap();
    let (hung, other) = (&servers[first - 1], &servers[2 - first]);
    for sql in ["BEGIN", "INSERT INTO shop.t VALUES (1)"] {
        assert_eq!(ask(&mut client, sql).0, 200, "{sql}");
    }
    signal(hung, Signal::STOP);
    let down = || proxy.said("show stat").contains(",DOWN,");
    let noticed = holds_within(TIMEOUT, down);
    let (status, body) = ask(&mut client, "INSERT INTO shop.t VALUES (2)");
    signal(hung, Signal::CONT);
    assert!(noticed, "HAProxy marks it as down");
    assert_eq!(status, 502, "{body}");
    assert!(message(&body).contains("nothing was run"), "{body}");
    assert_eq!(ask(&mut client, "INSERT INTO shop.t VALUES (3)").0, 200);
    wait_until(TIMEOUT, "the transaction is rolled back", || {
        rows_on(hung) == "0"
    });
    let on_other = rows_on(other).parse::<u32>().unwrap() + rows_on(hung).parse::<u32>().unwrap();
    assert_eq!(on_other, 1);
}

fn signal(db: &Database, signal: Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(db.pid()).unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

#[test]
fn behind_haproxy_a_cancel_comes_to_the_statements_own_server() {
    let servers = two_servers();
    let proxy = HaProxy::before(&servers);
    for mode in [&[][..], &["--readonly"]] {
        let postern = web_client(&proxy.target(), mode);
        for round in 0..3 {
            let mut asking = postern.client();
            let sql = format!("SELECT SUM(SLEEP(50)), {round} FROM (SELECT 1 UNION SELECT 2) two");
            let body = json!({"sql": sql, "query_id": "aim"});
            let asked = std::thread::spawn(move || asking.post("/api/query", &body).json());
            wait_until(TIMEOUT, "it runs", || {
                servers.iter().any(|db| db.running("SLEEP(50)") == 1)
            });
            let cancel = json!({"query_id": "aim"});
            assert_eq!(postern.client().post("/api/cancel", &cancel).status(), 200);
            let told = asked.join().unwrap();
            assert_eq!(told["error"]["errno"], 1317, "{told}");
            let left = || servers.iter().all(|db| db.running("SLEEP(50)") == 0);
            wait_until(Duration::from_secs(20), "it is ended there", left);
        }
    }
}
