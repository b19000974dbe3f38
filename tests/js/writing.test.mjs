import { formatScript, formatStatement, samePlace, stream } from '../../html/sql/core/formatsql.js';
import { splitScript, statementAt } from '../../html/sql/core/lexer.js';
import { StatementIndex } from '../../html/sql/core/statements.js';
import { expressionOf, findAll, replaceAll } from '../../html/sql/core/textfind.js';
import { parametersOf, withParameters, wrongWith } from '../../html/sql/core/parameters.js';
import { foldersOf, merged, readSaved, withQuery } from '../../html/sql/core/savedqueries.js';
import { visible } from '../../html/sql/core/cells.js';
import { assert, readText, test } from './shim.mjs';

test('formatting changes nothing but space, and is the same when done again', async () => {
  let count = 0;
  for (const name of ['common', 'mariadb', 'mysql', 'common-setup', 'mariadb-setup', 'mysql-setup']) {
    const text = await readText(`everyday/${name}.sql`);
    assert.equal(stream(formatScript(text)), stream(text), name);
    for (const { sql } of splitScript(text)) {
      count += 1;
      const done = formatStatement(sql);
      assert.equal(stream(done), stream(sql), sql);
      assert.equal(formatStatement(done), done, sql);
      assert.ok(!/[ \t]\n/.test(done.replace(/'[^']*'|\/\*[^]*?\*\//g, 'x')), done);
    }
  }
  assert.ok(count > 800, `${count} statements`);
});

test('formatting puts clauses on lines and keeps short ones together', () => {
  assert.equal(formatStatement('select a,b from t where x=1 order by a limit 5'), 'select a, b\nfrom t\nwhere x = 1\norder by a\nlimit 5');
  assert.equal(formatStatement('SELECT 1 FROM a LEFT OUTER JOIN b ON a.id=b.id AND b.x BETWEEN 1 AND 2 WHERE (a.x = 1 OR EXTRACT(YEAR FROM a.d) = 2)'),
    'SELECT 1\nFROM a\nLEFT OUTER JOIN b ON a.id = b.id AND b.x BETWEEN 1 AND 2\nWHERE (a.x = 1 OR EXTRACT(YEAR FROM a.d) = 2)');
  assert.equal(formatStatement("SELECT customers.name, customers.email, COUNT(*)  AS orders_placed, 'a  b' AS text_kept FROM customers"),
    "SELECT customers.name,\n  customers.email,\n  COUNT(*) AS orders_placed,\n  'a  b' AS text_kept\nFROM customers");
  assert.equal(formatStatement('SELECT * FROM (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id HAVING n > 10) d'),
    'SELECT *\nFROM (\n  SELECT customer_id, COUNT(*) AS n\n  FROM orders\n  GROUP BY customer_id\n  HAVING n > 10\n) d');
  assert.equal(formatStatement('SELECT 1 -- one\n, 2 /* two */ FROM t'), 'SELECT 1 -- one\n  , 2 /* two */\nFROM t');
  assert.equal(formatStatement('SELECT 1 - -1, a--1, count (*), t.`from`'), 'SELECT 1 - -1, a--1, count (*), t.`from`');
  assert.equal(formatStatement("insert into t(a,b) values (1,'x'),(2,'y') on duplicate key update a=values(a)"), "insert into t(a, b)\nvalues (1, 'x'), (2, 'y')\non duplicate key update a = values(a)");
  for (const sql of ['CREATE PROCEDURE p() BEGIN SELECT 1;  SELECT 2; END', 'SELECT /*!40001 SQL_NO_CACHE */ 1  FROM t']) assert.equal(formatStatement(sql), sql);
  assert.equal(formatScript('DELIMITER $$\nselect 1  from t$$\nDELIMITER ;\n-- end  \n'), 'DELIMITER $$\nselect 1\nfrom t$$\nDELIMITER ;\n-- end  \n');
  assert.equal(samePlace('select a,b', 9, 'select a, b'), 9);
  for (const [text, done] of [
    ['select 1;select 2; select 3;', 'select 1;\nselect 2;\nselect 3;'], ['DELIMITER //\nselect 1//select 2//\nDELIMITER ;\nselect 3;select 4', 'DELIMITER //\nselect 1//\nselect 2//\nDELIMITER ;\nselect 3;\nselect 4'],
    ['drop table a;create table a (b int);;select 1', 'drop table a;\ncreate table a (b int);;\nselect 1'], ['select 1;/* two */ select 2', 'select 1;\n/* two */ select 2'],
    ['select 1; /* one */ -- of\nselect 2 # ;\n;select 3', 'select 1; /* one */ -- of\nselect 2 # ;\n;\nselect 3'], ['select 1;\r\n\r\n  select 2', 'select 1;\r\n\r\n  select 2'], ['select 1;/* a\nb */select 2', 'select 1;\n/* a\nb */select 2'],
  ]) {
    assert.equal(formatScript(text), done);
    assert.equal(formatScript(done), done);
  }
});

test('formatting keeps signs of several characters whole', () => {
  const signs = ['=', '<', '>', '<=', '>=', '<>', '!=', '<=>', ':=', '||', '&&', '<<', '>>', '->', '->>', '+', '-', '*', '/', '%', '^', '|', '&'];
  for (const sign of signs) {
    for (const [left, right] of [[' ', ' '], ['', '']]) {
      const sql = `SELECT a${left}${sign}${right}b FROM t WHERE (c${left}${sign}${right}d) AND e${left}${sign}${right}-1`;
      const done = formatStatement(sql);
      assert.equal(done.replace(/\s/g, ''), sql.replace(/\s/g, ''));
      assert.ok(done.includes(sign) && done.split(sign).length >= 4, done);
    }
  }
  assert.equal(formatStatement('SELECT a FROM t WHERE a>=1 AND b<>2 AND c<=>NULL'), 'SELECT a\nFROM t\nWHERE a >= 1 AND b <> 2 AND c <=> NULL');
  assert.ok(stream('a > = b') !== stream('a >= b'));
});

test('the statement at the caret is found from remembered places as from the beginning', () => {
  const line = "SELECT 'a;b', 1; -- c;\n INSERT INTO t VALUES (1);\n";
  let text = line.repeat(200) + 'DELIMITER //\nSELECT 3; SELECT 4//\n' + line.repeat(20);
  const index = new StatementIndex();
  index.setText(text, 0);
  const check = () => { for (let at = 0; at <= text.length; at += 37) assert.deepEqual(index.at(at), statementAt(text, at), `at ${at}`); };
  check();
  text = `${text.slice(0, 5000)}/*${text.slice(5000)}`;
  index.setText(text, 5000);
  check();
  while (index.at(text.length, 0) === undefined);
});

test('finding and replacing: case, whole words, expressions', () => {
  const find = (text, wanted) => findAll(text, expressionOf({ matchCase: false, word: false, regex: false, ...wanted })).map(({ start }) => start);
  assert.deepEqual(find('ID id (id) did', { text: 'id' }), [0, 3, 7, 12]);
  assert.deepEqual(find('ID id (id) did', { text: 'id', matchCase: true, word: true }), [3, 7]);
  assert.deepEqual(find('a.b a+b', { text: '.' }), [1]);
  assert.deepEqual(find('a1 b22', { text: '\\d+', regex: true }), [1, 4]);
  assert.throws(() => expressionOf({ text: '(', matchCase: false, word: false, regex: true }));
  const replaced = (text, wanted, by) => {
    const change = replaceAll(text, expressionOf({ matchCase: false, word: false, regex: false, ...wanted }), by, wanted.regex === true);
    return change && text.slice(0, change.start) + change.text + text.slice(change.end);
  };
  assert.equal(replaced('a a b', { text: 'a' }, '$&$1'), '$&$1 $&$1 b');
  assert.equal(replaced('x=1, y=2', { text: '(\\w)=(\\d)', regex: true }, '$2=$1$$'), '1=x$, 2=y$');
  assert.equal(replaced('abc', { text: 'z' }, ''), null);
});

test('joiners between emoji are shown as the emoji they make, elsewhere as signs', () => {
  const marks = (text) => visible(text).filter(({ mark }) => mark).map(({ text: shown }) => shown);
  assert.deepEqual(marks('👨‍👩‍👧‍👦 ❤️‍🔥 👩🏽‍💻'), []);
  assert.deepEqual(marks('a\u200db'), ['‹200D›']);
  assert.deepEqual(marks('👨\u200dx\u202e'), ['‹200D›', '‹202E›']);
});

test('parameters are found where they are meant, and written so that they are one value', () => {
  const names = (sql) => parametersOf(sql).map(({ name }) => name);
  assert.deepEqual(names("SELECT ':a', `:b`, \":c\", :d /* :e */ -- :f\n, :d"), ['d', 'd']);
  for (const sql of ['SELECT a::b', "SELECT 12:30, '12:30'", 'lbl:LOOP', 'lbl :LOOP', 'lbl :BEGIN NOT ATOMIC SELECT 1; END', 'lbl :begin', '`a b` :BEGIN', '/* x */ lbl :WHILE', 'SELECT @a:=1', 'CREATE PROCEDURE p() BEGIN l :x LOOP', ':a', 'SELECT : a', 'SELECT :1a']) assert.deepEqual(names(sql), [], sql);
  for (const sql of ['SELECT :begin', 'SELECT a, :loop', 'SELECT a FROM t WHERE b = :while']) assert.equal(names(sql).length, 1, sql);
  assert.deepEqual(names('SELECT a FROM t WHERE b=:b AND c IN (:list) LIMIT :n'), ['b', 'list', 'n']);
  const fill = (type, value, sql = 'SELECT :x') => withParameters(sql, { x: { type, value } });
  assert.equal(fill('text', "it's"), "SELECT 'it''s'");
  assert.equal(fill('text', "\\' OR 1=1 -- "), "SELECT _utf8mb4 X'5c27204f5220313d31202d2d20'");
  assert.equal(fill('text', ':x'), "SELECT ':x'");
  assert.equal(fill('number', ' -5 '), 'SELECT (-5)');
  assert.equal(fill('null', 'x'), 'SELECT NULL');
  assert.equal(fill('list', '1, 2\n3', 'SELECT 1 IN (:x)'), 'SELECT 1 IN (1, 2, 3)');
  assert.equal(fill('list', "a, o'b", 'SELECT 1 IN :x'), "SELECT 1 IN ('a', 'o''b')");
  assert.deepEqual([wrongWith({ type: 'number', value: '1 OR 1' }), wrongWith({ type: 'list', value: ' ,' }), wrongWith({ type: 'number', value: '1e3' })], ['not a number', 'the list is empty', '']);
});

test('saved queries: a file adds to what is there and replaces nothing', () => {
  const one = { name: 'a', folder: '', sql: 'SELECT 1', db: 'x', at: 1 };
  const { list, added } = merged([one], readSaved({ queries: [one, { ...one, sql: 'SELECT 2' }, { name: 'b', sql: 'SELECT 3', folder: 'f' }, { name: '', sql: 'x' }, 5] }));
  assert.deepEqual([added, list.map(({ folder, name, sql }) => `${folder}/${name} ${sql}`)], [2, ['/a SELECT 1', '/a (2) SELECT 2', 'f/b SELECT 3']]);
  assert.deepEqual(foldersOf(list, 'select 3').map(({ folder }) => folder), ['f']);
  assert.equal(withQuery(list, { ...one, sql: 'SELECT 9' }).length, 3);
  assert.deepEqual(readSaved('nonsense'), []);
});
