//! Sessions: what they keep, how they end, what a lost connection means.

use serde_json::{Value, json};

use super::{SOON, count, database, post};
use support::database::{Database, Kind, PASSWORD, Server};
use support::http::Client;
use support::postern::Postern;
use support::wait_until;

#[test]
fn a_session_keeps_its_connection_and_no_other_sees_it() {
    let db = database("api_session");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let mut run = |session: &str, sql: &str| {
        let body = json!({"sql": sql, "db": "api_session", "session": session});
        post(&mut client, "/api/query", body)
    };
    assert_eq!(run("a", "CREATE TEMPORARY TABLE tmp (x INT)").0, 200);
    assert_eq!(run("a", "INSERT INTO tmp VALUES (7)").0, 200);
    assert_eq!(run("a", "SET @mine = 'yes'").0, 200);
    assert_eq!(
        run("a", "SELECT x, @mine AS m FROM tmp").1["data"]["rows"][0],
        json!({"x": 7, "m": "yes"})
    );
    assert_eq!(run("b", "SELECT x FROM tmp").1["error"]["errno"], 1146);
    assert_eq!(
        run("", "SELECT @mine AS m").1["data"]["rows"][0]["m"],
        Value::Null
    );
    // An unknown database is an error of one statement, not the end of the session.
    assert_eq!(
        post(
            &mut postern.client(),
            "/api/query",
            json!({"sql": "SELECT 1", "db": "nope", "session": "a"})
        )
        .0,
        400
    );
    assert_eq!(run("a", "SELECT x FROM tmp").0, 200);
}

#[test]
fn closing_a_session_rolls_back_and_stops_its_statement() {
    let db = database("api_close");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let in_session = |sql: &str| json!({"sql": sql, "db": "api_close", "session": "tab"});
    assert_eq!(post(&mut client, "/api/query", in_session("BEGIN")).0, 200);
    assert_eq!(
        post(&mut client, "/api/query", in_session("DELETE FROM t")).0,
        200
    );
    assert_eq!(count(db, "SELECT COUNT(*) FROM api_close.t"), 3);
    let mut other = postern.client();
    let sql = format!("SELECT SUM(SLEEP(60)) AS close_me FROM {}", db.numbers(5));
    let waiting = std::thread::spawn(move || {
        let body = json!({"sql": sql, "db": "api_close", "session": "tab"});
        post(&mut other, "/api/query", body)
    });
    wait_until(SOON, "the statement runs", || db.running("close_me") == 1);
    assert_eq!(
        post(&mut client, "/api/session/close", json!({"session": "tab"})).0,
        200
    );
    let (status, body) = waiting.join().unwrap();
    assert_eq!(status, 400, "{body}");
    wait_until(SOON, "the transaction is rolled back", || {
        count(
            db,
            "SELECT COUNT(*) FROM information_schema.INNODB_TRX JOIN information_schema.PROCESSLIST ON ID = trx_mysql_thread_id WHERE DB = 'api_close'",
        ) == 0
    });
    assert_eq!(count(db, "SELECT COUNT(*) FROM api_close.t"), 3);
    assert_eq!(
        post(&mut client, "/api/query", in_session("SELECT 1")).0,
        200
    );
}

/// Statements outside a session have the empty id inside, which nobody may name.
#[test]
fn an_empty_session_or_query_id_names_nothing() {
    let db = database("api_empty_id");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let runs = std::thread::spawn({
        let mut client = postern.client();
        move || client.query_ok("api_empty_id", "SELECT SLEEP(1) AS outside_a_session")
    });
    wait_until(SOON, "the statement runs", || {
        db.running("outside_a_session") == 1
    });
    for (path, field) in [
        ("/api/session/close", "session"),
        ("/api/cancel", "query_id"),
    ] {
        let (status, body) = post(&mut client, path, json!({field: ""}));
        assert_eq!(status, 400, "{body}");
        assert_eq!(body["message"], format!("'{field}' must not be empty"));
    }
    let data = runs.join().unwrap();
    assert_eq!(data["rows"][0]["outside_a_session"], 0);
}

