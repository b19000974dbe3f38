-- What MariaDB alone takes.

-- kind: functions of MariaDB
SELECT MD5('abc'), SHA1('abc'), SHA('abc'), SHA2('abc', 0);
SELECT PASSWORD('secret'), OLD_PASSWORD('secret'), ENCODE('text', 'key'), DECODE(ENCODE('text', 'key'), 'key');
SELECT DES_DECRYPT(DES_ENCRYPT('text')) IS NULL;
SELECT CRC32('a', 1) IS NULL, CRC32C('MariaDB'), CRC32C(1, 'x');
SELECT NVL(NULL, 'x'), NVL2(NULL, 1, 2), CHR(65), LENGTHB('Größe'), ADD_MONTHS('2024-01-31', 1), LAST_DAY('2024-02-01');
SELECT TO_CHAR('2024-02-29 13:05:00', 'YYYY-MM-DD HH24:MI:SS'), TO_CHAR('2024-02-29', 'DD MON YY');
-- volatile
SELECT SYS_GUID(), UUID(), LENGTH(RANDOM_BYTES(4));
SELECT ROWNUM(), id FROM customers WHERE ROWNUM() <= 2;
SELECT NATURAL_SORT_KEY('v10'), name FROM products ORDER BY NATURAL_SORT_KEY(sku);
SELECT SFORMAT('{} is {:.2f}', 'pi', 3.14159), SFORMAT('{1} {0}', 'a', 'b');
SELECT MEDIAN(salary) OVER (PARTITION BY department) AS median, name FROM employees ORDER BY id;
SELECT DISTINCT department, PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY salary) OVER (PARTITION BY department) AS middle, PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY salary) OVER (PARTITION BY department) AS most FROM employees ORDER BY department;
SELECT FORMAT(1234567.891, 2, 'de_CH'), TRUNCATE(2.5, 0), POSITION('b' IN 'abc'), CONVERT_TZ('2024-06-01 00:00:00', 'SYSTEM', '+02:00') IS NOT NULL;
SELECT COLUMN_LIST(extra), COLUMN_GET(extra, 'colour' AS CHAR), COLUMN_EXISTS(extra, 'size'), COLUMN_CHECK(extra), COLUMN_JSON(extra) FROM loose;
SELECT COLUMN_JSON(COLUMN_ADD(extra, 'new', 1)), COLUMN_JSON(COLUMN_DELETE(extra, 'size')), COLUMN_JSON(COLUMN_CREATE('a', 1 AS INTEGER)) FROM loose;
SELECT JSON_COMPACT('{ "a": 1 }'), JSON_DETAILED('{"a": [1, 2]}'), JSON_LOOSE('{"a":[1,2]}'), JSON_EXISTS('{"a": 1}', '$.a'), JSON_QUERY('{"a": {"b": 1}}', '$.a'), JSON_MERGE('[1]', '[2]');
SELECT JSON_EQUALS('{"a": 1, "b": 2}', '{"b": 2, "a": 1}'), JSON_NORMALIZE('{"b": 1.0, "a": [ 2 ]}');
-- since 11.2
SELECT JSON_ARRAY_INTERSECT('[1, 2, 3]', '[2, 4]'), JSON_KEY_VALUE('{"a": {"b": 1}}', '$.a'), JSON_OBJECT_TO_ARRAY('{"a": 1}'), JSON_OBJECT_FILTER_KEYS('{"a": 1, "b": 2}', '["a"]');
-- since 11.1
-- refused: it can be made to compute
SELECT JSON_SCHEMA_VALID('{"type": "object"}', '{}');
-- since 11.8
SELECT FORMAT_BYTES(1048576), FORMAT_PICO_TIME(1500000000000);
-- since 11.7
-- volatile
SELECT UUID_V4(), UUID_V7();
-- since 11.7
SELECT id, VEC_ToText(v), VEC_DISTANCE_EUCLIDEAN(v, VEC_FromText('[0,0,0]')) AS euclidean, VEC_DISTANCE_COSINE(v, VEC_FromText('[1,1,1]')) AS cosine, v FROM embeddings ORDER BY id;
-- since 11.8
SELECT id FROM embeddings ORDER BY VEC_DISTANCE(v, VEC_FromText('[1,2,2]')) LIMIT 1;
-- since 11.3
-- refused: it can be made to compute
SELECT HEX(KDF('secret', 'salt', 1000, 'pbkdf2_hmac', 128));
-- since 11.3
SELECT DATE_FORMAT('2024-01-01 00:00:00', '%Y %z'), DATE_FORMAT('2024-01-01', '%Z') IS NOT NULL;
SELECT CONCAT_OPERATOR_ORACLE('a', NULL, 'b'), DECODE_ORACLE(2, 1, 'one', 2, 'two', 'many'), LPAD_ORACLE('a', 3), RPAD_ORACLE('a', 3, 'x'), LTRIM_ORACLE(' a'), RTRIM_ORACLE('a '), REPLACE_ORACLE('abc', 'b', ''), SUBSTR_ORACLE('abc', 0, 2), TRIM_ORACLE(' a ');
SELECT DECODE_HISTOGRAM('SINGLE_PREC_HB', 0x0A) IS NOT NULL, DECODE_HISTOGRAM('DOUBLE_PREC_HB', 0x0102) IS NOT NULL;
SELECT BINLOG_GTID_POS('bin.000001', 4) IS NULL;
SELECT WSREP_LAST_SEEN_GTID(), WSREP_LAST_WRITTEN_GTID();
SELECT WEEK('2024-02-29', 1), CAST('2024-01-01' AS DATE) + INTERVAL 1 DAY, CAST('10:20' AS TIME(3)), CAST(x'31' AS INT), CAST('12' AS INTEGER), CAST('3.7' AS DECIMAL), CAST('x' AS VARCHAR(3));
SELECT CAST('2 10:20:30' AS INTERVAL DAY_SECOND(3));
SELECT CAST('123e4567-e89b-12d3-a456-426655440000' AS UUID), CAST('::1' AS INET6), CAST('192.0.2.1' AS INET4), v4, v6, id FROM hosts;
SELECT REGEXP_REPLACE('ABC', '(?i)b', '-'), REGEXP_SUBSTR('ab12cd', '[0-9]+'), REGEXP_INSTR('abc', '(?=c)'), 'ab' REGEXP '(?i)B';
SELECT GROUP_CONCAT(name ORDER BY id LIMIT 2) FROM customers;
SELECT GROUP_CONCAT(DISTINCT country ORDER BY country SEPARATOR '/' LIMIT 3) FROM customers;
SELECT AsText(spot), X(spot), Y(spot), SRID(spot), GeometryType(spot), Dimension(spot), IsEmpty(spot), IsSimple(spot), AsWKT(spot), HEX(AsBinary(spot)), HEX(AsWKB(spot)) FROM places ORDER BY id;
SELECT AREA(area), AsText(CENTROID(area)), AsText(ENVELOPE(area)), AsText(EXTERIORRING(area)), NUMINTERIORRINGS(area), AsText(ST_PointOnSurface(area)), AsText(POINTONSURFACE(area)), AsText(BOUNDARY(area)), AsText(ST_Boundary(area)), AsText(CONVEXHULL(area)) FROM places WHERE area IS NOT NULL ORDER BY id;
SELECT GLENGTH(l), NUMPOINTS(l), AsText(POINTN(l, 1)), AsText(STARTPOINT(l)), AsText(ENDPOINT(l)), ISCLOSED(l), ISRING(l), ST_IsRing(l), AsText(BUFFER(l, 0)) IS NOT NULL FROM (SELECT GeomFromText('LINESTRING(0 0, 3 4, 6 8)') AS l) AS one;
SELECT EQUALS(a, b), DISJOINT(a, b), INTERSECTS(a, b), TOUCHES(a, b), OVERLAPS(a, b), CROSSES(a, b), WITHIN(a, b), CONTAINS(a, b), MBREQUAL(a, b), MBREQUALS(a, b), ST_Relate(a, b, 'T********') FROM (SELECT GeomFromText('POLYGON((0 0, 4 0, 4 4, 0 4, 0 0))') AS a, GeomFromText('POLYGON((2 2, 6 2, 6 6, 2 6, 2 2))') AS b) AS two;
SELECT AsText(PointFromText('POINT(1 2)')), AsText(LineFromText('LINESTRING(0 0, 1 1)')), AsText(LineStringFromText('LINESTRING(0 0, 1 1)')), AsText(PolyFromText('POLYGON((0 0, 1 0, 1 1, 0 0))')), AsText(PolygonFromText('POLYGON((0 0, 1 0, 1 1, 0 0))')), AsText(GeometryFromText('POINT(0 0)')), AsText(GeomCollFromText('GEOMETRYCOLLECTION(POINT(1 1))')), AsText(GeometryCollectionFromText('GEOMETRYCOLLECTION(POINT(1 1))'));
SELECT AsText(MPointFromText('MULTIPOINT(0 0, 1 1)')), AsText(MultiPointFromText('MULTIPOINT(0 0)')), AsText(MLineFromText('MULTILINESTRING((0 0, 1 1))')), AsText(MultiLineStringFromText('MULTILINESTRING((0 0, 1 1))')), AsText(MPolyFromText('MULTIPOLYGON(((0 0, 1 0, 1 1, 0 0)))')), AsText(MultiPolygonFromText('MULTIPOLYGON(((0 0, 1 0, 1 1, 0 0)))'));
SELECT AsText(GeomFromWKB(AsWKB(POINT(1, 2)))), AsText(PointFromWKB(AsWKB(POINT(1, 2)))), AsText(GeometryFromWKB(AsWKB(POINT(1, 2)))), AsText(LineFromWKB(AsWKB(GeomFromText('LINESTRING(0 0, 1 1)')))), AsText(LineStringFromWKB(AsWKB(GeomFromText('LINESTRING(0 0, 1 1)')))), AsText(PolyFromWKB(AsWKB(GeomFromText('POLYGON((0 0, 1 0, 1 1, 0 0))')))), AsText(PolygonFromWKB(AsWKB(GeomFromText('POLYGON((0 0, 1 0, 1 1, 0 0))')))), AsText(GeomCollFromWKB(AsWKB(GeomFromText('GEOMETRYCOLLECTION(POINT(1 1))')))), AsText(GeometryCollectionFromWKB(AsWKB(GeomFromText('GEOMETRYCOLLECTION(POINT(1 1))'))));
SELECT AsText(MPointFromWKB(AsWKB(GeomFromText('MULTIPOINT(0 0, 1 1)')))), AsText(MultiPointFromWKB(AsWKB(GeomFromText('MULTIPOINT(0 0)')))), AsText(MLineFromWKB(AsWKB(GeomFromText('MULTILINESTRING((0 0, 1 1))')))), AsText(MultiLineStringFromWKB(AsWKB(GeomFromText('MULTILINESTRING((0 0, 1 1))')))), AsText(MPolyFromWKB(AsWKB(GeomFromText('MULTIPOLYGON(((0 0, 1 0, 1 1, 0 0)))')))), AsText(MultiPolygonFromWKB(AsWKB(GeomFromText('MULTIPOLYGON(((0 0, 1 0, 1 1, 0 0)))'))));
SELECT AsText(GEOMETRYN(GeomFromText('MULTIPOINT(1 1, 2 2)'), 2)), NUMGEOMETRIES(GeomFromText('MULTIPOINT(1 1, 2 2)')), AsText(INTERIORRINGN(GeomFromText('POLYGON((0 0, 9 0, 9 9, 0 9, 0 0), (1 1, 2 1, 2 2, 1 1))'), 1));
SELECT ST_AsText(POINT(RADIANS(180), 2 * 3)), ST_AsText(POINT(id, id + 1)), ST_AsText(POINT(ABS(-1), (2))) FROM places ORDER BY id;
SELECT p.name, ST_Distance(p.spot, POINT(-1 * 2, SQRT(4))) FROM places p ORDER BY p.id;
SELECT VALUE(id) IS NULL FROM customers WHERE id = 1;
SELECT LAST_VALUE(1, 2, 3), LAST_VALUE(salary) OVER (ORDER BY id) FROM employees ORDER BY id;
SELECT BIT_COUNT(8), BIT_AND(salary) OVER (PARTITION BY department) FROM employees ORDER BY id;
SELECT FIRST_VALUE(name) OVER (ORDER BY id), JSON_ARRAYAGG(name ORDER BY id DESC LIMIT 2), 1 FROM employees GROUP BY id ORDER BY id;
SELECT JSON_ARRAYAGG(DISTINCT department ORDER BY department) FROM employees;
SELECT 1 <> 2 IS TRUE, 5 DIV 2, 'a' || 'b', 0x41 + 0, 10 IN (SELECT 10);
SELECT IF(VERSION() LIKE '%MariaDB%', 'MariaDB', 'other');

