// Access of a guest account, as text: `shop.*`, `shop.customers`, `shop.customers(id,name)`. No DOM.

/** A name as a grant has it: bare where it is plain, else in backticks. @param {string} name */
export function quoted(name) {
  return /[.*,()`\s]/.test(name) || name === "" ? `\`${name.replaceAll("`", "``")}\`` : name;
}

/** @typedef {{database: string, table: string|null, columns: string[]}} Grant `table` is null for all of them, `columns` empty for all */

const NAME = '(?:`((?:[^`]|``)+)`|([^`.,()*\\s]+))';
const WHOLE = new RegExp(`^${NAME}\\.(?:(\\*)|${NAME}(?:\\s*\\((.*)\\))?)$`, 's');
const COLUMN = new RegExp(`\\s*${NAME}\\s*(,|$)`, 'sy');

/** Reads a grant; null where the text is none. @param {string} text @returns {Grant|null} */
export function parseGrant(text) {
  const found = WHOLE.exec(text.trim());
  if (!found) return null;
  const [, quotedDatabase, database, all, quotedTable, table, list] = found;
  const columns = list === undefined ? [] : parseColumns(list);
  if (columns === null) return null;
  return { database: unquoted(quotedDatabase, database), table: all ? null : unquoted(quotedTable, table), columns };
}

function unquoted(inQuotes, bare) {
  return inQuotes === undefined ? bare : inQuotes.replaceAll('``', '`');
}

/** @returns {string[]|null} */
function parseColumns(list) {
  const columns = [];
  COLUMN.lastIndex = 0;
  while (COLUMN.lastIndex < list.length || columns.length === 0) {
    const found = COLUMN.exec(list);
    if (!found) return null;
    columns.push(unquoted(found[1], found[2]));
    if (found[3] === '') return columns;
  }
  // A comma at the end.
  return null;
}

/** A grant as text. @param {Grant} grant */
export function formatGrant({ database, table, columns }) {
  if (table === null) return `${quoted(database)}.*`;
  return `${quoted(database)}.${quoted(table)}${columns.length ? `(${columns.map(quoted).join(',')})` : ''}`;
}

/** The chosen tables: for each database all, or its tables, each with all columns (null) or some. */
export class Choice {
  /** @type {Map<string, 'all'|Map<string, Set<string>|null>>} */
  #databases = new Map();

  /** @param {string[]} grants those that cannot be read are left out */
  constructor(grants) {
    for (const { database, table, columns } of grants.map(parseGrant).filter((grant) => grant !== null)) {
      if (table === null) this.setAll(database, true);
      else this.setTable(database, table, columns.length ? columns : null);
    }
  }

  /** @param {string} database */
  isAll(database) {
    return this.#databases.get(database) === 'all';
  }

  /** @param {string} database @param {boolean} all */
  setAll(database, all) {
    if (all) this.#databases.set(database, 'all');
    else this.#databases.delete(database);
  }

  /** The columns of a table that are chosen: null for all, undefined where the table is not. @param {string} database @param {string} table */
  columns(database, table) {
    const tables = this.#databases.get(database);
    return tables === 'all' ? null : tables?.get(table);
  }

  /** Chooses a table, with all columns (null) or some; undefined leaves it out. @param {string} database @param {string} table @param {Iterable<string>|null|undefined} columns */
  setTable(database, table, columns) {
    const before = this.#databases.get(database);
    if (before === 'all') return;
    const tables = before ?? new Map();
    if (columns === undefined) tables.delete(table);
    else tables.set(table, columns === null ? null : new Set(columns));
    if (tables.size) this.#databases.set(database, tables);
    else this.#databases.delete(database);
  }

  /** As texts. @returns {string[]} */
  get grants() {
    const texts = [];
    for (const [database, tables] of this.#databases) {
      if (tables === 'all') texts.push(formatGrant({ database, table: null, columns: [] }));
      else for (const [table, columns] of tables) texts.push(formatGrant({ database, table, columns: [...columns ?? []] }));
    }
    return texts;
  }
}
