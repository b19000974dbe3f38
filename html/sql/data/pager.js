/**
 * The rows of a table as pages that are loaded as they come into sight, of which only some are kept.
 * @module
 */

/** Rows asked for at once: few at first, and later as many as fit a piece of memory. */
const FIRST_ROWS = 200;
const MOST_ROWS = 1000;
const LEAST_ROWS = 20;

/** Values that a page has at most: to read and to measure more of them takes the page longer than a frame or two. */
const PAGE_CELLS = 20_000;

/** Characters that a page should have at most, and those that all pages kept may have. */
const PAGE_SIZE = 2_000_000;
const KEPT_SIZE = 16_000_000;

/** Rows kept at most. */
const KEPT_ROWS = 12_000;

/** Rows that a jump to the end loads. */
const TAIL = 200;

/** Rows below what is in sight that are loaded before they are needed, at most a page. */
const AHEAD = 400;

/**
 * @typedef {import('./browse.js').Cursor} Cursor
 * @typedef {{after: Cursor|null, until: Cursor|null, limit: number, offset: number}} Range
 * @typedef {{rows: any[][], last: Cursor|null}} Loaded
 * @typedef {{after: Cursor|null, skip: number, last: Cursor|null, count: number, rows: any[][]|null, size: number, isGap?: boolean}} Page
 *   `skip`: rows between `after` and its first; `isGap`: was never loaded, its rows are as many as were counted
 */

/** All pages of one order and one condition. */
export class Pager {
  /** @type {Page[]} */ #pages = [];
  /** @type {number[]} */ #firsts = [];
  #fetch;
  #byCursor;
  #onChange;
  #most;
  #sight = { first: 0, last: 0 };
  /** @type {Promise<void>|null} */ #working = null;
  #ended = false;
  #rows = 0;

