-- A small shop, which the statements ask about.
CREATE DATABASE everyday CHARACTER SET utf8mb4;
USE everyday;

CREATE TABLE categories (
  id INT PRIMARY KEY,
  parent_id INT NULL,
  name VARCHAR(40) NOT NULL COMMENT 'shown in the menu',
  CONSTRAINT categories_parent FOREIGN KEY (parent_id) REFERENCES categories (id)
);
INSERT INTO categories VALUES (1, NULL, 'All'), (2, 1, 'Kitchen'), (3, 1, 'Garden'), (4, 2, 'Knives'), (5, 2, 'Pots'), (6, 3, 'Tools');

CREATE TABLE customers (
  id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
  name VARCHAR(60) NOT NULL,
  email VARCHAR(120) NOT NULL,
  country CHAR(2) NOT NULL DEFAULT 'DE',
  born DATE NULL,
  vip BOOLEAN NOT NULL DEFAULT FALSE,
  credit DECIMAL(10,2) NOT NULL DEFAULT 0.00,
  tags JSON NULL,
  notes TEXT NULL,
  created_at TIMESTAMP NOT NULL DEFAULT '2024-01-01 00:00:00',
  UNIQUE KEY customers_email (email),
  KEY customers_country_name (country, name),
  KEY customers_country (country),
  CONSTRAINT credit_is_not_negative CHECK (credit >= 0)
) COMMENT 'who buys';
INSERT INTO customers (id, name, email, country, born, vip, credit, tags, notes, created_at) VALUES
  (1, 'Ada Young', 'ada@example.com', 'GB', '1985-12-10', TRUE, 120.50, '["early", "paper"]', 'likes paper invoices', '2024-01-15 09:30:00'),
  (2, 'Björn Ek', 'bjorn@example.se', 'SE', '1990-02-28', FALSE, 0, '[]', NULL, '2024-02-29 12:00:00'),
  (3, 'Chloé Roux', 'chloe@example.fr', 'FR', NULL, FALSE, 15.25, NULL, 'moved; new address', '2024-03-31 23:59:59'),
  (4, 'Dirk Sommer', 'dirk@example.de', 'DE', '1979-07-01', TRUE, 999.99, '["late"]', 'calls often', '2024-05-01 00:00:01'),
  (5, 'Eun-ji 김', 'eunji@example.kr', 'KR', '2001-11-11', FALSE, 7.00, '["early", 42]', '', '2024-06-15 18:45:30');

CREATE TABLE products (
  id INT PRIMARY KEY,
  sku VARCHAR(20) NOT NULL UNIQUE,
  name VARCHAR(80) NOT NULL,
  category_id INT NOT NULL,
  price DECIMAL(9,2) NOT NULL,
  weight DOUBLE NULL,
  stock INT NOT NULL DEFAULT 0,
  attributes JSON NULL,
  description TEXT,
  colours SET('red','green','blue') NULL,
  gross DECIMAL(9,2) GENERATED ALWAYS AS (price * 1.19) VIRTUAL,
  KEY products_category (category_id, price),
  FULLTEXT KEY products_text (name, description),
  CONSTRAINT products_in_category FOREIGN KEY (category_id) REFERENCES categories (id) ON UPDATE CASCADE
);
INSERT INTO products (id, sku, name, category_id, price, weight, stock, attributes, description, colours) VALUES
  (1, 'KN-01', 'Bread knife', 4, 24.90, 0.21, 40, '{"blade": {"length": 22, "steel": "X50"}, "sizes": [18, 22]}', 'A long serrated knife for bread', 'red'),
  (2, 'KN-02', 'Chef knife', 4, 79.00, 0.25, 12, '{"blade": {"length": 20, "steel": "VG10"}, "sizes": [16, 20, 24]}', 'The knife for almost everything', 'red,blue'),
  (3, 'PT-01', 'Iron pot', 5, 149.50, 4.8, 3, '{"litres": 5.3, "lid": true}', 'A heavy pot for bread and stews', NULL),
  (4, 'GA-01', 'Garden shears', 6, 34.00, 0.3, 0, NULL, 'Shears for roses', 'green'),
  (5, 'GA-02', 'Spade', 6, 45.00, 1.9, 25, '{"handle": "ash"}', NULL, '');

