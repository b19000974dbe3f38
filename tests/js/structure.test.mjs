import { alterTable, faultOf, lockingOf, prepare, risks } from '../../html/sql/structure/alter.js';
import {
  blankCheck, blankColumn, blankForeignKey, blankIndex, blankPart, blankTable, changingIn, columnText, dropColumn, edited, forSession, inMode, indexText, isHistory, optionOf, parseTable, renameColumn, unfitMode, withOption, withSystemIds, writeTable,
} from '../../html/sql/structure/definition.js';
import { isSince, readType, stayingColumns } from '../../html/sql/structure/changes.js';
import { createOf } from '../../html/sql/structure/facts.js';
import { withIndex } from '../../html/sql/structure/edits.js';
import { Watch } from '../../html/sql/structure/watch.js';
import { assert, test } from './shim.mjs';

const MYSQL = { mariadb: false, version: '9.7.4' };
const MARIADB = { mariadb: true, version: '11.8.9-MariaDB' };
const OLD_MARIADB = { mariadb: true, version: '10.11.19-MariaDB-0+deb12u1' };

const read = (sql, server = MYSQL) => parseTable(sql, server);
const of = (items, end = 'ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci') => `CREATE TABLE \`t\` (\n  ${items.join(',\n  ')}\n) ${end}`;
const named = (list, name) => list.find((one) => one.name === name);
const change = (table, name, fields) => ({ ...table, columns: table.columns.map((column) => (column.name === name ? edited(column, fields) : column)) });

/** Answers to SHOW CREATE TABLE of servers that are not installed here. */
const TEXTS = {
  'MySQL 5.7': [{ mariadb: false, version: '5.7.44-log' }, "CREATE TABLE `orders` (\n  `id` int(10) unsigned NOT NULL AUTO_INCREMENT,\n  `z` int(5) unsigned zerofill DEFAULT NULL,\n  `at` timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,\n  `m` timestamp NULL DEFAULT NULL,\n  `c` char(3) CHARACTER SET latin1 COLLATE latin1_bin DEFAULT 'it''s',\n  `g` int(11) GENERATED ALWAYS AS ((`id` + 1)) STORED COMMENT 'x',\n  `d` int(11) /*!50606 STORAGE DISK */ /*!50606 COLUMN_FORMAT DYNAMIC */ DEFAULT NULL,\n  PRIMARY KEY (`id`),\n  KEY `f` (`c`(2)) USING HASH KEY_BLOCK_SIZE=1024 COMMENT 'k',\n  FULLTEXT KEY `ft` (`c`) /*!50100 WITH PARSER `ngram` */ ,\n  CONSTRAINT `orders_ibfk_1` FOREIGN KEY (`z`) REFERENCES `shop`.`things` (`a`, `b`) ON DELETE SET NULL ON UPDATE CASCADE\n) /*!50100 TABLESPACE `ts1` STORAGE DISK */ ENGINE=NDBCLUSTER AUTO_INCREMENT=12 DEFAULT CHARSET=utf8 ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8 COMMENT='c''s'\n/*!50100 PARTITION BY RANGE (`id`)\n(PARTITION p0 VALUES LESS THAN (10) COMMENT = 'a */ b' ENGINE = InnoDB,\n PARTITION p1 VALUES LESS THAN MAXVALUE ENGINE = InnoDB) */"],
  'MySQL 8.0': [{ mariadb: false, version: '8.0.36' }, "CREATE TABLE `t` (\n  `id` bigint unsigned NOT NULL AUTO_INCREMENT,\n  `p` point NOT NULL /*!80003 SRID 4326 */,\n  `h` int DEFAULT '3' /*!80023 INVISIBLE */,\n  `j` json DEFAULT (json_object(_utf8mb4'a)',_utf8mb4'it\\'s')),\n  `u` binary(16) DEFAULT (uuid_to_bin(uuid())),\n  `e` int DEFAULT NULL /*!80021 ENGINE_ATTRIBUTE '{\"a\": 1}' */,\n  PRIMARY KEY (`id`),\n  UNIQUE KEY `fx` ((lower(`e`)),`h` DESC) /*!80000 INVISIBLE */,\n  KEY `mv` ((cast(json_extract(`j`,_utf8mb4'$[*]') as unsigned array))),\n  CONSTRAINT `c1` CHECK ((`h` > 1)) /*!80016 NOT ENFORCED */\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci STATS_PERSISTENT=1 /*!80023 AUTOEXTEND_SIZE=4194304 */ ENCRYPTION='Y' /*!80021 ENGINE_ATTRIBUTE='{\"k\": 1}' */"],
  'MariaDB 10.5': [{ mariadb: true, version: '10.5.23-MariaDB' }, "CREATE TABLE `t` (\n  `id` int(11) NOT NULL,\n  `v` varchar(100) /*!100301 COMPRESSED*/ CHARACTER SET latin1 DEFAULT NULL,\n  `old` time /* mariadb-5.3 */ DEFAULT NULL,\n  `n` int(11) DEFAULT nextval(`shop`.`numbers`),\n  `d` date DEFAULT curdate(),\n  `x` text DEFAULT concat('a)',\"b\") CHECK (`x` <> ')'),\n  `h` int(11) WITHOUT SYSTEM VERSIONING INVISIBLE DEFAULT 1,\n  `r` varchar(10) DEFAULT NULL `attribute`='it''s' `other`=3,\n  PRIMARY KEY (`id`)\n) ENGINE=CONNECT DEFAULT CHARSET=utf8mb4 PAGE_CHECKSUM=1 TRANSACTIONAL=0 `table_type`='DOS' `file_name`='/tmp/a b' CONNECTION='mysql://u:p@h/d' UNION=(`a`,`b`) /* `unknown`=5 */ WITH SYSTEM VERSIONING\n PARTITION BY SYSTEM_TIME \n(PARTITION `p0` HISTORY ENGINE = InnoDB,\n PARTITION `pn` CURRENT ENGINE = InnoDB)"],
  'without quotes': [MARIADB, "CREATE TABLE t (\n  id int(11) NOT NULL,\n  period int(11) DEFAULT NULL,\n  `key` int(11) DEFAULT NULL,\n  PRIMARY KEY (id),\n  KEY period (period,`key`),\n  CONSTRAINT c FOREIGN KEY (period) REFERENCES o.p (q)\n) ENGINE=InnoDB"],
  'with ANSI quotes': [MARIADB, "CREATE TABLE \"a \"\"t\"\"\" (\n  \"i\"\"d\" int(11) NOT NULL DEFAULT 'say \"so\"' COMMENT 'x',\n  PRIMARY KEY (\"i\"\"d\"),\n  CONSTRAINT \"c\" CHECK (\"i\"\"d\" <> '\"')\n)"],
  'on disk': [MYSQL, 'CREATE TABLE `t` (\n  `a` int DEFAULT NULL\n) /*!50100 STORAGE MEMORY */ ENGINE=MyISAM'],
  'temporary': [MYSQL, 'CREATE TEMPORARY TABLE `t` (\n  `a` int DEFAULT NULL\n) ENGINE=InnoDB'],
  'MERGE': [MYSQL, 'CREATE TABLE `t` (\n  `a` int DEFAULT NULL\n) ENGINE=MRG_MyISAM DEFAULT CHARSET=latin1 INSERT_METHOD=LAST UNION=(`x`,`d`.`y y`)'],
};

