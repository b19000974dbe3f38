// The fields of the form with their words.
import { Field, NetworksField, OpenSelect, Paragraph, SecretField, Switch } from './field.js';
import { ExpiryField } from './expiryfield.js';
import { GuestField } from './guest.js';
import { ServerField } from './serverfield.js';

/** Placeholders for the fields, by protocol. @type {Record<string, Record<string, string>>} */
export const EXAMPLES = {
  http: { ip: 'http://127.0.0.1:3000 or 3000', name: 'my site', site_name: 'my-site' },
  https: { ip: 'https://intranet.lan', name: 'intranet', site_name: 'intranet' },
  mysql: { ip: 'mysql://reader@127.0.0.1/shop', name: 'shop database', site_name: 'shop' },
  mariadb: { ip: 'mariadb://reader@127.0.0.1/shop', name: 'shop database', site_name: 'shop' },
  ssh: { ip: 'me@192.168.1.5', name: 'build box', username: 'me' },
  rdp: { ip: '192.168.1.5', name: 'office desktop', username: 'me' },
  vnc: { ip: '192.168.1.5:5901', name: 'lab screen', username: 'me' },
  telnet: { ip: '192.168.1.1', name: 'old switch', username: 'admin' },
  tcp: { ip: '127.0.0.1:5432', name: 'postgres' },
};

/** Choices for the Host header sent to the application. */
const HOSTS = [
  { value: 'visitor', label: 'visitor: the public address' },
  { value: 'target', label: 'target: the application’s own address' },
  { value: 'other', label: 'another …' },
];

/**
 * The fields in their order, filled in.
 * @param {Record<string, any>} from @param {import('./field.js').Context} context
 * @param {{objects: (of: object) => Promise<string[]>, guestChanged: () => void}} on
 * @returns {any[]} each an AnyField
 */
export function fieldsOf(from, context, { objects, guestChanged }) {
  const text = (name, label, help = '', more = {}) => new Field({ name, label, help, value: from[name], ...more });
  const onOff = (name, label, help, checked) => new Switch({ name, label, help, checked });
  return [
    text('ip', 'Address or URL', 'A URL, host:port, or a port alone for this computer.'),
    text('port', 'Port', '', { narrow: true }),
    text('name', 'Name', 'Empty: protocol and address.'),
    text('site_name', 'Site name', 'First part of the address (optional).'),
    text('username', 'User name'),
    text('db_user', 'Database user', 'Preferably an account with read access only.', { placeholder: 'root' }),
    new SecretField({ name: 'db_pass', label: 'Database password', isSaved: from.has_db_pass === true, help: 'Saved encrypted on this computer.' }),
    text('db_name', 'Database', 'Initial database (optional).'),
    onOff('invisible', 'Invisible', 'Visitors need a link or code from you before they see anything of the site.', from.invisible === true),
    onOff('db_readonly', 'Read-Only Mode', 'Statements that write are refused, whatever the account may do.', from.db_readonly !== false),
    onOff('autoconnect', 'Connect when postern starts', 'Also reconnects when the server is back.', from.autoconnect === true),
    new ExpiryField(from.expires),
    new ServerField(from.server, context),
    new GuestField(from.guest, objects, guestChanged),
    new NetworksField({ name: 'allow', label: 'Only from these networks', help: 'One per line; empty: from everywhere.', placeholder: '192.0.2.0/24', value: from.allow }),
    hostField(from.host_header ?? 'visitor'),
    text('path', 'Opens at', 'The page that links open; all of the site is shared.', { placeholder: '/admin' }),
    groupField(from.group, context.apps),
    text('max_streams', 'Maximum connections', 'Empty: no limit of its own.', { narrow: true }),
    new Paragraph({ name: 'note', label: 'Note', help: 'Shown on the card; visitors do not see it (optional).', value: from.note }),
    onOff('audit', 'Write an audit log', 'All requests, in ~/.postern/audit on this computer.', from.audit === true),
    onOff('record_sql', 'Record SQL texts', 'In the statement log and the audit log. Passwords are masked, but the texts may contain data.', from.record_sql === true),
    text('display_name', 'Display name', 'Shown on the sign-in page and in the relay’s list (optional).'),
    text('tunnel_port', 'Tunnel port', 'Usually set by the server.', { narrow: true, placeholder: '62888' }),
    new SecretField({ name: 'auth_pass', label: 'Password', isSaved: from.has_auth_pass === true, saved: 'A password is saved but not used: clear it.' }),
  ];
}

function hostField(value) {
  const isNamed = value !== 'visitor' && value !== 'target';
  return new OpenSelect({
    name: 'host_header', label: 'Host header sent to the application', value: isNamed ? 'other' : value, options: HOSTS,
    other: 'other', otherLabel: 'Host name', otherValue: isNamed ? value : '', placeholder: 'app.lan:8080',
    help: 'Use “target” for development servers and name-based virtual hosts.',
  });
}

/** Groups that there are already are offered. */
function groupField(value, apps) {
  const groups = [...new Set(apps.map(({ group }) => group).filter((group) => typeof group === 'string' && group !== ''))].sort();
  const field = new Field({ name: 'group', label: 'Group', help: 'Heading on this page (optional).', value, placeholder: 'work', list: 'form-groups' });
  const list = document.createElement('datalist');
  list.id = 'form-groups';
  list.append(...groups.map((group) => new Option(String(group), String(group))));
  field.root.append(list);
  return field;
}
