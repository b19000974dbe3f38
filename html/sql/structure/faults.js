/**
 * The part of a table that an error of the server is about. No DOM.
 * @module
 */

import { blankColumn, optionOf } from './definition.js';

/** @typedef {import('./definition.js').Table} Table */
/** @typedef {import('./definition.js').Column} Column */
/** @typedef {'column'|'index'|'foreignKey'|'check'|'option'|'partition'|'table'} PartKind */
/** @typedef {{part: PartKind, id: string|null, field: string|null}} Fault `id`: null where the part is not known */

/** Errors by number: the kind of part that they name, and its field. @type {Record<number, [PartKind, string|null]>} */
const ABOUT = {
  1048: ['column', 'nullable'], 1050: ['table', 'name'], 1054: ['column', 'name'], 1059: ['column', 'name'], 1060: ['column', 'name'], 1061: ['index', 'name'], 1062: ['index', 'parts'], 1063: ['column', 'type'],
  1067: ['column', 'default'], 1068: ['index', 'kind'], 1071: ['index', 'parts'], 1072: ['index', 'parts'], 1073: ['column', 'default'], 1074: ['column', 'type'], 1075: ['column', 'autoIncrement'],
  1089: ['index', 'parts'], 1101: ['column', 'default'], 1103: ['table', 'name'], 1115: ['column', 'charset'], 1138: ['column', 'nullable'], 1166: ['column', 'name'], 1167: ['index', 'parts'],
  1170: ['index', 'parts'], 1171: ['index', 'parts'], 1215: ['foreignKey', null], 1252: ['index', 'parts'], 1253: ['column', 'collation'], 1264: ['column', 'type'], 1265: ['column', 'type'],
  1273: ['column', 'collation'], 1280: ['index', 'name'], 1283: ['index', 'parts'], 1286: ['option', 'ENGINE'], 1291: ['column', 'type'], 1292: ['column', 'type'], 1294: ['column', 'onUpdate'],
  1366: ['column', 'type'], 1391: ['index', 'parts'], 1406: ['column', 'type'], 1439: ['column', 'type'], 1452: ['foreignKey', null], 1503: ['partition', null], 1526: ['partition', null],
  1687: ['index', 'comment'], 1629: ['column', 'comment'], 1628: ['option', 'COMMENT'], 1822: ['foreignKey', 'refColumns'], 1824: ['foreignKey', 'refTable'], 1826: ['foreignKey', 'name'],
  1829: ['column', 'name'], 1830: ['column', 'nullable'], 1832: ['column', 'type'], 1833: ['column', 'type'], 1901: ['column', 'generated'], 1906: ['column', 'generated'], 1907: ['column', 'generated'],
  3105: ['column', 'generated'], 3106: ['column', 'generated'], 3107: ['column', 'generated'], 3108: ['column', 'name'], 3109: ['column', 'generated'], 3734: ['foreignKey', 'refColumns'],
  3758: ['index', 'parts'], 3763: ['column', 'generated'], 3769: ['column', 'default'], 3770: ['column', 'default'], 3774: ['column', 'default'], 3780: ['foreignKey', 'columns'], 3813: ['check', 'expression'], 3814: ['check', 'expression'],
  3815: ['check', 'expression'], 3816: ['check', 'expression'], 3819: ['check', 'expression'], 3820: ['check', 'expression'], 3822: ['check', 'name'], 3823: ['column', 'name'], 3959: ['check', 'name'],
  4025: ['check', 'expression'], 4161: ['column', 'type'],
};

/**
 * The part that an error of the server is about; null where the error does not tell.
 * @param {{message: string, errno?: number}} error @param {Table} table as it should be
 * @param {string} [sql] statement that failed, with a clause on each line as alterTable writes it
 * @param {Table|null} [before] table as it is: of a column, a field that was changed is meant
 * @returns {Fault|null}
 */
