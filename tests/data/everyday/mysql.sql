-- What MySQL alone takes.

-- kind: functions of MySQL
SELECT ANY_VALUE(name), COUNT(*) FROM customers WHERE id = 1;
SELECT GROUPING(department) AS is_total, IF(GROUPING(department), 'all', department) AS department, COUNT(*) FROM employees GROUP BY department WITH ROLLUP;
SELECT UUID_TO_BIN('6ccd780c-baba-1026-9564-5b8c656024db'), BIN_TO_UUID(UUID_TO_BIN('6ccd780c-baba-1026-9564-5b8c656024db', 1), 1), IS_UUID('6ccd780c-baba-1026-9564-5b8c656024db'), IS_UUID('x');
SELECT FORMAT_BYTES(1048576), FORMAT_PICO_TIME(1500000000000);
-- volatile
SELECT PS_CURRENT_THREAD_ID(), PS_THREAD_ID(CONNECTION_ID());
SELECT STATEMENT_DIGEST_TEXT('SELECT * FROM t WHERE a = 5'), STATEMENT_DIGEST('SELECT 1');
SELECT ICU_VERSION(), LENGTH(ROLES_GRAPHML()) > 0, ETAG('a', 1, NULL), ETAG(name) FROM customers ORDER BY id;
SELECT REGEXP_LIKE('Michael!', '.*'), REGEXP_LIKE('a', 'A', 'c'), REGEXP_INSTR('aa aaa', 'a{2}', 2), REGEXP_REPLACE('abc def', '[a-z]+', 'X', 1, 2), REGEXP_SUBSTR('abc def ghi', '[a-z]+', 1, 3, 'i');
SELECT JSON_STORAGE_SIZE('{"a": 1}'), JSON_STORAGE_FREE(JSON_OBJECT('a', 1));
SELECT JSON_VALUE('{"price": "49.95"}', '$.price' RETURNING DECIMAL(4,2)), JSON_VALUE('{}', '$.a' RETURNING UNSIGNED DEFAULT 7 ON EMPTY NULL ON ERROR);
SELECT 17 MEMBER OF('[23, "abc", 17]'), CAST('[4,5]' AS JSON) MEMBER OF('[[3,4],[4,5]]');
SELECT JSON_MERGE('[1, 2]', '[3]');
SELECT attributes->'$.blade.length' AS len, attributes->>'$.blade.steel' AS steel FROM products WHERE attributes->>'$.blade.steel' = 'VG10';
SELECT JSON_ARRAYAGG(id) OVER (ORDER BY id), JSON_OBJECTAGG(sku, id) OVER () FROM products ORDER BY id;
SELECT CAST('{"a": 1}' AS JSON), CAST(2024 AS YEAR), CAST('POINT(1 1)' AS CHAR), CAST(ST_GeomFromText('POINT(1 1)') AS POINT), CAST(1.5 AS REAL), CAST('2024-01-01 00:00:00+05:30' AS DATETIME);
SELECT CAST(TIMESTAMP '2024-01-01 00:00:00' AT TIME ZONE '+00:00' AS DATETIME);
SELECT BIT_COUNT(x'ff0f'), x'0f' | x'f0', ~ _binary x'00ff', BIT_AND(b), BIT_OR(b), BIT_XOR(b) FROM kinds_of_values WHERE id = 1 GROUP BY id;
SELECT VECTOR_DIM(embedding), VECTOR_TO_STRING(embedding), FROM_VECTOR(embedding), embedding FROM documents ORDER BY id;
SELECT VECTOR_TO_STRING(TO_VECTOR('[1, 2]')), HEX(STRING_TO_VECTOR('[1]'));
SELECT GTID_SUBSET('3E11FA47-71CA-11E1-9E33-C80AA9429562:23', '3E11FA47-71CA-11E1-9E33-C80AA9429562:21-57'), GTID_SUBTRACT('3E11FA47-71CA-11E1-9E33-C80AA9429562:21-57', '3E11FA47-71CA-11E1-9E33-C80AA9429562:20-25');
SELECT VALIDATE_PASSWORD_STRENGTH('secret');
SELECT RANDOM_BYTES(8) IS NOT NULL, SHA2('a', 384), CRC32('x');
SELECT LAST_VALUE(total) OVER (ORDER BY id), LEAD(total, 1, 0) OVER (ORDER BY id), LAG(total, 1, -1) OVER (ORDER BY id) FROM orders ORDER BY id;
SELECT WEIGHT_STRING('ab'), WEIGHT_STRING('ab' AS BINARY(4)), UNHEX(HEX('Ä'));
SELECT ST_Latitude(position), ST_Longitude(position), ST_AsText(ST_SwapXY(position)), ST_SRID(position), ST_IsValid(position) FROM sites ORDER BY id;
SELECT ROUND(ST_Distance(a.position, b.position)) AS metres, ROUND(ST_Distance_Sphere(a.position, b.position)) AS about FROM sites a JOIN sites b ON a.id < b.id;
SELECT ST_AsText(ST_Transform(position, 3857)) FROM sites ORDER BY id;
SELECT ST_AsText(ST_GeomFromText('POINT(1 2)', 0, 'axis-order=long-lat')), ST_AsText(ST_SRID(POINT(1, 2), 4326)), ST_X(POINT(1, 2), 9), ST_Latitude(ST_SRID(POINT(1, 2), 4326));
SELECT ST_GeoHash(ST_GeomFromText('POINT(0 20)'), 10), ST_GeoHash(13.4, 52.5, 8), ST_LatFromGeoHash('u33dc'), ST_LongFromGeoHash('u33dc'), ST_AsText(ST_PointFromGeoHash('u33dc', 0));
SELECT ST_AsText(ST_MakeEnvelope(POINT(0, 0), POINT(2, 3))), ST_AsText(ST_Simplify(ST_GeomFromText('LINESTRING(0 0, 0 1, 1 1, 1 2, 2 2)'), 0.5)), ST_AsText(ST_Validate(ST_GeomFromText('POINT(0 0)')));
SELECT ST_AsText(ST_Buffer(POINT(0, 0), 1, ST_Buffer_Strategy('point_square')));
SELECT ST_FrechetDistance(ST_GeomFromText('LINESTRING(0 0,0 5,5 5)'), ST_GeomFromText('LINESTRING(0 1,0 6,3 3,5 6)')), ST_HausdorffDistance(ST_GeomFromText('LINESTRING(0 0,0 5,5 5)'), ST_GeomFromText('LINESTRING(0 1,0 6,3 3,5 6)'));
SELECT ST_AsText(ST_LineInterpolatePoint(ST_GeomFromText('LINESTRING(0 0,0 5,5 5)'), .5)), ST_AsText(ST_LineInterpolatePoints(ST_GeomFromText('LINESTRING(0 0,0 5,5 5)'), .25)), ST_AsText(ST_PointAtDistance(ST_GeomFromText('LINESTRING(0 0,0 5,5 5)'), 2.5));
SELECT ST_AsText(ST_Collect(spot)) FROM places;
SELECT MBREquals(a, b), MBRCovers(a, b), MBRCoveredBy(a, b) FROM (SELECT ST_GeomFromText('POLYGON((0 0, 4 0, 4 4, 0 4, 0 0))') AS a, ST_GeomFromText('POLYGON((1 1, 2 1, 2 2, 1 2, 1 1))') AS b) AS two;
SELECT ST_AsText(GEOMCOLLECTION(POINT(1, 1))), ST_NumInteriorRing(area), ST_AsText(ST_GeomCollFromTxt('GEOMETRYCOLLECTION(POINT(1 1))')) FROM places WHERE area IS NOT NULL ORDER BY id;
SELECT ST_AsGeoJSON(ST_GeomFromText('POINT(11.11111 12.22222)'), 2), ST_Area(ST_GeomFromText('POLYGON((0 0, 0 1, 1 1, 1 0, 0 0))', 4326)) > 1e9, ROUND(ST_Length(ST_GeomFromText('LINESTRING(1 1,2 2)', 4326), 'metre'));
SELECT EXTRACTVALUE('<a ccc="5">x</a>', '/a/@ccc'), CONVERT('abc' USING binary), _utf8mb4 0xF09F90AC;
SELECT AVG(salary) OVER (PARTITION BY department ORDER BY hired RANGE BETWEEN INTERVAL 1 YEAR PRECEDING AND CURRENT ROW) AS mean FROM employees ORDER BY id;
-- MySQL 9.6 moved these into a component
-- fails 1305
-- refused: no component provides it
SELECT MD5('a');
-- fails 1305
-- refused: no component provides it
SELECT SHA1('a'), SHA('a');