-- kind: queries of MariaDB
VALUES (1, 'a'), (2, 'b');
VALUES (1), (2) UNION SELECT 3;
SELECT * FROM (VALUES (1, 2), (3, 4)) AS v;
WITH v (a, b) AS (VALUES (1, 2), (3, 4)) SELECT a + b FROM v;
SELECT * FROM prices ORDER BY product_id;
SELECT product_id, price FROM prices FOR SYSTEM_TIME ALL ORDER BY product_id, price;
SELECT COUNT(*) FROM prices FOR SYSTEM_TIME AS OF TIMESTAMP '2038-01-01 00:00:00';
SELECT COUNT(*) FROM prices FOR SYSTEM_TIME BETWEEN '2000-01-01' AND '2037-12-31';
SELECT COUNT(*) FROM prices FOR SYSTEM_TIME FROM '2000-01-01' TO '2037-12-31';
SELECT COUNT(*) FROM prices FOR SYSTEM_TIME AS OF (NOW(6) - INTERVAL 10 YEAR);
-- volatile
SELECT product_id, price, ROW_START, ROW_END FROM prices FOR SYSTEM_TIME ALL;
SELECT * FROM stays WHERE arrives <= '2024-05-02' AND leaves > '2024-05-02' ORDER BY id;
SELECT *, hidden FROM hosts;
SELECT * FROM customers ORDER BY id OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY;
SELECT salary FROM employees ORDER BY salary DESC FETCH FIRST 1 ROWS WITH TIES;
SELECT * FROM customers ORDER BY id LIMIT 2 ROWS EXAMINED 1000;
SELECT id FROM customers EXCEPT DISTINCT SELECT customer_id FROM orders ORDER BY id;
SELECT seq, seq * seq AS square FROM seq_1_to_5;
SELECT d.day, COUNT(r.id) FROM (SELECT DATE('2024-01-01') + INTERVAL seq DAY AS day FROM seq_0_to_2) AS d LEFT JOIN readings r ON DATE(r.taken) = d.day GROUP BY d.day ORDER BY d.day;
SELECT next_not_cached_value, minimum_value, increment FROM order_numbers;
WITH RECURSIVE t (n, path) AS (SELECT 1, CAST('1' AS CHAR(20)) UNION ALL SELECT n + 1, CONCAT(path, n + 1) FROM t WHERE n < 5) CYCLE n RESTRICT SELECT * FROM t;
SELECT id FROM ((SELECT id FROM customers LIMIT 1) UNION (SELECT 99)) AS u ORDER BY id;
SELECT STRAIGHT_JOIN SQL_CACHE id FROM customers ORDER BY id;
SELECT $cost, 1 AS $y FROM größen;
SELECT .customers.id FROM customers ORDER BY id;
-- fails 1064
(WITH x AS (SELECT 1 AS a) SELECT a FROM x);
SELECT UNIQUE country FROM customers ORDER BY country;
SELECT UNIQUE (country) FROM customers ORDER BY country;
SELECT DISTINCT (country) FROM customers ORDER BY country;
SELECT id FROM customers FORCE INDEX (PRIMARY) WHERE id > 3 ORDER BY id;
SELECT /*+ BKA() */ id FROM customers ORDER BY id;
SELECT name, ROW_NUMBER() OVER () FROM customers WHERE country IN ('DE', 'FR') ORDER BY 1;
SELECT * FROM articles WHERE MATCH (title, body) AGAINST ('"tool for"' IN BOOLEAN MODE);
SELECT JSON_VALUE(attributes, '$.blade.steel') AS steel FROM products WHERE JSON_VALUE(attributes, '$.litres') IS NULL ORDER BY id;
SELECT IFNULL(tags, '[]') FROM customers WHERE JSON_VALID(tags) ORDER BY id;
SELECT * FROM orders WHERE status = 'paid' AND placed_at > (SELECT MIN(placed_at) FROM orders) ORDER BY id LIMIT 5 OFFSET 0;
SELECT 'x' COLLATE utf8mb4_uca1400_ai_ci = 'X', 'ß' COLLATE utf8mb4_german2_ci = 'ss';

