//! A restored dump equals the original.

use super::{assert_same, dump, everything, nasty, restore, whole};
use mysql::prelude::Queryable;
use support::database::Database;
use support::postern::Postern;

#[test]
fn a_database_of_everything_is_restored_identically_by_the_servers_own_client() {
    let db = Database::shared();
    nasty::make(db, "dump_nasty");
    for args in [&[][..], &["--readonly"]] {
        let postern = Postern::on(db, args);
        let file = dump(&mut postern.client(), &whole("dump_nasty"));
        assert!(std::str::from_utf8(&file).is_ok(), "the file is UTF-8");
        assert!(!file.contains(&0) && !file.windows(2).any(|w| w == b"\r\n"));
        restore(db, &file, "dump_nasty_again", nasty::OPTIONS);
        let before = everything(db, "dump_nasty");
        assert_same(&before, &everything(db, "dump_nasty_again"));
        // Onto what is there already, too.
        assert_eq!(super::client(db, "dump_nasty_again", &file), Ok(()));
        assert_same(&before, &everything(db, "dump_nasty_again"));
    }
}

#[test]
fn a_console_finds_no_command_of_its_own_in_a_text_and_no_sign_in_it_ends_it() {
    let db = Database::shared();
    db.exec("DROP DATABASE IF EXISTS dump_signs; CREATE DATABASE dump_signs");
    let mut conn = db.conn();
    conn.select_db("dump_signs").unwrap();
    let text = "SELECT '$$ // ;; || ~~ @@ ^^ $postern1$ \\\\'";
    conn.query_drop(format!("CREATE PROCEDURE p() {text}"))
        .unwrap();
    conn.query_drop("CREATE PROCEDURE z() SELECT 1").unwrap();
    let postern = Postern::on(db, &[]);
    let file = dump(&mut postern.client(), &whole("dump_signs"));
    let starts = file.starts_with(b"/*M!999999\\- enable the sandbox mode */\n-- Dump of");
    assert!(
        starts,
        "every dump tells MariaDB's console to run no commands"
    );
    restore(db, &file, "dump_signs_again", "");
    let before = everything(db, "dump_signs");
    assert_same(&before, &everything(db, "dump_signs_again"));
}

#[test]
fn what_the_server_cannot_show_is_named_and_the_rows_keep_their_label() {
    let db = Database::shared();
    db.exec("DROP DATABASE IF EXISTS dump_emoji; CREATE DATABASE dump_emoji CHARACTER SET utf8mb4; SET NAMES utf8mb4; USE dump_emoji; \
             CREATE TABLE t (id INT PRIMARY KEY, e ENUM('😀', 'a'), v VARCHAR(9) DEFAULT '😀'); INSERT INTO t VALUES (1, 1, 'x'), (2, 2, 'x')");
    let postern = Postern::on(db, &[]);
    let file = dump(&mut postern.client(), &whole("dump_emoji"));
    let text = String::from_utf8_lossy(&file);
    assert!(text.contains("-- Table `t`, column e"), "{text}");
    restore(db, &file, "dump_emoji_again", "");
    let labels = db.column("SELECT e + 0 FROM dump_emoji_again.t ORDER BY id");
    assert_eq!(labels, ["1", "2"]);
}

#[test]
fn a_dump_can_be_read_by_people() {
    let db = Database::shared();
    db.exec("DROP DATABASE IF EXISTS dump_plain; CREATE DATABASE dump_plain CHARACTER SET latin1; SET NAMES utf8mb4; USE dump_plain; \
             CREATE TABLE t (id INT, f FLOAT, n VARCHAR(20), b VARBINARY(4), d DATE); INSERT INTO t VALUES (1, 0.5, 'Größe 5 €', X'00FF', '2024-02-29'), (2, NULL, 'it''s', '', NULL)");
    let postern = Postern::on(db, &[]);
    let file = dump(&mut postern.client(), &whole("dump_plain"));
    let text = String::from_utf8(file).unwrap();
    let rows = "INSERT INTO `t` (`id`, `f`, `n`, `b`, `d`) VALUES\n(1,0.5,'Größe 5 €',0x00FF,'2024-02-29'),\n(2,NULL,'it''s','',NULL);\n";
    assert!(text.contains(rows), "{text}");
}

#[test]
fn a_view_whose_function_writes_is_kept_and_a_broken_one_is_a_comment() {
    let db = Database::shared();
    db.exec(
        "DROP DATABASE IF EXISTS dump_writing; CREATE DATABASE dump_writing; USE dump_writing; \
         CREATE TABLE t (id INT); CREATE TABLE log (id INT); INSERT INTO t VALUES (4); CREATE TABLE gone (id INT); \
         CREATE FUNCTION noted(x INT) RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN INSERT INTO log VALUES (x); RETURN x; END; \
         CREATE VIEW v AS SELECT noted(id) AS n, 'it''s' AS s FROM t; CREATE VIEW over_v AS SELECT n FROM v; \
         CREATE VIEW broken AS SELECT id AS `a ``b` FROM gone; DROP TABLE gone",
    );
    for args in [&[][..], &["--readonly"]] {
        let postern = Postern::on(db, args);
        let file = dump(&mut postern.client(), &whole("dump_writing"));
        let text = String::from_utf8_lossy(&file).into_owned();
        assert!(
            text.contains("-- View `broken` is skipped because it does not work; its text"),
            "{text}"
        );
        assert!(
            text.contains("-- CREATE ALGORITHM=UNDEFINED") && text.contains(" AS `a ``b`"),
            "{text}"
        );
        let mut run = text.lines().filter(|line| !line.starts_with("--"));
        assert!(run.all(|line| !line.contains("`dump_writing`.")), "{text}");
        restore(db, &file, "dump_writing_again", "");
        assert_eq!(db.value("SELECT n FROM dump_writing_again.over_v"), "4");
        let logged = db.value("SELECT COUNT(*) FROM dump_writing_again.log");
        assert_eq!(logged, "1", "its own function writes to its own log");
        assert_eq!(db.value("SELECT COUNT(*) FROM dump_writing.log"), "0");
    }
}
