import { alterEvent, asThen, createdBy, accountIn, definerOf, enabling, grantsSql, inOrder, renaming, replacement, securityOf, triggerOf } from '../../html/sql/objects/redefine.js';
import { copyStatements, inDatabase, mentions, moveStatement, quotedText, versioned, viewsInOrder } from '../../html/sql/structure/copying.js';
import { createUser, grantSql, newPassword, privilegesAt, readGrant, revokeSql, setPassword } from '../../html/sql/structure/accountsql.js';
import { createText } from '../../html/sql/objects/kinds.js';
import { lineDiff } from '../../html/sql/core/linediff.js';
import { laidOut } from '../../html/sql/objects/layout.js';
import { withoutSecrets } from '../../html/sql/core/secrets.js';
import { NEW_KINDS, newTemplate } from '../../html/sql/objects/templates.js';
import { assert, test } from './shim.mjs';

const old = (text, more = {}) => ({ text, mode: 'ANSI_QUOTES', collation: 'utf8mb4_bin', client: 'utf8mb4', database: '', zone: '', order: null, grants: [], ...more });

test('names are read in each SQL mode', () => {
  const of = (sql) => { const { kind, db, name } = createdBy(sql, 'd'); return [kind, db, name]; };
  assert.deepEqual(of('CREATE DEFINER="a"@"%" PROCEDURE "x"."gre""et"() SELECT 1'), ['procedure', 'x', 'gre"et']);
  assert.deepEqual(of('CREATE ALGORITHM=UNDEFINED DEFINER=`view`@`%` SQL SECURITY DEFINER VIEW `v` AS select 1'), ['view', 'd', 'v']);
  assert.deepEqual(of('CREATE PACKAGE BODY p AS END'), ['package body', 'd', 'p']);
  assert.equal(createdBy('CREATE TABLE view (a INT)', 'd'), null);
  assert.equal(definerOf('CREATE DEFINER="a"@"%" PROCEDURE p() SELECT 1'), '"a"@"%"');
  assert.equal(definerOf('CREATE ALGORITHM=MERGE DEFINER=`a`@`%` SQL SECURITY INVOKER VIEW v AS SELECT 1'), '`a`@`%`');
  assert.equal(definerOf('CREATE PROCEDURE p() SQL SECURITY DEFINER SELECT 1'), '');
});

test('a comment is written for the SQL mode of its routine or event', () => {
  const said = (sql, mode = 'NO_BACKSLASH_ESCAPES') => createText({ columns: ['Procedure', 'sql_mode', 'Create Procedure'], rows: [['p', mode, sql]] });
  const head = "CREATE DEFINER=`a`@`%` FUNCTION `p (`(x enum(')'), y int) RETURNS varchar(9) CHARSET utf8mb4\n    DETERMINISTIC\n    SQL SECURITY INVOKER\n";
  const body = "BEGIN\n    COMMENT 'a\\\\'\nEND";
  assert.equal(said(`${head}    COMMENT 'a\\\\b''c\\nd'\n${body}`), `${head}    COMMENT 'a\\b''c\nd'\n${body}`);
  for (const sql of [`${head}${body}`, "CREATE EVENT `e` ON SCHEDULE EVERY 1 DAY DO DO COMMENT '\\\\'", "CREATE TRIGGER `COMMENT` BEFORE INSERT ON `t` FOR EACH ROW SET @a = '\\\\'"]) assert.equal(said(sql), sql);
  assert.equal(said("CREATE EVENT `e` ON SCHEDULE EVERY 1 DAY COMMENT '\\\\' DO SELECT '\\\\'"), "CREATE EVENT `e` ON SCHEDULE EVERY 1 DAY COMMENT '\\' DO SELECT '\\\\'");
  assert.ok(said("CREATE EVENT `e` ON SCHEDULE EVERY 1 DAY COMMENT '\\\\' DO SELECT 1", 'ANSI_QUOTES').includes("'\\\\'"));
});

