import { behind, countSql, isListed, keyOf, orderOf, pageSql, valuesSql, wholeSql } from '../../html/sql/data/browse.js';
import { dependsOnZone, filterSql, filterText, isWhole, listOf, listText, operatorFor, operatorsOf, rangeOf, readFilters, typedOf, whereSql } from '../../html/sql/data/filters.js';
import { linkBack, linksOf } from '../../html/sql/data/links.js';
import { Pager } from '../../html/sql/data/pager.js';
import { choicesOf, classOf, literal, wayOf } from '../../html/sql/data/values.js';
import { assert, test } from './shim.mjs';

const column = (name, type, nullable = false) => ({ name, type, nullable });
const primary = (...columns) => ({ name: 'PRIMARY', unique: true, columns });
const ids = { columns: [column('id', 'int(11)'), column('name', 'varchar(20)', true)], indexes: [primary('id')] };
const sourceOf = (schema, sort = [], where = '') => ({ db: 'd', table: 't', columns: schema.columns, order: orderOf(schema, sort), where });
const fails = (run, pattern) => {
  let message = '';
  try { run(); } catch (cause) { message = cause.message; }
  assert.ok(pattern.test(message), message || 'nothing was thrown');
};

test('the key is the primary one, or a unique one that is never NULL, whole and compared exactly', () => {
  const columns = [column('a', 'int'), column('b', 'int', true), column('c', 'char(3)'), column('f', 'float'), column('a(1)', 'int')];
  const of = (...indexes) => keyOf({ columns, indexes })?.name;
  const unique = (name, ...parts) => ({ name, unique: true, columns: parts });
  assert.equal(of(unique('u', 'c'), primary('a')), 'PRIMARY');
  assert.equal(of(unique('u', 'b')), undefined);
  assert.equal(of(unique('u', 'a', 'b')), undefined);
  assert.equal(of(unique('u', 'c(2)')), undefined);
  assert.equal(of(unique('u', 'a(1)')), undefined, 'a prefix or a column of that name');
  assert.equal(of(unique('u', '(lower(`c`))')), undefined);
  assert.equal(of({ name: 'i', unique: false, columns: ['a'] }), undefined);
  assert.equal(of(primary('f'), unique('u', 'c')), 'u', 'what is exact goes first');
  assert.equal(of(primary('f')), 'PRIMARY');
  assert.equal(of({ ...unique('hidden', 'a'), visible: false }, unique('u', 'a', 'c')), 'u');
  assert.deepEqual(keyOf({ columns, indexes: [unique('u', 'a DESC', 'c')] })?.parts, [{ name: 'a', descending: true }, { name: 'c', descending: false }]);
});

test('a page begins behind the last row, by all columns of the key', () => {
  const schema = { columns: [column('a', 'int'), column('b', 'varchar(9)')], indexes: [primary('a', 'b')] };
  assert.equal(pageSql(sourceOf(schema), { limit: 5 }), 'SELECT `a`, `b`\nFROM `d`.`t`\nORDER BY `a`, `b` LIMIT 5');
  assert.equal(pageSql(sourceOf(schema), { after: [1, 'x'], limit: 5 }),
    "SELECT `a`, `b`\nFROM `d`.`t`\nWHERE `a` > 1 OR `a` = 1 AND `b` > 'x'\nORDER BY `a`, `b` LIMIT 5");
  assert.equal(pageSql(sourceOf(schema, [], 'b <> 2'), { after: [1, 'x'], until: [3, 'y'], limit: 5 }),
    "SELECT `a`, `b`\nFROM `d`.`t`\nWHERE (b <> 2) AND (`a` > 1 OR `a` = 1 AND `b` > 'x') AND (`a` < 3 OR `a` = 3 AND `b` < 'y' OR `a` = 3 AND `b` = 'y')\nORDER BY `a`, `b` LIMIT 5");
  assert.equal(countSql(sourceOf(schema, [], 'x')), 'SELECT COUNT(*) AS `rows`\nFROM `d`.`t`\nWHERE x');
});

test('a sort column goes before the key, NULL before and in a descending order behind all values', () => {
  const by = (descending) => orderOf(ids, [{ name: 'name', descending }]).terms;
  assert.equal(behind(by(false), [null, 7]), '`name` IS NOT NULL OR `name` IS NULL AND `id` > 7');
  assert.equal(behind(by(false), ['x', 7]), "`name` > 'x' OR `name` = 'x' AND `id` > 7");
  assert.equal(behind(by(true), ['x', 7]), "(`name` < 'x' OR `name` IS NULL) OR `name` = 'x' AND `id` < 7");
  assert.equal(behind(by(true), [null, 7]), '`name` IS NULL AND `id` < 7');
  assert.equal(behind(orderOf(ids, [{ name: 'id', descending: true }]).terms, [7]), '`id` < 7');
});

