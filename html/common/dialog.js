// Modal dialogs on the native <dialog>, which traps the focus, closes with Esc and makes the rest inert.
import { h, iconButton } from './dom.js';
import { stackToasts } from './announce.js';

/** @typedef {import('./dom.js').Child} Child */

let serial = 0;

/**
 * Opens a dialog; resolves with the value given to `close` (undefined when dismissed). The focus returns to where it was, or beside it.
 * `harmless`: the first button has the focus, not the first field. `mayDismiss` is asked before Esc, the backdrop or the cross closes it;
 * where nothing is asked, a press beside the dialog closes it only as long as nothing was entered.
 * @param {{title: Child|Child[], wide?: boolean, harmless?: boolean, body: Child|Child[], actions?: {label: string, value: any, kind?: string}[],
 *   mayDismiss?: () => boolean|Promise<boolean>, onOpen?: (dialog: HTMLDialogElement, close: (value?: any) => void) => void}} options
 * @returns {Promise<any>}
 */
export function openDialog({ title, wide = false, harmless = false, body, actions = [], mayDismiss, onOpen }) {
  const path = pathOf(document.activeElement);
  const select = selectionOf(document.activeElement);
  const titleId = `dialog-title-${++serial}`;
  const dialog = h('dialog', { class: wide ? 'dialog wide' : 'dialog', 'aria-labelledby': titleId });
  return new Promise((resolve) => {
    let result;
    const close = (value) => { result = value; dialog.close(); };
    const dismiss = async () => { if (!mayDismiss || await mayDismiss()) close(); };
    dialog.append(head(title, titleId, dismiss), h('div', { class: 'dialog-body' }, body));
    if (actions.length) dialog.append(foot(actions, close));
    dialog.addEventListener('close', () => {
      dialog.remove();
      stackToasts(dialog);
      for (const one of path) if (returned(one)) break;
      select();
      resolve(result);
    });
    dialog.addEventListener('cancel', (event) => { event.preventDefault(); dismiss(); });
    dismissOnBackdrop(dialog, dismiss, mayDismiss !== undefined);
    document.body.append(dialog);
    dialog.showModal();
    stackToasts();
    focusFirst(dialog, harmless);
    onOpen?.(dialog, close);
  });
}

/** An element and those around it. @param {Element|null} element @returns {HTMLElement[]} */
function pathOf(element) {
  const path = [];
  for (let one = element; one && one !== document.body; one = one.parentElement) path.push(/** @type {HTMLElement} */ (one));
  return path;
}

/** Puts the selection of a field back, which a modal dialog takes from it, unless its text is another by then. @param {Element|null} element @returns {() => void} */
function selectionOf(element) {
  if (!(element instanceof HTMLTextAreaElement || element instanceof HTMLInputElement) || element.selectionStart === null) return () => {};
  const { value, selectionStart, selectionEnd, selectionDirection } = element;
  return () => { if (document.activeElement === element && element.value === value) element.setSelectionRange(selectionStart, selectionEnd, selectionDirection ?? 'none'); };
}

/** Focuses an element, or the first one in it that Tab would reach; false where there is none. @param {HTMLElement} element */
function returned(element) {
  if (!element.isConnected) return false;
  const reached = [element, .../** @type {NodeListOf<HTMLElement>} */ (element.querySelectorAll('button, input, select, textarea, [tabindex]'))];
  return reached.some((one) => {
    if (one !== element && (one.tabIndex < 0 || !one.checkVisibility())) return false;
    one.focus({ preventScroll: true });
    return document.activeElement === one;
  });
}

function head(title, id, dismiss) {
  return h('div', { class: 'dialog-head' }, h('h2', { id }, title), iconButton('close', 'Close', dismiss));
}

function foot(actions, close) {
  const buttons = actions.map(({ label, value, kind = '' }) =>
    h('button', { type: 'button', class: `button ${kind}`, text: label, on: { click: () => close(value) } }));
  return h('div', { class: 'dialog-foot' }, buttons);
}

function dismissOnBackdrop(dialog, dismiss, asks) {
  let entered = false;
  dialog.addEventListener('input', (event) => { entered ||= !(/** @type {Element} */ (event.target).matches('[type=search]')); });
  // Only a press that began on the backdrop counts: a text selection dragged outside must not close the dialog.
  let began = false;
  dialog.addEventListener('pointerdown', (event) => { began = event.target === dialog; });
  dialog.addEventListener('click', (event) => { if (began && event.target === dialog && (asks || !entered)) dismiss(); });
}

function focusFirst(dialog, harmless) {
  const target = dialog.querySelector('[autofocus]') ?? (harmless ? null : dialog.querySelector('.dialog-body :is(input, textarea, select, button)'))
    ?? dialog.querySelector('.dialog-foot button') ?? dialog.querySelector('button');
  target?.focus();
}

/**
 * Asks for confirmation of something that cannot be undone. Cancel has the focus.
 * @param {{title: string, text: string, detail?: string, action: string, cancel?: string, kind?: string}} options
 * @returns {Promise<boolean>}
 */
export async function confirmDialog({ title, text, detail, action, cancel = 'Cancel', kind = 'danger' }) {
  const body = [h('p', { text }), detail ? h('pre', { class: 'quote', text: detail, tabindex: '0', role: 'group', 'aria-label': 'Statement' }) : ''];
  const actions = [{ label: cancel, value: false }, { label: action, value: true, kind }];
  return (await openDialog({ title, body, actions, harmless: true })) === true;
}

/**
 * Asks for one line of text; undefined when dismissed.
 * @param {{title: string, label: string, value?: string, action?: string, maxLength?: number}} options
 * @returns {Promise<string|undefined>}
 */
export function promptDialog({ title, label, value = '', action = 'OK', maxLength = 80 }) {
  const input = h('input', { class: 'field', id: `prompt-${++serial}`, maxlength: maxLength, autocomplete: 'off' });
  input.value = value;
  return openDialog({
    title,
    body: [h('label', { class: 'dim', for: input.id, text: label }), input],
    actions: [{ label: 'Cancel', value: undefined }],
    onOpen: (dialog, close) => {
      const done = () => close(input.value);
      dialog.querySelector('.dialog-foot')?.append(h('button', { type: 'button', class: 'button primary', text: action, on: { click: done } }));
      input.addEventListener('keydown', (event) => { if (event.key === 'Enter' && !event.isComposing) { event.preventDefault(); done(); } });
      input.focus();
      input.select();
    },
  });
}
