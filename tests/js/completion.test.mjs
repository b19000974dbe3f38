import { completionContext, completionItems, serverOf } from '../../html/sql/core/complete.js';
import { functionsOf } from '../../html/sql/core/offers.js';
import { assert, test } from './shim.mjs';

const COLUMNS = {
  customers: [['id', 'int'], ['name', 'varchar(40)'], ['email', 'varchar(80)'], ['vip', "enum('yes','no','it''s')"]],
  orders: [['id', 'int'], ['customer_id', 'int'], ['status', "enum('open','paid')"]],
  items: [['order_id', 'int'], ['pos', 'int']],
  emp: [['id', 'int'], ['boss_id', 'int']],
};
const fk = (table, columns, refTable, refColumns) => ({ table, columns, refDb: 'shop', refTable, refColumns });
const catalogue = {
  db: 'shop',
  databases: ['hr', 'shop'],
  tables: (db) => (db === 'shop' ? Object.keys(COLUMNS) : []).map((name) => ({ name, kind: 'table' })),
  columns: (db, table) => (COLUMNS[table] ?? []).map(([name, type]) => ({ name, type })),
  relations: (db) => (db === 'shop' ? [fk('orders', ['customer_id'], 'customers', ['id']), fk('items', ['order_id'], 'orders', ['id']), fk('emp', ['boss_id'], 'emp', ['id'])] : []),
  routines: (db) => (db === 'shop' ? [{ name: 'close_month', kind: 'procedure' }, { name: 'order', kind: 'procedure' }, { name: 'full_price', kind: 'function' }] : [{ name: 'pay', kind: 'procedure' }]),
  server: serverOf('9.7.4'),
};

function complete(marked, known = catalogue, asked = true) {
  const caret = marked.indexOf('|');
  const sql = marked.replace('|', '');
  const context = completionContext(sql, caret);
  const { items, missing } = context ? completionItems(context, known, { asked }) : { items: [], missing: [] };
  const taken = (label) => {
    const item = items.find((one) => one.label === label) ?? items[0];
    return sql.slice(0, context.from) + item.insert + sql.slice(context.to);
  };
  return { items, missing, taken, labels: items.map(({ label }) => label), columns: items.filter(({ kind }) => kind === 'column').map(({ label }) => label) };
}

test('common table expressions and derived tables offer their own columns, not those inside', () => {
  const cases = [
    ['WITH x AS (SELECT id, name FROM customers) SELECT | FROM x', ['id', 'name']],
    ['WITH x AS (SELECT id, name FROM customers) SELECT x.| FROM x', ['id', 'name']],
    ['WITH x AS (SELECT id, name FROM customers) SELECT y.| FROM x AS y', ['id', 'name']],
    ['WITH x (a, b) AS (SELECT id, name FROM customers) SELECT | FROM x', ['a', 'b']],
    ['WITH x AS (SELECT | FROM customers) SELECT 1 FROM x', ['id', 'name', 'email', 'vip']],
    ['WITH x AS (SELECT id FROM orders), y AS (SELECT id + 1 AS n, x.* FROM x) SELECT | FROM y', ['n', 'id']],
    ['WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE |) SELECT 1', ['i']],
    ['SELECT d.| FROM (SELECT customer_id, COUNT(*) AS n, MAX(id) last_id, id + 1 FROM orders GROUP BY 1) d', ['customer_id', 'n', 'last_id']],
    ['SELECT | FROM (SELECT * FROM orders) d', ['id', 'customer_id', 'status']],
    ['SELECT | FROM (SELECT o.*, c.name FROM orders o JOIN customers c ON 1) d', ['id', 'customer_id', 'status', 'name']],
    ['SELECT 1 FROM customers c WHERE EXISTS (SELECT 1 FROM items l WHERE |)', ['order_id', 'pos', 'id', 'name', 'email', 'vip']],
    ['SELECT 1 FROM items UNION SELECT | FROM orders', ['id', 'customer_id', 'status']],
    ['SELECT 1 FROM customers, (SELECT | FROM items) d', ['order_id', 'pos']],
    ['SELECT | FROM (items l JOIN emp e ON 1)', ['order_id', 'pos', 'id', 'boss_id']],
  ];
  for (const [marked, expected] of cases) assert.deepEqual(complete(marked).columns, expected, marked);
  assert.ok(complete('WITH recent AS (SELECT 1) SELECT 1 FROM rec|').labels.includes('recent'));
  assert.equal(complete('WITH x AS (SELECT vip FROM customers) SELECT v| FROM x').items[0].detail.startsWith('enum'), true);
});

