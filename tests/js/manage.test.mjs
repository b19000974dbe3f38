import { opensAt, parseAddress, protocolOfPort } from '../../html/manage/core/address.js';
import { localText, rfc3339 } from '../../html/common/times.js';
import { distance, expiryOf } from '../../html/manage/core/expiry.js';
import { copyOf, defaults, isUsed, networksOf, problem, toBody } from '../../html/manage/core/fields.js';
import { Choice, formatGrant, parseGrant } from '../../html/manage/core/grants.js';
import { addressesOf, hostOf, isLocalhostName, openedLink, siteLink } from '../../html/manage/core/links.js';
import { countText, groupsOf, matches, sorted, summary, upDown } from '../../html/manage/core/listing.js';
import { PROTOCOLS, addressOf, protocolNamed } from '../../html/manage/core/protocols.js';
import { RESERVED, endOfSites, isSharedHere, nameFrom, siteNameProblem, siteOf } from '../../html/manage/core/site.js';
import { relayTroubles } from '../../html/manage/core/relays.js';
import { agoText, endOf, endText, extendedBy, isExpired, lengthText } from '../../html/manage/core/remaining.js';
import { accessBadges, effectiveSettings, failureClass, lacksPlugin, formatWait, healthError, isReconnecting, latencyText, stepText, visitorsText, writingText } from '../../html/manage/core/status.js';
import { Traffic } from '../../html/manage/core/traffic.js';
import { COLUMNS, KEPT, holds, joined, visitOf } from '../../html/manage/core/visits.js';
import { assert, test } from './shim.mjs';

test('only web addresses become links, only addresses are shown', () => {
  assert.equal(siteLink('https://a.example/x?y=1').href, 'https://a.example/x?y=1');
  assert.equal(siteLink('http://127.0.0.1:9/').host, '127.0.0.1');
  const { text, href, host } = siteLink('tcp://203.0.113.7:41022');
  assert.deepEqual([text, href, host], ['tcp://203.0.113.7:41022', null, '203.0.113.7']);
  const refused = ['', null, 5, {}, 'javascript:alert(1)', 'JaVaScRiPt:alert(1)', ' javascript:alert(1)', 'java\nscript:alert(1)', 'data:text/html,x', 'blob:http://a/b', 'file:///etc/passwd',
    'vbscript:x', 'ftp://a/', 'a.example', '//a.example', 'http://', 'http://a\u202eb/', 'https://bank.example@evil.example/', `https://a.example/${'x'.repeat(2048)}`];
  for (const text of refused) assert.equal(siteLink(text), null, String(text));
  assert.ok(isLocalhostName('x.localhost') && !isLocalhostName('localhost') && !isLocalhostName('a.localhost.example'));
  assert.deepEqual([hostOf('https://r.example:8443/'), hostOf('junk'), hostOf(null), hostOf('javascript:x')], ['r.example:8443', '', '', '']);
});

test('fields are checked as the server checks them', () => {
  const wrong = (field, value, protocol = 'http', insecure = false) => problem(field, value, { protocol, insecure }) !== '';
  for (const port of ['', '1', '65535', ' 80 ']) assert.ok(!wrong('port', port), port);
  for (const port of ['0', '65536', '-1', '8e1', '1.5', 'x', '999999']) assert.ok(wrong('port', port), port);
  assert.ok(wrong('port', '', 'tcp') && !wrong('port', '9', 'tcp'));
  for (const host of ['', '127.0.0.1', '::1', '[fe80::1]', 'db.lan', 'my_host', 'a-b.example.']) assert.ok(!wrong('ip', host), host);
  for (const host of ['a/b', 'a:80', '256.1.1.1', '1.2.3', 'a b', '-a', 'a..b', '::g', 'a/b', `${'a'.repeat(64)}.b`]) assert.ok(wrong('ip', host), host);
  for (const name of ['', 'abc', 'a-b', 'a'.repeat(63)]) assert.ok(!wrong('site_name', name), name);
  for (const name of ['a', 'ns', '-abc', 'abc-', 'a--b', 'Abc', 'a.b', 'a'.repeat(64), 'www', 'mail2']) assert.ok(wrong('site_name', name), name);
  for (const url of ['', 'https://r.example', 'http://localhost:9', 'http://127.0.0.1', 'http://[::1]:8/']) assert.ok(!wrong('server', url), url);
  for (const url of ['r.example', 'ftp://r.example', 'javascript:1', 'http://r.example']) assert.ok(wrong('server', url), url);
  assert.ok(!wrong('server', 'http://r.example', 'http', true));
  assert.ok(wrong('name', 'x'.repeat(101)) && !wrong('name', '💡'.repeat(100)) && wrong('name', 'a\u0007'));
  assert.ok(!wrong('db_pass', ' \n', 'mysql') && wrong('db_pass', 'a\0', 'mysql') && !wrong('db_pass', 'a\0', 'http'));
});

