//! A database of everything that is easily lost.

use mysql::prelude::Queryable;
use support::database::{Database, Kind};

/// Statements for every server.
const COMMON: &str = r#"
CREATE TABLE numbers (id INT AUTO_INCREMENT PRIMARY KEY, tiny TINYINT UNSIGNED, big BIGINT UNSIGNED, small BIGINT,
  wide DECIMAL(65,30), f FLOAT, f3 FLOAT(7,3), d DOUBLE, d2 DOUBLE(10,2), z INT(8) ZEROFILL, y YEAR, b BIT(1), bits BIT(64), yes BOOL)
  AUTO_INCREMENT = 500 COMMENT='it''s a \\ "comment" with ; and -- and /* */ ü';
INSERT INTO numbers VALUES
  (0, 255, 18446744073709551615, -9223372036854775808, -12345678901234567890123456789012345.123456789012345678901234567890,
   1.17549435e-38, 3.14, -1.7976931348623157e308, -1234.5, 42, 1901, b'1', 0xFFFFFFFFFFFFFFFF, TRUE),
  (1, 0, 0, 9223372036854775807, 0.1, 16777217, 0.001, 5e-324, 0.01, 0, 0, b'0', 0, FALSE),
  (-5, NULL, NULL, NULL, NULL, 0.1, NULL, 0.1, NULL, NULL, NULL, NULL, NULL, NULL),
  (7, 1, 1, 1, 1, 3.4028235e38, 1, 2.2250738585072014e-308, 1, 1, 2155, NULL, 1, 1),
  (8, 1, 1, 1, 1, -123456.789, 1, 123456789.12345678, 1, 1, 2024, NULL, 0x8000000000000000, 1);
CREATE TABLE texts (id INT PRIMARY KEY, u4 VARCHAR(100) CHARACTER SET utf8mb4, u3 VARCHAR(100) CHARACTER SET utf8mb3,
  l1 VARCHAR(100) CHARACTER SET latin1, bin VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  l1b TEXT CHARACTER SET latin1 COLLATE latin1_bin, cy VARCHAR(100) CHARACTER SET cp1251, sj VARCHAR(100) CHARACTER SET sjis,
  gb VARCHAR(100) CHARACTER SET gbk, u2 VARCHAR(100) CHARACTER SET ucs2, u16 TEXT CHARACTER SET utf16, u32 CHAR(50) CHARACTER SET utf32,
  a CHAR(10) CHARACTER SET ascii, long_one LONGTEXT, sw VARCHAR(20) CHARACTER SET swe7);
