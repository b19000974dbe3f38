import { ResultSet } from '../../html/sql/core/resultset.js';
import { layOutJson } from '../../html/sql/core/json.js';
import { Panes } from '../../html/sql/results/panes.js';
import * as columns from '../../html/sql/results/columns.js';
import { factsOf } from '../../html/sql/core/columnfacts.js';
import { GridModel } from '../../html/sql/results/gridmodel.js';
import { assert, test } from './shim.mjs';

const metrics = { charWidth: 7, rowHeight: 24 };

function modelOf(rows, columns = ['a', 'b', 'c'], types = ['INT', 'VARCHAR', 'BLOB']) {
  return new GridModel(Object.assign(new ResultSet(), { columns, types, rows, count: rows.length }), metrics);
}

const small = () => modelOf([[3, 'x', '0x00'], [1, 'y', null], [2, 'z'.repeat(300), '0x']]);

test('clicks on a header go round: ascending, descending, original', async () => {
  const model = small();
  const click = async (column, adding = false) => {
    await model.sort(model.nextKeys(column, adding));
    return [0, 1, 2].map((place) => model.row(place)[0]);
  };
  assert.deepEqual(await click(0), [1, 2, 3]);
  assert.deepEqual(await click(0), [3, 2, 1]);
  assert.deepEqual(await click(0), [3, 1, 2]);
  assert.deepEqual(model.sortKeys, []);
});

test('shift adds, turns and removes a column and keeps the others', () => {
  const model = small();
  const asc = (column) => ({ column, descending: false });
  model.sortKeys = model.nextKeys(0, false);
  model.sortKeys = model.nextKeys(1, true);
  assert.deepEqual(model.sortKeys, [asc(0), asc(1)]);
  model.sortKeys = model.nextKeys(0, true);
  assert.deepEqual(model.sortKeys, [{ column: 0, descending: true }, asc(1)]);
  model.sortKeys = model.nextKeys(0, true);
  assert.deepEqual(model.sortKeys, [asc(1)]);
  assert.deepEqual(model.nextKeys(2, false), [asc(2)]);
});

test('a selection is one rectangle, whole rows and columns included', () => {
  const model = small();
  model.moveTo({ row: 2, column: 1 });
  model.moveTo({ row: 1, column: 0 }, { extend: true });
  assert.deepEqual(model.selection, { top: 1, bottom: 2, columns: [0, 1], empty: false });
  assert.deepEqual([...model.tableOf(model.selection).rows], [[1, 'y'], [2, 'z'.repeat(300)]]);
  model.moveTo({ row: 1, column: 1 }, { span: 'rows' });
  assert.deepEqual(model.selection, { top: 1, bottom: 1, columns: [0, 1, 2], empty: false });
  model.moveTo({ row: -1, column: 1 }, { span: 'columns' });
  assert.deepEqual(model.selection, { top: 0, bottom: 2, columns: [1], empty: false });
  model.moveTo({ row: -1, column: 1 });
  assert.equal(model.selection.empty, true);
  model.moveTo({ row: 99, column: 99 });
  assert.deepEqual(model.active, { row: 2, column: 2 });
});

test('a result without rows has an empty selection and does not throw', () => {
  const model = modelOf([]);
  assert.equal(model.selection.empty, true);
  assert.deepEqual(model.tableOf(model.everything).rows, []);
  model.moveTo({ row: 5, column: 0 });
  assert.equal(model.active.row, -1);
});

test('columns are found by their place', () => {
  const model = small();
  for (const column of [0, 1, 2]) {
    assert.equal(model.columnAt(model.left(column)), column);
    assert.equal(model.columnAt(model.left(column) + model.widths[column] - 1), column);
  }
  assert.equal(model.columnAt(-50), 0);
  assert.equal(model.columnAt(1e9), 2);
  model.resize(0, 1);
  assert.equal(model.widths[0], 36);
});

test('beyond the tallest element the scroll position is scaled, both ends are reached', () => {
  const rows = new Array(2_000_000).fill([1]);
  const model = modelOf(rows, ['a'], ['INT']);
  const view = 500;
  assert.equal(model.scaled, true);
  assert.equal(model.offsetAt(0, view), 0);
  const end = 2_000_000 * 24 - view;
  assert.ok(Math.abs(model.offsetAt(model.height - view, view) - end) < 1);
  for (const offset of [0, 24_000, 1e7, end]) assert.ok(Math.abs(model.offsetAt(model.scrollFor(offset, view), view) - offset) < 0.01);
});

