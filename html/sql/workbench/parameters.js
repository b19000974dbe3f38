// The dialog that asks for the parameters of statements. Loaded when a statement has some.
import { h } from '../../common/dom.js';
import { openDialog } from '../../common/dialog.js';
import { parametersOf, withParameters, wrongWith } from '../core/parameters.js';
import { withoutSecrets } from '../core/secrets.js';

const TYPES = { text: 'Text', number: 'Number', list: 'List', null: 'NULL' };
/** Names whose values are not remembered. */
const SECRET = /pass|secret|token|pwd/i;

/**
 * Asks for the values and gives the statements with them; null where the person went back.
 * @template {{sql: string}} T
 * @param {T[]} statements
 * @param {{read: () => Record<string, import('../core/parameters.js').Parameter>, write: (values: Record<string, import('../core/parameters.js').Parameter>) => void}} store
 * @returns {Promise<T[]|null>}
 */
export async function fillParameters(statements, store) {
  const names = [...new Set(statements.flatMap(({ sql }) => parametersOf(sql).map(({ name }) => name)))];
  if (!names.length) return statements;
  const before = store.read();
  const rows = names.map((name, at) => row(name, at, before[name]));
  const values = await openDialog({
    title: names.length === 1 ? 'Parameter' : 'Parameters',
    body: [h('p', { class: 'dim', text: 'Text is quoted. Separate the items of a list (for IN) with commas or line breaks. Enter moves on, and runs after the last; Shift+Enter adds a line; Ctrl+Enter runs.' }), h('div', { class: 'parameters' }, rows.map(({ element }) => element), rows.map(({ type }) => type))],
    actions: [{ label: 'Cancel', value: undefined }],
    onOpen: (dialog, close) => {
      const done = () => {
        const wrong = rows.filter((one) => one.check());
        if (wrong.length) wrong[0].input.focus();
        else close(Object.fromEntries(rows.map((one) => [one.name, one.value()])));
      };
      dialog.querySelector('.dialog-foot')?.append(h('button', { type: 'button', class: 'button primary', text: 'Run', on: { click: done } }));
      dialog.addEventListener('keydown', (event) => {
        if (event.key !== 'Enter' || event.isComposing || /** @type {Element} */ (event.target).matches('button, select')) return;
        const at = rows.findIndex(({ input }) => input === event.target);
        const breaks = at >= 0 && !event.ctrlKey && !event.metaKey && (event.shiftKey || rows[at].isList());
        if (breaks) return;
        event.preventDefault();
        const next = event.ctrlKey || event.metaKey ? undefined : rows.slice(at + 1).find(({ input }) => at >= 0 && !input.disabled);
        if (next) next.input.focus();
        else done();
      });
      (rows[0].input.disabled ? rows[0].type : rows[0].input).focus();
      rows[0].input.select();
    },
  });
  if (!values) return null;
  const filled = statements.map((statement) => ({ ...statement, sql: withParameters(statement.sql, values) }));
  // A value in the place of a password is one, whatever its name.
  const secret = new Set(filled.flatMap(({ sql }, at) => (withoutSecrets(sql) === sql ? [] : parametersOf(statements[at].sql).map(({ name }) => name))));
  store.write({ ...before, ...Object.fromEntries(Object.entries(values).filter(([name]) => !SECRET.test(name) && !secret.has(name))) });
  return filled;
}

/** One parameter in the line `at` of the grid; its type stands behind all values, so that Tab goes from value to value. */
function row(name, at, { type: lastType = 'text', value: last = '' } = {}) {
  const input = h('textarea', { class: 'field', rows: 1, id: `parameter-${name}`, 'aria-describedby': `parameter-${name}-wrong`, spellcheck: 'false', autocomplete: 'off' });
  const type = h('select', { class: 'field', 'aria-label': `Type of ${name}` }, Object.entries(TYPES).map(([value, text]) => h('option', { value, text })));
  const wrong = h('span', { class: 'parameter-wrong bad', id: `parameter-${name}-wrong`, role: 'status' });
  const value = () => ({ type: /** @type {import('../core/parameters.js').ParameterType} */ (type.value), value: input.value });
  const isList = () => type.value === 'list';
  const fit = () => { input.rows = isList() ? 4 : Math.min(4, input.value.split('\n').length); };
  const adapt = () => {
    input.disabled = type.value === 'null';
    fit();
    wrong.textContent = '';
  };
  input.value = last;
  type.value = Object.hasOwn(TYPES, lastType) ? lastType : 'text';
  type.addEventListener('change', adapt);
  input.addEventListener('input', fit);
  adapt();
  // A digit is no type: it goes on in the value.
  type.addEventListener('keydown', (event) => {
    if (!/^[\d.+-]$/.test(event.key) || event.ctrlKey || event.metaKey || event.altKey || input.disabled) return;
    input.focus();
    input.setSelectionRange(input.value.length, input.value.length);
  });
  const check = () => (wrong.textContent = wrongWith(value()));
  const label = h('label', { for: input.id, text: `:${name}` });
  const element = h('div', { class: 'parameter' }, label, input, wrong);
  for (const one of [element, type]) one.style.gridRow = String(at + 1);
  return { name, input, type, value, check, isList, element };
}
