-- What both MySQL and MariaDB take.

-- kind: numbers
SELECT ABS(-7), SIGN(-2.5), MOD(29, 9), 29 % 9, 29 MOD 9, 29 DIV 9;
SELECT CEIL(1.2), CEILING(-1.2), FLOOR(1.9), FLOOR(-1.9), ROUND(2.5), ROUND(-1.255, 2), ROUND(1234, -2), TRUNCATE(1.999, 1);
SELECT SQRT(2), POW(2, 10), POWER(2, -1), EXP(1), LN(10), LOG(10), LOG(2, 8), LOG2(8), LOG10(1000);
SELECT SIN(1), COS(1), TAN(1), COT(1), ASIN(0.5), ACOS(0.5), ATAN(1), ATAN(1, 2), ATAN2(1, 2), PI();
SELECT DEGREES(PI()), RADIANS(180);
SELECT CONV('ff', 16, 10), CONV(255, 10, 2), BIN(12), OCT(12), HEX(255), HEX('abc'), UNHEX('4D7953514C');
SELECT CRC32('postern'), RAND(3);
-- volatile
SELECT RAND();
SELECT BIT_COUNT(29), 5 & 6, 5 | 6, 5 ^ 6, ~0, 1 << 4, 256 >> 2;
SELECT 1 + 1, 1 - 2, 3 * 4, 7 / 2, -(-3), +5, 1e3, 0x1F, b'101', X'41', 0b11;
SELECT 18446744073709551615, -9223372036854775808, 9007199254740993, 0.1 + 0.2, 1/3, 1e308 * 1.5, 1.0E-20;
SELECT GREATEST(2, 0, 34), LEAST('b', 'a', 'c'), INTERVAL(23, 1, 15, 17, 30, 44);
SELECT FORMAT(12332.123456, 4), FORMAT(12332.2, 2, 'de_DE');
SELECT 1/0, 5 % 0, NULL + 1;
SELECT SUM(price) OVER () / COUNT(*) OVER () AS mean, price FROM products ORDER BY id;

-- kind: texts
SELECT ASCII('2'), ORD('2'), CHAR(77, 121, 83), CHAR(0xC3A4 USING utf8mb4), LENGTH('Größe'), CHAR_LENGTH('Größe'), CHARACTER_LENGTH('x'), OCTET_LENGTH('Größe'), BIT_LENGTH('text');
SELECT CONCAT('My', 'S', 'QL'), CONCAT('a', NULL), CONCAT_WS(', ', 'First', NULL, 'Last');
SELECT UPPER('größe'), UCASE('x'), LOWER('ÄB'), LCASE('X'), REVERSE('abc'), REPEAT('ab', 3), SPACE(3), QUOTE('Don''t!');
SELECT LEFT('foobarbar', 5), RIGHT('foobarbar', 4), SUBSTRING('Quadratically', 5), SUBSTRING('Quadratically', 5, 6), SUBSTRING('Sakila' FROM -4 FOR 2), SUBSTR('abc', 2), MID('abcdef', 2, 3);
SELECT SUBSTRING_INDEX('www.example.com', '.', 2), SUBSTRING_INDEX('www.example.com', '.', -2);
SELECT LTRIM('  a '), RTRIM(' a  '), TRIM('  a  '), TRIM(LEADING 'x' FROM 'xxbarxx'), TRIM(BOTH 'x' FROM 'xxbarxx'), TRIM(TRAILING 'xyz' FROM 'barxxyz');
SELECT LPAD('hi', 4, '??'), RPAD('hi', 5, '?'), INSERT('Quadratic', 3, 4, 'What'), REPLACE('www.example.com', 'w', 'Ww');
SELECT INSTR('foobarbar', 'bar'), LOCATE('bar', 'foobarbar'), LOCATE('bar', 'foobarbar', 5), POSITION('bar' IN 'foobarbar');
SELECT ELT(1, 'Aa', 'Bb'), FIELD('Bb', 'Aa', 'Bb'), FIND_IN_SET('b', 'a,b,c,d'), MAKE_SET(1 | 4, 'hello', 'nice', 'world'), EXPORT_SET(5, 'Y', 'N', ',', 4);
SELECT SOUNDEX('Quadratically'), 'Meier' SOUNDS LIKE 'Mayer', STRCMP('text', 'text2');
SELECT TO_BASE64('abc'), FROM_BASE64('YWJj');
SELECT 'abc' LIKE 'a%', 'a_c' LIKE 'a\_c', 'a|c' LIKE 'a||c' ESCAPE '|', 'abc' NOT LIKE '_b';
SELECT CHARSET('x'), COLLATION('x'), COERCIBILITY('x'), WEIGHT_STRING('AB' AS CHAR(4));
SELECT 'a' 'b' "c", N'national', _latin1'abc', _utf8mb4'x' COLLATE utf8mb4_bin, _binary'abc';
SELECT CONVERT('Größe' USING latin1), CONVERT(_latin1 x'E4' USING utf8mb4), CAST('Größe' AS CHAR CHARACTER SET latin1);
SELECT name FROM customers ORDER BY name COLLATE utf8mb4_unicode_ci DESC;
SELECT 'it''s; not the end', "-- no comment", '/* nor this */', 'back\\slash', 'tab\there', 'nul\0byte';
SELECT BINARY 'a' = 'A', 'a' = 'A';
SELECT GROUP_CONCAT(name), GROUP_CONCAT(DISTINCT country ORDER BY country DESC SEPARATOR '; ') FROM customers;

-- kind: regular expressions
SELECT 'Michael!' REGEXP '.*', 'fofo' REGEXP '^fo', 'abc' RLIKE '^[a-d]', 'abc' NOT REGEXP 'z';
SELECT REGEXP_INSTR('dog cat dog', 'dog'), REGEXP_SUBSTR('abc def ghi', '[a-z]+'), REGEXP_REPLACE('a b c', 'b', 'X');
SELECT name, sku FROM products WHERE sku REGEXP '^[A-Z]{2}-[0-9]{2}$' AND name RLIKE '[Kk]nife' ORDER BY id;
SELECT REGEXP_REPLACE(email, '@.*$', '@…') AS masked FROM customers ORDER BY id;

-- kind: comparison and control flow
SELECT IF(1 < 2, 'yes', 'no'), IFNULL(NULL, 10), NULLIF(1, 1), COALESCE(NULL, NULL, 3), ISNULL(1/0);
SELECT CASE country WHEN 'DE' THEN 'Germany' WHEN 'FR' THEN 'France' ELSE 'elsewhere' END AS land FROM customers ORDER BY id;
SELECT CASE WHEN credit > 100 THEN 'high' WHEN credit > 0 THEN 'some' END FROM customers ORDER BY id;
SELECT 1 <=> NULL, NULL <=> NULL, 1 <> 2, 1 != 2, 2 BETWEEN 1 AND 3, 2 NOT BETWEEN 1 AND 3, 2 IN (1, 2, 3), 4 NOT IN (1, 2);
SELECT NOT 0, ! 1, 1 AND 0, 1 && 1, 1 OR NULL, 0 || 1, 1 XOR 1, TRUE, FALSE, NULL IS NULL, 1 IS NOT NULL, 0 IS FALSE, NULL IS UNKNOWN;
SELECT (1, 2) = (1, 2), ROW(1, 2) < ROW(1, 3), (1, 2) IN ((1, 2), (3, 4));
SELECT STRCMP('a', 'b'), 'a' < 'b', '10' + 5, '3 apples' * 2, 'x' IN ('x', NULL);

-- kind: dates and times
-- volatile
SELECT NOW(), NOW(6), SYSDATE(), CURDATE(), CURTIME(), CURRENT_DATE, CURRENT_DATE(), CURRENT_TIME, CURRENT_TIME(3), CURRENT_TIMESTAMP, CURRENT_TIMESTAMP(2), LOCALTIME, LOCALTIME(), LOCALTIMESTAMP, LOCALTIMESTAMP(0);
-- volatile
SELECT UTC_DATE(), UTC_TIME(), UTC_TIMESTAMP(), UTC_DATE, UTC_TIME, UTC_TIMESTAMP(6), UNIX_TIMESTAMP();
SELECT DATE('2024-02-29 12:00:00'), TIME('2024-02-29 12:34:56'), TIMESTAMP('2024-02-29'), TIMESTAMP('2024-02-29', '12:00:00'), YEAR('2024-02-29'), MONTH('2024-02-29'), DAY('2024-02-29'), DAYOFMONTH('2024-02-29');
SELECT HOUR('10:05:03'), MINUTE('10:05:03'), SECOND('10:05:03'), MICROSECOND('12:00:00.123456'), QUARTER('2024-04-01'), WEEK('2024-02-20'), WEEK('2024-02-20', 3), WEEKDAY('2024-02-29'), WEEKOFYEAR('2024-02-29'), YEARWEEK('2024-01-01'), YEARWEEK('2024-01-01', 1);
SELECT DAYNAME('2024-02-29'), MONTHNAME('2024-02-29'), DAYOFWEEK('2024-02-29'), DAYOFYEAR('2024-12-31'), LAST_DAY('2024-02-05');
SELECT DATE_ADD('2024-01-31', INTERVAL 1 MONTH), DATE_SUB('2024-03-01', INTERVAL 1 DAY), ADDDATE('2024-01-02', 31), ADDDATE('2024-01-02', INTERVAL 31 DAY), SUBDATE('2024-01-02', 31), '2024-12-31' + INTERVAL 1 DAY, INTERVAL 1 DAY + '2024-12-31', '2024-12-31' - INTERVAL '1:30' HOUR_MINUTE;
SELECT DATE_ADD('2024-12-31 23:59:59', INTERVAL '1 1:1:1' DAY_SECOND), DATE_ADD('2024-01-01', INTERVAL '2-3' YEAR_MONTH), DATE_ADD('2024-01-01 00:00:00', INTERVAL '1.000001' SECOND_MICROSECOND), DATE_SUB('2024-01-01', INTERVAL 2 QUARTER);
SELECT ADDTIME('2024-12-31 23:59:59.999999', '1 1:1:1.000002'), SUBTIME('10:00:00', '01:00:01'), TIMEDIFF('2024-01-01 00:00:00', '2023-12-31 23:00:00'), DATEDIFF('2024-03-01', '2024-02-01');
SELECT TIMESTAMPADD(MINUTE, 1, '2024-01-02'), TIMESTAMPADD(WEEK, 1, '2024-01-02'), TIMESTAMPDIFF(MONTH, '2023-02-01', '2024-05-01'), TIMESTAMPDIFF(SECOND, '2024-01-01', '2024-01-02');
SELECT EXTRACT(YEAR FROM '2024-07-02'), EXTRACT(YEAR_MONTH FROM '2024-07-02 01:02:03'), EXTRACT(DAY_MINUTE FROM '2024-07-02 01:02:03'), EXTRACT(MICROSECOND FROM '2024-01-02 10:30:00.000123');
SELECT DATE_FORMAT('2024-10-04 22:23:00', '%W %M %Y %H:%i:%s'), TIME_FORMAT('100:00:00', '%H %k %h %I %l'), STR_TO_DATE('May 1, 2024', '%M %d,%Y'), GET_FORMAT(DATE, 'EUR'), DATE_FORMAT('2024-10-04', GET_FORMAT(DATE, 'USA'));
SELECT FROM_DAYS(739000), TO_DAYS('2024-01-01'), TO_SECONDS('2024-01-01'), MAKEDATE(2024, 60), MAKETIME(12, 15, 30), SEC_TO_TIME(2378), TIME_TO_SEC('22:23:00'), PERIOD_ADD(202401, 2), PERIOD_DIFF(202402, 202303);
SELECT FROM_UNIXTIME(1700000000), FROM_UNIXTIME(1700000000, '%Y %D %M'), UNIX_TIMESTAMP('2024-01-01 00:00:00'), CONVERT_TZ('2024-01-01 12:00:00', '+00:00', '+10:00');
SELECT DATE '2024-07-21', TIME '12:00:01.5', TIMESTAMP '2024-07-21 12:00:00.000001', {d '2024-07-21'}, {t '01:02:03'}, {ts '2024-07-21 01:02:03'};
SELECT id, placed_at, DATE(placed_at) AS day, TIME(placed_at) FROM orders WHERE placed_at >= '2024-03-01' AND placed_at < '2024-05-01' ORDER BY placed_at;
SELECT DATE_FORMAT(placed_at, '%Y-%m') AS month, COUNT(*) AS orders, SUM(total) AS turnover FROM orders GROUP BY DATE_FORMAT(placed_at, '%Y-%m') ORDER BY month;
SELECT name, TIMESTAMPDIFF(YEAR, born, '2024-06-30') AS age FROM customers WHERE born IS NOT NULL ORDER BY born;
-- volatile
SELECT COUNT(*) FROM orders WHERE placed_at > NOW() - INTERVAL 30 DAY;