test('what is sent: own fields alone, numbers as numbers, secrets kept, set or cleared', () => {
  const values = { ...defaults('mysql'), name: ' shop ', port: '3306', db_user: 'reader', db_pass: '', site_name: '', username: 'u', auth_pass: 'x' };
  assert.deepEqual(toBody(values), { protocol: 'mysql', name: 'shop', port: 3306, db_user: 'reader', db_readonly: true, invisible: true, autoconnect: false });
  assert.equal(toBody({ ...values, db_pass: ' s ' }).db_pass, ' s ');
  assert.equal(toBody(values, new Set(['db_pass'])).db_pass, '');
  const before = { protocol: 'http', username: 'kept', has_auth_pass: true };
  assert.deepEqual(toBody({ protocol: 'http', ip: 'a', username: '' }, new Set(), before), { protocol: 'http', ip: 'a', username: 'kept' }, 'what is not shown stays');
  const moved = { protocol: 'http', server: 'https://a.example' };
  assert.deepEqual([toBody({ protocol: 'http', server: '' }, new Set(), moved).server, toBody(moved, new Set(), moved).server, 'server' in toBody({ protocol: 'http', server: '' }, new Set(), { protocol: 'http', server: null })], [null, 'https://a.example', false], 'it is moved to the default only when somebody chose that');
  const changed = toBody({ protocol: 'http', ip: 'a', db_pass: '' }, new Set(), { protocol: 'mysql', db_user: 'r', has_db_pass: true });
  assert.deepEqual([changed.db_user, changed.db_pass, 'invisible' in toBody({ protocol: 'ssh', invisible: true })], [null, '', false]);
});

test('an address is taken apart as people write it', () => {
  const none = { protocol: null, host: '', port: null, user: '', password: '', database: '', rest: '' };
  const read = {
    '3000': { port: 3000 }, ':3000': { port: 3000 }, 'db.lan:3306': { host: 'db.lan', port: 3306 }, 'localhost': { host: 'localhost' }, ' 10.0.0.1 ': { host: '10.0.0.1' },
    '[::1]:80': { host: '::1', port: 80 }, '::1': { host: '::1' }, '[::1]': { host: '::1' }, 'http://[::1]/': { protocol: 'http', host: '::1', port: 80 },
    'http://127.0.0.1:3000/': { protocol: 'http', host: '127.0.0.1', port: 3000 }, 'HTTPS://Intranet.lan/deep?x=1#y': { protocol: 'https', host: 'Intranet.lan', port: 443, rest: '/deep?x=1#y' },
    'localhost:5173/app': { host: 'localhost', port: 5173, rest: '/app' }, 'ws://h:1/live': { protocol: 'http', host: 'h', port: 1, rest: '/live' },
    'mysql://user@host/db': { protocol: 'mysql', host: 'host', port: 3306, user: 'user', database: 'db' },
    'mariadb://u%40x:p%3Aq@h:3307/my%20db?ssl=1': { protocol: 'mariadb', host: 'h', port: 3307, user: 'u@x', password: 'p:q', database: 'my db', rest: '?ssl=1' },
    'jdbc:mysql://h:3306/shop': { protocol: 'mysql', host: 'h', port: 3306, database: 'shop' }, 'ssh://me@h': { protocol: 'ssh', host: 'h', port: 22, user: 'me' },
    'me@192.168.1.5': { host: '192.168.1.5', user: 'me' }, 'postgres://u:p@h/db': { protocol: 'tcp', host: 'h', port: 5432, user: 'u', password: 'p', rest: '/db' },
    'tcp://h': { protocol: 'tcp', host: 'h' }, 'http://': { protocol: 'http', port: 80 }, 'a%zz@h': { host: 'h', user: 'a%zz' }, 'http://3000': { protocol: 'http', host: '3000', port: 80 },
  };
  for (const [text, expected] of Object.entries(read)) assert.deepEqual(parseAddress(text), { ...none, ...expected }, text);
  for (const text of ['gopher://h', '70000', ':0', 'h:99999', 'constructor://h']) assert.equal(typeof parseAddress(text), 'string', text);
  assert.deepEqual([22, 3306, 443, 3000, 5432].map(protocolOfPort), ['ssh', 'mysql', 'https', 'http', 'tcp']);
});

