/**
 * Two tabs of results side by side. No DOM.
 * @module
 */

/** A pair of tabs; a place whose tab has gone is taken by the one that is shown next. */
export class Panes {
  /** @type {(string|null)[]} */ #pair = [];

  get isSplit() {
    return this.#pair.length === 2 && !this.#pair.includes(null);
  }

  /** The tabs in sight beside each other. @returns {string[]} */
  get ids() {
    return this.isSplit ? /** @type {string[]} */ (this.#pair) : [];
  }

  /** @param {string} one @param {string} other */
  lay(one, other) {
    this.#pair = one === other ? [] : [one, other];
  }

  end() {
    this.#pair = [];
  }

  /** A tab is shown after another one, whose place it takes. @param {string} id @param {string|null} before */
  show(id, before) {
    if (!this.#pair.length || this.#pair.includes(id)) return;
    const free = this.#pair.indexOf(null);
    const at = free >= 0 ? free : this.#pair.indexOf(before);
    if (at >= 0) this.#pair[at] = id;
  }

  /** A tab has gone: its place is free where it was the active one, else the other one has all of it. @param {string} id @param {string|null} active */
  gone(id, active) {
    const at = this.#pair.indexOf(id);
    if (at < 0) return;
    if (id === active && !this.#pair.includes(null)) this.#pair[at] = null;
    else this.#pair = [];
  }
}
