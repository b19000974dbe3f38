import { Changes, Default, FileValue } from '../../html/sql/edit/changes.js';
import { momentsOf } from '../../html/sql/data/values.js';
import { Copied, cellsOf, newSpots, pastedCells, spotsOf } from '../../html/sql/edit/clipboard.js';
import { bitsOf, dateIn, fieldOf, needsPanel, read, refusal, textOf, withDate } from '../../html/sql/edit/fields.js';
import { Sheet } from '../../html/sql/edit/sheet.js';
import { reviewAndApply } from '../../html/sql/edit/applying.js';
import { whyFixed } from '../../html/sql/data/reason.js';
import { Pager } from '../../html/sql/data/pager.js';
import { choicesOf } from '../../html/sql/data/values.js';
import { candidates, keyAt, readableColumn, rowsSql } from '../../html/sql/edit/readable.js';
import { pendingText, readPending } from '../../html/sql/core/pending.js';
import { assert, test } from './shim.mjs';

const field = (type, more = {}, schema = {}) => fieldOf({ name: 'c', type, nullable: true, default: null, extra: '', generated: null, ...more }, schema);
const made = () => new Changes({ columns: ['id', 'name', 'n'], key: ['id'] });
const rows = [[1, 'a', null], [2, 'b', '5'], [3, 'c', '6']];
const set = (changes, row, column, value) => changes.set([{ target: changes.target(row), column, value }]);

test('changes of cells are collected by the key of their row, and what is as it was is none', () => {
  const changes = made();
  set(changes, rows[0], 'name', 'x');
  set(changes, rows[0], 'n', '7');
  set(changes, [2, 'b', '5'], 'n', 5);
  assert.equal(changes.size, 1);
  assert.deepEqual(changes.shown(rows[0]), [1, 'x', '7']);
  assert.deepEqual(changes.shown([1, 'a', null]), [1, 'x', '7'], 'the same row read again');
  assert.deepEqual(changes.shown(rows[1]), rows[1]);
  set(changes, rows[0], 'name', 'a');
  assert.deepEqual(changes.requests().changes, [{ op: 'update', key: { id: 1 }, old: { id: 1, name: 'a', n: null }, new: { n: '7' } }]);
  set(changes, rows[0], 'n', null);
  assert.equal(changes.size, 0);
});

test('what goes makes room for what comes: deleted, changed, then new rows', () => {
  const changes = made();
  changes.add([new Map([['name', 'new']]), new Map()]);
  set(changes, rows[1], 'id', '1');
  changes.remove([changes.target(rows[0])]);
  assert.deepEqual(JSON.parse(JSON.stringify(changes.requests().changes)), [
    { op: 'delete', key: { id: 1 }, old: { id: 1, name: 'a', n: null } },
    { op: 'update', key: { id: 2 }, old: { id: 2, name: 'b', n: '5' }, new: { id: '1' } },
    { op: 'insert', new: { name: 'new' } }, { op: 'insert', new: {} }]);
  assert.equal(changes.extraCount, 2);
  assert.equal(String(changes.extra(1)[1]), 'DEFAULT');
});

test('a column called __proto__ is one like any other', () => {
  const changes = new Changes({ columns: ['id', '__proto__'], key: ['id'] });
  set(changes, [1, 'a'], '__proto__', 'b');
  assert.equal(JSON.stringify(changes.requests().changes[0].new), '{"__proto__":"b"}');
  assert.equal(JSON.stringify(changes.requests().changes[0].old), '{"id":1,"__proto__":"a"}');
});

test('each step is undone whole, also a discard, and what was applied is not', () => {
  const changes = made();
  set(changes, rows[0], 'name', 'x');
  changes.set(rows.map((row) => ({ target: changes.target(row), column: 'n', value: '9' })));
  changes.remove([changes.target(rows[0])]);
  assert.equal(changes.get('[1]').op, 'delete');
  changes.discard();
  assert.equal(changes.size, 0);
  for (const size of [3, 3, 1, 0]) {
    changes.undo();
    assert.equal(changes.size, size);
  }
  assert.equal(changes.canUndo, false);
  set(changes, rows[0], 'name', 'x');
  changes.applied(['[1]'], [[1, 'x', null]]);
  assert.equal(changes.canUndo, false);
});

