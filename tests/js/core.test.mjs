import { formatBytes, formatCount, formatMs } from '../../html/common/figures.js';
import { geometryText, hexBytes, hexDump, imageType, vectorText } from '../../html/sql/core/binary.js';
import { viewCell, visible } from '../../html/sql/core/cells.js';
import { chartColumns, formatTick, sampleRows, ticks } from '../../html/sql/core/chart.js';
import { FORMATS, literal, sourceTable, writeTable } from '../../html/sql/core/format.js';
import { detailsOf, originOf } from '../../html/sql/core/origin.js';
import { compareDecimals, sortRows } from '../../html/sql/core/sort.js';
import { kindOf } from '../../html/sql/core/types.js';
import { assert, test } from './shim.mjs';

const sorted = async (type, values, descending = false) => {
  const rows = values.map((value) => [value]);
  const order = await sortRows(rows, [type], [{ column: 0, descending }]);
  return [...order].map((i) => values[i]);
};

test('kinds of columns', () => {
  const expected = {
    'BIGINT UNSIGNED': 'number', 'decimal(10,2)': 'number', YEAR: 'number', VARCHAR: 'text', TEXT: 'text', LONGBLOB: 'binary',
    VARBINARY: 'binary', BIT: 'bit', JSON: 'json', GEOMETRY: 'geometry', POINT: 'geometry', DATETIME: 'date', TIMESTAMP: 'date',
    TIME: 'time', ENUM: 'text', '': 'text', 'INT UNSIGNED ZEROFILL': 'number', VECTOR: 'vector', INTERVAL: 'text',
  };
  for (const [type, kind] of Object.entries(expected)) assert.equal(kindOf(type), kind, type);
  assert.equal(kindOf(undefined), 'text');
});

test('numbers sort as numbers, digit strings beyond a double exactly', async () => {
  assert.deepEqual(await sorted('BIGINT', [10, 9, '18446744073709551615', '18446744073709551614', -3, null]),
    [null, -3, 9, 10, '18446744073709551614', '18446744073709551615']);
  assert.deepEqual(await sorted('DECIMAL', ['0.1', '-0.000000000000000000000000000001', '-5', '0', '1e3', '00.10']),
    ['-5', '-0.000000000000000000000000000001', '0', '0.1', '00.10', '1e3']);
  assert.deepEqual(await sorted('BIGINT', ['9007199254740993', 9007199254740991, '9007199254740992'], true),
    ['9007199254740993', '9007199254740992', 9007199254740991]);
});

test('decimals of any length compare exactly', () => {
  const long = '1'.repeat(65);
  assert.ok(compareDecimals(`${long}.1`, `${long}.2`) < 0);
  assert.ok(compareDecimals(`-${long}.1`, `-${long}.2`) > 0);
  assert.equal(compareDecimals('1.50', '1.5'), 0);
  assert.equal(compareDecimals('-0', '0.000'), 0);
  assert.ok(compareDecimals('0.5', '.49') > 0);
  assert.ok(compareDecimals('12', '9.999') > 0);
});

test('NULL is lowest in both directions, equal rows keep their order', async () => {
  assert.deepEqual(await sorted('VARCHAR', ['b', null, 'a', '']), [null, '', 'a', 'b']);
  assert.deepEqual(await sorted('VARCHAR', ['b', null, 'a', ''], true), ['b', 'a', '', null]);
  const rows = Array.from({ length: 5000 }, (_, i) => [i % 3, i]);
  const order = await sortRows(rows, ['INT', 'INT'], [{ column: 0, descending: true }]);
  for (let i = 1; i < order.length; i += 1) {
    const [a, b] = [rows[order[i - 1]], rows[order[i]]];
    assert.ok(a[0] > b[0] || (a[0] === b[0] && a[1] < b[1]), `at ${i}`);
  }
});

test('a second column decides where the first is equal', async () => {
  const rows = [['a', 2], ['b', 1], ['a', 10], ['b', null]];
  const order = await sortRows(rows, ['VARCHAR', 'INT'], [{ column: 0, descending: false }, { column: 1, descending: true }]);
  assert.deepEqual([...order].map((i) => rows[i]), [['a', 10], ['a', 2], ['b', 1], ['b', null]]);
});