-- kind: casts
SELECT CAST('12' AS SIGNED), CAST(-1 AS UNSIGNED), CAST('1.5' AS DECIMAL(5,2)), CAST('2024-02-29' AS DATE), CAST('12:30' AS TIME), CAST('2024-02-29 01:02:03.5' AS DATETIME(1)), CAST(65 AS CHAR), CAST('abc' AS CHAR(2)), CAST('a' AS BINARY), CAST('ab' AS BINARY(4));
SELECT CONVERT('15', SIGNED INTEGER), CONVERT(1.7, UNSIGNED), CONVERT('x', CHAR(3)), CONVERT('2024-01-01', DATETIME), CAST('7' AS DOUBLE), CAST(3 AS FLOAT), CAST('n' AS NCHAR(2));
SELECT CAST(price AS SIGNED) AS whole, CAST(id AS CHAR) AS id_text FROM products ORDER BY id;

-- kind: aggregates
SELECT COUNT(*), COUNT(born), COUNT(DISTINCT country), MIN(credit), MAX(credit), SUM(credit), AVG(credit) FROM customers;
SELECT STD(salary), STDDEV(salary), STDDEV_POP(salary), STDDEV_SAMP(salary), VARIANCE(salary), VAR_POP(salary), VAR_SAMP(salary) FROM employees;
SELECT BIT_AND(stock), BIT_OR(stock), BIT_XOR(stock) FROM products;
SELECT JSON_ARRAYAGG(id), JSON_OBJECTAGG(sku, price) FROM (SELECT id, sku, price FROM products ORDER BY id) AS sorted;
SELECT country, COUNT(*) AS n FROM customers GROUP BY country HAVING n >= 1 ORDER BY n DESC, country LIMIT 3;
SELECT department, COUNT(*), SUM(salary) FROM employees GROUP BY department WITH ROLLUP;
SELECT status, YEAR(placed_at) AS y, SUM(total) FROM orders GROUP BY status, YEAR(placed_at) WITH ROLLUP;
SELECT GROUP_CONCAT(DISTINCT name ORDER BY price DESC SEPARATOR ' > ') AS dearest FROM products;
SELECT SUM(DISTINCT price), AVG(DISTINCT price), MIN(name), MAX(placed_at) FROM products, orders WHERE orders.id = products.id;
SELECT SUM(status = 'paid') AS paid, SUM(IF(status = 'shipped', total, 0)) AS shipped, COUNT(CASE WHEN status = 'new' THEN 1 END) AS fresh FROM orders;

-- kind: window functions
SELECT name, salary, ROW_NUMBER() OVER (ORDER BY salary DESC, id) AS place FROM employees ORDER BY place;
SELECT name, department, salary, RANK() OVER w AS r, DENSE_RANK() OVER w AS dr, PERCENT_RANK() OVER w AS pr, CUME_DIST() OVER w AS cd FROM employees WINDOW w AS (PARTITION BY department ORDER BY salary DESC) ORDER BY id;
SELECT id, salary, NTILE(3) OVER (ORDER BY id) AS third, LAG(salary) OVER (ORDER BY id) AS before_, LEAD(salary, 2) OVER (ORDER BY id) AS after_ FROM employees ORDER BY id;
SELECT id, FIRST_VALUE(name) OVER w AS first_, LAST_VALUE(name) OVER w AS last_, NTH_VALUE(name, 2) OVER w AS second_ FROM employees WINDOW w AS (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) ORDER BY id;
SELECT placed_at, total, SUM(total) OVER (ORDER BY placed_at) AS running, AVG(total) OVER (ORDER BY placed_at ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS moving FROM orders ORDER BY placed_at;
SELECT customer_id, total, total / SUM(total) OVER (PARTITION BY customer_id) AS share FROM orders ORDER BY id;
SELECT * FROM (SELECT o.*, ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY placed_at DESC) AS n FROM orders o) AS latest WHERE n = 1 ORDER BY customer_id;
SELECT id, COUNT(*) OVER (ORDER BY salary RANGE BETWEEN 500 PRECEDING AND 500 FOLLOWING) AS near_ FROM employees ORDER BY id;
SELECT sensor, taken, reading - LAG(reading) OVER (PARTITION BY sensor ORDER BY taken) AS step FROM readings ORDER BY id;

-- kind: common table expressions
WITH paid AS (SELECT * FROM orders WHERE status IN ('paid', 'shipped')) SELECT customer_id, SUM(total) FROM paid GROUP BY customer_id ORDER BY 1;
WITH a AS (SELECT 1 AS x), b (y) AS (SELECT x + 1 FROM a) SELECT * FROM a, b;
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 10) SELECT n FROM numbers;
WITH RECURSIVE tree AS (SELECT id, name, 0 AS depth, CAST(name AS CHAR(200)) AS path FROM categories WHERE parent_id IS NULL UNION ALL SELECT c.id, c.name, depth + 1, CONCAT(path, ' / ', c.name) FROM categories c JOIN tree t ON c.parent_id = t.id) SELECT * FROM tree ORDER BY path;
WITH RECURSIVE days (d) AS (SELECT DATE('2024-01-01') UNION ALL SELECT d + INTERVAL 1 DAY FROM days WHERE d < '2024-01-07') SELECT d, COUNT(r.id) FROM days LEFT JOIN readings r ON DATE(r.taken) = d GROUP BY d ORDER BY d;
WITH RECURSIVE chain AS (SELECT id, name, manager_id FROM employees WHERE name = 'Lea' UNION DISTINCT SELECT e.id, e.name, e.manager_id FROM employees e JOIN chain c ON c.manager_id = e.id) SELECT name FROM chain ORDER BY id;
SELECT * FROM (WITH x AS (SELECT 5 AS v) SELECT v * 2 AS w FROM x) AS inner_;
WITH RECURSIVE fib (n, a, b) AS (SELECT 1, 0, 1 UNION ALL SELECT n + 1, b, a + b FROM fib WHERE n < 12) SELECT n, a FROM fib;

-- kind: joins and subqueries
SELECT c.name, o.id, o.total FROM customers c JOIN orders o ON o.customer_id = c.id ORDER BY o.id;
SELECT c.name, COUNT(o.id) AS orders FROM customers AS c LEFT OUTER JOIN orders AS o ON o.customer_id = c.id GROUP BY c.id, c.name ORDER BY orders DESC, c.id;
SELECT c.name FROM orders o RIGHT JOIN customers c ON o.customer_id = c.id WHERE o.id IS NULL;
SELECT p.name, c.name AS category FROM products p INNER JOIN categories c ON (p.category_id = c.id) ORDER BY p.id;
SELECT COUNT(*) FROM customers CROSS JOIN products;
SELECT * FROM orders NATURAL JOIN (SELECT 1 AS customer_id) AS only_one ORDER BY id;
SELECT id, name, quantity FROM products JOIN order_items i USING (price) WHERE i.product_id = products.id ORDER BY id, i.order_id;
SELECT e.name, m.name AS manager FROM employees e LEFT JOIN employees m ON m.id = e.manager_id ORDER BY e.id;
SELECT name FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id AND o.total > 100) ORDER BY id;
SELECT name FROM customers WHERE id NOT IN (SELECT customer_id FROM orders) ORDER BY id;
SELECT name FROM products WHERE price > ALL (SELECT price FROM products WHERE category_id = 6) ORDER BY id;
SELECT name FROM products WHERE price >= ANY (SELECT AVG(price) FROM products GROUP BY category_id) ORDER BY id;
SELECT name FROM products WHERE price = SOME (SELECT MAX(price) FROM products);
SELECT name, (SELECT MAX(total) FROM orders o WHERE o.customer_id = c.id) AS largest FROM customers c ORDER BY id;
SELECT t.country, t.n FROM (SELECT country, COUNT(*) AS n FROM customers GROUP BY country) AS t WHERE t.n > 0 ORDER BY country;
SELECT (SELECT 1), (SELECT name FROM customers WHERE id = 1) AS who;
SELECT STRAIGHT_JOIN c.name FROM customers c JOIN orders o ON o.customer_id = c.id ORDER BY o.id;
SELECT * FROM customers, orders WHERE customers.id = orders.customer_id AND (customers.id, orders.status) IN ((1, 'paid'), (4, 'new')) ORDER BY orders.id;
SELECT everyday.customers.name FROM everyday.customers ORDER BY everyday.customers.id LIMIT 2;
SELECT * FROM order_totals ORDER BY customer_id;
SELECT `c`.`name` AS `customer name`, `o`.`id` FROM `everyday`.`customers` `c` JOIN `everyday`.`orders` `o` ON `c`.`id` = `o`.`customer_id` ORDER BY `o`.`id`;

