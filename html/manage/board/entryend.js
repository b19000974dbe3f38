// The end of an application: the countdown, and the buttons that move it.
import { h } from '../../common/dom.js';
import { endOf, endText, extendedBy } from '../core/remaining.js';
import { relabel, setAttribute, setHidden, setText } from './text.js';

const HOUR = 3_600_000; // ms
/** From here on the countdown is a warning, in ms. */
const SOON = 300_000;

/** The end of an application. */
export class EntryEnd {
  #app;

  /** @param {() => App} app the application now @param {import('./actions.js').Actions} actions */
  constructor(app, actions) {
    this.#app = app;
    const button = (part, run) => h('button', { type: 'button', class: 'button', data: { part }, on: { click: run } }, h('span'));
    this.long = h('span', { class: 'until figures' });
    this.short = h('span', { class: 'until-short figures', 'aria-hidden': 'true' });
    this.hour = button('hour', () => actions.setEnd(app(), extendedBy(app(), HOUR, Date.now())));
    this.extend = button('extend', () => actions.extend(app()));
    this.over = button('over', () => actions.endNow(app()));
    this.row = h('div', { class: 'card-end' }, this.long, h('div', { class: 'end-buttons' }, this.hour, this.extend, this.over));
    this.nodes = [this.short, this.row];
  }

  /** @param {App} app */
  update(app) {
    const name = String(app.name);
    const at = endOf(app, Date.now())?.at;
    for (const element of [this.long, this.short]) setAttribute(element, 'title', at === undefined ? null : new Date(at).toLocaleString());
    relabel(this.hour, '+1 h', name);
    relabel(this.extend, 'Extend …', name);
    relabel(this.over, 'End now', name);
    this.tick();
  }

  /** Follows the clock. */
  tick() {
    const app = this.#app();
    const now = Date.now();
    const end = endOf(app, now);
    setHidden(this.row, end === null);
    setHidden(this.short, end === null);
    if (!end) return;
    setText(this.long, endText(app, now));
    setText(this.short, endText(app, now, true));
    const isSoon = end.at - now < SOON ? ' is-soon' : '';
    setAttribute(this.long, 'class', `until figures${isSoon}`);
    setAttribute(this.short, 'class', `until-short figures${isSoon}`);
    // Of one that is over the first button extends.
    setHidden(this.extend, end.isOver && !end.isLive);
    setHidden(this.hour, end.isOver && !end.isLive);
    setHidden(this.over, !end.isLive || end.isOver);
  }
}
