/**
 * Accounts of the server and their privileges.
 * @module
 */

import { fill, focusedIn, h, icon, loadStyle, marked, queryAll } from '../../common/dom.js';
import { askRows } from '../ask.js';
import { withoutSecrets } from '../core/secrets.js';
import { copied, facts, highlighted, note, section, sqlText } from '../objects/parts.js';
import { ownGrantLines } from '../objects/privileges.js';
import { DataTable, rowButton } from './datatable.js';
import { frame, textOfRow } from './parts.js';

// No column that holds a password, or what it was made into, is asked for.
const MYSQL = `SELECT User AS user, Host AS host, plugin, account_locked = 'Y' AS locked, password_expired = 'Y' AS expired, password_last_changed AS since, authentication_string = '' AS bare, 0 AS role, Create_user_priv = 'Y' AND Grant_priv = 'Y' AS admin FROM mysql.user`;
const MARIADB = `SELECT u.User AS user, u.Host AS host, u.plugin AS plugin, COALESCE(JSON_VALUE(g.Priv, '$.account_locked'), 0) IN (1, 'true') AS locked, u.password_expired = 'Y' AS expired, NULL AS since, u.authentication_string IN ('', 'invalid') AND u.Password = '' AS bare, u.is_role = 'Y' AS role, u.Create_user_priv = 'Y' AND u.Grant_priv = 'Y' AS admin FROM mysql.user u JOIN mysql.global_priv g ON g.User = u.User AND g.Host = u.Host`;
const OLD_MARIADB = `SELECT User AS user, Host AS host, plugin, 0 AS locked, password_expired = 'Y' AS expired, NULL AS since, authentication_string = '' AND Password = '' AS bare, is_role = 'Y' AS role, Create_user_priv = 'Y' AND Grant_priv = 'Y' AS admin FROM mysql.user`;
const MEMBERS = {
  mysql: 'SELECT FROM_USER AS role, FROM_HOST AS role_host, TO_USER AS user, TO_HOST AS host FROM mysql.role_edges',
  mariadb: `SELECT Role AS role, '' AS role_host, User AS user, Host AS host FROM mysql.roles_mapping`,
};
/** Ways of signing in by a password; others need none to be kept. */
const BY_PASSWORD = /^(?:|mysql_native_password|caching_sha2_password|sha256_password|mysql_old_password)$/;

/** @param {import('./parts.js').Deps} deps @returns {import('./parts.js').Page} */
export function accountsPage(deps) {
  const { api } = deps;
  const detail = h('div', { class: 'server-detail', role: 'region', tabindex: '0', 'aria-label': 'Privileges', 'aria-live': 'polite' });
  let members = [];
  /** @type {any[]} */ let accounts = [];
  const work = () => ({ ...deps, accounts, admins: accounts.filter(({ admin, role, state }) => admin && !role && !state.includes('locked')).length, changed: (name) => changed(name) });
  const show = (row) => showGrants(detail, row, members, deps, !deps.readOnly() ? work() : null);
  /** Shows what was changed. @param {string} [made] name of the account that is new */
  const changed = async (made) => {
    const focused = focusedIn(detail)?.textContent;
    detail.ariaBusy = 'true';
    await page.refresh();
    const row = accounts.find(({ name }) => name.toLowerCase() === (made ?? detail.dataset.of ?? '').toLowerCase());
    if (row) await show(row);
    else {
      delete detail.dataset.of;
      fill(detail, h('p', { class: 'dim', text: 'Choose an account to see its privileges.' }));
    }
    detail.ariaBusy = null;
    if (document.activeElement === document.body || made) (queryAll(detail, 'button').find(({ textContent }) => focused && textContent === focused) ?? detail).focus();
  };
  const table = new DataTable({
    label: 'Accounts', unit: 'account', sort: { key: 'name', down: false },
    columns: [
      { key: 'name', title: 'Account', cell: (row) => rowButton('grants', row, '', () => show(row), row.name) }, { key: 'kind', title: 'Kind' },
      { key: 'state', title: 'State', cell: ({ state }) => h('span', { class: state ? 'warn-text' : null, text: state }) }, { key: 'plugin', title: 'Plugin' }, { key: 'since', title: 'Password set' },
    ],
  });
  const load = async (signal) => {
    try {
      const [rows, edges] = await Promise.all([list(deps, signal), askRows(api, { sql: MEMBERS[deps.mariadb() ? 'mariadb' : 'mysql'], signal }).catch(() => [])]);
      members = edges;
      const [me] = !deps.readOnly() ? await askRows(api, { sql: 'SELECT CURRENT_USER() AS name', signal }) : [];
      accounts = rows.map((row) => account(row, edges, deps.mariadb())).map((one) => ({ ...one, own: one.name === me?.name }));
      for (const one of tools) one.hidden = false;
      table.set(accounts);
      table.element.hidden = false;
      page.say();
      if (!detail.firstChild) fill(detail, h('p', { class: 'dim', text: 'Choose an account to see its privileges.' }));
    } catch (error) {
      if (signal.aborted) throw error;
      table.element.hidden = true;
      page.say(`Listing accounts needs SELECT on the tables of mysql, which this account does not have. The server says: ${error.message}`, 'Your own privileges are shown instead.');
      const lines = await ownGrantLines(api);
      fill(detail, h('h3', { text: 'Your account' }), grantsText(lines, deps));
    }
  };
  const tools = !deps.readOnly() ? [toolButton('New account …', async () => (await structure()).createAccount(work())), toolButton('New role …', async () => (await structure()).createRole(work()))] : [];
  for (const one of tools) one.hidden = true;
  const page = frame({ label: 'Accounts', table, load, tools, content: [detail] });
  page.element.classList.add('two');
  return page;
}