-- kind: queries of MySQL
TABLE categories;
TABLE categories ORDER BY name DESC LIMIT 2 OFFSET 1;
VALUES ROW(1, 'a'), ROW(2, 'b');
VALUES ROW(3, 1), ROW(1, 2) ORDER BY column_1 DESC LIMIT 1;
SELECT * FROM (VALUES ROW(1, 2), ROW(3, 4)) AS v (a, b) WHERE a > 1;
TABLE categories UNION TABLE categories ORDER BY id;
TABLE categories EXCEPT VALUES ROW(1, NULL, 'All');
SELECT c.name, latest.total FROM customers c, LATERAL (SELECT total FROM orders o WHERE o.customer_id = c.id ORDER BY placed_at DESC LIMIT 1) AS latest ORDER BY c.id;
SELECT c.name, s.n FROM customers c LEFT JOIN LATERAL (SELECT COUNT(*) AS n FROM orders o WHERE o.customer_id = c.id) AS s ON TRUE ORDER BY c.id;
SELECT p.id, jt.k FROM products p LEFT JOIN JSON_TABLE(JSON_KEYS(p.attributes), '$[*]' COLUMNS (k VARCHAR(20) PATH '$')) AS jt ON TRUE ORDER BY p.id, jt.k;
SELECT id, title, secret FROM documents ORDER BY id;
SELECT * FROM documents ORDER BY id;
SELECT id FROM documents WHERE 2 MEMBER OF (body->'$.numbers') ORDER BY id;
SELECT id FROM documents WHERE JSON_OVERLAPS(body->'$.numbers', CAST('[1, 9]' AS JSON)) OR JSON_CONTAINS(body->'$.numbers', CAST('[4]' AS JSON)) ORDER BY id;
SELECT id FROM documents WHERE LOWER(title) = 'two';
SELECT department, YEAR(hired) AS y, COUNT(*) FROM employees GROUP BY department, y WITH ROLLUP HAVING GROUPING(department) = 0 ORDER BY department, y;
SELECT department, COUNT(*) FROM employees GROUP BY ROLLUP (department);
SELECT dt.x FROM (SELECT 1, 2) AS dt (x, y);
-- fails 1747
SELECT * FROM orders PARTITION (p0);
SELECT id FROM orders WHERE id = ANY (SELECT 1 UNION SELECT 2) OR id IN (VALUES ROW(1), ROW(2)) ORDER BY id;
(SELECT 1 AS a LIMIT 1) UNION ALL (SELECT 2 LIMIT 1) ORDER BY a LIMIT 1;
SELECT * FROM (((SELECT 1 AS deep))) AS d;
WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n LIMIT 5) SELECT * FROM n;
WITH v (a) AS (VALUES ROW(1), ROW(2)) SELECT SUM(a) FROM v;
WITH t AS (TABLE categories) TABLE t;
(WITH x AS (SELECT 1 AS a) SELECT a FROM x);
((TABLE categories)) LIMIT 1;
(VALUES ROW(1), ROW(2)) UNION (SELECT 3) ORDER BY 1;
-- refused: may not start with $
SELECT $cost FROM größen;
SELECT SUM(total) OVER w FROM orders WINDOW w AS (ORDER BY id ROWS UNBOUNDED PRECEDING);
SELECT name, JSON_LENGTH(tags) FROM customers WHERE tags IS NOT NULL AND JSON_LENGTH(tags) > 0 ORDER BY id;
SELECT customers.*, j.tag FROM customers CROSS JOIN JSON_TABLE(COALESCE(tags, '[]'), '$[*]' COLUMNS (nr FOR ORDINALITY, tag JSON PATH '$')) j ORDER BY id, nr;
SELECT 'ä' COLLATE utf8mb4_0900_ai_ci = 'a', 'ä' COLLATE utf8mb4_0900_as_cs = 'a';
-- fails 1064
-- refused: placeholder
SELECT :a;
select * from `orders` where json_contains('[1, 4]', cast(`customer_id` as json)) or `id` in (1, 2) order by `id`;

