import { CHANGED, LEFT_ONLY, RIGHT_ONLY, SAME, align, findKey, isSame, pairsOf } from '../../html/sql/core/diff.js';
import { Sum, canonical } from '../../html/sql/core/numerals.js';
import { ResultSet } from '../../html/sql/core/resultset.js';
import { Figures, figuresOf, grouped } from '../../html/sql/core/sum.js';
import { sumsSql } from '../../html/sql/data/browse.js';
import { GridModel } from '../../html/sql/results/gridmodel.js';
import { assert, test } from './shim.mjs';

test('a number has one text, however it is written', () => {
  const same = { '1.50': '1.5', '15e-1': '1.5', 1.5: '1.5', '007': '7', '-0.0': '0', '.5': '0.5', '1e3': '1000', 1e21: '1000000000000000000000', '-0.050': '-0.05', '0.05e1': '0.5', 0: '0', '18446744073709551615': '18446744073709551615' };
  for (const [text, expected] of Object.entries(same)) assert.equal(canonical(text), expected, text);
  for (const text of ['', 'abc', '0x10', '1 000', '2024-01-01', '-', '.', '1e999', 'e5']) assert.equal(canonical(text), text);
});

const sumOf = (values, isFloat = false) => {
  const sum = new Sum();
  for (const value of values) sum.add(value, isFloat);
  return sum;
};

test('decimals are added without loss of a digit', () => {
  assert.equal(sumOf(['0.1', '0.2']).text, '0.3');
  assert.equal(sumOf(['12345678901234567890.05', '-0.10', 7]).text, '12345678901234567896.95');
  assert.equal(sumOf([9007199254740991, 9007199254740991, 3]).text, '18014398509481985');
  assert.equal(sumOf(['1.50', '1.500', '-3']).text, '0.000');
  assert.equal(sumOf(['-0.05', '0.02']).text, '-0.03');
  assert.deepEqual(sumOf([1, 2]).mean, { text: '1.5', isApproximate: false });
  assert.deepEqual(sumOf([1, 0, 0]).mean, { text: '0.3333', isApproximate: true });
  assert.deepEqual(sumOf([-1, -1, 0]).mean, { text: '-0.6667', isApproximate: true });
});

test('sums of doubles are said to be rounded', () => {
  const sum = sumOf([0.1, 0.2, 1e16, -1e16], true);
  assert.equal(sum.isApproximate, true);
  assert.equal(sum.text, '0.3');
  assert.equal(sumOf([1e308, 1e308], true).text, 'Infinity');
});

const told = (figures) => Object.fromEntries(figures.map(({ name, text }) => [name, text]));

test('figures leave out NULL and add only numbers', async () => {
  const rows = [[1, 'x', null], ['2.50', 'x', '2024-01-01'], undefined, [null, 'y', '2023-01-01']];
  const types = ['DECIMAL', 'VARCHAR', 'DATE'];
  assert.deepEqual(told(await figuresOf(rows, [0], types)), { count: '2', nulls: '1', distinct: '2', sum: '3.50', mean: '1.75', min: '1', max: '2.50' });
  assert.deepEqual(told(await figuresOf(rows, [0, 1], types)), { count: '5', nulls: '1', distinct: '4', numbers: '2', sum: '3.50', mean: '1.75', min: '1', max: '2.50' });
  assert.deepEqual(told(await figuresOf(rows, [2], types)), { count: '2', nulls: '1', distinct: '2', min: '2023-01-01', max: '2024-01-01' });
  assert.deepEqual(told(await figuresOf(rows, [1, 2], types)), { count: '5', nulls: '1', distinct: '4' });
  assert.deepEqual(told(await figuresOf([[0.5], [1.25]], [0], ['DOUBLE'])), { count: '2', distinct: '2', sum: '≈ 1.75', mean: '≈ 0.875', min: '0.5', max: '1.25' });
  assert.equal(told(await figuresOf([['1.0'], ['1.00']], [0], ['DECIMAL'])).distinct, '1');
  assert.equal(grouped('-1234567.8912'), '-1,234,567.8912');
  assert.equal(grouped('123'), '123');
});

test('figures of the server are put together', () => {
  const figures = new Figures(['INT', 'DECIMAL']);
  figures.addColumn({ cells: 4, count: 3, sum: '6', least: 1, most: 3 }, 0);
  figures.addColumn({ cells: 4, count: 2, sum: '0.50', least: '-1.00', most: '1.50' }, 1);
  assert.deepEqual(told(figures.list), { count: '5', nulls: '3', sum: '6.50', mean: '1.3', min: '-1.00', max: '3' });
  const source = { db: 'd', table: 't', columns: [{ name: 'a', type: 'int', nullable: true }], order: { terms: [], byCursor: false, hasKey: false, why: '' }, where: 'a > 1' };
  assert.equal(sumsSql(source, source.columns, null),
    'SELECT COUNT(*) AS f, COUNT(`a`) AS f0, SUM(`a`) AS f1, MIN(`a`) AS f2, MAX(`a`) AS f3, COUNT(DISTINCT `a`) AS f4\nFROM `d`.`t`\nWHERE a > 1');
  assert.ok(sumsSql(source, source.columns, { limit: 5, offset: 2 }).endsWith('\nFROM (SELECT `a`\nFROM `d`.`t`\nWHERE a > 1 LIMIT 5 OFFSET 2) AS chosen'));
});

const sideOf = (columns, rows, types = columns.map(() => 'INT'), order = null) => ({ columns, types, rows, order });