test('an ENUM and a SET are compared by number, which a hidden column has', () => {
  const schema = { columns: [column('e', "enum('b','a')"), column('postern_order_0', 'int')], indexes: [primary('e')] };
  assert.equal(pageSql(sourceOf(schema), { after: ['2'], limit: 1 }),
    'SELECT `e`, `postern_order_0`, CAST(`e` AS UNSIGNED) AS `postern_order_0_`\nFROM `d`.`t`\nWHERE CAST(`e` AS UNSIGNED) > 2\nORDER BY `e` LIMIT 1');
});

test('a TIMESTAMP is compared by its seconds since 1970, which a hidden column has', () => {
  const schema = { columns: [column('at', 'timestamp'), column('n', 'int')], indexes: [primary('at', 'n')] };
  assert.equal(pageSql(sourceOf(schema), { after: [1792888200, 7], limit: 1 }),
    'SELECT `at`, `n`, UNIX_TIMESTAMP(`at`) AS `postern_order_0`\nFROM `d`.`t`\nWHERE '
    + '`at` >= FROM_UNIXTIME(1792873800) AND UNIX_TIMESTAMP(`at`) > 1792888200'
    + ' OR `at` >= FROM_UNIXTIME(1792873800) AND `at` <= FROM_UNIXTIME(1792902600) AND UNIX_TIMESTAMP(`at`) = 1792888200 AND `n` > 7\nORDER BY `at`, `n` LIMIT 1');
  const down = orderOf(schema, [{ name: 'at', descending: true }]).terms;
  assert.equal(behind(down.slice(0, 1), ['2147483000.5']), 'UNIX_TIMESTAMP(`at`) < 2147483000.5', 'no further than servers convert');
  assert.equal(behind(down.slice(0, 1), [1792888200]), '`at` <= FROM_UNIXTIME(1792902600) AND UNIX_TIMESTAMP(`at`) < 1792888200');
  assert.equal(behind(orderOf(schema, []).terms.slice(0, 1), [0]), 'UNIX_TIMESTAMP(`at`) > 0', 'the time of zeros');
  const plain = { columns: schema.columns, indexes: [] };
  assert.equal(pageSql(sourceOf(plain), { limit: 1 }), 'SELECT `at`, `n`\nFROM `d`.`t` LIMIT 1', 'no key: rows are not told apart');
});

test('a filter finds all rows that show its time, and what depends on the clock is known', () => {
  const time = "'2026-10-25 02:30:00'";
  assert.equal(filterSql({ column: 'at', op: '=', value: '2026-10-25 02:30:00' }, 'timestamp'),
    `\`at\` >= ${time} - INTERVAL 1 DAY AND \`at\` <= ${time} + INTERVAL 1 DAY AND CAST(\`at\` AS DATETIME(6)) = ${time}`);
  assert.equal(filterSql({ column: 'at', op: '=', value: '2026-10-25 02:30:00' }, 'datetime'), `\`at\` = ${time}`);
  const columns = [column('at', 'timestamp'), column('id', 'int'), column('day', 'date')];
  const depends = (free, ...filters) => dependsOnZone(filters, free, columns);
  for (const free of ['', 'id IN (3, 5)', '`id` > 2 AND day IS NOT NULL', "WHERE day = '2026-01-01' -- at"]) assert.equal(depends(free), false, free);
  for (const free of ["at > '2026-01-01'", '`AT` IS NULL', 'day = CURDATE()', 'id IN (SELECT id FROM x)', 'id = @x']) assert.equal(depends(free), true, free);
  assert.equal(depends('', { column: 'at', op: '<', value: 'x' }), true);
  assert.equal(depends('', { column: 'at', op: 'NULL', value: '' }), false);
  assert.equal(depends('', { column: 'id', op: '=', value: '1' }), false);
});

test('what cannot be compared exactly goes by OFFSET and says why', () => {
  const none = { columns: ids.columns, indexes: [] };
  assert.equal(orderOf(none, []).why, 'it has no key that identifies its rows');
  assert.equal(pageSql(sourceOf(none), { limit: 5, offset: 10 }), 'SELECT `id`, `name`\nFROM `d`.`t` LIMIT 5 OFFSET 10');
  for (const [type, why] of [['float', 'x is a FLOAT'], ['double(3,1)', 'x is a DOUBLE'], ['json', 'x is a JSON'], ['bit(8)', 'x is a BIT'], ['longtext', 'x is a LONGTEXT'], ['varchar(2000)', 'x is a VARCHAR']]) {
    const order = orderOf({ columns: [...ids.columns, column('x', type, true)], indexes: ids.indexes }, [{ name: 'x', descending: true }]);
    assert.equal(order.byCursor, false, type);
    assert.ok(order.why.startsWith(why), order.why);
    assert.deepEqual(order.terms.map(({ name }) => name), ['x', 'id']);
  }
});

