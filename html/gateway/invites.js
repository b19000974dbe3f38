// Invites: who may enrol, by which token, how often and until when; making one, and taking one back.
import { confirmDialog, openDialog } from '../common/dialog.js';
import { copyText, h } from '../common/dom.js';
import { time } from './connectors.js';

/** Invites that are shown unasked. */
const FEW = 10;
/** Connectors of an invite that are named. */
const NAMED = 3;
/** The longest label, as the relay has it. */
const LABEL_MAX = 100;
/** Connectors that one may be for, as the relay has it. */
const USES_MAX = 2500;
const DAY = 24 * 3600;
/** For how long one may be good: seconds, and how that is said. The usual one is the second. @type {[number, string][]} */
const LIVES = [[DAY, 'a day'], [7 * DAY, 'a week'], [30 * DAY, '30 days'], [365 * DAY, 'a year']];

/** Text for each state. @type {Record<RelayInvite['status'], string>} */
const STATES = { good: '● valid', used: '○ used up', over: '○ expired', forbidden: '○ disabled' };

/** The columns: name, what it means, how it is aligned. */
const COLUMNS = [
  ['For', 'Its label, and its id for the command line: postern relay uninvite ID', 'wraps'],
  ['State', ''],
  ['Used', 'Connectors that used it', 'number'],
  ['Used by', 'The last connectors that used it', 'wraps'],
  ['Made', ''],
  ['Ends', ''],
  ['', '', 'act'],
];

/** Name of an invite for the operator. @param {RelayInvite} of */
export function inviteLabel(of) {
  if (of.label) return of.label;
  if (of.common) return 'Common token';
  return of.first ? 'From the first start' : '–';
}

/** The newest first; of many only those that are good, unless all are wanted. @param {RelayInvite[]} all @param {boolean} isWhole */
export function invitesShown(all, isWhole) {
  const newest = [...all].reverse();
  return isWhole ? newest : newest.filter((of) => of.status === 'good').slice(0, FEW);
}

/** The rows of a table. @param {RelayInvite[]} invites @param {(of: RelayInvite) => void} takeBack */
export function inviteRows(invites, takeBack) {
  return invites.map((of) => {
    const cells = [
      label(of),
      h('span', { class: of.status === 'good' ? 'state on' : 'state', text: STATES[of.status] ?? of.status }),
      of.uses === null ? String(of.used) : `${of.used} of ${of.uses}`,
      users(of),
      of.made_at ? time(of.made_at) : '–',
      of.expires ? time(of.expires) : 'never',
      button(of, takeBack),
    ];
    return h('tr', { role: 'row' }, ...cells.map((cell, at) => h('td', { role: 'cell', class: COLUMNS[at][2], data: { label: COLUMNS[at][0] } }, cell)));
  });
}

/** The cells of their heading. */
export function inviteHeads() {
  return COLUMNS.map(([name, title, kind]) => h('th', { scope: 'col', role: 'columnheader', class: kind, title, text: name, 'aria-label': name ? undefined : 'Actions' }));
}

/** @param {RelayInvite} of */
function label(of) {
  return h('span', {}, inviteLabel(of), of.common && h('span', { class: 'dim', text: ' (--enroll-token or its replacement)' }), ' ', h('span', { class: 'mono dim', text: of.id }));
}

/** @param {RelayInvite} of */
function users({ used_by: all }) {
  const named = all.slice(-NAMED).reverse().map((of) => of.connector);
  const others = all.length - named.length;
  return all.length === 0 ? '–' : h('span', { class: 'mono', text: named.join(', ') + (others > 0 ? ` and ${others.toLocaleString()} more` : '') });
}

/** Button to cancel or remove an invite; none for a disabled common token. @param {RelayInvite} of @param {(of: RelayInvite) => void} takeBack */
function button(of, takeBack) {
  if (of.common && of.status === 'forbidden') return '';
  const text = of.status === 'good' ? 'Cancel…' : 'Remove…';
  return h('button', { type: 'button', class: 'button', text, data: { part: `cancel ${of.id}` }, 'aria-label': `${text} ${inviteLabel(of)} ${of.id}`, on: { click: () => takeBack(of) } });
}