  /**
   * @param {(range: Range) => Promise<Loaded>} fetch
   * @param {{byCursor: boolean, columns?: number, onChange?: (shifted: boolean) => void}} options `shifted`: rows behind others have another place now
   */
  constructor(fetch, { byCursor, columns = 1, onChange = () => {} }) {
    /** The rows that came last. @type {any[][]} */ this.latest = [];
    this.#fetch = async (range) => {
      const loaded = await fetch(range);
      this.latest = loaded.rows;
      return loaded;
    };
    this.#byCursor = byCursor;
    this.#most = Math.min(MOST_ROWS, Math.max(4, Math.floor(PAGE_CELLS / columns)));
    this.#onChange = onChange;
  }

  /** Rows known so far. */
  get rowCount() {
    return this.#rows;
  }

  /** True if the last row is known. */
  get ended() {
    return this.#ended;
  }

  /** Rows held now. */
  get held() {
    return this.#pages.reduce((sum, page) => sum + (page.rows?.length ?? 0), 0);
  }

  /** The row at a place; undefined where it is not held. @param {number} place @returns {any[]|undefined} */
  row(place) {
    const at = this.#pageAt(place);
    return this.#pages[at]?.rows?.[place - this.#firsts[at]];
  }

  /** Lets go of all rows; where each page begins stays known. */
  release() {
    for (const page of this.#pages) page.rows = null;
  }

  /** Puts others in place of the rows that are held. @param {(row: any[]) => any[]|null} change null where a row is gone */
  edit(change) {
    for (const [at, page] of this.#pages.entries()) {
      if (!page.rows) continue;
      page.rows = page.rows.flatMap((row) => { const next = change(row); return next ? [next] : []; });
      const gone = page.count - page.rows.length;
      page.count = page.rows.length;
      // Later pages that skip rows from the same cursor now skip fewer.
      for (const later of gone ? this.#pages.slice(at + 1) : []) if (later.after === page.after && later.skip > page.skip) later.skip -= gone;
    }
    this.#measure();
  }

  /** The place of a row that is held, by what it is known by; -1 where it is not. @param {(row: any[]) => boolean} is */
  placeOf(is) {
    for (const [at, { rows }] of this.#pages.entries()) {
      const found = rows?.findIndex(is) ?? -1;
      if (found >= 0) return this.#firsts[at] + found;
    }
    return -1;
  }

  /** All rows that are held, in their order. @returns {any[][]} */
  get loaded() {
    return this.#pages.flatMap(({ rows }) => rows ?? []);
  }

  /** The rows of the first page that is held. @returns {any[][]} */
  get sample() {
    return this.#pages.find(({ rows }) => rows)?.rows ?? [];
  }

  #pageAt(place) {
    let [low, high] = [0, this.#pages.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#firsts[middle] <= place) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /**
   * Loads what is missing around the rows in sight, one page after the other; resolves when nothing is.
   * @param {number} first
   * @param {number} last
   */
  need(first, last) {
    this.#sight = { first, last };
    this.#working ??= this.#work().finally(() => (this.#working = null));
    return this.#working;
  }

  async #work() {
    for (let step = this.#next(); step; step = this.#next()) {
      const added = await step();
      const before = this.#rows;
      this.#measure();
      this.#trim();
      this.#onChange(!added && before !== this.#rows);
    }
  }

  /** The next thing to load, if any: what is in sight goes first. */
  #next() {
    const { first, last } = this.#sight;
    const [from, to] = [this.#pageAt(first), this.#pageAt(last)];
    for (let at = from; at <= to; at += 1) if (this.#pages[at] && !this.#pages[at].rows) return () => this.#again(at);
    if (!this.#ended && last + Math.min(AHEAD, this.#limit) >= this.#rows) return () => this.#more();
    return null;
  }

  /** Loads the page after the last; true, since it moves none. */
  async #more() {
    const limit = this.#limit;
    const after = this.#pages.at(-1)?.last ?? null;
    const { rows, last } = await this.#fetch({ after, until: null, limit, offset: this.#byCursor ? 0 : this.#rows });
    if (rows.length) this.#pages.push(pageOf(after, rows, last));
    this.#ended = rows.length < limit;
    return true;
  }

  /**
   * Loads the last rows; those between are a gap, which is loaded where it comes into sight.
   * @param {number} total rows as counted just now
   */
  async jump(total) {
    await this.#working;
    const tail = Math.min(TAIL, this.#most >> 1);
    const between = total - this.#rows - tail;
    if (this.#ended || between <= 0) return;
    const end = this.#pages.at(-1);
    const after = end?.last ?? null;
    const limit = 2 * tail;
    const { rows, last } = await this.#fetch({ after, until: null, limit, offset: this.#byCursor ? between : this.#rows + between });
    if (!rows.length) return;
    this.#pages.push(gapOf(after, 0, between), { ...pageOf(after, rows, last), skip: between });
    this.#ended = rows.length < limit;
    this.#measure();
    this.#onChange(false);
  }

  /** Loads the part of a gap that is in sight. */
  async #intoGap(at) {
    const { after, skip, count } = this.#pages[at];
    const from = Math.min(Math.max(0, this.#sight.first - this.#firsts[at] - LEAST_ROWS), count - 1);
    const limit = Math.min(this.#limit, count - from);
    const { rows, last } = await this.#fetch({ after: this.#byCursor ? after : null, until: null, limit, offset: this.#byCursor ? skip + from : this.#firsts[at] + from });
    const rest = rows.length < limit ? 0 : count - from - rows.length;
    this.#pages.splice(at, 1,
      ...(from ? [gapOf(after, skip, from)] : []),
      ...(rows.length ? [{ ...pageOf(after, rows, last), skip: skip + from }] : []),
      ...(rest ? [gapOf(last ?? after, 0, rest)] : []));
  }

  /** Loads a page that was let go of: by key what is between its ends now, however many rows those are. */
  async #again(at) {
    const { after, last, count, isGap } = this.#pages[at];
    if (isGap) return this.#intoGap(at);
    let { skip } = this.#pages[at];
    if (!this.#byCursor) {
      const loaded = await this.#fetch({ after: null, until: null, limit: count, offset: this.#firsts[at] });
      if (loaded.rows.length < count) this.#cutAt(at + 1);
      return this.#replace(at, loaded.rows.length ? [pageOf(null, loaded.rows, null)] : []);
    }
    const pages = [];
    for (let from = after; ;) {
      const limit = Math.max(count, Math.min(LEAST_ROWS, this.#most));
      const loaded = await this.#fetch({ after: from, until: last, limit, offset: skip });
      if (loaded.rows.length) pages.push({ ...pageOf(from, loaded.rows, loaded.last), skip });
      if (loaded.rows.length < limit) break;
      [from, skip] = [loaded.last, 0];
    }
    // The page after it begins where this one ended.
    const end = pages.at(-1);
    if (end) end.last = last;
    return this.#replace(at, pages);
  }

  #replace(at, pages) {
    // Rows after a page that is empty now begin where it did.
    const next = this.#pages[at + 1];
    if (!pages.length && this.#byCursor && next) [next.after, next.skip] = [this.#pages[at].after, this.#pages[at].skip];
    const keepsEnd = !pages.length && !next && this.#byCursor ? this.#pages[at].last : null;
    this.#pages.splice(at, 1, ...pages);
    const end = this.#pages.at(-1);
    if (keepsEnd && end) end.last = keepsEnd;
  }

  #cutAt(at) {
    this.#pages.length = at;
    this.#ended = true;
  }

  /** Rows to ask for, by what those so far took. */
  get #limit() {
    const known = this.#pages.filter(({ rows }) => rows);
    if (!known.length) return Math.min(FIRST_ROWS, this.#most);
    const rows = known.reduce((sum, { count }) => sum + count, 0);
    const size = known.reduce((sum, page) => sum + page.size, 0);
    return Math.min(this.#most, Math.max(LEAST_ROWS, Math.floor(PAGE_SIZE / (size / rows + 1))));
  }

  #measure() {
    this.#rows = 0;
    this.#firsts = this.#pages.map(({ count }) => (this.#rows += count) - count);
  }

  /** Lets go of the rows that are farthest from those in sight. */
  #trim() {
    const { first, last } = this.#sight;
    const far = (at) => Math.max(this.#firsts[at] - last, first - this.#firsts[at] - this.#pages[at].count, 0);
    const held = [...this.#pages.keys()].filter((at) => this.#pages[at].rows).sort((a, b) => far(a) - far(b));
    let [rows, size] = [0, 0];
    for (const at of held) {
      const page = this.#pages[at];
      rows += page.count;
      size += page.size;
      if (far(at) > 0 && (rows > KEPT_ROWS || size > KEPT_SIZE)) page.rows = null;
    }
  }
}

/** @returns {Page} */
function pageOf(after, rows, last) {
  return { after, skip: 0, last, count: rows.length, rows, size: rows.reduce((sum, row) => sum + sizeOf(row), 0) };
}

/** @returns {Page} */
const gapOf = (after, skip, count) => ({ after, skip, last: null, count, rows: null, size: 0, isGap: true });

/** About how many characters a row takes. */
function sizeOf(row) {
  let size = 0;
  for (const value of row) size += typeof value === 'string' ? value.length + 16 : 8;
  return size;
}
