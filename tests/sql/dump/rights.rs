//! Objects that an account cannot read are named, both before the dump and in the file.

use serde_json::json;

use super::{dump, nasty, restore, whole};
use support::database::{Database, Kind, PASSWORD, READER};
use support::postern::Postern;

fn postern_as(db: &Database, user: &str, more: &[&str]) -> Postern {
    let target = db.target();
    let mut args = vec![target.as_str(), "--db-user", user, "--db-pass", PASSWORD];
    args.extend(more);
    Postern::start(&args, &[])
}

#[test]
fn what_an_account_cannot_read_is_named_before_and_in_the_file() {
    let db = Database::shared();
    db.exec(&format!(
        "DROP DATABASE IF EXISTS dump_rights; CREATE DATABASE dump_rights; USE dump_rights; \
         CREATE TABLE open (id INT); INSERT INTO open VALUES (1); CREATE TABLE half (a INT, b INT); INSERT INTO half VALUES (1, 2); \
         CREATE TABLE written (id INT); INSERT INTO written VALUES (7); CREATE TABLE hidden (id INT); CREATE VIEW seen AS SELECT * FROM open; \
         CREATE VIEW broken AS SELECT * FROM hidden; CREATE PROCEDURE p() SELECT 1; CREATE TRIGGER t BEFORE INSERT ON open FOR EACH ROW SET @a = 1; \
         DROP USER IF EXISTS half; CREATE USER half IDENTIFIED BY '{PASSWORD}'; GRANT SELECT ON dump_rights.open TO half; \
         GRANT SELECT (a) ON dump_rights.half TO half; GRANT INSERT ON dump_rights.written TO half; GRANT SELECT ON dump_rights.seen TO half; \
         GRANT EXECUTE ON PROCEDURE dump_rights.p TO half"
    ));
    for more in [&[][..], &["--readonly"]] {
        let postern = postern_as(db, "half", more);
        let mut client = postern.client();
        let asked = json!({"db": "dump_rights", "review": true});
        let review = client.post("/api/dump", &asked).data();
        let notes: Vec<&str> = review["notes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|note| note.as_str().unwrap())
            .collect();
        for part in [
            "tables and columns without privileges",
            "triggers need the TRIGGER privilege",
            "events need the EVENT privilege",
            "routines without privileges",
            "table `half`",
            "The rows of table `written` are skipped",
            "View `seen` is skipped",
            "Procedure `p` is skipped",
        ] {
            let found = notes
                .iter()
                .any(|note| note.to_lowercase().contains(&part.to_lowercase()));
            assert!(found, "{part}: {notes:#?}");
        }
        let file = String::from_utf8(dump(&mut client, &whole("dump_rights"))).unwrap();
        for note in notes {
            assert!(file.contains(&format!("-- {note}\n")), "{note}: {file}");
        }
        assert!(!file.contains("(7)") && file.contains("CREATE TABLE `written`"));
        restore(db, file.as_bytes(), "dump_rights_again", "");
        let tables = db.column("SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'dump_rights_again' ORDER BY 1");
        assert_eq!(tables, ["open", "written"]);
    }
}

#[test]
fn a_reader_of_everything_dumps_it_and_a_broken_view_is_named() {
    let db = Database::shared();
    nasty::make(db, "dump_reader");
    db.exec("USE dump_reader; CREATE TABLE gone (id INT); CREATE VIEW broken AS SELECT id FROM gone; DROP TABLE gone");
    let postern = postern_as(db, READER, &["--readonly"]);
    let file = dump(&mut postern.client(), &whole("dump_reader"));
    let file = String::from_utf8(file).unwrap();
    assert!(file.contains("-- View `broken` is skipped"), "{file:.2000}");
    assert!(file.contains("triggers need the TRIGGER privilege"));
    restore(db, file.as_bytes(), "dump_reader_again", nasty::OPTIONS);
    let count = |of: &str| {
        db.value(&format!(
            "SELECT COUNT(*) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = '{of}'"
        ))
    };
    assert_eq!(count("dump_reader"), count("dump_reader_again"));
}

#[test]
fn parts_and_definers_are_left_out_as_asked() {
    let db = Database::shared();
    nasty::make(db, "dump_parts");
    let postern = Postern::on(db, &[]);
    let mut client = postern.client();
    let text = |file: Vec<u8>| String::from_utf8(file).unwrap();
    let one = text(dump(
        &mut client,
        &json!({"db": "dump_parts", "tables": ["made"], "data": false, "definers": false, "drop": false}),
    ));
    assert!(one.contains("CREATE TABLE `made`") && one.contains("z_second"));
    for absent in [
        "INSERT INTO `made`",
        "DROP ",
        "DEFINER",
        "PROCEDURE",
        "EVENT",
        "`numbers`",
    ] {
        assert!(!one.contains(absent), "{absent}: {one}");
    }
    let rows = text(dump(
        &mut client,
        &json!({"db": "dump_parts", "tables": ["numbers", "labels"], "structure": false, "triggers": false}),
    ));
    assert!(!rows.contains("CREATE") && rows.contains("INSERT INTO `labels`"));
    let answer = client.post(
        "/api/dump",
        &json!({"db": "dump_parts", "tables": ["made"]}),
    );
    let name = answer.header("content-disposition").unwrap();
    assert_eq!(name, "attachment; filename=\"dump_parts.made.sql\"");
    // A misspelt field does not make the dump a whole one.
    let wrong = client.post("/api/dump", &json!({"db": "dump_parts", "table": "made"}));
    assert_eq!(wrong.status(), 400);
    assert!(wrong.text().contains("'table' is not a known field"));
    // With its database, onto a server that has none.
    let mut all = json!({"db": "dump_parts", "create_database": true, "ticket": true});
    let ticket = client.post("/api/dump", &all).data()["ticket"].clone();
    let path = format!("/api/export/{}", ticket.as_str().unwrap());
    let file = client.get(&path);
    assert_eq!(file.header("content-type"), Some("application/sql"));
    assert_eq!(client.get(&path).status(), 404, "a ticket is good once");
    let before = super::everything(db, "dump_parts");
    db.exec("DROP DATABASE dump_parts; CREATE DATABASE IF NOT EXISTS dump_elsewhere");
    assert_eq!(super::client(db, "dump_elsewhere", &file.body), Ok(()));
    super::assert_same(&before, &super::everything(db, "dump_parts"));
    // Without definers everything is whose who restores it.
    all = json!({"db": "dump_parts", "definers": false});
    let file = dump(&mut client, &all);
    let definers = |file: &[u8]| String::from_utf8_lossy(file).matches("DEFINER=").count();
    assert_eq!(definers(&file), 0);
    restore(db, &file, "dump_parts_again", nasty::OPTIONS);
    if db.kind() == Kind::MariaDb {
        let owners = db.column("SELECT DISTINCT DEFINER FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'dump_parts_again'");
        assert_eq!(owners, ["root@localhost"]);
    }
}