test('text sorts naturally, times by length of time', async () => {
  assert.deepEqual(await sorted('VARCHAR', ['item 10', 'item 9', 'Zoë', 'zoe', 'äb', 'b']), ['äb', 'b', 'item 9', 'item 10', 'zoe', 'Zoë']);
  assert.deepEqual(await sorted('TIME', ['100:00:00', '99:00:00', '-01:00:00', '-838:59:59', '00:00:00.5']),
    ['-838:59:59', '-01:00:00', '00:00:00.5', '99:00:00', '100:00:00']);
});

test('sorting random rows agrees with the engine', async () => {
  let seed = 1;
  const random = () => (seed = (seed * 48271) % 2147483647) % 1000;
  for (const length of [0, 1, 2, 511, 512, 513, 1025, 20_000]) {
    const values = Array.from({ length }, random);
    assert.deepEqual(await sorted('INT', values), [...values].sort((a, b) => a - b));
  }
});

test('a called-off sort stops', async () => {
  const stop = new AbortController();
  stop.abort(new Error('off'));
  const rows = Array.from({ length: 100_000 }, (_, i) => [`${i * 7919}`]);
  const outcome = await sortRows(rows, ['VARCHAR'], [{ column: 0, descending: false }], stop).catch((cause) => cause.message);
  assert.equal(outcome, 'off');
});

const written = async (format, table) => (await writeTable(format, { types: [], columns: [], rows: [], ...table })).join('');

test('TSV', async () => {
  const table = { columns: ['a', 'b'], types: ['INT', 'TEXT'], rows: [[1, null], [2, 'x\ty "q"\n'], [3, '']] };
  assert.equal(await written('tsv', table), '1\tNULL\n2\t"x\ty ""q""\n"\n3\t');
  assert.equal(await written('tsv', { ...table, header: true, rows: [] }), 'a\tb');
  assert.equal(await written('tsv', { ...table, rows: [['a "b"', '"c']] }), 'a "b"\t"""c"');
  assert.equal(await written('tsv', { ...table, rows: [[null, 'NULL']] }), 'NULL\t"NULL"', 'a text that says NULL is none');
});

test('CSV is RFC 4180; NULL and the empty text differ; formulas are left alone unless asked', async () => {
  const table = { columns: ['a', 'b,c'], types: ['INT', 'TEXT'], rows: [[-1, null], [2, ''], [3, 'x"y\r\n'], [4, '=1+1']] };
  assert.equal(await written('csv', table), 'a,"b,c"\r\n-1,\r\n2,""\r\n3,"x""y\r\n"\r\n4,=1+1\r\n');
  assert.equal(await written('csv', { ...table, rows: [[-1, '=1+1'], ['-5', '@x']], header: false, safeFormulas: true }),
    "-1,'=1+1\r\n-5,'@x\r\n");
  assert.equal(await written('csv', { ...table, rows: [[1, null], [2, '']], header: false, nullText: '\\N' }), '1,\\N\r\n2,""\r\n');
  assert.equal(await written('csv', { ...table, rows: [[1, null], [2, 'NULL']], header: false, nullText: 'NULL' }), '1,NULL\r\n2,"NULL"\r\n');
});

test('CSV with other signs quotes these, and only numbers get a decimal comma', async () => {
  const table = { columns: ['a;b', 'd', 'f', 'v'], types: ['VARCHAR', 'DECIMAL', 'DOUBLE', 'VARCHAR'], rows: [['x;y', '-1234.50', 1.5e-7, '10.11.6'], ['1,5', null, 2, 'a\tb'], [null, '1.5', NaN, '']] };
  assert.equal(await written('csv', { ...table, delimiter: ';', decimal: ',' }), '"a;b";d;f;v\r\n"x;y";-1234,50;1,5e-7;10.11.6\r\n1,5;;2;a\tb\r\n;1,5;NaN;""\r\n');
  assert.equal(await written('csv', { ...table, delimiter: 'tab', header: false }), 'x;y\t-1234.50\t1.5e-7\t10.11.6\r\n1,5\t\t2\t"a\tb"\r\n\t1.5\tNaN\t""\r\n');
  assert.equal(await written('csv', { ...table, delimiter: ';', decimal: ',', header: false, nullText: '1,5', rows: [['1,5', '1.5', null, 'x']] }), '"1,5";"1,5";1,5;x\r\n', 'NULL differs');
});

