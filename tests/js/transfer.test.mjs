import { assert, test } from './shim.mjs';
import { writeTable } from '../../html/sql/core/format.js';
import { CsvParser, lineOf, recordsOf } from '../../html/sql/transfer/csv.js';
import { guessEncoding } from '../../html/sql/transfer/encodings.js';
import { columnNames, guessDialect, guessHeader, guessNull, guessType } from '../../html/sql/transfer/guess.js';
import { createSql, dateOf, insertFrame, Misfit, tupleWriter, withPoint } from '../../html/sql/transfer/tuples.js';

const COMMA = { delimiter: ',', quote: '"' };
const fields = (text, dialect = COMMA) => recordsOf(text, dialect).map((record) => record.fields);

test('CSV: quotes, line ends, empty fields', () => {
  assert.deepEqual(fields('a,b\r\n1,"x, ""y""\nz"\n,\r"",'), [['a', 'b'], ['1', 'x, "y"\nz'], ['', ''], ['', '']]);
  assert.deepEqual(fields('a,b\n'), [['a', 'b']]);
  assert.deepEqual(fields('a,b'), [['a', 'b']]);
  assert.deepEqual(fields('a,'), [['a', '']]);
  assert.deepEqual(fields('""'), [['']]);
  assert.deepEqual(fields(''), []);
  assert.deepEqual(fields('a\n\nb'), [['a'], [''], ['b']]);
  assert.deepEqual(fields('5" disk,"a"b"c'), [['5" disk', '"a"b"c']], 'a quote within a field is one of the text');
  assert.deepEqual(fields("'a;b';c", { delimiter: ';', quote: "'" }), [['a;b', 'c']]);
  assert.deepEqual(fields('"a\tb', { delimiter: '\t', quote: '' }), [['"a', 'b']]);
  assert.deepEqual(fields('a]b]c', { delimiter: ']', quote: '"' }), [['a', 'b', 'c']]);
});

test('CSV: a field in quotes is known, and so is the line where a record begins', () => {
  const [one, two, three] = recordsOf('"",\r\n"two\nlines",x\r\n,z', COMMA);
  assert.deepEqual([one.quoted?.[0], one.quoted?.[1], one.line], [true, undefined, 1]);
  assert.deepEqual([two.quoted?.[0], two.line], [true, 2]);
  assert.deepEqual([three.quoted, three.line], [null, 4]);
});

test('CSV in pieces of any length is the same', () => {
  const text = 'id,"na""me"\r\n1,"two\r\nlines"\r2,"",x\n"a"b",3\r\n\r\nlast';
  const whole = JSON.stringify(recordsOf(text, COMMA));
  for (let size = 1; size < text.length; size += 1) {
    const records = [];
    const parser = new CsvParser(COMMA, (record) => records.push(record));
    for (let at = 0; at < text.length; at += size) parser.push(text.slice(at, at + size));
    parser.end();
    assert.equal(JSON.stringify(records), whole, `pieces of ${size}`);
  }
});

test('CSV: a quote that is not closed is told with its line', () => {
  const parser = new CsvParser(COMMA, () => {});
  parser.push('a,b\n1,"open\nand on');
  let message = '';
  try { parser.end(); } catch (cause) { message = cause.message; }
  assert.equal(message, 'The quote opened in line 2 is not closed.');
});

test('CSV: what was read is written the same', () => {
  const text = 'a,"b,c","","x ""y"""\r\n,"two\r\nlines",d,e\r\n';
  assert.equal(recordsOf(text, COMMA).map((record) => lineOf(record, COMMA)).join(''), text);
});