test('a new row that is deleted is gone, one that is saved stays in sight until the rows are read again', () => {
  const changes = made();
  const [first, second] = changes.add([new Map([['name', 'x']]), new Map([['name', 'y']])]);
  changes.remove([{ id: first, base: null }]);
  assert.equal(changes.extraCount, 1);
  changes.applied([second], [[7, 'y', null]]);
  assert.equal(changes.size, 0);
  assert.deepEqual(changes.extra(0), [7, 'y', null]);
  set(changes, changes.extraTarget(0).base, 'name', 'z');
  assert.deepEqual(changes.extra(0), [7, 'z', null]);
  changes.applied(['[7]'], [null]);
  assert.equal(changes.extraCount, 0, 'deleted');
  changes.add([new Map()]);
  changes.applied(changes.requests().ids, [[8, 'q', null]]);
  changes.reread();
  assert.equal(changes.extraCount, 0);
});

test('mine is kept against a row that is another one now, or added anew where it is gone', () => {
  const changes = made();
  set(changes, rows[0], 'name', 'x');
  changes.rebase('[1]', [1, 'theirs', '4']);
  assert.deepEqual(changes.requests().changes, [{ op: 'update', key: { id: 1 }, old: { id: 1, name: 'theirs', n: '4' }, new: { name: 'x' } }]);
  changes.rebase('[1]', [1, 'x', '4']);
  assert.equal(changes.size, 0, 'they wrote the same');
  changes.remove([changes.target(rows[1])]);
  changes.rebase('[2]', [2, 'b2', '5']);
  assert.deepEqual(changes.requests().changes[0].old, { id: 2, name: 'b2', n: '5' });
  set(changes, rows[2], 'name', 'z');
  changes.rebase('[3]', null);
  assert.deepEqual(changes.requests().changes[1], { op: 'insert', new: { id: 3, name: 'z', n: '6' } });
});

test('what is too large or not known is not compared, and that is told', () => {
  const changes = made();
  const row = [1, 'x'.repeat(5_000_000), null];
  set(changes, row, 'n', '1');
  assert.deepEqual(changes.requests().changes[0].old, { id: 1, n: null });
  assert.ok(changes.hasUncompared);
  changes.rebase('[1]', [1, undefined, '2']);
  assert.deepEqual(changes.requests().changes[0], { op: 'update', key: { id: 1 }, old: { id: 1, n: '2' }, new: { n: '1' } });
});

test('two rows whose times look alike are two rows, known by their seconds', () => {
  const changes = new Changes({ columns: ['at', 'n'], key: ['at'] });
  const time = '2026-10-25 02:30:00';
  const pair = [[time, '1'], [time, '2']];
  momentsOf.set(pair[0], { at: 1792888200 });
  momentsOf.set(pair[1], { at: 1792891800 });
  set(changes, pair[1], 'n', '3');
  assert.equal(changes.of(pair[0]), undefined);
  assert.equal(changes.shown(pair[1])[1], '3');
  assert.deepEqual(changes.requests().changes, [
    { op: 'update', key: { at: time }, old: { at: time, n: '2' }, moments: { at: 1792891800 }, new: { n: '3' } }]);
  set(changes, pair[1], 'at', time);
  assert.deepEqual(Object.keys(changes.requests().changes[0].new), ['n'], 'a time that is as it was is not written');
});

test('changes outlive a column that comes and one that goes', () => {
  const old = made();
  set(old, rows[1], 'name', 'x');
  set(old, rows[1], 'n', '1');
  set(old, rows[2], 'n', '1');
  old.add([new Map([['name', 'new'], ['n', '2']])]);
  const changes = new Changes({ columns: ['id', 'more', 'name'], key: ['id'] });
  changes.adopt(old);
  assert.deepEqual(changes.requests().changes, [
    { op: 'update', key: { id: 2 }, old: { id: 2, more: null, name: 'b' }, new: { name: 'x' } }, { op: 'insert', new: { name: 'new' } }]);
});

test('what stands for a value goes to the server as such', () => {
  const changes = made();
  set(changes, rows[0], 'name', new Default());
  set(changes, rows[0], 'n', new FileValue({ name: 'f', size: '1 B', base64: 'QQ==' }));
  assert.equal(JSON.stringify(changes.requests().changes[0].new), '{"name":{"default":true},"n":{"base64":"QQ=="}}');
  const file = new FileValue({ name: 'f', size: '2 B', base64: 'AP8=' });
  assert.deepEqual([file.content(true), file.content(false), new FileValue({ name: 'f', size: '1 B', base64: 'QQ==' }).content(false)], ['0x00FF', null, 'A']);
});

