// The ⋯ menu of an application.
import { addressesOf, siteLink } from '../core/links.js';
import { protocolNamed } from '../core/protocols.js';
import { areCredentialsRefused, isResetUseful } from './reset.js';

/** @typedef {import('../../common/menu.js').MenuItem} MenuItem */

/**
 * @param {App} app @param {string} status @param {import('./actions.js').Actions} actions
 * @param {(what: 'requests'|'statements') => void} openLog
 * @returns {MenuItem[]}
 */
export function menuOf(app, status, actions, openLog) {
  const groups = [troubleItems(app, status, actions), shareItems(app, actions), logItems(app, openLog), [
    { label: app.expires ? 'Extend …' : 'Set end time …', icon: 'history', run: () => actions.extend(app) },
    { label: 'Edit …', icon: 'edit', run: () => actions.edit(app) },
    { label: 'Duplicate …', icon: 'duplicate', run: () => actions.duplicate(app) },
  ], [{ label: 'Delete …', icon: 'trash', run: () => actions.remove(app) }]];
  return groups.filter((items) => items.length > 0).flatMap((items, i) => (i > 0 ? [null, ...items] : items));
}

function troubleItems(app, status, actions) {
  const server = app.connection?.server;
  return [
    status === 'failed' && areCredentialsRefused(app.connection) && { label: 'Retry now', icon: 'refresh', run: () => actions.connect(app) },
    status === 'failed' && server && isResetUseful(app.connection) && { label: 'Reset identity …', icon: 'key', run: () => actions.resetServer(server, app) },
    status === 'failed' && { label: 'Dismiss', icon: 'close', run: () => actions.disconnect(app) },
  ].filter((item) => item !== false && item !== undefined && item !== null && item !== '');
}

function shareItems(app, actions) {
  const addresses = addressesOf(app);
  const local = siteLink(app.connection?.local_url);
  const isInvisible = app.connection?.exposed?.invisible ?? app.invisible;
  return [
    addresses?.hasCode && { label: 'Copy address without the code', icon: 'link', run: () => actions.copy('Address', addresses.site.text) },
    local?.href && { label: 'Open directly (without the tunnel)', icon: 'open', run: () => actions.openLocal(local.href) },
    local?.href && { label: 'Copy local address', icon: 'copy', run: () => actions.copy('Local address', local.text) },
    isInvisible && protocolNamed(app.protocol).visited === 'browser' && { label: 'New code …', icon: 'key', run: () => actions.newCode(app) },
    isInvisible && addresses && { label: 'Sign out all visitors …', icon: 'close', run: () => actions.signOut(app) },
  ].filter((item) => item && true);
}

function logItems(app, openLog) {
  const { database, visited } = protocolNamed(app.connection?.exposed?.protocol ?? app.protocol);
  if (visited !== 'browser') return [];
  if (database) return [{ label: 'Statements', icon: 'messages', run: () => openLog('statements') }];
  return [{ label: 'Requests', icon: 'messages', run: () => openLog('requests') }];
}
