import { completionContext, completionItems, matchScore } from '../../html/sql/core/complete.js';
import { dangerOf } from '../../html/sql/core/danger.js';
import { errorSpan, offsetOf } from '../../html/sql/core/errors.js';
import { Highlighter } from '../../html/sql/core/highlight.js';
import { MAX_ENTRIES, MAX_SQL, addEntry, readHistory, searchHistory } from '../../html/sql/core/history.js';
import { quoteIdentifier, selectAll, unquoteIdentifier } from '../../html/sql/core/identifiers.js';
import { consoleHint, hintOf, noPlan } from '../../html/sql/core/hints.js';
import { scriptStatements } from '../../html/sql/core/script.js';
import { errorWithoutSecrets, leftOutAt, whyAltered, withoutSecrets } from '../../html/sql/core/secrets.js';
import { splitScript, tokens } from '../../html/sql/core/lexer.js';
import { assert, readVectors, test } from './shim.mjs';

const TABLES = { shop: [{ name: 'customers', kind: 'table' }, { name: 'Orders', kind: 'table' }, { name: 'order', kind: 'table' }], hr: [{ name: 'staff', kind: 'view' }] };
const COLUMNS = { customers: ['id', 'name', 'key'], Orders: ['id', 'customer_id', 'total'], staff: ['salary'] };
const catalogue = {
  db: 'shop',
  databases: ['hr', 'shop'],
  tables: (db) => TABLES[db],
  columns: (db, table) => (COLUMNS[table] ?? []).map((name) => ({ name, type: 'int' })),
};

/** Completes at the `|` of the text. */
function complete(marked, known = catalogue) {
  const caret = marked.indexOf('|');
  const sql = marked.replace('|', '');
  const context = completionContext(sql, caret);
  if (!context) return { context: null, labels: [], inserts: [], missing: [] };
  const { items, missing } = completionItems(context, known);
  return { context, labels: items.map(({ label }) => label), inserts: items.map(({ insert }) => insert), missing, taken: items[0] && sql.slice(0, context.from) + items[0].insert + sql.slice(context.to) };
}

test('a qualified name offers the columns of its alias, table or the tables of its database', () => {
  const cases = [
    ['SELECT o.| FROM orders o', ['id', 'customer_id', 'total']],
    ['SELECT o.cu| FROM customers c JOIN orders AS o ON 1', ['customer_id']],
    ['SELECT customers.n| FROM shop.customers', ['name']],
    ['SELECT * FROM hr.|', ['staff']],
    ['SELECT hr.staff.| FROM x', ['salary']],
    ['SELECT `o`.| FROM `orders` `o`', ['id', 'customer_id', 'total']],
    ['UPDATE customers c SET c.na|', ['name']],
    ['SELECT (SELECT o.tot| FROM orders o WHERE o.id = c.id) FROM customers c', ['total']],
  ];
  for (const [marked, expected] of cases) assert.deepEqual(complete(marked).labels, expected, marked);
});

test('tables stand where a table is named, columns where an expression is', () => {
  for (const marked of ['SELECT * FROM cu|', 'SELECT * FROM orders, cu|', 'INSERT INTO cu|', 'DESC cu|', 'SELECT * FROM orders JOIN cu|', 'UPDATE cu|']) {
    assert.equal(complete(marked).labels[0], 'customers', marked);
  }
  assert.equal(complete('SELECT na| FROM customers').labels[0], 'name');
  assert.equal(complete('SELECT 1 FROM customers ORDER BY id DESC, na|').labels[0], 'name');
  assert.equal(complete('INSERT INTO customers VALUES (1) ON DUPLICATE KEY UPDATE na|').labels[0], 'name');
  assert.equal(complete('USE s|').labels[0], 'shop');
  assert.equal(complete('SELECT * FROM customers w|').labels[0], 'WHERE');
});

test('nothing is offered in strings, comments, numbers and variables', () => {
  for (const marked of ["SELECT 'cu|'", "SELECT 'cu|", '-- cu|', 'SELECT /* cu| */ 1', '# cu|\nSELECT 1', 'SELECT 12|', 'SELECT @cu|', 'SELECT "it|']) {
    assert.deepEqual(complete(marked).labels, [], marked);
  }
  assert.ok(complete("SELECT 'x', na| FROM customers").labels.includes('name'));
});

