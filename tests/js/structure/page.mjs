/**
 * Round trips and proposals on the server behind a page whose origin serves the sources and passes statements on.
 * @module
 */

import { Lexer } from '../../../html/sql/core/lexer.js';
import * as alter from '../../../html/sql/structure/alter.js';
import * as definition from '../../../html/sql/structure/definition.js';
import { createOf } from '../../../html/sql/structure/facts.js';
import { choicesFrom } from '../../../html/sql/structure/locking.js';
import { CHANGES } from './changes.mjs';
import { proposals } from './locks.mjs';
import { createStatements, roundTrips } from './roundtrip.mjs';

const modules = { ...definition, ...alter, choicesFrom, createOf };
const api = { query: ({ sql }) => fetch('/api/query', { method: 'POST', body: JSON.stringify({ sql, session: 'structure' }) }) };

/** @param {string} sql @returns {Promise<any[][]>} */
async function run(sql) {
  const answer = await (await fetch('/api/query', { method: 'POST', body: JSON.stringify({ sql, session: 'structure' }) })).json();
  if (answer.code !== 200) throw Object.assign(new Error(answer.error?.message ?? answer.message), { errno: answer.error?.errno });
  return (answer.data.rows ?? []).map((row) => answer.data.columns.map((name) => row[name]));
}

async function server() {
  const [[version]] = await run('SELECT VERSION()');
  return { mariadb: /MariaDB/.test(version), version };
}

const text = async (path) => (await fetch(path)).text();

/** Statements of our own hard cases, for one kind of server. */
async function hardCases(mariadb) {
  const files = await Promise.all(['both', mariadb ? 'mariadb' : 'mysql'].map((name) => text(`/tests/data/structure/${name}.sql`)));
  return files.flatMap((file) => file.replace(/^--.*\n/gm, '').split(/;\n/)).map((sql) => sql.trim()).filter(Boolean);
}

/** Our hard cases in one mode. @param {string} mode */
export async function ownTables(mode) {
  const on = await server();
  await run('SET SESSION foreign_key_checks = 0');
  return roundTrips(await hardCases(on.mariadb), { run, api, server: on, modules, mode });
}

/** Tables of the server's own suites: one statement of `every`. @param {number} every */
export async function suiteTables(every) {
  const on = await server();
  await run('SET SESSION foreign_key_checks = 0');
  const folder = `/target/suites/${on.mariadb ? 'mariadb' : 'mysql'}`;
  const statements = new Set();
  for (const file of (await text(folder)).split('\n').filter((name) => name.endsWith('.test'))) for (const sql of createStatements(await text(`${folder}/${file}`), Lexer)) statements.add(sql);
  return roundTrips([...statements].filter((_, i) => i % every === 0), { run, api, server: on, modules, db: 'structure_suites' });
}

/** Proposals for each change. @param {boolean} isWhole also tries what is lighter */
export async function locks(isWhole) {
  return proposals(CHANGES, { run, server: await server(), modules, isWhole });
}
