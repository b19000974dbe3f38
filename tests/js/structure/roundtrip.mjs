/**
 * Round trips of tables on a real server: made, read from SHOW CREATE TABLE, written, and altered to what they are.
 * Runs in node and in a page of the client; who calls it gives the modules and how to ask the server.
 * @module
 */

/**
 * The CREATE TABLEs of a test file of the servers' own suites.
 * @param {string} text @param {any} Lexer
 */
export function createStatements(text, Lexer) {
  const found = [];
  const start = /^[ \t]*(?:eval\s+)?(?=create\s+(?:or\s+replace\s+)?table\b)/gim;
  for (let match = start.exec(text); match; match = start.exec(text)) {
    const from = match.index + match[0].length;
    start.lastIndex = from + 1;
    const lexer = new Lexer(text);
    lexer.at = from;
    let token = lexer.next();
    while (token && token.kind !== 'semicolon' && token.end - from < LONGEST) token = lexer.next();
    if (token?.kind !== 'semicolon') continue;
    const sql = text.slice(from, token.start).replace(/\$(?:default_)?engine(?:_type)?\b/gi, 'InnoDB');
    // A statement with a transaction of its own takes the session with it.
    if (!/\$\w|START\s+TRANSACTION/i.test(sql)) found.push(sql);
  }
  return found;
}

/** Longest statement that is taken. */
const LONGEST = 20_000;

/**
 * Makes each table and takes it through all round trips.
 * @param {string[]} statements @param {{run: (sql: string) => Promise<any[][]>, api: any, server: any, modules: any, seen?: Set<string>, mode?: string, db?: string}} with_
 *   `run`: rows of the answer, or throws; `api`: of the page, in the same session; `mode`: in which the tables are read and changed, where that is not the default
 */
export async function roundTrips(statements, { run, api, server: plain, modules, seen = new Set(), mode = '', db = 'structure' }) {
  const { parseTable } = modules;
  const server = modules.changingIn(plain, mode);
  const counts = { statements: statements.length, refused: 0, others: 0, same: 0, tables: 0, unchanged: 0 };
  const faults = [];
  const refusals = [];
  for (const name of [db, `${db}_copy`]) {
    await run(`DROP DATABASE IF EXISTS ${name}`);
    await run(`CREATE DATABASE ${name}`);
  }
  let old = [];
  for (const sql of statements) {
    await run(`USE ${db}`);
    if (old.length) await run(`DROP TABLE IF EXISTS ${old.map(modules.quoted).join(', ')}`);
    const made = await make(sql, run, db);
    old = made.names;
    if (made.error) {
      counts.refused += 1;
      refusals.push(`${made.error}: ${sql}`);
      continue;
    }
    if (mode) await run(`SET SESSION sql_mode = '${mode}'`);
    const [name] = made.names;
    for (const first of server.first) await run(first);
    const show = (table, of = db) => modules.createOf(api, of, table);
    const text = name === undefined ? undefined : await show(name).catch(() => undefined);
    if (typeof text !== 'string' || !/^CREATE (?:TEMPORARY )?TABLE/.test(text)) {
      counts.others += 1;
      continue;
    }
    const key = text.replace(/`(?:[^`]|``)*`/, '');
    if (seen.has(key)) {
      counts.same += 1;
      continue;
    }
    seen.add(key);
    if (/\bSEQUENCE=1\b/.test(text)) {
      try {
        parseTable(text, server);
        faults.push({ sql, text, at: 'sequence', why: 'read as a table' });
      } catch {
        counts.others += 1;
      }
      continue;
    }
    counts.tables += 1;
    if (/REF_SYSTEM_ID=[1-9]/.test(sql) && !/REF_SYSTEM_ID=[1-9]/.test(text)) faults.push({ sql, text, at: 'REF_SYSTEM_ID', why: 'not read' });
    const fault = await trip(name, text, { run, show, server, modules, db });
    if (fault) faults.push({ sql, text, ...fault });
    else counts.unchanged += 1;
  }
  return { counts, faults, refusals };
}

/** Runs a CREATE, in a lax mode where the default one refuses it. */
async function make(sql, run, db) {
  let error = '';
  for (const mode of ['DEFAULT', "''", "'ANSI_QUOTES'"]) {
    await run(`SET SESSION sql_mode = ${mode}`);
    try {
      await run(sql);
      const rows = await run(`SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = '${db}' AND TABLE_TYPE <> 'VIEW'`);
      return { error: '', names: rows.map((row) => row[0]) };
    } catch (cause) {
      error = cause.message;
    }
  }
  return { error, names: [] };
}

/** The first round trip that changes something, or null. */
async function trip(name, text, { run, show, server, modules, db }) {
  const { parseTable, writeTable, alterTable } = modules;
  // MySQL shows some columns differently when its own statement is run again: what counts is that ours gives the same.
  const copied = async (sql, table) => {
    await run(`USE ${db}_copy`);
    try {
      await run(sql);
      return await show(table, `${db}_copy`);
    } finally {
      await run(`DROP TABLE IF EXISTS ${db}_copy.${modules.quoted(table)}`);
      await run(`USE ${db}`);
    }
  };
  let at = 'parse';
  let statement = '';
  try {
    const table = parseTable(text, server);
    at = 'write';
    const written = writeTable(table);
    if (written !== text) return { at, why: written };
    at = 'same';
    const none = alterTable(table, table, server);
    if (none.length) return { at, why: none.join(';\n') };
    const made = await copied(modules.forSession(text, server), name);
    if (backslashes(made) !== backslashes(text)) return { at: 'copied', why: made };
    for (const [how, copy] of [['again', table], ['fields', untold(table)]]) {
      at = how;
      statement = writeTable({ ...copy, db: `${db}_copy` }, server);
      const again = await copied(statement, name);
      if (again !== made) return { at, why: again, statement };
    }
    at = 'touched';
    if (table.options.some((option) => option.name === 'SECONDARY_ENGINE')) return null;
    for (statement of alterTable(touched(table), table, server)) await run(statement);
    const after = await show(name);
    if ((after !== text && after !== made) || backslashes(after) !== backslashes(text)) return { at, why: after, statement };
    return null;
  } catch (error) {
    return { at, why: error.message, statement };
  }
}

const backslashes = (sql) => sql.split('\\').length;

/** A table that forgot the text that each part was read from. */
function untold(table) {
  const forget = (part) => ({ ...part, text: null });
  return { ...table, columns: table.columns.map(forget), indexes: table.indexes.map(forget), foreignKeys: table.foreignKeys.map(forget), checks: table.checks.map(forget), options: table.options.map((one) => (one.name ? { ...one, text: '' } : one)) };
}

/** A table of which the other one differs in every part. */
function touched(table) {
  return {
    ...table,
    // No server changes the columns that it keeps the history with.
    columns: table.columns.map((column) => (/^GENERATED ALWAYS AS ROW/.test(column.rest) ? column : { ...column, comment: `${column.comment}?` })),
    indexes: table.indexes.map((index) => ({ ...index, comment: `${index.comment}?` })),
    foreignKeys: table.foreignKeys.map((key) => ({ ...key, rest: '?' })),
    checks: table.checks.map((check) => ({ ...check, expression: `${check.expression} ` })),
    options: table.options.map((option) => (/^(?:|WITH SYSTEM VERSIONING|DEFAULT CHARSET|COLLATE)$/.test(option.name) ? option : { ...option, value: `${option.value}?` })),
  };
}
