/**
 * Puts a routine, trigger or event in place of the one that is there, where the server cannot do it in one statement:
 * DROP and CREATE, and the old one is put back where that fails.
 * @module
 */

import { confirmDialog } from '../../common/dialog.js';
import { ask, askRows, textOf } from '../ask.js';
import { createText, dropSql, showCreateSql, titleOf } from './kinds.js';
import { createdBy, editText, grantsSql, renamed } from './redefine.js';

/**
 * @typedef {{api: import('./privileges.js').Api, db: string, session: string, mariadb: boolean, newId: () => string,
 *   run: (statements: string[]) => Promise<import('../workbench/execution.js').RunEnd|void>, say: (text: string, kind?: string) => void, keep: (db: string, sql: string, name: string) => void}} Host
 *   `run`: in the session of the tab, unasked; `say`: beside what was run; `keep`: a text in a tab of its own
 */

/** Asks, and replaces. @param {string} sql a CREATE that was refused for what is there @param {Host} host */
export async function replaceExisting(sql, host) {
  const object = createdBy(sql, host.db);
  if (!object) return;
  const old = await ask(host.api, { sql: showCreateSql(object), db: object.db }).catch(() => null);
  const text = old && createText(old);
  if (!old || !text) return host.say(`The ${object.kind} ${object.name} already exists, and this account cannot read its text to restore it after a failure. Drop it first.`, 'bad');
  const isDropped = !host.mariadb && (object.kind === 'procedure' || object.kind === 'function');
  const grants = isDropped ? await grantsOf(object, host.api) : [];
  const statements = host.mariadb ? [editText(object, sql, true)] : [dropSql(object), sql, ...grants ?? []];
  const how = host.mariadb ? 'Your text replaces it.' : 'It is dropped and created again from your text; if that fails, the old one is restored.';
  const lost = grants ? '' : ' Privileges granted on it alone are lost: this account cannot read them.';
  const sure = await confirmDialog({ title: `Replace ${object.kind} ${object.name}`, text: `It already exists. ${how}${lost}`, detail: statements.join(';\n'), action: 'Replace', kind: 'primary' });
  if (!sure || (isDropped && !await canBeMade(sql, object, host))) return;
  const end = await host.run(statements);
  if (end && (end.failed || end.cancelled) && end.done > 0) await putBack(object, text, old, grants ?? [], host);
}

/** Statements for the privileges that are granted on a routine alone; null where the account may not read it. */
async function grantsOf(object, api) {
  const of = `Db = ${textOf(object.db)} AND Routine_name = ${textOf(object.name)} AND Routine_type = '${object.kind.toUpperCase()}'`;
  const rows = await askRows(api, { sql: `SELECT User AS user, Host AS host, Proc_priv AS privileges FROM mysql.procs_priv WHERE ${of}` }).catch(() => null);
  return rows && grantsSql(object, rows);
}

/** Tries the text under another name first, while the old routine is still there. */
async function canBeMade(sql, object, { api, db, session, say, newId }) {
  const trial = { ...object, name: `postern_trial_${newId().slice(0, 12)}` };
  try {
    await ask(api, { sql: renamed(sql, object, trial.name), db, session });
    await ask(api, { sql: dropSql(trial), db, session });
    return true;
  } catch (error) {
    say(`${error.message}. Nothing was replaced: ${object.name} is unchanged.`, 'bad');
    return false;
  }
}

/** Creates the old one again, in the mode that it was made in; where even that fails, its text is in a tab. */
async function putBack(object, text, old, grants, { api, db, session, say, keep }) {
  const there = await ask(api, { sql: showCreateSql(object), db: object.db }).then(createText, () => null);
  if (there === text) return say(`${titleOf(object.kind)} ${object.name} is unchanged.`, 'warn');
  if (there !== null) return undefined;
  const mode = old.rows[0]?.[old.columns.findIndex((name) => name.toLowerCase() === 'sql_mode')];
  const run = (sql) => ask(api, { sql, db: object.db, session });
  try {
    if (typeof mode === 'string') await run(`SET @postern_mode = @@SESSION.sql_mode, SESSION sql_mode = ${textOf(mode)}`);
    for (const statement of [text, ...grants]) await run(statement);
    if (typeof mode === 'string') await run('SET SESSION sql_mode = @postern_mode');
    return say(`It failed, and ${object.name} is unchanged: the old ${object.kind} was restored.`, 'warn');
  } catch (error) {
    keep(db, text, object.name);
    return say(`The old ${object.kind} ${object.name} could not be restored: ${error.message}. Its text is in this tab; run it again.`, 'bad');
  }
}
