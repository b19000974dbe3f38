// The page's title and the browser's notifications. A button asks for permission; nothing else does.
import { byId, setIcon } from '../../common/dom.js';
import { notify } from '../../common/announce.js';
import { upDown } from '../core/listing.js';
import { remember, remembered } from '../core/memory.js';
import { healthError } from '../core/status.js';

const KEY = 'postern.manage.notify';
const NAME = 'postern';

/** Watches the applications for what drops. */
export class Alerts {
  #button;
  #isWanted = remembered(KEY, false);
  /** The applications that were up, and whether the program was. */
  #up = new Map();
  #wasDead = false;

  constructor() {
    this.#button = byId('bell', HTMLButtonElement);
    this.#button.hidden = !('Notification' in globalThis);
    this.#button.addEventListener('click', () => this.#toggle());
    this.#draw();
  }

  get #isOn() {
    return this.#isWanted && globalThis.Notification?.permission === 'granted';
  }

  #draw() {
    const label = this.#isOn ? 'Notifications are on' : 'Notify me when a share fails';
    this.#button.setAttribute('aria-pressed', String(this.#isOn));
    this.#button.setAttribute('aria-label', 'Notify me when a share fails');
    this.#button.title = label;
    setIcon(this.#button, this.#isOn ? 'bell' : 'bell-off');
  }

  async #toggle() {
    const wanted = !this.#isOn;
    if (wanted && Notification.permission !== 'granted' && await Notification.requestPermission() !== 'granted') {
      notify('The browser blocks notifications for this page; allow them in its settings', 'warn');
      return;
    }
    this.#isWanted = wanted;
    remember(KEY, wanted);
    this.#draw();
    notify(wanted ? 'You will be notified while this page is open' : 'Notifications are off', 'good');
  }

  /** @param {App[]|null} apps @param {boolean} isDead whether the program does not answer */
  update(apps, isDead) {
    const state = isDead ? '○ postern does not answer' : upDown(apps ?? []);
    document.title = `${state || 'Applications'} · ${NAME}`;
    if (isDead && !this.#wasDead) this.#tell('postern does not answer', 'Shares may be down.', 'program');
    this.#wasDead = isDead;
    if (!isDead && apps) this.#compare(apps);
  }

  #compare(apps) {
    const dropped = apps.filter((app) => this.#up.get(app.id) && !isUp(app) && isDrop(app));
    this.#up = new Map(apps.map((app) => [app.id, isUp(app)]));
    if (dropped.length === 1) this.#tell(`${dropped[0].name} is down`, why(dropped[0]), dropped[0].id);
    else if (dropped.length > 1) this.#tell(`${dropped.length} applications are down`, dropped.map(({ name }) => name).join(', '), 'many');
  }

  #tell(title, body, tag) {
    if (!this.#isOn) return;
    const told = new Notification(title, { body, tag });
    told.onclick = () => { focus(); told.close(); };
  }
}

function isUp(app) {
  return app.conn_status === 'connected' && healthError(app) === '';
}

/** True if a status is worth a notification. `idle` is not: somebody disconnected the application. */
function isDrop({ conn_status: status }) {
  return status === 'failed' || status === 'connecting' || status === 'connected';
}

function why(app) {
  return healthError(app) || String(app.connection?.error || (app.conn_status === 'connecting' ? 'the tunnel is lost; reconnecting' : 'failed'));
}
