// Small helpers to build elements. Data only ever becomes text: nothing here parses HTML.
const SVG = 'http://www.w3.org/2000/svg';
/** @typedef {Node|string|null|undefined|false} Child what is none is left out */

/** Before an icon's name: the sprite is in a page that was put together, and a file beside one that was not. */
const SPRITE = document.getElementById('icons') ? '#icon-' : `${new URL('./icons.svg', import.meta.url).pathname}#`;

/**
 * Creates an element. `props`: `class`, `text`, `on` (event handlers), `data` (dataset); every other
 * key is set as an attribute, `true` as an empty one, `false`, `null` and `undefined` left out.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, any>} [props]
 * @param {...(Child|Child[])} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) apply(element, key, value);
  element.append(...nodesOf(children));
  return element;
}

function apply(element, key, value) {
  if (value === undefined || value === null || value === false) return;
  if (key === 'class') element.className = value;
  else if (key === 'text') element.textContent = value;
  else if (key === 'on') for (const [name, handler] of Object.entries(value)) element.addEventListener(name, handler);
  else if (key === 'data') Object.assign(element.dataset, value);
  else element.setAttribute(key, value === true ? '' : String(value));
}

/** Creates an element of a drawing. @param {string} tag @param {Record<string, string|number>} [attributes] @param {...(Node|string)} children @returns {SVGElement} */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

/** An icon of the sprite, hidden from assistive technology. @param {string} name @returns {SVGElement} */
export function icon(name) {
  return svg('svg', { class: 'icon', 'aria-hidden': 'true' }, svg('use', { href: SPRITE + name }));
}

/** Changes the icon inside `host`. @param {Element} host @param {string} name */
export function setIcon(host, name) {
  host.querySelector('.icon')?.replaceWith(icon(name));
}

/** A button with an icon alone; `label` is its name and tooltip. */
export function iconButton(name, label, onClick, props = {}) {
  return h('button', { type: 'button', class: 'button quiet square', 'aria-label': label, title: label, on: { click: onClick }, ...props }, icon(name));
}

/** Styles that were asked for, by their addresses. @type {Map<string, Promise<void>>} */
const STYLES = new Map();

/** Loads a style that a part of the page needs; resolves when it applies. @param {URL} url @returns {Promise<void>} */
export function loadStyle({ href }) {
  const loading = STYLES.get(href) ?? new Promise((resolve, reject) => {
    const failed = () => {
      STYLES.delete(href);
      link.remove();
      reject(new Error('a style could not be loaded'));
    };
    const link = h('link', { rel: 'stylesheet', href, on: { load: () => resolve(), error: failed } });
    document.head.append(link);
  });
  STYLES.set(href, loading);
  return loading;
}

/** Replaces the children of `host`. @param {Element} host @param {...(Child|Child[])} children */
export function fill(host, ...children) {
  host.replaceChildren(...nodesOf(children));
}

/** @param {(Child|Child[])[]} children @returns {(Node|string)[]} */
function nodesOf(children) {
  return /** @type {(Node|string)[]} */ (children.flat().filter((child) => child !== null && child !== undefined && child !== false));
}

/**
 * The element with that id; throws where there is none of that type.
 * @template {HTMLElement} T
 * @param {string} id
 * @param {new () => T} [type]
 * @returns {T}
 */
export function byId(id, type) {
  const element = document.getElementById(id);
  if (!element || (type && !(element instanceof type))) throw new Error(`no element #${id}`);
  return /** @type {T} */ (element);
}

/** The first element below `root` that matches. @param {ParentNode} root @param {string} selector @returns {HTMLElement|null} */
export function query(root, selector) {
  return root.querySelector(selector);
}

/** All elements below `root` that match. @param {ParentNode} root @param {string} selector @returns {HTMLElement[]} */
export function queryAll(root, selector) {
  return [...root.querySelectorAll(selector)].map((element) => /** @type {HTMLElement} */ (element));
}

/** The element with the focus, where it is inside `root`. @param {Element} root @returns {HTMLElement|null} */
export function focusedIn(root) {
  const focused = /** @type {HTMLElement|null} */ (document.activeElement);
  return root.contains(focused) ? focused : null;
}

/** Calls `fn` once, `ms` after the last call. `now()` runs a pending call at once; `cancel()` drops it. */
export function debounce(fn, ms) {
  let timer = 0;
  const run = () => { timer = 0; fn(); };
  const later = () => { clearTimeout(timer); timer = setTimeout(run, ms); };
  later.now = () => { if (timer) { clearTimeout(timer); run(); } };
  later.cancel = () => { clearTimeout(timer); timer = 0; };
  return later;
}

/** Copies text; falls back to a hidden field where the clipboard API is refused. @returns {Promise<boolean>} */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyByField(text);
  }
}

function copyByField(text) {
  const focused = /** @type {HTMLElement|null} */ (document.activeElement);
  const field = h('textarea', { class: 'visually-hidden', 'aria-hidden': 'true', tabindex: '-1' });
  field.value = text;
  document.body.append(field);
  field.select();
  const done = document.execCommand('copy');
  field.remove();
  focused?.focus();
  return done;
}

/** True if this is a Mac, where shortcuts use Command. */
export const isMac = /mac|iphone|ipad/i.test(globalThis.navigator?.userAgentData?.platform ?? globalThis.navigator?.platform ?? '');

/** Characters that turn the direction of the text behind them (Unicode Annex 9, explicit formatting). */
const TURNING = /([\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069])/;

/** A text in which such characters are seen and turn nothing; what is copied has them. @param {string} text @returns {(Node|string)[]} */
export function marked(text) {
  return text.split(TURNING).map((part, i) => (i % 2 ? h('span', { class: 'turning', data: { code: codeOf(part) } }, part) : part));
}

/** Text form of `marked`, for an option or a tooltip. @param {string} text */
export const plainMarked = (text) => text.split(TURNING).map((part, i) => (i % 2 ? `‹${codeOf(part)}›` : part)).join('');

const codeOf = (sign) => (sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