test('JSON keeps digits and is valid', async () => {
  const table = { columns: ['a"', 'b'], types: ['BIGINT', 'TEXT'], rows: [['18446744073709551615', null], [1, 'x']] };
  assert.deepEqual(JSON.parse(await written('json', table)), [{ 'a"': '18446744073709551615', b: null }, { 'a"': 1, b: 'x' }]);
  assert.deepEqual(JSON.parse(await written('json', { ...table, rows: [] })), []);
  const nested = { columns: ['j', 't', 'x'], types: ['JSON', 'LONGTEXT', 'TEXT'], rows: [['{"n": 12345678901234567890}', '[1,\n2]', '[3]'], [null, '{no', null]], nested: ['t'] };
  assert.equal(await written('json', nested), '[\n  {"j": {"n": 12345678901234567890}, "t": [1,2], "x": "[3]"},\n  {"j": null, "t": "{no", "x": null}\n]\n');
});

test('INSERT quotes names and values', async () => {
  const table = { columns: ['id', 'a`b'], types: ['BIGINT', 'TEXT'], rows: [['18446744073709551615', "O'Re\\il\n"], [null, '']], name: '`t`' };
  assert.equal(await written('insert', table),
    "INSERT INTO `t` (`id`, `a``b`) VALUES\n  (18446744073709551615, _utf8mb4 X'4f2752655c696c0a'),\n  (NULL, '');\n", 'under every mode');
  const script = await written('insert', { ...table, script: true, leaveOut: ['id'] });
  assert.ok(script.includes("sql_mode = 'NO_AUTO_VALUE_ON_ZERO"));
  assert.ok(script.includes("INSERT INTO `t` (`a``b`) VALUES\n  ('O''Re\\\\il\\n'),\n  ('');\nSET sql_mode = @postern_sql_mode;\n"), script);
  assert.equal(literal('0xFF', 'binary'), '0xFF');
  assert.equal(literal('0x', 'binary'), "''");
  assert.equal(literal('0x0000803F', kindOf('VECTOR')), '0x0000803F');
  assert.equal(literal('00042', kindOf('INT UNSIGNED ZEROFILL')), '00042');
  assert.equal(literal('0xFF', 'text'), "'0xFF'");
  assert.equal(literal('1; DROP TABLE t', 'number'), "'1; DROP TABLE t'");
  const many = await written('insert', { columns: ['a'], types: ['INT'], rows: Array.from({ length: 101 }, (_, i) => [i]) });
  assert.equal(many.match(/INSERT INTO/g).length, 2);
  assert.ok(many.endsWith('(100);\n'));
});

test('Markdown keeps its shape', async () => {
  const text = await written('markdown', { columns: ['a|b', 'n'], types: ['TEXT', 'INT'], rows: [['x|y\nz', null]] });
  assert.equal(text, '| a\\|b | n |\n| --- | ---: |\n| x\\|y<br>z | *NULL* |\n');
});

test('every format of 20,000 rows ends with its last row', async () => {
  const rows = Array.from({ length: 20_000 }, (_, i) => [i, i]);
  for (const format of Object.keys(FORMATS)) {
    assert.ok(/19999\D*$/.test(await written(format, { columns: ['a', 'k'], types: ['INT', 'INT'], key: ['k'], rows })), format);
  }
});

test('the table of a simple SELECT', () => {
  assert.equal(sourceTable('SELECT * FROM `my t` LIMIT 1'), '`my t`');
  assert.equal(sourceTable('select a from db.t where b'), 'db.t');
  assert.equal(sourceTable('select * from a, b'), null);
  assert.equal(sourceTable('select * from a join b'), null);
  assert.equal(sourceTable('select 1'), null);
  assert.equal(sourceTable('select * from (select 1) x'), null);
});