test('what is taken replaces the word and is quoted when it must be', () => {
  assert.equal(complete('SELECT ke| FROM customers').inserts.find((insert) => insert.startsWith('`')), '`key`');
  assert.equal(complete('SELECT * FROM `cu|').taken, 'SELECT * FROM customers');
  assert.equal(complete('SELECT o.cu|stom FROM orders o').taken, 'SELECT o.customer_id FROM orders o');
});

test('only tables that exist have their columns asked for', () => {
  const unknown = { ...catalogue, tables: () => undefined, columns: () => undefined };
  assert.deepEqual(complete('SELECT o.| FROM orders o', unknown).missing, [{ db: 'shop' }]);
  assert.deepEqual(complete('WITH w AS (SELECT 1) SELECT w.| FROM w', { ...catalogue, columns: () => undefined }).missing, []);
  assert.deepEqual(complete('SELECT o.| FROM orders o', { ...catalogue, columns: () => undefined }).missing, [{ db: 'shop', table: 'Orders' }]);
  assert.deepEqual(complete('SELECT sal| FROM hr.staff', unknown).missing, [{ db: 'hr' }]);
  assert.deepEqual(complete('SELECT sal| FROM hrr.staff', unknown).missing, []);
});

test('a name already typed is not offered again, better matches come first', () => {
  assert.deepEqual(complete('SELECT o.total| FROM orders o').labels, []);
  assert.deepEqual(['name', 'first_name', 'rename', 'n_a_m_e', 'x'].map((label) => matchScore(label, 'name')), [0, 1, 2, 3, -1]);
});

test('a list that opens by itself offers keywords and functions by their beginning alone', () => {
  const offered = (sql, asked) => completionItems(completionContext(sql, sql.length), catalogue, { asked }).items;
  const labels = (sql, asked) => offered(sql, asked).map(({ label }) => label);
  assert.ok(labels('SELECT id', true).includes('LAST_INSERT_ID()'));
  assert.deepEqual(labels('SELECT id', false), []);
  assert.ok(labels('SELECT 1 GROUP BY status', true).includes('SHOW STATUS LIKE'));
  assert.deepEqual(labels('SELECT 1 GROUP BY status', false), []);
  assert.ok(labels('SELECT 1 FROM orders WHERE er_i', false).includes('customer_id'));
});

test('a condition is completed as that of its statement', () => {
  const labels = (free) => {
    const sql = `SELECT * FROM \`shop\`.\`orders\` WHERE ${free}`;
    return completionItems(completionContext(sql, sql.length), catalogue, { asked: false }).items.map(({ label }) => label);
  };
  assert.ok(labels('cust').includes('customer_id'));
  assert.ok(labels('1 AND coal').includes('COALESCE()'));
});

test('what is typed in full comes first, and an item tells how it matches', () => {
  const list = (sql) => completionItems(completionContext(sql, sql.length), catalogue).items;
  const [first, second] = list('SELECT 1 WHERE a or');
  assert.deepEqual([first.label, first.match, second.match], ['OR', 'whole', 'beginning']);
  assert.equal(list('SELECT 1 FROM orders WHERE er_i')[0].match, 'part');
  assert.deepEqual(list('SELECT coal').map(({ insert, match }) => [insert, match])[0], ['COALESCE', 'beginning']);
  assert.equal(list('SELECT o.')[0]?.match ?? 'part', 'part');
});

test('identifiers are quoted only when they need it', () => {
  const cases = [['orders', 'orders'], ['order', '`order`'], ['Select', '`Select`'], ['a b', '`a b`'], ['a`b', '`a``b`'], ['1st', '`1st`'], ['größe', 'größe'], ['$x', '`$x`'], ['x$', 'x$'], ['a-b', '`a-b`'], ['rank', '`rank`'], ['', '``']];
  for (const [name, quoted] of cases) {
    assert.equal(quoteIdentifier(name), quoted);
    assert.equal(unquoteIdentifier(quoted), name);
  }
  assert.equal(selectAll('orders'), 'SELECT * FROM orders LIMIT 100');
  assert.equal(selectAll('my table'), 'SELECT * FROM `my table` LIMIT 100');
});

