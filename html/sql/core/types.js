/**
 * Meaning of the API's database types for the page.
 * @module
 */

/** @typedef {'number'|'date'|'time'|'bit'|'geometry'|'vector'|'binary'|'json'|'text'} ColumnKind */

/** @type {[RegExp, ColumnKind][]} */
const KINDS = [
  [/^(tinyint|smallint|mediumint|int|integer|bigint|decimal|numeric|float|double|real|year)\b/i, 'number'],
  [/^(date|datetime|timestamp)\b/i, 'date'],
  [/^time\b/i, 'time'],
  [/^bit\b/i, 'bit'],
  [/^(geometry|point|linestring|polygon|multi\w+|geometrycollection|geomcollection)\b/i, 'geometry'],
  [/^vector\b/i, 'vector'],
  [/(blob|binary)\b/i, 'binary'],
  [/^json\b/i, 'json'],
];

/**
 * The kind of a column, by its database type.
 * @param {string} [type] such as `BIGINT UNSIGNED`
 * @returns {ColumnKind}
 */
export function kindOf(type) {
  const found = KINDS.find(([pattern]) => pattern.test(type ?? ''));
  return found ? found[1] : 'text';
}

/** True if values of the kind arrive as `0x…` hex strings. */
export function isBinaryKind(kind) {
  return kind === 'binary' || kind === 'bit' || kind === 'geometry' || kind === 'vector';
}

/** True if the value is one of the API's hex strings. */
export function isHex(value) {
  return typeof value === 'string' && value.startsWith('0x');
}

/** Bytes of a `0x…` string. */
export function hexSize(hex) {
  return Math.max(0, Math.floor((hex.length - 2) / 2));
}

/** Numbers of a VECTOR, of 32 bits each, from its hex text. */
export function vectorSize(hex) {
  return Math.floor(hexSize(hex) / 4);
}