-- kind: options of SELECT
SELECT DISTINCT country FROM customers ORDER BY country;
SELECT ALL country FROM customers ORDER BY id;
SELECT DISTINCTROW status FROM orders ORDER BY status;
SELECT HIGH_PRIORITY id FROM customers ORDER BY id;
SELECT SQL_SMALL_RESULT country, COUNT(*) FROM customers GROUP BY country ORDER BY country;
SELECT SQL_BIG_RESULT country, COUNT(*) FROM customers GROUP BY country ORDER BY country;
SELECT SQL_BUFFER_RESULT id FROM customers ORDER BY id;
SELECT SQL_NO_CACHE COUNT(*) FROM orders;
SELECT SQL_CALC_FOUND_ROWS id FROM customers ORDER BY id LIMIT 2;
-- volatile
SELECT FOUND_ROWS(), ROW_COUNT(), LAST_INSERT_ID();
SELECT * FROM customers ORDER BY id LIMIT 2 OFFSET 1;
SELECT * FROM customers ORDER BY 2 DESC LIMIT 1, 2;
SELECT id, name FROM customers ORDER BY born IS NULL, born DESC, RAND(1) LIMIT 10;
SELECT name FROM products ORDER BY FIELD(category_id, 6, 4, 5), price;
SELECT id FROM customers USE INDEX (customers_country_name) WHERE country = 'DE';
SELECT id FROM customers FORCE INDEX FOR ORDER BY (PRIMARY) ORDER BY id;
SELECT id FROM customers IGNORE INDEX (customers_country, customers_country_name) WHERE country IN ('DE', 'FR') ORDER BY id;
SELECT COUNT(*) FROM readings PARTITION (p2024);
SELECT id FROM readings PARTITION (p2023, later) ORDER BY id;
SELECT * FROM kinds_of_values ORDER BY id;
SELECT id, bits + 0, flag + 0, HEX(b), BIN(bits), e + 0, s + 0 FROM kinds_of_values ORDER BY id;
SELECT 1 FROM DUAL;
SELECT 1 AS `select`, 2 AS 'quoted alias', 3 "double", 4 AS `back``tick`;
SELECT 1 -- a remark; behind the end
;
SELECT /* inside */ 1 + /* two
lines */ 2 # to the end of the line
AS three;
-- volatile
SELECT @row := @row + 1 AS n, name FROM customers, (SELECT @row := 0) AS start ORDER BY id;
SELECT @never_set, @a := 5, @`quoted one`, @'another';

-- kind: set operations and table values
SELECT 1 UNION SELECT 2 UNION ALL SELECT 2 ORDER BY 1;
(SELECT id FROM customers ORDER BY id LIMIT 2) UNION (SELECT id FROM orders ORDER BY id DESC LIMIT 2) ORDER BY id;
SELECT id FROM customers INTERSECT SELECT customer_id FROM orders ORDER BY id;
SELECT id FROM customers EXCEPT SELECT customer_id FROM orders ORDER BY id;
(SELECT id FROM customers EXCEPT SELECT 1) INTERSECT (SELECT 3 UNION SELECT 4) ORDER BY 1;
SELECT id FROM products INTERSECT ALL SELECT product_id FROM order_items ORDER BY id;
SELECT product_id FROM order_items EXCEPT ALL SELECT id FROM products ORDER BY 1;
SELECT 'customers' AS what, COUNT(*) AS n FROM customers UNION ALL SELECT 'orders', COUNT(*) FROM orders UNION ALL SELECT 'products', COUNT(*) FROM products;
SELECT * FROM (SELECT 1 AS a UNION SELECT 2) AS u WHERE a > 1;

-- kind: JSON
SELECT JSON_ARRAY(1, 'abc', NULL, TRUE), JSON_OBJECT('id', 87, 'name', 'carrot'), JSON_QUOTE('[1, 2]'), JSON_UNQUOTE('"abc"');
SELECT JSON_EXTRACT('{"a": {"b": [10, 20]}}', '$.a.b[1]'), JSON_EXTRACT('[1, [2, 3]]', '$[1][0]', '$[0]'), JSON_VALUE('{"a": "x"}', '$.a');
SELECT JSON_CONTAINS('{"a": 1, "b": 2}', '1', '$.a'), JSON_CONTAINS_PATH('{"a": 1}', 'one', '$.a', '$.e'), JSON_KEYS('{"a": 1, "b": {"c": 30}}'), JSON_KEYS('{"b": {"c": 30}}', '$.b'), JSON_SEARCH('["abc", "def"]', 'one', 'def'), JSON_OVERLAPS('[1, 3]', '[3, 5]');
SELECT JSON_DEPTH('[10, {"a": 20}]'), JSON_LENGTH('[1, 2, {"a": 3}]'), JSON_LENGTH('{"a": [1, 2]}', '$.a'), JSON_TYPE('{"a": 1}'), JSON_VALID('{"a": 1'), JSON_VALID('null');
SELECT JSON_ARRAY_APPEND('["a", ["b"]]', '$[1]', 1), JSON_ARRAY_INSERT('["a", "b"]', '$[1]', 'x'), JSON_INSERT('{"a": 1}', '$.b', 2), JSON_REPLACE('{"a": 1}', '$.a', 10), JSON_SET('{"a": 1}', '$.a', 10, '$.c', 'x'), JSON_REMOVE('["a", ["b", "c"], "d"]', '$[1]');
SELECT JSON_MERGE_PATCH('{"a": 1, "b": 2}', '{"a": 3, "c": 4}'), JSON_MERGE_PRESERVE('[1, 2]', '[true, false]'), JSON_PRETTY('{"a": [1, 2]}');
SELECT id, JSON_EXTRACT(attributes, '$.blade.steel') AS steel, JSON_UNQUOTE(JSON_EXTRACT(attributes, '$.handle')) AS handle FROM products ORDER BY id;
SELECT name FROM customers WHERE JSON_CONTAINS(tags, '"early"') ORDER BY id;
SELECT p.id, s.size FROM products p, JSON_TABLE(p.attributes, '$.sizes[*]' COLUMNS (size INT PATH '$')) AS s ORDER BY p.id, s.size;
SELECT * FROM JSON_TABLE('[{"a": 1, "b": [5, 6]}, {"a": "x"}]', '$[*]' COLUMNS (n FOR ORDINALITY, a VARCHAR(10) PATH '$.a' DEFAULT '0' ON EMPTY NULL ON ERROR, has_b INT EXISTS PATH '$.b', NESTED PATH '$.b[*]' COLUMNS (b INT PATH '$'))) AS jt;
SELECT j FROM kinds_of_values ORDER BY id;

-- kind: full text
SELECT id, title FROM articles WHERE MATCH (title, body) AGAINST ('database');
SELECT id, ROUND(MATCH (title, body) AGAINST ('bread' IN NATURAL LANGUAGE MODE), 4) AS score FROM articles ORDER BY score DESC, id;
SELECT id FROM articles WHERE MATCH (title, body) AGAINST ('+tool -backup' IN BOOLEAN MODE);
SELECT id FROM articles WHERE MATCH (title, body) AGAINST ('restored' WITH QUERY EXPANSION) ORDER BY id;
SELECT name FROM products WHERE MATCH (name, description) AGAINST ('+knife bread*' IN BOOLEAN MODE) ORDER BY id;
SELECT name, MATCH (name, description) AGAINST ('pot') > 0 AS hit FROM products ORDER BY id;

