// Saved queries: names, folders, and the file they are carried in.

/** @typedef {{name: string, folder: string, sql: string, db: string, at: number}} SavedQuery */

/** Queries that are kept at most, and the longest of them in characters. */
export const MAX_SAVED = 1000;
export const MAX_SAVED_SQL = 200_000;

/** Queries in a storage or a file, without anything else. @param {any} value @returns {SavedQuery[]} */
export function readSaved(value) {
  const list = Array.isArray(value) ? value : Array.isArray(value?.queries) ? value.queries : [];
  const text = (one, most) => (typeof one === 'string' ? one.slice(0, most) : '');
  return list.filter((one) => typeof one?.sql === 'string' && one.sql.length <= MAX_SAVED_SQL && typeof one.name === 'string' && one.name.trim())
    .map((one) => ({ name: text(one.name, 120).trim(), folder: text(one.folder, 120).trim(), sql: one.sql, db: text(one.db, 64), at: Number(one.at) || 0 }))
    .slice(0, MAX_SAVED);
}

const keyOf = ({ folder, name }) => `${folder}\u0000${name}`;

/** The list with a query, in place of one of the same folder and name. @param {SavedQuery[]} list @param {SavedQuery} query */
export function withQuery(list, query) {
  return [...list.filter((one) => keyOf(one) !== keyOf(query)), query];
}

/**
 * The list with the queries of a file; one that has a name taken by another text gets a new name, so that nothing is lost.
 * @param {SavedQuery[]} list @param {SavedQuery[]} others
 * @returns {{list: SavedQuery[], added: number}}
 */
export function merged(list, others) {
  const all = [...list];
  for (const other of others) {
    if (all.some((one) => keyOf(one) === keyOf(other) && one.sql === other.sql)) continue;
    let { name } = other;
    for (let n = 2; all.some((one) => keyOf(one) === keyOf({ ...other, name })); n += 1) name = `${other.name} (${n})`;
    all.push({ ...other, name });
  }
  return { list: all.slice(0, MAX_SAVED), added: Math.min(all.length, MAX_SAVED) - list.length };
}

/** Folders with their queries, by name; those in no folder first. @param {SavedQuery[]} list @param {string} [search] words that each must be found */
export function foldersOf(list, search = '') {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const found = list.filter(({ name, folder, sql }) => words.every((word) => `${folder}/${name} ${sql}`.toLowerCase().includes(word)));
  const folders = [...new Set(found.map(({ folder }) => folder))].sort((a, b) => a.localeCompare(b));
  return folders.map((folder) => ({ folder, queries: found.filter((one) => one.folder === folder).sort((a, b) => a.name.localeCompare(b.name)) }));
}
