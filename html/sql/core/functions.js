// Generated from src/sqlweb/gate; `POSTERN_BLESS=1 cargo test --test gate_vectors` writes it.

/** Names that may stand before a parenthesis, with the versions that have them built in. */
export const GROUPS = [
  { mariadb: [0, 0, 0], mysql: [0, 0, 0], until: null, adjacent: false, names: "ABS ACOS ADDTIME AES_DECRYPT AES_ENCRYPT ASCII ASIN ATAN ATAN2 AVG BENCHMARK BIN BIT_COUNT BIT_LENGTH CEIL CEILING CHAR CHARACTER_LENGTH CHARSET CHAR_LENGTH COALESCE COERCIBILITY COLLATION COMPRESS CONCAT CONCAT_WS CONNECTION_ID CONV CONVERT CONVERT_TZ COS COT CRC32 CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER DATABASE DATE DATEDIFF DATE_FORMAT DAY DAYNAME DAYOFMONTH DAYOFWEEK DAYOFYEAR DEGREES ELT EXP EXPORT_SET FIELD FIND_IN_SET FLOOR FORMAT FOUND_ROWS FROM_DAYS FROM_UNIXTIME GET_FORMAT GREATEST HEX HOUR IF IFNULL INET_ATON INET_NTOA INSERT INSTR INTERVAL ISNULL LAST_DAY LAST_INSERT_ID LCASE LEAST LEFT LENGTH LN LOCALTIME LOCALTIMESTAMP LOCATE LOG LOG10 LOG2 LOWER LPAD LTRIM MAKEDATE MAKETIME MAKE_SET MATCH MICROSECOND MINUTE MOD MONTH MONTHNAME NAME_CONST NULLIF OCT OCTET_LENGTH ORD PERIOD_ADD PERIOD_DIFF PI POW POWER QUARTER QUOTE RADIANS RAND REPEAT REPLACE REVERSE RIGHT ROUND ROW_COUNT RPAD RTRIM SCHEMA SECOND SEC_TO_TIME SHA2 SIGN SIN SLEEP SOUNDEX SPACE SQRT STRCMP STR_TO_DATE SUBSTRING_INDEX SUBTIME TAN TIME TIMEDIFF TIMESTAMP TIMESTAMPADD TIMESTAMPDIFF TIME_FORMAT TIME_TO_SEC TO_DAYS TO_SECONDS TRUNCATE UCASE UNCOMPRESS UNCOMPRESSED_LENGTH UNHEX UNIX_TIMESTAMP UPPER USER UTC_DATE UTC_TIME UTC_TIMESTAMP UUID UUID_SHORT VALUES VERSION WEEK WEEKDAY WEEKOFYEAR WEIGHT_STRING YEAR YEARWEEK" },
  { mariadb: [0, 0, 0], mysql: [0, 0, 0], until: null, adjacent: false, names: "EXTRACTVALUE UPDATEXML" },
  { mariadb: [0, 0, 0], mysql: [0, 0, 0], until: [9, 6, 0], adjacent: false, names: "MD5 SHA SHA1" },
  { mariadb: [0, 0, 0], mysql: [0, 0, 0], until: null, adjacent: true, names: "ADDDATE BIT_AND BIT_OR BIT_XOR CAST COUNT CURDATE CURTIME DATE_ADD DATE_SUB EXTRACT GROUP_CONCAT MAX MID MIN NOW POSITION SESSION_USER STD STDDEV STDDEV_POP STDDEV_SAMP SUBDATE SUBSTR SUBSTRING SUM SYSDATE SYSTEM_USER TRIM VARIANCE VAR_POP VAR_SAMP" },
  { mariadb: [0, 0, 0], mysql: [0, 0, 0], until: null, adjacent: false, names: "AGAINST ALL AND ANY AS BETWEEN BIGINT BINARY BIT BLOB BOTH BY CASE CHARACTER COLUMNS DATETIME DEC DECIMAL DISTINCT DISTINCTROW DIV DOUBLE ELSE ESCAPE EXISTS FIXED FLOAT FOR FROM GROUP HAVING HIGH_PRIORITY IN INDEX INT INTEGER JOIN KEY LEADING LIKE LIMIT MEDIUMINT NCHAR NOT NUMERIC NVARCHAR OFFSET ON OR PARTITION REAL REGEXP RLIKE ROLLUP ROW SELECT SIGNED SMALLINT SOME SQL_BIG_RESULT SQL_BUFFER_RESULT SQL_CALC_FOUND_ROWS SQL_NO_CACHE SQL_SMALL_RESULT STRAIGHT_JOIN TEXT THEN TINYINT TRAILING UNION UNSIGNED USING VARBINARY VARCHAR WHEN WHERE XOR" },
  { mariadb: [10, 2, 0], mysql: [8, 0, 2], until: null, adjacent: false, names: "OVER" },
  { mariadb: [10, 3, 0], mysql: [8, 0, 3], until: null, adjacent: false, names: "EXCEPT" },
  { mariadb: [10, 3, 0], mysql: [8, 0, 31], until: null, adjacent: false, names: "INTERSECT" },
  { mariadb: [10, 3, 4], mysql: [8, 0, 1], until: null, adjacent: false, names: "OF" },
  { mariadb: null, mysql: [8, 0, 14], until: null, adjacent: false, names: "LATERAL" },
  { mariadb: [10, 0, 12], mysql: [5, 6, 3], until: null, adjacent: false, names: "FROM_BASE64 INET6_ATON INET6_NTOA IS_IPV4 IS_IPV4_COMPAT IS_IPV4_MAPPED IS_IPV6 TO_BASE64" },
  { mariadb: [10, 2, 2], mysql: [8, 0, 2], until: null, adjacent: true, names: "CUME_DIST DENSE_RANK FIRST_VALUE LAG LEAD NTH_VALUE NTILE PERCENT_RANK RANK" },
  { mariadb: [10, 2, 2], mysql: [8, 0, 2], until: null, adjacent: false, names: "LAST_VALUE ROW_NUMBER" },
  { mariadb: [10, 2, 7], mysql: [5, 7, 8], until: null, adjacent: false, names: "JSON_ARRAY JSON_ARRAY_APPEND JSON_ARRAY_INSERT JSON_CONTAINS JSON_CONTAINS_PATH JSON_DEPTH JSON_EXTRACT JSON_INSERT JSON_KEYS JSON_LENGTH JSON_OBJECT JSON_QUOTE JSON_REMOVE JSON_REPLACE JSON_SEARCH JSON_SET JSON_TYPE JSON_UNQUOTE JSON_VALID" },
  { mariadb: [10, 4, 5], mysql: [5, 7, 22], until: null, adjacent: false, names: "JSON_MERGE_PATCH JSON_MERGE_PRESERVE" },
  { mariadb: [10, 10, 3], mysql: [5, 7, 22], until: null, adjacent: false, names: "JSON_PRETTY" },
  { mariadb: [10, 5, 0], mysql: [5, 7, 22], until: null, adjacent: true, names: "JSON_ARRAYAGG JSON_OBJECTAGG" },
  { mariadb: [10, 6, 0], mysql: [8, 0, 4], until: null, adjacent: false, names: "JSON_TABLE" },
  { mariadb: [10, 2, 7], mysql: [8, 0, 21], until: null, adjacent: false, names: "JSON_VALUE" },
  { mariadb: [10, 9, 1], mysql: [8, 0, 17], until: null, adjacent: false, names: "JSON_OVERLAPS" },
  { mariadb: [11, 1, 1], mysql: [8, 0, 17], until: null, adjacent: false, names: "JSON_SCHEMA_VALID" },
  { mariadb: null, mysql: [8, 0, 17], until: null, adjacent: false, names: "JSON_SCHEMA_VALIDATION_REPORT" },
  { mariadb: null, mysql: [8, 0, 13], until: null, adjacent: false, names: "JSON_STORAGE_FREE JSON_STORAGE_SIZE" },
  { mariadb: [10, 2, 7], mysql: null, until: null, adjacent: false, names: "JSON_COMPACT JSON_DETAILED JSON_EXISTS JSON_LOOSE JSON_MERGE JSON_QUERY" },
  { mariadb: [10, 7, 1], mysql: null, until: null, adjacent: false, names: "JSON_EQUALS JSON_NORMALIZE NATURAL_SORT_KEY SFORMAT" },
  { mariadb: [11, 2, 1], mysql: null, until: null, adjacent: false, names: "JSON_ARRAY_INTERSECT JSON_KEY_VALUE JSON_OBJECT_FILTER_KEYS JSON_OBJECT_TO_ARRAY" },
  { mariadb: [10, 0, 5], mysql: [8, 0, 4], until: null, adjacent: false, names: "REGEXP_INSTR REGEXP_REPLACE REGEXP_SUBSTR" },
  { mariadb: null, mysql: [8, 0, 4], until: null, adjacent: false, names: "REGEXP_LIKE" },
  { mariadb: [10, 0, 5], mysql: [8, 0, 0], until: null, adjacent: false, names: "CURRENT_ROLE" },
  { mariadb: [10, 10, 1], mysql: [5, 6, 17], until: null, adjacent: false, names: "RANDOM_BYTES" },
  { mariadb: [11, 0, 2], mysql: [8, 0, 16], until: null, adjacent: false, names: "FORMAT_PICO_TIME" },
  { mariadb: [11, 8, 1], mysql: [8, 0, 16], until: null, adjacent: false, names: "FORMAT_BYTES" },
  { mariadb: [0, 0, 0], mysql: null, until: null, adjacent: false, names: "BINLOG_GTID_POS COLUMN_ADD COLUMN_CHECK COLUMN_CREATE COLUMN_DELETE COLUMN_EXISTS COLUMN_GET COLUMN_JSON COLUMN_LIST CONTAINS DECODE DECODE_HISTOGRAM DES_DECRYPT DES_ENCRYPT ENCODE OLD_PASSWORD OVERLAPS PASSWORD" },
  { mariadb: [10, 3, 3], mysql: null, until: null, adjacent: false, names: "CHR LENGTHB NVL NVL2 VALUE" },
  { mariadb: [10, 3, 3], mysql: null, until: null, adjacent: true, names: "MEDIAN PERCENTILE_CONT PERCENTILE_DISC TRIM_ORACLE" },
  { mariadb: [10, 3, 3], mysql: null, until: null, adjacent: false, names: "CONCAT_OPERATOR_ORACLE DECODE_ORACLE LPAD_ORACLE LTRIM_ORACLE REPLACE_ORACLE RPAD_ORACLE RTRIM_ORACLE SUBSTR_ORACLE" },
  { mariadb: [10, 4, 2], mysql: null, until: null, adjacent: false, names: "WSREP_LAST_SEEN_GTID WSREP_LAST_WRITTEN_GTID" },
  { mariadb: [10, 6, 1], mysql: null, until: null, adjacent: false, names: "ADD_MONTHS ROWNUM SYS_GUID TO_CHAR" },
  { mariadb: [10, 8, 1], mysql: null, until: null, adjacent: false, names: "CRC32C" },
  { mariadb: [11, 7, 1], mysql: null, until: null, adjacent: false, names: "UUID_V4 UUID_V7 VEC_DISTANCE_COSINE VEC_DISTANCE_EUCLIDEAN VEC_FROMTEXT VEC_TOTEXT" },
  { mariadb: [11, 8, 1], mysql: null, until: null, adjacent: false, names: "VEC_DISTANCE" },
  { mariadb: null, mysql: [5, 6, 6], until: null, adjacent: false, names: "GTID_SUBSET GTID_SUBTRACT VALIDATE_PASSWORD_STRENGTH" },
  { mariadb: null, mysql: [5, 7, 5], until: null, adjacent: false, names: "ANY_VALUE" },
  { mariadb: null, mysql: [8, 0, 0], until: null, adjacent: false, names: "BIN_TO_UUID IS_UUID ROLES_GRAPHML UUID_TO_BIN" },
  { mariadb: null, mysql: [8, 0, 1], until: null, adjacent: false, names: "GROUPING" },
  { mariadb: null, mysql: [8, 0, 4], until: null, adjacent: false, names: "ICU_VERSION STATEMENT_DIGEST STATEMENT_DIGEST_TEXT" },
  { mariadb: null, mysql: [8, 0, 16], until: null, adjacent: false, names: "PS_CURRENT_THREAD_ID PS_THREAD_ID" },
  { mariadb: null, mysql: [9, 0, 0], until: null, adjacent: false, names: "FROM_VECTOR STRING_TO_VECTOR TO_VECTOR VECTOR_DIM VECTOR_TO_STRING" },
  { mariadb: [0, 0, 0], mysql: [0, 0, 0], until: null, adjacent: false, names: "GEOMETRYCOLLECTION LINESTRING MBRCONTAINS MBRDISJOINT MBRINTERSECTS MBROVERLAPS MBRTOUCHES MBRWITHIN MULTILINESTRING MULTIPOINT MULTIPOLYGON POINT POLYGON ST_AREA ST_ASBINARY ST_ASTEXT ST_ASWKB ST_ASWKT ST_BUFFER ST_CENTROID ST_CONTAINS ST_CONVEXHULL ST_CROSSES ST_DIFFERENCE ST_DIMENSION ST_DISJOINT ST_DISTANCE ST_ENDPOINT ST_ENVELOPE ST_EQUALS ST_EXTERIORRING ST_GEOMCOLLFROMTEXT ST_GEOMCOLLFROMWKB ST_GEOMETRYCOLLECTIONFROMTEXT ST_GEOMETRYCOLLECTIONFROMWKB ST_GEOMETRYFROMTEXT ST_GEOMETRYFROMWKB ST_GEOMETRYN ST_GEOMETRYTYPE ST_GEOMFROMTEXT ST_GEOMFROMWKB ST_INTERIORRINGN ST_INTERSECTION ST_INTERSECTS ST_ISCLOSED ST_ISEMPTY ST_ISSIMPLE ST_LENGTH ST_LINEFROMTEXT ST_LINEFROMWKB ST_LINESTRINGFROMTEXT ST_LINESTRINGFROMWKB ST_NUMGEOMETRIES ST_NUMINTERIORRINGS ST_NUMPOINTS ST_OVERLAPS ST_POINTFROMTEXT ST_POINTFROMWKB ST_POINTN ST_POLYFROMTEXT ST_POLYFROMWKB ST_POLYGONFROMTEXT ST_POLYGONFROMWKB ST_SRID ST_STARTPOINT ST_SYMDIFFERENCE ST_TOUCHES ST_UNION ST_WITHIN ST_X ST_Y" },
  { mariadb: [10, 2, 4], mysql: [5, 7, 5], until: null, adjacent: false, names: "ST_ASGEOJSON ST_GEOMFROMGEOJSON" },
  { mariadb: [10, 6, 0], mysql: [5, 7, 6], until: null, adjacent: false, names: "ST_DISTANCE_SPHERE" },
  { mariadb: [0, 0, 0], mysql: null, until: null, adjacent: false, names: "AREA ASBINARY ASTEXT ASWKB ASWKT BOUNDARY BUFFER CENTROID CONVEXHULL CROSSES DIMENSION DISJOINT ENDPOINT ENVELOPE EQUALS EXTERIORRING GEOMCOLLFROMTEXT GEOMCOLLFROMWKB GEOMETRYCOLLECTIONFROMTEXT GEOMETRYCOLLECTIONFROMWKB GEOMETRYFROMTEXT GEOMETRYFROMWKB GEOMETRYN GEOMETRYTYPE GEOMFROMTEXT GEOMFROMWKB GLENGTH INTERIORRINGN INTERSECTS ISCLOSED ISEMPTY ISRING ISSIMPLE LINEFROMTEXT LINEFROMWKB LINESTRINGFROMTEXT LINESTRINGFROMWKB MBREQUAL MLINEFROMTEXT MLINEFROMWKB MPOINTFROMTEXT MPOINTFROMWKB MPOLYFROMTEXT MPOLYFROMWKB MULTILINESTRINGFROMTEXT MULTILINESTRINGFROMWKB MULTIPOINTFROMTEXT MULTIPOINTFROMWKB MULTIPOLYGONFROMTEXT MULTIPOLYGONFROMWKB NUMGEOMETRIES NUMINTERIORRINGS NUMPOINTS POINTFROMTEXT POINTFROMWKB POINTN POINTONSURFACE POLYFROMTEXT POLYFROMWKB POLYGONFROMTEXT POLYGONFROMWKB SRID STARTPOINT ST_BOUNDARY ST_ISRING ST_POINTONSURFACE ST_RELATE TOUCHES WITHIN X Y" },
  { mariadb: [0, 0, 0], mysql: [5, 7, 6], until: null, adjacent: false, names: "ST_MLINEFROMTEXT ST_MLINEFROMWKB ST_MPOINTFROMTEXT ST_MPOINTFROMWKB ST_MPOLYFROMTEXT ST_MPOLYFROMWKB ST_MULTILINESTRINGFROMTEXT ST_MULTILINESTRINGFROMWKB ST_MULTIPOINTFROMTEXT ST_MULTIPOINTFROMWKB ST_MULTIPOLYGONFROMTEXT ST_MULTIPOLYGONFROMWKB" },
  { mariadb: null, mysql: [5, 7, 6], until: null, adjacent: false, names: "MBRCOVEREDBY MBRCOVERS MBREQUALS ST_BUFFER_STRATEGY ST_MAKEENVELOPE" },
  { mariadb: [12, 1, 0], mysql: [5, 7, 6], until: null, adjacent: false, names: "ST_GEOHASH ST_ISVALID ST_LATFROMGEOHASH ST_LONGFROMGEOHASH ST_POINTFROMGEOHASH ST_SIMPLIFY ST_VALIDATE" },
  { mariadb: null, mysql: [8, 0, 13], until: null, adjacent: false, names: "ST_LATITUDE ST_LONGITUDE ST_SWAPXY ST_TRANSFORM" },
  { mariadb: null, mysql: [8, 0, 23], until: null, adjacent: false, names: "ST_FRECHETDISTANCE ST_HAUSDORFFDISTANCE" },
  { mariadb: null, mysql: [8, 0, 24], until: null, adjacent: false, names: "ST_LINEINTERPOLATEPOINT ST_LINEINTERPOLATEPOINTS ST_POINTATDISTANCE" },
  { mariadb: [12, 1, 0], mysql: [8, 0, 24], until: null, adjacent: true, names: "ST_COLLECT" },
];