test('columns are paired by name, then by place', () => {
  const pair = (left, right) => pairsOf(sideOf(left, []), sideOf(right, [])).map((one) => [one.left, one.right]);
  assert.deepEqual(pair(['id', 'Name', 'x'], ['name', 'id', 'y']), [[0, 1], [1, 0]]);
  assert.deepEqual(pair(['a', 'A'], ['A', 'a']), [[0, 1], [1, 0]]);
  assert.deepEqual(pair(['a', 'b'], ['c', 'd']), [[0, 0], [1, 1]]);
  assert.deepEqual(pair(['a', 'b'], ['c']), []);
});

test('values are compared, not how they are written', () => {
  assert.ok(isSame('1.50', 1.5, 'number'));
  assert.ok(!isSame('1.50', '1.5', 'text'));
  assert.ok(isSame('10:00:00', '10:00:00.000', 'time'));
  assert.ok(isSame('10:00:00.5', '10:00:00.500', 'time'));
  assert.ok(!isSame(null, '', 'text'));
  assert.ok(!isSame('', null, 'number'));
  assert.ok(isSame(null, undefined, 'text'));
  assert.ok(!isSame('NULL', null, 'text'));
  assert.ok(isSame('9007199254740993', '9007199254740993.0', 'number'));
});

const linesOf = ({ lefts, rights, states }) => [...states].map((state, i) => [lefts[i], rights[i], state]);

test('rows are matched by key, in the order of the left side', async () => {
  const left = sideOf(['id', 'v'], [[1, 'a'], [2, 'b'], [4, 'd']], ['INT', 'TEXT']);
  const right = sideOf(['id', 'v'], [[0, 'z'], ['1.0', 'a'], [3, 'c'], [2, 'B'], [5, 'e']], ['DECIMAL', 'TEXT']);
  const pairs = pairsOf(left, right);
  const found = await align(left, right, pairs, [0]);
  assert.deepEqual(linesOf(found), [[-1, 0, RIGHT_ONLY], [0, 1, SAME], [-1, 2, RIGHT_ONLY], [1, 3, CHANGED], [-1, 4, RIGHT_ONLY], [2, -1, LEFT_ONLY]]);
  assert.deepEqual([found.changed, found.leftOnly, found.rightOnly, found.repeated], [1, 1, 3, 0]);
  assert.deepEqual([...found.differing], [0, 2, 3, 4, 5]);
  const place = await align(left, right, pairs, []);
  assert.deepEqual(linesOf(place).map(([a, b]) => [a, b]), [[0, 0], [1, 1], [2, 2], [-1, 3], [-1, 4]]);
  const turned = await align({ ...left, order: Uint32Array.from([2, 1, 0]) }, right, pairs, [0]);
  assert.deepEqual(linesOf(turned).map(([a]) => a), [-1, 2, 1, -1, 0, -1]);
});

test('rows of the same key are matched in their order, and counted', async () => {
  const left = sideOf(['k', 'v'], [[1, 1], [1, 2], [null, 3]]);
  const right = sideOf(['k', 'v'], [[1, 1], [null, 3], [1, 9], [1, 4]]);
  const found = await align(left, right, pairsOf(left, right), [0]);
  assert.deepEqual(linesOf(found), [[0, 0, SAME], [1, 2, CHANGED], [-1, 3, RIGHT_ONLY], [2, 1, SAME]]);
  assert.equal(found.repeated, 3);
});

test('a key is one that tells the rows of both sides apart', async () => {
  const left = sideOf(['a', 'b', 'c'], [[1, 1, 1], [1, 2, 2]]);
  const right = sideOf(['a', 'b', 'c'], [[1, 5, 1], [2, 5, 2]]);
  const pairs = pairsOf(left, right);
  assert.deepEqual(await findKey(left, right, pairs, []), [2]);
  assert.deepEqual(await findKey(left, right, pairs, [[0, 2]]), [0, 2]);
  assert.deepEqual(await findKey(left, right, pairs, [[0], []]), [2]);
  assert.deepEqual(await findKey(left, sideOf(['a', 'b', 'c'], [[1, 1, null]]), pairs, []), [1]);
});

const modelOf = (rows) => new GridModel(Object.assign(new ResultSet(), { columns: ['a'], types: ['INT'], rows, count: rows.length }), { charWidth: 7, rowHeight: 24 });

test('matching rows keep their numbers, when sorted and when more come', async () => {
  const model = modelOf([[5], [1], [4], [2]]);
  const shown = () => Array.from({ length: model.rowCount }, (_, place) => [model.numberAt(place), model.row(place)[0]]);
  await model.filter(([a]) => a !== 1);
  assert.deepEqual(shown(), [['1', 5], ['3', 4], ['4', 2]]);
  await model.sort([{ column: 0, descending: false }]);
  assert.deepEqual(shown(), [['4', 2], ['3', 4], ['1', 5]]);
  model.result.rows.push([1], [9]);
  await model.filterMore();
  assert.deepEqual(shown().at(-1), ['6', 9]);
  assert.equal(model.rowCount, 4);
  assert.deepEqual([...model.tableOf(model.everything).rows].flat(), [2, 4, 5, 9]);
  assert.equal(model.placeOf(2), 1);
  assert.equal(model.placeOf(1), -1);
  await model.filter(null);
  assert.equal(model.rowCount, 6);
  assert.equal(model.numberAt(0), '1');
});

test('gaps are no rows', () => {
  const model = modelOf([[5], [1]]);
  model.lines = Int32Array.from([0, -1, 1]);
  assert.deepEqual([0, 1, 2].map((place) => model.numberAt(place)), ['1', '', '2']);
  assert.equal(model.row(1), undefined);
  assert.ok(model.holds(model.everything));
  assert.deepEqual([...model.tableOf(model.everything).rows], [[5], [1]]);
  assert.equal(model.shownCount, 2);
});
