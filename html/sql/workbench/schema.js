// The schema of a table: columns, indexes, foreign keys that lead on, and the CREATE statement.
import { copyText, fill, h, icon, iconButton } from '../../common/dom.js';
import { tokens } from '../core/lexer.js';

/** A CREATE statement longer than this is shown without colours, in characters. */
const MAX_COLOURED = 60_000;

/**
 * The schema view; shows its own loading and error states.
 * @param {{db: string, table: string, load: (fresh: boolean) => Promise<object>, jump: (db: string, table: string) => void,
 *   run: () => void, data: () => void, dump: () => void, notify: Notify}} options
 * @returns {HTMLElement}
 */
export function schemaView(options) {
  const host = h('div', { class: 'schema', tabindex: '0', role: 'region', 'aria-label': `Schema of ${options.table}` });
  load(host, options, false);
  return host;
}

async function load(host, options, fresh) {
  if (!host.firstChild) fill(host, h('p', { class: 'schema-note dim', text: 'Loading …' }));
  try {
    const schema = await options.load(fresh);
    fill(host, header(host, options), note(schema.note), columnsTable(schema.columns ?? []), indexesTable(schema.indexes ?? [], isView(schema)), foreignKeys(schema.foreign_keys ?? [], options), createStatement(schema.create_statement, options));
  } catch (error) {
    const again = h('button', { type: 'button', class: 'button', text: 'Try again', on: { click: () => load(host, options, true) } });
    fill(host, h('p', { class: 'schema-note bad', role: 'alert', text: error.message }), again);
  }
}

/** What the server makes a view of begins like one. */
function isView({ create_statement: sql }) {
  return /^CREATE (?:[\w=]+ |DEFINER=\S+ |SQL SECURITY \w+ )*VIEW /.test(sql ?? '');
}

function header(host, options) {
  const { db, table } = options;
  const run = h('button', { type: 'button', class: 'button', on: { click: options.run } }, icon('play'), 'Select rows');
  const data = h('button', { type: 'button', class: 'button', on: { click: options.data } }, icon('rows'), 'Data');
  const dump = h('button', { type: 'button', class: 'button', title: `Dump ${table} as SQL`, on: { click: options.dump } }, icon('download'), 'Dump …');
  const refresh = iconButton('refresh', 'Load the schema again', () => load(host, options, true));
  const title = h('h2', {}, h('span', { class: 'dim', text: `${db}.` }), table);
  return h('div', { class: 'schema-head' }, title, data, run, dump, refresh);
}

function section(title, count, ...content) {
  return h('section', { class: 'schema-section' }, h('h3', { text: count === undefined ? title : `${title} (${count})` }), ...content);
}

function table(label, names, rows) {
  const head = h('tr', {}, names.map((name) => h('th', { scope: 'col', text: name })));
  return h('div', { class: 'schema-scroll' }, h('table', { 'aria-label': label }, h('thead', {}, head), h('tbody', {}, rows)));
}

function row(...cells) {
  return h('tr', {}, cells.map((cell) => (cell instanceof Node ? h('td', {}, cell) : h('td', { text: cell ?? '' }))));
}

function columnsTable(columns) {
  if (!columns.length) return null;
  const rows = columns.map((column) => row(
    h('span', { class: 'column-name' }, column.key === 'PRI' && keyIcon(), column.name),
    code(column.type), nullable(column.nullable), column.key, defaultValue(column), extra(column), column.collation, column.comment));
  return section('Columns', columns.length, table('Columns', ['Name', 'Type', 'Null', 'Key', 'Default', 'Extra', 'Collation', 'Comment'], rows));
}

function keyIcon() {
  const key = icon('key');
  key.classList.add('primary-key');
  return key;
}

function nullable(value) {
  const yes = value === true || value === 'YES';
  return h('span', { class: yes ? 'dim' : null, text: yes ? 'yes' : 'no' });
}

/** What MySQL says of a default that is an expression is seen by the default. */
function extra({ extra: words }) {
  return (words ?? '').replace(/^DEFAULT_GENERATED ?/, '');
}

function defaultValue({ default: value, nullable: may, generated }) {
  if (generated) return code(`= ${generated}`);
  if (value === null || value === undefined) return may === true || may === 'YES' ? h('span', { class: 'null', text: 'NULL' }) : '';
  return value === '' ? h('span', { class: 'null', text: 'empty' }) : code(String(value));
}

function code(text) {
  return h('code', { text: text ?? '' });
}

function names(list) {
  return (list ?? []).map((item) => (typeof item === 'string' ? item : item.name)).join(', ');
}

function indexesTable(indexes, ofView) {
  if (!indexes.length && ofView) return null;
  if (!indexes.length) return section('Indexes', 0, h('p', { class: 'dim', text: 'No indexes: every search reads the whole table.' }));
  const rows = indexes.map((index) => row(index.name, code(names(index.columns)), index.unique ? 'unique' : '', index.type, index.visible === false ? 'invisible' : '', index.comment));
  return section('Indexes', indexes.length, table('Indexes', ['Name', 'Columns', 'Unique', 'Type', 'Optimizer', 'Comment'], rows));
}

function foreignKeys(keys, { db, jump }) {
  if (!keys.length) return null;
  const rows = keys.map((key) => {
    const label = `${key.ref_db && key.ref_db !== db ? `${key.ref_db}.` : ''}${key.ref_table} (${names(key.ref_columns)})`;
    const link = h('button', { type: 'button', class: 'link', on: { click: () => jump(key.ref_db ?? db, key.ref_table) } }, label);
    return row(key.name, code(names(key.columns)), link, key.on_update, key.on_delete);
  });
  return section('Foreign keys', keys.length, table('Foreign keys', ['Name', 'Columns', 'References', 'On update', 'On delete'], rows));
}

function note(text) {
  return text ? h('p', { class: 'schema-note', role: 'note', text }) : null;
}

function createStatement(sql, { notify }) {
  if (!sql) return null;
  const copy = h('button', { type: 'button', class: 'button', on: { click: async () => {
    if (await copyText(sql)) notify('CREATE statement copied', 'good');
    else notify('The browser refused the clipboard; select the text and copy it', 'warn');
  } } }, icon('copy'), 'Copy');
  const pre = h('pre', { class: 'create-statement', tabindex: '0', role: 'group', 'aria-label': 'CREATE statement' }, highlighted(sql));
  return section('CREATE statement', undefined, copy, pre);
}

/** SQL as text and highlighted spans. @param {string} sql @returns {(Node|string)[]} */
export function highlighted(sql) {
  if (sql.length > MAX_COLOURED) return [sql];
  const out = [];
  let at = 0;
  for (const { type, start, end } of tokens(sql)) {
    if (start > at) out.push(sql.slice(at, start));
    out.push(h('span', { class: `tok-${type}`, text: sql.slice(start, end) }));
    at = end;
  }
  return [...out, sql.slice(at)];
}