test('columns say what may be put into them', () => {
  assert.deepEqual(choicesOf("enum('a','it''s','b,c','')"), ['a', "it's", 'b,c', '']);
  assert.equal(field('tinyint(1)').kind, 'boolean');
  assert.equal(field('bit(1)').kind, 'boolean');
  assert.equal(field('tinyint(4)').kind, 'number');
  assert.equal(field('timestamp(6)').kind, 'datetime');
  assert.equal(field("set('json')").kind, 'choices');
  assert.equal(field('longtext', {}, { create_statement: 'CREATE TABLE t (`c` longtext CHECK (json_valid(`c`)))' }).kind, 'json');
  assert.equal(field('int', { extra: 'STORED GENERATED' }).fixed, 'c is computed by the server');
  assert.equal(field('timestamp', { extra: 'DEFAULT_GENERATED', default: 'now()' }).fixed, '');
  assert.equal(field('int', { nullable: false, extra: 'auto_increment' }).required, false);
  assert.equal(field('int', { nullable: false }).required, true);
  assert.equal(refusal(field('int', { nullable: false }), null), 'c is NOT NULL');
  assert.ok(refusal(field('int', { nullable: false }), new Default()).includes('no default'));
  assert.equal(refusal(field('int'), null), '');
});

test('what is typed is read by the type, and what the server would round, cut or refuse is told before', () => {
  const value = (type, text) => { const { value: found, problem } = read(field(type), text); assert.equal(problem, '', `${type} ${text}`); return found; };
  const problem = (type, text) => read(field(type), text).problem;
  assert.equal(value('int(11)', ' 42 '), '42');
  assert.equal(value('tinyint(1)', 'TRUE'), '1');
  assert.equal(value('bit(1)', 'false'), '0x00');
  assert.equal(value('bigint(20) unsigned', '18446744073709551615'), '18446744073709551615');
  assert.equal(value('varchar(5)', ' a  '), ' a  ');
  assert.equal(value('varchar(2)', '👍👍'), '👍👍');
  assert.equal(value('decimal(8,2)', '1.50000'), '1.50000');
  assert.equal(value('bit(10)', "b'101'"), '0x0005');
  assert.equal(value('bit(64)', '18446744073709551615'), '0xFFFFFFFFFFFFFFFF');
  assert.equal(value("enum('Small','x')", 'small'), 'Small');
  assert.equal(value('datetime(6)', '2024-05-06 07:08:09.123456'), '2024-05-06 07:08:09.123456');
  assert.equal(value('time', '-838:59:59'), '-838:59:59');
  assert.equal(value('varbinary(2)', '0xFF00'), '0xFF00');
  for (const [type, text] of [['int', '1.5'], ['int', 'x'], ['int', ''], ['tinyint(4)', '128'], ['tinyint(3) unsigned', '-1'], ['bigint', '9223372036854775808'],
    ['varchar(2)', 'abc'], ['decimal(8,2)', '1.555'], ['bit(3)', '8'], ['bit(3)', 'x'], ["enum('a')", 'b'], ["set('a','b')", 'a,c'], ['date', '2024-05'],
    ['datetime', '2024-05-06 07:08:09.5'], ['time', 'noon'], ['json', '{'], ['varbinary(2)', '0x010203'], ['blob', 'abc'], ['year', 'x']]) {
    assert.ok(problem(type, text) !== '', `${type} ${text}`);
  }
  assert.ok(problem('tinyint(4)', '128').includes('-128 to 127'), problem('tinyint(4)', '128'));
});

test('a value is edited as it can be typed again', () => {
  assert.equal(textOf(field('bit(6)'), '0x05'), "b'101'");
  assert.equal(bitsOf('0x'), 0n);
  assert.equal(textOf(field('int'), null), '');
  assert.equal(needsPanel(field('text'), 'a\nb'), true);
  assert.equal(needsPanel(field('text'), 'a\tb'), false);
  assert.equal(needsPanel(field('text'), 'x'.repeat(400)), true);
  assert.equal(needsPanel(field('blob'), null), true);
  assert.equal(dateIn('2024-05-06 07:08:09'), '2024-05-06');
  assert.equal(dateIn('0000-00-00'), '');
  assert.equal(withDate(field('datetime(6)'), '2024-05-06 07:08:09.123456', '2025-01-01'), '2025-01-01 07:08:09.123456');
  assert.equal(withDate(field('datetime'), '', '2025-01-01'), '2025-01-01 00:00:00');
  assert.equal(withDate(field('date'), '2024-05-06', '2025-01-01'), '2025-01-01');
});