test('values stand in a statement so that no mode and no quote changes them', () => {
  assert.equal(literal("it's", 'varchar(9)'), "'it''s'");
  assert.equal(literal("a\\' OR 1=1 -- ", 'varchar(30)'), "_utf8mb4 X'615c27204f5220313d31202d2d20'");
  assert.equal(literal('18446744073709551615', 'bigint unsigned'), '18446744073709551615');
  assert.equal(literal('-0.50', 'decimal(3,2)'), '-0.50');
  assert.equal(literal('1 OR 1', 'int'), "'1 OR 1'");
  assert.equal(literal('0x0aff', 'varbinary(4)'), "X'0aff'");
  assert.equal(literal('0x', 'varbinary(4)'), "X''");
  assert.equal(literal('0x05', 'bit(8)'), '5');
  assert.equal(literal("b'101'", 'bit(8)'), '5');
  assert.equal(literal('0000-00-00 00:00:00.50', 'datetime(2)'), '00000000000000.50');
  assert.equal(literal('2024-05-00', 'date'), '20240500');
  assert.equal(literal('0000-01-01', 'date'), "'0000-01-01'");
  assert.equal(literal('0000-00-00 01:00:00', 'datetime'), "'0000-00-00 01:00:00'");
  assert.equal(literal('2024-05-01 02:30:00', 'timestamp'), "'2024-05-01 02:30:00'");
  assert.equal(literal(null, 'int'), 'NULL');
  assert.equal(classOf("enum('json','int')"), 'choice');
  assert.deepEqual(choicesOf("set('it''s','p\\\\q','n\\nl','z\\0')"), ["it's", 'p\\q', 'n\nl', 'z\0']);
  assert.equal(wayOf('uuid'), 'value');
  assert.equal(wayOf('geometry'), 'offset');
});

test('filters of each kind are conditions by the type of their column', () => {
  const sql = (op, value, type = 'varchar(9)') => filterSql({ column: 'c`', op, value }, type);
  assert.equal(sql('=', "x' OR '1"), "`c``` = 'x'' OR ''1'");
  assert.equal(sql('!=', ' 5 ', 'int'), '`c``` <> 5');
  assert.equal(sql('LIKE', '5%', 'int'), "`c``` LIKE '5%'");
  for (const [text, bits] of [['true', 1], ['False', 0], ["b'01'", 1], ['0x01', 1], ['3', 3]]) assert.equal(sql('=', text, 'bit(2)'), `\`c\`\`\` = ${bits}`);
  for (const [type, range] of [['int', '5, 1'], ['date', '2024-05-02, 2024-05-01'], ['datetime', '2025, 2024-05']]) fails(() => sql('between', range, type), /the lower one comes first/);
  for (const [type, range] of [['int', '9, 10'], ['varchar(9)', '5, 1'], ['date', '2024-05-02, 2024'], ['date', '2024-5-2, 2024-10-1']]) assert.ok(sql('between', range, type));
  fails(() => sql('=', 'yes', 'bit(1)'), /holds numbers; “yes” is not one/);
  fails(() => sql('IN', '1, yes', 'bit(1)'), /“yes”/);
  assert.equal(sql('IN', "1, 2,NULL, 3", 'int'), '`c``` IN (1, 2, 3) OR `c``` IS NULL');
  assert.equal(sql('IN', "a, 'b, c', ''"), "`c``` IN ('a', 'b, c', '')");
  assert.equal(sql('NULL', 'ignored'), '`c``` IS NULL');
  assert.equal(sql('NOT NULL', ''), '`c``` IS NOT NULL');
  assert.equal(sql('=', '{}', 'json'), "CAST(`c``` AS CHAR) = '{}'");
  assert.equal(sql('=', '0.1', 'float'), '`c``` = 0.10000000149011612');
  assert.equal(sql('=', '1234567.9', 'float'), '`c``` = 1234567.875');
  assert.equal(sql('>', '0.1', 'float unsigned'), '`c``` > 0.10000000149011612');
  assert.equal(sql('>', '0.1', 'double'), '`c``` > 0.1');
  assert.equal(sql('=', '0x00ff', 'varbinary(2)'), "`c``` = X'00ff'");
  assert.equal(sql('<', '2024-01-01', 'datetime'), "`c``` < '2024-01-01'");
  fails(() => sql('=', '5; DROP', 'int'), /numbers/);
  fails(() => sql('IN', ' , '), /commas/);
  fails(() => sql('IN', "'a"), /quote/);
  assert.deepEqual(listOf('a,, b'), ['a', 'b']);
  assert.deepEqual(operatorsOf('point'), ['NULL', 'NOT NULL']);
  assert.equal(filterText({ column: 'c', op: '=', value: '' }), "= ''");
});

