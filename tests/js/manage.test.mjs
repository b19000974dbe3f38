import { readFileSync } from 'node:fs';
import { parseAddress, protocolOfPort } from '../../html/manage/core/address.js';
import { distance, expiryOf, localText, rfc3339 } from '../../html/manage/core/expiry.js';
import { copyOf, defaults, isUsed, networksOf, problem, toBody } from '../../html/manage/core/fields.js';
import { Choice, formatGrant, parseGrant } from '../../html/manage/core/grants.js';
import { hostOf, isLocalhostName, siteLink } from '../../html/manage/core/links.js';
import { matches, sorted, summary } from '../../html/manage/core/listing.js';
import { PROTOCOLS, addressOf, protocolNamed } from '../../html/manage/core/protocols.js';
import { RESERVED, endOfSites, nameFrom, siteNameProblem, siteOf } from '../../html/manage/core/site.js';
import { encodeQr, qrPath } from '../../html/manage/core/qr.js';
import { capacity, totalCodewords, versionFor } from '../../html/manage/core/qrbits.js';
import { accessBadges, effectiveSettings, failureClass, formatWait, healthError, stepText } from '../../html/manage/core/status.js';
import { Traffic } from '../../html/manage/core/traffic.js';
import { VECTORS } from './qr.vectors.mjs';
import { assert, test } from './shim.mjs';

const rowsOf = (code) => Array.from({ length: code.size }, (_, y) => {
  const bits = Array.from({ length: code.size }, (_, x) => (code.isDark(x, y) ? '1' : '0')).join('');
  return BigInt(`0b${bits}`).toString(16).padStart(Math.ceil(code.size / 4), '0');
}).join(' ');

test('QR symbols are those of another encoder, module by module', () => {
  for (const { text, version, mask, rows } of VECTORS) {
    const code = encodeQr(text);
    assert.deepEqual([code.version, code.mask], [version, mask], text);
    assert.equal(rowsOf(code), rows, text);
  }
});

test('QR capacities are those of the standard', () => {
  // ISO/IEC 18004, tables 1 and 7: codewords in all, bytes at level M.
  const expected = { 1: [26, 14], 2: [44, 26], 6: [172, 106], 7: [196, 122], 9: [292, 180], 10: [346, 213], 14: [581, 362], 20: [1085, 666] };
  for (const [version, [total, bytes]] of Object.entries(expected)) {
    assert.deepEqual([totalCodewords(Number(version)), capacity(Number(version))], [total, bytes], `version ${version}`);
  }
  assert.deepEqual([versionFor(14), versionFor(15), versionFor(666), versionFor(667)], [1, 2, 20, null]);
  assert.equal(encodeQr('x'.repeat(667)), null);
});

test('a QR path covers the dark modules and no others', () => {
  const code = encodeQr('https://a.example/');
  const covered = new Set();
  for (const [, x, y, length] of qrPath(code, 4).matchAll(/M(\d+) (\d+)h(\d+)v1h-\d+z/g)) {
    for (let i = 0; i < Number(length); i += 1) covered.add(`${Number(x) + i - 4},${Number(y) - 4}`);
  }
  for (let y = 0; y < code.size; y += 1) for (let x = 0; x < code.size; x += 1) assert.equal(covered.has(`${x},${y}`), code.isDark(x, y), `${x},${y}`);
});

