// Field for the access of a database guest: typed grants, and a picker of databases, tables and columns.
import { fill, h, icon, iconButton } from '../../common/dom.js';
import { openDialog } from '../../common/dialog.js';
import { Choice, parseGrant } from '../core/grants.js';
import { Field } from './field.js';

const WRONG = 'Write shop.*, shop.customers or shop.customers(id,name).';

/** The list of grants, with a field for another. `objects` answers names: of databases, of a database's tables, of a table's columns. */
export class GuestField extends Field {
  #objects;
  #onChange;
  /** @type {string[]} */
  #grants;

  /** @param {string[]|undefined} grants @param {(of: {database?: string, table?: string}) => Promise<string[]>} objects @param {() => void} onChange */
  constructor(grants, objects, onChange) {
    super({ name: 'guest', label: 'Visitors may read', placeholder: 'shop.*' });
    this.#grants = [...grants ?? []];
    this.#objects = objects;
    this.#onChange = onChange;
    this.list = h('ul', { class: 'grants', 'aria-label': 'What visitors may read' });
    const row = h('div', { class: 'grant-row' });
    this.input.replaceWith(this.list, row);
    row.append(this.input,
      h('button', { type: 'button', class: 'button', text: 'Add', 'aria-label': 'Add the entry', on: { click: () => { if (this.#take()) this.input.focus(); } } }),
      h('button', { type: 'button', class: 'button', text: 'Choose …', 'aria-haspopup': 'dialog', on: { click: () => this.#choose() } }));
    this.input.addEventListener('keydown', (event) => {
      if (!(event instanceof KeyboardEvent) || event.key !== 'Enter' || this.text.trim() === '') return;
      event.preventDefault();
      this.#take();
    });
    this.#draw();
  }

  /** @override */
  get value() {
    const typed = this.text.trim();
    return typed === '' || this.#grants.includes(typed) ? this.#grants : [...this.#grants, typed];
  }

  /** @override */
  get ownProblem() {
    const typed = this.text.trim();
    return typed === '' || parseGrant(typed) ? '' : WRONG;
  }

  #take() {
    const problem = this.ownProblem;
    this.setProblem(problem);
    if (problem) return false;
    this.#grants = this.value;
    this.input.value = '';
    this.#draw();
    return true;
  }

  #draw() {
    this.list.hidden = this.#grants.length === 0;
    fill(this.list, this.#grants.map((grant) => h('li', { class: 'grant' }, h('code', { text: grant }), iconButton('close', `Remove ${grant}`, () => this.#drop(grant)))));
    this.setHelp(this.#grants.length === 0
      ? 'Empty: everything the database user may read. With a list, a temporary account limits visitors to these tables.'
      : 'A temporary account limits visitors to these tables; it can only read and ends with the share. A view shows whatever its definer may read; shop.* means the tables at the time of connecting.');
    this.#onChange();
  }

  #drop(grant) {
    this.#grants = this.#grants.filter((other) => other !== grant);
    this.#draw();
    this.input.focus();
  }

  async #choose() {
    const chosen = await pick(this.#grants, this.#objects);
    if (!chosen) return;
    // Grants that the picker cannot read stay as typed.
    this.#grants = [...this.#grants.filter((grant) => !parseGrant(grant)), ...chosen];
    this.#draw();
  }
}

/** Asks for the choice; undefined when dismissed. @returns {Promise<string[]|undefined>} */
function pick(grants, objects) {
  const picker = new Picker(new Choice(grants), objects);
  return openDialog({
    title: 'What visitors may read',
    body: picker.element,
    onOpen: (dialog, close) => {
      const button = (text, kind, run) => h('button', { type: 'button', class: `button ${kind}`, text, on: { click: run } });
      dialog.append(h('div', { class: 'dialog-foot' }, button('Cancel', '', () => close()), button('Take these', 'primary', () => close(picker.grants))));
      dialog.classList.add('form-dialog');
      picker.load();
    },
  });
}

class Picker {
  #choice;
  #objects;

  constructor(choice, objects) {
    this.#choice = choice;
    this.#objects = objects;
    this.said = h('p', { class: 'dim', role: 'status', text: 'Asking the database …' });
    this.databases = h('select', { class: 'field', id: 'pick-database', on: { change: () => this.#showTables() } });
    this.tables = h('ul', { class: 'pick' });
    this.line = h('p', { class: 'dim pick-line' });
    this.element = h('div', { class: 'form' },
      h('div', { class: 'form-field' }, h('label', { for: 'pick-database', text: 'Database' }), this.databases), this.said, this.tables, this.line);
    this.#tell();
  }

  get grants() {
    return this.#choice.grants;
  }

  async load() {
    const names = await this.#ask({});
    if (!names) return;
    fill(this.databases, names.map((name) => h('option', { value: name, text: name })));
    this.said.textContent = names.length ? '' : 'The account can see no database.';
    if (names.length) await this.#showTables();
  }

  /** The names, or null after saying why there are none. */
  async #ask(of) {
    try {
      this.said.className = 'dim';
      const names = await this.#objects(of);
      return Array.isArray(names) ? names.map(String) : [];
    } catch (error) {
      this.said.className = 'bad';
      this.said.textContent = `${error.status === 404 ? 'This version cannot list them' : error.message}. Type what visitors may read instead.`;
      return null;
    }
  }

  async #showTables() {
    const database = this.databases.value;
    this.said.textContent = 'Asking the database …';
    const names = await this.#ask({ database });
    if (!names || database !== this.databases.value) return;
    this.said.textContent = names.length ? '' : 'It has no tables.';
    const all = this.#check(`pick-all`, 'All tables', this.#choice.isAll(database), (on) => { this.#choice.setAll(database, on); this.#showTables(); });
    fill(this.tables, h('li', {}, all), this.#choice.isAll(database) ? [] : names.map((table, i) => this.#table(database, table, i)));
  }

  #table(database, table, i) {
    const columns = h('ul', { class: 'pick', id: `pick-columns-${i}`, hidden: true });
    const draw = () => {
      const chosen = this.#choice.columns(database, table);
      box.checked = chosen !== undefined;
      box.indeterminate = Boolean(chosen);
    };
    const label = this.#check(`pick-table-${i}`, table, false, (on) => {
      this.#choice.setTable(database, table, on ? null : undefined);
      for (const input of columns.querySelectorAll('input')) input.checked = on;
      draw();
    });
    const box = /** @type {HTMLInputElement} */ (label.querySelector('input'));
    const more = h('button', { type: 'button', class: 'button quiet', 'aria-expanded': 'false', 'aria-controls': columns.id, 'aria-label': `Columns of ${table}`, on: { click: open } }, h('span', { text: 'Columns' }), icon('chevron-down'));
    const showColumns = async () => {
      const names = await this.#ask({ database, table });
      if (!names) return;
      const has = (name) => { const chosen = this.#choice.columns(database, table); return chosen === null || chosen?.has(name) === true; };
      const take = () => {
        const boxes = [...columns.querySelectorAll('input')];
        const on = names.filter((_, at) => boxes[at].checked);
        this.#choice.setTable(database, table, on.length === 0 ? undefined : on.length === names.length ? null : on);
        draw();
      };
      fill(columns, names.map((name, at) => h('li', {}, this.#check(`pick-column-${i}-${at}`, name, has(name), take))));
    };
    function open() {
      columns.hidden = !columns.hidden;
      more.setAttribute('aria-expanded', String(!columns.hidden));
      if (!columns.hidden && columns.children.length === 0) showColumns();
    }
    draw();
    return h('li', {}, h('div', { class: 'pick-table' }, label, more), columns);
  }

  #check(id, text, checked, run) {
    const input = h('input', { type: 'checkbox', id, on: { change: () => { run(input.checked); this.#tell(); } } });
    input.checked = checked;
    return h('label', { class: 'check', for: id }, input, h('span', { text }));
  }

  #tell() {
    const count = this.#choice.grants.length;
    this.line.textContent = count === 0 ? 'Nothing is chosen.' : `Chosen: ${this.#choice.grants.slice(0, 5).join(', ')}${count > 5 ? ` and ${count - 5} more` : ''}`;
  }
}
