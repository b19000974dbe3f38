/**
 * Accounts of the server and their privileges.
 * @module
 */

import { fill, h } from '../../common/dom.js';
import { askRows } from '../ask.js';
import { withoutSecrets } from '../core/secrets.js';
import { facts, note, sqlText } from '../objects/parts.js';
import { ownGrantLines } from '../objects/privileges.js';
import { DataTable, rowButton } from './datatable.js';
import { frame, textOfRow } from './parts.js';

// No column that holds a password, or what it was made into, is asked for.
const MYSQL = `SELECT User AS user, Host AS host, plugin, account_locked = 'Y' AS locked, password_expired = 'Y' AS expired, password_last_changed AS since, authentication_string = '' AS bare, 0 AS role FROM mysql.user`;
const MARIADB = `SELECT u.User AS user, u.Host AS host, u.plugin AS plugin, COALESCE(JSON_VALUE(g.Priv, '$.account_locked'), 0) IN (1, 'true') AS locked, u.password_expired = 'Y' AS expired, NULL AS since, u.authentication_string IN ('', 'invalid') AND u.Password = '' AS bare, u.is_role = 'Y' AS role FROM mysql.user u JOIN mysql.global_priv g ON g.User = u.User AND g.Host = u.Host`;
const OLD_MARIADB = `SELECT User AS user, Host AS host, plugin, 0 AS locked, password_expired = 'Y' AS expired, NULL AS since, authentication_string = '' AND Password = '' AS bare, is_role = 'Y' AS role FROM mysql.user`;
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
  const show = (row) => showGrants(detail, row, members, deps);
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
      table.set(rows.map((row) => account(row, edges, deps.mariadb())));
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
  const page = frame({ label: 'Accounts', table, load, content: [detail] });
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
  return { id: name, user, host, name, kind, state, plugin: role ? '' : row.plugin, since: role ? '' : row.since ?? '', text: textOfRow(name, kind, state, row.plugin) };
}

/** A name as SQL has it. @param {string} name */
const quoted = (name) => (name === '' ? "''" : `\`${name.replaceAll('`', '``')}\``);
const fullName = ({ user, host }) => (host === '' ? quoted(user) : `${quoted(user)}@${quoted(host)}`);

async function showGrants(detail, row, members, deps) {
  detail.dataset.of = row.name;
  fill(detail, h('h3', { text: row.name }), h('p', { class: 'dim', text: 'Loading …' }));
  const names = (list, user, host) => list.map((one) => (one[host] === '' ? one[user] : `${one[user]}@${one[host]}`)).join(', ');
  const is = (one, user, host) => one[user] === row.user && one[host] === row.host;
  let told;
  try {
    const rows = await askRows(deps.api, { sql: `SHOW GRANTS FOR ${fullName(row)}` });
    told = grantsText(rows.map((one) => String(Object.values(one)[0])), deps);
  } catch (error) {
    told = note(error.message, 'bad');
  }
  if (detail.dataset.of !== row.name) return;
  fill(detail, h('h3', { text: row.name }),
    facts([['Kind', row.kind], ['State', row.state], ['Roles', names(members.filter((one) => is(one, 'user', 'host')), 'role', 'role_host')], ['Granted to', names(members.filter((one) => is(one, 'role', 'role_host')), 'user', 'host')]]), told);
}

/** The server's own lines; MariaDB puts what a password was made into among them. */
function grantsText(lines, { notify }) {
  return sqlText('Grants', lines.map((line) => `${withoutSecrets(line)};`).join('\n'), notify);
}
