//! `GET /api/search`: names and comments of everything that the account sees.

use serde_json::{Value, json};

use super::database;
use support::Database;
use support::database::PASSWORD;
use support::http::{Client, Conn};
use support::postern::Postern;

fn search(client: &mut Client, query: &str) -> Value {
    client.get(&format!("/api/search?{query}")).data()
}

/// Kind and name of each match, with its table.
fn names(found: &Value) -> Vec<String> {
    let matches = found["matches"].as_array().unwrap().iter();
    let one = |found: &Value| {
        let text = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
        let table = match text("table") {
            table if table.is_empty() => table,
            table => table + ".",
        };
        format!("{} {}.{table}{}", text("kind"), text("db"), text("name"))
    };
    matches.map(one).collect()
}

#[test]
fn everything_with_a_name_or_comment_is_found_best_first() {
    let db = database("api_search");
    db.exec(
        "CREATE TABLE api_search.zebra (id INT COMMENT 'Quagga number', `Zebra Crossing` VARCHAR(20)) COMMENT='Ein Pferd'; \
         CREATE VIEW api_search.zebras AS SELECT id + 0 AS zebra_id FROM api_search.zebra; \
         CREATE PROCEDURE api_search.count_zebras() COMMENT 'zählt' SELECT 1; \
         CREATE FUNCTION api_search.zebra_of(x INT) RETURNS INT DETERMINISTIC RETURN x; \
         CREATE TRIGGER api_search.zebra_trigger BEFORE INSERT ON api_search.zebra FOR EACH ROW SET NEW.id = 1; \
         CREATE EVENT api_search.zebra_event ON SCHEDULE EVERY 1 DAY COMMENT 'daily' DO SELECT 1",
    );
    for mode in [&[][..], &["--readonly"]] {
        let postern = Postern::on(db, mode);
        let mut client = postern.client();
        let found = search(&mut client, "q=zebra");
        assert_eq!(
            names(&found),
            [
                "table api_search.zebra",
                "view api_search.zebras",
                "column api_search.zebras.zebra_id",
                "column api_search.zebra.Zebra Crossing",
                "routine api_search.zebra_of",
                "trigger api_search.zebra.zebra_trigger",
                "event api_search.zebra_event",
                "routine api_search.count_zebras",
            ]
        );
        assert_eq!(
            (&found["total"], &found["truncated"]),
            (&json!(8), &json!(false))
        );
        assert!(found["loaded_at"].as_str().unwrap().ends_with('Z'));
        let first = &found["matches"][0];
        assert_eq!(
            (&first["type"], &first["comment"], &first["table"]),
            (&json!("BASE TABLE"), &json!("Ein Pferd"), &Value::Null)
        );
        for (query, name, type_name) in [
            ("q=QUAGGA", "column api_search.zebra.id", None),
            ("q=pferd", "table api_search.zebra", Some("BASE TABLE")),
            (
                "q=z%C3%84HLT",
                "routine api_search.count_zebras",
                Some("PROCEDURE"),
            ),
            (
                "q=zebra_of",
                "routine api_search.zebra_of",
                Some("FUNCTION"),
            ),
            (
                "q=zebra&kind=trigger",
                "trigger api_search.zebra.zebra_trigger",
                Some("BEFORE INSERT"),
            ),
            (
                "q=daily&kind=event",
                "event api_search.zebra_event",
                Some("RECURRING"),
            ),
            (
                "q=api_search&kind=database&db=api_search",
                "database api_search.api_search",
                None,
            ),
            (
                "q=crossing&db=api_search",
                "column api_search.zebra.Zebra Crossing",
                Some("varchar(20)"),
            ),
            (
                "q=api_search.zebras.zebra_id",
                "column api_search.zebras.zebra_id",
                None,
            ),
        ] {
            let found = search(&mut client, query);
            assert_eq!(names(&found), [name], "{query}");
            if let Some(type_name) = type_name {
                assert_eq!(found["matches"][0]["type"], type_name, "{query}");
            }
        }
        let few = search(&mut client, "q=zebra&limit=2");
        assert_eq!(names(&few), names(&found)[..2]);
        assert_eq!(
            (&few["total"], &few["truncated"]),
            (&json!(8), &json!(true))
        );
        // Among equals a near database comes first.
        for near in ["information_schema", "mysql"] {
            let found = search(&mut client, &format!("kind=database&limit=1&near={near}"));
            assert_eq!(names(&found), [format!("database {near}.{near}")]);
        }
        // Without words, all of a kind.
        let all = search(&mut client, "db=api_search&kind=event");
        assert_eq!(names(&all), ["event api_search.zebra_event"]);
        // The server's own come after equally good ones.
        db.exec("CREATE TABLE IF NOT EXISTS api_search.USER_PRIVILEGES (a INT)");
        let own = search(&mut client, "q=user_privileges&refresh=1");
        assert_eq!(names(&own)[0], "table api_search.USER_PRIVILEGES");
        assert!(names(&own)[1].contains("information_schema"), "{own}");
    }
}

#[test]
fn wrong_parameters_are_named() {
    let postern = Postern::on(database("api_search_bad"), &[]);
    let mut client = postern.client();
    let long = format!("q={}", "x".repeat(201));
    for (query, status, part) in [
        (
            "kind=tables",
            400,
            "'kind' must be one of database, table, view",
        ),
        (
            "limit=501",
            400,
            "'limit' must be a whole number from 1 to 500",
        ),
        ("limit=0", 400, "'limit'"),
        ("limit=-1&kind=x", 400, "; 'limit'"),
        ("refresh=yes", 400, "'refresh' must be 0 or 1"),
        (long.as_str(), 400, "'q' must have at most 200 characters"),
        ("q=t&db=nope", 404, "database 'nope' is unknown"),
    ] {
        let answer = client.get(&format!("/api/search?{query}")).json();
        assert_eq!(answer["code"], status, "{query}: {answer}");
        let message = answer["message"].as_str().unwrap();
        assert!(message.contains(part), "{query}: {message}");
    }
}

