//! A database of everything that a dump of another program easily spoils.

use mysql::prelude::Queryable;
use support::database::{Database, Kind};

use super::{AS_IT_IS, console};
use crate::dump::nasty;

/// Names like words and signs, texts like commands, and programs whose text looks like what ends it. No event has two
/// semicolons side by side: mariadb-dump never ends then.
const MORE: &str = r#"
CREATE TABLE `all bytes` (id INT PRIMARY KEY, v VARBINARY(600), f BINARY(16), l LONGBLOB, c VARCHAR(300) CHARACTER SET binary,
  l1 VARCHAR(300) CHARACTER SET latin1, cp VARCHAR(300) CHARACTER SET cp850, bi BIT(12), g GEOMETRY);
CREATE TABLE `a.b` (`c.d` INT PRIMARY KEY, `key` INT, `order` VARCHAR(9) DEFAULT ';', `'` INT, `"` INT, `a``;--` INT, `*/` INT, `漢字` TEXT COMMENT '漢字 */ ; -- x
next line # y /* z');
INSERT INTO `a.b` VALUES (0, 1, ';', 2, 3, 4, 5, '漢字'), (2, NULL, '\\', 1, 1, 1, 1, 'a\\''b');
CREATE TABLE `table` (`select` INT AUTO_INCREMENT PRIMARY KEY, `from` ENUM(';', '--', '*/', 'a''b', '\\') DEFAULT '\\',
  `check` INT CHECK (`check` <> ';' OR `check` > 1), FOREIGN KEY (`check`) REFERENCES `a.b` (`c.d`)) COMMENT='*/ ; -- `x`
DELIMITER $$
source /etc/passwd
\\! id
# /*! SELECT 1; */';
INSERT INTO `table` VALUES (1, ';', 2), (5, '*/', NULL);
CREATE TABLE `DELIMITER` (`delimiter` INT PRIMARY KEY, `source` TEXT);
INSERT INTO `DELIMITER` VALUES (1, 'x\nDELIMITER //\nsource y\n\\! z\n\\. q\n\\G\n'), (2, '\\'), (3, '\\\\'''), (4, '/*M!999999\\- enable the sandbox mode */');
CREATE TABLE lists (id INT, n INT) PARTITION BY LIST (n) (PARTITION a VALUES IN (1) COMMENT = 'it''s */ ; --', PARTITION b VALUES IN (2, NULL) COMMENT = '\\');
INSERT INTO lists VALUES (1, 1), (2, 2), (3, NULL);
CREATE TABLE large (id INT PRIMARY KEY, t LONGTEXT, b LONGBLOB);
INSERT INTO large VALUES (1, REPEAT('x''\\;\n--', 50000), REPEAT(X'00275C220A0D1A80FF3B', 50000)), (2, '', NULL);
CREATE VIEW `v ;` AS SELECT '*/ ; -- \\ '' "' AS `a;b`, `c.d` FROM `a.b`;
CREATE VIEW `v on v` AS SELECT `a;b` FROM `v ;` WHERE `c.d` > 0;
CREATE DEFINER='o''dd user'@'%' PROCEDURE `BEGIN`() COMMENT '*/ ; \\' BEGIN /* ;; */ SELECT ';;' AS `;;`; -- ;; //
  # $$ DELIMITER
  SELECT '//', '$$', "\\", 'a\\''b;' ; END;
CREATE PROCEDURE `a;b`() BEGIN
DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;
l: BEGIN IF 1 THEN CASE 1 WHEN 1 THEN SELECT 1; ELSE BEGIN END; END CASE; END IF; END l;
END;
CREATE FUNCTION `end`(`end` INT) RETURNS TEXT DETERMINISTIC RETURN CONCAT('\\', `end`, '/*!');
CREATE TRIGGER `t;t` BEFORE INSERT ON `a.b` FOR EACH ROW BEGIN SET @x = ';;'; /* it's */ SET NEW.`key` = 1; END;
CREATE EVENT `e;e` ON SCHEDULE EVERY 1 DAY STARTS '2036-01-01 00:00:00' DO BEGIN SET @x = '\\;'; SET @y = 2; END;
"#;

/// Objects made by a latin1 client, with the bytes it sent.
const LATIN1: &[u8] = b"SET NAMES latin1, sql_mode = '';
CREATE PROCEDURE raw_latin1() COMMENT '\xe9' SELECT '\xe9\xdf\xff\x80' AS `\xe9`;
CREATE TRIGGER `raw \xe9` AFTER DELETE ON `a.b` FOR EACH ROW SET @x = '\xe9';
CREATE EVENT raw_latin1 ON SCHEDULE EVERY 1 DAY STARTS '2036-01-01 00:00:00' DO SET @x = '\xe9';
CREATE VIEW raw_latin1 AS SELECT '\xe9' AS `\xe9`;
SET sql_mode = 'NO_BACKSLASH_ESCAPES';
CREATE FUNCTION slash() RETURNS TEXT DETERMINISTIC RETURN '\\';
";

/// Makes it anew under that name.
pub(super) fn make(db: &Database, name: &str) {
    nasty::make(db, name);
    let mut conn = db.conn();
    conn.select_db(name).unwrap();
    let mut run = |sql: &str| {
        let mut results = conn
            .query_iter(sql)
            .unwrap_or_else(|e| panic!("{e}: {sql:.300}"));
        while let Some(set) = results.iter() {
            set.collect::<mysql::Result<Vec<_>>>()
                .unwrap_or_else(|e| panic!("{e}: {sql:.300}"));
        }
    };
    run("SET NAMES utf8mb4");
    run("SET foreign_key_checks = 0, sql_mode = 'NO_AUTO_VALUE_ON_ZERO'");
    // Nothing restores a view whose function reads a view that comes behind it.
    run("DROP VIEW d_fn");
    run(MORE);
    let each = (0..=u8::MAX).map(|byte| (u32::from(byte), format!("X'{byte:02X}'")));
    let every: String = (0..=u8::MAX).map(|byte| format!("{byte:02X}")).collect();
    for (id, bytes) in each.chain([(300, format!("X'{every}'"))]) {
        run(&format!(
            "INSERT INTO `all bytes` VALUES ({id}, {bytes}, LEFT({bytes}, 16), REPEAT({bytes}, 300), {bytes}, _latin1 {bytes}, _cp850 {bytes}, {id}, \
             ST_GeomFromText('POINT({id}.5 -{id}.0078125)'))"
        ));
    }
    if db.kind() == Kind::MariaDb {
        run("SET NAMES utf8mb4, sql_mode = ''");
        run("CREATE PROCEDURE atomic() BEGIN FOR i IN 1..2 DO SELECT i; END FOR; END");
    }
    assert_eq!(console(db, name, LATIN1, AS_IT_IS), []);
}