/// The connection goes on to serve others: what comes next must not run in a database that somebody else chose.
#[test]
fn a_use_outside_a_session_ends_with_its_request() {
    let postern = Postern::on(database("api_use"), &[]);
    let mut client = postern.client();
    let mut ask = |sql: &str| post(&mut client, "/api/query", json!({"sql": sql})).1;
    for _ in 0..4 {
        assert_eq!(ask("USE api_use")["code"], 200);
        let data = &ask("SELECT DATABASE() AS d")["data"];
        assert_eq!(data["rows"][0]["d"], Value::Null);
    }
}

/// Nothing of ours comes between two statements of a session in one database.
#[test]
fn a_session_sees_the_row_count_of_its_statement_before() {
    let db = database("api_row_count");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let mut ask = |sql: &str, db: &str| {
        let body = json!({"sql": sql, "db": db, "session": "s"});
        let (status, body) = post(&mut client, "/api/query", body);
        assert_eq!(status, 200, "{sql}: {body}");
        body.pointer("/data/rows/0/x").cloned().unwrap_or_default()
    };
    ask("UPDATE t SET v = 'new'", "api_row_count");
    assert_eq!(ask("SELECT ROW_COUNT() AS x", "api_row_count"), 3);
    // The database that is asked for holds, whatever the session did itself.
    let mut moves = vec!["USE mysql"];
    if db.kind() == Kind::MariaDb {
        moves.extend(["PREPARE p FROM 'USE mysql'", "EXECUTE p"]);
    }
    for moving in moves {
        ask(moving, "api_row_count");
        let now = ask("SELECT DATABASE() AS x", "api_row_count");
        assert_eq!(now, "api_row_count", "after {moving}");
    }
    assert_eq!(ask("SELECT DATABASE() AS x", "mysql"), "mysql");
    assert_eq!(ask("SELECT COUNT(*) AS x FROM t", "api_row_count"), 3);
}

/// A role that is not the default one can be taken with `SET ROLE` at any time.
#[test]
fn a_lost_connection_is_made_again_and_no_statement_twice() {
    let db = database("api_lost");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let mut other = postern.client();
    let waiting = std::thread::spawn(move || {
        let body = json!({"sql": "SELECT SLEEP(60) AS lose_me", "session": "s"});
        post(&mut other, "/api/query", body)
    });
    wait_until(SOON, "the statement runs", || db.running("lose_me") == 1);
    let id = count(
        db,
        "SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE '%lose_me%' AND INFO NOT LIKE '%PROCESSLIST%' AND COMMAND = 'Query'",
    );
    db.exec(&format!("KILL {id}"));
    let (status, body) = waiting.join().unwrap();
    assert_eq!(status, 502, "{body}");
    let message = body["message"].as_str().unwrap();
    assert!(message.contains("not repeated"), "{message}");
    assert!(!message.contains("took effect"), "it only read: {message}");
    let again = post(
        &mut client,
        "/api/query",
        json!({"sql": "SELECT 1", "session": "s"}),
    );
    assert_eq!(again.0, 200, "{}", again.1);
}

#[test]
fn a_statement_that_may_have_taken_effect_is_to_be_checked() {
    let db = database("api_unsure");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let waiting = std::thread::spawn(move || {
        let sql = "INSERT INTO t (v) SELECT SLEEP(60) AS unsure";
        post(
            &mut client,
            "/api/query",
            json!({"sql": sql, "db": "api_unsure"}),
        )
    });
    wait_until(SOON, "the statement runs", || db.running("AS unsure") == 1);
    let id = "SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE 'INSERT%AS unsure'";
    db.exec(&format!("KILL {}", count(db, id)));
    let (status, body) = waiting.join().unwrap();
    assert_eq!(status, 502, "{body}");
    let message = body["message"].as_str().unwrap();
    assert!(
        message.contains("check whether it took effect"),
        "{message}"
    );
}