export function faultOf(error, table, sql = '', before = null) {
  const fault = placeOf(error, table, sql, before);
  const column = fault?.part === 'column' && before && table.columns.find(({ id }) => id === fault.id);
  if (!fault || !column) return fault;
  const changed = changedFields(column, before);
  return !changed.length || changed.includes(fault.field ?? '') ? fault : { ...fault, field: changed[0] };
}

/** Fields of a column, the most specific first. */
const SPECIFIC = ['generated', 'check', 'onUpdate', 'nullable', 'default', 'charset', 'collation', 'autoIncrement', 'comment', 'type', 'name'];

/** Fields by which a column differs; of a new one, those that it has. @param {Column} column @param {Table} before */
function changedFields(column, before) {
  const was = before.columns.find(({ id }) => id === column.id) ?? blankColumn();
  return SPECIFIC.filter((field) => JSON.stringify(column[field]) !== JSON.stringify(was[field]));
}

/** @param {{message: string, errno?: number}} error @param {Table} table @param {string} sql @param {Table|null} before @returns {Fault|null} */
function placeOf(error, table, sql, before) {
  const [part, field] = ABOUT[error.errno ?? 0] ?? [null, null];
  const names = namesIn(error.message);
  // InnoDB’s own number for a foreign key whose sides do not fit; its message names the table alone.
  if (error.errno === 1005 && /errno: 150\b/.test(error.message)) return ofMisfit(names, table);
  // A foreign key that the other engine cannot have.
  if ((error.errno === 1217 || error.errno === 3776) && before && optionOf(before, 'ENGINE') !== optionOf(table, 'ENGINE')) return { part: 'option', id: null, field: 'ENGINE' };
  if (part === null) return error.errno === 1064 ? atLine(error.message, table, sql, before) : null;
  if (part === 'option' || part === 'partition' || part === 'table') return { part, id: null, field };
  return named(part, field, names, table, error.errno ?? 0) ?? elsewhere(part, names, table) ?? { part, id: null, field };
}

/** @param {string[]} names @param {Table} table @returns {Fault} */
function ofMisfit(names, table) {
  const fresh = table.foreignKeys.filter((key) => key.was === null || key.text === null);
  const key = fresh.find((one) => names.some((name) => same(one.name, name))) ?? fresh[0] ?? null;
  return { part: 'foreignKey', id: key?.id ?? null, field: 'columns' };
}

/** Names that a message has in quotes, the last part of each. @param {string} message */
function namesIn(message) {
  const found = message.match(/'(?:[^']|'')*'|`(?:[^`]|``)*`/g) ?? [];
  return found.flatMap((text) => {
    const name = text.slice(1, -1).replaceAll(text[0] + text[0], text[0]);
    return [name, name.replace(/^.*[./]/s, '')];
  });
}

const same = (a, b) => a.toLowerCase() === b.toLowerCase();

/** @param {'column'|'index'|'foreignKey'|'check'} part @param {Table} table */
function listOf(part, table) {
  return { column: table.columns, index: table.indexes, foreignKey: table.foreignKeys, check: table.checks }[part];
}

/** @param {'column'|'index'|'foreignKey'|'check'} part @param {string|null} field @param {string[]} names @param {Table} table @param {number} errno @returns {Fault|null} */
function named(part, field, names, table, errno) {
  // Of two of the same name, the new one is meant.
  const list = [...listOf(part, table)].sort((a, b) => Number(a.was !== null) - Number(b.was !== null));
  const direct = list.find((one) => names.some((name) => same(one.name, name)));
  if (direct) return { part, id: direct.id, field };
  const by = (test) => {
    const one = list.find(test);
    return one ? { part, id: one.id, field } : null;
  };
  if (part === 'index') return errno === 1068 ? by((index) => index.kind === 'primary' && index.was === null) : by((index) => index.parts.some((one) => names.some((name) => same(one.column ?? '', name)))) ?? (errno === 1171 ? by((index) => index.kind === 'primary') : null);
  if (part === 'foreignKey') return by((key) => names.some((name) => same(key.refTable, name) || key.columns.some((column) => same(column, name)))) ?? by((key) => key.was === null || key.text === null);
  if (part === 'check') return by((check) => names.some((name) => check.expression.includes(name)));
  if (errno === 1075) return by((column) => column.autoIncrement);
  if (errno === 1138) return by((column) => !column.nullable && column.text === null);
  return by((column) => names.some((name) => [column.charset, column.collation].some((one) => one && same(one, name)) || (errno === 4161 && same(column.type.replace(/\W.*$/s, ''), name))));
}

