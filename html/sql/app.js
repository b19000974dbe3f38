// Start of the SQL client: asks who and where one is, then opens the workbench.
import { byId } from '../common/dom.js';
import { announce, notify } from '../common/announce.js';
import { openDialog } from '../common/dialog.js';
import { themeSwitch } from '../common/theme.js';
import { h } from '../common/dom.js';
import { createApi } from './api.js';
import { Catalogue } from './workbench/catalogue.js';
import { later } from './workbench/querytab.js';
import { Workspace, loadSettings } from './workbench/store.js';
import { Health, showInfo } from './workbench/topbar.js';
import { Workbench } from './workbench/workbench.js';

/** Path that starts a new session in invisible mode. Every other path needs a session. */
const SIGN_IN = '/auth';

/** @type {Workbench|null} */
let workbench = null;
let opening = false;
let signedOut = false;

const api = createApi({
  onState: (state) => {
    if (state === 'offline') health.serverLost();
    else if (state === 'unauthorized') signIn();
    else if (state === 'database') health.databaseLost();
    else if (state === 'doubtful' ? health.state === 'connected' : health.state === 'offline') health.check();
  },
});
const health = new Health(api, onInfo);
const catalogue = new Catalogue(api);

async function onInfo(info) {
  showInfo(info);
  if (workbench) workbench.setInfo(info);
  if (workbench || opening) return;
  opening = true;
  try {
    const workspace = await Workspace.open({ host: info.host, port: info.port, user: info.user });
    workbench = new Workbench({ api, catalogue, info, workspace, settings: loadSettings() });
    workbench.open();
  } catch (error) {
    notify(`The page failed to start: ${error.message}. Reload it.`, 'bad');
    throw error;
  }
}

/** The session has ended. At the start there is nothing to lose and the page leads on at once; later it asks. */
async function signIn() {
  if (signedOut) return;
  signedOut = true;
  health.end();
  if (!workbench) {
    location.assign(SIGN_IN + location.hash);
    return;
  }
  workbench.keeping.save();
  announce('The session has ended', 'bad');
  const go = await openDialog({
    title: 'Session ended',
    body: h('p', { text: 'Sign in again with the code. Your text is kept in this browser.' }),
    actions: [{ label: 'Stay here', value: false }, { label: 'Sign in', value: true, kind: 'primary' }],
  });
  // The session is over, and its transactions are out of reach: there is nothing to ask any more.
  workbench.keeping.leavesUnasked = true;
  if (go) location.assign(SIGN_IN + location.hash);
  else byId('health').title = 'The session has ended; reload the page to sign in';
}

themeSwitch();
byId('help').addEventListener('click', () => later(import('./workbench/keylist.js')).then((module) => module?.showKeys()));
// Both at once: on a line of 200 ms each would wait for the other.
health.check();
catalogue.databases().catch(() => {}); // the sidebar asks again, and says it