test('a trigger takes the place of the old one', () => {
  const sql = 'CREATE TRIGGER b BEFORE INSERT ON `t` FOR EACH ROW SET @a = 1';
  assert.equal(triggerOf(sql, 'd').of, 't BEFORE INSERT');
  const order = (before, after) => ({ of: 't BEFORE INSERT', before, after });
  assert.equal(inOrder(sql, 'd', order('a', 'c')), 'CREATE TRIGGER b BEFORE INSERT ON `t` FOR EACH ROW FOLLOWS `a` SET @a = 1');
  assert.equal(inOrder(sql, 'd', order('', 'c')), 'CREATE TRIGGER b BEFORE INSERT ON `t` FOR EACH ROW PRECEDES `c` SET @a = 1');
  assert.equal(inOrder(sql, 'd', order('', '')), sql);
  // Another time, or an order of its own.
  const later = sql.replace('BEFORE', 'AFTER');
  assert.equal(inOrder(later, 'd', order('a', 'c')), later);
  const own = sql.replace('ROW', 'ROW PRECEDES a');
  assert.equal(inOrder(own, 'd', order('a', 'c')), own);
});

test('tables with a history are named', () => {
  const of = (name, text) => ({ kind: 'table', name, text });
  assert.deepEqual(versioned([of('a', 'CREATE TABLE `a` (`id` int) ENGINE=InnoDB WITH SYSTEM VERSIONING'), of('b', "CREATE TABLE `b` (`id` int COMMENT 'WITH SYSTEM VERSIONING')"), of('c', 'CREATE TABLE `c` (`id` int WITHOUT SYSTEM VERSIONING)')]), ['a']);
});

test('definers and the privileges that an object runs with are compared', () => {
  assert.deepEqual(['`a`@`%`', '"a"@"%"', "'a'@'%'", 'a', '', 'CURRENT_USER', 'CURRENT_USER()', '`a``b`@`h`'].map((text) => accountIn(text, 'me@h')), ['a@%', 'a@%', 'a@%', 'a@%', 'me@h', 'me@h', 'me@h', 'a`b@h']);
  assert.deepEqual(['CREATE SQL SECURITY INVOKER VIEW v AS SELECT 1', 'CREATE VIEW v AS SELECT 1', "CREATE PROCEDURE p() COMMENT 'SQL SECURITY INVOKER' SELECT 1"].map(securityOf), ['INVOKER', 'DEFINER', 'DEFINER']);
});

test('lines that differ are told with those around them', () => {
  const of = (before, after) => lineDiff(before, after).map(({ sign, text }) => sign + text).join('|');
  assert.equal(of('a\nb\nc', 'a\nB\nc'), ' a|-b|+B| c');
  assert.equal(of('1\n2\n3\n4\n5\nx', '1\n2\n3\n4\n5\nx\ny'), '…| 4| 5| x|+y');
  assert.equal(of('a\nb\nc\nd', 'b\nc\nx\nd'), '-a| b| c|+x| d');
  assert.equal(of('a', 'a'), '…');
});

test('views and events are laid out for editing, and only their white space', () => {
  const view = "CREATE ALGORITHM=UNDEFINED DEFINER=`a`@`%` SQL SECURITY DEFINER VIEW `v` AS select `t`.`a` AS `a`,'from  where' AS `as`,`u`.`long_name` AS `long_name` from (`t` join `u` on(`t`.`id` = `u`.`id`)) where `t`.`a` > 1 group by `t`.`a`";
  const done = laidOut(view, 'd');
  assert.ok(/ AS\nselect[^]*\nfrom [^]*\nwhere [^]*\ngroup by /.test(done) && done.includes("'from  where'"), done);
  const event = "CREATE DEFINER=`a`@`%` EVENT `e` ON SCHEDULE EVERY 1 DAY STARTS '2031-02-03 04:05:06' ON COMPLETION PRESERVE DISABLE ON SLAVE COMMENT 'ON  DO' DO DELETE FROM people WHERE id < 0";
  assert.equal(laidOut(event, 'd'), "CREATE DEFINER=`a`@`%` EVENT `e`\nON SCHEDULE EVERY 1 DAY STARTS '2031-02-03 04:05:06'\nON COMPLETION PRESERVE\nDISABLE ON SLAVE\nCOMMENT 'ON  DO'\nDO\nDELETE FROM people WHERE id < 0");
  const bare = (text) => text.replace(/\s+/g, '');
  for (const sql of [view, event]) assert.equal(bare(laidOut(sql, 'd')), bare(sql));
  const own = 'CREATE PROCEDURE p() SELECT 1 FROM t WHERE a = 1';
  assert.equal(laidOut(own, 'd'), own);
});

