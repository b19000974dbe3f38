-- A shop: customers, orders, reviews, views over them, and 200,000 events.
CREATE DATABASE shop;
USE shop;

CREATE TABLE categories (
  id SMALLINT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
  parent_id SMALLINT UNSIGNED NULL COMMENT 'the category that this one belongs to',
  name VARCHAR(60) NOT NULL UNIQUE,
  CONSTRAINT fk_category_parent FOREIGN KEY (parent_id) REFERENCES categories (id) ON DELETE SET NULL
) COMMENT = 'tree of product categories';
INSERT INTO categories (id, parent_id, name) VALUES
  (1, NULL, 'Household'), (2, NULL, 'Books'), (3, NULL, 'Garden'), (4, 1, 'Kitchen'), (5, 1, 'Lighting'),
  (6, 2, 'Fiction'), (7, 2, 'Travel'), (8, 3, 'Tools'), (9, 3, 'Seeds'), (10, 4, 'Knives & boards');

CREATE TABLE products (
  id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
  category_id SMALLINT UNSIGNED NOT NULL,
  sku CHAR(10) CHARACTER SET ascii NOT NULL UNIQUE,
  name VARCHAR(120) NOT NULL,
  price DECIMAL(10,2) NOT NULL CHECK (price >= 0),
  weight_g INT UNSIGNED NULL COMMENT 'empty for what is not shipped',
  attributes JSON NULL,
  discontinued BOOLEAN NOT NULL DEFAULT FALSE,
  gross DECIMAL(10,2) AS (ROUND(price * 1.19, 2)) STORED COMMENT 'with 19 % tax',
  CONSTRAINT fk_product_category FOREIGN KEY (category_id) REFERENCES categories (id),
  FULLTEXT KEY ft_name (name)
) COMMENT = 'what is for sale';
INSERT INTO products (category_id, sku, name, price, weight_g, attributes, discontinued)
SELECT 1 + MOD(seq, 10), CONCAT('SKU-', LPAD(seq, 6, '0')),
  CONCAT(ELT(1 + MOD(seq, 7), 'Oak', 'Steel', 'Crème', 'Señor', 'Grün', 'Ivory', '桜'), ' ',
    ELT(1 + MOD(seq DIV 7, 9), 'lamp', 'knife', 'atlas', 'rake', 'bowl', 'novel', 'kettle', 'seeds', 'stool'), ' No. ', seq),
  ROUND(1 + MOD(seq * 7919, 49900) / 100, 2), IF(MOD(seq, 11) = 0, NULL, 50 + MOD(seq * 31, 9000)),
  IF(MOD(seq, 5) = 0, NULL, JSON_OBJECT('colour', ELT(1 + MOD(seq, 4), 'red', 'green', 'blue', 'grey'), 'stars', MOD(seq, 6),
    'tags', JSON_ARRAY('new', CONCAT('batch-', MOD(seq, 13))))), MOD(seq, 29) = 0
FROM seq_1_to_400;

CREATE TABLE customers (
  id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
  name VARCHAR(80) NOT NULL,
  email VARCHAR(120) NOT NULL UNIQUE,
  country CHAR(2) NOT NULL,
  level ENUM('new', 'regular', 'gold') NOT NULL DEFAULT 'new',
  wants SET('news', 'offers', 'surveys') NOT NULL DEFAULT '',
  note TEXT NULL,
  registered_at DATETIME(3) NOT NULL,
  KEY by_country (country, level)
) COMMENT = 'people who registered';
INSERT INTO customers (name, email, country, level, wants, note, registered_at)
SELECT CONCAT(ELT(1 + MOD(seq, 12), 'Alice', 'Björn', 'Chloé', 'Dmitri', 'Eva', 'Fatima', 'Giang', 'Hanna', 'Íñigo', 'Jürgen', '健一', 'Łucja'), ' ',
    ELT(1 + MOD(seq DIV 12, 10), 'Andersson', 'Brown', 'Čapek', 'Dubois', 'Evans', 'Fischer', 'García', 'Hoang', 'Ivanova', '山田')),
  CONCAT('customer', seq, '@example.com'), ELT(1 + MOD(seq, 8), 'SE', 'GB', 'CZ', 'FR', 'DE', 'ES', 'VN', 'JP'),
  ELT(1 + (MOD(seq, 5) > 1) + (MOD(seq, 17) = 0), 'new', 'regular', 'gold'), MOD(seq, 8),
  CASE MOD(seq, 9) WHEN 0 THEN '' WHEN 1 THEN 'said "call me"; prefers mornings' WHEN 2 THEN 'two\nlines' ELSE NULL END,
  TIMESTAMPADD(SECOND, seq * 40009, '2022-01-01 08:00:00.125')
FROM seq_1_to_2000;

CREATE TABLE orders (
  id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
  customer_id INT UNSIGNED NOT NULL,
  status ENUM('open', 'paid', 'shipped', 'returned') NOT NULL,
  ordered_at DATETIME NOT NULL,
  shipped_on DATE NULL,
  CONSTRAINT fk_order_customer FOREIGN KEY (customer_id) REFERENCES customers (id) ON DELETE CASCADE ON UPDATE CASCADE,
  KEY by_time (ordered_at)
) COMMENT = 'one row an order';
INSERT INTO orders (customer_id, status, ordered_at, shipped_on)
SELECT 1 + MOD(seq * 7, 2000), ELT(1 + MOD(seq, 4), 'open', 'paid', 'shipped', 'returned'), TIMESTAMPADD(MINUTE, seq * 97, '2023-01-01 00:00:01'),
  IF(MOD(seq, 4) > 1, DATE(TIMESTAMPADD(MINUTE, seq * 97 + 2880, '2023-01-01')), NULL)