test('guesses: encoding', () => {
  const bytes = (...list) => new Uint8Array(list);
  assert.equal(guessEncoding(new TextEncoder().encode('größe;1')), 'utf-8');
  assert.equal(guessEncoding(new TextEncoder().encode('größe').slice(0, -3)), 'utf-8');
  assert.equal(guessEncoding(bytes(0xef, 0xbb, 0xbf, 0x61)), 'utf-8');
  assert.equal(guessEncoding(bytes(0x67, 0x72, 0xf6, 0xdf, 0x65)), 'windows-1252');
  assert.equal(guessEncoding(bytes(0xff, 0xfe, 0x61, 0)), 'utf-16le');
  assert.equal(guessEncoding(bytes(0x61, 0, 0x2c, 0, 0x62, 0)), 'utf-16le');
  assert.equal(guessEncoding(bytes(0, 0x61, 0, 0x2c, 0, 0x62)), 'utf-16be');
  for (const [name, text] of ENCODED) {
    const encoded = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
    assert.equal(guessEncoding(encoded), name, new TextDecoder(name).decode(encoded));
  }
});

/** Small files of names and places. */
const ENCODED = [
  ['windows-1250', 'am3pbm87bexzdG8Kjmx1nW916Gv9IGv58jtQ+O1icmFtCuhlcm79O9pzdO0gbmFkIExhYmVtCg=='],
  ['windows-1250', 'aW1p6jttaWFzdG8KV/NqY2lrO6PzZJ8KjHdpuXRlaztXcm9js2F3Cr/zs3c7R2Rh8XNrCg=='],
  ['windows-1251', '6Oz/O+Pu8O7kCsji4O0gz+Xy8O7iO8zu8eri4ArO6/zj4DvR4O3q8i3P5fLl8OHz8OMK'],
  ['koi8-r', 'yc3RO8fP0s/ECunXwc4g8MXU0s/XO+3P08vXwQrvzNjHwTvzwc7L1C3wxdTF0sLV0scK'],
  ['windows-1252', 'bm9tO3ZpbGxlCkZyYW7nb2lzIE38bGxlcjtCZXNhbudvbgpab+s7T3Js6WFucyDgIGP0dOksIG/5IOp0ZXMtdm91cwo='],
  ['windows-1252', 'bm9tYnJlO2NpdWRhZApNdfFvejtN4WxhZ2EKSm9z6TtD4WRpegrBbmdlbDtMZfNuCg=='],
  ['windows-1252', 'bmF2bjtieQpT+HJlbiDGcvg7xXJodXMK'],
  ['windows-1252', 'bmFtZTtvcnQKSvZyZyBXZWnfO0v2bG4KTfxsbGVyO0T8c3NlbGRvcmYK'],
  ['windows-1252', 'bm9tZTtjaWRhZGUKSm/jbztT428gUGF1bG8KQ29uY2Vp5+NvO0dvaeJuaWEg6SBs4Qo='],
  ['shift_jis', 'lryRTyyPWo+KCo5Sk2ORvphZLJOMi56Tc5DnkeOTY4vmCpfpltiJ1I5xLINKg16DSoNpgsaC0ILngqqCyAo='],
  ['euc-jp', 'zL7BsCy9u73qCruzxcTCwM+6LMXstf7F1MDpwuXFxLboCs7rzNqy1rvSLKWrpb+lq6XKpMik0qTppKykygo='],
  ['gb18030', '0NXD+yyzx8rQCtXFyP0ssbG+qcrQs6/R9Mf4CsDuy8Qsyc+6o8rQxta2q9DCx/i1xMjLw/EK'],
  ['big5', 'qW2mVyyrsKWrCrFppFQsu0+lX6WrpGqmd7DPCqf1pXwssKq2r6WrqrqkSKXBu1C+x6XNCg=='],
  ['euc-kr', 'wMy4pyy1tb3DCrHow7a89iy8rb/vxq+6sL3DCsDMv7XI8Sy6zrvqsaS/qr3DCg=='],
];

test('guesses: delimiter and quote', () => {
  assert.deepEqual(guessDialect('a;b;c\n1,5;2;3\n1,7;2;3\n'), { delimiter: ';', quote: '"' });
  assert.deepEqual(guessDialect('a,b\n1,"x;y;z"\n2,"u;v"\n'), COMMA);
  assert.deepEqual(guessDialect('a\tb\n1\t2,3\n'), { delimiter: '\t', quote: '"' });
  assert.deepEqual(guessDialect("'a'|'b'\n'1'|'2'\n"), { delimiter: '|', quote: "'" });
  assert.deepEqual(guessDialect('only\none\n'), COMMA);
  assert.deepEqual(guessDialect('only\none\n', 'x.tsv'), { delimiter: '\t', quote: '"' });
});

