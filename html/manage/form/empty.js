// What stands where the applications will be, while there are none.
import { h, icon } from '../../common/dom.js';

/**
 * Its content. Built once, when the list becomes empty; removed when there is an application.
 * @param {{store: import('../board/store.js').Store, actions: import('../board/actions.js').Actions}} parts
 */
export function emptyState({ actions }) {
  const what = actions.isHere({}) ? 'an address of its own on this computer; with a server, one that others can open' : 'an address that can be opened elsewhere';
  return h('section', { class: 'empty' }, icon('plug'), h('h3', { text: 'No applications yet' }),
    h('p', { text: `An application is something that listens on this computer or near it: a web server, a database, SSH. Add one, and Connect gives it ${what}.` }),
    h('button', { type: 'button', class: 'button primary', id: 'add-first', on: { click: () => actions.add() } }, icon('plus'), h('span', { text: 'Add the first application' })));
}
