/**
 * One result of a statement, as the page keeps it.
 * @module
 */

/** Rows are positional arrays: an object a row would repeat every column name. */
export class ResultSet {
  /** @param {{sql?: string, db?: string, limit?: number}} [origin] `limit`: rows kept at most */
  constructor({ sql = '', db = '', limit = Infinity } = {}) {
    this.sql = sql;
    this.db = db;
    this.limit = limit;
    /** @type {string[]} */ this.columns = [];
    /** @type {string[]} */ this.types = [];
    /** @type {Array<Array<null|string|number|boolean>>} */ this.rows = [];
    this.count = 0;
    this.duration = '';
    this.truncated = false;
    /** True if it was cancelled before its end. */
    this.cancelled = false;
    this.info = '';
    this.affected_rows = 0;
    this.last_insert_id = 0;
    /** @type {{level: string, code: number|null, message: string}[]} */ this.warnings = [];
  }

  get length() {
    return this.rows.length;
  }

  /** Width of signs beside the numbers of rows, in pixels. */
  get signWidth() {
    return 0;
  }

  /** The row at a place, where it is held. @param {number} place @returns {any[]|undefined} */
  at(place) {
    return this.rows[place];
  }

  /** The rows that widths of columns are chosen by. @returns {any[][]} */
  get sample() {
    return this.rows;
  }

  /** The rows that came last, whose columns may need more room. @returns {any[][]} */
  get latest() {
    return [];
  }

  /** True if a column identifies rows. @param {number} _column */
  isKey(_column) {
    return false;
  }

  /** Notes of postern itself about the statement: the server's warnings have a code. @returns {string[]} */
  get notes() {
    return this.warnings.filter(({ code }) => code === null).map(({ message }) => message);
  }

  /** True if the statement gave a result set at all, an empty one included. */
  get hasColumns() {
    return this.columns.length > 0;
  }

  /**
   * Adds a row as the API sends it, keyed by column name. Rows over the limit are only marked.
   * @param {Record<string, any>} row
   */
  addRow(row) {
    if (this.rows.length >= this.limit) {
      this.truncated = true;
      return;
    }
    if (this.columns.length === 0) this.columns = Object.keys(row);
    this.rows.push(this.columns.map((name) => row[name] ?? null));
    this.count = this.rows.length;
  }

  /**
   * Sets a member of the answer other than its rows; names that are not known are ignored.
   * @param {string} name
   * @param {any} value
   */
  set(name, value) {
    if (name === 'columns' || name === 'types' || name === 'warnings') {
      if (Array.isArray(value)) this[name] = value;
    } else if (name === 'truncated') {
      this.truncated ||= Boolean(value);
    } else if (['count', 'duration', 'affected_rows', 'last_insert_id', 'info'].includes(name)) {
      this[name] = value ?? this[name];
    }
  }
}
