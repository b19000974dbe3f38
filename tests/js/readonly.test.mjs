// The page's own check in read-only mode, on the vectors that the server's gate must agree with.
import { readOnlyRefusal } from '../../html/sql/core/readonly.js';
import { assert, readVectors, test } from './shim.mjs';

const BLOCKED = ['INSERT', 'UPDATE', 'DELETE', 'DROP', 'ALTER', 'CREATE', 'TRUNCATE', 'RENAME', 'REPLACE', 'GRANT', 'REVOKE'];
const QUERIES = ['SELECT', 'WITH', 'VALUES', 'TABLE', 'SHOW', 'DESC', 'DESCRIBE', 'EXPLAIN', 'ANALYZE', 'USE', 'HELP'];

const vectors = await readVectors('gate.json');

/** First word of a text behind comments and parentheses, found without the page's lexer. */
function beginning(sql) {
  const skipped = /^(?:[\s(;]|\/\*(?![!]|M!)[\s\S]*?\*\/|(?:#|--(?=\s|$))[^\n]*(?:\n|$))*/.exec(sql)[0].length;
  const word = /^[\w$\u0080-\uffff]+(?![\w$.])/.exec(sql.slice(skipped))?.[0].replace(/[a-z]+/g, (part) => part.toUpperCase()) ?? '';
  return { word, isEmpty: skipped === sql.length };
}

test('the page refuses the statements of the specification, however they are written', () => {
  for (const word of BLOCKED) {
    for (const sql of [`${word} x`, `${word.toLowerCase()} x`, `/* a */ ${word} x`, `-- a\n${word} x`, `#a\n${word} x`, `(${word} x)`, `SELECT 1; ${word} x`, `SELECT ';'; ; ${word} x`]) {
      assert.ok(readOnlyRefusal(sql)?.startsWith(`read-only mode: ${word} refused by the page, nothing was sent: `), sql);
    }
  }
});

test('the page refuses what does not begin as a query, and nothing that the server’s gate takes', () => {
  const wrong = vectors.filter(({ sql, ok }) => {
    const { word, isEmpty } = beginning(sql);
    const refused = readOnlyRefusal(sql) !== null;
    return ok ? refused : !refused && !isEmpty && !QUERIES.includes(word);
  });
  assert.deepEqual(wrong.map(({ sql }) => sql), []);
  const blocked = vectors.filter(({ sql }) => BLOCKED.includes(beginning(sql).word));
  assert.ok(blocked.length > 20 && blocked.every(({ ok }) => !ok), `${blocked.length} vectors begin with a blocked word`);
});

test('a refusal names little of what is not closed', () => {
  assert.ok(readOnlyRefusal(`'${'x'.repeat(1000)}`).length < 250);
  assert.equal(readOnlyRefusal('/*! SELECT */ 1')?.includes(': /*! refused'), true);
  assert.equal(readOnlyRefusal(''), null);
});

test('a slip of the finger is not called a write', () => {
  assert.ok(readOnlyRefusal('selct * FROM t')?.startsWith('SELCT does not start a known statement, nothing was sent: did you mean SELECT?'));
  assert.ok(readOnlyRefusal('SHWO TABLES')?.includes('did you mean SHOW?'));
  assert.equal(readOnlyRefusal('frobnicate')?.includes('did you mean'), false);
  assert.ok(readOnlyRefusal('SET @x = 1')?.startsWith('read-only mode: SET refused'));
});