test('statements that lose data are named', () => {
  const cases = [
    ['DROP TABLE t', 'DROP TABLE'], ['drop database x', 'DROP DATABASE'], ['/* x */ TRUNCATE t', 'TRUNCATE'], ['DELETE FROM t', 'DELETE without WHERE'],
    ['UPDATE t SET a = (SELECT 1 FROM b WHERE c = 1)', 'UPDATE without WHERE'], ['DELETE FROM t WHERE id = 1', null], ['UPDATE t SET a = 1 WHERE b', null],
    ['SELECT 1', null], ["SELECT 'DROP TABLE t'", null], ['EXPLAIN DELETE FROM t', null], ['UPDATE t SET `where` = 1', 'UPDATE without WHERE'],
    ['WITH x AS (SELECT 1 WHERE 1) DELETE FROM t', 'DELETE without WHERE'], ['CREATE OR REPLACE TABLE t (a INT)', 'CREATE OR REPLACE TABLE'], ['CREATE OR REPLACE VIEW v AS SELECT 1', null],
    ['ANALYZE DELETE FROM t', 'DELETE without WHERE'], ['SET STATEMENT max_statement_time=1 FOR UPDATE t SET a = 1', 'UPDATE without WHERE'],
    ['/*!50000 DROP TABLE t */', 'DROP TABLE'], ['', null],
    ['ALTER TABLE t DROP COLUMN c', 'ALTER TABLE … DROP COLUMN'], ['alter table t add d int, drop c', 'ALTER TABLE … DROP COLUMN'], ['ALTER TABLE t DROP IF EXISTS c', 'ALTER TABLE … DROP COLUMN'],
    ['ALTER ONLINE TABLE t DROP `index`', 'ALTER TABLE … DROP COLUMN'], ['ALTER TABLE t DROP period', 'ALTER TABLE … DROP COLUMN'], ['ALTER TABLE t DROP PERIOD FOR SYSTEM_TIME', null],
    ['ALTER TABLE t ADD d INT /*!50001 , DROP COLUMN c */', 'ALTER TABLE … DROP COLUMN'], ['SET STATEMENT lock_wait_timeout=1 FOR ALTER TABLE t DROP c', 'ALTER TABLE … DROP COLUMN'],
    ['ALTER TABLE t DROP PARTITION p0, p1', 'ALTER TABLE … DROP PARTITION'], ['ALTER TABLE t DROP PARTITION IF EXISTS p0', 'ALTER TABLE … DROP PARTITION'],
    ['ALTER TABLE t TRUNCATE PARTITION ALL', 'ALTER TABLE … TRUNCATE PARTITION'], ['ALTER TABLE t EXCHANGE PARTITION p WITH TABLE u', 'ALTER TABLE … EXCHANGE PARTITION'],
    ['ALTER TABLE t DISCARD TABLESPACE', 'ALTER TABLE … DISCARD TABLESPACE'], ['ALTER TABLE t DISCARD PARTITION p TABLESPACE', 'ALTER TABLE … DISCARD TABLESPACE'], ['ALTER TABLE t IMPORT TABLESPACE', null],
    ['ALTER TABLE t DROP SYSTEM VERSIONING', 'ALTER TABLE … DROP SYSTEM VERSIONING'], ['ALTER TABLE t ENGINE=BLACKHOLE', 'ALTER TABLE … ENGINE = BLACKHOLE'], ['ALTER IGNORE TABLE t ADD UNIQUE (a)', 'ALTER IGNORE TABLE'],
    ['ALTER TABLE t DROP INDEX i, DROP KEY j, DROP PRIMARY KEY, DROP FOREIGN KEY f, DROP CHECK c, DROP CONSTRAINT d', null], ['ALTER TABLE t ALTER c DROP DEFAULT', null],
    ['ALTER TABLE t ADD truncate INT, ADD discard INT', null], ["ALTER TABLE t COMMENT 'DROP COLUMN c'", null], ['ALTER TABLE t REMOVE PARTITIONING', null], ['DROP INDEX i ON t', null],
    ['DROP PREPARE s', null], ['DROP SCHEMA s', 'DROP SCHEMA'], ['CREATE OR REPLACE DATABASE d', 'CREATE OR REPLACE DATABASE'], ['CREATE OR REPLACE TEMPORARY TABLE t (a INT)', 'CREATE OR REPLACE TABLE'],
    ['ALTER TABLESPACE s DROP DATAFILE \'f\'', 'ALTER TABLESPACE … DROP DATAFILE'], ['SET STATEMENT lock_wait_timeout=1 FOR DROP TABLE t', 'DROP TABLE'], ['ALTER USER u IDENTIFIED BY \'drop\'', null],
  ];
  for (const [sql, expected] of cases) assert.equal(dangerOf(sql)?.statement ?? null, expected, sql);
});