test('a cell hides nothing', () => {
  const text = (value, kind) => viewCell(value, kind).parts.map((part) => part.text).join('');
  assert.equal(viewCell(null, 'text').look, 'null');
  assert.equal(viewCell('', 'text').look, 'empty');
  assert.equal(viewCell('NULL', 'text').look, 'text');
  assert.equal(text(' a  b c ', 'text'), '·a··b c·');
  assert.equal(text('a\tb\r\n\u0000\u200b\u202e\u00a0', 'text'), 'a⇥b␍⏎␀‹200B›‹202E›⍽');
  assert.equal(viewCell('x'.repeat(1234), 'text').note, '+1,034 chars');
  assert.equal(text(`${'x'.repeat(199)}😀`, 'text').length, 199);
  assert.equal(text('0x0102', 'binary'), '0x0102');
  assert.equal(viewCell('0x0102', 'binary').note, '2 B');
  assert.equal(viewCell('0x', 'binary').note, '0 B');
  assert.equal(viewCell('0x0000803F00000040', 'vector').note, '2 numbers');
  assert.equal(text(0, 'number'), '0');
  assert.deepEqual(visible('plain'), [{ text: 'plain', mark: false }]);
});

test('figures: bytes in steps of 1024, counts of 1000, times', () => {
  const bytes = [[0, '0 B'], [1023, '1023 B'], [1024, '1 KiB'], [1536, '1.5 KiB'], [340 * 2 ** 20, '340 MiB'], [2 ** 20 - 1, '1 MiB'], [2 ** 50, '1024 TiB']];
  for (const [size, text] of bytes) assert.equal(formatBytes(size), text);
  for (const [count, text] of [[999, '999'], [1234567, '1.2 M'], [999_999, '1 M']]) assert.equal(formatCount(count), text);
  for (const [ms, text] of [[0.42, '0.4 ms'], [12.4, '12 ms'], [3210, '3.2 s'], [119_700, '2 min 0 s'], [125_000, '2 min 5 s']]) assert.equal(formatMs(ms), text);
});

test('bytes: dumps, images, geometry, vectors', () => {
  assert.equal(vectorText(hexBytes('0x0000803F0000204059D900B3CDCC8C3F')), '[1,2.5,-3e-8,1.1]');
  assert.equal(vectorText(hexBytes('0x0000803F00')), null);
  assert.equal(hexDump(hexBytes('0x00ff41')), '00000000  00 ff 41                                          ..A');
  assert.equal(imageType(hexBytes('0x89504E470D0A1A0A00')), 'image/png');
  assert.equal(imageType(hexBytes('0x524946460000000057454250')), 'image/webp');
  assert.equal(imageType(hexBytes('0x3c737667')), null);
  const point = '0x000000000101000000000000000000F03F0000000000000040';
  assert.deepEqual(geometryText(hexBytes(point)), { wkt: 'POINT(1 2)', srid: 0 });
  const line = '0xE6100000010200000002000000000000000000F03F000000000000004000000000000008400000000000001040';
  assert.deepEqual(geometryText(hexBytes(line)), { wkt: 'LINESTRING(1 2,3 4)', srid: 4326 });
  for (let cut = 2; cut < point.length; cut += 2) assert.equal(geometryText(hexBytes(point.slice(0, cut))), null);
  assert.equal(geometryText(hexBytes('0x000000000102000000FFFFFFFF')), null);
});

test('charts choose telling columns and round ticks', () => {
  const chosen = chartColumns({ columns: ['id', 'day', 'total', 'customer_id'], types: ['INT', 'DATE', 'DECIMAL', 'INT'] });
  assert.equal(chosen.label, 1);
  assert.deepEqual(chosen.values, [2]);
  assert.equal(chosen.type, 'line');
  assert.equal(chartColumns({ columns: ['name', 'n'], types: ['VARCHAR', 'INT'] }).type, 'bar');
  assert.deepEqual(chartColumns({ columns: ['n'], types: ['INT'] }).values, [0]);
  assert.deepEqual(ticks(0, 100), [0, 20, 40, 60, 80, 100]);
  assert.deepEqual(ticks(0.1, 0.3, 4), [0.1, 0.15, 0.2, 0.25, 0.3]);
  for (const [least, most] of [[5, 5], [0, 0], [-3, 7], [1e-9, 2e-9], [1e12, 1e12 + 1], [-1e300, 1e300]]) {
    const marks = ticks(least, most);
    assert.ok(marks[0] <= least && marks.at(-1) >= most && marks.length < 20, `${least}…${most}: ${marks}`);
  }
  assert.equal(formatTick(1_500_000), '1.5 M');
  assert.equal(formatTick(-20_000), '-20 k');
  assert.equal(formatTick(0.25), '0.25');
});

