// How deep the server's parser goes for a statement: src/sqlweb/gate/nesting.rs tells the rules and why. No DOM.

import { CLAUSES, OPERATORS } from "./functions.js";

const words = (text) => new Set(text.split(" "));

const OPERATOR_WORDS = words(OPERATORS);
const CLAUSE_WORDS = words(CLAUSES);
const MAX_LEVELS = 250;
const MAX_DEPTH = 1000;

class Level {
  constructor(isCase) {
    this.isCase = isCase;
    this.between = false;
    this.depth = 0;
    this.loose = 0;
    this.deepest = 0;
  }

  endOperand() {
    this.deepest = Math.max(this.deepest, this.depth);
    this.depth = 0;
  }

  endExpression() {
    this.depth += this.loose;
    this.endOperand();
    this.loose = 0;
    this.between = false;
  }
}

/** The parentheses and CASE that are open. */
export class Nesting {
  #levels = [];
  #level = new Level(false);

  /**
   * Takes one token.
   * @param {string} kind
   * @param {string} text in upper case
   * @returns {boolean} false when it is too deep
   */
  take(kind, text) {
    if (kind === "open") this.#open(false);
    else if (kind === "close") {
      while (this.#level.isCase) this.#close();
      this.#close();
    } else if (kind === "comma") this.#level.endExpression();
    else if (kind === "operator") this.#level[text === ":=" ? "loose" : "depth"] += 1;
    else if (kind === "word") this.#word(text);
    return this.#levels.length <= MAX_LEVELS && this.#level.depth + this.#level.loose <= MAX_DEPTH;
  }

  #word(word) {
    const level = this.#level;
    if (word === "CASE") this.#open(true);
    else if (word === "END" && level.isCase) this.#close();
    else if (level.isCase && (word === "WHEN" || word === "THEN" || word === "ELSE")) level.endExpression();
    else if (word === "AND" && level.between) level.between = false;
    else if (word === "AND" || word === "OR") level.endOperand();
    else if (word === "XOR") level.loose += 1;
    else if (word === "BETWEEN") {
      level.between = true;
      level.depth += 1;
    } else if (OPERATOR_WORDS.has(word)) level.depth += 1;
    else if (CLAUSE_WORDS.has(word)) level.endExpression();
  }

  #open(isCase) {
    this.#levels.push(this.#level);
    this.#level = new Level(isCase);
  }

  #close() {
    this.#level.endExpression();
    const inner = this.#level.deepest;
    this.#level = this.#levels.pop() ?? new Level(false);
    this.#level.depth = Math.max(this.#level.depth, inner + 1);
  }
}
