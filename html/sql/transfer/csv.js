/**
 * Reads CSV (RFC 4180) and its relatives, piece by piece.
 * @module
 */

/** Characters of one field at most: what a quote opens that nothing closes would run to the end of the file. */
const MAX_FIELD = 64 << 20;

/**
 * @typedef {{delimiter: string, quote: string, escape?: string}} Dialect one character each; no quote or escape: ''
 * @typedef {{fields: string[], quoted: boolean[]|null, line: number, stray?: boolean[]}} Record `quoted`: which fields stood in quotes, or
 *   had escapes; null where none did; `line`: where it begins, from 1; `stray`: which fields go on behind their quotes, and are kept as they stand
 */

/** A record of a line without anything: what stands between records, or the NULL of a single column. @param {Record} record */
export const isBlank = ({ fields, quoted }) => fields.length === 1 && fields[0] === '' && !quoted;

/** First line of Excel's files that names the delimiter; it is no row. */
const SEPARATOR_LINE = /^sep=.$/i;

/** Meaning of a letter behind the escape, as servers write and read it (LOAD DATA, "FIELDS ESCAPED BY"); others stand for themselves. */
const ESCAPED = { 0: '\0', b: '\b', n: '\n', r: '\r', t: '\t', Z: '\x1a' };

/** Reads text that comes in pieces. Line ends are CRLF, LF or CR; with an escape LF, or CRLF if the first one is. */
export class CsvParser {
  #delimiter;
  #quote;
  #escape;
  #onRecord;
  #plainEnd;
  #quotedEnd;
  /** @type {string[]} */ #fields = [];
  /** @type {boolean[]|null} */ #quoted = null;
  /** @type {boolean[]|undefined} */ #stray;
  #field = '';
  /** @type {'start'|'plain'|'quoted'|'closed'} */ #state = 'start';
  /** The escape was the last character. */
  #isEscaped = false;
  /** The field is the sign for NULL so far, as it stands. */
  #isNull = false;
  /** With an escape: lines end with CRLF. @type {boolean|undefined} */ #isCrLf;
  /** With an escape: the CR that the last piece ended with. */
  #held = '';
  /** The last piece ended with a CR, whose LF may begin the next one. */
  #afterCr = false;
  #line = 1;
  #begins = 1;
  #opened = 0;

  /** @param {Dialect} dialect @param {(record: Record) => void} onRecord */
  constructor({ delimiter, quote, escape = '' }, onRecord) {
    this.#delimiter = delimiter;
    this.#quote = quote;
    this.#escape = escape;
    this.#onRecord = onRecord;
    this.#plainEnd = new RegExp(`[${escaped(delimiter + escape)}\r\n]`, 'g');
    this.#quotedEnd = new RegExp(`[${escaped(quote + escape)}]`, 'g');
  }

  /** The line that is read. */
  get line() {
    return this.#line;
  }

  /** @param {string} text */
  push(text) {
    let at = 0;
    if (this.#afterCr && text !== '') {
      this.#afterCr = false;
      if (text[0] === '\n') at = 1;
    }
    text = this.#held + text;
    this.#held = '';
    while (at < text.length) at = this.#isEscaped ? this.#behindEscape(text, at) : this.#state === 'quoted' ? this.#inQuotes(text, at) : this.#outside(text, at);
  }

