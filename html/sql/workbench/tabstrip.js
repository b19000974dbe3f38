// The strip of query tabs: a tablist with arrow keys, rename, close.
import { byId, fill, h, icon, marked } from '../../common/dom.js';
import { openMenu } from '../../common/menu.js';

/** @typedef {import('./querytab.js').QueryTab} QueryTab */

/** Elements by tab: they are kept, since replacing one between two clicks would swallow a double click. */
const ELEMENTS = new WeakMap();

/**
 * Draws the strip. A tablist may own tabs only, so the crosses are for the pointer; keys: Delete, the menu, the shortcut.
 * @param {QueryTab[]} tabs
 * @param {QueryTab} active
 * @param {{activate: (tab: QueryTab, focus?: boolean) => void, close: (tab: QueryTab) => void, rename: (tab: QueryTab) => void}} on
 */
export function drawTabs(tabs, active, on) {
  const host = byId('tabs');
  const focused = host.contains(document.activeElement);
  const wanted = tabs.map((tab) => elementOf(tab, on));
  if (wanted.length !== host.children.length || wanted.some((element, i) => host.children[i] !== element)) host.replaceChildren(...wanted);
  tabs.forEach((tab, i) => update(wanted[i], tab, tab === active));
  host.onkeydown = (event) => stripKey(event, tabs, active, on);
  const current = byId(`tab-${active.id}`);
  drawList(host, tabs, active, on);
  // The tab with its cross.
  watched = current.parentElement;
  watched?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  WIDTH.observe(host);
  if (focused) current.focus();
}

/** The active tab stays in sight when the strip gets another width. @type {Element|null} */
let watched = null;
const WIDTH = new ResizeObserver(() => {
  const host = byId('tabs');
  byId('tab-list').hidden = host.children.length < 2 || host.scrollWidth <= host.clientWidth;
  watched?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
});

/** The button that lists all tabs, where not all are in sight. */
function drawList(host, tabs, active, on) {
  const button = byId('tab-list');
  button.hidden = host.scrollWidth <= host.clientWidth;
  button.onclick = () => openMenu(button, tabs.map((tab) => ({ label: tab.db ? `${tab.name} · ${tab.db}` : tab.name, icon: tab === active ? 'check' : 'file', run: () => on.activate(tab, true) })));
}

function elementOf(tab, on) {
  if (!ELEMENTS.has(tab)) ELEMENTS.set(tab, tabElement(tab, on));
  return ELEMENTS.get(tab);
}

function tabElement(tab, on) {
  const button = h('button', {
    type: 'button', role: 'tab', id: `tab-${tab.id}`, 'aria-controls': `panel-${tab.id}`,
    on: { click: () => on.activate(tab), dblclick: () => on.rename(tab), auxclick: (event) => { if (event.button === 1) on.close(tab); } },
  }, h('span', { class: 'query-tab-dot' }), h('span', { class: 'query-tab-name' }), h('span', { class: 'query-tab-db' }), icon('transaction'), h('span', { class: 'visually-hidden' }));
  const close = h('button', { type: 'button', class: 'query-tab-close', tabindex: '-1', 'aria-hidden': 'true', title: 'Close tab', on: { click: () => on.close(tab) } }, icon('close'));
  return h('div', { role: 'presentation' }, button, close);
}

function update(element, tab, isActive) {
  const [button, close] = element.children;
  const [dot, name, db, transaction, state] = button.children;
  const mark = tab.run ? 'running' : tab.news ? 'news' : '';
  element.className = isActive ? 'query-tab active' : 'query-tab';
  button.setAttribute('aria-selected', String(isActive));
  button.tabIndex = isActive ? 0 : -1;
  dot.className = `query-tab-dot ${mark}`;
  fill(name, marked(tab.name));
  fill(db, marked(tab.db));
  tab.shownDb = tab.db;
  transaction.classList.add('query-tab-transaction');
  transaction.toggleAttribute('hidden', !tab.inTransaction);
  button.title = `${tab.db ? `In ${tab.db}. ` : ''}${tab.inTransaction ? 'Transaction open. ' : ''}Rename: double-click or F2`;
  state.textContent = { running: ', running', news: ', has new results', '': '' }[mark] + (tab.inTransaction ? ', transaction open' : '');
  close.setAttribute('aria-label', `Close ${tab.name}`);
}

function stripKey(event, tabs, active, on) {
  const at = tabs.indexOf(active);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
  if (to !== undefined) on.activate(tabs[(to + tabs.length) % tabs.length], true);
  else if (event.key === 'Delete') on.close(active);
  else return;
  event.preventDefault();
}
