// Deep links `#db=…&sql=…`: they fill in and never run.

/** The longest fragment that is read, in characters. */
const MAX_LINK = 200_000;

/** Statement that a fragment asks to fill in, or null. @param {string} hash @returns {{db: string, sql: string}|null} */
export function readLink(hash) {
  if (hash.length < 2 || hash.length > MAX_LINK) return null;
  const parameters = new URLSearchParams(hash.slice(1));
  const db = parameters.get('db') ?? '';
  const sql = (parameters.get('sql') ?? '').replace(/\r\n?/g, '\n');
  return db || sql ? { db, sql } : null;
}

/** A link that fills in the same. `+` is written as %20: links are pasted into tools that read it as a plus. @param {string} db @param {string} sql */
export function writeLink(db, sql) {
  const parameters = new URLSearchParams();
  if (db) parameters.set('db', db);
  if (sql) parameters.set('sql', sql);
  return `${location.origin}${location.pathname}#${parameters.toString().replaceAll('+', '%20')}`;
}