FROM seq_1_to_8000;

CREATE TABLE order_items (
  order_id INT UNSIGNED NOT NULL,
  line SMALLINT UNSIGNED NOT NULL,
  product_id INT UNSIGNED NOT NULL,
  quantity SMALLINT UNSIGNED NOT NULL DEFAULT 1,
  price DECIMAL(10,2) NOT NULL COMMENT 'at the time of the order',
  PRIMARY KEY (order_id, line),
  CONSTRAINT fk_item_order FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE CASCADE,
  CONSTRAINT fk_item_product FOREIGN KEY (product_id) REFERENCES products (id)
);
INSERT INTO order_items
SELECT o.id, l.seq, p.id, 1 + MOD(o.id + l.seq, 4), p.price
FROM orders o JOIN seq_1_to_3 l ON l.seq <= 1 + MOD(o.id, 3) JOIN products p ON p.id = 1 + MOD(o.id * 13 + l.seq * 101, 400);

CREATE TABLE reviews (
  id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
  product_id INT UNSIGNED NOT NULL,
  customer_id INT UNSIGNED NULL,
  stars TINYINT UNSIGNED NOT NULL CHECK (stars BETWEEN 1 AND 5),
  body TEXT NOT NULL,
  written_at TIMESTAMP NOT NULL,
  CONSTRAINT fk_review_product FOREIGN KEY (product_id) REFERENCES products (id) ON DELETE CASCADE,
  CONSTRAINT fk_review_customer FOREIGN KEY (customer_id) REFERENCES customers (id) ON DELETE SET NULL
);
INSERT INTO reviews (product_id, customer_id, stars, body, written_at)
SELECT 1 + MOD(seq * 3, 400), IF(MOD(seq, 10) = 0, NULL, 1 + MOD(seq * 11, 2000)), 1 + MOD(seq * 7, 5),
  ELT(1 + MOD(seq, 5), 'Lovely 😀', 'Arrived late, but "fine"', 'Très bien', 'Broke after a week\nWould not buy again', '<b>bold</b> claim & no substance'),
  TIMESTAMPADD(HOUR, seq * 5, '2023-02-01 12:00:00')
FROM seq_1_to_3000;

CREATE TABLE events (
  id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
  at DATETIME(6) NOT NULL,
  customer_id INT UNSIGNED NULL,
  kind VARCHAR(20) NOT NULL,
  path VARCHAR(200) NOT NULL,
  ms DOUBLE NOT NULL COMMENT 'how long the answer took',
  agent VARCHAR(80) NULL,
  KEY by_time (at), KEY by_kind (kind)
) COMMENT = 'what visitors did; 200,000 rows';
INSERT INTO events (at, customer_id, kind, path, ms, agent)
SELECT TIMESTAMPADD(MICROSECOND, seq * 157000017, '2024-01-01'), IF(MOD(seq, 3) = 0, NULL, 1 + MOD(seq * 17, 2000)),
  ELT(1 + MOD(seq, 5), 'view', 'search', 'cart', 'checkout', 'view'), CONCAT('/', ELT(1 + MOD(seq, 4), 'product', 'category', 'search', 'cart'), '/', MOD(seq * 7, 400)),
  ROUND(1 + MOD(seq * 7919, 100000) / 317, 3), ELT(1 + MOD(seq, 4), 'Firefox', 'Chromium', 'Safari', NULL)
FROM seq_1_to_200000;

CREATE VIEW v_totals AS
SELECT o.id AS order_id, c.name AS customer, o.status, o.ordered_at, SUM(i.quantity * i.price) AS total, COUNT(*) AS line_count
FROM orders o JOIN customers c ON c.id = o.customer_id JOIN order_items i ON i.order_id = o.id
GROUP BY o.id, c.name, o.status, o.ordered_at;

CREATE VIEW v_best_sellers AS
SELECT p.id, p.name, k.name AS category, SUM(i.quantity) AS sold, ROUND(AVG(r.stars), 2) AS stars
FROM products p JOIN categories k ON k.id = p.category_id JOIN order_items i ON i.product_id = p.id
LEFT JOIN (SELECT product_id, AVG(stars) AS stars FROM reviews GROUP BY product_id) r ON r.product_id = p.id
GROUP BY p.id, p.name, k.name ORDER BY sold DESC;

CREATE SEQUENCE invoice_numbers START WITH 100001 INCREMENT BY 1;

CREATE FUNCTION gross(net DECIMAL(10,2)) RETURNS DECIMAL(10,2) DETERMINISTIC NO SQL COMMENT 'adds 19 % tax'
  RETURN ROUND(net * 1.19, 2);

DELIMITER //
CREATE PROCEDURE customer_report(IN which INT UNSIGNED) READS SQL DATA
BEGIN
  SELECT * FROM customers WHERE id = which;
  SELECT * FROM v_totals WHERE order_id IN (SELECT id FROM orders WHERE customer_id = which);
END //
DELIMITER ;