test('names that relays keep are refused, and a name is made as a relay makes one', () => {
  assert.ok(RESERVED.length > 10);
  assert.ok(siteNameProblem('www').includes('reserved') && siteNameProblem('autodiscover-2') === '' && siteNameProblem('ns1') !== '');
  const texts = { 'My Shop': 'my-shop', '  Käse & Brot!! ': 'k-se-brot', a: 'a-brave-otter-123', admin: 'brave-otter-123', api: 'api-brave-otter-123', '日本': 'brave-otter-123', 'http 10.0.0.1:80': 'brave-otter-123' };
  for (const [text, name] of Object.entries(texts)) assert.deepEqual(nameFrom(text, 'http 10.0.0.1:80'), { name, isDrawn: name.includes('otter') }, text);
});

test('the address to come is told as far as it is known', () => {
  const version = { server: 'https://relay.example', embedded: false };
  const app = { protocol: 'http', name: 'My Shop', ip: '', port: '3000' };
  const guess = endOfSites('', [], version);
  assert.deepEqual(siteOf(app, guess), { address: 'https://my-shop.relay.example/', text: 'or as the server decides' });
  const live = [{ connection: { server: 'https://relay.example', site_url: 'https://x.sites.example:8443/' } }];
  assert.deepEqual(siteOf({ ...app, site_name: 'shop' }, endOfSites('', live, version)), { address: 'https://shop.sites.example:8443/', text: 'where that name is free' });
  assert.equal(endOfSites('https://other.example', live, version).isSeen, false, 'another server’s tells nothing');
  assert.equal(endOfSites('', [{ connection: { server: 'https://relay.example', site_url: 'http://203.0.113.7:41022/' } }], version).isSeen, false, 'a port is no name');
  const here = endOfSites('', [], { server: 'http://localhost:8180', embedded: true });
  assert.equal(siteOf({ ...app, name: '' }, here).address, 'http://brave-otter-123.localhost:8180/', 'an address is nobody’s business');
  assert.deepEqual(siteOf({ ...app, protocol: 'ssh' }, guess), { address: '', text: 'It gets a public port at relay.example.' });
  assert.ok(siteOf(app, endOfSites('http://127.0.0.1:9', [], version)).text.includes('“my-shop”'));
  const saved = { ...app, id: '1', port: 3000, connection: { site_url: 'https://my-shop-2.relay.example/' } };
  assert.equal(siteOf({ ...app, port: '3000', server: '' }, guess, saved).address, 'https://my-shop-2.relay.example/', 'the address that is');
  assert.equal(siteOf({ ...app, port: '3000', site_name: 'wiki' }, guess, saved).address, 'https://wiki.relay.example/');
  assert.ok(siteOf(app, endOfSites('', [], {})).text.includes('Add a server'));
});

test('how long it is shared', () => {
  const now = Date.UTC(2030, 0, 31, 17, 0, 0, 500);
  assert.deepEqual([expiryOf('', '', now), expiryOf('3600', '', now), expiryOf('until', '', now)], [null, '2030-01-31T18:00:00Z', undefined]);
  assert.equal(expiryOf('until', localText(now), now), '2030-01-31T17:00:00Z');
  assert.equal(rfc3339(now), '2030-01-31T17:00:00Z');
  assert.deepEqual([distance(3_600_000), distance(-90_000), distance(7_500_000), distance(90_000_000), distance(10)], ['in 1 h', '2 min ago', 'in 2 h 5 min', 'in 1 d 1 h', 'in 1 min']);
});

test('grants are read and written as the database’s names are', () => {
  const texts = ['shop.*', 'shop.customers', 'shop.customers(id,name)', '`my shop`.`a``b`(`odd,name`,id)'];
  for (const text of texts) assert.equal(formatGrant(parseGrant(text)), text, text);
  assert.deepEqual(parseGrant(' shop.customers ( id , name ) '), { database: 'shop', table: 'customers', columns: ['id', 'name'] });
  for (const text of ['', 'shop', '*.*', 'shop.', '.t', 'shop.t()', 'shop.t(id,)', 'shop.t(id', 'a.b.c', 'shop.*(id)']) assert.equal(parseGrant(text), null, text);
  const choice = new Choice(['shop.*', 'crm.people(id)', 'junk']);
  assert.deepEqual([choice.isAll('shop'), choice.columns('shop', 'x'), [...choice.columns('crm', 'people')], choice.columns('crm', 'y')], [true, null, ['id'], undefined]);
  choice.setTable('crm', 'people', null);
  choice.setTable('crm', 'jobs', ['a', 'b']);
  choice.setAll('shop', false);
  assert.deepEqual(choice.grants, ['crm.people', 'crm.jobs(a,b)']);
  choice.setTable('crm', 'people', undefined);
  choice.setTable('crm', 'jobs', undefined);
  assert.deepEqual(choice.grants, []);
});

