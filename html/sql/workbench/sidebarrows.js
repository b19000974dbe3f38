// The entries of the sidebar: what stands in a row, and what its tooltip says.
import { h, icon, marked, plainMarked } from '../../common/dom.js';
import { formatBytes, formatCount } from '../../common/figures.js';
import { isSystem, rowsText } from '../core/entries.js';

const KINDS = { table: 'Table', view: 'View', sequence: 'Sequence' };
/** An entry of the list of databases, of a database's tables, or of one of its groups. @param {any} entry @param {{current?: boolean, first?: boolean}} [how] `first`: below the line */
export function entryRow(entry, { current = false, first = false } = {}) {
  const { kind, name } = entry;
  const hasRows = kind === 'table' || kind === 'view';
  const main = h('button', { type: 'button', class: 'row-main', tabindex: '-1', data: { name, kind }, title: plainMarked(tooltip(entry)), 'aria-current': current ? 'true' : null },
    icon(iconOf(kind)), kindWord(entry), h('span', { class: 'row-name' }, marked(name)), kind !== 'database' && h('span', { class: 'row-figures' }, figures(entry)));
  const small = (type, label, key, data, picture) => h('button', { type: 'button', class: `row-run ${type}`.trim(), tabindex: '-1', title: `${label}${key}`, 'aria-label': label, data }, icon(picture));
  const buttons = [
    hasRows && small('row-data', `Data of ${name}`, ' (Alt+Enter)', { rows: name }, 'rows'),
    hasRows && small('', `Select from ${name}`, '', { run: name }, 'play'),
    small('row-more', `More for ${name}`, ' (Shift+F10)', { more: name }, 'dots'),
  ].filter(Boolean);
  const system = kind === 'database' && isSystem(name);
  return h('li', { class: ['row', system && 'system', first && 'below-line', hasRows ? 'three' : 'one'].filter(Boolean).join(' ') }, main, buttons);
}

/** The kind, for those who do not see the icon. */
function kindWord({ kind, name }) {
  if (kind === 'database') return isSystem(name) && h('span', { class: 'visually-hidden', text: 'System database ' });
  return h('span', { class: 'visually-hidden', text: `${KINDS[kind] ?? kind} ` });
}

function iconOf(kind) {
  if (kind === 'procedure' || kind === 'function' || kind.startsWith('package')) return 'function';
  return kind;
}

/** Figures beside a name; a narrow sidebar leaves the size out. */
function figures(entry) {
  const { kind, bytes, hint } = entry;
  if (hint !== undefined || kind !== 'table') return [hint ?? kind];
  const rows = rowsText(entry, formatCount);
  const size = Number.isFinite(bytes) && h('span', { class: 'row-size', text: `${rows && ' · '}${formatBytes(bytes)}` });
  return [rows && `${rows} ${rows === '1' ? 'row' : 'rows'}`, size];
}

function tooltip(entry) {
  const { name, kind, engine, bytes, comment, hint } = entry;
  const rows = rowsText(entry);
  return [name, hint, engine && `${KINDS[kind] ?? kind}, ${engine}`, rows && `${rows} rows${Number.isFinite(bytes) ? `, ${formatBytes(bytes)}` : ''}`, comment !== 'VIEW' && comment].filter(Boolean).join('\n');
}
