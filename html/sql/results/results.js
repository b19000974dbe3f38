/**
 * The result area below the editor: tabs of results, chart, plan and messages, and the status line.
 * @module
 */

import { h, icon, loadStyle, query } from '../../common/dom.js';
import { formatBytes } from '../../common/figures.js';
import { openMenu } from '../../common/menu.js';
import { errorPanel } from './errorpanel.js';
import { Messages, rowsText } from './messages.js';
import { NAME_SOURCE, resultTitle } from './resultnames.js';
import { StatusLine } from './statusline.js';
import { ResultView } from './resultview.js';
import { Tabs } from './tabs.js';

/** Results of one run that are kept; each holds its rows. */
const MAX_RESULTS = 100;

/** Columns that need no list in a narrow window. */
const FEW_COLUMNS = 6;

/** Names of columns that a plan comes in. */
const PLAN_COLUMNS = /^(?:explain|analyze|select_type)/i;

/** Tabs whose rows can stand beside others. */
const HAS_ROWS = /^(?:result-|other-data:)/;

/** Order of the tabs: results first, what the workbench opened last. */
const RANK = { result: 0, chart: 10, plan: 11, messages: 12, other: 20 };

/**
 * @typedef {object} Run
 * @property {string|number} id
 * @property {string[]} statements
 * @property {string} db
 * @property {number} startedAt
 * @property {string} [session]
 */

/** @typedef {{message: string, error?: DbError|null, sql?: string, offset?: number, alone?: boolean}} Failure `alone`: false where no strip tells it */

/**
 * Builds the result area in `host`. An error tab whose place in the statement is known sends the host a bubbling event
 * `goto-error` with `detail: {run, index, offset}`.
 * @param {HTMLElement} host
 * @param {{api: ReturnType<typeof import('../api.js').createApi>, announce: Announce, notify: Notify, settings?: Settings, welcome: () => Node}} deps `welcome`: what stands where no result is
 */
export function createResults(host, deps) {
  const area = new ResultArea(host, deps);
  return {
    begin: (run) => area.begin(run),
    progress: (run, state) => area.progress(run, state),
    addRows: (run, index, result) => area.addRows(run, index, result),
    addResult: (run, index, result) => area.addResult(run, index, result),
    addNote: (run, text, kind) => area.addNote(run, text, kind),
    addError: (run, index, failure) => area.addError(run, index, failure),
    end: (run, outcome) => area.end(run, outcome),
    notRun: (how) => area.notRun(how),
    openTab: (id, title, element, options = {}) => area.openTab(id, title, element, options),
    closeTab: (id) => area.tabs.remove(`other-${id}`),
    hasTab: (id) => area.tabs.has(`other-${id}`),
    reload: (id) => area.reload(`other-${id}`),
    renameTab: (id, title) => area.tabs.rename(`other-${id}`, title),
    activate: (id) => area.activate(id),
    setStatus: (text) => area.setStatus(text),
    find: () => area.find(),
    focus: () => area.focus(),
    get unsaved() { return area.unsaved(); },
    unsavedIn: (id) => area.unsavedIn(`other-${id}`),
    places: () => area.places(),
    get front() { return area.front; },
    pending: () => area.pending(),
    destroy: () => area.destroy(),
  };
}

class ResultArea {
  #deps;
  #host;
  /** @type {Run|null} */
  #run = null;
  #stale = false; // the old results are still shown, dimmed
  #views = new Map(); // tab id → ResultView
  #charted = null;
  /** @type {import('./sums.js').Sums|undefined} */ #sums;
  /** Widths and orders of the results before, by statement. @type {Map<string, any>} */ #arranged = new Map();
  #isLive = false; // whether a result is being shown whose rows are still coming
  /** The result whose rows are still coming. @type {{id: string, view: ResultView}|null} */
  #live = null;
  #serial = 0;
  #failures = 0;
  #said = 0;
  #cut = false; // whether a result of the run was cancelled before its end, and said so
  #ended = false;

