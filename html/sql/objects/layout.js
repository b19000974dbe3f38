// Lays out what servers write on one line: the text of a view, and the head of an event. Only white space changes.
import { formatStatement } from '../core/formatsql.js';
import { significant } from '../core/scope.js';
import { createdBy } from './redefine.js';

/** Words of an event that begin a line of its head. */
const OF_EVENTS = new Set(['ON', 'ENABLE', 'DISABLE', 'COMMENT', 'DO']);
/** Words behind which ON is none of an event's own. */
const NOT_BEFORE = new Set(['ENABLE', 'DISABLE']);

/** The text of an object as it is edited; as it is where it has lines of its own. @param {string} sql @param {string} db */
export function laidOut(sql, db) {
  const created = createdBy(sql, db);
  if (!created || !['view', 'event'].includes(created.kind)) return sql;
  const list = significant(sql).filter(({ start }) => start >= created.end);
  const at = list.findIndex(({ upper, type }) => type !== 'string' && upper === (created.kind === 'view' ? 'AS' : 'DO'));
  if (at < 0 || !list[at + 1]) return sql;
  const { end } = list[at];
  const bodyAt = list[at + 1].start;
  // Comments between stay where they are.
  if (/\S/.test(sql.slice(end, bodyAt))) return sql;
  const text = sql.slice(bodyAt);
  if (created.kind === 'view') return `${sql.slice(0, end)}\n${text.includes('\n') ? text : formatStatement(text)}`;
  // The server keeps the body of an event as it was written, and so does this.
  let head = sql.slice(0, list[0].start);
  list.slice(0, at + 1).forEach((one, i) => {
    const begins = one.type !== 'string' && OF_EVENTS.has(one.upper) && !(one.upper === 'ON' && NOT_BEFORE.has(list[i - 1]?.upper));
    head = begins ? `${head.replace(/[ \t]+$/, '')}\n` : head;
    head += sql.slice(one.start, i < at ? list[i + 1].start : one.end);
  });
  return `${head}\n${text}`;
}
