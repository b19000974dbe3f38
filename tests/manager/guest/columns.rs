//! A guest that is lent some columns of a table learns nothing of the others: where their values are swapped between
//! rows, no answer changes.

use std::sync::Arc;

use serde_json::Value;
use support::database::{Kind, PASSWORD, USER};
use support::http::Client;
use support::manager::Far;
use support::{Database, Home};

use super::{accounts, app, client, is, manager, records, server, view_databases};

/// A table that is lent in part: its name, a lent column, a hidden one, and what is lent.
const LENT: [(&str, &str, &str, &str); 9] = [
    ("people", "id", "card", "id,name,city"),
    ("nokey", "name", "secret", "name"),
    ("parts", "id", "secret", "id"),
    ("flat", "id", "secret", "id"),
    ("kinds", "v", "secret", "v,t,b,j,f,d,g"),
    ("cards", "id", "card", "id"),
    ("ranged", "name", "secret", "name"),
    ("tree", "name", "secret", "name,parent"),
    ("history", "id", "secret", "id,name"),
];

const TABLES: &str = "CREATE DATABASE shop; \
    CREATE TABLE shop.people (id INT PRIMARY KEY, name VARCHAR(20), city VARCHAR(20), card VARCHAR(20), \
        KEY card (card), KEY both_ (name, card), UNIQUE KEY other (card, id)); \
    INSERT INTO shop.people VALUES (1, 'ann', 'x', 'card-1'), (2, 'bob', 'x', 'card-2'), (3, 'ann', 'y', 'card-3'); \
    CREATE TABLE shop.nokey (secret INT PRIMARY KEY, name VARCHAR(20), KEY by_name (name)); \
    INSERT INTO shop.nokey VALUES (1, 'ann'), (2, 'bob'), (3, 'eve'); \
    CREATE TABLE shop.parts (id INT, secret INT, PRIMARY KEY (id, secret)) PARTITION BY HASH (secret) PARTITIONS 3; \
    INSERT INTO shop.parts VALUES (1, 1), (2, 2), (3, 3); \
    CREATE TABLE shop.flat (id INT PRIMARY KEY, secret INT, KEY secret (secret)) ENGINE = MyISAM CHECKSUM = 1; \
    INSERT INTO shop.flat VALUES (1, 1), (2, 2), (3, 3); \
    CREATE TABLE shop.kinds (secret INT PRIMARY KEY, v VARCHAR(20), t TEXT, b BLOB, j JSON, f FLOAT, d DATETIME(6), g GEOMETRY); \
    INSERT INTO shop.kinds VALUES (1, 'a', REPEAT('x', 3000), 'b', '[1]', 0, '2020-01-01', POINT(1, 1)), \
        (2, 'A', REPEAT('x', 3000), 'b', '[1.0]', -0e0, '2020-01-01', POINT(1, 2)), \
        (3, 'a', CONCAT(REPEAT('x', 3000), 'y'), 'b', '[1]', 0, '2020-01-01', POINT(1, 1)); \
    CREATE VIEW shop.cards AS SELECT id, card FROM shop.people; \
    CREATE TABLE shop.ranged (secret INT PRIMARY KEY, name VARCHAR(20)) \
        PARTITION BY RANGE (secret) (PARTITION p0 VALUES LESS THAN (2), PARTITION p1 VALUES LESS THAN MAXVALUE); \
    INSERT INTO shop.ranged VALUES (1, 'ann'), (2, 'bob'), (3, 'eve'); \
    CREATE TABLE shop.tree (secret INT NOT NULL UNIQUE, name VARCHAR(20), parent INT); \
    INSERT INTO shop.tree VALUES (1, 'ann', NULL), (2, 'bob', 1), (3, 'eve', 1); \
    CREATE TABLE shop.orders (id INT PRIMARY KEY, people INT, KEY (people)); INSERT INTO shop.orders VALUES (7, 1), (8, 3)";