test('of how it is shared only what has changed is sent, and what a protocol has no use for goes with it', () => {
  const values = { ...defaults('mysql'), allow: networksOf('10.0.0.0/8, ::1\n'), expires: null, group: ' ', max_streams: '', audit: true, record_sql: false, guest: ['shop.*'], host_header: 'visitor' };
  const sent = (body) => Object.fromEntries(Object.entries(body).filter(([name]) => ['allow', 'expires', 'group', 'max_streams', 'audit', 'record_sql', 'guest', 'host_header'].includes(name)));
  assert.deepEqual(sent(toBody(values)), { allow: ['10.0.0.0/8', '::1'], audit: true, guest: ['shop.*'] });
  const before = { protocol: 'mysql', allow: ['10.0.0.0/8', '::1'], audit: true, guest: ['shop.*'], group: 'g', max_streams: 3, expires: '2030-01-31T18:00:00Z' };
  assert.deepEqual(sent(toBody(values, new Set(), before)), { expires: null, group: null, max_streams: null });
  assert.deepEqual(sent(toBody({ ...values, protocol: 'ssh' }, new Set(), before)), { expires: null, group: null, max_streams: null, audit: false, guest: [] });
  const wrong = (field, value, protocol = 'mysql') => problem(field, value, { protocol }) !== '';
  assert.ok(!wrong('allow', '10.0.0.1\n::/0') && wrong('allow', '10.0.0.0/33') && wrong('allow', 'x') && wrong('allow', '1.2.3.4/') && wrong('allow', '::/129'));
  assert.ok(!wrong('host_header', 'app.lan:8080', 'http') && !wrong('host_header', 'https://app.lan', 'http') && wrong('host_header', 'ftp://app.lan', 'http') && wrong('host_header', '', 'http') && wrong('host_header', 'a b', 'http') && wrong('host_header', 'a:0', 'http'));
  assert.ok(!wrong('max_streams', '') && wrong('max_streams', '0') && wrong('max_streams', '10001') && wrong('group', 'g'.repeat(61)));
});

test('defaults and the protocols they belong to', () => {
  assert.deepEqual(PROTOCOLS.map(({ name, port }) => [name, port]).sort(), [['http', 80], ['https', 443], ['mariadb', 3306], ['mysql', 3306], ['rdp', 3389], ['ssh', 22], ['tcp', null], ['telnet', 23], ['vnc', 5900]]);
  assert.deepEqual([defaults('mysql').invisible, defaults('mysql').db_readonly, defaults('http').invisible], [true, true, false]);
  assert.ok(isUsed('db_user', 'mariadb') && !isUsed('db_user', 'http') && !isUsed('invisible', 'ssh') && isUsed('invisible', 'https'));
  assert.equal(protocolNamed('<b>').name, 'tcp');
  assert.deepEqual([addressOf({ ip: '::1', port: 1 }), addressOf({ ip: 'a', port: 2 })], ['[::1]:1', 'a:2']);
  const copy = copyOf({ id: '1', name: 'x'.repeat(100), site_name: 'taken', has_db_pass: true, autoconnect: true, ip: 'a' });
  assert.deepEqual([copy.id, copy.site_name, copy.has_db_pass, copy.autoconnect, copy.ip, [...copy.name].length], [undefined, undefined, false, false, 'a', 100]);
});

test('search, order and summary', () => {
  const apps = [{ id: 'b', name: 'db 10', conn_status: 'idle', protocol: 'mysql', port: 3306 }, { id: 'a', name: 'DB 9', conn_status: 'failed', protocol: 'http', port: 80, connection: { site_url: 'https://wiki.example/' } },
    { id: 'c', name: 'x', conn_status: 'connected', protocol: 'ssh', last_connected_at: '2026-01-01T00:00:00Z' }];
  const ids = (list) => list.map(({ id }) => id).join('');
  assert.deepEqual([ids(sorted(apps, 'name')), ids(sorted(apps, 'status')), ids(sorted(apps, 'recent'))], ['abc', 'acb', 'cab']);
  assert.deepEqual(apps.map((app) => matches(app, 'db 33')), [true, false, false]);
  assert.ok(matches(apps[1], 'WIKI failed') && matches(apps[0], ''));
  assert.equal(summary(apps), '1 connected · 1 failed');
});

