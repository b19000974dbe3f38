// The parts of a table's form that need no page: drafts, texts of fields, proposals.
import { assert, test } from './shim.mjs';
import { alterTable } from '../../html/sql/structure/alter.js';
import { blankTable, edited, parseTable, readTypeField, renameColumn, withOption } from '../../html/sql/structure/definition.js';
import { Draft, isSame, rebase } from '../../html/sql/structure/draft.js';
import { misfits, moved, newColumn, placed, problemsOf, withIndex, withNew, withPart, without } from '../../html/sql/structure/edits.js';
import { defaultField, freeName, matching, namesField, partsField, proposals, readDefaultField, readNamesField, readPartsField, splitList, typesOf } from '../../html/sql/structure/fieldtext.js';

const MARIADB = { mariadb: true, version: '10.11.6-MariaDB' };
const MYSQL = { mariadb: false, version: '9.7.0' };
const SQL = "CREATE TABLE `t` (\n  `id` int(11) NOT NULL AUTO_INCREMENT,\n  `a` varchar(20) DEFAULT NULL,\n  `b` text DEFAULT NULL,\n  `c` date DEFAULT NULL,\n  PRIMARY KEY (`id`),\n  KEY `by_a` (`a`),\n"
  + '  KEY `by_ab` (`a`,`b`(10)),\n  CONSTRAINT `f` FOREIGN KEY (`a`) REFERENCES `u` (`x`),\n  CONSTRAINT `k` CHECK (`a` <> \'\')\n) ENGINE=InnoDB AUTO_INCREMENT=5 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci';
const read = (sql = SQL) => parseTable(sql, MARIADB, 'db');
const idOf = (table, name) => table.columns.find((column) => column.name === name).id;
const kinds = (draft) => draft.changes.map(({ list, mark, name }) => `${list} ${name} ${mark}`);

test('a draft marks each change, and what is as it was is none', () => {
  const table = read();
  const draft = new Draft(table, MARIADB);
  assert.deepEqual(draft.changes, []);
  draft.set(withPart(draft.table, 'columns', idOf(table, 'a'), { comment: 'x' }));
  assert.deepEqual(kinds(draft), ['columns a changed']);
  draft.set(withPart(draft.table, 'columns', idOf(table, 'a'), { comment: '' }));
  assert.deepEqual(draft.changes, []);
  draft.set(renameColumn(draft.table, idOf(table, 'a'), 'z'));
  // Indexes and foreign keys that only follow are not changes of their own.
  assert.deepEqual(kinds(draft), ['columns z changed']);
  draft.set(withOption(draft.table, 'COMMENT', 'hello'));
  assert.deepEqual(kinds(draft), ['columns z changed', 'options COMMENT changed']);
});

test('steps are undone and done again, those of typing in one field together', () => {
  const table = read();
  const draft = new Draft(table, MARIADB);
  const id = idOf(table, 'b');
  for (const comment of ['h', 'he', 'hey']) draft.set(withPart(draft.table, 'columns', id, { comment }), 'b comment');
  draft.settle();
  draft.set(withPart(draft.table, 'columns', id, { comment: 'hey!' }), 'b comment');
  assert.equal(draft.undo(), true);
  assert.equal(draft.table.columns[2].comment, 'hey');
  draft.undo();
  assert.equal(draft.table, table);
  assert.equal(draft.undo(), false);
  draft.redo();
  assert.equal(draft.table.columns[2].comment, 'hey');
  draft.discard();
  assert.equal(draft.table, table);
  draft.undo();
  assert.equal(draft.table.columns[2].comment, 'hey');
});