/// Ends a connection from the server's side, as an idle time-out does.
fn end(db: &Database, id: &Value) {
    db.exec(&format!("KILL {id}"));
    let listed = format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {id}");
    wait_until(SOON, "the connection has ended", || count(db, &listed) == 0);
}

#[test]
fn an_idle_connection_that_died_is_replaced_unseen_where_nothing_was_at_stake() {
    let db = database("api_idle");
    for mode in [&[][..], &["--readonly"]] {
        let postern = Postern::on(db, mode);
        let mut client = postern.client();
        let mut run = |sql: &str| {
            let body = json!({"sql": sql, "session": "s"});
            let (status, body) = post(&mut client, "/api/query", body);
            assert_eq!(status, 200, "{mode:?} {sql}: {body}");
            body["data"]["rows"][0].clone()
        };
        run("USE api_idle");
        let before = run("SELECT CONNECTION_ID() AS id");
        end(db, &before["id"]);
        let after = run("SELECT CONNECTION_ID() AS id, DATABASE() AS d");
        assert_ne!(after["id"], before["id"]);
        assert_eq!(after["d"], "api_idle", "the session is where it was");
    }
}

#[test]
fn a_session_that_held_something_is_told_once_of_its_lost_connection() {
    let db = database("api_held");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let mut run = |sql: &str| {
        let body = json!({"sql": sql, "db": "api_held", "session": "s"});
        post(&mut client, "/api/query", body)
    };
    for held in [
        "BEGIN",
        "SET @mine = 1",
        "CREATE TEMPORARY TABLE tmp (x INT)",
        "SELECT GET_LOCK('api_held', 0)",
    ] {
        assert_eq!(run(held).0, 200, "{held}");
        let id = run("SELECT CONNECTION_ID() AS id").1["data"]["rows"][0]["id"].clone();
        end(db, &id);
        let (status, told) = run("INSERT INTO t (v) VALUES ('twice')");
        assert_eq!(status, 502, "{held}: {told}");
        let message = told["message"].as_str().unwrap();
        assert!(message.contains("nothing was run"), "{message}");
        assert!(message.contains("transaction, variables"), "{message}");
        assert!(!message.contains("took effect"), "{message}");
        assert_eq!(run("SELECT 1").0, 200, "once is enough");
    }
    assert_eq!(count(db, "SELECT COUNT(*) FROM api_held.t"), 3);
}

/// A session that has no connection any more is where it was, or its statement does not run.
#[test]
fn a_session_whose_database_is_gone_runs_nothing_elsewhere() {
    let db = Database::start(support::database::Options::default());
    db.exec(
        "CREATE DATABASE sleeps; CREATE DATABASE wakes; CREATE TABLE sleeps.t (x INT); CREATE TABLE wakes.t (x INT)",
    );
    for mode in [&[][..], &["--readonly"]] {
        db.exec("CREATE DATABASE IF NOT EXISTS sleeps");
        let postern = Postern::on(&db, mode);
        let mut client = postern.client();
        let mut run = |sql: &str| {
            post(
                &mut client,
                "/api/query",
                json!({"sql": sql, "session": "s"}),
            )
        };
        assert_eq!(run("USE sleeps").0, 200);
        let (_, body) = run("SELECT CONNECTION_ID() AS id");
        db.exec("DROP DATABASE sleeps");
        end(&db, &body["data"]["rows"][0]["id"]);
        for _ in 0..2 {
            let (status, told) = run("SELECT DATABASE() AS d");
            assert_eq!(
                (status, &told["error"]["errno"]),
                (400, &json!(1049)),
                "{told}"
            );
            let message = told["message"].as_str().unwrap();
            assert!(
                message.contains("cannot return to the session's database 'sleeps'"),
                "{message}"
            );
        }
        let (status, told) = run("USE nowhere");
        assert_eq!(
            (status, &told["error"]["errno"]),
            (400, &json!(1049)),
            "{told}"
        );
        assert_eq!(run("SELECT DATABASE() AS d").0, 400);
        assert_eq!(run("USE wakes").0, 200);
        let (_, body) = run("SELECT DATABASE() AS d");
        assert_eq!(body["data"]["rows"][0]["d"], "wakes", "{body}");
    }
}

