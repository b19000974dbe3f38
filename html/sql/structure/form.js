/**
 * A dialog with fields. It comes back with what was entered until the change was made.
 * @module
 */

import { fill, h, marked } from '../../common/dom.js';
import { openDialog } from '../../common/dialog.js';
import { pasteLines, show, textIn } from './formparts.js';

/**
 * @typedef {object} Field
 * @property {string} name
 * @property {string} label
 * @property {'text'|'select'|'password'|'check'|'checks'} [type] `checks`: several of the options
 * @property {(string|{value: string, label: string})[]} [options] of a select
 * @property {(values: Values) => Promise<string[]>} [list] of a text: what is offered
 * @property {boolean} [several] of a text: values separated by commas
 * @property {string} [hint]
 * @property {{label: string, values?: string[]}[]} [presets] of `checks`: choices by one press; all where they name none
 * @property {number} [maxLength]
 * @property {{label: string, run: (values: Record<string, any>) => Record<string, any>}} [button] beside the field
 */
/** @typedef {Record<string, any>} Values */
/** @typedef {{field?: string, text: string}|null} Fault `field`: which one it is about */

let serial = 0;

/**
 * Asks for values; undefined when dismissed.
 * @param {{title: string, fields: Field[]|((values: Values) => Field[]), values: Values, fault?: Fault, action?: string, check?: (values: Values) => Fault|Promise<Fault>, changed?: (values: Values, name: string) => Values}} options
 *   `check`: a reason for which the values cannot be taken; `changed`: what follows from a change
 * @returns {Promise<Values|undefined>}
 */
export function form({ title, fields, values, fault = null, action = 'Review SQL', check, changed }) {
  let now = { ...values };
  const body = h('div', { class: 'asked-form' });
  const said = h('p', { class: 'asked-said bad', role: 'alert' });
  /** @type {Map<string, Line>} */ const lines = new Map();
  const listOf = () => (typeof fields === 'function' ? fields(now) : fields);
  // Lines stay as long as their fields do: a list that is replaced while somebody types in it picks another value.
  const draw = () => {
    const list = listOf().map((field) => {
      const key = keyOf(field);
      const known = lines.get(field.name);
      const one = known?.key === key ? known : { key, ...line(field, set, () => now) };
      if (known && one !== known) known.element.remove();
      lines.set(field.name, one);
      one.draw(field, now);
      return one.element;
    });
    for (const [name, { element }] of lines) if (!list.includes(element)) { element.remove(); lines.delete(name); }
    list.forEach((element, i) => { if (body.children[i] !== element) body.insertBefore(element, body.children[i] ?? null); });
  };
  const control = (name) => /** @type {HTMLInputElement|null} */ (body.querySelector(`[data-field="${name}"]`));
  const set = (name, value, isDrawn) => {
    const next = { ...now, [name]: value };
    now = changed?.(next, name) ?? next;
    if (isDrawn) draw();
  };
  const say = (found) => {
    said.textContent = found?.text ?? '';
    for (const one of body.querySelectorAll('[aria-invalid]')) one.removeAttribute('aria-invalid');
    const at = found?.field ? control(found.field) : null;
    at?.setAttribute('aria-invalid', 'true');
    at?.focus();
  };
  draw();
  return openDialog({
    title: marked(title), body: [body, said], actions: [{ label: 'Cancel', value: undefined }],
    onOpen: (dialog, close) => {
      const done = async () => {
        const entered = now;
        const found = tooLong(listOf(), entered) ?? await check?.(entered) ?? null;
        if (!dialog.open || entered !== now) return undefined;
        if (found) return say(found);
        return close(entered);
      };
      dialog.querySelector('.dialog-foot')?.append(h('button', { type: 'button', class: 'button primary', text: action, on: { click: done } }));
      body.addEventListener('keydown', (event) => { if (event.key === 'Enter' && !event.isComposing && event.target instanceof HTMLInputElement) { event.preventDefault(); done(); } });
      dialog.addEventListener('keydown', (event) => { if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === 's') { event.preventDefault(); done(); } });
      // A fault that is being corrected is none any more.
      body.addEventListener('input', () => say(null));
      if (fault) say(fault);
    },
  });
}

/** A value that is longer than its field may be; the browser would cut it off in silence. @param {Field[]} fields @param {Values} values @returns {Fault} */
function tooLong(fields, values) {
  const field = fields.find(({ name, maxLength }) => maxLength && [...String(values[name] ?? '')].length > maxLength);
  return field ? { field: field.name, text: `${field.label}: at most ${field.maxLength} characters.` } : null;
}

/** @typedef {{key: string, element: HTMLElement, draw: (field: Field, values: Values) => void}} Line */

/** Text that differs if a line must be built again; a select takes other options in place. @param {Field} field */
const keyOf = ({ options, ...field }) => JSON.stringify([field, field.type === 'checks' ? options : null]);

