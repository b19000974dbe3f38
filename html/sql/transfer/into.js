/**
 * Target of an import: an existing table, or a new one with types guessed from the values.
 * @module
 */

import { h } from '../../common/dom.js';
import { choice, field, setOptions } from './controls.js';
import { columnNames, guessType, plain } from './guess.js';
import { createSql, dateOf, withPoint } from './tuples.js';

/** Engines that take back what was written. */
const TRANSACTIONAL = /^(?:innodb|rocksdb|tokudb|ndbcluster|ndb)$/i;

/** Values of a column by which its type is guessed. */
const VALUES = 5000;

/** @typedef {{databases: () => Promise<string[]>, tables: (db: string, fresh?: boolean) => Promise<any[]>, schema: (db: string, table: string, fresh?: boolean) => Promise<any>}} Known */
/** @typedef {{name: string, type: string, nullable: boolean, auto: boolean, hasDefault: boolean}} Column */

/** The table of an import. */
export class Into {
  #known;
  #onChange;
  #turn = 0;
  /** @type {any[]} */ #tables = [];
  /** @type {Column[]} */ columns = [];
  /** Columns of the primary key, or of what else is unique. @type {string[]} */
  keys = [];
  /** True if the table is still looked at. */
  busy = true;
  /** Error of the last look at the table; empty if there was none. */
  trouble = '';

