// Saved queries and parameters of one workspace; their dialogs are loaded when they are wanted.
import { later } from './querytab.js';

/** Something that may be a parameter. */
const PARAMETER = /(?:^|[^:\w]):[A-Za-z_]/;

/** Queries kept for one server and user. */
export class Queries {
  #workspace;

  /** @param {import('./store.js').Workspace} workspace */
  constructor(workspace) {
    this.#workspace = workspace;
  }

  #store(name) {
    return { read: () => this.#workspace.read(name), write: (value) => this.#workspace.write(name, value) };
  }

  /** Lets a person choose one. @returns {Promise<import('../core/savedqueries.js').SavedQuery|undefined>} */
  async choose() {
    const module = await later(import('./saved.js'));
    return module?.showSaved(this.#store('saved'));
  }

  /** Asks for a name and saves. @param {{name: string, sql: string, db: string}} query */
  async save(query) {
    const module = await later(import('./saved.js'));
    await module?.saveQuery(this.#store('saved'), query);
  }

  /** The statements with the values of their parameters; null where the person went back. @param {import('./runner.js').Statement[]} statements */
  async fill(statements) {
    if (!statements.some(({ sql }) => PARAMETER.test(sql))) return statements;
    const module = await later(import('./parameters.js'));
    const { read, write } = this.#store('parameters');
    return module && module.fillParameters(statements, { read: () => read() ?? {}, write });
  }
}