-- kind: EXPLAIN of MariaDB
-- volatile
EXPLAIN EXTENDED SELECT * FROM customers;
-- volatile
EXPLAIN PARTITIONS SELECT * FROM readings WHERE taken > '2025-01-01';
-- volatile
EXPLAIN FORMAT=JSON SELECT * FROM customers c JOIN orders o ON o.customer_id = c.id;
-- volatile
EXPLAIN VALUES (1), (2);
-- fails 1094
EXPLAIN FOR CONNECTION 4294967295;
-- fails 1094
SHOW EXPLAIN FOR 4294967295;
-- fails 1094
SHOW EXPLAIN FORMAT=JSON FOR 4294967295;
-- fails 1094
SHOW ANALYZE FOR 4294967295;
-- fails 1094
SHOW ANALYZE FORMAT=JSON FOR 4294967295;
-- volatile
ANALYZE SELECT * FROM customers;
-- volatile
ANALYZE FORMAT=JSON SELECT COUNT(*) FROM orders;

-- kind: SHOW of MariaDB
SHOW CREATE SEQUENCE order_numbers;
SHOW CREATE TABLE prices;
SHOW CREATE TABLE order_numbers;
SHOW CREATE TABLE hosts;
SHOW COLUMNS FROM hosts;
SHOW CHAR SET;
SHOW CHAR SET LIKE 'utf8%';
SHOW AUTHORS;
SHOW CONTRIBUTORS;
SHOW PACKAGE STATUS;
SHOW PACKAGE BODY STATUS;
SHOW PLUGINS SONAME LIKE 'ha_no%';
SHOW PLUGINS SONAME 'no_such_library';
SHOW MASTER STATUS;
SHOW BINLOG STATUS;
SHOW SLAVE STATUS;
SHOW REPLICA STATUS;
SHOW ALL SLAVES STATUS;
SHOW ALL REPLICAS STATUS;
SHOW SLAVE HOSTS;
SHOW REPLICA HOSTS;
SHOW MASTER LOGS;
SHOW BINARY LOGS;
-- refused: the server cannot write until all of it is read
SHOW BINLOG EVENTS LIMIT 2;
-- refused: the server cannot write until all of it is read
SHOW RELAYLOG EVENTS;
-- volatile
SHOW USER_STATISTICS;
-- volatile
SHOW CLIENT_STATISTICS;
-- volatile
SHOW INDEX_STATISTICS;
-- volatile
SHOW TABLE_STATISTICS;
-- volatile
SHOW ENGINE ARIA LOGS;
-- these five come with plugins
-- fails 1064
SHOW LOCALES;
-- fails 1064
SHOW QUERY_RESPONSE_TIME;
-- fails 1064
SHOW METADATA_LOCK_INFO;
-- fails 1064
SHOW WSREP_MEMBERSHIP;
-- fails 1064
SHOW WSREP_STATUS;
-- fails 1289
SHOW PROCEDURE CODE orders_of;
-- volatile
SHOW GLOBAL STATUS LIKE 'wsrep_%';
SHOW GRANTS FOR PUBLIC;