  /** @param {Known} known @param {() => void} onChange */
  constructor(known, onChange) {
    this.#known = known;
    this.#onChange = onChange;
    this.database = choice({}, () => this.setDatabase(this.database.value));
    this.table = choice({}, () => this.#setTable());
    this.newName = h('input', { class: 'field', autocomplete: 'off', spellcheck: 'false', 'aria-label': 'Name of the new table', on: { input: () => this.#onChange() } });
    this.create = h('textarea', { class: 'field import-create', rows: 6, spellcheck: 'false', autocomplete: 'off', 'aria-label': 'Statement that creates the table', on: { input: () => (this.edited = true) } });
    this.edited = false;
    this.nameField = field('Name', this.newName);
    this.createPart = h('div', {}, h('p', { class: 'dim', text: 'This creates the table; the first values give the types. Edit it as you like; columns are filled in order.' }), this.create);
    this.element = h('fieldset', { class: 'import-part' }, h('legend', { text: 'Into' }),
      h('div', { class: 'import-fields' }, field('Database', this.database), field('Table', this.table), this.nameField), this.createPart);
  }

  /** @param {{db: string, table?: string}} place @param {string} fileName */
  async open({ db, table }, fileName) {
    const databases = await this.#known.databases().catch(() => []);
    setOptions(this.database, databases.map((name) => [name, name]));
    const own = databases.find((name) => !/^(?:information_schema|mysql|performance_schema|sys)$/i.test(name));
    this.newName.value = fileName.replace(/\.[^.]*$/, '').replace(/\W+/g, '_').slice(0, 60) || 'imported';
    await this.setDatabase(db || own || '', table);
  }

  /** @param {string} db @param {string} [table] */
  async setDatabase(db, table) {
    const turn = (this.#turn += 1);
    this.#wait();
    this.database.value = db;
    const tables = db ? await this.#known.tables(db).catch(() => []) : [];
    if (turn !== this.#turn) return;
    this.#tables = tables.filter(({ kind }) => kind === 'table');
    const named = this.#tables.find(({ name }) => name === table) ?? this.#tables.find(({ name }) => plain(name) === plain(this.newName.value));
    setOptions(this.table, [['', '+ New table'], ...this.#tables.map(({ name }) => /** @type {[string, string]} */ ([`=${name}`, name]))]);
    this.table.value = named ? `=${named.name}` : '';
    await this.#setTable();
  }

  async #setTable() {
    const turn = (this.#turn += 1);
    this.#wait();
    this.columns = [];
    this.trouble = '';
    if (!this.isNew) {
      const schema = await this.#known.schema(this.db, this.tableName, true).catch((cause) => { this.trouble = cause.message; });
      if (turn !== this.#turn) return;
      this.#learn(schema);
    }
    this.nameField.hidden = !this.isNew;
    this.createPart.hidden = !this.isNew;
    this.busy = false;
    this.#onChange();
  }

  #wait() {
    if (this.busy) return;
    this.busy = true;
    this.#onChange();
  }

  #learn(schema) {
    const own = (schema?.columns ?? []).filter(({ generated, extra }) => !generated && !/ GENERATED/.test(extra ?? ''));
    this.columns = own.map(({ name, type, nullable, default: value, extra }) => ({ name, type, nullable, auto: /auto_increment/i.test(extra ?? ''), hasDefault: nullable || (value ?? null) !== null || /auto_increment|DEFAULT_GENERATED/i.test(extra ?? '') }));
    const unique = (schema?.indexes ?? []).filter((index) => index.unique);
    const primary = unique.filter(({ name }) => name === 'PRIMARY');
    this.keys = (primary.length ? primary : unique).flatMap(({ columns }) => columns.map((part) => part.replace(/(?:\(\d+\))?(?: DESC)?$/, '')));
  }

  get db() {
    return this.database.value;
  }

  get isNew() {
    return this.table.value === '';
  }

  get tableName() {
    return this.isNew ? this.newName.value.trim() : this.table.value.slice(1);
  }

  /** True if what is written can be taken back. A new table has the server's own engine, which is one that can. */
  get transactional() {
    return this.isNew || TRANSACTIONAL.test(this.#tables.find(({ name }) => name === this.tableName)?.engine ?? '');
  }

  get engine() {
    return this.#tables.find(({ name }) => name === this.tableName)?.engine ?? '';
  }

  /** Writes the statement of a new table, unless the person did. @param {import('./filechoice.js').FileChoice} file */
  propose(file) {
    if (!this.isNew || this.edited) return;
    const { nullText, comma, dates } = file.reading;
    const names = columnNames(file.names.map((name) => (file.hasHeader ? name : name.replace(' ', '_'))));
    const types = names.map((_, i) => {
      const records = file.records.slice(0, VALUES).filter(({ fields }) => fields[i] !== undefined && fields[i] !== '' && fields[i] !== nullText);
      return guessType(records.map(({ fields }) => withPoint(dates === 'iso' ? fields[i].trim() : dateOf(fields[i], dates), comma)));
    });
    const key = this.#keyOf(file, names, types);
    this.create.value = createSql({ db: this.db, table: this.tableName, columns: names.map((name, i) => ({ name, type: types[i], key: i === key })) });
  }

  /** A first column that is called like a key and tells all records apart. */
  #keyOf(file, names, types) {
    const [first] = names;
    if (!first || !/^(?:id|key|code|.*_id|uuid)$/i.test(first) || !/^(?:INT|BIGINT|VARCHAR\((?:20|50|100)\))/.test(types[0])) return -1;
    const values = file.records.map(({ fields }) => fields[0]);
    return values.every((value) => value !== '') && new Set(values).size === values.length ? 0 : -1;
  }

  /** True if an object of that name exists now. */
  async exists() {
    const tables = await this.#known.tables(this.db, true);
    return tables.some(({ name }) => name.toLowerCase() === this.tableName.toLowerCase());
  }

  /**
   * Facts about the table, once it exists. @param {string[]} chosen the column of each field; '' for none @param {number} width
   * @returns {Promise<{targets: import('./tuples.js').Target[], keys: string[], transactional: boolean}>}
   */
  async look(chosen, width) {
    if (!this.isNew) return { targets: this.targetsOf(chosen), keys: this.keys, transactional: this.transactional };
    this.#learn(await this.#known.schema(this.db, this.tableName, true));
    const { engine = '' } = (await this.#known.tables(this.db, true)).find(({ name }) => name === this.tableName) ?? {};
    if (this.columns.length < width) throw new Error(`${this.tableName} was created with ${this.columns.length} writable columns, but the file has ${width}`);
    return { targets: this.columns.slice(0, width).map((column, at) => ({ ...column, at })), keys: this.keys, transactional: TRANSACTIONAL.test(engine) };
  }

  /** @param {string[]} chosen @returns {import('./tuples.js').Target[]} */
  targetsOf(chosen) {
    return chosen.flatMap((name, at) => {
      const column = this.columns.find((one) => one.name === name);
      return column ? [{ ...column, at }] : [];
    });
  }
}
