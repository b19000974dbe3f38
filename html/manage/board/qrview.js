// QR codes of a connected application's addresses.
import { h, svg } from '../../common/dom.js';
import { openDialog } from '../../common/dialog.js';
import { addressesOf, isLocalhostName, siteLink } from '../core/links.js';

/** Shows the codes of an application. @param {App} app @param {import('../api.js').Api['qr']} codeOf */
export function showQr(app, codeOf) {
  const site = addressesOf(app);
  const auth = siteLink(app.connection?.auth_url);
  /** @type {[string, ReturnType<typeof siteLink>, string][]} */
  const addresses = [
    ['With authorization', site && auth, 'Anyone who scans this code gets in.'],
    ['Site', site?.site ?? null, 'Opens the site.'],
  ];
  const choices = addresses.filter(([, link]) => link);
  /** @type {unknown} */
  let chosen;
  const picture = h('div', { class: 'qr', 'aria-live': 'polite' });
  const draw = async (choice) => {
    const [label, link, what] = choice;
    chosen = choice;
    const drawing = await codeOf(link.text).then((code) => drawn(code, label), (error) => h('p', { text: error.message }));
    // Another one may have been chosen meanwhile.
    if (chosen !== choice) return;
    picture.replaceChildren(drawing, h('p', { class: 'mono', text: link.text }), h('p', { class: 'dim', text: what }),
      isLocalhostName(link.host) ? h('p', { class: 'dim', text: 'This address works only on this computer; a phone cannot open it.' }) : '');
  };
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

function drawn({ size, path }, label) {
  // Dark on light in both themes: many scanners cannot read the inverse.
  return svg('svg', { viewBox: `0 0 ${size} ${size}`, role: 'img', 'aria-label': `QR code: ${label}`, 'shape-rendering': 'crispEdges' },
    svg('rect', { width: size, height: size, fill: '#fff' }), svg('path', { d: path, fill: '#000' }));
}