test('texts are looked into, and a pattern is one', () => {
  const sql = (op, value, type = 'varchar(9)') => filterSql({ column: 'c', op, value }, type);
  assert.equal(sql('contains', 'an'), "`c` LIKE '%an%'");
  assert.equal(sql('starts with', "it's"), "`c` LIKE 'it''s%'");
  assert.equal(sql('not contains', '!'), "`c` NOT LIKE '%!%' OR `c` IS NULL");
  assert.equal(sql('ends with', 'a_b'), "`c` LIKE '%a!_b' ESCAPE '!'");
  assert.equal(sql('is empty', 'ignored'), "`c` = ''");
  assert.equal(sql('contains', '50%_!'), "`c` LIKE '%50!%!_!!%' ESCAPE '!'");
  assert.equal(sql('contains', 'a\\b'), "`c` LIKE _utf8mb4 X'25615c6225' ESCAPE '!'");
  assert.equal(sql('contains', 'x', 'json'), "CAST(`c` AS CHAR) LIKE '%x%'");
  assert.equal(sql('contains', 'ff', 'uuid'), "CAST(`c` AS CHAR) LIKE '%ff%'");
  assert.equal(sql('between', '1, 5', 'int'), '`c` BETWEEN 1 AND 5');
  assert.equal(sql('between', '2024-01-01 and 2024-02-01', 'date'), "`c` BETWEEN '2024-01-01' AND '2024-02-01'");
  assert.equal(sql('between', "'a, b', c"), "`c` BETWEEN 'a, b' AND 'c'");
  assert.equal(sql('NOT IN', '1, NULL', 'int'), '`c` NOT IN (1) AND `c` IS NOT NULL');
  for (const value of ['', '1', '1, 2, 3', 'NULL, 1', '1 and ']) fails(() => sql('between', value, 'int'), /two values/);
  fails(() => sql('between', '1, x', 'int'), /numbers/);
  fails(() => sql('NOT IN', ''), /NOT IN needs values/);
  for (const type of ['varchar(9)', 'longtext', "char(3)", 'json']) assert.equal(operatorsOf(type)[0], 'contains', type);
  for (const type of ['int', 'decimal(8,2)', 'datetime', 'year', 'bit(3)', "enum('a')", 'uuid', 'blob', 'double']) assert.equal(operatorsOf(type)[0], '=', type);
  assert.ok(!operatorsOf('int').includes('contains') && operatorsOf("enum('a')").includes('contains'));
  assert.deepEqual(['%x%', 'x%', 'x'].map((value) => operatorFor('text', value)), ['LIKE', 'LIKE', 'contains']);
  assert.deepEqual(['2024%', '5'].map((value) => operatorFor('date', value)), ['LIKE', '=']);
  assert.equal(operatorFor('point', '%'), 'NULL');
});

test('a day, a month or a year is all of it, with bounds that an index is used for', () => {
  const sql = (op, value, type = 'datetime(3)') => filterSql({ column: 'c', op, value }, type);
  const within = (from, to) => `\`c\` >= '${from}' AND \`c\` < '${to}'`;
  assert.equal(sql('=', ' 2024-02-29 '), within('2024-02-29', '2024-03-01'));
  assert.equal(sql('=', '2024-12-31'), within('2024-12-31', '2025-01-01'));
  assert.equal(sql('=', '20240531'), within('2024-05-31', '2024-06-01'));
  for (const type of ['datetime', 'date']) {
    assert.equal(sql('=', '2024-12', type), within('2024-12-01', '2025-01-01'));
    assert.equal(sql('=', '2024', type), within('2024-01-01', '2025-01-01'));
    assert.equal(sql('=', '9999', type), "`c` >= '9999-01-01'");
    assert.equal(sql('!=', '2024-5', type), `NOT (${within('2024-05-01', '2024-06-01')})`);
    assert.equal(sql('IN', '2023, 2024-05, NULL', type), `${within('2023-01-01', '2024-01-01')} OR ${within('2024-05-01', '2024-06-01')} OR \`c\` IS NULL`);
    assert.equal(sql('except', '2024-05', type), `NOT (${within('2024-05-01', '2024-06-01')}) OR \`c\` IS NULL`);
  }
  assert.equal(sql('=', '2024-02-29', 'date'), "`c` = '2024-02-29'");
  assert.equal(sql('NOT IN', '2024-05, 2024-06-01', 'date'), `\`c\` NOT IN ('2024-06-01') AND NOT (${within('2024-05-01', '2024-06-01')})`);
  assert.deepEqual(['<', '<=', '>', '>='].map((op) => sql(op, '2024-06-30')), ["`c` < '2024-06-30'", "`c` < '2024-07-01'", "`c` >= '2024-07-01'", "`c` >= '2024-06-30'"]);
  assert.deepEqual(['<=', '>'].map((op) => sql(op, '2024-06-30', 'date')), ["`c` <= '2024-06-30'", "`c` > '2024-06-30'"]);
  assert.deepEqual(['<=', '>'].map((op) => sql(op, '9999')), ['`c` IS NOT NULL', '0 = 1']);
  assert.equal(sql('between', '2024-01-01 and 2024-06-30'), within('2024-01-01', '2024-07-01'));
  assert.equal(sql('between', '2024-01-01 10:00:00, 2024-06-30'), within('2024-01-01 10:00:00', '2024-07-01'));
  assert.equal(sql('between', '2024-01-01, 2024-06-30 12:00:00'), "`c` >= '2024-01-01' AND `c` <= '2024-06-30 12:00:00'");
  assert.equal(sql('between', '2023 and 2024', 'date'), within('2023-01-01', '2025-01-01'));
  // Times, and days with zeros, are themselves.
  for (const time of ['2024-05-01 02:30:00', '2024-05-01 02:30', '2024-05-01T02:30:00.5']) assert.equal(sql('=', time), `\`c\` = '${time}'`);
  assert.deepEqual(['0000-00-00', '2024-05-00'].map((day) => sql('=', day)), ['`c` = 00000000', '`c` = 20240500']);
  for (const value of ['abc', '2024-13', '2023-02-29', '2024-06-31', '24', '2024-05-01 25:00', "2024' OR 1"]) {
    for (const type of ['date', 'datetime', 'timestamp']) for (const op of ['=', '<', 'IN']) fails(() => sql(op, value, type), /c holds dates; .* is not one/);
    fails(() => sql('between', `2024 and ${value}`), /is not one/);
  }
  const whole = (value, type) => isWhole({ column: 'c', op: '=', value }, type);
  assert.deepEqual([whole('2024-05', 'date'), whole('2024', 'timestamp'), whole('2024-05-01', 'datetime'), whole('2024', 'int')], [false, false, true, true]);
  assert.equal(sql('=', '-838:59:59', 'time'), "`c` = '-838:59:59'");
  fails(() => sql('=', '2024-05', 'time'), /holds times/);
});