#[test]
fn what_is_new_is_found_after_a_refresh_and_its_text_is_not_logged() {
    let db = database("api_search_new");
    let postern = Postern::on(db, &["-v"]);
    let mut client = postern.client();
    let count = |client: &mut Client, query: &str| search(client, query)["total"].clone();
    assert_eq!(count(&mut client, "q=heartsease"), 0);
    db.exec("CREATE TABLE api_search_new.heartsease (id INT)");
    assert_eq!(count(&mut client, "q=heartsease"), 0);
    assert_eq!(count(&mut client, "q=heartsease&refresh=1"), 1);
    db.exec("DROP TABLE api_search_new.heartsease");
    assert_eq!(count(&mut client, "q=heartsease&refresh=1"), 0);
    let log = postern.stderr();
    assert!(log.contains("GET /api/search from"), "{log}");
    assert!(!log.contains("heartsease"), "{log}");
}

#[test]
fn an_account_finds_what_it_may_see() {
    let db = database("api_search_reader");
    db.exec(
        "CREATE TABLE api_search_reader.seen (koala INT, numbat INT); CREATE TABLE api_search_reader.unseen (koala INT); \
         CREATE TRIGGER api_search_reader.koala_trigger BEFORE INSERT ON api_search_reader.seen FOR EACH ROW SET NEW.koala = 1; \
         CREATE PROCEDURE api_search_reader.koala_procedure() SELECT 1; \
         CREATE DATABASE IF NOT EXISTS api_koala; \
         CREATE USER searcher@'%' IDENTIFIED BY 'secret'; \
         GRANT SELECT (koala) ON api_search_reader.seen TO searcher@'%'",
    );
    let account = [db.target(), "--db-user".into(), "searcher".into()];
    let mut args: Vec<&str> = account.iter().map(String::as_str).collect();
    args.extend(["--db-pass", PASSWORD]);
    let postern = Postern::start(&args, &[]);
    let mut client = postern.client();
    let found = search(&mut client, "q=koala");
    assert_eq!(names(&found), ["column api_search_reader.seen.koala"]);
    assert_eq!(search(&mut client, "q=numbat")["total"], 0);
    // A revoked column is gone with the next load.
    db.exec("REVOKE SELECT (koala) ON api_search_reader.seen FROM searcher@'%'");
    assert_eq!(search(&mut client, "q=koala&refresh=1")["total"], 0);
}

/// A view that cannot be described costs its own columns alone, and is said.
#[test]
fn a_broken_view_spoils_no_other_table() {
    let db = database("api_search_broken");
    db.exec(
        "CREATE TABLE api_search_broken.lost (a INT); CREATE TABLE api_search_broken.kept (wombat INT); \
         CREATE VIEW api_search_broken.wombat_view AS SELECT a FROM api_search_broken.lost; \
         DROP TABLE api_search_broken.lost; \
         CREATE FUNCTION api_search_broken.writes() RETURNS INT MODIFIES SQL DATA \
            BEGIN INSERT INTO api_search_broken.t (v) VALUES ('x'); RETURN 1; END; \
         CREATE VIEW api_search_broken.wombat_writes AS SELECT api_search_broken.writes() AS wombat_w",
    );
    for mode in [&[][..], &["--readonly"]] {
        let postern = Postern::on(db, mode);
        let found = search(
            &mut postern.client(),
            "q=wombat&db=api_search_broken&refresh=1",
        );
        let names = names(&found);
        for name in [
            "column api_search_broken.kept.wombat",
            "view api_search_broken.wombat_view",
            "view api_search_broken.wombat_writes",
        ] {
            assert!(names.contains(&name.to_owned()), "{mode:?} {name}: {found}");
        }
        let missing = found["missing"].as_array().unwrap();
        for (view, column) in [("wombat_view", "a"), ("wombat_writes", "wombat_w")] {
            let column = format!("column api_search_broken.{view}.{column}");
            let is_said = missing.iter().any(|part| {
                part["db"] == "api_search_broken"
                    && part["table"] == view
                    && part["reason"].is_string()
            });
            assert!(
                names.contains(&column) || is_said,
                "{mode:?} {view}: {found}"
            );
        }
        assert_eq!(
            db.value("SELECT COUNT(*) FROM api_search_broken.t"),
            "3",
            "{mode:?}: it wrote"
        );
    }
}

/// Requests that come while names are read share one load, and one that leaves does not stop it.
#[test]
fn one_load_serves_all_who_wait() {
    let db = Database::start(Default::default());
    let tables: Vec<String> = (0..300)
        .map(|n| format!("CREATE TABLE many.echidna_{n} (id INT, name VARCHAR(20))"))
        .collect();
    db.exec("CREATE DATABASE many");
    db.exec(&tables.join(";"));
    let postern = Postern::on(&db, &[]);
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let found = search(&mut postern.client(), "q=echidna&limit=1");
                assert_eq!(found["total"], 300);
                // The first requester leaves while names are read, and the others get theirs all the same.
                let mut gone = Conn::open(postern.authority()).unwrap();
                let head = format!(
                    "GET /api/search?q=echidna&refresh=1 HTTP/1.1\r\nHost: {}\r\n\r\n",
                    postern.authority()
                );
                gone.send_raw(head.as_bytes()).unwrap();
            });
        }
    });
    let found = search(&mut postern.client(), "q=echidna&limit=1&refresh=1");
    assert_eq!(
        (&found["total"], &found["missing"]),
        (&json!(300), &json!([]))
    );
}
