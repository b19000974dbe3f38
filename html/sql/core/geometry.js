// How deep a geometry may become while MariaDB computes it. The rules are those
// of src/sqlweb/gate/geometry.rs, and say why. No DOM.

import * as LISTS from "./functions.js";

const words = (text) => new Set(text.split(" "));

const MAX_LITERAL = 8 << 10;
const MAX_COLLECTIONS = 100;
const SPATIAL = words(LISTS.SPATIAL);
const COLLECTING = words("GEOMETRYCOLLECTION ST_COLLECT");
const BEHIND = words("GROUP HAVING ORDER OVER PARTITION WINDOW");
const SOURCES = words("JSON_TABLE SELECT TABLE VALUES");
const HARMLESS = words(`${LISTS.BESIDE_SPATIAL} ${LISTS.RESERVED}`);
const KNOWN = new Set(LISTS.GROUPS.flatMap((group) => group.names.split(" ")));

/** What has been seen of a statement. */
export class Geometry {
  constructor() {
    /** @type {{depth: number, readsText: boolean}[]} spatial calls, and queries within them, that are open */
    this.open = [];
    this.spatial = false;
    this.isBehind = false;
    this.behind = false;
    this.sources = 0;
    this.recursive = false;
    this.collections = 0;
    this.literal = 0;
    this.afterAs = false;
    this.pipeEnd = -1;
    this.inside = "";
    this.outside = "";
    this.long = false;
    this.assigned = false;
  }

  /**
   * Takes one token.
   * @param {import("./lexer.js").RawToken} token
   * @param {string} text as it stands
   * @param {number} size its length in bytes
   * @param {string} word the same in upper case, for a word
   * @param {number} depth parentheses around it
   * @param {boolean} opens whether a parenthesis follows
   */
  take(token, text, size, word, depth, opens) {
    const readsText = this.open.at(-1)?.readsText ?? false;
    const isLiteral = token.kind === "text" || token.kind === "number";
    this.literal = isLiteral ? this.literal + size : 0;
    if (this.literal > MAX_LITERAL && !readsText) this.long = true;
    if (token.kind === "close") while (this.open.at(-1)?.depth >= depth) this.open.pop();
    if (token.kind === "word") this.#word(word, depth, opens);
    if (token.kind === "operator" && text === ":=") this.assigned = true;
    if (token.kind === "operator" && text === "|") {
      if (this.pipeEnd === token.start) this.#build("||");
      this.pipeEnd = token.end;
    }
    this.afterAs = word === "AS";
  }

  #word(word, depth, opens) {
    if (BEHIND.has(word)) this.behind = true;
    if (word === "RECURSIVE") this.recursive = true;
    if (SOURCES.has(word)) {
      this.sources += 1;
      if (this.open.length > 0) this.open.push({ depth: depth - 1, readsText: false });
    }
    // A type follows AS.
    if (!opens || this.afterAs) return;
    if (SPATIAL.has(word)) {
      this.spatial = true;
      this.isBehind ||= this.behind;
      if (COLLECTING.has(word)) this.collections += 1;
      this.open.push({ depth, readsText: word.endsWith("FROMTEXT") });
    } else if (KNOWN.has(word) && !HARMLESS.has(word)) {
      this.#build(word);
    }
  }

  #build(name) {
    const call = this.open.at(-1);
    if (!call) this.outside ||= name.toLowerCase();
    else if (!call.readsText) this.inside ||= name.toLowerCase();
  }

  /**
   * What is wrong with the whole statement.
   * @returns {string|null}
   */
  fault() {
    if (!this.spatial) return null;
    const flows = this.sources > 1 || this.isBehind;
    const built = this.inside || (flows && this.outside);
    if (built) {
      return `${built} beside a spatial function could make a geometry so deep that it ends a MariaDB server; `
        + "build the text inside ST_GeomFromText, or in a statement of its own";
    }
    if (this.assigned) return "a variable beside a spatial function could hold what ends a MariaDB server; write the value itself";
    if (this.long) return "a literal of more than 8 KiB could be a geometry so deep that it ends a MariaDB server; write it as a text in ST_GeomFromText";
    if (this.collections > MAX_COLLECTIONS || (this.recursive && this.collections > 0)) {
      return "so many collections within each other could end a MariaDB server; write them as a text in ST_GeomFromText";
    }
    return null;
  }
}