/// The values of the hidden columns change places.
fn swap(db: &Database) {
    db.exec(
        "UPDATE shop.people SET card = CASE id WHEN 1 THEN 'card-3' WHEN 2 THEN 'card-1' ELSE 'card-2' END; \
         UPDATE shop.flat SET secret = 4 - secret; UPDATE shop.history SET secret = 4 - secret WHERE id <> 2; \
         UPDATE shop.parts SET secret = 4 - secret",
    );
    for table in ["nokey", "kinds", "ranged", "tree"] {
        db.exec(&format!(
            "UPDATE shop.{table} SET secret = -secret; UPDATE shop.{table} SET secret = 4 + secret"
        ));
    }
    collect_statistics(db);
}

fn collect_statistics(db: &Database) {
    let histograms = match db.kind() {
        Kind::MySql => "ANALYZE TABLE shop.people UPDATE HISTOGRAM ON card; ",
        Kind::MariaDb => "ANALYZE TABLE shop.people PERSISTENT FOR ALL; ",
    };
    db.exec(histograms);
    db.exec("ANALYZE TABLE shop.people, shop.nokey, shop.flat, shop.history");
}

/// A server with all of it; where tables have a history, one that has.
fn lender() -> Database {
    let db = server(&[]);
    db.exec(TABLES);
    let versioned = match db.kind() {
        Kind::MySql => "",
        Kind::MariaDb => " WITH SYSTEM VERSIONING",
    };
    db.exec(&format!(
        "CREATE TABLE shop.history (id INT PRIMARY KEY, name VARCHAR(20), secret INT, KEY (secret)){versioned}; \
         INSERT INTO shop.history VALUES (1, 'ann', 1), (2, 'bob', 2), (3, 'eve', 3)"
    ));
    collect_statistics(&db);
    db
}

fn grants() -> Vec<String> {
    let part =
        |(table, _, _, columns): &(&str, &str, &str, &str)| format!("shop.{table}({columns})");
    let parts = LENT.iter().map(part);
    parts.chain(["shop.orders".to_owned()]).collect()
}

