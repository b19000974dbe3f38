import { createText, dropSql, qualified, showCreateSql, truncateSql } from '../../html/sql/objects/kinds.js';
import { readGrants, reach } from '../../html/sql/objects/privileges.js';
import { callTemplate, deleteTemplate, insertTemplate, selectTemplate, updateTemplate } from '../../html/sql/objects/templates.js';
import { parametersOf } from '../../html/sql/core/parameters.js';
import { isSystem, lasting, listedText, ownFirst, rowsText } from '../../html/sql/core/entries.js';
import { createdBy, editText, grantsSql, renamed } from '../../html/sql/objects/redefine.js';
import { byConnection, idsText, metadataWaits, roots } from '../../html/sql/server/locks.js';
import { assert, test } from './shim.mjs';

const table = { kind: 'table', db: 'my shop', name: 'or`der' };

test('statements about an object name it so that it is read as one name', () => {
  assert.equal(qualified(table), '`my shop`.`or``der`');
  assert.equal(dropSql(table), 'DROP TABLE `my shop`.`or``der`');
  assert.equal(truncateSql({ kind: 'table', db: 'a', name: 'b' }), 'TRUNCATE TABLE a.b');
  assert.equal(dropSql({ kind: 'database', db: 'select', name: 'select' }), 'DROP DATABASE `select`');
  assert.equal(showCreateSql({ kind: 'package body', db: 'a', name: 'b' }), 'SHOW CREATE PACKAGE BODY a.b');
});

test('the text of an object is found in whichever column it comes', () => {
  const of = (columns, row) => createText({ columns, rows: [row] });
  assert.equal(of(['Procedure', 'sql_mode', 'Create Procedure', 'character_set_client'], ['p', '', 'CREATE p', 'utf8']), 'CREATE p');
  assert.equal(of(['Trigger', 'sql_mode', 'SQL Original Statement', 'Created'], ['t', '', 'CREATE t', '2024']), 'CREATE t');
  assert.equal(of(['Procedure', 'sql_mode', 'Create Procedure'], ['p', '', null]), null);
  assert.equal(createText({ columns: ['Create View'], rows: [] }), null);
});

const column = (name, more = {}) => ({ name, type: 'int', nullable: true, extra: '', ...more });
const schema = {
  columns: [column('id', { nullable: false, extra: 'auto_increment' }), column('first name'), column('first_name'), column('made', { extra: 'STORED GENERATED', generated: 'a' }), column('at', { extra: 'DEFAULT_GENERATED on update CURRENT_TIMESTAMP' })],
  indexes: [{ name: 'PRIMARY', unique: true, columns: ['id'] }, { name: 'u', unique: true, columns: ['first name'] }],
};

test('templates leave out what the server fills in, and tell rows apart by a key', () => {
  const of = { kind: 'table', db: 'd', name: 't' };
  assert.equal(insertTemplate(of, schema), 'INSERT INTO d.t (`first name`, first_name, at)\nVALUES (:first_name, :first_name_2, :at)');
  assert.equal(updateTemplate(of, schema), 'UPDATE d.t\nSET `first name` = :first_name,\n    first_name = :first_name_2,\n    at = :at\nWHERE id = :id');
  assert.equal(deleteTemplate(of, schema), 'DELETE FROM d.t\nWHERE id = :id');
  assert.equal(selectTemplate(of, schema), 'SELECT id, `first name`, first_name, made, at\nFROM d.t\nLIMIT 100');
});

test('without a key a template changes no row by itself', () => {
  const keyless = { columns: [column('a')], indexes: [{ name: 'u', unique: true, columns: ['a'] }] };
  assert.ok(deleteTemplate({ kind: 'table', db: 'd', name: 't' }, keyless).includes('WHERE FALSE'));
  assert.ok(updateTemplate({ kind: 'table', db: 'd', name: 't' }, keyless).includes('WHERE FALSE'));
});

test('a call asks for what goes in and shows what comes out', () => {
  const list = [{ mode: 'IN', name: 'percent', type: 'int' }, { mode: 'INOUT', name: 'so far', type: 'int' }, { mode: 'OUT', name: 'n', type: 'int' }];
  const sql = callTemplate({ kind: 'procedure', db: 'd', name: 'p' }, list);
  assert.equal(sql, 'SET @so_far = :so_far;\nCALL d.p(:percent, @so_far, @n);\nSELECT @so_far, @n');
  assert.deepEqual(parametersOf('CALL d.p(:percent, @so_far, @n)').map(({ name }) => name), ['percent']);
  assert.equal(callTemplate({ kind: 'function', db: 'd', name: 'f' }, [{ mode: 'IN', name: 'a', type: 'int' }]), 'SELECT d.f(:a)');
  assert.equal(callTemplate({ kind: 'procedure', db: 'd', name: 'p' }, []), 'CALL d.p()');
});