/** MariaDB before 10.4 has no table that says what is locked. */
function list({ api, mariadb }, signal) {
  if (!mariadb()) return askRows(api, { sql: MYSQL, signal });
  return askRows(api, { sql: MARIADB, signal }).catch((error) => {
    if (error.errno !== 1146 && error.errno !== 1054) throw error;
    return askRows(api, { sql: OLD_MARIADB, signal });
  });
}

function account(row, edges, mariadb) {
  const yes = (value) => Number(value) === 1;
  const { user, host } = row;
  // MySQL has no mark for a role: it is an account that cannot sign in, or that was granted to others.
  const looksLike = edges.some((edge) => edge.role === user && edge.role_host === host) || (yes(row.locked) && yes(row.expired) && yes(row.bare));
  const role = mariadb ? yes(row.role) : looksLike;
  const noPassword = yes(row.bare) && !role && BY_PASSWORD.test(row.plugin ?? '');
  const state = role ? '' : [yes(row.locked) && 'locked', yes(row.expired) && 'password expired', noPassword && 'no password'].filter(Boolean).join(', ');
  const name = host === '' ? user : `${user || '(anyone)'}@${host}`;
  const kind = role ? 'role' : 'account';
  return { id: name, user, host, name, kind, state, role, admin: yes(row.admin), locked: yes(row.locked), plugin: role ? '' : row.plugin, since: role ? '' : row.since ?? '', text: textOfRow(name, kind, state, row.plugin) };
}

/** A name as SQL has it. @param {string} name */
const quoted = (name) => (name === '' ? "''" : `\`${name.replaceAll('`', '``')}\``);
const fullName = ({ user, host }) => (host === '' ? quoted(user) : `${quoted(user)}@${quoted(host)}`);

const structure = async () => {
  const [module] = await Promise.all([import('../structure/accounts.js'), loadStyle(new URL('../asked.css', import.meta.url))]);
  return module;
};

/** @param {string} label @param {() => void} run */
const toolButton = (label, run) => h('button', { type: 'button', class: 'button', on: { click: run } }, icon('plus'), label);

/** Buttons that change an account. */
function actions(row, members, work) {
  const roles = work.accounts.filter((one) => members.some((edge) => edge.user === row.user && edge.host === row.host && edge.role === one.user && edge.role_host === one.host));
  const button = (label, act) => h('button', { type: 'button', class: 'button', text: label, on: { click: async () => act(await structure()) } });
  const mayRename = !(work.mariadb() && row.role);
  return h('div', { class: 'account-actions' },
    button('Grant …', (module) => module.grant(row, work)), button('Roles …', (module) => module.changeRoles(row, roles, work)),
    !row.role && button('Password …', (module) => module.changePassword(row, work)),
    !row.role && (row.locked ? button('Unlock', (module) => module.setState(row, 'unlock', work)) : button('Lock', (module) => module.setState(row, 'lock', work))),
    !row.role && button('Expire password', (module) => module.setState(row, 'expire', work)),
    mayRename && button('Rename …', (module) => module.renameAccount(row, work)), button('Drop …', (module) => module.dropAccount(row, work)));
}

/** The lines of SHOW GRANTS; those that grant something can be revoked. */
function revoking(lines, row, work, { notify }) {
  const list = h('ul', { class: 'account-grants', 'aria-label': 'Grants' });
  const text = lines.map((line) => `${withoutSecrets(line)};`).join('\n');
  const copy = h('button', { type: 'button', class: 'button', on: { click: () => copied(text, 'Grants', notify) } }, icon('copy'), 'Copy');
  structure().then(({ isRevocable, revoke }) => fill(list, lines.map((line) => {
    const shown = withoutSecrets(line);
    const button = isRevocable(line) && h('button', { type: 'button', class: 'button', 'aria-label': `Revoke: ${shown}`, on: { click: () => revoke(row, line, work) } }, 'Revoke …');
    return h('li', {}, h('code', {}, highlighted(shown)), button);
  })), (error) => fill(list, h('li', { text: error.message })));
  return section('Grants', undefined, h('div', { class: 'section-buttons' }, copy), list);
}

async function showGrants(detail, row, members, deps, work) {
  // An account that is shown stays in sight until it is told anew.
  if (detail.dataset.of !== row.name) fill(detail, h('h3', {}, marked(row.name)), h('p', { class: 'dim', text: 'Loading …' }));
  detail.dataset.of = row.name;
  const names = (list, user, host) => list.map((one) => (one[host] === '' ? one[user] : `${one[user]}@${one[host]}`)).join(', ');
  const is = (one, user, host) => one[user] === row.user && one[host] === row.host;
  let told;
  try {
    const rows = await askRows(deps.api, { sql: `SHOW GRANTS FOR ${fullName(row)}` });
    const lines = rows.map((one) => String(Object.values(one)[0]));
    told = work ? revoking(lines, row, work, deps) : grantsText(lines, deps);
  } catch (error) {
    told = note(error.message, 'bad');
  }
  if (detail.dataset.of !== row.name) return;
  fill(detail, h('h3', {}, marked(row.name)),
    facts([['Kind', row.kind], ['State', row.state], ['Roles', names(members.filter((one) => is(one, 'user', 'host')), 'role', 'role_host')], ['Granted to', names(members.filter((one) => is(one, 'role', 'role_host')), 'user', 'host')]]), work && actions(row, members, work), told);
}

/** The server's own lines; MariaDB puts what a password was made into among them. */
function grantsText(lines, { notify }) {
  return sqlText('Grants', lines.map((line) => `${withoutSecrets(line)};`).join('\n'), notify);
}
