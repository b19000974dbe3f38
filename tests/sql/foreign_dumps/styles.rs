//! Scripts in the manner of the tools that people export with, hand-written.

use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use support::database::{Database, Kind};
use support::postern::Postern;

use super::{
    AS_BYTES, AS_IT_IS, console, difference, empty, failed, in_pieces, numbers, state, whole,
};

/// The database that every script fills.
const NAME: &str = "foreign_styles";

/// Held by the test that uses it.
static TURN: Mutex<()> = Mutex::new(());

/// A tool and a text of its, in UTF-8.
type Style = (&'static str, &'static str);

/// Styles that every server takes.
const STYLES: &[Style] = &[
    (
        "phpMyAdmin",
        r#"-- phpMyAdmin SQL Dump
-- version 5.2.1
-- https://www.phpmyadmin.net/
--
-- Host: localhost:3306

SET SQL_MODE = "NO_AUTO_VALUE_ON_ZERO";
START TRANSACTION;
SET time_zone = "+00:00";


/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */;
/*!40101 SET @OLD_CHARACTER_SET_RESULTS=@@CHARACTER_SET_RESULTS */;
/*!40101 SET @OLD_COLLATION_CONNECTION=@@COLLATION_CONNECTION */;
/*!40101 SET NAMES utf8mb4 */;

DELIMITER $$
--
-- Procedures
--
CREATE DEFINER=`root`@`localhost` PROCEDURE `add_one` (IN `n` INT)   BEGIN
  INSERT INTO `users` (`name`) VALUES (CONCAT('$', n));
END$$

--
-- Functions
--
CREATE DEFINER=`root`@`localhost` FUNCTION `one` () RETURNS INT(11) DETERMINISTIC RETURN 1$$

DELIMITER ;

-- --------------------------------------------------------

--
-- Table structure for table `users`
--

CREATE TABLE `users` (
  `id` int(10) UNSIGNED NOT NULL,
  `name` varchar(190) NOT NULL,
  `b` blob DEFAULT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

INSERT INTO `users` (`id`, `name`, `b`) VALUES
(0, 'Zoë; "x" \'y\' \\', 0x00ff),
(2, 'two\r\nlines', '');

--
-- Triggers `users`
--
DELIMITER $$
CREATE TRIGGER `users_bi` BEFORE INSERT ON `users` FOR EACH ROW BEGIN
  SET NEW.name = TRIM(NEW.name);
END
$$
DELIMITER ;

ALTER TABLE `users`
  ADD PRIMARY KEY (`id`);
ALTER TABLE `users`
  MODIFY `id` int(10) UNSIGNED NOT NULL AUTO_INCREMENT, AUTO_INCREMENT=3;
COMMIT;

/*!40101 SET CHARACTER_SET_CLIENT=@OLD_CHARACTER_SET_CLIENT */;
/*!40101 SET CHARACTER_SET_RESULTS=@OLD_CHARACTER_SET_RESULTS */;
/*!40101 SET COLLATION_CONNECTION=@OLD_COLLATION_CONNECTION */;
"#,
    ),
    (
        "HeidiSQL",
        r#"-- --------------------------------------------------------
-- Host:                         127.0.0.1
-- HeidiSQL Version:             12.6.0.6765
-- --------------------------------------------------------

/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */;
/*!40101 SET NAMES utf8 */;
/*!50503 SET NAMES utf8mb4 */;
/*!40103 SET @OLD_TIME_ZONE=@@TIME_ZONE */;
/*!40103 SET TIME_ZONE='+00:00' */;
/*!40014 SET @OLD_FOREIGN_KEY_CHECKS=@@FOREIGN_KEY_CHECKS, FOREIGN_KEY_CHECKS=0 */;
/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */;
/*!40111 SET @OLD_SQL_NOTES=@@SQL_NOTES, SQL_NOTES=0 */;

CREATE TABLE IF NOT EXISTS `t` (
  `id` int(11) NOT NULL AUTO_INCREMENT COMMENT 'key; -- of all',
  `v` varchar(50) DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB AUTO_INCREMENT=5 DEFAULT CHARSET=utf8mb4;

/*!40000 ALTER TABLE `t` DISABLE KEYS */;
INSERT INTO `t` (`id`, `v`) VALUES
	(0, 'a'),
	(4, _binary 0x62);
/*!40000 ALTER TABLE `t` ENABLE KEYS */;

DELIMITER //
CREATE PROCEDURE `p`(
	IN `a` INT
)
BEGIN
	-- // in a comment
	SELECT a; # ';'
END//
DELIMITER ;

SET @OLDTMP_SQL_MODE=@@SQL_MODE, SQL_MODE='STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION';
DELIMITER //
CREATE TRIGGER `t_bi` BEFORE INSERT ON `t` FOR EACH ROW BEGIN
	SET NEW.v = CONCAT(NEW.v, ';');
END//
DELIMITER ;
SET SQL_MODE=@OLDTMP_SQL_MODE;

/*!40103 SET TIME_ZONE=IFNULL(@OLD_TIME_ZONE, 'system') */;
/*!40101 SET SQL_MODE=IFNULL(@OLD_SQL_MODE, '') */;
/*!40014 SET FOREIGN_KEY_CHECKS=IFNULL(@OLD_FOREIGN_KEY_CHECKS, 1) */;
/*!40101 SET CHARACTER_SET_CLIENT=@OLD_CHARACTER_SET_CLIENT */;
/*!40111 SET SQL_NOTES=IFNULL(@OLD_SQL_NOTES, 1) */;
"#,
    ),
    (
        "DBeaver",
        "-- foreign_styles.t definition\n\nCREATE TABLE `t` (\n  `id` int NOT NULL,\n  `v` text\n);\n\n\
         INSERT INTO foreign_styles.t (id,v) VALUES\n\t (1,'it''s;'),\n\t (2,NULL);\n\n\
         DROP PROCEDURE IF EXISTS foreign_styles.p;\n\nDELIMITER $$\n$$\nCREATE PROCEDURE foreign_styles.p()\nBEGIN\n\tSELECT '$';\n\tSELECT 2;\nEND$$\nDELIMITER ;\n",
    ),
    (
        "Navicat",
        "/*\n Navicat Premium Data Transfer; it's\n\n Source Server : local\n*/\n\nSET NAMES utf8mb4;\nSET FOREIGN_KEY_CHECKS = 0;\n\n\
         -- ----------------------------\n-- Table structure for t\n-- ----------------------------\nDROP TABLE IF EXISTS `t`;\n\
         CREATE TABLE `t`  (\n  `id` int NOT NULL,\n  `v` longtext CHARACTER SET utf8mb4 NULL,\n  PRIMARY KEY (`id`) USING BTREE\n) ENGINE = InnoDB CHARACTER SET = utf8mb4 ROW_FORMAT = Dynamic;\n\n\
         INSERT INTO `t` VALUES (1, 'a\\nb;');\n\n-- ----------------------------\n-- Procedure structure for p\n-- ----------------------------\n\
         DROP PROCEDURE IF EXISTS `p`;\ndelimiter ;;\nCREATE PROCEDURE `p`()\nBEGIN\n  SELECT 1;\n  SELECT 2;\nEND\n;;\ndelimiter ;\n\nSET FOREIGN_KEY_CHECKS = 1;\n",
    ),
    (
        "Sequel Ace",
        r#"# ************************************************************
# Sequel Ace SQL dump
# Version 20062 it's "quoted" `here`
# ************************************************************


/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */;
SET NAMES utf8mb4;
/*!40014 SET @OLD_FOREIGN_KEY_CHECKS=@@FOREIGN_KEY_CHECKS, FOREIGN_KEY_CHECKS=0 */;
/*!40101 SET @OLD_SQL_MODE='NO_AUTO_VALUE_ON_ZERO', SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */;

DROP TABLE IF EXISTS `t`;

CREATE TABLE `t` (
  `id` int NOT NULL,
  `b` blob
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

LOCK TABLES `t` WRITE;
/*!40000 ALTER TABLE `t` DISABLE KEYS */;

INSERT INTO `t` (`id`, `b`)
VALUES
	(0,X'00FF5C27'),
	(2,NULL);

/*!40000 ALTER TABLE `t` ENABLE KEYS */;
UNLOCK TABLES;

DELIMITER ;;
/*!50003 SET SESSION SQL_MODE="STRICT_TRANS_TABLES" */;;
/*!50003 CREATE */ /*!50017 DEFINER=`root`@`localhost` */ /*!50003 TRIGGER `tr` BEFORE INSERT ON `t` FOR EACH ROW BEGIN
  SET NEW.id = NEW.id + 1; /* ;; */
  SET @x = ';;';
END */;;
DELIMITER ;
/*!50003 SET SESSION SQL_MODE=@OLD_SQL_MODE */;

--
-- Dumping routines (PROCEDURE) for database 'x'
--
DELIMITER ;;

# Dump of PROCEDURE p
# ------------------------------------------------------------

/*!50003 DROP PROCEDURE IF EXISTS `p` */;;
/*!50003 SET SESSION SQL_MODE=""*/;;
/*!50003 CREATE*/ /*!50020 DEFINER=`root`@`localhost`*/ /*!50003 PROCEDURE `p`()
BEGIN SELECT 1; SELECT 2; END */;;

/*!50003 SET SESSION SQL_MODE=@OLD_SQL_MODE */;;
DELIMITER ;
/*!40101 SET CHARACTER_SET_CLIENT=@OLD_CHARACTER_SET_CLIENT */;
"#,
    ),
    (
        "Adminer",
        "-- Adminer 4.8.1 MySQL dump\n\nSET NAMES utf8;\nSET time_zone = '+00:00';\nSET foreign_key_checks = 0;\nSET sql_mode = 'NO_AUTO_VALUE_ON_ZERO';\n\n\
         DELIMITER ;;\n\nDROP FUNCTION IF EXISTS `f`;;\nCREATE FUNCTION `f`() RETURNS int DETERMINISTIC\nBEGIN\nRETURN 1;\nEND;;\n\n\
         DROP EVENT IF EXISTS `e`;;\nCREATE EVENT `e` ON SCHEDULE EVERY 1 DAY STARTS '2036-01-01 00:00:00' ON COMPLETION NOT PRESERVE ENABLE DO BEGIN SET @a = 1; SET @b = 2; END;;\n\nDELIMITER ;\n\n\
         SET NAMES utf8mb4;\n\nDROP TABLE IF EXISTS `t`;\nCREATE TABLE `t` (`id` int, `v` text) ENGINE=InnoDB;\nINSERT INTO `t` (`id`, `v`) VALUES\n(0,\t'🐴'),\n(1,\tNULL);\n\n-- 2024-01-01 00:00:00\n",
    ),
    (
        "Workbench",
        "-- MySQL Workbench Forward Engineering\n\nSET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0;\nSET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES';\n\n\
         CREATE SCHEMA IF NOT EXISTS `foreign_styles` DEFAULT CHARACTER SET utf8 ;\nUSE `foreign_styles` ;\n\nCREATE TABLE IF NOT EXISTS `foreign_styles`.`t` (\n  `id` INT NOT NULL,\n  PRIMARY KEY (`id`))\nENGINE = InnoDB;\n\n\
         USE `foreign_styles` ;\nCREATE  OR REPLACE VIEW `v` AS SELECT 1 AS x;\n\nUSE `foreign_styles`;\n\nDELIMITER $$\n\nUSE `foreign_styles`$$\nCREATE TRIGGER `tr` AFTER INSERT ON `t` FOR EACH ROW\n\
         BEGIN\n SET @a = 1;\n SET @b = 2;\nEND$$\n\n\nDELIMITER ;\n\nSET SQL_MODE=@OLD_SQL_MODE;\n",
    ),
    (
        "mysqlbinlog",
        "/*!50530 SET @@SESSION.PSEUDO_SLAVE_MODE=0*/;\n/*!50003 SET @OLD_COMPLETION_TYPE=@@COMPLETION_TYPE,COMPLETION_TYPE=0*/;\nDELIMITER /*!*/;\n# at 4\n#240101  0:00:00 server id 1  end_log_pos 256 it's\n\
         use `foreign_styles`/*!*/;\nSET TIMESTAMP=1700000000/*!*/;\nCREATE TABLE t (id INT, at TIMESTAMP DEFAULT CURRENT_TIMESTAMP)\n/*!*/;\nBEGIN\n/*!*/;\n# at 400\n\
         insert into t (id) values (1)\n/*!*/;\nCOMMIT/*!*/;\nCREATE PROCEDURE p()\nBEGIN SELECT 1; SELECT 2; END\n/*!*/;\nDELIMITER ;\n# End of log file\n/*!50003 SET COMPLETION_TYPE=@OLD_COMPLETION_TYPE*/;\n",
    ),
    (
        "pt-table-sync",
        "CREATE TABLE t (id INT PRIMARY KEY, v TEXT);\nREPLACE INTO `foreign_styles`.`t`(`id`, `v`) VALUES ('1', 'a;b') /*percona-toolkit src_db:x src_tbl:t src_dsn:h=a;P=1 lock:1 transaction:1*/;\n\
         DELETE FROM `foreign_styles`.`t` WHERE `id`='2' LIMIT 1 /*percona-toolkit it's*/;\n",
    ),
    (
        "pt-show-grants",
        "-- Grants dumped by pt-show-grants\n-- Dumped from server Localhost via UNIX socket, it's\n-- Grants for 'foreign'@'%'\nCREATE USER IF NOT EXISTS 'foreign'@'%';\nGRANT USAGE ON *.* TO `foreign`@`%`;\nDROP USER 'foreign'@'%';\n",
    ),
    (
        "Django",
        "--\n-- Create model Question\n--\nCREATE TABLE `polls_question` (`id` bigint AUTO_INCREMENT NOT NULL PRIMARY KEY, `text` varchar(200) NOT NULL, `at` datetime(6) NOT NULL);\n\
         CREATE TABLE `polls_choice` (`id` bigint AUTO_INCREMENT NOT NULL PRIMARY KEY, `question_id` bigint NOT NULL);\n--\n-- Raw Python operation\n--\n-- THIS OPERATION CANNOT BE WRITTEN AS SQL\n\
         ALTER TABLE `polls_choice` ADD CONSTRAINT `polls_choice_question_id_c5b4b260_fk` FOREIGN KEY (`question_id`) REFERENCES `polls_question` (`id`);\n",
    ),
    (
        "Rails",
        "/*!40101 SET @saved_cs_client     = @@character_set_client */;\n/*!50503 SET character_set_client = utf8mb4 */;\nCREATE TABLE `schema_migrations` (\n  `version` varchar(255) NOT NULL,\n  PRIMARY KEY (`version`)\n);\n\
         /*!40101 SET character_set_client = @saved_cs_client */;\nINSERT INTO `schema_migrations` (version) VALUES\n('20240102000000'),\n('20240101000000');\n\n\n",
    ),
    (
        "WordPress",
        r#"# WordPress MySQL database backup
#
# Generated: Monday 1. January 2024 00:00 UTC; it's
# --------------------------------------------------------
/*!40101 SET NAMES utf8 */;
/*!40101 SET SQL_MODE='ALLOW_INVALID_DATES' */;

# Delete any existing table `wp_options`

DROP TABLE IF EXISTS `wp_options` ;

#
# Table structure of table `wp_options`
#

CREATE TABLE `wp_options` (
  `option_id` bigint(20) unsigned NOT NULL auto_increment,
  `option_name` varchar(64) NOT NULL default '',
  `option_value` longtext NOT NULL,
  `at` datetime NOT NULL default '0000-00-00 00:00:00',
  PRIMARY KEY  (`option_id`)
) DEFAULT CHARSET=utf8 ;
 
INSERT INTO `wp_options` VALUES ('1', 'a', 'a:1:{s:3:\"x\\\";\";s:1:\";\";}', '0000-00-00 00:00:00') ; 
INSERT INTO `wp_options` VALUES (2, 'html', '<!-- wp:paragraph -->\n<p>it\'s; -- /* # \\</p>', '2024-02-31 00:00:00') ;
INSERT INTO `wp_options` VALUES (3, 'last', '\\', '2024-01-01 00:00:00');

#
# End of data contents of table `wp_options`
# --------------------------------------------------------
"#,
    ),
    (
        "Drupal",
        "-- Backup and Migrate (Drupal) MySQL Dump\n/*!40101 SET NAMES utf8 */;\n\nDROP TABLE IF EXISTS `cache`;\n/*!40101 SET @saved_cs_client = @@character_set_client */;\n/*!40101 SET character_set_client = utf8 */;\n\
         CREATE TABLE `cache` (`cid` varchar(255) NOT NULL DEFAULT '' COMMENT 'Primary Key: Unique cache ID.', `data` longblob, PRIMARY KEY (`cid`)) CHARSET=utf8;\n/*!40000 ALTER TABLE cache DISABLE KEYS */;\n\
         INSERT INTO `cache` VALUES('a;',0x613a303a7b7d),('b',NULL);\n/*!40000 ALTER TABLE cache ENABLE KEYS */;\n/*!40101 SET character_set_client = @saved_cs_client */;\n",
    ),
    (
        "Joomla",
        "--\n-- Table structure for table `#__users`\n--\n\nCREATE TABLE IF NOT EXISTS `#__users` (\n  `id` int NOT NULL AUTO_INCREMENT, -- key; of users\n  `params` text NOT NULL, # it's\n  PRIMARY KEY (`id`)\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;\n\
         INSERT INTO `#__users` (`params`) VALUES('{\"a\":\"b\\\\/c;\"}'), ('\\'');\n",
    ),
    (
        "sakila",
        r#"-- Sakila Sample Database Schema
SET NAMES utf8mb4;
SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0;
SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='TRADITIONAL';

DROP SCHEMA IF EXISTS foreign_styles;
CREATE SCHEMA foreign_styles CHARACTER SET utf8mb4;
USE foreign_styles;

CREATE TABLE film (
  film_id SMALLINT UNSIGNED NOT NULL AUTO_INCREMENT,
  title VARCHAR(128) NOT NULL,
  rating ENUM('G','PG','PG-13') DEFAULT 'G',
  location /*!50705 GEOMETRY */ /*!50705 NOT NULL */,
  PRIMARY KEY  (film_id)
)ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE film_text (film_id SMALLINT NOT NULL, title VARCHAR(255) NOT NULL, PRIMARY KEY (film_id));

--
-- Triggers for loading film_text from film
--

DELIMITER ;;
CREATE TRIGGER `ins_film` AFTER INSERT ON `film` FOR EACH ROW BEGIN
    INSERT INTO film_text (film_id, title)
        VALUES (new.film_id, new.title);
  END;;


CREATE TRIGGER `upd_film` AFTER UPDATE ON `film` FOR EACH ROW BEGIN
    IF (old.title != new.title) OR (old.film_id != new.film_id)
    THEN
        UPDATE film_text
            SET title=new.title,
                film_id=new.film_id
        WHERE film_id=old.film_id;
    END IF;
  END;;
DELIMITER ;

INSERT INTO film VALUES (1,'ACADEMY DINOSAUR',1 /*!50705 ,0x0000000001010000003E0A325D63345CC0761FDB8D99D94840 */);

DELIMITER //

CREATE FUNCTION inventory_held_by_customer(p_inventory_id INT) RETURNS INT
READS SQL DATA
BEGIN
  DECLARE v_customer_id INT;
  DECLARE EXIT HANDLER FOR NOT FOUND RETURN NULL;

  SELECT film_id INTO v_customer_id
  FROM film
  WHERE film_id = p_inventory_id;

  RETURN v_customer_id;
END //

DELIMITER ;

DELIMITER $$
CREATE PROCEDURE film_in_stock(IN p_film_id INT, OUT p_film_count INT)
READS SQL DATA
proc: BEGIN
     IF p_film_id = 0 THEN
        SELECT 'it''s; zero';
        LEAVE proc;
     END IF;
     SELECT COUNT(*) FROM film INTO p_film_count;
END $$

DELIMITER ;
SET SQL_MODE=@OLD_SQL_MODE;
"#,
    ),
    (
        "comments",
        "SELECT 1 /* ; */; INSERT -- ;\n INTO /*+ NO_SUCH_HINT(x) ; */ nowhere VALUES (1); # ;\nCREATE TABLE t (id INT) /* it's */; /**/ INSERT INTO t VALUES (1);/*;*/INSERT INTO t VALUES (2) ;; ;\n\
         /*!99999 INSERT INTO t VALUES (3) */; /*!40101 INSERT INTO t VALUES (4); */; INSERT INTO t VALUES (5--1); INSERT INTO t VALUES (7) -- no end",
    ),
    (
        "delimiters",
        "CREATE TABLE t (id INT);\nDELIMITER ||\nINSERT INTO t VALUES (1)||\nINSERT INTO t VALUES (2) || INSERT INTO t VALUES (3)||\ndelimiter go\nINSERT INTO t VALUES (4)\ngo\nINSERT INTO t VALUES (5) go\n\
         DELIMITER // -- a comment\nCREATE PROCEDURE p() BEGIN SELECT '//'; /* // */ SELECT `a//b` FROM t; END//\n  DELIMITER ;\nINSERT INTO t VALUES (6);\nINSERT INTO t VALUES (8);\n",
    ),
    (
        "sql modes",
        "CREATE TABLE t (v TEXT);\nINSERT INTO t VALUES ('a\\'; b');\nSET sql_mode = 'NO_BACKSLASH_ESCAPES';\nINSERT INTO t VALUES ('c\\');\nINSERT INTO t VALUES ('d\\');\nSET sql_mode = 'ANSI_QUOTES';\n\
         INSERT INTO \"t\" VALUES ('\"');\nINSERT INTO t VALUES ('e\\'; f');\nSET sql_mode = '';\nINSERT INTO t VALUES (\"g\\\"; h\");\n",
    ),
    (
        "a long head",
        "/*M!999999\\- enable the sandbox mode */ \n-- MariaDB dump 10.19\n\n/*!40101 SET NAMES utf8mb4 */;\n/*M!100616 SET @OLD_NOTE_VERBOSITY=@@NOTE_VERBOSITY, NOTE_VERBOSITY=0 */;\nCREATE TABLE t (id INT);\nINSERT INTO t VALUES (1);\nDELIMITER ;;\n\
         CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; END ;;\nDELIMITER ;\n/*M!100616 SET NOTE_VERBOSITY=@OLD_NOTE_VERBOSITY */;\n",
    ),
    (
        "one that fails",
        "CREATE TABLE t (id INT PRIMARY KEY);\nINSERT INTO t VALUES (1);\nINSERT INTO t VALUES (1);\nSELECT ?;\nINSERT INTO t VALUES (2);\nSELEC 1;\nINSERT INTO nowhere VALUES (1);\nSELECT [1];\nINSERT INTO t VALUES (3);\nSELECT {1};\nINSERT INTO t VALUES (4)",
    ),
];

/// Runs a file each way; adds to `wrong` where it is not as `expected`, a state and errors.
fn compare(
    db: &Database,
    postern: &Postern,
    style: &str,
    file: &[u8],
    expected: &(Vec<String>, Vec<u64>),
    wrong: &mut Vec<String>,
) {
    let ways: [(&str, &dyn Fn() -> Vec<Value>); 2] = [
        ("one request", &|| whole(postern, NAME, file)),
        ("pieces", &|| in_pieces(postern, NAME, file, 100)),
    ];
    for (way, run) in ways {
        empty(db, NAME);
        let told = run();
        let failed = failed(&told);
        if numbers(&failed) != expected.1 {
            wrong.push(format!(
                "{style}, {way}: {failed:.700?}; the console: {:?}",
                expected.1
            ));
        }
        let is = state(db, NAME)
            .into_iter()
            .map(|line| line.replace('\r', ""));
        if let Some(difference) = difference(&expected.0, &is.collect::<Vec<_>>()) {
            wrong.push(format!("{style}, {way}: {difference}"));
        }
    }
}

/// The console's state and errors of a file.
fn by_console(db: &Database, file: &[u8], options: &[&str]) -> (Vec<String>, Vec<u64>) {
    empty(db, NAME);
    let failed = console(db, NAME, file, options);
    let failed = failed.into_iter().map(|one| one.0).collect();
    (state(db, NAME), failed)
}

#[test]
fn what_other_tools_write_runs_as_in_the_console() {
    let db = Database::shared();
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let postern = Postern::on(db, &[]);
    let mut wrong = Vec::new();
    for &(style, text) in STYLES {
        if style == "a long head" && db.kind() == Kind::MySql {
            continue; // MariaDB's alone
        }
        let expected = by_console(db, text.as_bytes(), AS_IT_IS);
        assert!(
            style == "pt-show-grants" || expected.0.len() > 2,
            "{style} makes something"
        );
        compare(db, &postern, style, text.as_bytes(), &expected, &mut wrong);
        // An editor of Windows has saved it.
        let windows = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        let style = format!("{style} on Windows");
        compare(
            db,
            &postern,
            &style,
            windows.as_bytes(),
            &expected,
            &mut wrong,
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Bytes that are no UTF-8: the session's character set says what they are.
#[test]
fn a_script_is_bytes() {
    let db = Database::shared();
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let postern = Postern::on(db, AS_BYTES);
    let mut wrong = Vec::new();
    const RAW: &[(&str, &[u8])] = &[
        ("Windows-1252", b"SET NAMES latin1;\nCREATE TABLE t (v VARCHAR(20) CHARACTER SET utf8mb4 DEFAULT 'Stra\xdfe');\n-- M\xfcnchen; it's\nINSERT INTO t VALUES ('\x80 5;'), (DEFAULT);\nCREATE PROCEDURE p() SELECT '\xe9';\n"),
        ("mydumper", b"/*!40101 SET NAMES binary*/;\n/*!40014 SET FOREIGN_KEY_CHECKS=0*/;\n/*!40103 SET TIME_ZONE='+00:00' */;\nCREATE TABLE `t` (`id` int, b BLOB, v VARCHAR(9) CHARACTER SET latin1);\nINSERT INTO `t` VALUES(1,\"\xff\xfe\\0\\\"'\x1a\x80;\",\"\xe9\")\n,(2,NULL,NULL);\n"),
        ("raw bytes", b"CREATE TABLE t (b BLOB);\nINSERT INTO t VALUES (_binary '\xc3\x28\xff\\'\xf0\x9f');\nINSERT INTO t VALUES ('\xe2\x82');\nINSERT INTO t VALUES (_binary '\x01\x7f\x85\xa0');\n"),
    ];
    for &(style, file) in RAW {
        let expected = by_console(db, file, AS_IT_IS);
        compare(db, &postern, style, file, &expected, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// PowerShell's `>` writes UTF-16, and dumps come compressed: the console reads neither, and what they hold is run.
#[test]
fn a_script_may_be_utf_16_or_compressed() {
    let db = Database::shared();
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let text = "SET NAMES utf8mb4;\nCREATE TABLE t (v TEXT);\nINSERT INTO t VALUES ('Žluť 🐴; \\'');\nDELIMITER //\nCREATE PROCEDURE p() BEGIN SELECT 'ž'; SELECT 2; END//\nDELIMITER ;\n";
    let expected = by_console(db, text.as_bytes(), AS_IT_IS);
    let units = || format!("\u{feff}{text}").encode_utf16().collect::<Vec<_>>();
    let little: Vec<u8> = units().into_iter().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = units().into_iter().flat_map(u16::to_be_bytes).collect();
    let postern = Postern::on(db, &[]);
    for (style, file) in [("UTF-16 LE", little), ("UTF-16 BE", big)] {
        empty(db, NAME);
        let told = whole(&postern, NAME, &file);
        assert_eq!(numbers(&failed(&told)), expected.1, "{style}: {told:?}");
        assert_eq!(difference(&expected.0, &state(db, NAME)), None, "{style}");
    }
}

/// Commands of the console are told, and the rest of the script runs.
#[test]
fn commands_of_the_console_are_told_and_the_script_goes_on() {
    let db = Database::shared();
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let text = "CREATE TABLE t (id INT);\nINSERT INTO t VALUES (1);\nsource no_such_file.sql\nINSERT INTO t VALUES (2);\n\\. no_such_file.sql\nINSERT INTO t VALUES (3);\n\
                SELECT 1 AS one\\G\nINSERT INTO t VALUES (4)\\g\nINSERT INTO t VALUES (5);\n";
    let (expected, _) = by_console(db, text.as_bytes(), &[]);
    let postern = Postern::on(db, &[]);
    empty(db, NAME);
    let told = whole(&postern, NAME, text.as_bytes());
    assert_eq!(told.last().unwrap()["end"], true);
    let has = expected
        .iter()
        .filter(|line| line.starts_with("`t`"))
        .count();
    assert_eq!(has, 5, "the console runs all of them");
    assert_eq!(difference(&expected, &state(db, NAME)), None);
}

#[test]
fn dashes_at_the_beginning_of_a_statement_are_a_comment() {
    let db = Database::shared();
    if db.kind() == Kind::MySql {
        return; // its console sends them; no statement begins so
    }
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let postern = Postern::on(db, &[]);
    let text = "--liquibase formatted sql; it's\n--changeset bob:1\nCREATE TABLE t (id INT);\n--rollback DROP TABLE t;\n----------\nINSERT INTO t VALUES (1);\n--comment: ;\n";
    let expected = by_console(db, text.as_bytes(), &["--skip-comments"]);
    let mut wrong = Vec::new();
    compare(
        db,
        &postern,
        "liquibase",
        text.as_bytes(),
        &expected,
        &mut wrong,
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