test('what an account may do is read from its grants', () => {
  const grants = readGrants([
    'GRANT USAGE ON *.* TO `r`@`%` IDENTIFIED BY PASSWORD \'*A\'', 'GRANT SELECT, TRIGGER ON `my\\_shop`.* TO `r`@`%`', 'GRANT EVENT ON `sh%`.* TO `r`@`%`',
    'GRANT SELECT (`a`, `b`), INSERT ON `other`.`t` TO `r`@`%`', 'GRANT `role` TO `r`@`%`', 'GRANT EXECUTE ON PROCEDURE `other`.`p` TO `r`@`%`',
  ]);
  assert.equal(reach(grants, 'TRIGGER', 'my_shop'), 'all');
  assert.equal(reach(grants, 'TRIGGER', 'myXshop'), 'none');
  assert.equal(reach(grants, 'EVENT', 'shop'), 'all');
  assert.equal(reach(grants, 'EVENT', 'a.shop'), 'none');
  assert.equal(reach(grants, 'SELECT', 'other'), 'some');
  assert.equal(reach(grants, 'INSERT', 'other'), 'some');
  assert.equal(reach(grants, 'EXECUTE', 'other'), 'some');
  assert.equal(reach(grants, 'PROCESS'), 'none');
  assert.equal(reach(readGrants(['GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION']), 'PROCESS'), 'all');
});

test('own databases come before the server’s, and guesses are marked', () => {
  assert.deepEqual(ownFirst(['alpha', 'information_schema', 'mysql', 'shop', 'sys']), ['alpha', 'shop', 'information_schema', 'mysql', 'sys']);
  assert.ok(isSystem('Performance_Schema') && !isSystem('mysql2'));
  assert.equal(rowsText({ kind: 'table', engine: 'InnoDB', rows_estimate: 2100 }), '≈ 2,100');
  assert.equal(rowsText({ kind: 'table', engine: 'MyISAM', rows_estimate: 7 }), '7');
  assert.equal(rowsText({ kind: 'view', engine: null, rows_estimate: null }), '');
});

test('times of a process are told in two units', () => {
  assert.deepEqual([5, 182, 7500, 273_600].map(lasting), ['5 s', '3 min 2 s', '2 h 5 min', '3 d 4 h']);
});

test('a list that is not whole does not look so', () => {
  const text = (found, all, awaited, drawn = 1000) => listedText({ found, all, awaited, drawn, unit: 'database' });
  assert.deepEqual([text(0, 0, 3), text(2, 2, 1), text(1, 2, 1), text(3, 3, 0), text(1, 1, 0), text(2, 3, 0)], ['0 of 3 databases so far', '2 of 3 databases so far', '1 of 2 databases so far', '3 databases', '1 database', '2 of 3 databases']);
  assert.equal(text(2000, 2000, 0), '2,000 databases; the first 1,000 are shown, search to find others');
});

test('waits are told from both ends, and who is at the head of them', () => {
  const all = byConnection([{ waiting: 2, blocking: 1 }, { waiting: 2, blocking: 1 }, { waiting: 3, blocking: 2 }, { waiting: 4, blocking: 1 }, { waiting: 6, blocking: 5 }, { waiting: 7, blocking: 7 }]);
  assert.deepEqual(all.get(2), { waitsFor: [1], blocks: [3] });
  assert.deepEqual(roots(all), [{ id: 1, held: 3 }, { id: 5, held: 1 }]);
  assert.equal(all.has(7), false);
  // A circle has no head and does not go on for ever.
  assert.deepEqual(roots(byConnection([{ waiting: 1, blocking: 2 }, { waiting: 2, blocking: 1 }, { waiting: 2, blocking: 9 }])), [{ id: 9, held: 2 }]);
  assert.deepEqual([idsText([1]), idsText([1, 2, 3, 4]), idsText([1, 2, 3, 4, 5])], ['1', '1, 2, 3, 4', '1, 2, 3 and 2 more']);
});

