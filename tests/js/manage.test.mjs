import { copyOf, defaults, isUsed, problem, toBody } from '../../html/manage/core/fields.js';
import { hostOf, isLocalhostName, siteLink } from '../../html/manage/core/links.js';
import { matches, sorted, summary } from '../../html/manage/core/listing.js';
import { PROTOCOLS, addressOf, protocolNamed } from '../../html/manage/core/protocols.js';
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
  for (const host of ['http://a', 'a:80', '256.1.1.1', '1.2.3', 'a b', '-a', 'a..b', '::g', 'a/b', `${'a'.repeat(64)}.b`]) assert.ok(wrong('ip', host), host);
  for (const name of ['', 'abc', 'a-b', 'a'.repeat(63)]) assert.ok(!wrong('site_name', name), name);
  for (const name of ['ab', '-abc', 'abc-', 'a--b', 'Abc', 'a.b', 'a'.repeat(64)]) assert.ok(wrong('site_name', name), name);
  for (const url of ['', 'https://r.example', 'http://localhost:9', 'http://127.0.0.1', 'http://[::1]:8/']) assert.ok(!wrong('server', url), url);
  for (const url of ['r.example', 'ftp://r.example', 'javascript:1', 'http://r.example']) assert.ok(wrong('server', url), url);
  assert.ok(!wrong('server', 'http://r.example', 'http', true));
  assert.ok(wrong('name', 'x'.repeat(101)) && !wrong('name', '💡'.repeat(100)) && wrong('name', 'a\u0007'));
  assert.ok(!wrong('db_pass', ' \n', 'mysql') && wrong('db_pass', 'a\0', 'mysql') && !wrong('db_pass', 'a\0', 'http'));
});

test('what is sent: own fields alone, numbers as numbers, secrets kept, set or cleared', () => {
  const values = { ...defaults('mysql'), name: ' shop ', port: '3306', db_user: 'reader', db_pass: '', site_name: '', username: 'u', auth_pass: 'x' };
  assert.deepEqual(toBody(values), { protocol: 'mysql', name: 'shop', ip: '127.0.0.1', port: 3306, db_user: 'reader', db_readonly: true, invisible: true, autoconnect: false });
  assert.equal(toBody({ ...values, db_pass: ' s ' }).db_pass, ' s ');
  assert.equal(toBody(values, new Set(['db_pass'])).db_pass, '');
  const before = { protocol: 'http', username: 'kept', has_auth_pass: true };
  assert.deepEqual(toBody({ protocol: 'http', ip: 'a', username: '' }, new Set(), before), { protocol: 'http', ip: 'a', username: 'kept' }, 'what is not shown stays');
  const changed = toBody({ protocol: 'http', ip: 'a', db_pass: '' }, new Set(), { protocol: 'mysql', db_user: 'r', has_db_pass: true });
  assert.deepEqual([changed.db_user, changed.db_pass, 'invisible' in toBody({ protocol: 'ssh', invisible: true })], [undefined, '', false]);
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
