// How many sums GROUP BY … WITH ROLLUP asks for, as src/sqlweb/gate/rollup.rs
// has it. No DOM.

const MAX_EXPRESSIONS = 64;

export class Rollups {
  constructor() {
    /** @type {{depth: number, commas: number, rollsUp: boolean}[]} lists that may go on, at most one a level */
    this.groups = [];
  }

  /**
   * Takes one token.
   * @param {string} kind
   * @param {string} word in upper case, or empty
   * @param {number} depth parentheses around it
   * @param {boolean} opens whether a parenthesis follows
   * @returns {boolean} false when there are too many expressions
   */
  take(kind, word, depth, opens) {
    if (word === "GROUP") {
      if (this.groups.at(-1)?.depth === depth) this.groups.pop();
      this.groups.push({ depth, commas: 0, rollsUp: false });
    }
    if (kind === "close") while (this.groups.at(-1)?.depth > depth) this.groups.pop();
    const group = this.groups.at(-1);
    if (group?.depth !== depth) return true;
    if (kind === "comma") group.commas += 1;
    const rollsUp = word === "ROLLUP" || group.rollsUp;
    if (word === "ROLLUP" && opens) Object.assign(group, { depth: depth + 1, commas: 0, rollsUp: true });
    return !rollsUp || group.commas < MAX_EXPRESSIONS;
  }
}
