// Fills tabs from outside: the first rows of a table, a script from a file.
import { notify } from '../../common/announce.js';
import { selectAll } from '../core/identifiers.js';
import { later } from './querytab.js';

/** Errors of an account that may not read all columns: `ER_TABLEACCESS_DENIED_ERROR`, `ER_COLUMNACCESS_DENIED_ERROR`. */
const COLUMNS_DENIED = new Set([1142, 1143]);

/**
 * Fills in the first 100 rows of a table and executes; an account that may read some columns alone gets those.
 * @param {import('./querytab.js').QueryTab} tab @param {string} db @param {string} table
 * @param {{execution: import('./execution.js').Execution, catalogue: import('./catalogue.js').Catalogue, isOpen: () => boolean}} parts
 */
export async function runFirstRows(tab, db, table, { execution, catalogue, isOpen }) {
  const run = (sql) => {
    tab.fillIn(sql, db);
    return execution.run(tab, [{ start: 0, end: sql.length, sql }]);
  };
  const all = selectAll(table);
  const end = await run(all);
  const isWanted = () => tab.editor.text === all && !tab.run && isOpen();
  if (!COLUMNS_DENIED.has(end?.errno ?? 0) || !isWanted()) return;
  const { columns } = /** @type {any} */ (await catalogue.schema(db, table).catch(() => null) ?? {});
  const names = columns?.map(({ name }) => name) ?? [];
  if (names.length && isWanted()) await run(selectAll(table, names));
}

/**
 * Opens a script in a tab: to be changed, or where it is too large, to be run from its file. Null where it is not opened.
 * @param {File} file
 * @param {() => import('./querytab.js').QueryTab|null} tabFor asked once the file was read
 * @returns {Promise<import('./querytab.js').QueryTab|null>}
 */
export async function openScriptIn(file, tabFor) {
  try {
    const script = await (await later(import('./scriptfile.js')))?.readScript(file);
    const tab = script && tabFor();
    if (!script || !tab) return null;
    tab.rename(script.name.slice(0, 60));
    if (script.file) tab.setScript({ ...script, file: script.file });
    else tab.editor.setText(script.text);
    tab.generated = false;
    notify(script.file ? `${script.name} opened; Run executes the whole file` : `${script.name} opened`, 'good');
    return tab;
  } catch (error) {
    notify(error.message, 'bad');
    return null;
  }
}
