import { ResultSet } from '../../html/sql/core/resultset.js';
import { layOutJson } from '../../html/sql/core/json.js';
import { Panes } from '../../html/sql/results/panes.js';
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
