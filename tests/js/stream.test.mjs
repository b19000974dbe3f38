import { JsonStreamParser } from '../../html/sql/core/jsonstream.js';
import { readQuery } from '../../html/sql/core/stream.js';
import { assert, test } from './shim.mjs';

const json = { 'content-type': 'application/json' };
const encoder = new TextEncoder();

/** A response that arrives in the given pieces, or cut into pieces of `size` bytes. */
function responseOf(text, { size = Infinity, status = 200, headers = json, fail = null } = {}) {
  const bytes = encoder.encode(text);
  let at = 0;
  const body = new ReadableStream({
    pull(controller) {
      if (at < bytes.length) {
        controller.enqueue(bytes.slice(at, Math.min(bytes.length, at + size)));
        at += size;
      } else if (fail) controller.error(fail);
      else controller.close();
    },
  });
  return new Response(body, { status, headers });
}

const document = {
  data: {
    columns: ['id', 'name', 'a"b\\', '1'],
    types: ['INT', 'VARCHAR', 'JSON', 'DECIMAL'],
    rows: [
      { id: 1, name: 'x"]},{[\\', 'a"b\\': '{"k":[1,2]}', 1: '0.10' },
      { id: null, name: 'déjà 😀\u0000\n', 'a"b\\': null, 1: '-1' },
    ],
    count: 2,
    duration: '1.2ms',
    truncated: false,
    affected_rows: 0,
    last_insert_id: 0,
    warnings: [{ level: 'Note', code: 1, message: 'm' }],
  },
  code: 200,
};

test('an answer reads the same however it is cut', async () => {
  const text = JSON.stringify(document);
  for (const size of [1, 2, 3, 7, 64, Infinity]) {
    const answer = await readQuery(responseOf(text, { size }), { sql: 'S', db: 'd' });
    assert.equal(answer.code, 200);
    assert.equal(answer.results.length, 1);
    const [result] = answer.results;
    assert.deepEqual(result.columns, document.data.columns);
    assert.deepEqual(result.rows, [
      [1, 'x"]},{[\\', '{"k":[1,2]}', '0.10'],
      [null, 'déjà 😀\u0000\n', null, '-1'],
    ]);
    assert.deepEqual(result.warnings, document.data.warnings);
    assert.equal(result.duration, '1.2ms');
    assert.equal(result.sql, 'S');
  }
});

test('white space between tokens is allowed', async () => {
  const answer = await readQuery(responseOf(JSON.stringify(document, null, 3), { size: 5 }));
  assert.equal(answer.code, 200);
  assert.equal(answer.results[0].rows.length, 2);
});

test('a statement without a result set gives one result without columns', async () => {
  const text = '{"data":{"columns":[],"types":[],"rows":[],"count":0,"duration":"3ms","affected_rows":7,"last_insert_id":9},"code":200}';
  const { results } = await readQuery(responseOf(text));
  assert.equal(results.length, 1);
  assert.equal(results[0].hasColumns, false);
  assert.equal(results[0].affected_rows, 7);
  assert.equal(results[0].last_insert_id, 9);
});

test('a late failure keeps the rows and carries its own code', async () => {
  const text = '{"data":{"columns":["a"],"types":["INT"],"rows":[{"a":1},{"a":2}]},"code":400,"message":"killed","error":{"errno":1317,"sqlstate":"70100"}}';
  const answer = await readQuery(responseOf(text, { size: 9 }));
  assert.equal(answer.code, 400);
  assert.equal(answer.message, 'killed');
  assert.equal(answer.error.errno, 1317);
  assert.equal(answer.results[0].rows.length, 2);
});

test('an error before the rows has no results', async () => {
  const answer = await readQuery(responseOf('{"code":403,"message":"read-only mode: DELETE"}', { status: 403 }));
  assert.equal(answer.code, 403);
  assert.deepEqual(answer.results, []);
});

test('an answer that is cut off is an error that says so', async () => {
  const text = JSON.stringify(document);
  for (const end of [1, 20, 60, text.length - 1]) {
    const answer = await readQuery(responseOf(text.slice(0, end)));
    assert.equal(answer.code, 0);
    assert.ok(/cut off/.test(answer.message), answer.message);
  }
});