test('cells come from the clipboard as they went into it', () => {
  assert.deepEqual(cellsOf('a\tb\r\n"c\nd"\t"e""f"\n'), [['a', 'b'], ['c\nd', 'e"f']]);
  assert.deepEqual(cellsOf(''), [['']]);
  const copied = new Copied();
  copied.keep('NULL\t1\n', [[null, '1']]);
  assert.deepEqual(copied.of('NULL\t1\r\n'), [[null, '1']]);
  assert.equal(copied.of('NULL\t2\n'), null);
  const one = { places: [4], columns: [2] };
  assert.deepEqual(spotsOf('a\nb\n', null, one), [{ place: 4, column: 2, value: 'a\nb' }]);
  assert.deepEqual(spotsOf('a\tb', null, one).map(({ column }) => column), [2, 3]);
  assert.equal(spotsOf('x', null, { places: [1, 2], columns: [0, 1] }).length, 4);
});

test('a column of a spreadsheet goes down, and a text of several lines stays one', () => {
  const one = { places: [4], columns: [2] };
  const down = (text, of) => spotsOf(text, null, one, of).map(({ place, column, value }) => [place, column, value]);
  assert.deepEqual(down('a\r\nb\r\nc\r\n'), [[4, 2, 'a'], [5, 2, 'b'], [6, 2, 'c']]);
  assert.deepEqual(down('a\rb'), [[4, 2, 'a'], [5, 2, 'b']]);
  assert.deepEqual(down('a\n"b\nc"\n', { html: '<meta><TABLE border=0><td>a' }), [[4, 2, 'a'], [5, 2, 'b\nc']]);
  assert.deepEqual(down('1\n2', { takesLines: false }), [[4, 2, '1'], [5, 2, '2']]);
  assert.deepEqual(down('a\n\nb'), [[4, 2, 'a\n\nb']]);
  // Of a page that is no table, in which lines end as Windows has them.
  assert.deepEqual(pastedCells('a\r\nb\r\n', { html: '<p>a<br>b' }), [['a\nb']]);
  assert.deepEqual(newSpots([['a', 'b'], ['c', 'd']], 1, 3).map(({ place, column }) => [place, column]), [[0, 1], [0, 2], [1, 1], [1, 2]]);
  assert.deepEqual(newSpots([['a', 'b', 'c']], 1, 3).map(({ column }) => column), [0, 1, 2]);
});

test('pasted rows become new ones where they begin in one, or where that is asked for', () => {
  const columns = [{ name: 'id', type: 'int', nullable: false, extra: 'auto_increment', default: null }, { name: 'name', type: 'varchar(9)', nullable: false, default: null }];
  const schema = { columns, indexes: [{ name: 'PRIMARY', unique: true, columns: ['id'] }] };
  const sheet = new Sheet();
  const changes = sheet.changesOf({ db: 'd', table: 't' }, schema);
  const read = [[1, 'a'], [2, 'b']];
  const rows = /** @type {any} */ ({ get extra() { return changes.extraCount; }, get length() { return changes.extraCount + 2; }, pager: { ended: true, row: (at) => read[at] } });
  sheet.show(/** @type {any} */ ({ rows, schema, place: { db: 'd', table: 't', filters: [{ column: 'name', op: '=', value: 'asked' }] } }));
  const spots = (place, ...values) => values.map((value, at) => ({ place: place + at, column: 1, value }));
  // Behind the last row they are offered.
  const behind = sheet.pasted(spots(1, 'x', 'y', 'z'), { typed: true, asNew: false });
  assert.deepEqual([behind.cells.map(({ value }) => value), behind.rows, behind.left], [['x'], [], 2]);
  assert.deepEqual(behind.beyond.map((one) => [...one]), [[['name', 'y']], [['name', 'z']]]);
  const asked = sheet.pasted([{ place: 0, column: 0, value: '7' }], { typed: true, asNew: true });
  assert.deepEqual(asked.rows.map((one) => [...one]), [[['name', 'asked'], ['id', '7']]]);
  // A copy from the grid itself brings no number that the server counts.
  assert.deepEqual(sheet.pasted([{ place: 0, column: 0, value: 7 }], { typed: false, asNew: true }), { cells: [], rows: [], beyond: [], left: 1, hasCommas: false });
  assert.equal(sheet.pasted([{ place: 0, column: 0, value: 7 }, { place: 0, column: 1, value: 'x' }], { typed: false, asNew: true }).left, 0, 'of a row that becomes a new one it is not missed');
  changes.add([new Map()]);
  const begun = sheet.pasted(spots(0, 'x', 'y'), { typed: true, asNew: false });
  assert.deepEqual([begun.cells.map(({ target }) => target.id), begun.rows.length, begun.left], [['new 1'], 1, 0]);
  changes.set(begun.cells, begun.rows);
  assert.deepEqual([changes.size, changes.extra(0)?.[1], changes.extra(1)?.[1]], [2, 'x', 'y']);
  changes.undo();
  assert.deepEqual([changes.size, changes.get('new 1')?.set.size], [1, 0]);
  // NULL is refused by a column that is NOT NULL.
  assert.equal(sheet.pasted(spots(1, null), { typed: false, asNew: false }).left, 1);
});