#[test]
fn a_session_that_was_told_of_its_loss_goes_on_in_its_database() {
    let db = database("api_told");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let mut run = |sql: &str| {
        post(
            &mut client,
            "/api/query",
            json!({"sql": sql, "session": "s"}),
        )
    };
    for held in [
        "SET @mine = 1",
        "BEGIN",
        "CREATE TEMPORARY TABLE tmp (x INT)",
        "SELECT GET_LOCK('api_told', 0)",
        "INSERT INTO t (v) VALUES ('more')",
    ] {
        assert_eq!(run("USE api_told").0, 200);
        assert_eq!(run(held).0, 200, "{held}");
        let id = run("SELECT CONNECTION_ID() AS id").1["data"]["rows"][0]["id"].clone();
        end(db, &id);
        let (status, told) = run("SELECT DATABASE() AS d");
        assert_eq!(status, 502, "{held}: {told}");
        let (_, body) = run("SELECT DATABASE() AS d");
        assert_eq!(body["data"]["rows"][0]["d"], "api_told", "{held}: {body}");
    }
    // After a statement that may change the database, the old one is not assumed.
    for moving in [
        "EXECUTE IMMEDIATE 'USE mysql'",
        "SET STATEMENT max_statement_time = 9 FOR USE mysql",
    ] {
        run("USE api_told");
        let (_, told) = run(moving);
        let body = json!({"sql": "SELECT DATABASE() AS d", "session": "s", "db": "api_told"});
        let (_, body) = post(&mut postern.client(), "/api/query", body);
        assert_eq!(
            body["data"]["rows"][0]["d"], "api_told",
            "{moving} ({told})"
        );
    }
}

/// A plain read begins a transaction where the server has `autocommit=0`.
#[test]
fn a_transaction_that_a_read_began_is_not_replaced_unseen() {
    let args = vec!["--autocommit=0".to_owned()];
    let options = support::database::Options {
        args,
        ..Default::default()
    };
    let db = Database::start(options);
    db.exec("CREATE DATABASE api_reads; CREATE TABLE api_reads.t (x INT)");
    let postern = Postern::on(&db, &[]);
    let mut client = postern.client();
    let mut run = |sql: &str| {
        let body = json!({"sql": sql, "session": "s"});
        post(&mut client, "/api/query", body)
    };
    let (_, body) = run("SELECT CONNECTION_ID() AS id, COUNT(*) FROM api_reads.t");
    assert_eq!(body["data"]["in_transaction"], true, "{body}");
    end(&db, &body["data"]["rows"][0]["id"]);
    let (status, told) = run("SELECT COUNT(*) FROM api_reads.t");
    assert_eq!(status, 502, "{told}");
}

/// A connection is reset when it comes back, after which names are read in the server's character set.
#[test]
fn a_read_only_session_enters_a_database_of_any_name() {
    // MySQL goes back to its default; MariaDB only where it takes none from the client.
    let mut args = vec!["--character-set-server=latin1"];
    if Server::chosen().kind() == Kind::MariaDb {
        args.push("--skip-character-set-client-handshake");
    }
    let db = Database::start(support::database::Options {
        args: args.into_iter().map(str::to_owned).collect(),
        ..Default::default()
    });
    db.exec("SET NAMES utf8mb4; CREATE DATABASE `büro`; CREATE TABLE `büro`.`größe` (x INT)");
    for mode in [&["--readonly"][..], &[]] {
        let postern = Postern::on(&db, mode);
        let mut client = postern.client();
        for session in ["s", "s", "s", "", "", ""] {
            let mut body = json!({"sql": "SELECT DATABASE() AS d, (SELECT COUNT(*) FROM `größe`) AS n", "db": "büro"});
            if !session.is_empty() {
                body["session"] = session.into();
            }
            let (status, body) = post(&mut client, "/api/query", body);
            assert_eq!(status, 200, "{mode:?} '{session}': {body}");
            assert_eq!(body["data"]["rows"][0], json!({"d": "büro", "n": 0}));
        }
    }
}

