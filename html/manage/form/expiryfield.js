// Until when an application is shared: without end, for a while from now, or until a point in time.
import { localText } from '../../common/times.js';
import { LENGTHS, distance, expiryOf } from '../core/expiry.js';
import { OpenSelect } from './field.js';

/** Shown where a guest account needs an end and none is chosen. */
const GUEST_END = 'The guest account ends after 8 hours.';

/** The chooser; its value is RFC 3339 or null. */
export class ExpiryField extends OpenSelect {
  /** @type {string|null} */
  #before;
  #beforeText;
  #hasGuest = false;

  /** @param {string|null|undefined} before what is saved */
  constructor(before) {
    const at = before ? Date.parse(before) : NaN;
    const text = Number.isNaN(at) ? '' : localText(at);
    super({
      name: 'expires', label: 'Shared', value: text ? 'until' : '', other: 'until', otherLabel: 'Shared until', otherValue: text, type: 'datetime-local',
      options: [{ value: '', label: 'without end' }, ...LENGTHS, { value: 'until', label: 'until …' }],
    });
    this.#before = text ? before ?? null : null;
    this.#beforeText = text;
    this.input.addEventListener('change', () => { if (this.isOther && this.detail.value === '') this.detail.value = localText(Date.now() + 3_600_000); this.explain(); });
    this.detail.addEventListener('input', () => this.explain());
    this.explain();
  }

  /** True if nothing was changed; the saved time keeps its seconds. */
  get #isAsBefore() {
    return this.isOther && this.#before !== null && this.detail.value === this.#beforeText;
  }

  /** @override */
  get text() {
    return `${this.input.value} ${this.isOther ? this.detail.value : ''}`;
  }

  /** @override */
  get value() {
    return this.#isAsBefore ? this.#before : expiryOf(this.input.value, this.detail.value, Date.now());
  }

  /** @override */
  get ownProblem() {
    const { value } = this;
    if (value === undefined) return 'Enter a day and a time.';
    return value !== null && !this.#isAsBefore && Date.parse(value) <= Date.now() ? 'This time has already passed: choose a later one.' : '';
  }

  /** True if the saved end has passed and nothing else was chosen. */
  get isOver() {
    const { value } = this;
    return Boolean(value) && Date.parse(value ?? '') <= Date.now();
  }

  /** Says below what the choice means. @param {boolean} [hasGuest] whether there is a guest account, which needs an end */
  explain(hasGuest = this.#hasGuest) {
    this.#hasGuest = hasGuest;
    const { value } = this;
    const left = value ? Date.parse(value) - Date.now() : 0;
    if (value === undefined) this.setHelp('');
    else if (value === null) this.setHelp(hasGuest ? GUEST_END : 'Without end.');
    else if (left < 0) this.setHelp(`It ended ${distance(left)}: choose a later time to share it again.`);
    else this.setHelp(this.isOther ? `It ends ${distance(left)}. Visitors are disconnected then.` : 'Counted from when you save. Visitors are disconnected then.');
  }
}