test('rows say why they cannot be changed', () => {
  const columns = [{ name: 'id', type: 'int', nullable: false }, { name: 'f', type: 'float', nullable: false }];
  const key = (name) => [{ name: 'PRIMARY', unique: true, columns: [name] }];
  assert.equal(whyFixed({ columns, indexes: key('id'), create_statement: 'CREATE TABLE `t` ()' }, false), '');
  assert.ok(whyFixed({ columns, indexes: key('id') }, true).startsWith('Read-only'));
  assert.ok(whyFixed({ columns, indexes: [] }, false).includes('no PRIMARY'));
  assert.ok(whyFixed({ columns, indexes: key('f') }, false).includes('FLOAT'));
  assert.ok(whyFixed({ columns, indexes: [], create_statement: 'CREATE ALGORITHM=UNDEFINED DEFINER=`a`@`b` SQL SECURITY DEFINER VIEW `v` AS select 1' }, false).includes('a view'));
});

test('rows that are held are replaced and taken out in place', async () => {
  const pager = new Pager(async ({ after }) => ({ rows: after ? [] : rows, last: after ? null : [3] }), { byCursor: true });
  await pager.need(0, 10);
  pager.edit((row) => (row[0] === 2 ? null : row[0] === 3 ? [3, 'z', null] : row));
  assert.equal(pager.rowCount, 2);
  assert.deepEqual(pager.row(1), [3, 'z', null]);
  assert.equal(pager.placeOf((row) => row[0] === 3), 1);
  assert.equal(pager.placeOf((row) => row[0] === 2), -1);
});

test('rows behind a gap are still found when one before them was deleted', async () => {
  const numbers = Array.from({ length: 9000 }, (_, i) => i + 1);
  const pager = new Pager(async ({ after, until, limit, offset }) => {
    const found = numbers.filter((n) => (!after || n > after[0]) && (!until || n <= until[0])).slice(offset, offset + limit).map((n) => [n]);
    return { rows: found, last: found.length ? [found.at(-1)[0]] : null };
  }, { byCursor: true });
  await pager.need(0, 10);
  await pager.jump(9000);
  await pager.need(4000, 4040);
  const deleted = pager.row(4010)[0];
  numbers.splice(numbers.indexOf(deleted), 1);
  pager.edit((row) => (row[0] === deleted ? null : row));
  assert.equal(pager.rowCount, 8999);
  pager.release();
  const seen = [];
  for (let place = 0; place < pager.rowCount; place += 40) {
    await pager.need(place, place + 39);
    for (let i = place; i < Math.min(place + 40, pager.rowCount); i += 1) seen.push(pager.row(i)?.[0]);
  }
  assert.deepEqual(seen, numbers);
});

test('nothing is sent for good without a review, and too many changes are told before', async () => {
  const changes = made();
  const sent = [];
  const api = { edit: async (body) => { sent.push(body); throw Object.assign(new Error('no'), { status: 400, body: { error: { kind: 'server', change: 0 } } }); } };
  const job = { changes, of: { db: 'd', table: 't', timeZone: '+00:00' }, nameOf: (id) => id, showReview: () => undefined, showConflict: () => undefined };
  const on = { changed() {}, took() {}, applying() {}, refused() {} };
  const run = () => reviewAndApply(api, job, on).then(() => null, (refusal) => refusal);
  set(changes, rows[0], 'name', 'x');
  const refusal = await run();
  assert.equal(refusal.id, '[1]');
  assert.ok(sent.length === 1 && sent[0].review === true && sent[0].time_zone === '+00:00');
  changes.add(Array.from({ length: 5001 }, () => new Map()));
  assert.ok((await run()).message.includes('5,000'));
  assert.equal(sent.length, 1);
});