/// Without a session nothing outlives the request, and not only until the connection is used again.
#[test]
fn a_lock_outside_a_session_ends_with_its_request() {
    let db = database("api_lock_left");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let sql = "LOCK TABLES t WRITE";
    let (status, body) = post(
        &mut client,
        "/api/query",
        json!({"sql": sql, "db": "api_lock_left"}),
    );
    assert_eq!(status, 200, "{body}");
    let sql = "SELECT GET_LOCK('api_lock_left', 0)";
    assert_eq!(post(&mut client, "/api/query", json!({"sql": sql})).0, 200);
    db.exec("SET lock_wait_timeout = 2; INSERT INTO api_lock_left.t (v) VALUES ('free')");
    assert_eq!(db.value("SELECT IS_FREE_LOCK('api_lock_left')"), "1");
}

const CAP: usize = 32;

/// Fills the cap with idle sessions that have each run `sql`; the first one in `db`.
fn fill(client: &mut Client, sql: &str, db: &str) {
    for session in 0..CAP {
        let body = match session {
            0 => json!({"sql": sql, "session": "0", "db": db}),
            _ => json!({"sql": sql, "session": session.to_string()}),
        };
        let (status, body) = post(client, "/api/query", body);
        assert_eq!(status, 200, "{session}: {body}");
    }
}

#[test]
fn idle_sessions_with_nothing_at_stake_give_way_at_the_cap() {
    let db = database("api_give_way");
    for mode in [&[][..], &["--readonly"]] {
        let postern = Postern::on(db, mode);
        let mut client = postern.client();
        fill(&mut client, "SELECT 1", "api_give_way");
        let one_more = json!({"sql": "SELECT 1", "session": "one more"});
        let (status, body) = post(&mut client, "/api/query", one_more);
        assert_eq!(status, 200, "{mode:?}: {body}");
        assert_eq!(client.get("/api/databases").status(), 200);
        // The first was idle for longest; it comes back to where it was.
        let back = json!({"sql": "SELECT DATABASE() AS d", "session": "0"});
        let (status, body) = post(&mut client, "/api/query", back);
        assert_eq!(status, 200, "{body}");
        assert_eq!(body["data"]["rows"][0]["d"], "api_give_way", "{mode:?}");
    }
}

#[test]
fn a_session_with_something_at_stake_gives_way_to_nobody() {
    let db = database("api_stay");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    fill(&mut client, "SET @mine = 7", "api_stay");
    let mut run = |session: &str| {
        let body = json!({"sql": "SELECT @mine AS m", "session": session});
        post(&mut client, "/api/query", body)
    };
    let (status, body) = run("one more");
    assert_eq!(status, 429, "{body}");
    for session in ["0", "31"] {
        assert_eq!(run(session).1["data"]["rows"][0]["m"], 7);
    }
}

