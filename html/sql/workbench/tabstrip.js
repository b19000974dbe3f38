// The strip of query tabs: a tablist with arrow keys, rename, close.
import { byId, fill, h, icon } from '../../common/dom.js';

/**
 * Draws the strip. A tablist may own tabs only, so the crosses are for the pointer; keys: Delete, the menu, the shortcut.
 * in `#tabs`.
 * @param {import('./querytab.js').QueryTab[]} tabs
 * @param {import('./querytab.js').QueryTab} active
 * @param {{activate: (tab: object) => void, close: (tab: object) => void, rename: (tab: object) => void, add: () => void}} on
 */
export function drawTabs(tabs, active, on) {
  const host = byId('tabs');
  const focused = host.contains(document.activeElement);
  fill(host, tabs.map((tab) => tabElement(tab, tab === active, on)));
  host.onkeydown = (event) => stripKey(event, tabs, active, on);
  const current = host.querySelector('[aria-selected="true"]');
  current?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  if (focused) current?.focus();
}

function tabElement(tab, isActive, on) {
  const state = tab.run ? 'running' : tab.news ? 'has new results' : '';
  const button = h('button', {
    type: 'button', role: 'tab', id: `tab-${tab.id}`, 'aria-selected': String(isActive), 'aria-controls': `panel-${tab.id}`, tabindex: isActive ? '0' : '-1',
    title: 'Double click or F2 renames', on: { click: () => on.activate(tab), dblclick: () => on.rename(tab), auxclick: (event) => { if (event.button === 1) on.close(tab); } },
  }, h('span', { class: `query-tab-dot ${tab.run ? 'running' : tab.news ? 'news' : ''}` }), h('span', { class: 'query-tab-name', text: tab.name }), state && h('span', { class: 'visually-hidden', text: `, ${state}` }));
  const close = h('button', { type: 'button', class: 'query-tab-close', tabindex: '-1', 'aria-hidden': 'true', 'aria-label': `Close ${tab.name}`, title: 'Close tab', on: { click: () => on.close(tab) } }, icon('close'));
  return h('div', { class: isActive ? 'query-tab active' : 'query-tab', role: 'presentation' }, button, close);
}

function stripKey(event, tabs, active, on) {
  const at = tabs.indexOf(active);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
  if (to !== undefined) on.activate(tabs[(to + tabs.length) % tabs.length], true);
  else if (event.key === 'Delete') on.close(active);
  else return;
  event.preventDefault();
}