test('states in words', () => {
  const server = 'https://relay.example';
  assert.equal(stepText({ step: 1, step_name: 'quick-setup', server, attempt: 2 }), 'asking relay.example for an address (attempt 2 of 5)');
  assert.deepEqual([stepText(undefined), stepText({ step: 1, server, attempt: 1 }), stepText({ step: 3, server }), stepText({ step: 8, server })],
    ['starting', 'asking relay.example for an address', 'opening the tunnel to relay.example', 'the tunnel to relay.example is lost; reconnecting']);
  assert.equal(stepText({ step: 1, step_name: 'web client' }), 'starting the web client of the database');
  assert.deepEqual([isReconnecting({ step: 3 }), isReconnecting({ step: 8 }), isReconnecting({ step: 1, reconnects: 2 }), isReconnecting(undefined)], [false, true, true, false]);
  assert.deepEqual([null, undefined, 0, 0.02, 0.06, 23].map(latencyText), ['–', '–', '–', '< 0.1 ms', '0.1 ms', '23 ms'], 'L12: no figure is a dash');
  assert.deepEqual([formatWait(3001), formatWait(0), formatWait(-5), formatWait(125_000)], ['4 s', '0 s', '0 s', '2 min 5 s']);
  assert.equal(failureClass('port-held').label, 'Port in use at the relay');
  assert.equal(failureClass('constructor').label, 'constructor');
  assert.deepEqual([failureClass(''), failureClass(null), failureClass(7)], [null, null, null]);
  const labels = (app) => accessBadges(app, protocolNamed(app.protocol)).map(({ label }) => label);
  assert.deepEqual(labels({ protocol: 'mysql', invisible: true, db_readonly: true }), ['Invisible', 'Read-Only']);
  assert.deepEqual(labels({ protocol: 'mariadb', invisible: false, db_readonly: false }), ['Public', 'Read-Write']);
  assert.deepEqual(labels({ protocol: 'https' }), ['Public', 'Certificate not verified']);
  assert.deepEqual(labels({ protocol: 'ssh' }), ['Public port']);
  const willBe = (app) => accessBadges(app, protocolNamed(app.protocol), { inForce: false }).map(({ label, kind }) => `${label} (${kind})`);
  assert.deepEqual(willBe({ protocol: 'mysql', invisible: true, db_readonly: false }), ['Will be invisible (note)', 'Will be read-write (note)']);
  assert.deepEqual([...willBe({ protocol: 'http' }), ...willBe({ protocol: 'ssh' })], ['Will be public (note)', 'Will be a public port (note)']);
  const here = (app) => accessBadges(app, protocolNamed(app.protocol), { isHere: true }).map(({ label }) => label);
  assert.deepEqual(here({ protocol: 'http' }), ['This computer only']);
  assert.deepEqual(here({ protocol: 'ssh' }), ['This computer only']);
  assert.deepEqual(here({ protocol: 'http', invisible: true }), ['Invisible']);
  assert.equal(failureClass('plugin', 'plugin error: cannot connect').label, 'Database error');
  assert.equal(failureClass('plugin', "unsupported protocol 'mysql'").label, 'Database plugin');
  assert.equal(lacksPlugin({ error_class: 'plugin', error: "unsupported protocol 'mysql'" }), true);
  assert.equal(lacksPlugin({ error_class: 'plugin', error: 'cannot connect to 127.0.0.1:3306' }), false);
});

test('who is reached is told by the address of the site', () => {
  const version = { server: 'http://127.0.0.1:8180', embedded: false };
  const at = (site_url, server = 'http://127.0.0.1:8180') => isSharedHere({ conn_status: 'connected', connection: { site_url, server } }, version);
  for (const site of ['http://shop.localhost:8180/', 'http://localhost:1/', 'tcp://127.0.0.9:22', 'tcp://[::1]:22']) assert.equal(at(site, 'https://relay.example'), true, site);
  for (const site of ['https://shop.relay.example/', 'tcp://relay.example:20001', 'http://notlocalhost/', 'http://127.0.0.1.example/']) assert.equal(at(site), false, site);
  const own = { ...version, embedded: true };
  assert.deepEqual([isSharedHere({}, own), isSharedHere({ server: 'https://relay.example' }, own), isSharedHere({}, version), isSharedHere({}, {})], [true, false, false, false], 'before it has an address');
});

