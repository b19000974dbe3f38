/**
 * Source table of a result's rows, as far as copies and exports need it.
 * @module
 */

import { sourceTable } from './format.js';
import { unquoteIdentifier } from './identifiers.js';

/** @typedef {(db: string, table: string) => Promise<any>} SchemaOf */
/** @typedef {{leaveOut: string[], nested: string[], key: string[]}} Details columns that no INSERT takes, columns of texts that are JSON, and those of the primary key */

/**
 * The one table that a result is of; null where there is none.
 * @param {{sql: string, db: string, source?: {db: string, table: string}}} result
 * @returns {{db: string, table: string}|null}
 */
export function originOf({ sql, db, source }) {
  if (source) return { db: source.db, table: source.table };
  const parts = sourceTable(sql)?.match(/`(?:[^`]|``)+`|[^\s.`]+/g)?.map(unquoteIdentifier);
  if (!parts) return null;
  return { db: parts.length > 1 ? parts[0] : db, table: parts[parts.length - 1] };
}

/**
 * Facts about the columns from its schema; nothing if there is none, as for a temporary table.
 * @param {Parameters<typeof originOf>[0]} result
 * @param {SchemaOf} [schemaOf]
 * @returns {Promise<Details>}
 */
export async function detailsOf(result, schemaOf) {
  const origin = originOf(result);
  const schema = origin?.db && schemaOf ? await schemaOf(origin.db, origin.table).catch(() => null) : null;
  const generated = (schema?.columns ?? []).filter((column) => column.generated || / GENERATED/.test(column.extra ?? ''));
  // MariaDB has texts with a check for JSON.
  const checks = (schema?.create_statement ?? '').matchAll(/json_valid\(`((?:[^`]|``)+)`\)/gi);
  return { leaveOut: generated.map(({ name }) => name), nested: [...checks].map(([, name]) => name.replaceAll('``', '`')), key: (schema?.indexes ?? []).find(({ name }) => name === 'PRIMARY')?.columns ?? [] };
}