SELECT LEAD(total, 2) RESPECT NULLS OVER (ORDER BY id), NTH_VALUE(total, 2) FROM FIRST RESPECT NULLS OVER (ORDER BY id) FROM orders ORDER BY id;
SELECT id FROM products INTERSECT ALL SELECT product_id FROM order_items ORDER BY id;
-- volatile
-- fails 3889
SELECT department, COUNT(*) FROM employees GROUP BY CUBE (department);
-- volatile
-- fails 3889
SELECT department, COUNT(*) FROM employees GROUP BY GROUPING SETS ((department), ());
-- fails 6037
SELECT id, ROW_NUMBER() OVER (ORDER BY id) AS n FROM customers QUALIFY (n = 1);
-- volatile
-- fails 3889
SELECT id FROM customers TABLESAMPLE BERNOULLI (50);
-- volatile
-- fails 3889
SELECT id FROM customers TABLESAMPLE SYSTEM (50);

-- kind: hints of the optimizer
SELECT /*+ MAX_EXECUTION_TIME(1000) */ id FROM customers ORDER BY id;
SELECT /*+ NO_INDEX_MERGE(customers) INDEX(customers customers_country) */ id FROM customers WHERE country = 'DE';
SELECT /*+ JOIN_ORDER(o, c) */ c.name FROM customers c JOIN orders o ON o.customer_id = c.id ORDER BY o.id;
SELECT /*+ QB_NAME(main) BNL(@main c) */ c.id FROM customers c ORDER BY id;
SELECT /*+ INDEX(c `PRIMARY`) NO_RANGE_OPTIMIZATION(c) */ c.id FROM customers c ORDER BY id;
SELECT /*+ SEMIJOIN(MATERIALIZATION) */ id FROM customers WHERE id IN (SELECT /*+ SUBQUERY(INTOEXISTS) */ customer_id FROM orders) ORDER BY id;
SELECT /*+ MERGE(t) */ * FROM (SELECT id FROM customers) AS t ORDER BY id;
SELECT /*+ RESOURCE_GROUP(USR_default) */ 1;
SELECT /*+ NO_ICP(orders orders_placed) MRR(orders) GROUP_INDEX(orders orders_customer) */ COUNT(*) FROM orders;
-- refused: SET_VAR
SELECT /*+ SET_VAR(sort_buffer_size = 16M) */ name FROM customers ORDER BY name;