test('of a connection what is in force is shown, of the others what would be', () => {
  const exposed = { target: 'a:1', protocol: 'mysql', invisible: false, db_readonly: false };
  const saved = { protocol: 'http', ip: 'b', port: 2, invisible: true, db_readonly: true };
  assert.deepEqual(effectiveSettings({ ...saved, connection: { exposed } }), { ...exposed, inForce: true });
  for (const connection of [undefined, { exposed: null }]) {
    assert.deepEqual(effectiveSettings({ ...saved, connection }), { protocol: 'http', target: 'b:2', invisible: true, db_readonly: true, allow: undefined, guest: undefined, inForce: false });
  }
  const failing = { health: { state: 'failing', error: 'a:1 refuses connections' } };
  assert.equal(healthError({ conn_status: 'connected', connection: failing }), 'a:1 refuses connections');
  const hinted = { health: { state: 'failing', error: 'a:1 answers 403', hint: 'set its Host' } };
  assert.equal(healthError({ conn_status: 'connected', connection: hinted }), 'a:1 answers 403: set its Host');
  assert.deepEqual([healthError({ conn_status: 'connecting', connection: failing }), healthError({ conn_status: 'connected', connection: { health: null } }), healthError({})], ['', '', '']);
  assert.equal(summary([{ conn_status: 'connected', connection: failing }, { conn_status: 'connected' }]), '2 connected · 1 not answering');
});

test('traffic is the difference of counters; a new tunnel begins anew', () => {
  const traffic = new Traffic();
  traffic.add(0, 0, 0);
  assert.equal(traffic.current, null, 'L12: there is no rate before there are two samples');
  traffic.add(1000, 5000, 5000);
  assert.deepEqual(traffic.current, { in: 200, out: 1000 });
  traffic.add(1000, 5000, 5500);
  assert.equal(traffic.rates.length, 1, 'too near to be a sample');
  traffic.add(10, 10, 10_000);
  assert.equal(traffic.rates.length, 1, 'counters that went back are no rate');
  traffic.add(NaN, undefined, 20_000);
  for (let i = 1; i <= 100; i += 1) traffic.add(10 + i, 10, 20_000 + i * 5000);
  assert.equal(traffic.rates.length, 60);
  assert.ok(!/NaN|Infinity/.test(traffic.path(120, 20)) && new Traffic().path(120, 20) === 'M0 19H120');
});

test('an address is shown as people write it, and shared with its code', () => {
  const shown = (site_url, more = {}) => addressesOf({ protocol: 'http', connection: { site_url }, ...more }).shown;
  assert.deepEqual([shown('http://a.example/'), shown('http://a.example:80/x?y=1'), shown('http://a.example:8080/'), shown('https://a.example:443/')],
    ['a.example', 'a.example/x?y=1', 'a.example:8080', 'https://a.example']);
  const port = (protocol, username, at = 20001) => shown(`tcp://a.example:${at}`, { protocol, username });
  assert.deepEqual([port('ssh', 'me'), port('ssh', null), port('ssh', 'me', 22), port('tcp'), port('telnet'), port('rdp')],
    ['ssh -p 20001 me@a.example', 'ssh -p 20001 a.example', 'ssh me@a.example', 'a.example:20001', 'telnet a.example 20001', 'a.example:20001']);
  for (const odd of ['-oProxyCommand=x', 'a b', '$(x)', ';x', 'ž']) assert.equal(port('ssh', odd), 'ssh -p 20001 a.example', odd);
  for (const odd of ['$(reboot)', '`x`', 'a;b', '-oProxyCommand=x', "a'b", 'a&b']) assert.ok(!shown(`tcp://${odd}:22000`, { protocol: 'ssh' }).startsWith('ssh'), `no command of ${odd}`);
  assert.equal(shown('tcp://[2001:db8::1]:22000', { protocol: 'ssh' }), 'ssh -p 22000 2001:db8::1');
  const hidden = { protocol: 'http', connection: { site_url: 'http://a.example/', auth_url: 'http://a.example/.postern/auth?code=1' } };
  const { shared, own, hasCode, shown: plain } = addressesOf(hidden);
  assert.deepEqual([shared, own, hasCode, plain], ['http://a.example/.postern/auth?code=1', 'http://a.example/.postern/auth?code=1', true, 'a.example'], 'M1: the owner has the code');
  assert.equal(addressesOf({ protocol: 'tcp', connection: { site_url: 'tcp://a.example:9' } }).shared, 'a.example:9');
  assert.equal(addressesOf({ protocol: 'http', connection: { site_url: 'javascript:alert(1)', auth_url: 'https://a.example/' } }), null);
  assert.equal(openedLink(hidden).text, 'http://a.example/.postern/auth?code=1');
  const at = (connection) => addressesOf({ protocol: 'http', connection: { ...connection, exposed: { path: '/b?c=1' } } });
  assert.deepEqual([at({ site_url: 'http://a.example/' }).shared, at(hidden.connection).shared, at(hidden.connection).shown],
    ['http://a.example/b?c=1', 'http://a.example/.postern/auth?code=1&next=%2Fb%3Fc%3D1', 'a.example/b?c=1'], 'a path is opened with a code and without');
  assert.deepEqual(['/x', '//x y', '/ä', '/', ''].map(opensAt), ['/x', '/x%20y', '/%C3%A4', '', '']);
  assert.equal(openedLink({ connection: { site_url: 'http://a.example/', auth_url: 'https://auth.example/auth?code=1' } }).text, 'http://a.example/', 'a door elsewhere is not the site');
});