-- kind: questions of administrators to MariaDB
-- volatile
SELECT NAME, SUBSYSTEM, COUNT, ENABLED FROM information_schema.INNODB_METRICS WHERE ENABLED = 1 ORDER BY NAME LIMIT 20;
SELECT @@gtid_current_pos IS NOT NULL, @@gtid_slave_pos, @@gtid_strict_mode, @@gtid_domain_id, @@tx_isolation, @@version_ssl_library IS NOT NULL;
-- since 11.1
SELECT @@transaction_isolation;
-- until 11.1
-- fails 1193
SELECT @@transaction_isolation;
-- volatile
SELECT @@tx_read_only;
SELECT * FROM information_schema.SYSTEM_VARIABLES WHERE VARIABLE_NAME = 'MAX_CONNECTIONS';
-- volatile
SELECT * FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME LIKE 'COM_SEL%';
SELECT VARIABLE_NAME, VARIABLE_VALUE FROM information_schema.GLOBAL_VARIABLES WHERE VARIABLE_NAME IN ('PORT', 'SERVER_ID');
SELECT VARIABLE_NAME FROM information_schema.SESSION_VARIABLES WHERE VARIABLE_NAME LIKE 'SQL_MODE';
-- volatile
SELECT VARIABLE_NAME FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME LIKE 'HANDLER_READ%';
SELECT * FROM information_schema.USER_VARIABLES;
-- volatile
SELECT * FROM information_schema.INNODB_LOCKS;
-- volatile
SELECT * FROM information_schema.INNODB_LOCK_WAITS;
-- volatile
SELECT NAME, SPACE, ROW_FORMAT FROM information_schema.INNODB_SYS_TABLESPACES ORDER BY NAME LIMIT 5;
SELECT t.NAME, i.NAME AS index_name, f.NAME AS column_name FROM information_schema.INNODB_SYS_TABLES t JOIN information_schema.INNODB_SYS_INDEXES i USING (TABLE_ID) JOIN information_schema.INNODB_SYS_FIELDS f USING (INDEX_ID) WHERE t.NAME = 'everyday/customers' ORDER BY i.NAME, f.POS;
SELECT * FROM information_schema.INNODB_SYS_FOREIGN WHERE ID LIKE 'everyday/%' ORDER BY ID;
SELECT * FROM information_schema.INNODB_SYS_FOREIGN_COLS WHERE ID LIKE 'everyday/%' ORDER BY ID;
SELECT c.NAME, c.POS FROM information_schema.INNODB_SYS_COLUMNS c JOIN information_schema.INNODB_SYS_TABLES t USING (TABLE_ID) WHERE t.NAME = 'everyday/categories' ORDER BY c.POS;
-- volatile
SELECT NAME, NUM_ROWS FROM information_schema.INNODB_SYS_TABLESTATS WHERE NAME LIKE 'everyday/%';
SELECT * FROM information_schema.INNODB_SYS_VIRTUAL LIMIT 0;
SELECT * FROM information_schema.INNODB_TABLESPACES_ENCRYPTION LIMIT 0;
-- volatile
SELECT * FROM information_schema.TABLE_STATISTICS;
-- volatile
SELECT * FROM information_schema.INDEX_STATISTICS;
-- volatile
SELECT * FROM information_schema.CLIENT_STATISTICS;
-- volatile
SELECT USER, TOTAL_CONNECTIONS, BUSY_TIME, ROWS_READ FROM information_schema.USER_STATISTICS;
-- volatile
SELECT * FROM information_schema.KEY_CACHES;
-- volatile
SELECT * FROM information_schema.THREAD_POOL_GROUPS;
SELECT * FROM information_schema.SPATIAL_REF_SYS ORDER BY SRID LIMIT 2;
SELECT F_TABLE_NAME, G_GEOMETRY_COLUMN, GEOMETRY_TYPE FROM information_schema.GEOMETRY_COLUMNS WHERE F_TABLE_SCHEMA = 'everyday' ORDER BY F_TABLE_NAME, G_GEOMETRY_COLUMN;
SELECT FUNCTION FROM information_schema.SQL_FUNCTIONS WHERE FUNCTION LIKE 'JSON_A%' ORDER BY 1;
SELECT * FROM information_schema.APPLICABLE_ROLES ORDER BY ROLE_NAME;
SELECT * FROM information_schema.ENABLED_ROLES;
SELECT PLUGIN_NAME, PLUGIN_VERSION, PLUGIN_STATUS, PLUGIN_MATURITY FROM information_schema.ALL_PLUGINS WHERE PLUGIN_NAME = 'InnoDB';
SELECT INDEX_NAME, IGNORED FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = 'everyday' AND TABLE_NAME = 'orders' ORDER BY 1;
SELECT TABLE_NAME, TEMPORARY FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'everyday' AND TABLE_TYPE = 'SEQUENCE';
SELECT COLUMN_NAME, IS_GENERATED, GENERATION_EXPRESSION FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'everyday' AND IS_GENERATED = 'ALWAYS' ORDER BY TABLE_NAME, 1;
-- since 11.4
SELECT * FROM information_schema.PERIODS WHERE TABLE_SCHEMA = 'everyday' ORDER BY TABLE_NAME;
-- since 11.4
SELECT * FROM information_schema.SEQUENCES WHERE SEQUENCE_SCHEMA = 'everyday';
-- volatile
SELECT ID, TIME_MS, STAGE, MAX_STAGE, PROGRESS, MEMORY_USED, EXAMINED_ROWS, QUERY_ID, TID FROM information_schema.PROCESSLIST;
-- volatile
SELECT * FROM information_schema.OPTIMIZER_TRACE;
-- volatile
SELECT * FROM information_schema.PROFILING;
-- volatile
SELECT * FROM information_schema.SYSTEM_VARIABLES WHERE GLOBAL_VALUE_ORIGIN <> 'COMPILE-TIME' ORDER BY VARIABLE_NAME;
SELECT Host, User, JSON_VALUE(Priv, '$.plugin') FROM mysql.global_priv WHERE User = 'app';
SELECT * FROM mysql.gtid_slave_pos;
SELECT db_name, table_name FROM mysql.table_stats WHERE db_name = 'everyday' AND table_name = 'orders';
SELECT Role, User FROM mysql.roles_mapping WHERE Role = 'everyday_reader';
-- volatile
SELECT EVENT_NAME, SUM_TIMER_WAIT FROM performance_schema.events_stages_summary_global_by_event_name ORDER BY 2 DESC LIMIT 5;
SELECT * FROM performance_schema.replication_connection_configuration;
-- volatile
SELECT * FROM performance_schema.user_variables_by_thread;
-- volatile
SELECT VARIABLE_NAME, VARIABLE_VALUE FROM performance_schema.session_status WHERE VARIABLE_NAME = 'Questions';
SHOW VARIABLES LIKE 'wsrep_on';