test('a day of a TIMESTAMP is what the clock shows', () => {
  const sql = (op, value) => filterSql({ column: 'c', op, value }, 'timestamp');
  const shown = "`c` >= '2026-10-25' - INTERVAL 1 DAY AND CAST(`c` AS DATETIME(6)) >= '2026-10-25' AND `c` < '2026-10-26' + INTERVAL 1 DAY AND CAST(`c` AS DATETIME(6)) < '2026-10-26'";
  assert.equal(sql('=', '2026-10-25'), shown);
  assert.equal(sql('except', '2026-10-25'), `NOT (${shown}) OR \`c\` IS NULL`);
  assert.equal(sql('<=', '2026-10-25'), "`c` < '2026-10-26' + INTERVAL 1 DAY AND CAST(`c` AS DATETIME(6)) < '2026-10-26'");
  // No further than the type goes.
  assert.equal(sql('=', '2038'), "`c` >= '2038-01-01' - INTERVAL 1 DAY AND CAST(`c` AS DATETIME(6)) >= '2038-01-01' AND CAST(`c` AS DATETIME(6)) < '2039-01-01'");
  assert.equal(sql('>=', '1970'), "CAST(`c` AS DATETIME(6)) >= '1970-01-01'");
});

test('an operator is typed before a value', () => {
  const typed = (type, ...texts) => texts.map((text) => Object.values(typedOf(type, text)).join('|'));
  assert.deepEqual(typed('int', '>4000', '>= 5', '<3', '<=2', '=1', '!=2', '<>2', '!2', '5'), ['>|4000', '>=|5', '<|3', '<=|2', '=|1', '!=|2', '!=|2', '!=|2', '=|5']);
  assert.deepEqual(typed('int', '1..5', '-1.5 .. 2', 'between 1 and 5', 'between 1, 5', '1..'), ['between|1, 5', 'between|-1.5, 2', 'between|1, 5', 'between|1, 5', '=|1..']);
  assert.deepEqual(typed('int', 'NULL', 'null', '!null', 'is not NULL', '!NULLS'), ['NULL|', 'NULL|', 'NOT NULL|', 'NOT NULL|', '!=|NULLS']);
  assert.deepEqual(typed('varchar(9)', 'a', '=a', '!a', '>a', 'a..b', '%a', 'NULL', '!NULL'), ['contains|a', '=|a', '!=|a', '>|a', 'between|a, b', 'LIKE|%a', 'NULL|', 'NOT NULL|']);
  assert.deepEqual(typed('varchar(9)', 'null', 'between us', '../a', 'a/../b', 'so ...', ' a '), ['contains|null', 'contains|between us', 'contains|../a', 'contains|a/../b', 'contains|so ...', 'contains| a ']);
  assert.deepEqual(typed('date', '2024', '2024-01..2024-03', '>2024', '2024%'), ['=|2024', 'between|2024-01, 2024-03', '>|2024', 'LIKE|2024%']);
  assert.deepEqual(typed('json', '=1', 'a'), ['=|1', 'contains|a']);
});