test('a lost connection and broken JSON are told apart', async () => {
  const lost = await readQuery(responseOf('{"data":{"columns":["a"],"rows":[{"a":1}', { fail: new TypeError('network') }));
  assert.ok(/connection was lost after 1 rows/.test(lost.message), lost.message);
  assert.ok(/Run the statement again/.test(lost.message), lost.message);
  const end = await readQuery(responseOf('{"data":{', { fail: new TypeError('network') }), { sql: '-- now\n commit' });
  assert.ok(/transaction was committed/.test(end.message) && !/again/.test(end.message), end.message);
  for (const text of ['{"data":}', '{"code":200}x', '{"code" 200}', ']', '{"data":{"rows":[{]}', '{"a":tru}']) {
    const broken = await readQuery(responseOf(text));
    assert.ok(/not valid JSON/.test(broken.message), `${text}: ${broken.message}`);
  }
});

test('an answer of something else than the API is shown with its status', async () => {
  const answer = await readQuery(responseOf('too big', { status: 431, headers: { 'content-type': 'text/plain' } }));
  assert.equal(answer.code, 431);
  assert.ok(/too big/.test(answer.message));
});

test('no more rows are kept than were asked for', async () => {
  const rows = Array.from({ length: 50 }, (_, a) => ({ a }));
  const { results } = await readQuery(responseOf(JSON.stringify({ data: { columns: ['a'], rows, count: 10 }, code: 200 })), { limit: 10 });
  assert.equal(results[0].rows.length, 10);
  assert.equal(results[0].truncated, true);
});

test('the results of a CALL come from its list, the repeated first one once', async () => {
  const result = (value) => ({ columns: ['a'], types: ['INT'], rows: [{ a: value }], count: 1 });
  const text = JSON.stringify({ data: { ...result(1), duration: '2ms', results: [result(1), result(2)] }, code: 200 });
  const { results } = await readQuery(responseOf(text, { size: 11 }));
  assert.deepEqual(results.map((r) => r.rows), [[[1]], [[2]]]);
  assert.equal(results[1].duration, '2ms');
});

test('odd column names do no harm', async () => {
  const text = '{"data":{"columns":["__proto__","constructor","toString"],"rows":[{"__proto__":1,"constructor":2,"toString":null}]},"code":200}';
  const { results } = await readQuery(responseOf(text));
  assert.deepEqual(results[0].rows, [[1, 2, null]]);
});

test('a signal ends the reading and keeps what arrived', async () => {
  const stop = new AbortController();
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(encoder.encode('{"data":{"columns":["a"],"rows":[{"a":1},'));
    },
  });
  const reading = readQuery(new Response(body, { headers: json }), {
    signal: stop.signal,
    onRows: () => stop.abort(),
  });
  const answer = await reading;
  assert.equal(answer.cancelled, true);
  assert.equal(answer.results[0].rows.length, 1);
});

test('what postern says of a whole call is told with each of its results', async () => {
  const set = (a) => ({ columns: ['a'], types: ['INT'], rows: [{ a }], count: 1, truncated: false });
  const warnings = [{ level: 'Note', code: null, message: 'told to stop' }, { level: 'Warning', code: 1, message: 'm' }];
  const text = JSON.stringify({ data: { ...set(1), results: [set(1), set(2)], warnings }, code: 200 });
  const { results } = await readQuery(responseOf(text));
  assert.deepEqual(results.map(({ notes }) => notes), [['told to stop'], ['told to stop']]);
  assert.deepEqual(results.map(({ warnings: all }) => all.length), [1, 2]);
});

test('the page gets its turn many times while 100,000 rows arrive', async () => {
  const row = JSON.stringify(Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`c${i}`, `value ${i}`])));
  const columns = JSON.stringify(Array.from({ length: 10 }, (_, i) => `c${i}`));
  const text = `{"data":{"columns":${columns},"rows":[${Array(100_000).fill(row).join(',')}]},"code":200}`;
  let turns = 0;
  let reading = true;
  const watch = () => {
    turns += 1;
    if (reading) setTimeout(watch, 0);
  };
  setTimeout(watch, 0);
  const { results } = await readQuery(responseOf(text, { size: 1 << 16 }));
  reading = false;
  assert.equal(results[0].rows.length, 100_000);
  assert.ok(turns > 5, `the page got ${turns} turns`);
});

test('a long string that spans many chunks is read in linear time', () => {
  const seen = [];
  const feed = new JsonStreamParser({ open: () => null, value: (key, value) => seen.push([key, value.length]) });
  feed.push('{"a":"');
  for (let i = 0; i < 4096; i += 1) feed.push('x\\n'.repeat(1000));
  feed.push('"}');
  assert.equal(feed.done, true);
  assert.deepEqual(seen, [['a', 4096 * 2000]]);
});