/** A part of another kind that has the name: a check of a column, a column of the table's own expression. @param {string} part @param {string[]} names @param {Table} table @returns {Fault|null} */
function elsewhere(part, names, table) {
  if (part === 'check') {
    const column = table.columns.find((one) => one.check && names.some((name) => same(one.name, name)));
    return column ? { part: 'column', id: column.id, field: 'check' } : null;
  }
  if (part === 'column') {
    const using = (text) => names.some((name) => name && text.includes(name));
    const check = table.checks.find((one) => using(one.expression));
    if (check) return { part: 'check', id: check.id, field: 'expression' };
    const column = table.columns.find((one) => using(one.generated?.expression ?? '') || using(one.check));
    if (column) return { part: 'column', id: column.id, field: column.generated ? 'generated' : 'check' };
  }
  return null;
}

const NAME = '`((?:[^`]|``)*)`';
const COLUMN = new RegExp(`^\\s*(?:ADD COLUMN ${NAME}|MODIFY COLUMN ${NAME}|CHANGE COLUMN ${NAME} ${NAME}|${NAME})`);
const INDEX = new RegExp(`^\\s*(?:ADD )?(?:UNIQUE |FULLTEXT |SPATIAL |VECTOR )?KEY ${NAME}`);
const CONSTRAINT = new RegExp(`^\\s*(?:ADD )?CONSTRAINT ${NAME} (FOREIGN KEY|CHECK)`);

/** A syntax error by the line of the statement. @param {string} message @param {Table} table @param {string} sql @param {Table|null} before @returns {Fault|null} */
function atLine(message, table, sql, before) {
  const [, near, number] = /near '([^]*)' at line (\d+)/.exec(message) ?? ['', '', 0];
  const line = sql.split('\n')[Number(number) - 1] ?? '';
  const find = (part, name) => {
    const one = listOf(part, table).find((each) => each.name === name.replaceAll('``', '`'));
    return one ? { part, id: one.id, field: null } : null;
  };
  const constraint = CONSTRAINT.exec(line);
  if (constraint) return find(constraint[2] === 'CHECK' ? 'check' : 'foreignKey', constraint[1]);
  const index = INDEX.exec(line);
  if (index) return find('index', index[1]);
  if (/^\s*(?:ADD )?PRIMARY KEY/.test(line)) return find('index', 'PRIMARY');
  if (/^\s*PARTITION/.test(line)) return { part: 'partition', id: null, field: null };
  const column = COLUMN.exec(line);
  const fault = column ? find('column', column.slice(1).filter((one) => one !== undefined).at(-1) ?? '') : null;
  const meant = table.columns.find(({ id }) => id === fault?.id);
  return fault && meant && before ? { ...fault, field: fieldAt(line, near.split('\n')[0], meant, before) } : fault;
}

/** The changed field of a column whose text begins last before the place of a syntax error. @param {string} line @param {string} near @param {Column} column @param {Table} before */
function fieldAt(line, near, column, before) {
  const end = near ? line.indexOf(near) : line.length;
  const changed = changedFields(column, before);
  const texts = Object.entries({ generated: column.generated?.expression, check: column.check, onUpdate: column.onUpdate, default: column.default.value, charset: column.charset, collation: column.collation, type: column.type });
  const places = texts.flatMap(([field, text]) => (text && changed.includes(field) ? [{ field, at: line.lastIndexOf(text) }] : [])).filter(({ at }) => at >= 0 && at <= end);
  return places.sort((a, b) => b.at - a.at)[0]?.field ?? changed.find((field) => field !== 'name') ?? null;
}