test('guesses: names in the first line, and NULL', () => {
  const records = (text) => recordsOf(text, COMMA);
  assert.equal(guessHeader(records('id,name\n1,x\n')), true);
  assert.equal(guessHeader(records('1,x\n2,y\n')), false);
  assert.equal(guessHeader(records('name,city\nx,y\n')), true);
  assert.equal(guessHeader(records('Order ID,x\n1,y\n'), ['order_id', 'other']), true);
  assert.equal(guessHeader(records('ann,oslo\nbob,rome\n'), ['name', 'city']), false);
  assert.equal(guessHeader(records('a,a\n1,2\n')), true, 'a name that comes twice');
  assert.equal(guessHeader(records(',name,n\n1,x,5\n2,,\n')), true, 'a column without a name');
  assert.equal(guessHeader(records('a,a\nx,y\n')), false);
  assert.equal(guessHeader(records(',\n1,2\n')), false);
  assert.equal(guessNull(records('1,\\N\n2,"NULL"')), '\\N');
  assert.equal(guessNull(records('1,NULL\n')), 'NULL');
  assert.equal(guessNull(records('1,"NULL"\n2,\n')), '');
  assert.equal(guessNull(records('1,null\n2,x')), 'null');
  assert.equal(guessNull(records('1,null\n2,')), '');
});

test('guesses: types', () => {
  const cases = [
    [['1', '-20'], 'INT'], [['1', '9999999999'], 'BIGINT'], [['18446744073709551615', '1'], 'BIGINT UNSIGNED'],
    [['007', '1'], 'VARCHAR(20)'], [['1.50', '20'], 'DECIMAL(10,2)'], [['123456789.125'], 'DECIMAL(16,3)'], [['1e5', '2.5'], 'DOUBLE'],
    [['2024-02-29'], 'DATE'], [['2024-02-29', '2024-02-29 10:00:00.125'], 'DATETIME(3)'], [['10:00:00'], 'TIME'],
    [['0xFF00'], 'VARBINARY(255)'], [['x'], 'VARCHAR(20)'], [['x'.repeat(300)], 'VARCHAR(1000)'], [['x'.repeat(9000)], 'TEXT'], [['x'.repeat(90000)], 'LONGTEXT'],
    [[], 'VARCHAR(255)'], [['1,5'], 'VARCHAR(20)'], [['18446744073709551615', '-1'], 'DECIMAL(20,0)'],
    [[`0.${'1'.repeat(30)}`], 'DECIMAL(35,30)'], [[`0.${'1'.repeat(31)}`], 'VARCHAR(50)'], [['0.12345678901234567890', '1e-5'], 'VARCHAR(50)'],
  ];
  for (const [values, type] of cases) assert.equal(guessType(values), type, values[0]);
  assert.deepEqual(['1.234,50', '-0,5', 'a,b', '12', '1,5e-7', 'e5'].map((text) => withPoint(text, true)), ['1234.50', '-0.5', 'a,b', '12', '1.5e-7', 'e5']);
  assert.deepEqual(columnNames(['a', 'A', '', ' x  y ']), ['a', 'A_2', 'column_3', 'x y']);
  assert.deepEqual(columnNames([`${'x'.repeat(59)} y`]), ['x'.repeat(59)], 'no server takes a space at the end');
});

