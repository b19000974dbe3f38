// The schema of a table: facts, columns, indexes, foreign keys that lead on, and the CREATE statement.
import { fill, h, icon, iconButton, marked, queryAll } from '../../common/dom.js';
import { formatBytes } from '../../common/figures.js';
import { code, facts, note, row, section, sqlText, table } from '../objects/parts.js';
import { rowsText } from '../core/entries.js';

export { highlighted } from '../objects/parts.js';

/**
 * @typedef {{db: string, table: string, column?: string, readOnly: boolean, load: (fresh: boolean) => Promise<any>, jump: (db: string, table: string) => void,
 *   run: () => void, data: () => void, fill: () => void, dump: () => void, structure?: () => void, menu: (button: HTMLElement, kind: string) => void, more: (schema: any) => Promise<Node[]>, notify: Notify}} SchemaOptions
 *   `column`: has the focus once it is there; if empty, the schema has; `more`: what is asked for when the rest is shown already; `structure`: opens the form of the table
 */

/**
 * The schema view; shows its own loading and error states.
 * @param {SchemaOptions} options
 * @returns {HTMLElement}
 */
export function schemaView(options) {
  const host = h('div', { class: 'schema', tabindex: '0', role: 'region', 'aria-label': `Schema of ${options.table}`, on: { reload: () => load(host, options, true) } });
  load(host, options, false);
  return host;
}

async function load(host, options, fresh) {
  if (!host.firstChild) fill(host, h('p', { class: 'schema-note dim', text: 'Loading …' }));
  try {
    const schema = await options.load(fresh);
    const more = h('div', { class: 'schema-more' });
    const kind = schema.table?.kind ?? (isView(schema) ? 'view' : 'table');
    fill(host, header(host, options, kind), tableFacts(schema), note(schema.note), columnsTable(schema.columns ?? []), indexesTable(schema.indexes ?? [], kind),
      foreignKeys(schema.foreign_keys ?? [], options), more, sqlText('CREATE statement', schema.create_statement, options.notify));
    if (options.column !== undefined) focusColumn(host, options.column);
    more.append(...await options.more(schema));
  } catch (error) {
    const again = h('button', { type: 'button', class: 'button', text: 'Try again', on: { click: () => load(host, options, true) } });
    // It is pressed by itself when the server answers again.
    if (error.unreachable || error.status >= 502) again.dataset.unreached = '';
    fill(host, h('p', { class: 'schema-note bad', role: 'alert', text: error.message }), again);
  }
}

/** Focuses the line of a column, or the schema where there is none. @param {HTMLElement} host @param {string} column */
function focusColumn(host, column) {
  const line = queryAll(host, '.column-name').find(({ textContent }) => textContent === column)?.closest('tr');
  line?.setAttribute('tabindex', '-1');
  line?.classList.add('column-found');
  line?.scrollIntoView({ block: 'center' });
  (line ?? host).focus({ preventScroll: true });
}

/** True if the CREATE statement is that of a view. */
function isView({ create_statement: sql }) {
  return /^CREATE (?:[\w=]+ |DEFINER=\S+ |SQL SECURITY \w+ )*VIEW /.test(sql ?? '');
}

function header(host, options, kind) {
  const { db, table: name } = options;
  const run = h('button', { type: 'button', class: 'button', on: { click: options.run } }, icon('play'), 'Select rows');
  const data = h('button', { type: 'button', class: 'button', on: { click: options.data } }, icon('rows'), 'Data');
  const filling = kind === 'table' && !options.readOnly && h('button', { type: 'button', class: 'button', title: 'Import a CSV file into this table', on: { click: options.fill } }, icon('upload'), 'Import');
  const structure = kind === 'table' && options.structure && h('button', { type: 'button', class: 'button', on: { click: options.structure } }, icon('edit'), 'Edit structure');
  const dump = h('button', { type: 'button', class: 'button', title: `Dump ${name} as SQL`, on: { click: options.dump } }, icon('download'), 'Dump …');
  const refresh = iconButton('refresh', 'Reload the schema', () => load(host, options, true));
  const menu = iconButton('dots', `More for ${name}`, (event) => options.menu(event.currentTarget, kind), { 'aria-haspopup': 'menu', 'aria-expanded': 'false' });
  const title = h('h2', {}, h('span', { class: 'dim' }, marked(`${db}.`)), marked(name));
  return h('div', { class: 'schema-head' }, title, data, run, structure, filling, dump, refresh, menu);
}