INSERT INTO texts VALUES
  (1, '😀 ünï', '☃', 'é€ÿ', 'ß', 'é', 'Привет', '表ソ', '中文', 'é☃', '😀é', '😀', 'plain', REPEAT('ü', 5000), 'ÄÖå'),
  (2, '', '', '', '', '', '', '', '', '', '', '', '', '', ''),
  (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (4, 'it''s "q" `b` \\ \0 \r\n \Z \t \b %_', '\r', '\\''', '\n', '\r\n', '\\', '\\', '\\', '''', '''', '''', '\\''', '\\\\''', 'b'),
  (5, '\nDELIMITER $$\n-- no comment\n/*!99999 not code */ ; $$', ' two ', '\tx', ' ', ';', '#', '--', '/*', '\0', '\r', '\n', ' a', '\\', 'c');
INSERT INTO texts (id, l1) VALUES (6, CAST(X'808182838F909DA0FF' AS CHAR CHARACTER SET latin1));
CREATE TABLE labels (id INT PRIMARY KEY, e ENUM('', '0', '2', 'it''s', 'ü', '1,2', 'a"b'), s SET('x', 'y y', 'ü', '0'),
  odd ENUM('10', '2', '1'), l1 ENUM('é', 'b') CHARACTER SET latin1, s64 SET('a','b') CHARACTER SET latin1);
INSERT INTO labels VALUES (1, '', '', '10', 'é', 'a'), (2, '0', 'x,y y,ü,0', '2', 'b', 'a,b'), (3, 'it''s', '0', '1', NULL, ''),
  (4, 'ü', 'ü', NULL, 'é', NULL), (5, '1,2', NULL, '2', 'b', 'b'), (6, '2', 'x', '1', 'b', 'b');
SET sql_mode = '';
INSERT INTO labels VALUES (7, 'no such label', 'x', 'neither', 'b', 'b');
CREATE TABLE bytes (id INT PRIMARY KEY, b BINARY(5), v VARBINARY(300), t TINYBLOB, bl BLOB, l LONGBLOB, UNIQUE (v(10)));
INSERT INTO bytes VALUES (1, 'a', X'00', X'0D0A', X'275C22', REPEAT(X'00FF0A0D1A', 20000)), (2, '', '', '', '', ''), (3, NULL, NULL, NULL, NULL, NULL),
  (4, X'FFFFFFFFFF', X'F0288CBC', 'text', 'ü', 0x00);
SET sql_mode = 'ALLOW_INVALID_DATES';
CREATE TABLE times (id INT PRIMARY KEY, d DATE, dt DATETIME(6), ts TIMESTAMP(6) NULL, n TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  t TIME(3), since TIMESTAMP NOT NULL DEFAULT '2001-02-03 04:05:06');
INSERT INTO times VALUES (1, '0000-00-00', '0000-00-00 00:00:00', '0000-00-00 00:00:00', '1970-01-02 00:00:00', '-838:59:59', '2024-03-31 02:30:00'),
  (2, '2024-00-00', '9999-12-31 23:59:59.999999', '2038-01-19 03:14:07', '2024-10-27 02:30:00', '838:59:59', '2024-10-27 00:30:00'),
  (3, '2024-02-31', '2024-02-31 12:00:00', NULL, '2024-10-27 01:30:00', '00:00:00.001', '2020-01-01 00:00:00');
CREATE TABLE places (id INT PRIMARY KEY, g GEOMETRY, p POINT NOT NULL, poly POLYGON, SPATIAL INDEX (p));
INSERT INTO places VALUES (1, ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 2),LINESTRING(0 0,1 1))'), ST_GeomFromText('POINT(1.5 -2.5)'), ST_GeomFromText('POLYGON((0 0,10 0,10 10,0 0))')),
  (2, NULL, ST_GeomFromText('POINT(0 0)'), NULL);
CREATE TABLE documents (id INT PRIMARY KEY, j JSON);
INSERT INTO documents VALUES (1, '{"a": "it''s \\"q\\" \\\\ 😀 \\u0000", "n": [1, 1.5, 1e300, true, null, 18446744073709551615]}'), (2, NULL), (3, '[]'), (4, '"x"');
CREATE TABLE made (id INT PRIMARY KEY AUTO_INCREMENT, a INT, doubled INT GENERATED ALWAYS AS (a * 2) VIRTUAL, kept INT GENERATED ALWAYS AS (a + 1) STORED,
  hidden INT INVISIBLE DEFAULT 5, word VARCHAR(20) DEFAULT 'it''s', at DATETIME DEFAULT (NOW() + INTERVAL 1 DAY), upper_word VARCHAR(20) GENERATED ALWAYS AS (UPPER(word)) STORED,
  KEY (doubled), UNIQUE KEY k (kept, upper_word), CONSTRAINT positive CHECK (a > 0));
INSERT INTO made (id, a, hidden, word, at) VALUES (0 + 3, 1, 77, 'x', '2024-01-01'), (9, 2, NULL, NULL, NULL);
CREATE TABLE a_child (id INT PRIMARY KEY, parent INT, self INT, CONSTRAINT `fk ``1` FOREIGN KEY (parent) REFERENCES z_parent (id) ON DELETE SET NULL ON UPDATE CASCADE,
  FOREIGN KEY (self) REFERENCES a_child (id));