test('an event is enabled as its definer made it', () => {
  const { statements } = enabling({ kind: 'event', db: 'd', name: 'e' }, old('CREATE DEFINER=`a`@`%` EVENT `e` ON SCHEDULE EVERY 1 DAY DO SELECT 1'), true);
  assert.equal(statements[1], 'ALTER DEFINER=`a`@`%` EVENT d.e ENABLE');
});

test('the old object is dropped only after the new text was tried', () => {
  const object = { kind: 'procedure', db: 'd', name: 'p' };
  const grants = grantsSql(object, [{ user: 'u', host: '%', privileges: 'Execute' }]);
  const plan = replacement(object, 'CREATE PROCEDURE p() SELECT 2', old('CREATE PROCEDURE p() SELECT 1', { grants }), 'trial', false);
  assert.deepEqual(plan.statements.map((sql) => sql.replace(/^SET .*/, 'SET')), ['SET', 'CREATE PROCEDURE `d`.`trial`() SELECT 2', 'DROP PROCEDURE d.trial', 'DROP PROCEDURE d.p', 'CREATE PROCEDURE p() SELECT 2', 'GRANT EXECUTE ON PROCEDURE `d`.`p` TO `u`@`%`']);
  assert.deepEqual(plan.restoring, ['CREATE PROCEDURE p() SELECT 1', ...grants]);
  assert.equal(replacement(object, 'CREATE PROCEDURE p() SELECT 2', old(''), 'trial', true).statements[1], 'CREATE OR REPLACE PROCEDURE p() SELECT 2');
  const trigger = replacement({ kind: 'trigger', db: 'd', name: 'b' }, 'CREATE TRIGGER b AFTER INSERT ON u FOR EACH ROW SET @a = 1', old('CREATE TRIGGER b BEFORE INSERT ON t FOR EACH ROW SET @a = 1'), 'trial', false);
  assert.equal(trigger.statements[1], 'LOCK TABLES `d`.`t` WRITE, `d`.`u` WRITE');
  assert.equal(trigger.statements.at(-1), 'UNLOCK TABLES');
  assert.equal(asThen(old('', { zone: '+00:00' })), "SET @postern_collation = @@SESSION.collation_connection, SESSION lock_wait_timeout = 60, SESSION sql_mode = 'ANSI_QUOTES', SESSION collation_connection = 'utf8mb4_bin', SESSION time_zone = '+00:00'");
});

test('an event is altered, and a comment that is gone goes', () => {
  const was = "CREATE DEFINER=`a`@`%` EVENT `e` ON SCHEDULE EVERY 1 DAY DISABLE COMMENT 'x' DO SELECT 1";
  assert.equal(alterEvent(was.replace('SELECT 1', 'SELECT 2'), 'd', was), "ALTER DEFINER=`a`@`%` EVENT `d`.`e` ON SCHEDULE EVERY 1 DAY DISABLE COMMENT 'x' DO SELECT 2");
  assert.equal(alterEvent(was.replace("COMMENT 'x' ", ''), 'd', was), "ALTER DEFINER=`a`@`%` EVENT `d`.`e` ON SCHEDULE EVERY 1 DAY DISABLE COMMENT '' DO SELECT 1");
  assert.equal(alterEvent('CREATE OR REPLACE EVENT e ON SCHEDULE EVERY 1 DAY DO SELECT 1', 'd', ''), 'ALTER EVENT `d`.`e` ON SCHEDULE EVERY 1 DAY DO SELECT 1');
});

test('a new name is there before the old one goes', () => {
  const rename = (kind, text, more = {}) => renaming({ kind, db: 'd', name: 'a' }, 'b', old(text, more)).statements.map((sql) => sql.replace(/^SET .*/, 'SET'));
  assert.deepEqual(rename('view', ''), ['RENAME TABLE d.a TO d.b']);
  assert.deepEqual(rename('event', 'CREATE DEFINER=`x`@`%` EVENT a ON SCHEDULE EVERY 1 DAY DO SELECT 1'), ['SET', 'ALTER DEFINER=`x`@`%` EVENT d.a RENAME TO d.b']);
  assert.deepEqual(rename('function', 'CREATE FUNCTION "a"() RETURNS INT RETURN 1'), ['SET', 'CREATE FUNCTION `d`.`b`() RETURNS INT RETURN 1', 'DROP FUNCTION d.a']);
  assert.deepEqual(rename('trigger', 'CREATE TRIGGER a AFTER DELETE ON t FOR EACH ROW SET @a = 1', { order: { of: 't AFTER DELETE', before: '', after: '' } }), ['SET', 'LOCK TABLES `d`.`t` WRITE', 'CREATE TRIGGER `d`.`b` AFTER DELETE ON t FOR EACH ROW FOLLOWS `a` SET @a = 1', 'DROP TRIGGER d.a', 'UNLOCK TABLES']);
});