-- kind: spatial
SELECT ST_AsText(spot), ST_X(spot), ST_Y(spot), ST_SRID(spot), ST_GeometryType(spot), ST_Dimension(spot), ST_IsEmpty(spot) FROM places ORDER BY id;
SELECT id, spot, area FROM places ORDER BY id;
SELECT ST_Area(area), ST_AsText(ST_Centroid(area)), ST_AsText(ST_Envelope(area)), ST_AsText(ST_ExteriorRing(area)), ST_NumInteriorRings(area) FROM places WHERE area IS NOT NULL ORDER BY id;
SELECT a.name, b.name FROM places a JOIN places b ON ST_Contains(a.area, b.spot) ORDER BY a.id, b.id;
SELECT name, ROUND(ST_Distance(spot, ST_GeomFromText('POINT(0 0)')), 3) AS distance FROM places ORDER BY distance;
SELECT name FROM places WHERE MBRContains(ST_GeomFromText('POLYGON((0 0, 5 0, 5 5, 0 5, 0 0))'), spot);
SELECT name FROM places WHERE ST_Within(spot, ST_GeomFromText('POLYGON((0 0, 9 0, 9 5, 0 5, 0 0))')) ORDER BY id;
SELECT ST_AsText(ST_GeomFromText('LINESTRING(0 0, 1 1, 2 2)')), ST_Length(ST_GeomFromText('LINESTRING(0 0, 3 4)')), ST_NumPoints(ST_GeomFromText('LINESTRING(0 0, 1 1, 2 2)')), ST_AsText(ST_PointN(ST_GeomFromText('LINESTRING(0 0, 1 1, 2 2)'), 2)), ST_AsText(ST_StartPoint(ST_GeomFromText('LINESTRING(0 0, 1 1)'))), ST_AsText(ST_EndPoint(ST_GeomFromText('LINESTRING(0 0, 1 1)'))), ST_IsClosed(ST_GeomFromText('LINESTRING(0 0, 1 1)')), ST_IsSimple(ST_GeomFromText('LINESTRING(0 0, 1 1)'));
SELECT ST_AsWKT(POINT(1, 2)), ST_AsText(POINT(-1.5, 2e1)), HEX(ST_AsWKB(POINT(1, 2))), HEX(ST_AsBinary(POINT(1, 2)));
SELECT ST_AsText(LINESTRING(POINT(0, 0), POINT(1, 1))), ST_AsText(POLYGON(LINESTRING(POINT(0, 0), POINT(1, 0), POINT(1, 1), POINT(0, 0)))), ST_AsText(MULTIPOINT(POINT(0, 0), POINT(1, 1))), ST_AsText(GEOMETRYCOLLECTION(POINT(1, 1), LINESTRING(POINT(0, 0), POINT(1, 1))));
SELECT ST_AsText(MULTILINESTRING(LINESTRING(POINT(0, 0), POINT(1, 1)))), ST_AsText(MULTIPOLYGON(POLYGON(LINESTRING(POINT(0, 0), POINT(1, 0), POINT(1, 1), POINT(0, 0)))));
SELECT ST_AsText(ST_PointFromText('POINT(1 2)')), ST_AsText(ST_LineFromText('LINESTRING(0 0, 1 1)')), ST_AsText(ST_LineStringFromText('LINESTRING(0 0, 1 1)')), ST_AsText(ST_PolyFromText('POLYGON((0 0, 1 0, 1 1, 0 0))')), ST_AsText(ST_PolygonFromText('POLYGON((0 0, 1 0, 1 1, 0 0))')), ST_AsText(ST_GeometryFromText('POINT(0 0)')), ST_AsText(ST_GeomCollFromText('GEOMETRYCOLLECTION(POINT(1 1))')), ST_AsText(ST_GeometryCollectionFromText('GEOMETRYCOLLECTION(POINT(1 1))'));
SELECT ST_AsText(ST_MPointFromText('MULTIPOINT(0 0, 1 1)')), ST_AsText(ST_MultiPointFromText('MULTIPOINT(0 0)')), ST_AsText(ST_MLineFromText('MULTILINESTRING((0 0, 1 1))')), ST_AsText(ST_MultiLineStringFromText('MULTILINESTRING((0 0, 1 1))')), ST_AsText(ST_MPolyFromText('MULTIPOLYGON(((0 0, 1 0, 1 1, 0 0)))')), ST_AsText(ST_MultiPolygonFromText('MULTIPOLYGON(((0 0, 1 0, 1 1, 0 0)))'));
SELECT ST_AsText(ST_GeomFromWKB(ST_AsWKB(POINT(1, 2)))), ST_AsText(ST_PointFromWKB(ST_AsWKB(POINT(1, 2)))), ST_AsText(ST_GeometryFromWKB(ST_AsWKB(POINT(1, 2)))), ST_AsText(ST_LineFromWKB(ST_AsWKB(ST_GeomFromText('LINESTRING(0 0, 1 1)')))), ST_AsText(ST_LineStringFromWKB(ST_AsWKB(ST_GeomFromText('LINESTRING(0 0, 1 1)')))), ST_AsText(ST_PolyFromWKB(ST_AsWKB(ST_GeomFromText('POLYGON((0 0, 1 0, 1 1, 0 0))')))), ST_AsText(ST_PolygonFromWKB(ST_AsWKB(ST_GeomFromText('POLYGON((0 0, 1 0, 1 1, 0 0))'))));
SELECT ST_AsText(ST_GeomCollFromWKB(ST_AsWKB(ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 1))')))), ST_AsText(ST_GeometryCollectionFromWKB(ST_AsWKB(ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 1))'))));
SELECT ST_AsText(ST_MPointFromWKB(ST_AsWKB(ST_GeomFromText('MULTIPOINT(0 0, 1 1)')))), ST_AsText(ST_MultiPointFromWKB(ST_AsWKB(ST_GeomFromText('MULTIPOINT(0 0)')))), ST_AsText(ST_MLineFromWKB(ST_AsWKB(ST_GeomFromText('MULTILINESTRING((0 0, 1 1))')))), ST_AsText(ST_MultiLineStringFromWKB(ST_AsWKB(ST_GeomFromText('MULTILINESTRING((0 0, 1 1))')))), ST_AsText(ST_MPolyFromWKB(ST_AsWKB(ST_GeomFromText('MULTIPOLYGON(((0 0, 1 0, 1 1, 0 0)))')))), ST_AsText(ST_MultiPolygonFromWKB(ST_AsWKB(ST_GeomFromText('MULTIPOLYGON(((0 0, 1 0, 1 1, 0 0)))'))));
SELECT ST_AsText(ST_GeometryN(ST_GeomFromText('MULTIPOINT(1 1, 2 2)'), 2)), ST_NumGeometries(ST_GeomFromText('MULTIPOINT(1 1, 2 2)')), ST_AsText(ST_InteriorRingN(ST_GeomFromText('POLYGON((0 0, 9 0, 9 9, 0 9, 0 0), (1 1, 2 1, 2 2, 1 1))'), 1));
SELECT ST_AsText(ST_Union(ST_GeomFromText('POINT(0 0)'), ST_GeomFromText('POINT(1 1)'))), ST_AsText(ST_Intersection(ST_GeomFromText('LINESTRING(0 0, 2 2)'), ST_GeomFromText('LINESTRING(0 2, 2 0)'))), ST_AsText(ST_Difference(ST_GeomFromText('MULTIPOINT(0 0, 1 1)'), ST_GeomFromText('POINT(0 0)'))), ST_AsText(ST_SymDifference(ST_GeomFromText('POINT(0 0)'), ST_GeomFromText('POINT(1 1)')));
SELECT ST_Area(ST_Buffer(ST_GeomFromText('POINT(0 0)'), 1)) > 3, ST_AsText(ST_ConvexHull(ST_GeomFromText('MULTIPOINT(0 0, 2 0, 2 2, 1 1)')));
SELECT ST_Equals(a, b), ST_Disjoint(a, b), ST_Intersects(a, b), ST_Touches(a, b), ST_Overlaps(a, b), ST_Crosses(a, b), ST_Within(a, b) FROM (SELECT ST_GeomFromText('POLYGON((0 0, 4 0, 4 4, 0 4, 0 0))') AS a, ST_GeomFromText('POLYGON((2 2, 6 2, 6 6, 2 6, 2 2))') AS b) AS two;
SELECT MBRIntersects(a, b), MBRDisjoint(a, b), MBROverlaps(a, b), MBRTouches(a, b), MBRWithin(a, b), MBRContains(a, b) FROM (SELECT ST_GeomFromText('POLYGON((0 0, 4 0, 4 4, 0 4, 0 0))') AS a, ST_GeomFromText('POLYGON((2 2, 6 2, 6 6, 2 6, 2 2))') AS b) AS two;
SELECT ST_AsGeoJSON(spot), ST_AsText(ST_GeomFromGeoJSON('{"type": "Point", "coordinates": [1, 2]}')) FROM places ORDER BY id;
SELECT ROUND(ST_Distance_Sphere(POINT(13.4, 52.5), POINT(2.35, 48.86)));

-- kind: digests, ciphers, addresses
SELECT SHA2('abc', 256), SHA2('abc', 512), SHA2(NULL, 224);
SELECT HEX(AES_ENCRYPT('text', 'key')), AES_DECRYPT(AES_ENCRYPT('text', 'key'), 'key');
SELECT UNCOMPRESS(COMPRESS('aaaaaaaaaa')), UNCOMPRESSED_LENGTH(COMPRESS('aaaaaaaaaa')), LENGTH(COMPRESS(''));
SELECT INET_ATON('10.0.5.9'), INET_NTOA(167773449), HEX(INET6_ATON('fdfe::5a55:caff:fefa:9089')), INET6_NTOA(INET6_ATON('10.0.5.9')), IS_IPV4('10.0.5.9'), IS_IPV6('::1'), IS_IPV4_COMPAT(INET6_ATON('::10.0.5.9')), IS_IPV4_MAPPED(INET6_ATON('::ffff:10.0.5.9'));
-- volatile
SELECT UUID(), UUID_SHORT(), LENGTH(RANDOM_BYTES(16)), REPLACE(UUID(), '-', '');
SELECT EXTRACTVALUE('<a><b>X</b><b>Y</b></a>', '/a/b[1]'), UPDATEXML('<a><b>x</b></a>', '/a/b', '<c/>');

-- kind: the session and the server
SELECT DATABASE(), SCHEMA(), VERSION(), USER(), CURRENT_USER(), CURRENT_USER, SESSION_USER(), SYSTEM_USER();
SELECT CURRENT_ROLE();
-- volatile
SELECT CONNECTION_ID();
SELECT BENCHMARK(10, SHA2('x', 256)), SLEEP(0), NAME_CONST('fourteen', 14);
SELECT @@version, @@version_comment, @@global.max_connections, @@session.sql_mode, @@local.autocommit, @@max_allowed_packet;
SELECT @@hostname, @@port, @@datadir, @@socket, @@character_set_server, @@collation_server, @@time_zone, @@system_time_zone, @@lower_case_table_names;
SELECT @@autocommit AS autocommit, @@foreign_key_checks, @@unique_checks, @@sql_safe_updates, @@wait_timeout, @@interactive_timeout, @@net_write_timeout;
SELECT @@innodb_buffer_pool_size / 1024 / 1024 AS mib, @@innodb_flush_log_at_trx_commit, @@sync_binlog, @@innodb_file_per_table;
SELECT @@global.read_only, @@server_id, @@log_bin, @@binlog_format, @@slow_query_log, @@long_query_time;
SELECT @@SQL_SELECT_LIMIT, @@Global.SQL_Mode, @@`version`, @@global.`port`;

-- kind: SHOW
SHOW DATABASES;
SHOW SCHEMAS LIKE 'every%';
SHOW DATABASES WHERE `Database` = 'everyday';
SHOW TABLES;
SHOW FULL TABLES;
SHOW TABLES FROM everyday LIKE 'order%';
SHOW TABLES IN information_schema LIKE 'TAB%';
SHOW FULL TABLES WHERE Table_type = 'VIEW';
SHOW FULL TABLES FROM `everyday` WHERE Table_type != 'VIEW';
SHOW OPEN TABLES FROM everyday LIKE 'nothing';
-- volatile
SHOW OPEN TABLES WHERE In_use > 0;
SHOW TABLE STATUS LIKE 'nothing';
-- volatile
SHOW TABLE STATUS FROM everyday;
-- volatile
SHOW TABLE STATUS FROM `everyday` WHERE Name IN ('customers', 'orders');
SHOW COLUMNS FROM customers;
SHOW FULL COLUMNS FROM customers;
SHOW FULL COLUMNS FROM `customers` FROM `everyday` LIKE '%';
SHOW FIELDS FROM orders IN everyday WHERE `Null` = 'NO';
SHOW COLUMNS FROM everyday.products LIKE 'p%';
SHOW INDEX FROM products;
SHOW INDEXES FROM products FROM everyday WHERE Key_name = 'PRIMARY';
SHOW KEYS FROM `orders`;
SHOW INDEX FROM `everyday`.`order_items` WHERE Non_unique = 0;
SHOW CREATE DATABASE everyday;
SHOW CREATE SCHEMA IF NOT EXISTS `everyday`;
SHOW CREATE TABLE customers;
SHOW CREATE TABLE `everyday`.`readings`;
SHOW CREATE VIEW order_totals;
SHOW CREATE TABLE order_totals;
SHOW CREATE FUNCTION with_tax;
SHOW CREATE PROCEDURE everyday.orders_of;
SHOW CREATE TRIGGER items_have_a_price;
SHOW CREATE EVENT forget_old_orders;
SHOW CREATE USER CURRENT_USER();
SHOW CREATE USER 'app'@'%';
SHOW TRIGGERS;
SHOW TRIGGERS FROM everyday LIKE 'order%';
SHOW EVENTS;
SHOW EVENTS IN everyday WHERE Status = 'DISABLED';
SHOW PROCEDURE STATUS WHERE Db = 'everyday';
SHOW FUNCTION STATUS LIKE 'with_tax';
SHOW GRANTS;
SHOW GRANTS FOR CURRENT_USER();
SHOW GRANTS FOR 'app'@'%';
SHOW GRANTS FOR everyday_reader;
SHOW PRIVILEGES;
SHOW ENGINES;
SHOW STORAGE ENGINES;
SHOW PLUGINS;
SHOW CHARACTER SET;
SHOW CHARACTER SET LIKE 'utf8%';
SHOW CHARSET WHERE Maxlen = 1;
SHOW COLLATION LIKE 'utf8mb4_gen%';
SHOW COLLATION WHERE Charset = 'latin1' AND `Default` = 'Yes';
SHOW VARIABLES LIKE 'max_connections';
SHOW GLOBAL VARIABLES LIKE 'innodb_buffer%';
SHOW SESSION VARIABLES WHERE Variable_name IN ('autocommit', 'sql_mode', 'wait_timeout');
SHOW LOCAL VARIABLES LIKE 'character\_set\_%';
-- volatile
SHOW VARIABLES;
-- volatile
SHOW STATUS;
-- volatile
SHOW GLOBAL STATUS;
-- volatile
SHOW GLOBAL STATUS LIKE 'Threads_%';
-- volatile
SHOW SESSION STATUS LIKE 'Handler_read%';
-- volatile
SHOW GLOBAL STATUS WHERE Variable_name IN ('Uptime', 'Questions', 'Slow_queries', 'Aborted_connects');
-- volatile
SHOW STATUS LIKE 'Ssl_cipher';
-- volatile
SHOW PROCESSLIST;
-- volatile
SHOW FULL PROCESSLIST;
-- volatile
SHOW ENGINE INNODB STATUS;
-- volatile
SHOW ENGINE INNODB MUTEX;
-- volatile
SHOW ENGINE PERFORMANCE_SCHEMA STATUS;
SHOW PROFILES;
SHOW PROFILE;
SHOW PROFILE ALL FOR QUERY 1;
-- volatile
SHOW WARNINGS;
-- volatile
SHOW WARNINGS LIMIT 10;
-- volatile
SHOW ERRORS;
-- volatile
SHOW COUNT(*) WARNINGS;
-- volatile
SHOW COUNT(*) ERRORS;

