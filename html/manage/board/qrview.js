// QR codes of a connected application's addresses, generated in the page: no address is sent anywhere for it.
import { h, svg } from '../../common/dom.js';
import { openDialog } from '../../common/dialog.js';
import { addressesOf, isLocalhostName, siteLink } from '../core/links.js';
import { encodeQr, qrPath } from '../core/qr.js';

/** Light modules around the symbol, as ISO/IEC 18004 asks. */
const QUIET = 4;

/** Shows the codes of an application. @param {App} app */
export function showQr(app) {
  const site = addressesOf(app);
  const auth = siteLink(app.connection?.auth_url);
  /** @type {[string, ReturnType<typeof siteLink>, string][]} */
  const addresses = [
    ['With authorization', site && auth, 'Anyone who scans this code gets in.'],
    ['Site', site?.site ?? null, 'Opens the site.'],
  ];
  const choices = addresses.filter(([, link]) => link);
  const picture = h('div', { class: 'qr', 'aria-live': 'polite' });
  const draw = ([label, link, what]) => picture.replaceChildren(drawing(link.text, label), h('p', { class: 'mono', text: link.text }), h('p', { class: 'dim', text: what }),
    isLocalhostName(link.host) ? h('p', { class: 'dim', text: 'This address works only on this computer; a phone cannot open it.' }) : '');
  if (!choices.length) picture.append(h('p', { text: 'No address to show.' }));
  else draw(choices[0]);
  return openDialog({ title: `QR code of “${app.name}”`, body: [choices.length > 1 && chooser(choices, draw), picture], actions: [{ label: 'Done', value: null }] });
}

function chooser(choices, draw) {
  return h('fieldset', { class: 'choice' }, h('legend', { class: 'visually-hidden', text: 'Address' }), choices.map((choice, i) => {
    const input = h('input', { type: 'radio', name: 'qr-address', checked: i === 0, on: { change: () => draw(choice) } });
    return h('label', { class: 'check' }, input, choice[0]);
  }));
}

function drawing(text, label) {
  const code = encodeQr(text);
  if (!code) return h('p', { text: 'This address is too long for a QR code.' });
  const side = code.size + 2 * QUIET;
  // Dark on light in both themes: many scanners cannot read the inverse.
  return svg('svg', { viewBox: `0 0 ${side} ${side}`, role: 'img', 'aria-label': `QR code: ${label}`, 'shape-rendering': 'crispEdges' },
    svg('rect', { width: side, height: side, fill: '#fff' }), svg('path', { d: qrPath(code, QUIET), fill: '#000' }));
}
