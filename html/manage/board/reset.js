// Resetting a remote server: explains the consequences and asks for confirmation.
import { h } from '../../common/dom.js';
import { openDialog } from '../../common/dialog.js';
import { hostOf } from '../core/links.js';

/** Failure classes that a reset may fix. */
const REFUSALS = ['wrong-password', 'forbidden', 'quick-setup'];

/** True if a reset may fix the error of a connection. @param {Partial<ConnectResult>|undefined} connection */
export function isResetUseful(connection) {
  return REFUSALS.includes(connection?.error_class ?? '') && hostOf(connection?.server) !== '';
}

/** True if the server said that it does not know this computer. @param {Partial<ConnectResult>|undefined} connection */
export function areCredentialsRefused(connection) {
  return connection?.error_class === 'wrong-password' && isResetUseful(connection);
}

/**
 * Asks for confirmation. @param {string} server its origin @param {string[]} live names of applications that are disconnected for it
 * @returns {Promise<boolean>}
 */
export async function confirmReset(server, live) {
  const host = hostOf(server);
  const answer = await openDialog({
    title: `Reset the identity for ${host}`,
    body: [
      h('p', { text: `postern deletes the name and password that identify this computer at ${host}. The server will treat this computer as new.` }),
      h('ul', { class: 'consequences' }, consequences(live).map((text) => h('li', { text }))),
    ],
    actions: [{ label: 'Cancel', value: false }, { label: 'Reset identity', value: true, kind: 'danger' }],
    harmless: true,
  });
  return answer === true;
}

function consequences(live) {
  return [
    'Lost: the addresses of sites shared through it. They get new names and ports; links you sent stop working.',
    'Kept: the applications and their settings, other servers, and the server’s trusted host key.',
    'The server may ask for an enrolment token again.',
    live.length > 0 && `Reconnected at once: ${live.join(', ')}.`,
  ].filter(Boolean);
}