/** @param {Field} field @param {(name: string, value: any, isDrawn?: boolean) => void} set @param {() => Values} latest @returns {Omit<Line, 'key'>} */
function line({ name, label, type = 'text', options = [], list, several, hint, presets, button }, set, latest) {
  const values = latest();
  const id = `structure-field-${(serial += 1)}`;
  const shared = { id, data: { field: name }, 'aria-describedby': hint ? `${id}-hint` : null };
  const hinted = hint && h('p', { class: 'dim', id: `${id}-hint`, text: hint });
  if (type === 'check') {
    const box = h('input', { type: 'checkbox', ...shared });
    box.addEventListener('change', () => set(name, box.checked, true));
    const element = h('div', { class: 'asked-field' }, h('label', { class: 'check', for: id }, box, h('span', { text: label })), hinted);
    return { element, draw: (_field, now) => { box.checked = Boolean(now[name]); } };
  }
  if (type === 'checks') {
    const chosen = new Set(values[name] ?? []);
    const boxes = options.map((one) => {
      const { value, label: text } = optionOf(one);
      const box = h('input', { type: 'checkbox' });
      box.checked = chosen.has(value);
      box.addEventListener('change', () => { if (box.checked) chosen.add(value); else chosen.delete(value); set(name, [...chosen], false); });
      return { value, box, element: h('label', { class: 'check' }, box, h('span', { text })) };
    });
    const choose = (wanted) => {
      chosen.clear();
      for (const { value, box } of boxes) { box.checked = wanted(value); if (box.checked) chosen.add(value); }
      set(name, [...chosen], false);
    };
    const buttons = (presets ?? []).map(({ label: text, values: those }) => h('button', { type: 'button', class: 'button small', text, on: { click: () => choose((value) => those?.includes(value) ?? true) } }));
    return { element: h('fieldset', { class: 'asked-checks', tabindex: '-1', data: { field: name } }, h('legend', {}, label, ' ', buttons), boxes.map(({ element }) => element), hinted), draw: () => {} };
  }
  const press = button && h('button', { type: 'button', class: 'button', text: button.label, on: { click: () => { for (const [key, value] of Object.entries(button.run(latest()))) set(key, value, true); } } });
  const field = type === 'select' ? selectField(shared, (value) => set(name, value, true)) : textField(shared, type === 'password', (value) => set(name, value, false));
  const offered = list && field.input instanceof HTMLInputElement ? offering(field.input, () => list(latest()), several) : null;
  return { element: h('div', { class: 'asked-field' }, h('label', { for: id, text: label }), h('div', { class: 'asked-line' }, field.input, offered, press), hinted), draw: field.draw };
}

/** @param {string|{value: string, label: string}} option */
const optionOf = (option) => (typeof option === 'string' ? { value: option, label: option } : option);

/** @param {Record<string, any>} attributes @param {(value: string) => void} change */
function selectField(attributes, change) {
  const input = h('select', { class: 'field', ...attributes });
  input.addEventListener('change', () => change(input.value));
  let shown = '';
  return {
    input,
    draw: (/** @type {Field} */ { name, options = [] }, /** @type {Values} */ now) => {
      const text = JSON.stringify(options);
      if (shown !== text) input.replaceChildren(...options.map(optionOf).map(({ value, label }) => h('option', { value, text: label })));
      shown = text;
      const value = String(now[name] ?? '');
      if (input.value !== value) input.value = value;
    },
  };
}

/** @param {Record<string, any>} attributes @param {boolean} isPassword @param {(value: string) => void} change */
function textField(attributes, isPassword, change) {
  const input = h('input', { class: 'field', type: isPassword ? 'password' : 'text', autocomplete: isPassword ? 'new-password' : 'off', spellcheck: 'false', autocapitalize: 'off', ...attributes });
  input.addEventListener('input', () => change(isPassword ? input.value : textIn(input)));
  if (!isPassword) input.addEventListener('paste', (event) => pasteLines(event, input));
  return {
    input,
    draw: (/** @type {Field} */ { name }, /** @type {Values} */ now) => {
      const value = String(now[name] ?? '');
      if (!isPassword) return show(input, value, null);
      input.type = now.seen ? 'text' : 'password';
      if (input.value !== value) input.value = value;
      return undefined;
    },
  };
}

/** Values that the browser offers at a field. @param {HTMLInputElement} input @param {() => Promise<string[]>} list @param {boolean} [several] separated by commas: those behind the last one */
function offering(input, list, several) {
  const offered = h('datalist', { id: `${input.id}-list` });
  input.setAttribute('list', offered.id);
  const draw = (names) => {
    const before = several ? /^.*,\s*/s.exec(input.value)?.[0] ?? '' : '';
    fill(offered, names.map((name) => h('option', { value: `${before}${name}` })));
  };
  const load = () => list().then(draw, () => {});
  load();
  input.addEventListener('focus', load);
  if (several) input.addEventListener('input', load);
  return offered;
}

/**
 * Asks, shows the review, and asks again with what was entered until the change was made or the form is dismissed.
 * @param {(values: Values, fault: Fault) => Promise<Values|undefined>} asked
 * @param {(values: Values) => Promise<{end: import('./review.js').ReviewEnd, done: boolean, fault?: Fault}>} change
 * @param {Values} values
 * @returns {Promise<Values|null>} what was made
 */
export async function untilMade(asked, change, values) {
  let [now, fault] = [values, /** @type {Fault} */ (null)];
  for (;;) {
    const entered = await asked(now, fault);
    if (!entered) return null;
    const { end, done, fault: found } = await change(entered);
    if (done) return entered;
    // Another try of what has been done in part would fail at its beginning.
    if (end.done > 0 || end.unknown || end.opened) return null;
    now = entered;
    fault = found ?? (end.error ? { text: end.error.message } : null);
  }
}
