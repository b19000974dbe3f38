//! A MySQL server and a MariaDB server behind one address, as in the middle of a migration.

use serde_json::json;
use support::balancer::Balancer;
use support::database::{Database, Options, Server};
use support::{TIMEOUT, wait_until};

use super::{ask, cell, web_client};

/// The MySQL server under test, and the MariaDB that is installed.
fn both_kinds() -> [Database; 2] {
    let mariadb = Server::installed();
    [None, Some(mariadb)].map(|server| {
        Database::start(Options {
            server,
            ..Options::default()
        })
    })
}

#[test]
fn each_server_is_asked_in_its_own_words() {
    let servers = both_kinds();
    let address = Balancer::before(&[servers[0].port(), servers[1].port()]);
    let postern = web_client(&address.target(), &["--readonly"]);
    let mut client = postern.client();
    let (of_mysql, of_mariadb) = (
        "SELECT BIN_TO_UUID(UUID_TO_BIN(UUID()))",
        "SELECT NVL2(1, 2, 3)",
    );
    for round in 0..3 {
        address.fail_over_to(0);
        assert_eq!(ask(&mut client, of_mysql).0, 200, "{round}");
        assert_eq!(ask(&mut client, of_mariadb).0, 403, "{round}");
        address.fail_over_to(1);
        assert_eq!(ask(&mut client, of_mysql).0, 403, "{round}");
        assert_eq!(cell(&mut client, of_mariadb), "2", "{round}");
    }
}

#[test]
fn a_cancel_finds_its_server_among_both_kinds() {
    let servers = both_kinds();
    let address = Balancer::before(&[servers[0].port(), servers[1].port()]);
    address.lead_in_turn();
    let postern = web_client(&address.target(), &[]);
    for _ in 0..3 {
        let mut asking = postern.client();
        let sql = "SELECT SUM(SLEEP(50)) FROM (SELECT 1 UNION SELECT 2) two";
        let body = json!({"sql": sql, "query_id": "aim"});
        let asked = std::thread::spawn(move || asking.post("/api/query", &body).json());
        let running = || {
            servers
                .iter()
                .map(|db| db.running("SLEEP(50)"))
                .sum::<usize>()
        };
        wait_until(TIMEOUT, "it runs", || running() == 1);
        let cancel = json!({"query_id": "aim"});
        assert_eq!(postern.client().post("/api/cancel", &cancel).status(), 200);
        let told = asked.join().unwrap();
        assert_eq!(told["error"]["errno"], 1317, "{told}");
        assert_eq!(running(), 0);
    }
}
