/**
 * Opens the form of a table, and the dialogs that rename or copy one. Loaded when one of them is asked for.
 * @module
 */

import { fill, h, loadStyle, queryAll } from '../../common/dom.js';
import { keepClear } from '../../common/announce.js';
import { confirmDialog } from '../../common/dialog.js';
import { note, sqlText } from '../objects/parts.js';
import { blankColumn, blankTable, parseTable, unfitMode } from './definition.js';
import { indexOf } from './edits.js';
import { createOf, factsOf, serverOf } from './facts.js';
import { TableForm } from './tableform.js';

/** A new table: a number as its primary key. @param {string} db */
function newTable(db) {
  const id = { ...blankColumn(), name: 'id', type: 'bigint unsigned', nullable: false, autoIncrement: true };
  const table = blankTable({ db, columns: [id] });
  return { ...table, indexes: [indexOf(table, ['id'], 'primary')] };
}

/**
 * @param {'edit'|'new'|'rename'|'copy'} what @param {{db: string, name: string, column?: string}} object `name`: the table; of a new one, empty; `column`: has the focus in the form
 * @param {import('./formparts.js').OpenHost} host
 */
export async function openStructure(what, object, host) {
  await loadStyle(new URL('../structure.css', import.meta.url));
  if (what === 'rename' || what === 'copy') {
    const [module] = await Promise.all([import('./tableactions.js'), loadStyle(new URL('../asked.css', import.meta.url))]);
    return what === 'rename' ? module.renameTable(object, host) : module.copyTable(object, host);
  }
  return openForm(object, host, what === 'new');
}

let serial = 0;

/** The open forms, by their panes. @type {WeakMap<Element, TableForm>} */
const FORMS = new WeakMap();

/** True if somebody types elsewhere by now. @param {Element} pane */
const isElsewhere = (pane) => { const { activeElement } = document; return activeElement !== null && !pane.contains(activeElement) && activeElement.matches('input, textarea, select'); };

/** @param {{db: string, name: string, column?: string}} object @param {import('./formparts.js').OpenHost} host @param {boolean} isNew */
async function openForm({ db, name, column = '' }, host, isNew) {
  const { results } = host;
  const id = isNew ? `structure-new:${(serial += 1)}` : `structure:${db}.${name}`;
  if (results.hasTab(id)) {
    results.activate(id);
    const open = queryAll(document.body, '.structure-pane').find((one) => one.checkVisibility());
    return void (open && FORMS.get(open)?.focus(column));
  }
  const pane = h('div', { class: 'structure-pane' }, h('p', { class: 'schema-note dim', text: 'Loading …' }));
  /** @type {TableForm|null} */ let form = null;
  const view = { isForm: true, get unsaved() { return form?.unsaved ?? ''; }, find: () => form?.find() };
  const mayClose = () => view.unsaved === '' || confirmDialog({ title: 'Changes not applied', text: `${view.unsaved}: not applied. Closing the tab discards them.`, action: 'Close and discard' });
  const title = () => `${form?.draft.before.name || name || 'new table'} structure${form?.count && !form.isNew ? ' •' : ''}`;
  results.openTab(id, title(), pane, { icon: 'column', view, mayClose, onClose: () => form?.dispose() });
  const load = async () => {
    const sql = isNew ? '' : await createOf(host.api, db, name).catch((error) => error);
    if (sql instanceof Error) return failed(pane, sql, load);
    try {
      const server = await serverOf(host);
      const unfit = unfitMode(server.mode);
      if (unfit) throw new Error(`in the SQL mode ${unfit}, SHOW CREATE TABLE leaves parts out or the server reads it differently`);
      const table = isNew ? newTable(db) : parseTable(sql, server, db);
      form = new TableForm(table, isNew, server, factsOf(host.api), {
        ...host, load: (ofDb, ofName) => createOf(host.api, ofDb, ofName),
        changed: (now, was) => {
          host.structured(now, was);
          // Its schema is shown now, which leads to the form again.
          if (isNew) results.closeTab(id);
          if (!pane.isConnected) results.focus();
        },
        titled: () => results.renameTab(id, title()),
      });
      fill(pane, form.element);
      keepClear(form.bar);
      results.renameTab(id, title());
      FORMS.set(pane, form);
      if (pane.checkVisibility() && !isElsewhere(pane)) form.focus(column);
    } catch (error) {
      unreadable(pane, error, sql, { db, name }, host);
    }
    return undefined;
  };
  await load();
  return undefined;
}

/** @param {HTMLElement} pane @param {Error} error @param {() => void} again */
function failed(pane, error, again) {
  fill(pane, h('p', { class: 'schema-note bad', role: 'alert', text: error.message }), h('button', { type: 'button', class: 'button', text: 'Try again', on: { click: again } }));
}

/** A statement that the form cannot read is offered as text: nothing of it may be lost. */
function unreadable(pane, error, sql, { db, name }, host) {
  const open = h('button', { type: 'button', class: 'button', text: 'Open in a new tab', on: { click: () => host.fillIn(db, sql, name) } });
  fill(pane, h('div', { class: 'schema' }, note(`The form cannot show this table without losing part of it: ${error.message}. Write the ALTER TABLE as text.`, 'warn'), sqlText('CREATE statement', sql, host.notify, open)));
}