test('the place of a refusal is where its reason stands', () => {
  const sql = "SELECT 'žluť', f_add(1, 2)";
  const at = offsetOf(sql, new TextEncoder().encode("SELECT 'žluť', ").length);
  assert.deepEqual(errorSpan(sql, 'refused', at), { start: 15, end: 20 });
  assert.equal(offsetOf(sql, undefined), undefined);
});

test('the place of an error is found from the message', () => {
  const at = (sql, message) => { const span = errorSpan(sql, message); return span && sql.slice(span.start, span.end); };
  const near = (text, line) => `You have an error in your SQL syntax; … near '${text}' at line ${line}`;
  assert.equal(at('SELECT 1\nFORM t', near('FORM t', 2)), 'FORM');
  assert.equal(at('SELECT a FROM a\nWHERE a a', near('a', 2)), 'a');
  assert.equal(at('SELECT * FROM', near('', 1)), 'FROM');
  assert.equal(at("SELECT 'it''s' x y", near('y', 1)), 'y');
  assert.equal(at('SELECT x.nosuch FROM t x', "Unknown column 'x.nosuch' in 'SELECT'"), 'nosuch');
  assert.equal(at('SELECT * FROM `no such`', "Table 'shop.no such' doesn't exist"), '`no such`');
  assert.equal(at('SELECT nofunc(1)', 'FUNCTION shop.nofunc does not exist'), 'nofunc');
  assert.equal(at('SELECT 1', 'Lost connection'), null);
});

test('a statement whose password was left out is known', () => {
  const sql = "CREATE USER u@localhost IDENTIFIED BY 'secret'";
  assert.equal(leftOutAt(sql), -1);
  assert.equal(leftOutAt(withoutSecrets(sql)), sql.indexOf("'secret'"));
  assert.equal(leftOutAt("SELECT '***' AS stars, password FROM t"), -1);
});

const secrets = await readVectors('secrets.json');

test('passwords never reach the storage, and other literals stay as they are', () => {
  for (const { sql, kept } of secrets) {
    const got = withoutSecrets(sql);
    if (kept !== null) assert.equal(got, kept, sql);
    if (kept !== sql) assert.ok(!got.includes('geheim'), `${sql}: ${got}`);
  }
});

test('a text that was altered is known for it, and is not altered once more', () => {
  for (const { sql } of secrets) {
    const got = withoutSecrets(sql);
    assert.equal(leftOutAt(got) >= 0, got !== sql, got);
    assert.equal(leftOutAt(sql), -1, sql);
    assert.equal(withoutSecrets(got), got);
  }
});

test('a statement of a kept text is known for altered by itself', () => {
  for (const { sql } of secrets) {
    const got = withoutSecrets(sql);
    const alone = splitScript(got).some((statement) => leftOutAt(statement.sql) >= 0);
    assert.equal(alone, got !== sql, got);
  }
});

test('what the server said of a statement with a secret is kept without its words', () => {
  const sql = "create usr zz identified by 'geheim'";
  const said = (text) => errorWithoutSecrets(sql, withoutSecrets(sql), text);
  assert.equal(said("You have an error in your SQL syntax; … to use near 'usr zz identified by 'geheim'' at line 1"), 'You have an error in your SQL syntax; … to use near …');
  assert.equal(said('Access denied'), 'Access denied');
  assert.equal(said(null), null);
  const plain = "Table 'shop.x' doesn't exist";
  assert.equal(errorWithoutSecrets('select 1', withoutSecrets('select 1'), plain), plain);
});

