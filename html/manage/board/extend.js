// Asks until when an application is to be shared.
import { openDialog } from '../../common/dialog.js';
import { h } from '../../common/dom.js';
import { localText, rfc3339 } from '../../common/times.js';
import { endOf, extendedBy } from '../core/remaining.js';

const HOUR = 3_600_000; // ms
const CHOICES = [
  { label: '1 hour', ms: HOUR },
  { label: '8 hours', ms: 8 * HOUR },
  { label: '1 day', ms: 24 * HOUR },
  { label: '1 week', ms: 7 * 24 * HOUR },
];

/** @param {App} app @returns {Promise<string|null|undefined>} the end as RFC 3339, null for none, undefined when dismissed */
export async function askEnd(app) {
  const now = Date.now();
  const end = endOf(app, now);
  const until = h('input', { type: 'datetime-local', class: 'field', id: 'end-until', 'aria-describedby': 'end-problem', value: localText(end && !end.isOver ? end.at : now + HOUR) });
  const problem = h('p', { class: 'field-line bad', id: 'end-problem', role: 'alert' });
  const runs = end !== null && !end.isOver;
  return openDialog({
    title: `How long is “${app.name}” shared?`,
    harmless: true,
    body: [
      h('p', { class: 'dim', text: end ? `${end.isOver ? 'It ended' : 'It ends'} ${new Date(end.at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' })}.` : 'It has no end time.' }),
      h('div', { class: 'end-choices' }),
      h('label', { class: 'end-label', for: 'end-until', text: 'Or until' }), h('div', { class: 'end-until' }, until), problem,
    ],
    actions: [{ label: 'Cancel', value: undefined }],
    onOpen: (dialog, close) => {
      const quick = (label, value) => h('button', { type: 'button', class: 'button', text: label, on: { click: () => close(value) } });
      dialog.querySelector('.end-choices')?.append(...CHOICES.map(({ label, ms }) => quick(`${runs ? '+' : ''}${label}`, extendedBy(app, ms, Date.now()))), ...end ? [quick('Without end', null)] : []);
      const set = () => {
        const at = Date.parse(until.value);
        problem.textContent = Number.isNaN(at) ? 'Enter a day and a time.' : at <= Date.now() ? 'This time has already passed.' : '';
        if (problem.textContent === '') close(rfc3339(at));
        else until.focus();
      };
      dialog.querySelector('.end-until')?.append(h('button', { type: 'button', class: 'button primary', text: 'Set', on: { click: set } }));
      until.addEventListener('keydown', (event) => { if (event.key === 'Enter') { event.preventDefault(); set(); } });
    },
  });
}
