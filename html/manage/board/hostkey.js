// A changed host key: shows both fingerprints and asks whether to trust the new one.
import { h } from '../../common/dom.js';
import { openDialog } from '../../common/dialog.js';

/** True if an answer has everything the dialog needs. @param {any} key @returns {key is HostKey} */
export function isHostKey(key) {
  return ['server', 'known', 'offered'].every((part) => typeof key?.[part] === 'string' && key[part] !== '');
}

/** Shown where both fingerprints are shown too. */
export const HOST_KEY_CHANGED = 'The server’s key has changed. No password was sent.';

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
      h('p', { text: `The key of the tunnel server ${key.server} has changed. It was reinstalled, or somebody is intercepting the connection.` }),
      fingerprints(key),
      h('p', { text: 'Check the new fingerprint with the server’s operator, but not over this connection.' }),
    ],
    actions: [{ label: 'Cancel', value: false }, { label: 'Trust the new key', value: true, kind: 'danger' }],
    harmless: true,
  });
  return answer === true;
}