-- kind: EXPLAIN of MySQL
-- volatile
EXPLAIN FORMAT=TREE SELECT c.name FROM customers c JOIN orders o ON o.customer_id = c.id;
-- volatile
EXPLAIN FORMAT = tree TABLE categories;
-- volatile
EXPLAIN VALUES ROW(1), ROW(2);
-- volatile
EXPLAIN FORMAT=TRADITIONAL SELECT 1;
-- volatile
EXPLAIN FOR SCHEMA everyday SELECT * FROM customers;
-- volatile
EXPLAIN FOR DATABASE everyday SELECT * FROM customers;
-- volatile
EXPLAIN FORMAT=JSON FOR SCHEMA everyday SELECT * FROM customers;
-- fails 1094
EXPLAIN FOR CONNECTION 4294967295;
-- fails 1094
EXPLAIN FORMAT=JSON FOR CONNECTION 4294967295;
-- volatile
EXPLAIN ANALYZE SELECT * FROM customers;
-- volatile
EXPLAIN ANALYZE FORMAT=TREE SELECT COUNT(*) FROM orders;
-- volatile
DESC FORMAT=TREE SELECT * FROM orders ORDER BY total LIMIT 1;

-- kind: SHOW of MySQL
SHOW EXTENDED TABLES;
SHOW EXTENDED FULL TABLES LIKE 'cust%';
SHOW EXTENDED COLUMNS FROM documents;
SHOW EXTENDED FULL COLUMNS FROM documents;
SHOW EXTENDED INDEX FROM documents;
SHOW INDEX FROM documents;
SHOW COLUMNS FROM documents;
SHOW CREATE TABLE documents;
SHOW CREATE TABLE sites;
-- fails 3530
SHOW GRANTS FOR 'app'@'%' USING everyday_reader;
SHOW CREATE USER everyday_reader;
-- volatile
SHOW BINARY LOGS;
-- volatile
SHOW BINARY LOG STATUS;
-- volatile
SHOW BINLOG EVENTS LIMIT 3;
SHOW REPLICAS;
SHOW REPLICA STATUS;
-- fails 3074
SHOW REPLICA STATUS FOR CHANNEL 'none';
SHOW RELAYLOG EVENTS;
SHOW CHAR SET;
SHOW CHAR SET LIKE 'utf8%';
SHOW FUNCTION STATUS WHERE Db = 'everyday';
SHOW LIBRARY STATUS;
SHOW VARIABLES LIKE 'mysqlx%';
-- fails 1289
SHOW PROCEDURE CODE orders_of;
-- fails 1064
SHOW MASTER STATUS;
-- fails 1064
SHOW SLAVE STATUS;
SHOW ENGINE INNODB LOGS;