-- kind: the sys schema of MariaDB
-- volatile
SELECT * FROM sys.version;
-- volatile
SELECT query, db, exec_count, total_latency FROM sys.statement_analysis LIMIT 10;
SELECT * FROM sys.schema_redundant_indexes WHERE table_schema = 'everyday';
-- volatile
SELECT * FROM sys.schema_unused_indexes WHERE object_schema = 'everyday';
-- volatile
SELECT * FROM sys.schema_table_statistics WHERE table_schema = 'everyday';
-- volatile
SELECT * FROM sys.schema_tables_with_full_table_scans;
-- volatile
SELECT * FROM sys.innodb_lock_waits;
-- volatile
SELECT * FROM sys.schema_table_lock_waits;
-- volatile
SELECT * FROM sys.processlist;
-- volatile
SELECT * FROM sys.host_summary;
-- volatile
SELECT * FROM sys.user_summary;
-- volatile
SELECT * FROM sys.io_global_by_file_by_bytes LIMIT 5;
-- volatile
SELECT * FROM sys.memory_global_by_current_bytes LIMIT 5;
-- volatile
SELECT * FROM sys.waits_global_by_latency LIMIT 5;
SELECT table_name, column_name FROM sys.schema_auto_increment_columns WHERE table_schema = 'everyday' ORDER BY 1;
SELECT * FROM sys.schema_object_overview WHERE db = 'everyday' ORDER BY object_type;
SELECT variable, value FROM sys.sys_config ORDER BY variable;
SELECT sys.format_bytes(1048576), sys.format_time(1500000000000), sys.quote_identifier('a`b');
SELECT sys.format_statement('SELECT 1'), sys.format_path('/tmp/x') IS NOT NULL;
SELECT sys.version_major(), sys.version_minor(), sys.version_patch();
SELECT sys.list_add('a,b', 'c'), sys.list_drop('a,b', 'a');
SELECT table_schema, sys.format_bytes(SUM(data_length) * 0) AS size FROM information_schema.tables WHERE table_schema = 'everyday' GROUP BY table_schema;

