/**
 * The data of a table: its rows in a grid that is loaded as it is scrolled, sorted and filtered by the server.
 * @module
 */

import { keepClear } from '../../common/announce.js';
import { fill, h, icon, loadStyle } from '../../common/dom.js';
import { openMenu } from '../../common/menu.js';
import { ask } from '../ask.js';
import { pendingText } from '../core/pending.js';
import { KeptLayouts } from '../results/columns.js';
import { rowHeight } from '../results/grid.js';
import { ResultView } from '../results/resultview.js';
import { DataBar, emptyText } from './databar.js';
import { openFilter } from './filterpanel.js';
import { filterText, isOn, isWhole, listOf, listText, operatorsOf, readFilters, whereSql } from './filters.js';
import { linkBack, linksOf } from './links.js';
import { whyFixed } from './reason.js';
import { TableRows, estimateOf, referencesTo } from './source.js';
import { classOf } from './values.js';

/** Tables that the way back leads through, at most. */
const MAX_TRAIL = 50;

/** Rows up to which values and matching rows are counted unasked. */
const SMALL = 100_000;

/** Media query for touch screens, and the height of a row with links there, in pixels. */
const TOUCHED = '(max-width: 760px), (pointer: coarse)';
const TOUCHED_ROW = 41;
const LOW = '(max-height: 420px)';

/**
 * @typedef {import('./source.js').Place} Place
 * @typedef {Place & {schema: any, rows: TableRows}} Stop on the way back, with the rows that were looked at
 * @typedef {{api: import('./source.js').Api, schema: (db: string, table: string, fresh?: boolean) => Promise<any>, notify: Notify,
 *   announce: Announce, completing: Pick<import('./whereeditor.js').Source, 'catalogue'|'version'|'enabled'>, onTitle: (title: string) => void, readOnly: () => boolean, zone: () => string, server: () => string,
 *   fill: (db: string, table: string) => Promise<boolean>, store: ConstructorParameters<typeof KeptLayouts>[0], transactions: () => string[], keep: (now?: boolean) => void}} Deps `transactions`: tabs that have one open; `keep`: other rows are
 *   shown or rows were changed, which is kept in a moment or now; `fill`: imports a file into the table; true where it wrote
 */

/** The content of a data tab. What Find, Copy and Export of the result area need of a ResultView, it has too. */
export class DataView {
  #deps;
  #layouts;
  /** @type {Place} */ #place;
  /** Place that is being loaded. @type {Place|null} */ #next = null;
  /** Filters that the server refused; their chips stay, to be changed. @type {import('./filters.js').Filter[]|null} */
  #refused = null;
  /** @type {Stop[]} */ #trail = [];
  /** @type {ResultView|null} */ #view = null;
  /** @type {TableRows|null} */ #rows = null;
  #turn = 0;
  #placing = false;
  /** @type {any} */ #schema = null;
  #bar;
  /** Rows that stood above those of the table when it was drawn last. */
  #extra = 0;
  /** Editor of rows, once it is loaded. @type {import('../edit/editing.js').Editing|null} */
  #editing = null;
  /** Rows of the table without filters, as far as they were counted; its name. */
  #whole = { of: '', rows: '' };
  /** Rows of tables as the server estimates them, by table. @type {Map<string, number>} */ #estimates = new Map();
  /** The count that nobody asked for. @type {AbortController|null} */ #counting = null;
  /** Changes that were kept, until what changes rows is loaded. @type {import('../core/pending.js').PendingTable[]} */ #pending;
  /** Opens the viewer. @type {((at: import('../results/gridmodel.js').Position) => void)|null} */
  #viewCell = null;

