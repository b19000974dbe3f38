// Joins that foreign keys suggest.
import { quoteIdentifier } from './identifiers.js';

/**
 * @typedef {import('./scope.js').TableRef} TableRef
 * @typedef {{db: string, table: string, columns: string[], refDb: string, refTable: string, refColumns: string[]}} Relation a foreign key of a table of `db`
 * @typedef {{name: string, text: string}} Join `name` is what is compared with what is typed
 */

const same = (a, b) => a.toLowerCase() === b.toLowerCase();
const calledAs = (ref) => quoteIdentifier(ref.alias ?? ref.name);

/** True if a reference is the table of that name. */
function isTable(ref, db, table, current) {
  return same(ref.db ?? current, db) && same(ref.name, table);
}

function condition(child, columns, parent, refColumns) {
  return columns.map((column, i) => `${child}.${quoteIdentifier(column)} = ${parent}.${quoteIdentifier(refColumns[i])}`).join(' AND ');
}

/**
 * Conditions between the table named last and those before it.
 * @param {TableRef[]} refs @param {Relation[]} relations @param {string} current the database of the tab
 * @returns {Join[]}
 */
export function joinConditions(refs, relations, current) {
  const last = refs[refs.length - 1];
  const found = refs.slice(0, -1).reverse().flatMap((other) => relations.flatMap(({ db, table, columns, refDb, refTable, refColumns }) => {
    const texts = [];
    if (isTable(last, db, table, current) && isTable(other, refDb, refTable, current)) texts.push(condition(calledAs(last), columns, calledAs(other), refColumns));
    if (isTable(other, db, table, current) && isTable(last, refDb, refTable, current)) texts.push(condition(calledAs(other), columns, calledAs(last), refColumns));
    return texts;
  }));
  return [...new Set(found)].map((text) => ({ name: text, text }));
}

/**
 * Tables that have a foreign key to one of `refs`, or that one of them refers to, with the condition.
 * @param {TableRef[]} refs @param {Relation[]} relations @param {string} current the database of the tab @param {TableRef[]} withs names that mean something else here
 * @returns {Join[]}
 */
export function joinTables(refs, relations, current, withs) {
  const taken = [...refs, ...withs].map((ref) => (ref.alias ?? ref.name).toLowerCase());
  const found = refs.flatMap((ref) => relations.flatMap(({ db, table, columns, refDb, refTable, refColumns }) => {
    const joins = [];
    if (isTable(ref, refDb, refTable, current)) joins.push(joinOf(db, table, (as) => condition(as, columns, calledAs(ref), refColumns)));
    if (isTable(ref, db, table, current) && !(same(table, refTable) && same(db, refDb))) joins.push(joinOf(refDb, refTable, (as) => condition(calledAs(ref), columns, as, refColumns)));
    return joins;
  }));
  function joinOf(db, table, on) {
    const home = same(db, current) ? '' : `${quoteIdentifier(db)}.`;
    let as = table;
    for (let n = 2; taken.includes(as.toLowerCase()); n += 1) as = `${table}${n}`;
    const alias = as === table ? '' : ` AS ${quoteIdentifier(as)}`;
    return { name: table, text: `${home}${quoteIdentifier(table)}${alias} ON ${on(quoteIdentifier(as))}` };
  }
  return found.filter((join, i) => found.findIndex(({ text }) => text === join.text) === i);
}