-- kind: refused by decision on MariaDB
-- volatile
-- refused: sequence
SELECT NEXT VALUE FOR order_numbers;
-- refused: sequence
SELECT PREVIOUS VALUE FOR order_numbers;
-- refused: sequence
SELECT LASTVAL(order_numbers);
-- volatile
-- refused: sequence
SELECT NEXTVAL(order_numbers);
-- refused: sequence
SELECT SETVAL(order_numbers, 5, 0);
-- refused: it can be made to compute
SELECT ENCRYPT('secret', 'ab') IS NOT NULL;
-- refused: waits for replication
SELECT MASTER_GTID_WAIT('', 0);
-- refused: waits for replication
SELECT MASTER_POS_WAIT('bin.000001', 4, 0);
-- refused: it locks rows
SELECT * FROM orders WHERE id = 1 FOR UPDATE NOWAIT;
-- refused: executable comment
SELECT /*M!100100 SQL_NO_CACHE */ 1;
-- refused: only SELECT
SET STATEMENT max_statement_time = 10 FOR SELECT COUNT(*) FROM customers;
-- refused: only SELECT
EXECUTE IMMEDIATE 'SELECT 1';
-- refused: only SELECT
BEGIN NOT ATOMIC SELECT 1; END;
-- refused: waits for replication
-- fails 1941
SELECT WSREP_SYNC_WAIT_UPTO_GTID('');