-- kind: questions of administrators to MySQL
-- volatile
SELECT NAME, SUBSYSTEM, COUNT, STATUS FROM information_schema.INNODB_METRICS WHERE STATUS = 'enabled' ORDER BY NAME LIMIT 20;
SELECT COLUMN_NAME, JSON_EXTRACT(HISTOGRAM, '$."number-of-buckets-specified"') FROM information_schema.COLUMN_STATISTICS WHERE SCHEMA_NAME = 'everyday' AND TABLE_NAME = 'customers';
SELECT @@GLOBAL.gtid_mode, @@GLOBAL.gtid_executed IS NOT NULL, @@GLOBAL.super_read_only, @@server_uuid, @@transaction_isolation;
SELECT TABLE_NAME, INDEX_NAME, IS_VISIBLE, EXPRESSION FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = 'everyday' AND (IS_VISIBLE = 'NO' OR EXPRESSION IS NOT NULL) ORDER BY 1, 2;
SELECT COLUMN_NAME, GENERATION_EXPRESSION, SRS_ID FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'everyday' AND (GENERATION_EXPRESSION <> '' OR SRS_ID IS NOT NULL) ORDER BY TABLE_NAME, COLUMN_NAME;
SELECT * FROM information_schema.ST_GEOMETRY_COLUMNS WHERE TABLE_SCHEMA = 'everyday' ORDER BY TABLE_NAME, COLUMN_NAME;
SELECT SRS_NAME, SRS_ID FROM information_schema.ST_SPATIAL_REFERENCE_SYSTEMS WHERE SRS_ID IN (4326, 3857) ORDER BY SRS_ID;
SELECT UNIT_NAME, CONVERSION_FACTOR FROM information_schema.ST_UNITS_OF_MEASURE WHERE UNIT_TYPE = 'LINEAR' ORDER BY UNIT_NAME LIMIT 5;
SELECT WORD, RESERVED FROM information_schema.KEYWORDS WHERE WORD LIKE 'WIN%';
SELECT * FROM information_schema.APPLICABLE_ROLES ORDER BY ROLE_NAME;
SELECT ROLE_NAME FROM information_schema.ENABLED_ROLES ORDER BY 1;
SELECT * FROM information_schema.ROLE_TABLE_GRANTS WHERE TABLE_SCHEMA = 'everyday';
SELECT RESOURCE_GROUP_NAME, RESOURCE_GROUP_TYPE FROM information_schema.RESOURCE_GROUPS ORDER BY 1;
SELECT * FROM information_schema.USER_ATTRIBUTES WHERE USER = 'app';
SELECT VIEW_NAME, TABLE_NAME FROM information_schema.VIEW_TABLE_USAGE WHERE VIEW_SCHEMA = 'everyday';
SELECT * FROM information_schema.VIEW_ROUTINE_USAGE WHERE TABLE_SCHEMA = 'everyday';
SELECT SCHEMA_NAME, OPTIONS FROM information_schema.SCHEMATA_EXTENSIONS WHERE SCHEMA_NAME = 'everyday';
SELECT TABLE_NAME, ENGINE_ATTRIBUTE FROM information_schema.TABLES_EXTENSIONS WHERE TABLE_SCHEMA = 'everyday' ORDER BY 1;
-- volatile
SELECT NAME, SPACE_TYPE, FILE_SIZE, STATE FROM information_schema.INNODB_TABLESPACES ORDER BY FILE_SIZE DESC LIMIT 10;
SELECT t.NAME, t.ROW_FORMAT, i.NAME AS index_name FROM information_schema.INNODB_TABLES t JOIN information_schema.INNODB_INDEXES i ON i.TABLE_ID = t.TABLE_ID WHERE t.NAME = 'everyday/customers' ORDER BY i.NAME;
SELECT c.NAME, c.POS, c.MTYPE FROM information_schema.INNODB_COLUMNS c JOIN information_schema.INNODB_TABLES t ON t.TABLE_ID = c.TABLE_ID WHERE t.NAME = 'everyday/categories' ORDER BY c.POS;
SELECT f.NAME, f.POS FROM information_schema.INNODB_FIELDS f JOIN information_schema.INNODB_INDEXES i ON i.INDEX_ID = f.INDEX_ID JOIN information_schema.INNODB_TABLES t ON t.TABLE_ID = i.TABLE_ID WHERE t.NAME = 'everyday/order_items' ORDER BY i.INDEX_ID, f.POS;
-- volatile
SELECT NAME, NUM_ROWS, CLUST_INDEX_SIZE FROM information_schema.INNODB_TABLESTATS WHERE NAME LIKE 'everyday/%';
SELECT * FROM information_schema.INNODB_VIRTUAL LIMIT 0;
-- volatile
SELECT * FROM information_schema.INNODB_CACHED_INDEXES LIMIT 5;
SELECT ID, FOR_NAME, REF_NAME FROM information_schema.INNODB_FOREIGN WHERE ID LIKE 'everyday/%' ORDER BY ID;
SELECT * FROM information_schema.INNODB_FOREIGN_COLS WHERE ID LIKE 'everyday/%' ORDER BY ID, POS;
SELECT PATH IS NOT NULL FROM information_schema.INNODB_DATAFILES LIMIT 1;
-- volatile
SELECT * FROM information_schema.INNODB_TEMP_TABLE_INFO;
-- volatile
SELECT * FROM information_schema.INNODB_SESSION_TEMP_TABLESPACES;
-- volatile
SELECT TABLE_NAME, INDEX_NAME, COUNT(*) AS pages FROM information_schema.INNODB_BUFFER_PAGE WHERE TABLE_NAME LIKE '%everyday%' GROUP BY TABLE_NAME, INDEX_NAME;
-- volatile
SELECT ENGINE, ENGINE_LOCK_ID, OBJECT_NAME, INDEX_NAME, LOCK_TYPE, LOCK_MODE, LOCK_STATUS, LOCK_DATA FROM performance_schema.data_locks;
-- volatile
SELECT r.trx_mysql_thread_id AS waiting, b.trx_mysql_thread_id AS blocking, b.trx_query FROM performance_schema.data_lock_waits w JOIN information_schema.INNODB_TRX b ON b.trx_id = w.BLOCKING_ENGINE_TRANSACTION_ID JOIN information_schema.INNODB_TRX r ON r.trx_id = w.REQUESTING_ENGINE_TRANSACTION_ID;
-- volatile
SELECT * FROM performance_schema.processlist ORDER BY TIME DESC;
-- volatile
SELECT t.PROCESSLIST_ID, ml.OBJECT_SCHEMA, ml.OBJECT_NAME, ml.LOCK_TYPE, ml.LOCK_STATUS FROM performance_schema.metadata_locks ml JOIN performance_schema.threads t ON t.THREAD_ID = ml.OWNER_THREAD_ID WHERE ml.OBJECT_TYPE = 'TABLE';
SELECT CHANNEL_NAME, HOST, PORT FROM performance_schema.replication_connection_configuration;
SELECT CHANNEL_NAME, SERVICE_STATE, LAST_ERROR_MESSAGE FROM performance_schema.replication_connection_status;
SELECT CHANNEL_NAME, SERVICE_STATE FROM performance_schema.replication_applier_status;
SELECT WORKER_ID, LAST_ERROR_NUMBER FROM performance_schema.replication_applier_status_by_worker;
-- volatile
SELECT MEMBER_HOST, MEMBER_PORT, MEMBER_STATE, MEMBER_ROLE FROM performance_schema.replication_group_members;
-- volatile
SELECT * FROM performance_schema.log_status;
-- volatile
SELECT LOGGED, PRIO, ERROR_CODE, SUBSYSTEM, DATA FROM performance_schema.error_log ORDER BY LOGGED DESC LIMIT 20;
-- volatile
SELECT VARIABLE_NAME, VARIABLE_SOURCE, VARIABLE_PATH, SET_TIME FROM performance_schema.variables_info WHERE VARIABLE_SOURCE <> 'COMPILED' ORDER BY VARIABLE_NAME;
SELECT * FROM performance_schema.persisted_variables;
SELECT VARIABLE_NAME, VARIABLE_VALUE FROM performance_schema.session_variables WHERE VARIABLE_NAME LIKE 'character_set_c%' ORDER BY 1;
-- volatile
SELECT UDF_NAME, UDF_TYPE FROM performance_schema.user_defined_functions ORDER BY 1;
-- volatile
SELECT ERROR_NAME, SUM_ERROR_RAISED FROM performance_schema.events_errors_summary_global_by_error WHERE SUM_ERROR_RAISED > 0 ORDER BY SUM_ERROR_RAISED DESC LIMIT 10;
-- volatile
SELECT SCHEMA_NAME, BUCKET_QUANTILE, COUNT_BUCKET FROM performance_schema.events_statements_histogram_by_digest LIMIT 5;
-- volatile
SELECT DIGEST_TEXT, QUANTILE_95, QUERY_SAMPLE_TEXT, FIRST_SEEN, LAST_SEEN FROM performance_schema.events_statements_summary_by_digest WHERE SCHEMA_NAME = 'everyday' ORDER BY LAST_SEEN DESC LIMIT 5;
-- volatile
SELECT COMPONENT_URN FROM mysql.component;
SELECT FROM_USER, TO_USER FROM mysql.role_edges;
SELECT * FROM mysql.default_roles;
SELECT PRIV, WITH_GRANT_OPTION FROM mysql.global_grants WHERE USER = 'app' ORDER BY PRIV LIMIT 5;
SELECT name, cost_value, default_value FROM (SELECT cost_name AS name, cost_value, default_value FROM mysql.server_cost UNION ALL SELECT cost_name, cost_value, default_value FROM mysql.engine_cost) c ORDER BY name;
SELECT User, Host, account_locked, password_expired, password_lifetime FROM mysql.user WHERE User LIKE 'mysql.%' ORDER BY User;
-- volatile
SELECT * FROM mysql.gtid_executed;

