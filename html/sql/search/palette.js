// Search over all databases: a field, the kinds, and the best matches, which open what they name.
import { fill, h, icon, iconButton, marked, plainMarked, queryAll } from '../../common/dom.js';
import { openDialog } from '../../common/dialog.js';
import { agoText, factOf, hits, kindText, objectOf, placeOf, rowsOf, wordsOf } from '../core/matching.js';

/** @typedef {import('../core/matching.js').Match} Match */
/** @typedef {{matches: Match[], total: number, truncated: boolean, missing: {db: string, table: string|null, reason: string}[], loaded_at: string}} Found */
/** @typedef {'open'|'data'|'rows'} Way how a match is opened */
/**
 * Parts of the workbench that the search needs.
 * @typedef {{api: ReturnType<typeof import('../api.js').createApi>, catalogue: import('../workbench/catalogue.js').Catalogue, active: {db: string, results: {focus: () => void}},
 *   server: {close: () => void}, sidebar: {filter: HTMLElement}, layout: {openDrawer: () => void},
 *   objects: {open: (object: import('../objects/kinds.js').Named) => Promise<any>}, browse: (db: string) => Promise<any>, runTable: (db: string, table: string) => void,
 *   openSchema: (db: string, table: string, column?: string) => void, openData: (db: string, table: string) => Promise<any>}} Bench
 */

/** Matches that are listed at first, and at most. */
const FEW = 50;
const MANY = 500;
/** Delay after which a wait is said, in ms. */
const LATE_MS = 400;
/** Lines that Page Up and Page Down move by. */
const STEP = 8;
/** Parts that are not searched and are listed. */
const MAX_MISSING = 50;

/** Kinds to choose from, and how they are called. */
const KINDS = [['', 'All'], ['table', 'Tables'], ['view', 'Views'], ['column', 'Columns'], ['routine', 'Routines'], ['trigger', 'Triggers'], ['event', 'Events'], ['database', 'Databases']];
/** @type {Record<string, string>} */
const ICONS = { procedure: 'function', package: 'function', 'package body': 'function' };

/** The last search, which is there again when it is opened. */
const last = { text: '', kind: '', here: false, changes: 0, isReread: false };

/** @type {Promise<any>|undefined} */
let style;

/** Opens the search, and what is chosen there. @param {Bench} bench */
export async function openSearch(bench) {
  style ??= new Promise((done) => {
    document.head.append(h('link', { rel: 'stylesheet', href: new URL('./search.css', import.meta.url).href, on: { load: done, error: done } }));
  });
  await style;
  if (document.querySelector('dialog[open]')) return;
  const chosen = await new Palette(bench).open();
  if (chosen) await go(bench, chosen.match, chosen.way);
}

/** @param {Bench} bench @param {Match} match @param {Way} way */
async function go(bench, match, way) {
  const { db } = match;
  const table = rowsOf(match);
  bench.server.close();
  if (table && way === 'rows') return bench.runTable(db, table);
  if (table && way === 'data') return goToData(bench, match, table);
  if (table) return bench.openSchema(db, table, match.kind === 'column' ? match.name : '');
  if (match.kind === 'database') {
    bench.layout.openDrawer();
    await bench.browse(db);
    return bench.sidebar.filter.focus();
  }
  await bench.objects.open(objectOf(match));
  return queryAll(document.body, '.results-panels .schema[tabindex]').find((pane) => pane.checkVisibility())?.focus();
}

/** The rows of a table, with the focus there, of a column on its first value. */
async function goToData(bench, { kind, db, name }, table) {
  const view = await bench.openData(db, table);
  const model = view?.grid?.model;
  if (!model) return bench.active.results.focus();
  const at = kind === 'column' ? model.result.columns.indexOf(name) : -1;
  return view.grid.moveTo({ row: model.rowCount > 0 ? 0 : -1, column: at < 0 ? model.slots[0] : at }, { focus: true });
}

class Palette {
  #bench;
  /** @type {Match[]} */
  #matches = [];
  #at = 0;
  #limit = FEW;
  #refresh;
  #busy = false;
  /** True if the field changed while a request was on its way. */
  #again = false;
  /** The search that the matches are of. @type {string|null} */ #shown = null;
  /** Enter was pressed before the answer came. @type {{altKey: boolean, shiftKey: boolean}|null} */ #awaited = null;
  #left = new AbortController();
  #close = /** @type {(value?: any) => void} */ (() => {});