/// Statements about one table. `V` is its name, `T` the same with its database, `C` a lent column and `H` a hidden one.
#[rustfmt::skip]
const OF_EACH: [&str; 82] = [
    "SELECT * FROM V", "SELECT C FROM V", "TABLE V", "SELECT COUNT(*) FROM V", "SELECT * FROM V LIMIT 1",
    "SELECT C FROM V LIMIT 1 OFFSET 1", "SELECT * FROM V ORDER BY NULL", "SELECT 1 AS one, V.* FROM V",
    "SELECT DISTINCT C FROM V", "SELECT C, COUNT(*) AS n FROM V GROUP BY C", "SELECT C FROM V GROUP BY C WITH ROLLUP",
    "SELECT GROUP_CONCAT(C) AS g FROM V", "SELECT JSON_ARRAYAGG(C) AS g FROM V", "SELECT MIN(C), MAX(C) FROM V",
    "SELECT C, ROW_NUMBER() OVER () AS n FROM V", "SELECT FIRST_VALUE(C) OVER () AS f FROM V",
    "SELECT LAG(C) OVER (ORDER BY 1) AS l FROM V", "SELECT C FROM V UNION ALL SELECT C FROM V",
    "SELECT (SELECT C FROM V LIMIT 1) AS s", "WITH w AS (SELECT * FROM V) SELECT * FROM w",
    "WITH w AS (SELECT C FROM V LIMIT 2) SELECT C, COUNT(*) AS n FROM w GROUP BY C",
    "SELECT a.C FROM V AS a JOIN V AS b ON a.C = b.C", "SELECT a.C FROM V AS a LEFT JOIN V AS b USING (C)",
    "SELECT * FROM V AS a NATURAL JOIN V AS b", "SELECT STRAIGHT_JOIN a.C FROM V AS a, V AS b",
    "SELECT C FROM V WHERE C IN (SELECT C FROM V)", "SELECT C FROM V WHERE EXISTS (SELECT 1 FROM orders)",
    "SELECT 1 FROM V NATURAL JOIN (SELECT 1 AS H) AS x", "SELECT 1 FROM V JOIN (SELECT 'card-1' AS H) AS x USING (H)",
    "SELECT 1 FROM T NATURAL JOIN (SELECT 1 AS H) AS x", "SELECT 1 FROM T JOIN (SELECT 'card-1' AS H) AS x USING (H)",
    "SELECT COUNT(*) FROM T", "SELECT C FROM T", "SELECT H FROM T", "SELECT H FROM V", "SELECT C FROM V ORDER BY H",
    "SELECT C FROM V GROUP BY C ORDER BY MAX(H)", "SELECT DEFAULT(H) FROM V", "SELECT C FROM V WHERE H = 1",
    "SELECT C FROM V PARTITION (p0)", "SELECT C FROM T PARTITION (p0)", "SELECT C FROM T PARTITION (p1)",
    "SELECT C FROM V FORCE INDEX (card)", "SELECT C FROM V FORCE INDEX (H)", "SELECT C FROM V USE INDEX (both_)",
    "SELECT C FROM V IGNORE INDEX (PRIMARY)", "SELECT C FROM V USE INDEX ()", "SELECT C FROM T FORCE INDEX (H)",
    "SELECT C FROM T IGNORE INDEX FOR ORDER BY (PRIMARY)", "SELECT /*+ INDEX(V card) */ C FROM V",
    "SELECT /*+ INDEX(V H) */ C FROM V", "SELECT /*+ NO_INDEX(V PRIMARY) */ C FROM V",
    "SELECT /*+ INDEX(@`select#2` V card) */ C FROM V", "SELECT /*+ INDEX(V@`select#2` H) */ C FROM V",
    "SELECT /*+ QB_NAME(q, V) INDEX(V@q card) */ C FROM V", "SELECT /*+ MERGE(V) ORDER_INDEX(V H) */ C FROM V",
    "SELECT /*+ NO_MERGE(V) */ C FROM V", "SELECT /*+ SET_VAR(optimizer_switch='derived_merge=off') */ C FROM V",
    "SELECT /*+ NO_BNL() HASH_JOIN() */ a.C FROM V AS a JOIN V AS b ON a.C = b.C",
    "SELECT SQL_BIG_RESULT C FROM V GROUP BY C", "SELECT SQL_BUFFER_RESULT C FROM V", "SELECT C FROM V FOR SYSTEM_TIME ALL",
    "SELECT C FROM T FOR SYSTEM_TIME ALL", "SELECT C FROM V FOR SYSTEM_TIME BETWEEN '2000-01-01' AND '2037-01-01'",
    "EXPLAIN SELECT * FROM V", "EXPLAIN FORMAT=JSON SELECT * FROM V", "EXPLAIN FORMAT=TREE SELECT * FROM V",
    "EXPLAIN FORMAT=JSON SELECT 1 FROM T NATURAL JOIN (SELECT 1 AS H) AS x", "EXPLAIN EXTENDED SELECT C FROM V",
    "EXPLAIN PARTITIONS SELECT C FROM T", "EXPLAIN ANALYZE SELECT C FROM V", "ANALYZE SELECT C FROM V",
    "ANALYZE FORMAT=JSON SELECT C FROM V", "DESCRIBE V", "DESCRIBE T", "SHOW FULL COLUMNS FROM V", "SHOW INDEX FROM V",
    "SHOW CREATE VIEW V", "CHECKSUM TABLE V", "CHECKSUM TABLE T EXTENDED", "HANDLER T OPEN", "DO (SELECT C FROM T)",
];