CREATE TABLE orders (
  id INT AUTO_INCREMENT PRIMARY KEY,
  customer_id INT UNSIGNED NOT NULL,
  status ENUM('new','paid','shipped','cancelled') NOT NULL DEFAULT 'new',
  placed_at DATETIME(3) NOT NULL,
  shipped DATE NULL,
  total DECIMAL(10,2) NOT NULL,
  KEY orders_customer (customer_id),
  KEY orders_placed (placed_at),
  CONSTRAINT orders_of_customer FOREIGN KEY (customer_id) REFERENCES customers (id) ON DELETE CASCADE
);
INSERT INTO orders (id, customer_id, status, placed_at, shipped, total) VALUES
  (1, 1, 'shipped', '2024-02-01 10:00:00.123', '2024-02-03', 103.90),
  (2, 1, 'paid', '2024-03-05 11:30:00.5', NULL, 149.50),
  (3, 2, 'cancelled', '2024-03-06 08:15:59', NULL, 34.00),
  (4, 4, 'shipped', '2024-04-20 20:20:20.02', '2024-04-22', 90.00),
  (5, 4, 'new', '2024-05-02 00:00:00', NULL, 24.90),
  (6, 5, 'paid', '2024-07-07 07:07:07.007', NULL, 228.50);

CREATE TABLE order_items (
  order_id INT NOT NULL,
  line SMALLINT NOT NULL,
  product_id INT NOT NULL,
  quantity INT NOT NULL,
  price DECIMAL(9,2) NOT NULL,
  PRIMARY KEY (order_id, line),
  KEY items_product (product_id),
  CONSTRAINT items_order FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE CASCADE,
  CONSTRAINT items_product FOREIGN KEY (product_id) REFERENCES products (id)
);
INSERT INTO order_items VALUES (1, 1, 1, 1, 24.90), (1, 2, 2, 1, 79.00), (2, 1, 3, 1, 149.50), (3, 1, 4, 1, 34.00),
  (4, 1, 5, 2, 45.00), (5, 1, 1, 1, 24.90), (6, 1, 2, 1, 79.00), (6, 2, 3, 1, 149.50);

CREATE TABLE employees (id INT PRIMARY KEY, name VARCHAR(40), manager_id INT NULL, department VARCHAR(20), salary INT, hired DATE, KEY (manager_id));
INSERT INTO employees VALUES (1, 'Root', NULL, 'board', 9000, '2010-01-01'), (2, 'Ina', 1, 'sales', 5200, '2015-04-01'), (3, 'Jo', 1, 'it', 5600, '2016-09-15'),
  (4, 'Kim', 2, 'sales', 4100, '2019-02-01'), (5, 'Lea', 3, 'it', 4700, '2020-07-01'), (6, 'Max', 3, 'it', 4700, '2021-01-10');

CREATE TABLE readings (
  id BIGINT NOT NULL, sensor INT NOT NULL, taken DATETIME NOT NULL, reading DOUBLE, quality FLOAT, PRIMARY KEY (id, taken)
) PARTITION BY RANGE (YEAR(taken)) (
  PARTITION p2023 VALUES LESS THAN (2024), PARTITION p2024 VALUES LESS THAN (2025), PARTITION later VALUES LESS THAN MAXVALUE
);
INSERT INTO readings VALUES (1, 1, '2023-12-31 23:00:00', 20.5, 0.9), (2, 1, '2024-01-01 00:00:00', 20.7, 0.95), (3, 1, '2024-01-01 01:00:00', NULL, 0.1),
  (4, 2, '2024-01-01 00:00:00', -3.25, 1), (5, 2, '2024-01-01 01:00:00', -3.5, 1), (6, 2, '2025-01-01 00:00:00', 1e-7, 0.5);

CREATE TABLE places (id INT PRIMARY KEY, name VARCHAR(40), spot POINT NOT NULL, area POLYGON NULL, SPATIAL INDEX (spot)) ENGINE = MyISAM;
INSERT INTO places VALUES (1, 'Market', ST_GeomFromText('POINT(1 1)'), ST_GeomFromText('POLYGON((0 0, 4 0, 4 4, 0 4, 0 0))')),
  (2, 'Harbour', ST_GeomFromText('POINT(8 2)'), NULL), (3, 'Hill', ST_GeomFromText('POINT(3 9)'), ST_GeomFromText('POLYGON((2 8, 5 8, 5 10, 2 10, 2 8))'));