#[test]
fn an_answer_tells_whether_its_session_is_in_a_transaction() {
    let db = database("api_transaction");
    db.exec(
        "CREATE PROCEDURE api_transaction.two() BEGIN SELECT 1; SELECT 2; END; \
         CREATE PROCEDURE api_transaction.fails() BEGIN SELECT 1; SIGNAL SQLSTATE '45000'; END",
    );
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let mut run = |session: &str, sql: &str, limit: u32| {
        let body = json!({"sql": sql, "db": "api_transaction", "session": session, "limit": limit});
        post(&mut client, "/api/query", body)
    };
    let many_rows = format!("SELECT seq FROM {}", db.numbers(100_000));
    let steps = [
        ("SELECT 1", false),
        ("BEGIN", true),
        ("INSERT INTO t (v) VALUES ('mine')", true),
        ("SELECT * FROM t", true),
        ("INSERT IGNORE INTO t (id) VALUES (1)", true),
        // An error says nothing of it by itself, nor does a result that was cut short.
        ("SELECT nonsense", true),
        ("INSERT INTO t (id) VALUES (1)", true),
        (&many_rows, true),
        ("CALL two()", true),
        ("CALL fails()", true),
        ("COMMIT", false),
        ("SELECT nonsense", false),
        ("START TRANSACTION READ ONLY", true),
        ("ROLLBACK", false),
        // A statement that cannot be rolled back commits, also where it fails then.
        ("BEGIN", true),
        ("CREATE TABLE t (a INT)", false),
        ("SET autocommit = 0", false),
        ("SELECT nonsense", false),
        ("SELECT COUNT(*) FROM t", true),
        ("ROLLBACK", false),
    ];
    for (sql, expected) in steps {
        let (status, body) = run("tab", sql, 10);
        let told = if status == 200 && body["code"] == 200 {
            &body["data"]["in_transaction"]
        } else {
            &body["in_transaction"]
        };
        assert_eq!(*told, expected, "{sql}: {status} {body}");
    }
    // Asking leaves what the failed statement has left.
    run("tab", "SELECT nonsense", 10);
    let (_, body) = run("tab", "SHOW WARNINGS", 10);
    assert_eq!(body["data"]["rows"][0]["Code"], 1054, "{body}");
    // Without a session nothing is kept.
    assert_eq!(run("", "BEGIN", 10).1["data"]["in_transaction"], false);
}

#[test]
fn a_lost_connection_takes_its_transaction_with_it() {
    let db = database("api_lost_transaction");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let mut run = |sql: &str| {
        let body = json!({"sql": sql, "db": "api_lost_transaction", "session": "tab"});
        post(&mut client, "/api/query", body)
    };
    assert_eq!(run("BEGIN").1["data"]["in_transaction"], true);
    let (status, body) = run("KILL CONNECTION_ID()");
    assert_ne!(status, 200, "{body}");
    assert_eq!(body["in_transaction"], false, "{body}");
}

/// A server that asks for a file never gets one, and the refusal at that moment would end the session.
#[test]
fn a_load_of_a_local_file_is_refused_before_it_costs_the_session() {
    let db = database("api_local");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let mut run = |sql: &str| {
        let body = json!({"sql": sql, "db": "api_local", "session": "s"});
        post(&mut client, "/api/query", body)
    };
    assert_eq!(run("BEGIN").0, 200);
    assert_eq!(run("INSERT INTO t (v) VALUES ('kept')").0, 200);
    for sql in [
        "LOAD DATA LOCAL INFILE '/etc/hostname' INTO TABLE t",
        "load data concurrent local infile '/etc/hostname' into table t",
        "LOAD XML LOCAL INFILE '/etc/hostname' INTO TABLE t",
    ] {
        let (status, body) = run(sql);
        assert_eq!(status, 400, "{body}");
        assert!(
            body["message"].as_str().unwrap().contains("was not sent"),
            "{body}"
        );
    }
    assert_eq!(run("COMMIT").0, 200);
    assert_eq!(
        count(db, "SELECT COUNT(*) FROM api_local.t WHERE v = 'kept'"),
        1
    );
}

#[test]
fn an_account_with_one_connection_shares_it_between_the_catalogue_and_a_tab() {
    let db = database("session_single");
    db.exec(&format!(
        "CREATE USER single@'127.0.0.1' IDENTIFIED BY '{PASSWORD}' WITH MAX_USER_CONNECTIONS 1; \
         GRANT SELECT ON session_single.* TO single@'127.0.0.1'"
    ));
    let target = db.target();
    let args = [
        target.as_str(),
        "--db-user",
        "single",
        "--db-pass",
        PASSWORD,
    ];
    let postern = Postern::start(&args, &[]);
    let mut client = postern.client();
    // A server may count one for a moment after it was closed.
    for _ in 0..30 {
        assert_eq!(client.get("/api/databases").status(), 200);
        let (status, body) = post(
            &mut client,
            "/api/query",
            json!({"sql": "SELECT COUNT(*) FROM session_single.t", "session": "tab"}),
        );
        assert_eq!(status, 200, "{body}");
    }
}