test('the history keeps its caps, joins repeats and is searched by words', () => {
  const entry = (sql, at = 1) => ({ sql, db: 'shop', at, ms: 1, rows: 1, error: null });
  let list = [];
  for (let i = 0; i < MAX_ENTRIES + 50; i += 1) list = addEntry(list, entry(`SELECT ${i}`, i));
  assert.equal(list.length, MAX_ENTRIES);
  assert.equal(addEntry(list, entry(list[0].sql, 9)).length, MAX_ENTRIES);
  const [cut] = addEntry([], entry('x'.repeat(MAX_SQL + 1)));
  assert.equal(cut.cut, true);
  assert.ok(/cut off/.test(whyAltered(cut.sql)?.text ?? ''), 'it does not run as it stands');
  assert.equal(whyAltered('SELECT 1'), null);
  assert.deepEqual(searchHistory([entry('SELECT a FROM b'), entry('UPDATE b')], 'FROM select').length, 1);
  assert.deepEqual(readHistory('nonsense'), []);
  assert.equal(readHistory([null, { sql: 1 }, entry('SELECT 1')]).length, 1);
});

test('colours of a part are those of the whole, after edits too', () => {
  const line = "SELECT 'it''s; -- no', `a b`, 12.5 /* c */ FROM t WHERE x = @y; -- z\n";
  let text = line.repeat(1500);
  const highlighter = new Highlighter();
  const check = (start, end) => {
    while (!highlighter.advance(start, 5));
    const expected = tokens(text).filter((token) => token.end > start && token.start < end && token.end <= end);
    const actual = highlighter.spans(start, end).filter((span) => span.start < end && span.end <= end);
    assert.deepEqual(actual.slice(0, -1), expected.slice(0, actual.length - 1));
  };
  highlighter.setText(text);
  check(60 * line.length, 70 * line.length);
  check(1400 * line.length, 1420 * line.length);
  text = `${text.slice(0, 5000)}/*${text.slice(5000)}`;
  highlighter.setText(text);
  check(0, 3000);
  text = text.replace('/*', '');
  highlighter.setText(text);
  check(1400 * line.length, 1420 * line.length);
});

test('a long script is split whole', async () => {
  const text = "INSERT INTO t VALUES ('a;b');\n".repeat(20000);
  const found = await scriptStatements(text);
  assert.equal(found.length, 20000);
  assert.equal(text.slice(found[19999].start, found[19999].end), found[19999].sql);
});

test('a command of the consoles is a line by itself', () => {
  const text = 'use my-db\nSELECT 1\\G\n\\. x.sql\nsource a b.sql\n\\! ls; SELECT 2;\nexit\r\nSELECT\nstatus\nFROM t; help\nUSE\nb;';
  assert.deepEqual(splitScript(text).map(({ sql }) => sql), ['use my-db', 'SELECT 1', '\\. x.sql', 'source a b.sql', '\\! ls', 'SELECT 2', 'exit',
    'SELECT\nstatus\nFROM t', 'help', 'USE\nb']);
});

test('scripts are split as the shared vectors say', async () => {
  for (const { sql, statements, server, modes = '' } of await readVectors('split.json')) {
    const dialect = { mariadb: server !== 'mysql', ansiQuotes: modes.includes('ANSI_QUOTES'), noBackslashEscapes: modes.includes('NO_BACKSLASH_ESCAPES') };
    assert.deepEqual(splitScript(sql, dialect).map((part) => part.sql), statements, sql);
  }
});

test('what an editor holds while it is typed is lexed to its end', () => {
  const lexed = (sql) => tokens(sql).map(({ type, start, end }) => `${type} ${sql.slice(start, end)}`);
  assert.deepEqual(lexed('\\N, @@`a`, @`b`, ?'), ['operator \\N', 'punct ,', 'variable @@`a`', 'punct ,', 'variable @`b`', 'punct ,', 'operator ?']);
  assert.deepEqual(lexed("1e+ x'4z @ $a"), ['identifier 1e', 'operator +', "number x'4", 'identifier z', 'operator @', 'identifier $a']);
  for (const open of ["'a", '"a', '`a', '/* a', "@'a"]) assert.deepEqual(lexed(`1 ${open}\nb;`).slice(1).map((text) => text.replace(/^\w+ /, '')), [`${open}\nb;`]);
});

const { kindOf, namesCharset, openSource } = await import('../../html/sql/workbench/scriptsource.js');