test('rows: NULL, numbers, dates, bytes by the column they go to', () => {
  const target = (type, nullable = true) => [{ at: 0, name: 'c', type, nullable }];
  const reading = { nullText: '', comma: false, dates: 'iso' };
  const written = (text, type, { quoted = false, nullable = true, ...how } = {}) =>
    tupleWriter(target(type, nullable), { ...reading, ...how })({ fields: [text], quoted: quoted ? [true] : null, line: 1 });
  assert.equal(written('', 'varchar(9)'), '(NULL)');
  assert.equal(written('', 'varchar(9)', { quoted: true }), "('')");
  assert.equal(written('', 'varchar(9)', { nullable: false }), "('')");
  assert.equal(written('', 'int(11)', { quoted: true }), '(NULL)');
  assert.equal(written('', 'varchar(9)', { nullText: '\\N' }), "('')");
  assert.equal(written('\\N', 'int', { nullText: '\\N' }), '(NULL)');
  assert.equal(written('\\N', 'text', { nullText: '\\N', quoted: true }), "(_utf8mb4 X'5c4e')");
  assert.equal(written('', 'text', { nullText: null }), "('')");
  assert.equal(written("it's", 'text'), "('it''s')");
  assert.equal(written('18446744073709551615', 'bigint(20) unsigned'), '(18446744073709551615)');
  assert.equal(written('1.234,50', 'decimal(10,2)', { comma: true }), '(1234.50)');
  assert.equal(written('1); DROP TABLE t', 'int'), "('1); DROP TABLE t')");
  assert.equal(written('TRUE', 'tinyint(1)'), '(1)');
  assert.equal(written('0xFF00', 'blob'), "(X'FF00')");
  assert.equal(written('0x05', 'bit(8)'), '(5)');
  assert.equal(written('POINT(1 2)', 'point'), "(ST_GeomFromText('POINT(1 2)'))");
  assert.equal(written('31.12.2024', 'date', { dates: 'dmy' }), "('2024-12-31')");
  assert.equal(dateOf('12/31/2024 10:00', 'mdy'), '2024-12-31 10:00');
  assert.equal(dateOf('2024-12-31T10:00:00', 'iso'), '2024-12-31 10:00:00');
  assert.equal(dateOf('2024-12-31', 'dmy'), '2024-12-31');
});

test('rows: what a column would not keep as it is, is bad', () => {
  const reading = { nullText: '', comma: false, dates: 'iso' };
  const tried = (text, type, { nullable = true, auto = false, ...how } = {}) => {
    try {
      return tupleWriter([{ at: 0, name: 'c', type, nullable, auto }], { ...reading, ...how })({ fields: [text], quoted: null, line: 1 });
    } catch (cause) {
      assert.ok(cause instanceof Misfit, String(cause));
      return `${cause.column}: ${cause.message}`;
    }
  };
  for (const type of ['int(11)', 'decimal(8,2)', 'datetime', "enum('a')"]) assert.equal(tried('', type, { nullable: false }), 'c: empty, but the column is NOT NULL');
  assert.equal(tried('\\N', 'varchar(9)', { nullable: false, nullText: '\\N' }), 'c: NULL, but the column is NOT NULL');
  assert.equal(tried('', 'int(11)', { nullable: false, auto: true }), '(NULL)');
  const bad = [
    ['1.7', 'tinyint(4)'], ['1e-1', 'int'], ['1.7', 'bit(8)'], ['1.7', 'year(4)'], ['24', 'year(4)'], ['1.005', 'decimal(10,2)'], ['5e-3', 'decimal(10,2) unsigned'],
    ['1.5', 'decimal(10,0)'], ['1.255', 'float(7,2)'], ['2024-12-31 10:00:00', 'date'], ['20241231100000', 'date'], ['24-12-31', 'date'], ['31.12.2024', 'date'], ['2024-12-31 10:00:00.5', 'datetime'],
    ['2024-12-31 10:00:00.1234', 'timestamp(3)'], ['2024-12-31 10:00:00Z', 'datetime'], ['10:00:00.5', 'time'], ['2024-12-31 10:00:00', 'time'], ['ab   ', 'varchar(3)'], ['2', "enum('a','b')"], ['3', "set('a','b')"],
  ];
  for (const [text, type] of bad) assert.ok(tried(text, type).startsWith('c: '), `${text} into ${type}`);
  const good = [
    ['1.0', 'tinyint(4)'], ['1e2', 'int'], ['-7', 'bigint(20)'], ['1.50', 'decimal(10,1)'], ['0.00', 'decimal(10,0)'], ['1.7', 'double'], ['1.23456789', 'float'], ['2024', 'year(4)'],
    ['2024-12-31 00:00:00', 'date'], ['2024-12-31', 'datetime'], ['0000-00-00', 'date'], ['2024-12-31T10:00:00.500', 'datetime(1)'], ['2024.12.31', 'datetime'], ['10:00', 'time'], ['-838:59:59', 'time'],
    ['ab ', 'varchar(3)'], ['\u{1f9c0}\u{1f9c0}', 'varchar(2)'], ['2', "enum('a','2')"], ['a', "enum('a','b')"], ['a,b', "set('a','b')"],
  ];
  for (const [text, type] of good) assert.ok(tried(text, type).startsWith('('), `${text} into ${type}: ${tried(text, type)}`);
});

