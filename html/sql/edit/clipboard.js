/**
 * Cells as tab-separated text, read back.
 * @module
 */

/** @param {string} text @returns {string[][]} */
export function cellsOf(text) {
  const rows = [['']];
  const end = /(?:\r?\n|\r)$/.exec(text)?.index ?? text.length;
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
    else if (char === '\n' || (char === '\r' && text[i + 1] !== '\n')) rows.push(['']);
    else if (char !== '\r') row[row.length - 1] += char;
  }
  return rows;
}

/**
 * The cells of a text: lines go down, as in a spreadsheet, but a text of several lines that is no table stays whole where
 * the column takes one.
 * @param {string} text
 * @param {{html?: string, takesLines?: boolean}} [of] `html`: the same as the clipboard has it for pages
 * @returns {string[][]}
 */
export function pastedCells(text, { html = '', takesLines = true } = {}) {
  const isTable = /<(?:table|td)\b/i.test(html) || text.includes('\t') || (!html && text.includes('\r'));
  return isTable || !takesLines ? cellsOf(text) : [[text.replace(/\r\n?/g, '\n').replace(/\n$/, '')]];
}

/**
 * Target cells of a pasted text: one value fills all selected cells, several go next to each other.
 * @param {string} text
 * @param {any[][]|null} known the values that the text was copied from
 * @param {{places: number[], columns: number[]}} selection
 * @param {Parameters<typeof pastedCells>[1]} [of]
 * @returns {{place: number, column: number, value: any}[]}
 */
export function spotsOf(text, known, { places, columns }, of) {
  const single = places.length * columns.length === 1;
  const cells = known ?? (single ? pastedCells(text, of) : cellsOf(text));
  if (cells.length === 1 && cells[0].length === 1) return places.flatMap((place) => columns.map((column) => ({ place, column, value: cells[0][0] })));
  return cells.flatMap((row, y) => row.map((value, x) => ({ place: places[0] + y, column: columns[0] + x, value })));
}

/**
 * Cells of new rows for pasted values: from a column on, or from the first column if they would not fit.
 * @param {any[][]} cells @param {number} column @param {number} width of the table
 */
export function newSpots(cells, column, width) {
  const from = column < 0 || cells.some((row) => column + row.length > width) ? 0 : column;
  return cells.flatMap((row, place) => row.map((value, x) => ({ place, column: from + x, value })));
}

/** Values copied from a grid, by the text that they became. */
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
