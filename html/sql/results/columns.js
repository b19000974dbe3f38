/**
 * Arrangements of the columns of a grid: which are hidden, in which order, which stay in sight. No DOM.
 * @module
 */

/** Tables whose arrangement is kept. */
const MOST_KEPT = 300;

/** @typedef {import('./gridmodel.js').Layout} Layout */
/** @typedef {{order: string[], hidden: string[], frozen: string[]}} Named a layout by the names of columns */

/** Columns as the result has them. @param {number} count @returns {Layout} */
export const plainLayout = (count) => ({ order: Array.from({ length: count }, (_, i) => i), hidden: [], frozen: [] });

/** @param {Layout} layout */
export const isPlain = ({ order, hidden, frozen }) => !hidden.length && !frozen.length && order.every((column, at) => column === at);

/** All columns as they stand, hidden ones in their places. @param {Layout} layout */
export function sequence({ order, frozen }) {
  const ahead = new Set(frozen);
  return [...order.filter((column) => ahead.has(column)), ...order.filter((column) => !ahead.has(column))];
}

/** One column stays visible: the first, where all were to be hidden. @param {Layout} layout @param {number[]} columns @returns {Layout} */
export function hide(layout, columns) {
  const hidden = new Set([...layout.hidden, ...columns]);
  const shown = sequence(layout).filter((column) => !layout.hidden.includes(column));
  if (shown.every((column) => hidden.has(column))) hidden.delete(shown[0]);
  return { ...layout, hidden: [...hidden] };
}

/** @param {Layout} layout @param {number[]} columns @returns {Layout} */
export const show = (layout, columns) => ({ ...layout, hidden: layout.hidden.filter((column) => !columns.includes(column)) });

/** Keeps columns in sight, before the others, or no longer. @param {Layout} layout @param {number[]} columns @param {boolean} on @returns {Layout} */
export function freeze(layout, columns, on) {
  const others = layout.frozen.filter((column) => !columns.includes(column));
  return { ...layout, frozen: on ? [...others, ...columns] : others };
}

/** Freezes the columns up to one, and no others. @param {Layout} layout @param {number} column @returns {Layout} */
export function freezeUpTo(layout, column) {
  const all = sequence(layout);
  const away = new Set(layout.hidden);
  return { ...layout, frozen: all.slice(0, all.indexOf(column) + 1).filter((one) => !away.has(one)) };
}

/** Puts a column beside another one, and among the frozen ones where that is one. @param {Layout} layout @param {number} column @param {number} beside @param {boolean} behind @returns {Layout} */
export function place(layout, column, beside, behind) {
  if (column === beside) return layout;
  const order = layout.order.filter((one) => one !== column);
  order.splice(order.indexOf(beside) + (behind ? 1 : 0), 0, column);
  return freeze({ ...layout, order }, [column], layout.frozen.includes(beside));
}

/**
 * Moves a column by some places, at most to an end.
 * @param {Layout} layout @param {number} column @param {number} by
 * @param {boolean} [counting] whether hidden columns count as places
 * @returns {Layout}
 */
export function shift(layout, column, by, counting = false) {
  const all = sequence(layout).filter((one) => counting || one === column || !layout.hidden.includes(one));
  const to = Math.min(Math.max(all.indexOf(column) + by, 0), all.length - 1);
  return place(layout, column, all[to], by > 0);
}

/** @param {Layout} layout @param {string[]} names @returns {Named} */
export function named({ order, hidden, frozen }, names) {
  const of = (columns) => columns.map((column) => names[column]);
  return { order: of(order), hidden: of(hidden), frozen: of(frozen) };
}

/** A kept layout for the columns that there are now: new ones stand behind the one before them. @param {Named} kept @param {string[]} names @returns {Layout} */
export function numbered(kept, names) {
  const at = new Map(names.map((name, i) => [name, i]));
  const of = (list) => [...new Set(list)].flatMap((name) => at.get(name) ?? []);
  const order = of(kept.order);
  const known = new Set(order);
  for (const i of names.keys()) if (!known.has(i)) order.splice(order.indexOf(i - 1) + 1, 0, i);
  const layout = { order, hidden: of(kept.hidden), frozen: of(kept.frozen) };
  return layout.hidden.length < names.length ? layout : { ...layout, hidden: [] };
}

/** The arrangements of tables, in the browser's storage for this server and account. */
export class KeptLayouts {
  #store;

  /** @param {{read: (name: string) => any, write: (name: string, value: any) => boolean}} store */
  constructor(store) {
    this.#store = store;
  }

  /** @returns {[string, Named][]} the one that was changed last comes last */
  get #all() {
    const kept = this.#store.read('columns');
    return Array.isArray(kept) ? kept.filter((one) => Array.isArray(one) && isNamed(one[1])) : [];
  }

  /** @param {string} db @param {string} table @param {string[]} names @returns {Layout} */
  read(db, table, names) {
    const id = idOf(db, table);
    const kept = this.#all.find(([of]) => of === id);
    return kept ? numbered(kept[1], names) : plainLayout(names.length);
  }

  /** @param {string} db @param {string} table @param {string[]} names @param {Layout} layout */
  write(db, table, names, layout) {
    const id = idOf(db, table);
    const others = this.#all.filter(([of]) => of !== id);
    this.#store.write('columns', isPlain(layout) ? others : [...others, [id, named(layout, names)]].slice(-MOST_KEPT));
  }
}

const idOf = (db, table) => JSON.stringify([db, table]);

const isTexts = (list) => Array.isArray(list) && list.every((one) => typeof one === 'string');

const isNamed = (one) => Boolean(one) && isTexts(one.order) && isTexts(one.hidden) && isTexts(one.frozen);