test('what servers of many versions print is written unchanged, and nothing is altered', () => {
  for (const [name, [server, sql]] of Object.entries(TEXTS)) {
    const table = parseTable(sql, server);
    assert.equal(writeTable(table), sql, name);
    assert.deepEqual(alterTable(table, table, server), [], name);
    assert.deepEqual(risks(table, table), [], name);
  }
});

test('a column is read into its fields', () => {
  const { columns } = read(TEXTS['MySQL 5.7'][1]);
  assert.equal(columns.map((column) => column.type).join('; '), 'int(10) unsigned; int(5) unsigned zerofill; timestamp; timestamp; char(3); int(11); int(11)');
  assert.ok(columns[0].autoIncrement && !columns[0].nullable);
  assert.deepEqual(columns[2].default, { kind: 'literal', value: 'CURRENT_TIMESTAMP' });
  assert.equal(columns[2].onUpdate, 'CURRENT_TIMESTAMP');
  assert.deepEqual([columns[3].nullable, columns[3].default.kind], [true, 'null']);
  assert.deepEqual([columns[4].charset, columns[4].collation, columns[4].default.value], ['latin1', 'latin1_bin', "it's"]);
  assert.deepEqual(columns[5].generated, { expression: '(`id` + 1)', stored: true });
  assert.equal(columns[5].comment, 'x');
  assert.equal(columns[6].rest, '/*!50606 STORAGE DISK */ /*!50606 COLUMN_FORMAT DYNAMIC */');
  const maria = parseTable(TEXTS['MariaDB 10.5'][1], MARIADB).columns;
  assert.equal(maria[1].type, 'varchar(100) /*!100301 COMPRESSED*/');
  assert.equal(maria[2].type, 'time /* mariadb-5.3 */');
  assert.deepEqual(maria[3].default, { kind: 'expression', value: 'nextval(`shop`.`numbers`)' });
  assert.deepEqual([maria[5].default.kind, maria[5].check], ['expression', "`x` <> ')'"]);
  assert.deepEqual([maria[6].rest, maria[6].invisible], ['WITHOUT SYSTEM VERSIONING', true]);
  assert.equal(maria[7].rest, "`attribute`='it''s' `other`=3");
});

test('indexes, keys and checks are read into their fields', () => {
  const table = read(TEXTS['MySQL 8.0'][1]);
  const fx = named(table.indexes, 'fx');
  assert.deepEqual([fx.kind, fx.invisible, fx.parts[0].expression, fx.parts[1].column, fx.parts[1].descending], ['unique', true, 'lower(`e`)', 'h', true]);
  assert.equal(table.checks[0].enforced, false);
  const old = read(TEXTS['MySQL 5.7'][1]);
  assert.deepEqual(named(old.indexes, 'f').parts, [{ column: 'c', expression: null, length: 2, descending: false, rest: '' }]);
  assert.deepEqual([named(old.indexes, 'f').method, named(old.indexes, 'f').comment, named(old.indexes, 'f').rest], ['HASH', 'k', 'KEY_BLOCK_SIZE=1024']);
  const [key] = old.foreignKeys;
  assert.deepEqual([key.refDb, key.refTable, key.refColumns.join(), key.onDelete, key.onUpdate], ['shop', 'things', 'a,b', 'SET NULL', 'CASCADE']);
});

test('options have names and values', () => {
  const table = parseTable(TEXTS['MariaDB 10.5'][1], MARIADB);
  const values = Object.fromEntries(table.options.map((option) => [option.name, option.value]));
  assert.equal(values.ENGINE, 'CONNECT');
  assert.equal(values['DEFAULT CHARSET'], 'utf8mb4');
  assert.equal(values['`file_name`'], '/tmp/a b');
  assert.equal(values.UNION, '`a`,`b`');
  assert.ok('WITH SYSTEM VERSIONING' in values);
  assert.equal(optionOf(read(TEXTS['MySQL 5.7'][1]), 'COMMENT'), "c's");
  assert.equal(withOption(table, 'ENGINE', 'CONNECT'), table);
});

test('what is no table is refused with the reason', () => {
  assert.throws(() => read('CREATE ALGORITHM=UNDEFINED DEFINER=`a`@`b` SQL SECURITY DEFINER VIEW `v` AS select 1'), /view/);
  assert.throws(() => read('CREATE SEQUENCE `s` start with 1', MARIADB), /sequence/);
  assert.throws(() => read('CREATE TABLE `s` (\n  `next_not_cached_value` bigint(21) NOT NULL\n) ENGINE=InnoDB SEQUENCE=1', MARIADB), /sequence/);
  assert.throws(() => read('CREATE TABLE `t` (\n  `a` int,\n'), /expected/);
  assert.throws(() => read('CREATE TABLE `t` (\n  `a` int DEFAULT (1\n'), /parenthesis/);
  assert.throws(() => read('CREATE TABLE `t` (\n  `a` int DEFAULT f(1) + 2\n)'), /next attribute/);
  assert.throws(() => read('DROP TABLE t'), /CREATE expected near “DROP TABLE t”/);
});

test('a column is written from its fields so that the server reads it', () => {
  const column = { ...blankColumn(), name: 'a`b', type: 'varchar(10)', nullable: false, default: { kind: 'text', value: "it's\\\n" }, comment: 'x' };
  assert.equal(columnText(column), "`a``b` varchar(10) NOT NULL DEFAULT 'it''s\\\\\\n' COMMENT 'x'");
  assert.equal(columnText({ ...column, default: { kind: 'null', value: '' } }), "`a``b` varchar(10) NOT NULL COMMENT 'x'");
  assert.equal(columnText({ ...column, type: 'timestamp', nullable: true, default: { kind: 'literal', value: 'CURRENT_TIMESTAMP(3)' }, comment: '' }), '`a``b` timestamp NULL DEFAULT CURRENT_TIMESTAMP(3)');
  assert.equal(columnText({ ...column, generated: { expression: '1 + 1', stored: false }, default: { kind: 'none', value: '' }, comment: '' }), '`a``b` varchar(10) GENERATED ALWAYS AS (1 + 1) VIRTUAL NOT NULL');
});

