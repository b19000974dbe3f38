// Settings of a session that a script may leave behind changed: dumps turn checks off, and on again at their end.
import { readQuery } from '../core/stream.js';
import { randomId } from './store.js';

const NAMES = ['autocommit', 'foreign_key_checks', 'sql_mode', 'time_zone', 'unique_checks'];

/** Index of `sql_mode` in the settings. */
export const SQL_MODE = NAMES.indexOf('sql_mode');

/**
 * The settings of a session; null where they cannot be read.
 * @param {ReturnType<typeof import('../api.js').createApi>} api @param {string} session @returns {Promise<any[]|null>}
 */
export async function settingsOf(api, session) {
  const sql = `SELECT ${NAMES.map((name) => `@@SESSION.${name}`).join(', ')}`;
  try {
    const { code, results } = await readQuery(await api.query({ sql, session, queryId: randomId() }), { sql });
    return code === 200 ? results[0].rows[0] : null;
  } catch {
    return null;
  }
}

/** Text about settings that changed, with the statement that restores them; empty if none did. @param {any[]|null} before @param {any[]|null} after */
export function changedSettings(before, after) {
  if (!before || !after) return '';
  const changed = NAMES.map((name, i) => ({ name, was: before[i], is: after[i] })).filter(({ was, is }) => String(was) !== String(is));
  if (!changed.length) return '';
  const told = (key) => changed.map((one) => `${one.name} = ${/^\d+$/.test(String(one[key])) ? one[key] : `'${one[key]}'`}`).join(', ');
  return `The script changed this tab's session: ${told('is')}. To restore it, run: SET SESSION ${told('was').replaceAll(', ', ', SESSION ')};`;
}
