/**
 * Place of the viewer beside the grid. The viewer itself is loaded after the first result is there.
 * @module
 */

import { h } from '../../common/dom.js';

/** @typedef {import('./viewer.js').Cell} Cell */

/** Shows one cell at a time; `close` hides it. */
export class ViewerPane {
  #deps;
  /** @type {import('./viewer.js').Viewer|null} */ #viewer = null;
  /** @type {Cell|null} */ #cell = null;
  #takesFocus = false;
  #loading = false;

  /** @param {ConstructorParameters<typeof import('./viewer.js').Viewer>[1]} deps */
  constructor(deps) {
    this.#deps = deps;
    this.element = h('section', { class: 'viewer', 'aria-label': 'Cell viewer', hidden: true });
    // Early, so that the first cell opens without a wait; opening tries again.
    import('./viewer.js').catch(() => {});
  }

  get isOpen() {
    return !this.element.hidden;
  }

  /** True if the value is the one that is shown. @param {any} value */
  shows(value) {
    return this.#cell?.value === value;
  }

  /** @param {Cell} cell its value may be the content of a file that is not applied yet */
  show(cell) {
    this.#cell = cell;
    this.element.hidden = false;
    if (this.#viewer) this.#viewer.show(cell);
    else this.#load();
  }

  async #load() {
    if (this.#loading) return;
    this.#loading = true;
    const module = await import('./viewer.js').catch(() => null);
    this.#loading = false;
    if (!this.#cell) return;
    if (!module) {
      this.#deps.notify('Could not load the cell viewer. Is postern still running? Try again.', 'bad');
      return this.#deps.onClose();
    }
    this.#viewer = new module.Viewer(this.element, this.#deps);
    this.#viewer.show(this.#cell);
    if (this.#takesFocus) this.#viewer.focus();
  }

  focus() {
    this.#takesFocus = true;
    this.#viewer?.focus();
  }

  close() {
    this.element.hidden = true;
    this.#cell = null;
    this.#takesFocus = false;
    this.#viewer?.close();
  }
}
