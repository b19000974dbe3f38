// The traffic of an application: a line over the last minutes, and how much flows now.
import { h, svg } from '../../common/dom.js';
import { formatBytes } from '../../common/figures.js';
import { setAttribute, setHidden, setText } from './text.js';

/** Size of the traffic line, in CSS pixels. */
const LINE = { width: 120, height: 20 };

/** The rates of both directions. */
export class EntryRates {
  constructor() {
    this.path = svg('path', { d: '', fill: 'none', 'vector-effect': 'non-scaling-stroke' });
    const line = svg('svg', { class: 'traffic', viewBox: `0 0 ${LINE.width} ${LINE.height}`, width: LINE.width, height: LINE.height, 'aria-hidden': 'true' }, this.path);
    this.in = h('span', { class: 'rate', title: 'Bytes in a second' });
    this.out = h('span', { class: 'rate', title: 'Bytes out a second' });
    this.row = h('div', { class: 'figures rates' }, line, this.in, this.out);
    this.nodes = [this.row];
  }

  /** @param {import('../core/traffic.js').Traffic} traffic @param {boolean} isShown */
  update(traffic, isShown) {
    setHidden(this.row, !isShown);
    if (!isShown) return;
    const { current } = traffic;
    setText(this.in, `↓ ${rateText(current?.in)}`);
    setText(this.out, `↑ ${rateText(current?.out)}`);
    setAttribute(this.path, 'd', traffic.path(LINE.width, LINE.height));
  }
}

/** A rate; a dash before two samples tell one. @param {number|undefined} rate bytes a second */
function rateText(rate) {
  return rate === undefined ? '–' : `${formatBytes(rate)}/s`;
}
