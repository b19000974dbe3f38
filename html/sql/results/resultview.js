/**
 * One result: its grid, the viewer beside it and the find bar above.
 * @module
 */

import { fill, h, loadStyle } from '../../common/dom.js';
import { Copying } from './copying.js';
import { Grid } from './grid.js';
import { listen } from './gridinput.js';
import { readPreference, writePreference } from './preferences.js';
import { ViewerPane } from './viewerpane.js';

/** Bounds of the viewer's width, in pixels, and the step of a key press. */
const WIDTH = { least: 220, first: 380, step: 24 };

/** Style of the list of columns and of their statistics. */
const COLUMNS = new URL('./columns.css', import.meta.url);

/** The content of a result's tab. */
export class ResultView {
  #notify;
  #announce;
  #filter;
  #formOn;
  /** The find bar, once it was opened. @type {import('./find.js').FindBar|null} */ #find = null;
  /** @type {typeof import('./find.js')|undefined} */ #finding;
  /** The form of a row, once it is loaded. @type {import('../edit/rowform.js').RowForm|null} */ #form = null;

  /**
   * @param {import('../core/resultset.js').ResultSet} result
   * @param {{title: string, run: object, notify: Notify, announce: Announce, why?: string, schemaOf?: import('../core/origin.js').SchemaOf,
   *   arranged?: (layout: import('./gridmodel.js').Layout) => void, filter?: (column: number) => void, form?: Pick<import('../edit/rowform.js').On, 'edit'|'typing'>,
   *   grid?: Partial<ConstructorParameters<typeof Grid>[1]>, menu?: (at: import('./gridmodel.js').Position) => import('../../common/menu.js').MenuItem[]}} deps
   *   `grid`: further options of the grid; `menu`: further entries of a cell's menu; `why`: why values are not changed here; `arranged`: columns were hidden, moved or frozen; `filter`: opens the filter of a column; `form`: changes rows in their form
   */
  constructor(result, { title, run, notify, announce, schemaOf, grid, menu, why, arranged, filter, form }) {
    this.#notify = notify;
    this.#announce = announce;
    this.#filter = filter;
    this.#formOn = form;
    this.result = result;
    this.run = run;
    this.title = title;
    /** True if it stays when the next statement runs. */
    this.pinned = false;
    this.grid = new Grid(result, {
      label: this.#label,
      onActive: (at) => {
        if (this.viewer.isOpen) this.#show(at);
        if (this.#form?.isOpen) this.#form.show();
        this.#selected();
      },
      onOpen: (at, byKey) => this.#open(at, byKey),
      onCopy: (event) => this.copying.onCopy(event),
      onMenu: (cell) => this.copying.openMenu(cell, () => this.#open(this.grid.model.active), menu?.(this.grid.model.active) ?? this.#finding?.valueEntries(this.grid, (pick) => this.#bar(/** @type {any} */ (this.#finding)).pick(pick))),
      onSorted: (text) => {
        announce(text);
        this.#findAgain();
        if (this.viewer.isOpen) this.#show(this.grid.model.active);
        this.#selected();
      },
      onFiltered: () => { this.#find?.tell(); this.#selected(); },
      onArranged: () => {
        this.#tellHidden();
        this.#findAgain();
        arranged?.(this.grid.model.layout);
      },
      onHeaderMenu: (header, column) => this.#openHeaderMenu(header, column),
      onRearrange: async (how) => {
        const module = await this.#load(import('./columns.js'));
        if (module) this.grid.arrange(how(module, this.grid.model.layout));
      },
      ...grid,
    });
    listen(this.grid);
    this.copying = new Copying(this.grid, notify, schemaOf);
    import('./find.js').then((module) => { this.#finding = module; }, () => {}); // what is typed after its key is for it
    this.viewer = new ViewerPane({ onClose: () => this.#close(), onStep: (by) => this.#step(by), notify, why });
    this.splitter = this.#splitter();
    this.hidden = h('div', { class: 'result-hidden', hidden: true });
    this.element = h('div', { class: 'result', on: { keydown: (event) => this.#onKey(event) } },
      h('div', { class: 'result-body' }, this.grid.element, this.splitter, this.viewer.element), this.hidden);
    this.#setWidth(readPreference('viewerWidth', WIDTH.first));
  }

  get #label() {
    return `${this.title}: ${this.result.rows.length} rows, ${this.result.columns.length} columns`;
  }

  /** More rows have come. */
  grow() {
    this.grid.grow();
  }

  /** Values were changed: the viewer shows the one that there is now. */
  refresh() {
    const { model } = this.grid;
    if (this.viewer.isOpen && !this.viewer.shows(model.value(model.active))) this.#show(model.active);
    if (this.#form?.isOpen) this.#form.show();
    this.#selected();
  }

  /** Opens the find bar; at once where it can, so that what is typed next is not for a cell. */
  async find() {
    const module = this.#finding ?? await this.#load(import('./find.js'));
    if (module) this.#bar(module).open();
  }

  /** @param {typeof import('./find.js')} module */
  #bar(module) {
    return (this.#find ??= new module.FindBar(this.grid, this));
  }

  /** The rows or columns are others. */
  #findAgain() {
    if (this.#find?.isOpen) this.#find.search();
  }

  /** The selection is another one, or has other values. */
  #selected() {
    this.element.dispatchEvent(new CustomEvent('selected', { bubbles: true }));
  }

  /** Widths and order as a person chose them. */
  get arrangement() {
    return this.grid.arrangement;
  }

  /** More rows may come: they are sorted when all are there. @param {any} arrangement @param {boolean} isWhole */
  arrange(arrangement, isWhole) {
    this.grid.arrangement = arrangement;
    if (isWhole && this.grid.model.sortKeys.length) this.grid.finish(this.#label);
  }

  /** All rows have come. */
  finish() {
    this.grid.finish(this.#label);
    this.#findAgain();
  }

  dispose() {
    this.grid.dispose();
    this.viewer.close();
  }

  // The form of a row.

  /** The form of the active row, or the grid again. */
  async openForm() {
    if (this.#form?.isOpen) return this.#closeForm();
    const [module] = await this.#load(Promise.all([import('../edit/rowform.js'), loadStyle(new URL('../rowform.css', import.meta.url))])) ?? [];
    if (!module) return undefined;
    if (!this.grid.model.rowCount) return this.#notify('There is no row to show', 'info');
    this.#form ??= this.#makeForm(module.RowForm);
    this.viewer.close();
    this.splitter.hidden = false;
    this.element.classList.add('viewing');
    if (this.grid.model.active.row < 0) this.grid.moveTo({ row: 0, column: this.grid.model.active.column }, { focus: false });
    this.#form.show();
    return this.#form.focus();
  }

  /** @param {typeof import('../edit/rowform.js').RowForm} RowForm */
  #makeForm(RowForm) {
    const form = new RowForm(this.grid, {
      edit: () => null, typing: () => {}, ...this.#formOn, announce: this.#announce,
      close: () => this.#closeForm(), step: (by) => this.#step(by), view: (at) => this.#open(at),
    });
    form.element.style.width = this.viewer.element.style.width;
    this.viewer.element.before(form.element);
    return form;
  }

  #closeForm() {
    this.#form?.close();
    this.#close();
  }

  // Columns.

  /** The list of all columns. @param {HTMLElement} button under which it opens @param {boolean} [byKey] whether the grid gets the focus back */
  async openColumns(button, byKey = false) {
    const [module] = await this.#load(Promise.all([import('./columnlist.js'), loadStyle(COLUMNS)])) ?? [];
    module?.openColumnList(button, this.grid, this.#announce, byKey ? this.grid : button);
  }

  async #openHeaderMenu(header, column) {
    const module = await this.#load(import('./headermenu.js'));
    const copy = () => this.copying.copy('tsv', { ...this.grid.model.everything, columns: [column] }, true);
    module?.openHeaderMenu(this.grid, header, column, { notify: this.#notify, copy, facts: () => this.#facts(column), filter: this.#filter });
  }

  async #facts(column) {
    const [module] = await this.#load(Promise.all([import('./columnfacts.js'), loadStyle(COLUMNS)])) ?? [];
    module?.openFacts(this.grid.model, column);
  }

  /** Says below the rows that columns are hidden. */
  #tellHidden() {
    const { layout, columnCount } = this.grid.model;
    const { length } = layout.hidden;
    const text = `${length} of ${columnCount} columns ${length === 1 ? 'is' : 'are'} hidden`;
    const link = (label, click) => h('button', { type: 'button', class: 'link', text: label, on: { click } });
    if (length && this.hidden.firstChild?.textContent !== text) this.#announce(text);
    fill(this.hidden, h('span', { text }), link('Show all', () => { this.grid.show(layout.hidden); this.grid.focus(); }), link('Columns …', () => this.grid.openColumns()));
    this.hidden.hidden = length === 0;
  }

  /** Loads a part of the page; null where that fails. @template T @param {Promise<T>} module @returns {Promise<T|null>} */
  #load(module) {
    return module.catch(() => {
      this.#notify('Could not load part of the page. Is postern still running? Try again.', 'bad');
      return null;
    });
  }

  #onKey(event) {
    const find = (event.ctrlKey || event.metaKey) && !event.shiftKey && event.key.toLowerCase() === 'f';
    if (find || event.key === 'F3') this.find();
    else if (event.key === 'F8') this.openForm();
    else if (event.key === 'Escape' && this.#form?.isOpen) this.#closeForm();
    else if (event.key === 'Escape' && this.viewer.isOpen) this.#close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** The focus stays in the grid, so that arrows walk on through the cells; a second Enter goes over to the viewer. */
  #open(at, byKey = false) {
    if (at.row < 0 || this.grid.model.isGap(at.row)) return;
    const again = this.viewer.isOpen;
    this.#form?.close();
    this.splitter.hidden = false;
    this.#show(at);
    this.element.classList.add('viewing');
    this.grid.reveal(at);
    if ((byKey && again) || this.#covered) this.viewer.focus();
  }

  /** On a narrow window the viewer takes the place of the grid, which cannot keep the focus then. */
  get #covered() {
    return !this.grid.element.checkVisibility({ visibilityProperty: true });
  }

  #show({ row, column }) {
    const { model } = this.grid;
    if (row < 0) return;
    this.viewer.show({
      value: model.value({ row, column }), kind: model.kinds[column], type: this.result.types[column] ?? '',
      column: this.result.columns[column], row: model.lines ? model.indexAt(row) + 1 : row + 1,
    });
  }

  /** Goes on to the cell above or below, with the focus where it is. @param {1|-1} by */
  #step(by) {
    const { row, column } = this.grid.model.active;
    this.grid.moveTo({ row: Math.max(0, row + by), column }, { focus: false });
  }

  #close() {
    this.viewer.close();
    this.splitter.hidden = true;
    this.element.classList.remove('viewing');
    this.grid.focus();
  }

  #splitter() {
    const element = h('div', { class: 'result-splitter', role: 'separator', tabindex: 0, 'aria-orientation': 'vertical', 'aria-label': 'Width of the viewer', hidden: true });
    element.addEventListener('keydown', (event) => {
      const by = { ArrowLeft: WIDTH.step, ArrowRight: -WIDTH.step }[event.key];
      if (!by) return;
      event.preventDefault();
      this.#setWidth((this.#form?.isOpen ? this.#form : this.viewer).element.offsetWidth + by);
    });
    element.addEventListener('dblclick', () => { if (this.#form?.isOpen) this.#form.widen(); });
    element.addEventListener('pointerdown', (event) => {
      event.preventDefault();
      element.setPointerCapture(event.pointerId);
      const edge = this.element.getBoundingClientRect().right;
      element.onpointermove = (move) => this.#setWidth(edge - move.clientX);
      element.onpointerup = element.onpointercancel = () => (element.onpointermove = null);
    });
    return element;
  }

  #setWidth(width) {
    const most = Math.max(WIDTH.least, (this.element.clientWidth || innerWidth) - (this.#form?.isOpen ? 16 : 160));
    const chosen = Math.round(Math.min(Math.max(WIDTH.least, width), most));
    this.viewer.element.style.width = `${chosen}px`;
    if (this.#form) this.#form.element.style.width = `${chosen}px`;
    this.#form?.widen(false);
    this.splitter.setAttribute('aria-valuenow', String(chosen));
    writePreference('viewerWidth', chosen);
  }
}