test('CSV: text behind a closing quote is kept as it stands, and is bad', () => {
  const text = 'id,s\r\n8,"a ""x"""b\r\n9,"z"\r\n';
  const [names, stray, good] = recordsOf(text, COMMA);
  assert.deepEqual(stray.fields, ['8', '"a ""x"""b']);
  assert.equal([names, stray, good].map((record) => lineOf(record, COMMA)).join(''), text);
  const write = tupleWriter([{ at: 0, name: 'id', type: 'int', nullable: false }, { at: 1, name: 's', type: 'text', nullable: true }], { nullText: '', comma: false, dates: 'iso' });
  assert.equal(write(good), "(9, 'z')");
  let told = '';
  try { write(stray); } catch (cause) { told = `${cause.column}: ${cause.message}`; }
  assert.equal(told, 's: text after the closing quote');
});

test('CSV: what is exported is read as it was, whatever stands for NULL', async () => {
  const rows = [['1', '\\N'], ['2', null], ['3', ''], ['4', 'NULL'], ['5', 'null'], ['6', 'x']];
  for (const nullText of ['', '\\N', 'NULL', 'null']) {
    const pieces = await writeTable('csv', { columns: ['id', 's'], types: ['INT', 'TEXT'], rows, header: true, nullText });
    const records = recordsOf(pieces.join(''), COMMA).slice(1);
    const guessed = guessNull(records);
    assert.equal(guessed, nullText);
    assert.deepEqual(records.map(({ fields, quoted }) => fields.map((text, i) => (text === guessed && !quoted?.[i] ? null : text))), rows);
  }
});

test('statements: what becomes of a key that is there already', () => {
  const targets = [{ at: 0, name: 'id', type: 'int', nullable: false }, { at: 1, name: 'a`b', type: 'text', nullable: true }];
  const frame = (duplicates) => insertFrame({ db: 'd', table: 't', targets, keys: ['id'], duplicates });
  assert.deepEqual(frame('error'), { before: 'INSERT INTO `d`.`t` (`id`, `a``b`) VALUES\n', after: '' });
  assert.equal(frame('skip').after, '\nON DUPLICATE KEY UPDATE `id` = `id`');
  assert.equal(frame('replace').before.slice(0, 8), 'REPLACE ');
  assert.equal(frame('update').after, '\nON DUPLICATE KEY UPDATE `a``b` = VALUES(`a``b`)');
  assert.equal(createSql({ db: 'd', table: 't', columns: [{ name: 'id', type: 'INT', key: true }, { name: 'x', type: 'DATE' }] }),
    'CREATE TABLE `d`.`t` (\n  `id` INT NOT NULL,\n  `x` DATE,\n  PRIMARY KEY (`id`)\n)');
});

