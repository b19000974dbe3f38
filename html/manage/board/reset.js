// Resetting a remote server: explains the consequences and asks for confirmation.
import { h } from '../../common/dom.js';
import { openDialog } from '../../common/dialog.js';
import { hostOf } from '../core/links.js';

/** Failure classes that a reset may fix. */
const REFUSALS = ['wrong-password', 'forbidden', 'quick-setup'];

/** Whether a reset may fix what made a connection fail. @param {Partial<Connection>|undefined} connection */
export function isResetUseful(connection) {
  return REFUSALS.includes(connection?.error_class ?? '') && hostOf(connection?.server) !== '';
}

/** Whether the server said that it does not know this computer. @param {Partial<Connection>|undefined} connection */
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
    title: `Start afresh with ${host}`,
    body: [
      h('p', { text: `postern forgets the name and password by which ${host} knows this computer, and introduces itself as a new one with the next connect.` }),
      h('ul', { class: 'consequences' }, consequences(live).map((text) => h('li', { text }))),
    ],
    actions: [{ label: 'Cancel', value: false }, { label: 'Start afresh', value: true, kind: 'danger' }],
    harmless: true,
  });
  return answer === true;
}

function consequences(live) {
  return [
    'Lost: the addresses of the sites that were shared through it. They get new names and ports; addresses that you gave to others stop working.',
    'Kept: the applications and their settings, other servers, and the server’s trusted host key.',
    'A server that asks for an enrolment token asks for it again.',
    live.length > 0 && `Disconnected now, and connected again at once: ${live.join(', ')}.`,
  ].filter(Boolean);
}