test('a day that no calendar has is marked, one with zeros is left to the server', () => {
  for (const text of ['2024-02-31', '2023-02-29', '2024-04-31', '2024-13-01']) assert.ok(read(field('date'), text).problem.includes(text), text);
  for (const text of ['2024-02-29', '2024-12-31', '0000-00-00', '2024-00-31', '2024-05-00']) assert.equal(read(field('date'), text).problem, '', text);
  for (const text of ['2024-02-30 10:00:00', '2024-02-01 24:00:00', '2024-02-01 10:60']) assert.ok(read(field('datetime(6)'), text).problem, text);
  assert.equal(read(field('datetime(6)'), '2024-02-29 23:59:59.123456').problem, '');
  assert.ok(read(field('time'), '10:61').problem);
  assert.equal(read(field('time'), '-838:59:59').problem, '');
});

test('cells of a new row that must have a value are to be mended', () => {
  const sheet = new Sheet();
  const column = (name, type, more = {}) => ({ name, type, nullable: false, default: null, extra: '', generated: null, ...more });
  const schema = { columns: [column('id', 'int', { extra: 'auto_increment' }), column('name', 'varchar(9)'), column('n', 'int', { default: '0' }), column('note', 'text', { nullable: true })],
    indexes: [{ name: 'PRIMARY', unique: true, columns: ['id'] }], create_statement: '' };
  const changes = sheet.changesOf({ db: 'd', table: 't' }, schema);
  sheet.table = /** @type {any} */ (sheet.tables.values().next().value);
  const [id] = changes.add([new Map()]);
  assert.deepEqual(sheet.problems().map((one) => [one.id, one.column]), [[id, 1]]);
  changes.set([{ target: { id, base: null }, column: 'name', value: '' }]);
  assert.deepEqual(sheet.problems(), [], 'an empty text is a value');
});

test('changes that are kept are the same after a reload, but for files and what does not fit', () => {
  const changes = made();
  momentsOf.set(rows[2], { n: 1714979289.5 });
  set(changes, rows[0], 'name', null);
  set(changes, rows[0], 'n', new Default('auto'));
  changes.remove([changes.target(rows[2])]);
  changes.add([new Map([['name', 'first']]), new Map([['name', '']])]);
  changes.add([new Map([['name', new FileValue({ name: 'f', size: '1 B', base64: 'QQ==' })]])]);
  const kept = JSON.parse(JSON.stringify(changes.stored(1000)));
  assert.equal(kept.left, 1);
  assert.equal(readPending([{ tab: 't', db: 'd', table: 'x', tables: [{ db: 'd', table: 'x', ...kept, uncertain: false }] }]).length, 1);
  const again = made();
  again.adopt(Changes.of(kept));
  assert.equal(again.size, 4);
  assert.ok(again.shown(rows[0])[2] instanceof Default);
  assert.equal(String(again.shown(rows[0])[2]), 'auto');
  assert.equal(again.extraCount, 2);
  assert.equal(again.extra(0)[1], 'first');
  const [sent, before] = [again, changes].map((one) => JSON.parse(JSON.stringify(one.requests().changes)));
  assert.deepEqual(sent, before.slice(0, 4));
  assert.equal(sent[0].moments.n, 1714979289.5);
  assert.equal(again.canUndo, false);
  momentsOf.delete(rows[2]);
  const long = made();
  set(long, rows[0], 'name', 'x'.repeat(2000));
  set(long, rows[1], 'name', 'y');
  assert.deepEqual([long.stored(1000).changes.length, long.stored(1000).left], [1, 1]);
});