test('scripts: a file is unpacked and decoded by its first bytes, in pieces that begin where the last statement ended', async () => {
  const text = '\u{feff}SELECT 1;\nSELECT \'žluť 🐴\';\n';
  const utf16 = new Uint8Array(new Uint16Array([...text].flatMap((char) => char.split('').map((unit) => unit.charCodeAt(0)))).buffer);
  const packed = async (bytes) => new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(new CompressionStream('gzip'))).arrayBuffer());
  const raw = new Uint8Array([0x53, 0xff, 0x00, 0xe9, 0x3b]);
  const utf8 = new TextEncoder().encode(text.slice(1));
  for (const [bytes, expected] of [[raw, raw], [await packed(raw), raw], [utf16, utf8], [await packed(utf8), utf8]]) {
    const source = await openSource(new File([bytes], 'x'));
    const got = [];
    for (let at = 0, isLast = false; !isLast;) {
      const piece = await source.piece(at, 4);
      got.push(...new Uint8Array(await new Blob([piece.bytes]).arrayBuffer()).slice(0, 3 + Number(piece.isLast)));
      at += 3;
      isLast = piece.isLast;
    }
    assert.deepEqual(got, [...expected]);
    assert.equal(source.share(expected.length), 1);
    source.end();
  }
  assert.deepEqual(kindOf(new Uint8Array([0x1f, 0x8b, 8, 0])), { packed: true, encoding: '' });
  assert.deepEqual(kindOf(new Uint8Array([])), { packed: false, encoding: '' });
});

test('scripts: a file that names another character set than UTF-8 is run from the file', () => {
  for (const text of ['SET NAMES latin1;', '/*!40101 SET NAMES binary */;', 'set character_set_client = cp1250', "SET CHARSET 'koi8r'"]) assert.ok(namesCharset(text), text);
  for (const text of ['SET NAMES utf8mb4', '/*!40101 SET character_set_client = utf8 */', 'SET CHARACTER_SET_CLIENT=@OLD_CHARACTER_SET_CLIENT', "SELECT 'names latin1'"]) assert.ok(!namesCharset(text), text);
});

test('a syntax error at a command of the console says what to do, and no other error does', () => {
  const error = (near, errno = 1064) => ({ errno, message: `You have an error in your SQL syntax; check the manual that corresponds to your MariaDB server version for the right syntax to use near '${near}' at line 1` });
  const told = (near, errno) => hintOf(error(near, errno));
  assert.ok(/^ source is a console command/.test(told('source dump.sql')), told('source dump.sql'));
  assert.ok(/^ source is/.test(told('\\. dump.sql')), told('\\. dump.sql'));
  assert.ok(/^ Commands with a backslash/.test(told('\\! id')), told('\\! id'));
  assert.ok(/close the tab/.test(told('exit')), told('exit'));
  assert.ok(/close the tab/.test(told('quit\nSELECT 1')), told('quit\nSELECT 1'));
  for (const near of ['', 'sources a', 'exit_code', "it's source x", 'FROM source x', 'helper']) assert.equal(told(near), '', near);
  assert.equal(told('source dump.sql', 1146), '');
  for (const none of [null, {}, { errno: 1064 }, { errno: 1064, message: 'no place is told' }]) assert.equal(hintOf(none), '');
  assert.equal(consoleHint(' SELECT 1 '), '');
  assert.ok(/F1/.test(consoleHint('\n? ')), consoleHint('\n? '));
});

test('what has no plan is told, and what may have one is sent', () => {
  for (const sql of ['SELECT 1', '(SELECT 1)', '-- x\n# y\n/* z */ with a AS (SELECT 1) TABLE a', '/*! SELECT 1 */', 'EXPLAIN FORMAT=JSON UPDATE t SET a = 1', '']) assert.equal(noPlan(sql), '', sql);
  assert.ok(/^CREATE has no plan/.test(noPlan('/* a */ create TABLE t (a INT)')), noPlan('/* a */ create TABLE t (a INT)'));
  assert.ok(/^SELECTED has no plan/.test(noPlan('EXPLAIN FORMAT=JSON SELECTED')), noPlan('EXPLAIN FORMAT=JSON SELECTED'));
});
