/**
 * Sizes of databases and tables.
 * @module
 */

import { fill, h, icon } from '../../common/dom.js';
import { formatBytes } from '../../common/figures.js';
import { rowsText } from '../core/entries.js';
import { DataTable, rowButton } from './datatable.js';
import { frame, textOfRow } from './parts.js';

/** Databases that are asked about at once. */
const AT_ONCE = 4;
const ESTIMATES = 'Figures are server estimates of what this account can see.';

/** @param {import('./parts.js').Deps} deps @returns {import('./parts.js').Page} */
export function sizesPage(deps) {
  const host = h('div', { class: 'server-pages' });
  /** @type {import('./parts.js').Page|null} */
  let page = null;
  const put = (next) => { page?.close(); page = next; fill(host, next.element); };
  const showDatabases = () => put(databases(deps, (db) => put(tables(db, deps, showDatabases))));
  showDatabases();
  return { element: host, close: () => page?.close() };
}

/** Figures that databases and tables have alike. @returns {import('./datatable.js').Column[]} */
function figureColumns() {
  const size = (key) => (row) => (row[key] === null ? '' : formatBytes(row[key]));
  return [
    { key: 'data', title: 'Data', number: true, cell: size('data') }, { key: 'index', title: 'Indexes', number: true, cell: size('index') },
    { key: 'total', title: 'Total', number: true, cell: size('total') }, { key: 'share', title: 'Share', plain: true, cell: bar },
  ];
}

function bar({ total, whole }) {
  const inner = h('span', {});
  const percent = whole ? (100 * (total ?? 0)) / whole : 0;
  inner.style.width = `${percent}%`;
  return h('span', { class: 'share' }, h('span', { class: 'share-bar', 'aria-hidden': 'true' }, inner), whole ? `${percent.toFixed(1)} %` : '');
}

/** With what a bar is a share of; of a list that is not whole there is no share. */
function compared(rows, awaited = 0) {
  const whole = awaited ? 0 : sum(rows, 'total');
  return rows.map((row) => ({ ...row, whole }));
}

const sum = (list, key) => list.reduce((total, one) => total + (one[key] ?? 0), 0);

function databases(deps, open) {
  const table = new DataTable({
    label: 'Sizes of databases', unit: 'database', sort: { key: 'total', down: true },
    columns: [
      { key: 'name', title: 'Database', cell: (row) => rowButton('open', row, '', () => open(row.name), row.name) }, { key: 'tables', title: 'Tables', number: true },
      { key: 'rows', title: 'Rows', number: true, cell: ({ rows, failed }) => failed ?? `≈ ${rows.toLocaleString('en')}` }, ...figureColumns(),
    ],
  });
  /** Figures by name; a new look keeps them until it has newer ones. @type {Map<string, any>} */
  let known = new Map();
  const load = async (signal) => {
    const names = await deps.api.databases();
    known = new Map(names.flatMap((name) => (known.has(name) ? [[name, known.get(name)]] : [])));
    const draw = () => table.set(compared([...known.values()], names.length - known.size), names.length - known.size);
    draw();
    const left = [...names];
    const worker = async () => {
      for (let name = left.shift(); name !== undefined && !signal.aborted; name = left.shift()) {
        known.set(name, await ofDatabase(deps.api, name));
        if (!signal.aborted) draw();
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    const failed = [...known.values()].filter((one) => one.failed).length;
    page.say(ESTIMATES, failed > 0 && `${failed.toLocaleString('en')} of ${names.length.toLocaleString('en')} databases could not be read: shares exclude them.`);
  };
  const page = frame({ label: 'Sizes', table, load });
  page.say(ESTIMATES);
  return page;
}

async function ofDatabase(api, name) {
  try {
    const list = (await api.tables(name, true)).filter(({ kind }) => kind === 'table');
    const [data, index] = [sum(list, 'data_bytes'), sum(list, 'index_bytes')];
    return { id: name, name, tables: list.length, rows: sum(list, 'rows_estimate'), data, index, total: data + index, text: textOfRow(name) };
  } catch (error) {
    return { id: name, name, tables: null, rows: null, data: null, index: null, total: null, failed: error.message, text: textOfRow(name) };
  }
}

function tables(db, deps, back) {
  const table = new DataTable({
    label: `Sizes of the tables of ${db}`, unit: 'table', sort: { key: 'total', down: true },
    columns: [
      { key: 'name', title: 'Table', cell: (row) => rowButton('open', row, '', () => deps.openSchema(db, row.name), row.name) }, { key: 'engine', title: 'Engine' },
      { key: 'rows', title: 'Rows', number: true, cell: ({ told }) => rowsText(told) }, ...figureColumns(),
    ],
  });
  const load = async () => {
    const list = (await deps.api.tables(db, true)).filter(({ kind }) => kind === 'table');
    table.set(compared(list.map((told) => ({ id: told.name, told, name: told.name, engine: told.engine, rows: told.rows_estimate, data: told.data_bytes, index: told.index_bytes, total: told.bytes, text: textOfRow(told.name, told.engine) }))));
  };
  const up = h('button', { type: 'button', class: 'button quiet', on: { click: back } }, icon('back'), 'Databases');
  const page = frame({ label: `Sizes of ${db}`, table, load, tools: [up, h('h3', { text: db })] });
  queueMicrotask(() => up.focus());
  return page;
}