test('what the viewer has more to tell about', () => {
  const model = small();
  assert.equal(model.hasMore({ row: 0, column: 1 }), false);
  assert.equal(model.hasMore({ row: 2, column: 1 }), true);
  assert.equal(model.hasMore({ row: 0, column: 2 }), true);
  assert.equal(model.hasMore({ row: 1, column: 2 }), false);
});

test('JSON is laid out without losing a digit or a repeated key', () => {
  const text = layOutJson('{"a":12345678901234567890.10,"a":["x\\"{",{}, []],"e":{}}').map((token) => token.text).join('');
  assert.equal(text, '{\n  "a": 12345678901234567890.10,\n  "a": [\n    "x\\"{",\n    {},\n    []\n  ],\n  "e": {}\n}');
  assert.equal(layOutJson('{"a":}'), null);
  assert.equal(layOutJson('['.repeat(50_000) + ']'.repeat(50_000)), null);
});

test('numbers and keys that come later are shown whole, what a person sized and what has room stay', () => {
  const model = modelOf([[1, 'x', 1], [2, 'y', 2]], ['a', 'b', 'c'], ['INT', 'VARCHAR', 'INT']);
  const before = [...model.widths];
  model.sized.add(2);
  Object.defineProperty(model.result, 'latest', { configurable: true, value: [[1234567890123, 'long '.repeat(9), 1234567890123]] });
  model.grew();
  assert.ok(model.widths[0] >= 13 * 7, String(model.widths[0]));
  assert.deepEqual([model.widths[1], model.widths[2]], [before[1], before[2]]);
  model.result.isKey = (column) => column === 1;
  Object.defineProperty(model.result, 'latest', { configurable: true, value: [...model.result.latest] });
  model.grew();
  assert.ok(model.widths[1] >= 40 * 7, 'a key of text');
  Object.defineProperty(model.result, 'latest', { value: [[1, 'x', 1]] });
  const wide = [...model.widths];
  model.grew();
  assert.deepEqual(model.widths, wide, 'none becomes narrower');
});

test('two results stand side by side until one of them goes', () => {
  const panes = new Panes();
  panes.show('b', 'a');
  assert.deepEqual(panes.ids, []);
  panes.lay('new', 'pinned');
  assert.deepEqual(panes.ids, ['new', 'pinned']);
  // The next run: its result takes the place of the one before.
  panes.show('home', 'new');
  panes.gone('new', 'home');
  assert.deepEqual(panes.ids, ['home', 'pinned']);
  panes.gone('home', 'home');
  assert.ok(!panes.isSplit);
  panes.show('pinned', null);
  panes.show('next', 'pinned');
  assert.deepEqual(panes.ids, ['next', 'pinned']);
  // Another tab is shown in the place of the active one, and the one that is not active goes.
  panes.show('messages', 'pinned');
  assert.deepEqual(panes.ids, ['next', 'messages']);
  panes.gone('next', 'messages');
  panes.show('x', 'messages');
  assert.deepEqual(panes.ids, []);
  panes.lay('a', 'a');
  assert.ok(!panes.isSplit);
  panes.lay('a', 'b');
  panes.end();
  assert.deepEqual(panes.ids, []);
});

test('hidden, moved and frozen columns have slots, and what is selected goes by these', () => {
  const model = modelOf([[1, 'x', '0x00', 2], [3, 'y', null, 4]], ['a', 'b', 'c', 'd'], ['INT', 'VARCHAR', 'BLOB', 'INT']);
  model.moveTo({ row: 0, column: 1 });
  model.arrange({ order: [3, 0, 1, 2], hidden: [1], frozen: [2] });
  assert.deepEqual(model.slots, [2, 3, 0]);
  assert.deepEqual([model.slotOf(0), model.slotOf(1), model.frozen], [2, -1, 1]);
  assert.equal(model.active.column, 2, 'the next that is shown');
  assert.deepEqual([model.next(2, 1), model.next(0, 1), model.next(2, -9)], [3, 0, 2]);
  assert.equal(model.left(3), model.left(2) + model.widths[2]);
  assert.equal(model.columnAt(model.left(0) + 1), 0);
  model.moveTo({ row: 0, column: 3 });
  model.moveTo({ row: 1, column: 0 }, { extend: true });
  assert.deepEqual(model.selection.columns, [3, 0]);
  assert.deepEqual([...model.tableOf(model.selection).rows], [[2, 1], [4, 3]]);
  assert.equal(model.isSelected(1, 2), false);
  assert.equal(model.isSelected(1, 0), true);
  assert.deepEqual(model.tableOf(model.everything).columns, ['c', 'd', 'a']);
});