test('CSV: what servers write as text is read with its escapes, also where pieces end within them', async () => {
  const { CsvParser } = await import('../../html/sql/transfer/csv.js');
  const text = '1\ta\\\tb\\\\c\\\nd\\0\t\\N\n2\t\\\\N\t\n3\tx\\Ny\t"\n';
  const dialect = { delimiter: '\t', quote: '', escape: '\\' };
  const rows = [['1', 'a\tb\\c\nd\0', null], ['2', '\\N', ''], ['3', 'xNy', '"']];
  for (const size of [1, 2, 3, 100]) {
    const read = [];
    const parser = new CsvParser(dialect, ({ fields, quoted }) => read.push(fields.map((field, i) => (field === '\\N' && !quoted?.[i] ? null : field))));
    for (let at = 0; at < text.length; at += size) parser.push(text.slice(at, at + size));
    parser.end();
    assert.deepEqual(read, rows, `pieces of ${size}`);
  }
  const again = recordsOf(text, dialect).map((record) => lineOf(record, dialect)).join('');
  assert.deepEqual(recordsOf(again, dialect).map(({ fields }) => fields), recordsOf(text, dialect).map(({ fields }) => fields));
  const quoted = { delimiter: ',', quote: '"', escape: '\\' };
  assert.deepEqual(recordsOf('"a\\"b,\\\\","c""d",\\N\n', quoted)[0].fields, ['a"b,\\', 'c"d', '\\N']);
});

test('CSV: escapes are guessed where a server writes NULL, and not in other files', () => {
  const { escape } = guessDialect('1\ta\\\\b\t\\N\n2\tx\\\ty\t3\n');
  assert.equal(escape, '\\');
  for (const text of ['1,C:\\new\n2,\\N\n', '1,a\\\\b\r\n2,\\N\r\n', '1,a\\\\b\n2,x\n', '1,"\\N"\n2,x\n']) assert.equal(guessDialect(text).escape, undefined, text);
});

test('CSV: a carriage return of a value is no line end where the server has written escapes', () => {
  const fields = (text, quote) => recordsOf(text, { delimiter: '\t', quote, escape: '\\' }).map((record) => record.fields);
  assert.deepEqual(fields('1\ta\r\\\nb\n2\tc\rd\te\n', ''), [['1', 'a\r\nb'], ['2', 'c\rd', 'e']]);
  assert.deepEqual(fields('1\ta\r\n2\tb\r\n', ''), [['1', 'a'], ['2', 'b']]);
  assert.deepEqual(fields('"1"\t"a"\r\n"2"\t"b\r"\r\n', '"'), [['1', 'a'], ['2', 'b\r']]);
  assert.deepEqual(fields('1\ta\n2\tb\r\n', ''), [['1', 'a'], ['2', 'b\r']]);
});

test("CSV: a console's --batch is read as it was written", () => {
  const text = 'id\tname\n1\tsays "hi\n2\tNULL\n3\ta\\tb\\\\c\\nd\n';
  const dialect = guessDialect(text);
  assert.deepEqual(dialect, { delimiter: '\t', quote: '', escape: '\\' });
  assert.deepEqual(recordsOf(text, dialect).map(({ fields }) => fields[1]), ['name', 'says "hi', 'NULL', 'a\tb\\c\nd']);
  for (const other of ['a\tb\n1\tC:\\new\n2\tNULL\n', 'a\tb\n1\t\\n\n', 'a\tb\n1\t\\d\\\\\n']) assert.equal(guessDialect(other).escape, undefined, other);
});

test("CSV: Excel's line that names the delimiter is no row", () => {
  for (const [text, delimiter] of [['sep=;\r\na;b\r\n1;2\r\n', ';'], ['SEP=,\na,b\n1,2\n', ','], ['sep=\t\na\tb\n', '\t'], ['sep=^\na^b\n', '^']]) {
    const dialect = guessDialect(text);
    assert.equal(dialect.delimiter, delimiter);
    assert.deepEqual(recordsOf(text, dialect)[0].fields, ['a', 'b'], text);
    assert.equal(recordsOf(text, dialect)[0].line, 2);
  }
  assert.equal(recordsOf('a;b\r\nsep=;\r\n', { delimiter: ';', quote: '"' }).length, 2);
});