test('an end is counted down, is over, and is moved from the later of now and itself', () => {
  assert.deepEqual([lengthText(500), lengthText(59_000), lengthText(52 * 60_000), lengthText(65 * 60_000), lengthText(3_600_000), lengthText(76 * 3_600_000)], ['1 s', '59 s', '52 min', '1 h 5 min', '1 h', '3 d 4 h']);
  const now = Date.parse('2030-01-01T12:00:00Z');
  const saved = (expires) => ({ expires });
  const live = (expires, exposed) => ({ expires, connection: { exposed: { expires: exposed } } });
  assert.equal(endOf(saved(null), now), null);
  assert.equal(endOf(live('2030-01-01T13:00:00Z', null), now), null, 'what is in force counts, not what was saved');
  assert.equal(endText(live(null, '2030-01-01T12:52:00Z'), now), 'Ends in 52 min');
  assert.equal(endText(live(null, '2030-01-01T12:52:00Z'), now, true), '52 min');
  assert.deepEqual([isExpired(saved('2030-01-01T11:00:00Z'), now), isExpired(live(null, '2030-01-01T11:59:59Z'), now), isExpired(saved('junk'), now)], [true, false, false]);
  assert.equal(endText(saved('2030-01-01T11:00:00Z'), now), 'Expired 1 h ago');
  assert.equal(extendedBy(saved('2030-01-01T11:00:00Z'), 3_600_000, now), '2030-01-01T13:00:00Z');
  assert.equal(extendedBy(live(null, '2030-01-01T12:30:00Z'), 3_600_000, now), '2030-01-01T13:30:00Z');
  assert.deepEqual([agoText(null, now), agoText('2030-01-01T11:58:00Z', now), agoText('2030-01-01T12:00:01Z', now)], ['', '2 min ago', 'just now']);
});

test('visitors and what they can do are said in words', () => {
  const now = Date.parse('2030-01-01T12:00:00Z');
  const last_at = '2030-01-01T11:58:00Z';
  assert.equal(visitorsText({ now: 3, last_at }, now), '3 visitors, last 2 min ago');
  assert.deepEqual([visitorsText({ now: 1, last_at }, now), visitorsText({ now: 0, last_at }, now), visitorsText({ now: 0, last_at: null }, now), visitorsText(null, now)],
    ['1 visitor, last 2 min ago', 'no visitor now, last 2 min ago', 'no visitor yet', '']);
  assert.deepEqual([6, 1, 0].map((open) => visitorsText({ counts: 'connections', now: open, last_at }, now)), ['6 connections, last 2 min ago', '1 connection, last 2 min ago', 'no connection now, last 2 min ago']);
  const mysql = protocolNamed('mysql');
  assert.equal(writingText({ db_readonly: false, inForce: true }, mysql), 'visitors can change data');
  assert.deepEqual([writingText({ db_readonly: true, inForce: true }, mysql), writingText({ db_readonly: false, guest: ['a.*'], inForce: true }, mysql), writingText({ inForce: true }, protocolNamed('http'))], ['', '', '']);
  const labels = (more, how) => accessBadges({ protocol: 'mysql', db_readonly: true, ...more }, mysql, how).map(({ label, kind }) => `${label} (${kind})`);
  assert.deepEqual(labels({ allow: ['203.0.113.0/24'], guest: ['a.*'] }), ['Only from 203.0.113.0/24 (closed)', 'Read-Only (read-only)', 'Guest account (closed)']);
  assert.deepEqual(labels({ guest: ['a.*'], guest_tables: 2, guest_views: 0 }).at(-1), 'Guest account (closed)');
  assert.deepEqual(labels({ guest: ['a.*'], guest_tables: 3, guest_views: 1 }).at(-1), 'Guest account: 3 tables, 1 view (closed)');
  assert.deepEqual(labels({ allow: ['a', 'b'], invisible: true }, { inForce: false }), ['Will be invisible (note)', 'Will be only from 2 networks (note)', 'Will be read-only (note)']);
});