-- kind: DESCRIBE, EXPLAIN, USE, HELP
DESCRIBE customers;
DESC everyday.orders;
DESC `products` price;
DESCRIBE products 'p%';
EXPLAIN customers;
-- volatile
EXPLAIN SELECT * FROM customers WHERE id = 1;
-- volatile
EXPLAIN SELECT c.name, o.total FROM customers c JOIN orders o ON o.customer_id = c.id WHERE o.total > 50 ORDER BY o.placed_at;
-- volatile
EXPLAIN FORMAT=JSON SELECT * FROM customers WHERE country = 'DE';
-- volatile
DESC FORMAT = TRADITIONAL SELECT 1;
-- volatile
EXPLAIN FORMAT='json' SELECT COUNT(*) FROM orders;
-- volatile
EXPLAIN WITH x AS (SELECT 1 AS a) SELECT * FROM x;
-- volatile
EXPLAIN (SELECT id FROM customers) UNION (SELECT id FROM orders);
-- volatile
EXPLAIN SELECT * FROM readings WHERE taken >= '2025-01-01';
-- refused: only SELECT
EXPLAIN UPDATE customers SET vip = 0 WHERE id = 1;
-- refused: only SELECT
EXPLAIN DELETE FROM orders WHERE id = 1;
-- refused: only SELECT
EXPLAIN INSERT INTO categories VALUES (9, 1, 'x');
USE everyday;
USE `information_schema`;
HELP 'SELECT';
HELP 'contents';
HELP 'no such topic';
HELP contents;

-- kind: what people mistype
-- fails 1146
SELECT * FROM customer;
-- fails 1054
SELECT nam FROM customers;
-- fails 1049
SHOW TABLES FROM no_such_database;
-- fails 1064
SELECT FROM customers;
-- fails 1052
SELECT id FROM customers JOIN orders ON customers.id = orders.customer_id;
-- fails 1222
SELECT 1 UNION SELECT 1, 2;
-- fails 1242
SELECT (SELECT id FROM customers);
-- fails 1241
SELECT (1, 2);
-- fails 1193
SELECT @@no_such_variable;
-- fails 1146
DESCRIBE no_such_table;
-- fails 1582
SELECT ABS(1, 2);
-- fails 1191
SELECT * FROM products WHERE MATCH (description) AGAINST ('x');
-- fails 1305
-- refused: not a built-in function
SELECT no_such_function(1);

-- kind: questions of administrators
-- volatile
SELECT table_schema, ROUND(SUM(data_length + index_length) / 1024 / 1024, 2) AS mib, SUM(table_rows) AS about FROM information_schema.tables GROUP BY table_schema ORDER BY mib DESC;
-- volatile
SELECT TABLE_NAME, ENGINE, TABLE_ROWS, AVG_ROW_LENGTH, DATA_LENGTH, INDEX_LENGTH, DATA_FREE, AUTO_INCREMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'everyday' AND TABLE_TYPE = 'BASE TABLE' ORDER BY DATA_LENGTH + INDEX_LENGTH DESC LIMIT 20;
-- volatile
SELECT table_name, CONCAT(ROUND(data_free / 1024 / 1024, 1), ' MiB') AS wasted FROM information_schema.tables WHERE table_schema = DATABASE() AND data_free > 0;
SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES t WHERE TABLE_SCHEMA = 'everyday' AND TABLE_TYPE = 'BASE TABLE' AND NOT EXISTS (SELECT 1 FROM information_schema.STATISTICS s WHERE s.TABLE_SCHEMA = t.TABLE_SCHEMA AND s.TABLE_NAME = t.TABLE_NAME AND s.INDEX_NAME = 'PRIMARY') ORDER BY TABLE_NAME;
SELECT table_name, engine FROM information_schema.tables WHERE table_schema = 'everyday' AND engine <> 'InnoDB' ORDER BY table_name;
SELECT ENGINE, COUNT(*) AS n FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'everyday' AND ENGINE IS NOT NULL GROUP BY ENGINE ORDER BY ENGINE;
SELECT COLUMN_NAME, ORDINAL_POSITION, COLUMN_DEFAULT, IS_NULLABLE, DATA_TYPE, COLUMN_TYPE, COLUMN_KEY, EXTRA, COLUMN_COMMENT FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'everyday' AND TABLE_NAME = 'customers' ORDER BY ORDINAL_POSITION;
SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'everyday' AND DATA_TYPE IN ('json', 'longtext', 'text') ORDER BY 1, 2;
SELECT TABLE_NAME, INDEX_NAME, GROUP_CONCAT(COLUMN_NAME ORDER BY SEQ_IN_INDEX) AS columns_ FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = 'everyday' GROUP BY TABLE_NAME, INDEX_NAME ORDER BY TABLE_NAME, INDEX_NAME;
-- indexes whose columns are the first ones of another
SELECT a.TABLE_NAME, a.INDEX_NAME AS shorter, b.INDEX_NAME AS longer FROM (SELECT TABLE_NAME, INDEX_NAME, GROUP_CONCAT(COLUMN_NAME ORDER BY SEQ_IN_INDEX) AS cols FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = 'everyday' GROUP BY TABLE_NAME, INDEX_NAME) a JOIN (SELECT TABLE_NAME, INDEX_NAME, GROUP_CONCAT(COLUMN_NAME ORDER BY SEQ_IN_INDEX) AS cols FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = 'everyday' GROUP BY TABLE_NAME, INDEX_NAME) b ON a.TABLE_NAME = b.TABLE_NAME AND a.INDEX_NAME <> b.INDEX_NAME AND b.cols LIKE CONCAT(a.cols, ',%') ORDER BY 1, 2;
SELECT CONSTRAINT_NAME, TABLE_NAME, COLUMN_NAME, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA = 'everyday' AND REFERENCED_TABLE_NAME IS NOT NULL ORDER BY TABLE_NAME, CONSTRAINT_NAME;
SELECT rc.CONSTRAINT_NAME, rc.UPDATE_RULE, rc.DELETE_RULE, rc.TABLE_NAME, rc.REFERENCED_TABLE_NAME FROM information_schema.REFERENTIAL_CONSTRAINTS rc WHERE rc.CONSTRAINT_SCHEMA = 'everyday' ORDER BY 1;
SELECT TABLE_NAME, CONSTRAINT_NAME, CONSTRAINT_TYPE FROM information_schema.TABLE_CONSTRAINTS WHERE TABLE_SCHEMA = 'everyday' ORDER BY TABLE_NAME, CONSTRAINT_TYPE, CONSTRAINT_NAME;
SELECT CONSTRAINT_NAME, CHECK_CLAUSE FROM information_schema.CHECK_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = 'everyday' ORDER BY 1;
SELECT PARTITION_NAME, PARTITION_METHOD, PARTITION_EXPRESSION, PARTITION_DESCRIPTION FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = 'everyday' AND TABLE_NAME = 'readings' ORDER BY PARTITION_ORDINAL_POSITION;
SELECT TRIGGER_NAME, EVENT_MANIPULATION, EVENT_OBJECT_TABLE, ACTION_TIMING, ACTION_STATEMENT FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = 'everyday';
SELECT ROUTINE_NAME, ROUTINE_TYPE, DATA_TYPE, ROUTINE_DEFINITION, IS_DETERMINISTIC, SQL_DATA_ACCESS FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'everyday' ORDER BY ROUTINE_NAME;
SELECT SPECIFIC_NAME, ORDINAL_POSITION, PARAMETER_MODE, PARAMETER_NAME, DTD_IDENTIFIER FROM information_schema.PARAMETERS WHERE SPECIFIC_SCHEMA = 'everyday' ORDER BY 1, 2;
SELECT TABLE_NAME, VIEW_DEFINITION, IS_UPDATABLE, SECURITY_TYPE FROM information_schema.VIEWS WHERE TABLE_SCHEMA = 'everyday';
SELECT EVENT_NAME, STATUS, INTERVAL_VALUE, INTERVAL_FIELD, EVENT_DEFINITION FROM information_schema.EVENTS WHERE EVENT_SCHEMA = 'everyday';
SELECT SCHEMA_NAME, DEFAULT_CHARACTER_SET_NAME, DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys') ORDER BY 1;
SELECT GRANTEE, PRIVILEGE_TYPE, IS_GRANTABLE FROM information_schema.USER_PRIVILEGES WHERE GRANTEE LIKE '%app%' ORDER BY PRIVILEGE_TYPE;
SELECT GRANTEE, TABLE_SCHEMA, PRIVILEGE_TYPE FROM information_schema.SCHEMA_PRIVILEGES WHERE TABLE_SCHEMA = 'everyday' ORDER BY 1, 3;
SELECT * FROM information_schema.TABLE_PRIVILEGES WHERE TABLE_SCHEMA = 'everyday';
SELECT * FROM information_schema.COLUMN_PRIVILEGES WHERE TABLE_SCHEMA = 'everyday';
SELECT ENGINE, SUPPORT, TRANSACTIONS, XA, SAVEPOINTS FROM information_schema.ENGINES ORDER BY ENGINE;
SELECT PLUGIN_NAME, PLUGIN_STATUS, PLUGIN_TYPE FROM information_schema.PLUGINS WHERE PLUGIN_STATUS = 'ACTIVE' ORDER BY PLUGIN_NAME;
SELECT CHARACTER_SET_NAME, DEFAULT_COLLATE_NAME, MAXLEN FROM information_schema.CHARACTER_SETS ORDER BY 1;
SELECT COLLATION_NAME, CHARACTER_SET_NAME FROM information_schema.COLLATIONS WHERE CHARACTER_SET_NAME = 'utf8mb4' AND IS_DEFAULT = 'Yes';
SELECT * FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY WHERE COLLATION_NAME = 'latin1_bin';
SELECT COUNT(*) > 100 FROM information_schema.KEYWORDS;
-- volatile
SELECT ID, USER, HOST, DB, COMMAND, TIME, STATE, LEFT(INFO, 120) AS info FROM information_schema.PROCESSLIST WHERE COMMAND <> 'Sleep' ORDER BY TIME DESC;
-- volatile
SELECT user, COUNT(*) AS connections, SUM(command = 'Sleep') AS idle FROM information_schema.processlist GROUP BY user ORDER BY connections DESC;
-- volatile
SELECT SUBSTRING_INDEX(host, ':', 1) AS client, COUNT(*) FROM information_schema.processlist GROUP BY client;
-- volatile
SELECT trx_id, trx_state, trx_started, TIMESTAMPDIFF(SECOND, trx_started, NOW()) AS age, trx_mysql_thread_id, trx_rows_locked, trx_rows_modified, trx_query FROM information_schema.INNODB_TRX ORDER BY trx_started;
-- volatile
SELECT POOL_ID, POOL_SIZE, FREE_BUFFERS, DATABASE_PAGES, MODIFIED_DATABASE_PAGES, HIT_RATE FROM information_schema.INNODB_BUFFER_POOL_STATS;
-- volatile
SELECT * FROM information_schema.INNODB_CMP;
-- volatile
SELECT * FROM information_schema.INNODB_CMPMEM;
SELECT value FROM information_schema.INNODB_FT_DEFAULT_STOPWORD ORDER BY value LIMIT 5;
SELECT user, host, plugin FROM mysql.user WHERE user = 'app';
SELECT user, host FROM mysql.user WHERE authentication_string = '' AND user = 'app';
SELECT Db, User, Select_priv FROM mysql.db WHERE Db = 'everyday';
SELECT name, description FROM mysql.help_topic WHERE name = 'no such topic';
-- volatile
SELECT * FROM mysql.general_log LIMIT 5;
-- volatile
SELECT start_time, query_time, rows_examined, sql_text FROM mysql.slow_log ORDER BY query_time DESC LIMIT 10;
SELECT table_name, last_update IS NOT NULL FROM mysql.innodb_table_stats WHERE database_name = 'everyday' ORDER BY table_name;
SELECT index_name, stat_name FROM mysql.innodb_index_stats WHERE database_name = 'everyday' AND table_name = 'customers' ORDER BY 1, 2;
SELECT COUNT(*) FROM mysql.time_zone_name;
-- volatile
SELECT VARIABLE_NAME, VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME IN ('Threads_connected', 'Threads_running') ORDER BY 1;
-- volatile
SELECT DIGEST_TEXT, COUNT_STAR, ROUND(SUM_TIMER_WAIT / 1e12, 3) AS seconds, ROUND(AVG_TIMER_WAIT / 1e9, 3) AS avg_ms, SUM_ROWS_EXAMINED FROM performance_schema.events_statements_summary_by_digest ORDER BY SUM_TIMER_WAIT DESC LIMIT 10;
-- volatile
SELECT OBJECT_SCHEMA, OBJECT_NAME, INDEX_NAME, COUNT_STAR FROM performance_schema.table_io_waits_summary_by_index_usage WHERE INDEX_NAME IS NOT NULL AND COUNT_STAR = 0 AND OBJECT_SCHEMA = 'everyday' ORDER BY 2, 3;
-- volatile
SELECT OBJECT_NAME, COUNT_READ, COUNT_WRITE, SUM_TIMER_WAIT FROM performance_schema.table_io_waits_summary_by_table WHERE OBJECT_SCHEMA = DATABASE();
-- volatile
SELECT EVENT_NAME, COUNT_STAR, SUM_TIMER_WAIT FROM performance_schema.events_waits_summary_global_by_event_name WHERE COUNT_STAR > 0 ORDER BY SUM_TIMER_WAIT DESC LIMIT 10;
-- volatile
SELECT FILE_NAME, EVENT_NAME, COUNT_READ, SUM_NUMBER_OF_BYTES_READ FROM performance_schema.file_summary_by_instance ORDER BY SUM_NUMBER_OF_BYTES_READ DESC LIMIT 10;
-- volatile
SELECT THREAD_ID, NAME, TYPE, PROCESSLIST_ID, PROCESSLIST_USER, PROCESSLIST_STATE FROM performance_schema.threads WHERE TYPE = 'FOREGROUND';
-- volatile
SELECT USER, HOST, CURRENT_CONNECTIONS, TOTAL_CONNECTIONS FROM performance_schema.accounts;
-- volatile
SELECT EVENT_NAME, CURRENT_NUMBER_OF_BYTES_USED FROM performance_schema.memory_summary_global_by_event_name ORDER BY CURRENT_NUMBER_OF_BYTES_USED DESC LIMIT 10;
SELECT NAME, ENABLED FROM performance_schema.setup_consumers ORDER BY NAME;
-- volatile
SELECT * FROM performance_schema.metadata_locks WHERE OBJECT_SCHEMA = 'everyday';
-- volatile
SELECT (SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Innodb_buffer_pool_reads') / (SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Innodb_buffer_pool_read_requests') AS miss_rate;
-- volatile
SHOW GLOBAL STATUS LIKE 'Innodb_row_lock%';