CREATE TABLE z_parent (id INT PRIMARY KEY, child INT, FOREIGN KEY (child) REFERENCES a_child (id));
INSERT INTO a_child VALUES (1, 2, 2), (2, 1, 1); INSERT INTO z_parent VALUES (1, 1), (2, 2);
INSERT INTO a_child VALUES (3, 99, NULL);
CREATE TABLE `na``me 'with' "all" \ ☃; -- x` (`a``b` INT PRIMARY KEY, `select` INT, ` lead` INT, `ü☃` INT COMMENT 'a\\b''c\n\r"', `tab	in` INT, KEY `k ``1` (`select`));
INSERT INTO `na``me 'with' "all" \ ☃; -- x` VALUES (1, 2, 3, 4, 5);
CREATE TABLE parted (id INT NOT NULL, at DATE NOT NULL, PRIMARY KEY (id, at)) PARTITION BY RANGE (YEAR(at))
  (PARTITION p0 VALUES LESS THAN (2000) COMMENT = 'old; ''ones''', PARTITION p1 VALUES LESS THAN (2020), PARTITION p2 VALUES LESS THAN MAXVALUE);
INSERT INTO parted VALUES (1, '1999-01-01'), (2, '2010-01-01'), (3, '2030-01-01');
CREATE TABLE listed (c VARCHAR(10) NOT NULL, n INT) PARTITION BY LIST COLUMNS (c) (PARTITION pa VALUES IN ('a', 'it''s'), PARTITION pb VALUES IN ('b'));
INSERT INTO listed VALUES ('it''s', 1), ('b', 2), ('b', 2);
CREATE TABLE plain_text (id INT AUTO_INCREMENT PRIMARY KEY, t TEXT, FULLTEXT KEY (t)) ENGINE=MyISAM AUTO_INCREMENT = 77;
INSERT INTO plain_text VALUES (0, 'zero'), (1, 'one');
CREATE TABLE in_memory (id INT PRIMARY KEY) ENGINE=MEMORY; INSERT INTO in_memory VALUES (1), (2);
CREATE TABLE empty_one (id INT AUTO_INCREMENT PRIMARY KEY) AUTO_INCREMENT = 1000;
CREATE TABLE no_key (a INT, b TEXT); INSERT INTO no_key VALUES (1, 'x'), (1, 'x'), (NULL, NULL);
CREATE TABLE log (what VARCHAR(200));
CREATE TABLE merged (id INT NOT NULL, KEY (id)) ENGINE=MRG_MyISAM UNION=();
SET sql_mode = 'STRICT_TRANS_TABLES';
CREATE DEFINER=`root`@`localhost` FUNCTION twice(x INT) RETURNS INT DETERMINISTIC COMMENT 'it''s; twice' RETURN x * 2;
CREATE FUNCTION reads_view() RETURNS INT READS SQL DATA RETURN (SELECT COUNT(*) FROM a_view);
CREATE VIEW z_base AS SELECT id, a, word FROM made WHERE a > 0;
CREATE ALGORITHM=MERGE SQL SECURITY INVOKER VIEW a_view AS SELECT id, a, word FROM z_base WHERE a < 100 WITH CASCADED CHECK OPTION;
CREATE ALGORITHM=TEMPTABLE VIEW b_view (x, `a``b`) AS SELECT twice(a), 'ü ''q'' \\ "' FROM a_view;
CREATE VIEW c_view AS WITH t AS (SELECT id FROM z_base) SELECT b_view.x, z_base.* FROM b_view JOIN z_base JOIN t USING (id);
CREATE VIEW d_fn AS SELECT reads_view() AS n;
CREATE VIEW `e view ``q` AS SELECT 1 AS c_view, id AS z_base FROM numbers AS a_view;
CREATE VIEW m_one AS SELECT 1 AS n_two, n_two.id FROM made AS n_two;
CREATE VIEW n_two AS SELECT m_one.id FROM m_one GROUP BY m_one.id;
CREATE PROCEDURE `p ``1`(IN a INT, INOUT b VARCHAR(20) CHARACTER SET utf8mb4, OUT c DECIMAL(5,2)) MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
  -- a comment with ' and " and ; and $$ and //
  /* another ; one */ # third
  DECLARE done INT DEFAULT 0;
  SET b = '$$ ;; // || it''s \\ ü 😀';
  IF a > 0 THEN SELECT 1; ELSE SELECT 2; END IF;
  SET c = 1.5; -- last