-- kind: the sys schema
SELECT * FROM sys.version;
SELECT * FROM sys.schema_object_overview WHERE db = 'everyday' ORDER BY object_type;
SELECT * FROM sys.schema_redundant_indexes WHERE table_schema = 'everyday';
SELECT table_name, redundant_index_name, sql_drop_index FROM sys.schema_redundant_indexes ORDER BY 1, 2;
-- volatile
SELECT * FROM sys.schema_unused_indexes WHERE object_schema = 'everyday';
SELECT table_name, column_name, auto_increment_ratio FROM sys.schema_auto_increment_columns WHERE table_schema = 'everyday' ORDER BY 1;
-- volatile
SELECT * FROM sys.schema_table_statistics WHERE table_schema = 'everyday';
-- volatile
SELECT * FROM sys.schema_index_statistics LIMIT 5;
-- volatile
SELECT * FROM sys.schema_tables_with_full_table_scans;
-- volatile
SELECT * FROM sys.schema_table_lock_waits;
-- volatile
SELECT query, db, exec_count, total_latency, avg_latency, rows_examined FROM sys.statement_analysis LIMIT 10;
-- volatile
SELECT * FROM sys.statements_with_full_table_scans LIMIT 5;
-- volatile
SELECT * FROM sys.statements_with_sorting LIMIT 5;
-- volatile
SELECT * FROM sys.statements_with_temp_tables LIMIT 5;
-- volatile
SELECT * FROM sys.statements_with_errors_or_warnings LIMIT 5;
-- volatile
SELECT * FROM sys.statements_with_runtimes_in_95th_percentile LIMIT 5;
-- volatile
SELECT * FROM sys.processlist WHERE conn_id IS NOT NULL;
-- volatile
SELECT * FROM sys.session;
-- volatile
SELECT * FROM sys.session_ssl_status;
-- volatile
SELECT * FROM sys.innodb_lock_waits;
-- volatile
SELECT * FROM sys.innodb_buffer_stats_by_schema;
-- volatile
SELECT * FROM sys.innodb_buffer_stats_by_table LIMIT 5;
-- volatile
SELECT * FROM sys.memory_global_total;
-- volatile
SELECT * FROM sys.memory_global_by_current_bytes LIMIT 5;
-- volatile
SELECT * FROM sys.memory_by_user_by_current_bytes;
-- volatile
SELECT * FROM sys.memory_by_thread_by_current_bytes LIMIT 5;
-- volatile
SELECT * FROM sys.io_global_by_file_by_bytes LIMIT 5;
-- volatile
SELECT * FROM sys.io_by_thread_by_latency LIMIT 5;
-- volatile
SELECT * FROM sys.host_summary;
-- volatile
SELECT * FROM sys.user_summary;
-- volatile
SELECT * FROM sys.user_summary_by_statement_latency;
-- volatile
SELECT * FROM sys.waits_global_by_latency LIMIT 5;
-- volatile
SELECT * FROM sys.wait_classes_global_by_latency;
-- volatile
SELECT * FROM sys.metrics WHERE Enabled = 'YES' ORDER BY Variable_name LIMIT 10;
-- volatile
SELECT * FROM sys.latest_file_io LIMIT 5;
-- volatile
SELECT * FROM sys.`x$statement_analysis` LIMIT 3;
-- volatile
SELECT * FROM sys.ps_check_lost_instrumentation;
SELECT * FROM sys.sys_config ORDER BY variable;
SELECT sys.format_bytes(1048576), sys.format_time(1500000000000), sys.format_statement('SELECT 1'), sys.quote_identifier('a`b');
SELECT sys.version_major(), sys.version_minor(), sys.version_patch();
SELECT sys.list_add('a,b', 'c'), sys.list_drop('a,b', 'a');
SELECT sys.format_path('/tmp/x') IS NOT NULL;
-- refused: stored function
SELECT sys.sys_get_config('statement_truncate_len', '64');
SELECT sys.ps_is_consumer_enabled('events_stages_history'), sys.ps_is_instrument_default_enabled('wait/io/file/sql/binlog'), sys.ps_is_instrument_default_timed('wait/io/file/sql/binlog'), sys.ps_is_account_enabled('localhost', 'app');
-- volatile
SELECT sys.ps_thread_id(CONNECTION_ID()), sys.ps_is_thread_instrumented(CONNECTION_ID()), sys.ps_thread_account(1);
-- refused: stored function
-- volatile
SELECT sys.ps_thread_trx_info(1);
-- refused: stored function
-- volatile
SELECT sys.ps_thread_stack(1, FALSE);
-- volatile
SELECT table_schema, sys.format_bytes(SUM(data_length)) AS size FROM information_schema.tables GROUP BY table_schema;