test('grants are read and written as the server has them', () => {
  const view = { kind: 'view', db: 'd', name: 'v' };
  const rows = [{ user: 'a', host: '%', privileges: 'Select,Grant,Delete versioning rows' }, { user: 'r', host: '', privileges: 'Select,Update', column: 'c' }];
  assert.deepEqual(grantsSql(view, rows, true), ['GRANT SELECT, DELETE HISTORY ON TABLE `d`.`v` TO `a`@`%` WITH GRANT OPTION', 'GRANT SELECT (`c`), UPDATE (`c`) ON TABLE `d`.`v` TO `r`']);
  assert.deepEqual(grantsSql(view, rows, true, true), ['REVOKE SELECT, DELETE HISTORY, GRANT OPTION ON TABLE `d`.`v` FROM `a`@`%`', 'REVOKE SELECT (`c`), UPDATE (`c`) ON TABLE `d`.`v` FROM `r`']);
});

test('a copy names its own database, and not that of others', () => {
  assert.equal(inDatabase('SELECT a.x, `a`.t.x, b.a.x, "a".y FROM a.t', 'a', 'n'), 'SELECT `n`.x, `n`.t.x, b.a.x, `n`.y FROM `n`.t');
  assert.equal(mentions("SELECT 'a.t', a FROM t", 'a'), false);
  const view = (name, text) => ({ kind: 'view', name, text });
  assert.deepEqual(viewsInOrder([view('a', 'CREATE VIEW a AS SELECT * FROM `c`'), view('b', 'CREATE VIEW b AS SELECT 1'), view('c', 'CREATE VIEW c AS SELECT * FROM b')]).map(({ name }) => name), ['b', 'c', 'a']);
  assert.equal(moveStatement(['t', 'u'], 'a', 'b'), 'RENAME TABLE `a`.`t` TO `b`.`t`,\n  `a`.`u` TO `b`.`u`');
  const parts = [
    { kind: 'table', name: 't', text: 'CREATE TABLE `t` (a INT)', columns: ['a'] }, { kind: 'event', name: 'e', text: 'CREATE EVENT `e` ON SCHEDULE EVERY 1 DAY ON COMPLETION PRESERVE ENABLE DO DELETE FROM a.t' },
    { kind: 'trigger', name: 'g', text: 'CREATE TRIGGER a.g BEFORE INSERT ON a.t FOR EACH ROW INSERT INTO a.log VALUES (1)' }, view('v', 'CREATE VIEW `v` AS select 1'), { kind: 'procedure', name: 'p', text: 'CREATE PROCEDURE p() SELECT 1' },
  ];
  const statements = copyStatements({ from: 'a', to: 'n', create: 'CREATE DATABASE n', parts, rows: true });
  assert.deepEqual(statements.filter((sql) => !sql.startsWith('SET ')), [
    'CREATE DATABASE n', 'USE n', 'CREATE TABLE `t` (a INT)', 'INSERT INTO `n`.`t` (`a`) SELECT `a` FROM `a`.`t`', 'CREATE PROCEDURE p() SELECT 1', 'CREATE VIEW `v` AS select 1',
    'CREATE TRIGGER `n`.g BEFORE INSERT ON `n`.t FOR EACH ROW INSERT INTO a.log VALUES (1)', 'CREATE EVENT `e` ON SCHEDULE EVERY 1 DAY ON COMPLETION PRESERVE DISABLE DO DELETE FROM a.t',
  ]);
});

test('passwords are masked in every statement about accounts', () => {
  const secret = "ge'he\\im";
  for (const mariadb of [true, false]) {
    const server = { mariadb, isPlain: false };
    for (const plugin of mariadb ? ['mysql_native_password', 'ed25519'] : ['caching_sha2_password']) {
      const sql = createUser({ user: 'a', host: '%', plugin, password: secret }, server);
      assert.ok(withoutSecrets(sql).includes('***') && !withoutSecrets(sql).includes('ge'), sql);
    }
    const sql = setPassword({ user: 'a', host: '%', role: false }, secret, server);
    assert.ok(withoutSecrets(sql).includes('***') && !withoutSecrets(sql).includes('ge'), sql);
  }
  assert.equal(createUser({ user: 'a', host: '%', plugin: 'unix_socket', password: '' }, { mariadb: true, isPlain: false }), 'CREATE USER `a`@`%` IDENTIFIED VIA unix_socket');
  assert.equal(quotedText("a'\\b", true), "'a''\\b'");
  const made = new Set(Array.from({ length: 50 }, () => newPassword()));
  assert.equal(made.size, 50);
  for (const one of made) assert.ok(/^[\w.+-]{24}$/.test(one) && /[A-Z]/.test(one) && /[a-z]/.test(one) && /\d/.test(one) && /[-_.+]/.test(one), one);
});