/** Facts about the whole table; a broken view's comment is shown above. */
function tableFacts({ table: told, note: said }) {
  if (!told) return null;
  const { kind, engine, collation, bytes, data_bytes: data, index_bytes: index, auto_increment: next, row_format: format, comment } = told;
  const size = bytes === null || kind !== 'table' ? null : `${formatBytes(bytes)}${data !== null && index ? ` (${formatBytes(data)} data, ${formatBytes(index)} indexes)` : ''}`;
  return facts([['Kind', kind === 'table' ? null : kind], ['Engine', engine], ['Collation', collation], ['Rows', rowsText(told)], ['Size', size],
    ['Next AUTO_INCREMENT', next === null || next === undefined ? null : next.toLocaleString('en')], ['Row format', format], ['Comment', said ? null : comment]]);
}

function columnsTable(columns) {
  if (!columns.length) return null;
  const rows = columns.map((column) => row(
    h('span', { class: 'column-name' }, column.key === 'PRI' && keyIcon(), h('span', {}, marked(column.name))),
    code(column.type), nullable(column.nullable), KEYS[column.key] ?? column.key, defaultValue(column), extra(column), column.collation, column.comment));
  return section('Columns', columns.length, table('Columns', ['Name', 'Type', 'Null', 'Key', 'Default', 'Extra', 'Collation', 'Comment'], rows));
}

/** The server's words for what a column is in: MUL is the first of an index that is not unique. */
const KEYS = { PRI: 'primary', UNI: 'unique', MUL: 'indexed' };

function keyIcon() {
  const key = icon('key');
  key.classList.add('primary-key');
  return key;
}

function nullable(value) {
  const yes = value === true || value === 'YES';
  return h('span', { class: yes ? 'dim' : null, text: yes ? 'yes' : 'no' });
}

/** In plain words; what MySQL says of a default that is an expression is seen by the default. */
function extra({ extra: words }) {
  return (words ?? '').replace(/^DEFAULT_GENERATED ?/, '').replace(/\b(?:STORED|PERSISTENT) GENERATED\b/, 'computed, stored')
    .replace(/\bVIRTUAL GENERATED\b/, 'computed when read').replace(/\bINVISIBLE\b/, 'invisible');
}

function defaultValue({ default: value, nullable: may, generated }) {
  if (generated) return code(`= ${generated}`);
  if (value === null || value === undefined) return may === true || may === 'YES' ? h('span', { class: 'null', text: 'NULL' }) : '';
  return value === '' ? h('span', { class: 'null', text: 'empty' }) : code(String(value));
}

function names(list) {
  return (list ?? []).map((item) => (typeof item === 'string' ? item : item.name)).join(', ');
}

function indexesTable(indexes, kind) {
  if (!indexes.length && kind !== 'table') return null;
  if (!indexes.length) return section('Indexes', 0, h('p', { class: 'dim', text: 'No indexes: every search reads the whole table.' }));
  const rows = indexes.map((index) => row(index.name, code(names(index.columns)), index.unique ? 'unique' : '', index.type, index.visible === false ? 'invisible' : '', index.comment));
  return section('Indexes', indexes.length, table('Indexes', ['Name', 'Columns', 'Unique', 'Type', 'Optimizer', 'Comment'], rows));
}

function foreignKeys(keys, { db, jump }) {
  if (!keys.length) return null;
  const rows = keys.map((key) => {
    const label = `${key.ref_db && key.ref_db !== db ? `${key.ref_db}.` : ''}${key.ref_table} (${names(key.ref_columns)})`;
    const link = h('button', { type: 'button', class: 'link', on: { click: () => jump(key.ref_db ?? db, key.ref_table) } }, label);
    // MariaDB tells the rules only to who may do more than read the table.
    const rule = (told) => told ?? h('span', { class: 'dim', text: 'see CREATE', title: 'The server does not show it to this account' });
    return row(key.name, code(names(key.columns)), link, rule(key.on_update), rule(key.on_delete));
  });
  return section('Foreign keys', keys.length, table('Foreign keys', ['Name', 'Columns', 'References', 'On update', 'On delete'], rows));
}