test('literals are written for the mode of the session', () => {
  const sql = "ALTER TABLE `t`\n  MODIFY COLUMN `a\\b` varchar(9) DEFAULT 'it''s\\\\ \\n' COMMENT 'plain'";
  assert.equal(forSession(sql, MYSQL), sql);
  assert.equal(forSession(sql, inMode(MYSQL, 'STRICT_TRANS_TABLES,NO_BACKSLASH_ESCAPES')), "ALTER TABLE `t`\n  MODIFY COLUMN `a\\b` varchar(9) DEFAULT 'it''s\\ \n' COMMENT 'plain'");
  assert.equal(forSession("DEFAULT '\\0a'", { noBackslashEscapes: true }), "DEFAULT X'0061'");
  // MySQL doubles the backslashes of expressions in that mode.
  assert.deepEqual([changingIn(MARIADB, 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES').first, changingIn(MYSQL, 'ANSI_QUOTES').first], [[], []]);
  const plain = changingIn(MYSQL, 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES');
  assert.deepEqual([plain.mode, plain.noBackslashEscapes, plain.ansiQuotes], ['ANSI_QUOTES', false, true]);
  const table = read(of(["`a` varchar(9) DEFAULT '\\\\'"]));
  const [set] = plain.first;
  assert.deepEqual(alterTable(table, change(table, 'a', { comment: '\\' }), plain), ["SET SESSION sql_mode = 'ANSI_QUOTES'", "ALTER TABLE `t`\n  MODIFY COLUMN `a` varchar(9) DEFAULT '\\\\' COMMENT '\\\\'"]);
  assert.deepEqual(prepare(table, change(table, 'a', { nullable: false }), plain), [set, "UPDATE `t` SET `a` = '\\\\' WHERE `a` IS NULL"]);
  assert.deepEqual(alterTable(table, table, plain), []);
  assert.equal(unfitMode('STRICT_ALL_TABLES,ANSI_QUOTES'), '');
  assert.equal(unfitMode('PIPES_AS_CONCAT,ORACLE'), 'ORACLE');
});

const base = read(of(['`id` int NOT NULL AUTO_INCREMENT', '`a` int DEFAULT NULL', '`b` varchar(20) COLLATE utf8mb4_bin DEFAULT NULL', '`c` int NOT NULL', 'PRIMARY KEY (`id`)', 'KEY `k` (`a`,`b`)', 'UNIQUE KEY `u` (`c`)', 'CONSTRAINT `fk` FOREIGN KEY (`a`) REFERENCES `o` (`x`)', 'CONSTRAINT `ch` CHECK ((`c` > 0))']));
const clauses = (after, server = MYSQL) => alterTable(base, after, server).map((sql) => sql.replace(/^ALTER TABLE `t`\n {2}/, '').replaceAll(',\n  ', ' | '));

test('only what changed is in the ALTER', () => {
  assert.deepEqual(clauses(change(base, 'a', { type: 'bigint' })), ['MODIFY COLUMN `a` bigint DEFAULT NULL']);
  assert.deepEqual(clauses(change(base, 'a', {})), []);
  assert.deepEqual(clauses(renameColumn(base, base.columns[1].id, 'z')), ['RENAME COLUMN `a` TO `z`']);
  assert.deepEqual(clauses(renameColumn(base, base.columns[1].id, 'z'), { mariadb: false, version: '5.7.30' }), ['CHANGE COLUMN `a` `z` int DEFAULT NULL']);
  assert.deepEqual(clauses(change(renameColumn(base, base.columns[1].id, 'z'), 'z', { nullable: false })), ['CHANGE COLUMN `a` `z` int NOT NULL']);
  assert.deepEqual(clauses(withOption(base, 'COMMENT', "it's")), ["COMMENT='it''s'"]);
  assert.deepEqual(clauses({ ...base, name: 'n' }), ['RENAME TABLE `t` TO `n`']);
  assert.deepEqual(clauses({ ...change(base, 'a', { type: 'bigint' }), db: 'd', name: 'n' }), ['MODIFY COLUMN `a` bigint DEFAULT NULL | RENAME TO `d`.`n`']);
  assert.deepEqual(clauses({ ...base, partition: 'PARTITION BY HASH (`id`)' }), ['ALTER TABLE `t`\nPARTITION BY HASH (`id`)']);
});

test('columns are placed where they stand, and as few are moved as can be', () => {
  const [id, a, b, c] = base.columns;
  const fresh = { ...blankColumn(), name: 'n' };
  const other = { ...blankColumn(), name: 'm' };
  assert.deepEqual(clauses({ ...base, columns: [id, a, b, c, fresh, other] }), ['ADD COLUMN `n` int | ADD COLUMN `m` int']);
  assert.deepEqual(clauses({ ...base, columns: [fresh, id, a, other, b, c] }), ['ADD COLUMN `n` int FIRST | ADD COLUMN `m` int AFTER `a`']);
  assert.deepEqual(clauses({ ...base, columns: [c, id, a, b] }), ['MODIFY COLUMN `c` int NOT NULL FIRST']);
  assert.deepEqual(clauses({ ...base, columns: [id, c, fresh, a, b] }), ['MODIFY COLUMN `c` int NOT NULL AFTER `id` | ADD COLUMN `n` int AFTER `c`']);
  assert.equal(stayingColumns(base, { ...base, columns: [c, b, id, a] }).size, 2);
});

test('indexes and checks are changed in place where they can be', () => {
  const index = (fields) => ({ ...base, indexes: base.indexes.map((one) => (one.name === 'k' ? edited(one, fields) : one)) });
  assert.deepEqual(clauses(index({ name: 'kk' })), ['RENAME INDEX `k` TO `kk`']);
  assert.deepEqual(clauses(index({ invisible: true })), ['ALTER INDEX `k` INVISIBLE']);
  assert.deepEqual(clauses(index({ invisible: true }), MARIADB), ['ALTER INDEX `k` IGNORED']);
  assert.deepEqual(clauses(index({ kind: 'unique' })), ['DROP INDEX `k` | ADD UNIQUE KEY `k` (`a`,`b`)']);
  assert.deepEqual(clauses({ ...base, indexes: base.indexes.slice(1) }), ['DROP PRIMARY KEY']);
  const check = (fields) => ({ ...base, checks: base.checks.map((one) => edited(one, fields)) });
  assert.deepEqual(clauses(check({ enforced: false })), ['ALTER CHECK `ch` NOT ENFORCED']);
  assert.deepEqual(clauses(check({ expression: '`c` > 1' }), MARIADB), ['DROP CONSTRAINT `ch` | ADD CONSTRAINT `ch` CHECK (`c` > 1)']);
  assert.deepEqual(clauses({ ...base, checks: [...base.checks, { ...blankCheck(), expression: 'a > 1' }] }), ['ADD CHECK (a > 1)']);
  assert.equal(indexText({ ...blankIndex(), name: 'n', kind: 'fulltext', parts: [blankPart('b')] }), 'FULLTEXT KEY `n` (`b`)');
});

test('a column whose default was not read whole is not written anew', () => {
  for (const [type, value] of [['varbinary(20)', '\\0?'], ['varbinary(20)', '\uFFFD'], ['varchar(9)', '\uFFFD']]) {
    const table = parseTable(of([`\`a\` int`, `\`v\` ${type} DEFAULT '${value}'`]), MARIADB);
    const [a, v] = table.columns;
    const run = (columns) => alterTable(table, { ...table, columns, moved: ['v'] }, MARIADB)[0];
    assert.throws(() => run([a, edited(v, { comment: 'x' })]), /v: the server does not show its default whole/);
    assert.throws(() => run([edited(v, {}), a]), /not show its default whole/);
    assert.throws(() => run([v, a]), /not show its default whole/);
    assert.ok(run([a, edited(v, { name: 'w' })]).includes('RENAME COLUMN `v` TO `w`'));
    assert.ok(run([edited(a, { comment: 'x' }), v]).includes('MODIFY COLUMN `a`'));
    assert.ok(run([a, edited(v, { comment: 'x', default: { kind: 'literal', value: "x'00ff27'" } })]).includes("DEFAULT x'00ff27' COMMENT"));
  }
  const table = parseTable(of(["`v` varchar(9) DEFAULT 'what?'", "`b` varbinary(9) DEFAULT 'plain'"]), MARIADB);
  assert.ok(alterTable(table, change(change(table, 'v', { comment: 'x' }), 'b', { comment: 'x' }), MARIADB)[0].includes("'what?' COMMENT"));
});

test('a foreign key of the same name is added by a second statement, and the loss is told', () => {
  const after = { ...base, foreignKeys: base.foreignKeys.map((key) => edited(key, { onDelete: 'CASCADE' })) };
  const statements = alterTable(base, after, { ...MYSQL, algorithm: 'INPLACE', lock: 'NONE' });
  assert.deepEqual(statements, [
    'ALTER TABLE `t`\n  DROP FOREIGN KEY `fk`,\n  ALGORITHM=INPLACE,\n  LOCK=NONE',
    'ALTER TABLE `t`\n  ADD CONSTRAINT `fk` FOREIGN KEY (`a`) REFERENCES `o` (`x`) ON DELETE CASCADE,\n  ALGORITHM=COPY,\n  LOCK=SHARED',
  ]);
  assert.ok(risks(base, after)[0].startsWith('fk: the foreign key is removed first'));
  assert.equal(risks(base, after).length, 1);
  const own = read(of(['`a` int DEFAULT NULL', 'KEY `a` (`a`)', 'CONSTRAINT `fk` FOREIGN KEY (`a`) REFERENCES `o` (`x`)']));
  assert.equal(risks(own, { ...own, foreignKeys: own.foreignKeys.map((key) => edited(key, { onDelete: 'CASCADE' })) })[1], 'a: if the server made this index for the foreign key, it renames it to fk.');
  const renamed = { ...base, foreignKeys: base.foreignKeys.map((key) => edited(key, { name: 'fk2' })) };
  assert.deepEqual(clauses(renamed), ['DROP FOREIGN KEY `fk` | ADD CONSTRAINT `fk2` FOREIGN KEY (`a`) REFERENCES `o` (`x`)']);
  // No server gives a table with foreign keys another engine.
  const plain = { ...withOption(base, 'ENGINE', 'MyISAM'), foreignKeys: [] };
  assert.deepEqual(alterTable(base, plain, { ...MYSQL, algorithm: 'COPY', lock: 'SHARED' }), ['ALTER TABLE `t`\n  DROP FOREIGN KEY `fk`', 'ALTER TABLE `t`\n  ENGINE=MyISAM,\n  ALGORITHM=COPY,\n  LOCK=SHARED']);
  assert.ok(risks(base, plain)[0].startsWith('fk: no server gives a table with foreign keys another engine, so a first statement removes'));
  assert.deepEqual(clauses({ ...base, foreignKeys: [...base.foreignKeys, { ...blankForeignKey(), columns: ['c'], refDb: 'd', refTable: 'p', refColumns: ['id'] }] }), ['ADD FOREIGN KEY (`c`) REFERENCES `d`.`p` (`id`)']);
});

test('another default character set leaves the texts of changed columns as they are', () => {
  const table = read(of(['`a` varchar(9) DEFAULT NULL', '`b` varchar(9) COLLATE utf8mb4_bin DEFAULT NULL', '`n` int DEFAULT NULL'], 'ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci'));
  const latin = withOption(withOption(table, 'DEFAULT CHARSET', 'latin1'), 'COLLATE', '');
  const [sql] = alterTable(table, change(change(latin, 'a', { comment: 'x' }), 'n', { comment: 'y' }), MYSQL);
  assert.equal(sql, "ALTER TABLE `t`\n  MODIFY COLUMN `a` varchar(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci DEFAULT NULL COMMENT 'x',\n  MODIFY COLUMN `n` int DEFAULT NULL COMMENT 'y',\n  DEFAULT CHARACTER SET latin1");
});

test('a moved column keeps its character set and collation under another default', () => {
  const table = read(of(['`id` int NOT NULL', '`name` varchar(60) NOT NULL', '`l` varchar(9) CHARACTER SET latin1 DEFAULT NULL', '`b` varchar(9) COLLATE utf8mb4_bin DEFAULT NULL', '`website` text', 'KEY `n` (`name`)']));
  const german = withOption(table, 'COLLATE', 'utf8mb4_german2_ci');
  const [id, name, l, b, website] = german.columns;
  const end = 'DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_german2_ci';
  const sql = (columns, more = {}) => alterTable(table, { ...german, columns, ...more }, MYSQL)[0].split(/,?\n {2}/).slice(1);
  assert.deepEqual(sql([id, l, b, website, name]), ['MODIFY COLUMN `name` varchar(60) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci NOT NULL AFTER `website`', end]);
  assert.deepEqual(sql([l, id, name, b, website]), ['MODIFY COLUMN `l` varchar(9) CHARACTER SET latin1 DEFAULT NULL FIRST', end]);
  assert.deepEqual(sql([b, id, name, l, website]), ['MODIFY COLUMN `b` varchar(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL FIRST', end]);
  // A conversion wants the new one, and so does a column whose own is taken away.
  assert.deepEqual(sql([id, l, b, website, name], { convert: true }), ['MODIFY COLUMN `name` varchar(60) NOT NULL AFTER `website`', 'CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_german2_ci']);
  assert.deepEqual(sql([id, name, l, edited(b, { collation: '' }), website]), ['MODIFY COLUMN `b` varchar(9) DEFAULT NULL', end]);
  const moved = { ...german, columns: [id, l, b, website, name] };
  assert.deepEqual([lockingOf(table, moved, MYSQL)[0].algorithm, lockingOf(table, moved, MARIADB)[0].algorithm], ['INPLACE', 'INSTANT']);
  // MariaDB refuses INSTANT where a column gets another collation too, with an index or without.
  const both = { ...german, columns: [id, name, l, edited(b, { collation: 'utf8mb4_general_ci' }), website] };
  assert.deepEqual([lockingOf(table, both, MARIADB)[0].algorithm, lockingOf(table, { ...both, options: table.options }, MARIADB)[0].algorithm], ['NOCOPY', 'INSTANT']);
  // An index is built for the collation that is taken over.
  const freed = { ...german, columns: german.columns.map((one) => (one === name ? edited(one, { charset: 'utf8mb4', collation: 'utf8mb4_german2_ci' }) : one)) };
  assert.deepEqual([lockingOf(table, freed, MYSQL)[0].algorithm, lockingOf(table, freed, MARIADB)[0].algorithm], ['COPY', 'NOCOPY']);
});

test('a table is converted with its columns', () => {
  const table = read(of(['`a` varchar(9) DEFAULT NULL']));
  const latin = { ...withOption(withOption(table, 'DEFAULT CHARSET', 'latin1'), 'COLLATE', 'latin1_bin'), convert: true };
  assert.deepEqual(alterTable(table, latin, MYSQL), ['ALTER TABLE `t`\n  CONVERT TO CHARACTER SET latin1 COLLATE latin1_bin']);
  assert.ok(risks(table, latin).join().includes('Characters that latin1 does not have'));
});

test('characters that are lost and values that become the same by another character set are told', () => {
  const items = ['`a` varchar(50) DEFAULT NULL', '`b` varchar(50) COLLATE utf8mb4_bin NOT NULL', '`l` varchar(9) CHARACTER SET latin1 DEFAULT NULL', '`x` blob', 'PRIMARY KEY (`b`)', 'UNIQUE KEY `u` (`a`,`x`(9))'];
  const table = read(of(items));
  const lost = (name) => `${name}: characters that latin1 does not have are lost: the server refuses them, or changes them in a session without strict mode.`;
  const same = (index, name, collation) => `${index}: rows whose ${name} is the same in ${collation} make this fail.`;
  const said = (name, fields) => risks(table, change(table, name, fields));
  // By a type that is typed, and by the fields of a column, also where it takes the set of the table.
  assert.deepEqual(said('a', { charset: 'latin1' }), [lost('a'), same('u', 'a', 'the default of latin1')]);
  assert.deepEqual(said('a', { collation: 'latin1_swedish_ci' }), [lost('a'), same('u', 'a', 'latin1_swedish_ci')]);
  assert.deepEqual(said('b', { collation: 'utf8mb4_general_ci' }), [same('PRIMARY', 'b', 'utf8mb4_general_ci')]);
  assert.deepEqual(said('b', { collation: '' }), [same('PRIMARY', 'b', 'utf8mb4_0900_ai_ci')]);
  const long = read(of(['`x` text CHARACTER SET latin1', '`y` longtext CHARACTER SET latin1']));
  assert.ok(risks(long, change(long, 'x', { charset: 'utf8mb4' }))[0].startsWith('x: texts that take more bytes than text has'));
  assert.deepEqual(risks(long, change(long, 'y', { charset: 'utf8mb4' })), []);
  assert.deepEqual([said('l', { charset: 'utf8mb3' }), said('l', { collation: 'latin1_bin' }), said('a', { comment: 'x' })], [[], [], []]);
  const latin = withOption(withOption(table, 'DEFAULT CHARSET', 'latin1'), 'COLLATE', 'latin1_bin');
  assert.deepEqual(risks(table, latin), []);
  assert.deepEqual(risks(table, change(latin, 'a', { comment: 'x' })), []);
  assert.deepEqual(risks(table, change(latin, 'b', { collation: '' })), [lost('b'), same('PRIMARY', 'b', 'latin1_bin')]);
  assert.deepEqual(risks(table, { ...latin, convert: true }), [same('PRIMARY', 'b', 'latin1_bin'), same('u', 'a', 'latin1_bin'), lost('a').replace('a: c', 'C')]);
  // A column with a set of its own loses characters even where the set of the table stays.
  const own = read(of(['`a` varchar(9) CHARACTER SET utf8mb4 DEFAULT NULL'], 'ENGINE=InnoDB DEFAULT CHARSET=latin1'));
  assert.deepEqual(risks(own, { ...withOption(own, 'COLLATE', 'latin1_bin'), convert: true }), [lost('a').replace('a: c', 'C')]);
  // A collation of another set is not written with the set of the table.
  assert.ok(alterTable(table, change(latin, 'a', { collation: 'latin1_german1_ci' }), MYSQL)[0].includes('`a` varchar(50) COLLATE latin1_german1_ci DEFAULT NULL'));
});

test('a column of the primary key allows no NULL', () => {
  const table = read(of(['`id` int NOT NULL', "`n` int DEFAULT '3'", '`v` varchar(9) DEFAULT NULL', 'PRIMARY KEY (`id`)']));
  const typed = { ...table, indexes: [edited(table.indexes[0], { parts: [blankPart('id'), blankPart('n')] })] };
  const text = 'rows with NULL make this fail, or get an empty value in a session without strict mode';
  assert.deepEqual(risks(table, typed), [`n: a column of the primary key allows no NULL; ${text}; below, they can get the default first, which they keep even if the next statement fails.`]);
  assert.deepEqual(prepare(table, typed), ["UPDATE `t` SET `n` = '3' WHERE `n` IS NULL"]);
  assert.deepEqual(risks(table, withIndex(table, ['id', 'v'], 'primary').table), [`v: ${text}.`]);
  assert.deepEqual(risks(typed, edited(typed, {})), []);
});

test('what uses a dropped column is told: a check goes with it, the rest makes it fail', () => {
  const table = parseTable(of(['`a` int DEFAULT NULL', "`b c` int DEFAULT NULL CHECK (`b c` <> `a`)", '`g` int GENERATED ALWAYS AS (`a` + 1) STORED', '`d` int DEFAULT (`a` + 2)', 'KEY `f` ((`a` + 3))', "CONSTRAINT `one` CHECK (`A` > 0 and 'b c' <> '')", 'CONSTRAINT `two` CHECK (`a` < `b c`)', "CONSTRAINT `text` CHECK ('a' <> 'b')"], 'ENGINE=InnoDB\n PARTITION BY HASH (`a`)\n(PARTITION `b c` ENGINE = InnoDB)'), MARIADB);
  const said = (name, after = table) => risks(table, dropColumn(after, after.columns.find((one) => one.name === name).id)).slice(1);
  assert.deepEqual(said('a'), ['one: the check is removed with a.', 'a: cannot be removed while the check two uses it.', 'a: cannot be removed while it is used by the check of b c, the column g, the default of d, the index f, the partitions.']);
  assert.deepEqual(said('b c'), ['b c: cannot be removed while the check two uses it.']);
  // MariaDB drops a check of several dropped columns, MySQL does not drop them.
  const none = { ...table, columns: table.columns.slice(2).map((one) => edited(one, { default: { kind: 'none', value: '' }, generated: null })), indexes: [], partition: '' };
  assert.ok(risks(table, none).includes('two: the check is removed with a, b c, or the server refuses it.'));
  // A new column of the name does not keep it.
  const replaced = { ...table, columns: [{ ...blankColumn(), name: 'a' }, ...table.columns.slice(1)] };
  assert.deepEqual(risks(table, replaced).slice(1, 3), ['one: the check is removed with a.', 'a: cannot be removed while the check two uses it.']);
  assert.deepEqual(said('b c', { ...table, checks: [] }), []);
  assert.deepEqual(said('g'), []);
});

test('the reference system of a shape, which MariaDB does not show, is kept', async () => {
  const sql = of(["`id` int(11) NOT NULL COMMENT 'point'", '`p` point NOT NULL', '`q` polygon DEFAULT NULL', "`z` geometry DEFAULT NULL COMMENT 'x'"], 'ENGINE=InnoDB');
  const whole = withSystemIds(sql, new Map([['p', 4326], ['q', 0]]));
  assert.equal(whole, sql.replace('`p` point', '`p` point REF_SYSTEM_ID=4326').replace('`z` geometry', '`z` geometry /* REF_SYSTEM_ID is not known */'));
  const table = parseTable(whole, MARIADB);
  assert.equal(writeTable(table), whole);
  const said = (name, fields) => risks(table, change(table, name, fields));
  assert.deepEqual(alterTable(table, change(table, 'p', { comment: 'new' }), MARIADB), ["ALTER TABLE `t`\n  MODIFY COLUMN `p` point REF_SYSTEM_ID=4326 NOT NULL COMMENT 'new'"]);
  assert.deepEqual([said('p', { comment: 'new' }), said('q', { comment: 'new' })], [[], []]);
  assert.deepEqual(said('p', { type: 'point' }), ['p: its REF_SYSTEM_ID becomes 0, and was 4326.']);
  const untold = ['z: the server does not tell its REF_SYSTEM_ID, and this makes it 0.'];
  assert.deepEqual([said('z', { comment: 'new' }), risks(table, { ...table, moved: ['z'], columns: [table.columns[3], ...table.columns.slice(0, 3)] })], [untold, untold]);
  assert.equal(lockingOf(table, change(table, 'p', { type: 'point REF_SYSTEM_ID=3857' }), MARIADB)[0].algorithm, 'INSTANT');
  // The server is asked only where there is such a column.
  const asked = [];
  const reads = async (text, version) => {
    const query = async ({ sql: question }) => {
      asked.push(question.split(' ')[1].toLowerCase());
      const rows = question.startsWith('SHOW') ? [{ Table: 't', 'Create Table': text }] : question.includes('VERSION()') ? [{ version }] : [{ name: 'p', id: 4326 }, { name: 'q', id: 0 }];
      return new Response(JSON.stringify({ code: 200, message: '', data: { columns: Object.keys(rows[0]), rows } }), { headers: { 'content-type': 'application/json' } });
    };
    return createOf({ query }, 'd', 't');
  };
  assert.equal(await reads(sql, '10.11.6-MariaDB'), whole);
  assert.equal(await reads(sql, '9.7.0'), sql);
  await reads(of(['`a` int']), '10.11.6-MariaDB');
  assert.deepEqual(asked, ['create', 'version()', 'g_geometry_column', 'create', 'version()', 'create']);
});

test('a table with history is altered with its history', () => {
  const table = parseTable("CREATE TABLE `t` (\n  `a` int(11) DEFAULT NULL,\n  `s` timestamp(6) GENERATED ALWAYS AS ROW START,\n  `e` timestamp(6) GENERATED ALWAYS AS ROW END INVISIBLE,\n  PERIOD FOR SYSTEM_TIME (`s`, `e`)\n) ENGINE=InnoDB WITH SYSTEM VERSIONING", MARIADB);
  assert.deepEqual(table.columns.map(isHistory), [false, true, true]);
  assert.deepEqual(table.others, ['PERIOD FOR SYSTEM_TIME (`s`, `e`)']);
  assert.deepEqual(alterTable(table, change(table, 'a', { type: 'bigint' }), MARIADB), ['SET STATEMENT system_versioning_alter_history = KEEP FOR ALTER TABLE `t`\n  MODIFY COLUMN `a` bigint DEFAULT NULL']);
  const without = { ...table, columns: table.columns.slice(0, 1), others: [], options: table.options.filter((option) => option.name === 'ENGINE') };
  assert.deepEqual(alterTable(table, without, MARIADB), ['ALTER TABLE `t`\n  DROP PERIOD FOR SYSTEM_TIME,\n  DROP COLUMN `s`,\n  DROP COLUMN `e`,\n  DROP SYSTEM VERSIONING']);
  assert.ok(risks(table, without).includes('The history of all rows is removed.'));
});

test('a dropped column is taken out of its indexes', () => {
  const after = dropColumn(base, base.columns[1].id);
  assert.deepEqual(clauses({ ...after, foreignKeys: [] }), ['DROP FOREIGN KEY `fk` | DROP INDEX `k` | DROP COLUMN `a` | ADD KEY `k` (`b`)']);
  assert.deepEqual(dropColumn(base, base.columns[3].id).indexes.map((index) => index.name), ['PRIMARY', 'k']);
});

test('losses are told', () => {
  const said = (name, fields, table = base) => risks(table, change(table, name, fields)).join(' ');
  const types = read(of(["`e` enum('a','b','it''s') DEFAULT NULL", '`d` decimal(10,2) DEFAULT NULL', '`at` datetime(6) DEFAULT NULL', '`f` double DEFAULT NULL', "`q` varchar(9) DEFAULT '?'", '`x` text', '`l` varchar(9) CHARACTER SET utf8mb3 DEFAULT NULL', '`u` int unsigned DEFAULT NULL']));
  assert.ok(risks(base, { ...base, columns: base.columns.slice(1) })[0].startsWith('id: the column and all its values are removed'));
  assert.ok(said('a', { type: 'smallint' }).includes('outside the range of smallint'));
  assert.equal(said('a', { type: 'bigint' }), '');
  assert.equal(said('u', { type: 'bigint' }, types), '');
  assert.ok(said('u', { type: 'int' }, types).includes('outside the range'));
  assert.ok(said('b', { type: 'varchar(10)' }).includes('longer than varchar(10)'));
  assert.equal(said('b', { type: 'text' }), '');
  assert.ok(said('x', { type: 'varchar(100)' }, types).includes('too long'));
  assert.ok(said('a', { type: 'date' }).includes('converted'));
  assert.ok(said('a', { nullable: false }).includes('rows with NULL'));
  assert.ok(said('e', { type: "enum('a')" }, types).includes('“b”, “it\'s”'));
  assert.equal(said('e', { type: "enum('it''s','a','b','c')" }, types), '');
  assert.ok(said('d', { type: 'decimal(10,1)' }, types).includes('rounded'));
  assert.ok(said('d', { type: 'decimal(10,4)' }, types).includes('outside the range'));
  assert.ok(said('d', { type: 'int' }, types).includes('rounded'));
  const more = read(of(['`d` decimal(20,6) DEFAULT NULL', '`b` blob', '`x` text', '`at` datetime(6) DEFAULT NULL', '`t` time(3) DEFAULT NULL', '`n` int DEFAULT NULL', '`v` varchar(9) DEFAULT NULL']));
  assert.ok(/decimals are rounded, without an error; values outside the range of decimal\(10,2\) do not fit/.test(said('d', { type: 'decimal(10,2)' }, more)));
  assert.ok(/decimals are rounded, without an error\.$/.test(said('d', { type: 'decimal(20,2)' }, more)));
  assert.ok(/fractions of a second are rounded or cut off, without an error; values are converted/.test(said('at', { type: 'timestamp' }, more)));
  assert.ok(/fractions of a second are rounded or cut off/.test(said('t', { type: 'time' }, more)));
  assert.ok(/bytes that are no text in its character set do not fit: the server refuses/.test(said('b', { type: 'text' }, more)));
  assert.ok(/no text .*; values longer than varchar\(20\)/.test(said('b', { type: 'varchar(20)' }, more)));
  assert.ok(/no character set and no collation any more/.test(said('x', { type: 'blob' }, more)));
  assert.equal(said('x', { type: 'longtext' }, more), '');
  const required = (name, value, on = MYSQL) => prepare(more, change(more, name, { nullable: false, default: value }), on).join();
  assert.equal(required('n', { kind: 'literal', value: '0' }), 'UPDATE `t` SET `n` = 0 WHERE `n` IS NULL');
  assert.equal(required('v', { kind: 'text', value: "it's" }), "UPDATE `t` SET `v` = 'it''s' WHERE `v` IS NULL");
  assert.equal(required('v', { kind: 'text', value: 'a\\' }, inMode(MYSQL, 'NO_BACKSLASH_ESCAPES')), "UPDATE `t` SET `v` = 'a\\' WHERE `v` IS NULL");
  assert.equal(required('v', { kind: 'expression', value: 'uuid()' }), 'UPDATE `t` SET `v` = (uuid()) WHERE `v` IS NULL');
  assert.equal(required('n', { kind: 'none', value: '' }), '');
  assert.deepEqual(prepare(more, change(more, 'n', { default: { kind: 'literal', value: '0' } }), MYSQL), []);
  assert.ok(said('n', { nullable: false, default: { kind: 'literal', value: '0' } }, more).includes('they can get the default first'));
  assert.ok(!said('n', { nullable: false, default: { kind: 'none', value: '' } }, more).includes('default'));
  assert.ok(said('at', { type: 'datetime' }, types).includes('fractions'));
  assert.ok(said('at', { type: 'date' }, types).includes('time of day'));
  assert.ok(said('l', { charset: 'latin1' }, types).includes('latin1 does not have'));
  assert.equal(said('l', { charset: 'utf8mb4' }, types), '');
  assert.ok(said('q', { comment: 'x' }, types).includes('question mark'));
  assert.ok(said('a', { generated: { expression: '1', stored: true } }).includes('replaced'));
  assert.ok(risks(base, withOption(base, 'ENGINE', 'BLACKHOLE')).join().includes('all rows are lost'));
  assert.ok(risks(base, renameColumn(base, base.columns[1].id, 'z')).join().includes('views, triggers'));
});

const first = (after, server) => lockingOf(base, after, server)[0];

test('the least blocking choice comes first, and weaker ones follow', () => {
  const fresh = { ...base, columns: [...base.columns, { ...blankColumn(), name: 'n' }] };
  assert.deepEqual([first(fresh, MYSQL).algorithm, first(fresh, MYSQL).lock], ['INSTANT', '']);
  assert.equal(first(fresh, { mariadb: false, version: '5.7.44' }).algorithm, 'INPLACE');
  assert.equal(first({ ...base, columns: [{ ...blankColumn(), name: 'n' }, ...base.columns] }, { mariadb: false, version: '8.0.20' }).algorithm, 'INPLACE');
  const big = change(base, 'a', { type: 'bigint' });
  assert.deepEqual(lockingOf(base, big, MYSQL).map(({ algorithm, lock, blocks }) => `${algorithm}/${lock}/${blocks}`), ['COPY/SHARED/writes', '//unknown']);
  assert.deepEqual(lockingOf(base, big, MARIADB).map(({ algorithm, lock }) => `${algorithm}/${lock}`), ['COPY/NONE', 'COPY/SHARED', '/']);
  assert.deepEqual(lockingOf(base, big, OLD_MARIADB).map(({ algorithm, lock }) => `${algorithm}/${lock}`), ['COPY/SHARED', '/']);
  const indexed = { ...base, indexes: [...base.indexes, { ...blankIndex(), name: 'n', parts: [blankPart('c')] }] };
  assert.deepEqual(lockingOf(base, indexed, MARIADB).map(({ algorithm, lock }) => `${algorithm}/${lock}`), ['NOCOPY/NONE', 'INPLACE/NONE', 'COPY/NONE', 'NOCOPY/SHARED', 'INPLACE/SHARED', 'COPY/SHARED', '/']);
  assert.equal(first({ ...base, name: 'x' }, MYSQL).algorithm, '');
  assert.ok(first(fresh, MYSQL).says.startsWith('Others read and write meanwhile: the server only changes the description'));
  const key = { ...base, foreignKeys: base.foreignKeys.map((one) => edited(one, { onDelete: 'CASCADE' })) };
  assert.deepEqual([first(key, MYSQL).algorithm, first(key, MYSQL).blocks], ['INPLACE', 'writes']);
  assert.ok(first(key, MYSQL).says.includes('A second statement adds the foreign key again; others can only read'));
  // MariaDB 10.11 takes INSTANT for another engine, and copies.
  assert.equal(first(withOption(base, 'ENGINE', 'MyISAM'), OLD_MARIADB).algorithm, 'COPY');
  assert.equal(lockingOf({ ...base, temporary: true }, big, MYSQL)[0].algorithm, '');
});

test('versions and types are compared', () => {
  assert.ok(isSince({ version: '5.5.5-10.11.6-MariaDB' }, 10, 5) && !isSince({ version: '10.4.1' }, 10, 5) && isSince({ version: '11.2.0' }, 11, 2) && isSince({}, 99));
  assert.deepEqual(readType("set('a','b)') /* x */"), { word: 'set', inner: "'a','b)'", unsigned: false });
  assert.deepEqual(readType('decimal(10,2) unsigned zerofill'), { word: 'decimal', inner: '10,2', unsigned: true });
});

test('an error leads to the part that it is about', () => {
  const fresh = { ...blankColumn(), name: 'b' };
  const table = { ...base, columns: [...base.columns, fresh] };
  const fault = (errno, message, sql) => {
    const found = faultOf({ errno, message }, table, sql);
    const lists = { column: table.columns, index: table.indexes, foreignKey: table.foreignKeys, check: table.checks };
    const name = found && lists[found.part]?.find((one) => one.id === found.id)?.name;
    return found && `${found.part} ${name ?? ''} ${found.field ?? ''}`.trim();
  };
  assert.equal(faultOf({ errno: 1060, message: "Duplicate column name 'b'" }, table)?.id, fresh.id);
  assert.equal(fault(1067, "Invalid default value for 'a'"), 'column a default');
  assert.equal(fault(1265, "Data truncated for column 'c' at row 3"), 'column c type');
  assert.equal(fault(1366, "Incorrect integer value: 'x' for column `shop`.`t`.`a` at row 1"), 'column a type');
  assert.equal(fault(1062, "Duplicate entry '3' for key 't.u'"), 'index u parts');
  assert.equal(fault(1072, "Key column 'a' doesn't exist in table"), 'index k parts');
  assert.equal(fault(1452, "Cannot add or update a child row: a foreign key constraint fails (`d`.`#sql-1_2`, CONSTRAINT `fk` FOREIGN KEY (`a`) REFERENCES `o` (`x`))"), 'foreignKey fk');
  assert.equal(fault(1824, "Failed to open the referenced table 'o'"), 'foreignKey fk refTable');
  // Of a column, a field that was changed is meant.
  const changed = (fields, errno, message, sql) => {
    const now = { ...base, columns: base.columns.map((one) => (one.name === 'c' ? edited(one, fields) : one)) };
    return faultOf({ errno, message }, now, sql, base)?.field;
  };
  const truncated = "Data truncated for column 'c' at row 3";
  assert.deepEqual([changed({ nullable: true }, 1265, truncated), changed({ default: { kind: 'text', value: 'x' } }, 1265, truncated), changed({ type: 'bigint', nullable: true }, 1265, truncated)], ['nullable', 'default', 'type']);
  const computed = { type: 'int', generated: { expression: 'LENGTH(a', stored: false } };
  assert.equal(changed(computed, 1064, "right syntax to use near ',\n  ADD x' at line 2", 'ALTER TABLE t\n  MODIFY COLUMN `c` int AS (LENGTH(a),\n  ADD x'), 'generated');
  assert.equal(changed({ ...computed, type: 'itn' }, 1064, "right syntax to use near 'itn AS (LENGTH(a))' at line 2", 'ALTER TABLE t\n  MODIFY COLUMN `c` itn AS (LENGTH(a))'), 'type');
  assert.equal(fault(1050, "Table 'o' already exists"), 'table  name');
  for (const errno of [1217, 3776]) assert.equal(faultOf({ errno, message: '' }, withOption(base, 'ENGINE', 'MyISAM'), '', base)?.field, 'ENGINE');
  const unnamed = { ...blankForeignKey(), columns: ['c'], refTable: 'o', refColumns: ['x'] };
  const misfit = faultOf({ errno: 1005, message: 'Can\'t create table `d`.`t` (errno: 150 "Foreign key constraint is incorrectly formed")' }, { ...table, foreignKeys: [...table.foreignKeys, unnamed] });
  assert.deepEqual(misfit, { part: 'foreignKey', id: unnamed.id, field: 'columns' });
  assert.equal(faultOf({ errno: 1005, message: 'Can\'t create table `d`.`t` (errno: 121 "Duplicate key on write or update")' }, table), null);
  assert.equal(fault(3819, "Check constraint 'ch' is violated."), 'check ch expression');
  assert.equal(fault(4025, 'CONSTRAINT `ch` failed for `d`.`t`'), 'check ch expression');
  assert.equal(fault(1075, 'Incorrect table definition; there can be only one auto column and it must be defined as a key'), 'column id autoIncrement');
  assert.equal(fault(1273, "Unknown collation: 'utf8mb4_bin'"), 'column b collation');
  assert.equal(fault(1286, "Unknown storage engine 'x'"), 'option  ENGINE');
  assert.equal(fault(1205, 'Lock wait timeout exceeded'), null);
  const sql = 'ALTER TABLE `t`\n  MODIFY COLUMN `a` foo bar,\n  ADD KEY `k` (`a`),\n  ADD CONSTRAINT `ch` CHECK (`c` >)';
  const syntax = (line) => fault(1064, `You have an error in your SQL syntax; check the manual … near 'x' at line ${line}`, sql);
  assert.deepEqual([2, 3, 4].map(syntax), ['column a', 'index k', 'check ch']);
});

test('threads of the server itself are no sessions that wait', async () => {
  const answers = [
    [/SHOW GRANTS/, { grants: 'GRANT ALL PRIVILEGES ON *.* TO `a`@`b`' }],
    [/performance_schema\.processlist/, { id: 7, user: 'me', command: 'Query', time: 1, state: 'copy to tmp table', info: 'ALTER TABLE t' }, { id: 9, user: 'you', command: 'Query', time: 1, state: 'Waiting for table metadata lock', info: 'SELECT 1' }],
    [/metadata_locks/, { type: 'TABLE', db: 'd', name: 't', mode: 'EXCLUSIVE', status: 'GRANTED', id: 7 }, ...[null, 9].map((id) => ({ type: 'TABLE', db: 'd', name: 't', mode: 'SHARED_READ', status: 'PENDING', id }))],
    [/data_lock_waits/, { waiting: 7, blocking: 0 }],
  ];
  const query = async ({ sql }) => {
    const rows = answers.find(([about]) => about.test(sql))?.slice(1) ?? [];
    return new Response(JSON.stringify({ code: 200, message: '', data: { columns: Object.keys(rows[0] ?? { none: 0 }), rows } }), { headers: { 'content-type': 'application/json' } });
  };
  const { waiting, blockers } = await new Watch({ query }, 7, false).look(new AbortController().signal);
  assert.deepEqual(waiting, ['Connection 9 of you (runs SELECT 1) waits for it.']);
  assert.deepEqual(blockers, ['A thread of the server, or a prepared transaction without a connection (XA RECOVER lists them) blocks it.']);
});

test('a new table is written from its parts', () => {
  const table = blankTable({ db: 'd', name: 'n', columns: [{ ...blankColumn(), name: 'id', nullable: false, autoIncrement: true }], indexes: [{ ...blankIndex(), name: 'PRIMARY', kind: 'primary', parts: [blankPart('id')] }] });
  assert.equal(writeTable(withOption(table, 'COMMENT', 'x')), "CREATE TABLE `d`.`n` (\n  `id` int NOT NULL AUTO_INCREMENT,\n  PRIMARY KEY (`id`)\n) COMMENT='x'");
});