/// Statements about all of them.
#[rustfmt::skip]
const OF_ALL: [&str; 30] = [
    "SHOW TABLES", "SHOW FULL TABLES FROM shop", "SHOW TABLE STATUS", "SHOW TABLE STATUS FROM shop", "SHOW DATABASES",
    "SHOW OPEN TABLES FROM shop", "SHOW INDEX FROM shop.orders", "SHOW TRIGGERS FROM shop", "HELP 'card'",
    "SELECT * FROM information_schema.STATISTICS ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX",
    "SELECT * FROM information_schema.COLUMN_STATISTICS", "SELECT * FROM information_schema.VIEWS ORDER BY TABLE_NAME",
    "SELECT * FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME <> 'orders'",
    "SELECT * FROM information_schema.TABLES WHERE TABLE_SCHEMA NOT IN ('information_schema', 'performance_schema') \
     AND TABLE_NAME <> 'orders' ORDER BY TABLE_NAME",
    "SELECT * FROM information_schema.COLUMNS WHERE TABLE_SCHEMA NOT IN ('information_schema', 'performance_schema') \
     ORDER BY TABLE_NAME, ORDINAL_POSITION",
    "SELECT * FROM information_schema.KEY_COLUMN_USAGE", "SELECT * FROM information_schema.TABLE_CONSTRAINTS",
    "SELECT * FROM information_schema.CHECK_CONSTRAINTS", "SELECT * FROM information_schema.INNODB_TABLESTATS",
    "SELECT * FROM information_schema.INNODB_SYS_TABLESTATS", "SELECT * FROM information_schema.INNODB_TABLESPACES",
    "SELECT * FROM information_schema.INDEX_STATISTICS", "SELECT * FROM information_schema.TABLE_STATISTICS",
    "SELECT * FROM information_schema.INNODB_BUFFER_PAGE", "SELECT * FROM mysql.innodb_index_stats",
    "SELECT * FROM mysql.column_stats", "SELECT * FROM mysql.index_stats",
    "SELECT * FROM performance_schema.table_io_waits_summary_by_index_usage", "SELECT * FROM sys.schema_index_statistics",
    "SELECT * FROM orders JOIN people ON people.id = orders.people",
];

fn statements() -> Vec<String> {
    let mut all: Vec<String> = OF_ALL.iter().map(|&sql| sql.to_owned()).collect();
    for (table, lent, hidden, _) in LENT {
        let filled = |sql: &&str| {
            let words = sql.split(' ').map(|word| filled(word, table, lent, hidden));
            words.collect::<Vec<_>>().join(" ")
        };
        all.extend(OF_EACH.iter().map(filled));
        for (other, _, other_hidden, _) in LENT {
            all.push(format!("SELECT * FROM {table} NATURAL JOIN {other}"));
            all.push(format!(
                "SELECT 1 FROM shop.{table} NATURAL JOIN shop.{other}"
            ));
            all.push(format!(
                "SELECT 1 FROM {table} JOIN shop.{other} USING ({other_hidden})"
            ));
        }
    }
    all
}