END;
SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT';
CREATE FUNCTION quotes() RETURNS VARCHAR(50) DETERMINISTIC RETURN 'a\' || "quotes"."no"
;
"#;

/// Further statements for MariaDB.
const MARIADB: &str = r#"
CREATE SEQUENCE s START WITH 5 INCREMENT BY 3 MINVALUE -10 MAXVALUE 1000 CACHE 7 CYCLE;
CREATE SEQUENCE used_up START WITH 5 MAXVALUE 6 NOCACHE;
CREATE SEQUENCE down START WITH -5 INCREMENT BY -1 NOCACHE;
CREATE SEQUENCE `s ``2`;
CREATE TABLE asks (id BIGINT DEFAULT NEXTVAL(s) PRIMARY KEY, u UUID, i INET6, c TEXT COMPRESSED, r DATE, KEY (r) IGNORED) ENGINE=InnoDB;
INSERT INTO asks VALUES (1, '123e4567-e89b-12d3-a456-426614174000', '2001:db8::1', REPEAT('x', 1000), NULL);
CREATE TABLE versioned (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING;
INSERT INTO versioned VALUES (1, 1), (2, 2); UPDATE versioned SET v = 3 WHERE id = 1; DELETE FROM versioned WHERE id = 2;
CREATE TABLE versioned_by_hand (id INT PRIMARY KEY, a TIMESTAMP(6) GENERATED ALWAYS AS ROW START INVISIBLE, b TIMESTAMP(6) GENERATED ALWAYS AS ROW END INVISIBLE,
  PERIOD FOR SYSTEM_TIME (a, b)) WITH SYSTEM VERSIONING;
INSERT INTO versioned_by_hand (id) VALUES (1);
CREATE TABLE aria_one (id INT PRIMARY KEY, p DATE, q DATE, PERIOD FOR valid (p, q)) ENGINE=Aria TRANSACTIONAL=0 PAGE_CHECKSUM=1;
INSERT INTO aria_one VALUES (1, '2020-01-01', '2021-01-01');
SET check_constraint_checks = 0; INSERT INTO made (id, a) VALUES (100, -1); SET check_constraint_checks = 1;
CREATE TABLE as_csv (a INT NOT NULL, b VARCHAR(20) NOT NULL) ENGINE=CSV; INSERT INTO as_csv VALUES (1, 'it''s "x"');
SET sql_mode = 'ORACLE';
CREATE PACKAGE pack AS FUNCTION f RETURN INT; PROCEDURE p; END;
CREATE PACKAGE BODY pack AS FUNCTION f RETURN INT AS BEGIN RETURN 1; /* c */ END; PROCEDURE p AS BEGIN NULL; END; END;
SET sql_mode = '';
"#;

/// Further statements for MySQL.
const MYSQL: &str = r#"
CREATE TABLE vectors (id INT PRIMARY KEY, v VECTOR(3)); INSERT INTO vectors VALUES (1, STRING_TO_VECTOR('[1,-2.5,3e10]')), (2, NULL);
CREATE TABLE indexed (id INT PRIMARY KEY, a INT, j JSON, n VARCHAR(20), KEY f ((a * 2)), KEY d (a DESC), KEY i (n) INVISIBLE,
  KEY m ((CAST(j->'$.tags' AS UNSIGNED ARRAY))), CONSTRAINT loose CHECK (a > 0) NOT ENFORCED);
INSERT INTO indexed VALUES (1, -1, '{"tags": [1, 2]}', 'x');
CREATE TABLE earth (id INT PRIMARY KEY, g POINT NOT NULL SRID 4326, SPATIAL KEY (g)); INSERT INTO earth VALUES (1, ST_GeomFromText('POINT(48.1 11.5)', 4326));
CREATE TABLE exact (id INT PRIMARY KEY, j JSON); INSERT INTO exact VALUES (1, '{"d": 1.0, "u": 18446744073709551615, "e": 1e-300}');
SET sql_generate_invisible_primary_key = 1; CREATE TABLE keyless (a INT); INSERT INTO keyless VALUES (5), (6); DELETE FROM keyless WHERE a = 5; SET sql_generate_invisible_primary_key = 0;
SET sql_mode = '';
"#;

/// Makes it anew under that name.
pub(crate) fn make(db: &Database, name: &str) {
    db.exec(&format!("DROP DATABASE IF EXISTS `{name}`"));
    let mut conn = db.conn();
    let mut run = |sql: &str| {
        let mut results = conn
            .query_iter(sql)
            .unwrap_or_else(|e| panic!("{e}: {sql:.300}"));
        while let Some(set) = results.iter() {
            set.collect::<mysql::Result<Vec<_>>>()
                .unwrap_or_else(|e| panic!("{e}: {sql:.300}"));
        }
    };
    run("SET NAMES utf8mb4; SET time_zone = '+00:00', foreign_key_checks = 0");
    run(&format!("CREATE DATABASE `{name}` {OPTIONS}; USE `{name}`"));
    run("SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES'");
    run(COMMON);
    match db.kind() {
        Kind::MariaDb => {
            run(MARIADB);
            if db.version() >= (11, 7, 0) {
                run(
                    "CREATE TABLE vectors (id INT PRIMARY KEY, v VECTOR(3) NOT NULL, VECTOR INDEX (v)); INSERT INTO vectors VALUES (1, VEC_FromText('[1,-2.5,3e10]'))",
                );
            }
            run("DO NEXTVAL(s), NEXTVAL(s), NEXTVAL(used_up), NEXTVAL(used_up), NEXTVAL(down)");
        }
        Kind::MySql => run(MYSQL),
    }
    // Objects of a client with another character set, a trigger on the database's name, and texts with CR LF.
    run("SET NAMES latin1");
    run("CREATE VIEW from_latin1 AS SELECT 1 AS x");
    run("CREATE PROCEDURE from_latin1() SELECT 1");
    run(&format!(
        "CREATE TRIGGER `{name}`.first BEFORE INSERT ON `{name}`.`made` FOR EACH ROW SET NEW.hidden = NEW.hidden + 1"
    ));
    run("SET NAMES utf8mb4; SET sql_mode = 'STRICT_ALL_TABLES', time_zone = '+05:30'");
    run(
        "CREATE TRIGGER z_second BEFORE INSERT ON made FOR EACH ROW FOLLOWS first BEGIN -- comment; 'ü\n INSERT INTO log VALUES ('$$ fired'); END",
    );
    run(
        "CREATE TRIGGER a_third BEFORE INSERT ON made FOR EACH ROW FOLLOWS z_second SET NEW.word = 'no'",
    );
    run(
        "CREATE TRIGGER `t ``x` AFTER DELETE ON `na``me 'with' \"all\" \\ ☃; -- x` FOR EACH ROW INSERT INTO log VALUES ('x')",
    );
    run(
        "CREATE EVENT `e ``1` ON SCHEDULE EVERY 1 DAY STARTS '2030-01-01 00:00:00' ENDS '2036-01-01 00:00:00' ON COMPLETION PRESERVE COMMENT 'it''s; one' DO BEGIN /* c */ INSERT INTO log VALUES ('e;'); END",
    );
    run("CREATE EVENT e2 ON SCHEDULE AT '2037-05-05 05:05:05' DISABLE DO SET @a = 'ü'");
    run("SET time_zone = '+00:00'");
    if db.kind() == Kind::MariaDb {
        run("CREATE PROCEDURE crlf() BEGIN\r\n  SELECT 1;\r\nEND");
        run("SET NAMES latin1; CREATE PROCEDURE from_latin1_too() SELECT 'é'");
    }
    run("SET NAMES latin1; CREATE VIEW from_latin1_too AS SELECT 'é' AS x");
    // A routine of a time when the database had another collation.
    run("SET NAMES utf8mb4; ALTER DATABASE CHARACTER SET latin1 COLLATE latin1_german1_ci");
    run("CREATE PROCEDURE of_old(a VARCHAR(10)) SELECT a");
    run(&format!("ALTER DATABASE {OPTIONS}"));
}

/// The database's own character set.
pub(crate) const OPTIONS: &str = "CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci";
