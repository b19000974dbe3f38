// A changed host key: shows both fingerprints and asks whether to trust the new one.
import { h } from '../../common/dom.js';
import { openDialog } from '../../common/dialog.js';

/** Whether an answer holds everything the dialog needs. @param {any} key @returns {key is HostKey} */
export function isHostKey(key) {
  return ['server', 'known', 'offered'].every((part) => typeof key?.[part] === 'string' && key[part] !== '');
}

/** Shown where both fingerprints are shown too. */
export const HOST_KEY_CHANGED = 'The server shows another key than before. No password was sent.';

/** The two fingerprints. @param {HostKey} key */
export function fingerprints(key) {
  return h('dl', { class: 'fingerprints' },
    h('div', {}, h('dt', { text: 'Known' }), h('dd', { class: 'mono', text: key.known })),
    h('div', {}, h('dt', { text: 'Now shown' }), h('dd', { class: 'mono', text: key.offered })));
}

/** Asks whether the new key is to be trusted. @param {HostKey} key @returns {Promise<boolean>} */
export async function confirmHostKey(key) {
  const answer = await openDialog({
    title: 'Changed host key',
    body: [
      h('p', { text: `The tunnel server ${key.server} shows another key than before. That happens when it was set up anew, and when somebody stands between you and it.` }),
      fingerprints(key),
      h('p', { text: 'Compare the new fingerprint with the one that the server’s operator tells you, not through this connection.' }),
    ],
    actions: [{ label: 'Cancel', value: false }, { label: 'Trust the new key', value: true, kind: 'danger' }],
    harmless: true,
  });
  return answer === true;
}