test('a removed column takes its indexes along and comes back to its place', () => {
  const table = read();
  const draft = new Draft(table, MARIADB);
  const id = idOf(table, 'a');
  draft.set(without(draft.table, 'columns', [id]));
  assert.deepEqual(draft.table.indexes.map(({ name }) => name), ['PRIMARY', 'by_ab']);
  assert.deepEqual(draft.table.foreignKeys, []);
  assert.deepEqual(draft.shown('columns').map(({ name }) => name), ['id', 'a', 'b', 'c']);
  assert.deepEqual(kinds(draft), ['columns a removed', 'indexes by_a removed', 'indexes by_ab changed', 'foreignKeys f removed']);
  draft.revert('columns', id);
  assert.deepEqual(draft.table.columns.map(({ name }) => name), ['id', 'a', 'b', 'c']);
  draft.revert('indexes', table.indexes[2].id);
  draft.revert('indexes', table.indexes[1].id);
  draft.revert('foreignKeys', table.foreignKeys[0].id);
  assert.deepEqual(draft.changes, []);
  assert.equal(draft.table.indexes[1], table.indexes[1]);
});

test('columns that moved are told apart from those that were passed', () => {
  const table = read();
  const draft = new Draft(table, MARIADB);
  draft.set(placed(draft.table, idOf(table, 'c'), idOf(table, 'a')));
  assert.deepEqual(kinds(draft), ['columns c moved']);
  draft.set(moved(draft.table, [idOf(table, 'c')], 1));
  draft.set(moved(draft.table, [idOf(table, 'c')], 1));
  assert.deepEqual(draft.changes, []);
  assert.equal(moved(table, [idOf(table, 'id')], -1), table);
  draft.set(placed(draft.table, idOf(table, 'id'), null));
  assert.deepEqual(kinds(draft), ['columns id moved']);
  draft.revert('columns', idOf(table, 'id'));
  assert.deepEqual(draft.changes, []);
});

test('of two columns that changed places, the one that was moved is', () => {
  for (const [name, by, text] of [['b', -1, 'MODIFY COLUMN `b` text DEFAULT NULL AFTER `id`'], ['a', 1, 'MODIFY COLUMN `a` varchar(20) DEFAULT NULL AFTER `b`']]) {
    const table = read();
    const draft = new Draft(table, MARIADB);
    draft.set(moved(draft.table, [idOf(table, name)], by));
    assert.deepEqual(kinds(draft), [`columns ${name} moved`]);
    assert.deepEqual(alterTable(table, draft.table, MARIADB), [`ALTER TABLE \`db\`.\`t\`\n  ${text}`]);
    assert.deepEqual(rebase(draft, read(), MARIADB).table.moved, [name]);
  }
});

test('an index of words or shapes has no lengths, and one of a long text gets one', () => {
  const table = read();
  const by = withIndex(table, ['b'], 'index');
  const [kinds, at] = [['fulltext', 'spatial', 'unique', 'fulltext'], by.table.indexes.findIndex(({ id }) => id === by.id)];
  let now = by.table;
  assert.deepEqual(kinds.map((kind) => { now = withPart(now, 'indexes', by.id, { kind }); return now.indexes[at].parts[0].length; }), [null, null, 100, null]);
  assert.equal(withPart(table, 'indexes', table.indexes[2].id, { kind: 'unique' }).indexes[2].parts[1].length, 10);
});

test('nothing of a new table has moved', () => {
  const table = blankTable({ db: 'd', name: 't', columns: [{ ...newColumn(), name: 'id' }, { ...newColumn(), name: 'a' }] });
  const draft = new Draft(table, MYSQL);
  assert.equal(draft.moved.size, 0);
  draft.set(moved(table, [table.columns[0].id], 1));
  assert.equal(draft.moved.size, 0);
});

test('rows that were written are no change of structure', () => {
  assert.equal(isSame(read(), read(SQL.replace('AUTO_INCREMENT=5', 'AUTO_INCREMENT=99')), MARIADB), true);
  assert.equal(isSame(read(), read(SQL.replace(' AUTO_INCREMENT=5', '')), MARIADB), true);
  assert.equal(isSame(read(), read(SQL.replace('`c` date', '`c` datetime')), MARIADB), false);
});

