/**
 * Cells as tab-separated text, read back.
 * @module
 */

/** @param {string} text @returns {string[][]} */
export function cellsOf(text) {
  const rows = [['']];
  const end = /\r?\n$/.exec(text)?.index ?? text.length;
  let quoted = false;
  for (let i = 0; i < end; i += 1) {
    const row = rows[rows.length - 1];
    const char = text[i];
    if (quoted) {
      if (char !== '"') row[row.length - 1] += char;
      else if (text[i + 1] === '"') row[row.length - 1] += text[(i += 1)];
      else quoted = false;
    } else if (char === '"' && row[row.length - 1] === '') quoted = true;
    else if (char === '\t') row.push('');
    else if (char === '\n') rows.push(['']);
    else if (char !== '\r' || text[i + 1] !== '\n') row[row.length - 1] += char;
  }
  return rows;
}

/** What was copied from a grid as values, by the text that it became. */
export class Copied {
  #text = null;
  /** @type {any[][]} */ #values = [];

  /** @param {string} text @param {any[][]} values */
  keep(text, values) {
    this.#text = plain(text);
    this.#values = values;
  }

  /** The values behind a text from the clipboard; null where it is from elsewhere. @param {string} text */
  of(text) {
    return this.#text !== null && plain(text) === this.#text ? this.#values : null;
  }
}

const plain = (text) => text.replaceAll('\r\n', '\n');