/** Built-in functions that are refused, and why. */
export const REFUSED = {
  DEFAULT: "it runs the column's default expression, which may move a sequence",
  ENCRYPT: "it can be made to compute for hours, and the server cannot interrupt it",
  GET_LOCK: "it touches locks that other connections see",
  IS_FREE_LOCK: "it touches locks that other connections see",
  IS_USED_LOCK: "it touches locks that other connections see",
  KDF: "it can be made to compute for hours, and the server cannot interrupt it",
  LASTVAL: "it reads or moves a sequence",
  LOAD_FILE: "it reads files of the server's host",
  MASTER_GTID_WAIT: "it waits for replication",
  MASTER_POS_WAIT: "it waits for replication",
  MONTHS_BETWEEN: "servers that people still run take this name for a stored function",
  NEXTVAL: "it reads or moves a sequence",
  OLD_VALUE: "servers that people still run take this name for a stored function",
  RELEASE_ALL_LOCKS: "it touches locks that other connections see",
  RELEASE_LOCK: "it touches locks that other connections see",
  SETVAL: "it reads or moves a sequence",
  SOURCE_POS_WAIT: "it waits for replication",
  TO_DATE: "servers that people still run take this name for a stored function",
  TO_NUMBER: "servers that people still run take this name for a stored function",
  TRUNC: "servers that people still run take this name for a stored function",
  WAIT_FOR_EXECUTED_GTID_SET: "it waits for replication",
  WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS: "it waits for replication",
  WSREP_SYNC_WAIT_UPTO_GTID: "it waits for replication",
};

