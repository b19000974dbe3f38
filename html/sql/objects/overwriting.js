/**
 * Asks before an object is replaced that somebody else changed since its text was opened.
 * @module
 */

import { h, loadStyle } from '../../common/dom.js';
import { openDialog } from '../../common/dialog.js';
import { lineDiff } from '../core/linediff.js';
import { laidOut } from './layout.js';

/**
 * @param {import('./redefine.js').Program} object @param {string} opened its text of then @param {string} now
 * @returns {Promise<'overwrite'|'open'|undefined>} `open`: the text of now is wanted in a tab
 */
export async function askOverwrite({ kind, db, name }, opened, now) {
  await loadStyle(new URL('../structure.css', import.meta.url));
  const lines = lineDiff(laidOut(opened, db), laidOut(now, db)).map(({ sign, text }) => h('div', { class: { '-': 'bad', '+': 'good' }[sign] ?? 'dim', text: `${sign === '-' ? '−' : sign} ${text}` }));
  return openDialog({
    title: `The ${kind} ${name} was changed`, wide: true, harmless: true,
    body: [
      h('p', { text: 'It was changed since you opened it. Your text does not have this change, and would overwrite it:' }),
      h('pre', { class: 'quote text-changes', tabindex: '0', role: 'group', 'aria-label': 'What changed since you opened it' }, lines),
      h('details', { class: 'structure-restoring' }, h('summary', { text: 'The text of now' }), h('pre', { class: 'quote', tabindex: '0', role: 'group', 'aria-label': 'The text of now', text: now })),
    ],
    actions: [{ label: 'Cancel', value: undefined }, { label: 'Open the text of now', value: 'open' }, { label: 'Overwrite it …', value: 'overwrite', kind: 'danger' }],
  });
}
