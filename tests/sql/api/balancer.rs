//! Stopping a statement: on its own server and nowhere else, also where a balancer leads each connection elsewhere.

use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use serde_json::{Value, json};

use super::{count, database, post};
use support::balancer::Balancer;
use support::database::{Database, Kind, Options, PASSWORD, USER};
use support::postern::Postern;
use support::{TIMEOUT, assert_within, wait_until};

fn app(db: &Database) -> Conn {
    let opts = OptsBuilder::new()
        .ip_or_hostname(Some("127.0.0.1"))
        .prefer_socket(false)
        .tcp_port(db.port())
        .user(Some(USER))
        .pass(Some(PASSWORD));
    Conn::new(opts).unwrap()
}

const AIM: &str = "SELECT SUM(SLEEP(50)) AS aim FROM (SELECT 1 UNION SELECT 2) two";

fn cancelled(postern: &Postern, at: impl FnOnce()) -> (u16, Value) {
    let mut asking = postern.client();
    let body = json!({"sql": AIM, "query_id": "aim", "session": "s"});
    let asked = std::thread::spawn(move || post(&mut asking, "/api/query", body));
    at();
    let asked_to_stop = Instant::now();
    let (status, _) = post(
        &mut postern.client(),
        "/api/cancel",
        json!({"query_id": "aim"}),
    );
    assert_eq!(status, 200);
    let answer = asked.join().unwrap();
    assert_within(asked_to_stop, Duration::from_secs(30));
    answer
}

#[test]
fn a_cancel_behind_a_balancer_never_hits_another_servers_connection() {
    let servers = [(); 2].map(|()| Database::start(Options::default()));
    let [ours, others] = &servers;
    // A statement on the other server has the same ID, account and text.
    let get_ahead = || {
        let behind = app(others).connection_id();
        while app(ours).connection_id() < behind + 100 {}
    };
    let balancer = Balancer::before(&[ours.port(), others.port()]);
    let target = balancer.target();
    let postern = Postern::start(&[&target, "--db-user", USER, "--db-pass", PASSWORD], &[]);
    let on_ours = "SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE '%AS aim%' AND INFO NOT LIKE '%PROCESSLIST%'";
    let start_victim = || {
        wait_until(TIMEOUT, "the statement runs", || {
            ours.running("AS aim") == 1
        });
        let id = count(ours, on_ours);
        let mut victim = app(others);
        while u64::from(victim.connection_id()) < id {
            victim = app(others);
        }
        assert_eq!(u64::from(victim.connection_id()), id);
        let running = std::thread::spawn(move || victim.query_drop(AIM));
        wait_until(TIMEOUT, "so does the other", || {
            others.running("AS aim") == 1
        });
        running
    };

    // Every further connection leads to the other server.
    get_ahead();
    let mut victim = None;
    let (status, told) = cancelled(&postern, || {
        victim = Some(start_victim());
        balancer.lead_to(1);
    });
    assert_eq!(
        others.running("AS aim"),
        1,
        "nobody else is touched: {told}"
    );
    assert_eq!(status, 502, "{told}");
    let message = told["message"].as_str().unwrap();
    assert!(
        message.contains("could not be stopped (it was cancelled)"),
        "{message}"
    );
    assert!(message.contains("may still run the statement"), "{message}");
    // As soon as the statement's own server is reached again, it is told there.
    balancer.lead_to(0);
    wait_until(TIMEOUT, "it is ended", || ours.running("AS aim") == 0);
    assert_eq!(others.running("AS aim"), 1);
    others.exec(&format!("KILL {}", count(others, on_ours)));
    assert!(victim.unwrap().join().unwrap().is_err());

    // In turn: the second try comes to the right one.
    get_ahead();
    let mut victim = None;
    let (status, told) = cancelled(&postern, || {
        victim = Some(start_victim());
        balancer.lead_in_turn();
    });
    assert_eq!(status, 400, "{told}");
    assert_eq!(told["error"]["errno"], 1317);
    assert_eq!(ours.running("AS aim"), 0);
    assert_eq!(others.running("AS aim"), 1, "nobody else is touched");
    others.exec(&format!("KILL {}", count(others, on_ours)));
    assert!(victim.unwrap().join().unwrap().is_err());
}

/// The process list shows these otherwise than they were sent.
#[test]
fn every_kind_of_statement_is_cancelled_on_the_server() {
    let db = database("api_kinds");
    db.exec(
        "CREATE PROCEDURE api_kinds.p() BEGIN SELECT SUM(SLEEP(61)) FROM t; END; \
         CREATE FUNCTION api_kinds.f() RETURNS INT NO SQL BEGIN DO SLEEP(62); RETURN 1; END; \
         CREATE OR REPLACE VIEW api_kinds.v AS SELECT SUM(SLEEP(63)) AS x FROM api_kinds.t",
    );
    let long = format!("SELECT SUM(SLEEP(64)), '{}' FROM t", "long ".repeat(40_000));
    let mut cases = vec![
        ("CALL p()", "SLEEP(61)"),
        ("SELECT f()", "SLEEP(62)"),
        ("SELECT * FROM v", "FROM v"),
        (&long, "SLEEP(64)"),
        (
            "\n\t/* first */ SELECT SUM(SLEEP(65)), 'é 😀 ?' FROM t ; \n",
            "SLEEP(65)",
        ),
        (
            "INSERT INTO t (v) SELECT SUM(SLEEP(68)) FROM t",
            "SLEEP(68)",
        ),
        (
            "SELECT SUM(SLEEP(69)) AS `IDENTIFIED BY 'x'` FROM t",
            "SLEEP(69)",
        ),
    ];
    if db.kind() == Kind::MariaDb {
        cases.extend([
            (
                "BEGIN NOT ATOMIC SELECT SUM(SLEEP(66)) FROM t; END",
                "SLEEP(66)",
            ),
            (
                "EXECUTE IMMEDIATE 'SELECT SUM(SLEEP(67)) FROM t'",
                "SLEEP(67)",
            ),
        ]);
    }
    let postern = Postern::on(db, &[]);
    for (sql, runs) in cases {
        let mut asking = postern.client();
        let body = json!({"sql": sql, "db": "api_kinds", "query_id": "k", "session": "s"});
        let asked = std::thread::spawn(move || post(&mut asking, "/api/query", body));
        wait_until(TIMEOUT, runs, || db.running(runs) == 1);
        assert_eq!(
            post(
                &mut postern.client(),
                "/api/cancel",
                json!({"query_id": "k"})
            )
            .0,
            200
        );
        let (status, body) = asked.join().unwrap();
        let noted = body["data"]["warnings"]
            .to_string()
            .contains("told to stop");
        assert!(
            (status == 400 && body["error"]["errno"] == 1317) || noted,
            "{runs}: {body}"
        );
        assert_eq!(db.running(runs), 0, "{runs}");
    }
}