test('kept changes are taken over by a table with other columns, and held where its key is another one', () => {
  const changes = made();
  set(changes, rows[0], 'name', 'x');
  const kept = { db: 'd', table: 't', ...changes.stored(1000), uncertain: true, server: 'a' };
  const schema = (names, key) => ({ columns: names.map((name) => ({ name, type: 'int', nullable: false, default: null })), indexes: [{ name: 'PRIMARY', unique: true, columns: key }] });
  const sheet = new Sheet();
  sheet.restore([kept]);
  assert.equal(pendingText(sheet.stored('b')), '1 change in t');
  const of = sheet.changesOf({ db: 'd', table: 't' }, schema(['more', 'id', 'name', 'n'], ['id']));
  assert.deepEqual(of.shown([null, 1, 'a', null]), [null, 1, 'x', null]);
  assert.equal([...sheet.tables.values()][0].uncertain, true);
  const other = new Sheet();
  other.restore([kept]);
  assert.equal(other.changesOf({ db: 'd', table: 't' }, schema(['ref', 'id', 'name', 'n'], ['ref'])).size, 0);
  assert.deepEqual(other.stored('b'), [{ ...kept }]);
});

test('what is not well-formed in the storage is left out', () => {
  const table = { db: 'd', table: 't', columns: ['id'], key: ['id'], changes: [{ op: 'delete', base: [1], set: [] }], left: 0, uncertain: false };
  const pending = (more) => readPending([{ tab: 'a', db: 'd', table: 't', tables: [{ ...table, ...more }] }]).length;
  assert.equal(pending({}), 1);
  for (const more of [{ columns: 'id' }, { key: [1] }, { changes: {} }, { changes: [null] }, { changes: [{ op: 'drop', base: [1], set: [] }] }, { changes: [{ op: 'update', base: [1, 2], set: [] }] },
    { changes: [{ op: 'update', base: null, set: [] }] }, { changes: [{ op: 'insert', base: null, set: [[1, 2]] }] }]) assert.equal(pending(more), 0, JSON.stringify(more));
  assert.equal(readPending({}).length, 0);
});

test('rows of another table are known by a telling column, and found by it or by their key', () => {
  const column = (name, type = 'varchar(20)') => ({ name, type, nullable: true });
  const indexes = [{ unique: true, columns: ['token'] }];
  assert.equal(readableColumn({ columns: [column('id', 'int'), column('token'), column('note'), column('first_name')], indexes }, ['id']), 'first_name');
  assert.equal(readableColumn({ columns: [column('id', 'int'), column('note'), column('token')], indexes }, ['id']), 'token');
  assert.equal(readableColumn({ columns: [column('id', 'int'), column('note')] }, ['id']), 'note');
  assert.equal(readableColumn({ columns: [column('id', 'int'), column('day', 'date')] }, ['id']), '');
  assert.deepEqual(candidates({ columns: [column('id', 'int'), column('day', 'date'), column('bytes', 'blob')] }, ['id']), ['day']);
  const schema = { foreign_keys: [{ columns: ['a', 'b'], ref_db: 'o', ref_table: 'two', ref_columns: ['x', 'y'] }, { columns: ['a'], ref_table: 'one', ref_columns: ['id'] }] };
  assert.deepEqual(keyAt(schema, 'd', 'a'), { db: 'd', table: 'one', columns: ['a'], refColumns: ['id'] });
  assert.equal(keyAt(schema, 'd', 'b')?.table, 'two');
  assert.equal(keyAt(schema, 'd', 'c'), undefined);
  const key = { db: 'd', table: 'one', columns: ['a'], refColumns: ['id'] };
  const of = { columns: [{ name: 'id', type: 'int', nullable: false }] };
  assert.equal(rowsSql(key, 'name', '', null, of), 'SELECT `id`, CAST(`name` AS CHAR) AS `name`\nFROM `d`.`one`\nORDER BY `name`, `id` LIMIT 51');
  assert.equal(rowsSql(key, 'name', "5%'", 7, of), "SELECT `id`, CAST(`name` AS CHAR) AS `name`\nFROM `d`.`one`\nWHERE CAST(`id` AS CHAR) LIKE '5!%''%' ESCAPE '!' OR CAST(`name` AS CHAR) LIKE '%5!%''%' ESCAPE '!'\nORDER BY CAST(`id` AS CHAR) = '5%''' DESC, `name`, `id` LIMIT 51");
  assert.equal(rowsSql(key, '', '', 7, of), "SELECT `id`\nFROM `d`.`one`\nORDER BY CAST(`id` AS CHAR) = '7' DESC, `id` LIMIT 51");
  const bytes = { columns: [{ name: 'id', type: 'binary(4)', nullable: false }] };
  assert.ok(rowsSql(key, '', '0xff00', null, bytes).includes("WHERE HEX(`id`) LIKE 'ff00%' ESCAPE '!'"));
});