  /** The character behind an escape, which is one of the field whatever it is. */
  #behindEscape(text, at) {
    const char = text[at];
    this.#isEscaped = false;
    const isNull = char === 'N' && this.#field === '' && this.#state !== 'quoted';
    if (char === '\n') this.#line += 1;
    this.#add(isNull ? '\\N' : ESCAPED[char] ?? char);
    this.#isNull = isNull;
    if (this.#state !== 'quoted') this.#state = 'plain';
    // A field with escapes is a text, though it read like the sign for NULL.
    if (!isNull) (this.#quoted ??= [])[this.#fields.length] = true;
    return at + 1;
  }

  #outside(text, at) {
    if (this.#state === 'start' && this.#quote && text[at] === this.#quote) {
      this.#state = 'quoted';
      this.#opened = this.#line;
      return at + 1;
    }
    // A quote that comes after the end of one is one of the text.
    if (this.#state === 'closed' && text[at] === this.#quote) {
      this.#state = 'quoted';
      this.#field += this.#quote;
      return at + 1;
    }
    this.#plainEnd.lastIndex = at;
    const found = this.#plainEnd.exec(text);
    const end = found ? found.index : text.length;
    if (end > at) {
      if (this.#state === 'closed') this.#keep();
      this.#add(text.slice(at, end));
      this.#state = 'plain';
    }
    if (!found) return end;
    if (found[0] === this.#escape) this.#isEscaped = true;
    else if (found[0] === this.#delimiter) this.#endField();
    else if (this.#escape && found[0] === '\r' && !this.#endsAtCr(text, end)) return end + 1;
    else return this.#endRecord(text, end);
    return end + 1;
  }

  /** True if lines end so; a server that writes escapes leaves the CR of a value as it is. */
  #endsAtCr(text, at) {
    if (at + 1 === text.length) this.#held = '\r';
    else if (text[at + 1] === '\n' && this.#isCrLf !== false) return true;
    else {
      this.#add('\r');
      this.#state = 'plain';
    }
    return false;
  }

  /** A field that goes on behind its quotes is what stands there, quotes and all. */
  #keep() {
    const at = this.#fields.length;
    this.#field = this.#quote + this.#field.replaceAll(this.#quote, this.#quote + this.#quote) + this.#quote;
    (this.#stray ??= [])[at] = true;
    if (this.#quoted) this.#quoted[at] = false;
  }

  #inQuotes(text, at) {
    this.#quotedEnd.lastIndex = at;
    const close = this.#quotedEnd.exec(text)?.index ?? -1;
    const end = close < 0 ? text.length : close;
    this.#add(text.slice(at, end));
    this.#line += linesIn(text, at, end);
    if (close < 0) return end;
    if (text[close] === this.#escape && this.#escape !== this.#quote) {
      this.#isEscaped = true;
      return close + 1;
    }
    this.#state = 'closed';
    (this.#quoted ??= [])[this.#fields.length] = true;
    return close + 1;
  }

  #add(part) {
    // The sign for NULL is that of a whole field; else its letter is a letter.
    if (this.#isNull && part !== '') {
      this.#field = 'N';
      (this.#quoted ??= [])[this.#fields.length] = true;
    }
    this.#isNull &&= part === '';
    this.#field += part;
    if (this.#field.length > MAX_FIELD) throw new Error(this.#unclosed() || `A field in line ${this.#line} is larger than ${MAX_FIELD >> 20} MiB.`);
  }

  #endField() {
    this.#isNull = false;
    this.#fields.push(this.#field);
    this.#field = '';
    this.#state = 'start';
  }

  #endRecord(text, at) {
    this.#isCrLf ??= text[at] === '\r';
    this.#endField();
    /** @type {Record} */
    const record = { fields: this.#fields, quoted: this.#quoted, line: this.#begins };
    if (this.#stray) record.stray = this.#stray;
    this.#fields = [];
    this.#quoted = null;
    this.#stray = undefined;
    this.#line += 1;
    this.#begins = this.#line;
    const isCr = text[at] === '\r';
    this.#afterCr = isCr && at + 1 === text.length;
    const isSeparatorLine = record.line === 1 && !record.quoted && SEPARATOR_LINE.test(record.fields.join(this.#delimiter));
    if (!isSeparatorLine) this.#onRecord(record);
    return at + (isCr && text[at + 1] === '\n' ? 2 : 1);
  }

  #unclosed() {
    return this.#state === 'quoted' ? `The quote opened in line ${this.#opened} is not closed.` : '';
  }

  /** Ends the text; throws where a quote is open. */
  end() {
    if (this.#isEscaped) this.#behindEscape(this.#escape, 0);
    if (this.#held) this.push('\n');
    const unclosed = this.#unclosed();
    if (unclosed) throw new Error(unclosed);
    if (this.#fields.length || this.#state !== 'start') this.#endRecord('\n', 0);
  }
}

const escaped = (chars) => chars.replace(/[\\\]^-]/g, '\\$&');

/** Line ends in a part of a text; a CR before an LF is not one. */
function linesIn(text, from, to) {
  let count = 0;
  for (let at = text.indexOf('\n', from); at >= 0 && at < to; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}

/** The records of a text that is here whole, or of its beginning; what is broken ends them. @param {string} text @param {Dialect} dialect @param {number} [most] @returns {Record[]} */
export function recordsOf(text, dialect, most = Infinity) {
  /** @type {Record[]} */
  const records = [];
  const parser = new CsvParser(dialect, (record) => { if (records.length < most) records.push(record); });
  try {
    parser.push(text);
    parser.end();
  } catch {
    return records;
  }
  return records;
}

/** A field as it stands in a file. @param {string} text @param {boolean} wasQuoted @param {Dialect} dialect */
function fieldText(text, wasQuoted, { delimiter, quote, escape = '' }) {
  if (escape && (wasQuoted || text !== '\\N')) return quote && wasQuoted ? quote + withEscapes(text, quote + escape, escape) + quote : withEscapes(text, `${delimiter}${escape}${quote}\r\n`, escape);
  const needs = wasQuoted || text.includes(delimiter) || /[\r\n]/.test(text) || (quote && text.includes(quote));
  return quote && needs ? quote + text.replaceAll(quote, quote + quote) + quote : text;
}

/** @param {string} text @param {string} signs those that are escaped @param {string} escape */
const withEscapes = (text, signs, escape) => [...text].map((char) => (signs.includes(char) ? escape + char : char)).join('');

/** A record as a line of a file. @param {{fields: string[], quoted?: boolean[]|null, stray?: boolean[]}} record @param {Dialect} dialect */
export function lineOf({ fields, quoted = null, stray }, dialect) {
  return `${fields.map((text, i) => stray?.[i] ? text : fieldText(text, Boolean(quoted?.[i]), dialect)).join(dialect.delimiter)}\r\n`;
}
