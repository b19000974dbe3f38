// Sizes of the areas, the sidebar as a drawer on narrow windows, and F6 between areas.
import { byId, query } from '../../common/dom.js';
import { splitter } from './splitter.js';

/** Below this width the sidebar is a drawer; sql.css agrees. */
const NARROW = matchMedia('(max-width: 760px)');
const SIDEBAR = { min: 160, max: 560, normal: 264 };
const EDITOR = { min: 0.1, max: 0.85, normal: 0.28 };

/** The layout of the page; sizes live in `settings`. */
export class Layout {
  #settings;
  #save;
  #before = EDITOR.normal;
  #isLent = false;

  /** @param {Settings} settings @param {() => void} save */
  constructor(settings, save) {
    this.#settings = settings;
    this.#save = save;
    this.#setSidebar(settings.sidebarWidth, false);
    this.#setEditor(settings.editorShare, false);
    splitter(byId('split-sidebar'), { vertical: true, value: () => byId('sidebar').offsetWidth, set: (px, done) => this.#setSidebar(px, done), reset: () => this.#setSidebar(SIDEBAR.normal, true) });
    splitter(byId('split-editor'), {
      vertical: false, value: () => byId('editors').offsetHeight, reset: () => this.maximise(),
      set: (px, done) => {
        if (px <= 0 && this.isBare) return; // a click alone
        this.#setBare(false);
        this.#setEditor(px / this.#room(), done);
      },
    });
    byId('drawer').addEventListener('click', () => this.#toggle());
    byId('scrim').addEventListener('click', () => this.closeDrawer());
    byId('sidebar').addEventListener('keydown', (event) => { if (event.key === 'Escape' && this.isNarrow) this.closeDrawer(); });
    NARROW.addEventListener('change', () => this.#adapt());
    this.#watchWriting();
    this.#adapt();
    this.#setBare(settings.bare);
  }

  /** Notes whether the editor and its bar are used: in a low window they give way otherwise. What is pressed stays where it is until it is let go. */
  #watchWriting() {
    let isPressed = false;
    const areas = [byId('editors'), query(byId('main'), '.bar')];
    const note = ({ target }) => byId('main').classList.toggle('writing', areas.some((one) => one?.contains(document.activeElement) || (target instanceof Node && one?.contains(target))));
    addEventListener('pointerdown', () => { isPressed = true; }, true);
    for (const type of ['pointerup', 'pointercancel']) addEventListener(type, (event) => setTimeout(() => { isPressed = false; note(event); }), true);
    addEventListener('focusin', (event) => { if (!isPressed) note(event); });
  }

  get isNarrow() {
    return NARROW.matches;
  }

  #room() {
    return Math.max(1, byId('editors').offsetHeight + byId('results').offsetHeight);
  }

  #setSidebar(px, done) {
    const width = Math.round(clamp(px, SIDEBAR.min, Math.min(SIDEBAR.max, innerWidth * 0.6)));
    this.#settings.sidebarWidth = width;
    byId('work').style.setProperty('--sidebar', `${width}px`);
    byId('split-sidebar').setAttribute('aria-valuenow', String(width));
    if (done) this.#save();
  }

  #setEditor(share, done) {
    const value = clamp(Number.isFinite(share) ? share : EDITOR.normal, EDITOR.min, EDITOR.max);
    this.#settings.editorShare = value;
    this.#isLent = false;
    this.#drawEditor(value);
    if (done) this.#save();
  }

  #drawEditor(share) {
    byId('main').style.setProperty('--editor-share', String(share));
    byId('main').style.setProperty('--results-share', String(1 - share));
    byId('split-editor').setAttribute('aria-valuenow', String(Math.round(share * 100)));
  }

  /** Lends the height of an editor in which nothing is written to what is looked at. @param {boolean} lent */
  lend(lent) {
    if (lent === this.#isLent) return;
    this.#isLent = lent;
    this.#drawEditor(lent ? EDITOR.min : this.#settings.editorShare);
  }

  /** True if rows of a table are in front and have all of the height. */
  get isBare() {
    return this.#settings.bare && this.#looks;
  }

  get #looks() {
    return query(byId('results'), '.tab-results:not([hidden]) > .looking') !== null;
  }

  #setBare(bare) {
    this.#settings.bare = bare;
    byId('main').classList.toggle('bare', bare);
  }

  /** Gives the rows of a table all of the height, other results nearly all, or the editor its share back; true where the editor is gone. */
  maximise() {
    if (this.#looks) {
      this.#setBare(!this.#settings.bare);
      this.#save();
      return this.#settings.bare;
    }
    const { editorShare } = this.#settings;
    const isLeast = editorShare < EDITOR.min + 0.02; // a click on the splitter measures it anew
    if (!isLeast) this.#before = editorShare;
    this.#setEditor(isLeast ? this.#before : EDITOR.min, true);
    return false;
  }

  #adapt() {
    this.#setDrawer(!this.isNarrow);
  }

  #toggle() {
    const open = byId('work').classList.contains('no-sidebar');
    this.#setDrawer(open);
    if (open && this.isNarrow) (query(byId('sidebar'), '.row-main') ?? byId('filter')).focus();
  }

  #setDrawer(open) {
    byId('work').classList.toggle('no-sidebar', !open);
    byId('drawer').setAttribute('aria-expanded', String(open));
    byId('scrim').hidden = !(open && this.isNarrow);
    byId('main').inert = open && this.isNarrow;
  }

  /** Shows the sidebar. */
  openDrawer() {
    this.#setDrawer(true);
  }

  /** Hides the drawer of a narrow window; elsewhere the sidebar stays. */
  closeDrawer() {
    if (!this.isNarrow || byId('work').classList.contains('no-sidebar')) return;
    const inside = byId('sidebar').contains(document.activeElement);
    this.#setDrawer(false);
    if (inside) byId('drawer').focus();
  }

  /** Moves the focus to the next of sidebar, editor, results. @param {number} by @param {import('./querytab.js').QueryTab} tab */
  nextArea(by, tab) {
    const areas = [byId('sidebar'), tab.editorHost, tab.resultsHost];
    const at = areas.findIndex((area) => area.contains(document.activeElement));
    const next = (Math.max(at, by < 0 && at < 0 ? 0 : at) + by + areas.length) % areas.length;
    if (next === 0) this.openDrawer();
    else if (this.isNarrow) this.closeDrawer();
    if (next === 1) tab.editor.area.focus();
    else if (next === 2) tab.results.focus();
    else (query(areas[0], '.row-main[tabindex="0"], #filter') ?? areas[0]).focus();
  }
}

function clamp(value, min, max) {
  return Math.max(min, Math.min(max, value));
}