-- kind: introspection by frameworks
SELECT version(), @@version_comment, @@sql_mode, @@default_storage_engine, @@sql_auto_is_null, @@lower_case_table_names, CONVERT_TZ('2001-01-01 01:00:00', 'UTC', 'UTC') IS NOT NULL;
SHOW FULL TABLES FROM `everyday` WHERE `Table_type` IN ('BASE TABLE', 'VIEW');
SELECT table_name, table_type, table_comment FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY table_name;
SELECT * FROM `customers` LIMIT 1;
SELECT column_name, data_type, character_maximum_length, numeric_precision, numeric_scale, extra, column_default, collation_name, CASE WHEN column_type LIKE '% unsigned' THEN 1 ELSE 0 END AS is_unsigned, column_comment FROM information_schema.columns WHERE table_name = 'products' AND table_schema = DATABASE() ORDER BY ordinal_position;
SELECT kc.`constraint_name`, kc.`column_name`, kc.`referenced_table_name`, kc.`referenced_column_name`, c.`constraint_type` FROM information_schema.key_column_usage AS kc, information_schema.table_constraints AS c WHERE kc.table_schema = DATABASE() AND c.table_schema = kc.table_schema AND c.constraint_name = kc.constraint_name AND c.constraint_type != 'CHECK' AND kc.table_name = 'orders' ORDER BY kc.`ordinal_position`, 1;
SELECT cc.constraint_name, cc.check_clause FROM information_schema.check_constraints AS cc, information_schema.table_constraints AS tc WHERE cc.constraint_schema = DATABASE() AND tc.table_schema = cc.constraint_schema AND cc.constraint_name = tc.constraint_name AND tc.constraint_type = 'CHECK' AND tc.table_name = 'customers' ORDER BY 1;
SELECT table_name AS `name`, (data_length + index_length) > 0 AS `size`, table_comment AS `comment`, engine AS `engine`, table_collation AS `collation` FROM information_schema.tables WHERE table_schema = 'everyday' AND table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') ORDER BY table_name;
SELECT index_name AS `name`, GROUP_CONCAT(column_name ORDER BY seq_in_index) AS `columns`, index_type AS `type`, NOT non_unique AS `unique` FROM information_schema.statistics WHERE table_schema = 'everyday' AND table_name = 'products' GROUP BY index_name, index_type, non_unique ORDER BY index_name;
SELECT kc.constraint_name AS `name`, GROUP_CONCAT(kc.column_name ORDER BY kc.ordinal_position) AS `columns`, kc.referenced_table_schema AS `foreign_schema`, kc.referenced_table_name AS `foreign_table`, rc.update_rule AS `on_update`, rc.delete_rule AS `on_delete` FROM information_schema.key_column_usage kc JOIN information_schema.referential_constraints rc ON kc.constraint_schema = rc.constraint_schema AND kc.constraint_name = rc.constraint_name WHERE kc.table_schema = 'everyday' AND kc.table_name = 'order_items' AND kc.referenced_table_name IS NOT NULL GROUP BY kc.constraint_name, kc.referenced_table_schema, kc.referenced_table_name, rc.update_rule, rc.delete_rule ORDER BY 1;
SELECT EXISTS (SELECT 1 FROM information_schema.tables WHERE table_schema = SCHEMA() AND table_name = 'migrations' AND table_type IN ('BASE TABLE', 'SYSTEM VERSIONED')) AS `exists`;
SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'everyday';
SELECT 1 AS one FROM `customers` WHERE `customers`.`email` = BINARY 'ada@example.com' LIMIT 1;
SELECT `orders`.`id` AS t0_r0, `orders`.`total` AS t0_r1, `customers`.`id` AS t1_r0, `customers`.`name` AS t1_r1 FROM `orders` LEFT OUTER JOIN `customers` ON `customers`.`id` = `orders`.`customer_id` WHERE `orders`.`status` IN ('paid', 'new') ORDER BY `orders`.`id` ASC LIMIT 25;
SELECT `everyday`.`customers`.`id`, `everyday`.`customers`.`name` FROM `everyday`.`customers` WHERE (`everyday`.`customers`.`id` = 4 AND 1=1) LIMIT 1 OFFSET 0;
select c1_0.id,c1_0.name,c1_0.country from customers c1_0 where c1_0.id=2;
select o1_0.id,c1_0.id,c1_0.name,o1_0.total from orders o1_0 left join customers c1_0 on c1_0.id=o1_0.customer_id order by o1_0.id limit 0,10;
SELECT anon_1.country, count(*) AS count_1 FROM (SELECT customers.country AS country FROM customers WHERE customers.credit > 1.5) AS anon_1 GROUP BY anon_1.country ORDER BY anon_1.country;
SELECT COUNT(*) AS `__count` FROM (SELECT DISTINCT `orders`.`customer_id` AS `col1` FROM `orders`) subquery;
SELECT (1) AS `a` FROM `customers` WHERE `customers`.`name` LIKE BINARY '%a%' LIMIT 1;
select exists(select * from `customers` where `email` = 'ada@example.com') as `exists`;
select count(*) as aggregate from `orders` where `orders`.`customer_id` = 1 and `orders`.`customer_id` is not null;
select `customers`.*, (select count(*) from `orders` where `customers`.`id` = `orders`.`customer_id`) as `orders_count` from `customers` order by `id`;
select * from `customers` where json_unquote(json_extract(`tags`, '$[0]')) = 'late';
SELECT CAST('test plain returns' AS CHAR(60)) AS anon_1;
SELECT CAST('test collated returns' AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AS anon_1;
SELECT 'x' AS `some label`;
SHOW VARIABLES LIKE 'sql_mode';
SHOW VARIABLES LIKE 'lower_case_table_names';
SHOW VARIABLES WHERE Variable_name IN ('collation_connection', 'character_set_client', 'tx_isolation', 'transaction_isolation');
-- refused: only SELECT
SET NAMES utf8mb4 COLLATE utf8mb4_unicode_ci;
-- refused: only SELECT
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
-- refused: only SELECT
SET SESSION sql_mode = 'ANSI_QUOTES';
-- refused: only SELECT
SET autocommit = 0;
-- refused: only SELECT
START TRANSACTION READ ONLY;
-- refused: only SELECT
BEGIN;
-- refused: only SELECT
COMMIT;
-- refused: only SELECT
ROLLBACK;

-- kind: dashboards and other tools
SELECT UNIX_TIMESTAMP(placed_at) DIV 86400 * 86400 AS time, SUM(total) AS value, status AS metric FROM orders WHERE placed_at BETWEEN FROM_UNIXTIME(1704067200) AND FROM_UNIXTIME(1735689600) GROUP BY 1, status ORDER BY 1, metric;
SELECT UNIX_TIMESTAMP(taken) AS time_sec, reading AS value, CONCAT('sensor ', sensor) AS metric FROM readings WHERE taken >= '2023-01-01' ORDER BY taken ASC, id;
SELECT STR_TO_DATE(CONCAT(YEAR(placed_at), '-', MONTH(placed_at), '-01'), '%Y-%m-%d') AS `placed_at`, COUNT(*) AS `count` FROM `orders` GROUP BY STR_TO_DATE(CONCAT(YEAR(placed_at), '-', MONTH(placed_at), '-01'), '%Y-%m-%d') ORDER BY 1 ASC;
SELECT `source`.`country` AS `country`, SUM(`source`.`credit`) AS `sum` FROM (SELECT `customers`.`country`, `customers`.`credit` FROM `customers`) AS `source` GROUP BY `source`.`country` ORDER BY `source`.`country` ASC LIMIT 10000;
SELECT DATE_ADD(DATE(placed_at), INTERVAL (1 - DAYOFWEEK(placed_at)) DAY) AS week, COUNT(*) FROM orders GROUP BY week ORDER BY week;
SELECT str_to_date(date_format(placed_at, '%Y-%m-%d %H:%i'), '%Y-%m-%d %H:%i') AS minute_, count(*) FROM orders GROUP BY minute_ ORDER BY minute_;
/* a tool's greeting */ SELECT DATABASE();
/* application=somewhere */ SELECT @@session.auto_increment_increment AS auto_increment_increment, @@character_set_client AS character_set_client, @@character_set_connection AS character_set_connection, @@character_set_results AS character_set_results, @@init_connect AS init_connect, @@license AS license, @@performance_schema AS performance_schema, @@sql_mode AS sql_mode, @@system_time_zone AS system_time_zone, @@time_zone AS time_zone, @@wait_timeout AS wait_timeout;
SELECT `SCHEMA_NAME`, `DEFAULT_COLLATION_NAME` FROM `information_schema`.`SCHEMATA` WHERE `SCHEMA_NAME` LIKE 'every%';
SELECT TABLE_SCHEMA AS TABLE_CAT, NULL AS TABLE_SCHEM, TABLE_NAME, IF(TABLE_TYPE = 'BASE TABLE', 'TABLE', TABLE_TYPE) AS TABLE_TYPE, TABLE_COMMENT AS REMARKS FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = 'everyday' AND TABLE_NAME LIKE 'cust%' HAVING TABLE_TYPE IN ('TABLE', 'VIEW') ORDER BY TABLE_NAME;
SELECT cc.COLUMN_NAME, cc.DATA_TYPE, cc.COLUMN_TYPE FROM information_schema.COLUMNS cc WHERE cc.TABLE_SCHEMA = 'everyday' AND cc.TABLE_NAME = 'order_totals' ORDER BY cc.ORDINAL_POSITION;
SELECT a.*, CASE WHEN a.total > 100 THEN 'large' ELSE 'small' END AS size FROM (SELECT * FROM orders) a ORDER BY a.id;
SELECT * FROM orders WHERE 1 = 0;
SELECT COUNT(1) FROM products;
SELECT NULL, TRUE, 'text', 1.50, 2e0, DATE '2024-01-01', x'00', b'1';
SELECT LOGFILE_GROUP_NAME, FILE_NAME, ENGINE FROM INFORMATION_SCHEMA.FILES WHERE FILE_TYPE = 'UNDO LOG' AND FILE_NAME IS NULL;
SHOW VARIABLES LIKE 'gtid\\_mode';
SHOW TRIGGERS LIKE 'customers';
SHOW FIELDS FROM `order_totals`;
SHOW CREATE TABLE `order_items`;
-- refused: executable comment
SELECT /*!40001 SQL_NO_CACHE */ `id`, `name` FROM `categories`;
-- refused: only SELECT
LOCK TABLES customers READ;
-- refused: only SELECT
UNLOCK TABLES;
-- refused: only SELECT
FLUSH TABLES;
-- refused: only SELECT
ANALYZE TABLE employees;
-- refused: only SELECT
CHECK TABLE employees;
-- refused: only SELECT
CHECKSUM TABLE employees;
-- refused: only SELECT
DO SLEEP(0);
-- refused: only SELECT
CALL orders_of(1);
-- fails 1094
-- refused: only SELECT
KILL QUERY 4294967295;
-- refused: only SELECT
PREPARE p FROM 'SELECT 1';

-- kind: refused though they only read
-- refused: it locks rows
SELECT * FROM customers WHERE id = 1 FOR UPDATE;
-- refused: it locks rows
SELECT * FROM customers WHERE id = 1 LOCK IN SHARE MODE;
-- refused: a variable
SELECT COUNT(*) INTO @n FROM customers;
-- refused: stored function
SELECT everyday.with_tax(price) FROM products;
-- refused: not a built-in function
SELECT name, with_tax(price) FROM products ORDER BY id;
-- refused: it touches locks
SELECT IS_FREE_LOCK('x');
-- refused: it touches locks
SELECT IS_USED_LOCK('x');
-- refused: it touches locks
SELECT GET_LOCK('everyday', 0), RELEASE_LOCK('everyday');
-- refused: it touches locks
SELECT RELEASE_ALL_LOCKS();
-- refused: files of the server's host
SELECT LOAD_FILE('/no/such/file');
-- refused: counters
-- volatile
SELECT * FROM information_schema.INNODB_CMP_RESET;

-- kind: names that are words
SELECT `key`, `rank`, `group`, `order`.`update` FROM `order`;
SELECT value, status, date, time, timestamp, user, password, type, name, share, count, position, language FROM `order`;
SELECT o.key, o.rank, o.group, o.value, o.end, o.interval, o.condition FROM `order` o;
SELECT o.lock, o.update, o.release, o.change, o.set, o.into, o.call, o.procedure FROM `order` AS o;
SELECT o . `lock` , o. `into` FROM `order` o;
SELECT date AS date, time time, status AS status, user AS 'user' FROM `order` WHERE type = 't' AND date = '2024-01-01' ORDER BY position;
SELECT COUNT(*) AS count, MAX(status) AS max, MIN(status) AS min, SUM(share) sum, AVG(status) AS avg FROM `order`;
SELECT NOW() IS NOT NULL AS now, 1 AS replace_, 2 AS comment, 3 AS engine, 4 AS begin, 5 AS commit, 6 AS start, 7 AS truncate, 8 AS prepare, 9 AS execute, 10 AS handler, 11 AS flush, 12 AS reset, 13 AS shutdown, 14 AS install, 15 AS do_;
SELECT t.`count`, x.cnt FROM `order` t JOIN (SELECT `key`, COUNT(*) AS cnt FROM `order` GROUP BY `key`) x USING (`key`);
SELECT * FROM `größen`;
SELECT größen.`1st`, `$cost`, `with space`, `a-b`, ключ, größen.UPPER FROM größen;
SELECT 1 AS größe, 2 AS _x, 3 AS y$, 4 AS 1st;
SELECT status FROM `order` WHERE status IN (SELECT status FROM orders WHERE 1 = 0) OR status = 3;
SELECT e.name AS employee, d.department AS `desc`, e.hired AS `when` FROM employees e JOIN (SELECT DISTINCT department FROM employees) AS d ON d.department = e.department ORDER BY e.id;
WITH data (key_, value) AS (SELECT 1, 2), event AS (SELECT 3 AS x), plan AS (SELECT 4 AS y) SELECT * FROM data, event, plan;
WITH columns_ AS (SELECT 1 AS a), `select` (x, y) AS (SELECT 1, 2), rank_ AS (SELECT 5 AS r) SELECT columns_.a, `select`.x, rank_.r FROM columns_, `select`, rank_;
SELECT status, user, session, global_, local_ FROM (SELECT 1 AS status, 2 AS user, 3 AS session, 4 AS global_, 5 AS local_) AS variables;

-- kind: parentheses and spaces
SELECT(1),(2),(SELECT(3));
SELECT DISTINCT(country),name FROM(SELECT*FROM customers)AS c WHERE(id)IN(1,2,3)AND(id)NOT IN(9)ORDER BY(name)LIMIT 5;
SELECT UPPER ('x'), CONCAT ('a', 'b'), DATE_FORMAT ('2024-01-01', '%Y'), COALESCE (NULL, 1), IF (1, 2, 3), LEFT ('abc', 1), YEAR ('2024-01-01'), MOD (5, 3), ROUND (2.5);
-- refused: with a space before (
-- fails 1064
SELECT COUNT (*) FROM customers;
SELECT CASE(id)WHEN(1)THEN('one')WHEN(2)THEN('two')ELSE('many')END AS word FROM customers ORDER BY id;
SELECT id FROM customers WHERE(country='DE'OR country='FR')AND NOT(vip)XOR(0)ORDER BY id;
SELECT id FROM customers WHERE id BETWEEN(1)AND(3)AND name LIKE('%a%')AND name REGEXP('a')ORDER BY id;
SELECT c.id FROM(customers c)JOIN(orders o)ON(o.customer_id=c.id)WHERE EXISTS(SELECT 1)AND c.id=ANY(SELECT 1 UNION SELECT 4)GROUP BY(c.id)HAVING(COUNT(*))>0 ORDER BY c.id;
SELECT c.id FROM customers c LEFT JOIN (orders o INNER JOIN order_items i ON i.order_id = o.id) ON o.customer_id = c.id ORDER BY c.id, o.id, i.line;
SELECT * FROM customers JOIN (SELECT 1 AS id) AS one USING(id);
SELECT ((1 + 2) * (3 - (4))), -(5), +(6), ~(7) & 15, !(0), (((8)));
SELECT BINARY('a'), INTERVAL(5, 1, 10), '2024-01-01' + INTERVAL(1 + 1)DAY, DATE('2024-01-01')+INTERVAL 1 DAY;
(SELECT 1);
((SELECT 1) UNION (SELECT 2)) ORDER BY 1;
(SELECT id FROM customers WHERE id = 1) UNION ALL (SELECT id FROM orders WHERE id = 2) LIMIT 5;
SELECT 1 UNION(SELECT 2)UNION ALL(SELECT 3)ORDER BY 1;
(SELECT 1)EXCEPT(SELECT 2);
(SELECT 1)INTERSECT(SELECT 1);
(SELECT * FROM customers) ORDER BY id LIMIT 1;
SELECT * FROM (SELECT * FROM (SELECT * FROM (SELECT id FROM customers) AS a) AS b) AS c ORDER BY id;
SELECT COUNT(DISTINCT country, vip), COUNT(DISTINCT(country)), COUNT(ALL country), SUM(ALL id) FROM customers;
SELECT id, SUM(total)OVER(PARTITION BY(customer_id)ORDER BY(id)ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)AS s FROM orders ORDER BY id;
SELECT SUM(total) OVER (w ROWS 1 PRECEDING), SUM(total) OVER w, COUNT(*) OVER () FROM orders WINDOW w AS (ORDER BY id) ORDER BY id;
SELECT RANK() OVER (PARTITION BY department ORDER BY salary DESC, id) r, name FROM employees WINDOW x AS (), y AS (x ORDER BY id) ORDER BY id;
SELECT CAST(1.23456 AS DECIMAL(5,2)),CAST('a' AS CHAR(10)),CAST('2024-01-01' AS DATETIME(6)),CAST(1 AS UNSIGNED INTEGER),CONVERT('1.5',DECIMAL(3,1)),CAST('x' AS CHAR CHARACTER SET utf8mb4),CAST(NULL AS SIGNED);
SELECT id FROM customers AS c USE INDEX () WHERE c.id = 1;
SELECT id FROM customers USE INDEX FOR JOIN (PRIMARY) IGNORE INDEX FOR GROUP BY (customers_country) ORDER BY id;
SELECT o.id FROM orders AS o USE KEY (orders_customer), customers AS c FORCE KEY (PRIMARY) WHERE c.id = o.customer_id ORDER BY o.id;
SELECT MATCH title, body AGAINST ('garden') > 0 AS hit FROM articles ORDER BY id;
SELECT id FROM articles WHERE MATCH(title,body)AGAINST('garden'IN BOOLEAN MODE)ORDER BY id;
SELECT GROUP_CONCAT(DISTINCT(country)ORDER BY(country)SEPARATOR'-')FROM customers;
SELECT 1;
SELECT 1; -- bye
;
SELECT 1 # hash
;
SELECT 5--1, 5-- 1
;
SELECT /**/ 1 /***/ + /* /* */ 2;
SELECT	1	AS	tab_separated;
SELECT 'a' /* c */ 'b', .5, 5., 1e-3, 0xAB, x'AB', 0b1, b'1', N'x', _utf8mb4 'y', -.5;
SELECT @@session . sql_mode IS NOT NULL, @@version_comment IS NULL;
SELECT "double ""quoted""", 'single ''quoted''', 'a\'b', "a\"b", 'percent \% and \_';
SELECT '%' LIKE '\%', 'a' 'b', 'line
break';
SELECT customers.* , orders.id FROM customers , orders WHERE customers.id = orders.customer_id ORDER BY orders.id;
SELECT everyday . customers . id FROM everyday . customers ORDER BY id;
SELECT {fn UPPER('odbc')} , {fn CURDATE()} IS NOT NULL;
SELECT * FROM {oj customers LEFT OUTER JOIN orders ON customers.id = orders.customer_id} ORDER BY orders.id, customers.id;
SELECT EXTRACT(HOUR_SECOND FROM '2024-01-01 10:11:12'), TIMESTAMPADD(SQL_TSI_DAY, 1, '2024-01-01'), GET_FORMAT(DATETIME, 'ISO'), TRIM(BOTH FROM ' x '), TRIM('x' FROM 'xax'), SUBSTRING('abc' FROM 2), CHAR(77 USING latin1), WEIGHT_STRING('x' AS BINARY(2)) IS NOT NULL;
SELECT IF(EXISTS(SELECT 1), 'y', 'n'), IFNULL((SELECT MAX(id) FROM customers WHERE id > 100), 0), (SELECT COUNT(*) FROM orders) > 3 AND TRUE;
SELECT name FROM customers WHERE name LIKE CONCAT('%', 'a', '%') AND country NOT LIKE 'X_' AND email RLIKE '.com$' ORDER BY id;
SELECT id FROM orders WHERE (customer_id, status) = (1, 'paid') OR ROW(customer_id, status) = ROW(4, 'new') ORDER BY id;
SELECT * FROM orders WHERE placed_at BETWEEN '2024-02-01' AND '2024-03-01' + INTERVAL 1 MONTH - INTERVAL 1 SECOND ORDER BY id;
SELECT SQL_NO_CACHE DISTINCT SQL_BIG_RESULT HIGH_PRIORITY country FROM customers ORDER BY country;
SELECT COUNT(*) FROM customers GROUP BY country WITH ROLLUP;
SELECT NULL AS nothing, 'NULL' AS text, '' AS empty_, 0 AS zero, FALSE AS no, CURRENT_USER() = CURRENT_USER AS same;
SELECT id, name, id, name FROM customers ORDER BY id LIMIT 1;
SELECT 1, 1, '1', 1.0, 1e0, TRUE;
SELECT * FROM customers c, customers d WHERE c.id = d.id AND c.id = 1;
SELECT SQL_NO_CACHE (1), SQL_BUFFER_RESULT_ FROM (SELECT 1 AS SQL_BUFFER_RESULT_) AS t;
SELECT SQL_BUFFER_RESULT (id) FROM customers ORDER BY id;
SELECT SQL_BIG_RESULT (country) FROM customers GROUP BY country ORDER BY country;
SELECT SQL_SMALL_RESULT (country), COUNT(*) FROM customers GROUP BY country ORDER BY country;
SELECT SQL_CALC_FOUND_ROWS (id) FROM customers ORDER BY id LIMIT 1;
SELECT 'a|_c' LIKE 'a||_c' ESCAPE ('|'), country LIKE '%' ESCAPE '' FROM customers WHERE id = 1;
SELECT * FROM JSON_TABLE('[{"a": 1}]', '$[*]' COLUMNS (b BIT(8) PATH '$.a', t TEXT(20) PATH '$.a', d DECIMAL(5,2) PATH '$.a', dt DATETIME(3) PATH '$.x', c CHAR(3) PATH '$.a')) AS jt;

-- kind: SHOW with conditions
SHOW TABLES WHERE Tables_in_everyday LIKE 'c%' OR CHAR_LENGTH(Tables_in_everyday) > 12;
SHOW VARIABLES WHERE Variable_name REGEXP '^max_conn' AND Value > 5;
SHOW INDEX FROM products WHERE Column_name = 'price' AND Seq_in_index = 2;
SHOW TABLE STATUS WHERE Engine = 'nothing' AND Data_free > 0;
SHOW COLUMNS FROM products WHERE Type RLIKE 'int' AND Field NOT IN ('id');
SHOW FULL COLUMNS IN customers IN everyday WHERE Collation IS NOT NULL;
SHOW COLLATION;
SHOW CHARACTER SET WHERE `Default collation` LIKE 'utf8mb4%';
SHOW DATABASES LIKE '%\_schema';
SHOW TABLES LIKE "c%";
SHOW CREATE TABLE information_schema.TABLES;
SHOW CREATE DATABASE `mysql`;
SHOW GRANTS FOR CURRENT_USER;
SHOW CREATE USER CURRENT_USER;
SHOW GRANTS FOR app;
-- volatile
SHOW PROFILE CPU, BLOCK IO FOR QUERY 1 LIMIT 5;
SHOW PROCEDURE STATUS LIKE 'orders%';
SHOW TRIGGERS WHERE `Table` = 'order_items' AND Timing = 'BEFORE';
SHOW EVENTS FROM everyday LIKE 'forget%';
show tables like 'orders';
sHoW cReAtE tAbLe orders;

-- kind: statements that write statements
SELECT CONCAT('KILL ', id, ';') FROM information_schema.processlist WHERE user = 'nobody';
SELECT CONCAT('DROP TABLE `', table_name, '`;') FROM information_schema.tables WHERE table_schema = 'everyday' AND table_name LIKE 'order%' ORDER BY table_name;
SELECT CONCAT('ALTER TABLE ', table_schema, '.', table_name, ' ENGINE=InnoDB;') AS todo FROM information_schema.tables WHERE table_schema = 'everyday' AND engine = 'MyISAM' ORDER BY table_name;
SELECT CONCAT('SELECT ''', table_name, ''' AS t, COUNT(*) FROM `', table_name, '`') FROM information_schema.tables WHERE table_schema = 'everyday' ORDER BY table_name;
SELECT 'DELETE FROM customers; DROP TABLE customers; -- ' AS text, 'INTO OUTFILE' AS more, "UPDATE" AS word /* INSERT INTO */;
SELECT `insert`, `delete` FROM (SELECT 1 AS `insert`, 2 AS `delete`) AS `update`;
WITH `update` AS (SELECT 1 AS `drop`) SELECT `drop` FROM `update`;
SELECT t.next value, t.previous FROM (SELECT 1 AS next, 2 AS previous) AS t;
SELECT a.share, a.mode, share.x FROM (SELECT 1 AS share, 2 AS mode) a, (SELECT 3 AS x) AS share;
SELECT x.trigger, x.grant, x.kill, x.load, x.delete, x.drop, x.create, x.alter, x.replace FROM (SELECT 1 AS `trigger`, 2 AS `grant`, 3 AS `kill`, 4 AS `load`, 5 AS `delete`, 6 AS `drop`, 7 AS `create`, 8 AS `alter`, 9 AS `replace`) AS x;
