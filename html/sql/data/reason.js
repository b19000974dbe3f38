/**
 * Reasons for which the rows of a table cannot be changed.
 * @module
 */

import { keyOf } from './browse.js';
import { classOf } from './values.js';

/**
 * One short line; empty where they can.
 * @param {any} schema
 * @param {boolean} readOnly
 */
export function whyFixed(schema, readOnly) {
  const sql = schema.create_statement ?? '';
  if (/^CREATE (?:[\w=]+ |DEFINER=\S+ |SQL SECURITY \w+ )*VIEW /.test(sql)) return 'Not editable: a view; edit its tables';
  if (/^CREATE SEQUENCE /.test(sql)) return 'Not editable: a sequence';
  if (readOnly) return 'Read-only mode: nothing can be changed';
  const key = keyOf(schema);
  if (!key) return 'Not editable: no PRIMARY or UNIQUE NOT NULL key identifies its rows';
  const inexact = schema.columns.find(({ name, type }) => key.parts.some((part) => part.name === name) && classOf(type) === 'float');
  return inexact ? `Not editable: ${inexact.name}, a ${inexact.type.replace(/\(.*/s, '').toUpperCase()} in its key, cannot be compared exactly` : '';
}