test('frozen columns stay in sight as far as they leave half of the window', () => {
  const model = modelOf([[1, 'x', 2]]);
  model.arrange({ order: [0, 1, 2], hidden: [], frozen: [0, 1] });
  for (const column of [0, 1]) model.resize(column, 200);
  for (const [width, stuck] of [[1200, 2], [700, 1], [400, 0], [0, 0]]) {
    model.stick(width);
    assert.equal(model.stuck, stuck, `${width}`);
  }
  for (const column of [0, 1]) model.resize(column, 40);
  model.stick(400);
  assert.equal(model.stuck, 1, 'one at most in a narrow window');
});

test('columns are hidden, moved, frozen; one stays visible', () => {
  const { freeze, freezeUpTo, hide, isPlain, place, plainLayout, sequence, shift, show } = columns;
  const plain = plainLayout(4);
  assert.ok(isPlain(plain));
  assert.deepEqual(hide(plain, [1, 2]).hidden, [1, 2]);
  assert.deepEqual(hide(hide(plain, [0]), [1, 2, 3]).hidden, [0, 2, 3]);
  assert.deepEqual(show(hide(plain, [1, 2]), [1]).hidden, [2]);
  assert.deepEqual(shift(hide(plain, [1]), 0, 1).order, [1, 2, 0, 3], 'past the hidden one');
  assert.deepEqual(shift(hide(plain, [1]), 0, 1, true).order, [1, 0, 2, 3]);
  assert.deepEqual(shift(plain, 3, -9).order, [3, 0, 1, 2]);
  assert.equal(shift(plain, 0, -1), plain);
  const frozen = freezeUpTo(hide(plain, [0]), 2);
  assert.deepEqual(frozen.frozen, [1, 2]);
  assert.deepEqual(sequence(freeze(plain, [3], true)), [3, 0, 1, 2]);
  assert.ok(isPlain(freeze(freeze(plain, [3], true), [3], false)), 'back where it was');
  const joined = place(freezeUpTo(plain, 1), 3, 0, true);
  assert.deepEqual([sequence(joined), joined.frozen], [[0, 3, 1, 2], [0, 1, 3]]);
  assert.deepEqual(place(freezeUpTo(plain, 1), 0, 2, false).frozen, [1]);
});

test('the columns of a table are kept by name, those of 300 tables', () => {
  const held = new Map();
  const store = { read: (name) => held.get(name) ?? null, write: (name, value) => { held.set(name, JSON.parse(JSON.stringify(value))); return true; } };
  const kept = new columns.KeptLayouts(store);
  const names = ['id', 'name', 'city'];
  const layout = { order: [2, 0, 1], hidden: [0], frozen: [1] };
  kept.write('shop', 'person', names, layout);
  assert.deepEqual(kept.read('shop', 'person', names), layout);
  assert.ok(columns.isPlain(kept.read('other', 'person', names)));
  // Another column came behind the first, and one went.
  assert.deepEqual(kept.read('shop', 'person', ['id', 'age', 'name']), { order: [0, 1, 2], hidden: [0], frozen: [2] });
  assert.deepEqual(kept.read('shop', 'person', ['id']).hidden, [], 'one is visible');
  for (let i = 0; i < 299; i += 1) kept.write('shop', `t${i}`, names, layout);
  assert.deepEqual(kept.read('shop', 'person', names), layout);
  kept.write('shop', 'last', names, layout);
  assert.ok(columns.isPlain(kept.read('shop', 'person', names)), 'the oldest is forgotten');
  kept.write('shop', 'last', names, columns.plainLayout(3));
  assert.equal(held.get('columns').length, 299);
  for (const broken of ['x', [['y']], [[1, { order: [1], hidden: [], frozen: [] }]], [null]]) {
    held.set('columns', broken);
    assert.ok(columns.isPlain(kept.read('shop', 'person', names)));
  }
});

test('figures about a column: numbers as numbers, digit for digit', async () => {
  const of = async (values, type) => Object.fromEntries(await factsOf(values, type));
  const numbers = await of(['9.50', '100.00', null, '100.00', '12345678901234567890.25', '12345678901234567890.5'], 'DECIMAL(30,2)');
  assert.equal(numbers.Rows, '6');
  assert.equal(numbers.NULL, '1 (16.7 %)');
  assert.equal(numbers['Different values'], '4');
  assert.equal(numbers.Smallest, '9.50');
  assert.equal(numbers.Largest, '12345678901234567890.5');
  const texts = await of(['b', '', 'a10', 'a9'], 'VARCHAR(9)');
  assert.deepEqual([texts['Empty text'], texts.Smallest, texts.Largest, texts.Length, texts.Mean], ['1', '', 'b', '0 to 3 characters', undefined]);
  assert.deepEqual(Object.keys(await of([], 'INT')), ['Rows', 'NULL', 'Different values']);
});
