/**
 * Small choices that outlive a reload; nothing of a database is ever among them.
 * @module
 */

const PREFIX = 'postern.results.';

/** @param {string} name @param {any} fallback where nothing, or nothing readable, was kept */
export function readPreference(name, fallback) {
  try {
    const kept = JSON.parse(localStorage.getItem(PREFIX + name) ?? 'null');
    return typeof kept === typeof fallback ? kept : fallback;
  } catch {
    return fallback; // storage is switched off
  }
}

/**
 * Signs of CSV files and copies, chosen in the export dialog.
 * @returns {{delimiter: ',' | ';' | 'tab', decimal: '.' | ','}}
 */
export function csvSigns() {
  const kept = readPreference('exportDelimiter', ',');
  const delimiter = kept === ';' || kept === 'tab' ? kept : ',';
  return { delimiter, decimal: delimiter !== ',' && readPreference('exportDecimal', '.') === ',' ? ',' : '.' };
}

/** @param {string} name @param {any} value */
export function writePreference(name, value) {
  try {
    localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // storage is switched off or full: the choice lasts until the page is closed
  }
}