test('changes go on top of what somebody else changed, and never over it', () => {
  const table = read();
  const draft = new Draft(table, MARIADB);
  draft.set(withPart(draft.table, 'columns', idOf(table, 'a'), { comment: 'mine' }));
  draft.set(withPart(draft.table, 'columns', idOf(table, 'b'), { comment: 'mine' }));
  draft.set(withNew(draft.table, 'columns', edited(newColumn(), { name: 'fresh' }), idOf(table, 'b')));
  draft.set(without(draft.table, 'columns', [idOf(table, 'c')]));
  const theirs = read(SQL.replace('`b` text DEFAULT NULL', "`b` longtext DEFAULT NULL,\n  `new` int(11) DEFAULT NULL"));
  const { table: merged, left } = rebase(draft, theirs, MARIADB);
  assert.deepEqual(merged.columns.map(({ name, comment }) => `${name} ${comment}`.trim()), ['id', 'a mine', 'b', 'fresh', 'new']);
  assert.equal(merged.columns[2].type, 'longtext');
  assert.equal(merged.columns[1].was, 'a');
  assert.equal(left.length, 1);
  assert.ok(/column b was not kept/.test(left[0]));
});

test('changes that ran already are not made again', () => {
  const table = read();
  const draft = new Draft(table, MARIADB);
  draft.set(withPart(draft.table, 'columns', idOf(table, 'a'), { comment: 'mine' }));
  const { table: merged, left } = rebase(draft, read(SQL.replace("`a` varchar(20) DEFAULT NULL", "`a` varchar(20) DEFAULT NULL COMMENT 'mine'")), MARIADB);
  assert.deepEqual(left, []);
  assert.equal(merged.columns[1].comment, 'mine');
});

test('a default is read as it is shown, and as one types it', () => {
  for (const [text, type, wanted] of [
    ['', 'int', { kind: 'none', value: '' }], ['null', 'int', { kind: 'null', value: '' }], ['5', 'int', { kind: 'literal', value: '5' }], ['5', 'varchar(9)', { kind: 'text', value: '5' }],
    ["'it''s'", 'text', { kind: 'text', value: "it's" }], ['plain words', 'varchar(9)', { kind: 'text', value: 'plain words' }], ['(1 + 2)', 'int', { kind: 'expression', value: '1 + 2' }],
    ['(1) + (2)', 'varchar(9)', { kind: 'text', value: '(1) + (2)' }], ['uuid()', 'char(36)', { kind: 'expression', value: 'uuid()' }], ['now()', 'datetime', { kind: 'literal', value: 'CURRENT_TIMESTAMP' }],
    ['CURRENT_TIMESTAMP(6)', 'datetime(6)', { kind: 'literal', value: 'CURRENT_TIMESTAMP(6)' }], ["b'101'", 'bit(3)', { kind: 'literal', value: "b'101'" }], ['2024-01-01', 'date', { kind: 'text', value: '2024-01-01' }],
    ["''", 'varchar(9)', { kind: 'text', value: '' }], ['-1.5e3', 'double', { kind: 'literal', value: '-1.5e3' }],
  ]) assert.deepEqual(readDefaultField(text, type), wanted, text);
  for (const value of ["it's", 'a\\b', 'line\nbreak', "'quoted'", '']) {
    assert.deepEqual(readDefaultField(defaultField({ kind: 'text', value }), 'varchar(99)'), { kind: 'text', value }, JSON.stringify(value));
  }
});

test('columns of an index are read and shown', () => {
  const columns = ['a', 'B c', 'd'];
  const { parts, problem } = readPartsField('A(10) desc, `B c`, (lower(d), 1)', columns);
  assert.equal(problem, '');
  assert.equal(partsField(parts), 'a(10) DESC, `B c`, (lower(d), 1)');
  assert.ok(/no column “nope”/.test(readPartsField('nope', columns).problem));
  assert.ok(/Name a column/.test(readPartsField('', columns).problem));
  const kept = { ...parts[0], rest: 'WITH SOMETHING' };
  assert.equal(readPartsField(`${partsField([kept])}, d`, columns, [kept]).parts[0], kept);
  assert.deepEqual(readNamesField('a, `x, y` ,b'), ['a', 'x, y', 'b']);
  assert.equal(namesField(['a', 'order']), 'a, `order`');
  assert.deepEqual(splitList("f('a,b'), c"), ["f('a,b')", 'c']);
});