test('what one server does to many is one trouble, and what is an application’s own is none', () => {
  const app = (id, conn_status, connection) => ({ id, name: id, conn_status, connection: { server: 'https://r.example', ...connection } });
  const away = { error: 'connection refused', error_class: 'network' };
  const apps = [app('a', 'failed', { ...away, next_retry_ms: 9000 }), app('b', 'connecting', { error: 'no answer', error_class: 'timeout', next_retry_ms: 4000 }), app('c', 'connected', {}),
    app('d', 'failed', { error: 'name taken', error_class: 'quick-setup' }), app('e', 'failed', { error: 'other', error_class: 'quick-setup' }), app('f', 'failed', { error: 'x', error_class: 'plugin' }), app('g', 'failed', { error: 'x', error_class: 'plugin' }),
    app('h', 'failed', { ...away, server: 'https://other.example' })];
  const troubles = relayTroubles(apps);
  assert.deepEqual([...troubles.keys()], ['a', 'b']);
  const { host, connection, apps: together } = troubles.get('a');
  assert.deepEqual([host, connection.next_retry_ms, together.length], ['r.example', 4000, 2]);
});

test('groups, counts and the title', () => {
  const apps = [{ id: '1', group: 'b' }, { id: '2' }, { id: '3', group: ' a 10 ' }, { id: '4', group: 'a 9' }, { id: '5', group: 'b' }];
  assert.deepEqual(groupsOf(apps).map(({ name, apps: { length } }) => [name, length]), [['a 9', 1], ['a 10', 1], ['b', 2], ['', 1]]);
  assert.deepEqual(groupsOf([{ id: '1', group: null }]).map(({ name }) => name), ['']);
  assert.deepEqual([countText(60, 60), countText(3, 60)], ['60', '3 of 60'], 'L14: the count is honest');
  const failing = { conn_status: 'connected', connection: { health: { state: 'failing' } } };
  assert.equal(upDown([{ conn_status: 'connected' }, failing, { conn_status: 'failed' }, { conn_status: 'connecting', connection: { step: 1 } }, { conn_status: 'idle' }]), '● 1 up, 2 down');
  assert.deepEqual([upDown([{ conn_status: 'idle' }]), upDown([{ conn_status: 'failed' }]), upDown([{ conn_status: 'connected' }])], ['', '○ 1 down', '● 1 up']);
  const ends = [{ id: 'x', name: 'x' }, { id: 'y', name: 'y', expires: '2030-01-02T00:00:00Z' }, { id: 'z', name: 'z', expires: '2031-01-01T00:00:00Z', connection: { exposed: { expires: '2030-01-01T00:00:00Z' } } }];
  assert.deepEqual(sorted(ends, 'ends').map(({ id }) => id), ['z', 'y', 'x']);
  assert.ok(matches({ name: 'q', group: 'Production' }, 'production'));
});

test('what visitors did is bounded, filtered and told once', () => {
  const entry = (n, more = {}) => visitOf('requests', { n, time: '2030-01-01T00:00:00Z', source: '203.0.113.9', method: 'GET', path: `/p${n}`, status: 200, ms: 4.2, bytes: 2048, ...more });
  const first = entry(1, { status: 404 });
  assert.deepEqual([first.isBad, first.cells.slice(1)], [true, ['203.0.113.9', 'GET', '/p1', '404', '4.2 ms', '2 KiB']]);
  assert.equal(first.cells.length, COLUMNS.requests.length);
  assert.ok(holds(first, '404 get') && !holds(first, 'post'));
  const all = joined([], Array.from({ length: KEPT + 10 }, (_, i) => entry(i + 1)));
  assert.deepEqual([all.length, all[0].n, joined(all, [entry(KEPT + 10), entry(KEPT + 11)]).length, joined(all, [entry(KEPT + 10)]).at(-1).n], [KEPT, 11, KEPT, KEPT + 10]);
  const statement = visitOf('statements', { n: 1, time: 'x', visitor: 'v', kind: 'SELECT', verdict: 'ok', rows: null, ms: null, sql: null });
  assert.deepEqual(statement.cells, ['–', 'v', 'SELECT', '(not recorded)', 'ok', '–', '–']);
  assert.ok(visitOf('statements', { n: 2, sql: 'x'.repeat(3000) }).cells[3].length < 2100);
  assert.equal(visitOf('statements', { n: 3, sql: null, more: 7 }).cells[3], '(and 7 more)');
});