test('foreign keys offer tables after JOIN, with the condition, and conditions after ON', () => {
  assert.deepEqual(complete('SELECT 1 FROM orders o JOIN |').labels.slice(0, 2), ['customers ON o.customer_id = customers.id', 'items ON items.order_id = o.id']);
  assert.deepEqual(complete('SELECT 1 FROM customers JOIN ord|').labels.slice(0, 2), ['orders ON orders.customer_id = customers.id', 'orders']);
  assert.deepEqual(complete('SELECT 1 FROM emp JOIN |').labels[0], 'emp AS emp2 ON emp2.boss_id = emp.id');
  assert.deepEqual(complete('SELECT 1 FROM orders o JOIN customers c ON |').labels[0], 'o.customer_id = c.id');
  assert.deepEqual(complete('SELECT 1 FROM customers c JOIN orders o ON |').labels[0], 'o.customer_id = c.id');
  assert.equal(complete('SELECT 1 FROM customers c LEFT JOIN orders ON o| WHERE 1').taken(''), 'SELECT 1 FROM customers c LEFT JOIN orders ON orders.customer_id = c.id WHERE 1');
  assert.ok(!complete('SELECT 1 FROM items l JOIN customers c ON |').labels.some((label) => label.includes('=')));
  const unknown = { ...catalogue, relations: () => undefined };
  assert.deepEqual(complete('SELECT 1 FROM orders JOIN |', unknown).missing, [{ db: 'shop', what: 'relations' }]);
  assert.deepEqual(complete('SELECT 1 FROM orders WHERE |', unknown).missing, []);
});

test('the values of an ENUM stand where it is compared', () => {
  assert.deepEqual(complete('SELECT 1 FROM orders WHERE status = |').labels.slice(0, 2), ['open', 'paid']);
  assert.equal(complete('SELECT 1 FROM orders WHERE status = op|').taken(''), "SELECT 1 FROM orders WHERE status = 'open'");
  assert.equal(complete("SELECT 1 FROM orders o WHERE o.status <> 'p|").taken(''), "SELECT 1 FROM orders o WHERE o.status <> 'paid'");
  assert.equal(complete("SELECT 1 FROM orders o WHERE o.status = 'p|' AND 1").taken(''), "SELECT 1 FROM orders o WHERE o.status = 'paid' AND 1");
  assert.deepEqual(complete("SELECT 1 FROM orders WHERE status IN ('open', |").labels.slice(0, 2), ['open', 'paid']);
  assert.deepEqual(complete('UPDATE customers SET vip = |').labels.slice(0, 3), ['yes', 'no', "it's"]);
  assert.equal(complete('UPDATE customers SET vip = it|').taken(''), "UPDATE customers SET vip = 'it''s'");
  for (const marked of ["SELECT 1 FROM orders WHERE name = 'o|'", "SELECT 'o|'", "SELECT 1 FROM orders WHERE status LIKE 'o|'"]) assert.deepEqual(complete(marked).labels, [], marked);
});

test('routines follow CALL, its own words SHOW', () => {
  assert.deepEqual(complete('CALL |').labels.slice(0, 2), ['close_month', 'order']);
  assert.equal(complete('CALL or|').taken(''), 'CALL `order`');
  assert.deepEqual(complete('CALL hr.|').labels, ['pay']);
  assert.ok(!complete('CALL c|').labels.includes('customers'));
  assert.deepEqual(complete('SHOW CREATE |').labels.slice(0, 2), ['TABLE', 'VIEW']);
  assert.equal(complete('SHOW CREATE TABLE cu|').labels[0], 'customers');
  assert.ok(complete('SHOW |').labels.includes('PROCESSLIST') && !complete('SHOW |').labels.includes('SELECT'));
  assert.equal(complete('SHOW TABLES FROM |').labels[0], 'hr');
  assert.ok(complete('SHOW |').labels.includes('BINARY LOG STATUS'));
  assert.ok(!complete('SHOW |', { ...catalogue, server: serverOf('11.4.2-MariaDB') }).labels.includes('BINARY LOG STATUS'));
});

test('functions that somebody has made stand where a value is, and not behind CALL', () => {
  assert.equal(complete('SELECT full|').labels[0], 'full_price()');
  assert.equal(complete('SELECT full|').taken('full_price()'), 'SELECT full_price');
  assert.ok(complete('SELECT shop.fu|').labels.includes('full_price()'));
  assert.ok(!complete('CALL f|').labels.includes('full_price()'));
  assert.ok(!complete('SELECT 1 FROM shop.f|').labels.includes('full_price()'));
});

test('functions are those of the server', () => {
  const has = (version, name) => functionsOf(serverOf(version)).includes(name);
  assert.ok(has('9.7.4', 'STRING_TO_VECTOR') && !has('8.4.0', 'STRING_TO_VECTOR') && !has('11.8.2-MariaDB', 'STRING_TO_VECTOR'));
  assert.ok(has('11.8.2-MariaDB', 'VEC_DISTANCE') && !has('10.11.6-MariaDB-0+deb12u1', 'VEC_DISTANCE'));
  assert.ok(has('5.5.5-10.11.6-MariaDB', 'MD5') && has('8.4.0', 'MD5') && !has('9.7.4', 'MD5'));
  assert.deepEqual(complete('SELECT string_to|').labels, ['STRING_TO_VECTOR()']);
});

test('the whole word comes before its beginning, a part of a word before what only contains it', () => {
  const known = { ...catalogue, columns: () => ['xname', 'first_name', 'names', 'name'].map((name) => ({ name, type: 'int' })) };
  assert.deepEqual(complete('SELECT name| FROM customers', known).columns, ['name', 'names', 'first_name', 'xname']);
});