-- kind: the system's own schemas on MariaDB
DESCRIBE mysql.global_priv;
SHOW CREATE TABLE mysql.user;
SHOW COLUMNS FROM information_schema.TABLES;
SHOW TABLES FROM performance_schema LIKE 'setup%';
SHOW TABLES FROM sys LIKE 'schema%';
SHOW CREATE VIEW sys.version;
SHOW CREATE FUNCTION sys.format_bytes;
SHOW CREATE PROCEDURE sys.table_exists;
SELECT sys.ps_is_consumer_enabled('events_stages_history'), sys.ps_is_account_enabled('localhost', 'app');
-- volatile
SELECT sys.ps_thread_id(CONNECTION_ID()), sys.ps_is_thread_instrumented(CONNECTION_ID());
-- refused: stored function
SELECT sys.sys_get_config('statement_truncate_len', '64');
SELECT @@warning_count, @@error_count;
-- volatile
-- refused: only SELECT
ANALYZE TABLE employees PERSISTENT FOR ALL;
-- refused: a crafted path crashes a MariaDB server
SELECT EXTRACTVALUE('<a>1</a>', CONCAT('/', 'a'));
-- refused: default expression
SELECT id, DEFAULT(vip) FROM customers ORDER BY id;

-- kind: defaults
-- refused: default expression
SELECT DEFAULT(country) FROM customers LIMIT 1;