/** See src/sqlweb/gate/words.rs. */
export const DENIED = "ALTER ANALYZE CALL CHANGE CREATE DELETE DROP GRANT INFILE INSERT INTO KILL LOAD LOCK OPTIMIZE OUTFILE PROCEDURE PURGE RELEASE RENAME REPLACE RESIGNAL REVOKE SIGNAL TRIGGER UNLOCK UPDATE";

/** See src/sqlweb/gate/words.rs. */
export const SELECT_OPTIONS = "ALL DISTINCT DISTINCTROW HIGH_PRIORITY SQL_BIG_RESULT SQL_BUFFER_RESULT SQL_CACHE SQL_CALC_FOUND_ROWS SQL_NO_CACHE SQL_SMALL_RESULT STRAIGHT_JOIN";

/** See src/sqlweb/gate/words.rs. */
export const OPERATORS = "BINARY COLLATE DIV ESCAPE IN INTERVAL IS LIKE MEMBER MOD NOT REGEXP RLIKE SOUNDS";

/** See src/sqlweb/gate/words.rs. */
export const CLAUSES = "AS BY HAVING JOIN LIMIT ON SELECT UNION WHERE";

/** See src/sqlweb/gate/words.rs. */
export const RESETTING = "INNODB_CMPMEM_RESET INNODB_CMP_PER_INDEX_RESET INNODB_CMP_RESET";