test('a text is found in any column that holds texts or numbers', () => {
  const columns = [column('id', 'int'), column('name', 'varchar(9)'), column('day', 'date'), column('raw', 'blob'), column('doc', 'json')];
  const any = { column: '', op: 'contains', value: '5%' };
  const found = "`id` LIKE '%5!%%' ESCAPE '!' OR `name` LIKE '%5!%%' ESCAPE '!' OR CAST(`doc` AS CHAR) LIKE '%5!%%' ESCAPE '!'";
  assert.equal(whereSql([any], '', columns), found);
  assert.equal(whereSql([any, { column: 'id', op: '>', value: '1' }], '', columns), `(${found}) AND (\`id\` > 1)`);
  assert.equal(whereSql([any], '', columns.slice(2, 4)), '0 = 1');
  // Other types are looked into where the grid can show the text.
  const shown = (value) => whereSql([{ ...any, value }], '', [column('day', 'date'), column('raw', 'blob'), column('b', 'bit(9)')]);
  assert.equal(shown('05-2'), "CAST(`day` AS CHAR) LIKE '%05-2%'");
  assert.equal(shown('0xf'), "CONCAT('0x', HEX(`raw`)) LIKE '%0xf%' OR CONCAT('0x', LPAD(HEX(`b` + 0), 4, '0')) LIKE '%0xf%'");
  assert.deepEqual(readFilters([{ ...any, names: 'Alice' }]), [{ ...any, names: 'Alice' }]);
});

test('values that are excluded keep rows with NULL, unless NULL is one of them', () => {
  const sql = (op, value, type = 'varchar(9)') => filterSql({ column: 'c', op, value }, type);
  assert.equal(sql('except', "a, ''"), "`c` NOT IN ('a', '') OR `c` IS NULL");
  assert.equal(sql('except', '1, NULL', 'int'), '`c` NOT IN (1) AND `c` IS NOT NULL');
  assert.equal(sql('except', 'NULL', 'int'), '`c` IS NOT NULL');
  assert.equal(sql('NOT IN', '1', 'int'), '`c` NOT IN (1)');
  fails(() => sql('except', ''), /except needs values/);
  const [early, late] = ["'2026-01-01 00:00:00'", "'2026-10-25 02:30:00'"];
  const listed = '2026-10-25 02:30:00, 2026-01-01 00:00:00';
  assert.equal(sql('IN', `${listed}, NULL`, 'timestamp'), `\`c\` >= ${early} - INTERVAL 1 DAY AND \`c\` <= ${late} + INTERVAL 1 DAY `
    + `AND CAST(\`c\` AS DATETIME(6)) IN (${late}, ${early}) OR \`c\` IS NULL`);
  assert.equal(sql('except', listed, 'timestamp'), `NOT (\`c\` >= ${early} - INTERVAL 1 DAY AND \`c\` <= ${late} + INTERVAL 1 DAY AND CAST(\`c\` AS DATETIME(6)) IN (${late}, ${early})) OR \`c\` IS NULL`);
  assert.equal(sql('!=', '2026-10-25 02:30:00', 'timestamp'), `NOT (\`c\` >= ${late} - INTERVAL 1 DAY AND \`c\` <= ${late} + INTERVAL 1 DAY AND CAST(\`c\` AS DATETIME(6)) = ${late})`);
});

test('a list of any values is read as it was written', () => {
  const values = ['a', '', ' a ', "it's", '"', 'a,b', 'NULL', 'null', null, 'ünicode', '1.5', "''", 'a\nb', '\\', 'a "b" c'];
  assert.deepEqual(listOf(listText(values)), values);
  for (const value of values) assert.deepEqual(listOf(listText([value])), [value], value);
  assert.equal(listText(['1', '2', null, 'x y']), '1, 2, NULL, x y');
  assert.deepEqual(rangeOf(listText(['a and b', 'c'])), ['a and b', 'c']);
  assert.deepEqual(rangeOf('1 and 5'), ['1', '5']);
});

test('a filter that is switched off is no condition, and kept filters of another form are skipped', () => {
  const columns = [column('a', 'int'), column('at', 'timestamp')];
  const off = { column: 'a', op: '=', value: '1', off: true };
  assert.equal(whereSql([off], '', columns), '');
  assert.equal(whereSql([off, { column: 'a', op: '>', value: '2' }, { column: 'a', op: '<', value: '9' }], '', columns), '(`a` > 2) AND (`a` < 9)');
  assert.equal(dependsOnZone([{ column: 'at', op: '<', value: 'x', off: true }], '', columns), false);
  assert.deepEqual(readFilters([{ column: 'a', op: '=', value: '1' }, { column: 'a', op: '= 1 OR', value: '' }, null, { op: '=' }, { ...off, more: 1 }, { column: 'a', op: 'NULL' }]),
    [{ column: 'a', op: '=', value: '1' }, off, { column: 'a', op: 'NULL', value: '' }]);
});