  /**
   * @param {string} db @param {string} table @param {Deps} deps @param {Place & {masked?: boolean}} [kept] what was looked at before; `masked`: without its condition, which held a password
   * @param {import('../core/pending.js').PendingTable[]} [pending] changes that were not applied
   */
  constructor(db, table, deps, kept, pending = []) {
    this.#deps = deps;
    this.#pending = pending;
    this.#layouts = new KeptLayouts(deps.store);
    this.#place = { db, table, filters: readFilters(kept?.filters ?? []), free: kept?.free ?? '', sort: kept?.sort ?? [] };
    this.#bar = new DataBar({
      back: (steps) => this.back(steps),
      apply: (free) => this.#change({ free }),
      drop: (filter) => this.#replace(filter, null),
      turn: (filter) => this.#replace(filter, { ...filter, off: isOn(filter) }),
      edit: (filter, button) => (filter.column === '' ? this.find() : this.#openFilter(button, this.#schema?.columns.findIndex(({ name }) => name === filter.column) ?? -1, button, filter)),
      toRows: () => this.grid?.focus(),
      clear: () => { this.#bar.free = ''; this.#change({ filters: [], free: '' }); },
      refresh: () => this.#open(this.#latest, { fresh: true }),
      count: () => this.#count(),
      fill: () => this.#fill(),
      toEnd: () => this.#toEnd(),
    }, { ...deps.completing, db: () => this.#place.db, announce: deps.announce }, () => this.#zone());
    this.#bar.filling.hidden = deps.readOnly();
    this.#bar.free = this.#place.free;
    this.host = h('div', { class: 'data-host' });
    this.element = h('div', { class: 'data', on: { keydown: (event) => this.#onKey(event) } }, this.#bar.element, this.host, this.#bar.foot);
    this.#bar.showChips(this.#place);
    this.opened = this.#open(this.#place).then(() => {
      if (kept?.masked) this.#bar.fail('The WHERE condition held a password and was not saved. Enter it again.');
    });
  }

  /** The table and filters shown, without the position. */
  get place() {
    const { db, table, filters, free, sort } = this.#place;
    return { db, table, filters, free, sort };
  }

  get grid() {
    return this.#view?.grid;
  }

  get copying() {
    return this.#view?.copying;
  }

  /** Opens the find bar. */
  find() {
    return this.#view?.find();
  }

  get run() {
    return {};
  }

  /** @param {HTMLElement} button @param {boolean} [byKey] */
  openColumns(button, byKey) {
    return this.#view?.openColumns(button, byKey);
  }

  /** The form of the active row, or the grid again. */
  openForm() {
    return this.#view?.openForm();
  }

  /** Describes the pending changes; empty if there are none. */
  get unsaved() {
    return this.#editing?.unsaved ?? pendingText(this.#pending);
  }

  /** The pending changes as they are kept while the page is loaded again; none where there are none. @returns {Omit<import('../core/pending.js').Pending, 'tab'>[]} */
  get pending() {
    const { db, table } = this.#place;
    const tables = this.#editing?.pending ?? this.#pending;
    const isWhole = !this.#editing?.isOpen;
    return tables.length || !isWhole ? [{ db, table, tables, isWhole }] : [];
  }

  /** Loads the rows and the structure again; the place stays. */
  reload() {
    return this.#open({ ...this.#place, top: this.grid?.offset, at: this.grid && { ...this.grid.model.active } }, { fresh: true });
  }

  dispose() {
    this.#editing?.dispose();
    this.#turn += 1;
    this.#counting?.abort();
    for (const rows of [this.#rows, ...this.#trail.map((stop) => stop.rows)]) rows?.dispose();
    this.#view?.dispose();
  }

  // The table and filters shown.

  /**
   * Goes to a place; what is shown stays until that has answered.
   * @param {Place} place
   * @param {{fresh?: boolean, trail?: Stop[], kept?: Stop}} [how] `trail`: the way back from there; `kept`: it was there before
   */
  async #open(place, { fresh = false, trail = this.#trail, kept } = {}) {
    const turn = (this.#turn += 1);
    this.#next = place;
    this.#counting?.abort();
    this.#editing?.commit();
    this.element.setAttribute('aria-busy', 'true');
    try {
      const schema = kept?.schema ?? await this.#deps.schema(place.db, place.table, fresh);
      if (!schema.columns?.length) throw new Error(schema.note ?? `${place.table} has no columns that can be shown`);
      if (fresh) this.#whole.of = '';
      this.#dropUnknown(place, schema);
      const [rows] = await Promise.all([kept?.rows ?? this.#rowsOf(place, schema), this.#loadEditing(schema)]);
      const first = Math.floor((place.top ?? 0) / (this.grid?.model.rowHeight ?? 24));
      if (turn === this.#turn) await rows.need(first, first + 50);
      if (turn !== this.#turn) return kept ? undefined : rows.dispose();
      if (!kept) this.#editing?.reread(place);
      this.#show(place, schema, rows, trail);
      this.#tellHeld();
      this.#countUnasked();
    } catch (cause) {
      if (turn !== this.#turn) return undefined;
      if (this.#isHere(place)) this.#refused = place.filters;
      this.#bar.showChips(this.#refused ? { ...this.#place, filters: this.#refused } : this.#place);
      this.#bar.fail(failureText(cause), () => this.#open(place, { fresh: true, trail }));
    } finally {
      if (turn === this.#turn) {
        this.#next = null;
        this.element.removeAttribute('aria-busy');
      }
    }
    return undefined;
  }

  /** Removes filters and sort keys of columns that the table does not have any longer, and says so. @param {Place} place @param {any} schema */
  #dropUnknown(place, schema) {
    const known = new Set(schema.columns.map(({ name }) => name.toLowerCase()));
    const lost = place.filters.filter(({ column }) => column !== '' && !known.has(column.toLowerCase()));
    if (lost.length) this.#deps.notify(`Removed the filter of ${[...new Set(lost.map(({ column }) => column))].join(', ')}: ${place.table} has no such column`, 'warn');
    const nameOf = (column) => schema.columns.find(({ name }) => name.toLowerCase() === column.toLowerCase())?.name;
    place.filters = place.filters.filter((one) => !lost.includes(one)).map((one) => (one.column === '' || nameOf(one.column) === one.column ? one : { ...one, column: nameOf(one.column) }));
    place.sort = place.sort.filter(({ name }) => known.has(name.toLowerCase()));
  }

  /** Says why kept changes of the table cannot be applied. */
  #tellHeld() {
    const { db, table } = this.#place;
    const kept = this.#editing ? [] : this.#pending.filter((one) => one.db === db && one.table === table);
    const why = kept.length ? `${pendingText(kept)} cannot be applied. ${whyFixed(this.#schema, this.#deps.readOnly()) || 'The row editor was not loaded'}` : this.#editing?.whyHeld(this.#place);
    if (why) this.#bar.fail(`${why}. They are kept until you close the tab.`);
  }

  #rowsOf(place, schema) {
    const { api } = this.#deps;
    /** @type {TableRows} */
    const rows = new TableRows(api, { ...place, schema }, place, (shifted) => { if (rows === this.#rows) this.#grew(shifted); });
    return rows;
  }

  /** Loads what changes rows, where those of a table can be. */
  async #loadEditing(schema) {
    if (this.#editing || whyFixed(schema, this.#deps.readOnly())) return;
    const [module] = await Promise.all([import('../edit/editing.js'), loadStyle(new URL('../edit.css', import.meta.url))]).catch(() => [null]);
    if (!module) this.#deps.notify('Could not load the row editor. Is postern still running? Reload the rows.', 'bad');
    else this.#editing ??= this.#makeEditing(module.Editing);
  }

  /** @param {typeof import('../edit/editing.js').Editing} Editing */
  #makeEditing(Editing) {
    const { api, notify, announce, transactions, server } = this.#deps;
    const editing = new Editing({
      api, notify, announce, transactions, server, schema: this.#deps.schema, store: this.#deps.store,
      redraw: (toTop) => this.#redraw(toTop),
      reload: () => this.reload(),
      failed: (message) => this.#bar.fail(message),
      settled: () => this.#bar.settle(),
      titled: () => { this.#title(); this.#deps.keep(); },
      edited: this.#deps.keep,
      view: (at) => this.#viewCell?.(at),
    });
    editing.restore(this.#pending);
    this.#pending = [];
    this.#bar.foot.before(editing.element);
    keepClear(editing.element);
    return editing;
  }

  /** Cells were changed, or rows came above the others. @param {boolean} [toTop] whether what came is to be in sight */
  #redraw(toTop = false) {
    const { grid } = this;
    const rows = this.#rows;
    if (!grid || !rows) return;
    const { active, anchor } = grid.model;
    const by = rows.extra - this.#extra;
    this.#extra = rows.extra;
    if (by && !toTop) {
      for (const position of [active, anchor]) if (position.row >= 0) position.row = Math.max(0, position.row + by);
    }
    const { offset } = grid;
    grid.grew();
    if (by && !toTop) grid.offset = offset + by * grid.model.rowHeight;
    this.#view?.refresh();
    this.#tell();
  }

  #title() {
    this.#deps.onTitle(`${this.#place.table} data${this.unsaved ? ' •' : ''}`);
  }

  /** @param {Place} place @param {any} schema @param {TableRows} rows @param {Stop[]} trail */
  #show(place, schema, rows, trail) {
    const same = this.#view && this.#schema === schema && place.db === this.#place.db && place.table === this.#place.table;
    const focused = this.host.contains(document.activeElement);
    for (const old of [this.#rows, ...this.#trail.map((stop) => stop.rows)]) {
      if (old !== rows && !trail.some((stop) => stop.rows === old)) old?.dispose();
    }
    this.#trail = trail;
    this.#rows = rows;
    this.#schema = schema;
    this.#place = place;
    this.#refused = null;
    const reason = whyFixed(schema, this.#deps.readOnly());
    rows.edits = (!reason && this.#editing?.changesOf(place, schema)) || null;
    this.#extra = rows.extra;
    this.#bar.reason = reason;
    const { grid } = same ? /** @type {ResultView} */ (this.#view) : this.#makeView();
    grid.model.result = rows;
    grid.empty.textContent = emptyText(place);
    if (same) grid.model.widen();
    grid.model.sortKeys = place.sort.map(({ name, descending }) => ({ column: rows.columns.indexOf(name), descending }));
    // A new row gets the values of filters.
    const values = place.filters.filter((one) => isWhole(one, schema.columns.find(({ name }) => name === one.column)?.type ?? 'text'));
    this.#editing?.show(rows.edits ? { grid, rows, schema, place: { ...place, filters: values } } : null);
    if (place.at) grid.model.moveTo(place.at);
    this.#placing = true; // the top is not what is looked at
    grid.grew();
    grid.offset = place.top ?? 0;
    this.#placing = false;
    this.#view?.refresh();
    this.#tell();
    if (focused && !same) grid.focus();
    this.#title();
    this.#deps.keep();
    this.#deps.announce(`${place.table}: ${this.#bar.figures.textContent}`);
  }

  #makeView() {
    const { notify, announce } = this.#deps;
    const { db, table } = this.#place;
    const names = this.#schema.columns.map(({ name }) => name);
    this.#view?.dispose();
    const view = new ResultView(/** @type {any} */ (this.#rows), {
      title: this.#place.table, run: {}, notify, announce, schemaOf: this.#deps.schema, menu: (at) => this.#menu(at),
      filter: (column) => this.#filterOfActive(column),
      form: { edit: (row) => this.#editing?.formOf(row) ?? null, typing: (commit) => { if (this.#editing) this.#editing.typing = commit; } },
      arranged: (layout) => this.#layouts.write(db, table, names, layout),
      grid: {
        label: `Rows of ${this.#place.table}`,
        // A finger hits a link only in a row that is high enough.
        ...(this.#schema.foreign_keys?.length && { rowHeight: () => (matchMedia(TOUCHED).matches && !matchMedia(LOW).matches ? TOUCHED_ROW : rowHeight()) }),
        toEnd: () => this.#toEnd(),
        searchAll: (text, column) => this.#searchAll(text, column),
        sort: (keys) => this.#change({ sort: keys.map(({ column, descending }) => ({ name: this.#schema.columns[column].name, descending })) }),
        onSight: (first, last) => this.#onSight(first, last),
        onHeader: (header, column) => this.#header(header, column),
        onCell: (cell, at) => { this.#cell(cell, at); this.#editing?.markCell(cell, at); },
        onRow: (row, number, place) => this.#editing?.markRow(row, number, place),
        onMove: () => this.#editing?.commit(),
        onKey: (event, at) => this.#editing?.onKey(event, at) ?? false,
      },
    });
    const open = view.grid.options.onOpen;
    this.#viewCell = (at) => open?.(at, true);
    // A click on a long value shows it; Enter and a double click change it.
    view.grid.options.onOpen = (at, byKey, byClick) => { if (byClick || !this.#editing?.begin(at)) open?.(at, byKey); };
    view.element.classList.add('filtered');
    // Before it is in the document: the top of the rows is not what is looked at.
    view.grid.arrange(this.#layouts.read(db, table, names));
    fill(this.host, view.element);
    this.#view = view;
    return view;
  }

  #onSight(first, last) {
    if (this.#placing) return;
    const rows = this.#rows;
    rows?.need(first, last).catch((cause) => {
      if (rows === this.#rows) this.#bar.fail(cause.message, () => this.grid?.grew());
    });
    this.#bar.sight(first, last, this.#rows);
  }

  #grew(shifted) {
    this.grid?.grew(shifted);
    this.#view?.refresh();
    this.#tell();
  }

  #tell() {
    const { pager, source } = /** @type {TableRows} */ (this.#rows);
    if (!source.where && pager.ended) this.#countedWhole(String(pager.rowCount + (this.#rows?.edits?.savedCount ?? 0)));
    this.#bar.show(this.#place, this.#trail, /** @type {TableRows} */ (this.#rows), this.#wholeRows);
  }

  get #id() {
    return JSON.stringify([this.#place.db, this.#place.table]);
  }

  /** Rows of the table without filters; the empty text if nobody has counted them. */
  get #wholeRows() {
    return this.#whole.of === this.#id ? this.#whole.rows : '';
  }

  #countedWhole(rows) {
    this.#whole = { of: this.#id, rows };
  }

  /** @param {Partial<Place>} what */
  #change(what) {
    return this.#open({ ...this.#latest, ...what, top: 0, at: undefined });
  }

  /** The place that was asked for last: a second change must not undo the first, whose rows are still loaded. */
  get #latest() {
    const next = this.#next;
    if (next && this.#isHere(next)) return next;
    return this.#refused ? { ...this.#place, filters: this.#refused } : this.#place;
  }

  /** True if the place is in the table shown. @param {Place} place */
  #isHere({ db, table }) {
    return db === this.#place.db && table === this.#place.table;
  }

  async #count() {
    const rows = this.#rows;
    if (!rows) return;
    try {
      this.#bar.counted(null);
      const total = rows.pager.ended ? String(rows.pager.rowCount) : await rows.total();
      const whole = rows.source.where ? await rows.total(true) : total;
      if (rows !== this.#rows) return;
      this.#countedWhole(whole);
      this.#bar.counted(total, whole);
    } catch (cause) {
      if (rows === this.#rows) this.#bar.fail(cause.message, () => this.#count());
    }
  }

  /** Counts the matching rows of a table that is small enough; another place ends it. */
  async #countUnasked() {
    const rows = this.#rows;
    this.#counting?.abort();
    if (!rows?.source.where || (rows.pager.ended && this.#wholeRows !== '')) return;
    const { signal } = (this.#counting = new AbortController());
    try {
      if (!await this.#isSmall(signal)) return;
      const total = rows.pager.ended ? '' : await rows.total(false, signal);
      const whole = this.#wholeRows || await rows.total(true, signal);
      if (rows !== this.#rows || signal.aborted) return;
      this.#countedWhole(whole);
      this.#bar.counted(total || String(rows.pager.rowCount), whole);
    } catch {
      // The click on "Count all" says what is wrong.
    }
  }

  /** True if the table has so few rows that counting them takes no time. @param {AbortSignal} signal */
  async #isSmall(signal) {
    if (this.#wholeRows !== '') return Number(this.#wholeRows) <= SMALL;
    const { db, table } = this.#place;
    const estimate = this.#estimate ?? await estimateOf(this.#deps.api, db, table, signal) ?? Infinity;
    this.#estimates.set(JSON.stringify([db, table]), estimate);
    return estimate <= SMALL;
  }

  /** Rows of the table as far as the page knows them, of a view any number; null where it has not asked. @returns {number|null} */
  get #estimate() {
    const { db, table } = this.#place;
    /** @type {any} */
    const entry = this.#deps.completing.catalogue.knownTables(db)?.find(({ name }) => name === table);
    return entry ? entry.rows_estimate ?? Infinity : this.#estimates.get(this.#id) ?? null;
  }

  async #fill() {
    const { db, table } = this.#place;
    if (await this.#deps.fill(db, table)) this.#open(this.#place, { fresh: true });
  }

  /** Goes to the last row, without those between. */
  async #toEnd() {
    const rows = this.#rows;
    if (!rows || !this.grid) return;
    try {
      if (!rows.pager.ended) {
        this.#bar.counted(null);
        const total = await rows.total();
        if (rows !== this.#rows) return;
        await rows.pager.jump(Number(total));
        this.#bar.counted(total);
      }
      if (rows === this.#rows) this.grid?.moveTo({ row: rows.length - 1, column: this.grid.model.active.column }, { focus: true });
    } catch (cause) {
      if (rows === this.#rows) this.#bar.fail(cause.message, () => this.#toEnd());
    }
  }

  // Filters.

  #header(header, column) {
    const { name, type } = this.#schema.columns[column];
    const text = this.#place.filters.filter((one) => one.column === name && isOn(one)).map(filterText).join(' AND ');
    const known = header.querySelector('.grid-filter');
    const button = known ?? h('button', { type: 'button', class: 'grid-filter', tabindex: -1, 'aria-haspopup': 'dialog', on: {
      click: (event) => { event.stopPropagation(); this.#openFilter(button, Number(button.dataset.column)); },
      pointerdown: (event) => event.stopPropagation(),
      dblclick: (event) => event.stopPropagation(),
      keydown: (event) => { if (event.key === 'Enter' || event.key === ' ') event.stopPropagation(); },
    } });
    if (!known) header.append(button);
    button.dataset.column = String(column);
    button.classList.toggle('set', text !== '');
    button.setAttribute('aria-label', text ? `Filter ${name}: ${text}` : `Filter ${name}`);
    button.title = `${text ? `${name} ${text}` : `Filter ${name}`} (Alt+↓)\n${type}`;
    fill(button, icon('filter'), text !== '' && h('span', { text }));
  }

  /** @param {HTMLElement} button @param {number} at column @param {HTMLElement} [back] @param {import('./filters.js').Filter} [current] */
  #openFilter(button, at, back = button, current) {
    const rows = this.#rows;
    const column = this.#schema?.columns[at];
    if (!rows || !column) return;
    const { filters, free } = this.#latest;
    const known = this.#wholeRows === '' ? this.#estimate : Number(this.#wholeRows);
    const keys = this.#keyNames(column);
    openFilter(button, {
      column, filters: filters.filter((one) => one.column === column.name), current,
      isSmall: known !== null && known <= SMALL,
      count: async (besides, search, signal) => {
        const where = whereSql(filters.filter((one) => one !== besides), free, rows.source.columns);
        const names = await keys;
        const counted = await rows.values(at, where, search, signal, search && names ? await names.condition(column.name, search) : '');
        const texts = await names?.names(counted.values.map(({ value }) => value), signal);
        return texts?.size ? { ...counted, values: counted.values.map((one) => ({ ...one, text: texts.get(one.value ?? '') })) } : counted;
      },
      named: async (op, text) => (await keys)?.find(op, text) ?? null,
      apply: (from, to) => this.#replace(from, to),
    }, back);
  }

  /** The time zone of the sessions that read rows: the server's may have changed since it was met. */
  async #zone() {
    const sql = "SELECT IF(@@session.time_zone = 'SYSTEM', @@system_time_zone, @@session.time_zone)";
    return ask(this.#deps.api, { sql }).then(({ rows }) => String(rows[0]?.[0] ?? this.#deps.zone()), () => this.#deps.zone());
  }

  /** Readable names of the keys that a column refers to; null where it refers to none. @param {{name: string, type: string}} column */
  async #keyNames(column) {
    if (!this.#schema.foreign_keys?.some(({ columns }) => columns.includes(column.name))) return null;
    const module = await import('./keynames.js').catch(() => null);
    return module && module.KeyNames.of(this.#deps, this.#schema, this.#place.db, column);
  }

  /** Filters by a text in all rows, which the server finds; the find bar goes on there. @param {string} text @param {number} at column; -1 for any */
  async #searchAll(text, at) {
    const chosen = this.#schema.columns[at];
    // A text of hex digits is looked for in all columns: no filter of such a column compares with what is shown.
    const column = chosen && ['bit', 'binary', 'shape'].includes(classOf(chosen.type)) ? undefined : chosen;
    const { filters } = this.#latest;
    const operators = column ? operatorsOf(column.type) : [];
    /** @type {import('./filters.js').Filter} */
    const filter = !column ? { column: '', op: 'contains', value: text }
      : operators.includes('contains') ? { column: column.name, op: 'contains', value: text } : { column: column.name, op: 'LIKE', value: `%${text}%` };
    await this.#change({ filters: [...filters.filter((one) => column || one.column !== ''), filter] });
    this.find();
  }

  /** Puts a filter in the place of another, or behind all; null removes it. @param {import('./filters.js').Filter|undefined} from @param {import('./filters.js').Filter|null} to */
  #replace(from, to) {
    const { filters } = this.#latest;
    const next = to ? [to] : [];
    this.#change({ filters: from ? filters.flatMap((one) => (one === from ? next : [one])) : [...filters, ...next] });
  }

  /** Hides the rows with a value of a column. @param {string} column @param {string|null} value */
  #exclude(column, value) {
    if (value === null) return this.#replace(undefined, { column, op: 'NOT NULL', value: '' });
    const known = this.#latest.filters.find((one) => one.column === column && one.op === 'except' && isOn(one));
    return this.#replace(known, { column, op: 'except', value: listText([...(known ? listOf(known.value) : []), value]) });
  }

  // Foreign keys.

  #linksAt({ row, column }) {
    const name = this.#schema.columns[column]?.name;
    return name === undefined ? [] : linksOf(this.#schema, this.#place.db, this.#rows?.at(row), name);
  }

  #cell(cell, at) {
    const [link] = this.#linksAt(at);
    cell.toggleAttribute('data-link', Boolean(link)); // :has() would cost each scroll some milliseconds
    if (!link) return;
    const stop = (event) => event.stopPropagation();
    cell.append(h('button', {
      type: 'button', class: 'grid-link', tabindex: -1, 'aria-label': `Open ${link.text}`, title: `Open ${link.text} (Alt+→)`,
      on: { pointerdown: stop, dblclick: stop, click: (event) => { stop(event); this.grid?.moveTo(at); this.follow(link); } },
    }, icon('open')));
  }

  /** @returns {import('../../common/menu.js').MenuItem[]} */
  #menu(at) {
    const row = this.#rows?.at(at.row);
    const column = this.#schema.columns[at.column];
    if (!row || !column) return [];
    const value = row[at.column];
    const stands = value !== null && typeof value === 'object';
    const filter = value === null ? { column: column.name, op: 'NULL', value: '' } : { column: column.name, op: '=', value: String(value) };
    const others = this.#latest.filters.filter((one) => one.column !== column.name || !isOn(one));
    const canExclude = operatorsOf(column.type).includes(value === null ? 'NOT NULL' : 'except');
    return [
      ...(this.#editing?.menu(at) ?? []),
      ...(stands ? [] : [{ label: 'Show only rows with this value', icon: 'filter', run: () => this.#change({ filters: [...others, /** @type {any} */ (filter)] }) }]),
      ...(stands || !canExclude ? [] : [{ label: 'Exclude this value', run: () => this.#exclude(column.name, filter.op === 'NULL' ? null : filter.value) }]),
      null,
      ...this.#linksAt(at).map((link, i) => ({ label: `Open ${link.text}`, icon: 'open', key: i === 0 ? 'Alt+→' : '', run: () => this.follow(link) })),
      { label: 'Referenced by …', icon: 'link', run: () => this.#referencedBy(row) },
    ];
  }

  async #referencedBy(row) {
    const { notify, api } = this.#deps;
    const { db, table } = this.#place;
    const turn = this.#turn;
    try {
      const references = await referencesTo(api, db, table);
      if (turn !== this.#turn) return;
      const links = references.flatMap((reference) => linkBack(this.#schema, row, reference));
      const cell = this.grid?.activeElement;
      if (!links.length) notify(references.length ? 'Nothing refers to this row: its key is NULL' : `No foreign key refers to ${table}`, 'info');
      else if (cell) openMenu(cell, links.map((link) => ({ label: `${link.db === db ? '' : `${link.db}.`}${link.text}`, icon: 'table', run: () => this.follow(link) })));
    } catch (cause) {
      notify(cause.message, 'bad');
    }
  }

  /** Goes where a foreign key leads. @param {import('./links.js').Link} link */
  follow({ db, table, filters }) {
    const { grid } = this;
    if (!grid || !this.#rows) return undefined;
    const here = { ...this.#place, top: grid.offset, at: { ...grid.model.active }, rows: this.#rows, schema: this.#schema };
    this.#bar.free = '';
    return this.#open({ db, table, filters, free: '', sort: [] }, { trail: [...this.#trail, here].slice(-MAX_TRAIL) });
  }

  /** Goes back to where a link was followed. @param {number} [steps] */
  back(steps = 1) {
    const stop = this.#trail.at(-steps);
    if (!stop) return;
    this.#bar.free = stop.free;
    stop.rows.pager.release();
    this.#open(stop, { trail: this.#trail.slice(0, -steps), kept: stop });
  }

  #onKey(event) {
    if (!event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const active = this.grid?.model.active;
    const inRows = active && active.row >= 0 && this.grid?.element.contains(event.target);
    if (event.key === 'ArrowLeft' && this.#trail.length && (inRows || !this.grid?.element.contains(event.target))) this.back();
    else if (event.key === 'ArrowRight' && inRows && this.#linksAt(active).length) this.follow(this.#linksAt(active)[0]);
    else if (event.key === 'ArrowDown' && active && this.grid?.element.contains(event.target)) this.#filterOfActive(active.column);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #filterOfActive(column) {
    const button = this.grid?.element.querySelector(`.grid-filter[data-column="${column}"]`);
    if (button) this.#openFilter(/** @type {HTMLElement} */ (button), column, this.grid?.activeElement ?? undefined);
  }
}

/** An error of reading, in words: a column of one character set is compared with a character that another one has. @param {any} cause */
function failureText({ errno, message }) {
  return errno === 1267 ? `No row can match: a filter has characters that the character set of its column does not have. ${message}` : message;
}
