/**
 * Shows the statements of a change of structure, runs exactly these, each once, and says what became of them.
 * @module
 */

import { copyText, fill, h, icon, loadStyle, marked } from '../../common/dom.js';
import { confirmDialog, openDialog } from '../../common/dialog.js';
import { ask } from '../ask.js';
import { lasting } from '../core/entries.js';
import { highlighted } from '../objects/parts.js';
import { Watch } from './watch.js';

/** Statements that are drawn. */
const MOST = 300;
/** Statement that may have to scroll, in characters. */
const LONG = 400;
/** Pause before the server is asked to cancel again: a cancel may overtake its statement. */
const CANCEL_AGAIN_MS = 300;
/** Time until the first look at a statement that runs, and between two looks. */
const LOOK_FIRST_MS = 700;
const LOOK_MS = 1500;
/** Warnings of a statement that are shown. */
const MOST_WARNINGS = 5;
/** Seconds that a statement may wait for a metadata lock; 0 leaves the server's own setting. */
const LOCK_WAITS = [0, 5, 30, 300];
/** A statement that sets a variable of the page's own. */
const INTERNAL = /^SET @postern_/;
/** The server cannot do it with this ALGORITHM or LOCK. */
const UNSUPPORTED = new Set([1845, 1846]);

/**
 * @typedef {{algorithm: string, lock: string, says: string}} Locking `says`: what it blocks, as a sentence
 * @typedef {{message: string, errno: number, statement: string}} Failure `statement`: the one that failed
 * @typedef {{done: number, failed: boolean, error: Failure|null, unknown: boolean, cancelled: boolean, ran: string[], warnings: string[], opened: boolean}} ReviewEnd
 *   `done`: statements that succeeded; `unknown`: the connection was lost while one ran; `opened`: in a tab instead
 * @typedef {object} Restored
 * @property {boolean} good
 * @property {string} text what was restored, as a sentence
 */
/**
 * @typedef {object} ReviewOptions
 * @property {string} title
 * @property {string[]|((choice: Locking|null) => string[])} statements
 * @property {string} [action] label of the button that runs them, "Run" unless given
 * @property {string} [db] database in which they run
 * @property {string[]} [losses] sentences for what is lost
 * @property {string[]} [prepare] statements that give rows with NULL the default; they run first if that is ticked
 * @property {(string|Promise<string[]>)[]} [notes] further facts; those of a promise are shown when they come
 * @property {Node[]} [more] what stands above the statements
 * @property {Locking[]} [locking] choices, the least blocking first
 * @property {string} [typed] name to be typed before anything runs
 * @property {{mariadb: boolean}} server
 * @property {import('../objects/privileges.js').Api} api
 * @property {() => string} newId
 * @property {Notify} notify
 * @property {(sql: string) => string} [shown] a statement as it may be seen, without a password
 * @property {(sql: string) => void} [open] puts the statements into a tab instead
 * @property {() => string[]} [transactions] the page's own tabs that have a transaction open
 * @property {() => Promise<string>} [before] asked when Run is pressed; a text refuses, and nothing runs
 * @property {(outcome: {sql: string, ms: number, error: string}) => void} [remember]
 * @property {string[]} [restoring] statements that run if one fails, shown beforehand
 * @property {(failure: {done: number, error: Failure, unknown: boolean, cancelled: boolean, run: (sql: string) => Promise<any>}) => Promise<Restored|null>} [restore]
 *   called after a failure; `run` runs a statement in the same session, or a new one if that was lost
 */

/** Shows the review; resolves when it is closed. @param {ReviewOptions} options @returns {Promise<ReviewEnd>} */
export async function review(options) {
  await loadStyle(new URL('../structure.css', import.meta.url));
  const dialog = new Review(options);
  await dialog.open();
  return dialog.end;
}

/** A foreign key that the server refuses without a reason. */
const NO_REASON = /errno: 150\b/;

