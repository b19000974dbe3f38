// `test` and `assert` for tests that run in node and in a browser alike.

const inNode = typeof process !== 'undefined' && Boolean(process.versions?.node);
const nodeTest = inNode ? (await import('node:test')).test : null;

/** Tests registered outside node: `{ name, run }`. */
export const registered = [];

/** Registers a test with the runner that is there. */
export function test(name, run) {
  if (nodeTest) nodeTest(name, run);
  else registered.push({ name, run });
}

/** Runs what was registered; for pages. */
export async function runRegistered() {
  const outcomes = [];
  for (const { name, run } of registered) {
    const error = await Promise.resolve().then(run).then(() => null, (cause) => cause);
    outcomes.push({ name, ok: error === null, message: error ? String(error.message ?? error) : '' });
  }
  return outcomes;
}

const show = (value) => {
  const text = typeof value === 'string' ? JSON.stringify(value) : inspect(value);
  return text.length > 400 ? `${text.slice(0, 400)}…` : text;
};
const inspect = (value) => {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
};

/** Deep equality of plain data. */
function same(a, b) {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  const [x, y] = [Object.keys(a), Object.keys(b)];
  return Array.isArray(a) === Array.isArray(b) && x.length === y.length && x.every((key) => same(a[key], b[key]));
}

/** Assertions with messages that show both sides. */
export const assert = {
  ok(value, message = 'expected something true') {
    if (!value) throw new Error(message);
  },
  equal(actual, expected, message = '') {
    if (!Object.is(actual, expected)) throw new Error(`${message} got ${show(actual)}, expected ${show(expected)}`);
  },
  deepEqual(actual, expected, message = '') {
    if (!same(actual, expected)) throw new Error(`${message} got ${show(actual)}, expected ${show(expected)}`);
  },
  throws(run, pattern = /./) {
    try {
      run();
    } catch (cause) {
      if (pattern.test(String(cause.message))) return;
      throw cause;
    }
    throw new Error('expected an exception');
  },
};

/** A file of tests/data, parsed. */
export async function readVectors(name) {
  const url = new URL(`../data/${name}`, import.meta.url);
  if (!inNode) return (await fetch(url)).json();
  const { readFile } = await import('node:fs/promises');
  return JSON.parse(await readFile(url, 'utf8'));
}

/** A file of tests/data. */
export async function readText(name) {
  const url = new URL(`../data/${name}`, import.meta.url);
  if (!inNode) return (await fetch(url)).text();
  const { readFile } = await import('node:fs/promises');
  return readFile(url, 'utf8');
}