test('values are counted so that a filter finds the same rows', () => {
  const sql = (type, search = '', where = '') => valuesSql(sourceOf(ids, [], where), column('c', type), search).replaceAll('\n', ' ');
  const counted = (value, where = '') => `SELECT ${value} AS v, COUNT(*) AS n FROM \`d\`.\`t\`${where} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 201`;
  assert.equal(sql('varchar(9)'), counted('`c`'));
  assert.equal(sql("enum('b','a')"), counted('CONCAT(`c`)'));
  assert.equal(sql('timestamp(3)'), counted('CONCAT(`c`)'));
  assert.equal(sql('float'), counted('`c` * 1e0'));
  assert.equal(sql('varchar(9)', "it's", 'x > 1 OR y'), counted('`c`', " WHERE (x > 1 OR y) AND (`c` LIKE '%it''s%')"));
  assert.equal(sql('varbinary(9)', '0xfF'), counted('`c`', " WHERE HEX(`c`) LIKE '%fF%'"));
  const listed = ['int', 'double', 'date', 'bit(3)', 'set(\'a\')', 'year', 'varchar(255)', 'tinytext', 'uuid', 'binary(16)'];
  assert.deepEqual([...listed, 'text', 'varchar(2000)', 'json', 'blob', 'point'].filter(isListed), listed);
});

test('a condition written by hand stays inside its parentheses', () => {
  const where = (free, filters = []) => whereSql(filters, free, [column('a', 'int')]);
  assert.equal(where(' WHERE a = 1 -- so'), '(a = 1 -- so\n)');
  assert.equal(where('a = 1', [{ column: 'a', op: '>', value: '0' }]), '(`a` > 0) AND ((a = 1\n))');
  assert.equal(where("a = ')' AND (a) > 1"), "(a = ')' AND (a) > 1\n)");
  assert.equal(where('  '), '');
  fails(() => where('1) OR (1'), /closing/);
  fails(() => where('(1'), /not closed/);
  fails(() => where("a = 'x"), /not closed/);
  fails(() => where('1 /* x'), /not closed/);
  fails(() => where('1; DELETE FROM t'), /semicolon/);
  fails(() => where('1 /*! ) */'), /!/);
});

test('foreign keys lead forward and back, from NULL nowhere', () => {
  const schema = { columns: [column('id', 'int'), column('x', 'int'), column('y', 'int')], foreign_keys: [
    { columns: ['x', 'y'], ref_db: 'o', ref_table: 'pairs', ref_columns: ['a', 'b'] }, { columns: ['x'], ref_table: 'ones', ref_columns: ['id'] }] };
  assert.deepEqual(linksOf(schema, 'd', [1, 2, 3], 'x').map(({ db, table, filters }) => [db, table, filters.length]), [['d', 'ones', 1], ['o', 'pairs', 2]]);
  assert.deepEqual(linksOf(schema, 'd', [1, 2, null], 'y'), []);
  assert.deepEqual(linksOf(schema, 'd', [1, 2, 3], 'id'), []);
  const [back] = linkBack(schema, [9, 2, 3], { db: 'd', table: 'children', columns: ['parent'], refColumns: ['ID'] });
  assert.deepEqual(back.filters, [{ column: 'parent', op: '=', value: '9' }]);
});

/** A table of numbers in memory, as the server would answer. */
function tableOf(numbers, byCursor = true) {
  const asked = [];
  const pager = new Pager(async (range) => {
    asked.push(range);
    const found = byCursor ? numbers.filter((n) => (!range.after || n > range.after[0]) && (!range.until || n <= range.until[0])).slice(range.offset) : numbers.slice(range.offset);
    const rows = found.slice(0, range.limit).map((n) => [n]);
    return { rows, last: byCursor && rows.length ? [rows.at(-1)[0]] : null };
  }, { byCursor });
  return { pager, asked };
}

/** All rows as they are seen from the top to the end. */
async function seen(pager) {
  const rows = [];
  for (let place = 0; ; place += 50) {
    await pager.need(place, place + 49);
    for (let i = place; i < Math.min(place + 50, pager.rowCount); i += 1) rows.push(pager.row(i)?.[0]);
    if (pager.ended && place + 50 >= pager.rowCount) return rows;
  }
}

const upTo = (count, step = 1) => Array.from({ length: count }, (_, i) => (i + 1) * step);

test('all rows are seen once on the way down, few are held, and those above come again', async () => {
  for (const byCursor of [true, false]) {
    const numbers = upTo(50_000);
    const { pager } = tableOf(numbers, byCursor);
    assert.deepEqual(await seen(pager), numbers);
    assert.ok(pager.held <= 14_000, `${pager.held}`);
    assert.equal(pager.row(0), undefined);
    await pager.need(0, 50);
    assert.deepEqual(upTo(50).map((_, i) => pager.row(i)?.[0]), upTo(50));
    assert.equal(pager.rowCount, 50_000);
    assert.ok(pager.held <= 14_000);
  }
});