  constructor(host, deps) {
    this.#deps = deps;
    this.#host = host;
    this.messages = new Messages(() => this.#countMessages());
    this.chart = null;
    this.chartHost = h('div', { class: 'chart-host' });
    this.tabs = new Tabs(() => this.#tabChanged());
    const tool = (name, label, key, run) => h('button', {
      type: 'button', class: 'button quiet small', data: { tool: name }, title: key ? `${label} (${key})` : label, 'aria-label': label,
      'aria-haspopup': ['copy', 'download', 'column'].includes(name) ? 'dialog' : null, on: { click: (event) => run(event.currentTarget) },
    }, icon(name), h('span', { class: 'tool-label', text: label }));
    this.tools = h('div', { class: 'results-tools', role: 'toolbar', 'aria-label': 'Result' },
      tool('columns', 'Side by side', 'shows another result beside this one', (button) => this.#split(button)),
      tool('compare', 'Compare', 'shows the differences of the two results', () => this.#compare()),
      tool('pin', 'Pin', 'keeps this result when the next statement runs', () => this.#pin()),
      tool('column', 'Columns', 'Ctrl+G in the rows', (button) => this.#view?.openColumns?.(button)),
      tool('search', 'Find', 'F3', () => this.find()),
      tool('cards', 'Row', 'F8', () => this.#view?.openForm?.()),
      tool('copy', 'Copy', '', (button) => this.#view?.copying?.openPanel(button)),
      tool('download', 'Export', '', () => this.#export()));
    this.busy = h('div', { class: 'results-busy', hidden: true });
    this.line = new StatusLine({ toWarnings: () => this.tabs.activate('messages'), toExport: () => this.#export() });
    this.element = h('div', { class: 'results' },
      h('div', { class: 'results-bar' }, this.tabs.list, this.tabs.all, this.tools), this.busy, this.tabs.panels,
      this.line.element);
    const openColumns = () => this.#view?.openColumns?.(query(this.tools, '[data-tool="column"]'), true);
    this.element.addEventListener('open-columns', openColumns);
    this.element.addEventListener('keydown', (event) => {
      if (event.key.toLowerCase() !== 'g' || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey || !this.#view?.grid) return;
      event.preventDefault();
      openColumns();
    });
    this.element.addEventListener('selected', () => this.#sum());
    this.#host.append(this.element);
    this.tabs.add('home', { title: 'Results', element: this.#deps.welcome(), rank: RANK.result });
    this.tabs.add('chart', { title: 'Chart', icon: 'chart', element: this.chartHost, rank: RANK.chart, onShow: () => this.#showChart() });
    this.tabs.add('messages', { title: 'Messages', icon: 'messages', element: this.messages.element, rank: RANK.messages, onShow: () => this.messages.shown() });
    this.line.askServer(deps.api, () => this.#showStatus());
  }

  get #view() {
    return this.#views.get(this.tabs.active);
  }

  // A run.

  /** @param {Run} run */
  begin(run) {
    this.#run = run;
    this.#stale = true;
    this.#failures = 0;
    this.#said = 0;
    this.#cut = false;
    this.line.begin();
    this.element.classList.remove('former');
    this.element.classList.add('stale');
    this.element.setAttribute('aria-busy', 'true');
    this.busy.hidden = false;
  }

  progress(run, { index = 0, rows = 0, bytes = 0, elapsedMs = 0, cancelling = false, note = '' }) {
    if (!this.#isCurrent(run) || this.busy.hidden) return;
    const many = run.statements?.length > 1 ? `statement ${index + 1} of ${run.statements.length}` : '';
    const seconds = `${(elapsedMs / 1000).toFixed(1)} s`;
    this.line.tell([cancelling ? 'Cancel sent; waiting for the server' : 'Running…', many, note, rows && rowsText(rows), bytes && formatBytes(bytes), seconds].filter(Boolean).join(' · '));
  }

  /** @param {Run} run @param {number} index @param {import('../core/resultset.js').ResultSet} result */
  addResult(run, index, result) {
    if (!this.#isCurrent(run)) return;
    this.#freshen();
    result.sql ||= run.statements?.[index] ?? '';
    result.db ||= run.db ?? '';
    this.line.ended(result);
    this.messages.addResult(result);
    this.#said += 1;
    this.#cut ||= result.cancelled;
    if (!this.#finishLive(result) && result.hasColumns && !this.#show(run, result)) {
      this.messages.addNote(`Not kept: more than ${MAX_RESULTS} results. Run fewer statements at once to see them.`);
    }
    if (result.hasColumns) this.#showPlan(run, result);
  }

  /** Rows of a result that goes on. @param {Run} run @param {number} index @param {import('../core/resultset.js').ResultSet} result */
  addRows(run, index, result) {
    if (!this.#isCurrent(run)) return;
    this.#freshen();
    if (this.#live?.view.result === result) this.#live.view.grow();
    else {
      result.sql ||= run.statements?.[index] ?? '';
      result.db ||= run.db ?? '';
      this.#isLive = true;
      this.#live = this.#show(run, result);
      this.#isLive = false;
    }
    if (this.#live) this.tabs.setCount(this.#live.id, result.rows.length.toLocaleString('en'));
  }

  /** True where `result` was shown while it came; what was shown and is no result after all goes. */
  #finishLive(result) {
    const live = this.#live;
    this.#live = null;
    if (!live) return false;
    if (live.view.result !== result) {
      this.tabs.remove(live.id);
      this.#serial -= 1;
      return false;
    }
    live.view.finish();
    this.tabs.setCount(live.id, Number(result.count).toLocaleString('en'));
    if (this.#charted === result) this.#chartOf(result);
    return true;
  }

  /** Gives a result its tab; null where there are too many. @returns {{id: string, view: ResultView}|null} */
  #show(run, result) {
    if (this.#serial >= MAX_RESULTS) return null;
    this.#serial += 1;
    const id = this.#freeId();
    const view = this.#addView(id, this.#titleOf(result), run, result);
    if (this.#serial === 1) this.#chartOf(result);
    // A chart that is looked at follows its statement; of a script the first result is in front.
    if (this.#serial === 1 && !(isAlone(run) && ['chart', 'plan'].includes(this.tabs.active))) this.tabs.activate(id);
    return { id, view };
  }

  /** Pinned results of former runs keep theirs. */
  #freeId() {
    let n = this.#serial;
    while (this.tabs.has(`result-${n}`)) n += 1;
    return `result-${n}`;
  }

  /** A name that no other result has. */
  #titleOf(result) {
    const title = resultTitle(result.sql);
    const taken = (name) => [...this.#views.values()].some((view) => view.title === name);
    let n = 1;
    while (taken(n === 1 ? title : `${title} ${n}`)) n += 1;
    return n === 1 ? title : `${title} ${n}`;
  }

  /** Keeps the result that is shown when the next statement runs, or lets it go then. */
  #pin() {
    const view = this.#view;
    if (!view) return;
    view.pinned = !view.pinned;
    this.tabs.setPinned(this.tabs.active, view.pinned);
    this.#tabChanged();
    this.#deps.announce?.(view.pinned ? `${view.title} is kept when the next statement runs` : `The next statement replaces ${view.title}`);
  }

  /** Results and data that can be laid beside what is shown, pinned ones first. @returns {string[]} */
  get #others() {
    const ids = this.tabs.ids.filter((id) => id !== this.tabs.active && HAS_ROWS.test(id));
    const rank = (id) => Number(this.#views.get(id).pinned ?? false);
    return this.#view && HAS_ROWS.test(this.tabs.active ?? '') ? ids.sort((a, b) => rank(b) - rank(a)) : [];
  }

  /** Lays another result beside the one that is shown, or that one alone again. */
  #split(button) {
    const others = this.#others;
    if (this.tabs.isSplit || others.length < 2) this.#lay(this.tabs.isSplit ? null : others[0] ?? null);
    else openMenu(button, others.map((id) => ({ label: this.tabs.titleOf(id), icon: this.#views.get(id).pinned ? 'pin' : 'rows', run: () => this.#lay(id) })));
  }

  /** Shows the differences of the two results that stand side by side, in a tab of their own. */
  async #compare() {
    const ids = this.tabs.ordered(this.tabs.pair);
    const { notify, announce, api } = this.#deps;
    if ((this.#live && ids.includes(this.#live.id)) || ids.some((id) => !this.#views.get(id)?.grid)) return notify('Rows are still coming. Compare when all are here.', 'info');
    const [module] = await this.#load(Promise.all([import('./compare.js'), loadStyle(new URL('./compare.css', import.meta.url))])) ?? [];
    const views = ids.map((id) => this.#views.get(id));
    if (!module || this.#ended || !views.every((view) => view?.grid)) return;
    const comparison = new module.Comparison(ids.map((id, i) => module.sideOf(views[i], this.tabs.titleOf(id))), { notify, announce, schemaOf: api.schema });
    this.#lay(null);
    this.openTab('differences', 'Differences', comparison.element, { icon: 'compare', view: comparison, onShow: () => comparison.shown(), onClose: () => comparison.dispose() });
    comparison.focus();
  }

  /** Adds up the selected cells, where they are more than one. */
  async #sum() {
    const { grid } = this.#view ?? {};
    const { top, bottom, columns, empty } = grid?.model.selection ?? { top: 0, bottom: 0, columns: [], empty: true };
    if (empty || (bottom - top + 1) * columns.length < 2) return this.#sums?.clear();
    const module = await import('./sums.js').catch(() => null);
    if (module && !this.#ended) this.#sums ??= new module.Sums(this.line.sums, this.#deps.notify);
    if (this.#view?.grid === grid) this.#sums?.show(grid.model);
  }

  #lay(id) {
    this.tabs.lay(id);
    this.#deps.announce?.(id === null ? 'One result is shown' : `${this.tabs.titleOf(id)} is shown beside ${this.tabs.titleOf(this.tabs.active)}`);
  }

  /** True if a tab goes with the next run. */
  #isOfRun(id) {
    return isOfRun(id) && !this.#views.get(id)?.pinned;
  }

  #addView(id, title, run, result) {
    const { api, notify, announce } = this.#deps;
    const view = new ResultView(result, { title, run, notify, announce, schemaOf: api.schema, why: 'The result of a statement cannot be edited; open a table’s data.' });
    view.title = title;
    this.#views.set(id, view);
    const before = this.#arranged.get(result.sql);
    if (before) view.arrange(before, !this.#isLive);
    // Another statement has widths and an order of its own.
    const alike = !before && [...this.#arranged.values()].find(({ columns }) => columns === view.arrangement.columns);
    if (alike) view.arrange({ ...alike, sized: [], sortKeys: [] }, false);
    this.tabs.add(id, {
      title, hint: result.sql.slice(0, NAME_SOURCE), element: view.element, rank: RANK.result, count: Number(result.count).toLocaleString('en'),
      onShow: () => { this.#chartOf(result); view.grid.schedule(); },
      onClose: () => { view.dispose(); this.#views.delete(id); },
    });
    this.tabs.remove('home');
    return view;
  }

  async #showPlan(run, result) {
    if (!result.columns.some((name) => PLAN_COLUMNS.test(name))) return;
    const [module] = await this.#load(Promise.all([import('./planview.js'), loadStyle(new URL('./plan.css', import.meta.url))])) ?? [];
    const nodes = module?.planOf(result);
    if (!module || !nodes || !this.#isCurrent(run)) return;
    const element = h('div', { class: 'plan', tabindex: 0, role: 'region', 'aria-label': 'Plan' });
    module.showPlan(element, nodes);
    this.tabs.add('plan', { title: 'Plan', icon: 'plan', element, rank: RANK.plan });
    if (isAlone(run)) this.tabs.activate('plan');
  }

  #chartOf(result) {
    this.#charted = result;
    if (this.tabs.active === 'chart') this.#showChart();
  }

  async #showChart() {
    const [module] = this.chart ? [] : await this.#load(Promise.all([import('./chartview.js'), loadStyle(new URL('./chart.css', import.meta.url))])) ?? [];
    if (this.#ended) return;
    if (!this.chart && module) {
      this.chart = new module.ChartView();
      this.chartHost.append(this.chart.element);
    }
    this.chart?.show(this.#charted);
  }

  /** Loads a part of the page on demand; null where that fails. @template T @param {Promise<T>} module @returns {Promise<T|null>} */
  #load(module) {
    return module.catch(() => {
      this.#deps.notify?.('Could not load part of the page. Is postern still running? Try again.', 'bad');
      return null;
    });
  }

  /** Something that is to be known of a run. @param {Run} run @param {string} text @param {string} [kind] */
  addNote(run, text, kind) {
    if (!this.#isCurrent(run)) return;
    this.#freshen();
    this.messages.addNote(text, kind);
    this.#said += 1;
  }

  /** @param {Run} run @param {number} index @param {Failure} failure */
  addError(run, index, failure) {
    if (!this.#isCurrent(run)) return;
    if (failure.message === 'cancelled') return; // no failure: `end` says it, and the old results stay
    // The strip under the editor tells of one statement, so the result of the one before may stay.
    const alone = run.statements?.length === 1 && this.#stale && failure.alone !== false;
    if (!alone) this.#freshen();
    this.line.failed();
    this.messages.addError(failure);
    this.#failures += 1;
    this.#deps.announce?.(failure.message, 'bad');
    if (alone) return;
    const id = `error-${this.#failures}`;
    if (this.#failures <= MAX_RESULTS) {
      const title = run.statements?.length > 1 ? `Error in ${index + 1}` : 'Error';
      this.tabs.add(id, { title, icon: 'error', kind: 'bad', element: errorPanel(failure, () => this.#gotoError({ run, index, offset: failure.offset })), rank: RANK.result });
      this.tabs.remove('home');
      this.tabs.activate(id);
    }
  }

  #gotoError(detail) {
    this.#host.dispatchEvent(new CustomEvent('goto-error', { detail, bubbles: true }));
  }

  end(run, { cancelled = false, how = '', elapsedMs = 0 } = {}) {
    if (!this.#isCurrent(run)) return;
    const nothingCame = this.#stale;
    this.#live = null;
    if (cancelled && !this.#cut) this.messages.addNote(`${how} after ${(elapsedMs / 1000).toFixed(1)} s. Received rows are kept.`);
    this.#settle();
    if (this.#said > 0 && this.#serial === 0 && this.#failures === 0) this.tabs.activate('messages');
    this.line.elapsed = run.statements?.length === 1 ? elapsedMs : 0;
    if (nothingCame && (cancelled || this.#failures)) this.notRun(how || 'Failed');
    else this.#showStatus(how);
    if (!this.#failures) this.#deps.announce?.(how || this.line.text);
  }

  /** Marks what is shown as that of the statement before; `how` is how the present one ended without an answer. @param {string} how */
  notRun(how) {
    if (!this.busy.hidden) return;
    this.line.former = how;
    this.#frame();
    this.#showStatus();
  }

  /** Frames what is shown where that is of the statement before. */
  #frame() {
    const { active } = this.tabs;
    this.element.classList.toggle('former', this.line.former !== '' && (this.#isOfRun(active) || (active === 'chart' && this.#charted !== null)));
  }

  #settle() {
    this.#stale = false;
    this.busy.hidden = true;
    this.element.classList.remove('stale');
    this.element.removeAttribute('aria-busy');
    this.#countMessages();
  }

  #isCurrent(run) {
    return this.#run !== null && run.id === this.#run.id;
  }

  /** The first answer of a run replaces the results of the run before. */
  #freshen() {
    if (!this.#stale) return;
    this.#stale = false;
    this.element.classList.remove('stale');
    // Of two results side by side the one that is not pinned makes room.
    const replaced = this.tabs.pair.find((id) => this.#isOfRun(id));
    if (replaced) this.tabs.activate(replaced);
    const kept = this.tabs.active;
    this.tabs.add('home', { title: 'Results', element: this.#deps.welcome(), rank: RANK.result });
    if (isOfRun(kept)) this.tabs.activate('home');
    this.#arranged = new Map([...this.#views.values()].filter(({ result }) => result?.sql).map((view) => [view.result.sql, view.arrangement]));
    for (const id of this.tabs.ids.filter((one) => this.#isOfRun(one))) this.tabs.remove(id);
    this.#charted = null;
    this.#serial = 0;
  }

  #countMessages() {
    this.tabs.setCount('messages', this.messages.size ? String(this.messages.size) : '');
  }

  // The other calls.

  /**
   * @param {string} id @param {string} title @param {HTMLElement} element
   * @param {{closable?: boolean, quiet?: boolean, icon?: string, view?: any, onShow?: () => void, onClose?: () => void, mayClose?: () => boolean|Promise<boolean>}} [options]
   *   `view`: what Find, Copy and Export work on, as a ResultView, or a form (`isForm`), which has Find alone; its `unsaved` says what would be lost with it; `quiet`:
   *   it is not shown yet
   */
  openTab(id, title, element, { closable = true, quiet = false, icon: name, view, onShow, onClose, mayClose } = {}) {
    const key = `other-${id}`;
    this.tabs.add(key, { title, element, icon: name, closable, rank: RANK.other, onShow, mayClose, onClose: () => { this.#views.delete(key); onClose?.(); } });
    if (view) this.#views.set(key, view);
    if (!quiet) this.tabs.activate(key);
  }

  /** Tables that the data tabs show. @returns {any[]} */
  places() {
    return [...this.#views.values()].flatMap(({ place }) => (place ? [place] : []));
  }

  /** The data tab in front; the empty text where it is another tab. */
  get front() {
    return /^other-(data:.+)/.exec(this.tabs.active ?? '')?.[1] ?? '';
  }

  /** Changes of rows that are not applied, by data tab. @returns {Omit<import('../core/pending.js').Pending, 'tab'>[]} */
  pending() {
    return [...this.#views.values()].flatMap((view) => view.pending ?? []);
  }

  /** Describes what would be lost if all were closed; empty if nothing would. */
  unsaved() {
    return [...this.#views.values()].map((view) => view.unsaved ?? '').filter(Boolean).join(', ');
  }

  /** Describes what would be lost with one tab. @param {string} key */
  unsavedIn(key) {
    return this.#views.get(key)?.unsaved ?? '';
  }

  /** Loads what a tab shows again, unless something would be lost. @param {string} key */
  reload(key) {
    const view = this.#views.get(key);
    if (!view?.unsaved) view?.reload?.();
  }

  /** @param {string} id of the workbench's tabs, or `chart`, `plan`, `messages`, `result-1` … */
  activate(id) {
    this.tabs.activate(this.tabs.has(`other-${id}`) ? `other-${id}` : id);
  }

  setStatus(text) {
    this.line.aside.textContent = text;
  }

  /** Finds in the result that is shown; where none is, in the first. */
  find() {
    const [first] = this.#views.keys();
    if (!this.#view && first) this.tabs.activate(first);
    this.#view?.find?.();
  }

  focus() {
    this.#view?.grid?.focus();
    if (!this.tabs.panels.contains(document.activeElement)) query(this.tabs.list, '[aria-selected="true"]')?.focus();
  }

  /** Frees what outlives the elements. */
  destroy() {
    for (const id of this.tabs.ids) this.tabs.remove(id);
    this.#ended = true;
    this.chart?.dispose();
    this.element.remove();
  }

  async #export() {
    const view = this.#view;
    const [module] = (view?.grid && await this.#load(Promise.all([import('./exporting.js'), loadStyle(new URL('./export.css', import.meta.url))]))) || [];
    if (module && this.#view === view) module.openExport(view.grid.model, view.run, this.#deps, view.title);
  }

  #tabChanged() {
    for (const button of this.tools.querySelectorAll('button')) {
      button.disabled = !this.#view;
      button.hidden = this.#view?.isForm === true && button.dataset.tool !== 'search';
    }
    const split = query(this.tools, '[data-tool="columns"]');
    if (split instanceof HTMLButtonElement) {
      split.disabled = false;
      split.hidden = !this.tabs.isSplit && !this.#others.length;
      split.setAttribute('aria-pressed', String(this.tabs.isSplit));
    }
    const compare = query(this.tools, '[data-tool="compare"]');
    if (compare) compare.hidden = !this.tabs.isSplit || !this.tabs.pair.every((id) => HAS_ROWS.test(id));
    this.#sum();
    // On a phone the tabs need its place more, unless there are many columns.
    const isFew = isOfRun(this.tabs.active) && (this.#view?.grid?.model.columnCount ?? 0) <= FEW_COLUMNS;
    for (const name of ['column', 'cards']) query(this.tools, `[data-tool="${name}"]`)?.toggleAttribute('data-few', isFew);
    const pin = query(this.tools, '[data-tool="pin"]');
    pin?.setAttribute('aria-pressed', String(Boolean(this.#view?.pinned)));
    // Other tabs stay anyway.
    pin?.toggleAttribute('disabled', !/^result-/.test(this.tabs.active ?? ''));
    this.element.classList.toggle('looking', this.tabs.active?.startsWith('other-') ?? false);
    this.#frame();
    if (!this.#stale) this.#showStatus();
  }

  #showStatus(lead = '') {
    if (!this.busy.hidden) return;
    const { active } = this.tabs;
    this.line.isElsewhere = (active ?? '').startsWith('other-');
    this.line.show(lead, isOfRun(active) ? this.#view?.result : null, this.#isOfRun(active));
  }
}

const isOfRun = (id) => /^(result|error)-\d+$/.test(id ?? '') || id === 'plan';

/** True if one statement was run by itself. @param {Run} run */
const isAlone = (run) => run.statements?.length === 1;