CREATE TABLE kinds_of_values (
  id INT PRIMARY KEY, tiny TINYINT, tiny_u TINYINT UNSIGNED, small SMALLINT, medium MEDIUMINT, big BIGINT, big_u BIGINT UNSIGNED,
  filled INT(6) ZEROFILL, dec_ DECIMAL(30,10), flt FLOAT, dbl DOUBLE, bits BIT(10), flag BIT(1), d DATE, t TIME(2), dt DATETIME(6), ts TIMESTAMP NULL,
  y YEAR, c CHAR(5), vc VARCHAR(20) CHARACTER SET latin1, b BINARY(4), vb VARBINARY(8), bl BLOB, tx LONGTEXT, e ENUM('a','b'), s SET('x','y','z'), j JSON
);
INSERT INTO kinds_of_values VALUES (1, -128, 255, -32768, 8388607, -9223372036854775808, 18446744073709551615, 42, 12345678901234567890.0123456789, 1.5, -2.5e-7,
  b'1010101010', b'1', '2024-02-29', '-838:59:58.25', '9999-12-31 23:59:59.999999', '2024-07-01 12:00:00', 2155, 'ab', 'Größe', x'00ff', x'0102', 'blob', 'text', 'b', 'x,z', '{"a": [1, null, "é"]}');
INSERT INTO kinds_of_values (id) VALUES (2);

CREATE TABLE articles (id INT PRIMARY KEY, title VARCHAR(80), body TEXT, FULLTEXT KEY (title, body)) ENGINE = MyISAM;
INSERT INTO articles VALUES (1, 'On databases', 'A database keeps tables of rows'), (2, 'On gardens', 'Roses and shears in the garden'), (3, 'On cooking', 'Bread and stews from one pot'),
  (4, 'On backups', 'A backup that was never restored is none'), (5, 'On tools', 'A tool for everything is a tool for nothing');

CREATE VIEW order_totals AS SELECT customer_id, COUNT(*) AS orders, SUM(total) AS total FROM orders WHERE status <> 'cancelled' GROUP BY customer_id;
CREATE FUNCTION with_tax (net DECIMAL(9,2)) RETURNS DECIMAL(9,2) DETERMINISTIC NO SQL RETURN ROUND(net * 1.19, 2);
CREATE PROCEDURE orders_of (IN customer INT) READS SQL DATA SELECT id, status, total FROM orders WHERE customer_id = customer;
CREATE TRIGGER items_have_a_price BEFORE INSERT ON order_items FOR EACH ROW SET NEW.price = IFNULL(NEW.price, 0);
CREATE EVENT forget_old_orders ON SCHEDULE EVERY 1 DAY DISABLE DO DELETE FROM orders WHERE placed_at < '2000-01-01';
-- Names that are words of the language, as they come in real tables.
CREATE TABLE `order` (`key` INT PRIMARY KEY, `value` VARCHAR(20), `rank` INT, `group` VARCHAR(10), `status` INT, `date` DATE, `time` TIME, `timestamp` DATETIME, `user` VARCHAR(20), `password` VARCHAR(20), `type` VARCHAR(10), `name` VARCHAR(10), `share` INT, `lock` INT, `update` INT, `release` VARCHAR(10), `change` INT, `end` INT, `count` INT, `position` INT, `condition` INT, `interval` INT, `language` VARCHAR(5), `set` INT, `into` INT, `call` INT, `procedure` INT);
INSERT INTO `order` VALUES (1, 'v', 2, 'g', 3, '2024-01-01', '10:00:00', '2024-01-01 10:00:00', 'u', 'p', 't', 'n', 4, 5, 6, '1.0', 7, 8, 9, 10, 11, 12, 'de', 13, 14, 15, 16);
CREATE TABLE `größen` (`1st` INT, `$cost` INT, `with space` INT, `a-b` INT, `ключ` INT, `UPPER` INT);
INSERT INTO `größen` VALUES (1, 2, 3, 4, 5, 6);
ANALYZE TABLE categories, customers, products, orders, order_items, employees, readings, places, articles, kinds_of_values, `order`, `größen`;