#[test]
fn texts_are_utf_8_whatever_a_session_sets_and_however() {
    let db = database("api_charsets");
    db.exec("CREATE PROCEDURE api_charsets.sets() BEGIN SET NAMES latin1; INSERT INTO t (v) VALUES ('called'); END");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let mut run = |sql: &str| {
        let body = json!({"sql": sql, "session": "s"});
        let (status, told) = post(&mut client, "/api/query", body);
        assert_eq!(status, 200, "{sql}: {told}");
        told["data"].clone()
    };
    run("USE api_charsets");
    for sql in [
        "SET collation_connection = 'latin1_swedish_ci'",
        "SET @@collation_connection = latin1_bin",
        "EXECUTE p",
        "CALL sets()",
    ] {
        run("PREPARE p FROM 'SET NAMES latin1'");
        run(sql);
        let told = run("SELECT 'žluť 🐴' AS a, LENGTH('ž') AS n");
        assert_eq!(told["rows"][0], json!({"a": "žluť 🐴", "n": 2}), "{sql}");
    }
    run("SET collation_connection = 'utf8mb4_bin'");
    let told = run("SELECT @@collation_connection AS c");
    assert_eq!(told["rows"][0]["c"], "utf8mb4_bin");
    run("CALL sets()");
    let told = run("SELECT ROW_COUNT() AS n");
    assert_eq!(told["rows"][0]["n"], 1, "nothing is asked in between");
}

#[test]
fn warnings_that_are_not_listed_are_counted() {
    let db = database("api_warnings");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let values = vec!["('x')"; 150].join(", ");
    let mut run = |sql: String| {
        let body = json!({"sql": sql, "db": "api_warnings", "session": "s"});
        post(&mut client, "/api/query", body).1["data"].clone()
    };
    run("CREATE TABLE n (n INT)".into());
    let told = run(format!("INSERT IGNORE INTO n VALUES {values}"));
    let listed = told["warnings"].as_array().unwrap();
    let note = listed.last().unwrap()["message"].as_str().unwrap();
    let shown = listed.len() - 1;
    let said = format!("the statement has 150 warnings; {shown} are listed");
    assert!(note.starts_with(&said), "{note}");
    let told = run("INSERT IGNORE INTO n VALUES ('x'), ('y')".into());
    assert_eq!(told["warnings"].as_array().unwrap().len(), 2, "{told}");
    // Asking for them is nothing that the session notices.
    let told = run("SELECT ROW_COUNT(), ROW_COUNT() + 1 AS m".into());
    assert_eq!(told["rows"][0], json!({"ROW_COUNT()": 2, "m": 3}));
    let told = run("SELECT ROW_COUNT() AS n".into());
    assert_eq!(told["rows"][0]["n"], -1);
    run("INSERT IGNORE INTO n VALUES ('x'), ('y'), (3)".into());
    run("GET DIAGNOSTICS @many = NUMBER".into());
    let told = run("SELECT @many AS many".into());
    assert_eq!(told["rows"][0]["many"], 2);
}

#[test]
fn a_lost_connection_keeps_its_database_whatever_ran_before() {
    let db = database("api_kept_db");
    db.exec("CREATE PROCEDURE api_kept_db.p() SELECT 1");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    for sql in ["PREPARE s FROM 'SELECT 1'", "CALL p()", "EXECUTE s"] {
        let mut run = |sql: &str| {
            let body = json!({"sql": sql, "session": "s"});
            post(&mut client, "/api/query", body)
        };
        assert_eq!(run("USE api_kept_db").0, 200);
        run("PREPARE s FROM 'SELECT 1'");
        assert_eq!(run(sql).0, 200, "{sql}");
        let id = run("SELECT CONNECTION_ID() AS id").1["data"]["rows"][0]["id"].to_string();
        assert_eq!(run(sql).0, 200, "{sql}");
        db.exec(&format!("KILL {id}"));
        wait_until(SOON, "the loss is told", || run("SELECT 1").0 == 502);
        let told = run("SELECT DATABASE() AS d").1;
        assert_eq!(told["data"]["rows"][0]["d"], "api_kept_db", "{sql}: {told}");
    }
}
