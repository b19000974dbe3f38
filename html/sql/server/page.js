/**
 * The pages about the server, one at a time, with the way from one to the next.
 * @module
 */

import { fill, h, icon, queryAll } from '../../common/dom.js';
import { accountsPage } from './accounts.js';
import { processesPage } from './processes.js';
import { sizesPage } from './sizes.js';
import { statusPage, variablesPage } from './status.js';

/** @typedef {import('./parts.js').Deps} Deps */

/** @type {Record<string, (deps: Deps) => import('./parts.js').Page>} */
const MAKERS = { processes: processesPage, status: statusPage, variables: variablesPage, accounts: accountsPage, sizes: sizesPage };

/**
 * Fills `host` with the frame of the pages.
 * @param {HTMLElement} host @param {Record<string, string>} titles of the pages, in order @param {Deps} deps
 * @returns {{show: (name: string) => void, close: () => void}}
 */
export function openPages(host, titles, deps) {
  /** @type {import('./parts.js').Page|null} */
  let page = null;
  const back = h('button', { type: 'button', class: 'button quiet', title: 'Back to the editor (Escape)', on: { click: () => deps.close() } }, icon('back'), 'Editor');
  const links = h('ul', {}, Object.entries(titles).map(([name, title]) => h('li', {}, h('a', { href: `#server=${name}`, data: { page: name }, text: title }))));
  const body = h('div', { class: 'server-body' });
  fill(host, h('div', { class: 'server-head' }, back, h('nav', { 'aria-label': 'Pages about the server' }, links)), body);
  const onKey = (event) => {
    if (event.key !== 'Escape' || event.defaultPrevented || event.target.matches('input[type=search]')) return;
    event.preventDefault();
    deps.close();
  };
  host.addEventListener('keydown', onKey);
  return {
    show: (name) => {
      page?.close();
      page = MAKERS[name](deps);
      fill(body, h('h2', { class: 'visually-hidden', text: titles[name] }), page.element);
      for (const link of queryAll(links, 'a')) {
        if (link.dataset.page === name) link.setAttribute('aria-current', 'page');
        else link.removeAttribute('aria-current');
        if (link.dataset.page === name) link.focus();
      }
    },
    close: () => {
      page?.close();
      host.removeEventListener('keydown', onKey);
      fill(host);
    },
  };
}