test('privileges are offered where they can be granted, and revoked as they stand', () => {
  const known = [['Select', 'Tables'], ['Create', 'Databases,Tables,Indexes'], ['Execute', 'Functions,Procedures'], ['Event', 'Server Admin'], ['Process', 'Server Admin'], ['Usage', 'Server Admin'], ['Grant option', 'Databases,Tables'], ['Lock tables', 'Databases']].map(([privilege, context]) => ({ privilege, context }));
  assert.deepEqual(privilegesAt(known, 'server'), ['CREATE', 'EVENT', 'EXECUTE', 'LOCK TABLES', 'PROCESS', 'SELECT']);
  assert.deepEqual(privilegesAt(known, 'database'), ['CREATE', 'EVENT', 'EXECUTE', 'LOCK TABLES', 'SELECT']);
  assert.deepEqual(privilegesAt(known, 'table'), ['CREATE', 'SELECT']);
  assert.deepEqual(privilegesAt(known, 'column'), ['SELECT']);
  assert.deepEqual(privilegesAt(known, 'function'), ['EXECUTE']);
  const account = { user: 'a', host: '%', role: false };
  assert.equal(grantSql(account, { level: 'database', db: 'my_db', name: '', columns: [] }, ['SELECT'], true, { mariadb: true, isPlain: false }), 'GRANT SELECT ON `my\\_db`.* TO `a`@`%` WITH GRANT OPTION');
  assert.equal(grantSql(account, { level: 'column', db: 'd', name: 't', columns: ['x', 'y'] }, ['SELECT', 'UPDATE'], false, { mariadb: false, isPlain: false }), 'GRANT SELECT (`x`, `y`), UPDATE (`x`, `y`) ON `d`.`t` TO `a`@`%`');
  const revoked = (line, privileges) => { const grant = readGrant(line); return grant && revokeSql(grant, privileges ?? grant.privileges); };
  assert.equal(revoked('GRANT USAGE ON *.* TO `a`@`%` IDENTIFIED BY PASSWORD \'*AB\''), null);
  assert.deepEqual(revoked('GRANT ALL PRIVILEGES ON *.* TO `a`@`%` WITH GRANT OPTION'), ['REVOKE ALL PRIVILEGES ON *.* FROM `a`@`%`', 'REVOKE GRANT OPTION ON *.* FROM `a`@`%`']);
  assert.deepEqual(revoked('GRANT SELECT (`a,b`, `c`), INSERT ON `d`.`t` TO `a`@`%`'), ['REVOKE SELECT (`a,b`, `c`), INSERT ON `d`.`t` FROM `a`@`%`']);
  assert.deepEqual(revoked('GRANT EXECUTE ON PROCEDURE `d`.`p` TO `a`@`%`'), ['REVOKE EXECUTE ON PROCEDURE `d`.`p` FROM `a`@`%`']);
  assert.deepEqual(revoked('GRANT `r`@`%`,`s`@`%` TO `a`@`%`', ['`s`@`%`']), ['REVOKE `s`@`%` FROM `a`@`%`']);
  assert.deepEqual(revoked('GRANT `r` TO `a`@`%` WITH ADMIN OPTION'), ['REVOKE `r` FROM `a`@`%`']);
  assert.deepEqual(revoked("GRANT PROXY ON ''@'%' TO 'root'@'localhost' WITH GRANT OPTION"), ["REVOKE PROXY ON ''@'%' FROM 'root'@'localhost'"]);
});

test('templates name what they create', () => {
  for (const kind of NEW_KINDS) assert.deepEqual({ ...createdBy(newTemplate(kind, 'my db', 't'), 'x'), start: 0, end: 0 }, { kind, db: 'my db', name: `new_${kind}`, start: 0, end: 0 });
});