/// One word with the names in place of the letters that stand alone in it.
fn filled(word: &str, table: &str, lent: &str, hidden: &str) -> String {
    let parts = word.split_inclusive(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let named = |part: &str| {
        let name = part.trim_end_matches(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let rest = &part[name.len()..];
        match name {
            "V" => format!("{table}{rest}"),
            "T" => format!("shop.{table}{rest}"),
            "C" => format!("{lent}{rest}"),
            "H" => format!("{hidden}{rest}"),
            _ => part.to_owned(),
        }
    };
    parts.map(named).collect()
}

/// An answer without how long it took.
fn answer(client: &mut Client, sql: &str) -> Value {
    let mut answer = client.query("", sql);
    if let Some(data) = answer["data"].as_object_mut() {
        data.remove("duration");
    }
    answer
}

#[test]
fn hidden_values_that_change_places_change_no_answer() {
    let (far, home, db) = (Far::new(), Arc::new(Home::with_plugin()), lender());
    let manager = manager(&far, &home);
    let grants = grants();
    let grants: Vec<&str> = grants.iter().map(String::as_str).collect();
    let id = manager.add(&app(db.port(), USER, &grants));
    let mut client = client(&manager.connected(&id));
    for (table, ..) in LENT {
        let all = client.query_ok("", &format!("SELECT * FROM {table}"));
        assert_eq!(all["count"], 3, "{table}: {all}");
    }
    assert_eq!(client.query_ok("", "SELECT * FROM shop.orders")["count"], 2);
    // MariaDB sorts rows that are alike by where they lie in memory, now and then: asked twice it says something else.
    let all = |client: &mut Client| -> Vec<Value> {
        statements().iter().map(|sql| answer(client, sql)).collect()
    };
    let (first, second) = (all(&mut client), all(&mut client));
    swap(&db);
    let suspects = statements().into_iter().zip(first).zip(second);
    let mut suspects: Vec<(String, Vec<Value>, Vec<Value>)> = suspects
        .map(|((sql, first), second)| (sql, vec![first, second], Vec::new()))
        .collect();
    // A statement whose rows have no order says the same at times, before and after, unless its order tells something.
    for round in 0..6 {
        if round == 3 {
            swap(&db);
        }
        suspects.retain_mut(|(sql, before, after)| {
            let told = if round < 3 { &mut *after } else { &mut *before };
            let times = if round == 0 { 1 } else { 8 };
            told.extend((0..times).map(|_| answer(&mut client, sql)));
            !before.iter().any(|one| after.contains(one))
        });
    }
    let leaks: Vec<String> = suspects
        .iter()
        .map(|(sql, before, after)| format!("{sql}\n  {:.400}\n  {:.400}", before[0], after[0]))
        .collect();
    assert!(leaks.is_empty(), "{}", leaks.join("\n"));
    manager.disconnect(&id);
}

/// Names are in one place: what is lent whole of the same database is a view there, too.
#[test]
fn a_visitor_begins_where_all_names_are() {
    let (far, home, db) = (Far::new(), Arc::new(Home::with_plugin()), lender());
    db.exec(
        "CREATE DATABASE aside; CREATE TABLE aside.people (id INT); CREATE TABLE aside.t (x INT)",
    );
    let manager = manager(&far, &home);
    let lent = [
        "shop.people(name,id)",
        "shop.orders",
        "shop.cards",
        "aside.*",
    ];
    let id = manager.add(&app(db.port(), USER, &lent));
    let mut client = client(&manager.connected(&id));
    let names = client.query_ok("", "SHOW TABLES");
    assert_eq!(names["count"], 3, "cards, orders, people: {names}");
    let own = "SELECT DATABASE() AS d, USER() AS u";
    let own = &client.query_ok("", own)["rows"][0];
    let name = own["d"].as_str().unwrap();
    assert!(own["u"].as_str().unwrap().starts_with(name), "{own}");
    let columns = client.query_ok("", "SELECT * FROM people")["columns"].clone();
    assert_eq!(
        columns,
        serde_json::json!(["id", "name"]),
        "as in the table"
    );
    for sql in [
        "SELECT o.id FROM orders AS o JOIN people ON people.id = o.people",
        "SELECT id FROM shop.orders",
        "SELECT card FROM cards",
        "SELECT x FROM aside.t",
        "SELECT id FROM aside.people",
    ] {
        client.query_ok("", sql);
    }
    assert!(
        client.query("", "SELECT id FROM shop.people")["code"]
            .as_u64()
            .unwrap()
            >= 400
    );
    let seen = client.get("/api/tables?db=shop").data();
    assert_eq!(seen, serde_json::json!(["cards", "orders"]));
    // A database that it may not see is none for it.
    let [hidden, none] = ["mysql", "nowhere"].map(|db| client.get(&format!("/api/tables?db={db}")));
    assert_eq!((hidden.status(), hidden.text()), (404, none.text()));
    let schema = client.get(&format!("/api/schema?db={name}&table=people"));
    assert_eq!(schema.status(), 200, "{}", schema.text());
    manager.disconnect(&id);

    let is_gone = || accounts(&db).is_empty() && view_databases(&db).is_empty();
    support::wait_until(support::TIMEOUT, "its end", is_gone);

    let two = ["shop.people(id)", "aside.people(id)"];
    let id = manager.add(&app(db.port(), USER, &two));
    manager.connect(&id);
    let error = manager.wait_status(&id, "failed")["error"].clone();
    let error = error.as_str().unwrap();
    assert!(error.contains("two tables called people"), "{error}");
    assert!(is_gone());
}

/// Servers check no privileges on the tables of a running statement whose plan is asked for, and quote hidden values in
/// warnings.
#[test]
fn no_plan_and_no_warning_shows_a_hidden_value() {
    let (far, home, db) = (Far::new(), Arc::new(Home::with_plugin()), lender());
    db.exec(
        "CREATE TABLE shop.raw (id INT PRIMARY KEY, raw VARCHAR(40), num DOUBLE AS (raw + 0) VIRTUAL); \
         INSERT IGNORE INTO shop.raw (id, raw) VALUES (1, 'HIDDEN'); \
         CREATE VIEW shop.warns AS SELECT id FROM shop.raw WHERE raw + 0 < 9",
    );
    let manager = manager(&far, &home);
    let id = manager.add(&app(db.port(), USER, &["shop.raw(id,num)", "shop.warns"]));
    let mut client = client(&manager.connected(&id));
    for sql in [
        "EXPLAIN FOR CONNECTION 1",
        "EXPLAIN FORMAT=JSON FOR CONNECTION 1",
        "SELECT * FROM information_schema.`TABLESPACES_EXTENSIONS`",
        "SHOW EXPLAIN FOR 1",
        "SHOW EXPLAIN FORMAT=JSON FOR 1",
        "SHOW ANALYZE FOR 1",
        "SHOW /**/ ANALYZE FORMAT=JSON FOR 1",
    ] {
        let answer = client.query("", sql);
        assert_eq!(answer["code"], 403, "{sql}: {answer}");
    }
    for sql in [
        "SELECT * FROM raw",
        "SELECT * FROM warns",
        "SELECT id, num + 1 FROM raw",
    ] {
        let answer = client.query_ok("", sql);
        assert!(!answer.to_string().contains("HIDDEN"), "{sql}: {answer}");
        assert!(
            answer["warnings"]
                .to_string()
                .contains("Truncated incorrect DOUBLE value: '…'"),
            "{sql}: {answer}"
        );
    }
}

#[test]
fn who_may_not_make_or_drop_views_lends_no_columns() {
    let (far, home, db) = (Far::new(), Arc::new(Home::with_plugin()), lender());
    let manager = manager(&far, &home);
    let rights = |user: &str, rights: &str| {
        db.exec(&format!(
            "CREATE USER {user}@'%' IDENTIFIED BY '{PASSWORD}'; GRANT CREATE USER ON *.* TO {user}@'%'; \
             GRANT SELECT ON shop.* TO {user}@'%' WITH GRANT OPTION; \
             GRANT {rights} TO {user}@'%' WITH GRANT OPTION"
        ));
    };
    rights("nodrop", "SELECT, CREATE, CREATE VIEW ON *.*");
    rights("noview", "SELECT, CREATE, DROP ON *.*");
    rights("nothing", "SELECT ON shop.*");
    rights(
        "enough",
        "SELECT, CREATE, DROP, CREATE VIEW ON `postern\\_%`.*",
    );
    for user in ["nodrop", "noview", "nothing"] {
        let id = manager.add(&app(db.port(), user, &["shop.people(id,name)"]));
        manager.connect(&id);
        let result = manager.wait_status(&id, "failed");
        let error = result["error"].as_str().unwrap();
        for part in [
            &format!("does not allow '{user}' to create one"),
            "CREATE DATABASE `guest_views`",
            "SQL SECURITY DEFINER VIEW `guest_views`.`people` AS SELECT `id`, `name` FROM `shop`.`people`",
            "GRANT SELECT ON `guest_views`.`people` TO 'guest'@",
        ] {
            assert!(error.contains(part), "{user}: {error}");
        }
        manager.disconnect(&id);
        assert_eq!(
            (accounts(&db), view_databases(&db)),
            (vec![], vec![]),
            "{user}"
        );
        assert!(!records(home.path()).contains("postern_"));
    }
    let id = manager.add(&app(db.port(), "enough", &["shop.people(id,name)"]));
    let mut visitor = client(&manager.connected(&id));
    visitor.query_ok("", "SELECT id, name FROM people");
    manager.disconnect(&id);
    support::wait_until(support::TIMEOUT, "its end", || {
        accounts(&db).is_empty() && view_databases(&db).is_empty()
    });
}

/// Rows of the past that a view of the lender's shows cannot be kept from a guest.
#[test]
fn a_view_of_tables_with_a_history_is_not_lent_in_part() {
    let (far, home, db) = (Far::new(), Arc::new(Home::with_plugin()), lender());
    if !is(&db, Kind::MariaDb) {
        return;
    }
    db.exec("CREATE VIEW shop.past AS SELECT id, secret FROM shop.history");
    let manager = manager(&far, &home);
    let id = manager.add(&app(db.port(), USER, &["shop.past(id)"]));
    manager.connect(&id);
    let result = manager.wait_status(&id, "failed");
    let error = result["error"].as_str().unwrap();
    for part in ["earlier rows of shop.past", "columns of its tables"] {
        assert!(error.contains(part), "{error}");
    }
    assert_eq!((accounts(&db), view_databases(&db)), (vec![], vec![]));
}