test('only web addresses become links, only addresses are shown', () => {
  assert.equal(siteLink('https://a.example/x?y=1').href, 'https://a.example/x?y=1');
  assert.equal(siteLink('http://127.0.0.1:9/').host, '127.0.0.1');
  assert.deepEqual(siteLink('tcp://203.0.113.7:41022'), { text: 'tcp://203.0.113.7:41022', href: null, host: '203.0.113.7' });
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
  for (const name of ['ab', '-abc', 'abc-', 'a--b', 'Abc', 'a.b', 'a'.repeat(64), 'www', 'mail2']) assert.ok(wrong('site_name', name), name);
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
  const changed = toBody({ protocol: 'http', ip: 'a', db_pass: '' }, new Set(), { protocol: 'mysql', db_user: 'r', has_db_pass: true });
  assert.deepEqual([changed.db_user, changed.db_pass, 'invisible' in toBody({ protocol: 'ssh', invisible: true })], [undefined, '', false]);
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

test('names that relays keep are those of the relay, and a name is made as it makes one', () => {
  const source = readFileSync(new URL('../../src/relay/names.rs', import.meta.url), 'utf8');
  const list = /const RESERVED: &\[&str\] = &\[(.*?)\];/s.exec(source)[1];
  assert.deepEqual(RESERVED, [...list.matchAll(/"([a-z-]+)"/g)].map(([, name]) => name));
  assert.ok(siteNameProblem('www').includes('reserved') && siteNameProblem('autodiscover-2') === '' && siteNameProblem('ns1') !== '');
  const texts = { 'My Shop': 'my-shop', '  Käse & Brot!! ': 'k-se-brot', 'http 127.0.0.1:3000': 'http-127-0-0-1-3000', ab: 'ab-http-80', API: 'api-http-80', '日本': 'http-80' };
  for (const [text, name] of Object.entries(texts)) assert.equal(nameFrom(text, 'http-80'), name, text);
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
  assert.equal(siteOf({ ...app, name: '' }, here).address, 'http://http-127-0-0-1-3000.localhost:8180/');
  assert.deepEqual(siteOf({ ...app, protocol: 'ssh' }, guess), { address: '', text: 'It gets a public port at relay.example.' });
  assert.ok(siteOf(app, endOfSites('', [], {})).text.includes('No server'));
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
  assert.ok(!wrong('host_header', 'app.lan:8080', 'http') && wrong('host_header', '', 'http') && wrong('host_header', 'a b', 'http') && wrong('host_header', 'a:0', 'http'));
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
  assert.equal(stepText({ step: 3, step_name: 'main tunnel' }), 'step 3 of 5: main tunnel');
  assert.deepEqual([stepText(undefined), stepText({ step: 2 }), stepText({ step: 8 })], ['starting', 'step 2 of 5: credentials', 'tunnel lost; connecting again']);
  assert.deepEqual([formatWait(3001), formatWait(0), formatWait(-5), formatWait(125_000)], ['4 s', '0 s', '0 s', '2 min 5 s']);
  assert.equal(failureClass('port-held').label, 'Port still held');
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
  assert.equal(failureClass('plugin', 'plugin error: cannot connect').label, 'Database');
  assert.equal(failureClass('plugin', "unsupported protocol 'mysql'").label, 'Database plugin');
});

test('of a connection what is in force is shown, of the others what would be', () => {
  const exposed = { target: 'a:1', protocol: 'mysql', invisible: false, db_readonly: false };
  const saved = { protocol: 'http', ip: 'b', port: 2, invisible: true, db_readonly: true };
  assert.deepEqual(effectiveSettings({ ...saved, connection: { exposed } }), { ...exposed, inForce: true });
  for (const connection of [undefined, { exposed: null }]) {
    assert.deepEqual(effectiveSettings({ ...saved, connection }), { protocol: 'http', target: 'b:2', invisible: true, db_readonly: true, inForce: false });
  }
  const failing = { health: { state: 'failing', error: 'a:1 refuses connections' } };
  assert.equal(healthError({ conn_status: 'connected', connection: failing }), 'a:1 refuses connections');
  assert.deepEqual([healthError({ conn_status: 'connecting', connection: failing }), healthError({ conn_status: 'connected', connection: { health: null } }), healthError({})], ['', '', '']);
  assert.equal(summary([{ conn_status: 'connected', connection: failing }, { conn_status: 'connected' }]), '2 connected · 1 not answering');
});

test('traffic is the difference of counters; a new tunnel begins anew', () => {
  const traffic = new Traffic();
  traffic.add(0, 0, 0);
  assert.deepEqual(traffic.current, { in: 0, out: 0 });
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
