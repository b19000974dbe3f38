// Start of the management page.
import { announce, showStrip } from '../common/announce.js';
import { byId } from '../common/dom.js';
import { themeSwitch } from '../common/theme.js';
import { createApi } from './api.js';
import { Actions } from './board/actions.js';
import { Alerts } from './board/alerts.js';
import { Board } from './board/board.js';
import { preloadParts } from './board/parts.js';
import { Store } from './board/store.js';
import { drawNotices, drawTunnel } from './board/tunnels.js';
import { listenForKeys, showKeys, walkCards } from './keys.js';

/** Time after which all that the page may need is loaded, in ms: the list is drawn by then. */
const PRELOAD_MS = 1_000;

const api = createApi({ onState: reach });
const store = new Store(api, draw);
const actions = new Actions(api, store);
const board = new Board(store, actions);
const alerts = new Alerts();
let isReachable = true;

function draw() {
  document.body.classList.toggle('is-dead', !isReachable);
  board.setDead(!isReachable);
  board.draw();
  drawTunnel(store, !isReachable);
  drawNotices(store.version);
  drawOutage();
  alerts.update(store.apps, !isReachable);
}

/** The server went away or came back: the list is requested at once. */
function reach(reachable) {
  if (reachable === isReachable) return;
  isReachable = reachable;
  if (reachable) announce('postern answers again');
  else draw();
  store.refresh();
}

/** Shows a strip while the list is stale; the old content stays visible. */
function drawOutage() {
  const text = isReachable ? store.trouble && `Cannot list the applications: ${store.trouble}. Retrying.` : 'postern does not answer; retrying. This page shows the last known state.';
  showStrip(byId('offline'), text);
  document.body.classList.toggle('is-stale', text !== '');
}

byId('add').addEventListener('click', () => actions.add());
byId('help').addEventListener('click', showKeys);
byId('retry-now').addEventListener('click', () => store.refresh());
byId('tunnel').addEventListener('click', () => actions.servers());
walkCards(byId('apps'));
listenForKeys({
  add: () => actions.add(),
  search: () => byId('search').focus(),
  view: () => byId('view').click(),
  keys: showKeys,
});
themeSwitch();
store.start();
setTimeout(preloadParts, PRELOAD_MS);