test('a sample keeps the extremes', () => {
  const values = Array.from({ length: 10_000 }, (_, i) => (i === 4321 ? 99 : i === 777 ? -5 : i % 7));
  const kept = sampleRows([values], values.length);
  assert.ok(kept.length <= 1002, `${kept.length}`);
  assert.ok(kept.includes(4321) && kept.includes(777) && kept.includes(0) && kept.includes(9999));
  assert.deepEqual(sampleRows([[1, null]], 2), [0, 1]);
});

test('the table that rows come from, and which of its columns are generated or JSON', async () => {
  assert.deepEqual(originOf({ sql: 'SELECT * FROM `my db`.`a``b` WHERE x', db: 'shop' }), { db: 'my db', table: 'a`b' });
  assert.deepEqual(originOf({ sql: 'SELECT * FROM orders LIMIT 3', db: 'shop' }), { db: 'shop', table: 'orders' });
  assert.equal(originOf({ sql: 'SELECT * FROM a JOIN b', db: 'shop' }), null);
  const schema = async () => ({ columns: [{ name: 'a' }, { name: 'b', generated: 'a + 1', extra: 'VIRTUAL GENERATED' }, { name: 'c', extra: 'DEFAULT_GENERATED' }], create_statement: 'CREATE TABLE `orders` (`d` longtext CHECK (json_valid(`d`)))' });
  const result = { sql: 'SELECT * FROM orders', db: 'shop' };
  assert.deepEqual(await detailsOf(result, schema), { leaveOut: ['b'], nested: ['d'], key: [] });
  assert.deepEqual(await detailsOf(result, () => Promise.reject(new Error('no'))), { leaveOut: [], nested: [], key: [] });
});

test('rows become updates by their key, lines of JSON and a list for IN', async () => {
  const table = { columns: ['id', 'name', 'doc'], types: ['INT', 'VARCHAR', 'JSON'], rows: [[1, "O'Neil", '{"a": 1}'], [2, null, null], [2, null, null]] };
  const text = async (format, more) => (await writeTable(format, { ...table, ...more })).join('');
  assert.equal(await text('update', { key: ['id'], name: '`t`', rows: table.rows.slice(0, 2) }),
    "UPDATE `t` SET `name` = 'O''Neil', `doc` = '{\"a\": 1}' WHERE `id` = 1;\nUPDATE `t` SET `name` = NULL, `doc` = NULL WHERE `id` = 2;\n");
  const refused = (more) => text('update', more).then(() => 'written', (cause) => cause.message);
  assert.ok((await refused({})).includes('primary key'));
  assert.ok((await refused({ key: ['other'] })).includes('select other too'));
  assert.equal(await text('jsonl', { rows: table.rows.slice(0, 2) }), '{"id": 1, "name": "O\'Neil", "doc": {"a": 1}}\n{"id": 2, "name": null, "doc": null}\n');
  assert.equal(await text('list', { columns: ['id'], types: ['INT'], rows: [[1], [2], [2], [null]] }), '(1, 2)');
  assert.equal(await text('list', { columns: ['id', 'name'], types: ['INT', 'VARCHAR'], rows: [[1, 'x'], [2, null]] }), "((1, 'x'))");
});

test('copies have the decimal sign that was chosen, in columns of numbers alone', async () => {
  const table = { columns: ['1.5', 'n'], types: ['VARCHAR', 'DECIMAL'], rows: [['2.5', '2.50'], ['x', null]], decimal: ',' };
  assert.equal((await writeTable('tsv', { ...table, header: true })).join(''), '1.5\tn\n2.5\t2,50\nx\tNULL');
  assert.equal((await writeTable('csv', { ...table, header: false })).join(''), '2.5,"2,50"\r\nx,\r\n');
});