test('an index is made of columns; a long text gets a length', () => {
  const table = read();
  const { table: with2 } = withIndex(table, ['b', 'c'], 'index');
  assert.equal(partsField(with2.indexes[3].parts), 'b(100), c');
  assert.equal(with2.indexes[3].name, 'b_c');
  const { table: keyed } = withIndex(table, ['a'], 'primary');
  assert.equal(keyed.indexes.length, 3);
  assert.equal(keyed.columns[1].nullable, false);
  assert.equal(keyed.columns[1].default.kind, 'none');
  assert.equal(freeName('a', ['A', 'a_2']), 'a_3');
});

test('what is typed behind a type goes to its own fields, or is refused', () => {
  const read = (text) => { const { fields, problem } = readTypeField(text); return problem || fields; };
  for (const text of ['int', 'varchar(20)', 'decimal(10,2) unsigned zerofill', "enum('a b','not null')", 'double precision', 'double precision unsigned', 'national varchar(20)', 'character varying(9)', 'long varchar', 'varchar(9) binary', 'point srid 4326', 'varchar(9) compressed', 'varchar(300) /*M!100301 COMPRESSED*/', 'varchar(100) /*!100301 COMPRESSED*/', 'time /* mariadb-5.3 */', 'inet6', 'mytype', 'int(11) unsigned', '']) {
    assert.deepEqual(read(text), text === '' ? read(text) : {}, text);
  }
  assert.deepEqual(read('varchar(20) character set latin1'), { charset: 'latin1', type: 'varchar(20)' });
  assert.deepEqual(read('varchar(20) charset latin1 collate latin1_bin NOT NULL'), { charset: 'latin1', collation: 'latin1_bin', nullable: false, type: 'varchar(20)' });
  assert.deepEqual(read("int unsigned null default 5 comment 'not null'"), { default: { kind: 'literal', value: '5' }, comment: 'not null', nullable: true, type: 'int unsigned' });
  assert.deepEqual(read('bigint not null auto_increment'), { nullable: false, autoIncrement: true, type: 'bigint' });
  assert.deepEqual(read('int not null unsigned'), { nullable: false, type: 'int unsigned' });
  assert.deepEqual(read('national varchar(20) not null'), { nullable: false, type: 'national varchar(20)' });
  assert.equal(read('varchar(255)int'), '“int” does not belong to a type.');
  assert.equal(read('int primary key'), '“primary key” does not belong to a type.');
  assert.equal(read('int, b int'), 'Cannot read the type “int, b int”.');
  assert.equal(read('varchar(20'), 'Cannot read the type “varchar(20”.');
  assert.equal(read('int)'), 'Cannot read the type “int)”.');
  const table = parseTable(SQL, MARIADB, 'db');
  const said = (type) => problemsOf(withPart(table, 'columns', idOf(table, 'a'), { type })).map(({ list, field, text }) => `${list} ${field}: ${text}`);
  assert.deepEqual(said('varchar(255)int'), ['columns type: “int” does not belong to a type.']);
  assert.deepEqual(said('varchar(20) collate utf8mb4_bin'), ['columns type: Enter only the type: varchar(20). The rest has fields of its own.']);
  assert.deepEqual(said('varchar(30)'), []);
});

test('faults are seen before the server is asked', () => {
  const table = read();
  const texts = (one) => problemsOf(one).map(({ list, field }) => `${list} ${field}`);
  assert.deepEqual(texts(table), []);
  assert.deepEqual(texts(withNew(table, 'columns', newColumn())), ['columns name']);
  assert.deepEqual(texts(renameColumn(table, idOf(table, 'b'), 'A')), ['columns name']);
  assert.deepEqual(texts(withPart(table, 'indexes', table.indexes[1].id, { parts: [] })), ['indexes parts']);
  assert.deepEqual(texts(withPart(table, 'foreignKeys', table.foreignKeys[0].id, { refColumns: [] })), ['foreignKeys refColumns']);
  assert.deepEqual(texts({ ...table, name: '' }), ['table name']);
});