/** See src/sqlweb/gate/words.rs. */
export const SHOWN = "ALL AUTHORS BINARY BINLOG CHARACTER CHARSET CLIENT_STATISTICS COLLATION COLUMNS CONTRIBUTORS COUNT CREATE DATABASES ENGINE ENGINES ERRORS EVENTS EXPLAIN EXTENDED FIELDS FULL FUNCTION GLOBAL GRANTS INDEX INDEXES INDEX_STATISTICS KEYS LOCAL LOCALES MASTER METADATA_LOCK_INFO OPEN PACKAGE PLUGINS PRIVILEGES PROCEDURE PROCESSLIST PROFILE PROFILES QUERY_CACHE_INFO QUERY_RESPONSE_TIME RELAYLOG REPLICA REPLICAS SCHEMAS SESSION SLAVE SLAVES STATUS STORAGE TABLE TABLES TABLE_STATISTICS TRIGGERS USER_STATISTICS USER_VARIABLES VARIABLES WARNINGS WSREP_MEMBERSHIP WSREP_STATUS";

/** See src/sqlweb/gate/words.rs. */
export const SHOWN_CREATE = "DATABASE EVENT FUNCTION LIBRARY PACKAGE PROCEDURE SCHEMA SEQUENCE SERVER TABLE TRIGGER USER VIEW";