test('metadata locks tell who waits for whom', () => {
  const lock = (id, mode, status = 'GRANTED', name = 't', type = 'TABLE') => ({ type, db: 'd', name, mode, status, id: String(id) });
  const pairs = (...locks) => metadataWaits(locks).map(({ waiting, blocking }) => `${waiting}<${blocking}`);
  // ALTER waits for a reader, and a second reader behind ALTER, not for the first one.
  assert.deepEqual(pairs(lock(1, 'SHARED_READ'), lock(2, 'SHARED_UPGRADABLE'), lock(2, 'EXCLUSIVE', 'PENDING'), lock(3, 'SHARED_WRITE', 'PENDING'), lock(4, 'EXCLUSIVE', 'GRANTED', 'u')), ['2<1', '3<2']);
  assert.deepEqual(pairs(lock(1, 'SHARED_UPGRADABLE'), lock(2, 'SHARED_UPGRADABLE', 'PENDING')), ['2<1']);
  assert.deepEqual(pairs(lock(1, 'SHARED', 'GRANTED', null, 'GLOBAL'), lock(2, 'INTENTION_EXCLUSIVE', 'PENDING', null, 'GLOBAL'), lock(3, 'INTENTION_EXCLUSIVE', 'GRANTED', null, 'GLOBAL')), ['2<1']);
  assert.deepEqual(pairs(lock(1, 'EXCLUSIVE', 'PENDING'), lock(2, 'EXCLUSIVE', 'PENDING'), lock(3, 'SHARED_READ')), ['1<3', '2<3']);
});

test('what is opened to be changed replaces what there is', () => {
  const text = (kind, create, mariadb = true) => editText({ kind }, create, mariadb);
  assert.equal(text('procedure', 'CREATE DEFINER=`a`@`%` PROCEDURE `p`()\nSELECT 1'), 'CREATE OR REPLACE DEFINER=`a`@`%` PROCEDURE `p`()\nSELECT 1');
  assert.equal(text('view', '/* x */ create view v as select 1', false), '/* x */ create OR REPLACE view v as select 1');
  assert.equal(text('package body', 'CREATE OR REPLACE PACKAGE BODY b AS END'), 'CREATE OR REPLACE PACKAGE BODY b AS END');
  for (const kind of ['procedure', 'function', 'trigger', 'event']) assert.equal(text(kind, 'CREATE X', false), 'CREATE X', kind);
  // Objects with data are not replaced.
  for (const kind of ['table', 'sequence', 'database']) assert.equal(text(kind, 'CREATE X'), 'CREATE X', kind);
});

test('what a CREATE makes is known by its kind and name', () => {
  const made = (sql) => { const found = createdBy(sql, 'd'); return found && [found.kind, found.db, found.name]; };
  assert.deepEqual(made('CREATE DEFINER=`event`@`%` PROCEDURE `a``b`() SELECT 1'), ['procedure', 'd', 'a`b']);
  assert.deepEqual(made('create definer = current_user aggregate function x . f (a int) returns int return 1'), ['function', 'x', 'f']);
  assert.deepEqual(made('CREATE TRIGGER IF NOT EXISTS t BEFORE INSERT ON u FOR EACH ROW SET @a = 1'), ['trigger', 'd', 't']);
  assert.deepEqual(made("-- one\nCREATE EVENT `e` ON SCHEDULE EVERY 1 DAY DO CALL p()"), ['event', 'd', 'e']);
  for (const sql of ['DROP PROCEDURE p', 'CREATE TABLE t (a INT)', "CREATE TABLE t (a VARCHAR(9) DEFAULT 'PROCEDURE')", 'CREATE PROCEDURE', '']) assert.equal(made(sql), null, sql);
  const sql = 'CREATE PROCEDURE p() SELECT 1';
  assert.equal(renamed(sql, createdBy(sql, 'my db'), 'trial'), 'CREATE PROCEDURE `my db`.`trial`() SELECT 1');
  const grants = grantsSql(createdBy(sql, 'd'), [{ user: 'a', host: '%', privileges: 'Execute,Alter Routine,Grant' }, { user: '', host: 'h`', privileges: 'Grant' }]);
  assert.deepEqual(grants, ['GRANT EXECUTE, ALTER ROUTINE ON PROCEDURE `d`.`p` TO `a`@`%` WITH GRANT OPTION', 'GRANT USAGE ON PROCEDURE `d`.`p` TO \'\'@`h``` WITH GRANT OPTION']);
});