class Review {
  #options;
  /** @type {string[]} */ #statements = [];
  /** Statements of the list that ran, and those in front of it that only set something. */
  #done = 0;
  #prefix = 0;
  #choice = 0;
  #lockWait = 0;
  /** @type {'ready'|'checking'|'running'|'failed'|'over'} */ #state = 'ready';
  #session;
  #sessionUsed = false;
  #queryId = '';
  #cancelled = false;
  #began = 0;
  /** @type {import('./watch.js').Sight|null} */ #sight = null;
  /** @type {(value?: any) => void} */ #close = () => {};

  /** @param {ReviewOptions} options */
  constructor(options) {
    this.#options = options;
    this.#session = options.newId();
    /** @type {ReviewEnd} */
    this.end = { done: 0, failed: false, error: null, unknown: false, cancelled: false, ran: [], warnings: [], opened: false };
    const button = (label, kind, run) => h('button', { type: 'button', class: `button ${kind}`.trim(), text: label, on: { click: run } });
    this.list = h('ol', { class: 'structure-sql', 'aria-label': 'Statements' });
    this.status = h('div', { class: 'structure-status', role: 'status' });
    this.sight = h('div', { class: 'structure-sight', 'aria-live': 'polite' });
    this.said = h('div', { class: 'structure-said' });
    this.copy = button('Copy SQL', '', () => this.#copy());
    this.openIn = button('Open in a tab instead', '', () => { this.end.opened = true; options.open?.(this.#text()); this.#close(); });
    this.leave = button('Cancel', '', () => this.#leave());
    this.run = button(options.action ?? 'Run', options.typed || options.losses?.length ? 'danger' : 'primary', () => this.#press());
    this.typed = h('input', { class: 'field', id: `structure-typed-${options.newId()}`, autocomplete: 'off', spellcheck: 'false', autocapitalize: 'off' });
    this.locking = h('div', { class: 'structure-locking' });
    this.prepare = h('input', { type: 'checkbox', on: { change: () => this.#draw() } });
  }

  async open() {
    const { title, losses = [], typed, restoring, open } = this.#options;
    this.openIn.hidden = !open;
    const after = h('details', { class: 'structure-restoring' }, h('summary', { text: 'If a statement fails, this restores the old state' }), h('pre', { class: 'quote', tabindex: '0', role: 'group', 'aria-label': 'Statements that restore' }, highlighted(withEnds(restoring ?? []))));
    const typing = [h('label', { class: 'structure-typed', for: this.typed.id }, 'To confirm, type ', h('b', { text: typed ?? '' })), this.typed];
    this.#draw();
    this.#drawLocking();
    await openDialog({
      title: marked(title), wide: true, harmless: true,
      body: [
        losses.length > 0 && h('ul', { class: 'structure-losses', 'aria-label': 'Losses' }, losses.map((text) => h('li', {}, marked(text)))),
        this.#notes(), this.#options.prepare?.length ? h('label', { class: 'check' }, this.prepare, h('span', { text: 'Rows with NULL get the default first' })) : null, ...(this.#options.more ?? []), this.list, this.locking, restoring?.length ? after : null, ...(typed ? typing : []), this.status, this.sight, this.said,
      ],
      mayDismiss: () => this.#mayLeave(),
      onOpen: (dialog, close) => {
        this.#close = close;
        dialog.classList.add('structure-review');
        dialog.append(h('div', { class: 'dialog-foot' }, this.copy, this.openIn, h('span', { class: 'grow' }), this.leave, this.run));
        this.typed.addEventListener('input', () => this.#draw());
        this.typed.addEventListener('keydown', (event) => { if (event.key === 'Enter' && !event.isComposing) { event.preventDefault(); if (!this.run.disabled) this.#press(); } });
        (typed ? this.typed : losses.length ? this.leave : this.run).focus();
      },
    });
    if (this.#sessionUsed) this.#options.api.closeSession(this.#session);
  }

  #notes() {
    const { notes = [], transactions } = this.#options;
    const list = h('ul', { class: 'structure-notes' });
    const add = (texts, kind = '') => list.append(...texts.filter(Boolean).map((text) => h('li', { class: kind || null }, marked(text))));
    const open = transactions?.() ?? [];
    if (open.length) add([`${open.join(', ')}: a transaction is open. It may hold locks that this waits for.`], 'warn-text');
    for (const one of notes) {
      if (typeof one === 'string') add([one]);
      else one.then((texts) => add(texts), (error) => add([`Could not be checked: ${error.message}`], 'warn-text'));
    }
    return list;
  }

  // Drawing.

  /** The choice of ALGORITHM and LOCK, and of the time to wait. */
  #drawLocking() {
    const choices = this.#options.locking ?? [];
    if (!choices.length) return;
    const id = this.#options.newId();
    const which = h('select', { class: 'field', id: `structure-algorithm-${id}` }, choices.map((one, i) => h('option', { value: i, text: nameOf(one) })));
    which.value = String(this.#choice);
    which.addEventListener('change', () => { this.#choice = Number(which.value); this.#draw(); });
    const wait = h('select', { class: 'field', id: `structure-wait-${id}` }, LOCK_WAITS.map((seconds) => h('option', { value: seconds, text: seconds ? `at most ${lasting(seconds)}` : 'as set on the server' })));
    wait.value = String(this.#lockWait);
    wait.addEventListener('change', () => { this.#lockWait = Number(wait.value); this.#draw(); });
    this.blocks = h('p', { class: 'structure-blocks', 'aria-live': 'polite' });
    fill(this.locking, h('label', { for: which.id, text: 'How' }), which, h('label', { for: wait.id, text: 'Wait for locks' }), wait, this.blocks);
    this.#drawBlocks();
  }

  #drawBlocks() {
    const choice = this.#options.locking?.[this.#choice];
    if (this.blocks && this.blocks.textContent !== choice?.says) this.blocks.textContent = choice?.says ?? '';
  }

  /** The statements that the choices lead to; those that ran stay. */
  #decide() {
    const { statements, locking, prepare = [] } = this.#options;
    const list = [...this.prepare.checked ? prepare : [], ...typeof statements === 'function' ? statements(locking?.[this.#choice] ?? null) : statements];
    if (!this.#done) this.#prefix = this.#lockWait ? 1 : 0;
    const all = this.#prefix ? [`SET SESSION lock_wait_timeout = ${this.#lockWait}`, ...list] : list;
    this.#statements = [...this.#statements.slice(0, this.#done), ...all.slice(this.#done)];
  }

  /** The statements as they would run, those that ran marked. */
  #draw() {
    const { typed } = this.#options;
    if (this.#state === 'ready') this.#decide();
    const isBusy = this.#state === 'running' || this.#state === 'checking';
    fill(this.list, this.#statements.slice(0, MOST).map((sql, i) => this.#line(sql, i)), this.#statements.length > MOST && h('li', { class: 'dim', text: `… and ${(this.#statements.length - MOST).toLocaleString('en')} more; Copy SQL has them.` }));
    this.#drawBlocks();
    this.run.disabled = isBusy || this.#state === 'over' || (typed !== undefined && this.typed.value !== typed) || !this.#statements.length;
    this.run.hidden = this.#state === 'over';
    for (const control of this.locking.querySelectorAll('select')) control.disabled = this.#state !== 'ready' || this.#done > 0;
    this.prepare.disabled = this.#state !== 'ready' || this.#done > 0;
    this.typed.disabled = isBusy;
    this.openIn.disabled = isBusy;
    this.leave.textContent = this.#state === 'over' ? 'Close' : this.#cancelled ? 'Cancelling …' : 'Cancel';
    this.leave.disabled = this.#state === 'checking' || (this.#state === 'running' && this.#cancelled);
  }

  #shown(sql) {
    return this.#options.shown?.(sql) ?? sql;
  }

  #line(sql, i) {
    const begun = this.#state !== 'ready' || this.#done > 0;
    const state = !begun ? '' : i < this.#done ? 'done' : i > this.#done ? 'waits' : this.#state === 'running' ? 'running' : this.end.error ? 'failed' : '';
    const words = { done: 'Done', running: 'Running', failed: this.end.unknown ? 'Unknown' : 'Failed', waits: 'Not run' }[state];
    return h('li', { class: state || null }, h('code', sql.length > LONG ? { tabindex: 0, role: 'group', 'aria-label': 'Statement' } : {}, highlighted(this.#shown(sql)), ';'), words && h('span', { class: 'structure-mark' }, state === 'done' && icon('check'), state === 'failed' && icon('error'), words));
  }

  #text() {
    return withEnds(this.#statements.map((sql) => this.#shown(sql)));
  }

  async #copy() {
    if (await copyText(this.#text())) this.#options.notify('Statements copied', 'good');
    else this.#options.notify('The browser blocked the clipboard; select the text and copy it', 'warn');
  }

  // Running.

  async #press() {
    if (this.#state !== 'ready' && this.#state !== 'failed') return undefined;
    this.#state = 'checking';
    this.end = { ...this.end, failed: false, error: null, cancelled: false };
    this.#cancelled = false;
    fill(this.said);
    fill(this.status, 'Checking …');
    this.#draw();
    const refusal = this.#done ? '' : await (this.#options.before?.() ?? Promise.resolve('')).catch((error) => `Could not check the current structure: ${error.message}`);
    if (refusal) {
      this.#state = 'ready';
      fill(this.status);
      this.#say(`${refusal} Nothing was run.`, 'bad');
      this.#draw();
      return this.leave.focus();
    }
    return this.#runAll();
  }

  async #runAll() {
    this.#state = 'running';
    this.#began = performance.now();
    const stop = new AbortController();
    const leaving = (event) => event.preventDefault();
    addEventListener('beforeunload', leaving);
    const clock = setInterval(() => this.#drawTime(), 500);
    this.#sessionUsed = true;
    this.#draw();
    this.leave.focus();
    this.#drawTime();
    try {
      const { rows } = await ask(this.#options.api, { sql: 'SELECT CONNECTION_ID()', session: this.#session });
      this.#watch(Number(rows[0][0]), stop.signal);
      while (this.#done < this.#statements.length && await this.#runOne(this.#statements[this.#done]));
    } catch (error) {
      this.end = { ...this.end, failed: true, error: { message: error.message, errno: error.errno ?? 0, statement: this.#statements[this.#done] } };
    } finally {
      stop.abort();
      clearInterval(clock);
      removeEventListener('beforeunload', leaving);
      this.#sight = null;
      fill(this.sight);
      // Another run shows the same lines again.
      delete this.sight.dataset.key;
      fill(this.status);
    }
    if (this.end.error) return this.#failed(this.end.error);
    this.#state = 'over';
    if (!this.end.warnings.length) return this.#close();
    this.#say(`Done. The server warns: ${this.end.warnings.join('; ')}`, 'warn');
    this.#draw();
    this.leave.focus();
    return undefined;
  }

  /** One statement; true if it succeeded. @param {string} sql */
  async #runOne(sql) {
    const from = performance.now();
    this.#queryId = this.#options.newId();
    this.#draw();
    this.#drawTime();
    try {
      if (this.#cancelled) throw Object.assign(new Error('cancelled'), { errno: 1317 });
      const result = await ask(this.#options.api, { sql, db: this.#options.db, session: this.#session, queryId: this.#queryId });
      this.end.warnings.push(...warningsOf(result));
      // Preparing the session is nobody's statement.
      if (!INTERNAL.test(sql)) this.#options.remember?.({ sql, ms: performance.now() - from, error: '' });
      this.#done += 1;
      this.end.done = Math.max(0, this.#done - this.#prefix);
      this.end.ran.push(sql);
      return true;
    } catch (error) {
      this.end.failed = true;
      this.end.unknown = isLost(error);
      this.end.cancelled = this.#cancelled && !this.end.unknown;
      const detail = NO_REASON.test(error.message) ? await this.#reason() : '';
      this.end.error = { message: this.end.cancelled && error.errno === 1317 ? 'Cancelled' : [error.message, detail].filter(Boolean).join('. '), errno: error.errno ?? 0, statement: sql };
      this.#options.remember?.({ sql, ms: performance.now() - from, error: error.message });
      return false;
    } finally {
      this.#queryId = '';
    }
  }

  /** The reason that MariaDB gives as a warning. @returns {Promise<string>} */
  async #reason() {
    const rows = await ask(this.#options.api, { sql: 'SHOW WARNINGS', session: this.#session }).then((result) => result.rows, () => []);
    return String(rows.find(([, code]) => Number(code) === 150)?.[2] ?? '').replace(/^.* constraint failed\. /s, '').replace(/\.$/, '');
  }

  /** @param {Failure} error */
  async #failed(error) {
    const { done, unknown, cancelled } = this.end;
    const rest = this.#statements.length - this.#done - 1;
    const changes = this.#statements.slice(0, this.#done).filter((sql) => !sql.startsWith('SET SESSION ')).length;
    const before = changes > 0 ? ` ${changes === 1 ? 'The statement before it was' : `The ${changes} statements before it were`} run.` : ' Nothing was changed.';
    const after = rest > 0 ? ` ${rest === 1 ? 'The one after it was' : `The ${rest} after it were`} not run.` : '';
    const lost = ' The connection was lost: it is unknown whether it was done, and the server may still run it. Look at the structure before you run it again.';
    this.#say(`${sentence(error.message)}${unknown ? lost : `${before}${after}`}`, cancelled ? 'warn' : 'bad');
    const restored = await this.#restore(error);
    const weaker = this.#options.locking && UNSUPPORTED.has(error.errno) && this.#choice + 1 < this.#options.locking.length && !restored;
    this.#state = unknown || restored ? 'over' : 'failed';
    if (weaker) this.#weaken(error.message);
    else if (!done && this.#state === 'failed') {
      this.#done = 0;
      this.#state = 'ready';
    }
    this.run.textContent = this.#state === 'failed' ? 'Run the rest' : this.#options.action ?? 'Run';
    this.#cancelled = false;
    this.#draw();
    const isRisky = cancelled || this.run.classList.contains('danger');
    (isRisky || this.run.hidden || this.run.disabled ? this.leave : this.run).focus();
  }

  /** @param {Failure} error */
  async #restore(error) {
    if (!this.#options.restore) return null;
    if (this.end.unknown) this.#session = this.#options.newId();
    const run = (sql) => ask(this.#options.api, { sql, db: this.#options.db, session: this.#session });
    const restored = await this.#options.restore({ done: this.end.done, error, unknown: this.end.unknown, cancelled: this.end.cancelled, run })
      .catch((cause) => ({ good: false, text: `The old state could not be restored: ${cause.message}` }));
    if (restored) this.#say(restored.text, restored.good ? 'good' : 'bad');
    return restored;
  }

  /** The next weaker choice is chosen, or the first that has what the server names; it runs only after another press. @param {string} message */
  #weaken(message) {
    const [, kind, values = ''] = /\bTry (ALGORITHM|LOCK)=(\w+(?:\/\w+)*)/.exec(message) ?? [];
    const named = (this.#options.locking ?? []).findIndex((one, i) => i > this.#choice && values.split('/').includes(kind === 'LOCK' ? one.lock : one.algorithm));
    this.#choice = named < 0 ? this.#choice + 1 : named;
    this.#state = 'ready';
    if (!this.end.done) this.#done = 0;
    this.#drawLocking();
    const choice = this.#options.locking?.[this.#choice];
    if (choice) this.#say(`The server cannot do it that way. Chosen now: ${nameOf(choice)}. Read what it blocks, and press Run again.`, 'warn');
  }

  #say(text, kind) {
    const line = h('p', { class: `structure-told ${kind}`, role: kind === 'bad' ? 'alert' : 'status', text });
    this.said.append(line);
    line.scrollIntoView({ block: 'nearest' });
  }

  // While it runs.

  #drawTime() {
    if (this.#state !== 'running') return;
    const count = this.#statements.length;
    const which = count > 1 ? `${Math.min(this.#done + 1, count)} of ${count} · ` : '';
    const text = `${this.#cancelled ? 'Cancelling' : 'Running'} ${which}${lasting((performance.now() - this.#began) / 1000)}${this.#sight?.state ? ` · ${this.#sight.state}` : ''}`;
    // Read out once; the seconds are for the eyes.
    if (!this.status.firstElementChild) fill(this.status, h('span', { text: 'Running' }), h('span', { 'aria-hidden': 'true' }));
    const shown = this.status.lastElementChild;
    if (shown) shown.textContent = text;
    this.status.firstElementChild?.classList.add('visually-hidden');
  }

  /** Looks at the connection again and again. @param {number} id @param {AbortSignal} signal */
  async #watch(id, signal) {
    const { api, server } = this.#options;
    const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });
    try {
      const watch = new Watch(api, id, server.mariadb);
      await pause(LOOK_FIRST_MS);
      while (!signal.aborted) {
        this.#sight = await watch.look(signal);
        if (!signal.aborted) this.#drawSight(this.#sight);
        await pause(LOOK_MS);
      }
    } catch (error) {
      if (!signal.aborted) fill(this.sight, h('p', { class: 'dim', text: `Who waits cannot be shown: ${error.message}` }));
    }
  }

  /** @param {import('./watch.js').Sight} sight */
  #drawSight({ blockers, waiting, note }) {
    const lines = [...blockers.map((text) => ['bad', text]), ...waiting.map((text) => ['warn-text', text]), ...(note ? [['dim', note]] : [])];
    const key = lines.join('\n').replace(/\d+ (?:s|min|h|d)\b/g, '');
    if (this.sight.dataset.key === key) {
      // Only the times of these connections move, which is nothing to read out.
      for (const [i, [, text]] of lines.entries()) { const line = this.sight.children[i]; if (line && line.textContent !== text) line.textContent = text; }
      return;
    }
    this.sight.dataset.key = key;
    fill(this.sight, lines.map(([kind, text]) => h('p', { class: kind, text })));
  }

  // Leaving.

  #leave() {
    if (this.#state === 'running') return void this.#cancel();
    return this.#close();
  }

  async #mayLeave() {
    if (this.#state === 'checking') return false;
    if (this.#state !== 'running') return true;
    const sure = await confirmDialog({ title: 'Stop the statement', text: 'It is still running. It can be stopped on the server.', action: 'Stop it', cancel: 'Keep running' });
    if (sure) this.#cancel();
    return false;
  }

  /** Stops the running statement; the server's answer to it is awaited. */
  async #cancel() {
    if (this.#cancelled || this.#state !== 'running') return;
    this.#cancelled = true;
    this.#draw();
    this.#drawTime();
    const id = this.#queryId;
    // Only this one: the next may be asked for by then.
    while (id && this.#queryId === id) {
      if (await this.#options.api.cancel(id).catch(() => false)) return;
      await new Promise((done) => { setTimeout(done, CANCEL_AGAIN_MS); });
    }
  }
}

/** @param {Locking} choice */
const nameOf = ({ algorithm, lock }) => [algorithm && `ALGORITHM=${algorithm}`, lock && `LOCK=${lock}`].filter(Boolean).join(', ') || 'The server chooses';

/** @param {string[]} statements */
const withEnds = (statements) => statements.map((sql) => `${sql};\n`).join('');

/** @param {string} text */
const sentence = (text) => (/[.!?]$/.test(text) ? text : `${text}.`);

/** True if it is unknown whether the statement was done. */
const isLost = (error) => error.unreachable === true || error.code === 0 || [502, 504].includes(error.code ?? error.status);

/** @param {import('../core/resultset.js').ResultSet} result @returns {string[]} */
function warningsOf({ warnings }) {
  const list = warnings.map(({ message, code }) => (code ? `${message} (${code})` : message));
  return list.length > MOST_WARNINGS ? [...list.slice(0, MOST_WARNINGS), `and ${list.length - MOST_WARNINGS} more`] : list;
}