test('foreign keys whose sides do not fit are seen before the server is asked', async () => {
  const table = read();
  const typed = (name, type, charset = '', collation = '') => ({ name, type, charset, collation });
  const tables = { 'db.u': [typed('x', 'varchar(9)', 'utf8mb4', 'utf8mb4_general_ci'), typed('n', 'int(11) unsigned')], 'o.w': [typed('x', 'varchar(9)', 'latin1', 'latin1_bin'), typed('y', 'varchar(9)', 'utf8mb4', 'utf8mb4_bin'), typed('z', 'decimal(10,2)')] };
  const asked = [];
  const columnsOf = async (db, name) => (asked.push(`${db}.${name}`), tables[`${db}.${name}`] ?? []);
  const said = async (columns, fields) => (await misfits(withPart(table, 'foreignKeys', table.foreignKeys[0].id, { columns, ...fields }), columnsOf)).map(({ list, field, text }) => `${list} ${field}: ${text}`).join();
  assert.deepEqual(await misfits(table, columnsOf), []);
  assert.deepEqual(asked, []);
  assert.equal(await said(['a'], { refColumns: ['X'] }), '');
  assert.equal(await said(['id'], { refColumns: ['n'] }), 'foreignKeys columns: id is int(11), and u.n is int(11) unsigned: both need the same type and sign.');
  assert.ok((await said(['a'], { refColumns: ['n'] })).includes('a is varchar(20), and u.n is int(11) unsigned'));
  assert.ok((await said(['a'], { refDb: 'o', refTable: 'w', refColumns: ['x'] })).includes('a has the character set utf8mb4, and w.x has latin1'));
  assert.ok((await said(['a'], { refDb: 'o', refTable: 'w', refColumns: ['y'] })).includes('a has the collation utf8mb4_general_ci, and w.y has utf8mb4_bin'));
  // The server judges tables that are not known, and types of other kinds.
  assert.equal(await said(['a'], { refTable: 'nowhere', refColumns: ['x'] }), '');
  assert.equal(await said(['c'], { refDb: 'o', refTable: 'w', refColumns: ['z'] }), '');
  assert.ok((await said(['a'], { refTable: 't', refColumns: ['id'] })).includes('t.id is int(11)'));
  const wider = await misfits(withPart(table, 'columns', idOf(table, 'a'), { type: 'int' }), columnsOf);
  assert.ok(wider[0].text.includes('a is int, and u.x is varchar(9)'));
});

test('references are proposed by name and type', () => {
  const keys = [
    { db: 'd', table: 'orders', columns: ['id'], types: ['int(11)'] }, { db: 'd', table: 'customers', columns: ['id'], types: ['int(11)'] },
    { db: 'd', table: 'countries', columns: ['code'], types: ['char(2)'] }, { db: 'd', table: 'categories', columns: ['id'], types: ['bigint(20)'] },
  ];
  const best = (name, type) => proposals([{ name, type }], keys, 'orders')[0];
  assert.equal(best('customer_id', 'int').table, 'customers');
  assert.equal(best('customer_id', 'int').fits, true);
  assert.equal(best('category_id', 'bigint').table, 'categories');
  assert.equal(best('country_code', 'char(2)').table, 'countries');
  assert.equal(best('category_id', 'int').fits, false);
});

test('types are those of the server', () => {
  const has = (server, type) => typesOf(server).some(({ value }) => value.startsWith(type));
  assert.equal(has(MARIADB, 'uuid'), true);
  assert.equal(has(MYSQL, 'uuid'), false);
  assert.equal(has(MARIADB, 'vector'), false);
  assert.equal(has({ mariadb: true, version: '11.8.2-MariaDB' }, 'vector'), true);
  assert.equal(has(MYSQL, 'vector'), true);
  assert.equal(matching(typesOf(MYSQL), 'varch')[0].value, 'varchar(255)');
  assert.equal(matching(typesOf(MYSQL), 'blob')[0].value, 'blob');
});