test('rows that are inserted or deleted meanwhile neither repeat nor hide others', async () => {
  const numbers = upTo(30_000, 2);
  const { pager } = tableOf(numbers);
  await pager.need(0, 10);
  numbers.unshift(0);
  numbers.splice(100, 1);
  const rows = await seen(pager);
  assert.equal(new Set(rows).size, rows.length);
  assert.deepEqual(rows.slice(-2), [59_998, 60_000]);
  // A page that comes again has what is between its ends now.
  numbers.splice(numbers.indexOf(20), 5, 19, 20, 21, 22, 23, 25, 27, 29, 31, 33);
  await pager.need(0, 50);
  const again = upTo(50).map((_, i) => pager.row(i)?.[0]);
  for (const n of [19, 20, 21, 23, 33]) assert.ok(again.includes(n), `${n}`);
  for (let i = numbers.length - 1; i >= 0; i -= 1) if (numbers[i] < 1000) numbers.splice(i, 1);
  for (let place = 2000; place < 28_000; place += 1000) await pager.need(place, place + 50);
  await pager.need(0, 50);
  assert.equal(pager.row(0)?.[0], 1000);
});

test('a jump leads to the last row, and what lies between comes when it is looked at', async () => {
  for (const byCursor of [true, false]) {
    const numbers = upTo(1_000_000);
    const { pager, asked } = tableOf(numbers, byCursor);
    await pager.need(0, 50);
    await pager.jump(numbers.length);
    assert.deepEqual([pager.rowCount, pager.ended, pager.row(999_999)?.[0]], [1_000_000, true, 1_000_000]);
    for (const place of [500_000, 499_900, 250, 999_000, 0, 777_777]) {
      await pager.need(place, place + 50);
      for (let i = place; i < place + 50; i += 1) assert.equal(pager.row(i)?.[0], i + 1, `${byCursor} ${i}`);
    }
    for (let place = 0; place < 100_000; place += 300) {
      await pager.need(place, place + 50);
      assert.equal(pager.row(place)?.[0], place + 1);
    }
    await pager.need(500_000, 500_050);
    assert.equal(pager.row(500_049)?.[0], 500_050);
    assert.equal(pager.rowCount, 1_000_000);
    assert.ok(pager.held <= 14_000 && asked.length < 500, `${pager.held} ${asked.length}`);
  }
});

test('wide rows come in smaller pages', async () => {
  const asked = [];
  const pager = new Pager(async ({ limit, after }) => {
    asked.push(limit);
    const from = after?.[0] ?? 0;
    return { rows: Array.from({ length: limit }, (_, i) => [from + i + 1, 'x'.repeat(20_000)]), last: [from + limit] };
  }, { byCursor: true });
  for (let place = 0; place < 4000; place += 20) await pager.need(place, place + 20);
  assert.ok(asked.slice(1).every((limit) => limit <= 100), asked.join());
  assert.ok(pager.held < 2000, `${pager.held}`);
});

test('a page of a table with many columns has 20,000 values at most, and each row is seen once', async () => {
  for (const columns of [120, 4096]) {
    const asked = [];
    const total = 700;
    const pager = new Pager(async ({ limit, after, until, offset }) => {
      asked.push(limit);
      const from = (after?.[0] ?? 0) + offset;
      const to = Math.min(from + limit, total, until?.[0] ?? total);
      return { rows: Array.from({ length: to - from }, (_, i) => [from + i + 1]), last: to > from ? [to] : null };
    }, { byCursor: true, columns });
    await pager.need(0, 20);
    await pager.jump(total);
    assert.equal(pager.rowCount, total);
    await pager.need(total - 20, total - 1);
    assert.equal(pager.row(total - 1)?.[0], total);
    for (let place = 0; place < total; place += 3) {
      await pager.need(place, Math.min(place + 20, total - 1));
      assert.equal(pager.row(place)?.[0], place + 1);
    }
    assert.ok(asked.every((limit) => limit * columns <= 20_000), `${columns}: ${asked}`);
  }
});

test('all columns are named in the statement that is shown', () => {
  assert.equal(wholeSql(sourceOf(ids, [], 'id > 1')), 'SELECT `id`, `name`\nFROM `d`.`t`\nWHERE id > 1\nORDER BY `id`');
});

test('pages: a FLOAT is read with all its digits, and sorted by its own index', () => {
  const columns = [{ name: 'id', type: 'int', nullable: false }, { name: 'f', type: 'float', nullable: true }, { name: 'd', type: 'double', nullable: true }];
  const order = orderOf({ columns, indexes: [{ name: 'PRIMARY', unique: true, columns: ['id'] }] }, [{ name: 'f', descending: true }]);
  const source = { db: 's', table: 't', columns, order };
  const expected = 'SELECT `id`, `f` * 1e0 AS `f`, `d`\nFROM `s`.`t`\nORDER BY `t`.`f` DESC, `id` DESC';
  assert.equal(wholeSql(source), expected);
  assert.equal(pageSql(source, { limit: 2 }), `${expected} LIMIT 2`);
});