/** Asks whether one is to be taken back. @param {RelayInvite} of */
export function askTakeBack(of) {
  const isGood = of.status === 'good';
  const forgotten = 'It is no longer valid; this removes it from the list.';
  const back = of.common
    ? 'It can no longer be used, even if the relay starts with it again (--enroll-token). Members who used it stay.'
    : 'It can no longer be used. Members who used it stay.';
  return confirmDialog({
    title: `${isGood ? 'Cancel' : 'Remove'} the invite “${of.label || of.id}”?`,
    text: isGood ? back : forgotten,
    action: isGood ? 'Cancel invite' : 'Remove',
  });
}

/**
 * Asks for the terms of an invite and makes it; what is wrong is said below the fields. Resolves with what was made.
 * @param {(terms: {label: string, uses: number, expires_in: number}) => Promise<RelayNewInvite>} make
 * @returns {Promise<RelayNewInvite|undefined>}
 */
export function askInvite(make) {
  const label = h('input', { class: 'field', id: 'invite-label', maxlength: LABEL_MAX, autocomplete: 'off', placeholder: 'anna-laptop' });
  const uses = h('input', { class: 'field', id: 'invite-uses', type: 'number', min: 1, max: USES_MAX, value: 1, required: true });
  const life = h('select', { class: 'field', id: 'invite-life' }, ...LIVES.map(([seconds, text], at) => h('option', { value: seconds, text, selected: at === 1 })));
  const error = h('p', { class: 'error', role: 'alert' });
  const form = h('form', { id: 'invite-form', class: 'invite-form' }, field('For', label), field('Connectors allowed', uses), field('Good for', life), error);
  return openDialog({
    title: 'Invite',
    body: form,
    actions: [{ label: 'Cancel', value: undefined }],
    onOpen: (dialog, close) => {
      const submit = h('button', { type: 'submit', form: form.id, class: 'button primary', text: 'Make invite' });
      dialog.querySelector('.dialog-foot')?.append(submit);
      form.addEventListener('submit', async (event) => {
        event.preventDefault();
        if (submit.disabled) return;
        submit.disabled = true;
        error.textContent = '';
        try {
          close(await make({ label: label.value.trim(), uses: uses.valueAsNumber, expires_in: Number(life.value) }));
        } catch (cause) {
          error.textContent = cause.message;
          submit.disabled = false;
        }
      });
    },
  });
}

/** @param {string} text @param {HTMLInputElement|HTMLSelectElement} input */
function field(text, input) {
  return h('div', {}, h('label', { for: input.id, text }), input);
}

/** Shows the token of an invite, which nobody can show again. @param {RelayNewInvite} made */
export function showInvite({ token, url, invite }) {
  const count = invite.uses === 1 ? 'one new connector' : `${invite.uses?.toLocaleString()} new connectors`;
  return showToken({
    title: invite.label ? `Invite for ${invite.label}` : 'Invite',
    text: `This token allows ${count} until ${time(invite.expires ?? '')}. It is shown only once.`,
    token,
    more: [h('p', { text: 'Over there:' }), h('pre', { class: 'quote' }, h('code', { text: `postern server add ${url} --enroll-token TOKEN` }))],
  });
}

/**
 * Shows a token, with a button that copies it.
 * @param {{title: string, text: string, token: string, more?: HTMLElement[]}} options
 */
export function showToken({ title, text, token, more = [] }) {
  const copy = h('button', { type: 'button', class: 'button', text: 'Copy token' });
  copy.addEventListener('click', async () => {
    copy.textContent = await copyText(token) ? 'Copied' : 'Not copied: select it';
  });
  const body = [h('p', { text }), h('p', { class: 'token-line' }, h('code', { class: 'token', text: token }), copy), ...more];
  return openDialog({ title, body, actions: [{ label: 'Done', value: undefined }], harmless: true });
}