-- kind: refused by decision on MySQL
-- refused: files of the server's host
SELECT HEX(LOAD_FILE(@@pid_file)) IS NOT NULL;
-- refused: waits for replication
SELECT WAIT_FOR_EXECUTED_GTID_SET('', 0);
-- refused: waits for replication
SELECT SOURCE_POS_WAIT('none', 4, 0);
-- refused: waits for replication
SELECT MASTER_POS_WAIT('none', 4, 0);
-- refused: it can be made to compute
SELECT JSON_SCHEMA_VALID('{"type": "object"}', '{}'), JSON_SCHEMA_VALIDATION_REPORT('{"type": "object"}', '[]');
-- refused: it locks rows
SELECT * FROM orders WHERE id = 1 FOR SHARE SKIP LOCKED;
-- refused: only SELECT
HANDLER employees OPEN;

-- kind: the system's own schemas on MySQL
-- fails 1305
SHOW CREATE LIBRARY everyday.none;
SELECT * FROM information_schema.LIBRARIES;
SELECT * FROM information_schema.ROUTINE_LIBRARIES;
SELECT * FROM information_schema.JSON_DUALITY_VIEWS;
-- volatile
SELECT * FROM performance_schema.tls_channel_status WHERE PROPERTY = 'Enabled';
SHOW CREATE PROCEDURE sys.table_exists;
SHOW CREATE VIEW sys.version;
SHOW CREATE FUNCTION sys.format_bytes;
SHOW TABLES FROM sys LIKE 'schema%';
SHOW FULL TABLES FROM mysql LIKE 'help%';
SHOW TABLES FROM performance_schema LIKE 'setup%';
SHOW CREATE TABLE performance_schema.threads;
DESCRIBE mysql.user;
SHOW COLUMNS FROM information_schema.TABLES;
SELECT @@warning_count;
SELECT @@error_count;
SELECT EXTRACTVALUE('<a>1</a>', CONCAT('/', 'a'));

-- kind: defaults
SELECT DEFAULT(country) FROM customers LIMIT 1;