  /** @param {Bench} bench */
  constructor(bench) {
    this.#bench = bench;
    // A table that this page made is found at once.
    this.#refresh = bench.catalogue.changes !== last.changes;
    this.field = h('input', {
      class: 'field search-field', type: 'search', role: 'combobox', 'aria-label': 'Search all databases', 'aria-expanded': 'false', 'aria-controls': 'search-list', 'aria-autocomplete': 'list',
      placeholder: 'Table, column, routine or comment', maxlength: 200, autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false', autofocus: true,
      on: { input: () => this.#changed(), keydown: (event) => this.#onKey(event) },
    });
    this.list = h('ul', { class: 'search-list', id: 'search-list', role: 'listbox', 'aria-label': 'Matches', on: { click: (event) => this.#onClick(event) } });
    this.note = h('div', { class: 'search-note' });
    this.status = h('span', { class: 'search-status dim', role: 'status' });
    this.more = h('button', { type: 'button', class: 'button', hidden: true, on: { click: () => { this.#limit = MANY; this.#ask(); this.field.focus(); } } });
    this.again = iconButton('refresh', 'Read names and comments again', () => this.#readAgain());
    this.missing = h('details', { class: 'search-missing', hidden: true });
  }

  /** @returns {Promise<{match: Match, way: Way}|undefined>} */
  open() {
    const { db } = this.#bench.active;
    this.field.value = last.text;
    const kinds = KINDS.map(([kind, label]) => h('label', { class: 'search-kind' }, h('input', { type: 'radio', name: 'search-kind', value: kind, checked: kind === last.kind, on: { change: () => { last.kind = kind; this.#changed(); } } }), label));
    const here = db && h('label', { class: 'search-kind' }, h('input', { type: 'checkbox', checked: last.here, on: { change: ({ target }) => { last.here = target.checked; this.#changed(); } } }), `Only in ${db}`);
    const hint = (key, text) => h('span', {}, h('kbd', { class: 'key', text: key }), ` ${text}`);
    const body = [
      h('div', { class: 'search-head' }, icon('search'), this.field),
      h('div', { class: 'search-kinds' }, h('div', { class: 'search-kinds', role: 'radiogroup', 'aria-label': 'Kind' }, kinds), here),
      h('div', { class: 'search-matches' }, this.list, this.note),
      h('div', { class: 'search-foot' }, this.status, this.more, h('span', { class: 'search-keys dim', 'aria-hidden': 'true' }, hint('Enter', 'open'), hint('Alt Enter', 'data'), hint('Shift Enter', 'first 100 rows')), this.again),
      this.missing,
    ];
    return openDialog({
      title: 'Search', wide: true, body,
      onOpen: (dialog, close) => {
        dialog.classList.add('search');
        this.#close = close;
        dialog.addEventListener('keydown', (event) => {
          // The browser's own search would come in front.
          if ((event.ctrlKey || event.metaKey) && !event.altKey && event.code === 'KeyK') { event.preventDefault(); this.field.select(); this.field.focus(); }
        });
        this.field.select();
        this.#ask();
      },
    }).finally(() => this.#left.abort());
  }

  /** Asks the database server for all names again. */
  #readAgain() {
    this.#refresh = true;
    this.#ask();
    this.field.focus();
  }

  #changed() {
    last.text = this.field.value;
    this.#awaited = null;
    this.#limit = FEW;
    this.#ask();
  }

  /** The search that is asked for. */
  get #wanted() {
    return JSON.stringify([last.text.trim(), last.kind, last.here]);
  }

  /** Asks for what is in the field now; one request at a time, so that the newest is the next. */
  async #ask() {
    this.#again = this.#busy;
    if (this.#busy) return;
    this.#busy = true;
    const { catalogue, active, api } = this.#bench;
    const { changes } = catalogue;
    const text = last.text.trim();
    const wanted = this.#wanted;
    const refresh = this.#refresh;
    const late = setTimeout(() => { this.status.textContent = 'Reading names and comments …'; }, LATE_MS);
    this.list.setAttribute('aria-busy', 'true');
    try {
      const found = await api.search({ q: text, ...(last.kind && { kind: last.kind }), ...(active.db && { [last.here ? 'db' : 'near']: active.db }), limit: String(this.#limit), ...(refresh && { refresh: '1' }) }, this.#left.signal);
      if (refresh) {
        this.#refresh = false;
        last.changes = changes;
      }
      // A table that the page shows may be younger than the names: they are read again, once.
      if (text && !found.total && !last.isReread && Date.parse(found.loaded_at) < performance.timeOrigin) this.#refresh = this.#again = last.isReread = true;
      else {
        this.#shown = wanted;
        this.#show(found, text);
      }
    } catch (error) {
      if (!this.#left.signal.aborted) this.#fail(error);
    } finally {
      clearTimeout(late);
      this.#busy = false;
      this.list.removeAttribute('aria-busy');
    }
    if (this.#again && !this.#left.signal.aborted) this.#ask();
  }

  /** @param {Error} error */
  #fail(error) {
    const again = h('button', { type: 'button', class: 'button', text: 'Try again', on: { click: () => { this.#ask(); this.field.focus(); } } });
    fill(this.note, h('p', { class: 'bad', role: 'alert', text: error.message }), again);
    this.status.textContent = this.#matches.length ? 'Matches of an earlier search' : '';
  }

  /** @param {Found} found @param {string} text */
  #show({ matches, total, truncated, missing, loaded_at: loaded }, text) {
    const words = wordsOf(text);
    const number = (count) => count.toLocaleString('en');
    this.#matches = matches;
    fill(this.list, matches.map((match, i) => lineOf(match, i, words)));
    const age = `The names were read ${agoText(Date.now() - Date.parse(loaded))}.`;
    fill(this.note, ...(matches.length ? [] : [h('p', { class: 'dim', text: `${this.#nothing(text)} ${age}` }), h('button', { type: 'button', class: 'button', text: 'Read again', on: { click: () => this.#readAgain() } })]));
    this.list.hidden = !matches.length;
    this.list.scrollTop = 0;
    this.field.setAttribute('aria-expanded', String(matches.length > 0));
    this.#mark(0);
    this.status.textContent = truncated ? `${number(matches.length)} of ${number(total)} matches` : `${number(total)} match${total === 1 ? '' : 'es'}`;
    this.more.hidden = !truncated || matches.length >= MANY;
    this.more.textContent = `Show ${number(Math.min(total, MANY))}`;
    this.again.title = `Read names and comments again (last read at ${new Date(loaded).toLocaleTimeString()})`;
    this.missing.hidden = !missing.length;
    if (missing.length) fill(this.missing, h('summary', { text: `Not searched: ${number(missing.length)} part${missing.length === 1 ? '' : 's'}` }), h('ul', {}, missing.slice(0, MAX_MISSING).map(missingOf)));
    if (this.#awaited) this.#choose(0, this.#awaited);
  }

  #nothing(text) {
    const within = [last.kind && `of kind ${last.kind}`, last.here && this.#bench.active.db && `in ${this.#bench.active.db}`].filter(Boolean).join(' ');
    return `Nothing${within && ` ${within}`} matches${text ? ` “${text}”` : ''}. ${within ? 'Choose All to search everything.' : 'Names and comments are searched, not values.'}`;
  }

  /** @param {number} at */
  #mark(at) {
    const options = queryAll(this.list, '[role=option]');
    this.#at = Math.max(0, Math.min(at, options.length - 1));
    for (const [i, option] of options.entries()) option.setAttribute('aria-selected', String(i === this.#at));
    const option = options[this.#at];
    if (option) this.field.setAttribute('aria-activedescendant', option.id);
    else this.field.removeAttribute('aria-activedescendant');
    option?.scrollIntoView({ block: 'nearest' });
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    if (event.isComposing) return;
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: STEP, PageUp: -STEP }[event.key];
    if (by !== undefined) this.#mark(this.#at + by);
    else if (event.key === 'Enter') this.#choose(this.#at, event);
    // A field of this type would be emptied first.
    else if (event.key === 'Escape') this.#close();
    else return;
    event.preventDefault();
  }

  /** @param {any} event */
  #onClick(event) {
    const option = event.target.closest('[role=option]');
    if (option) this.#choose(queryAll(this.list, '[role=option]').indexOf(option), event);
  }

  /** @param {number} at @param {{altKey: boolean, shiftKey: boolean}} how */
  #choose(at, { altKey, shiftKey }) {
    // The marked line belongs to an earlier search: the first one of this search is meant.
    if (this.#shown !== this.#wanted) {
      this.#awaited = { altKey, shiftKey };
      return;
    }
    this.#awaited = null;
    const match = this.#matches[at];
    if (match) this.#close({ match, way: altKey ? 'data' : shiftKey ? 'rows' : 'open' });
  }
}

/** @param {Match} match @param {number} i @param {string[]} words */
function lineOf(match, i, words) {
  const parts = (text) => hits(text, words).flatMap(({ text: part, hit }) => (hit ? h('mark', {}, marked(part)) : marked(part)));
  const [kind, place, fact] = [kindText(match), placeOf(match), factOf(match)];
  return h('li', { class: 'search-line', role: 'option', id: `search-option-${i}`, 'aria-selected': 'false' },
    icon(ICONS[kind] ?? kind),
    h('span', { class: 'search-main' }, h('span', { class: 'search-name' }, parts(match.name)), fact && h('span', { class: 'search-type dim', text: ` ${fact}` })),
    h('span', { class: 'search-place dim' }, h('span', { text: `${kind} ` }), parts(place)),
    match.comment && h('span', { class: 'search-comment dim', title: plainMarked(match.comment) }, parts(match.comment)));
}

function missingOf({ db, table, reason }) {
  return h('li', {}, h('code', { text: table ? `${db}.${table}` : db }), ` ${reason}`);
}
